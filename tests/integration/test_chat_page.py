"""A chat page on LangChain's `useStream` in a real browser: what people see of a served analysis, and can press."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.async_api import Browser, Page, expect

from tests.chat_pages import MISSING, PATIENCE, bundled, serving_files
from tests.scripted_model import Call, Scripted, ScriptedServer
from tests.serving import DevServer, serving, with_keys

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("chat"),
    pytest.mark.skipif(bool(MISSING), reason=f"a browser test needs {', '.join(MISSING)} on this machine"),
]

DRAW = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\ntotal = 40 + 2\nprint(total)"
WITH_TABLE = Call(
    "run_python",
    purpose="Add",
    code=f"{DRAW}\nopen('outputs/top.csv', 'w').write('region,units\\nnorth,42\\n')",
    plan=["Add", "Answer"],
)
CELL = Call("run_python", purpose="Add", code=DRAW, plan=["Add", "Answer"])
REFUSED = Call("submit_answer", answer="It is 977,113 and 42.")
ANSWER = Call("submit_answer", answer="It is {{total}}: ![the line](figures/cell-001-1.png)")


@pytest.fixture(scope="module")
def page_url(page_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page, built from its source, on a server of files."""
    with serving_files(bundled("chat_page", page_sources, tmp_path_factory.mktemp("page"))) as url:
        yield url


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], dict[str, str]]:
    return with_keys(tmp_path_factory.mktemp("settings"), "alice", "bob")


@pytest.fixture(scope="module")
def served(
    shared_endpoint: ScriptedServer,
    keys: tuple[dict[str, str], dict[str, str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[DevServer]:
    environment = {"STEPWELL_MODEL": "scripted", "OPENAI_BASE_URL": shared_endpoint.base_url, **keys[0]}
    with serving(tmp_path_factory.mktemp("served"), environment) as server:
        yield server


async def opened(browser: Browser, page_url: str, served: DevServer, key: str, **more: str) -> Page:
    page = await browser.new_page()
    page.set_default_timeout(PATIENCE)
    await page.goto(f"{page_url}?{urlencode({'server': served.url, 'key': key, **more})}")
    return page


async def ask(page: Page, question: str) -> None:
    await page.get_by_label("Question").fill(question)
    await page.get_by_role("button", name="Ask").click()


async def ended(page: Page) -> None:
    await expect(page.get_by_role("status")).to_have_text("working", timeout=PATIENCE)
    await expect(page.get_by_role("status")).to_have_text("ready", timeout=PATIENCE)


async def kinds(page: Page) -> list[str]:
    return [str(await one.get_attribute("data-type")) for one in await page.locator("li").all()]


async def test_a_conversation_is_never_blank_shown_once_and_has_its_pictures(
    browser: Browser,
    page_url: str,
    served: DevServer,
    endpoint: ScriptedServer,
    keys: tuple[dict[str, str], dict[str, str]],
    tmp_path: Path,
) -> None:
    replies: list[Scripted] = [CELL, REFUSED, ANSWER, Call("submit_answer", answer="Still {{total}}.")]
    endpoint.script += replies
    page = await opened(browser, page_url, served, keys[1]["alice"])
    await ask(page, "How much is it?")
    await ended(page)
    assert await kinds(page) == ["human", "ai", "tool", "ai"]
    await expect(page.locator("li").last).to_contain_text("It is 42:")
    shown = await page.locator("img").evaluate_all(
        "all => all.map(one => [one.alt, one.complete && one.naturalWidth > 99])"
    )
    assert shown == [["the line", True]]
    await page.screenshot(path=tmp_path / "answered.png", full_page=True)
    await ask(page, "And now?")
    await ended(page)
    assert (await kinds(page))[4:] == ["human", "ai"]
    seen = await page.evaluate("window.seen")
    assert (seen["blank"], seen["twice"]) == (0, 0)
    assert "977,113" not in str(seen["texts"])
    assert "submit_" not in str(seen["texts"])
    thread = await page.locator("#thread").inner_text()
    later = await opened(browser, page_url, served, keys[1]["alice"], thread=thread)
    await expect(later.locator("li")).to_have_count(6)
    await expect(later.locator("li").last).to_contain_text("Still 42.")
    stranger = await opened(browser, page_url, served, keys[1]["bob"], thread=thread)
    await expect(stranger.get_by_role("alert")).to_be_visible()
    assert await stranger.locator("li").count() == 0


async def test_figures_and_tables_are_shown_by_the_pages_own_components_and_once(
    browser: Browser,
    page_url: str,
    served: DevServer,
    endpoint: ScriptedServer,
    keys: tuple[dict[str, str], dict[str, str]],
    tmp_path: Path,
) -> None:
    """Over an approval, which runs the graph twice, a further turn, and when the thread is opened again."""
    more = Call("run_python", purpose="Draw", code="plt.plot([3, 4])")
    endpoint.script += [WITH_TABLE, ANSWER, more, Call("submit_answer", answer="Still 42.")]
    alice = {"key": keys[1]["alice"], "ui": "figure,table"}
    page = await opened(browser, page_url, served, approval="cells", **alice)
    await ask(page, "How much is it?")
    for _ in range(2):  # the cell, then the values of its answer
        await page.get_by_role("button", name="Approve").click()
        await expect(page.get_by_role("status")).to_have_text("ready", timeout=PATIENCE)
    await expect(page.locator("li").last).to_contain_text("It is 42:", timeout=PATIENCE)
    await page.screenshot(path=tmp_path / "components.png", full_page=True)
    assert await components(page) == [("figure", "figures/cell-001-1.png"), ("table", "top.csv")]
    await ask(page, "And now?")
    await page.get_by_role("button", name="Approve").click()
    await expect(page.locator("li").last).to_contain_text("Still 42.", timeout=PATIENCE)
    await expect(page.get_by_role("status")).to_have_text("ready", timeout=PATIENCE)
    shown = [("figure", "figures/cell-001-1.png"), ("table", "top.csv"), ("figure", "figures/cell-003-1.png")]
    thread = await page.locator("#thread").inner_text()
    later = await opened(browser, page_url, served, thread=thread, **alice)
    for one in (page, later):
        await expect(one.locator("[data-component]")).to_have_count(3)
        assert await components(one) == shown
        await expect(one.locator("td")).to_have_text(["region", "units", "north", "42"])
        pictures = await one.locator("img").all()
        assert len(pictures) == 2
        widths = [await picture.evaluate("one => one.decode().then(() => one.naturalWidth)") for picture in pictures]
        assert min(widths) > 99
    seen = await page.evaluate("window.seen")
    assert (seen["blank"], seen["twice"]) == (0, 0)


async def components(page: Page) -> list[tuple[str, str]]:
    """What is shown by a component of the page, and of which file."""
    found = await page.locator("[data-component]").evaluate_all("all => all.map(one => {return {...one.dataset}})")
    return [(one["component"], one["name"]) for one in found]


@pytest.mark.parametrize(("button", "says"), [("Approve", "It is 42"), ("Reject", "Not so.")])
async def test_a_cell_is_decided_with_a_button(
    browser: Browser,
    page_url: str,
    served: DevServer,
    endpoint: ScriptedServer,
    keys: tuple[dict[str, str], dict[str, str]],
    button: str,
    says: str,
) -> None:
    endpoint.script += [CELL, Call("submit_answer", answer="It is 42." if button == "Approve" else "You said: Not so.")]
    page = await opened(browser, page_url, served, keys[1]["alice"], approval="cells")
    await ask(page, "How much is it?")
    await expect(page.get_by_label("Approval")).to_contain_text("total = 40 + 2", timeout=PATIENCE)
    await page.get_by_role("button", name=button).click()
    await expect(page.locator("li").last).to_contain_text(says, timeout=PATIENCE)
    await expect(page.get_by_role("status")).to_have_text("ready", timeout=PATIENCE)
    assert await page.get_by_role("alert").count() == 0
    assert await page.get_by_label("Approval").count() == 0
