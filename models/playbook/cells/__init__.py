"""The cells that the playbook runs, as an analyst would type them: plain code in strings, put together here.

They share a few names in the session: `df` (the main table), `findings` (what was found, in sentences), `note`, `show`
and `label` (small functions), and `numbers`, `groups` and `dates` (which columns hold what).
"""

import re
from dataclasses import dataclass
from textwrap import indent

from models.playbook.cells import loading, tables, text

LEAVE_OUT = """
left_out = [c for c in [*numbers, *groups, *dates] if repr(c) in error_text]
if left_out:
    note("Skipped", f"{', '.join(map(repr, left_out[:5]))}: a step failed on this.")
numbers, groups, dates = ([c for c in names if c not in left_out] for names in (numbers, groups, dates))
"""
"""In front of a second try: without the columns that the error of the first one named."""

GUARDED_FIGURE = """
try:
    FIGURE
except Exception as problem:
    print(f"The figure could not be drawn: {type(problem).__name__}.")
    plt.close("all")
"""
IMPORTS = {
    "Counter": "from collections import Counter",
    "Path": "from pathlib import Path",
    "combinations": "from itertools import combinations",
    "np": "import numpy as np",
    "pd": "import pandas as pd",
    "plt": "import matplotlib.pyplot as plt",
    "re": "import re",
}
"""Each cell has those that it uses: an earlier one may be of another version of the playbook."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One thing that the playbook does: a cell, and the one for when that failed."""

    purpose: str
    body: str
    second: str = ""
    """Empty: there is no second try."""

    def purpose_of(self, *, again: bool) -> str:
        """What the cell says that it is for; it names the stage."""
        return f"{self.purpose}, second try" if again else self.purpose

    def code(self, given: str = "", *, again: bool = False) -> str:
        """The cell's source; `given` are the assignments that its body expects."""
        body = self.second if again and self.second else self.body
        used = [line for name, line in IMPORTS.items() if re.search(rf"\b{name}[.(,]", given + body)]
        parts = (f"# {self.purpose_of(again=again)}", *used, given, body)
        return "\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def _on_columns(purpose: str, body: str, figure: str = "") -> Stage:
    """A stage that is tried again without the columns that make trouble, and if need be without its figure."""
    drawn = GUARDED_FIGURE.replace("    FIGURE", indent(figure.strip("\n"), "    ")) if figure else ""
    return Stage(purpose, body + figure, LEAVE_OUT + body + drawn)


LOADED = loading.SPOKEN + loading.LOAD
STAGES: dict[str, Stage] = {
    "load": Stage("Load the data and look at its shape and types", LOADED, LOADED),
    "restart": Stage("Load the data again after the session broke off", LOADED, LOADED),
    "clean": Stage(
        "Clean the columns: text that holds numbers or dates",
        loading.CLEAN + loading.STRICT_DATES,
        loading.CLEAN + loading.TOLERANT_DATES,
    ),
    "quality": Stage(
        "Count missing values and duplicate rows, and sort the columns by what they hold", loading.QUALITY
    ),
    "distributions": _on_columns(
        "Look at how the values are distributed", tables.DISTRIBUTIONS, tables.DISTRIBUTIONS_FIGURE
    ),
    "relations": _on_columns("Look for columns that go together", tables.RELATIONS, tables.RELATIONS_FIGURE),
    "groups": _on_columns("Look for groups that differ", tables.GROUPS, tables.GROUPS_FIGURE),
    "trends": _on_columns("Look for trends and seasons", tables.TRENDS, tables.TRENDS_FIGURE),
    "outliers": _on_columns("Look for values far from the rest", tables.OUTLIERS),
    "write": Stage("Write the summary file", tables.PAGES + tables.WRITE),
    "list": Stage("List all findings", tables.LIST),
    "focus": Stage("Describe the columns that the question names", loading.SPOKEN + tables.FOCUS),
    "relate": _on_columns("Relate these columns to the others", tables.RELATE, tables.RELATE_FIGURE),
    "close": Stage("Write the tables of this look", tables.PAGES + tables.CLOSE),
    "read": Stage("Read the text", text.READ),
    "measure": Stage("Measure the text", text.MEASURE),
    "words": Stage("Count the words", text.WORDS + text.WORDS_FIGURE, text.WORDS),
    "contents": Stage("Look at what the text contains", text.CONTENTS),
    "write_text": Stage("Write the word list", text.WRITE),
}
"""Every cell that the playbook knows, by a short name."""

STAGE_OF = {stage.purpose_of(again=again): name for name, stage in STAGES.items() for again in (False, True)}
"""The stage that a cell's purpose tells of."""
