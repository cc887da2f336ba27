"""Answers of a forked child: what can be found out only by changing what the session holds is done there.

A child has all that its parent has, and whatever it does to that, nobody sees. It ends without a word to what it holds:
nothing is closed or written at its end.
"""

import ctypes
import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pickle import PicklingError

from ..dict_contents import is_alone

SECONDS = 5
"""After which a child is given up."""
TOO_LATE = "it could not be looked at in time"
LARGEST = 256 << 20
"""Bytes of an answer."""
PIECE = 1 << 20


def answer_of_child(compute: Callable[[], bytes], seconds: float = SECONDS, *, among_threads: bool = False) -> bytes:
    """What a function answers in a forked child of this process.

    Args:
        compute: The function.
        seconds: After which it is given up.
        among_threads: Whether it takes nothing that another thread may hold at this moment.

    Raises:
        PicklingError: The process has several threads, of which a child would have one; or the child raised something,
            took too long, or there can be no child.
    """
    if not (among_threads or is_alone()):
        raise PicklingError("what other threads may use cannot be looked at apart from them")
    try:
        reading, writing = os.pipe()
    except OSError as error:  # too many descriptors
        raise PicklingError(f"no process could be made to look at it: {error.strerror}") from None
    with _unheard():
        # By the system's call, so that no function that cells gave to `os.register_at_fork` is called.
        child = ctypes.PyDLL(None).fork()
        if child == 0:
            _answer(compute, writing)
        os.close(writing)
        try:
            answer = _read(reading, seconds) if child > 0 else bytearray(NO_CHILD)
        finally:
            os.close(reading)
            if child > 0:
                _end(child)
    if answer[:1] != DONE:
        raise PicklingError(bytes(answer[1:]).decode("utf-8", "replace") or TOO_LATE)
    return bytes(answer[1:])


def read_apart(descriptor: int) -> None:
    """In a child: let what it reads of a file move nobody else's place in it, which a fork shares."""
    place = os.lseek(descriptor, 0, os.SEEK_CUR)
    own = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_CLOEXEC)
    os.lseek(own, place, os.SEEK_SET)
    os.dup2(own, descriptor)
    os.close(own)


@contextmanager
def _unheard() -> Iterator[None]:
    """Let nobody hear that a child has ended: no handler of the session's, and nobody who waits for the signal."""
    is_pending, ended = signal.SIGCHLD in signal.sigpending(), _ended()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    try:
        yield
    finally:
        if not is_pending and signal.sigtimedwait({signal.SIGCHLD}, 0) and _ended() - ended:
            os.kill(os.getpid(), signal.SIGCHLD)  # one signal stood for both
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ended() -> set[int]:
    """The session's own children that have ended and for which nobody has waited."""
    children = set[int]()
    for task in os.listdir(TASKS) if os.path.isdir(TASKS) else ():
        with suppress(OSError), open(f"{TASKS}/{task}/children", encoding="utf-8") as file:
            children.update(map(int, file.read().split()))
    found = set[int]()
    for child in children:
        with suppress(OSError):
            if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                found.add(child)
    return found


TASKS = "/proc/self/task"


def _end(child: int) -> None:
    with suppress(OSError):
        os.kill(child, signal.SIGKILL)
    with suppress(OSError):
        os.waitpid(child, 0)


DONE, FAILED = b"+", b"-"
NO_CHILD = FAILED + b"no process could be made to look at it"


def _answer(compute: Callable[[], bytes], writing: int) -> None:
    try:
        try:
            answer = DONE + compute()
        except BaseException as error:
            answer = FAILED + str(error).encode("utf-8", "replace")
        with open(writing, "wb", buffering=0) as file:
            left = memoryview(answer)
            while left:
                left = left[file.write(left) :]
    finally:
        os._exit(0)


def _read(reading: int, seconds: float) -> bytearray:
    answer, ends, ready = bytearray(), time.monotonic() + seconds, select.poll()
    ready.register(reading, select.POLLIN)
    while ready.poll(max(0, ends - time.monotonic()) * 1000):
        piece = os.read(reading, PIECE)
        if not piece:
            return answer
        answer += piece
        if len(answer) > LARGEST:
            break
    return bytearray()
