"""The command `stepwell`: its options and help. What a command does is imported when it is called."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from stepwell.exits import guarded

HELP = """Ask a question about files; Stepwell plans, writes Python, runs it, checks the result and answers.

Every step is kept: a run that was paused (Ctrl-C), killed or has failed goes on with `stepwell resume`, and a finished
one takes further questions with `stepwell ask`.

NOT ISOLATED: in this version the local sandbox does not isolate anything. The code that the model writes runs as a
child process with your rights, in a clean environment (no keys) and a folder of its own. Use --approve to see each
cell before it runs.

Without a model (STEPWELL_MODEL, OPENAI_API_KEY, OPENAI_BASE_URL) the built-in playbook answers: a fixed analysis of
any table, no key and no network needed.

Exit codes: 0 finished, 1 failed, 2 wrong use, 3 a cell waits for approval, 130 paused.
"""

# Boxes and colours for people, plain text for pipes.
app = typer.Typer(
    help=HELP,
    rich_markup_mode="markdown" if sys.stdout.isatty() and sys.stderr.isatty() else None,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Question = Annotated[str, typer.Argument(metavar="QUESTION", help="What you want to know, in any language.")]
Files = Annotated[
    list[str] | None,
    typer.Argument(metavar="FILE", help="Files, folders, globs (quoted) and URLs (https://, s3://)."),
]
Thread = Annotated[
    str, typer.Argument(metavar="THREAD", help="A thread's id, its first characters (four or more), or `last`.")
]
Model = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="The model: a name at the endpoint, `provider:name`, or `playbook`.", show_default=False
    ),
]
SandboxKind = Annotated[
    str | None,
    typer.Option(metavar="KIND", help="Where code runs: `local`, which does not isolate."),
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
AsEvents = Annotated[bool, typer.Option("--json", help="Each event as a line of JSON on stdout, and nothing else.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON, one object a line.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the answer and its files.")]
NoLive = Annotated[bool, typer.Option("--no-live", help="Plain lines, also on a terminal.")]


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"stepwell {version('stepwell')}")
        raise typer.Exit


@app.callback()
def _stepwell(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


@app.command()
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
    artifacts: ArtifactsTo = "",
    as_json: AsEvents = False,
    quiet: Quiet = False,
    no_live: NoLive = False,
) -> None:
    """Answer a question about files, on a new thread.

    Progress goes to stderr and the answer to stdout unless both are a terminal, so `stepwell run … > answer.md` works.

    Example: stepwell run "Which month sold most, and why?" sales.csv "more/*.xlsx"
    """
    given = _given(model, sandbox, approve, max_cells, cell_timeout, max_tokens, max_cost, language)

    def work() -> int:
        from stepwell.running import run_new

        return run_new(question, files or [], _choices(given, artifacts, as_json, quiet, no_live))

    _end(work)


@app.command()
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
    artifacts: ArtifactsTo = "",
    as_json: AsEvents = False,
    quiet: Quiet = False,
    no_live: NoLive = False,
) -> None:
    """Ask a further question on a finished thread.

    Its variables and files are still there.

    Options that are not given stay as they were in the thread's last run (but --artifacts).
    """
    given = _given(model, sandbox, approve, max_cells, cell_timeout, max_tokens, max_cost, language)

    def work() -> int:
        from stepwell.running import ask_on

        return ask_on(thread, question, files or [], _choices(given, artifacts, as_json, quiet, no_live))

    _end(work)


@app.command()
def resume(
    thread: Thread,
    approve_cell: Annotated[bool, typer.Option("--approve-cell", help="Run the cell that waits.")] = False,
    edit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Run the code in this file instead of the cell that waits.")
    ] = None,
    reject: Annotated[
        str | None, typer.Option(metavar="REMARK", help="Refuse the cell that waits, and say what to do instead.")
    ] = None,
    model: Model = None,
    sandbox: SandboxKind = None,
    approve: Approve = None,
    max_cells: MaxCells = None,
    cell_timeout: CellTimeout = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    language: Language = None,
    artifacts: ArtifactsTo = "",
    as_json: AsEvents = False,
    quiet: Quiet = False,
    no_live: NoLive = False,
) -> None:
    """Go on with a paused, failed or waiting thread.

    A thread whose process was killed goes on as well. A cell that waits for approval is shown, and you are asked;
    --approve-cell, --edit and --reject decide without asking.

    Options that are not given stay as they were in the thread's last run (but --artifacts).
    """
    given = _given(model, sandbox, approve, max_cells, cell_timeout, max_tokens, max_cost, language)

    def work() -> int:
        from stepwell.running import decided, go_on

        decision = decided(approve=approve_cell, edit=edit, reject=reject)
        return go_on(thread, decision, _choices(given, artifacts, as_json, quiet, no_live))

    _end(work)


@app.command()
def fork(
    step: Annotated[
        str, typer.Argument(metavar="THREAD@STEP", help="The thread, and the cell after which the fork begins.")
    ],
    instruction: Annotated[str, typer.Argument(metavar="[QUESTION]", help="What to ask there instead.")] = "",
    model: Model = None,
    approve: Approve = None,
    artifacts: ArtifactsTo = "",
    as_json: AsEvents = False,
    quiet: Quiet = False,
    no_live: NoLive = False,
) -> None:
    """Begin a new thread at a step of another.

    Its variables and files are those of that step, and neither thread sees what happens in the other. With a
    QUESTION it is asked at once; without one the new thread's id is printed.

    Example: stepwell fork last@3 "The same without the outliers"
    """
    given = _given(model, None, approve, None, None, None, None, None)

    def work() -> int:
        from stepwell.running import fork_at

        return fork_at(step, instruction, _choices(given, artifacts, as_json, quiet, no_live))

    _end(work)


@app.command()
def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="A thread, or a step of it: THREAD@NUMBER.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The other.")],
    as_json: AsJson = False,
) -> None:
    """Say what B has otherwise than A: questions, variables, files, code, answer.

    Example: stepwell diff 18f0@3 last
    """

    def work() -> int:
        from stepwell.comparison_lines import diff_two

        return diff_two(a, b, as_json=as_json)

    _end(work)


@app.command()
def replay(thread: Thread, as_json: AsJson = False) -> None:
    """Run a thread's recorded cells again, without a model, and compare.

    They run in a fresh sandbox; the thread itself is left as it is. Output, status and the bytes of the files are
    compared, of workbooks all but the time of writing within them. The exit code is 1 when something differs.
    """

    def work() -> int:
        from stepwell.replay_lines import replay_one

        return replay_one(thread, as_json=as_json)

    _end(work)


@app.command()
def threads(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, metavar="N", help="At most this many (20).")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the threads, newest first.

    In a pipe the fields are separated by tabs: id, status, cells, time, question.
    """

    def work() -> int:
        from stepwell.looking import list_them

        return list_them(limit, as_json=as_json)

    _end(work)


@app.command()
def show(thread: Thread, as_json: AsJson = False) -> None:
    """Show a thread: plan, answer, files, status.

    Also what it used, and how to go on.
    """

    def work() -> int:
        from stepwell.looking import show_one

        return show_one(thread, as_json=as_json)

    _end(work)


@app.command()
def log(
    thread: Thread,
    code: Annotated[bool, typer.Option("--code", "-c", help="Each step's code and what came of it, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """List a thread's steps.

    What each did, how it ended, its time, its files and figures.

    In a pipe the fields are separated by tabs: number, status, seconds, purpose, files.
    """

    def work() -> int:
        from stepwell.looking import show_log

        return show_log(thread, code=code, as_json=as_json)

    _end(work)


@app.command()
def delete(thread: Thread) -> None:
    """Delete a thread for good.

    Its steps, its workspace and the snapshots that only it holds; published files stay where they are.
    """

    def work() -> int:
        from stepwell import making_room

        return making_room.delete(thread)

    _end(work)


@app.command()
def gc(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    grace: Annotated[
        float,
        typer.Option(min=0, metavar="SECONDS", help="Leave what is younger (3600); less only while nothing runs."),
    ] = 3_600.0,
) -> None:
    """Remove snapshots' data that no step of any thread needs any more.

    Analyses may go on meanwhile.
    """

    def work() -> int:
        from stepwell import making_room

        return making_room.gc(grace=grace, dry_run=dry_run)

    _end(work)


def main() -> None:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):
        # A character that a terminal's encoding lacks is no reason to lose an answer.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    app(prog_name="stepwell")


def _given(
    model: str | None,
    sandbox: str | None,
    approve: bool | None,
    max_cells: int | None,
    cell_timeout: float | None,
    max_tokens: int | None,
    max_cost: float | None,
    language: str | None,
) -> dict[str, Any]:
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


def _choices(given: dict[str, Any], artifacts: str, as_json: bool, quiet: bool, no_live: bool) -> Any:
    from stepwell.named_files import UsageError
    from stepwell.running import Choices

    if as_json and quiet:
        raise UsageError("Give only one of --json and --quiet.")
    return Choices(given, artifacts, "json" if as_json else "quiet" if quiet else "full", live=not no_live)


def _end(work: Callable[[], int]) -> NoReturn:
    raise typer.Exit(guarded(work))
