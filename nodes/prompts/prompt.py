"""One prompt for all kinds of call: what stays comes first, what changes comes last.

Every call of a thread begins with the same system message and the same user's files, goes on with the turns and cells
so far, and ends with what holds for this call only. So a provider can keep the beginning in its cache: between two
calls only new messages are added, but where old cells are shortened (`conversation.BLOCK`).
"""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from graph.context import Context
from graph.state import State
from models.base import PromptForm
from models.quotation import quoted
from nodes.answer_checks.answer_files import files_made
from nodes.prompts.conversation import write_conversation
from nodes.prompts.instructions import (
    MOST_CHARS,
    REVIEW_BY_JSON,
    REVIEW_BY_TOOL,
    REVIEW_RULES,
    also_needed,
    system_prompt,
    with_inputs,
)
from nodes.prompts.observation import shorten
from nodes.publishing import shown
from sandboxes.functions import Description
from sandboxes.network import Network

PROPOSAL_CHARS = 20_000
"""Characters of an answer that are reviewed."""


def write_prompt(
    state: State,
    context: Context,
    functions: Sequence[Description],
    network: Network,
    form: PromptForm,
    *,
    closing: str = "",
) -> list[BaseMessage]:
    """The prompt that asks for the next cell or the answer.

    Args:
        state: The thread's state in the middle of a turn.
        context: The knobs of the run.
        functions: What cells may call of the user's program.
        network: What cells may reach.
        form: Whether tools are offered, and how large the prompt may be.
        closing: What is said last.
    """
    system = SystemMessage(system_prompt(state, context, functions, tools=form.tools, network=network))
    limit = int(context.prompt_chars * form.size)
    conversation = write_conversation(state, tools=form.tools, limit=limit, closing=closing)
    return [system, *with_inputs(conversation, state, int(MOST_CHARS * form.size))]


def write_review_prompt(
    state: State,
    context: Context,
    functions: Sequence[Description],
    network: Network,
    form: PromptForm,
) -> list[BaseMessage]:
    """The prompt that asks for a verdict on the proposal: the same conversation, the proposal, and how to judge it."""
    proposal = shorten(state["proposal"], int(PROPOSAL_CHARS * form.size))
    made = quoted("\n".join(shown(path) for path in files_made(state))) or "none"
    rules = f"{REVIEW_RULES}{also_needed(context.review_instructions)}\nFiles and figures made:\n{made}\n"
    before = write_prompt(state, context, functions, network, form)
    if not form.tools:
        return [*before, AIMessage(f"<answer>\n{proposal}\n</answer>"), HumanMessage(rules + REVIEW_BY_JSON)]
    arguments = {"answer": proposal, "skipped": state.get("skipped") or []}
    call = {"name": "submit_answer", "args": arguments, "id": "proposal", "type": "tool_call"}
    return [
        *before,
        AIMessage("", tool_calls=[call]),
        ToolMessage(rules + REVIEW_BY_TOOL, tool_call_id="proposal"),
    ]
