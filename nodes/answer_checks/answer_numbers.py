"""Was every number of the answer printed by some cell?"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations

from graph.state import State
from nodes.answer_checks.answer_claims import Claim, Reading, claims_by_sentence, scales_in

GROUPED = re.compile(r"(?<![A-Za-z_\d.])\d{1,3}(?:,\d{3})+(?:\.\d+)?")
PLAIN = re.compile(r"(?<![\d.])(?:\d[\d_]*(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d{1,3})?")
HEADER = re.compile(r"\Acell \d+ · [^\n]*")
"""The first line of an observation is Stepwell's own: the cell's number and its seconds are no results."""
MAX_NAMED = 8
MAX_OPERANDS = 8
HEDGED_SHARE, HEDGED_SHARE_WORKED_OUT = 0.1, 0.02
"""How far an approximate number may be from the printed one, or from what follows from two, as a share of it."""
LARGEST = 1e30


def numbers_printed(state: State) -> list[str]:
    """Numbers of the answer that no cell printed, no abstract shows and no question holds.

    A number counts as printed when some printed number rounds to it, also as a percentage, with the sign turned, or
    scaled (`1.2 million`); called approximate, it may be rounded further. What follows from two printed numbers of
    the same sentence (a share, a ratio, a change, a sum or a difference) counts as printed too: the reader sees both.
    """
    printed = sorted(set(_values(_shown(state))))
    scales = scales_in(state["proposal"])
    missing: dict[str, None] = {}
    for sentence in claims_by_sentence(state["proposal"]):
        matched = [_matches(claim, printed, scales) for claim in sentence]
        operands = [values for claim, values in zip(sentence, matched, strict=True) if values and claim.matters][
            :MAX_OPERANDS
        ]
        for claim, values in zip(sentence, matched, strict=True):
            if claim.matters and not values and not _follows(claim, operands):
                missing[claim.text] = None
    if not missing:
        return []
    named = ", ".join(list(missing)[:MAX_NAMED]) + (" and others" if len(missing) > MAX_NAMED else "")
    return [f"No cell printed these numbers of the answer: {named}. Print them in a cell, or correct the answer."]


def _shown(state: State) -> Iterator[str]:
    yield state["question"]
    for cell in state.get("cells") or []:
        yield HEADER.sub("", cell["observation"])
        yield cell["code"]
    for one in state.get("inputs") or []:
        yield one["abstract"]
    for turn in state.get("turns") or []:
        yield turn["question"]
        yield turn["answer"]
    for row in state.get("namespace") or []:
        yield row["summary"]


def _values(texts: Iterable[str]) -> Iterator[float]:
    for text in texts:
        for raw in [*GROUPED.findall(text), *PLAIN.findall(text)]:
            try:
                value = float(raw.replace(",", "").replace("_", ""))
            except ValueError:
                continue
            if value < LARGEST:
                yield value


def _matches(claim: Claim, printed: Sequence[float], scales: Sequence[int], share: float = HEDGED_SHARE) -> list[float]:
    """Values that the claim may stand for, those that were printed; empty when there is none."""
    for reading in claim.readings:
        found = [_near(number, claim, printed, scales, share) for number in reading]
        if all(found):
            return [value for values in found for value in values[:3]]
    return []


def _near(number: Reading, claim: Claim, printed: Sequence[float], scales: Sequence[int], share: float) -> list[float]:
    slack = _slack(number, claim, share)
    as_share = [0.01] if claim.percent or number.value <= 100 else []
    factors = [1.0, *as_share, float(claim.scale), *map(float, scales)]
    found: list[float] = []
    for factor in dict.fromkeys(factors):
        low, high = (number.value - slack) * factor, (number.value + slack) * factor
        found += printed[bisect_left(printed, low) : bisect_right(printed, high)][:3]
    return found


def _slack(number: Reading, claim: Claim, share: float) -> float:
    """How far what was printed may be from what is claimed."""
    exact = number.unit * 0.501
    if not claim.hedged:
        return exact
    unit = number.unit
    while unit * 10 <= number.value and abs(number.value / (unit * 10) - round(number.value / (unit * 10))) < 1e-9:
        unit *= 10
    return max(exact, min(unit, share * number.value))


def _follows(claim: Claim, operands: Sequence[Sequence[float]]) -> bool:
    """Whether the claim can be worked out from two numbers beside it."""
    if claim.is_p_value:
        return False
    results: list[float] = []
    for left, right in permutations(operands, 2):
        for a in left:
            for b in right:
                results += [a + b, a - b]
                if b:
                    results += [a / b, a / b - 1]
    if claim.percent:
        results += [1 - value if value <= 1 else 100 - value for values in operands for value in values]
    results = sorted(abs(value) for value in results)
    return bool(_matches(claim, results, [], HEDGED_SHARE_WORKED_OUT))
