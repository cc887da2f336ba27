"""Modules of the workspace, and functions with namespaces of their own."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "what cells change in a module": session(
        '''
        open("cfg.py", "w").write("""
        import dataclasses
        LIMIT = 5
        NAMES = ["a"]
        class Config:
            rate = 1
            seen = []
            table = {"k": [1]}
            def run(self): return "run"
            @classmethod
            def bump(cls): cls.rate += 1; return cls.rate
        class Sub(Config):
            rate = 7
        def collect(x, acc=[]):
            acc.append(x); return list(acc)
        def opts(*, o={}): o[len(o)] = 1; return len(o)
        def tagged(): return tagged.count
        tagged.count = 0
        def replaced(): return "old"
        def target(): return replaced()
        GONE = 1
        """)
        import cfg
        cfg.Config.rate = 10; cfg.Config.seen.append("s"); cfg.Config.table["k"].append(2); cfg.Config.extra = "new"
        cfg.collect(1); cfg.collect(2); cfg.opts(); cfg.tagged.count = 4
        cfg.replaced = lambda: "new"
        cfg.Config.run = lambda self: "patched"
        cfg.LIMIT = 6; cfg.NAMES.append("b"); cfg.added = 3
        del cfg.GONE
        from cfg import Config, NAMES, collect
        one = Config(); one.rate = 99
        ''',
        """
        cfg.Config.rate, cfg.Sub.rate
        cfg.Config.seen, cfg.Config.table
        cfg.Config.extra
        cfg.collect(3)
        cfg.opts()
        cfg.tagged()
        cfg.target()
        one.run(), cfg.Sub().run()
        cfg.LIMIT, cfg.NAMES, cfg.added
        hasattr(cfg, "GONE")
        NAMES is cfg.NAMES, Config is cfg.Config, collect is cfg.collect
        one.rate, Config.bump()
        """,
    ),
    "registries and hooks of a module": session(
        '''
        open("plug.py", "w").write("""
        REG = {}
        ORDER = []
        class Base:
            kinds = []
            def __init_subclass__(cls): REG[cls.__name__] = cls; Base.kinds.append(cls.__name__); ORDER.append(cls.__name__)
        class Own(Base): pass
        def register(f): REG[f.__name__] = f; return f
        @register
        def builtin(): return 1
        class Meta(type):
            made = 0
            def __init__(cls, *a): super().__init__(*a); Meta.made += 1
        class M(metaclass=Meta): pass
        """)
        import plug
        class Mine(plug.Base): pass
        @plug.register
        def mine(): return 2
        class MM(plug.M): pass
        inst = Mine()
        ''',
        """
        sorted(plug.REG)
        plug.Base.kinds
        plug.ORDER
        plug.REG["Mine"] is Mine
        plug.REG["mine"](), plug.REG["builtin"] is plug.builtin
        plug.Meta.made
        type(inst) is plug.REG["Mine"]
        class More(plug.Base): pass ;; plug.ORDER
        """,
    ),
    "a package with instances and caches": session(
        '''
        import os
        os.makedirs("pack/sub", exist_ok=True)
        open("pack/__init__.py", "w").write("from .core import engine, Engine\\nVERSION = [1]\\n")
        open("pack/core.py", "w").write("""
        import functools, threading, logging
        log = logging.getLogger(__name__)
        lock = threading.Lock()
        class Engine:
            shared = {}
            def __init__(self): self.n = 0
            def step(self): self.n += 1; Engine.shared[self.n] = self; return self.n
        engine = Engine()
        @functools.lru_cache
        def slow(x): return x * 2
        @functools.wraps(slow)
        def wrapped(*a): return slow(*a) + OFFSET
        OFFSET = 1
        def set_offset(n):
            global OFFSET
            OFFSET = n
        """)
        open("pack/sub/__init__.py", "w").write("from ..core import engine as e2\\nstate = {}\\n")
        import pack, pack.sub
        pack.engine.step(); pack.engine.step(); pack.sub.state["x"] = pack.engine
        pack.core.set_offset(10); pack.VERSION.append(2); pack.core.slow(3)
        import pack.core as core
        ''',
        """
        pack.engine.n, pack.Engine.shared.keys()
        pack.engine is pack.core.engine, pack.sub.e2 is pack.engine
        pack.sub.state["x"] is pack.engine
        core.wrapped(2)
        pack.VERSION
        pack.Engine.shared[2] is pack.engine
        pack.engine.step() ;; core.engine.n
        core.lock.locked(), core.log.name
        """,
    ),
    "functions made by exec": session(
        """
        ns = {"scale": 3, "calls": []}
        exec("def f(x):\\n    calls.append(x)\\n    return x * scale", ns)
        f = ns["f"]
        other = {}
        exec("def g(): return h() + 1\\ndef h(): return base\\nbase = 10", other)
        g = other["g"]; del other
        import types
        dyn = types.ModuleType("dyn"); dyn.level = 1
        exec("def up():\\n    global level\\n    level += 1\\n    return level", dyn.__dict__)
        import sys
        reg = types.ModuleType("registered"); reg.value = 5; sys.modules["registered"] = reg
        exec("def read(): return value", reg.__dict__)
        import registered
        class_ns = {}
        exec("class T:\\n    k = 1\\n    def m(self): return helper(self.k)\\ndef helper(x): return x + 100", class_ns)
        T = class_ns["T"]; tt = T()
        """,
        """
        f(2), ns["calls"]
        ns["scale"] = 5 ;; f(1)
        ns["f"] is f
        g()
        dyn.up(), dyn.level
        dyn.level = 50 ;; dyn.up()
        reg.read(), registered is reg
        reg.value = 6 ;; reg.read()
        tt.m()
        class_ns["helper"] = lambda x: -x ;; tt.m()
        """,
    ),
    "closures, defaults, partials, caches": session(
        """
        import functools, operator, itertools
        def counter():
            n = 0
            def up(): nonlocal n; n += 1; return n
            def get(): return n
            return up, get
        up, get = counter(); up(); up()
        def acc(x, seen=[]): seen.append(x); return seen
        acc(1)
        part = functools.partial(acc, seen=["p"])
        pipe = [functools.partial(operator.mul, 2), str, lambda s: s + "!"]
        @functools.lru_cache(maxsize=8)
        def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
        fib(10)
        def deco(fn):
            @functools.wraps(fn)
            def inner(*a): inner.calls += 1; return fn(*a)
            inner.calls = 0
            return inner
        @deco
        def work(x): return x + offset
        offset = 10
        work(1)
        @functools.singledispatch
        def kind(x): return "object"
        @kind.register(int)
        def _(x): return "int"
        kind.register(list, lambda x: "list")
        methods = {"up": "abc".upper, "app": [].append}
        rec = lambda n: 1 if n < 2 else n * rec(n - 1)
        count = itertools.count(5); next(count)
        cyc = itertools.cycle("ab"); next(cyc)
        """,
        """
        up(), get()
        acc(2)
        part(9)
        functools.reduce(lambda v, f: f(v), pipe, 4)
        fib(20)
        work(1), work.calls, work.__wrapped__(1)
        offset = 20 ;; work(1)
        kind(1), kind([]), kind("")
        methods["up"]()
        rec(5)
        next(count), next(cyc)
        """,
    ),
    "patched libraries": session(
        """
        import json, textwrap, statistics, math
        real = json.dumps
        def loud(x, **k): return "LOUD" + real(x, **k)
        json.dumps = loud
        textwrap.custom = 5
        import statistics as st
        st.mean = lambda xs: "mean"
        """,
        """
        json.dumps(1)
        textwrap.custom
        st.mean([1])
        real(2)
        """,
        named="json.dumps textwrap.custom statistics.mean",
    ),
    "kernel modules that cells patch": session(
        """
        import os, json, time, threading, io, hashlib, builtins
        real = {"getpid": os.getpid, "dumps": json.dumps, "loads": json.loads, "perf": time.perf_counter, "stat": os.stat, "exists": os.path.exists, "scandir": os.scandir}
        os.getpid = lambda: 1; json.dumps = None; time.perf_counter = lambda: "never"; json.loads = lambda *a: {}
        os.path.exists = lambda p: True; hashlib.sha256 = None; time.time_ns = None
        x = 5
        """,
        """
        x
        1 + 1
        """,
    ),
    "a module that was reloaded or removed": session(
        """
        open("m1.py", "w").write("x = 1\\ndef f(): return x\\n")
        import m1, importlib, sys
        m1.x = 3
        open("m1.py", "w").write("x = 100\\ndef f(): return -x\\n")
        sys.dont_write_bytecode = True
        importlib.invalidate_caches(); sys.modules.pop("m1"); importlib.import_module("m1"); m1 = sys.modules["m1"]
        m1.y = 2
        open("late.py", "w").write("z = 1\\n")
        sys.path.append("libs");
        import os; os.makedirs("libs", exist_ok=True); open("libs/inlib.py", "w").write("w = [1]\\n")
        import inlib; inlib.w.append(2)
        sys.path = [p for p in sys.path if "never" not in p]
        """,
        """
        m1.f(), m1.x, m1.y
        inlib.w
        import late ;; late.z
        "libs" in sys.path
        sys.dont_write_bytecode
        """,
    ),
    "virtual subclasses and registrations": session(
        """
        import abc, collections.abc, copyreg, csv
        class V:
            def __len__(self): return 3
        collections.abc.Sequence.register(V)
        class P:
            def __init__(self, x): self.x = x
        def take_apart(p): return P, (p.x,)
        copyreg.pickle(P, take_apart)
        csv.register_dialect("semi", delimiter=";")
        p = P(1)
        v = V()
        """,
        """
        isinstance(v, collections.abc.Sequence)
        p.x
        csv.get_dialect("semi").delimiter
        copyreg.dispatch_table[P] is take_apart
        len(v)
        """,
    ),
    "a module given to another, and a package of which a part was reloaded": session(
        """
        import importlib, os, math
        open("bare.py", "w").write("def area(r): return math.pi * r\\n")
        os.makedirs("pack/deep")
        open("pack/__init__.py", "w").write("from . import a\\nfrom .a import A, make\\n")
        open("pack/a.py", "w").write("import pack\\nfrom pack import b\\nclass A:\\n    rate = 1\\ndef make(): return b.state\\n")
        open("pack/b.py", "w").write("import pack.a\\nstate = {}\\n")
        open("pack/deep/__init__.py", "w").write("X = 1\\n")
        import bare, pack, pack.deep
        bare.math = math
        from pack.a import A
        A.rate = 5; pack.b.state["k"] = A; pack.deep.X = 9; pack.extra = pack.a
        # %%
        importlib.reload(pack.a)
        pack.a.A.rate = 7
        """,
        """
        bare.area(1)
        A.rate, pack.a.A.rate
        pack.A is A, pack.a.A is A, pack.b.state["k"] is A
        pack.make() is pack.b.state, pack.make is pack.a.make
        pack.deep.X, pack.extra is pack.a
        """,
    ),
    "a module whose file was changed and not reloaded": session(
        """
        import importlib
        open("stale.py", "w").write("def f(): return 1\\n")
        open("fresh.py", "w").write("def f(): return 1\\nclass C:\\n    def m(self): return [x for x in range(2)]\\n")
        import stale, fresh
        # %%
        open("stale.py", "w").write("def f(): return 22\\n")
        open("fresh.py", "a").write("def g(): return lambda: 3\\n")
        importlib.reload(fresh)
        """,
        """
        stale.f()  # of stale.py
        fresh.f(), fresh.g()(), fresh.C().m()
        """,
        named="py",
    ),
    "patches wherever they stand": session(
        """
        import json, math, random, sys, textwrap, unittest.mock
        import statistics as st
        kept = json.dumps
        json.dumps = lambda *a, **k: "mine"
        json.dumps = kept
        math.tau, math.e2 = 1, 2
        def patch_inside():
            import textwrap as tw
            from os import path as p
            tw.dedent = lambda text: "D"
            p.mine = 5
        patch_inside()
        unittest.mock.patch.object(st, "mean", lambda values: 0).start()
        setattr(random, "random", lambda: 0.5)
        text = "json.loads = None"
        doc = '''
        json.loads = None
        '''
        # json.load = None
        sys.excepthook = lambda *a: None
        sys.tracebacklimit = 3
        """,
        """
        json.dumps({}), json.loads("1"), json.load.__name__
        math.tau, math.e2
        textwrap.dedent(" a"), __import__("os").path.mine
        st.mean([4])
        random.random()
        sys.excepthook.__name__, sys.tracebacklimit
        """,
    ),
    "objects that answer anything they are asked": session(
        """
        class Row(dict):
            __getattr__ = dict.__getitem__
            __setattr__ = dict.__setitem__
        class Refusing:
            def __getattr__(self, name): raise RuntimeError(name)
        row, refusing = Row(), Refusing()
        row.rate = 5
        refusing.x = 1
        """,
        """
        row.rate, dict(row)
        refusing.x
        """,
        named="refusing",
    ),
    "a library that a cell installed, and a module in the folder for temporary files": session(
        """
        import os, sys, tempfile
        place = next(path for path in sys.path if ".packages" in path and path.endswith("site-packages"))
        os.makedirs(place + "/registering")
        with open(place + "/registering/__init__.py", "w") as file:
            file.write("known, hooked = {}, []\\n")
            file.write("class Meta(type):\\n    def __new__(m, name, bases, space):\\n")
            file.write("        known[name] = kind = super().__new__(m, name, bases, space)\\n        return kind\\n")
            file.write("class Model(metaclass=Meta):\\n    def __init_subclass__(cls): hooked.append(cls.__name__)\\n")
            file.write("def f(): return 1\\n")
        import registering
        class User(registering.Model): pass
        user = User()
        registering.f = lambda: 2
        sys.path.insert(0, tempfile.gettempdir())
        with open(tempfile.gettempdir() + "/scratch.py", "w") as file:
            file.write("rate = 1\\nclass C:\\n    found = []\\ndef f(): return rate\\n")
        import scratch
        scratch.rate = 5; scratch.C.found.append(1); scratch.f.note = "n"; c = scratch.C()
        """,
        """
        list(registering.known), registering.known["User"] is User, type(user) is User
        registering.hooked, registering.f()
        scratch.rate, scratch.f(), scratch.C.found, scratch.f.note, type(c) is scratch.C
        """,
    ),
    "an object in the place of its module": session(
        """
        source = '''
        import sys
        class Desk:
            def __init__(self): self.jobs = []
            def __getattr__(self, name):
                if name.startswith("__"): raise AttributeError(name)
                return "made " + name
        sys.modules[__name__] = Desk()
        '''
        with open("desk.py", "w") as file: print(source, file=file)
        import desk, sys; desk.jobs.append(5)
        class Own: rate = 3
        sys.modules["rates"] = Own()
        """,
        """
        import desk as again ;; again is desk, again.jobs, sys.modules["desk"] is desk, desk.anything
        import rates ;; rates.rate, type(rates) is Own
        from desk import jobs ;; jobs is desk.jobs
        """,
    ),
}
