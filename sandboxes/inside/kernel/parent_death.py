"""Ends this process group with its parent: SIGKILL when the other end of a socket pair closes."""

import fcntl
import os
import select
import signal
import threading


def die_with_peer(fd: int) -> None:
    """Tie this process group to the other end of a socket pair.

    On Linux the operating system itself sends SIGKILL to the group, so code that blocks, ignores signals or holds the
    interpreter's lock dies too. Elsewhere a thread watches.
    """
    os.set_inheritable(fd, False)
    if hasattr(fcntl, "F_SETSIG"):
        fcntl.fcntl(fd, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC)
        poll = select.poll()
        poll.register(fd, select.POLLHUP)
        if poll.poll(0):  # the host was gone before the signal was asked for
            _end()
        return
    threading.Thread(target=_watch, args=(fd,), daemon=True, name="lifeline").start()


def _watch(fd: int) -> None:
    while True:
        try:
            if not os.read(fd, 1):
                break
        except InterruptedError:
            continue
        except OSError:
            break
    _end()


def _end() -> None:
    os.killpg(os.getpgrp(), signal.SIGKILL)
