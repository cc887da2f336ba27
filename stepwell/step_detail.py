"""One step as it can be looked at without restoring it: code, output, variables, files, what its snapshot kept."""

from dataclasses import dataclass
from typing import Any

from graph.checkpoints.step_tree import Step
from graph.settings import Settings, settings_or_default
from graph.state import Cell, Input, LostName, State, Variable
from graph.wiring import make_blobs
from nodes.restoration.line import cells_in_effect
from nodes.restoration.manifests import NotRestoredError
from stepwell.comparison import files_by_cells
from stepwell.snapshot_manifest import SnapshotManifest, read_manifest
from stepwell.steps import answer_after, parse_step_name, state_at_step
from stepwell.threads import find_thread, open_graph
from storage.blobs import Blobs


@dataclass(frozen=True, slots=True)
class StepDetail:
    """A step of a thread."""

    thread: str
    step: Step
    namespace: tuple[Variable, ...]
    """The variables after it; empty where the thread keeps no table of them (a fork's steps before its beginning)."""
    names: tuple[str, ...]
    """The names of the variables in its snapshot."""
    files: dict[str, int]
    """The files of the workspace, with their sizes in bytes; inputs aside."""
    inputs: tuple[Input, ...]
    snapshot: str
    """The snapshot that it comes back from; empty when there is none that can be used."""
    snapshot_bytes: int
    """What that holds in all."""
    added_bytes: int
    """What it added to the store."""
    lost: tuple[LostName, ...]
    """Variables that exist after it and that no snapshot can keep."""
    comes_back: str
    """How the session would be brought here, in a sentence."""
    python: str
    packages: dict[str, str]
    """What the snapshot was taken with."""
    answer: str
    """What was answered after it, before the next cell."""

    def as_json(self) -> dict[str, Any]:
        """The same in JSON shapes."""
        cell: dict[str, Any] = dict(self.step.cell or {})
        return {
            "thread": self.thread,
            "id": self.step.name,
            "branch": self.step.branch,
            "parent": self.step.parent,
            "head": self.step.head,
            "when": self.step.when.isoformat() if self.step.when else None,
            "question": self.step.question,
            **cell,
            "namespace": list(self.namespace),
            "names": list(self.names),
            "workspace": self.files,
            "inputs": [taken["path"] for taken in self.inputs],
            "snapshot": self.snapshot,
            "snapshot_bytes": self.snapshot_bytes,
            "added_bytes": self.added_bytes,
            "lost": list(self.lost),
            "comes_back": self.comes_back,
            "python": self.python,
            "packages": self.packages,
            "answer": self.answer,
        }


async def show_step(name: str, settings: Settings | None = None) -> StepDetail:
    """Read a step.

    Args:
        name: `THREAD@STEP`; without a step: where the thread is now.
        settings: Where threads are kept; None reads the environment.

    Raises:
        ThreadError: there is no such thread or step.
    """
    settings = await settings_or_default(settings)
    prefix, step = parse_step_name(name)
    thread = await find_thread(prefix, settings)
    async with open_graph(settings) as (graph, _):
        place = await state_at_step(graph, thread, step)
        answer = await answer_after(graph, place)
    state = place.state
    kept, comes_back = await _kept(state, make_blobs(settings))
    cell = place.step.cell
    return StepDetail(
        thread=thread,
        step=place.step,
        namespace=tuple(state.get("namespace") or []),
        names=kept.names if kept is not None else (),
        files={path: file.size for path, file in kept.files.items()} if kept is not None else files_by_cells(state),
        inputs=tuple(state.get("inputs") or []),
        snapshot=state["sandbox"]["snapshot"] if kept is not None else "",
        snapshot_bytes=kept.bytes if kept is not None else 0,
        added_bytes=cell.get("snapshot_bytes", 0) if cell is not None else 0,
        lost=tuple(cell.get("lost") or []) if cell is not None else (),
        comes_back=comes_back,
        python=kept.python if kept is not None else "",
        packages=kept.packages if kept is not None else {},
        answer=answer,
    )


async def _kept(state: State, blobs: Blobs) -> tuple[SnapshotManifest | None, str]:
    """The snapshot that a state names, and how it comes back."""
    cells = cells_in_effect(state.get("cells") or [])
    if not cells:
        return None, "Nothing has to be brought back: no cell has taken effect yet."
    problem = "It has no snapshot"
    if cells[-1].get("snapshot"):
        try:
            kept = await read_manifest(blobs, cells[-1]["snapshot"])
        except NotRestoredError as error:
            problem = f"Its snapshot cannot be used ({str(error).rstrip('.')})"
        else:
            if not kept.missing:
                return kept, "It comes back from its snapshot."
            lacks = f"{kept.missing} {'blob is' if kept.missing == 1 else 'blobs are'} missing"
            problem = f"Its snapshot cannot be used ({lacks})"
    return None, f"{problem}; {_again(cells)}."


def _again(cells: list[Cell]) -> str:
    for back, cell in enumerate(reversed(cells)):
        if back and cell.get("snapshot"):
            again = "1 cell runs again" if back == 1 else f"{back} cells run again"
            return f"{again}, from the snapshot after cell {cell['number']}"
    return "all cells run again, from the beginning"
