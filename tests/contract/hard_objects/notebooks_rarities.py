"""Sessions of analysts: less common libraries, and what hangs on what in them."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "notebook: documents of settings and who observes them": session(
        """
        import tomlkit, yaml, traitlets, bidict, multidict, structlog, logging, logging.handlers, os, argparse, copy
        from traitlets.config import Config, Configurable, SingletonConfigurable; from pydantic_settings import BaseSettings
        os.environ["APP_RATE"] = "0.5"
        class Env(BaseSettings):
            model_config = {"env_prefix": "APP_"}
            rate: float = 0.1; names: list[str] = []
        env = Env(); doc = tomlkit.parse("# head\\n[run]\\nseed = 1 # keep\\ncols = ['a', 'b']\\n"); run = doc["run"]; cols = run["cols"]; loader = type("Loader", (yaml.SafeLoader,), {}); loader.add_constructor("!mul", lambda l, n: int(l.construct_scalar(n)) * factor); factor = 2
        class Model(Configurable):
            depth = traitlets.Int(1).tag(config=True); parts = traitlets.List(traitlets.Int()); child = traitlets.Instance("traitlets.HasTraits", allow_none=True)
            def __init__(self, **k): self.heard = []; super().__init__(**k); self.observe(self._on, ["depth", "parts"])
            def _on(self, c): self.heard.append((c.name, c.old, c.new))
        conf = Config({"Model": {"depth": 4}}); model = Model(config=conf); twin = copy.copy(model)
        """
        + "# %%\n"
        + """
        class App(SingletonConfigurable): level = traitlets.Enum(["lo", "hi"], "lo")
        app = App.instance(); both = bidict.bidict({"a": 1, "b": 2}); inv = both.inverse; ordered = bidict.OrderedBidict(x=1); md = multidict.CIMultiDict([("A", "1"), ("a", "2")]); proxy = multidict.CIMultiDictProxy(md); keys = md.keys()
        seen = []; structlog.configure(processors=[lambda l, n, e: seen.append(dict(e)) or e, structlog.dev.ConsoleRenderer(colors=False)], wrapper_class=structlog.BoundLogger); slog = structlog.get_logger().bind(run=1); mem = logging.handlers.MemoryHandler(10, target=logging.NullHandler()); lg = logging.getLogger("mem"); lg.addHandler(mem); lg.propagate = False; lg.warning("one")
        class Upper(argparse.Action):
            def __call__(self, p, ns, v, o=None): setattr(ns, self.dest, v.upper()); used.append(v)
        used = []; ap = argparse.ArgumentParser(prog="x"); sub = ap.add_subparsers(dest="cmd"); fit = sub.add_parser("fit"); fit.add_argument("name", action=Upper); grp = ap.add_mutually_exclusive_group(); grp.add_argument("--a", action="store_true"); fit.set_defaults(func=lambda ns: ns.name + suffix); suffix = "!"; flags = traitlets.HasTraits(); flags.add_traits(n=traitlets.Int(3)); flags.observe(lambda c: seen.append(c["new"]), "n")
        """,
        """
        model.depth = 9; model.parts = [1] ;; model.heard, twin.heard is model.heard, twin.depth, model.config is conf
        conf.Model.depth = 7 ;; model.depth, Model(config=conf).depth
        cols.append("c"); run["seed"] = 5 ;; tomlkit.dumps(doc), doc["run"]["cols"] == ["a", "b", "c"], type(run).__name__
        factor = 10 ;; yaml.load("v: !mul 3", loader), env.rate, Env(names=["q"]).names, env.names is Env().names
        App.instance() is app, App.initialized(), app.level
        inv[3] = "c"; both["d"] = 4 ;; dict(both), dict(inv), both.inverse is inv, inv.inverse is both, ordered.inverse[1]
        md.add("A", "3") ;; proxy.getall("a"), list(keys), len(proxy), isinstance(proxy, multidict.CIMultiDictProxy)
        slog.info("hi", n=2) is None, seen[-1]
        lg.warning("two") ;; [r.getMessage() for r in mem.buffer], lg.handlers[0] is mem, mem.capacity
        suffix = "?" ;; ap.parse_args(["fit", "bob"]).func(ap.parse_args(["fit", "bob"])), used, sub.choices["fit"] is fit, ap.parse_args(["--a", "fit", "x"]).a
        flags.n = 8 ;; seen[-1], flags.trait_names(), type(flags).__name__
        """,
        named="proxy keys",
        known="""inv[3] = "c"; both["d"] = 4 ;; dict(both), dict(inv), both.inverse is inv, inv.inverse is both, ordered.inverse[1]""",
    ),
    "notebook: numbers of rarer kinds": session(
        """
        import numpy as np, pandas as pd, decimal, fractions
        from numpy.dtypes import StringDType
        missing = np.nan; sd = StringDType(na_object=missing); words = np.array(["x", missing, "yy"], dtype=sd); sub = words[1:]; busy = np.busdaycalendar(weekmask="1111100", holidays=["2024-01-01"]); off = np.busday_offset("2023-12-29", 1, busdaycal=busy); titled = np.dtype([(("long name", "n"), "i4"), ("p", "f8", (2,))], align=True); table = np.zeros(3, titled); n = table["n"]; p = table["p"]
        m = np.ma.masked; ma = np.ma.masked_array([1, 2, 3], [0, 1, 0]); row = ma[1]; shared = ma[:]; shared.mask; chars = np.char.array(["a ", "b"]); nat = np.datetime64("NaT"); tds = np.array([1, "NaT"], "m8[D]"); uf = np.add.outer; red = np.multiply.reduce; vec = np.vectorize(lambda a, b: a @ b * gain, signature="(n),(n)->()"); gain = 1.0
        """
        + "# %%\n"
        + """
        ob = np.array([decimal.Decimal("1.5"), fractions.Fraction(1, 3), None], dtype=object); obv = ob[:2]; zero = np.array(5.0); zview = zero[...]; big = np.lib.format.open_memmap("m.npy", "w+", "f8", (4,)); big[:] = 1; part = big[2:]; rng = np.random.default_rng(5); child = rng.spawn(1)[0]; mt = np.random.MT19937(3); jumped = mt.jumped(); gen2 = np.random.Generator(mt); perm = gen2.permuted; sub_arr = pd.arrays.SparseArray([0, 1, 0]); iv = pd.arrays.IntervalArray.from_breaks([0, 1, 2]); pi = pd.period_range("2024", periods=2, freq="M"); flags = pd.Series([True, None], dtype="boolean"); arrays = {"words": words, "same": words}; poly = np.polynomial.Polynomial([1, 2], symbol="t"); coef = poly.coef; it = np.nditer([zero, None]); aslist = memoryview(np.arange(3)); idx = np.ix_([0, 1], [1])
        """,
        """
        words[0] = "changed" ;; sub.tolist(), arrays["same"] is words, words.dtype.na_object is missing, words[1] is missing, np.isnan(words).tolist()
        np.is_busday("2024-01-01", busdaycal=busy), str(off), busy.holidays.tolist(), busy.weekmask.tolist()
        table["long name"][0] = 7; p[1] = [1, 2] ;; n.tolist(), table.dtype.fields["n"], table.tolist(), titled.isalignedstruct, table.dtype is titled
        row is np.ma.masked, m is np.ma.masked, row is m, ma[1] is m
        shared[0] = 99 ;; ma.tolist(), ma.sharedmask, shared.sharedmask
        shared[0] = np.ma.masked ;; ma.tolist(), shared.tolist(), ma.mask.tolist()
        gain = 3.0 ;; vec([[1.0, 2], [0, 1]], [1.0, 1]).tolist(), uf([1], [2]).tolist(), red([2, 3]), chars.upper().tolist(), type(chars).__name__
        zview[()] = 8 ;; zero.item(), zview.base is zero, ob[0] is obv[0], np.isnat(nat), tds.tolist()
        big[3] = 5 ;; part.tolist(), np.load("m.npy").tolist() if big.flush() is None else 0, type(part).__name__
        child.random(), rng.random(), rng.spawn(1)[0].random(), gen2.random(), perm([1, 2, 3]).tolist(), gen2.bit_generator is mt, np.random.Generator(jumped).random()
        coef[0] = 50 ;; poly(1.0), poly.symbol, str(poly), flags.isna().tolist(), iv.closed, sub_arr.fill_value, pi.freq is pi[0].freq
        """,
        named="it aslist sub",
    ),
    "notebook: axes of other kinds": session(
        """
        import numpy as np, matplotlib.pyplot as plt, matplotlib as mpl
        from mpl_toolkits.mplot3d import Axes3D; from mpl_toolkits.axes_grid1 import ImageGrid, make_axes_locatable; from matplotlib.collections import LineCollection, PatchCollection; from matplotlib.sankey import Sankey; from matplotlib.table import table
        fig = plt.figure(); ax = fig.add_subplot(projection="3d"); surf = ax.plot_surface(*np.meshgrid([0, 1, 2], [0, 1, 2]), np.arange(9.0).reshape(3, 3), cmap="viridis"); ax.view_init(20, 45); ax.set_proj_type("ortho"); pts = ax.scatter([0, 1], [0, 1], [0, 1], c=[0.0, 1.0]); grid_fig = plt.figure(); grid = ImageGrid(grid_fig, 111, (1, 2), cbar_mode="single"); im = grid[0].imshow(np.eye(3)); cb = grid.cbar_axes[0].colorbar(im)
        f2, a2 = plt.subplots(); div = make_axes_locatable(a2); side = div.append_axes("right", size="20%", pad=0.1, sharey=a2); lines = LineCollection([[(0, 0), (1, 1)], [(0, 1), (1, 0)]], array=np.array([0.0, 1.0])); a2.add_collection(lines); tab = a2.table([["1", "2"]], loc="bottom"); cell = tab[0, 0]; q = a2.quiver([0], [0], [1], [1]); key = a2.quiverkey(q, 0.5, 0.5, 1, "k")
        """
        + "# %%\n"
        + """
        heard = []; surf.callbacks.connect("changed", lambda s: heard.append(s.get_clim())); cs = a2.contour(np.arange(16.0).reshape(4, 4), levels=[3, 9]); labels = cs.clabel(); hb = plt.figure().gca().hexbin([0, 1, 1], [0, 1, 1], gridsize=2); vio = plt.figure().gca().violinplot([[1, 2, 3]]); st = plt.figure().gca().stackplot([0, 1], [1, 2], [2, 1], labels=["u", "v"]); brk = plt.figure().subplot_mosaic("AB;CC"); ev = brk["C"].eventplot([[1, 2]]); step, = brk["A"].step([0, 1], [0, 1], where="post"); brk["A"].set_navigate(False); brk["B"].sharex(brk["C"]); brk["C"].set_box_aspect(0.5); arrow = brk["B"].add_patch(mpl.patches.FancyArrowPatch((0, 0), (1, 1))); brk["A"].fmt_xdata = lambda v: f"{v * k:.1f}"; k = 2; brk["A"].format_coord = lambda x, y: f"<{x * k}>"; brk["B"].xaxis.set_tick_params(rotation=30); mpl.rcParams["savefig.dpi"] = 33; brk["A"].margins(0.2); brk["A"].set_autoscalex_on(False); sty = mpl.colors.ListedColormap(["r", "g"], name="two"); sty.set_bad("k"); brk["C"].name_of = "mine"
        """,
        """
        ax.elev, ax.azim, ax._focal_length == np.inf, surf.set_clim(0, 4), heard, pts.axes is ax
        im.set_clim(0, 9) ;; cb.vmax, cb.mappable is im, len(grid), grid[1] in grid_fig.axes, grid.cbar_axes[0] in grid_fig.axes
        a2.set_ylim(0, 5) ;; side.get_ylim(), side.get_axes_locator() is not None, a2.get_axes_locator() is not None, div._axes is a2
        lines.set_array([5.0, 6.0]); lines.autoscale() ;; lines.get_clim(), lines in a2.collections, cell.get_text().get_text(), tab[0, 0] is cell, tab in a2.tables
        cell.get_text().set_text("new"); f2.canvas.draw() ;; tab[0, 0].get_text().get_text(), key.Q is q, a2.artists == [key]
        cs.levels.tolist(), len(labels), cs.labelTexts[0] is labels[0], hb.get_array().tolist()[:2], sorted(vio)
        [p.get_label() for p in st], list(brk), ev[0].get_positions(), step.get_drawstyle(), brk["A"].get_navigate()
        brk["C"].set_xlim(0, 7) ;; brk["B"].get_xlim(), brk["B"].get_shared_x_axes().joined(brk["B"], brk["C"]), brk["C"].get_box_aspect(), arrow in brk["B"].patches
        k = 5 ;; brk["A"].format_xdata(1.0), brk["A"].format_coord(2, 0), mpl.rcParams["savefig.dpi"], brk["C"].name_of
        brk["A"].plot([0, 50], [0, 50])[0].axes is brk["A"], brk["A"].get_xlim(), brk["A"].margins(), brk["A"].get_autoscalex_on()
        sty(np.ma.masked), sty.name, q.U.tolist(), mpl.rcParamsDefault["savefig.dpi"], [t.get_rotation() for t in brk["B"].get_xticklabels()][:1]
        """,
    ),
    "notebook: things of the standard library that analyses hold": session(
        """
        import re, regex, io, csv, heapq, itertools, collections, types, functools, string, ipaddress, uuid, pathlib, graphlib, statistics, enum, dataclasses, typing, contextvars, queue, sched, operator, bisect, html, xml.dom.minidom, email.message, http.cookies, urllib.parse, zoneinfo, datetime as dt, croniter
        topo = graphlib.TopologicalSorter({"c": {"a", "b"}, "d": {"c"}}); topo.prepare(); first = sorted(topo.get_ready()); topo.done("a"); cron = croniter.croniter("0 9 * * 1", dt.datetime(2024, 1, 1)); c0 = cron.get_next(dt.datetime); terms = ["ca", "b"]; named = regex.compile(r"\\L<terms>", terms=terms); rm = named.search("xcab"); zone = zoneinfo.ZoneInfo("Europe/Paris"); when = dt.datetime(2024, 7, 1, tzinfo=zone); log = []; clock = [0]; s = sched.scheduler(lambda: clock[0], lambda d: clock.__setitem__(0, clock[0] + d)); ev = s.enter(5, 1, log.append, ("x",)); s.enter(2, 1, log.append, ("y",))
        dom = xml.dom.minidom.parseString("<r><a k='1'/><a k='2'/></r>"); a1 = dom.getElementsByTagName("a")[0]; msg = email.message.EmailMessage(); msg["Subject"] = "r"; msg.set_content("body"); msg.add_attachment(b"x", maintype="a", subtype="b", filename="f"); part = next(msg.iter_attachments()); jar = http.cookies.SimpleCookie("a=1"); morsel = jar["a"]; url = urllib.parse.urlsplit("http://h/p?q=1#f")
        """
        + "# %%\n"
        + """
        ns = types.SimpleNamespace(a=1); ns.me = ns; dyn = types.DynamicClassAttribute(lambda self: 3); gen_alias = dict[str, list[int]]; Vec = typing.NewType("Vec", list); P = typing.ParamSpec("P"); proto = typing.runtime_checkable(type("Proto", (typing.Protocol,), {"go": lambda self: None})); Color = enum.Flag("Color", "RED GREEN BLUE"); mix = Color.RED | Color.BLUE; mapping = types.MappingProxyType(ns.__dict__); ring = collections.deque([1, 2, 3]); ring.rotate(1); rev = reversed(ring); next(rev); sl = slice(1, None, 2); rng = range(0, 10, 3); rit = iter(rng); next(rit); cnt = itertools.count(5, 2); next(cnt); rep = itertools.repeat("z", 3); next(rep); pm = itertools.permutations("abc", 2); next(pm); sm = itertools.starmap(operator.add, [(1, 2), (3, 4)]); next(sm); dw = itertools.dropwhile(lambda v: v < limit, [1, 5, 2]); limit = 3; comp = itertools.compress("abcd", [1, 0, 1, 1]); next(comp); bt = itertools.batched("abcde", 2) if hasattr(itertools, "batched") else iter(["x"]); ittee = itertools.tee(iter([1, 2, 3]), 2); next(ittee[0]); enm = enumerate("xyz", 10); next(enm); mp = map(lambda a, b: a * b + limit, [1, 2, 3], [4, 5, 6]); next(mp); z = zip("ab", itertools.count()); next(z); lines = iter(io.StringIO("a\\nb\\nc\\n")); next(lines); sentinel = iter(functools.partial(next, iter([1, 2, 0, 3])), 0); next(sentinel); chain = itertools.chain([1], (x for x in ()), [2]); net = ipaddress.ip_network("10.0.0.0/30"); hosts = net.hosts(); di = iter({"a": 1, "b": 2}.items()); next(di); seqit = iter([1, 2, 3]); next(seqit); bstr = iter(b"abc"); next(bstr); attr = operator.attrgetter("a.b"); rx = re.compile("a(?P<n>b)"); mm = rx.match("ab"); spl = rx.split
        """,
        """
        topo.done("b"), sorted(topo.get_ready()), topo.is_active(), first
        cron.get_next(dt.datetime).isoformat(), c0.isoformat(), cron.get_prev(dt.datetime).isoformat(), named.findall("b ca"), rm.group() if rm else None, named.named_lists
        when.tzinfo is zone, when.utcoffset(), zone is zoneinfo.ZoneInfo("Europe/Paris")
        s.queue[0].time, s.cancel(ev), s.run(), log, clock
        a1.setAttribute("k", "9") ;; dom.documentElement.toxml(), a1.parentNode is dom.documentElement, a1.nextSibling.getAttribute("k")
        part.get_filename(), msg["subject"], msg.get_body().get_content(), morsel.value, jar["a"] is morsel, jar.output(), url.query, url.geturl()
        ns.b = 2 ;; ns.me is ns, sorted(vars(ns)), mix, Color(5) is mix, list(mix), isinstance(type("G", (), {"go": 1})(), proto), Vec([1]), gen_alias.__args__
        list(rev), next(rit), next(cnt), list(rep), next(pm), list(sm), list(comp), next(enm), list(z)
        limit = 10 ;; list(dw), list(mp), [next(i) for i in ittee], next(lines), list(sentinel)
        next(di), list(seqit), list(bstr), mm["n"], mm.re is rx, spl("xaby"), sl.indices(5), ring
        list(chain), list(hosts)[0], next(bt)
        """,
        named="rm chain hosts",
    ),
    "notebook: an estimator that keeps too much": session(
        """
        import numpy as np, pandas as pd, threading, weakref, functools, logging
        from sklearn.base import BaseEstimator, TransformerMixin, ClassifierMixin, clone; from sklearn.pipeline import Pipeline; from sklearn.linear_model import LogisticRegression; from sklearn.ensemble import BaggingClassifier
        rng = np.random.RandomState(1); X = pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"]); y = (X["a"] > 0).astype(int)
        class Source:
            def __init__(self, frame): self.frame = frame; self._lock = threading.Lock(); self._cache = {}; self.reads = 0; self._log = logging.getLogger("src")
            def __getstate__(self): d = dict(self.__dict__); d.pop("_lock"); d["_cache"] = {}; return d
            def __setstate__(self, d): self.__dict__.update(d); self._lock = threading.Lock(); self.reads = 0
            def col(self, c):
                with self._lock:
                    if c not in self._cache: self.reads += 1; self._cache[c] = self.frame[c].to_numpy()
                    return self._cache[c]
        class Batches:
            def __init__(self, src): self.src = src; self.it = (src.frame.iloc[i : i + 10] for i in range(0, 30, 10)); self.seen = [len(next(self.it))]
            def __getstate__(self): return {"src": self.src, "it": iter(()), "seen": self.seen}
        class Enc(TransformerMixin, BaseEstimator):
            def __init__(self, src=None): self.src = src
            def fit(self, X, y=None): self.stats_ = {"mean": X.mean()}; self.hook_ = lambda v: v + shift; self._fitted_on = X; return self
            def transform(self, X): return self.hook_(X - self.stats_["mean"])
            def __getstate__(self): s = super().__getstate__().copy(); s.pop("_fitted_on", None); return s
            def __sklearn_is_fitted__(self): return hasattr(self, "_fitted_on")
        shift = 0.0; src = Source(X); src.col("a")
        """
        + "# %%\n"
        + """
        enc = Enc(src); pipe = Pipeline([("enc", enc), ("lr", LogisticRegression())]).fit(X, y); proba = pipe.predict_proba(X)[0, 1]; bag = BaggingClassifier(LogisticRegression(), 3, random_state=rng).fit(X, y); sub = bag.estimators_[0]; lookup = weakref.WeakKeyDictionary({enc: "enc"}); cached = src._cache["a"]
        class Report(dict):
            def __init__(self, **k): super().__init__(**k); self.order = list(k)
            def __reduce__(self): return (Report, (), None)
        class Frozen:
            __slots__ = ("x", "_h")
            def __init__(self, x): object.__setattr__(self, "x", x); object.__setattr__(self, "_h", None)
            def __setattr__(self, k, v): raise AttributeError(k)
            def __hash__(self):
                if self._h is None: object.__setattr__(self, "_h", hash(tuple(self.x)))
                return self._h
            def __eq__(self, o): return isinstance(o, Frozen) and self.x == o.x
            def __getstate__(self): return {"x": self.x}
            def __setstate__(self, s): object.__setattr__(self, "x", s["x"]); object.__setattr__(self, "_h", None)
        rep = Report(a=1, b=enc); f1 = Frozen([1, 2]); table = {f1: "one"}; hash(f1)
        """,
        """
        pipe.predict_proba(X)[0, 1] == proba, pipe[0] is enc, enc._fitted_on is X, src.reads, src.col("a") is cached
        shift = 100.0 ;; (pipe.predict_proba(X)[0, 1] == proba), enc.hook_(0), lookup[enc], enc.src is src
        X.loc[0, "a"] = 77.0 ;; src.frame is X, enc._fitted_on.loc[0, "a"], cached[0] == 77.0
        bag.estimators_[0] is sub, bag.random_state is rng, rng.randint(1000), src._lock.locked()
        dict(rep)["b"] is enc, rep.order, type(rep).__name__, list(rep)
        table[Frozen([1, 2])], f1._h == hash((1, 2)), f1 in table, next(iter(table)) is f1
        setattr(f1, "x", 3)
        clone(enc).src is src, hasattr(clone(enc), "_fitted_on"), enc.__sklearn_is_fitted__(), src._log is logging.getLogger("src")
        b = Batches(src) ;; [len(x) for x in b.it], b.seen
        """,
    ),
    "notebook: one object that must be asked beside others": session(
        """
        from sklearn.base import BaseEstimator
        class Loader:
            def __init__(self): self.batches = (i for i in range(3)); next(self.batches); self.read = 1
            def __getstate__(self): return {**self.__dict__, "batches": None}
        class Cached:
            def __init__(self, loader): self.loader = loader; self.cache = {"a": 1}
            def __getstate__(self): return {**self.__dict__, "cache": {}}
        class Model(BaseEstimator):
            def __init__(self, source=None): self.source = source; self.memory_ = [1]
            def __getstate__(self): return {k: v for k, v in super().__getstate__().items() if k != "memory_"}
        class Coded(ValueError):
            __slots__ = ("code",)
            def __init__(self, code): super().__init__("c"); self.code = code
        class Row(ValueError):
            def __init__(self, row): super().__init__(f"row {row}"); self.row = row; self.more = [row]
            def __reduce__(self): return Row, (self.row,)
        class Done(StopIteration):
            def __reduce__(self): return Done, ()
        cached = Cached(None); model = Model(cached); far = Cached(None); loader = cached.loader = Loader(); coded = Coded(5); row = Row(3); row.more.append(4); row.add_note("n"); done = Done(5); held = {"row": row, "model": model}
        """,
        """
        loader.read, cached.loader is loader, held["model"].source is cached
        cached.cache, far.cache, model.memory_
        coded.code, coded.args, done.value
        row.more, row.args, row.__notes__, held["row"] is row
        cached.cache["b"] = 2; model.memory_.append(2) ;; model.source.cache, held["model"].memory_
        [type(one).__name__ for one in (coded, row, done)]
        """,
    ),
}
