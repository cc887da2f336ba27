"""Makers of State for tests of nodes: a thread in the middle of a turn."""

from typing import Any

from graph.state import Cell, FileChange, Input, PlanStep, SandboxRef, State


def make_cell(number: int, observation: str = "", **changes: Any) -> Cell:
    """A cell that ended well."""
    cell = Cell(
        number=number,
        turn=1,
        step=0,
        purpose=f"purpose {number}",
        thought="",
        code=f"code_{number}()",
        status="ok",
        observation=observation or f"cell {number} · ok · 0.01 s\nprinted {number}",
        error="",
        seconds=0.01,
        files=[],
        figures=[],
    )
    return Cell(**{**cell, **changes})  # type: ignore[typeddict-item]


def make_input(path: str = "inputs/sales.csv", abstract: str = "", problem: str = "") -> Input:
    """A readable input."""
    return Input(
        path=path,
        source=f"/data/{path.rpartition('/')[2]}",
        size=10,
        sha256="0" * 64,
        abstract=abstract or f"### {path}\nCSV, 3 columns",
        problem=problem,
    )


def make_file(path: str, change: str = "created") -> FileChange:
    """A file that a cell made."""
    return FileChange(path=path, change=change, size=3)  # type: ignore[typeddict-item]


def make_state(**changes: Any) -> State:
    """The first turn of a thread."""
    state = State(
        question="How many units?",
        turn=1,
        turns=[],
        plan=[PlanStep(text="Count", done=True)],
        cells=[],
        namespace=[],
        inputs=[],
        sandbox=SandboxRef(kind="fake", id="fake", snapshot="beginning"),
        pending=[],
        proposal="",
        skipped=[],
        review=None,
        usage={},
    )
    return State(**{**state, **changes})  # type: ignore[typeddict-item]
