"""Sessions that are hard to bring back, each with probes: what is asked of it once it is in another process.

A session is the code of its cells and its probes, one a line: an expression, or statements and, behind `;;`, an
expression. The same probes are asked of the session that went on living; the answers must be equal, or the receipt must
name what is not there. Cells are separated by lines of `# %%`.
"""

import textwrap
from dataclasses import dataclass

CELL = "# %%\n"
RAISES = "# raises\n"
"""How a cell begins that fails half way."""


@dataclass(frozen=True)
class HardSession:
    """One session."""

    cells: tuple[str, ...]
    probes: tuple[str, ...]
    named: tuple[str, ...] = ()
    """What may be lost, as long as the receipt names it."""
    known: tuple[str, ...] = ()
    """Probes whose answers differ without a word; docs/restores.md has each of them."""


def session(cells: str, probes: str, *, named: str = "", known: str = "") -> HardSession:
    """A session out of blocks of text."""
    return HardSession(
        tuple(textwrap.dedent(cells).strip("\n").split(CELL)),
        tuple(line.strip() for line in probes.strip().splitlines()),
        tuple(named.split()),
        tuple(line.strip() for line in known.strip().splitlines()),
    )
