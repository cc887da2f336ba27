"""What a cell reads of the steps before it: finds a step's snapshot in State, and has its blobs laid out.

A step's number is that of its cell in the line that State holds, as prompts and `stepwell log` show it. Cells of other
branches and threads are not in that list, so there is no way to theirs. The host reads nothing of a snapshot but the
names of its blobs, and lays out only what the step's own manifest names.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence

from graph.checkpoints.given_up import NONE, GivenUp
from graph.state import Cell
from nodes.restoration.given_up_steps import readable_steps
from nodes.restoration.line import cells_in_effect
from nodes.restoration.manifests import NotRestoredError
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Sandbox, SandboxError
from sandboxes.functions import Call, Description, Functions, Raised, Returned
from storage.blobs import NAME, BlobError, BlobMissingError

LENGTH = 64
"""Characters of a blob's name."""
MAX_NAMES = 100_000
"""Blobs that are asked for at a time: some 100 GB."""
STEP_ERROR = "StepError"


class EarlierSteps:
    """The functions that a cell can call, and the steps that it can read.

    Args:
        functions: The functions; None: there are none.
        sandbox: Where the cell runs.
        cells: Those of the thread's line that lie before it.
        snapshots: Where their snapshots are.
        given_up: Those that the thread does without.
    """

    def __init__(
        self,
        functions: Functions | None,
        sandbox: Sandbox,
        cells: Sequence[Cell],
        snapshots: SnapshotStore,
        given_up: Mapping[str, GivenUp] = NONE,
    ) -> None:
        self._functions = functions
        self._sandbox = sandbox
        self._cells = cells
        self._snapshots = snapshots
        self._given_up = given_up

    @property
    def descriptions(self) -> Sequence[Description]:
        """The functions."""
        return self._functions.descriptions if self._functions is not None else []

    async def call(self, call: Call) -> Returned | Raised:
        """Call a function; see `Functions.call`."""
        if self._functions is None:
            return Raised("it is not offered")
        return await self._functions.call(call)

    async def read_step(self, request: bytes) -> Returned | Raised:
        """Lay out the manifest of a step, or blobs that it names.

        Args:
            request: The step's number; after a line break the names of blobs, one directly after the other.
        """
        number, _, asked = request.partition(b"\n")
        if not number.isdigit() or len(number) > 9 or len(asked) > MAX_NAMES * LENGTH:
            return Raised(f"There is no such step; {self._known()}.", STEP_ERROR)
        step = int(number)
        snapshot = self._snapshot_of(step)
        if isinstance(snapshot, Raised):
            return snapshot
        try:
            names = await asyncio.to_thread(_names, asked)
            await self._snapshots.lay_out_parts(self._sandbox, snapshot, names)
        except (BlobMissingError, NotRestoredError, ValueError) as error:
            return Raised(f"The snapshot of step {step} cannot be read any more: {error}", STEP_ERROR)
        except (BlobError, SandboxError) as error:
            return Raised(f"Step {step} cannot be read now: {error}", "OSError")
        return Returned(json.dumps({"snapshot": snapshot}).encode())

    def _snapshot_of(self, step: int) -> str | Raised:
        """The snapshot of a step; or why there is none."""
        if step and (not self._cells or step > self._cells[-1]["number"]):
            return Raised(f"There is no step {step} before this cell; {self._known()}.", STEP_ERROR)
        before = cells_in_effect([cell for cell in self._cells if cell["number"] <= step])
        if not before:
            return Raised(f"Step {step} has no variables: no cell had taken effect by then.", STEP_ERROR)
        cell = before[-1]
        snapshot = cell.get("snapshot", "")
        if (given := self._given_up.get(snapshot)) is not None:
            near = readable_steps(self._cells, cell["number"], self._given_up)
            return Raised(f"The snapshot of step {cell['number']} was {given.text}; {near}.", STEP_ERROR)
        if snapshot:
            return snapshot
        return Raised(f"Step {cell['number']} was not kept: it has no snapshot, so it cannot be read.", STEP_ERROR)

    def _known(self) -> str:
        last = self._cells[-1]["number"] if self._cells else 0
        return f"the last one is step {last}" if last else "this is the first cell"


def _names(asked: bytes) -> list[str]:
    """Names of blobs that stand one directly after the other.

    Raises:
        ValueError: they are none.
    """
    text = asked.decode("ascii", "replace")
    names = [text[at : at + LENGTH] for at in range(0, len(text), LENGTH)]
    if not all(map(NAME.fullmatch, names)):
        raise ValueError("what was asked for are no names of blobs")
    return names
