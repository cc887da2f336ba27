"""The real SDK's client for an emulator, and waiting for what happens there."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from daytona import AsyncDaytona, DaytonaConfig

from tests.daytona.emulator import Emulator


@asynccontextmanager
async def client_of(emulator: Emulator, key: str = "") -> AsyncIterator[AsyncDaytona]:
    """A client of it, with its key or another one; closed in the end."""
    config = DaytonaConfig(api_key=key or emulator.api_key, api_url=emulator.api_url, target="us")
    client = await asyncio.to_thread(AsyncDaytona, config)
    try:
        yield client
    finally:
        await client.close()  # type: ignore[no-untyped-call]


async def until(happened: Callable[[], bool]) -> None:
    """Wait until something has happened; it is asked in a thread."""
    async with asyncio.timeout(20):
        while not await asyncio.to_thread(happened):
            await asyncio.sleep(0.01)
