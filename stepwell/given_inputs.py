"""A thread's inputs are looked at before it goes on: as they were taken in, brought back, or accepted as they are now.

Snapshots hold no inputs, so whoever deletes or changes one from outside changes what cells compute. One that is gone
comes back from the store, or from where the user had it if it is the same there.
"""

import asyncio
import hashlib
import tempfile
from pathlib import Path

from graph.state import Input, State
from nodes.restoring.carrying import HERE
from nodes.restoring.snapshots import Snapshots
from sandboxes.base import Sandbox, SandboxError
from sandboxes.host.workspace import digest
from sandboxes.opening import Sandboxes
from stepwell.errors import ThreadError
from storage.blobs import BlobError

ACCEPT = "--accept-changed (accept_changed=True)"
NAMED = 5
"""Inputs that are named in one sentence."""


async def bring_inputs_back(
    thread: str, state: State, sandboxes: Sandboxes, snapshots: Snapshots, folder: Path, *, accept_changed: bool
) -> list[str]:
    """Make sure that the inputs of a thread are those that it took in.

    Those of a sandbox elsewhere are left to it: they are brought there when a cell needs them.

    Args:
        thread: Its id.
        state: Names them.
        sandboxes: Opens the thread's sandbox.
        snapshots: The store.
        folder: Where sandboxes of this machine have their folders.
        accept_changed: Whether the thread goes on although some are gone or others.

    Returns:
        What was brought back and what is not as it was, one sentence each.

    Raises:
        ThreadError: one is gone or changed, cannot be brought back, and that was not accepted.
    """
    inputs = state.get("inputs") or []
    if not inputs or state.get("sandbox", {}).get("kind") != HERE:
        return []
    workspace = folder / thread / "workspace"
    wrong = [one for one in inputs if not await asyncio.to_thread(_is_as_taken, workspace, one)]
    if not wrong:
        return []
    try:
        sandbox = await sandboxes.open(HERE, thread)
        back = [one for one in wrong if await _brought_back(sandbox, one, snapshots)]
    except SandboxError as error:
        raise ThreadError(str(error)) from None
    left = [one["path"] for one in wrong if one not in back]
    if left and not accept_changed:
        named = ", ".join(left[:NAMED]) + (f" and {len(left) - NAMED} more" if len(left) > NAMED else "")
        raise ThreadError(
            f"Thread {thread} cannot go on as it was: {named} in {workspace} is gone or was changed from outside. "
            f"Put back what was there, or go on with what is there now: {ACCEPT}."
        )
    told = [f"{one['path']} was gone or changed, and was brought back as it was taken in." for one in back]
    return told + [f"{path} is gone or was changed since it was taken in; this was accepted." for path in left]


def _is_as_taken(workspace: Path, one: Input) -> bool:
    try:
        return digest(workspace, one["path"]) == (one["size"], one["sha256"])
    except (OSError, ValueError):
        return False


async def _brought_back(sandbox: Sandbox, one: Input, snapshots: Snapshots) -> bool:
    scratch = await asyncio.to_thread(tempfile.TemporaryDirectory, prefix="stepwell-inputs-")
    try:
        file = Path(scratch.name) / "input"
        try:
            await snapshots.fetch_file(one["sha256"], file)
        except BlobError:
            file = Path(one["source"])
            if not await asyncio.to_thread(_is_same, file, one):
                return False
        try:
            await sandbox.put(file, one["path"])
        except (OSError, ValueError):
            return False
        return True
    finally:
        await asyncio.to_thread(scratch.cleanup)


def _is_same(file: Path, one: Input) -> bool:
    if "://" in one["source"] or not file.is_absolute():
        return False
    try:
        if not file.is_file():  # a pipe would have us wait for somebody to write to it
            return False
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest() == one["sha256"]
    except OSError:
        return False
