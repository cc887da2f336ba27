"""Sessions of data engineers as whole notebooks: many cells, a helper module here, a half-read file there."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "an incremental load with watermarks and a dead-letter file": session(
        """
        import csv, json, pathlib, sqlite3, datetime as dt, collections, contextlib
        pathlib.Path("orders.csv").write_text("id,ts,amount\\n" + "".join(f"{i},2024-01-{i + 1:02d},{i * 10 if i != 3 else 'bad'}\\n" for i in range(8)))
        db = sqlite3.connect("mart.db"); db.row_factory = sqlite3.Row; db.executescript("create table if not exists orders(id int primary key, ts text, amount real); create table watermark(name text primary key, value text);")
        # %%
        pathlib.Path("loading.py").write_text("import json\\nstats = {'ok': 0, 'bad': 0}\\nclass DeadLetters:\\n    instances = []\\n    def __init__(self, path):\\n        self.f = open(path, 'a', buffering=1); self.n = 0; DeadLetters.instances.append(self)\\n    def put(self, row, err):\\n        self.n += 1; stats['bad'] += 1; self.f.write(json.dumps({'row': row, 'err': str(err)}) + '\\\\n')\\ndef parse(row, on_error=None):\\n    try:\\n        out = (int(row['id']), row['ts'], float(row['amount']))\\n    except ValueError as e:\\n        if on_error: on_error(row, e)\\n        return None\\n    stats['ok'] += 1\\n    return out\\n")
        import loading; from loading import DeadLetters, parse
        dead = DeadLetters("dead.jsonl"); src = open("orders.csv", newline=""); reader = csv.DictReader(src); rows = (r for raw in reader if (r := parse(raw, dead.put)) is not None)
        # %%
        def load(n):
            with db: done = [db.execute("insert or replace into orders values (?, ?, ?)", r).lastrowid for _, r in zip(range(n), rows)]
            marks["last"] = db.execute("select max(ts) from orders").fetchone()[0]; db.execute("insert or replace into watermark values ('orders', ?)", (marks["last"],)); return len(done)
        marks = collections.OrderedDict(); loaded = [load(2)]; pending = db.in_transaction
        """,
        """
        loaded, marks, pending, loading.stats, dead.n
        load(2), loading.stats, dead.n, DeadLetters.instances[0] is dead, rows is not None
        open("dead.jsonl").read(), dead.f.closed, reader.line_num, rows is not None
        db.rollback() ;; [tuple(r) for r in db.execute("select * from watermark")], db.execute("select count(*) from orders").fetchone()[0], rows is not None
        loading.stats["ok"] = 100; parse({"id": "1", "ts": "x", "amount": "2"}) ;; loading.stats, parse.__globals__["stats"] is loading.stats, rows is not None
        list(rows), next(reader, "end"), src.closed
        loading.parse is parse, type(dead) is loading.DeadLetters, [r.keys() for r in db.execute("select id from orders limit 1")]
        """,
        named="rows",
    ),
    "a star schema in duckdb fed from polars with checks": session(
        """
        import duckdb, polars as pl, pathlib, functools, dataclasses
        con = duckdb.connect("star.duckdb"); sales = pl.DataFrame({"day": ["2024-01-01", "2024-01-02", "2024-01-02"], "sku": ["a", "b", "a"], "qty": [1, 2, 3]}).with_columns(pl.col("day").str.to_date()); con.execute("create table dim_sku(sku varchar primary key, price decimal(8,2))"); con.executemany("insert into dim_sku values (?, ?)", [("a", 1.5), ("b", 2.25)])
        @dataclasses.dataclass
        class Check:
            name: str; sql: str; limit: float = 0; history: list = dataclasses.field(default_factory=list)
            def run(self, con): v = con.execute(self.sql).fetchone()[0]; self.history.append(v); return v <= self.limit + slack
        slack = 0; checks = [Check("orphans", "select count(*) from sales s anti join dim_sku d using (sku)"), Check("big", "select max(qty) from sales", 2)]
        # %%
        con.register("sales", sales); con.execute("create or replace table fact as select day, sku, qty, qty * price as rev from sales join dim_sku using (sku)"); verdict = {c.name: c.run(con) for c in checks}; lazy = sales.lazy().filter(pl.col("qty") >= pl.lit(2)).group_by("sku").agg(pl.col("qty").sum()).sort("sku"); per_day = con.sql("from fact select day, sum(rev) r group by day order by day")
        # %%
        con.execute("begin"); con.execute("update dim_sku set price = 9 where sku = 'a'"); con.execute("create temp view hot as select * from dim_sku where price > 5"); con.execute("set schema = 'main'"); con.execute("set errors_as_json = true"); exported = pathlib.Path("out"); exported.mkdir(); query = functools.partial(con.execute, "select price from dim_sku where sku = ?"); before = query(["b"]).fetchall()
        """,
        """
        verdict, [c.history for c in checks], before
        query(["a"]).fetchall(), con.execute("select count(*) from hot").fetchall()
        con.execute("select current_setting('errors_as_json')").fetchall(), con.execute("select sku, rev from fact order by 1, 2").fetchall()
        slack = 5 ;; checks[1].run(con), checks[1].history, [type(c) is Check for c in checks]
        con.execute("rollback") ;; query(["a"]).fetchall()
        per_day.fetchall(), lazy.collect().rows(), con.execute("select count(*) from sales").fetchall()
        query.func.__self__ is con, con.execute("select table_name from information_schema.tables where table_name = 'hot'").fetchall()
        """,
        named="con per_day query",
    ),
    "a crawler's state: frontier, seen set, politeness and robots": session(
        """
        import heapq, collections, urllib.parse as up, hashlib, itertools, re, functools, time, sqlite3, json, pathlib
        class Frontier:
            def __init__(self, seeds): self.heap, self.tick, self.seen = [], itertools.count(), set(); [self.push(s, 0) for s in seeds]
            def push(self, url, prio):
                key = self.canon(url)
                if key in self.seen: return False
                self.seen.add(key); heapq.heappush(self.heap, (prio, next(self.tick), url)); return True
            @staticmethod
            @functools.lru_cache(maxsize=None)
            def canon(url): p = up.urlsplit(url); return up.urlunsplit((p.scheme, p.netloc.lower(), p.path.rstrip("/"), p.query, ""))
            def __iter__(self): return self
            def __next__(self):
                if not self.heap: raise StopIteration
                return heapq.heappop(self.heap)[2]
        pages = {"http://a/": ["/b", "/c#x"], "http://a/b": ["/c", "http://B/"], "http://a/c": []}; fr = Frontier(["http://a/"]); hosts = collections.defaultdict(lambda: {"n": 0, "delay": delay}); delay = 2; links = re.compile(r"https?://|/"); log = []
        # %%
        def crawl():
            for url in fr:
                h = hosts[up.urlsplit(url).netloc]; h["n"] += 1; found = [fr.push(up.urljoin(url, l), h["n"]) for l in pages.get(url, [])]
                cmd = yield url, found
                if cmd: log.append(cmd)
        c = crawl(); first = next(c); second = c.send("slow")
        """,
        """
        first, second, log, len(fr.seen)
        next(c), dict(hosts["a"]), next(fr.tick)
        delay = 9; pages["http://B/"] = ["/new"] ;; next(c), hosts["zzz"]["delay"]
        c.gi_frame.f_locals["h"] is hosts["B"], Frontier.canon.cache_info().hits > 0, fr.canon is Frontier.canon
        c.send("fast") ;; log, fr.heap, list(c)
        iter(fr) is fr, next(fr, "empty"), sorted(hosts), c is not None
        """,
        named="c",
    ),
    "a data-quality report with registered checks and a renderer": session(
        """
        import pandas as pd, numpy as np, functools, inspect, jinja2, warnings, collections
        CHECKS = {}
        def check(*cols, severity="warn", **opts):
            def deco(f):
                @functools.wraps(f)
                def run(df): run.calls += 1; res = f(df, *[df[c] for c in cols], **opts); results[f.__name__].append((severity, bool(res))); return res
                run.calls = 0; run.cols = cols; run.raw = f; CHECKS[f.__name__] = run; return run
            return deco
        results = collections.defaultdict(list)
        @check("a", severity="error", limit=0.5)
        def few_nulls(df, a, limit): return a.isna().mean() <= limit * strict
        @check("a", "b")
        def ordered(df, a, b): return (a.fillna(0) <= b).all()
        strict = 1; df = pd.DataFrame({"a": [1, np.nan, 3], "b": [2.0, 5, 9]}); df.index.name = "row"; df.attrs["checks"] = CHECKS
        # %%
        summary = {n: f(df) for n, f in CHECKS.items()}; tpl = jinja2.Template("{% for n, r in rows|dictsort %}{{ n }}={{ r[-1][1] }};{% endfor %}"); render = functools.partial(tpl.render, rows=results); style = df.style.format(precision=1).map(lambda v: "color:red" if v > strict else ""); pipe = functools.reduce(lambda f, g: lambda d: g(f(d)), [lambda d: d.dropna(), lambda d: d.assign(c=d.a * strict)])
        expanding = df.expanding(2); roll = df.b.rolling(2); grouped = df.groupby(df.a.notna()); ewm = df.b.ewm(alpha=0.5); it = grouped.__iter__(); g0 = next(it)
        """,
        """
        summary, dict(results), few_nulls.calls, render()
        strict = 0 ;; few_nulls(df), render(), results["few_nulls"]
        df.loc[0, "a"] = 100.0 ;; ordered(df), roll.sum().tolist(), expanding.sum().a.tolist(), ewm.mean().round(2).tolist()
        CHECKS["ordered"] is ordered, df.attrs["checks"]["ordered"].raw is ordered.__wrapped__, ordered.cols
        strict = 2 ;; pipe(df).c.tolist(), "color:red" in style.to_html()
        next(it)[1].shape, g0[0], grouped.b.sum().tolist(), str(inspect.signature(few_nulls))
        """,
        named="it",
    ),
    "an event bus with typed messages, replay and snapshots": session(
        """
        import dataclasses, typing, collections, uuid, json, functools, weakref, copy, io
        @dataclasses.dataclass(frozen=True)
        class Event:
            kinds: typing.ClassVar[dict] = {}
            def __init_subclass__(cls, **k): super().__init_subclass__(**k); Event.kinds[cls.__name__] = cls
        @dataclasses.dataclass(frozen=True)
        class Opened(Event): acct: str; amount: int = 0
        @dataclasses.dataclass(frozen=True)
        class Moved(Event): src: str; dst: str; amount: int
        class Ledger:
            def __init__(self): self.balance = collections.Counter(); self.log = []; self.hooks = weakref.WeakSet()
            @functools.singledispatchmethod
            def apply(self, e): raise TypeError(type(e).__name__)
            @apply.register
            def _(self, e: Opened): self.balance[e.acct] += e.amount; return self._done(e)
            @apply.register
            def _(self, e: Moved): self.balance[e.src] -= e.amount; self.balance[e.dst] += e.amount - fee; return self._done(e)
            def _done(self, e): self.log.append(e); [h(e) for h in self.hooks]; return self
        class Hook:
            def __init__(self): self.got = []
            def __call__(self, e): self.got.append(type(e).__name__)
        # %%
        fee = 1; led = Ledger(); hk = Hook(); led.hooks.add(hk); led.hooks.add(gone := Hook()); del gone; led.apply(Opened("a", 100)).apply(Moved("a", "b", 10)); snap = copy.deepcopy(led.balance); replay = (led.log[i] for i in range(len(led.log))); r0 = next(replay); bound = led.apply; wire = json.dumps([[type(e).__name__, dataclasses.asdict(e)] for e in led.log])
        # %%
        class Closed(Event):
            pass
        Ledger.apply.register(Closed, lambda self, e: self._done(e)) if hasattr(Ledger.apply, "register") else None; dispatcher = Ledger.__dict__["apply"]; led2 = Ledger()
        """,
        """
        led.balance, snap, hk.got, len(led.hooks), sorted(Event.kinds)
        bound(Moved("b", "a", 2)) is led, led.balance, hk.got, next(replay), r0 is led.log[0]
        fee = 0; [led2.apply(Event.kinds[k](**d)) for k, d in json.loads(wire)] ;; led2.balance, led2.log == led.log[:2]
        led.apply(Closed()) is led, type(led.log[-1]) is Closed, dispatcher is Ledger.__dict__["apply"]
        led.apply("what")
        class Late(Event): pass ;; None
        exec("class Later(Event): pass") ;; sorted(Event.kinds), Event.kinds["Opened"] is Opened, hash(Opened("a", 100)) == hash(led.log[0])
        """,
        named="replay",
    ),
    "an archive job: manifests, checksums and streams side by side": session(
        """
        import tarfile, gzip, hashlib, io, pathlib, json, itertools, struct, zlib, os
        raw = pathlib.Path("raw"); raw.mkdir(); [(raw / f"{n}.bin").write_bytes(bytes([i]) * (i + 1) * 10) for i, n in enumerate("abcd")]; files = sorted(raw.iterdir())
        class Tracked(io.RawIOBase):
            def __init__(self, f): self.f, self.h, self.n = f, hashlib.md5(), 0
            def readable(self): return True
            def readinto(self, b): d = self.f.read(len(b)); b[:len(d)] = d; self.h.update(d); self.n += len(d); return len(d)
        tk = Tracked(open(files[1], "rb")); buf = io.BufferedReader(tk, 8); head = buf.read(3); out = open("all.tar.gz", "wb"); gz = gzip.GzipFile("all.tar", "wb", fileobj=out, mtime=0); tar = tarfile.open(fileobj=gz, mode="w|"); tar.add(files[0], "a.bin")
        # %%
        manifest = {"files": [], "crc": 0}
        def pack(paths):
            for p in paths:
                d = p.read_bytes(); manifest["crc"] = zlib.crc32(d, manifest["crc"]); manifest["files"].append({"n": p.name, "sz": len(d)}); yield struct.pack(">I", len(d)) + d
        packer = pack(files); frame = next(packer); fmt = struct.Struct("<hI"); rec = fmt.pack(1, 2); unp = fmt.iter_unpack(rec * 3); u0 = next(unp); view = memoryview(bytearray(frame)).cast("B"); ints = memoryview(bytearray(16)).cast("I", (2, 2)); jl = io.TextIOWrapper(gzip.open("m.jsonl.gz", "wb"), encoding="utf-8"); jl.write(json.dumps(manifest) + "\\n")
        """,
        """
        head, buf.read(4), tk.n, tk.h.hexdigest()[:8], tk.f.tell(), buf.raw is tk
        tar.add(files[2], "c.bin"); tar.close(); gz.close(); out.close() ;; tarfile.open("all.tar.gz").getnames()
        len(next(packer)), manifest, manifest["crc"]
        next(unp), u0, fmt.size, list(unp)
        view[0] = 1; ints[1, 1] = 7 ;; view.obj[0], ints.tolist(), ints.shape, view.nbytes
        jl.write("end\\n"); jl.close() ;; gzip.open("m.jsonl.gz", "rt").read().splitlines()[-1]
        packer.close() ;; list(packer), [f.name for f in files]
        """,
        named="buf gz jl packer tar tk unp",
    ),
    "a scheduler simulation: virtual time, coroutines and resources": session(
        """
        import heapq, itertools, types, collections, contextlib, random, functools, asyncio
        class Sim:
            def __init__(self): self.now, self.q, self.n, self.trace = 0, [], itertools.count(), []
            def spawn(self, g, at=0): heapq.heappush(self.q, (self.now + at, next(self.n), g)); return g
            def step(self):
                self.now, _, g = heapq.heappop(self.q)
                try: w = g.send(None)
                except StopIteration as s: self.trace.append(("end", self.now, s.value)); return False
                self.spawn(g, w); return True
        class Res:
            def __init__(self, n): self.free, self.wait = n, collections.deque()
            @contextlib.contextmanager
            def use(self, who):
                self.free -= 1; sim.trace.append(("got", who))
                try: yield self
                finally: self.free += 1; sim.trace.append(("put", who))
        sim = Sim(); res = Res(1); rnd = random.Random(5)
        def job(name, n):
            with res.use(name):
                for i in range(n): sim.trace.append((name, i, sim.now)); yield rnd.randint(1, 4) * speed
            return name
        @types.coroutine
        def tick(n): yield n
        async def co(name): await tick(2); sim.trace.append((name, "mid")); await tick(3 * speed); return name
        speed = 1; a = sim.spawn(job("a", 3)); b = sim.spawn(co("b"), 1)
        # %%
        [sim.step() for _ in range(3)]; frames = a.gi_frame.f_locals["i"]; pick = functools.partial(rnd.choice, ["x", "y", "z"])
        """,
        """
        sim.trace, sim.now, frames, res.free, len(sim.q)
        sim.step(), sim.trace[-1], sim.now
        speed = 10; [sim.step() for _ in range(3)] ;; sim.trace[-3:], sim.now
        pick(), rnd.random(), sim.q != [] and sim.q[0][2] in (a, b)
        a.close() ;; res.free, sim.trace[-1], a.gi_frame
        sim.spawn(job("c", 1)) in [g for *_, g in sim.q], next(sim.n), b.cr_frame is None or b.cr_frame.f_locals["name"]
        """,
        named="a b sim",
    ),
    "a config tree from files, environment and command line": session(
        """
        import tomllib, yaml, os, pathlib, argparse, collections, copy, types, typing, functools, configparser, dataclasses, dotenv
        pathlib.Path("base.toml").write_text("[db]\\nhost = 'h'\\nport = 1\\n[job]\\nsteps = ['x']\\n"); pathlib.Path("prod.yaml").write_text("db: {host: prod}\\njob: {retries: 3}\\n"); pathlib.Path(".env").write_text("ETL_DB__PORT=99\\nETL_EMPTY=\\n"); dotenv.load_dotenv(".env"); vals = dotenv.dotenv_values(".env")
        class Node(dict):
            def __getattr__(self, k):
                try: v = self[k]
                except KeyError: raise AttributeError(k) from None
                return v
            def __setattr__(self, k, v): changes.append(k); self[k] = v
            def __missing__(self, k): return self.setdefault(k, Node()) if auto and not k.startswith("__") else (_ for _ in ()).throw(KeyError(k))
        changes, auto = [], False
        def wrap(x): return Node({k: wrap(v) for k, v in x.items()}) if isinstance(x, dict) else x
        cfg = wrap(tomllib.loads(pathlib.Path("base.toml").read_text())); layers = collections.ChainMap({}, wrap(yaml.safe_load(pathlib.Path("prod.yaml").read_text())), cfg); cfg.job.steps.append("y"); cfg.db.name = "n"; frozen = types.MappingProxyType(cfg); ref = cfg.db
        # %%
        class Lazy:
            def __init__(self, f): self.f = f
            def __set_name__(self, o, n): self.n = n; o.lazies = getattr(o, "lazies", []) + [n]
            def __get__(self, o, t): v = o.__dict__[self.n] = self.f(o); return v
        class App:
            def __init__(self, c): self.c = c
            url = Lazy(lambda s: f"{s.c.db.host}:{os.environ.get('ETL_DB__PORT')}"); cost = Lazy(lambda s: changes.append("cost") or 5)
        app = App(cfg); app.cost; saved = dict(os.environ); os.environ["ETL_DB__PORT"] = "100"; scope = types.SimpleNamespace(cfg=cfg, app=app, **{"self": None}); scope.self = scope
        """,
        """
        cfg.db.host, layers["db"]["host"], layers["job"].get("retries"), changes, ref is cfg.db, type(cfg.job) is Node
        ref.port = 5 ;; frozen["db"]["port"], changes, layers.maps[2] is cfg, cfg.job.steps
        app.url, app.url, App.lazies, app.cost, changes.count("cost"), scope.self is scope
        cfg["nope"]
        auto = True; cfg["made"]["deep"] = 1 ;; cfg.made, copy.deepcopy(cfg).made.deep, saved["ETL_DB__PORT"], os.environ["ETL_DB__PORT"], vals
        layers["db"] = {"host": "top"} ;; layers["db"]["host"], cfg.db.host, layers.parents["db"]["host"]
        """,
    ),
    "fuzzy matching with indexes, caches and arrays that share": session(
        """
        import numpy as np, pandas as pd, collections, functools, bisect, re, unicodedata, array, difflib
        names = ["Café", "cafe noir", "Tea", "tee"]; norm = functools.lru_cache(maxsize=3)(lambda s: "".join(c for c in unicodedata.normalize("NFKD", s.lower()) if not unicodedata.combining(c)))
        class Index:
            def __init__(self, docs): self.docs = docs; self.post = collections.defaultdict(set); self.vec = np.zeros((len(docs), 26), dtype="i2"); self.rows = list(self.vec); [self.add(i, d) for i, d in enumerate(docs)]
            def add(self, i, d):
                for c in norm(d):
                    if c.isalpha(): self.post[c].add(i); self.rows[i][ord(c) - 97] += 1
            def query(self, s): hits = sorted(set.intersection(*(self.post[c] for c in norm(s) if c.isalpha()))); return [self.docs[i] for i in hits]
        ix = Index(names); T = ix.vec.T; top = ix.vec[:2]; q = functools.cache(ix.query); q("cafe"); keys = array.array("Q", sorted(map(len, names))); best = functools.partial(difflib.get_close_matches, possibilities=names, cutoff=0.1)
        # %%
        df = pd.DataFrame({"n": names, "v": list(ix.rows)}); cat = df.n.astype("category"); merged = df.merge(pd.DataFrame({"n": ["Tea"], "w": [1]}), how="left", on="n"); lookup = df.set_index("n").v.to_dict(); engine = df.set_index("n").index; engine.get_loc("Tea")
        """,
        """
        q("cafe"), q.cache_info(), norm.cache_info(), ix.docs is names
        ix.rows[0][0] += 5 ;; ix.vec[0, 0], T[0, 0], top[0, 0], df.v[0][0], lookup["Café"][0], ix.rows[0].base is ix.vec
        names.append("Mate"); ix.query("mat") ;; len(ix.docs), sorted(ix.post)[:3], ix.post["m"]
        bisect.insort(keys, 5) ;; keys.tolist(), best("Te", n=1), best.keywords["possibilities"] is names
        lookup["Tea"] is df.v[2], df.v[2] is ix.rows[2], np.shares_memory(top, ix.vec), merged.w.tolist(), cat.cat.codes.tolist()
        q("tea"), q.cache_info().misses, q.__wrapped__.__self__ is ix, engine.get_loc("tee")
        """,
    ),
    "a session that failed: handles open, locks held, transactions half done": session(
        """
        import sqlite3, threading, pathlib, contextlib, csv, json, logging, io, queue
        db = sqlite3.connect("half.db"); db.execute("create table t(id integer primary key, v)"); lock = threading.RLock(); out = open("half.csv", "w", newline=""); w = csv.writer(out); buf = io.StringIO(); log = logging.getLogger("half"); log.propagate = False; log.addHandler(logging.StreamHandler(buf)); jobs = queue.Queue(); [jobs.put(i) for i in range(5)]; state = {"done": [], "cur": None}
        # %%
        # raises
        def process(item):
            state["cur"] = item
            if item == poison: raise ValueError(f"poison {item}")
            w.writerow([item, item * 2]); db.execute("insert into t values (?, ?)", (item, item * 2)); state["done"].append(item); log.warning("did %d", item)
        poison = 2; lock.acquire()
        while True: process(jobs.get_nowait())
        # %%
        # raises
        def outer():
            local = ["kept"]
            def inner(): nonlocal_box.append(local); raise KeyError("inner")
            inner()
        nonlocal_box = []
        try: outer()
        except KeyError as e: saved = e; raise RuntimeError("wrapped") from e
        """,
        """
        state, jobs.qsize(), db.in_transaction, db.execute("select count(*) from t").fetchone(), lock._is_owned()
        buf.getvalue(), out.closed, out.tell() >= 0
        str(saved), nonlocal_box, saved.__traceback__ is not None
        poison = None; process(jobs.get_nowait()) ;; state["done"], buf.getvalue().splitlines()[-1], log.handlers[0].stream is buf, db is not None
        db.rollback() ;; db.execute("select count(*) from t").fetchone(), db.in_transaction
        out.close() ;; pathlib.Path("half.csv").read_text()
        lock.release() ;; lock._is_owned(), lock.acquire(blocking=False)
        """,
        named="lock",
    ),
}
