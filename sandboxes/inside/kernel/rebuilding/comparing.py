"""Whether two streams hold the same graph of objects."""

import io
import pickletools
from typing import Any

from ..snapshots.specials import PLACES

TEXT = frozenset({"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "SHORT_BINBYTES", "BINBYTES", "BINBYTES8"})
PLAIN = TEXT | {"NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT"}
GET = frozenset({"BINGET", "LONG_BINGET"})
UNORDERED = frozenset({"ADDITEMS", "FROZENSET"})

Token = tuple[str, Any]


def same_graph(first: memoryview, second: memoryview) -> bool:
    """Whether two streams hold the same objects, shared in the same way.

    Which equal strings are one object does not count: Python shares those of code and of attributes as it pleases.
    The order of plain values in a set does not count either: it depends on how the set came about.
    """
    return first == second or tokens(bytes(first)) == tokens(bytes(second))


def tokens(data: bytes) -> list[Token]:
    """The operations of a stream, with strings themselves in place of references to them, and sets sorted."""
    stream = io.BytesIO(data)
    places: list[Token] = [("REFERENCE", place) for place in range(len(PLACES))]
    shared = len(places)
    found: list[Token] = []
    marks: list[int] = []
    while stream.tell() < len(data):
        for operation, argument, _ in pickletools.genops(stream):
            name = operation.name
            if name == "MEMOIZE":
                if found[-1][0] in TEXT:
                    places.append(found[-1])
                else:
                    places.append(("REFERENCE", shared))
                    shared += 1
            elif name == "MARK":
                marks.append(len(found))
            elif name == "FRAME":
                continue
            elif operation.stack_before and pickletools.markobject in operation.stack_before:
                start = marks.pop()
                if name in UNORDERED and all(token[0] in PLAIN for token in found[start:]):
                    found[start:] = sorted(found[start:], key=repr)
                found.append((name, len(found) - start))
            elif name in GET:
                found.append(places[int(argument or 0)])
            else:
                found.append((name, argument))
    return found
