"""What long scripts do with Python's own library: options, plug-ins, patches, tests, logs, caches, pipelines."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "a tool with options that are left out": session(
        """
        import argparse, optparse, configparser, dataclasses, inspect, functools
        p = argparse.ArgumentParser("t", argument_default=argparse.SUPPRESS); p.add_argument("--a", type=int); p.add_argument("--b", default=argparse.SUPPRESS, help=argparse.SUPPRESS); p.add_argument("rest", nargs=argparse.REMAINDER)
        q = argparse.ArgumentParser("q"); q.add_argument("--x", default=1); par = argparse.ArgumentParser("par", parents=[q], add_help=False); sp = par.add_subparsers(dest="c", metavar=argparse.SUPPRESS); s1 = sp.add_parser("one", argument_default=argparse.SUPPRESS); s1.add_argument("--y"); xact = q._actions[1]
        op = optparse.OptionParser(option_list=[optparse.make_option("-k", help=optparse.SUPPRESS_HELP), optparse.make_option("-n", type="int", help="n %default")]); cp = configparser.ConfigParser(); cp["s"] = {"a": "1"}; fb = functools.partial(cp.get, "s", "zz"); get_fb = functools.partial(cp.get, "s", "zz", fallback=None); ns = argparse.Namespace(v=argparse.SUPPRESS); Conf = type("Conf", (argparse.Namespace,), {"__getattr__": lambda s, n: vars(s)["more"][n]}); conf = Conf(more={"deep": ns}, w=argparse.SUPPRESS); loose = Conf(more={"a": [ns]})
        F = dataclasses.field(default_factory=list); mark = inspect.Parameter("z", inspect.Parameter.KEYWORD_ONLY)
        """,
        """
        vars(p.parse_args([])), vars(p.parse_args(["--a", "3", "r"]))
        vars(q.parse_args([])), vars(par.parse_args(["one"])), vars(par.parse_args(["--x", "2", "one", "--y", "5"]))
        p.format_help(), ns.v is argparse.SUPPRESS, par.format_usage()
        xact in par._actions, xact in q._actions, q.parse_args(["--x", "z"]).x
        op.format_help(), op.parse_args([])[0].n, op.parse_args(["-n", "3"])[0].n
        get_fb(), conf.deep is ns, conf.w is argparse.SUPPRESS, loose.a[0] is ns
        fb()
        F.default is dataclasses.MISSING, mark.default is inspect.Parameter.empty, mark.kind is inspect.Parameter.KEYWORD_ONLY
        """,
    ),
    "plug-ins loaded from files by any name": session(
        r"""
        import importlib.util as iu, sys, pathlib, types
        pathlib.Path("plug").mkdir(exist_ok=True); pathlib.Path("plug/10-first.py").write_text("HOOKS = []\nclass P:\n    n = 0\n    def __init__(self): P.n += 1\n    def go(self): return __name__, P.n, len(HOOKS)\ndef add(f): HOOKS.append(f); return f\n")
        def load(path, name):
            s = iu.spec_from_file_location(name, path); m = iu.module_from_spec(s); sys.modules[name] = m; s.loader.exec_module(m); return m
        mod = load("plug/10-first.py", "plugins.first"); p = mod.P(); mod.add(lambda: p); held = {"p": mod.P}; pathlib.Path("plug/__init__.py").write_text("V = [1]\n"); whole = load("plug/__init__.py", "renamed"); whole.V.append(mod); sys.modules["by_alias"] = mod; mod.P.extra = 5; go = p.go
        """,
        r"""
        p.go(), type(p) is mod.P, sys.modules["plugins.first"] is mod, held["p"] is mod.P, mod.P.extra
        mod.HOOKS[0]() is p, mod.P().go(), go(), mod.__spec__ is not None, mod.__file__[-11:]
        import plugins.first ;; 1
        mod.add(len) is len, mod.HOOKS[-1], mod.add.__globals__ is vars(mod), whole.V[1] is mod, sys.modules["renamed"] is whole, sys.modules["by_alias"] is mod
        """,
    ),
    "replaced functions that say they are the old ones": session(
        """
        import functools, json, time, datetime, random, textwrap, statistics, logging, os, shutil, collections
        def timed(f):
            @functools.wraps(f)
            def w(*a, **k): calls[f.__name__] = calls.get(f.__name__, 0) + 1; return f(*a, **k)
            return w
        calls = {}; json.dumps = timed(json.dumps); statistics.mean = timed(statistics.mean); os.path.join = timed(os.path.join); shutil.which = functools.lru_cache(shutil.which); old = textwrap.fill; textwrap.fill = timed(textwrap.fill); keep = textwrap.fill; loose = timed(textwrap.indent); twice = timed(timed(textwrap.dedent)); random.shuffle = functools.wraps(random.shuffle)(lambda x: x.sort())
        class Today(datetime.date):
            @classmethod
            def today(cls): return cls(2020, 1, 1)
        real_date = datetime.date; datetime.date = Today; day = datetime.date.today(); plain = real_date(2021, 1, 1)
        class H(logging.StreamHandler):
            def emit(self, r): got.append(r.msg)
        got = []; old_h = logging.StreamHandler; logging.StreamHandler = H; h = logging.StreamHandler(); oh = old_h()
        class OD(collections.OrderedDict):
            pass
        collections.OrderedDict = OD; od = collections.OrderedDict(a=1); json.loads.__kwdefaults__["strict_"] = 1
        @functools.wraps(print)
        def show(*a): return ("show", a)
        meth = functools.wraps(dict.get)(lambda self, k: k); named = functools.wraps(logging.getLogger)(lambda n: n)
        """,
        """
        json.dumps([1]), calls["dumps"], json.dumps is calls or json.dumps.__module__
        statistics.mean([1, 3]), os.path.join("a", "b"), calls["mean"] > 0, calls["join"] > 0
        textwrap.fill("a"), keep is textwrap.fill, keep.__wrapped__ is old, old("b"), old is textwrap.fill
        loose("a", " "), twice(" a"), calls["indent"], calls["dedent"], textwrap.indent("q", " "), textwrap.dedent is twice
        (lambda l: (random.shuffle(l), l)[1])([3, 1])
        datetime.date.today(), type(day) is Today, real_date is datetime.date.__mro__[1], type(plain) is real_date, isinstance(plain, Today), datetime.date is Today
        h.emit(logging.makeLogRecord({"msg": "m"})), got, type(oh) is old_h, logging.StreamHandler is H, H.__mro__[1] is old_h
        collections.OrderedDict is OD, type(od) is OD, OD.__mro__[1].__name__, show(1), meth({}, "k"), named("x"), json.loads.__kwdefaults__
        """,
    ),
    "library code that was patched": session(
        """
        import json, datetime, time, random, os, subprocess, argparse, logging, enum, collections, fractions, uuid, string, unittest, textwrap, contextlib, dataclasses, functools, statistics, csv, pathlib, types, typing, copy, pprint, inspect, html, numbers, decimal, calendar, heapq, bisect, math, operator, itertools
        real = datetime.datetime
        class FakeDT(datetime.datetime):
            @classmethod
            def now(cls, tz=None): return cls(2020, 1, 1)
        datetime.datetime = FakeDT; stamp = datetime.datetime.now(); old_time = time.time; time.time = lambda: 42.0; time.sleep = functools.partial(lambda log, s: log.append(s), slept := []); random.random = lambda: 0.5; heapq.heappush = (lambda orig: lambda h, x: orig(h, -x))(heapq.heappush); math.tau2 = math.tau * 2; math.sqrt = lambda x: ("sqrt", x)
        os.getcwd = lambda: "/fake"; old_run = subprocess.run
        @functools.wraps(subprocess.run)
        def run(*a, **k): cmds.append(a[0]); return old_run(*a, **k)
        cmds = []; subprocess.run = run; argparse.ArgumentParser.error = lambda self, m: (_ for _ in ()).throw(ValueError(m)); logging.Logger.notice = lambda self, m: ("notice", self.name, m)
        enum.Enum.choices = classmethod(lambda cls: [m.name for m in cls]); collections.Counter.__matmul__ = lambda a, b: {k: (a[k], b[k]) for k in a}; fractions.Fraction.__repr__ = lambda s: f"F({s.numerator}/{s.denominator})"; uuid.UUID.short = property(lambda s: s.hex[:4]); string.punctuation += "€"; textwrap.TextWrapper.wordsep_mine = 1; contextlib.ExitStack.size = property(lambda s: len(s._exit_callbacks)); statistics.mean = statistics.median; csv.DictWriter.writeall = lambda self, rows: [self.writerow(r) for r in rows]
        pathlib.Path.ls = lambda self, pat="*": sorted(p.name for p in self.glob(pat)); types.SimpleNamespace; typing.TYPE_CHECKING = True; copy._deepcopy_dispatch[complex] = lambda x, memo: ("copied", x); inspect.mine = inspect; decimal.getcontext().prec = 6; calendar.month_name_old = calendar.month_name; numbers.Number.register(type("Nm", (), {})); html.escape = (lambda f: lambda s, **k: f(s, **k).replace(" ", "_"))(html.escape)
        class E(enum.Enum): A = 1; B = 2
        class DCmeta: pass
        dataclasses.Field.doc = property(lambda s: s.metadata.get("doc")); json.dumps.__kwdefaults__["sort_keys"] = True; functools.partial_old = functools.partial; dflt = json.dump.__defaults__; textwrap.dedent.__doc__ = "mine"; operator.itemgetter_old = operator.itemgetter; bisect.bisect = bisect.bisect_left; collections.UserList.first = lambda s: s[0]; itertools.batch = lambda it, n: list(zip(*[iter(it)] * n)); os.path.twice = lambda p: p * 2; csv.excel.delimiter = ";"; saved = unittest.TestCase.longMessage; unittest.TestCase.longMessage = False; decimal.Context; string.Formatter.extra = [1]; string.Template.delimiter = "@"; logging.LogRecord.getX = lambda s: s.msg
        """,
        """
        datetime.datetime.now(), type(datetime.datetime.now()).__name__, datetime.datetime is FakeDT, isinstance(real(2020, 1, 1), FakeDT), type(stamp) is FakeDT, real is FakeDT.__mro__[1]
        time.time(), old_time() > 43, time.sleep(9), slept, random.random(), random.uniform(0, 1) == 0.5, math.tau2, math.sqrt(4)
        (lambda h: (heapq.heappush(h, 3), heapq.heappush(h, 5), h))([]), os.getcwd(), os.path.twice("a")
        subprocess.run(["true"]).returncode, cmds, subprocess.run.__wrapped__ is old_run, subprocess.run is run
        argparse.ArgumentParser().parse_args(["--zz"])
        logging.getLogger("x").notice("m"), E.choices(), collections.Counter("a") @ collections.Counter("ab"), fractions.Fraction(1, 2), uuid.UUID(int=0).short, string.punctuation[-1], contextlib.ExitStack().size, statistics.mean([1, 2, 9])
        pathlib.Path(".").ls("nothing"), typing.TYPE_CHECKING, copy.deepcopy(1j), inspect.mine is inspect, html.escape("a <b"), decimal.Decimal(1) / 3
        json.dumps({"b": 1, "a": 2}), json.dumps.__kwdefaults__["sort_keys"], textwrap.dedent.__doc__, bisect.bisect([1, 1, 2], 1), collections.UserList([7]).first(), itertools.batch([1, 2, 3, 4], 2)
        (lambda b: (csv.writer(b).writerow([1, 2]), b.getvalue()))(__import__("io").StringIO()), csv.excel.delimiter
        unittest.TestCase.longMessage, string.Formatter.extra, string.Template.delimiter, logging.makeLogRecord({"msg": "q"}).getX(), dataclasses.field(metadata={"doc": "d"}).doc
        """,
    ),
    "switches in C and registers of the library": session(
        """
        import csv, socket, sys, gc, threading, copyreg, gettext, mimetypes, sqlite3, locale, calendar, os, tempfile, linecache, fileinput, doctest, shutil, codecs, html.entities, asyncio, re, zoneinfo, imghdr, keyword, urllib.parse
        class Pt:
            def __init__(self, a): self.a = a
        copyreg.add_extension("__main__", "Pt", 200); sys.set_asyncgen_hooks(firstiter=lambda g: seen.append("first")); seen = []; sys.set_coroutine_origin_tracking_depth(3)
        gettext.textdomain("mydom"); gettext.bindtextdomain("mydom", "/loc"); _tr = gettext.NullTranslations(); _tr._catalog = {}; gettext.install("mydom")
        sqlite3.register_adapter(Pt, lambda p: f"pt{p.a}"); sqlite3.register_converter("pt", lambda b: Pt(b)); sqlite3.enable_callback_tracebacks(True); calendar.setfirstweekday(6); OPT = doctest.register_optionflag("MYFLAG"); re.purge()
        html.entities.html5["my;"] = "M"; codecs.register_error("star", lambda e: ("*", e.end)); zoneinfo.reset_tzpath(["/usr/share/zoneinfo"]); keyword.kwlist.append("mykw"); urllib.parse.uses_netloc.append("mys"); urllib.parse.uses_relative.append("mys")
        imghdr.tests.append(lambda h, f: "mine" if h[:2] == b"MY" else None); tempfile.template = "pre"; shutil.register_unpack_format("mine", [".mine"], lambda f, d: seen.append(f)); shutil.COPY_BUFSIZE = 77; threading.setprofile(None); sys.setdlopenflags(2); asyncio.set_event_loop_policy(asyncio.DefaultEventLoopPolicy()); socket.setdefaulttimeout(3.5); csv.field_size_limit(99)
        gc.freeze(); sys.float_repr_style; sys.intern("abc def"); sys.exc_clear = 3; os.environb[b"BB"] = b"v"; locale._override_localeconv = {"decimal_point": ";"}; re.template_old = re.compile
        fin = fileinput.FileInput(files=[], inplace=False); threading.stack_size(1 << 20); sys.unraisablehook_old = sys.unraisablehook; sys.path_hooks.append(lambda p: (_ for _ in ()).throw(ImportError)); ext_pt = Pt(4)
        socket.getfqdn = lambda *a: "me"; os.sep_old = os.sep; sys.hexversion_copy = sys.hexversion; urllib.parse.MAX_CACHE_SIZE = 3
        """,
        """
        copyreg._extension_registry[("__main__", "Pt")], __import__("pickle").loads(__import__("pickle").dumps(ext_pt, 2)).a
        sys.get_asyncgen_hooks().firstiter is not None, sys.get_coroutine_origin_tracking_depth()
        gettext.textdomain(), gettext.bindtextdomain("mydom"), _("x")
        sqlite3.connect(":memory:").execute("select ?", (ext_pt,)).fetchone(), calendar.firstweekday(), OPT == doctest.register_optionflag("MYFLAG"), doctest.OPTIONFLAGS_BY_NAME.get("MYFLAG") == OPT
        __import__("html").unescape("&my;"), "é".encode("ascii", "star"), zoneinfo.TZPATH, "mykw" in keyword.kwlist
        urllib.parse.urljoin("mys://a/b", "c"), imghdr.what(None, b"MYxx"), tempfile.template, "mine" in [f[0] for f in shutil.get_unpack_formats()], shutil.COPY_BUFSIZE
        sys.getdlopenflags(), type(asyncio.get_event_loop_policy()).__name__, socket.getdefaulttimeout(), csv.field_size_limit()
        gc.get_freeze_count() > 0
        threading.stack_size(), locale._override_localeconv, os.environ["BB"], len(sys.path_hooks), sys.exc_clear, socket.getfqdn(), sys.unraisablehook_old is sys.unraisablehook
        urllib.parse.MAX_CACHE_SIZE, re.template_old is re.compile
        """,
    ),
    "unittest in a session": session(
        """
        import unittest, io, doctest, contextlib
        class Base(unittest.TestCase):
            maxDiff = None; log = []
            @classmethod
            def setUpClass(cls): cls.shared = {"n": 0}; Base.log.append("class")
            def setUp(self): self.addCleanup(Base.log.append, "clean"); self.addTypeEqualityFunc(list, lambda a, b, msg=None: Base.log.append("eq"))
        class T(Base):
            def test_a(self): self.shared["n"] += 1; self.assertEqual([1], [1])
            @unittest.skipIf(True, "no")
            def test_b(self): 1 / 0
            @unittest.expectedFailure
            def test_c(self): self.assertEqual(1, 2)
            def test_d(self):
                for i in range(2):
                    with self.subTest(i=i): self.assertEqual(i, 0)
        loader = unittest.TestLoader(); loader.testMethodPrefix = "test_"; suite = loader.loadTestsFromTestCase(T); res = unittest.TestResult(); suite.run(res); one = T("test_a"); err = res.failures[0][1] if res.failures else ""
        class Res(unittest.TextTestResult):
            def addSuccess(self, t): super().addSuccess(t); wins.append(t.id())
        wins = []; out = io.StringIO(); runner = unittest.TextTestRunner(out, resultclass=Res, verbosity=0); ctx = unittest.TestCase().assertRaises(ValueError); eqf = one._type_equality_funcs
        unittest.TestCase.assertTwice = lambda self, a, b: self.assertEqual(a * 2, b); fn = unittest.FunctionTestCase(lambda: wins.append("fn"), description="d")
        """,
        """
        res.testsRun, len(res.failures), len(res.skipped), len(res.expectedFailures), res.failures[0][0].id() if res.failures else 0
        runner.run(loader.loadTestsFromTestCase(T)).testsRun, wins, Base.log[-3:]
        T.shared, T.shared is Base.shared if hasattr(Base, "shared") else None, one.id(), one.maxDiff
        one.assertTwice(1, 2), fn.run(unittest.TestResult()) is None, wins[-1]
        suite.countTestCases(), loader.testMethodPrefix, str(fn)
        one.run(unittest.TestResult()), Base.log[-2:], T.test_c.__unittest_expecting_failure__, T.test_b.__unittest_skip_why__
        "AssertionError" in err, res.wasSuccessful()
        with ctx: int("x")
        isinstance(ctx.exception, ValueError)
        eqf is one._type_equality_funcs, runner.stream.stream is out if hasattr(runner.stream, "stream") else 0, out.getvalue() != ""
        """,
    ),
    "log setups in anger": session(
        """
        import logging, logging.handlers, queue, io, warnings, sys, contextvars, time, functools
        req = contextvars.ContextVar("req", default="-"); buf = io.StringIO()
        class Ctx(logging.Filter):
            def filter(self, r): r.req = req.get(); return super().filter(r)
        class Fmt(logging.Formatter):
            converter = time.gmtime; default_msec_format = None
            def format(self, r): r.short = r.name.rsplit(".")[-1]; return super().format(r)
            def formatException(self, ei): return "EXC " + ei[0].__name__
        class Adapter(logging.LoggerAdapter):
            def process(self, m, k): k.setdefault("extra", {})["n"] = next(self.extra["ids"]); return f"[{k['extra']['n']}] {m}", k
        import itertools
        log = logging.getLogger("etl.load"); log.propagate = False; h = logging.StreamHandler(buf); h.setFormatter(Fmt("%(levelname)s %(short)s %(req)s %(message)s")); h.addFilter(Ctx()); log.addHandler(h); log.setLevel(15); ad = Adapter(log, {"ids": itertools.count(1)}); ad.info("a"); req.set("r1")
        q = queue.SimpleQueue(); qh = logging.handlers.QueueHandler(q); ql = logging.getLogger("q1"); ql.addHandler(qh); ql.propagate = False; ql.setLevel(10); ql.info("queued %s", 1); fh = logging.FileHandler("app.log", delay=True); rot = logging.handlers.RotatingFileHandler("rot.log", maxBytes=60, backupCount=2); rl = logging.getLogger("rot"); rl.addHandler(rot); rl.propagate = False; rl.setLevel(10); [rl.info("line %d xxxxxxxxxxxxxxxx", i) for i in range(3)]; fl = logging.getLogger("file"); fl.addHandler(fh); fl.propagate = False
        logging.disable(logging.DEBUG); logging.captureWarnings(True); wl = logging.getLogger("py.warnings"); wl.addHandler(h); wl.propagate = False; lr = logging.lastResort; logging.lastResort = None; tmp = logging.getLogger("tmp"); tmp.disabled = True; logging.addLevelName(logging.INFO, "I"); par = logging.getLogger("etl"); par.setLevel(30); kid = logging.getLogger("etl.x.y"); kid.isEnabledFor(20); ph = logging.root.manager.loggerDict["etl.x"]
        class Stop(logging.Handler):
            seen = 0
            def handle(self, r): Stop.seen += 1; return super().handle(r)
            def emit(self, r): raise ValueError("emit")
            def handleError(self, r): errs.append(sys.exc_info()[0].__name__)
        errs = []; sh = Stop(); sl = logging.getLogger("stop"); sl.addHandler(sh); sl.propagate = False; hp = logging.NullHandler(); h.name = "main-h"; tfh = logging.handlers.TimedRotatingFileHandler("t.log", when="D", utc=True); tl = logging.getLogger("timed"); tl.addHandler(tfh); tl.propagate = False; ROLL = tfh.rolloverAt; pre = logging.getLogger("etl.load").getChild("deep"); cfg = logging.getLogger; bound = log.info; lz = functools.partial(log.log, 20)
        """,
        """
        ad.info("b"), buf.getvalue().splitlines()[-1], ad.extra["ids"]
        req.set("r2"), log.warning("w"), buf.getvalue().splitlines()[-1]
        log.debug("no"), len(buf.getvalue().splitlines()), logging.root.manager.disable, log.isEnabledFor(10)
        (lambda: log.exception("ex", exc_info=(KeyError, KeyError("k"), None)))(), buf.getvalue().splitlines()[-1]
        q.qsize(), q.get_nowait().getMessage(), ql.info("more"), q.get_nowait().msg, qh.queue is q
        rl.info("last xxxxxxxxxxxxxxxxxxxxxxxx"), sorted(__import__("os").listdir(".")), open("rot.log").read(), rot.stream.tell()
        fl.error("first"), open("app.log").read(), fh.stream is not None, fh.baseFilename[-7:]
        __import__("warnings").warn("hey"), "hey" in buf.getvalue(), logging._warnings_showwarning is not None
        logging.captureWarnings(False) ;; __import__("warnings").showwarning.__module__
        logging.lastResort, lr.level, tmp.disabled, logging.getLevelName(20), kid.getEffectiveLevel(), kid.isEnabledFor(20), type(ph).__name__
        sl.error("z"), errs, Stop.seen, logging._handlers.get("main-h") is h, tfh.rolloverAt == ROLL, tl.handlers[0] is tfh
        """,
        named="q qh q1",
    ),
    "modules loaded in odd ways": session(
        r"""
        import sys, importlib, importlib.util as iu, runpy, zipfile, zipimport, types, pathlib, pkgutil
        pathlib.Path("modx.py").write_text("import sys\ncount = 0\nitems = []\nclass C:\n    made = 0\n    def __init__(self): C.made += 1; self.mod = sys.modules.get(__name__)\ndef bump():\n    global count\n    count += 1\n    return count\ndef __getattr__(n):\n    if n == 'lazy': items.append(n); return 'L'\n    raise AttributeError(n)\n")
        def load(name, register):
            s = iu.spec_from_file_location(name, "modx.py"); m = iu.module_from_spec(s)
            if register: sys.modules[name] = m
            s.loader.exec_module(m); return m
        m1, m2, m3 = load("m_one", True), load("m_two", False), load("m_two", False); m1.bump(); m2.bump(); m2.bump(); c1, c2 = m1.C(), m2.C(); m3.extra = m2; bump2 = m2.bump; m1.lazy
        with zipfile.ZipFile("lib.zip", "w") as z: z.writestr("zmod.py", "v = [1]\ndef zf(): return v\n"); z.writestr("zpkg/__init__.py", "from . import sub\n"); z.writestr("zpkg/sub.py", "q = {'a': 1}\n")
        sys.path.insert(0, "lib.zip"); import zmod, zpkg; from zpkg.sub import q; zmod.v.append(2); zmod.zf.note = "n"; q["b"] = 2
        res = runpy.run_path("modx.py"); rb = res["bump"]; rb(); pathlib.Path("nsp").mkdir(exist_ok=True); pathlib.Path("nsp/part.py").write_text("val = 1\n"); import nsp.part as part; part.val = 5; nsp_mod = sys.modules["nsp"]
        spec = iu.find_spec("colorsys"); lm = iu.module_from_spec(spec); sys.modules["lazy_cs"] = lm; ll = iu.LazyLoader(spec.loader); spec2 = iu.spec_from_loader("lazy_json_tool", ll);
        import colorsys; sys.modules["alias_cs"] = colorsys; colorsys.ONE_THIRD = 9; old_re = sys.modules.pop("fractions", None); import fractions; frac_new = fractions is old_re; F = fractions.Fraction(1, 3); G = old_re.Fraction(1, 3) if old_re else None
        src = "def made(x):\n    return x + base\nbase = 10\n"; vm = types.ModuleType("vmod", "doc"); exec(compile(src, "vmod.py", "exec"), vm.__dict__); sys.modules["vmod"] = vm; from vmod import made; vm.base = 20

        """,
        r"""
        m1.bump(), m2.bump(), m3.bump(), m1 is sys.modules["m_one"], "m_two" in sys.modules
        type(c1) is m1.C, type(c2) is m2.C, type(c2) is m3.C, c1.mod is m1, m2.C.made, m3.extra is m2, c2.mod
        bump2(), m2.count, bump2.__globals__ is vars(m2), m1.items, m2.lazy, m2.items
        zmod.zf(), zmod.zf() is zmod.v, zmod.zf.note, q is zpkg.sub.q, q, type(zmod.__loader__).__name__
        rb(), res["bump"] is rb, rb.__globals__["count"], rb.__globals__ is res
        colorsys.ONE_THIRD, sys.modules["alias_cs"] is colorsys, lm.__name__, lm is colorsys
        fractions.Fraction is type(F), frac_new, type(G) is type(F), F == G, sys.modules["fractions"] is fractions
        made(1), vm.base, made.__globals__ is vars(vm), vm.__doc__, sys.modules["vmod"] is vm
        old_re is fractions, (old_re.Fraction if old_re else None) is fractions.Fraction
        """,
        named="lm old_re modules",
    ),
    "caches and their order": session(
        """
        import functools, collections, itertools, heapq, bisect
        calls = []
        @functools.lru_cache(maxsize=3)
        def sq(x): calls.append(x); return [x * x]
        for i in (1, 2, 3, 1): sq(i)
        held = sq(1); info = sq.cache_info(); calls.clear()
        @functools.lru_cache(maxsize=None, typed=True)
        def ty(x): calls.append(("ty", x)); return x
        ty(1), ty(1.0); inner = sq.__wrapped__
        class Svc:
            def __init__(self, n): self.n = n
            @functools.lru_cache(maxsize=8)
            def get(self, k): calls.append((self.n, k)); return (self.n, k)
            @functools.cached_property
            def conn(self): calls.append("conn"); return object()
            def __hash__(self): return self.n
            def __eq__(self, o): return isinstance(o, Svc) and o.n == self.n
        s1, s2 = Svc(1), Svc(2); s1.get("a"); s2.get("a"); conn = s1.conn; g1 = s1.get
        class LRU(collections.OrderedDict):
            def __init__(self, cap): super().__init__(); self.cap = cap; self.hits = collections.Counter()
            def __getitem__(self, k): v = super().__getitem__(k); self.move_to_end(k); self.hits[k] += 1; return v
            def __setitem__(self, k, v):
                super().__setitem__(k, v)
                if len(self) > self.cap: self.popitem(last=False)
        lru = LRU(2); lru["a"] = 1; lru["b"] = 2; lru["a"]
        cm = collections.ChainMap({"x": 1}, base := {"x": 0, "y": 2}); child = cm.new_child({"z": 3}); maps = cm.maps; parents = child.parents
        class Default(collections.ChainMap):
            def __missing__(self, k): missed.append(k); return None
        missed = []; df = Default({}, base); dd = collections.defaultdict(itertools.count(5).__next__); dd["a"]; dd2 = collections.defaultdict(lambda: len(dd2)); dd2["q"]; tree = lambda: collections.defaultdict(tree); tr = tree(); tr["a"]["b"]["c"] = 1
        @functools.total_ordering
        class Job:
            seq = itertools.count()
            def __init__(self, p): self.p = p; self.n = next(Job.seq)
            def __lt__(self, o): return (self.p, self.n) < (o.p, o.n)
            def __eq__(self, o): return self is o
        heap = []; [heapq.heappush(heap, Job(p)) for p in (3, 1, 2)]; key = functools.cmp_to_key(lambda a, b: (a > b) - (a < b)); ks = [key(1), key(5)]; merged = heapq.merge([1, 4], [2, 3]); next(merged)
        od = collections.OrderedDict.fromkeys("abc"); od.move_to_end("a"); del od["b"]; od["b"] = 1; dk = {"a": 1, "b": 2}; del dk["a"]; dk["a"] = 3; ul = collections.UserList([1]); us = ul.data; ud = collections.UserDict(a=1); usd = ud.data; ustr = collections.UserString("s")
        P = collections.namedtuple("P", "x y", defaults=[[]]); p = P(1); P.norm = lambda s: s.x; pm = P._make; shared = P(2).y is p.y
        cache_fn = functools.lru_cache(lambda x: calls.append(x)); cache_fn(7); part = functools.partial(sq); part.note = "pn"; pp = functools.partial(part, 2); nested = functools.partial(functools.partial(pow, 2), mod=None) if False else functools.partial(pow, 2)
        """,
        """
        sq(4), calls, sq.cache_info()
        sq(1) is held, calls, sq(2), calls
        ty(1), ty(1.0), calls[-1], ty.cache_info().hits, inner is sq.__wrapped__
        s1.get("a"), s2.get("b"), calls[-1], s1.conn is conn, g1("a"), Svc.get.cache_info().hits
        lru.hits, list(lru), lru.__setitem__("c", 3), list(lru), lru.cap, lru["a"]
        base["y"] = 9 ;; cm["y"], child["y"], cm.maps is maps, parents.maps[0] is cm.maps[0], df["nope"], missed
        child["x"] = 5 ;; cm["x"], parents["x"], child["x"]
        dd["b"], dd["c"], dd2["r"], dd2, tr["a"]["z"]["y"], sorted(tr["a"])
        heapq.heappop(heap).p, Job(1).n, max(heap).p, heap[0] >= heap[-1]
        key(3) > ks[0], sorted(ks + [key(2)])[1].obj, list(merged)
        list(od), od.popitem(last=False), list(dk), ul.append(2), us, ul.data is us, ud.data is usd
        p.norm(), pm([1, 2]), shared, P(3).y is p.y, P._field_defaults["y"] is p.y, p.y.append(1), P(1)
        cache_fn(7), calls[-1], cache_fn.cache_info().hits, part.note, pp(), pp.func is sq, nested(3)
        """,
        named="key ks merged",
    ),
    "a pipeline of a data engineer": session(
        """
        import functools, dataclasses, enum, typing, collections, contextlib, datetime as dt, logging, itertools, time, types, graphlib, abc, inspect, string, operator
        class Status(enum.Enum): NEW = "new"; OK = "ok"; BAD = "bad"; __str__ = lambda s: s.value
        R = typing.TypeVar("R"); Step = typing.Callable[["Ctx"], R]
        @dataclasses.dataclass
        class Ctx:
            params: dict = dataclasses.field(default_factory=lambda: {"day": dt.date(2024, 1, 2)})
            status: Status = Status.NEW
            events: list = dataclasses.field(default_factory=list, repr=False)
            parent: "Ctx | None" = dataclasses.field(default=None, compare=False)
            def child(self): return dataclasses.replace(self, parent=self)
            def __getattr__(self, n):
                try: return self.__dict__["params"][n]
                except KeyError: raise AttributeError(n) from None
        class Registry(collections.UserDict):
            def __call__(self, name=None, *, needs=()):
                def deco(f): f.needs = tuple(needs); f.runs = 0; self[name or f.__name__] = f; return f
                return deco
            def order(self): return list(graphlib.TopologicalSorter({k: v.needs for k, v in self.items()}).static_order())
        task = Registry()
        @task()
        def extract(ctx): extract.runs += 1; ctx.events.append("e"); return list(range(3))
        @task("tr", needs=["extract"])
        def transform(ctx): return [x * ctx.factor for x in results["extract"]]
        @task(needs=["tr"])
        def load(ctx): sink.extend(results["tr"]); return len(sink)
        results, sink = {}, []; ctx = Ctx(); ctx.params["factor"] = 2; sub = ctx.child()
        def run_all(c):
            for n in task.order(): results[n] = task[n](c)
            return results
        run_all(ctx)
        class Meter:
            def __init__(self): self.n = collections.Counter(); self.stack = []
            def __call__(self, f):
                @functools.wraps(f)
                def w(*a, **k):
                    with self.span(f.__name__): return f(*a, **k)
                return w
            @contextlib.contextmanager
            def span(self, name):
                self.stack.append(name); self.n["/".join(self.stack)] += 1
                try: yield self
                finally: self.stack.pop()
        meter = Meter()
        @meter
        def outer(n): return inner(n) + 1
        @meter
        def inner(n): return n * 2
        outer(1); open_span = meter.span("open");
        class Repo(abc.ABC):
            _impl = {}
            def __init_subclass__(cls, scheme=None, **k): super().__init_subclass__(**k); Repo._impl[scheme] = cls
            def __class_getitem__(cls, scheme): return functools.partial(cls._impl[scheme])
            @abc.abstractmethod
            def get(self): ...
        class Mem(Repo, scheme="mem"):
            def __init__(self): self.d = collections.defaultdict(list)
            def get(self): return self.d
        mem = Repo["mem"](); mk = Repo["mem"]; mem.d["a"].append(ctx)
        class Money(typing.NamedTuple):
            amount: int; cur: str = "EUR"
            def __add__(self, o): return self._replace(amount=self.amount + o.amount) if o else self
            __radd__ = __add__
        total = sum([Money(1), Money(2)], Money(0)); pipe = functools.reduce(lambda f, g: lambda x: g(f(x)), [operator.methodcaller("strip"), str.upper, lambda s: s + suffix]); suffix = "!"
        class Version(tuple):
            def __new__(cls, s): return super().__new__(cls, map(int, s.split(".")))
            __slots__ = ()
        vs = sorted(map(Version, ["1.10", "1.2"])); types_ = {t.__name__: t for t in (int, Ctx, Status)}; hist = collections.deque([ctx, sub], maxlen=2); ids = itertools.count(100); new_id = ids.__next__; new_id()
        """,
        """
        run_all(ctx)["load"], extract.runs, task["extract"] is extract, results["tr"], sink is load.__globals__["sink"]
        ctx.params["factor"] = 5 ;; run_all(sub)["tr"], sub.params is ctx.params, sub.events is ctx.events, sub.parent is ctx, ctx.events
        ctx.nope
        task(needs=["load"])(lambda c: "last") and task.order(), list(task)
        outer(2), meter.n, inner.__wrapped__(3), outer.__closure__[1].cell_contents is meter
        Repo["mem"]().get() == {}, mem.d["a"][0] is ctx, mk.func is Mem, Repo._impl, Repo()
        total, sum([Money(5), Money(1)]), pipe(" a "), vs, type(vs[0]) is Version
        suffix = "?" ;; pipe("b"), types_["Ctx"] is Ctx, hist[0] is ctx, new_id(), next(ids)
        str(ctx.status), ctx == sub, dataclasses.astuple(sub)[1] is Status.NEW, ctx.status is Status("new")
        with open_span: outer(0) ;; meter.n["open/outer/inner"]
        """,
    ),
    "async programs at rest": session(
        r"""
        import asyncio, contextvars, contextlib, functools, queue, inspect
        user = contextvars.ContextVar("user", default="nobody"); log = []
        async def produce(q, n):
            for i in range(n): await q.put(i)
        async def consume(q):
            while True:
                x = await q.get(); log.append((user.get(), x)); q.task_done()
        async def main(n):
            q = asyncio.Queue(2); user.set("u"); t = asyncio.create_task(consume(q)); await produce(q, n); await q.join(); t.cancel()
            with contextlib.suppress(asyncio.CancelledError): await t
            return len(log)
        first = asyncio.run(main(2))
        class Pool:
            def __init__(self, n): self.sem = asyncio.Semaphore(n); self.ev = asyncio.Event(); self.cond = asyncio.Condition(); self.lock = asyncio.Lock(); self.free = asyncio.LifoQueue(); self.pri = asyncio.PriorityQueue(); self.bar = asyncio.Barrier(2)
            async def __aenter__(self): await self.sem.acquire(); return self
            async def __aexit__(self, *e): self.sem.release()
            async def go(self):
                async with self: return self.sem._value
            def __aiter__(self): self.i = 0; return self
            async def __anext__(self):
                self.i += 1
                if self.i > 2: raise StopAsyncIteration
                return self.i
        pool = Pool(3); pool.ev.set(); pool.free.put_nowait([1]); pool.pri.put_nowait((2, "b")); pool.pri.put_nowait((1, "a")); asyncio.run(pool.go())
        @contextlib.asynccontextmanager
        async def scope(n): log.append(("in", n)); yield n; log.append(("out", n))
        sc = scope; aes = contextlib.AsyncExitStack(); es_log = []; aes.callback(es_log.append, 1)
        async def acb(x): es_log.append(x)
        aes.push_async_callback(acb, 2)
        def retry(times):
            def deco(f):
                tries = {"n": 0}
                @functools.wraps(f)
                async def w(*a):
                    for i in range(times):
                        tries["n"] += 1
                        try: return await f(*a)
                        except ValueError: await asyncio.sleep(0)
                    return "gave up"
                w.tries = tries; return w
            return deco
        @retry(3)
        async def flaky():
            if flaky.tries["n"] % 3: raise ValueError
            return flaky.tries["n"]
        asyncio.run(flaky()); agen_fn = None
        async def agen(n):
            for i in range(n): yield i
        async def collect(n): return [x async for x in agen(n) if x]
        runner = asyncio.Runner(); ran = runner.run(collect(3)); loop = asyncio.new_event_loop(); asyncio.set_event_loop(loop); loop.set_debug(True); loop.set_exception_handler(lambda l, c: log.append(c["message"])); fut = loop.create_future(); fut.add_done_callback(lambda f: log.append("done")); lock = asyncio.Lock(); loop.run_until_complete(lock.acquire()); cb_only = functools.partial(asyncio.run, debug=False)
        """,
        r"""
        asyncio.run(main(3)), log[-1], user.get(), first
        asyncio.run(pool.go()), pool.sem._value, pool.ev.is_set(), pool.lock.locked()
        pool.free.get_nowait(), pool.pri.get_nowait(), pool.pri.qsize(), pool.bar.parties
        async def it(): return [x async for x in pool] ;; asyncio.run(it())
        async def use():\n  async with sc(5) as n: return n ;; 1
        asyncio.run(flaky()), flaky.tries, flaky.__name__, inspect.iscoroutinefunction(flaky)
        asyncio.run(aes.aclose()), es_log
        cb_only(collect(4)), ran
        lock.locked()
        runner.run(collect(2))
        loop.get_debug(), fut.done()
        asyncio.get_event_loop() is loop
        """,
        named="runner loop fut",
    ),
    "parsers of command lines and settings": session(
        r"""
        import argparse, configparser, optparse, shlex, io, string, sys
        class Ext(argparse.Action):
            used = []
            def __call__(self, p, ns, v, opt=None): Ext.used.append(v); getattr(ns, self.dest).append(v)
        p = argparse.ArgumentParser("tool", exit_on_error=False); sub = p.add_subparsers(dest="cmd"); run = sub.add_parser("run", aliases=["r"]); g = p.add_mutually_exclusive_group(); g.add_argument("--a", action="store_true"); act = g.add_argument("--b", type=lambda s: int(s) * factor, default=3); factor = 2; run.add_argument("x", nargs="+", action=Ext, default=[]); run.set_defaults(func=lambda ns: sum(map(len, ns.x)))
        ns = p.parse_args(["--b", "4"]); ns.extra = ns; p.register("type", "hex", lambda s: int(s, 16)); p.add_argument("--h2", type="hex"); conf_ns = argparse.Namespace(parser=p)
        cp = configparser.ConfigParser(interpolation=configparser.ExtendedInterpolation(), converters={"list": lambda s: s.split(sep)}, allow_no_value=True, default_section="all"); sep = ","; cp.optionxform = str; cp.read_string("[all]\nroot = /r\n[A]\nPath = ${root}/x\nitems = 1,2\nflag\n[B]\nref = ${A:Path}!"); sec = cp["A"]; held = {"sec": sec}; cp["B"]["new"] = "v"; secB = cp["B"]
        op = optparse.OptionParser(); op.add_option("-v", action="callback", callback=lambda o, s, v, pr: pr.values.__dict__.setdefault("vs", []).append(1)); lex = shlex.shlex("a 'b c' # x\nd;e", posix=True, punctuation_chars=True); first = lex.get_token(); lex.whitespace += ","
        class Tpl(string.Template): delimiter = "%"; idpattern = "[a-z.]+"
        class Fmt(string.Formatter):
            def __init__(self): self.asked = []
            def get_value(self, key, a, kw): self.asked.append(key); return kw.get(key, "?") if isinstance(key, str) else a[key]
            def convert_field(self, v, c): return str(v).upper() if c == "u" else super().convert_field(v, c)
        tpl = Tpl("%a.b and %{c}"); fm = Fmt(); fm.format("{x}"); fmt = fm.format; sys.argv[1:] = ["run", "q"]
        """,
        r"""
        p.parse_args(["run", "ab", "c"]).func(p.parse_args(["r", "abc"])), Ext.used
        factor = 10 ;; p.parse_args(["--b", "4"]).b, ns.b, ns.extra is ns, p.parse_args(["--h2", "ff"]).h2
        p.parse_args(["--a", "--b", "1"])
        act.container is g, act in p._actions, sub.choices["run"] is run is sub.choices["r"], conf_ns.parser is p, p._option_string_actions["--b"] is act
        run.add_argument("--new", type=int) and p.parse_args(["run", "z", "--new", "3"]).new
        sec is cp["A"], held["sec"] is sec, sec["Path"], cp["B"]["ref"], sec.parser is cp, secB["new"]
        sep = "2" ;; sec.getlist("items"), cp.getlist("A", "items"), sec["flag"], cp.default_section
        sec["more"] = "m" ;; cp.get("A", "more"), list(cp["A"]), cp.has_option("B", "ref")
        cp["all"]["root"] = "/z" ;; sec["Path"], secB["ref"]
        op.parse_args(["-v", "-v"])[0].vs, first, list(lex), lex.lineno
        tpl.substitute({"a.b": 1, "c": 2}), Tpl.pattern.pattern[:12], fmt("{x!u} {0}", "z", x="y"), fm.asked, fmt.__self__ is fm
        p.format_usage(), p.parse_args().cmd
        """,
    ),
}
