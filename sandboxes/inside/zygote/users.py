"""Namespaces of this process, and who it is in them."""

import ctypes
import os

from .system import PR_SET_DUMPABLE, checked, libc, prctl

NEW_MOUNTS, NEW_CGROUP, NEW_UTS, NEW_IPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
NEW_USERS, NEW_PIDS, NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000
AT_EMPTY_PATH = 0x1000
INSIDE = 1000
"""User and group id in a sandbox."""


def unshare(flags: int) -> None:
    """Enter new namespaces.

    Raises:
        OSError: it is refused.
    """
    checked(libc.unshare(ctypes.c_int(flags)), f"unshare {flags:#x}")


def enter(namespace: int, kind: int) -> None:
    """Enter a namespace by its descriptor.

    Raises:
        OSError: it is refused.
    """
    checked(libc.setns(ctypes.c_int(namespace), ctypes.c_int(kind)), "setns")


def own_users(proc: int, inside: int, flags: int = 0) -> None:
    """Enter a user namespace in which this process's user and group are called `inside`, and further new namespaces.

    Args:
        proc: A descriptor of a `/proc` that shows this process.
        inside: The user and group id in it.
        flags: Other namespaces to enter.

    Raises:
        OSError: it is refused.
    """
    user, group = os.geteuid(), os.getegid()
    unshare(NEW_USERS | flags)
    prctl(PR_SET_DUMPABLE, 1)  # the files written now belong to whoever owns a process that may be dumped
    _write(proc, "self/setgroups", "deny")
    _write(proc, "self/uid_map", f"{inside} {user} 1\n")
    _write(proc, "self/gid_map", f"{inside} {group} 1\n")


def become(user: int, group: int) -> None:
    """Stop being root, for good.

    Raises:
        OSError: it is refused.
    """
    os.setgroups([])
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)
    prctl(PR_SET_DUMPABLE, 1)


def change_owner(held: int, user: int, group: int) -> None:
    """Give what an `O_PATH` descriptor holds to another user, a link, too; Python has no such call.

    Raises:
        OSError: it is refused.
    """
    checked(libc.fchownat(held, b"", user, group, AT_EMPTY_PATH), "fchownat")


def _write(proc: int, name: str, text: str) -> None:
    descriptor = os.open(name, os.O_WRONLY | os.O_CLOEXEC, dir_fd=proc)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
