"""An analysis as reports, notebooks and pages show it: its questions, and for each the plan, the cells, the answer."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from graph.state import Cell, Input, PlanStep, State
from nodes.calls.recorded_calls import functions_called
from nodes.restoration.line import left_aside
from stepwell.errors import ThreadError
from stepwell.thread_summaries import fork_title


@dataclass(frozen=True, slots=True)
class AnalysedTurn:
    """A question with its plan, cells and answer."""

    number: int
    question: str
    plan: tuple[PlanStep, ...]
    cells: tuple[Cell, ...]
    answer: str
    """Markdown; empty while there is none."""
    concerns: tuple[str, ...]
    """What the checks still held against the answer; known of the newest one alone."""
    ended: bool


@dataclass(frozen=True, slots=True)
class Analysis:
    """A thread at one of its steps."""

    thread: str
    step: str
    """The step's name; empty for where the thread is now."""
    updated: datetime | None
    turns: tuple[AnalysedTurn, ...]
    inputs: tuple[Input, ...]
    state: State
    aside: frozenset[int]
    """The cells that a later one went back over."""

    @property
    def title(self) -> str:
        """The first line of its first question; of a fork, of the first one of its own, or where it was forked."""
        forked = self.state.get("forked")
        own = [turn for turn in self.turns if forked is None or turn.number > forked["turns"]]
        lines = [line for turn in (own or self.turns)[:1] for line in turn.question.strip().splitlines()]
        first = lines[0].strip() if lines else f"Thread {self.thread}"
        if forked is not None and not own:
            first = fork_title(forked["step"], first)
        return first if len(first) <= 120 else f"{first[:119]}…"

    @property
    def cells(self) -> list[Cell]:
        """All its cells, in their order."""
        return list(self.state.get("cells") or [])

    def cells_before(self, turn: AnalysedTurn) -> list[Cell]:
        """The cells that an answer may rest on: those of its turn and of the turns before."""
        return [cell for cell in self.cells if cell["turn"] <= turn.number]

    def functions(self) -> list[str]:
        """The functions of the program around it that its cells called."""
        return sorted({name for cell in self.cells for name in functions_called(cell)})


def analysis_of(thread: str, state: State, *, step: str = "", updated: datetime | None = None) -> Analysis:
    """Read an analysis from a state.

    Raises:
        ThreadError: nothing was asked yet.
    """
    turns = tuple(_turns(state))
    if not turns:
        raise ThreadError(f"Thread {thread} has nothing to export yet: its first question has not been taken up.")
    return Analysis(
        thread=thread,
        step=step,
        updated=updated,
        turns=turns,
        inputs=tuple(state.get("inputs") or []),
        state=state,
        aside=frozenset(left_aside(state.get("cells") or [])),
    )


def _turns(state: State) -> Iterator[AnalysedTurn]:
    cells = state.get("cells") or []
    over = state.get("turns") or []
    newest = state.get("turn", 0)
    for turn in over:
        is_newest = turn["number"] == newest
        plan = [PlanStep(text=text, done=True) for text in turn["plan"]]
        yield AnalysedTurn(
            number=turn["number"],
            question=turn["question"],
            plan=tuple((state.get("plan") or plan) if is_newest else plan),
            cells=tuple(cell for cell in cells if cell["turn"] == turn["number"]),
            answer=turn["answer"],
            concerns=tuple(state.get("concerns") or []) if is_newest else (),
            ended=True,
        )
    if newest and all(turn["number"] != newest for turn in over):
        yield AnalysedTurn(
            number=newest,
            question=state.get("question", ""),
            plan=tuple(state.get("plan") or []),
            cells=tuple(cell for cell in cells if cell["turn"] == newest),
            answer="",
            concerns=(),
            ended=False,
        )
