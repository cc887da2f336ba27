"""Programs that register with, derive from and configure what Python and libraries have: kinds, hooks, formats."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "registers of Python's library, filled with functions of others": session(
        """
        import copyreg, json, decimal, fractions, functools, numbers, collections.abc as cabc, codecs, mimetypes, locale, logging, logging.config, warnings, abc, shutil, csv, string, types, operator, datetime, pathlib, uuid, re, ast, struct, threading, urllib.parse, urllib.request, http.client, email.policy, configparser, pprint, reprlib, typing, weakref, html.entities, gettext, calendar, random, statistics, zipfile, xml.etree.ElementTree as ET, contextlib, socketserver, unittest, argparse
        copyreg.pickle(type(re.match("a", "a")), lambda m: (re.match, (m.re, m.string))); codecs.register_error("mine", codecs.lookup_error("xmlcharrefreplace")); shutil.register_archive_format("zip2", shutil._make_zipfile if hasattr(shutil, "_make_zipfile") else shutil.make_archive, description="again"); shutil.register_unpack_format("zz", [".zz"], shutil._unpack_zipfile)
        class MyInt: pass
        numbers.Integral.register(MyInt); cabc.Mapping.register(MyInt)
        logging.addLevelName(33, "NOTE"); logging.getLogger("a.b").setLevel("NOTE"); logging.getLogger("a.b").addFilter(lambda r: "secret" not in r.getMessage()); logging.captureWarnings(True); logging.config.dictConfig({"version": 1, "disable_existing_loggers": False, "formatters": {"f": {"format": "%(levelname)s:%(message)s"}}, "handlers": {"file": {"class": "logging.FileHandler", "filename": "cfg.log", "formatter": "f"}}, "loggers": {"cfg": {"handlers": ["file"], "level": "INFO", "propagate": False}}})
        csv.register_dialect("pipes", delimiter="|", quoting=csv.QUOTE_ALL); mimetypes.add_type("a/b", ".abx"); mimetypes.encodings_map[".zzz"] = "zzz"; urllib.parse.uses_relative.append("app"); http.client._MAXHEADERS = 200; reprlib.aRepr.maxlist = 2; pprint.PrettyPrinter._dispatch[MyInt.__repr__] = lambda self, o, stream, *a: stream.write("MYINT"); calendar.January2 = 1; re.template2 = re.compile; ET.register_namespace("mine", "http://mine"); string.digits2 = "01"; html.entities.name2codepoint["mine"] = 33; json.encoder.c_make_encoder = None; ast.PyCF_MINE = 1; random.mine = random.Random(4); uuid.NAMESPACE_MINE = uuid.UUID(int=5); typing.Mine = typing.List[int]; datetime.UTC2 = datetime.timezone.utc; threading.stack_size2 = threading.stack_size; unittest.TestCase.maxDiff = 5; socketserver.TCPServer.allow_reuse_address = True; argparse.HelpFormatter.mine = "x"; contextlib.quiet = contextlib.nullcontext(3); decimal.getcontext().Emax = 500; decimal.setcontext(decimal.Context(prec=9)); decimal.DefaultContext.prec = 11; warnings.simplefilter("error", BytesWarning); opener = urllib.request.build_opener(); opener.addheaders = [("X", "y")]; urllib.request.install_opener(opener)
        """,
        """
        copyreg.dispatch_table[re.Match].__name__, "é".encode("ascii", "mine"), "zip2" in dict(shutil.get_archive_formats()), "zz" in [n for n, *_ in shutil.get_unpack_formats()]
        isinstance(MyInt(), numbers.Integral), issubclass(MyInt, cabc.Mapping)
        logging.getLevelName(33), logging.getLogger("a.b").level, logging.getLogger("a.b").filter(logging.makeLogRecord({"msg": "secret"})), bool(logging.getLogger("a.b").filter(logging.makeLogRecord({"msg": "ok"})))
        logging.getLogger("cfg").info("hi"); logging.getLogger("cfg").debug("no") ;; open("cfg.log").read(), logging.getLogger("cfg").propagate, logging._warnings_showwarning is not None
        csv.get_dialect("pipes").delimiter, mimetypes.guess_type("x.abx"), mimetypes.encodings_map[".zzz"], urllib.parse.uses_relative[-1], http.client._MAXHEADERS
        reprlib.repr([1, 2, 3]), calendar.January2, re.template2 is re.compile, string.digits2, html.entities.name2codepoint["mine"], ast.PyCF_MINE
        ET.tostring(ET.fromstring('<q:a xmlns:q="http://mine"/>')), json.encoder.c_make_encoder, json.dumps([1]), random.mine.random(), uuid.NAMESPACE_MINE, typing.Mine == typing.List[int]
        datetime.UTC2 is datetime.timezone.utc, unittest.TestCase.maxDiff, socketserver.TCPServer.allow_reuse_address, argparse.HelpFormatter.mine, contextlib.quiet.enter_result
        decimal.getcontext().prec, decimal.DefaultContext.prec, decimal.Context().prec, decimal.Decimal(1) / 3, pprint.PrettyPrinter._dispatch.get(MyInt.__repr__) is not None
        opener.addheaders, urllib.request._opener is opener, ("error", None, BytesWarning, None, 0) in warnings.filters
        """,
    ),
    "classes derived from classes of Python's library, with state of their own": session(
        """
        import threading, queue, json, logging, argparse, configparser, string, io, contextlib, collections, functools, random, datetime, pathlib, types, ast, cmd, html.parser, http.client, urllib.request, csv, decimal, enum, tempfile, unittest.mock, weakref, zipfile, textwrap, pprint, ipaddress, uuid, email.message, xml.etree.ElementTree as ET, struct, codecs, fractions, operator, concurrent.futures as cf, asyncio, selectors, sched, time, shlex, calendar, difflib, heapq
        class Enc(json.JSONEncoder):
            seen = []
            def default(self, o): Enc.seen.append(type(o).__name__); return list(o) if isinstance(o, set) else super().default(o)
        class Rng(random.Random):
            def __init__(self, seed=0): self.calls = 0; super().__init__(seed)
            def random(self): self.calls += 1; return super().random()
        class Path2(type(pathlib.Path())):
            def __new__(cls, *a, **k): return super().__new__(cls, *a)
            @property
            def words(self): return self.stem.split("_")
        class Ctx(decimal.Context): pass
        class Q(queue.Queue):
            def _init(self, n): self.queue = []; self.puts = 0
            def _put(self, x): heapq.heappush(self.queue, x); self.puts += 1
            def _get(self): return heapq.heappop(self.queue)
        class Buf(io.StringIO):
            def __init__(self, *a): super().__init__(*a); self.writes = 0
            def write(self, s): self.writes += 1; return super().write(s)
        class BBuf(io.BytesIO): tag = "b"
        class Cal(calendar.HTMLCalendar): cssclasses = ["x"] * 7
        class CP(configparser.ConfigParser):
            def get(self, *a, **k): return super().get(*a, **k).upper()
        class Part(functools.partial):
            def __call__(self, *a, **k): self.__dict__["n"] = self.__dict__.get("n", 0) + 1; return super().__call__(*a, **k)
        class NS(types.SimpleNamespace):
            def __getattr__(self, k):
                if k.startswith("_"): raise AttributeError(k)
                return f"no {k}"
        class Prop(property):
            def __init__(self, f): super().__init__(f); self.reads = 0
            def __get__(self, o, t=None): self.reads += 1; return super().__get__(o, t)
        class Cached(functools.cached_property): note = "c"
        class Meth(classmethod): mark = 1
        class Th(threading.Thread):
            def __init__(self): super().__init__(name="mine", daemon=True); self.out = []
            def run(self): self.out.append(1)
        class Dict(collections.OrderedDict):
            def __init__(self, *a, **k): self.order = []; super().__init__(*a, **k)
            def __setitem__(self, k, v): self.order.append(k); super().__setitem__(k, v)
        class Elt(ET.TreeBuilder): pass
        class U(uuid.UUID): pass
        class Sm(difflib.SequenceMatcher): junk = 1
        class Tmp(string.Template): delimiter = "%"
        class Ex(contextlib.ExitStack): label = "ex"
        class Net(ipaddress.IPv4Network): pass
        class Delta(datetime.timedelta):
            def __new__(cls, *a, **k): o = super().__new__(cls, *a, **k); o.note = "n"; return o
        class Lz(collections.UserString): pass
        class UL(collections.UserList):
            def append(self, x): super().append(x); self.log = getattr(self, "log", []) + [x]
        class Log(logging.LoggerAdapter): count = 0
        class Loop(asyncio.Queue): pass
        class K:
            @Prop
            def p(self): return 5
            @Cached
            def c(self): return [1]
            @Meth
            def m(cls): return cls.__name__
            part = Part(int, base=2)
        # %%
        enc = Enc(indent=None, sort_keys=True); enc.encode({"a": {1}}); rng = Rng(3); rng.random(); p = Path2("my_file.txt"); ctx = Ctx(prec=3); q = Q(5); q.put(3); q.put(1); b = Buf("ab"); b.read(1); b.write("c"); bb = BBuf(b"xyz"); bb.read(1); cp = CP(); cp.read_string("[a]\\nb=c"); part = Part(print, 1, sep=""); ns = NS(a=1); k = K(); k.p; k.c; K.part("11"); th = Th(); d = Dict(a=1); d["b"] = 2; d.move_to_end("a"); u = U(int=3); sm = Sm(None, "ab", "ac"); sm.ratio(); tmp = Tmp("%x"); ex = Ex(); ex.callback(d.clear); net = Net("10.0.0.0/30"); dl = Delta(hours=1); us = Lz("s"); us.extra = 1; ul = UL([1]); ul.append(2); lg = Log(logging.getLogger("z"), {}); lg.count = 4; nxt = io.TextIOWrapper(BBuf(b"q"))
        """,
        """
        enc.encode({"b": {2}, "a": 1}), Enc.seen, enc.sort_keys, json.dumps({3}, cls=Enc)
        rng.random(), rng.calls, rng.randint(1, 9), type(rng).__name__, p.words, type(p.parent).__name__, p / "x_y" == Path2("my_file.txt/x_y")
        ctx.divide(1, 3), ctx.prec, type(ctx).__name__, q.get(), q.puts, q.qsize(), q.maxsize
        b.write("d"), b.writes, b.getvalue(), b.tell(), bb.read(), bb.tag, type(bb).__name__
        cp.get("a", "b"), part.func is print, part.keywords, ns.zzz, ns, ns == NS(a=1), tmp.substitute(x=1)
        k.p, K.__dict__["p"].reads, k.c is k.__dict__["c"], K.__dict__["c"].note, k.m(), K.__dict__["m"].mark, K.part("101"), K.part.n
        th.out if "th" in globals() else 0
        list(d), d.order, d.popitem(), ex.label, ex.close(), len(d)
        u, type(u).__name__, u.int, sm.ratio(), sm.junk, sm.get_opcodes()[0], net.num_addresses, type(net).__name__, list(net.hosts())[0]
        dl.note, dl, type(dl * 2).__name__, us + "t", us.extra, type(us + "t").__name__, ul, ul.log, lg.count, lg.logger.name
        """,
        named="th nxt",
    ),
    "settings of numpy, pandas, matplotlib, polars and friends made in programs, with own types": session(
        """
        import numpy as np, pandas as pd, polars as pl, functools, json, warnings, operator, collections
        import matplotlib; matplotlib.use("agg"); import matplotlib.pyplot as plt
        pd.set_option("display.max_rows", 7, "display.precision", 3); pd.options.display.float_format = "{:.1f}".format
        @pd.api.extensions.register_series_accessor("stats")
        class Stats:
            cache = {}
            def __init__(self, s): self.s = s
            def spread(self): return Stats.cache.setdefault(len(self.s), float(self.s.max() - self.s.min()))
        @pl.api.register_expr_namespace("extra")
        class Extra:
            def __init__(self, e): self.e = e
            def double(self): return self.e * factor
        factor = 2
        class Unit(pd.api.extensions.ExtensionDtype):
            type = float; name = "unit"
            @classmethod
            def construct_array_type(cls): return UnitArray
        class UnitArray(pd.api.extensions.ExtensionArray):
            made = 0
            def __init__(self, v): self.v = np.asarray(v, float); UnitArray.made += 1
            @classmethod
            def _from_sequence(cls, s, dtype=None, copy=False): return cls([float(x) for x in s])
            @classmethod
            def _concat_same_type(cls, xs): return cls(np.concatenate([x.v for x in xs]))
            dtype = Unit(); nbytes = 8
            def __getitem__(self, i): r = self.v[i]; return r if np.isscalar(r) else UnitArray(r)
            def __len__(self): return len(self.v)
            def isna(self): return np.isnan(self.v)
            def take(self, i, allow_fill=False, fill_value=None): return UnitArray(self.v[i])
            def copy(self): return UnitArray(self.v.copy())
            def __setitem__(self, k, x): self.v[k] = x
            def __eq__(self, o): return self.v == (o.v if isinstance(o, UnitArray) else o)
        pd.api.extensions.register_extension_dtype(Unit)
        plt.rcParams.update({"lines.linewidth": 4, "axes.prop_cycle": plt.cycler(color=["r", "g"])}); plt.style.library["mine"] = matplotlib.RcParams({"font.size": 20}); matplotlib.colormaps.register(matplotlib.colors.ListedColormap(["k", "w"], name="bw")); matplotlib.units.registry[collections.Counter] = matplotlib.units.ConversionInterface()
        np.set_printoptions(formatter={"float": lambda x: f"<{x:g}>"}); pl.Config.set_tbl_rows(3); warnings.filterwarnings("ignore", category=pd.errors.PerformanceWarning)
        log = []
        def step(fn):
            @functools.wraps(fn)
            def w(df, *a, **k): log.append((fn.__name__, df.shape)); return fn(df, *a, **k)
            return w
        @step
        def clean(df, cols): return df.dropna(subset=cols)
        @step
        def add(df, **k): return df.assign(**{n: f(df) if callable(f) else f for n, f in k.items()})
        class Pipe(list):
            def __or__(self, f): return Pipe([*self, f])
            def __call__(self, df): return functools.reduce(lambda d, f: f(d), self, df)
        # %%
        df = pd.DataFrame({"a": [1.0, None, 3.0], "k": list("xyx")}); pipe = Pipe() | functools.partial(clean, cols=["a"]) | functools.partial(add, b=lambda d: d.a * factor); out = pipe(df); s = pd.Series(UnitArray([1, 2, 3])); sp = df.a.stats.spread(); g = out.groupby("k"); roll = out.a.rolling(2); agg = {"a": ["sum", lambda x: x.max() * factor]}; ex = pl.col("a").extra.double(); lf = pl.DataFrame({"a": [1, 2]}).lazy().with_columns(ex.alias("d")); fig, ax = plt.subplots(); (line,) = ax.plot([1, 2]); ax.callbacks.connect("xlim_changed", lambda a: log.append(("lim", tuple(map(float, a.get_xlim()))))); arr = np.array([1.5]); ser = out["b"]; made = UnitArray.made
        """,
        """
        pd.get_option("display.max_rows"), str(pd.Series([1.234])), repr(arr), line.get_linewidth(), line.get_color(), ax.plot([1])[0].get_color()
        pipe(df).b.tolist(), log[-2:], pipe[1].keywords["b"](df).tolist()[0], len(pipe)
        factor = 10 ;; pipe(df).b.tolist(), lf.collect()["d"].to_list(), pl.DataFrame({"a": [3]}).select(pl.col("a").extra.double())["a"].to_list()
        df.a.stats.spread(), Stats.cache, type(s.dtype) is Unit, s.dtype == "unit", s.array.v.tolist(), s.astype("unit").dtype is Unit() or s.astype("unit").dtype == Unit()
        s.iloc[0] = 9.0 ;; s.array.v.tolist(), pd.concat([s, s]).array.v.tolist(), s.isna().tolist(), UnitArray.made > made
        g.a.sum().to_dict(), g.agg(agg).values.tolist(), roll.sum().tolist()[1], g.obj is out, roll.obj is out.a or roll.obj.tolist()
        ax.set_xlim(0, 5) ;; log[-1], plt.get_cmap("bw").N, plt.style.library["mine"]["font.size"], collections.Counter in matplotlib.units.registry
        out.loc[0, "b"] = -1.0 ;; ser.tolist(), g.b.sum().to_dict()
        plt.gcf() is fig, plt.gca() is ax, fig.axes[0] is ax, line in ax.lines, ax.lines[0] is line
        """,
    ),
    "small programs with names that others have: id, type, list, input, and hooks on displays": session(
        """
        import dataclasses, functools, collections, sys, weakref, operator
        class User:
            def __init__(self, id, type="user"): self.id, self.type = id, type
            def key(self): return id(self)
        class Registry:
            def __init__(self): self.by_id, self.by_obj, self.order = {}, {}, []
            def add(self, o): self.by_id[o.id] = o; self.by_obj[id(o)] = o.id; self.order.append(id(o)); return o
            def __contains__(self, o): return id(o) in self.by_obj
            def rank(self, o): return self.order.index(id(o))
        class Graph:
            def __init__(self): self.edges = collections.defaultdict(set)
            def link(self, a, b): self.edges[id(a)].add(id(b)); self.edges[id(b)].add(id(a))
            def near(self, a, all): return [o.id for o in all if id(o) in self.edges[id(a)]]
        def memo(fn):
            cache = {}
            @functools.wraps(fn)
            def w(o, *a):
                key = (id(o), *a)
                if key not in cache: cache[key] = fn(o, *a)
                return cache[key]
            w.cache = cache
            return w
        @memo
        def cost(o, n): calls.append((o.id, n)); return [o.id * n]
        def deep(o, seen=None):
            seen = {} if seen is None else seen
            if id(o) in seen: return seen[id(o)]
            seen[id(o)] = None; return len(seen)
        calls = []; tracked = {}
        # %%
        u, v, w = User(1), User(2, "admin"), User(3); reg = Registry(); [reg.add(x) for x in (u, v)]; gr = Graph(); gr.link(u, v); c1 = cost(u, 5); deep(u, tracked); pairs = {(id(u), id(v)): "uv", frozenset([id(u)]): "fz"}; nest = [[id(u)], {"k": id(v)}, (id(w),)]; lookup = {str(id(u)): u, f"{id(v):x}": v}; first = id(u); wk = weakref.WeakValueDictionary({id(u): u}); cnt = collections.Counter([id(u), id(u), id(v)]); big = max(id(u), id(v)); od = collections.OrderedDict([(id(w), "w"), (id(u), "u")]); part = functools.partial(operator.eq, id(u)); cell = (lambda k: lambda o: id(o) == k)(id(u))
        """,
        """
        u in reg, w in reg, reg.rank(v), reg.by_obj[id(u)], reg.by_id[2] is v, u.key() in reg.by_obj
        gr.near(u, [u, v, w]), gr.near(w, [u, v]), len(gr.edges)
        cost(u, 5) is c1, calls, len(cost.cache), cost(v, 1), len(cost.cache)
        deep(u, tracked), deep(w, tracked), len(tracked)
        pairs[id(u), id(v)], nest[0][0] == id(u), nest[1]["k"] == id(v), nest[2][0] == id(w)
        first == id(u), wk[id(u)] is u, cnt[id(u)], od[id(u)], list(od)[0] == id(w)
        part(id(u)), cell(u), cell(v)
        """,
    ),
}
