"""A chat page on assistant-ui in a real browser: what people see of a served analysis, and can press."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from langgraph_sdk import get_client
from playwright.async_api import Browser, Page, expect

from tests.chat_pages import MISSING, PATIENCE, bundled, serving_files
from tests.scripted_model import Call, Scripted, ScriptedServer
from tests.serving import DevServer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("chat"),
    pytest.mark.skipif(bool(MISSING), reason=f"a browser test needs {', '.join(MISSING)} on this machine"),
]

DRAW = (
    "import matplotlib.pyplot as plt\nimport pandas as pd\nsales = pd.read_csv('inputs/sales.csv')\n"
    "sales.plot()\nsales.to_csv('outputs/top.csv', index=False)\ntotal = int(sales.units.sum())\nprint(total)"
)
CELL = Call("run_python", purpose="Add", code=DRAW, plan=["Add", "Answer"])
REFUSED = Call("submit_answer", answer="It is 977,113 and 42.")
ANSWER = Call(
    "submit_answer", answer="It is {{total}}: ![the line](figures/cell-001-1.png)\n\nSee [it](outputs/top.csv)."
)
TABLE = ["region", "units", "north", "40", "south", "2"]
SALES: Any = {"name": "sales.csv", "mimeType": "text/csv", "buffer": b"region,units\nnorth,40\nsouth,2\n"}
WATCH = """
window.seen = { blank: 0, twice: 0 };
let begun = false;
new MutationObserver(() => {
  const shown = [...document.querySelectorAll("li > *, [data-component]")].map((one) => one.outerHTML);
  begun = begun || shown.length > 0;
  if (begun && shown.length === 0) window.seen.blank += 1;
  if (new Set(shown).size < shown.length) window.seen.twice += 1;
}).observe(document, { childList: true, subtree: true, characterData: true });
"""


@pytest.fixture(scope="module")
def page_url(page_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page, built from its source, on a server of files."""
    with serving_files(bundled("assistant_page", page_sources, tmp_path_factory.mktemp("page"))) as url:
        yield url


async def opened(browser: Browser, page_url: str, chat_server: DevServer, thread: str = "", **knobs: Any) -> Page:
    async with get_client(url=chat_server.url) as client:
        assistant = await client.assistants.create("stepwell", context={"review": "never", **knobs})
    page = await browser.new_page(viewport={"width": 900, "height": 900})
    page.set_default_timeout(PATIENCE)
    await page.add_init_script(WATCH)
    given = {
        "server": chat_server.url,
        "assistant": assistant["assistant_id"],
        **({"thread": thread} if thread else {}),
    }
    await page.goto(f"{page_url}?{urlencode(given)}")
    return page


async def ask(page: Page, question: str, *, attached: bool = False) -> None:
    await page.get_by_label("Question").fill(question)
    if attached:
        async with page.expect_file_chooser() as chooser:
            await page.get_by_role("button", name="Attach").click()
        await (await chooser.value).set_files(SALES)
    await page.get_by_role("button", name="Ask").click()


async def answered(page: Page, words: str) -> None:
    await expect(page.locator("li").last).to_contain_text(words, timeout=PATIENCE)
    await expect(page.get_by_role("status")).to_have_text("ready", timeout=PATIENCE)


async def loaded(page: Page) -> list[str]:
    """The names of the pictures, each of which must have come."""
    pictures = await page.locator("img").all()
    assert all([await one.evaluate("one => one.decode().then(() => one.naturalWidth > 99)") for one in pictures])
    return [str(await one.get_attribute("alt")) for one in pictures]


async def test_a_conversation_about_an_attached_file_is_shown_once_with_its_cells_and_files(
    browser: Browser, page_url: str, chat_server: DevServer, endpoint: ScriptedServer, tmp_path: Path
) -> None:
    replies: list[Scripted] = [CELL, REFUSED, ANSWER, Call("submit_answer", answer="Still {{total}}.")]
    endpoint.script += replies
    page = await opened(browser, page_url, chat_server)
    await ask(page, "How much is it?", attached=True)
    await answered(page, "It is 42:")
    assert await page.locator("[data-part=call] summary").all_inner_texts() == ["run_python: Add"]
    await expect(page.locator("[data-part=result]")).to_contain_text("42")
    assert await loaded(page) == ["the line"]
    await page.screenshot(path=tmp_path / "answered.png", full_page=True)
    link = await page.get_by_role("link", name="it", exact=True).get_attribute("href")
    async with httpx.AsyncClient() as client:
        assert (await client.get(str(link))).text.startswith("region,units")
    await ask(page, "And now?")
    await answered(page, "Still 42.")
    said = await page.locator("ol").inner_text()
    assert said.count("It is 42:") == said.count("How much is it?") == said.count("sales.plot()") == 1
    assert "977,113" not in said
    assert "submit_" not in said
    assert await page.evaluate("window.seen") == {"blank": 0, "twice": 0}
    async with get_client(url=chat_server.url) as server:
        [thread] = await server.threads.search(sort_by="created_at", sort_order="desc", limit=1)
    later = await opened(browser, page_url, chat_server, thread["thread_id"])
    await answered(later, "Still 42.")
    assert await later.locator("ol").inner_text() == said


async def test_figures_and_tables_are_shown_by_the_components_that_the_page_has(
    browser: Browser, page_url: str, chat_server: DevServer, endpoint: ScriptedServer, tmp_path: Path
) -> None:
    endpoint.script += [CELL, ANSWER]
    page = await opened(browser, page_url, chat_server, ui=["figure", "table"])
    await ask(page, "How much is it?", attached=True)
    await answered(page, "It is 42:")
    await expect(page.locator("table[data-name='top.csv'] td")).to_have_text(TABLE)
    assert await loaded(page) == ["the line"]
    assert await page.locator("figure img").count() == 1
    assert await page.evaluate("window.seen") == {"blank": 0, "twice": 0}
    await page.screenshot(path=tmp_path / "components.png", full_page=True)
    async with get_client(url=chat_server.url) as server:
        [thread] = await server.threads.search(sort_by="created_at", sort_order="desc", limit=1)
    later = await opened(browser, page_url, chat_server, thread["thread_id"])
    await answered(later, "It is 42:")
    await expect(later.locator("table td")).to_have_text(TABLE)
    assert await loaded(later) == ["the line"]


@pytest.mark.parametrize(("button", "says"), [("Approve", "It is 42"), ("Reject", "Not so.")])
async def test_a_cell_is_decided_with_a_button(
    browser: Browser,
    page_url: str,
    chat_server: DevServer,
    endpoint: ScriptedServer,
    tmp_path: Path,
    button: str,
    says: str,
) -> None:
    endpoint.script += [CELL, Call("submit_answer", answer="It is 42." if button == "Approve" else "You said: Not so.")]
    page = await opened(browser, page_url, chat_server, approval="cells")
    await ask(page, "How much is it?", attached=True)
    await expect(page.get_by_label("Approval")).to_contain_text("Run this cell?", timeout=PATIENCE)
    assert (await page.locator("body").inner_text()).count("sales.plot()") == 1
    await page.screenshot(path=tmp_path / "waits.png", full_page=True)
    await page.get_by_role("button", name=button).click()
    await answered(page, says)
    await expect(page.get_by_label("Approval")).to_have_count(0)
    failed = await page.locator("[data-part=call]").get_attribute("data-failed")
    assert failed == ("false" if button == "Approve" else "true")
    assert await page.evaluate("window.seen") == {"blank": 0, "twice": 0}
