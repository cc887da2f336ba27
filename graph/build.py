"""The map: which node follows which."""

from collections.abc import Awaitable, Callable
from functools import partial, wraps

from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy

from graph.context import Context
from graph.functions.host_functions import NO_FUNCTIONS, HostFunctions
from graph.settings import Prices
from graph.state import FinalOutput, StartInput, State
from models.base import ChooseModel
from nodes.approve import approve, approve_call, approve_plan
from nodes.calls.held_cells import call_asked
from nodes.check_final import check_final
from nodes.execute import execute
from nodes.generate import generate
from nodes.plan import plan
from nodes.restoration.proofs import NO_PROOFS, Proofs
from nodes.restoration.restore import RestoreService
from nodes.restoration.snapshots import SnapshotStore
from nodes.upload import upload
from sandboxes.base import OpenSandbox, SandboxLostError, SandboxUnavailableError
from sandboxes.network import NO_NETWORK, Network
from storage.artifacts import Artifacts
from storage.inputs import InputSource

TRY_AGAIN = RetryPolicy(max_attempts=3, initial_interval=0.5, retry_on=(SandboxUnavailableError, SandboxLostError))


def build_graph(
    *,
    choose_model: ChooseModel,
    open_sandbox: OpenSandbox,
    inputs: InputSource,
    artifacts: Artifacts,
    snapshots: SnapshotStore,
    prices: Prices | None = None,
    functions: HostFunctions = NO_FUNCTIONS,
    network: Network = NO_NETWORK,
    proofs: Proofs = NO_PROOFS,
) -> StateGraph[State, Context, StartInput, FinalOutput]:
    """Wire the nodes to what they depend on; the caller compiles, and brings the checkpointer."""
    builder = StateGraph(State, context_schema=Context, input_schema=StartInput, output_schema=FinalOutput)
    restoring = RestoreService(open_sandbox, snapshots, functions, proofs)
    builder.add_node(
        "plan",
        partial(plan, choose_model=choose_model, restoring=restoring, inputs=inputs, prices=prices, network=network),
        retry_policy=TRY_AGAIN,
    )
    builder.add_node(  # not retried: what became of the step before is told once
        "generate",
        partial(
            generate, choose_model=choose_model, prices=prices, functions=functions, network=network, proofs=proofs
        ),
    )
    builder.add_node("approve_plan", approve_plan)
    builder.add_node("approve", partial(approve, functions=functions))
    builder.add_node("execute", partial(execute, restoring=restoring), retry_policy=TRY_AGAIN)
    builder.add_node("approve_call", approve_call)
    builder.add_node(
        "check_final",
        partial(check_final, choose_model=choose_model, restoring=restoring, prices=prices, network=network),
        retry_policy=TRY_AGAIN,
    )
    builder.add_node("upload", partial(upload, restoring=restoring, artifacts=artifacts), retry_policy=TRY_AGAIN)
    builder.add_edge(START, "plan")
    builder.add_conditional_edges(
        "plan", _in_loop(after_plan), ["approve_plan", "approve", "execute", "check_final", "generate"]
    )
    builder.add_edge("approve_plan", "generate")
    builder.add_conditional_edges(
        "generate", _in_loop(after_generate), ["approve_plan", "approve", "execute", "check_final", "upload"]
    )
    builder.add_conditional_edges("approve", _in_loop(after_approve), ["execute", "generate", END])
    builder.add_conditional_edges(
        "execute", _in_loop(after_execute), ["approve", "approve_call", "execute", "check_final", "generate", END]
    )
    builder.add_edge("approve_call", "execute")
    builder.add_conditional_edges("check_final", _in_loop(after_check_final), ["generate", "upload"])
    builder.add_edge("upload", END)
    return builder


def _in_loop(route: Callable[[State], str]) -> Callable[[State], Awaitable[str]]:
    """The same as a coroutine: LangGraph runs a plain function in a thread, which each step would wait for."""

    @wraps(route)
    async def routed(state: State) -> str:
        return route(state)

    return routed


# These see State alone: LangGraph routes forks and edits of old checkpoints (`update_state`) too, without a context.


def after_plan(state: State) -> str:
    """The first cell, or an answer that needs none; after a plan and nothing else the model is asked for its cell."""
    return after_generate(state) if state.get("pending") or state.get("proposal") or _plan_waits(state) else "generate"


def after_generate(state: State) -> str:
    """A cell is run (once approved, where that is asked for); an answer is checked; a used-up budget ends the turn."""
    if state.get("pending"):
        return "approve" if state.get("approval") == "cells" else "execute"
    if _plan_waits(state):
        return "approve_plan"
    return "upload" if state.get("stopped") else "check_final"


def _plan_waits(state: State) -> bool:
    return bool(state.get("plan_waits") and state.get("plan") and not state.get("proposal"))


def after_approve(state: State) -> str:
    """What was approved runs; after a rejection the model writes something else."""
    return "execute" if state.get("pending") else _after_cells(state)


def after_execute(state: State) -> str:
    """A call is decided on; further cells of the reply run; its answer is checked, or the model is asked, if any is."""
    pending = state.get("pending")
    if pending and call_asked(pending[0]) is not None:
        return "approve_call"
    return after_generate(state) if pending or state.get("proposal") else _after_cells(state)


def _after_cells(state: State) -> str:
    return END if state.get("direct") else "generate"


def after_check_final(state: State) -> str:
    """What lacks something goes back; what is accepted is published."""
    return "generate" if state.get("review") else "upload"
