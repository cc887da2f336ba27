"""What a server and its sandboxes hold of the machine while it works: memory, processes, descriptors."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from bench.drivers.memory import PROC, descendants, proportional

SELF = "server"
TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Sample:
    """One look."""

    server: int
    """Bytes of the server's process."""
    below: int
    """Bytes of all processes below it."""
    processes: int
    descriptors: int
    """Of the server's process."""
    live: int = 0
    """Sandboxes that are not asleep, as the server counts them."""
    done: int = 0
    """Analyses that had ended."""

    @property
    def all(self) -> int:
        """Bytes of both."""
        return self.server + self.below


@dataclass
class Watched:
    """All looks at one server."""

    first: Sample
    samples: list[Sample] = field(default_factory=list)

    @property
    def peak(self) -> Sample:
        """When the most memory was held."""
        return max([self.first, *self.samples], key=lambda one: one.all)

    @property
    def growth(self) -> float:
        """Bytes that each further analysis left in the server's process, in the second half of them."""
        middle = next((one for one in self.samples if 2 * one.done >= self.last.done), self.last)
        return (self.last.server - middle.server) / max(self.last.done - middle.done, 1)

    @property
    def last(self) -> Sample:
        """At the end."""
        return self.samples[-1] if self.samples else self.first

    @property
    def each(self) -> float:
        """Bytes of the processes below the server for each live sandbox, when the most memory was held."""
        return self.peak.below / max(self.peak.live, 1)


def look(pid: int, live: int = 0, done: int = 0) -> Sample:
    """Look at a server and all processes below it.

    Args:
        pid: Its process.
        live: How many sandboxes it says are live.
        done: How many analyses have ended.
    """
    below = descendants(pid)
    held = {one: proportional({one}) or _resident(one) for one in (pid, *below)}
    descriptors = _entries(PROC / str(pid) / "fd")
    return Sample(held[pid], sum(held[one] for one in below), 1 + len(below), descriptors, live, done)


def seconds_of(pid: int) -> float:
    """What a process has computed until now, without those below it."""
    fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def _resident(pid: int) -> int:
    """Where the proportional share cannot be read, all that it has in memory."""
    try:
        lines = (PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return 0  # gone by now
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmRSS:")), 0)


def _entries(folder: Path) -> int:
    try:
        return len(list(folder.iterdir()))
    except OSError:
        return 0
