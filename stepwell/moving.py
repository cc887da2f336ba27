"""Moving a thread to a sandbox of another kind: its inputs at once, its variables and files with the next cell."""

from dataclasses import dataclass
from typing import cast

from graph.checkpoints import change_metadata, newest_metadata, open_checkpoints
from graph.context import remembered
from graph.settings import Settings, given_or_read
from graph.state import State
from graph.wiring import make_blobs
from nodes.carrying import carry_inputs
from nodes.snapshots import Snapshots
from sandboxes.base import SandboxError
from stepwell.remembered import changed
from stepwell.runs import CONTEXT_KEY
from stepwell.thread_error import ThreadError
from stepwell.thread_lock import alone_on
from stepwell.threads import reading


@dataclass(frozen=True, slots=True)
class Moved:
    """A thread that goes on elsewhere."""

    thread: str
    source: str
    """The kind of sandbox that it was in."""
    target: str
    problems: tuple[str, ...] = ()
    """Inputs that could not be carried along, one sentence each."""


async def move(thread: str, to: str, *, settings: Settings | None = None) -> Moved:
    """Have a thread go on in a sandbox of another kind.

    Its inputs are carried there now. Its variables and files are restored from its snapshot when its next cell runs;
    what differs there, as versions of packages, is in that receipt. The sandbox that it was in stays as it is, stopped.

    Args:
        thread: Its full id.
        to: The kind: `local`, `daytona`.
        settings: Where threads are kept; None reads the environment.

    Raises:
        ThreadError: there is no such thread or kind, somebody is working on it, or the other sandbox cannot be had.
    """
    settings = await given_or_read(settings)
    async with reading(settings) as (graph, sandboxes), alone_on(thread, settings.home):
        if to not in sandboxes.kinds:
            raise ThreadError(f"There is no sandbox of kind {to!r}; there is: {', '.join(sandboxes.kinds)}.")
        now = await graph.aget_state({"configurable": {"thread_id": thread}})
        if now.created_at is None:
            raise ThreadError(f"There is no thread {thread}; `stepwell threads` lists them.")
        state = cast("State", now.values)
        problems: list[str] = []
        async with open_checkpoints(settings.home) as saver:
            before = remembered(await newest_metadata(saver, thread, CONTEXT_KEY))
            source = state["sandbox"]["kind"] if state.get("sandbox") else before.sandbox
            if source != to and state.get("inputs"):
                try:
                    sandbox = await sandboxes.open(to, thread)
                    problems = await carry_inputs(sandbox, state, Snapshots(make_blobs(settings)), sandboxes.open)
                except SandboxError as error:
                    raise ThreadError(f"Thread {thread} cannot move to {to}: {error}") from None
            knobs = changed(before, {"sandbox": to})
            await change_metadata(saver, thread, CONTEXT_KEY, knobs.model_dump_json())
    return Moved(thread, source, to, tuple(problems))
