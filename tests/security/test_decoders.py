"""Whatever a sandbox sends, each thing on the host that reads it gives a result or its own error, and nothing else.

The examples are the same in each run. `STEPWELL_FUZZ_EXAMPLES` has more of them tried.
"""

import asyncio
import hashlib
import json
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.functions.host_functions import HostFunctions
from nodes.restoration.manifests import NotRestoredError, blobs_of, light_blobs_of, manifest_of
from sandboxes.functions import Call, Description, Raised, Returned
from sandboxes.host import replies, workspace
from sandboxes.host.calls import Calls, FloodError
from sandboxes.host.descriptors import Pipe
from sandboxes.host.reading import UnreadableError, read_json
from sandboxes.host.running_cell import MAX_FRAMES, RunningCell
from sandboxes.inside.kernel import frames, values
from sandboxes.inside.kernel.snapshots.earlier_snapshot import EarlierSnapshot, StepError
from sandboxes.inside.kernel.snapshots.load import SnapshotReader
from sandboxes.inside.kernel.snapshots.save import SnapshotWriter
from sandboxes.inside.kernel.snapshots.session_state.interpreter_state import StartState
from sandboxes.inside.kernel.snapshots.storing import manifest
from sandboxes.inside.kernel.snapshots.storing.blobs import Blobs, MissingBlobError, Spool
from sandboxes.local.kernel_connection import KernelConnection
from stepwell.snapshot_manifest import SnapshotManifest, _described, variable_hashes
from storage.blobs import Blobs as Store
from tests.unit.test_manifests import honest
from tests.unit.test_reading import packed

T = TypeVar("T")
EXAMPLES = int(os.environ.get("STEPWELL_FUZZ_EXAMPLES", "50"))
WORDS = [
    "type", "id", "call", "name", "done", "display", "begun", "uncall", "status", "error", "namespace", "files", "path",
    "change", "size", "reached", "new", "lost", "restored", "problem", "failed", "refused", "own", "cells", "base",
    "summary", "blobs", "format", "packs", "chunks", "variables", "units", "order", "stream", "buffers", "pack", "at",
    "names", "python", "packages", "modules", "values", "tables", "args", "kwargs", "kind", "pandas", "text", "html",
    "a" * 64, "../x", "ok", "created", "result", "\ud800", "inputs/x", "versions", "rebuilt", "message", "traceback",
]  # fmt: skip
scalars = (
    st.none() | st.booleans() | st.integers(-5, 5) | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text()
)
things = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.sampled_from(WORDS) | st.text(), inner, max_size=6),
    max_leaves=25,
)
objects = st.dictionaries(st.sampled_from(WORDS), things, max_size=8)


def fuzzed(test: Callable[..., T]) -> Callable[..., T]:
    return settings(max_examples=EXAMPLES, derandomize=True, deadline=None, database=None)(test)


def text_of(value: object) -> bytes:
    return json.dumps(value).encode()


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """Bytes in which some were changed, taken out, or put in."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        data[at : at + draw(st.integers(0, 4))] = draw(st.binary(max_size=4))
    return bytes(data)


@fuzzed
@given(st.binary(max_size=200) | damaged(frames.pack({"type": "done", "id": "x"}, b"{}") * 3))
def test_frames(data: bytes) -> None:
    assert _frames([data]) == _frames([data[at : at + 1] for at in range(len(data))])


def _frames(pieces: list[bytes]) -> list[frames.Frame]:
    unpacker, found = frames.Unpacker(8_192), list[frames.Frame]()
    for piece in pieces:
        try:
            found += unpacker.feed(piece)
        except frames.ProtocolError as error:
            return found + error.before
    return found


@fuzzed
@given(st.lists(st.tuples(objects, st.binary(max_size=40) | things.map(text_of)), max_size=8))
@pytest.mark.slow
def test_what_a_running_cell_hears(said: list[tuple[dict[str, Any], bytes]]) -> None:
    asyncio.run(_hear(said))


async def _hear(said: list[tuple[dict[str, Any], bytes]]) -> None:
    answers: list[bytes] = []

    async def send(header: dict[str, Any], body: bytes) -> None:
        answers.append(body)

    cell = RunningCell(lambda streamed: None)
    cell.calls = Calls(Offered(), send)
    for header, body in said:
        cell.hear({**header, "id": cell.id}, body)
        cell.hear({"type": "call", "name": "take", **header, "id": cell.id}, body)
        cell.hear({"type": "display", "kind": "display", **header, "id": cell.id}, body)
    cell.hear({"type": "done", "id": cell.id}, said[0][1] if said else b"")
    await cell.calls.close()
    result = await cell.result(late=False, timeout=1.0)
    assert result.status in ("ok", "error")
    assert len(cell.displays) <= replies.MAX_DISPLAYS


class Offered:
    """Offers one function."""

    descriptions = (Description("take"),)

    async def call(self, call: Call) -> Returned | Raised:
        return Returned(call.arguments)


async def test_a_cell_is_given_up_after_so_many_messages_whatever_they_are() -> None:
    cell = RunningCell(None)
    for _ in range(MAX_FRAMES):
        cell.hear({}, b"")
    with pytest.raises(FloodError, match="10,000 messages"):
        cell.hear({"type": "done", "id": cell.id}, b"{}")
    assert not cell.ended.done()


async def test_so_many_messages_at_a_time_leave_others_their_turn() -> None:
    """They are taken in over many turns of the loop, and all of them, in their order."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    taken: list[int] = []
    turns = 0

    def take(header: dict[str, Any], body: bytes) -> None:
        json.loads(b"[" + b"1," * 20_000 + b"1]")  # as dear as a frame can be
        taken.append(header["n"])

    line = KernelConnection(ours, Pipe(), Pipe(), take)
    line.listen()
    theirs.sendall(b"".join(frames.pack({"n": number}) for number in range(500)))
    while len(taken) < 500:
        before = len(taken)
        await asyncio.sleep(0)
        turns += len(taken) > before
    assert taken == list(range(500))
    assert turns > 50
    line.pause()
    theirs.sendall(frames.pack({"n": 500}))
    await asyncio.sleep(0.01)
    assert len(taken) == 500
    line.close()
    theirs.close()


@pytest.mark.slow
@fuzzed
@given(objects)
def test_answers(said: dict[str, Any]) -> None:
    said = asyncio.run(replies.read(text_of(said)))
    for row in replies.namespace(said):
        assert row.name
        assert len(row.summary) <= 2_000
    for file in replies.files(said):
        assert ".." not in file.path.split("/")
    assert all(len(name) == 64 for name in replies.snapshot(said).new)
    for reader in (replies.error, replies.reached, replies.restored, replies.rebuild_plan, replies.broken_off):
        reader(said)
    replies.problems(said)
    replies.display(said, text_of(said))


@pytest.mark.slow
@fuzzed
@given(objects | st.just({}), damaged(honest(3)))
def test_manifests(said: dict[str, Any], data: bytes) -> None:
    whole = {**json.loads(honest(2)), **said}
    for tried in (data, text_of(said), text_of(whole)):
        with suppress(NotRestoredError):
            assert all(len(name) == 64 for name in blobs_of(tried))
        for reading in (manifest_of, light_blobs_of):
            with suppress(NotRestoredError):
                asyncio.run(reading(tried))
    try:
        kept = _described(whole, 0)
    except NotRestoredError:
        return
    assert all(isinstance(file.size, int) for file in kept.files.values())


@dataclass(frozen=True)
class Packed:
    """Two packs in the store and in a spool, as a kernel and the host see them."""

    folder: str
    store: Store
    packs: list[str]
    data: list[bytes]
    writer: SnapshotWriter

    def content(self, units: list[Any]) -> dict[str, Any]:
        """What the manifest of a snapshot says that has these units and lacks a blob."""
        names = [str(name) for unit in units for name in unit["names"]]
        return {
            "variables": {"order": names, "units": units}, "lost": [], "modules": {}, "packs": self.packs, "extra": {},
            "cache_tag": manifest.cache_tag(), "files": {}, "blobs": [*self.packs, "0" * 64],
        }  # fmt: skip


@pytest.fixture(scope="module")
def kept_packs(tmp_path_factory: pytest.TempPathFactory) -> Packed:
    folder = tmp_path_factory.mktemp("packs")
    store, data = Store.at(str(folder / "store")), [b"N.].]." * 20, b"N." * 7]
    names = [hashlib.sha256(one).hexdigest() for one in data]
    (folder / "spool").mkdir()
    for name, one in zip(names, data, strict=True):
        (folder / name).write_bytes(one)
        asyncio.run(store.add_file(folder / name, name))
        (folder / "spool" / name).write_bytes(one)
    spool = str(folder / "spool")
    return Packed(
        spool, store, names, data, SnapshotWriter(ModuleType("none"), {}, spool, StartState(), Spool(spool), spool)
    )


small = st.integers(-3, 130) | st.sampled_from([0, 1, 2, 2**31, 2**63, 2**70])
numbers = small | small | scalars
"""What stands where a number should: most often one."""
hostile_runs = st.lists(st.tuples(numbers, numbers, numbers).map(list) | things, max_size=4) | st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 9), st.integers(0, 5)).map(list), min_size=1, max_size=4
)
hostile_places = st.one_of(
    st.fixed_dictionaries({"runs": hostile_runs}, optional={"size": numbers}),
    st.fixed_dictionaries({"runs": hostile_runs | things, "size": numbers}, optional={"pack": numbers, "at": numbers}),
    st.fixed_dictionaries({"pack": numbers, "at": numbers, "size": numbers}),
    st.fixed_dictionaries({"text": st.text("N.]\x80é\u0100\ud800", max_size=6) | things, "size": numbers}),
    st.fixed_dictionaries({"blobs": st.lists(st.sampled_from(WORDS) | things, max_size=3) | things, "size": numbers}),
    things,
)
hostile_buffers = st.lists(
    st.fixed_dictionaries(
        {"size": st.integers(-3, 130), "blobs": st.just([])},
        optional={"base": st.just([]), "patches": st.lists(st.tuples(numbers, numbers, numbers, numbers).map(list))},
    ),
    max_size=2,
)


@pytest.mark.slow
@fuzzed
@given(place=hostile_places, buffers=hostile_buffers)
def test_places_of_streams(kept_packs: Packed, place: Any, buffers: list[Any]) -> None:
    """What a manifest says of where streams are: the host and the kernel read the same there, or refuse it."""
    blobs = Blobs([kept_packs.folder])
    readable = False
    with suppress(MissingBlobError):
        readable = len(manifest.read(place, kept_packs.packs, blobs, {})) == place["size"]
        assert readable
    unit = {"names": ["v"], "stream": place, "buffers": buffers}
    step = SnapshotManifest((), {}, 0, "", {}, 0, (unit,), tuple(kept_packs.packs), {})
    try:
        hashed = asyncio.run(variable_hashes(kept_packs.store, step))
    except NotRestoredError:
        hashed = {}
    assert not hashed or readable or "blobs" in place
    content = kept_packs.content([unit])
    with suppress(StepError):
        EarlierSnapshot("step 1", content, blobs, lambda names: None, "").variable("v")
    data = manifest.pack(content, {"0" * 64})
    id = hashlib.sha256(data).hexdigest()
    Path(kept_packs.folder, id).write_bytes(data)
    assert SnapshotReader(ModuleType("none"), kept_packs.writer, blobs).restore(id)["problem"]


@pytest.mark.parametrize(
    "place",
    [
        {"runs": [[0, 0, 6], [0, 6, 4]], "size": 10},
        {"runs": [[1, 0, 2], [0, 0, 2]], "size": 4},
        {"runs": [], "size": 0},
        {"pack": 1, "at": 4, "size": 3},
        {"text": "N.é", "size": 3},
    ],
)
def test_honest_places_are_read(kept_packs: Packed, place: dict[str, Any]) -> None:
    data = manifest.read(place, kept_packs.packs, Blobs([kept_packs.folder]), {})
    runs = place.get("runs", [[place.get("pack"), place.get("at"), place["size"]]])
    expected = b"".join(kept_packs.data[pack][at : at + size] for pack, at, size in runs if pack is not None)
    assert data == (place["text"].encode("latin-1") if "text" in place else expected)


@fuzzed
@given(things, st.binary(max_size=30), st.integers(0, 2**32 - 1))
def test_arguments(said: Any, more: bytes, length: int) -> None:
    asyncio.run(_call(text_of({"values": said, "tables": said}), more, length))


async def _call(text: bytes, more: bytes, length: int) -> None:
    def take(value: Any = None) -> None: ...

    offer = await HostFunctions([take]).ready()
    for tried in (packed(text), packed(text) + more, values.LENGTH.pack(length) + text, more):
        outcome = await offer.call(Call("take", tried), timeout=60)
        assert isinstance(outcome, Returned) or outcome.message.startswith("the arguments cannot be used: ")
        assert len(values.shown(tried)) <= 200


@fuzzed
@given(st.binary(max_size=300))
def test_json(data: bytes) -> None:
    for tried in (data, b'{"a": ' + data, b'"' + data + b'"', b"[" * len(data) + data):
        try:
            asyncio.run(read_json(tried))
        except UnreadableError:
            continue


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe\0\n\x80", b"x" * 1_000_000, b"\n" * 100_000, b"head\n" + b"y\n" * 9_000]
)
def test_notes(data: bytes, tmp_path: Path) -> None:
    (tmp_path / workspace.NOTE).write_bytes(data)
    note = workspace.read_note(tmp_path)
    assert len(note.head) <= 64
    assert len(note.what) <= replies.MAX_REACHED
    assert all(len(line) <= 200 for line in note.what)
