"""What classes of cells do with their objects: making, hashing, comparing, numbering and undoing."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "classes of attrs whose objects are in earlier variables": session(
        """
        import attrs, attr, dataclasses, functools, weakref
        orders, seen, by_key, groups, changes, latest = [], {}, {}, set(), [], None
        # %%
        @attrs.define
        class Order:
            number: int
            lines: list = attrs.field(factory=list, eq=False)
            @functools.cached_property
            def total(self): return sum(self.lines)
        # %%
        @attrs.frozen(cache_hash=True)
        class Key:
            name: str = attrs.field(eq=str.lower)
            order: Order = attrs.field(eq=False, default=None)
            def remember(self): seen[self] = len(seen); groups.add(self); return self
        def track(order, attribute, value):
            changes.append((order, attribute.name, value)); return value
        @attr.s(auto_attribs=True, slots=True, on_setattr=track)
        class Loud:
            name: str
            peer: object = None
        @attrs.define(slots=False, unsafe_hash=True)
        class Wide:
            a: int
            rest: dict = attrs.field(factory=dict, eq=False)
        @dataclasses.dataclass(frozen=True, slots=True)
        class Sealed:
            a: int
            held: list = dataclasses.field(default_factory=list, compare=False)
        # %%
        class Special(Order):
            __slots__ = ("note",)
            def tell(self): orders.append(self); return super().__repr__()
        orders += [Order(1, [2, 3]), Order(2)]; orders[0].total; latest = orders[-1]; orders[1].lines.append(orders[0])
        key = Key("Ab", latest).remember(); by_key[key] = [key]; hash(key)
        loud = Loud("a"); loud.peer = Loud("b", loud); wide = Wide(1); groups.add(wide); wide.rest["me"] = wide
        sealed = Sealed(1); sealed.held.append(sealed); seen[sealed] = 5; special = Special(7); special.note = "n"; said = special.tell()
        refs = weakref.WeakKeyDictionary({wide: 1})
        """,
        """
        orders, latest is orders[1], latest.lines[0] is orders[0], orders[0].total
        seen[key], seen[Key("aB")], key in groups, by_key[Key("AB")][0] is key, key.order is latest, hash(key) == hash(Key("ab"))
        changes[0][0] is loud, [c[1:2] for c in changes], loud.peer.peer is loud
        loud.name = "c" ;; len(changes), changes[-1][1:]
        wide in groups, Wide(1) in groups, wide.rest["me"] is wide, refs[wide]
        seen[sealed], seen[Sealed(1)], sealed.held[0] is sealed
        orders[2] is special, special.note, special.number, said, special.tell(), hasattr(special, "__dict__")
        Key.__init__.__globals__["seen"] is seen, Key.__init__.__globals__ is Key.__eq__.__globals__, list(Key.__init__.__globals__)[:3], "Wide" in Key.__eq__.__globals__
        attrs.evolve(orders[0], number=9), attrs.asdict(wide, recurse=False)["a"], Order(1) == Order(1, [5])
        """,
    ),
    "slots that are inherited": session(
        """
        class Base:
            __slots__ = ("id", "_cache")
            def __init__(self, id): self.id = id
        class Mid(Base):
            __slots__ = {"name": "the name", "extra": "what else"}
            def __init__(self, id, name): super().__init__(id); self.name = name
        class Open(Mid): pass
        class Empty(Mid): __slots__ = ()
        class Guard(Mid):
            __slots__ = ("id",)
            def __setattr__(self, k, v):
                if k == "name" and not isinstance(v, str): raise TypeError("name is text")
                object.__setattr__(self, k, v)
        m = Mid(1, "m"); o = Open(2, "o"); o.free = [m]; e = Empty(3, "e"); e.extra = e; g = Guard(4, "g")
        Base.id.__set__(g, 40)
        del m.name
        descriptor = Base.id; nametag = Mid.name
        class Frozen:
            __slots__ = ("x", "y", "__dict__")
            def __init__(self, x, y): object.__setattr__(self, "x", x); object.__setattr__(self, "y", y)
            def __setattr__(self, *a): raise AttributeError("frozen")
            def __eq__(self, o): return (self.x, self.y) == (o.x, o.y)
            def __hash__(self): return hash((self.x, self.y))
        f = Frozen(1, (2,)); placed = {f: "f", Frozen(2, 3): "other"}
        """,
        """
        m.name
        m.id, hasattr(m, "_cache"), hasattr(m, "__dict__")
        o.free[0] is m, o.name, vars(o)
        e.extra is e, Empty.__slots__, e.zzz
        g.id, Base.id.__get__(g), g.name
        g.name = 5 ;; g.name
        descriptor is Base.id, nametag.__get__(o), Mid.__slots__, __import__("inspect").getdoc(Mid.name)
        placed[Frozen(1, (2,))], f in placed
        f.x = 3 ;; f.x
        """,
    ),
    "descriptors with state": session(
        """
        import weakref, functools
        class Typed:
            made = weakref.WeakSet()
            def __init__(self, kind, default=None): self.kind, self.default = kind, default; self.values = weakref.WeakKeyDictionary(); Typed.made.add(self)
            def __set_name__(self, owner, name): self.name = name; self.owner = owner
            def __get__(self, o, t=None): return self if o is None else self.values.get(o, self.default)
            def __set__(self, o, v):
                if not isinstance(v, self.kind): raise TypeError(f"{self.owner.__name__}.{self.name}: {self.kind.__name__}")
                self.values[o] = v; history.append((self.name, v))
            def __delete__(self, o): del self.values[o]
        history = []
        class Conf:
            port = Typed(int, 80); host = Typed(str, "h")
            limits = {"a": 1}
            def __init__(self, **kw): [setattr(self, k, v) for k, v in kw.items()]
        class lazy:
            def __init__(self, fn): self.fn = fn; functools.update_wrapper(self, fn)
            def __set_name__(self, o, n): self.n = n
            def __get__(self, o, t=None):
                if o is None: return self
                v = o.__dict__[self.n] = self.fn(o); runs.append(self.n); return v
        runs = []
        class Data:
            def __init__(self, n): self.n = n
            @lazy
            def rows(self): "the rows"; return [0] * self.n
            @property
            def size(self): return len(self.rows)
            @size.setter
            def size(self, v): self.n = v; self.__dict__.pop("rows", None)
            @size.deleter
            def size(self): self.n = 0
        class classproperty(property):
            def __get__(self, o, t): return self.fget(t)
        class Cp:
            n = 4
            @classproperty
            def twice(cls): return cls.n * 2
        c = Conf(port=1); c2 = Conf(); dt = Data(3); dt.rows; held = dt.rows; desc = Conf.port; Conf.extra = Typed(list); Conf.extra.__set_name__(Conf, "extra"); c.extra = held
        getter = Data.size.fget; Conf.__getattr__ = lambda self, n: f"no {n}"; Data.late = lazy(lambda self: self.n * 10); Data.late.__set_name__(Data, "late")
        """,
        """
        c.port, c2.port, c.host, desc is Conf.port, desc.values[c], history
        c.port = "x"
        del c.port ;; c.port, len(desc.values)
        dt.rows is held, runs, Data.rows.__doc__, Data.rows.__wrapped__(dt)
        dt.size = 5 ;; dt.size, runs, dt.n
        c.extra is held, c.nothing, len(Typed.made), desc in Typed.made
        Cp.twice, Cp().twice, getter(dt), dt.late, "late" in vars(dt)
        desc.owner is Conf, Conf.host.default
        """,
    ),
    "recursive and shared structures": session(
        """
        import copy, pickle
        l = [1]; l.append(l); d = {"self": None}; d["self"] = d; t = ([],); t[0].append(t); s = frozenset([("a", 1)])
        class N:
            def __init__(self, v): self.v = v; self.edges = {}
            def link(self, o, w): self.edges[o] = w; o.edges[self] = w
            def __eq__(self, o): return isinstance(o, N) and self.v == o.v
            def __hash__(self): return hash(self.v)
            def __repr__(self): return f"N{self.v}"
        a, b, c = N(1), N(2), N(3); a.link(b, 1); b.link(c, 2); c.link(a, 3); g = {a, b, c}
        byid = {id(x): x for x in (a, b, c)}; idset = {id(a)}
        class Sn:
            def __init__(self, v): self.v = v; self.fn = lambda: self
            def __getstate__(self): return {"v": self.v}
            def __setstate__(self, s): self.v = s["v"] * 2; self.fn = None
        sn = Sn(5)
        class Rd:
            def __init__(self, v): self.v = v; self.cache = {}
            def __reduce__(self): return Rd, (self.v,)
        rd = Rd(3); rd.cache["k"] = 1; pair = [rd, rd]
        class Cp:
            def __init__(self): self.x = []; self.copies = 0
            def __deepcopy__(self, memo): self.copies += 1; return self
            def __copy__(self): raise TypeError("no copies")
        cp = Cp(); copied = copy.deepcopy({"a": cp}); big = [0] * 3; grid = [big] * 3; tup = (big, big)
        class Ne:
            def __init__(self, a): self.a = a
            def __getnewargs_ex__(self): return (self.a,), {}
            def __new__(cls, a=None): o = super().__new__(cls); o.made = True; return o
        ne = Ne([1]); deep = cur = []
        for i in range(300): nxt = []; cur.append(nxt); cur = nxt
        """,
        """
        l[1] is l, d["self"] is d, t[0][0] is t, ("a", 1) in s
        a.edges[b], b.edges[a], g, len(g), next(iter(a.edges)) is b
        all(k == id(v) for k, v in byid.items()), byid[id(a)] is a
        id(a) in idset
        sn.v, sn.fn() is sn
        rd.cache, pair[0] is rd
        copy.copy(cp)
        copied["a"] is cp, cp.copies, grid[0] is grid[1] is big, tup[0] is big
        ne.a, ne.made, type(ne).__name__
        n = 0; x = deep\\nwhile x: x = x[0]; n += 1 ;; n
        """,
    ),
    "time zones and dates of one's own": session(
        """
        import datetime as dt, zoneinfo, time, calendar
        class Fixed(dt.tzinfo):
            _made = {}
            def __new__(cls, minutes=0):
                if minutes not in cls._made: cls._made[minutes] = super().__new__(cls); cls._made[minutes].m = minutes
                return cls._made[minutes]
            def utcoffset(self, d): return dt.timedelta(minutes=self.m)
            def dst(self, d): return dt.timedelta(0)
            def tzname(self, d): return f"F{self.m}"
            def __reduce__(self): return Fixed, (self.m,)
        class Shop(dt.tzinfo):
            def __init__(self, base): self.base = base; self.asked = 0
            def utcoffset(self, d): self.asked += 1; return self.base.utcoffset(d)
            def dst(self, d): return None
            def tzname(self, d): return "SHOP"
        ny = zoneinfo.ZoneInfo("America/New_York"); f90 = Fixed(90); shop = Shop(f90)
        t1 = dt.datetime(2024, 11, 3, 1, 30, tzinfo=ny, fold=1); t0 = t1.replace(fold=0); t2 = dt.datetime(2024, 1, 1, tzinfo=f90); t3 = dt.datetime(2024, 1, 1, tzinfo=shop)
        class Day(dt.date):
            def __new__(cls, y, m=None, d=None, *, label=""): o = super().__new__(cls, y, m, d); o.label = label; return o
            def next(self): return self + dt.timedelta(1)
        day = Day(2024, 2, 28, label="leap"); iso = t1.isocalendar(); st = time.gmtime(0); cal = calendar.TextCalendar(firstweekday=6); dlt = dt.timedelta(days=-1, microseconds=1)
        calendar.setfirstweekday(6); class_day = type(day); keyed = {day: 1, t1: 2}
        class Period:
            def __init__(self, a, b): self.a, self.b = a, b
            def __contains__(self, d): return self.a <= d < self.b
            def __iter__(self):
                d = self.a
                while d < self.b: yield d; d += dt.timedelta(1)
        per = Period(day, Day(2024, 3, 2))
        """,
        """
        t1.utcoffset(), t0.utcoffset(), t1.tzinfo is t0.tzinfo is ny, t1.fold, zoneinfo.ZoneInfo("America/New_York") is ny
        Fixed(90) is f90, t2.tzinfo is f90, Fixed._made.keys()
        t3.utcoffset(), shop.asked >= 1, t3.tzinfo.base is f90, t3.tzinfo is shop
        day.label, day.next(), type(day.next()) is Day, keyed[Day(2024, 2, 28)], keyed[t1]
        iso.week, iso.year, st.tm_year, st.tm_zone, dlt
        calendar.firstweekday(), cal.firstweekday, cal.formatmonth(2024, 2).splitlines()[1]
        calendar.weekheader(2)
        [d.isoformat() for d in per], dt.date(2024, 3, 1) in per
        """,
    ),
    "random numbers of one's own": session(
        """
        import random, secrets, uuid, statistics
        rng = random.Random(42); rng.random(); rng.gauss(0, 1); alias = [rng]
        class Dice(random.Random):
            def __init__(self, sides, seed): self.sides = sides; self.rolls = []; super().__init__(seed)
            def roll(self): v = self.randint(1, self.sides); self.rolls.append(v); return v
        d = Dice(6, 3); d.roll()
        class Lcg(random.Random):
            def seed(self, a=None, version=2): self.state = int(a or 0)
            def random(self): self.state = (self.state * 1103515245 + 12345) % 2**31; return self.state / 2**31
            def getrandbits(self, k): return int(self.random() * 2**k)
            def getstate(self): return self.state
            def setstate(self, s): self.state = s
        lcg = Lcg(5); lcg.random(); random.seed(9); random.random(); choice = rng.choice; shuffle = random.shuffle
        sysr = secrets.SystemRandom(); nd = statistics.NormalDist(1, 2); u = uuid.UUID(int=5); random.gauss(0, 1)
        class Shuffled:
            def __init__(self, items, rng): self.items, self.rng = items, rng
            def __next__(self): return self.rng.choice(self.items)
            def __iter__(self): return self
        sh = Shuffled([1, 2, 3, 4], d)
        """,
        """
        rng.random(), rng.gauss(0, 1), alias[0] is rng
        d.roll(), d.rolls, d.sides
        lcg.random(), lcg.randint(1, 100), lcg.state
        random.random(), random.gauss(0, 1)
        choice.__self__ is rng, choice([1, 2, 3, 4, 5])
        l = [1, 2, 3, 4]; shuffle(l) ;; l
        next(sh), sh.rng is d, len(d.rolls)
        nd.samples(2, seed=1), u, type(sysr).__name__
        shuffle.__self__ is random._inst, random.getstate()[1][-1]
        """,
    ),
    "undo with snapshots of objects": session(
        """
        import copy, weakref, collections, types
        class Tracked:
            _live = weakref.WeakValueDictionary(); _n = 0
            def __init__(self, **kw): object.__setattr__(self, "_hist", collections.deque(maxlen=5)); Tracked._n += 1; object.__setattr__(self, "uid", Tracked._n); Tracked._live[self.uid] = self; [setattr(self, k, v) for k, v in kw.items()]
            def __setattr__(self, k, v): self._hist.append((k, getattr(self, k, Tracked))); object.__setattr__(self, k, v); [w(self, k) for w in watchers]
            def __delattr__(self, k): self._hist.append((k, self.__dict__[k])); object.__delattr__(self, k)
            def undo(self): k, v = self._hist.pop(); object.__delattr__(self, k) if v is Tracked else object.__setattr__(self, k, v)
            def __copy__(self): new = type(self)(); new.__dict__.update({k: v for k, v in self.__dict__.items() if k not in ("uid", "_hist")}); return new
            def __dir__(self): return sorted(k for k in self.__dict__ if not k.startswith("_"))
            def __eq__(self, o): return self.uid == o.uid
            def __hash__(self): return self.uid
        watchers = []; changed = []; t = Tracked(a=1); t.a = 2; t.b = [t]; u = copy.copy(t); watchers.append(lambda o, k: changed.append((o.uid, k))); u.c = 3; del t.a
        d = {t: "t", u: "u"}; t.undo()
        class Shared:
            __shared = {"n": 0}
            def __init__(self): self.__dict__ = self._Shared__shared
            def bump(self): self.n += 1; return self.n
        s1, s2 = Shared(), Shared(); s1.bump(); s1.tag = "x"
        ns = types.SimpleNamespace(t=t); ns.me = ns; view = vars(ns); attrs = t.__dict__; proxy = types.MappingProxyType(vars(s1))
        """,
        """
        t.a, t.b[0] is t, dir(t), t.uid, u.uid, Tracked._n
        t.undo() ;; dir(t), [k for k, _ in t._hist], t._hist.maxlen
        u.d = 1 ;; changed
        Tracked._live[1] is t, Tracked._live[2] is u, len(Tracked._live), d[u], d[t]
        s1.bump(), s2.n, s2.tag, s1.__dict__ is s2.__dict__
        Shared().n, s1.__dict__ is Shared._Shared__shared
        view["z"] = 1 ;; ns.z, view is vars(ns), ns.me is ns
        attrs["q"] = 9 ;; t.q, attrs is t.__dict__
        s2.late = 5 ;; proxy["late"], s1.late
        """,
        known="""
        view["z"] = 1 ;; ns.z, view is vars(ns), ns.me is ns
        """,
    ),
    "numbers and formats": session(
        """
        import decimal, fractions, numbers, math, cmath, statistics, struct, string, operator, sys
        class Money(decimal.Decimal):
            def __new__(cls, v, cur="EUR"): self = super().__new__(cls, v); self.cur = cur; made.append(cur); return self
            def __mul__(self, o): return Money(super().__mul__(o), self.cur)
            def __reduce__(self): return Money, (str(self), self.cur)
            def __format__(self, spec): return f"{self.cur} {decimal.Decimal(self):{spec or '.2f'}}"
        made = []; m = Money("3.5", "USD"); n = m * 2
        class Mod(int):
            mod = 7
            def __new__(cls, v): return super().__new__(cls, v % cls.mod)
            def __add__(self, o): return type(self)(int(self) + o)
            def __index__(self): return int(self)
            def __eq__(self, o): return int(self) == int(o) % self.mod
            def __hash__(self): return hash(int(self))
        a = Mod(10); Mod11 = type("Mod11", (Mod,), {"mod": 11}); b = Mod11(25); table = {a: "three", b: "b"}
        class Temp(float):
            __slots__ = ("unit",)
            def __new__(cls, v, unit="C"): self = super().__new__(cls, v); self.unit = unit; return self
            def __repr__(self): return f"{float(self):g}{self.unit}"
        t = Temp(21.5, "F"); class_temps = [t, t]
        class Vec(tuple):
            def __new__(cls, *xs): return super().__new__(cls, xs)
            def __add__(self, o): return Vec(*map(operator.add, self, o))
            def __getattr__(self, n): return self["xyz".index(n)]
        v = Vec(1, 2, 3); v.label = "v"
        class Text(str):
            def __new__(cls, s, *, lang): self = super().__new__(cls, s); self.lang = lang; return self
            def __hash__(self): return hash((str(self), self.lang))
            def __eq__(self, o): return str(self) == str(o) and self.lang == getattr(o, "lang", None)
        tx = Text("hi", lang="en"); words = {tx: 1}; big = 10 ** 400; neg0 = -0.0; inf = float("inf"); sub = 5e-324; c = complex(-0.0, inf); ctx = decimal.localcontext(); fr = fractions.Fraction(1, 3)
        with decimal.localcontext() as lc: lc.prec = 3; short = decimal.Decimal(1) / 3
        """,
        """
        f"{m}", f"{n:.1f}", made, n.cur, m * 1, len(made)
        a + 5, a == 10, b, table[Mod(3)], table[b], a.__index__(), [0, 1, 2, 3][a]
        t, t.unit, class_temps[0] is t, t + 1, t.zz
        v.x, v + v, v.label, v.z, v == (1, 2, 3)
        words[tx], words.get("hi"), tx.lang, tx.upper(), Text("hi", lang="en") in words
        big == 10 ** 400, math.copysign(1, neg0), inf, sub, c, math.copysign(1, c.real), short, fr
        decimal.getcontext().prec, ctx
        v.q
        """,
        named="ctx",
    ),
    "copies, comparisons and equality that lies": session(
        """
        import copy, math, enum, functools, operator, collections
        class Always:
            def __eq__(self, o): return True
            def __hash__(self): return 1
        class Never:
            def __eq__(self, o): return False
            def __hash__(self): return 2
        class Loud:
            def __eq__(self, o): raise RuntimeError("compared")
            def __hash__(self): raise TypeError("no hash")
            def __bool__(self): raise ValueError("no truth")
            def __len__(self): raise ValueError("no length")
            def __repr__(self): raise ValueError("no repr")
            def __getattribute__(self, n):
                if n in ("v", "__class__", "__dict__", "__reduce_ex__"): return object.__getattribute__(self, n)
                raise AttributeError("hidden " + n)
        al, nv, ld = Always(), Never(), Loud(); ld.v = 3; box = [al, nv, ld]; nd = {nv: "n"}; boxed = {"l": ld, "a": (al, ld)}
        class Arr:
            def __init__(self, *v): self.v = list(v)
            def __eq__(self, o): return Arr(*[a == b for a, b in zip(self.v, o.v)])
            def __bool__(self): raise ValueError("ambiguous")
            def __iter__(self): return iter(self.v)
            __hash__ = None
        ar = Arr(1, 2); pair = (ar, ar); deep = copy.deepcopy([ar, ar])
        class Sneaky:
            def __getattr__(self, n):
                if n.startswith("__"): raise AttributeError(n)
                self.asked = self.__dict__.get("asked", 0) + 1; return n * 2
            def __call__(self, *a, **k): return (a, k)
        sn = Sneaky(); sn.foo; sn.bar
        class Changing:
            n = 0
            def __hash__(self): return self.k
            def __eq__(self, o): return self is o
            def __init__(self, k): self.k = k
        ch = Changing(1); place = {ch: "was 1"}; ch.k = 2; lost = {1: "one", 1.0: "float", True: "true"}; mixed = {(1,): "t", frozenset(): "f", None: "none", ...: "e"}
        class Cls:
            __class__ = int
            def __init__(self): self.q = [1]
        fake = Cls(); slot = operator.attrgetter("q"); key = functools.cmp_to_key(lambda a, b: b - a); ks = [key(1), key(3)]
        """,
        """
        al == 5, al != 5, nv == nv, nd[nv], box[0] is al, box[2] is ld
        ld.v, ld.zz
        bool(ld)
        boxed["a"][1] is ld, boxed["l"] is box[2], repr(ld)
        list(ar == Arr(1, 3)), pair[0] is pair[1], deep[0] is deep[1], deep[0].v
        sn.asked, sn.baz, sn.asked, sn(1, k=2)
        place.get(ch), list(place)[0] is ch, len(place)
        ch.k = 1 ;; place[ch]
        lost, mixed[()] if () in mixed else mixed[frozenset()], mixed[...]
        fake.__class__, isinstance(fake, int), type(fake) is Cls, slot(fake), ks[0] < ks[1], sorted([1, 3, 2], key=key)
        """,
        named="key ks",
        known="""
        place.get(ch), list(place)[0] is ch, len(place)
        ch.k = 1 ;; place[ch]
        """,
    ),
    "trees that refer up and down": session(
        """
        import weakref, collections, functools, bisect, heapq, itertools, types
        class Tree:
            def __init__(self, name, *kids): self.name = name; self.up = None; self.kids = []; [self.add(k) for k in kids]
            def add(self, k): k.up = weakref.proxy(self); self.kids.append(k); return k
            def __iter__(self): yield self; yield from itertools.chain.from_iterable(self.kids)
            def __getitem__(self, path): return functools.reduce(lambda n, p: next(k for k in n.kids if k.name == p), path.split("/"), self)
            def __eq__(self, o): return self is o or (isinstance(o, Tree) and self.path == o.path)
            def __hash__(self): return hash(self.path)
            def __lt__(self, o): return self.path < o.path
            @property
            def path(self): return (self.up.path if self.up is not None else ()) + (self.name,)
            def __contains__(self, n): return n in self.kids
        t = Tree("r", Tree("a", Tree("b")), Tree("c")); marks = {t["a/b"]: 1, t["c"]: 2}; order = sorted(t); heap = [(3, t["c"]), (1, t)]; heapq.heapify(heap)
        class LinkedList:
            class Cell:
                __slots__ = "v", "next"
                def __init__(self, v, next=None): self.v, self.next = v, next
            def __init__(self, it=()): self.head = None; self.n = 0; [self.push(x) for x in it]
            def push(self, x): self.head = self.Cell(x, self.head); self.n += 1
            def __iter__(self):
                c = self.head
                while c: yield c.v; c = c.next
        ll = LinkedList(range(2000)); walk = iter(ll)
        class Graph(collections.defaultdict):
            def __init__(self): super().__init__(set)
            def edge(self, a, b): self[a].add(b); self[b].add(a); return self
        class V:
            def __init__(self, k): self.k = k; self.g = None
            def __hash__(self): return hash(self.k)
            def __eq__(self, o): return self.k == o.k
            def __repr__(self): return f"V{self.k}"
        g = Graph(); vs = [V(i) for i in range(3)]; g.edge(vs[0], vs[1]).edge(vs[1], vs[2]); vs[0].g = g; g.meta = {vs[2]: g}
        class Edge:
            def __init__(self, a, b): self.a, self.b = a, b; a.edges.add(self); b.edges.add(self)
            def __hash__(self): return hash((self.a.k, self.b.k))
            def __eq__(self, o): return (self.a, self.b) == (o.a, o.b)
        class W(V):
            def __init__(self, k): super().__init__(k); self.edges = set()
        w1, w2 = W("p"), W("q"); e = Edge(w1, w2)
        """,
        """
        t["a/b"].path, t["a/b"].up.name, marks[t["a/b"]], marks[t["c"]], [n.name for n in order]
        t["a"].add(Tree("z")).path, t["a/z"].up == t["a"], heap[0][1] is t
        heapq.heappop(heap)[1] is t, t["c"] in t, isinstance(t["a"].up, Tree)
        ll.n, list(ll)[:3], ll.head.next.v, sum(1 for _ in ll)
        g[vs[1]], g[V(0)], vs[0].g is g, g.meta[V(2)] is g, g.default_factory, len(g)
        g["new"] ;; len(g)
        e in w1.edges, w1.edges == w2.edges, next(iter(w1.edges)) is e, e.a is w1
        next(iter(w2.edges)).b is w2
        """,
        named="walk",
    ),
    "identities as numbers": session(
        """
        class N:
            def __init__(self, v): self.v = v; self.owner = id(owner); self.near = []
        owner = ["o"]; a, b = N(1), N(2); labels = {id(a): "a", id(b): "b"}; seen = {id(a), id(owner)}; pairs = {(id(a), id(b)): "ab"}; known = [id(b)]; plain = id(a); a.near.append(id(b)); alive = {id(x): x for x in (a, b)}; times = {1732600000000: "t"}; copied = {"a": (id(a), "n")}
        import weakref
        class Cache:
            def __init__(self): self.by = {}
            def of(self, o): return self.by.setdefault(id(o), len(self.by))
        cache = Cache(); cache.of(a); cache.of(b)
        """,
        """
        labels[id(a)], labels[id(b)], list(labels.values())
        id(a) in seen, id(owner) in seen, len(seen), pairs[id(a), id(b)], known == [id(b)]
        plain == id(a), a.owner == id(owner), a.near[0] == id(b)
        alive[id(b)] is b, copied["a"][0] == id(a)
        cache.of(b), cache.of(a), len(cache.by)
        times
        """,
    ),
    "attributes of objects of libraries that something else holds": session(
        """
        import argparse, collections, optparse, cmd, fractions
        class Own: pass
        class Slotted: __slots__ = ("a", "__dict__")
        own, slotted = Own(), Slotted(); own.x = 1; slotted.a = 1; slotted.b = 2
        parser = argparse.ArgumentParser(); parser.add_argument("--n", type=int, default=3); args = parser.parse_args(["--n", "7"])
        old = optparse.OptionParser(); old.add_option("--n"); options, _rest = old.parse_args(["--n", "5"])
        config = vars(args); more = vars(parser.parse_args([])); shell = cmd.Cmd(); shell.seen = []; of_shell = shell.__dict__
        layers = collections.ChainMap(config, vars(own), vars(slotted), vars(options))
        """,
        """
        vars(args) is config is layers.maps[0], vars(own) is layers.maps[1], vars(options) is layers.maps[3], vars(shell) is of_shell
        config["n"] = 42; layers["y"] = 5 ;; args.n, args.y, more, args
        own.x = 9; slotted.b = 8; options.m = 3; shell.seen.append(1); shell.late = 2 ;; layers["x"], layers["b"], layers["m"], of_shell["late"]
        """,
    ),
}
