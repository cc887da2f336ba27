"""How a comparison of two steps, and a replay with what differs, are shown in the terminal."""

import asyncio
from contextlib import aclosing
from dataclasses import asdict

from graph.settings import Settings, read_settings
from stepwell.cli.command_options import NetworkChoice
from stepwell.cli.exits import FAILED, FINISHED, warn_without_isolation
from stepwell.cli.terminal_text import clean, count_text, one_line
from stepwell.cli.thread_list import json_out, line_out
from stepwell.comparison import Changes, Difference, compare
from stepwell.replays import ReplayedCell, ReplayEnd, replay
from stepwell.steps import parse_step_name
from stepwell.threads import find_thread


def diff_two(a: str, b: str, *, as_json: bool) -> int:
    """Show how `b` differs from `a`."""
    difference = asyncio.run(_compare(a, b))
    if as_json:
        json_out(asdict(difference))
    else:
        for line in lines_of(difference):
            line_out(line)
    return FINISHED


async def _compare(a: str, b: str) -> Difference:
    settings = read_settings()
    steps = []
    for name in (a, b):
        thread, step = parse_step_name(name)
        steps.append((await find_thread(thread, settings), step))
    return await compare(steps[0], steps[1], settings)


def lines_of(difference: Difference) -> list[str]:
    """The difference as people read it."""
    if difference.nothing:
        return [f"the same: {count_text(difference.cells_in_common, 'cell')}", *difference.notes]
    lines = [f"cells in common: {difference.cells_in_common}"]
    lines += _change_lines("questions", difference.questions)
    lines += _change_lines("plan", difference.plan)
    lines += _change_lines("variables", difference.variables)
    lines += _change_lines("files", difference.files)
    if difference.code:
        lines += ["code:", *clean(difference.code).splitlines()]
    if difference.answers is not None:
        for name, answer in zip(("a", "b"), difference.answers, strict=True):
            lines.append(f"answer of {name}: {clean(answer).strip() or '(none yet)'}")
    return [*lines, *difference.notes]


def _change_lines(title: str, changes: Changes) -> list[str]:
    lines = [f"  - {one_line(name, 1_000)}" for name in changes.removed]
    lines += [f"  + {one_line(name, 1_000)}" for name in changes.added]
    lines += [f"  ~ {one_line(change, 1_000)}" for change in changes.changed]
    return [f"{title}:", *lines] if lines else []


def replay_one(name: str, *, verify: bool, as_json: bool, network: NetworkChoice) -> int:
    """Replay a thread and say what differs; with `verify` the exit code is 1 when something does."""
    settings = read_settings(**network.settings())
    warn_without_isolation(settings)
    return asyncio.run(_replay(name, settings, verify=verify, as_json=as_json))


async def _replay(name: str, settings: Settings, *, verify: bool, as_json: bool) -> int:
    prefix, step = parse_step_name(name)
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
