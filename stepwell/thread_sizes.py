"""What threads take: their workspaces, and of the snapshots what each holds alone and what it shares with others.

Equal content is stored once for all threads, so a fork shares with its thread whatever neither has changed. What a
thread holds alone is what deleting it gives back; what it shares stays until the last of its threads is gone.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from graph.checkpoints.factory import open_checkpoints
from graph.settings import Settings, SettingsError
from graph.wiring import make_blobs
from stepwell.giving_up import Survey, survey
from stepwell.thread_summaries import bytes_on_disk
from storage.blobs import BlobError


@dataclass(frozen=True, slots=True)
class ThreadSize:
    """Bytes of one thread."""

    workspace: int
    """On this machine."""
    alone: int = 0
    """In the store of snapshots, needed by no other thread."""
    shared: int = 0
    """In the store of snapshots, needed by another thread, too."""


async def thread_sizes(threads: Iterable[str], settings: Settings) -> dict[str, ThreadSize]:
    """What threads take.

    Args:
        threads: Their full ids.
        settings: Where threads are kept.

    Raises:
        SettingsError: the store or the checkpoints cannot be read.
    """
    try:
        async with open_checkpoints(settings) as saver:
            found = await survey(saver, make_blobs(settings))
    except BlobError as error:
        raise SettingsError(str(error)) from None
    return await asyncio.to_thread(_sizes, list(threads), found, settings)


def _sizes(threads: list[str], found: Survey, settings: Settings) -> dict[str, ThreadSize]:
    sizes = found.sizes
    held = {
        thread: (names & sizes.keys()).union(*(found.parts[name] & sizes.keys() for name in names & found.parts.keys()))
        for thread, names in found.named.items()
    }
    holders = Counter(name for names in held.values() for name in names)
    taken = {}
    for thread in threads:
        names = held.get(thread, set())
        alone = sum(sizes[name] for name in names if holders[name] == 1)
        shared = sum(sizes[name] for name in names if holders[name] > 1)
        taken[thread] = ThreadSize(bytes_on_disk(settings, thread), alone, shared)
    return taken
