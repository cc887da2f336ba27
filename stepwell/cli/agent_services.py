"""What the commands about agents and editors do: serve over stdin and stdout or HTTP, write configurations."""

import asyncio
import difflib
import gc
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from pydantic import BaseModel

from graph.settings import Settings, SettingsError, read_settings
from sandboxes.local.isolation_choice import choose_ahead
from stepwell.cli.exits import FAILED, FINISHED, PAUSED, print_error, warn_without_isolation
from stepwell.errors import UsageError
from stepwell.last_session import OF_EDITORS, TAG, LastSession, begin_early, bringing_back
from storage.missing_packages import install_command

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from graph.context import Context
    from stepwell.mcp_server.server import SessionsOf

T = TypeVar("T")

SHORT_TURN = 0.0005
"""Seconds after which a thread gives way to another one while much is imported; usually it is ten times as long."""
EXTRAS = {"Agents need": "mcp", "Editors need": "acp", "The kernel needs": "jupyter"}
"""Who needs an extra, and which."""


def _not_installed(who: str) -> SettingsError:
    command = install_command(f"stepwell[{EXTRAS[who]}]")
    return SettingsError(f"{who} packages that are not installed: run {command}.")


def serve_stdio(folders: Sequence[Path], *, approve: bool) -> int:
    """Serve one client over stdin and stdout, until it leaves or a signal comes."""
    gc.disable()  # until all is imported: of that nothing is garbage
    settings = read_settings()
    _check(folders)
    last = begin_early(settings, tag=TAG)
    warn_without_isolation(settings)
    if sys.stdin.isatty():
        print_error("This speaks to agents, not to people; `stepwell mcp install --client NAME` adds it to one.")
    return asyncio.run(_stdio(settings, folders, last, approve=approve))


async def _stdio(settings: Settings, folders: Sequence[Path], last: LastSession | None, *, approve: bool) -> int:
    async with bringing_back(last, settings) as ahead, AsyncExitStack() as stack:
        open_sessions, make_server = await _beside(_load_server)
        opening = open_sessions(settings, context=_context(approve=approve), roots=folders, ahead=ahead)
        sessions = await stack.enter_async_context(opening)

        async def sessions_of(call: object) -> object:
            return sessions

        server = make_server(sessions_of)  # type: ignore[arg-type]  # the call says nothing: there is one client
        return await _until_signal(server.run_stdio_async())


async def _beside(load: Callable[[], T]) -> T:
    """Import much, beside the session that is brought back: it asks for little, and is not to wait for its turn."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SHORT_TURN)
    try:
        with _models_built_when_used():
            return await asyncio.to_thread(load)
    finally:
        sys.setswitchinterval(before)


@contextmanager
def _models_built_when_used() -> Iterator[None]:
    """Have models of pydantic that are defined meanwhile built when they are first used.

    Packages that a server imports define a thousand of them, and a session uses a few dozen.
    """
    before = BaseModel.model_config
    BaseModel.model_config = {**before, "defer_build": True}
    try:
        yield
    finally:
        BaseModel.model_config = before


def _load_server() -> "tuple[Any, Callable[[SessionsOf], MCPServer[Any]]]":
    from stepwell.mcp_server.client_sessions import open_client_sessions

    try:
        from stepwell.mcp_server.server import make_server
    except ImportError:
        raise _not_installed("Agents need") from None
    gc.freeze()
    gc.enable()
    return open_client_sessions, make_server


def serve_editor(*, approve: bool) -> int:
    """Be an editor's agent over stdin and stdout, until it leaves or a signal comes."""
    settings = read_settings()
    _check_streams()
    last = begin_early(settings, OF_EDITORS)
    warn_without_isolation(settings)
    if sys.stdin.isatty():
        print_error("This speaks to editors, not to people: name the command `stepwell acp` in your editor's settings.")
    return asyncio.run(_editor(settings, last, approve=approve))


def _check_streams() -> None:
    """Refuse streams that asyncio cannot wait for: files, `/dev/null`, none."""
    for name, stream, event in (("stdin", sys.stdin, EVENT_READ), ("stdout", sys.stdout, EVENT_WRITE)):
        with DefaultSelector() as selector:
            try:
                selector.register(stream, event)
            except (OSError, ValueError):
                raise UsageError(
                    f"`stepwell acp` speaks with an editor over stdin and stdout, and {name} is a file or closed here: "
                    "name the command in your editor's settings, or give it pipes."
                ) from None


async def _editor(settings: Settings, last: LastSession | None, *, approve: bool) -> int:
    async with bringing_back(last, settings) as ahead, AsyncExitStack() as stack:
        open_agent, run_agent = await _beside(_load_agent)
        agent = await stack.enter_async_context(open_agent(settings, _context(approve=approve), ahead=ahead))
        return await _until_signal(run_agent(agent, use_unstable_protocol=True))


def _load_agent() -> tuple[Any, Any]:
    try:
        from acp import run_agent

        from stepwell.acp_agent.agent import open_agent
    except ImportError:
        raise _not_installed("Editors need") from None
    return open_agent, run_agent


async def _until_signal(work: Coroutine[Any, Any, None]) -> int:
    serving = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, serving.cancel)
    with suppress(asyncio.CancelledError):
        await serving
    return PAUSED if serving.cancelled() else FINISHED


def serve_http(host: str, port: int, folders: Sequence[Path], *, approve: bool) -> int:
    """Serve clients over HTTP until a signal comes."""
    settings = read_settings()
    _check(folders)
    choose_ahead(settings.local)
    warn_without_isolation(settings)
    try:
        from server.mcp_app import serve
    except ImportError:
        raise _not_installed("Agents need") from None

    print_error(f"Agents reach it at http://{host}:{port}/mcp. Ctrl-C ends it; sessions stay.")
    asyncio.run(serve(settings, host, port, folders, context=_context(approve=approve)))
    return PAUSED


def _check(folders: Sequence[Path]) -> None:
    for folder in folders:
        if not folder.expanduser().is_dir():
            raise UsageError(f"{folder} is no folder; give --files a folder that agents may name files in.")


def _context(*, approve: bool) -> "Context | None":
    from graph.context import Context  # here, so that what sandboxes need begins before LangGraph is imported

    return Context(approval="cells") if approve else None


def install(name: str, folders: Sequence[Path], *, approve: bool, removes: bool, asks: bool) -> int:
    """Change a client's configuration, once the user has seen how.

    Args:
        name: The client.
        folders: What agents may name files in.
        approve: Whether each cell waits for approval.
        removes: Whether the entry is taken out.
        asks: Whether the user is asked.
    """
    from stepwell.mcp_server import clients

    _check(folders)
    options = [word for folder in folders for word in ("--files", str(folder.expanduser().resolve()))]
    given = {key: os.environ[key] for key in ("STEPWELL_HOME",) if os.environ.get(key)}
    client = clients.client_named(name)
    options += ["--approve"] if approve else []
    change = clients.remove(client) if removes else clients.install(client, options, given)
    if change.after == change.before:
        there = "has no entry of Stepwell" if removes else "has this entry already"
        typer.echo(f"{change.file} {there}; nothing is changed.")
        return FINISHED
    lines = difflib.unified_diff(
        change.before.splitlines(), change.after.splitlines(), str(change.file), str(change.file), lineterm="", n=2
    )
    typer.echo("\n".join(lines))
    if asks and not (sys.stdin.isatty() and typer.confirm(f"Write this for {client.title}?")):
        print_error("Nothing was changed." if sys.stdin.isatty() else "Nothing was changed; --yes writes it.")
        return FAILED
    change.write()
    typer.echo(f"{change.file} is written; restart {client.title}.")
    return FINISHED


def install_kernel(name: str, *, removes: bool) -> int:
    """Tell Jupyter of the kernel, or take that back."""
    try:
        import ipykernel
        import jupyter_client

        assert ipykernel
        assert jupyter_client
    except ImportError:
        raise _not_installed("The kernel needs") from None
    from stepwell.jupyter_kernel import kernelspec

    if removes:
        typer.echo(f"{kernelspec.remove(name)} is removed.")
        return FINISHED
    typer.echo(f"{kernelspec.install(name)} is written; Jupyter offers {kernelspec.DISPLAY_NAME} for notebooks.")
    return FINISHED
