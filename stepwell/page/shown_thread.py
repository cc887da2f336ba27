"""A thread as the page's templates show it: questions with their cells and answers, files, what it took."""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from markupsafe import Markup

from graph.events import ApprovalAsked
from graph.state import Artifact, Cell, Input, Variable
from nodes.answer_checks.number_sources import NumberSources
from nodes.budget import tokens_spent
from nodes.computed_answers import ONLY_VALUES, fill, wanted_values
from nodes.restoration.line import left_aside
from stepwell.errors import ThreadError
from stepwell.exports.analysis import Analysis, analysis_of
from stepwell.exports.archive import published
from stepwell.exports.beside import PICTURES, Figure, figures_beside
from stepwell.exports.markdown import prose
from stepwell.exports.report import ShownCell, ShownTurn, shown_cell, shown_turn
from stepwell.page.backend import ThreadView
from stepwell.thread_summaries import last_question
from storage.clean_text import clean

SIMPLE = {"int": int, "float": float, "str": str}


@dataclass(frozen=True, slots=True)
class ShownThread:
    """What a thread's page shows of it."""

    title: str
    turns: tuple[ShownTurn, ...]
    next_question: str
    """A question that has not been taken up yet."""
    live_cells: tuple[ShownCell, ...]
    """Cells that ended in the run that goes on and are not in the state yet."""
    inputs: tuple[Input, ...]
    artifacts: tuple[Artifact, ...]
    cells: int
    seconds: float
    tokens: int
    figures: Mapping[int, tuple[Figure, ...]]
    """Pictures that a turn delivered and its answer does not show itself, by the turn's number."""


@dataclass(frozen=True, slots=True)
class ShownProposal:
    """An answer that waits, with its values in their places, and what they are computed by."""

    text: Markup
    expressions: tuple[tuple[str, str], ...]
    """What stands in the answer, and the expression with its format."""
    known: bool
    """Whether all of the values are known already."""


class Addresses:
    """Where the parts of a thread are.

    Args:
        base: Where the page is mounted.
        view: The thread.
    """

    def __init__(self, base: str, view: ThreadView) -> None:
        self.thread = f"{base}/threads/{view.id}"
        self.figure = figures_of(base, view.id, view.step)
        """The address of a figure by its cell's number and its path."""
        self._figures: dict[str, int] = {}
        self._steps: dict[int, str] = {}
        """The names of steps that have a snapshot, by their cells' numbers."""
        for cell in view.state.get("cells") or []:
            if cell.get("snapshot") and cell["number"] in view.steps:
                self._steps[cell["number"]] = view.steps[cell["number"]]
            self._figures |= dict.fromkeys(cell["figures"], cell["number"])
        self._inputs = {one["path"] for one in view.state.get("inputs") or []}
        self._last = max(view.steps, default=0)
        self._at = f"{self.thread}/steps/{view.steps[self._last]}" if self._last else ""
        artifacts = published(view.state)
        self._artifacts = {name: one for one in artifacts for name in (one["name"], one.get("path") or one["name"])}
        delivered = () if view.step else artifacts  # what is published is that of the thread as it is now
        self._delivered = {one.get("path") or f"outputs/{one['name']}": one for one in delivered}

    def picture(self, path: str) -> str:
        """A picture by what an answer calls it; empty when it is not known."""
        for name in _names(path):
            if name in self._figures:
                return self.figure(self._figures[name], name)
            one = self._artifacts.get(name)
            if one is not None and one["mime"] in PICTURES:
                return self.artifact(one["name"])
        return ""

    def link(self, path: str) -> str:
        """A file by what an answer calls it; empty when it is not known."""
        found = next((self._artifacts[name] for name in _names(path) if name in self._artifacts), None)
        return f"{self.thread}/files/{quote(found['name'])}" if found is not None else self.picture(path)

    def written(self, cell: int, path: str) -> str:
        """A file as it was after a cell: published as such, or in its step's snapshot; empty where there is neither."""
        found = self._delivered.get(path)
        if found is not None and found["cell"] == cell:
            return f"{self.thread}/files/{quote(found['name'])}"
        return f"{self.thread}/steps/{self._steps[cell]}/files/{quote(path)}" if cell in self._steps else ""

    def file(self, path: str) -> str:
        """A file of the workspace or an input as it is at what is shown; empty where no snapshot has it."""
        if path in self._inputs:
            return f"{self.thread}/inputs/{quote(path)}"
        last = max(self._steps, default=0)
        return self.written(last, path) if last == self._last else ""

    def variable(self, name: str) -> str:
        """A variable as it is at what is shown; empty where nothing has run."""
        return f"{self._at}/variables/{quote(name)}" if self._at else ""

    def artifact(self, name: str) -> str:
        """A published file."""
        return f"{self.thread}/artifacts/{quote(name)}"

    def of_picture(self, one: Artifact) -> tuple[str, ...]:
        """Every address under which a published picture may stand in an answer."""
        return self.artifact(one["name"]), self.picture(one.get("path") or one["name"])


def figures_of(base: str, thread: str, step: str = "") -> Callable[[int, str], str]:
    """Gives the address of a figure of a thread, as it was after a cell."""
    at = f"?step={step}" if step else ""
    return lambda cell, path: f"{base}/threads/{thread}/figures/{cell}/{quote(path)}{at}"


def _names(path: str) -> tuple[str, ...]:
    plain = path.removeprefix("./")
    return plain, f"outputs/{plain}", plain.removeprefix("outputs/")


def shown_thread(view: ThreadView, base: str) -> ShownThread:
    """A thread for the templates."""
    state = view.state
    analysis = _analysis(view)
    addresses = Addresses(base, view)
    turns = (
        tuple(
            shown_turn(analysis, turn, addresses.figure, addresses.picture, addresses.link, written=addresses.written)
            for turn in analysis.turns
        )
        if analysis is not None
        else ()
    )
    unanswered = view.running == "here" or view.status != "finished"
    question = (view.progress.question if view.progress is not None else "") or last_question(state)
    asked_next = question if unanswered and not view.step and (not turns or turns[-1].ended) else ""
    cells = list(state.get("cells") or [])
    in_state = {cell["number"] for cell in cells}
    live = view.progress.cells if view.progress is not None else []
    return ShownThread(
        title=analysis.title if analysis is not None else (asked_next.strip().partition("\n")[0][:120] or "Thread"),
        turns=turns,
        next_question=asked_next,
        live_cells=tuple(live_cell(cell, addresses.figure) for cell in live if cell["number"] not in in_state),
        inputs=tuple(state.get("inputs") or (view.progress.inputs if view.progress is not None else ())),
        artifacts=tuple(published(state)),
        cells=len(cells),
        seconds=sum(cell["seconds"] for cell in cells),
        tokens=sum(tokens_spent(state)),
        figures=(
            figures_beside(analysis, {turn.number: turn.answer for turn in turns}, addresses.of_picture)
            if analysis is not None
            else {}
        ),
    )


def shown_proposal(asked: ApprovalAsked, namespace: Sequence[Variable]) -> ShownProposal:
    """The answer that comes with a cell which waits. Nothing runs for it, so most of its values are not known yet.

    Args:
        asked: What waits.
        namespace: The variables before the cell; simple ones are known where the cell does nothing but compute values.
    """
    there = {row["name"]: row for row in namespace} if asked.code == ONLY_VALUES else {}
    wanted = wanted_values(asked.answer)
    values = [_known(there.get(expression), form) for expression, form in wanted]
    shown = [value or f"⟨value {number}⟩" for number, value in enumerate(values, 1)]
    text, filled = fill(asked.answer, shown)
    expressions = [
        (one["text"], clean(f"{one['expression']}{':' if one['format'] else ''}{one['format']}")) for one in filled
    ]
    return ShownProposal(Markup(prose(text)), tuple(expressions), all(values))  # noqa: S704 - it was made harmless


def _known(row: Variable | None, form: str) -> str:
    """The text of a value, where the table of variables has the whole of it; else empty."""
    kind = SIMPLE.get(row["kind"]) if row is not None else None
    if row is None or kind is None:
        return ""
    try:
        value = ast.literal_eval(row["summary"])
        return clean(format(value, form)) if type(value) is kind else ""
    except (ValueError, SyntaxError, MemoryError, OverflowError, RecursionError):
        return ""


def shown_answer(view: ThreadView, base: str) -> Markup:
    """What was answered at a step, with its numbers traced to the cells."""
    if not view.answer:
        return Markup()
    addresses, cells = Addresses(base, view), view.state.get("cells") or []
    aside = left_aside(cells)
    kept = [cell for cell in cells if cell["number"] not in aside]
    numbers = NumberSources(kept, view.answer, view.state.get("question") or "")
    made = prose(view.answer, numbers=numbers, picture=addresses.picture, link=addresses.link)
    return Markup(made)  # noqa: S704 - it was made harmless


def live_cell(cell: Cell, figure: Callable[[int, str], str]) -> ShownCell:
    """A cell that has just ended; its figures can be had once its step is kept."""
    return shown_cell(cell, figure if cell.get("snapshot") else lambda number, path: "")


def _analysis(view: ThreadView) -> Analysis | None:
    try:
        return analysis_of(view.id, view.state, step=view.step, updated=view.updated)
    except ThreadError:
        return None
