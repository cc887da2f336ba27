"""`stepwell eval`: goes through a suite, task by task, and says what came of it."""

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import stepwell
from evals.comparison import print_comparison
from evals.loading import load
from evals.results import REPORT, RESULTS, Result, keep_model, read_results, summary, write_results
from evals.runner import Runner
from evals.tasks import Task, run_name
from graph.settings import read_settings
from stepwell.errors import UsageError
from stepwell.stored_context import changed

if TYPE_CHECKING:
    from evals.beside.rival import Rival

OWN = "own"
"""The name of the suite that comes with Stepwell."""
SMOLAGENTS = "smolagents"
FRUITLESS = 3
"""After so many tasks in a row that broke off without any answer of the model, nothing more is tried."""


@dataclass(frozen=True, slots=True)
class Choices:
    """How a suite is asked."""

    name: str = ""
    """Names the evaluation; empty: after suite and model."""
    form: str = ""
    """One of `evals.loading.FORMATS`; empty: recognised."""
    without_files: bool = False
    """Whether the questions are asked once more without their files."""
    jobs: int = 1
    """How many tasks run at a time."""
    beside: str = ""
    """Another agent that is asked the same at the same endpoint: `smolagents`."""
    beside_python: str = ""
    """The Python that has it; empty: this one."""


class Answering(Protocol):
    """What can answer tasks."""

    @property
    def run(self) -> str:
        """The name of its evaluation."""
        ...

    async def result_of(self, task: Task) -> Result:
        """Have a task answered, as far as that has not happened, and score it."""
        ...


def evaluate(suite: Path, choices: Choices, *, data: Path, out: Path, knobs: Mapping[str, Any]) -> int:
    """Run a suite, or the rest of it.

    Args:
        suite: The file of the questions; `own`, where there is no file of that name: the suite of `evals.own`.
        choices: How it is asked.
        data: The folder that holds the files of the tasks.
        out: Where the folder with the results goes.
        knobs: What was named of `Context`.

    Returns:
        The command's exit code: 0 when every task came to its end, 1 when some did not.

    Raises:
        UsageError: the suite or a knob cannot be used.
    """
    settings = read_settings()
    context = changed(stepwell.Context(), knobs)
    if choices.beside not in ("", SMOLAGENTS):
        raise UsageError(f"--beside cannot be {choices.beside!r}; there is: {SMOLAGENTS}.")
    if str(suite) == OWN and not suite.exists():
        suite = _own_suite(data, out)
        data = suite.parent
    if not data.is_dir():
        raise UsageError(f"The folder {data} does not exist; name the folder of the tasks' files with --data.")
    tasks = load(suite, data, choices.form)
    if any(task.problems for task in tasks) and choices.without_files:
        raise UsageError(
            "The reference code reads the files, so there is nothing to compare without: leave --without-files out."
        )
    if any(task.problems for task in tasks) and choices.beside:
        raise UsageError(
            f"What is compared is the session after each problem, and {choices.beside} keeps none: leave --beside out."
        )
    model = context.model or settings.model or "playbook"
    run = run_name(choices.name or f"{suite.stem}-{model}")
    asked: list[tuple[Answering, list[Task], str]] = [(Runner(run, settings, context), tasks, "")]
    if choices.without_files:
        bare = [replace(task, files=()) for task in tasks if task.files]
        asked.append((Runner(f"{run}-without-files", settings, context), bare, "without files, "))
    if choices.beside:
        other = f"{run}-{choices.beside}"
        asked.append((_rival(other, out, choices, settings, context, model), tasks, f"{choices.beside}, "))
    missing = 0
    for answering, its_tasks, prefix in asked:
        folder = out.absolute() / answering.run
        keep_model(folder, model)
        missing += _asked(answering, its_tasks, folder, jobs=choices.jobs, prefix=prefix)
    if choices.beside:
        sys.stdout.write(f"Stepwell, then {choices.beside}, question by question:\n")
        print_comparison(out.absolute() / run, out.absolute() / f"{run}-{choices.beside}", None)
    if missing:
        sys.stderr.write(f"{missing} tasks have no answer; the same command goes on.\n")
    return 1 if missing else 0


def _rival(
    run: str, out: Path, choices: Choices, settings: stepwell.Settings, context: stepwell.Context, model: str
) -> "Rival":
    """The other agent, if it can be asked here."""
    from evals.beside.rival import Rival, endpoint_model, version, warn

    name = endpoint_model(model)
    python = choices.beside_python or sys.executable
    warn(asyncio.run(version(python)))
    return Rival(run, out.absolute() / run, python, settings, context, name)


def _own_suite(data: Path, out: Path) -> Path:
    """Write the suite that comes with Stepwell, beside the results; returns the file of its questions."""
    if data != Path():
        raise UsageError("The suite `own` brings its own files; leave --data out.")
    from evals.own.suite import write_suite  # openpyxl and pyarrow take a second

    return write_suite(out / f"{OWN}-suite")


def _asked(answering: Answering, tasks: list[Task], folder: Path, *, jobs: int, prefix: str) -> int:
    """Ask, and say what came of it; returns how many tasks have no answer."""
    results = asyncio.run(_all(answering, tasks, folder, jobs=jobs))
    for line in summary(results):
        sys.stdout.write(f"{prefix}{line}\n")
    sys.stdout.write(f"results: {folder / RESULTS}\nreport: {folder / REPORT}\n")
    return len(tasks) - len(results) + sum(one.status == "broken off" for one in results)


async def _all(answering: Answering, tasks: list[Task], folder: Path, *, jobs: int) -> list[Result]:
    """The results of all tasks, of which so many run at a time; they are written down as they come."""
    before = await asyncio.to_thread(read_results, folder)
    found: dict[str, Result] = {}
    waiting = iter(tasks)
    writing = asyncio.Lock()
    fruitless = 0

    async def work() -> None:
        nonlocal fruitless
        for task in waiting:
            if fruitless >= FRUITLESS:
                return
            result = await answering.result_of(task)
            known = before.get(task.id)
            if result.seconds is None and known is not None and known.thread == result.thread:
                result = result.timed(known.seconds)
            found[task.id] = result
            fruitless = fruitless + 1 if result.status == "broken off" and not result.calls else 0
            async with writing:
                all_known = [found.get(one.id) or before.get(one.id) for one in tasks]
                await asyncio.to_thread(write_results, folder, [one for one in all_known if one], answering.run)
            sys.stderr.write(f"{task.id}: {result.status}{f' ({result.why})' if result.why else ''}\n")

    await asyncio.gather(*(work() for _ in range(jobs)))
    return [found[task.id] for task in tasks if task.id in found]
