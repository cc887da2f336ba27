"""Sets are put into the order that they had, with what later changes depend on; nothing of that touches the session."""

import gc
import pickle
import random
import sys
import threading
from array import array
from collections.abc import Iterator
from typing import Any

import pytest

from sandboxes.inside.kernel.snapshots.objects import set_order


class Counted:
    """An item that knows how often it was hashed."""

    calls = 0

    def __init__(self, number: int) -> None:
        self.number = number

    def __hash__(self) -> int:
        Counted.calls += 1
        return hash(str(self.number))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counted) and self.number == other.number

    def __repr__(self) -> str:
        return f"Counted({self.number})"


@pytest.fixture(autouse=True)
def known_anew() -> Iterator[None]:
    yield
    set_order.is_as_known.cache_clear()


def item(dice: random.Random) -> Any:
    number = dice.randrange(10**6)
    return dice.choice((str(number), number, (number, "x"), Counted(number), frozenset({number}), number / 7))


def change(one: set[Any], dice: random.Random) -> list[str]:
    """Do something with a set; what it gave."""
    given = []
    for _ in range(dice.randrange(12)):
        what = dice.randrange(4)
        if what == 0 and one:
            given.append(repr(one.pop()))
        elif what == 1 and one:
            one.discard(next(iter(one)))
        elif what == 2:
            one.add(str(dice.randrange(1_000)))
        else:
            one |= {dice.randrange(10**6) for _ in range(dice.randrange(4))}
    return given


def loaded(one: Any) -> Any:
    """A set as a stream brings it back, arranged."""
    made = pickle.loads(pickle.dumps(one, 5))
    set_order.arrange([(made, *recipe[1:]) for recipe in set_order.recipes([one])])
    return made


def test_this_python_is_known() -> None:
    assert set_order.is_as_known()


def test_sets_go_on_as_they_would_have_whatever_was_done_to_them() -> None:
    dice = random.Random(4)
    for _ in range(400):
        one = {item(dice) for _ in range(dice.choice((0, 3, 4, 5, 8, 20, 100)))}
        change(one, dice)
        made, further = loaded(one), dice.random()
        assert [*map(repr, made)] == [*map(repr, one)]
        assert change(made, random.Random(further)) == change(one, random.Random(further))
        assert [*map(repr, made)] == [*map(repr, one)]
        assert [repr(made.pop()) for _ in range(len(made))] == [repr(one.pop()) for _ in range(len(one))]
    gc.collect()  # walks through all tables that were written


def test_a_set_that_is_empty_again_gives_what_it_would_have_given() -> None:
    one = set("abcdefghij")
    while one:
        one.pop()
    made = loaded(one)
    for each in (one, made):
        each |= set("klmnopqrs")
    assert [made.pop() for _ in range(9)] == [one.pop() for _ in range(9)]
    assert set_order.may_have_sets(pickle.dumps([set()], 5))


def test_no_code_of_items_runs_while_a_snapshot_is_taken() -> None:
    one = {Counted(number) for number in range(100)}
    before = Counted.calls
    set_order.recipes([one, frozenset(one)][:1])
    assert Counted.calls == before


def test_of_a_large_table_no_copy_is_kept_and_a_change_is_seen() -> None:
    one = set(map(str, range(5_000)))
    first = set_order.recipes([one])
    assert len(set_order._recipes[id(one)][0][0]) < 100
    assert set_order.recipes([one]) == first
    one.add(one.pop())
    assert set_order.recipes([one]) != first


def test_a_large_table_with_few_items_is_left_alone() -> None:
    emptied = set(range(400_000))
    while len(emptied) > 5:
        emptied.pop()
    other = set("abcdefgh")
    other.pop()
    assert [recipe[0] for recipe in set_order.recipes([emptied, other])] == [other]


def test_other_threads_may_change_a_set_meanwhile() -> None:
    some: list[set[int]] = [set(range(count)) for count in (10, 1_000, 5_000)]
    over = threading.Event()

    def churn() -> None:
        dice = random.Random(1)
        while not over.is_set():
            for one in some:
                one.clear() if dice.random() < 0.3 else one.update(range(dice.randrange(5_000)))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(30):
            set_order.recipes(some)  # whatever it finds: it does not read what was freed
    finally:
        over.set()
        thread.join()
        sys.setswitchinterval(before)


@pytest.mark.parametrize(
    "wrong",
    [
        {"places": [0, 0, 2]},
        {"places": [0, 1, 99]},
        {"left": [0]},
        {"mask": 6},
        {"mask": (1 << 40) - 1},
        {"mask": -1},
        {"places": [5, 6, 7]},  # where no look for them leads
    ],
)
def test_a_recipe_that_does_not_fit_is_not_followed(wrong: dict[str, Any]) -> None:
    one = {16, 32, 64}
    recipe = {"mask": 31, "places": [16, 0, 1], "left": [], **wrong}
    places, left = (array("Q", recipe[name]).tobytes() for name in ("places", "left"))
    set_order.arrange([(one, recipe["mask"], places, left, 0)])
    gc.collect()
    assert list(one) == list({16, 32, 64})


def test_a_recipe_of_an_earlier_version_is_followed() -> None:
    one = set("abcdefgh")
    one.discard("a")
    made = {*list(one)}
    (recipe,) = set_order.recipes([one])
    set_order.arrange([(made, *recipe[1:4])])
    assert list(made) == list(one)


@pytest.mark.parametrize("flags", ["d", "t", "td"])
def test_debug_builds_and_those_without_a_lock_are_left_alone(flags: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "abiflags", flags)
    set_order.is_as_known.cache_clear()
    one = set("abcdefgh")
    one.pop()
    assert set_order.recipes([one]) == []
    set_order.arrange([(one, 7, b"", b"", 0)])
    assert len(one) == 7
