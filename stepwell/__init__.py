"""What people hold: the command `stepwell`, and the Python API.

```python
import asyncio, stepwell

finished = asyncio.run(stepwell.run("Which month sold most?", files=["sales.csv"]))
print(finished.answer, finished.artifacts)
```
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from graph.context import Context as Context
    from graph.events import Event as Event
    from graph.events import Finished as Finished
    from graph.settings import Settings as Settings
    from stepwell.cleaning import Swept as Swept
    from stepwell.runs import ApprovalNeededError as ApprovalNeededError
    from stepwell.runs import Decision as Decision
    from stepwell.runs import Run as Run
    from stepwell.runs import RunFailedError as RunFailedError
    from stepwell.thread_error import ThreadError as ThreadError

_WHERE = {
    "ApprovalNeededError": "stepwell.runs",
    "Context": "graph.context",
    "Decision": "stepwell.runs",
    "Event": "graph.events",
    "Finished": "graph.events",
    "Run": "stepwell.runs",
    "RunFailedError": "stepwell.runs",
    "Settings": "graph.settings",
    "Swept": "stepwell.cleaning",
    "ThreadError": "stepwell.thread_error",
}

__all__ = [
    "ApprovalNeededError",
    "Context",
    "Decision",
    "Event",
    "Finished",
    "Run",
    "RunFailedError",
    "Settings",
    "Swept",
    "ThreadError",
    "delete",
    "gc",
    "resume",
    "run",
    "stream",
]


def __getattr__(name: str) -> Any:
    """Import a public class when it is first used: `stepwell --help` needs none of them."""
    if name in _WHERE:
        import importlib

        return getattr(importlib.import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'stepwell' has no attribute {name!r}")


async def run(
    question: str,
    *,
    files: "Sequence[str | PathLike[str]]" = (),
    thread: str | None = None,
    context: "Context | None" = None,
    settings: "Settings | None" = None,
) -> "Finished":
    """Analyse: ask a question about files and wait for the answer.

    Args:
        question: What you want to know.
        files: Local paths, folders, globs, and URLs.
        thread: An earlier answer's thread, to ask on with its variables and files.
        context: The knobs of this run.
        settings: Where things are kept and which model is asked; None reads `STEPWELL_…` and `.env`.

    Returns:
        The answer, its files, and what it took.

    Raises:
        RunFailedError: it stopped on an error; `resume` goes on once the cause is mended.
        ApprovalNeededError: a cell waits for a decision (only with `approval="cells"`).
        ThreadError: the thread cannot take a question.
        SettingsError: a setting cannot be used.
    """
    from stepwell.runs import finish

    return await finish(stream(question, files=files, thread=thread, context=context, settings=settings))


def stream(
    question: str,
    *,
    files: "Sequence[str | PathLike[str]]" = (),
    thread: str | None = None,
    context: "Context | None" = None,
    settings: "Settings | None" = None,
) -> "Run":
    """The same as `run`, event by event: `async for event in stepwell.stream(…)`."""
    from stepwell.runs import start

    return start(question, files=files, thread=thread, context=context, settings=settings)


async def resume(
    thread: str,
    *,
    decision: "Decision | None" = None,
    context: "Context | None" = None,
    settings: "Settings | None" = None,
) -> "Finished":
    """Go on with a thread that was paused, stopped on an error, was killed, or waits for a decision.

    Raises:
        RunFailedError: it stopped on an error again.
        ApprovalNeededError: a further cell waits for a decision.
        ThreadError: there is no such thread, or it is finished.
    """
    from stepwell import runs

    return await runs.finish(runs.resume(thread, decision=decision, context=context, settings=settings))


async def delete(thread: str, *, settings: "Settings | None" = None) -> "Swept":
    """Delete a thread for good: its steps, its workspace, and the snapshots that only it holds.

    Raises:
        ThreadError: there is no such thread, or somebody is working on it.
    """
    from stepwell import cleaning

    return await cleaning.delete(thread, settings=settings)


async def gc(*, grace: float = 3_600.0, dry_run: bool = False, settings: "Settings | None" = None) -> "Swept":
    """Remove snapshots' data that no step of any thread needs any more; analyses may go on meanwhile.

    Args:
        grace: Seconds; what is younger is left alone.
        dry_run: Only count.
        settings: Whose data folder; None reads the environment.

    Raises:
        SettingsError: the store cannot be used, or other data folders need it, too.
    """
    from stepwell import cleaning

    return await cleaning.gc(grace=grace, dry_run=dry_run, settings=settings)
