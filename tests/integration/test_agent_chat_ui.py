"""LangChain's own chat front end (langchain-ai/agent-chat-ui), unchanged, over a served graph in a real browser.

Its source is no part of this repository: STEPWELL_AGENT_CHAT_UI names a checkout of it, or it lies at
`../shared/clients/agent-chat-ui`. It is built in a copy, which takes minutes; a checkout that is built already
(`node_modules`, `.next`) is used as it is.
"""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest
from langgraph_sdk import get_client
from playwright.async_api import Browser, Page, expect

from tests.chat_pages import MISSING, PATIENCE, chromium
from tests.scripted_model import Call, Scripted, ScriptedServer
from tests.serving import ROOT, DevServer, answers, serving

SOURCE = Path(os.environ.get("STEPWELL_AGENT_CHAT_UI") or ROOT.parent / "shared" / "clients" / "agent-chat-ui")
LACKS = [*MISSING, *([] if (SOURCE / "package.json").is_file() else [f"a checkout of agent-chat-ui at {SOURCE}"])]
WIDTHS = (390, 768, 1280)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("agent-chat-ui"),
    pytest.mark.skipif(bool(LACKS), reason=f"this test needs {', '.join(LACKS)}"),
]

DRAW = (
    "import matplotlib.pyplot as plt\nplt.plot([1, 2])\ntotal = 40 + 2\nprint(total)\n"
    "open('outputs/total.txt', 'w').write(str(total))"
)
CELL = Call("run_python", purpose="Add", code=DRAW, plan=["Add", "Answer"])
REFUSED = Call("submit_answer", answer="It is 977,113 and 42.")
ANSWER = Call(
    "submit_answer", answer="It is {{total}}: ![the line](figures/cell-001-1.png)\n\nSee [the file](outputs/total.txt)."
)
FONTS = "module.exports = new Proxy({}, { get: () => \"@font-face { font-family: Inter; src: local('sans') }\" });\n"
"""What the build takes in the place of a font that it would fetch."""


@pytest.fixture(scope="module")
def front_end(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its address."""
    folder = SOURCE
    environment = {**os.environ, "NEXT_TELEMETRY_DISABLED": "1", "npm_config_manage_package_manager_versions": "false"}
    if not (SOURCE / ".next" / "BUILD_ID").is_file():
        folder = tmp_path_factory.mktemp("front-end") / "agent-chat-ui"
        shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("node_modules", ".next"))
        subprocess.run(["chmod", "-R", "u+w", str(folder)], check=True)
        fonts, tools = folder.parent / "fonts.js", folder.parent / "tools"
        fonts.write_text(FONTS)
        environment["NEXT_FONT_GOOGLE_MOCKED_RESPONSES"] = str(fonts)
        environment["PATH"] = f"{tools / 'node_modules' / '.bin'}{os.pathsep}{os.environ['PATH']}"
        for words in (
            ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(tools), "pnpm@10"],
            ["pnpm", "install", "--frozen-lockfile"],
            ["pnpm", "build"],
        ):
            done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
            assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve = [str(folder / "node_modules" / ".bin" / "next"), "start", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(serve, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert any("Ready" in line for line in process.stdout), "it ended before it was ready"
        assert answers(f"http://127.0.0.1:{port}/")
        yield f"http://127.0.0.1:{port}/"
        process.terminate()


@pytest.fixture
def served(model: ScriptedServer, tmp_path: Path) -> Iterator[DevServer]:
    environment = {"STEPWELL_MODEL": "scripted", "OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "none"}
    with serving(tmp_path / "served", environment) as server:
        yield server


async def opened(browser: Browser, front_end: str, served: DevServer, approval: str) -> Page:
    knobs = {"approval": approval, "review": "never"}
    async with get_client(url=served.url) as client:
        assistant = await client.assistants.create("stepwell", context=knobs)
    page = await browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(PATIENCE)
    await page.goto(f"{front_end}?{urlencode({'apiUrl': served.url, 'assistantId': assistant['assistant_id']})}")
    return page


async def ask(page: Page, question: str) -> None:
    await page.locator("textarea").first.fill(question)
    await page.locator("textarea").first.press("Enter")


async def test_people_see_a_conversation_with_its_picture_and_its_file(
    front_end: str, served: DevServer, model: ScriptedServer, tmp_path: Path
) -> None:
    replies: list[Scripted] = [CELL, REFUSED, ANSWER]
    model.script += replies
    async with chromium() as browser:
        page = await opened(browser, front_end, served, "none")
        await ask(page, "How much is it?")
        await expect(page.get_by_text("It is 42:")).to_be_visible(timeout=PATIENCE)
        picture = page.get_by_alt_text("the line")
        assert await picture.evaluate("one => one.decode().then(() => one.naturalWidth)") > 99
        link = await page.get_by_role("link", name="the file").get_attribute("href")
        async with httpx.AsyncClient() as client:
            assert (await client.get(str(link))).text == "42"
        said = await page.locator("body").inner_text()
        for width in WIDTHS:
            await page.set_viewport_size({"width": width, "height": 900})
            await page.screenshot(path=tmp_path / f"answered-{width}.png")
            wide = await page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width
    assert said.count("It is 42:") == said.count("total = 40 + 2") == 1
    assert "977,113" not in said
    assert "submit_" not in said


@pytest.mark.parametrize(("button", "says"), [("Approve", "It is 42"), ("Submit rejection", "You said: Not so.")])
async def test_a_cell_is_decided_in_its_inbox(
    front_end: str, served: DevServer, model: ScriptedServer, tmp_path: Path, button: str, says: str
) -> None:
    model.script += [CELL, Call("submit_answer", answer="It is 42." if button == "Approve" else "You said: Not so.")]
    async with chromium() as browser:
        page = await opened(browser, front_end, served, "cells")
        await ask(page, "How much is it?")
        await expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible(timeout=PATIENCE)
        await page.screenshot(path=tmp_path / "waits.png", full_page=True)
        if button != "Approve":
            await page.get_by_placeholder("Share feedback with the agent").fill("Not so.")
        await page.get_by_role("button", name=button, exact=True).click()
        await expect(page.get_by_text(says)).to_be_visible(timeout=PATIENCE)
