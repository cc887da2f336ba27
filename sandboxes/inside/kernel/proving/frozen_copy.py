"""A copy of the session that looks at itself while the session goes on: forked, so that nobody waits for it.

It can do nothing but look: it has no connection to the host, its files may not grow until it has the result, its time
and its memory are limited, and everything else goes before it.
"""

import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

SPARE_BYTES = 256 << 20
"""Memory that it may take beside what it shares with the session."""
MAX_BYTES = 64 << 20
"""Bytes of the result."""


class TooMuchError(BaseException):
    """It has used the time that it may have."""


def resident_bytes() -> int:
    """The memory of this process; 0 when that cannot be known."""
    try:
        with open("/proc/self/statm", encoding="utf-8") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 0


class LookingCopy:
    """At most one copy of this process, which looks."""

    def __init__(self) -> None:
        self.process = 0
        """Its number; 0: there is none."""

    def end(self) -> None:
        """End the copy, if there is still one."""
        if self.process:
            with suppress(OSError):
                os.kill(self.process, signal.SIGKILL)
            with suppress(OSError):
                os.waitpid(self.process, 0)
            self.process = 0

    def reap(self) -> None:
        """See whether it has ended."""
        if self.process:
            with suppress(OSError):
                if os.waitpid(self.process, os.WNOHANG)[0] == 0:
                    return
            self.process = 0

    def forget(self) -> None:
        """Take it for none of this process's."""
        self.process = 0

    def begin(self, look_at: Callable[[], dict[str, Any]], path: str, seconds: float, descriptors: list[int]) -> bool:
        """Have a copy of this process look at something, and write what it found.

        Args:
            look_at: What is done in the copy.
            path: The file, which is there once the copy has done its work; see `write`.
            seconds: Time of a processor that it may use.
            descriptors: What the copy must not hold.

        Returns:
            Whether there is a copy.
        """
        random = sys.modules["random"].getstate() if "random" in sys.modules else None
        try:
            child = os.fork()
        except OSError:  # too many processes
            return False
        if child:
            self.process = child
            return True
        try:
            _become_a_looker(seconds, descriptors)
            if random is not None:  # Python seeds it anew in every fork
                sys.modules["random"].setstate(random)
            write(path, looked_at(look_at))
        finally:
            os._exit(0)


def looked_at(look_at: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What was found; `refused` says why nothing was."""
    try:
        return look_at()
    except (TooMuchError, MemoryError) as error:
        what = "memory" if isinstance(error, MemoryError) else "time"
        return {"refused": f"looking at the session took more {what} than a proof may take"}
    except BaseException as error:
        return {"refused": f"the session could not be looked at ({type(error).__name__})"}


def write(path: str, found: dict[str, Any]) -> None:
    """Write it, whole or not at all."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    text = json.dumps(found)
    if len(text) > MAX_BYTES:
        text = json.dumps({"refused": "the session has too many variables and files for a proof"})
    partial = f"{path}.part"
    with open(partial, "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(partial, path)


def _become_a_looker(seconds: float, descriptors: list[int]) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    for one in descriptors:
        with suppress(OSError):
            os.close(one)
    os.setsid()  # an interrupt of the session is none of the copy's
    # Blocked, not ignored: the handlers are looked at, too.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXFSZ})
    with suppress(OSError):
        os.nice(19)
    hold_time(seconds)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    hold_memory(SPARE_BYTES)


def hold_memory(spare: int) -> None:
    """Let this process take no more memory than so many bytes beside what it has."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = _data_bytes() + spare
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def hold_time(seconds: float) -> None:
    """Raise `TooMuchError` in this process once it has used that much time of a processor; 0: never."""

    def arrived(number: int, frame: FrameType | None) -> None:
        raise TooMuchError

    signal.signal(signal.SIGPROF, arrived)
    signal.setitimer(signal.ITIMER_PROF, seconds)


def _data_bytes() -> int:
    try:
        with open("/proc/self/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmData:"))
    except (OSError, StopIteration, ValueError):
        return 4 << 30
