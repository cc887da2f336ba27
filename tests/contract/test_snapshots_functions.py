"""After a restore in a new process functions and classes are alive: they see the variables of that session."""

import sys

import pytest

from tests.contract.conftest import Steps


async def test_functions_see_the_live_variables(steps: Steps) -> None:
    await steps.run("""
        import functools
        x = 1
        def f(a): return a + x
        g = lambda a: f(a) + x
        def twice(function):
            @functools.wraps(function)
            def wrapper(*arguments): return 2 * function(*arguments) + x
            return wrapper
        @twice
        def decorated(a): return a + x
        part = functools.partial(f, 10)
        table = {"f": f, "more": [g, part]}
        async def waits(a): return a + x
        def yields():
            yield x
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        x = 100
        print(f(1), g(1), decorated(1), part(), table["f"](1), table["more"][0](1), await waits(1), list(yields()))
        print(table["f"] is f, part.func is f, decorated.__wrapped__.__name__, decorated.__name__)
    """)
        == "101 201 302 110 101 201 101 [100]\nTrue True decorated decorated\n"
    )


async def test_functions_define_and_change_globals(steps: Steps) -> None:
    await steps.run("""
        count = 0
        def step():
            global count, made
            count += 1
            made = [count]
    """)
    await steps.take_up()
    assert await steps.run("step(); print(count, made, step.__globals__ is globals())") == "1 [1] True\n"


async def test_what_a_function_carries_comes_back(steps: Steps) -> None:
    await steps.run('''
        log = []
        def f(a: int, b=log, *, c: "str" = "c") -> list:
            """What it does."""
            b.append(a)
            return b
        f.calls = 3
        f(1)
    ''')
    await steps.take_up()
    assert await steps.run("""
        f(2)
        print(log, f.__defaults__[0] is log, f.__kwdefaults__, f.__doc__, f.calls, f.__annotations__, f.__qualname__)
    """) == "[1, 2] True {'c': 'c'} What it does. 3 {'a': <class 'int'>, 'b': 'x'} f\n".replace(
        "{'a': <class 'int'>, 'b': 'x'}", "{'a': <class 'int'>, 'c': 'str', 'return': <class 'list'>}"
    )


async def test_classes_of_cells_and_their_instances_belong_together(steps: Steps) -> None:
    await steps.run("""
        import abc
        class Base(abc.ABC):
            made = []
            limit = 3
            def __init__(self, a): self.a = a; self.made.append(self)
            @property
            def double(self): return 2 * self.a * scale
            @classmethod
            def number(cls): return len(cls.made)
            @staticmethod
            def plain(a): return a + scale
            @abc.abstractmethod
            def say(self): ...
        class Child(Base):
            __slots__ = ("extra",)
            def __init__(self, a): super().__init__(a); self.extra = a
            def say(self): return f"{type(self).__name__} {self.a}"
        class Meta(type):
            def hello(cls): return cls.__name__
        class WithMeta(metaclass=Meta):
            class Inner:
                pass
        scale = 10
        one, two = Child(1), Child(2)
        Base.limit = 4
        method = one.say
        inner = WithMeta.Inner()
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        scale = 100
        print(isinstance(one, Base), type(one) is Child, isinstance(Child(3), Base), Base.number(), Child.limit)
        print(Base.made[0] is one, one.double, Child.plain(1), method(), method.__self__ is one, two.extra)
        print(WithMeta.hello(), isinstance(inner, WithMeta.Inner), type(WithMeta) is Meta)
        try: Base(1)
        except TypeError as error: print("abstract")
    """)
        == "True True True 3 4\nTrue 200 101 Child 1 True 2\nWithMeta True True\nabstract\n"
    )


async def test_what_a_class_has_of_its_own_stays_its_own(steps: Steps) -> None:
    """Although it is the very object that its base has; and attributes keep their order."""
    await steps.run("""
        class Base:
            made, limit = 0, None
            def __init__(self): type(self).made += 1
            def say(self): return "base"
        class Child(Base):
            zeta, alpha = 1, 2
            limit, say = None, Base.say
        Child(), Base()
    """)
    await steps.take_up()
    await steps.run("Base.made, Base.limit, Base.say = 10, 5, None")
    assert (
        await steps.run("""
        print(Child.made, Child.limit, Child().say(), [name for name in vars(Child) if name[:2] != "__"])
    """)
        == "1 None base ['zeta', 'alpha', 'limit', 'say', 'made']\n"
    )


@pytest.mark.parametrize("steps", ["local"], indirect=True)
async def test_classes_within_others_keep_their_full_names(steps: Steps) -> None:
    await steps.run("""
        import enum
        class Outer:
            class Inner:
                class Deep: __slots__ = ("a",)
            class Kind(enum.Enum): A = 1
        def make():
            class Local(Outer.Inner): pass
            return Local
        Local = make()
        class Renamed: pass
        Renamed.__qualname__ = "somewhere.Renamed"
        def told(): return [one.__qualname__ for one in (Outer.Inner, Outer.Inner.Deep, Outer.Kind, Local, Renamed)]
    """)
    before = await steps.run("print(told(), Local.__name__)")
    await steps.take_up()
    assert await steps.run("print(told(), Local.__name__)") == before
    await steps.take_up()
    assert await steps.run("print(told(), Local.__name__)") == before


async def test_a_class_that_was_defined_again_keeps_its_old_instances_apart(steps: Steps) -> None:
    await steps.run("""
        class A:
            version = 1
        old = A()
        class A:
            version = 2
        new = A()
    """)
    await steps.take_up()
    assert (
        await steps.run("print(old.version, new.version, isinstance(old, A), isinstance(new, A))") == "1 2 False True\n"
    )


async def test_subclassed_frames_and_containers_come_back(steps: Steps) -> None:
    await steps.run("""
        import pandas as pd
        class Frame(pd.DataFrame):
            _metadata = ["source"]
            @property
            def _constructor(self): return Frame
            def top(self): return self.head(limit)
        class Bag(dict):
            def __missing__(self, key): return limit
        class Items(list):
            pass
        limit = 2
        frame = Frame({"a": [1, 2, 3]}); frame.source = "there"
        bag = Bag(a=1); bag.note = "n"
        items = Items([1, bag])
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        limit = 1
        print(type(frame) is Frame, frame.source, len(frame.top()), type(frame.top()) is Frame)
        print(bag["b"], bag.note, type(items) is Items, items[1] is bag)
    """)
        == "True there 1 True\n1 n True True\n"
    )


async def test_cached_functions_see_the_live_variables(steps: Steps) -> None:
    await steps.run("""
        from functools import lru_cache, cached_property, singledispatchmethod
        x = 1
        @lru_cache(maxsize=7)
        def slow(n): return n + x
        @lru_cache
        def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
        slow(1)
        class C:
            @cached_property
            def once(self): return x
            @lru_cache
            def many(self, n): return n + x
        c = C(); c.once
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        x = 100
        print(slow(1), slow(1), slow.cache_info(), slow(5), slow.__wrapped__(2), fib(30), c.once, c.many(1))
    """)
        == "2 2 CacheInfo(hits=2, misses=1, maxsize=7, currsize=1) 105 102 832040 1 101\n"
    )


async def test_decorators_of_libraries_work_on(steps: Steps) -> None:
    await steps.run("""
        import contextlib, functools
        x = 1
        @contextlib.contextmanager
        def around(a):
            yield a + x
        @functools.total_ordering
        class V:
            def __init__(self, a): self.a = a
            def __eq__(self, other): return self.a == other.a
            def __lt__(self, other): return self.a < other.a
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        x = 100
        with around(1) as got:
            print(got, V(1) >= V(0))
    """)
        == "101 True\n"
    )


async def test_tracebacks_and_sources_of_earlier_cells_can_be_shown(steps: Steps) -> None:
    await steps.run("""
        def fails(a):
            return a / 0  # of course
    """)
    await steps.take_up()
    result = await steps.sandbox.run("import inspect; print(inspect.getsource(fails)); fails(1)", number=2, timeout=60)
    assert "return a / 0  # of course" in result.stdout.text
    assert result.error is not None
    assert "return a / 0  # of course" in result.error.traceback


async def test_a_future_import_of_an_earlier_cell_holds_on(steps: Steps) -> None:
    await steps.run("from __future__ import annotations")
    await steps.take_up()
    assert await steps.run("def f(a: no_such_name): ...\nprint(f.__annotations__)") == "{'a': 'no_such_name'}\n"


async def test_an_object_whose_loading_needs_another_variable_waits_for_it(steps: Steps) -> None:
    await steps.run("""
        class Early:
            def __init__(self): self.a = 1
            def __getstate__(self): return {"a": self.a}
            def __setstate__(self, state): self.a = helper(state["a"]) + sum(factor)
        early = Early()
        def helper(a): return a * 1
        factor = [0]
    """)
    assert not (await steps.take_up()).lost
    assert await steps.run("print(early.a)") == "1\n"


async def test_classes_come_back_with_their_slots(steps: Steps) -> None:
    await steps.run("""
        import dataclasses
        class Point:
            __slots__ = ("x", "__y", "__weakref__")
            def __init__(self): self.x, self.__y = 1, 2
            def sum(self): return self.x + self.__y
        class Named(Point):
            __slots__ = "name"
        class Free(Point): pass
        @dataclasses.dataclass(slots=True)
        class Row:
            a: int = 1
            b: list = dataclasses.field(default_factory=list)
        points, row = [Point(), Named(), Free()], Row(5)
        points[1].name = "n"
        points[2].more = 3
    """)
    await steps.take_up()
    assert await steps.run("""
        import weakref
        for one in [*points, row, Point(), Row()]:
            try:
                one.more = 3
                print(type(one).__name__, vars(one))
            except AttributeError:
                print(type(one).__name__, "refuses")
        print(points[0].sum(), points[1].name, points[1].sum(), row, Row.__slots__)
        print(weakref.ref(points[0])() is points[0])
    """) == (
        "Point refuses\nNamed refuses\nFree {'more': 3}\nRow refuses\nPoint refuses\nRow refuses\n"
        "3 n 3 Row(a=5, b=[]) ('a', 'b')\nTrue\n"
    )


LAZY_STAND_IN = (
    """
        class Lazy(type):
            @property
            def __annotations__(cls):
                return cls.__dict__.get("_read") or {"a": int}
            @__annotations__.setter
            def __annotations__(cls, read):
                cls._read = {**read, "b": str}
        class Row(metaclass=Lazy):
            __annotate_func__ = None
        class Plain:
            c: int
    """,
    "print(Row.__annotations__, Plain.__annotations__)",
    "{'a': <class 'int'>, 'b': <class 'str'>} {'c': <class 'int'>}\n",
)
"""A class that makes its annotations when they are read, where Python's own do not; what is asked, and what is said."""
LAZY_OWN = (
    """
        import dataclasses, typing
        class Plain:
            a: int
            b: Later
        class Below(Plain):
            c: str = "x"
        @dataclasses.dataclass
        class Data:
            a: int
            b: list = dataclasses.field(default_factory=list)
        class Row(typing.NamedTuple):
            x: int
            y: str = "y"
        class Shape(typing.TypedDict):
            k: int
        def known(a: int, b: "str" = 1) -> Plain: pass
        def early(a: Later, *, b: Later | None = None) -> list[Later]: pass
        class Has:
            def method(self, a: Later) -> Has: pass
    """,
    """
        class Later: pass
        for one in (Below, Data, Row, Shape, known, early, Has.method):
            print({name: getattr(kind, "__name__", kind) for name, kind in one.__annotations__.items()})
        print(typing.get_type_hints(Plain) == {"a": int, "b": Later}, Data(1), Row(1))
    """,
    "{'c': 'str'}\n{'a': 'int', 'b': 'list'}\n{'x': 'int', 'y': 'str'}\n{'k': 'int'}\n"
    "{'a': 'int', 'b': 'str', 'return': 'Plain'}\n"
    "{'a': 'Later', 'b': 'Union', 'return': 'list'}\n{'a': 'Later', 'return': 'Has'}\n"
    "True Data(a=1, b=[]) Row(x=1, y='y')\n",
)
"""The same of Python from 3.14 on: those that name what a later cell defines take nothing down, and find it then."""


async def test_annotations_that_are_made_when_they_are_read_are_kept(steps: Steps) -> None:
    made, asked, said = LAZY_OWN if sys.version_info >= (3, 14) else LAZY_STAND_IN
    await steps.run(made)
    await steps.take_up()
    assert await steps.run(asked) == said
