"""Look at the proposed answer: the cheap checks first, then one structured question to the model."""

import asyncio
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime

from graph.context import Context, context_of
from graph.events import ModelAnswered, ModelAsked, SentBack, emit
from graph.settings import Prices
from graph.state import Review, State
from models.base import ChooseModel, ModelRefusedError, ModelReplyError, PromptForm, Reply, ReplyProblem, Tokens
from models.completion import ask
from models.json_replies import json_in
from models.quotation import INPUTS, quoted
from nodes.answer_checks.answer_files import files_made
from nodes.answer_checks.checks import CHECKS, unreadable_files
from nodes.budget import add_usage, budget_reached
from nodes.prompts.conversation import observed, situation_of
from nodes.prompts.instructions import (
    REVIEW_BY_JSON,
    REVIEW_BY_TOOL,
    REVIEW_RULES,
    REVIEW_TOOL,
    also_needed,
    inputs_text,
)
from nodes.prompts.observation import shorten
from nodes.publishing import shown as shown_path
from nodes.restoration.restore import RestoreService

EVIDENCE_CHARS = 16_000
MAX_LACKS = 6


async def check_final(
    state: State,
    runtime: Runtime[Context],
    *,
    choose_model: ChooseModel,
    restoring: RestoreService,
    prices: Prices | None = None,
) -> State:
    """Accept the proposed answer, or send it back with what it lacks.

    After `max_reviews` rounds the answer passes with what is still held against it as `concerns`. A reviewer who
    declines, or whose reply cannot be read, does not hold the answer up.

    Raises:
        ModelError: the reviewer cannot be reached; the thread can be resumed.
        SandboxError: the sandbox cannot be reached.
    """
    context = context_of(runtime)
    before = state.get("review")
    round_number = (before["round"] if before else 0) + 1
    # In a thread: a long analysis has printed a lot.
    lacks = await asyncio.to_thread(lambda: [lack for check in CHECKS for lack in check(state)])
    notices = list(state.get("notices") or [])
    if files_made(state):
        sandbox = await restoring.open(runtime)
        receipt = await restoring.restore(sandbox, state, runtime)
        notices += receipt.notices
        lacks += [*receipt.concerns, *await unreadable_files(state, sandbox)]
    usage = state.get("usage") or {}
    if not lacks and not budget_reached(state, context, prices) and round_number <= context.max_reviews:
        emit(runtime, ModelAsked(node="check_final"))
        lacks, tokens, seconds = await _reviewed(state, context, choose_model)
        emit(runtime, ModelAnswered("check_final", tokens.input, tokens.output, seconds))
        usage = add_usage(state, "check_final", tokens)
    if lacks and round_number <= context.max_reviews:
        lacks = lacks[:MAX_LACKS]
        emit(runtime, SentBack(lacks))
        cells = state.get("cells") or []
        review = Review(
            after_cell=cells[-1]["number"] if cells else 0,
            answer=state["proposal"],
            missing=lacks,
            round=round_number,
        )
        return {"review": review, "proposal": "", "notices": notices, "usage": usage}
    return {"answer": state["proposal"], "concerns": lacks, "review": None, "usage": usage}


async def _reviewed(state: State, context: Context, choose_model: ChooseModel) -> tuple[list[str], Tokens, float]:
    def write(form: PromptForm) -> list[BaseMessage]:
        return [
            SystemMessage(
                REVIEW_RULES
                + also_needed(context.review_instructions)
                + (REVIEW_BY_TOOL if form.tools else REVIEW_BY_JSON)
            ),
            HumanMessage(_evidence(state, int(EVIDENCE_CHARS * form.size))),
        ]

    try:
        asked = await ask(
            await choose_model(context.model),
            write,
            read=_read,
            tools=[REVIEW_TOOL],
            tool_calling=context.tool_calling,
            choose="submit_review",
            situation=situation_of(state, "review"),
        )
    except (ModelReplyError, ModelRefusedError) as error:
        return [], error.tokens, 0.0
    return asked.value, asked.tokens, asked.seconds


def _evidence(state: State, room: int) -> str:
    own = [cell for cell in state.get("cells") or [] if cell["turn"] == state["turn"]]
    shown = own[-max(room // 600, 1) :]
    each = max(room // max(len(shown), 1), 600)
    cells = "\n\n".join(
        f"{shorten(cell['purpose'], 160)}\n{quoted(shorten(cell['code'], each // 3))}\n---\n"
        f"{observed(cell, each - each // 3)}"
        for cell in shown
    )
    plan = "\n".join(f"{number}. {step['text']}" for number, step in enumerate(state.get("plan") or [], 1))
    earlier = "\n".join(
        f"{shorten(turn['question'], 200)}\n{quoted(shorten(turn['answer'], 600))}"
        for turn in (state.get("turns") or [])[-3:]
    )
    parts = {
        "Question": shorten(state["question"], 4_000),
        "Asked and answered before": earlier,
        "The user's files": inputs_text(state, room // 4).removeprefix(INPUTS),
        "Plan": plan,
        "Plan steps that were left out, and why": "\n".join(state.get("skipped") or []) or "none",
        "The cells: purpose, code, and after --- what they printed": cells or "(no cell ran)",
        "Files and figures made": quoted("\n".join(shown_path(path) for path in files_made(state))) or "none",
        "Proposed answer": quoted(shorten(state["proposal"], 8_000)),
    }
    return "\n\n".join(f"{title}:\n{text}" for title, text in parts.items() if text)


def _read(reply: Reply) -> list[str]:
    said: Any = reply.calls[0].arguments if reply.calls else json_in(reply.text)
    if not isinstance(said, dict) or not isinstance(said.get("good_enough"), bool):
        raise ReplyProblem("`good_enough` (true or false) is missing.")
    if said["good_enough"]:
        return []
    missing = said.get("missing")
    lacks = [shorten(" ".join(str(lack).split()), 400) for lack in missing] if isinstance(missing, list) else []
    lacks = [lack for lack in lacks if lack]
    if not lacks:
        raise ReplyProblem("`missing` is empty although the answer is not good enough. Say what it lacks.")
    return lacks
