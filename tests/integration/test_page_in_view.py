"""What matters now is in view: what runs, what waits, the answer, the number that was followed, a lost connection."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, expect

from graph.settings import Settings
from tests.integration.test_page_in_browser import CHROMIUM, ask, two_files, visiting
from tests.scripted_model import Call, Scripted, ScriptedServer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium: install one, or name its program in STEPWELL_CHROMIUM"),
]
HERE = "this machine"
LONG = "for number in range(200): print('line', number)\n" + "\n".join(f"name_{one} = {one}" for one in range(60))
DRAW = """import matplotlib.pyplot as plt
plt.figure(figsize=(6, 12))
plt.plot([1, 3, 2])
plt.show()
total = 15529.94
print(' ' * 400, 'total', total)"""
WAIT = "import time\nfor number in range(4): print('tick', number, flush=True); time.sleep(0.1)\ntime.sleep(300)"


def first_answer() -> list[Scripted]:
    return [
        Call("run_python", purpose="Print much", code=LONG),
        Call("run_python", purpose="Draw", code=DRAW,
             answer="The total is {{total:,.2f}}, half of it {{total / 2:,.2f}}; see `figures/cell-002-1.png`."),
        Call("submit_review", good_enough=True, missing=[]),
    ]  # fmt: skip


async def answered(page: Page, text: str) -> Locator:
    """The newest answer, once it is there."""
    answer = page.locator(".answer").last
    await expect(answer).to_contain_text(text)
    return answer


async def test_what_runs_and_what_was_answered_is_in_view_in_a_long_thread(tmp_path: Path, settings: Settings) -> None:
    script = [
        *first_answer(),
        Call("run_python", purpose="Wait", code=WAIT),
        Call("run_python", purpose="Go on", code="print('more')", answer="There is more."),
        Call("submit_review", good_enough=True, missing=[]),
    ]
    async with ScriptedServer(script) as model, visiting(HERE, tmp_path, settings, model.base_url) as visit:
        page = visit.page
        await ask(page, "What is the total?", [])
        await expect(await answered(page, "15,529.94")).to_be_in_viewport()
        await expect(page.locator("h2.question").last).to_be_in_viewport()
        await page.set_viewport_size({"width": 1280, "height": 640})  # lower than the files below what will run
        further = page.get_by_label("A further question")
        await further.fill("Is there more?")
        await further.press("Control+Enter")
        await expect(page.locator("#output-3")).to_contain_text("tick 3")
        await expect(page.locator("#output-3")).to_be_in_viewport(ratio=1)
        await expect(page.get_by_role("button", name="Stop")).to_be_in_viewport(ratio=1)
        await expect(page.get_by_role("heading", name="Is there more?")).to_be_in_viewport()
        await expect(page.locator(".bar")).not_to_contain_text("step")
        await page.evaluate("window.scrollTo(0, 0)")
        await expect(page.get_by_role("button", name="Stop")).to_be_in_viewport(ratio=1)
        await page.get_by_role("button", name="Stop").click()
        going_on = page.get_by_role("button", name="Go on")
        await expect(going_on).to_be_in_viewport(ratio=1)
        await page.get_by_text("Model, sandbox, approvals").click()
        await page.get_by_label("Seconds one cell may take").fill("1")
        await going_on.click()
        await expect(await answered(page, "There is more.")).to_be_in_viewport()
        await expect(page.locator("#cell-3 details")).not_to_have_attribute("open", "")


async def test_a_cell_is_folded_once_it_has_ended_and_a_lost_connection_is_said(
    tmp_path: Path, settings: Settings
) -> None:
    script: list[Scripted] = [
        Call("run_python", purpose="Print much", code=LONG),
        Call("run_python", purpose="Wait", code=WAIT),
    ]
    async with (
        ScriptedServer(script) as model,
        visiting(HERE, tmp_path, settings, model.base_url, may_refuse=True) as visit,
    ):
        page = visit.page
        await ask(page, "Print and wait.", [])
        await expect(page.locator("#output-2")).to_contain_text("tick 1")
        await expect(page.locator("#cell-1 details")).not_to_have_attribute("open", "")
        await expect(page.locator("#cell-2 details")).to_have_attribute("open", "")
        await expect(page.locator("#now")).to_contain_text("1 cell done")
        # Stepwell ends: the page says so, and does not count on.
        assert visit.process is not None
        await visit.process.stop()
        await expect(page.locator("#now")).to_contain_text("There is no connection to Stepwell")
        await expect(page.locator("#now .clock")).to_have_count(0)


async def test_what_waits_is_in_view_and_opened_forms_take_the_cursor(tmp_path: Path, settings: Settings) -> None:
    async with ScriptedServer(first_answer()) as model, visiting(HERE, tmp_path, settings, model.base_url) as visit:
        page = visit.page
        await page.get_by_role("link", name="New question").click()
        await page.get_by_label("What do you want to know?").fill("What is the total?")
        await page.get_by_text("Model, sandbox, approvals").click()
        await page.get_by_label("Ask me before each cell runs").check()
        await page.get_by_role("button", name="Ask").click()
        for number in (1, 2):
            heading = page.get_by_role("heading", name=f"Cell {number} waits for you")
            await expect(heading).to_be_in_viewport()
            await expect(page).to_have_title("Waits for you: What is the total? · Stepwell")
            if number == 1:
                await page.get_by_text("Reject it").click()
                await expect(page.get_by_label("What should be different?")).to_be_focused()
                await page.get_by_role("button", name="Approve", exact=True).click()
        await page.get_by_role("button", name="Approve, and ask no more").click()
        await expect(await answered(page, "15,529.94")).to_be_in_viewport()


# Not `wait_for_function`: it evaluates a text again and again, which the page's rules refuse.
MARKED = """async text => {
    const marked = () => [...(CSS.highlights.get('number') ?? [])].join();
    for (let frame = 0; frame < 1000 && marked() !== text; frame++) await new Promise(requestAnimationFrame);
    return marked();
}"""
"""Waits until a text is marked, and gives what is."""


async def test_a_number_that_is_followed_is_marked_where_it_was_printed(tmp_path: Path, settings: Settings) -> None:
    async with ScriptedServer(first_answer()) as model, visiting(HERE, tmp_path, settings, model.base_url) as visit:
        page = visit.page
        await ask(page, "What is the total?", [])
        answer = await answered(page, "15,529.94")
        await answer.locator("a.number").first.click()
        cell = page.locator("#cell-2:target")
        await expect(cell).to_contain_text("total 15529.94")
        assert await page.evaluate(MARKED, "15529.94") == "15529.94"
        marked = "[...CSS.highlights.get('number')][0]"
        assert await page.evaluate(
            f"""() => {{ const at = {marked}.getBoundingClientRect(), box = {marked}.startContainer.parentElement
                .getBoundingClientRect(); return box.left <= at.left && at.right <= box.right; }}"""
        ), "a wide output is moved to it"
        await page.go_back()
        await answer.locator("a.number").last.click()
        assert await page.evaluate(MARKED, "7,764.97") == "7,764.97"
        await expect(cell.locator("dd").last).to_be_in_viewport()
        await expect(cell.locator("dt a").last).to_have_attribute("href", re.compile(r"/steps/2/variables/total$"))
        await page.go_back()
        await answer.get_by_role("link", name="figures/cell-002-1.png").click()
        await expect(page.locator("main img")).to_have_js_property("complete", True)


async def test_a_row_of_the_steps_leads_to_its_step_wherever_it_is_pressed(tmp_path: Path, settings: Settings) -> None:
    async with ScriptedServer(first_answer()) as model, visiting(HERE, tmp_path, settings, model.base_url) as visit:
        page = visit.page
        await ask(page, "What is the total?", two_files(tmp_path / "mine"))
        await answered(page, "15,529.94")
        await page.get_by_role("link", name="Steps").click()
        title = await page.get_by_text("Print much", exact=True).bounding_box()
        assert title is not None
        await page.mouse.click(title["x"] + title["width"] / 2, title["y"] + title["height"] / 2)
        await page.wait_for_url("**/steps/1")
        await page.get_by_role("link", name="Variables").click()
        await expect(page.get_by_role("heading", name="Variables")).to_be_in_viewport()
        code = page.get_by_label("Runs with the variables")
        await code.fill("name_3 * 7")
        await code.press("Control+Enter")
        await expect(page.get_by_role("status")).to_contain_text("21")
        await expect(page.get_by_role("status").get_by_role("heading")).to_contain_text("At the prompt")
        await expect(page.get_by_role("status").get_by_role("heading")).not_to_contain_text("0 At")
        await code.fill("import time\nfor n in range(900):\n    print('tick', n, flush=True)\n    time.sleep(0.1)")
        await code.press("Control+Enter")
        await expect(page.locator("#tried")).to_contain_text("tick 20")
        await page.locator("#tried").get_by_role("button", name="Stop").click()
        await expect(page.locator("#tried")).to_contain_text("stopped")
        await expect(page.locator("#tried")).to_contain_text("21", use_inner_text=True)
