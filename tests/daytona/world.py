"""What the two halves of the service share: the sandboxes, the faults, the counters, and how long things take."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.daytona.answers import RefusedError
from tests.daytona.counters import Counters
from tests.daytona.faults import Faults

if TYPE_CHECKING:
    from tests.daytona.sandbox import EmulatedSandbox

SNAPSHOTS = ("daytona-small", "daytona-medium", "daytona-large")


@dataclass
class World:
    """One emulated Daytona."""

    root: Path
    """Below it each sandbox has a folder."""
    python: str
    """The interpreter in all sandboxes; its folder is the first on their `PATH`."""
    api_key: str
    environment: dict[str, str]
    """What the image sets in every process."""
    start_seconds: float
    stop_seconds: float
    poll_seconds: float
    """The end of a cell is noticed at a multiple of this many seconds after its start."""
    grace_seconds: float
    spare_sessions: bool
    fixed_network: bool = False
    """Whether the account's tier fixes what sandboxes reach."""
    disk: int | None = None
    """GiB that the account may have; None: without limit."""
    url: str = ""
    snapshots: set[str] = field(default_factory=lambda: set(SNAPSHOTS))
    sandboxes: "dict[str, EmulatedSandbox]" = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)
    counters: Counters = field(default_factory=Counters)
    listeners: list[Callable[[str, dict[str, Any]], Awaitable[None]]] = field(default_factory=list)
    """Clients that hear of changes of state."""
    gateways: list[web.Request] = field(default_factory=list)
    """The requests that they hear by."""
    deleted: dict[str, float] = field(default_factory=dict)
    """Until when the proxy still knows a sandbox that was deleted, by its id."""
    commands: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(64, "daytona-exec"))
    """Threads that wait for shell commands."""
    ahead: float = 0.0
    """Minutes that the clock was set forward."""
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    def minutes(self) -> float:
        """The time, in minutes."""
        return time.monotonic() / 60 + self.ahead

    def find(self, id_or_name: str) -> "EmulatedSandbox":
        """The sandbox of that id or name.

        Raises:
            RefusedError: there is none.
        """
        if (sandbox := self.sandboxes.get(id_or_name)) or (sandbox := self.named(id_or_name)):
            return sandbox
        raise RefusedError(404, f"Sandbox with ID or name {id_or_name} not found")

    def check_disk(self, more: "EmulatedSandbox") -> None:
        """See that there is disk for one more: all have theirs until they are archived, also those that are stopped.

        Raises:
            RefusedError: there is none.
        """
        others = [
            one for one in self.sandboxes.values() if one is not more and one.state not in ("archived", "destroyed")
        ]
        if self.disk is not None and sum(one.disk for one in [*others, more]) > self.disk:
            raise RefusedError(
                403,
                f"Total disk limit exceeded. Maximum allowed: {self.disk}GiB.\nConsider archiving your unused "
                "Sandboxes to free up available storage.\n"
                "To increase concurrency limits, upgrade your organization's Tier.",
            )

    def behind_the_proxy(self, id: str) -> "EmulatedSandbox":
        """The sandbox of that id, as the proxy in front of its toolbox finds it.

        Raises:
            RefusedError: there is none. Once the proxy has forgotten it, it answers as it does to a bad key.
        """
        if (sandbox := self.sandboxes.get(id)) is not None:
            return sandbox
        if self.minutes() < self.deleted.get(id, 0.0):
            raise RefusedError(404, "sandbox container not found", source="DAYTONA_PROXY")
        raise RefusedError(401, "unauthorized: bearer token is invalid", source="DAYTONA_PROXY")

    def named(self, name: str) -> "EmulatedSandbox | None":
        """The sandbox that has the name; one that is being deleted has lost it."""
        return next((one for one in self.sandboxes.values() if one.name == name and one.state != "destroying"), None)

    def keep(self, task: asyncio.Task[Any]) -> None:
        """Hold a task until it is done, or the world ends."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def tell(self, sandbox: "EmulatedSandbox", before: str) -> None:
        """Tell clients of a change of state."""
        told = {"sandbox": sandbox.shown(), "oldState": before, "newState": sandbox.state}
        for listener in list(self.listeners):
            self.keep(asyncio.create_task(_tell(listener, told)))

    async def advance(self, minutes: float) -> None:
        """Set the clock forward, and let happen what was due meanwhile."""
        self.ahead += minutes
        for sandbox in list(self.sandboxes.values()):
            await sandbox.catch_up()

    async def end(self) -> None:
        """Delete every sandbox; nothing of any is left. Nobody hears of it."""
        for request in self.gateways:
            if request.transport is not None:
                request.transport.abort()
        await asyncio.gather(*(one.happens("deleted") for one in list(self.sandboxes.values())))
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks))
        self.commands.shutdown(wait=False)


async def _tell(listener: Callable[[str, dict[str, Any]], Awaitable[None]], told: dict[str, Any]) -> None:
    try:
        await listener("sandbox.state.updated", told)
    except ConnectionError:
        return  # that client has gone; whoever reads from it notices


WORLD = web.AppKey("world", World)
