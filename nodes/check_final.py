"""Look at the proposed answer: the cheap checks first, then one structured question to the model."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

from langgraph.runtime import Runtime

from graph.context import Context, context_of
from graph.events import ModelAnswered, ModelAsked, SentBack, emit, telling
from graph.settings import Prices
from graph.state import Review, State
from models.base import ChooseModel, ModelRefusedError, ModelReplyError, Reply, ReplyProblem, Tokens
from models.completion import ask
from models.drafts import Tell
from models.json_replies import json_in
from models.selection import NOTEBOOK
from nodes.answer_checks.answer_files import files_made
from nodes.answer_checks.answer_form import other_columns
from nodes.answer_checks.checks import CHECKS, unreadable_files
from nodes.budget import add_usage, budget_reached
from nodes.prompts.conversation import situation_of
from nodes.prompts.observation import shorten
from nodes.prompts.prompt import write_review_prompt
from nodes.prompts.tools import TOOLS
from nodes.restoration.restore import RestoreService
from sandboxes.functions import Description
from sandboxes.network import NO_NETWORK, Network

MANY_CELLS = 4
"""So many cells of a turn make its answer worth a review."""
MAX_LACKS = 6


async def check_final(
    state: State,
    runtime: Runtime[Context],
    *,
    choose_model: ChooseModel,
    restoring: RestoreService,
    prices: Prices | None = None,
    network: Network = NO_NETWORK,
) -> State:
    """Accept the proposed answer, or send it back with what it lacks.

    After `max_reviews` rounds the answer passes with what is still held against it as `concerns`. A reviewer who
    declines, or whose reply cannot be read, does not hold the answer up.

    Raises:
        ModelError: the reviewer cannot be reached; the thread can be resumed.
        SandboxError: the sandbox cannot be reached.
    """
    context = context_of(runtime)
    if context.model == NOTEBOOK:  # a report of ours on what ran, in which no model claims anything
        return {"answer": state["proposal"], "concerns": [], "review": None}
    before = state.get("review")
    round_number = (before["round"] if before else 0) + 1
    # In a thread: a long analysis has printed a lot.
    lacks = await asyncio.to_thread(lambda: [lack for check in CHECKS for lack in check(state)])
    notices = list(state.get("notices") or [])
    if files_made(state):
        sandbox = await restoring.open(runtime)
        receipt = await restoring.restore(sandbox, state, runtime)
        notices += receipt.notices
        lacks += [*receipt.concerns, *await unreadable_files(state, sandbox), *await other_columns(state, sandbox)]
    usage = state.get("usage") or {}
    wanted = worth_reviewing(state, context)
    if wanted and not lacks and not budget_reached(state, context, prices) and round_number <= context.max_reviews:
        offer = await restoring.functions.ready()
        if state.get("cells"):  # it is the last step, as a rule: it is proved while the model reads, so nobody waits
            restoring.prove_last(await restoring.open(runtime), state)
        emit(runtime, ModelAsked(node="check_final"))
        lacks, tokens, seconds = await _reviewed(
            state, context, choose_model, offer.descriptions, network, telling(runtime, "check_final", writing=False)
        )
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


async def _reviewed(
    state: State,
    context: Context,
    choose_model: ChooseModel,
    functions: Sequence[Description],
    network: Network,
    tell: Tell,
) -> tuple[list[str], Tokens, float]:
    try:
        asked = await ask(
            await choose_model(context.model),
            partial(write_review_prompt, state, context, functions, network),
            read=_read,
            tools=TOOLS,
            tool_calling=context.tool_calling,
            choose="submit_review",
            situation=situation_of(state, "review"),
            tell=tell,
        )
    except (ModelReplyError, ModelRefusedError) as error:
        return [], error.tokens, 0.0
    return asked.value, asked.tokens, asked.seconds


def worth_reviewing(state: State, context: Context) -> bool:
    """Whether the model's review can find something: several steps or files, many cells, or a cell that failed.

    In 18 questions that one cell answered, it found nothing that the checks had not found, nor in ten where that cell
    also wrote a file. What somebody wants of an answer besides, only the review can find.
    """
    if context.review != "auto":
        return context.review == "always"
    if context.review_instructions.strip():
        return True
    own = [cell for cell in state.get("cells") or [] if cell["turn"] == state["turn"]]
    failed = any(cell["status"] != "ok" for cell in own)
    made = len(files_made({"cells": own}))
    several = len(state.get("plan") or []) > 1 or made > 1 or (made == 1 and len(own) > 1)
    return several or len(own) >= MANY_CELLS or failed


def _read(reply: Reply) -> list[str]:
    verdicts = [call.arguments for call in reply.calls if call.name == "submit_review"]
    said: Any = verdicts[0] if verdicts else json_in(reply.text)
    if not isinstance(said, dict) or not isinstance(said.get("good_enough"), bool):
        raise ReplyProblem(
            "Give the verdict on the answer now, and nothing else: `good_enough` (true or false) and `missing`."
        )
    if said["good_enough"]:
        return []
    missing = said.get("missing")
    lacks = [shorten(" ".join(str(lack).split()), 400) for lack in missing] if isinstance(missing, list) else []
    lacks = [lack for lack in lacks if lack]
    if not lacks:
        raise ReplyProblem("`missing` is empty although the answer is not good enough. Say what it lacks.")
    return lacks
