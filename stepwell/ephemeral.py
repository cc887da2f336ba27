"""Sandboxes that are thrown away: in a temporary folder, with a thread's inputs and nothing else of it."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from graph.settings import Settings
from graph.state import State
from graph.wiring import make_blobs, make_sandboxes
from nodes.inputs import LOCAL_KIND, supply_inputs
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Sandbox
from sandboxes.host.scratch import scratch_folder
from sandboxes.opening import Sandboxes


@dataclass(frozen=True, slots=True)
class EphemeralSandbox:
    """A sandbox for one use."""

    sandbox: Sandbox
    folder: Path
    """A folder on this machine for what is taken out of it; removed with it."""


@asynccontextmanager
async def ephemeral_sandbox(settings: Settings, sandboxes: Sandboxes, state: State) -> AsyncIterator[EphemeralSandbox]:
    """A new sandbox of the kind that a state names, with the inputs of its thread; removed after the block.

    Args:
        settings: Which Python it runs, and what it may reach.
        sandboxes: Where the thread's own sandbox is.
        state: Names that.

    Raises:
        SandboxError: it cannot be had.
    """
    kind, id = state["sandbox"]["kind"], str(uuid.uuid4())
    async with scratch_folder("trial") as folder:
        staged = folder / "staged"
        await asyncio.to_thread(staged.mkdir)
        async with make_sandboxes(settings, folder / "sandbox") as others:
            try:
                sandbox = await others.open(kind, id)
                # From the store, where those of other machines are; a sandbox is not started only for its inputs.
                if kind == LOCAL_KIND or await supply_inputs(sandbox, state, SnapshotStore(make_blobs(settings))):
                    await copy_inputs(await sandboxes.open(kind, state["sandbox"]["id"]), sandbox, staged)
                yield EphemeralSandbox(sandbox, staged)
            finally:
                await others.remove(id)


async def copy_inputs(source: Sandbox, target: Sandbox, folder: Path) -> None:
    """Copy all inputs of one sandbox to another, by way of a folder on this machine."""
    staged = folder / "input"
    for file in await source.files("inputs"):
        await source.fetch(file.path, staged, max_bytes=file.size)
        await target.put(staged, file.path)
    await asyncio.to_thread(staged.unlink, missing_ok=True)
