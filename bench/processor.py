"""Seconds of a processor that this process and the processes below it compute."""

import os
import time

from bench.drivers.memory import descendants


class ProcessorTime:
    """What is computed from its making on; a process that ends meanwhile counts no more."""

    def __init__(self) -> None:
        self._below = {pid: clock for pid in descendants(os.getpid()) if (clock := _clock(pid)) is not None}
        self._own = time.process_time()

    def spent(self) -> tuple[float, float]:
        """Seconds of this process, and of those below it that there were at the beginning."""
        own = time.process_time() - self._own
        now = {pid: _clock(pid) for pid in self._below}
        return own, sum((now[pid] or before) - before for pid, before in self._below.items())


def _clock(pid: int) -> float | None:
    """What all threads of a process have computed: the clock that `clock_getcpuclockid` names on Linux."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:  # it has ended
        return None
