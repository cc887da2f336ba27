"""The command `stepwell`: its help and its commands. What a command does is imported when it is called."""

import gc
import sys
from typing import Annotated

import typer

from sandboxes.host.descriptors import raise_limit
from stepwell.cli import (
    commands_agents,
    commands_config,
    commands_eval,
    commands_inspect,
    commands_page,
    commands_placement,
    commands_run,
    commands_serve,
    commands_steps,
    commands_threads,
)

HELP = """Ask a question about files; Stepwell plans, writes Python, runs it, checks the result and answers.

Every step is kept: a run that was paused (Ctrl-C), killed or has failed goes on with `stepwell resume`, and a finished
one takes further questions with `stepwell ask`.

The code that the model writes runs in a sandbox of its own: no network unless --network opens it, no files but its own,
no keys, and limits. `stepwell doctor` says what holds on this machine. Use --approve to see each cell before it runs.

Without a model (STEPWELL_MODEL, OPENAI_API_KEY, OPENAI_BASE_URL) the built-in playbook answers: a fixed analysis of
any table, no key and no network needed.

Exit codes: 0 finished, 1 failed, 2 wrong use, 3 a cell or a call waits for approval, 130 paused.
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


app.command()(commands_run.run)
app.command()(commands_run.chat)
app.command("import")(commands_run.import_notebook)
for command in (
    *(commands_run.ask, commands_run.resume),
    *(commands_steps.fork, commands_steps.shell, commands_steps.diff, commands_steps.replay),
    *(commands_inspect.threads, commands_inspect.show, commands_inspect.log, commands_inspect.export),
    *(commands_threads.rename, commands_threads.tag),
    *(commands_placement.move, commands_placement.sandboxes),
    *(commands_inspect.delete, commands_inspect.gc, commands_inspect.doctor, commands_inspect.trust),
):
    app.command()(command)
app.command()(commands_page.ui)
app.command()(commands_serve.serve)
app.command("open")(commands_page.open_thread)
app.add_typer(commands_config.config, name="config")
app.command()(commands_config.models)
app.add_typer(commands_agents.mcp, name="mcp")
app.command()(commands_agents.acp)
app.add_typer(commands_agents.kernel, name="kernel")
app.command("eval")(commands_eval.evaluate)
app.command()(commands_eval.compare)


COLLECT_AFTER = 50_000
"""Objects more than there were, until those that are garbage are looked for. With Python's own 700, an eighth of the
time of starting goes into looking at modules, none of which is garbage."""


def main() -> None:
    """The console script."""
    gc.set_threshold(COLLECT_AFTER)
    for stream in (sys.stdout, sys.stderr):
        # A character that a terminal's encoding lacks is no reason to lose an answer.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    raise_limit()
    app(prog_name="stepwell")
