"""The knobs of a thread's last run, overridden by those that are named now."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from graph.checkpoints.factory import open_checkpoints
from graph.context import Context, stored_context
from graph.settings import Settings
from stepwell.errors import UsageError
from stepwell.runs import CONTEXT_KEY


async def changed_context(thread: str, changes: Mapping[str, Any], settings: Settings) -> Context | None:
    """The context that a thread continues with.

    Args:
        thread: The thread's full id.
        changes: The knobs that were named, by their names in Context.
        settings: Where the checkpoints are.

    Returns:
        None when nothing was named: the thread then goes on with what it had.

    Raises:
        UsageError: a value is not allowed.
    """
    if not changes:
        return None
    async with open_checkpoints(settings) as saver:
        before = stored_context(await saver.newest_metadata(thread, CONTEXT_KEY))
    return changed(before, changes)


async def stored_model(thread: str, settings: Settings) -> str:
    """The model that a thread's last run named; empty when it left that to the settings."""
    async with open_checkpoints(settings) as saver:
        return stored_context(await saver.newest_metadata(thread, CONTEXT_KEY)).model


def changed(before: Context, changes: Mapping[str, Any]) -> Context:
    """The knobs, with those that were named replaced.

    Raises:
        UsageError: a value is not allowed.
    """
    try:
        return Context.model_validate({**before.model_dump(), **changes})
    except ValidationError as error:
        first = error.errors()[0]
        name = "-".join(str(part) for part in first["loc"]).replace("_", "-")
        raise UsageError(f"--{name} cannot be {first['input']!r}: {first['msg']}.") from None
