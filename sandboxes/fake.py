"""The fake sandbox: replays results in order, keeps files in a folder, and fails on anything that was not scripted."""

import asyncio
import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sandboxes.base import SandboxError, SandboxLostError, SnapshotMissingError, TakenBlob, workspace_path
from sandboxes.functions import Call, Functions, Raised, Returned
from sandboxes.host import workspace
from sandboxes.host.blobs import too_large
from sandboxes.inside.kernel import values
from sandboxes.rebuilding import BrokenOff, PastCell, RebuildOrder, RebuildPlan
from sandboxes.results import (
    CellResult,
    FetchedFile,
    ProgramResult,
    Reached,
    RestoredSession,
    SnapshotTaken,
    Streamed,
    WorkspaceFile,
)


class FakeSnapshots:
    """A spool, a folder of supplied blobs, and what goes in and out. All methods block.

    Args:
        folder: Where both are.
    """

    def __init__(self, folder: Path) -> None:
        self._spool = folder / "spool"
        self._supplied = folder / "blobs"
        self._known: set[str] = set()

    def take(self, root: Path, *, limit_bytes: int) -> SnapshotTaken:
        """Write the files of a workspace into the spool, with a manifest that names them."""
        contents: dict[str, bytes] = {}
        files: dict[str, str] = {}
        for file in workspace.files(root, "."):
            if not file.path.startswith("inputs/"):
                data = (root / file.path).read_bytes()
                files[file.path] = hashlib.sha256(data).hexdigest()
                contents[files[file.path]] = data
        manifest = {"format": 1, "blobs": sorted(contents), "files": files}
        written = json.dumps(manifest, sort_keys=True).encode()
        id = hashlib.sha256(written).hexdigest()
        new = {name: data for name, data in {**contents, id: written}.items() if name not in self._known}
        size = sum(len(data) for data in new.values())
        if size > limit_bytes:
            return SnapshotTaken("", refused=f"the snapshot has {size:,} bytes, more than {limit_bytes:,}")
        self._spool.mkdir(parents=True, exist_ok=True)
        for name, data in new.items():
            (self._spool / name).write_bytes(data)
        self._known |= set(new)
        return SnapshotTaken(id, new=tuple(new), bytes=size)

    def restore(self, root: Path, id: str) -> None:
        """Make the files of a workspace those of a snapshot.

        Raises:
            SnapshotMissingError: a blob is missing or damaged; the workspace holds only its inputs then.
        """
        self._known.clear()
        try:
            self._restore(root, id)
        except SnapshotMissingError:
            workspace.remove(self._supplied)
            raise

    def _restore(self, root: Path, id: str) -> None:
        workspace.empty(root, keep=frozenset({"inputs"}))
        workspace.prepare(root)
        manifest = json.loads(self._read(id))
        contents = {path: self._read(name) for path, name in manifest["files"].items()}
        for path, data in contents.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        self._known = {id, *manifest["blobs"]}

    def copy_out(self, names: Sequence[str], folder: Path, max_bytes: int | None = None) -> None:
        """See `Sandbox.take_blobs`."""
        size = sum((self._spool / name).stat().st_size for name in names if (self._spool / name).is_file())
        if max_bytes is not None and size > max_bytes:
            raise too_large(size, max_bytes)
        for name in names:
            if not (self._spool / name).is_file():
                raise SnapshotMissingError(f"The blob {name} is not in the spool.")
            shutil.copyfile(self._spool / name, folder / name)

    def drop(self, names: Sequence[str]) -> None:
        """See `Sandbox.drop_blobs`."""
        for name in names:
            (self._spool / name).unlink(missing_ok=True)

    def supply(self, blobs: Sequence[Path]) -> None:
        """See `Sandbox.supply_blobs`."""
        self._supplied.mkdir(parents=True, exist_ok=True)
        for blob in blobs:
            shutil.copyfile(blob, self._supplied / blob.name)

    def supplied(self) -> frozenset[str]:
        """See `Sandbox.supplied_blobs`."""
        return frozenset(file.name for file in self._supplied.iterdir()) if self._supplied.is_dir() else frozenset()

    def _read(self, name: str) -> bytes:
        for folder in (self._supplied, self._spool):
            if (folder / name).is_file():
                data = (folder / name).read_bytes()
                if hashlib.sha256(data).hexdigest() == name:
                    return data
        raise SnapshotMissingError(f"The blob {name} is missing or damaged.")


@dataclass(frozen=True, slots=True)
class ScriptedCell:
    """One run that is expected, and what comes of it."""

    result: CellResult | SandboxError
    """Returned, or raised."""
    code: str = ""
    """A piece that the cell must contain; empty: any cell will do."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """What the cell writes into the workspace, by path."""
    reached: tuple[str, ...] = ()
    """What it reaches outside, also when its sandbox fails."""
    calls: Sequence[tuple[str, Sequence[object]]] = ()
    """What it calls of the host, with positional arguments, one after the other."""


class FakeSandbox:
    """A sandbox in which nothing runs.

    Args:
        folder: Where its workspace is.
        id: Its name.
        cells: What the cells give, in order.
        programs: What programs print, by the name of their folder: text, or a shape that is printed as JSON.
    """

    def __init__(
        self,
        folder: Path,
        id: str = "fake",
        *,
        cells: Sequence[CellResult | ScriptedCell | SandboxError] = (),
        programs: Mapping[str, object] | None = None,
    ) -> None:
        self._id = id
        self._workspace = folder.absolute() / "workspace"
        self._snapshots = FakeSnapshots(folder.absolute())
        self._left = [cell if isinstance(cell, ScriptedCell) else ScriptedCell(cell) for cell in cells]
        self._programs = dict(programs or {})
        self._head = ""
        self._closed = False
        self._reached = Reached(sandbox=id)
        self._ended: asyncio.Future[None] | None = None
        self.codes: list[str] = []
        """The cells that were run."""
        self.answers: list[object] = []
        """What their calls gave: values, or `Raised`."""

    @property
    def kind(self) -> str:
        """`fake`."""
        return "fake"

    @property
    def id(self) -> str:
        """Its name."""
        return self._id

    @property
    def head(self) -> str:
        """The snapshot named by the last cell that ended with its variables kept."""
        return self._head

    @property
    def isolation(self) -> str:
        """Nothing runs in it."""
        return "complete: nothing runs in it"

    async def run(
        self,
        code: str,
        *,
        number: int,
        timeout: float,
        head: str = "",
        on_output: Callable[[Streamed], None] | None = None,
        functions: Functions | None = None,
        values: Sequence[tuple[str, str]] = (),
    ) -> CellResult:
        """Replay the next scripted result.

        Raises:
            AssertionError: no cell, or another cell, was expected.
            SandboxError: the script says so, or it is closed.
        """
        if self._closed:
            raise SandboxLostError(f"The sandbox {self._id} is closed.")
        if not self._left:
            raise AssertionError(f"no cell was expected any more, but cell {number} came:\n{code}")
        scripted = self._left.pop(0)
        if scripted.code not in code:
            raise AssertionError(f"cell {number} was expected to contain {scripted.code!r}:\n{code}")
        self.codes.append(code)
        self._head = ""
        ended = self._ended = asyncio.get_running_loop().create_future()
        what = scripted.reached or getattr(scripted.result, "reached", ())
        self._reached = Reached(sandbox=self._id, head=head, what=what)
        calling = asyncio.ensure_future(self._call(functions, scripted.calls))
        try:
            await asyncio.wait((calling, ended), return_when=asyncio.FIRST_COMPLETED)
        finally:
            calling.cancel()
        if ended.done():
            note = "the sandbox was closed or reset while the cell ran; variables are lost"
            return CellResult(status="killed", note=note, variables_kept=False)
        calling.result()
        if isinstance(scripted.result, SandboxError):
            raise scripted.result
        await asyncio.to_thread(self._write, scripted.files)
        if on_output is not None:
            _stream(scripted.result, on_output)
        if scripted.result.variables_kept:
            self._head = head
        return scripted.result

    async def _call(self, functions: Functions | None, calls: Sequence[tuple[str, Sequence[object]]]) -> None:
        for name, arguments in calls:
            self.answers.append(await _called(functions, name, arguments))

    def _write(self, files: Mapping[str, bytes]) -> None:
        workspace.prepare(self._workspace)
        for path, data in files.items():
            target = self._workspace / workspace_path(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)

    async def reached(self) -> Reached:
        """What the script says of the last cell."""
        return self._reached

    async def run_program(self, program: Path, arguments: Sequence[str], *, timeout: float) -> ProgramResult:
        """Print what is scripted for the program of that name.

        Raises:
            AssertionError: nothing is.
        """
        if program.name not in self._programs:
            raise AssertionError(f"the program {program.name!r} was not expected (arguments: {list(arguments)})")
        said = self._programs[program.name]
        return ProgramResult(status="ok", stdout=said if isinstance(said, str) else json.dumps(said), stderr="")

    async def put(self, source: Path, path: str) -> None:
        """Copy a host file into the workspace; see `Sandbox.put`."""
        await asyncio.to_thread(workspace.prepare, self._workspace)
        await asyncio.to_thread(workspace.put, self._workspace, source, path)

    async def files(self, folder: str) -> list[WorkspaceFile]:
        """The regular files below a folder; `.` stands for the whole workspace."""
        return await asyncio.to_thread(workspace.files, self._workspace, folder)

    async def fetch(self, path: str, target: Path, *, max_bytes: int) -> FetchedFile:
        """Copy a workspace file out; see `Sandbox.fetch`."""
        return await asyncio.to_thread(workspace.fetch, self._workspace, path, target, max_bytes=max_bytes)

    async def snapshot(self, *, limit_bytes: int) -> SnapshotTaken:
        """Keep the workspace's files; see `Sandbox.snapshot`.

        Raises:
            SandboxLostError: it is closed.
        """
        if self._closed:
            raise SandboxLostError(f"The sandbox {self._id} is closed.")
        taken = await asyncio.to_thread(self._snapshots.take, self._workspace, limit_bytes=limit_bytes)
        self._head = taken.id or self._head
        return taken

    async def restore(self, id: str) -> RestoredSession:
        """Bring the workspace's files back; see `Sandbox.restore`.

        Raises:
            SnapshotMissingError: a blob is missing or damaged.
        """
        self._head = ""
        await asyncio.to_thread(self._snapshots.restore, self._workspace, id)
        self._head = id
        return RestoredSession()

    async def plan_rebuild(self, cells: Sequence[PastCell], names: Sequence[str], *, limit: float) -> RebuildPlan:
        """There are no variables, so none can be made again."""
        return RebuildPlan(refused=dict.fromkeys(names, "nothing runs in this sandbox"))

    async def rebuild(self, order: RebuildOrder) -> RestoredSession | BrokenOff:
        """Nothing runs, so nothing is made again."""
        self._head = ""
        return BrokenOff("nothing runs in this sandbox")

    async def take_blobs(
        self, names: Sequence[str], folder: Path, *, max_bytes: int | None = None
    ) -> dict[str, TakenBlob]:
        """Copy blobs out of the spool; see `Sandbox.take_blobs`."""
        await asyncio.to_thread(self._snapshots.copy_out, names, folder, max_bytes)
        return {}

    async def drop_blobs(self, names: Sequence[str]) -> None:
        """Remove blobs from the spool; see `Sandbox.drop_blobs`."""
        await asyncio.to_thread(self._snapshots.drop, names)

    async def supply_blobs(self, files: Sequence[Path]) -> None:
        """Take in blobs for a restore; see `Sandbox.supply_blobs`."""
        await asyncio.to_thread(self._snapshots.supply, files)

    async def supplied_blobs(self) -> frozenset[str]:
        """The blobs that it was given; see `Sandbox.supplied_blobs`."""
        return await asyncio.to_thread(self._snapshots.supplied)

    async def reset(self) -> None:
        """Empty the workspace except for the inputs. The script goes on where it is; a cell that runs ends."""
        self._head = ""
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(None)
        await asyncio.to_thread(workspace.empty, self._workspace, keep=frozenset({"inputs"}))
        await asyncio.to_thread(workspace.prepare, self._workspace)

    async def close(self) -> None:
        """Close it. Closing twice is allowed."""
        self._closed = True
        self._head = ""

    def finish(self) -> None:
        """Check at the end of a test that all scripted cells were run.

        Raises:
            AssertionError: cells are left over.
        """
        if self._left:
            raise AssertionError(f"{len(self._left)} scripted cells were never run; the next: {self._left[0]}")


async def _called(functions: Functions | None, name: str, arguments: Sequence[object]) -> object:
    if functions is None or name not in {one.name for one in functions.descriptions}:
        return Raised(f"{name!r} is not offered")
    outcome = await functions.call(Call(name, values.pack({"args": list(arguments), "kwargs": {}})))
    return values.unpack(outcome.value)["value"] if isinstance(outcome, Returned) else outcome


def _stream(result: CellResult, on_output: Callable[[Streamed], None]) -> None:
    if result.stdout.text:
        on_output(Streamed("stdout", text=result.stdout.text))
    if result.stderr.text:
        on_output(Streamed("stderr", text=result.stderr.text))
    for shown in result.displays:
        on_output(Streamed("display", display=shown))
