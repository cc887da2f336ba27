"""What is said of a step whose snapshot was given up to make room, and what bringing it back takes.

Such a step is rebuilt as one without a snapshot is: from the nearest earlier snapshot that is kept, by running the
cells after it again. That gives the step again where these cells may be repeated. Where one of them may not, since it
reached outside of the sandbox or was interrupted, the step cannot be had as it was, and whoever asks for it is told so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from graph.checkpoints.given_up import GivenUp
from graph.state import Cell
from nodes.restoration.line import cells_in_effect

REPEATABLE = ("ok", "error")
"""Cells that end by themselves can be repeated; what an interrupted one had done until then cannot."""
MAX_CELLS = 3
"""Cells that are named one by one."""


@dataclass(frozen=True, slots=True)
class GivenUpStep:
    """The last of some cells, whose snapshot was given up."""

    number: int
    given: GivenUp
    base: int
    """The nearest earlier step whose snapshot is kept; 0: there is none, and all cells run."""
    again: tuple[int, ...]
    """The cells that run again from there."""
    in_the_way: tuple[str, ...]
    """Why some of them are not run again, a sentence's end each; with any of them the step is not as it was."""
    nearest: int
    """The nearest earlier step that can be had as it was; 0: the beginning."""

    @property
    def opening(self) -> str:
        """How the sentence begins."""
        return f"The snapshot of step {self.number} was {self.given.text}"

    @property
    def text(self) -> str:
        """What was given up, and what can be had in its place, in one sentence."""
        place = (
            f"from that of step {self.base}, the nearest earlier one that is kept"
            if self.base
            else "from the beginning"
        )
        if not self.in_the_way:
            return f"{self.opening}; {_run_again(self.again)} {place}."
        nearest = f"the nearest earlier step that can be had is {self.nearest}"
        return f"{self.opening}, and it cannot be had as it was, since {'; '.join(self.in_the_way)}; {nearest}."


def given_up_step(cells: Sequence[Cell], given: Mapping[str, GivenUp]) -> GivenUpStep | None:
    """What to say of the step after some cells; None when it comes back from its snapshot, or never had one.

    Args:
        cells: The thread's cells up to the step.
        given: What the thread gave up, by snapshot.
    """
    line = cells_in_effect(cells)
    said = given.get(line[-1].get("snapshot", "")) if line else None
    if said is None:
        return None
    kept = [place for place, cell in enumerate(line) if cell.get("snapshot") and cell.get("snapshot") not in given]
    after = line[kept[-1] + 1 :] if kept else line
    base = line[kept[-1]]["number"] if kept else 0
    had = [cell["number"] for cell in takewhile(lambda cell: not why_not_again(cell), after)]
    return GivenUpStep(
        number=line[-1]["number"],
        given=said,
        base=base,
        again=tuple(cell["number"] for cell in after if not why_not_again(cell)),
        in_the_way=tuple(why for cell in after if (why := why_not_again(cell)))[:MAX_CELLS],
        nearest=had[-1] if had else base,
    )


def why_not_again(cell: Cell) -> str:
    """Why a cell is not run again; empty when it is."""
    if cell["status"] not in REPEATABLE:
        return f"cell {cell['number']} had been interrupted at its time limit and is not run again"
    if reached := cell.get("reached"):
        where = ", ".join(reached)[:100]
        return f"cell {cell['number']} had reached outside of the sandbox ({where}) and is not run again"
    return ""


def readable_steps(cells: Sequence[Cell], step: int, given: Mapping[str, GivenUp]) -> str:
    """The nearest steps on both sides whose snapshots are kept, as the end of a sentence."""
    kept = [cell["number"] for cell in cells if cell.get("snapshot") and cell.get("snapshot") not in given]
    before = [str(number) for number in kept if number < step][-1:]
    near = before + [str(number) for number in kept if number > step][:1]
    if not near:
        return "no step of this thread can be read"
    return f"the nearest that can be read {'are' if len(near) > 1 else 'is'} {' and '.join(near)}"


def _run_again(cells: Sequence[int]) -> str:
    numbers = [str(number) for number in cells]
    if len(numbers) == 1:
        return f"cell {numbers[0]} runs again"
    if len(numbers) <= MAX_CELLS:
        return f"cells {', '.join(numbers[:-1])} and {numbers[-1]} run again"
    return f"{len(numbers)} cells ({numbers[0]} to {numbers[-1]}) run again"
