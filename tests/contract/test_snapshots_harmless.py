"""A snapshot changes nothing of the session that lives on: cells print the same with snapshots between them and without."""

# ruff: noqa: E501 (the lines of cells)

import textwrap

import pytest

from tests.contract.conftest import Steps

SESSIONS = {
    "transactions of attached databases and temporary tables": """
        import sqlite3, subprocess, sys
        con = sqlite3.connect("main.db"); con.execute("create table t (a)"); con.execute("attach 'b.db' as b"); con.execute("create table b.u (a)"); con.commit()
        con.execute("insert into b.u values (1)")
        mem = sqlite3.connect(":memory:"); mem.execute("attach ':memory:' as stage"); mem.execute("create table stage.w (a)"); mem.commit(); mem.execute("insert into stage.w values (1)")
        tmp = sqlite3.connect("tmp.db"); tmp.execute("create temp table w (a)"); tmp.commit(); tmp.execute("insert into w values (1)")
        def seen_by_others(): return subprocess.run([sys.executable, "-c", "import sqlite3; print(sqlite3.connect('b.db').execute('select count(*) from u').fetchall())"], capture_output=True, text=True).stdout
        # %%
        print(seen_by_others(), con.in_transaction, mem.in_transaction, tmp.in_transaction)
        con.rollback(); mem.rollback(); tmp.rollback()
        print([one.execute(f"select count(*) from {table}").fetchone() for one, table in ((con, "b.u"), (mem, "stage.w"), (tmp, "w"))])
    """,
    "text in a loop, with a byte later that is none": """
        import csv
        with open("d.csv", "wb") as file: file.write(b"a,b\\n" + b"1,2\\n" * 5000 + b"caf\\xe9,3\\n" + b"5,6\\n")
        rows = csv.reader(open("d.csv", encoding="utf-8")); head = next(rows)
        good = open("e.txt", "w+"); good.writelines(f"{n}\\n" for n in range(5000)); good.seek(0); first = next(good)
        # %%
        print(head, [next(rows) for _ in range(3)], next(good))
        # %%
        print([next(rows) for _ in range(3)], next(good), good.readable())
    """,
    "handlers of progress": """
        import sqlite3
        con = sqlite3.connect(":memory:"); con.execute("create temp table w (a)"); con.executemany("insert into w values (?)", [(n,) for n in range(3000)]); con.commit()
        calls = []; con.set_progress_handler(lambda: calls.append(1), 100)
        stops = sqlite3.connect(":memory:"); stops.execute("create temp table w (a)"); stops.executemany("insert into w values (?)", [(n,) for n in range(3000)]); stops.commit()
        stops.set_progress_handler(lambda: 1, 1)
        # %%
        print(len(calls)); con.execute("select count(*), sum(a) from w, (select 1)").fetchall(); n = len(calls)
        try: stops.execute("select count(*) from w").fetchall()
        except sqlite3.OperationalError as error: print(error)
        # %%
        print(n > 10, len(calls) == n)
    """,
    "functions of Python in views and macros of duckdb": """
        import duckdb
        con = duckdb.connect(); calls = []; con.create_function("noted", lambda x: calls.append(x) or x, ["BIGINT"], "BIGINT")
        con.execute("create view v1 as select noted(41) as b"); con.execute("create view v2 as select b * 2 as c from v1")
        con.execute("create macro m() as noted(7)"); con.execute("create view v3 as select m() as c")
        # %%
        print(calls)
    """,
    "a connection that a thread uses, with a function of Python": """
        import sqlite3, threading
        con = sqlite3.connect("a.db", check_same_thread=False); con.create_function("f", 1, lambda x: x + 1); con.execute("create table t (a)"); con.executemany("insert into t values (?)", [(n,) for n in range(1000)]); con.commit()
        con.text_factory = bytes; found, stop, began = set(), False, threading.Event()
        def work():
            while not stop: found.add((con.execute("select sum(f(a)) from t").fetchone()[0], type(con.execute("select 'x'").fetchone()[0]).__name__)); began.set()
        thread = threading.Thread(target=work); thread.start()
        # %%
        began.wait(); began.clear(); print("on")
        # %%
        began.wait(); began.clear(); print("on")
        # %%
        stop = True; thread.join(); print(found)
    """,
    "a duckdb connection that a thread uses": """
        import duckdb, threading
        con = duckdb.connect(); con.create_function("f", lambda x: x + 1, ["BIGINT"], "BIGINT"); found, stop, began = set(), False, threading.Event()
        def work():
            while not stop:
                began.set()
                try: found.add(con.execute("select sum(f(range)) from range(3000)").fetchone()[0])
                except Exception as error: found.add(repr(error))
        thread = threading.Thread(target=work); thread.start()
        # %%
        began.wait(); began.clear(); print("on")
        # %%
        began.wait(); began.clear(); print("on")
        # %%
        stop = True; thread.join(); print(found)
    """,
    "lines that a thread reads": """
        import threading
        with open("d.txt", "w") as file: file.writelines(f"{n}\\n" for n in range(300_000))
        file = open("d.txt"); next(file); total, go = [], threading.Event()
        def work():
            for count, _ in enumerate(file, 1):
                if count == 1000: go.set()
            total.append(count)
        thread = threading.Thread(target=work); thread.start(); go.wait()
        # %%
        print("on")
        # %%
        thread.join(); print(total)
    """,
    "containers that say for ever what they hold, or give it away": """
        import collections
        class Ring(list):
            def __iter__(self):
                while True: yield from list.__iter__(self)
        class Round(dict):
            def items(self):
                while True: yield from dict.items(self)
            def keys(self):
                while True: yield 1
            __iter__ = keys
        class Circle(set):
            def __iter__(self):
                while True: yield from set.__iter__(self)
        class Frozen(frozenset):
            def __iter__(self):
                while True: yield from frozenset.__iter__(self)
        class Drain(collections.deque):
            def __iter__(self):
                while len(self): yield self.popleft()
        calls = []
        class Pages(list):
            def __iter__(self): calls.append(1); self.append(0); return list.__iter__(self)
        held = [Ring([1, 2]), Round(a=1), Circle({3}), Frozen({4}), Pages([5]), Drain([6, 7])]
        # %%
        print(calls, [len(one) for one in held])
    """,
    "deep structures under a high limit": """
        import sys
        sys.setrecursionlimit(10**6)
        class Node: pass
        root = node = Node()
        for _ in range(30_000): node.next = Node(); node = node.next
        nested = []
        for _ in range(100_000): nested = [nested]
        # %%
        print(sys.getrecursionlimit(), type(root.next.next).__name__)
    """,
    "a connection that a pool uses, whose threads are in no function of a cell": """
        import math, sqlite3
        from concurrent.futures import ThreadPoolExecutor
        con = sqlite3.connect("a.db", check_same_thread=False); con.create_function("root", 1, math.sqrt); con.execute("create table t (a)"); con.executemany("insert into t values (?)", [(n,) for n in range(1000)]); con.commit()
        pool = ThreadPoolExecutor(1); work = [pool.submit(con.execute, "select sum(root(a)) from t") for _ in range(500)]
        # %%
        print("on")
        # %%
        print(len([one.result() for one in work]))
    """,
    "a file that grows while its lines are read, beside an idle thread": """
        import subprocess, sys
        from concurrent.futures import ThreadPoolExecutor
        with open("log.txt", "w") as file: file.writelines(f"{n}\\n" for n in range(100))
        writes = subprocess.Popen([sys.executable, "-c", "with open('log.txt', 'a') as file: [print(n, file=file) for n in range(100, 400_000)]"])
        idle = ThreadPoolExecutor(1); count = idle.submit(len, "a").result()
        lines = open("log.txt"); found = [next(lines)]; status = open("/proc/self/status"); name = next(status)
        # %%
        found.append(next(lines)); print("on", next(status).partition(":")[0])
        # %%
        found.append(next(lines)); print(found)
        # %%
        print(writes.wait(), next(lines))
    """,
    "modules that are loaded when they are used": """
        import importlib.util, sys
        with open("heavy.py", "w") as file: file.write("print('loaded'); x = 1")
        def lazy(name):
            spec = importlib.util.find_spec(name); loader = importlib.util.LazyLoader(spec.loader); spec.loader = loader
            module = importlib.util.module_from_spec(spec); sys.modules[name] = module; loader.exec_module(module); return module
        heavy = lazy("heavy"); colors = lazy("colorsys"); kept = lazy("sched"); _ = sys.modules.pop("sched"); _ = None
        # %%
        print(type(kept).__name__)
        print(type(heavy).__name__, type(colors).__name__)
        # %%
        print(heavy.x, type(heavy).__name__)
    """,
    "a file that is read in a loop and written": """
        with open("log.txt", "w") as file: file.writelines(f"line {n}\\n" for n in range(5000))
        both = open("log.txt", "r+"); first = next(both)
        # %%
        print(both.write("new\\n")); both.close()
        # %%
        text = open("log.txt").read(); print(len(text), text.index("new"))
    """,
    "a connection that a thread reaches in many ways": """
        import sqlite3, threading, weakref
        con = sqlite3.connect("a.db", check_same_thread=False); con.create_function("f", 1, lambda x: x + 1); con.execute("create table t (a)"); con.executemany("insert into t values (?)", [(n,) for n in range(300)]); con.commit()
        class Base:
            def ask(self): return globals()["con"].execute("select sum(f(a)) from t").fetchone()
        class Worker(Base): pass
        stop, began, found = threading.Event(), threading.Event(), set()
        def work(worker):
            while not stop.is_set(): found.add(worker().ask()); began.set()
        worker = Worker(); thread = threading.Thread(target=work, args=(weakref.ref(worker),)); thread.start()
        # %%
        began.wait(); began.clear(); print("on")
        # %%
        stop.set(); thread.join(); print(found)
    """,
    "a connection that a metaclass asks, and a handler of logs": """
        import logging, sqlite3, threading
        con, log = (sqlite3.connect(":memory:", check_same_thread=False) for _ in range(2))
        for one in (con, log): one.create_function("f", 1, lambda x: x + 1); one.execute("create table t (a)"); one.executemany("insert into t values (?)", [(n,) for n in range(300)]); one.commit()
        class Meta(type):
            def ask(cls): return con.execute("select sum(f(a)) from t").fetchone()
        class Model(metaclass=Meta): pass
        class Handler(logging.Handler):
            def emit(self, record): self.found = log.execute("select sum(f(a)) from t").fetchone()
        handler = Handler(); logger = logging.getLogger("rows"); logger.addHandler(handler); logger.propagate = False
        stop, began, found = threading.Event(), threading.Event(), set()
        def work(model):
            while not stop.is_set(): found.add(model.ask()); logging.getLogger("rows").warning("x"); began.set()
        thread = threading.Thread(target=work, args=(Model,)); thread.start()
        # %%
        began.wait(); began.clear(); print("on")
        # %%
        began.wait(); began.clear(); print("on")
        # %%
        stop.set(); thread.join(); print(found, handler.found)
    """,
    "who hears a connection in the middle of a query": """
        import sqlite3
        asked, heard = [], []
        con = sqlite3.connect("a.db"); con.execute("create table t (a)"); con.executemany("insert into t values (?)", [(n,) for n in range(500)]); con.commit()
        con.set_authorizer(lambda *what: asked.append(what[0]) or sqlite3.SQLITE_OK); con.set_trace_callback(heard.append)
        cur = con.execute("select a from t"); first, before = cur.fetchone(), (len(asked), len(heard))
        # %%
        print(cur.fetchone(), (len(asked), len(heard)) == before)
    """,
    "ways to undo, and who reads the file besides": """
        import os, sqlite3
        con = sqlite3.connect("a.db"); con.execute("pragma journal_mode = off"); con.execute("create table t (a)"); con.executemany("insert into t values (?)", [(n,) for n in range(2000)]); con.commit()
        raw = open("a.db", "rb"); cur = con.execute("select a from t"); first = cur.fetchone()
        kept = sqlite3.connect("b.db"); kept.execute("pragma journal_mode = persist"); kept.execute("create table t (a)"); kept.commit(); reads = open("b.db", "rb"); written = os.stat("b.db-journal").st_mtime_ns
        # %%
        print(len(cur.fetchall()), os.stat("b.db-journal").st_mtime_ns == written)
    """,
    "signals of children": """
        import signal, sqlite3, subprocess
        heard = []; signal.signal(signal.SIGCHLD, lambda *_: heard.append(1))
        child = subprocess.Popen(["true"], stdout=subprocess.PIPE); child.stdout.read()
        con = sqlite3.connect(":memory:"); con.execute("create table t (a)"); con.commit(); con.execute("insert into t values (1)")
        while not heard: pass
        # %%
        print(heard)
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        # %%
        print(heard, signal.sigpending())
        other = subprocess.Popen(["true"], stdout=subprocess.PIPE); other.stdout.read(); signal.sigwait({signal.SIGCHLD}); print(child.wait(), other.wait())
    """,
    "a thread that calls deep under a high limit": """
        import sys, threading
        sys.setrecursionlimit(20_000)
        def deep(n): return 0 if n == 0 else 1 + deep(n - 1)
        failed, stop, rounds = [], threading.Event(), []
        def work():
            while not stop.is_set():
                try: rounds.append(deep(6000))
                except RecursionError: failed.append(1)
        thread = threading.Thread(target=work, daemon=True); thread.start()
        data = [{"a": n, "b": [n, str(n)]} for n in range(100_000)]
        # %%
        data.append(1)
        # %%
        data.append(2); stop.set(); thread.join(); print(failed, set(rounds))
    """,
    "what a thread gives up beside a connection": """
        import sqlite3, threading, weakref
        con = sqlite3.connect("x.db", check_same_thread=False)
        class Thing: pass
        seen, (ready, go, done, end) = [], (threading.Event() for _ in range(4))
        def work():
            thing = Thing(); seen.append(weakref.ref(thing)); ready.set(); go.wait()
            del thing
            done.set(); end.wait()
        thread = threading.Thread(target=work, daemon=True); thread.start(); ready.wait()
        # %%
        go.set(); done.wait(); print(seen[0]() is None); end.set()
    """,
    "modules that are loaded when they are used, in a dictionary": """
        import importlib.util
        with open("other.py", "w") as file: file.write("loaded.append(1); x = 1")
        def lazy(name):
            spec = importlib.util.spec_from_file_location(name, name + ".py"); loader = importlib.util.LazyLoader(spec.loader); spec.loader = loader
            module = importlib.util.module_from_spec(spec); loader.exec_module(module); return module
        import builtins
        builtins.loaded = []; modules = {"other": [lazy("other")]}
        # %%
        print(loaded)
        # %%
        print(loaded, modules["other"][0].x, loaded)
    """,
    "a last result that is asked for its size": """
        class Lazy:
            asked = []
            @property
            def nbytes(self): self.asked.append(1); raise KeyboardInterrupt
            def memory_usage(self): self.asked.append(2); return 0
            def __repr__(self): return "lazy"
        Lazy()
        # %%
        print(Lazy.asked)
    """,
}  # fmt: skip


async def printed_by(steps: Steps, cells: list[str], *, keeps: bool) -> list[str]:
    """What the cells print, in a new session."""
    await steps.open()
    printed = []
    for cell in cells:
        printed.append(await steps.run(cell))
        if keeps:
            await steps.keep()
    return printed


@pytest.mark.parametrize("title", SESSIONS)
@pytest.mark.parametrize("steps", ["local"], indirect=True)
async def test_a_snapshot_changes_nothing_of_the_session(steps: Steps, title: str) -> None:
    cells = textwrap.dedent(SESSIONS[title]).split("# %%\n")
    alone = await printed_by(steps, cells, keeps=False)
    assert any(alone)
    assert await printed_by(steps, cells, keeps=True) == alone
