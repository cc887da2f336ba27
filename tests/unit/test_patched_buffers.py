"""Buffers of which little changes are kept as their blobs and patches over them, and are read back as they were."""

import json
import random
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from pickle import PickleBuffer
from typing import Any

import numpy as np
import pytest

from sandboxes.inside.kernel.snapshots.storing import buffers
from sandboxes.inside.kernel.snapshots.storing.blobs import Blobs, MissingBlobError, Spool, hash_of
from sandboxes.inside.kernel.snapshots.storing.block_digests import BLOCK
from sandboxes.inside.kernel.snapshots.storing.buffers import BufferWriter, FillingBuffer, blobs_of, packs_of, patch
from sandboxes.inside.kernel.snapshots.storing.change_detection import BufferDigests, MappedBlobs, change_detector
from sandboxes.inside.kernel.snapshots.storing.manifest import MAX_PACKS, Packs

PLACE = ("df", 0)
SIZE = 3 << 20


class Keeper:
    """Keeps an array step by step as a snapshot does, and reads steps back."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.spool, self.packs = Spool(str(folder)), Packs()
        detector = MappedBlobs([str(folder)]) if kind == "maps" else change_detector([str(folder)])
        assert isinstance(detector, MappedBlobs | BufferDigests)
        assert isinstance(detector, MappedBlobs) == (kind == "maps"), "xxhash comes with the default install"
        self.writer = BufferWriter(self.spool, detector)
        self.blobs = Blobs([str(folder)])
        self.size = 0
        """Bytes of what the last step wrote."""

    def keep(self, array: np.ndarray, *, refuse: bool = False) -> str:
        self.spool.begin(1 << 30)
        self.writer.begin()
        entry = self.writer.write(PLACE, PickleBuffer(array.data))
        places, packs = self.packs.place([], self.writer.patches(), self.spool)
        self.writer.place(places)
        if refuse:
            self.spool.abort()
            return ""
        self.spool.commit(json.dumps([entry, packs]).encode())
        self.size = self.spool.size
        self.packs.settle()
        self.writer.settle()
        return json.dumps([entry, packs])

    def read(self, kept: str, *, learn: bool = False) -> np.ndarray:
        entry, packs = json.loads(kept)
        memory = bytearray(entry["size"])
        with ThreadPoolExecutor(2) as pool:
            filling = FillingBuffer(pool, self.blobs, memoryview(memory), entry)
            digests = filling.digests()
        if learn:
            self.writer.learn(PLACE, entry, filling.sizes, digests)
        assert set(packs_of(entry, packs)) <= set(packs)
        patch(memoryview(memory), entry, packs, self.blobs, {})
        return np.frombuffer(memory, "u1")


@pytest.fixture(params=["digests", "maps"])
def keeper(request: pytest.FixtureRequest, tmp_path: Path) -> Keeper:
    return Keeper(tmp_path, request.param)


def made(size: int = SIZE) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 255, size, dtype="u1")


def test_little_that_changed_takes_little(keeper: Keeper) -> None:
    array = made()
    first = keeper.keep(array)
    assert "patches" not in first
    array[1_000_000 : 1_000_000 + 8_192] ^= 1
    second = keeper.keep(array)
    assert keeper.size < 2 * BLOCK + 3_000
    assert keeper.keep(array) == second
    assert keeper.size < 3_000  # what is patched already is not written again
    array[1_000_000 : 1_000_000 + 8_192] ^= 1
    assert keeper.keep(array) == first
    assert np.array_equal(keeper.read(first), array)


class CountingSpool(Spool):
    """A spool that knows how many bytes it was asked to name, which means to hash them."""

    named = 0

    def put_all(self, pieces: Sequence[memoryview]) -> list[str]:
        self.named += sum(map(len, pieces))
        return super().put_all(pieces)


def test_a_small_array_that_has_not_changed_is_not_hashed_again(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path, "digests")
    keeper.spool = keeper.writer._spool = spool = CountingSpool(str(tmp_path))
    array = made(100_000)
    first = keeper.keep(array)
    assert spool.named == len(array)
    assert keeper.keep(array) == first
    assert spool.named == len(array)
    assert "check" not in json.loads(first)[0]  # its name says whether it was read well
    array[50_000] ^= 1
    second = keeper.keep(array)
    assert spool.named == len(array)
    assert len(json.loads(second)[0]["patches"]) == 1
    assert np.array_equal(keeper.read(second, learn=True), array)
    assert json.loads(keeper.keep(array))[0]["base"] == json.loads(first)[0]["blobs"]
    array[:] ^= 1
    assert np.array_equal(keeper.read(keeper.keep(array)), array)


def test_an_array_that_is_cut_elsewhere_is_written_anew(keeper: Keeper) -> None:
    rows = (1 << 20) - 4_096  # as many pieces of as many blocks as when it is cut at each megabyte
    shaped, flat = np.zeros((3, rows), "u1"), np.zeros(3 * rows, "u1")
    shaped[:, 0] = flat[:: 1 << 20] = 1
    keeper.keep(shaped)
    assert np.array_equal(keeper.read(keeper.keep(flat), learn=True), flat)
    assert np.array_equal(keeper.read(keeper.keep(shaped)), shaped.reshape(-1))


@pytest.mark.parametrize("size", [100_000, 3 << 20])
def test_what_a_thread_writes_meanwhile_is_not_taken_for_what_was_kept(tmp_path: Path, size: int) -> None:
    class Written(Spool):
        """Written to by another thread as soon as it is asked for a name."""

        def put(self, data: bytes | bytearray | memoryview, name: str = "") -> str:
            array[:] = 0
            return super().put(data, name)

    keeper = Keeper(tmp_path, "digests")
    keeper.spool = keeper.writer._spool = Written(str(tmp_path))
    array = made(size)
    before = array.copy()
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        first = keeper.keep(array)
    finally:
        end.set()
        thread.join()
    assert np.array_equal(keeper.read(first), before)
    keeper.spool = keeper.writer._spool = Spool(str(tmp_path))
    array[:] = before  # as it was when it was looked at first
    assert np.array_equal(keeper.read(keeper.keep(array)), before)
    array[:] = 0
    assert not keeper.read(keeper.keep(array)).any()


def test_a_blob_of_which_much_changed_is_written_anew(keeper: Keeper) -> None:
    array = made()
    first = json.loads(keeper.keep(array))[0]
    array[: (1 << 20) // buffers.SHARE + 1] ^= 1
    second = json.loads(keeper.keep(array))[0]
    assert "patches" not in second
    assert second["blobs"][0] == hash_of(array[: 1 << 20].data)
    assert second["blobs"][1:] == first["blobs"][1:]
    array[7] ^= 1
    third = json.loads(keeper.keep(array))[0]
    assert third["base"] == second["blobs"]
    assert [one[0] for one in third["patches"]] == [0]


def test_many_blobs_are_patched_up_to_a_limit(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "MAX_PATCHES", 3)
    array = made()
    keeper.keep(array)
    array[:: 1 << 20] ^= 1
    kept = keeper.keep(array)
    assert len(json.loads(kept)[0]["patches"]) == 3
    assert np.array_equal(keeper.read(kept), array)


@pytest.mark.parametrize("seed", range(2))
def test_every_step_is_read_back_as_it_was(keeper: Keeper, seed: int) -> None:
    """Small and large changes, undone ones, refused snapshots, more steps than packs, and going on after a restore."""
    chosen = random.Random(seed)
    array = made(SIZE + chosen.randrange(BLOCK))
    steps: list[tuple[str, np.ndarray]] = []
    for _ in range(MAX_PACKS + 20):
        before = array.copy()
        for _ in range(chosen.randrange(4)):
            at = chosen.randrange(len(array))
            array[at : at + chosen.choice([1, 8_192, 100_000, 1_500_000])] += np.uint8(chosen.randrange(1, 255))
        if chosen.random() < 0.1:
            keeper.keep(array, refuse=True)
        if chosen.random() < 0.1:
            array[:] = before
        steps.append((keeper.keep(array), array.copy()))
        if chosen.random() < 0.1:
            kept, _ = chosen.choice(steps)
            array = keeper.read(kept, learn=True).copy()
    for kept, then in steps:
        assert np.array_equal(keeper.read(kept), then)
        assert len(json.loads(kept)[1]) <= MAX_PACKS


def test_scattered_changes_of_many_steps_cost_little_each(keeper: Keeper) -> None:
    array, sizes = made(40 << 20), []
    keeper.keep(array)
    for step in range(3 * MAX_PACKS):
        array[step * 397_123 : step * 397_123 + 8_192] ^= 1
        keeper.keep(array)
        sizes.append(keeper.size)
    assert max(sizes) < 100 * BLOCK
    assert sum(sizes) / len(sizes) < 10 * BLOCK


@pytest.mark.parametrize("bad", [[[-1, BLOCK, 0, 0]], [[SIZE - 1, BLOCK, 0, 0]], [[0, BLOCK, 0, 1 << 30]]])
def test_a_patch_that_does_not_fit_is_refused(keeper: Keeper, bad: Any) -> None:
    array = made()
    keeper.keep(array)
    array[7] ^= 1
    entry, packs = json.loads(keeper.keep(array))
    with pytest.raises(MissingBlobError, match="does not fit"):
        keeper.read(json.dumps([{**entry, "patches": bad}, packs]))


def test_what_is_read_is_checked_by_the_digest_of_its_blobs_or_else_by_their_names(keeper: Keeper) -> None:
    array = made()
    keeper.keep(array)
    array[1_000_000 : 1_000_000 + 8_192] ^= 1
    entry, packs = json.loads(keeper.keep(array))
    assert ("check" in entry) == isinstance(keeper.writer._before, BufferDigests)
    for check in (None, "", "0" * 32, 5):  # of an older version, or taken while a thread wrote
        other = {**entry, "check": check} if check is not None else {k: v for k, v in entry.items() if k != "check"}
        assert keeper.read(json.dumps([other, packs])).tobytes() == array.tobytes()
    name = blobs_of(entry)[1]
    file = Path(keeper.spool.folder) / name
    whole = file.read_bytes()
    for damaged in (bytes([whole[0] ^ 1]) + whole[1:], whole[:-1] + bytes([whole[-1] ^ 128]), whole[1:], whole + b"x"):
        file.write_bytes(damaged)
        for other in (entry, {**entry, "check": "0" * 32}):
            with pytest.raises(MissingBlobError, match=name if len(damaged) == len(whole) else "damaged|has"):
                keeper.read(json.dumps([other, packs]))
