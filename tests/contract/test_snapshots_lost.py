"""What cannot be kept is named with its reason, and costs nothing else."""

# ruff: noqa: E501 (the lines of cells)

import pytest

from tests.contract.conftest import Steps

REASONS = {
    "made": ("(i for i in range(3))", "generator"),
    "sock": ("socket.socketpair()[0]", "socket"),
    "running": ("threading.Thread(target=print)", "a thread"),
    "held": ("held_lock()", "a lock that is held"),
    "weak": ("weakref.WeakMethod(kept.go, print)", "a weakref that calls something"),
    "pool": ("concurrent.futures.ThreadPoolExecutor(1)", "an executor"),
    "child": ("subprocess.Popen(['true'])", "a child process"),
    "pipe": ("os.fdopen(os.pipe()[0])", "an open file without a path"),
    "frame": ("sys._getframe()", "frame"),
    "busy": ("transaction()", "transaction"),
    "angry": ("string.Template('x')", "RuntimeError: never"),
    "rows": ("csv.reader('a' for _ in range(3))", "generator"),
}


async def test_every_kind_is_named_with_type_and_reason(steps: Steps) -> None:
    await steps.run("""
        import concurrent.futures, copyreg, csv, os, socket, sqlite3, string, subprocess, sys, threading, weakref
        class Keep:
            def go(self): pass
        kept = Keep()
        def angry(one): raise RuntimeError("never")
        copyreg.pickle(string.Template, angry)
        def held_lock():
            lock = threading.Lock(); lock.acquire(); return lock
        def transaction():
            con = sqlite3.connect(":memory:", isolation_level=None); con.execute("begin"); con.execute("savepoint s"); return con
        free, again, event = threading.Lock(), threading.RLock(), threading.Event()
    """)
    await steps.run("\n".join(f"{name} = {code}" for name, (code, _) in REASONS.items()))
    await steps.run("fine = [1, 2]")
    taken = await steps.keep()
    assert {one.name for one in taken.lost} == set(REASONS)
    for one in taken.lost:
        assert REASONS[one.name][1] in one.reason, one
        assert one.type
        assert one.cell == 3, "what was lost already keeps the cell after which it was"
    receipt = await steps.take_up_at(taken.id)
    assert {one.name for one in receipt.lost} == set(REASONS)
    assert await steps.run(
        "print(fine, free.locked(), event.is_set(), 'made' in globals(), Keep().__class__.__name__)"
    ) == ("[1, 2] False False False Keep\n")


async def test_a_bad_one_costs_neither_the_others_nor_what_they_share(steps: Steps) -> None:
    await steps.run("""
        shared = {"n": 1}
        good, also = [shared], {"s": shared}
        bad = {"s": shared, "g": (i for i in "a")}
        worse = [bad]
        def uses(): return bad
        class Holds: pass
        holder = Holds(); holder.shared = shared
    """)
    await steps.take_up(lost=("bad", "worse"))
    assert (
        await steps.run("""
        shared["n"] = 2
        print(good[0]["n"], also["s"] is shared, holder.shared is shared, callable(uses))
    """)
        == "2 True True True\n"
    )


async def test_what_was_lost_can_be_kept_once_it_is_mended(steps: Steps) -> None:
    await steps.run("items = [1, (i for i in 'a')]; other = items")
    assert [one.name for one in (await steps.keep()).lost] == ["items", "other"]
    await steps.run("items.pop()")
    await steps.take_up()
    assert await steps.run("print(items, other is items)") == "[1] True\n"


async def test_what_looks_for_itself_by_name_is_lost_and_not_wrong(steps: Steps) -> None:
    await steps.run("""
        import copyreg
        class Asked:
            def __init__(self): self.left_out = (one for one in "")  # so that classes are asked
        class Single(Asked): pass
        copyreg.pickle(Single, lambda one: "single")
        single = Single()
    """)
    await steps.take_up(lost=("single",))


async def test_what_pickling_prints_or_raises_stays_out_of_the_cells(steps: Steps) -> None:
    await steps.run("""
        import copyreg, sys, warnings
        class Asked:
            def __init__(self): self.left_out = (one for one in "")  # so that classes are asked
        class Loud(Asked): pass
        class Leaves(Asked): pass
        def loudly(one): print("loud"); warnings.warn("loud"); return Loud, ()
        copyreg.pickle(Loud, loudly); copyreg.pickle(Leaves, lambda one: sys.exit(3))
        loud = Loud()
    """)
    await steps.keep()
    assert await steps.run("print('quiet')") == "quiet\n"
    await steps.run("leaves = Leaves()")
    taken = await steps.sandbox.snapshot(limit_bytes=1 << 30)
    assert [one.name for one in taken.lost] == ["leaves"]
    assert await steps.run("print('alive')") == "alive\n"


async def test_a_variable_that_cannot_be_loaded_is_lost_alone(steps: Steps) -> None:
    await steps.run("""
        import copyreg
        class Asked:
            def __init__(self): self.left_out = (one for one in "")  # so that classes are asked
        class Breaks(Asked): pass
        copyreg.pickle(Breaks, lambda one: (int, ("no number",)))
        breaks, fine = Breaks(), {"a": 1}
    """)
    receipt = await steps.take_up()
    assert [(one.name, one.reason.split(":")[0]) for one in receipt.lost] == [("breaks", "ValueError")]
    assert await steps.run("print(fine)") == "{'a': 1}\n"


async def test_what_cannot_be_loaded_costs_nothing_that_it_shares_things_with(steps: Steps) -> None:
    await steps.run("""
        import copyreg, numpy as np, pandas as pd
        class Asked:
            def __init__(self): self.left_out = (one for one in "")  # so that classes are asked
        class Breaks(Asked): pass
        class Sets(Asked):
            def __setstate__(self, state): raise KeyError("never")
        copyreg.pickle(Breaks, lambda one: (int, ("no number",)))
        copyreg.pickle(Sets, lambda one: (Sets, (), {"x": shared}))
        shared, base = {"n": 1}, np.arange(5_000.0)
        first = {"b": [shared, Breaks()], "v": base[3:]}
        view, df = base[::2], pd.DataFrame({"a": np.arange(3_000.0), "o": [shared] * 3_000})
        dirty = pd.DataFrame({"o": [Breaks(), shared, None]})
        def f(): return shared
        def bad(x=Breaks()): return shared
        sets = Sets(); holds = [sets, shared]; inner = {"x": first["b"]}
        clean = (shared, base, df, f)
    """)
    receipt = await steps.take_up()
    reasons = {one.name: one.reason.split(":")[0] for one in receipt.lost}
    assert reasons == {
        **dict.fromkeys(("first", "dirty", "bad", "inner"), "ValueError"),
        **dict.fromkeys(("sets", "holds"), "KeyError"),
    }
    assert (
        await steps.run("""
        shared["n"] = 2; base[4] = 7
        print(view[2], clean[0] is shared, clean[1] is base, clean[2] is df, df["o"][5] is shared, f() is shared, clean[3] is f)
        print([name for name in ("first", "dirty", "bad", "inner", "sets", "holds") if name in globals()])
    """)
        == "7.0 True True True True True True\n[]\n"
    )


async def test_a_temporary_file_is_lost_and_not_removed(steps: Steps) -> None:
    await steps.run(
        "import tempfile\nt = tempfile.NamedTemporaryFile('w', dir='.')\nt.write('x'); t.flush(); name = t.name"
    )
    await steps.take_up(lost=("t",))
    assert await steps.run("print(open(name).read())") == "x\n"


async def test_a_missing_library_costs_only_what_needs_it(steps: Steps) -> None:
    await steps.run("""
        import sys, os
        folder = os.path.join(os.environ["HOME"], ".local")
        os.makedirs(folder)
        sys.path.insert(0, folder)
        open(os.path.join(folder, "gone.py"), "w").write("class Thing: pass\\n__version__ = '1.0'")
        import gone
        thing = gone.Thing()
        other = [1]
    """)
    taken = await steps.keep()
    if steps.elsewhere:  # an emulated sandbox sees the files of all others
        (steps.folder("home") / ".local" / "gone.py").unlink()
    receipt = await steps.take_up_at(taken.id)
    assert {one.name: one.reason for one in receipt.lost} == {
        "gone": "ModuleNotFoundError: No module named 'gone'",
        "thing": "ModuleNotFoundError: No module named 'gone'",
    }
    assert receipt.versions == ("gone 1.0 -> none",)
    assert await steps.run("print(other)") == "[1]\n"


async def test_long_chains_of_objects_come_back(steps: Steps) -> None:
    await steps.run("""
        class Node:
            def __init__(self, next): self.next = next
        chain = None
        for _ in range(5_000): chain = Node(chain)
        nested = []
        for _ in range(20_000): nested = [nested]
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        import sys
        node, length = chain, 0
        while node: node, length = node.next, length + 1
        depth = 0
        while nested: nested, depth = nested[0], depth + 1
        print(length, depth, sys.getrecursionlimit())
    """)
        == "5000 20000 1000\n"
    )


async def test_what_has_no_end_is_lost_and_does_not_end_the_session(steps: Steps) -> None:
    await steps.run("""
        import copyreg
        class Asked:
            def __init__(self): self.left_out = (one for one in "")  # so that classes are asked
        class Endless(Asked): pass
        copyreg.pickle(Endless, lambda one: (Endless, (Endless(),)))
        endless, fine = Endless(), 1
    """)
    await steps.take_up(lost=("endless",))
    assert await steps.run("print(fine)") == "1\n"


async def test_code_of_another_python_is_never_loaded_and_comes_back_from_its_source(steps: Steps) -> None:
    await steps.run("""
        import functools, types
        class Trap(dict):
            def __init__(self): self.left_out = (one for one in "")  # so that the class is asked
            def __reduce__(self): return (types.FunctionType, ((lambda: 1).__code__, {}))
    """)
    await steps.run("""
        base, frame = 3, {"a": [1, 2]}
        def old(): return 0
        def twice(x, k=base): return k * x
        @functools.lru_cache
        def cached(x): return twice(x) + len(frame["a"])
        class Point:
            def __init__(self, x): self.x = x
        class Further(Point): pass
        plus = lambda x: x + 1
        point = Point(1)
        mixed = [twice, Trap()]
        old = lambda: 1
    """)
    taken = await steps.keep()
    receipt = await steps.take_up_at(await steps.rewrite(taken.id, cache_tag="cpython-399"))
    assert {one.name for one in receipt.lost} == {"plus", "mixed", "old"}
    assert all("cpython-399" in one.reason for one in receipt.lost)
    assert any("defined again from their source: Trap, twice, cached, Point, Further" in v for v in receipt.versions)
    assert (
        await steps.run("""
        import inspect
        print(twice(2), cached(2), Further(4).x, frame, issubclass(Further, Point), point.x, type(point) is Point)
        print(inspect.getsource(twice).strip())
    """)
        == "6 8 4 {'a': [1, 2]} True 1 True\ndef twice(x, k=base): return k * x\n"
    )


@pytest.mark.parametrize("steps", ["local"], indirect=True)
async def test_an_object_that_answers_with_errors_costs_only_what_cannot_be_loaded(steps: Steps) -> None:
    await steps.run("""
        import copyreg
        class Odd:
            def __getattr__(self, name): raise RuntimeError("no " + name)
        class Asked:
            def __init__(self): self.left_out = (one for one in "")  # so that classes are asked
        class Angry(Asked): pass
        def fail(): raise ValueError("never")
        copyreg.pickle(Angry, lambda one: (fail, ()))
        odd = Odd(); shared = [odd]; bad = {"s": shared, "a": Angry()}; good = {"s": shared}
    """)
    receipt = await steps.take_up_at((await steps.keep()).id)
    assert {one.name for one in receipt.lost} == {"bad"}
    assert await steps.run("print(good['s'] is shared, shared[0] is odd)") == "True True\n"


@pytest.mark.parametrize("steps", ["local"], indirect=True)
async def test_a_snapshot_ends_nothing_and_has_no_proxy_make_its_object(steps: Steps) -> None:
    await steps.run("""
        import sqlite3
        con, other = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
        con.execute("create table t (b blob)"); con.execute("insert into t values (x'010203')"); con.commit()
        blob = con.blobopen("t", "b", 1); first = blob.read(1); rows = con.execute("select 1 union select 2"); one = next(rows)
        class Promise:
            __class__ = property(lambda self: made.append(1) or list)
        made = []; promise = Promise()
    """)
    await steps.keep()
    assert await steps.run("print(first, blob.read(), next(rows), made)") == "b'\\x01' b'\\x02\\x03' (2,) []\n"
