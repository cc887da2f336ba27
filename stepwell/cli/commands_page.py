"""The commands that show the page: `ui`, `open`."""

from typing import Annotated

import typer

from stepwell.cli.command_options import Thread, exit_with

Port = Annotated[
    int | None,
    typer.Option(
        min=1, max=65_535, metavar="N", help="Where it listens (8484, or any that is free).", show_default=False
    ),
]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Only print the address.")]
FirstThread = Annotated[
    str, typer.Argument(metavar="THREAD", help="The thread to begin with; without one: the list.", show_default=False)
]


def ui(thread: FirstThread = "", port: Port = None, no_browser: NoBrowser = False) -> None:
    """Open the page in a browser: ask, watch, approve, look at steps.

    It answers this machine alone, and only the browser that opens the printed address. It needs no login and no
    network. Ctrl-C ends it and pauses what runs in it; `stepwell resume` or the page goes on with that.

    Example: stepwell ui
    """

    def work() -> int:
        from stepwell.cli.page import show_page

        return show_page(thread, port, browser=not no_browser)

    exit_with(work)


def open_thread(thread: Thread, port: Port = None, no_browser: NoBrowser = False) -> None:
    """Open a thread in a browser: the same as `stepwell ui THREAD`.

    Example: stepwell open last
    """
    ui(thread, port, no_browser)
