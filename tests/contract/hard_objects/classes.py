"""Classes of cells: hooks, registries, overridden methods of containers, slots, descriptors."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "dicts and lists with methods of their own": session(
        """
        class Adding(dict):
            def __setitem__(self, key, value): super().__setitem__(key, value + self.get(key, 0) if isinstance(value, int) else value)
        class Doubling(dict):
            def __setitem__(self, key, value): super().__setitem__(key, value * 2)
        class Loud(list):
            calls = 0
            def append(self, x): Loud.calls += 1; super().append(x)
            def extend(self, xs): Loud.calls += 100; super().extend([x * 10 for x in xs])
        d = Doubling(); d["a"] = 1
        g = Adding(); g["x"] = 1; g["x"] = 2
        l = Loud(); l.append(1); l.append(2)
        class Lower(dict):
            def __setitem__(self, key, value): super().__setitem__(key.lower(), value)
        low = Lower(); low["ABC"] = 1; dict.__setitem__(low, "RAW", 2)
        """,
        """
        dict(d)
        dict(g)
        list(l)
        Loud.calls
        sorted(low.items())
        d["b"] = 2 ;; d["b"]
        l.append(5) ;; list(l), Loud.calls
        low["NEW"] = 1 ;; sorted(low)
        """,
    ),
    "ordered, default and counting dicts of one's own": session(
        """
        from collections import OrderedDict, defaultdict, Counter, deque, UserDict
        class Log(OrderedDict):
            def __setitem__(self, key, value): super().__setitem__(key, f"<{value}>")
        class Tree(defaultdict):
            def __init__(self): super().__init__(Tree)
            def __setitem__(self, key, value): super().__setitem__(key, value if isinstance(value, Tree) else value + 1)
        class Positive(Counter):
            def __setitem__(self, key, value): super().__setitem__(key, abs(value))
        class Window(deque):
            def append(self, x): super().append(x * 2)
        class Strict(UserDict):
            def __setitem__(self, key, value): self.data[key] = value + 1
        class Unique(set):
            def __init__(self, items=()): super().__init__(items); self.made = getattr(self, "made", 0) + 1
            def add(self, x): super().add(x * 2)
        o = Log(); o["a"] = 1
        t = Tree(); t["x"]["y"] = 1
        p = Positive("aab"); p["z"] = -3
        w = Window(maxlen=3); [w.append(i) for i in range(5)]
        s = Strict(); s["k"] = 1
        u = Unique([1, 2]); u.add(5); u.note = "n"
        """,
        """
        list(o.items())
        dict(t["x"])
        sorted(p.items())
        list(w), w.maxlen
        s["k"]
        sorted(u), u.note
        u.made
        t["q"]["r"] = 4 ;; t["q"]["r"]
        """,
    ),
    "subclasses that register themselves": session(
        """
        class Base:
            registry = []
            count = 0
            def __init_subclass__(cls, **kw):
                super().__init_subclass__(**kw)
                Base.registry.append(cls.__name__); Base.count += 1
        class A(Base): pass
        class B(Base): pass
        class C(B): x = 1
        """,
        """
        Base.registry
        Base.count
        class D(B): pass ;; Base.registry, Base.count
        issubclass(C, Base)
        C.x, C.__mro__[1].__name__
        """,
    ),
    "a registry beside the classes": session(
        """
        REGISTRY = {}
        class Plugin:
            def __init_subclass__(cls, key=None, **kw):
                super().__init_subclass__(**kw)
                REGISTRY[key or cls.__name__] = cls
                cls.seen = len(REGISTRY)
        class Csv(Plugin, key="csv"):
            def go(self): return "csv"
        class Json(Plugin, key="json"):
            def go(self): return "json"
        def make(kind): return REGISTRY[kind]()
        """,
        """
        sorted(REGISTRY)
        make("csv").go()
        REGISTRY["json"] is Json
        Csv.seen, Json.seen
        class X(Plugin, key="x"): pass ;; X.seen
        isinstance(make("json"), Json)
        """,
    ),
    "metaclasses": session(
        """
        class Meta(type):
            made = []
            def __new__(mcs, name, bases, ns, **kw):
                cls = super().__new__(mcs, name, bases, ns)
                Meta.made.append(name)
                cls.fields = [k for k in ns if not k.startswith("_")]
                return cls
            def __init__(cls, name, bases, ns, **kw):
                super().__init__(name, bases, ns)
                cls.number = len(Meta.made)
            def __call__(cls, *a):
                one = super().__call__(*a); one.via = "meta"; return one
            def __len__(cls): return len(cls.fields)
        class M(metaclass=Meta):
            a = 1; b = 2
        class N(M):
            c = 3
        class Single(type):
            held = {}
            def __call__(cls, *a):
                if cls not in Single.held: Single.held[cls] = super().__call__(*a)
                return Single.held[cls]
        class Config(metaclass=Single):
            def __init__(self): self.values = {}
        conf = Config(); conf.values["x"] = 1
        """,
        """
        Meta.made
        M.fields, N.fields
        M.number, N.number
        len(M), M().via
        Config() is conf
        Config().values
        class O(N): d = 4 ;; Meta.made, O.number
        """,
    ),
    "set_name and descriptors": session(
        """
        class Field:
            named = []
            def __set_name__(self, owner, name): self.name = "_" + name; Field.named.append(name)
            def __get__(self, one, owner): return self if one is None else getattr(one, self.name, None)
            def __set__(self, one, value): setattr(one, self.name, value * 2)
        class R:
            x = Field(); y = Field()
        r = R(); r.x = 5
        from functools import cached_property, singledispatchmethod, partialmethod
        class L:
            n = 0
            @cached_property
            def heavy(self): L.n += 1; return 7
            @singledispatchmethod
            def show(self, v): return "any"
            @show.register
            def _(self, v: int): return "int"
            half = partialmethod(lambda self, a, b: (a, b), 1)
        l = L(); l.heavy
        """,
        """
        Field.named
        r.x, r._x
        r.y = 3 ;; r.y
        l.heavy, L.n
        l.show(1), l.show("a")
        l.half(2)
        R.x.name
        """,
    ),
    "dataclasses and named tuples": session(
        """
        import dataclasses, typing, enum, collections
        @dataclasses.dataclass(frozen=True, slots=True)
        class P: x: int; y: int = 2
        @dataclasses.dataclass(order=True)
        class Q:
            k: int
            tags: list = dataclasses.field(default_factory=list, compare=False)
            made: typing.ClassVar[int] = 0
            def __post_init__(self): Q.made += 1
        q = Q(3); q.tags.append("t")
        class NT(typing.NamedTuple):
            a: int; b: str = "z"
        nt = NT(1)
        Pair = collections.namedtuple("Pair", "l r", defaults=[9])
        pair = Pair(1)
        class Color(enum.Enum):
            RED = 1; CRIMSON = 1; BLUE = 2
            @property
            def low(self): return self.name.lower()
        class Flag(enum.Flag):
            A = enum.auto(); B = enum.auto()
        f = Flag.A | Flag.B; c = Color.BLUE
        class Level(enum.IntEnum):
            LOW = 1; HIGH = 5
        lev = Level.HIGH
        """,
        """
        P(1), hash(P(1, 2)) == hash(P(1))
        Q.made, q.tags
        Q(1) < Q(2), Q.made
        nt, nt._replace(a=4), NT.__annotations__
        pair, Pair._fields, Pair._field_defaults
        Color.CRIMSON is Color.RED, c is Color.BLUE, c.low, Color(2) is c
        f == Flag.A | Flag.B, Flag.A in f
        lev + 1, lev is Level.HIGH, list(Level)
        dataclasses.replace(q, k=9).k
        [x.name for x in dataclasses.fields(Q)]
        """,
    ),
    "slots, properties, weak references": session(
        """
        import weakref, abc, typing
        class S:
            __slots__ = ("a", "__b", "__weakref__")
            def __init__(self): self.a, self.__b = 1, 2
            @property
            def b(self): return self.__b
            @b.setter
            def b(self, v): self.__b = v
        s = S(); ref = weakref.ref(s); weak = weakref.WeakValueDictionary(s=s); ws = weakref.WeakSet([s])
        class Shape(abc.ABC):
            @abc.abstractmethod
            def area(self): ...
        class Sq(Shape):
            def area(self): return 4
        @Shape.register
        class Duck: pass
        sq = Sq()
        T = typing.TypeVar("T")
        class Box(typing.Generic[T]):
            def __init__(self, v): self.v = v
        box: Box[int] = Box[int](3)
        class Proto(typing.Protocol):
            def area(self) -> int: ...
        RuntimeProto = typing.runtime_checkable(Proto)
        """,
        """
        s.a, s.b
        s.b = 9 ;; s.b
        s.zzz = 1 ;; s.zzz
        ref() is s, weak["s"] is s, s in ws
        isinstance(Duck(), Shape), issubclass(Sq, Shape)
        Shape()
        box.v, box.__orig_class__
        isinstance(sq, RuntimeProto)
        Box.__parameters__
        """,
    ),
    "class state that changed later": session(
        """
        class K:
            count = 0; items = []; table = {}
            def __init__(self): K.count += 1; type(self).items.append(K.count)
            @classmethod
            def make(cls): return cls()
            @staticmethod
            def stat(x, acc=[]): acc.append(x); return len(acc)
        k1, k2 = K(), K.make(); K.stat(1); K.stat(2)
        def tagged(self): return f"tag {self.count}"
        K.tagged = tagged
        K.__repr__ = lambda self: "a K"
        del K.table
        k1.own = 5
        class Child(K):
            count = 100
        ch = Child()
        """,
        """
        K.count, K.items
        K.stat(3)
        k1.tagged(), repr(k2)
        hasattr(K, "table")
        k1.own, hasattr(k2, "own")
        Child.count, ch.count
        K() ;; K.count
        k1.__class__ is K and type(ch).__mro__[1] is K
        """,
    ),
    "exceptions of one's own": session(
        """
        class Bad(ValueError):
            def __init__(self, code, *, hint="h"): super().__init__(f"code {code}"); self.code, self.hint = code, hint
        try:
            try: 1 / 0
            except ZeroDivisionError as z: raise Bad(5, hint="x") from z
        except Bad as e: kept = e
        kept.add_note("a note")
        group = ExceptionGroup("many", [ValueError("a"), Bad(2)])
        class Ctx:
            def __enter__(self): return 5
            def __exit__(self, *a): return True
        ctx = Ctx()
        """,
        """
        kept.code, kept.hint, str(kept)
        type(kept.__cause__).__name__
        kept.__notes__
        isinstance(kept, Bad)
        [str(e) for e in group.exceptions], group.exceptions[1].code
        with ctx as v: raise Bad(1) ;; v
        """,
    ),
    "new and getattr": session(
        """
        class Tagged(str):
            def __new__(cls, value, tag): one = super().__new__(cls, value); one.tag = tag; return one
        t = Tagged("v", "the tag")
        class Money(float):
            def __new__(cls, amount, unit="EUR"): one = super().__new__(cls, amount); one.unit = unit; return one
        m = Money(2.5, "USD")
        class Point(tuple):
            def __new__(cls, x, y): return super().__new__(cls, (x, y))
            x = property(lambda s: s[0])
        p = Point(1, 2)
        class Lazy:
            def __init__(self): self.data = {"a": 1}
            def __getattr__(self, name): return self.data[name]
        lz = Lazy()
        class Deep:
            def __init__(self): object.__setattr__(self, "inner", {})
            def __setattr__(self, k, v): self.inner[k] = v * 2
            def __getattribute__(self, k): return object.__getattribute__(self, k)
        d = Deep(); d.q = 2
        other = 1
        """,
        """
        t, t.tag
        m + 1, m.unit
        p.x, p
        lz.a
        d.inner
        d.z = 5 ;; d.inner["z"]
        other
        """,
    ),
    "enumerations whose members have attributes": session(
        """
        import enum
        class Planet(enum.Enum):
            EARTH = (1, 2)
            MARS = (3, 4)
            def __init__(self, mass, radius): self.mass = mass; self.radius = radius
            @property
            def both(self): return self.mass + self.radius
        class Noted(enum.Enum):
            A = 1
            B = 2
            ALSO_A = 1
        Noted.A.note = "hi"; Noted.A.other = Noted.B; Noted.B.other = Noted.A
        class Number(int, enum.Enum):
            ONE = 1
            def __new__(cls, value):
                made = int.__new__(cls, value); made._value_ = value; made.label = str(value); return made
        class Perm(enum.Flag):
            R = 4
            W = 2
            RW = 6
        allowed = {Perm.RW: "both", Noted.ALSO_A: "a"}
        import dataclasses
        class Axis(bytes, enum.Enum):
            def __new__(cls, value, label):
                made = bytes.__new__(cls, [value]); made._value_ = value; made.label = label; return made
            X = (0, "P.X")
            Y = (1, "P.Y")
        @dataclasses.dataclass(frozen=True)
        class Pair: a: int; b: int
        class Pairs(Pair, enum.Enum):
            ONE = 1, 2
            TWO = 3, 4
        """,
        """
        Planet.MARS.both, Planet((1, 2)).radius
        Noted.A.note, Noted.A.other is Noted.B, Noted.B.other.other is Noted.B
        Noted["ALSO_A"] is Noted.A, list(Noted.__members__)
        Number.ONE.label, Number.ONE + 1
        Perm["RW"] is Perm.RW, Perm.R | Perm.W, list(Perm)
        allowed[Perm.R | Perm.W], allowed[Noted.A]
        Axis.Y.label, Axis(1).label, Axis.Y.value, bytes(Axis.Y), Axis.__new__ is enum.Enum.__new__
        Pairs.TWO.a, Pairs.ONE.b, repr(Pairs.ONE), Pairs["TWO"] == Pair(3, 4)
        """,
    ),
    "classes in modules and namespaces without a file": session(
        """
        import types, sys
        plug = types.ModuleType("plug"); sys.modules["plug"] = plug
        exec('''
        class Base:
            kinds = []
            def __init_subclass__(cls): Base.kinds.append(cls.__name__)
        class A(Base): pass
        ''', plug.__dict__)
        space = {"__name__": "space"}
        exec('''
        count = [0]
        class Base:
            def __init_subclass__(cls): count[0] += 1
        class A(Base): pass
        ''', space)
        Alias = space["A"]
        """,
        """
        plug.Base.kinds
        issubclass(plug.A, plug.Base)
        space["count"]
        Alias is space["A"]
        """,
    ),
    "containers that say what their attributes are": session(
        """
        import threading
        class Cache(dict):
            def __init__(self): super().__init__(); self.lock = threading.Lock(); self.lock.acquire(); self.size = 0
            def __setitem__(self, k, v): self.size += 1; super().__setitem__(k, v + 1)
            def __getstate__(self): return {"size": self.size}
            def __setstate__(self, state): self.__dict__.update(state); self.lock = threading.Lock()
        cache = Cache(); cache["a"] = 1; cache["me"] = 5
        """,
        """
        dict(cache), cache.size
        cache["b"] = 2 ;; cache["b"], cache.size
        """,
    ),
}
