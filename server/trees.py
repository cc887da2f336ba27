"""The tree of a thread's steps, read from what LangGraph's routes say of its checkpoints."""

import json
from typing import Any

from starlette.requests import Request

from graph.step_tree import StepTree, tree_of_states
from server.platform import Platform


async def tree_of(request: Request, thread: str) -> StepTree:
    """Read a thread's tree as the sender of a request may see it.

    Raises:
        RefusedError: there is no such thread, or it is not his.
    """
    cells: dict[str, Any] = {}
    rows: list[tuple[str, str, Any]] = []
    async for said in Platform(request).checkpoints(thread):
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
