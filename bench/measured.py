"""What is measured of one way of keeping a session, whichever it is."""

import re
from dataclasses import dataclass, field

UNKNOWN = re.compile(r"NameError: name '(\w+)' is not defined")


@dataclass(frozen=True, slots=True)
class Restored:
    """A step brought back in a new process."""

    seconds: float = 0.0
    """With the packages imported."""
    cold: float = 0.0
    """From no process: its start and the imports too."""
    failed: str = ""
    lost: tuple[str, ...] = ()
    """Variables that are missing, and were said to be."""
    wrong: tuple[str, ...] = ()
    """Variables that are not what the live session has, or are missing, without a word."""
    missed: tuple[str, ...] = ()
    """Probes that cannot be answered because a variable is missing that was said to be."""
    differing: tuple[str, ...] = ()
    """Probes with another answer."""

    @property
    def right(self) -> bool:
        """Whether all is as it was, or said to be lost."""
        return not (self.failed or self.wrong or self.differing)


@dataclass(frozen=True, slots=True)
class Measured:
    """One session kept in one way."""

    keeps: tuple[float, ...]
    """Seconds per cell, as who waits for them sees them."""
    inside: tuple[float, ...]
    """The same, as the session itself counts them."""
    sizes: tuple[int, ...]
    """Bytes stored per cell."""
    probes: int
    cpu: tuple[float, ...] = ()
    """Seconds of a processor per cell: all processes that keep it."""
    cpu_inside: tuple[float, ...] = ()
    """Of them, those in the session's own processes."""
    waits: tuple[float, ...] = ()
    """Seconds from the end of a cell until somebody can go on: where steps are kept meanwhile, less than `keeps`."""
    cells: float = 0.0
    """Seconds that the cells themselves took."""
    refused: tuple[str, ...] = ()
    """Why a cell's variables could not be kept."""
    middle: Restored = field(default_factory=Restored)
    last: Restored = field(default_factory=Restored)


@dataclass(frozen=True, slots=True)
class Described:
    """What a session says of itself."""

    variables: dict[str, str]
    answers: list[str]

    def compare(
        self, restored: "Described", probes: list[str], *, seconds: float, cold: float, lost: tuple[str, ...] = ()
    ) -> Restored:
        """What of a restored session is not as it is here.

        Args:
            restored: What the restored session says of itself.
            probes: The probes, in the order of the answers.
            seconds: How long the restore took.
            cold: And from no process.
            lost: The variables that the restore said are lost.
        """
        names = sorted(self.variables.keys() | restored.variables.keys())
        wrong = [name for name in names if self.variables.get(name) != restored.variables.get(name)]
        excused = {name for name in lost if name not in restored.variables}
        missed: list[str] = []
        differing: list[str] = []
        for probe, here, there in zip(probes, self.answers, restored.answers, strict=True):
            unknown = UNKNOWN.match(there)
            if here != there:
                (missed if unknown and unknown.group(1) in excused else differing).append(probe)
        return Restored(
            seconds=seconds,
            cold=cold,
            lost=tuple(sorted(excused)),
            wrong=tuple(name for name in wrong if name not in excused),
            missed=tuple(missed),
            differing=tuple(differing),
        )
