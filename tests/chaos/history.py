"""What must hold of the processes of an analysis, of its effects, and of what it came to."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.cells import ANSWER, CELLS, Kind
from tests.chaos.faults import CANCEL, ENDPOINT, SIGNALS, SINGLE
from tests.chaos.life import Life

NOT_A_SENTENCE = ("Traceback", "internal error")
TOO_LATE = "is finished"
NOT_BEGUN = ("There is no thread", "No thread", "There are no threads")
CHANGED = "accept-changed"
NO_ROOM = ("full", "No space", "no space", "room")
LOSS = "was not run again"
NEXT = ("cell_started", "proposed")
"""Events of the nodes that follow the one that asks the model: it waits until a cell's end is on disk (`holds.py`), and
hears of the cell and of its snapshot before that."""
FIGURES = "figures/"
SAID = "answer.md"
DOUBTS = b"\nNot verified:\n"
"""Where the concerns begin in it."""
SCRIPT = "analysis.py"
"""The cells as one script: cells that count name their file in it, and cells that did not end well are told there."""


@dataclass
class History:
    """What was seen of one analysis, in order.

    Args:
        kind: What its cells do.
        counted: Whether their runs are counted in a file.
    """

    kind: Kind
    counted: bool
    problems: list[str] = field(default_factory=list)
    unknown: int = 0
    """Cells that were said to be of unknown outcome."""
    over: Counter[str] = field(default_factory=Counter)
    """How often each cell had run when its end was known: never again."""
    statuses: dict[int, str] = field(default_factory=dict)
    """How each cell ended, as it was told last."""
    wounded: bool = False
    """Whether a process below the command has been killed, or the disk was full: a cell may have ended with it."""
    input_gone: bool = False
    loss_told: bool = False
    """Whether a receipt has said that a cell is lost, whose snapshot had no room, and that it did not run again."""

    def add(self, life: Life, effects: Counter[str]) -> None:
        """Look at one more process.

        Args:
            life: What it told.
            effects: How often each cell has run, where that can be counted.
        """
        rebuilt = [event for event in life.events if event.get("event") == "rebuilt"]
        self.loss_told = self.loss_told or any(LOSS in one for event in rebuilt for one in event["problems"])
        self.wounded = self.wounded or life.done.startswith(SINGLE) or life.full
        for problem in (self._words(life), self._code(life), self._effects(life, effects), self._cells(life)):
            if problem:
                told = [event.get("event") for event in life.events[-3:]]
                self.problems.append(
                    f"{problem}; {' '.join(life.words)}, fault {life.done or 'none'} after {life.place or '-'}, exit "
                    f"{life.code}, last events {told}, stderr {life.errors.strip()[-400:]!r}"
                )

    def _words(self, life: Life) -> str:
        if life.hung:
            return "nothing was told for minutes"
        return next((f"{words!r} on stderr" for words in NOT_A_SENTENCE if words in life.errors), "")

    def _code(self, life: Life) -> str:
        """The exit code must be a documented one, and have its reason."""
        code, done = life.code, life.done
        if code == 0:
            ended = life.ended
            return "" if ended is not None and ended["answer"] == ANSWER else "finished without its answer"
        killed = done.startswith("kill")
        if done in SIGNALS and not killed and code == 128 + SIGNALS[done]:
            return ""
        # Once all has been told, any signal ends the process as it ends any; a shell sees the same code.
        if done in SIGNALS and (killed or life.ended is not None) and code == -SIGNALS[done]:
            return ""
        if code == 130 and done == CANCEL:
            return ""
        if code == 1 and (done == ENDPOINT or done.startswith(SINGLE)):
            return "" if "error:" in life.errors or self._failed(life) else "exit 1 without a sentence"
        if code in (1, 2) and life.full and any(words in life.errors for words in NO_ROOM):
            return "" if "error:" in life.errors or self._failed(life) else "a full disk without a sentence"
        if code == 2 and (TOO_LATE in life.errors or any(words in life.errors for words in NOT_BEGUN)):
            return ""
        if code == 2 and self.input_gone and CHANGED in life.errors:
            return ""
        return "an exit code without its reason"

    def _failed(self, life: Life) -> bool:
        return bool(life.events) and life.events[-1].get("event") == "failed" and bool(life.events[-1].get("error"))

    def _effects(self, life: Life, effects: Counter[str]) -> str:
        """What cannot be repeated is not, and no cell runs again whose end is known."""
        if self.kind != "inside":
            twice = [cell for cell, times in effects.items() if times > 1]
            return f"cells {', '.join(twice)} had their effect twice" if twice else ""
        for cell, times in self.over.items():
            if effects[cell] > times:
                return f"cell {cell} ran again after its end was known"
        kept, ended = "", ""
        for event in life.events:
            if event.get("event") == "cell_finished":
                ended = event["cell"]["purpose"].split()[-1] if event["cell"]["status"] == "ok" else ""
            elif event.get("event") == "kept":
                kept = ended if event["snapshot"] else ""  # one without a snapshot may be lost, and asked for again
            elif event.get("event") in NEXT and kept and kept not in self.over:
                self.over[kept] = effects[kept]
        return ""

    def _cells(self, life: Life) -> str:
        for event in life.events:
            if event.get("event") != "cell_finished":
                continue
            status = event["cell"]["status"]
            self.unknown += status == "unknown"
            self.statuses[int(event["cell"]["number"])] = status
            if status not in ("ok", "unknown") and not self.wounded:
                return f"cell {event['cell']['number']} ended as {status}: {event['cell'].get('error')}"
        return ""

    def compare(self, shown: dict[str, Any], effects: Counter[str], files: dict[str, str]) -> None:
        """Look at what it came to, and at an undisturbed run's files."""
        if shown.get("answer") != ANSWER or shown.get("status") != "finished":
            self.problems.append(f"it is shown as {shown.get('status')} with the answer {shown.get('answer')!r}")
        came = {str(one["name"]): str(one["sha256"]) for one in shown.get("artifacts", ())}
        if self.kind == "inside":
            renumbered = self.wounded or self.unknown > 0
            if renumbered:
                came, files = _without_numbers(came), _without_numbers(files)
            names = came.keys() | files.keys()
            if self.counted or renumbered:
                names -= {SCRIPT}
            different = sorted(name for name in names if came.get(name) != files.get(name))
            told = any(LOSS in concern for concern in shown.get("concerns", ()))  # too late for the model to mend it
            if different and not told:
                self.problems.append(f"its files differ: {', '.join(different)}")
            return
        if shown.get("cells", 0) < CELLS:
            self.problems.append(f"it has {shown.get('cells')} cells")
        for number, status in self.statuses.items():
            if status == "ok" and effects[str(number)] != 1:
                self.problems.append(f"cell {number} ended well, and its effect is there {effects[str(number)]} times")


def _without_numbers(files: dict[str, str]) -> dict[str, str]:
    """The files, with figures by their place among all figures: a cell that was asked for again has another number."""
    figures = sorted(name for name in files if name.startswith(FIGURES))
    places = {name: f"{FIGURES}{place}" for place, name in enumerate(figures, 1)}
    return {places.get(name, name): sha256 for name, sha256 in files.items()}
