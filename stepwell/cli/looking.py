"""The commands that only read: the list of threads, one thread, its steps."""

import asyncio
import sys
from datetime import UTC, datetime

from graph.settings import read_settings
from stepwell.cli import step_lines
from stepwell.cli.exits import FINISHED, complain
from stepwell.cli.rendering import (
    detail_json,
    detail_text,
    json_out,
    line_out,
    print_detail,
    summary_json,
    thread_line,
    threads_table,
)
from stepwell.cli.terminal_text import Terminal
from stepwell.showing import show_step
from stepwell.steps import read_log
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
    """`stepwell show`: a thread, or one step of it."""
    if "@" in name:
        return _show_step(name, as_json=as_json)
    detail = asyncio.run(_detail(name))
    if as_json:
        json_out(detail_json(detail))
    elif sys.stdout.isatty():
        print_detail(Terminal(), detail)
    else:
        line_out(detail_text(detail))
    return FINISHED


def _show_step(name: str, *, as_json: bool) -> int:
    detail = asyncio.run(show_step(name))
    if as_json:
        json_out(detail.as_json())
    elif sys.stdout.isatty():
        step_lines.print_step(Terminal(), detail)
    else:
        line_out(step_lines.detail_text(detail))
    return FINISHED


def show_log(name: str, limit: int, *, code: bool, as_json: bool) -> int:
    """`stepwell log`."""
    thread, tree = asyncio.run(read_log(name))
    steps = tree.steps[-limit:]
    left_out = len(tree.steps) - len(steps)
    if not steps:
        complain(f"Thread {thread} has no steps yet.")
    elif as_json:
        for step in steps:
            json_out(step_lines.step_json(thread, step))
    elif sys.stdout.isatty():
        step_lines.print_tree(Terminal(), steps, datetime.now(UTC), code=code)
    else:
        for step in steps:
            line_out(*step_lines.step_line(step))
            for line in step_lines.code_lines(step.cell) if code and step.cell is not None else ():
                line_out(line)
    if tree.head is not None and tree.head not in steps:
        complain(f"The thread is at step {tree.head.name}.")
    if left_out:
        earlier = "1 earlier step is" if left_out == 1 else f"{left_out:,} earlier steps are"
        complain(f"{earlier} left out; --limit {len(tree.steps)} shows all.")
    return FINISHED


async def _detail(name: str) -> ThreadDetail:
    settings = read_settings()
    return await read_thread(await find_thread(name, settings), settings)
