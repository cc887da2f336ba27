"""The commands that run something: `run`, `ask`, `resume`."""

from pathlib import Path
from typing import Annotated

import typer

from stepwell.cli.command_options import (
    AcceptChanged,
    AllowDomains,
    Approve,
    ArtifactsTo,
    AsEvents,
    CellTimeout,
    Files,
    Language,
    MaxCells,
    MaxCost,
    MaxTokens,
    Model,
    NetworkMode,
    NoLive,
    Question,
    Quiet,
    SandboxKind,
    Thread,
    choices,
    end,
    given,
)


def run(
    question: Question,
    files: Files = None,
    model: Model = None,
    sandbox: SandboxKind = None,
    approve: Approve = None,
    max_cells: MaxCells = None,
    cell_timeout: CellTimeout = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    language: Language = None,
    network: NetworkMode = "",
    allow_domain: AllowDomains = None,
    artifacts: ArtifactsTo = "",
    as_json: AsEvents = False,
    quiet: Quiet = False,
    no_live: NoLive = False,
) -> None:
    """Answer a question about files, on a new thread.

    Progress goes to stderr and the answer to stdout unless both are a terminal, so `stepwell run … > answer.md` works.

    Example: stepwell run "Which month sold most, and why?" sales.csv "more/*.xlsx"
    """
    named = given(model, sandbox, approve, max_cells, cell_timeout, max_tokens, max_cost, language)

    def work() -> int:
        from stepwell.cli.running import run_new

        return run_new(question, files or [], choices(named, artifacts, as_json, quiet, no_live, network, allow_domain))

    end(work)


def ask(
    thread: Thread,
    question: Question,
    files: Files = None,
    model: Model = None,
    sandbox: SandboxKind = None,
    approve: Approve = None,
    max_cells: MaxCells = None,
    cell_timeout: CellTimeout = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    language: Language = None,
    network: NetworkMode = "",
    allow_domain: AllowDomains = None,
    artifacts: ArtifactsTo = "",
    as_json: AsEvents = False,
    quiet: Quiet = False,
    no_live: NoLive = False,
    accept_changed: AcceptChanged = False,
) -> None:
    """Ask a further question on a finished thread.

    Its variables and files are still there.

    Options that are not given stay as they were in the thread's last run (but --artifacts, --network and
    --allow-domain).
    """
    named = given(model, sandbox, approve, max_cells, cell_timeout, max_tokens, max_cost, language)

    def work() -> int:
        from stepwell.cli.running import ask_on

        options = choices(
            named, artifacts, as_json, quiet, no_live, network, allow_domain, accept_changed=accept_changed
        )
        return ask_on(thread, question, files or [], options)

    end(work)


def resume(
    thread: Thread,
    approve_cell: Annotated[bool, typer.Option("--approve-cell", help="Run the cell that waits.")] = False,
    approve_call: Annotated[
        str | None, typer.Option(metavar="ID", help="Make the call of a function that waits; ID is shown with it.")
    ] = None,
    edit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Run the code in this file instead of the cell that waits.")
    ] = None,
    reject: Annotated[
        str | None, typer.Option(metavar="REMARK", help="Refuse the cell or call that waits, and say what to do.")
    ] = None,
    model: Model = None,
    sandbox: SandboxKind = None,
    approve: Approve = None,
    max_cells: MaxCells = None,
    cell_timeout: CellTimeout = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    language: Language = None,
    network: NetworkMode = "",
    allow_domain: AllowDomains = None,
    artifacts: ArtifactsTo = "",
    as_json: AsEvents = False,
    quiet: Quiet = False,
    no_live: NoLive = False,
    accept_changed: AcceptChanged = False,
) -> None:
    """Go on with a paused, failed or waiting thread.

    A thread whose process was killed goes on as well. A cell or a call that waits for approval is shown, and you are
    asked; --approve-cell, --approve-call, --edit and --reject decide without asking.

    Options that are not given stay as they were in the thread's last run (but --artifacts, --network and
    --allow-domain).
    """
    named = given(model, sandbox, approve, max_cells, cell_timeout, max_tokens, max_cost, language)

    def work() -> int:
        from stepwell.cli.running import decided, go_on

        decision = decided(approve=approve_cell, edit=edit, reject=reject, call=approve_call)
        options = choices(
            named, artifacts, as_json, quiet, no_live, network, allow_domain, accept_changed=accept_changed
        )
        return go_on(thread, decision, options)

    end(work)
