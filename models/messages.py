"""What came back from a model: its text, its calls, its tokens, and what makes it unusable at first sight."""

import json
import re
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from models.base import Reply, ReplyProblem, Tokens, ToolCall
from models.replies import without_thought

RAW_ARGUMENTS = "raw_arguments"
"""Key in `additional_kwargs`: the arguments of each streamed tool call as they came, by the call's index."""

NO_MODEL = "stepwell_no_model"
"""Key in `response_metadata`: the reply is a program's that asked nobody, and costs nothing."""

CHARACTERS_PER_TOKEN = 4

_CUT_OFF = ("length", "max_tokens", "max_output_tokens", "context_window")
_DECLINED = ("content_filter", "content_filtered", "refusal", "safety", "guardrail", "prohibited", "blocklist", "spii")


class Declined(Exception):  # noqa: N818 - one of the ways in which a reply can be, like ReplyProblem
    """The model or a filter at its endpoint declined. Its text is the model's words; may be empty."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A tool call as it came."""

    id: str
    name: str
    raw: str | None
    arguments: Any


def read_message(message: AIMessage, tools: Collection[str]) -> Reply:
    """Read a model's message.

    Args:
        message: As LangChain gives it, whole or merged from a stream.
        tools: Names of the tools that there are, whether or not they were offered as tools.

    Raises:
        Declined: it is a refusal.
        ReplyProblem: it is empty, cut off, or holds a call that cannot be made; the text tells the model.
    """
    text = without_thought(str(message.text)).strip()
    calls = _calls(message)
    ending = _ending(message)
    refusal = _refusal(message)
    if refusal or any(word in ending for word in _DECLINED):
        raise Declined(refusal or text)
    if any(word in ending for word in _CUT_OFF):
        raise ReplyProblem(
            "Your reply was cut off because it was too long. Write less: a shorter text, or a smaller piece of code."
        )
    if not calls and tools:
        calls, text = _written_calls(text, tools)
    if not tools:
        calls = []
    checked = tuple(_checked(call, tools) for call in calls)
    if not text and not checked:
        raise ReplyProblem("Your reply was empty. Answer now.")
    return _whole(Reply(text, checked))


def without_surrogates(text: str) -> str:
    """A text without halves of surrogate pairs, which can be neither stored nor sent."""
    return text.encode("utf-8", "replace").decode()


def _whole(reply: Reply) -> Reply:
    calls = tuple(
        replace(call, id=without_surrogates(call.id), arguments=_whole_json(call.arguments)) for call in reply.calls
    )
    return Reply(without_surrogates(reply.text), calls)


def _whole_json(value: Any) -> Any:
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, dict):
        return {_whole_json(key): _whole_json(one) for key, one in value.items()}
    return [_whole_json(one) for one in value] if isinstance(value, list) else value


def tokens_of(message: AIMessage, prompt: Sequence[BaseMessage], tools: Sequence[dict[str, Any]]) -> Tokens:
    """What a reply cost: as reported, else estimated from the number of characters."""
    if message.response_metadata.get(NO_MODEL) is True:
        return Tokens()
    usage = message.usage_metadata
    if usage and (usage["input_tokens"] or usage["output_tokens"]):
        return Tokens(1, usage["input_tokens"], usage["output_tokens"])
    written = len(str(message.text)) + sum(len(json.dumps(call["args"], default=str)) for call in message.tool_calls)
    return estimate(prompt, tools, written)


def estimate(prompt: Sequence[BaseMessage], tools: Sequence[dict[str, Any]], written: int = 0) -> Tokens:
    """The tokens of a prompt, and of a reply of so many characters, when nobody reported them."""
    read = sum(len(str(message.text)) for message in prompt) + (len(json.dumps(tools)) if tools else 0)
    return Tokens(1, -(-read // CHARACTERS_PER_TOKEN), -(-written // CHARACTERS_PER_TOKEN), estimated=True)


def as_text(message: AIMessage, *, limit: int = 4_000) -> str:
    """An unusable reply as plain text that can be shown to the model: no reasoning, no tool calls that want an answer.

    Never empty, since some endpoints refuse empty messages; the middle of a long one is left out.
    """
    text = without_thought(str(message.text)).strip()
    calls = [f"(called {call.name or 'a tool'} with {_raw_arguments(call)})" for call in _calls(message)]
    whole = "\n".join([text, *calls] if text else calls) or "(nothing)"
    # Endpoints refuse half a surrogate pair and control characters, even if a model wrote them.
    whole = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", without_surrogates(whole))
    if len(whole) > limit:
        whole = f"{whole[: limit // 2]}\n[…]\n{whole[-limit // 2 :]}"
    return whole


def _raw_arguments(call: _Call) -> str:
    return call.raw if call.raw is not None else json.dumps(call.arguments, ensure_ascii=False, default=str)


def _calls(message: AIMessage) -> list[_Call]:
    raw = list(message.additional_kwargs.get(RAW_ARGUMENTS, {}).values())
    calls = [_Call(call["id"] or _new_id(), call["name"], None, call["args"]) for call in message.tool_calls]
    # Streamed arguments were already "repaired" by LangChain; where they differ from what came, what came counts.
    if len(raw) == len(calls) and not message.invalid_tool_calls:
        calls = [_Call(call.id, call.name, came, call.arguments) for call, came in zip(calls, raw, strict=True)]
    for broken in message.invalid_tool_calls:
        calls.append(_Call(broken["id"] or _new_id(), broken["name"] or "", broken["args"] or "", None))
    return calls


def _new_id() -> str:
    """An id for a call of a server that gives none; the message that answers a call must name it."""
    return f"call_{uuid.uuid4().hex[:24]}"


def _checked(call: _Call, tools: Collection[str]) -> ToolCall:
    # `functions.run_python`, `run_python<|channel|>commentary`: slips of the models' own templates.
    match = re.match(r"(?:functions?[.:])?([\w-]+)", call.name)
    name = match[1] if match and match[1] in tools else call.name
    if name not in tools:
        raise ReplyProblem(f"There is no tool named {call.name[:80]!r}. The tools are: {', '.join(tools)}.")
    arguments = call.arguments
    if call.raw is not None:
        try:
            arguments = json.loads(call.raw, strict=False) if call.raw.strip() else {}
        except ValueError as error:
            raise ReplyProblem(
                f"The arguments of your call of {name} are not valid JSON ({error}). Call it again with one JSON "
                'object; inside its strings write " as \\" and a line break as \\n.'
            ) from error
    if not isinstance(arguments, dict):
        raise ReplyProblem(f"The arguments of your call of {name} must be one JSON object, with a value for each name.")
    return ToolCall(call.id, name, arguments)


def _written_calls(text: str, tools: Collection[str]) -> tuple[list[_Call], str]:
    """Calls that a server without a parser for them left in the text, and the text without them."""
    before, *pieces = text.split("<tool_call>")
    calls, left = [], [before]
    for piece in pieces:
        body = piece.lstrip()
        try:
            call, end = json.JSONDecoder(strict=False).raw_decode(body)
        except (ValueError, RecursionError):
            call, end = None, 0
        if isinstance(call, dict) and call.get("name") in tools:
            calls.append(_Call("", call["name"], None, call.get("arguments", call.get("parameters", {}))))
            left.append(body[end:].lstrip().removeprefix("</tool_call>"))
        else:
            left.append("<tool_call>" + piece)
    return calls, "".join(left).strip()


def _ending(message: AIMessage) -> str:
    """Why the model stopped, in lower case, under any provider's name for it."""
    metadata = message.response_metadata
    reasons = [metadata.get(key) for key in ("finish_reason", "stop_reason", "stopReason", "done_reason")]
    details = metadata.get("incomplete_details")
    if isinstance(details, dict):
        reasons.append(details.get("reason"))
    return " ".join(str(reason) for reason in reasons if reason).lower()


def _refusal(message: AIMessage) -> str:
    refusal = message.additional_kwargs.get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        return refusal.strip()
    if isinstance(message.content, list):
        blocks = [block for block in message.content if isinstance(block, dict)]
        # In LangChain's standard form a refusal is wrapped in a block of its own kind.
        blocks += [block["value"] for block in blocks if isinstance(block.get("value"), dict)]
        return " ".join(str(block.get("refusal", "")) for block in blocks if block.get("type") == "refusal").strip()
    return ""


CACHE_POINT = {"type": "ephemeral"}
"""Anthropic's mark at the end of what may be cached."""


def with_cache_points(prompt: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The same prompt with two of Anthropic's cache points: after the system message, and before the last message.

    The last message ends with what holds for one call only. What stands before it comes again in the next call, so it
    is read from the cache then (https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching).
    """
    system = next((place for place, message in enumerate(prompt) if isinstance(message, SystemMessage)), None)
    kinds = (HumanMessage, ToolMessage)
    before = (place for place in reversed(range(len(prompt) - 1)) if isinstance(prompt[place], kinds))
    marked = {system, next(before, None)} - {None}
    return [_with_cache_point(message) if place in marked else message for place, message in enumerate(prompt)]


def _with_cache_point(message: BaseMessage) -> BaseMessage:
    if not message.text:
        return message
    block = {"type": "text", "text": message.text, "cache_control": CACHE_POINT}
    return message.model_copy(update={"content": [block]})
