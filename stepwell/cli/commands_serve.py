"""The command `serve`: LangGraph's server over the installed package, or the file that other servers want."""

from pathlib import Path
from typing import Annotated

import typer

from stepwell.cli.command_options import exit_with

Port = Annotated[int, typer.Option(min=1, max=65_535, metavar="N", help="Where it listens.")]
Write = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Start nothing: write a langgraph.json for `langgraph build` and others.",
        show_default=False,
    ),
]


def serve(port: Port = 2024, write: Write = None) -> None:
    """Serve Stepwell to LangGraph Studio and other such clients.

    It answers this machine alone. Threads of the command are not shown there: its own are kept below
    STEPWELL_HOME/server.

    It needs the extra: pip install 'stepwell[serve]'

    Example: stepwell serve --port 2024
    """

    def work() -> int:
        from stepwell.cli import serving

        return serving.write_config(write) if write is not None else serving.serve(port)

    exit_with(work)
