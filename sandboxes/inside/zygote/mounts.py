"""Mounting, by the old calls and by those of Linux 5.2 and 5.12 that work with descriptors."""

import ctypes
import os
import struct

from .system import MACHINE, checked, libc, syscall

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND = 1, 2, 4, 8, 32, 4096
MS_REC, MS_PRIVATE = 1 << 14, 1 << 18
MNT_DETACH = 2
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442  # the same number on every machine
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
AT_FDCWD, AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW, AT_RECURSIVE = -100, 0x1000, 0x100, 0x8000
OPEN_TREE_CLONE, MOVE_MOUNT_FROM_EMPTY_PATH = 1, 4
ATTRIBUTE_READ_ONLY, ATTRIBUTE_NO_SUID, ATTRIBUTE_NO_DEVICES = 1, 2, 4


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """Mount something.

    Raises:
        OSError: it is refused.
    """
    given = [None if text is None else os.fsencode(text) for text in (source, target, kind, options or None)]
    result = libc.mount(given[0], given[1], given[2], ctypes.c_ulong(flags), given[3])
    checked(result, f"mount {kind or source} on {target}")


def unmount(target: str) -> None:
    """Take a mount away, also while it is in use."""
    checked(libc.umount2(os.fsencode(target), MNT_DETACH), f"unmount {target}")


def copy_of_tree(path: str) -> int:
    """A descriptor of a folder or file with what is mounted below it, to be attached elsewhere.

    Raises:
        OSError: there is none, the path ends in a link, or it is refused.
    """
    flags = OPEN_TREE_CLONE | os.O_CLOEXEC | AT_SYMLINK_NOFOLLOW | AT_RECURSIVE
    return checked(syscall(OPEN_TREE, AT_FDCWD, os.fsencode(path), ctypes.c_uint(flags)), f"open {path}")


def close_to_devices(tree: int, *, read_only: bool) -> None:
    """Forbid devices and set-uid programs in a tree that `copy_of_tree` gave, and writing when asked.

    Raises:
        OSError: it is refused.
    """
    attributes = ATTRIBUTE_NO_SUID | ATTRIBUTE_NO_DEVICES | (ATTRIBUTE_READ_ONLY if read_only else 0)
    asked = struct.pack("QQQQ", attributes, 0, 0, 0)
    flags = ctypes.c_uint(AT_EMPTY_PATH | AT_RECURSIVE)
    checked(syscall(MOUNT_SETATTR, tree, b"", flags, asked, ctypes.c_size_t(len(asked))), "mount_setattr")


def attach(tree: int, target: str) -> None:
    """Attach a tree to a folder or file of this process's view.

    Raises:
        OSError: it is refused.
    """
    flags = ctypes.c_uint(MOVE_MOUNT_FROM_EMPTY_PATH)
    checked(syscall(MOVE_MOUNT, tree, b"", AT_FDCWD, os.fsencode(target), flags), f"attach {target}")


def enter_root(folder: str) -> None:
    """Make a mounted folder the root of this process's view, and let go of the old one.

    Raises:
        OSError: it is refused.
    """
    os.chdir(folder)
    checked(syscall(PIVOT_ROOT[MACHINE], b".", b"."), "pivot_root")
    # The old root lies over the new one now; what is taken away is the upper of the two.
    unmount(".")
    os.chdir("/")
