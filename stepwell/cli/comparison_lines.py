"""`stepwell diff` in lines."""

import asyncio
from dataclasses import asdict

from graph.settings import read_settings
from stepwell.cli.exits import FINISHED
from stepwell.cli.rendering import json_out, line_out
from stepwell.cli.terminal_text import clean, one_line
from stepwell.comparing import Changes, Difference, compare
from stepwell.steps import step_named
from stepwell.threads import find_thread


def diff_two(a: str, b: str, *, as_json: bool) -> int:
    """Say what `b` has otherwise than `a`."""
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
        thread, step = step_named(name)
        steps.append((await find_thread(thread, settings), step))
    return await compare(steps[0], steps[1], settings)


def lines_of(difference: Difference) -> list[str]:
    """The difference as people read it."""
    if difference.nothing:
        return [f"the same: {difference.cells_in_common} cells", *difference.notes]
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
