"""The command `eval`: how good the answers to a suite of tasks are."""

from pathlib import Path
from typing import Annotated

import typer

from stepwell.cli.command_options import RunOptions, exit_with, with_run_options


@with_run_options("model", "sandbox", "max_cells", "cell_timeout", "max_tokens", "max_cost", "language")
def evaluate(
    suite: Annotated[
        Path,
        typer.Argument(
            metavar="SUITE",
            help="A file of questions whose answers are known, or `own`: Stepwell's suite. docs/evals.md says how.",
        ),
    ],
    data: Annotated[
        Path, typer.Option(metavar="FOLDER", help="The folder that holds the files of the tasks (this one).")
    ] = Path(),
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the results go, in a folder of their own (evaluations).")
    ] = Path("evaluations"),
    name: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the evaluation (suite and model); another one begins anew.")
    ] = "",
    form: Annotated[
        str,
        typer.Option(
            "--format", metavar="FORMAT", help="plain, dabench, kramabench, dseval, dseval-apart (recognised)."
        ),
    ] = "",
    *,
    without_files: Annotated[
        bool, typer.Option("--without-files", help="Ask once more without the files: what is known by heart.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, max=64, metavar="N", help="Tasks that run at a time.")] = 1,
    beside: Annotated[
        str, typer.Option(metavar="smolagents", help="Ask this agent, too, at the same endpoint, and compare.")
    ] = "",
    beside_python: Annotated[
        str, typer.Option(metavar="PYTHON", help="The Python that has it (this one). It runs code without a sandbox.")
    ] = "",
    options: RunOptions,
) -> None:
    """Answer the questions of a suite and score the answers.

    Each task is a thread: `stepwell show` opens it, `fork` and `replay` work on it. The same command goes on with an
    evaluation that broke off: tasks that have ended are only scored.

    Exit codes: 0 every task has ended, right or wrong; 1 some have not.

    Example: stepwell eval own --model playbook
    """

    def work() -> int:
        from evals.evaluation import Choices
        from evals.evaluation import evaluate as run_suite

        choices = Choices(name, form, without_files, jobs, beside, beside_python)
        return run_suite(suite, choices, data=data, out=out, knobs=options.context())

    exit_with(work)


def compare(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="The folder with the results of an evaluation.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="That of another one, with the same questions.")],
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the comparison goes as a page in Markdown (nowhere).")
    ] = None,
) -> None:
    """Compare two evaluations question by question.

    Example: stepwell compare evaluations/before evaluations/after
    """

    def work() -> int:
        from evals.comparison import print_comparison

        return print_comparison(before, after, page)

    exit_with(work)
