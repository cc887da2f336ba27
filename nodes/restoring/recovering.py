"""After a cell that killed its session: the variables and files from before it are brought back at once."""

import time
from dataclasses import replace

from langgraph.runtime import Runtime

from graph.context import Context
from graph.functions.host_functions import HostFunctions
from graph.state import State
from nodes.restoring.catching_up import caught_up
from nodes.restoring.snapshots import Snapshots
from sandboxes.base import Sandbox, SandboxError
from sandboxes.results import CellResult

LOST = "; variables are lost"
"""How the note of a cell ends whose session is gone."""


async def recovered(
    result: CellResult,
    sandbox: Sandbox,
    state: State,
    runtime: Runtime[Context],
    snapshots: Snapshots,
    functions: HostFunctions,
) -> tuple[CellResult, list[str]]:
    """Bring a session back that a cell has killed, unless a frozen copy of it went on already.

    A sandbox that cannot be had now is left to the next cell, which tries again.

    Returns:
        The result, which says what came back and how long that took, and what the model must be told.
    """
    if result.status != "killed" or result.recovered == "copy":
        return result, []
    began = time.monotonic()
    try:
        receipt = await caught_up(sandbox, state, runtime, snapshots, functions)
    except SandboxError:
        return result, []
    seconds = result.recovery_seconds + time.monotonic() - began
    how = f"variables and files are as before the cell, from its snapshot, after {1e3 * seconds:.0f} ms"
    note = f"{result.note.removesuffix(LOST)}; {how}"
    return replace(result, recovered="snapshot", recovery_seconds=seconds, note=note), receipt.notices
