"""The knobs of a thread's last run, with those that somebody names now put over them."""

from collections.abc import Mapping
from typing import Any

from graph.checkpoints import open_checkpoints
from graph.context import Context
from graph.settings import Settings
from stepwell.runs import CONTEXT_KEY


async def with_changes(thread: str, changes: Mapping[str, Any], settings: Settings) -> Context | None:
    """What a thread goes on with.

    Args:
        thread: The thread's full id.
        changes: The knobs that were named, by their names in Context.
        settings: Where the checkpoints are.

    Returns:
        None when nothing was named: the thread then goes on with what it had.
    """
    if not changes:
        return None
    async with open_checkpoints(settings.home) as saver:
        newest = await saver.aget_tuple({"configurable": {"thread_id": thread}})
    kept = dict(newest.metadata).get(CONTEXT_KEY) if newest else None
    before = Context.model_validate_json(kept) if isinstance(kept, str) else Context()
    return Context.model_validate({**before.model_dump(), **changes})
