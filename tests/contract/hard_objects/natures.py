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
    "bound methods of built-in objects": session(
        """
        import random, collections, io, array, operator, functools, struct, re, datetime as dt, queue, string, bisect, heapq, decimal
        l = []; push = l.append; d = {"a": 1}; get = d.get; setd = d.setdefault; s = set(); add = s.add; dq = collections.deque(maxlen=2); dpush = dq.append; dleft = dq.appendleft
        rng = random.Random(5); roll = rng.random; pick = rng.choice; rng.gauss(0, 1); flip = functools.partial(rng.choice, "ab"); sys_pick = random.choice; draw = random.random
        buf = io.StringIO(); w = buf.write; raw = io.BytesIO(b"abcdef"); rd = raw.read; raw.read(1)
        arr = array.array("d"); ap = arr.append; fmt = "{}-{}".format; join = ", ".join; pat = re.compile("b+"); sub = pat.sub; find = pat.finditer
        class Day(dt.date): pass
        today = Day.fromisoformat; fromkeys = collections.OrderedDict.fromkeys; cf = collections.Counter.fromkeys
        st = struct.Struct("<hI"); pk = st.pack; upk = st.unpack
        heap = [3, 1]; hp = functools.partial(heapq.heappush, heap); q = queue.Queue(); put = q.put; takes = iter(q.get_nowait, None)
        adders = [l.append, push, l.extend]; table = {"push": push, "len": l.__len__}; ctx = decimal.Context(prec=4); div = ctx.divide
        cnt = collections.Counter(); upd = cnt.update; tr = str.maketrans("ab", "xy"); low = str.lower; up = "abc".upper; eq = (3).__eq__; ge = operator.attrgetter("x.y"); it = iter([1, 2, 3]); nxt = it.__next__; nxt()
        """,
        """
        push(1), l
        table["push"](2), table["len"](), adders[0](3), adders[2]([4]), l, push.__self__ is l
        d["b"] = 2 ;; get("b"), setd("c", []) is d["c"]
        add(4), s, dpush(1), dpush(2), dpush(3), dleft(9), dq
        roll(), pick("xyz"), rng.random(), flip(), rng.gauss(0, 1)
        0 <= draw() < 1, draw.__self__ is random._inst, sys_pick([1])
        w("hi"), buf.getvalue(), rd(2), raw.tell()
        ap(1.5), arr, fmt(1, 2), join(["a"]), sub("x", "abb"), [m.start() for m in find("abb")], sub.__self__ is pat
        today("2024-01-02"), type(today("2024-01-02")).__name__, fromkeys("ab"), type(cf).__name__
        upk(pk(1, 2)), pk.__self__ is st, hp(0), heap, put(5), q.get_nowait()
        put(7) ;; next(takes)
        div(decimal.Decimal(1), 3), div.__self__ is ctx, upd("aab"), cnt
        "aabb".translate(tr), low("ABC"), up(), eq(3), nxt(), list(it)
        """,
    ),
    "weakrefs that carry things": session(
        """
        import weakref, gc, functools, types
        class Key:
            def __init__(self, n): self.n = n
        class Ref(weakref.ref):
            __slots__ = ("key", "extra")
            def __new__(cls, o, cb=None, key=None): return super().__new__(cls, o, cb)
            def __init__(self, o, cb=None, key=None): super().__init__(o, cb); self.key = key
        died = []; k1, k2, k3 = Key(1), Key(2), Key(3)
        r1 = Ref(k1, lambda r: died.append(r.key), "one"); r1.extra = [k2]; r2 = weakref.ref(k2, lambda r: died.append("two")); plain = weakref.ref(k2); plain_b = weakref.ref(k2)
        class Bus:
            def __init__(self): self.subs = []; self.dead = 0
            def sub(self, m): self.subs.append(weakref.WeakMethod(m, self._gone))
            def _gone(self, r): self.dead += 1; self.subs.remove(r)
            def fire(self, *a): return [s()(*a) for s in self.subs]
        class Lis:
            def __init__(self, n): self.n = n
            def on(self, x): return (self.n, x)
        bus = Bus(); la, lb = Lis("a"), Lis("b"); bus.sub(la.on); bus.sub(lb.on)
        def f(): return 1
        rf = weakref.ref(f); rc = weakref.ref(Key); px = weakref.proxy(k3, lambda p: died.append("proxy")); callp = weakref.proxy(f)
        ks = weakref.WeakSet([k1, k2, k3]); wk = weakref.WeakKeyDictionary(); wk[k3] = "three"; wk[k1] = weakref.ref(k2); wv = weakref.WeakValueDictionary({"x": k1, "y": k3}); refs = wv.valuerefs()
        gh = Key(9); gone = weakref.ref(gh); dead = {gone: 1}; del gh; tmp = Key(8); rt = weakref.ref(tmp); hash(rt); rset = {rt}; del tmp
        fin = weakref.finalize(k2, died.append, "fin2")
        class Slot: __slots__ = ("v", "__weakref__")
        sl = Slot(); sl.v = 1; rs = weakref.ref(sl); cyc = Key(7); cyc.me = weakref.ref(cyc); cyc.cb = weakref.WeakMethod(la.on)
        ks2 = weakref.WeakSet(); ks2.add(cyc)
        """,
        """
        r1().n, r1.key, r1.extra[0] is k2, type(r1).__name__, plain is plain_b, plain() is k2, plain is weakref.ref(k2), weakref.getweakrefcount(k1)
        bus.fire(1), len(bus.subs), bus.subs[0]() == la.on
        del lb; gc.collect() ;; bus.dead, len(bus.subs), bus.fire(2)
        rf() is f, rc() is Key, px.n, callp(), gone() is None, rt() is None, rt in rset, dead[gone]
        sorted(k.n for k in ks), wk[k1]() is k2, [k.n for k in wk], sorted(wv), [r().n for r in refs], refs[0]() is k1
        del px
        del k3; gc.collect() ;; died, len(ks), list(wv), len(wk)
        del k1; gc.collect() ;; died, r1(), len(ks)
        rs() is sl, cyc.me() is cyc, cyc.cb()(3), cyc in ks2
        fin.alive, fin.peek()[1] if fin.alive else None
        r1.extra.clear(); del k2; gc.collect() ;; died, plain(), fin.alive
        """,
        named="bus refs dead rset",
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
    "typing at run time": session(
        """
        import typing as t, types, dataclasses, collections.abc as ca, enum, functools, inspect
        T = t.TypeVar("T"); meta = ["unit"]; A = t.Annotated[int, meta]; U = int | None; class_u = None
        class M(t.TypedDict, total=False): a: t.Required[int]; b: "list[M]"
        class P(t.Protocol):
            name: str
            def go(self) -> int: ...
        RP = t.runtime_checkable(P)
        class Impl:
            name = "i"
            def go(self): return 1
        class G(t.Generic[T]):
            reg: t.ClassVar[dict] = {}
            def __init_subclass__(cls, **k): super().__init_subclass__(**k); G.reg[cls.__name__] = t.get_args(cls.__orig_bases__[0]) if hasattr(cls, "__orig_bases__") else ()
        class GI(G[int]): pass
        gi = GI(); al = G[GI]; al2 = al; un = GI | None; opt = t.Optional["GI"]; lst = list[GI]; call = t.Callable[[GI], "GI"]; fr = t.ForwardRef("GI"); lit = t.Literal["a", b"b"]
        def fn(x: "GI", y: A = 1, *z: U) -> t.Iterator[al]: yield x
        hints = t.get_type_hints(fn, include_extras=True); fn.__annotations__["y"] = meta
        @dataclasses.dataclass
        class DC:
            a: A; b: "t.Optional[DC]" = None; c: t.ClassVar[int] = 0; d: dataclasses.InitVar[int] = 5
        fields = dataclasses.fields(DC); dc = DC(1); DC.__annotations__["new"] = lst
        @functools.singledispatch
        def show(x): return "obj"
        @show.register
        def _(x: GI | Impl): return "gi or impl"
        @show.register(ca.Mapping)
        def _m(x): return "map"
        NT = t.NamedTuple("NT", [("a", GI), ("b", "U")]); nt = NT(gi, 1); Id = t.NewType("Id", GI); Mutable = type("Mutable", (), {"__annotations__": {"q": al}}); bound = t.TypeVar("bound", bound=GI); con = t.TypeVar("con", GI, int); ps = t.ParamSpec("ps"); Self = t.Self; cc = t.Concatenate[GI, ps]; tt = t.Type[GI]; tg = t.TypeGuard[GI]; unp = t.Unpack[t.TypeVarTuple("Ts")]; sig = inspect.signature(fn)
        t.get_origin(al); ca.Sized.register(Impl)
        """,
        """
        A.__metadata__[0] is meta, hints["y"].__metadata__[0] is meta, fn.__annotations__["y"] is meta, fields[0].type is A or fields[0].type.__metadata__[0] is meta
        M.__required_keys__, t.get_type_hints(M)["b"].__args__[0] is M, isinstance(Impl(), RP), RP is P
        G.reg, al is al2, al.__args__[0] is GI, G[GI] == al, hash(G[GI]) == hash(al), un.__args__[0] is GI, un == (GI | None), lst == list[GI], call.__args__, opt.__args__[0]
        show(gi), show(Impl()), show({}), show(1), show.dispatch(GI) is show.registry[GI]
        t.get_type_hints(fn)["x"] is GI, next(fn(gi)) is gi, DC.__annotations__["new"] is lst, dataclasses.replace(dc, a=2, d=1).a, [f.name for f in fields], fields[0] is dataclasses.fields(DC)[0]
        nt.a is gi, NT.__annotations__["a"] is GI, Id.__supertype__ is GI, Mutable.__annotations__["q"] is al, bound.__bound__ is GI, con.__constraints__[0] is GI, cc.__args__[1] is ps, tt.__args__[0] is GI, tg.__args__[0] is GI, lit.__args__, t.Literal["a", b"b"] == lit
        sig.parameters["x"].annotation, isinstance(Impl(), ca.Sized), Self is t.Self
        class GS(G[str]): pass ;; G.reg
        class Later(G[GI], t.Generic[T]): pass ;; Later[int].__origin__ is Later, Later.__parameters__ == (T,)
        """,
    ),
    "values at the edge": session(
        r"""
        import sys, math, struct, datetime as dt, zoneinfo, time, decimal, fractions, array, cmath, uuid, ipaddress, enum, types, operator, string, pathlib, functools, collections, io
        sur = "\ud800x"; nul = "a\0b"; huge = 1 << 5000; nz = -0.0; cz = complex(-0.0, float("-inf")); pn = struct.unpack("<d", b"\1\0\0\0\0\0\xf8\x7f")[0]; sub = 5e-324; big = "x" * 5000; big2 = big; parts = [big, (big, big)]; t1 = (1, 2, [3]); t2 = t1; f1 = 1234.5; fl = [f1, f1]; i1 = 10 ** 20; il = {"a": i1, "b": i1}; by = bytes(2000); bl = [by, by]; fs = frozenset({1, 2}); fsl = [fs, fs]; sl = slice(1, [2], None); rg = range(0, 10 ** 30, 7); ell = [..., NotImplemented, None, Ellipsis]; empty = [(), (), "", b"", frozenset()]
        class Bool(int):
            def __bool__(self): return False
        class Weird:
            def __eq__(self, o): return NotImplemented
            def __hash__(self): return -1 % 7
            def __bool__(self): raise ValueError("ambiguous")
            def __len__(self): raise TypeError
            def __getattr__(self, n): raise RuntimeError("no " + n)
        class Chameleon:
            @property
            def __class__(self): return dict
            def __repr__(self): return "C"
        class Proxy:
            __slots__ = ("_t",)
            def __init__(self, t): object.__setattr__(self, "_t", t)
            def __getattribute__(self, n): return getattr(object.__getattribute__(self, "_t"), n)
            def __setattr__(self, n, v): setattr(object.__getattribute__(self, "_t"), n, v)
        wd = Weird(); wl = {wd: 1}; ch = Chameleon(); target = types.SimpleNamespace(a=1); px = Proxy(target); lpx = Proxy([1, 2]); b0 = Bool(3)
        z = zoneinfo.ZoneInfo("America/New_York"); ff = zoneinfo.ZoneInfo.from_file(open("/usr/share/zoneinfo/Europe/Oslo", "rb"), key="Custom/Oslo") if pathlib.Path("/usr/share/zoneinfo/Europe/Oslo").exists() else None; amb = dt.datetime(2024, 11, 3, 1, 30, tzinfo=z, fold=1); st = time.strptime("2024-01-02", "%Y-%m-%d"); gm = time.gmtime(0); lt = time.localtime(0); tz1 = dt.timezone(dt.timedelta(hours=1)); tz2 = tz1; pair = [dt.datetime(1, 1, 1, tzinfo=tz1), tz1]; td = dt.timedelta.max; mn = dt.datetime.min
        ig = operator.itemgetter(1, slice(2)); ag = operator.attrgetter("a.b"); mc = operator.methodcaller("get", "k", default=t1) ; mcs = operator.methodcaller("append", big); cmpd = decimal.Decimal("1E+5"); dt_tuple = cmpd.as_tuple(); fi = sys.float_info; vi = sys.version_info; fl2 = sys.flags; ns = types.SimpleNamespace(**{"a b": 1, "class": 2}); var = globals(); var["with space"] = [1]; naïve = 5; 变量 = [naïve]; _ = 9; __x = 3
        arr = array.array("u", "añ"); ar2 = array.array("q", [1]); mv = memoryview(ar2); mv2 = mv.cast("B"); mv3 = memoryview(b"abcdef")[1:5:2]; ro = memoryview(bytearray(b"zz")).toreadonly(); hexv = memoryview(by); ex = KeyError(t1); ti = types.MappingProxyType({"a": t1}); pp = pathlib.PurePosixPath("a") / ".." / "b"; ip = ipaddress.ip_network("10.0.0.0/30"); hosts = ip.hosts() ; nxt = next(hosts); sysn = sys.implementation; notimpl = NotImplemented; fzn = types.FunctionType; name = "".join(["a", "b"]); interned = sys.intern(name)
        """,
        r"""
        ascii(sur), nul, huge == 1 << 5000, math.copysign(1, nz), cz, struct.pack("<d", pn)[0], sub > 0
        sl.stop, sl == slice(1, [2], None), rg[-1], [x is y for x, y in zip(ell, [..., NotImplemented, None, ...])], empty[0] is (), empty[2] is ""
        bool(b0), b0 + 1, wl[wd], type(wd).__name__
        bool(wd)
        ch, isinstance(ch, dict), type(ch).__name__, px.a, type(px).__name__, isinstance(px, types.SimpleNamespace), len(lpx.__class__.__name__), lpx.append(3), lpx.__len__()
        px.a = 5 ;; target.a
        amb.utcoffset(), amb.tzinfo is z, st, st.tm_zone, gm, lt.tm_zone, lt.tm_gmtoff, type(st.tm_zone)
        str(ff), ff.utcoffset(dt.datetime(2024, 7, 1)) if ff else 0, ff.key if ff else 0
        pair[0].tzinfo is tz1, pair[1] is tz2, td, mn, ig([1, 2, 3]), mcs([]) , ag
        mc(collections.defaultdict(int))
        dt_tuple.digits, fi is sys.float_info, vi is sys.version_info, fl2 is sys.flags, getattr(ns, "a b"), globals()["with space"], 变量, naïve, _
        mv2[0], mv.obj is ar2, mv.format, bytes(mv3), mv3.strides, ro.readonly, ex.args[0] is t1, ti["a"] is t1, str(pp), sysn is sys.implementation
        mv2[0] = 9 ;; ar2, arr
        next(hosts)
        """,
        named="ff mv mv2 hosts",
    ),
    "subclasses of built-in types with attributes": session(
        """
        import itertools, struct, threading, queue, zoneinfo, types, ast, json, ctypes, decimal, uuid, weakref, asyncio, operator, re, mmap, io, socket, random, collections, typing, functools
        owner = ["me"]
        class Count(itertools.count): pass
        class Chain(itertools.chain): pass
        class Cyc(itertools.cycle): pass
        class Enum_(enumerate): pass
        class Zip(zip): pass
        class Map(map): pass
        class Rev(reversed): pass
        class Prop(property): pass
        class Stat(staticmethod): pass
        class Clsm(classmethod): pass
        class Str_(struct.Struct): pass
        class Loc(threading.local):
            def __init__(self, base=1): self.base = base
        class SQ(queue.SimpleQueue): pass
        class Zone(zoneinfo.ZoneInfo): pass
        class Alias(types.GenericAlias): pass
        class NodeX(ast.AST): _fields = ("left", "right")
        class Dctx(decimal.Context): pass
        class U(uuid.UUID): __slots__ = ("extra",)
        class Mod(types.ModuleType): pass
        class Rng(random.Random):
            def random(self): self.n = getattr(self, "n", 0) + 1; return 0.25
        class PropD(functools.cached_property): pass
        class KeyErr(KeyError):
            def __str__(self): return "KE"
        class Cmp(ctypes.Structure): _fields_ = [("a", ctypes.c_int), ("p", ctypes.POINTER(ctypes.c_int))]
        cn, ch, cy, en, zp, mp, rv = Count(3), Chain([1], [2]), Cyc("ab"), Enum_("xy"), Zip([1], [2]), Map(str, [1, 2]), Rev((1, 2, 3))
        for o in (cn, ch, cy, en, zp, mp, rv): o.note = owner; next(o)
        pr, sm, cm = Prop(lambda s: s.v), Stat(len), Clsm(lambda c: c.__name__); pr.note = sm.note = cm.note = owner
        class Host: v = 5; p = pr; s = sm; c = cm
        host = Host(); sx = Str_("<h"); sx.note = owner; lc = Loc(base=4); lc.x = owner; z = Zone("Europe/Rome"); z.note = owner; ga = Alias(list, (int,)); nx = NodeX(left=owner, right=None); nx.note = nx; dc = Dctx(prec=3); dc.note = owner; md = Mod("md"); md.note = owner; rng = Rng(1); rng.choice([1, 2]); ke = KeyErr("k"); ke.note = owner
        i = ctypes.c_int(5); st = Cmp(1, ctypes.pointer(i)); st.note = owner; arr = (ctypes.c_int * 3)(1, 2, 3); base = bytearray(8); over = ctypes.c_int.from_buffer(base)
        fn = typing.cast; dq = type("DQ", (collections.deque,), {"__slots__": ("tag",)})([1], 2); dq.tag = owner; bm = type("BM", (io.BytesIO,), {})(b"abc"); bm.note = owner; bm.read(1)
        """,
        """
        [o.note is owner for o in (cn, ch, cy, en, zp, mp, rv)], [type(o).__name__ for o in (cn, ch, cy, en, zp, mp, rv)]
        next(cn), next(ch), next(cy), next(en), next(mp), next(rv)
        next(zp)
        host.p, host.s([1]), host.c, Host.__dict__["p"].note is owner, Host.__dict__["s"] is sm, Host.__dict__["c"].note is owner, pr.note is owner
        sx.note is owner, sx.pack(1), lc.x is owner, lc.base
        z.note is owner, z is Zone("Europe/Rome"), type(z).__name__, z.key
        ga, type(ga).__name__, nx.left is owner, nx.note is nx, dc.note is owner, dc.prec, type(dc).__name__, md.note is owner, type(md) is Mod
        rng.choice([1, 2, 3]), rng.n, ke.note is owner, str(ke), ke.args
        i.value = 7 ;; st.p.contents.value, st.note is owner, list(arr)
        dq.tag is owner, dq.maxlen, dq, bm.note is owner, bm.read()
        """,
        named="Cmp sx lc st",
    ),
    "iterators that share": session(
        r"""
        import itertools, collections, csv, re, io, operator, functools, heapq, random
        src = iter(range(10)); a = map(lambda x: x * k, src); b = filter(None, src); k = 1; next(a); z = zip(src, src); l = [1, 2, 3]; li = iter(l); next(li); li2 = li; en = enumerate(li, 5); ch = itertools.chain(li, "ab"); 
        t1, t2 = itertools.tee(iter([1, 2, 3, 4])); next(t1); next(t1); t3 = t1.__copy__()
        gb = itertools.groupby([("a", 1), ("a", 2), ("b", 3)], key=operator.itemgetter(0)); gk, gi = next(gb); next(gi)
        dq = collections.deque([1, 2, 3]); di = iter(dq); next(di); st = {1, 2, 3}; si = iter(st); next(si); by = iter(b"abc"); next(by); s = iter("añb"); next(s); rl = reversed(l); next(rl); rg = iter(range(5)); next(rg); tp = iter((1, [2])); next(tp)
        acc = itertools.accumulate(iter([1, 2, 3]), lambda x, y: x + y * k, initial=10); next(acc); next(acc); isl = itertools.islice(itertools.count(), 2, 20, 3); next(isl); cyc = itertools.cycle(iter("ab")); next(cyc); zl = itertools.zip_longest(iter([1, 2]), [5], fillvalue=l); next(zl); cmb = itertools.combinations("abc", 2); next(cmb); prod = itertools.product([1, 2], repeat=2); next(prod); perm = itertools.permutations("ab"); next(perm); lim = 5; tw = itertools.takewhile(lambda x: x < lim, iter([1, 2, 9])); next(tw); dw = itertools.dropwhile(lambda x: x < lim, iter([1, 9, 1])); next(dw); rep = itertools.repeat(l, 3); next(rep); sm = itertools.starmap(pow, iter([(2, 3), (3, 2)])); next(sm); pw = itertools.pairwise(iter("abc")); next(pw); comp = itertools.compress("abcd", iter([1, 0, 1, 1])); next(comp); cf = itertools.chain.from_iterable(iter([[1], [2, 3]])); next(cf); ff = itertools.filterfalse(None, iter([0, 1, 0])); next(ff)
        rd = csv.reader(io.StringIO("a,b\n1,2\n3,4\n")); next(rd); dr = csv.DictReader(io.StringIO("h;i\n1;2\n"), delimiter=";"); fn = dr.fieldnames; fi = re.finditer("a(.)", "abacad"); m = next(fi); sc = re.compile(r"\d").scanner("1a2"); sc.search(); call = iter(functools.partial(next, iter([1, 2, None, 3])), None); next(call); ex = iter([1]); list(ex); exl = [1]; exi = iter(exl); list(exi); getit = iter(type("S", (), {"__getitem__": lambda self, i: i if i < 3 else [][0]})()); next(getit); sen = iter(lambda: l.pop() if l else 0, 0); sio = io.StringIO("x\ny\n"); sioi = iter(sio); next(sioi); both = {"s": src, "again": [src]}; own = itertools.count(1.5, 0.5); next(own); cm = iter(collections.ChainMap({"a": 1}, {"b": 2}).items()); od = collections.OrderedDict(a=1, b=2); odi = reversed(od); next(odi); cnt = iter(collections.Counter("aab").elements()); next(cnt)
        """,
        r"""
        next(a), next(src), next(b), next(z), both["s"] is src, both["again"][0] is src
        k = 100 ;; next(a), list(acc)
        li2 is li, next(en), next(ch), l.append(4), next(li), list(ch), list(en)
        next(t1), next(t2), next(t3), list(t2), list(t1)
        next(gi), next(gb)[0]
        next(di), dq.append(9)
        next(di)
        next(si), chr(next(by)), next(s), next(rl), next(rg), next(tp)
        next(isl), next(cyc), next(cyc), next(zl), next(cmb), next(prod), next(perm), next(rep) is l
        lim = 100 ;; list(tw), list(dw), next(sm), next(pw), list(comp), list(cf), list(ff)
        next(zl)
        next(rd), rd.line_num, next(dr), fn is dr.fieldnames
        next(fi).group(1), m.re, m.string, sc.search().group()
        next(call), list(call), list(ex), exl.append(2), list(exi), list(getit)
        next(sen), next(sioi), sio.tell(), next(own), next(cm), next(odi), next(cnt)
        """,
        named="rd dr fi sc cm",
    ),
    "deep, long and cyclic": session(
        """
        import collections, functools, weakref
        class N:
            __slots__ = ("v", "next", "prev")
            def __init__(self, v): self.v = v; self.next = self.prev = None
        head = cur = N(0)
        for i in range(1, 3000): nxt = N(i); cur.next = nxt; nxt.prev = cur; cur = nxt
        tail = cur; nest = []; c2 = nest
        for i in range(3000): c2.append([]); c2 = c2[0]
        tup = ()
        for i in range(2000): tup = (tup, i)
        def compose(n):
            f = lambda x: x
            for i in range(n): f = (lambda g: lambda x: g(x) + 1)(f)
            return f
        f50 = compose(200); part = functools.partial(lambda *a: len(a))
        for i in range(100): part = functools.partial(part, i)
        class E(Exception): pass
        err = None
        for i in range(300):
            e = E(i); e.__cause__ = err; err = e
        g = {i: {} for i in range(500)}
        for i in g: g[i]["peer"] = g[(i * 7) % 500]
        chain = collections.ChainMap()
        for i in range(50): chain = chain.new_child({i: chain})
        class Tree(dict):
            def __missing__(self, k): v = self[k] = type(self)(); v.up = weakref.ref(self); return v
        tr = Tree(); t2 = tr
        for i in range(60): t2 = t2[i]
        big = {f"k{i}": [i] * 3 for i in range(3000)}; alias = big["k77"]
        """,
        """
        (lambda n: sum(1 for _ in iter(lambda: n.__setitem__(0, n[0].next) or n[0], None)))([head]), tail.prev.next is tail, tail.v
        (lambda d, c: [d := d + 1 for _ in iter(lambda: c.__setitem__(0, c[0][0] if c[0] else None) or c[0], None)][-1])(0, [nest])
        tup[1], tup[0][1], f50(0), part(), g[3]["peer"] is g[21], chain[3] is chain.maps[-4][3] if 3 in chain.maps[-4] else 0
        (lambda e, n: [n := n + 1 for _ in iter(lambda: e.__setitem__(0, e[0].__cause__) or e[0], None)][-1])(0 or [err], 0)
        t2.up()[59] is t2, tr[0].up() is tr, t2[1].up() is t2, big["k77"] is alias, list(big)[5]
        """,
    ),
}
