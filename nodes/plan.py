"""Begin a turn: take the user's files in, look at them inside the sandbox, and ask the model for a plan."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from graph.checkpoints.journal import left_behind
from graph.context import Context, knobs
from graph.events import InputTaken, ModelAnswered, ModelAsked, Notice, Planned, tell
from graph.functions.host_functions import NOTHING, HostFunctions
from graph.settings import Prices
from graph.state import Environment, Input, PlanStep, SandboxRef, State, Turn
from graph.users.identity import thread_of, user_of
from models.asking import ask
from models.base import ChooseModel, Form, Reply, ReplyProblem
from models.quoting import quoted
from models.received import whole_text
from models.replies import steps_in
from nodes.calls.held_cells import told_of_dropped
from nodes.prompts.attachments import attachments, laid_out, without_attachments
from nodes.prompts.conversation import namespace_table, notes
from nodes.prompts.functions_prompt import functions_text
from nodes.prompts.generate_prompt import (
    INPUTS_CHARS,
    LEAST_CHARS,
    MOST_CHARS,
    environment_text,
    inputs_text,
    instructions_text,
)
from nodes.prompts.network_prompt import network_text
from nodes.prompts.observation import shorten
from nodes.prompts.plan_prompt import BY_LIST, BY_TOOL, PLAN_TOOL, RULES
from nodes.restoring.carrying import carry_inputs, keep_input
from nodes.restoring.catching_up import BEGINNING
from nodes.restoring.outcome import functions_reached, reached_by
from nodes.restoring.snapshots import Snapshots
from nodes.spending import add_usage, budget_reached
from sandboxes.base import OpenSandbox, Sandbox
from sandboxes.host.programs import describe_environment
from sandboxes.host.reading import read_json
from sandboxes.inside import PROGRAMS
from sandboxes.network import NO_NETWORK, Network
from storage.input_names import unused_name
from storage.inputs import Brought, InputError, InputSource, leading_out_text

MAX_STEPS = 12
PROFILE_SECONDS = 120
"""For all files of one call together; what is not reached by then is named."""
START_SECONDS = 20
PROFILED_AT_ONCE = 200
"""Files for which the profiler is called once: what it prints and its command line are bounded."""


class NoQuestionError(ValueError):
    """A turn was started without a question; the message says how to ask one."""


async def plan(
    state: State,
    runtime: Runtime[Context],
    config: RunnableConfig | None = None,
    *,
    choose_model: ChooseModel,
    open_sandbox: OpenSandbox,
    inputs: InputSource,
    snapshots: Snapshots,
    prices: Prices | None = None,
    functions: HostFunctions = NOTHING,
    network: Network = NO_NETWORK,
) -> State:
    """Begin a turn.

    In a sandbox of another kind than before, the thread's inputs are carried there first.

    Raises:
        NoQuestionError: the last message is no question of the user's.
        InputError: files were named and none of them can be had.
        ModelError: no usable plan could be had; the thread can be resumed.
        SandboxError: the sandbox cannot be reached.
        SettingsError: a server that offers functions cannot be reached.
    """
    context = knobs(runtime)
    offer = await functions.ready()
    question = _question(state)
    thread = thread_of(runtime)
    sandbox = await open_sandbox(context.sandbox, thread)
    snapshot = state["sandbox"]["snapshot"] if state.get("sandbox") else BEGINNING
    broken_off = await _broken_off(sandbox, config, runtime)
    moves = bool(state.get("sandbox")) and state["sandbox"]["kind"] != sandbox.kind
    if moves:
        await carry_inputs(sandbox, state, snapshots, open_sandbox)  # what is missing is said when a cell needs it
    brought, newer = await _take_in(state, runtime, sandbox, inputs.of(user_of(runtime)), context, snapshots)
    left = _left_open(state)
    turn: State = {
        **left,
        "turn": len(state.get("turns") or []) + len(left.get("turns") or []) + 1,
        "question": question,
        "files": [],
        "environment": Environment(**await describe_environment(sandbox))
        if moves or not state.get("environment")
        else state["environment"],
        "sandbox": SandboxRef(kind=sandbox.kind, id=sandbox.id, snapshot=snapshot),
        "pending": [],
        "notices": broken_off + [said for cell in state.get("pending") or [] for said in told_of_dropped(cell)] + newer,
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
        turn["inputs"] = brought
    if budget_reached(state, context, prices):
        return {**turn, "plan": []}
    tell(runtime, ModelAsked(node="plan"))
    asked = await ask(
        await choose_model(context.model),
        partial(_write, State(**{**state, **turn}), functions_text(offer.descriptions), network, context),
        read=_read,
        tools=[PLAN_TOOL],
        tool_calling=context.tool_calling,
        choose="submit_plan",
    )
    tell(runtime, ModelAnswered("plan", asked.tokens.input, asked.tokens.output, asked.seconds))
    steps = [PlanStep(text=text, done=False) for text in asked.value]
    tell(runtime, Planned(steps))
    return {**turn, "plan": steps, "usage": add_usage(state, "plan", asked.tokens)}


async def _broken_off(sandbox: Sandbox, config: RunnableConfig | None, runtime: Runtime[Context]) -> list[str]:
    """What the model must be told of a cell that was running when the turn before this one broke off."""
    told = []
    for entry in await left_behind(config, runtime):
        called = functions_reached(call.name for call in entry.calls)
        if reached := (*await reached_by(sandbox, entry), *called):
            told.append(
                f"The cell '{shorten(entry.purpose, 200)}' was started before this question and broken off. Its "
                f"variables and files are rolled back, but it may have had effects outside of the sandbox "
                f"({', '.join(reached)}): find out what it did there before you repeat it."
            )
            tell(runtime, Notice(told[-1], level="warning"))
    return told


def _question(state: State) -> str:
    messages = state.get("messages") or []
    if not messages or not isinstance(messages[-1], HumanMessage) or not messages[-1].text.strip():
        raise NoQuestionError("There is no question: the last message must be the user's, with text in it.")
    return whole_text(messages[-1].text).strip()


def _left_open(state: State) -> State:
    """A turn that has no answer and gets none, since this question came first: remembered, and its calls answered."""
    turns = state.get("turns") or []
    if state.get("turn", 0) <= len(turns):
        return {}
    steps = [step["text"] for step in state.get("plan") or []]
    return {
        "turns": [Turn(number=state["turn"], question=state["question"], plan=steps, answer="")],
        "messages": [
            ToolMessage("Not run: another question came first.", tool_call_id=pending["call_id"])
            for pending in state.get("pending") or []
        ],
    }


async def _take_in(
    state: State,
    runtime: Runtime[Context],
    sandbox: Sandbox,
    source: InputSource,
    context: Context,
    snapshots: Snapshots,
) -> tuple[list[Input], list[str]]:
    """Copy the new files into the workspace and profile them there; also says which are newer versions of which."""
    known = {one["path"]: one for one in state.get("inputs") or []}
    asked_for: Any = state.get("files") or []
    if not isinstance(asked_for, list) or not all(isinstance(spec, str) for spec in asked_for):
        raise InputError("`files` must be a list of paths and URLs.")
    brought = dict(known)
    failed: list[str] = []
    for spec in asked_for:
        try:
            for file in await _files_of(spec, source, runtime):
                try:
                    one = await _put(source.bring(file), sandbox, brought, snapshots)
                    brought[one["path"]] = one
                except InputError as error:
                    failed.append(str(error))
        except InputError as error:
            failed.append(str(error))
    attached = attachments(state["messages"][-1])
    for attachment in attached:
        try:
            one = await _put(laid_out(attachment, max_bytes=source.max_bytes), sandbox, brought, snapshots)
            brought[one["path"]] = one
        except InputError as error:
            failed.append(str(error))
    for problem in failed:
        tell(runtime, Notice(problem, level="warning"))
    taken = [one for path, one in brought.items() if one is not known.get(path)]
    if (asked_for or attached) and not taken and failed:
        raise InputError(" ".join(failed))
    for some in range(0, len(taken), PROFILED_AT_ONCE):
        for one in await _profile(taken[some : some + PROFILED_AT_ONCE], sandbox, _chars_each(context, len(brought))):
            brought[one["path"]] = one
            tell(runtime, InputTaken(one))
    return list(brought.values()), [
        f"{one['path']} is a newer version of {old['path']}; cells that ran before it have seen the older one."
        for one in taken
        for old in known.values()
        if old["source"] == one["source"] and old["path"] != one["path"]
    ]


async def _files_of(spec: str, source: InputSource, runtime: Runtime[Context]) -> list[str]:
    leading_out: list[str] = []
    files = await source.expand(spec, leading_out)
    if leading_out:
        tell(runtime, Notice(leading_out_text(spec, leading_out), level="warning"))
    return files


def _chars_each(context: Context, count: int) -> int:
    """More of an abstract than a prompt shows is not remembered either."""
    return min(context.abstract_chars, max(INPUTS_CHARS // count, LEAST_CHARS))


async def _put(
    bringing: AbstractAsyncContextManager[Brought],
    sandbox: Sandbox,
    known: Mapping[str, Input],
    snapshots: Snapshots,
) -> Input:
    """Copy one file in. What lies there under its name stays: cells that read it may have to run again."""
    async with bringing as brought:
        same = (one for one in known.values() if (one["source"], one["sha256"]) == (brought.source, brought.sha256))
        there = next(same, None)
        names = {path.removeprefix("inputs/") for path in known}
        path = there["path"] if there else f"inputs/{unused_name(brought.name, names)}"
        await sandbox.put(brought.file, path)
        await keep_input(sandbox, brought.file, brought.sha256, snapshots)
        return Input(
            path=path, source=brought.source, size=brought.size, sha256=brought.sha256, abstract="", problem=""
        )


async def _profile(taken: list[Input], sandbox: Sandbox, chars: int) -> list[Input]:
    """Have the profiler look at the files; what it says is data from the sandbox and is checked and cut."""
    paths = [one["path"] for one in taken]
    arguments = ["--chars", str(chars), "--total-seconds", str(PROFILE_SECONDS), *paths]
    result = await sandbox.run_program(PROGRAMS / "profiler", arguments, timeout=PROFILE_SECONDS + START_SECONDS)
    said: dict[str, dict[str, Any]] = {}
    try:
        rows = await read_json(result.stdout.encode())
        said = {str(row["path"]): row for row in rows}
    except (ValueError, TypeError, KeyError):
        pass  # without a profile the model is told so, and looks for itself
    unread = "It was not profiled" + (" in time" if result.status == "timeout" else "") + "; look at it yourself."
    profiled = []
    for one in taken:
        row = said.get(one["path"], {})
        abstract = shorten(str(row.get("abstract") or f"### {one['path']}\n{unread}"), chars)
        profiled.append(
            Input(
                path=one["path"],
                source=one["source"],
                size=one["size"],
                sha256=one["sha256"],
                abstract=abstract,
                problem=shorten(str(row.get("problem") or ""), 500),
            )
        )
    return profiled


def _write(state: State, functions: str, network: Network, context: Context, form: Form) -> list[BaseMessage]:
    system = "\n".join(
        [
            RULES,
            BY_TOOL if form.tools else BY_LIST,
            environment_text(state),
            network_text(network),
            *([functions] if functions else []),
            *([told] if (told := instructions_text(context.instructions)) else []),
        ]
    )
    files = inputs_text(state, int(MOST_CHARS * form.size))
    return [SystemMessage(system), HumanMessage(f"{files}\n\n{_asked(state)}")]


def _asked(state: State) -> str:
    parts = [_earlier(turn) for turn in (state.get("turns") or [])[-3:]]
    parts.append(namespace_table(state.get("namespace") or []))
    parts.append(notes(state.get("notices") or []))
    parts.append(f"The question now:\n{state['question']}")
    return "\n\n".join(part for part in parts if part)


def _earlier(turn: Turn) -> str:
    answer = shorten(turn["answer"], 800) or "(not answered)"
    return f"Asked before: {shorten(turn['question'], 400)}\nAnswered:\n{quoted(answer)}"


def _read(reply: Reply) -> list[str]:
    if reply.calls:
        given = reply.calls[0].arguments.get("steps")
        steps = [str(step) for step in given] if isinstance(given, list) else steps_in(str(given or ""))
    else:
        steps = steps_in(reply.text)
    steps = [shorten(" ".join(step.split()), 400) for step in steps if step.strip()][:MAX_STEPS]
    if not steps:
        raise ReplyProblem("There is no step in this plan. Give one to seven short steps.")
    return steps
