"""Steps as people name them, `THREAD@NUMBER`, and the states at them."""

from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot

from stepwell.thread_error import ThreadError
from stepwell.threads import Graph

RUNNING = (("generate",), ("execute",))
"""What comes next in the middle of a turn."""


def step_named(name: str) -> tuple[str, int | None]:
    """Take `THREAD@STEP` apart; without `@STEP` the step is None.

    Raises:
        ThreadError: what follows the `@` is no number.
    """
    thread, at, step = name.partition("@")
    if at and not step.isdecimal():
        raise ThreadError(f"{name!r} names no step: give THREAD@NUMBER, such as last@3.")
    return thread, int(step) if at else None


async def at_step(graph: Graph, thread: str, step: int | None) -> StateSnapshot:
    """The state in the thread's own line right after this many cells had run; None: where it is now.

    Raises:
        ThreadError: there is no such thread or step.
    """
    config: RunnableConfig = {"configurable": {"thread_id": thread}}
    head = await graph.aget_state(config)
    if head.created_at is None:
        raise ThreadError(f"There is no thread {thread}; `stepwell threads` lists them.")
    if not head.values.get("sandbox"):
        raise ThreadError(f"Thread {thread} has no step yet: it stopped before its plan.")
    cells = len(head.values.get("cells") or [])
    if step is None:
        step = cells
        if not head.tasks or head.next in RUNNING:
            return head
    if not 0 <= step <= cells:
        raise ThreadError(f"Thread {thread} has no step {step}; it has {cells} (`stepwell log {thread}`).")
    wanted, found = _id(head.config), None
    async for snapshot in graph.aget_state_history(config):
        if _id(snapshot.config) != wanted:
            continue  # of another branch
        wanted = _id(snapshot.parent_config)
        ran = len(snapshot.values.get("cells") or [])
        if ran < step:
            break
        if ran == step and snapshot.next in RUNNING and not snapshot.values.get("pending"):
            found = snapshot  # the oldest of them is the one right after the cell
    if found is None:
        raise ThreadError(f"Step {step} of thread {thread} cannot be found in its checkpoints.")
    return found


def _id(config: RunnableConfig | None) -> str:
    return str((config or {}).get("configurable", {}).get("checkpoint_id", ""))
