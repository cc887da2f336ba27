"""What every sandbox promises: the port and its errors.

```
SandboxError                   the sandbox failed, not the code in it
├─ SandboxUnavailableError     cannot be reached or started now; trying again may help
├─ SandboxLostError            it was there and is gone, with its variables
├─ SnapshotMissingError        a blob of a snapshot is missing or is not what its name says
├─ SandboxRefusedError         the operator must fix something first: a key, a setting, a missing package
└─ NoSuchSandboxError          no sandbox can have that kind or name
```

What the user's code did is data (`sandboxes/results.py`); what the sandbox did is an exception.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from sandboxes.functions import Functions
from sandboxes.rebuilding import BrokenOff, PastCell, RebuildOrder, RebuildPlan
from sandboxes.results import (
    CellResult,
    FetchedFile,
    LookTaken,
    ProgramResult,
    Reached,
    RestoredSession,
    SnapshotTaken,
    Streamed,
    TrialRestore,
    WorkspaceFile,
)


class SandboxError(Exception):
    """The sandbox failed, not the code in it."""


class SandboxUnavailableError(SandboxError):
    """It cannot be reached or started now; trying again may help."""


class SandboxLostError(SandboxError):
    """It is gone, with its variables."""


class SnapshotMissingError(SandboxError):
    """A blob that a snapshot needs is missing or damaged; nothing of the snapshot was loaded."""


class SnapshotTooLargeError(SandboxError):
    """What a snapshot holds is more than it may; the message says how much."""


class SandboxRefusedError(SandboxError):
    """The operator must fix something first: a key, a setting, a missing package. The message is one sentence."""


class NoSuchSandboxError(SandboxError, ValueError):
    """No sandbox can have that kind or name; trying again does not help."""


Pack = Callable[[str, memoryview], bytes | None]
"""Says what the content of a blob, by its name, is packed to; None when it stays as it is."""


@dataclass(frozen=True, slots=True)
class TakenBlob:
    """What is known of a blob that was copied out of a spool."""

    sha256: str
    """Of its content, as this process has read it."""
    size: int
    """Bytes of its content, holes included."""
    settled: bool = False
    """Whether it lies there packed already, or was found not to be worth it."""


class Sandbox(Protocol):
    """A live Python session with a workspace. Variables persist between cells.

    The workspace has `inputs/` (the user's files), `outputs/` (what the user will get) and `figures/` (what cells
    drew); it is the working directory of every cell. Paths are relative to it, with `/`.
    """

    @property
    def kind(self) -> str:
        """Which kind of sandbox this is: `local`, `docker`, `daytona`, `fake`."""

    @property
    def id(self) -> str:
        """Its name; opening the same name again gives the same sandbox as long as it lives."""

    @property
    def head(self) -> str:
        """The snapshot that its variables and files are at; empty for a new one and after a cell that broke off."""

    @property
    def isolation(self) -> str:
        """What keeps code in it away from the rest of the machine, in one sentence."""

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
        """Run one cell.

        Args:
            code: Python; top-level `await` is allowed, the value of a last expression is shown.
            number: The cell's number: names its source in tracebacks and its figures.
            timeout: Seconds until it is interrupted; if that does not end it, it is killed soon after.
            head: The snapshot that the sandbox is at once the cell has ended with its variables kept. After
                `killed`, and when the task was cancelled, the head is empty.
            on_output: Called in the event loop with what the cell prints and shows, while it runs; must not block.
            functions: What the cell can call of the host, each under its name. No call of it goes on when the cell has
                ended.
            values: Expressions that are evaluated after the code, each with a format (Python's own, or `table`). One
                that fails is an error of the cell; variables stay as the code left them.

        Errors and limits of the code are data in the result. Cancelling the task interrupts the cell.

        Raises:
            SandboxLostError: the sandbox is gone.
            SandboxUnavailableError: it cannot be reached; the cell was not started.
        """

    async def reached(self) -> Reached:
        """The recorded side effects of the last cell that began; used when its end was not seen."""

    async def run_program(self, program: Path, arguments: Sequence[str], *, timeout: float) -> ProgramResult:
        """Run a Python program of ours (a folder with `__main__.py` on the host) beside the session, in the workspace.

        Its output is capped at 4 MB; a failing exit is `error`, with what it wrote to stderr.

        Raises:
            SandboxUnavailableError: it cannot be started.
        """

    async def put(self, source: Path, path: str) -> None:
        """Copy a host file into the workspace, whole or not at all.

        Raises:
            SandboxUnavailableError: there is no room for it, or the workspace cannot be written.
            ValueError: the path leaves the workspace.
        """

    async def files(self, folder: str) -> list[WorkspaceFile]:
        """The regular files below a folder, sorted by path, links and special files left out.

        A folder that does not exist has none.
        """

    async def fetch(self, path: str, target: Path, *, max_bytes: int) -> FetchedFile:
        """Copy a workspace file out without following links.

        Raises:
            FileNotFoundError: there is no regular file at that path (a link, a folder or a device does not count).
            ValueError: it is larger than `max_bytes`, or the path leaves the workspace.
        """

    async def snapshot(self, *, limit_bytes: int) -> SnapshotTaken:
        """Keep the variables and the workspace's files as they are now, as blobs in the sandbox's spool.

        Args:
            limit_bytes: How many bytes of new blobs it may write; beyond that it is refused and removed.

        The head is the new snapshot's id after it; it stays as it was when the snapshot was refused. Only blobs that
        this session has neither written nor been restored from are written, so a host that failed to take out the
        blobs of one snapshot finds them in the spool at the next: it takes out what the manifest names and its store
        does not have.

        Raises:
            SandboxLostError: the sandbox is gone.
        """

    async def restore(self, id: str) -> RestoredSession:
        """Start a new session with the variables and files of a snapshot; all its blobs were supplied before.

        What cannot be brought back is data. `inputs/` is left as it is. The head is `id` after it.

        Raises:
            SandboxLostError: the new session ended while it restored.
            SandboxUnavailableError: a session cannot be started.
            SnapshotMissingError: a blob is missing or damaged; the session is empty then, and so is the head, and what
                was supplied is gone.
        """

    async def plan_rebuild(self, cells: Sequence[PastCell], names: Sequence[str], *, limit: float) -> RebuildPlan:
        """Say which cells have to run so that lost variables are there again; nothing is run.

        The code of cells is only ever looked at inside the sandbox.

        Args:
            cells: All that took effect up to the snapshot that the sandbox is at. The manifests and packs of their
                snapshots were supplied before.
            names: Variables that this snapshot has lost.
            limit: Seconds that the cells may have taken together.

        Raises:
            SandboxLostError: the sandbox is gone.
        """

    async def rebuild(self, order: RebuildOrder) -> RestoredSession | BrokenOff:
        """Start a new session, run cells in it from an earlier snapshot, and bring it to a later one.

        What the cells made stays, with the objects that it shares with other variables; everything else, the
        workspace too, is as that snapshot has it. What the cells print and show is let go. All blobs of the first and
        the last snapshot were supplied before, and packs and files of those that cells find. The head is
        `order.snapshot` after it.

        Returns:
            What came back; or why nothing did, and then the session is gone and the head empty.

        Raises:
            SandboxLostError: the new session ended while it worked.
            SandboxUnavailableError: a session cannot be started.
        """

    async def take_blobs(
        self, names: Sequence[str], folder: Path, *, max_bytes: int | None = None
    ) -> dict[str, TakenBlob]:
        """Copy blobs out of the spool into a host folder, each under its name. What they hold is not checked.

        Args:
            names: The blobs.
            folder: The host folder.
            max_bytes: What they may have together, holes in files included; None: no limit.

        Returns:
            What is known of them, by name, of those that were hashed as they were copied.

        Raises:
            SnapshotMissingError: one is not in the spool.
            SnapshotTooLargeError: they have more.
        """

    async def drop_blobs(self, names: Sequence[str]) -> None:
        """Remove blobs from the spool, once the store has them; one that is not there is no error.

        A manifest's name among them says that the store has the whole snapshot. From then on a session at that snapshot
        may be put to sleep while it is idle: its process ends, the head is empty, and a restore wakes it.
        """

    async def supply_blobs(self, files: Sequence[Path]) -> None:
        """Give the sandbox blobs for a restore: host files whose names are their hashes. What it has stays."""

    async def supplied_blobs(self) -> frozenset[str]:
        """The blobs that it was given and still has."""

    async def reset(self) -> None:
        """Start again: an empty namespace, and a workspace that holds only `inputs/`. The head is empty after it."""

    async def close(self) -> None:
        """End the session. The workspace's files stay where they are. Closing twice is allowed."""


class Spool(Protocol):
    """A spool that is a folder of this machine. All methods block."""

    ended: bool
    """Whether whoever used it was cancelled: another session may write there by now, so nothing is removed any more."""

    def take(
        self, names: Iterable[str], place: Callable[[str], Path], *, max_bytes: int, pack: Pack
    ) -> dict[str, TakenBlob]:
        """The same as `Sandbox.take_blobs`, and small blobs are packed before they are written.

        Args:
            names: The blobs.
            place: Where one goes, by its name: a new file of the host's.
            max_bytes: What they may have together, holes in files included, before they are packed.
            pack: Packs one.

        Raises:
            SnapshotMissingError: one is not in the spool.
            SnapshotTooLargeError: they have more; some may have been copied.
        """

    def drop(self, names: Iterable[str]) -> None:
        """The same as `Sandbox.drop_blobs`; the sandbox hears of it when the block of `spool` ends."""


@runtime_checkable
class SpoolHere(Protocol):
    """A sandbox whose spool is on this machine: a step is taken out of it in one go."""

    def spool(self) -> AbstractContextManager[Spool]:
        """Its spool, for the time of the block, which belongs into the event loop."""


@runtime_checkable
class Holdable(Protocol):
    """A sandbox that is deleted automatically once the store holds all its state."""

    async def hold(self) -> None:
        """Prevent its deletion: it holds state that is not in the store."""


@runtime_checkable
class KeepsSteps(Protocol):
    """A sandbox that keeps frozen copies of its last steps in memory."""

    async def return_to(
        self, snapshot: str, lay_out: Callable[[Sequence[str]], Awaitable[None]]
    ) -> RestoredSession | None:
        """Have the frozen copy of a step go on in the place of the session; files are brought to it.

        Args:
            snapshot: The step's.
            lay_out: Gives the sandbox blobs that the snapshot names, as they are needed; none: its manifest.

        Returns:
            None when there is no such copy, or a cell runs; then nothing has changed, or the session has ended.

        Raises:
            SandboxError: the copy ended meanwhile; there is no session then.
        """


@runtime_checkable
class RestoresAhead(Protocol):
    """A sandbox that can be restored before anybody asks."""

    async def restore_ahead(self, id: str) -> None:
        """Restore a snapshot, if there is no session; `Sandbox.restore` of the same one then has it.

        Until then the sandbox has no head, and whatever else is asked of it ends that session.

        Raises:
            SandboxLostError: the new session ended while it restored.
            SandboxUnavailableError: a session cannot be started.
            SnapshotMissingError: a blob is missing or damaged.
        """


class Trial(Protocol):
    """A fresh session beside a sandbox's own, behind the same walls, in which one snapshot is restored and compared."""

    async def supply_blobs(self, files: Sequence[Path]) -> None:
        """Give it blobs; see `Sandbox.supply_blobs`."""

    async def supplied_blobs(self) -> frozenset[str]:
        """The blobs that it has."""

    async def compare(self, snapshot: str, *, known: Sequence[str], seconds: float) -> TrialRestore:
        """Restore the snapshot, whose blobs were supplied, and compare it with the session that was looked at.

        Args:
            snapshot: The snapshot.
            known: Names that are known not to come back.
            seconds: Time of a processor that comparing may take.

        Raises:
            SandboxError: it ended, could not be started, or the look at the session did not come to an end.
        """


@runtime_checkable
class Provable(Protocol):
    """A sandbox of whose steps it can be proved that they come back."""

    async def look(self, snapshot: str, *, always: bool, proved: str, seconds: float, max_bytes: int) -> LookTaken:
        """Have a frozen copy of its session look at it, if it is at that snapshot and worth proving.

        Args:
            snapshot: The snapshot that it must be at.
            always: Also when all kinds of its objects have been proved.
            proved: The snapshot whose proof found nothing; what it had counts as proved from now on.
            seconds: Time of a processor that looking may take.
            max_bytes: Memory that a session may have that is to be proved.

        Raises:
            SandboxError: as its other methods do.
        """

    def trial(self) -> AbstractAsyncContextManager[Trial]:
        """A fresh session; it ends with the block, when the sandbox is closed, and when others wait for its place.

        Raises:
            SandboxUnavailableError: there is no place for one, or it cannot be made.
        """


OpenSandbox = Callable[[str, str], Awaitable[Sandbox]]
"""`await open_sandbox(kind, id)`: attach to the sandbox of that name, or create it."""


def workspace_path(path: str) -> str:
    """Check a path that came from a model, a user or a sandbox.

    Returns:
        The path, relative, normalised, with `/` between its parts.

    Raises:
        ValueError: it is empty, absolute, leaves the workspace, or holds a NUL.
    """
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]
    if path.startswith("/") or "\0" in path or ".." in parts or not parts or ":" in parts[0]:
        raise ValueError(f"not a path inside the workspace: {path!r}")
    return "/".join(parts)
