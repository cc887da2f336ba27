"""`stepwell replay` in lines: one a cell, then what the whole came to."""

import asyncio
from contextlib import aclosing
from dataclasses import asdict

from graph.settings import Settings, read_settings
from stepwell.cli.command_options import NetworkChoice
from stepwell.cli.exits import FAILED, FINISHED, say_without_walls
from stepwell.cli.rendering import json_out, line_out
from stepwell.cli.terminal_text import one_line
from stepwell.replaying import ReplayedCell, ReplayEnd, replay
from stepwell.steps import step_named
from stepwell.threads import find_thread


def replay_one(name: str, *, verify: bool, as_json: bool, network: NetworkChoice) -> int:
    """Replay a thread and say what differs; with `verify` the exit code is 1 when something does."""
    settings = read_settings(**network.settings())
    say_without_walls(settings)
    return asyncio.run(_replay(name, settings, verify=verify, as_json=as_json))


async def _replay(name: str, settings: Settings, *, verify: bool, as_json: bool) -> int:
    prefix, step = step_named(name)
    thread = await find_thread(prefix, settings)
    same = False
    async with aclosing(replay(thread, settings, step=step, variables=verify)) as found:  # type: ignore[type-var]  # an async generator
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
    return FINISHED if same or not verify else FAILED


def _cell_line(cell: ReplayedCell) -> str:
    if cell.passed_over:
        return f"{cell.number} passed over: {one_line(cell.purpose)}"
    if cell.same:
        return f"{cell.number} same: {one_line(cell.purpose)}"
    why = f" ({', '.join(cell.reasons)})" if cell.reasons else ""
    return f"{cell.number} differs: {one_line(cell.purpose)}: {one_line('; '.join(cell.differences))}{why}"


def _end_lines(end: ReplayEnd) -> list[str]:
    lines = []
    if end.files_same or end.files_differ:
        lines.append(f"published files: {end.files_same} the same, {len(end.files_differ)} not")
    if end.files_differ:
        lines.append(f"not the same: {', '.join(end.files_differ)}")
    if end.variables_same or end.variables_differ:
        lines.append(f"variables: {end.variables_same} the same, {len(end.variables_differ)} not")
        lines += [f"  ~ {one_line(told, 1_000)}" for told in end.variables_differ]
    lines += [one_line(note, 1_000) for note in end.notes]
    if end.versions:
        lines.append(f"versions: {', '.join(end.versions)}")
    lines.append("the replay gives the same" if end.same else "the replay differs")
    return lines
