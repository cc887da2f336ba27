"""Inputs on their way: to the store, when the sandbox is on a machine that may go, and into a sandbox that lacks them.

Inputs are not part of snapshots: they lie in the workspace all the time. So a sandbox of another kind, or one that had
to be made anew, gets them here, each checked by its hash.
"""

import asyncio
from collections.abc import Iterable
from pathlib import Path

from graph.state import Input, State
from nodes.restoring.snapshots import Snapshots
from sandboxes.base import Held, OpenSandbox, Sandbox, SandboxError
from sandboxes.host.scratch import scratch_folder
from sandboxes.results import WorkspaceFile
from storage.blobs import BlobError

HERE = "local"
"""The kind whose files are as safe as the checkpoints: both lie on this machine."""


async def carry_inputs(
    sandbox: Sandbox,
    state: State,
    snapshots: Snapshots,
    open_sandbox: OpenSandbox | None = None,
) -> list[str]:
    """Bring the thread's inputs into a sandbox that lacks them.

    They come from the store, or from the sandbox that State names when that is of another kind.

    Args:
        sandbox: The thread's sandbox.
        state: Names the inputs, and where they were.
        snapshots: The store.
        open_sandbox: Opens the other sandbox; None: it is not to be had.

    Returns:
        What is not as it was, one sentence each.

    Raises:
        SandboxUnavailableError: the sandbox cannot be reached, or has no room.
    """
    lacking = _lacking(state.get("inputs") or [], await sandbox.files("inputs"))
    if not lacking:
        return []
    other = await _other(sandbox, state, open_sandbox)
    async with scratch_folder("inputs") as folder:
        problems = []
        for one, there in lacking:
            file = folder / "input"
            if await _fetched(one, file, snapshots, other):
                await sandbox.put(file, one["path"])
                await keep_input(sandbox, file, one["sha256"], snapshots)
            elif there is None:
                problems.append(f"{one['path']} is no longer in the workspace")
            else:
                problems.append(f"{one['path']} has changed since it was taken in")
            await asyncio.to_thread(file.unlink, missing_ok=True)
        return problems


async def keep_input(sandbox: Sandbox, file: Path, sha256: str, snapshots: Snapshots) -> None:
    """Put an input into the store, when its sandbox is on another machine, or the thread may go on on another one."""
    if sandbox.kind != HERE or snapshots.keep_inputs:
        try:
            await snapshots.keep_file(file, sha256)
        except BlobError:  # then it is in the sandbox only, and where the user has it
            if isinstance(sandbox, Held):
                await sandbox.hold()


def _lacking(brought: Iterable[Input], files: Iterable[WorkspaceFile]) -> list[tuple[Input, int | None]]:
    there = {file.path: file.size for file in files}
    return [(one, there.get(one["path"])) for one in brought if there.get(one["path"]) != one["size"]]


async def _other(sandbox: Sandbox, state: State, open_sandbox: OpenSandbox | None) -> Sandbox | None:
    """The sandbox that the thread was in before, if that is another one."""
    named = state.get("sandbox")
    if open_sandbox is None or named is None or named["kind"] == sandbox.kind:
        return None
    try:
        return await open_sandbox(named["kind"], named["id"])
    except SandboxError:
        return None


async def _fetched(one: Input, file: Path, snapshots: Snapshots, other: Sandbox | None) -> bool:
    """Whether it could be had, and is what was taken in."""
    if not one["size"]:
        await asyncio.to_thread(file.touch)
        return True
    try:
        await snapshots.fetch_file(one["sha256"], file)
        return True
    except BlobError:
        if other is None:
            return False
    try:
        fetched = await other.fetch(one["path"], file, max_bytes=one["size"])
    except (SandboxError, OSError, ValueError):
        return False
    return fetched.sha256 == one["sha256"]
