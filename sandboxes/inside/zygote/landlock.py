"""What files, TCP ports and processes are reachable at all, by Landlock: the kernel asks no one and needs no privilege.

ABIs 1 to 7 (Linux 5.13 to 6.15) are known; each adds something that can be refused. What this kernel's ABI lacks is
left open, and `abi` says so. Reading metadata (`stat`), changing it and Unix sockets with a path are never guarded.
Numbers: `linux/landlock.h`.
"""

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Sequence

from .system import checked, syscall

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""System calls; the same numbers on every machine."""

NEWEST = 7
"""The newest ABI that is made use of; a newer kernel is used as this one."""

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << bit for bit in range(6))
MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK, MAKE_SYM = (1 << bit for bit in range(6, 13))
REFER, TRUNCATE, IOCTL_DEV = (1 << bit for bit in range(13, 16))
BIND_TCP, CONNECT_TCP = 1, 2
ABSTRACT_SOCKETS, SIGNALS = 1, 2
LOG_NOTHING = 1
"""`LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF`: else a cell could fill the machine's audit log at will."""

READING = EXECUTE | READ_FILE | READ_DIR
OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
"""What can be said of something that is no folder."""


def abi() -> int:
    """The Landlock ABI of this kernel; 0 where it has none or it is switched off."""
    return max(0, syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1))


def handled(version: int, *, network: bool) -> tuple[int, int, int]:
    """What is refused unless a rule allows it: file access, ports, scopes.

    Args:
        version: The kernel's ABI, 1 or more.
        network: Whether TCP is left alone.
    """
    files = (1 << 13) - 1
    files |= REFER if version >= 2 else 0
    files |= TRUNCATE if version >= 3 else 0
    files |= IOCTL_DEV if version >= 5 else 0
    ports = BIND_TCP | CONNECT_TCP if version >= 4 and not network else 0
    scopes = ABSTRACT_SOCKETS | SIGNALS if version >= 6 else 0
    return files, ports, scopes


def restrict(
    *,
    read: Sequence[str],
    write: Sequence[str],
    read_files: Sequence[str] = (),
    write_files: Sequence[str] = (),
    network: bool,
) -> None:
    """Leave this thread and everything that it starts only these paths, for good.

    `no_new_privs` has to be set already. Links are followed, now; paths that do not exist, or that this user cannot
    reach, are skipped. Device nodes can be made nowhere.

    Args:
        read: Folders (or files) to read and to run programs from.
        write: Folders (or files) to do anything in.
        read_files: Files to read and not to run.
        write_files: Files to read and write, such as `/dev/null`.
        network: Whether TCP is left alone; else no port can be bound or connected to (from ABI 4 on).

    Raises:
        OSError: this kernel has no Landlock, or it refuses; IsADirectoryError: a folder stands among the files.
    """
    version = min(abi(), NEWEST)
    if version < 1:
        raise OSError(errno.EOPNOTSUPP, "this kernel has no Landlock, or it is switched off")
    files, ports, scopes = handled(version, network=network)
    size = 8 if version < 4 else 16 if version < 6 else 24
    attributes = struct.pack("=QQQ", files, ports, scopes)[:size]
    ruleset = checked(syscall(CREATE_RULESET, attributes, ctypes.c_size_t(size), 0), "landlock_create_ruleset")
    try:
        writing = files & ~(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV)
        for paths, rights in ((read, READING), (write, writing)):
            for path in paths:
                _allow(ruleset, path, rights, folders=True)
        for paths, rights in ((read_files, READ_FILE), (write_files, files & (READ_FILE | WRITE_FILE | TRUNCATE))):
            for path in paths:
                _allow(ruleset, path, rights, folders=False)
        flags = LOG_NOTHING if version >= 7 else 0
        checked(syscall(RESTRICT_SELF, ruleset, flags), "landlock_restrict_self")
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int, *, folders: bool) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return  # what this user cannot reach cannot be reached from inside either
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= OF_A_FILE
        elif not folders:
            raise IsADirectoryError(errno.EISDIR, "a folder stands among the files to be opened to the sandbox", path)
        rule = struct.pack("=Qi", rights, descriptor)
        checked(syscall(ADD_RULE, ruleset, 1, rule, 0), f"landlock_add_rule {path}")
    finally:
        os.close(descriptor)
