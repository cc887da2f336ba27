"""A page of assistant-ui over a served graph in a real browser: what people see, and can press."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from langgraph_sdk import get_client
from playwright.async_api import Browser, Page, expect

from tests.chat_pages import MISSING, PATIENCE, bundled, chromium, serving_files
from tests.scripted_model import Call, Scripted, ScriptedServer
from tests.serving import DevServer, serving

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("chat-page"),
    pytest.mark.skipif(bool(MISSING), reason=f"a browser test needs {', '.join(MISSING)} on this machine"),
]

DRAW = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\ntotal = 40 + 2\nprint(total)"
CELL = Call("run_python", purpose="Add", code=DRAW, plan=["Add", "Answer"])
REFUSED = Call("submit_answer", answer="It is 977,113 and 42.")
ANSWER = Call("submit_answer", answer="It is {{total}}: ![the line](figures/cell-001-1.png)")


@pytest.fixture(scope="module")
def page_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page, built from its source, on a server of files."""
    with serving_files(bundled("assistant_page", tmp_path_factory.mktemp("page") / "browser")) as url:
        yield url


@pytest.fixture
async def model() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer() as server:
        yield server


@pytest.fixture
def served(model: ScriptedServer, tmp_path: Path) -> Iterator[DevServer]:
    environment = {"STEPWELL_MODEL": "scripted", "OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "none"}
    with serving(tmp_path / "served", environment) as server:
        yield server


async def opened(browser: Browser, page_url: str, served: DevServer, approval: str) -> Page:
    knobs = {"approval": approval, "review": "never"}
    async with get_client(url=served.url) as client:
        assistant = await client.assistants.create("stepwell", context=knobs)
    page = await browser.new_page()
    page.set_default_timeout(PATIENCE)
    await page.goto(f"{page_url}?{urlencode({'server': served.url, 'assistant': assistant['assistant_id']})}")
    return page


async def ask(page: Page, question: str) -> None:
    await page.get_by_label("Question").fill(question)
    await page.get_by_role("button", name="Ask").click()


async def test_a_conversation_is_shown_once_with_cells_and_pictures(
    page_url: str, served: DevServer, model: ScriptedServer, tmp_path: Path
) -> None:
    replies: list[Scripted] = [CELL, REFUSED, ANSWER, Call("submit_answer", answer="Still {{total}}.")]
    model.script += replies
    async with chromium() as browser:
        page = await opened(browser, page_url, served, "none")
        await ask(page, "How much is it?")
        await expect(page.locator("li").last).to_contain_text("It is 42:", timeout=PATIENCE)
        assert await page.locator("[data-part=call] summary").all_inner_texts() == ["run_python: Add"]
        await expect(page.locator("[data-part=result]")).to_contain_text("42")
        loaded = await page.locator("img").evaluate_all("all => all.map(one => [one.alt, one.naturalWidth > 99])")
        assert loaded == [["the line", True]]
        await expect(page.get_by_role("status")).to_have_text("ready", timeout=PATIENCE)
        await page.screenshot(path=tmp_path / "answered.png", full_page=True)
        await ask(page, "And now?")
        await expect(page.locator("li").last).to_contain_text("Still 42.", timeout=PATIENCE)
        await expect(page.get_by_role("status")).to_have_text("ready", timeout=PATIENCE)
        said = await page.locator("ol").inner_text()
    assert said.count("It is 42:") == said.count("How much is it?") == said.count("total = 40 + 2") == 1
    assert "977,113" not in said
    assert "submit_" not in said


@pytest.mark.parametrize(("button", "says"), [("Approve", "It is 42"), ("Reject", "Not so.")])
async def test_a_cell_is_decided_with_a_button(
    page_url: str, served: DevServer, model: ScriptedServer, button: str, says: str
) -> None:
    model.script += [CELL, Call("submit_answer", answer="It is 42." if button == "Approve" else "You said: Not so.")]
    async with chromium() as browser:
        page = await opened(browser, page_url, served, "cells")
        await ask(page, "How much is it?")
        await expect(page.get_by_label("Approval")).to_contain_text("total = 40 + 2", timeout=PATIENCE)
        await page.get_by_role("button", name=button).click()
        await expect(page.locator("li").last).to_contain_text(says, timeout=PATIENCE)
        await expect(page.get_by_label("Approval")).to_have_count(0, timeout=PATIENCE)
