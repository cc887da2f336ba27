"""Sessions of analysts: frames, arrays, models, and what hangs on them or shares their memory."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "options that a context has changed for now": session(
        """
        import pandas as pd, contextlib, sys, types
        stack = contextlib.ExitStack()
        unit = "EUR"
        pd.set_option("display.float_format", lambda v: f"{v:.1f} {unit}")
        ctx = pd.option_context("display.max_rows", 7, "display.precision", 2); ctx.__enter__()
        stack.enter_context(pd.option_context("display.max_colwidth", 11))
        # %%
        backend = types.ModuleType("housebackend")
        drawn = []
        def plot(data, kind, **kw):
            drawn.append((kind, len(data)))
            return "drawn " + kind
        backend.plot = plot
        sys.modules["housebackend"] = backend
        pd.set_option("plotting.backend", "housebackend")
        df = pd.DataFrame({"v": [1.25, 2.5]})
        pd.options.mode.performance_warnings = False
        first = df.plot()
        """,
        """
        unit = "USD" ;; df.to_string()
        pd.get_option("display.max_rows"), pd.get_option("display.precision"), pd.get_option("display.max_colwidth")
        df.plot(kind="bar"), drawn
        ctx.__exit__(None, None, None) ;; pd.get_option("display.max_rows"), pd.get_option("display.precision")
        stack.close() ;; pd.get_option("display.max_colwidth")
        pd.options.mode.performance_warnings, pd.get_option("plotting.backend"), sys.modules["housebackend"] is backend
        pd.reset_option("display.float_format") ;; df.to_string()
        pd.set_option("plotting.backend", "nobody")
        """,
        named="stack ctx",
    ),
    "attributes that somebody hung on frames": session(
        """
        import pandas as pd, numpy as np, warnings
        warnings.simplefilter("ignore")
        df = pd.DataFrame({"a": [1, 2]}); df.title = "Sales"; df.describe_me = lambda: df.title + str(len(df))
        s = pd.Series([1, 2], name="q"); s.unit = "kg"; s.parent = df
        idx = pd.Index([1, 2], name="i"); idx.note = "key"; mi = pd.MultiIndex.from_tuples([(1, 2)]); mi.origin = ["f"]
        cat = pd.Categorical(["a"]); cat.legend = {"a": "Apple"}; arr = pd.array([1, None], dtype="Int64"); arr.source = "x.csv"
        ts = pd.date_range("2024", periods=2); ts.tag = 5
        gb = df.groupby("a"); gb.label = "by a"; dtyp = pd.CategoricalDtype(["a"]); dtyp.doc = "d"
        frames = [df, df.copy()]; frames[1].title = "Copy"; df.attrs["link"] = s
        """,
        """
        df.title, df.describe_me(), frames[1].title
        s.unit, s.parent is df
        idx.note, mi.origin
        cat.legend, arr.source
        ts.tag, gb.label, dtyp.doc
        df.attrs["link"] is s
        s.parent.loc[0, "a"] = 9 ;; df.a.tolist()
        df.title = "New" ;; df.describe_me(), df.copy().title
        """,
    ),
    "a family of frames": session(
        """
        import pandas as pd
        class Base:
            log = []
            def __init_subclass__(cls, **kw): super().__init_subclass__(**kw); Base.log.append(cls.__name__)
        class Measure(pd.Series):
            _metadata = ["unit", "history"]
            @property
            def _constructor(self): return Measure
            @property
            def _constructor_expanddim(self): return Table
        class Table(Base, pd.DataFrame):
            _metadata = ["unit", "history"]
            _internal_names = pd.DataFrame._internal_names + ["_cache_of_sum"]
            _internal_names_set = set(_internal_names)
            @property
            def _constructor(self): return Table
            @property
            def _constructor_sliced(self): return Measure
            def __finalize__(self, other, method=None, **kw):
                super().__finalize__(other, method, **kw)
                if method == "concat": self.unit = "|".join(o.unit for o in (other.objs if hasattr(other, "objs") else other.input_objs))
                return self
            @property
            def total(self):
                if not hasattr(self, "_cache_of_sum"): self._cache_of_sum = float(self.sum().sum())
                return self._cache_of_sum
        t = Table({"a": [1, 2]}); t.unit = "kg"; t.history = hist = ["made"]; t.total
        u = Table({"a": [3]}); u.unit = "g"; m = t["a"]; m.history = hist; bare = Table({"b": [1]})
        cat = pd.concat([t, u])
        """,
        """
        type(t["a"]).__name__, t["a"].unit, type(t.a.to_frame()).__name__, t.head(1).unit
        t.history is hist, m.history is hist
        hist.append("later") ;; t.history, m.history
        cat.unit, type(cat).__name__, pd.concat([u, t]).unit
        t.__dict__.get("_cache_of_sum"), Base.log
        bare.unit
        t.loc[0, "a"] = 10 ;; t.total, m.tolist()
        Table.total.fget(u), isinstance(u, Base), Table.__mro__[1].__name__
        """,
    ),
    "accessors that remember": session(
        """
        import pandas as pd, weakref
        @pd.api.extensions.register_series_accessor("geo")
        class Geo:
            made = 0
            def __init__(self, s):
                if s.dtype != float: raise AttributeError("floats only")
                Geo.made += 1; self._s = s; self.calls = []
            def mid(self): self.calls.append(len(self._s)); return self._s.mean()
        @pd.api.extensions.register_index_accessor("label")
        class Label:
            def __init__(self, i): self._i = i
            def join(self): return sep.join(map(str, self._i))
        sep = "-"
        lat = pd.Series([1.0, 2.0]); lat.geo.mid(); g = lat.geo; ints = pd.Series([1, 2]); frame = pd.DataFrame({"lat": lat}); idx = pd.Index(["a", "b"])
        frame.lat.geo.mid(); n = Geo.made; lb = idx.label
        old = pd.Series.geo
        @pd.api.extensions.register_dataframe_accessor("geo")
        class FrameGeo:
            def __init__(self, d): self.d = d
            def n(self): return self.d.shape
        """,
        """
        lat.geo is g, lat.geo.calls, g._s is lat
        lat.geo.mid(), g.calls, Geo.made - n
        sep = "+" ;; idx.label.join(), lb.join(), idx.label is lb
        hasattr(ints, "geo"), frame.geo.n(), pd.Series.geo is old, old is Geo
        "geo" in pd.Series._accessors, "geo" in pd.DataFrame._accessors, "label" in pd.Index._accessors
        "geo" in dir(frame), FrameGeo is pd.DataFrame.geo
        lat.iloc[0] = 7.0 ;; g.mid(), lat.geo.mid()
        """,
    ),
    "holidays and offsets of a firm": session(
        """
        import pandas as pd, datetime as dt, zoneinfo
        from pandas.tseries.holiday import AbstractHolidayCalendar, Holiday, nearest_workday, MO, USMemorialDay, holiday_calendars, get_calendar
        shift = 1
        def late(d): return d + dt.timedelta(days=shift)
        class Firm(AbstractHolidayCalendar):
            rules = [Holiday("Founders", month=3, day=4, observance=late), USMemorialDay, Holiday("Party", month=7, day=6, observance=nearest_workday)]
        firm = Firm(); days = firm.holidays("2024-01-01", "2024-12-31"); cbd = pd.offsets.CustomBusinessDay(calendar=firm, weekmask="Mon Tue Wed Thu"); cbh = pd.offsets.CustomBusinessHour(calendar=firm, start="08:00", end="12:00")
        berlin = zoneinfo.ZoneInfo("Europe/Berlin"); ts = pd.Timestamp("2024-03-05", tz=berlin); rng = pd.date_range("2024-03-01", periods=3, freq=cbd, tz=berlin); own = zoneinfo.ZoneInfo.no_cache("Europe/Berlin"); odd = pd.Timestamp("2024-01-01", tz=own)
        p = pd.Period("2024Q1", freq="Q-MAR"); per = pd.PeriodIndex([p, p + 1]); off = pd.offsets.Week(weekday=2, n=2); comb = pd.DateOffset(months=1, weekday=MO(1)); fy = pd.offsets.FY5253Quarter(weekday=5, variation="last", startingMonth=12); ea = pd.offsets.Easter(); naive = ts.tz_localize(None)
        class Noon(pd.offsets.Day): pass
        res = pd.Series(range(5), index=pd.date_range("2024", periods=5, freq="D")).resample("2D", origin="start_day", offset="1h")
        """,
        """
        days.tolist()[:2], Firm._cache is not None, holiday_calendars.get("Firm") is Firm, get_calendar("Firm").rules[0].name
        shift = 2 ;; Firm.rules[0].dates("2025-01-01", "2025-12-31").tolist(), firm.rules[0].observance is late
        ts.tz is berlin, rng.tz is berlin, odd.tz is own, own is berlin, rng.freq is cbd, rng.freq == cbd
        ts + cbd, naive + cbh, cbd.holidays[:2], cbd.weekmask, cbd.calendar is cbh.calendar
        p.end_time, per.freqstr, per[1], ts + off, naive + comb, naive + fy, naive + ea
        Firm.rules.append(Holiday("X", month=8, day=1)) ;; len(firm.rules), len(Firm().rules), firm.holidays("2024-01-01", "2024-12-31").size
        res.sum().tolist(), res.groups.keys().__len__(), type(Noon(2)).__name__, Noon(2).n
        rng.shift(1).tolist()[0], rng.freq.calendar is cbd.calendar, rng[0].tz is rng[1].tz
        """,
    ),
    "frames on memory of others": session(
        """
        import numpy as np, pandas as pd, pyarrow as pa, polars as pl, ctypes, array
        own = bytearray(64); base = np.frombuffer(own, "f8"); df = pd.DataFrame({"a": base[:4], "b": base[4:]}, copy=False); s = pd.Series(base[::2], copy=False)
        buf = pa.py_buffer(own); pa_arr = pa.Array.from_buffers(pa.float64(), 8, [None, buf]); back = pa_arr.to_numpy(); tb = pa.table({"x": pa_arr}); rb = tb.slice(2, 3)
        nums = np.arange(5); pser = pl.Series("n", nums); zero = pser.to_numpy(); from_pa = pl.from_arrow(pa.array([1, 2, 3])); sliced = pser[1:3]
        cbuf = (ctypes.c_int32 * 4)(1, 2, 3, 4); cnp = np.ctypeslib.as_array(cbuf); ar = array.array("i", [1, 2, 3]); anp = np.asarray(ar); mv = memoryview(cbuf); dl = np.from_dlpack(cnp)
        big = np.zeros((4, 3)); frame = pd.DataFrame(big, columns=list("xyz"), copy=False); row = big[1]; colv = frame["y"].to_numpy(); ro = frame.to_numpy()
        """,
        """
        base[0] = 3.5 ;; df.a[0], s[0], pa_arr[0].as_py(), back[0], tb["x"][0].as_py(), bytes(own[:8]).hex()
        np.shares_memory(df.a.to_numpy(), base), np.shares_memory(back, base), back.flags.writeable, df.a.to_numpy().flags.writeable
        base[3] = 8 ;; rb.to_pydict(), rb.column(0).chunk(0).offset
        nums[1] = 50 ;; pser.to_list(), zero.tolist(), sliced.to_list(), zero.flags.writeable
        cbuf[0] = 9 ;; cnp.tolist(), dl.tolist(), np.shares_memory(cnp, dl), list(mv.cast("B")[:4])
        ar[0] = 70 ;; anp.tolist(), anp.flags.writeable, anp.base is not None
        row[1] = 4 ;; frame.iloc[1].tolist(), colv.tolist(), ro[1].tolist(), np.shares_memory(ro, big)
        frame.iloc[0, 0] = 6 ;; big[0, 0], ro[0, 0]
        """,
        named="mv",
    ),
    "memory in many hands": session(
        """
        import numpy as np, mmap, dataclasses, pandas as pd, pyarrow as pa, polars as pl, array, collections
        big = np.zeros((200, 50)); parts = np.array_split(big, 4); col = big[:, 3]; tup = (big[5], big[6:8]); closure = (lambda v: lambda: v[0, 0])(big[10:]); deq = collections.deque([big[0], big[1]], maxlen=2)
        @dataclasses.dataclass
        class Holder:
            view: np.ndarray
            frame: pd.DataFrame
        h = Holder(big[50:60], pd.DataFrame(big[60:62], copy=False)); obj = np.array([big, {"v": big[7]}], dtype=object); comp = np.zeros(3, dtype=complex); im = comp.imag; flat = big.reshape(-1); tr = big.T[2]; chunk = memoryview(big[2]); byt = bytearray(16); u4 = np.ndarray((4,), ">u4", byt); u1 = np.frombuffer(byt, "u1", offset=3, count=2)
        arrow = pa.array(big[20]); table = pa.table({"c": pa.array(flat[:50])}); series = pl.Series(big[30]); frame = pl.DataFrame({"q": big[40]}); batch = pa.record_batch([pa.array(big[41])], names=["r"]); nested = {"deep": [{"a": arrow}]}; ro = big[:2]; ro.flags.writeable = False; sc = big[0, 0]; ind = big[[1, 2]]; s16 = np.arange(40000, dtype="i4"); pa16 = pa.array(s16); pl16 = pl.Series("w", s16); npv = pl16.to_numpy(); pdv = pd.Series(s16, copy=False)
        """,
        """
        big[5, 0] = 1; big[60, 1] = 2; big[10, 0] = 3; big[0, 3] = 4 ;; tup[0][0], h.frame.iloc[0, 1], closure(), col[0], deq[0][3], parts[0][5, 0], flat[250]
        h.view[0, 0] = 8; obj[1]["v"][0] = 9 ;; big[50, 0], big[7, 0], obj[0] is big, tr[0], ro.flags.writeable
        big[20, 0] = 5; big[0, 1] = 6 ;; arrow[0].as_py(), table["c"][1].as_py(), nested["deep"][0]["a"] is arrow, nested["deep"][0]["a"][0].as_py()
        big[30, 0] = 7; big[40, 0] = 8; big[41, 0] = 9 ;; series[0], frame["q"][0], batch["r"][0].as_py()
        im[0] = 2 ;; comp[0], np.shares_memory(comp, im)
        byt[3] = 1 ;; u4[0], u1.tolist(), u1.flags.writeable
        s16[1] = -5 ;; pa16[1].as_py(), pl16[1], int(npv[1]), int(pdv[1]), npv.flags.writeable
        ro[0, 0]
        chunk[0]
        """,
        named="chunk",
    ),
    "arrays of a class with a protocol": session(
        """
        import numpy as np
        HANDLED = {}
        def implements(f):
            def deco(g): HANDLED[f] = g; return g
            return deco
        class Qty(np.lib.mixins.NDArrayOperatorsMixin):
            def __init__(self, v, u): self.v = np.asarray(v); self.u = u
            def __array__(self, dtype=None, copy=None): return self.v
            def __array_ufunc__(self, uf, method, *ins, out=None, **kw):
                calls.append(uf.__name__); ins = [i.v if isinstance(i, Qty) else i for i in ins]
                if out: kw["out"] = tuple(o.v for o in out)
                return Qty(getattr(uf, method)(*ins, **kw), self.u)
            def __array_function__(self, f, types, args, kw): return HANDLED[f](*args, **kw) if f in HANDLED else NotImplemented
        @implements(np.mean)
        def _mean(q, *a, **k): return Qty(q.v.mean(), q.u)
        calls = []
        class Logged(np.ndarray):
            def __new__(cls, a, tag=None): o = np.asarray(a).view(cls); o.tag = tag; return o
            def __array_finalize__(self, o): self.tag = getattr(o, "tag", None); self.parents = [type(o).__name__]
            def __array_wrap__(self, arr, context=None, return_scalar=False): r = super().__array_wrap__(arr, context, return_scalar); return r
        q = Qty([1.0, 2], "m"); shared = q.v; lg = Logged([1, 2, 3], tag={"k": 1}); part = lg[1:]; plain = lg.view(np.ndarray); tagged = lg.tag
        rec = np.array([(1, "a", [1.0, 2.0])], dtype=[("i", "i4"), ("s", "U3"), ("m", "f8", 2)]).view(np.recarray); fieldm = rec.m; scalar = rec[0]
        obj = np.array([{"a": 1}, [2], None], object); twice = np.repeat(obj[:1], 3); view = obj[::2]; inner = obj[1]; so = np.zeros(2, [("o", "O"), ("n", "i4")]); so["o"][0] = inner
        """,
        """
        (q + 1).v.tolist(), calls[-1], np.mean(q).u, HANDLED[np.mean] is _mean, np.add.reduce(q).v
        shared[0] = 9 ;; q.v.tolist(), np.asarray(q) is shared
        lg.tag is tagged, part.tag is tagged, lg.parents, part.parents, type(part).__name__
        plain[1] = 50 ;; part.tolist(), lg.tolist(), (lg + 1).tag is tagged, np.shares_memory(part, plain)
        fieldm[0, 1] = 8 ;; rec.m.tolist(), scalar.m.tolist(), scalar.s, type(scalar).__name__, rec.dtype.type.__name__
        twice[0] is obj[0], twice[2] is twice[0], view[0] is obj[0], so["o"][0] is obj[1]
        inner.append(3) ;; obj[1], so[0], so["o"][1]
        np.sum(q)
        """,
    ),
    "random numbers of everybody": session(
        """
        import numpy as np, random
        np.random.seed(5); np.random.randn(3); random.seed(2); random.random()
        legacy = np.random.get_state(); sing = np.random.mtrand._rand; glob = np.random.default_rng
        class Dice(np.random.Generator):
            def roll(self): self.n = getattr(self, "n", 0) + 1; return int(self.integers(1, 7))
        dice = Dice(np.random.PCG64(3)); dice.roll(); dice.bg = dice.bit_generator
        bg = np.random.SFC64(9); old, new = np.random.RandomState(np.random.MT19937(4)), np.random.Generator(bg); fn = new.normal; state = bg.state
        ss = np.random.SeedSequence([1, 2], spawn_key=(3,)); ss.spawn(1); pool = ss.pool
        streams = [np.random.Generator(np.random.Philox(ss).jumped(i)) for i in range(2)]; streams[0].integers(0, 9, dtype="u1"); perm = streams[1].permuted
        from scipy import stats
        fz = stats.norm(1, 2); fz.random_state = new; ufz = stats.uniform(); ufz.random_state = 7; ufz.rvs()
        np.random.set_bit_generator(np.random.MT19937(12)); np.random.rand()
        """,
        """
        np.random.rand(2).round(6).tolist(), random.random()
        np.random.get_bit_generator().__class__.__name__, np.random.mtrand._rand is sing, np.random.get_bit_generator() is sing._bit_generator
        dice.roll(), dice.n, dice.bg is dice.bit_generator, type(dice).__name__
        fn(size=2).tolist() ;; new.random(), fn.__self__ is new, new.bit_generator is bg
        fz.rvs(), fz.random_state is new, new.random(), ufz.rvs()
        ss.spawn(1)[0].spawn_key, ss.pool.tolist() == pool.tolist(), ss.n_children_spawned, streams[0].integers(0, 9, 2, dtype="u1").tolist(), perm([1, 2, 3, 4]).tolist()
        bg.state = state ;; new.random()
        old.normal(), old.get_state()[2], np.random.set_state(legacy), np.random.rand()
        """,
    ),
    "draws with generators in odd places": session(
        """
        import numpy as np, pandas as pd, functools, random, itertools
        from sklearn.utils import check_random_state
        def draw(n, rng=np.random.default_rng(1)): return rng.integers(0, 100, n).tolist()
        draw(2)
        class Sim:
            rng = np.random.default_rng(2)
            def __init__(self, seed=None): self.own = np.random.default_rng(seed) if seed else Sim.rng
            def step(self): return float(self.own.random())
        s1, s2 = Sim(), Sim(5); s1.step(); rs = check_random_state(3); rs.rand(); df = pd.DataFrame({"a": range(10)}); first = df.sample(2, random_state=rs).a.tolist()
        shuffled = np.arange(5); Sim.rng.shuffle(shuffled); noise = functools.partial(s2.own.normal, 0, scale=2.0); gens = {"a": Sim.rng, "b": [Sim.rng]}; ss = Sim.rng.bit_generator.seed_seq; child = Sim.rng.spawn(1)[0]; pr = random.Random(4); pr.gauss(0, 1); choice = pr.choice; stream = iter(pr.random, 2.0); next(stream); boot = (df.sample(2, random_state=rs).a.sum() for _ in range(3))
        mt = np.random.MT19937(9); legacy = np.random.RandomState(mt); legacy.randn(); bits = np.random.Generator(mt); keep = mt.state; lock = mt.lock; half = np.random.default_rng(3); half.integers(0, 2**16, dtype=np.uint16); half.standard_normal(dtype=np.float32); ziggurat = half.exponential
        """,
        """
        draw(3), draw.__defaults__[0].random()
        s1.step(), Sim.rng is s1.own, gens["a"] is Sim.rng, gens["b"][0] is Sim.rng, gens["a"].random()
        rs.rand(), df.sample(2, random_state=rs).a.tolist(), check_random_state(rs) is rs
        noise(), s2.step(), noise.func.__self__ is s2.own, child.random(), ss.n_children_spawned, Sim.rng.spawn(1)[0].random()
        choice([1, 2, 3]), pr.gauss(0, 1), choice.__self__ is pr, next(stream)
        legacy.randn(), bits.random(), bits.bit_generator is mt, legacy._bit_generator is mt, mt.state["state"]["pos"]
        half.integers(0, 2**16, dtype=np.uint16), half.standard_normal(dtype=np.float32), float(ziggurat()), ziggurat.__self__ is half
        next(boot)
        """,
        named="boot",
    ),
    "numpy's own switches": session(
        """
        import numpy as np, contextlib
        log = []
        class Sink:
            def write(self, m): log.append(m.strip())
        sink = Sink(); np.seterrcall(sink); np.seterr(divide="log", over="ignore"); np.setbufsize(4096)
        stack = contextlib.ExitStack(); stack.enter_context(np.errstate(invalid="raise")); stack.enter_context(np.printoptions(precision=2, suppress=True, threshold=5, edgeitems=1))
        np.set_string_function if hasattr(np, "set_string_function") else None
        deco = np.errstate(all="ignore")
        @np.errstate(divide="ignore")
        def safe(v): return np.array([1.0]) / v
        poly = np.polynomial.Polynomial([1, 2], symbol="z"); np.polynomial.set_default_printstyle("ascii")
        v = np.vectorize(lambda a, b=2: a * b, otypes=[float], excluded={"b"}, cache=True); v(3); u = np.frompyfunc(lambda a: a * k, 1, 1); k = 10; pw = np.piecewise
        """,
        """
        np.array([1.0]) / 0 ;; log, np.geterrcall() is sink
        np.geterr(), np.getbufsize()
        np.array([np.inf]) - np.inf
        repr(np.array([1.23456, 1e-9])), repr(np.arange(10))
        safe(0).tolist(), len(log)
        str(poly), poly.symbol, str(v([1, 2], b=3)), v.cache, v.excluded
        k = 20 ;; u(np.array([1, 2])).tolist(), u.nin
        stack.close() ;; np.geterr(), repr(np.array([1.23456])), np.get_printoptions()["threshold"]
        """,
        named="u stack",
    ),
    "distributions of one's own": session(
        """
        import numpy as np, scipy.stats as st
        from scipy.stats import qmc, sampling
        shape = 2.0
        class Tri(st.rv_continuous):
            def _pdf(self, x): return 2 * x * (shape / 2)
            def _cdf(self, x): return x ** 2
        tri = Tri(a=0, b=1, name="tri", seed=4); tri.rvs(size=2); fz = tri(loc=1); disc = st.rv_discrete(name="d", values=([1, 2, 3], [0.2, 0.3, 0.5]), seed=1); disc.rvs(size=1); hist = st.rv_histogram(np.histogram([1, 2, 2, 3], 3))
        rng = np.random.default_rng(8); mvn = st.multivariate_normal([0, 1], [[1, 0.5], [0.5, 2]], seed=rng); t = st.t(df=3); st.norm.random_state = rng; kde = st.gaussian_kde([1.0, 2, 4], bw_method=lambda k: k.n ** -0.2)
        sob = qmc.Sobol(2, seed=3, scramble=True); sob.random(4); hal = qmc.Halton(2, seed=1); hal.fast_forward(3); lhs = qmc.LatinHypercube(2, rng=rng)
        class P:
            def pdf(self, x): return np.exp(-x * x / 2)
            def dpdf(self, x): return -x * np.exp(-x * x / 2)
        samp = sampling.TransformedDensityRejection(P(), random_state=2); samp.rvs(3)
        res = st.ttest_ind([1, 2, 3.5], [2, 3, 4]); ci = res.confidence_interval(0.9); N = st.Normal(mu=1, sigma=2); tr = st.truncate(N, 0, 3); mix = st.Mixture([N, st.Normal()], weights=[0.4, 0.6]); cov = st.Covariance.from_diagonal([1, 2]); boot = st.bootstrap(([1.0, 2, 3],), np.mean, rng=1, n_resamples=50)
        """,
        """
        tri.rvs(), fz.rvs(), fz.dist is tri, fz.mean().round(6)
        shape = 4.0 ;; float(tri.pdf(0.5)), float(fz.pdf(1.5))
        disc.rvs(), disc.pmf(3), float(hist.cdf(2)), float(kde(2.0)[0].round(6)), kde.factor
        mvn.rvs().round(6).tolist(), st.norm.rvs(), st.norm.random_state is rng, rng.random()
        sob.random(2).tolist(), sob.num_generated, hal.random(1).tolist(), hal.num_generated, lhs.random(1).tolist()
        samp.rvs(2).tolist()
        float(res.pvalue), ci, res.df, float(N.cdf(2)), float(tr.mean()), float(mix.pdf(0)), cov.rank, boot.standard_error
        t.ppf(0.9), t.args, t.kwds, N.validation_policy, tri.name, tri.shapes
        """,
        named="samp",
    ),
    "trees, steppers and optimizers": session(
        """
        import numpy as np, scipy.spatial as ss, scipy.integrate as sg, scipy.optimize as so, scipy.signal as sig
        pts = np.random.default_rng(0).random((20, 2)); kd = ss.KDTree(pts, leafsize=3, copy_data=False); ck = ss.cKDTree(pts); vor = ss.Voronoi(pts); dl = ss.Delaunay(pts, incremental=True); rot = ss.transform.Rotation.random(3, rng=1); sl = ss.transform.Slerp([0, 1, 2], rot)
        k = 1.0
        def f(t, y): return -k * y
        rk = sg.RK45(f, 0, [1.0], 5); rk.step(); rk.step(); sol = sg.solve_ivp(f, (0, 1), [1.0], dense_output=True, events=lambda t, y: y[0] - 0.5); dense = rk.dense_output(); od = sg.ode(f).set_integrator("dopri5").set_initial_value([1.0], 0)
        path = []
        res = so.minimize(lambda v: (v[0] - 2) ** 2, [0.0], callback=lambda v: path.append(float(v[0])), method="BFGS"); lc = so.LinearConstraint([[1]], [0], [1]); bn = so.Bounds([0], [1]); nl = so.NonlinearConstraint(lambda v: v[0] * k, 0, 1); hist = so.OptimizeResult(x=res.x, trail=path); res.extra = path
        stft = sig.ShortTimeFFT(sig.windows.hann(8), 4, 1.0); sys_ = sig.TransferFunction([1], [1, 1]); zi = sig.lfilter_zi([1], [1, 0.5]); sos = sig.butter(2, 0.2, output="sos")
        """,
        """
        kd.query([0.5, 0.5])[1], ck.query([0.5, 0.5])[1], kd.data is pts or np.shares_memory(kd.data, pts), kd.leafsize, kd.size
        pts[0] = [0.5, 0.5] ;; kd.data[0].tolist(), ck.data[0].tolist() == [0.5, 0.5]
        len(vor.regions), dl.find_simplex([[0.5, 0.5]])[0] >= 0, sl([0.5]).as_quat().round(6).tolist()
        rk.step(), rk.t, rk.y.tolist(), rk.nfev, dense(0.0001).tolist()
        k = 3.0 ;; rk.step(), rk.y.tolist(), rk.fun(0, np.array([1.0])).tolist(), rk.nfev
        sol.sol(0.3).tolist(), sol.t_events[0].tolist(), od.t, od.integrate(0.1).tolist()
        res.x.tolist(), hist.x is res.x, hist.trail is path, res.extra is path, nl.fun([2.0]), lc.A.tolist(), bn.lb.tolist()
        stft.m_num, stft.win.sum(), sys_.poles.tolist(), zi.tolist(), sos.shape, dl.add_points([[2, 2]]), dl.npoints
        """,
        named="dl vor od",
    ),
    "switches and trees of scipy": session(
        """
        import numpy as np, scipy, scipy.special as sc, scipy.fft as fft, scipy.cluster.hierarchy as hi, scipy.ndimage as ndi, scipy.spatial as ss, scipy.sparse.csgraph as cg, scipy.optimize as so, scipy.integrate as sg, scipy.constants as co, contextlib, scipy.linalg as la, scipy.signal as sig
        sc.seterr(loss="raise"); stack = contextlib.ExitStack(); stack.enter_context(sc.errstate(singular="raise")); stack.enter_context(fft.set_workers(2)); hi.set_link_color_palette(["m", "k"])
        pts = np.array([[0.0, 0], [1, 0], [5, 5], [6, 5]]); Z = hi.linkage(pts); root, nodes = hi.to_tree(Z, rd=True); left = root.get_left(); den = hi.dendrogram(Z, no_plot=True); rect = ss.Rectangle([1, 1], [0, 0]); ds = __import__("scipy.cluster.hierarchy").cluster.hierarchy.DisjointSet(range(4)); ds.merge(0, 1); mst = cg.minimum_spanning_tree(ss.distance_matrix(pts, pts)); lu = la.lu_factor(np.eye(2) * 2); weight = 2.0
        def cost(x): hits.append(1); return float((x[0] - weight) ** 2)
        hits = []; mem = so.minimize(cost, [0.0], method="Nelder-Mead", options={"maxiter": 5, "return_all": True}); bh = so.differential_evolution(cost, [(0, 5)], seed=1, maxiter=3); root_ = so.root_scalar(lambda x: x - weight, bracket=[0, 5]); lin = so.linprog([1], bounds=[(1, 3)]); solver = so._differentialevolution.DifferentialEvolutionSolver(cost, [(0, 5)], rng=np.random.default_rng(2), maxiter=5) if hasattr(so, "_differentialevolution") else None; step = next(solver) if solver else None; hu = so.HessianUpdateStrategy; bfgs = so.BFGS(); bfgs.initialize(1, "hess"); bfgs.update(np.array([1.0]), np.array([2.0])); sl = so.SR1(); dlti = sig.dlti([1], [1, 0.5]); zoom = sig.ZoomFFT(8, [0.1, 0.2]) if hasattr(sig, "ZoomFFT") else None; radau = sg.Radau(lambda t, y: -weight * y, 0, [1.0], 5); radau.step(); bdf = sg.BDF(lambda t, y: -weight * y, 0, [1.0], 5); bdf.step()
        """,
        """
        sc.geterr()["loss"], sc.geterr()["singular"], fft.get_workers(), hi._link_line_colors if hasattr(hi, "_link_line_colors") else None
        hi.dendrogram(Z, no_plot=True)["color_list"], den["ivl"], root.get_count(), root.get_left() is left, nodes[-1] is root, left.pre_order()
        stack.close() ;; sc.geterr()["singular"], fft.get_workers()
        ds.connected(0, 1), ds.n_subsets, rect.volume(), mst.nnz, la.lu_solve(lu, [2, 2]).tolist()
        weight = 3.0 ;; cost([1.0]), len(hits) > 0, radau.step(), radau.y.round(6).tolist(), bdf.step(), bdf.y.round(6).tolist()
        mem.allvecs[-1].round(6).tolist(), bh.x.round(3).tolist(), root_.root, lin.x.tolist(), bfgs.get_matrix().round(6).tolist(), dlti.poles.tolist()
        len(hits), [round(float(v), 6) for v in np.atleast_1d(step[0])], next(solver)[1] is not None, len(hits), solver.population.round(6).tolist()[:2]
        sc.loggamma(-1) if False else sc.geterr()["loss"]
        """,
        named="solver stack",
    ),
    "models of statisticians": session(
        """
        import numpy as np, pandas as pd, statsmodels.api as sm, statsmodels.formula.api as smf, patsy, formulaic
        from statsmodels.tsa.holtwinters import SimpleExpSmoothing
        rs = np.random.RandomState(1); df = pd.DataFrame({"x": np.arange(24.0), "g": list("ab") * 12}); df["y"] = df.x + rs.rand(24); scale = 2.0
        def bend(v): return v / scale
        class Half:
            def __init__(self): self.n = 0
            def memorize_chunk(self, x): self.n = max(self.n, float(np.max(x)))
            def memorize_finish(self): pass
            def transform(self, x): return x / self.n
        half = patsy.stateful_transform(Half)
        res = smf.ols("y ~ bend(x) + C(g, Treatment('b'))", df).fit(); dm = patsy.dmatrix("half(x) + center(x)", df); info = dm.design_info; model = res.model; end = model.endog
        wls = sm.WLS(df.y, sm.add_constant(df.x), weights=np.ones(24)).fit(); res.note = "final"; cached = res.rsquared; rob = res.get_robustcov_results("HC1"); ms = formulaic.model_matrix("y ~ x + C(g)", df); spec = ms.model_spec
        s = pd.Series(df.y.values, index=pd.period_range("2022-01", periods=24, freq="M")); ses = SimpleExpSmoothing(s, initialization_method="heuristic").fit(smoothing_level=0.5, optimized=False); slim = smf.ols("y ~ x", df).fit(); slim.remove_data(); gee = sm.families.Poisson(); from statsmodels.distributions.empirical_distribution import ECDF; ecdf = ECDF([1, 2, 3]); kde = sm.nonparametric.KDEUnivariate(df.x.values); kde.fit(); lowess = sm.nonparametric.lowess
        """,
        """
        scale = 4.0 ;; res.predict(df.head(2)).round(4).tolist()
        res.note, round(cached, 6) == round(res.rsquared, 6), "rsquared" in res._cache, res.model is model, model.endog is end
        np.asarray(patsy.build_design_matrices([info], df.tail(1))[0]).tolist(), info.column_names, dm.design_info is info
        ses.forecast(1).round(4).tolist(), slim.model.endog, slim.params.round(4).tolist()
        spec.rhs.get_model_matrix(df.head(2)).to_numpy().tolist(), ms.lhs.shape, spec.rhs.column_names
        model.data.frame is df, model.data.ynames, rob.cov_type, wls.params.round(4).tolist(), res.summary2().tables[1].shape
        float(ecdf(2)), float(kde.evaluate(3.0)[0].round(6)), kde.support[:2].round(4).tolist(), type(gee.link).__name__, wls.model.weights.sum()
        """,
    ),
    "a class around a frame": session(
        """
        import pandas as pd, numpy as np, functools, weakref, dataclasses, contextvars
        class Report:
            made = weakref.WeakSet()
            def __init__(self, df): self.df = df; Report.made.add(self); self.on = []
            def __getattr__(self, name):
                if name.startswith("_") or name == "df": raise AttributeError(name)
                return getattr(self.df, name)
            @functools.cached_property
            def total(self): self.on.append("computed"); return float(self.df.v.sum())
            @functools.lru_cache(maxsize=4)
            def over(self, n): self.on.append(n); return int((self.df.v > n).sum())
            @functools.singledispatchmethod
            def add(self, x): raise TypeError(type(x).__name__)
            @add.register
            def _(self, x: pd.DataFrame): self.df = pd.concat([self.df, x]); return len(self.df)
            @add.register(list)
            def _(self, x): return self.add(pd.DataFrame({"v": x}))
        base = pd.DataFrame({"v": [1, 2, 3]}); r = Report(base); r.total; r.over(1); ref = weakref.ref(base); back = weakref.WeakValueDictionary(r=r)
        @functools.singledispatch
        def show(x): return "other"
        @show.register
        def _(x: pd.DataFrame): return f"frame {len(x)} {tag}"
        @show.register(np.ndarray)
        def _(x): return "array"
        tag = "t"; current = contextvars.ContextVar("current", default=None); current.set(r)
        @dataclasses.dataclass(order=True)
        class Run:
            score: float
            frame: pd.DataFrame = dataclasses.field(compare=False, repr=False, default_factory=lambda: base)
        run = Run(0.5); log = functools.partial(base.head, 2); bound = base.sum; getter = base.v.map
        """,
        """
        r.total, r.on, "total" in r.__dict__, len(Report.made), r in Report.made, back["r"] is r
        tag = "u" ;; show(base), show(np.ones(1)), show(3), ref() is base, r.df is base
        r.add([9, 8]), r.shape, r.total, base.shape
        current.get() is r, run.frame is base, run < Run(0.7), repr(run)
        base.loc[0, "v"] = 50 ;; log().v.tolist(), bound().tolist(), getter(lambda v: v + 1).tolist(), run.frame.v[0]
        r.add(3.5)
        log.func.__self__ is base, bound.__self__ is base
        """,
        named="current",
    ),
}
