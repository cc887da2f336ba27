"""Sessions of long analyses, in which databases, frames, models, figures, helpers and settings hold each other."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "notebook: a churn study from database to figure": session(
        """
        import sqlite3, numpy as np, pandas as pd, matplotlib.pyplot as plt, functools, contextlib
        from sklearn.pipeline import make_pipeline; from sklearn.preprocessing import StandardScaler; from sklearn.linear_model import LogisticRegression
        con = sqlite3.connect(":memory:"); con.row_factory = sqlite3.Row; con.execute("create table c(id integer primary key, age real, plan text, left integer)"); rng = np.random.default_rng(1)
        con.executemany("insert into c values (?,?,?,?)", [(i, float(rng.integers(20, 60)), "AB"[i % 2], int(rng.random() > 0.6)) for i in range(30)]); con.commit(); rates = {"A": 1.0, "B": 1.5}
        con.create_function("rate", 1, lambda p: rates[p]); con.create_collation("rev", lambda a, b: (a < b) - (a > b))
        class Med:
            def __init__(self): self.v = []
            def step(self, x): self.v.append(x)
            def finalize(self): return float(np.median(self.v))
        con.create_aggregate("median", 1, Med)
        """
        + "# %%\n"
        + """
        cur = con.execute("select id, age from c order by id"); r0 = cur.fetchone(); chunks = pd.read_sql("select * from c", con, chunksize=12); c0 = next(chunks); df = pd.read_sql("select *, rate(plan) as r from c", con, index_col="id"); con.execute("update c set age = 99 where id = 1")
        model = make_pipeline(StandardScaler(), LogisticRegression()).fit(df[["age", "r"]], df["left"]); threshold = 0.5
        @functools.lru_cache
        def score(plan): return float(model.predict_proba(df.loc[df["plan"] == plan, ["age", "r"]])[:, 1].mean())
        s_a = score("A"); fig, ax = plt.subplots(); pts = ax.scatter(df["age"], model.predict_proba(df[["age", "r"]])[:, 1]); hline = ax.axhline(threshold); redraws = []
        def on_lim(a): redraws.append(a.get_ylim()); hline.set_ydata([threshold, threshold])
        ax.callbacks.connect("ylim_changed", on_lim); report = {"model": model, "fig": fig, "frame": df, "score": score}; style = df.head(3).style.set_uuid("x").apply(lambda c: ["color: red" if v > threshold else "" for v in c], subset=["left"])
        """,
        """
        cur.fetchone()["age"], r0.keys(), r0["id"], con.in_transaction
        [len(c) for c in chunks], c0["id"].tolist()[-1]
        rates["B"] = 9.0 ;; con.execute("select sum(rate(plan)) s, median(id) m from c").fetchone()["s"], con.execute("select median(age) from c where id < 2").fetchone()[0]
        con.rollback() ;; con.execute("select age from c where id = 1").fetchone()[0], con.execute("select plan from c order by plan collate rev limit 1").fetchone()[0]
        score("A") == s_a, score.cache_info(), report["model"] is model, report["score"] is score
        threshold = 0.9; ax.set_ylim(0, 2) ;; list(hline.get_ydata()), redraws
        threshold = 0; html = style.to_html() ;; html.count("color: red"), style.data.shape
        df.loc[df.index[0], "age"] = 500.0; score.cache_clear() ;; score("A") != s_a, report["frame"] is df, pts.get_offsets()[0].tolist()[0] < 100
        model[-1].coef_[:] = 0 ;; report["model"].predict_proba(df[["age", "r"]])[:2].round(4).tolist(), con.total_changes
        con.close() ;; report["fig"].axes[0] is ax, ax.lines[0] is hline
        """,
        named="chunks cur",
    ),
    "notebook: polars and arrow side by side": session(
        """
        import polars as pl, pyarrow as pa, pyarrow.compute as pc, pyarrow.ipc as ipc, pyarrow.parquet as pq, pyarrow.dataset as ds, numpy as np, pandas as pd
        @pl.api.register_dataframe_namespace("clean")
        class Clean:
            used = []
            def __init__(self, df): self._df = df
            def strip(self): Clean.used.append(self._df.height); return self._df.with_columns(pl.col(pl.String).str.strip_chars())
        @pl.api.register_expr_namespace("fx")
        class Fx:
            def __init__(self, e): self._e = e
            def to(self, cur): return self._e * rates[cur]
        rates = {"usd": 1.1}; pl.Config.set_tbl_rows(3); pl.Config.set_fmt_float("full"); df = pl.DataFrame({"g": [" a", "b ", "a"], "v": [1.0, 2.0, 3.0]}); lazy = df.lazy().with_columns(u=pl.col("v").fx.to("usd")).filter(pl.col("v") > 1); expr = pl.col("v").map_elements(lambda x: x * factor, return_dtype=pl.Float64); factor = 2.0
        class Point(pa.ExtensionType):
            def __init__(self): super().__init__(pa.list_(pa.float64(), 2), "demo.point")
            def __arrow_ext_serialize__(self): return b""
            @classmethod
            def __arrow_ext_deserialize__(cls, t, s): return cls()
        pa.register_extension_type(Point())
        """
        + "# %%\n"
        + """
        tbl = pa.table({"id": range(6), "s": list("aabbcc")}, metadata={"owner": "x"}); pq.write_table(tbl, "t.parquet", row_group_size=2); pf = pq.ParquetFile("t.parquet"); groups = pf.iter_batches(batch_size=2); b0 = next(groups); reader = tbl.to_reader(max_chunksize=2); r0 = reader.read_next_batch(); sink = pa.BufferOutputStream(); w = ipc.new_stream(sink, tbl.schema); w.write_batch(r0); enc = tbl["s"].dictionary_encode(); arr = np.arange(4.0); buf = pa.py_buffer(arr); wrapped = pa.Array.from_buffers(pa.float64(), 4, [None, buf])
        pts = pa.ExtensionArray.from_storage(Point(), pa.array([[1.0, 2.0]], pa.list_(pa.float64(), 2))); pc.register_scalar_function(lambda ctx, x: pc.multiply(x, gain), "demo_gain", {"summary": "s", "description": "d"}, {"x": pa.float64()}, pa.float64()); gain = 3.0; by = iter(df.group_by("g", maintain_order=True)); k0, f0 = next(by); rows = df.iter_rows(named=True); next(rows); slices = df.iter_slices(2); next(slices); ser = df["v"]; sql = pl.SQLContext(sales=df); enum = pl.Enum(["x", "y"]); pd_arrow = tbl.to_pandas(types_mapper=pd.ArrowDtype); data = ds.dataset("t.parquet"); scan = data.scanner(columns=["id"]).to_reader(); s0 = scan.read_next_batch()
        """,
        """
        lazy.collect()["u"].to_list(), df.clean.strip()["g"].to_list(), Clean.used
        factor = 10.0 ;; df.select(expr)["v"].to_list()
        rates["usd"] = 2.0 ;; df.select(pl.col("v").fx.to("usd"))["v"].to_list(), lazy.collect()["u"].to_list()
        next(by)[0], k0, next(rows), next(slices).shape, [k for k, _ in by]
        df[0, "v"] = 50.0 ;; ser.to_list(), sql.execute("select sum(v) s from sales", eager=True)["s"].to_list(), f0["v"].to_list()
        next(groups)["id"].to_pylist(), b0.num_rows, [b.num_rows for b in reader], reader.schema.metadata
        w.write_batch(r0); w.close() ;; ipc.open_stream(sink.getvalue()).read_all()["id"].to_pylist()
        arr[0] = 42.0 ;; wrapped[0].as_py(), buf.size, buf.is_mutable
        type(pts.type).__name__, pts.type == Point(), ipc.open_stream((lambda s: (lambda o: (o.write_table(pa.table({"p": pts})), o.close(), s.getvalue())[-1])(ipc.new_stream(s, pa.schema([("p", Point())]))))(pa.BufferOutputStream())).read_all().schema.field("p").type.extension_name
        gain = 5.0 ;; pc.call_function("demo_gain", [pa.array([1.0, 2.0])]).to_pylist()
        str(pl.DataFrame({"z": range(9)})).count("\\n"), pl.Config.state(if_set=True)["POLARS_FMT_MAX_ROWS"], pl.Series(["x"], dtype=enum).dtype == enum
        pd_arrow.dtypes["id"].pyarrow_dtype == pa.int64(), enc.type.equals(pa.dictionary(pa.int32(), pa.string())), scan.read_all().num_rows, pf.num_row_groups, tbl.schema.metadata
        """,
        named="expr pf groups reader sink w by rows slices sql scan demo_gain Point",
    ),
    "notebook: a helper module that is edited and patched": session(
        """
        import pathlib, sys, importlib, pandas as pd, numpy as np
        pathlib.Path("helpers.py").write_text('''
        import pandas as pd
        RATE = 0.2
        _registry = {}
        def feature(name=None, _calls=[]):
            def deco(f):
                _registry[name or f.__name__] = f; _calls.append(f.__name__); f.calls = _calls
                return f
            return deco
        @feature()
        def net(df): return df["gross"] * (1 - RATE)
        class Base:
            kinds = []; shared = {}
            def __init_subclass__(cls, **kw): super().__init_subclass__(**kw); Base.kinds.append(cls.__name__)
            def run(self, df): return {k: f(df).sum() for k, f in _registry.items()}
        class Cleaner(Base):
            fill = 0
            def __call__(self, df): return df.fillna(self.fill)
        ''')
        sys.path.insert(0, "."); import helpers; from helpers import net, Base, feature as feat; inv = pd.DataFrame({"gross": [10.0, 20.0, np.nan], "qty": [1, 2, 3]}); old_net = net
        """
        + "# %%\n"
        + """
        helpers.RATE = 0.5
        @helpers.feature("qty")
        def quantity(df): return df["qty"] * k
        k = 1
        class Mine(helpers.Cleaner):
            def __call__(self, df): return super().__call__(df).assign(extra=1)
        clean = Mine(); helpers.Cleaner.fill = -1; Base.shared["a"] = clean; original = helpers.Base.run; helpers.Base.run = lambda self, df: ("patched", original(self, df)); pd.DataFrame.shape2 = property(lambda self: self.shape[::-1]); pd.Series.iqr = lambda s: s.quantile(0.75) - s.quantile(0.25); wrapped = np.mean; np.my_mean = lambda x: wrapped(x) + k
        p = pathlib.Path("helpers.py"); p.write_text(p.read_text().replace("1 - RATE", "2.0 - RATE")); helpers.extra = {"inv": inv}; bound = clean.run; helpers.net.note = "v1"; lib = importlib.import_module("helpers"); sys.modules["h2"] = helpers
        """,
        """
        helpers.RATE, net is helpers.net, old_net is net, net.calls
        clean(inv)["gross"].tolist(), helpers.Base.kinds, Base.shared["a"] is clean, Base is helpers.Base
        "helpers.py", clean.run(inv), bound(inv)[0], original(clean, inv)["qty"]
        k = 10 ;; helpers._registry["qty"](inv).tolist(), helpers._registry["qty"] is quantity, np.my_mean([1.0, 3.0])
        inv.shape2, inv["qty"].iqr(), inv.head(1).shape2
        helpers.RATE = 0.0 ;; "helpers.py", net(inv).tolist(), net.__globals__ is helpers.__dict__, feat is helpers.feature
        feat("late")(lambda df: df["qty"]) is not None, sorted(lib._registry), net.calls
        helpers.extra["inv"] is inv, helpers.net.note, lib is helpers, sys.modules["h2"] is helpers, sys.path[0]
        importlib.reload(helpers) is lib ;; "helpers.py", helpers.RATE, helpers.net(inv).tolist(), net is helpers.net, old_net(inv).tolist(), helpers.Base is Base, hasattr(helpers, "extra")
        isinstance(clean, Base), isinstance(clean, helpers.Base), clean(inv).shape, Mine.__mro__[1].__module__
        """,
        named="py",
    ),
    "notebook: a stream of sensors with coroutines": session(
        """
        import collections, functools, statistics, numpy as np, pandas as pd, asyncio, queue, threading, contextlib, itertools, time
        def running(alpha):
            mean = None
            while True:
                x = yield mean
                mean = x if mean is None else alpha * x + (1 - alpha) * mean
        def primed(f):
            @functools.wraps(f)
            def start(*a, **k):
                g = f(*a, **k); next(g)
                return g
            return start
        @primed
        def split(*sinks):
            n = 0
            try:
                while True:
                    x = yield n
                    n += 1
                    for s in sinks: s.send(x)
            except GeneratorExit:
                closed.append("split")
        closed = []; history = collections.deque(maxlen=3)
        @primed
        def keep(where):
            while True: where.append((yield))
        ewm = primed(running)(0.5); pipe = split(ewm, keep(history)); pipe.send(1.0); pipe.send(3.0)
        """
        + "# %%\n"
        + """
        class Sensor:
            def __init__(self, name, bus): self.name = name; self.bus = bus; self._gen = self._read(); self.gain = 1.0
            def _read(self):
                for i in itertools.count(): yield i * self.gain
            def __iter__(self): return self
            def __next__(self): v = next(self._gen); self.bus[self.name].append(v); return v
        bus = collections.defaultdict(list); a = Sensor("a", bus); b = Sensor("b", bus); next(a); next(a); merged = zip(a, b); next(merged); q = queue.Queue(); q.put(1); q.put(2); pq = queue.PriorityQueue(); pq.put((2, "x")); pq.put((1, "y")); lock = threading.RLock(); lock.acquire(); ev = threading.Event(); ev.set(); sem = threading.Semaphore(2); sem.acquire()
        def nested():
            total = yield from inner()
            yield ("total", total)
        def inner():
            s = 0
            with contextlib.suppress(ValueError):
                while True:
                    v = yield s
                    if v is None: break
                    s += v
            return s
        n = nested(); next(n); n.send(4); buckets = pd.Series(dtype=float); loop = asyncio.new_event_loop(); aq = asyncio.Queue(); loop.run_until_complete(aq.put("job")); fut = loop.create_future(); fut.add_done_callback(lambda f: closed.append(f.result()))
        async def agen():
            for i in range(3): yield i * a.gain
        ag = agen(); loop.run_until_complete(ag.__anext__())
        """,
        """
        pipe.send(5.0), list(history), ewm.send(5.0)
        next(merged), bus["a"], bus["b"], a.bus is bus
        a.gain = 10.0 ;; next(a), next(b), a._gen.gi_frame.f_locals["i"]
        n.send(6), n.gi_yieldfrom is not None, n.send(None), next(n, "end")
        q.get(), q.qsize(), pq.get(), ev.is_set(), sem._value, sem.acquire(blocking=False), sem.acquire(blocking=False)
        lock._is_owned(), lock.release(), lock._is_owned()
        loop.run_until_complete(aq.get()), aq.empty(), loop.run_until_complete(ag.__anext__())
        fut.set_result("done"); loop.run_until_complete(asyncio.sleep(0)) ;; closed, fut.result()
        pipe.close() ;; closed[-1], next(keep([1]), None), ewm.gi_frame is None
        loop.close(); b.name = "c"; next(b) ;; dict(bus)["c"], loop.is_closed()
        """,
        named="ewm pipe a b merged lock n loop fut ag",
    ),
    "notebook: tests registered by their classes": session(
        """
        import abc, enum, typing, dataclasses, functools, inspect, numpy as np, pandas as pd
        from scipy import stats
        class Registry(abc.ABCMeta):
            all = {}; made = 0
            def __new__(m, name, bases, ns, **kw): c = super().__new__(m, name, bases, ns); Registry.made += 1; m.all[kw.get("key", name.lower())] = c; return c
            def __init__(cls, name, bases, ns, **kw): super().__init__(name, bases, ns)
            def __call__(cls, *a, **k):
                o = super().__call__(*a, **k); cls.instances = getattr(cls, "instances", 0) + 1
                return o
            def __getitem__(cls, k): return cls.all[k]
            def __len__(cls): return len(cls.all)
        class Positive:
            def __set_name__(self, owner, name): self.n = name; names.append((owner.__name__, name))
            def __get__(self, o, t=None): return self if o is None else o.__dict__[self.n]
            def __set__(self, o, v):
                if v <= 0: raise ValueError(self.n)
                o.__dict__[self.n] = v; sets.append(self.n)
        names, sets = [], []
        class Test(metaclass=Registry, key="base"):
            alpha = Positive()
            def __init__(self, alpha=0.05): self.alpha = alpha
            @abc.abstractmethod
            def p(self, a, b): ...
            def __init_subclass__(cls, **kw): cls.subs = Test.__dict__.get("subs_n", 0); Test.subs_n = Test.__dict__.get("subs_n", 0) + 1
        class Welch(Test, key="t"):
            def p(self, a, b): return float(stats.ttest_ind(a, b, equal_var=equal).pvalue)
        class Boot(Test, key="boot"):
            def __init__(self, rng, n=50, **kw): super().__init__(**kw); self.rng = rng; self.n = n
            def p(self, a, b): d = [self.rng.choice(a, len(a)).mean() - self.rng.choice(b, len(b)).mean() for _ in range(self.n)]; self.last = d; return float(np.mean(np.array(d) < 0))
        equal = False
        """
        + "# %%\n"
        + """
        rng = np.random.default_rng(8); ctrl, var = rng.normal(0, 1, 30), rng.normal(0.5, 1, 30); welch = Welch(); boot = Boot(rng, alpha=0.1); results = {}; T = typing.TypeVar("T")
        @dataclasses.dataclass(order=True)
        class Result(typing.Generic[T]):
            p: float; test: Test = dataclasses.field(compare=False, repr=False); value: T = None; notes: list = dataclasses.field(default_factory=list)
            sig: dataclasses.InitVar[bool] = None
            def __post_init__(self, sig): self.sig = self.p < self.test.alpha if sig is None else sig
        for t in (welch, boot): results[t] = Result[float](t.p(ctrl, var), t)
        best = min(results.values()); frame = pd.DataFrame({"test": list(results), "res": list(results.values())}); sig = inspect.signature(Boot.__init__); Kind = enum.Enum("Kind", {n: c for n, c in Registry.all.items()}); Pair = typing.NamedTuple("Pair", [("a", float), ("b", float)]); pair = Pair(1.0, 2.0); Conf = typing.TypedDict("Conf", {"alpha": float}); Plus = type("Plus", (Welch,), {"p": lambda self, a, b: super(Plus, self).p(a, b) + 1}, key="plus"); plus = Plus(); Welch.__doc__ = "t"; Test.register(int)
        """,
        """
        sorted(Registry.all), Registry.made, len(Test), Test["t"] is Welch, Test.subs_n, [c.subs for c in (Welch, Boot, Plus)]
        names, len(sets), Welch.instances, Boot.instances, Plus.instances
        equal = True; welch.p(ctrl, var) == results[welch].p, round(plus.p(ctrl, var), 6) ;; round(welch.p(ctrl, var), 6), round(plus.p(ctrl, var), 6)
        round(boot.p(ctrl, var), 4), round(rng.random(), 6), boot.rng is rng, len(boot.last)
        setattr(boot, "alpha", -1)
        boot.alpha = 0.5 ;; sets[-1], len(sets), results[boot].test is boot, frame["test"][1] is boot, frame["res"][0] is results[welch]
        best is results[welch] or best is results[boot], best.sig, Result.__class_getitem__(int).__origin__ is Result, results[boot].__orig_class__.__args__
        Test()
        class_ = Registry("New", (Test,), {"p": lambda s, a, b: 0.0}, key="new") ;; Registry.made, len(Test), class_().p(1, 2), class_.subs
        Kind["boot"].value is Boot, pair._asdict(), Pair.__annotations__, sig.parameters["n"].default, Conf.__total__, isinstance(3, Test), Welch.__doc__
        """,
    ),
    "notebook: a cohort study with exports": session(
        """
        import numpy as np, pandas as pd, io, json, pathlib, functools, operator, tempfile, os, zipfile
        rng = np.random.default_rng(12); users = pd.DataFrame({"user": range(40), "start": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 120, 40), "D"), "plan": pd.Categorical(rng.choice(["free", "pro"], 40), ["free", "pro"], ordered=True)})
        events = pd.DataFrame({"user": rng.integers(0, 40, 200), "at": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 200, 200), "D"), "value": rng.gamma(2, 3, 200).round(2)}); users["cohort"] = users["start"].dt.to_period("M"); log = []
        def step(f):
            @functools.wraps(f)
            def run(df, *a, **k):
                out = f(df, *a, **k); log.append((f.__name__, df.shape, out.shape)); run.last = out
                return out
            run.last = None
            return run
        @step
        def join(df): return df.merge(users, on="user")
        @step
        def since(df, unit="M"): return df.assign(n=(df["at"].dt.to_period(unit).astype("int64") - df["cohort"].astype("int64")))
        @step
        def positive(df): return df[df["n"] >= lowest]
        lowest = 0; flow = functools.reduce(lambda f, g: lambda d: g(f(d)), [join, since, positive]); data = flow(events)
        """
        + "# %%\n"
        + """
        piv = data.pivot_table(index="cohort", columns="n", values="user", aggfunc="nunique", observed=True); size = users.groupby("cohort").size(); ret = piv.div(size, axis=0); gb = data.groupby(["cohort", "plan"], observed=False); it = iter(gb); first = next(it); tr = gb["value"].transform; grouper = pd.Grouper(key="at", freq="2W"); binned = data.groupby([grouper, "plan"], observed=True)["value"]; exp = binned.agg(["sum", "count"]); sub = data.loc[data["plan"] > "free"]; sub_view = data["value"]; arr = sub_view.to_numpy()
        out = pathlib.Path("out"); out.mkdir(); ret.to_csv(out / "ret.csv"); (out / "latest.csv").symlink_to("ret.csv"); os.chmod(out / "ret.csv", 0o640); tmp = tempfile.TemporaryDirectory(); keep = pathlib.Path(tmp.name) / "x.json"; keep.write_text(json.dumps({"n": len(data)})); spooled = tempfile.SpooledTemporaryFile(mode="w+"); spooled.write("abc"); ntf = tempfile.NamedTemporaryFile("w+", suffix=".csv", delete=False); ntf.write("a,b\\n1,2\\n"); ntf.flush(); cwd = os.getcwd(); os.chdir("out"); masks = {"pro": data["plan"].eq("pro"), "big": data["value"].gt(10)}; both = functools.reduce(operator.and_, masks.values())
        """,
        """
        flow(events).shape == data.shape, len(log), positive.last.shape, join.last is not None, log[0]
        lowest = 2 ;; flow(events)["n"].min(), positive.last["n"].min(), positive.__wrapped__.__name__
        k, f = next(it) ;; str(k[0]), k[1], f.shape, len(list(it)), first[1].shape
        tr("mean").round(4).tolist()[:2], gb.ngroups, gb["value"].sum().round(3).tolist()[:2], str(gb.keys)
        users["plan"] = users["plan"].cat.add_categories("gold") ;; users["plan"].max(), data["plan"].cat.categories.tolist(), sub["plan"].dtype.ordered
        data.loc[data.index[0], "value"] = -1.0 ;; sub_view.iloc[0], arr[0], arr.flags.writeable, both.sum()
        binned.sum().round(2).tolist()[:2], exp.index.names, grouper.freq.freqstr, ret.index.freqstr, ret.columns.name
        os.path.basename(os.getcwd()), sorted(os.listdir(".")), os.readlink("latest.csv"), oct(os.stat("ret.csv").st_mode & 0o777), open("latest.csv").readline()
        keep.exists(), json.loads(keep.read_text()), os.path.isdir(tmp.name), tmp.cleanup(), os.path.exists(tmp.name)
        spooled.seek(0) ;; spooled.read(), spooled._rolled, ntf.seek(0), pd.read_csv(ntf).to_dict(), os.path.exists(ntf.name), os.unlink(ntf.name)
        os.chdir(cwd) ;; sorted(os.listdir(".")), ret.round(3).iloc[0].dropna().tolist()[:2]
        """,
        named="it tmp spooled ntf",
    ),
    "notebook: a sampler and a filter written by hand": session(
        """
        import numpy as np, pandas as pd, collections, copy, types, operator, math
        class Chain:
            def __init__(self, logp, start, rng, step=0.5):
                self.logp = logp; self.x = np.array(start, float); self.rng = rng; self.step = step; self.trace = np.empty((0, len(start))); self.hooks = collections.defaultdict(list); self.accepted = self.tried = 0; self.state = {"x": self.x}
            def on(self, what): return lambda f: self.hooks[what].append(f) or f
            def __iter__(self):
                cur = self.logp(self.x)
                while True:
                    prop = self.x + self.rng.normal(0, self.step, self.x.shape); new = self.logp(prop); self.tried += 1
                    if math.log(self.rng.random()) < new - cur: self.x[:] = prop; cur = new; self.accepted += 1
                    self.trace = np.vstack([self.trace, self.x])
                    for h in self.hooks["step"]: h(self)
                    yield self.x
        mu = 0.0; rng = np.random.default_rng(99); chain = Chain(lambda x: -0.5 * float(((x - mu) ** 2).sum()), [1.0, -1.0], rng); seen = []
        @chain.on("step")
        def note(c): seen.append(round(float(c.x[0]), 4))
        walk = iter(chain); [next(walk) for _ in range(5)]; pos = chain.x
        """
        + "# %%\n"
        + """
        class Kalman:
            F = np.array([[1.0, 1.0], [0, 1]]); H = np.array([[1.0, 0]])
            def __init__(self, q, r): self.Q = q * np.eye(2); self.R = np.array([[r]]); self.m = np.zeros(2); self.P = np.eye(2); self.log = np.zeros(0, [("t", "i4"), ("m", "f8", 2)]); self.views = types.SimpleNamespace(pos=self.m[:1], vel=self.m[1:])
            def __call__(self, z):
                self.m[:] = self.F @ self.m; self.P = self.F @ self.P @ self.F.T + self.Q; S = self.H @ self.P @ self.H.T + self.R; K = self.P @ self.H.T @ np.linalg.inv(S); self.m += (K @ (np.atleast_1d(z) - self.H @ self.m)); self.P = (np.eye(2) - K @ self.H) @ self.P; self.log = np.append(self.log, np.array([(len(self.log), self.m)], self.log.dtype))
                return self.views.pos.item()
        kf = Kalman(0.01, 1.0); [kf(z) for z in (1, 2, 3)]; feed = map(kf, iter([4, 5, 6])); Kalman.F[0, 1] = 0.5; smooth = pd.Series([1.0, 2, 3]).map(kf.__call__); twins = [kf, copy.copy(kf)]; add = pos.__iadd__; getx = operator.itemgetter(slice(0, 1)); part = getx(pos); chains = {id_: c for id_, c in zip("ab", [chain, copy.deepcopy(chain)])}; mean = chain.trace.mean; cur = walk.gi_frame.f_locals["cur"]; acc = np.add.accumulate; strided = np.lib.stride_tricks.as_strided(pos, (2, 2), (0, 8)); rolled = memoryview(pos); bytes_ = rolled.cast("B")
        """,
        """
        next(walk).round(6).tolist(), pos is chain.x, chain.state["x"] is pos, chain.tried, seen[-1], round(cur, 6)
        mu = 50.0; [next(walk) for _ in range(3)] ;; chain.accepted, chain.trace.shape, len(seen), pos.round(4).tolist()
        pos[0] = 7.0 ;; part.tolist(), strided[:, 0].tolist(), rolled[0], len(bytes_), chain.x[0]
        add(1.0) is pos, chain.x.round(4).tolist(), np.frombuffer(bytes_)[0]
        next(feed), kf.views.pos is not kf.m, np.shares_memory(kf.views.vel, kf.m), len(kf.log)
        kf.m[:] = 0 ;; kf.views.pos.item(), twins[1].views is kf.views, twins[1].m is kf.m, twins[0] is kf
        list(feed), kf.log["m"][:, 0].round(4).tolist()[-2:], smooth.round(4).tolist(), Kalman.F.tolist()
        chains["a"] is chain, chains["b"].hooks["step"][0] is note, chains["b"].rng is rng, chains["b"].logp is chain.logp, next(iter(chains["b"])).round(4).tolist()
        chain.hooks["step"].clear(); n = len(seen); next(walk) ;; len(seen) - n, mean().round(5), rng.random()
        kf.__class__.H = np.array([[0.0, 1.0]]) ;; round(kf(3.0), 5), twins[1].H.tolist(), acc([1, 2, 3]).tolist()
        """,
        named="walk rolled bytes_",
    ),
    "notebook: duckdb, its functions and its frames": session(
        """
        import duckdb, pandas as pd, numpy as np
        con = duckdb.connect(); sales = pd.DataFrame({"shop": list("aabbc"), "n": [1, 2, 3, 4, 5], "ts": pd.to_datetime("2024-03-01 23:30") + pd.to_timedelta(range(5), "D")}); bonus = 10
        con.execute("set timezone = 'America/New_York'"); con.execute("set default_order = 'desc'"); con.create_function("plus", lambda x: x + bonus, ["BIGINT"], "BIGINT"); con.register("s", sales); con.execute("create table t as select * from s"); con.execute("create sequence ids start 5"); con.execute("create macro dbl(x) as x * 2"); con.execute("create temp view top as select * from t where n > 2"); con.execute("prepare q as select sum(n) from t where shop = ?")
        """
        + "# %%\n"
        + """
        rel = con.table("t"); agg = rel.filter("n > 1").aggregate("shop, sum(n) as n", "shop").order("shop asc"); res = con.cursor().execute("select n from t order by n asc"); r0 = res.fetchone(); con.execute("begin"); con.execute("insert into t values ('z', 100, now()::timestamp)"); ids = con.execute("select nextval('ids')").fetchone()[0]; found = con.sql("select shop, n from sales where n > 3 order by n asc"); con.execute("create type mood as enum ('ok', 'bad')"); con.execute("set variable lim = 3"); duckdb.sql("create table answers as select 42 as x"); dcur = duckdb.default_connection(); arrow = con.sql("select * from t").to_arrow_table() if hasattr(con.sql("select 1"), "to_arrow_table") else None
        """,
        """
        res.fetchone(), r0, res.fetchmany(2), res.fetchall()
        bonus = 100 ;; con.execute("select plus(n) from t where shop = 'c'").fetchall(), con.execute("select dbl(4)").fetchall()
        sales.loc[0, "n"] = 50 ;; con.execute("select max(n) from s").fetchall(), con.sql("select max(n) from sales").fetchall(), found.fetchall()
        con.execute("select current_setting('timezone'), current_setting('default_order')").fetchall(), con.execute("select n from t where n < 4 order by n").fetchall()
        agg.fetchall(), rel.columns, rel.count("n").fetchall()
        con.execute("select getvariable('lim'), nextval('ids')").fetchall(), ids, con.execute("execute q('a')").fetchall()
        con.execute("rollback") ;; con.execute("select count(*) from t").fetchall(), con.execute("select count(*) from top").fetchall()
        con.execute("create type mood as enum ('ok', 'bad')") is con, con.execute("select 'bad'::mood > 'ok'::mood").fetchall()
        duckdb.sql("select x from answers").fetchall(), dcur.execute("select count(*) from answers").fetchall(), arrow.num_rows if arrow is not None else None
        con.unregister("s") is con, con.execute("select * from s").fetchall()
        """,
        named="con rel agg res found",
    ),
    "notebook: reports from templates": session(
        """
        import jinja2, pandas as pd, datetime as dt, markupsafe, pathlib, functools
        pathlib.Path("tpl").mkdir(); pathlib.Path("tpl/base.html").write_text("<h1>{% block t %}{{ title }}{% endblock %}</h1>{{ body() if body is defined }}"); pathlib.Path("tpl/kpi.html").write_text("{% extends 'base.html' %}{% block t %}{{ super() }}:{{ rows | length }} {{ total | eur }}{% endblock %}")
        used = []; cur = {"sign": "€"}
        def eur(v): used.append(v); return f"{v:.1f}{cur['sign']}"
        @jinja2.pass_context
        def who(ctx): return ctx.get("author", "nobody")
        env = jinja2.Environment(loader=jinja2.ChoiceLoader([jinja2.DictLoader({"x": "{{ 1 + n }}"}), jinja2.FileSystemLoader("tpl")]), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True); env.filters["eur"] = eur; env.globals.update(who=who, title="KPI"); env.tests["big"] = lambda v: v > limit; limit = 5; kpi = env.get_template("kpi.html"); inline = env.from_string("{% macro row(r) %}{{ r.n }}{% if r.n is big %}!{% endif %}{% endmacro %}{{ who() }}{% for r in rows %}{{ row(r) }},{{ loop.cycle('a', 'b') }};{% endfor %}")
        """
        + "# %%\n"
        + """
        rows = pd.DataFrame({"n": [3, 9]}); stream = inline.generate(rows=list(rows.itertuples()), author="me"); s0 = next(stream); mod = inline.make_module({"rows": []}); macro = mod.row; safe = markupsafe.Markup("<b>%s</b>"); render = functools.partial(kpi.render, rows=[1, 2])
        class Safe(jinja2.Environment):
            def getattr(self, obj, a): seen.append(a); return super().getattr(obj, a)
        seen = []; sb = Safe(); st = sb.from_string("{{ d.n }}"); over = env.overlay(variable_start_string="[[", variable_end_string="]]"); ov = over.from_string("[[ 4 | eur ]]"); expr = env.compile_expression("n > 3 and who() == 'nobody'")
        """,
        """
        kpi.render(rows=[1], total=2), used, kpi.environment is env, env.get_template("kpi.html") is kpi
        cur["sign"] = "$" ;; render(total=3), ov.render(), used[-1]
        limit = 1 ;; inline.render(rows=list(rows.itertuples())), str(macro(rows.iloc[0]))
        s0, "".join(stream)
        kpi.render(rows=[1])
        env.globals["title"] = "New" ;; kpi.render(rows=[1], total=1), env.from_string("{{ title }}").render(), over.globals is env.globals
        st.render(d=rows.iloc[0]), seen, type(sb) is Safe
        safe % "<i>", type(safe).__name__, expr(n=4), env.filters["eur"] is eur, over.filters is env.filters
        __import__("pathlib").Path("tpl/base.html").write_text("<h2>{% block t %}{% endblock %}</h2>") and __import__("os").utime("tpl/base.html", (1, 1)) ;; env.get_template("kpi.html").render(rows=[], total=0)
        env.get_template("x").render(n=1), env.loader.loaders[0].mapping, sorted(env.list_templates())
        """,
        named="stream",
    ),
    "notebook: pictures and trees of markup": session(
        """
        import io, numpy as np, xml.etree.ElementTree as ET
        from PIL import Image, ImageDraw, ImageSequence, ImageFont, ImageFilter; from lxml import etree, html
        img = Image.new("RGB", (8, 6), "white"); pen = ImageDraw.Draw(img); pen.line((0, 0, 7, 5), fill="red"); px = img.load(); arr = np.asarray(img); frames = [Image.new("RGB", (4, 4), c) for c in ("red", "lime", "blue")]; frames[0].save("f.gif", save_all=True, append_images=frames[1:], duration=50); gif = Image.open("f.gif"); gif.seek(1); seq = ImageSequence.Iterator(gif); next(seq); img.save("i.png"); lazy = Image.open("i.png"); img.info["who"] = ["me"]; raw = bytearray(16); shared = Image.frombuffer("L", (4, 4), raw, "raw", "L", 0, 1)
        """
        + "# %%\n"
        + """
        doc = etree.fromstring("<r a='1'><i n='1'>x</i>tail<i n='2'>y</i><!--c--></r>"); one = doc[0]; kids = doc.iter("i"); k0 = next(kids); walk = etree.iterwalk(doc, events=("start", "end")); next(walk); att = doc.attrib; ns = etree.FunctionNamespace("urn:f"); ns["twice"] = lambda ctx, v: v * times; times = 2; xp = etree.XPath("//i[@n=$n]/text()"); xslt = etree.XSLT(etree.XML("<xsl:stylesheet version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'><xsl:template match='/'><o><xsl:value-of select='count(//i)'/></o></xsl:template></xsl:stylesheet>"))
        class El(etree.ElementBase):
            @property
            def num(self): return int(self.get("n", 0)) * times
        look = etree.ElementDefaultClassLookup(element=El); parser = etree.XMLParser(remove_blank_text=True); parser.set_element_class_lookup(look); tree2 = etree.parse(io.BytesIO(b"<a><b n='3'/></a>"), parser); b = tree2.getroot()[0]; root = ET.fromstring("<p><q k='1'/><q k='2'/></p>"); parents = {c: p for p in root.iter() for c in p}; q = root.find("q"); it = root.iter("q"); next(it); pull = ET.XMLPullParser(["end"]); pull.feed("<z><y>1</y><y>"); ev = pull.read_events(); next(ev)
        """,
        """
        pen.point((7, 0), fill="blue") ;; img.getpixel((7, 0)), px[7, 0], arr[0, 7].tolist(), px[0, 0]
        px[1, 0] = (1, 2, 3) ;; img.getpixel((1, 0)), np.asarray(img)[0, 1].tolist(), img.info
        gif.tell(), gif.n_frames, next(seq).tell(), gif.tell(), gif.info["duration"], gif.filename
        lazy.size, lazy.getpixel((0, 0)), lazy.format, type(lazy).__name__, lazy.filename
        raw[5] = 99 ;; shared.getpixel((1, 1)), shared.readonly
        one.set("n", "7") ;; doc[0].get("n"), doc[0] is one, one.getparent() is doc, k0 is one, one.tail
        next(kids).text, [(e, x.tag if isinstance(x.tag, str) else "c") for e, x in walk], att["a"]
        att["b"] = "2"; times = 3 ;; etree.tostring(doc).decode(), sorted(doc.attrib), xp(doc, n="7"), str(xslt(doc)).splitlines()[-1]
        b.num, type(b).__name__, type(tree2.getroot()).__name__, b.getroottree() is not None, etree.fromstring("<c n='2'/>", parser).num
        q.set("k", "9"); root.remove(q) ;; parents[q] is root, [x.get("k") for x in it], ET.tostring(root)
        pull.feed("2</y></z>") ;; [e.text for _, e in pull.read_events()], doc.remove(one), one.getparent(), etree.tostring(doc)
        """,
        named="px doc one k0 kids walk att ns xp xslt look parser tree2 b it pull ev FunctionNamespace",
    ),
}
