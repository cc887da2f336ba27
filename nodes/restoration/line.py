"""Which cells the variables and files of a step stand on.

A cell starts from the step before it, or from the earlier one that it goes back to. What lies between is left aside:
it stays in State, in prompts and in the tree, and can be read and gone back to, but nothing that comes later stands on
it.
"""

import hashlib
from collections.abc import Sequence

from graph.state import Cell, SandboxRef, State

TOOK_EFFECT = ("ok", "error", "timeout")
"""Cells that left something; after any other, things are as before it."""
BEGINNING = "beginning"
"""Names the state of a thread that has run nothing: inputs only."""


def next_state_id(snapshot: str, number: int, code: str) -> str:
    """Name the state after a cell that has no snapshot: a hash over the state before it and the cell."""
    return hashlib.sha256(f"{snapshot}\n{number}\n{code}".encode()).hexdigest()[:32]


def line_of(cells: Sequence[Cell]) -> list[Cell]:
    """The cells that the last one stands on and itself, in their order, whether they took effect or not."""
    line: list[Cell] = []
    before = len(cells) and cells[-1]["number"]
    for cell in reversed(cells):
        if cell["number"] <= before:
            line.append(cell)
            before = cell.get("back_to", cell["number"] - 1)
    return line[::-1]


def cells_in_effect(cells: Sequence[Cell]) -> list[Cell]:
    """Those of `line_of` that left something."""
    return [cell for cell in line_of(cells) if cell["status"] in TOOK_EFFECT]


def left_aside(cells: Sequence[Cell]) -> set[int]:
    """The numbers of the cells that the last one does not stand on."""
    return {cell["number"] for cell in cells} - {cell["number"] for cell in line_of(cells)}


def state_id_after(cells: Sequence[Cell]) -> str:
    """What names the state after these cells, as `execute` would."""
    name = BEGINNING
    for cell in cells_in_effect(cells):
        name = cell.get("snapshot") or next_state_id(name, cell["number"], cell["code"])
    return name


def start_of_cell(state: State) -> State:
    """State as the first pending cell starts from it, as far as a restore looks at it."""
    back_to = state["pending"][0].get("back_to")
    if back_to is None:
        return state
    cells = [cell for cell in state.get("cells") or [] if cell["number"] <= back_to]
    at = SandboxRef(kind=state["sandbox"]["kind"], id=state["sandbox"]["id"], snapshot=state_id_after(cells))
    return State(**{**state, "cells": cells, "sandbox": at})
