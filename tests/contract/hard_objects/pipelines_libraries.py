"""Sessions of data engineers: code that is loaded, redefined and watched, and what libraries keep for a pipeline."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "classes and functions that were defined again": session(
        """
        import functools, dataclasses, collections, weakref
        class Cleaner:
            rules = ["strip"]; made = 0
            def __init__(self, name): self.name = name; Cleaner.made += 1
            def run(self, x): return f"v1 {x}"
            def both(self): return super().__repr__()[:1], __class__.made
        def norm(x): return f"old {x}"
        c1 = Cleaner("a"); bound = c1.run; steps = [norm, Cleaner, c1.run]; First = Cleaner; part = functools.partial(norm, "p"); by_type = {Cleaner: "one"}
        # %%
        class Cleaner:
            rules = ["strip", "lower"]; made = 100
            def __init__(self, name, level=2): self.name, self.level = name, level; Cleaner.made += 1
            def run(self, x): return f"v2 {x} {self.level} {norm(x)}"
        def norm(x): return f"new {x}"
        c2 = Cleaner("b"); by_type[Cleaner] = "two"; c3 = First("c"); c4 = First.__new__(First); c4.name = "raw"
        # %%
        class Deep(First):
            def run(self, x): return "deep " + super().run(x)
        d = Deep("d"); c1.__class__ = Deep; gone = Cleaner; del Cleaner; hold = weakref.WeakKeyDictionary({c2: "kept", d: 1}); norm_all = {n.__name__: n for n in (steps[0], norm)}
        """,
        """
        First is gone, First.__qualname__ == gone.__qualname__, type(c2) is gone, type(c3) is First, by_type[First], by_type[gone]
        c1.run("x"), c2.run("x"), c3.run("x"), d.run("x"), bound("y")
        steps[0]("z"), norm("z"), steps[1] is First, steps[2].__func__ is First.run, part(), sorted(norm_all), norm_all['norm'] is norm
        c1.both(), First.made, gone.made, c4.name, vars(c4)
        First.rules.append("extra") ;; c3.rules, c2.rules, d.rules, Deep.rules is First.rules
        First.run = lambda self, x: "patched" ;; c3.run(1), d.run(1), c1.run(1), bound(2), c2.run(1)
        Cleaner
        gone("n").level, gone.made
        """,
    ),
    "modules loaded by path, from zips, by hooks, and files that are gone": session(
        """
        import importlib.util, importlib.abc, importlib.machinery, sys, pathlib, zipfile, runpy, types
        pathlib.Path("by_path.py").write_text("state = {'n': 0}\\ndef bump():\\n    state['n'] += 1\\n    return state['n']\\nclass Loader:\\n    cache = []\\n"); spec = importlib.util.spec_from_file_location("loaded_by_path", "by_path.py"); one = importlib.util.module_from_spec(spec); spec.loader.exec_module(one); two = importlib.util.module_from_spec(spec); spec.loader.exec_module(two); one.bump(); ld = one.Loader(); one.Loader.cache.append("x")
        pathlib.Path("vanish.py").write_text("import collections\\nseen = collections.Counter()\\ndef hit(k):\\n    seen[k] += 1\\n    return dict(seen)\\nclass Row(collections.namedtuple('Row', 'a b')): pass\\n"); import vanish; vanish.hit("a"); row = vanish.Row(1, 2); pathlib.Path("vanish.py").unlink()
        with zipfile.ZipFile("libs.zip", "w") as z: z.writestr("zipped.py", "import by_rules\\nvalue = by_rules.limit\\ndef f(): return value\\n"); z.writestr("zpkg/__init__.py", "from .core import go\\n"); z.writestr("zpkg/core.py", "calls = []\\ndef go(x): calls.append(x); return len(calls)\\n")
        class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
            sources = {"by_rules": "limit = 7\\n"}; asked = []
            def find_spec(self, name, path, target=None): return importlib.machinery.ModuleSpec(name, self) if name in self.sources else None
            def exec_module(self, m): self.asked.append(m.__name__); exec(self.sources[m.__name__], m.__dict__)
        finder = Finder(); sys.meta_path.append(finder); sys.path.insert(0, "libs.zip"); import by_rules, zipped, zpkg; from zpkg import go; go(1); zipped.value = 70
        pathlib.Path("edited.py").write_text("VERSION = 1\\ndef run(x): return x + VERSION\\nclass Job:\\n    def go(self): return run(1)\\n"); import edited; from edited import Job, run; job = Job(); pathlib.Path("edited.py").write_text("VERSION = 2\\ndef run(x): return x * 1000\\nclass Job:\\n    def go(self): return 'new'\\n")
        pathlib.Path("nsp/inner").mkdir(parents=True); pathlib.Path("nsp/inner/leaf.py").write_text("items = []\\n"); import nsp.inner.leaf; leaf = nsp.inner.leaf; leaf.items.append(1); res = runpy.run_path("by_path.py", init_globals={"seed": 1}); ran = res["bump"]; pathlib.Path("script.py").write_text("total = sum(range(seed))\\ndef again(): return total + seed\\n"); out = {"seed": 5}; exec(compile(pathlib.Path("script.py").read_text(), "script.py", "exec"), out); again = out["again"]
        """,
        """
        one.bump(), one.state, two.state, one is two, type(ld) is one.Loader, one.Loader.cache, two.Loader.cache, "loaded_by_path" in sys.modules
        vanish.hit("b"), row.a, type(row) is vanish.Row, row._replace(a=9), sys.modules["vanish"] is vanish
        go(2), zpkg.core.calls, zipped.f(), by_rules.limit, finder.asked, finder in sys.meta_path
        finder.sources["fresh"] = "x = 42\\n"; import fresh ;; fresh.x, finder.asked[-1]
        edited.run(5), job.go(), run(1), edited.VERSION, edited.Job is Job, type(job) is Job
        edited.VERSION = 10 ;; job.go(), run(0), run.__globals__ is edited.__dict__
        leaf.items, nsp.inner.leaf is leaf, sys.path[0]
        res["state"], ran(), res["state"], res["seed"], ran.__globals__["state"] is res["state"]
        out["seed"] = 6 ;; again(), again.__globals__ is out, out["total"]
        """,
        named="zipped",
    ),
    "a plug-in manager, signals and traits that are observed": session(
        """
        import pluggy, blinker, traitlets, functools, weakref
        spec, impl = pluggy.HookspecMarker("etl"), pluggy.HookimplMarker("etl"); log = []
        class Spec:
            @spec
            def transform(self, row): "Change a row."
            @spec(firstresult=True)
            def pick(self, names): "Pick one."
        class Upper:
            @impl
            def transform(self, row): log.append(row); return row.upper() + mark
        class Wrap:
            @impl(wrapper=True)
            def transform(self, row): r = yield; return [x + "]" for x in r]
            @impl(tryfirst=True)
            def pick(self, names): return names[0] if names else None
        mark = "!"; pm = pluggy.PluginManager("etl"); pm.add_hookspecs(Spec); up = Upper(); pm.register(up, "upper"); wr = Wrap(); pm.register(wr); hook = pm.hook.transform; sub = pm.subset_hook_caller("transform", [up]); first = hook(row="a")
        loaded = blinker.signal("loaded"); got = []; own = blinker.Signal("own doc")
        @loaded.connect
        def on_loaded(sender, **kw): got.append((sender, kw))
        class Listener:
            def __init__(self): self.seen = []; own.connect(self.take, sender="s1")
            def take(self, sender, **k): self.seen.append(k)
        ls = Listener(); loaded.send("x", n=1); own.send("s1", k=2)
        class Conf(traitlets.HasTraits):
            n = traitlets.Int(3); names = traitlets.List(traitlets.Unicode()); made = traitlets.Any()
            @traitlets.default("made")
            def _made(self): return {"by": "default"}
            @traitlets.validate("n")
            def _n(self, p): return min(p["value"], cap)
            @traitlets.observe("n")
            def _changed(self, c): log.append((c["old"], c["new"]))
        cap = 10; cf = Conf(); other = Conf(n=5); cf.observe(lambda c: got.append(c["name"]), "n"); link = traitlets.link((cf, "n"), (other, "n")); cf.n = 7; made = cf.made
        """,
        """
        first, hook(row="b"), log[-1], hook is pm.hook.transform
        mark = "?" ;; hook(row="c"), sub(row="d"), pm.hook.pick(names=["z"]), pm.get_plugin("upper") is up
        pm.unregister(wr) ;; hook(row="e"), pm.hook.pick(names=["q"]), [n for n, _ in pm.list_name_plugin()][:1]
        loaded.send("y", n=2) ;; got[-1], blinker.signal("loaded") is loaded, len(loaded.receivers)
        own.send("s1", k=3), own.send("s2", k=4) ;; None
        own.send("s1", k=5) ;; ls.seen, bool(own.receivers_for("s1"))
        cf.n = 99 ;; cf.n, other.n, log[-1], got[-1]
        cap = 50; other.n = 40 ;; cf.n, cf.made is made, cf.trait_names()[:2], cf.has_trait("zz")
        link.unlink(); cf.n = 1 ;; other.n, cf.trait_values()["names"], cf.trait_defaults("n")
        """,
        named="own sub",
    ),
    "metrics, traces and counters of a running job": session(
        """
        import prometheus_client as pc, prometheus_client.core, collections, time, contextlib, functools, statistics, threading
        reg = pc.CollectorRegistry(); rows = pc.Counter("rows", "Rows.", ["table"], registry=reg); lag = pc.Gauge("lag", "Lag.", registry=reg); size = pc.Histogram("size", "Size.", buckets=(1, 5, 10), registry=reg); info = pc.Info("build", "Build.", registry=reg); st = pc.Enum("state", "State.", states=["idle", "run"], registry=reg)
        t1 = rows.labels("a"); t1.inc(5); rows.labels(table="b").inc(); lag.set(3.5); depth = [1, 2]; lagf = pc.Gauge("depth", "Depth.", registry=reg); lagf.set_function(lambda: len(depth) * unit); unit = 1; size.observe(3); size.observe(20); info.info({"v": "1"}); st.state("run"); own = pc.Counter("etl_global_rows", "Global."); own.inc(7)
        class Custom:
            def collect(self): yield pc.core.GaugeMetricFamily("custom", "Custom.", value=len(depth))
        reg.register(cu := Custom())
        @size.time()
        def work(x): return x + 1
        @lag.track_inprogress()
        def track(): return lag._value.get()
        class Meter:
            def __init__(self): self.times = collections.defaultdict(list); self.open = {}
            @contextlib.contextmanager
            def span(self, name, parent=None):
                self.open[name] = parent
                try: yield self
                finally: self.times[name].append(len(self.open)); del self.open[name]
            def wrap(self, f):
                @functools.wraps(f)
                def inner(*a):
                    with self.span(f.__name__): return f(*a)
                self.wrapped = getattr(self, "wrapped", []) + [inner]; return inner
        m = Meter()
        @m.wrap
        def step(x): return x * unit
        step(1); outer = m.span("outer"); outer.__enter__(); nd = statistics.NormalDist(1, 2); text = pc.generate_latest(reg)
        """,
        """
        t1.inc() ;; reg.get_sample_value("rows_total", {"table": "a"}), rows.labels("a") is t1, t1._value.get()
        depth.append(3); unit = 10 ;; reg.get_sample_value("depth"), reg.get_sample_value("custom"), reg.get_sample_value("state", {"state": "run"})
        size.observe(0.5) ;; reg.get_sample_value("size_bucket", {"le": "5.0"}), reg.get_sample_value("size_sum"), reg.get_sample_value("size_count")
        own.inc() ;; pc.REGISTRY.get_sample_value("etl_global_rows_total")
        pc.Counter("etl_global_rows", "Twice.")
        work(1), track(), lag._value.get(), reg.get_sample_value("build_info", {"v": "1"})
        step(2), dict(m.times), m.open, m.wrapped[0] is step, step.__wrapped__.__name__
        outer.__exit__(None, None, None) ;; dict(m.times), m.open
        reg.unregister(cu) ;; reg.get_sample_value("custom"), (nd + 3).mean, b"rows_total" in text
        """,
        named="outer",
    ),
    "database frames in chunks, upserts and memory-mapped arrays": session(
        """
        import sqlite3, pandas as pd, numpy as np, polars as pl, pathlib, contextlib, itertools
        con = sqlite3.connect("app.db"); df = pd.DataFrame({"id": range(6), "v": [x * 1.5 for x in range(6)], "s": list("abcdef")}); df.to_sql("t", con, index=False); chunks = pd.read_sql("select * from t order by id", con, chunksize=2); c0 = next(chunks); dated = pd.read_sql("select '2024-01-01' as d", con, parse_dates=["d"])
        mm = np.memmap("m.dat", dtype="f4", mode="w+", shape=(3, 4)); mm[0] = 1; mm.flush(); part = mm[1:]; ro = np.memmap("m.dat", dtype="f4", mode="r", shape=(3, 4)); cow = np.memmap("m.dat", dtype="f4", mode="c", shape=(12,)); cow[0] = 50; np.save("a.npy", np.arange(6)); la = np.load("a.npy", mmap_mode="r+"); np.savez("z.npz", a=np.arange(3), b=np.eye(2)); nz = np.load("z.npz"); za = nz["a"]; om = np.lib.format.open_memmap("o.npy", "w+", "i4", (2, 2)); om[:] = 3; fr = np.fromfile("m.dat", "f4")
        def upsert(rows):
            with con: con.executemany("insert into t(id, v, s) values (?, ?, ?)", rows); inserted.append(len(rows))
        inserted = []; upsert([(6, 9.0, "g")]); dbit = pl.read_database("select id, v from t order by id", con, iter_batches=True, batch_size=3); p0 = next(dbit); raw = con.cursor(); raw.execute("select s from t order by s"); firsts = list(itertools.islice(raw, 2)); con.create_function("plus", 1, lambda x: x + bonus); bonus = 5
        @contextlib.contextmanager
        def tx(c):
            c.execute("begin");
            try: yield c.cursor(); c.commit()
            except Exception: c.rollback(); raise
        open_tx = tx(con); cur = open_tx.__enter__(); cur.execute("insert into t values (7, 1, 'h')"); dtypes = np.dtype([("a", "i4"), ("b", "S3")], metadata={"src": "x"}); rec = np.rec.array([(1, b"ab")], dtype=dtypes); recv = rec.a
        """,
        """
        next(chunks).id.tolist(), c0.v.tolist(), dated.d.dtype.kind
        next(dbit)["id"].to_list(), p0.height
        raw.fetchone(), firsts, con.in_transaction
        bonus = 100 ;; con.execute("select plus(v) from t where id = 2").fetchone()
        open_tx.gen.gi_frame is not None, con.execute("select count(*) from t").fetchone(), cur.rowcount
        con.rollback() ;; con.execute("select count(*) from t").fetchone(), inserted
        upsert([(8, 0.0, "i"), (9, 0.0, "j")]) ;; pd.read_sql("select max(id) m from t", con).m[0], inserted
        part[0, 0] = 7; mm.flush() ;; ro[1, 0], mm[1, 0], part.base is mm, np.fromfile("m.dat", "f4")[4], type(part).__name__
        cow[0], ro[0, 0], ro.flags.writeable, cow.mode, mm.mode, pathlib.Path(mm.filename).name
        la[0] = 99; la.flush() ;; np.load("a.npy")[0], la.mode
        nz["b"].tolist(), nz.files, za.tolist(), om[0, 0], type(om).__name__
        recv[0] = 5 ;; rec[0].a, rec.dtype.metadata, rec.b[0], fr[:4].tolist()
        """,
        named="chunks dbit open_tx raw",
    ),
    "workbooks in streaming modes, pictures and papers": session(
        """
        import openpyxl, openpyxl.styles as sty, io, PIL.Image, PIL.ImageDraw, pypdf, pandas as pd, zipfile, xlrd, python_calamine
        wb = openpyxl.Workbook(); ws = wb.active; ws.title = "data"; ws.append(["k", "v"]); [ws.append([f"r{i}", i]) for i in range(4)]; cell = ws["B2"]; cell.font = sty.Font(bold=True); ws["C2"] = "=SUM(B2:B5)"; ws.freeze_panes = "A2"; ns = sty.NamedStyle("money"); ns.number_format = "0.00"; wb.add_named_style(ns); ws["B3"].style = "money"; rows = ws.iter_rows(min_row=2, values_only=True); r0 = next(rows); wb.create_sheet("second"); wb.save("in.xlsx")
        wo = openpyxl.Workbook(write_only=True); wos = wo.create_sheet("s"); wos.append([1, 2]); ro = openpyxl.load_workbook("in.xlsx", read_only=True); ror = ro["data"].iter_rows(values_only=True); h = next(ror); cal = python_calamine.CalamineWorkbook.from_path("in.xlsx"); xf = pd.ExcelFile("in.xlsx", engine="openpyxl"); dv = openpyxl.worksheet.datavalidation.DataValidation(type="list", formula1='"a,b"'); ws.add_data_validation(dv); dv.add("D2")
        im = PIL.Image.new("RGB", (4, 4), "red"); im.info["dpi"] = (72, 72); dr = PIL.ImageDraw.Draw(im); px = im.load(); im.save("p.png"); lazy = PIL.Image.open("p.png"); crop = im.crop((0, 0, 2, 2)); pal = im.convert("P"); gif = io.BytesIO(); im.save(gif, "GIF", save_all=True, append_images=[PIL.Image.new("RGB", (4, 4), "blue")]); anim = PIL.Image.open(gif); anim.seek(1)
        pw = pypdf.PdfWriter(); pw.add_blank_page(100, 100); pw.add_metadata({"/Title": "t"}); b = io.BytesIO(); pw.write(b); pr = pypdf.PdfReader(b); page = pr.pages[0]
        """,
        """
        next(rows), r0, cell.font.b, ws["B2"] is cell, ws.freeze_panes
        cell.value = 100 ;; ws["B2"].value, [c.value for c in ws["B"]], ws.parent is wb, wb["data"] is ws
        wb.save("out.xlsx") ;; openpyxl.load_workbook("out.xlsx")["data"]["B3"].style, openpyxl.load_workbook("out.xlsx")["data"]["B2"].value, wb.sheetnames, "money" in wb.named_styles
        wos.append([3, 4]); wo.save("wo.xlsx") ;; [r for r in openpyxl.load_workbook("wo.xlsx")["s"].values]
        next(ror), h, ro.read_only, ro["data"].max_row
        cal.sheet_names, len(cal.get_sheet_by_name("data").to_python()), xf.parse("data").v.tolist(), xf.sheet_names
        px[1, 1] = (0, 255, 0); dr.point((0, 1), "white") ;; im.getpixel((1, 1)), im.getpixel((0, 1)), crop.getpixel((1, 1)), im.info
        lazy.size, lazy.getpixel((0, 0)), lazy.format, pal.mode, anim.tell(), anim.convert("RGB").getpixel((0, 0))
        pw.add_blank_page(50, 50); out = io.BytesIO(); pw.write(out) ;; len(pypdf.PdfReader(out).pages), pr.metadata["/Title"], page.mediabox.width, page.pdf is pr
        dv.add("D3") ;; str(ws.data_validations.dataValidation[0].sqref), ws.data_validations.dataValidation[0] is dv
        """,
        named="cal dr px ror rows wo wos",
    ),
    "schemas, queries over documents, grammars and patches": session(
        """
        import jsonschema, referencing, jmespath, jsonpatch, pyparsing as pp, xmltodict, decimal, re, functools, hypothesis.strategies as hs
        schema = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 5}, "d": {"format": "sku"}, "r": {"$ref": "urn:row"}}}; row = {"type": "string"}
        import referencing.jsonschema
        reg = referencing.Registry().with_resource("urn:row", referencing.jsonschema.DRAFT202012.create_resource(row)); fc = jsonschema.FormatChecker()
        @fc.checks("sku", raises=ValueError)
        def is_sku(v): checked.append(v); return v.startswith(prefix)
        checked = []; prefix = "s-"; V = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"maximum": lambda v, m, i, s: [jsonschema.ValidationError("too big")] if i > m * scale else []}); scale = 1; v = V(schema, registry=reg, format_checker=fc); errs = list(v.iter_errors({"n": 9, "d": "x", "r": 1})); it = v.iter_errors({"n": 9, "d": "q", "r": 2}); e0 = next(it); tree = jsonschema.exceptions.ErrorTree(errs)
        class Fns(jmespath.functions.Functions):
            @jmespath.functions.signature({"types": ["number"]})
            def _func_twice(self, x): return x * 2 * scale
        opts = jmespath.Options(custom_functions=Fns()); jm = jmespath.compile("rows[?n > `1`].twice(n)"); doc = {"rows": [{"n": 1}, {"n": 3}]}; patch = jsonpatch.JsonPatch([{"op": "add", "path": "/rows/-", "value": {"n": 8}}]); diff = jsonpatch.make_patch({"a": 1}, {"a": 2, "b": 3})
        num = pp.Word(pp.nums).set_parse_action(lambda t: int(t[0]) * scale); expr = pp.Forward(); term = num | pp.Suppress("(") + expr + pp.Suppress(")"); expr <<= pp.Group(term + pp.ZeroOrMore(pp.one_of("+ -") + term)); kv = pp.Word(pp.alphas)("key") + "=" + num("val"); res = kv.parse_string("a=5"); scan = kv.scan_string("a=1 b=2 c=3"); s0 = next(scan); xd = xmltodict.parse("<r><i id='1'>x</i><i>y</i></r>", postprocessor=lambda p, k, v: (k, v)); strat = hs.lists(hs.integers(0, 3), max_size=2).map(tuple)
        """,
        """
        sorted(e.message for e in errs), e0.message, len(list(it)), tree["n"].errors if "n" in tree else None
        prefix = "x" ;; [e.message for e in v.iter_errors({"d": "x1"})], checked[-1], v.format_checker is fc, v.schema is schema
        scale = 2 ;; list(v.iter_errors({"n": 9})) != [], list(v.iter_errors({"n": 10})), jm.search(doc, opts)
        schema["properties"]["n"]["maximum"] = 0 ;; v.is_valid({"n": 1}), errs[0].schema["maximum"] if "maximum" in errs[0].schema else errs[0].validator
        patch.apply(doc)["rows"][-1], len(doc["rows"]), list(diff)[0]["op"], diff.apply({"a": 1})
        expr.parse_string("1+(2-3)").as_list(), res["val"], res.key, res.as_dict(), kv.parse_string("z=4").val
        next(scan)[0].as_list(), s0[0].as_list(), s0[1:]
        xd["r"]["i"][0]["@id"], xd["r"]["i"][1], xmltodict.unparse({"a": {"b": 1}}).endswith("</a>"), repr(strat)
        """,
        named="it scan",
    ),
    "threads in the background, timers and schedulers": session(
        """
        import threading, queue, time, sched, atexit, weakref, concurrent.futures as cf, collections
        inbox, out, stop = queue.Queue(), [], threading.Event()
        def consume():
            while (item := inbox.get()) is not None: out.append(item * scale); inbox.task_done()
        scale = 3; worker = threading.Thread(target=consume, daemon=True, name="consumer"); worker.start(); inbox.put(2); inbox.join()
        now = [0]; sc = sched.scheduler(lambda: now[0], lambda d: now.__setitem__(0, now[0] + d)); fired = []; ev = sc.enter(10, 1, fired.append, ("ten",)); sc.enter(5, 1, fired.append, argument=("five",))
        ran = []; atexit.register(ran.append, "bye"); cond = threading.Condition(); results = {}; pool = cf.ThreadPoolExecutor(2); gate = threading.Event(); waiting = pool.submit(gate.wait, 60); done = pool.submit(pow, 2, 5); done.result(); late = threading.Timer(3600, fired.append, ["timer"]); late.daemon, late.name = True, "a timer"; late.start()
        """,
        """
        out, worker.is_alive(), worker.name, worker.daemon
        inbox.put(5); time.sleep(0.3) ;; out, inbox.qsize()
        sc.run() ;; fired, now, sc.empty(), ev.argument
        done.result(), done.done(), waiting.done(), late.is_alive()
        gate.set(); r = waiting.result(timeout=3) ;; r, waiting.done()
        late.cancel() ;; late.finished.is_set(), ran
        """,
        named="consumer done gate inbox late pool timer waiting worker",
    ),
    "secrets, tokens and keys that encrypt a column": session(
        """
        import cryptography.fernet as fernet, jwt, hmac, hashlib, base64, secrets, getpass, os, functools
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
        from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
        key = base64.urlsafe_b64encode(b"k" * 32); f = fernet.Fernet(key); token = f._encrypt_from_parts(b"row", 1700000000, b"i" * 16); multi = fernet.MultiFernet([f, fernet.Fernet(base64.urlsafe_b64encode(b"z" * 32))]); priv = ed25519.Ed25519PrivateKey.from_private_bytes(b"p" * 32); pub = priv.public_key(); sig = priv.sign(b"m"); digest = hashes.Hash(hashes.SHA256()); digest.update(b"part"); enc = Cipher(algorithms.AES(b"a" * 16), modes.CTR(b"n" * 16)).encryptor(); e1 = enc.update(b"first"); kdf = PBKDF2HMAC(hashes.SHA256(), 16, b"salt", 1000)
        class Vault:
            def __init__(self, f): self._f = f; self.reads = 0
            def __getattr__(self, n):
                if n.startswith("__"): raise AttributeError(n)
                self.reads += 1; return self._f.decrypt(store[n]).decode()
            def __repr__(self): return "<Vault ***>"
        store = {"db": token}; vault = Vault(f); vault.db; signer = functools.partial(hmac.new, key, digestmod=hashlib.sha256); mac = signer(b"x"); alg = jwt.PyJWT({"verify_exp": False}); tok = jwt.encode({"sub": "etl"}, "s" * 32, algorithm="HS256")
        """,
        """
        f.decrypt(token), multi.decrypt(token), vault.db, vault.reads, repr(vault)
        store["api"] = f._encrypt_from_parts(b"late", 1700000000, b"j" * 16) ;; vault.api, vault.reads, vault._f is f
        pub.verify(sig, b"m"), priv.sign(b"q") == priv.sign(b"q"), priv.public_key() == pub, pub.public_bytes_raw().hex()[:8]
        digest.update(b"more") ;; digest.finalize().hex()[:12]
        (e1 + enc.update(b"second") + enc.finalize()).hex()
        kdf.derive(b"pw").hex()[:8]
        mac.update(b"y") ;; mac.hexdigest()[:10], signer(b"xy").hexdigest()[:10], jwt.decode(tok, "s" * 32, algorithms=["HS256"]), alg.options["verify_exp"]
        """,
        named="digest enc kdf mac priv pub",
    ),
    "user functions inside engines: arrow, polars sources, duckdb and numpy": session(
        """
        import pyarrow as pa, pyarrow.compute as pc, polars as pl, numpy as np, duckdb, pandas as pd
        from polars.io.plugins import register_io_source
        def add_tax(ctx, x): calls.append(len(x)); return pc.multiply(x, pa.scalar(1.0 + tax))
        calls = []; tax = 0.5; pc.register_scalar_function(add_tax, "add_tax", {"summary": "s", "description": "d"}, {"x": pa.float64()}, pa.float64()); arr = pa.array([1.0, 2.0]); taxed = pc.call_function("add_tax", [arr])
        def batches(with_columns, predicate, n_rows, batch_size):
            for i in range(n_batches):
                df = pl.DataFrame({"i": [i, i * 10]}); read.append(i)
                if with_columns: df = df.select(with_columns)
                yield df.filter(predicate) if predicate is not None else df
        read = []; n_batches = 2; src = register_io_source(batches, schema={"i": pl.Int64}); q = src.filter(pl.col("i") > 0); uf = np.frompyfunc(lambda a, b: a + b * k, 2, 1); k = 2; vec = np.vectorize(lambda x: x * k, otypes=[float], cache=True); vec([1, 2]); poly = np.polynomial.Polynomial([1, 2], domain=[0, 1]); pw = uf.reduce; con = duckdb.connect()
        def vec_udf(x): return pc.add(x, k)
        con.create_function("addk", vec_udf, ["BIGINT"], "BIGINT", type="arrow"); con.create_function("side", lambda s: seen.append(s) or len(seen), ["VARCHAR"], "BIGINT", side_effects=True); seen = []; con.execute("select side('a')").fetchall(); rel = con.sql("select addk(i) j from range(3) t(i)"); old_err = np.seterr(divide="raise"); np.set_printoptions(precision=2, suppress=True); np.seterrcall(lambda *a: seen.append(a)); handler = np.geterrcall()
        class Unit(np.ndarray):
            def __new__(cls, a, unit): o = np.asarray(a).view(cls); o.unit = unit; return o
            def __array_finalize__(self, o): self.unit = getattr(o, "unit", None)
            def __array_ufunc__(self, u, m, *i, **kw): used.append(u.__name__); r = getattr(u, m)(*[np.asarray(x) for x in i], **kw); return Unit(r, self.unit)
        used = []; u = Unit([1.0, 2.0], "kg"); u2 = u[1:]; folded = pl.fold(pl.lit(0), lambda a, x: a + x * k, [pl.col("a"), pl.col("b")]); dfp = pl.DataFrame({"a": [1], "b": [2]}); mapb = pl.col("a").map_batches(lambda s: s * k)
        """,
        """
        tax = 1.0 ;; pc.call_function("add_tax", [arr]).to_pylist(), taxed.to_pylist(), len(calls)
        n_batches = 3 ;; q.collect()["i"].to_list(), read
        k = 5 ;; uf([1, 2], 3).tolist(), vec([1, 2]).tolist(), pw([1, 2, 3]), rel.fetchall()
        con.execute("select side('b')").fetchall(), seen
        np.float64(1) / np.float64(0)
        repr(np.array([1.23456, 1e-9])), np.geterr()["divide"], np.geterrcall() is handler, poly(0.5), poly.domain.tolist()
        u2[0] = 9 ;; u[1], u.unit, u2.unit, (u + 1).unit, used, type(u2) is Unit, u2.base is u
        dfp.select(folded.alias("f"))["f"].to_list(), dfp.select(mapb)["a"].to_list(), dfp.select(mapb.alias("z")).columns
        """,
        named="add_tax addk folded mapb pw q side src uf vec",
        known="""
        k = 5 ;; uf([1, 2], 3).tolist(), vec([1, 2]).tolist(), pw([1, 2, 3]), rel.fetchall()
        u2[0] = 9 ;; u[1], u.unit, u2.unit, (u + 1).unit, used, type(u2) is Unit, u2.base is u
        """,
    ),
    "files in the machine's temporary folder and the home": session(
        """
        import tempfile, pathlib, os, shutil, json, sqlite3, logging, pickle, atexit
        td = tempfile.mkdtemp(prefix="stage"); p = pathlib.Path(td) / "part-0.json"; p.write_text('{"a": 1}'); auto = tempfile.TemporaryDirectory(); inner = pathlib.Path(auto.name, "x.txt"); inner.write_text("auto"); fd, name = tempfile.mkstemp(suffix=".csv"); os.write(fd, b"k,v\\n"); nt = tempfile.NamedTemporaryFile("w+", suffix=".log"); nt.write("logged\\n"); nt.flush(); db = sqlite3.connect(os.path.join(td, "stage.db")); db.execute("create table t(x)"); db.execute("insert into t values (1)"); db.commit()
        cfg = pathlib.Path.home() / ".etl_demo"; made = []
        try: cfg.mkdir(exist_ok=True); (cfg / "conf.json").write_text("{}"); made.append(cfg)
        except OSError: pass
        os.makedirs("/tmp/etl_demo_fixed/sub", exist_ok=True); fixed = pathlib.Path("/tmp/etl_demo_fixed/sub/state.pkl"); fixed.write_bytes(pickle.dumps([1, 2])); link = pathlib.Path("current"); link.unlink(missing_ok=True); link.symlink_to(td); fh = logging.FileHandler(os.path.join(td, "run.log")); lg = logging.getLogger("tmp.run"); lg.addHandler(fh); lg.warning("one"); reader = open(p)
        reader.read(4); paths = {"stage": p, "auto": inner}; keep_open = open(fixed, "r+b"); unl = open(os.path.join(td, "unlinked"), "w+"); unl.write("ghost"); unl.flush(); os.unlink(unl.name)
        """,
        """
        p.read_text(), paths["stage"].exists(), sorted(os.listdir(td))
        inner.read_text(), os.path.isdir(auto.name), auto._finalizer.alive
        os.write(fd, b"1,2\\n"), open(name).read()
        nt.seek(0) ;; nt.read(), os.path.exists(nt.name), nt.closed
        db.execute("insert into t values (2)") ;; db.execute("select count(*) from t").fetchone()
        pickle.loads(fixed.read_bytes()), keep_open.seek(0), len(keep_open.read()), [c.exists() for c in made]
        (link / "part-0.json").read_text(), link.is_symlink(), os.readlink(link) == td, os.path.lexists("current")
        lg.warning("two"); fh.flush() ;; (pathlib.Path(td) / "run.log").read_text(), reader.read()
        unl.seek(0) ;; unl.read(), os.path.exists(unl.name)
        auto.cleanup(); shutil.rmtree(td) ;; inner.exists(), p.exists()
        """,
        named="auto current nt unl",
    ),
    "numbers with contexts, fractions, enums and values that look equal": session(
        """
        import decimal, fractions, enum, math, statistics, operator, numbers, functools, datetime as dt
        D = decimal.Decimal
        @functools.total_ordering
        class Money:
            __slots__ = ("amount", "cur"); rates = {"usd": D("1"), "eur": D("1.1")}; _pool = {}
            def __new__(cls, amount, cur="usd"):
                k = (D(amount), cur)
                if k not in cls._pool: o = super().__new__(cls); o.amount, o.cur = k; cls._pool[k] = o
                return cls._pool[k]
            def __add__(self, o): return Money(self.amount + o.to(self.cur), self.cur)
            def to(self, c): return (self.amount * self.rates[self.cur] / self.rates[c]).quantize(D("0.01"), context=ctx)
            def __eq__(self, o): return isinstance(o, Money) and self.to("usd") == o.to("usd")
            def __lt__(self, o): return self.to("usd") < o.to("usd")
            def __hash__(self): return hash(self.to("usd"))
            def __reduce__(self): return Money, (self.amount, self.cur)
            def __format__(self, spec): return f"{self.amount:{spec}} {self.cur}{suffix}"
        suffix = ""; ctx = decimal.Context(prec=10, rounding=decimal.ROUND_DOWN); ctx.flags[decimal.Rounded] = True; m = Money("10", "eur"); same = Money("10.0", "eur"); tot = {m: "first"}; nan = float("nan"); dn = D("NaN"); bag = [nan, dn]; table = {nan: "missing", -0.0: "zero", True: "yes"}; fr = fractions.Fraction(1, 3)
        class Status(str, enum.Enum):
            OK = "ok"; BAD = "bad"; _ignore_ = ["tmp"]
            @classmethod
            def _missing_(cls, v): missed.append(v); return cls.BAD
            @property
            def loud(self): return self.value.upper() + suffix
        missed = []; st = Status("weird"); Perm = enum.IntFlag("Perm", "R W X"); rw = Perm.R | Perm.W; Dyn = enum.Enum("Dyn", {"A": [1], "B": (2,)}); by = {Status.OK: [st], Dyn.A: "a"}
        class Tagged(str):
            def __new__(cls, v, tag): o = super().__new__(cls, v); o.tag = tag; return o
        class Cents(int):
            def __add__(self, o): return Cents(int(self) + int(o))
            def __repr__(self): return f"{int(self) / 100:.2f}"
        tg = Tagged("col", {"pii": True}); ct = Cents(150); ll = [tg, tg]; big = 10 ** 60; cplx = complex(-0.0, nan); neg = -0.0; day = type("Day", (dt.date,), {"q": property(lambda s: (s.month - 1) // 3 + 1)})(2024, 5, 1)
        """,
        """
        m is same, m is Money("10", "eur"), len(Money._pool), tot[Money("11", "usd")], (m + Money("1")).amount
        Money.rates["eur"] = D("2"); ctx.rounding = decimal.ROUND_UP ;; m.to("usd"), Money("1", "usd").to("eur"), Money("0.333").to("usd"), ctx.flags[decimal.Rounded]
        suffix = "!" ;; f"{m:.1f}", st.loud, Status("other") is Status.BAD, missed
        table[nan], nan in bag, dn in bag, table[0.0], table[1], bag[0] is nan, math.copysign(1, neg), math.copysign(1, list(table)[1])
        st is Status.BAD, by[Status("ok")][0] is st, by[Dyn.A], Dyn.A.value.append(2), Dyn([1, 2]) is Dyn.A, isinstance(st, str)
        rw, rw & Perm.R, Perm(7), Perm["X"].value, rw is (Perm.R | Perm.W), type(rw) is Perm
        tg.tag["pii"], ll[0] is ll[1], ll[0].tag is tg.tag, tg + "x", type(tg) is Tagged, ct + 1, type(ct + 1) is Cents
        math.isnan(cplx.imag), math.copysign(1, cplx.real), big % 97, fr + 1, day.q, type(day).__name__, day.replace(month=12).q
        """,
    ),
}
