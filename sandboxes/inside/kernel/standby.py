"""A forked standby of the session, made while it is idle: if the next cell kills the session, the standby takes over.

Copies of the last steps stay, too, as long as there is room: going back to one of them is waking it.

Only a process with one thread can be copied this way. The copy shares memory with the original until one of them
writes to it. It sleeps until the trusted first process of the sandbox sends it SIGUSR1; the original ends it when a
newer copy is made. What lies on disk is not copied: the session compares the workspace with what it was.
"""

import fcntl
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from .parent_death import die_with_peer

IDLE_SECONDS = 0.015
"""Idle time before a copy is made: a model takes longer to think, a program that sends cell after
cell does not wait."""
WAKE = signal.SIGUSR1
ASKED = signal.SIGIO
"""What a copy is sent when the session asks it something."""
MAX_REQUEST = 60_000
"""Bytes of what is asked."""


class ForkedStandby:
    """Keeps a frozen copy of this process, and those of the last steps.

    Args:
        notices: A socket to the sandbox's first process, which learns of the copy from it; -1: there is nobody who
            would wake a copy, and none is made.
        earlier: How many copies of earlier steps stay.
    """

    def __init__(self, notices: int, earlier: int = 0) -> None:
        self._notices = socket.socket(fileno=notices) if notices >= 0 else None
        if self._notices is not None:
            die_with_peer(notices)  # where no namespace ends all of it, nobody else would end a copy
        self._copy = Copy(0, "")
        self._most = earlier
        self._earlier: list[Copy] = []
        """Those of earlier steps, the oldest first."""
        self._elder: list[Copy] = []
        """In a copy that was woken: those that were there before it, and are none of its children."""
        self.give: Callable[[bytes, socket.socket], object] | None = None
        """Answers, in a child of a copy, what the session asks it."""
        self.shares: Callable[[], bool] = bool
        """Whether a copy would share what this process may change; then none is made."""
        self.forking = False
        """True while the process is copied, for those who look after forks of the user's code."""
        self.wanted = False
        """Whether something has changed since the last copy."""
        self.due = False
        """Whether this process is at a step of which there is no copy, since it was that copy itself, or came from the
        store: one is made before a cell changes it, and nobody waits until it idles."""

    @property
    def descriptor(self) -> int:
        """The connection to the first process; -1 without one. No other copy of the session may hold it."""
        return self._notices.fileno() if self._notices is not None else -1

    @property
    def possible(self) -> bool:
        """Whether there is somebody who would wake a copy."""
        return self._notices is not None

    def fork_copy(self, step: str = "") -> bool:
        """Copy this process, if it has one thread and shares nothing with a copy but what copies are made for.

        Args:
            step: The snapshot that it is at; empty: it is at none that one could go back to.

        Returns:
            True in a copy that was woken, long after.
        """
        at_once, self.wanted, self.due = self.due, False, False
        if self._notices is None or threads() != 1 or self.shares():
            self.drop()
            return False
        old = self._copy
        random = sys.modules["random"].getstate() if "random" in sys.modules else None
        signal.pthread_sigmask(signal.SIG_BLOCK, {WAKE})
        told = telling = -1
        asking = answering = None
        self.forking = True
        try:
            if step and self._most:
                asking, answering = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            told, telling = os.pipe()
            copy = os.fork()
        except OSError:  # too many processes, or descriptors: then there is none
            copy = -1
        self.forking = False
        if copy == 0:
            os.close(told)
            if asking is not None:
                asking.close()
            self._sleep(step, telling, answering)
            if random is not None:  # Python seeds it anew in every fork
                sys.modules["random"].setstate(random)
            if step:
                self.keep_before_cell()
            return True
        if telling >= 0:
            os.close(telling)
            if at_once:  # whoever goes back right after a short cell is to find it
                os.read(told, 1)
            os.close(told)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {WAKE})
        if answering is not None:
            answering.close()
        self._copy = Copy(max(copy, 0), step, asking)
        self._keep(old)
        return False

    @property
    def own(self) -> tuple[set[int], set[int]]:
        """The descriptors that it has opened, and its children."""
        copies = [*self._elder, *self._earlier, self._copy]
        return {one.channel.fileno() for one in copies if one.channel is not None}, {one.process for one in copies}

    def connect(self, step: str, request: bytes) -> socket.socket | None:
        """Ask the copy of a step something.

        Returns:
            The connection on which a child of that copy answers, and which ends with it; None: there is no such copy.
        """
        copies = [*self._elder, *self._earlier, self._copy]
        channel = next((one.channel for one in reversed(copies) if one.step == step and one.channel), None)
        if channel is None or len(request) > MAX_REQUEST:
            return None
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                # Not `socket.send_fds`, which ignores flags: a copy that does not answer would be waited for.
                given = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, theirs.fileno().to_bytes(4, sys.byteorder))]
                channel.sendmsg([request], given, socket.MSG_DONTWAIT)
            except OSError:  # it has ended
                ours.close()
                return None
        return ours

    def keep_before_cell(self) -> None:
        """Have a copy made before the next cell, however soon it comes: its step is one to go back to again."""
        self.due = self.possible and self._most > 0

    def drop(self) -> None:
        """End the copy: its state is out of date. Those of earlier steps stay."""
        copy, self._copy = self._copy, Copy(0, "")
        self._keep(copy)

    def _keep(self, old: "Copy") -> None:
        """Keep a copy as that of an earlier step, as long as there is room, and one of each."""
        if old.process and old.step and old.step != self._copy.step and self._most:
            twice = [one for one in self._earlier if one.step in (old.step, self._copy.step)]
            self._earlier = [one for one in self._earlier if one not in twice] + [old]
        else:
            twice = [old]
        while len(self._earlier) > self._most:
            twice.append(self._earlier.pop(0))
        for one in twice:
            one.end()

    def _sleep(self, step: str, telling: int, answering: socket.socket | None) -> None:
        """In the copy: tell that there is one, close the pipe that says so, and wait to be woken.

        Args:
            step: The snapshot that it is at.
            telling: The pipe.
            answering: Where the session asks it something meanwhile.
        """
        # Its elder siblings are not its children: the first process ends those that there are too many of.
        elder = [*self._elder, *self._earlier, self._copy]
        self._elder = [Copy(0, one.step, one.channel) for one in elder if one.channel is not None][-self._most - 1 :]
        self._copy, self._earlier = Copy(0, ""), []
        assert self._notices is not None
        with _listening(answering) as awaited:
            try:
                self._notices.send(b"frozen " + step.encode())
            except OSError:
                os._exit(0)
            os.close(telling)
            if answering is not None and ASKED in awaited:  # no signal comes for what was asked before
                self._answer(answering)
            while signal.sigwait(awaited) != WAKE:
                if answering is not None:
                    self._answer(answering)
        if answering is not None:
            answering.close()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {WAKE})

    def _answer(self, answering: socket.socket) -> None:
        """In the copy: have children answer what it was asked; it stays as it is itself."""
        while True:
            try:
                request, given, _, _ = socket.recv_fds(answering, MAX_REQUEST, 1)
            except OSError:
                return
            if not request:  # nobody is left who asks
                fcntl.fcntl(answering, fcntl.F_SETFL, fcntl.fcntl(answering, fcntl.F_GETFL) & ~os.O_ASYNC)
                return
            for descriptor in given:
                with suppress(OSError):  # too many processes
                    if os.fork() == 0:
                        self._give(request, descriptor)
                os.close(descriptor)

    def _give(self, request: bytes, descriptor: int) -> None:
        """In a child of the copy: answer, silently, and end."""
        try:
            nothing = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(nothing, number)
            os.close(self.descriptor)
            with socket.socket(fileno=descriptor) as connection:
                if self.give is not None:
                    self.give(request, connection)
        finally:
            os._exit(0)


@contextmanager
def _listening(answering: socket.socket | None) -> Iterator[set[signal.Signals]]:
    """In a copy: be sent a signal when it is asked something; afterwards all signals are dealt with as before.

    Yields:
        What the copy has to wait for.
    """
    ended = signal.getsignal(signal.SIGCHLD)
    if answering is None or ended is None:  # a handler that Python has not set could not be put back
        yield {WAKE}
        return
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so nobody has to wait for children that answer
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {ASKED})
    answering.setblocking(False)
    fcntl.fcntl(answering, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(answering, fcntl.F_GETFL)
    fcntl.fcntl(answering, fcntl.F_SETFL, flags | os.O_ASYNC)
    yield {WAKE, ASKED}
    fcntl.fcntl(answering, fcntl.F_SETFL, flags)
    signal.sigtimedwait({ASKED}, 0)
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    signal.signal(signal.SIGCHLD, ended)


def threads() -> int:
    """Threads of this process, those of compiled libraries too; 0 when that cannot be known."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 0


class Copy:
    """A child of this process that sleeps.

    Args:
        process: Its number; 0: there is none.
        step: The snapshot that it is at.
        channel: Where it can be asked something.
    """

    def __init__(self, process: int, step: str, channel: socket.socket | None = None) -> None:
        self.process = process
        self.step = step
        self.channel = channel

    def end(self) -> None:
        """End it."""
        if self.channel is not None:
            self.channel.close()
            self.channel = None
        if self.process:
            with suppress(OSError):
                os.kill(self.process, signal.SIGKILL)
            with suppress(OSError):
                os.waitpid(self.process, 0)
            self.process = 0
