"""The tree of a thread's steps: from the rows of our checkpoints, or from what LangGraph's routes say of others."""

import json
from typing import Any
from uuid import UUID

from starlette.requests import Request

from graph.checkpoints.step_tree import StepTree, step_tree, tree_of_states
from server.checkpoints import opened
from server.platform import Platform


async def tree_of(request: Request, thread: str) -> StepTree:
    """Read a thread's tree as the sender of a request may see it.

    Raises:
        RefusedError: there is no such thread, or it is not his.
    """
    platform = Platform(request)
    await platform.owns(thread)
    saver = opened.here
    return await step_tree(saver, str(UUID(thread))) if saver is not None else await _from_states(platform, thread)


async def newest_values(request: Request, thread: str) -> dict[str, Any]:
    """What the newest checkpoint of a thread holds by itself: all but the channels that grow.

    Raises:
        RefusedError: there is no such thread, or it is not the sender's.
    """
    platform = Platform(request)
    saver = opened.here
    if saver is None:
        return dict(await platform.state(thread))
    await platform.owns(thread)
    return await saver.channel_values(str(UUID(thread)))


async def _from_states(platform: Platform, thread: str) -> StepTree:
    """Read all checkpoints, each with its whole state."""
    cells: dict[str, Any] = {}
    rows: list[tuple[str, str, Any]] = []
    async for said in platform.checkpoints(thread):
        values: Any = said.get("values") or {}
        # The same cell comes with every checkpoint after it, and is kept once.
        line = [cells.setdefault(json.dumps(cell, sort_keys=True), cell) for cell in values.get("cells") or []]
        state = {
            "cells": line,
            "question": values.get("question") or "",
            "turns": [None] * len(values.get("turns") or []),
        }
        rows.append((_id(said.get("checkpoint")), _id(said.get("parent_checkpoint")), state))
    return tree_of_states(rows[::-1])


def _id(checkpoint: Any) -> str:
    return str((checkpoint or {}).get("checkpoint_id") or "")
