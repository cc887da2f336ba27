"""What programs change of Python itself: import, logging, warnings, signals, and what libraries share."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "a config tree and plugin loader": session(
        """
        import sys, types, importlib, pathlib, textwrap
        pathlib.Path("plug_one.py").write_text(textwrap.dedent('''
            from collections import defaultdict
            hooks = defaultdict(list)
            VERSION = (1, 0)
            _calls = 0
            def on(event):
                def deco(fn): hooks[event].append(fn); return fn
                return deco
            def fire(event, *a):
                global _calls
                _calls += 1
                return [h(*a) for h in hooks[event]]
            def __getattr__(name):
                if name.startswith("lazy_"): return name[5:].upper()
                raise AttributeError(name)
            def __dir__(): return ["fire", "on"]
            class Thing:
                total = 0
                def __init__(self): type(self).total += 1
        '''))
        sys.path.insert(0, "."); import plug_one
        @plug_one.on("start")
        def started(x): return ("cell", x)
        plug_one.fire("start", 1); t = plug_one.Thing(); before = plug_one.Thing; fire = plug_one.fire
        # %%
        pathlib.Path("plug_one.py").write_text(pathlib.Path("plug_one.py").read_text().replace("(1, 0)", "(2, 0)"))
        import os; os.utime("plug_one.py", (1_900_000_000, 1_900_000_000))
        again = importlib.reload(plug_one); t2 = plug_one.Thing()
        plug_one.Thing.extra = lambda self: self.total
        sys.modules["shim"] = plug_one; import shim
        """,
        """
        plug_one.VERSION, again is plug_one, shim is plug_one, sys.modules["shim"] is plug_one
        plug_one.fire("start", 2), plug_one._calls
        before is plug_one.Thing, isinstance(t, plug_one.Thing), isinstance(t2, plug_one.Thing), before.total, plug_one.Thing.total
        t2.extra(), hasattr(t, "extra")
        plug_one.lazy_abc, dir(plug_one)
        fire is plug_one.fire, fire("start", 3)
        sys.path[0], plug_one.__file__
        plug_one.nothing
        """,
    ),
    "import hooks": session(
        """
        import sys, types, importlib, importlib.abc, importlib.machinery, importlib.util
        SOURCES = {"virt": "x = 1\\ndef f(): return x + 1\\n", "virt_b": "import virt\\ny = virt.f()\\n"}
        class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
            loaded = []
            def find_spec(self, name, path, target=None):
                if name in SOURCES: return importlib.machinery.ModuleSpec(name, self)
            def create_module(self, spec): return None
            def exec_module(self, module):
                Finder.loaded.append(module.__name__)
                exec(SOURCES[module.__name__], module.__dict__)
        finder = Finder(); sys.meta_path.insert(0, finder)
        import virt, virt_b
        virt.x = 10; f = virt.f
        SOURCES["virt_c"] = "z = 3\\n"
        ns = types.SimpleNamespace(mod=virt)
        """,
        """
        virt.x, virt.f(), virt_b.y
        Finder.loaded
        import virt_c ;; virt_c.z, Finder.loaded
        finder in sys.meta_path, sys.meta_path[0] is finder
        f is virt.f, ns.mod is virt, virt_b.virt is virt
        virt.__spec__.name, virt.__loader__ is finder
        sys.modules["virt"] is virt
        """,
    ),
    "modules made by hand": session(
        """
        import sys, types
        class Mod(types.ModuleType):
            def __getattr__(self, name): return f"computed {name}"
            @property
            def answer(self): return self.base * 2
        settings = Mod("app_settings", "docs of it"); settings.base = 21; settings.nested = {"me": settings}
        sys.modules["app_settings"] = settings
        pkg = types.ModuleType("pkgx"); pkg.__path__ = []; sub = types.ModuleType("pkgx.sub"); pkg.sub = sub; sub.v = [1]; sys.modules["pkgx"] = pkg; sys.modules["pkgx.sub"] = sub
        import pkgx.sub as ps
        from pkgx.sub import v
        exec("def g(): return v\\nclass K:\\n    def go(self): return g() is v", sub.__dict__)
        k = sub.K(); loose = types.ModuleType("loose"); loose.items = v; loose.fn = lambda: loose
        sys.modules["blocked"] = None
        """,
        """
        settings.answer, settings.base, settings.whatever, type(settings) is Mod, settings.__doc__
        settings.nested["me"] is settings, sys.modules["app_settings"] is settings
        ps is sub, v is sub.v, k.go(), type(k) is sub.K, type(k).__module__
        loose.items is v, loose.fn() is loose, "loose" in sys.modules
        import pkgx.sub ;; pkgx is pkg, pkgx.sub.v
        import blocked ;; 1
        settings.base = 1 ;; settings.answer
        from app_settings import base, other ;; base, other
        """,
    ),
    "a workspace package that cells edit": session(
        """
        import pathlib, sys, importlib, textwrap
        p = pathlib.Path("shop"); p.mkdir(exist_ok=True); (p / "__init__.py").write_text("from .core import Item, TAX\\nfrom . import util\\n__all__ = ['Item']\\nREG = {}\\n"); (p / "util.py").write_text(textwrap.dedent('''
            import functools, contextvars, logging, enum, threading
            log = logging.getLogger(__name__)
            level = contextvars.ContextVar("level", default=1)
            cache = {}
            lock = threading.Lock()
            class Kind(enum.Enum): A = 1; B = 2
            @functools.lru_cache(None)
            def slow(x): cache[x] = cache.get(x, 0) + 1; return [x]
            def counter():
                n = 0
                def step():
                    nonlocal n; n += 1; return n
                return step
            step = counter()
            sentinel = object()
            _state = type("State", (), {"n": 0})()
        ''')); (p / "core.py").write_text(textwrap.dedent('''
            from dataclasses import dataclass, field
            from .util import Kind, sentinel, _state
            TAX = 0.2
            @dataclass
            class Item:
                name: str
                price: float = 1.0
                kind: Kind = Kind.A
                tags: list = field(default_factory=list)
                made = 0
                def __post_init__(self): Item.made += 1
                def gross(self): return self.price * (1 + TAX)
                @classmethod
                def none(cls): return sentinel
            def default(x=sentinel, acc=[]): acc.append(1); return x is sentinel, len(acc)
        '''))
        sys.path.insert(0, ""); import shop, shop.core as core; from shop import Item, util; from shop.util import step, Kind, sentinel, _state
        it = Item("a", kind=Kind.B); step(); step(); util.slow(3); core.default(); core.TAX = 0.5; shop.REG["a"] = it; util.level.set(7); _state.n = 4; _state.extra = it; util.log.setLevel("DEBUG"); Item.gross.note = "n"; util.extra = {"it": it}; Item.vip = property(lambda self: self.name.upper()); shop.helper = lambda x: (x, shop.TAX); old = util.slow; util.Kind.A.label = "first"; sub = type("Sub", (Item,), {"more": 1}); su = sub("s")
        """,
        """
        it.gross(), core.TAX, shop.TAX, Item.made, Item("b").made
        step(), step is util.step, old is util.slow
        core.default(), Item.none() is sentinel, sentinel is util.sentinel, core.sentinel is sentinel
        shop.REG["a"] is it, util.extra["it"] is it, it.kind is Kind.B, util.Kind is Kind, Kind.A.label
        util.level.get(), _state.n, _state.extra is it, core._state is _state, util._state is _state
        util.log.level, Item.gross.note, it.vip, shop.helper(1), su.vip, su.more, isinstance(su, core.Item)
        importlib.reload(core) is core, core.TAX, core.Item is Item, shop.Item is Item
        util.lock.locked(), type(it) is shop.Item
        """,
    ),
    "logging of an application": session(
        """
        import logging, logging.config, logging.handlers, io
        stream = io.StringIO()
        class Redact(logging.Filter):
            hits = 0
            def filter(self, rec):
                if "secret" in rec.getMessage(): Redact.hits += 1; return False
                rec.user = "u"; return True
        class ListHandler(logging.Handler):
            def __init__(self): super().__init__(); self.records = []
            def emit(self, rec): self.records.append(self.format(rec))
        class AppLogger(logging.Logger):
            def trace(self, msg, *a): self.log(5, msg, *a)
        logging.addLevelName(5, "TRACE"); logging.setLoggerClass(AppLogger)
        log = logging.getLogger("app"); log.setLevel(5); lh = ListHandler(); lh.setFormatter(logging.Formatter("{levelname}:{name}:{user}:{message}", style="{")); lh.addFilter(Redact()); log.addHandler(lh); log.propagate = False
        child = log.getChild("db"); child.disabled = False; adapter = logging.LoggerAdapter(child, {"req": 7}); log.trace("t"); child.info("one %s", 1)
        sh = logging.StreamHandler(stream); mh = logging.handlers.MemoryHandler(10, target=sh); q = logging.getLogger("q"); q.addHandler(mh); q.warning("buffered"); q.propagate = False
        logging.config.dictConfig({"version": 1, "incremental": False, "disable_existing_loggers": False, "formatters": {"f": {"format": "%(message)s!"}}, "handlers": {"h": {"class": "logging.StreamHandler", "formatter": "f", "stream": stream, "level": "ERROR"}}, "loggers": {"conf": {"handlers": ["h"], "level": "DEBUG", "propagate": False}}})
        conf = logging.getLogger("conf"); rec = log.makeRecord("n", 20, "f.py", 3, "m %d", (4,), None); old = logging.getLogRecordFactory()
        def factory(*a, **k): r = old(*a, **k); r.tag = "T"; return r
        logging.setLogRecordFactory(factory); logging.setLoggerClass(logging.Logger); logging.raiseExceptions = False; log.addFilter(lambda r: not r.getMessage().startswith("drop"))
        """,
        """
        log.trace("x") ;; lh.records
        child.info("secret") ;; len(lh.records), Redact.hits
        child.warning("w"), log.info("drop it") ;; lh.records[-1], len(lh.records)
        type(child).__name__, type(log) is AppLogger, logging.getLogger("app.db") is child, child.parent is log, logging.getLogger("new").__class__.__name__
        logging.getLevelName(5), logging.getLevelName("TRACE")
        adapter.process("m", {}), adapter.logger is child
        mh.flush() ;; stream.getvalue()
        conf.error("boom"), conf.info("no") ;; stream.getvalue()
        rec.getMessage(), logging.getLogRecordFactory() is factory, log.makeRecord("n", 20, "f", 1, "m", (), None).tag, logging.raiseExceptions
        log.handlers[0] is lh, log.filters[0].__name__, log.isEnabledFor(5)
        """,
    ),
    "warnings, asserts and hooks": session(
        """
        import warnings, sys, atexit, faulthandler, gc, builtins
        class MyWarning(UserWarning): pass
        warnings.simplefilter("error", MyWarning); warnings.filterwarnings("ignore", "noisy.*", DeprecationWarning, module="x"); caught = []
        warnings.showwarning = lambda m, c, f, l, file=None, line=None: caught.append((str(m), c.__name__))
        def w(): warnings.warn("heads up", UserWarning, stacklevel=1)
        w(); w()
        def once(): warnings.warn("one", RuntimeWarning)
        warnings.filterwarnings("once", category=RuntimeWarning); once(); once()
        builtins.shout = lambda s: s.upper() + suffix; suffix = "!"
        old_print = print
        def print(*a, **k): printed.append(a); return old_print(*a, **k)
        printed = []; print("z")
        sys.setrecursionlimit(1777); sys.ps1 = "?> "; sys.setswitchinterval(0.01); sys.dont_write_bytecode = True; sys.set_int_max_str_digits(5000)
        __annotations__["typed"] = int; typed: int = 3; other: "list[int]" = []
        __doc__ = "my session"; __version__ = "1.2"; __all__ = ["w"]; _private = 5; __dunder__ = 6
        def __getattr__(name): return "from main"
        int_ = int; list = lambda *a: "shadow"; del int_
        """,
        """
        warnings.warn("x", MyWarning)
        w() ;; caught
        once() ;; caught
        warnings.filters[0][0], [f[0] for f in warnings.filters if f[2] is MyWarning]
        shout("a"), builtins.shout is shout
        suffix = "?" ;; shout("b")
        print("q", end="") ;; printed[-1:], old_print is builtins.print
        sys.getrecursionlimit(), sys.ps1, round(sys.getswitchinterval(), 4), sys.dont_write_bytecode, sys.get_int_max_str_digits()
        __annotations__, __doc__, __version__, __all__, _private, __dunder__
        list((1,)), __import__("__main__").nothing
        int_
        """,
    ),
    "signals, hooks and what the interpreter calls": session(
        """
        import sys, signal, atexit, threading, gc, builtins, warnings, types, inspect
        def on_usr(n, f): got.append(n)
        got = []; signal.signal(signal.SIGUSR1, on_usr); sys.excepthook = lambda t, v, tb: got.append(t.__name__); sys.unraisablehook = lambda u: got.append("unraisable"); threading.excepthook = lambda a: got.append(a.exc_type.__name__)
        old_import = builtins.__import__
        def imp(name, *a, **k): imports.append(name) if name.startswith("my_") else None; return old_import(name, *a, **k)
        imports = []; builtins.__import__ = imp; old_open = open
        def open(*a, **k): opened.append(a[0]); return old_open(*a, **k)
        opened = []; open("f.txt", "w").close(); builtins.len_plus = lambda x: len(x) + PLUS; PLUS = 1; sys.my_setting = {"a": got}; types.my_mark = 5; inspect.cleandoc_old = inspect.cleandoc; inspect.cleandoc = lambda s: "C" + inspect.cleandoc_old(s)
        class Finalized:
            def __init__(self, n): self.n = n
            def __del__(self): got.append(("del", self.n))
        fin = Finalized(1) ; warnings.warn_explicit_old = warnings.warn_explicit; builtins.extra_builtin = 7
        class Audit: pass
        """,
        """
        signal.raise_signal(signal.SIGUSR1) ;; got, signal.getsignal(signal.SIGUSR1) is on_usr
        sys.excepthook(ValueError, None, None) ;; got[-1]
        th = threading.Thread(target=lambda: 1/0); th.start(); th.join() ;; got[-1]
        import json as my_json; __import__("my_nothing")
        imports
        open("f.txt").close() ;; opened
        PLUS = 5 ;; len_plus([1]), builtins.len_plus([1, 2]), extra_builtin
        sys.my_setting["a"] is got, types.my_mark, inspect.cleandoc(" x")
        del fin ;; got[-1]
        """,
    ),
    "plug-in points in libraries": session(
        """
        import json, copy, copyreg, functools, pprint, reprlib, textwrap, decimal, fractions, html.parser, pathlib, collections, shelve, dbm.dumb
        class Enc(json.JSONEncoder):
            def default(self, o): encs.append(type(o).__name__); return sorted(o) if isinstance(o, set) else super().default(o)
        encs = []; dumps = functools.partial(json.dumps, cls=Enc, sort_keys=True); json.JSONEncoder.item_separator = " , "
        class PP(pprint.PrettyPrinter):
            def format(self, o, c, m, l): return (f"<{o}>", True, False) if isinstance(o, int) else super().format(o, c, m, l)
        pp = PP(width=30); rp = reprlib.Repr(); rp.maxlist = 2; reprlib.aRepr.maxstring = 12
        class Links(html.parser.HTMLParser):
            def __init__(self): super().__init__(); self.found = []
            def handle_starttag(self, tag, attrs): self.found.append((tag, dict(attrs)))
        hp = Links(); hp.feed("<a href='x'><b"); wr = textwrap.TextWrapper(width=10, initial_indent="* "); textwrap.TextWrapper.extra = 3
        dc = decimal.Context(prec=3); decimal.getcontext().prec = 11; decimal.getcontext().flags[decimal.Inexact] = False; d1 = decimal.Decimal("1") / 3; bc = decimal.BasicContext; nan = decimal.Decimal("NaN"); fr = fractions.Fraction(22, 7)
        class Fr(fractions.Fraction):
            def __new__(cls, *a): o = super().__new__(cls, *a); o.src = a; return o
        f2 = Fr("3/4"); pathlib.Path.size = property(lambda self: len(str(self))); collections.Counter.top = lambda self: self.most_common(1)[0][0]
        decimal.DefaultContext.prec = 5; copyreg.pickle(complex, lambda c: (complex, (c.real, c.imag + 0))); sh = shelve.open("db"); sh["k"] = [1]; sh.close(); old_dumps = json.dumps
        json.dumps = lambda *a, **k: "D" + old_dumps(*a, **k)
        json.loads.__defaults__; json.decoder.FLAGS; json.scanner.mine = {"a": encs}
        """,
        """
        dumps({"b": {2, 1}, "a": 1}), encs
        pp.pformat([1, 2]), rp.repr([1, 2, 3]), reprlib.repr("x" * 30)
        hp.feed(">") ;; hp.found, hp.rawdata
        wr.fill("aaa bbb ccc ddd"), wr.extra, decimal.Decimal(1) / 3, dc.divide(decimal.Decimal(1), 3), decimal.getcontext().flags[decimal.Inexact]
        decimal.Context().prec, nan.is_nan(), fr.limit_denominator(3), f2.src, f2 + 1, type(f2 + 1).__name__
        pathlib.Path("ab/c").size, collections.Counter("aab").top(), json.JSONEncoder.item_separator
        json.dumps([1]), old_dumps([1, 2]), json.scanner.mine["a"] is encs
        with __import__("shelve").open("db") as s: got = s["k"] ;; got
        copyreg.dispatch_table[complex](1j)[1]
        """,
    ),
    "warnings, decimals and prints in the middle of a with": session(
        """
        import warnings, decimal, contextlib, io, sys, tempfile, os, locale, random, threading
        cw = warnings.catch_warnings(record=True); log = cw.__enter__(); warnings.simplefilter("always"); warnings.warn("first")
        lc = decimal.localcontext(); dctx = lc.__enter__(); dctx.prec = 5
        out = io.StringIO(); rd = contextlib.redirect_stdout(out); plain = 5
        class Indent:
            level = 0
            def __enter__(self): type(self).level += 1; return self
            def __exit__(self, *a): type(self).level -= 1
            def print(self, x): lines.append("  " * self.level + x)
        lines = []; ind = Indent(); ind.__enter__(); ind.__enter__()
        stack = contextlib.ExitStack(); stack.enter_context(ind); f = stack.enter_context(open("a.txt", "w+")); f.write("hello"); stack.push(lambda *e: lines.append("exit")); stack.callback(lines.append, "cb")
        @contextlib.contextmanager
        def nested(n):
            if n:
                with nested(n - 1) as inner: yield [n, *inner]
            else: yield []
        nst = nested(3); guard = contextlib.suppress(KeyError, ValueError); sem = threading.BoundedSemaphore(1); sem.acquire()
        """,
        """
        warnings.warn("second") ;; [str(w.message) for w in log]
        decimal.Decimal(1) / 3, decimal.getcontext().prec, dctx is decimal.getcontext()
        ind.print("x") ;; lines, Indent.level
        f.write(" you") ;; f.seek(0) or f.read(), f.closed
        with nst as got: pass ;; got
        with guard: raise ValueError ;; plain
        with rd: print("to out") ;; out.getvalue()
        stack.close() ;; lines, f.closed, Indent.level
        sem.release() ;; sem.release()
        """,
        named="lc",
    ),
}
