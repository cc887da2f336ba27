"""Ask the model for the next cell, or for the answer."""

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolCall
from langgraph.runtime import Runtime

from graph.context import Context, context_of
from graph.events import ModelAnswered, ModelAsked, Proposed, emit
from graph.functions.host_functions import NO_FUNCTIONS, HostFunctions
from graph.settings import Prices
from graph.state import Pending, State
from models.base import ChooseModel, PromptForm, Reply, ReplyProblem
from models.completion import ask
from models.replies import answer_in, code_in, prose_around
from nodes.budget import add_usage, budget_reached
from nodes.prompts.conversation import situation_of, write_conversation
from nodes.prompts.instructions import ANSWER_TOOL, CELL_TOOL, MOST_CHARS, last_call, system_prompt, with_inputs
from nodes.prompts.observation import shorten
from sandboxes.network import NO_NETWORK, Network

MAX_PARALLEL_CELLS = 5
"""Cells taken from one reply; they run one after the other."""
FIRST_LINE = re.compile(r"^\s*#\s*step\s+(\d{1,4})\s*[:.\-]\s*(.*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Next:
    """What the model wants next: cells, or an answer."""

    cells: tuple[Pending, ...] = ()
    answer: str = ""
    skipped: tuple[str, ...] = ()


async def generate(
    state: State,
    runtime: Runtime[Context],
    *,
    choose_model: ChooseModel,
    prices: Prices | None = None,
    functions: HostFunctions = NO_FUNCTIONS,
    network: Network = NO_NETWORK,
) -> State:
    """Ask for the next cell or the answer of this turn.

    Raises:
        ModelError: no usable reply could be had; the thread can be resumed.
        SettingsError: a server that offers functions cannot be reached.
    """
    context = context_of(runtime)
    offer = await functions.ready()
    if reason := budget_reached(state, context, prices):
        return _stopped(state, reason)
    used = sum(cell["turn"] == state["turn"] for cell in state.get("cells") or [])
    must_answer = used >= context.max_cells
    tools = [ANSWER_TOOL] if must_answer else [CELL_TOOL, ANSWER_TOOL]

    def write(form: PromptForm) -> Sequence[BaseMessage]:
        limit = int(context.prompt_chars * form.size)
        said = system_prompt(state, context, offer.descriptions, tools=form.tools, network=network)
        system = SystemMessage(said)
        closing = last_call(context.max_cells, tools=form.tools) if must_answer else ""
        asked = write_conversation(state, tools=form.tools, limit=limit, closing=closing)
        return [system, *with_inputs(asked, state, int(MOST_CHARS * form.size))]

    def read(reply: Reply) -> Next:
        wanted = _read_calls(reply) if reply.calls else _read_text(reply)
        if must_answer and wanted.cells:
            raise ReplyProblem(last_call(context.max_cells, tools=bool(reply.calls)))
        return replace(wanted, cells=wanted.cells[: context.max_cells - used])

    emit(runtime, ModelAsked(node="generate"))
    asked = await ask(
        await choose_model(context.model),
        write,
        read=read,
        tools=tools,
        tool_calling=context.tool_calling,
        choose="submit_answer" if must_answer else "",
        situation=situation_of(state, "answer" if must_answer else "cell", offer.descriptions, network),
    )
    emit(runtime, ModelAnswered("generate", asked.tokens.input, asked.tokens.output, asked.seconds))
    return {**_wanted(asked.value, state, runtime), "notices": [], "usage": add_usage(state, "generate", asked.tokens)}


def _wanted(reply: Next, state: State, runtime: Runtime[Context]) -> State:
    """What State holds of the cells, or the answer, that the model gave."""
    if reply.cells:
        return {
            "messages": [_as_message(reply.cells)],
            "pending": list(reply.cells),
            "approval": context_of(runtime).approval_after(state.get("approval")),
        }
    emit(runtime, Proposed(reply.answer))
    return {"proposal": reply.answer, "skipped": list(reply.skipped), "pending": []}


def _read_calls(reply: Reply) -> Next:
    answers = [call for call in reply.calls if call.name == "submit_answer"]
    cells = [call for call in reply.calls if call.name == "run_python"]
    if cells:
        pending = []
        for position, call in enumerate(cells[:MAX_PARALLEL_CELLS]):
            code = _python(str(call.arguments.get("code") or ""))
            if not code.strip():
                raise ReplyProblem("run_python was called without `code`. Call it again with the Python to run.")
            pending.append(
                _pending(
                    code,
                    purpose=str(call.arguments.get("purpose") or ""),
                    step=call.arguments.get("step"),
                    thought=reply.text if position == 0 else "",
                    call_id=call.id,
                )
            )
        return Next(cells=tuple(pending))
    answer = str(answers[0].arguments.get("answer") or "").strip()
    if not answer:
        raise ReplyProblem("submit_answer was called without `answer`. Call it again with the whole answer.")
    skipped = answers[0].arguments.get("skipped")
    return Next(answer=answer, skipped=tuple(str(item) for item in skipped) if isinstance(skipped, list) else ())


def _read_text(reply: Reply) -> Next:
    answer = answer_in(reply.text)
    if answer is not None:
        if not answer.strip():
            raise ReplyProblem("The <answer> is empty. Write the whole answer in it.")
        return Next(answer=answer.strip())
    if code := code_in(reply.text):
        return Next(cells=(_pending(code, purpose="", step=None, thought=prose_around(reply.text), call_id=""),))
    if not reply.text.strip():
        raise ReplyProblem("The reply holds neither code nor an answer.")
    return Next(answer=reply.text.strip())


def _python(code: str) -> str:
    """The code of a tool call; some models put a fence around it."""
    return (code_in(code) or code).strip("\n") if code.lstrip().startswith("```") else code.strip("\n")


def _pending(code: str, *, purpose: str, step: Any, thought: str, call_id: str) -> Pending:
    first = FIRST_LINE.match(code)
    if first and not purpose:
        step, purpose = int(first[1]), first[2]
    if not purpose:
        lines = [line.strip() for line in code.splitlines() if line.strip()]
        purpose = lines[0].lstrip("# ") if lines else "an empty cell"
    number = step if isinstance(step, int) and not isinstance(step, bool) and 0 < step < 1_000 else 0
    return Pending(
        purpose=shorten(" ".join(purpose.split()), 200),
        code=code,
        step=number,
        thought=shorten(thought.strip(), 2_000),
        call_id=call_id,
    )


def _as_message(cells: Sequence[Pending]) -> AIMessage:
    for cell in cells:
        cell["call_id"] = cell["call_id"] or f"call_{uuid.uuid4().hex[:12]}"
    calls = [
        ToolCall(name="run_python", args={"purpose": cell["purpose"], "code": cell["code"]}, id=cell["call_id"])
        for cell in cells
    ]
    return AIMessage(cells[0]["thought"], tool_calls=calls)


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
