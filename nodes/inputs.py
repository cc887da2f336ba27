"""The user's files on their way: into the workspace for a turn, profiled there, and into a sandbox that lacks them.

Inputs are not part of snapshots: they lie in the workspace all the time. So a sandbox of another kind, or one that had
to be made anew, gets them here, each checked by its hash.
"""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.runtime import Runtime

from graph.context import Context
from graph.events import InputTaken, Notice, emit
from graph.state import Input, State
from nodes.prompts.attachments import attachment_file, attachments
from nodes.prompts.instructions import INPUTS_CHARS, LEAST_CHARS
from nodes.prompts.observation import shorten
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Holdable, OpenSandbox, Sandbox, SandboxError
from sandboxes.host.reading import read_json
from sandboxes.host.scratch import scratch_folder
from sandboxes.inside import PROGRAMS
from sandboxes.results import WorkspaceFile
from storage.blobs import BlobError
from storage.inputs import FetchedInput, InputError, InputSource, leading_out_text
from storage.safe_names import unused_name

PROFILE_SECONDS = 120
"""For all files of one call together; what is not reached by then is named."""
START_SECONDS = 20
PROFILED_AT_ONCE = 200
"""Files for which the profiler is called once: what it prints and its command line are bounded."""


@dataclass(frozen=True, slots=True)
class TakenInputs:
    """What came of the files that a turn brings."""

    inputs: list[Input]
    """All of the thread's."""
    newer: list[str]
    """A sentence for each that is a newer version of another."""
    missing: list[str]
    """A sentence for each that cannot be had."""
    broken: list[str]
    """A sentence for each that is there and cannot be read."""
    none_read: bool
    """Whether that is so of all that there are."""

    @property
    def unread(self) -> list[str]:
        """Both of them, as the user is told."""
        return [*(f"Not taken in: {said}" for said in self.missing), *self.broken]


async def take_inputs(
    state: State,
    runtime: Runtime[Context],
    sandbox: Sandbox,
    source: InputSource,
    context: Context,
    snapshots: SnapshotStore,
) -> TakenInputs:
    """Copy a turn's new files into the workspace and profile them there.

    Raises:
        InputError: files were named and none of them can be had.
        SandboxError: the sandbox cannot be reached.
    """
    known = {file["path"]: file for file in state.get("inputs") or []}
    wanted: Any = state.get("files") or []
    if not isinstance(wanted, list) or not all(isinstance(spec, str) for spec in wanted):
        raise InputError("`files` must be a list of paths and URLs.")
    brought = dict(known)
    failed: list[str] = []

    async def put(bringing: AbstractAsyncContextManager[FetchedInput]) -> None:
        try:
            taken = await _put(bringing, sandbox, brought, snapshots)
            brought[taken["path"]] = taken
        except InputError as error:
            failed.append(str(error))

    for spec in wanted:
        try:
            files = await _files_of(spec, source, runtime)
        except InputError as error:
            failed.append(str(error))
            continue
        for name in files:
            await put(source.fetch(name))
    attached = attachments(state["messages"][-1])
    for attachment in attached:
        await put(attachment_file(attachment, max_bytes=source.max_bytes))
    added = [file for path, file in brought.items() if file is not known.get(path)]
    if (wanted or attached) and not added and failed:
        raise InputError(" ".join(failed))
    for problem in failed:
        emit(runtime, Notice(problem, level="warning"))
    for start in range(0, len(added), PROFILED_AT_ONCE):
        chars = _chars_each(context, len(brought))
        most = _chars_each(context, len(brought), tables=TABLES_SHOWN)
        for file in await _profile(added[start : start + PROFILED_AT_ONCE], sandbox, chars, most):
            brought[file["path"]] = file
            emit(runtime, InputTaken(file))
    newer = [
        f"{file['path']} is a newer version of {old['path']}; cells that ran before it have seen the older one."
        for file in added
        for old in known.values()
        if old["source"] == file["source"] and old["path"] != file["path"]
    ]
    broken = [brought[file["path"]] for file in added if brought[file["path"]]["problem"]]
    unread = [f"{file['path']} cannot be read: {file['problem']}" for file in broken]
    return TakenInputs(list(brought.values()), newer, failed, unread, bool(added) and len(broken) == len(added))


async def _files_of(spec: str, source: InputSource, runtime: Runtime[Context]) -> list[str]:
    leading_out: list[str] = []
    files = await source.expand(spec, leading_out)
    if leading_out:
        emit(runtime, Notice(leading_out_text(spec, leading_out), level="warning"))
    return files


TABLES_SHOWN = 2
"""How many times as long the abstract of a file may be that has several tables."""


def _chars_each(context: Context, count: int, tables: int = 1) -> int:
    """More of an abstract than a prompt shows is not remembered either."""
    return min(tables * context.abstract_chars, max(INPUTS_CHARS // count, LEAST_CHARS))


async def _put(
    bringing: AbstractAsyncContextManager[FetchedInput],
    sandbox: Sandbox,
    known: Mapping[str, Input],
    snapshots: SnapshotStore,
) -> Input:
    """Copy one file in. What lies there under its name stays: cells that read it may have to run again."""
    async with bringing as brought:
        same = (file for file in known.values() if (file["source"], file["sha256"]) == (brought.source, brought.sha256))
        there = next(same, None)
        names = {path.removeprefix("inputs/") for path in known}
        path = there["path"] if there else f"inputs/{unused_name(brought.name, names)}"
        await sandbox.put(brought.file, path)
        await keep_input(sandbox, brought.file, brought.sha256, snapshots)
        return Input(
            path=path, source=brought.source, size=brought.size, sha256=brought.sha256, abstract="", problem=""
        )


async def _profile(taken: list[Input], sandbox: Sandbox, chars: int, most: int) -> list[Input]:
    """Have the profiler look at the files; what it prints is data from the sandbox, checked and cut."""
    paths = [file["path"] for file in taken]
    arguments = ["--chars", str(chars), "--most-chars", str(most), "--total-seconds", str(PROFILE_SECONDS), *paths]
    result = await sandbox.run_program(PROGRAMS / "profiler", arguments, timeout=PROFILE_SECONDS + START_SECONDS)
    rows: dict[str, dict[str, Any]] = {}
    with suppress(ValueError, TypeError, KeyError):  # without a profile the model is told so, and looks for itself
        rows = {str(row["path"]): row for row in await read_json(result.stdout.encode())}
    unread = "It was not profiled" + (" in time" if result.status == "timeout" else "") + "; look at it yourself."
    profiled: list[Input] = []
    for file in taken:
        row = rows.get(file["path"], {})
        abstract = shorten(str(row.get("abstract") or f"### {file['path']}\n{unread}"), most)
        profiled.append({**file, "abstract": abstract, "problem": shorten(str(row.get("problem") or ""), 500)})
    return profiled


LOCAL_KIND = "local"
"""The kind whose files are as safe as the checkpoints: both lie on this machine."""


async def supply_inputs(
    sandbox: Sandbox,
    state: State,
    snapshots: SnapshotStore,
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


async def keep_input(sandbox: Sandbox, file: Path, sha256: str, snapshots: SnapshotStore) -> None:
    """Put an input into the store, when its sandbox is on another machine, or the thread may go on on another one."""
    if sandbox.kind != LOCAL_KIND or snapshots.keep_inputs:
        try:
            await snapshots.keep_file(file, sha256)
        except BlobError:  # then it is in the sandbox only, and where the user has it
            if isinstance(sandbox, Holdable):
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


async def _fetched(one: Input, file: Path, snapshots: SnapshotStore, other: Sandbox | None) -> bool:
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
