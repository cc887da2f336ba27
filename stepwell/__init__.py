"""What people hold: the command `stepwell`, and the Python API.

```python
import stepwell

finished = stepwell.wait(stepwell.run("Which month sold most?", files=["sales.csv"]))
print(finished.answer, finished.artifacts)
```

Where `await` can be used, it takes the place of `stepwell.wait`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from contextlib import AbstractAsyncContextManager
    from os import PathLike

    from graph.checkpoints.step_tree import Step as Step
    from graph.context import Context as Context
    from graph.events import Event as Event
    from graph.events import Finished as Finished
    from graph.functions.registry import FunctionError as FunctionError
    from graph.functions.registry import HostFunction as HostFunction
    from graph.settings import Settings as Settings
    from sandboxes.network import Network as Network
    from stepwell.cell_sessions import CellRun as CellRun
    from stepwell.cell_sessions import CellSessions as CellSessions
    from stepwell.cell_sessions import open_cell_sessions as open_cell_sessions
    from stepwell.cleanup import Swept as Swept
    from stepwell.comparison import Difference as Difference
    from stepwell.errors import ThreadError as ThreadError
    from stepwell.errors import UsageError as UsageError
    from stepwell.exports.export import Exported as Exported
    from stepwell.notebooks.importing import import_notebook as stream_notebook
    from stepwell.replays import ReplayedCell as ReplayedCell
    from stepwell.replays import ReplayEnd as ReplayEnd
    from stepwell.restored_step import RestoredStep as RestoredStep
    from stepwell.runs import ApprovalNeededError as ApprovalNeededError
    from stepwell.runs import Decision as Decision
    from stepwell.runs import Run as Run
    from stepwell.runs import RunFailedError as RunFailedError
    from stepwell.runs import start as stream
    from stepwell.step_detail import StepDetail as StepDetail
    from stepwell.thread_summaries import ThreadSummary as ThreadSummary
    from stepwell.waiting import wait as wait

_WHERE = {
    "ApprovalNeededError": "stepwell.runs",
    "CellRun": "stepwell.cell_sessions",
    "CellSessions": "stepwell.cell_sessions",
    "Context": "graph.context",
    "Decision": "stepwell.runs",
    "Difference": "stepwell.comparison",
    "Event": "graph.events",
    "Exported": "stepwell.exports.export",
    "Finished": "graph.events",
    "FunctionError": "graph.functions.registry",
    "HostFunction": "graph.functions.registry",
    "Network": "sandboxes.network",
    "ReplayEnd": "stepwell.replays",
    "ReplayedCell": "stepwell.replays",
    "RestoredStep": "stepwell.restored_step",
    "Run": "stepwell.runs",
    "RunFailedError": "stepwell.runs",
    "Settings": "graph.settings",
    "Step": "graph.checkpoints.step_tree",
    "StepDetail": "stepwell.step_detail",
    "Swept": "stepwell.cleanup",
    "ThreadError": "stepwell.errors",
    "ThreadSummary": "stepwell.thread_summaries",
    "UsageError": "stepwell.errors",
    "open_cell_sessions": "stepwell.cell_sessions",
    "stream": "stepwell.runs:start",
    "stream_notebook": "stepwell.notebooks.importing:import_notebook",
    "wait": "stepwell.waiting",
}

__all__ = [
    "ApprovalNeededError",
    "CellRun",
    "CellSessions",
    "Context",
    "Decision",
    "Difference",
    "Event",
    "Exported",
    "Finished",
    "FunctionError",
    "HostFunction",
    "Network",
    "ReplayEnd",
    "ReplayedCell",
    "RestoredStep",
    "Run",
    "RunFailedError",
    "Settings",
    "Step",
    "StepDetail",
    "Swept",
    "ThreadError",
    "ThreadSummary",
    "UsageError",
    "at",
    "delete",
    "diff",
    "export",
    "fork",
    "gc",
    "import_notebook",
    "list_threads",
    "log",
    "open_cell_sessions",
    "rename",
    "replay",
    "resume",
    "run",
    "show",
    "stream",
    "stream_notebook",
    "tag",
    "wait",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `stepwell --help` needs none of them."""
    if name in _WHERE:
        import importlib

        module, _, own_name = _WHERE[name].partition(":")
        return getattr(importlib.import_module(module), own_name or name)
    raise AttributeError(f"module 'stepwell' has no attribute {name!r}")


async def run(
    question: str,
    *,
    files: "Sequence[str | PathLike[str]]" = (),
    thread: str | None = None,
    context: "Context | None" = None,
    settings: "Settings | None" = None,
    functions: "Sequence[Callable[..., Any] | HostFunction]" = (),
    network: "Network | None" = None,
    accept_changed: bool = False,
) -> "Finished":
    """Analyse: ask a question about files and wait for the answer.

    Args:
        question: What you want to know.
        files: Local paths, folders, globs, and URLs.
        thread: An earlier answer's thread, to ask on with its variables and files.
        context: The knobs of this run.
        settings: Where things are kept and which model is asked; None reads `STEPWELL_…` and `.env`.
        functions: Functions of this program that cells can call, with `HostFunction(f, …)` for those that can be
            repeated or need approval. They are not remembered: offer them again when the thread goes on.
        network: What cells may reach, such as `stepwell.Network.only("pypi.org", "files.pythonhosted.org")`; None: what
            the settings say.
        accept_changed: Whether a thread goes on with inputs that are gone or were changed from outside.

    Returns:
        The answer, its files, and what it took.

    Raises:
        FunctionError: one of the functions cannot be offered.
        RunFailedError: it stopped on an error; `resume` goes on once the cause is fixed.
        ApprovalNeededError: a cell waits for a decision (with `approval="cells"`), or a call of a function that needs
            approval.
        ThreadError: the thread cannot take a question.
        SettingsError: a setting cannot be used.
    """
    from stepwell.runs import finish, start

    asked = start(
        question,
        files=files,
        thread=thread,
        context=context,
        settings=settings,
        functions=functions,
        network=network,
        accept_changed=accept_changed,
    )
    return await finish(asked)


async def import_notebook(
    path: "str | PathLike[str]",
    *,
    files: "Sequence[str | PathLike[str]]" = (),
    keep_going: bool = False,
    context: "Context | None" = None,
    settings: "Settings | None" = None,
    functions: "Sequence[Callable[..., Any] | HostFunction]" = (),
    network: "Network | None" = None,
) -> "Finished":
    """Run a Jupyter notebook's code cells as the steps of a new thread, without a model, and wait for its end.

    Args:
        path: The notebook.
        files: What it reads: local paths, folders, globs, and URLs. They lie where the notebook looks for them.
        keep_going: Whether a cell that fails does not end the import.
        context: The knobs of this run and of further questions; its model is that of further questions.
        settings: Where things are kept; None reads `STEPWELL_…` and `.env`.
        functions: Functions of this program that cells can call.
        network: What cells may reach; None: what the settings say.

    Returns:
        What ran, in words; `stopped_at` is the cell that ended the import early, or 0. No tokens are spent.

    Raises:
        FunctionError: one of the functions cannot be offered.
        RunFailedError: it stopped on an error; `resume` goes on at the right cell once the cause is fixed.
        ApprovalNeededError: a cell waits for a decision (with `approval="cells"`).
        ThreadError: the notebook cannot be imported.
        SettingsError: a setting cannot be used.
    """
    from stepwell.notebooks.importing import import_notebook as stream
    from stepwell.runs import finish

    begun = await stream(
        path,
        files=files,
        keep_going=keep_going,
        context=context,
        settings=settings,
        functions=functions,
        network=network,
    )
    return await finish(begun)


async def resume(
    thread: str,
    *,
    decision: "Decision | None" = None,
    context: "Context | None" = None,
    settings: "Settings | None" = None,
    functions: "Sequence[Callable[..., Any] | HostFunction]" = (),
    network: "Network | None" = None,
    accept_changed: bool = False,
) -> "Finished":
    """Go on with a thread that was paused, stopped on an error, was killed, or waits for a decision.

    Raises:
        RunFailedError: it stopped on an error again.
        ApprovalNeededError: a further cell waits for a decision.
        ThreadError: there is no such thread, or it is finished.
    """
    from stepwell import runs

    rest = runs.resume(
        thread,
        decision=decision,
        context=context,
        settings=settings,
        functions=functions,
        network=network,
        accept_changed=accept_changed,
    )
    return await runs.finish(rest)


async def log(thread: str, *, settings: "Settings | None" = None) -> "list[Step]":
    """A thread's steps, in the order in which they were made; `step.parent` makes the tree.

    Args:
        thread: The thread's id, its first characters, or `last`.
        settings: Where threads are kept; None reads the environment.

    Raises:
        ThreadError: there is no such thread.
    """
    from stepwell.steps import read_log

    return (await read_log(thread, settings))[1].steps


async def show(step: str, *, settings: "Settings | None" = None) -> "StepDetail":
    """One step: code, output, variables, files, what its snapshot kept and what it could not.

    Args:
        step: `THREAD@STEP`, such as `last@3`; without `@STEP`: where the thread is now.
        settings: Where threads are kept; None reads the environment.

    Raises:
        ThreadError: there is no such thread or step.
    """
    from stepwell.step_detail import show_step

    return await show_step(step, settings)


async def fork(step: str, *, here: bool = False, new_turn: bool = False, settings: "Settings | None" = None) -> str:
    """Begin a new thread, or a branch of the same, at a step, with the variables and files of that step.

    Args:
        step: `THREAD@STEP`; without `@STEP`: where the thread is now.
        here: A branch in the same thread; what came after the step stays in its log.
        new_turn: Whether `run(question, thread=…)` comes next; else `resume` goes on with the step's own question.
        settings: Where threads are kept; None reads the environment.

    Returns:
        The id of the thread that goes on from there.

    Raises:
        ThreadError: there is no such thread or step, or (with `here`) somebody is working on it.
    """
    from stepwell import forks
    from stepwell.steps import parse_step_name
    from stepwell.threads import find_thread

    prefix, number = parse_step_name(step)
    begin = forks.fork_here if here else forks.fork_thread
    return await begin(await find_thread(prefix, settings), step=number, new_turn=new_turn, settings=settings)


def at(
    step: str,
    *,
    settings: "Settings | None" = None,
    functions: "Sequence[Callable[..., Any] | HostFunction]" = (),
) -> "AbstractAsyncContextManager[RestoredStep]":
    """A live Python session at a step, discarded after the block; the thread does not change.

    `async with stepwell.at("last@3") as session: result = await session.run("df.shape")`

    Args:
        step: `THREAD@STEP`; without `@STEP`: where the thread is now.
        settings: Where threads are kept; None reads the environment.
        functions: Functions that code in it can call, if they can be repeated.

    Raises:
        FunctionError: one of the functions cannot be offered.
        ThreadError: there is no such thread or step.
        SandboxError: the sandbox cannot be had.
    """
    from stepwell import restored_step

    return restored_step.at(step, settings=settings, functions=functions)


async def diff(a: str, b: str, *, settings: "Settings | None" = None) -> "Difference":
    """How step `b` differs from `a`; each is a thread or `THREAD@STEP`.

    Raises:
        ThreadError: there is no such thread or step.
    """
    from stepwell.comparison import compare
    from stepwell.steps import parse_step_name
    from stepwell.threads import find_thread

    steps = [parse_step_name(name) for name in (a, b)]
    found = [(await find_thread(prefix, settings), step) for prefix, step in steps]
    return await compare(found[0], found[1], settings)


async def replay(
    thread: str,
    *,
    verify: bool = False,
    settings: "Settings | None" = None,
    functions: "Sequence[Callable[..., Any] | HostFunction]" = (),
) -> "AsyncIterator[ReplayedCell | ReplayEnd]":
    """Run a thread's recorded cells again in a fresh sandbox, without a model, and compare: cell by cell, then the end.

    Args:
        thread: A thread, or `THREAD@STEP` for the cells up to there.
        verify: Whether the variables are compared, too.
        settings: Where threads are kept; None reads the environment.
        functions: Functions that can be repeated are called; calls of others are answered from the record.

    Raises:
        ThreadError: there is no such thread or step, or it has no cells.
        SandboxError: the sandbox cannot be had.
    """
    from contextlib import aclosing

    from stepwell import replays
    from stepwell.steps import parse_step_name
    from stepwell.threads import find_thread

    prefix, step = parse_step_name(thread)
    found = replays.replay(
        await find_thread(prefix, settings), settings, step=step, variables=verify, functions=functions
    )
    async with aclosing(found):  # type: ignore[type-var]  # an async generator
        async for one in found:
            yield one


async def export(
    step: str, to: "str | PathLike[str]", *, overwrite: bool = False, settings: "Settings | None" = None
) -> "Exported":
    """Write a thread as a report, as a Jupyter notebook, or as an archive with both, its code and its files.

    Args:
        step: `THREAD@STEP`; without a step: where the thread is now.
        to: The file; its ending says which: `.html`, `.ipynb` or `.zip`.
        overwrite: Whether a file of that name may be replaced.
        settings: Where threads are kept; None reads the environment.

    Raises:
        ThreadError: there is no such thread or step, or nothing was asked yet.
        UsageError: the ending is none of these, or the file cannot be written there.
    """
    from stepwell.exports.export import export

    return await export(step, to, overwrite=overwrite, settings=settings)


async def list_threads(
    *, limit: int = 20, search: str = "", tags: "Sequence[str]" = (), settings: "Settings | None" = None
) -> "list[ThreadSummary]":
    """The newest threads, newest first: question, status, name, tags.

    Args:
        limit: At most so many.
        search: Only those with all these words in name, questions or answers.
        tags: Only those that have all these tags.
        settings: Where threads are kept; None reads the environment.
    """
    from stepwell import threads
    from stepwell.thread_summaries import ThreadFilter

    return await threads.list_threads(limit=limit, wanted=ThreadFilter(search, tuple(tags)), settings=settings)


async def rename(thread: str, name: str, *, settings: "Settings | None" = None) -> str:
    """Give a thread a name, which can be used instead of its id; an empty one removes it.

    Args:
        thread: The thread's name so far, its id, the first characters of that, or `last`.
        name: Up to 100 characters, no other thread's name.
        settings: Where threads are kept; None reads the environment.

    Returns:
        The thread's id.

    Raises:
        ThreadError: there is no such thread, or the name cannot be used.
    """
    from stepwell import labels

    return await labels.rename(thread, name, settings=settings)


async def tag(thread: str, *tags: str, remove: bool = False, settings: "Settings | None" = None) -> tuple[str, ...]:
    """Give a thread tags, or take them away; returns all that it has then.

    Raises:
        ThreadError: there is no such thread, or a tag cannot be used or, with `remove`, is not there.
    """
    from stepwell import labels

    return (await labels.tag(thread, *tags, remove=remove, settings=settings))[1]


async def delete(thread: str, *, settings: "Settings | None" = None) -> "Swept":
    """Delete a thread for good: its steps, its workspace, and the snapshots that only it holds.

    Raises:
        ThreadError: there is no such thread, or somebody is working on it.
    """
    from stepwell import cleanup

    return await cleanup.delete(thread, settings=settings)


async def gc(
    *,
    grace: float = 3_600.0,
    dry_run: bool = False,
    keep_last: int = 0,
    older_than: str = "",
    budget: str = "",
    settings: "Settings | None" = None,
) -> "Swept":
    """Remove snapshots' data that no step of any thread needs any more; analyses may go on meanwhile.

    Each of the rules is a limit: the steps that one of them names lose their snapshots, from the oldest on, never the
    newest of a branch.

    Args:
        grace: Seconds; what is younger is left alone.
        dry_run: Only count.
        keep_last: Steps at the end of each branch that keep their snapshots; 0: all do.
        older_than: `30d`, `12h`: older steps lose theirs; empty: none do.
        budget: `20GB`, `500MB`: what the store may hold; empty: any amount.
        settings: Whose data folder; None reads the environment.

    Raises:
        ValueError: a rule is not what it should be.
        SettingsError: the store cannot be used, other data folders need it, too, or somebody else makes room.
    """
    from stepwell import cleanup
    from stepwell.retention import Rules

    rules = Rules(keep_last=keep_last, older_than=older_than, budget=budget)
    return await cleanup.gc(grace=grace, dry_run=dry_run, rules=rules, settings=settings)
