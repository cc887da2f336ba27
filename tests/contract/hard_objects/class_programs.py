"""Programs made of classes: descriptors, metaclasses, slots, enumerations, dataclasses, protocols, generics, mixins."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "a little mapper of records, with typed fields and a metaclass": session(
        """
        class Field:
            made = 0
            def __init__(self, kind, default=None):
                self.kind, self.default = kind, default
                Field.made += 1; self.order = Field.made
            def __set_name__(self, owner, name):
                self.name = name; owner.__dict__.get("_log", []).append(name)
            def __get__(self, obj, owner=None):
                return self if obj is None else obj.__dict__.get(self.name, self.default)
            def __set__(self, obj, value):
                if not isinstance(value, self.kind): raise TypeError(f"{self.name} wants {self.kind.__name__}")
                obj.__dict__[self.name] = value; obj._dirty.add(self.name)
        class Meta(type):
            tables = {}
            @classmethod
            def __prepare__(mcs, name, bases, **kw): return {"_log": []}
            def __new__(mcs, name, bases, ns, table=None):
                cls = super().__new__(mcs, name, bases, dict(ns)); cls._fields = {k: v for k, v in ns.items() if isinstance(v, Field)}
                cls._table = table or name.lower(); mcs.tables[cls._table] = cls
                return cls
            def __len__(cls): return len(cls._fields)
            def __contains__(cls, name): return name in cls._fields
        class Record(metaclass=Meta):
            def __init__(self, **kw):
                self._dirty = set()
                for k, v in kw.items(): setattr(self, k, v)
        class User(Record, table="users"):
            name = Field(str); age = Field(int, 18)
        class Admin(User, table="admins"):
            level = Field(int, 1)
        # %%
        u = User(name="Ann"); a = Admin(name="Bo", level=3); name_field = User.name; tables = Meta.tables; made_before = Field.made
        class Late(Record):
            note = Field(str, "")
        late = Late(note="x"); u._dirty.clear()
        """,
        """
        u.age = 40 ;; u._dirty, u.age, User.age.default, a._dirty == {"name", "level"}
        Field.made, made_before, [f.order for f in (User.name, User.age, Admin.level, Late.note)]
        name_field is User.name is User._fields["name"] is Admin.name, Admin.__dict__.get("name")
        tables is Meta.tables, sorted(tables), tables["users"] is User, tables["late"] is type(late)
        len(User), "age" in User, "age" in Admin, len(Admin), User._log, Admin._log
        u.name = 3 ;; "set"
        name_field.default = "nobody" ;; User().name, Admin().name
        Extra = Meta("Extra", (User,), {"z": (f := Field(int, 9))}) ;; len(Extra), f.order, tables["extra"] is Extra, Field.made
        class More(Admin, table="more"): w = Field(float) ;; sorted(tables), More(name="q").level, issubclass(More, User)
        del tables["late"] ;; sorted(Meta.tables), Record.__subclasses__()[-1].__name__, [c.__name__ for c in User.__subclasses__()]
        """,
    ),
    "properties, slots and cached properties": session(
        """
        from functools import cached_property
        import math
        calls = []
        class Point:
            __slots__ = ("_x", "_y", "__weakref__")
            def __init__(self, x, y): self._x, self._y = x, y
            @property
            def x(self): return self._x
            @x.setter
            def x(self, v): calls.append(("x", v)); self._x = v
            @x.deleter
            def x(self): calls.append("del"); self._x = 0
            def __eq__(self, o): return (self._x, self._y) == (o._x, o._y)
            def __hash__(self): return hash((self._x, self._y))
        class Named(Point):
            __slots__ = ("name",)
        class Shape:
            def __init__(self, *pts): self.pts = list(pts)
            @cached_property
            def length(self): calls.append("length"); return sum(math.dist((p._x, p._y), (q._x, q._y)) for p, q in zip(self.pts, self.pts[1:]))
            @property
            def first(self): return self.pts[0]
        class Loud(Shape):
            @Shape.first.getter
            def first(self): calls.append("first"); return super().first
        # %%
        p, q = Point(0, 0), Point(3, 4); n = Named(1, 1); n2 = Named(2, 2); n2.name = "n2"
        s = Shape(p, q); s.length; loud = Loud(q, p); xprop = Point.x; slot = Named.name; getter = Point.x.fget; by_point = {p: "p", q: "q"}
        bare = Point.__new__(Point); setx = xprop.__set__; where = Point._x
        """,
        """
        q._x = 30; q._y = 40 ;; s.length, loud.length, calls
        del s.length ;; s.length, calls, "length" in s.__dict__
        loud.first is q, calls[-1], Loud.first.fset, Loud.first.fget is Shape.first.fget
        n.name
        n.name = "now" ;; slot.__get__(n), slot is Named.name, slot.__get__(n2), hasattr(p, "name")
        xprop is Point.x, getter is xprop.fget, getter(q)
        setx(p, 7) ;; p.x, calls[-1], by_point.get(p), list(by_point)[0] is p
        bare.x
        where.__set__(bare, 5) ;; bare.x, bare._x
        del p.x ;; p.x, calls[-1], by_point[p]
        p.z = 1 ;; "set"
        Point.y = property(lambda self: self._y * 2) ;; n2.y, q.y, type(n2).__mro__[1] is Point
        """,
    ),
    "enumerations with methods, flags and members made by hand": session(
        """
        import enum, json
        from enum import auto
        class Color(enum.Enum):
            RED = 1; GREEN = 2; CRIMSON = 1
            def __init__(self, code): self.hexcode = f"#{code:06x}"; self.uses = 0
            @classmethod
            def _missing_(cls, v): return cls.RED if v == "rot" else None
            @property
            def pretty(self): self.uses += 1; return self.name.title()
        class Perm(enum.Flag):
            R = auto(); W = auto(); X = auto(); RW = R | W
        class Prio(enum.IntEnum):
            LOW = 1; HIGH = 5
        class Planet(enum.Enum):
            EARTH = (5.9, 6.3); MARS = (0.6, 3.3)
            def __new__(cls, mass, radius):
                o = object.__new__(cls); o._value_ = mass; o.radius = radius
                return o
        class Word(str, enum.Enum):
            A = "alpha"; B = "beta"
        class Auto(enum.StrEnum):
            FIRST = auto(); SECOND = auto()
        Fn = enum.Enum("Fn", "ADD SUB", module=__name__); Dyn = enum.IntFlag("Dyn", {"P": 1, "Q": 2})
        class Ops(enum.Enum):
            PLUS = enum.member(lambda a, b: a + b); TIMES = enum.member(lambda a, b: a * b)
            def __call__(self, *a): return self.value(*a)
        # %%
        Color.RED.pretty; Color.RED.note = ["seen"]; note = Color.RED.note; red = Color.CRIMSON; rw = Perm.R | Perm.X; byc = {Color.RED: 1, Color.GREEN: 2, Perm.RW: 3, Fn.ADD: 4}
        odd = Dyn(3) | 4; plus = Ops.PLUS; members = Color.__members__; it = iter(Prio); next(it); alias = Color
        """,
        """
        Color.RED.uses, Color.RED.pretty, red.uses, red is Color.RED, Color("rot") is red
        note.append("again") ;; Color.CRIMSON.note, Color(1).note is note
        byc[red], byc[Color["GREEN"]], byc[Perm.R | Perm.W], byc[Fn(1)], list(byc)[0] is Color.RED
        rw, Perm.X in rw, ~rw, rw is (Perm.R | Perm.X), Perm(5) is rw, list(rw)
        odd, odd.value, Dyn(7) is odd, odd & Dyn.P
        next(it), list(it), Prio.HIGH > 3, json.dumps({"p": Prio.HIGH, "w": Word.B})
        plus(2, 3), Ops.TIMES(4, 5), Ops(plus.value) is plus
        Planet(0.6).radius, Planet.EARTH.value, Planet.MARS is Planet(0.6)
        members["CRIMSON"] is red, list(members), alias is type(red), Color.RED.hexcode
        Word("beta") is Word.B, Word.A == "alpha", Word.A.upper(), Auto.SECOND, f"{Auto.FIRST}", Fn.SUB.value
        Color.BLUE
        Color(77)
        """,
        named="it",
    ),
    "dataclasses that share defaults, order, freeze and pass things through": session(
        """
        import dataclasses as dc, itertools
        from typing import ClassVar
        counter = itertools.count(100); next(counter)
        @dc.dataclass(order=True)
        class Job:
            prio: int
            name: str = dc.field(compare=False)
            id: int = dc.field(default_factory=lambda: next(counter), compare=False)
            tags: list = dc.field(default_factory=list, compare=False, repr=False, metadata={"unit": "none"})
            alive: ClassVar[dict] = {}
            start: dc.InitVar[int] = 0
            def __post_init__(self, start): self.begun = start * 2; Job.alive[self.id] = self
        @dc.dataclass(frozen=True, slots=True, kw_only=True)
        class Key:
            a: int
            b: tuple = ()
            def moved(self, d): return dc.replace(self, a=self.a + d)
        @dc.dataclass(frozen=True)
        class Money:
            cents: int
            cur: str = "EUR"
            _cache: dict = dc.field(default_factory=dict, compare=False, hash=False, repr=False)
            def __add__(self, o): return Money(self.cents + o.cents, self.cur)
            def __post_init__(self): object.__setattr__(self, "euros", self.cents / 100)
        @dc.dataclass
        class Node:
            value: int
            parent: "Node | None" = None
            kids: list["Node"] = dc.field(default_factory=list)
            def add(self, v): n = Node(v, self); self.kids.append(n); return n
        Made = dc.make_dataclass("Made", [("x", int), ("y", float, 0.5)], namespace={"area": lambda self: self.x * self.y})
        # %%
        j1, j2 = Job(3, "c", start=4), Job(1, "a"); j3 = dc.replace(j1, prio=9, start=1); k = Key(a=1, b=(2,)); seen = {k: "k", Money(5): "five"}; m = Money(250); m._cache["x"] = 1
        root = Node(0); kid = root.add(1); grand = kid.add(2); made = Made(4); fields = dc.fields(Job); tagfield = fields[3]
        """,
        """
        Job(0, "new").id, sorted(Job.alive), Job.alive[j1.id] is j1, j1.begun, j3.begun
        j3.tags.append("t") ;; j1.tags, j3.tags is j1.tags, repr(j3)
        sorted([j1, j2, j3])[0] is j2, j1 < j3, j1 == Job(3, "other")
        k.a = 5 ;; "set"
        seen[Key(a=1, b=(2,))], seen[Money(5)], k.moved(1), hash(k) == hash(Key(a=1, b=(2,)))
        k.q = 1 ;; "set"
        (m + m).euros, m._cache, (m + m)._cache, m == Money(250)
        grand.parent is kid and kid.parent is root, root.kids[0] is kid, grand.value
        root == Node(0)
        made.area(), Made(1, 2).area(), made, dc.asdict(made), Made.__module__
        dc.fields(Job)[3] is tagfield, tagfield.metadata["unit"], tagfield.default_factory is list, [f.name for f in fields]
        del Job.alive[j1.id] ;; len(j1.alive), next(counter)
        dc.asdict(j2)["tags"] is j2.tags, dc.astuple(j2)[:2], Job.__match_args__, Key.__slots__
        """,
    ),
    "protocols, abstract bases and registries of virtual subclasses": session(
        """
        import abc, collections.abc as cabc
        from typing import Protocol, runtime_checkable, Generic, TypeVar
        T = TypeVar("T"); K = TypeVar("K", bound="Shape")
        @runtime_checkable
        class HasArea(Protocol):
            def area(self) -> float: ...
        class Shape(abc.ABC):
            registry: dict = {}
            def __init_subclass__(cls, /, tag=None, **kw):
                super().__init_subclass__(**kw); cls.tag = tag or cls.__name__.lower(); Shape.registry[cls.tag] = cls
            @abc.abstractmethod
            def area(self): ...
            @classmethod
            def __subclasshook__(cls, C):
                return True if cls is Shape and any("looks_like_shape" in B.__dict__ for B in C.__mro__) else NotImplemented
        class Square(Shape, tag="sq"):
            def __init__(self, s): self.s = s
            def area(self): return self.s ** 2
        class Half(Shape): pass
        class Alien: looks_like_shape = True
        class Blob:
            def area(self): return 1.5
        class Outsider: pass
        Shape.register(Outsider); cabc.Sequence.register(Blob)
        class Stack(Generic[T]):
            def __init__(self): self._i: list[T] = []
            def push(self, x: T) -> "Stack[T]": self._i.append(x); return self
            def __class_getitem__(cls, item): return super().__class_getitem__(item)
        class IntStack(Stack[int]):
            pass
        class Vec(cabc.MutableSequence):
            def __init__(self, *a): self.a = list(a)
            def __getitem__(self, i): return Vec(*self.a[i]) if isinstance(i, slice) else self.a[i]
            def __setitem__(self, i, v): self.a[i] = v
            def __delitem__(self, i): del self.a[i]
            def __len__(self): return len(self.a)
            def insert(self, i, v): self.a.insert(i, v)
        # %%
        sq = Square(3); blob = Blob(); ints = IntStack().push(1); alias = Stack[str]; made = alias(); v = Vec(3, 1, 2); registry = Shape.registry
        checks = [isinstance(x, Shape) for x in (sq, Alien(), Outsider(), blob)]
        """,
        """
        [isinstance(x, Shape) for x in (sq, Alien(), Outsider(), blob)], checks
        isinstance(blob, HasArea), isinstance(sq, HasArea), isinstance(blob, cabc.Sequence), isinstance(v, cabc.Sequence), issubclass(Blob, cabc.Sequence)
        Half()
        Half.area = lambda self: 0; abc.update_abstractmethods(Half) ;; Half().area(), Half.__abstractmethods__
        sorted(registry), registry is Shape.registry, registry["sq"] is Square, Half.tag, hasattr(Outsider, "tag")
        class Tri(Shape, tag="tri"): area = lambda self: 6 ;; sorted(Shape.registry), Tri().area(), [c.__name__ for c in Shape.__subclasses__()]
        alias == Stack[str], made.__orig_class__ is alias, alias.__args__, IntStack.__orig_bases__, Stack.__parameters__ == (T,), Stack[T].__args__[0] is T
        K.__bound__, T.__name__, HasArea._is_protocol, ints.push(2)._i
        v.append(9); v.reverse(); v += [5] ;; v.a, v.index(9), 2 in v, v[1:3].a, v.pop(), list(reversed(v))
        Blob.looks_like_shape = True ;; isinstance(blob, Shape), issubclass(Blob, Shape)
        class Later: pass ;; isinstance(Later(), Shape), Shape.register(Later) is Later, isinstance(Later(), Shape), issubclass(Later, Shape)
        """,
    ),
    "mixins and the order of methods, with super and class changes in flight": session(
        """
        trail = []
        class Base:
            def __init__(self, **kw): trail.append("Base"); super().__init__()
            def save(self): trail.append("Base.save"); return {"kind": type(self).__name__}
        class Stamp:
            clock = 0
            def __init__(self, **kw): Stamp.clock += 1; self.at = Stamp.clock; super().__init__(**kw)
            def save(self): return {**super().save(), "at": self.at}
        class Track:
            def __init__(self, **kw): self.history = []; super().__init__(**kw)
            def __setattr__(self, k, v):
                if k != "history" and "history" in self.__dict__: self.history.append((k, self.__dict__.get(k)))
                super().__setattr__(k, v)
            def save(self): return {**super().save(), "n": len(self.history)}
        class Locking:
            locked = False
            def __setattr__(self, k, v):
                if self.locked and k != "locked": raise AttributeError(f"{k} is locked")
                super().__setattr__(k, v)
        class Doc(Locking, Track, Stamp, Base):
            title = "untitled"
            def __init__(self, **kw): super().__init__(**kw); self.title = kw.get("title", self.title)
            def save(self): out = super().save(); out["title"] = self.title; return out
            def __getattr__(self, name):
                if name.startswith("get_"): return lambda: getattr(self, name[4:])
                raise AttributeError(name)
        # %%
        d = Doc(title="one"); d.title = "two"; e = Doc(); e.locked = True; bound = d.save; get = d.get_title; parent = super(Doc, d); sup_save = super(Track, d).save
        class Plain: pass
        pl = Plain(); pl.at = 3; pl.title = "was plain"; pl.history = [1]; pl.__class__ = Doc
        Doc.shared = d.history
        """,
        """
        d.save(), trail.count("Base"), Stamp.clock
        e.title = "no" ;; "set"
        e.history, e.locked, e.save()
        bound(), bound.__self__ is d, bound.__func__ is Doc.save
        d.title = "three" ;; get(), d.history, Doc.shared is d.history, d.get_at()
        d.nothing
        sup_save(), sup_save.__self__ is d, parent.save()
        pl.save(), type(pl) is Doc, isinstance(pl, Plain), pl.title
        Doc.mro()[1:4] == [Locking, Track, Stamp], [c.__name__ for c in Doc.__mro__]
        Stamp.save = lambda self: {"patched": True} ;; d.save(), bound(), sup_save()
        Doc(title="x").at, Stamp.clock
        Doc.__bases__ = (Track, Stamp, Base) ;; hasattr(Doc, "locked"), e.__dict__["locked"], e.save()
        """,
    ),
    "operators: matrices, units and lazy expressions": session(
        """
        import operator, functools
        from fractions import Fraction
        class Expr:
            __slots__ = ("op", "args")
            interned = {}
            def __new__(cls, op, *args):
                key = (op, args)
                if key not in cls.interned: self = super().__new__(cls); self.op, self.args = op, args; cls.interned[key] = self
                return cls.interned[key]
            def __add__(self, o): return Expr("+", self, lift(o))
            def __radd__(self, o): return lift(o) + self
            def __mul__(self, o): return Expr("*", self, lift(o))
            __rmul__ = __mul__
            def __pow__(self, n): return functools.reduce(operator.mul, [self] * n)
            def __call__(self, **env):
                if self.op == "c": return self.args[0]
                if self.op == "v": return env[self.args[0]]
                return {"+": operator.add, "*": operator.mul}[self.op](*(a(**env) for a in self.args))
            def __repr__(self): return str(self.args[0]) if self.op in "cv" else f"({self.args[0]!r}{self.op}{self.args[1]!r})"
        def lift(x): return x if isinstance(x, Expr) else Expr("c", x)
        @functools.total_ordering
        class Unit:
            factors = {"m": 1, "km": 1000}
            def __init__(self, v, u): self.v, self.u = Fraction(v), u
            def base(self): return self.v * self.factors[self.u]
            def __eq__(self, o): return self.base() == o.base()
            def __lt__(self, o): return self.base() < o.base()
            def __hash__(self): return hash(self.base())
            def __matmul__(self, u): return Unit(self.base() / self.factors[u], u)
            def __ior__(self, o): self.v += Fraction(o.base(), self.factors[self.u]); return self
            def __bool__(self): return bool(self.v)
            def __format__(self, spec): return f"{float(self.v):{spec}} {self.u}"
            def __index__(self): return int(self.base())
            def __getitem__(self, i): return i
            __iter__ = None
        # %%
        x, y = Expr("v", "x"), Expr("v", "y"); e = (x + 1) * (y + 2) + 3 * x; same = (x + 1) * (y + 2); a = Unit(3, "km"); b = a; dist = {Unit(1000, "m"): "one km"}
        reg = Expr.interned; size = len(reg); z = Unit(0, "m"); dd = {"list": [1]}; add = operator.attrgetter("v"); call = operator.methodcaller("base")
        """,
        """
        e, e(x=2, y=3), (x + 1) is e.args[0].args[0], same is e.args[0], len(Expr.interned) == size
        Expr("v", "x") is x, reg is Expr.interned, reg[("v", ("x",))] is x, len(reg) == size
        x ** 3, (x ** 3)(x=Fraction(1, 2)), len(reg) - size
        a |= Unit(500, "m") ;; b.v, a is b, f"{b:.2f}", a @ "m" == b
        dist[Unit(1, "km")], max(a, Unit(1, "m")) is a, sorted([a, z])[0] is z, a >= z
        bool(z), bool(a), range(10)[Unit(3, "m")], "%d" % a.base()
        Unit.factors["mile"] = Fraction(1609344, 1000) ;; (a @ "mile").v, Unit(1, "mile") > Unit(1, "km")
        iter(a)
        add(a), call(a), hash(a) == hash(Unit(3500, "m")), Unit.__gt__.__name__, Unit.__le__.__qualname__
        Expr("c", 1) is lift(1), e.args[1].args
        """,
    ),
}
