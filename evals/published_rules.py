"""Scores answers by the rules of public benchmarks, which are stricter or laxer than those of the plain format."""

import json
import math
import re
from collections import Counter
from collections.abc import Sequence

from evals.scoring import LINE, Part, score_answer
from evals.tasks import Expected, Value

TAG = re.compile(r"@(\w+)\[(.*?)\]")
CLOSE = 0.01
"""How far an approximate number may be off, as a share: KramaBench's own bound in lists."""
ALIKE = 0.8
"""Of ROUGE-1, from which approximate texts count as the same; KramaBench asks a model instead."""


def score_by_rule(answer: str, expected: Expected) -> list[Part]:
    """Check an answer by the rule that its task has."""
    if not expected.rule:
        return score_answer(answer, expected)
    if expected.rule == "dabench":
        return _tags(answer, expected)
    tried = [_typed(answer, values, expected.rule) for values in (expected.values, *expected.accepted)]
    return next((parts for parts in tried if all(part.right for part in parts)), tried[0])


def _tags(answer: str, expected: Expected) -> list[Part]:
    given = dict(TAG.findall(answer))
    return [
        Part(f"@{name}[{value}]", given.get(name, ""), right=_same_tag(given.get(name), str(value)))
        for name, value in zip(expected.names, expected.values, strict=True)
    ]


def _same_tag(got: str | None, wanted: str) -> bool:
    """The same text, or numbers less than a millionth apart."""
    if got is None or got == wanted:
        return got == wanted
    try:
        return abs(float(got) - float(wanted)) < 1e-6
    except ValueError:
        return False


def _typed(answer: str, values: Sequence[Value], kind: str) -> list[Part]:
    lines = LINE.findall(answer)
    line = lines[-1].strip().strip("*_`").strip() if lines else ""
    if kind.startswith("list"):
        return _listed(line, values, kind)
    (value,) = values
    return [Part(str(value), line or "no line ANSWER:", right=bool(lines) and _same(value, line, kind))]


def _listed(line: str, values: Sequence[Value], kind: str) -> list[Part]:
    """Each value in any order, and nothing besides them."""
    given = _items(line)
    parts = []
    for value in values:
        found = next((one for one in given if _same(value, one, kind)), None)
        parts.append(Part(str(value), "" if found is None else found, right=found is not None))
    more = [one for one in given if not any(_same(value, one, kind) for value in values)]
    if more or not values:
        parts.append(Part("nothing more", "; ".join(more), right=not more))
    return parts


def _items(line: str) -> list[str]:
    try:
        given = json.loads(line)
    except ValueError:
        given = [one.strip(" '\"") for one in re.split(r"[;,]", line.strip("[]"))]
    return [str(one) for one in (given if isinstance(given, list) else [given]) if str(one).strip()]


def _same(value: Value, got: str, kind: str) -> bool:
    numbers = kind.startswith("numeric") or kind == "string_exact" or not isinstance(value, str)
    wanted = _number(value, kind) if numbers else None
    if wanted is None or math.isnan(wanted):
        return _same_text(str(value), got, kind)
    number = _number(got, kind)
    if number is None or math.isnan(number):
        return False
    return _near(number, wanted, kind, whole=isinstance(value, int))


def _near(number: float, wanted: float, kind: str, *, whole: bool) -> bool:
    off = abs(number - wanted)
    if kind.endswith("approximate"):
        return off <= CLOSE * abs(wanted)
    if kind.startswith("list"):
        return off < 1e-6 * max(abs(wanted), 1e-12) or off == 0
    if whole and number.is_integer():
        return off == 0
    return off < 1e-6 or (wanted != 0 and off < 1e-4 * max(abs(number), abs(wanted)))


def _number(value: Value, kind: str) -> float | None:
    """As a number, without commas between thousands.

    A percent sign divides by a hundred, but is only left out where the type is `numeric_exact` or `string_exact`: the
    published rule.
    """
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", str(value).strip())
    bare = text.removesuffix("%").strip()
    try:
        return float(bare) / (1 if bare == text or kind in ("numeric_exact", "string_exact") else 100)
    except ValueError:
        return None


def _same_text(wanted: str, got: str, kind: str) -> bool:
    if kind.endswith("exact"):
        return wanted.strip().casefold() == got.strip().casefold()
    return rouge(wanted, got) >= ALIKE


def rouge(wanted: str, got: str) -> float:
    """ROUGE-1's F-measure: how many words two texts share, as a share of both."""
    one, two = (Counter(re.findall(r"\w+", text.casefold())) for text in (wanted, got))
    if not one or not two:
        return float(one == two)
    return 2 * (one & two).total() / (one.total() + two.total())
