"""What a session asks a frozen copy of itself reaches it, and what is wrong with either of them ends no other."""

import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress

from sandboxes.inside.kernel.snapshots.save import SnapshotWriter
from sandboxes.inside.kernel.snapshots.storing.copied_buffers import CopiedBuffers, _end_after
from sandboxes.inside.kernel.standby import WAKE, Copy, ForkedStandby


def ended(call: Callable[[], None]) -> int:
    """Call something in a child of this process; how that ended, as `os.waitstatus_to_exitcode` says it."""
    child = os.fork()
    if child == 0:
        try:
            call()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def packets() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def test_a_copy_answers_what_it_was_asked_before_it_slept() -> None:
    asking, answering = packets()
    ours, theirs = packets()
    first, notices = packets()
    told, telling = os.pipe()
    with theirs:
        socket.send_fds(asking, [b"what?"], [theirs.fileno()])

    def sleep() -> None:
        os.setsid()
        signal.pthread_sigmask(signal.SIG_BLOCK, {WAKE})
        standby = ForkedStandby(notices.detach())
        standby.give = lambda request, connection: connection.send(b"asked " + request)
        os.kill(os.getpid(), WAKE)  # it wakes as soon as it has nothing else to do
        standby._sleep("step", telling, answering)

    assert ended(sleep) == 0
    answering.close()
    assert ours.recv(100) == b"asked what?"
    for one in (asking, ours, first, notices):
        one.close()
    os.close(told)
    os.close(telling)


def test_a_copy_that_takes_no_more_questions_is_not_waited_for() -> None:
    channel, busy = packets()
    channel.setblocking(False)
    with suppress(BlockingIOError):
        while True:
            channel.send(b"what?")
    channel.setblocking(True)
    standby = ForkedStandby(-1)
    standby._copy = Copy(0, "step", channel)
    assert standby.connect("step", b"what?") is None
    channel.close()
    busy.close()


def test_the_window_has_one_reader_at_a_time() -> None:
    asked: list[bytes] = []

    def connect(id: str, request: bytes) -> None:
        asked.append(request)
        if len(asked) < 3:  # another thread, while this one is on its way
            assert buffers.read(id, ["y"], {}) == set()

    buffers = CopiedBuffers(SnapshotWriter.__new__(SnapshotWriter), connect)
    for times in (1, 2):
        assert buffers.read("step", ["x"], {}) == set()
        assert len(asked) == times


def test_what_a_copy_answers_with_ends_whatever_it_does() -> None:
    def hang() -> None:
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        _end_after(0.01)
        while True:
            pass

    assert ended(hang) == -signal.SIGALRM
