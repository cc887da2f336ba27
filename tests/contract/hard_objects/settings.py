"""Settings of libraries and of the interpreter that cells change."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "logging": session(
        """
        import logging, io
        class Redact(logging.Filter):
            def filter(self, record): record.msg = str(record.msg).replace("KEY", "***"); return True
        out = io.StringIO()
        log = logging.getLogger("app"); log.setLevel(10); log.propagate = False
        handler = logging.StreamHandler(out); handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
        log.addHandler(handler); log.addFilter(Redact())
        logging.getLogger().addFilter(lambda r: "root" not in r.getMessage())
        handler.addFilter(lambda r: "skip" not in r.getMessage())
        logging.addLevelName(25, "NOTICE")
        logging.getLogger("off").disabled = True
        old = logging.getLogRecordFactory()
        def factory(*a, **k): r = old(*a, **k); r.extra = "x"; return r
        logging.setLogRecordFactory(factory)
        adapter = logging.LoggerAdapter(log, {"who": "me"})
        child = logging.getLogger("app.child")
        """,
        """
        log.info("the KEY") ;; out.getvalue()
        log.info("skip this") ;; out.getvalue()
        len(log.filters), len(logging.getLogger().filters)
        logging.getLevelName(25)
        logging.getLogger("off").disabled
        adapter.extra, adapter.logger is log
        log.makeRecord("n", 10, "f", 1, "m", (), None).extra
        child.warning("from KEY child") ;; out.getvalue()
        log.handlers[0] is handler
        """,
    ),
    "the interpreter": session(
        """
        import os, sys, socket, calendar, mimetypes, locale, gc, signal, threading, time, warnings, csv
        os.umask(0o077)
        calendar.setfirstweekday(6)
        socket.setdefaulttimeout(3.5)
        mimetypes.add_type("text/x-mine", ".mine")
        gc.set_threshold(500, 5, 5)
        sys.setswitchinterval(0.01)
        sys.path.remove(next(p for p in sys.path if p.endswith("lib-dynload")))
        csv.field_size_limit(1_000)
        sys.set_int_max_str_digits(10_000)
        def on_alarm(*a): fired.append(1)
        fired = []
        signal.signal(signal.SIGUSR1, on_alarm)
        warnings.simplefilter("error", ResourceWarning)
        locale.setlocale(locale.LC_ALL, "C.UTF-8")
        """,
        """
        open("made.txt", "w").close() ;; oct(os.stat("made.txt").st_mode & 0o777)
        calendar.firstweekday()
        calendar.TextCalendar().formatweekheader(2), calendar.weekheader(2)
        socket.getdefaulttimeout()
        mimetypes.guess_type("a.mine")
        gc.get_threshold()
        round(sys.getswitchinterval(), 3)
        any(p.endswith("lib-dynload") for p in sys.path)
        csv.field_size_limit()
        sys.get_int_max_str_digits()
        os.kill(os.getpid(), signal.SIGUSR1); time.sleep(0.05) ;; fired
        locale.setlocale(locale.LC_CTYPE)
        """,
    ),
    "numpy, pandas, matplotlib": session(
        """
        import numpy as np, pandas as pd, matplotlib.pyplot as plt, matplotlib as mpl
        np.seterr(all="raise"); np.seterrcall(lambda *a: None); np.set_printoptions(precision=2, suppress=True, formatter={"int": lambda x: f"<{x}>"})
        pd.set_option("display.max_columns", 3); pd.options.mode.use_inf_as_na if False else None
        pd.set_option("display.float_format", lambda v: f"{v:.1f}!")
        mpl.rcParams["axes.prop_cycle"] = mpl.cycler(color=["k", "r"]); plt.rcParams["figure.figsize"] = (3, 2)
        plt.rc("lines", linewidth=7)
        np.random.seed(5); np.random.rand()
        rng = np.random.default_rng(3); rng.random()
        bits = rng.bit_generator
        """,
        """
        np.geterr()["over"], np.geterrcall() is not None
        str(np.array([1, 2])), str(np.array([1.23456]))
        pd.get_option("display.max_columns")
        str(pd.Series([1.25])).splitlines()[0]
        plt.rcParams["lines.linewidth"], plt.rcParams["figure.figsize"]
        plt.rcParams["axes.prop_cycle"].by_key()["color"]
        np.random.rand() ;; np.random.randint(1000)
        rng.random(), rng.bit_generator is bits
        """,
    ),
    "other libraries' settings": session(
        """
        import polars as pl, decimal, sklearn, seaborn as sns, random
        pl.Config.set_tbl_rows(3); pl.Config.set_fmt_str_lengths(9)
        decimal.getcontext().prec = 6; decimal.getcontext().rounding = decimal.ROUND_UP
        decimal.DefaultContext.prec = 11
        sklearn.set_config(transform_output="pandas", assume_finite=True)
        sns.set_theme(style="whitegrid", palette="deep")
        random.seed(4); random.random()
        r2 = random.Random(9); r2.random()
        """,
        """
        pl.Config.state()["POLARS_FMT_MAX_ROWS"]
        decimal.Decimal(1) / 3
        decimal.DefaultContext.prec
        sklearn.get_config()["transform_output"], sklearn.get_config()["assume_finite"]
        __import__("matplotlib").rcParams["axes.grid"]
        random.random()
        r2.random()
        sns.color_palette()[0]
        """,
    ),
    "the environment": session(
        """
        import os, time, sys, tempfile
        os.environ["A"] = "1"; os.environ.pop("LANG", None); os.environ["TZ"] = "America/New_York"; time.tzset()
        os.environ["PATH"] = "/x:" + os.environ["PATH"]
        sys.argv[:] = ["prog", "--x"]
        tempfile.tempdir = os.path.abspath("scratch"); os.makedirs("scratch", exist_ok=True)
        sys.ps1 = "> "
        os.makedirs("deep/er", exist_ok=True)
        sys.setrecursionlimit(4321)
        path = os.environ
        """,
        """
        os.environ["A"], os.environ.get("LANG")
        time.strftime("%Z", time.localtime(1_700_000_000))
        os.environ["PATH"].startswith("/x:")
        sys.argv
        os.path.relpath(tempfile.gettempdir())
        sys.getrecursionlimit()
        path is os.environ
        """,
    ),
    "the last result": session(
        """
        x = 5
        x * 2
        """,
        """
        _
        _ + 1
        """,
    ),
    "the last result, a frame": session(
        """
        import pandas as pd
        df = pd.DataFrame({"a": [1, 2]})
        df
        """,
        """
        _ is df
        _.a.sum()
        df.loc[0, "a"] = 9 ;; _.a.sum()
        """,
    ),
    "finalizers and weak callbacks": session(
        """
        import weakref, contextvars, contextlib
        class O: pass
        o = O(); log = []
        fin = weakref.finalize(o, log.append, "gone")
        var = contextvars.ContextVar("var", default=0); var.set(7)
        stack = contextlib.ExitStack(); stack.callback(log.append, "closed")
        method = weakref.WeakMethod(stack.close)
        """,
        """
        fin.alive
        var.get()
        stack.close() ;; log
        """,
        named="fin var stack method",
    ),
    "filters by a partial, and warnings that a cell takes": session(
        """
        import functools, io, logging, signal, warnings
        out, seen = io.StringIO(), []
        def redact(key, record): record.msg = str(record.msg).replace(key, "***"); return True
        log = logging.getLogger("app"); log.propagate = False; log.addHandler(logging.StreamHandler(out))
        log.addFilter(functools.partial(redact, "KEY"))
        def take(message, *more, **named): seen.append(str(message))
        warnings.showwarning = take
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        """,
        """
        log.error("the KEY") ;; out.getvalue()
        warnings.simplefilter("always"); warnings.warn("heard") ;; seen
        signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGPIPE)
        """,
    ),
    "warnings in the log": session(
        """
        import io, logging, warnings
        out = io.StringIO()
        logging.captureWarnings(True)
        log = logging.getLogger("py.warnings"); log.addHandler(logging.StreamHandler(out)); log.propagate = False
        """,
        """
        warnings.simplefilter("always"); warnings.warn("heard") ;; "heard" in out.getvalue()
        """,
    ),
    "codecs, dialects that are gone, contexts of decimals, offsets that are shared, no bytecode": session(
        """
        import codecs, contextvars, csv, decimal, sys, os, pathlib, datetime as dt, dateutil.tz as dtz
        from decimal import Decimal as D
        def flip(text, errors="strict"): return text[::-1].encode(errors=errors), len(text)
        def unflip(data, errors="strict"): return bytes(data).decode(errors=errors)[::-1], len(data)
        def look(name): return codecs.CodecInfo(flip, unflip, name="flip") if name == "flip" else None
        codecs.register(look); csv.unregister_dialect("excel-tab"); codecs.register(gone := lambda name: None); codecs.unregister(gone)
        # %%
        desk = contextvars.ContextVar("desk"); desk.set("rates"); decimal.getcontext().prec = 12; cur = decimal.getcontext(); snap = contextvars.copy_context()
        with decimal.localcontext() as inner:
            inner.prec = 4; four = contextvars.copy_context()
        empty = contextvars.Context(); fixed = dtz.tzoffset("X", 3600); same = dtz.tzoffset("X", 3600); when = dt.datetime(2024, 1, 1, tzinfo=fixed); own = dtz.tzoffset.instance("X", 3600)
        labelled = dtz.tzoffset("Y", 7200); labelled.label = "desk"
        class Office(dtz.tzoffset):
            def __init__(self, name, hours): self.hours = hours
            def utcoffset(self, when): return dt.timedelta(hours=self.hours)
        office = Office.__new__(Office); office.hours = 2; csv.unregister_dialect("unix"); csv.register_dialect("unix", delimiter=";")
        pathlib.Path("house_codecs.py").write_text("import codecs\\ndef look(name): return codecs.lookup('utf-8') if name == 'house' else None\\ncodecs.register(look)\\n")
        sys.dont_write_bytecode = True; os.makedirs("kit"); sys.path.insert(0, os.getcwd()); pathlib.Path("kit/__init__.py").write_text("rates = {}"); import kit, house_codecs
        """,
        """
        "abc".encode("house"), codecs.unregister(house_codecs.look), "abc".encode("flip"), b"xyz".decode("flip"), codecs.lookup("flip").name
        codecs.unregister(look) ;; "abc".encode("flip")
        sorted(csv.list_dialects()), csv.get_dialect("unix").delimiter
        codecs.encode("abc", "house2")
        labelled.label, office.hours, office.utcoffset(None)
        snap.run(lambda: D(1) / D(3)), four.run(lambda: D(1) / D(3)), D(1) / D(3), empty.run(lambda: D(1) / D(3)), len(snap), snap[desk]
        snap.run(decimal.getcontext) is cur, four.run(decimal.getcontext) is inner, four.run(decimal.getcontext).prec
        cur.prec = 5 ;; snap.run(lambda: D(1) / D(3)), D(1) / D(3)
        fixed is dtz.tzoffset("X", 3600), fixed is same, when.tzinfo is fixed, own is fixed, own == fixed
        sys.dont_write_bytecode, os.listdir("kit"), kit.rates
        """,
    ),
    "options that a cell has registered": session(
        """
        import pandas as pd
        from pandas._config.config import describe_option, is_int, is_one_of_factory, register_option
        seen = []
        register_option("house.currency", "EUR", doc="of the house", validator=is_one_of_factory(["EUR", "USD"]))
        register_option("house.rows", 5, validator=is_int, cb=lambda name: seen.append(name))
        pd.set_option("house.currency", "USD"); pd.set_option("display.precision", 3)
        """,
        """
        pd.get_option("house.currency"), pd.get_option("house.rows"), pd.get_option("display.precision"), seen
        pd.set_option("house.currency", "GBP")
        pd.set_option("house.rows", 7) ;; seen, pd.get_option("house.rows"), pd.options.house.rows
        pd.reset_option("house.currency") ;; pd.get_option("house.currency")
        "of the house" in describe_option("house.currency", _print_desc=False)
        """,
    ),
}
