"""Objects that exist once in every process: a stream refers to them by name instead of copying them.

They stand at the first places of the memo of every stream. Their order is part of the format.
"""

import builtins
import contextvars
import functools
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar

from ..output import Streams
from .cell_sources import CellSources

SINGLETONS = (
    "namespace", "main", "environ", "modules", "path", "argv", "stdout", "stderr", "stdin", "builtins", "display",
    "random", "numpy_random", "matplotlib_settings", "pandas_options",
)  # fmt: skip


class CurrentSession:
    """The `__main__` of this session, and what the kernel put into it."""

    main = ModuleType("__main__")
    display: object = None
    root = ""
    """Its workspace."""
    folders: ClassVar[dict[str, str]] = {}
    """Its folders by what stands for them in a path of a snapshot."""
    earlier_file: Callable[[str, str], str] | None = None
    """While variables of an earlier step are loaded: the copy of a file of that step, by its folder and its path."""
    streams: dict[str, Any]
    cells = CellSources()
    """The code of its cells."""
    not_made: ClassVar[dict[str, tuple[str, str]]] = {}
    """What a restore could not make of a variable that is there: kind and reason, by name."""
    asks_for_identities = False
    """Whether a cell of it calls `id`."""
    asks_for_attributes = False
    """Whether a cell of it uses the dictionary of attributes of an object."""
    context = contextvars.Context()
    """That in which cells run, as it was when a snapshot began; another thread may take that."""

    @classmethod
    def remember_streams(cls) -> None:
        """Remember the session's own streams: a cell may have put others there, and pickling does."""
        cls.context = contextvars.copy_context()
        own: dict[int, Any] = dict(Streams.now)
        cls.streams = {
            "stdout": own.get(1, sys.stdout),
            "stderr": own.get(2, sys.stderr),
            "stdin": sys.__stdin__,
        }


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


INSIDE = "workspace:"
FOLDERS = {"temporary:": "TMPDIR", "home:": "HOME"}
"""The other folders of a session: what stands for them, and the variable of the environment that names them."""


INSTALLED = ("/site-packages/", "/dist-packages/")
OF_OTHERS = (os.path.dirname(os.__file__) + "/", os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + "/")
"""Python's own library and the kernel, which may lie below a folder of the session."""


def begin(main: ModuleType, display: object, root: str, environment: dict[str, str]) -> None:
    """Say which session this is.

    Args:
        main: Its `__main__`.
        display: What the kernel put there to show things with.
        root: Its workspace.
        environment: The environment in which it began.
    """
    named = {mark: environment.get(variable, "") for mark, variable in FOLDERS.items()}
    CurrentSession.main, CurrentSession.display, CurrentSession.root = main, display, root
    CurrentSession.folders = {INSIDE: root, **{mark: folder for mark, folder in named.items() if folder}}


def is_of_session(path: Any, *more: str) -> bool:
    """Whether the file of a module is the user's: in a folder of the session, and not of a package installed there.

    Args:
        path: The file.
        more: Folders that are the session's besides.
    """
    if not isinstance(path, str) or not path.startswith(_prefixes(*CurrentSession.folders.values(), *more)):
        return False
    return not path.startswith(OF_OTHERS) and not any(name in path for name in INSTALLED)


@functools.lru_cache(maxsize=10)
def _prefixes(*folders: str) -> tuple[str, ...]:
    return tuple(os.path.join(folder, "") for folder in folders if folder)


def portable_path(path: str | os.PathLike[str]) -> str:
    """A path as a snapshot has it: that of a folder of the session may be another one elsewhere."""
    full = os.path.abspath(path)
    for mark, folder in CurrentSession.folders.items():
        root = os.path.join(folder, "")
        if (full + os.sep).startswith(root):
            return mark + full[len(root) :]
    return full


def found(path: str) -> str:
    """A path of a snapshot in this session."""
    for mark, folder in CurrentSession.folders.items():
        if path.startswith(mark):
            if CurrentSession.earlier_file is not None:
                return CurrentSession.earlier_file(mark, path[len(mark) :])
            return os.path.normpath(os.path.join(folder, path[len(mark) :]))
    return path
