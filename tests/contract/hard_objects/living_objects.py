"""Objects with a mind of their own: that lie, count, refuse, share, refer to themselves and were redefined."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "classes and functions defined again, with instances of before": session(
        """
        class Tool:
            version = 1; made = []
            def __init__(self): Tool.made.append(self)
            def run(self): return f"v1 {helper()}"
        def helper(): return "h1"
        t1 = Tool(); run1 = t1.run; Old = Tool; old_helper = helper; oldmade = Tool.made
        class Sub(Tool):
            def run(self): return "sub " + super().run()
        s1 = Sub()
        # %%
        class Tool:
            version = 2; made = []
            def __init__(self): Tool.made.append(self); self.extra = [1]
            def run(self): return f"v2 {helper()}"
            def __eq__(self, o): return isinstance(o, Tool)
            __hash__ = object.__hash__
        def helper(): return "h2"
        t2 = Tool(); t3 = Tool.__new__(Tool); table = {Old: "old", Tool: "new"}; reg = {"Tool": [Old, Tool]}
        # %%
        def helper(): return "h3"
        Old.patched = lambda self: "patched"; upgraded = Old.__new__(Old); upgraded.__class__ = Tool; s2 = Sub(); gone = lambda: missing_name + 1; missing_name = 5; del missing_name
        """,
        """
        t1.run(), t2.run(), run1(), s1.run(), old_helper()
        Old is Tool, type(t1) is Old, isinstance(t1, Tool), isinstance(s1, Old), Sub.__mro__[1] is Old, Old.__qualname__
        Tool.made == [t2, s2], s2 in Tool.made, oldmade == [t1, s1], oldmade is Old.made, len(Tool.made)
        t2 == t3, t1 == t2, table[type(t1)], table[type(t2)], reg["Tool"][0] is Old
        t1.patched(), hasattr(t2, "patched"), s1.patched(), upgraded.run(), upgraded == t2
        gone()
        missing_name = 10 ;; gone()
        def helper(): return "h4" ;; run1(), t2.run(), old_helper(), s2.run()
        Old().version, len(oldmade), len(Tool.made), Tool.made[-1].version
        """,
    ),
    "sentinels, interned names and singletons that code compares by identity": session(
        """
        import sys, enum, dataclasses, inspect, functools, types, typing, weakref
        _MISSING = object(); UNSET = type("UNSET", (), {"__repr__": lambda s: "UNSET", "__bool__": lambda s: False})()
        def get(d, k, default=_MISSING):
            v = d.get(k, _MISSING)
            if v is _MISSING and default is _MISSING: raise KeyError(k)
            return default if v is _MISSING else v
        class Missing(enum.Enum): token = 0
        class Opt:
            def __init__(self, x=UNSET, *, y: object = Missing.token): self.x, self.y = x, y
            def filled(self): return self.x is not UNSET, self.y is not Missing.token
        name = sys.intern("some long name " * 2); names = {name: 1}; data = {"a": _MISSING, "b": UNSET, "c": None, "d": ..., "e": NotImplemented, "f": dataclasses.MISSING, "g": inspect.Parameter.empty, "h": type(None), "i": types.NoneType, "j": typing.Any, "k": dataclasses.KW_ONLY}
        marks = [_MISSING, object(), object()]; seen = {marks[1]: "one", marks[2]: "two"}; byid = {id(m): i for i, m in enumerate(marks)}
        pairs = [(a, b) for a in marks for b in marks if a is b]; empty = (); big = 10 ** 30; bigs = [big, big, 10 ** 30 + 0]; fl = 1.5; fls = [fl, fl]; s = "".join(["x"] * 30); ss = (s, s, {s: s}); by = bytes(range(50)); bb = [by, by]; fz = frozenset([s]); fs = {fz: fz}; rng = range(5); rr = [rng, rng]
        done = functools.partial(get, default=UNSET); args = (UNSET, _MISSING)
        @dataclasses.dataclass
        class Cfg:
            host: str = "h"
            port: object = UNSET
            tags: list = dataclasses.field(default_factory=lambda: shared)
        shared = ["t"]; cfg = Cfg()
        """,
        """
        get({"z": 1}, "a", 5), get(data, "c"), get.__defaults__[0] is _MISSING
        get({}, "q")
        get(data, "a")
        Opt().filled(), Opt(1, y=2).filled(), Opt(UNSET).filled(), Opt.__init__.__kwdefaults__["y"] is Missing.token
        data["b"] is UNSET, bool(data["b"]), data["d"] is ..., data["e"] is NotImplemented, data["f"] is dataclasses.MISSING, data["g"] is inspect._empty, data["h"] is data["i"], data["j"] is typing.Any, data["k"] is dataclasses.KW_ONLY
        seen[marks[1]], seen[marks[2]], len(pairs), all(a is b for a, b in pairs), marks[0] is _MISSING
        byid.get(id(marks[1])), byid.get(id(_MISSING))
        bigs[0] is bigs[1] is big, fls[0] is fls[1] is fl, ss[0] is ss[1] is s, list(ss[2])[0] is ss[2][s] is s, bb[0] is by, list(fs)[0] is fz, rr[0] is rr[1] is rng
        name is sys.intern("some long name " * 2), list(names)[0] is name
        done({}, "z") is UNSET, args[0] is done.keywords["default"], args[1] is get.__defaults__[0]
        Cfg().tags is shared, cfg.tags is shared, cfg.port is UNSET, Cfg.port is UNSET, Cfg() == cfg, Cfg.__dataclass_fields__["port"].default is UNSET
        """,
    ),
    "objects that lie, refuse, raise and answer for everything": session(
        """
        import unittest.mock as um, collections, types, copyreg
        class Rude:
            def __repr__(self): raise RuntimeError("no repr")
            def __eq__(self, o): raise RuntimeError("no eq")
            def __bool__(self): raise RuntimeError("no bool")
            def __len__(self): raise RuntimeError("no len")
            __hash__ = object.__hash__
        class Yes:
            def __getattr__(self, k):
                if k.startswith("__"): raise AttributeError(k)
                self.__dict__.setdefault("asked", []).append(k); return Yes()
            def __call__(self, *a, **k): return self
            def __contains__(self, x): return True
        class Proxy:
            __slots__ = ("_t", "_log", "__weakref__")
            def __init__(self, t): object.__setattr__(self, "_t", t); object.__setattr__(self, "_log", [])
            def __getattribute__(self, k):
                if k in ("_t", "_log"): return object.__getattribute__(self, k)
                if k == "__class__": return type(self._t)
                self._log.append(k); return getattr(self._t, k)
            def __setattr__(self, k, v): setattr(self._t, k, v)
            def __getitem__(self, i): return self._t[i]
        class Arrayish:
            def __init__(self, v): self.v = v
            def __eq__(self, o): return [x == o for x in self.v]
            def __hash__(self): return hash(tuple(self.v))
        class Counted:
            alive = 0; made = 0
            def __new__(cls, *a): o = super().__new__(cls); cls.alive += 1; cls.made += 1; return o
            def __init__(self, x): self.x = x
            def __del__(self): Counted.alive -= 1
        class State:
            dumps = loads = 0
            def __init__(self): self.a, self.secret = [1], "s"
            def __getstate__(self): State.dumps += 1; return {"a": self.a}
            def __setstate__(self, s): State.loads += 1; self.__dict__.update(s, secret="lost")
        class Args:
            def __init__(self, a, b): self.a, self.b, self.c = a, b, [a, b]
            def __getnewargs__(self): return ()
            def __reduce__(self): return (Args, (self.a, self.b))
        class Reg:
            def __init__(self, v): self.v, self.w = v, v * 2
        copyreg.pickle(Reg, lambda r: (Reg, (r.v,)))
        class Dyn:
            __slots__ = {"a": "doc of a", "__dict__": "rest"}
        # %%
        rude = Rude(); yes = Yes(); yes.foo.bar(1); px = Proxy([1, 2]); px2 = Proxy(Counted(5)); ar = Arrayish([1, 2]); ard = {ar: "arr"}; cs = [Counted(i) for i in range(3)]; cs.pop(); st = State(); st2 = st; ag = Args(1, 2); ag.c.append("more"); ag.d = "later"; rg = Reg(1); rg.w = [9]; dy = Dyn(); dy.a = [1]; dy.b = dy.a
        mock = um.MagicMock(name="api", spec=["get", "post"]); mock.get.side_effect = [1, KeyError("k")]; mock.post.return_value = {"ok": [1]}; mock.get("u"); mock.post(a=1); call = um.call.get("u"); ns = types.SimpleNamespace(r=rude, x=1); ns.me = ns; pat = um.patch("os.getcwd", return_value="/patched"); pat.start(); alw = um.ANY; m2 = um.Mock(); m2.a.b.c = 3; m2.fn.side_effect = lambda x: x * 2; m2.fn(4); pm = um.PropertyMock(return_value=7); type(m2).prop = pm
        """,
        """
        repr(rude)
        bool(rude)
        {rude: 1}[rude], [rude].index(rude), ns.r is rude, ns.me is ns
        yes.asked, 5 in yes, yes(1) is yes, type(yes.zzz).__name__, yes.asked
        px.append(3); px[0] ;; object.__getattribute__(px, "_t"), object.__getattribute__(px, "_log"), isinstance(px, list), type(px).__name__, px[2]
        px2.x = 6 ;; px2.x, isinstance(px2, Counted)
        ard[ar], ar == 1, list(ard)[0] is ar
        Counted.alive, Counted.made, len(cs)
        cs.clear() ;; Counted.alive, Counted.made
        st.secret, st2 is st, st.a
        ag.c, ag.d, rg.w, dy.b is dy.a, dy.__dict__, Dyn.__slots__["a"], Dyn.a.__doc__
        mock.get.call_count, mock.get.call_args_list, mock.method_calls == [call, um.call.post(a=1)], mock.post()["ok"].append(2), mock.post()
        mock.get("again")
        mock.delete
        __import__("os").getcwd(), pat.stop(), __import__("os").getcwd() != "/patched"
        m2.a.b.c, m2.fn(5), m2.fn.call_count, m2.prop, pm.call_count, m2.fn.mock_calls
        """,
    ),
    "structures that contain themselves, in every direction": session(
        """
        import collections, dataclasses, functools, types, weakref
        l = [1]; l.append(l); d = {"me": None}; d["me"] = d; t = ([],); t[0].append(t); s = {"k"}; od = collections.OrderedDict(); od["self"] = od; dq = collections.deque([1]); dq.append(dq); dd = collections.defaultdict(lambda: dd); dd["x"]["y"] = 5; cm = collections.ChainMap(d); d["chain"] = cm
        class N:
            def __init__(self, k): self.k = k; self.out = set(); self.by = {}
            def __hash__(self): return hash(self.k)
            def __eq__(self, o): return self.k == o.k
            def __repr__(self): return f"N{self.k}"
        a, b = N("a"), N("b"); a.out.add(b); b.out.add(a); a.out.add(a); a.by[b] = a; b.by[a] = {b: b}; fz = frozenset([a, b]); a.fz = fz
        class Tree:
            def __init__(self, v, up=None): self.v, self.up, self.kids = v, up, []; up and up.kids.append(self)
            def __call__(self): return self.up() + [self.v] if self.up else [self.v]
        root = Tree(1); leaf = Tree(3, Tree(2, root)); root.hook = leaf.__call__; root.part = functools.partial(Tree.__call__, leaf); leaf.cls = Tree; Tree.root = root
        def f(x): return f.twin(x) if x > 0 else f.data
        def g(x): return f(x - 1)
        f.twin, g.twin, f.data = g, f, [f, g]
        class Meta(type): inst = []
        class K(metaclass=Meta):
            def __init__(self): Meta.inst.append(self); self.types = [type(self), Meta]
        K.single = K(); K.cls = K; ns = types.SimpleNamespace(); ns.g = globals(); mod = types.ModuleType("mod"); mod.mod = mod; mod.ns = ns
        @dataclasses.dataclass(eq=False)
        class P: q: object = None
        p = P(); p.q = P(P(p)); ex = ValueError(); ex.args = (ex, [ex]); lst = [[]] * 3; rows = [[0] * 2 for _ in range(2)]; rows.append(rows[0]); it = iter(l); next(it); bound = l.append; view = d.keys(); deep = []
        for _ in range(3000): deep = [deep]
        chain = None
        for i in range(5000): chain = types.SimpleNamespace(next=chain, i=i)
        """,
        """
        l[1] is l, d["me"] is d, t[0][0] is t, od["self"] is od, dq[1] is dq, cm["me"] is d, d["chain"] is cm, cm.maps[0] is d
        dd["x"] is dd, dd["y"], dd["new"] is dd, sorted(map(str, dd))
        a in b.out, b in a.out, a in a.out, a.by[b] is a, b.by[a][b] is b, a in fz, N("b") in a.out, a.fz is fz, len(fz)
        a.k = "c" ;; a in b.out, N("c") in fz, [x.k for x in b.out]
        root.hook(), root.part(), leaf.up.up is root, root.kids[0].kids[0] is leaf, Tree.root.hook.__self__ is leaf, root.part.args[0] is leaf
        f(2)[0] is f, f.twin.twin is f, f.data[1] is g, g.__globals__ is ns.g is globals()
        K.single.types[0] is K, K.cls is K, Meta.inst == [K.single], mod.mod is mod, mod.ns is ns
        p.q.q.q is p, ex.args[0] is ex, ex.args[1][0] is ex
        lst[0].append(1); rows[0][0] = 7 ;; lst, rows[2], rows[2] is rows[0]
        bound(2); ;; next(it) is l, next(it), list(it), l[2]
        d["more"] = 1 ;; sorted(view), "more" in view, view.mapping["me"] is d
        (lambda n: [n := n[0] for _ in range(2999)][-1])(deep), chain.next.next.i, (lambda c: [c := c.next for _ in range(4999)][-1].i)(chain)
        """,
    ),
    "metaclasses that answer for their classes: checks, items, calls, entries of bases": session(
        """
        import collections, types, abc
        class Multi(dict):
            def __setitem__(self, k, v):
                if callable(v) and not k.startswith("__"): self.setdefault("_over", {}).setdefault(k, []).append(v)
                super().__setitem__(k, v)
        class M(type):
            log = []
            @classmethod
            def __prepare__(m, n, b, **k): return Multi()
            def __new__(m, n, b, ns, **k): M.log.append(("new", n, tuple(sorted(k)))); c = super().__new__(m, n, b, dict(ns)); c.options = k; return c
            def __init__(c, n, b, ns, **k): super().__init__(n, b, ns); M.log.append(("init", n))
            def __call__(c, *a, **k): o = super().__call__(*a, **k); c.count = c.__dict__.get("count", 0) + 1; return o
            def __getattr__(c, k):
                if k.startswith("by_"): return lambda v: (c.__name__, k[3:], v)
                raise AttributeError(k)
            def __setattr__(c, k, v): M.log.append(("set", c.__name__, k)) if k not in ("count", "options") else None; super().__setattr__(k, v)
            def __instancecheck__(c, o): return getattr(o, "kind", None) == c.__name__.lower() or super().__instancecheck__(o)
            def __subclasscheck__(c, s): return "virtual" in getattr(s, "__dict__", {}) or super().__subclasscheck__(s)
            def __getitem__(c, k): return c._items[k]
            def __iter__(c): return iter(c._items)
            def __or__(c, o): return (c, o)
            def __repr__(c): return f"<M {c.__name__}>"
            def __dir__(c): return ["only"]
            @property
            def size(c): return len(c._items)
            def mro(c): M.log.append(("mro", c.__name__)) ; return super().mro()
        class Shape(metaclass=M, x=1):
            _items = {"sq": 4}
            def area(self): return "a1"
            def area(self, k): return f"a2{k}"
        class Sub(Shape, y=2, z=3):
            def __class_getitem__(c, k): return "never"
        class Template:
            def __init__(self, n): self.n = n
            def __mro_entries__(self, bases): return (types.new_class(f"Gen{self.n}", (), {}, lambda ns: ns.update(n=self.n)),)
        tmpl = Template(3)
        class User(tmpl): pass
        class Fake: kind = "shape"
        class Virt: virtual = True
        class Dyn(type(Shape)):
            def __add__(c, o): return Dyn(c.__name__ + o.__name__, (c, o), {})
        A, B = Dyn("A", (), {"a": 1}), Dyn("B", (), {"b": 2}); C = A + B
        # %%
        s, s2, sub = Shape(), Shape(), Sub(); Shape.color = "red"; size = M.size; n = len(M.log); by = Shape.by_name; c = C(); over = Shape._over["area"]
        """,
        """
        len(M.log) == n, M.log[:4], [x for x in M.log if x[0] == "set"]
        Shape["sq"], list(Shape), Shape.size, size.fget(Shape), Shape | 3, Shape, dir(Shape)
        isinstance(Fake(), Shape), issubclass(Virt, Shape), isinstance(s, Sub), isinstance(sub, Shape), Sub["sq"]
        Shape.count, Sub.count, Shape() and Shape.count, Sub.options, Shape.options
        [f(*a) for f, a in zip(over, ((s,), (s, 1)))], s.area(2), over is Shape.__dict__["_over"]["area"]
        by("x"), Shape.by_id(3), M.log[-1] == ("set", "Shape", "color")
        Shape.nothing
        User.n, User.__orig_bases__[0] is tmpl, User.__bases__[0].__name__, User().n
        C.a, C.b, C.__bases__ == (A, B), type(C) is Dyn, c.a, (C + Shape).__name__
        Shape.more = 1 ;; M.log[-1], len(M.log) > n
        class Late(Sub, q=1): pass ;; M.log[-4:], Late.options, Late.size
        """,
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
    ),
}
