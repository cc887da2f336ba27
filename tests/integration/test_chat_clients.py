"""What clients of chat pages get from a real `langgraph dev`: a conversation whose parts are shown once each."""

import re
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.scripted_model import Call, Scripted, ScriptedServer
from tests.serving import DevServer, serving, with_keys

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.xdist_group("chat")]

QUESTION: Any = {"messages": [{"role": "user", "content": "How much is it?"}]}
SUM = Call("run_python", purpose="Add", code="total = 40 + 2\nprint(total)", plan=["Add", "Answer"])
REFUSED = Call("submit_answer", answer="It is 977,113 and 42.")
ANSWER = Call("submit_answer", answer="It is {{total}}.")
REVIEW = Call("submit_review", good_enough=True, missing=[])


@pytest.fixture
async def client(chat_server: DevServer) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=chat_server.url) as client:
        yield client


def script(model: ScriptedServer, *replies: Scripted) -> None:
    model.script += replies


async def test_a_page_shows_each_part_once_and_nothing_that_is_not_for_people(
    client: LangGraphClient, endpoint: ScriptedServer
) -> None:
    """Pages show `values.messages` and lay streamed messages over it by their ids."""
    script(endpoint, SUM, REFUSED, ANSWER, REVIEW)
    thread = (await client.threads.create())["thread_id"]
    values: list[Any] = []
    streamed: dict[str, Any] = {}
    modes: Any = ["values", "messages"]
    context: Any = {"review": "always"}
    async for part in client.runs.stream(thread, "stepwell", input=QUESTION, stream_mode=modes, context=context):
        assert part.event != "error", part.data
        if part.event == "values":
            values.append(part.data)
        elif part.event in ("messages/partial", "messages/complete"):
            streamed |= {message["id"]: message for message in part.data}
    assert all(given["messages"][0]["content"] == "How much is it?" for given in values), "never blank"
    final = values[-1]["messages"]
    assert [message["type"] for message in final] == ["human", "ai", "tool", "ai"]
    assert final[-1]["content"].startswith("It is 42."), final[-1]
    assert len({message["id"] for message in final}) == 4
    assert set(streamed) <= {message["id"] for message in final}
    assert {final[1]["id"], final[2]["id"], final[3]["id"]} <= set(streamed)
    assert "977,113" not in str([streamed, values[-1]["messages"]])
    assert "submit_" not in str([streamed, values])
    state: Any = await client.threads.get_state(thread)
    assert [message["id"] for message in state["values"]["messages"]] == [message["id"] for message in final]


@pytest.mark.parametrize(
    ("decision", "printed"),
    [
        ({"type": "approve"}, "42"),
        ({"type": "edit", "edited_action": {"name": "run_python", "args": {"code": "print(7 * 7)"}}}, "49"),
        ({"type": "reject", "message": "Not with plus."}, "Not with plus."),
    ],
)
async def test_a_cell_is_decided_in_the_shape_of_langchain(
    client: LangGraphClient, endpoint: ScriptedServer, decision: dict[str, Any], printed: str
) -> None:
    script(endpoint, SUM, Call("submit_answer", answer="Done."))
    thread = (await client.threads.create())["thread_id"]
    context: Any = {"approval": "cells", "review": "never"}
    asked: Any = await client.runs.wait(thread, "stepwell", input=QUESTION, context=context)
    request = asked["__interrupt__"][0]["value"]
    [action], [config] = request["action_requests"], request["review_configs"]
    assert (action["name"], action["args"]) == ("run_python", {"code": "total = 40 + 2\nprint(total)"})
    assert action["description"].startswith("Run cell 1? Add")
    assert config == {"action_name": "run_python", "allowed_decisions": ["approve", "edit", "reject"]}
    done: Any = await client.runs.wait(
        thread, "stepwell", command={"resume": {"decisions": [decision]}}, context={**context, "approval": "none"}
    )
    assert done["answer"].startswith("Done.")
    state: Any = await client.threads.get_state(thread)
    assert printed in state["values"]["cells"][0]["observation"]


async def test_other_agents_get_the_text_of_the_answer(client: LangGraphClient, endpoint: ScriptedServer) -> None:
    """A2A answered with the Python text of a dict, in which the paths of the server's disk stood."""
    script(endpoint, SUM, ANSWER, REVIEW)
    # The server's own one; another test makes others.
    found = await client.assistants.search(graph_id="stepwell", metadata={"created_by": "system"})
    assistant = found[0]["assistant_id"]
    message = {"role": "user", "messageId": "m", "parts": [{"kind": "text", "text": "How much is it?"}]}
    asked = {"jsonrpc": "2.0", "id": "1", "method": "message/send", "params": {"message": message}}
    http: httpx.AsyncClient = client.http.client
    said = await http.post(f"/a2a/{assistant}", json=asked, headers={"Accept": "application/json"}, timeout=120)
    result = said.json()["result"]
    texts = [part["text"] for artifact in result["artifacts"] for part in artifact["parts"]]
    assert len(texts) == 1
    assert texts[0].startswith("It is 42."), texts
    assert "artifacts" not in texts[0]


async def test_figures_and_files_are_where_a_browser_can_fetch_them(
    client: LangGraphClient, endpoint: ScriptedServer
) -> None:
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nopen('outputs/a b.csv', 'w').write('x\\n1\\n')\nprint(1)"
    make = Call("run_python", purpose="Draw", code=code)
    script(endpoint, make, Call("submit_answer", answer="See ![the line](figures/cell-001-1.png)."), REVIEW)
    thread = (await client.threads.create())["thread_id"]
    done: Any = await client.runs.wait(thread, "stepwell", input=QUESTION)
    shown = done["messages"][-1]["content"]
    base = str(client.http.client.base_url).rstrip("/")
    links = re.findall(r"\]\((.*?)\)", shown)
    paths = [link.partition("?")[0] for link in links]
    assert paths == [
        f"{base}/stepwell/threads/{thread}/artifacts/figures/cell-001-1.png",
        f"{base}/stepwell/threads/{thread}/artifacts/a%20b.csv",
    ]
    assert done["answer"] == "See ![the line](figures/cell-001-1.png)."
    from_a_page = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    async with httpx.AsyncClient(headers=from_a_page) as browser:
        figure, table = [await browser.get(link) for link in links]
        assert [(await browser.get(path)).status_code for path in paths] == [403, 403], "other pages see nothing else"
    assert figure.headers["cross-origin-resource-policy"] == "cross-origin"
    assert (figure.headers["content-type"], figure.content[:4]) == ("image/png", b"\x89PNG")
    assert table.text == "x\n1\n"
    urls = {one["name"]: one["url"] for one in done["artifacts"]}
    assert urls["a b.csv"] == paths[1]


async def test_where_there_are_users_a_link_needs_no_key_and_opens_one_file(
    model: ScriptedServer, tmp_path: Path
) -> None:
    keys, known = with_keys(tmp_path, "ann")
    environment = {
        "STEPWELL_MODEL": "scripted", "OPENAI_BASE_URL": model.base_url,
        "STEPWELL_PUBLIC_URL": "https://stepwell.example.org/here/", **keys,
    }  # fmt: skip
    make = Call("run_python", purpose="Write", code="for n in 'ab': open(f'outputs/{n}.csv', 'w').write(n)\nprint(1)")
    script(model, make, Call("submit_answer", answer="See [a](outputs/a.csv)."), REVIEW)
    with serving(tmp_path / "served", environment) as server:
        async with get_client(url=server.url, api_key=known["ann"]) as ann:
            thread = (await ann.threads.create())["thread_id"]
            done: Any = await ann.runs.wait(thread, "stepwell", input=QUESTION)
            listed = (await ann.http.client.get(f"/stepwell/threads/{thread}/artifacts")).json()["artifacts"]
        [link, _] = re.findall(r"\]\((.*?)\)", done["messages"][-1]["content"])
        public = f"https://stepwell.example.org/here/stepwell/threads/{thread}/artifacts/a.csv"
        assert link.startswith(f"{public}?until=")
        async with httpx.AsyncClient(base_url=server.url) as browser:
            here = link.removeprefix("https://stepwell.example.org/here")
            assert (await browser.get(here)).text == "a"
            assert (await browser.get(here.replace("a.csv", "b.csv"))).status_code == 403
            assert (await browser.get(here.partition("?")[0])).status_code == 401
            assert (await browser.get(here.replace("/a.csv", ""))).status_code == 401
            assert (await browser.put(here)).status_code == 401
            assert (await browser.get(here.replace(thread, str(uuid.uuid4())))).status_code == 403
            again = next(one["link"] for one in listed if one["name"] == "b.csv")
            assert (await browser.get(again)).text == "b"
