"""After a restore in a new process the variables are one graph of objects, as they were."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.conftest import Steps


async def test_two_names_for_one_frame_are_one_frame(steps: Steps) -> None:
    await steps.run("""
        import pandas as pd
        df = pd.DataFrame({"a": [1, 2, 3]})
        view = df
        d = {"x": df, "more": [df]}
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        df.loc[0, "a"] = 7
        print(view is df, d["x"] is df, d["more"][0] is df, int(d["x"].loc[0, "a"]))
    """)
        == "True True True 7\n"
    )


async def test_array_views_write_through_to_their_base(steps: Steps) -> None:
    await steps.run("""
        import numpy as np
        base = np.zeros((300, 400))
        row, column, part = base[3], base[:, 5], base[10:20, ::-3]
        flipped = base.T
        small = np.arange(6)
        tail, wide = small[4:], small.reshape(2, 3)
        records = np.zeros(4, dtype=[("a", "i4"), ("b", "f8")])
        a = records["a"]
        things = np.array([{}, [], None, 1], dtype=object)
        some = things[1:3]
        days = np.arange("2020-01-01", "2030-01-01", dtype="M8[D]")
        as_numbers = days.view("i8")
    """)
    await steps.take_up()
    assert await steps.run("""
        row[0], column[7], part[0, 0] = 1, 2, 3
        flipped[9, 9] = 4
        tail[0], wide[0, 1] = 40, 41
        a[2] = 5
        some[1] = "changed"
        as_numbers[0] = 0
        print(base[3, 0], base[7, 5], base[10, 399], base[9, 9], base.sum())
        print(small, records[2], things, days[0], some[0] is things[1])
    """) == ("1.0 2.0 3.0 4.0 10.0\n[ 0 41  2  3 40  5] (5, 0.0) [{} list([]) 'changed' 1] 1970-01-01 True\n")


async def test_views_stay_views_when_only_they_are_left_and_through_several_restores(steps: Steps) -> None:
    await steps.run("""
        import numpy as np
        base = np.arange(100_000.0)
        first, second = base[:10], base[5:50_000:2]
        del base
    """)
    for _ in range(2):
        await steps.take_up()
    assert await steps.run("first[7] = -1; print(second[1], np.shares_memory(first, second), len(second))") == (
        "-1.0 True 24998\n"
    )


async def test_arrays_over_a_bytearray_and_memoryviews_share_it(steps: Steps) -> None:
    await steps.run("""
        import numpy as np
        raw = bytearray(64)
        numbers = np.frombuffer(raw, "i4")
        window = memoryview(raw)[8:16]
        typed = memoryview(raw).cast("i")
        fixed = memoryview(b"abcdef")[2:4]
    """)
    await steps.take_up()
    assert await steps.run("numbers[2] = 258; print(raw[8:12], bytes(window[:2]), typed[2], bytes(fixed))") == (
        r"bytearray(b'\x02\x01\x00\x00') b'\x02\x01' 258 b'cd'" + "\n"
    )


async def test_arrays_keep_their_flags_order_and_type(steps: Steps) -> None:
    await steps.run("""
        import numpy as np
        def look(a):
            return type(a).__name__, str(a.dtype), a.shape, a.strides, a.flags.writeable, a.flags.f_contiguous, str(a)
        fixed = np.arange(4); fixed.flags.writeable = False
        large_fixed = np.arange(9_000.0); large_fixed.flags.writeable = False
        fortran = np.asfortranarray(np.arange(6.0).reshape(2, 3))
        large_fortran = np.asfortranarray(np.arange(9_000.0).reshape(90, 100))
        mixed = np.arange(24_000).reshape(20, 30, 40).transpose(1, 0, 2).copy(order="K")
        swapped = np.arange(5, dtype=">i4")
        masked = np.ma.masked_array([1, 2, 3], mask=[0, 1, 0])
        matrix = np.matrix([[1, 2], [3, 4]])
        records = np.rec.array([(1, "a"), (2, "b")], dtype=[("n", "i4"), ("s", "U3")])
        texts = np.array(["a", "bcd"]); empty = np.zeros((0, 3)); scalar = np.array(5); half = np.float16(1.5)
        strings = np.array(["x", "longer than before"], dtype=np.dtypes.StringDType())
        everything = [fixed, large_fixed, fortran, large_fortran, mixed, swapped, matrix, records, texts, empty, scalar]
    """)
    show = "print([look(a) for a in everything], masked, strings, half, records.n, type(half))"
    before = await steps.run(show)
    await steps.take_up()
    assert await steps.run(show) == before


async def test_what_refers_to_itself_comes_back(steps: Steps) -> None:
    await steps.run("""
        loop = [1]; loop.append(loop)
        a, b = {}, {}
        a["b"], b["a"] = b, a
        class Node:
            def __init__(self): self.me, self.call = self, self.say
            def say(self): return id(self) == id(self.me)
        node = Node()
        call = node.say
        def recursive(n): return 1 if n < 2 else n * recursive(n - 1)
        def outer():
            def inner(n): return 0 if n == 0 else 1 + inner(n - 1)
            return inner
        inner = outer()
        knot = (lambda: knot,)
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        print(loop[1] is loop, a["b"]["a"] is a, node.me is node, call(), node.call.__self__ is node, call.__self__ is node)
        print(recursive(5), inner(4), knot[0]() is knot)
    """)
        == "True True True True True True\n120 4 True\n"
    )


async def test_closures_that_share_a_cell_go_on_sharing_it(steps: Steps) -> None:
    await steps.run("""
        def counter():
            n = 0
            def up():
                nonlocal n
                n += 1
                return n
            return up, lambda: n
        up, show = counter()
        up()
        def late():
            def use(): return later
            if False: later = 1
            return use
        unset = late()
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        up(); print(show(), up(), show())
        try: unset()
        except NameError as error: print(error)
    """)
        == "2 3 3\ncannot access free variable 'later' where it is not associated with a value in enclosing scope\n"
    )


async def test_frames_that_share_memory_are_copied_on_writing_as_pandas_does(steps: Steps) -> None:
    await steps.run("""
        import numpy as np, pandas as pd
        df = pd.DataFrame({"a": np.arange(5_000.0), "b": np.arange(5_000.0)})
        column, shallow, index = df["a"], df.copy(deep=False), pd.Index(df["b"])
        given = np.zeros(5_000)
        over = pd.Series(given, copy=False)
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        print(np.shares_memory(column, df["a"]), np.shares_memory(shallow["b"], df["b"]))
        column.iloc[0] = -1
        df.loc[1, "b"] = -2
        given[2] = 9
        print(df["a"].iloc[0], shallow["a"].iloc[0], shallow["b"].iloc[1], index[1], over[2])
        over[3] = 8
        print(given[3])
    """)
        == "True True\n0.0 0.0 1.0 1.0 9.0\n8.0\n"
    )


async def test_names_come_back_in_their_order_and_with_what_they_name_in_the_session(steps: Steps) -> None:
    await steps.run("""
        import os, sys, random
        from os import environ
        from random import shuffle
        b = 1; a = 2
        names, own, out = globals(), display, [sys.stdout, sys.modules]
        x: int = 3
        5 + 5
    """)
    await steps.take_up()
    assert await steps.run("""
        print([name for name in globals() if not name.startswith("__") and name != "display"])
        print(names is globals(), own is display, out[0] is sys.stdout, out[1] is sys.modules, environ is os.environ)
        print(shuffle.__self__ is random._inst, "_" in globals())
        print(globals().get("__annotations__") or __annotate__(1))
    """) == (
        "['os', 'sys', 'random', 'environ', 'shuffle', 'b', 'a', 'names', 'own', 'out', 'x', '_']\n"
        "True True True True True\nTrue True\n{'x': <class 'int'>}\n"
    )


async def test_standard_containers_and_values_come_back(steps: Steps) -> None:
    code = """
        import array, collections, dataclasses, datetime, decimal, enum, fractions, ipaddress, itertools, pathlib, re
        import types, typing, uuid, zoneinfo
        class Colour(enum.Enum):
            RED = 1
            BLUE = 2
        class Flag(enum.Flag):
            A = 1
            B = 2
        Point = collections.namedtuple("Point", "x y")
        class Typed(typing.NamedTuple):
            x: int
            y: str = "y"
        @dataclasses.dataclass(frozen=True, slots=True)
        class Data:
            a: int
            b: list = dataclasses.field(default_factory=list)
        UserId = typing.NewType("UserId", int)
        T = typing.TypeVar("T")
        class Box(typing.Generic[T]):
            pass
        values = [
            1, -(10**50), 1.5, float("inf"), 2 + 3j, True, None, ..., "text ✓ \\ud800", b"bytes", bytearray(b"x"),
            [1], (2,), {3}, frozenset({4}), {"k": "v"}, range(3), slice(1, 2),
            array.array("d", [1, 2]), collections.deque([1, 2], maxlen=2), collections.OrderedDict(a=1),
            collections.defaultdict(list, a=[1]), collections.Counter("abca"), collections.ChainMap({1: 2}),
            datetime.datetime(2020, 1, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")), datetime.timedelta(1),
            decimal.Decimal("1.10"), fractions.Fraction(1, 3), uuid.UUID(int=5), pathlib.Path("a/b"),
            re.compile("a+", re.I), ipaddress.ip_address("127.0.0.1"), types.SimpleNamespace(a=1),
            Colour.RED, Flag.A | Flag.B, Point(1, 2), Typed(3), Data(1, [2]), UserId(4), {}.keys(), {1: 2}.items(),
            list[int], typing.Optional[int], int | None, itertools.count(3), iter([1, 2]), reversed([1, 2]),
            types.MappingProxyType({1: 2}), Exception("a", 1), NotImplemented, int, len,
        ]
        position = enumerate("abc"); next(position)
        first, found = re.match("(a)(b)?", "ac"), re.search("b+", "abbc")
    """
    await steps.run(code)
    await steps.run("shown = re.sub('0x[0-9a-f]+', '', ascii(values))")
    await steps.take_up()
    assert (
        await steps.run("""
        again = re.sub('0x[0-9a-f]+', '', ascii(values))
        print(again == shown or (again, shown))
        print(Colour.RED is values[33], Colour(1) is Colour.RED, isinstance(values[35], Point), values[37] == Data(1, [2]))
        print(first.groups(), found.span(), found.string)
        print(UserId(3), UserId.__supertype__, next(position), Box[int].__args__)
    """)
        == "True\nTrue True True True\n('a', None) (1, 3) abbc\n3 <class 'int'> (1, 'b') (<class 'int'>,)\n"
    )


async def test_sets_come_back_in_their_order_and_go_on_as_they_would_have(steps: Steps) -> None:
    """Of a hundred sets of texts, half would have another order if their items came one by one into new tables."""
    await steps.run("""
        import random
        dice = random.Random(5)
        def text(): return "".join(dice.choices("abcdefgh", k=4))
        sets = [{text() for _ in range(dice.choice((3, 4, 8, 20, 300)))} for _ in range(100)]
        for one in sets:
            for _ in range(dice.randrange(4)): one.discard(next(iter(one)))
        frozen = [frozenset(one) for one in sets[:40]]
        mixed = {1, "a", (2, "b"), 2.5, frozen[0]}; held = {"in": mixed, "keys": sets[0] | {"x"}}
        nan = float("nan"); placed = {None, nan, *mixed}  # by addresses, so in an order of each process
        class Own:
            def __init__(self): self.names = set(sets[1])
        own = Own(); alias = sets[2]
        def told():
            shown = [list(one) for one in [*sets, *frozen, *held.values(), own.names]]
            known = [one in placed for one in (None, nan, *mixed)], sorted(map(repr, placed))
            return hash(repr(shown)), hash(frozen[3]), alias is sets[2], frozen[0] in mixed, known
        def go_on():
            for number, one in enumerate([*sets, own.names]):
                for more in range(number % 7): one.add(f"{number} {more}")
                one.discard(next(iter(one)))
            return told()
    """)
    await steps.keep()
    taken = steps.taken.id
    before = await steps.run("print(told())")
    after = await steps.run("print(go_on())")
    await steps.take_up_at(taken)
    assert await steps.run("print(told())") == before
    assert await steps.run("print(go_on())") == after
    await steps.take_up()
    assert await steps.run("print(told())") == after
