"""A hard limit of memory, where a control group of ours can be had: as root, or where the operator delegated one.

Version 2 (a group may have groups or processes, so ours stand beside that of this process or below it) and version 1 of
Linux's control groups. All functions block; call them in a thread.
"""

import contextlib
import functools
import os
import secrets
import time
from pathlib import Path

SLACK = 32 << 20
"""Bytes above the limit of the sandbox, so that what measures it can report an excess before the system kills."""
STALE_SECONDS = 60.0
"""How old an empty group is before it counts as left behind; its process may not be visible from here."""
ROOT = Path("/sys/fs/cgroup")
PROCESSES = "cgroup.procs"


class ControlGroup:
    """The group of one sandbox.

    Args:
        folder: Where it is; made here.
        limit: Bytes of memory, of all that is in it.

    Raises:
        OSError: it cannot be made, or does not take the limit.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder = folder
        self._killed = 0
        """How many processes in it the system had ended at the last `note`."""
        self._last = 0
        """How many it had ended at the last reading."""
        folder.mkdir()
        try:
            new = (folder / "memory.max").exists()
            _write(folder / ("memory.max" if new else "memory.limit_in_bytes"), str(limit + SLACK))
            swap = folder / ("memory.swap.max" if new else "memory.memsw.limit_in_bytes")
            if swap.exists():
                _write(swap, "0" if new else str(limit + SLACK))
            self._events = folder / ("memory.events" if new else "memory.oom_control")
        except BaseException:
            folder.rmdir()
            raise

    def overrun(self) -> bool:
        """Whether the system ended a process in it for its memory since the last `note`."""
        return self._read() > self._killed

    def note(self) -> None:
        """Count from now."""
        self._killed = self._read()

    def _read(self) -> int:
        with contextlib.suppress(OSError):  # it is removed: what was read last was the last
            for line in self._events.read_text(encoding="ascii").splitlines():
                name, _, value = line.partition(" ")
                if name == "oom_kill":
                    self._last = int(value)
        return self._last

    def remove(self) -> None:
        """Remove it, once all that was in it has ended."""
        self._read()
        for _ in range(50):
            try:
                self._folder.rmdir()
            except FileNotFoundError:
                return
            except OSError:  # the last of it is just going
                time.sleep(0.02)
            else:
                return

    def take_join_fd(self) -> int:
        """A descriptor, which the caller closes: a process that writes `0` into it enters the group.

        Raises:
            OSError: it cannot be opened.
        """
        return os.open(self._folder / PROCESSES, os.O_WRONLY | os.O_CLOEXEC)


def new_group(limit: int) -> ControlGroup | None:
    """A group with that limit; None where there can be none."""
    place = _place()
    return ControlGroup(place / f"stepwell-{os.getpid()}-{secrets.token_hex(6)}", limit) if place is not None else None


def own_group(process: int) -> Path | None:
    """The file by which that process would enter the group that it is in already; None if that cannot be found out."""
    place = _place()
    try:
        inside = place is not None and str(process) in (place / PROCESSES).read_text(encoding="ascii").split()
    except OSError:
        return None
    return place / PROCESSES if place is not None and inside else None


def wait_early(group: Path, process: int) -> None:
    """Have the system wait now for what it waits for whenever a process enters a group.

    It waits until every processor has passed a quiet state, which takes milliseconds; who enters a group right after
    need not wait once more. So a process is told to enter the group that it is in, which changes nothing.
    """
    with contextlib.suppress(OSError):  # then the one that enters waits for itself
        _write(group, str(process))


def available() -> bool:
    """Whether control groups work here."""
    return _place() is not None


@functools.cache
def _place() -> Path | None:
    """Where groups can be made that take a limit; found out by making one."""
    for folder in _candidates():
        try:
            group = ControlGroup(folder / f"stepwell-{os.getpid()}-{secrets.token_hex(6)}", 1 << 30)
        except (OSError, ValueError):
            continue
        group.remove()
        _sweep(folder)
        return folder
    return None


def _sweep(place: Path) -> None:
    """Remove groups of processes that were killed before they could; one that is in use cannot be removed."""
    for folder in place.glob("stepwell-*-*"):
        pid = folder.name.split("-")[1]
        with contextlib.suppress(OSError):
            if not Path("/proc", pid).exists() and time.time() - folder.stat().st_mtime > STALE_SECONDS:
                folder.rmdir()


def _candidates() -> list[Path]:
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    found: list[Path] = []
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            found += _existing(ROOT / "memory", path)
        elif number == "0":
            for mount in (ROOT, ROOT / "unified"):
                own = _existing(mount, path)
                found += [*own, *(folder.parent for folder in own if folder != mount)]
    return found


def _existing(mount: Path, path: str) -> list[Path]:
    """The group of that path, or what a container shows in its place: the mount itself."""
    own = mount / path.lstrip("/")
    return [folder for folder in (own, mount) if (folder / PROCESSES).exists()][:1]


def _write(file: Path, text: str) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
