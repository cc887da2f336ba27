"""System calls that Python does not offer, through ctypes."""

import ctypes
import os
import platform

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
MACHINE = platform.machine()
"""`x86_64`, `aarch64`, …"""

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER = 1, 4, 24, 36
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4
CAPABILITY_VERSION = 0x20080522


def checked(result: int, what: str) -> int:
    """The result of a system call.

    Raises:
        OSError: it failed; `what` is in its message.
    """
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, *arguments: object) -> int:
    """A system call by its number; -1 when it failed, with `ctypes.get_errno()`."""
    return int(libc.syscall(ctypes.c_long(number), *arguments))


def prctl(option: int, *arguments: int) -> int:
    """Change something about this process.

    Raises:
        OSError: it is refused.
    """
    padded = (*arguments, 0, 0, 0, 0)[:4]
    return checked(libc.prctl(option, *(ctypes.c_ulong(value) for value in padded)), f"prctl {option}")


def die_with_parent(signal_number: int) -> None:
    """Have the kernel send this signal when the parent dies."""
    prctl(PR_SET_PDEATHSIG, signal_number)


def no_new_privileges() -> None:
    """From now on no program that is started can gain privileges."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def bound_capabilities() -> None:
    """Give up every capability for programs started later; this process keeps what it has."""
    for capability in range(64):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break  # the last one that this kernel knows, or we hold none to drop with
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)


def drop_capabilities() -> None:
    """Give up every capability that this process has.

    Raises:
        OSError: they cannot be given up.
    """
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    nothing = (ctypes.c_uint32 * 6)()
    checked(libc.capset(header, nothing), "capset")
