"""What a run has done so far, gathered from its events: for browsers that come later than it began."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import cast

from graph.events import (
    ApprovalAsked,
    CellFinished,
    CellStarted,
    Displayed,
    Event,
    Failed,
    Finished,
    FunctionCalled,
    InputTaken,
    ModelAnswered,
    ModelAsked,
    ModelAskedAgain,
    Notice,
    Output,
    Planned,
    Proposed,
    Published,
    SentBack,
    SessionRestored,
    SnapshotSaved,
    Started,
    Writing,
)
from graph.settings import Prices
from graph.state import Artifact, Cell, Input, PlanStep

MAKING = {"plan": "planning", "generate": "writing the next cell", "check_final": "checking the answer"}
"""What a node waits for a model for."""
OUTPUT_KEPT = 20_000
"""Characters of what a running cell prints that are kept, the newest."""
DRAFT_KEPT = 1_500
"""Characters of what a model is writing, the newest."""
NOTICES_KEPT = 200


@dataclass(slots=True)
class RunningCell:
    """The cell that runs now."""

    number: int
    purpose: str
    code: str
    output: str = ""
    left_out: bool = False
    """Whether its first lines are kept no more."""


@dataclass(slots=True)
class Progress:
    """A run as its events have told it so far."""

    question: str = ""
    began: float = field(default_factory=time.time)
    """Seconds since 1970."""
    now: str = "starting"
    """What happens at present, in words."""
    since: float = field(default_factory=time.time)
    model: str = ""
    """The name of the model that is asked."""
    draft: str = ""
    """The end of what it is writing."""
    tokens_in: int = 0
    tokens_out: int = 0
    prices: Prices | None = None
    notices: list[tuple[str, str]] = field(default_factory=list)
    """Level and text."""
    plan: list[PlanStep] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    running: RunningCell | None = None
    artifacts: list[Artifact] = field(default_factory=list)
    ending: Event | None = None
    seen: int = 0
    """Events so far."""
    changed: dict[str, int] = field(default_factory=dict)
    """By part of what people see (`now`, `notices`, `plan`, `inputs`, `cell-3`, `output-3`), the number of the event
    that changed it last."""

    @property
    def tokens(self) -> int:
        """Tokens of this run so far."""
        return self.tokens_in + self.tokens_out

    @property
    def cost(self) -> float:
        """What they cost; 0 where there are no prices."""
        return self.prices.cost(self.tokens_in, self.tokens_out) if self.prices is not None else 0.0

    @property
    def began_at(self) -> datetime:
        """When it began."""
        return datetime.fromtimestamp(self.began, UTC)

    def copied(self) -> "Progress":
        """The same as it is now; what is added later is not in it."""
        return replace(
            self,
            inputs=list(self.inputs),
            cells=list(self.cells),
            artifacts=list(self.artifacts),
            running=replace(self.running) if self.running is not None else None,
            changed=dict(self.changed),
        )

    def changed_since(self, seen: int) -> list[str]:
        """The parts that have changed after so many events, in the order in which they did."""
        parts = [(number, part) for part, number in self.changed.items() if number > seen]
        return [part for _, part in sorted(parts)]

    def add(self, event: Event, when: float | None = None) -> None:
        """Take an event in.

        Args:
            event: What happened.
            when: Seconds since 1970; None: now.
        """
        self.seen += 1
        moment = time.time() if when is None else when
        said = list(self._notices(event))
        self.notices = [*self.notices, *said][-NOTICES_KEPT:]
        doing = _doing(event)
        if doing:
            self.now, self.since = doing, moment
        parts = (*self._taken(event, moment), *(("notices",) if said else ()), *(("now",) if doing else ()))
        self.changed |= dict.fromkeys(parts, self.seen)

    def _taken(self, event: Event, when: float) -> Iterator[str]:
        match event:
            case Started(question=question, model=model):
                self.question, self.began, self.model = question, when, model
            case InputTaken(input=one):
                self.inputs.append(one)
                yield "inputs"
            case Planned(steps=steps):
                self.plan = steps
                yield "plan"
            case ModelAsked() | ModelAskedAgain():
                self.draft = ""
                yield "now"
            case Writing(text=text):
                self.draft = (self.draft + text)[-DRAFT_KEPT:]
                yield "now"
            case ModelAnswered(input_tokens=tokens_in, output_tokens=tokens_out):
                self.draft = ""
                self.tokens_in += tokens_in
                self.tokens_out += tokens_out
                yield "now"
            case Published(artifact=artifact):
                self.artifacts.append(artifact)
            case Finished() | Failed() | ApprovalAsked():
                self.ending = event
            case _:
                yield from self._taken_of_cell(event)

    def _taken_of_cell(self, event: Event) -> Iterator[str]:
        match event:
            case CellStarted(number=number, purpose=purpose, code=code):
                self.running = RunningCell(number, purpose, code)
                yield f"cell-{number}"
            case Output(number=number, text=text) if self.running is not None and self.running.number == number:
                whole = self.running.output + text
                self.running.left_out = self.running.left_out or len(whole) > OUTPUT_KEPT
                self.running.output = whole[-OUTPUT_KEPT:]
                yield f"output-{number}"
            case Displayed(number=number, text=text) if self.running is not None and text:
                self.running.output = f"{self.running.output}{text}\n"[-OUTPUT_KEPT:]
                yield f"output-{number}"
            case CellFinished(cell=cell):
                self.running = None
                self.cells = [one for one in self.cells if one["number"] != cell["number"]] + [cell]
                yield f"cell-{cell['number']}"
            case SnapshotSaved(number=number, snapshot=snapshot):
                for place, one in enumerate(self.cells):
                    if one["number"] == number:
                        self.cells[place] = cast("Cell", {**one, "snapshot": snapshot})
                        yield f"cell-{number}"

    def _notices(self, event: Event) -> Iterator[tuple[str, str]]:
        match event:
            case Notice(text=text, level=level):
                yield level, text
            case SessionRestored():
                yield from _of_restored(event)
            case ModelAskedAgain(request=request, reason=reason):
                yield "warning", f"The model is asked again (request {request}): {reason}"
            case SentBack(missing=missing):
                yield from (("warning", f"Not good enough yet: {one}") for one in missing)
            case FunctionCalled(number=number, function=function, arguments=arguments, outcome=outcome):
                yield "info", f"Cell {number} called {function}({arguments}): {outcome}"
            case SnapshotSaved(number=number, lost=lost) if lost:
                yield "warning", f"The snapshot after cell {number} could not keep: {', '.join(lost)}."


def _doing(event: Event) -> str:
    """What happens once an event has been told, in words; empty: the same as before."""
    match event:
        case Started():
            return "opening the sandbox and reading the files"
        case InputTaken(input=one):
            return f"read {one['path']}"
        case ModelAsked(node=node):
            return MAKING.get(node, "waiting for the model")
        case CellStarted(number=number):
            return f"cell {number} is running"
        case CellFinished():
            return "keeping the step"
        case Proposed():
            return "checking the answer"
        case Published():
            return "publishing files"
        case Finished():
            return "finished"
        case Failed():
            return "stopped on an error"
        case ApprovalAsked():
            return "waiting for a decision"
    return ""


def _of_restored(event: SessionRestored) -> Iterator[tuple[str, str]]:
    """How a session came back, and what is not as it was, in sentences."""
    again = "1 cell" if event.cells == 1 else f"{event.cells} cells"
    if event.woken:
        yield "info", f"The session was woken in {event.seconds:.1f} s; all is as it was."
    elif event.from_cell:
        more = f", and {again} ran again" if event.cells else ""
        yield "info", f"The session was restored from the snapshot after cell {event.from_cell}{more}."
    elif event.cells:
        yield "info", f"The session was rebuilt: {again} ran again."
    yield from (("warning", one) for one in event.problems)
    if event.rebuilt:
        yield "info", f"Made again: {', '.join(event.rebuilt)}."
    if event.lost:
        yield "warning", f"Lost: {', '.join(event.lost)}."
    if event.versions:
        yield "warning", f"Other versions than before: {', '.join(event.versions)}."
