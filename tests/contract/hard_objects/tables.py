"""Tables, arrays and what libraries make of them: details that a copy loses."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "what frames know of themselves": session(
        """
        import pandas as pd, numpy as np
        df = pd.DataFrame({"a": [1, 2, 3], "b": ["x", None, "z"]}); df.attrs["src"] = {"file": [1]}; df2 = df.set_flags(allows_duplicate_labels=False); s = df["a"]; s.attrs["u"] = "m"; held = df.attrs["src"]
        v = df[["a"]]; w = df.loc[0:1]; arr = df["a"].to_numpy(); col = df["a"].array; blocks = df._mgr.nblocks; t = df.T; it = df.iterrows(); next(it); tup = next(df.itertuples())
        cow = df.copy(deep=False); sub = df.iloc[1:]
        @pd.api.extensions.register_dataframe_accessor("own")
        class Own:
            def __init__(self, obj): self.obj = obj; self.n = 0
            def up(self): self.n += 1; return self.n
        df.own.up(); acc = df.own
        class SubFrame(pd.DataFrame):
            _metadata = ["unit"]
            @property
            def _constructor(self): return SubFrame
        sf = SubFrame({"q": [1]}); sf.unit = "kg"
        g = df.groupby("b", dropna=False); roll = df["a"].rolling(2, min_periods=1); rs = pd.Series([1, 2], index=pd.date_range("2024", periods=2, freq="h")).resample("D"); exp = df.a.expanding()
        sty = df.style.format({"a": "{:.1f}"}).map(lambda v: "color: red" if v == mark else "", subset=["a"]).set_caption("cap"); mark = 2
        """,
        """
        df.attrs, df.attrs["src"] is held, s.attrs, df2.flags.allows_duplicate_labels, df2.attrs
        pd.concat([df2, df2])
        arr[0], arr.flags.writeable, np.shares_memory(arr, df["a"].to_numpy()), df._mgr.nblocks == blocks
        df.loc[0, "a"] = 100 ;; v.loc[0, "a"], w.loc[0, "a"], cow.loc[0, "a"], int(arr[0]), s[0], int(col[0])
        sub.iloc[0, 0] = 55 ;; df.iloc[1, 0]
        tup, t.shape, t.dtypes.tolist()
        df.own.up(), acc is df.own, acc.obj is df
        sf.unit, type(sf[["q"]]).__name__, sf[["q"]].unit
        g.size().tolist(), roll.sum().tolist(), rs.sum().tolist(), exp.max().tolist()
        mark = 3 ;; sty.to_html(uuid="u").count("color: red"), "cap" in sty.to_html()
        next(it)[0]
        """,
        named="it",
    ),
    "indexes and intervals with odd sides": session(
        """
        import pandas as pd, numpy as np, datetime as dt
        mi = pd.MultiIndex.from_arrays([["a", None, "a"], [1, np.nan, 3]], names=["l", None]); mdf = pd.DataFrame({"v": [1, 2, 3]}, index=mi); unused = mi[:1]; lv = mi.levels[0]
        iv = pd.Interval(0, 1, closed="neither"); ivs = pd.IntervalIndex.from_breaks([0, 1, 2], closed="neither", name="iv"); iarr = pd.arrays.IntervalArray.from_tuples([(0, 1), None], closed="both"); ivd = pd.IntervalDtype("int64", "left")
        pr = pd.period_range("2024-01", periods=3, freq="Q-NOV"); ptz = pr.to_timestamp().tz_localize("Asia/Tokyo"); po = pd.Period("2024-03-31 10:00", freq="15min"); per = pd.Series(pr); bq = pd.offsets.BQuarterEnd(startingMonth=2); bh = pd.offsets.BusinessHour(start="10:00", n=2); dto = pd.DateOffset(months=1, days=2)
        di = pd.date_range("2024-10-26 23:00", periods=5, freq="h", tz="Europe/Berlin"); nat = pd.NaT; di2 = di.delete(1); ms = di.as_unit("ms"); tdi = pd.to_timedelta([1, None], unit="s").as_unit("ms"); tsf = pd.Timestamp(1730000000, unit="s", tz="Europe/Berlin"); fx = pd.Timestamp(year=2024, month=10, day=27, hour=2, minute=30, tz="Europe/Berlin", fold=1)
        ct = pd.CategoricalDtype(["lo", "mid", "hi"], ordered=True); c1 = pd.Categorical(["hi", "lo", None], dtype=ct); c2 = pd.Series(["mid"], dtype=ct); cats = c1.categories; cdf = pd.DataFrame({"c": c1, "d": pd.Categorical([3, 1, 3])}); ci = pd.CategoricalIndex(c1, name="ci"); nested = pd.Categorical([(1, 2), (1, 2)])
        ri = pd.RangeIndex(5, 0, -2, name="r"); named_cols = pd.DataFrame([[1, 2]], columns=pd.Index(["x", "y"], name="cols")); dup = pd.Series([1, 2], index=["k", "k"]); emp = pd.DataFrame(index=pd.Index([], dtype="datetime64[ns]")); objs = pd.Index([1, "a", (2,), None], dtype=object)
        """,
        """
        mi.codes, mi.levels, mdf.loc[("a", 3), "v"], unused.levels[0].tolist(), mi.is_unique, mi.levels[0].equals(lv), pd.isna(mi[1][0])
        iv.closed, 0 in iv, ivs.closed, ivs.name, ivs.get_indexer([0.5, 1]), iarr.closed, iarr[1], ivd, ivs.dtype
        pr.freqstr, pr[0].end_time, ptz.tz, ptz.freq, po, per.dtype, po + 1, bq.startingMonth, pd.Timestamp("2024-01-05 16:00") + bh, pd.Timestamp("2024-01-31") + dto
        di.freq, di[4].fold, di2.freq, ms.unit, tdi.unit, tdi[1] is pd.NaT, tsf, fx.fold, fx.utcoffset(), nat is pd.NaT
        c1.min(), c1.dtype == ct, c2.dtype is c2.dtype, c1.categories is cats, ct.categories is cats, c2.cat.categories is ct.categories, cdf.c.dtype.ordered, ci.codes.tolist(), nested.categories.tolist()
        cdf.sort_values("c").d.tolist(), (c2 < "hi").tolist(), cdf.memory_usage(deep=True).tolist()
        ri.step, ri.name, named_cols.columns.name, dup["k"].tolist(), emp.index.dtype, objs.tolist(), hash(iv) == hash(pd.Interval(0, 1, "neither"))
        """,
    ),
    "own dtypes, sparse and nullable columns": session(
        """
        import pandas as pd, numpy as np, pyarrow as pa, decimal
        from pandas.api.extensions import ExtensionDtype, ExtensionArray, register_extension_dtype
        @register_extension_dtype
        class MoneyType(ExtensionDtype):
            name = "money"; type = int; kind = "i"; na_value = None
            @classmethod
            def construct_array_type(cls): return MoneyArray
        class MoneyArray(ExtensionArray):
            made = 0
            def __init__(self, v): self._v = np.asarray(v, dtype="i8"); MoneyArray.made += 1
            dtype = MoneyType()
            def __len__(self): return len(self._v)
            def __getitem__(self, i): r = self._v[i]; return r if np.isscalar(r) else MoneyArray(r)
            def isna(self): return self._v < 0
            def copy(self): return MoneyArray(self._v.copy())
            def take(self, idx, allow_fill=False, fill_value=None): return MoneyArray(self._v.take(idx))
            @classmethod
            def _from_sequence(cls, s, dtype=None, copy=False): return cls(s)
            @classmethod
            def _concat_same_type(cls, arrs): return cls(np.concatenate([a._v for a in arrs]))
            nbytes = 8
        ms = pd.Series(MoneyArray([1, 2])); mdf = pd.DataFrame({"m": ms, "k": [1, 2]}); made = MoneyArray.made
        sp = pd.Series(pd.arrays.SparseArray([0, 0, 5], fill_value=0)); spd = pd.DataFrame.sparse.from_spmatrix(__import__("scipy.sparse").sparse.eye(3).tocsr()); sb = pd.arrays.SparseArray([True, False], kind="block")
        i8 = pd.array([1, None], dtype="Int8"); bo = pd.array([True, None], dtype="boolean"); fl = pd.array([1.0, np.nan], dtype="Float32"); st = pd.array(["a", None], dtype="string"); ar = pd.Series([1, None], dtype=pd.ArrowDtype(pa.int16())); adl = pd.Series([[1], None], dtype=pd.ArrowDtype(pa.list_(pa.int8()))); ad = pd.Series([decimal.Decimal("1.10")], dtype=pd.ArrowDtype(pa.decimal128(5, 2))); na = [pd.NA, None]; stn = pd.Series(["a", np.nan], dtype="str"); adic = pd.Series(["u", "v", "u"], dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string())))
        npe = pd.arrays.NumpyExtensionArray(np.array([1, 2])); c64 = pd.Series([1 + 2j]); f16 = pd.Series(np.array([1.5], "f2")); big = pd.Series([2 ** 70, 1]); mix = pd.DataFrame({"o": [[1], {"a": 2}]}); inner = mix.o[0]
        """,
        """
        ms.dtype, str(mdf.dtypes["m"]), pd.Series([3], dtype="money").array._v, MoneyArray.made >= made, ms.array.dtype is MoneyArray.dtype, isinstance(pd.api.types.pandas_dtype("money"), MoneyType)
        MoneyArray.made
        sp.dtype, sp.sparse.density, spd.sparse.density, sb.kind, sb.sp_index.to_int_index().indices, sp.sparse.fill_value
        i8, bo, fl, st.dtype.storage, ar.dtype, adl.dtype, ad[0], na[0] is pd.NA, stn.dtype, stn.isna().tolist(), adic.dtype
        i8._mask.tolist(), (i8 + 1).dtype, ar.sum(), adl.tolist()[0], npe.dtype, c64[0], f16.dtype, big.tolist(), mix.o[0] is inner
        inner.append(2) ;; mix.o[0]
        """,
    ),
    "arrays with more than numbers": session(
        """
        import numpy as np
        ti = np.dtype([(("Title A", "a"), "i4"), (("Title B", "b"), "U2")], align=True); st = np.array([(1, "x")], dtype=ti); off = np.dtype({"names": ["p", "q"], "formats": ["i1", "f8"], "offsets": [0, 16], "itemsize": 32}); oa = np.zeros(2, off); meta = np.dtype("i4", metadata={"unit": "m"}); ma_ = np.zeros(2, meta); subd = np.zeros(2, dtype=[("m", "f4", (2, 2))])
        base = np.arange(24.0).reshape(4, 6); v = base[1:3, ::2]; tr = base.T; rv = base[::-1]; fl = base.ravel(); fo = base.flat; dg = np.diagonal(base); mt = base.view("i8"); fa = np.asfortranarray(base); ne = base[np.newaxis]; fit = iter(base); next(fit); nd = np.nditer(base[:1]); field = oa["q"]
        mm = np.ma.masked_array(base.copy(), mask=base > 20, fill_value=-9, hard_mask=True); mv = mm[0]; sh = mm.mask; mrec = np.ma.array([(1, 2.0)], dtype=[("i", int), ("f", float)], mask=[(True, False)]); ms = np.ma.masked; nomask = np.ma.array([1]); const = [np.ma.masked]
        ss = np.random.SeedSequence(7); kids = ss.spawn(2); gens = [np.random.default_rng(k) for k in kids]; gens[0].standard_normal(3); shared_bg = np.random.PCG64DXSM(1); g1, g2 = np.random.Generator(shared_bg), np.random.Generator(shared_bg); mtw = np.random.MT19937(3); jumped = mtw.jumped(); rs = np.random.RandomState(mtw); rs.normal(); ph = np.random.Generator(np.random.Philox(key=1)); ph.integers(5, size=3, dtype="i1"); sfc = np.random.Generator(np.random.SFC64(1)); sfc.random(dtype="f4"); meth = gens[1].integers; spawned = gens[0].spawn(1)
        ob = np.empty(2, object); ob[0] = ob; ob[1] = [base]; sc = st[0]; vd = np.void(b"ab"); ld = np.longdouble(1) / 3; cl = np.clongdouble(1); dt64 = np.datetime64("2024-01-01T00", "h"); nat = np.datetime64("NaT"); ch = np.char.array(["a", "b "]); ms_ = np.memmap("m.bin", "f4", "w+", shape=3); ms_[0] = 2; bz = np.zeros(3, "V4"); e = np.errstate(divide="raise"); pf = np.polynomial.Chebyshev([1, 2], domain=[0, 4], window=[-1, 1], symbol="t"); ix = np.ix_([0], [1]); s_ = np.s_[1:, ::2]; og = np.ogrid[0:2]; r2 = np.rec.array([(1, "a")], names="n,s")
        np.seterr(invalid="ignore"); np.set_printoptions(precision=3, formatter={"bool": lambda b: "T" if b else "F"}); calls = []; np.seterrcall(lambda k, f: calls.append(k))
        """,
        """
        st["Title A"], st.dtype.fields["a"][2], st.dtype.isalignedstruct, oa.dtype.itemsize, oa.dtype.fields["q"][1], ma_.dtype.metadata, subd.dtype["m"].shape
        base[1, 0] = 99 ;; v[0, 0], tr[0, 1], rv[2, 0], mt[1, 0], ne[0, 1, 0], fl[6], dg.base is base or dg.tolist()
        np.shares_memory(v, base), v.strides, np.shares_memory(tr, base), tr.flags.f_contiguous, np.shares_memory(mt, base), fa.flags.f_contiguous, dg.flags.writeable
        fo[3], fo.index, fo.base is base
        next(fit)[0]
        oa["q"][0] = 5 ;; field[0], np.shares_memory(field, oa)
        mm.mask = False ;; mm.count(), mm.hardmask, mm.fill_value, mv.mask.tolist(), mrec.mask.tolist(), ms is np.ma.masked, const[0] is np.ma.masked, nomask.mask is np.ma.nomask
        mm.data[0, 0] = 4 ;; mv.data[0], np.shares_memory(mm.data, mv.data), sh is mm.mask, mm.sharedmask
        gens[0].random(), gens[1].random(), ss.n_children_spawned, kids[1].spawn_key, gens[0].bit_generator.seed_seq is kids[0], gens[0].bit_generator.seed_seq.n_children_spawned, spawned[0].random()
        g1.random() ;; g2.random(), g1.bit_generator is g2.bit_generator, g1.bit_generator is shared_bg, shared_bg.state["state"]
        rs.random() ;; mtw.random_raw(), rs._bit_generator is mtw, jumped.random_raw(), rs.normal()
        ph.integers(5, dtype="i1"), sfc.random(dtype="f4"), meth.__self__ is gens[1], meth(100)
        ob[0] is ob, ob[1][0] is base, sc["a"], type(sc).__name__, np.shares_memory(ob[1][0], base)
        st["a"] = 8 ;; sc["a"]
        vd, ld.dtype, repr(ld), dt64, nat, ch.tolist(), type(ch).__name__, float(ms_[0]), type(ms_).__name__, ms_.mode, bz.dtype, pf.domain.tolist(), pf.symbol, pf(1.0), s_, r2.n.tolist()
        ms_[1] = 7 ;; ms_.flush(), np.fromfile("m.bin", "f4").tolist()
        np.geterr()["invalid"], repr(np.array([1.23456])), repr(np.array([True])), np.geterrcall() is not None
        """,
        named="fo fit nd e",
    ),
    "tables of arrow, polars and duckdb": session(
        """
        import pyarrow as pa, polars as pl, duckdb, pyarrow.compute as pc, pyarrow.dataset as ds, datetime as dt, pandas as pd
        d1 = pa.DictionaryArray.from_arrays([0, 1, None], ["a", "b"], ordered=True); ch = pa.chunked_array([d1, d1.slice(1)]); tb = pa.table({"d": ch, "n": pa.chunked_array([[1, 2, 3], [4, 5]])}); sl = tb.slice(2, 2); fld = pa.field("f", pa.int8(), nullable=False, metadata={"k": "v"}); sch = pa.schema([fld], metadata={"m": "1"}); un = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["x", "y"])]); ree = pa.RunEndEncodedArray.from_arrays([2, 3], ["a", "b"]); buf = pa.py_buffer(b"abcd")[1:3]; rb = pa.RecordBatch.from_pydict({"x": [1, 2]}).slice(1); lt = pa.array([[1], [2, 3], None], pa.large_list(pa.int64())).slice(1); mp = pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int8())); ext = pa.scalar(dt.timedelta(1)); expr = pc.field("n") > 2; rd = pa.RecordBatchReader.from_batches(rb.schema, [rb]); ts = pa.array([dt.datetime(2024, 1, 1)], pa.timestamp("ms", "UTC")); fsl = pa.array([[1, 2]], pa.list_(pa.int8(), 2)); t2 = tb.append_column("z", pa.nulls(5))
        df = pl.DataFrame({"a": [3, 1, 2], "s": ["x", "y", None], "t": [1, 2, 3]}).with_columns(pl.col("a").sort().alias("srt")); obj = pl.DataFrame({"o": pl.Series([object, 1], dtype=pl.Object)}); lf = df.lazy().select(pl.col("a").sort().alias("q"), w=pl.col("a").sum().over("s")); srt = df["srt"].flags; cat = pl.Series(["u", "v"], dtype=pl.Categorical); en = pl.Series(["b"], dtype=pl.Enum(["a", "b"])); arr = pl.Series([[1, 2]], dtype=pl.Array(pl.Int8, 2)); dur = pl.Series([dt.timedelta(1)], dtype=pl.Duration("ms")); st = pl.Series([{"a": 1, "b": None}]); dec = pl.Series(["1.5"]).str.to_decimal(scale=1); nul = pl.Series([None, None]); ex = (pl.col("^a.*$") * 2).name.suffix("_x"); wh = pl.when(pl.col("a") > 1).then(pl.lit("hi")).otherwise(None).alias("w"); sel = pl.selectors.numeric() - pl.selectors.by_name("a"); ctx = pl.SQLContext(t=df.lazy().select("a")); down = pl.Series("down", [3, 1]).sort(descending=True); chunks = pl.concat([df.select("a"), df.select("a")], rechunk=False); vw = df.select("a").to_numpy(); cfg = pl.Config.state().get("POLARS_FMT_MAX_ROWS"); pl.Config.set_tbl_rows(3); sch2 = df.schema; bn = pl.Series([b"ab"]); tz = pl.Series([dt.datetime(2024, 1, 1)]).dt.replace_time_zone("Asia/Tokyo"); u128 = pl.Series([1], dtype=pl.Int128)
        con = duckdb.connect(); con.execute("create table t as select range a, range % 2 b from range(5)"); rel = con.table("t").filter("a > 1").project("a * 2 as d"); plain = con.execute("select a from t order by a").fetchall(); con2 = duckdb.connect(); con2.execute("create macro f(x) as x + 1; create sequence sq start 5; create type mood as enum ('a','b'); create temp table tt as select 'b'::mood m"); con2.execute("select nextval('sq')").fetchall(); con3 = duckdb.connect(); con3.execute("create table t as select 1 a; prepare q as select $1 + 1"); con4 = duckdb.connect(); con4.execute("create table t as select 1 a; begin; insert into t values (99)"); cur = con.cursor(); con5 = duckdb.connect(); con5.create_function("addk", lambda v: v + 1, [int], int)
        """,
        """
        ch.num_chunks, ch.type, ch.to_pylist(), sl.to_pylist(), sl["d"].num_chunks, d1.type.ordered, fld.metadata, fld.nullable, sch.metadata
        un.to_pylist(), un.type, ree.to_pylist(), ree.type, buf.to_pybytes(), rb.to_pydict(), rb.column(0).offset, lt.to_pylist(), lt.offset, mp.to_pylist(), ext, str(expr), tb.filter(expr).num_rows, ts.type, fsl.type, t2.schema, t2["n"].num_chunks
        rd.read_all().to_pydict()
        srt, df["srt"].flags, df.schema == sch2, down.flags, df["a"].flags
        obj["o"].to_list()
        lf.collect().to_dicts(), cat.to_list(), cat.dtype, en.dtype, arr.dtype, dur.dtype, st.to_list(), dec.to_list(), dec.dtype, nul.dtype, bn.to_list(), tz.dtype, u128.dtype
        df.select(ex).columns, df.select(wh)["w"].to_list(), df.select(sel).columns, chunks.n_chunks(), vw.tolist()
        ctx.execute("select sum(a) s from t").collect().item()
        pl.Config.state().get("POLARS_FMT_MAX_ROWS"), cfg
        con4.execute("rollback") ;; con4.execute("select count(*) from t").fetchone()
        con2.execute("select f(2), nextval('sq'), (select m from tt)").fetchone()
        con3.execute("execute q(4)").fetchone()
        con5.execute("select addk(2)").fetchone()
        rel.fetchall()
        cur.execute("select count(*) from t").fetchone()
        """,
        named="rd rel con2 con4 ctx obj q addk",
    ),
    "learners, figures and what they hold": session(
        """
        import numpy as np, pandas as pd, matplotlib; matplotlib.use("agg")
        import matplotlib.pyplot as plt, matplotlib.animation as an
        from sklearn.base import BaseEstimator, TransformerMixin, clone
        from sklearn.compose import ColumnTransformer, make_column_selector, TransformedTargetRegressor
        from sklearn.pipeline import Pipeline, FeatureUnion
        from sklearn.preprocessing import FunctionTransformer, StandardScaler
        from sklearn.linear_model import Ridge, SGDRegressor
        from sklearn.ensemble import HistGradientBoostingRegressor, VotingRegressor
        from sklearn.metrics import make_scorer
        from sklearn.neighbors import KNeighborsRegressor
        X = pd.DataFrame({"a": np.arange(12.0), "b": list("xyz") * 4}); y = X.a * 2; k = 3
        class Center(BaseEstimator, TransformerMixin):
            def __init__(self, by=0): self.by = by
            def fit(self, X, y=None): self.mean_ = X.mean() + self.by; return self
            def transform(self, X): return X - self.mean_
        ct = ColumnTransformer([("f", FunctionTransformer(lambda d: d * k), ["a"]), ("l", FunctionTransformer(lambda d: d.map(len) if hasattr(d, "map") else d), make_column_selector(dtype_exclude="number"))], verbose_feature_names_out=False).set_output(transform="pandas").fit(X)
        pipe = Pipeline([("c", Center(1)), ("r", Ridge())], memory=None).fit(X[["a"]], y); sgd = SGDRegressor(random_state=0); sgd.partial_fit(X[["a"]] / 10, y); hg = HistGradientBoostingRegressor(max_iter=3, random_state=0).fit(X[["a"]], y); tt = TransformedTargetRegressor(Ridge(), func=lambda v: v + k, inverse_func=lambda v: v - k).fit(X[["a"]], y); vr = VotingRegressor([("a", Ridge()), ("b", pipe)]).fit(X[["a"]], y); knn = KNeighborsRegressor(2, metric=lambda u, v: float(abs(u - v).sum())).fit(X[["a"]], y); score = make_scorer(lambda t, p: float(np.mean(t - p)) + k, greater_is_better=False); first = pipe[0]; named = pipe.named_steps
        fig, (ax, ax2) = plt.subplots(1, 2, sharex=True); (line,) = ax.plot([1, 2, 3], [1, 4, 9], label="l"); tw = ax.twinx(); leg = ax.legend(); ann = ax.annotate("n", (1, 1), xytext=(2, 2), arrowprops={"arrowstyle": "->"}); img = ax2.imshow(np.eye(2), cmap="magma"); bars = ax.bar([1, 2], [3, 4]); sc = ax.scatter([1, 2], [1, 2], c=[0.1, 0.9]); ax.xaxis.set_major_formatter(lambda v, p: f"{v * k:.0f}"); ins = ax.inset_axes([0.5, 0.5, 0.3, 0.3]); sub = fig.add_subfigure if hasattr(fig, "add_subfigure") else None; tx = fig.text(0, 0, "t"); err = ax.errorbar([1], [1], yerr=[0.1]); clicks = []; cid = fig.canvas.mpl_connect("button_press_event", lambda e: clicks.append(e)); hist = ax2.hist([1, 2, 2])
        ani = an.FuncAnimation(fig, lambda i: line.set_ydata([i, i, i]), frames=3, cache_frame_data=False); ani._draw_was_started = True
        tr = ax.transData; box = ax.get_position(); cm = plt.get_cmap("viridis").with_extremes(bad="red"); nrm = matplotlib.colors.LogNorm(1, 10); style = dict(plt.rcParams.find_all("lines.linewidth")); poly = matplotlib.path.Path([(0, 0), (1, 1)]); ptch = matplotlib.patches.FancyBboxPatch((0, 0), 1, 1, boxstyle="round"); cyc = plt.rcParams["axes.prop_cycle"]; it = iter(cyc); plt.ioff(); cur = plt.gcf()
        """,
        """
        k = 4 ;; ct.transform(X).iloc[1, 0], ct.get_feature_names_out() is not None, type(ct.transform(X)).__name__
        pipe.predict(X[["a"]])[:2].round(3).tolist(), pipe[0] is first, named["c"] is first, clone(pipe)[0].by, hasattr(clone(pipe)[0], "mean_")
        sgd.partial_fit(X[["a"]] / 10, y) ;; sgd.coef_.round(6).tolist(), sgd.t_
        hg.predict(X[["a"]])[:2].round(3).tolist(), tt.predict(X[["a"]])[:2].round(3).tolist(), vr.predict(X[["a"]])[:2].round(3).tolist()
        knn.predict(X[["a"]])[:2].tolist()
        score(pipe, X[["a"]], y)
        line.axes is ax, fig.axes[0] is ax, tw.get_shared_x_axes().joined(ax, tw), ax.get_shared_x_axes().joined(ax, ax2), ax.get_legend() is leg, leg.get_texts()[0].get_text()
        ax.set_xlim(0, 50) ;; ax2.get_xlim(), tw.get_xlim()
        k = 2 ;; ax.xaxis.get_major_formatter()(3, 0)
        bars.patches[0] in ax.patches, ax.containers[0] is bars, ann.xy, ann in ax.texts, img.get_cmap().name, ax2.images[0] is img, sc.get_array().tolist(), ins.figure is fig, err in ax.containers, tx in fig.texts, hist[2][0] in ax2.patches
        [f()(1) for f in fig.canvas.callbacks.callbacks["button_press_event"].values() if f().__name__ == "<lambda>"], clicks
        ani._func(5) ;; line.get_ydata()
        tr.transform((1, 1)).round(1).tolist(), ax.transData is tr, box.bounds, cm.get_bad().tolist(), nrm(10.0), style, len(poly.vertices), ptch.get_boxstyle().pad, plt.isinteractive()
        tr.transform((2, 2)).round(1).tolist() == ax.transData.transform((2, 2)).round(1).tolist()
        """,
        named="ani tr it",
    ),
}
