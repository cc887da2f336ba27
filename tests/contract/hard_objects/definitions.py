"""Classes and functions that are defined in unusual ways, changed afterwards, or made by libraries."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "prepare and a namespace of one's own": session(
        """
        class Names(dict):
            def __init__(self): super().__init__(); self.order = []
            def __setitem__(self, k, v):
                if not k.startswith("__"): self.order.append(k)
                super().__setitem__(k, v)
            def __missing__(self, k):
                if k.startswith("auto_"): self[k] = len(self.order); return self[k]
                raise KeyError(k)
        class Ordered(type):
            @classmethod
            def __prepare__(mcs, name, bases, **kw): return Names()
            def __new__(mcs, name, bases, ns, *, tag=None):
                cls = super().__new__(mcs, name, bases, dict(ns)); cls._order = tuple(ns.order); cls._tag = tag; return cls
            def __init__(cls, name, bases, ns, *, tag=None): super().__init__(name, bases, ns)
            def __iter__(cls): return iter(cls._order)
            def __getattr__(cls, name):
                if name.startswith("find_"): return cls._order.index(name[5:])
                raise AttributeError(name)
            def __setattr__(cls, name, value):
                type.__setattr__(cls, name, value)
                log.append((cls.__name__, name))
        log = []
        class Row(metaclass=Ordered, tag="t"):
            b = 1; a = 2
            auto_x; auto_y
            def m(self): return __class__._order
        row = Row(); Row.c = 5
        """,
        """
        list(Row), Row._tag, Row.find_a
        log
        row.m(), Row.auto_x, Row.auto_y
        Row.zzz
        Row.d = 1 ;; log, Row.d
        class Sub(Row, tag=3): z = 1 ;; list(Sub), Sub._tag, type(Sub) is Ordered
        type(row) is Row, row.c
        """,
    ),
    "a class whose bases changed": session(
        """
        class Store:
            kind = "plain"
            def get(self): return "store"
        class Cached(Store):
            def get(self): return "cached " + super().get()
        class Audit:
            def get(self): return "audit " + super().get()
        c = Cached(); seen = [c]
        # %%
        class Mixed(Audit, Store): pass
        Cached.__bases__ = (Mixed,)
        class Legacy:
            def __init__(self): self.v = 3
        class Modern:
            def value(self): return self.v * 10
            @property
            def double(self): return self.v * 2
        old = Legacy(); old.__class__ = Modern; still = Legacy()
        Cached.__name__ = "CachedStore"; Cached.__qualname__ = "pkg.CachedStore"
        Store.get.__doc__ = "gets"; Store.__doc__ = "stores things"
        """,
        """
        c.get(), Cached.__mro__[1] is Mixed, [k.__name__ for k in Cached.__mro__]
        Cached.__name__, Cached.__qualname__, repr(type(c).__name__)
        Audit.__subclasses__() == [Mixed], Store.__subclasses__() == [Mixed], Mixed.__subclasses__() == [Cached]
        old.value(), old.double, type(old) is Modern, isinstance(old, Legacy), type(still) is Legacy
        Store.get.__doc__, Store.__doc__, Cached.__base__ is Mixed
        seen[0] is c, isinstance(c, Audit)
        Store.kind = "new" ;; c.kind, Cached.kind
        old.__class__ = Legacy ;; hasattr(old, "value")
        """,
    ),
    "super and cells of classes": session(
        """
        class A:
            log = []
            def __init__(self, **kw): A.log.append(("A", sorted(kw))); super().__init__()
            def who(self): return ["A"]
            @classmethod
            def make(cls, **kw): return cls(**kw)
            @staticmethod
            def helper(x): return x + 1
        class B(A):
            def __init__(self, *, b=1, **kw): super().__init__(**kw); self.b = b
            def who(self): return ["B"] + super().who()
        class C(A):
            def __init__(self, *, c=2, **kw): super().__init__(**kw); self.c = c
            def who(self): return ["C"] + super().who()
        class D(B, C):
            def who(self): return ["D"] + super().who()
            @classmethod
            def make(cls, **kw): return super().make(b=5, **kw)
            def gen(self): yield from super().who()
            def lam(self): return (lambda: super(D, self).who())()
            @property
            def p(self): return super().who()
        d = D.make(c=7); mk = D.make; who = d.who; sup = super(B, d); hp = A.helper; unb = C.who; raw = D.__dict__["make"]
        def patched(self): return ["patched"] + old(self)
        old = C.who; C.who = patched
        class Outer:
            class Inner:
                class Deep:
                    def path(self): return type(self).__qualname__, __class__ is Outer.Inner.Deep
                reg = []
                def __init__(self): self.reg.append(self); Outer.last = self
            make = classmethod(lambda cls: cls.Inner())
        Outer.inner = Outer.Inner(); deep = Outer.Inner.Deep(); oi = Outer.make()
        def factory(n):
            class Local(A):
                k = n
                def who(self): return [n, *super().who()]
                def bump(self): nonlocal n; n += 1; return n
            return Local
        L1, L2 = factory(1), factory(2); l1 = L1(); l1.bump(); A.attach = lambda self: __class__ if False else type(self)
        """,
        """
        d.who(), d.b, d.c, A.log
        mk().b, mk.__self__ is D, who(), who.__self__ is d
        sup.who(), sup.__thisclass__ is B, sup.__self__ is d
        hp(1), unb(d), raw.__func__ is D.make.__func__, list(d.gen()), d.lam(), d.p
        deep.path(), Outer.last is oi, Outer.Inner.reg[1] is oi, Outer.inner in Outer.Inner.reg
        Outer.make() is Outer.last, len(Outer.Inner.reg)
        l1.who(), l1.bump(), L1.k, L2().who(), L1.__qualname__, isinstance(l1, L2)
        C.who is patched, l1.attach() is L1
        del C.who ;; d.who()
        """,
    ),
    "state machine with enumerations": session(
        """
        import enum, functools, types
        class State(enum.Enum):
            _ignore_ = ["i"]
            IDLE = enum.auto(); RUN = enum.auto(); STOP = IDLE
            def __init__(self, n): self.visits = 0; self.on = {}
            @classmethod
            def _missing_(cls, v):
                if isinstance(v, str): return cls.__members__.get(v.upper())
            @enum.property
            def label(self): return f"{PREFIX}{self.name.lower()}"
            def __call__(self, ev): self.visits += 1; return self.on.get(ev, self)
            @staticmethod
            def parse(s): return State(s)
        PREFIX = "s:"; State.IDLE.on["go"] = State.RUN; State.RUN.on["end"] = State.IDLE; cur = State.IDLE("go")
        class Perm(enum.IntFlag):
            R = 4; W = 2; X = 1; RWX = 7; _secret = 5
        p = Perm.R | Perm.X; unk = Perm(9); neg = ~Perm.R
        class Op(enum.Enum):
            ADD = enum.member(lambda a, b: a + b); MUL = functools.partial(lambda a, b: a * b)
            def __call__(self, *a): return self.value(*a)
        class Verbose(enum.Enum):
            def __new__(cls, code, text): o = object.__new__(cls); o._value_ = code; o.text = text; return o
            A = 1, "one"; B = 2, "two"
            @classmethod
            def by_text(cls, t): return next(m for m in cls if m.text == t)
        class Meta(enum.EnumMeta):
            def __getitem__(cls, name): return super().__getitem__(name.upper())
            def __contains__(cls, x): return x in cls.__members__ or super().__contains__(x) if isinstance(x, cls) else x in cls.__members__
        class Loose(enum.Enum, metaclass=Meta): ONE = 1
        table = {(State.IDLE, Perm.R): "a", Verbose.A: "b"}; Func = enum.Enum("Func", "RED GREEN", start=10, type=int, module="mymod"); order = {m: i for i, m in enumerate(reversed(State))}
        State.EXTRA = "not a member"; setattr(Verbose.A, "note", [State.RUN])
        @enum.unique
        class U(str, enum.Enum): X = "x"; Y = "y"; __str__ = str.__str__
        @enum.global_enum
        class G(enum.IntEnum): G_ONE = 1
        """,
        """
        cur is State.RUN, State.IDLE.visits, State.STOP is State.IDLE, cur("end") is State.IDLE, State.RUN.visits
        State("run") is State.RUN, State.parse("stop"), cur.label, list(State), State(99)
        PREFIX = "q" ;; State.RUN.label
        p, unk, neg, Perm.X in p, p == 5, Perm._secret, type(unk) is Perm, (p & Perm.R) is Perm.R
        Op.ADD(2, 3), Op.MUL.__class__.__name__, list(Op)
        Verbose(2).text, Verbose.by_text("one") is Verbose.A, Verbose.A.note[0] is State.RUN, table[Verbose(1)], table[State.STOP, Perm(4)]
        Loose["one"] is Loose.ONE, "ONE" in Loose, Func.GREEN, Func.GREEN + 1, Func.__module__, type(Func.RED).__mro__[1] is int
        order[State.IDLE], State.EXTRA, len(State), str(U.X), U("y") is U.Y, f"{U.X}", repr(G.G_ONE)
        State.NEW = 1; State.IDLE = 3
        """,
    ),
    "attrs of every kind": session(
        """
        import attr, attrs, typing
        @attrs.define
        class Base:
            id: int
            tags: list[str] = attrs.field(factory=list)
            _secret: str = attrs.field(default="s", repr=False, alias="secret")
            created = []
            def __attrs_post_init__(self): Base.created.append(self.id)
        @attrs.define(kw_only=True)
        class Child(Base):
            size: float = attrs.field(default=1.0, validator=[attrs.validators.instance_of(float), attrs.validators.gt(0)], on_setattr=attrs.setters.validate)
            @size.validator
            def _check(self, attribute, value):
                if value > MAX: raise ValueError(f"{attribute.name} > {MAX}")
            area: float = attrs.field(init=False)
            @area.default
            def _area(self): return self.size ** 2
        MAX = 10.0
        @attrs.frozen(order=True, cache_hash=True)
        class Ver:
            major: int
            minor: int = 0
            label: str = attrs.field(default="", eq=False, metadata={"doc": "free text"})
            @classmethod
            def parse(cls, s): return cls(*map(int, s.split(".")))
        @attr.s(auto_attribs=True, slots=False, these=None)
        class Old:
            x: int = 1
            y: typing.List[int] = attr.Factory(lambda self: [self.x], takes_self=True)
            z = attr.ib(default=5, converter=str) if False else 5
        c = Child(id=1, size=2.0, secret="q"); b = Base(7, tags=["t"]); v = Ver.parse("1.2"); held = {v: [b]}; o = Old(4); o.extra = c; alias = c.tags; Dyn = attrs.make_class("Dyn", {"a": attrs.field(default=3)}, bases=(Base,))
        dyn = Dyn(9)
        """,
        """
        c, c.area, c._secret, Base.created, b
        c.size = -1.0
        MAX = 1.0 ;; Child(id=2, size=5.0)
        c.size = 5.0 ;; c.size
        held[Ver(1, 2, "other")][0] is b, v < Ver(1, 3), hash(v) == hash(Ver(1, 2))
        v.major = 2
        attrs.asdict(c), attrs.evolve(c, size=3.0).area, attrs.fields(Ver).label.metadata["doc"], attrs.has(Dyn)
        o.y, o.extra is c, Old(2).y, alias is c.tags, dyn.a, dyn.id, isinstance(dyn, Base)
        Child.__slots__, hasattr(c, "__dict__"), c.__weakref__
        """,
    ),
    "pydantic of every kind": session(
        """
        import pydantic as pd_, typing, datetime, enum, decimal
        from pydantic import BaseModel, Field, ConfigDict, field_validator, model_validator, PrivateAttr, field_serializer, Discriminator, Tag, TypeAdapter, ValidationError, RootModel, computed_field
        T = typing.TypeVar("T")
        class Color(enum.Enum): RED = "r"; BLUE = "b"
        class Cat(BaseModel):
            kind: typing.Literal["cat"] = "cat"; lives: int = Field(9, gt=0, description="how many")
        class Dog(BaseModel):
            kind: typing.Literal["dog"] = "dog"; name: str
        Pet = typing.Annotated[Cat | Dog, Field(discriminator="kind")]
        class Page(BaseModel, typing.Generic[T]):
            items: list[T]; total: int = 0; _seen: set = PrivateAttr(default_factory=set)
            @model_validator(mode="after")
            def fill(self): counts.append(1); self.total = len(self.items); return self
        counts = []
        class Owner(BaseModel):
            model_config = ConfigDict(validate_assignment=True, populate_by_name=True, arbitrary_types_allowed=True)
            pets: list[Pet]; color: Color = Color.RED; when: datetime.date = Field(default=datetime.date(2024, 1, 1), alias="on"); boss: "Owner | None" = None; any_: typing.Any = None
            @field_validator("pets", mode="before")
            @classmethod
            def not_empty(cls, v):
                if len(v) < MIN: raise ValueError(f"at least {MIN}")
                return v
            @field_serializer("when")
            def ser(self, v): return v.strftime(FORMAT)
            @computed_field
            @property
            def n(self) -> int: return len(self.pets)
        MIN = 1; FORMAT = "%d/%m"
        o = Owner(pets=[{"kind": "dog", "name": "rex"}, Cat()]); boss = Owner(pets=[Cat(lives=1)], boss=o); pg = Page[int](items=[1, "2"]); pg._seen.add(5); PI = Page[int]; o.any_ = o.pets; part = Owner.model_construct(pets=[]); ta = TypeAdapter(dict[Color, Pet]); Tree = RootModel[dict[str, int]]; tr = Tree({"a": 1}); Made = pd_.create_model("Made", a=(int, 3), __base__=Cat); made = Made(); fs = o.model_fields_set
        """,
        """
        o.pets[0], boss.boss is o, o.any_ is o.pets, o.model_fields_set
        MIN = 3 ;; Owner(pets=[Cat()])
        FORMAT = "%Y" ;; o.model_dump(mode="json")["when"], o.n, o.color is Color.RED
        o.color = "b" ;; o.color is Color.BLUE
        o.when = "x"
        pg.total, pg._seen, type(pg) is Page[int], PI is Page[int], len(counts)
        Page[str](items=["a"]).total, len(counts), issubclass(Page[int], Page)
        ta.validate_python({"r": {"kind": "cat"}}), tr.root, made.a, isinstance(made, Cat), Cat.model_fields["lives"].description
        Owner.model_validate({"pets": [{"kind": "cow"}]})
        part.pets, part.model_fields_set, Owner.model_json_schema()["properties"]["on"]["format"], o.model_copy(update={"color": 5}).color
        """,
    ),
    "typing objects": session(
        """
        from __future__ import annotations
        import typing as t, collections.abc as cabc, dataclasses, functools, types
        T = t.TypeVar("T", bound="Base"); K = t.TypeVar("K", int, str, covariant=False); P = t.ParamSpec("P"); Ts = t.TypeVarTuple("Ts")
        UserId = t.NewType("UserId", int)
        class Base: pass
        class Movie(t.TypedDict, total=False):
            title: t.Required[str]; year: int
        class Full(Movie): rating: float
        class HasLen(t.Protocol[T]):
            size: int
            def __len__(self) -> int: ...
        @t.runtime_checkable
        class Closable(t.Protocol):
            def close(self) -> None: ...
        class Stack(t.Generic[T]):
            def __init__(self): self.items: list[T] = []
            def __class_getitem__(cls, p): asked.append(str(p)); return super().__class_getitem__(p)
        asked = []; IntStack = Stack[int]; s = IntStack(); Alias = dict[str, list[T]]; Con = Alias[int]; Un = int | None | str; Op = t.Optional[T]; Cb = t.Callable[P, T]; Ann = t.Annotated[int, {"unit": "m"}, Base]; Lit = t.Literal["a", 1, True]
        @t.overload
        def f(x: int) -> int: ...
        @t.overload
        def f(x: str) -> str: ...
        def f(x): return x
        @t.no_type_check
        def g(x: "nonsense here"): return x
        @t.final
        class Last(Base):
            @t.final
            def m(self): pass
        def typed(a: UserId, b: list[Movie] | None = None, *c: Base) -> t.Self: ...
        class F:
            def close(self): pass
        ga = types.GenericAlias(list, (int,)); fw = t.ForwardRef("Base"); nt = t.NamedTuple("NT", [("a", int)]); td = t.TypedDict("TD", {"a-b": int})
        class Shape(t.Protocol):
            def area(self): return 0
        class Sq(Shape): pass
        """,
        """
        Movie.__required_keys__, Full.__optional_keys__, Full.__annotations__.keys(), t.get_type_hints(Full, include_extras=False)["title"]
        isinstance(F(), Closable), isinstance(3, Closable), Closable._is_protocol, HasLen.__parameters__ == (T,)
        s.__orig_class__ == IntStack, asked, IntStack.__origin__ is Stack, IntStack.__args__
        Con == dict[str, list[int]], Un == (str | int | None), Op[int], Ann.__metadata__[0], Ann.__metadata__[1] is Base, Lit.__args__, Alias.__parameters__[0] is T
        T.__bound__, K.__constraints__, UserId(5), UserId.__supertype__, UserId.__name__, Cb[[int], str]
        t.get_type_hints(typed)["a"] is UserId, typed.__annotations__["b"], len(t.get_overloads(f)), g.__no_type_check__
        Last.__final__, Last.m.__final__, ga, fw.__forward_arg__, nt(1)._fields, td.__annotations__
        Shape()
        Sq().area(), Sq._is_protocol, Sq.__mro__[1] is Shape
        def lazy(x: Undefined) -> None: ... ;; lazy.__annotations__
        """,
    ),
    "functions rebuilt": session(
        """
        import types, functools, inspect
        scale = 2
        def f(x, y=[1]): return x * scale + y[0]
        def g(x, y=[1]): return x - scale
        alias = f; f.__code__ = g.__code__
        space = {"scale": 100, "__name__": "elsewhere", "__builtins__": __builtins__}
        def h(x): return x * scale
        h2 = types.FunctionType(h.__code__, space, "h2", (5,)); h2.tag = "t"
        h3 = types.FunctionType(h.__code__, globals(), h.__name__, h.__defaults__, h.__closure__)
        f.__defaults__ = ([7],); f.__kwdefaults__ = None; f.__name__ = "eff"; f.__qualname__ = "deep.eff"; f.__annotations__ = {"x": int}; f.__doc__ = "doc"
        def outer():
            n = 3
            def inner(a, /, b, *args, c=1, **kw) -> int: return n + a + b + c + len(args) + len(kw)
            return inner
        k = outer(); newcell = types.CellType(50); k2 = types.FunctionType(k.__code__, globals(), "k2", (9,), (newcell,)); k2.__kwdefaults__ = {"c": 2}
        m = types.MethodType(lambda self, n: self * n, 5); slot = functools.partial(m, 3)
        code = compile("a + b", "<formula>", "eval"); src = compile("res = [i for i in range(q)]", "<s>", "exec"); rep = h.__code__.replace(co_consts=h.__code__.co_consts, co_name="renamed")
        sig = inspect.signature(k); ba = sig.bind(1, 2, 3, c=4, z=5);
        """,
        """
        f(10), alias is f, f.__name__, f.__qualname__, f.__doc__, f.__annotations__
        f.__defaults__[0].append(1) ;; alias.__defaults__
        h2(), h2.tag, h2.__globals__ is space, h2.__module__, h2.__name__
        space["scale"] = 1 ;; h2(), h(1)
        scale = 9 ;; h3(1), f(1)
        k(1, 2), k2(1), newcell.cell_contents
        newcell.cell_contents = 1 ;; k2(1)
        slot(), m(2), m.__self__
        eval(code, {"a": 1, "b": 2}), code.co_filename, rep.co_name, rep == h.__code__
        q = 3; exec(src) ;; res
        str(sig), ba.args, ba.kwargs, ba.arguments, ba.signature is sig
        """,
    ),
    "classes made by functions of types": session(
        """
        import types, functools, typing, abc, operator, sys
        class Entries:
            def __init__(self, *bases): self.bases = bases
            def __mro_entries__(self, bases): asked.append(len(bases)); return self.bases
        asked = []
        class A: pass
        class B(Entries(A)): x = 1
        Made = types.new_class("Made", (A,), {}, lambda ns: ns.update(f=lambda self: (self, y))); y = 5; mi = Made()
        class Conf(type):
            def __new__(m, n, b, d, *, size=1, **kw): c = super().__new__(m, n, b, d); c.size = size; return c
            def __init__(c, n, b, d, **kw): super().__init__(n, b, d); inits.append((n, sorted(kw)))
            def __dir__(c): return ["size", "only"]
            def __repr__(c): return f"<class {c.__name__} of {c.size}>"
            def __or__(c, o): return (c, o)
            def __eq__(c, o): return isinstance(o, Conf) and c.size == o.size
            def __hash__(c): return hash(c.size)
            def __contains__(c, x): return x < c.size
            def __lt__(c, o): return c.size < o.size
            def __iter__(c): return iter(range(c.size))
            x = property(lambda c: c.size * 10)
        inits = []
        class S(metaclass=Conf, size=3): pass
        class T(S, size=4): pass
        class U(metaclass=Conf, size=3): pass
        table = {S: "s", T: "t"}; order = sorted([T, S]); s = S(); Both = S | int
        class Dyn:
            @types.DynamicClassAttribute
            def v(self): return "instance"
            def __class_getitem__(cls, k): cls.got = cls.__dict__.get("got", ()) + (k,); return cls
        Dyn[1][2]
        Two = type("Two", (A, Dyn), dict(__slots__=("q",), __doc__="two", __module__="made.up", m=lambda self: __name__)); tw = Two(); tw.q = [tw]; tw.z = 1
        """,
        """
        B.__mro__[1] is A, asked, B.__orig_bases__[0].bases == (A,), B.x
        mi.f()[0] is mi, mi.f()[1], Made.__module__, type(mi) is Made
        y = 6 ;; mi.f()[1]
        S, S.x, list(T), 2 in S, dir(S), S == U, table[U], inits, order[0] is S, Both[0] is S
        class V(S, size=9): pass ;; V.size, inits[-1], table.get(V), s in table
        Dyn().v, Dyn.got, Dyn[3].got
        tw.q[0] is tw, tw.z, Two.__module__, Two.__doc__, Two.__slots__, tw.m(), repr(type(tw))
        isinstance(s, S), type(S) is Conf, S.__class__ is Conf
        """,
    ),
}
