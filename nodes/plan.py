"""Begin a turn: take the user's files in, look at them inside the sandbox, and ask the model how it begins.

A cell that the user wrote themself is run as it is, and no model is asked.
"""

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from graph.checkpoints.journal import interrupted_cells
from graph.context import Context, context_of
from graph.events import Notice, emit
from graph.settings import Prices
from graph.state import Environment, SandboxRef, State, Turn
from graph.users.identity import user_of
from models.base import ChooseModel
from models.messages import without_surrogates
from nodes.budget import budget_reached
from nodes.calls.held_cells import dropped_call_notices
from nodes.direct_cells import DIRECT_QUESTION, direct_cell, goes_on_directly
from nodes.inputs import supply_inputs, take_inputs
from nodes.next_step import next_step
from nodes.prompts.attachments import attachments, without_attachments
from nodes.prompts.observation import shorten
from nodes.restoration.line import BEGINNING
from nodes.restoration.restore import RestoreService
from nodes.restoration.unknown_outcome import function_effects, possible_effects
from nodes.shown_conversation import not_run, reply_messages
from sandboxes.base import Sandbox
from sandboxes.host.programs import describe_environment
from sandboxes.network import NO_NETWORK, Network
from storage.inputs import InputSource


class NoQuestionError(ValueError):
    """A turn was started without a question; the message says how to ask one."""


async def plan(
    state: State,
    runtime: Runtime[Context],
    config: RunnableConfig | None = None,
    *,
    choose_model: ChooseModel,
    restoring: RestoreService,
    inputs: InputSource,
    prices: Prices | None = None,
    network: Network = NO_NETWORK,
) -> State:
    """Begin a turn: the model gives its first cell, with a plan where the work takes several steps, or the answer.

    Where somebody wants to see the plan first, it gives a plan and no cell. A question that carries a cell of the
    user's own is not asked: the cell comes next.

    In a sandbox of another kind than before, the thread's inputs are carried there first.

    Raises:
        NoQuestionError: the last message is no question of the user's.
        InputError: files were named and none of them can be had.
        ModelError: no usable reply could be had; the thread can be resumed.
        SandboxError: the sandbox cannot be reached.
        SettingsError: a server that offers functions cannot be reached.
    """
    context = context_of(runtime)
    offer = await restoring.functions.ready()
    question = _question(state)
    cell = direct_cell(state, user_of(runtime))
    turn = await _begin_turn(question if cell is None else "", state, runtime, config, restoring, inputs)
    if cell is not None:
        return {
            **turn,
            "direct": True,
            "plan": [],
            "plan_waits": False,
            "pending": [cell],
            "approval": context.approval_after(state.get("approval")),
            "messages": [*turn.get("messages", []), *reply_messages([cell])],
        }
    fresh: State = {**turn, "direct": False, "plan": [], "plan_waits": context.approve_plan}
    if budget_reached(state, context, prices):
        return fresh
    begun = State(**{**state, **fresh})
    replied = await next_step(
        begun,
        runtime,
        node="plan",
        choose_model=choose_model,
        functions=offer.descriptions,
        network=network,
    )
    # The reply's messages come behind those of the turn's beginning.
    messages = [*turn.get("messages", []), *replied.get("messages", [])]
    return {**fresh, **replied, **({"messages": messages} if messages else {})}


async def _begin_turn(
    question: str,
    state: State,
    runtime: Runtime[Context],
    config: RunnableConfig | None,
    restoring: RestoreService,
    inputs: InputSource,
) -> State:
    """What State holds of a turn before there is a plan; the user's files are in the workspace.

    Without a question it is for cells of the user's own; such a turn goes on until there is a question.
    """
    sandbox = await restoring.open(runtime)
    before = state.get("sandbox")
    notices = await _broken_off(sandbox, config, runtime)
    if moves := before is not None and before["kind"] != sandbox.kind:
        # What is missing is said when a cell needs it.
        await supply_inputs(sandbox, state, restoring.snapshots, restoring.open_sandbox)
    source = inputs.of(user_of(runtime))
    taken = await take_inputs(state, runtime, sandbox, source, context_of(runtime), restoring.snapshots)
    stays = not question and goes_on_directly(state)
    left = _unanswered_calls(state) if stays else _left_open(state)
    environment = None if moves else state.get("environment")
    turn: State = {
        **left,
        "turn": len(state.get("turns") or []) + len(left.get("turns") or []) + 1,
        "question": question or DIRECT_QUESTION,
        "files": [],
        "environment": environment or Environment(**await describe_environment(sandbox)),
        "sandbox": SandboxRef(kind=sandbox.kind, id=sandbox.id, snapshot=before["snapshot"] if before else BEGINNING),
        "pending": [],
        "notices": [
            *notices,
            *(said for cell in state.get("pending") or [] for said in dropped_call_notices(cell)),
            *taken.newer,
            *(
                f"A file that the user named could not be taken in, say so in the answer: {said}"
                for said in taken.missing
            ),
        ],
        "unread": taken.unread,
        "none_read": taken.none_read,
        "proposal": "",
        "skipped": [],
        "review": None,
        "concerns": [],
        "stopped": "",
        "answer": "",
    }
    if attached := attachments(state["messages"][-1]):
        plain = without_attachments(state["messages"][-1], [one.name for one in attached])
        turn["messages"] = [*turn.get("messages", []), plain]
    if state.get("files") or attached:
        turn["inputs"] = taken.inputs
    return turn


async def _broken_off(sandbox: Sandbox, config: RunnableConfig | None, runtime: Runtime[Context]) -> list[str]:
    """What the model must be told of a cell that was running when the turn before this one broke off."""
    told = []
    for entry in await interrupted_cells(config, runtime):
        called = function_effects(call.name for call in entry.calls)
        if reached := (*await possible_effects(sandbox, entry), *called):
            told.append(
                f"The cell '{shorten(entry.purpose, 200)}' was started before this question and broken off. Its "
                f"variables and files are rolled back, but it may have had effects outside of the sandbox "
                f"({', '.join(reached)}): find out what it did there before you repeat it."
            )
            emit(runtime, Notice(told[-1], level="warning"))
    return told


def _question(state: State) -> str:
    messages = state.get("messages") or []
    if not messages or not isinstance(messages[-1], HumanMessage) or not messages[-1].text.strip():
        raise NoQuestionError("There is no question: the last message must be the user's, with text in it.")
    return without_surrogates(messages[-1].text).strip()


def _left_open(state: State) -> State:
    """A turn without an answer that this question replaces: it is remembered, and its tool calls are answered."""
    turns = state.get("turns") or []
    if state.get("turn", 0) <= len(turns):
        return {}
    steps = [step["text"] for step in state.get("plan") or []]
    return {
        "turns": [Turn(number=state["turn"], question=state["question"], plan=steps, answer="")],
        **_unanswered_calls(state),
    }


def _unanswered_calls(state: State) -> State:
    return {"messages": list(not_run(state.get("pending") or [], "another question came first"))}
