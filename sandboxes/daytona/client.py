"""Daytona's client: imported when it is first needed, one for each event loop, made in a thread."""

import asyncio
import weakref
from typing import TYPE_CHECKING

from sandboxes.base import SandboxRefusedError
from sandboxes.daytona.errors import NO_KEY
from sandboxes.daytona.options import Account

if TYPE_CHECKING:
    from daytona import AsyncDaytona

MISSING = "Sandboxes in Daytona need its client: install it with `pip install 'stepwell[daytona]'`."


class Clients:
    """The clients of one account.

    A client belongs to the event loop that it was first used in, and its sandboxes belong to it.

    Args:
        account: Who asks.
    """

    def __init__(self, account: Account) -> None:
        self._account = account
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
    try:
        from daytona import AsyncDaytona, DaytonaConfig
    except ImportError as error:
        raise SandboxRefusedError(MISSING) from error
    return AsyncDaytona(
        DaytonaConfig(
            api_key=account.api_key or None,
            jwt_token=account.jwt_token or None,
            organization_id=account.organization_id or None,
            api_url=account.api_url,
            target=account.target or None,
        )
    )
