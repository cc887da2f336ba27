"""What sandboxes give back: how a cell, a program, a snapshot and a restore went. Data only."""

from dataclasses import dataclass, field
from typing import Literal

Status = Literal["ok", "error", "timeout", "killed", "unknown"]
"""How a cell ended. `timeout`: interrupted at its time limit. `killed`: the Python process died or was killed.
`unknown`: its end was not seen; `run` never returns this, it is set during recovery."""


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
    values: tuple[str, ...] = ()
    """The expressions that were to be evaluated after the code, as text; empty when something failed."""
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
    """The result of taking a snapshot."""

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
    confined: bool = False
    """Whether code in it cannot reach outside at all, but through functions of the host: then nothing is unknown of a
    cell that was broken off, even where its note is not at hand."""
