"""The source that a module of the workspace was imported from, where its file has been changed since.

It is read while the file still has it; where that was changed too soon, there is the bytecode that Python keeps.
Modules are imported from it again, so that functions, classes and what others have imported of them are as they were.
Reloading reads the file, as it would have.
"""

import base64
import contextlib
import importlib.abc
import importlib.machinery
import marshal
import sys
from collections.abc import Iterator, Sequence
from types import CodeType, ModuleType
from typing import Any

MAX_SOURCE = 1 << 20
"""Characters of a source that is held."""

Made = str | CodeType
"""What a module is made from."""
Kept = str | list[str]
"""That in a snapshot; code goes with the Python that can load it."""
HEADER = 16
"""Bytes before the code in a file of bytecode."""

_known: dict[str, tuple[Any, Made]] = {}
"""Name of a module → how it was made, and what from."""


def learn(module: ModuleType, made: Made) -> None:
    """Note what a module was made from."""
    if isinstance(made, CodeType) or len(made) <= MAX_SOURCE:
        _known[module.__name__] = module.__spec__, made


def source_of(module: ModuleType) -> Kept | None:
    """What a module was made from; None: nobody knows, because it was changed before it could be read."""
    spec, made = _known.get(module.__name__, (None, ""))
    if spec is None or spec is not module.__spec__:
        return None
    if isinstance(made, str):
        return made
    return [str(sys.implementation.cache_tag), base64.b64encode(marshal.dumps(made)).decode()]


def bytecode_of(module: ModuleType) -> CodeType | None:
    """The code that Python has kept beside a module's file, which need not be that of the module."""
    with contextlib.suppress(OSError, ValueError, EOFError, TypeError):
        with open(str(getattr(module.__spec__, "cached", "")), "rb") as file:
            code = marshal.loads(file.read()[HEADER:])
        return code if isinstance(code, CodeType) else None
    return None


def unusable(sources: dict[str, Kept]) -> list[str]:
    """The modules of which there is only code that this Python cannot load."""
    return [
        name for name, one in sources.items() if not isinstance(one, str) and one[0] != sys.implementation.cache_tag
    ]


class _Loader(importlib.machinery.SourceFileLoader):
    """Makes a module of a source that its file does not have any more."""

    def __init__(self, name: str, path: str, made: Made) -> None:
        super().__init__(name, path)
        self.made = made

    def get_code(self, fullname: str) -> CodeType:
        """The code of that source; no file with bytecode is looked at or written."""
        return self.source_to_code(self.made, self.path) if isinstance(self.made, str) else self.made


class _Finder(importlib.abc.MetaPathFinder):
    """Finds modules where they are, and has them made of their earlier sources."""

    def __init__(self, sources: dict[str, Made]) -> None:
        self._sources = sources

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> Any:
        """How a module is made; None: as usual."""
        if name not in self._sources:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or type(spec.loader) is not importlib.machinery.SourceFileLoader:
            return None
        spec.loader = _Loader(name, spec.loader.path, self._sources[name])
        return spec


@contextlib.contextmanager
def earlier(sources: dict[str, Kept]) -> Iterator[None]:
    """Import modules from these sources meanwhile."""
    left = unusable(sources)
    made = {name: _loaded(one) for name, one in sources.items() if name not in left}
    if not made:
        yield
        return
    finder = _Finder(made)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in made:
            _settle(sys.modules.get(name))


def _loaded(kept: Kept) -> Made:
    return kept if isinstance(kept, str) else marshal.loads(base64.b64decode(kept[1]))


def _settle(module: Any) -> None:
    """Let a module be one of its file again."""
    loader = getattr(module, "__loader__", None)
    if type(loader) is _Loader:
        module.__loader__ = module.__spec__.loader = importlib.machinery.SourceFileLoader(loader.name, loader.path)
        learn(module, loader.made)
