"""What callers over MCP get: the answer as text, and what else came of the run as structured content.

LangGraph's MCP endpoint answers with the Python text of a run's output: the whole conversation, and the interrupts.
"""

import ast
import asyncio
import json
from typing import Any

from starlette._utils import get_route_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 4_000_000
"""A longer result is left as it is: reading it would take long."""


class McpResults:
    """ASGI middleware for the MCP endpoint.

    Args:
        app: What it stands before.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: D102 - ASGI
        if scope["type"] != "http" or scope["method"] != "POST" or get_route_path(scope).rstrip("/") != "/mcp":
            await self._app(scope, receive, send)
            return
        start: Message | None = None
        body = bytearray()

        async def held(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_json(message):
                start = message
                return
            if start is None or message["type"] != "http.response.body":
                await send(message)
                return
            body.extend(message.get("body", b""))
            if message.get("more_body", False):
                return
            content = await asyncio.to_thread(readable, bytes(body)) if len(body) <= MOST_BYTES else bytes(body)
            headers = [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]
            await send({**start, "headers": [*headers, (b"content-length", str(len(content)).encode())]})
            await send({"type": "http.response.body", "body": content})

        await self._app(scope, receive, held)


def readable(body: bytes) -> bytes:
    """An answer of the endpoint with a run's result in readable form; any other answer unchanged."""
    try:
        payload = json.loads(body)
        [part] = payload["result"]["content"]
        output = ast.literal_eval(part["text"])
        shown = _text(output)
    except (ValueError, SyntaxError, TypeError, LookupError, AttributeError, RecursionError, MemoryError):
        return body  # an error, or the answer to another method
    payload["result"]["content"] = [{"type": "text", "text": shown}]
    for_pages = ("messages", "ui")
    payload["result"]["structuredContent"] = {key: value for key, value in output.items() if key not in for_pages}
    return json.dumps(payload, ensure_ascii=False).encode("utf-8", "replace")


def _text(output: dict[str, Any]) -> str:
    if waiting := output.get("__interrupt__"):
        asked = waiting[0]["value"]
        [action] = asked["action_requests"]
        return f"The analysis waits for somebody's decision. {asked['ask']}\n\n{action['description']}"
    answer = output["messages"][-1]["content"]
    concerns = "".join(f"\n- {concern}" for concern in output.get("concerns") or [])
    return f"{answer}\n\nNot verified:{concerns}" if concerns else str(answer)


def _is_json(message: Message) -> bool:
    headers = {name.lower(): value for name, value in message["headers"]}
    return bool(headers.get(b"content-type", b"").startswith(b"application/json"))
