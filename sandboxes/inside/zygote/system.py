"""System calls that Python does not offer, through ctypes, and the users that a sandbox runs as."""

import ctypes
import os
import platform
import re
from collections.abc import Callable

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


CAP_CHOWN, CAP_SETGID, CAP_SETUID, CAP_SYS_ADMIN = 0, 6, 7, 21


def may_become(user: int, *capabilities: int) -> bool:
    """Whether this process is a root that can go on as that user and group.

    The root of a container often cannot: it has no such user, or has been left without what a root can do.

    Args:
        user: The id of the user, and of the group.
        capabilities: What it needs besides.
    """
    if os.geteuid():
        return False
    try:
        held = re.search(r"^CapEff:\s*([0-9a-f]+)", _read("status"), re.MULTILINE)
        lacks = [one for one in (CAP_SETGID, CAP_SETUID, *capabilities) if held and not int(held[1], 16) >> one & 1]
        return not lacks and _read("setgroups").strip() == "allow" and all(map(_known(user), ("uid_map", "gid_map")))
    except OSError:  # a system without these files
        return True


def _known(user: int) -> Callable[[str], bool]:
    """Says of a map whether a user is in it."""
    return lambda name: any(
        int(first) <= user < int(first) + int(count) for first, _, count in map(str.split, _read(name).splitlines())
    )


def _read(name: str) -> str:
    with open(f"/proc/self/{name}", encoding="ascii", errors="replace") as reading:
        return reading.read()


def switch_user(user: int, group: int) -> None:
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
