"""Crons that nobody owns: made before a server had users, seen by no user, and never ended by anybody."""

import asyncio
import logging
import sys
from typing import Any

from langgraph_sdk import get_client

from graph.users.identity import LOCAL

TRIES, PAUSE_SECONDS = 10, 3.0
PAGE = 1_000

logger = logging.getLogger(__name__)


def has_owner(user: object) -> bool:
    """Whether a cron's user is one whom the server has authenticated."""
    return isinstance(user, str) and user not in ("", LOCAL)


async def remove_ownerless() -> None:
    """Remove the crons of LangGraph's server that nobody owns; what comes from them meanwhile is refused anyway."""
    if "langgraph_api.server" not in sys.modules:  # another server runs us
        return
    problem = ""
    for _ in range(TRIES):
        try:
            await _remove()
            return
        except Exception as error:  # of whichever part of the server is not up yet
            problem = type(error).__name__
            await asyncio.sleep(PAUSE_SECONDS)
    logger.warning("Crons without an owner cannot be removed (%s); their runs are refused.", problem)


async def _remove() -> None:
    async with get_client(url=None, api_key=None) as client:  # in this process, and as nobody in particular
        found: list[Any] = []
        while page := await client.crons.search(limit=PAGE, offset=len(found)):
            found += page
        for cron in found:
            if not has_owner(cron.get("user_id")):
                await client.crons.delete(cron["cron_id"])
                logger.warning("A cron without an owner was removed.", extra={"cron_id": str(cron["cron_id"])})
