"""`stepwell ui` and `stepwell open`: the page in a browser of this machine."""

import asyncio
import os
import sys
import threading
import webbrowser

from graph.settings import read_settings
from stepwell.cli.exits import PAUSED, print_error, warn_without_isolation
from stepwell.page.this_machine import listen, serve
from stepwell.threads import find_thread


def show_page(thread: str, port: int | None, *, browser: bool) -> int:
    """Serve the page until Ctrl-C.

    Args:
        thread: The thread that it opens with; empty: the list.
        port: Where it listens; None: the usual port, or any.
        browser: Whether a browser is opened.
    """
    settings = read_settings()
    warn_without_isolation(settings)
    path = f"/threads/{asyncio.run(find_thread(thread, settings))}" if thread else "/"
    told: list[str] = []

    def tell(address: str) -> None:
        if address in told:
            return
        first = not told
        told.append(address)
        sys.stdout.write(f"{address}\n")
        sys.stdout.flush()
        if first:
            print_error("The page is at this address, for one browser of this machine. Ctrl-C ends it and pauses runs.")
            if browser and _has_screen():
                threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    with listen(port) as listening:
        paused = asyncio.run(serve(settings, listening, path, tell))
    print_error("stopped; what was running is paused: stepwell threads" if paused else "stopped.")
    return PAUSED


def _has_screen() -> bool:
    """Whether a browser can be shown; one for the terminal would fill it."""
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
