"""The commands that only read: the list of threads, one thread, its steps."""

import asyncio
import sys
from datetime import UTC, datetime

from graph.settings import read_settings
from stepwell.exits import FINISHED
from stepwell.rendering import (
    code_lines,
    detail_json,
    detail_text,
    json_out,
    line_out,
    print_detail,
    print_log,
    step_line,
    summary_json,
    thread_line,
    threads_table,
)
from stepwell.terminal import Terminal
from stepwell.threads import ThreadDetail, find_thread, list_threads, read_thread


def list_them(limit: int, *, as_json: bool) -> int:
    """`stepwell threads`."""
    summaries = asyncio.run(list_threads(limit=limit, settings=read_settings()))
    if as_json:
        for summary in summaries:
            json_out(summary_json(summary))
    elif not summaries:
        sys.stderr.write("There are no threads yet; start one with: stepwell run QUESTION FILE\n")
    elif sys.stdout.isatty():
        Terminal().print(threads_table(summaries, datetime.now(UTC)))
    else:
        for summary in summaries:
            line_out(*thread_line(summary))
    return FINISHED


def show_one(name: str, *, as_json: bool) -> int:
    """`stepwell show`."""
    detail = asyncio.run(_detail(name))
    if as_json:
        json_out(detail_json(detail))
    elif sys.stdout.isatty():
        print_detail(Terminal(), detail)
    else:
        line_out(detail_text(detail))
    return FINISHED


def show_log(name: str, *, code: bool, as_json: bool) -> int:
    """`stepwell log`."""
    detail = asyncio.run(_detail(name))
    cells = detail.state.get("cells") or []
    if as_json:
        for cell in cells:
            json_out({"thread": detail.id, **cell})
    elif not cells:
        sys.stderr.write(f"Thread {detail.id} has no steps yet.\n")
    elif sys.stdout.isatty():
        print_log(Terminal(), detail.state, code=code)
    else:
        for cell in cells:
            line_out(*step_line(cell))
            for line in code_lines(cell) if code else ():
                line_out(line)
    return FINISHED


async def _detail(name: str) -> ThreadDetail:
    settings = read_settings()
    return await read_thread(await find_thread(name, settings), settings)
