"""Groups of plain objects that are taken for unchanged are: what is kept of them is what pickling gives."""

import bisect
import ctypes
import functools
import gc
import hashlib
import heapq
import itertools
import json
import mmap
import operator
import os
import random
import signal
import string
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash

from sandboxes.inside.kernel.snapshots.current_session import CurrentSession
from sandboxes.inside.kernel.snapshots.pickling import Stream
from sandboxes.inside.kernel.snapshots.reducers import Reducers
from sandboxes.inside.kernel.snapshots.storing import object_memory
from sandboxes.inside.kernel.snapshots.storing.block_digests import Digest
from sandboxes.inside.kernel.snapshots.storing.unchanged_objects import BATCH, UnchangedObjects, _is_all_of, is_quiet
from sandboxes.inside.kernel.snapshots.units import Partition, Unit
from sandboxes.inside.kernel.standby import threads

digest = xxhash.xxh3_128_digest
ROWS = 250
PICKED = 123
FILLING = 300_000
"""Characters by which a group is large enough to be looked at, cheaper than many rows."""
LETTERS = string.ascii_letters * 400


def rows(count: int = ROWS) -> list[Any]:
    them: list[Any] = [
        {"id": number + 1000, "name": f"name {number}", "tags": [number % 7, number % 3 + 500], "score": number / 7 + 1,
         "seen": {number, str(number)}, "pair": (number, [f"p{number}"]), "raw": b"%d bytes" % number,
         "big": 1 << 90 | number, "ünique": f"ü{number}", (number, "key"): None, "frozen": frozenset([number, "x"])}
        for number in range(count)
    ]  # fmt: skip
    them[0]["filling"] = "x" * FILLING
    return them


class Both:
    """The groups of a session by both ways: recognised where they have not changed, and pickled.

    Threads that were there before are not counted: those of what runs the tests change nothing of theirs.
    """

    def __init__(self, digest: Digest = digest) -> None:
        CurrentSession.remember_streams()
        before = sys._current_frames().keys() - {threading.get_ident()}
        self.quiet = functools.partial(is_quiet, before)
        self.known = Partition(UnchangedObjects(digest, self.quiet))
        self._stored: dict[str, bytes] = {}
        self.units: list[Unit] = []

    def keep(self, **values: Any) -> set[str]:
        """Take a snapshot, and say which variables were recognised; what is kept of these is what pickling gives."""
        self.units = self.known.take(values, {})
        places, found = {}, set[str]()
        for one in self.units:
            data = bytes(one.stream.data)
            if one.stream.place is not None:
                data = self._stored[one.stream.place["blobs"][0]]
                found |= set(one.names)
                again = Stream({name: values[name] for name in one.names}, Reducers())
                assert data == bytes(again.data)
            name = hashlib.sha256(data).hexdigest()
            self._stored[name] = data
            places[one.names] = {"blobs": [name], "size": len(data)}
        self.known.settle(places)
        return found

    def settle(self, **values: Any) -> None:
        """Keep until all is recognised."""
        for _ in range(5):
            if self.keep(**values) == set(values):
                return
        raise AssertionError("it is not recognised")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """No handlers of signals, which might change anything at any time: the limit of time of a test has one."""
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    own = {number: one for number, one in handlers.items() if callable(one) and one is not signal.default_int_handler}
    for number in own:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in own.items():
        signal.signal(number, handler)


@pytest.fixture
def both() -> Both:
    return Both()


def in_a_child(call: Callable[[], None]) -> None:
    """Call something in a copy of this process, which has one thread, whatever the libraries of this one have."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            call()
            code = 0
        except BaseException as error:
            sys.__stderr__.write(f"in the child: {error!r}\n")  # type: ignore[union-attr]
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


M_MMAP_THRESHOLD = -3
POKED: list[tuple[int, int]] = []
"""Addresses of words that were written by hand, and what was there: it is put back before anybody lets go of it."""


def poke(value: Any, at: int, what: int) -> None:
    place = id(value) + at - at % 8
    POKED.append((place, ctypes.c_uint64.from_address(place).value))
    ctypes.c_uint8.from_address(id(value) + at).value ^= what


def exchange(value: tuple[Any, ...]) -> None:
    """Exchange two items of a tuple, as only compiled code can."""
    items = (ctypes.c_uint64 * 2).from_address(id(value) + object_memory.TUPLE_ITEMS)
    items[0], items[1] = items[1], items[0]


def put_back() -> None:
    while POKED:
        place, before = POKED.pop()
        ctypes.c_uint64.from_address(place).value = before


def made_again(them: list[Any]) -> None:
    """Another record, with another number in it, at the address of one that was there."""
    gc.collect()  # empties CPython's list of freed dicts: with a full one an address goes where others come first
    for place in range(PICKED, ROWS):
        before, address = dict(them[place]), id(them[place])
        them[place] = None
        held = [{**before, "score": 0.5} for _ in range(40)]
        if found := [one for one in held if id(one) == address]:
            them[place] = found[0]
            return
        them[place] = before
    holders = [type(one) for one in gc.get_referrers(them[-1])]
    raise AssertionError(f"the address was not given out again; what holds a record: {holders}")


def number_made_again(them: list[Any]) -> None:
    """Another number at the address of one that was there: the record points to the same place as before."""
    record = them[PICKED]
    address = id(record["score"])
    record["score"] = None
    held = list(map(float, range(50)))
    record["score"] = next(one for one in held if id(one) == address)


def lengthened(them: list[Any]) -> None:
    name = them[PICKED].pop("name")
    name += "x"
    them[PICKED]["name"] = name


def by_a_thread(them: list[Any]) -> None:
    thread = threading.Thread(target=operator.setitem, args=(them[PICKED]["tags"], 0, 99))
    thread.start()
    thread.join()


def by_a_finalizer(them: list[Any]) -> None:
    class Last:
        def __del__(self) -> None:
            them[PICKED]["id"] = -1

    Last()


def by_a_child(them: list[Any]) -> None:
    """Another process writes into the memory of this one: the digits of a number."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(0x59616D61, ctypes.c_ulong(-1 & (1 << 64) - 1))
    parent, place = os.getpid(), id(them[PICKED]["score"]) + 16
    child = os.fork()
    if child == 0:
        held = ctypes.create_string_buffer(b"written.")
        local, remote = (ctypes.c_uint64 * 2)(ctypes.addressof(held), 8), (ctypes.c_uint64 * 2)(place, 8)
        os._exit(libc.process_vm_writev(parent, local, 1, remote, 1, 0) != 8)
    assert os.waitpid(child, 0)[1] == 0


CHANGES: dict[str, Callable[[list[Any]], Any]] = {
    "an item": lambda them: them[PICKED].__setitem__("id", 5),
    "an equal number of another type": lambda them: them[PICKED].__setitem__("score", 0),
    "true for one": lambda them: them[1]["tags"].__setitem__(0, True),
    "minus zero": lambda them: them[PICKED].__setitem__("score", -0.0),
    "setdefault": lambda them: them[PICKED].setdefault("new", None),
    "update": lambda them: them[PICKED].update(id=3, name="other"),
    "update from the right": lambda them: them[PICKED].__ior__({"id": 4}),
    "pop": lambda them: them[PICKED].pop("id"),
    "popitem": lambda them: them[PICKED].popitem(),
    "clear": lambda them: them[PICKED].clear(),
    "the order of keys": lambda them: them[PICKED].__setitem__("id", them[PICKED].pop("id")),
    "another key": lambda them: them[PICKED].__setitem__("ix", them[PICKED].pop("id")),
    "all values are exchanged": lambda them: them[PICKED].update(id=them[PICKED]["big"], big=them[PICKED]["id"]),
    "a dict of its own": lambda them: them.__setitem__(PICKED, json.loads('{"id": 1}')),
    "a list grows": lambda them: them[PICKED]["tags"].append(1),
    "a list shrinks": lambda them: them[PICKED]["tags"].pop(),
    "a list is sorted": lambda them: them[PICKED]["tags"].sort(reverse=True),
    "a list is turned": lambda them: them[PICKED]["tags"].reverse(),
    "a slice": lambda them: them[PICKED]["tags"].__setitem__(slice(0, 1), [8, 8, 8]),
    "a heap": lambda them: heapq.heappush(them[PICKED]["tags"], -5),
    "a place by bisection": lambda them: bisect.insort(them[PICKED]["tags"], 3, key=lambda one: -one),
    "two change places": lambda them: operator.setitem(them, slice(3, 5), them[3:5][::-1]),
    "all change places": lambda them: random.Random(0).shuffle(them),
    "one goes": lambda them: them.__delitem__(PICKED),
    "nearly all go": lambda them: them.__delitem__(slice(10, None)),
    "one comes": lambda them: them.append(them[0]),
    "a list in a tuple": lambda them: them[PICKED]["pair"][1].append(0),
    "a tuple": lambda them: them[PICKED].update(pair=(*them[PICKED]["pair"], 1)),
    "add": lambda them: them[PICKED]["seen"].add(3.5),
    "the next that pop gives": lambda them: them[PICKED]["seen"].add(them[PICKED]["seen"].pop()),
    "discard": lambda them: them[PICKED]["seen"].discard(PICKED),
    "what is in one only": lambda them: them[PICKED]["seen"].__ixor__({1, 2}),
    "a frozen set": lambda them: them[PICKED].update(frozen=them[PICKED]["frozen"] | {9}),
    "a text by hand": lambda them: poke(them[PICKED]["name"], object_memory.TEXT_STATE + 20, 1),
    "a text with others than ASCII": lambda them: poke(them[PICKED]["ünique"], sys.getsizeof("ü") - 2, 1),
    "bytes by hand": lambda them: poke(them[PICKED]["raw"], 33, 1),
    "a number by hand": lambda them: poke(them[PICKED]["id"], 24, 1),
    "the last digit of a number by hand": lambda them: poke(them[PICKED]["big"], 24 + 12, 1),
    "a float by hand": lambda them: poke(them[PICKED]["score"], 23, 0x80),
    "the first bits of a float by hand": lambda them: poke(them[PICKED]["score"], 16, 1),
    "a tuple by hand": lambda them: exchange(them[PICKED]["pair"]),
    "text appended in place": lengthened,
    "the same address": made_again,
    "the same address of a number": number_made_again,
    "a thread": by_a_thread,
    "a finalizer": by_a_finalizer,
    "a child": by_a_child,
    "compiled code": lambda them: np.frompyfunc(lambda one: one.update(id=1), 1, 1)(np.array([them[PICKED]], "O")),
    "a finished iterator": lambda them: list(map(operator.methodcaller("append", 1), [them[PICKED]["tags"]])),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen_whoever_makes_it(both: Both, change: str) -> None:
    them = rows()
    both.settle(them=them)
    CHANGES[change](them)
    try:
        assert not both.keep(them=them)
    finally:
        put_back()


def see_changes_and_read_nothing_that_is_gone() -> None:
    for what in ("an item", "nearly all go", "the same address", "a float by hand", "a finalizer"):
        both, them = Both(), rows()
        both.settle(them=them)
        CHANGES[what](them)
        assert not both.keep(them=them), what
    holes = fill_holes()
    both, them = Both(), rows()
    both.settle(them=them)
    give_back(them)
    assert not both.keep(them=them)
    del holes


def fill_holes() -> list[str]:
    """Have the system get back the memory of a filling when it is let go of, which lies by itself then."""
    libc = ctypes.CDLL(None)
    libc.mallopt(M_MMAP_THRESHOLD, FILLING // 2)
    libc.malloc_trim(0)
    holes: list[str] = []
    while is_there(id("x" * FILLING)):  # it was in a hole
        holes.append("x" * FILLING)
    return holes


def give_back(them: list[Any]) -> None:
    place = id(them[0].pop("filling"))  # pytest would hold on to it within the assertion
    assert not is_there(place)


def is_there(filling: int) -> bool:
    """Whether the memory of a filling that was let go of can still be read."""
    return object_memory.reader().is_readable(np.array([(filling + FILLING // 2) // mmap.PAGESIZE]))  # type: ignore[union-attr]


@pytest.mark.slow
def test_changes_are_seen_by_a_process_with_one_thread_and_memory_that_is_gone_is_not_read() -> None:
    def look() -> None:
        assert threads() == 1
        see_changes_and_read_nothing_that_is_gone()

    in_a_child(look)


@pytest.mark.slow
def test_changes_are_seen_where_there_are_threads_and_memory_that_is_gone_is_not_read() -> None:
    def look() -> None:
        end = threading.Event()
        threading.Thread(target=end.wait, daemon=True).start()
        assert threads() > 1
        see_changes_and_read_nothing_that_is_gone()

    in_a_child(look)


def test_memory_that_is_given_back_while_it_is_read_is_not_read() -> None:
    def look() -> None:
        batches: Iterator[int] = itertools.repeat(0)

        def of_batch(data: Any) -> bytes:
            if next(batches) == 1:
                give_back(them)
            return digest(data)

        holes, both, them = fill_holes(), Both(of_batch), rows()
        them[0]["filling"] = "x" * (2 * FILLING)  # more than what is read into takes of its place
        both.settle(them=them)
        [group] = both.known._unchanged._groups.values()
        assert group.memory is not None
        begins = int(np.searchsorted(group.memory.pages, id(them[0]["filling"]) // mmap.PAGESIZE))
        batches = itertools.count(1 - begins // BATCH)  # the last is where the filling begins
        assert not both.keep(them=them)
        del holes
        assert "filling" not in them[0]

    in_a_child(look)


def test_looking_is_no_change(both: Both) -> None:
    them = rows()
    them[0]["point"] = point = (len(them), "x")
    both.settle(them=them)
    looks: list[Callable[[], Any]] = [
        gc.collect, lambda: json.dumps([one["name"] for one in them]), lambda: sorted(one["score"] for one in them),
        lambda: [hash(one["name"]) for one in them], lambda: [one["ünique"].encode() for one in them],
        lambda: [one["frozen"] in {one["frozen"]} for one in them], lambda: repr(them), lambda: hash(point),
        lambda: [ctypes.pythonapi.PyUnicode_AsUTF8(ctypes.py_object(one["ünique"])) for one in them],
    ]  # fmt: skip
    for look in looks:
        look()
        assert both.keep(them=them, beside=[1]) == {"them"}


def test_what_is_recognised_is_not_held_and_not_written(both: Both) -> None:
    them = rows()
    both.settle(them=them)
    counted = [sys.getrefcount(one) for one in (them, them[5], them[5]["name"])]
    both.known.take({"them": them}, {})
    assert [sys.getrefcount(one) for one in (them, them[5], them[5]["name"])] == counted


def test_a_variable_that_is_bound_to_an_equal_object_is_pickled(both: Both) -> None:
    both.settle(them=rows())
    assert not both.keep(them=rows())


def test_groups_are_joined_by_what_they_share_and_parted_again(both: Both) -> None:
    them, beside, pair = rows(), rows(), (1, "two")
    them[3]["pair"] = beside[4]["pair"] = pair
    both.settle(them=them, beside=beside)
    assert len(both.units) == 2
    beside[7]["id"] = -1
    assert both.keep(them=them, beside=beside) == {"them"}
    assert not both.keep(them=them, beside=beside, one=them[5]) & {"them"}
    both.settle(them=them, beside=beside, one=them[5])
    assert not both.keep(them=them, beside=beside, pair=pair)
    assert len(both.units) == 1
    both.settle(them=them, beside=beside, pair=pair)
    both.settle(them=them, beside=beside)
    beside.append(them[0])
    assert not both.keep(them=them, beside=beside)
    assert len(both.units) == 1


class Logs:
    """What writes into a list when it is pickled."""

    def __init__(self, log: list[Any]) -> None:
        self.log, self.count = log, itertools.count()
        self.often = True

    def __reduce__(self) -> Any:
        if self.often:
            self.log.append(next(self.count))
        return str, ("logged",)


def test_what_pickling_another_variable_changes_is_seen_next_time(both: Both) -> None:
    log = rows()
    both.settle(log=log)
    logs = Logs(log)
    for _ in range(4):
        both.known.take({"log": log, "logs": logs}, {})
        both.known.settle({("log",): {"blobs": ["as it was before"], "size": 1}})
    logs.often = False
    assert not both.keep(log=log, logs=logs)
    assert len(log) > ROWS


class Taken:
    """What leaves the list that it is in when it is pickled."""

    def __init__(self, home: list[Any]) -> None:
        self.home = home

    def __reduce__(self) -> Any:
        self.home.remove(self)
        return str, ("taken",)


def test_what_is_plain_only_after_it_was_pickled_is_pickled_again(both: Both) -> None:
    them = rows()
    for _ in range(4):
        them.append(Taken(them))
        both.known.take({"them": them}, {})
        both.known.settle({("them",): {"blobs": ["with it"], "size": 1}})
    assert len(them) == ROWS
    assert not both.keep(them=them)


OTHERS: dict[str, Callable[[], Any]] = {
    "a bytearray": lambda: bytearray(b"held"), "an ordered dict": lambda: OrderedDict(a=1),
    "an array": lambda: np.zeros(3), "NaN": lambda: float("nan"),
    "a complex number": lambda: 1j, "a function": lambda: len, "a class": lambda: dict,
    "the session's own": lambda: sys.argv, "large bytes": lambda: b"x" * (1 << 20), "an object": lambda: Logs([]).count,
    "a text of a class": lambda: type("Text", (str,), {})("x"), "deep lists": lambda: json.loads("[" * 90 + "]" * 90),
}  # fmt: skip


@pytest.mark.parametrize("other", OTHERS)
def test_what_is_not_plain_is_always_pickled(both: Both, other: str) -> None:
    them = [*rows(), OTHERS[other]()]
    for _ in range(3):
        assert not both.keep(them=them)


def test_a_bytearray_that_is_filled_is_seen(both: Both) -> None:
    them = [*rows(), bytearray(9)]
    for _ in range(3):
        both.keep(them=them)
        with Path(__file__).open("rb", buffering=0) as file:
            file.readinto(them[-1])


def test_what_becomes_one_of_the_sessions_own_objects_is_named_again(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    them = rows()
    both.settle(them=them)
    monkeypatch.setattr(sys, "argv", them)
    assert not both.keep(them=them)


def test_a_snapshot_that_was_not_written_is_no_place(both: Both) -> None:
    them = rows()
    both.keep(them=them)
    both.known.take({"them": them}, {})
    assert not both.keep(them=them)
    both.settle(them=them)


def test_a_group_that_changes_often_is_looked_at_less_and_less() -> None:
    both, them, recognised = Both(), rows(), 0
    for number in range(60):
        them[number]["id"] = 0 if number % 3 == 0 else them[number]["id"]
        recognised += bool(both.keep(them=them))
    assert recognised <= 2
    both = Both()
    for number in range(30):
        them[number]["id"] = 0 if number % 15 == 0 else them[number]["id"]
        recognised += bool(both.keep(them=them))
    assert recognised >= 20


def test_threads_and_handlers_of_signals_are_not_trusted_and_not_missed() -> None:
    in_a_child(meet_threads_and_handlers)  # which has no threads but its own: all of them count


def meet_threads_and_handlers() -> None:
    both = Both()
    assert both.quiet.args == (set(),)
    them, end = rows(), threading.Event()
    both.settle(them=them)
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        assert both.keep(them=them) == {"them"}
        them[PICKED]["id"] = 5
        for _ in range(4):
            assert not both.keep(them=them)
    finally:
        end.set()
        thread.join()
    before = signal.signal(signal.SIGUSR2, lambda *_: None)
    try:
        them[PICKED]["id"] = 6
        for _ in range(4):
            assert not both.keep(them=them)
    finally:
        signal.signal(signal.SIGUSR2, before)
    both.settle(them=them)


@pytest.fixture
def unknown(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    object_memory._reader.cache_clear()
    monkeypatch.setattr(object_memory, "NEWEST", (3, 0))
    yield
    object_memory._reader.cache_clear()


def test_in_a_python_of_which_nothing_is_known_all_is_pickled(both: Both, unknown: None) -> None:
    them = rows()
    for number in range(4):
        assert not both.keep(them=them)
        them[number]["id"] = -1


@pytest.mark.parametrize(
    "name",
    [
        *("TEXT_STATE", "DICT_KEYS", "TABLE_COUNT", "LIST_ITEMS", "TUPLE_ITEMS"),
        *("SET_TABLE", "SET_MASK", "SET_FINGER", "SIZE", "OF_TEXTS"),
    ],
)
def test_a_layout_that_is_another_is_found_out(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(object_memory, name, 16 if name == "SET_MASK" else 0)
    object_memory._reader.cache_clear()
    assert object_memory.reader() is None
    object_memory._reader.cache_clear()


def test_this_python_is_known_and_the_walk_finds_what_a_pickler_meets() -> None:
    reader = object_memory.reader()
    assert reader is not None
    CurrentSession.remember_streams()
    for seed in range(30):
        value = [some_value(random.Random(seed), 5)]
        memory = reader.find([id(value)])
        assert memory is not None
        stream = Stream({"value": value}, Reducers())
        assert _is_all_of(stream, ("value",), memory)
        assert set(memory.objects.tolist()) <= set(stream.memo())


def some_value(rng: random.Random, deep: int) -> Any:
    count = rng.randrange(5 if deep < 5 else 90)
    text, other = rng.choice(LETTERS) * rng.randrange(40), "ß漢"[: rng.randrange(3)] * rng.randrange(30)
    number, bytes_ = rng.randrange(1 << rng.randrange(1, 200)), rng.randbytes(rng.randrange(30))
    plain = [number, -number, rng.random(), text, other, bytes_, None, True]
    if not deep or rng.random() < 0.3:
        return rng.choice(plain)
    kind = rng.choice([list, dict, tuple, set, frozenset, dict, list])
    if kind in (set, frozenset):
        return kind(rng.choice(plain) for _ in range(count))
    if kind is dict:
        return {(rng.choice(LETTERS) * 3 if rng.random() < 0.8 else rng.random()): some_value(rng, deep - 1)
                for _ in range(count)}  # fmt: skip
    return kind(some_value(rng, deep - 1) for _ in range(count))


def change_something(rng: random.Random, value: Any) -> None:
    """Change one of the containers in a value, or none."""
    while True:
        inner = [one for one in (value.values() if type(value) is dict else value) if type(one) in (dict, list, set)]
        if not inner or rng.random() < 0.4:
            break
        value = rng.choice(inner)
    new, what = some_value(rng, 2), rng.randrange(4)
    if type(value) is dict:
        key = rng.choice([*value, "new"])
        if what == 0:
            value.pop(key, None)
        elif what == 1:
            value[key] = new
        elif value:
            value[key] = value.pop(key, 0)
    elif type(value) is list:
        if what == 0 and value:
            value.pop(rng.randrange(len(value)))
        elif what == 1 and value:
            value[rng.randrange(len(value))] = new
        elif what == 2:
            value.reverse()
        else:
            value.append(new)
    elif type(value) is set:
        (value.add if what else value.discard)(rng.choice([*value, 7]))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_random_changes_between_snapshots_are_all_seen(seed: int) -> None:
    def run() -> None:
        rng, both, recognised = random.Random(seed), Both(), 0
        values: dict[str, Any] = {name: [some_value(rng, 4) for _ in range(5_000)] for name in ("a", "b")}
        for _ in range(20):
            if rng.random() < 0.25:
                change_something(rng, values[rng.choice("ab")])
            elif rng.random() < 0.1:
                values["a"].append(values["b"][0])
            elif rng.random() < 0.2:
                values["c"] = some_value(rng, 3)
            recognised += len(both.keep(**values))
        assert recognised > 3, f"quiet: {both.quiet()}, the layout is known: {object_memory.reader() is not None}"

    if seed:
        in_a_child(run)
    else:
        run()
