"""Snapshots between a sandbox and the store: kept whole or not at all, brought back or said why not."""

import asyncio
import errno
import hashlib
import json
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typing_extensions import override

from graph.state import Cell, SandboxRef, State
from nodes.restoration.line import BEGINNING, next_state_id
from nodes.restoration.manifests import NotRestoredError, blobs_of
from nodes.restoration.receipt import receipt_text
from nodes.restoration.restore import restore_session
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Pack, SandboxLostError, SandboxRefusedError, TakenBlob
from sandboxes.fake import FakeSandbox, ScriptedCell
from sandboxes.host.blobs import SpoolFolder
from sandboxes.results import CellResult, LostVariable, RestoredSession, SnapshotTaken
from storage.blobs import Blobs
from storage.compression import MAGIC, pack
from tests.states import make_cell, make_state

LIMIT = 10_000_000


def writes(path: str, data: bytes) -> ScriptedCell:
    return ScriptedCell(CellResult("ok"), files={path: data})


async def run_and_keep(sandbox: FakeSandbox, snapshots: SnapshotStore, count: int) -> list[Cell]:
    """Run the next scripted cells, keeping each."""
    cells: list[Cell] = []
    head = BEGINNING
    for number in range(1, count + 1):
        cell = make_cell(number)
        head = next_state_id(head, number, cell["code"])
        await sandbox.run(cell["code"], number=number, timeout=1, head=head)
        kept = await snapshots.keep(sandbox, cells, limit_bytes=LIMIT)
        assert kept.why_not == ""
        cell["snapshot"] = kept.snapshot
        cells.append(cell)
        head = sandbox.head
    return cells


def state_at(cells: list[Cell]) -> State:
    return make_state(cells=cells, sandbox=SandboxRef(kind="fake", id="fake", snapshot=cells[-1]["snapshot"]))


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs.at(str(tmp_path / "blobs"))


def flip(tmp_path: Path, name: str) -> None:
    file = tmp_path / "blobs" / name[:2] / name
    data = file.read_bytes()
    file.chmod(0o600)
    file.write_bytes(bytes([data[0] ^ 1]) + data[1:])


def content(name: bytes) -> str:
    return hashlib.sha256(name).hexdigest()


async def test_a_step_is_kept_and_brought_back_in_another_sandbox(tmp_path: Path, blobs: Blobs) -> None:
    first = FakeSandbox(tmp_path / "a", cells=[writes("outputs/x", b"one"), writes("outputs/y", b"two")])
    cells = await run_and_keep(first, SnapshotStore(blobs), 2)
    assert first.head == cells[1]["snapshot"]
    assert list((tmp_path / "a" / "spool").iterdir()) == []
    second = FakeSandbox(tmp_path / "b")
    receipt = await restore_session(second, state_at(cells), SnapshotStore(blobs))
    assert receipt is not None
    assert (receipt.cells, receipt.from_cell, receipt.problems) == (0, 2, [])
    assert receipt_text(receipt) == (
        "The session was restored from the snapshot after cell 2. Variables and files are as they were."
    )
    assert second.head == cells[1]["snapshot"]
    assert [file.path for file in await second.files("outputs")] == ["outputs/x", "outputs/y"]
    assert second.codes == []


async def test_what_is_stored_already_is_not_taken_again(tmp_path: Path, blobs: Blobs) -> None:
    sandbox = FakeSandbox(tmp_path / "a", cells=[writes("outputs/x", os.urandom(1_000_000)), writes("outputs/y", b"y")])
    snapshots = SnapshotStore(blobs)
    await sandbox.run("", number=1, timeout=1)
    kept = await snapshots.keep(sandbox, [], limit_bytes=LIMIT)
    assert kept.bytes > 1_000_000
    await sandbox.run("", number=2, timeout=1)
    assert (await snapshots.keep(sandbox, [make_cell(1, snapshot=kept.snapshot)], limit_bytes=LIMIT)).bytes < 1_000


async def test_an_unchanged_state_is_the_same_snapshot(tmp_path: Path, blobs: Blobs) -> None:
    sandbox = FakeSandbox(tmp_path / "a", cells=[writes("outputs/x", b"x"), CellResult("ok")])
    cells = await run_and_keep(sandbox, SnapshotStore(blobs), 2)
    assert cells[0]["snapshot"] == cells[1]["snapshot"]


async def test_a_snapshot_that_was_given_up_and_removed_is_stored_again_when_another_session_makes_it(
    tmp_path: Path, blobs: Blobs
) -> None:
    snapshots = SnapshotStore(blobs)  # of one process, which outlives the sessions of a thread
    before = await run_and_keep(FakeSandbox(tmp_path / "a", cells=[writes("outputs/x", b"x")]), snapshots, 1)
    await blobs.delete([stored async for stored in blobs.names()], grace=-1.0)
    cells = await run_and_keep(FakeSandbox(tmp_path / "b", cells=[writes("outputs/x", b"x")]), snapshots, 1)
    assert cells[0]["snapshot"] == before[0]["snapshot"]
    receipt = await restore_session(FakeSandbox(tmp_path / "c"), state_at(cells), SnapshotStore(blobs))
    assert receipt is not None
    assert (receipt.cells, receipt.problems) == (0, [])


async def test_a_refused_snapshot_is_no_error(tmp_path: Path, blobs: Blobs) -> None:
    sandbox = FakeSandbox(tmp_path / "a", cells=[writes("outputs/x", b"x" * 1_000)])
    await sandbox.run("", number=1, timeout=1, head="here")
    kept = await SnapshotStore(blobs).keep(sandbox, [], limit_bytes=100)
    assert kept.snapshot == ""
    assert "more than 100" in kept.why_not
    assert sandbox.head == "here"
    assert [stored async for stored in blobs.names()] == []


async def test_a_store_that_fails_is_no_error_and_the_next_snapshot_makes_up_for_it(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("in the way")
    blobs = Blobs.at(str(tmp_path / "blobs"))
    snapshots = SnapshotStore(blobs)
    sandbox = FakeSandbox(tmp_path / "a", cells=[writes("outputs/x", b"one"), writes("outputs/y", b"two")])
    await sandbox.run("", number=1, timeout=1)
    kept = await snapshots.keep(sandbox, [], limit_bytes=LIMIT)
    assert kept.snapshot == ""
    assert "STEPWELL_BLOBS" in kept.why_not
    (tmp_path / "blobs").unlink()
    await sandbox.run("", number=2, timeout=1)
    kept = await snapshots.keep(sandbox, [make_cell(1, snapshot="")], limit_bytes=LIMIT)
    assert kept.why_not == ""
    assert await blobs.has([content(b"one"), content(b"two")]) == {content(b"one"), content(b"two")}


async def test_a_session_that_dies_while_it_is_kept_is_no_error(tmp_path: Path, blobs: Blobs) -> None:
    sandbox = FakeSandbox(tmp_path / "a")
    await sandbox.close()
    assert "closed" in (await SnapshotStore(blobs).keep(sandbox, [], limit_bytes=LIMIT)).why_not


class RefusingSandbox(FakeSandbox):
    """Its folders are gone, as while Daytona deletes it."""

    async def snapshot(self, *, limit_bytes: int) -> SnapshotTaken:
        raise SandboxRefusedError("Daytona could not say something to the sandbox: permission denied.")


async def test_a_sandbox_that_is_deleted_while_it_is_kept_is_no_error(tmp_path: Path, blobs: Blobs) -> None:
    kept = await SnapshotStore(blobs).keep(RefusingSandbox(tmp_path / "a"), [], limit_bytes=LIMIT)
    assert "permission denied" in kept.why_not


class LyingSandbox(FakeSandbox):
    """Names blobs in its manifest that it does not hand over, or hands over what they are not."""

    def __init__(self, folder: Path, *, names: list[str], delivers: dict[str, bytes] | None = None) -> None:
        super().__init__(folder)
        self.manifest = json.dumps({"format": 1, "blobs": names}).encode()
        self.delivers = {**(delivers or {}), content(self.manifest): self.manifest}
        self.new = tuple(self.delivers)
        self.folder = folder
        (folder / "spool").mkdir(parents=True, exist_ok=True)
        for name, data in self.delivers.items():
            (folder / "spool" / name).write_bytes(data)

    async def snapshot(self, *, limit_bytes: int) -> SnapshotTaken:
        return SnapshotTaken(content(self.manifest), new=self.new)


class LyingHere(LyingSandbox):
    """The same, with a spool on this machine."""

    @contextmanager
    def spool(self) -> Iterator[SpoolFolder]:
        yield SpoolFolder(self.folder / "spool")


BOTH = pytest.mark.parametrize("lying", [LyingSandbox, LyingHere])


async def what_is_stored(blobs: Blobs) -> list[str]:
    """Everything, with what writers left behind."""
    return [stored.key async for stored in blobs.names()]


@BOTH
async def test_a_sandbox_cannot_have_the_blobs_of_another_thread(
    tmp_path: Path, blobs: Blobs, lying: type[LyingSandbox]
) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    await blobs.add_file(secret, content(b"secret"))
    before = await what_is_stored(blobs)
    kept = await SnapshotStore(blobs).keep(lying(tmp_path / "a", names=[content(b"secret")]), [], limit_bytes=LIMIT)
    assert kept.snapshot == ""
    assert re.search("not in the spool|has no blob", kept.why_not)
    assert await what_is_stored(blobs) == before


@BOTH
async def test_a_blob_with_other_content_never_enters_the_store(
    tmp_path: Path, blobs: Blobs, lying: type[LyingSandbox]
) -> None:
    name = content(b"good")
    sandbox = lying(tmp_path / "a", names=[name], delivers={name: b"evil"})
    kept = await SnapshotStore(blobs).keep(sandbox, [], limit_bytes=LIMIT)
    assert kept.snapshot == ""
    assert "other content" in kept.why_not
    assert await what_is_stored(blobs) == []
    assert {file.name for file in (tmp_path / "a" / "spool").iterdir()} == set(sandbox.delivers)


@BOTH
async def test_a_sandbox_cannot_fill_the_store_beyond_its_limit(
    tmp_path: Path, blobs: Blobs, lying: type[LyingSandbox]
) -> None:
    """What its blobs are packed to does not count: it could be next to nothing."""
    delivers = {content(data): data for data in (bytes([number]) * (1 << 20) for number in range(40))}
    sandbox = lying(tmp_path / "a", names=sorted(delivers), delivers=delivers)
    for first in (0, 20):  # at once, or half of them after the manifest
        sandbox.new = tuple(sandbox.delivers)[first:]
        kept = await SnapshotStore(blobs).keep(sandbox, [], limit_bytes=1_000)
        assert kept.snapshot == ""
        assert kept.why_not.endswith("that are allowed; the snapshot was refused.")
        assert await what_is_stored(blobs) == []


@BOTH
@pytest.mark.parametrize("magic", [b"", MAGIC])
async def test_what_is_small_large_or_looks_packed_is_stored_as_it_is(
    tmp_path: Path, blobs: Blobs, lying: type[LyingSandbox], magic: bytes
) -> None:
    contents = [magic + data for data in (b"", b"few", bytes(1 << 20), os.urandom(5_000), b"word " * 400_000)]
    delivers = {content(data): data for data in contents}
    sandbox = lying(tmp_path / "a", names=sorted(delivers), delivers=delivers)
    kept = await SnapshotStore(blobs).keep(sandbox, [], limit_bytes=LIMIT)
    assert (kept.why_not, kept.snapshot) == ("", content(sandbox.manifest))
    for name, data in sandbox.delivers.items():
        assert await blobs.read(name, max_bytes=LIMIT) == data
    assert {key.rpartition("/")[2] for key in await what_is_stored(blobs)} == set(sandbox.delivers)
    assert kept.bytes == sum(file.stat().st_size for file in (tmp_path / "blobs").glob("??/*"))
    assert list((tmp_path / "a" / "spool").iterdir()) == []


class SlowSpool(SpoolFolder):
    """Waits before it hands over the last blob, cannot write, or has something else in the place of what it gave."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.asked, self.go, self.done = threading.Event(), threading.Event(), threading.Event()
        self.error: Exception | None = None
        self.swaps = False

    @override
    def take(
        self, names: Iterable[str], place: Callable[[str], Path], *, max_bytes: int, pack: Pack
    ) -> dict[str, TakenBlob]:
        *_, last = wanted = list(names)

        def slow(name: str) -> Path:
            if name == last:
                self.asked.set()
                assert self.go.wait(60)
            return place(name)

        try:
            taken = super().take(wanted, slow, max_bytes=max_bytes, pack=pack)
            if self.error is not None:
                raise self.error
        finally:
            self.done.set()
        return taken

    @override
    def drop(self, names: Iterable[str]) -> None:
        for file in self.folder.iterdir() if self.swaps else ():
            file.unlink()
            file.mkdir()
        super().drop(names)


class SlowSandbox(LyingHere):
    """Its spool takes its time."""

    def __init__(self, folder: Path, *, names: list[str], delivers: dict[str, bytes] | None = None) -> None:
        super().__init__(folder, names=names, delivers=delivers)
        self.slow = SlowSpool(folder / "spool")

    @contextmanager
    @override
    def spool(self) -> Iterator[SpoolFolder]:
        try:
            yield self.slow
        finally:
            self.slow.ended = True


async def test_a_step_that_nobody_waits_for_any_more_is_given_up_and_stays_in_the_spool(
    tmp_path: Path, blobs: Blobs
) -> None:
    data = b"data"
    sandbox = SlowSandbox(tmp_path / "a", names=[content(data)], delivers={content(data): data})
    store = SnapshotStore(blobs)
    keeping = asyncio.ensure_future(store.keep(sandbox, [], limit_bytes=LIMIT))
    assert await asyncio.to_thread(sandbox.slow.asked.wait, 60)
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    sandbox.slow.go.set()
    assert await asyncio.to_thread(sandbox.slow.done.wait, 60)
    while await what_is_stored(blobs):  # what had come is removed, and nothing is stored
        assert not await blobs.has(sandbox.delivers)
    assert {file.name for file in (tmp_path / "a" / "spool").iterdir()} == set(sandbox.delivers)
    again = LyingHere(tmp_path / "a", names=[content(data)])  # the next step names it, and does not deliver it again
    assert (await store.keep(again, [], limit_bytes=LIMIT)).why_not == ""
    assert content(data) in await blobs.has([content(data)])


@pytest.mark.parametrize(
    ("error", "said"),
    [(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "No space left on device"), (MemoryError(), "MemoryError")],
)
async def test_a_machine_that_is_full_is_said_and_nothing_is_left_behind(
    tmp_path: Path, blobs: Blobs, error: Exception, said: str
) -> None:
    sandbox = SlowSandbox(tmp_path / "a", names=[])
    sandbox.slow.error = error
    sandbox.slow.go.set()
    kept = await SnapshotStore(blobs).keep(sandbox, [], limit_bytes=LIMIT)
    assert said in kept.why_not
    assert await what_is_stored(blobs) == []
    assert len(list((tmp_path / "a" / "spool").iterdir())) == 1


async def test_a_step_is_kept_though_its_spool_cannot_be_emptied(tmp_path: Path, blobs: Blobs) -> None:
    sandbox = SlowSandbox(tmp_path / "a", names=[])
    sandbox.slow.swaps = True
    sandbox.slow.go.set()
    kept = await SnapshotStore(blobs).keep(sandbox, [], limit_bytes=LIMIT)
    assert (kept.snapshot, kept.why_not) == (content(sandbox.manifest), "")
    assert await blobs.has([kept.snapshot])
    assert not sandbox.slow.dropped


async def test_a_manifest_is_read_as_it_is_stored(tmp_path: Path, blobs: Blobs) -> None:
    """One that looks packed is no manifest, whatever it would unpack to."""
    sandbox = LyingHere(tmp_path / "a", names=[])
    packed = pack(memoryview(sandbox.manifest + b" " * 5_000))
    assert packed is not None
    (tmp_path / "a" / "spool" / content(packed)).write_bytes(packed)
    sandbox.manifest, sandbox.new = packed, (content(packed),)
    kept = await SnapshotStore(blobs).keep(sandbox, [], limit_bytes=LIMIT)
    assert kept.snapshot == ""
    assert "manifest" in kept.why_not
    assert await what_is_stored(blobs) == []


@pytest.mark.parametrize(
    "manifest",
    [b"", b"[]", b"{}", b'{"format": 2, "blobs": []}', b'{"format": 1}', b'{"format": 1, "blobs": ["../x"]}', b"[" * 9],
)
def test_what_is_no_manifest_is_refused(manifest: bytes) -> None:
    with pytest.raises(NotRestoredError):
        blobs_of(manifest)


async def test_a_damaged_blob_leads_to_an_earlier_snapshot_and_the_cells_after_it(tmp_path: Path, blobs: Blobs) -> None:
    first = FakeSandbox(
        tmp_path / "a",
        cells=[writes("outputs/x", b"one"), writes("outputs/y", b"two"), writes("outputs/z", b"three")],
    )
    cells = await run_and_keep(first, SnapshotStore(blobs), 3)
    flip(tmp_path, content(b"two"))
    second = FakeSandbox(tmp_path / "b", cells=[writes("outputs/y", b"two"), writes("outputs/z", b"three")])
    receipt = await restore_session(second, state_at(cells), SnapshotStore(blobs))
    second.finish()
    assert receipt is not None
    assert (receipt.cells, receipt.from_cell) == (2, 1)
    words = receipt_text(receipt)
    assert "restored from the snapshot after cell 1, and 2 earlier cells after it ran again" in words
    assert "the snapshot after cell 3 cannot be used (The blob" in words
    assert "damaged" in words
    assert second.head == cells[2]["snapshot"]
    # What ran again is stored again: the next step is whole.
    kept = await SnapshotStore(blobs).keep(second, cells, limit_bytes=LIMIT)
    assert kept.why_not == ""
    third = FakeSandbox(tmp_path / "c")
    await SnapshotStore(blobs).restore(third, kept.snapshot, damaged=set())
    assert (tmp_path / "c" / "workspace" / "outputs" / "y").read_bytes() == b"two"


async def test_what_is_damaged_in_the_sandbox_only_is_supplied_again(tmp_path: Path, blobs: Blobs) -> None:
    cells = await run_and_keep(
        FakeSandbox(tmp_path / "a", cells=[writes("outputs/x", b"one")]), SnapshotStore(blobs), 1
    )
    sandbox = FakeSandbox(tmp_path / "b")
    (tmp_path / "b" / "blobs").mkdir(parents=True)
    (tmp_path / "b" / "blobs" / content(b"one")).write_bytes(b"two")
    receipt = await restore_session(sandbox, state_at(cells), SnapshotStore(blobs))
    assert receipt is not None
    assert (receipt.from_cell, receipt.problems) == (1, [])
    assert (tmp_path / "b" / "workspace" / "outputs" / "x").read_bytes() == b"one"


class Dying(FakeSandbox):
    """Its session dies the first times that something is restored in it."""

    deaths = 1

    async def restore(self, id: str) -> RestoredSession:
        if self.deaths:
            self.deaths -= 1
            raise SandboxLostError("The Python process is gone.")
        return await super().restore(id)


@pytest.mark.parametrize(("deaths", "from_cell"), [(1, 2), (2, 1)])
async def test_a_session_that_dies_once_while_it_restores_is_no_reason_to_go_back_further(
    tmp_path: Path, blobs: Blobs, deaths: int, from_cell: int
) -> None:
    first = FakeSandbox(tmp_path / "a", cells=[writes("outputs/x", b"one"), writes("outputs/y", b"two")])
    cells = await run_and_keep(first, SnapshotStore(blobs), 2)
    second = Dying(tmp_path / "b", cells=[writes("outputs/y", b"two")][: 2 - from_cell])
    second.deaths = deaths
    receipt = await restore_session(second, state_at(cells), SnapshotStore(blobs))
    second.finish()
    assert receipt is not None
    assert receipt.from_cell == from_cell
    assert len(receipt.problems) == 2 - from_cell
    assert (tmp_path / "b" / "workspace" / "outputs" / "y").read_bytes() == b"two"


async def test_without_any_usable_snapshot_all_cells_run_again(tmp_path: Path, blobs: Blobs) -> None:
    first = FakeSandbox(tmp_path / "a", cells=[writes("outputs/x", b"one"), writes("outputs/y", b"two")])
    cells = await run_and_keep(first, SnapshotStore(blobs), 2)
    flip(tmp_path, content(b"one"))
    second = FakeSandbox(tmp_path / "b", cells=[writes("outputs/x", b"one"), writes("outputs/y", b"two")])
    receipt = await restore_session(second, state_at(cells), SnapshotStore(blobs))
    second.finish()
    assert receipt is not None
    assert (receipt.cells, receipt.from_cell) == (2, 0)
    assert "rebuilt by running 2 earlier cells again" in receipt_text(receipt)
    assert second.head == cells[1]["snapshot"]


async def test_a_thread_of_an_earlier_version_is_rebuilt(tmp_path: Path, blobs: Blobs) -> None:
    cells = [make_cell(1, code="one"), make_cell(2, code="two")]
    head = next_state_id(next_state_id(BEGINNING, 1, "one"), 2, "two")
    state = make_state(cells=cells, sandbox=SandboxRef(kind="fake", id="fake", snapshot=head))
    sandbox = FakeSandbox(tmp_path / "a", cells=[CellResult("ok"), CellResult("ok")])
    receipt = await restore_session(sandbox, state, SnapshotStore(blobs))
    assert receipt is not None
    assert receipt.cells == 2
    assert sandbox.head == head


async def test_a_session_that_ends_while_it_restores_leads_to_running_again(tmp_path: Path, blobs: Blobs) -> None:
    class Crashing(FakeSandbox):
        async def restore(self, id: str) -> RestoredSession:
            raise SandboxLostError("The Python process crashed.")

    cells = await run_and_keep(FakeSandbox(tmp_path / "a", cells=[writes("outputs/x", b"1")]), SnapshotStore(blobs), 1)
    sandbox = Crashing(tmp_path / "b", cells=[writes("outputs/x", b"1")])
    receipt = await restore_session(sandbox, state_at(cells), SnapshotStore(blobs))
    assert receipt is not None
    assert receipt.cells == 1
    assert "The Python process crashed" in receipt_text(receipt)


def test_what_is_lost_and_what_differs_is_told() -> None:
    from nodes.restoration.receipt import Receipt

    receipt = Receipt(
        cells=0,
        seconds=0.1,
        from_cell=3,
        restored=4,
        lost=[LostVariable("con", "psycopg.Connection", "it is a connection")],
        versions=["pandas 3.1.1 -> 3.2.0"],
    )
    words = receipt_text(receipt)
    assert "create them again if you need them: con (psycopg.Connection: it is a connection)" in words
    assert "pandas 3.1.1 -> 3.2.0" in words
    assert "as they were" not in words
