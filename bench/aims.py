"""What snapshots aim at, and what a run reached; aims of whatever kind as a table."""

import math
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rich.table import Table

from bench.measured import Measured
from bench.restoring import Idle, Large

Results = Mapping[str, Mapping[str, list[Measured]]]
"""By workload, then by method: one for each round."""

OURS = "Stepwell"
LESS_CPU, LESS_CPU_EACH, FEWER_BYTES, WAIT_SECONDS, IDLE_SECONDS, READS = 20.0, 5.0, 15.0, 0.002, 0.005, 3.0


@dataclass(frozen=True, slots=True)
class Aim:
    """One aim."""

    aim: str
    reached: str
    met: bool


def judge(results: Results, idle: Idle, large: Large) -> list[Aim]:
    """Compare a run with the aims; those that need a rival are left out when it did not run."""
    aims: list[Aim] = []
    if all("kishu" in methods for methods in results.values()):
        cpu = total(results, "kishu", processor) / total(results, OURS, processor)
        inside = total(results, "kishu", processor) / total(results, OURS, processor_inside)
        time = total(results, "kishu", seconds) / total(results, OURS, seconds)
        each = {
            name: total({name: methods}, "kishu", processor) / total({name: methods}, OURS, processor)
            for name, methods in results.items()
        }
        size = total(results, "kishu", stored) / total(results, OURS, stored)
        aims += [
            Aim(
                f"at least {LESS_CPU:g}x less CPU than kishu, all workloads together",
                f"{cpu:.1f}x, host and kernel; {inside:.1f}x the kernel alone; elapsed until stored {time:.1f}x",
                cpu >= LESS_CPU,
            ),
            Aim(
                f"at least {LESS_CPU_EACH:g}x less CPU than kishu in each workload",
                ", ".join(f"{name} {one:.2g}x" for name, one in each.items()),
                min(each.values()) >= LESS_CPU_EACH,
            ),
            Aim(
                f"at least {FEWER_BYTES:g}x fewer bytes than kishu, all workloads together (the store packs them)",
                f"{size:.1f}x",
                size >= FEWER_BYTES,
            ),
        ]
    wrong = [
        f"{name}: {', '.join([*one.wrong, *one.differing])}"
        for name, methods in results.items()
        for run in methods[OURS]
        for one in (run.middle, run.last)
        if not one.right
    ]
    restores = sum(2 * len(methods[OURS]) for methods in results.values())
    if all(run.waits for methods in results.values() for run in methods[OURS]):
        late = {name: p95(methods[OURS]) for name, methods in results.items()}
        aims.append(
            Aim(
                f"from the end of a cell to the model's call at most {1e3 * WAIT_SECONDS:g} ms (p95), each workload",
                ", ".join(f"{name} {1e3 * one:.1f} ms" for name, one in late.items()),
                max(late.values()) <= WAIT_SECONDS,
            )
        )
    aims += [
        Aim("no wrong restore", "; ".join(wrong) or f"none of {restores}", not wrong),
        Aim(
            f"a cell that changes nothing costs at most {1e3 * IDLE_SECONDS:g} ms, "
            f"a frame of {idle.frame_bytes / 1e6:.0f} MB alive",
            f"{1e3 * idle.host:.1f} ms as the host sees it, {1e3 * idle.inside:.1f} ms inside the kernel",
            idle.host <= IDLE_SECONDS,
        ),
        Aim(
            f"restoring {large.frame_bytes / 1e9:g} GB takes at most {READS:g}x as long as reading it from disk",
            f"{large.restore_disk / large.read_disk:.1f}x from disk ({large.restore_disk:.2f} s, reading "
            f"{large.read_disk:.2f} s); the kernel's part alone, from the page cache: "
            f"{large.kernel / large.read_memory:.1f}x ({large.kernel:.2f} s, reading {large.read_memory:.2f} s)",
            large.restore_disk <= READS * large.read_disk,
        ),
    ]
    return aims


def aims_table(aims: list[Aim], title: str = "Snapshots: aims") -> Table:
    """The aims as a table."""
    table = Table(title=title)
    for name in ("aim", "reached", "met"):
        table.add_column(name, overflow="fold")
    for aim in aims:
        table.add_row(aim.aim, aim.reached, "yes" if aim.met else "NO")
    return table


def seconds(run: Measured) -> float:
    """What keeping all cells took."""
    return sum(run.keeps)


def seconds_inside(run: Measured) -> float:
    """The same as the session counts it."""
    return sum(run.inside)


def processor(run: Measured) -> float:
    """Seconds of a processor that keeping all cells took, whichever process."""
    return sum(run.cpu)


def processor_inside(run: Measured) -> float:
    """Of them, those of the session's processes."""
    return sum(run.cpu_inside)


def p95(runs: list[Measured]) -> float:
    """The seconds after which 95 of 100 cells of all rounds let somebody go on."""
    waits = sorted(wait for run in runs for wait in run.waits)
    return waits[math.ceil(0.95 * len(waits)) - 1] if waits else 0.0


def stored(run: Measured) -> float:
    """Bytes of all cells."""
    return float(sum(run.sizes))


def total(results: Results, method: str, what: Callable[[Measured], float]) -> float:
    """The sum over the workloads of the median over the rounds."""
    return sum(statistics.median(what(run) for run in methods[method]) for methods in results.values())
