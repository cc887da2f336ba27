"""Programs that change the machinery: import hooks, namespaces, patches, settings, tracing, code objects, exceptions."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "modules made by hand, import hooks and packages in memory": session(
        """
        import sys, types, importlib, importlib.abc, importlib.util, importlib.machinery
        SOURCES = {"cfg": "rate = 2\\nhooks = []\\ndef pay(n): return n * rate\\nclass Rule:\\n    made = 0\\n    def __init__(self): type(self).made += 1", "pkg": "from . import sub\\nname = __name__", "pkg.sub": "import cfg\\ndef twice(n): return cfg.pay(n) * 2\\nstate = {'n': 0}"}
        class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
            loads = []
            def find_spec(self, name, path=None, target=None):
                if name in SOURCES: return importlib.util.spec_from_loader(name, self, is_package=name == "pkg")
            def create_module(self, spec): return None
            def exec_module(self, m): Finder.loads.append(m.__name__); exec(compile(SOURCES[m.__name__], f"<{m.__name__}>", "exec"), m.__dict__)
        finder = Finder(); sys.meta_path.insert(0, finder)
        import cfg, pkg
        from pkg.sub import twice
        tools = types.ModuleType("tools", "made by hand"); tools.items = []; exec("def add(x): items.append(x); return items\\nlimit = 3", tools.__dict__); sys.modules["tools"] = tools
        from tools import add
        loose = types.ModuleType("loose"); loose.owner = tools; loose.__dict__["fn"] = lambda: loose.owner
        class Lazy(types.ModuleType):
            def __getattr__(self, k):
                if k.startswith("_"): raise AttributeError(k)
                self.__dict__[k] = k.upper(); return self.__dict__[k]
        lazy = Lazy("lazy"); lazy.abc; sys.modules["lazy"] = lazy
        # %%
        cfg.rate = 10; cfg.hooks.append(add); rule = cfg.Rule(); cfg.Rule.made += 5; pkg.sub.state["n"] = 1; add("a"); state = pkg.sub.state; cfg.extra = {"rule": rule}
        SOURCES["later"] = "value = 7"
        """,
        """
        cfg.pay(3), twice(3), cfg.rate, sys.modules["cfg"] is cfg
        cfg.rate = 1 ;; twice(3), twice.__globals__ is pkg.sub.__dict__, twice.__module__
        cfg.hooks[0] is add, add("b"), tools.items, tools.items is add.__globals__["items"]
        cfg.Rule(); ;; cfg.Rule.made, rule.made, type(rule) is cfg.Rule, cfg.extra["rule"] is rule
        state is pkg.sub.state, state, sys.modules["pkg.sub"] is pkg.sub, pkg.name
        sys.meta_path[0] is finder, Finder.loads
        import later ;; later.value, Finder.loads[-1]
        import tools as t2 ;; t2 is tools, tools.__doc__, tools.limit
        loose.fn() is tools, loose.__name__, "loose" in sys.modules, loose.fn.__globals__ is globals()
        lazy.abc, lazy.xyz, sorted(k for k in vars(lazy) if not k.startswith("_")), type(lazy).__name__, sys.modules["lazy"] is lazy
        importlib.reload(cfg) ;; cfg.rate, cfg.pay(3), cfg.extra["rule"] is rule, isinstance(rule, cfg.Rule), Finder.loads[-1]
        """,
    ),
    "exec and eval in one's own namespaces": session(
        """
        ns = {"__name__": "rules", "log": []}; exec("def check(x):\\n    log.append(x)\\n    return x > LIMIT\\nLIMIT = 5\\nclass R:\\n    lim = LIMIT\\n    def go(self): return check(self.lim)", ns)
        class Scope(dict):
            def __init__(self, *a, **k): super().__init__(*a, **k); self.asked = []
            def __missing__(self, k): self.asked.append(k); return f"<{k}>"
        sc = Scope(y=2); res = eval("x + q0 * y", {"__builtins__": {}}, sc); loc = {}; exec("z = 1\\ndef inner(): return 'inner'", ns, loc)
        formulas = {"a": "b + c", "b": "2 * c", "c": "3"}; compiled = {k: compile(v, f"<{k}>", "eval") for k, v in formulas.items()}
        class Sheet:
            def __init__(self, cells): self.cells, self.depth = cells, 0
            def __getitem__(self, k): self.depth += 1; return eval(self.cells[k], {"__builtins__": {}}, self)
            keys = None
        sheet = Sheet(compiled); rows = []; safe = {"__builtins__": {"len": len, "print": rows.append}}; exec("def f(x): print(len(x)); return f", safe)
        def plug(src, **env): env["__name__"] = "plug"; exec(src, env); return env["main"]
        main1 = plug("def main(n=1):\\n    global count\\n    count += n\\n    return count, helper()\\ndef helper(): return count * 2", count=10); main2 = plug("main = lambda: shared", shared=ns["log"])
        exec("made_here = [1]\\ndef maker(): return made_here", globals()); check = ns["check"]; r = ns["R"](); f = safe["f"]
        g = eval("lambda q: q + k", {"k": 4}); glob = g.__globals__
        """,
        """
        check(7), ns["log"], r.go(), type(r).__module__, check.__module__
        ns["LIMIT"] = 100 ;; check(7), check.__globals__ is ns, r.go.__func__.__globals__ is ns
        res, eval("q", {}, sc), sc.asked, dict(sc)
        loc["inner"]() , loc["z"], loc["inner"].__globals__ is ns
        sheet["a"], sheet.depth, compiled["a"].co_names
        f("abc") is f, rows, f.__builtins__ is safe["__builtins__"], f.__globals__ is safe
        open_ok = eval("len('ab')", safe) ;; open_ok, "open" in f.__builtins__
        main1(), main1(5), main1.__globals__["helper"](), main1.__globals__["main"] is main1
        main2() is ns["log"], main2()
        maker() is made_here, made_here.append(2), maker()
        glob["k"] = 40 ;; g(1), g.__globals__ is glob
        exec("def check2(x): return check(x), LIMIT", ns) ;; ns["check2"](101), len(ns["log"])
        """,
    ),
    "libraries and built-ins patched": session(
        """
        import builtins, math, json, collections, textwrap, random, statistics, os.path, datetime, string
        import pandas as pd, numpy as np
        real_print = builtins.print; seen = []
        def loud(*a, **k): seen.append(a)
        builtins.shout = lambda s: s.upper() + "!"; real_round = builtins.round; builtins.round = lambda x, n=0: real_round(float(x) + 1e-12, n)
        real_sqrt = math.sqrt; math.sqrt = lambda x: real_sqrt(abs(x)); math.golden = 1.618
        json.JSONEncoder.default = lambda self, o: f"<{type(o).__name__}>"; old_wrap = textwrap.wrap
        pd.DataFrame.total = lambda self: self.to_numpy().sum(); pd.Series.double = property(lambda self: self * 2); old_head = pd.DataFrame.head; pd.DataFrame.head = lambda self, n=2: old_head(self, n)
        @pd.api.extensions.register_dataframe_accessor("geo")
        class Geo:
            made = 0
            def __init__(self, df): Geo.made += 1; self.df = df
            def center(self): return float(self.df.mean().mean())
        np.mymean = lambda a: a.mean(); collections.Counter.top = lambda self: self.most_common(1)[0][0]; collections.UserDict.first = property(lambda self: next(iter(self)))
        statistics.mean.__doc__ = "patched doc"; statistics.mean.calls = 3; random.Random.die = lambda self: 4
        class FixedDate(datetime.date):
            @classmethod
            def today(cls): return cls(2020, 1, 1)
        datetime.date = FixedDate; string.Template.delimiter = "%"; os.path.sep2 = "|"
        # %%
        df = pd.DataFrame({"a": [1, 2, 3, 4], "b": [5, 6, 7, 8]}); geo = df.geo; geo.note = "n"; c = collections.Counter("abca"); t = string.Template("$x"); day = datetime.date.today()
        def use(x): return math.sqrt(x), shout("a"), round(2.5)
        """,
        """
        use(-4), math.golden, round(0.5), builtins.round(2.675, 2)
        json.dumps({"a": {1}, "b": df})
        df.total(), df.a.double.tolist(), len(df.head()), len(df.head(3))
        df.geo is geo, geo.center(), Geo.made, geo.note, df[["a"]].geo.center(), Geo.made
        np.mymean(np.arange(3)), c.top(), collections.UserDict(z=1).first, random.Random().die()
        statistics.mean.__doc__, statistics.mean.calls, statistics.mean([1, 2])
        datetime.date.today(), day, type(day) is FixedDate, isinstance(datetime.datetime(2020, 1, 1), datetime.date), datetime.date is FixedDate
        t.substitute(x=1), string.Template("%y").substitute(y=2), os.path.sep2
        builtins.round = real_round; math.sqrt = real_sqrt ;; round(0.5), round is builtins.round, use(4)
        math.sqrt(-1)
        pd.DataFrame.head = old_head ;; len(df.head(3)), old_head.__name__
        del builtins.shout ;; use(1)
        """,
    ),
    "settings of the interpreter: limits, hooks, flags, path, display": session(
        """
        import sys, gc, warnings, logging, locale, faulthandler, signal, os, time, threading, linecache, socket, tempfile
        sys.setrecursionlimit(3456); sys.setswitchinterval(0.02); gc.set_threshold(500, 5, 5); gc.disable(); faulthandler.enable()
        excs = []
        def on_error(t, e, tb): excs.append(t.__name__)
        sys.excepthook = on_error; sys.unraisablehook = lambda u: excs.append(("unraisable", type(u.exc_value).__name__)); threading.excepthook = lambda a: excs.append(("thread", a.exc_type.__name__))
        sys.path.append("/data/my libs"); sys.dont_write_bytecode = True; sys.tracebacklimit = 3; sys.argv[:] = ["prog", "--x"]; sys.ps1 = "my> "; sys.my_flag = {"a": 1}
        warnings.filterwarnings("error", message="strict.*"); warnings.simplefilter("ignore", DeprecationWarning); old_show = warnings.showwarning; shown = []; warnings.showwarning = lambda m, c, *a, **k: shown.append(str(m)); warnings.formatwarning = lambda *a, **k: "fw"
        handled = []
        def on_usr(num, frame): handled.append(num)
        signal.signal(signal.SIGUSR1, on_usr); signal.signal(signal.SIGUSR2, signal.SIG_IGN); old_term = signal.getsignal(signal.SIGTERM)
        os.environ["MY_MODE"] = "test"; os.environ["TZ"] = "Asia/Tokyo"; time.tzset(); os.environ.pop("HOSTNAME", None); socket.setdefaulttimeout(12.5); tempfile.tempdir = os.getcwd()
        log = logging.getLogger("app.db"); log.setLevel(15); logging.addLevelName(15, "CHATTY"); records = []
        class Keep(logging.Handler):
            def emit(self, r): records.append(self.format(r))
        h = Keep(); h.setFormatter(logging.Formatter("%(levelname)s|%(name)s|%(message)s")); log.addHandler(h); log.propagate = False; logging.disable(5); logging.raiseExceptions = False
        class Ctx(logging.LoggerAdapter):
            def process(self, m, k): return f"[{self.extra['id']}] {m}", k
        ad = Ctx(log, {"id": 7}); logging.setLoggerClass(type("MyLogger", (logging.Logger,), {"shout": lambda self, m: self.error(m.upper())})); sub = logging.getLogger("app.db.sub"); old_factory = logging.getLogRecordFactory()
        logging.setLogRecordFactory(lambda *a, **k: (r := old_factory(*a, **k), setattr(r, "extra_id", 9))[0])
        """,
        """
        sys.getrecursionlimit(), sys.getswitchinterval(), gc.get_threshold(), gc.isenabled(), faulthandler.is_enabled()
        sys.excepthook is on_error, sys.excepthook(ValueError, ValueError(), None), excs[-1]
        threading.Thread(target=lambda: 1 / 0).start(); [t.join() for t in threading.enumerate() if t.name.startswith("Thread-") and "lambda" in t.name] ;; ("thread", "ZeroDivisionError") in excs
        "/data/my libs" in sys.path, sys.dont_write_bytecode, sys.tracebacklimit, sys.argv, sys.ps1, sys.my_flag
        warnings.warn("strict thing")
        warnings.warn("plain thing"); warnings.warn("old", DeprecationWarning) ;; shown, warnings.formatwarning()
        signal.raise_signal(signal.SIGUSR1) ;; handled == [signal.SIGUSR1], signal.getsignal(signal.SIGUSR1) is on_usr, signal.getsignal(signal.SIGUSR2)
        os.environ["MY_MODE"], time.tzname[0], time.strftime("%H", time.localtime(0)), "HOSTNAME" in os.environ, socket.getdefaulttimeout(), tempfile.gettempdir() == os.getcwd()
        log.log(15, "hello"); ad.warning("w"); sub.shout("loud") ;; records, sub.level, type(sub).__name__
        logging.getLevelName(15), logging.root.manager.disable, logging.raiseExceptions, h in log.handlers, log.propagate, logging.getLogger("app.db") is log
        log.makeRecord("n", 20, "f", 1, "m", (), None).levelname, logging.getLogRecordFactory()("n", 20, "f", 1, "m", (), None).extra_id
        logging.getLogger("brand.new").shout.__name__, type(logging.getLogger("another")).__name__
        """,
    ),
    "exceptions kept with tracebacks, causes, notes and groups": session(
        """
        import traceback, sys, contextlib, linecache, io
        class AppError(Exception):
            codes = {}
            def __init__(self, code, *, detail=None): super().__init__(code); self.code, self.detail = code, detail; AppError.codes.setdefault(code, []).append(self)
            def __str__(self): return f"E{self.code}: {self.detail}"
        class Two(AppError, ValueError):
            def __init__(self, a, b): AppError.__init__(self, a, detail=b)
        def deep(n, payload):
            local = [n]
            if n == 0: raise KeyError("bottom")
            return deep(n - 1, payload)
        def wrap():
            try: deep(2, {"k": 1})
            except KeyError as e:
                e.add_note("while wrapping")
                raise AppError(7, detail=[1]) from e
        kept = []
        for f in (wrap, lambda: 1 / 0, lambda: int("x"), lambda: open("/nope"), lambda: {}["q"], lambda: b"\\xff".decode(), lambda: undefined_name, lambda: None.attr, lambda: __import__("not_there")):
            try: f()
            except Exception as e: kept.append(e)
        err = kept[0]; tb = err.__traceback__; te = traceback.TracebackException.from_exception(err, capture_locals=True); summary = traceback.extract_tb(tb); text = "".join(traceback.format_exception(err))
        try: raise ExceptionGroup("many", [ValueError(1), ExceptionGroup("in", [TypeError("t"), Two(1, 2)])])
        except ExceptionGroup as eg: group = eg
        match, rest = group.split(ValueError); two = group.exceptions[1].exceptions[1]
        try:
            try: raise RuntimeError("first")
            finally: raise OSError(28, "disk full", "file.txt")
        except OSError as e: os_err = e
        class Unit(Exception): pass
        silent = Unit("quiet"); silent.__cause__ = two; silent.__suppress_context__ = False; stop = StopIteration(5); ex = SystemExit(3)
        """,
        """
        str(err), err.code, err.detail, type(err.__cause__).__name__, err.__cause__.__notes__, err.__suppress_context__
        [(type(e).__name__, str(e)) for e in kept[1:]]
        err.detail.append(2) ;; AppError.codes[7][0] is err, str(AppError.codes[7][0]), sorted(AppError.codes)
        "".join(traceback.format_exception(err)) == text, text.count("deep"), text.splitlines()[-1]
        [f.name for f in traceback.extract_tb(err.__cause__.__traceback__)], [f.lineno for f in summary], err.__traceback__ is tb
        [k for f, l in traceback.walk_tb(err.__cause__.__traceback__) if f.f_code.co_name == "deep" for k in f.f_locals["local"]]
        te.exc_type_str if hasattr(te, "exc_type_str") else te.exc_type.__name__, te.__cause__.stack[-1].locals["local"], "".join(te.format_exception_only())
        group.subgroup(TypeError).exceptions[0].exceptions[0].args, match.exceptions[0] is group.exceptions[0], rest.message, len(rest.exceptions)
        two.code, two.detail, AppError.codes[1][0] is two, isinstance(two, ValueError), silent.__cause__ is two
        os_err.errno, os_err.filename, os_err.strerror, type(os_err.__context__).__name__, os_err.args
        kept[6].name, kept[7].name, kept[7].obj, kept[8].name, kept[5].start, kept[5].object, kept[3].filename
        raise_again = None; err.with_traceback(None); kept[1].with_traceback(tb) ;; err.__traceback__, kept[1].__traceback__ is tb, stop.value, ex.code
        """,
        known="""
        [k for f, l in traceback.walk_tb(err.__cause__.__traceback__) if f.f_code.co_name == "deep" for k in f.f_locals["local"]]
        """,
    ),
    "syntax trees, code objects and functions that are rewritten": session(
        """
        import ast, dis, types, inspect, symtable, tokenize, io, textwrap
        tree = ast.parse("def area(r, pi=3):\\n    'doc'\\n    return pi * r ** 2 + bias\\nx = area(2)")
        class Swap(ast.NodeTransformer):
            def __init__(self): self.seen = []
            def visit_Constant(self, n):
                self.seen.append(n.value)
                return ast.copy_location(ast.Constant(n.value + 1), n) if isinstance(n.value, int) else n
        sw = Swap(); new = sw.visit(tree); ast.fix_missing_locations(new); new.body[0].tag = {"k": tree}; env = {"bias": 0}; exec(compile(new, "<swapped>", "exec"), env); area = env["area"]
        code = compile("a + b if a else c", "<expr>", "eval"); fcode = (lambda q, *r, s=1, **t: (q, r, s, t)).__code__
        def base(a, b=2, *, c=3) -> int:
            "base"
            return a + b + c + OFFSET
        OFFSET = 100; moved = types.FunctionType(base.__code__, {"OFFSET": 5, "__builtins__": __builtins__}, "moved", (20,), None); moved.__kwdefaults__ = {"c": 30}
        swapped = base.__code__.replace(co_name="other", co_consts=tuple(base.__code__.co_consts)); sig = inspect.signature(base); bound = sig.bind(1, c=9); newsig = sig.replace(parameters=[p.replace(default=7) if p.name == "b" else p for p in sig.parameters.values()]); base.__signature__ = newsig
        class Env(ast.NodeVisitor):
            def __init__(self, **v): self.vars = v
            def visit_BinOp(self, n): return {ast.Add: lambda a, b: a + b, ast.Mult: lambda a, b: a * b}[type(n.op)](self.visit(n.left), self.visit(n.right))
            def visit_Name(self, n): return self.vars[n.id]
            def visit_Constant(self, n): return n.value
            def visit_Expression(self, n): return self.visit(n.body)
        interp = Env(x=3); expr = ast.parse("x * 2 + y", mode="eval"); names = [n for n in ast.walk(expr) if isinstance(n, ast.Name)]; first = names[0]
        st = symtable.symtable("def f(a):\\n    global g\\n    return a", "s", "exec"); toks = list(tokenize.generate_tokens(io.StringIO("a = 1").readline)); instr = list(dis.get_instructions(base))
        def patched(): return "old"
        def donor(): return "new"
        ref = patched; patched.__code__ = donor.__code__; patched.__doc__ = "d"; patched.__annotations__["return"] = "x"; patched.__module__ = "elsewhere"
        """,
        """
        area(1), env["x"], sw.seen, area.__doc__, area.__globals__ is env
        env["bias"] = 1000 ;; area(1), ast.unparse(new), new is tree, new.body[0].tag["k"] is tree
        eval(code, {"a": 1, "b": 2}), code.co_filename, code.co_names, fcode.co_varnames
        types.FunctionType(fcode, globals(), None, None)(1, 2, s=3, u=4)
        moved(1), base(1), moved.__name__, moved.__code__ is base.__code__, moved.__globals__["OFFSET"]
        OFFSET = 0 ;; base(1), moved(1), types.FunctionType(swapped, globals())(1, 2, c=3), swapped == base.__code__
        str(inspect.signature(base)), sig is newsig, str(sig), bound.arguments, base.__signature__ is newsig
        bound.apply_defaults() ;; base(*bound.args, **bound.kwargs), bound.signature is sig
        interp.visit(expr)
        interp.vars["y"] = 1; first.id = "y" ;; interp.visit(expr), ast.unparse(expr), names[0] is expr.body.left.left
        st.get_children()[0].get_name(), st.get_children()[0].lookup("a").is_parameter(), toks[0].string, instr[-1].opname
        ref(), ref is patched, patched.__module__, patched.__annotations__, patched.__doc__, patched.__name__
        inspect.getsource(base).splitlines()[0]
        ast.dump(first), (lambda n: (n.lineno, n.col_offset, n.end_col_offset))(first), [type(n).__name__ for n in ast.walk(expr)][:3]
        """,
        named="st",
    ),
    "typing objects, generics of several kinds and type hints in use": session(
        """
        import typing, types, dataclasses, collections.abc as cabc, enum
        from typing import *
        T = TypeVar("T"); N = TypeVar("N", int, float); P = ParamSpec("P"); Ts = TypeVarTuple("Ts"); UserId = NewType("UserId", int); Json = Union[dict[str, "Json"], list["Json"], str, int, None]; Pos = Annotated[int, "positive", {"min": 0}]; Mode = Literal["r", "w"]; Fn = Callable[[int, str], bool]; CB = Callable[P, T]
        class Movie(TypedDict, total=False):
            title: Required[str]
            year: int
        Fund = TypedDict("Fund", {"in": int, "b-c": str}); Emp = NamedTuple("Emp", [("name", str), ("id", int)])
        class Boss(NamedTuple):
            name: str
            team: list = []
            def size(self): return len(self.team)
        class Box(Generic[T]):
            item: T
            kinds: ClassVar[list[type]] = []
            def __init__(self, x: T): self.x = x
            def __init_subclass__(cls, **k): Box.kinds.append(cls)
        class IntBox(Box[int]): pass
        class Arr(Generic[T, *Ts]): pass
        @overload
        def over(x: int) -> int: ...
        @overload
        def over(x: str) -> str: ...
        def over(x): return x
        @final
        class Last: pass
        def typed(a: "Box[Emp]", b: Pos = 1, *c: Unpack[Ts]) -> Json: return None
        @dataclass_transform()
        def model(cls): return dataclasses.dataclass(cls)
        @model
        class Row:
            a: int = 1
            b: "list[Row]" = dataclasses.field(default_factory=list)
        class Comparable(Protocol):
            def __lt__(self, o: Any) -> bool: ...
        # %%
        alias = Box[Emp]; b = alias(Emp("a", 1)); boss = Boss("z"); movie: Movie = {"title": "x"}; hints = get_type_hints(typed, include_extras=True); table = {int | str: "union", list[int]: "list", Mode: "mode", Optional[int]: "opt", Fn: "fn"}; arr = Arr[int, str, float]; rec = Row(); rec.b.append(rec); uid = UserId(5); nested = dict[str, list[tuple[int, ...]]]
        """,
        """
        IntBox.__parameters__ == Box.__parameters__, "__parameters__" in vars(IntBox)
        b.__orig_class__ is alias, get_args(alias)[0] is Emp, alias == Box[Emp], alias(3).x, type(b) is Box
        hints["a"] == Box[Emp], get_args(hints["b"]), hints["b"].__metadata__[1] is get_args(Pos)[2], typed.__annotations__["b"] is Pos
        get_args(Pos)[2]["min"] = 1 ;; Pos.__metadata__, typed.__annotations__["b"].__metadata__[1]
        table[Union[int, str]] if Union[int, str] in table else "differs", table[list[int]], table[Literal["r", "w"]], table[Optional[int]], table[Callable[[int, str], bool]]
        Movie.__required_keys__, Movie.__optional_keys__, Movie(title="t"), Fund.__annotations__, Movie.__total__, is_typeddict(Fund)
        boss.size(), Boss("q").team is boss.team, Emp("a", 1) == b.x, type(b.x) is Emp, Emp.__annotations__, boss._asdict()
        Box.kinds == [IntBox], Box.__parameters__[0] is T, IntBox.__orig_bases__[0] == Box[int], get_origin(arr) is Arr, get_args(arr), N.__constraints__
        uid + 1, UserId.__supertype__ is int, UserId.__name__, UserId("x"), repr(UserId)
        [get_type_hints(o)["x"] for o in get_overloads(over)], Last.__final__, CB.__parameters__ == (P, T), P.__name__, repr(Ts)
        rec.b[0] is rec, get_type_hints(Row)["b"] == list[Row], dataclasses.replace(rec, a=2).b is rec.b, model.__dataclass_transform__["eq_default"]
        repr(nested), Json.__args__[0], get_args(Json)[1].__args__[0], Comparable.__abstractmethods__ == frozenset(), Comparable._is_protocol
        class StrBox(Box[str]): pass ;; [k.__name__ for k in Box.kinds], __annotations__["movie"] is Movie
        """,
    ),
    "calendars, locales, templates, gettext, formatters and parsers of arguments": session(
        """
        import calendar, locale, string, gettext, argparse, configparser, re, csv, cmd, shlex, textwrap, difflib, pprint, reprlib, optparse, gettext, mimetypes, unicodedata, codecs, io, html.parser, datetime, zoneinfo
        calendar.setfirstweekday(calendar.SUNDAY); locale.setlocale(locale.LC_ALL, "C.UTF-8"); cal = calendar.TextCalendar(2); it = calendar.Calendar().itermonthdates(2024, 2); next(it)
        class Fmt(string.Formatter):
            def __init__(self): self.used = []
            def get_value(self, k, a, kw): self.used.append(k); return kw.get(k, f"?{k}") if isinstance(k, str) else a[k]
            def format_field(self, v, spec): return str(v).upper() if spec == "U" else super().format_field(v, spec)
        class Tmpl(string.Template): delimiter = "@"; idpattern = "[a-z]+"
        fmt, tm = Fmt(), Tmpl("@a costs @@@b")
        class Act(argparse.Action):
            def __call__(self, p, ns, v, opt=None): setattr(ns, self.dest, getattr(ns, self.dest, None) or []); getattr(ns, self.dest).append((opt, v))
        ap = argparse.ArgumentParser("prog", exit_on_error=False); ap.add_argument("--x", action=Act, dest="xs"); grp = ap.add_mutually_exclusive_group(); q = grp.add_argument("-q", action="store_true"); grp.add_argument("-v", action="count", default=0); sub = ap.add_subparsers(dest="cmd"); p1 = sub.add_parser("run"); p1.add_argument("n", type=lambda s: int(s) * 2); p1.set_defaults(fn=lambda ns: ns.n + 1); parsed = ap.parse_args(["--x", "1", "-vv", "run", "4"])
        cp = configparser.ConfigParser(interpolation=configparser.ExtendedInterpolation(), converters={"list": lambda s: s.split(",")}); cp.optionxform = str; cp.read_string("[DEFAULT]\\nroot=/a\\n[Main]\\nPath=${root}/b\\nItems=1,2\\n"); sec = cp["Main"]
        pat = re.compile(r"(?P<k>\\w+)=(?P<v>\\d+)"); m = pat.search("a=1 b=22"); fi = pat.finditer("a=1 b=2 c=3"); next(fi); sc = pat.scanner("x=1 y=2") if hasattr(pat, "scanner") else None; sc.search()
        class Semi(csv.Dialect): delimiter = ";"; quotechar = "'"; lineterminator = "\\n"; quoting = csv.QUOTE_MINIMAL; doublequote = True
        csv.register_dialect("semi", Semi); csv.field_size_limit(99999); buf = io.StringIO(); w = csv.writer(buf, "semi"); w.writerow([1, "a;b"]); dw = csv.DictWriter(buf, ["p", "q"], dialect="semi", restval="-"); rd = csv.reader(["a;b", "c;d"], "semi"); next(rd); drd = csv.DictReader(iter(["h,i", "1,2", "3,4"])); next(drd)
        lex = shlex.shlex("a 'b c' d # e", posix=True); lex.get_token(); mimetypes.add_type("text/x-mine", ".mine"); codecs.register_error("dots", lambda e: ("." * (e.end - e.start), e.end)); codecs.register(lambda n: codecs.CodecInfo(lambda s, errors="strict": (s[::-1].encode(), len(s)), lambda b, errors="strict": (bytes(b).decode()[::-1], len(b)), name="rev") if n == "rev" else None)
        class Count(html.parser.HTMLParser):
            def __init__(self): super().__init__(); self.tags = []
            def handle_starttag(self, t, a): self.tags.append((t, dict(a)))
        hp = Count(); hp.feed("<p><a hre"); dec = codecs.getincrementaldecoder("utf-8")(); part = dec.decode(b"\\xe2\\x82"); sm = difflib.SequenceMatcher(None, "abcd", "abxd"); rep = reprlib.Repr(); rep.maxlist = 2; tz = zoneinfo.ZoneInfo("Europe/Berlin"); tz2 = zoneinfo.ZoneInfo.no_cache("Europe/Berlin"); key = {tz: "berlin"}; wrap = textwrap.TextWrapper(width=10, initial_indent="> ")
        """,
        """
        calendar.month(2024, 2).splitlines()[1], calendar.firstweekday(), cal.formatweek(cal.monthdays2calendar(2024, 2)[0], 2), next(it), locale.setlocale(locale.LC_ALL)
        fmt.format("{0} {x} {y:U}", 1, y="b"), fmt.used, tm.substitute(a="tea", b=3), tm.pattern.flags == Tmpl.pattern.flags, tm.get_identifiers()
        parsed.xs, parsed.v, parsed.fn(parsed), ap.parse_args(["-q", "run", "3"]).n, sub.choices["run"] is p1, q.dest
        ap.parse_args(["-q", "-v", "run", "3"])
        p1.add_argument("--more", default="m"); parsed2 = ap.parse_args(["--x", "2", "run", "1"], parsed) ;; parsed.xs, parsed2 is parsed, parsed.more
        sec["Path"], sec.getlist("Items"), cp.getlist("Main", "Items"), list(sec), cp.optionxform is str
        cp["DEFAULT"]["root"] = "/z"; sec["New"] = "1" ;; cp["Main"]["Path"], cp.getint("Main", "New"), sec.parser is cp
        m.group("v"), m.re is pat, m.span("k"), [x["k"] for x in fi], m.string, pat.scanner("a=1").search().group()
        w.writerow(["x", "y;z"]); dw.writerow({"q": 2}) ;; buf.getvalue(), next(rd), next(drd), drd.line_num, csv.field_size_limit(), csv.get_dialect("semi").quotechar
        list(lex), mimetypes.guess_type("a.mine"), "aé".encode("ascii", "dots"), "abc".encode("rev"), b"xyz".decode("rev")
        hp.feed("f='u'>t</a>") ;; hp.tags, hp.getpos(), dec.decode(b"\\xac"), sm.ratio(), rep.repr([1, 2, 3]), sm.get_opcodes()[1]
        key[zoneinfo.ZoneInfo("Europe/Berlin")], tz is zoneinfo.ZoneInfo("Europe/Berlin"), tz2 is tz, tz2.key, wrap.fill("aaa bbb ccc"), next(sc.search() for _ in [0]).group() if sc else None
        """,
        named="drd fi it rd sc",
        known="""
        list(lex), mimetypes.guess_type("a.mine"), "aé".encode("ascii", "dots"), "abc".encode("rev"), b"xyz".decode("rev")
        """,
    ),
    "tracing, profiling, audit by hand and monitoring of functions": session(
        """
        import sys, cProfile, pstats, timeit, trace, tracemalloc, time, collections, functools, threading, atexit
        hits = collections.Counter(); calls = []
        def tracer(frame, event, arg):
            if frame.f_code.co_name == "work": hits[event] += 1
            return tracer
        def work(n):
            total = 0
            for i in range(n): total += i
            return total
        sys.setprofile(None)
        def watched(n):
            old = sys.gettrace(); sys.settrace(tracer)
            try: return work(n)
            finally: sys.settrace(old)
        watched(3); prof = cProfile.Profile(); prof.enable(); work(10); prof.disable(); stats = pstats.Stats(prof); keys = sorted(k[2] for k in stats.stats)
        tr = trace.Trace(count=1, trace=0); tr.runfunc(work, 2); res = tr.results(); timer = timeit.Timer("work(3)", globals=globals()); n = timer.timeit(2) >= 0
        class Timer:
            runs = []
            def __init__(self, name): self.name = name; self.inner = []
            def __enter__(self): Timer.runs.append(self); return self
            def __exit__(self, *e): self.inner.append(e[0] and e[0].__name__); return e[0] is KeyError
            def __call__(self, f):
                @functools.wraps(f)
                def w(*a):
                    with self: return f(*a)
                w.timer = self
                return w
        @Timer("deco")
        def risky(k): return {"a": 1}[k]
        risky("a"); risky("zz"); open_timer = Timer("open"); open_timer.__enter__()
        goodbye = []
        def bye(): goodbye.append("bye")
        atexit.register(bye); lock = threading.Lock(); lock.acquire(); rl = threading.RLock(); rl.acquire(); sem = threading.BoundedSemaphore(2); sem.acquire(); ev = threading.Event(); ev.set(); cond = threading.Condition(rl); bar = threading.Barrier(2, action=bye)
        """,
        """
        watched(2), hits["line"], hits["return"], sys.gettrace()
        keys, "work" in keys, sorted(k[2] for k in pstats.Stats(prof).stats) == keys
        sum(res.counts.values()), sorted(k[1] for k in res.counts)[:2] == sorted(k[1] for k in tr.results().counts)[:2]
        timer.timeit(2) >= 0, n
        risky("b"), [t.name for t in Timer.runs], risky.timer.inner, risky.timer is Timer.runs[0], risky.__wrapped__.__name__
        open_timer.__exit__(KeyError, None, None), open_timer.inner, Timer.runs[-1] is risky.timer
        lock.locked(), lock.acquire(blocking=False), sem.acquire(blocking=False), sem.acquire(blocking=False), ev.is_set()
        lock.release() ;; lock.locked(), rl._is_owned(), cond._lock is rl, bar.parties, bar._action is bye
        rl.release() ;; rl._is_owned()
        rl.release()
        atexit.unregister(bye), goodbye
        """,
        named="cond lock prof rl",
    ),
}
