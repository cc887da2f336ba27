"""Values in a few characters, without running code of theirs and without walking through large ones."""

from collections.abc import Iterable, Iterator, Sized
from itertools import islice
from typing import Any, cast

PLAIN = (bool, int, float, complex, type(None), type(Ellipsis), range, slice)
CONTAINERS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    dict: ("{", "}"),
}
MAX_DEPTH = 40


class _FullError(Exception):
    """The text is long enough."""


def cut(text: str, limit: int) -> str:
    """The text, with its end left out when it is longer than the limit."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def clean(text: str) -> str:
    """The text without lone surrogates, which no encoder takes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def type_name(value: object) -> str:
    """The name of a value's type, not what the value says of itself."""
    return str(type.__dict__["__name__"].__get__(type(value)))


def long_repr(value: object, limit: int) -> str:
    """`repr(value)`, stopped soon after `limit` characters when the value is a built-in container or a string.

    Raises:
        Exception: whatever the value's `__repr__` raises.
    """
    pieces: list[str] = []
    room = limit
    try:
        for piece in _pieces(value, limit, ()):
            pieces.append(piece)
            room -= len(piece)
            if room < 0:
                raise _FullError
    except _FullError:
        return cut("".join(pieces), limit)
    return "".join(pieces)


def _pieces(value: object, limit: int, outer: tuple[int, ...]) -> Iterator[str]:
    kind = type(value)
    if kind in CONTAINERS and len(outer) < MAX_DEPTH:
        yield from _container(value, limit, outer)
    elif kind in (str, bytes) and isinstance(value, str | bytes) and len(value) > limit:
        yield repr(value[:limit]) + f"… ({len(value):,} in all)"
    elif kind is int and isinstance(value, int) and value.bit_length() > 10_000:
        yield f"<integer of {value.bit_length():,} bits>"
    else:
        yield repr(value)


def _container(value: Any, limit: int, outer: tuple[int, ...]) -> Iterator[str]:
    kind = type(value)
    if id(value) in outer:
        yield "..."
        return
    if not value:
        yield repr(value)
        return
    inner = (*outer, id(value))
    start, end = CONTAINERS[kind]
    yield start
    between = ""
    for item in list(islice(value, limit)):
        yield between
        between = ", "
        yield from _pieces(item, limit, inner)
        if kind is dict:
            yield ": "
            yield from _pieces(value[item], limit, inner)
    yield ",)" if kind is tuple and len(value) == 1 else end


def short(value: object, limit: int = 60) -> str:
    """A value as one item of a summary: itself when it is simple, else its type and size."""
    kind = type(value)
    if kind is int and isinstance(value, int) and value.bit_length() > 200:
        return f"integer of {value.bit_length():,} bits"
    if kind in PLAIN:
        return cut(repr(value), limit)
    if kind in (str, bytes) and isinstance(value, str | bytes):
        return cut(repr(value[:limit]), limit) if len(value) <= limit else repr(value[: limit - 10]) + "…"
    if kind in CONTAINERS:
        return f"{kind.__name__} of {cast(Sized, value).__len__():,}"
    return f"<{cut(type_name(value), 40)}>"


def listing(items: Iterable[str], limit: int) -> str:
    """Items with commas between them, as many as there is room for."""
    text = ""
    for item in items:
        longer = f"{text}, {item}" if text else item
        if len(longer) > limit - 3:
            return f"{text}, …" if text else cut(item, limit)
        text = longer
    return text
