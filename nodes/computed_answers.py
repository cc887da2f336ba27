"""Answers whose numbers are computed: placeholders in an answer, and the text that they become.

`{{expression}}` or `{{expression:format}}`, such as `{{r:.2f}}` or `{{top.head(5):table}}`. What does not read as one,
such as the braces of JSON and LaTeX, is left as it is; a backslash before the braces leaves them too.
"""

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graph.state import AnswerValue, Pending
from models.base import ReplyProblem

MAX_PLACEHOLDERS = 200
MAX_OPENINGS, MAX_CLOSINGS, MAX_COLONS = 400, 4, 8
"""What is tried to find them: an answer may hold any number of braces."""
MAX_EXPRESSION = 2_000
"""Characters between the braces."""
OPENING = re.compile(r"(?P<latex>\\[A-Za-z]{1,30}|\^|(?<=\S)_)?(?P<escaped>\\)?\{\{")
"""Braces that may open a placeholder; those behind a command of LaTeX, `^` or `x_` open none."""
FORMAT = re.compile(
    r"table(?:[-+ ]?,?(?:\.\d{1,2})?[eEfFgG%]?)?"
    r"|(?:.?[<>=^])?[-+ ]?z?#?0?\d{0,3}[,_]?(?:\.\d{1,2})?[bcdeEfFgGnosxX%]?|(?:%[-A-Za-z%][^{}\n]{0,40})"
)
ONLY_VALUES = "# nothing but the values of the answer"
"""The code of a cell that only evaluates an answer's placeholders."""


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A placeholder in an answer."""

    start: int
    end: int
    expression: str
    """Python; empty where the text is braces that were escaped."""
    form: str


def placeholders(text: str) -> list[Placeholder]:
    """The placeholders of an answer, in their order.

    Raises:
        ReplyProblem: there are too many; the text tells the model.
    """
    found = [one for one in _read(text) if one.expression]
    if len(found) > MAX_PLACEHOLDERS:
        raise ReplyProblem(
            f"The answer has {len(found)} placeholders; {MAX_PLACEHOLDERS} are allowed. Put what belongs together into "
            "a data frame, and show it as {{frame:table}}."
        )
    return found


def wanted_values(text: str) -> list[tuple[str, str]]:
    """The expressions of an answer with their formats, as a sandbox takes them."""
    return [(one.expression, one.form) for one in placeholders(text)]


def fill(text: str, values: Sequence[str]) -> tuple[str, list[AnswerValue]]:
    """The answer with its values in it.

    Returns:
        The answer, and for each value its expression, its format and its text.

    Raises:
        ValueError: there are not as many values as placeholders: whoever computed them cannot be believed.
    """
    left = list(values)
    parts: list[str] = []
    found: list[AnswerValue] = []
    position = 0
    for one in _read(text):
        parts.append(text[position : one.start])
        position = one.end
        if not one.expression:
            parts.append("{{")
            continue
        if not left:
            break
        value = left.pop(0)
        parts.append(value)
        found.append(AnswerValue(expression=one.expression, format=one.form, text=value))
    if left or len(found) != len(placeholders(text)):
        raise ValueError(f"{len(values)} values came for {len(placeholders(text))} placeholders")
    return "".join([*parts, text[position:]]), found


def with_answer(cells: Sequence[Pending], answer: str, skipped: Sequence[str]) -> tuple[Pending, ...]:
    """Cells of one reply, the last of which also gives the answer."""
    *before, last = cells
    return (*before, Pending(**{**last, "answer": answer, "skipped": list(skipped)}))


def _read(text: str) -> Iterator[Placeholder]:
    position, closed = 0, 0
    for _ in range(MAX_OPENINGS):
        if (match := OPENING.search(text, position)) is None:
            return
        position = match.end()
        if match["latex"] or (text[match.start() - 1 : match.start()] == "}" and match.start() != closed):
            continue  # `\frac{{a}}{{b}}`
        if match["escaped"]:
            yield Placeholder(match.start(), match.end(), "", "")
        elif one := _placeholder(text, match.start(), match.end()):
            yield one
            position = closed = one.end


def _placeholder(text: str, start: int, begin: int) -> Placeholder | None:
    """The placeholder whose braces open here: to the first closing braces with which it reads as Python."""
    end = text.find("}}", begin, begin + MAX_EXPRESSION)
    for _ in range(MAX_CLOSINGS):
        if end < 0:
            return None
        if one := _expression(text[begin:end]):
            return Placeholder(start, end + 2, *one)
        end = text.find("}}", end + 1, begin + MAX_EXPRESSION)
    return None


def _expression(body: str) -> tuple[str, str] | None:
    """Python and its format; the format is behind the last colon that is none of Python's own."""
    if _is_python(body.strip()):
        return body.strip(), ""
    colon = body.rfind(":")
    for _ in range(MAX_COLONS):
        if colon <= 0:
            return None
        expression, form = body[:colon].strip(), body[colon + 1 :].strip()
        if FORMAT.fullmatch(form) and form and _is_python(expression):
            return expression, form
        colon = body.rfind(":", 0, colon)
    return None


def _is_python(text: str) -> bool:
    if not text:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return not any(isinstance(node, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom) for node in ast.walk(tree))
