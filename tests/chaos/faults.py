"""The faults: what they are, when they come, and how they are done to processes, folders and clocks."""

import errno
import os
import random
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.cells import INPUT, Kind

SIGNALS = {
    "SIGINT": signal.SIGINT,
    "SIGTERM": signal.SIGTERM,
    "SIGHUP": signal.SIGHUP,
    "kill": signal.SIGKILL,
    "kill the group": signal.SIGKILL,
}
"""Faults of the process itself; after the first three it pauses."""
SINGLE = "kill one"
"""One process below the command is killed: a session, its init, or the parent of sandboxes."""
CANCEL = "cancel"
FULL = "disk full"
ENDPOINT = "endpoint gone"
WITHIN: dict[Kind, tuple[str, ...]] = {
    "inside": (*SIGNALS, SINGLE, SINGLE, ENDPOINT),
    "outside": (*SIGNALS, ENDPOINT),
    "functions": (CANCEL, CANCEL, "kill", "kill the group", SINGLE, ENDPOINT),
}
"""What may happen while a process is at work."""
ON_A_DISK = (FULL, FULL, FULL, "SIGTERM", "kill", SINGLE)
"""The same where the analysis has a disk of its own."""
KILLS = ("kill", "kill the group", SINGLE)
"""The same where nothing else is to happen."""
DISK_MEGABYTES = 64
FILLER = "filler"
CLOCKS = (5 * 365 * 86_400, -365 * 86_400, 3_600, -60)
"""Seconds by which a clock may be wrong."""
DELETIONS = ("workspace", "thread", "threads", "input", "input and its source")
EVENTS, EVENTS_OF_A_CELL = 36, 6
"""About as many has a whole run, and one of its cells."""


@dataclass(frozen=True)
class Fault:
    """What happens to a process while it is at work."""

    what: str
    after: int
    """Events that it told before."""
    delay: float
    chosen: float
    """Between 0 and 1: which process is killed."""


def next_fault(kind: Kind, ended: int, chance: random.Random, *, disk: bool, kills: bool) -> Fault:
    """Any fault, at any event that is still to come.

    Args:
        kind: What the cells do.
        ended: How many of them have ended.
        chance: Decides.
        disk: Whether the analysis has a disk of its own.
        kills: Whether nothing but kills may happen.
    """
    delay = chance.choice((0.0, 0.0, 0.005, 0.02, 0.1)) * chance.random()
    return Fault(
        chance.choice(KILLS if kills else ON_A_DISK if disk else WITHIN[kind]),
        chance.randrange(1, max(8, EVENTS - EVENTS_OF_A_CELL * ended)),
        delay,
        chance.random(),
    )


def descendants(pid: int) -> Iterator[tuple[int, str]]:
    """The processes below one, with what they are by their command line."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for thread in Path(f"/proc/{pid}/task").iterdir():
            if thread.name != str(pid):
                children += (thread / "children").read_text().split()
    except OSError:
        return
    for child in children:
        try:
            words = Path(f"/proc/{child}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        except OSError:
            continue
        yield int(child), " ".join(word for word in words if word)[:80]
        yield from descendants(int(child))


def strike(fault: Fault, pid: int) -> str:
    """Do it to a process.

    Returns:
        What was done, for the record; empty when there was nothing to do it to.
    """
    try:
        if fault.what == SINGLE:
            below = list(descendants(pid))
            if not below:
                return ""
            place = int(fault.chosen * len(below))
            os.kill(below[place][0], signal.SIGKILL)
            return f"{SINGLE} (number {place + 1} of {len(below)} below the command)"
        if fault.what == "kill the group":
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, SIGNALS[fault.what])
    except ProcessLookupError:
        return ""
    return fault.what


def delete(what: str, home: Path) -> bool:
    """Delete something of the only thread between two processes; whether there was anything."""
    threads = home / "threads"
    thread = next((folder for folder in threads.glob("*-*") if folder.is_dir()), None) if threads.is_dir() else None
    if thread is None:
        return False
    input_file = thread / "workspace" / "inputs" / "numbers.txt"
    target = {"workspace": thread / "workspace", "thread": thread, "threads": threads}.get(what, input_file)
    if not target.exists():
        return False
    if target.is_dir():
        shutil.rmtree(target, ignore_errors=True)
    else:
        target.unlink()
    if what == "input and its source":
        (home / "numbers.txt").unlink(missing_ok=True)
    return True


def fill(home: Path, left: int) -> None:
    """Take all room of the disk that a home is on, but so many bytes."""
    with (home / FILLER).open("wb", buffering=0) as file:
        try:
            for size in (1 << 20, 1 << 12):
                while file.write(bytes(size)) == size:
                    pass
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        file.truncate(max(0, file.tell() - left))


def make_room(home: Path) -> None:
    """Give it back."""
    (home / FILLER).unlink(missing_ok=True)


def bring_back(home: Path) -> None:
    """The user finds the input again, and has room for it."""
    make_room(home)
    (home / "numbers.txt").write_text(INPUT)
