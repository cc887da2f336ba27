"""Moving a thread to a sandbox of another kind: its inputs at once, its variables and files with the next cell."""

from dataclasses import dataclass
from typing import cast

from graph.checkpoints.factory import open_checkpoints
from graph.context import stored_context
from graph.settings import Settings, settings_or_default
from graph.state import State
from graph.wiring import make_blobs
from nodes.inputs import supply_inputs
from nodes.restoration.receipt import Receipt
from nodes.restoration.restore import preview_restore
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import SandboxError
from stepwell.errors import ThreadError
from stepwell.locks import lock_thread
from stepwell.runs import CONTEXT_KEY
from stepwell.stored_context import changed
from stepwell.threads import open_graph

ALL_THE_SAME = "Move it all the same with --lossy; or choose a sandbox with the same versions."


@dataclass(frozen=True, slots=True)
class Moved:
    """A thread that continues in another sandbox."""

    thread: str
    source: str
    """The kind of sandbox that it was in."""
    target: str
    problems: tuple[str, ...] = ()
    """Inputs that could not be carried along, one sentence each."""
    differs: tuple[str, ...] = ()
    """What will not be as it was there: other versions, and what is made again or lost because of them."""


async def move(thread: str, to: str, *, settings: Settings | None = None, lossy: bool = False) -> Moved:
    """Continue a thread in a sandbox of another kind.

    Its inputs are carried there now, and its snapshot is restored there once, to see what does not come back with the
    Python and the packages of that sandbox: what can be made again will be with the next cell, and a thread that would
    lose variables is not moved. The sandbox that it was in stays as it is, stopped.

    Args:
        thread: Its full id.
        to: The kind: `local`, `docker`, `daytona`.
        settings: Where threads are kept; None reads the environment.
        lossy: Move it although variables would be lost.

    Raises:
        ThreadError: there is no such thread or kind, somebody is working on it, the other sandbox cannot be had, or
            variables would be lost.
    """
    settings = await settings_or_default(settings)
    async with open_graph(settings) as (graph, sandboxes), lock_thread(thread, settings):
        if to not in sandboxes.kinds:
            raise ThreadError(f"There is no sandbox of kind {to!r}; there is: {', '.join(sandboxes.kinds)}.")
        now = await graph.aget_state({"configurable": {"thread_id": thread}})
        if now.created_at is None:
            raise ThreadError(f"There is no thread {thread}; `stepwell threads` lists them.")
        state = cast("State", now.values)
        problems: list[str] = []
        async with open_checkpoints(settings) as saver:
            before = stored_context(await saver.newest_metadata(thread, CONTEXT_KEY))
            source = state["sandbox"]["kind"] if state.get("sandbox") else before.sandbox
            differs: list[str] = []
            if source != to and (state.get("inputs") or state.get("cells")):
                snapshots = SnapshotStore(make_blobs(settings))
                try:
                    sandbox = await sandboxes.open(to, thread)
                    problems = await supply_inputs(sandbox, state, snapshots, sandboxes.open)
                    limit = before.max_rebuild_seconds
                    receipt = await preview_restore(sandbox, state, snapshots, rebuild_seconds=limit)
                except SandboxError as error:
                    raise ThreadError(f"Thread {thread} cannot move to {to}: {error}") from None
                if receipt is not None:
                    if receipt.lost and not lossy:
                        raise ThreadError(f"Thread {thread} was not moved: {_lost_there(receipt, to)} {ALL_THE_SAME}")
                    differs = _different_there(receipt, to)
            knobs = changed(before, {"sandbox": to})
            await saver.change_metadata(thread, CONTEXT_KEY, knobs.model_dump_json())
    return Moved(thread, source, to, tuple(problems), tuple(differs))


def _lost_there(receipt: Receipt, to: str) -> str:
    """What a sandbox of a kind would lose, in a sentence."""
    event = receipt.event()
    versions = f" ({', '.join(event.versions)})" if event.versions else ""
    return f"in a sandbox of kind {to} these variables cannot be brought back{versions}: {', '.join(event.lost)}."


def _different_there(receipt: Receipt, to: str) -> list[str]:
    """What will differ there, one sentence each."""
    event = receipt.event()
    return [
        *([f"Other versions in a sandbox of kind {to}: {', '.join(event.versions)}."] if event.versions else []),
        *([f"Made again with the next cell: {', '.join(event.rebuilt)}."] if event.rebuilt else []),
        *([f"Lost: {', '.join(event.lost)}."] if event.lost else []),
    ]
