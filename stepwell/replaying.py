"""Replays: the recorded cells run again in a fresh sandbox, with no language model, and are compared."""

import asyncio
import re
import shutil
import tempfile
import uuid
import zipfile
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graph.checkpoints import newest_metadata
from graph.context import Context, remembered
from graph.settings import Settings, given_or_read
from graph.state import Cell, State
from nodes.observation import observe
from sandboxes.base import Sandbox
from sandboxes.environment import describe_environment
from sandboxes.opening import Sandboxes
from stepwell.runs import CONTEXT_KEY
from stepwell.thread_error import ThreadError
from stepwell.threads import reading

NOT_REPEATED = ("rejected", "killed", "timeout", "unknown")
"""How cells ended that are passed over: they never ran, took no effect, or were interrupted somewhere."""
MAY_DIFFER = (
    (re.compile(r"\b(?:now|today|time|perf_counter|monotonic)\s*\(|getmtime"), "it reads the clock"),
    (
        re.compile(r"\brandom\b|\bshuffle\b|\bsample\s*\(|uuid4|RandomForest|KMeans|train_test_split"),
        "it uses randomness",
    ),
    (re.compile(r"\bhttps?://|requests\.|urlopen|httpx\."), "it may use the network"),
    (re.compile(r"\bset\s*\(|\bhash\s*\(|\bid\s*\("), "it may depend on the order of a set or on hashes"),
)
"""What in a cell's code may make it give something else, as a sentence's end."""

SIZES = re.compile(r"\((created|changed), [\d,]+ bytes\)")
TIME_OF_WRITING = "docProps/core.xml"
"""The part of a workbook that holds when it was written, so that no two are the same byte for byte."""


@dataclass(frozen=True, slots=True)
class ReplayedCell:
    """One recorded cell and what came of it this time."""

    number: int
    purpose: str
    same: bool
    """Whether status, output and the list of files are as recorded; true for cells that are passed over."""
    passed_over: bool
    differences: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    """Why it may differ, as far as the code tells."""


@dataclass(frozen=True, slots=True)
class ReplayEnd:
    """What the replay found as a whole."""

    same: bool
    files_same: int
    files_differ: tuple[str, ...]
    """Published files whose bytes are others now, or that were not made."""
    versions: tuple[str, ...]
    """Python and packages that are others than in the recording."""


async def replay(thread: str, settings: Settings | None = None) -> AsyncIterator[ReplayedCell | ReplayEnd]:
    """Run a thread's cells again and compare, cell by cell; the thread itself is left as it is.

    Yields:
        A `ReplayedCell` for each recorded cell, then one `ReplayEnd`.

    Raises:
        ThreadError: there is no such thread, or it has no cells.
        SandboxError: the sandbox cannot be had.
    """
    settings = await given_or_read(settings)
    async with reading(settings) as (graph, sandboxes):
        snapshot = await graph.aget_state({"configurable": {"thread_id": thread}})
        state: Any = snapshot.values
        cells: list[Cell] = state.get("cells") or []
        if not cells:
            raise ThreadError(f"There is nothing to replay: thread {thread} has no cells.")
        context = remembered(await newest_metadata(graph.checkpointer, thread, CONTEXT_KEY))  # type: ignore[arg-type]  # ours
        async with _fresh(settings, sandboxes, state) as (fresh, staging):
            same = True
            for cell in cells:
                replayed = await _again(fresh, cell, context)
                same = same and replayed.same
                yield replayed
            files_same, differ = await _compare_files(fresh, state, staging)
            versions = await _versions(fresh, state)
            yield ReplayEnd(same and not differ, files_same, differ, versions)


@asynccontextmanager
async def _fresh(settings: Settings, sandboxes: Sandboxes, state: State) -> AsyncIterator[tuple[Sandbox, Path]]:
    """A sandbox that holds the thread's inputs and nothing else, in a temporary folder."""
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="stepwell-replay-"))
    staged = folder / "staged"
    try:
        source = await sandboxes.open(state["sandbox"]["kind"], state["sandbox"]["id"])
        async with Sandboxes(folder, python=settings.python, cache=settings.home / "cache") as others:
            fresh = await others.open(state["sandbox"]["kind"], str(uuid.uuid4()))
            for file in await source.files("inputs"):
                await source.fetch(file.path, staged, max_bytes=file.size)
                await fresh.put(staged, file.path)
            yield fresh, staged
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def _again(sandbox: Sandbox, cell: Cell, context: Context) -> ReplayedCell:
    if cell["status"] in NOT_REPEATED:
        return ReplayedCell(cell["number"], cell["purpose"], same=True, passed_over=True)
    result = await sandbox.run(
        cell["code"], number=cell["number"], timeout=max(context.cell_timeout, 5 * cell["seconds"])
    )
    differences = []
    if result.status != cell["status"]:
        differences.append(f"it ended with {result.status}, with {cell['status']} before")
    before = _said(cell["observation"])
    after = _said(observe(result, number=cell["number"], limit=context.observation_chars))
    if before != after:
        differences.append(_first_difference(before, after))
    reasons = tuple(reason for pattern, reason in MAY_DIFFER if differences and pattern.search(cell["code"]))
    return ReplayedCell(
        cell["number"],
        cell["purpose"],
        same=not differences,
        passed_over=False,
        differences=tuple(differences),
        reasons=reasons,
    )


def _said(observation: str) -> list[str]:
    """The lines of an observation but the first, which holds the time that it took, and without the files' sizes.

    Files are compared by what is in them; a workbook's size changes with the time of writing within it.
    """
    return [SIZES.sub(r"(\1)", line) for line in observation.splitlines()[1:]]


def _first_difference(before: list[str], after: list[str]) -> str:
    for number, (one, other) in enumerate(zip(before, after, strict=False), 1):
        if one != other:
            return f"line {number} of what it printed was {one[:100]!r} and is {other[:100]!r}"
    return f"it printed {len(after)} lines, {len(before)} before"


async def _compare_files(sandbox: Sandbox, state: State, staging: Path) -> tuple[int, tuple[str, ...]]:
    there = {file.path: file.size for folder in ("outputs", "figures") for file in await sandbox.files(folder)}
    same, differ = 0, []
    for artifact in state.get("artifacts") or []:
        if artifact["cell"] == 0:
            continue
        name = artifact["name"]
        path = name if name in there else f"outputs/{name}"
        if path in there:
            fetched = await sandbox.fetch(path, staging, max_bytes=there[path])
            if fetched.sha256 == artifact["sha256"] or await asyncio.to_thread(_same_parts, artifact["url"], staging):
                same += 1
                continue
        differ.append(name)
    return same, tuple(differ)


def _same_parts(url: str, file: Path) -> bool:
    """Whether two zip files (workbooks are) hold the same but for the time of writing that each has within it."""
    if "://" in url:
        return False
    try:
        one, other = (_parts(path) for path in (url, file))
    except (OSError, zipfile.BadZipFile):
        return False
    return {**one, TIME_OF_WRITING: 0} == {**other, TIME_OF_WRITING: 0}


def _parts(path: str | Path) -> dict[str, int]:
    with zipfile.ZipFile(path) as archive:
        return {part.filename: part.CRC for part in archive.infolist()}


async def _versions(sandbox: Sandbox, state: State) -> tuple[str, ...]:
    before = state.get("environment")
    if not before:
        return ()
    now = await describe_environment(sandbox)
    old = {"Python": before["python"], **before["packages"]}
    new = {"Python": now["python"], **now["packages"]}
    return tuple(
        f"{name} {old.get(name, 'none')} -> {new.get(name, 'none')}"
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    )


async def replay_to_end(thread: str, settings: Settings | None = None) -> ReplayEnd:
    """Replay without looking at each cell; see `replay`."""
    async with aclosing(replay(thread, settings)) as found:  # type: ignore[type-var]  # an async generator
        async for one in found:
            if isinstance(one, ReplayEnd):
                return one
    raise ThreadError(f"The replay of thread {thread} did not come to its end.")
