"""The process in which a sandbox's code runs, as its session sees it: how it is interrupted and ended, how it ended."""

import asyncio
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sandboxes.host.descriptors import Pipe
from sandboxes.host.limits import Ending


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be started in a sandbox's folder."""

    folder: Path
    """The sandbox's folder, with `workspace`, `spool`, `blobs`, …"""
    program: Path | None = None
    """A program of ours; None: the kernel."""
    arguments: tuple[str, ...] = ()
    network: str = "none"
    """What the kernel is told that it may reach: `none`, `allowlist` or `full`."""


class Process(Protocol):
    """A process with all that it starts."""

    exited: asyncio.Future[Ending]
    """Done when it has ended, with everything that it started except a standby."""
    gone: asyncio.Future[None]
    """Done when nothing of it is left, no standby either."""
    why: str
    """Why it could not begin, when that is known."""

    @property
    def alive(self) -> bool:
        """Whether it has not been seen to end."""

    def busy(self, runs: bool) -> None:
        """Note whether a cell runs: its limits are watched only then."""

    def interrupt(self) -> None:
        """Send SIGINT to it and its children, as a terminal does on Ctrl-C."""

    def stop(self) -> bool:
        """End what runs now, so that a standby can take over; false when there can be none and nothing was done."""

    def wake(self) -> None:
        """Let the standby take over; `exited` is a new future then."""

    def kill(self) -> None:
        """End it at once with everything that it started."""


@dataclass(frozen=True, slots=True)
class StartedProcess:
    """A started process and our ends of what it is connected to."""

    process: Process
    control: socket.socket
    stdout: Pipe
    stderr: Pipe
    listener: socket.socket | None = None
    """Listens in the sandbox's network for what wants to go out; None where there is no way out."""


class Start(Protocol):
    """How processes of a sandbox are started."""

    async def __call__(self, order: Order) -> StartedProcess:
        """Start the kernel, or a program, in a sandbox's folder.

        Raises:
            SandboxUnavailableError: it cannot be started.
        """
