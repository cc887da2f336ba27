"""What came back when a session was restored, as data, and as the model and the user are told of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from graph.events import SessionRestored
from sandboxes.results import LostVariable

MAX_NAMED = 20
"""Lost variables that are named in one sentence."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What came back when a session was brought back."""

    cells: int
    """How many cells ran again."""
    seconds: float
    problems: list[str] = field(default_factory=list)
    """What is not as it was, one sentence each."""
    from_cell: int = 0
    """The cell whose snapshot was restored; 0 when there was none."""
    restored: int = 0
    """How many variables came from it."""
    lost: list[LostVariable] = field(default_factory=list)
    rebuilt: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Variables that no snapshot has and that were made again: for each, the cells that ran for it."""
    versions: list[str] = field(default_factory=list)
    woken: bool = False
    """Whether the session had merely been put to sleep, and all is as it was."""
    given_up: str = ""
    """Which snapshot was given up to make room, so that another one was taken, as the beginning of a sentence."""

    @property
    def whole(self) -> bool:
        """Whether all came back from a snapshot, as it was."""
        return not (self.cells or self.problems or self.lost or self.versions or self.rebuilt or self.given_up)

    @property
    def notices(self) -> list[str]:
        """What the model must be told, if anything."""
        words = "" if self.woken else receipt_text(self)
        return [words] if words else []

    @property
    def concerns(self) -> list[str]:
        """What speaks against an answer whose files come from this session, one sentence each."""
        problems = [problem.rstrip(".") for problem in self.problems]
        return [f"The session is not as it was when the answer was written: {problem}." for problem in problems]

    def event(self) -> SessionRestored:
        """The receipt as the user is told of it."""
        return SessionRestored(
            cells=self.cells,
            seconds=self.seconds,
            problems=[*([self.given_up] if self.given_up else []), *self.problems],
            from_cell=self.from_cell,
            restored=self.restored,
            lost=[_described(one) for one in self.lost],
            rebuilt=[f"{name} ({_from_cells(cells)})" for name, cells in self.rebuilt.items()],
            versions=self.versions,
            woken=self.woken,
        )


NO_RESTORE_NEEDED = Receipt(cells=0, seconds=0.0)


def receipt_text(receipt: Receipt) -> str:
    """The receipt as the model is told of it; empty when there was nothing to bring back."""
    if receipt.from_cell:
        text = f"The session was restored from the snapshot after cell {receipt.from_cell}"
        text += f", and {_cells(receipt.cells)} after it ran again." if receipt.cells else "."
        text += " Variables and files are as they were." if receipt.whole else ""
    elif receipt.cells:
        text = f"The session was rebuilt by running {_cells(receipt.cells)} again."
    elif receipt.problems:
        text = "The session started again."
    else:
        return ""
    text = f"{receipt.given_up}. {text}" if receipt.given_up else text
    if receipt.rebuilt:
        made = "; ".join(f"{name} ({_from_cells(cells)})" for name, cells in list(receipt.rebuilt.items())[:MAX_NAMED])
        text += f" Made again by running only the cells that they need: {made}."
    if receipt.lost:
        named = ", ".join(_described(one) for one in receipt.lost[:MAX_NAMED])
        more = f" and {len(receipt.lost) - MAX_NAMED} more" if len(receipt.lost) > MAX_NAMED else ""
        text += f" Not brought back, so create them again if you need them: {named}{more}."
    if receipt.versions:
        text += f" Other versions than before: {', '.join(receipt.versions[:MAX_NAMED])}."
    return text + "".join(f" Not as before: {problem.rstrip('.')}." for problem in receipt.problems)


def _cells(count: int) -> str:
    return "1 earlier cell" if count == 1 else f"{count} earlier cells"


def _described(lost: LostVariable) -> str:
    kind = ", ".join(said for said in (lost.type, f"made in cell {lost.cell}" if lost.cell else "") if said)
    if not kind:
        return f"{lost.name} ({lost.reason.rstrip('.')})" if lost.reason else lost.name
    return f"{lost.name} ({kind}: {lost.reason.rstrip('.')})" if lost.reason else f"{lost.name} ({kind})"


def _from_cells(cells: Sequence[int]) -> str:
    *first, last = [str(number) for number in cells] or ["unknown"]
    return f"from cells {', '.join(first)} and {last}" if first else f"from cell {last}"
