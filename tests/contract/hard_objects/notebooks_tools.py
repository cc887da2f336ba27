"""Sessions of analysts: workbooks, networks, text and dates, caches, settings and results that hold each other."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "proxies and decorators of wrapt": session(
        """
        import wrapt, functools, inspect
        calls = []
        # %%
        @wrapt.decorator
        def traced(wrapped, instance, args, kwargs):
            calls.append((wrapped.__name__, instance is not None)); return wrapped(*args, **kwargs)
        def with_level(level):
            @wrapt.decorator
            def inner(wrapped, instance, args, kwargs): return level, wrapped(*args, **kwargs)
            return inner
        @traced
        def add(a, b=1): "adds"; return a + b
        class Desk:
            made = 0
            @traced
            def sell(self, n): self.n = n; return n * 2
            @traced
            @classmethod
            def open(cls): cls.made += 1; return cls
            @with_level(3)
            @staticmethod
            def rate(x): return x / 2
        @traced
        class Made:
            def __init__(self, a): self.a = a
        class Counted(wrapt.ObjectProxy):
            total = 0
            def __init__(self, wrapped, name): super().__init__(wrapped); self._self_name = name; self._self_seen = []; self.total = 1
            def append(self, value): self._self_seen.append(value); self.__wrapped__.append(value)
        rows = [1]; proxy = Counted(rows, "rows"); proxy.append(2); plain = wrapt.ObjectProxy(rows); desk = Desk(); bound = desk.sell
        part = wrapt.PartialCallableObjectProxy(add, 5, b=6); table = {"f": add, "m": desk.sell}; me = wrapt.ObjectProxy({}); me["me"] = me
        @wrapt.decorator(enabled=lambda: bool(rows))
        def maybe(wrapped, instance, args, kwargs): return "wrapped"
        @maybe
        def perhaps(): return "bare"
        @wrapt.synchronized
        def safe(x): return x + 1
        """,
        """
        proxy.append(3) ;; rows, proxy._self_seen, proxy._self_name, proxy.total, Counted.total, proxy == rows, isinstance(proxy, list), type(proxy) is Counted
        proxy.__wrapped__ is rows, plain.__wrapped__ is rows, len(plain)
        add(1), add(1, b=3), calls, add.__name__, add.__doc__, str(inspect.signature(add)), add.__wrapped__.__name__
        desk.sell(4), Desk.open() is Desk, Desk.made, desk.rate(4), Desk.rate(6), calls[-2:]
        bound(3), desk.n, bound.__self__ is desk, part(), table["f"] is add, table["m"](5), desk.n
        Made(3).a, type(Made(1)).__name__, isinstance(Made(2), Made)
        me["me"] is me
        perhaps() ;; rows.clear() or perhaps()
        safe(1), type(traced).__name__, add._self_wrapper is not None
        """,
    ),
    "futures that are done, matches out of many, scanners, types of duckdb": session(
        """
        import re, regex, concurrent.futures as cf, tenacity, duckdb
        pool = cf.ThreadPoolExecutor(1)
        results = []
        done = pool.submit(lambda: results); failed = pool.submit(lambda: 1 / 0); cf.wait([done, failed]); pool.shutdown()
        gone = cf.Future(); gone.cancel(); told = []; done.add_done_callback(told.append)
        text = "a1 b22 c333"
        many = list(re.finditer(r"([a-z])(\\d+)", text)); third = many[2]; inner = list(re.compile(r"\\d").finditer(text, 4))[1]
        rm = regex.search(r"(?P<w>[a-z])(?:(\\d)+)", text, pos=2); rmany = list(regex.finditer(r"\\d+", text))[1]
        counts = {}
        scanner = re.Scanner([(r"\\d+", lambda s, t: counts.setdefault(t, int(t))), (r"[a-z]+", lambda s, t: t.upper()), (r"\\s+", None)], re.I); scanner.name = "mine"
        big, listed, own = duckdb.type("BIGINT"), duckdb.list_type(duckdb.sqltypes.VARCHAR), duckdb.struct_type({"a b": duckdb.sqltypes.DATE}); const = duckdb.sqltypes.INTEGER
        class Work(cf.Future):
            pass
        work = Work(); work.set_result(work); work.tag = "t"
        """,
        """
        done.result() is results, done.done(), type(failed.exception()).__name__, gone.cancelled(), told[0] is done, cf.wait([done, failed])[1]
        done.add_done_callback(lambda f: results.append(5)) ;; results
        work.result() is work, work.tag, type(work) is Work
        [m.group(2) for m in many], third.span(), third.pos, many[2] is third, inner.span(), inner.pos, inner.start()
        rm.span(), rm.captures(2), rm.pos, rm["w"], rmany.group(), rmany.span(), rmany.pos
        scanner.scan("ab 12 34"), counts, scanner.name, scanner.scan("AB!")
        big == duckdb.type("BIGINT"), str(listed), str(own), own.children[0][0], const is duckdb.sqltypes.INTEGER
        """,
        named="pool",
    ),
    "notebook: workbooks in the making": session(
        """
        import openpyxl, pandas as pd, datetime as dt, os
        from openpyxl.styles import Font, PatternFill, NamedStyle, Alignment, Border, Side; from openpyxl.chart import BarChart, Reference; from openpyxl.formatting.rule import CellIsRule, FormulaRule; from openpyxl.worksheet.datavalidation import DataValidation; from openpyxl.workbook.defined_name import DefinedName; from openpyxl.comments import Comment; from openpyxl.worksheet.table import Table
        wb = openpyxl.Workbook(); ws = wb.active; ws.title = "KPI"; head = NamedStyle("head", font=Font(bold=True, color="FF0000")); wb.add_named_style(head)
        for row in [["shop", "n", "day"], ["a", 3, dt.date(2024, 1, 2)], ["b", 5, dt.date(2024, 1, 3)]]: ws.append(row)
        for c in ws[1]: c.style = "head"
        cell = ws["B2"]; cell.number_format = "0.00"; cell.comment = Comment("checked", "ann"); fill = PatternFill("solid", fgColor="FFFF00"); ws["B3"].fill = fill
        """
        + "# %%\n"
        + """
        chart = BarChart(); chart.add_data(Reference(ws, min_col=2, min_row=1, max_row=3), titles_from_data=True); ws.add_chart(chart, "E2"); rule = CellIsRule(operator="greaterThan", formula=["4"], fill=fill); ws.conditional_formatting.add("B2:B3", rule); dv = DataValidation(type="list", formula1='"a,b"'); ws.add_data_validation(dv); dv.add("A2"); wb.defined_names["total"] = DefinedName("total", attr_text="KPI!$B$2:$B$3"); tab = Table(displayName="T1", ref="A1:C3"); ws.add_table(tab)
        rows = ws.iter_rows(min_row=2, values_only=True); next(rows); copy = wb.copy_worksheet(ws); col = ws.column_dimensions["A"]; col.width = 30; xw = pd.ExcelWriter("out.xlsx", engine="openpyxl"); pd.DataFrame({"x": [1]}).to_excel(xw, sheet_name="one"); sheet = xw.sheets["one"]; book = xw.book
        wb.save("kpi.xlsx"); ro = openpyxl.load_workbook("kpi.xlsx", read_only=True); rr = ro["KPI"].iter_rows(values_only=True); next(rr); xf = pd.ExcelFile("kpi.xlsx"); wo = openpyxl.Workbook(write_only=True); ows = wo.create_sheet("log"); ows.append(["a", 1])
        """,
        """
        cell.value = 30 ;; ws["B2"].value, next(rows), cell.parent is ws, ws.parent is wb, wb["KPI"] is ws
        head.font = Font(italic=True); ws["D1"].style = head; wb.save("k2.xlsx") ;; openpyxl.load_workbook("k2.xlsx")["KPI"]["A1"].font.i, ws["A1"].style, ws["A1"].font.b
        ws["B3"].fill == fill, cell.comment.text, cell.comment.parent is cell, copy["B2"].value, copy.title
        ws.append(["c", 9, None]); tab.ref = "A1:C4" ;; ws.tables["T1"].ref, ws.max_row, ws.tables["T1"] is tab
        chart.title = "new"; chart.anchor = "G2"; wb.save("k3.xlsx"); again = openpyxl.load_workbook("k3.xlsx")["KPI"] ;; len(again._charts), len(again.conditional_formatting), ws._charts[0] is chart
        dv.add("A3") ;; str(ws.data_validations.dataValidation[0].sqref), ws.data_validations.dataValidation[0] is dv, wb.defined_names["total"].attr_text
        sheet["C1"] = "hand"; pd.DataFrame({"y": [2]}).to_excel(xw, sheet_name="two"); xw.close() ;; openpyxl.load_workbook("out.xlsx").sheetnames, openpyxl.load_workbook("out.xlsx")["one"]["C1"].value, xw.book is book
        next(rr), ro.sheetnames, xf.sheet_names, xf.parse("KPI").shape
        ows.append(["b", 2]); wo.save("log.xlsx") ;; list(openpyxl.load_workbook("log.xlsx")["log"].values)
        col.width = 12 ;; ws.column_dimensions["A"].width, ws.column_dimensions["A"] is col, copy.column_dimensions["A"].width
        ows is wo, sorted(os.listdir(".")), wb.active is ws, len(wb._named_styles), wb._named_styles[1].name if len(wb._named_styles) > 1 else None
        """,
        named="rows rr wo ows",
    ),
    "notebook: a network of one's own and the views of it": session(
        """
        import numpy as np, collections.abc as abc, itertools, heapq, functools
        from scipy import sparse; from scipy.sparse import csgraph
        class Logged(dict):
            log = []
            def __setitem__(self, k, v): Logged.log.append(k); super().__setitem__(k, v)
        class Atlas(abc.Mapping):
            __slots__ = ("_a", "_keep")
            def __init__(self, a, keep=None): self._a = a; self._keep = keep
            def __getitem__(self, k):
                if self._keep and not self._keep(k): raise KeyError(k)
                return self._a[k]
            def __iter__(self): return (k for k in self._a if not self._keep or self._keep(k))
            def __len__(self): return sum(1 for _ in self)
        class Net:
            attr = Logged
            def __init__(self): self._succ = {}; self._pred = {}; self.graph = {}; self.cache = {}
            def edge(self, u, v, **d):
                for n in (u, v): self._succ.setdefault(n, {}); self._pred.setdefault(n, {})
                data = self._succ[u].get(v) or self.attr(); data.update(d); data["seen"] = True; self._succ[u][v] = self._pred[v][u] = data; self.__dict__.pop("adj", None); self.cache.clear()
            @functools.cached_property
            def adj(self): return {u: Atlas(vs) for u, vs in self._succ.items()}
            def view(self, keep): g = object.__new__(type(self)); g.__dict__ = {**self.__dict__, "_succ": Atlas(self._succ, keep)}; return g
            def reverse(self): g = object.__new__(type(self)); g.graph = self.graph; g._succ, g._pred, g.cache = self._pred, self._succ, self.cache; return g
            def bfs(self, s):
                seen, queue = {s}, [s]
                for u in queue:
                    for v in self._succ[u]:
                        if v not in seen: seen.add(v); queue.append(v); yield u, v
            def __matmul__(self, other): return sorted(set(self._succ) & set(other._succ))
        """
        + "# %%\n"
        + """
        G = Net(); [G.edge(u, v, w=w) for u, v, w in [("a", "b", 3), ("b", "c", 1), ("a", "c", 9), ("c", "d", 2)]]; banned = {"d"}; adj = G.adj; sub = G.view(lambda n: n not in banned); rev = G.reverse(); walk = G.bfs("a"); first = next(walk); data = G._succ["a"]["b"]; G.graph["name"] = "trade"
        order = {n: i for i, n in enumerate(G._succ)}; M = sparse.lil_array((4, 4)); [M.__setitem__((order[u], order[v]), d["w"]) for u, vs in G._succ.items() for v, d in vs.items()]; csr = M.tocsr(); coo = csr.tocoo(copy=False); csc = csr.T; dist = csgraph.dijkstra(csr); tree = csgraph.minimum_spanning_tree(csr); heap = [(3, "x"), (1, "y")]; heapq.heapify(heap); best = heapq.nsmallest; combos = itertools.combinations("abcd", 2); next(combos); prod = itertools.product([1, 2], repeat=2); next(prod)
        """,
        """
        next(walk), first, list(walk), len(Logged.log)
        data["w"] = 100 ;; G._pred["b"]["a"]["w"], adj["a"]["b"]["w"], rev._succ["b"]["a"]["w"], type(data).__name__, len(Logged.log)
        banned.add("c"); sorted(sub._succ), len(sub._succ) ;; sorted(sub._succ), "c" in sub._succ, sub.graph is G.graph, sub.cache is rev.cache
        adj is G.adj, "adj" in sub.__dict__, sub.adj is adj
        G.edge("d", "a", w=5) ;; rev._succ["a"]["d"] is G._succ["d"]["a"], sorted(rev._pred), G.adj is adj, sub.adj is adj
        csr.data[:] = 1 ;; csc.data.tolist(), coo.data.tolist(), M[0, 1], np.shares_memory(csr.data, csc.data), tree.nnz
        csr.indices[0] = 3 ;; csr.toarray().tolist(), csc.toarray()[3].tolist(), csr.has_sorted_indices
        dist.round(2).tolist()[0], heapq.heappop(heap), best(1, heap), next(combos), list(prod)
        Net.__matmul__ = lambda s, o: "patched" ;; G @ rev, sub @ G, G.__class__ is Net
        rev.graph["name"] = "back" ;; G.graph, G.view(None)._succ._a is G._succ, isinstance(sub._succ, abc.Mapping), order
        """,
        named="walk",
    ),
    "notebook: text taken apart": session(
        """
        import re, csv, io, json, html.parser, string, difflib, textwrap, shlex, codecs, unicodedata, gettext, collections
        log = "2024-01-02 ERROR disk full\\n2024-01-03 INFO ok\\n2024-01-04 ERROR net down\\n"; line = re.compile(r"(?P<day>\\d{4}-\\d\\d-\\d\\d) (?P<level>\\w+) (?P<text>.*)"); hits = line.finditer(log); m = next(hits); levels = {"ERROR": 2}; mask = line.sub(lambda k: f"{k['level']}:{levels.get(k['level'], 0)}", log)
        class Template(string.Template): delimiter = "%"; idpattern = "[a-z.]+"
        class Fmt(string.Formatter):
            def format_field(self, v, spec): return units.get(spec, lambda x: string.Formatter.format_field(self, x, spec))(v)
        units = {"eur": lambda v: f"{v:.2f} €"}; fmt = Fmt(); tpl = Template("Hi %name, %user.city")
        class Links(html.parser.HTMLParser):
            def __init__(self): super().__init__(); self.found = []
            def handle_starttag(self, tag, attrs): self.found.append((tag, dict(attrs).get("href")))
        links = Links(); links.feed("<p><a href='x'>go</a><a hre")
        """
        + "# %%\n"
        + """
        csv.register_dialect("bank", delimiter=";", quotechar="'"); csv.field_size_limit(5000); src = io.StringIO("a;b\\n1;'x;y'\\n2;z\\n"); reader = csv.reader(src, "bank"); head = next(reader); dec = codecs.getincrementaldecoder("utf-8")(); part = dec.decode("ä".encode()[:1]); codecs.register_error("star", lambda e: ("*" * (e.end - e.start), e.end)); lex = shlex.shlex("load 'my file' | sort -k 2", posix=True); lex.whitespace_split = True; first = lex.get_token()
        class Enc(json.JSONEncoder):
            def default(self, o): return sorted(o) if isinstance(o, set) else super().default(o)
        enc = Enc(indent=1, sort_keys=True); stream = enc.iterencode({"k": {3, 1}, "a": [1, 2]}); s0 = next(stream); dcd = json.JSONDecoder(object_pairs_hook=collections.OrderedDict, parse_float=lambda x: round(float(x), digits)); digits = 1; sm = difflib.SequenceMatcher(None, "kitten", "sitting"); ratio = sm.ratio(); diff = difflib.unified_diff(["a\\n", "b\\n"], ["a\\n", "c\\n"], "old", "new"); next(diff); wrap = textwrap.TextWrapper(width=10, subsequent_indent="  "); fill = wrap.fill; scan = re.Scanner([(r"\\d+", lambda s, t: int(t) * 2), (r"\\s+", None)]); count = collections.Counter(log.split()); common = count.most_common(1)
        """,
        """
        next(hits)["level"], m["day"], m.string is log, m.re is line, [h.group("text") for h in hits]
        levels["INFO"] = 9 ;; line.sub(lambda k: str(levels.get(k["level"])), log).split(), mask.splitlines()[1]
        units["eur"] = lambda v: "many" ;; fmt.format("{0:eur} {1:>3}", 5, 7), tpl.substitute({"name": "Bo", "user.city": "Rome"}), Template.pattern.pattern == tpl.pattern.pattern
        links.feed("f='y'>") ;; links.found, links.rawdata, links.getpos()
        next(reader), reader.line_num, src.tell(), reader.dialect.delimiter
        csv.list_dialects(), csv.get_dialect("bank").quotechar, csv.field_size_limit(), next(csv.reader(["1;'a;b'"], "bank"))
        dec.decode("ä".encode()[1:]), "aéb".encode("ascii", "star"), codecs.lookup_error("star").__name__
        lex.get_token(), lex.lineno, list(lex)
        "".join(stream), enc.encode({2, 1}), type(enc).__name__, enc.indent
        digits = 3 ;; dcd.decode('{"b": 1.23456, "a": 2}'), type(dcd.decode("{}")).__name__
        sm.set_seq2("kitten") ;; sm.ratio(), round(ratio, 4), list(diff)
        wrap.width = 30 ;; fill("the quick brown fox jumps"), scan.scan("1 23")[0], count is not None, common
        """,
        named="hits reader stream diff scan",
    ),
    "notebook: days, zones, decimals": session(
        """
        import datetime as dt, zoneinfo, calendar, decimal, fractions, locale, time, statistics, itertools, pandas as pd
        from dateutil import rrule, relativedelta, tz, parser
        decimal.getcontext().prec = 12; decimal.getcontext().rounding = decimal.ROUND_HALF_UP; bank = decimal.Context(prec=4, traps=[decimal.Inexact]); default = decimal.getcontext(); local = decimal.localcontext(); inner = local.__enter__(); inner.prec = 5; price = decimal.Decimal("1.00500")
        class Fiscal(dt.date):
            start = 4
            def __new__(cls, y, m, d): return super().__new__(cls, y, m, d)
            @property
            def fy(self): return self.year + (self.month >= self.start)
        class Ship(dt.tzinfo):
            def __init__(self, h=0): self.h = h
            def utcoffset(self, d): return dt.timedelta(hours=self.h)
            def dst(self, d): return dt.timedelta(0)
            def tzname(self, d): return f"ship{self.h:+d}"
        day = Fiscal(2024, 5, 1); ship = Ship(3); noon = dt.datetime(2024, 5, 1, 12, tzinfo=ship); stamp = pd.Timestamp(noon)
        """
        + "# %%\n"
        + """
        rule = rrule.rrule(rrule.MONTHLY, count=6, bymonthday=-1, dtstart=dt.datetime(2024, 1, 1), cache=True); it = iter(rule); next(it); rset = rrule.rruleset(); rset.rrule(rule); rset.exdate(dt.datetime(2024, 2, 29)); calendar.setfirstweekday(calendar.SUNDAY); cal = calendar.TextCalendar(6); weeks = cal.iterweekdays(); next(weeks); berlin = zoneinfo.ZoneInfo("Europe/Berlin"); nocache = zoneinfo.ZoneInfo.no_cache("Europe/Berlin"); dtz = tz.gettz("Europe/Berlin")
        fold = dt.datetime(2024, 10, 27, 2, 30, tzinfo=berlin, fold=1); delta = relativedelta.relativedelta(months=+1, weekday=relativedelta.MO(-1)); info = parser.parserinfo(dayfirst=True); by_day = {day: "may", noon: "noon"}; days = itertools.groupby(pd.date_range("2024-01-30", periods=4), key=lambda d: d.month); month, grp = next(days); g0 = next(grp)
        class Norm(statistics.NormalDist): pass
        nd = Norm(10, 2); parts = itertools.accumulate([fractions.Fraction(1, n) for n in (1, 2, 3)]); next(parts); cyc = itertools.cycle("ab"); next(cyc)
        """,
        """
        decimal.getcontext().prec, decimal.getcontext() is inner, decimal.Decimal(1) / 3, round(price, 2)
        local.__exit__(None, None, None) ;; decimal.getcontext() is default, decimal.getcontext().prec, decimal.Decimal(1) / 3, decimal.getcontext().rounding
        bank.divide(decimal.Decimal(1), 3)
        ship.h = 5 ;; noon.isoformat(), stamp.tz is ship, str(stamp.tz_convert(ship).tzname()), noon.tzinfo is ship
        next(it), rule._cache_complete if hasattr(rule, "_cache_complete") else None, list(rset)[:2], rule.count()
        calendar.firstweekday(), calendar.month(2024, 5).splitlines()[1], next(weeks), calendar.calendar(2024)[:40].strip()
        fold.tzinfo is zoneinfo.ZoneInfo("Europe/Berlin"), nocache is berlin, fold.utcoffset(), nocache.key, dtz is tz.gettz("Europe/Berlin")
        type(day).__name__, day.fy, (day + dt.timedelta(1)).fy, by_day[dt.date(2024, 5, 1)], type(day.replace(month=1)).__name__
        Fiscal.start = 7 ;; day.fy, (dt.datetime(2024, 1, 31) + delta).isoformat(), parser.parse("03/04/2024", parserinfo=info).month
        next(grp).isoformat(), list(grp), [(k, len(list(g))) for k, g in days]
        nd.samples(2, seed=1), type(nd + 1).__name__, next(parts), next(cyc), next(cyc)
        """,
        named="local rule it rset weeks days grp",
    ),
    "notebook: caches that know each other": session(
        """
        import functools, weakref, joblib, pandas as pd, numpy as np, shelve, collections, os, pickle, hashlib
        ran = []; memory = joblib.Memory("jl", verbose=0)
        @memory.cache(ignore=["verbose"])
        def heavy(n, verbose=False): ran.append(("heavy", n)); return np.arange(n)
        @functools.lru_cache(maxsize=2)
        def load(name): ran.append(("load", name)); return pd.DataFrame({"n": [len(name)]})
        class Store:
            _all = weakref.WeakValueDictionary()
            def __new__(cls, key):
                if key in cls._all: return cls._all[key]
                self = super().__new__(cls); cls._all[key] = self; self.key = key; self.data = {}
                return self
            @functools.cached_property
            def frame(self): ran.append(("frame", self.key)); return load(self.key)
            @functools.lru_cache
            def stat(self, name): ran.append(("stat", name)); return float(getattr(self.frame["n"], name)())
            @functools.singledispatchmethod
            def put(self, x): self.data["other"] = x
            @put.register
            def _(self, x: int): self.data["int"] = x
        one = heavy(4); f1 = load("abc"); f2 = load("de"); st = Store("abc"); fr = st.frame; mx = st.stat("max")
        """
        + "# %%\n"
        + """
        class Lazy(collections.defaultdict):
            def __missing__(self, k): ran.append(("miss", k)); self[k] = v = self.default_factory(k); return v
        lazy = Lazy(lambda k: load(k) * factor); factor = 10; wide = lazy["abc"]; sizes = weakref.WeakKeyDictionary({st: 3}); gone = []; fin = weakref.finalize(st, gone.append, "st"); db = shelve.open("state", writeback=True); db["cfg"] = {"a": [1]}; cfg = db["cfg"]; hist = collections.deque([1, 2, 3], maxlen=3); merged = collections.ChainMap({"x": 1}, lazy); proxy = weakref.proxy(st); ref = weakref.ref(st); digest = hashlib.sha256(b"abc"); part = functools.partial(load, "abc"); info = load.cache_info()
        @functools.singledispatch
        def show(x): return "obj"
        @show.register(pd.DataFrame)
        def show_df(x): return f"df{len(x)}"
        """,
        """
        load("abc") is f1, load("de") is f2, load.cache_info(), ran
        heavy(4).tolist(), heavy(4, verbose=True).tolist(), ran.count(("heavy", 4)), heavy.check_call_in_cache(4), heavy.func.__name__
        Store("abc") is st, st.frame is fr, fr is f1, list(Store._all), st.stat("max"), Store.stat.cache_info()
        n = len(ran); _ = lazy["abc"], lazy["zz"] ;; ran[n:], lazy["abc"] is wide, merged["abc"] is wide, load.cache_info().hits
        factor = 1; f1.loc[0, "n"] = 77 ;; st.frame["n"].tolist(), load("abc")["n"].tolist(), part()["n"].tolist(), lazy["q"]["n"].tolist()
        cfg["a"].append(2); db.sync() ;; db["cfg"], db["cfg"] is cfg, sorted(x for x in os.listdir(".") if x.startswith("state")) != []
        st.put(3), st.put("x"), st.data, proxy.data is st.data, ref() is st, sizes[st]
        show(f1), show.registry[pd.DataFrame] is show_df, show(3), show.dispatch(pd.DataFrame) is show_df
        hist.append(4) ;; list(hist), digest.update(b"d"), digest.hexdigest()[:8]
        fin.alive, fin.peek()[1] == gone.append, gone
        load.cache_clear() ;; load("abc") is f1, load.cache_info().currsize, st.frame is f1
        Store.stat.cache_clear(); del st, fin; sizes.clear(); import gc; _ = gc.collect() ;; gone, list(Store._all), ref() is None
        """,
        named="digest",
    ),
    "notebook: settings in layers": session(
        """
        import configparser, collections, dataclasses, enum, types, contextvars, os, argparse, logging, warnings, traitlets, contextlib, copy
        from pydantic import BaseModel, Field, field_validator, PrivateAttr, ConfigDict, computed_field
        class Level(enum.IntFlag): READ = 1; WRITE = 2; ALL = 3
        class Env(enum.Enum):
            DEV = "dev"; PROD = "prod"
            def __init__(self, v): self.hits = 0
            @classmethod
            def _missing_(cls, v): return cls.DEV
        class DB(BaseModel):
            model_config = ConfigDict(validate_assignment=True, extra="allow")
            host: str = "h"; port: int = Field(5432, ge=1); tags: list[str] = Field(default_factory=lambda: list(default_tags)); _conn: dict = PrivateAttr(default_factory=dict)
            @field_validator("host")
            @classmethod
            def low(cls, v): seen.append(v); return v.lower()
            @computed_field
            @property
            def url(self) -> str: return f"{scheme}://{self.host}:{self.port}"
        seen = []; default_tags = ["d"]; scheme = "pg"; db = DB(host="MAIN", zone="eu"); db._conn["n"] = 1
        """
        + "# %%\n"
        + """
        ini = configparser.ConfigParser(interpolation=configparser.ExtendedInterpolation(), converters={"list": lambda v: [x.strip() for x in v.split(sep)]}); sep = ","; ini.read_string("[paths]\\nroot=/d\\nraw=${root}/raw\\n[run]\\ncols=a, b\\n"); sect = ini["paths"]; base = {"seed": 1}; over = {}; conf = collections.ChainMap(over, base); ro = types.MappingProxyType(base); run_id = contextvars.ContextVar("run_id", default="none"); token = run_id.set("r1"); ctx = contextvars.copy_context()
        class Settings(traitlets.HasTraits):
            depth = traitlets.Int(3); name = traitlets.Unicode("m")
            @traitlets.observe("depth")
            def _d(self, change): events.append((change["old"], change["new"]))
            @traitlets.validate("depth")
            def _v(self, p): return min(p["value"], cap)
        events = []; cap = 10; s1 = Settings(); s2 = Settings(); link = traitlets.link((s1, "depth"), (s2, "depth")); s1.observe(lambda c: events.append(c["name"]), "name")
        @dataclasses.dataclass(frozen=True, slots=True)
        class Job: db: DB; env: Env = Env.PROD; level: Level = Level.READ | Level.WRITE; opts: dict = dataclasses.field(default_factory=dict, compare=False, metadata={"unit": "x"})
        job = Job(db); Env.PROD.hits = 5; records = []
        class Keep(logging.Handler):
            def emit(self, r): records.append((r.levelname, r.getMessage()))
        logger = logging.getLogger("etl.load"); logger.setLevel(logging.INFO); keep = Keep(); logger.addHandler(keep); logger.propagate = False; logger.addFilter(lambda r: "secret" not in r.getMessage()); os.environ["STAGE"] = "test"; parser = argparse.ArgumentParser(prog="etl"); parser.add_argument("--n", type=int, default=3); args = parser.parse_args([]); stack = contextlib.ExitStack(); stack.callback(records.append, "closed"); log = logging.LoggerAdapter(logger, {"run": 1})
        """,
        """
        db.host = "OTHER" ;; db.url, seen, db._conn, job.db is db, db.zone, db.model_fields_set >= {"host"}
        scheme = "my"; default_tags.append("e") ;; db.url, DB().tags, DB.model_validate(db) is db, db.model_dump()["url"]
        setattr(db, "port", 0)
        Env("nope") is Env.DEV, job.env is Env.PROD, Env.PROD.hits, job.level is Level.ALL, Level.READ in job.level, dataclasses.replace(job).opts is job.opts
        ini["paths"]["root"] = "/new"; sep = "b" ;; sect["raw"], ini.getlist("run", "cols"), ini["run"].getlist("cols"), sect is ini["paths"]
        base["seed"] = 7; over["x"] = 1 ;; conf["seed"], ro["seed"], list(conf), conf.maps[0] is over, conf.maps[1] is base
        run_id.get(), ctx[run_id], ctx.run(run_id.get), run_id.reset(token), run_id.get()
        s1.depth = 50 ;; s2.depth, events, s1.depth
        cap = 100; s2.depth = 60; s1.name = "z"; link.unlink(); s1.depth = 1 ;; s1.depth, s2.depth, events[-3:]
        logger.info("hello"); logger.info("secret x"); log.warning("adapt"); logger.debug("no") ;; records, logging.getLogger("etl.load") is logger, logger.handlers[0] is keep, logger.getEffectiveLevel()
        os.environ["STAGE"], vars(args), parser.parse_args(["--n", "5"]).n, stack.close(), records[-1]
        setattr(job, "level", 1)
        """,
        named="token",
    ),
    "notebook: an experiment and its results": session(
        """
        import numpy as np, pandas as pd, dataclasses, typing, weakref, collections, operator, functools
        class Event:
            def __init__(self): self.subs = []
            def __iadd__(self, f): self.subs.append(f); return self
            def __call__(self, *a):
                for f in self.subs: f(*a)
        class Run:
            __slots__ = ("name", "params", "metrics", "parent", "children", "_art", "__weakref__")
            count = 0
            def __init__(self, name, parent=None, **params): self.name = name; self.params = params; self.metrics = pd.DataFrame(columns=["loss"]); self.parent = parent and weakref.ref(parent); self.children = []; self._art = {}; Run.count += 1; parent and parent.children.append(self)
            def __enter__(self): stack.append(self); return self
            def __exit__(self, *e): stack.pop(); finished(self)
            def log(self, **kw): self.metrics.loc[len(self.metrics)] = kw; logged(self, kw)
            def __getattr__(self, k):
                try: return self._art[k]
                except KeyError: raise AttributeError(k) from None
            def __lt__(self, o): return self.best < o.best
            @property
            def best(self): return float(self.metrics["loss"].min())
        stack = []; finished = Event(); logged = Event(); board = collections.OrderedDict()
        """
        + "# %%\n"
        + """
        class Tracker:
            def __init__(self): self.seen = collections.Counter(); self.best = None
            def on_log(self, run, kw): self.seen[run.name] += 1
            def on_end(self, run): board[run.name] = run; self.best = min([r for r in (self.best, run) if r is not None])
        tr = Tracker(); logged += tr.on_log; finished += tr.on_end; finished += lambda r: board.move_to_end(r.name, last=False)
        with Run("root", lr=0.1) as root:
            root.log(loss=3.0)
            with Run("a", root, lr=0.01) as a:
                a.log(loss=2.0); a.log(loss=1.5)
        open_run = Run("b", root); open_run.__enter__(); open_run._art["model"] = lambda x: x * root.params["lr"]; open_run._art["frame"] = a.metrics
        Point = collections.namedtuple("Point", "x y"); pts = pd.Series([Point(1, 2), Point(3, 4)]); get = operator.attrgetter("params"); call = operator.methodcaller("log", loss=0.5); order = sorted([root, a]); @property
        """.replace("; @property\n", "\n"),
        """
        list(board), tr.best is a, Run.count, stack[-1] is open_run, len(stack)
        call(open_run); open_run.__exit__(None, None, None) ;; list(board), tr.best.name, dict(tr.seen), stack
        root.params["lr"] = 5 ;; open_run.model(2), open_run.frame is a.metrics, get(root)
        a.log(loss=0.1) ;; open_run.frame["loss"].tolist(), tr.best.name, min(board.values()).name, tr.seen["a"]
        a.parent() is root, root.children[0] is a, root.children[1] is open_run, root.parent, order[0] is a
        open_run.missing
        finished.subs[0] == tr.on_end, finished.subs[0].__self__ is tr, logged.subs[0].__func__ is Tracker.on_log
        Tracker.on_log = lambda self, run, kw: self.seen.update({"patched": 1}); root.log(loss=9.0) ;; tr.seen["patched"], tr.seen["root"], hasattr(root, "__dict__")
        pts[0].x, type(pts[1]) is Point, pts[0]._asdict(), Point.__module__
        Run.count += 1; c = Run("c") ;; Run.count, weakref.getweakrefcount(root) > 0, c.metrics is not root.metrics
        """,
    ),
}
