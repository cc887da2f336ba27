"""The sessions that snapshots are measured with: cells, what they read, and what is asked of them afterwards.

A session is written as one text. A line `# %%` begins a cell. After `# %% ask` each line is a probe: an expression that
is evaluated in the live session and in the restored one, or a statement, which has no answer but an effect on the
probes after it. No cell draws its numbers from anything but a seed.
"""

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path


@dataclass(frozen=True)
class Workload:
    """One session."""

    name: str
    what: str
    """What is in it, for the table."""
    modules: tuple[str, ...]
    """What has been imported before a restore is timed."""
    rows: int
    """`rows` in its first cell, in a full run."""
    quick_rows: int
    text: str
    rounds: int = 1
    """How often a full run repeats it."""
    data: Callable[[Path, int], None] | None = None
    """Writes what the cells read into a folder `inputs`, for so many rows."""

    @cached_property
    def _parts(self) -> tuple[list[str], list[str]]:
        cells, _, probes = textwrap.dedent(self.text).partition("# %% ask\n")
        return (
            [cell.strip() for cell in cells.split("# %%\n") if cell.strip()],
            [line for line in probes.splitlines() if line.strip()],
        )

    def cells(self, rows: int) -> list[str]:
        """Its cells, the first one setting `rows`."""
        return [f"rows = {rows}", *self._parts[0]]

    @property
    def probes(self) -> list[str]:
        """What is asked of it after the last cell."""
        return self._parts[1]
