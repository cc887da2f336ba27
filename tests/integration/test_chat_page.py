"""A chat page on LangChain's `useStream` in a real browser: what people see of a served analysis, and can press."""

import functools
import http.server
import shutil
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from tests.scripted_model import Call, Scripted, ScriptedServer
from tests.serving import DevServer, serving, with_keys

PAGE = Path(__file__).parents[1] / "browser"
HTML = '<!doctype html><meta charset="utf-8"><title>Chat</title><div id="page"></div><script src="chat_page.js"></script>'
MISSING = [name for name in ("chromium", "node", "npm") if shutil.which(name) is None]

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


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def page_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page, built from its source, on a server of files."""
    folder = tmp_path_factory.mktemp("page") / "browser"
    shutil.copytree(PAGE, folder)
    install = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    built = subprocess.run(install, cwd=folder, capture_output=True, text=True, timeout=200)
    assert built.returncode == 0, built.stderr[-2000:]
    bundle = ["node_modules/.bin/esbuild", "chat_page.jsx", "--bundle", "--jsx=automatic", "--outfile=chat_page.js"]
    subprocess.run(bundle, cwd=folder, check=True, capture_output=True, timeout=100)
    (folder / "index.html").write_text(HTML)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], dict[str, str]]:
    return with_keys(tmp_path_factory.mktemp("settings"), "alice", "bob")


@pytest.fixture(scope="module")
def served(
    model: ScriptedServer, keys: tuple[dict[str, str], dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DevServer]:
    environment = {"STEPWELL_MODEL": "scripted", "OPENAI_BASE_URL": model.base_url, **keys[0]}
    with serving(tmp_path_factory.mktemp("chat") / "served", environment) as server:
        yield server


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser
        await browser.close()
