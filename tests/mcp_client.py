"""A client of the Model Context Protocol, the SDK's own, over `stepwell mcp`: on stdin and stdout, and over HTTP."""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types import CallToolResult, TextContent

from graph.settings import Settings
from server.api_keys import line_of, new_key
from tests.other_process import environment
from tests.prepared_command import PREPARED, ForkedProcess, started_anew


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
    settings: Settings,
    folder: Path,
    *options: str,
    model: str = "http://127.0.0.1:9",
    variables: Mapping[str, str] | None = None,
    anew: bool = False,
    **client: Any,
) -> AsyncIterator[Agent]:
    """A client over a server of its own, for the time of the block; the server may have been killed by then.

    Args:
        settings: The server's.
        folder: For a note of its process.
        options: Of `stepwell mcp`.
        model: The address of a model.
        variables: More of the server's environment.
        anew: Whether it is started as editors start it, and not forked.
        client: What the client can do besides.
    """
    note = folder / "pid"
    command, *words = (started_anew if anew else PREPARED.command)("mcp", *options, note=note)
    told = environment(settings, model, HOME=str(folder), **(variables or {}))
    parameters = StdioServerParameters(command=command, args=words, env=told, cwd=folder)
    async with _surviving(stdio_client(parameters), lambda: int(note.read_text()), **client) as user:
        yield user


@asynccontextmanager
async def _surviving(transport: Any, pid: Callable[[], int], **client: Any) -> AsyncIterator[Agent]:
    """A client, for the time of the block; that its server was killed is no error."""
    failed: BaseException | None = None
    user: Agent | None = None
    try:
        async with Client(transport, **client) as opened:
            user = Agent(opened, pid())
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


@dataclass(frozen=True, slots=True)
class Served:
    """A server with users."""

    address: str
    keys: list[str]
    """Of `user0` and `user1`."""
    process: ForkedProcess


@asynccontextmanager
async def served(
    settings: Settings, folder: Path, *options: str, model: str = "http://127.0.0.1:9", **more: str
) -> AsyncIterator[Served]:
    """A server over HTTP, for the time of the block; it may have been killed by then.

    Args:
        settings: Its own.
        folder: For its users' keys, which stay the same for another server.
        options: Of `stepwell mcp`.
        model: The address of a model.
        more: Further variables.
    """
    notes = [folder / f"key{number}" for number in range(2)]
    for note in notes:
        if not note.exists():
            note.write_text(new_key())
    keys = [note.read_text() for note in notes]
    (folder / "keys").write_text("".join(f"{line_of(f'user{n}', key)}\n" for n, key in enumerate(keys)))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    told = environment(settings, model, STEPWELL_API_KEYS=str(folder / "keys"), **more)
    words = ("mcp", "--http", str(port), *options)
    process = await asyncio.to_thread(ForkedProcess, *words, env=told, cwd=folder)
    address = f"http://127.0.0.1:{port}/mcp"
    try:
        async with asyncio.timeout(60), httpx.AsyncClient() as client:
            while True:
                try:
                    await client.get(address)
                    break
                except httpx.TransportError:
                    assert process.poll() is None
                    await asyncio.sleep(0.1)
        yield Served(address, keys, process)
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait, 60)


@asynccontextmanager
async def user_of(server: Served, number: int, **client: Any) -> AsyncIterator[Agent]:
    """A client of one of the users."""
    async with create_mcp_http_client({"Authorization": f"Bearer {server.keys[number]}"}) as http:
        transport = streamable_http_client(server.address, http_client=http)
        async with _surviving(transport, lambda: server.process.forked, **client) as user:
            yield user


@asynccontextmanager
async def http_agent(
    settings: Settings, folder: Path, *options: str, model: str = "http://127.0.0.1:9", **client: Any
) -> AsyncIterator[Agent]:
    """As `agent`, over HTTP."""
    async with served(settings, folder, *options, model=model) as server, user_of(server, 0, **client) as user:
        yield user


def settings_over_http(settings: Settings) -> Settings:
    """Where the threads are of the one user who has come."""
    [home] = (settings.home / "users").iterdir()
    return settings.model_copy(update={"home": home})
