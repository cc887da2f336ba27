"""A second round: handles in odd places, patches of the process, helper modules with state, more long analyses."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "handles in closures, classes and modules": session(
        r"""
        import pathlib, io, sys, functools
        pathlib.Path("store.py").write_text("log = open('store.log', 'w+')\nseen = []\ndef put(x):\n    log.write(x + '\\n'); seen.append(x); return log.tell()\n")
        import store
        store.put("a")
        def opener(name):
            f = open(name, "w+"); n = 0
            def write(x):
                nonlocal n; n += 1; f.write(x); return n
            def text(): f.flush(); return pathlib.Path(name).read_text()
            return write, text
        write, text = opener("c.txt"); write("one ")
        class Journal:
            def __init__(self, name): self.f = open(name, "a"); self.count = 0
            def __enter__(self): return self
            def __exit__(self, *a): self.f.close()
            def add(self, x): print(x, file=self.f); self.count += 1
        j = Journal("j.txt"); j.add("first"); shared = {"journal": j, "file": j.f}
        out = functools.partial(print, file=j.f, sep="|", flush=True); out(1, 2)
        # %%
        # raises
        with Journal("closed.txt") as closed: closed.add("x"); 1 / 0
        # %%
        # raises
        half = open("half.txt", "w"); half.write("not flushed yet"); half.nothing
        # %%
        def read_all(src=open("j.txt")): return src.read()
        first = read_all()
        """,
        r"""
        store.put("b"), store.seen, store.log.flush(), open("store.log").read()
        write("two "), text()
        j.add("second"), j.count, shared["file"] is j.f, shared["journal"] is j
        out("q", "r") ;; open("j.txt").read()
        closed.count, closed.f.closed, open("closed.txt").read()
        half.write("!"), half.flush(), open("half.txt").read()
        first, read_all(), read_all.__defaults__[0].name
        store.log.name, store.log.mode, out.keywords["file"] is j.f
        """,
    ),
    "text files read in odd ways": session(
        r"""
        import io, codecs
        open("u8.txt", "w", encoding="utf-8").write("äöü\n日本語\nplain\nlast")
        a = open("u8.txt", encoding="utf-8"); a.read(2); spot = a.tell()
        for line in (b := open("u8.txt", encoding="utf-8")): break
        c = open("u8.txt", "rb"); d = codecs.getreader("utf-8")(c); d.readline()
        e = codecs.open("u8.txt", encoding="utf-8"); e.readline()
        f = open("u16.txt", "w+", encoding="utf-16-le"); f.write("xyz"); f.seek(2); f.read(1)
        g = open("mix.txt", "wb"); g.write(b"1\n2\r\n3\r4"); g.close(); g2 = open("mix.txt"); g2.readline(); g2.readline()
        h = open("app.txt", "a", encoding="utf-8-sig"); h.write("x")
        i = open("se.txt", "w+", encoding="ascii", errors="surrogateescape"); i.write("\udcff"); i.seek(0)
        k = open("u8.txt", encoding="utf-8"); k.reconfigure(errors="ignore"); k.readlines(1)
        m = open("rw.txt", "w+"); m.write("0123456789"); m.seek(3); m.read(2); m.seek(m.tell()); m.write("AB");
        n = io.FileIO("rw.txt", "r"); n.seek(4); p = io.BufferedReader(n, 2); p.read(1)
        q = io.StringIO("a\r\nb\n", newline=None); q.readline(); r = io.StringIO(newline="\r\n"); r.write("x\n"); t = io.TextIOWrapper(open("raw.bin", "wb"), encoding="utf-8", write_through=True); t.write("thru")
        """,
        r"""
        a.tell() == spot, a.readline(), a.tell()
        next(b), b.readline()
        d.readline()
        e.readline()
        f.read(), f.seek(0), f.write("Q"), f.flush(), open("u16.txt", "rb").read()
        g2.readline(), g2.newlines, g2.read()
        h.write("y"), h.flush(), open("app.txt", "rb").read()
        i.read(), i.errors
        k.errors, k.readline()
        m.read(2), m.seek(0), m.read()
        p.read(2), n.tell() >= 4, p.raw is n
        q.read(), q.newlines, r.getvalue(), r.write("y\n"), r.getvalue()
        t.write("ough"), open("raw.bin").read(), t.write_through
        """,
        named="d e c",
    ),
    "archives written to and maps of names": session(
        r"""
        import zipfile, tarfile, gzip, io, os, shutil, pathlib, configparser, json, glob, fnmatch, filecmp, stat
        os.makedirs("tree/a"); pathlib.Path("tree/a/x.txt").write_text("x"); pathlib.Path("tree/y.csv").write_text("1,2\n")
        z = zipfile.ZipFile("out.zip", "w", zipfile.ZIP_DEFLATED); z.write("tree/y.csv", "y.csv"); z.comment = b"note"
        zp = zipfile.Path("done.zip") if False else None
        shutil.make_archive("done", "zip", "tree"); zr = zipfile.ZipFile("done.zip"); inner = zipfile.Path(zr, "a/"); names = zr.namelist()
        mem = io.BytesIO(); t = tarfile.open(fileobj=mem, mode="w:gz"); t.add("tree/y.csv")
        info = zr.getinfo("y.csv"); ti = tarfile.TarInfo("made.txt"); ti.size = 3; ti.mode = 0o600
        cp = configparser.ConfigParser(interpolation=configparser.ExtendedInterpolation()); cp.read_string("[a]\nroot=/x\nsub=${root}/y\n[b]\nflag=yes\n"); sect = cp["b"]
        cmp = filecmp.dircmp("tree", "tree/a"); pattern = fnmatch.translate("*.csv"); it = pathlib.Path("tree").rglob("*"); first = next(it); usage = shutil.disk_usage(".")
        st = os.stat("tree/y.csv"); sc = os.scandir("tree"); entry = next(sc); path = pathlib.PurePosixPath("a/b") / "c.tar.gz"
        gz = gzip.GzipFile("app.gz", "ab"); gz.write(b"one"); gz.close()
        """,
        r"""
        z.write("tree/a/x.txt", "x.txt"), z.close(), zipfile.ZipFile("out.zip").namelist(), zipfile.ZipFile("out.zip").comment
        zr.read("y.csv"), sorted(p.name for p in inner.iterdir()), names == zr.namelist()
        t.close(), tarfile.open(fileobj=io.BytesIO(mem.getvalue())).getnames()
        info.file_size, info.filename, zr.getinfo("y.csv") is info, oct(ti.mode), ti.size
        cp["a"]["sub"], sect.getboolean("flag"), cp["b"] is sect
        sect["flag"] = "no" ;; cp.getboolean("b", "flag")
        cmp.left_only, pattern, path.suffixes
        entry.name in ("a", "y.csv"), st.st_size
        gzip.open("app.gz").read(), gz.closed
        sorted(str(p) for p in it)[:1], str(first)
        """,
        named="z zr inner t info it sc entry cmp names gz",
    ),
    "patches of libraries in loops and by hand": session(
        r"""
        import pathlib, pandas as pd, numpy as np, json, datetime as dt, collections, unittest.mock as mock, requests, decimal, statistics, operator, builtins, time, os
        pathlib.Path.ls = lambda self: sorted(p.name for p in self.iterdir())
        for name in ("alpha", "beta"): setattr(pd.DataFrame, "to_" + name, (lambda n: lambda self: (n, self.shape))(name))
        json.JSONEncoder.default = lambda self, o: f"<{type(o).__name__}>"
        @pd.api.extensions.register_series_accessor("mine")
        class Mine:
            def __init__(self, s): self.s = s
            def twice(self): return self.s * 2
        p1 = mock.patch.object(time, "time", return_value=5.0); p1.start(); p2 = mock.patch.dict(os.environ, {"MOCKED": "1"}); p2.start()
        def patch(target, **attrs):
            for k, v in attrs.items(): setattr(target, k, v)
        patch(statistics, mean=lambda xs: "patched", special=3)
        collections.Counter.top = property(lambda self: self.most_common(1)[0][0])
        original = pd.Series.sum
        def loud(self, *a, **k): calls.append(len(self)); return original(self, *a, **k)
        calls = []; pd.Series.sum = loud
        requests.get = lambda url, **k: {"url": url}; decimal.Decimal.__module__
        np.mine = np.arange(3); np.random.mine = "r"; vars(operator)["plus"] = operator.add
        class FakeTime:
            now = dt.datetime(2020, 1, 1)
        dt.frozen = FakeTime; builtins.debug = lambda *a: calls.append(a)
        del statistics.median
        """,
        r"""
        pathlib.Path(".").ls()
        pd.DataFrame({"a": [1]}).to_alpha(), hasattr(pd.DataFrame, "to_beta")
        json.dumps({1: object})
        pd.Series([1]).mine.twice().tolist()
        time.time()
        os.environ.get("MOCKED")
        statistics.mean([1]), getattr(statistics, "special", None)
        collections.Counter("aab").top
        pd.Series([1, 2]).sum(), calls
        requests.get("u"), np.mine.tolist(), np.random.mine
        getattr(operator, "plus", None)
        dt.frozen is FakeTime, debug(1), calls[-1]
        hasattr(statistics, "median")
        """,
        named="p1 p2",
    ),
    "entries of registers and lists of libraries": session(
        r"""
        import codecs, urllib.parse, mimetypes, json, string, matplotlib.pyplot as plt, matplotlib as mpl, jinja2, pandas as pd, sys, html, email.charset, webbrowser, copyreg, sqlite3, yaml, encodings.aliases, http.client, zoneinfo, textwrap, pprint, shutil, tempfile, socket, locale, calendar, operator
        urllib.parse.uses_netloc.append("s3x"); urllib.parse.uses_relative += ["s3y"]
        html.entities.html5["mine;"] = "M" if hasattr(html, "entities") else None
        http.client.responses[299] = "Mine"
        encodings.aliases.aliases["mine"] = "utf_8"
        codecs.register_error("mark", lambda e: ("?!", e.end))
        mimetypes.types_map[".zzz"] = "text/zzz"; mimetypes.init(); mimetypes.suffix_map[".tzz"] = ".tar.zz"
        plt.rcParams["axes.grid"] = True; mpl.rcParamsDefault["lines.linewidth"]; mpl.markers.MarkerStyle.markers["mine"] = "mine"
        shutil.register_archive_format("mine", lambda *a, **k: "made", description="own")
        pd.io.formats.format if False else None; calendar.day_name_backup = list(calendar.day_name)
        class Hex(dict): pass
        def up(s): return s.upper()
        jinja2.filters.FILTERS["up"] = up; jinja2.tests.TESTS["big"] = lambda v: v > 10
        tempfile.template = "mine"; pprint.PrettyPrinter._dispatch[Hex.__repr__] = pprint.PrettyPrinter._pprint_dict
        sys.modules["shadow"] = json; sys.path_importer_cache.clear(); sys.modules.pop("colorsys", None)
        socket.getaddrinfo_real = socket.getaddrinfo; socket.getaddrinfo = lambda *a, **k: [("fake", a[0])]
        string.mine = {"nested": []}; string.mine["nested"].append(1)
        """,
        r"""
        "s3x" in urllib.parse.uses_netloc, "s3y" in urllib.parse.uses_relative, urllib.parse.urljoin("s3x://h/a", "b")
        http.client.responses[299]
        "x".encode("mine")
        "é".encode("ascii", "mark")
        mimetypes.types_map[".zzz"], mimetypes.suffix_map.get(".tzz")
        plt.rcParams["axes.grid"], mpl.markers.MarkerStyle.markers.get("mine")
        shutil.make_archive("q", "mine", ".")
        jinja2.filters.FILTERS["up"] is up, jinja2.Environment().from_string("{{ 'a'|up }}").render()
        tempfile.template, calendar.day_name_backup[0]
        __import__("shadow") is json
        socket.getaddrinfo("h", 1)
        string.mine
        """,
    ),
    "tracing, profiling and timing of code": session(
        r"""
        import sys, cProfile, pstats, timeit, time, trace, tracemalloc, linecache, inspect, dis, io, threading
        counts = {}
        def tracer(frame, event, arg):
            if frame.f_code.co_name == "traced": counts[event] = counts.get(event, 0) + 1
            return tracer
        def traced(x): y = x + 1; return y
        prof = cProfile.Profile(); prof.enable(); traced(1); prof.disable(); stats = pstats.Stats(prof, stream=io.StringIO())
        class Timer:
            def __init__(self): self.laps = []
            def __enter__(self): self.t = time.perf_counter(); return self
            def __exit__(self, *a): self.laps.append(time.perf_counter() - self.t)
        timer = Timer()
        with timer: traced(2)
        src = inspect.getsource(traced); sig = inspect.signature(traced); code = traced.__code__; frame_names = [f.function for f in inspect.stack()][:1]
        bound = sig.bind(5); tmr = timeit.Timer("traced(1)", globals=globals())
        old = sys.getswitchinterval(); sys.setswitchinterval(0.02)
        # %%
        sys.settrace(tracer)
        # %%
        traced(5); seen = dict(counts)
        """,
        r"""
        seen
        traced(7) ;; counts.get("call", 0) > seen.get("call", 0)
        sys.gettrace() is tracer
        sys.settrace(None) ;; traced(1), sys.gettrace()
        len(timer.laps), sorted(k[2] for k in stats.stats if k[2] == "traced")
        inspect.getsource(traced) == src, str(sig), bound.arguments, code is traced.__code__
        tmr.timeit(3) > 0, round(sys.getswitchinterval(), 3)
        with timer: pass ;; len(timer.laps)
        """,
        named="prof stats",
    ),
    "a helper package with state": session(
        r"""
        import os, pathlib, sys
        os.makedirs("shop/util")
        pathlib.Path("shop/__init__.py").write_text("from .models import Item, Cart\nfrom . import config\n__all__ = ['Item', 'Cart']\nVERSION = '1'\n")
        pathlib.Path("shop/config.py").write_text("import threading, random, collections, functools\nsettings = {'tax': 0.1}\nlock = threading.RLock()\nrng = random.Random(3)\nhooks = collections.defaultdict(list)\ndef on(name):\n    def deco(f):\n        hooks[name].append(f)\n        return f\n    return deco\n@functools.lru_cache(None)\ndef rate(n): return n * settings['tax']\nclass Flag:\n    def __bool__(self): return settings['tax'] > 0\nON = Flag()\n")
        pathlib.Path("shop/models.py").write_text("import dataclasses, enum, typing\nfrom . import config\nclass Kind(enum.Enum):\n    A = 1\n    B = 2\n@dataclasses.dataclass\nclass Item:\n    name: str\n    price: float = 1.0\n    kind: Kind = Kind.A\n    made: typing.ClassVar[int] = 0\n    def __post_init__(self): Item.made += 1\n    @property\n    def total(self): return self.price * (1 + config.settings['tax'])\nclass Cart(list):\n    instances = []\n    def __init__(self, *a):\n        super().__init__(*a)\n        Cart.instances.append(self)\n    def append(self, item):\n        for h in config.hooks['add']: h(item)\n        super().append(item)\ndefault = Cart()\n_gen = (n for n in range(5))\n")
        import shop, shop.config as cfg
        from shop import Item, Cart
        log = []
        @cfg.on("add")
        def note(item): log.append(item.name)
        cart = Cart(); cart.append(Item("pen")); shop.models.default.append(Item("cap", kind=shop.models.Kind.B)); cfg.rng.random(); cfg.rate(2)
        # %%
        cfg.settings["tax"] = 0.2; Item.label = property(lambda self: self.name.upper()); old_total = Item.total; Item.discount = 0.5
        class Big(Item):
            @property
            def total(self): return super().total * 2
        big = Big("big", 10); cart.append(big)
        # %%
        def wrapped(self): return round(old_total.fget(self), 2)
        Item.total = property(wrapped); shop.extra = {"cart": cart}; shop.models.Kind.A.note = "n"; by_kind = {shop.models.Kind.A: [cart[0]]}
        # %%
        # raises
        cart.append("not an item")
        # %%
        import shop.models as m; from shop.models import Kind; Cart.instances.sort(key=len); m.helper = lambda c: sum(i.total for i in c); cfg.lock.acquire(); cfg.lock.release()
        """,
        r"""
        [i.name for i in cart], log, cart in Cart.instances, Cart.instances[-1] is cart, len(Cart.instances)
        cart[0].total, big.total, cart[0].label, big.discount
        cfg.settings["tax"] = 0 ;; cart[0].total, bool(cfg.ON), shop.config.settings is cfg.settings
        shop.models.default[0].kind is Kind.B, by_kind[Kind.A][0] is cart[0], Kind.A.note
        Item("new").name, Item.made, Big.made
        cart.append(Item("late")) ;; log[-1], len(cart), shop.extra["cart"] is cart
        cfg.rng.random(), cfg.hooks["add"][0] is note, cfg.rate(2), cfg.rate(4)
        m.helper(cart), m is shop.models, m.Item is Item, shop.Item is Item, isinstance(big, shop.models.Item)
        type(cart) is Cart, type(shop.models.default) is Cart, shop.__all__, cfg.lock.acquire(blocking=False)
        """,
        named="_gen",
    ),
    "scripts that were run and code from texts": session(
        r"""
        import runpy, pathlib, types, sys, textwrap, code, importlib, ast
        pathlib.Path("etl.py").write_text("import json\nSTATE = {'runs': 0}\ndef run(x):\n    STATE['runs'] += 1\n    return helper(x)\ndef helper(x): return x * factor\nfactor = 3\nclass Job:\n    def go(self): return run(2)\nif __name__ == '__main__':\n    main_ran = True\n")
        exec(open("etl.py").read()); r1 = run(1)
        ns = runpy.run_path("etl.py", init_globals={"given": 1}); f = ns["run"]; f(5)
        space = {}; exec(compile(open("etl.py").read(), "etl.py", "exec"), space); job = space["Job"](); job.go()
        import etl; etl.run(9)
        mod = types.ModuleType("dynamic"); exec("count = 0\ndef inc():\n    global count\n    count += 1\n    return count", mod.__dict__); mod.inc()
        formula = compile("a * b + c", "<formula>", "eval"); env = {"a": 2, "b": 3, "c": 4}
        funcs = {name: eval(f"lambda x: x {op} {n}") for n, (name, op) in enumerate([("add", "+"), ("mul", "*")], 2)}
        tree = ast.parse("def made(x):\n    return x - 1"); exec(compile(tree, "<ast>", "exec"))
        factor = 10
        # %%
        exec(textwrap.dedent('''
            def helper(x): return -x * factor
            class Job:
                level = 2
                def go(self): return helper(self.level)
        ''')); job2 = Job()
        interp = code.InteractiveInterpreter({"z": 1}); interp.runsource("z += 1")
        """,
        r"""
        run(1), STATE, main_ran, r1
        ns["STATE"], f(2), ns["factor"], f.__globals__ is ns or f.__globals__["STATE"] is ns["STATE"]
        job.go(), space["STATE"], type(job) is space["Job"], job.go.__func__.__globals__ is space
        etl.run(1), etl.STATE, etl.Job().go(), hasattr(etl, "main_ran")
        mod.inc(), mod.count
        eval(formula, env), formula.co_filename, formula.co_names
        funcs["add"](1), funcs["mul"](5), made(3)
        factor = 2 ;; job2.go(), run(1), type(job2) is Job
        interp.locals["z"], interp.runsource("z += 1"), interp.locals["z"]
        space["factor"] = 100 ;; job.go()
        """,
    ),
    "queues, schedulers and things that wait": session(
        r"""
        import queue, sched, time, threading, heapq, asyncio, collections, concurrent.futures, functools, signal, weakref
        q = queue.Queue(5); [q.put({"n": n}) for n in range(3)]; head = q.get(); same = q.queue[0]
        results = []
        sc = sched.scheduler(time.monotonic, time.sleep); ev = sc.enter(1000, 1, results.append, ("late",)); sc.enterabs(0, 2, results.append, ("early",))
        stop = threading.Event(); cond = threading.Condition(); sem = threading.Semaphore(2); sem.acquire()
        class Worker(threading.Thread):
            def __init__(self): super().__init__(daemon=True, name="w"); self.done = []
            def run(self): self.done.append(1)
        w = Worker(); w.start(); w.join()
        fut = concurrent.futures.Future(); fut.set_result(5)
        aq = asyncio.Queue(); aq.put_nowait("a"); alock = asyncio.Lock(); aev = asyncio.Event(); acond = asyncio.Condition(); apq = asyncio.PriorityQueue(); apq.put_nowait((2, "b")); apq.put_nowait((1, "a"))
        async def fetch(n): await asyncio.sleep(0); results.append(n); return n
        async def main(): return await asyncio.gather(*(fetch(n) for n in range(3)))
        got = asyncio.run(main())
        ring = collections.deque([1, 2, 3], maxlen=3); ring.rotate(1)
        timer = threading.Timer(1000, results.append, ["t"]); bs = threading.BoundedSemaphore(1)
        def debounce(f, state={"calls": 0}):
            @functools.wraps(f)
            def inner(*a): state["calls"] += 1; return f(*a) if state["calls"] % 2 else None
            return inner
        tick = debounce(results.append); tick("x")
        """,
        r"""
        q.get() is same, q.qsize(), q.unfinished_tasks, q.maxsize, head
        sc.run(blocking=False), results[-1], len(sc.queue), sc.queue[0] is ev, ev.argument
        stop.is_set(), stop.set(), stop.is_set(), sem._value, bs._value
        asyncio.run(main()), results[-3:], got
        aq.get_nowait(), aq.empty(), apq.get_nowait(), aev.is_set(), alock.locked()
        ring.append(9), list(ring)
        tick("y"), tick("z"), results[-1]
        w.done
        fut.result()
        timer.interval
        with cond: pass ;; cond.notify_all.__name__
        """,
        named="w fut timer sc ev",
    ),
    "objects of libraries with attributes of one's own": session(
        r"""
        import pandas as pd, numpy as np, matplotlib.pyplot as plt, requests, logging, collections, argparse, types, sklearn.linear_model as lm, pathlib, datetime as dt, http.cookiejar, string, random, fractions, io, functools, email.message, urllib.request, configparser, json, html.parser, queue, threading, decimal
        df = pd.DataFrame({"a": [1, 2]}); df.attrs["unit"] = "kg"; s = df.a; s.name = "renamed"
        model = lm.LinearRegression(); model.tag = "v1"; model.fit([[1], [2]], [1, 2]); model.predict_old = model.predict; model.predict = lambda X: "patched"
        sess = requests.Session(); sess.mine = {"k": 1}; sess.headers["A"] = "b"; resp = requests.Response(); resp.status_code = 404; resp._content = b'{"x": 1}'; resp.note = "mine"; resp.encoding = "utf-8"
        class Client(requests.Session):
            def __init__(self, base): super().__init__(); self.base, self.calls = base, []
            def send(self, request, **k): self.calls.append(request.url); r = requests.Response(); r.status_code = 200; return r
        cl = Client("http://api"); cl.get("http://api/x")
        class Auth(requests.auth.AuthBase):
            def __init__(self, t): self.t = t
            def __call__(self, r): r.headers["T"] = self.t; return r
        cl.auth = Auth("tok"); nsp = argparse.Namespace(a=1); nsp.b = [2]; parser = argparse.ArgumentParser(); parser.add_argument("--n", type=int, default=3); parser.mine = 5
        class Rng(random.Random):
            def __init__(self, tag): self.tag = tag; super().__init__(7)
        rng = Rng("t"); rng.random()
        class Frac(fractions.Fraction):
            pass
        fr = Frac(1, 3); fr2 = fr
        class Q(queue.Queue):
            def __init__(self, n): super().__init__(n); self.log = []
            def put(self, x, **k): self.log.append(x); super().put(x, **k)
        qq = Q(3); qq.put(1)
        class P(html.parser.HTMLParser):
            def __init__(self): super().__init__(); self.n = 0
            def handle_data(self, d): self.n += len(d)
        hp = P(); hp.feed("<b>abc");
        class D(dt.datetime):
            def __new__(cls, *a, tag=None, **k): self = super().__new__(cls, *a, **k); self.tag = tag; return self
        d = D(2024, 1, 2, tag="x"); fig = plt.figure(); fig.mine = {"ax": fig.add_subplot()}; fig.mine["ax"].tag = "main"
        class L(logging.Logger):
            pass
        lg = L("free"); lg.extra = 1; part = functools.partial(int, base=2); part.note = "binary"; sio = io.StringIO("ab"); sio.tag = "s"; th = types.SimpleNamespace(x=1); msg = email.message.EmailMessage(); msg["To"] = "a@b"; msg.mine = 1
        """,
        r"""
        df.attrs, s.name, df.columns.tolist()
        model.tag, model.predict([[3]]), round(float(model.predict_old([[3]])[0]), 3), model.predict_old.__self__ is model
        sess.mine if hasattr(sess, "mine") else None, sess.headers["A"]
        resp.status_code, resp.json(), getattr(resp, "note", None)
        cl.base, cl.get("http://api/y").status_code, cl.calls, cl.auth.t
        nsp.b, parser.mine, parser.parse_args([]).n
        rng.tag, rng.random(), fr + 1, fr2 is fr, type(fr) is Frac
        qq.log, qq.put(2), qq.log, qq.get(), qq.maxsize
        hp.feed("de"), hp.n, d.tag, d.year, type(d) is D
        fig.mine["ax"] is fig.axes[0], fig.axes[0].tag
        lg.extra, lg.name, part.note, part("101"), sio.tag, sio.read(), msg.mine, msg["To"]
        """,
    ),
    "an experiment with settings that change": session(
        r"""
        import numpy as np, pandas as pd, random, copy, json, dataclasses, pathlib, warnings, decimal, os
        @dataclasses.dataclass
        class Config: lr: float = 0.1; layers: list = dataclasses.field(default_factory=lambda: [4, 2]); seed: int = 7
        cfg = Config(); runs = []; pathlib.Path("runs").mkdir()
        # %%
        def seed_all(n): random.seed(n); np.random.seed(n); return np.random.default_rng(n)
        rng = seed_all(cfg.seed)
        # %%
        class Layer:
            def __init__(self, i, o): self.W = rng.normal(size=(i, o)); self.b = np.zeros(o); self.grad = None
            def __call__(self, x): self.x = x; return np.maximum(x @ self.W + self.b, 0)
        class Net:
            def __init__(self, sizes): self.layers = [Layer(a, b) for a, b in zip(sizes, sizes[1:])]; self.params = {f"W{i}": l.W for i, l in enumerate(self.layers)}; self.hooks = []
            def __call__(self, x):
                for l in self.layers: x = l(x); [h(l, x) for h in self.hooks]
                return x
        # %%
        net = Net([3, *cfg.layers]); shapes = []; net.hooks.append(lambda l, x: shapes.append(x.shape)); X = rng.normal(size=(5, 3)); out = net(X)
        # %%
        best = copy.deepcopy(net); opt = {"momentum": {k: np.zeros_like(v) for k, v in net.params.items()}, "step": 0}
        def step():
            opt["step"] += 1
            for k, p in net.params.items(): m = opt["momentum"][k]; m *= 0.9; m += 0.01; p -= cfg.lr * m
            return float(net(X).sum())
        losses = [step() for _ in range(3)]
        # %%
        def save(name): pathlib.Path("runs", name).write_text(json.dumps({"cfg": dataclasses.asdict(cfg), "losses": losses})); runs.append(name)
        save("a.json"); cfg2 = dataclasses.replace(cfg, lr=0.5); cfg2.layers.append(1)
        # %%
        # raises
        cfg.lr = 0.01; save("b.json"); Net([3, 4])(np.zeros((2, 5)))
        # %%
        frozen = net.layers[0].W; frozen.setflags(write=False); view = net.layers[1].W[:, 0]; emb = {tuple(map(float, r.round(1))): i for i, r in enumerate(X)}
        table = pd.DataFrame({"loss": losses}, index=pd.RangeIndex(1, 4, name="step")); best_idx = table.loss.idxmin(); state = rng.bit_generator.state; np.save("runs/w.npy", frozen)
        # %%
        cfg_of = {"now": cfg, "then": cfg2}; grid = [(lr, n) for lr in (1, 2) for n in "ab"]; todo = iter(grid); next(todo); done = {next(todo)}
        """,
        r"""
        net.params["W0"] is net.layers[0].W, frozen is net.layers[0].W, frozen.flags.writeable
        step()
        opt["step"], losses, opt["momentum"]["W1"][0, 0]
        cfg.lr, cfg.layers is cfg2.layers, cfg_of["now"] is cfg, cfg2.layers
        best.params["W0"] is best.layers[0].W, best.layers[0].W is net.layers[0].W, len(best.hooks), best.hooks[0] is net.hooks[0]
        view[0] = 99 ;; net.layers[1].W[0, 0], net.params["W1"][0, 0]
        rng.normal(), random.random(), np.random.rand(), Layer(1, 1).W
        net.layers[0].x is X, out.shape, shapes[:2], len(shapes)
        runs, sorted(os.listdir("runs")), json.loads(pathlib.Path("runs/b.json").read_text())["cfg"]["lr"]
        list(todo), done, table.index.name, best_idx
        rng.bit_generator.state == state, emb[tuple(map(float, X[2].round(1)))]
        """,
    ),
    "a log of events and what is drawn of it": session(
        r"""
        import re, collections, datetime as dt, itertools, statistics, pathlib, pandas as pd, matplotlib.pyplot as plt, logging, io
        stream = io.StringIO(); logging.basicConfig(stream=stream, level=logging.INFO, format="%(levelname)s:%(message)s", force=True)
        pathlib.Path("web.log").write_text("".join(f"10.0.0.{n % 3} - [{dt.datetime(2024, 1, 1, n % 24):%d/%b/%Y:%H}] \"GET /p{n % 4}\" {200 if n % 5 else 500} {n * 10}\n" for n in range(60)))
        # %%
        LINE = re.compile(r"(?P<ip>\S+) - \[(?P<when>[^\]]+)\] \"GET (?P<path>\S+)\" (?P<code>\d+) (?P<size>\d+)")
        Hit = collections.namedtuple("Hit", "ip when path code size", defaults=[0])
        def parse(line): m = LINE.match(line); return Hit(m["ip"], dt.datetime.strptime(m["when"], "%d/%b/%Y:%H"), m["path"], int(m["code"]), int(m["size"]))
        # %%
        source = open("web.log"); hits = [parse(line) for line in itertools.islice(source, 20)]; logging.info("first %d", len(hits))
        # %%
        by_ip = collections.defaultdict(list)
        for h in hits: by_ip[h.ip].append(h)
        codes = collections.Counter(h.code for h in hits); slow = [h for h in hits if h.size > 150]; top = max(hits, key=lambda h: h.size)
        # %%
        df = pd.DataFrame(hits); df["hour"] = df.when.dt.hour; hourly = df.pivot_table(index="hour", columns="code", values="size", aggfunc="sum", fill_value=0)
        # %%
        fig, ax = plt.subplots(); lines = {code: ax.plot(hourly.index, hourly[code], label=str(code))[0] for code in hourly}; ax.legend(); ax.set_ylim(0, 500)
        def refresh():
            for code, line in lines.items(): line.set_data(hourly.index, hourly[code])
            ax.relim(); return [len(l.get_xdata()) for l in lines.values()]
        # %%
        # raises
        more = [parse(line) for line in itertools.islice(source, 10)]; hits.extend(more); parse("broken line")
        # %%
        logging.warning("broken"); alerts = {}
        def rule(name, test): alerts[name] = (test, [h for h in hits if test(h)]); return len(alerts[name][1])
        THRESH = 250; n_big = rule("big", lambda h: h.size > THRESH); rule("bad", lambda h: h.code == 500)
        # %%
        windows = itertools.groupby(hits, key=lambda h: h.when.date()); day, group = next(windows); sessions = {ip: sorted(v, key=lambda h: h.when) for ip, v in by_ip.items()}
        stats = pd.Series({ip: statistics.mean(h.size for h in v) for ip, v in by_ip.items()}, name="mean"); ax2 = stats.plot.bar(); twin = ax2.get_figure()
        """,
        r"""
        len(hits), len(more), parse(source.readline()).path, hits[0] is by_ip["10.0.0.0"][0]
        top is max(hits[:20], key=lambda h: h.size), slow[0] in hits, any(s is hits[16] for s in slow), type(hits[0]) is Hit, Hit._field_defaults
        THRESH = 280 ;; sum(map(alerts["big"][0], hits)), n_big, alerts["bad"][1][0] is hits[0]
        refresh(), lines[200] in ax.lines, ax.get_legend().get_texts()[0].get_text(), ax.get_ylim()
        hourly.loc[0, 200] = 7 ;; refresh(), lines[200].get_ydata()[0]
        logging.error("now") ;; stream.getvalue()
        LINE.groupindex["code"], LINE.match("x") is None, codes[500], sessions["10.0.0.1"][0] is by_ip["10.0.0.1"][0]
        day, [h.size for h in group][:2]
        df.code.dtype, df.when.iloc[3], stats.index.tolist(), len(ax2.patches), twin is plt.gcf()
        by_ip["new"] ;; len(by_ip), by_ip.default_factory is list
        """,
        named="windows group day",
    ),
    "warnings, contexts and locks left half open": session(
        r"""
        import contextlib, threading, warnings, io, sys, os, decimal, tempfile, time, logging, pathlib, contextvars, locale, signal
        lock = threading.Lock(); count = {"in": 0}
        @contextlib.contextmanager
        def section(name):
            count["in"] += 1; lock.acquire()
            try: yield name
            finally: lock.release(); count["in"] -= 1
        with section("a") as got: inside = lock.locked()
        class Managed(contextlib.AbstractContextManager):
            depth = 0
            def __enter__(self): Managed.depth += 1; self.saved = os.environ.get("MODE"); os.environ["MODE"] = f"m{Managed.depth}"; return self
            def __exit__(self, *a): Managed.depth -= 1; os.environ["MODE"] = self.saved or ""; return False
        m1 = Managed().__enter__(); m2 = Managed().__enter__()
        stack = contextlib.ExitStack(); stack.enter_context(m2); stack.callback(count.update, done=True); buf = stack.enter_context(io.StringIO())
        redirect = contextlib.redirect_stdout(io.StringIO())
        class Deco(contextlib.ContextDecorator):
            log = []
            def __enter__(self): Deco.log.append("in")
            def __exit__(self, *a): Deco.log.append("out")
        @Deco()
        def job(x): return x * 2
        job(1); closing = contextlib.closing(io.BytesIO(b"x")); chdir = contextlib.chdir("/") if hasattr(contextlib, "chdir") else None
        supp = contextlib.suppress(ValueError, KeyError)
        with warnings.catch_warnings(): warnings.simplefilter("ignore"); warnings.warn("gone")
        # %%
        # raises
        with section("b"): os.environ["LEFT"] = "1"; raise KeyError("b")
        # %%
        saved_filters = warnings.filters[:]; warnings.filterwarnings("ignore", "mine.*"); dctx = decimal.Context(prec=3, traps=[decimal.Inexact]); tl = threading.local(); guard = threading.RLock()
        """,
        r"""
        count, lock.locked(), inside, got
        os.environ["MODE"], Managed.depth, m2.saved, os.environ["LEFT"]
        stack.close() ;; count, Managed.depth, os.environ["MODE"], buf.closed
        m1.__exit__() ;; Managed.depth, os.environ["MODE"]
        job(4), Deco.log
        with supp: raise KeyError ;; "suppressed"
        with closing as c: pass ;; c.closed
        warnings.filters[0][0], len(warnings.filters) - len(saved_filters)
        dctx.divide(decimal.Decimal(1), 3)
        dctx.prec, with_section if False else section.__name__, guard.acquire(blocking=False)
        with section("z") as s: pass ;; s, count["in"]
        """,
        named="tl stack redirect",
    ),
    "settings through functions of one's own": session(
        r"""
        import pandas as pd, numpy as np, matplotlib as mpl, matplotlib.pyplot as plt, seaborn as sns, polars as pl, decimal, locale, warnings, sklearn, logging, os, sys, gc, socket
        def setup(theme="dark"):
            pd.set_option("display.max_rows", 7); pd.set_option("display.precision", 3); pd.set_eng_float_format(accuracy=1, use_eng_prefix=True)
            np.set_printoptions(linewidth=40, precision=3, sign="+"); np.seterr(invalid="ignore", over="raise")
            sns.set(style=theme, rc={"figure.figsize": (3, 3), "font.size": 5}); plt.rcParams["axes.spines.top"] = False; mpl.rcParams["date.autoformatter.day"] = "%d!"
            logging.getLogger("matplotlib").setLevel(logging.ERROR); logging.getLogger("lib.sub").setLevel(5)
            pl.Config.set_tbl_cols(3); pl.Config.set_tbl_formatting("ASCII_MARKDOWN"); pl.Config.set_fmt_float("full")
            decimal.getcontext().prec = 9; decimal.getcontext().traps[decimal.FloatOperation] = True; decimal.getcontext().rounding = decimal.ROUND_DOWN
            sklearn.set_config(enable_metadata_routing=True); gc.set_threshold(900, 11, 12); socket.setdefaulttimeout(9)
            pd.options.plotting.backend = "matplotlib"; pd.options.styler.render.repr = "latex"; pd.options.mode.chained_assignment = None if hasattr(pd.options.mode, "chained_assignment") else None
        warnings.simplefilter("ignore"); setup()
        palette = sns.color_palette("Set2", 3); sns.set_palette(palette); cmap = sns.light_palette("navy", as_cmap=True); mpl.colormaps.register(cmap, name="navyish")
        fmt = pd.options.display.float_format; big = pd.Series([12345.678]); shown = repr(big)
        mpl.rcParams["axes.prop_cycle"] = mpl.cycler(color=palette) * mpl.cycler(ls=["-", "--"])
        # %%
        plt.style.use({"lines.linewidth": 3.3, "axes.facecolor": "0.9"}); before = dict(mpl.rcParams); np.random.seed(2); np.random.set_state(np.random.get_state())
        pd.reset_option("display.max_rows"); mpl.rcParams["backend"]
        """,
        r"""
        repr(big) == shown, type(fmt).__name__, pd.get_option("display.float_format") is fmt
        pd.get_option("display.max_rows"), pd.get_option("display.precision"), pd.options.styler.render.repr
        str(np.array([1.23456] * 6)), np.geterr()["over"], np.geterr()["invalid"]
        {k for k in before if mpl.rcParams[k] != before[k]}
        mpl.colormaps["navyish"](0.5) == cmap(0.5), len(sns.color_palette()), list(mpl.rcParams["axes.prop_cycle"])[1]["linestyle"]
        logging.getLogger("matplotlib").level, logging.getLogger("lib.sub").level, logging.getLogger("lib.sub").getEffectiveLevel()
        str(pl.DataFrame({"a": [1.5]})).splitlines()[0]
        decimal.Decimal(2) / 3, decimal.getcontext().traps[decimal.FloatOperation], decimal.Decimal(1) < 1.5
        sklearn.get_config()["enable_metadata_routing"], gc.get_threshold(), socket.getdefaulttimeout()
        np.random.rand(), plt.rcParams["axes.spines.top"], mpl.rcParams["date.autoformatter.day"]
        """,
    ),
    "types and functions registered with engines": session(
        r"""
        import pyarrow as pa, pyarrow.compute as pc, polars as pl, pandas as pd, numpy as np, sqlite3, duckdb, json, pickle, copyreg, functools, collections, typing, abc
        class Temp(pa.ExtensionType):
            def __init__(self): super().__init__(pa.float64(), "my.temp")
            def __arrow_ext_serialize__(self): return b""
            @classmethod
            def __arrow_ext_deserialize__(cls, storage, ser): return cls()
        pa.register_extension_type(Temp()); arr = pa.ExtensionArray.from_storage(Temp(), pa.array([1.0, 2.0])); tab = pa.table({"t": arr})
        @pl.api.register_expr_namespace("mine")
        class Mine:
            def __init__(self, e): self._e = e
            def double(self): return self._e * 2
        @pl.api.register_dataframe_namespace("fx")
        class Fx:
            def __init__(self, df): self._df = df
            def n(self): return self._df.height
        pdf = pl.DataFrame({"a": [1, 2]}); ctx = pl.SQLContext(frames={"t": pdf})
        class Point:
            def __init__(self, x): self.x = x
        sqlite3.register_adapter(Point, lambda p: f"P{p.x}"); sqlite3.register_converter("POINT", lambda b: Point(int(b[1:]))); con = sqlite3.connect(":memory:", detect_types=sqlite3.PARSE_DECLTYPES); con.execute("create table p (v POINT)"); con.execute("insert into p values (?)", (Point(4),)); con.commit()
        con.executescript("create table n (a, b as (a * 2)); create trigger t after insert on n begin insert into p values ('P9'); end; create virtual table f using fts5(body); insert into f values ('hello world')")
        mem = sqlite3.connect("file:shared?mode=memory&cache=shared", uri=True); mem.execute("create table s (x)"); mem.execute("insert into s values (1)"); mem.commit(); mem2 = sqlite3.connect("file:shared?mode=memory&cache=shared", uri=True)
        class Shape(abc.ABC):
            @abc.abstractmethod
            def area(self): ...
        @Shape.register
        class Sq:
            def area(self): return 4
        @functools.singledispatch
        def show(x): return "any"
        @show.register
        def _(x: Point): return f"point {x.x}"
        json_default = json.JSONEncoder(default=lambda o: vars(o)); Alias = typing.Annotated[int, "unit"]; Td = typing.TypedDict("Td", {"a": int})
        """,
        r"""
        tab.schema.field("t").type, arr.to_pylist(), tab.column("t").type == Temp(), type(tab.schema.field("t").type) is Temp
        pa.ipc.open_stream(pa.ipc.new_stream(s := pa.BufferOutputStream(), tab.schema).close() or s.getvalue()).schema.field("t").type
        pdf.select(pl.col("a").mine.double()).to_series().to_list(), pdf.fx.n()
        ctx.execute("select sum(a) s from t", eager=True).item()
        con.execute("select v from p").fetchone()[0].x
        con.execute("insert into n (a) values (5)") ;; con.execute("select b from n").fetchone(), con.execute("select count(*) from p").fetchone()
        con.execute("select body from f where f match 'world'").fetchall()
        mem2.execute("select * from s").fetchall(), mem2.execute("insert into s values (2)") and mem2.commit(), mem.execute("select count(*) from s").fetchone()
        isinstance(Sq(), Shape), issubclass(Sq, Shape), show(Point(3)), show(1)
        json_default.encode(Point(1)), Alias.__metadata__, Td.__annotations__
        """,
        named="ctx",
    ),
    "images, sounds and bytes": session(
        r"""
        import PIL.Image, PIL.ImageFilter, PIL.ImageFont, PIL.ImageOps, wave, struct, array, io, base64, binascii, hashlib, hmac, zlib, numpy as np, mmap, colorsys, codecs, uuid, ipaddress, secrets, os, pathlib
        img = PIL.Image.fromarray(np.arange(48, dtype="u1").reshape(4, 4, 3)); crop = img.crop((0, 0, 2, 2)); frames = [img.rotate(90 * n) for n in range(3)]; frames[0].save("a.gif", save_all=True, append_images=frames[1:]); gif = PIL.Image.open("a.gif"); gif.seek(1); px = img.load(); img.info["dpi"] = (72, 72); mask = img.convert("1"); alpha = img.copy(); alpha.putalpha(128)
        w = wave.open("s.wav", "wb"); w.setnchannels(1); w.setsampwidth(2); w.setframerate(8000); w.writeframes(struct.pack("<3h", 1, 2, 3)); w.close(); rd = wave.open("s.wav"); rd.readframes(1)
        buf = bytearray(b"0123456789"); mv = memoryview(buf)[2:5]; arr = array.array("H", [1, 2]); arr_np = np.frombuffer(buf, dtype="u1"); st = struct.Struct("<hI"); rec = np.frombuffer(st.pack(1, 2) * 2, dtype=[("a", "<i2"), ("b", "<u4")])
        h = hashlib.sha256(b"a"); h.update(b"b"); digest = h.hexdigest(); mac = hmac.new(b"k", b"m", "sha256"); crc = zlib.crc32(b"abc"); inc = codecs.getincrementaldecoder("utf-8")(); part = inc.decode(b"\xc3")
        u = uuid.UUID(int=5); net = ipaddress.ip_network("10.0.0.0/30"); hosts = net.hosts(); first = next(hosts); chunks = iter(lambda: src.read(4), b""); src = io.BytesIO(b"abcdefghij"); next(chunks); packed = base64.b64encode(buf)
        font = PIL.ImageFont.load_default(); kern = PIL.ImageFilter.Kernel((3, 3), [1] * 9); pal = img.quantize(4); exif = img.getexif(); exif[271] = "me"
        """,
        r"""
        img.getpixel((1, 1)), crop.size, img.info["dpi"], mask.mode, alpha.getpixel((0, 0)), [f.size for f in frames]
        img.putpixel((0, 0), (9, 9, 9)) ;; px[0, 0], crop.getpixel((0, 0))
        gif.tell(), gif.n_frames, gif.convert("RGB").size
        rd.readframes(1), rd.tell()
        buf[2] = 65 ;; mv[0], arr_np[2], packed
        arr.append(3), arr.tolist(), st.unpack(st.pack(3, 4)), rec["b"].tolist()
        h.update(b"c") ;; h.hexdigest()[:6], digest[:6]
        mac.hexdigest()[:6], crc, inc.decode(b"\xa9"), part
        u, list(net)[1], list(hosts), first, next(chunks), src.tell()
        pal.getpalette()[:3], exif[271], kern.filterargs[0], font.getname() if hasattr(font, "getname") else None
        """,
        named="px gif rd h mac mv arr_np inc hosts w font chunks src",
    ),
    "an agent that keeps notes in cells": session(
        r"""
        import json, pathlib, re, textwrap, datetime as dt, collections, sys, os, types, functools, inspect
        notes = []; todo = collections.deque(["load", "clean", "model"]); state = types.SimpleNamespace(step=0, last=None, errors=[])
        # %%
        def remember(kind, **data): notes.append({"kind": kind, "at": len(notes), **data}); return notes[-1]
        tools = {}
        def tool(f=None, *, name=None):
            if f is None: return functools.partial(tool, name=name)
            tools[name or f.__name__] = f; f.uses = 0; return f
        # %%
        @tool
        def load(path="in.json"): load.uses += 1; return json.loads(pathlib.Path(path).read_text())
        @tool(name="clean")
        def _clean(rows): _clean.uses += 1; return [r for r in rows if r["ok"]]
        pathlib.Path("in.json").write_text(json.dumps([{"n": n, "ok": n % 2 == 0} for n in range(6)]))
        # %%
        rows = load(); cleaned = tools["clean"](rows); remember("load", n=len(rows), ref=rows)
        # %%
        class Memo(dict):
            def __missing__(self, key): self.misses = getattr(self, "misses", 0) + 1; value = self[key] = key * 2; return value
        memo = Memo(); memo["a"]; memo["b"]; memo["a"]
        # %%
        # raises
        todo.popleft(); state.step += 1; load("nothing.json")
        # %%
        try: load("nothing.json")
        except FileNotFoundError as e: state.errors.append(e); state.last = sys.exc_info()[1]
        # %%
        @tool
        def load(path="in.json", _prev=load): remember("reload"); return _prev(path)
        history = [inspect.signature(f) for f in tools.values()]
        # %%
        plan = {"goal": "report", "steps": [{"do": t, "deps": []} for t in todo]}; plan["steps"][1]["deps"].append(plan["steps"][0]); plan["self"] = plan; current = plan["steps"][0]
        # %%
        import string; tmpl = string.Template("$goal: ${n} rows"); report = pathlib.Path("report.md"); report.write_text(tmpl.substitute(goal=plan["goal"], n=len(cleaned)))
        def finish(*, out=report, sep=os.linesep):
            with out.open("a") as f: print(*(n["kind"] for n in notes), sep=sep, file=f)
            return out.read_text().splitlines()
        # %%
        state.step += 1; state.summary = lambda: (state.step, len(notes), list(todo)); state.__dict__["odd name"] = 1; globals()["made_here"] = "yes"; alias = notes
        """,
        r"""
        load(), notes[-1]["kind"], tools["load"] is load, load.uses, load.__defaults__[1].uses
        rows[0] is cleaned[0], notes[0]["ref"] is rows, alias is notes
        memo["c"], memo.misses, type(memo) is Memo
        state.errors[0] is state.last, type(state.last).__name__, state.last.filename
        state.summary(), vars(state)["odd name"], made_here
        plan["self"] is plan, current is plan["steps"][1]["deps"][0], len(todo)
        current["do"] = "changed" ;; plan["steps"][1]["deps"][0]["do"]
        finish(), finish.__kwdefaults__["out"] is report
        [str(h) for h in history], sorted(tools), tool.__kwdefaults__
        todo.append("x") ;; state.summary()[2], tmpl.substitute(goal=1, n=2)
        remember("late")["at"] ;; len(alias)
        """,
    ),
    "finance in a notebook": session(
        r"""
        import pandas as pd, numpy as np, datetime as dt, decimal, functools, collections, heapq, bisect, scipy.stats as st, scipy.optimize as so
        D = decimal.Decimal; decimal.getcontext().prec = 12; rng = np.random.default_rng(5)
        dates = pd.bdate_range("2024-01-01", periods=60, name="date"); px = pd.DataFrame(100 * np.exp(np.cumsum(rng.normal(0, 0.01, (60, 3)), 0)), dates, pd.Index(["A", "B", "C"], name="tick"))
        # %%
        ret = px.pct_change().dropna(); cov = ret.cov(); mu = ret.mean(); corr = ret.corr(); long = px.stack().rename("px"); multi = long.to_frame(); multi["w"] = multi.groupby("tick").px.transform(lambda s: s / s.iloc[0])
        # %%
        def var(w, cov=cov): return float(w @ cov.values @ w)
        res = so.minimize(var, np.ones(3) / 3, constraints={"type": "eq", "fun": lambda w: w.sum() - 1}); w = res.x
        # %%
        class Ledger:
            fee = D("0.01")
            def __init__(self): self.lots = collections.defaultdict(collections.deque); self.cash = D(1000); self.trades = []
            def buy(self, t, n, p): self.lots[t].append([n, D(str(p))]); self.cash -= n * D(str(p)) + self.fee; self.trades.append((t, n)); return self.cash
            def sell(self, t, n, p):
                gain = D(0)
                while n: lot = self.lots[t][0]; k = min(n, lot[0]); gain += k * (D(str(p)) - lot[1]); lot[0] -= k; n -= k; lot[0] or self.lots[t].popleft()
                self.cash += gain; return gain
        book = Ledger(); book.buy("A", 3, 1.1); book.buy("A", 2, 1.3); first_lot = book.lots["A"][0]; gain = book.sell("A", 4, 1.5)
        # %%
        # raises
        book.sell("A", 5, 2)
        # %%
        bands = {n: (px.rolling(n).mean(), px.rolling(n).std()) for n in (5, 20)}; signal = px > bands[5][0]; pos = signal.astype(int).shift().fillna(0); pnl = (pos * ret).sum(axis=1).cumsum(); peak = pnl.cummax()
        # %%
        rate_table = [(D("0"), D("0.1")), (D("100"), D("0.2"))]; keys = [k for k, _ in rate_table]
        def tax(x): return x * rate_table[bisect.bisect(keys, x) - 1][1]
        @functools.lru_cache(maxsize=4)
        def npv(r, flows): return sum(c / (1 + r) ** i for i, c in enumerate(flows))
        irr = so.brentq(lambda r: npv(r, (-100.0, 60.0, 60.0)), 0, 1)
        # %%
        dist = st.norm(mu["A"], ret["A"].std()); kde = st.gaussian_kde(ret["A"]); boot = functools.partial(rng.choice, ret["A"].values, size=5); cats = pd.cut(ret["A"], [-1, 0, 1], labels=["down", "up"]); xs = px.xs("A", axis=1); wk = px.resample("W"); cal = pd.offsets.BMonthEnd()
        px.attrs["src"] = "sim"; px.loc[dates[0], "A"] = 100.0; prev = px; px = px.rename(columns=str.lower)
        """,
        r"""
        book.cash, gain, first_lot, book.lots["A"], len(book.trades)
        book.buy("B", 1, "2.5"), book.lots["B"][0][1], type(book).fee
        var(w) == res.fun, var.__defaults__[0] is cov, w is res.x
        tax(D(150)), rate_table.append((D(200), D("0.5"))), keys.append(D(200)), tax(D(250))
        round(irr, 6), npv.cache_parameters(), npv(0.1, (1.0, 1.0))
        boot().shape, rng.normal(), dist.cdf(0), float(kde(0)[0])
        prev.attrs, px.attrs, prev.loc[dates[0], "A"], px.columns.name, prev.index is dates or prev.index.equals(dates), prev.index.freqstr
        bands[5][0].iloc[-1, 0], pnl.iloc[-1] <= peak.iloc[-1], signal.dtypes.tolist(), cats.value_counts().to_dict()
        multi.index.names, multi.w.iloc[0], long.name, xs.name, wk.last().shape, (dates[0] + cal).day
        decimal.getcontext().prec, D(1) / 3, st.norm.cdf(0)
        """,
        named="wk",
    ),
    "files that come, go and change their names": session(
        r"""
        import os, pathlib, shutil, stat, time, tempfile, glob, hashlib
        P = pathlib.Path; base = P("work"); base.mkdir(); (base / "keep").mkdir(); (base / "keep/.gitkeep").touch(); [(base / f"f{n}.txt").write_text("x" * n) for n in range(4)]
        out = open(base / "f1.txt", "a"); out.write("+more")
        # %%
        os.rename(base / "f2.txt", base / "renamed.txt"); shutil.copy2(base / "f3.txt", base / "copy.txt"); shutil.copytree(base / "keep", base / "keep2"); os.remove(base / "f0.txt"); os.link(base / "f3.txt", base / "hard.txt"); (base / "soft").symlink_to("keep", target_is_directory=True)
        # %%
        home = P.home(); (home / "notes").mkdir(); (home / "notes/n.txt").write_text("n"); os.chmod(home / "notes", 0o700); tmp = P(tempfile.gettempdir()); (tmp / "stage").mkdir(); (tmp / "stage/part").write_bytes(os.urandom(10)); (tmp / "tolink").symlink_to(base.resolve()); os.mkfifo(tmp / "pipe") if False else None
        # %%
        mt = (base / "renamed.txt").stat().st_mtime_ns; os.utime(base / "copy.txt", (1, 2)); old = base / "f3.txt"; before = {p.name: p.stat().st_size for p in base.iterdir() if p.is_file()}
        # %%
        # raises
        shutil.move(base / "keep2", base / "moved"); (base / "partial.csv").write_text("a,b\n1,"); raise OSError("disk")
        # %%
        shutil.rmtree(base / "keep"); P("up/er/most").mkdir(parents=True); os.replace(base / "copy.txt", "up/er/c.txt"); os.truncate("up/er/c.txt", 1); P("big.bin").write_bytes(bytes(3_000_000)); os.chmod("big.bin", 0o400); P(".env").write_text("K=V"); P("__pycache__").mkdir(); P("__pycache__/stale.pyc").write_bytes(b"x")
        P("dir.with.dots").mkdir(); P("nul").touch(); umask = os.umask(0); os.umask(umask); sha = hashlib.sha1(P("big.bin").read_bytes()).hexdigest()
        """,
        r"""
        sorted(p.name for p in base.iterdir()), sorted(os.listdir("."))
        out.write("!"), out.flush(), (base / "f1.txt").read_text()
        (base / "hard.txt").write_text("H"), old.read_text(), os.stat(old).st_nlink
        os.readlink(base / "soft"), (base / "soft").exists(), (base / "moved/.gitkeep").exists()
        (home / "notes/n.txt").read_text(), oct((home / "notes").stat().st_mode), len((tmp / "stage/part").read_bytes())
        os.path.lexists(tmp / "tolink"), (base / "renamed.txt").stat().st_mtime_ns == mt
        os.stat("up/er/c.txt").st_size, oct(os.stat("big.bin").st_mode), hashlib.sha1(P("big.bin").read_bytes()).hexdigest() == sha
        before, P(".env").read_text(), P("__pycache__/stale.pyc").exists(), P("dir.with.dots").is_dir()
        (base / "partial.csv").read_text(), os.path.isdir("up/er/most")
        """,
        named="tolink",
    ),
}
