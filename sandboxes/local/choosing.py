"""Which level of isolation a local sandbox gets: the best that works here, found out by trying."""

import os
import sys
from pathlib import Path
from typing import get_args

from sandboxes.base import NoSuchSandboxError, SandboxUnavailableError
from sandboxes.local.isolation import LEVELS, PRIVATE_ROOT, Asked, Level
from sandboxes.local.probing import check
from sandboxes.local.seatbelt import seatbelt
from sandboxes.local.walls import Walls
from sandboxes.local.warm import PARENTS
from sandboxes.local.warm_parent import CannotWallInError

WARM: tuple[Level, ...] = ("namespaces", "namespaces-noproc", "landlock")
"""Levels whose sandboxes are forked from a warm parent."""


def choose(asked: Asked) -> Walls:
    """The walls of the best level that works here; blocks.

    Raises:
        NoSuchSandboxError: a level is asked for that there is not.
        SandboxUnavailableError: no level that will do works here, or its interpreter cannot be started.
    """
    levels = _allowed(asked)
    why: list[str] = []
    for level in levels:
        walls = walls_of(asked, level)
        if level == "process":
            return walls
        try:
            _try(walls)
        except CannotWallInError as error:
            why.append(f"{level}: {error}")
            continue
        return walls
    raise SandboxUnavailableError(
        f"No isolation that will do works on this machine ({'; '.join(why)}). `stepwell doctor` says more; "
        "STEPWELL_ISOLATION=process runs code without any, as you."
    )


def _try(walls: Walls) -> None:
    """Have what is needed for that level.

    Raises:
        CannotWallInError: it does not work here.
        SandboxUnavailableError: the interpreter cannot be started.
    """
    if walls.level in (*WARM, "bwrap"):
        check(walls)
    if walls.level in WARM:
        PARENTS.refill(walls)
    elif walls.level == "seatbelt" and not seatbelt():
        raise CannotWallInError("there is no sandbox-exec, which macOS has")


def _allowed(asked: Asked) -> list[Level]:
    for name in (asked.isolation, asked.require):
        if name and name not in get_args(Level):
            raise NoSuchSandboxError(f"There is no isolation level {name!r}. Levels: {', '.join(LEVELS)}.")
    closed = asked.network.mode == "none"
    floor = LEVELS.index(asked.require) if asked.require else len(LEVELS) - 1
    good = [level for level in LEVELS[: floor + 1] if level != "process" or asked.isolation == "process"]
    # Where the network is the machine's own, it can be closed to a sandbox or left open, but not narrowed.
    good = [level for level in good if closed or level in (*PRIVATE_ROOT, "process")]
    if not asked.isolation:
        return good
    if asked.isolation not in good:
        why = f"is weaker than STEPWELL_REQUIRE_ISOLATION={asked.require}"
        if not asked.require or LEVELS.index(asked.isolation) <= floor:
            why = "cannot open the network in part; use --network none, or another level"
        raise SandboxUnavailableError(f"STEPWELL_ISOLATION={asked.isolation} {why}.")
    return [level for level in good if level == asked.isolation]


def walls_of(asked: Asked, level: Level) -> Walls:
    """The walls of a level, whether they can be had or not."""
    python = str(Path(asked.python).absolute()) if os.sep in asked.python else asked.python or sys.executable
    return Walls(
        level=level,
        python=_straight(python),
        cache=str(asked.cache.absolute() / "matplotlib"),
        limits=asked.limits,
        network=asked.network.mode != "none",
        timezone=os.environ.get("TZ", ""),
    )


def _straight(python: str) -> str:
    """The same interpreter by a path without `..`: the folders that such a path goes through are not in a sandbox."""
    path = Path(python)
    return str(path.parent.resolve() / path.name) if ".." in path.parts else python
