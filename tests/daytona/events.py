"""The gateway of events: as much Socket.IO as the SDK needs to hear that a sandbox changed its state."""

import json
import secrets
from typing import Any

from aiohttp import WSMsgType, web

from tests.daytona.world import WORLD

OPEN, PING, PONG, CONNECT, EVENT, REFUSED = "0", "2", "3", "40", "42", "44"
PING_SECONDS = 25


async def listen(request: web.Request) -> web.StreamResponse:
    """A client that wants to hear of events; it shows its key in its first packet."""
    world = request.app[WORLD]
    socket = web.WebSocketResponse(max_msg_size=0, receive_timeout=None)
    await socket.prepare(request)
    hello = {"sid": secrets.token_hex(8), "upgrades": [], "pingInterval": PING_SECONDS * 1000, "pingTimeout": 20000}
    await socket.send_str(OPEN + json.dumps({**hello, "maxPayload": 1000000}))

    async def tell(name: str, told: dict[str, Any]) -> None:
        await socket.send_str(EVENT + json.dumps([name, told]))

    world.gateways.append(request)
    try:
        while True:
            try:
                message = await socket.receive(timeout=PING_SECONDS)
            except TimeoutError:
                await socket.send_str(PING)
                continue
            if message.type is not WSMsgType.TEXT:
                return socket
            if message.data.startswith(CONNECT):
                shown = json.loads(message.data[len(CONNECT) :] or "{}")
                if shown.get("token") != world.api_key:
                    await socket.send_str(REFUSED + json.dumps({"message": "Unauthorized"}))
                    continue
                await socket.send_str(CONNECT + json.dumps({"sid": secrets.token_hex(8)}))
                world.listeners.append(tell)
    finally:
        world.gateways.remove(request)
        if tell in world.listeners:
            world.listeners.remove(tell)
        await socket.close()
