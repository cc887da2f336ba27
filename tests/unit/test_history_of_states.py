"""A server reads the states of a long thread with few queries, through the adapter that it puts around our saver."""

import json
import os
import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest
from langgraph.graph import END, START, StateGraph

from graph.checkpoints.factory import open_checkpoints
from graph.locked_graph import LockedGraph
from graph.settings import Settings
from graph.state import State
from graph.wiring import make_sandboxes

TURNS, LIMIT = 12, 5


async def work(state: Any) -> Any:
    """Add a cell."""
    number = len(state.get("cells") or []) + 1
    return {"cells": [{"number": number, "code": f"x = {number}", "status": "ok"}]}


async def read(settings: Settings) -> dict[str, Any]:
    """The newest states of a thread of some turns, through the adapter, and how often it read a checkpoint whole."""
    _adapter: Any = import_module("langgraph_api._checkpointer._adapter")  # reads the environment when it is imported

    class Counting(_adapter._CustomCheckpointerAdapter):  # type: ignore[misc]  # whatever it is there
        read = 0

        async def aget_tuple(self, config: Any) -> Any:
            self.read += 1
            return await super().aget_tuple(config)

    builder: StateGraph[Any, Any, Any, Any] = StateGraph(State)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    builder.add_edge("work", END)
    config: Any = {"configurable": {"thread_id": "t"}}
    async with make_sandboxes(settings) as sandboxes, open_checkpoints(settings) as saver:
        graph: Any = LockedGraph.around(builder.compile(name="stepwell"), settings, sandboxes)
        adapter = Counting(saver, _adapter.CheckpointerCapabilities.from_type(type(saver)))
        served, direct = graph.copy(update={"checkpointer": adapter}), graph.copy(update={"checkpointer": saver})
        for turn in range(TURNS):
            await served.ainvoke({"question": str(turn)}, config)
        adapter.read = 0
        states = [one.values async for one in served.aget_state_history(config, limit=LIMIT)]
        others = [one.values async for one in direct.aget_state_history(config, limit=LIMIT)]
        return {"read": adapter.read, "same": states == others, "cells": [len(one["cells"]) for one in states]}


@pytest.mark.slow
def test_history_reads_no_checkpoint_whole_for_another(settings: Settings) -> None:
    environment = {"MIGRATIONS_PATH": "__inmem", "DATABASE_URI": ":memory:", "REDIS_URI": "fake"}
    code = (
        "import asyncio, json, pathlib\n"
        "from graph.settings import Settings\n"
        "from tests.unit.test_history_of_states import read\n"
        f"print(json.dumps(asyncio.run(read(Settings(home=pathlib.Path({str(settings.home)!r}))))))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    said = json.loads(ran.stdout.splitlines()[-1])
    assert said == {"read": 0, "same": True, "cells": [TURNS, *[TURNS - 1] * 3, TURNS - 2]}, ran.stderr
