"""What a run tells while it goes on: typed events, sent through LangGraph's custom stream as JSON."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Literal

from langgraph.runtime import Runtime

from graph.state import Artifact, Cell, Input, PlanStep
from models.drafts import AskedAgain, Written


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a run. `kind` is its name on the wire."""

    kind: ClassVar[str] = "event"

    def as_json(self) -> dict[str, Any]:
        """The event as one JSON-shaped dict, with its kind under `event`."""
        return {"event": self.kind, **asdict(self)}


@dataclass(frozen=True, slots=True)
class Started(Event):
    """A run began, or went on, on this thread."""

    kind: ClassVar[str] = "started"
    thread: str
    question: str
    resumed: bool = False
    model: str = ""
    """The name of the model that is asked: `playbook`, or as a run or the settings name it."""


@dataclass(frozen=True, slots=True)
class Notice(Event):
    """A sentence for the user: a warning, or what is going on."""

    kind: ClassVar[str] = "notice"
    text: str
    level: Literal["info", "warning"] = "info"


@dataclass(frozen=True, slots=True)
class InputTaken(Event):
    """A file is in the workspace and was looked at."""

    kind: ClassVar[str] = "input"
    input: Input


@dataclass(frozen=True, slots=True)
class Planned(Event):
    """The plan of this turn."""

    kind: ClassVar[str] = "plan"
    steps: list[PlanStep] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ModelAsked(Event):
    """A model is being waited for."""

    kind: ClassVar[str] = "model_asked"
    node: str


@dataclass(frozen=True, slots=True)
class ModelAskedAgain(Event):
    """A model is asked once more: it did not answer, or not usably."""

    kind: ClassVar[str] = "model_asked_again"
    node: str
    request: int
    """Which request this is, from 2."""
    reason: str


@dataclass(frozen=True, slots=True)
class Writing(Event):
    """A piece of what a model is writing: prose, code or an answer, which may still be refused."""

    kind: ClassVar[str] = "writing"
    node: str
    text: str


@dataclass(frozen=True, slots=True)
class ModelAnswered(Event):
    """A model answered."""

    kind: ClassVar[str] = "model_answered"
    node: str
    input_tokens: int
    output_tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class CellStarted(Event):
    """A cell begins to run."""

    kind: ClassVar[str] = "cell_started"
    number: int
    purpose: str
    code: str


@dataclass(frozen=True, slots=True)
class Output(Event):
    """Text that the running cell printed just now."""

    kind: ClassVar[str] = "output"
    number: int
    stream: Literal["stdout", "stderr"]
    text: str


@dataclass(frozen=True, slots=True)
class FunctionCalled(Event):
    """The running cell called a host function, and the call has ended."""

    kind: ClassVar[str] = "called"
    number: int
    function: str
    arguments: str
    """In short, as they would be written."""
    outcome: str
    """`returned`, `raised ValueError`, `refused`, `rejected`, `answered from the record`."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Displayed(Event):
    """A rich result or a figure of the running cell."""

    kind: ClassVar[str] = "displayed"
    number: int
    text: str
    html: str = ""
    path: str = ""
    """Workspace path of the PNG, when there is one."""


@dataclass(frozen=True, slots=True)
class CellFinished(Event):
    """A cell ended, and this is what is remembered of it."""

    kind: ClassVar[str] = "cell_finished"
    cell: Cell


@dataclass(frozen=True, slots=True)
class SnapshotSaved(Event):
    """The step after a cell is a place to come back to, or is not."""

    kind: ClassVar[str] = "kept"
    number: int
    snapshot: str
    """The snapshot's id; empty when the step would be rebuilt by running cells again."""
    bytes: int
    """What it added to the store."""
    seconds: float
    lost: list[str] = field(default_factory=list)
    """Names of variables that it could not keep."""
    why_not: str = ""
    """Why there is no snapshot."""


@dataclass(frozen=True, slots=True)
class StepProved(Event):
    """The step after a cell was restored on trial and compared with the session, or could not be."""

    kind: ClassVar[str] = "proved"
    number: int
    outcome: Literal["proved", "differs", "not proved"]
    differs: list[str] = field(default_factory=list)
    """What would not come back as it was, and how."""
    why: str = ""
    """Why it is not proved."""
    compared: int = 0
    """Variables, settings and files that were compared."""
    cpu: float = 0.0
    """Seconds of a processor that it took."""
    share: float = 0.0
    """The part of one processor that all proofs of this process have used so far."""


@dataclass(frozen=True, slots=True)
class SessionRestored(Event):
    """The session was brought back: from a snapshot, by running earlier cells again, or both."""

    kind: ClassVar[str] = "rebuilt"
    cells: int
    """Cells that ran again."""
    seconds: float
    problems: list[str] = field(default_factory=list)
    """What is not as it was, one sentence each."""
    from_cell: int = 0
    """The cell whose snapshot was restored; 0 when there was none."""
    restored: int = 0
    """Variables that came from a snapshot."""
    lost: list[str] = field(default_factory=list)
    """Variables that did not come back, each with the cell that made it and the reason."""
    rebuilt: list[str] = field(default_factory=list)
    """Variables that no snapshot has and that were made again, each with the cells that ran for it."""
    versions: list[str] = field(default_factory=list)
    """Python and packages that differ from those of the snapshot."""
    woken: bool = False
    """Whether the session had merely been put to sleep, and all is as it was."""


@dataclass(frozen=True, slots=True)
class Proposed(Event):
    """The model proposes an answer; check_final looks at it next."""

    kind: ClassVar[str] = "proposed"
    answer: str


@dataclass(frozen=True, slots=True)
class SentBack(Event):
    """The proposed answer was not good enough."""

    kind: ClassVar[str] = "sent_back"
    missing: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Published(Event):
    """A file is where the user can get it."""

    kind: ClassVar[str] = "published"
    artifact: Artifact


@dataclass(frozen=True, slots=True)
class ApprovalAsked(Event):
    """The run waits for somebody to decide on a cell; with `plan` on a plan, with `call` on a call."""

    kind: ClassVar[str] = "approval_asked"
    thread: str
    number: int
    purpose: str
    code: str
    answer: str = ""
    """The answer that it gives when it ends well; the expressions in its placeholders run after the code."""
    back_to: int | None = None
    """The earlier cell that it goes back to first: variables and files are then as they were after it."""
    functions: list[str] = field(default_factory=list)
    """Host functions that it names."""
    plan: list[str] | None = None
    """The plan that waits; `number` is then the cell that would come next, `purpose` and `code` are empty."""
    call: dict[str, Any] | None = None
    """The call of a host function that waits: its `id`, `function`, `arguments` as people read them, `place`, the
    calls that the cell has `made`, and the `earlier` cells that write the function's name or could change its meaning.
    `code` is then the cell that makes it."""
    printed_by: int = 0
    """The cell of this turn that ran last; 0: none has."""
    printed: str = ""
    """What it printed and showed, as text."""


@dataclass(frozen=True, slots=True)
class Finished(Event):
    """The turn is over: its answer and its files."""

    kind: ClassVar[str] = "finished"
    thread: str
    answer: str
    artifacts: list[Artifact] = field(default_factory=list)
    concerns: list[str] = field(default_factory=list)
    cells: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    model: str = ""
    """The name of the model that has answered."""
    cost: float | None = None
    """What the tokens of the thread cost by STEPWELL_PRICES; None where there are no prices, or no model was paid."""
    stopped_at: int = 0
    """The cell at which the import of a notebook stopped, since it failed; 0 in the usual case."""
    none_read: bool = False
    """Whether the turn brought files of which none could be read, and no cell of it has succeeded."""

    def _repr_html_(self) -> str:
        """What a notebook shows: the answer and its files. Neither scripts nor pictures of the answer's get there."""
        from html import escape

        import nh3
        from markdown_it import MarkdownIt

        answer = MarkdownIt("commonmark", {"html": False}).enable("table").render(self.answer)
        said = [nh3.clean(answer, tags=nh3.ALLOWED_TAGS - {"img"})]
        said += [f"<p>Concern: {escape(concern)}</p>" for concern in self.concerns]
        files = [f"<li>{escape(one['name'])} <code>{escape(one['url'])}</code></li>" for one in self.artifacts]
        said += [f"<ul>{''.join(files)}</ul>"] if files else []
        return "\n".join(said)


@dataclass(frozen=True, slots=True)
class Failed(Event):
    """The run stopped on an error; the thread can be resumed."""

    kind: ClassVar[str] = "failed"
    thread: str
    error: str


KINDS: dict[str, type[Event]] = {
    event.kind: event
    for event in (
        Started, Notice, InputTaken, Planned, ModelAsked, ModelAskedAgain, Writing, ModelAnswered, CellStarted, Output,
        FunctionCalled, Displayed, CellFinished, SnapshotSaved, StepProved, SessionRestored, Proposed, SentBack,
        Published, ApprovalAsked, Finished, Failed,
    )
}  # fmt: skip


def is_event(data: object) -> bool:
    """Whether a part of the custom stream is an event; what is pushed for pages' components stands there, too."""
    return isinstance(data, dict) and "event" in data


def read_event(data: dict[str, Any]) -> Event:
    """The event that `as_json` wrote. Keys that are not its fields, such as an envelope's, are passed over.

    Raises:
        KeyError: no event has that name.
    """
    kind = KINDS[data["event"]]
    return kind(**{field.name: data[field.name] for field in fields(kind) if field.name in data})


def telling(runtime: Runtime[Any], node: str, *, writing: bool = True) -> Callable[[Written | AskedAgain], None]:
    """What tells whoever streams this run how a node's reply comes along.

    Args:
        runtime: The run's.
        node: Its name.
        writing: Whether people may read the reply while it is written.
    """

    def tell(told: Written | AskedAgain) -> None:
        match told:
            case Written(text=text):
                if writing:
                    emit(runtime, Writing(node, text))
            case AskedAgain(request=request, reason=reason):
                emit(runtime, ModelAskedAgain(node, request, reason))

    return tell


def emit(runtime: Runtime[Any], event: Event) -> None:
    """Send an event to whoever streams this run; without a listener it is dropped."""
    runtime.stream_writer(event.as_json())
