"""What can be reached from an object: where a generator, a connection or a thread has its hands on."""

import gc
import sys
from types import BuiltinFunctionType, CodeType, MethodDescriptorType, ModuleType, WrapperDescriptorType
from typing import Any

MOST = 5_000_000
"""Objects that are looked at."""
HAS_REFERENCES = 1 << 14
"""`Py_TPFLAGS_HAVE_GC`: the interpreter knows what objects of the type refer to."""
LEAVES = (
    str, bytes, bytearray, int, float, complex, bool, type(None), type(...), type(NotImplemented), range, CodeType,
    BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType,
)  # fmt: skip


class Reach:
    """All objects that can be reached from some.

    Args:
        values: Where to begin.
        main: The session's `__main__`; that functions have its variables for globals does not count.
    """

    def __init__(self, values: list[Any], main: ModuleType) -> None:
        self.complete = True
        """False when something is among them whose references nobody knows, or when there are too many."""
        self._stop = {id(sys.modules), id(main), id(main.__dict__)}
        for module in list(sys.modules.values()):
            self._stop.update((id(module), id(getattr(module, "__dict__", None))))
        self.found: dict[int, Any] = {}
        """By identity; what is in it stays alive."""
        left = list(values)
        while left:
            value = left.pop()
            if id(value) in self.found or id(value) in self._stop:
                continue
            if len(self.found) >= MOST:
                self.complete = False
                return
            self.found[id(value)] = value
            left += self._references(value)

    def _references(self, value: Any) -> list[Any]:
        kind = type(value)
        if kind in LEAVES:
            return []
        numpy = sys.modules.get("numpy")
        if numpy is not None and issubclass(kind, numpy.ndarray):
            inside = value.ravel().tolist() if value.dtype.hasobject and value.dtype.names is None else []
            return [value.base, *inside]
        if numpy is not None and issubclass(kind, numpy.generic | numpy.dtype):
            return []
        if issubclass(kind, type) and value.__module__ != "__main__":
            return []
        if not kind.__flags__ & HAS_REFERENCES and not _is_simple(kind):
            self.complete = False
        return gc.get_referents(value)


def _is_simple(kind: type) -> bool:
    return kind.__module__ in ("datetime", "decimal", "_thread", "_decimal", "uuid", "re", "builtins")
