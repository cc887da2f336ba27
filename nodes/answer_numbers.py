"""Was every number of the answer printed by some cell?"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from graph.state import State

NUMBER = re.compile(
    r"(?<![\w.])[-+−]?(?:\d{1,3}(?:[,\u202f\u00a0 ]\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w]|\.\d)\s?%?"
)
PRINTED = re.compile(r"(?<![A-Za-z_\d.])\d[\d,_]*(?:\.\d+)?(?:[eE][-+]?\d+)?")
NOT_CLAIMS = re.compile(r"```.*?```|`[^`\n]*`|https?://\S+|^\s*\d+[.)]\s", re.DOTALL | re.MULTILINE)
"""Code, addresses and the numbers of list items."""
SCALES = {
    "k": 10**3, "thousand": 10**3, "m": 10**6, "million": 10**6, "bn": 10**9, "billion": 10**9,
    "万": 10**4, "亿": 10**8, "億": 10**8, "만": 10**4, "억": 10**8,
}  # fmt: skip
SMALL = 12
"""Whole numbers up to this are counts, ordinals and words; they are not held against the output."""
MAX_NAMED = 8


@dataclass(frozen=True, slots=True)
class Claim:
    """A number in an answer."""

    text: str
    value: Decimal
    """Without its sign."""
    unit: Decimal
    """The size of its last digit: what it was rounded to."""
    scale: int
    """What a word after it multiplies it with."""


def numbers_printed(state: State) -> list[str]:
    """Numbers of the answer that no cell printed, no abstract shows and no question holds.

    A number counts as printed when some printed number rounds to it, also as a percentage, with the sign turned, or
    scaled (`1.2 million`).
    """
    cells = state.get("cells") or []
    shown = [state["question"], *(cell["observation"] for cell in cells), *(cell["code"] for cell in cells)]
    shown += [one["abstract"] for one in state.get("inputs") or []]
    shown += [turn["question"] + "\n" + turn["answer"] for turn in state.get("turns") or []]
    shown += [row["summary"] for row in state.get("namespace") or []]
    printed = sorted(set(_values(shown)))
    missing: dict[str, None] = {}
    for claim in _claims(NOT_CLAIMS.sub(" ", state["proposal"])):
        if not _is_shown(claim, printed):
            missing[claim.text] = None
    if not missing:
        return []
    named = ", ".join(list(missing)[:MAX_NAMED]) + (" and others" if len(missing) > MAX_NAMED else "")
    return [f"No cell printed these numbers of the answer: {named}. Print them in a cell, or correct the answer."]


def _claims(text: str) -> Iterator[Claim]:
    for match in NUMBER.finditer(text):
        value = _decimal(match[0])
        if value is None:
            continue
        word = re.match(r"\s?([A-Za-z]+|[万亿億만억])", text[match.end() :])
        scale = SCALES.get(word[1].lower(), 1) if word else 1
        unit = Decimal(1).scaleb(min(int(value.as_tuple().exponent), 0))
        if scale == 1 and unit == 1 and "%" not in match[0] and value <= SMALL:
            continue
        yield Claim(match[0].strip(), value, unit, scale)


def _values(texts: Iterable[str]) -> Iterator[Decimal]:
    for text in texts:
        for raw in [*PRINTED.findall(text), *re.findall(r"\d+", text)]:
            value = _decimal(raw)
            if value is not None:
                yield value


def _decimal(text: str) -> Decimal | None:
    try:
        value = abs(Decimal(re.sub(r"[,_\u202f\u00a0 %]", "", text).replace("−", "-")))
    except ArithmeticError:  # `4E1234567` may be an article's number; as a value it is none
        return None
    return value if value < Decimal(10) ** 30 else None


def _is_shown(claim: Claim, printed: Sequence[Decimal]) -> bool:
    half = claim.unit / 2 + claim.unit / 1000
    low, high = claim.value - half, claim.value + half
    exact = claim.value * claim.scale
    ranges = [(low, high), (low / 100, high / 100), (low * claim.scale, high * claim.scale), (exact, exact)]
    return any(_any_between(printed, *ends) for ends in ranges)


def _any_between(printed: Sequence[Decimal], low: Decimal, high: Decimal) -> bool:
    """Whether a sorted sequence has a value between these ends; long analyses print a hundred thousand numbers."""
    position = bisect_left(printed, low)
    return position < len(printed) and printed[position] <= high
