"""What the scripted server can be told to say, and how OpenAI puts it. Tests import it from `scripted_model`."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

PIECE = 7
"""Characters in one streamed piece: few, so that words, tags and JSON are torn apart."""


@dataclass(frozen=True)
class Say:
    """A reply in words."""

    text: str
    finish: str = "stop"
    """`length` for a reply that was cut off, `content_filter` for one that was held back."""
    refusal: str = ""
    """What the model says in place of a reply when it declines."""
    reasoning: str = ""
    """Sent as `reasoning_content`, as several servers do."""
    usage: tuple[int, int] | None = (100, 20)
    """Tokens in and out; None for a server that does not report any."""


class Call:
    """A tool call: `Call("run_python", code="print(1)", purpose="look")`."""

    def __init__(self, name: str, /, **arguments: Any) -> None:
        self.name = name
        self.arguments = json.dumps(arguments, ensure_ascii=False)


class RawCall:
    """A tool call whose arguments are sent as they stand, valid JSON or not."""

    def __init__(self, name: str, arguments: str) -> None:
        self.name = name
        self.arguments = arguments


@dataclass(frozen=True)
class Calls:
    """Several tool calls in one reply, or a call with words beside it or an unusual ending."""

    calls: Sequence[Call | RawCall]
    text: str = ""
    finish: str = "tool_calls"
    usage: tuple[int, int] | None = (100, 20)


@dataclass(frozen=True)
class Fault:
    """An HTTP reply that is no chat completion."""

    status: int
    message: str = "something went wrong"
    code: str = ""
    type: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    """Sent as it stands, in place of OpenAI's error JSON."""


@dataclass(frozen=True)
class Hang:
    """No reply for so many seconds, then a dropped connection. Ends early when the server is stopped."""

    seconds: float


@dataclass(frozen=True)
class Drop:
    """The connection is closed without a word, or in a stream after some pieces of a reply."""

    after: int = 0
    """Pieces that are streamed before. A reply that is not streamed is dropped in the middle of its body."""


Plain: TypeAlias = Say | Call | RawCall | Calls | Fault | Hang | Drop
Scripted: TypeAlias = Plain | Callable[["Request"], Plain]


def bad_key(key: str = "") -> Fault:
    """What OpenAI says to a wrong key; some endpoints repeat the whole key."""
    return Fault(401, f"Incorrect API key provided: {key or 'sk-ab***yz'}.", "invalid_api_key", "invalid_request_error")


def unknown_model(name: str) -> Fault:
    """What OpenAI says to a wrong model name."""
    return Fault(404, f"The model `{name}` does not exist or you do not have access to it.", "model_not_found")


def rate_limited(after: str = "0.01") -> Fault:
    """Too many requests; `after` seconds the client may try again."""
    return Fault(429, "Rate limit reached for requests", "rate_limit_exceeded", headers={"Retry-After": after})


def no_quota() -> Fault:
    """The account is empty. OpenAI sends 429 for that, too."""
    message = "You exceeded your current quota, please check your plan and billing details."
    return Fault(429, message, "insufficient_quota", "insufficient_quota", {"Retry-After": "0.01"})


def too_long() -> Fault:
    """The prompt does not fit into the model's context."""
    message = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens "
    message += "(8900 in the messages, 101 in the functions). Please reduce the length of the messages or functions."
    return Fault(400, message, "context_length_exceeded", "invalid_request_error")


def tools_refused() -> Fault:
    """The model or the server cannot do tool calls."""
    return Fault(400, "registry/library/tiny:1b does not support tools", type="invalid_request_error")


def tool_choice_refused() -> Fault:
    """Tools are fine, but none can be demanded."""
    return Fault(400, "Invalid value for `tool_choice`: only 'auto' is supported", type="invalid_request_error")


def stream_options_refused() -> Fault:
    """An old server that cannot report tokens of streamed replies."""
    return Fault(422, "stream_options: Extra inputs are not permitted")


def html_page(status: int = 200) -> Fault:
    """A web page: what a wrong base URL gives."""
    body = "<!DOCTYPE html><html><head><title>Welcome</title></head><body><h1>It works</h1></body></html>"
    return Fault(status, body=body, headers={"Content-Type": "text/html"})


@dataclass(frozen=True)
class Request:
    """What a client asked for."""

    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: dict[str, Any]

    @property
    def model(self) -> str:
        """The model's name."""
        return str(self.body.get("model", ""))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The prompt, as OpenAI's message dicts."""
        return list(self.body.get("messages", []))

    @property
    def text(self) -> str:
        """The text of all messages, a blank line between them."""
        return "\n\n".join(_text(message) for message in self.messages)

    @property
    def last(self) -> str:
        """The text of the last message."""
        return _text(self.messages[-1]) if self.messages else ""

    @property
    def tools(self) -> list[str]:
        """Names of the tools that were offered."""
        return [tool["function"]["name"] for tool in self.body.get("tools", [])]

    @property
    def choice(self) -> str:
        """The tool that was demanded, `auto` and the like, or empty."""
        choice = self.body.get("tool_choice") or ""
        return str(choice["function"]["name"]) if isinstance(choice, dict) else str(choice)

    @property
    def streamed(self) -> bool:
        """Whether the reply was wanted in pieces."""
        return bool(self.body.get("stream"))


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(str(block.get("text", "")) for block in content)


def _spread(reply: Plain) -> tuple[str, list[Call | RawCall], str, tuple[int, int] | None]:
    match reply:
        case Say():
            return reply.text, [], reply.finish, reply.usage
        case Call() | RawCall():
            return "", [reply], "tool_calls", (100, 20)
        case Calls():
            return reply.text, list(reply.calls), reply.finish, reply.usage
    raise AssertionError(f"not something that a model says: {reply}")


def _usage(usage: tuple[int, int]) -> dict[str, int]:
    return {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}


def _call(call: Call | RawCall, index: int) -> dict[str, Any]:
    return {
        "id": f"call_{index}_{time.monotonic_ns()}",
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }


def whole(reply: Plain, request: Request) -> dict[str, Any]:
    text, calls, finish, usage = _spread(reply)
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [_call(call, index) for index, call in enumerate(calls)]
    if isinstance(reply, Say):
        message["refusal"] = reply.refusal or None
        if reply.reasoning:
            message["reasoning_content"] = reply.reasoning
    whole: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": request.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    if usage:
        whole["usage"] = _usage(usage)
    return whole


def chunks(reply: Plain, request: Request) -> Iterator[dict[str, Any]]:
    text, calls, finish, usage = _spread(reply)
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": request.model}

    def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}

    yield chunk({"role": "assistant", "content": ""})
    if isinstance(reply, Say):
        yield from (chunk({"reasoning_content": piece}) for piece in _pieces(reply.reasoning))
        yield from (chunk({"refusal": piece}) for piece in _pieces(reply.refusal))
    yield from (chunk({"content": piece}) for piece in _pieces(text))
    for index, call in enumerate(calls):
        head = _call(call, index)
        head["function"]["arguments"] = ""
        yield chunk({"tool_calls": [{"index": index, **head}]})
        for piece in _pieces(call.arguments):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, finish)
    if usage and (request.body.get("stream_options") or {}).get("include_usage"):
        yield {**base, "choices": [], "usage": _usage(usage)}


def _pieces(text: str) -> list[str]:
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]
