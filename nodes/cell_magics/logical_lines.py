"""Where statements begin in a cell that is no Python as it stands: outside of texts and of brackets."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

MARK = re.compile(r"\\.|\"\"\"|'''|[\"'#()\[\]{}]", re.DOTALL)


def logical_lines(source: str, is_magic: Callable[[str], bool]) -> Iterator[tuple[str, bool]]:
    """The lines of a cell, each with whether a statement begins there.

    Args:
        source: The cell.
        is_magic: Whether a line, of which a statement could begin with, is IPython's: it goes on behind a backslash.
    """
    lines = source.split("\n")
    state = _Scan()
    place = 0
    while place < len(lines):
        line = lines[place]
        place += 1
        if not state.fresh:
            state.read(line)
            yield line, False
            continue
        if is_magic(line.strip()):
            while line.endswith("\\") and place < len(lines):
                line = f"{line[:-1].rstrip()} {lines[place].strip()}"
                place += 1
            yield line, True
            continue
        state.read(line)
        yield line, True


@dataclass(slots=True)
class _Scan:
    """Where in Python code a line ends: in a text, in brackets, or where a statement is complete."""

    quotes: str = ""
    depth: int = 0
    goes_on: bool = False

    @property
    def fresh(self) -> bool:
        """Whether the next line begins a statement."""
        return not (self.quotes or self.depth or self.goes_on)

    def read(self, line: str) -> None:
        """Read on to the end of a line."""
        commented = False
        for match in MARK.finditer(line):
            found = match[0]
            if self.quotes:
                if found == self.quotes or (len(self.quotes) == 1 and found == self.quotes * 3):
                    self.quotes = ""
            elif found == "#":
                commented = True
                break
            elif found[0] in "\"'":
                self.quotes = found
            elif found in "([{":
                self.depth += 1
            elif found in ")]}":
                self.depth = max(0, self.depth - 1)
        self.goes_on = line.endswith("\\") and len(self.quotes) != 3 and not commented
        if len(self.quotes) == 1 and not self.goes_on:
            self.quotes = ""  # a text that is not closed: the line is no Python, and the next one begins anew
