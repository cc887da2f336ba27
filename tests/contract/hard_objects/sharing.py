"""Sessions in which one thing is written and another is looked at: frames, arrays, workbooks, learners, figures."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "frames, who writes through to whom": session(
        """
        import pandas as pd, numpy as np
        df = pd.DataFrame({"a": [1.0, 2, 3], "b": [4.0, 5, 6], "c": list("xyz")}); vals = df[["a", "b"]].values; one = df["a"].values; arr = df["a"].array; loc = df.loc; iloc = df.iloc; at = df.at; iat = df.iat
        num = pd.DataFrame(np.arange(6.0).reshape(3, 2), columns=list("pq")); whole = num.values; T = num.T; q = num["q"]; dead = num["p"]; del dead
        ia = pd.array([1, 2, None], dtype="Int64"); si = pd.Series(ia, copy=False); raw, mask = ia._data, ia._mask
        cat = pd.Categorical(["u", "v", "u"]); codes = cat.codes; sc = pd.Series(cat, copy=False); dtype = cat.dtype; other = pd.Categorical(["v"], dtype=dtype)
        sp = pd.arrays.SparseArray([0, 0, 1, 2]); spv = sp.sp_values; dti = pd.date_range("2024", periods=3); st = pd.Series(dti); i8 = dti.asi8
        idx = pd.Index([10, 20, 30], name="k"); s1 = pd.Series([1, 2, 3], index=idx); s2 = pd.Series([4, 5, 6], index=idx); ixv = idx.values; dfi = pd.DataFrame({"s": s1})
        lst = [1, 2]; ob = pd.Series([lst, {"k": lst}, lst]); obdf = ob.to_frame("o"); exploded = ob.iloc[:1]
        ser = pd.Series([1, 2, 3]); d = {"v": ser}; made = pd.DataFrame(d); shallow = made.copy(deep=False); ren = made.rename(columns={"v": "w"}); sel = made.loc[:, ["v"]]
        """,
        """
        df.loc[0, "a"] = 100.0 ;; one.tolist(), arr.tolist(), vals[0, 0], loc[0, "a"], iloc[0, 0], at[0, "a"], iat[0, 0]
        at[1, "b"] = 50.0; iloc[2, 1] = 60.0 ;; df.b.tolist(), vals[:, 1].tolist()
        one.flags.writeable, vals.flags.writeable, whole.flags.writeable, q.values.flags.writeable
        num.iloc[0, 0] = -1.0 ;; whole[0, 0], T.iloc[0, 0], q.tolist()
        num.iloc[0, 1] = -2.0 ;; whole[0, 1], T.iloc[1, 0], q.tolist(), np.shares_memory(num.values, whole)
        ia[0] = 9 ;; si.tolist(), raw.tolist()
        raw[1] = 8; mask[2] = False ;; ia.tolist(), si[1]
        cat[0] = "v" ;; codes.tolist(), sc.tolist(), other.dtype is dtype, sc.cat.categories is dtype.categories
        spv[0] = 7 ;; sp.to_numpy().tolist(), codes.flags.writeable, i8.flags.writeable, np.shares_memory(i8, st.array.asi8)
        s1.index.name = "renamed" ;; idx.name, s2.index.name, dfi.index.name, s1.index is idx, s1.index.is_(s2.index), s1.index.is_(idx)
        lst.append(3) ;; ob.tolist(), obdf.o.tolist(), ob[0] is ob[2], exploded[0] is lst
        ser.iloc[0] = 99 ;; made.v.tolist(), shallow.v.tolist(), ren.w.tolist(), sel.v.tolist()
        shallow.iloc[1, 0] = 77 ;; made.v.tolist(), ser.tolist(), np.shares_memory(ren.w.values, made.v.values), np.shares_memory(sel.v.values, made.v.values)
        ixv.flags.writeable, np.shares_memory(idx.values, s1.index.values)
        """,
    ),
    "read-only and writable views of one memory": session(
        """
        import numpy as np
        base = np.arange(8.0); ro = base.view(); ro.flags.writeable = False; still = base[2:]; both = (ro[1:], base[1:])
        sq = np.arange(9.0).reshape(3, 3); diag = np.diagonal(sq); dw = np.einsum("ii->i", sq); tri = sq[np.triu_indices(3)]; tr = sq.swapaxes(0, 1); ex = sq[:, None]; rv = sq[::-1, ::-1]
        bx, by = np.broadcast_arrays(np.arange(3), np.zeros((2, 1))); bt = np.broadcast_to(base[:1], 4)
        cz = np.array([1 + 2j, 3 + 4j]); re, im = cz.real, cz.imag; by8 = base.view("u1"); i64 = base.view("i8")
        sw = np.lib.stride_tricks.sliding_window_view(base, 3, writeable=True)
        hidden = np.zeros(10)[2:5]; hid2 = hidden.base[4:8]; lonely = np.ones((3, 3))[1]
        big = np.arange(4, dtype=">f8"); nat = big.view(); bytesw = big.byteswap()
        lockedlist = [np.zeros(3) for _ in range(2)]; lockedlist[0].setflags(write=False)
        f = np.asfortranarray(sq); fT = f.T; rav = np.ravel(sq, order="K"); perm = np.moveaxis(np.zeros((2, 3, 4)), 0, -1); pbase = perm.base
        """,
        """
        base[3] = -1 ;; ro[3], both[0][2], both[1][2], ro.flags.writeable, both[0].flags.writeable, both[1].flags.writeable
        ro.flags.writeable = True ;; ro.flags.writeable, ro.base is base
        dw[1] = 40 ;; sq[1, 1], diag.tolist(), tr[1, 1], ex[1, 0, 1], rv[1, 1], rav[4]
        diag.__setitem__(0, 1)
        bx.flags.writeable, bt.flags.writeable, bt.strides, bt[2]
        re[0] = 9; im[1] = 8 ;; cz.tolist()
        by8[0:8] = 0; i64[1] = 0 ;; base[:2].tolist()
        sw[0, 2] = 66 ;; base[2], sw[1, 1], sw[2, 0], sw.flags.writeable
        hidden[2] = 5 ;; hid2[0], hidden.base.shape, hid2.base is hidden.base, lonely.base.shape
        nat[0] = 5 ;; big[0], big.dtype.str, bytesw[1]
        lockedlist[0].flags.writeable, lockedlist[1].flags.writeable, lockedlist[0].flags.owndata
        pbase[1, 2, 3] = 1 ;; perm[2, 3, 1], perm.strides, f.flags.f_contiguous, fT.flags.c_contiguous, fT.base is f
        """,
    ),
    "object columns and arrays of shared things": session(
        """
        import numpy as np, pandas as pd, collections, datetime as dt, decimal, uuid, ipaddress, pathlib, re, enum, fractions
        class Node:
            def __init__(self, n): self.n = n; self.kids = []
            def __repr__(self): return f"N{self.n}"
        a, b = Node(1), Node(2); a.kids.append(b); b.up = a; arr = np.array([a, b, a], dtype=object); view = arr[:2]; grid = np.empty((2, 2), object); grid[:] = [[a, [1]], [None, b]]; selfed = np.empty(1, object); selfed[0] = selfed; df = pd.DataFrame({"n": [a, b], "f": [len, lambda x: x + k], "t": [int, Node], "p": [pathlib.Path("x"), re.compile("y")]}); k = 3; ser = df.n; nest = pd.Series([pd.Series([1, 2]), df]); inner = nest[0]
        class Color(enum.Enum): RED = 1; BLUE = 2
        en = pd.Series([Color.RED, Color.BLUE, Color.RED]); ec = en.astype("category"); gb = pd.Series([1, 2, 3]).groupby([Color.RED, Color.BLUE, Color.RED], sort=False); dct = pd.Series({a: 1, b: 2}); dec = pd.Series([decimal.Decimal("1.10"), None]); tup = pd.Series([(a, 1), (b, 2)]); dd = pd.DataFrame({"d": [collections.defaultdict(list), collections.Counter("aab")]}); dd.d[0]["z"].append(1); rows = df.to_dict("records"); rec = df.to_records(); vals = df.values; st = np.zeros(2, dtype=[("o", "O"), ("x", "f8")]); st["o"] = [a, b]; fl = [float("nan"), np.nan]; nn = pd.Series([fl[0], fl[1], None, pd.NA, pd.NaT], dtype=object); big = np.array([2 ** 70, -1], dtype=object); frac = np.array([fractions.Fraction(1, 3)], object); mat = np.outer(frac, frac); idx = pd.Index([a, b], dtype=object); attrs = df.attrs; attrs["root"] = a; rag = np.array([np.arange(2), np.arange(3)], dtype=object); r0 = rag[0]
        """,
        """
        a.n = 10 ;; arr.tolist(), view.tolist(), df.n.tolist(), dct.index.tolist(), rows[0]["n"].n, rec["n"][0].n, vals[0, 0].n
        arr[0] is a, arr[2] is arr[0], df.n[0] is a, ser[0] is a, grid[0, 0] is a, st["o"][1] is b, idx[0] is a, attrs["root"] is a, df.attrs["root"].kids[0].up is a, attrs is df.attrs, tup[0][0] is a
        view[1] = None ;; arr.tolist(), grid[0, 1].append(2), grid.tolist(), selfed[0] is selfed
        k = 30 ;; df.f[1](1), df.t[1] is Node, isinstance(a, df.t[1]), df.f[0] is len
        nest[0] is inner, nest[1] is df, inner.tolist(), inner.iloc[0]
        en[0] is Color.RED, ec.cat.categories[0] is Color.RED, gb.sum().to_dict(), ec.cat.codes.tolist()
        dct[a], dct[b], dec.sum(), type(dec[0]).__name__, dd.d[0]["new"], dd.d[1]["a"], type(dd.d[0]).__name__
        [x is y for x, y in zip(nn, [fl[0], np.nan, None, pd.NA, pd.NaT])], nn.isna().tolist(), fl[0] is nn[0]
        r0[0] = 9 ;; rag[0].tolist(), big.tolist(), mat[0, 0], frac[0] is frac[0]
        df.loc[0, "n"] = b ;; ser[0] is a, vals[0, 0] is a, rows[0]["n"] is a
        """,
    ),
    "workbooks held by their cells": session(
        """
        import openpyxl, io, copy
        from openpyxl.styles import Font, NamedStyle, PatternFill, Alignment
        from openpyxl.comments import Comment
        from openpyxl.chart import BarChart, Reference
        from openpyxl.worksheet.datavalidation import DataValidation
        from openpyxl.formatting.rule import CellIsRule, FormulaRule
        from openpyxl.workbook.defined_name import DefinedName
        wb = openpyxl.Workbook(); ws = wb.active; ws.title = "Data"
        for i in range(4): ws.append([f"r{i}", i, f"=B{i+1}*2"])
        a1 = ws["A1"]; row = ws[2]; rng = ws["A1:B2"]; bold = Font(bold=True, name="Arial"); a1.font = bold; ws["B1"].font = bold; house = NamedStyle(name="house", font=Font(italic=True)); wb.add_named_style(house); ws["C1"].style = house; ws["C2"].style = "house"
        cm = Comment("hi", "me"); a1.comment = cm; dv = DataValidation(type="list", formula1='"x,y"'); ws.add_data_validation(dv); dv.add(a1); ch = BarChart(); ch.add_data(Reference(ws, min_col=2, min_row=1, max_row=4)); ws.add_chart(ch, "E1")
        ws.conditional_formatting.add("B1:B4", CellIsRule(operator="lessThan", formula=["2"], fill=PatternFill(bgColor="FF0000"))); ws.merge_cells("A6:B6"); merged = ws["B6"]; wb.defined_names["tot"] = DefinedName("tot", attr_text="Data!$B$1:$B$4"); ws.freeze_panes = "B2"; dim = ws.column_dimensions["A"]; dim.width = 30; rd = ws.row_dimensions[1]; view = ws.sheet_view
        wo = openpyxl.Workbook(write_only=True); wos = wo.create_sheet("big"); wos.append([1, 2])
        bio = io.BytesIO(); wb.save(bio); bio.seek(0); ro = openpyxl.load_workbook(bio, read_only=True); rows = ro["Data"].iter_rows(values_only=True); next(rows)
        cp = wb.copy_worksheet(ws); it = ws.iter_rows(); next(it); wb._custom = {"k": ws}
        """,
        """
        ws["A1"] is a1, row[0] is ws["A2"], rng[1][1] is ws["B2"], a1.parent is ws, ws.parent is wb
        a1.value = "new" ;; ws["A1"].value, rng[0][0].value, list(ws.values)[0][0]
        a1.font = Font(bold=False) ;; ws["B1"].font.bold, a1.font.bold, ws["B1"].font == bold
        house.font = Font(italic=False, bold=True) ;; ws["C1"].font.bold, ws["C1"].style, wb.named_styles
        house.font.size, ws["C2"].has_style, ws["C1"].style_id == ws["C2"].style_id
        cm.text = "bye" ;; a1.comment.text, a1.comment is cm, cm.parent is a1
        dv.add("A3") ;; ws.data_validations.dataValidation[0] is dv, str(dv.sqref)
        len(ws._charts), ws._charts[0] is ch, ch.series[0].val.numRef.f
        merged.value, type(merged).__name__, str(list(ws.merged_cells.ranges)[0]), wb.defined_names["tot"].attr_text, ws.freeze_panes
        dim.width = 12; rd.height = 40; view.showGridLines = False ;; ws.column_dimensions["A"].width, ws.row_dimensions[1].height, ws.sheet_view.showGridLines
        ws.append(["tail"]) ;; ws.max_row, wb._custom["k"] is ws, cp.title, cp["A1"].value
        wos.append([3, 4]); b2 = io.BytesIO(); wo.save(b2) ;; openpyxl.load_workbook(b2)["big"].max_row
        next(rows)
        next(it)[0].value
        b3 = io.BytesIO(); wb.save(b3); w3 = openpyxl.load_workbook(b3) ;; w3["Data"]["A1"].comment.text, w3["Data"]["C2"].font.italic, len(w3["Data"]._charts), w3["Data"].conditional_formatting["B1:B4"].__len__() if 0 else len(w3["Data"].conditional_formatting)
        """,
        named="wo wos ro rows it b2",
    ),
    "learners in learners": session(
        """
        import numpy as np, sklearn, warnings; warnings.simplefilter("ignore")
        from sklearn.neighbors import KNeighborsClassifier, BallTree, KDTree, NearestNeighbors
        from sklearn.gaussian_process import GaussianProcessRegressor, kernels as K
        from sklearn.cluster import Birch
        from sklearn.decomposition import IncrementalPCA
        from sklearn.ensemble import VotingClassifier, HistGradientBoostingRegressor, BaggingClassifier, AdaBoostClassifier, IsolationForest
        from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer, HashingVectorizer
        from sklearn.feature_extraction import DictVectorizer
        from sklearn.svm import SVC
        from sklearn.linear_model import LogisticRegression, SGDRegressor, LassoCV
        from sklearn.pipeline import Pipeline, make_union
        from sklearn.preprocessing import FunctionTransformer, StandardScaler, OneHotEncoder
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.utils import Bunch
        from sklearn.frozen import FrozenEstimator
        rng = np.random.default_rng(0); X = rng.random((30, 2)); y = (X[:, 0] > 0.5).astype(int); w = 1.0
        def dist(a, b): return float(np.abs(a - b).sum() * w)
        knn = KNeighborsClassifier(3, metric=dist, algorithm="ball_tree").fit(X, y); bt = BallTree(X, leaf_size=2, metric="pyfunc", func=dist) if 0 else BallTree(X, leaf_size=2); kd = KDTree(X); btd = np.asarray(bt.data); kern = K.RBF(1.0) * K.ConstantKernel(2.0); gp = GaussianProcessRegressor(kern, optimizer=None).fit(X, y); gp2 = GaussianProcessRegressor(kern)
        bi = Birch(threshold=0.2, n_clusters=None); bi.partial_fit(X[:15]); ip = IncrementalPCA(1); ip.partial_fit(X); lr = LogisticRegression().fit(X, y); vote = VotingClassifier([("a", lr), ("b", SVC(probability=False))]).fit(X, y); hg = HistGradientBoostingRegressor(max_iter=2, warm_start=True, early_stopping=False, random_state=0).fit(X, y)
        vocab = {"a": 0, "b": 1}; cv1 = CountVectorizer(vocabulary=vocab, token_pattern=r"\\w"); cv2 = TfidfVectorizer(vocabulary=vocab, token_pattern=r"\\w", stop_words=["q"]); svc = SVC(kernel=lambda A, B: A @ B.T * w).fit(X, y); bag = BaggingClassifier(lr, n_estimators=2, random_state=1).fit(X, y); e0 = bag.estimators_[0]; cal = CalibratedClassifierCV(FrozenEstimator(lr)).fit(X, y); b = Bunch(x=X, y=y); b.extra = vocab
        pipe = Pipeline([("s", StandardScaler()), ("m", lr)]); step = pipe.named_steps["s"]; un = make_union(FunctionTransformer(lambda Z: Z * w), StandardScaler()); un.fit(X); sgd = SGDRegressor(random_state=0, warm_start=True, average=5); sgd.partial_fit(X, y); ohe = OneHotEncoder(handle_unknown="ignore").fit([["a"], ["b"]]); iso = IsolationForest(n_estimators=3, random_state=np.random.RandomState(3)).fit(X); req = LogisticRegression()
        sklearn.set_config(enable_metadata_routing=True); req.set_fit_request(sample_weight=True)
        """,
        """
        w = 2.0 ;; knn.kneighbors(X[:1])[0].round(6).tolist(), svc.decision_function(X[:2]).round(6).tolist(), un.transform(X[:1]).round(6).tolist()
        X[0] = 50 ;; bt.query([[50, 50]])[0].round(4).tolist(), kd.query([[50, 50]])[0].round(4).tolist(), np.asarray(knn._fit_X)[0].round(4).tolist(), gp.X_train_[0].round(4).tolist(), b.x[0].tolist(), b["x"] is X
        kern.k1.length_scale = 5.0 ;; gp.kernel is kern, gp2.kernel is kern, gp.kernel_.k1.length_scale, gp.predict([[0.5, 0.5]]).round(6).tolist()
        bi.partial_fit(X[15:]) ;; len(bi.subcluster_centers_), bi.subcluster_centers_.round(6).tolist()[:2], bi.root_.is_leaf
        ip.partial_fit(X[1:]) ;; ip.components_.round(6).tolist(), ip.n_samples_seen_
        vote.estimators[0][1] is lr, vote.named_estimators_["a"] is vote.estimators_[0], vote.predict([[0.9, 0.9]]).tolist()
        hg.set_params(max_iter=4).fit(X, y) ;; hg.n_iter_, hg.predict([[0.3, 0.3]]).round(6).tolist()
        vocab["c"] = 2 ;; cv1.transform(["a c"]).toarray().tolist(), cv2.vocabulary is vocab, b.extra is vocab
        e0.coef_[:] = 0; bag.estimators_[0] is e0 ;; bag.predict_proba([[0.9, 0.1]]).round(6).tolist(), bag.estimators_samples_[0][:3].tolist()
        lr.coef_[:] = 0 ;; cal.predict_proba([[0.9, 0.9]]).round(6).tolist(), pipe["m"] is lr, pipe[0] is step
        sgd.partial_fit(X[1:], y[1:]) ;; sgd.coef_.round(4).tolist(), sgd.average_coef_.round(4).tolist() if hasattr(sgd, "average_coef_") else 0, sgd.t_
        iso.score_samples([[0.5, 0.5]]).round(6).tolist(), iso.random_state.rand(), ohe.transform([["z"]]).toarray().tolist()
        sklearn.get_config()["enable_metadata_routing"], req.get_metadata_routing().fit.requests
        btd[0, 0] = 77 ;; np.asarray(bt.data)[0, 0]
        """,
        named="btd",
    ),
    "drawn things that share arrays": session(
        """
        import matplotlib; matplotlib.use("Agg")
        import matplotlib.pyplot as plt, numpy as np, io, matplotlib.collections as mcl, matplotlib.tri as tri, matplotlib.ticker as tk, matplotlib.transforms as mt, matplotlib.patches as mpa, matplotlib.legend_handler as lh, matplotlib.widgets as mw, matplotlib.dates as md
        from mpl_toolkits.axes_grid1 import make_axes_locatable, ImageGrid
        from matplotlib.backends.backend_pdf import PdfPages
        fig, (ax, bx) = plt.subplots(1, 2); img = np.zeros((2, 2)); ai = ax.imshow(img); segs = [np.array([[0, 0], [1, 1.0]])]; lc = bx.add_collection(mcl.LineCollection(segs)); offs = np.array([[0.0, 1.0], [2.0, 3.0]]); sc = bx.scatter(offs[:, 0], offs[:, 1]); held = sc.get_offsets(); div = make_axes_locatable(ax); cax = div.append_axes("right", "5%"); cb = fig.colorbar(ai, cax=cax); g = ImageGrid(plt.figure(), 111, (1, 2)); g[0].plot([1]); tr = tri.Triangulation([0, 1, 0.0], [0, 0, 1.0]); finder = tr.get_trifinder(); ti = tri.LinearTriInterpolator(tr, [1, 2, 3.0]); loc = tk.MultipleLocator(2); ax.xaxis.set_major_locator(loc); bb = mt.Bbox([[0, 0], [1, 1]]); tb = mt.TransformedBbox(bb, ax.transData); circ = bx.add_patch(mpa.Circle((0, 0), 1)); ai.set_clip_path(circ)
        class H(lh.HandlerLine2D):
            def create_artists(self, *a): made.append(1); return super().create_artists(*a)
        made = []; ln, = bx.plot([1, 2], label="q"); leg = bx.legend(handler_map={ln: H()}); sup = fig.suptitle("S"); tab = bx.table([["1"]]); sp = bx.spines["top"]; fmt = md.ConciseDateFormatter(md.AutoDateLocator()); cb.set_ticks([0, 1], labels=["lo", "hi"]); rs = mw.RectangleSelector(bx, lambda a, b: made.append("sel")); sm = plt.cm.ScalarMappable(norm=ai.norm, cmap=ai.cmap); heard = []; ai.norm.callbacks.connect("changed", lambda: heard.append(ai.norm.vmax)); cyc = bx._get_lines
        pdf = PdfPages("o.pdf"); pdf.savefig(fig); st = bx.stackplot([1, 2], [1, 2]); vio = bx.violinplot([[1, 2, 3]]); box = bx.boxplot([[1, 2, 3]]); path = ln.get_path(); xy = ln.get_xydata(); poly = bx.fill([0, 1, 1], [0, 0, 1])[0]; sbar = bx.bar([1], [2], yerr=0.5); lab = bx.bar_label(sbar)
        """,
        """
        img[0, 0] = 5 ;; ai.get_array()[0, 0], ai.get_array().base is img
        held[0, 0] = 9 ;; sc.get_offsets()[0].tolist()
        segs[0][0, 0] = 7 ;; lc.get_segments()[0].tolist()
        ai.set_clim(0, 8) ;; heard, sm.norm.vmax, cb.vmax, sm.norm is ai.norm
        div.append_axes("top", "5%") is not None, cax.get_axes_locator() is not None, fig.canvas.draw(), cax.get_position().width < 0.1
        g[1].plot([2]) ;; g[0].get_ylim() == g[1].get_ylim(), len(g), g.axes_all[0] is g[0] if hasattr(g, "axes_all") else 0
        float(ti(0.2, 0.2)), int(finder(0.2, 0.2)), tr.edges.shape
        loc.set_params(base=5) ;; ax.xaxis.get_major_locator() is loc, ax.xaxis.get_major_locator().tick_values(0, 10).tolist()
        bb.set_points(np.array([[0, 0], [3, 3.0]])); ax.set_xlim(0, 4) ;; tb.width == bb.width, round(tb.width, 3) == round(mt.TransformedBbox(bb, ax.transData).width, 3)
        leg.get_lines()[0].get_label(), leg.get_legend_handler_map()[ln].__class__.__name__, len(made), bx.legend(handler_map={ln: H()}) is not None
        sup.set_text("T") ;; fig._suptitle.get_text(), fig.get_suptitle(), tab[0, 0].get_text().get_text(), sp is bx.spines["top"], sp.axes is bx
        [t.get_text() for t in cb.ax.get_yticklabels()]
        rs.extents, rs.active, rs.onselect(1, 2), made[-1]
        xy[0, 1] = 3 ;; ln.get_ydata().tolist(), path is ln.get_path(), path.vertices[0].tolist()
        st[0] in bx.collections, vio["bodies"][0] in bx.collections, box["medians"][0] in bx.lines, poly in bx.patches, sbar.errorbar is not None, lab[0] in bx.texts, sbar.errorbar[2][0] in bx.collections
        circ.set_radius(3) ;; ai.get_clip_path() is not None, fmt.offset_formats[0]
        pdf.savefig(fig)
        """,
        named="pdf tr finder ti",
    ),
}
