"""What looks at the memory or the content of another object goes on doing so in a new process."""

# ruff: noqa: E501 (the lines of cells)

import pytest

from tests.contract.conftest import Steps


async def test_masked_arrays_share_their_data_and_their_mask(steps: Steps) -> None:
    await steps.run("""
        import numpy as np
        base, mask = np.arange(5_000.0), np.zeros(5_000, bool)
        masked = np.ma.array(base, mask=mask, copy=False, fill_value=-1)
        part, own, none = masked[10:20], np.ma.array([1, 2, 3], mask=[0, 1, 0]), np.ma.array([1, 2])
        total = masked + 1; total.harden_mask()
    """)
    await steps.take_up()
    assert await steps.run("""
        base[0], mask[1], base[10] = 9, True, 7
        print(masked[0], masked[1], part[0], masked.fill_value, own, own.sum(), none, none.mask is np.ma.nomask, total.hardmask)
        masked[2] = np.ma.masked
        print(masked.count(), type(part).__name__)
    """) == ("9.0 -- 7.0 -1.0 [1 -- 3] 4 [1 2] True True\n4998 MaskedArray\n")


async def test_windows_and_broadcasts_look_at_their_base(steps: Steps) -> None:
    await steps.run("""
        import numpy as np
        a = np.arange(10.0)
        windows = np.lib.stride_tricks.sliding_window_view(a, 3)
        strided = np.lib.stride_tricks.as_strided(a, (4, 4), (16, 8))
        wide = np.broadcast_to(a[:2], (3, 2))
        c = np.zeros(3, complex); real, imaginary = c.real, c.imag
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        a[0], real[0], imaginary[1] = 9, 1, 2
        strided[0, 1] = 5
        print(windows[0], windows.flags.writeable, strided[0, 0], wide[2], wide.flags.writeable, c, a[1])
    """)
        == "[9. 5. 2.] False 9.0 [9. 5.] False [1.+0.j 0.+2.j 0.+0.j] 5.0\n"
    )


async def test_arrays_over_an_array_of_the_standard_library_share_it(steps: Steps) -> None:
    await steps.run("import array, numpy as np\nrow = array.array('d', [1, 2, 3])\nview = np.frombuffer(row)[1:]")
    await steps.take_up()
    assert await steps.run("view[0] = 9; row[2] = 8; print(row, view)") == "array('d', [1.0, 9.0, 8.0]) [9. 8.]\n"


async def test_views_of_dictionaries_see_what_comes_into_them(steps: Steps) -> None:
    await steps.run("""
        import collections, types
        d = {"a": 1}
        keys, values, items, proxy = d.keys(), d.values(), d.items(), types.MappingProxyType(d)
        ordered = collections.OrderedDict(b=2)
        held = [ordered.keys()]
        class C: a = 1
        of_class = C.__dict__
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        d["b"] = 2; ordered["c"] = 3
        print(list(keys), list(values), list(items), dict(proxy), list(held[0]), of_class["a"])
    """)
        == "['a', 'b'] [1, 2] [('a', 1), ('b', 2)] {'a': 1, 'b': 2} ['b', 'c'] 1\n"
    )


async def test_weak_references_point_to_the_restored_objects(steps: Steps) -> None:
    await steps.run("""
        import weakref
        class Thing: pass
        thing, other = Thing(), Thing()
        reference = weakref.ref(thing)
        by_key, by_value, some = weakref.WeakKeyDictionary({thing: [other]}), weakref.WeakValueDictionary(o=other), weakref.WeakSet([thing])
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        print(reference() is thing, by_key[thing][0] is other, by_value["o"] is other, thing in some)
        del thing
        print(reference(), len(by_key), len(some))
    """)
        == "True True True True\nNone 0 0\n"
    )


async def test_functions_that_choose_by_type_go_on_choosing(steps: Steps) -> None:
    await steps.run("""
        import functools
        @functools.singledispatch
        def kind(a): return "any"
        @kind.register
        def _(a: int): return ("int", x)
        class Shape:
            @functools.singledispatchmethod
            def area(self, a): return "any"
            @area.register
            def _(self, a: list): return "list"
        class Mine: pass
        kind.register(Mine, lambda a: "mine")
        x = 1; kind(1); shape = Shape()
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        x = 2
        kind.register(str, lambda a: "text")
        print(kind(1), kind(1.5), kind("a"), kind(Mine()), shape.area([]), shape.area(1), sorted(c.__name__ for c in kind.registry))
    """)
        == "('int', 2) any text mine list any ['Mine', 'int', 'object', 'str']\n"
    )


async def test_exceptions_of_the_users_classes_come_back_with_their_cause(steps: Steps) -> None:
    await steps.run("""
        class Bad(Exception):
            def __init__(self, code, text): super().__init__(text); self.code = code
        class Worse(UnicodeDecodeError):
            def __init__(self, *, data): super().__init__("utf-8", data, 0, 1, "why"); self.extra = [data]
        class Group(ExceptionGroup): pass
        shared = [1]
        first = Bad(3, "text"); first.add_note("note"); first.held = shared
        try:
            try: {}["k"]
            except KeyError as error: raise Bad(1, "x") from error
        except Bad as error: second = error
        worse, group, missing = Worse(data=b"a"), Group("g", [ValueError(1)]), FileNotFoundError(2, "no", "f.txt")
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        print(first.code, first.args, first.__notes__, first.held is shared, isinstance(first, Bad), repr(second.__cause__))
        print(worse.reason, worse.extra, group.exceptions, missing.filename, second.__suppress_context__)
        try: raise first
        except Bad as error: print(error is first)
    """)
        == "3 ('text',) ['note'] True True KeyError('k')\nwhy [b'a'] (ValueError(1),) f.txt True\nTrue\n"
    )


async def test_classes_with_private_slots_come_back(steps: Steps) -> None:
    await steps.run("""
        class A:
            __slots__ = ("__hidden", "seen", "__weakref__")
            def __init__(self): self.__hidden, self.seen = [1], 2
            def look(self): return self.__hidden
        class _B(A):
            __slots__ = ("__one",)
            def put(self): self.__one = 5; return self.__one
        a, b = A(), _B()
    """)
    await steps.take_up()
    assert await steps.run("print(a.look(), b.look(), b.seen, b.put(), isinstance(b, A))") == "[1] [1] 2 5 True\n"


@pytest.mark.slow
async def test_formulas_of_models_find_the_functions_and_modules_of_the_cells(steps: Steps) -> None:
    await steps.run("""
        import numpy as np, pandas as pd, statsmodels.formula.api as smf
        df = pd.DataFrame({"x": np.arange(20.0), "y": np.arange(20.0) ** 2 + 1})
        def square(v): return v**2
        fitted = smf.ols("np.log(y) ~ square(x) + x", df).fit()
        before = fitted.predict(df).round(6).tolist()
    """)
    await steps.take_up()
    assert await steps.run("print(fitted.predict(df).round(6).tolist() == before)") == "True\n"


async def test_an_error_with_its_traceback_holds_nothing_of_what_was_restored_with_it(steps: Steps) -> None:
    await steps.run("""
        import weakref
        class Held: pass
        held = Held(); reference = weakref.ref(held)
        def fails(): raise ValueError("told")
        try: fails()
        except ValueError as error: kept = error
        held.common = kept.common = []
    """)
    await steps.take_up()
    asked = (
        "print(reference() is held, kept.__traceback__.tb_next.tb_frame.f_code.co_name); del held; print(reference())"
    )
    assert await steps.run(asked) == "True fails\nNone\n"
