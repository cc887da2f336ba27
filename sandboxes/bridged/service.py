"""The bridged sandboxes of one process: opens those of threads, lists ours, deletes them."""

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sandboxes.base import Sandbox
from sandboxes.bridged.machine import Machine
from sandboxes.host.session_pool import SessionPool

if TYPE_CHECKING:
    from sandboxes.bridged.sandbox import BridgedSandbox

MOST = 1_000
"""Sandboxes of one process that are awake; what they cost is not this process's memory."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A sandbox that Stepwell made."""

    name: str
    thread: str
    state: str
    """By its kind's name for it: `started`, `stopped`, `exited`, …"""


class Service(ABC):
    """Opens sandboxes of one kind.

    Args:
        root: The folder for what sandboxes keep on this machine.
        kind: Which kind.
        network: What the kernel is told that cells may reach.
        sleep_after: Seconds without use until one whose state is stored is stopped; 0: only by itself.
        keep: Whether closing one only stops it.
    """

    def __init__(self, root: Path, kind: str, network: str, *, sleep_after: float, keep: bool) -> None:
        self._root = root
        self._mark = f"in-{kind}"
        """A file in a thread's folder: it has a sandbox of this kind, which goes when the thread goes."""
        self._network = network
        self._sleep_after = sleep_after
        self._keep = keep
        self._pool: SessionPool | None = None

    @abstractmethod
    async def check(self) -> None:
        """Check that sandboxes can be made, as far as that is known without making one.

        Raises:
            SandboxRefusedError: the operator has to mend something first.
        """

    async def reach(self) -> None:  # noqa: B027 - most are only reached when they are used
        """Ask whether sandboxes can be made now, where that takes no time and costs nothing.

        Raises:
            SandboxRefusedError: the operator has to mend something first.
            SandboxUnavailableError: whoever makes them cannot be reached.
        """

    @abstractmethod
    def machine(self, id: str) -> Machine:
        """The machine of a thread; nothing is asked of it. It may block."""

    @abstractmethod
    async def listed(self) -> list[Listed]:
        """All sandboxes that Stepwell made, in any state, sorted by name.

        Raises:
            SandboxRefusedError: the operator has to mend something first.
            SandboxUnavailableError: they cannot be listed now.
        """

    async def open(self, id: str) -> Sandbox:
        """The sandbox of a thread. Nothing is asked of its machine before it is used.

        Raises:
            SandboxRefusedError: the operator has to mend something first.
        """
        await self.check()
        return await asyncio.to_thread(self._make, id)

    def _make(self, id: str) -> "BridgedSandbox":
        from sandboxes.bridged.sandbox import BridgedSandbox

        if self._pool is None:
            self._pool = SessionPool(capacity=MOST, sleep_after=self._sleep_after)
        mark = self._root / id / self._mark
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
        return BridgedSandbox(self.machine(id), id, network=self._network, pool=self._pool, keep=self._keep)

    async def remove(self, id: str) -> None:
        """Delete the sandbox of a thread, if it has one.

        Raises:
            SandboxRefusedError: the operator has to mend something first.
            SandboxUnavailableError: it cannot be deleted now.
        """
        if await asyncio.to_thread((self._root / id / self._mark).exists):
            await self.delete(id)

    async def delete(self, id: str) -> None:
        """Delete the sandbox of a thread, whether this machine knows of it or not.

        Raises:
            SandboxRefusedError: the operator has to mend something first.
            SandboxUnavailableError: it cannot be deleted now.
        """
        await (await asyncio.to_thread(self.machine, id)).end("delete")

    async def close(self) -> None:
        """Release what this process holds; all sandboxes are closed."""
        if self._pool is not None:
            await self._pool.close()
