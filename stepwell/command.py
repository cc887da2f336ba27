"""The command `stepwell`: its help and its commands. What a command does is imported when it is called."""

import gc
import os
import sys
from collections.abc import Callable
from typing import Annotated, Literal

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
from stepwell.cli.help_groups import GroupedCommands, add_to

HELP = """Ask a question about files; Stepwell plans, writes Python, runs it, checks the result and answers.

A thread is a question with all that follows: files, further questions, answers. Its steps are cells of Python, as in a
notebook, each kept with its variables and files, so that you can look at it, and go back to it.

A run that was paused (Ctrl-C), killed or has failed goes on with `stepwell resume`, and a finished
one takes further questions with `stepwell ask`.

The code that the model writes runs in a sandbox of its own: no network unless --network opens it, no files but its own,
no keys, and limits. `stepwell doctor` says what holds on this machine. Use --approve to see each cell before it runs.

Without a model (STEPWELL_MODEL, OPENAI_API_KEY, OPENAI_BASE_URL) the built-in playbook answers: a fixed analysis of
any table, no key and no network needed.

Examples:

- stepwell run "Which month sold most, and why?" sales.csv

- stepwell ask last "Without the returns?"

- stepwell fork last@3 "The same by region"

- stepwell open last

Exit codes: 0 finished, 1 failed, 2 wrong use or settings, 3 a plan, a cell or a call waits for approval, 4 answered
though none of the files given with the question could be read, 130 paused.
"""


def _open_closed_streams() -> None:
    """Open what stdin, stdout and stderr lack (`<&-`, a daemon) to nowhere: what is opened first would become them."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(nowhere, True)  # else a child's first file would become it
            setattr(sys, name, open(nowhere, mode, encoding="utf-8", errors="replace"))  # noqa: SIM115, PTH123 - stays


_open_closed_streams()
# Boxes and colours for people, plain text for pipes.
app = typer.Typer(
    cls=GroupedCommands,
    help=HELP,
    rich_markup_mode="markdown" if sys.stdout.isatty() and sys.stderr.isatty() else None,
    no_args_is_help=True,
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


COMMANDS: dict[str, Callable[..., None] | typer.Typer] = {
    "run": commands_run.run,
    "chat": commands_run.chat,
    "import": commands_run.import_notebook,
    "ask": commands_run.ask,
    "resume": commands_run.resume,
    "fork": commands_steps.fork,
    "shell": commands_steps.shell,
    "diff": commands_steps.diff,
    "replay": commands_steps.replay,
    "threads": commands_inspect.threads,
    "show": commands_inspect.show,
    "log": commands_inspect.log,
    "export": commands_inspect.export,
    "delete": commands_inspect.delete,
    "gc": commands_inspect.gc,
    "doctor": commands_inspect.doctor,
    "trust": commands_inspect.trust,
    "rename": commands_threads.rename,
    "tag": commands_threads.tag,
    "move": commands_placement.move,
    "sandboxes": commands_placement.sandboxes,
    "ui": commands_page.ui,
    "open": commands_page.open_thread,
    "serve": commands_serve.serve,
    "config": commands_config.config,
    "models": commands_config.models,
    "mcp": commands_agents.mcp,
    "acp": commands_agents.acp,
    "kernel": commands_agents.kernel,
    "eval": commands_eval.evaluate,
    "compare": commands_eval.compare,
}
for name, command in COMMANDS.items():
    add_to(app, name, command)


START_OBJECTS, COLLECT_AFTER = 400_000, 50_000
"""Objects more than there were, until those that are garbage are looked for: the first time, and from then on. A start
makes 340,000 that stay, and looking at them takes a sixth of its time."""
UNUSED = ("openai._vendor.httpx_aiohttp", "httpx._main")
"""What libraries import where more is installed, and go without elsewhere: a transport, and a command line of httpx."""


def _start_lightly() -> None:
    """Have imports cost less in this process, which is the command's alone."""
    for name in UNUSED:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]  # how the import system notes what cannot be had
    gc.set_threshold(START_OBJECTS)
    gc.callbacks.append(_settle)


def _settle(phase: Literal["start", "stop"], _: dict[str, int]) -> None:
    """After the first look for garbage: what is there now are modules, and is not looked at again."""
    if phase == "stop":
        gc.callbacks.remove(_settle)
        gc.freeze()
        gc.set_threshold(COLLECT_AFTER)


def main() -> None:
    """The console script."""
    _start_lightly()
    for stream in (sys.stdout, sys.stderr):
        # A character that a terminal's encoding lacks is no reason to lose an answer.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    raise_limit()
    app(prog_name="stepwell")
