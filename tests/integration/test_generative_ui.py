"""Figures and tables for components of pages, on a real `langgraph dev`: pushed once, whatever one does to a thread."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from langgraph.graph.ui import ui_message_reducer
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.scripted_model import Call, ScriptedServer
from tests.serving import DevServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.xdist_group("chat")]

QUESTION: Any = {"messages": [{"role": "user", "content": "How much is it?"}]}
CONTEXT: Any = {"review": "never", "ui": ["figure", "table"]}
FIGURES: Any = {"review": "never", "ui": ["figure"]}
CHARTS: Any = {"ui": ["chart"]}
CODE = (
    "import matplotlib.pyplot as plt\nplt.plot([1, 2])\ntotal = 40 + 2\nprint(total)\n"
    "open('outputs/top.csv', 'w').write('region,units\\nnorth,42\\n')"
)
CELL = Call("run_python", purpose="Add", code=CODE, plan=["Add", "Answer"])
ANSWER = Call("submit_answer", answer="It is 42: ![the line](figures/cell-001-1.png)")
MOST_BYTES = 700
"""Of one reference in State."""


@pytest.fixture
async def client(chat_server: DevServer) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=chat_server.url) as client:
        yield client


def shown_with(values: Any, message: Any) -> list[str]:
    """What a page shows beside a message, as LangGraph's documents have pages do it."""
    return [one["id"] for one in values["ui"] if one["metadata"]["message_id"] == message["id"]]


async def test_what_is_pushed_is_a_reference_that_belongs_to_the_answer(
    client: LangGraphClient, endpoint: ScriptedServer
) -> None:
    endpoint.script += [CELL, ANSWER]
    thread = (await client.threads.create())["thread_id"]
    streamed: list[Any] = []
    values: Any = {}
    modes: Any = ["values", "custom"]
    async for part in client.runs.stream(thread, "stepwell", input=QUESTION, context=CONTEXT, stream_mode=modes):
        assert part.event != "error", part.data
        if part.event == "values":
            values = part.data
        elif part.event == "custom" and part.data.get("type") == "ui":
            one: Any = part.data
            streamed = ui_message_reducer(streamed, one)
    assert streamed == values["ui"]
    ids = ["1/figure/figures/cell-001-1.png", "1/table/top.csv"]
    assert shown_with(values, values["messages"][-1]) == ids
    figure, table = values["ui"]
    assert figure["props"]["title"] == "the line"
    assert "![" not in values["messages"][-1]["content"]
    async with httpx.AsyncClient() as browser:
        assert (await browser.get(figure["props"]["url"])).content[:4] == b"\x89PNG"
        assert (await browser.get(table["props"]["url"])).text == "region,units\nnorth,42\n"
    assert all(len(json.dumps(one)) < MOST_BYTES for one in values["ui"])


async def test_nothing_is_there_twice_after_another_turn_a_replay_a_fork_and_a_copy(
    client: LangGraphClient, endpoint: ScriptedServer
) -> None:
    endpoint.script += [CELL, ANSWER]
    thread = (await client.threads.create())["thread_id"]
    first: Any = await client.runs.wait(thread, "stepwell", input=QUESTION, context=CONTEXT)
    ids = [one["id"] for one in first["ui"]]
    history = await client.threads.get_history(thread, limit=50)
    before_upload = next(one for one in history if one["next"] == ["upload"])["checkpoint"]

    replayed: Any = await client.runs.wait(thread, "stepwell", input=None, checkpoint=before_upload, context=CONTEXT)
    assert [one["id"] for one in replayed["ui"]] == ids
    assert shown_with(replayed, replayed["messages"][-1]) == ids

    plain: Any = await client.runs.wait(
        thread, "stepwell", input=None, checkpoint=before_upload, context={"review": "never"}
    )
    assert plain["ui"] == [], "this branch was made by a page without components"
    assert "![the line](" in plain["messages"][-1]["content"]

    endpoint.script += [Call("run_python", purpose="Draw", code="plt.plot([3])"), Call("submit_answer", answer="So.")]
    copied: Any = await client.http.post(f"/threads/{thread}/copy", json=None)
    second: Any = await client.runs.wait(copied["thread_id"], "stepwell", input=QUESTION, context=FIGURES)
    assert [one["id"] for one in second["ui"]] == ["2/figure/figures/cell-002-1.png"]
    state: Any = await client.threads.get_state(thread)
    assert state["values"]["ui"] == []


async def test_a_component_that_there_is_not_is_refused_before_anything_runs(client: LangGraphClient) -> None:
    thread = (await client.threads.create())["thread_id"]
    with pytest.raises(httpx.HTTPStatusError) as refusal:
        await client.runs.create(thread, "stepwell", input=QUESTION, context=CHARTS)
    assert "ui cannot be 'chart': it has to be 'figure' or 'table'." in refusal.value.response.text
