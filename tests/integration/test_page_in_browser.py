"""The page in a browser, of this machine and of a server: asking, watching, tracing, forking, comparing, approving."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from graph.settings import Settings
from tests.analyses import write_sales
from tests.hostile_thread import QUESTION, hostile_input, hostile_replies
from tests.page_process import PageProcess, running_page
from tests.scripted_model import Call, Scripted, ScriptedServer
from tests.serving import serving, with_keys

CHROMIUM = os.environ.get("STEPWELL_CHROMIUM") or shutil.which("chromium") or ""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.parametrize("place", ["this machine", "a server"]),
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium: install one, or name its program in STEPWELL_CHROMIUM"),
]

LOAD = """import pandas as pd
sales = pd.read_csv("inputs/sales.csv")
prices = pd.read_csv("inputs/prices.csv")
sales.head()"""
SUM = """import matplotlib.pyplot as plt
by_region = sales.groupby("region")["units"].sum()
by_region.plot.bar()
by_region.to_csv("outputs/regions.csv")
by_region"""


def answered(what: str) -> list[Scripted]:
    return [
        Call("run_python", purpose="Load both tables", code=LOAD),
        Call("run_python", purpose=f"Sum up {what}", code=SUM,
             answer=f"The {what} sold {{{{by_region['{what}']:,}}}} units; see [the table](regions.csv)."),
        Call("submit_review", good_enough=True, missing=[]),
    ]  # fmt: skip


def forked() -> list[Scripted]:
    code = "by_region = sales.groupby('region')['units'].mean()\nby_region"
    answer = "On average {{by_region['north']:.2f}} units."
    return [
        Call("run_python", purpose="Take the mean", code=code, answer=answer),
        Call("submit_review", good_enough=True, missing=[]),
    ]


@dataclass
class Visit:
    """A browser on the page, and who made it."""

    page: Page
    home: str
    """The address of the page's list of threads, without a slash at its end."""
    process: PageProcess | None = None
    """Of the page of this machine."""

    @property
    def origin(self) -> str:
        """What the page's links begin at."""
        return self.home.removesuffix("/ui")


@asynccontextmanager
async def visiting(
    place: str,
    tmp_path: Path,
    settings: Settings,
    model: str = "",
    *,
    may_refuse: bool = False,
    scripts: bool = True,
    **more: str,
) -> AsyncIterator[Visit]:
    """A browser that was let in, at `stepwell ui` or at a server; a script error fails the test.

    A refused script or request does, too, unless it may be.
    """
    async with AsyncExitStack() as stack:
        if place == "this machine":
            key = {"OPENAI_API_KEY": "none"} if model else {}
            process = await stack.enter_async_context(running_page(settings, model, **key, **more))
            page = await stack.enter_async_context(browsing(process.address, may_refuse=may_refuse, scripts=scripts))
            await page.wait_for_url(f"{process.origin}/**")
            visit = Visit(page, process.origin, process)
        else:
            users, keys = with_keys(tmp_path / "settings", "ann")
            named = {"STEPWELL_MODEL": "scripted", "OPENAI_BASE_URL": model} if model else {}
            server = stack.enter_context(serving(tmp_path / "served", {**users, **named, **more}))
            page = await stack.enter_async_context(browsing(f"{server.url}/ui", may_refuse=may_refuse, scripts=scripts))
            await sign_in(page, keys["ann"])
            visit = Visit(page, f"{server.url}/ui")
        await expect(page.locator("h1")).to_have_text("Threads")
        yield visit


async def sign_in(page: Page, key: str) -> None:
    await page.get_by_label("Your key for this server").fill(key)
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url("**/ui/")


@asynccontextmanager
async def browsing(address: str, *, may_refuse: bool = False, scripts: bool = True) -> AsyncIterator[Page]:
    """A browser of its own at an address."""
    problems: list[str] = []
    async with async_playwright() as playwright:
        browser: Browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            page = await browser.new_page(viewport={"width": 1280, "height": 900}, java_script_enabled=scripts)
            page.set_default_timeout(60_000)
            expect.set_options(timeout=60_000)  # 5 seconds otherwise
            page.on("pageerror", lambda error: problems.append(f"error: {error}"))
            page.on(
                "console",
                lambda said: problems.append(f"{said.text} {said.location}") if said.type == "error" else None,
            )
            await page.goto(address)
            await expect(page.locator("h1")).to_be_visible()
            yield page
        finally:
            await browser.close()
    assert may_refuse or not problems, problems
    assert not any(one.startswith("error:") for one in problems), problems


def two_files(folder: Path) -> list[Path]:
    sales, prices = write_sales(folder / "sales.csv"), folder / "prices.csv"
    prices.write_text("region,price\nnorth,2\nsouth,3\neast,\n")
    return [sales, prices]


async def ask(page: Page, question: str, files: list[Path]) -> None:
    await page.get_by_role("link", name="New question").click()
    await page.get_by_label("What do you want to know?").fill(question)
    if files:
        await page.get_by_label("Choose files").set_input_files(files)
    await expect(page.locator(".given input:checked")).to_have_count(len(files))
    await page.get_by_role("button", name="Ask").click()
    await page.wait_for_url("**/threads/*")


async def test_a_question_is_asked_watched_traced_forked_compared_and_downloaded(
    place: str, tmp_path: Path, settings: Settings
) -> None:
    files = two_files(tmp_path / "mine")
    async with (
        ScriptedServer([*answered("north"), *forked()]) as model,
        visiting(place, tmp_path, settings, model.base_url) as visit,
    ):
        page = visit.page
        await ask(page, "How much did the north sell?", files)
        answer = page.locator(".answer").first
        await expect(answer).to_contain_text("The north sold 2")
        # The number leads to the cell that it comes from, which names the expression and shows the table.
        await answer.locator("a.number").first.click()
        cell = page.locator("#cell-2:target")
        await expect(cell).to_contain_text("east")
        await cell.get_by_text("value of the answer computed here").click()
        await expect(cell).to_contain_text("by_region['north']")
        figure = cell.locator("img").first
        await figure.scroll_into_view_if_needed()
        await expect(figure).to_have_js_property("complete", True)
        assert await figure.evaluate("one => one.naturalWidth") > 100
        async with page.expect_download() as loading:
            await page.get_by_role("link", name="Report").click()
        report = await (await loading.value).path()
        assert "How much did the north sell?" in report.read_text()
        original = page.url.partition("#")[0]
        await page.get_by_role("link", name="Steps").click()
        await page.get_by_role("link", name="1", exact=True).click()
        await page.get_by_role("link", name="sales", exact=True).click()
        await expect(page.get_by_role("table")).to_contain_text("2025-01-01")
        await expect(page.locator(".about").first).to_contain_text("60 rows, 4 columns")
        await page.go_back()
        await page.get_by_label("What should be done from here on?").fill("Take the mean instead.")
        await page.get_by_role("button", name="Fork").click()
        await page.wait_for_url("**/threads/*")
        assert page.url != original
        await expect(page.locator(".answer").last).to_contain_text("On average")
        await page.goto(f"{original}/steps")
        await page.get_by_label("Thread", exact=True).select_option("Take the mean instead. (just now)")
        await page.get_by_role("button", name="Compare with it").click()
        await expect(page.locator("main")).to_contain_text("1 cell at the beginning is the same")
        await expect(page.locator(".diff .added").first).to_contain_text("Take the mean")
        await expect(page.get_by_role("region", name="Answer of B")).to_contain_text("On average")
        assert visit.process is None or await visit.process.stop() == 130


async def test_cells_are_approved_edited_and_rejected(place: str, tmp_path: Path, settings: Settings) -> None:
    script: list[Scripted] = [
        Call("run_python", purpose="Count", code="count = 1\nprint(count)"),
        Call("run_python", purpose="Count again", code="count = 2\nprint(count)"),
        Call("run_python", purpose="Delete all", code="print('gone')"),
        Call("submit_answer", answer="There are 22.", skipped=[]),
        Call("submit_review", good_enough=True, missing=[]),
    ]
    async with (
        ScriptedServer(script) as model,
        visiting(place, tmp_path, settings, model.base_url) as visit,
    ):
        page = visit.page
        await page.get_by_role("link", name="New question").click()
        await page.get_by_label("What do you want to know?").fill("How many?")
        await page.get_by_text("Model, sandbox, approvals").click()
        await page.get_by_label("Ask me before each cell runs").check()
        await page.get_by_role("button", name="Ask").click()
        waiting = page.locator(".decide")
        await expect(waiting).to_contain_text("Cell 1 waits for you")
        await expect(waiting.locator("h2")).to_be_focused()
        await waiting.get_by_role("button", name="Approve", exact=True).click()
        await expect(waiting).to_contain_text("Cell 2 waits for you")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
        await page.evaluate(DECIDED_WHILE_TYPING)
        assert "diff" not in asked, "nothing waits then, so that it would be refused"
        await page.reload()
        await waiting.get_by_text("Edit it").click()
        await waiting.get_by_label("The code to run instead").fill("count = 22\nprint(count)")
        await expect(waiting.locator(".diff .added")).to_have_text("+count = 22\n")
        await waiting.get_by_role("button", name="Run the edited code").click()
        await expect(waiting).to_contain_text("Cell 3 waits for you")
        await waiting.get_by_text("Reject it").click()
        await waiting.get_by_label("What should be different?").fill("Nothing is to be deleted.")
        await waiting.get_by_role("button", name="Reject").click()
        await expect(page.locator(".answer")).to_contain_text("There are 22.")
        await expect(page.locator("#cell-3")).to_contain_text("rejected")
        assert "Nothing is to be deleted." in model.requests[-1].text


DECIDED_WHILE_TYPING = """() => {
  const form = document.querySelector("form[data-diff]");
  document.addEventListener("submit", (event) => event.preventDefault(), { once: true });
  form.code.dispatchEvent(new Event("input"));
  form.requestSubmit(form.querySelector("button.first"));
  return new Promise((over) => setTimeout(over, 600));
}"""
"""An edit is typed and sent at once; over when the timer that asks what differs would have fired: it was set before."""


async def test_a_run_is_stopped_and_goes_on(place: str, tmp_path: Path, settings: Settings) -> None:
    code = "import time\nfor number in range(600):\n    print('tick', number, flush=True)\n    time.sleep(0.1)"
    script: list[Scripted] = [
        Call("run_python", purpose="Wait", code=code),
        Call("run_python", purpose="Be quick", code="print('quick')"),
        Call("submit_answer", answer="Done.", skipped=[]),
        Call("submit_review", good_enough=True, missing=[]),
    ]
    async with (
        ScriptedServer(script) as model,
        visiting(place, tmp_path, settings, model.base_url) as visit,
    ):
        page = visit.page
        await ask(page, "Wait a little.", [])
        await expect(page.locator("#output-1")).to_contain_text("tick 3")
        await expect(page.locator("#now")).to_contain_text("cell 1 is running")
        await page.reload()  # who comes later sees what was before
        await expect(page.locator("#output-1")).to_contain_text("tick 0")
        await page.get_by_role("button", name="Stop").click()
        await expect(page.locator("main")).to_contain_text("This thread is paused.")
        await page.get_by_text("Model, sandbox, approvals").click()
        await page.get_by_label("Seconds one cell may take").fill("1")
        await page.get_by_role("button", name="Go on").click()
        await expect(page.locator(".answer")).to_contain_text("Done.")


async def test_nothing_of_a_hostile_thread_runs(place: str, tmp_path: Path, settings: Settings) -> None:
    async with (
        ScriptedServer(hostile_replies()) as model,
        visiting(place, tmp_path, settings, model.base_url, may_refuse=True) as visit,
    ):
        page = visit.page
        dialogs: list[str] = []
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        await ask(page, QUESTION, [hostile_input(tmp_path / "in")])
        await expect(page.locator(".answer")).to_contain_text("There are 2")
        here, home = page.url, visit.home.removeprefix(visit.origin)
        links = await page.eval_on_selector_all("main a[href]", "all => all.map(one => one.getAttribute('href'))")
        places = [one for one in dict.fromkeys(links) if "/files/" in one or "/steps" in one]
        assert len(places) > 6
        table = f"{here.removeprefix(visit.origin)}/steps/1/variables/hostile"
        for path in (*places, table, f"{home}/", f"{home}/?q=script"):
            await page.goto(f"{visit.origin}{path}")
            await expect(page.locator("h1").first).to_be_attached()
            for element in await page.locator("main a[href], td, summary").all():
                await element.hover(force=True, timeout=5_000) if await element.is_visible() else None
            assert await page.evaluate("window.hostile === undefined"), path
        assert dialogs == []


async def test_all_of_it_works_without_scripts(place: str, tmp_path: Path, settings: Settings) -> None:
    files = two_files(tmp_path / "mine")
    async with (
        ScriptedServer([*answered("north"), *forked()]) as model,
        visiting(place, tmp_path, settings, model.base_url, scripts=False) as visit,
    ):
        page = visit.page
        await page.get_by_role("link", name="New question").click()
        await page.get_by_label("What do you want to know?").fill("How much did the north sell?")
        await page.get_by_label("Choose files").set_input_files(files)
        await page.get_by_role("button", name="Ask").click()
        await expect(page.locator(".answer")).to_contain_text("The north sold 2", timeout=60_000)
        await page.get_by_role("link", name="variables, fork: step 1").click()
        await page.get_by_label("What should be done from here on?").fill("Take the mean instead.")
        await page.get_by_role("button", name="Ask from here").click()
        await expect(page.locator(".answer").last).to_contain_text("On average", timeout=60_000)


async def test_files_are_dropped_and_one_that_is_too_large_is_named(
    place: str, tmp_path: Path, settings: Settings
) -> None:
    async with (
        visiting(place, tmp_path, settings, may_refuse=True, STEPWELL_MAX_INPUT_BYTES="100") as visit,
    ):
        page = visit.page
        await page.get_by_role("link", name="New question").click()
        await expect(page.locator(".drop.sends")).to_be_visible()
        dropped = await page.evaluate_handle(
            """() => {
              const data = new DataTransfer();
              data.items.add(new File(["a,b\\n1,2\\n"], "small.csv"));
              data.items.add(new File(["x".repeat(101)], "large.csv"));
              return data;
            }"""
        )
        await page.dispatch_event(".drop", "drop", {"dataTransfer": dropped})
        await expect(page.get_by_role("checkbox", name="small.csv")).to_be_checked()
        await expect(page.locator(".given .problem")).to_contain_text("large.csv: 101 bytes are too many")
