"""The sandboxes of one account in Daytona: opens those of threads, lists ours, deletes them."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sandboxes.base import Sandbox, SandboxError, SandboxRefusedError
from sandboxes.daytona.client import Clients
from sandboxes.daytona.errors import asked
from sandboxes.daytona.freeing import LABEL, THREAD_LABEL, delete_archived, state_of
from sandboxes.daytona.lifecycle import Lifecycle
from sandboxes.daytona.options import Options
from sandboxes.host.session_pool import SessionPool

if TYPE_CHECKING:
    from sandboxes.bridged.sandbox import BridgedSandbox

MARK = "in-daytona"
"""A file in a thread's folder: it has a sandbox there, which goes when the thread goes."""
MOST = 1_000
"""Sandboxes of one process that are awake; what they cost is not this machine's memory."""
TIDY_SECONDS = 10.0
"""How long removing what is archived may hold up the end of a process."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A sandbox of ours in Daytona."""

    name: str
    thread: str
    state: str
    """By Daytona's name for it: `started`, `stopped`, `archived`, …"""


class Daytona:
    """Opens sandboxes in Daytona.

    Args:
        root: The folder for what sandboxes keep on this machine.
        options: How they are made.
        sleep_after: Seconds without use until one whose state is stored is stopped; 0: only by Daytona itself.
        keep: Whether closing one only stops it.
    """

    def __init__(self, root: Path, options: Options, *, sleep_after: float = 0.0, keep: bool = True) -> None:
        self._root = root
        self._options = options
        self._keep = keep
        self._clients = Clients(options.account)
        self._sleep_after = sleep_after
        self._pool: SessionPool | None = None

    async def open(self, id: str) -> Sandbox:
        """The sandbox of a thread. Nothing is asked of Daytona before it is used.

        Raises:
            SandboxRefusedError: there is no key, the client is not installed, or Daytona cannot do what is asked for.
        """
        if self._options.problem:
            raise SandboxRefusedError(self._options.problem)
        await self._clients.get()
        return await asyncio.to_thread(self._make, id)

    def _make(self, id: str) -> "BridgedSandbox":
        from sandboxes.bridged.sandbox import BridgedSandbox
        from sandboxes.daytona.machine import DaytonaMachine

        if self._pool is None:
            self._pool = SessionPool(capacity=MOST, sleep_after=self._sleep_after)
        mark = self._root / id / MARK
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
        machine = DaytonaMachine(self._clients, self._options, id, keep=self._keep)
        return BridgedSandbox(machine, id, network=self._options.reaches, pool=self._pool, keep=self._keep)

    async def remove(self, id: str) -> None:
        """Delete the sandbox of a thread, if it has one.

        Raises:
            SandboxRefusedError: the key is not good.
            SandboxUnavailableError: it cannot be deleted now.
        """
        if await asyncio.to_thread((self._root / id / MARK).exists):
            await Lifecycle(self._clients, self._options, id).delete()

    async def listed(self) -> list[Listed]:
        """All sandboxes of ours, whatever their state, sorted by name.

        Raises:
            SandboxRefusedError: the key is not good.
            SandboxUnavailableError: they cannot be listed now.
        """
        client = await self._clients.get()

        async def call() -> list[Listed]:
            from daytona import ListSandboxesQuery

            found = []
            async for one in client.list(ListSandboxesQuery(labels={LABEL: self._options.prefix})):
                found.append(Listed(str(one.name), (one.labels or {}).get(THREAD_LABEL, ""), state_of(one)))
            return sorted(found, key=lambda listed: listed.name)

        return await asked("list the sandboxes", call, again=True)

    async def delete(self, thread: str) -> None:
        """Delete the sandbox of a thread, whether this machine knows of it or not.

        Raises:
            SandboxUnavailableError: it cannot be deleted now.
        """
        await Lifecycle(self._clients, self._options, thread).delete()

    async def close(self) -> None:
        """Let go of the connection to Daytona. Who made a sandbox removes those that lie in the archive for nothing."""
        if self._pool is not None:
            await self._pool.close()
        if self._clients.made:
            with suppress(SandboxError, TimeoutError):  # whoever comes next does it
                async with asyncio.timeout(TIDY_SECONDS):
                    await delete_archived(await self._clients.get(), self._options.prefix)
        await self._clients.close()
