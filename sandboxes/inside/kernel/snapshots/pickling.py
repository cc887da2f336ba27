"""The pickler and the unpickler of snapshots: cloudpickle's, with reducers of our own."""

import contextlib
import functools
import io
import operator
import pickle
from collections.abc import Callable, Iterator
from types import (
    CodeType,
    FunctionType,
)
from typing import Any

from . import singletons
from .current_session import CurrentSession
from .library_state import imported_objects
from .memo_table import MemoTable
from .modules import namespaces
from .modules.module_names import find_moved
from .objects import id_numbers, set_order
from .objects.functions import intern_keys
from .objects.generated_functions import Copy
from .objects.nans_and_sentinels import WRITTEN, LoadedNans, WrittenNans
from .private_cloudpickle import cloudpickle
from .reducers import Reducers, reduce_named
from .storing.manifest import Place

LARGE = 16 << 10
"""Bytes from which on a buffer leaves the stream."""
COPIED = 1 << 16
"""Objects up to which a copy of a memo is held until it is asked for."""


class Stream:
    """Some variables as bytes, and the buffers that go beside them.

    They stand one after the other, each with its name, and share one memo: one that is loaded later finds what came
    before it.
    """

    place: Place | None = None
    """Where it is kept already."""
    identities: set[int]
    """Numbers in it that may be the identities of objects of other streams."""

    def __init__(self, values: dict[str, Any], reducers: Reducers) -> None:
        self._special = reducers.special
        self.nans: WrittenNans | None = None
        """The NaN in it; None: there are none."""
        # Functions and classes first: loading an instance may run them, by their names. (`isinstance` asks a proxy.)
        items = sorted(values.items(), key=lambda item: not issubclass(type(item[1]), (FunctionType, type)))
        if reducers.with_nans.isdisjoint(values):
            self._write(items, reducers)
            if WRITTEN.search(self.data) is None:
                return
        self.nans = WrittenNans(reducers.nans)
        self._write(items, reducers)

    def _write(self, items: list[tuple[str, Any]], reducers: Reducers) -> None:
        self.file = io.BytesIO()
        self.buffers: list[pickle.PickleBuffer] = []
        self._pickler = _pickler_class(self.nans is not None)(self.file, self.buffers, reducers)
        self._pickler.nans = self.nans
        reducers.begun.clear()
        self._pickler.memo = self._special
        self._met: int | None = None
        self._copied: dict[int, tuple[int, Any]] | None = None
        asks = CurrentSession.asks_for_identities
        numbers = {name: value for name, value in items if asks and id_numbers.may_be_one(value)}
        if CurrentSession.asks_for_attributes:
            items = [(name, namespaces.as_variables(value, lambda: reducers.made_modules)) for name, value in items]
        for item in items:
            if item[0] not in numbers:
                self._pickler.dump(item)
        self.identities: set[int] = set()
        known = self._pickler.memo.copy() if numbers else {}
        for name, number in numbers.items():
            self._pickler.dump((name, id_numbers.Identity(known[number][1]) if number in known else number))
            self.identities |= {number} - known.keys()
        self._fill_copies()
        if self.file.tell() <= imported_objects.MOST_BYTES and (places := imported_objects.places_of(items)):
            self._pickler.dump(_Arrangement(imported_objects.note, (places,)))
        if set_order.may_have_sets(self.file.getvalue()) and (wanted := set_order.recipes(self._sets())):
            self._met = len(self.table())
            self._pickler.dump(_Arrangement(set_order.arrange, (wanted,)))
        if asks:
            numbered, others = id_numbers.recipes(self._all_met())
            self.identities |= others
            if numbered:
                self._met = len(self.table()) if self._met is None else self._met
                self._pickler.dump(_Arrangement(id_numbers.renumber, (numbered,)))

    def _fill_copies(self) -> None:
        """What copies of all variables have of these, which may lead to others."""
        filled = 0
        while filled < len(self._pickler.copies):
            for copy in list(self._pickler.copies.values())[filled:]:
                self._pickler.dump(_Arrangement(*copy.rest()))
                filled += 1

    def _sets(self) -> list[Any]:
        """All sets in the memo so far, in the order of the stream: that of the memo is another each time."""
        copied = self._pickler.memo.copy()
        if len(copied) <= COPIED:
            self._copied = copied
        sets = [entry for entry in copied.values() if type(entry[1]) in (set, frozenset)]
        return [value for _, value in sorted(sets, key=operator.itemgetter(0))]

    @property
    def data(self) -> memoryview:
        """The bytes of the stream."""
        return self.file.getbuffer()

    @property
    def size(self) -> int:
        """How many they are."""
        return len(self.data)

    @property
    def has_code(self) -> bool:
        """Whether it holds code, which another version of Python must not even load."""
        return bool(self._pickler.has_code)

    @property
    def by_value(self) -> set[int]:
        """Identities of the classes and functions that it holds instead of naming them."""
        found: set[int] = self._pickler.by_value
        return found

    @property
    def met(self) -> int:
        """How many objects were met, names and their pairs with values included, but not what every stream names."""
        return (len(self.table()) if self._met is None else self._met) - len(self._special)

    def table(self) -> MemoTable:
        """The memo of its pickler, to be asked."""
        return MemoTable(self._pickler)

    def is_own(self, identity: int) -> bool:
        """Whether an object, if it is in the memo, is not one that every stream names."""
        return identity not in self._special

    @property
    def is_copied(self) -> bool:
        """Whether its memo was copied, so that `memo` takes no time."""
        return self._copied is not None

    def _all_met(self) -> dict[int, tuple[int, Any]]:
        return self._copied or self._pickler.memo.copy()

    def memo(self) -> dict[int, tuple[int, Any]]:
        """All objects in it, by identity, without those that every stream names."""
        copied, self._copied = self._all_met(), None
        for identity in self._special:
            copied.pop(identity, None)
        if self.nans is not None:
            copied.update({identity: (0, value) for identity, value in self.nans.own.items()})
        return copied


@functools.cache
def _pickler_class(with_nans: bool) -> Any:
    borrowed = cloudpickle()

    class Pickler(borrowed.Pickler):  # type: ignore[name-defined, misc]
        def __init__(self, file: io.BytesIO, buffers: list[pickle.PickleBuffer], reducers: Reducers) -> None:
            def leave(buffer: pickle.PickleBuffer) -> bool:
                if memoryview(buffer).nbytes < LARGE:
                    return True
                buffers.append(buffer)
                return False

            self.dispatch_table = reducers.dispatch_table  # before it is looked up
            super().__init__(file, protocol=5, buffer_callback=leave)
            self.reducers = reducers
            self.known, self.by_name = reducers.known, reducers.by_name
            self.by_value: set[int] = set()
            self.copies: dict[int, Copy] = {}
            self.has_code = False

        def reducer_override(self, value: Any) -> Any:
            kind = type(value)
            reduce = self.known[kind]
            if reduce is not None:
                return reduce(self, value)
            if kind is FunctionType or issubclass(kind, type):  # of nothing else cloudpickle has something to say
                return NotImplemented if id(value) in self.by_name else reduce_named(self, value)
            if kind is CodeType:
                self.has_code = True
            return NotImplemented

    if not with_nans:
        return Pickler

    class NanPickler(Pickler):
        nans: WrittenNans

        # It is called for each object, so only where it is needed, and it asks no more than it has to.
        def persistent_id(self, value: Any) -> Any:
            if type(value) is not float or value == value:
                return None
            return self.nans.number(value)

    return NanPickler


class _Arrangement:
    """Stands behind the variables of a stream: loading it puts something of them in order, as their sets."""

    def __init__(self, arrange: Callable[..., None], wanted: tuple[Any, ...]) -> None:
        self._arrange = arrange
        self._wanted = wanted

    def __reduce__(self) -> Any:
        return self._arrange, self._wanted


def load(data: bytes | bytearray | memoryview, buffers: list[Any], count: int) -> Iterator[tuple[str, Any]]:
    """The variables of a stream, one by one.

    Runs whatever the stream says, so only ever inside a sandbox.
    """
    cloudpickle()
    unpickler = _Unpickler(io.BytesIO(b"".join((singletons.prelude(), data))), buffers=buffers)
    unpickler.load()
    # Called with the variables as globals, as a cell would call it: formulas of statsmodels are evaluated where the
    # unpickler is called from.
    step = FunctionType(_load_next.__code__, CurrentSession.main.__dict__)
    for _ in range(count):
        item = step(unpickler)
        intern_keys(item[1])
        yield item
    with contextlib.suppress(EOFError):  # there is nothing behind them, as a rule
        while True:
            unpickler.load()


def _load_next(unpickler: Any) -> Any:
    return unpickler.load()


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, buffers: list[Any]) -> None:
        super().__init__(file, buffers=buffers)
        self._nans = LoadedNans()

    def persistent_load(self, number: Any) -> Any:
        return self._nans.find(number)

    def find_class(self, module: str, name: str) -> Any:
        if module == "__main__":
            raise pickle.UnpicklingError(f"__main__.{name} is named but not kept")
        try:
            return super().find_class(module, name)
        except (AttributeError, ImportError):
            if (moved := find_moved(module, name)) is None:
                raise
            return moved
