"""Giving disk back to the account: sandboxes of which all is in the store are deleted, the oldest first.

How long Daytona may keep a stopped sandbox says what is in it: a short time, when the store has all of it; `UNSTORED`,
when a step of it was not stored; `HELD`, when an input is nowhere else. So any process sees which of them nobody needs.
Daytona itself deletes what is stopped for so long, but not what it has archived before that.
"""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sandboxes.base import SandboxRefusedError, SandboxUnavailableError
from sandboxes.daytona.errors import asked

if TYPE_CHECKING:
    from daytona import AsyncDaytona, AsyncSandbox

LABEL = "stepwell"
"""The label that all of ours have; its value is the prefix of their names."""
THREAD_LABEL = "stepwell-thread"
"""The thread that it belongs to."""
KEEPING_LABEL = "stepwell-keeping"
"""Those have it whose time until deletion says what is in them; in older versions it only said what was configured."""
UNSTORED = 43_200
"""Minutes that a stopped sandbox is kept that has what the store does not have: 30 days."""
HELD = UNSTORED + 1
"""The same, when that is an input."""


def state_of(sandbox: "AsyncSandbox") -> str:
    """Its state, by Daytona's name for it."""
    state = sandbox.state
    return str(getattr(state, "value", state) or "")


def stored(sandbox: "AsyncSandbox") -> bool:
    """Whether the store has all that is in it."""
    return 0 <= _minutes(sandbox) < UNSTORED


async def free_one(client: "AsyncDaytona", prefix: str, *, sparing: str) -> bool:
    """Delete the stopped sandbox of ours that nobody needs and that was used longest ago.

    Args:
        client: The account's.
        prefix: How the names of ours begin.
        sparing: The name of one that is about to be used.

    Returns:
        Whether one is gone that had been there.
    """
    for one in await _ours(client, prefix, "stopped"):
        if one.name != sparing and await _deleted(one, "stopped", wait=True):
            return True
    return False


async def delete_archived(client: "AsyncDaytona", prefix: str) -> None:
    """Delete our archived sandboxes that nobody needs, and those that lie there for longer than any is kept."""
    for one in await _ours(client, prefix, "archived"):
        await _deleted(one, "archived", wait=False)


async def _ours(client: "AsyncDaytona", prefix: str, state: str) -> "list[AsyncSandbox]":
    """Ours in a state, the one that was used longest ago first."""

    async def call() -> "list[AsyncSandbox]":
        from daytona import ListSandboxesQuery, SandboxState

        query = ListSandboxesQuery(labels={LABEL: prefix}, states=[SandboxState(state)])
        return [one async for one in client.list(query)]

    return sorted(await asked("list the sandboxes", call, again=True), key=_used)


async def _deleted(sandbox: "AsyncSandbox", state: str, *, wait: bool) -> bool:
    """Delete it if nobody needs it and it is still in that state; whoever starts it at this moment comes first."""
    if not _needless(sandbox):
        return False
    with suppress(SandboxUnavailableError, SandboxRefusedError):
        await asked("say how the sandbox is", sandbox.refresh_data, again=True)
        if state_of(sandbox) == state and _needless(sandbox):
            await asked("delete a sandbox", lambda: sandbox.delete(timeout=60, wait=wait), again=False)
            return True
    return False


def _needless(sandbox: "AsyncSandbox") -> bool:
    """Whether the store has all that is in it, or it lies in the archive for longer than any is kept."""
    minutes = _minutes(sandbox)
    expired = minutes > 0 and _used(sandbox) + timedelta(minutes=minutes) < datetime.now(UTC)
    return stored(sandbox) or (expired and state_of(sandbox) == "archived")


def _minutes(sandbox: "AsyncSandbox") -> float:
    """How long Daytona keeps it when it is stopped; -1: for ever, or nobody knows what that would say of it."""
    interval = sandbox.auto_delete_interval
    return interval if interval is not None and KEEPING_LABEL in (sandbox.labels or {}) else -1


def _used(sandbox: "AsyncSandbox") -> datetime:
    """When it was used last, as far as the service says."""
    for timestamp in (sandbox.last_activity_at, sandbox.updated_at, sandbox.created_at):
        with suppress(TypeError, ValueError):
            when = datetime.fromisoformat(str(timestamp))
            return when if when.tzinfo else when.replace(tzinfo=UTC)
    return datetime.fromtimestamp(0, UTC)
