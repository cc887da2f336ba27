"""The whole service as one web application: its routes, its keys, and the faults that requests meet."""

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import web

from tests.daytona import control_plane, events, files, interpreter, uploads
from tests.daytona.answers import RefusedError
from tests.daytona.faults import Answered, Happens, Slow, SlowAnswer, Unanswered, Unreached
from tests.daytona.processes import execute
from tests.daytona.sandbox import SANDBOX
from tests.daytona.world import WORLD, World

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

CONTROL: list[tuple[str, str, str, Handler]] = [
    ("POST", "", "create", control_plane.create),
    ("GET", "", "list", control_plane.list_sandboxes),
    ("GET", "/{sandbox}", "get", control_plane.get),
    ("DELETE", "/{sandbox}", "delete", control_plane.delete),
    ("POST", "/{sandbox}/start", "start", control_plane.start),
    ("POST", "/{sandbox}/recover", "recover", control_plane.recover),
    ("POST", "/{sandbox}/stop", "stop", control_plane.stop),
    ("POST", "/{sandbox}/archive", "archive", control_plane.archive),
    ("PUT", "/{sandbox}/labels", "labels", control_plane.labels),
    ("POST", "/{sandbox}/network-settings", "network", control_plane.network),
    ("POST", "/{sandbox}/{which:autostop|autoarchive|autodelete}/{minutes}", "interval", control_plane.interval),
    ("POST", "/{sandbox}/ttl/{minutes}", "ttl", control_plane.ttl),
    ("POST", "/{sandbox}/last-activity", "activity", control_plane.activity),
    ("GET", "/{sandbox}/toolbox-proxy-url", "toolbox_address", control_plane.toolbox_address),
]


async def exec_command(request: web.Request) -> web.Response:
    """Run a shell command."""
    sandbox, asked = request[SANDBOX], await request.json()
    code, printed = await asyncio.get_running_loop().run_in_executor(
        request.app[WORLD].commands,
        execute,
        asked["command"],
        sandbox.home / (asked.get("cwd") or ""),
        {**sandbox.environment(), **(asked.get("envs") or {})},
        float(asked.get("timeout") or 0) or None,
    )
    return web.json_response({"exitCode": code, "result": printed})


async def home(request: web.Request) -> web.Response:
    """The home folder, which is the work directory as well."""
    return web.json_response({"dir": str(request[SANDBOX].home)})


async def version(request: web.Request) -> web.Response:
    """Which toolbox this stands for."""
    return web.json_response({"version": "v0.190.0"})


async def counters(request: web.Request) -> web.Response:
    """What went over the wire; no part of the real service."""
    return web.json_response(request.app[WORLD].counters.as_json())


TOOLBOX: list[tuple[str, str, str, Handler]] = [
    ("POST", "/files/bulk-upload", "upload", uploads.upload),
    ("POST", "/files/bulk-download", "download", files.download),
    ("GET", "/files", "list_files", files.list_files),
    ("GET", "/files/info", "info", files.info),
    ("POST", "/files/folder", "folder", files.folder),
    ("POST", "/files/move", "move", files.move),
    ("POST", "/files/permissions", "permissions", files.permissions),
    ("DELETE", "/files", "delete_file", files.delete_file),
    ("POST", "/process/execute", "exec", exec_command),
    ("POST", "/process/interpreter/context", "create_context", interpreter.create_context),
    ("GET", "/process/interpreter/context", "list_contexts", interpreter.list_contexts),
    ("DELETE", "/process/interpreter/context/{context}", "delete_context", interpreter.delete_context),
    ("GET", "/process/interpreter/execute", "run", interpreter.run),
    ("GET", "/work-dir", "work_dir", home),
    ("GET", "/user-home-dir", "home_dir", home),
    ("GET", "/version", "version", version),
]


def application(world: World) -> web.Application:
    """The service over a world."""
    app = web.Application(middlewares=[_answering], client_max_size=1 << 40)
    app[WORLD] = world
    for method, path, kind, handler in CONTROL:
        app.router.add_route(method, f"/api/sandbox{path}", handler, name=kind)
    for method, path, kind, handler in TOOLBOX:
        app.router.add_route(method, f"/toolbox/{{sandbox}}{path}", handler, name=kind)
    app.router.add_get("/api/socket.io/", events.listen, name="events")
    app.router.add_get("/counters", counters, name="counters")
    return app


@web.middleware
async def _answering(request: web.Request, handler: Handler) -> web.StreamResponse:
    world = request.app[WORLD]
    route = request.match_info.route.name
    if route is None:
        return RefusedError(404, f"Cannot {request.method} {request.path}").answer(request)
    if route in ("events", "counters"):
        return await handler(request)
    kind = request.match_info.get("which", route)
    world.counters.requests[kind] += 1
    try:
        response = await _carry_out(request, handler, kind)
    except RefusedError as refusal:
        response = refusal.answer(request)
    world.counters.bytes_up += request.content.total_bytes
    if isinstance(response, web.Response) and isinstance(response.body, bytes):
        world.counters.bytes_down += len(response.body)
    elif not isinstance(response, web.WebSocketResponse):
        world.counters.bytes_down += response.body_length
    return response


async def _carry_out(request: web.Request, handler: Handler, kind: str) -> web.StreamResponse:
    world = request.app[WORLD]
    if request.headers.get("Authorization") != f"Bearer {world.api_key}":
        raise RefusedError(401, "Invalid credentials")
    called = request.match_info.get("sandbox", "")
    sandbox = world.sandboxes.get(called) or world.named(called)
    names = (sandbox.id, sandbox.name) if sandbox else (called,)
    for fault in world.faults.take("before", kind, *names):
        match fault:
            case Answered():
                raise RefusedError(fault.status, fault.message, headers=fault.headers())
            case Slow():
                await asyncio.sleep(fault.seconds)
            case Unreached():
                _cut(request)
                return web.Response()
            case Happens() if sandbox is not None:
                await sandbox.happens(fault.what)
    if not request.path.startswith("/toolbox/"):
        response = await handler(request)
    else:
        found = world.behind_the_proxy(called)
        found.check_started()
        found.touch()
        request[SANDBOX] = found
        found.connections.append(request)
        try:
            response = await handler(request)
        finally:
            found.connections.remove(request)
            found.touch()
    for fault in world.faults.take("after", kind, *names):
        match fault:
            case SlowAnswer():
                await asyncio.sleep(fault.seconds)
            case Unanswered():
                _cut(request)
    return response


def _cut(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
