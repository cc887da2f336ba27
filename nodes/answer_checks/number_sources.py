"""Where the numbers of an answer come from: the cell that printed each, and the expression that computed it."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graph.state import Cell
from nodes.answer_checks.answer_numbers import (
    NOT_CLAIMS,
    SENTENCE,
    THRESHOLDS,
    Claim,
    claims_in,
    matching,
    scales_in,
    values_in,
)
from nodes.computed_answers import ONLY_VALUES
from nodes.prompts.observation import HEADER

DIGITS = re.compile(r"\d")
YEAR = re.compile(r"\b(?:19|20)\d\d\b")
MAX_TRACED = 1_000
"""Numbers of one answer that are traced."""


@dataclass(frozen=True, slots=True)
class NumberSource:
    """A number of a text, and where it comes from."""

    start: int
    end: int
    cell: int
    """The number of the cell that printed or computed it."""
    expression: str
    """The Python that computed it for the answer; empty where the answer quotes what the cell printed."""


class NumberSources:
    """Finds what the numbers of one answer come from.

    Args:
        cells: Those that ran before the answer was given, in their order.
        answer: The whole answer: a heading of a table scales what stands below it.
        question: What it answers: a year of the question is no result.
    """

    def __init__(self, cells: Sequence[Cell], answer: str, question: str = "") -> None:
        self._years = set(YEAR.findall(question))
        self._silent = {cell["number"] for cell in cells if cell["code"] == ONLY_VALUES}
        """Cells that show nothing but the values of an answer: whoever asks for a source wants what is behind them."""
        self._computed = _computed(cells, answer)
        self._printed = [
            (cell["number"], printed)
            for cell in reversed(cells)
            if cell["status"] == "ok" and cell["code"] != ONLY_VALUES
            if (printed := sorted(set(values_in(_results(cell)))))
        ]
        self._scales = scales_in(answer)
        self._certain = _certain(cells, answer)
        """Small numbers that stand in the answer only where they were computed."""
        self._left = MAX_TRACED

    def find(self, text: str) -> Iterator[NumberSource]:
        """The numbers of a part of the answer that a cell printed or computed, in their order.

        Small whole numbers, customary thresholds, code and file names are left alone, as the checks of answers do. A
        number that only follows from others has no source.
        """
        if not DIGITS.search(text):
            return
        blank = THRESHOLDS.sub(_blank, NOT_CLAIMS.sub(_blank, text))
        begin = 0
        for end in [*(match.start() for match in SENTENCE.finditer(blank)), len(blank)]:
            for claim in claims_in(blank[begin:end]):
                start = begin + claim.start
                if self._left <= 0:
                    return
                self._left -= 1
                value = self._computed.get(claim.text)
                if value is None and claim.text in self._years:
                    continue
                if value is not None and (claim.matters or claim.text in self._certain):
                    cell, expression = value
                    behind = self._cell_that_printed(claim) if cell in self._silent and claim.matters else 0
                    yield NumberSource(start, start + len(claim.text), behind or cell, expression)
                elif claim.matters and (cell := self._cell_that_printed(claim)):
                    yield NumberSource(start, start + len(claim.text), cell, "")
            begin = end

    def _cell_that_printed(self, claim: Claim) -> int:
        for number, printed in self._printed:
            if matching(claim, printed, self._scales):
                return number
        return 0


def _computed(cells: Sequence[Cell], answer: str) -> dict[str, tuple[int, str]]:
    """By a number as it stands in the answer, the cell and the expression that computed it."""
    found: dict[str, tuple[int, str]] = {}
    for cell in _answering(cells, answer):
        for value in cell.get("values") or []:
            for text in _numbers_in(value["text"]):
                found.setdefault(text, (cell["number"], value["expression"]))
    return found


def _certain(cells: Sequence[Cell], answer: str) -> set[str]:
    values = [value for cell in _answering(cells, answer) for value in cell.get("values") or []]
    computed = Counter(text for value in values for text in _numbers_in(value["text"]))
    written = Counter(_numbers_in(THRESHOLDS.sub(" ", NOT_CLAIMS.sub(" ", answer))))
    return {text for text, count in computed.items() if written[text] == count}


def _answering(cells: Sequence[Cell], answer: str) -> list[Cell]:
    """The newest cell whose computed values stand in the answer; none when its numbers were not computed."""
    for cell in reversed(cells):
        if values := cell.get("values"):
            return [cell] if all(value["text"] in answer for value in values) else []
    return []


def _numbers_in(text: str) -> Iterator[str]:
    for sentence in SENTENCE.split(text):
        for claim in claims_in(sentence):
            yield claim.text


def _results(cell: Cell) -> Iterator[str]:
    yield HEADER.sub("", cell["observation"])
    yield from (value["text"] for value in cell.get("values") or [])


def _blank(match: re.Match[str]) -> str:
    return "".join("\n" if char == "\n" else " " for char in match[0])
