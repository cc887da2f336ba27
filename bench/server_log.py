"""Where the time of runs went, read from a server's log: it has a line with the time when a node or a run ends."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass
class Spent:
    """Seconds of many runs."""

    starts: list[float] = field(default_factory=list)
    """From the beginning of a run to its first cell: inputs, sandbox, plan."""
    cells: list[float] = field(default_factory=list)
    """From the end of one `execute` to the end of the next, without what the cell itself ran."""
    ends: list[float] = field(default_factory=list)
    """From the last cell to the end of the run: the check, and publishing."""


def spent(lines: Iterable[Mapping[str, Any]]) -> Spent:
    """Read the lines of a log, which are in the order of time."""
    found = Spent()
    cells: dict[str, list[tuple[float, float]]] = {}
    began: dict[str, float] = {}
    for line in lines:
        if line.get("logger") != "stepwell" or line.get("outcome") != "ended":
            continue
        run, at, seconds = str(line["run_id"]), _time(line), float(line["seconds"])
        if line["node"] == "plan":
            began[run] = at - seconds
        elif line["node"] == "execute":
            own = float(line["cell_seconds"])
            before = cells.setdefault(run, [])
            if before:
                found.cells.append(at - before[-1][0] - own)
            elif run in began:
                found.starts.append(at - seconds - began[run])
            before.append((at, own))
        elif line["node"] == "run" and run in cells:
            found.ends.append(at - cells[run][-1][0])
    return found


def _time(line: Mapping[str, Any]) -> float:
    return datetime.fromisoformat(str(line["timestamp"])).timestamp()
