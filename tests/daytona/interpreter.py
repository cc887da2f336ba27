"""The toolbox's endpoints of the interpreter: contexts, and cells over a WebSocket."""

import asyncio
import json

from aiohttp import WSMsgType, web

from tests.daytona.faults import Closed, Dropped, HappensInCell, InCell
from tests.daytona.sandbox import SANDBOX, EmulatedSandbox
from tests.daytona.workers import Cell, Ending
from tests.daytona.world import WORLD, World

DEFAULT_TIMEOUT = 600.0


async def create_context(request: web.Request) -> web.Response:
    """A new context, with a worker of its own."""
    asked = await request.json() if request.can_read_body else {}
    context = await request[SANDBOX].contexts.create(asked.get("cwd") or "")
    return web.json_response(context.shown())


async def list_contexts(request: web.Request) -> web.Response:
    """All contexts but the default one."""
    return web.json_response({"contexts": request[SANDBOX].contexts.listed()})


async def delete_context(request: web.Request) -> web.Response:
    """End a context."""
    await request[SANDBOX].contexts.delete(request.match_info["context"])
    return web.json_response({"message": "Context deleted successfully"})


async def run(request: web.Request) -> web.StreamResponse:
    """One cell: a frame with the code comes, frames with its output go, and the close code says how it ended."""
    world, sandbox = request.app[WORLD], request[SANDBOX]
    socket = web.WebSocketResponse(max_msg_size=0, timeout=2.0)
    await socket.prepare(request)
    first = await socket.receive()
    if first.type is not WSMsgType.TEXT:
        await socket.close()
        return socket
    counters = world.counters
    counters.frame_bytes_up += len(first.data)
    counters.bytes_up += len(first.data)
    asked = json.loads(first.data)
    id = asked.get("contextId") or ""
    context = sandbox.contexts.get(id)
    if context is None:
        await socket.close(code=1008, message=f"context not found: {id}".encode())
        return socket
    timeout = asked.get("timeout")
    cell = Cell(asked["code"], asked.get("envs") or {}, DEFAULT_TIMEOUT if timeout is None else float(timeout))
    context.submit(cell)
    sending = asyncio.create_task(_send(socket, request, cell, world, sandbox))
    listening = asyncio.create_task(_until_closed(socket))
    await asyncio.wait([sending, listening], return_when=asyncio.FIRST_COMPLETED)
    cell.attached = False
    for task in (sending, listening):
        task.cancel()
    results = await asyncio.gather(sending, listening, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception) and not isinstance(result, ConnectionError):
            raise result
    return socket


async def _until_closed(socket: web.WebSocketResponse) -> None:
    while (await socket.receive()).type in (WSMsgType.TEXT, WSMsgType.BINARY):
        continue


async def _send(
    socket: web.WebSocketResponse, request: web.Request, cell: Cell, world: World, sandbox: EmulatedSandbox
) -> None:
    faults = [one for one in world.faults.take("cell", "run", sandbox.id, sandbox.name) if isinstance(one, InCell)]
    loop = asyncio.get_running_loop()
    began = loop.time()
    await cell.begun.wait()
    sent = 0
    while True:
        for fault in [one for one in faults if sent >= one.after_frames]:
            faults.remove(fault)
            fault.met += 1
            if await _strike(fault, socket, request, world, sandbox):
                return
        said = await cell.frames.get()
        if isinstance(said, Ending):
            break
        await socket.send_str(said)
        sent += 1
        world.counters.frames += 1
        world.counters.frame_bytes_down += len(said)
        world.counters.bytes_down += len(said)
    if world.poll_seconds:
        await asyncio.sleep(world.poll_seconds - (loop.time() - began) % world.poll_seconds)
    await socket.close(code=said.code, message=said.reason.encode())


async def _strike(
    fault: InCell, socket: web.WebSocketResponse, request: web.Request, world: World, sandbox: EmulatedSandbox
) -> bool:
    """Let it happen; whether the connection is gone with it."""
    match fault:
        case Dropped():
            if request.transport is not None:
                request.transport.abort()
            return True
        case Closed():
            await socket.close(code=fault.code, message=fault.reason.encode())
            return True
        case HappensInCell():
            # Not awaited: ending the sandbox ends this connection too.
            world.keep(asyncio.create_task(sandbox.happens(fault.what)))
    return False
