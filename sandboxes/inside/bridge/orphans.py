"""What a kernel leaves behind: processes that detached themselves become children of the bridge, which ends them.

A group is killed with its leader; who has left it, as daemons do, would go on writing into a workspace that was rolled
back. So orphans are given to the bridge and not to the first process of the sandbox.
"""

import os
import signal
import time
from contextlib import suppress

PR_SET_CHILD_SUBREAPER = 36
END_SECONDS = 5.0


def adopt() -> None:
    """Become the parent of all orphans among the descendants of this process; where that is not to be had, not."""
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def bury(kernel: int) -> None:
    """Forget those that have ended by themselves, but for the kernel: it is waited for by who started it."""
    with suppress(ChildProcessError):
        while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if ended.si_pid == kernel:
                return
            os.waitpid(ended.si_pid, 0)


def end() -> None:
    """End all children of this process, and theirs, which become its children by that."""
    until = time.monotonic() + END_SECONDS
    with suppress(ChildProcessError):
        while time.monotonic() < until:
            for child in _children():
                with suppress(OSError):
                    os.kill(child, signal.SIGKILL)
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            time.sleep(0.002)


def _children() -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        with suppress(OSError, ValueError, IndexError):
            process = int(name)
            with open(f"/proc/{process}/stat", "rb") as reading:
                if int(reading.read().rpartition(b")")[2].split()[1]) == os.getpid():
                    found.append(process)
    return found
