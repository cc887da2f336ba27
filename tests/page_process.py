"""The page as people have it: `stepwell ui` in a process of its own, and a client that was let in."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

import httpx

from graph.settings import Settings
from stepwell.page.app import page_app
from stepwell.page.local import LocalBackend
from stepwell.page.this_machine import Doorkeeper
from tests.other_process import environment
from tests.prepared_command import PREPARED

SECONDS = 60.0
PORT = 8484
ORIGIN = f"http://127.0.0.1:{PORT}"


@dataclass
class PageProcess:
    """A page that answers."""

    address: str
    """What lets one browser in."""
    process: asyncio.subprocess.Process
    later: list[str] = field(default_factory=list)

    @property
    def origin(self) -> str:
        """Where it answers."""
        return self.address.partition("/enter")[0]

    async def next_address(self) -> str:
        """A further address that it has printed."""
        assert self.process.stdout is not None
        return (await asyncio.wait_for(self.process.stdout.readline(), SECONDS)).decode().strip()

    async def stop(self) -> int:
        """Press Ctrl-C, and wait for the end; the exit code."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGINT)
        return await asyncio.wait_for(self.process.wait(), SECONDS)


def running_page(
    settings: Settings, url: str = "", *arguments: str, **more: str
) -> AbstractAsyncContextManager[PageProcess]:
    """`stepwell ui` with these settings and a model at that address; without one with the playbook."""
    return started_page(PREPARED.command(), settings, url, *arguments, **more)


@asynccontextmanager
async def started_page(
    command: list[str], settings: Settings, url: str = "", *arguments: str, **more: str
) -> AsyncIterator[PageProcess]:
    """The same of a command that is not forked."""
    found = environment(settings, url, **({} if url else {"STEPWELL_MODEL": "playbook"}), **more)
    env = {name: value for name, value in found.items() if value}
    process = await asyncio.create_subprocess_exec(
        *(*command, "ui", "--no-browser", *arguments),
        stdout=asyncio.subprocess.PIPE,
        env=env,
    )
    assert process.stdout is not None
    try:
        address = (await asyncio.wait_for(process.stdout.readline(), SECONDS)).decode().strip()
        yield PageProcess(address, process)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
            try:
                await asyncio.wait_for(process.wait(), SECONDS)
            except TimeoutError:
                os.kill(process.pid, signal.SIGKILL)
                await process.wait()
                raise


@dataclass
class PageInside:
    """The page in this process."""

    backend: LocalBackend
    door: Doorkeeper
    client: httpx.AsyncClient
    """Was let in, and sends what a browser would send from the page."""

    def stranger(self, **headers: str) -> httpx.AsyncClient:
        """A client without the cookie."""
        return httpx.AsyncClient(transport=httpx.ASGITransport(self.door), base_url=ORIGIN, headers=headers)


@asynccontextmanager
async def page_inside(settings: Settings) -> AsyncIterator[PageInside]:
    """The page of these settings, asked without a network."""
    async with LocalBackend(settings) as backend:
        door = Doorkeeper(page_app(lambda request: backend), PORT)
        client = httpx.AsyncClient(
            transport=httpx.ASGITransport(door), base_url=ORIGIN, headers={"Origin": ORIGIN}, timeout=60
        )
        async with client:
            await client.get(door.address())
            yield PageInside(backend, door, client)
