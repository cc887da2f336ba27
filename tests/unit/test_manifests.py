"""What the host reads of manifests, which sandboxes write: little, and without standing still for it."""

import asyncio
import hashlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from nodes.restoration.manifests import MAX_NEW, NotRestoredError, blobs_of, light_blobs_of, manifest_of
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.inside.kernel.snapshots.storing import manifest
from stepwell.snapshot_manifest import read_manifest
from storage.blobs import Blobs
from tests.unit.test_keeping import LyingSandbox

NAMES = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(10_000)]


def honest(count: int = 3) -> bytes:
    """As a kernel writes it: one file for each blob, and as many variables."""
    files = {f"outputs/{name[:12]}": {"chunks": [name], "mode": 420, "size": 1} for name in NAMES[:count]}
    variables = [f"v{number}" for number in range(count)]
    content = {
        "variables": {
            "order": variables,
            "units": [
                {"names": [name], "stream": {"pack": 0, "at": 0, "size": 1}, "buffers": []} for name in variables
            ],
        },
        "modules": {}, "packages": {}, "extra": {}, "packs": NAMES[:1], "files": files, "lost": [],
    }  # fmt: skip
    return manifest.pack(content, set(NAMES[:count]))


def bomb(size: int) -> bytes:
    """A manifest that names nothing, and costs as much as its size allows when somebody parses it."""
    return honest(1).replace(b'"lost":[]', b'"lost":[' + b"[]," * (size // 3) + b"0]")


@asynccontextmanager
async def longest_gap() -> AsyncIterator[list[float]]:
    """How long the event loop stood still at most, in seconds.

    What is measured here and below is this process's time on a processor: it counts whatever its threads compute, and
    not how long it waited for a core that other processes had.
    """
    gaps = [0.0]

    async def tick() -> None:
        while True:
            before = time.process_time()
            await asyncio.sleep(0.001)
            gaps[0] = max(gaps[0], time.process_time() - before)

    ticking = asyncio.ensure_future(tick())
    await asyncio.sleep(0.01)
    gaps[0] = 0.0
    try:
        yield gaps
    finally:
        ticking.cancel()


async def stored(blobs: Blobs, folder: Path, data: bytes) -> str:
    file = folder / "manifest"
    file.write_bytes(data)
    name = hashlib.sha256(data).hexdigest()
    await blobs.add_file(file, name)
    return name


def cost_of_parsing(data: bytes) -> float:
    began = time.process_time()
    json.loads(data)
    return time.process_time() - began


@pytest.mark.parametrize("count", [0, 1, 5, 4_095, 4_096, 4_097, 10_000])
def test_an_honest_manifest_is_read_as_it_was(count: int) -> None:
    data = honest(count) if count else manifest.pack({"files": {}}, set())
    assert blobs_of(data) == set(NAMES[:count])
    assert blobs_of(json.dumps(json.loads(data)).encode()) == set(NAMES[:count]) if count < 10 else True


@pytest.mark.slow
async def test_a_large_honest_manifest_is_understood_whole(tmp_path: Path) -> None:
    data = honest(10_000)
    assert await manifest_of(data) == json.loads(data)
    assert await light_blobs_of(data) == set(NAMES)
    blobs = Blobs.at(str(tmp_path / "blobs"))
    kept = await read_manifest(blobs, await stored(blobs, tmp_path, data))
    assert (len(kept.files), len(kept.names), kept.missing) == (10_000, 10_000, 10_000)


async def test_the_store_is_asked_for_every_piece_only_by_whoever_wants_to_know(tmp_path: Path) -> None:
    class Far(Blobs):
        async def has(self, names: Iterable[str]) -> set[str]:
            raise AssertionError("each name is a request")

    blobs = Far.at(str(tmp_path / "blobs"))
    name = await stored(Blobs.at(str(tmp_path / "blobs")), tmp_path, honest(5))
    assert len((await read_manifest(blobs, name, count_missing=False)).files) == 5


@pytest.mark.parametrize("count", [1, 1_000])
async def test_a_list_of_blobs_that_stands_twice_names_no_more_than_was_checked(tmp_path: Path, count: int) -> None:
    """The host checks the first one when it keeps a step, and parsers of JSON believe the last one."""
    stolen = NAMES[-1]
    files = b'"files":{"outputs/stolen":{"chunks":["%s"],"mode":420,"size":1},' % stolen.encode()
    data = honest(count).replace(b'"files":{', files, 1)
    data = data[:-1] + b',"blobs":["%s"]}' % b'","'.join(name.encode() for name in [*NAMES[:count], stolen])
    assert json.loads(data)["blobs"] == [*NAMES[:count], stolen]
    assert stolen not in blobs_of(data) | await light_blobs_of(data)
    assert set((await manifest_of(data))["blobs"]) == blobs_of(data)
    blobs = Blobs.at(str(tmp_path / "blobs"))
    assert "not its own" in await waited(read_manifest(blobs, await stored(blobs, tmp_path, data)))


@pytest.mark.slow
def test_names_are_taken_without_parsing_what_follows_them() -> None:
    data = bomb(6 << 20)
    parsing = cost_of_parsing(data)
    began = time.process_time()
    assert blobs_of(data) == set(NAMES[:1])
    assert time.process_time() - began < parsing / 5


async def waited(coming: Awaitable[object]) -> str:
    with pytest.raises(NotRestoredError) as refused:
        await coming
    return str(refused.value)


@pytest.mark.slow
async def test_a_manifest_that_is_dear_to_parse_stops_nobody(tmp_path: Path) -> None:
    blobs = Blobs.at(str(tmp_path / "blobs"))
    data = bomb(9 << 20)
    name = await stored(blobs, tmp_path, data)
    parsing = cost_of_parsing(data)
    async with longest_gap() as gaps:
        assert "more than the 2,000,000 values" in await waited(read_manifest(blobs, name))
    assert gaps[0] < parsing / 3


@pytest.mark.parametrize(
    "change",
    [
        (b'"]', b'x"]'),
        (NAMES[0].encode(), NAMES[0].upper().encode()),
        (NAMES[0].encode(), b"../" + NAMES[0].encode()[3:]),
        (b'"format":1', b'"format":2'),
        (b'","', b'", "'),
        (b'","', b"','"),
        (b'["', b"[["),
        (b"],", b"}"),
        (b'],"cache_tag"', b'],"x"'),
    ],
)
def test_a_list_of_names_that_is_none_is_refused(change: tuple[bytes, bytes]) -> None:
    data = manifest.pack({"files": {}}, set(sorted(NAMES)[:2]))
    changed = honest(2).replace(*change, 1) if change[0] not in data else data.replace(*change, 1)
    with pytest.raises(NotRestoredError):
        blobs_of(changed)


async def test_a_manifest_that_no_session_needs_is_not_kept_and_the_step_says_why(tmp_path: Path) -> None:
    sandbox = LyingSandbox(tmp_path / "a", names=[])
    sandbox.manifest = bomb(MAX_NEW + 1_000)
    name = hashlib.sha256(sandbox.manifest).hexdigest()
    sandbox.delivers = {name: sandbox.manifest}
    (tmp_path / "a" / "spool" / name).write_bytes(sandbox.manifest)
    blobs = Blobs.at(str(tmp_path / "blobs"))
    kept = await SnapshotStore(blobs).keep(sandbox, [], limit_bytes=1 << 30)
    assert kept.snapshot == ""
    assert "more than the 32 MB" in kept.why_not
    assert [one async for one in blobs.names()] == []
