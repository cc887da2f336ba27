"""Fingerprints for proofs: what a session cannot tell apart has one, and what holds a function is seen."""

import ctypes
import enum
import io
import tarfile
import weakref
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from PIL import ImagePalette

from sandboxes.inside.kernel.proving.deep_walk import DeepWalk, held
from sandboxes.inside.kernel.snapshots.current_session import CurrentSession

SPACE = globals()


@pytest.fixture(autouse=True)
def streams() -> None:
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
    assert held([[one] for one in callbacks], SPACE) == {"Listener": 50, "Listener.hears": 1, "Listener.sees": 1}


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
    assert digest({"a": 1, "__builtins__": {}}) != before


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


def _set(*names: str) -> Any:
    return pytest.importorskip("rpds").HashTrieSet(names)


def _palette(colors: Any) -> Any:
    palette = ImagePalette.ImagePalette()
    palette.palette = colors
    return palette


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
        lambda: pa.chunked_array([_with_validity(), [2]]),
        lambda: pa.chunked_array([[1, 1], [2]]),
        lambda: pa.chunked_array([[1, 1, 2]]),
    ),
    "arrays in arrays": (
        lambda: pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), _with_validity()),
        lambda: pa.array([[1, 1]]),
        lambda: pa.array([[1, None]]),
    ),
    "dictionaries": (
        lambda: pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array(["a", "b"])),
        lambda: pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array(["a", "b"])),
        lambda: pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array(["a", "c"])),
    ),
    "parts of arrays": (
        lambda: pa.array([None, *range(20)])[3:],
        lambda: pa.array([None, *range(20)])[3:],
        lambda: pa.array([None, *range(20)])[4:],
    ),
    "palettes": (lambda: _palette(b"\1\2\3"), lambda: _palette([1, 2, 3]), lambda: _palette([1, 2, 400])),
    "maps by hash": (lambda: _map("a", "bc"), lambda: _map("bc", "a"), lambda: _map("a")),
    "sets by hash": (lambda: _set("a", "bc"), lambda: _set("bc", "a"), lambda: _set("a")),
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


def test_files_in_memory_and_in_archives_are_compared(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.txt", "text")
    sheet = io.BytesIO(b"rows")
    sheet.name = "a.xlsx"
    with zipfile.ZipFile(tmp_path / "a.zip") as archive, archive.open("a.txt") as one, archive.open("a.txt") as same:
        assert digest(one) == digest(same)
        same.read(1)
        assert digest(one) != digest(same)
        assert digest(sheet) != digest(io.BytesIO(b"rows"))


def test_what_a_map_holds_shares_the_same_whatever_its_order() -> None:
    walk = DeepWalk(SPACE)
    held_in = [[number] for number in range(20)]
    walk.begin("m")
    walk.digest(pytest.importorskip("rpds").HashTrieMap(enumerate(held_in)))
    walk.begin("x")
    walk.digest(held_in[7])
    assert walk.events == []


def test_a_file_in_an_archive_that_has_no_number_is_compared(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(tmp_path / "a.txt", "a.txt")
    with tarfile.open(tmp_path / "a.tar") as archive:
        one, same = archive.extractfile("a.txt"), archive.extractfile("a.txt")
        assert one is not None
        assert same is not None
        assert digest(one) == digest(same)
