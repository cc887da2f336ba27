"""Sessions of analysts and data engineers: parts that write through to their whole, and what libraries hold for all."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "masked arrays that share masks": session(
        """
        import numpy as np
        d = np.arange(6.0); m = np.ma.array(d, mask=[0, 1, 0, 0, 1, 0], copy=False); part = m[1:4]; v = m.view(); hard = np.ma.array([1, 2, 3], mask=[1, 0, 0], hard_mask=True)
        um = np.ma.array([1, 2, 3], mask=[0, 1, 0]); sharedm = um[:]; um2 = um.copy(); um2.unshare_mask()
        no = np.ma.array([1, 2]); st = np.ma.array([(1, 2.0), (3, 4.0)], mask=[(0, 1), (0, 0)], dtype=[("a", int), ("b", float)]); mv = st[0]; fld = st["b"]
        st.fill_value = (-1, -2.5); con = [np.ma.masked, um[1], 3]; import numpy.ma.mrecords; rec = np.ma.mrecords.fromarrays([np.ma.array([1, 2], mask=[0, 1]), [3.0, 4.0]], names="x,y"); x = rec.x
        class Tagged(np.ma.MaskedArray):
            def __new__(cls, a, tag=None, **k): o = np.ma.array(a, **k).view(cls); o.tag = tag; return o
            def __array_finalize__(self, o): super().__array_finalize__(o); self.tag = getattr(o, "tag", None)
        t = Tagged([1, 2, 3], tag=["x"], mask=[0, 0, 1]); ts = t[1:]; m._optinfo["src"] = "file"
        raw = m.data; mk = m.mask; nomask = np.ma.nomask
        """,
        """
        raw[0] = 10 ;; m[0], d[0], v[0]
        part[1] = np.ma.masked ;; m.mask.tolist(), d[2], v.mask.tolist()
        hard[0] = 5 ;; hard.tolist(), hard.hardmask
        um[0] = np.ma.masked ;; sharedm.mask.tolist(), um.sharedmask, sharedm.sharedmask, um2.mask.tolist()
        no.mask is np.ma.nomask, no._mask is nomask, con[0] is np.ma.masked, con[1] is np.ma.masked
        mv["a"] = 50 ;; st.tolist(), st.fill_value.item(), fld.tolist()
        mv.mask, type(mv).__name__, fld.fill_value
        t.tag, ts.tag, type(ts).__name__, (t + 1).tag, t.tag is ts.tag
        ts[0] = 20 ;; t.tolist(), t.mask.tolist()
        m._optinfo, (m * 2)._optinfo, m.soften_mask() is m
        mk[3] = True ;; m.mask.tolist()
        x[0] = 9 ;; rec.x.tolist(), rec.y.tolist(), type(rec).__name__, rec[1].tolist()
        """,
    ),
    "trees that are pruned": session(
        """
        import numpy as np
        from sklearn.tree import DecisionTreeRegressor
        from sklearn.ensemble import RandomForestRegressor
        X = np.random.default_rng(0).random((40, 3)); y = X[:, 0] * 9; tr = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y); inner = tr.tree_
        left, right = inner.children_left, inner.children_right; thr = inner.threshold; tv = inner.value; part = tv[1:]; flat = tv.reshape(-1)
        rf = RandomForestRegressor(2, max_depth=2, random_state=0).fit(X, y); values = [one.tree_.value for one in rf.estimators_]; alone = DecisionTreeRegressor(max_depth=1).fit(X, y).tree_.value
        """,
        """
        part[0] = 3 ;; tv[1].tolist(), flat[1], inner.value[1].tolist()
        thr[0] = 5.0 ;; tr.predict(X[:6]).round(6).tolist(), tr.tree_.threshold[0], tr.tree_ is inner
        left[1] = right[1] = -1 ;; tr.predict(X[:6]).round(6).tolist(), inner.children_left.tolist(), left.flags.writeable
        tv[:] = 7 ;; tr.predict(X[:6]).tolist()
        values[0][:] = 1; values[1][:] = 3 ;; rf.predict(X[:2]).tolist()
        alone.round(6).tolist(), alone.shape
        """,
    ),
    "colors, themes and switches that libraries hold for all": session(
        """
        import seaborn as sns, seaborn.objects as so, matplotlib as mpl, pandas as pd, pandas.plotting as pp, prometheus_client as pm, formulaic, PIL.Image, polars as pl
        sns.set_theme(palette="bright"); mpl.colors.get_named_colors_mapping()["corp"] = "#123456"
        so.Plot.config.theme["axes.facecolor"] = "pink"; so.Plot.config.display["format"] = "svg"; pp.plot_params["x_compat"] = True
        done = pm.Counter("my_jobs", "d", ["kind"]); done.labels("a").inc(2); waiting = pm.Gauge("my_depth", "d"); waiting.set_function(lambda: depth); depth = 4
        class Counted:
            def collect(self): yield prometheus_client.core.GaugeMetricFamily("my_count", "h", value=depth)
        import prometheus_client.core; pm.REGISTRY.register(Counted()); pm.REGISTRY.unregister(pm.GC_COLLECTOR)
        im = PIL.Image.new("L", (2, 2)); im.tag = "t"; im.app = {"a": 1}; pl.set_random_seed(7); pl.Series(range(5)).sample(2)
        """,
        """
        mpl.colors.to_hex("b"), mpl.colors.to_hex("corp"), mpl.colors.to_hex("slategray")
        so.Plot.config.theme["axes.facecolor"], so.Plot.config.display["format"]
        so.Plot.config.theme.reset() ;; so.Plot.config.theme["axes.facecolor"]
        pp.plot_params["x_compat"]
        done.labels("a").inc() ;; pm.REGISTRY.get_sample_value("my_jobs_total", {"kind": "a"})
        depth = 9 ;; pm.REGISTRY.get_sample_value("my_depth"), waiting in pm.REGISTRY._collector_to_names, pm.REGISTRY.get_sample_value("my_count")
        pm.GC_COLLECTOR in pm.REGISTRY._collector_to_names, pm.PROCESS_COLLECTOR in pm.REGISTRY._collector_to_names
        pm.Counter("my_jobs", "d")
        im.tag, im.app
        "set_random_seed", pl.Series(range(50)).sample(3).to_list()
        """,
        named="set_random_seed",
    ),
    "answers that are read half way": session(
        """
        import requests, io, urllib3, httpx, sqlite3
        def answer(raw): r = requests.Response(); r.status_code = 200; r.raw = raw; return r
        begun = answer(urllib3.HTTPResponse(io.BytesIO(b"line1\\nline2\\n"), preload_content=False)); begun.raw.read(6); fresh = answer(io.BytesIO(b"abc")); whole = answer(io.BytesIO(b"whole")); whole.content
        cl = httpx.Client(transport=httpx.MockTransport(lambda q: httpx.Response(200, content=iter([b"a", b"b"])))); got = cl.get("http://z"); left = cl.send(cl.build_request("GET", "http://z"), stream=True)
        class Con(sqlite3.Connection):
            asked = 0
            def one(self, q): self.asked += 1; return self.execute(q).fetchone()[0]
        own = sqlite3.connect("w.db", factory=Con); own.one("select 1"); own.tags = ["x"]; tags = own.tags
        """,
        """
        begun.raw.read(6)
        fresh._content_consumed, fresh.raw.read(2)
        whole.text, whole.status_code
        got.text, got.status_code
        left.read()
        own.one("select 5"), own.asked, own.tags is tags
        """,
        named="begun fresh left",
    ),
    "texts and elements of XML in others": session(
        """
        from lxml import etree, objectify
        import pyarrow as pa
        texts = etree.fromstring("<r><a>t<b/>tail</a></r>").xpath("//text()"); plain = etree.fromstring("<r>q</r>").xpath("string(/r)")
        ob = objectify.fromstring("<o><n>5</n><n>6</n><s k='v'>x</s></o>"); num = ob.n; second = ob.n[1]; s = ob.s; alone = objectify.fromstring("<z><y>1</y></z>").y
        etree.FunctionNamespace("urn:z")["dbl"] = lambda c, v: v * 2
        class Pt(pa.ExtensionType):
            def __init__(self, crs): self.crs = crs; super().__init__(pa.int8(), "own.pt")
            def __arrow_ext_serialize__(self): return self.crs.encode()
            @classmethod
            def __arrow_ext_deserialize__(cls, st, ser): return cls(ser.decode())
        pa.register_extension_type(Pt("x")); kind = Pt("wgs")
        """,
        """
        texts, plain
        "getparent", texts[1].getparent().tag
        num.getparent() is ob, num.getparent().n[1] is second, s.get("k"), alone.getparent().tag
        second.getparent().append(objectify.E.n(7)) ;; [int(one) for one in ob.n], int(second)
        ob.remove(num) ;; int(ob.n), num.getparent()
        "FunctionNamespace", etree.fromstring("<a/>").xpath("z:dbl('q')", namespaces={"z": "urn:z"})
        "Pt", pa.ipc.read_schema(pa.schema([("p", kind)]).serialize()).field("p").type
        """,
        named="FunctionNamespace Pt",
    ),
    "models in state space that go on": session(
        """
        import numpy as np, statsmodels.api as sm, warnings
        warnings.simplefilter("ignore"); y = np.random.default_rng(3).normal(size=40).cumsum(); k = 1.0
        class AR1(sm.tsa.statespace.MLEModel):
            start_params = [0.5, 1.0]; param_names = ["phi", "s2"]
            def __init__(self, endog): super().__init__(endog, k_states=1, k_posdef=1, initialization="stationary"); self["design", 0, 0] = 1.0; self["selection", 0, 0] = 1.0
            def update(self, params, **kw): params = super().update(params, **kw); self["transition", 0, 0] = params[0] * k; self["state_cov", 0, 0] = params[1]
        m = AR1(y); r = m.smooth([0.5, 1.0]); ar = sm.tsa.SARIMAX(y, order=(1, 0, 0)).fit(disp=0); uc = sm.tsa.UnobservedComponents(y, "llevel"); ucr = uc.smooth([1.0, 0.5]); sim = m.simulation_smoother()
        """,
        """
        r.llf.round(6), r.filtered_state[0, :3].round(6).tolist(), r.smoothed_state[0, :3].round(6).tolist(), r.model is m
        k = 0.5 ;; m.loglike([0.5, 1.0]).round(6), m["transition"].tolist()
        m.smooth([0.3, 2.0]).smoothed_state[0, :3].round(6).tolist()
        ar.model.loglike(ar.params + 0.1).round(6), ar.append([1.0]).forecast(1).round(6).tolist(), ar.forecast(2).round(6).tolist()
        uc.loglike([2.0, 0.1]).round(6), uc.smooth([0.2, 0.2]).smoothed_state[0, :2].round(6).tolist(), ucr.forecast(1).round(6).tolist()
        ar.simulate(2, rng=np.random.default_rng(1)).round(6).tolist(), ar.get_prediction(38, 41).predicted_mean.round(6).tolist()
        """,
        named="sim",
    ),
    "variables, signals and notes": session(
        """
        import duckdb, blinker, numpy as np, scipy.spatial
        con = duckdb.connect(); con.execute("set variable vv = 7"); con.execute("set variable l = [1, 2]"); con.execute("set variable s = 'it''s'"); con.execute("set variable nothing = null"); con.execute("set variable none = null::date"); con.execute("set variable b = unhex('FF71')"); con.execute("set variable m = map {'k': 1}"); con.execute('set variable "odd name" = $$NULL$$'); con.execute("create table t as select 1 as x"); con.execute("set variable day = date '2024-02-03'"); fc = duckdb.connect("f.duckdb"); fc.execute("set variable st = {'a': 1, 'b': 'q'}")
        done = blinker.signal("done"); heard = []
        def on_done(sender, **k): heard.append((sender, k))
        done.connect(on_done); tree = scipy.spatial.KDTree(np.eye(2)); tree.note = ["n"]; note = tree.note
        """,
        """
        con.execute("select getvariable('vv') + 1, getvariable('l'), getvariable('s'), getvariable('day')").fetchall()
        con.execute("select getvariable('nothing'), typeof(getvariable('none')), getvariable('b'), getvariable('m'), getvariable('odd name')").fetchall()
        con.execute("select x from t").fetchall(), fc.execute("select getvariable('st')").fetchall()
        blinker.signal("done") is done
        blinker.signal("done").send("me", v=1) ;; heard
        tree.note is note, tree.query([0.9, 0.1])[1], tree.n
        """,
    ),
}
