"""The page's routes: who may come in, what is shown of threads, and that nothing of theirs runs."""

import asyncio
import re
import signal
import sys
import zipfile
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pandas as pd
import pytest
from langchain_core.messages import HumanMessage

from graph.settings import Settings
from graph.state import CellOutput, SandboxRef, Turn
from stepwell.forks import fork_thread
from stepwell.locks import lock_thread
from stepwell.page.app import page_app
from stepwell.thread_summaries import ANY
from stepwell.threads import open_graph, read_thread
from tests.analyses import with_model, write_sales
from tests.hostile_thread import QUESTION, LiveParts, hostile_input, hostile_replies
from tests.integration.test_mcp_servers import Shop
from tests.other_process import environment
from tests.page_process import ORIGIN, PageInside, page_inside, running_page, started_page
from tests.prepared_command import PREPARED
from tests.scripted_model import Call, Scripted, ScriptedServer, bad_key
from tests.states import make_cell, make_state

ASKED = {"question": "How much did the north sell?", "knobs": "1"}
CODE = """import pandas as pd
sales = pd.read_csv("inputs/sales.csv")
north = int(sales[sales["region"] == "north"]["units"].sum())
sales.head(3).to_csv("outputs/first.csv", index=False)
sales.head()"""


def north() -> list[Scripted]:
    return [
        Call("run_python", purpose="Load", code=CODE),
        Call("run_python", purpose="Sum up", code="north", answer="The north sold {{north:,}} units."),
        Call("submit_review", good_enough=True, missing=[]),
    ]


@pytest.fixture
async def page(settings: Settings) -> AsyncIterator[PageInside]:
    async with page_inside(settings) as page:
        yield page


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


async def finished(page: PageInside, thread: str) -> str:
    """The thread's page once its run is over."""
    async for _ in page.backend.changes(thread):
        pass
    return (await page.client.get(f"/threads/{thread}")).text


async def ask(page: PageInside, data: dict[str, str], *files: Path) -> str:
    """Ask by the form, as a browser without scripts does; the new thread's id."""
    sent = [("file", (file.name, file.read_bytes())) for file in files]
    answer = await page.client.post("/new", data=data, files=sent or [("file", ("", b""))])
    assert answer.status_code == 303, answer.text
    return answer.headers["location"].rpartition("/")[2]


async def test_only_who_has_opened_the_printed_address_comes_in(page: PageInside) -> None:
    async with page.stranger() as stranger:
        assert (await stranger.get("/")).status_code == 403
        address = page.door.address("/threads/x?y=1")
        entered = await stranger.get(address)
        assert entered.status_code == 200
        cookie = entered.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert 'url=/threads/x?y=1"' in entered.text
        assert (await stranger.get("/")).status_code == 200
        again = await stranger.get(address)
        assert again.status_code == 200, "the browser that it let in may come by it again, out of its history"
        assert "set-cookie" not in again.headers
    async with page.stranger() as other:
        assert (await other.get(address)).status_code == 403, "an address lets one browser in"
        assert (await other.get("/enter?key=")).status_code == 403
        assert (await other.get("/")).status_code == 403
    async with page.stranger() as third:
        entered = await third.get(page.door.address("//elsewhere.example.org"))
        assert "elsewhere" not in entered.text


@pytest.mark.parametrize("host", ["evil.example.org:8484", "127.0.0.1", "127.0.0.1:1", "", "0.0.0.0:8484"])
async def test_a_name_of_somebody_else_s_is_refused(page: PageInside, host: str) -> None:
    answer = await page.client.get("/", headers={"Host": host})
    assert answer.status_code == 421
    assert (await page.client.get("/", headers={"Host": "localhost:8484"})).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example.org"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": ORIGIN, "Sec-Fetch-Site": "cross-site"},
        {"Origin": ORIGIN, "Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {},
    ],
)
async def test_what_changes_something_must_come_from_the_page(page: PageInside, headers: dict[str, str]) -> None:
    cookies = dict(page.client.cookies)
    async with page.stranger() as client:
        client.cookies.update(cookies)
        upload = f"/uploads/{'0' * 32}"
        posts = ("/new", "/uploads?name=a.csv", "/threads/x/delete")
        for method, path in (*(("POST", path) for path in posts), ("PATCH", upload), ("DELETE", upload)):
            answer = await client.request(method, path, headers=headers, content=b"x")
            assert answer.status_code == 403, (method, path)
    assert await page.backend.threads(ANY, limit=1) == []


async def test_every_answer_forbids_scripts_of_others(page: PageInside) -> None:
    for path in ("/", "/new", "/nothing", "/threads/nothing", "/assets/live.js", "/compare?a=x&b=y"):
        headers = (await page.client.get(path)).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy, path
        assert "script-src 127.0.0.1:8484/assets/;" in policy, path
        assert "unsafe" not in policy, path
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == ("max-age=31536000, immutable" if "assets" in path else "no-store")


async def test_a_question_with_a_file_is_asked_and_answered_without_scripts(settings: Settings, tmp_path: Path) -> None:
    sales = write_sales(tmp_path / "sales.csv")
    async with ScriptedServer(north()) as model, page_inside(with_model(settings, model.base_url)) as page:
        thread = await ask(page, {**ASKED, "max_cells": "7"}, sales)
        text = await finished(page, thread)
        units = re.search(r'<a href="#cell-2" class="number" title="Cell 2: north"[^>]*>([\d,]+)</a> units', text)
        assert units is not None, text
        assert 'id="cell-2"' in text
        assert "inputs/sales.csv" in text
        assert (await page.backend.thread(thread)).context.max_cells == 7
        artifact = await page.client.get(f"/threads/{thread}/artifacts/first.csv")
        assert artifact.text.startswith("month,region,units,price")
        assert artifact.headers["content-disposition"].startswith("attachment")
        preview = await page.client.get(f"/threads/{thread}/files/first.csv")
        assert '<td class="text">2025-01-01</td>' in preview.text
        listed = (await page.client.get("/?q=NORTH+sold")).text
        assert f"/threads/{thread}" in listed
        assert "The <mark>north</mark> <mark>sold</mark>" in listed
        assert "No thread has all of this" in (await page.client.get("/?q=submarine")).text
        archive = await page.client.get(f"/threads/{thread}/export?format=zip")
        assert {"report.html", "notebook.ipynb", "first.csv"} <= set(
            zipfile.ZipFile(BytesIO(archive.content)).namelist()
        )
        again = await page.client.post(f"/threads/{thread}/resume", data={"x": "1"})
        assert again.status_code == 409
        assert "is finished" in again.text


async def test_steps_variables_and_files_are_looked_at(settings: Settings, tmp_path: Path) -> None:
    sales = write_sales(tmp_path / "sales.csv", rows=250)
    async with ScriptedServer(north()) as model, page_inside(with_model(settings, model.base_url)) as page:
        thread = await ask(page, ASKED, sales)
        await finished(page, thread)
        at = f"/threads/{thread}/steps"
        assert f'href="{at}/2"' in (await page.client.get(at)).text
        step = (await page.client.get(f"{at}/1")).text
        assert f'href="{at}/1/variables/sales"' in step
        assert '<li class="added">made: ' in step
        assert f'href="/compare?a={thread}@0&amp;b={thread}@1">compare the two' in step
        assert f'<li><a href="{at}/1/files/outputs/first.csv">outputs/first.csv (created)</a></li>' in step
        shown = (await page.client.get(f"/threads/{thread}")).text
        assert f'<li><a href="/threads/{thread}/files/first.csv">outputs/first.csv (created)</a></li>' in shown
        assert f'href="{at}/1/files/outputs/first.csv"' in step
        first = (await page.client.get(f"{at}/1/variables/sales")).text
        assert "250 rows, 4 columns" in first
        assert '<th scope="row">99</th>' in first
        assert '<th scope="row">100</th>' not in first
        last = (await page.client.get(f"{at}/1/variables/sales?row=200")).text
        assert '<th scope="row">249</th>' in last
        jumped = (await page.client.get(f"{at}/1/variables/sales?at=200&column=0")).text
        assert '<tbody>\n<tr><th scope="row">199</th>' in jumped
        assert "rows 200 to 250" in jumped
        assert "rows 201 to 250" in (await page.client.get(f"{at}/1/variables/sales?at=9999999")).text
        assert jumped.count("Rows before") == 2, "above and below"
        assert "<small>int64</small>" in jumped
        units = re.findall(r"sort=(\d)\" title=\"[^\"]+\">units", first)[0]
        down = (await page.client.get(f"{at}/1/variables/sales?sort={units}&down=1")).text
        lines = [re.findall(r"<td[^>]*>([^<]*)</td>", line) for line in re.findall(r'<tr><th scope="row">.*', down)]
        column = [int(line[int(units)]) for line in lines]
        assert column == sorted(pd.read_csv(sales)["units"], reverse=True)[:100], "all rows are sorted, not this page"
        assert 'aria-sort="descending"' in down
        assert f"row=100&amp;column=0&amp;sort={units}&amp;down=1" in down, "and the next page goes on in that order"
        assert "int" in (await page.client.get(f"{at}/1/variables/north")).text
        assert f'href="{at}/1/variables/outputs/first.csv"' in step
        rows = (await page.client.get(f"{at}/1/variables/outputs/first.csv")).text
        assert "<code>outputs/first.csv</code> <small>table</small>" in rows
        published = (await page.client.get(f"/threads/{thread}/files/first.csv")).text
        assert f'href="{at}/1/variables/outputs/first.csv">Look at its rows' in published
        for name in ("nothing", "outputs/nothing.csv", quote("__import__('os').getcwd()")):
            gone = await page.client.get(f"{at}/1/variables/{name}")
            assert gone.status_code == 409
            assert "There is no variable" in gone.text
        assert "(250, 4)" in await tried(page, f"{at}/1", "north = 7\r\nsales.shape")
        again = await tried(page, f"{at}/1", "print(north)\nraise ValueError('<i>')")
        assert ">7\n</pre>" in again, "the session is kept"
        assert "ValueError: &lt;i&gt;" in again
        assert "(250, 4)" in again, "and what was run before it"
        assert ">7<" not in (await page.client.get(f"{at}/1/variables/north")).text, "and is not the step"
        drawn = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"
        assert 'src="data:image/png;base64,' in await tried(page, f"{at}/1", drawn)
        ids = re.findall(r' id="([^"]+)"', (await page.client.get(f"{at}/1")).text)
        assert len(ids) == len(set(ids))
        assert "print(north)" not in (await page.client.get(f"{at}/2")).text, "it is of this step"
        input = f"/threads/{thread}/inputs/inputs/sales.csv"
        assert f'<a href="{input}">inputs/sales.csv</a>' in step
        assert f'<a href="{input}"><code>' in (await page.client.get(f"/threads/{thread}")).text
        looked = (await page.client.get(input)).text
        assert "What is in it" in looked
        assert "250 rows" in looked
        assert "<td>30</td>" in looked
        raw = f"/threads/{thread}/input-files/inputs/sales.csv"
        assert f'href="{raw}?download=1"' in looked
        assert (await page.client.get(raw)).content == sales.read_bytes()
        for wrong in ("inputs/none.csv", "../../etc/passwd", "outputs/first.csv"):
            assert (await page.client.get(f"/threads/{thread}/input-files/{quote(wrong, safe='')}")).status_code == 404
        file = await page.client.get(f"{at}/1/files/outputs/first.csv")
        assert file.text.startswith("month,")
        for wrong in ("outputs/nothing.csv", "../../../etc/passwd", "/etc/passwd"):
            assert (await page.client.get(f"{at}/1/files/{quote(wrong, safe='')}")).status_code == 404
        assert (await page.client.get(f"{at}/99")).status_code == 409
        assert (await page.client.get(f"{at}/0")).status_code == 200


async def tried(page: PageInside, step: str, code: str) -> str:
    """The page of a step once code at its prompt is over."""
    ran = await page.client.post(f"{step}/prompt", data={"code": code})
    assert (ran.status_code, ran.headers["location"]) == (303, f"{step}#prompt")
    while 'data-busy="1"' in (shown := (await page.client.get(step)).text):
        await asyncio.sleep(0.05)
    return shown


@pytest.mark.slow
async def test_a_thread_goes_on_from_a_step_in_three_ways(settings: Settings, tmp_path: Path) -> None:
    sales = write_sales(tmp_path / "sales.csv")
    other: list[Scripted] = [
        Call("run_python", purpose="Other", code="print(north * 2)", answer="Twice that is {{north * 2:,}}."),
        Call("submit_review", good_enough=True, missing=[]),
    ]
    async with (
        ScriptedServer([*north(), *other, *other, *other]) as model,
        page_inside(with_model(settings, model.base_url)) as page,
    ):
        thread = await ask(page, ASKED, sales)
        await finished(page, thread)
        at = f"/threads/{thread}/steps/1"
        nothing = await page.client.post(at, data={"what": "ask", "question": " "})
        assert nothing.status_code == 422
        assert (await page.client.post(at, data={"what": "destroy"})).status_code == 422
        wrong = await page.client.post(at, data={"what": "fork", "question": "Twice?", "knobs": "1", "max_cells": "-4"})
        assert wrong.status_code == 422
        assert "max_cells cannot be -4" in wrong.text
        assert "Twice?</textarea>" in wrong.text
        assert len(await page.backend.threads(ANY, limit=9)) == 1, "nothing was forked"
        forked = await page.client.post(at, data={"what": "fork", "question": "Twice that?"})
        fork = forked.headers["location"].rpartition("/")[2].removesuffix("#latest")
        assert fork != thread
        assert "Twice that is" in await finished(page, fork)
        shown = (await page.client.get(f"/threads/{fork}")).text
        assert "<title>Twice that? · Stepwell</title>" in shown
        assert f'A fork of <a href="/threads/{thread}">another thread</a> at' in shown
        assert f'<a href="/compare?a={thread}&amp;b={fork}">compare the two</a>' in shown
        same = await fork_thread(thread, step=1, settings=page.backend.settings)
        title = f"Fork at step 1 of: {ASKED['question']}"
        assert f"<title>{title} · Stepwell</title>" in (await page.client.get(f"/threads/{same}")).text
        lines = {one.id: one.question for one in await page.backend.threads(ANY, limit=9)}
        assert lines == {thread: ASKED["question"], fork: "Twice that?", same: title}
        await page.client.post(f"/threads/{same}/labels", data={"name": "a try", "tags": ""})
        listed = (await page.client.get("/")).text
        assert f'href="/threads/{same}">a try</a>' in listed
        origin = f'Fork of <a href="/threads/{thread}">{ASKED["question"]}</a> at <a href="{at}">step 1</a>'
        assert listed.count(origin) == 2
        asked = await page.client.post(at, data={"what": "ask", "question": "Twice that?"})
        assert asked.headers["location"].endswith(f"{thread}#latest")
        assert "Twice that is" in await finished(page, thread)
        assert 'href="/threads/' + thread + '/steps/2b"' in (await page.client.get(f"/threads/{thread}/steps")).text
        compared = await page.client.get(f"/compare?a={thread}@2&b={thread}@2b")
        assert "1 cell at the beginning is the same" in compared.text
        assert re.search(r'href="#a-cell-2" class="number"[^>]*>[\d,]+</a> units', compared.text)
        assert re.search(r'Twice that is <a href="#b-cell-2"', compared.text)
        assert "print(north * 2)" in compared.text
        back = await page.client.post(at, data={"what": "back"})
        assert back.status_code == 303
        left = (await page.client.get(f"/threads/{thread}")).text
        assert "This thread is paused" in left
        assert f'The thread is back at <a href="/threads/{thread}/steps/1">step 1</a>' in left
        assert "What came after it is kept, with its answers" in left
        steps = (await page.client.get(f"/threads/{thread}/steps")).text
        assert (steps.count("the thread is here"), steps.count("kept beside")) == (1, 2)
        assert "Go forward to the answer at step 2b" in left
        assert f'href="/threads/{thread}/files/first.csv"' not in left
        assert "Only go to here, with its answer" in (await page.client.get(f"/threads/{thread}/steps/2")).text
        await page.client.post(f"/threads/{thread}/steps/2", data={"what": "back"})
        again = (await page.client.get(f"/threads/{thread}")).text
        assert "The north sold" in again
        assert f'href="/threads/{thread}/files/first.csv"' in again
        assert 'id="further"' in again, "and it can be asked on"
        assert "The thread is back at" not in again, "nothing came after it"
        await page.client.post(f"/threads/{thread}/ask", data={"question": "Twice that?"})
        assert "Twice that is" in await finished(page, thread)
        await page.client.post(f"/threads/{thread}/steps/2", data={"what": "back"})
        at_2 = (await page.client.get(f"/threads/{thread}")).text
        assert f'The thread is back at <a href="/threads/{thread}/steps/2">step 2</a>' in at_2
        assert "Go forward to the answer at step 3" in at_2
        await page.client.post(f"/threads/{thread}/delete")
        left = (await page.client.get("/")).text
        assert left.count("Fork of a thread that was deleted, at its step 1") == 2
        assert thread not in left


async def test_nothing_of_a_hostile_thread_is_alive_on_any_page(settings: Settings, tmp_path: Path) -> None:
    assert len(LiveParts(QUESTION).found) == 4, "what is looked for would be found"
    async with ScriptedServer(hostile_replies()) as model, page_inside(with_model(settings, model.base_url)) as page:
        thread = await ask(page, {**ASKED, "question": QUESTION}, hostile_input(tmp_path / "in"))
        assert "There are" in await finished(page, thread)
        view = await page.backend.thread(thread)
        names = [one["name"] for one in view.state["artifacts"]]
        assert {"page.html", "picture.svg", "notes.md", "table.csv", "fake.png"} <= set(names)
        here = f"/threads/{thread}"
        pages = ["/", "/?q=script", here, f"{here}/delete", f"{here}/steps", f"{here}/steps/1", f"{here}/steps/2",
                 f"{here}/steps/1/variables/hostile", f"/compare?a={thread}@1&b={thread}@2",
                 *(f"{here}/files/{quote(name)}" for name in names)]  # fmt: skip
        for path in pages:
            answer = await page.client.get(path)
            assert answer.status_code == 200, path
            assert LiveParts(answer.text).found == [], path
        for name in names:
            sent = await page.client.get(f"{here}/artifacts/{quote(name)}")
            assert "sandbox" in sent.headers["content-security-policy"], name
            shown = sent.headers["content-disposition"].startswith("inline")
            assert not shown or name.endswith((".txt", ".png")), name
            assert sent.headers["x-content-type-options"] == "nosniff"


async def test_an_approval_is_about_what_was_shown(settings: Settings) -> None:
    script: list[Scripted] = [
        Call("run_python", purpose="One", code="a = 1"),
        Call("run_python", purpose="Two", code="a = 2"),
        Call("run_python", purpose="Three", code="a = 3"),
    ]
    async with ScriptedServer(script) as model, page_inside(with_model(settings, model.base_url)) as page:
        thread = await ask(page, {**ASKED, "approval": "1"})
        shown = await finished(page, thread)
        of = re.findall(r'name="of" value="(\w+)"', shown)[0]
        assert "Cell 1 waits for you" in shown
        report = (await page.client.get(f"/threads/{thread}/export?format=html")).text
        assert "This question has not been answered yet: it waits for a decision." in report
        wrong = await page.client.post(f"/threads/{thread}/decide", data={"verdict": "approve", "of": "0" * 32})
        assert wrong.status_code == 409
        assert "Something else waits" in wrong.text
        looked = await page.client.post(
            f"/threads/{thread}/edit", data={"verdict": "look", "of": of, "code": "a = 1\r\nb = <b>"}
        )
        assert '<span class="added">+b = &lt;b&gt;\n</span>' in looked.text
        assert ">a = 1\nb = &lt;b&gt;</textarea>" in looked.text
        approved = await page.client.post(f"/threads/{thread}/decide", data={"verdict": "approve", "of": of})
        assert approved.status_code == 303
        assert "Cell 2 waits for you" in await finished(page, thread)
        late = await page.client.post(f"/threads/{thread}/decide", data={"verdict": "approve", "of": of})
        assert late.status_code == 409
        assert "edited by" not in late.text
        second = {"verdict": "edit", "of": re.findall(r'name="of" value="(\w+)"', late.text)[0], "code": "a = 22"}
        await page.client.post(f"/threads/{thread}/decide", data=second)
        shown = await finished(page, thread)
        assert "<strong>edited by the user before it ran</strong>" in shown
        assert '<span class="removed">-a = 2\n</span><span class="added">+a = 22\n</span>' in shown
        assert [cell["code"] for cell in (await read_thread(thread, settings)).state["cells"]] == ["a = 1", "a = 22"]


@pytest.mark.slow
async def test_a_plan_and_a_call_are_shown_whole_before_they_are_approved(settings: Settings, shop: Shop) -> None:
    script: list[Scripted] = [
        Call("submit_plan", steps=["Look <b>", "Order"]),
        Call("run_python", purpose="Order", code="print(shop_place_order('tea <i>')['ordered'])"),
        Call("submit_answer", answer="Ordered.", skipped=[]),
        Call("submit_review", good_enough=True, missing=[]),
    ]
    mcp = shop.write(needs_approval=["place-order"])
    async with ScriptedServer(script) as model, page_inside(with_model(settings, model.base_url, mcp=mcp)) as page:
        thread = await ask(page, {**ASKED, "approve_plan": "1"})
        at, of = f"/threads/{thread}/decide", re.compile(r'name="of" value="(\w+)"')
        shown = await finished(page, thread)
        assert "A plan waits for you" in shown
        assert "<summary>Plan</summary>" not in shown, "it is there once"
        assert "<li>Look &lt;b&gt;</li>" in shown
        edit = {"verdict": "edit", "of": of.findall(shown)[0], "code": "Order tea\r\nSay so"}
        assert (await page.client.post(at, data=edit)).status_code == 303
        shown = await finished(page, thread)
        assert "Order tea" in str(model.requests[1].body)
        assert "Cell 1 calls shop_place_order and waits for you" in shown
        assert "article = &#39;tea &lt;i&gt;&#39;" in shown
        assert "Edit it" not in shown
        assert shop.ordered == []
        approve = {"verdict": "approve", "of": of.findall(shown)[0]}
        assert (await page.client.post(at, data=approve)).status_code == 303
        assert "Ordered." in await finished(page, thread)
    assert shop.orders.read_text() == "tea <i>\n"


async def test_bad_input_gets_a_sentence_and_loses_nothing(page: PageInside, tmp_path: Path) -> None:
    sales = write_sales(tmp_path / "sales.csv")
    sent = [("file", (sales.name, sales.read_bytes()))]
    data = {"question": "Why & how?", "knobs": "1", "max_tokens": "many", "language": "Welsh"}
    answer = await page.client.post("/new", data=data, files=sent)
    assert answer.status_code == 422
    assert "Token budget: &#39;many&#39; is no number." in answer.text
    assert "Why &amp; how?</textarea>" in answer.text
    assert 'value="Welsh"' in answer.text
    kept = re.search(r'name="file" value="(upload:[^"]+)" checked> sales.csv', answer.text)
    assert kept is not None
    empty = await page.client.post("/new", data={"question": " ", "file": kept[1]}, files=[("file", ("", b""))])
    assert empty.status_code == 422
    assert "The question is empty." in empty.text
    assert kept[1] in empty.text
    foreign = await page.client.post("/new", data={"question": "a", "file": "/etc/passwd"}, files=[("file", ("", b""))])
    assert foreign.status_code == 422
    assert "no upload of yours" in foreign.text
    assert (await page.client.get("/threads/..%2f..%2fetc")).status_code in (404, 409)
    unsaid = await page.client.post("/uploads?name=%20", content=b"x")
    assert unsaid.status_code == 415
    wild = await page.client.post("/new", data={**ASKED, "max_cells": "4000"}, files=[("file", ("", b""))])
    assert wild.status_code == 422
    assert "max_cells cannot be 4000" in wild.text


async def test_an_upload_is_no_larger_than_the_settings_say(settings: Settings) -> None:
    async with page_inside(settings.model_copy(update={"max_input_bytes": 1_000})) as page:
        assert (await page.client.post("/uploads?name=a.csv", content=b"x" * 1_000)).status_code == 201

        async def pieces() -> AsyncIterator[bytes]:
            for _ in range(11):
                yield b"x" * 100

        for content in (b"x" * 1_001, pieces()):
            refused = await page.client.post("/uploads?name=b.csv", content=content)
            assert refused.status_code == 413
            assert "1,000" in refused.json()["detail"]
        form = await page.client.post("/new", data=ASKED, files=[("file", ("c.csv", b"x" * 2_000))])
        assert form.status_code == 422


async def test_a_thread_that_another_program_works_on_is_shown_so(settings: Settings) -> None:
    thread = await long_thread(settings, 2)
    async with page_inside(settings) as page, lock_thread(thread, settings):
        shown = (await page.client.get(f"/threads/{thread}")).text
        assert "running in another program" in shown
        refused = await page.client.post(f"/threads/{thread}/delete")
        assert refused.status_code == 409
        assert "worked on" in refused.text
    async with page_inside(settings) as page:
        assert "running in another program" not in (await page.client.get(f"/threads/{thread}")).text


async def test_names_tags_and_deleting(settings: Settings) -> None:
    thread, other = await long_thread(settings, 2), await long_thread(settings, 1)
    async with page_inside(settings) as page:
        labels = {"name": "Strikes", "tags": "birds, 2001"}
        assert (await page.client.post(f"/threads/{thread}/labels", data=labels)).status_code == 303
        await page.client.post(f"/threads/{thread}/labels", data={**labels, "tags": "birds"})
        tagged = (await page.client.get("/?tag=birds")).text
        assert "Strikes" in tagged
        assert other not in tagged
        assert thread not in (await page.client.get("/?tag=2001")).text
        taken = await page.client.post(f"/threads/{other}/labels", data=labels)
        assert taken.status_code == 409
        assert "Delete this thread?" in (await page.client.get(f"/threads/{thread}/delete")).text
        assert (await page.client.post(f"/threads/{thread}/delete")).status_code == 303
        assert (await page.client.get(f"/threads/{thread}")).status_code == 409
        assert [line.id for line in await page.backend.threads(ANY, limit=9)] == [other]


async def test_a_long_thread_begins_before_all_of_it_is_made(settings: Settings) -> None:
    thread = await long_thread(settings, 300)
    pieces: list[bytes] = []

    async def send(message: Any) -> None:
        pieces.append(message.get("body", b""))

    async def receive() -> Any:
        return await asyncio.Future()

    async with page_inside(settings) as page:
        answer = await page.client.get(f"/threads/{thread}")
        assert answer.text.count('<section class="cell') == 300
        scope = {"type": "http", "method": "GET", "path": f"/threads/{thread}", "query_string": b"", "root_path": "",
                 "headers": [(b"host", b"127.0.0.1:8484")], "http_version": "1.1", "scheme": "http"}  # fmt: skip
        await page_app(lambda request: page.backend)(scope, receive, send)
    assert b"".join(pieces) == answer.content
    at = {what: next(n for n, piece in enumerate(pieces) if what in piece) for what in (b"It is", b'id="cell-300"')}
    assert at[b"It is"] < 5 < at[b'id="cell-300"']


async def test_the_page_works_below_a_path_of_another_application(settings: Settings) -> None:
    from starlette.applications import Starlette
    from starlette.routing import Mount

    thread = await long_thread(settings, 3)
    async with page_inside(settings) as page:
        outer = Starlette(routes=[Mount("/ui", page_app(lambda request: page.backend))])
        async with httpx.AsyncClient(transport=httpx.ASGITransport(outer), base_url="http://example.org") as client:
            for path in ("/ui/", f"/ui/threads/{thread}", f"/ui/threads/{thread}/steps", "/ui/new"):
                text = (await client.get(path)).text
                addresses = re.findall(r'(?:href|src|action)="(/[^"]*)"', text)
                assert addresses, path
                assert all(one.startswith("/ui/") for one in addresses), path
                style = next(one for one in addresses if "page.css" in one)
                assert (await client.get(style)).status_code == 200
            assert (await client.post("/ui/new", data=ASKED)).status_code == 403


@pytest.mark.slow
async def test_ctrl_c_pauses_what_runs(settings: Settings) -> None:
    script: list[Scripted] = [Call("run_python", purpose="Wait", code="import time\ntime.sleep(300)")]
    async with (
        ScriptedServer(script) as model,
        started_page([sys.executable, "-m", "stepwell"], settings, model.base_url, OPENAI_API_KEY="none") as page,
    ):
        async with httpx.AsyncClient(base_url=page.origin, headers={"Origin": page.origin}, timeout=60) as client:
            await client.get(page.address)
            asked = await client.post("/new", data=ASKED, files=[("file", ("", b""))])
            thread = asked.headers["location"].rpartition("/")[2]
            while "is running" not in (await client.get(f"/threads/{thread}")).text:
                await asyncio.sleep(0.2)
        assert await page.stop() == 130
    assert (await read_thread(thread, settings)).status == "paused"


async def test_who_comes_without_a_key_makes_it_print_a_new_address(settings: Settings) -> None:
    async with running_page(settings) as page, httpx.AsyncClient(base_url=page.origin) as client:
        await client.get(page.address)
        async with httpx.AsyncClient(base_url=page.origin) as other:
            assert (await other.get("/")).status_code == 403
            address = await page.next_address()
            assert address != page.address
            assert (await other.get(address)).status_code == 200
            assert (await other.get("/")).status_code == 200


def test_the_first_view_is_small() -> None:
    import gzip

    from stepwell.page.rendering import ASSET_TYPES, ASSETS, asset

    assert sum(len(gzip.compress(asset(name))) for name in ASSET_TYPES) < 300_000
    package = Path(__file__).parents[2] / "stepwell"
    ours = [*ASSETS.iterdir(), *(package / "page/templates").iterdir(), *(package / "exports/templates").iterdir()]
    assert sum(len(file.read_text().splitlines()) for file in ours) <= 1_500
    assert {file.name for file in ASSETS.iterdir()} | {"thread.css"} == set(ASSET_TYPES)


async def long_thread(settings: Settings, cells: int) -> str:
    """A finished thread with so many cells, written as State."""
    import uuid

    thread = str(uuid.uuid4())
    code = "\n".join(f"value_{line} = frame['column'].rolling({line + 2}).mean()  # a line" for line in range(12))
    done = [
        make_cell(number, code=code, outputs=[CellOutput(kind="stdout", text=f"{number} and {number * 17}\n" * 20)])
        for number in range(1, cells + 1)
    ]
    turn = Turn(number=1, question="What about it?", plan=["Look"], answer="It is 34, and 51.")
    state = make_state(cells=done, turns=[turn], answer=turn["answer"], artifacts=[], concerns=[],
                       question="What about it?", messages=[HumanMessage("What about it?")],
                       sandbox=SandboxRef(kind="local", id=thread, snapshot=""))  # fmt: skip
    async with open_graph(settings) as (graph, _):
        await graph.aupdate_state({"configurable": {"thread_id": thread}}, dict(state), as_node="upload")
    return thread


async def test_a_run_that_failed_says_why_and_goes_on(settings: Settings) -> None:
    script: list[Scripted] = [bad_key("sk-1"), Call("submit_answer", answer="Forty-two.", skipped=[])]
    async with ScriptedServer(script) as model:
        with_prices = with_model(settings, model.base_url, prices="10,100")
        async with page_inside(with_prices) as page:
            thread = await ask(page, ASKED)
            assert "does not accept the key" in await finished(page, thread)
        async with page_inside(with_prices) as page:  # the page was ended meanwhile
            shown = (await page.client.get(f"/threads/{thread}")).text
            assert "This run stopped on an error." in shown
            assert "does not accept the key" in shown
            assert "ModelAccessError(" not in shown
            assert "How much did the north sell?" in shown
            assert "stopped on an error" in (await page.client.get("/")).text
            resumed = await page.client.post(f"/threads/{thread}/resume", data={"knobs": "1", "max_cells": "5"})
            assert resumed.status_code == 303
            shown = await finished(page, thread)
            assert "Forty-two." in shown
            assert "cost 0.0030" in shown


@pytest.mark.parametrize("arguments", [["ui", "nothing"], ["open", "nothing"], ["open", "last"], ["ui", "--port", "0"]])
async def test_what_cannot_be_shown_is_said_in_a_sentence(settings: Settings, arguments: list[str]) -> None:
    process = await asyncio.create_subprocess_exec(
        *PREPARED.command(*arguments, "--no-browser"),
        stderr=asyncio.subprocess.PIPE,
        env=environment(settings, ""),
    )
    _, said = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 2
    assert b"Traceback" not in said
    assert said.decode().startswith("error: ") or b"Invalid value for '--port'" in said


async def test_two_pages_at_a_time_have_two_ports(settings: Settings) -> None:
    async with running_page(settings) as page, running_page(settings) as other:
        assert page.origin != other.origin
        port = page.origin.rpartition(":")[2]
        process = await asyncio.create_subprocess_exec(
            *PREPARED.command("ui", "--port", port, "--no-browser"),
            stderr=asyncio.subprocess.PIPE,
            env=environment(settings, ""),
        )
        _, said = await asyncio.wait_for(process.communicate(), 60)
        assert process.returncode == 2
        assert f"error: Port {port} cannot be used (Address already in use)" in said.decode()


@pytest.mark.slow
async def test_a_page_in_which_nothing_ran_says_nothing_of_pauses(settings: Settings) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "from stepwell.command import main; main()", "ui", "--no-browser"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment(settings, ""),
    )
    assert process.stdout is not None
    await asyncio.wait_for(process.stdout.readline(), 60)
    process.send_signal(signal.SIGINT)
    _, said = await asyncio.wait_for(process.communicate(), 60)
    assert said.decode().splitlines()[-1] == "stopped."
