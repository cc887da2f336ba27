"""A third round."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "threads and processes that nobody holds": session(
        r"""
        import threading, time, subprocess, queue, concurrent.futures, weakref, atexit
        ticks, stop, jobs, done = [], threading.Event(), queue.Queue(), []
        def loop():
            while not stop.wait(0.02): ticks.append(len(ticks))
        threading.Thread(target=loop, daemon=True, name="ticker").start()
        def worker():
            while True:
                job = jobs.get()
                if job is None: return
                done.append(job * 2); jobs.task_done()
        threading.Thread(target=worker, daemon=True, name="worker").start()
        jobs.put(1); jobs.join()
        threading.Timer(3600, done.append, ["late"]).start()
        """,
        r"""
        [t.name for t in threading.enumerate() if t.name in ("ticker", "worker")]
        jobs.put(5); time.sleep(0.3) ;; done
        stop.set() ;; stop.is_set()
        n = len(ticks); time.sleep(0.1) ;; len(ticks) >= n
        """,
        named="ticker worker threads Thread jobs ticks stop done loop",
    ),
    "finalizers, deleters and weak things without a name": session(
        r"""
        import weakref, gc, os, pathlib
        log = []
        class Resource:
            live = weakref.WeakSet()
            def __init__(self, name): self.name = name; Resource.live.add(self); pathlib.Path(name).touch(); weakref.finalize(self, self._clean, name)
            @staticmethod
            def _clean(name): log.append(f"clean {name}"); os.path.exists(name) and os.remove(name)
        class Loud:
            def __init__(self, n): self.n = n
            def __del__(self): log.append(f"del {self.n}")
        a, b = Resource("a.lock"), Resource("b.lock"); loud, tmp = Loud(1), Loud(2); del tmp
        class Node:
            def __init__(self, v, parent=None): self.v, self.kids = v, []; self.parent = weakref.ref(parent) if parent else None; parent and parent.kids.append(self)
        root = Node("r"); kid = Node("k", root); proxy = weakref.proxy(root); cache = weakref.WeakValueDictionary(); cache["a"] = a
        by = weakref.WeakKeyDictionary({root: ["meta"]})
        class Slotted:
            __slots__ = ("x", "__weakref__")
        s = Slotted(); s.x = 1; ws = weakref.ref(s)
        weakref.finalize(b, log.append, "b went")
        """,
        r"""
        log, sorted(os.listdir("."))[:2]
        kid.parent() is root, proxy.v, by[root], ws() is s, cache["a"] is a
        sorted(r.name for r in Resource.live)
        del b; gc.collect() ;; log
        os.path.exists("b.lock"), os.path.exists("a.lock"), len(Resource.live)
        del loud ;; log[-1]
        cache.pop("a", None); del a; gc.collect() ;; log[-1]
        """,
    ),
    "the search path and blocked modules": session(
        r"""
        import sys, types, os, pathlib, importlib, unittest.mock as mock
        os.makedirs("src/app"); os.makedirs("vendor"); pathlib.Path("src/app/__init__.py").write_text("name = 'app'\n"); pathlib.Path("vendor/app2.py").write_text("where = 'vendor'\nstate = []\n"); pathlib.Path("statistics.py").write_text("mean = lambda xs: 'mine'\nmarker = 1\n"); pathlib.Path("src/same.py").write_text("v = 'src'\n"); pathlib.Path("vendor/same.py").write_text("v = 'vendor'\n")
        sys.path.insert(0, str(pathlib.Path("src").resolve())); sys.path.insert(1, os.path.abspath("vendor")); sys.path.append(os.path.abspath("vendor")); tail = sys.path[-1]
        import app, app2, same; app2.state.append(1)
        sys.modules["heavy"] = mock.MagicMock(name="heavy"); import heavy; heavy.load.return_value = 5
        sys.modules["forbidden"] = None
        stub = types.ModuleType("stub"); stub.__doc__ = "a stub"; stub.f = lambda: app.name; sys.modules["stub"] = stub
        try: import forbidden
        except ImportError as e: why = type(e).__name__
        sys.path.remove(os.path.abspath("vendor")); before = [os.path.basename(p) for p in sys.path]
        importlib.import_module("json.tool"); mod = importlib.import_module("app")
        """,
        r"""
        [os.path.basename(p) for p in sys.path] == before, os.path.basename(sys.path[0]), os.path.basename(sys.path[-1])
        app.name, mod is app, app2.state, same.v
        __import__("heavy").load(), heavy.load.return_value
        __import__("forbidden")
        __import__("stub").f(), stub.__doc__, sys.modules["stub"] is stub
        app.name = "changed" ;; stub.f()
        importlib.reload(same).v
        __import__("statistics").mean([1]) in ("mine", 1)
        why
        """,
        named="heavy",
    ),
    "numbers that are only true in one process": session(
        r"""
        import os, time, threading, sys, pathlib
        class Thing:
            def __init__(self, n): self.n = n
        things = [Thing(n) for n in range(3)]
        lookup = {t: t.n for t in things}; order = sorted(things, key=lambda t: t.n); seen = set(things); frozen = frozenset(things[:2])
        started = time.time(); mono = time.monotonic(); who = os.getpid(); name = threading.current_thread().name
        pathlib.Path("a").write_text("x"); stat = os.stat("a"); words = {w: hash(w) for w in ("a", "b")}; texts = {hash(("k", 1)): "v"}
        class ById(dict):
            def put(self, o, v): self[o] = v; return v
        ids = ById(); ids.put(things[0], "first")
        """,
        r"""
        lookup[things[1]], order[0] is things[0], things[2] in seen, things[0] in frozen
        ids[things[0]], type(ids) is ById
        time.time() - started < 3600, name
        words["a"] == hash("a"), texts[hash(("k", 1))]
        os.stat("a").st_size == stat.st_size, os.stat("a").st_mtime_ns == stat.st_mtime_ns
        """,
    ),
    "decimal, numpy and friends told how to behave": session(
        r"""
        import decimal, numpy as np, fractions, statistics, io, locale, pandas as pd, math, cmath
        D = decimal.Decimal; ctx = decimal.Context(prec=5, rounding=decimal.ROUND_CEILING); ctx.traps[decimal.DivisionByZero] = False; decimal.setcontext(ctx); D(1) / 3
        decimal.BasicContext.prec = 4; own = decimal.ExtendedContext.copy(); own.prec = 2
        class Errors:
            def __init__(self): self.seen = []
            def write(self, text): self.seen.append(text.strip()[:20])
        errors = Errors(); np.seterrcall(errors); np.seterr(divide="log"); np.array([1.0]) / 0
        np.set_printoptions(formatter={"float": lambda v: f"{v:.1f}f"}, threshold=5, nanstr="NULL")
        pd.options.display.float_format = "{:,.1f}".format; pd.set_option("display.show_dimensions", True, "display.max_seq_items", 2)
        legacy = np.random.RandomState(1); legacy.normal(); np.random.seed(3); np.random.normal()
        poly = np.polynomial.Polynomial([1, 2]); np.polynomial.set_default_printstyle("ascii"); vec = np.vectorize(lambda v: v + shift, otypes=[float]); shift = 1
        it = np.nditer(np.arange(4)); next(it); fi = np.ndenumerate(np.arange(3)); next(fi)
        """,
        r"""
        D(2) / 3, D(1) / 0, decimal.getcontext() is ctx, ctx.flags[decimal.Inexact]
        decimal.BasicContext.prec, own.divide(D(1), 3)
        np.array([1.0]) / 0 ;; errors.seen, np.geterrcall() is errors
        str(np.array([1.25, np.nan]))
        str(pd.Series([1234.56]))
        legacy.normal(), np.random.normal()
        str(poly), shift, vec([1]).tolist()
        shift = 5 ;; vec([1]).tolist()
        pd.get_option("display.max_seq_items"), pd.get_option("display.show_dimensions")
        """,
        named="it fi",
    ),
    "a notebook of figures and styles": session(
        r"""
        import matplotlib.pyplot as plt, matplotlib as mpl, numpy as np, contextlib, pathlib
        pathlib.Path("house.mplstyle").write_text("axes.facecolor: cyan\nlines.linewidth: 4\n"); plt.style.use("./house.mplstyle")
        figs = {}; plt.rcParams["figure.max_open_warning"] = 50
        # %%
        for n in "abc": figs[n] = plt.figure(num=n); figs[n].add_subplot(111).plot(range(3), label=n)
        plt.close("b"); plt.figure("a"); cur = plt.gca()
        # %%
        ctx = plt.style.context("dark_background");
        with ctx: dark, dax = plt.subplots()
        # %%
        def on_draw(event): drawn.append(event.name)
        drawn = []; figs["a"].canvas.mpl_connect("draw_event", on_draw); poly = cur.fill_between([0, 1], [1, 2]); txt = cur.text(0, 0, "t", picker=True); cur.set_prop_cycle(color=["r", "g"]); cur.plot([1, 2])
        # %%
        gs = mpl.gridspec.GridSpec(2, 2); big = plt.figure(); ax1 = big.add_subplot(gs[0, :]); ax2 = big.add_subplot(gs[1, 0], sharex=ax1); ins = ax1.inset_axes([0.5, 0.5, 0.4, 0.4]); sec = ax2.secondary_yaxis("right", functions=(lambda v: v * k, lambda v: v / k)); k = 2; norm = mpl.colors.LogNorm(1, 100); mesh = ax2.pcolormesh(np.ones((2, 2)), norm=norm); leg = cur.legend()
        # %%
        saved = dict(mpl.rcParams); mpl.rcParams.update({"font.size": 3}); rcs = [mpl.rcParams.copy()]; plt.rcParams["axes.titlecolor"] = "blue"; ani = None; pats = [mpl.patches.Circle((0, 0), 1), mpl.patches.Rectangle((0, 0), 1, 1)]; coll = mpl.collections.PatchCollection(pats); ax1.add_collection(coll); ax1.set_title("T")
        """,
        r"""
        plt.get_figlabels(), plt.figure("a") is figs["a"], plt.fignum_exists("b"), plt.gcf() is figs["a"]
        cur.plot([3, 4])[0].get_color(), mpl.rcParams["lines.linewidth"], mpl.rcParams["axes.facecolor"], mpl.rcParams["font.size"]
        dax.get_facecolor(), dark in [plt.figure(n) for n in plt.get_fignums()]
        figs["a"].canvas.draw() ;; drawn
        ax1.set_xlim(0, 9) ;; ax2.get_xlim(), ins.figure is big, ax1.child_axes[0] is ins
        k = 10 ;; sec._functions[0](1)
        norm.vmax = 50 ;; mesh.norm is norm, mesh.norm.vmax
        ax2.get_subplotspec().get_gridspec() is gs, poly in cur.collections, txt.get_picker(), leg.get_texts()[0].get_text()
        rcs[0]["font.size"], saved["font.size"], ax1.title.get_color(), plt.rcParams["figure.max_open_warning"]
        plt.style.use("default") ;; mpl.rcParams["lines.linewidth"]
        ax1.collections[0] is coll, len(coll.get_paths())
        """,
        named="ctx",
    ),
    "an etl with a database on disk": session(
        r"""
        import sqlite3, pandas as pd, json, os, contextlib, logging, io, csv, datetime as dt
        logging.basicConfig(filename="etl.log", level="INFO", format="%(levelname)s %(message)s", force=True); log = logging.getLogger("etl")
        db = sqlite3.connect("wh.db"); db.row_factory = sqlite3.Row; db.executescript("pragma foreign_keys=on; create table src (id integer primary key, name text unique, n real check (n >= 0)); create table log (at text, what text); create index ix on src(n); create view big as select * from src where n > 5; create trigger tr after insert on src begin insert into log values ('t', new.name); end;")
        # %%
        def load(rows):
            with db: db.executemany("insert into src (name, n) values (?, ?)", rows)
            log.info("loaded %d", len(rows)); return db.total_changes
        changes = load([("a", 1), ("b", 10), ("c", 7)])
        # %%
        # raises
        load([("d", 2), ("e", -1)])
        # %%
        try: load([("a", 5)])
        except sqlite3.IntegrityError as e: err = e; log.exception("dup")
        # %%
        seen = [tuple(r) for r in db.execute("select name, n from big order by n")]; last = db.execute("select * from src order by id desc").fetchone(); asdict = dict(last)
        # %%
        ro = sqlite3.connect(f"file:{os.path.abspath('wh.db')}?mode=ro", uri=True); other = sqlite3.connect("wh.db", isolation_level="IMMEDIATE", timeout=2); other.execute("insert into src (name, n) values ('z', 100)"); other.commit(); db.create_function("half", 1, lambda v: v / 2, deterministic=True)
        frame = pd.read_sql("select * from src", db, index_col="id"); chunks = [len(c) for c in pd.read_sql("select * from src", db, chunksize=2)]; out = io.StringIO(); csv.writer(out).writerows(map(tuple, db.execute("select * from src")))
        # %%
        class Repo:
            def __init__(self, con): self.con, self.cache = con, {}
            def get(self, name):
                if name not in self.cache: self.cache[name] = self.con.execute("select n from src where name = ?", (name,)).fetchone()["n"]
                return self.cache[name]
        repo = Repo(db); repo.get("b"); db.execute("update src set n = 11 where name = 'b'"); db.commit(); dump = "\n".join(db.iterdump())
        """,
        r"""
        repo.get("b"), repo.get("a"), repo.con is db
        load([("q", 3)]) > 0, db.execute("select count(*) n from src").fetchone()["n"], db.execute("select count(*) from log").fetchone()[0]
        load([("bad", -5)])
        ro.execute("select count(*) from src").fetchone(), ro.execute("delete from src")
        other.isolation_level, other.in_transaction, other.execute("select max(n) from src").fetchone()
        open("etl.log").read().splitlines()[0], open("etl.log").read().count("dup")
        log.warning("more") ;; open("etl.log").read().splitlines()[-1]
        str(err), type(err).__name__, seen, asdict, chunks, frame.n.tolist()
        db.execute("select half(n) from src").fetchone()[0]
        "create trigger" in dump.lower(), out.getvalue().count("\r\n")
        [r[0] for r in db.execute("pragma foreign_keys")], sorted(os.listdir("."))[:4]
        """,
        named="last half",
    ),
    "servers, mail and markup": session(
        r"""
        import http.server, email, email.mime.multipart, email.mime.text, html.parser, xml.etree.ElementTree as ET, json, urllib.parse, http.cookies, mailbox, string, base64, smtplib, ssl, ipaddress, gettext, xml.sax, configparser, netrc, plistlib, xmlrpc.client, wsgiref.headers
        class Handler(http.server.BaseHTTPRequestHandler):
            served = []
            protocol_version = "HTTP/1.1"
            def do_GET(self): Handler.served.append(self.path)
        msg = email.mime.multipart.MIMEMultipart(); msg["Subject"] = "é"; part = email.mime.text.MIMEText("body", "plain", "utf-8"); msg.attach(part); parsed = email.message_from_string(msg.as_string())
        box = mailbox.mbox("box"); box.add(email.message_from_string("Subject: one\n\nx")); box.flush()
        class Links(html.parser.HTMLParser):
            def __init__(self): super().__init__(); self.links, self.depth = [], 0
            def handle_starttag(self, tag, attrs): self.depth += 1; self.links += [v for k, v in attrs if k == "href"]
        p = Links(); p.feed("<a href='x'><b><a hr")
        tree = ET.parse(__import__("io").StringIO("<r><i n='1'/><i n='2'/></r>")); second = tree.getroot()[1]; it = tree.iter("i"); first = next(it); builder = ET.TreeBuilder(); builder.start("x", {}); pull = ET.XMLPullParser(["end"]); pull.feed("<a><b/>")
        url = urllib.parse.urlsplit("http://u:p@h:1/p?q=1#f"); qs = urllib.parse.parse_qs("a=1&a=2"); jar = http.cookies.SimpleCookie("a=1; b=2"); hdr = wsgiref.headers.Headers([("A", "1")])
        _ = gettext.gettext; t = gettext.NullTranslations(); t.install(); plist = plistlib.dumps({"a": 1}); proxy_err = xmlrpc.client.Fault(1, "no")
        """,
        r"""
        Handler.served, Handler.protocol_version, Handler.__mro__[1].__name__
        msg["Subject"], msg.get_payload()[0] is part, parsed.get_payload()[0].get_payload(decode=True)
        len(box), box[0]["Subject"]
        p.feed("ef='y'>") ;; p.links, p.depth
        second.get("n"), tree.getroot()[1] is second, first.get("n")
        next(it).get("n")
        builder.end("x").tag, [e.tag for _k, e in pull.read_events()]
        url.port, url.username, qs, jar["b"].value, hdr["A"], plistlib.loads(plist), proxy_err.faultCode
        __builtins__._("x") if hasattr(__builtins__, "_") else __builtins__["_"]("x")
        """,
        named="box it builder pull",
    ),
    "settings by a context manager of a cell's own": session(
        r"""
        import contextlib, os, sys, logging, warnings, random, numpy as np, time, pathlib, signal, io
        class settings:
            active = []
            def __init__(self, **kw): self.kw, self.old = kw, {}
            def __enter__(self):
                for k, v in self.kw.items(): self.old[k] = os.environ.get(k); os.environ[k] = v
                settings.active.append(self); return self
            def __exit__(self, *a):
                for k, v in self.old.items(): os.environ.pop(k) if v is None else os.environ.__setitem__(k, v)
                settings.active.remove(self)
        outer = settings(A="1", B="2").__enter__(); inner = settings(A="9").__enter__()
        @contextlib.contextmanager
        def seeded(n):
            state = np.random.get_state(); np.random.seed(n)
            try: yield
            finally: np.random.set_state(state)
        np.random.seed(1);
        with seeded(5): inside = np.random.rand()
        after = np.random.rand()
        class capture(logging.Handler):
            def __init__(self): super().__init__(); self.records = []
            def emit(self, r): self.records.append(r)
        cap = capture(); logging.getLogger("app").addHandler(cap); logging.getLogger("app").warning("one %s", "arg"); rec = cap.records[0]
        class Cwd:
            def __enter__(self): self.was = os.getcwd(); os.chdir("/tmp"); return self
            def __exit__(self, *a): os.chdir(self.was)
        with Cwd() as c: there = os.getcwd()
        deadline = time.time() + 3600
        def timeout(n, f): signal.alarm(0); raise TimeoutError
        prev = signal.signal(signal.SIGALRM, timeout); signal.alarm(2000)
        def restore(): signal.alarm(0); return signal.signal(signal.SIGALRM, prev)
        sys.stdout.reconfigure(line_buffering=True) if hasattr(sys.stdout, "reconfigure") else None
        """,
        r"""
        os.environ["A"], os.environ["B"], len(settings.active), settings.active[0] is outer
        inner.__exit__() ;; os.environ["A"], settings.active == [outer]
        outer.__exit__() ;; os.environ.get("A"), os.environ.get("B"), settings.active
        np.random.rand(), inside, after
        with seeded(5): again = np.random.rand() ;; again == inside, np.random.rand()
        logging.getLogger("app").error("two") ;; [r.getMessage() for r in cap.records], cap.records[0] is rec, rec.args
        there, os.path.basename(c.was) == os.path.basename(os.getcwd())
        signal.alarm(0) > 1000
        restore() is timeout, signal.getsignal(signal.SIGALRM) is signal.SIG_DFL or signal.getsignal(signal.SIGALRM) == prev
        deadline - time.time() > 0
        """,
    ),
    "attributes on frames, functions and modules of libraries": session(
        r"""
        import pandas as pd, numpy as np, sklearn.cluster as cl, functools, types, math, datetime as dt, re, collections, polars as pl, pyarrow as pa, decimal, fractions, pathlib, scipy.sparse as sp, uuid, itertools
        import warnings; warnings.simplefilter("ignore")
        df = pd.DataFrame({"a": [1, 2]}); df.note = "mine"; df.helper = lambda: df.a.sum(); s = df.a; s.tag = {"k": 1}; ix = pd.Index([1]); ix.comment = "c"; g = df.groupby("a"); g.label = "g"
        km = cl.KMeans(2, n_init=1, random_state=0).fit([[0], [9]]); km.meta = {"v": 1}; km.fit_old = km.fit
        def f(x): return x
        f.count = 3; f.self = f; m = types.MethodType(f, df); part = functools.partial(f, 1); part.why = "p"; lam = lambda: lam.n; lam.n = 4
        class Arr(np.ndarray):
            def __array_finalize__(self, o): self.unit = getattr(o, "unit", None)
        arr = np.arange(3).view(Arr); arr.unit = "kg"; piece = arr[1:]; ma = np.ma.array([1, 2], mask=[0, 1]); ma.fill_value = 9; ma.extra = "e"
        class Dict(dict): pass
        d = Dict(a=1); d.note = "n"; cnt = collections.Counter("ab"); od = collections.OrderedDict(a=1)
        class Str(str): pass
        t = Str("x"); t.lang = "de"; n = type("Int", (int,), {})(5); n.unit = "m"; mat = sp.csr_matrix([[1, 0]]); mat.label = "M"
        e = ValueError("v"); e.code = 7; mod = types.ModuleType("mm"); mod.x = df; pth = pathlib.Path("a")
        """,
        r"""
        df.note, df.helper(), s is df.a or True, getattr(s, "tag", None)
        getattr(ix, "comment", None), getattr(g, "label", None)
        km.meta, km.fit_old.__self__ is km, km.predict([[8]]).tolist()
        f.count, f.self is f, m.__self__ is df, part.why, lam()
        arr.unit, piece.unit, type(piece) is Arr, np.shares_memory(arr, piece), ma.extra, ma.fill_value
        d.note, dict(d), t.lang, t == "x", n.unit, n + 1, mat.label, mat.toarray().tolist()
        e.code, e.args, mod.x is df
        """,
    ),
    "big and many files": session(
        r"""
        import os, pathlib, numpy as np, hashlib, json
        rng = np.random.default_rng(0); big = rng.integers(0, 256, 9_000_000, dtype="u1"); big.tofile("big.bin"); P = pathlib.Path
        P("many").mkdir(); [P(f"many/{n:03}.json").write_text(json.dumps({"n": n})) for n in range(300)]
        mm = np.memmap("big.bin", dtype="u1", mode="r+"); head = mm[:10]; mm[5] = 1; mm.flush()
        with open("big.bin", "r+b") as f: f.seek(8_000_000); f.write(b"PATCH")
        tail = open("big.bin", "rb"); tail.seek(-4, 2); digest = hashlib.sha256(P("big.bin").read_bytes()).hexdigest()
        # %%
        [os.remove(f"many/{n:03}.json") for n in range(0, 300, 3)]; os.rename("many/001.json", "many/one.json"); P("many/deep/er").mkdir(parents=True); os.truncate("many/002.json", 0); sizes = {p.name: p.stat().st_size for p in P("many").iterdir() if p.is_file()}
        lst = sorted(P("many").glob("*.json")); reader = (json.loads(p.read_text() or "null") for p in lst); total = sum(1 for _ in P("many").rglob("*"))
        # %%
        with open("log.txt", "w") as f:
            for n in range(1000): f.write(f"{n}\n")
        lines = open("log.txt"); skip = [next(lines) for _ in range(500)]; back = lines.readline; raw = open("log.txt", "rb"); raw.read(3); view = memoryview(raw.read(4))
        """,
        r"""
        hashlib.sha256(P("big.bin").read_bytes()).hexdigest() == digest, head[5], mm[8_000_000:8_000_005].tobytes()
        tail.read(), tail.tell()
        {p.name: p.stat().st_size for p in P("many").iterdir() if p.is_file()} == sizes, sum(1 for _ in P("many").rglob("*")) == total
        lst[0].read_text(), P("many/deep/er").is_dir(), P("many/one.json").read_text()
        next(lines), back(), len(skip)
        raw.read(3), bytes(view), raw.tell()
        mm[0] = 77; mm.flush() ;; P("big.bin").read_bytes()[0], head[0]
        """,
        named="reader view",
    ),
    "objects over several cells that share": session(
        r"""
        import pandas as pd, numpy as np, collections, copy
        base = np.zeros((4, 3)); df = pd.DataFrame(base, columns=list("abc"), copy=False); row = base[1]; col = base[:, 2]; T = base.T; flat = base.ravel()
        # %%
        registry = {"base": base, "views": [row, col], "frame": df}; Registry = type("Registry", (), {"items": registry, "get": classmethod(lambda cls, k: cls.items[k])})
        # %%
        class Account:
            bank = None; all = []
            def __init__(self, owner, amount=0): self.owner, self.amount, self.log = owner, amount, []; Account.all.append(self); self.listeners = [self.log.append]
            def pay(self, other, n): self.amount -= n; other.amount += n; [l((self.owner, n)) for l in self.listeners + other.listeners]
        a, b = Account("a", 10), Account("b"); a.partner, b.partner = b, a
        # %%
        totals = collections.Counter(); a.listeners.append(lambda e: totals.update([e[0]])); b.listeners.append(totals.update)
        # %%
        # raises
        a.pay(b, 3); b.pay(None, 1)
        # %%
        shared = [a.log]; b.log = a.log; snap = copy.copy(a); deep = copy.deepcopy(a); pair = (a, [b]); matrix = [[0] * 2] * 2; default = {"k": []}; copies = [default] * 3; nested = {"x": default["k"]}
        # %%
        def audit(acc=a, seen=set()): seen.add(acc.owner); return sorted(seen), acc.amount
        audit(); pay = a.pay; history = [pay]; Account.pay = lambda self, other, n: "frozen"; old = history[0]
        # %%
        class Account(Account):
            def pay(self, other, n): return "new"
        c = Account("c"); kinds = {type(x).__name__: type(x) for x in (a, c)}; a.__class__ = Account
        """,
        r"""
        base[1, 0] = 5 ;; row[0], T[0, 1], flat[3], registry["views"][0] is row, df.iloc[1, 0]
        Registry.get("base") is base, Registry.items is registry
        a.partner is b, b.partner.partner is b, Account.all[0] is a, len(Account.all)
        old(b, 1), totals, a.log is b.log, shared[0] is a.log, a.log
        b.amount, snap.log is a.log, deep.partner.partner is deep, deep.log is a.log, pair[1][0] is b
        matrix[0][0] = 1 ;; matrix, copies[0] is copies[2]
        nested["x"].append(1) ;; copies[1]["k"]
        audit(), audit.__defaults__[0] is a
        a.pay(b, 1), b.pay(a, 1), type(a) is Account, isinstance(b, Account), issubclass(Account, type(b)), type(b).__name__
        """,
    ),
}
