"""`stepwell threads`: a table on a terminal, tab-separated lines in a pipe, JSON.

It comes without LangGraph unless a thread has changed since a run of it ended.
"""

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from graph.settings import Settings, read_settings
from stepwell.cli.exits import FINISHED
from stepwell.cli.terminal_text import ago_text, one_line
from stepwell.thread_summaries import ThreadSummary, listed_without_states

if TYPE_CHECKING:
    from rich.table import Table

STATUS_STYLES = {"finished": "green", "waiting": "yellow", "paused": "yellow", "failed": "red", "damaged": "red"}


def line_out(*parts: str) -> None:
    """One line on stdout, its parts separated by tabs."""
    sys.stdout.write("\t".join(parts) + "\n")


def json_out(data: Any) -> None:
    """One line of JSON on stdout."""
    line_out(json.dumps(data))


def summary_json(summary: ThreadSummary) -> dict[str, Any]:
    """A thread of the list as JSON shapes."""
    return {
        "thread": summary.id,
        "question": summary.question,
        "status": summary.status,
        "turns": summary.turns,
        "cells": summary.cells,
        "updated": summary.updated.isoformat(),
    }


def threads_table(summaries: Sequence[ThreadSummary], now: datetime) -> "Table":
    """The list of threads for a terminal."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("thread", "status", "cells", "updated"):
        table.add_column(name, no_wrap=True, justify="right" if name == "cells" else "left")
    table.add_column("question", no_wrap=True, overflow="ellipsis", ratio=1)
    for summary in summaries:
        table.add_row(
            Text(summary.id[:8], "cyan"),
            Text(summary.status, STATUS_STYLES[summary.status]),
            Text(str(summary.cells)),
            Text(ago_text((now - summary.updated).total_seconds())),
            Text(one_line(summary.question, 300)),
        )
    return table


def thread_line(summary: ThreadSummary) -> tuple[str, ...]:
    """A thread of the list for a pipe: id, status, cells, time, question."""
    when = summary.updated.astimezone(UTC).isoformat(timespec="seconds")
    return summary.id, summary.status, str(summary.cells), when, one_line(summary.question, 300)


def print_threads(limit: int, *, as_json: bool) -> int:
    """`stepwell threads`."""
    summaries = _newest(limit, read_settings())
    if as_json:
        for summary in summaries:
            json_out(summary_json(summary))
    elif not summaries:
        sys.stderr.write("There are no threads yet; start one with: stepwell run QUESTION FILE\n")
    elif sys.stdout.isatty():
        from stepwell.cli.live_view import Terminal

        Terminal().print(threads_table(summaries, datetime.now(UTC)))
    else:
        for summary in summaries:
            line_out(*thread_line(summary))
    return FINISHED


def _newest(limit: int, settings: Settings) -> list[ThreadSummary]:
    kept = listed_without_states(settings, limit=limit)
    if kept is not None:
        return kept
    import asyncio

    from stepwell.threads import list_threads

    return asyncio.run(list_threads(limit=limit, settings=settings))
