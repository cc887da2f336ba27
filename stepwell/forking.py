"""Forks: a new thread that begins at a step of another, and goes its own way."""

import asyncio
import tempfile
import uuid
from pathlib import Path
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot

from graph.settings import Settings, given_or_read
from graph.state import SandboxRef, State, Turn
from sandboxes.opening import Sandboxes
from stepwell.runs import CONTEXT_KEY
from stepwell.thread_error import ThreadError
from stepwell.threads import Graph, reading


async def fork_thread(
    thread: str, *, step: int | None = None, new_turn: bool = False, settings: Settings | None = None
) -> str:
    """Make a new thread that is where another was after one of its cells.

    Variables and files are those of that step: the new thread's sandbox is brought there before its next cell runs.
    Neither thread sees what happens in the other.

    Args:
        thread: The thread to fork.
        step: The number of the cell after which the new thread goes on; None: where the thread is now.
        new_turn: Whether the next thing is a further question; else the question of that step is gone on with.
        settings: Where threads are kept; None reads the environment.

    Returns:
        The new thread's id. `resume` goes on with its question, `run(…, thread=…)` asks another.

    Raises:
        ThreadError: there is no such thread or step.
    """
    settings = await given_or_read(settings)
    new = str(uuid.uuid4())
    async with reading(settings) as (graph, sandboxes):
        found = await _at_step(graph, thread, step)
        await _copy_inputs(sandboxes, found.values["sandbox"]["kind"], thread, new)
        values = cast("State", dict(found.values))
        values["sandbox"] = SandboxRef(kind=values["sandbox"]["kind"], id=new, snapshot=values["sandbox"]["snapshot"])
        values["artifacts"] = []
        node = "execute" if found.tasks else "upload"
        if new_turn and found.tasks:
            values["turns"] = [*(values.get("turns") or []), _broken_off(values)]
            node = "upload"
        metadata = dict(found.metadata or {})
        kept = {CONTEXT_KEY: metadata[CONTEXT_KEY]} if CONTEXT_KEY in metadata else {}
        config: RunnableConfig = {"configurable": {"thread_id": new}, "metadata": kept}
        await graph.aupdate_state(config, dict(values), as_node=node)
    return new


def step_named(name: str) -> tuple[str, int | None]:
    """Take `THREAD@STEP` apart; without `@STEP` the step is None.

    Raises:
        ThreadError: what follows the `@` is no number.
    """
    thread, at, step = name.partition("@")
    if at and not step.isdecimal():
        raise ThreadError(f"{name!r} names no step: give THREAD@NUMBER, such as last@3.")
    return thread, int(step) if at else None


async def _at_step(graph: Graph, thread: str, step: int | None) -> StateSnapshot:
    """The newest state in the thread's own line at which this many cells had run."""
    config: RunnableConfig = {"configurable": {"thread_id": thread}}
    head = await graph.aget_state(config)
    if head.created_at is None:
        raise ThreadError(f"There is no thread {thread}; `stepwell threads` lists them.")
    if not head.values.get("sandbox"):
        raise ThreadError(f"Thread {thread} has no step yet: it stopped before its plan.")
    cells = len(head.values.get("cells") or [])
    if step is None:
        step = cells
        if not head.tasks or head.next in (("generate",), ("execute",)):
            return head
    if not 0 <= step <= cells:
        raise ThreadError(f"Thread {thread} has no step {step}; it has {cells} (`stepwell log {thread}`).")
    wanted = _id(head.config)
    async for snapshot in graph.aget_state_history(config):
        if _id(snapshot.config) != wanted:
            continue  # of another branch
        wanted = _id(snapshot.parent_config)
        ran = len(snapshot.values.get("cells") or [])
        if ran == step and snapshot.next in (("generate",), ("execute",)) and not snapshot.values.get("pending"):
            return snapshot
        if ran < step:
            break
    raise ThreadError(f"Step {step} of thread {thread} cannot be found in its checkpoints.")


def _id(config: RunnableConfig | None) -> str:
    return str((config or {}).get("configurable", {}).get("checkpoint_id", ""))


def _broken_off(values: State) -> Turn:
    cells: list[Any] = values.get("cells") or []
    return Turn(
        number=values["turn"],
        question=values["question"],
        plan=[step["text"] for step in values.get("plan") or []],
        answer=f"(Not answered: the analysis was forked here, after cell {len(cells)}.)",
    )


async def _copy_inputs(sandboxes: Sandboxes, kind: str, thread: str, new: str) -> None:
    source, target = await sandboxes.open(kind, thread), await sandboxes.open(kind, new)
    folder = await asyncio.to_thread(tempfile.TemporaryDirectory, prefix="stepwell-fork-")
    try:
        staged = Path(folder.name) / "input"
        for file in await source.files("inputs"):
            await source.fetch(file.path, staged, max_bytes=file.size)
            await target.put(staged, file.path)
    finally:
        await asyncio.to_thread(folder.cleanup)
