"""What the page needs of whoever keeps threads and runs them: this machine's data folder, or a server."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

from graph.checkpoints.step_tree import StepTree
from graph.context import Context
from graph.events import ApprovalAsked
from graph.state import State
from stepwell.comparison import Difference
from stepwell.page.progress import Progress
from stepwell.page.step_sessions import TriedCode
from stepwell.page.variables import VariablePage, VariableWindow
from stepwell.runs import Decision
from stepwell.step_detail import StepDetail
from stepwell.thread_summaries import ThreadFilter, ThreadStatus
from storage.published_files import PublishedFile
from storage.uploads import Uploads

if TYPE_CHECKING:
    from stepwell.exports.export import Exporter

Running = Literal["", "here", "elsewhere"]
"""Whether somebody works on a thread: nobody, this program, or another one."""


class NothingFoundError(Exception):
    """What an address names is not there; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What a run can be given here."""

    model: str
    """The default."""
    models: tuple[str, ...]
    sandboxes: tuple[str, ...]
    max_upload: int
    """Bytes of one file."""
    kinds: tuple[str, ...] = ()
    """The endings of files that are taken; empty: any."""
    missing: tuple[tuple[str, str], ...] = ()
    """Kinds of sandboxes that are not set up, each with what to do to have it."""
    warning: str = ""
    """What people must know before they run anything."""


@dataclass(frozen=True, slots=True)
class ThreadLine:
    """A thread of the list."""

    id: str
    question: str
    """The last one; of a fork that has none of its own, where it was forked, too."""
    status: ThreadStatus
    running: Running
    turns: int
    cells: int
    updated: datetime
    name: str = ""
    tags: tuple[str, ...] = ()
    tokens: int = 0
    seconds: float = 0.0
    """Time of its cells."""
    cost: float | None = None
    """What its tokens cost; None where there are no prices."""
    found: str = ""
    """The part of a question or answer in which the search found its words."""
    fork_of: tuple[str, str] | None = None
    """The thread and the step that it was forked at."""
    origin_kept: bool = False
    """Whether that thread is still there."""


@dataclass(frozen=True, slots=True)
class ThreadView:
    """A thread where it is now, or at one of its steps."""

    id: str
    state: State
    status: ThreadStatus
    running: Running
    updated: datetime
    mark: str
    """Another one when the thread has changed."""
    step: str = ""
    """The step's name; empty for where the thread is now."""
    steps: Mapping[int, str] = field(default_factory=dict)
    """The name of the step after each of its cells, by the cell's number."""
    context: Context = field(default_factory=Context)
    """The knobs of its last run."""
    cost: float | None = None
    asked: ApprovalAsked | None = None
    """What waits for a decision."""
    progress: Progress | None = None
    """The run that goes on here, or was the last one here."""
    error: str = ""
    """Why the last run stopped."""
    name: str = ""
    """What its user calls it, and the tags that they gave it."""
    tags: tuple[str, ...] = ()
    notices: tuple[tuple[str, str], ...] = ()
    """Level and text of what the last run here told, once it is over."""
    answer: str = ""
    """What was answered at the step, or after it and before the next cell."""


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file that was uploaded for a question."""

    file: str
    """What names it among the files of a question."""
    name: str
    size: int


class Backend(Protocol):
    """Keeps threads and runs them for the people who use the page.

    All methods raise `ThreadError` where a thread or a step is not there or cannot do what is asked, and
    `NothingFoundError` where a file is not there.
    """

    published_stays: bool
    """Whether files that a thread has published stay when it is deleted."""

    async def offer(self) -> Offer:
        """What a run can be given."""

    async def threads(self, wanted: ThreadFilter, *, limit: int) -> list[ThreadLine]:
        """The newest threads that match, newest first."""

    async def thread(self, thread: str, step: str = "") -> ThreadView:
        """A thread, where it is now or at a step."""

    async def steps(self, thread: str) -> StepTree:
        """Its steps."""

    async def step(self, thread: str, step: str) -> StepDetail:
        """One of them."""

    async def variable(self, thread: str, step: str, name: str, window: VariableWindow) -> VariablePage:
        """A part of a variable as it was at a step."""

    async def try_out(self, thread: str, step: str, code: str) -> None:
        """Run code in a session at a step that is thrown away later; nothing of the thread changes."""

    async def tried(self, thread: str, step: str) -> tuple[TriedCode, ...]:
        """What was run there, newest last; the last one may still run."""

    async def stop_trying(self, thread: str, step: str) -> None:
        """Interrupt what runs there."""

    async def compare(self, one: tuple[str, str], other: tuple[str, str]) -> Difference:
        """How the second of two steps differs from the first; each is a thread and a step's name."""

    async def start(self, question: str, files: Sequence[str], knobs: Mapping[str, Any], *, thread: str = "") -> str:
        """Ask a question, on a new thread or a further one on `thread`; returns the thread's id once it has begun."""

    async def resume(self, thread: str, knobs: Mapping[str, Any], decision: Decision | None = None) -> None:
        """Go on with a thread; returns once it has begun."""

    async def stop(self, thread: str) -> None:
        """Pause what runs; returns when it has ended."""

    def changes(self, thread: str) -> AsyncIterator[Progress]:
        """What is known of the run that goes on, at once and whenever that has changed, until it is over."""

    async def fork(self, thread: str, step: str, *, here: bool, new_turn: bool) -> str:
        """Begin a new thread, or a branch of the same, at a step; returns its id.

        A branch at a step that was answered has the answer, and what was published with it.
        """

    async def label(self, thread: str, name: str, tags: Sequence[str]) -> None:
        """Give a thread this name, or none, and these tags and no others."""

    async def delete(self, thread: str) -> None:
        """Delete a thread for good."""

    def upload_place(self) -> tuple[Uploads, str]:
        """Where files are kept that come while a question is typed, and under which name of a user."""

    async def upload(self, name: str, data: AsyncIterator[bytes], *, size: int | None = None) -> UploadedFile:
        """Take a file; `size` is what it will have, where that is known.

        Raises:
            UploadError: it is refused.
        """

    async def uploaded(self, file: str) -> UploadedFile:
        """A file that was taken.

        Raises:
            UploadError: there is none of that name.
        """

    async def figure(self, thread: str, cell: int, path: str, *, step: str = "") -> bytes:
        """A figure as it was after a cell of the thread's line."""

    def artifact(self, thread: str, name: str) -> AbstractAsyncContextManager[PublishedFile]:
        """A published file."""

    def step_file(self, thread: str, step: str, path: str) -> AbstractAsyncContextManager[PublishedFile]:
        """A file of the workspace as it was at a step."""

    def input_file(self, thread: str, path: str, *, beginning: int = 0) -> AbstractAsyncContextManager[PublishedFile]:
        """A file that the user brought, as the thread has it; `beginning`: no more than so many bytes are needed."""

    async def exporter(self, thread: str, step: str = "") -> "Exporter":
        """Makes documents of a thread, where it is now or at a step."""
