"""The commands about what is kept: `threads`, `show`, `log`, `export`, `delete`, `gc`; and `doctor`, `trust`."""

from pathlib import Path
from typing import Annotated

import typer

from stepwell.cli.command_options import AsJson, Thread, ThreadOrStep, exit_with


def threads(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, metavar="N", help="At most this many (20).")] = 20,
    search: Annotated[
        str, typer.Option("--search", "-s", metavar="TEXT", help="With all these words in name, questions or answers.")
    ] = "",
    tag: Annotated[
        list[str] | None, typer.Option("--tag", "-t", metavar="TAG", help="With this tag; may be repeated.")
    ] = None,
    size: Annotated[
        bool, typer.Option("--size", help="What each takes, too: workspace, snapshots alone and shared.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the threads, newest first.

    In a pipe the fields are separated by tabs: id, status, cells, time, question, name, tags (with commas), and with
    --size three numbers of bytes: of its workspace, of snapshots that only it needs, of those that others need, too.

    Example: stepwell threads --search "sales May" --tag 2026
    """

    def work() -> int:
        from stepwell.cli.thread_list import print_threads

        return print_threads(limit, as_json=as_json, search=search, tags=tag or [], sizes=size)

    exit_with(work, connects=size)  # sizes are asked of the store


def show(thread: ThreadOrStep, as_json: AsJson = False) -> None:
    """Show a thread, or one step of it.

    A thread: plan, answer, files, status, what it used, how to go on. A step: code, output, variables, files, what its
    snapshot kept and what it could not.

    Example: stepwell show last@3
    """

    def work() -> int:
        from stepwell.cli.inspection import print_thread

        return print_thread(thread, as_json=as_json)

    exit_with(work)


def log(
    thread: Thread,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, metavar="N", help="The newest so many (100).")] = 100,
    code: Annotated[bool, typer.Option("--code", "-c", help="Each step's code and what came of it, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Draw the tree of a thread's steps.

    What each did, how long it took, what its snapshot added, when, its files; where the thread is now. Steps of the
    first line are numbers; those of later branches have a letter: 4b.

    In a pipe the fields are separated by tabs: step, status, seconds, purpose, files, the step before, bytes added,
    time, `here`.

    Example: stepwell log last --code
    """

    def work() -> int:
        from stepwell.cli.inspection import show_log

        return show_log(thread, limit, code=code, as_json=as_json)

    exit_with(work)


def export(
    thread: ThreadOrStep,
    to: Annotated[
        Path, typer.Option("--to", "-o", metavar="FILE", help="Its ending says which: .html, .ipynb or .zip.")
    ],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file of that name.")] = False,
) -> None:
    """Write a thread as a file to hand on.

    report.html: questions, answers, steps and figures in one page, where a number leads to the cell that it comes from.
    notebook.ipynb: a Jupyter notebook that runs beside the input files. archive.zip: both, the code, the published
    files.

    Example: stepwell export last --to report.html
    """

    def work() -> int:
        from stepwell.cli.inspection import export_thread

        return export_thread(thread, to, overwrite=overwrite)

    exit_with(work)


def delete(thread: Thread) -> None:
    """Delete a thread for good.

    Its steps, its workspace and the snapshots that only it holds; published files stay where they are.

    Example: stepwell delete 18f0
    """

    def work() -> int:
        from stepwell.cli import maintenance

        return maintenance.delete(thread)

    exit_with(work)


def gc(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    grace: Annotated[
        float,
        typer.Option(min=0, metavar="SECONDS", help="Leave what is younger (3600); less only while nothing runs."),
    ] = 3_600.0,
    keep_last: Annotated[
        int | None,
        typer.Option(
            "--keep-last",
            min=1,
            metavar="N",
            help="Give up the snapshots of all but the last N steps of each branch.",
        ),
    ] = None,
    older_than: Annotated[
        str,
        typer.Option("--older-than", metavar="AGE", help="Give up those of older steps: 30d, 12h, 90min."),
    ] = "",
    budget: Annotated[
        str,
        typer.Option("--budget", metavar="SIZE", help="Give up from the oldest on until no more is kept: 20GB, 500MB."),
    ] = "",
) -> None:
    """Remove stored data that no step of any thread needs any more.

    What variables and files were at each step is stored in pieces, called blobs, which steps share. With a rule
    (--keep-last, --older-than, --budget), steps lose their snapshots first: from the oldest on, never the newest of a
    branch, never the end of a turn before its middle. The tree of steps says so, and such a step comes back by running
    cells again.

    Analyses may go on meanwhile.

    Example: stepwell gc --dry-run
    """

    def work() -> int:
        from stepwell.cli import maintenance

        return maintenance.gc(grace=grace, dry_run=dry_run, rules=(keep_last or 0, older_than, budget))

    exit_with(work)


def doctor(
    daytona: Annotated[
        bool,
        typer.Option(
            "--daytona", help="Try the account in Daytona instead: create, cell, snapshot, stop, start, delete."
        ),
    ] = False,
    docker: Annotated[
        bool, typer.Option("--docker", help="Try the container engine instead, in the same way.")
    ] = False,
    repair: Annotated[
        bool, typer.Option("--repair", help="Write a damaged file of threads anew with what can be read of it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Test how well code is kept apart on this machine.

    Also whether a session works at all. Each level of isolation is tried and probed; for the chosen one: what is
    enforced, what is soft, what is not there, and why. Nothing starts that is weaker. Then a session of that level
    imports scipy, draws a figure, takes a snapshot, is ended, and is brought back. Exit code 1: something of that, or
    the data folder, does not work.

    In a pipe the fields are separated by tabs: `level`, name, whether it works, why; `property`, name, state, why;
    `limit`, name, value; `network`, mode; `session`, what was tried, whether it works, how long it took; `caution`,
    what is to be known of the data folder. With --daytona or --docker: what was tried, whether it works, how long it
    took.

    With --repair instead: threads that lost something go back to the newest step before it and are named; the damaged
    file is kept beside the new one. Nothing may be running.

    Example: stepwell doctor
    """

    def work() -> int:
        from stepwell.errors import UsageError

        if daytona + docker + repair > 1:
            raise UsageError("Give only one of --daytona, --docker and --repair.")
        if daytona or docker:
            from stepwell.cli import doctor_trial

            return doctor_trial.doctor("daytona" if daytona else "docker", as_json=as_json)
        if repair:
            from stepwell.cli import maintenance

            return maintenance.repair(as_json=as_json)
        from stepwell.cli import doctor as examining

        return examining.doctor(as_json=as_json)

    exit_with(work)


def trust(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The folder whose file is meant.", show_default=False)
    ] = Path(),
    remove: Annotated[bool, typer.Option("--remove", help="Trust it no more.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="Only list what is trusted.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Let the file .env of a folder decide settings and keys.

    Without a folder: of the working directory. It is shown first. Until then nothing of it is applied, and nothing once
    it has changed: it could name programs, turn isolation off, or send your keys elsewhere. The file .env of the data
    folder (STEPWELL_HOME) needs no trust.

    In a pipe nobody is asked; --list separates fields by tabs: path, `trusted`, `changed` or `gone`.

    Example: stepwell trust ~/project
    """

    def work() -> int:
        from stepwell.cli import maintenance
        from stepwell.errors import UsageError

        if remove and listed:
            raise UsageError("Give only one of --remove and --list.")
        return (
            maintenance.list_trusted()
            if listed
            else maintenance.distrust(folder)
            if remove
            else maintenance.trust(folder, yes=yes)
        )

    exit_with(work)
