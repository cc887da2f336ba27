"""Forks: a new thread, or a new branch of the same, that begins at a step and goes its own way."""

import uuid
from typing import Any, cast

from langchain_core.runnables import RunnableConfig

from graph.settings import Settings, settings_or_default
from graph.state import Forked, SandboxRef, State, Turn
from nodes.inputs import LOCAL_KIND
from sandboxes.host.scratch import scratch_folder
from sandboxes.opening import Sandboxes
from stepwell.ephemeral import copy_inputs
from stepwell.errors import ThreadError
from stepwell.locks import lock_thread
from stepwell.runs import CONTEXT_KEY
from stepwell.steps import StepState, answer_after, state_at_step, with_answer
from stepwell.threads import Graph, open_graph, saver_of


async def fork_thread(
    thread: str,
    *,
    step: str | int | None = None,
    new_turn: bool = False,
    into: str = "",
    settings: Settings | None = None,
) -> str:
    """Make a new thread that is where another was after one of its cells.

    Variables and files are those of that step: the new thread's sandbox is brought there before its next cell runs.
    Neither thread sees what happens in the other.

    Args:
        thread: The thread to fork.
        step: The step after which the new thread goes on; None: where the thread is now.
        new_turn: Whether the next thing is a further question; else the question of that step is gone on with.
        into: The new thread's id, of which nothing is kept yet; empty: a random one.
        settings: Where threads are kept; None reads the environment.

    Returns:
        The new thread's id. `resume` goes on with its question, `run(…, thread=…)` asks another.

    Raises:
        ThreadError: there is no such thread or step, or it was given up and cannot be had as it was.
    """
    settings = await settings_or_default(settings)
    new = into or str(uuid.uuid4())
    async with open_graph(settings) as (graph, sandboxes):
        place = await state_at_step(graph, thread, step)
        place.require()
        values = cast("State", dict(place.state))
        values["sandbox"] = SandboxRef(kind=values["sandbox"]["kind"], id=new, snapshot=values["sandbox"]["snapshot"])
        values["artifacts"] = []
        values["forked"] = Forked(thread=thread, step=place.step.name, turns=values.get("turn", 0))
        node, broken_off = await _going_on(graph, place, new_turn=new_turn)
        values["turns"] = [*(values.get("turns") or []), *broken_off]
        try:
            await _give_inputs(sandboxes, values["sandbox"]["kind"], thread, new)
            await graph.aupdate_state(await _config(graph, thread, new), dict(values), as_node=node)
            saver: Any = graph.checkpointer
            await saver.copy_given_up(thread, new)
            # Deleting the other removes what no checkpoint names by then: what is there now is safe, what is gone may
            # lack its blobs.
            if await saver.aget_tuple({"configurable": {"thread_id": thread}}) is None:
                await saver.adelete_thread(new)
                raise ThreadError(f"Thread {thread} was deleted while it was forked.")
        except BaseException:  # Ctrl-C too: nothing of it is left behind
            await sandboxes.remove(new)
            raise
    return new


async def fork_here(
    thread: str,
    *,
    step: str | int | None = None,
    new_turn: bool = False,
    answered: bool = False,
    settings: Settings | None = None,
) -> str:
    """Begin a new branch in the same thread: it is at the step again, and what came after stays in its tree.

    Args:
        thread: The thread.
        step: The step after which the branch begins; None: where the thread is now.
        new_turn: Whether the next thing is a further question; else the question of that step is gone on with.
        answered: Whether the thread is at the answer that was given after the step, where one was, with what was
            published then. A further question is asked there in any case.
        settings: Where threads are kept; None reads the environment.

    Returns:
        The thread's id.

    Raises:
        ThreadError: there is no such thread or step, or somebody is working on the thread.
    """
    settings = await settings_or_default(settings)
    async with open_graph(settings) as (graph, _), lock_thread(thread, settings):
        place = await state_at_step(graph, thread, step)
        place.require()
        if answered or new_turn:
            place = await with_answer(graph, place)
        node, broken_off = await _going_on(graph, place, new_turn=new_turn)
        values: dict[str, Any] = {"pending": place.state.get("pending") or []}
        if broken_off:
            values["turns"] = broken_off
        if not place.ended:
            values["proposal"] = ""
        if place.config is None:
            # No checkpoint is there to begin at: the whole state of the step is written, over that of the head.
            values = {**place.state, "turns": [*(place.state.get("turns") or []), *broken_off]}
            values = _over(values)
        config: RunnableConfig = place.config or {"configurable": {"thread_id": thread}}
        await graph.aupdate_state(config, values, as_node=node)
    return thread


async def _going_on(graph: Graph, place: StepState, *, new_turn: bool) -> tuple[str, list[Turn]]:
    """The node as which a fork is written, so that the right one is next; and the turn that it leaves."""
    if place.ended:
        return "upload", []
    if place.state.get("direct"):
        return ("upload" if new_turn else "execute"), []  # cells of the user's own: no question is left unanswered
    if new_turn:
        return "upload", [_left(place.state, await answer_after(graph, place))]
    # What comes after `execute` asks about no plan: cells would run that nobody has agreed to.
    return ("plan" if place.state.get("plan_waits") else "execute"), []


def _over(values: dict[str, Any]) -> dict[str, Any]:
    """The same values, wrapped so that growing channels are replaced and not appended to."""
    from langgraph.types import Overwrite

    growing = ("messages", "turns", "cells", "inputs", "namespace")
    return {name: Overwrite(value) if name in growing else value for name, value in values.items()}


def _left(values: State, answer: str) -> Turn:
    """The turn that a fork leaves: it was answered after the step, or the fork breaks it off."""
    cells: list[Any] = values.get("cells") or []
    return Turn(
        number=values["turn"],
        question=values["question"],
        plan=[step["text"] for step in values.get("plan") or []],
        answer=answer or f"(Not answered: the analysis was forked here, after cell {len(cells)}.)",
    )


async def _config(graph: Graph, thread: str, new: str) -> RunnableConfig:
    knobs = await saver_of(graph).newest_metadata(thread, CONTEXT_KEY)
    return {"configurable": {"thread_id": new}, "metadata": {CONTEXT_KEY: knobs} if knobs else {}}


async def _give_inputs(sandboxes: Sandboxes, kind: str, thread: str, new: str) -> None:
    if kind != LOCAL_KIND:
        return  # they are in the store, and go where the fork goes on
    source, target = await sandboxes.open(kind, thread), await sandboxes.open(kind, new)
    async with scratch_folder("fork") as folder:
        await copy_inputs(source, target, folder)
