"""Fingerprints for proofs: what a session cannot tell apart has one, and what holds a function is seen."""

import ctypes
import enum
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sandboxes.inside.kernel.proving.deep_walk import DeepWalk, held
from sandboxes.inside.kernel.snapshots.singletons import CurrentSession

SPACE = globals()
CurrentSession.remember_streams()


class Listener:
    """Something of the user's."""

    def hears(self) -> None: ...
    def sees(self) -> None: ...


class Perm(enum.Flag):
    """A flag of the user's."""

    R = 1
    W = 2


def digest(value: Any) -> bytes:
    walk = DeepWalk(SPACE)
    walk.begin("value")
    return walk.digest(value)


def as_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the classes of this file be a cell's."""
    for one in (Listener, Perm):
        monkeypatch.setattr(one, "__module__", "__main__")


def test_methods_that_weak_references_hold_are_all_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    as_users(monkeypatch)
    listeners = [Listener() for _ in range(50)]
    # Each reference makes a method anew when it is asked, mostly where the one before it was.
    callbacks = [weakref.WeakMethod(one.hears) for one in listeners] + [
        weakref.WeakMethod(one.sees) for one in listeners
    ]
    assert held(callbacks, SPACE) == {"Listener": 50, "Listener.hears": 1, "Listener.sees": 1}


def test_flags_that_were_combined_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    as_users(monkeypatch)
    assert held([Perm.R, Perm.R | Perm.W, Listener()], SPACE) == {"Listener": 1}


def test_what_running_code_leaves_in_its_variables_does_not_count() -> None:
    space: dict[str, Any] = {"a": 1}
    before = digest(space)
    exec("a", space)
    assert "__builtins__" in space
    assert digest(space) == before
    assert digest({"a": 2}) != before


def _frame(first: str, second: str) -> Any:
    frame = pd.DataFrame({"a": [1]})
    object.__setattr__(frame, first, 1)
    object.__setattr__(frame, second, 1)
    return frame


def _over_memory_of_c() -> Any:
    return np.ctypeslib.as_array((ctypes.c_int * 3)(1, 2, 3))


def _with_validity() -> Any:
    return pa.Array.from_buffers(pa.int64(), 2, [pa.py_buffer(b"\3"), pa.py_buffer((1).to_bytes(8, "little") * 2)])


def _map(*names: str) -> Any:
    rpds = pytest.importorskip("rpds")
    return rpds.HashTrieMap({name: len(name) for name in names})


EQUAL: dict[str, tuple[Callable[[], Any], Callable[[], Any], Callable[[], Any]]] = {
    "attributes of a frame": (lambda: _frame("x", "y"), lambda: _frame("y", "x"), lambda: _frame("x", "z")),
    "names of a type": (_over_memory_of_c, lambda: np.array([1, 2, 3], "i4"), lambda: np.array([1, 2, 4], "i4")),
    "which values are there": (_with_validity, lambda: pa.array([1, 1]), lambda: pa.array([1, None])),
    "batches": (
        lambda: pa.record_batch({"a": _with_validity()}),
        lambda: pa.record_batch({"a": pa.array([1, 1])}),
        lambda: pa.record_batch({"b": pa.array([1, 1])}),
    ),
    "chunks": (
        lambda: pa.chunked_array([[1], [2]]),
        lambda: pa.chunked_array([[1, 2]]),
        lambda: pa.chunked_array([[1]]),
    ),
    "maps by hash": (lambda: _map("a", "bc"), lambda: _map("bc", "a"), lambda: _map("a")),
}
"""Two that no code of the user's is likely to tell apart, and one that is another."""


@pytest.mark.parametrize("name", EQUAL)
def test_what_is_the_same_has_one_fingerprint(name: str) -> None:
    one, same, other = (digest(make()) for make in EQUAL[name])
    assert one == same
    assert one != other


def test_an_open_file_is_known_by_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deep").mkdir()
    for folder in (tmp_path, tmp_path / "deep"):
        (folder / "a.txt").write_text("text")
    monkeypatch.chdir(tmp_path)
    here, deep = Path("a.txt"), Path("deep/a.txt")
    with here.open() as file, (tmp_path / here).open() as same, deep.open() as other:
        monkeypatch.chdir(tmp_path / "deep")
        assert digest(file) == digest(same)
        assert digest(file) != digest(other)
