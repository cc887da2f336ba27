"""Ask the model for the next cell, or for the answer."""

from langgraph.runtime import Runtime

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
    *,
    choose_model: ChooseModel,
    prices: Prices | None = None,
    functions: HostFunctions = NO_FUNCTIONS,
    network: Network = NO_NETWORK,
    proofs: Proofs = NO_PROOFS,
) -> State:
    """Ask for the next cell or the answer of this turn; for another plan where somebody rejected the first.

    Raises:
        ModelError: no usable reply could be had; the thread can be resumed.
        SettingsError: a server that offers functions cannot be reached.
    """
    offer = await functions.ready()
    if reason := budget_reached(state, context_of(runtime), prices):
        return _stopped(state, reason)
    found = await next_step(
        state,
        runtime,
        node="generate",
        choose_model=choose_model,
        functions=offer.descriptions,
        network=network,
    )
    if found.get("pending") and found.get("approval") == "cells":  # somebody is asked next, which may take days
        thread = thread_of(runtime)
        await proofs.settle(thread)
        proved, notices = proofs.take(thread, runtime)
        if proved:
            found |= {"proofs": proved, "notices": [*found.get("notices", state.get("notices") or []), *notices]}
    return found


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
