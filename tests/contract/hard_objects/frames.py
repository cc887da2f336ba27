"""Frames, series, arrays and tables of all kinds, and what they share."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "dtypes of pandas": session(
        """
        import pandas as pd, numpy as np, datetime as dt
        df = pd.DataFrame({
            "i": pd.array([1, None, 3], dtype="Int64"), "b": pd.array([True, None, False], dtype="boolean"), "s": pd.array(["a", None, "c"], dtype="string"),
            "c": pd.Categorical(["x", "y", None], categories=["y", "x", "z"], ordered=True), "t": pd.to_datetime(["2024-01-01", None, "2024-03-10"]).tz_localize("Europe/Berlin"),
            "d": pd.to_timedelta([1, None, 3], unit="h"), "p": pd.PeriodIndex(["2024Q1", "2024Q2", None], freq="Q"), "iv": pd.IntervalIndex.from_breaks([0, 1, 2, 3], closed="left"),
            "o": [{"a": 1}, [1, 2], None], "sp": pd.arrays.SparseArray([0, 0, 5]), "f": np.array([1, 2, np.nan], "f4"), "cx": [1 + 2j, 0, 3],
        }, index=pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)], names=["k", "n"]))
        df.attrs["source"] = {"file": "x"}
        ar = df.convert_dtypes(dtype_backend="pyarrow") if False else pd.DataFrame({"x": pd.array([1, 2, None], dtype="int64[pyarrow]"), "l": pd.array([[1], [2, 3], None], dtype=pd.ArrowDtype(__import__("pyarrow").list_(__import__("pyarrow").int64())))})
        """,
        """
        str(df.dtypes.to_dict())
        df.to_string()
        df.c.cat.categories.tolist(), df.c.cat.ordered, df.c.min()
        df.t.dt.tz, df.t.iloc[2]
        df.loc[("a", 2), "o"], df.index.names
        df.attrs["source"]["file"]
        df.sp.sparse.density, df.sp.sum()
        df.iv.array.closed, df.p.iloc[0] + 1
        ar.dtypes.astype(str).tolist(), ar.l.tolist(), ar.x.sum()
        df.memory_usage().sum() > 0, df.f.dtype
        """,
    ),
    "frames that share": session(
        """
        import pandas as pd, numpy as np
        base = pd.DataFrame({"a": [1, 2, 3], "b": [4.0, 5, 6]})
        col = base["a"]; sub = base[["a"]]; tail = base.iloc[1:]; same = base; copied = base.copy()
        arr = np.arange(12.0).reshape(3, 4); wrapped = pd.DataFrame(arr, copy=False)
        vals = base["b"].to_numpy(); s = pd.Series(arr[0], copy=False)
        by = base.groupby("a"); roll = base.b.rolling(2); ex = base.b.expanding()
        holder = {"one": base, "two": [base, col]}
        """,
        """
        base.loc[0, "a"] = 100 ;; same.loc[0, "a"], copied.loc[0, "a"]
        col.iloc[0], sub.iloc[0, 0], tail.iloc[0, 0]
        holder["one"] is base, holder["two"][0] is base, holder["two"][1] is col
        arr[0, 0] = -5 ;; wrapped.iloc[0, 0], s.iloc[0]
        by.b.sum().to_dict()
        roll.mean().tolist(), ex.max().tolist()
        vals.flags.writeable
        wrapped.iloc[1, 1] = 77 ;; arr[1, 1]
        """,
    ),
    "indexes": session(
        """
        import pandas as pd, numpy as np
        days = pd.date_range("2024-01-01", periods=5, freq="D", tz="UTC", name="day"); bus = pd.bdate_range("2024-01-01", periods=3)
        r = pd.RangeIndex(5, name="r"); cat = pd.CategoricalIndex(["a", "b", "a"]); iv = pd.interval_range(0, 3)
        per = pd.period_range("2024-01", periods=3, freq="M"); td = pd.timedelta_range("1h", periods=3, freq="30min")
        mi = pd.MultiIndex.from_product([["x", "y"], [1, 2]], names=("l", "n")); s = pd.Series(range(4), index=mi)
        off = pd.offsets.MonthEnd(2); cbd = pd.offsets.CustomBusinessDay(holidays=["2024-01-02"])
        ts = pd.Timestamp("2024-05-05 10:00", tz="America/New_York"); tdelta = pd.Timedelta("3h"); pr = pd.Period("2024-03", "M"); inter = pd.Interval(0, 5)
        """,
        """
        days.freq, days.tz, days.name
        bus.freqstr, bus[1] + bus.freq
        r.start, r.stop, type(r).__name__, r.name
        cat.categories.tolist(), cat.is_unique
        iv.closed, iv.contains(1.5).tolist()
        per[0].end_time, per.freqstr, td.freq
        s.loc["x"].tolist(), s.xs(2, level="n").to_dict(), mi.levels
        ts + off, ts + cbd, ts.tz, ts.fold
        tdelta.components, pr.start_time, 3 in inter
        days.freq is not None and (days + pd.Timedelta(1, "h")).freq
        """,
    ),
    "arrays": session(
        """
        import numpy as np
        rec = np.array([(1, "a", 2.5), (2, "b", 3.5)], dtype=[("i", "i4"), ("s", "U3"), ("f", "f8")]); ra = rec.view(np.recarray)
        f = np.asfortranarray(np.arange(6).reshape(2, 3)); big = np.arange(3, dtype=">i4"); dates = np.array(["2024-01-01", "NaT"], "M8[D]"); td = np.array([1, 2], "m8[h]")
        m = np.ma.array([1.0, 2, 3], mask=[0, 1, 0], fill_value=-1); mm = np.matrix([[1, 2], [3, 4]]); ob = np.array([1, "a", None, [2]], dtype=object)
        zero = np.array(5.0); empty = np.zeros((0, 3)); ro = np.arange(3); ro.flags.writeable = False; shut = np.arange(6.0); door = shut[2:]; shut.flags.writeable = False
        st = np.lib.stride_tricks.sliding_window_view(np.arange(6), 3); b = np.broadcast_to(np.arange(3), (2, 3)); neg = np.arange(5)[::-1]
        class Unit(np.ndarray):
            def __array_finalize__(self, o): self.unit = getattr(o, "unit", None)
        u = np.arange(3.0).view(Unit); u.unit = "m"
        vec = np.vectorize(lambda x: x + 1); poly = np.poly1d([1, 2]); pol = np.polynomial.Polynomial([1, 2, 3]); uf = np.frompyfunc(lambda a, b: a + b, 2, 1)
        st_arr = np.array(["abc", "de"], dtype=np.dtypes.StringDType()) if hasattr(np.dtypes, "StringDType") else np.array(["abc", "de"])
        sc = np.float32(1.5); nb = np.bool_(True)
        """,
        """
        rec["s"].tolist(), ra.f.tolist(), rec.dtype.names
        f.flags.f_contiguous, big.dtype.byteorder, dates.tolist(), td.dtype
        m.sum(), m.fill_value, m.mask.tolist(), mm * mm
        ob.tolist(), zero.ndim, empty.shape, ro.flags.writeable
        shut.flags.writeable, door.flags.writeable, door.base is shut, np.multiply(door, 2, out=door).tolist(), shut.tolist()
        st.shape, st[1].tolist(), b.strides, neg.tolist()
        u.unit, type(u).__name__, u[1:].unit
        vec([1, 2]).tolist(), poly(2), pol(2)
        uf(1, 2)
        st_arr.tolist(), sc, type(sc).__name__, nb is np.True_
        m.mask[0] = True ;; m.count()
        """,
        named="uf",
    ),
    "memory maps and buffers": session(
        """
        import numpy as np, array
        mm = np.memmap("data.bin", dtype="f8", mode="w+", shape=(100,)); mm[:] = np.arange(100); mm.flush(); part = mm[10:20]
        np.save("saved.npy", np.arange(50)); ld = np.load("saved.npy", mmap_mode="r"); cow = np.load("saved.npy", mmap_mode="c"); cow[0] = 9
        ba = bytearray(b"0123456789"); view = np.frombuffer(ba, dtype="u1"); mv = memoryview(ba)[2:5]
        ar = array.array("d", [1, 2, 3]); nv = np.frombuffer(ar)
        npz = np.load("z.npz") if False else None
        by = np.frombuffer(b"abcd", dtype="u1")
        """,
        """
        mm[5] = -1 ;; np.fromfile("data.bin")[5]
        part[0] = 5 ;; mm[10]
        ld[3], ld.flags.writeable, cow[0], np.load("saved.npy")[0]
        ba[0] = 65 ;; view[0], bytes(mv)
        ar[0] = 9 ;; nv[0]
        view[2] = 90 ;; bytes(mv), ba
        by.tolist(), by.flags.writeable
        """,
    ),
    "polars and arrow": session(
        """
        import polars as pl, pyarrow as pa, datetime as dt
        df = pl.DataFrame({"a": [1, 2, None], "s": ["x", None, "z"], "l": [[1], [], None], "st": [{"q": 1}, {"q": 2}, None], "d": [dt.date(2024, 1, 1)] * 3, "t": pl.Series([dt.datetime(2024, 1, 1)] * 3).dt.replace_time_zone("Europe/Paris"), "c": pl.Series(["u", "v", "u"], dtype=pl.Categorical), "e": pl.Series(["lo", "hi", "lo"], dtype=pl.Enum(["lo", "hi"])), "dec": pl.Series(["1.10", "2.20", None]).str.to_decimal(scale=2)})
        lazy = df.lazy().filter(pl.col("a") > 1).select("a", pl.col("s").str.to_uppercase()); expr = pl.col("a").sum().alias("total"); same = df
        tb = pa.table({"x": [1, 2, 3], "d": pa.array(["a", "b", "a"]).dictionary_encode(), "n": pa.array([[1], None, [2, 3]])}, metadata={"k": "v"}) if False else pa.table({"x": [1, 2, 3], "d": pa.array(["a", "b", "a"]).dictionary_encode(), "n": pa.array([[1], None, [2, 3]])}).replace_schema_metadata({"k": "v"})
        ch = pa.chunked_array([[1, 2], [3]]); rb = pa.record_batch({"y": [1.5]}); sch = tb.schema; sc = pa.scalar(5); sl = tb.slice(1, 1)
        ser = pl.Series("n", [1, 2, 3]); g = df.group_by("c", maintain_order=True)
        """,
        """
        df.schema
        df.to_dicts()
        lazy.collect().to_dicts()
        df.select(expr).item(), same is df
        df["c"].to_list(), df["e"].dtype, df["dec"].to_list()
        tb.to_pylist(), tb.schema.metadata, tb["d"].type
        ch.num_chunks, ch.to_pylist(), rb.to_pydict(), sl.to_pylist(), sc.as_py()
        sch.equals(tb.schema), ser.name, ser.sum()
        g.len().to_dicts()
        """,
        named="g",
    ),
    "lambdas in polars": session(
        """
        import polars as pl
        factor = 3
        df = pl.DataFrame({"a": [1, 2]})
        lazy = df.lazy().with_columns(pl.col("a").map_elements(lambda v: v * factor, return_dtype=pl.Int64).alias("b"))
        expr = pl.col("a").map_elements(lambda v: v + factor, return_dtype=pl.Int64)
        batches = df.lazy().map_batches(lambda f: f.with_columns(k=pl.lit(factor)), validate_output_schema=False)
        plain = pl.col("a") + 1
        """,
        """
        factor = 10 ;; lazy.collect()["b"].to_list()
        df.select(expr)["a"].to_list()
        batches.collect()["k"].to_list()
        df.select(plain)["a"].to_list()
        """,
        named="lazy expr batches",
    ),
    "sparse and spatial": session(
        """
        import scipy.sparse as sp, numpy as np, scipy.interpolate as si, scipy.stats as st, scipy.spatial as ss, scipy.optimize as so
        csr = sp.csr_matrix(np.eye(4)); coo = sp.coo_array(([1, 2], ([0, 1], [1, 0]))); lil = sp.lil_matrix((3, 3)); lil[0, 1] = 5; dok = sp.dok_matrix((2, 2)); dok[1, 1] = 3
        spl = si.CubicSpline([0, 1, 2], [0, 1, 4]); lin = si.interp1d([0, 1], [0, 2]); fr = st.norm(2, 3); kde = st.gaussian_kde(np.arange(10.0)); tree = ss.cKDTree(np.arange(10.0).reshape(5, 2)); hull = ss.ConvexHull([[0, 0], [1, 0], [0, 1]])
        res = so.minimize(lambda x: (x - 1) ** 2, 0.0); rot = ss.transform.Rotation.from_euler("z", 90, degrees=True)
        lop = sp.linalg.aslinearoperator(csr)
        """,
        """
        csr.toarray().sum(), type(csr).__name__, csr.has_sorted_indices
        coo.toarray().tolist(), lil[0, 1], dok[1, 1]
        lil[2, 2] = 7 ;; lil.nnz
        float(spl(1.5)), float(lin(0.5)), fr.mean(), fr.rvs(2, random_state=3).round(3).tolist()
        round(float(kde(3.0)[0]), 6), tree.query([0.0, 1.0])[1]
        hull.volume, res.success, round(float(res.x[0]), 3)
        rot.as_euler("z").round(3).tolist(), lop.shape
        """,
        named="hull",
    ),
    "fitted models": session(
        """
        import numpy as np, pandas as pd
        from sklearn.linear_model import LogisticRegression, LinearRegression
        from sklearn.pipeline import make_pipeline, Pipeline
        from sklearn.preprocessing import StandardScaler, OneHotEncoder, FunctionTransformer
        from sklearn.compose import ColumnTransformer
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.model_selection import GridSearchCV, KFold
        X = pd.DataFrame({"a": np.arange(20.0), "k": list("xy") * 10}); y = (X.a > 9).astype(int)
        ct = ColumnTransformer([("n", StandardScaler(), ["a"]), ("c", OneHotEncoder(handle_unknown="ignore"), ["k"])])
        pipe = make_pipeline(ct, LogisticRegression()).fit(X, y)
        rf = RandomForestClassifier(5, random_state=1).fit(X[["a"]], y)
        grid = GridSearchCV(LogisticRegression(), {"C": [0.1, 1]}, cv=KFold(3)).fit(X[["a"]], y)
        shift = 2
        ft = FunctionTransformer(lambda d: d + shift)
        steps = pipe.steps; scaler = ct.transformers[0][1]
        rng = np.random.RandomState(3); rng.rand(); est = RandomForestClassifier(random_state=rng)
        """,
        """
        pipe.predict(X).tolist()
        rf.predict_proba(X[["a"]])[:, 1].round(3).tolist()
        grid.best_params_, round(grid.best_score_, 4)
        shift = 5 ;; ft.transform(np.array([[1]])).tolist()
        pipe.steps is steps, ct.transformers[0][1] is scaler
        est.random_state is rng, rng.rand()
        pipe.named_steps["columntransformer"].get_feature_names_out().tolist()
        rf.estimators_[0].tree_.node_count
        """,
    ),
    "statsmodels": session(
        """
        import numpy as np, pandas as pd, statsmodels.api as sm, statsmodels.formula.api as smf
        rs = np.random.RandomState(0); df = pd.DataFrame({"x": np.arange(30.0), "g": list("abc") * 10}); df["y"] = df.x * 2 + rs.rand(30)
        ols = smf.ols("y ~ x + C(g)", df).fit(); glm = sm.GLM(df.y, sm.add_constant(df.x)).fit()
        def sq(v): return v ** 2
        poly = smf.ols("y ~ sq(x)", df).fit()
        """,
        """
        ols.params.round(4).to_dict()
        ols.predict(pd.DataFrame({"x": [1.0], "g": ["b"]})).round(4).tolist()
        glm.params.round(4).tolist(), round(glm.aic, 3)
        poly.predict(pd.DataFrame({"x": [2.0]})).round(4).tolist()
        ols.model.data.frame is df or ols.model.data.frame.equals(df)
        len(ols.summary().as_text()) > 100
        """,
    ),
    "strings and categories": session(
        """
        import pandas as pd, numpy as np
        s = pd.Series(["a", None, "ü", "𝄞", ""]); ob = pd.Series(["a", np.nan, 3], dtype=object); py = pd.Series(["x", None], dtype="string[python]"); ar = pd.Series(["x", None], dtype="string[pyarrow]")
        cat = pd.Series(["b", "a", "b"], dtype="category"); cat2 = cat.cat.add_categories("z"); dt = cat.dtype; un = pd.Categorical.from_codes([0, 1, 0, -1], ["no", "yes"])
        idx = pd.Index(["p", "q"]); mixed = pd.Index([1, "a", None]); cols = pd.DataFrame([[1, 2]], columns=["dup", "dup"]); ints = pd.DataFrame({0: [1], "0": [2]})
        sur = "\\ud800"; long = "x" * 100_000
        """,
        """
        str(s.dtype), s.isna().tolist(), s.str.len().tolist()
        ob.tolist()[0], ob.isna().tolist(), str(ob.dtype)
        py.dtype.storage, ar.dtype.storage, py.isna().tolist()
        cat.cat.codes.tolist(), cat2.cat.categories.tolist(), cat.dtype == dt
        un.tolist(), un.ordered
        idx.dtype, mixed.tolist(), cols.dup.shape, ints[0].iloc[0], ints["0"].iloc[0]
        cat.iloc[0] = "q"
        ascii(sur), len(long), s[3]
        """,
    ),
    "documents and templates": session(
        """
        import openpyxl, json, io, string, xml.etree.ElementTree as ET, configparser, email.message, collections, pandas as pd
        wb = openpyxl.Workbook(); ws = wb.active; ws["A1"] = 5; ws["B2"] = "=A1*2"; ws.title = "One"; wb.create_sheet("Two")
        root = ET.fromstring("<a x='1'><b>t</b><b/></a>"); el = root[0]
        cp = configparser.ConfigParser(); cp.read_string("[s]\\nk = 1\\n[t]\\nq = %(r)s\\nr = z")
        msg = email.message.EmailMessage(); msg["Subject"] = "hi"; msg.set_content("body")
        tpl = string.Template("$a and $b"); fm = string.Formatter()
        styled = pd.DataFrame({"a": [1.234]}).style.format("{:.1f}")
        """,
        """
        ws["A1"].value, wb.sheetnames, wb["One"] is ws
        ws["C1"] = 1 ;; wb["One"].max_column
        el.text, root.findall("b")[0] is el, root.attrib
        cp["t"]["q"], cp.getint("s", "k")
        msg["Subject"], msg.get_content().strip()
        tpl.substitute(a=1, b=2), fm.format("{0!r:>5}", "x")
        "1.2" in styled.to_html()
        """,
        named="wb ws styled",
    ),
}
