"""Classes that make, count, wrap and refuse: containers, pools, descriptors, factories."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "containers of one's own: subclassed dict, list, set, deque, str, int, tuple, UserDict": session(
        """
        import collections as co
        class Lower(dict):
            def __init__(self, *a, **k): super().__init__(); self.writes = 0; self.update(*a, **k)
            def __setitem__(self, k, v): self.writes += 1; super().__setitem__(k.lower(), v)
            def update(self, *a, **k):
                for key, v in dict(*a, **k).items(): self[key] = v
            def __missing__(self, k): return self[k.lower()] if k != k.lower() else "none"
        class Audit(list):
            def __init__(self, it=(), cap=3): super().__init__(it); self.cap = cap; self.dropped = []
            def append(self, x):
                if len(self) >= self.cap: self.dropped.append(self.pop(0))
                super().append(x)
            def __iadd__(self, o):
                for x in o: self.append(x)
                return self
        class Ring(co.deque):
            def __init__(self, it=(), n=3): super().__init__(it, maxlen=n); self.total = sum(self)
            def append(self, x): self.total += x; super().append(x)
        class Tagged(str):
            def __new__(cls, v, tag): s = super().__new__(cls, v); s.tag = tag; return s
            def __add__(self, o): return Tagged(str(self) + o, self.tag)
        class Mod(int):
            def __new__(cls, v, m=7): n = super().__new__(cls, v % m); n.m = m; return n
            def __add__(self, o): return Mod(int(self) + int(o), self.m)
        class Pair(tuple):
            __slots__ = ()
            def __new__(cls, a, b): return super().__new__(cls, (a, b))
            left = property(lambda s: s[0])
        class Bag(set):
            def add(self, x): self.last = x; super().add(x)
        class Cfg(co.UserDict):
            def __getitem__(self, k): return self.data[k]() if callable(self.data[k]) else self.data[k]
        class Count(co.Counter):
            def __missing__(self, k): return -1
        class Auto(co.defaultdict):
            def __init__(self): super().__init__(Auto); self.depth = 0
        class OD(co.OrderedDict):
            pass
        # %%
        lo = Lower(A=1, b=2); au = Audit([1, 2]); au.append(3); au.append(4); me = Audit(); me.append(me); ring = Ring([1, 2]); ring.append(5); ring.append(6); t = Tagged("hi", [1]); tags = t.tag; n = Mod(10); pr = Pair([1], lo)
        bag = Bag({1}); bag.add(2); cfg = Cfg(now=lambda: len(au), x=1); cnt = Count("aab"); tree = Auto(); tree["a"]["b"]["c"] = 1; od = OD(a=1, b=2); od.move_to_end("a"); od.owner = lo; chain = co.ChainMap(lo, cfg); NT = co.namedtuple("NT", "a b", defaults=[9]); nt = NT(au)
        """,
        """
        lo["C"] = 3 ;; dict(lo), lo.writes, lo["A"], lo["zz"], pr[1] is lo
        au += [5] ;; list(au), au.dropped, au.cap, nt.a is au, cfg["now"]
        ring.append(1) ;; list(ring), ring.total, ring.maxlen, type(ring).__name__
        tags.append(2) ;; t.tag, (t + "!").tag is tags, t == "hi", {"hi": 1}[t]
        n + 5, (n + 5).m, n == 3, type(n + 1).__name__, n.m
        pr.left.append(2) ;; pr[0], pr.left is pr[0], pr == ([1, 2], lo), hasattr(pr, "__dict__")
        bag.add(9) ;; sorted(bag), bag.last
        cnt["zz"], cnt["a"], cnt.most_common(1), cnt + Count("b"), type(cnt + cnt).__name__
        tree["q"]["r"] ;; sorted(tree), type(tree["q"]) is Auto, tree["q"].depth, tree.default_factory is Auto
        list(od), od.owner is lo, od.popitem(last=False), list(od)
        chain["x"], chain["now"], chain["a"]; chain["New"] = 1 ;; lo["new"], chain.maps[0] is lo, chain.maps[1] is cfg
        me[0] is me, len(me), me.cap, nt, NT._field_defaults, nt._replace(b=1).a is au, NT.__new__.__defaults__
        """,
    ),
    "classes that count, pool and forbid their own instances": session(
        """
        import weakref, copy
        class Singleton(type):
            _inst = {}
            def __call__(cls, *a, **k):
                if cls not in cls._inst: cls._inst[cls] = super().__call__(*a, **k)
                return cls._inst[cls]
        class Settings(metaclass=Singleton):
            def __init__(self, path="x.ini"): self.path, self.values = path, {}
        class Pool:
            _free, _all = [], weakref.WeakSet()
            def __new__(cls, *a):
                o = cls._free.pop() if cls._free else super().__new__(cls); cls._all.add(o)
                return o
            def __init__(self, n=0): self.n = n
            def release(self): self.n = None; Pool._free.append(self)
        class Fly:
            _cache = weakref.WeakValueDictionary()
            def __new__(cls, k):
                o = cls._cache.get(k)
                if o is None: o = super().__new__(cls); o.k = k; cls._cache[k] = o
                return o
            def __reduce__(self): return (Fly, (self.k,))
        class Final:
            def __init_subclass__(cls, **k): raise TypeError("Final is final")
        class NoCopy:
            def __copy__(self): raise TypeError("no copies")
            def __deepcopy__(self, memo): raise TypeError("no deep copies")
            def __reduce_ex__(self, p): raise TypeError("no pickles")
            value = 3
        class Borg:
            _state = {}
            def __init__(self): self.__dict__ = Borg._state
        class Immut:
            def __init__(self, a): object.__setattr__(self, "a", a)
            def __setattr__(self, *a): raise AttributeError("immutable")
            def __getstate__(self): return (self.a,)
            def __setstate__(self, s): object.__setattr__(self, "a", s[0])
        # %%
        s = Settings("y.ini"); s.values["k"] = 1; p1, p2 = Pool(1), Pool(2); p1.release(); p3 = Pool(3); p4 = Pool(4); p4.release(); f = Fly("a"); g = Fly("a"); bo, rg = Borg(), Borg(); bo.x = 1; im = Immut([1]); nc = NoCopy.__new__(NoCopy); every = Pool._all; flies = Fly._cache
        """,
        """
        Settings() is s, Settings("z").path, Singleton._inst[Settings] is s, s.values
        p3 is p1, p1.n, len(every), every is Pool._all, p2 in every, Pool._free[0] is p4
        Pool(8) is p4, p4.n, Pool._free, len(Pool._all)
        Fly("a") is f is g, Fly._cache is flies, list(flies), flies["a"] is f
        tmp = Fly("b"); n = len(flies); del tmp ;; n, len(flies)
        bo.y = 2 ;; rg.y, rg.x, bo.__dict__ is rg.__dict__ is Borg._state
        im.a = 3 ;; "set"
        im.a.append(2) ;; im.a, copy.copy(im).a is im.a, copy.deepcopy(im).a is im.a
        nc.value, type(nc) is NoCopy
        copy.copy(nc)
        type("Sub", (Final,), {})
        copy.deepcopy(f) is f, copy.copy(g) is f
        """,
    ),
    "descriptors that are functions, class methods wrapped, and partial methods": session(
        """
        import functools, types
        class lazy:
            def __init__(self, fn): functools.update_wrapper(self, fn); self.fn = fn; self.hits = 0
            def __get__(self, o, t=None):
                if o is None: return self
                self.hits += 1; v = self.fn(o); o.__dict__[self.__name__] = v
                return v
        class hybrid:
            def __init__(self, fn): self.fn = fn
            def __get__(self, o, t): return types.MethodType(self.fn, o if o is not None else t)
        def counted(fn):
            @functools.wraps(fn)
            def wrap(*a, **k): wrap.calls += 1; return fn(*a, **k)
            wrap.calls = 0
            return wrap
        class memo_method:
            def __init__(self, fn): self.fn, self.store = fn, {}
            def __get__(self, o, t=None): return functools.partial(self, o)
            def __call__(self, o, *a):
                if (id(o), a) not in self.store: self.store[id(o), a] = self.fn(o, *a)
                return self.store[id(o), a]
        class Account:
            rate = 0.05
            def __init__(self, bal): self.bal = bal
            @lazy
            def interest(self): "yearly"; return self.bal * self.rate
            @hybrid
            def which(self): return "class" if isinstance(self, type) else "instance"
            @counted
            def add(self, n): self.bal += n; return self.bal
            add100 = functools.partialmethod(add, 100); alias = add
            @classmethod
            @counted
            def from_text(cls, t): return cls(int(t))
            @staticmethod
            @counted
            def check(n): return n > 0
            @memo_method
            def slow(self, k): return [k, self.bal]
            @functools.singledispatchmethod
            def put(self, x): raise TypeError(type(x).__name__)
            @put.register
            def _(self, x: int): return ("int", x + self.bal)
            @put.register(str)
            def _s(self, x): return ("str", x)
        # %%
        a = Account(100); b = Account.from_text("5"); a.interest; a.add100(); s1 = a.slow(1); put = a.put; which = Account.which; slow = a.slow; raw = Account.__dict__["check"]; cm = Account.__dict__["from_text"]; add = a.add
        def late(self, m=[]): m.append(self.bal); return m
        a.late = types.MethodType(late, a); Account.late2 = late
        """,
        """
        a.interest, b.interest, Account.interest.hits, Account.interest.__doc__, "interest" in a.__dict__
        a.which(), Account.which(), which(), which.__self__ is Account
        a.add(1), a.add100(), Account.add.calls, Account.alias is Account.add, add(1), add.calls
        Account.from_text("7").bal, cm.__func__.calls, Account.check(3), raw.__func__.calls, Account.check.calls
        s1.append("x") ;; a.slow(1) is s1, slow(1), len(Account.__dict__["slow"].store)
        put(3), put("x"), a.put(True), b.put(2)
        put(1.5)
        Account.put.register(float, lambda self, x: "now float") ;; put(1.5), b.put(2.5)
        a.late(), Account.late2(b), late.__defaults__[0] is a.late(), a.late.__func__ is late
        del a.interest; Account.rate = 0.5 ;; a.interest, Account.interest.hits
        Account.__dict__["add100"].func is Account.add, Account.__dict__["add100"].args
        """,
    ),
    "classes made while running: factories, type(), new_class, nested and local ones": session(
        """
        import types, typing, abc
        def model(name, /, **fields):
            defaults = {}
            class Inner:
                kinds = fields
                def __init__(self, **kw): self.__dict__.update({**defaults, **kw})
                def __repr__(self): return f"{name}({self.__dict__})"
                @classmethod
                def default(cls, k, v): defaults[k] = v; return cls
                def __eq__(self, o): return type(self) is type(o) and self.__dict__ == o.__dict__
            Inner.__name__ = Inner.__qualname__ = name
            return Inner
        User, Item = model("User", name=str), model("Item", price=float)
        User.default("name", "anon"); Inst = types.new_class("Inst", (User,), {}, lambda ns: ns.update(extra=[1], show=lambda self: (self.name, self.extra)))
        Plain = type("Plain", (), {"__slots__": ("v",), "twice": lambda self: self.v * 2})
        class Outer:
            class Inner:
                class Deep:
                    depth = 3
                    def up(self): return Outer
                default = Deep()
            def make(self):
                outer = self
                class Local:
                    def owner(self): return outer
                    @property
                    def kind(self): return __class__.__name__
                return Local
        class Real:
            def __new__(cls, *a):
                if cls is Real: return super().__new__(Half)
                return super().__new__(cls)
        class Half(Real): pass
        # %%
        u, i, inst = User(), Item(price=1.5), Inst(name="z"); pl = Plain(); pl.v = 4; o = Outer(); L = o.make(); l1 = L(); L2 = o.make(); l2 = L2(); deep = Outer.Inner.default; r = Real(); anon = (lambda: type("Anon", (dict,), {"n": 0}))(); an = anon(a=1); anon.n = 5
        classes = {c.__name__: c for c in (User, Item, Inst, Plain, L)}
        """,
        """
        u, i, inst, User.kinds, type(u) is User is not Item
        User.default("age", 3); ;; User(), Inst(), Item()
        inst.show(), Inst.__bases__[0] is User, Inst.extra.append(2), inst.extra
        pl.twice(), pl.v, hasattr(pl, "__dict__"), Plain.v.__get__(pl)
        l1.owner() is o, l2.owner() is o, L is L2, type(l1) is L, l1.kind, isinstance(l1, L2)
        deep.up() is Outer, Outer.Inner.Deep.depth, Outer.Inner.default is deep, type(deep).__qualname__
        type(r) is Half, type(Real()).__name__
        an, an.n, type(an) is anon, anon(b=2).n
        classes["Local"] is L, classes["User"]() == u, [c.__module__ for c in classes.values()]
        L.__qualname__, User.__qualname__, Inst.__qualname__, Outer.make.__qualname__
        User.__repr__ = lambda self: "patched" ;; u, inst, i
        """,
    ),
    "what attrs caches in slots, protocols with hooks, and an order of classes": session(
        """
        import attrs, functools, typing
        @attrs.define
        class Pool:
            url: str
            @functools.cached_property
            def rows(self): return (number for number in range(3))
            @functools.cached_property
            def size(self): return [len(self.url)]
        @attrs.frozen
        class Node:
            name: str
            near: tuple = ()
            @functools.cached_property
            def family(self): return frozenset({self, *self.near})
            @functools.cached_property
            def path(self): return [self.name]
        class Steady(typing.Protocol):
            def __init_subclass__(cls, **k): pass
            def run(self) -> int: ...
        class Quick(Steady): pass
        class Backwards(type):
            def mro(cls): return [cls, *reversed(type.mro(cls)[1:-1]), object]
            def __eq__(cls, other): return isinstance(other, Backwards)
            __hash__ = type.__hash__
        class A(metaclass=Backwards): w = "A"
        class B(metaclass=Backwards): w = "B"
        class C(A, B): pass
        # %%
        pool = Pool("db://x"); pool.rows; spare = Pool("db://y"); spare.size.append(2); pooled = {"main": pool, "spare": spare}
        node = Node("a", (Node("b"),)); node.family; node.path.append("later"); leaf = node.near[0]; many = [Node(str(n)) for n in range(3)]
        """,
        """
        Node.path.__get__(node), node.path, leaf.path, [one.path for one in many]
        node in node.family, leaf in node.family, len(node.family), next(iter(leaf.family)) is leaf
        pool.url, sum(pool.rows), pooled["spare"] is spare, spare.size[0]
        Quick._is_protocol, "__parameters__" in vars(Quick), Quick.run is Steady.run, Quick.__mro__[1] is Steady
        C.w, [one.__name__ for one in C.__mro__]
        """,
    ),
    "what objects say that their class says otherwise": session(
        """
        class Book:
            __name__ = "book"
            def __init__(self): self.rows = []
            def __call__(self, x): self.rows.append(x); return x
        class Named:
            __bases__, __mro__ = ("x",), 5
            def __init__(self, n): self.n = n
            @property
            def __name__(self): return "named " + self.n
        b, n = Book(), Named("a")
        """,
        """
        b.__name__, Book.__name__, Book.__qualname__, vars(Book)["__name__"], b(3), b.rows
        n.__name__, Named.__name__, n.__bases__, Named.__bases__, n.__mro__, Named.__mro__[1]
        """,
    ),
    "models of pydantic that are noted when they are made": session(
        """
        import pydantic
        noted, plain = [], []
        class Base(pydantic.BaseModel):
            @classmethod
            def __pydantic_init_subclass__(cls, **given):
                super().__pydantic_init_subclass__(**given)
                noted.append((cls.__name__, sorted(cls.model_fields), given))
            def __init_subclass__(cls, **given):
                super().__init_subclass__()
                plain.append(cls.__name__)
        class User(Base):
            name: str = pydantic.Field(max_length=5)
            tags: list[str] = []
        class Admin(User, level=3):
            rights: dict[str, int] = {}
        # %%
        Made = pydantic.create_model("Made", size=(int, 1), __base__=Base)
        admin = Admin(name="ann", rights={"all": 1})
        """,
        """
        noted, plain
        admin.model_dump(), type(admin) is Admin, Made().size
        Later = type(Base)("Later", (Base,), {"__module__": "__main__", "__annotations__": {"x": int}}) ;; noted[-1], plain[-1]
        """,
    ),
    "models of pydantic with a hook in their second base, and a diamond": session(
        """
        import pydantic
        noted = []
        class Plain(pydantic.BaseModel): a: int = 1
        class Noting(pydantic.BaseModel):
            @classmethod
            def __pydantic_init_subclass__(cls, **given):
                noted.append(("first", cls.__name__))
        class Further(Noting):
            @classmethod
            def __pydantic_init_subclass__(cls, **given):
                noted.append(("further", cls.__name__))
        class Below(Noting): b: int = 2
        # %%
        class Both(Plain, Noting): c: int = 3
        class Diamond(Below, Further): d: int = 4
        """,
        """
        noted
        Both().model_dump(), Diamond().model_dump()
        Later = type(Plain)("Later", (Below, Further), {"__module__": "__main__", "__annotations__": {}}) ;; noted[-1]
        """,
    ),
}
