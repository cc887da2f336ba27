"""The commands that make room: `stepwell gc` and `stepwell delete`."""

import asyncio
import sys

from graph.settings import read_settings
from stepwell import cleaning
from stepwell.cleaning import Swept
from stepwell.cli.exits import FINISHED
from stepwell.cli.terminal_text import size_text
from stepwell.threads import find_thread


def gc(*, grace: float, dry_run: bool) -> int:
    """`stepwell gc`."""
    swept = asyncio.run(cleaning.gc(grace=grace, dry_run=dry_run, settings=read_settings()))
    sys.stdout.write(f"{'would remove' if dry_run else 'removed'} {_counted(swept)}\n")
    return FINISHED


def delete(name: str) -> int:
    """`stepwell delete`."""
    thread, swept = asyncio.run(_delete(name))
    sys.stdout.write(f"deleted thread {thread}; removed {_blobs(swept.removed, swept.removed_bytes)}\n")
    return FINISHED


async def _delete(name: str) -> tuple[str, Swept]:
    settings = await asyncio.to_thread(read_settings)
    thread = await find_thread(name, settings)
    return thread, await cleaning.delete(thread, settings=settings)


def _counted(swept: Swept) -> str:
    return f"{_blobs(swept.removed, swept.removed_bytes)}; {_blobs(swept.kept, swept.kept_bytes)} kept"


def _blobs(count: int, size: int) -> str:
    return f"{'1 blob' if count == 1 else f'{count:,} blobs'} ({size_text(size)})"
