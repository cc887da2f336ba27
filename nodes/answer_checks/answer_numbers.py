"""Was every number of the answer printed by some cell?"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from graph.state import State
from nodes.prompts.observation import HEADER

GROUP = r"[,.'’\u202f\u00a0\u2009 ]"
TOKEN = re.compile(
    rf"(?<![A-Za-z_\d.])(?:\d{{1,3}}(?:{GROUP}\d{{3}}(?!\d)){{1,8}}(?:[.,]\d+)?|\d{{1,24}}(?:[.,]\d{{1,24}})?|\.\d{{1,24}})(?!\.?\d)"
)
EXPONENT = re.compile(r"[eE]([-+]?\d{1,2})(?!\d)")
PERCENT = re.compile(r"\s?(?:[%％]|percent\b|per cent\b|Prozent\b)", re.IGNORECASE)
AFTER = re.compile(r"\s?([A-Za-z]+|[千百]?[万亿億]|百万|千|[만억])")
NAME_BEFORE = re.compile(r"[A-Za-z]-$")
NO_RESULT = re.compile(r"[A-Za-z]+[\d_]|(?:s|st|nd|rd|th)(?![A-Za-z])", re.IGNORECASE)
"""What follows the digits of `4f50`, `1990s` and `15th`."""
TEN_TO = re.compile(r"\s?[×x·*]\s?10(?:\^|\*\*)?\s?\(?([-−+⁻⁺]?[\d⁰¹²³⁴⁵⁶⁷⁸⁹]{1,2})\)?")
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺−", "0123456789-+-")
SCALES = {
    "k": 10**3, "thousand": 10**3, "tsd": 10**3, "m": 10**6, "mn": 10**6, "mio": 10**6, "million": 10**6,
    "millions": 10**6, "bn": 10**9, "mrd": 10**9, "billion": 10**9, "lakh": 10**5, "crore": 10**7,
    "千": 10**3, "万": 10**4, "百万": 10**6, "千万": 10**7, "亿": 10**8, "億": 10**8, "만": 10**4, "억": 10**8,
}  # fmt: skip
HEADING_SCALES = (
    (re.compile(r"万|만"), 10**4),
    (re.compile(r"[亿億억]"), 10**8),
    (
        re.compile(
            r"\b(?:thousands?|tsd|k[$€£¥]|[$€£¥]k|(?:USD|EUR|GBP)\s?k)\b|[$€£¥]\s?k\b|\bk[$€£¥]|\b000s?\b", re.I
        ),
        10**3,
    ),
    (re.compile(r"\b(?:millions?|mio|mn|m[$€£¥])\b|[$€£¥]\s?m\b|百万", re.I), 10**6),
    (re.compile(r"\b(?:billions?|mrd|bn)\b", re.I), 10**9),
)
"""Words that scale a whole column of a table when they stand in its heading."""
NOT_CLAIMS = re.compile(
    r"```.*?```|`[^`\n]*`|https?://\S+|^\s*(?:#+\s*)?\d+[.)、]\s|[A-Za-z0-9_\-./]+\.(?=[A-Za-z]{2})[A-Za-z0-9]{2,7}\b"
    r"|\b(?:90|95|99)\s?[%％](?=[\s-]*(?:CI\b|confidence|credible|prediction|Konfidenz|的?置信|信頼))"
    r"|\b(?:1|5|10)\s?[%％](?=[\s-]*(?:significance|level|显著|有意))",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
"""Code, addresses, file names, the numbers of list items, and customary shares."""
LEVEL = r"0?[.,](?:10?|05|01|001|0001)(?!\d)"
THRESHOLDS = re.compile(
    rf"\bp\s?(?:-?\s?values?)?\s{{0,3}}(?:(?:is|was|are|were|be|being|stays?|remains?)\s)?\s{{0,3}}"
    rf"(?:[<>]=?|[≤≥]|(?:less|greater|smaller|larger|lower|higher|more)\sthan|below|above|under|over)\s{{0,3}}{LEVEL}"
    r"|\b(?:significan(?:t|ce)|alpha|level|threshold|cut-?off)\b"
    r"(?:\s{1,3}(?:level|threshold|at|of|is|was|the|an?|alpha)){0,4}"
    rf"\s{{0,3}}\(?(?:α|alpha)?\s{{0,3}}[=<≤]?\s{{0,3}}{LEVEL}|α\s{{0,3}}[=<≤]?\s{{0,3}}{LEVEL}"
    rf"|{LEVEL}[\s-]{{0,3}}(?:(?:significance|alpha|α)[\s-]{{0,3}})?(?:level|threshold|cut-?off)\b"
    r"|\b(?:1[.,]5|3(?:[.,]0)?)\s?(?:[×x*·]|times)?\s?(?:the\s)?(?:IQR|inter-?quartile)"
    r"|\|\s?[rρ]\s?\|\s?(?:[<>]=?|[≤≥])\s?0?[.,](?:[1-9]|[37]5)(?!\d)"
    rf"|(?:[<>]=?|[≤≥]|\b(?:below|above|under|over|(?:less|greater|smaller|larger|lower|higher|more)\sthan))\s{{0,3}}{LEVEL}"
    rf"|\b(?:FDR|false\sdiscovery\srate)\s(?:[a-z]{{1,10}}\s){{0,3}}(?:at|of|[<≤])\s?{LEVEL}"
    r"|\bz(?:-?\s?scores?)?\|?\s?(?:[<>]=?|[≤≥]|beyond|above|over)\s?(?:1[.,]96|2[.,]5(?:8|76)?|3(?:[.,]0)?)(?!\d)"
    r"|\bskew(?:ness|ed)?\b[^.,;\n]{0,30}±\s?(?:0[.,]5|1)(?!\d)"
    r"|\balpha\s(?:above|over|of\sat\sleast|[>≥]=?)\s?0[.,][6-9](?!\d)"
    r"|\bcorrelations?\s(?:above|over|beyond|[>≥]=?|of\sat\sleast|of\smore\sthan)\s?0[.,](?:[1-9]|[37]5)(?!\d)"
    r"|(?<![\d.,])0?[.,][258]\s?(?:=|is|as|for|an?|\(|\s){0,3}\s?(?:small|medium|large)\b"
    r"|\bpower\s(?:of|=|≥|>=|at)\s?0?[.,](?:80?|90?)(?!\d)",
    re.IGNORECASE,
)
"""Customary thresholds of statistics: levels of significance, fences of box plots, strengths of correlation, power.

All repetitions are bounded: an answer may hold any number of spaces."""
HEDGE = re.compile(
    r"(?:\b(?:about|around|roughly|approximately|approx\.?|circa|ca\.?|some|nearly|almost|just|over|under|below|above"
    r"|more than|less than|fewer than|at least|at most|up to|rund|etwa|knapp|über|unter|fast|mehr als|weniger als"
    r"|environ|près de|plus de|moins de|unos|casi|más de|menos de)|[~≈<>≤≥]|大?[约約]为?|近|超过?|超過|逾|不到|不足"
    r"|至少|高达)\s*[*_]{0,2}\s*(?:[$€£¥]|USD|EUR)?\s*$",
    re.IGNORECASE,
)
P_VALUE = re.compile(r"\b[pP](?:-?values?)?\s?(?:[=<>≈≤≥]|of|is)\s?$")
HEDGED_AFTER = re.compile(r"\s?[%％]?\s?(?:or so\b|余|多[万个条笔元]|左右|以上|以下)")
SENTENCE = re.compile(r"(?<=[.!?])\s+|[。？！]|\n")
EXACT = 1e-9
SMALL = 12
"""Whole numbers up to this are counts, ordinals and words; they are not held against the output."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a number: `1,234` is a thousand and some, or a little over one."""

    value: float
    """Without its sign."""
    unit: float
    """The size of its last digit: what it was rounded to."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A number in an answer."""

    text: str
    start: int
    """Where it begins in its sentence."""
    readings: tuple[tuple[Reading, ...], ...]
    """Ways to read it; all numbers of one way must be right."""
    scale: int
    """What a word after it multiplies it with."""
    percent: bool
    hedged: bool
    """Called approximate, or a bound: it may be rounded to its last digit that is not 0."""

    is_p_value: bool = False
    """No arithmetic with other numbers of a sentence leads to one."""

    @property
    def matters(self) -> bool:
        """Whether it is held against the output."""
        first = self.readings[0]
        whole = len(first) == 1 and first[0].unit == 1 and first[0].value <= SMALL
        return not (whole and self.scale == 1 and not self.percent)


def claims_by_sentence(text: str) -> Iterator[list[Claim]]:
    """The numbers of each sentence or table row, small ones too."""
    for sentence in SENTENCE.split(THRESHOLDS.sub(" ", NOT_CLAIMS.sub(" ", text))):
        if found := list(claims_in(sentence)):
            yield found


def scales_in(text: str) -> list[int]:
    """The scales that any word of the answer names: one in a table's heading holds for the cells below it."""
    return [scale for pattern, scale in HEADING_SCALES if pattern.search(text)]


def claims_in(text: str) -> Iterator[Claim]:
    """The numbers of one sentence, in their order."""
    name_ends = -1
    position = 0
    while match := TOKEN.search(text, position):
        position = match.end()
        start = match.start()
        if NAME_BEFORE.search(text, max(start - 2, 0), start) or (
            text[start - 1 : start] == "-" and start - 1 == name_ends
        ):
            name_ends = position  # `B-737-300` and `COVID-19` are names
            continue
        exponent = 0
        if power := EXPONENT.match(text, position) or TEN_TO.match(text, position):
            exponent = int(power[1].translate(SUPERSCRIPTS))
            position = power.end()
        percent = PERCENT.match(text, position)
        after = None if percent else AFTER.match(text, position)
        word = after[1] if after else ""
        joined = bool(word) and word.isascii() and text[position : position + 1] == word[0]
        if joined and NO_RESULT.match(text, position):
            name_ends = position = position + len(word)
            continue
        end = percent.end() if percent else position
        yield Claim(
            text=text[start:end].strip(),
            start=start,
            readings=tuple(_readings(match[0], exponent)),
            scale=SCALES.get(word.lower(), 1),
            percent=percent is not None,
            is_p_value=bool(P_VALUE.search(text[max(start - 12, 0) : start])),
            hedged=bool(HEDGE.search(text[max(start - 30, 0) : start]) or HEDGED_AFTER.match(text, position)),
        )
        position = max(position, end)


def _readings(text: str, exponent: int) -> Iterator[tuple[Reading, ...]]:
    """The ways to read digits with marks between them, the likeliest first."""
    factor = 10.0**exponent
    marks = re.findall(r"\D", text)
    parts = re.split(r"\D", text)
    if not marks:
        yield (Reading(int(text) * factor, factor),)
        return
    grouped = (
        parts[0][:1] not in ("", "0")
        and len(parts[0]) <= 3
        and all(len(part) == 3 for part in parts[1:])
        and len(set(marks)) == 1
    )
    decimal = Reading(float(("".join(parts[:-1]) or "0") + "." + parts[-1]) * factor, 10.0 ** -len(parts[-1]) * factor)
    whole = Reading(int("".join(parts)) * factor, factor)
    is_point = marks[-1] in ".," and (len(marks) == 1 or len(set(marks)) == 2)
    if grouped and marks[0] != ".":
        yield (whole,)
    if is_point:
        yield (decimal,)
    if grouped and marks[0] == ".":
        yield (whole,)
    is_list = set(marks) == {" "} or (not grouped and set(marks) == {","})
    if is_list and not any(part.startswith("0") for part in parts):
        yield tuple(Reading(int(part), EXACT) for part in parts)  # `2019,2020`, `200 300`


GROUPED = re.compile(r"(?<![A-Za-z_\d.])\d{1,3}(?:,\d{3})+(?:\.\d+)?")
PLAIN = re.compile(r"(?<![\d.])(?:\d[\d_]*(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d{1,3})?")
MAX_NAMED = 8
MAX_OPERANDS = 8
HEDGED_SHARE, HEDGED_SHARE_WORKED_OUT = 0.1, 0.02
"""How far an approximate number may be from the printed one, or from what follows from two, as a share of it."""
LARGEST = 1e30


def unprinted_numbers(state: State) -> list[str]:
    """Numbers of the answer that no cell printed, nor anything else holds that the reader or the model was shown.

    That is abstracts of files, questions, earlier answers, values of variables, and the code of cells.

    A number counts as printed when some printed number rounds to it, also as a percentage, with the sign turned, or
    scaled (`1.2 million`); called approximate, it may be rounded further. What follows from two printed numbers of
    the same sentence (a share, a ratio, a change, a sum or a difference) counts as printed too: the reader sees both.
    """
    printed = sorted(set(values_in(_shown(state))))
    scales = scales_in(state["proposal"])
    missing: dict[str, None] = {}
    for sentence in claims_by_sentence(state["proposal"]):
        matched = [matching(claim, printed, scales) for claim in sentence]
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
        yield from (value["text"] for value in cell.get("values") or [])
    for one in state.get("inputs") or []:
        yield one["abstract"]
    for turn in state.get("turns") or []:
        yield turn["question"]
        yield turn["answer"]
    for row in state.get("namespace") or []:
        yield row["summary"]


def values_in(texts: Iterable[str]) -> Iterator[float]:
    """The numbers that texts show, each without its sign."""
    for text in texts:
        for raw in [*GROUPED.findall(text), *PLAIN.findall(text)]:
            try:
                value = float(raw.replace(",", "").replace("_", ""))
            except ValueError:
                continue
            if value < LARGEST:
                yield value


def matching(claim: Claim, printed: Sequence[float], scales: Sequence[int], share: float = HEDGED_SHARE) -> list[float]:
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
    return bool(matching(claim, results, [], HEDGED_SHARE_WORKED_OUT))
