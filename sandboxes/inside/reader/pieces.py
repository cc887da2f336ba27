"""Splits a JSON value into pieces of bounded size, so that joining them never blocks for long.

A piece is a kind, the path of what it belongs to, and content: a value, further items of the list or the object at that
path, or a text. Used by both sides: the process that reads writes them, the host puts them together.
"""

import json
import struct
from collections.abc import Iterator
from typing import Any

HEAD = struct.Struct("!BII")
"""Kind, bytes of the path, bytes of the content."""
VALUE, ITEMS, TEXT = 0, 1, 2
PIECE = 16_384
"""Characters and items of one piece, about."""
MAX_DEPTH = 120
EACH = 20
"""What a value weighs at least."""


class UnsplittableError(ValueError):
    """A value cannot be cut into pieces; the message says why."""


def cut(value: Any) -> Iterator[bytes]:
    """The pieces of a value.

    Raises:
        UnsplittableError: it is nested too deep, or has a name that is too long.
    """
    weights: dict[int, int] = {}
    _weigh(value, weights, 0)
    yield from _cut(value, [], weights)


def _weigh(value: Any, weights: dict[int, int], depth: int) -> int:
    if not isinstance(value, dict | list):
        return _of_scalar(value)
    if depth >= MAX_DEPTH:
        raise UnsplittableError(f"it is nested more than {MAX_DEPTH} deep")
    weight = EACH
    for item in value.values() if isinstance(value, dict) else value:
        weight += _weigh(item, weights, depth + 1)
    if isinstance(value, dict):
        longest = max(map(len, value), default=0)
        if longest > PIECE:
            raise UnsplittableError(f"a name in it has more than {PIECE:,} characters")
        weight += sum(map(len, value))
    weights[id(value)] = weight
    return weight


def _of_scalar(value: Any) -> int:
    if isinstance(value, str):
        return EACH + len(value)
    return EACH + (value.bit_length() // 3 if isinstance(value, int) else 0)


def _cut(value: Any, path: list[str | int], weights: dict[int, int]) -> Iterator[bytes]:
    if _weight(value, weights) <= PIECE or not isinstance(value, dict | list | str):
        yield _piece(VALUE, path, json.dumps(value).encode())
        return
    if isinstance(value, str):
        yield _piece(TEXT, path, value.encode("utf-8", "surrogatepass"))
        return
    yield _piece(VALUE, path, b"{}" if isinstance(value, dict) else b"[]")
    heavy: list[tuple[str | int, Any]] = []
    batch: list[tuple[str | int, Any]] = []
    room = PIECE
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        weight = _weight(item, weights)
        if weight > PIECE:
            heavy.append((key, item))
        batch.append((key, item if weight <= PIECE else None))  # that keeps its place
        room -= EACH + len(str(key)) + min(weight, PIECE)
        if room < 0:
            yield _items(value, path, batch)
            batch, room = [], PIECE
    if batch:
        yield _items(value, path, batch)
    for key, item in heavy:
        yield from _cut(item, [*path, key], weights)


def _weight(value: Any, weights: dict[int, int]) -> int:
    return weights[id(value)] if isinstance(value, dict | list) else _of_scalar(value)


def _items(value: Any, path: list[str | int], batch: list[tuple[str | int, Any]]) -> bytes:
    found = dict(batch) if isinstance(value, dict) else [item for _, item in batch]
    return _piece(ITEMS, path, json.dumps(found).encode())


def _piece(kind: int, path: list[str | int], content: bytes) -> bytes:
    place = json.dumps(path).encode()
    return HEAD.pack(kind, len(place), len(content)) + place + content


def join_pieces(data: bytes | memoryview) -> Any:
    """The value that such pieces are of; what they say is not believed.

    Raises:
        ValueError: they are not pieces of one value.
    """
    whole: list[Any] = [None]
    at, view = 0, memoryview(data)
    try:
        while at < len(view):
            kind, place, size = HEAD.unpack_from(view, at)
            at += HEAD.size
            path = [0, *json.loads(bytes(view[at : at + place]))]
            content = bytes(view[at + place : at + place + size])
            at += place + size
            _add(whole, path, kind, content)
    except (struct.error, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("the pieces do not fit together") from error
    if at != len(view):
        raise ValueError("a piece is cut off")
    return whole[0]


def _add(whole: list[Any], path: list[Any], kind: int, content: bytes) -> None:
    holder: Any = whole
    for part in path[:-1]:
        holder = holder[part]
    if kind == TEXT:
        holder[path[-1]] = content.decode("utf-8", "surrogatepass")
        return
    value = json.loads(content)
    if kind == VALUE:
        holder[path[-1]] = value
    elif isinstance(value, dict):
        holder[path[-1]].update(value)
    else:
        holder[path[-1]].extend(value)
