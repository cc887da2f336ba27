"""What programs of an analysis are made of: plug-ins, caches, events, schemas, pipelines, and what they share."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "values of libraries with attributes": session(
        """
        import pandas as pd, numpy as np, pathlib, datetime as dt, zoneinfo, enum, re, collections, fractions, random, threading, logging
        class Stamp(pd.Timestamp): pass
        class F64(np.float64): pass
        class Arr(np.ndarray):
            def __array_finalize__(self, o): self.unit = getattr(o, "unit", None)
        class Zone(dt.tzinfo):
            def __init__(self, h=1): self.h = h
            def utcoffset(self, d): return dt.timedelta(hours=self.h)
            def dst(self, d): return None
            def tzname(self, d): return f"Z{self.h}"
        class Rand(random.Random):
            def twice(self): return self.random() * 2
        class Log(logging.LoggerAdapter): pass
        class Local(threading.local): x = 1
        f = F64(1.5); f.unit = "m"; z = Zone(3); at = dt.datetime(2024, 1, 1, tzinfo=z); rnd = Rand(4); rnd.tag = "r"; rnd.random(); adapter = Log(logging.getLogger("q"), {"a": [1]}); arr = np.arange(4.0).view(Arr); arr.unit = "kg"; part = arr[1:]; ob = np.array([f, None], dtype=object); loc = Local(); loc.x = 5
        class Frame(pd.DataFrame):
            _metadata = ["title"]
            @property
            def _constructor(self): return Frame
            @property
            def _constructor_sliced(self): return Col
        class Col(pd.Series):
            _metadata = ["unit"]
            @property
            def _constructor(self): return Col
        fr = Frame({"a": [1, 2]}); fr.title = "T"; fr.attrs["k"] = 1; col = fr["a"]; col.unit = "s"
        class Idx(pd.Index): pass
        p = pathlib.Path("x/y.txt"); pp = [p, p]; pure = pathlib.PureWindowsPath("C:/a"); mres = re.compile("a(?i:b)"); frac = fractions.Fraction(1, 3)
        """,
        """
        f.unit, type(f).__name__, f + 1, ob[0] is f
        at.tzinfo is z, at.tzname(), z.h
        rnd.twice(), rnd.tag, type(rnd).__name__
        adapter.logger is logging.getLogger("q"), adapter.extra
        arr.unit, part.unit, np.shares_memory(arr, part), type(part).__name__
        fr.title, type(fr).__name__, type(fr["a"]).__name__, fr.attrs, col.unit, type(col).__name__
        loc.x
        pp[0] is p, pure, mres.search("aB") is not None
        """,
        named="loc",
    ),
    "functions that carry things": session(
        """
        import functools, inspect, types, operator, contextlib, time
        def deco(fn):
            @functools.wraps(fn)
            def inner(*a, **k): inner.calls += 1; return fn(*a, **k)
            inner.calls = 0; inner.orig = fn
            return inner
        @deco
        def add(a, b=[]): b.append(a); return len(b)
        add(1)
        @functools.lru_cache(maxsize=3)
        def sq(x): hits.append(x); return x * x
        hits = []; sq(2)
        @functools.singledispatch
        def show(v): return "any"
        @show.register(int)
        def _(v): return "int"
        class Late: pass
        show.register(Late, lambda v: "late"); late = Late()
        @contextlib.contextmanager
        def timed(): seen.append("in"); yield seen; seen.append("out")
        seen = []; ctx = timed
        def count():
            n = 0
            def up():
                nonlocal n; n += 1; return n
            def get(): return n
            return up, get
        up, get = count(); up()
        class C:
            def __init__(self): self.f = types.MethodType(lambda self, x: (x, self), self)
            @functools.cached_property
            def prop(self): return object()
            @functools.partialmethod
            def nothing(self): pass
            half = functools.partialmethod(lambda self, k, x: k * x, 3)
            @staticmethod
            def st(x): return x + off
            @classmethod
            def cm(cls): return cls
            def __call__(self): return self.f(1)[1] is self
            def __class_getitem__(cls, k): return (cls.__name__, k)
            async def co(self): return 1
            def gen(self): yield self
        off = 1; c = C(); held = c.prop; m1, m2 = c.half, C.st; sig = inspect.signature(add); code = add.orig.__code__; defaults = add.orig.__defaults__[0]; partial = functools.partial(add, b=defaults); comp = functools.reduce(lambda f, g: lambda x: g(f(x)), [lambda x: x + off, lambda x: x * 2]); attrget = operator.attrgetter("orig"); kwo = lambda *, q=off: q
        """,
        """
        add(2), add.calls, add.orig.__defaults__[0] is defaults, partial(5), len(defaults), add.__wrapped__ is add.orig
        sq(2), sq(3), sq.cache_info().maxsize
        show(1), show("x"), show(late), show.dispatch(Late)(1), Late in show.registry
        with timed() as s: pass ;; seen, s is seen, ctx is timed
        up(), get()
        c.prop is held, m1(4), c(), C[int], C.cm() is C, c.f.__self__ is c, next(c.gen()) is c
        off = 10 ;; m2(1), comp(1), kwo(), C.st(0)
        str(sig), code is add.orig.__code__, attrget(add) is add.orig
        """,
    ),
    "classes that know each other": session(
        """
        import abc, weakref, typing, types, sys
        class Meta(type):
            reg = {}
            def __new__(m, n, b, d, **k): c = super().__new__(m, n, b, d); m.reg[n] = c; c.opts = k; return c
            def __init__(c, n, b, d, **k): super().__init__(n, b, d)
            def __call__(c, *a): o = super().__call__(*a); c.__dict__.get("made", []).append(o); return o
            def __len__(c): return len(c.made)
            @property
            def title(c): return c.__name__.title()
            def __contains__(c, x): return x in c.made
        class Base(metaclass=Meta, flag=1):
            made = []
            def __init_subclass__(cls, /, tag=None, **k): super().__init_subclass__(); cls.tag = tag; Base.subs.append(weakref.ref(cls))
            subs = []
        class A(Base, flag=2): made = []
        a = A(); b = Base()
        class Plug(abc.ABC):
            @classmethod
            def __subclasshook__(cls, c): return hasattr(c, "plug") or NotImplemented
        class P:
            def plug(self): pass
        class D:
            def __set_name__(self, o, n): self.n = n; D.log.append(n)
            def __get__(self, o, t=None): return self if o is None else o.__dict__.get(self.n, "none")
            def __set__(self, o, v): o.__dict__[self.n] = v
            log = []
        class User: x = D(); y = D()
        u = User(); u.x = 5; desc = User.__dict__["x"]; later = D(); later.__set_name__(User, "z"); User.z = later
        def build():
            class Local:
                def me(self): return __class__
                def sup(self): return super().__repr__()[:5]
            return Local
        L1, L2 = build(), build(); l1 = L1(); Dyn = type("Dyn", (A,), {"k": a}); dyn = types.new_class("N", (), {}, lambda ns: ns.update(v=u))
        class Node:
            __slots__ = ("next", "val", "__weakref__")
        n1, n2 = Node(), Node(); n1.next, n2.next = n2, n1; n1.val = [n1]; wr = weakref.ref(n2); prox = weakref.proxy(n1)
        class Single:
            _one = None
            def __new__(cls): cls._one = cls._one or super().__new__(cls); return cls._one
        s1 = Single(); s1.v = [1]
        class Inner:
            class Deep: v = 1
            deep = Deep()
        class Old: gen = 1
        old = Old(); OldKind = Old
        class Old: gen = 2
        new = Old()
        """,
        """
        Meta.reg["A"] is A, A.opts, len(A), a in A, A.title, len(Base), Base.subs[0]() is A, A.tag, type(A) is Meta, len(Meta.reg)
        A() ;; len(A), len(Base)
        isinstance(P(), Plug), isinstance(u, Plug)
        u.x, u.y, User.x is desc, D.log, User.z.n, vars(u)
        l1.me() is L1, isinstance(l1, L2), l1.sup(), L1.__qualname__, Dyn.k is a, dyn.v is u, Dyn.__mro__[1] is A
        n1.next.next is n1, n1.val[0] is n1, wr() is n2, prox.val[0] is n1, type(prox) is weakref.ProxyType
        prox.val.pop() ;; n1.val
        Single() is s1, Single().v
        type(Inner.deep) is Inner.Deep, Inner.Deep.__qualname__
        old.gen, new.gen, type(old) is OldKind, isinstance(new, OldKind)
        sorted(k.__name__ for k in Base.__subclasses__())
        """,
    ),
    "registers of libraries": session(
        """
        import pandas as pd, numpy as np, matplotlib, json, yaml, copyreg, codecs, functools, atexit, abc, builtins, collections.abc, mimetypes, sqlite3, locale, logging, string, pickle, struct, email.charset, http.client, urllib.parse, gettext, weakref, encodings, sys, warnings, io, zipfile, shutil
        import matplotlib.units, matplotlib.scale, matplotlib.projections
        class Money:
            def __init__(self, v): self.v = v
            def __eq__(self, o): return isinstance(o, Money) and o.v == self.v
            def __hash__(self): return hash(self.v)
        yaml.add_representer(Money, lambda d, m: d.represent_scalar("!money", str(m.v))); yaml.add_constructor("!money", lambda l, n: Money(int(n.value)))
        sqlite3.register_adapter(Money, lambda m: m.v); sqlite3.register_converter("money", lambda b: Money(int(b)))
        con = sqlite3.connect(":memory:", detect_types=sqlite3.PARSE_DECLTYPES); con.execute("create table t (m money)"); con.execute("insert into t values (?)", (Money(3),)); con.commit(); both = sqlite3.connect("d.db", detect_types=sqlite3.PARSE_COLNAMES); none = sqlite3.connect(":memory:"); none.execute("create table t (m money)"); none.execute("insert into t values (3)"); none.commit()
        shutil.register_archive_format("own", lambda base, d, **k: base + ".own", description="d")
        urllib.parse.uses_netloc.append("own"); matplotlib.colormaps.register(matplotlib.colors.ListedColormap(["red"], name="ours"))
        class Conv(matplotlib.units.ConversionInterface):
            @staticmethod
            def convert(v, unit, axis): return v.v
        matplotlib.units.registry[Money] = Conv()
        pd.api.extensions.register_series_accessor("dbl")(type("Dbl", (), {"__init__": lambda self, o: setattr(self, "o", o), "up": lambda self: self.o * 2}))
        s = pd.Series([1]); pd.set_option("display.precision", 3); json._own = 5; sys.modules["fake"] = type(sys)("fake"); sys.modules["fake"].v = [1]; import fake
        matplotlib.rcParams["lines.linewidth"] = 7; warnings.showwarning = lambda *a, **k: heard.append(str(a[0])); heard = []; sys.excepthook = lambda *a: None; sys.displayhook_ = 1
        """,
        """
        yaml.dump(Money(1))
        yaml.load("!money 4", yaml.FullLoader).v
        con.execute("select m from t").fetchone()[0] == Money(3)
        con.execute("insert into t values (?)", (Money(4),)) ;; con.execute("select m from t").fetchall()[-1][0].v
        both.execute("select 5 as 'm [money]'").fetchone()[0].v, none.execute("select m from t").fetchone()
        [x for x, _ in shutil.get_archive_formats() if x == "own"]
        matplotlib.colormaps["ours"](0)
        type(matplotlib.units.registry.get(Money)).__name__
        s.dbl.up().tolist(), pd.get_option("display.precision"), json._own, fake.v, sys.modules["fake"] is fake
        matplotlib.rcParams["lines.linewidth"]
        warnings.warn("hey") ;; heard
        """,
    ),
    "pydantic, attrs, jinja and others": session(
        """
        import pydantic, attr, attrs, jinja2, yaml, regex, joblib, PIL.Image, lxml.etree as le, sortedcontainers as sc, rich.table, dateutil.rrule as rr, dateutil.tz, dateutil.relativedelta as rd, openpyxl, patsy, scipy.sparse as sp, scipy.signal as sig, scipy.stats as ss, numpy as np, pandas as pd, datetime as dt
        class M(pydantic.BaseModel):
            model_config = pydantic.ConfigDict(extra="allow", frozen=False)
            a: int = 1
            b: list["M"] = []
            _p: int = pydantic.PrivateAttr(default=3)
            @pydantic.field_validator("a")
            @classmethod
            def pos(cls, v): assert v > low; return v
            @pydantic.computed_field
            @property
            def dbl(self) -> int: return self.a * 2
        low = 0; m = M(a=5, z=9); m._p = 8; m2 = M(b=[m]); ta = pydantic.TypeAdapter(list[M])
        @attrs.define(slots=True, hash=False)
        class At:
            x: int = attrs.field(converter=int, validator=attrs.validators.gt(0))
            y: list = attrs.Factory(list)
        at = At("3"); at.y.append(at)
        @attrs.frozen
        class Fz: k: str = "k"
        fz = Fz("q")
        env = jinja2.Environment(); env.filters["dbl"] = lambda v: v * fac; env.globals["g"] = [1]; fac = 2; tpl = env.from_string("{{ x|dbl }}{{ g }}")
        img = PIL.Image.new("RGB", (2, 2), "red"); img.info["k"] = 1; crop = img.crop((0, 0, 1, 1))
        sd = sc.SortedDict({"b": 1, "a": 2}); skl = sc.SortedKeyList([3, 1], key=lambda v: -v * fac); keys = sd.keys()
        rule = rr.rrule(rr.DAILY, count=3, dtstart=dt.datetime(2024, 1, 1)); tz = dateutil.tz.gettz("Europe/Paris"); at_tz = dt.datetime(2024, 7, 1, tzinfo=tz); rel = rd.relativedelta(months=1, weekday=rd.MO(2)); rx = regex.compile(r"(?P<a>\\p{L}+)"); rxm = rx.search("éa1")
        mem = joblib.Memory("cache", verbose=0); tab = rich.table.Table("a"); tab.add_row("1"); dm = patsy.dmatrix("x", {"x": [1, 2]}); bsr = sp.block_diag([np.eye(2)], format="bsr"); butter = sig.butter(2, 0.5, output="sos"); rv = ss.rv_discrete(values=([1, 2], [0.5, 0.5])); rv.random_state = 3
        class Own(ss.rv_continuous):
            def _pdf(self, x): return np.where((x > 0) & (x < 1), 1.0, 0.0)
        own = Own(a=0, b=1, name="own"); lti = sig.lti([1], [1, 1]); root = le.fromstring("<a><b/></a>"); el = root[0]
        wb = openpyxl.Workbook(); ws = wb.active; ws["A1"].font = openpyxl.styles.Font(bold=True); ws.merge_cells("B1:C1"); cell = ws["A1"]
        """,
        """
        m.a, m.z, m._p, m2.b[0] is m, m.dbl, ta.validate_python([{"a": 2}])[0].a, m.model_dump(), M.model_fields["a"].default, m == M(a=5, z=9)
        low = 10 ;; M(a=5)
        at.x, at.y[0] is at, attrs.fields(At).x.type, fz, attrs.evolve(fz, k="z"), hash(fz) == hash(Fz("q"))
        At(-1)
        fac = 3 ;; tpl.render(x=2), env.globals["g"], tpl.environment is env
        img.getpixel((0, 0)), img.info, crop.size, crop.mode
        list(sd), list(keys), list(skl), sd.peekitem(0)
        sd["0"] = 1 ;; keys[0]
        list(rule)[2], at_tz.utcoffset(), at_tz.tzinfo is tz, dt.datetime(2024, 1, 31) + rel, rx.search("éa1").group("a")
        rxm.group()
        mem.location, tab.row_count, bsr.format, butter.shape, rv.rvs(size=2).tolist(), lti.poles.tolist(), own.cdf(0.5)
        el.getparent() is root
        dm.design_info.column_names
        cell.font.bold, ws["A1"] is cell, ws.merged_cells.ranges, wb.active is ws
        """,
        named="root el rxm",
    ),
    "numbers, dates and tables that share": session(
        """
        import pandas as pd, numpy as np, collections, itertools, functools
        base = pd.DataFrame({"k": list("aab"), "v": [1.0, 2.0, np.nan], "t": pd.to_datetime(["2024-01-01", None, "2024-02-01"])}, index=pd.Index([10, 20, 30], name="id"))
        same, ref = base, {"df": base, "col": base["v"]}; gb = base.groupby("k"); parts = {k: g for k, g in gb}; idx = base.index; shared_idx = pd.Series([1, 2, 3], index=idx); cat = base["k"].astype("category"); piv = base.pivot_table(index="k", values="v", aggfunc=["sum", "mean"]); melted = base.melt(id_vars="k"); st = base.stack(); xs = piv["sum"]; cols = base.columns; renamed = base.rename(columns={"v": "w"}); mi = base.set_index("k", append=True); q = base.query("v > 1"); ev = base.eval("z = v * 2"); roll = base.v.rolling(2); rolled = roll.mean(); wide = pd.concat({"x": base, "y": base}, axis=1); d = base.to_dict("records"); nd = base.v.values; arr_of_df = np.array([base, None], dtype=object); lst = [base] * 2; nt = next(base.itertuples()); dfs = collections.deque([base], maxlen=1); ser_of_obj = pd.Series([base, [1]]); emp = base.iloc[:0]; bycol = {c: base[c] for c in base}; frozen = pd.Series([1, 2]); frozen.values.flags.writeable; ts = base.t; td = ts - ts.min(); per = ts.dt.to_period("M"); pct = base.v.pct_change(); desc = base.describe(); corr = base[["v"]].corr(); cut = pd.cut(base.v, 2, retbins=True); dum = pd.get_dummies(base.k, dtype="uint8"); fz = frozenset(base.columns); nullable = base.convert_dtypes(); styl = base.style.background_gradient(subset=["v"]); exploded = pd.DataFrame({"l": [[1, 2], []]}).explode("l"); tr = base.T; agg = functools.partial(base.agg, "count")
        """,
        """
        same is base, ref["df"] is base, lst[0] is lst[1] is base, arr_of_df[0] is base, dfs[0] is base, ser_of_obj[0] is base, agg.func.__self__ is base
        base.loc[10, "v"] = 77 ;; ref["col"].iloc[0], ev.v.iloc[0], nd[0], renamed.w.iloc[0], roll.mean().iloc[1], bycol["v"].iloc[0], parts["a"].v.iloc[0], agg()["v"]
        idx is base.index, shared_idx.index is base.index, shared_idx.index is idx, cols is base.columns, mi.index.names, idx.name
        gb.v.sum().to_dict(), piv.columns.tolist(), st.shape, wide.columns.nlevels, wide["x"].equals(wide["y"]), xs.columns.tolist()
        d[0]["v"], nt, cut[1].tolist(), cut[0].cat.ordered, dum.dtypes.tolist(), nullable.dtypes.tolist(), per.dtype, td.dtype, ts.dt.unit, emp.dtypes.tolist(), exploded.l.tolist(), tr.dtypes.tolist(), cat.cat.categories.tolist(), fz
        base["new"] = 1 ;; lst[1].shape, ref["df"].columns.tolist(), cols.tolist()
        """,
    ),
    "partial methods of a class of one's own": session(
        """
        import functools
        class Half(functools.partialmethod):
            by = "half"
        class Stated(functools.partialmethod):
            def __reduce__(self): return Stated, (self.func, *self.args)
        class C:
            n = 2
            def of(self, k, x): return self.n, k, x
            two = Half(of, 2); three = Stated(of, 3)
            two.note = ["n", of]
        kept = vars(C)["two"]
        """,
        """
        C().two(5), C().three(6)
        type(vars(C)["two"]).__name__, vars(C)["two"] is kept, kept.note[1] is C.of, kept.by
        type(vars(C)["three"]).__name__, kept.args, kept.func is C.of
        """,
    ),
    "classes registered before they have a name": session(
        """
        import copyreg, functools, abc, collections.abc, numbers, sqlite3, enum, dataclasses, json, weakref
        REG = {}
        def reg(c): REG[c.__name__] = c
        @reg
        class Hidden:
            v = 1
            def me(self): return REG["Hidden"] is type(self) and __class__ is type(self)
        h = REG["Hidden"]()
        @collections.abc.Sequence.register
        class Seq1: pass
        s1 = Seq1(); del Seq1
        class Real1: pass
        numbers.Real.register(Real1); r1 = Real1(); Real1 = 5
        class A:
            def __init__(self, v): self.v = v
        copyreg.pickle(A, lambda a: (mk, (a.v,))); mk = A; a = A(3); A = None
        def rebuild(v): return B(v)
        class B:
            def __init__(self, v): self.v = v
        copyreg.pickle(B, lambda b: (rebuild, (b.v,))); b = B([1]); pair = [b, b]
        @functools.singledispatch
        def show(v): return "any"
        def local():
            class L: pass
            show.register(L, lambda v: "L"); return L()
        l = local()
        class Base(abc.ABC):
            known = weakref.WeakSet()
            def __init_subclass__(cls): Base.known.add(cls)
        def make():
            class Sub(Base): pass
            return Sub()
        sub = make()
        @Base.register
        class Virtual: pass
        virt = Virtual(); Virtual = "gone"
        class P: __slots__ = ("x",)
        sqlite3.register_adapter(P, lambda p: p.x); p = P(); p.x = 4; P = None
        def deco(k): insts.append(k()); return k
        insts = []
        @deco
        class Own: n = 2
        """,
        """
        h.me(), Hidden, REG["Hidden"] is type(h)
        isinstance(s1, collections.abc.Sequence)
        isinstance(r1, numbers.Real)
        a.v, type(a) is mk, copyreg.dispatch_table[mk](a)[1], __import__("copy").copy(a).v
        b.v, pair[0] is pair[1], pair[0] is b, __import__("copy").copy(b).v
        show(l), show(1)
        [k.__name__ for k in Base.known], isinstance(virt, Base), isinstance(sub, Base), type(sub) in Base.known
        sqlite3.connect(":memory:").execute("select ?", (p,)).fetchone()
        type(insts[0]) is Own, Own.n
        """,
    ),
    "registered classes whose module is another one": session(
        """
        import collections.abc, copyreg, numbers, sqlite3, types
        made = types.ModuleType("made"); exec("class M: pass\\nclass Q:\\n    __slots__ = ('x',)", made.__dict__)
        space = {"__name__": "nowhere"}; exec("class N: pass", space); later = type("Later", (), {"__module__": "elsewhere"})
        collections.abc.Sequence.register(made.M); collections.abc.Mapping.register(space["N"]); numbers.Real.register(later)
        m, n, r = made.M(), space["N"](), later(); sqlite3.register_adapter(made.Q, lambda q: q.x); q = made.Q(); q.x = 6
        # %%
        later.__module__ = "__main__"; Later = later
        """,
        """
        isinstance(m, collections.abc.Sequence), type(m) is made.M
        isinstance(n, collections.abc.Mapping), type(n) is space["N"]
        isinstance(r, numbers.Real), type(r) is later
        sqlite3.connect(":memory:").execute("select ?", (q,)).fetchone()
        """,
    ),
}
