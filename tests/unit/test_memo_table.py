"""A pickler's memo is asked where it lies, and says the same as a copy of it."""

import io
import pickle
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sandboxes.inside.kernel.snapshots import memo_table
from sandboxes.inside.kernel.snapshots.current_session import CurrentSession
from sandboxes.inside.kernel.snapshots.memo_table import MemoTable
from sandboxes.inside.kernel.snapshots.pickling import Stream
from sandboxes.inside.kernel.snapshots.reducers import Reducers


def pickler_of(some: list[Any]) -> Any:
    made = pickle.Pickler(io.BytesIO(), protocol=5)
    made.dump(some)
    return made


@pytest.fixture(params=["table", "copy"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if request.param == "copy":  # as in a Python that keeps it elsewhere
        memo_table.is_as_known.cache_clear()
        monkeypatch.setattr(memo_table, "NEWEST", (0, 0))
    yield str(request.param)
    memo_table.is_as_known.cache_clear()


def test_this_python_is_known() -> None:
    assert memo_table.is_as_known()


@pytest.mark.parametrize("count", [0, 1, 4, 5, 6, 100, 20_000])
def test_it_holds_what_a_copy_holds(way: str, count: int) -> None:
    chosen = random.Random(count)
    some = [[str(number), {number: [number]}] for number in range(count)]
    others = [[str(number)] for number in range(count)]
    chosen.shuffle(some)
    pickler = pickler_of(some)
    table, copied = MemoTable(pickler), pickler.memo.copy()
    assert len(table) == len(copied)
    assert all(one in table for one in copied)
    assert not any(id(one) in table or id(one[0]) in table for one in others)
    assert 0 not in table


def test_what_every_stream_names_is_no_part_of_it(way: str, asked: Callable[[Any], Stream]) -> None:
    held = [1, 2]
    stream = asked({"a": {"held": held, "main": CurrentSession.main}})
    assert id(held) in stream.table()
    assert stream.is_own(id(held))
    assert not stream.is_own(id(CurrentSession.main))
    assert {one for one in stream.memo() if one in stream.table()} == set(stream.memo())


@pytest.fixture
def asked() -> Callable[[Any], Stream]:
    CurrentSession.remember_streams()
    return lambda values: Stream(values, Reducers())
