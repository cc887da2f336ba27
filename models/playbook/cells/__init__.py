"""The cells that the playbook runs, as an analyst would type them: plain code in strings, put together here.

A cell is a purpose (its first line, a comment), what the host fills in (paths, the question), and a body. The bodies
share a few names in the sandbox's namespace: `df` (the main table), `findings` (what was found, in sentences),
`note`, `show`, `label` (small functions), and `numbers`, `groups`, `dates` (which columns are what).
"""

from dataclasses import dataclass
from textwrap import indent

from models.playbook.cells import (
    follow_up,
    loading,
    looking,
    testing,
    text,
    writing,
)


@dataclass(frozen=True, slots=True)
class Stage:
    """One thing that the playbook does, in its first form and in the one for when that failed."""

    purpose: str
    body: str
    figure: str = ""
    """Code that draws; apart, so that a figure that fails does not take the numbers with it."""
    mended_purpose: str = ""
    mended_body: str = ""
    """Empty: the same body, after the columns that make trouble were left out."""

    def code(self, given: str = "", *, mended: bool = False, error: str = "") -> str:
        """The cell's source.

        Args:
            given: Assignments that the body expects.
            mended: Whether this is the second try.
            error: What ended the first try; columns that it names are left out.
        """
        if not mended:
            return _join(f"# {self.purpose}", given, self.body, self.figure)
        if self.mended_body:
            return _join(f"# {self.mended_purpose}", given, self.mended_body)
        figure = GUARDED_FIGURE.replace("    FIGURE", indent(self.figure.strip(), "    ")) if self.figure else ""
        return _join(
            f"# {self.purpose_of(mended=True)}", given, f"error_text = {error[:300]!r}", LEAVE_OUT, self.body, figure
        )

    def purpose_of(self, *, mended: bool) -> str:
        """What the cell says that it is for."""
        return (self.mended_purpose or f"{self.purpose}, without what failed") if mended else self.purpose


def _join(*parts: str) -> str:
    return "\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


GUARDED_FIGURE = """
try:
    FIGURE
except Exception as problem:
    print(f"The figure could not be drawn: {type(problem).__name__}.")
    plt.close("all")
"""

LEAVE_OUT = '''
import pandas as pd


def usable(column):
    """Whether the column can be counted and, if it holds numbers, described."""
    try:
        values = df[column].dropna()
        values.value_counts()
        return column not in numbers or bool(values.astype(float).describe().notna().any())
    except Exception:
        return False


left_out = [c for c in [*numbers, *groups, *dates] if repr(c) in error_text or not usable(c)]
if left_out:
    note("Skipped", f"{', '.join(map(repr, left_out[:5]))}: a step failed on this.")
numbers = [c for c in numbers if c not in left_out]
groups = [c for c in groups if c not in left_out]
dates = [c for c in dates if c not in left_out]
'''

STAGES: dict[str, Stage] = {
    "load": Stage(
        "Load the data and look at its shape and types",
        loading.LOAD,
        mended_purpose="Load the data again, trying other encodings and leaving out broken lines",
        mended_body=loading.LOAD,
    ),
    "restart": Stage(
        "Load the data again after the session broke off",
        loading.LOAD,
        mended_purpose="Load the data once more after the session broke off",
        mended_body=loading.LOAD,
    ),
    "clean": Stage(
        "Clean the columns: text that holds numbers or dates",
        loading.CLEAN + loading.STRICT_DATES,
        mended_purpose="Clean the columns again, counting dates that cannot be read instead of stopping at them",
        mended_body=loading.CLEAN + loading.TOLERANT_DATES,
    ),
    "quality": Stage(
        "Count missing values and duplicate rows, and sort the columns by what they hold",
        loading.QUALITY,
        mended_purpose="Sort the columns by what they hold, leaving out those that cannot be handled",
        mended_body=loading.PLAIN_QUALITY,
    ),
    "distributions": Stage(
        "Look at how the values are distributed", looking.DISTRIBUTIONS, looking.DISTRIBUTIONS_FIGURE
    ),
    "relations": Stage("Look for columns that go together", looking.RELATIONS, looking.RELATIONS_FIGURE),
    "groups": Stage("Look for groups that differ", testing.GROUPS, testing.GROUPS_FIGURE),
    "trends": Stage("Look for trends and seasons", testing.TRENDS, testing.TRENDS_FIGURE),
    "outliers": Stage("Look for values far from the rest", testing.OUTLIERS),
    "write": Stage(
        "Write the summary file",
        writing.WRITE,
        mended_purpose="Write the findings as text instead of a summary file",
        mended_body=writing.PLAIN,
    ),
    "list": Stage("List all findings", writing.LIST),
    "focus": Stage("Describe the columns that the question names", follow_up.FOCUS),
    "relate": Stage("Relate these columns to the others", follow_up.RELATE, follow_up.RELATE_FIGURE),
    "close": Stage(
        "Write the tables of this look",
        follow_up.CLOSE,
        mended_purpose="Write the findings as text instead of tables",
        mended_body=writing.PLAIN,
    ),
    "read": Stage(
        "Read the text",
        text.READ,
        mended_purpose="Read the text again, leaving out files that cannot be read",
        mended_body=text.READ,
    ),
    "measure": Stage("Measure the text", text.MEASURE, mended_purpose="Measure the text simply", mended_body=text.SIZE),
    "words": Stage("Count the words", text.WORDS, text.WORDS_FIGURE, "Count the words without a figure", text.WORDS),
    "contents": Stage(
        "Look at what the text contains",
        text.CONTENTS,
        mended_purpose="Look at the text's first lines",
        mended_body=text.SIZE,
    ),
    "write_text": Stage(
        "Write the word list",
        text.WRITE,
        mended_purpose="Write the findings as text instead of a word list",
        mended_body=writing.PLAIN,
    ),
}
"""Every cell that the playbook knows, by a short name."""
