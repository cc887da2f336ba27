"""The control plane: sandboxes are made, found, listed, moved between states and deleted."""

import base64
import ipaddress
import json
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from tests.daytona.answers import RefusedError
from tests.daytona.sandbox import EmulatedSandbox
from tests.daytona.world import WORLD, World

PAGE = 100
MOST_NETWORKS = 10
FIXED_NETWORK = "Network access restrictions cannot be overridden at the sandbox level for this organization"
INTERVALS = {"autostop": "autoStopInterval", "autoarchive": "autoArchiveInterval", "autodelete": "autoDeleteInterval"}


async def create(request: web.Request) -> web.Response:
    """Make a sandbox; it starts by itself."""
    world = request.app[WORLD]
    asked = await request.json()
    if asked.get("snapshot") and asked["snapshot"] not in world.snapshots:
        raise RefusedError(
            400, f"Snapshot {asked['snapshot']} not found. Did you add it through the Daytona Dashboard?"
        )
    if not asked.get("buildInfo") and any(asked.get(name) for name in ("cpu", "memory", "disk", "gpu")):
        raise RefusedError(400, "Cannot specify Sandbox resources when using a snapshot")
    _check_networks(asked)
    if world.faults.take("name", "create", asked.get("name") or ""):
        EmulatedSandbox(world, asked).create()
    if asked.get("name") and world.named(asked["name"]):
        raise RefusedError(409, f"Sandbox with name {asked['name']} already exists")
    made = EmulatedSandbox(world, asked)
    world.check_disk(made)
    made.create()
    return await _changing(made)


async def get(request: web.Request) -> web.Response:
    """One sandbox, by id or name."""
    return web.json_response(_asked_for(request).shown())


async def list_sandboxes(request: web.Request) -> web.Response:
    """A page of sandboxes, the oldest first; filtered by labels, states, and the beginning of id and name."""
    world, query = request.app[WORLD], request.query
    labels: dict[str, str] = json.loads(query.get("labels") or "{}")
    states = query.getall("states", [])
    found = [
        one
        for one in world.sandboxes.values()
        if labels.items() <= one.labels.items()
        and (not states or one.state in states)
        and one.id.startswith(query.get("id", ""))
        and one.name.startswith(query.get("name", ""))
    ]
    begin = int(base64.b64decode(query["cursor"])) if query.get("cursor") else 0
    end = begin + int(query.get("limit") or PAGE)
    cursor = base64.b64encode(str(end).encode()).decode() if end < len(found) else None
    return web.json_response({"items": [one.shown(listed=True) for one in found[begin:end]], "nextCursor": cursor})


Answer = Callable[[web.Request], Awaitable[web.Response]]


def _begin(change: Callable[[EmulatedSandbox], None]) -> Answer:
    """Answers requests that begin a change of a sandbox's state."""

    async def answer(request: web.Request) -> web.Response:
        sandbox = _asked_for(request)
        change(sandbox)
        return await _changing(sandbox)

    return answer


start = _begin(EmulatedSandbox.start)
recover = _begin(EmulatedSandbox.recover)
stop = _begin(EmulatedSandbox.stop)
archive = _begin(EmulatedSandbox.archive)
delete = _begin(EmulatedSandbox.delete)


async def labels(request: web.Request) -> web.Response:
    """Replace all labels."""
    sandbox = _asked_for(request)
    sandbox.set(labels=(await request.json())["labels"])
    return web.json_response({"labels": sandbox.labels})


async def network(request: web.Request) -> web.Response:
    """Change what it may reach: only what is named; a block stays above a list, and a list below a block."""
    sandbox = _asked_for(request)
    if request.app[WORLD].fixed_network:
        raise RefusedError(400, FIXED_NETWORK)
    asked: dict[str, Any] = {name: value for name, value in (await request.json()).items() if value is not None}
    _check_networks(asked)
    sandbox.set(**asked)
    return web.json_response(sandbox.shown())


async def interval(request: web.Request) -> web.Response:
    """Set one of the intervals, in minutes."""
    sandbox = _asked_for(request)
    sandbox.set(**{INTERVALS[request.match_info["which"]]: int(request.match_info["minutes"])})
    return web.json_response(sandbox.shown())


async def ttl(request: web.Request) -> web.Response:
    """Set when it is deleted whatever its state, in minutes from now."""
    sandbox = _asked_for(request)
    sandbox.set_ttl(int(request.match_info["minutes"]))
    return web.json_response(sandbox.shown())


async def activity(request: web.Request) -> web.Response:
    """Count it as used."""
    _asked_for(request).touch()
    return web.Response(status=201)


async def toolbox_address(request: web.Request) -> web.Response:
    """Where its toolbox is."""
    return web.json_response({"url": _asked_for(request).shown()["toolboxProxyUrl"]})


def _check_networks(asked: dict[str, Any]) -> None:
    networks = [one.strip() for one in (asked.get("networkAllowList") or "").split(",") if one.strip()]
    if len(networks) > MOST_NETWORKS:
        raise RefusedError(400, f"Network allow list cannot contain more than {MOST_NETWORKS} networks")
    domains = [one for one in (asked.get("domainAllowList") or "").split(",") if one.strip()]
    if len(domains) > MOST_NETWORKS:
        raise RefusedError(400, f"Domain allow list cannot contain more than {MOST_NETWORKS} domains")
    if sum((bool(asked.get("networkBlockAll")), bool(networks), bool(domains))) > 1:
        raise RefusedError(400, "Network settings contradict each other")
    for network in networks:
        try:
            ipaddress.IPv4Network(network, strict=False)
        except ValueError as error:
            raise RefusedError(400, f"Invalid network in the network allow list: {network}") from error


async def _changing(sandbox: EmulatedSandbox) -> web.Response:
    """The answer to a request that began a change of state: how it stands at the beginning.

    A change that takes no time is over when the answer is read, so that the SDK's first look sees it. Without that it
    looks again after a second when the event came before it was connected to the gateway.
    """
    shown = sandbox.shown()
    await sandbox.moment()
    return web.json_response(shown)


def _asked_for(request: web.Request) -> EmulatedSandbox:
    world: World = request.app[WORLD]
    return world.find(request.match_info["sandbox"])
