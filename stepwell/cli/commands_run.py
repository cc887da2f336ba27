"""The commands that run something: `run`, `chat`, `import`, `ask`, `resume`."""

from pathlib import Path
from typing import Annotated

import typer

from stepwell.cli.command_options import AcceptChanged, Files, Question, RunOptions, Thread, exit_with, with_run_options


@with_run_options()
def run(
    question: Question,
    files: Files = None,
    *,
    options: RunOptions,
) -> None:
    """Answer a question about files, on a new thread.

    On a terminal you see each cell, what it prints, and the answer. In a pipe or a file, progress goes to stderr and
    the answer to stdout, so `stepwell run … > answer.md` works.

    Example: stepwell run "Which month sold most, and why?" sales.csv "more/*.xlsx"
    """

    def work() -> int:
        from stepwell.cli.run import run_new

        return run_new(question, files or [], options.choices())

    exit_with(work)


@with_run_options(
    *("model", "sandbox", "approve", "cell_timeout", "network", "allow_domain", "artifacts"),
    *("as_json", "quiet", "no_live"),
)
def import_notebook(
    notebook: Annotated[str, typer.Argument(metavar="NOTEBOOK", help="A Jupyter notebook of Python (.ipynb).")],
    files: Files = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Go on with the next cell when one fails, and end with exit code 0.")
    ] = False,
    *,
    options: RunOptions,
) -> None:
    """Run a notebook's code cells as a new thread, without a model.

    Each cell becomes a step: go to any of them afterwards (`stepwell show`, `fork`, `shell`) and ask on; --model is
    that of further questions. Files that the notebook reads are named behind it, and lie where it looks for them.
    Magics and shell commands are translated, or named as not run. A cell that fails ends the import with exit code 1,
    unless --keep-going is given or the cell has the tag raises-exception.

    Example: stepwell import analysis.ipynb data/sales.csv
    """

    def work() -> int:
        from stepwell.cli.run import run_notebook

        return run_notebook(notebook, files or [], keep_going, options.choices())

    exit_with(work)


@with_run_options(
    *("model", "sandbox", "plan", "approve", "review", "max_cells", "cell_timeout", "max_tokens", "max_cost"),
    *("language", "network", "allow_domain", "artifacts", "quiet", "no_live"),
)
def chat(
    thread: Annotated[
        str, typer.Argument(metavar="THREAD", help="A thread to go on with; without one a new thread begins.")
    ] = "",
    files: Annotated[
        list[str] | None,
        typer.Option("--file", "-f", metavar="FILE", help="A file for the first question; repeatable."),
    ] = None,
    accept_changed: AcceptChanged = False,
    *,
    options: RunOptions,
) -> None:
    """Ask one question after another on a thread.

    Lines that begin with a slash are commands: /add FILE… gives files, /back STEP and /fork STEP go to a step, /model
    NAME asks another model, /steps, /show, /files and /cost look around, /help lists all. A backslash at the end of a
    line continues it. Ctrl-C pauses the turn that runs, Ctrl-D ends.

    In a pipe each line is a question or a command; the exit code is 1 when one of them failed.

    Example: stepwell chat -f sales.csv
    """

    def work() -> int:
        from stepwell.cli.chat import open_chat

        return open_chat(thread, files or [], options.choices(accept_changed=accept_changed))

    exit_with(work)


@with_run_options()
def ask(
    thread: Thread,
    question: Question,
    files: Files = None,
    accept_changed: AcceptChanged = False,
    *,
    options: RunOptions,
) -> None:
    """Ask a further question on a finished thread.

    Its variables and files are still there.

    Options that are not given stay as they were in the thread's last run (but --artifacts, --network and
    --allow-domain).

    Example: stepwell ask last "Without the returns?"
    """

    def work() -> int:
        from stepwell.cli.run import ask_on

        return ask_on(thread, question, files or [], options.choices(accept_changed=accept_changed))

    exit_with(work)


@with_run_options()
def resume(
    thread: Thread,
    approve_plan: Annotated[bool, typer.Option("--approve-plan", help="Go on with the plan that waits.")] = False,
    approve_cell: Annotated[bool, typer.Option("--approve-cell", help="Run the cell that waits.")] = False,
    approve_call: Annotated[
        str | None, typer.Option(metavar="ID", help="Make the call of a function that waits; ID is shown with it.")
    ] = None,
    edit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Run the code in this file instead of the cell that waits, or follow the plan in it, a step a line.",
        ),
    ] = None,
    reject: Annotated[
        str | None, typer.Option(metavar="REMARK", help="Refuse the plan, cell or call that waits, and say what to do.")
    ] = None,
    accept_changed: AcceptChanged = False,
    *,
    options: RunOptions,
) -> None:
    """Go on with a paused, failed or waiting thread.

    A thread whose process was killed goes on as well. A plan, a cell or a call that waits for approval is shown, and
    you are asked; --approve-plan, --approve-cell, --approve-call, --edit and --reject decide without asking.

    Options that are not given stay as they were in the thread's last run (but --artifacts, --network and
    --allow-domain).

    Example: stepwell resume last
    """

    def work() -> int:
        from stepwell.cli.run import decided, go_on

        decision = decided(approve=approve_cell, edit=edit, reject=reject, call=approve_call, plan=approve_plan)
        return go_on(thread, decision, options.choices(accept_changed=accept_changed))

    exit_with(work)
