"""The sandboxes of one account in Daytona: opens those of threads, lists ours, deletes them."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sandboxes.base import SandboxError, SandboxRefusedError
from sandboxes.bridged.service import Listed, Service
from sandboxes.daytona.client import Clients
from sandboxes.daytona.errors import asked
from sandboxes.daytona.freeing import LABEL, THREAD_LABEL, delete_archived, state_of
from sandboxes.daytona.options import Options

if TYPE_CHECKING:
    from sandboxes.daytona.machine import DaytonaMachine

TIDY_SECONDS = 10.0
"""How long removing what is archived may hold up the end of a process."""


class Daytona(Service):
    """Opens sandboxes in Daytona.

    Args:
        root: The folder for what sandboxes keep on this machine.
        options: How they are made.
        sleep_after: Seconds without use until one whose state is stored is stopped; 0: only by Daytona itself.
        keep: Whether closing one only stops it.
    """

    def __init__(self, root: Path, options: Options, *, sleep_after: float = 0.0, keep: bool = True) -> None:
        super().__init__(root, "daytona", options.reaches, sleep_after=sleep_after, keep=keep)
        self._options = options
        self._clients = Clients(options.account)

    async def check(self) -> None:
        """Check that there is a key, and that Daytona accepts what is asked for.

        Raises:
            SandboxRefusedError: there is no key, the client is not installed, or Daytona cannot do what is asked for.
        """
        if self._options.problem:
            raise SandboxRefusedError(self._options.problem)
        await self._clients.get()

    def machine(self, id: str) -> "DaytonaMachine":
        """The sandbox of a thread."""
        from sandboxes.daytona.machine import DaytonaMachine

        return DaytonaMachine(self._clients, self._options, id, keep=self._keep)

    async def listed(self) -> list[Listed]:
        """All sandboxes that Stepwell made, in any state, sorted by name.

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

    async def close(self) -> None:
        """Close the connection to Daytona. A process that made one deletes archived ones that nobody needs."""
        await super().close()
        if self._clients.made:
            with suppress(SandboxError, TimeoutError):  # whoever comes next does it
                async with asyncio.timeout(TIDY_SECONDS):
                    await delete_archived(await self._clients.get(), self._options.prefix)
        await self._clients.close()
