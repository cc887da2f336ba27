"""What objects of the language are made of: attributes that are shared, metaclasses, cells, proxies, protocols of pickle."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "shared instance dicts": session(
        """
        import types, weakref
        class Borg:
            _state = {}
            def __init__(self): self.__dict__ = Borg._state
        b1 = Borg(); b2 = Borg(); b1.x = [1]
        class AttrDict(dict):
            def __init__(self, *a, **k): super().__init__(*a, **k); self.__dict__ = self
        ad = AttrDict(a=1); ad.b = [2]; nest = AttrDict(inner=ad)
        class P: pass
        p = P(); space = vars(p); p.k = 1; q = P(); q.__dict__ = space
        ns = types.SimpleNamespace(a=1); nd = ns.__dict__; ns.me = ns; ns2 = types.SimpleNamespace(d=nd)
        def fn(): return fn.count
        fd = fn.__dict__; fn.count = 4
        class Logged(dict):
            log = []
            def __setitem__(self, k, v): Logged.log.append(k); super().__setitem__(k, v)
        r = P(); r.__dict__ = Logged(z=1); rd = r.__dict__
        proxy = vars(P); P.late = 7
        kv, vv, iv = ad.keys(), space.values(), nd.items()
        mp = types.MappingProxyType(space)
        """,
        """
        b2.x is b1.x, b1.__dict__ is Borg._state, b1.__dict__ is b2.__dict__
        b1.y = 5 ;; b2.y, Borg().y
        ad["c"] = 3 ;; ad.c, ad.__dict__ is ad, nest.inner is ad, nest["inner"].b
        space["k"] = 9 ;; p.k, q.k, q.__dict__ is space, p.__dict__ is space
        q.new = 1 ;; p.new, sorted(space), sorted(mp), 1 in vv
        fd["count"] = 6 ;; fn(), fn.__dict__ is fd
        type(r.__dict__).__name__, r.z, r.__dict__ is rd
        rd["w"] = 2 ;; r.w, Logged.log
        proxy["late"], type(proxy).__name__
        P.later = 8 ;; proxy["later"]
        ad["zz"] = 0 ;; list(kv)
        """,
    ),
    "containers that keep more than their items": session(
        """
        import collections, threading, copy
        class Index(dict):
            def __init__(self, rows=()): super().__init__(); self._by = collections.defaultdict(list); self.version = 0; [self.put(*r) for r in rows]
            def put(self, k, v): self[k] = v; self._by[v].append(k); self.version += 1
            def __getstate__(self): return {"version": self.version}
            def __setstate__(self, s): self.__dict__.update(s); self._by = None
        ix = Index([("a", 1), ("b", 1)]); by = ix._by
        class Tail(collections.deque):
            __slots__ = ("name", "seen")
            def __reduce__(self): return Tail, ([], 2)
        t = Tail([1, 2], 3); t.name = "t"; t.seen = ix
        class Bag(set):
            def __init__(self, it=()): super().__init__(it); self.log = []
            def __copy__(self): return Bag(self)
            def __reduce_ex__(self, p): return Bag, (list(self)[:1],)
        bag = Bag([3, 1, 2]); bag.log.append(bag)
        class Cfg(dict):
            __getattr__ = dict.__getitem__; __setattr__ = dict.__setitem__; __delattr__ = dict.__delitem__
        cfg = Cfg(a=1); cfg.sub = Cfg(b=cfg); flat = cfg.sub
        class Box(dict):
            def __init__(self, *a, **k): super().__init__(*a, **k); self.__dict__ = self
            def __missing__(self, k): v = self[k] = Box(); return v
        box = Box(x=1); box["y"].z = [box]; boxes = {"b": box}; inner = box.y
        class Stack(list):
            @property
            def top(self): return self[-1]
            def push(self, x): self.append(x); self.peak = max(getattr(self, "peak", 0), len(self)); return self
        st = Stack().push(1).push(2); attrs = vars(st)
        class Ms(collections.OrderedDict):
            def __reduce__(self): return (Ms, ())
        ms = Ms(b=1, a=2); ms.move_to_end("b"); ms.me = ms
        class Locked(dict):
            def __init__(self): super().__init__(); self.lock = threading.Lock(); self.n = 1
            def __getstate__(self): return {"n": self.n}
            def __setstate__(self, s): self.__dict__.update(s); self.lock = threading.Lock()
        lk = Locked(); lk["a"] = lk; lk2 = Locked(); lock = lk.lock
        """,
        """
        ix._by is by, dict(ix), ix.version, ix._by[1], copy.copy(ix)._by
        t, t.maxlen, t.name, t.seen is ix, bag, bag.log[0] is bag, len(bag)
        cfg.sub is flat, flat.b is cfg, cfg["a"], sorted(cfg)
        cfg.new = 5 ;; cfg["new"], vars(cfg)
        box.w = 2 ;; box["w"], box.__dict__ is box, inner.__dict__ is inner, box.y is inner, boxes["b"].w, inner.z[0] is box
        box.q.r = 1 ;; box["q"]["r"]
        inner["k"] = 1 ;; inner.k, inner.__dict__ is inner
        st.push(3).peak, attrs["peak"], attrs is vars(st), st.top
        list(ms.items()), ms.me is ms, lk["a"] is lk, lk.lock is lock, lk.lock.locked(), lk.n, lk2.lock is lock
        """,
    ),
    "pickle protocols of classes": session(
        """
        import copyreg, pickle, copy, io
        class Full:
            def __init__(self): self.items = []; self.map = {}; self.x = 0
            def append(self, v): self.items.append(v)
            def extend(self, vs): [self.append(v * 10) for v in vs]
            def __setitem__(self, k, v): self.map[k] = v
            def __reduce__(self): return Full, (), {"x": self.x}, iter(self.items), iter(self.map.items())
        full = Full(); full.append(1); full["a"] = full; full.x = 5; full.hidden = [1]
        class Single:
            _one = None
            def __new__(cls):
                if cls._one is None: cls._one = super().__new__(cls)
                return cls._one
            def __reduce__(self): return "SINGLE"
        SINGLE = Single(); SINGLE.data = [1]; alias = SINGLE; inlist = [SINGLE]
        class Falsy:
            def __init__(self, v): self.v = v
            def __getstate__(self): return None
            def __setstate__(self, s): self.v = "set"
        fz = Falsy(3)
        class Old:
            def __init__(self, v): self.v = v; self.cache = {"big": 1}; self.fh = None
            def __getstate__(self): d = dict(self.__dict__); del d["cache"]; return d
            def __setstate__(self, d): self.__dict__.update(d); self.cache = {}; Old.loads += 1
            loads = 0
        old = Old(2); copied = copy.copy(old)
        class NoPickle:
            def __reduce_ex__(self, p): raise TypeError("no way")
            def __init__(self): self.z = [1]
        npk = NoPickle(); hold = {"n": npk}
        class NewArgs(tuple):
            def __new__(cls, a, b): o = super().__new__(cls, (a, b)); o.sum = a + b; return o
            def __getnewargs__(self): return (self[0] + 100, self[1])
        na = NewArgs(1, 2); na.extra = "e"
        class SlotState:
            __slots__ = ("a", "b")
            def __getstate__(self): return (self.a,)
            def __setstate__(self, s): self.a, = s; self.b = "fresh"
        ss = SlotState(); ss.a = [1]; ss.b = "kept"
        class Pk(pickle.Pickler):
            def persistent_id(self, o): return "P" if o is SINGLE else None
        class Up(pickle.Unpickler):
            def persistent_load(self, p): return SINGLE
        def roundtrip(o): b = io.BytesIO(); Pk(b).dump(o); b.seek(0); return Up(b).load()
        class Cnt(dict):
            def __reduce__(self): return type(self), (), None, None, iter([("only", 1)])
        cn = Cnt(a=1, b=2); cn.att = 1
        class Cplx:
            def __reduce__(self): return (lambda: made.append(1) or Cplx()), ()
        made = []; cx = Cplx(); cx.v = 3; memo = {id(cx): cx}; dumped = pickle.dumps(old); pkr = pickle.Pickler(io.BytesIO()); pkr.dump([1])
        class Deep:
            def __deepcopy__(self, m): return self
            def __eq__(self, o): raise RuntimeError("cmp")
            __hash__ = None
        dp = Deep(); dps = [dp, dp]
        """,
        """
        full.items, full.map["a"] is full, full.x, full.hidden
        alias is SINGLE, inlist[0] is SINGLE, SINGLE.data, Single() is SINGLE, Single._one is SINGLE
        fz.v, old.v, old.cache, Old.loads, copied.cache
        npk.z, hold["n"] is npk
        na, na.sum, na.extra, type(na).__name__
        ss.a, ss.b
        roundtrip([SINGLE, 1])[0] is SINGLE, pickle.loads(dumped).cache, Old.loads
        cn, cn.att, cx.v, made, memo[id(cx)] is cx
        dps[0] is dps[1] is dp
        copy.deepcopy(full).items, pickle.loads(pickle.dumps(na)).sum
        pickle.loads(pickle.dumps(SINGLE)) is SINGLE
        pkr.memo
        """,
        named="pkr",
    ),
    "metaclass protocols": session(
        """
        import abc
        class Duck(type):
            def __instancecheck__(cls, o): Duck.asked.append(cls.__name__); return hasattr(o, cls.needs)
            def __subclasscheck__(cls, c): return hasattr(c, cls.needs)
            def __eq__(cls, o): return isinstance(o, type) and cls.__name__ == o.__name__
            def __hash__(cls): return hash(cls.__name__)
            def __or__(cls, o): return ("or", cls, o)
            def __getitem__(cls, k): return cls.table[k]
            def __contains__(cls, k): return k in cls.table
            def __dir__(cls): return ["only"]
            @property
            def plural(cls): return cls.__name__ + "s"
            asked = []
        class Quack(metaclass=Duck): needs = "quack"; table = {"a": [1]}
        Old = Quack
        class Quack(metaclass=Duck): needs = "quack"; table = {"a": [2]}
        held = {Old: "first"}; seen = {Old, Quack}
        class Loud:
            def quack(self): return "q"
        l = Loud()
        class Interface(abc.ABC):
            @classmethod
            def __subclasshook__(cls, c): hooks.append(c.__name__); return True if any("run" in k.__dict__ for k in c.__mro__) else NotImplemented
            @abc.abstractmethod
            def run(self): ...
        hooks = []
        class Runs:
            def run(self): return 1
        isr = isinstance(Runs(), Interface)
        class Part(abc.ABC):
            @property
            @abc.abstractmethod
            def size(self): ...
            @abc.abstractmethod
            def go(self): ...
        class Half(Part): size = 3
        Half.go = lambda self: "go"; abc.update_abstractmethods(Half)
        class Virt: pass
        Part.register(Virt); tok = abc.get_cache_token
        class Counted(type):
            def __call__(cls, *a, **k): o = super().__call__(*a, **k); cls.made = cls.__dict__.get("made", 0) + 1; Counted.all.append(o); return o
            all = []
        class Thing(metaclass=Counted):
            def __init__(self, n=0): self.n = n
        class Sub(Thing): pass
        t1, t2, s1 = Thing(1), Thing(2), Sub(3)
        """,
        """
        Old is Quack, Old == Quack, held[Quack], len(seen), list(held)[0] is Old
        Old["a"], Quack["a"], "a" in Quack, Old.plural, dir(Old)
        isinstance(l, Old), issubclass(Loud, Quack), Duck.asked
        (Old | int)[0] is Old
        Half().go(), Half.__abstractmethods__, Half().size
        Part()
        issubclass(Virt, Part), isinstance(Virt(), Part), issubclass(Half, Part)
        Thing.made, Sub.made, [o.n for o in Counted.all], Counted.all[0] is t1
        Sub(9).n, Sub.made, len(Counted.all), Counted.all[2] is s1
        Part._abc_registry if hasattr(Part, "_abc_registry") else isinstance(Virt, type)
        """,
    ),
    "metaclasses that rule": session(
        """
        import types, typing, abc, collections, enum, weakref
        class Rev(type):
            def mro(cls): return [cls, *[b for b in type.mro(cls)[1:-1]][::-1], object]
        class A:
            who = "A"
        class B:
            who = "B"
        class C(A, B, metaclass=Rev): pass
        class Ent:
            def __init__(self, n): self.n = n
            def __mro_entries__(self, bases): return (Base,)
        class Base: tag = "base"
        ent = Ent(1)
        class D(ent): pass
        class Meta(type):
            def __setattr__(cls, k, v): log.append((cls.__name__, k)); super().__setattr__(k, v)
            def __delattr__(cls, k): log.append(("del", k)); super().__delattr__(k)
            def __getattribute__(cls, k): return super().__getattribute__(k)
            def __call__(cls, *a): return cls.pool.setdefault(a, None) or cls.pool.__setitem__(a, type.__call__(cls, *a)) or cls.pool[a]
            def __iter__(cls): return iter(cls.pool.values())
            def __bool__(cls): return False
            def __lt__(cls, o): return cls.__name__ < o.__name__
        log = []
        class Pt(metaclass=Meta):
            pool = {}
            def __init__(self, x): self.x = x
        p1, p2 = Pt(1), Pt(1); Pt.k = 1; del Pt.k
        class Final(type):
            made = weakref.WeakValueDictionary()
            def __new__(m, n, b, ns, **k): c = super().__new__(m, n, b, ns); Final.made[n] = c; c.opts = k; return c
            def __init__(c, n, b, ns, **k): super().__init__(n, b, ns)
            def __init_subclass__(m, **k): log.append(("meta", m.__name__))
        class Sub(Final): pass
        class X(metaclass=Sub, a=[1]): pass
        class Y(X, a=[2]): __doc__ = property(lambda s: "doc")
        x, y = X(), Y(); opts = X.opts["a"]; X.__annotations__["late"] = int; X.__match_args__ = ("q",); Y.__eq__ = lambda s, o: True; Y.__hash__ = None; Y.__init__ = lambda s, *a: setattr(s, "a", a); Y.__class_getitem__ = classmethod(lambda c, k: (c.__name__, k)); types_ = sorted([Pt, type("Aa", (), {}, ) if False else Pt])
        Dyn = types.new_class("Dyn", (X,), {"metaclass": Sub, "a": opts}, lambda ns: ns.__setitem__("f", lambda self: __class__ if False else 1)); Gen = collections.namedtuple("Gen", "a b", module="pkg.mod"); gen = Gen(1, [2]); class_dict = {c: c.__name__ for c in (X, Y, Dyn)}
        class Odd:
            def __new__(cls, *a): return a[0] if a else super().__new__(cls)
            __call__ = lambda self, *a: a
            __getattr__ = lambda self, n: (n,) if not n.startswith("__") else object.__getattribute__(self, n)
        odd, seven = Odd(), Odd(7)
        """,
        """
        C.who, [k.__name__ for k in C.__mro__], D.tag, D.__orig_bases__[0] is ent, D.__bases__ == (Base,)
        p1 is p2, log, list(Pt), bool(Pt), Pt(2).x, len(Pt.pool), Pt(1) is p1
        X.opts["a"] is opts, Y.opts, Dyn.opts["a"] is opts, sorted(Final.made), Final.made["X"] is X, type(Dyn) is Sub, log[-1]
        X.__annotations__, X.__match_args__, y.__doc__, y == 5, Y(1, 2).a, Y["k"], class_dict[Dyn], Dyn().f()
        hash(y)
        gen, Gen.__module__, gen._asdict()["b"] is gen.b, type(gen) is Gen, odd.foo, odd(1), seven
        class Z(Y, a=[3]): pass ;; Z.opts, Final.made["Z"] is Z, Z.__mro__[1] is Y, log[-2:]
        """,
    ),
    "functions that were operated on": session(
        r"""
        import types, functools, inspect, dis, operator, copy, sys
        def base(x, y=[], *, k={}): y.append(x); return y, k
        d0 = base.__defaults__[0]; base.__kwdefaults__["k"]["a"] = 1; clone = types.FunctionType(base.__code__, globals(), "clone", base.__defaults__, None); clone.__kwdefaults__ = base.__kwdefaults__; deep = copy.copy(base); base.__annotations__ = ann = {"x": int}; base.me = base; base.__dict__["table"] = {"f": base}; base.__doc__ = "doc"; base.__qualname__ = "A.base"; base.__module__ = "made_up"
        def swap(): return 1
        def other(): return VAL
        VAL = 9; swap.__code__ = other.__code__; sandbox = {"__builtins__": {"len": lambda x: 99}, "z": 3}; exec("def iso(s): return len(s), z\ndef both():\n    global z\n    z += 1\n    return z", sandbox); iso, both = sandbox["iso"], sandbox["both"]; ev = eval("lambda q: (q, z)", sandbox); loc = {}; exec("a = 1\ndef inner(): return a", {"a": 5}, loc); inner = loc["inner"]
        class K:
            def m(self): return self, __class__
            @classmethod
            def c(cls): return cls
            @staticmethod
            def s(): return K
            attr = property(operator.attrgetter("v")); v = 4
        bm = K().m; cm = K.c; K.borrow = base; K.later = types.MethodType(lambda s: s, K); free = types.MethodType(base, [1]); str_m = types.MethodType(str.upper, "abc"); K.alias = K.m; glob = globals; lcls = [bm.__self__, bm]; part = functools.partial(bm); K.dyn = functools.partialmethod(K.m) ; red = bm.__func__
        lazy = functools.lru_cache(maxsize=2)(lambda *a: object()); o1 = lazy(1); ops = {"+": operator.add, "len": len, "up": str.upper, "new": object.__new__, "init": dict.__init__, "wrap": (3).__add__, "cls": int.from_bytes, "slot": list.__len__, "get": K.__dict__["c"], "desc": K.__dict__["attr"]}; gl = (lambda: (yield))(); code = compile("VAL + 1", "<e>", "eval"); defaults = [f.__defaults__ for f in (base, clone)]; vararg = lambda *a, **k: (a, k)
        def counter():
            counter.n += 1
            return counter.n
        counter.n = 0; counter(); cnt = counter
        def counter(): return "new"
        async def co(): return VAL
        async def ag(): yield VAL
        def gen(): got = yield VAL; yield got
        flags = [f.__code__.co_flags for f in (co, ag, gen)]; wrapped = functools.wraps(gen)(lambda: list(gen())); Compose = functools.reduce(lambda f, g: lambda *a: g(f(*a)), [operator.add, str, len])
        """,
        r"""
        base(1)[0] is d0, clone(2)[0] is d0, clone(3)[1] is base.__kwdefaults__["k"], deep is base, base.__annotations__ is ann, base.me is base, base.table["f"] is base, base.__doc__, base.__qualname__, base.__module__, defaults[0][0] is d0
        VAL = 7 ;; swap(), eval(code), asyncless() if False else flags
        iso([1]), both(), ev(0), iso("")[1], sandbox["z"], iso.__globals__ is sandbox, ev.__globals__ is sandbox, iso.__builtins__ is sandbox["__builtins__"] if hasattr(iso, "__builtins__") else 1
        inner(), loc["a"], bm()[0] is bm.__self__, bm()[1] is K, cm() is K, K.s() is K, K().attr, K.later() is K, free(k={"z": 1})[0] is d0, str_m(), K.alias is K.m, lcls[0] is bm.__self__
        part() == bm(), red is K.__dict__["m"], K().dyn()[1] is K, lazy(1) is o1, ops["wrap"](4), ops["cls"](b"\1", "big"), ops["slot"]([1]), ops["get"] is K.__dict__["c"], ops["desc"] is K.__dict__["attr"], ops["new"] is object.__new__
        cnt()
        counter.n = 10 ;; counter(), wrapped(), Compose(50, 60), wrapped.__wrapped__ is gen
        K().borrow(k=5)[1], isinstance(d0[-1], K), glob() is globals()
        """,
        named="gl",
    ),
    "closures that share cells": session(
        """
        import functools, types
        def account(balance=0):
            history = []
            def deposit(x):
                nonlocal balance
                balance += x; history.append(("d", x)); return balance
            def undo():
                nonlocal balance
                if history: balance -= history.pop()[1]
                return balance
            def fork():
                nb = balance
                def peek(): return balance, nb
                return peek
            class View:
                @property
                def balance(self): return balance
                def bump(self): nonlocal balance; balance += 100
            return deposit, undo, fork, View()
        dep, undo, fork, view = account(10); dep(5); peek = fork(); cell = dep.__closure__[0]
        fns = [lambda x, i=i: (i, x) for i in range(3)]; late = [lambda: i for i in range(3)]
        def outer():
            def a(n): return n if n < 1 else b(n - 1)
            def b(n): return ("b", a(n - 1))
            if False: never = 1
            def c(): return never
            def d(v): nonlocal never; never = v
            return a, b, c, d
        a, b, c, d = outer(); empty = types.CellType(); full = types.CellType([1])
        made = types.FunctionType((lambda: 0).__code__, {"v": 1}); twin = types.FunctionType(dep.__code__, globals(), "twin", (), dep.__closure__)
        def acc(x, seen=[]): seen.append(x); return seen
        acc2 = types.FunctionType(acc.__code__, globals(), "acc2", acc.__defaults__); dflt = acc.__defaults__[0]; acc(1)
        class Ctl:
            def __init__(self): self.handlers = {}; n = 0
            def on(self, ev):
                calls = 0
                def deco(f):
                    @functools.wraps(f)
                    def wrapped(*a):
                        nonlocal calls; calls += 1; return calls, f(*a)
                    self.handlers[ev] = wrapped; wrapped.stats = lambda: calls; return wrapped
                return deco
        ctl = Ctl()
        @ctl.on("load")
        def load(x): return x * k
        k = 2; load(1)
        gen_src = (lambda n: [lambda: n, lambda m: globals().__setitem__("k", m)])(5)
        """,
        """
        dep(1), view.balance, peek(), undo(), view.balance
        view.bump() ;; dep(0), peek()[0], cell.cell_contents, twin(0)
        cell.cell_contents = 1000 ;; view.balance, dep.__closure__[0] is cell, undo.__closure__[0] is cell or undo.__closure__[1] is cell
        [f(9) for f in fns], [f() for f in late], late[0].__closure__[0] is late[2].__closure__[0] if late[0].__closure__ else None
        c()
        d([7]), c(), c() is c(), a(3), b(1)
        empty.cell_contents
        full.cell_contents, made(), made.__globals__["v"]
        acc(2), acc2(3), dflt, acc2.__defaults__[0] is dflt, acc.__defaults__[0] is dflt
        load(3), ctl.handlers["load"] is load, load.stats(), load.__wrapped__(1)
        gen_src[1](10), load(1), gen_src[0]()
        a.__closure__[0].cell_contents is b
        """,
    ),
    "classes that decorators replaced": session(
        """
        import dataclasses, functools, typing, weakref, gc, types, enum, abc, collections
        REG = {}
        def register(cls): REG[cls.__name__] = cls; cls.reg_no = len(REG); return cls
        def wrap(cls):
            class Wrapped(cls):
                extra = "w"
                def run(self): return ("wrapped", super().run())
            Wrapped.__name__ = cls.__name__; Wrapped.__qualname__ = cls.__qualname__; Wrapped.__original__ = cls; return Wrapped
        @wrap
        @register
        class Task:
            def run(self): return type(self).__name__, __class__ is Task
        @register
        @dataclasses.dataclass(slots=True)
        class Pt:
            x: int = 0
            def __post_init__(self): self.x += 1
            def sup(self): return __class__ is Pt
        task = Task(); orig = Task.__original__(); pt = Pt(1)
        def singleton(cls):
            inst = {}
            @functools.wraps(cls, updated=())
            def get(*a):
                if cls not in inst: inst[cls] = cls(*a)
                return inst[cls]
            get.cls = cls; return get
        @singleton
        class Conf:
            def __init__(self): self.v = {}
        conf = Conf(); conf.v["a"] = conf
        class Deco:
            def __init__(self, f): functools.update_wrapper(self, f); self.f = f; self.n = 0
            def __call__(self, *a): self.n += 1; return self.f(*a)
            def __get__(self, o, t=None): return self if o is None else types.MethodType(self, o)
        class Use:
            @Deco
            def m(self, x): return (x, Use.m.n)
            @property
            @Deco
            def p(self): return "p"
            @classmethod
            @property
            def cp(cls): return cls.__name__
            @staticmethod
            @functools.cache
            def sc(x): return [x]
            @functools.cached_property
            def kids(self): return weakref.WeakSet()
            @functools.partialmethod
            def pm(self): return "pm"
            alias = m
            class Meta: order = ["x"]
            _items: typing.ClassVar[dict[str, list]] = collections.defaultdict(list)
        u = Use(); u.m(1); bm = u.m; got = Use.sc(3); u.kids.add(task); Use.Meta.order.append("y"); Sub = type("Use", (Use,), {"Meta": type("Meta", (Use.Meta,), {"more": Use})}); su = Sub()
        def auto_repr(cls): cls.__repr__ = lambda s: f"{cls.__name__}<{sorted(vars(s))}>"; cls.__init_subclass__ = classmethod(lambda c, **k: subs.append(c.__name__)); return cls
        subs = []
        @auto_repr
        class A: pass
        class B(A): pass
        @auto_repr
        @enum.unique
        class Co(enum.Enum): X = 1
        a, b = A(), B(); a.z = b; inner = (lambda: type("Anon", (A,), {"__module__": "nowhere"}))(); an = inner()
        @typing.final
        class Fin(typing.Generic[typing.TypeVar("T")]):
            @typing.no_type_check
            def go(self): return 1
            def __class_getitem__(cls, k): return types.GenericAlias(cls, k)
        fin = Fin[int](); fa = Fin[int]; K = types.new_class("K", (A,), {}, lambda ns: ns.update(v=[1])); k = K(); K.v.append(k)
        class Temp(A): pass
        tref = weakref.ref(Temp); del Temp; gc.collect()
        """,
        """
        task.run(), orig.run(), REG["Task"] is Task.__original__, type(orig) is REG["Task"], Task.extra, isinstance(task, REG["Task"])
        pt, pt.sup(), REG["Pt"] is Pt, Pt.reg_no, Pt(5).x, [c.__name__ for c in Task.__original__.__subclasses__()]
        Conf() is conf, conf.v["a"] is conf, type(conf) is Conf.cls, Conf.__name__
        u.m(2), bm(3), Use.m.n, Use.alias is Use.m, u.p, Use.cp, Use.sc(3) is got, task in u.kids, su.m(1), u.pm()
        Use.Meta.order, Sub.Meta.order is Use.Meta.order, Sub.Meta.more is Use, type(su).__name__, Use._items["q"], Use.__subclasses__() == [Sub]
        a, b, subs, repr(an), type(an).__module__, type(an) is inner, A.__subclasses__()
        class C(B): pass ;; subs
        repr(Co.X), Co(1) is Co.X, subs
        fin.go(), fa, Fin.__final__, fa.__origin__ is Fin, k in K.v, K.v[1] is k, type(k) is K
        tref() is None, len(A.__subclasses__())
        """,
    ),
}
