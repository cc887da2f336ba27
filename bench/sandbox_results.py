"""What the sandbox benchmark found: one line for each way to run cells, and the aims."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from bench.aims import Aim

Answers = Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]
"""By way, then by what was measured: one for each round."""

COLUMNS = (
    "first result ms",
    "first of pandas ms",
    "cell p50 ms",
    "p99 ms",
    "output s",
    "host grows MB",
    "prints s",
    "MB each",
    "of that unshared",
    "recovery ms",
)
POOL, UNPOOLED, RIVAL = "Stepwell", "without its pool", "ipykernel in bubblewrap"
PANDAS_MS, POOL_MS, TIMES, CELL_MS, EACH_MB, FORK_MS = 25.0, 6.0, 40.0, 0.5, 10.0, 20.0


def table(answers: Answers, title: str) -> Table:
    """One line for each way."""
    made = Table(title=title)
    made.add_column("")
    for name in COLUMNS:
        made.add_column(name, justify="right", overflow="fold")
    for way, measured in answers.items():
        made.add_row(way, *_row(measured))
    return made


def _row(measured: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    cells = round_trips(measured)
    return [
        _spread(measured.get("first", ())),
        _spread(measured.get("pandas", ())),
        _number(1e3 * statistics.median(cells)) if cells else "",
        _number(1e3 * percentile(cells, 99)) if cells else "",
        _middle(measured.get("output", ()), "seconds"),
        _middle(measured.get("output", ()), "bytes", 1e-6),
        _middle(measured.get("prints", ()), "seconds"),
        _middle(measured.get("memory", ()), "each", 1e-6),
        _middle(measured.get("memory", ()), "unshared", 1e-6),
        _recovery(measured.get("recover", ())),
    ]


def _spread(rounds: Sequence[Mapping[str, Any]]) -> str:
    found = seconds(rounds)
    return f"{_number(1e3 * statistics.median(found))} ({_number(1e3 * min(found))})" if found else _why(rounds)


def _middle(rounds: Sequence[Mapping[str, Any]], what: str, unit: float = 1.0) -> str:
    found = [one[what] for one in rounds if what in one]
    return _number(unit * statistics.median(found)) if found else _why(rounds)


def _recovery(rounds: Sequence[Mapping[str, Any]]) -> str:
    found = seconds(rounds)
    if not found:
        return _why(rounds)
    how = ", ".join(sorted({one["how"] for one in rounds if one.get("how")}))
    lost = "" if all(one.get("kept") for one in rounds if "kept" in one) else ", variables lost"
    return f"{_number(1e3 * statistics.median(found))} ({how}{lost})"


def _why(rounds: Sequence[Mapping[str, Any]]) -> str:
    if any(one.get("late") for one in rounds):
        return "not in time"
    return "fails" if rounds else ""


def seconds(rounds: Sequence[Mapping[str, Any]]) -> list[float]:
    """What was timed in each round; the first round warms up where there are others."""
    found = [float(one["seconds"]) for one in rounds if "seconds" in one]
    return found[1:] or found


def round_trips(measured: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[float]:
    """Seconds of all cells of all rounds."""
    return [one for answer in measured.get("cells", ()) for one in answer.get("seconds", ())]


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that so many percent of all are not above."""
    return sorted(values)[max(math.ceil(len(values) * percent / 100) - 1, 0)]


def _number(value: float) -> str:
    return f"{value:,.3g}" if value < 1_000 else f"{value:,.0f}"


def judge(answers: Answers) -> list[Aim]:
    """Compare a run with the aims; one that was not measured is not reached."""
    ours, unpooled, rival = (answers.get(name, {}) for name in (POOL, UNPOOLED, RIVAL))
    return [
        _at_most(f"a new session that has pandas: at most {PANDAS_MS:g} ms", unpooled.get("pandas", ()), PANDAS_MS),
        _at_most(f"the same from the pool: at most {POOL_MS:g} ms", ours.get("pandas", ()), POOL_MS),
        _ratio(ours.get("pandas", ()), rival.get("pandas", ())),
        _cell(round_trips(ours)),
        _memory(ours.get("memory", ())),
        _fork(ours.get("recover", ())),
    ]


def _at_most(aim: str, rounds: Sequence[Mapping[str, Any]], limit: float) -> Aim:
    found = seconds(rounds)
    if not found:
        return Aim(aim, "not measured", met=False)
    middle = 1e3 * statistics.median(found)
    return Aim(aim, f"{_number(middle)} ms, at best {_number(1e3 * min(found))}", middle <= limit)


def _ratio(ours: Sequence[Mapping[str, Any]], rival: Sequence[Mapping[str, Any]]) -> Aim:
    aim = f"that is at least {TIMES:g} times as fast as ipykernel in bubblewrap"
    if not seconds(ours) or not seconds(rival):
        return Aim(aim, "not measured", met=False)
    times = statistics.median(seconds(rival)) / statistics.median(seconds(ours))
    return Aim(aim, f"{_number(times)} times", times >= TIMES)


def _cell(found: list[float]) -> Aim:
    aim = f"a small cell: at most {CELL_MS:g} ms from the host and back, half of the time"
    if not found:
        return Aim(aim, "not measured", met=False)
    middle = 1e3 * statistics.median(found)
    return Aim(aim, f"{_number(middle)} ms; 99 of 100: {_number(1e3 * percentile(found, 99))} ms", middle <= CELL_MS)


def _memory(rounds: Sequence[Mapping[str, Any]]) -> Aim:
    aim = f"a session after a pandas group-by: at most {EACH_MB:g} MB"
    found = [one["each"] / 1e6 for one in rounds if "each" in one]
    if not found:
        return Aim(aim, "not measured", met=False)
    return Aim(aim, f"{_number(statistics.median(found))} MB", statistics.median(found) <= EACH_MB)


def _fork(rounds: Sequence[Mapping[str, Any]]) -> Aim:
    aim = f"after a kill, the variables are there again from the frozen fork within {FORK_MS:g} ms"
    found = [one for one in rounds if one.get("kept") and one.get("how") == "fork"]
    return _at_most(aim, found, FORK_MS)
