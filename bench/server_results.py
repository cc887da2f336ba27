"""What came of load on servers: a table, and the aims."""

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from bench.aims import Aim
from bench.sandbox_results import percentile

if TYPE_CHECKING:
    from bench.server import Loaded

LARGE = 100
ROWS = "lost", "mixed up", "failed"


def table(results: "Sequence[Loaded]", title: str) -> Table:
    """One column for each server."""
    made = Table(title=title)
    made.add_column("")
    for one in results:
        made.add_column(one.name, justify="right")
    columns = [_column(one) for one in results]
    for name in columns[0]:
        made.add_row(name, *(column[name] for column in columns))
    return made


def _column(one: "Loaded") -> dict[str, str]:
    first, peak, last = one.watched.first, one.watched.peak, one.watched.last
    empty = one.emptied or last
    done = sum(not seen.verdict for seen in one.analyses)
    cells = sum(len(seen.state.get("cells") or []) for seen in one.analyses)
    return {
        "analyses": str(one.asked),
        "lost / mixed up / failed": " / ".join(str(one.wrong[name]) for name in ROWS),
        "analyses a minute": f"{60 * done / one.seconds:.0f}",
        "a whole analysis, s: p50, p95": _two([seen.seconds for seen in one.analyses], 1),
        "to the first cell, ms: p50, p95": _two(one.spent.starts, 1e3),
        "own, per cell, ms: p50, p95": _two(one.spent.cells, 1e3),
        "alone: to the first cell; own, per cell, ms: p50": "; ".join(
            _two(found, 1e3).split(" / ")[0] for found in (one.alone.starts, one.alone.cells)
        ),
        "from the last cell to the end, ms: p50, p95": _two(one.spent.ends, 1e3),
        "CPU of the server per cell, ms": f"{1e3 * one.computed / max(cells, 1):.0f}",
        "/ok, ms: p50, p95": _two(one.answers, 1e3),
        "memory at the start: server, below it, MB": f"{first.server / 1e6:,.0f}, {first.below / 1e6:,.0f}",
        "memory at its peak: server, below it, MB": f"{peak.server / 1e6:,.0f}, {peak.below / 1e6:,.0f}",
        "of that for each live sandbox, MB": f"{one.watched.each / 1e6:.1f} ({peak.live} live)",
        "memory at the end: server, below it, MB": f"{last.server / 1e6:,.0f}, {last.below / 1e6:,.0f}",
        "each further analysis leaves in the server, kB": f"{one.watched.growth / 1e3:.0f}",
        "processes, descriptors at the end": f"{last.processes}, {last.descriptors}",
        "all threads deleted: server, below it, MB": f"{empty.server / 1e6:,.0f}, {empty.below / 1e6:,.0f}",
        "processes, descriptors, files of threads then": f"{empty.processes}, {empty.descriptors}, {one.left}",
    }


def judge(results: "Sequence[Loaded]") -> list[Aim]:
    """Compare what came of it with the aims."""
    aims = []
    for one in results:
        empty, first = one.emptied or one.watched.last, one.watched.first
        gone = one.left == 0 and empty.processes <= first.processes
        wrong = ", ".join(f"{number} {name}" for name, number in one.wrong.items())
        aims.append(
            Aim(f"{one.name}: none lost, none mixed up", f"{wrong}, of {one.asked}", not any(one.wrong.values()))
        )
        aims.append(
            Aim(
                f"{one.name}: when all threads are deleted, none of their sandboxes and files is left",
                f"{max(empty.processes - first.processes, 0)} processes, {one.left} files",
                gone,
            )
        )
    if all(one.spent.starts for one in results) and len(results) > 1:
        warm, cold = (statistics.median(one.spent.starts) for one in results[:2])
        aims.append(
            Aim("the first cell comes sooner than with sandboxes that start cold", f"{cold / warm:.1f}x", warm < cold)
        )
    return aims


def _two(found: Sequence[float], unit: float) -> str:
    if not found:
        return "–"
    values = (unit * statistics.median(found), unit * percentile(found, 95))
    return " / ".join(f"{value:,.0f}" if value >= LARGE else f"{value:.3g}" for value in values)
