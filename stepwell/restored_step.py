"""A Python session at a step: restored into a sandbox of its own, so that nothing of the thread changes."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from graph.context import stored_context
from graph.functions.host_functions import FunctionTable
from graph.functions.registry import HostFunction, functions_by_name
from graph.settings import Settings, settings_or_default
from graph.state import State
from graph.wiring import make_blobs
from nodes.calls.recorded_calls import RepeatableCalls
from nodes.cell_magics.magics import python_of
from nodes.restoration.earlier_steps import EarlierSteps
from nodes.restoration.receipt import Receipt
from nodes.restoration.restore import restore_session
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Sandbox
from sandboxes.functions import Functions
from sandboxes.results import CellResult, Streamed, WorkspaceFile
from stepwell.ephemeral import ephemeral_sandbox
from stepwell.errors import ThreadError
from stepwell.runs import CONTEXT_KEY
from stepwell.steps import parse_step_name, state_at_step
from stepwell.threads import find_thread, open_graph, saver_of

MAX_FETCHED = 1 << 40
"""The most bytes of a file that a user takes out."""


class RestoredStep:
    """A live session with the variables and files of a step; made by `at`.

    Args:
        thread: The thread's full id.
        step: The step's name.
        sandbox: A sandbox of its own.
        state: The state at the step.
        snapshots: Where its snapshots are.
        folder: For what is taken out of it.
        timeout: Seconds that a cell may take.
        functions: What code in it can call.
    """

    def __init__(
        self,
        thread: str,
        step: str,
        sandbox: Sandbox,
        state: State,
        snapshots: SnapshotStore,
        folder: Path,
        timeout: float,
        functions: Functions | None = None,
    ) -> None:
        self.thread = thread
        self.step = step
        self.state = state
        self.folder = folder
        self.receipt = Receipt(cells=0, seconds=0.0)
        """What came back."""
        self._sandbox = sandbox
        self._snapshots = snapshots
        self._timeout = timeout
        self._functions = functions
        self._filled = False
        self._number = len(state.get("cells") or [])

    async def restore(self) -> Receipt:
        """Bring the session back to the step, whatever was done in it.

        Raises:
            SandboxError: the sandbox cannot be had.
        """
        await self._sandbox.reset()
        receipt = await restore_session(self._sandbox, self.state, self._snapshots, functions=self._functions)
        self.receipt = receipt or Receipt(cells=0, seconds=0.0)
        self._number = len(self.state.get("cells") or [])
        self._filled = bool(self.receipt.restored or self.receipt.cells)
        return self.receipt

    async def run(
        self, code: str, *, timeout: float | None = None, on_output: Callable[[Streamed], None] | None = None
    ) -> CellResult:
        """Run a cell: Python, with the value of a last expression shown; `%%sql`, `%%bash`, `%%r` and `%%js` are, too.

        Args:
            code: What to run.
            timeout: Seconds until it is interrupted; None: as long as a cell of the thread may take.
            on_output: Called with what it prints and shows, while it runs.

        Returns:
            What it did. Errors of the code are data in it. After `killed` the variables are gone: `restore` brings them
            back. Cancelling the task interrupts the cell and keeps the session.

        Raises:
            SandboxError: the sandbox failed, not the code.
        """
        self._number += 1
        result = await self._sandbox.run(
            python_of(code),
            number=self._number,
            timeout=self._timeout if timeout is None else timeout,
            on_output=on_output,
            functions=EarlierSteps(self._functions, self._sandbox, self.state.get("cells") or [], self._snapshots),
        )
        self._filled = bool(result.namespace)
        return result

    async def survived(self) -> bool:
        """Whether the variables are still there after an interrupted cell that may have had to be killed."""
        return not self._filled or bool((await self._sandbox.run("", number=0, timeout=self._timeout)).namespace)

    async def files(self, folder: str = ".") -> list[WorkspaceFile]:
        """The files below a folder of the session's workspace."""
        return await self._sandbox.files(folder)

    async def fetch(self, path: str, target: Path, *, max_bytes: int = MAX_FETCHED) -> Path:
        """Copy a file of the session's workspace to this machine.

        Args:
            path: The file.
            target: Where it goes.
            max_bytes: The most that it may have.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the path leaves the workspace.
        """
        await self._sandbox.fetch(path, target, max_bytes=max_bytes)
        return target


@asynccontextmanager
async def at(
    name: str,
    *,
    settings: Settings | None = None,
    functions: Sequence[Callable[..., Any] | HostFunction] = (),
) -> AsyncIterator[RestoredStep]:
    """A session at a step, for the time of the block.

    Args:
        name: `THREAD@STEP`, or a thread for where it is now.
        settings: Where threads are kept; None reads the environment.
        functions: What code in it can call, if it can be repeated.

    Raises:
        FunctionError: one of the functions cannot be offered.
        ThreadError: there is no such thread or step.
        SandboxError: the sandbox cannot be had.
    """
    offer = FunctionTable(functions_by_name(functions))
    settings = await settings_or_default(settings)
    prefix, step = parse_step_name(name)
    thread = await find_thread(prefix, settings)
    async with open_graph(settings) as (graph, sandboxes):
        place = await state_at_step(graph, thread, step)
        context = stored_context(await saver_of(graph).newest_metadata(thread, CONTEXT_KEY))
        if place.state["sandbox"]["kind"] not in sandboxes.kinds:
            raise ThreadError(
                f"The sandbox of thread {thread} is of kind {place.state['sandbox']['kind']!r}, "
                f"which cannot be opened here; there is: {', '.join(sandboxes.kinds)}."
            )
        async with ephemeral_sandbox(settings, sandboxes, place.state) as there:
            session = RestoredStep(
                thread,
                place.step.name,
                there.sandbox,
                place.state,
                SnapshotStore(make_blobs(settings)),
                there.folder,
                context.cell_timeout,
                RepeatableCalls(offer, timeout=context.call_timeout),
            )
            await session.restore()
            yield session
