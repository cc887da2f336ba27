"""`stepwell threads`: a table on a terminal, tab-separated lines in a pipe, JSON.

It comes without LangGraph unless a thread has changed since a run of it ended.
"""

import json
import sys
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from graph.settings import Settings, read_settings
from stepwell.cli.exits import FINISHED
from stepwell.cli.terminal_text import ago_text, one_line, size_text
from stepwell.thread_summaries import ThreadFilter, ThreadSummary, listed_without_states

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from stepwell.thread_sizes import ThreadSize

SIZES = ("workspace", "snapshots", "shared")
"""What `--size` adds: files on this machine, snapshots that only this thread needs, and those of others, too."""
RUNNING = "running"
STATUS_STYLES = {"finished": "green", "waiting": "yellow", "paused": "yellow", "failed": "red", "damaged": "red"}


def line_out(*parts: str) -> None:
    """One line on stdout, its parts separated by tabs."""
    sys.stdout.write("\t".join(parts) + "\n")


def json_out(data: Any) -> None:
    """One line of JSON on stdout."""
    line_out(json.dumps(data))


def is_running(thread: str, settings: Settings) -> bool:
    """Whether a program of this machine works on a thread now; its last checkpoint calls that paused."""
    from graph.checkpoints.thread_lock import is_thread_held

    return is_thread_held(thread, settings.home)


def summary_json(summary: ThreadSummary, size: "ThreadSize | None" = None, *, running: bool = False) -> dict[str, Any]:
    """A thread of the list as JSON shapes."""
    return {
        "thread": summary.id,
        "question": summary.question,
        "status": summary.status,
        **({"running": True} if running else {}),
        "turns": summary.turns,
        "cells": summary.cells,
        "updated": summary.updated.isoformat(),
        "name": summary.name,
        "tags": list(summary.tags),
        **({"fork_of": summary.fork_of} if summary.fork_of else {}),
        **(
            {}
            if size is None
            else {"bytes": size.workspace, "snapshot_bytes": size.alone, "shared_snapshot_bytes": size.shared}
        ),
    }


def threads_table(
    summaries: Sequence[ThreadSummary],
    now: datetime,
    sizes: Mapping[str, "ThreadSize"] = MappingProxyType({}),
    running: Collection[str] = (),
) -> "Table":
    """The list of threads for a terminal."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("thread", "status", "cells", "updated", *(SIZES if sizes else ())):
        table.add_column(name, no_wrap=True, justify="right" if name in ("cells", *SIZES) else "left")
    called = any(summary.name or summary.tags for summary in summaries)
    if called:
        table.add_column("name, tags", max_width=32, no_wrap=True, overflow="ellipsis")
    table.add_column("question", no_wrap=True, overflow="ellipsis", ratio=1)
    for summary in summaries:
        table.add_row(
            Text(summary.id[:8], "cyan"),
            Text(RUNNING, "cyan") if summary.id in running else Text(summary.status, STATUS_STYLES[summary.status]),
            Text(str(summary.cells)),
            Text(ago_text((now - summary.updated).total_seconds())),
            *(Text(size_text(size)) for size in (_columns(sizes[summary.id]) if sizes else ())),
            *([_called(summary)] if called else []),
            Text(one_line(summary.title, 300)),
        )
    return table


def _columns(size: "ThreadSize") -> tuple[int, int, int]:
    return size.workspace, size.alone, size.shared


def _called(summary: ThreadSummary) -> "Text":
    from rich.text import Text

    parts = [(one_line(summary.name, 100), "bold")] if summary.name else []
    parts += [(f"#{one_line(tag)}", "magenta") for tag in summary.tags]
    return Text(" ").join(Text(text, style) for text, style in parts)


def thread_line(summary: ThreadSummary, size: "ThreadSize | None" = None, *, running: bool = False) -> tuple[str, ...]:
    """A thread of the list for a pipe: id, status, cells, time, question, name, tags, and bytes if they are known.

    Those are three: of the workspace, of snapshots that it holds alone, of snapshots that it shares.
    """
    when = summary.updated.astimezone(UTC).isoformat(timespec="seconds")
    said = (one_line(summary.title, 300), one_line(summary.name), ",".join(map(one_line, summary.tags)))
    status = RUNNING if running else summary.status
    return summary.id, status, str(summary.cells), when, *said, *(map(str, _columns(size)) if size else ())


def print_threads(limit: int, *, as_json: bool, search: str = "", tags: Sequence[str] = (), sizes: bool = False) -> int:
    """`stepwell threads`."""
    settings, wanted = read_settings(), ThreadFilter(search, tuple(tags))
    summaries = _newest(limit + 1, wanted, settings)
    more, summaries = len(summaries) > limit, summaries[:limit]
    taken = _sizes(summaries, settings) if sizes else {}
    running = {summary.id for summary in summaries if is_running(summary.id, settings)}
    if as_json:
        for summary in summaries:
            json_out(summary_json(summary, taken.get(summary.id), running=summary.id in running))
    elif not summaries and wanted:
        sys.stderr.write("No thread matches; without --search and --tag `stepwell threads` lists all.\n")
    elif not summaries:
        sys.stderr.write("There are no threads yet; start one with: stepwell run QUESTION FILE\n")
    elif sys.stdout.isatty():
        from stepwell.cli.live_view import Terminal

        Terminal().print(threads_table(summaries, datetime.now(UTC), taken, running))
    else:
        for summary in summaries:
            line_out(*thread_line(summary, taken.get(summary.id), running=summary.id in running))
    if more and not as_json:
        sys.stderr.write(f"These are the newest {limit:,}; --limit NUMBER lists more.\n")
    return FINISHED


def _sizes(summaries: Sequence[ThreadSummary], settings: Settings) -> "dict[str, ThreadSize]":
    import asyncio

    from stepwell.thread_sizes import thread_sizes

    return asyncio.run(thread_sizes([summary.id for summary in summaries], settings))


def _newest(limit: int, wanted: ThreadFilter, settings: Settings) -> list[ThreadSummary]:
    kept = listed_without_states(settings, limit=limit, wanted=wanted)
    if kept is not None:
        return kept
    import asyncio

    from stepwell.threads import list_threads

    return asyncio.run(list_threads(limit=limit, wanted=wanted, settings=settings))
