"""What of isolation works on this machine: every level is tried and probed, the weaker ones too. Blocks."""

from dataclasses import dataclass

from sandboxes.base import SandboxUnavailableError
from sandboxes.inside.prober.probes import PROBES
from sandboxes.local.choosing import choose, walls_of
from sandboxes.local.isolation import LEVELS, Asked, Level
from sandboxes.local.probing import broken_promises, probe
from sandboxes.local.properties import States, states
from sandboxes.local.seatbelt import seatbelt
from sandboxes.local.warm_parent import CannotWallInError


@dataclass(frozen=True, slots=True)
class LevelTried:
    """What trying a level came to."""

    level: Level
    works: bool
    why: str
    """Why it does not; else what was found."""
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Examination:
    """What sandboxes of these settings get."""

    levels: tuple[LevelTried, ...]
    """All of them, best first."""
    level: Level | None
    """The chosen one; None: none that will do works."""
    states: States
    """What holds at the chosen level; empty without one."""
    problem: str = ""
    """Why none was chosen."""


def examine(asked: Asked) -> Examination:
    """Try every level, and say which one is chosen.

    Raises:
        NoSuchSandboxError: a level is asked for that there is not.
        SandboxUnavailableError: the interpreter cannot be started.
    """
    problem = ""
    level: Level | None = None
    try:
        level = choose(asked).level
    except SandboxUnavailableError as error:
        problem = str(error)
    tried = tuple(_try(asked, one, chosen=one == level) for one in LEVELS)
    return Examination(tried, level, states(level) if level else {}, problem)


def _try(asked: Asked, level: Level, *, chosen: bool) -> LevelTried:
    if level == "process":
        return LevelTried(level, True, "always there, and no isolation: only when it is asked for", chosen)
    if level == "seatbelt":
        there = bool(seatbelt())
        return LevelTried(level, there, "not tested by us" if there else "only macOS has it", chosen)
    try:
        through = probe(walls_of(asked, level))
    except (CannotWallInError, SandboxUnavailableError) as error:
        return LevelTried(level, False, str(error), chosen)
    broken = broken_promises(level, through)
    if broken:
        return LevelTried(level, False, f"code in it {'; '.join(broken)}", chosen)
    open_to = [what for things in through.values() for what in things]
    found = f"of {len(PROBES)} things tried in it, none got through"
    if open_to:
        found = f"of {len(PROBES)} things tried in it, code {'; '.join(open_to)}, as is said of this level"
    return LevelTried(level, True, found, chosen)
