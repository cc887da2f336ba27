"""One emulated sandbox: its record, its folder, its processes, and how it gets from one state to another."""

import asyncio
import contextlib
import os
import signal
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from aiohttp import web

from sandboxes.host.workspace import remove
from tests.daytona.answers import RefusedError, now
from tests.daytona.contexts import Contexts
from tests.daytona.faults import SlowStart, StartFails
from tests.daytona.processes import MARK, end_all
from tests.daytona.records import new_record
from tests.daytona.world import World

PROXY_MINUTES = 2.0
"""How long the proxy goes by what it has heard of a sandbox."""
LONGEST_ARCHIVE_WAIT = 30 * 24 * 60
ONLY_ALONE = ("env", "kvm", "volumes", "buildInfo")
"""Fields that a list leaves out."""


class EmulatedSandbox:
    """A sandbox. Its folder is a real folder of this machine, and its processes are real ones.

    Args:
        world: Where it is.
        asked: The body of the request that creates it.
    """

    def __init__(self, world: World, asked: dict[str, Any]) -> None:
        self._world = world
        self.id = str(uuid.uuid4())
        self.name: str = asked.get("name") or self.id
        self.state = "pending_build" if asked.get("buildInfo") else "creating"
        self.root = world.root / self.id[:8]
        self.home = self.root / "home"
        self.temporary = self.root / "tmp"
        self.connections: list[web.Request] = []
        """Requests of the toolbox that are being carried out."""
        self.contexts = Contexts(
            world.python,
            self.home,
            self.temporary / "daytona_repl_worker.py",
            self.environment,
            world.grace_seconds,
            world.spare_sessions,
        )
        self._moving: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()
        self._used = world.minutes()
        self._stopped = 0.0
        self._dies = world.minutes() + asked["ttlMinutes"] if asked.get("ttlMinutes") else None
        self._record = new_record(asked)
        self.touch()

    def shown(self, *, listed: bool = False) -> dict[str, Any]:
        """What the control plane says of it."""
        shown = {
            **self._record,
            "id": self.id,
            "name": self.name,
            "state": self.state,
            "toolboxProxyUrl": f"{self._world.url}/toolbox",
            "updatedAt": now(),
        }
        return {name: value for name, value in shown.items() if not (listed and name in ONLY_ALONE)}

    @property
    def labels(self) -> dict[str, str]:
        """Its labels."""
        labels: dict[str, str] = self._record["labels"]
        return labels

    @property
    def disk(self) -> int:
        """Its disk in GiB."""
        disk: int = self._record["disk"]
        return disk

    def set(self, **fields: Any) -> None:
        """Change its record."""
        self._record.update(fields)

    def set_ttl(self, minutes: int) -> None:
        """Let it be deleted so many minutes from now; 0: never."""
        self._dies = self._world.minutes() + minutes if minutes else None

    def touch(self) -> None:
        """It was used."""
        self._used = self._world.minutes()
        self._record["lastActivityAt"] = now()

    def environment(self) -> dict[str, str]:
        """What a new process in it finds in its environment."""
        world = self._world
        return {
            "PATH": f"{Path(world.python).parent}:/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "USER": self._record["user"],
            **world.environment,
            **self._record["env"],
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            MARK: self.id,
        }

    def create(self) -> None:
        """Begin to exist; it is started a while later."""
        self._world.sandboxes[self.id] = self
        between = ["building_snapshot", "creating"] if self._record.get("buildInfo") else []
        self._rise("create", between)

    def start(self) -> None:
        """Begin to start.

        Raises:
            RefusedError: it is neither stopped nor archived.
        """
        self._check_settled()
        if self.state not in ("stopped", "archived"):
            raise RefusedError(400, "Sandbox is not in valid state")
        if self.state == "archived":
            self._world.check_disk(self)
        self._become("restoring" if self.state == "archived" else "starting")
        self._rise("start", ["starting"] if self.state == "restoring" else [])

    def recover(self) -> None:
        """Begin to start after an error.

        Raises:
            RefusedError: there was none, or it is not one to recover from.
        """
        self._check_settled()
        if self.state != "error" or not self._record.get("recoverable"):
            raise RefusedError(400, "Sandbox is not in a recoverable state")
        self.set(errorReason=None, recoverable=None)
        self._become("starting")
        self._rise("start", [])

    def stop(self) -> None:
        """Begin to stop.

        Raises:
            RefusedError: it does not run.
        """
        self._check_settled()
        if self.state != "started":
            raise RefusedError(400, "Sandbox is not started")
        self._become("stopping")
        self._move(self._stop)

    def archive(self) -> None:
        """Begin to be archived.

        Raises:
            RefusedError: it is not stopped.
        """
        self._check_settled()
        if self.state != "stopped":
            raise RefusedError(400, "Sandbox is not stopped")
        self._become("archiving")
        self._move(self._archive)

    def delete(self) -> None:
        """Begin to be deleted. The name is free at once.

        Raises:
            RefusedError: its state is changing.
        """
        self._check_settled()
        self._become("destroying")
        self._move(self._destroy)

    async def moment(self) -> None:
        """Let a change of state that takes no time come to its end."""
        if self._moving is not None:
            await asyncio.wait([self._moving], timeout=0.05)

    async def happens(self, what: str) -> None:
        """Let something happen to it that nobody asked for; returns when it has happened."""
        match what:
            case "workers killed":
                for worker in self.contexts.workers:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(worker.pid, signal.SIGKILL)
            case "contexts lost":
                await self.contexts.lose()
            case _:
                await self._settle()
                if self.state == "destroyed":
                    return
                if what in ("deleted", "forgotten"):
                    self._become("destroying")
                    await self._remove()
                    if what == "forgotten":
                        self._world.deleted[self.id] = 0.0
                elif what == "failed":
                    self.set(errorReason="the runner was lost", recoverable=False)
                    await self._end_processes()
                    self._become("error")
                else:
                    await self._end_processes()
                    self._stopped = self._world.minutes()
                    self._become(what)

    async def catch_up(self) -> None:
        """Do what was due while the clock was set forward: stop, archive, delete."""
        minutes = self._world.minutes()
        record = self._record
        # Only an open request counts: a cell that runs on without its client keeps nothing awake.
        if self.state == "started" and not self.connections:
            due = self._used + record["autoStopInterval"]
            if record["autoStopInterval"] and due <= minutes:
                await self.happens("stopped")
                self._stopped = due
        if self.state == "stopped":
            archived = record["autoArchiveInterval"] or LONGEST_ARCHIVE_WAIT
            deleted = record["autoDeleteInterval"]
            idle = minutes - self._stopped
            if 0 <= deleted <= idle and deleted <= archived:  # what has been archived by then is not looked at
                return await self.happens("deleted")
            if idle >= archived:
                self._become("archived")
        if self._dies is not None and self._dies <= minutes:
            await self.happens("deleted")
        return None

    def check_started(self) -> None:
        """Raises what the proxy answers to a request for the toolbox of one that does not run."""
        if self.state in ("archived", "archiving"):
            raise RefusedError(404, "sandbox container not found", source="DAYTONA_PROXY")
        if self.state != "started":
            raise RefusedError(
                400,
                "bad request: failed to resolve container IP after 3 attempts: no IP address found. "
                "Is the Sandbox started?",
                source="DAYTONA_PROXY",
            )

    def _check_settled(self) -> None:
        if self._moving is not None:
            raise RefusedError(409, "Sandbox state change in progress")

    def _become(self, state: str) -> None:
        before, self.state = self.state, state
        if state != before:
            self._world.tell(self, before)

    def _move(self, work: Callable[[], Awaitable[None]]) -> None:
        async def moving() -> None:
            try:
                await work()
            finally:
                self._moving = None

        self._moving = asyncio.create_task(moving())

    async def _settle(self) -> None:
        """Come to the end of a change of state, without delay."""
        if self._moving is not None:
            self._hurry.set()
            await asyncio.wait([self._moving])
            self._hurry.clear()

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._hurry.wait(), seconds)

    def _rise(self, kind: str, between: list[str]) -> None:
        faults = self._world.faults.take("start", kind, self.id, self.name)
        wait = self._world.start_seconds + sum(one.seconds for one in faults if isinstance(one, SlowStart))
        failing = [one for one in faults if isinstance(one, StartFails)]

        async def rising() -> None:
            for folder in (self.home, self.temporary):
                await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
            for state in between:
                await self._pause(wait / (len(between) + 1))
                self._become(state)
            await self._pause(wait / (len(between) + 1))
            self.touch()
            if failing:
                self.set(errorReason=failing[0].reason, recoverable=failing[0].recoverable)
            self._become(failing[0].state if failing else "started")

        self._move(rising)

    async def _stop(self) -> None:
        await self._end_processes()
        await self._pause(self._world.stop_seconds)
        self._stopped = self._world.minutes()
        self._become("stopped")
        if self._record["autoDeleteInterval"] == 0:
            self._become("destroying")
            await self._remove()

    async def _archive(self) -> None:
        await self._pause(self._world.stop_seconds)
        self._become("archived")

    async def _destroy(self) -> None:
        await self._pause(self._world.stop_seconds)
        await self._remove()

    async def _remove(self) -> None:
        await self._end_processes()
        await asyncio.to_thread(remove, self.root)
        self._become("destroyed")
        self._world.sandboxes.pop(self.id, None)
        self._world.deleted[self.id] = self._world.minutes() + PROXY_MINUTES

    async def _end_processes(self) -> None:
        for request in self.connections:
            if request.transport is not None:
                request.transport.abort()
        await self.contexts.lose()
        await asyncio.to_thread(end_all, self.id, self.root)
        while self.connections:  # a request may have been about to start a process
            await asyncio.sleep(0.005)
            await asyncio.to_thread(end_all, self.id, self.root)
        await self.contexts.lose()


SANDBOX = web.RequestKey("sandbox", EmulatedSandbox)
