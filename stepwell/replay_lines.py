"""`stepwell replay` in lines: one a cell, then what the whole came to."""

import asyncio
from contextlib import aclosing
from dataclasses import asdict

from graph.settings import read_settings
from stepwell.exits import FAILED, FINISHED
from stepwell.rendering import json_out, line_out
from stepwell.replaying import ReplayedCell, ReplayEnd, replay
from stepwell.threads import find_thread


def replay_one(name: str, *, as_json: bool) -> int:
    """Replay a thread and say what differs; the exit code is 1 when something does."""
    return asyncio.run(_replay(name, as_json=as_json))


async def _replay(name: str, *, as_json: bool) -> int:
    settings = read_settings()
    thread = await find_thread(name, settings)
    same = False
    async with aclosing(replay(thread, settings)) as found:  # type: ignore[type-var]  # an async generator
        async for one in found:
            if as_json:
                json_out({"thread": thread, **asdict(one)})
            elif isinstance(one, ReplayedCell):
                line_out(_cell_line(one))
            else:
                for line in _end_lines(one):
                    line_out(line)
            if isinstance(one, ReplayEnd):
                same = one.same
    return FINISHED if same else FAILED


def _cell_line(cell: ReplayedCell) -> str:
    if cell.passed_over:
        return f"{cell.number} passed over: {cell.purpose}"
    if cell.same:
        return f"{cell.number} same: {cell.purpose}"
    why = f" ({', '.join(cell.reasons)})" if cell.reasons else ""
    return f"{cell.number} differs: {cell.purpose}: {'; '.join(cell.differences)}{why}"


def _end_lines(end: ReplayEnd) -> list[str]:
    lines = [f"files: {end.files_same} the same, {len(end.files_differ)} not"]
    if end.files_differ:
        lines.append(f"not the same: {', '.join(end.files_differ)}")
    if end.versions:
        lines.append(f"versions: {', '.join(end.versions)}")
    lines.append("the replay gives the same" if end.same else "the replay differs")
    return lines
