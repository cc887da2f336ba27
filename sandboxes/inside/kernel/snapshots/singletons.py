"""Objects that exist once in every process: a stream refers to them by name instead of copying them.

They stand at the first places of the memo of every stream. Their order is part of the format.
"""

import builtins
import os
import sys
from typing import Any

from .current_session import CurrentSession

SINGLETONS = (
    "namespace", "main", "environ", "modules", "path", "argv", "stdout", "stderr", "stdin", "builtins", "display",
    "random", "numpy_random", "matplotlib_settings", "pandas_options",
)  # fmt: skip


class Absent:
    """Stands for a special object of a library that is not loaded."""


OF_LIBRARIES = {
    "random": ("random", "_inst"),
    "numpy_random": ("numpy.random.mtrand", "_rand"),
    "matplotlib_settings": ("matplotlib", "rcParams"),
    "pandas_options": ("pandas", "options"),
}
"""The module that has each of these, and its name there."""


def special(place: str) -> Any:
    """The object of that place in this process."""
    if place in OF_LIBRARIES:
        module, name = OF_LIBRARIES[place]
        return getattr(sys.modules.get(module), name, None) or Absent()
    known = _fixed()[place]
    return Absent() if known is None else known


def _fixed() -> dict[str, Any]:
    """Those that are there in any case, by place."""
    return {
        "namespace": CurrentSession.main.__dict__,
        "main": CurrentSession.main,
        "environ": os.environ,
        "modules": sys.modules,
        "path": sys.path,
        "argv": sys.argv,
        **CurrentSession.streams,
        "builtins": builtins.__dict__,
        "display": CurrentSession.display,
    }


def memo() -> dict[int, tuple[int, Any]]:
    """The memo that a pickler begins with."""
    fixed = _fixed()
    found = [special(place) if fixed.get(place) is None else fixed[place] for place in SINGLETONS]
    return {id(value): (index, value) for index, value in enumerate(found)}


def prelude() -> bytes:
    """A stream that puts them at the first places of the memo of an unpickler, and loads None."""
    module = __name__.encode()
    parts = [b"\x80\x05"]
    for place in SINGLETONS:
        text = place.encode()
        # global special, (place,), REDUCE, MEMOIZE, POP
        parts.append(b"c" + module + b"\nspecial\n\x8c" + bytes([len(text)]) + text + b"\x85R\x940")
    return b"".join([*parts, b"N."])
