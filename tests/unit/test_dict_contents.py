"""What a dict has is compared in its memory, and every change of it is seen there."""

import random
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from sandboxes.inside.kernel import dict_contents
from sandboxes.inside.kernel.dict_contents import DictContents, KnownEntries, is_alone, is_as_known


class Plain:
    """Its instances keep their attributes in a table that they share."""

    def __init__(self) -> None:
        self.a, self.b = 1, 2


def texts() -> dict[Any, Any]:
    return {str(number): [number] for number in range(30)}


def numbers() -> dict[Any, Any]:
    return {number: [number] for number in range(30)}


def replace(some: dict[Any, Any], key: Any) -> None:
    some[key] = [0]


def take_out_and_put_in(some: dict[Any, Any], key: Any) -> None:
    some[key] = some.pop(key)


def rename(some: dict[Any, Any], key: Any) -> None:
    some[f"{key}!"] = some.pop(key)


CHANGES: list[Callable[[dict[Any, Any], Any], object]] = [
    replace,
    take_out_and_put_in,
    rename,
    lambda some, key: some.pop(key),
    lambda some, key: some.update(new=1),
    lambda some, key: some.update({str(number): 0 for number in range(900)}),
    lambda some, key: some.clear(),
    lambda some, key: some.popitem(),
]


STEPS: list[Callable[[dict[Any, Any], Any], object]] = [replace, lambda some, key: some.pop(key, None), dict.get]


def test_this_python_is_known() -> None:
    assert is_as_known()


@pytest.mark.parametrize("made", [texts, numbers])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen(made: Callable[[], dict[Any, Any]], change: Callable[[dict[Any, Any], Any], object]) -> None:
    for key in made():
        some = made()
        held = list(some.items())
        contents = DictContents(some)
        assert not contents.is_same()  # nothing was remembered yet
        contents.remember()
        assert contents.is_same()
        assert held == list(some.items())
        change(some, key)
        assert not contents.is_same()
        contents.remember()
        assert contents.is_same()


def identities(item: tuple[Any, Any]) -> tuple[int, int]:
    return id(item[0]), id(item[1])


def test_random_changes_are_seen_and_what_is_put_back_is_the_same() -> None:
    dice = random.Random(1)
    some: dict[Any, Any] = {}
    contents = DictContents(some)
    for _ in range(3_000):
        key = dice.choice([str(dice.randrange(40)), dice.randrange(40)])
        before = list(some.items())
        contents.remember()
        dice.choice(STEPS)(some, key)
        after = list(some.items())
        same = [*map(identities, before)] == [*map(identities, after)]
        assert contents.is_same() is same
    key, value = next(iter(some.items()))
    contents.remember()
    some[key] = None
    some[key] = value
    assert contents.is_same()


def test_what_has_no_table_of_its_own_is_never_the_same() -> None:
    contents = DictContents(vars(Plain()))
    contents.remember()
    assert not contents.is_same()


def test_where_dicts_are_kept_elsewhere_none_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dict_contents, "NEWEST", (3, 10))
    is_as_known.cache_clear()
    contents = DictContents(texts())
    contents.remember()
    assert not contents.is_same()
    monkeypatch.undo()
    is_as_known.cache_clear()


@pytest.mark.parametrize("newest", [dict_contents.NEWEST, (3, 10)])
@pytest.mark.parametrize("change", CHANGES)
def test_entries_are_known_until_others_are_there(
    change: Callable[[dict[Any, Any], Any], object], newest: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dict_contents, "NEWEST", newest)
    is_as_known.cache_clear()
    some, known = texts(), KnownEntries()
    assert not known.are_same(some)
    assert known.are_same(some)
    change(some, "7")
    assert not known.are_same(some)
    assert known.are_same(some)
    assert not known.are_same(texts())
    monkeypatch.undo()
    is_as_known.cache_clear()


def test_a_key_that_is_equal_but_another_text_is_held_as_well() -> None:
    first, again = "".join(["name", "!"]), "".join(["name", "!"])
    some, known = {first: 1}, KnownEntries()
    known.are_same(some)
    some[again] = some.pop(first)
    assert not known.are_same(some)
    assert sys.getrefcount(again) == sys.getrefcount(first) + 2  # the dict has it, too


def test_another_thread_is_noticed() -> None:
    began, end = threading.Event(), threading.Event()

    def run() -> None:
        began.set()
        end.wait()

    thread = threading.Thread(target=run)
    thread.start()
    began.wait()
    try:
        assert not is_alone()
    finally:
        end.set()
        thread.join()


def test_what_is_no_dict_is_never_the_same() -> None:
    some: Any = [1, 2]
    contents = DictContents(some)
    contents.remember()
    assert not contents.is_same()
