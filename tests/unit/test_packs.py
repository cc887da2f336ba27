"""Streams are kept piece by piece: what an earlier snapshot has is not written again, and all of it is read back."""

import asyncio
import hashlib
import random
import sys
from pathlib import Path

import pytest

from nodes.restoration.manifests import NotRestoredError
from sandboxes.inside.kernel.snapshots.storing.blobs import Blobs, Spool
from sandboxes.inside.kernel.snapshots.storing.manifest import (
    IN_MANIFEST,
    LEAST,
    MAX_PACKS,
    MAX_RUNS,
    MOST,
    Packs,
    Place,
    cut_by_content,
    packs_of,
    read,
)
from stepwell.snapshot_manifest import SnapshotManifest, variable_hashes
from storage.blobs import Blobs as Store

pytest.importorskip("numpy")
LIMIT = 1 << 30


class Kept:
    """A session's packs."""

    def __init__(self, folder: Path) -> None:
        self.spool = Spool(str(folder / "spool"))
        self.blobs = Blobs([self.spool.folder])
        self.packs = Packs()
        self.size = 0
        """Bytes that the last snapshot wrote, its manifest aside."""

    def keep(self, *streams: bytes) -> tuple[list[Place], list[str]]:
        """Take a snapshot of streams, and see that they are read back as they are."""
        self.spool.begin(LIMIT)
        places, packs = self.packs.place([memoryview(one) for one in streams], [], self.spool)
        self.size = self.spool.size
        self.spool.commit(repr((places, packs)).encode())
        self.packs.settle()
        assert [read(place, packs, self.blobs, {}) for place in places] == list(streams)
        assert set(packs) == {pack for place in places for pack in packs_of(place, packs)}
        return places, packs

    def take_up(self, places: list[Place], packs: list[str]) -> None:
        """Begin anew, with what a restore has read."""
        self.packs = Packs()
        for place in places:
            self.packs.learn(read(place, packs, self.blobs, {}), place, packs)


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def noise(seed: int, size: int) -> bytes:
    return random.Random(seed).randbytes(size)


def test_few_small_streams_are_in_the_manifest_until_they_are_more(kept: Kept) -> None:
    small = [bytes([number]) * 100 + bytes(range(256)) for number in range(2)]
    places, packs = kept.keep(*small)
    assert (packs, kept.size) == ([], 0)
    assert all("text" in place for place in places)
    more = noise(1, IN_MANIFEST)
    _, packs = kept.keep(*small, more)
    assert len(packs) == 1
    assert kept.size == sum(map(len, small)) + len(more)
    kept.keep(*small, more, b"b = 2")
    assert kept.size == 0


@pytest.mark.parametrize(("at", "less"), [(50_000, 0), (0, 0), (100_000, 0), (50_000, 700)])
def test_what_a_stream_has_of_the_last_one_is_not_written_again(kept: Kept, at: int, less: int) -> None:
    before = noise(2, 100_000)
    kept.keep(before)
    changed = before[:at] + b"something else" * 20 + before[at + less :]
    places, packs = kept.keep(changed)
    assert kept.size < 2 * MOST
    kept.take_up(places, packs)
    kept.keep(changed)
    assert kept.size == 0
    kept.keep(changed, before)
    assert kept.size < 2 * MOST


def test_what_lies_at_too_many_places_is_written_anew(kept: Kept) -> None:
    data = bytearray(noise(3, 200_000))
    kept.keep(bytes(data))
    most = 0
    for step in range(1, 60):
        data[step * 3_000 : step * 3_000 + 8] = step.to_bytes(8)
        (place,), packs = kept.keep(bytes(data))
        most = max(most, len(place.get("runs", "1")))
        assert len(packs) <= MAX_PACKS
    assert 2 < most <= MAX_RUNS


def test_without_numpy_streams_are_kept_whole(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    data = noise(4, 50_000)
    kept.keep(data)
    monkeypatch.delitem(sys.modules, "numpy")
    places, _ = kept.keep(data, data[:40_000])
    assert "pack" in places[1]
    assert kept.size == 40_000


def test_pieces_are_all_of_a_stream_in_its_order() -> None:
    for data in (b"", b"a", bytes(100_000), noise(5, 100_000), b"name" * 30_000):
        pieces = cut_by_content(memoryview(data))
        assert b"".join(pieces) == data
        assert all(LEAST <= len(piece) <= MOST for piece in pieces[:-1])


def test_random_changes_over_many_snapshots_are_read_back(kept: Kept) -> None:
    rng = random.Random(6)
    streams = [noise(seed, rng.choice([0, 3, 500, 5_000, 60_000])) for seed in range(8)]
    for _ in range(150):
        which = rng.randrange(len(streams))
        data = bytearray(streams[which])
        at = rng.randrange(len(data) + 1)
        data[at : at + rng.choice([0, 0, 10, 3_000])] = rng.randbytes(rng.choice([0, 1, 30, 6_000]))
        streams[which] = bytes(data)
        places, packs = kept.keep(*streams)
        assert len(packs) <= MAX_PACKS
        if rng.random() < 0.1:
            kept.take_up(places, packs)


def test_a_variable_has_the_same_hash_wherever_its_stream_lies(kept: Kept, tmp_path: Path) -> None:
    before, small = noise(7, 30_000), b"a"
    changed = before[:9_000] + noise(8, 2_000) + before[9_000:]
    in_text = kept.keep(small)
    kept.keep(before)
    in_runs = kept.keep(changed, small, noise(9, 2_000))
    kept.packs = Packs()
    in_one = kept.keep(changed)
    assert [*in_text[0][0], *in_runs[0][0], *in_runs[0][1]] == ["text", "size", "runs", "size", "pack", "at", "size"]
    assert "pack" in in_one[0][0]
    files = {name: Path(kept.spool.folder, name) for name in {*in_runs[1], *in_one[1]}}

    async def hashes() -> list[str]:
        store = Store.at(str(tmp_path / "store"))
        for name, file in files.items():
            await store.add_file(file, name)
        found = []
        for place, packs in (
            (in_text[0][0], in_text[1]),
            (in_runs[0][1], in_runs[1]),
            (in_runs[0][0], in_runs[1]),
            (in_one[0][0], in_one[1]),
        ):
            units = ({"stream": place, "names": ["a"], "buffers": []},)
            step = SnapshotManifest((), {}, 0, "", {}, 0, units, tuple(packs), {})
            found.append((await variable_hashes(store, step))["a"])
        return found

    small_in_text, small_in_runs, large_in_runs, large_in_one = asyncio.run(hashes())
    assert small_in_text == small_in_runs
    assert large_in_runs == large_in_one


def test_a_small_stream_that_is_a_piece_of_another_is_in_a_pack(kept: Kept) -> None:
    first = noise(1, 60_000)
    kept.keep(first)
    before, start, tried = set(map(bytes, cut_by_content(memoryview(first)))), 0, 0
    for piece in cut_by_content(memoryview(first)):
        start += len(piece)
        if len(piece) > IN_MANIFEST:
            continue
        changed = bytearray(first)
        changed[start - len(piece) // 2] ^= 255
        new = [one for one in map(bytes, cut_by_content(memoryview(bytes(changed)))) if one not in before]
        if len(new) == 1 and len(new[0]) <= IN_MANIFEST:
            places, packs = kept.keep(bytes(changed), new[0])
            assert packs
            assert not any("text" in place for place in places)
            tried += 1
    assert tried > 3


def test_units_that_name_a_pack_again_and_again_are_refused(tmp_path: Path) -> None:
    store, data = Store.at(str(tmp_path / "store")), bytes(1 << 20)
    (tmp_path / "pack").write_bytes(data)
    name = hashlib.sha256(data).hexdigest()
    asyncio.run(store.add_file(tmp_path / "pack", name))
    stream = {"runs": [[0, 0, len(data)]] * 300, "size": 300 * len(data)}
    units = [{"names": [variable], "stream": stream, "buffers": []} for variable in ("a", "b")]
    for hostile in (units, [{**units[0], "stream": {"runs": [[0]]}}], [{**units[0], "stream": []}]):
        with pytest.raises(NotRestoredError, match="cannot be read"):
            asyncio.run(variable_hashes(store, SnapshotManifest((), {}, 0, "", {}, 0, tuple(hostile), (name,), {})))
