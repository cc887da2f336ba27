"""Runs something right after a module is imported for the first time, so that the kernel itself need not import it."""

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType

Then = Callable[[ModuleType], None]


class AfterImport(importlib.abc.MetaPathFinder):
    """Finds the watched modules as everybody else would, and calls what waits for them."""

    def __init__(self, watched: Mapping[str, Then]) -> None:
        self._watched = dict(watched)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a watched module, with a loader that calls back; None for all others."""
        then = self._watched.get(fullname)
        if then is None:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                del self._watched[fullname]
                spec.loader = _Loader(spec.loader, then)
                return spec
        return None


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: importlib.abc.Loader, then: Then) -> None:
        self._loader = loader
        self._then = then

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        try:
            self._then(module)
        except Exception:  # a library that changed inside loses our comforts, not its import
            return
