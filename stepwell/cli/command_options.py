"""The options that several commands share, and what becomes of them."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, NoReturn

import typer

from stepwell.cli.exits import guarded

Question = Annotated[str, typer.Argument(metavar="QUESTION", help="What you want to know, in any language.")]
Files = Annotated[
    list[str] | None,
    typer.Argument(metavar="FILE", help="Files, folders, globs (quoted) and URLs (https://, s3://)."),
]
Thread = Annotated[
    str, typer.Argument(metavar="THREAD", help="A thread's id, its first characters (four or more), or `last`.")
]
ThreadOrStep = Annotated[
    str, typer.Argument(metavar="THREAD[@STEP]", help="A thread, or a step of it: `last@3`, `last@4b`.")
]
Model = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="The model: a name at the endpoint, `provider:name`, or `playbook`.", show_default=False
    ),
]
SandboxKind = Annotated[
    str | None,
    typer.Option(metavar="KIND", help="Where code runs: `local`, on this machine, `docker`, or `daytona`."),
]
Approve = Annotated[
    bool | None, typer.Option("--approve/--no-approve", help="Ask before each cell runs, or do not ask any more.")
]
MaxCells = Annotated[int | None, typer.Option(min=1, max=1000, metavar="N", help="Cells per question (30).")]
CellTimeout = Annotated[float | None, typer.Option(min=0.1, metavar="SECONDS", help="Time one cell may take (120).")]
MaxTokens = Annotated[int | None, typer.Option(min=0, metavar="N", help="Tokens for the whole thread; 0: no limit.")]
MaxCost = Annotated[
    float | None,
    typer.Option(min=0, metavar="AMOUNT", help="Money for the whole thread, by STEPWELL_PRICES; 0: no limit."),
]
Language = Annotated[str | None, typer.Option(metavar="NAME", help="Language of the answer (the one of the question).")]
ArtifactsTo = Annotated[
    str, typer.Option("--artifacts", metavar="DEST", help="Folder or URL for finished files, one folder a thread.")
]
NetworkMode = Annotated[
    str,
    typer.Option(
        "--network",
        metavar="MODE",
        help="What cells may reach: `none`, `allowlist` or `full` (STEPWELL_NETWORK, none).",
    ),
]
AllowDomains = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-domain",
        metavar="DOMAIN",
        help="A domain that cells may reach: example.org, *.example.org, example.org:8443. May be repeated.",
    ),
]
AsEvents = Annotated[bool, typer.Option("--json", help="Each event as a line of JSON on stdout, and nothing else.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON, one object a line.")]
AcceptChanged = Annotated[
    bool, typer.Option("--accept-changed", help="Go on although inputs are gone or were changed from outside.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the answer and its files.")]
NoLive = Annotated[bool, typer.Option("--no-live", help="Plain lines, also on a terminal.")]


def given(
    model: str | None,
    sandbox: str | None,
    approve: bool | None,
    max_cells: int | None,
    cell_timeout: float | None,
    max_tokens: int | None,
    max_cost: float | None,
    language: str | None,
) -> dict[str, Any]:
    """The knobs that a command line names, by their names in Context."""
    knobs = {
        "model": model,
        "sandbox": sandbox,
        "approval": None if approve is None else "cells" if approve else "none",
        "max_cells": max_cells,
        "cell_timeout": cell_timeout,
        "max_tokens": max_tokens,
        "max_cost": max_cost,
        "language": language,
    }
    return {name: value for name, value in knobs.items() if value is not None}


def choices(
    given: dict[str, Any],
    artifacts: str,
    as_json: bool,
    quiet: bool,
    no_live: bool,
    network: str = "",
    domains: list[str] | None = None,
    *,
    accept_changed: bool = False,
) -> Any:
    """What the options of a command that runs something say."""
    from stepwell.cli.network_choice import NetworkChoice
    from stepwell.cli.running import Choices
    from stepwell.errors import UsageError

    if as_json and quiet:
        raise UsageError("Give only one of --json and --quiet.")
    chosen = NetworkChoice(network, tuple(domains or ()))
    output: Literal["full", "quiet", "json"] = "json" if as_json else "quiet" if quiet else "full"
    return Choices(given, artifacts, output, live=not no_live, network=chosen, accept_changed=accept_changed)


def end(work: Callable[[], int]) -> NoReturn:
    """Do the work of a command, and end with its exit code."""
    raise typer.Exit(guarded(work))
