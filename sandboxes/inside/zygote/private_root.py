"""The private root of a sandbox: a small tmpfs with the system and Python read-only, and empty places for the rest."""

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from contextlib import suppress

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
    """Unmount something, also while it is in use."""
    checked(libc.umount2(os.fsencode(target), MNT_DETACH), f"unmount {target}")


def copy_of_tree(path: str) -> int:
    """A descriptor of a folder or file with what is mounted below it, to be attached elsewhere.

    Raises:
        OSError: there is none, the path ends in a link, or it is refused.
    """
    flags = OPEN_TREE_CLONE | os.O_CLOEXEC | AT_SYMLINK_NOFOLLOW | AT_RECURSIVE
    return checked(syscall(OPEN_TREE, AT_FDCWD, os.fsencode(path), ctypes.c_uint(flags)), f"open {path}")


def restrict_mount(tree: int, *, read_only: bool) -> None:
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
    """Make a mounted folder the root of this process's view, and unmount the old one.

    Raises:
        OSError: it is refused.
    """
    os.chdir(folder)
    checked(syscall(PIVOT_ROOT[MACHINE], b".", b"."), "pivot_root")
    # The old root lies over the new one now; what is taken away is the upper of the two.
    unmount(".")
    os.chdir("/")


SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/nix/store", "/gnu/store")
SETTINGS = (
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime", "/etc/timezone",
    "/etc/fonts", "/etc/mime.types", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted", "/etc/ca-certificates", "/etc/R",
)  # fmt: skip
WRITTEN = {
    "/etc/passwd": "user:x:1000:1000::/home/user:/bin/sh\nnobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n",
    "/etc/group": "user:x:1000:\nnogroup:x:65534:\n",
    "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
DEVICES = ("null", "zero", "full", "random", "urandom")
LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}
HOME, WORKSPACE, OWN = "/home/user", "/workspace", "/stepwell"
PLACES = {"workspace": WORKSPACE, "inputs": f"{WORKSPACE}/inputs", "spool": f"{OWN}/spool", "blobs": f"{OWN}/blobs"}
"""Folders of the host that are attached later, and where."""
NOTE, PROGRAM = f"{OWN}/reached", f"{OWN}/program"
NEW_ROOT = "/tmp"  # where the new root is put together; in a view of our own, so nobody's /tmp is touched
QUIET = MS_NOSUID | MS_NODEV


def build(
    read_only: Iterable[str],
    *,
    owner: tuple[int, int],
    tmp_bytes: int,
    shared_memory_bytes: int,
    with_proc: bool,
) -> None:
    """Put the root together and enter it; must run in a mount namespace and a pid namespace of its own.

    Args:
        read_only: Further files and folders that are to be seen at their own paths.
        owner: User and group, as this process sees them, to whom HOME belongs.
        tmp_bytes: The size of `/tmp`; HOME has the same.
        shared_memory_bytes: The size of `/dev/shm`.
        with_proc: Whether `/proc` is mounted; it stays empty otherwise.

    Raises:
        OSError: something is refused.
    """
    links, trees = _system(read_only)
    devices = [(f"/dev/{name}", copy_of_tree(f"/dev/{name}")) for name in DEVICES]
    mount("tmpfs", NEW_ROOT, "tmpfs", QUIET, "size=2m,nr_inodes=4k,mode=755")
    # First these, because what is read-only may lie in a folder of that name.
    mine = f"uid={owner[0]},gid={owner[1]},mode=755"
    for path, size, rights in (
        ("/tmp", tmp_bytes, "mode=1777"),
        (HOME, tmp_bytes, mine),
        ("/dev/shm", shared_memory_bytes, "mode=1777"),
    ):
        _make(path, folder=True)
        mount("tmpfs", NEW_ROOT + path, "tmpfs", QUIET, f"size={size},nr_inodes=100k,{rights}")
    for path, tree in trees:
        _make(path, folder=stat.S_ISDIR(os.fstat(tree).st_mode))
        restrict_mount(tree, read_only=True)
        attach(tree, NEW_ROOT + path)
        os.close(tree)
    for path, target in links:
        os.symlink(target, NEW_ROOT + path)
    for path, text in WRITTEN.items():
        if not os.path.exists(NEW_ROOT + path):
            _make(os.path.dirname(path), folder=True)
            _write(NEW_ROOT + path, text)
    for path, tree in devices:
        _make(path, folder=False)
        attach(tree, NEW_ROOT + path)
        os.close(tree)
    for name, target in LINKS.items():
        os.symlink(target, f"{NEW_ROOT}/dev/{name}")
    for path in (*PLACES.values(), PROGRAM):
        _make(path, folder=True)
    _make(NOTE, folder=False)
    _make("/proc", folder=True)
    if with_proc:
        mount("proc", f"{NEW_ROOT}/proc", "proc", QUIET | MS_NOEXEC)
    enter_root(NEW_ROOT)


def attach_places(trees: dict[str, int], *, hidden: Iterable[str], needed: Iterable[str]) -> None:
    """Attach the host's folders; then close the root.

    Args:
        trees: By the names of `PLACES`, the `note` and `program/…`.
        hidden: Folders of the host that are to look empty, if they can be seen at all: they have other threads' files.
        needed: What must be seen all the same; a folder with any of it is not hidden.

    Raises:
        OSError: something is refused.
    """
    for name, tree in trees.items():
        target = NOTE if name == "note" else PLACES.get(name, f"{OWN}/{name}")
        if name.startswith("program/"):
            os.mkdir(target)
        attach(tree, target)
        os.close(tree)
    needed = (*needed, "/tmp", "/dev/shm", HOME, WORKSPACE, OWN)
    for folder in hidden:
        if os.path.isdir(folder) and not any(f"{path}/".startswith(f"{folder.rstrip('/')}/") for path in needed):
            mount("tmpfs", folder, "tmpfs", QUIET | MS_RDONLY, "size=4k")
    mount(None, "/", None, MS_BIND | MS_REMOUNT | MS_RDONLY | QUIET)


def _system(read_only: Iterable[str]) -> tuple[list[tuple[str, str]], list[tuple[str, int]]]:
    """What is linked, and what is attached: path and tree, outer folders before inner ones."""
    links: list[tuple[str, str]] = []
    wanted: list[str] = []
    for path in SYSTEM:
        if os.path.islink(path):
            links.append((path, os.readlink(path)))
        elif os.path.isdir(path):
            wanted.append(path)
    wanted += [os.path.realpath(path) if os.path.islink(path) else path for path in SETTINGS if os.path.exists(path)]
    for path in read_only:
        wanted.append(path)
    trees: list[tuple[str, int]] = []
    seen: set[str] = set()
    for path in sorted(set(wanted)):
        if any(path.startswith(f"{outer}/") for outer in seen) or path == "/":
            continue  # it lies in one that is seen anyway
        with suppress(FileNotFoundError):
            trees.append((path, copy_of_tree(path)))
            seen.add(path)
    links += [
        (path, os.path.realpath(path))
        for path in SETTINGS
        if os.path.islink(path) and not any(path.startswith(f"{outer}/") for outer in seen)
    ]
    return links, trees


def _make(path: str, *, folder: bool) -> None:
    """Make a folder or an empty file in the new root, with the folders above it."""
    if os.path.lexists(NEW_ROOT + path):
        return
    parent = os.path.dirname(path)
    if parent != "/":
        _make(parent, folder=True)
    if folder:
        os.mkdir(NEW_ROOT + path, 0o755)
    else:
        _write(NEW_ROOT + path, "")


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as writing:
        writing.write(text)
