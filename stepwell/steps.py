"""Steps as people name them, `THREAD@3` or `THREAD@4b`, and the states at them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot

from graph.checkpoints.damage import reporting_damage
from graph.checkpoints.factory import open_checkpoints
from graph.checkpoints.given_up import GivenUp
from graph.checkpoints.saver import Saver
from graph.checkpoints.step_tree import Step, StepTree, step_tree
from graph.settings import Settings, settings_or_default
from graph.state import PlanStep, SandboxRef, State
from nodes.restoration.given_up_steps import GivenUpStep, given_up_step
from nodes.restoration.line import state_id_after
from stepwell.errors import ThreadError
from stepwell.threads import Graph, find_thread, saver_of

STEP = re.compile(r"\d{1,9}[A-Za-z]{0,3}|(?i:turn)\d{1,9}")
RUNNING = (("approve_plan",), ("generate",), ("execute",))
"""What comes next in the middle of a turn."""
MAX_SETTING_OUT = 50
"""Checkpoints that are looked at for the one after the first plan."""


@dataclass(frozen=True, slots=True)
class StepState:
    """A step, and the state there."""

    thread: str
    step: Step
    state: State
    config: RunnableConfig | None
    """The checkpoint; None when the thread has none of its own there."""
    ended: bool
    """Whether the turn is over."""
    given_up: Mapping[str, GivenUp] = field(default_factory=dict)
    """The snapshots that the thread does without."""

    @property
    def given_up_step(self) -> GivenUpStep | None:
        """What to say of the step where its snapshot was given up."""
        return given_up_step(self.state.get("cells") or [], self.given_up)

    def require(self) -> None:
        """See that the step can be had as it was.

        Raises:
            ThreadError: its snapshot was given up, and the cells after the one before may not run again.
        """
        if (step := self.given_up_step) is not None and step.in_the_way:
            raise ThreadError(f"Step {self.step.name} of thread {self.thread}: {step.text}")


def parse_step_name(name: str) -> tuple[str, str | None]:
    """Take `THREAD@STEP` apart; without `@STEP` the step is None.

    Raises:
        ThreadError: what follows the `@` names no step.
    """
    thread, at, step = name.partition("@")
    if at and not STEP.fullmatch(step):
        raise ThreadError(f"{name!r} names no step: give THREAD@STEP, such as last@3; `stepwell log` lists the steps.")
    return thread, step.lower() if at else None


async def read_steps(saver: Any, thread: str) -> StepTree:
    """A thread's steps.

    Raises:
        ThreadError: there is no such thread.
    """
    with reporting_damage(thread):
        tree = await step_tree(cast("Saver", saver), thread)
    if tree.beginning is None:
        raise ThreadError(f"There is no thread {thread}; `stepwell threads` lists them.")
    return tree


async def state_at_step(graph: Graph, thread: str, step: str | int | None) -> StepState:
    """The state right after a cell; None: where the thread is now.

    Raises:
        ThreadError: there is no such thread or step.
    """
    place = await _state_at_step(graph, thread, step)
    return replace(place, given_up=await saver_of(graph).given_up(thread))


async def _state_at_step(graph: Graph, thread: str, step: str | int | None) -> StepState:
    tree = await read_steps(graph.checkpointer, thread)
    config: RunnableConfig = {"configurable": {"thread_id": thread}}
    with reporting_damage(thread):
        head, now = await graph.aget_state(config), tree.head
    if not head.values.get("sandbox"):
        raise ThreadError(f"Thread {thread} has no step yet: it stopped before its plan.")
    begun = now is not None and now.cell is not None and head.values.get("turn", 0) > now.cell["turn"]
    if step is None and now is not None and (not head.tasks or head.next in RUNNING or begun):
        return StepState(thread, now, cast("State", head.values), head.config, ended=not head.tasks)
    name = str(step) if step is not None else now.name if now is not None else "0"
    found = tree.named(name)
    if found is None:
        here = f"it is at step {now.name}" if now is not None else "it has none"
        said = f"Thread {thread} has no step {name}; {here}"
        raise ThreadError(f"{said} (`stepwell log {thread}` lists them).", f"{said} (/steps lists them).")
    if found.cell is None:
        return await _beginning(graph, tree, thread, found)
    if not found.checkpoint:
        return StepState(thread, found, await _without_checkpoint(graph, tree, thread, found), None, ended=False)
    there = await graph.aget_state(_at(thread, found.checkpoint))
    state = cast("State", {**there.values, "pending": [], "proposal": ""})
    return StepState(thread, found, state, there.config, ended=False)


async def answer_after(graph: Graph, place: StepState) -> str:
    """The answer given after a step and before the next cell; empty when there was none."""
    answered = await _answered(graph, place)
    return str((answered.values if answered is not None else place.state).get("answer") or "")


async def with_answer(graph: Graph, place: StepState) -> StepState:
    """Where the answer after a step had been given, with what was published; the step itself when there was none."""
    there = await _answered(graph, place)
    if there is None or there.tasks or not there.values.get("answer"):
        return place
    return replace(place, state=cast("State", there.values), config=there.config, ended=True)


async def _answered(graph: Graph, place: StepState) -> StateSnapshot | None:
    """Where a turn ended after a step; None where the state is at the end of one, or of a question after it."""
    if place.ended or not place.step.answered:
        return None
    there = await graph.aget_state(_at(place.thread, place.step.answered))
    return None if there.values.get("turn", 0) < place.state.get("turn", 0) else there


async def _beginning(graph: Graph, tree: StepTree, thread: str, step: Step) -> StepState:
    """Right after the first plan. A thread that began as a fork has no checkpoint there."""
    seen = 0
    async for snapshot in _oldest_first(graph, thread):
        if snapshot.values.get("sandbox"):
            cells = snapshot.values.get("cells") or []
            state = _cut(cast("State", snapshot.values), 0) if cells else cast("State", snapshot.values)
            config = None if cells or snapshot.next not in RUNNING else snapshot.config
            return StepState(thread, step, cast("State", {**state, "pending": []}), config, ended=False)
        seen += 1
        if seen > MAX_SETTING_OUT:
            break
    raise ThreadError(f"Step 0 of thread {thread} cannot be found in its checkpoints.")


async def _oldest_first(graph: Graph, thread: str) -> Any:
    for row in (await saver_of(graph).checkpoint_rows(thread))[:MAX_SETTING_OUT]:
        yield await graph.aget_state(_at(thread, row.id))


async def _without_checkpoint(graph: Graph, tree: StepTree, thread: str, step: Step) -> State:
    """The state at a step that came from another thread, or from an edit of State, together with later ones."""
    for later in tree.steps:
        if later.checkpoint and later.number > step.number and step in tree.line(later):
            there = await graph.aget_state(_at(thread, later.checkpoint))
            return _cut(cast("State", there.values), step.number)
    raise ThreadError(f"Step {step.name} of thread {thread} cannot be found in its checkpoints.")


def _cut(state: State, number: int) -> State:
    """The state of a line after so many of its cells, as far as the cells record it."""
    cells = (state.get("cells") or [])[:number]
    turns = list(state.get("turns") or [])
    turn = cells[-1]["turn"] if cells else 1
    asked = next((one for one in turns if one["number"] == turn), None)
    texts = asked["plan"] if asked else [step["text"] for step in state.get("plan") or []]
    done = {cell["step"] for cell in cells if cell["turn"] == turn and cell["status"] == "ok"}
    kept: dict[str, Any] = {
        **state,
        "cells": cells,
        "turns": [one for one in turns if one["number"] < turn],
        "turn": turn,
        "question": asked["question"] if asked else state.get("question", ""),
        "plan": [PlanStep(text=text, done=place in done) for place, text in enumerate(texts, 1)],
        "pending": [],
        "namespace": [],
        "notices": [],
        "proposal": "",
        "review": None,
        "concerns": [],
        "stopped": "",
        "answer": "",
        "sandbox": SandboxRef(kind=state["sandbox"]["kind"], id=state["sandbox"]["id"], snapshot=state_id_after(cells)),
    }
    return cast("State", kept)


def _at(thread: str, checkpoint: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": checkpoint}}


async def read_log(name: str, settings: Settings | None = None) -> tuple[str, StepTree]:
    """A thread's full id, and its steps.

    Raises:
        ThreadError: there is no such thread.
    """
    settings = await settings_or_default(settings)
    thread = await find_thread(name, settings)
    async with open_checkpoints(settings) as saver:
        return thread, await read_steps(saver, thread)
