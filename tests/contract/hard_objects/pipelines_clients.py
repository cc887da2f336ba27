"""Sessions of data engineers: clocks, random numbers, text, mocks, clients, containers, errors and small frameworks."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "random generators, hashes and seeds in every library": session(
        """
        import random, numpy as np, secrets, uuid, hashlib, pandas as pd, polars as pl, copy
        random.seed(7); np.random.seed(7); pl.set_random_seed(7); own = random.Random(1); own.gauss(0, 1); rng = np.random.default_rng(5); rng.random(3); kids = rng.spawn(2); ss = np.random.SeedSequence(9); child = ss.spawn(2)[1]; legacy = np.random.RandomState(3); legacy.normal(); mt = np.random.Generator(np.random.MT19937(4)); px = np.random.PCG64DXSM(8); g1, g2 = np.random.Generator(px), np.random.Generator(px); ph = np.random.Philox(key=5).jumped(2)
        alias = rng; state = rng.bit_generator.state; saved = random.getstate(); random.random(); np_state = np.random.get_state(); bound = random.randint; shuffle = rng.shuffle; meth = own.choice; sysr = random.SystemRandom(); glob = np.random.mtrand._rand; sampler = (rng.integers(100) for _ in range(10)); s0 = next(sampler)
        class Seeded(random.Random):
            def __init__(self, s): self.draws = 0; super().__init__(s)
            def random(self): self.draws += 1; return super().random()
        sd = Seeded(2); sd.random(); ns = uuid.uuid5(uuid.NAMESPACE_DNS, "x"); deck = list(range(6)); own.shuffle(deck); legacy2 = np.random.RandomState(rng.bit_generator)
        """,
        """
        random.random(), bound(1, 10 ** 6), own.random(), meth(range(1000))
        np.random.rand(), glob.rand(), np.random.get_state()[2] != np_state[2], legacy.normal()
        rng.random(), alias.random(), alias is rng, next(sampler), s0
        kids[0].integers(10 ** 6), child.generate_state(1)[0], ss.spawn(1)[0].spawn_key, rng.spawn(1)[0].integers(10 ** 6)
        g1.random(), g2.random(), g1.bit_generator is g2.bit_generator is px, mt.random(), np.random.Generator(ph).random()
        shuffle(deck) ;; deck, sampler is not None
        rng.bit_generator.state = state ;; rng.random(), legacy2.random_sample()
        random.setstate(saved) ;; random.random(), random.gauss(0, 1)
        sd.random(), sd.draws, type(sd) is Seeded, ns
        pd.Series(range(50)).sample(3).tolist(), pd.Series(range(9)).sample(2, random_state=legacy).tolist()
        pl.Series(range(50)).sample(3).to_list(), pl.set_random_seed.__name__
        own.gauss(0, 1), own.getstate()[2] is None
        """,
        named="sampler set_random_seed",
    ),
    "dates, zones, calendars and schedules": session(
        """
        import datetime as dt, zoneinfo, calendar, time, dateutil.rrule as rr, dateutil.tz as dtz, dateutil.relativedelta as rd, dateutil.parser as dp, croniter, pandas as pd, functools, locale
        berlin = zoneinfo.ZoneInfo("Europe/Berlin"); nocache = zoneinfo.ZoneInfo.no_cache("Europe/Berlin"); amb = dt.datetime(2024, 10, 27, 2, 30, tzinfo=berlin, fold=1); early = amb.replace(fold=0); fixed = dt.timezone(dt.timedelta(hours=5, minutes=30), "IST")
        class Fiscal(dt.date):
            start = 4
            @property
            def year_label(self): return f"FY{self.year - (self.month < Fiscal.start)}"
        fd = Fiscal(2024, 3, 1)
        class Shop(dt.tzinfo):
            offsets = {"summer": 2}
            def utcoffset(self, d): return dt.timedelta(hours=self.offsets["summer"])
            def dst(self, d): return dt.timedelta(0)
            def tzname(self, d): return "SHOP"
        shop = Shop(); sdt = dt.datetime(2024, 1, 1, 12, tzinfo=shop); calendar.setfirstweekday(6); cal = calendar.TextCalendar(0); rule = rr.rrule(rr.MONTHLY, bymonthday=(-1,), dtstart=dt.datetime(2024, 1, 1), count=5, cache=True); it = iter(rule); r0 = next(it); rset = rr.rruleset(); rset.rrule(rule); rset.exdate(dt.datetime(2024, 2, 29)); cron = croniter.croniter("0 6 * * 1", dt.datetime(2024, 5, 1)); c0 = cron.get_next(dt.datetime)
        delta = rd.relativedelta(months=+1, weekday=rd.MO(-1)); gett = dtz.gettz("America/New_York"); ts = pd.Timestamp("2024-03-31 01:30", tz=berlin); bd = pd.offsets.CustomBusinessDay(holidays=["2024-05-01"], weekmask="Sun Mon Tue Wed Thu"); per = pd.period_range("2024Q1", periods=3, freq="Q-MAR"); bh = pd.offsets.BusinessHour(start="08:00"); roll = pd.Series(range(5), index=pd.date_range("2024-04-29", periods=5, freq=bd)); now = functools.partial(dt.datetime, 2024, 1); windows = [(ts, ts + pd.Timedelta("1h"))]; info = dp.parserinfo(dayfirst=True)
        """,
        """
        berlin is zoneinfo.ZoneInfo("Europe/Berlin"), nocache is berlin, amb.tzinfo is berlin, amb.fold, amb.utcoffset() - early.utcoffset()
        Shop.offsets["summer"] = 3 ;; sdt.isoformat(), sdt.tzinfo is shop, sdt.astimezone(dt.timezone.utc).hour
        fd.year_label, type(fd) is Fiscal, type(fd + dt.timedelta(40)).__name__, setattr(Fiscal, "start", 2), fd.year_label
        calendar.firstweekday(), calendar.weekheader(2), cal.formatweekheader(2)
        next(it), r0, rule.count(), len(list(rset)), rule.after(dt.datetime(2024, 3, 1))
        cron.get_next(dt.datetime), c0, cron.get_current(dt.datetime)
        dt.date(2024, 1, 15) + delta, gett is dtz.gettz("America/New_York"), fixed.tzname(None), fixed.utcoffset(None)
        ts.tz is berlin, windows[0][1].isoformat(), windows[0][0] is ts, ts.tz_convert("UTC").hour
        roll.index.freq == bd, roll.index[-1], (pd.Timestamp("2024-04-30") + bd).day, bd.weekmask, per.freqstr, (pd.Timestamp("2024-01-05 16:30") + bh).hour
        dp.parse("01/02/2024", info).month, now(5), info.dayfirst
        """,
        named="it rset rule",
    ),
    "regular expressions, scanners, templates and text machinery": session(
        """
        import re, regex, string, textwrap, difflib, unicodedata, tokenize, io, ast, operator, jinja2, fnmatch, shlex, html.parser
        pat = re.compile(r"(?P<k>\\w+)=(?P<v>\\d+)", re.I); text = "a=1 b=22 c=333 D=4"; it = pat.finditer(text); m = next(it); sc = re.Scanner([(r"\\d+", lambda s, t: int(t) * scale), (r"\\w+", lambda s, t: t), (r"\\s+", None)]); scale = 2; lexer = pat.scanner(text, 4); s0 = lexer.search(); rx = regex.compile(r"(?:(\\d)\\s?)+"); rm = rx.match("1 2 3"); part = regex.fullmatch(r"\\d{4}", "12", partial=True); named = regex.compile(r"\\L<words>", words=["foo", "bar"]); rit = regex.finditer(r"\\w", "xyz"); next(rit)
        def repl(mm): hits.append(mm); return str(int(mm["v"]) * scale)
        hits = []; sub = lambda s: pat.sub(repl, s); first = sub("q=5")
        class Tpl(string.Template): delimiter = "@"; idpattern = "[a-z.]+"
        class Fmt(string.Formatter):
            used = set()
            def get_value(self, k, a, kw): Fmt.used.add(k); return kw.get(k, f"<{k}>")
        tpl, fmt = Tpl("hi @user.name"), Fmt(); fmt.format("{x}"); sm = difflib.SequenceMatcher(None, "abcd", "bcde"); sm.ratio(); blocks = sm.get_matching_blocks(); wrap = textwrap.TextWrapper(width=10, initial_indent="* "); env = jinja2.Environment(loader=jinja2.DictLoader({"base": "{% block b %}base{% endblock %}", "kid": "{% extends 'base' %}{% block b %}{{ super() }}+{{ x|money }}{% endblock %}"}), trim_blocks=True); env.filters["money"] = lambda v: f"{v * scale}€"; env.globals["site"] = {"n": 1}; t = env.get_template("kid"); inline = env.from_string("{{ site.n }}{% for i in xs %}{{ loop.index }}{% endfor %}"); gen = t.generate(x=1); table = str.maketrans({"a": "1", "b": None}); tree = ast.parse("a + b * 2"); code = compile(tree.body[0].value and ast.Expression(tree.body[0].value), "<q>", "eval"); get = operator.itemgetter("k"); attr = operator.attrgetter("string")
        class P(html.parser.HTMLParser):
            def __init__(self): super().__init__(); self.links = []
            def handle_starttag(self, t, a): self.links += [v for k, v in a if k == "href"]
        hp = P(); hp.feed("<a href='1'>x</a><a hre")
        """,
        """
        next(it).group("k"), m["v"], m.re is pat, m.string is text, m.span("v"), [x["k"] for x in it]
        lexer.search()["k"], s0["k"], lexer.pattern is pat
        scale = 3 ;; sc.scan("4 ab")[0], sub("z=5"), first, len(hits), hits[0].group()
        rm.captures(1), rm.spans(1), part.partial, named.findall("foo bar baz"), next(rit).group(), rm.re is rx
        tpl.substitute({"user.name": "ann"}), fmt.format("{y} {z}", z=1), sorted(Fmt.used), type(tpl) is Tpl
        sm.ratio(), blocks is sm.get_matching_blocks(), wrap.fill("some words here"), wrap.width
        t.render(x=2), "".join(gen), t is env.get_template("kid"), t.environment is env
        env.globals["site"]["n"] = 5 ;; inline.render(xs="ab"), env.filters["money"](1), t.name
        "abc".translate(table), eval(code, {"a": 1, "b": 3}), ast.unparse(tree), get({"k": 4}), attr(m)[:3]
        hp.feed("f='2'>y</a>") ;; hp.links, hp.rawdata, hp.getpos()
        copy_ = re.compile(r"(?P<k>\\w+)=(?P<v>\\d+)", re.I) ;; copy_ is pat, copy_ == pat
        """,
        named="gen it lexer part rit rm sc",
        known="""
        copy_ = re.compile(r"(?P<k>\\w+)=(?P<v>\\d+)", re.I) ;; copy_ is pat, copy_ == pat
        """,
    ),
    "unittest.mock, patches that are started, suites and results": session(
        """
        import unittest, unittest.mock as mock, io, os, sys, datetime as dt, json, pathlib
        api = mock.Mock(spec_set=["get", "post"], name="api"); api.get.side_effect = [{"n": 1}, ValueError("late"), {"n": 3}]; r1 = api.get("/a", page=1); mm = mock.MagicMock(); mm.__len__.return_value = 4; mm.rows["k"].total = 9; mm.__enter__.return_value = "conn"; calls = api.mock_calls; parent = mock.Mock(); parent.attach_mock(mock.Mock(return_value=1), "step"); parent.step(5)
        class Store:
            limit = 10
            def save(self, x): return len(x)
            def load(self): return "real"
        patcher = mock.patch.object(Store, "save", autospec=True, return_value=77); fake = patcher.start(); env_p = mock.patch.dict(os.environ, {"STAGE": "test"}); env_p.start(); open_p = mock.mock_open(read_data="x\\ny\\n"); store = Store(); store.save([1]); clock = mock.patch("json.dumps", side_effect=lambda o: "patched"); seen = []
        prop = mock.PropertyMock(return_value=3); type(mm).size = prop; mm.size; wrapped = mock.Mock(wraps=store); wrapped.load(); am = mock.AsyncMock(return_value=5); sealed = mock.Mock(); sealed.ok = 1; mock.seal(sealed); sent = mock.sentinel.missing; auto = mock.create_autospec(Store); any_call = mock.call("/a", page=mock.ANY)
        class StoreTest(unittest.TestCase):
            shared = []
            @classmethod
            def setUpClass(cls): cls.shared.append("up")
            def setUp(self): self.addCleanup(seen.append, "clean")
            def test_ok(self): self.assertEqual(Store().load(), "real")
            def test_bad(self): self.assertEqual(1, expected)
            @unittest.skip("later")
            def test_skip(self): pass
        expected = 2; suite = unittest.defaultTestLoader.loadTestsFromTestCase(StoreTest); stream = io.StringIO(); result = unittest.TextTestRunner(stream=stream, verbosity=0).run(suite); case = StoreTest("test_ok")
        """,
        """
        r1, api.get.call_args_list, api.get.call_count, calls[0] == mock.call.get("/a", page=1), api.get.call_args == any_call
        api.get("/b")
        api.get("/c"), api.get.call_count, len(calls), api.mock_calls is calls
        api.delete
        len(mm), mm.rows["k"].total, mm.__enter__(), mm.size, prop.call_count
        store.save([1, 2]), fake.call_count, Store.save is fake, fake.call_args[0][0] is store
        patcher.stop() ;; store.save([1, 2]), Store.limit, os.environ["STAGE"]
        env_p.stop() ;; "STAGE" in os.environ, parent.mock_calls, parent.step.return_value
        result.testsRun, len(result.failures), len(result.skipped), StoreTest.shared, seen, result.failures[0][0].id()
        expected = 1 ;; unittest.TextTestRunner(stream=io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(StoreTest)).wasSuccessful(), seen.count("clean"), StoreTest.shared
        wrapped.load(), wrapped.load.call_count, sent is mock.sentinel.missing, auto.load.__class__.__name__ != "", mock.ANY == 5, sealed.ok
        sealed.other
        """,
        named="open_p",
    ),
    "http clients, sessions, cookies, requests that are prepared and stubs": session(
        """
        import requests, httpx, responses, http.cookiejar, http.server, urllib.request, urllib.parse, urllib.robotparser, email, email.message, email.policy, mailbox, base64, mimetypes, json
        s = requests.Session(); s.headers["X-Run"] = "7"; s.cookies.set("sid", "abc", domain="x.test"); s.auth = ("u", "p"); s.params = {"v": 1}; seen = []; s.hooks["response"].append(lambda r, *a, **k: seen.append(r.status_code)); req = requests.Request("POST", "http://x.test/a", json={"q": 1}); prep = s.prepare_request(req)
        class Stub(requests.adapters.BaseAdapter):
            def __init__(self, table): super().__init__(); self.table = table; self.sent = []
            def send(self, request, **kw):
                self.sent.append(request.url); r = requests.Response(); r.status_code = self.table.get(urllib.parse.urlsplit(request.url).path, 404); r._content = json.dumps({"p": request.path_url}).encode(); r.url = request.url; r.request = request; r.headers["Content-Type"] = "application/json"; return r
            def close(self): pass
        table = {"/ok": 200}; stub = Stub(table); s.mount("stub://", stub); ok = s.get("stub://h/ok"); retry = requests.adapters.HTTPAdapter(max_retries=2); s.mount("https://", retry)
        def handler(request): hits.append(request.url.path); return httpx.Response(200, json={"n": len(hits)})
        hits = []; client = httpx.Client(transport=httpx.MockTransport(handler), base_url="http://api.test", headers={"k": "v"}, event_hooks={"response": [lambda r: seen.append("hx")]}); h1 = client.get("/one"); hreq = client.build_request("GET", "/two"); rm = responses.RequestsMock(assert_all_requests_are_fired=False); rm.start(); rm.add(responses.GET, "http://m.test/z", json={"z": 1}); z = requests.get("http://m.test/z")
        jar = http.cookiejar.CookieJar(); opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar)); opener.addheaders = [("A", "b")]; urllib.request.install_opener(opener); msg = email.message.EmailMessage(); msg["Subject"] = "Ü"; msg.set_content("body"); msg.add_attachment(b"x,y", maintype="text", subtype="csv", filename="a.csv"); mimetypes.add_type("application/x-etl", ".etl"); box = mailbox.mbox("box.mbox"); key = box.add(msg); rp = urllib.robotparser.RobotFileParser(); rp.parse(["User-agent: *", "Disallow: /x"]); urllib.parse.uses_netloc.append("s3")
        """,
        """
        prep.url, prep.headers["X-Run"], prep.body, prep.headers["Authorization"][:6]
        table["/new"] = 201 ;; s.get("stub://h/new").status_code, stub.sent, seen, s.get_adapter("stub://h") is stub
        ok.json(), ok.request.headers["X-Run"], ok.elapsed is not None, ok.ok
        s.cookies.get("sid"), s.get_adapter("https://q").max_retries.total, s.adapters["https://"] is retry, s.auth
        client.send(hreq).json(), hits, h1.json(), str(client.base_url), client.headers["k"], seen[-1]
        requests.get("http://m.test/z").json(), len(rm.calls), rm.calls[0].response.json(), z.status_code
        rm.stop() ;; requests.adapters.HTTPAdapter.send.__name__
        urllib.request._opener is opener, opener.addheaders, [h.cookiejar is jar for h in opener.handlers if hasattr(h, "cookiejar")], mimetypes.guess_type("q.etl")
        msg["Subject"], msg.get_payload()[1].get_filename(), msg.policy is email.policy.default, rp.can_fetch("bot", "/x/1"), "s3" in urllib.parse.uses_netloc
        box.add("From: me\\n\\nsecond") ;; len(box), box[key]["Subject"] is not None, key
        box.flush() ;; len(mailbox.mbox("box.mbox"))
        client.close() ;; client.is_closed, client.get("/three")
        """,
    ),
    "containers with behaviour: ordered, layered, watched and weak": session(
        """
        import collections, collections.abc, weakref, types, sortedcontainers, bidict, array, bisect, heapq, operator, multidict, functools
        class Watched(dict):
            def __init__(self, *a, **k): self.log = []; super().__init__(*a, **k)
            def __setitem__(self, k, v): self.log.append(k); super().__setitem__(k, v * factor)
            def __missing__(self, k): self.log.append("?" + k); return self.setdefault(k, [])
        factor = 2; w = Watched(a=1); w["b"] = 5; w["c"]; dd = collections.defaultdict(lambda: collections.defaultdict(int)); dd["x"]["y"] += 1; dd2 = collections.defaultdict(functools.partial(Watched, z=1)); od = collections.OrderedDict(a=1, b=2, c=3); od.move_to_end("a"); odit = iter(od); next(odit); cm = collections.ChainMap({}, w, od); child = cm.new_child({"a": "child"}); proxy = types.MappingProxyType(w); keys, items = w.keys(), od.items(); ctr = collections.Counter("banana"); ctr.subtract("nn"); el = ctr.elements()
        class Node:
            def __init__(self, n, p=None): self.n = n; self.p = weakref.ref(p) if p else None; self.kids = weakref.WeakSet(); p and p.kids.add(self)
            def close(self): gone.append(self.n)
        gone = []; root = Node("r"); kid = Node("k", root); wv = weakref.WeakValueDictionary(r=root, k=kid); wk = weakref.WeakKeyDictionary({root: [1]}); wm = weakref.WeakMethod(kid.close); fin = weakref.finalize(root, gone.append, "fin"); cb = weakref.ref(kid, lambda r: gone.append("dead")); px = weakref.proxy(root)
        class Typed(collections.abc.MutableSequence):
            def __init__(self, t): self.t, self.d = t, []
            def __getitem__(self, i): return self.d[i]
            def __setitem__(self, i, v): self.d[i] = self.t(v)
            def __delitem__(self, i): del self.d[i]
            def __len__(self): return len(self.d)
            def insert(self, i, v): self.d.insert(i, self.t(v))
        class UL(collections.UserList):
            def append(self, x): self.data.append((len(self), x))
        ty = Typed(int); ty.append("4"); ul = UL([1]); ul.append("z"); sl = sortedcontainers.SortedList([3, 1], key=operator.neg); sd = sortedcontainers.SortedDict(b=1, a=2); ks = sd.keys(); bd = bidict.bidict(a=1); inv = bd.inverse; arr = array.array("d", [1, 2]); mv = memoryview(arr); fs = frozenset([1, (2, root)]); tup = ([],); tup2 = (tup[0], tup); md = multidict.CIMultiDict(a="1"); md.add("A", "2"); sl_ = slice(1, None, 2); rg = range(0, 10, 3); st = {w.__class__: "cls", len: "fn", None: 0, 1.0: "one"}
        """,
        """
        dict(w), w.log, w["zz"], w.log[-1], type(w) is Watched
        factor = 10; w["q"] = 1 ;; w["q"], proxy["q"], "q" in keys, cm["q"], w.log[-1]
        od["z"] = 9 ;; list(od), list(items)[-1], child["a"], child.parents.maps[1] is w, cm["a"]
        next(odit)
        dd["n"]["m"] += 5 ;; dict(dd["n"]), dd.default_factory()["k"], dd2["t"]["z"], sorted(el), ctr.most_common(1)
        wv["r"] is root, wk[root], wm()(), gone, kid.p() is root, kid in root.kids, px.n, fin.alive
        root.tag = 1 ;; px.tag, wv["r"].tag, fs == frozenset([1, (2, root)])
        del kid; import_gc = __import__("gc").collect() ;; gone[-1], len(root.kids), cb() is None, sorted(wv)
        fin() ;; gone[-1], fin.alive, fin()
        ty.append("5"); ul.append("y") ;; ty.d, ul.data, ty.t is int, ty.index(5)
        sl.add(2); sd["0"] = 5; bd["b"] = 2 ;; list(sl), list(ks), inv[2], inv.inverse is bd, md.getall("a")
        mv[0] = 9; tup[0].append(1) ;; arr.tolist(), tup2[0], tup2[1] is tup, mv.obj is arr, st[Watched], st[1], "abcdef"[sl_], rg[-1]
        """,
        named="mv",
    ),
    "exceptions kept, tracebacks, notes and groups": session(
        """
        import traceback, sys, functools, contextlib, json, subprocess, warnings
        class LoadError(Exception):
            codes = {}
            def __init__(self, path, *, code): super().__init__(f"{path} ({code})"); self.path, self.code = path, code; LoadError.codes[code] = self
        class RowError(ValueError):
            def __init__(self, row, col): self.row, self.col = row, col
            def __str__(self): return f"row {self.row}, {self.col}, {sep}"
        sep = "x"; kept = []
        def parse(v):
            try: return int(v)
            except ValueError as e:
                e.add_note(f"value {v!r}")
                raise LoadError("a.csv", code=7) from e
        try: parse("oops")
        except LoadError as e: err = e
        try:
            try: {}["k"]
            except KeyError: raise RowError(3, "c")
        except RowError as e: row = e; tb = e.__traceback__; info = sys.exc_info()[0]
        eg = ExceptionGroup("many", [err, ValueError("v"), ExceptionGroup("in", [TypeError("t")])]); match, rest = eg.split(ValueError); te = traceback.TracebackException.from_exception(err); formatted = traceback.format_exception(err); ue = UnicodeDecodeError("utf-8", b"\\xff", 0, 1, "bad"); si = StopIteration(5); oe = FileNotFoundError(2, "No such", "f.txt"); se = SystemExit(3); jd = None
        try: json.loads("{bad")
        except json.JSONDecodeError as e: jd = e
        ie = ImportError("no", name="mod", path="/p"); ke = KeyError("k"); ke.__cause__ = row; ke.extra = {"ctx": [row]}; results = [1, err, None]; handler = {LoadError: lambda e: e.code * 2, ValueError: lambda e: str(e)}
        # %%
        # raises
        last_good = 5
        raise RowError(9, "z")
        """,
        """
        str(err), err.path, err.code, LoadError.codes[7] is err, len(LoadError.codes), results[1] is err, last_good
        type(err.__cause__).__name__, err.__cause__.__notes__, err.__suppress_context__, err.__traceback__ is not None
        sep = "y" ;; str(row), row.args, type(row.__context__).__name__, row.__suppress_context__, handler[LoadError](err)
        tb is row.__traceback__, tb.tb_lineno > 0, info is RowError, tb.tb_frame.f_code.co_name
        [type(e).__name__ for e in eg.exceptions], match.exceptions[0] is eg.exceptions[1], rest.exceptions[0] is err, eg.message
        str(te), te.exc_type.__name__, formatted[-1], te.__cause__.__notes__
        ue.reason, ue.object, si.value, oe.filename, oe.errno, se.code, jd.pos, jd.doc, jd.lineno, ie.name, ie.path
        ke.__cause__ is row, ke.extra["ctx"][0] is row, repr(ke)
        [handler.get(type(e), repr)(e) for e in (err, ue) if e]
        raise_again = err ;; exec("raise raise_again")
        RowError(1, "a").__class__ is type(row), "".join(traceback.format_exception(row)).count("RowError") >= 1
        """,
    ),
    "a little framework: tasks, a graph, state and a scheduler": session(
        """
        import graphlib, dataclasses, functools, heapq, inspect, typing, collections, enum, threading
        class State(enum.Enum):
            NEW = "new"; RUN = "run"; DONE = "done"
            def next(self): return list(State)[(list(State).index(self) + 1) % 3]
        class Task:
            registry: dict = {}; _counter = iter(range(1, 100))
            def __init__(self, fn, deps=()): self.fn, self.deps, self.state, self.id = fn, deps, State.NEW, next(Task._counter); Task.registry[fn.__name__] = self; functools.update_wrapper(self, fn)
            def __call__(self, ctx): self.state = State.DONE; ctx.setdefault("order", []).append(self.__name__); return self.fn(ctx)
            def __rshift__(self, o): o.deps += (self,); return o
        def task(fn=None, *, deps=()): return Task(fn, deps) if fn else functools.partial(Task, deps=deps)
        @task
        def extract(ctx): return [1, 2, 3]
        @task(deps=(extract,))
        def transform(ctx): return [x * rate for x in ctx["extract"]]
        @task
        def load(ctx): sink.extend(ctx["transform"]); return len(sink)
        transform >> load; rate = 10; sink = []; ts = graphlib.TopologicalSorter({t: t.deps for t in Task.registry.values()}); ts.prepare(); ready = ts.get_ready(); ctx = {}; ctx["extract"] = ready[0](ctx); ts.done(*ready)
        class Bus:
            def __init__(self): self.subs = collections.defaultdict(list); self._l = threading.RLock()
            def on(self, ev): return lambda f: self.subs[ev].append(f) or f
            def emit(self, ev, *a):
                with self._l: return [f(*a) for f in self.subs[ev]]
        bus = Bus()
        @bus.on("row")
        def audit(x): seen.append(x); return len(seen)
        class Sink:
            def __init__(self, b): self.rows = []; b.on("row")(self.take)
            def take(self, x): self.rows.append(x); return "sink"
        seen = []; sk = Sink(bus); bus.emit("row", 1); heap = [(3, extract.id, extract), (1, load.id, load)]; heapq.heapify(heap); g = {"nodes": {t: {} for t in Task.registry.values()}, "edges": {(d, t) for t in Task.registry.values() for d in t.deps}}; g["nodes"][extract]["owner"] = sk; topo = graphlib.TopologicalSorter({t: t.deps for t in Task.registry.values()}).static_order(); n0 = next(topo); plan = inspect.signature(extract.fn); states = {t: t.state for t in Task.registry.values()}
        """,
        """
        ready2 = ts.get_ready() ;; [t.__name__ for t in ready2], ready2[0] is transform, ready[0] is extract
        ctx["transform"] = ready2[0](ctx); ts.done(*ready2) ;; ctx["order"], ctx["transform"], ts.is_active(), ts.get_ready()[0] is load
        rate = 2 ;; transform.fn(ctx), load(ctx), sink, ctx["order"]
        bus.emit("row", 2), seen, sk.rows, bus.subs["row"][0] is audit, bus.subs["row"][1].__self__ is sk
        Task(lambda c: 0).id, next(Task._counter), len(Task.registry), Task.registry["load"] is load
        heapq.heappop(heap)[2] is load, extract.state is State.DONE, State("done").next() is State.NEW, states[extract] is State.NEW or states[extract]
        next(topo) is transform, n0 is extract, g["nodes"][extract]["owner"] is sk, (transform, load) in g["edges"], transform.deps[0] is extract
        sk.rows.append("x") ;; g["nodes"][extract]["owner"].rows, len(g["edges"]), [t.__name__ for t in g["nodes"]]
        bus._l.acquire(blocking=False), extract.__wrapped__ is extract.fn, str(plan), bus.on("x")(len) is len
        """,
        named="topo",
    ),
    "command lines, arguments, rich consoles and progress": session(
        """
        import argparse, click, typer, rich.console, rich.table, rich.progress, io, sys, optparse, cmd, getopt, click.testing, pprint, textwrap
        ap = argparse.ArgumentParser("etl"); ap.add_argument("--n", type=lambda s: int(s) * mult, default=3); ap.add_argument("-v", action="count", default=0); sub = ap.add_subparsers(dest="cmd"); run = sub.add_parser("run"); run.add_argument("files", nargs="*"); run.set_defaults(func=lambda a: (len(a.files), mult)); mult = 10; ns = ap.parse_args(["--n", "4", "-vv", "run", "a", "b"])
        class Upper(argparse.Action):
            def __call__(self, p, ns, v, o=None): seen.append(v); setattr(ns, self.dest, v.upper())
        seen = []; ap.add_argument("--tag", action=Upper); grp = ap.add_mutually_exclusive_group(); grp.add_argument("--x", action="store_true"); grp.add_argument("--y", action="store_true")
        @click.group()
        @click.option("--debug/--no-debug", default=False)
        @click.pass_context
        def cli(ctx, debug): ctx.obj = {"debug": debug, "m": mult}
        @cli.command()
        @click.argument("name", type=click.Choice(["a", "b"]))
        @click.pass_obj
        def show(obj, name): seen.append(name); click.echo(f"{name} {obj}")
        res = click.testing.CliRunner().invoke(cli, ["--debug", "show", "a"]); app = typer.Typer()
        @app.command()
        def hello(name: str, n: int = 1): seen.append((name, n * mult)); print(name)
        buf = io.StringIO(); con = rich.console.Console(file=buf, width=40, force_terminal=False, record=True); con.print("[bold]hi[/bold]"); tab = rich.table.Table("k", "v", title="t"); tab.add_row("a", "1"); prog = rich.progress.Progress(console=con, disable=True); tid = prog.add_task("load", total=10); prog.advance(tid, 4)
        class Shell(cmd.Cmd):
            prompt = "> "
            def do_add(self, l): self.total = getattr(self, "total", 0) + int(l)
            def postcmd(self, stop, line): seen.append(line); return stop
        sh = Shell(stdout=buf); sh.onecmd("add 4"); pp = pprint.PrettyPrinter(width=20, stream=buf)
        """,
        """
        ns.n, ns.v, ns.cmd, ns.files, ns.func(ns)
        mult = 2 ;; ap.parse_args(["--n", "4", "--tag", "q"]).n, seen[-1], ns.func(ns), vars(ap.parse_args([]))
        run.parse_args(["z"]).files, sub.choices["run"] is run, ap._option_string_actions["--tag"].__class__ is Upper, ap.format_usage()[:10]
        ap.add_argument("--late", default=1) ;; ap.parse_args([]).late, run.get_default("func") is ns.func
        res.exit_code, res.output, click.testing.CliRunner().invoke(cli, ["show", "b"]).output, seen[-1]
        cli.commands["show"] is show, show.params[0].type.choices, click.testing.CliRunner().invoke(cli, ["show", "c"]).exit_code
        __import__("typer.testing").testing.CliRunner().invoke(app, ["ann", "--n", "3"]).exit_code, seen[-1]
        con.print(tab) ;; "a" in buf.getvalue(), con.file is buf, con.width, tab.row_count, con.export_text()[:2]
        prog.advance(tid) ;; prog.tasks[0].completed, prog.tasks[0].percentage, prog.console is con
        sh.onecmd("add 5") ;; sh.total, sh.stdout is buf, sh.prompt, pp._stream is buf
        """,
        named="con prog",
    ),
    "typing constructs, protocols, generics and functions made at run time": session(
        """
        import typing, types, inspect, functools, abc, copy, sys, collections, operator, dis
        T = typing.TypeVar("T", bound="Base"); K = typing.NewType("K", int); P = typing.ParamSpec("P")
        @typing.runtime_checkable
        class Loads(typing.Protocol):
            def load(self) -> dict: ...
        class Base(typing.Generic[T]):
            def __class_getitem__(cls, k): seen.append(k); return super().__class_getitem__(k)
            def load(self): return {"v": level}
        seen = []; level = 1
        class TD(typing.TypedDict, total=False): a: typing.Required[int]; b: str
        Alias = dict[str, list[T]]; BI = Base[int]; fn_t = typing.Callable[P, T]; hints = typing.get_type_hints(TD); Lit = typing.Literal["a", "b"]; Ann = typing.Annotated[int, {"unit": "ms"}]; un = int | None; b = BI()
        ns = {"level": 5}; exec("def ext(x, *, y=[]):\\n    y.append(x)\\n    return x + level, y\\nclass Made:\\n    v = level\\n    def get(self): return level\\n", ns); ext, Made = ns["ext"], ns["Made"]; ext(1); mo = Made()
        mod = types.ModuleType("rules"); exec("limit = 3\\ndef check(x): return x > limit\\n", mod.__dict__); sys.modules["rules"] = mod; import rules; from rules import check
        code = compile("level * 2", "<expr>", "eval"); clone = types.FunctionType(check.__code__, {"limit": 100}, "clone"); f2 = types.FunctionType(ext.__code__, globals(), "f2", ext.__defaults__); f2.__kwdefaults__ = {"y": []}; lam = eval("lambda x: x + level"); meth = types.MethodType(lambda self, k: (self.load()["v"], k), b); b.extra = meth; sig = inspect.signature(ext); bound = sig.bind(5, y=[1]); Cls = types.new_class("Cls", (Base,), {}, lambda d: d.update(z=7)); cell = types.CellType(3)
        def over(): pass
        @typing.overload
        def conv(x: int) -> int: ...
        @typing.overload
        def conv(x: str) -> str: ...
        def conv(x): return x
        over.__code__ = (lambda: level * 100).__code__; over.meta = {"fn": ext}; over.__annotations__ = {"return": K}
        """,
        """
        level = 2 ;; b.load(), b.extra("k"), eval(code), lam(1), over(), mo.get(), Made.v
        ns["level"] = 50 ;; ext(2), mo.get(), ext.__globals__ is ns, Made().get()
        mod.limit = 10 ;; check(5), rules.check is check, rules is mod, check.__globals__ is mod.__dict__, clone(50)
        f2(1), f2.__kwdefaults__, f2.__globals__ is globals(), f2.__name__
        isinstance(b, Loads), seen, BI.__origin__ is Base, b.__orig_class__ is BI or b.__orig_class__ == BI, typing.get_args(Alias)
        hints["a"], TD.__required_keys__, TD.__total__, Ann.__metadata__[0]["unit"], K(3), K.__name__, K.__supertype__ is int
        typing.get_args(Lit), un == (int | None), T.__bound__ is not None, fn_t.__parameters__[0] is P, typing.get_args(fn_t)[1] is T
        bound.arguments["x"], str(sig), bound.signature is sig, Cls.z, Cls().load(), issubclass(Cls, Base), cell.cell_contents
        over.meta["fn"] is ext, over.__annotations__["return"] is K, len(typing.get_overloads(conv)), conv.__module__
        Base[str] ;; seen[-1], inspect.getsource(conv) != "", Loads in Base.__mro__
        """,
    ),
    "file watching state, checkpoints, manifests and atomic writes": session(
        """
        import pathlib, json, os, hashlib, filelock, fcntl, tempfile, contextlib, functools, time, stat, shutil, secrets, select, selectors, socket
        base = pathlib.Path("landing"); base.mkdir(); [(base / f"f{i}.csv").write_text(f"id\\n{i}\\n") for i in range(4)]; os.utime(base / "f0.csv", (100, 100))
        class Checkpoint:
            def __init__(self, p): self.p = pathlib.Path(p); self.done = set(json.loads(self.p.read_text())) if self.p.exists() else set(); self.dirty = False
            def mark(self, k): self.done.add(k); self.dirty = True
            def save(self):
                tmp = self.p.with_suffix(".tmp"); tmp.write_text(json.dumps(sorted(self.done))); os.replace(tmp, self.p); self.dirty = False
        cp = Checkpoint("cp.json"); cp.mark("f0"); cp.save(); cp.mark("f1"); lk = filelock.FileLock("etl.lock"); lk.acquire(); lf = open("flock.lock", "w"); fcntl.flock(lf, fcntl.LOCK_EX); manifest = {p: p.stat() for p in sorted(base.iterdir())}; todo = (p for p in sorted(base.iterdir()) if p.stem not in cp.done); t0 = next(todo); digest = functools.lru_cache(lambda p: hashlib.md5(p.read_bytes()).hexdigest()); d0 = digest(base / "f0.csv")
        journal = open("journal.log", "a+", buffering=1); journal.write("start\\n"); part = open("out.part", "wb"); part.write(b"half"); handles = {p.name: open(p) for p in sorted(base.iterdir())[:2]}; handles["f0.csv"].readline(); a, b = socket.socketpair(); a.send(b"msg"); a.settimeout(2); sel = selectors.DefaultSelector(); sel.register(b, selectors.EVENT_READ, data={"name": "b"}); (base / "ro").mkdir(); os.chmod(base / "f3.csv", 0o400); os.chmod(base / "ro", 0o500); shutil.copytree(base, "backup"); os.mkfifo("pipe"); sparse = open("sparse.bin", "wb"); sparse.truncate(10 ** 6); sparse.close(); dirfd = os.open("landing", os.O_RDONLY)
        """,
        """
        sorted(cp.done), cp.dirty, json.loads(cp.p.read_text()), cp.save(), Checkpoint("cp.json").done == cp.done
        lk.is_locked, lk.lock_counter, lk.lock_file, lk.timeout
        filelock.FileLock(lk.lock_file, timeout=0, is_singleton=False).acquire()
        lk.release() ;; lk.is_locked, filelock.FileLock("etl.lock", timeout=0).acquire().__class__.__name__
        next(todo).name, t0.name, manifest[base / "f0.csv"].st_mtime, manifest[base / "f0.csv"].st_size, (base / "f0.csv").stat().st_mtime
        (base / "f0.csv").write_text("changed") ;; digest(base / "f0.csv") == d0, digest.cache_info().hits, handles["f1.csv"].read()
        handles["f0.csv"].tell(), handles["f0.csv"].closed, journal.write("next\\n"), open("journal.log").read()
        part.write(b"done"); part.close(); os.replace("out.part", "out.bin") ;; open("out.bin", "rb").read()
        b.recv(10), a.gettimeout(), a.fileno() >= 0, sel.get_key(b).data
        a.send(b"x") ;; [k.data["name"] for k, _ in sel.select(0.1)]
        stat.S_IMODE(os.stat(base / "f3.csv").st_mode), stat.S_IMODE(os.stat("backup/ro").st_mode), stat.S_ISFIFO(os.stat("pipe").st_mode), os.path.getsize("sparse.bin"), os.stat("sparse.bin").st_blocks < 100
        sorted(os.listdir(dirfd)), os.stat("f1.csv", dir_fd=dirfd).st_size
        """,
        named="a b lk pipe sel todo",
    ),
}
