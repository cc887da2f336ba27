"""The commands that go back to a step: `fork`, `shell`, `diff`, `replay`."""

from pathlib import Path
from typing import Annotated

import typer

from stepwell.cli import completion
from stepwell.cli.command_options import (
    AcceptChanged,
    AllowDomains,
    AsJson,
    NetworkMode,
    RunOptions,
    ThreadOrStep,
    exit_with,
    with_run_options,
)


@with_run_options("model", "approve", "network", "allow_domain", "artifacts", "as_json", "quiet", "no_live")
def fork(
    step: Annotated[
        str,
        typer.Argument(
            metavar="THREAD@STEP",
            help="The thread, and the cell after which the fork begins.",
            autocompletion=completion.threads,
        ),
    ],
    instruction: Annotated[str, typer.Argument(metavar="QUESTION", help="What to ask there instead.")] = "",
    here: Annotated[bool, typer.Option("--here", help="A new branch in the same thread, not a new thread.")] = False,
    accept_changed: AcceptChanged = False,
    *,
    options: RunOptions,
) -> None:
    """Go back to a step, and go on differently from there.

    This begins a new thread, or with --here a branch of the same one. It has the variables and files of that step;
    neither side sees what happens in the other afterwards. A QUESTION is asked at once. Without one the thread's id is
    printed: `stepwell resume` goes on with the question of that step; with --here, at a step that was answered, the
    thread is at that answer again.

    Example: stepwell fork last@3 "The same without the outliers"
    """

    def work() -> int:
        from stepwell.cli.run import fork_at

        return fork_at(step, instruction, here, options.choices(accept_changed=accept_changed))

    exit_with(work)


def shell(
    step: Annotated[
        str,
        typer.Argument(metavar="THREAD@STEP", help="The step to look around at.", autocompletion=completion.threads),
    ],
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Copy the files and figures that you make into this folder.")
    ] = None,
    network: NetworkMode = "",
    allow_domain: AllowDomains = None,
) -> None:
    """Open a Python prompt at a step; nothing of the thread changes.

    Ctrl-C interrupts what runs, Ctrl-D leaves. What comes from a pipe runs as one cell; the exit code is 1 when it
    fails.

    Example: echo 'df.shape' | stepwell shell last@3
    """

    def work() -> int:
        from stepwell.cli.command_options import NetworkChoice
        from stepwell.cli.shell import open_shell

        return open_shell(step, keep, NetworkChoice(network, tuple(allow_domain or ())))

    exit_with(work)


def diff(
    a: Annotated[
        str,
        typer.Argument(metavar="A", help="A thread, or a step of it: THREAD@STEP.", autocompletion=completion.threads),
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="The other.", autocompletion=completion.threads)],
    as_json: AsJson = False,
) -> None:
    """Show how a thread or step differs from another.

    Questions, plan, variables, files, code and answer are compared: what B has and A has not, and the other way round.
    Variables and files are compared by what they hold; of frames, the columns that differ are named.

    Example: stepwell diff 18f0@3 last
    """

    def work() -> int:
        from stepwell.cli.comparison_lines import diff_two

        return diff_two(a, b, as_json=as_json)

    exit_with(work)


def replay(
    thread: ThreadOrStep,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare the variables, too; the exit code is 1 when anything differs.")
    ] = False,
    network: NetworkMode = "",
    allow_domain: AllowDomains = None,
    as_json: AsJson = False,
) -> None:
    """Run a thread's cells again, without a model, and compare.

    They run in a fresh sandbox; the thread itself is left as it is. Status, output, the values in answers and
    the bytes of the files are compared, of workbooks all but the time of writing within them.

    Example: stepwell replay last --verify
    """

    def work() -> int:
        from stepwell.cli.command_options import NetworkChoice
        from stepwell.cli.comparison_lines import replay_one

        chosen = NetworkChoice(network, tuple(allow_domain or ()))
        return replay_one(thread, verify=verify, as_json=as_json, network=chosen)

    exit_with(work)
