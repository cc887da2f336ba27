"""A client of the Model Context Protocol, the SDK's own, over `stepwell mcp`."""

import os
import shlex
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult, TextContent

from graph.settings import Settings
from tests.other_process import environment


class Agent:
    """What a test does through a client.

    Args:
        client: The client.
        pid: The server's process; 0: not one of its own.
    """

    def __init__(self, client: Client, pid: int = 0) -> None:
        self.client = client
        self.pid = pid
        self.progress: list[str] = []
        self.killed = False

    async def call(self, tool: str, /, **arguments: Any) -> CallToolResult:
        """Call a tool."""

        async def told(progress: float, total: float | None, message: str | None) -> None:
            self.progress.append(message or "")

        return await self.client.call_tool(tool, arguments, progress_callback=told)

    async def told(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """What a tool says to programs; it must not fail."""
        result = await self.call(tool, **arguments)
        assert not result.is_error, text_of(result)
        found = result.structured_content
        assert isinstance(found, dict)
        return found

    async def refused(self, tool: str, /, **arguments: Any) -> str:
        """The sentence with which a tool fails."""
        result = await self.call(tool, **arguments)
        assert result.is_error, text_of(result)
        return text_of(result)

    def kill(self) -> None:
        """Kill the server."""
        self.killed = True
        os.kill(self.pid, signal.SIGKILL)


def text_of(result: CallToolResult) -> str:
    """The text of a result."""
    return "\n".join(part.text for part in result.content if isinstance(part, TextContent))


@asynccontextmanager
async def agent(
    settings: Settings, folder: Path, *options: str, model: str = "http://127.0.0.1:9", **client: Any
) -> AsyncIterator[Agent]:
    """A client over a server of its own, for the time of the block; the server may have been killed by then.

    Args:
        settings: The server's.
        folder: For a note of its process.
        options: Of `stepwell mcp`.
        model: The address of a model.
        client: What the client can do besides.
    """
    note = folder / "pid"
    words = shlex.join([sys.executable, "-m", "stepwell", "mcp", *options])
    told = environment(settings, model, HOME=str(folder))
    parameters = StdioServerParameters(
        command="/bin/sh", args=["-c", f"echo $$ > {shlex.quote(str(note))}; exec {words}"], env=told, cwd=folder
    )
    failed: BaseException | None = None
    user: Agent | None = None
    try:
        async with Client(stdio_client(parameters), **client) as opened:
            user = Agent(opened, int(note.read_text()))
            try:
                yield user
            except BaseException as error:
                failed = error
                raise
    except BaseExceptionGroup:
        if failed is not None:
            raise failed from None  # not wrapped in what the client's tasks raise
        if user is None or not user.killed:
            raise
