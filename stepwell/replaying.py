"""Replays: the recorded cells run again in a fresh sandbox, with no language model, and are compared."""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graph.context import Context, remembered
from graph.functions.offered import HostFunction
from graph.settings import Settings, given_or_read
from graph.state import Cell, State
from graph.wiring import make_blobs, make_functions
from nodes.prompts.observation import observe
from nodes.restoring.catching_up import catch_up
from nodes.restoring.snapshots import Snapshots
from sandboxes.base import Sandbox, SandboxError
from sandboxes.host.programs import describe_environment
from sandboxes.opening import Sandboxes
from stepwell.errors import ThreadError
from stepwell.replayed_calls import Record, ReplayedCalls
from stepwell.replayed_files import differing, published
from stepwell.runs import CONTEXT_KEY
from stepwell.steps import at_step
from stepwell.threads import reading, saver_of
from stepwell.throw_away import ThrowAway, throw_away
from stepwell.variables import changed, look_at
from storage.blobs import Blobs

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


@dataclass(frozen=True, slots=True)
class ReplayedCell:
    """One recorded cell and what came of it this time."""

    number: int
    purpose: str
    same: bool
    """Whether status, output and the bytes of its files are as recorded; true for cells that are passed over."""
    passed_over: bool
    differences: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    """Why it may differ, as far as the code and the versions tell."""


@dataclass(frozen=True, slots=True)
class ReplayEnd:
    """What the replay found as a whole."""

    same: bool
    files_same: int
    files_differ: tuple[str, ...]
    """Published files whose bytes are others now, or that were not made."""
    versions: tuple[str, ...]
    """Python and packages that are others than in the recording."""
    variables_same: int = 0
    """Variables that hold the same in the end; 0 when they were not compared."""
    variables_differ: tuple[str, ...] = ()
    """The others, `name: recorded -> now` each."""
    notes: tuple[str, ...] = ()
    """What could not be compared, one sentence each."""


async def replay(
    thread: str,
    settings: Settings | None = None,
    *,
    step: str | int | None = None,
    variables: bool = False,
    functions: Sequence[Callable[..., Any] | HostFunction] = (),
) -> AsyncIterator[ReplayedCell | ReplayEnd]:
    """Run a thread's cells again and compare, cell by cell; the thread itself is left as it is.

    Args:
        thread: The thread's full id.
        settings: Where threads are kept; None reads the environment.
        step: The last cell; None: where the thread is now.
        variables: Whether the variables after the last cell are compared, too: the recorded ones are restored for it.
        functions: What cells can call that can be repeated; other calls are answered from the record.

    Yields:
        A `ReplayedCell` for each recorded cell, then one `ReplayEnd`.

    Raises:
        ThreadError: there is no such thread or step, or it has no cells.
        SandboxError: the sandbox cannot be had.
    """
    settings = await given_or_read(settings)
    blobs = make_blobs(settings)
    async with reading(settings) as (graph, sandboxes):
        place = await at_step(graph, thread, step)
        state = place.state
        cells: list[Cell] = state.get("cells") or []
        if not cells:
            raise ThreadError(f"There is nothing to replay: thread {thread} has no cells.")
        context = remembered(await saver_of(graph).newest_metadata(thread, CONTEXT_KEY))
        async with (
            throw_away(settings, sandboxes, state) as fresh,
            make_functions(settings, functions) as offered,
        ):
            record = await Record.read(graph.checkpointer, thread, place, offered, context.call_timeout)
            versions = await _versions(fresh.sandbox, state)
            same = True
            for cell in cells:
                replayed = await _again(fresh, cell, context, blobs, record.of(cell), bool(versions))
                same = same and replayed.same
                yield replayed
            files_same, differ = await published(fresh.sandbox, state, fresh.folder) if step is None else (0, ())
            end = ReplayEnd(same and not differ, files_same, differ, versions)
            if variables:
                end = await _with_variables(end, fresh.sandbox, state, settings, sandboxes, blobs, fresh.folder)
            yield end


async def _again(
    fresh: ThrowAway, cell: Cell, context: Context, blobs: Blobs, calls: ReplayedCalls | None, other_versions: bool
) -> ReplayedCell:
    if cell["status"] in NOT_REPEATED:
        return ReplayedCell(cell["number"], cell["purpose"], same=True, passed_over=True)
    result = await fresh.sandbox.run(
        cell["code"],
        number=cell["number"],
        timeout=max(context.cell_timeout, 5 * cell["seconds"]),
        functions=calls,
    )
    differences = []
    if result.status != cell["status"]:
        differences.append(f"it ended with {result.status}, with {cell['status']} before")
    before = _said(cell["observation"])
    after = _said(observe(result, number=cell["number"], limit=context.observation_chars))
    if before != after:
        differences.append(_first_difference(before, after))
    differences += await differing(fresh.sandbox, cell, blobs, fresh.folder)
    reasons = [reason for pattern, reason in MAY_DIFFER if differences and pattern.search(cell["code"])]
    if differences and calls is not None and calls.refused:
        reasons.append(f"the record does not have what it calls ({', '.join(calls.refused)})")
    if differences and other_versions:
        reasons.append("versions differ")
    return ReplayedCell(
        cell["number"],
        cell["purpose"],
        same=not differences,
        passed_over=False,
        differences=tuple(differences),
        reasons=tuple(reasons),
    )


async def _with_variables(
    end: ReplayEnd,
    fresh: Sandbox,
    state: State,
    settings: Settings,
    sandboxes: Sandboxes,
    blobs: Blobs,
    folder: Path,
) -> ReplayEnd:
    """The same with what the variables came to: those of the replay against those of the recorded step."""
    try:
        now = await look_at(fresh, None, folder)
        async with throw_away(settings, sandboxes, state) as other:
            receipt = await catch_up(other.sandbox, state, Snapshots(blobs))
            before = await look_at(other.sandbox, None, other.folder)
    except SandboxError as error:
        return replace(end, same=False, notes=(f"The variables could not be compared: {error}",))
    lost = {one.name for one in receipt.lost} if receipt is not None else set()
    differ, same, notes = [], 0, []
    for name in sorted({*before.rows, *now.rows} - lost):
        if name not in now.rows or name not in before.rows:
            differ.append(f"{name}: only {'recorded' if name in before.rows else 'in the replay'}")
            continue
        one, other_one = before.fingerprints.get(name), now.fingerprints.get(name)
        if one is not None and other_one is not None and one.digest and other_one.digest:
            told = changed(name, (before.rows[name], now.rows[name]), one, other_one)
            differ += [told] if told else []
            same += told is None
        else:
            notes.append(f"The values of {name} cannot be compared.")
    if lost & set(now.rows):
        notes.append(f"Not compared, since no snapshot can keep them: {', '.join(sorted(lost & set(now.rows)))}.")
    return replace(
        end, same=end.same and not differ, variables_same=same, variables_differ=tuple(differ), notes=tuple(notes)
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
