"""Chat pages of others in a real browser: what they need of a machine, their bundles, a server of files, a browser."""

import functools
import http.server
import shutil
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, async_playwright

SOURCES = Path(__file__).parent / "browser"
MISSING = [name for name in ("chromium", "node", "npm") if shutil.which(name) is None]
"""Programs that such a test needs and this machine lacks."""
PATIENCE = 60_000.0
"""Milliseconds."""


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


def installed(folder: Path) -> Path:
    """Install the packages that the lock file names beside the sources of all pages.

    Args:
        folder: Of its own.

    Returns:
        The same folder.
    """
    shutil.copytree(SOURCES, folder)
    install = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    built = subprocess.run(install, cwd=folder, capture_output=True, text=True, timeout=200)
    assert built.returncode == 0, built.stderr[-2000:]
    return folder


def bundled(page: str, sources: Path, folder: Path) -> Path:
    """Build a page from its source.

    Args:
        page: Its name among the sources, without an ending.
        sources: What `installed` returned.
        folder: For the page, which is to be served.

    Returns:
        The same folder.
    """
    bundle = [
        "node_modules/.bin/esbuild",
        f"{page}.jsx",
        "--bundle",
        "--jsx=automatic",
        f"--outfile={folder}/{page}.js",
    ]
    subprocess.run(bundle, cwd=sources, check=True, capture_output=True, timeout=100)
    head = '<!doctype html><meta charset="utf-8"><title>Chat</title>'
    (folder / "index.html").write_text(f'{head}<div id="page"></div><script src="{page}.js"></script>')
    return folder


@contextmanager
def serving_files(folder: Path) -> Iterator[str]:
    """A server of a folder's files; yields its address."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A headless browser."""
    quiet = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=quiet)
        yield browser
        await browser.close()
