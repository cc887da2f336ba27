"""Sizes and ages as people write them, `20GB` and `30d`, for settings and for the command."""

import math
import re

AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")
SIZES = {
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
MINUTE, HOUR, DAY = 60, 3_600, 86_400
AGES = {"s": 1, "min": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}
LONGEST = 100 * 365 * DAY
"""Seconds: beyond a hundred years nothing is older."""


def parse_size(text: str) -> int:
    """How many bytes `500MB`, `1.5 GB` or `20GiB` are.

    Raises:
        ValueError: it is no size; the message says what is one.
    """
    number, unit = _parts(text)
    if unit not in SIZES:
        raise ValueError(f"{text[:40]!r} is no size: write a number and its unit, such as 20GB or 500MB")
    return math.floor(number * SIZES[unit])


def parse_age(text: str) -> float:
    """How many seconds `30d`, `12h`, `90min` or `2w` are.

    Raises:
        ValueError: it is no age; the message says what is one.
    """
    number, unit = _parts(text)
    if unit not in AGES:
        raise ValueError(f"{text[:40]!r} is no age: write a number and its unit, such as 30d, 12h or 90min")
    if number * AGES[unit] > LONGEST:
        raise ValueError(f"{text[:40]!r} is more than a hundred years, so nothing is as old")
    return number * AGES[unit]


def _parts(text: str) -> tuple[float, str]:
    found = AMOUNT.fullmatch(text)
    number = float(found[1]) if found is not None and len(found[1]) < 16 else math.nan
    return number, found[2].lower() if found is not None and not math.isnan(number) else "?"
