"""`stepwell rename` and `stepwell tag`, done and said."""

import asyncio
import sys
from collections.abc import Sequence

from graph.settings import read_settings
from stepwell import labels
from stepwell.cli.exits import FINISHED, print_error
from stepwell.cli.terminal_text import one_line


def rename(thread: str, name: str) -> int:
    """`stepwell rename`."""
    id = asyncio.run(labels.rename(thread, name, settings=read_settings()))
    print_error(f"Thread {id} is called {one_line(name.strip())} now." if name.strip() else f"Thread {id} has no name.")
    return FINISHED


def tag(thread: str, tags: Sequence[str], *, remove: bool) -> int:
    """`stepwell tag`: its tags, one a line."""
    id, kept = asyncio.run(labels.tag(thread, *tags, remove=remove, settings=read_settings()))
    if not kept:
        print_error(f"Thread {id} has no tags.")
    for one in kept:
        sys.stdout.write(f"{one_line(one)}\n")
    return FINISHED
