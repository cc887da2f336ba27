"""What every sandbox promises: the port, its results and its errors.

```
SandboxError                   the sandbox failed, not the code in it
├─ SandboxUnavailableError     cannot be reached or started now; trying again may help
├─ SandboxLostError            it was there and is gone, with its variables
├─ SnapshotMissingError        a blob of a snapshot is missing or is not what its name says
├─ SandboxRefusedError         the operator must mend something first: a key, a setting, a missing package
└─ NoSuchSandboxError          no sandbox can have that kind or name
```

What the user's code did is data (`CellResult.status`); what the sandbox did is an exception.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from sandboxes.functions import Functions
from sandboxes.rebuilding import BrokenOff, PastCell, RebuildOrder, RebuildPlan

Status = Literal["ok", "error", "timeout", "killed", "unknown"]
"""How a cell ended. `timeout`: interrupted at its time limit. `killed`: the Python process died or had to be ended.
`unknown`: nobody saw it end; no `run` returns that, it is found out afterwards."""


class SandboxError(Exception):
    """The sandbox failed, not the code in it."""


class SandboxUnavailableError(SandboxError):
    """It cannot be reached or started now; trying again may help."""


class SandboxLostError(SandboxError):
    """It is gone, with its variables."""


class SnapshotMissingError(SandboxError):
    """A blob that a snapshot needs is missing or damaged; nothing of the snapshot was loaded."""


class SandboxRefusedError(SandboxError):
    """The operator must mend something first: a key, a setting, a missing package. The message is one sentence."""


class NoSuchSandboxError(SandboxError, ValueError):
    """No sandbox can have that kind or name; trying again does not help."""


@dataclass(frozen=True, slots=True)
class CapturedText:
    """What a stream printed: its head and its tail, the middle only counted."""

    head: str = ""
    tail: str = ""
    dropped: int = 0
    """Bytes left out between head and tail."""

    @property
    def text(self) -> str:
        """Head and tail, with a line between them that counts what is left out."""
        if not self.dropped:
            return self.head + self.tail
        return f"{self.head}\n… {self.dropped:,} bytes left out …\n{self.tail}"


@dataclass(frozen=True, slots=True)
class Display:
    """One rich result, in the forms that it has."""

    kind: Literal["result", "display", "figure"]
    """`result`: the value of the cell's last expression; `display`: a call of `display()`; `figure`: an open figure."""
    text: str = ""
    html: str = ""
    path: str = ""
    """Workspace path of its PNG form, written by the kernel; empty when it has none."""


@dataclass(frozen=True, slots=True)
class CellError:
    """The exception that ended a cell."""

    name: str
    message: str
    traceback: str
    """The user's lines only; what happened inside libraries is one line."""


@dataclass(frozen=True, slots=True)
class NamespaceRow:
    """One user variable: its name, its type, and what it holds in a few words (`5,000 x 12: date datetime64, …`)."""

    name: str
    type: str
    summary: str


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A workspace file (outside `inputs/`) that a cell made, changed or removed."""

    path: str
    change: Literal["created", "changed", "deleted"]
    size: int


@dataclass(frozen=True, slots=True)
class CellResult:
    """What one cell did, complete. Nodes cut it before remembering it."""

    status: Status
    stdout: CapturedText = field(default_factory=CapturedText)
    stderr: CapturedText = field(default_factory=CapturedText)
    displays: tuple[Display, ...] = ()
    error: CellError | None = None
    namespace: tuple[NamespaceRow, ...] = ()
    """All user variables after the cell."""
    files: tuple[ChangedFile, ...] = ()
    seconds: float = 0.0
    note: str = ""
    """What the model should know of how it ended: which limit, which signal, whether variables were kept."""
    variables_kept: bool = True
    """False when the Python process is gone; the next cell would start with an empty namespace."""
    reached: tuple[str, ...] = ()
    """What it reached outside of the sandbox, as far as that was seen: `network example.org`, `program git`."""
    recovered: Literal["", "copy", "files", "snapshot"] = ""
    """After `killed`: `copy`: a copy of the process that was frozen before the cell went on, with the variables from
    before it; `files`: the same, but the cell had changed files, so the sandbox's head is empty; `snapshot`: whoever
    ran the cell has restored the snapshot from before it."""
    recovery_seconds: float = 0.0
    """How long that took."""


@dataclass(frozen=True, slots=True)
class Streamed:
    """Something that a running cell just did: printed text, or showed a display."""

    stream: Literal["stdout", "stderr", "display"]
    text: str = ""
    display: Display | None = None


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """What a program of ours printed inside the sandbox."""

    status: Status
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class WorkspaceFile:
    """A regular file in the workspace."""

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """A workspace file that was copied out."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class LostVariable:
    """A variable that a snapshot could not keep, or that a restore could not bring back."""

    name: str
    type: str
    reason: str
    cell: int = 0
    """The cell after which it was first found to be lost; 0 when that is not known."""


@dataclass(frozen=True, slots=True)
class SnapshotTaken:
    """What came of taking a snapshot."""

    id: str
    """sha256 of its manifest, in hex, which is a blob too; empty when it was refused."""
    new: tuple[str, ...] = ()
    """The blobs that were written for it, the manifest last."""
    bytes: int = 0
    """The size of the new blobs."""
    seconds: float = 0.0
    lost: tuple[LostVariable, ...] = ()
    refused: str = ""
    """Why there is none, in a sentence; nothing was kept of it, and the session goes on."""


@dataclass(frozen=True, slots=True)
class RestoredSession:
    """What came back."""

    restored: tuple[str, ...] = ()
    lost: tuple[LostVariable, ...] = ()
    rebuilt: tuple[str, ...] = ()
    """Variables that the snapshot does not have and that were made again by running cells."""
    versions: tuple[str, ...] = ()
    """What differs from the Python and the packages that the snapshot was taken with: `pandas 3.1.1 -> 3.2.0`."""
    woken: bool = False
    """Whether the session had been put to sleep at this very snapshot."""


@dataclass(frozen=True, slots=True)
class Reached:
    """The sandbox's note on the last cell that began in it. It outlives the session, and the host's process."""

    sandbox: str
    """Names the place of the note: another name means that what began elsewhere is not known here."""
    head: str = ""
    """The `head` that the cell was to lead to; empty when none has begun."""
    what: tuple[str, ...] = ()
    """What it reached outside of the sandbox, as far as that was seen."""


class Sandbox(Protocol):
    """A live Python session with a workspace. Variables persist between cells.

    The workspace has `inputs/` (the user's files), `outputs/` (what the user will get) and `figures/` (what cells
    drew); it is the working directory of every cell. Paths are relative to it, with `/`.
    """

    @property
    def kind(self) -> str:
        """Which kind of sandbox this is: `local`, `daytona`, `fake`."""

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

        Errors and limits of the code are data in the result. Cancelling the task interrupts the cell.

        Raises:
            SandboxLostError: the sandbox is gone.
            SandboxUnavailableError: it cannot be reached; the cell was not started.
        """

    async def reached(self) -> Reached:
        """The note on the last cell that began: what to go by when nobody saw how it ended."""

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

    async def take_blobs(self, names: Sequence[str], folder: Path) -> None:
        """Copy blobs out of the spool into a host folder, each under its name. What they hold is not checked.

        Raises:
            SnapshotMissingError: one is not in the spool.
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
