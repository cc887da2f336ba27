"""Ask the model for the next cell, or for the answer."""

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from graph.checkpoints.holds import holds_of
from graph.context import Context, context_of
from graph.functions.host_functions import NO_FUNCTIONS, HostFunctions
from graph.settings import Prices
from graph.state import State
from graph.users.identity import thread_of
from models.base import ChooseModel
from nodes.budget import budget_reached
from nodes.next_step import next_step
from nodes.restoration.proofs import NO_PROOFS, Proofs
from sandboxes.network import NO_NETWORK, Network


async def generate(
    state: State,
    runtime: Runtime[Context],
    config: RunnableConfig | None = None,
    *,
    choose_model: ChooseModel,
    prices: Prices | None = None,
    functions: HostFunctions = NO_FUNCTIONS,
    network: Network = NO_NETWORK,
    proofs: Proofs = NO_PROOFS,
) -> State:
    """Ask for the next cell or the answer of this turn; for another plan where somebody rejected the first.

    The snapshot of the cell before may be taken meanwhile; this waits for it, however it ends.

    Raises:
        ModelError: no usable reply could be had; the thread can be resumed.
        SettingsError: a server that offers functions cannot be reached.
        Exception: what the storage met when the step before was to be kept.
    """

    async def ask() -> State:
        offer = await functions.ready()
        if reason := budget_reached(state, context_of(runtime), prices):
            return _stopped(state, reason)
        return await next_step(
            state,
            runtime,
            node="generate",
            choose_model=choose_model,
            functions=offer.descriptions,
            network=network,
        )

    holds, info = holds_of(config), runtime.execution_info
    if holds is None or info is None or not info.thread_id:
        return await _proved(await ask(), state, runtime, proofs)
    try:
        said = await ask()
    except BaseException:
        await holds.leave(info.thread_id)
        raise
    if told := await holds.settle(info.thread_id):
        said["notices"] = [*said.get("notices", state.get("notices") or []), *told]
    return await _proved(said, state, runtime, proofs)


async def _proved(said: State, state: State, runtime: Runtime[Context], proofs: Proofs) -> State:
    """What is told with what proofs under way find, where somebody is asked next, which may take days."""
    if not (said.get("pending") and said.get("approval") == "cells"):
        return said
    thread = thread_of(runtime)
    await proofs.settle(thread)
    proved, notices = proofs.take(thread, runtime)
    if not proved:
        return said
    return {**said, "proofs": proved, "notices": [*said.get("notices", state.get("notices") or []), *notices]}


def _stopped(state: State, reason: str) -> State:
    """The answer when a budget is used up, with no further model call: the one that was sent back, or what was done."""
    if review := state.get("review"):
        return {"proposal": review["answer"], "pending": [], "stopped": reason, "concerns": review["missing"]}
    done = [cell for cell in state.get("cells") or [] if cell["turn"] == state["turn"]]
    lines = [f"- {cell['purpose']} ({cell['status']})" for cell in done]
    answer = f"{reason} The analysis stopped before its answer."
    if lines:
        answer += " These cells ran; their results are in the thread's steps:\n\n" + "\n".join(lines)
    return {"proposal": answer, "pending": [], "stopped": reason}
