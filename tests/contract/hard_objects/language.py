"""What Python itself offers and programs seldom use: classes, generators, contexts, buffers, text, tasks."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "flags and enumerations with more than values": session(
        """
        import enum, functools
        class Access(enum.Flag):
            NONE = 0; READ = 1; WRITE = 2; BOTH = 3; R = 1
        class Loose(enum.IntFlag, boundary=enum.KEEP): A = 1; B = 4
        class Strict(enum.Flag, boundary=enum.STRICT): A = 1; B = 2
        class Word(enum.StrEnum): ONE = enum.auto(); TWO = "zwei"
        class Planet(tuple, enum.Enum):
            EARTH = (1, 2); MARS = (3, 4)
            @enum.nonmember
            class Kind: name = "k"
            @enum.property
            def mass(self): return self[0] * scale
        scale = 2
        class Auto(enum.Enum):
            @staticmethod
            def _generate_next_value_(name, start, count, last): return name * 2
            X = enum.auto(); Y = enum.auto()
            @classmethod
            def _missing_(cls, value): return cls.X
        Dyn = enum.Enum("Dyn", {"P": [1], "Q": 2}, module=__name__); held = {Access.BOTH: 1, Dyn.P: 2}; odd = Loose(9); both = Access.READ | Access.WRITE; kind = Planet.Kind
        """,
        """
        both is Access.BOTH, Access.R is Access.READ, ~Access.READ, list(Access.BOTH), held[both], Access.__members__
        odd, odd in held, Loose(9) == odd, repr(Loose(3))
        Strict(4)
        Word.ONE, f"{Word.TWO}", Word("zwei") is Word.TWO
        scale = 5 ;; Planet.EARTH.mass, Planet.Kind is kind, len(Planet)
        Auto("zz"), Auto.Y.value, Auto("YY") is Auto.Y
        Dyn.P.value is held and 1, held[Dyn.P], Dyn.P.value, Dyn([1]) is Dyn.P
        """,
    ),
    "data classes with all that they have": session(
        """
        import dataclasses as dc, typing, functools, weakref
        @dc.dataclass(slots=True, frozen=True, kw_only=True, weakref_slot=True)
        class Point:
            x: int
            scale: dc.InitVar[int] = 2
            y: int = dc.field(init=False, default=0, metadata={"unit": "m"})
            _: dc.KW_ONLY = None
            def __post_init__(self, scale): object.__setattr__(self, "y", self.x * scale)
        p = Point(x=3, scale=4); ref = weakref.ref(p)
        @dc.dataclass(eq=False, match_args=False)
        class Node:
            name: str
            parent: "Node | None" = dc.field(default=None, repr=False)
            kids: "list[Node]" = dc.field(default_factory=list)
        root = Node("r"); kid = Node("k", root); root.kids.append(kid); seen = {root: 1}
        Made = dc.make_dataclass("Made", [("a", int), ("b", list, dc.field(default_factory=list))], namespace={"twice": lambda self: self.a * 2}, frozen=True); made = Made(2)
        K, V = typing.TypeVar("K"), typing.TypeVar("V")
        class Pair(typing.NamedTuple, typing.Generic[K, V]):
            key: K
            value: V
            def flip(self): return Pair(self.value, self.key)
        pair = Pair[str, int]("a", 1); alias = Pair[str, int]
        class Cached:
            __slots__ = ("n", "__dict__")
            def __init__(self): self.n = 3
            @functools.cached_property
            def big(self): calls.append(1); return [self.n]
        calls = []; cached = Cached(); held = cached.big
        """,
        """
        p, ref() is p, p.y, hash(p) == hash(Point(x=3, scale=4)), dc.fields(Point)[1].metadata["unit"], Point.__slots__
        setattr(p, "x", 5)
        dc.replace(p, x=7, scale=1)
        Point(3)
        seen[root], root.kids[0].parent is root, kid, hasattr(Node, "__match_args__")
        made.twice(), made, dc.is_dataclass(Made), made.b is made.b
        pair.flip(), alias("z", 2), alias.__args__, pair == ("a", 1), Pair.__orig_bases__
        cached.big is held, len(calls), cached.__dict__
        """,
    ),
    "attributes of values that have none": session(
        """
        import collections, datetime as dt, decimal, fractions, ipaddress, pathlib, uuid, array, types, io, functools
        class Price(decimal.Decimal): pass
        class Day(dt.date): pass
        class Moment(dt.datetime): pass
        class Span(dt.timedelta): pass
        class Clock(dt.time): __slots__ = ("zone",)
        class Share(fractions.Fraction): pass
        class Host(ipaddress.IPv4Address): pass
        class Place(type(pathlib.Path())): pass
        class Tally(collections.Counter): pass
        class Lists(collections.defaultdict): pass
        class Order(collections.OrderedDict): pass
        class Queue(collections.deque): pass
        class Number(int): pass
        class Word(str): __slots__ = ("lang", "__dict__")
        class Pair(tuple): pass
        class Bag(frozenset): pass
        class Raw(bytearray): pass
        class Part(functools.partial): pass
        class Text(io.StringIO): pass
        class Row(array.array): pass
        class Space(types.SimpleNamespace): pass
        owner = ["me"]; made = [Price("1.5"), Day(2024, 1, 2), Moment(2024, 1, 2), Span(1), Share(1, 3), Host("10.0.0.1"), Tally("aab"), Lists(list), Order(a=1), Queue([1], 3), Number(4), Word("w"), Pair((1, 2)), Bag({1}), Raw(b"x"), Part(int, "3"), Text("t"), Row("i", [1]), Space(a=1)]
        for number, one in enumerate(made): one.note = [number, owner]
        clock = Clock(1, 2); clock.zone = owner; word = made[11]; word.lang = "de"; price = made[0]; price.me = price; keyed = {price: 1}; lists = made[7]; lists["new"].append(1)
        """,
        """
        [one.note[0] for one in made], all(one.note[1] is owner for one in made)
        [type(one).__name__ for one in made], made[:5], made[6], dict(made[8]), made[9].maxlen
        clock.zone is owner, word.lang, word + "!", price.me is price, keyed[price], lists["more"], dict(lists)
        """,
    ),
    "iterators over a dictionary": session(
        """
        import collections
        d = {"a": 1, "b": 2, "c": 3}; ks, vs, its = iter(d), iter(d.values()), iter(d.items()); next(ks), next(vs), next(its)
        rk, rv = reversed(d), reversed(d.values()); next(rk); e = {"x": [0], "y": [1]}; ei = iter(e.values()); next(ei); empty = iter({}); over = iter({1: 2}); next(over)
        od = collections.OrderedDict(p=1, q=2, r=3); oi = iter(od.items()); next(oi); pairs = list(zip(iter(d), d.values())); f = {1: 1, 2: 2}; fi = iter(f); next(fi); changed = {1: 1, 2: 2}; ci = iter(changed); next(ci); del changed[1]; changed[3] = 3; self = {"k": 1, "v": 2}; self["it"] = iter(["z"]); self["it"] = iter(self)
        class Loud(dict):
            def keys(self): raise RuntimeError
            def __iter__(self): return dict.__iter__(self)
        loud = Loud(a=1, b=2); sit = iter(loud)
        """,
        """
        d.update(b=9, c=8) ;; list(vs), list(its), next(rk)
        e["y"] = [2] ;; next(ei), list(empty), list(over)
        od["q"] = 7 ;; list(oi)
        list(ci)
        d.update(z=0) ;; next(ks)
        next(rv)
        f.pop(1) ;; next(fi)
        self["k"] = 3 ;; next(self["it"]), list(self["it"])
        next(sit), next(sit)
        """,
        named="ci",
    ),
    "dispatch and registers": session(
        """
        import functools, weakref, abc, copyreg, collections.abc, numbers
        class Show:
            unit = "m"
            @functools.singledispatchmethod
            def of(self, v): return f"? {v}"
            @of.register
            def _(self, v: int): return f"{v} {self.unit}"
            @of.register(list)
            def _(self, v): return [self.of(x) for x in v]
            @functools.singledispatchmethod
            @classmethod
            def make(cls, v): return (cls.__name__, v)
            @make.register
            @classmethod
            def _(cls, v: str): return (cls.__name__, v.upper())
        show = Show()
        class Odd(str): pass
        @Show.of.register
        def odd_of(self, v: Odd): return "odd " + v
        class Key:
            def __init__(self, n): self.n = n
            def __hash__(self): return 7
            def __eq__(self, o): return isinstance(o, Key) and o.n == self.n
        k1, k2 = Key(1), Key(2); wkd = weakref.WeakKeyDictionary({k1: "one", k2: "two"}); wvd = weakref.WeakValueDictionary(a=k1); wset = weakref.WeakSet([k1]); gone = []
        fin = weakref.finalize(k2, gone.append, "k2"); fin.atexit = False
        class Money:
            def __init__(self, v): self.v = v
        copyreg.pickle(Money, lambda m: (Money, (m.v + 0,))); money = Money(1)
        class Vec(collections.abc.Sequence):
            def __init__(self, d): self.d = d
            def __len__(self): return len(self.d)
            def __getitem__(self, i): return self.d[i]
        v = Vec([3, 1]); numbers.Real.register(Key)
        bound = show.of; part = functools.partial(show.of, 5)
        """,
        """
        show.of(2), show.of([1, "x"]), show.of(Odd("q")), Show.make(3), Show.make("a")
        Show.unit = "km" ;; bound(3), part()
        wkd[k1], len(wkd), wkd[Key(2)], wvd["a"] is k1, k1 in wset
        del k2 ;; fin.alive, gone, len(wkd)
        fin.alive
        money.v
        list(reversed(v)), 3 in v, v.index(1)
        isinstance(k1, numbers.Real)
        Show.__dict__["of"].dispatcher.registry.keys()
        """,
        named="fin",
    ),
    "generators and what awaits": session(
        """
        import asyncio, types, inspect, collections
        def inner(): got = yield 1; yield got
        def outer(): r = yield from inner(); return r
        run = outer(); next(run)
        fresh = outer(); lazy = (x * f for x in [1, 2]); f = 3
        async def work(n): await asyncio.sleep(0); return n
        coro = work(1)
        async def ticks():
            for i in range(3): yield i
        stream = ticks()
        loop = asyncio.new_event_loop(); task_result = loop.run_until_complete(work(5)); q = asyncio.Queue(); q.put_nowait("a"); done = asyncio.Future(loop=loop); done.set_result(4)
        async def later(): t = asyncio.create_task(work(2)); return await t
        @types.coroutine
        def old(): yield; return 3
        sem = asyncio.Semaphore(2); lock = asyncio.Lock()
        class Await:
            def __await__(self): yield from asyncio.sleep(0).__await__(); return 9
        aw = Await(); held = [run, 5]
        """,
        """
        run.send("x")
        next(fresh), inspect.getgeneratorstate(fresh)
        f = 4 ;; list(lazy)
        asyncio.run(later()), asyncio.run(work(8))
        loop.run_until_complete(work(6)), task_result
        q.get_nowait(), q.qsize()
        done.result()
        sem.locked(), lock.locked()
        type(aw).__name__
        held[1]
        coro.cr_code.co_name
        stream.ag_code.co_name
        """,
        named="run fresh lazy coro stream loop done held",
    ),
    "contexts, decimals, zones": session(
        """
        import contextvars, decimal, zoneinfo, datetime as dt, fractions, time, contextlib, locale
        var = contextvars.ContextVar("var", default=[0]); token = var.set([5]); ctx = contextvars.copy_context(); other = contextvars.ContextVar("other"); empty = contextvars.Context()
        dctx = decimal.getcontext(); dctx.prec = 7; dctx.rounding = decimal.ROUND_UP; dctx.traps[decimal.Inexact] = False; mine = decimal.Context(prec=3, rounding=decimal.ROUND_DOWN, Emax=99, capitals=0); same = decimal.getcontext() is dctx; signal = decimal.Decimal("sNaN123"); exact = decimal.Decimal("1.500")
        z = zoneinfo.ZoneInfo("Europe/Berlin"); fold = dt.datetime(2024, 10, 27, 2, 30, tzinfo=z, fold=1); nc = zoneinfo.ZoneInfo.no_cache("Europe/Paris"); t = dt.time(2, 30, fold=1, tzinfo=z); nc2 = nc; keyed = {fold: 1}
        class Money(decimal.Decimal):
            cur = "EUR"
            def __add__(self, o): return Money(super().__add__(o))
        m = Money("1.10"); m.note = "n"; low = decimal.DefaultContext.prec
        stack = contextlib.ExitStack(); log = []; stack.callback(log.append, "closed")
        utc = dt.timezone.utc; named_utc = dt.timezone(dt.timedelta(0), "Z"); aware = [dt.datetime(2024, 1, 1, tzinfo=utc), dt.datetime(2024, 1, 1, tzinfo=named_utc)]
        """,
        """
        var.get(), var.name
        ctx[var] is var.get(), ctx.run(var.get), len(empty)
        var.reset(token) ;; var.get()
        decimal.Decimal(1) / 3, decimal.getcontext() is dctx, decimal.getcontext().rounding, same
        dctx.prec = 4 ;; decimal.Decimal(1) / 3
        mine.divide(decimal.Decimal(2), 3), mine.Emax, mine.capitals, signal.is_snan(), str(signal), exact
        fold.utcoffset(), fold.tzinfo is z, z is zoneinfo.ZoneInfo("Europe/Berlin"), nc is nc2, nc is zoneinfo.ZoneInfo("Europe/Paris"), t.fold, t.tzinfo is z, keyed[fold]
        m + 1, m.note, type(m + 1).__name__, m.cur
        stack.close() ;; log
        aware[0].tzname(), aware[1].tzname(), aware[0].tzinfo is utc, aware[1].tzinfo is named_utc, utc is dt.timezone.utc
        """,
        named="var token ctx other empty",
    ),
    "buffers, structures, mapped memory": session(
        """
        import ctypes, array, mmap, struct, io, tempfile, os
        class P(ctypes.Structure): _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_double), ("bits", ctypes.c_uint, 3)]
        class U(ctypes.Union): _anonymous_ = ("p",); _fields_ = [("p", P), ("raw", ctypes.c_ubyte * 8)]
        p = P(1, 2.5, 5); ps = (P * 2)(P(1), P(2)); u = U(); u.x = 257; same = ps[0]; arr = (ctypes.c_int * 3)(1, 2, 3); cs = ctypes.create_string_buffer(b"hi", 5)
        class Big(ctypes.BigEndianStructure): _pack_ = 1; _fields_ = [("a", ctypes.c_uint16)]
        big = Big(258)
        ar = array.array("d", [1.0, 2.0]); view = memoryview(ar); part = view[1:]; ba = bytearray(range(6)); mv = memoryview(ba)[1:5]; cast = memoryview(ba).cast("H"); ro = memoryview(b"abc")[::2]; grid = memoryview(bytearray(6)).cast("B", (2, 3)); arrs = {"a": ar, "b": [ar]}
        mm = mmap.mmap(-1, 16); mm[:3] = b"abc"; mm.seek(2)
        class Arr(array.array):
            def total(self): return sum(self)
        own = Arr("i", [1, 2]); own.tag = "t"
        bio = io.BytesIO(b"hello"); bio.seek(2); sio = io.StringIO("a\\nb\\n"); sio.readline(); wrap = io.TextIOWrapper(io.BytesIO(b"x\\ny"), encoding="latin-1"); wrap.readline(); bufr = bio.getbuffer()[1:]
        st = struct.Struct(">2h"); it = st.iter_unpack(bytes(8)); next(it)
        """,
        """
        p.x, p.y, p.bits, ps[1].x, u.p.x, u.raw[1], big.a, bytes(big)
        same.x = 9 ;; ps[0].x
        arr[:], cs.value, len(cs), ctypes.sizeof(P)
        ar[1] = 7.0 ;; part[0], view[1], arrs["a"] is arrs["b"][0]
        ba[2] = 200 ;; bytes(mv), cast[1], ro.tobytes(), ro.readonly, grid.shape, grid.tolist()
        ba.append(1)
        view.release(), part.release() ;; ar.append(3.0)
        bytes(mm[:3]), mm.tell(), len(mm)
        own.total(), own.tag, type(own[:1]).__name__
        bio.read(), sio.read(), wrap.read(), wrap.encoding
        list(it), st.pack(1, 2)
        """,
        named="P U Big p ps u same arr cs big mm view part bufr it wrap",
    ),
    "text, patterns, trees": session(
        """
        import re, xml.etree.ElementTree as ET, xml.dom.minidom as md, html.parser, string, shlex, csv, io, json, ast, tokenize, textwrap, configparser, email.policy, email.message, gettext, argparse
        pat = re.compile(rb"(a)(?P<n>b+)?", re.X | re.S); subs = []
        scan = re.Scanner([(r"[0-9]+", lambda s, t: int(t) * factor), (r"\\s+", None), (r"[a-z]+", "WORD")]); factor = 2
        m = re.match(r"(?P<y>[0-9]+)-(?P<m>[0-9]+)", "2024-05x"); sub = re.compile("x").sub; fi = re.finditer("a", "banana"); next(fi)
        root = ET.fromstring("<a><b k='1'>t</b>tail</a>"); b = root[0]; tree = ET.ElementTree(root); ET.register_namespace("own", "http://own"); parents = {c: q for q in root.iter() for c in q}; qn = ET.QName("http://own", "z")
        dom = md.parseString("<a><b/></a>"); bel = dom.documentElement.firstChild
        class P(html.parser.HTMLParser):
            def __init__(self): super().__init__(); self.tags = []
            def handle_starttag(self, t, a): self.tags.append((t, dict(a)))
        hp = P(); hp.feed("<p class='x'><a")
        class Dia(csv.excel): delimiter = ";"
        csv.register_dialect("semi", Dia); out = io.StringIO(); w = csv.writer(out, "semi"); w.writerow([1, "a;b"]); dr = csv.DictReader(io.StringIO("a,b\\n1,2\\n3,4\\n")); next(dr)
        node = ast.parse("x + 1"); code = compile(node, "<mine>", "exec"); lex = shlex.shlex("a 'b c' d", posix=True); lex.get_token()
        ap = argparse.ArgumentParser("prog"); grp = ap.add_mutually_exclusive_group(); act = grp.add_argument("--n", type=lambda v: int(v) + factor); sp = ap.add_subparsers(dest="cmd"); sp.add_parser("go").set_defaults(fn=len)
        class Enc(json.JSONEncoder):
            def default(self, o): return f"<{type(o).__name__}>"
        enc = Enc(indent=1); dec = json.JSONDecoder(object_hook=lambda d: tuple(d.items()))
        """,
        """
        scan.scan("12 ab"), pat.match(b"abb").group("n"), pat.flags
        factor = 3 ;; scan.scan("12")[0]
        m["y"], m.span("m"), m.re.pattern, m.string, m.expand(r"\\2/\\1"), sub("y", "axa")
        [x.start() for x in fi]
        b.attrib["k"], b.tail, parents[b] is root, tree.getroot() is root, qn.text
        b.text = "new" ;; ET.tostring(root)
        ET.tostring(ET.Element("{http://own}z"))
        bel.parentNode is dom.documentElement, dom.toxml(), bel.ownerDocument is dom
        hp.feed(" href='u'>") ;; hp.tags
        w.writerow([2]) ;; out.getvalue()
        next(dr), dr.line_num, dr.fieldnames
        ast.dump(node), eval(compile(ast.parse("1+1", mode="eval"), "", "eval")), code.co_filename
        lex.get_token()
        ap.parse_args(["--n", "4"]).n, ap.parse_args(["go"]).fn is len, ap.prog
        enc.encode({"a": Enc}), dec.decode('{"a": 1}')
        """,
        named="scan fi dec w dr",
    ),
    "containers that share and iterators that have begun": session(
        """
        import heapq, itertools, collections, operator, functools, types, bisect, copy, random, queue
        a, b = [1, "a"], [2, "b"]; heap = [a, b]; heapq.heapify(heap); by = {"first": a}; heap2 = heap
        ch = itertools.chain.from_iterable(iter([[1, 2], [3]])); next(ch); cy = itertools.cycle([a, b]); next(cy); co = itertools.combinations([1, 2, 3], 2); next(co); pr = itertools.product("ab", repeat=2); next(pr); pw = itertools.pairwise([1, 2, 3]); next(pw); cnt = itertools.count(10, 5); next(cnt); gb = itertools.groupby("aab"); key, grp = next(gb); sm = itertools.starmap(pow, [(2, 3), (2, 4)]); next(sm); zl = itertools.zip_longest([1, 2], "x", fillvalue=a); next(zl); dw = itertools.dropwhile(lambda v: v < lim, [1, 5, 2]); lim = 3; cp = itertools.compress("abc", [1, 0, 1]); tk = itertools.takewhile(bool, [1, 1, 0]); next(tk)
        d = {"x": 1, "y": 2}; dv = d.values(); di = iter(d.items()); next(di); rv = reversed(d); dq = collections.deque([1, 2, 3]); dqi = iter(dq); next(dqi); ll = []; ll.append(ll); tup = ([],); tup[0].append(tup); dd = {}; dd["self"] = dd
        cm = collections.ChainMap({}, d); cm2 = cm.new_child({"z": 3}); od = collections.OrderedDict(b=1, a=2); odi = iter(od); next(odi); cn = collections.Counter(a=2); els = cn.elements(); next(els)
        ig = operator.itemgetter(1); mc = operator.methodcaller("append", 4); ns = types.SimpleNamespace(d=d); mp = types.MappingProxyType(d); sent = iter(functools.partial(next, cnt), 25)
        rng = random.Random(1); shuf = rng.shuffle; pick = rng.random; s1 = "é" * 3; byt = b"x" * 10; fs = frozenset([a[1], 2]); rg = range(0, 10, 3); rgi = iter(rg); next(rgi); en = enumerate(iter("abc"), 1); next(en); mp2 = map(operator.add, [1, 2], iter([3, 4])); next(mp2); rvl = reversed([1, 2, 3]); next(rvl); lst_it = iter(a); z2 = zip([1, 2], [3, 4], strict=True); next(z2)
        """,
        """
        heap[0] is a, by["first"] is heap[0], heap2 is heap, heapq.heappop(heap) is a
        next(ch), list(ch)
        next(cy) is b, next(cy) is a
        next(cnt), list(co), list(pr), list(sm)
        list(pw)
        key, list(grp)
        next(zl)[1] is a
        lim = 2 ;; list(dw)
        list(cp), list(tk)
        d["w"] = 9 ;; list(dv), mp["w"], ns.d is d, cm["w"], cm2["w"], cm2.parents.maps[1] is d
        list(di)
        list(rv)
        list(dqi), ll[0] is ll, tup[0][0] is tup, dd["self"]["self"] is dd
        list(odi), list(els)
        mc(ll) ;; ig([1, 2]), len(ll)
        list(sent)
        pick(), shuf.__self__ is rng, pick.__self__ is rng
        next(rgi), next(en), list(mp2), list(rvl), a.append(5), list(lst_it), list(z2)
        """,
        named="pw",
    ),
    "files, logs, warnings, processes of a program": session(
        """
        import tempfile, logging, logging.handlers, warnings, threading, os, pathlib, shelve, zipfile, gzip, tarfile, io, sched, time, signal, queue, subprocess
        sp = tempfile.SpooledTemporaryFile(100); sp.write(b"abc"); tf = tempfile.NamedTemporaryFile("w+", dir=".", delete=False); tf.write("one"); tf.flush(); td = tempfile.TemporaryDirectory(dir="."); open(td.name + "/f", "w").write("x")
        class Keep(logging.Handler):
            def __init__(self): super().__init__(); self.kept = []
            def emit(self, r): self.kept.append(self.format(r))
        class Even(logging.Filter):
            n = 0
            def filter(self, r): self.n += 1; return self.n % 2 == 0
        log = logging.getLogger("app.db"); keep = Keep(); keep.setFormatter(logging.Formatter("{name}:{message}", style="{")); even = Even(); keep.addFilter(even); log.addHandler(keep); log.setLevel("INFO"); log.propagate = False; log.info("a"); log.info("b"); child = log.getChild("x"); adapter = logging.LoggerAdapter(log, {"k": 1})
        mem = logging.handlers.MemoryHandler(10, target=keep); log.addHandler(mem); log.info("c"); logging.addLevelName(25, "NOTE"); qh = logging.handlers.QueueHandler(queue.Queue()); rot = logging.handlers.RotatingFileHandler("r.log", maxBytes=100, backupCount=2); rot.emit(logging.makeLogRecord({"msg": "hi"}))
        class Soft(UserWarning): pass
        warnings.filterwarnings("error", category=Soft, message="^no"); warnings.simplefilter("ignore", ResourceWarning)
        zb = io.BytesIO(); zf = zipfile.ZipFile(zb, "w"); zf.writestr("a", "1"); gz = gzip.open("g.gz", "wt"); gz.write("x")
        sc = sched.scheduler(lambda: 5, lambda s: None); fired = []; sc.enterabs(1, 1, fired.append, ("e",)); ev = sc.queue[0]
        fh = open("lines.txt", "w+"); fh.write("1\\n2\\n3\\n"); fh.seek(0); fh.readline(); same = fh; pth = pathlib.Path("lines.txt"); stat = pth.stat(); gl = sorted(pathlib.Path(".").glob("*.txt")); de = list(os.scandir("."))[0]
        """,
        """
        sp.seek(0) ;; sp.read()
        open(tf.name).read(), tf.tell()
        sorted(os.listdir(td.name))
        log.info("d") ;; keep.kept, even.n
        mem.flush() ;; keep.kept, mem.target is keep
        child.parent is log, adapter.logger is log, log.handlers[0] is keep, logging.getLevelName(25), log.isEnabledFor(25), rot.maxBytes
        warnings.warn("no way", Soft)
        warnings.warn("yes way", Soft) ;; warnings.filters[0][0]
        zf.writestr("b", "2") ;; zf.close(), sorted(zipfile.ZipFile(zb).namelist())
        gz.close() ;; gzip.open("g.gz", "rt").read()
        sc.run() ;; fired
        fh.readline(), same is fh, fh.tell()
        stat.st_size, [str(x) for x in gl], pth.read_text()
        """,
        named="tf td gz de",
    ),
}
