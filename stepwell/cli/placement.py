"""The commands about sandboxes on other machines: `stepwell move` and `stepwell sandboxes`."""

import asyncio
import sys

from graph.checkpoints.factory import open_checkpoints
from graph.settings import Settings, read_settings
from graph.wiring import make_sandboxes
from sandboxes.base import SandboxError
from sandboxes.bridged.service import Listed
from stepwell import moves
from stepwell.cli.exits import FINISHED
from stepwell.cli.thread_list import json_out
from stepwell.errors import ThreadError, UsageError
from stepwell.threads import find_thread

ELSEWHERE = ("daytona", "docker")
"""Kinds of which there can be sandboxes that this data folder does not know."""


def move(name: str, to: str, *, lossy: bool = False) -> int:
    """`stepwell move`."""
    moved = asyncio.run(_move(name, to, lossy=lossy))
    if moved.source == moved.target:
        sys.stdout.write(f"thread {moved.thread} is in a sandbox of kind {to} already\n")
    else:
        sys.stdout.write(f"thread {moved.thread} goes on in a sandbox of kind {to} (before: {moved.source})\n")
    for problem in (*moved.problems, *moved.differs):
        sys.stderr.write(f"{problem}\n")
    return FINISHED


async def _move(name: str, to: str, *, lossy: bool) -> moves.Moved:
    settings = await asyncio.to_thread(read_settings)
    return await moves.move(await find_thread(name, settings), to, settings=settings, lossy=lossy)


def sandboxes(kind: str | None, *, prune: bool, as_json: bool) -> int:
    """`stepwell sandboxes`.

    Raises:
        UsageError: there is no such kind, or it is `local`.
    """
    settings = read_settings()
    if kind is None:
        kind = "docker" if settings.kinds == ("local", "docker") else "daytona"
    if kind not in ELSEWHERE:
        raise UsageError(f"--kind is {kind!r}, and can be {' or '.join(ELSEWHERE)}.")
    for one, known, removed in asyncio.run(listed(settings, kind, prune=prune)):
        said = "removed" if removed else "in use" if known else "no thread here names it"
        if as_json:
            json_out({"name": one.name, "thread": one.thread, "state": one.state, "known": known, "removed": removed})
        else:
            sys.stdout.write(f"{one.name}\t{one.state}\t{said}\n")
    return FINISHED


async def listed(settings: Settings, kind: str, *, prune: bool = False) -> list[tuple[Listed, bool, bool]]:
    """Our sandboxes of a kind; for each whether a thread of this data folder names it, and whether it was removed.

    Args:
        settings: Which account or engine, and which data folder.
        kind: Which kind.
        prune: Remove those that no thread names.

    Raises:
        ThreadError: they cannot be listed, or one cannot be removed.
    """
    found: list[tuple[Listed, bool, bool]] = []
    try:
        async with make_sandboxes(settings) as opened, open_checkpoints(settings) as saver:
            for one in await opened.elsewhere[kind].listed():
                known = bool(one.thread) and one.thread in await saver.threads_beginning_with(one.thread)
                if prune and not known:
                    await opened.elsewhere[kind].delete(one.thread)
                found.append((one, known, prune and not known))
    except SandboxError as error:
        raise ThreadError(str(error)) from None
    return found
