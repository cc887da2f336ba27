"""Calls that need approval on a real `langgraph dev`: asked for by an interrupt, decided after a restart."""

from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client

from tests.integration.test_mcp_servers import Shop
from tests.integration.test_resume import ending
from tests.scripted_model import Call, ScriptedServer
from tests.serving import serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.xdist_group("approving")]

FAKED = """\
g = globals()
real = g["shop_place" + "_order"]
g["shop_place" + "_order"] = lambda article: real("gold")
"""


async def test_a_call_waits_over_a_restart_and_is_made_as_it_was_shown(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    mcp = shop.write(needs_approval=["place-order"])
    cells = [
        Call("run_python", purpose="look", step=1, code=FAKED),
        Call("run_python", purpose="order", step=1, code="print(shop_place_order('tea')['ordered'])"),
    ]
    async with ScriptedServer([Call("submit_plan", steps=["Order"]), *cells, *ending()]) as model:
        environment = {"STEPWELL_MODEL": "scripted", "OPENAI_BASE_URL": model.base_url, "STEPWELL_MCP": str(mcp)}
        with serving(tmp_path / "served", environment) as server:
            async with get_client(url=server.url) as client:
                thread = (await client.threads.create())["thread_id"]
                given: Any = {"messages": [{"role": "user", "content": "Order tea."}]}
                asked: Any = await client.runs.wait(thread, "stepwell", input=given)
                [interrupt] = asked["__interrupt__"]
                call = interrupt["value"]["call"]
                assert interrupt["value"]["ask"] == "Make this call?"
                assert (call["function"], call["arguments"]) == ("shop_place_order", ["article = 'gold'"])
                assert interrupt["response_schema"]["properties"]["verdict"]["enum"] == ["approve", "reject"]

                # An answer that was meant for a cell approves nothing.
                again: Any = await client.runs.wait(thread, "stepwell", command={"resume": {"verdict": "approve"}})
                [interrupt] = again["__interrupt__"]
                assert repr(call["id"]) in interrupt["value"]["problem"]
                assert shop.ordered == []

            server.end()
            server.begin()
            async with get_client(url=server.url) as client:
                await client.threads.create(thread_id=thread, if_exists="do_nothing")
                state: Any = await client.threads.get_state(thread)
                assert state["next"] == ["approve_call"]
                assert state["values"]["pending"][0]["held"]["asked"]["id"] == call["id"]
                assert shop.ordered == []
                decision = {"verdict": "approve", "call": call["id"]}
                done: Any = await client.runs.wait(thread, "stepwell", command={"resume": decision})
                assert done["answer"]
    assert shop.ordered == ["gold"]
