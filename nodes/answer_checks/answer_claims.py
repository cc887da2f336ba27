"""The numbers that an answer claims, read out of its text in whichever way it writes them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

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
    r"|\bp\s?(?:-?values?\s)?[<≤]\s?0?\.(?:1|05|01|001|0001)\b"
    r"|\b(?:90|95|99)\s?[%％](?=[\s-]*(?:CI\b|confidence|credible|prediction|Konfidenz|的?置信|信頼))"
    r"|\b(?:1|5|10)\s?[%％](?=[\s-]*(?:significance|level|显著|有意))",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
"""Code, addresses, file names, the numbers of list items, and the customary thresholds of statistics."""
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
    for sentence in SENTENCE.split(NOT_CLAIMS.sub(" ", text)):
        if found := list(_claims(sentence)):
            yield found


def scales_in(text: str) -> list[int]:
    """The scales that any word of the answer names: one in a table's heading holds for the cells below it."""
    return [scale for pattern, scale in HEADING_SCALES if pattern.search(text)]


def _claims(text: str) -> Iterator[Claim]:
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
