"""A sandbox folder seen from outside: files go in and come out without following anything that code put there.

`sandboxes/inside/bridge/tree.py` says how paths are walked. All functions block; call them in a thread.
"""

import errno
import hashlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from sandboxes.base import SandboxUnavailableError, workspace_path
from sandboxes.host import replies
from sandboxes.inside.bridge import tree
from sandboxes.inside.zygote.system import change_owner
from sandboxes.results import FetchedFile, Reached, WorkspaceFile

BLOCK = 1 << 20
MOVED = ".stepwell-"
AT_ONCE = 50
"""How many folders deep it goes at once: deeper ones exhaust recursion, descriptors, and in the end paths."""
NOTE = "reached"
PLACE = "place"
MAX_NOTE = 16_384
"""Bytes."""


def prepare(root: Path) -> None:
    """Make the folders that every workspace has; a link or a file in their place is removed.

    Raises:
        SandboxUnavailableError: they cannot be made.
    """
    with _clear(root):
        tree.prepare(str(root))


def hand_over(root: Path, user: int) -> None:
    """Make a folder and what the host can see in it another user's; links are changed, not followed.

    What is looked at is what is changed, whoever puts something else in its place meanwhile. A file that has other
    names is left as it is: they may lie outside. So is what lies on another file system.
    """
    folder = os.open(root, tree.FOLDER_FLAGS)
    try:
        if os.fstat(folder).st_uid != user:
            os.fchown(folder, user, user)
        _hand_over(folder, user, os.fstat(folder).st_dev, tree.MAX_DEPTH)
    finally:
        os.close(folder)


def _hand_over(folder: int, user: int, device: int, depth: int) -> None:
    for name in _names_in(folder):
        with suppress(FileNotFoundError):
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if status.st_uid != user:
                _change_owner(name, folder, user, device)
            if stat.S_ISDIR(status.st_mode) and depth:
                try:
                    inner = os.open(name, tree.FOLDER_FLAGS, dir_fd=folder)
                except OSError as error:
                    if error.errno in (errno.ENOTDIR, errno.ELOOP):
                        continue  # something else is in its place by now
                    raise
                try:
                    if os.fstat(inner).st_dev == device:
                        _hand_over(inner, user, device, depth - 1)
                finally:
                    os.close(inner)


def _change_owner(name: str, folder: int, user: int, device: int) -> None:
    held = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        status = os.fstat(held)
        if status.st_dev == device and (stat.S_ISDIR(status.st_mode) or status.st_nlink == 1):
            change_owner(held, user, user)
    finally:
        os.close(held)


def make_all(sandbox: Path, cache: Path) -> None:
    """Make all folders of a local sandbox, and the cache folder.

    Raises:
        SandboxUnavailableError: they cannot be made.
    """
    prepare(sandbox / "workspace")
    try:
        for folder in (sandbox / "home", sandbox / "tmp", cache):
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SandboxUnavailableError(
            f"The sandbox folder {sandbox} cannot be made ({error.strerror}). Choose another place with STEPWELL_HOME."
        ) from error


def put(root: Path, source: Path, path: str) -> None:
    """Copy a host file to a path in the workspace, whole or not at all; what lies in `inputs/` is read-only.

    Raises:
        FileNotFoundError: there is no such host file.
        SandboxUnavailableError: the workspace is full or cannot be written.
        ValueError: the path leaves the workspace, or leads through a file or a link.
    """
    parts = workspace_path(path).split("/")
    with source.open("rb") as reading, _clear(root), tree.folder(str(root), parts[:-1], make=True) as folder:
        if tree.is_folder(parts[-1], folder):
            raise ValueError(f"{path!r} is a folder in the workspace")
        partial = tree.PARTIAL + secrets.token_hex(8)
        mode = 0o444 if parts[0] == "inputs" else 0o644
        target = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
        try:
            with os.fdopen(target, "wb") as writing:
                shutil.copyfileobj(reading, writing, BLOCK)
                os.fchmod(target, mode)
            os.replace(partial, parts[-1], src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(partial, dir_fd=folder)
            raise


def files(root: Path, folder: str) -> list[WorkspaceFile]:
    """The regular files below a folder (`.`: all), sorted by path; links, special files and hard links left out.

    A name may be anything that the file system takes: not printable, or bytes that are no text (as `os.fsdecode` has
    them). What lies on another file system, which somebody mounted there, is left out.

    Raises:
        ValueError: the folder leaves the workspace.
    """
    parts = [] if folder in ("", ".") else workspace_path(folder).split("/")
    return [WorkspaceFile(path, size) for path, size in tree.files(str(root), parts)]


def fetch(root: Path, path: str, target: Path, *, max_bytes: int) -> FetchedFile:
    """Copy a workspace file to a host path, whole or not at all.

    Raises:
        FileNotFoundError: there is no regular file at that path.
        ValueError: it is larger than `max_bytes`, or the path leaves the workspace.
    """
    with ExitStack() as stack:
        path, reading, announced = _opened(root, path, stack)
        if announced > max_bytes:
            raise ValueError(f"{path!r} has {announced:,} bytes, more than the {max_bytes:,} that are allowed")
        digest, size = hashlib.sha256(), 0
        partial = target.with_name(f"{tree.PARTIAL}{secrets.token_hex(8)}")
        try:
            with partial.open("xb") as writing:
                while block := os.read(reading, BLOCK):
                    size += len(block)
                    if size > max_bytes:
                        raise ValueError(f"{path!r} grew beyond the {max_bytes:,} bytes that are allowed")
                    digest.update(block)
                    writing.write(block)
            partial.replace(target)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    return FetchedFile(path=path, size=size, sha256=digest.hexdigest())


def digest(root: Path, path: str) -> tuple[int, str]:
    """A workspace file's size and SHA-256.

    Raises:
        FileNotFoundError: there is no regular file at that path.
        ValueError: the path leaves the workspace.
    """
    with ExitStack() as stack:
        _, reading, _ = _opened(root, path, stack)
        sha256, size = hashlib.sha256(), 0
        while block := os.read(reading, BLOCK):
            size += len(block)
            sha256.update(block)
    return size, sha256.hexdigest()


def empty(root: Path, *, keep: frozenset[str] = frozenset()) -> None:
    """Remove what is in a folder, read-only folders too, except the folders named in `keep`.

    Raises:
        SandboxUnavailableError: something cannot be removed.
    """
    with _clear(root):
        for entry in list(os.scandir(root)) if root.is_dir() else []:
            if not entry.is_dir(follow_symlinks=False):
                Path(entry.path).unlink()
            elif entry.name not in keep:
                remove(Path(entry.path))


def _opened(root: Path, path: str, stack: ExitStack) -> tuple[str, int, int]:
    """The file of exactly that name, or of the name that is meant if the path is written in another way.

    Returns:
        Its path, its descriptor, and its size.
    """
    for parts in (path.split("/"), None):
        exact = parts or workspace_path(path).split("/")
        with suppress(OSError, ValueError):
            if tree.inside(exact):
                return "/".join(exact), *stack.enter_context(tree.opened(str(root), exact))
    raise FileNotFoundError(errno.ENOENT, "there is no regular file of that name in the workspace", path)


@contextmanager
def _clear(root: Path) -> Iterator[None]:
    """Turn errors of the workspace's disk into one sentence."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        full = error.errno in tree.FULL
        why = "There is no room left" if full else f"It cannot be written ({error.strerror or error})"
        raise SandboxUnavailableError(
            f"{why} in the sandbox folder {root}. Free some space there, or choose another place with STEPWELL_HOME."
        ) from error


def remove(folder: Path) -> None:
    """Remove a folder with all that is in it, however deep; links are removed, not followed."""
    if folder.is_dir() and not folder.is_symlink():
        folder.chmod(0o700)
        top = os.open(folder, tree.FOLDER_FLAGS)
        try:
            while _names_in(top):
                _remove_contents(top, top, AT_ONCE)
        finally:
            os.close(top)
        folder.rmdir()


def _remove_contents(folder: int, top: int, depth: int) -> None:
    """Remove what is in a folder; folders so deep in it that `depth` is used up are moved to the top instead."""
    for name in _names_in(folder):
        if not _is_folder(name, folder):
            os.unlink(name, dir_fd=folder)
            continue
        inner = _open_up(name, folder)
        try:
            if depth:
                _remove_contents(inner, top, depth - 1)
        finally:
            os.close(inner)
        if depth:
            os.rmdir(name, dir_fd=folder)
        else:
            os.rename(name, MOVED + secrets.token_hex(8), src_dir_fd=folder, dst_dir_fd=top)


def _is_folder(name: str, folder: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _open_up(name: str, folder: int) -> int:
    """A descriptor of a folder, made writable for us."""
    try:
        inner = os.open(name, tree.FOLDER_FLAGS, dir_fd=folder)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=folder)
        inner = os.open(name, tree.FOLDER_FLAGS, dir_fd=folder)
    os.fchmod(inner, 0o700)
    return inner


def _names_in(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def read_note(folder: Path) -> Reached:
    """The note in a sandbox's folder; the place gets its name when it is first asked.

    Raises:
        SandboxUnavailableError: the folder cannot be written.
    """
    lines = _note_lines(folder / NOTE)
    what = replies.reached({"reached": lines[1:]})
    return Reached(sandbox=_place(folder), head=lines[0][:64] if lines else "", what=what)


def _place(folder: Path) -> str:
    if known := _note_lines(folder / PLACE):
        return known[0][:32]
    name = secrets.token_hex(8)
    partial = folder / f"{PLACE}.{name}"
    try:
        partial.write_text(f"{name}\n", encoding="utf-8")
        partial.replace(folder / PLACE)
    except OSError as error:
        raise SandboxUnavailableError(
            f"The sandbox folder {folder} cannot be written ({error.strerror}). "
            "Free some space there, or choose another place with STEPWELL_HOME."
        ) from error
    return name


def _note_lines(path: Path) -> list[str]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    with os.fdopen(descriptor, "rb") as reading:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return []
        return reading.read(MAX_NOTE).decode("utf-8", "replace").splitlines()
