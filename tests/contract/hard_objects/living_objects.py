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
        known="""
        bigs[0] is bigs[1] is big, fls[0] is fls[1] is fl, ss[0] is ss[1] is s, list(ss[2])[0] is ss[2][s] is s, bb[0] is by, list(fs)[0] is fz, rr[0] is rr[1] is rng
        name is sys.intern("some long name " * 2), list(names)[0] is name
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
        known="""
        ag.c, ag.d, rg.w, dy.b is dy.a, dy.__dict__, Dyn.__slots__["a"], Dyn.a.__doc__
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
    "exceptions that know who failed, which knows its exception": session(
        """
        class Refused(ValueError):
            def __init__(self, job, *more):
                super().__init__(job, *more)
                self.job = job
        class Job:
            def __init__(self, name):
                self.name, self.error, self.all = name, None, []
            def run(self):
                try:
                    raise Refused(self, {"rows": [1, 2]})
                except Refused as error:
                    self.error = error
                    self.all.append(error)
        job = Job("load")
        job.run()
        error = job.error
        # %%
        bare = KeyError(("a", 1))
        rows = [1]
        shared = RuntimeError("bad", rows)
        queue = {"last": None}
        queue["last"] = LookupError(queue)
        ended = StopIteration([1, 2])
        group = ExceptionGroup("all", [error, shared])
        class Coded(Exception):
            def __init__(self, code, parts): self.code, self.parts = code, parts
            def __str__(self): return f"{self.code}: {len(self.parts)}"
        coded = Coded(5, rows)
        """,
        """
        job.error is error, error.args[0] is job, error.job is job, job.all[0] is error
        error.args[1], str(error.__traceback__.tb_frame.f_code.co_name), type(error).__mro__[1].__name__
        bare.args, str(bare), queue["last"].args[0] is queue
        rows.append(2) ;; shared.args, coded.parts is rows, coded.args, str(coded)
        ended.value, ended.args
        group.exceptions[0] is error, group.exceptions[1] is shared, group.message
        job.run(); len(job.all), job.error.job is job ;; job.error is error
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
    "traits that are watched by what stands for all": session(
        """
        import traitlets
        class Dial(traitlets.HasTraits):
            turn = traitlets.Float(0.1); label = traitlets.Unicode("x"); other = traitlets.Any(traitlets.Undefined)
        log = []
        dial = Dial(); dial.observe(lambda change: log.append((change.name, change.new)), names=traitlets.All)
        everything, nothing = traitlets.All, traitlets.Undefined
        """,
        """
        dial.turn = 3; dial.label = "y" ;; log
        everything is traitlets.All, nothing is traitlets.Undefined, Dial.other.default_value is traitlets.Undefined
        with dial.hold_trait_notifications(): dial.turn = 9; dial.turn = 10; dial.label = "z" ;; log
        """,
    ),
}
