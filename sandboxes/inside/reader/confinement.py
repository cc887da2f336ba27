"""Confines the reader process to reading, by what this machine supports.

It has begun and imported all that it needs when it gives everything up: it opens no file any more, reaches no network
and no other process, starts none, and has limits of memory, time and what it writes.
"""

import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path

if sys.platform == "linux":
    from ..zygote import landlock, seccomp, system

NOBODY = 65_534


def confine(*, memory: int, seconds: int, written: int) -> None:
    """Give everything up but the descriptors that are open.

    Args:
        memory: Bytes that it may have.
        seconds: Seconds of the processor.
        written: Bytes that it may write to one file.
    """
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_DATA: memory,
        resource.RLIMIT_FSIZE: written,
        resource.RLIMIT_NOFILE: 64,
        resource.RLIMIT_NPROC: 0,  # one that it left behind would still have the file that the host reads then
    }
    with suppress(OSError):  # if memory runs short, this is what goes
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    for what, limit in limits.items():
        hard = resource.getrlimit(what)[1]
        value = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        with suppress(ValueError, OSError):  # a system may not take it
            resource.setrlimit(what, (value, value))
    if system.may_become(NOBODY):
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    if sys.platform == "linux":
        system.no_new_privileges()
        system.prctl(system.PR_SET_DUMPABLE, 0)
        system.die_with_parent(signal.SIGKILL)
        if landlock.abi() >= 1:
            with suppress(OSError):
                landlock.restrict(read=(), write=(), network=False)
        if seccomp.supported():
            with suppress(OSError):
                seccomp.install(network=False, strict=True)
