"""The commands about agents and editors: `mcp`, `mcp install`, `acp`."""

from pathlib import Path
from typing import Annotated

import typer

from stepwell.cli.command_options import exit_with
from stepwell.cli.help_groups import PlainUsage

mcp = typer.Typer(help="Offer sessions to agents (Model Context Protocol).", invoke_without_command=True)
Folders = Annotated[
    list[Path] | None,
    typer.Option("--files", metavar="DIR", help="A folder that agents may name files in; may be given several times."),
]
Approve = Annotated[bool, typer.Option("--approve", help="Each cell waits until you have approved it.")]


@mcp.callback()
def serve(
    context: typer.Context,
    files: Folders = None,
    approve: Approve = False,
    http: Annotated[
        int | None,
        typer.Option(
            min=1, max=65_535, metavar="PORT", help="Serve over HTTP, with keys, in the place of stdin and stdout."
        ),
    ] = None,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="With --http: where it listens.")] = "127.0.0.1",
) -> None:
    """Offer sessions to an agent: run Python in a sandbox, look at variables, go back to a step, fork, ask.

    Agents start this command themselves; `stepwell mcp install` tells them how. Each cell is a step of a thread that
    `stepwell threads`, the page and exports show, too. Agents reach threads with the tag `agents`.

    Over HTTP each user of STEPWELL_API_KEYS (`python -m server.keys add NAME`) has sessions of their own.

    Example: stepwell mcp --files ~/data
    """

    def work() -> int:
        from stepwell.cli import agent_services

        folders = tuple(files or ())
        if http is not None:
            return agent_services.serve_http(host, http, folders, approve=approve)
        return agent_services.serve_stdio(folders, approve=approve)

    if context.invoked_subcommand is None:
        exit_with(work)


@mcp.command(cls=PlainUsage)
def install(
    client: Annotated[
        str,
        typer.Option(metavar="NAME", help="claude, claude-code, cursor, vscode, codex, gemini or windsurf."),
    ],
    files: Folders = None,
    approve: Approve = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take it out again.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Add Stepwell to an agent's or editor's configuration.

    What is written is shown first.

    Example: stepwell mcp install --client cursor --files ~/data
    """

    def work() -> int:
        from stepwell.cli import agent_services

        return agent_services.install(client, tuple(files or ()), approve=approve, removes=remove, asks=not yes)

    exit_with(work)


def acp(approve: Approve = False) -> None:
    """Be the agent of an editor (Agent Client Protocol).

    Zed, Neovim, JetBrains and Jupyter AI speak it. The editor starts this command itself, and asks, shows and approves
    in its own windows. Its sessions are threads that `stepwell threads`, the page and exports show, too.

    Example, in the settings of an editor: {"command": "stepwell", "args": ["acp"]}
    """

    def work() -> int:
        from stepwell.cli import agent_services

        return agent_services.serve_editor(approve=approve)

    exit_with(work)


kernel = typer.Typer(help="Run notebooks' cells in Stepwell's sandbox, each as a step.", no_args_is_help=True)


@kernel.command("install", cls=PlainUsage)
def install_kernel(
    name: Annotated[str, typer.Option(metavar="NAME", help="What Jupyter calls it.")] = "stepwell",
    remove: Annotated[bool, typer.Option("--remove", help="Take it away again.")] = False,
) -> None:
    """Add the kernel to Jupyter.

    JupyterLab and VS Code then offer it for notebooks. A notebook's cells run in the sandbox, and each is a step:
    %steps lists them, %back N goes to one, %fork goes on in a new thread. A restarted kernel comes back with its
    variables.

    Example: stepwell kernel install
    """

    def work() -> int:
        from stepwell.cli import agent_services

        return agent_services.install_kernel(name, removes=remove)

    exit_with(work)
