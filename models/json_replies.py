"""Finding the JSON in a reply: fenced or bare, with the slips that models make."""

import ast
import json
import re
from typing import Any

from models.reply_parts import parts

LONGEST = 100_000
"""Characters of a reply that are searched."""

MOST_STARTS = 50
"""Opening braces that are tried; prose with more of them holds no JSON that is worth the time."""

DEEPEST = 50
"""Levels of nesting; Python's own parser is not to be trusted with thousands."""

_NOTHING = object()
_START = re.compile(r"[{\[]")
_MARKS = re.compile(
    r"""[{}\[\]] | "(?:[^"\\]|\\.)*+"? | (?<=[{\[(,:\ \n\t])'(?:[^'\\]|\\.)*+'?""", re.VERBOSE | re.DOTALL
)
"""Brackets, and strings as wholes; an apostrophe within a word begins none."""
_SLIPS = re.compile(
    r"""("(?:[^"\\]|\\.)*+"?)     # a string stays as it is
    | //[^\n]* | /\*(?:.*?\*/|(.*))  # comments; one that is not closed stays
    | ,(?=\s*(?:[}\]]|//[^\n]*\n\s*[}\]]))  # a comma after the last item
    """,
    re.VERBOSE | re.DOTALL,
)


def json_in(text: str) -> dict[str, Any] | list[Any] | None:
    """The first JSON object or array in a reply.

    Fences come first, then the text around them. Comments, trailing commas, line breaks inside strings and Python's
    spelling (single quotes, `True`, `None`) are forgiven. Lists of bare numbers (`[1]`, a footnote in prose) count
    only when there is nothing better. `NaN` and `Infinity`, which JSON does not have, become None.

    Returns:
        None when there is none.
    """
    text = text[:LONGEST]
    found = parts(text)
    bodies = [part.text for part in found if part.kind == "fence"]
    bodies += [part.text for part in found if part.kind != "fence"]
    second_choice: list[Any] | None = None
    for body in [*bodies, text]:
        for value in _values(body):
            if isinstance(value, dict) or any(isinstance(item, dict | list | str) for item in value):
                return value
            second_choice = value if second_choice is None else second_choice
    return second_choice


def _values(text: str) -> list[dict[str, Any] | list[Any]]:
    values: list[dict[str, Any] | list[Any]] = []
    ends: dict[int, int] = {}
    position = 0
    for _ in range(MOST_STARTS):
        start = _START.search(text, position)
        if start is None:
            break
        position = start.end()
        if start.start() not in ends:
            _find_ends(text, start.start(), ends)
        end = ends[start.start()]
        if end and (value := _read(text[start.start() : end])) is not _NOTHING:
            values.append(value)
            position = end
    return values


def _find_ends(text: str, start: int, ends: dict[int, int]) -> None:
    """Note where the bracket at `start`, and each one within it, is closed; 0 when it is not.

    None is looked for twice: a reply of opening brackets takes no longer than another one.
    """
    opened: list[int] = []
    for mark in _MARKS.finditer(text, start):
        bracket = mark[0]
        if bracket in "{[":
            opened.append(mark.start())
            ends[mark.start()] = 0
            if len(opened) > DEEPEST:
                return
        elif bracket in "}]":
            opening = opened.pop()
            if text[opening] != ("{" if bracket == "}" else "["):
                return
            ends[opening] = mark.end()
            if not opened:
                return


def _without_slip(match: re.Match[str]) -> str:
    return match[1] or (match[0] if match[2] is not None else "")


def _read(text: str) -> Any:
    for candidate in (text, _SLIPS.sub(_without_slip, text)):
        try:
            return json.loads(candidate, strict=False, parse_constant=lambda _: None)
        except ValueError:
            continue
    try:
        value = ast.literal_eval(text)
        # A set or a tuple key is Python, not JSON.
        return (
            json.loads(json.dumps(value), parse_constant=lambda _: None) if isinstance(value, dict | list) else _NOTHING
        )
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _NOTHING
