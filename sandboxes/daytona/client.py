"""Daytona's client: imported when it is first needed, one for each event loop, made in a thread."""

import asyncio
import importlib
import os
import sys
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING

from sandboxes.base import SandboxRefusedError
from sandboxes.daytona.errors import NO_KEY
from sandboxes.daytona.options import Account

if TYPE_CHECKING:
    from daytona import AsyncDaytona

MISSING = f"Sandboxes in Daytona need its client: install it with `pip install 'stepwell[daytona]'`, into {sys.prefix}."


class Clients:
    """The clients of one account.

    A client belongs to the event loop that it was first used in, and its sandboxes belong to it.

    Args:
        account: Who asks.
    """

    def __init__(self, account: Account) -> None:
        self._account = account
        self.made = False
        """Whether a sandbox was made with one of them."""
        self._made: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[AsyncDaytona]] = (
            weakref.WeakKeyDictionary()
        )

    async def get(self) -> "AsyncDaytona":
        """The client of the running event loop.

        Raises:
            SandboxRefusedError: there is no key, or the client is not installed.
        """
        if not self._account.known:
            raise SandboxRefusedError(NO_KEY)
        loop = asyncio.get_running_loop()
        making = self._made.get(loop)
        if making is None or (making.done() and (making.cancelled() or making.exception() is not None)):
            making = self._made[loop] = loop.create_task(asyncio.to_thread(_make, self._account))
        return await asyncio.shield(making)

    async def close(self) -> None:
        """Close the client of the running event loop."""
        making = self._made.pop(asyncio.get_running_loop(), None)
        if making is not None and not making.cancelled():
            await asyncio.wait((making,))
            if making.exception() is None:
                await making.result().close()  # type: ignore[no-untyped-call]


def _make(account: Account) -> "AsyncDaytona":
    """Importing it and making it read files, which is not for the event loop."""
    for name in ("DAYTONA_API_KEY", "DAYTONA_JWT_TOKEN", "DAYTONA_ORGANIZATION_ID", "DAYTONA_TARGET"):
        # The client asks the working directory's `.env` and `.env.local` for what is not set: anybody may write those.
        os.environ.setdefault(name, "")
    try:
        from daytona import AsyncDaytona, DaytonaConfig
    except ImportError as error:
        raise SandboxRefusedError(MISSING) from error
    _leave_signals()
    return AsyncDaytona(
        DaytonaConfig(
            api_key=account.api_key or None,
            jwt_token=account.jwt_token or None,
            organization_id=account.organization_id or None,
            api_url=account.api_url,
            target=account.target or None,
        )
    )


def _leave_signals() -> None:
    """Keep the client from handling Ctrl-C, which is for whoever runs the event loop.

    The library by which it hears of events installs a handler of its own for SIGINT with its first connection, unless
    it believes that it has done so.
    """
    with suppress(ImportError):  # a client that does not use it has nothing to be kept from
        importlib.import_module("engineio.async_client").__dict__["async_signal_handler_set"] = True
