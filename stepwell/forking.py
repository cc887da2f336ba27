"""Forks: a new thread that begins at a step of another, and goes its own way."""

import asyncio
import tempfile
import uuid
from pathlib import Path
from typing import Any, cast

from langchain_core.runnables import RunnableConfig

from graph.checkpoints import newest_metadata
from graph.settings import Settings, given_or_read
from graph.state import SandboxRef, State, Turn
from sandboxes.opening import Sandboxes
from stepwell.runs import CONTEXT_KEY
from stepwell.steps import at_step
from stepwell.thread_error import ThreadError
from stepwell.threads import reading


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
        found = await at_step(graph, thread, step)
        await _copy_inputs(sandboxes, found.values["sandbox"]["kind"], thread, new)
        values = cast("State", dict(found.values))
        values["sandbox"] = SandboxRef(kind=values["sandbox"]["kind"], id=new, snapshot=values["sandbox"]["snapshot"])
        values["artifacts"] = []
        node = "execute" if found.tasks else "upload"
        if new_turn and found.tasks:
            values["turns"] = [*(values.get("turns") or []), _broken_off(values)]
            node = "upload"
        knobs = await newest_metadata(graph.checkpointer, thread, CONTEXT_KEY)  # type: ignore[arg-type]  # ours
        config: RunnableConfig = {"configurable": {"thread_id": new}, "metadata": {CONTEXT_KEY: knobs} if knobs else {}}
        await graph.aupdate_state(config, dict(values), as_node=node)
        saver: Any = graph.checkpointer
        # Deleting the other removes what no checkpoint names by then: what is there now is safe, what is gone may lack
        # its blobs.
        if await saver.aget_tuple({"configurable": {"thread_id": thread}}) is None:
            await saver.adelete_thread(new)
            raise ThreadError(f"Thread {thread} was deleted while it was forked.")
    return new


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
