"""MCP servers by configuration: their tools become functions that cells can call.

A session with each server is opened when a run first needs to know what there is, and closed with the run. Each has a
task of its own, because the library wants it to be closed by whoever opened it.
"""

import asyncio
import importlib
import json
import keyword
import logging
import re
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graph.functions.registry import HostFunction
from graph.settings import SettingsError
from models.messages import without_surrogates
from sandboxes.functions import Description, Parameter
from sandboxes.inside.kernel.values import is_finite
from storage.missing_packages import install_command

TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "null": "None",
}
MAX_DOC = 4_000
"""Characters."""
MAX_PARAMETER_DOC = 300


class ToolFailedError(Exception):
    """A tool said that it failed."""


def function_name(server: str, tool: str) -> str:
    """`server_tool`, with what no name in Python can have as `_`."""
    name = re.sub(r"\W", "_", f"{server}_{tool}", flags=re.ASCII).lstrip("_")
    return f"tool_{name}" if not name or name[0].isdigit() else name


def describe_tool(name: str, doc: str, schema: Mapping[str, Any], output: Mapping[str, Any] | None) -> Description:
    """A tool as cells see it. What a server says is data: what does not fit is passed over.

    Args:
        name: The function's name.
        doc: What the server says of the tool.
        schema: The JSON schema of its arguments.
        output: The JSON schema of what it gives, if it names one.
    """
    said = schema.get("properties")
    properties = (
        {key: value if isinstance(value, dict) else {} for key, value in said.items()} if isinstance(said, dict) else {}
    )
    required = schema.get("required")
    needed = set(required) if isinstance(required, list) and all(isinstance(one, str) for one in required) else set()
    named = [key for key in properties if isinstance(key, str) and key.isidentifier() and not keyword.iskeyword(key)]
    parameters = [
        Parameter(
            key, annotation=type_text(properties[key]), optional=key not in needed, default=_default(properties[key])
        )
        for key in sorted(named, key=lambda key: key not in needed)
    ]
    if len(named) < len(properties) or (not properties and schema.get("additionalProperties", True)):
        parameters.append(Parameter("others", "VAR_KEYWORD"))
    lines = [
        f"    {key}: {' '.join(str(value['description']).split())[:MAX_PARAMETER_DOC]}"
        for key, value in properties.items()
        if value.get("description")
    ]
    text = "\n".join([doc.strip(), "", "Args:", *lines] if lines else [doc.strip()])
    returns = type_text(_unwrapped(output)) if output else ""
    return Description(name, without_surrogates(text[:MAX_DOC]).strip(), tuple(parameters), returns)


def type_text(schema: Any) -> str:
    """A JSON schema as an annotation; empty when there is no short one."""
    if not isinstance(schema, dict):
        return ""
    kind = schema.get("type")
    if isinstance(schema.get("enum"), list) and len(repr(schema["enum"])) < 100:
        return f"Literal[{', '.join(repr(one) for one in schema['enum'])}]"
    if isinstance(kind, list):
        return " | ".join(dict.fromkeys(TYPES[one] for one in kind if one in TYPES))
    if isinstance(schema.get("anyOf"), list):
        parts = [type_text(one) for one in schema["anyOf"]]
        return " | ".join(dict.fromkeys(parts)) if all(parts) else ""
    if kind == "array" and (item := type_text(schema.get("items"))):
        return f"list[{item}]"
    return TYPES.get(kind, "") if isinstance(kind, str) else ""


def _default(schema: Mapping[str, Any]) -> Any:
    default = schema.get("default", ...)
    return default if default is ... or is_finite(default) else ...


def _unwrapped(schema: Mapping[str, Any]) -> Any:
    """The schema of the value itself; servers put what is no object into one with the only key `result`."""
    properties = schema.get("properties")
    return properties["result"] if isinstance(properties, dict) and set(properties) == {"result"} else schema


def given(result: Any, output: Mapping[str, Any] | None) -> Any:
    """The result of a tool as JSON; text where it has no structure.

    Raises:
        ToolFailedError: it failed.
    """
    texts = [_content(block) for block in result.content]
    if result.is_error:
        raise ToolFailedError("\n".join(texts)[:2_000] or "the tool failed and said nothing")
    value = result.structured_content
    if value is not None:
        wrapped = output is not None and _unwrapped(output) is not output
        return value["result"] if wrapped and isinstance(value, dict) and set(value) == {"result"} else value
    return texts[0] if len(texts) == 1 else texts or None


def _content(block: Any) -> str:
    text = getattr(block, "text", None)
    if not isinstance(text, str):
        text = getattr(getattr(block, "resource", None), "text", None)
    return text if isinstance(text, str) else f"({getattr(block, 'type', 'something')} left out)"


START_SECONDS = 60.0
"""How long a server may take until it has said which tools it has; some are fetched first."""
END_SECONDS = 10.0
MAX_FILE = 1 << 20
"""Bytes."""
CONNECTION_CLOSED = -32_000
"""The library's own code for a connection that has ended."""
MAX_PAGES = 20
"""Of the list of tools."""


class McpServer(BaseModel):
    """One server in the file: a program that is started, or an address."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    command: str = ""
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    """Beside HOME, PATH and the like; nothing else of this process's environment reaches it."""
    cwd: str | None = None
    url: str = ""
    headers: dict[str, str] = Field(default_factory=dict)
    repeatable: bool | list[str] = False
    """Tools that may be called again after an interruption: all, or these. Not part of the usual format."""
    needs_approval: bool | list[str] = False
    """Tools whose calls somebody has to approve of: all, or these. Not part of the usual format."""
    disabled: bool = False


class McpServers:
    """The servers of one file. A `Source` of functions.

    Args:
        file: JSON: `{"mcpServers": {name: {"command": …, "args": […], "env": {…}} or {"url": …}}}`.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._sessions: list[_Session] = []

    async def open(self) -> Sequence[HostFunction]:
        """Open a session with each server.

        Raises:
            SettingsError: the file cannot be used, a server cannot be reached, or the library is missing.
        """
        servers = await asyncio.to_thread(read_servers, self._file)
        if not servers:
            return []
        library = await asyncio.to_thread(_library)
        self._sessions = [_Session(name, server, library) for name, server in servers.items()]
        opened = await asyncio.gather(*(session.open() for session in self._sessions), return_exceptions=True)
        found: dict[str, HostFunction] = {}
        for functions in opened:
            if isinstance(functions, BaseException):
                await self.close()
                raise functions
            for function in functions:
                name, number = function.name, 2
                while name in found:
                    name, number = f"{function.name}_{number}", number + 1
                found[name] = _named(function, name)
        return list(found.values())

    async def close(self) -> None:
        """Close the sessions; servers that were started end."""
        sessions, self._sessions = self._sessions, []
        await asyncio.gather(*(session.close() for session in sessions))


def _named(function: HostFunction, name: str) -> HostFunction:
    if function.description is None or name == function.name:
        return function
    return replace(function, name=name, description=replace(function.description, name=name))


def read_servers(file: Path) -> dict[str, McpServer]:
    """Read the servers that a file names.

    Raises:
        SettingsError: it cannot be read, or is no such file.
    """
    try:
        with file.open("rb") as stream:
            said = json.loads(stream.read(MAX_FILE))
    except OSError as error:
        raise SettingsError(f"STEPWELL_MCP names {file}, which cannot be read ({error.strerror}).") from None
    except (ValueError, RecursionError):
        raise SettingsError(f"STEPWELL_MCP names {file}, which is not JSON of at most {MAX_FILE:,} bytes.") from None
    named = said.get("mcpServers") if isinstance(said, dict) else None
    if not isinstance(named, dict):
        raise SettingsError(f'{file} has no "mcpServers": {{"name": {{"command": …}} or {{"url": …}}}}.')
    servers: dict[str, McpServer] = {}
    for name, entry in named.items():
        try:
            server = McpServer.model_validate(entry)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise SettingsError(f"The MCP server {name!r} in {file} cannot be used: {where} {first['msg']}.") from None
        if bool(server.command) == bool(server.url):
            raise SettingsError(f"The MCP server {name!r} in {file} needs either a command or a url.")
        if not server.disabled:
            servers[name] = server
    return servers


def _library() -> Any:
    try:
        library = importlib.import_module("mcp")
        for part in ("mcp.client.streamable_http", "jsonschema"):  # else it imports them when a tool is called
            importlib.import_module(part)
    except ImportError as error:
        raise SettingsError(
            f"STEPWELL_MCP needs packages that are not installed ({error}): "
            f"run {install_command('stepwell[mcp]')}, or unset STEPWELL_MCP."
        ) from None
    # What a server prints beside the protocol is told when it cannot be used, and does not belong on the terminal.
    logging.getLogger("mcp").addHandler(logging.NullHandler())
    return library


class _Session:
    """A session with one server."""

    def __init__(self, name: str, server: McpServer, library: Any) -> None:
        self._name = name
        self._server = server
        self._library = library
        self._stop = asyncio.Event()
        self._opening = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._client: Any = None

    async def open(self) -> list[HostFunction]:
        """Open it, and list its tools."""
        ready: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        log = await asyncio.to_thread(tempfile.TemporaryFile, "w+", encoding="utf-8", errors="replace")
        try:
            self._task = asyncio.get_running_loop().create_task(self._keep(ready, log))
            waiting: set[asyncio.Future[Any]] = {ready, self._task}
            await asyncio.wait(waiting, timeout=START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if not ready.done():
                why = f"it did not answer within {START_SECONDS:g} s"
                if self._task.done():
                    why = _words(self._task.exception()) if not self._task.cancelled() else "it was cancelled"
                await self.close()
                said = await asyncio.to_thread(_last_line, log)
                raise SettingsError(
                    f"The MCP server {self._name!r} cannot be used: {why}{f' ({said})' if said else ''}. "
                    "Start it, or take it out of the file that STEPWELL_MCP names."
                )
        finally:
            await asyncio.to_thread(log.close)
        return [self._function(tool) for tool in ready.result()]

    async def _keep(self, ready: "asyncio.Future[list[Any]]", log: IO[str]) -> None:
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(self._library.Client(await self._transport(stack, log)))
            tools: list[Any] = []
            page = await client.list_tools()
            tools += page.tools
            for _ in range(MAX_PAGES):
                if not page.next_cursor:
                    break
                page = await client.list_tools(cursor=page.next_cursor)
                tools += page.tools
            self._client = client
            if not ready.done():
                ready.set_result(tools)
            try:
                await self._stop.wait()
            finally:
                self._client = None

    async def _transport(self, stack: AsyncExitStack, log: IO[str]) -> Any:
        server = self._server
        if server.command:
            started = self._library.StdioServerParameters(
                command=server.command, args=server.args, env=server.env, cwd=server.cwd
            )
            return self._library.stdio_client(started, errlog=log)
        streamable = importlib.import_module("mcp.client.streamable_http")
        http = await asyncio.to_thread(streamable.create_mcp_http_client, server.headers or None)
        return streamable.streamable_http_client(server.url, http_client=await stack.enter_async_context(http))

    def _function(self, tool: Any) -> HostFunction:
        name = function_name(self._name, tool.name)
        output = tool.output_schema if isinstance(tool.output_schema, dict) else None
        description = describe_tool(name, tool.description or tool.title or "", tool.input_schema, output)
        return HostFunction(
            self._caller(tool.name, [parameter.name for parameter in description.parameters], output),
            name,
            repeatable=_applies(self._server.repeatable, tool.name),
            needs_approval=_applies(self._server.needs_approval, tool.name),
            description=description,
        )

    def _caller(self, tool: str, names: list[str], output: dict[str, Any] | None) -> Callable[..., Awaitable[Any]]:
        async def call(*positional: Any, **named: Any) -> Any:
            arguments = {**dict(zip(names, positional, strict=False)), **named}
            if not is_finite(arguments):
                raise ValueError("NaN and infinities cannot be sent to an MCP server; pass None or a text")
            client = await self._living()
            try:
                result = await client.call_tool(tool, arguments)
            except self._library.MCPError as error:
                if error.code == CONNECTION_CLOSED and self._client is client:
                    self._client = None
                    raise ConnectionError(
                        f"the MCP server {self._name!r} ended in the middle of the call; what it did is not known"
                    ) from error
                raise RuntimeError(f"the MCP server {self._name!r} said: {error}") from error
            return given(result, output)

        return call

    async def _living(self) -> Any:
        """The client of a session that is there; one that has ended is opened again.

        Raises:
            SettingsError: the server cannot be used any more.
        """
        async with self._opening:
            if self._client is None:
                await self.close()
                self._stop = asyncio.Event()
                await self.open()
            return self._client

    async def close(self) -> None:
        """End it."""
        self._stop.set()
        if self._task is None:
            return
        if self._client is None:
            self._task.cancel()
        await asyncio.wait((self._task,), timeout=END_SECONDS)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


def _applies(which: bool | list[str], tool: str) -> bool:
    return which if isinstance(which, bool) else tool in which


def _words(error: BaseException | None) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{error}".strip().rstrip(".")[:300] or type(error).__name__


def _last_line(log: IO[str]) -> str:
    log.seek(0)
    lines = log.read(100_000).strip().splitlines()
    return lines[-1].strip()[:200] if lines else ""
