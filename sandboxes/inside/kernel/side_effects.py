"""Records the side effects of a cell outside of the sandbox: network, other programs, files elsewhere.

If the machine stops in the middle of a cell, the record is on disk: a cell that
had no side effects can be rolled back and run again; other cells may have had effects that no snapshot undoes.

What Python itself does is seen through its audit events (PEP 578). Compiled extension modules that open connections
by themselves are not seen: therefore the known database and message clients among them count as soon as they are
loaded, and so does an address (`s3://…`) in the cell's code. This is a note, not a barrier.
"""

import contextlib
import os
import re
import socket
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

MAX_NOTES = 20
MAX_LENGTH = 200
ADDRESS = re.compile(r"\b(?!file:)[A-Za-z][A-Za-z0-9+.-]{1,15}://(?=\w)")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
HARMLESS = frozenset({"uname", "lscpu", "fc-list", "ldconfig", "getconf", "nproc"})
"""Programs that libraries ask about the machine: they change nothing."""
COMPILED_CLIENTS = frozenset(
    {"MySQLdb", "confluent_kafka", "grpc", "ibm_db", "oracledb", "psycopg2", "psycopg_binary", "psycopg_c", "pycurl",
     "pymssql", "pyodbc", "snowflake.connector", "zmq"}
)  # fmt: skip
SYSTEM = ("/dev/", "/proc/self/")


class SideEffectMonitor:
    """Watches this process from now on, and keeps the note of the cell that runs.

    Args:
        note: The file of the note; empty: nothing is kept on disk.
        inside: Folders that belong to the sandbox; everything else is outside.
        sealed: Whether nothing outside can be reached: then only the cell's beginning is noted.
    """

    def __init__(self, note: str, inside: Iterable[str], *, sealed: bool = False) -> None:
        self._note = os.path.realpath(note) if note else ""
        self._inside = tuple(os.path.join(os.path.realpath(folder), "") for folder in inside if folder)
        self._seen: list[str] = []
        self._busy = threading.local()
        self._watched: dict[str, Callable[[tuple[Any, ...]], str]] = {
            "socket.connect": _peer,
            "socket.sendto": _peer,
            "socket.sendmsg": _peer,
            "subprocess.Popen": lambda arguments: _program(arguments[0], arguments[1]),
            "os.system": lambda arguments: f"program {_text(arguments[0])}",
            "os.exec": lambda arguments: _program(arguments[0], None),
            "os.posix_spawn": lambda arguments: _program(arguments[0], None),
            "os.kill": lambda arguments: _signalled(arguments[0]),
            "open": self._opened,
            "sqlite3.connect": lambda arguments: self._changed(arguments[0]),
            "os.rename": lambda arguments: self._changed(arguments[0]) or self._changed(arguments[1]),
            "os.link": lambda arguments: self._changed(arguments[1]),
            "os.symlink": lambda arguments: self._changed(arguments[1]),
            **dict.fromkeys(
                ("os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.chmod", "os.chown", "os.utime"),
                lambda arguments: self._changed(arguments[0]),
            ),
        }
        self._sealed = sealed
        if not sealed:
            sys.addaudithook(self._hear)

    def begin(self, cell: str, code: str) -> None:
        """Begin the note of a cell.

        Args:
            cell: What names this run of the cell to the host.
            code: Its code.
        """
        self._seen = []
        self._write(cell, anew=True)
        for client in sorted(COMPILED_CLIENTS & sys.modules.keys()):
            self.note(f"network ({client})")
        if address := ADDRESS.search(code):
            self.note(f"an address ({address.group()}…)")

    def end(self) -> list[str]:
        """What the cell has reached, and what processes that it forked have, which wrote to the same note."""
        for client in sorted(COMPILED_CLIENTS & sys.modules.keys()):
            self.note(f"network ({client})")
        return list(dict.fromkeys([*self._seen, *self._written()]))[:MAX_NOTES]

    def _written(self) -> list[str]:
        if self._sealed or not self._note:
            return []
        try:
            with open(self._note, encoding="utf-8", errors="replace") as reading:
                return reading.read(MAX_NOTES * (MAX_LENGTH + 1) * 4).splitlines()[1:]
        except OSError:
            return []

    def note(self, what: str) -> None:
        """Note something that the cell reaches, before it does."""
        what = " ".join(what.split())[:MAX_LENGTH]
        if self._sealed or what in self._seen or len(self._seen) >= MAX_NOTES:
            return
        self._seen.append(what)
        self._write(what)

    def _write(self, line: str, *, anew: bool = False) -> None:
        if not self._note:
            return
        self._busy.now = True
        try:
            flag = 0 if anew else os.O_APPEND
            descriptor = os.open(self._note, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | flag, 0o600)
            try:
                data = f"{line}\n".encode("utf-8", "backslashreplace")
                # Never to nothing: a file that is emptied and written anew is taken to disk when it is closed (ext4).
                if anew and os.fstat(descriptor).st_size > len(data):
                    os.ftruncate(descriptor, len(data))
                os.write(descriptor, data)
            finally:
                os.close(descriptor)
        except OSError:
            return  # a full disk: what the cell reached is told when it ends
        finally:
            self._busy.now = False

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        look = self._watched.get(event)
        if look is None or getattr(self._busy, "now", False):
            return
        self._busy.now = True
        try:
            what = look(arguments)
        except Exception:  # strange arguments are the call's own matter: it raises what it raises
            what = ""
        finally:
            self._busy.now = False
        if what:
            self.note(what)

    def _opened(self, arguments: tuple[Any, ...]) -> str:
        path, mode, flags = arguments
        writes = any(letter in mode for letter in "wax+") if isinstance(mode, str) else bool((flags or 0) & WRITES)
        return self._changed(path) if writes else ""

    def _changed(self, path: Any) -> str:
        """Names a file outside of the sandbox; empty for one inside."""
        if isinstance(path, int):
            return ""  # it was opened before, and seen then
        name = os.fsdecode(path)
        if not name or name == ":memory:" or "__pycache__" in name:
            return ""
        folder, last = os.path.split(os.path.abspath(name.removeprefix("file:")))
        whole = os.path.join(os.path.realpath(folder), last)
        if whole.startswith(self._inside) or whole.startswith(SYSTEM) or f"{whole}/" in self._inside:
            return ""
        return f"file {whole}"


def _peer(arguments: tuple[Any, ...]) -> str:
    """Names whom a socket talks to; a socket between processes of this machine may be anybody's."""
    peer, address = arguments[0], arguments[1]
    if peer.family in (socket.AF_INET, socket.AF_INET6):
        where = address[0] if isinstance(address, tuple) and address else ""
        return f"network {_text(where)}".strip()
    return "" if peer.family == getattr(socket, "AF_NETLINK", None) else f"socket {_text(address)}"


def _program(name: Any, arguments: Any) -> str:
    if not name and arguments:
        name = arguments if isinstance(arguments, str | bytes) else arguments[0]
    said = _text(name)
    return "" if os.path.basename(said) in HARMLESS else f"program {said}"


def _signalled(process: int) -> str:
    """A signal to another group of processes; those of the sandbox's own group are its own."""
    if process in (0, os.getpid()):
        return ""
    try:
        ours = os.getpgid(process) == os.getpgrp()
    except OSError:
        return ""
    return "" if ours else f"signal to process {process}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else os.fsdecode(value) if isinstance(value, bytes | os.PathLike) else ""


MAX_FILES = 10_000
MAX_PATH = 1_000
"""Characters."""
LEFT_OUT = frozenset({"__pycache__", ".ipynb_checkpoints"})
EXCLUDED_FOLDERS = frozenset({"inputs", ".packages"})
"""Folders of the workspace in which a cell makes no files of its own."""

Mark = tuple[int, int, int]
"""Size, time of change and inode of a file."""


class Scan:
    """The regular files of the workspace at one moment, without `inputs/` and what is mounted there."""

    def __init__(self, root: str) -> None:
        self.files: dict[str, Mark] = {}
        self.complete = True
        with contextlib.suppress(OSError):  # there is none
            self._device = os.stat(root).st_dev
            self._walk(root, "")

    def _walk(self, folder: str, prefix: str) -> None:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._look_at(entry, prefix)
                    if not self.complete:
                        return
        except OSError:  # a folder that is gone by now, or closed to us
            return

    def _look_at(self, entry: os.DirEntry[str], prefix: str) -> None:
        name = entry.name
        if name in LEFT_OUT or entry.is_symlink():
            return
        path = prefix + name
        if entry.is_dir(follow_symlinks=False):
            with contextlib.suppress(OSError):  # it is gone by now
                if path not in EXCLUDED_FOLDERS and entry.stat(follow_symlinks=False).st_dev == self._device:
                    self._walk(entry.path, path + "/")
            return
        if not entry.is_file(follow_symlinks=False) or len(path) > MAX_PATH or not _is_text(path):
            return
        if len(self.files) >= MAX_FILES:
            self.complete = False
            return
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            return
        self.files[path] = (status.st_size, status.st_mtime_ns, status.st_ino)


def changes(before: Scan, after: Scan) -> list[dict[str, Any]]:
    """What happened between two scans, sorted by path."""
    found: list[tuple[str, str, int]] = []
    for path, mark in after.files.items():
        old = before.files.get(path)
        if old is None and before.complete:
            found.append((path, "created", mark[0]))
        elif old is not None and old != mark:
            found.append((path, "changed", mark[0]))
    if after.complete:
        found += [(path, "deleted", 0) for path in before.files if path not in after.files]
    return [{"path": path, "change": change, "size": size} for path, change, size in sorted(found)]


def marks(root: str) -> dict[str, tuple[int, ...]] | None:
    """All that is in a folder, with what any change of it alters; None when that is too much to look at.

    Unlike a scan it has links, folders and permissions, and times that nobody can set back.
    """
    found: dict[str, tuple[int, ...]] = {}
    waiting = [root]
    excluded = {os.path.join(root, name) for name in EXCLUDED_FOLDERS}
    device: int | None = None
    while waiting:
        with contextlib.suppress(OSError), os.scandir(folder := waiting.pop()) as entries:
            device = os.stat(folder).st_dev if device is None else device
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                if entry.name in LEFT_OUT or entry.path in excluded or status.st_dev != device:
                    continue
                found[entry.path] = (status.st_mode, status.st_ino)
                if entry.is_dir(follow_symlinks=False):  # its times change with what Python caches in it
                    waiting.append(entry.path)
                else:
                    found[entry.path] += (status.st_size, status.st_mtime_ns, status.st_ctime_ns)
                if len(found) > MAX_FILES:
                    return None
    return found


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return path.isprintable()
