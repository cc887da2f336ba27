"""The page for those who use a keyboard or a screen reader: axe looks at every kind of page, light and dark."""

import shutil
import subprocess
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.async_api import Page, expect

from graph.settings import Settings
from server.page_access import SIGN_IN
from tests.integration.test_page_in_browser import CHROMIUM, answered, ask, browsing, two_files
from tests.page_process import running_page
from tests.scripted_model import Call, Scripted, ScriptedServer
from tests.serving import serving, with_keys

SOURCE = Path(__file__).parents[1] / "browser"
MISSING = [name for name, there in (("chromium", CHROMIUM), ("npm", shutil.which("npm"))) if not there]
SERIOUS = ("serious", "critical")
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(bool(MISSING), reason=f"axe in a browser needs {', '.join(MISSING)} on this machine"),
]


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What looks for violations, as a script."""
    folder = tmp_path_factory.mktemp("axe") / "browser"
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("node_modules"))
    install = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    built = subprocess.run(install, cwd=folder, capture_output=True, text=True, timeout=200)
    assert built.returncode == 0, built.stderr[-2000:]
    return (folder / "node_modules/axe-core/axe.min.js").read_text()


async def violations(page: Page, axe: str) -> list[str]:
    """What axe finds serious on a page as it is now, on a wide and a narrow screen, light and dark."""
    found: list[str] = []
    for scheme in SCHEMES:
        for width in (1280, 390):
            await page.emulate_media(color_scheme=scheme)
            await page.set_viewport_size({"width": width, "height": 900})
            await page.evaluate(axe)
            said: Any = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
            found += [
                f"{scheme} {width}: {one['id']}: {node['html'][:150]} ({node.get('failureSummary', '')[:200]})"
                for one in said["violations"]
                if one["impact"] in SERIOUS
                for node in one["nodes"][:3]
            ]
    return list(dict.fromkeys(found))


async def test_axe_finds_nothing_serious(axe: str, tmp_path: Path, settings: Settings) -> None:
    waits: list[Scripted] = [Call("run_python", purpose="Count", code="count = 1\nprint(count)")]
    fails: list[Scripted] = [
        Call("run_python", purpose="Fail", code="1 / 0"),
        Call("submit_answer", answer="Nothing.", skipped=[]),
        Call("submit_review", good_enough=True, missing=[]),
    ]
    async with (
        ScriptedServer([*answered("north"), *waits, *fails]) as model,
        running_page(settings, model.base_url, OPENAI_API_KEY="none") as process,
        browsing(process.address) as page,
    ):
        await page.wait_for_url(f"{process.origin}/**")
        found = {"no threads": await violations(page, axe)}
        await ask(page, "How much did the north sell?", two_files(tmp_path / "mine"))
        await expect(page.locator(".answer").first).to_contain_text("The north sold 2")
        thread = page.url
        found["a thread"] = await violations(page, axe)
        for path in (
            "/steps",
            "/steps/1",
            "/steps/1/variables/sales?sort=2",
            "/steps/1/variables/prices",
            "/inputs/inputs/sales.csv",
            "/inputs/inputs/prices.csv",
            "/files/regions.csv",
            "/delete",
        ):
            await page.goto(thread + path)
            found[path] = await violations(page, axe)
        await page.goto(f"{process.origin}/compare?a={thread.rpartition('/')[2]}@1&b={thread.rpartition('/')[2]}@2")
        found["compare"] = await violations(page, axe)
        await page.goto(f"{process.origin}/new")
        await page.get_by_text("Model, sandbox, approvals").click()
        found["a question"] = await violations(page, axe)
        await page.get_by_label("What do you want to know?").fill("How many?")
        await page.get_by_label("Ask me before each cell runs").check()
        await page.get_by_role("button", name="Ask").click()
        await expect(page.locator(".decide")).to_contain_text("Cell 1 waits for you")
        await page.get_by_text("Edit it").click()
        found["a decision"] = await violations(page, axe)
        await page.get_by_role("button", name="Approve", exact=True).click()
        await expect(page.locator(".decide")).to_contain_text("Cell 2 waits for you")
        await page.get_by_role("button", name="Approve", exact=True).click()
        await expect(page.locator(".answer")).to_contain_text("Nothing.")
        found["an error"] = await violations(page, axe)
        await page.goto(f"{process.origin}/?q=north")
        found["a search"] = await violations(page, axe)
        await page.evaluate("document.querySelector('main').append(document.createElement('button'))")
        assert "button-name" in "".join(await violations(page, axe))  # it does look
    assert {place: said for place, said in found.items() if said} == {}


async def test_axe_finds_nothing_serious_where_people_sign_in(axe: str, tmp_path: Path) -> None:
    users, keys = with_keys(tmp_path / "settings", "ann")
    with serving(tmp_path / "served", users) as server:
        async with browsing(f"{server.url}/ui{SIGN_IN}", may_refuse=True) as page:
            found = await violations(page, axe)
            await page.get_by_label("Your key for this server").fill("sw_wrong")
            await page.keyboard.press("Enter")
            await expect(page.get_by_role("alert")).to_contain_text("not known")
            found += await violations(page, axe)
            await page.get_by_label("Your key for this server").fill(keys["ann"])
            await page.keyboard.press("Enter")
            await expect(page.get_by_role("button", name="Sign out")).to_be_visible()
            found += await violations(page, axe)
    assert found == []
