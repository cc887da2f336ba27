"""Values of Python's own library: numbers, times, iterators, contexts, threads, what cannot be kept."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "numbers": session(
        """
        import decimal, fractions, math, cmath, random, statistics, numbers
        D = decimal.Decimal; d = D("1.10"); dn = D("NaN"); di = D("-Infinity"); ctx = decimal.Context(prec=4); dd = {dn.__class__("1"): 1}
        fr = fractions.Fraction(1, 3); big = 10 ** 500; neg0 = -0.0; inf = float("inf"); c = complex(float("nan"), 1); cs = [c]
        rnd = random.Random(5); rnd.random(); st = rnd.getstate(); sysr = random.SystemRandom(); nd = statistics.NormalDist(1, 2)
        hexed = (0.1).hex(); tiny = 5e-324
        """,
        """
        d + 1, dn.is_nan(), di, ctx.divide(D(1), D(3))
        fr * 3, len(str(big)), math.copysign(1, neg0), inf
        c in cs, cs[0] is c
        rnd.random(), st == rnd.getstate()
        nd.cdf(1), type(sysr).__name__
        float.fromhex(hexed), tiny
        """,
    ),
    "times": session(
        """
        import datetime as dt, zoneinfo, time, calendar
        tz = zoneinfo.ZoneInfo("Europe/Berlin"); a = dt.datetime(2024, 10, 27, 2, 30, tzinfo=tz, fold=1); b = a.replace(fold=0); fixed = dt.timezone(dt.timedelta(hours=5.5), "IST")
        class Own(dt.tzinfo):
            def utcoffset(self, d): return dt.timedelta(hours=2)
            def tzname(self, d): return "OWN"
            def dst(self, d): return None
        own = Own(); c = dt.datetime(2024, 1, 1, tzinfo=own); st = time.gmtime(0); iso = a.isocalendar(); cal = calendar.TextCalendar(6)
        class Day(dt.date):
            def label(self): return f"day {self.day}"
        day = Day(2024, 2, 3); delta = dt.timedelta(days=-1, microseconds=5)
        """,
        """
        a.utcoffset(), b.utcoffset(), a.fold, a.tzinfo is tz
        a - b, fixed.utcoffset(None), fixed.tzname(None)
        c.tzname(), c.tzinfo is own
        st.tm_year, iso.week, cal.firstweekday
        day.label(), type(day + dt.timedelta(1)).__name__, delta
        zoneinfo.ZoneInfo("Europe/Berlin") is tz
        """,
    ),
    "iterators": session(
        """
        import itertools, functools
        lst = [1, 2, 3]; it = iter(lst); next(it); r = iter(range(5)); next(r); rev = reversed(lst); dk = iter({"a": 1, "b": 2}); next(dk)
        z = zip("ab", it); m = map(lambda x: x * k, [1, 2, 3]); k = 2; next(m); f = filter(None, [0, 1, 2]); e = enumerate("xyz", 5); next(e)
        ch = itertools.chain([1], [2]); next(ch); isl = itertools.islice(range(10), 2, 8, 2); cyc = itertools.cycle("ab"); next(cyc); rep = itertools.repeat(7, 3); acc = itertools.accumulate([1, 2, 3]); next(acc)
        gen = (i for i in range(5)); next(gen)
        def produce():
            for i in range(3): yield i
        live = produce(); next(live); st = iter({1, 2, 3}); tee1, tee2 = itertools.tee([1, 2, 3]); next(tee1)
        """,
        """
        next(r), next(rev), next(dk)
        k = 10 ;; next(m)
        next(f), next(e)
        next(ch), next(isl), next(cyc), next(rep), next(acc)
        next(gen)
        next(live)
        lst.append(9) ;; list(it)
        next(tee1)
        next(tee2)
        """,
        named="gen live tee1 tee2 z it st cyc isl",
    ),
    "threads and locks": session(
        """
        import threading, queue, concurrent.futures, asyncio, time
        lock = threading.Lock(); rl = threading.RLock(); ev = threading.Event(); ev.set(); cond = threading.Condition(); sem = threading.Semaphore(3); sem.acquire(); bar = threading.Barrier(2); loc = threading.local(); loc.x = 5
        q = queue.Queue(); q.put(1); q.put(2); pq = queue.PriorityQueue(); pq.put((2, "b")); pq.put((1, "a")); sq = queue.SimpleQueue()
        held = threading.Lock(); held.acquire()
        pool = concurrent.futures.ThreadPoolExecutor(1); fut = pool.submit(lambda: 5); fut.result()
        aq = asyncio.Queue(); aev = asyncio.Event()
        t = threading.Thread(target=time.sleep, args=(60,), daemon=True); t.start()
        class Guarded:
            def __init__(self): self.lock = threading.Lock(); self.n = 0
            def up(self):
                with self.lock: self.n += 1
                return self.n
        g = Guarded(); g.up()
        """,
        """
        lock.locked(), rl.acquire(blocking=False)
        ev.is_set(), sem._value
        q.get_nowait(), q.qsize(), pq.get_nowait()
        g.up(), g.lock.locked()
        loc.x
        held.locked()
        fut.result()
        t.is_alive()
        aq.empty(), aev.is_set()
        """,
        named="lock rl ev cond sem bar loc q pq sq held pool fut t aq aev",
    ),
    "processes and sockets": session(
        """
        import subprocess, socket, multiprocessing, os, selectors, tempfile, ssl, mmap
        p = subprocess.Popen(["sleep", "0"]); p.wait(); done = subprocess.run(["echo", "hi"], capture_output=True, text=True)
        a, b = socket.socketpair(); r, w = os.pipe(); sel = selectors.DefaultSelector()
        ctx = ssl.create_default_context(); plain = 5; frozen = frozenset({1})
        """,
        """
        done.stdout, done.returncode, done.args
        p.returncode
        a.send(b"x")
        sel.get_map() is not None
        ctx.verify_mode
        plain, frozen
        """,
        named="p a b sel ctx r w",
    ),
    "collections": session(
        """
        import collections, types, heapq, array, bisect, graphlib, queue, copy
        cm = collections.ChainMap({"a": 1}, {"b": 2}); inner = cm.maps[1]; od = collections.OrderedDict(a=1, b=2); od.move_to_end("a"); dd = collections.defaultdict(lambda: collections.defaultdict(list)); dd["x"]["y"].append(1)
        dq = collections.deque([1, 2, 3], maxlen=3); dq.rotate(1); cn = collections.Counter("hello"); ud = collections.UserDict(a=1); ul = collections.UserList([1]); ns = types.SimpleNamespace(a=[1]); mp = types.MappingProxyType(od)
        hp = [3, 1, 2]; heapq.heapify(hp); ar = array.array("i", [1, 2]); ts = graphlib.TopologicalSorter({"a": {"b"}}); keys = od.keys(); items = cm.items(); fz = frozenset([frozenset([1]), (2,)])
        nested = {"t": ({"u": [od]},)}; empty = (), [], {}, set(), frozenset(); sl = slice(1, None, 2); rg = range(10**20, 10**20 + 3); by = bytes(range(256)); ba = bytearray(b"ab")
        class Sub(dict): pass
        sub = Sub(a=1); sub.tag = "t"; tup = tuple([1]); al = [tup, tup]
        """,
        """
        inner["b"] = 9 ;; cm["b"], list(items)
        list(od), list(keys), od.popitem() ;; list(mp)
        dd["q"]["r"], dict(dd["x"])
        dq.append(9) ;; list(dq), cn.most_common(1)
        ud.data, ul + [2], ns.a, nested["t"][0]["u"][0] is od
        heapq.heappop(hp), ar.typecode, list(ts.static_order())
        frozenset([1]) in fz, list(rg)[1], by[200], ba, sl.indices(5)
        sub.tag, sub["a"], al[0] is al[1]
        """,
        named="ts",
    ),
    "regular expressions and text": session(
        """
        import re, string, difflib, textwrap, unicodedata, locale, codecs, struct, hashlib, base64, uuid, secrets, ipaddress, urllib.parse, pathlib
        pat = re.compile(r"(?P<y>\\d{4})-(\\d\\d)", re.I); m = pat.search("on 2024-05 x"); ms = list(pat.finditer("2024-01 2025-02")); scanner = pat.scanner("2024-01")
        sm = difflib.SequenceMatcher(None, "abc", "abd"); tr = str.maketrans("ab", "xy"); wrap = textwrap.TextWrapper(width=10); enc = codecs.lookup("utf-8"); stc = struct.Struct("<ih"); h = hashlib.sha256(b"a"); dec = codecs.getincrementaldecoder("utf-8")()
        u = uuid.UUID(int=5); ip = ipaddress.ip_network("10.0.0.0/30"); url = urllib.parse.urlparse("http://a/b?c=1#d"); p = pathlib.Path("a") / "b.txt"; pp = pathlib.PurePosixPath("/x/y")
        """,
        """
        m.group("y"), m.span(), m.re is pat
        ms[0].group()
        ms[1].span()
        sm.ratio(), "aabb".translate(tr), wrap.wrap("hello big world")
        stc.pack(1, 2), stc.size, enc.name
        u.hex, list(ip.hosts()), url.query, p.suffix, pp.parent
        h.hexdigest()[:6]
        """,
        named="ms scanner h dec sm enc",
    ),
    "contexts and coroutines": session(
        """
        import asyncio, contextlib, contextvars, functools, types, warnings, inspect, abc, operator
        async def fetch(x): await asyncio.sleep(0); return x * scale
        scale = 2
        async def agen():
            for i in range(2): yield i * scale
        @contextlib.contextmanager
        def opened(tag): log.append("in " + tag); yield tag; log.append("out")
        log = []; nul = contextlib.nullcontext(5); sup = contextlib.suppress(KeyError)
        @contextlib.asynccontextmanager
        async def aopened(): yield scale
        getter = operator.itemgetter("a", "b"); attr = operator.attrgetter("x.y"); caller = operator.methodcaller("upper"); meth = types.MethodType(lambda self: self + 1, 5); sig = inspect.signature(fetch); bound = "abc".upper; cls_m = dict.fromkeys
        part = functools.partialmethod(print); cmp = functools.cmp_to_key(lambda a, b: b - a)
        """,
        """
        asyncio.run(fetch(4))
        scale = 7 ;; asyncio.run(fetch(1))
        asyncio.run((lambda: [i async for i in agen()])()) if False else [x for x in asyncio.run(__import__("asyncio").wait_for(fetch(2), 1)).__str__()]
        with opened("x") as v: pass ;; log, v
        with nul as n: pass ;; n
        with sup: {}["q"] ;; "went on"
        getter({"a": 1, "b": 2}), caller("x"), meth(), bound(), cls_m("ab")
        str(sig), sorted([1, 3, 2], key=cmp)
        """,
        named="nul sup cmp",
    ),
    "names that are odd": session(
        """
        größe = 5; _private = 6; __dunder = 7; class_ = 8; data = 1; x = y = z = [1]; a, *rest = range(4); λ = lambda q: q + größe
        print_ = print; len = lambda v: 99; sum = 5; list_ = list; type_ = type; id = 3; open_ = open
        del data
        def outer():
            global made_global
            made_global = 11
        outer()
        for i in range(3): pass
        import sys as _s, math as m; from os.path import join as j; import xml.etree.ElementTree as ET
        if (w := 10) > 5: walrus = w
        """,
        """
        größe, _private, __dunder, class_
        x.append(2) ;; y, z is x
        rest, λ(1)
        len([1]), sum, id, print_ is print, list_ is list
        data
        made_global, i, walrus
        m.pi > 3, j("a", "b"), _s.__name__, ET.__name__
        open_ is open
        """,
    ),
    "annotations and generics": session(
        """
        from __future__ import annotations
        import typing, dataclasses, enum, abc
        @dataclasses.dataclass
        class Tree:
            value: int
            left: Tree | None = None
            extra: dict[str, list[int]] = dataclasses.field(default_factory=dict)
        class Movie(typing.TypedDict, total=False):
            name: str
            year: typing.Required[int]
        UserId = typing.NewType("UserId", int); Pair = tuple[int, str]; Maybe = typing.Optional[int]; Lit = typing.Literal["a", "b"]; Ann = typing.Annotated[int, "meta"]; Call = typing.Callable[[int], str]
        T = typing.TypeVar("T", bound=int); P = typing.ParamSpec("P"); Ts = typing.TypeVarTuple("Ts")
        def f(a: int, b: Tree = None, *, c: "str" = "x") -> list[Tree]: return [b]
        @typing.overload
        def g(a: int) -> int: ...
        @typing.overload
        def g(a: str) -> str: ...
        def g(a): return a
        t = Tree(1, Tree(2)); mv: Movie = {"year": 2000}
        """,
        """
        typing.get_type_hints(f)
        t.left.value, dataclasses.asdict(t), Tree.__dataclass_fields__["extra"].default_factory
        typing.get_type_hints(Movie), Movie.__required_keys__, mv
        UserId(5), UserId.__supertype__, Pair, Maybe, Lit.__args__, Ann.__metadata__
        T.__bound__, P.__name__, Call.__args__
        len(typing.get_overloads(g)) >= 0, f.__kwdefaults__, f.__annotations__
        Tree(1) == Tree(1), repr(t)
        x: list[T] = [] ;; x
        """,
    ),
    "libraries' own objects": session(
        """
        import matplotlib.dates as md, matplotlib.colors as mc, matplotlib.ticker as mt, seaborn as sns, pandas as pd, numpy as np
        fmt = md.DateFormatter("%Y"); loc = md.AutoDateLocator(); cm = mc.LinearSegmentedColormap.from_list("own", ["red", "blue"]); norm = mc.BoundaryNorm([0, 1, 2], 2); ff = mt.FuncFormatter(lambda v, p: f"{v * k}"); k = 3
        pal = sns.color_palette("husl", 3); g = sns.FacetGrid(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), col="b"); gen = np.random.Generator(np.random.PCG64(3)); ss = np.random.SeedSequence(5); child = ss.spawn(1)[0]
        cut = pd.cut([1, 5], [0, 3, 6]); ew = pd.Series([1.0, 2]).ewm(span=2); gb = pd.DataFrame({"k": [1, 1], "v": [2, 3]}).groupby("k"); acc = pd.Series(["a"]).str; dta = pd.Series(pd.to_datetime(["2024-01-01"])).dt
        """,
        """
        fmt(19723), cm(0.5), norm(1.5)
        k = 5 ;; ff(2)
        list(pal)[0], len(g.axes.flat), g.fig.axes[0] is g.axes.flat[0]
        gen.integers(100), ss.spawn(1)[0].generate_state(1).tolist(), child.generate_state(1).tolist()
        cut.codes.tolist(), ew.mean().tolist(), gb.v.sum().to_dict()
        acc.upper().tolist(), dta.year.tolist()
        """,
    ),
}
