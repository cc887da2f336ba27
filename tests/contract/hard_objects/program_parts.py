"""Parts of programs: context managers, parsers, arrays in classes, weak stores, packages in files."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "namespaces of code that says it is the main program, and what says how it is kept": session(
        """
        import code, re, sqlite3, threading, wrapt, contextlib, attrs
        def norm(text): return text.lower()
        ns = {"__name__": "__main__"}
        exec(compile("count = 0\\ndef bump():\\n    global count\\n    count += 1\\n    return count\\n", "<plugin>", "exec"), ns)
        bump = ns["bump"]
        model = dict(globals())
        exec(compile("class P:\\n    def __init__(s, n): s.n = n\\n    def __hash__(s): return hash(tuple(norm(c) for c in s.n))\\n    def __eq__(s, o): return s.n == o.n\\n", "<model>", "exec"), model)
        P = model["P"]; del model; points = {P(("a", "B"))}
        interp = code.InteractiveInterpreter({"__name__": "__main__"}); _ = interp.runsource("total = 5"); _ = interp.runsource("def more(): return total + 1")
        @attrs.define
        class A:
            x: int
        made_of = A.__init__.__globals__
        # %%
        setup = sqlite3.connect("d.db"); setup.execute("create table t (x)"); setup.execute("insert into t values (zeroblob(4))"); setup.commit(); setup.close()
        con = sqlite3.connect("file:d.db?mode=ro", uri=True)
        with con.blobopen("t", "x", 1, readonly=True) as blob: got = blob.read()
        lock = threading.Lock(); lock.acquire()
        class Guarded(wrapt.ObjectProxy):
            def __reduce_ex__(self, protocol): return Guarded, ({"again": 1},)
            def __reduce__(self): return self.__reduce_ex__(2)
        guarded = Guarded(lock); config = {"g": guarded, "k": [1, 2]}
        def attempt(do):
            try: return do()
            except Exception as error: return type(error).__name__
        """,
        """
        bump.__globals__ is ns, (bump(), bump(), ns["count"])
        P(("a", "B")) in points, len(points)
        interp.locals["total"], interp.locals["more"](), interp.locals["more"].__globals__ is interp.locals
        made_of is A.__init__.__globals__, made_of is A.__eq__.__globals__, "norm" in made_of
        attempt(lambda: con.execute("insert into t values (1)")), con.execute("select count(*) from t").fetchone(), got
        config["k"], config["g"] is guarded
        """,
        named="lock blob",
    ),
    "a scanner whose words it does not take any more": session(
        """
        import re
        lexicon = [(r"[0-9]+", lambda scanner, text: int(text)), (r" ", None)]
        fine = re.Scanner(list(lexicon)); used = fine.scan("12 5")
        broken = re.Scanner(lexicon); lexicon.append((r"[", None))
        order = {0, 8, 16}; order.discard(0); order.add(64); order.add(0)
        """,
        """
        fine.scan("7 8"), used, list(order)
        broken.scan("12")
        """,
        named="broken",
    ),
    "context managers half entered, exit stacks and decorators with state": session(
        """
        import contextlib, functools, io, os, sys, tempfile, threading, time, warnings, decimal, inspect
        log = []
        class Res:
            opened = []
            def __init__(self, n): self.n = n; self.depth = 0
            def __enter__(self): self.depth += 1; Res.opened.append(self.n); log.append(f"+{self.n}"); return self
            def __exit__(self, t, e, tb): self.depth -= 1; log.append(f"-{self.n}:{t and t.__name__}"); return self.n == "swallow"
        stack = contextlib.ExitStack(); r1 = stack.enter_context(Res("a")); stack.callback(log.append, "cb"); stack.push(Res("swallow").__exit__); inner = stack.enter_context(contextlib.ExitStack()); inner.callback(lambda: log.append("inner"))
        moved = contextlib.ExitStack(); moved.enter_context(Res("m")); kept = moved.pop_all(); null = contextlib.nullcontext([1]); sup = contextlib.suppress(KeyError, IndexError); out = io.StringIO(); red = contextlib.redirect_stdout(out); clos = contextlib.closing(io.StringIO("x"))
        class Deco(contextlib.ContextDecorator):
            def __init__(self, tag): self.tag, self.n = tag, 0
            def __enter__(self): self.n += 1; return self
            def __exit__(self, *e): log.append(self.tag)
        deco = Deco("deco")
        @deco
        def work(x): return x / 2
        def retry(times, on=(ValueError,), sleep=lambda s: log.append(("sleep", s))):
            def wrap(fn):
                stats = {"calls": 0, "fails": []}
                @functools.wraps(fn)
                def inner(*a, **k):
                    for i in range(times):
                        stats["calls"] += 1
                        try: return fn(*a, **k)
                        except on as e: stats["fails"].append(str(e)); sleep(2 ** i)
                    raise RuntimeError("gave up")
                inner.stats = stats; inner.reset = lambda: (stats.update(calls=0), stats["fails"].clear())
                return inner
            return wrap
        class Flaky:
            def __init__(self, *plan): self.plan = iter(plan)
            @retry(3)
            def go(self):
                v = next(self.plan)
                if v is None: raise ValueError("bad")
                return v
        def validate(**rules):
            def wrap(fn):
                sig = inspect.signature(fn)
                @functools.wraps(fn)
                def inner(*a, **k):
                    b = sig.bind(*a, **k); b.apply_defaults()
                    for n, r in rules.items():
                        if not r(b.arguments[n]): raise TypeError(n)
                    return fn(*b.args, **b.kwargs)
                inner.rules = rules
                return inner
            return wrap
        @validate(n=lambda v: v > 0)
        @functools.lru_cache
        def area(n, m=2): return [n * m]
        def once(fn):
            done = threading.Event(); box = []
            def w(*a):
                if not done.is_set(): box.append(fn(*a)); done.set()
                return box[0]
            w.done = done
            return w
        @once
        def setup(): log.append("setup"); return {"cfg": 1}
        # %%
        work(4); fl = Flaky(None, None, "ok", None, None, None); fl.go(); got = setup(); ar = area(3); go = fl.go; caught = warnings.catch_warnings(record=True); nested = decimal.localcontext(prec=4); tmp = tempfile.TemporaryDirectory(dir="."); open(tmp.name + "/f.txt", "w").write("t")
        """,
        """
        stack.close() ;; log[-5:], r1.depth, Res.opened
        log.clear(); kept.close(); moved.close() ;; log, len(kept._exit_callbacks)
        null.__enter__().append(2) ;; null.enter_result
        exec("with sup: {}['x']") ;; sup._exceptions
        exec("with red: print('hi')") ;; out.getvalue(), sys.stdout is not out
        work(6), deco.n, log[-1], work.__wrapped__(2)
        fl.go.stats, Flaky.go.stats["calls"], Flaky.go.stats["fails"]
        go()
        Flaky.go.stats["calls"], Flaky.go.reset(), Flaky.go.stats
        area(3) is ar, area.__wrapped__.cache_info().hits, area.rules["n"](0), area(n=3, m=2) is ar
        area(-1)
        setup() is got, setup.done.is_set(), setup.__closure__ is not None, log.count("setup")
        exec("with nested as c: xx = decimal.Decimal(1) / 3") ;; xx, decimal.getcontext().prec
        open(os.path.join(tmp.name, "f.txt")).read(), tmp.cleanup(), os.path.exists(tmp.name)
        """,
        named="nested tmp",
    ),
    "parsers by combinators, grammars as data, visitors and a virtual machine": session(
        """
        import re, functools, operator, dataclasses as dc, enum, collections
        class Parser:
            memo = {}
            def __init__(self, fn, name="?"): self.fn, self.name = fn, name
            def __call__(self, s, i=0):
                key = (self, s, i)
                if key not in Parser.memo: Parser.memo[key] = self.fn(s, i)
                return Parser.memo[key]
            def __or__(self, o): return Parser(lambda s, i: self(s, i) or o(s, i), f"{self.name}|{o.name}")
            def __add__(self, o):
                def run(s, i):
                    a = self(s, i); b = a and o(s, a[1])
                    return b and ((a[0], b[0]), b[1])
                return Parser(run, f"{self.name}+{o.name}")
            def many(self):
                def run(s, i):
                    out = []
                    while (r := self(s, i)): out.append(r[0]); i = r[1]
                    return out, i
                return Parser(run, self.name + "*")
            def __rshift__(self, f): return Parser(lambda s, i: (r := self(s, i)) and (f(r[0]), r[1]), self.name)
        def tok(rx):
            r = re.compile(r"\\s*(" + rx + ")")
            return Parser(lambda s, i: (m := r.match(s, i)) and (m.group(1), m.end()), rx)
        class Ref(Parser):
            def __init__(self): super().__init__(lambda s, i: self.target(s, i)); self.target = None
        @dc.dataclass(frozen=True)
        class Num: v: int
        @dc.dataclass(frozen=True)
        class Bin: op: str; l: object; r: object
        expr = Ref(); num = tok(r"\\d+") >> (lambda t: Num(int(t))); paren = tok(r"\\(") + expr + tok(r"\\)") >> (lambda r: r[0][1]); atom = num | paren
        def fold(r): return functools.reduce(lambda a, p: Bin(p[0], a, p[1]), r[1], r[0])
        term = atom + (tok(r"[*/]") + atom).many() >> fold; expr.target = term + (tok(r"[-+]") + term).many() >> fold
        class Visitor:
            counts = collections.Counter()
            def visit(self, n): Visitor.counts[type(n).__name__] += 1; return getattr(self, "visit_" + type(n).__name__)(n)
        class Compile(Visitor):
            def __init__(self): self.code, self.consts = bytearray(), []
            def visit_Num(self, n):
                if n.v not in self.consts: self.consts.append(n.v)
                self.code += bytes([Op.PUSH, self.consts.index(n.v)])
            def visit_Bin(self, n): self.visit(n.l); self.visit(n.r); self.code.append(Op.by[n.op])
        class Op(enum.IntEnum): PUSH = 1; ADD = 2; MUL = 3; SUB = 4; DIV = 5; JMP = 6; HALT = 7
        Op.by = {"+": Op.ADD, "*": Op.MUL, "-": Op.SUB, "/": Op.DIV}
        class VM:
            table = {}
            def __init__(self, code, consts): self.code, self.consts, self.pc, self.stack, self.halted = memoryview(code), consts, 0, [], False
            @classmethod
            def op(cls, o): return lambda f: cls.table.__setitem__(o, f) or f
            def step(self):
                o = Op(self.code[self.pc]); self.pc += 1; VM.table[o](self); return o
            def run(self, n=10**6):
                while n and self.pc < len(self.code): self.step(); n -= 1
                return self.stack[-1] if self.stack else None
        @VM.op(Op.PUSH)
        def push(vm): vm.stack.append(vm.consts[vm.code[vm.pc]]); vm.pc += 1
        for o, f in ((Op.ADD, operator.add), (Op.MUL, operator.mul), (Op.SUB, operator.sub), (Op.DIV, operator.truediv)): VM.op(o)(lambda vm, f=f: vm.stack.append(f(*[vm.stack.pop() for _ in "ab"][::-1])))
        # %%
        tree, end = expr("2 * (3 + 4) - 5"); comp = Compile(); comp.visit(tree); vm = VM(comp.code, comp.consts); vm.run(3); hash0 = hash(tree) == hash(expr("2 * (3 + 4) - 5")[0]); names = {tree: "t"}; size = len(Parser.memo); match = re.match(r"(a)|(b)", "b"); kind = None
        """,
        """
        vm.stack, vm.pc, vm.step(), vm.stack, vm.run(), vm.code.obj is comp.code
        expr("2 * (3 + 4) - 5")[0] is tree, len(Parser.memo) == size, expr("1+1")[0], names[tree]
        comp.code.hex(), comp.consts, comp.consts is vm.consts, Visitor.counts, Compile.counts is Visitor.counts
        comp.code.append(Op.HALT)
        comp.code[1] = 1; vm.pc = 0; vm.stack.clear() ;; vm.run()
        expr.target.name, (num | paren)("(7)")[0], atom("x"), expr.fn.__closure__[0].cell_contents is expr
        VM.table[Op.PUSH] is push, len(VM.table), VM.table[Op.SUB].__defaults__[0] is operator.sub, Op.by["+"] is Op.ADD
        VM.op(Op.HALT)(lambda vm: "halt") and VM.table[7](vm), sorted(VM.table)[-1]
        type(tree.l), tree.l == Bin("*", Num(2), Bin("+", Num(3), Num(4))), dc.replace(tree, op="+").l is tree.l
        tree.op = "x" ;; 0
        match.lastindex, match.groups(), match.re.groups, match.expand(r"[\\2]")
        """,
    ),
    "programs that hold arrays and frames inside classes, shared by views": session(
        """
        import numpy as np, pandas as pd, functools, weakref, dataclasses, collections, operator
        class Quantity(np.ndarray):
            units = {"m": 1.0, "km": 1000.0}
            def __new__(cls, a, unit="m"): o = np.asarray(a, float).view(cls); o.unit = unit; return o
            def __array_finalize__(self, o): self.unit = getattr(o, "unit", "?"); self.made = getattr(o, "made", 0) + 1 if o is not None else 0
            def __array_ufunc__(self, uf, method, *i, **k): return getattr(uf, method)(*[np.asarray(x) for x in i], **k).view(Quantity) if method == "__call__" else NotImplemented
        class Grid:
            pool = np.zeros((4, 8)); used = 0
            def __init__(self, n): self.data = Grid.pool[Grid.used:Grid.used + n]; Grid.used += n; self.halo = self.data[:, 1:-1]
            def __array__(self, dtype=None, copy=None): return self.data
            @functools.cached_property
            def mean(self): return self.data.mean(axis=0)
        class Frame(pd.DataFrame):
            _metadata = ["owner"]
            @property
            def _constructor(self): return Frame
            @property
            def _constructor_sliced(self): return Col
        class Col(pd.Series):
            _metadata = ["owner"]
            @property
            def _constructor(self): return Col
            @property
            def _constructor_expanddim(self): return Frame
        class Diag(np.lib.mixins.NDArrayOperatorsMixin):
            handled = {}
            def __init__(self, n, v): self.n, self.v = n, v
            def __array__(self, dtype=None, copy=None): return self.v * np.eye(self.n)
            def __array_ufunc__(self, uf, m, *i, **k): return Diag(self.n, uf(*[x.v if isinstance(x, Diag) else x for x in i]))
            def __array_function__(self, f, t, a, k): return Diag.handled[f](*a, **k)
        def implements(f): return lambda g: Diag.handled.__setitem__(f, g) or g
        @implements(np.sum)
        def diag_sum(d): return d.n * d.v
        @dataclasses.dataclass
        class Model:
            w: np.ndarray; b: np.ndarray = dataclasses.field(default_factory=lambda: Model.zero)
            zero = np.zeros(2); layers = []
            def __post_init__(self): Model.layers.append(self); self.grad = np.zeros_like(self.w); self.view = self.w.reshape(-1)
        class Store:
            frames = weakref.WeakValueDictionary()
            def __init__(self, df): self.df = df; self.cols = {c: df[c] for c in df}; Store.frames["last"] = df
        # %%
        q = Quantity([1, 2, 3], "km"); half = q[:2]; g1, g2 = Grid(1), Grid(2); fr = Frame({"a": [1, 2], "b": [3, 4]}); fr.owner = ["me"]; col = fr["a"]; st = Store(fr); dg = Diag(3, 2); m1, m2 = Model(np.ones((2, 2))), Model(np.ones((1, 2))); flat = m1.w.flat; next(flat); nd = np.nditer(m2.w, op_flags=["readwrite"]); ndi = np.ndenumerate(m1.w); next(ndi); vec = np.vectorize(lambda x: x + len(Model.layers)); frompy = np.frompyfunc(lambda a, b: (a, b), 2, 1); rec = np.rec.array([(1, "a"), (2, "b")], names="n,s"); rr = rec[0]; poly = np.polynomial.Polynomial([1, 2]); ma = np.ma.array([1, 2, 3], mask=[0, 1, 0]); mv = ma[:2]; obj = np.array([g1, None, fr], dtype=object); struct = np.zeros(2, dtype=[("p", "f8", 2), ("c", "i4")]); pf = struct["p"]; err = np.errstate(all="raise"); mg = np.ix_([0, 1], [1]); ctx = operator.itemgetter("a")
        """,
        """
        half[0] = 50.0 ;; float(q[0]), half.unit, (q * 2).unit, type(q * 2).__name__, q.made, half.made, half.base is q or np.shares_memory(half, q)
        Grid.pool[:] = 7 ;; float(g1.data.sum()), float(g2.halo[0, 0]), Grid.used, np.asarray(g2) is g2.data, Grid(1).data.base is Grid.pool
        g1.mean.tolist(), g1.halo.base is Grid.pool, g1.data.base is Grid.pool
        fr.owner, type(fr["b"]).__name__, col.owner is fr.owner if hasattr(col, "owner") else "none", type(fr.head(1)).__name__, fr.head(1).owner
        fr.loc[0, "a"] = 100 ;; st.df is fr, st.df.a.tolist(), st.cols["a"].tolist(), Store.frames["last"] is fr, col.tolist()
        np.sum(dg), (dg + 1).v, np.asarray(dg * 2)[0, 0], Diag.handled[np.sum] is diag_sum
        np.mean in Diag.handled, len(Diag.handled)
        m1.view[0] = 9; m2.b[0] = 5 ;; m1.w[0, 0], m1.b is m2.b is Model.zero, m1.b.tolist(), Model.layers[1] is m2, next(flat), next(ndi)
        vec(1), frompy(1, 2), rr.n, rec.n.tolist(), poly(2), pf.base is struct
        Model.layers.append(None) ;; vec([1, 2]).tolist(), len(m1.layers)
        mv[0] = 99; mv[1] = 5 ;; ma.data.tolist(), ma.mask.tolist(), mv.tolist()
        rr.n = 40; pf[0] = 3 ;; rec.n.tolist(), struct["p"][0].tolist(), obj[0] is g1, obj[2] is fr, ctx(fr).tolist()
        del st.df; fr = None; obj[2] = None ;; col.tolist(), "last" in Store.frames
        """,
        named="flat frompy nd ndi",
    ),
    "memory of one's own: descriptors with weak stores, private names, and tables keyed by objects": session(
        """
        import weakref, collections, copy, sys, itertools
        class Weak:
            def __init__(self, init): self.init, self.store = init, weakref.WeakKeyDictionary()
            def __get__(self, o, t=None): return self if o is None else self.store.setdefault(o, self.init())
            def __set__(self, o, v): self.store[o] = v
            def __delete__(self, o): del self.store[o]
        class Priv:
            __count = itertools.count(1); __all = {}
            def __init__(self): self.__id = next(Priv.__count); Priv.__all[self.__id] = self; self.__dict__["odd key"] = 1; self.__dict__["class"] = 2
            def ident(self): return self.__id
            @classmethod
            def get(cls, i): return cls.__all[i]
            def __hidden(self): return "h"
            def show(self): return self.__hidden()
        class Sub(Priv):
            def __hidden(self): return "sub"
            def show2(self): return self.__hidden(), self.show()
        class Item:
            tags = Weak(list); note = Weak(lambda: "none")
            def __init__(self, n): self.n = n
        class Key:
            def __init__(self, v): self.v = v
            def __hash__(self): return Key.salt ^ hash(self.v)
            def __eq__(self, o): Key.compared += 1; return self.v == o.v
            salt = 5; compared = 0
        class Ident(dict):
            def __getitem__(self, o): return super().__getitem__(id(o))[1]
            def __setitem__(self, o, v): super().__setitem__(id(o), (o, v))
            def __contains__(self, o): return super().__contains__(id(o))
        class Fn:
            def __init__(self): self.table = {}
            def when(self, *types): return lambda f: self.table.__setitem__(types, f) or self
            def __call__(self, *a): return self.table[tuple(map(type, a))](*a)
            def __get__(self, o, t): return self if o is None else (lambda *a: self(o, *a))
        add = Fn()
        @add.when(int, int)
        def add(a, b): return a + b
        @add.when(str, Item)
        def add(a, b): return a + str(b.n)
        class Use:
            op = add
        # %%
        i1, i2 = Item(1), Item(2); i1.tags.append("x"); i2.note = "second"; p, s = Priv(), Sub(); kd = {Key("a"): 1, Key("b"): 2}; ident = Ident(); ident[i1] = "one"; ident[kd] = "dict"; weak_t = Item.tags.store; fkeys = {add: 1, len: 2, Item: 3, i1.__init__: 4, Item.__init__: 5, (i1, None): 6, "a".upper: 7, int: 8, weakref.ref(i1): 9, type(None): 10, lambda: 0: 11}; us = Use(); counts = collections.Counter([i1, i1, i2]); cmp0 = Key.compared; hold = itertools.groupby([i1, i1, i2]); sizes = {}; cp = copy.copy(i1)
        """,
        """
        i1.tags, i2.tags, i2.note, i1.note, len(weak_t), cp.tags, Item.tags.store is weak_t
        del i2.note ;; i2.note, len(Item.note.store)
        p.ident(), s.ident(), Priv.get(2) is s, s.show2(), Priv().ident(), p.__dict__["odd key"], sorted(p.__dict__)
        s._Priv__id, Priv._Priv__all[1] is p, s._Sub__hidden()
        kd[Key("a")], Key("zz") in kd, list(kd.values()), Key.compared > cmp0
        Key.salt = 99 ;; Key("a") in kd, [k.v for k in kd]
        ident[i1], i1 in ident, i2 in ident, ident[kd]
        add(1, 2), add("n", i1), len(add.table), Use.op is add
        add(1.5, 2)
        fkeys[add], fkeys[len], fkeys[Item], fkeys[i1.__init__], fkeys[Item.__init__], fkeys[(i1, None)], fkeys["a".upper], fkeys[int], fkeys[weakref.ref(i1)], fkeys[type(None)]
        counts[i1], counts.most_common(1)[0][0] is i1, next(hold)[0] is i1, len(fkeys), list(fkeys)[-1]()
        del i2, cp; counts.clear(); hold = None; fkeys.clear() ;; len(weak_t), len(Item.note.store)
        """,
        known="""
        fkeys[add], fkeys[len], fkeys[Item], fkeys[i1.__init__], fkeys[Item.__init__], fkeys[(i1, None)], fkeys["a".upper], fkeys[int], fkeys[weakref.ref(i1)], fkeys[type(None)]
        """,
    ),
    "a program in files: a package written, imported, changed, patched and reloaded": session(
        """
        import os, sys, importlib, textwrap, pathlib, json, pickle, shelve, sqlite3
        pkg = pathlib.Path("shop"); pkg.mkdir(); sys.path.insert(0, os.getcwd())
        (pkg / "__init__.py").write_text("from .core import Cart, registry\\nVERSION = '1'\\n__all__ = ['Cart']\\ndef __getattr__(n):\\n    if n == 'lazy': return [1]\\n    raise AttributeError(n)\\n")
        (pkg / "core.py").write_text(textwrap.dedent('''
            import functools, logging, enum, dataclasses, weakref
            log = logging.getLogger(__name__); registry = {}; _cache = {}; LIMIT = 3
            class Kind(enum.Enum): A = 1; B = 2
            def register(cls): registry[cls.__name__] = cls; return cls
            @register
            @dataclasses.dataclass
            class Cart:
                items: list = dataclasses.field(default_factory=list)
                total = 0
                live = weakref.WeakSet()
                def __post_init__(self): Cart.live.add(self)
                __hash__ = object.__hash__
                def add(self, x, n=[]): self.items.append(x); Cart.total += 1; n.append(x); return n
            @functools.lru_cache
            def price(x): _cache[x] = x * LIMIT; return [x * LIMIT]
            def counter():
                n = 0
                def inc():
                    nonlocal n; n += 1; return n
                return inc
            tick = counter()
            class _State: value = 0
            state = _State()
            def use(): global LIMIT; LIMIT += 1; return LIMIT
            gen = (i for i in range(5)); handlers = []
            def on(f): handlers.append(f); return f
        '''))
        import shop; from shop.core import Cart, price, tick, state, Kind, use, on; import shop.core as core
        c = Cart(); c.add("x"); p = price(2); tick(); tick(); state.value = 9; use(); core.extra = {"c": c}; Cart.discount = property(lambda self: len(self.items) * 10); core.LIMIT2 = [5]; shop.VERSION = "2"
        @on
        def handler(x): return ("handled", x, len(c.items))
        @core.register
        class Mine(Cart):
            def add(self, x): return super().add(x, [])
        m = Mine(); m.add("q"); core.price2 = core.price.__wrapped__; orig_add = Cart.add; Cart.add = lambda self, x, n=None: orig_add(self, x + "!"); kinds = {Kind.A: "a"}; db = sqlite3.connect("s.db"); db.execute("create table t (a)"); db.create_function("twice", 1, lambda x: x * 2); db.row_factory = sqlite3.Row; db.execute("insert into t values (4)"); db.commit(); cur = db.execute("select a, twice(a) t2 from t"); pickle.dump(c, open("c.pkl", "wb"))
        """,
        """
        c.items, Cart.total, m.items, c.discount, Cart is shop.Cart is core.Cart, core.registry["Mine"] is Mine
        price(2) is p, core._cache, price.cache_info().hits, core.LIMIT, core.price2(1)
        tick(), tick is core.tick, state is core.state, state.value, use(), core.LIMIT
        core.handlers[0] is handler, core.handlers[0](1), core.extra["c"] is c, core.LIMIT2
        orig_add.__defaults__[0], c.add("y"), c.items, len(Cart.live), c in Cart.live
        kinds[core.Kind.A], Kind is core.Kind, shop.VERSION, shop.lazy, shop.registry is core.registry
        shop.nope
        pickle.load(open("c.pkl", "rb")) == c, type(pickle.load(open("c.pkl", "rb"))) is Cart
        db.execute("select twice(a) from t").fetchone()[0], db.execute("select a q from t").fetchone()["q"]
        next(core.gen, "end")
        importlib.reload(core) is core, core.LIMIT, core.Cart is Cart, isinstance(c, core.Cart), core.extra["c"] is c, core.tick()
        shop.Cart is Cart, Mine.__mro__[1] is Cart, sorted(core.registry), shop.registry is core.registry
        """,
        named="cur gen twice",
        known="""
        price(2) is p, core._cache, price.cache_info().hits, core.LIMIT, core.price2(1)
        """,
    ),
}
