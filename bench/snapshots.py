"""Snapshots against other ways of keeping a session: time, bytes, restoring, and whether it comes back right."""

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table

from bench import ours, rival
from bench.aims import (
    OURS,
    Results,
    aims_table,
    judge,
    p95,
    processor,
    processor_inside,
    seconds,
    seconds_inside,
    stored,
    total,
)
from bench.measured import Measured
from bench.restoring import idle, large
from bench.workloads import Workload
from bench.workloads.objects import OBJECT_SESSIONS
from bench.workloads.tables import TABLES

WORKLOADS = [*TABLES, *OBJECT_SESSIONS]
KEEPING = ("time", "CPU", "bytes", "ms/cell", "worst ms", "p95 wait ms", "all s", "CPU s", "MB")
RESTORING = ("middle ms", "last ms", "from no process ms", "right")
COLUMNS = (*KEEPING, *RESTORING)
NOTES = """\
Ratios are against Stepwell in the same run. time, ms/cell, worst ms, all s: what keeping the cells took; for Stepwell
until the blobs are in the store, as the host sees it. CPU: what keeping them computed meanwhile; for Stepwell the host
and all processes of the session, for rivals the session and its children that have ended. LangGraph's checkpoint is not
in it. p95 wait ms: from the end of a cell until somebody can go on; for Stepwell until the model is asked, measured in
a second run through the graph, where steps are kept while the model is asked and the next cell waits for that; for
rivals the whole time. middle ms, last ms: restoring that step in a new process with
the packages imported (Kishu: and its shell set up; Stepwell: and its blobs in the sandbox's folder). from no process:
the last step with the process's start, the imports and, for Stepwell, moving blobs out of the store.
Stepwell and Kishu sync to disk; dill and cloudpickle write files as they do by themselves. The page cache is warm.
right: probes answered as in the live session, of all; lost: variables that are missing, and were named as lost by
the restore; wrong: variables that are not as they were, at the middle or the last step. Only Stepwell keeps the
files of the workspace too; that is in its times and bytes."""


async def measure(*, quick: bool) -> AsyncIterator[RenderableType]:
    """Measure all workloads, the methods taking turns, and print what came of it.

    Args:
        quick: Small data, one round, and of the rivals' steps only the last one restored.
    """
    python = ""
    try:
        python = await rival.prepare()
    except rival.NoRivalsError as error:
        yield f"The rivals cannot be measured: their environment cannot be made ({error})."
    rivals = rival.rivals(python) if python else []
    results: dict[str, dict[str, list[Measured]]] = {}
    for workload in WORKLOADS:
        rows = workload.quick_rows if quick else workload.rows
        taken: dict[str, list[Measured]] = {OURS: [], **{one.name: [] for one in rivals}}
        for turn in range(1 if quick else workload.rounds):
            order = [*taken][turn % len(taken) :] + [*taken][: turn % len(taken)]
            for name in order:
                began = time.perf_counter()
                one = next((one for one in rivals if one.name == name), None)
                with tempfile.TemporaryDirectory(prefix="stepwell-bench-") as folder:
                    if one is None:
                        taken[name].append(await ours.measure(workload, rows, Path(folder)))
                    else:
                        taken[name].append(await one.measure(workload, rows, Path(folder), middle=not quick))
                print(f"bench: {workload.name}, {name}: {time.perf_counter() - began:.1f} s", file=sys.stderr)
        results[workload.name] = taken
        yield table(workload, rows, taken)
    yield whole(results)
    with tempfile.TemporaryDirectory(prefix="stepwell-bench-") as folder:
        nothing = await idle(Path(folder) / "idle", 20_000_000 if quick else 100_000_000)
        shutil.rmtree(Path(folder) / "idle")
        much = await large(Path(folder) / "large", 100_000_000 if quick else 1_000_000_000)
    yield aims_table(judge(results, nothing, much))
    if python:
        yield "Measured against " + await rival.versions(
            python, ("kishu", "dill", "cloudpickle", "pandas", "numpy", "scikit-learn", "ipython")
        )
    yield NOTES


def table(workload: Workload, rows: int, taken: dict[str, list[Measured]]) -> Table:
    """What came of one workload.

    Args:
        workload: It.
        rows: Its size.
        taken: By method, one for each round.
    """
    runs = taken[OURS]
    ran = statistics.median(run.cells for run in runs)
    made = Table(title=f"{workload.name}: {workload.what}; {len(runs[0].keeps)} cells of {ran:.1f} s, rows = {rows:,}")
    made.add_column("")
    for name in COLUMNS:
        made.add_column(name, justify="left" if name == "right" else "right", overflow="fold")
    for name, measured in taken.items():
        made.add_row(name, *_row(measured, taken[OURS]))
    made.add_row(f"{OURS}, inside the kernel", *_inside(taken[OURS]))
    return made


def _row(runs: list[Measured], ours: list[Measured]) -> list[str]:
    spent, size, computed = _median(runs, seconds), _median(runs, stored), _median(runs, processor)
    last = [run.last for run in runs]
    return [
        f"{spent / _median(ours, seconds):.3g}x",
        f"{computed / _median(ours, processor):.3g}x",
        f"{size / _median(ours, stored):.3g}x",
        _milliseconds(_median(runs, lambda run: statistics.median(run.keeps))),
        _milliseconds(_median(runs, lambda run: max(run.keeps))),
        _milliseconds(p95(runs)),
        f"{spent:.2f}",
        f"{computed:.2f}",
        f"{size / 1e6:,.2f}",
        _restoring(runs[0].middle.failed, statistics.median(run.middle.seconds for run in runs))
        if runs[0].middle.seconds
        else "-",
        _restoring(runs[0].last.failed, statistics.median(one.seconds for one in last)),
        _restoring(runs[0].last.failed, statistics.median(one.cold for one in last)),
        right(runs[0]),
    ]


def _inside(runs: list[Measured]) -> list[str]:
    return [
        f"{_median(runs, seconds_inside) / _median(runs, seconds):.3g}x",
        f"{_median(runs, processor_inside) / _median(runs, processor):.3g}x",
        "",
        _milliseconds(_median(runs, lambda run: statistics.median(run.inside))),
        _milliseconds(_median(runs, lambda run: max(run.inside))),
        "",
        f"{_median(runs, seconds_inside):.2f}",
        f"{_median(runs, processor_inside):.2f}",
        *[""] * (1 + len(RESTORING)),
    ]


def right(run: Measured) -> str:
    """Whether a run's restores were right, in a few words."""
    if run.last.failed:
        refused = f"; {len(run.refused)} cells not kept" if run.refused else ""
        return f"0/{run.probes}, the restore fails{refused}"
    words = [f"{_good(run)}/{run.probes}"]
    words += [f"{count} lost" for count in (len(run.last.lost),) if count]
    wrong = sorted({*run.middle.wrong, *run.last.wrong})
    words += [f"{len(wrong)} variables wrong ({', '.join(wrong)})"] if wrong else []
    return ", ".join(words)


def _good(run: Measured) -> int:
    return 0 if run.last.failed else run.probes - len(run.last.differing) - len(run.last.missed)


def whole(results: Results) -> Table:
    """All workloads together, by method."""
    made = Table(title="All workloads together")
    for name in ("", "time", "CPU", "bytes", "s", "CPU s", "MB", "probes right", "restores that fail"):
        made.add_column(name, justify="left" if not name else "right")
    for name in next(iter(results.values())):
        spent, size = total(results, name, seconds), total(results, name, stored)
        computed = total(results, name, processor)
        runs = [methods[name][0] for methods in results.values()]
        good = sum(_good(run) for run in runs)
        made.add_row(
            name,
            f"{spent / total(results, OURS, seconds):.3g}x",
            f"{computed / total(results, OURS, processor):.3g}x",
            f"{size / total(results, OURS, stored):.3g}x",
            f"{spent:.1f}",
            f"{computed:.1f}",
            f"{size / 1e6:,.1f}",
            f"{good}/{sum(one.probes for one in runs)}",
            str(sum(bool(one.failed) for run in runs for one in (run.middle, run.last))),
        )
    return made


def _median(runs: list[Measured], what: Callable[[Measured], float]) -> float:
    return statistics.median(what(run) for run in runs)


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:,.3g}" if seconds < 1 else f"{1e3 * seconds:,.0f}"


def _restoring(failed: str, seconds: float) -> str:
    return "fails" if failed else _milliseconds(seconds)
