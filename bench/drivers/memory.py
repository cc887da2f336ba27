"""What processes hold of the memory, read from /proc."""

import os
from pathlib import Path

PROC = Path("/proc")


def descendants(of: int) -> set[int]:
    """All processes below one."""
    children: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # gone by now
            children.setdefault(parent, []).append(int(entry.name))
    found: set[int] = set()
    ahead = [of]
    while ahead:
        for child in children.get(ahead.pop(), ()):
            found.add(child)
            ahead.append(child)
    return found


def proportional(pids: set[int]) -> int:
    """Bytes of memory that these processes take up together; what is shared with others counts in proportion."""
    return sum(_rollup(pid).get("Pss", 0) for pid in pids)


def unshared(pids: set[int]) -> int:
    """Bytes that belong to one of these processes alone."""
    return sum(rollup.get("Private_Clean", 0) + rollup.get("Private_Dirty", 0) for rollup in map(_rollup, pids))


def _rollup(pid: int) -> dict[str, int]:
    try:
        lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return {}  # gone by now
    found = {}
    for line in lines:
        name, _, size = line.partition(":")
        found[name] = 1024 * int(size.split()[0])
    return found


class HostPeak:
    """How much this process's memory grew at its highest, from now on."""

    def __init__(self) -> None:
        (PROC / "self" / "clear_refs").write_text("5")  # sets the highest to what there is now
        self._before = _status("VmRSS")

    @property
    def bytes(self) -> int:
        """The growth until now."""
        return max(_status("VmHWM") - self._before, 0)


def _status(name: str) -> int:
    for line in (PROC / str(os.getpid()) / "status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return 1024 * int(line.split()[1])
    return 0
