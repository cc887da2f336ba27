"""The pickler and the unpickler of snapshots: cloudpickle's, with what it copies or cannot do put right."""

import functools
import io
import pickle
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ..calls import reduce_stub
from . import specials
from .borrowed import cloudpickle
from .functions import home_of, reduce_function
from .reducers import Reducers

LARGE = 16 << 10
"""Bytes from which on a buffer leaves the stream."""


class Stream:
    """Some variables as bytes, and the buffers that go beside them.

    They stand one after the other, each with its name, and share one memo: one that is loaded later finds what came
    before it.
    """

    def __init__(self, values: dict[str, Any], reducers: Reducers) -> None:
        self.file = io.BytesIO()
        self.buffers: list[pickle.PickleBuffer] = []
        self._pickler = _pickler_class()(self.file, self.buffers, reducers)
        self._special = reducers.special
        self._pickler.memo = self._special
        # Functions and classes first: loading an instance may run them, by their names.
        for item in sorted(values.items(), key=lambda item: not isinstance(item[1], FunctionType | type)):
            self._pickler.dump(item)

    @property
    def data(self) -> memoryview:
        """The bytes of the stream."""
        return self.file.getbuffer()

    @property
    def has_code(self) -> bool:
        """Whether it holds code, which another version of Python must not even load."""
        return bool(self._pickler.has_code)

    @property
    def by_value(self) -> set[int]:
        """Identities of the classes and functions that it holds instead of naming them."""
        found: set[int] = self._pickler.by_value
        return found

    def memo(self) -> dict[int, tuple[int, Any]]:
        """All objects in it, by identity, without those that every stream names."""
        copied: dict[int, tuple[int, Any]] = self._pickler.memo.copy()
        for identity in self._special:
            copied.pop(identity, None)
        return copied


@functools.cache
def _pickler_class() -> Any:
    borrowed = cloudpickle()

    class Pickler(borrowed.Pickler):  # type: ignore[name-defined, misc]
        def __init__(self, file: io.BytesIO, buffers: list[pickle.PickleBuffer], reducers: Reducers) -> None:
            def leave(buffer: pickle.PickleBuffer) -> bool:
                if memoryview(buffer).nbytes < LARGE:
                    return True
                buffers.append(buffer)
                return False

            super().__init__(file, protocol=5, buffer_callback=leave)
            self.reducers = reducers
            self.by_value: set[int] = set()
            self.has_code = False

        def reducer_override(self, value: Any) -> Any:
            kind = type(value)
            reduce = self.reducers.of(kind)
            if reduce is not None:
                return reduce(self, value)
            if kind is FunctionType:
                return reduce_stub(value) or self._reduce_function(value)
            reduced = super().reducer_override(value)
            if reduced is not NotImplemented:
                if not (isinstance(value, type) and value.__module__ == "builtins"):
                    self.by_value.add(id(value))
                    self.has_code = True
            elif kind is CodeType:
                self.has_code = True
            return reduced

        def _reduce_function(self, value: Any) -> Any:
            if borrowed._should_pickle_by_reference(value):
                return NotImplemented
            self.by_value.add(id(value))
            self.has_code = True
            home = home_of(value)
            return super().reducer_override(value) if home is None else reduce_function(value, home)

    return Pickler


def load(data: bytes | bytearray | memoryview, buffers: list[Any], count: int) -> Iterator[tuple[str, Any]]:
    """The variables of a stream, one by one.

    Runs whatever the stream says, so only ever inside a sandbox.
    """
    cloudpickle()
    unpickler = _Unpickler(io.BytesIO(b"".join((specials.prelude(), data))), buffers=buffers)
    unpickler.load()
    # Called with the variables as globals, as a cell would call it: formulas of statsmodels are evaluated where the
    # unpickler is called from.
    step = FunctionType(_load_next.__code__, specials.Live.main.__dict__)
    for _ in range(count):
        yield step(unpickler)


def _load_next(unpickler: Any) -> Any:
    return unpickler.load()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module == "__main__":
            raise pickle.UnpicklingError(f"__main__.{name} is named but not kept")
        return super().find_class(module, name)


def is_module(value: object) -> bool:
    """Whether a value is a module, whatever it says of itself."""
    return isinstance(value, ModuleType)
