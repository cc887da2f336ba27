"""Objects of Python's own types in unusual states: bound methods, weak references, edges, iterators, subclasses."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "bound methods of built-in objects": session(
        """
        import random, collections, io, array, operator, functools, struct, re, datetime as dt, queue, string, bisect, heapq, decimal
        l = []; push = l.append; d = {"a": 1}; get = d.get; setd = d.setdefault; s = set(); add = s.add; dq = collections.deque(maxlen=2); dpush = dq.append; dleft = dq.appendleft
        rng = random.Random(5); roll = rng.random; pick = rng.choice; rng.gauss(0, 1); flip = functools.partial(rng.choice, "ab"); sys_pick = random.choice; draw = random.random
        buf = io.StringIO(); w = buf.write; raw = io.BytesIO(b"abcdef"); rd = raw.read; raw.read(1)
        arr = array.array("d"); ap = arr.append; fmt = "{}-{}".format; join = ", ".join; pat = re.compile("b+"); sub = pat.sub; find = pat.finditer
        class Day(dt.date): pass
        today = Day.fromisoformat; fromkeys = collections.OrderedDict.fromkeys; cf = collections.Counter.fromkeys
        st = struct.Struct("<hI"); pk = st.pack; upk = st.unpack
        heap = [3, 1]; hp = functools.partial(heapq.heappush, heap); q = queue.Queue(); put = q.put; takes = iter(q.get_nowait, None)
        adders = [l.append, push, l.extend]; table = {"push": push, "len": l.__len__}; ctx = decimal.Context(prec=4); div = ctx.divide
        cnt = collections.Counter(); upd = cnt.update; tr = str.maketrans("ab", "xy"); low = str.lower; up = "abc".upper; eq = (3).__eq__; ge = operator.attrgetter("x.y"); it = iter([1, 2, 3]); nxt = it.__next__; nxt()
        """,
        """
        push(1), l
        table["push"](2), table["len"](), adders[0](3), adders[2]([4]), l, push.__self__ is l
        d["b"] = 2 ;; get("b"), setd("c", []) is d["c"]
        add(4), s, dpush(1), dpush(2), dpush(3), dleft(9), dq
        roll(), pick("xyz"), rng.random(), flip(), rng.gauss(0, 1)
        0 <= draw() < 1, draw.__self__ is random._inst, sys_pick([1])
        w("hi"), buf.getvalue(), rd(2), raw.tell()
        ap(1.5), arr, fmt(1, 2), join(["a"]), sub("x", "abb"), [m.start() for m in find("abb")], sub.__self__ is pat
        today("2024-01-02"), type(today("2024-01-02")).__name__, fromkeys("ab"), type(cf).__name__
        upk(pk(1, 2)), pk.__self__ is st, hp(0), heap, put(5), q.get_nowait()
        put(7) ;; next(takes)
        div(decimal.Decimal(1), 3), div.__self__ is ctx, upd("aab"), cnt
        "aabb".translate(tr), low("ABC"), up(), eq(3), nxt(), list(it)
        """,
    ),
    "weakrefs that carry things": session(
        """
        import weakref, gc, functools, types
        class Key:
            def __init__(self, n): self.n = n
        class Ref(weakref.ref):
            __slots__ = ("key", "extra")
            def __new__(cls, o, cb=None, key=None): return super().__new__(cls, o, cb)
            def __init__(self, o, cb=None, key=None): super().__init__(o, cb); self.key = key
        died = []; k1, k2, k3 = Key(1), Key(2), Key(3)
        r1 = Ref(k1, lambda r: died.append(r.key), "one"); r1.extra = [k2]; r2 = weakref.ref(k2, lambda r: died.append("two")); plain = weakref.ref(k2); plain_b = weakref.ref(k2)
        class Bus:
            def __init__(self): self.subs = []; self.dead = 0
            def sub(self, m): self.subs.append(weakref.WeakMethod(m, self._gone))
            def _gone(self, r): self.dead += 1; self.subs.remove(r)
            def fire(self, *a): return [s()(*a) for s in self.subs]
        class Lis:
            def __init__(self, n): self.n = n
            def on(self, x): return (self.n, x)
        bus = Bus(); la, lb = Lis("a"), Lis("b"); bus.sub(la.on); bus.sub(lb.on)
        def f(): return 1
        rf = weakref.ref(f); rc = weakref.ref(Key); px = weakref.proxy(k3, lambda p: died.append("proxy")); callp = weakref.proxy(f)
        ks = weakref.WeakSet([k1, k2, k3]); wk = weakref.WeakKeyDictionary(); wk[k3] = "three"; wk[k1] = weakref.ref(k2); wv = weakref.WeakValueDictionary({"x": k1, "y": k3}); refs = wv.valuerefs()
        gh = Key(9); gone = weakref.ref(gh); dead = {gone: 1}; del gh; tmp = Key(8); rt = weakref.ref(tmp); hash(rt); rset = {rt}; del tmp
        fin = weakref.finalize(k2, died.append, "fin2")
        class Slot: __slots__ = ("v", "__weakref__")
        sl = Slot(); sl.v = 1; rs = weakref.ref(sl); cyc = Key(7); cyc.me = weakref.ref(cyc); cyc.cb = weakref.WeakMethod(la.on)
        ks2 = weakref.WeakSet(); ks2.add(cyc)
        """,
        """
        r1().n, r1.key, r1.extra[0] is k2, type(r1).__name__, plain is plain_b, plain() is k2, plain is weakref.ref(k2), weakref.getweakrefcount(k1)
        bus.fire(1), len(bus.subs), bus.subs[0]() == la.on
        del lb; gc.collect() ;; bus.dead, len(bus.subs), bus.fire(2)
        rf() is f, rc() is Key, px.n, callp(), gone() is None, rt() is None, rt in rset, dead[gone]
        sorted(k.n for k in ks), wk[k1]() is k2, [k.n for k in wk], sorted(wv), [r().n for r in refs], refs[0]() is k1
        del px
        del k3; gc.collect() ;; died, len(ks), list(wv), len(wk)
        del k1; gc.collect() ;; died, r1(), len(ks)
        rs() is sl, cyc.me() is cyc, cyc.cb()(3), cyc in ks2
        fin.alive, fin.peek()[1] if fin.alive else None
        r1.extra.clear(); del k2; gc.collect() ;; died, plain(), fin.alive
        """,
        named="bus refs dead rset",
    ),
    "values at the edge": session(
        r"""
        import sys, math, struct, datetime as dt, zoneinfo, time, decimal, fractions, array, cmath, uuid, ipaddress, enum, types, operator, string, pathlib, functools, collections, io
        sur = "\ud800x"; nul = "a\0b"; huge = 1 << 5000; nz = -0.0; cz = complex(-0.0, float("-inf")); pn = struct.unpack("<d", b"\1\0\0\0\0\0\xf8\x7f")[0]; sub = 5e-324; big = "x" * 5000; big2 = big; parts = [big, (big, big)]; t1 = (1, 2, [3]); t2 = t1; f1 = 1234.5; fl = [f1, f1]; i1 = 10 ** 20; il = {"a": i1, "b": i1}; by = bytes(2000); bl = [by, by]; fs = frozenset({1, 2}); fsl = [fs, fs]; sl = slice(1, [2], None); rg = range(0, 10 ** 30, 7); ell = [..., NotImplemented, None, Ellipsis]; empty = [(), (), "", b"", frozenset()]
        class Bool(int):
            def __bool__(self): return False
        class Weird:
            def __eq__(self, o): return NotImplemented
            def __hash__(self): return -1 % 7
            def __bool__(self): raise ValueError("ambiguous")
            def __len__(self): raise TypeError
            def __getattr__(self, n): raise RuntimeError("no " + n)
        class Chameleon:
            @property
            def __class__(self): return dict
            def __repr__(self): return "C"
        class Proxy:
            __slots__ = ("_t",)
            def __init__(self, t): object.__setattr__(self, "_t", t)
            def __getattribute__(self, n): return getattr(object.__getattribute__(self, "_t"), n)
            def __setattr__(self, n, v): setattr(object.__getattribute__(self, "_t"), n, v)
        wd = Weird(); wl = {wd: 1}; ch = Chameleon(); target = types.SimpleNamespace(a=1); px = Proxy(target); lpx = Proxy([1, 2]); b0 = Bool(3)
        z = zoneinfo.ZoneInfo("America/New_York"); ff = zoneinfo.ZoneInfo.from_file(open("/usr/share/zoneinfo/Europe/Oslo", "rb"), key="Custom/Oslo") if pathlib.Path("/usr/share/zoneinfo/Europe/Oslo").exists() else None; amb = dt.datetime(2024, 11, 3, 1, 30, tzinfo=z, fold=1); st = time.strptime("2024-01-02", "%Y-%m-%d"); gm = time.gmtime(0); lt = time.localtime(0); tz1 = dt.timezone(dt.timedelta(hours=1)); tz2 = tz1; pair = [dt.datetime(1, 1, 1, tzinfo=tz1), tz1]; td = dt.timedelta.max; mn = dt.datetime.min
        ig = operator.itemgetter(1, slice(2)); ag = operator.attrgetter("a.b"); mc = operator.methodcaller("get", "k", default=t1) ; mcs = operator.methodcaller("append", big); cmpd = decimal.Decimal("1E+5"); dt_tuple = cmpd.as_tuple(); fi = sys.float_info; vi = sys.version_info; fl2 = sys.flags; ns = types.SimpleNamespace(**{"a b": 1, "class": 2}); var = globals(); var["with space"] = [1]; naïve = 5; 变量 = [naïve]; _ = 9; __x = 3
        arr = array.array("u", "añ"); ar2 = array.array("q", [1]); mv = memoryview(ar2); mv2 = mv.cast("B"); mv3 = memoryview(b"abcdef")[1:5:2]; ro = memoryview(bytearray(b"zz")).toreadonly(); hexv = memoryview(by); ex = KeyError(t1); ti = types.MappingProxyType({"a": t1}); pp = pathlib.PurePosixPath("a") / ".." / "b"; ip = ipaddress.ip_network("10.0.0.0/30"); hosts = ip.hosts() ; nxt = next(hosts); sysn = sys.implementation; notimpl = NotImplemented; fzn = types.FunctionType; name = "".join(["a", "b"]); interned = sys.intern(name)
        """,
        r"""
        ascii(sur), nul, huge == 1 << 5000, math.copysign(1, nz), cz, struct.pack("<d", pn)[0], sub > 0
        sl.stop, sl == slice(1, [2], None), rg[-1], [x is y for x, y in zip(ell, [..., NotImplemented, None, ...])], empty[0] is (), empty[2] is ""
        bool(b0), b0 + 1, wl[wd], type(wd).__name__
        bool(wd)
        ch, isinstance(ch, dict), type(ch).__name__, px.a, type(px).__name__, isinstance(px, types.SimpleNamespace), len(lpx.__class__.__name__), lpx.append(3), lpx.__len__()
        px.a = 5 ;; target.a
        amb.utcoffset(), amb.tzinfo is z, st, st.tm_zone, gm, lt.tm_zone, lt.tm_gmtoff, type(st.tm_zone)
        str(ff), ff.utcoffset(dt.datetime(2024, 7, 1)) if ff else 0, ff.key if ff else 0
        pair[0].tzinfo is tz1, pair[1] is tz2, td, mn, ig([1, 2, 3]), mcs([]) , ag
        mc(collections.defaultdict(int))
        dt_tuple.digits, fi is sys.float_info, vi is sys.version_info, fl2 is sys.flags, getattr(ns, "a b"), globals()["with space"], 变量, naïve, _
        mv2[0], mv.obj is ar2, mv.format, bytes(mv3), mv3.strides, ro.readonly, ex.args[0] is t1, ti["a"] is t1, str(pp), sysn is sys.implementation
        mv2[0] = 9 ;; ar2, arr
        next(hosts)
        """,
        named="ff mv mv2 hosts",
    ),
    "subclasses of built-in types with attributes": session(
        """
        import itertools, struct, threading, queue, zoneinfo, types, ast, json, ctypes, decimal, uuid, weakref, asyncio, operator, re, mmap, io, socket, random, collections, typing, functools
        owner = ["me"]
        class Count(itertools.count): pass
        class Chain(itertools.chain): pass
        class Cyc(itertools.cycle): pass
        class Enum_(enumerate): pass
        class Zip(zip): pass
        class Map(map): pass
        class Rev(reversed): pass
        class Prop(property): pass
        class Stat(staticmethod): pass
        class Clsm(classmethod): pass
        class Str_(struct.Struct): pass
        class Loc(threading.local):
            def __init__(self, base=1): self.base = base
        class SQ(queue.SimpleQueue): pass
        class Zone(zoneinfo.ZoneInfo): pass
        class Alias(types.GenericAlias): pass
        class NodeX(ast.AST): _fields = ("left", "right")
        class Dctx(decimal.Context): pass
        class U(uuid.UUID): __slots__ = ("extra",)
        class Mod(types.ModuleType): pass
        class Rng(random.Random):
            def random(self): self.n = getattr(self, "n", 0) + 1; return 0.25
        class PropD(functools.cached_property): pass
        class KeyErr(KeyError):
            def __str__(self): return "KE"
        class Cmp(ctypes.Structure): _fields_ = [("a", ctypes.c_int), ("p", ctypes.POINTER(ctypes.c_int))]
        cn, ch, cy, en, zp, mp, rv = Count(3), Chain([1], [2]), Cyc("ab"), Enum_("xy"), Zip([1], [2]), Map(str, [1, 2]), Rev((1, 2, 3))
        for o in (cn, ch, cy, en, zp, mp, rv): o.note = owner; next(o)
        pr, sm, cm = Prop(lambda s: s.v), Stat(len), Clsm(lambda c: c.__name__); pr.note = sm.note = cm.note = owner
        class Host: v = 5; p = pr; s = sm; c = cm
        host = Host(); sx = Str_("<h"); sx.note = owner; lc = Loc(base=4); lc.x = owner; z = Zone("Europe/Rome"); z.note = owner; ga = Alias(list, (int,)); nx = NodeX(left=owner, right=None); nx.note = nx; dc = Dctx(prec=3); dc.note = owner; md = Mod("md"); md.note = owner; rng = Rng(1); rng.choice([1, 2]); ke = KeyErr("k"); ke.note = owner
        i = ctypes.c_int(5); st = Cmp(1, ctypes.pointer(i)); st.note = owner; arr = (ctypes.c_int * 3)(1, 2, 3); base = bytearray(8); over = ctypes.c_int.from_buffer(base)
        fn = typing.cast; dq = type("DQ", (collections.deque,), {"__slots__": ("tag",)})([1], 2); dq.tag = owner; bm = type("BM", (io.BytesIO,), {})(b"abc"); bm.note = owner; bm.read(1)
        """,
        """
        [o.note is owner for o in (cn, ch, cy, en, zp, mp, rv)], [type(o).__name__ for o in (cn, ch, cy, en, zp, mp, rv)]
        next(cn), next(ch), next(cy), next(en), next(mp), next(rv)
        next(zp)
        host.p, host.s([1]), host.c, Host.__dict__["p"].note is owner, Host.__dict__["s"] is sm, Host.__dict__["c"].note is owner, pr.note is owner
        sx.note is owner, sx.pack(1), lc.x is owner, lc.base
        z.note is owner, z is Zone("Europe/Rome"), type(z).__name__, z.key
        ga, type(ga).__name__, nx.left is owner, nx.note is nx, dc.note is owner, dc.prec, type(dc).__name__, md.note is owner, type(md) is Mod
        rng.choice([1, 2, 3]), rng.n, ke.note is owner, str(ke), ke.args
        i.value = 7 ;; st.p.contents.value, st.note is owner, list(arr)
        dq.tag is owner, dq.maxlen, dq, bm.note is owner, bm.read()
        """,
        named="Cmp sx lc st",
    ),
    "iterators that share": session(
        r"""
        import itertools, collections, csv, re, io, operator, functools, heapq, random
        src = iter(range(10)); a = map(lambda x: x * k, src); b = filter(None, src); k = 1; next(a); z = zip(src, src); l = [1, 2, 3]; li = iter(l); next(li); li2 = li; en = enumerate(li, 5); ch = itertools.chain(li, "ab");
        t1, t2 = itertools.tee(iter([1, 2, 3, 4])); next(t1); next(t1); t3 = t1.__copy__()
        gb = itertools.groupby([("a", 1), ("a", 2), ("b", 3)], key=operator.itemgetter(0)); gk, gi = next(gb); next(gi)
        dq = collections.deque([1, 2, 3]); di = iter(dq); next(di); st = {1, 2, 3}; si = iter(st); next(si); by = iter(b"abc"); next(by); s = iter("añb"); next(s); rl = reversed(l); next(rl); rg = iter(range(5)); next(rg); tp = iter((1, [2])); next(tp)
        acc = itertools.accumulate(iter([1, 2, 3]), lambda x, y: x + y * k, initial=10); next(acc); next(acc); isl = itertools.islice(itertools.count(), 2, 20, 3); next(isl); cyc = itertools.cycle(iter("ab")); next(cyc); zl = itertools.zip_longest(iter([1, 2]), [5], fillvalue=l); next(zl); cmb = itertools.combinations("abc", 2); next(cmb); prod = itertools.product([1, 2], repeat=2); next(prod); perm = itertools.permutations("ab"); next(perm); lim = 5; tw = itertools.takewhile(lambda x: x < lim, iter([1, 2, 9])); next(tw); dw = itertools.dropwhile(lambda x: x < lim, iter([1, 9, 1])); next(dw); rep = itertools.repeat(l, 3); next(rep); sm = itertools.starmap(pow, iter([(2, 3), (3, 2)])); next(sm); pw = itertools.pairwise(iter("abc")); next(pw); comp = itertools.compress("abcd", iter([1, 0, 1, 1])); next(comp); cf = itertools.chain.from_iterable(iter([[1], [2, 3]])); next(cf); ff = itertools.filterfalse(None, iter([0, 1, 0])); next(ff)
        rd = csv.reader(io.StringIO("a,b\n1,2\n3,4\n")); next(rd); dr = csv.DictReader(io.StringIO("h;i\n1;2\n"), delimiter=";"); fn = dr.fieldnames; fi = re.finditer("a(.)", "abacad"); m = next(fi); sc = re.compile(r"\d").scanner("1a2"); sc.search(); call = iter(functools.partial(next, iter([1, 2, None, 3])), None); next(call); ex = iter([1]); list(ex); exl = [1]; exi = iter(exl); list(exi); getit = iter(type("S", (), {"__getitem__": lambda self, i: i if i < 3 else [][0]})()); next(getit); sen = iter(lambda: l.pop() if l else 0, 0); sio = io.StringIO("x\ny\n"); sioi = iter(sio); next(sioi); both = {"s": src, "again": [src]}; own = itertools.count(1.5, 0.5); next(own); cm = iter(collections.ChainMap({"a": 1}, {"b": 2}).items()); od = collections.OrderedDict(a=1, b=2); odi = reversed(od); next(odi); cnt = iter(collections.Counter("aab").elements()); next(cnt)
        """,
        r"""
        next(a), next(src), next(b), next(z), both["s"] is src, both["again"][0] is src
        k = 100 ;; next(a), list(acc)
        li2 is li, next(en), next(ch), l.append(4), next(li), list(ch), list(en)
        next(t1), next(t2), next(t3), list(t2), list(t1)
        next(gi), next(gb)[0]
        next(di), dq.append(9)
        next(di)
        next(si), chr(next(by)), next(s), next(rl), next(rg), next(tp)
        next(isl), next(cyc), next(cyc), next(zl), next(cmb), next(prod), next(perm), next(rep) is l
        lim = 100 ;; list(tw), list(dw), next(sm), next(pw), list(comp), list(cf), list(ff)
        next(zl)
        next(rd), rd.line_num, next(dr), fn is dr.fieldnames
        next(fi).group(1), m.re, m.string, sc.search().group()
        next(call), list(call), list(ex), exl.append(2), list(exi), list(getit)
        next(sen), next(sioi), sio.tell(), next(own), next(cm), next(odi), next(cnt)
        """,
        named="rd dr fi sc cm",
    ),
    "deep, long and cyclic": session(
        """
        import collections, functools, weakref
        class N:
            __slots__ = ("v", "next", "prev")
            def __init__(self, v): self.v = v; self.next = self.prev = None
        head = cur = N(0)
        for i in range(1, 3000): nxt = N(i); cur.next = nxt; nxt.prev = cur; cur = nxt
        tail = cur; nest = []; c2 = nest
        for i in range(3000): c2.append([]); c2 = c2[0]
        tup = ()
        for i in range(2000): tup = (tup, i)
        def compose(n):
            f = lambda x: x
            for i in range(n): f = (lambda g: lambda x: g(x) + 1)(f)
            return f
        f50 = compose(200); part = functools.partial(lambda *a: len(a))
        for i in range(100): part = functools.partial(part, i)
        class E(Exception): pass
        err = None
        for i in range(300):
            e = E(i); e.__cause__ = err; err = e
        g = {i: {} for i in range(500)}
        for i in g: g[i]["peer"] = g[(i * 7) % 500]
        chain = collections.ChainMap()
        for i in range(50): chain = chain.new_child({i: chain})
        class Tree(dict):
            def __missing__(self, k): v = self[k] = type(self)(); v.up = weakref.ref(self); return v
        tr = Tree(); t2 = tr
        for i in range(60): t2 = t2[i]
        big = {f"k{i}": [i] * 3 for i in range(3000)}; alias = big["k77"]
        """,
        """
        (lambda n: sum(1 for _ in iter(lambda: n.__setitem__(0, n[0].next) or n[0], None)))([head]), tail.prev.next is tail, tail.v
        (lambda d, c: [d := d + 1 for _ in iter(lambda: c.__setitem__(0, c[0][0] if c[0] else None) or c[0], None)][-1])(0, [nest])
        tup[1], tup[0][1], f50(0), part(), g[3]["peer"] is g[21], chain[3] is chain.maps[-4][3] if 3 in chain.maps[-4] else 0
        (lambda e, n: [n := n + 1 for _ in iter(lambda: e.__setitem__(0, e[0].__cause__) or e[0], None)][-1])(0 or [err], 0)
        t2.up()[59] is t2, tr[0].up() is tr, t2[1].up() is t2, big["k77"] is alias, list(big)[5]
        """,
    ),
    "typing at run time": session(
        """
        import typing as t, types, dataclasses, collections.abc as ca, enum, functools, inspect
        T = t.TypeVar("T"); meta = ["unit"]; A = t.Annotated[int, meta]; U = int | None; class_u = None
        class M(t.TypedDict, total=False): a: t.Required[int]; b: "list[M]"
        class P(t.Protocol):
            name: str
            def go(self) -> int: ...
        RP = t.runtime_checkable(P)
        class Impl:
            name = "i"
            def go(self): return 1
        class G(t.Generic[T]):
            reg: t.ClassVar[dict] = {}
            def __init_subclass__(cls, **k): super().__init_subclass__(**k); G.reg[cls.__name__] = t.get_args(cls.__orig_bases__[0]) if hasattr(cls, "__orig_bases__") else ()
        class GI(G[int]): pass
        gi = GI(); al = G[GI]; al2 = al; un = GI | None; opt = t.Optional["GI"]; lst = list[GI]; call = t.Callable[[GI], "GI"]; fr = t.ForwardRef("GI"); lit = t.Literal["a", b"b"]
        def fn(x: "GI", y: A = 1, *z: U) -> t.Iterator[al]: yield x
        hints = t.get_type_hints(fn, include_extras=True); fn.__annotations__["y"] = meta
        @dataclasses.dataclass
        class DC:
            a: A; b: "t.Optional[DC]" = None; c: t.ClassVar[int] = 0; d: dataclasses.InitVar[int] = 5
        fields = dataclasses.fields(DC); dc = DC(1); DC.__annotations__["new"] = lst
        @functools.singledispatch
        def show(x): return "obj"
        @show.register
        def _(x: GI | Impl): return "gi or impl"
        @show.register(ca.Mapping)
        def _m(x): return "map"
        NT = t.NamedTuple("NT", [("a", GI), ("b", "U")]); nt = NT(gi, 1); Id = t.NewType("Id", GI); Mutable = type("Mutable", (), {"__annotations__": {"q": al}}); bound = t.TypeVar("bound", bound=GI); con = t.TypeVar("con", GI, int); ps = t.ParamSpec("ps"); Self = t.Self; cc = t.Concatenate[GI, ps]; tt = t.Type[GI]; tg = t.TypeGuard[GI]; unp = t.Unpack[t.TypeVarTuple("Ts")]; sig = inspect.signature(fn)
        t.get_origin(al); ca.Sized.register(Impl)
        """,
        """
        A.__metadata__[0] is meta, hints["y"].__metadata__[0] is meta, fn.__annotations__["y"] is meta, fields[0].type is A or fields[0].type.__metadata__[0] is meta
        M.__required_keys__, t.get_type_hints(M)["b"].__args__[0] is M, isinstance(Impl(), RP), RP is P
        G.reg, al is al2, al.__args__[0] is GI, G[GI] == al, hash(G[GI]) == hash(al), un.__args__[0] is GI, un == (GI | None), lst == list[GI], call.__args__, opt.__args__[0]
        show(gi), show(Impl()), show({}), show(1), show.dispatch(GI) is show.registry[GI]
        t.get_type_hints(fn)["x"] is GI, next(fn(gi)) is gi, DC.__annotations__["new"] is lst, dataclasses.replace(dc, a=2, d=1).a, [f.name for f in fields], fields[0] is dataclasses.fields(DC)[0]
        nt.a is gi, NT.__annotations__["a"] is GI, Id.__supertype__ is GI, Mutable.__annotations__["q"] is al, bound.__bound__ is GI, con.__constraints__[0] is GI, cc.__args__[1] is ps, tt.__args__[0] is GI, tg.__args__[0] is GI, lit.__args__, t.Literal["a", b"b"] == lit
        sig.parameters["x"].annotation, isinstance(Impl(), ca.Sized), Self is t.Self
        class GS(G[str]): pass ;; G.reg
        class Later(G[GI], t.Generic[T]): pass ;; Later[int].__origin__ is Later, Later.__parameters__ == (T,)
        """,
    ),
    "an event loop of one's own": session(
        """
        import heapq, itertools, collections, functools, weakref, contextlib, types, inspect
        class Task:
            ids = itertools.count(1); alive = weakref.WeakSet()
            def __init__(self, gen): self.gen = gen; self.id = next(Task.ids); self.result = None; self.waiters = []; Task.alive.add(self)
            def __await__(self): yield self; return self.result
            def __lt__(self, o): return self.id < o.id
        class Loop:
            _current = None
            def __init__(self): self.ready = collections.deque(); self.timers = []; self.now = 0; self.done = {}
            def spawn(self, f, *a): t = Task(f(*a)); self.ready.append((t, None)); return t
            def at(self, dt, t): heapq.heappush(self.timers, (self.now + dt, t))
            def run(self):
                Loop._current = self
                while self.ready or self.timers:
                    if not self.ready: self.now, t = heapq.heappop(self.timers); self.ready.append((t, None))
                    t, v = self.ready.popleft()
                    try: what = t.gen.send(v)
                    except StopIteration as e: t.result = e.value; self.done[t.id] = t; [self.ready.append((w, e.value)) for w in t.waiters]
                    else:
                        if isinstance(what, Task): what.waiters.append(t) if what.id not in self.done else self.ready.append((t, what.result))
                        else: self.at(what, t)
                return self.now
        @types.coroutine
        def sleep(n): yield n
        async def job(n): await sleep(n); log.append((Loop._current.now, n)); return n * 2
        async def boss(loop): ts = [loop.spawn(job, i) for i in (3, 1)]; return [await t for t in ts]
        log = []; loop = Loop(); b = loop.spawn(boss, loop); end = loop.run()
        class Signal:
            def __init__(self): self.subs = collections.defaultdict(list); self.muted = set(); self.depth = 0
            def on(self, ev, f=None, *, once=False, prio=0):
                if f is None: return functools.partial(self.on, ev, once=once, prio=prio)
                heapq.heappush(self.subs[ev], (prio, len(self.subs[ev]), once, f)); return f
            def emit(self, ev, *a):
                with self.nest():
                    out = []
                    for s in sorted(self.subs[ev], key=lambda s: s[:2]):
                        if s[3] not in self.muted: out.append(s[3](*a))
                        if s[2]: self.subs[ev].remove(s)
                    return out
            @contextlib.contextmanager
            def nest(self): self.depth += 1; yield self.depth; self.depth -= 1
        sig = Signal(); later = sig.on("x", once=True)
        @sig.on("x", prio=-1)
        def first(v): return ("first", v, sig.depth)
        class Part:
            def __init__(self): self.n = 0; sig.on("x", self.got); sig.on("y", self.got, once=True)
            def got(self, v): self.n += v; return self.n
        part = Part(); again = sig.on; sig.muted.add(first)
        """,
        """
        b.result, log, end, [t.id for t in loop.done.values()], loop.done[b.id] is b, len(Task.alive)
        loop.spawn(job, 2).id, loop.run(), log[-1], Loop._current is loop
        sig.emit("x", 5), part.n, len(sig.subs["x"]), first in sig.muted
        sig.muted.clear() ;; sig.emit("x", 1), sig.subs["x"][0][3] is first, sig.subs["x"][1][3].__self__ is part
        later(lambda v: "later")(0), sig.emit("x", 1), sig.emit("x", 1), again("z", len) is len, sig.emit("y", 1), sig.emit("y", 1), sig.depth
        """,
    ),
    "writers of csv that go on": session(
        r"""
        import csv, io
        out = io.StringIO(); w = csv.writer(out, delimiter=";", quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n"); w.writerow(["a", 1]); f = open("t.csv", "w", newline=""); fw = csv.writer(f); fw.writerow([1, 2])
        class Dest:
            def __init__(self): self.rows = []
            def write(self, line): self.rows.append(line)
        dest = Dest(); dw = csv.DictWriter(dest, ["k", "v"], extrasaction="ignore", restval="?"); dw.writeheader(); held = {"w": w, "row": w.writerow}
        class Own: write = staticmethod(lambda line: None)
        ow = csv.writer(Own())
        """,
        r"""
        w.writerow(["b", 2.5]), out.getvalue(), held["w"] is w, held["row"](["c"]), out.getvalue()[-4:]
        fw.writerow(["x,y"]), f.flush(), open("t.csv").read()
        dw.writerow({"k": 1, "z": 2}), dest.rows, dw.fieldnames, dw.writer.dialect.delimiter, w.dialect.quoting
        ow.writerow([1])
        """,
        named="ow",
    ),
    "trees of xml that share": session(
        """
        import xml.etree.ElementTree as ET, xml.dom.minidom as md, io, copy
        root = ET.fromstring("<r a='1'><b>t</b>tail<c><d/></c></r>"); b, c = root; dd = c[0]; parent = {k: p for p in root.iter() for k in p}; attrib = root.attrib; c.append(b); shared = ET.SubElement(dd, "s"); shared.text = "x"; idx = {b: "b", dd: "d"}
        class El(ET.Element):
            extra = 0
            def __init__(self, tag, **kw): super().__init__(tag, kw); self.note = [tag]
        own = El("own", k="v"); own.append(shared); own.me = own; tree = ET.ElementTree(root); it = root.iter(); next(it); comment = ET.Comment("hey"); root.append(comment); ent = ET.PI("t", "x"); qn = ET.QName("u", "l")
        pull = ET.XMLPullParser(["start", "end"]); pull.feed("<q><w>"); ev = list(pull.read_events())
        tb = ET.TreeBuilder(); tb.start("m", {}); tb.data("dat")
        class Target:
            def __init__(self): self.depth = 0; self.tags = []
            def start(self, tag, at): self.depth += 1; self.tags.append(tag)
            def end(self, tag): self.depth -= 1
            def data(self, d): pass
            def close(self): return self.tags
        tg = Target(); xp = ET.XMLParser(target=tg); xp.feed("<a><b>")
        doc = md.parseString("<x><y z='1'>t</y></x>"); y = doc.documentElement.firstChild; att = y.getAttributeNode("z"); frag = doc.createDocumentFragment(); frag.appendChild(doc.createElement("new")); kids = y.childNodes
        ET.register_namespace("my", "http://u"); finder = root.find; deep = copy.deepcopy(root); words = [e.tag for e in root.iter()]
        """,
        """
        root[0] is b, c[1] is b, parent[dd] is c, idx[dd], root.attrib is attrib, dd[0] is shared, tree.getroot() is root
        attrib["n"] = "2" ;; root.get("n"), finder("c") is c, finder.__self__ is root
        b.text = "changed" ;; ET.tostring(root)
        own.note, own.me is own, own[0] is shared, type(own).__name__, ET.tostring(own), own.get("k")
        comment.tag is ET.Comment, ent.tag is ET.PI, root[-1] is comment, qn.text
        [e.tag for e in it][:3]
        pull.feed("</w></q>") ;; [(k, e.tag) for k, e in pull.read_events()]
        tb.end("m").text
        xp.feed("</b></a>"), tg.tags, tg.depth
        y.parentNode is doc.documentElement, y.ownerDocument is doc, att.ownerElement is y, y.childNodes is kids, att.value
        doc.documentElement.appendChild(frag) and doc.toxml()
        y.setAttribute("q", "9"), att.value, len(frag.childNodes), y.toxml()
        ET.tostring(ET.Element("{http://u}a")), deep is root, deep[0].text
        """,
        named="it pull tb xp",
    ),
    "json coders with hooks": session(
        """
        import json, decimal, functools, io
        def hook(o): seen.append(sorted(o)); return o
        seen = []
        dec = json.JSONDecoder(object_hook=hook, parse_float=decimal.Decimal, strict=False); dec.decode('{"a": 1.5}')
        class Dec(json.JSONDecoder):
            def __init__(self, tag): super().__init__(object_pairs_hook=self.pairs); self.tag = tag
            def pairs(self, ps): return (self.tag, ps)
        d2 = Dec("t"); scan = d2.scan_once; d3 = json.JSONDecoder(parse_constant=lambda c: const[c]); const = {"NaN": "nan!"}
        class Enc(json.JSONEncoder):
            def default(self, o): return getattr(o, "__json__", lambda: super(Enc, self).default(o))()
        enc = Enc(indent=1, sort_keys=True, separators=(",", "=")); enc.default = lambda o: f"<{o}>"; plain = json.JSONEncoder(default=lambda o: list(o) if isinstance(o, set) else fall(o))
        def fall(o): return "fall"
        loads = functools.partial(json.loads, cls=Dec, tag="p"); dumps = functools.partial(json.dumps, default=fall); dec.mine = dec
        it = enc.iterencode([1, 2]); next(it); d3.parse_array_old = d3.parse_array
        json.JSONEncoder.default = lambda self, o: "patched"; json._default_decoder.mine = seen
        from json.decoder import scanstring; from json.encoder import encode_basestring_ascii as eba, c_make_encoder
        """,
        """
        dec.decode('{"b": 2.50}'), seen, dec.mine is dec
        d2.decode('{"x": {"y": 1}}'), scan('{"z": 1}', 0), d2.scan_once is scan
        d2.tag = "u" ;; d2.decode('{"q": 1}'), d2.object_pairs_hook.__self__ is d2
        const["NaN"] = 5 ;; d3.decode("[NaN]"), d3.parse_array_old is d3.parse_array
        enc.encode({"b": {1}, "a": 1j})
        plain.encode({3, 4}), plain.encode(1j), dumps([1j]), loads('{"a": 1}')
        json.dumps(object()), json._default_decoder.mine is seen
        list(it)
        scanstring('abc" rest', 0), eba("é"), scanstring is json.decoder.scanstring
        dec.raw_decode('[1.25] tail'), dec.object_hook is hook
        """,
        named="it",
    ),
}
