"""The pictures that stand beside an answer: those that its cells published or that it names, each once."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from graph.state import Artifact
from stepwell.exports.analysis import AnalysedTurn, Analysis
from stepwell.exports.archive import published
from storage.clean_text import clean

PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
MOST_FIGURES = 12
"""Figures beside one answer."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture that stands beside an answer."""

    address: str
    name: str
    cell: int


def figures_beside(
    analysis: Analysis, answers: Mapping[int, str], addresses: Callable[[Artifact], Sequence[str]]
) -> dict[int, tuple[Figure, ...]]:
    """The pictures that belong to each answer and that it does not show itself, by the number of the question.

    Args:
        analysis: The questions.
        answers: Their answers as HTML, by the question's number.
        addresses: Every address under which a picture may stand in an answer, the one to show it under first; none
            where it cannot be had.
    """
    pictures = [(one, tuple(addresses(one))) for one in published(analysis.state) if one["mime"] in PICTURES]
    there = [(one, found) for one, found in pictures if found]
    return {
        turn.number: tuple(_beside(turn, answer, there, analysis.aside))
        for turn in analysis.turns
        if (answer := answers.get(turn.number))
    }


def _beside(
    turn: AnalysedTurn, answer: str, pictures: Sequence[tuple[Artifact, Sequence[str]]], aside: Collection[int]
) -> Iterator[Figure]:
    cells = {cell["number"] for cell in turn.cells if cell["status"] == "ok" and cell["number"] not in aside}
    last = max((cell["number"] for cell in turn.cells), default=0)
    seen: set[str] = set()
    for one, addresses in pictures:
        named = one["cell"] <= last and _is_named(one, turn.answer)  # later it may be another picture
        if not (one["cell"] in cells or named) or one["sha256"] in seen:
            continue
        seen.add(one["sha256"] or one["name"])
        if len(seen) <= MOST_FIGURES and not any(f'src="{address}"' in answer for address in addresses):
            yield Figure(addresses[0], clean(one["name"]), one["cell"])


def _is_named(one: Artifact, text: str) -> bool:
    """Whether a text names a file, by its whole path or by that below `outputs/`."""
    path = re.escape((one.get("path") or one["name"]).removeprefix("outputs/"))
    return re.search(rf"(?<![\w./-])(?:\./)?(?:outputs/)?{path}(?!\w)", text) is not None
