"""Small programs that hold together by what their objects know of each other."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "observers": session(
        """
        import weakref
        class Subject:
            def __init__(self): self.watchers = weakref.WeakSet(); self.strong = []; self.value = 0
            def set(self, v):
                self.value = v
                for w in list(self.watchers): w.notify(v)
                for f in self.strong: f(v)
        class Watcher:
            def __init__(self, s): self.seen = []; s.watchers.add(self)
            def notify(self, v): self.seen.append(v)
        s = Subject(); w = Watcher(s); s.strong.append(w.notify); heard = []; s.strong.append(heard.append); s.set(1)
        """,
        """
        s.set(2) ;; w.seen, heard
        len(s.watchers), w in s.watchers
        s.strong[0].__self__ is w
        s.strong[1].__self__ is heard
        Watcher(s).seen
        """,
    ),
    "undo and commands": session(
        """
        import copy, functools
        class Doc:
            def __init__(self): self.text = ""; self.done = []; self.undone = []
            def do(self, f, g): f(self); self.done.append((f, g))
            def undo(self): f, g = self.done.pop(); g(self); self.undone.append((f, g))
        def insert(t):
            def f(d): d.text += t
            def g(d): d.text = d.text[: -len(t)]
            return f, g
        d = Doc(); d.do(*insert("ab")); d.do(*insert("cd")); d.undo(); snap = copy.deepcopy(d)
        """,
        """
        d.text, len(d.done), len(d.undone)
        d.undo() ;; d.text
        d.do(*d.undone.pop()) ;; d.text
        snap.text, snap is d, snap.done[0][0] is d.done[0][0] if d.done else None
        snap.undo() ;; snap.text
        """,
    ),
    "iterators of one's own": session(
        """
        class Countdown:
            def __init__(self, n): self.n = n
            def __iter__(self): return self
            def __next__(self):
                if not self.n: raise StopIteration
                self.n -= 1; return self.n
        c = Countdown(5); next(c); pairs = zip(c, c); m = map(str, c)
        class Page:
            def __init__(self, items): self.items = items
            def __getitem__(self, i): return self.items[i]
            def __len__(self): return len(self.items)
        p = Page([1, 2, 3]); pi = iter(p); next(pi)
        ci = iter(lambda: c.n, 0)
        """,
        """
        next(c)
        next(pairs), c.n
        next(pi), list(p), 2 in p
        next(m), c.n
        c.n
        """,
        named="pairs ci m",
    ),
    "memo and caches": session(
        """
        import functools
        calls = []
        def memo(f):
            cache = {}
            @functools.wraps(f)
            def inner(*a):
                if a not in cache: cache[a] = f(*a)
                return cache[a]
            inner.cache = cache
            return inner
        @memo
        def slow(x): calls.append(x); return x * 2
        slow(1); slow(2); slow(1)
        class Repo:
            def __init__(self): self.n = 0
            @functools.cached_property
            def table(self): self.n += 1; return {"k": self.n}
            @functools.lru_cache
            def get(self, k): self.n += 10; return k
        r = Repo(); r.table; r.get(1)
        @functools.cache
        def plus(a, *, b=1): return a + b
        plus(1)
        """,
        """
        slow(1), calls
        slow.cache, slow(3), calls
        slow.__wrapped__(4), calls[-1]
        r.table, r.n
        r.table is r.__dict__["table"]
        plus(2, b=5), plus.cache_parameters()
        """,
    ),
    "a registry of functions": session(
        """
        HANDLERS = {}
        def on(name, *, priority=0):
            def add(f): HANDLERS.setdefault(name, []).append((priority, f)); HANDLERS[name].sort(key=lambda t: -t[0]); return f
            return add
        @on("load")
        def first(x): return x + base
        @on("load", priority=5)
        def second(x): return x * 2
        base = 1
        def fire(name, x):
            for _, f in HANDLERS[name]: x = f(x)
            return x
        """,
        """
        fire("load", 3)
        base = 100 ;; fire("load", 3)
        HANDLERS["load"][1][1] is first
        on("load", priority=9)(lambda x: -x) ;; fire("load", 1)
        [p for p, _ in HANDLERS["load"]]
        """,
    ),
    "mixins and cooperative classes": session(
        """
        class A:
            log = []
            def go(self): self.log.append("A"); return ["A"]
        class B(A):
            def go(self): return ["B", *super().go()]
        class C(A):
            def go(self): return ["C", *super().go()]
        class D(B, C):
            __slots__ = ("tag",)
            def go(self): return ["D", *super().go()]
            def __init__(self, tag="t"): self.tag = tag
            def __eq__(self, o): return isinstance(o, D) and self.tag == o.tag
            def __hash__(self): return hash(self.tag)
        d = D(); e = D("u"); table = {d: 1, e: 2}; members = {d, e}
        d.extra = [d]
        make = {k.__name__: k for k in (A, B, C, D)}
        """,
        """
        d.go(), A.log
        [k.__name__ for k in D.__mro__]
        table[D()], D("u") in members
        d.extra[0] is d
        make["D"]("u") == e, type(e) is make["D"]
        super(B, d).go()
        """,
    ),
    "a small ORM": session(
        """
        import sqlite3
        class Column:
            def __set_name__(self, owner, name): self.name = name; owner.columns = (*getattr(owner, "columns", ()), name)
            def __get__(self, one, owner): return self if one is None else one.row[self.name]
            def __set__(self, one, v): one.row[self.name] = v; one.dirty.add(self.name)
        class Model:
            tables = {}
            def __init_subclass__(cls): Model.tables[cls.__name__.lower()] = cls; db.execute(f"create table {cls.__name__.lower()} ({', '.join(cls.columns)})")
            def __init__(self, **row): self.row = dict.fromkeys(self.columns); self.dirty = set(); [setattr(self, k, v) for k, v in row.items()]
            def save(self): db.execute(f"insert into {type(self).__name__.lower()} values ({', '.join('?' * len(self.columns))})", list(self.row.values())); db.commit(); self.dirty.clear()
        db = sqlite3.connect(":memory:")
        class User(Model):
            name = Column(); age = Column()
        u = User(name="ann", age=3); u.save(); v = User(name="bob")
        """,
        """
        u.name, u.dirty, v.dirty
        db.execute("select * from user").fetchall()
        v.age = 9; v.save() ;; db.execute("select count(*) from user").fetchone()
        Model.tables["user"] is User, User.columns
        User.name.name
        list(Model.tables)
        """,
    ),
    "simulations": session(
        """
        import numpy as np, random
        class Agent:
            population = []
            rng = np.random.default_rng(7)
            def __init__(self, x): self.x = x; self.friends = []; Agent.population.append(self)
            def step(self): self.x += Agent.rng.normal() + random.random(); return self.x
        random.seed(3)
        agents = [Agent(i) for i in range(4)]
        for a in agents: a.friends = [b for b in agents if b is not a]
        [a.step() for a in agents]
        grid = np.zeros((3, 3)); views = [grid[i] for i in range(3)]; history = [grid.copy()]
        """,
        """
        [round(a.step(), 6) for a in agents]
        Agent.population[0] is agents[0], agents[1].friends[0] is agents[0]
        round(random.random(), 6), round(Agent.rng.random(), 6)
        views[1][:] = 5 ;; grid.sum(), history[0].sum()
        Agent(9) ;; len(Agent.population)
        """,
    ),
    "extension of pandas": session(
        """
        import pandas as pd, numpy as np
        @pd.api.extensions.register_dataframe_accessor("geo")
        class Geo:
            def __init__(self, df): self._df = df
            def area(self): return float((self._df.w * self._df.h).sum())
        class Frame(pd.DataFrame):
            _metadata = ["unit"]
            @property
            def _constructor(self): return Frame
            def double(self): return self * 2
        f = Frame({"w": [1.0, 2], "h": [3.0, 4]}); f.unit = "m"; sub = f[f.w > 1]
        pd.DataFrame.shout = lambda self: f"{len(self)} rows!"
        s = pd.Series([1, 2], name="n"); s.attrs["k"] = 1
        """,
        """
        type(f).__name__, f.unit, f.double().w.tolist()
        type(f.head(1)).__name__, sub.w.tolist()
        pd.DataFrame({"w": [2], "h": [2]}).shout()
        pd.DataFrame({"w": [2], "h": [2]}).geo.area()
        s.attrs, s.name
        """,
    ),
    "mocks": session(
        """
        import unittest.mock as um, time, os
        m = um.Mock(return_value=5); m(1, k=2); mm = um.MagicMock(); mm.__len__.return_value = 3; sen = um.sentinel.token
        fake = um.patch("time.sleep"); fake.start()
        spec = um.create_autospec(lambda a, b: None)
        """,
        """
        m.call_count
        m.call_args
        len(mm)
        sen is um.sentinel.token
        type(time.sleep).__name__
        """,
        named="m mm fake spec sleep",
    ),
    "tries and graphs": session(
        """
        import collections, heapq
        Trie = lambda: collections.defaultdict(Trie)
        root = Trie()
        for w in ("car", "cat", "dog"):
            n = root
            for ch in w: n = n[ch]
            n["$"] = w
        class Graph:
            def __init__(self): self.nodes, self.edges = {}, collections.defaultdict(dict)
            def add(self, a, b, w): self.edges[a][b] = self.edges[b][a] = w; self.nodes.setdefault(a, object()); self.nodes.setdefault(b, object())
            def dist(self, s):
                d, h = {s: 0}, [(0, s)]
                while h:
                    c, u = heapq.heappop(h)
                    for v, w in self.edges[u].items():
                        if c + w < d.get(v, 1e9): d[v] = c + w; heapq.heappush(h, (c + w, v))
                return d
        g = Graph(); g.add("a", "b", 2); g.add("b", "c", 3); g.add("a", "c", 9)
        deep = [];
        for _ in range(3000): deep = [deep]
        linked = None
        for i in range(2000): linked = {"v": i, "next": linked}
        """,
        """
        root["c"]["a"]["t"]["$"], sorted(root["c"]["a"])
        "z" in root, root["z"]["y"] is root["z"]["y"]
        g.dist("a"), len(g.nodes)
        g.nodes["a"] is g.nodes["a"], g.nodes["a"] is g.nodes["b"]
        linked["next"]["next"]["v"]
        len(deep), len(deep[0][0])
        """,
    ),
    "state machines": session(
        """
        import enum
        class State(enum.StrEnum):
            IDLE = "idle"; BUSY = "busy"; DONE = enum.auto()
            @classmethod
            def _missing_(cls, v): return cls.IDLE
        class Machine:
            table = {State.IDLE: [State.BUSY], State.BUSY: [State.DONE, State.IDLE]}
            def __init__(self): self.state, self.hooks = State.IDLE, {s: [] for s in State}
            def to(self, s):
                if s not in self.table.get(self.state, ()): raise ValueError(f"{self.state} -> {s}")
                self.state = s; [h(self) for h in self.hooks[s]]
        m = Machine(); trail = []; m.hooks[State.BUSY].append(lambda x: trail.append(x.state)); m.to(State.BUSY)
        match m.state:
            case State.BUSY: matched = True
        """,
        """
        m.state is State.BUSY, trail, matched
        m.to(State.DONE) ;; m.state, State("nothing") is State.IDLE
        m.to(State.BUSY)
        Machine.table[State.IDLE][0] is State.BUSY
        f"{State.DONE}", list(State)
        """,
    ),
    "pipelines of closures": session(
        """
        import functools, operator, pandas as pd
        settings = {"low": 1, "scale": 10}
        def clean(df): return df[df.v > settings["low"]]
        def scale(by): return lambda df: df.assign(v=df.v * by * settings["scale"])
        steps = [clean, scale(2), functools.partial(pd.DataFrame.sort_values, by="v", ascending=False), operator.methodcaller("reset_index", drop=True)]
        run = lambda df: functools.reduce(lambda d, f: f(d), steps, df)
        df = pd.DataFrame({"v": [1, 3, 2]}); out = run(df)
        counts = {f: 0 for f in steps[:2]}
        """,
        """
        out.v.tolist(), run(df).v.tolist()
        settings["scale"] = 1 ;; run(df).v.tolist()
        steps.pop(); len(steps) ;; run(df).index.tolist()
        counts[clean], steps[0] is clean
        list(counts)[1] is steps[1]
        steps[1].__closure__[0].cell_contents
        """,
    ),
    "notebook habits": session(
        """
        import pandas as pd, numpy as np
        df = pd.DataFrame({"a": range(5)}); df2 = df; df = df.assign(b=df.a * 2)
        # %%
        results = {}
        for k, g in df.groupby(df.a % 2): results[k] = g
        tmp = results[0]; tmp.loc[:, "b"] = 0
        # %%
        cols = df.columns; first = df.iloc[0]; mask = df.a > 2; sel = df[mask]; total = df.b.sum(); arr = df.values; t = df.T; q = df.query("a > @total - 18")
        best = None; best_score = -np.inf; history = []
        for i in range(3):
            history.append({"i": i, "best": best}); best = {"i": i, "prev": best}
        """,
        """
        df2 is df, df2.columns.tolist()
        results[0].b.tolist(), tmp is results[0]
        df.loc[0, "a"] = 50 ;; first.a, sel.a.tolist(), arr[0, 0], t.iloc[0, 0]
        total, mask.tolist(), cols.tolist(), q.a.tolist()
        best["prev"]["prev"]["prev"], history[1]["best"] is best["prev"]["prev"], best_score
        k, g.a.tolist(), i
        """,
    ),
    "writers in the middle": session(
        """
        import csv, json, io, logging, zipfile, gzip
        f = open("out.csv", "w", newline=""); w = csv.DictWriter(f, ["a", "b"]); w.writeheader(); w.writerow({"a": 1, "b": 2}); f.flush()
        src = open("in.txt", "w+"); src.write("l1\\nl2\\nl3\\n"); src.seek(0); src.readline()
        buf = io.StringIO(); out = csv.writer(buf); out.writerow([1, "x,y"])
        enc = json.JSONEncoder(indent=1, sort_keys=True); dec = json.JSONDecoder()
        z = zipfile.ZipFile("a.zip", "w"); z.writestr("x", "1")
        log = logging.getLogger("file"); h = logging.FileHandler("run.log"); log.addHandler(h); log.setLevel("INFO"); log.info("one")
        both = io.TextIOWrapper(io.BytesIO(b"q\\nr\\n")); both.readline()
        """,
        """
        f.write("3,4\\r\\n"); f.flush() ;; open("out.csv").read().count("\\n")
        src.readline(), src.tell() > 0
        buf.getvalue()
        enc.encode({"b": 1, "a": 2}), dec.decode("[1]")
        log.info("two") ;; open("run.log").read()
        both.read()
        w.fieldnames
        out.writerow([2])
        z.namelist()
        """,
        named="w out z both dec h log logging.handlers handlers",
    ),
    "values that compare strangely": session(
        """
        import numpy as np
        class Never:
            def __eq__(self, o): return False
            def __hash__(self): return 1
        class Always:
            def __eq__(self, o): return True
            def __hash__(self): return 2
        class Moody:
            def __bool__(self): raise ValueError("no truth")
            def __eq__(self, o): raise TypeError("no equality")
            __hash__ = object.__hash__
            def __repr__(self): return "moody"
            def __len__(self): raise RuntimeError("no length")
        n, a, m = Never(), Always(), Moody(); d = {n: "n", m: "m"}; l = [n, a]; s = {n}
        class Prop:
            @property
            def boom(self): raise AttributeError("inner")
            def __getattr__(self, k): return f"made {k}"
            def __reduce__(self): return Prop, ()
        p = Prop(); arr = np.array([1, 2]); t = (arr, arr)
        """,
        """
        d[n], d[m], n in l, n in s
        l[0] is n, [x for x in d][1] is m
        a == 5, repr(m)
        p.boom, p.other
        t[0] is t[1], t[0] is arr
        """,
    ),
    "versions of one class": session(
        """
        class P:
            v = 1
            def who(self): return "old"
        old = P()
        # %%
        class P:
            v = 2
            def who(self): return "new"
        new = P(); OldP = type(old)
        def make(): return P()
        # %%
        def f(): return "first"
        held = f; table = {"f": f}
        # %%
        def f(): return "second"
        """,
        """
        old.who(), new.who(), make().who()
        type(old) is OldP, type(old) is P, type(new) is P
        held(), f(), table["f"]()
        OldP.v, P.v, OldP().who()
        isinstance(old, P)
        """,
    ),
    "modules that cells made with files": session(
        '''
        open("tools.py", "w").write("""
        import json as _json
        _MISSING = object()
        DEFAULT = {"a": [1]}
        def get(d, k, default=_MISSING):
            if k in d: return d[k]
            if default is _MISSING: raise KeyError(k)
            return default
        class Base:
            _cache = {}
            def __new__(cls, k):
                if k not in cls._cache: cls._cache[k] = super().__new__(cls)
                return cls._cache[k]
            def __init__(self, k): self.k = k
        NAN = float("nan")
        """)
        import tools
        from tools import get, Base, NAN
        one, again = Base("x"), Base("x"); tools.DEFAULT["a"].append(2); lst = [NAN, tools.NAN]
        ''',
        """
        get({}, "q")
        get({"q": 1}, "q"), get({}, "q", 5)
        one is again, Base("x") is one, Base._cache["x"] is one
        tools.DEFAULT, tools._MISSING is tools.get.__defaults__[0]
        NAN in lst, tools.NAN is NAN, lst[0] is lst[1]
        tools.Base is Base
        """,
        named="one again _cache",
    ),
    "callables in odd places": session(
        """
        import operator, functools, types
        class Call:
            def __call__(self, x): return x + self.k
            k = 1
        c = Call(); Call.k = 3; b = c.__call__; sm = staticmethod(lambda x: x); prop = property(lambda s: 5)
        class Dyn: pass
        Dyn.m = lambda self, x: (self, x)[1]; Dyn.s = staticmethod(lambda: "s"); Dyn.p = prop; Dyn.c = classmethod(lambda cls: cls.__name__)
        d = Dyn(); d.inst = types.MethodType(lambda self: self is d, d); d.free = lambda: "free"
        T = type("T", (Dyn,), {"z": 1, "__init__": lambda self, q: setattr(self, "q", q)}); t = T(4)
        fs = [lambda i=i: i for i in range(3)]; late = [lambda: i for i in range(3)]
        def outer():
            def inner(): return x_later
            x_later = 1
            def change(v): nonlocal x_later; x_later = v
            return inner, change
        inner, change = outer()
        """,
        """
        c(1), b(1), c.k
        d.m(2), d.s(), d.p, d.c(), d.inst(), d.free()
        t.q, t.z, t.p, T.__name__, type(t) is T
        [f() for f in fs], [f() for f in late]
        change(9) ;; inner()
        Call.k = 7 ;; b(1)
        b.__self__ is c, sm(4)
        """,
    ),
    "strings that look like more": session(
        """
        code = "x = 1"; compiled = compile("a * 2", "<own>", "eval"); fn = eval("lambda q: q + add"); add = 4
        exec("dyn_a = 5\\ndef dyn_f(): return dyn_a + add")
        exec("global_b = add", globals())
        loc = {}; exec("y = 2", {}, loc)
        space = dict(k=3); exec("def h(): return k", space)
        tpl = f"{add}"; fmt = "{a[0]}".format(a=[1]); by = "ü".encode("latin-1"); surrogate = b"\\xff".decode("utf-8", "surrogateescape")
        docs = {"f": dyn_f.__doc__}
        """,
        """
        eval(compiled, {"a": 4}), fn(1)
        add = 10 ;; dyn_f(), fn(1), global_b
        dyn_a = 50 ;; dyn_f()
        loc["y"], space["h"]()
        space["k"] = 8 ;; space["h"]()
        by, surrogate.encode("utf-8", "surrogateescape"), tpl
        """,
    ),
    "arithmetic of one's own": session(
        """
        import numbers, functools, operator, math
        @functools.total_ordering
        class Mod:
            __slots__ = ("n", "m")
            pool = {}
            def __new__(cls, n, m=7):
                key = (n % m, m)
                if key not in cls.pool:
                    one = object.__new__(cls); one.n, one.m = key; cls.pool[key] = one
                return cls.pool[key]
            def __reduce__(self): return Mod, (self.n, self.m)
            def __add__(self, o): return Mod(self.n + int(o), self.m)
            __radd__ = __add__
            def __int__(self): return self.n
            def __eq__(self, o): return int(self) == int(o)
            def __lt__(self, o): return int(self) < int(o)
            def __hash__(self): return hash((self.n, self.m))
        a, b = Mod(3), Mod(10); total = sum([Mod(i) for i in range(4)], Mod(0)); table = {Mod(1): "one"}
        class Vec(tuple):
            def __add__(self, o): return Vec(map(operator.add, self, o))
        v = Vec((1, 2)); vs = [v, v + v]
        """,
        """
        a is b, Mod(17) is a
        int(total), total is Mod(6), len(Mod.pool)
        table[Mod(8)], max(a, Mod(5)).n
        v + v, type(vs[1]).__name__, vs[0] is v
        (a + 6).n
        """,
    ),
}
