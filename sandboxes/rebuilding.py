"""The messages between host and sandbox for recomputing lost variables by running cells again."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class PastCell:
    """A cell that took effect, in the order of the thread."""

    number: int
    code: str
    status: str
    seconds: float
    snapshot: str = ""
    """The snapshot after it; empty when there is none that can be used."""
    reached: tuple[str, ...] = ()
    """Its side effects outside the sandbox; such a cell is not run again automatically."""

    def as_json(self) -> dict[str, Any]:
        """As JSON for the sandbox."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class RebuildPlan:
    """Which cells have to run for lost variables, as the sandbox reads it off their code and their snapshots."""

    names: tuple[str, ...] = ()
    """The variables that can be made again."""
    base: int = 0
    """The cell whose snapshot the work begins at; 0: at the inputs alone."""
    cells: tuple[int, ...] = ()
    """The cells that have to run, in order."""
    before: tuple[int, ...] = ()
    """For each of them, the cell after which it had run; 0: it was the first."""
    own: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """For each variable, the cells among them that it needs itself."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Why the other variables cannot be made again."""
    since: Mapping[str, int] = field(default_factory=dict)
    """For each variable, the cell after which it was lost, or that made what cannot be loaded."""


@dataclass(frozen=True, slots=True)
class RebuildOrder:
    """What a sandbox is asked to rebuild."""

    snapshot: str
    """Where the session is to be in the end."""
    base: str
    """The snapshot to begin at; empty: at the inputs alone."""
    cells: tuple[tuple[int, str, str], ...]
    """The cells to run: number, code, and the snapshot whose files and settings it finds; empty: those that the cell
    before it in this list leaves."""
    types: Mapping[str, str]
    """The variables to make, with their types."""
    seconds: float
    """How long the cells may run together."""

    def as_json(self) -> dict[str, Any]:
        """As JSON for the sandbox."""
        cells = [{"number": number, "code": code, "before": before} for number, code, before in self.cells]
        return {
            "snapshot": self.snapshot,
            "base": self.base,
            "cells": cells,
            "names": dict(self.types),
            "seconds": self.seconds,
        }


@dataclass(frozen=True, slots=True)
class BrokenOff:
    """Lost variables could not be made again; the session that tried it is gone."""

    reason: str
    cell: int = 0
    """The cell that failed; 0 when it was none."""
