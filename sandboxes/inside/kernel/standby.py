"""A forked standby of the session, made while it is idle: if the next cell kills the session, the standby takes over.

Only a process with one thread can be copied this way. The copy shares memory with the original until one of them
writes to it. It sleeps until the trusted first process of the sandbox sends it SIGUSR1; the original ends it when a
newer copy is made. What lies on disk is not copied: the session compares the workspace with what it was.
"""

import os
import signal
import socket
import sys
from contextlib import suppress

from .parent_death import die_with_peer

IDLE_SECONDS = 0.015
"""Idle time before a copy is made: a model takes longer to think, a program that sends cell after
cell does not wait."""
WAKE = signal.SIGUSR1


class ForkedStandby:
    """Keeps at most one frozen copy of this process.

    Args:
        notices: A socket to the sandbox's first process, which learns of the copy from it; -1: there is nobody who
            would wake a copy, and none is made.
    """

    def __init__(self, notices: int) -> None:
        self._notices = socket.socket(fileno=notices) if notices >= 0 else None
        if self._notices is not None:
            die_with_peer(notices)  # where no namespace ends all of it, nobody else would end a copy
        self._copy = 0
        self.forking = False
        """True while the process is copied, for those who look after forks of the user's code."""
        self.wanted = False
        """Whether something has changed since the last copy."""

    @property
    def possible(self) -> bool:
        """Whether there is somebody who would wake a copy."""
        return self._notices is not None

    def fork_copy(self) -> bool:
        """Copy this process, if it has one thread.

        Returns:
            True in a copy that was woken, long after.
        """
        self.wanted = False
        if self._notices is None or _threads() != 1:
            self.drop()
            return False
        old = self._copy
        random = sys.modules["random"].getstate() if "random" in sys.modules else None
        signal.pthread_sigmask(signal.SIG_BLOCK, {WAKE})
        self.forking = True
        try:
            copy = os.fork()
        except OSError:  # too many processes: then there is none
            copy = -1
        self.forking = False
        if copy == 0:
            self._sleep()
            if random is not None:  # Python seeds it anew in every fork
                sys.modules["random"].setstate(random)
            return True
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {WAKE})
        self._copy = max(copy, 0)
        _end(old)
        return False

    def drop(self) -> None:
        """End the copy: its state is out of date."""
        copy, self._copy = self._copy, 0
        _end(copy)

    def _sleep(self) -> None:
        """In the copy: tell that there is one, and wait to be woken."""
        self._copy = 0
        assert self._notices is not None
        try:
            self._notices.send(b"frozen")
        except OSError:
            os._exit(0)
        signal.sigwait({WAKE})
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {WAKE})


def _threads() -> int:
    """Threads of this process, those of compiled libraries too; 0 when that cannot be known."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 0


def _end(process: int) -> None:
    if process:
        with suppress(OSError):
            os.kill(process, signal.SIGKILL)
        with suppress(OSError):
            os.waitpid(process, 0)
