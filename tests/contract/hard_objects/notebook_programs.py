"""Programs as they grow in a notebook over several cells, with a failure on the way."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "an inventory grown over cells, with one cell that failed half way": session(
        """
        from dataclasses import dataclass, field
        from functools import total_ordering, cached_property
        from collections import defaultdict, Counter
        import logging, bisect
        logging.basicConfig(level=logging.WARNING)
        logger = logging.getLogger("inventory")
        @total_ordering
        class Product:
            _registry = {}
            def __init__(self, sku, price): self.sku, self._price = sku, price; Product._registry[sku] = self
            @property
            def price(self): return self._price
            @price.setter
            def price(self, v):
                if v < 0: raise ValueError("negative price")
                for cb in observers: cb(self, self._price, v)
                self._price = v
            def __eq__(self, o): return self.sku == o.sku
            def __lt__(self, o): return self.price < o.price
            def __hash__(self): return hash(self.sku)
        observers = []; changes = []
        observers.append(lambda p, old, new: changes.append((p.sku, old, new)))
        # %%
        class Stock(defaultdict):
            def __init__(self): super().__init__(int); self.moves = Counter()
            def take(self, p, n):
                if self[p] < n: raise LookupError(p.sku)
                self[p] -= n; self.moves["out"] += n
        stock = Stock(); pen, ink = Product("pen", 2), Product("ink", 9); stock[pen] = 10; stock[ink] = 1
        # %%
        # raises
        stock.take(pen, 3)
        order = [pen]
        stock.take(ink, 2)
        never = 1
        # %%
        pen.price = 3; by_price = sorted([ink, pen]); bisect.insort(by_price, Product("cap", 5))
        def total(s=stock): return sum(p.price * n for p, n in s.items())
        setter = Product.price.fset; restock = stock.__setitem__; alias = Product._registry["pen"]
        """,
        """
        total(), stock[pen], stock.moves, order[0] is pen, "never" in globals()
        pen.price = 10 ;; changes, total(), [p.sku for p in sorted(by_price)]
        setter(ink, 1) ;; ink.price, changes[-1]
        pen.price = -1 ;; 0
        alias is pen, sorted(Product._registry), total.__defaults__[0] is stock, stock.default_factory
        restock(ink, 100) ;; stock[ink], total(), stock[Product("new", 1)], len(stock)
        stock.take(ink, 1000) ;; 0
        pen >= ink, max(by_price).sku, pen in {alias}, logger is logging.getLogger("inventory"), logging.root.level
        observers.append(lambda p, a, b: stock.update({p: 0})); pen.price = 1 ;; stock[pen], stock.moves["out"], type(stock).__name__
        """,
    ),
    "a web-like router with decorators, middleware and a request scope": session(
        """
        import re, contextvars, functools, json, inspect, types, itertools
        request = contextvars.ContextVar("request"); rid = itertools.count(1)
        class Router:
            def __init__(self, prefix=""): self.prefix, self.routes, self.mw, self.errors = prefix, [], [], {}
            def route(self, path, *methods):
                def deco(fn):
                    rx = re.compile("^" + self.prefix + re.sub(r"<(\\w+)>", r"(?P<\\1>[^/]+)", path) + "$")
                    self.routes.append((rx, set(methods or ["GET"]), fn)); fn.urls = [*getattr(fn, "urls", []), self.prefix + path]; return fn
                return deco
            get = functools.partialmethod(route)
            def use(self, m): self.mw.append(m); return m
            def error(self, exc): return lambda fn: self.errors.__setitem__(exc, fn) or fn
            def mount(self, other): self.routes.extend(other.routes)
            def __call__(self, method, path, **body):
                tok = request.set(types.SimpleNamespace(id=next(rid), path=path, body=body))
                try:
                    for rx, ms, fn in self.routes:
                        if method in ms and (m := rx.match(path)):
                            h = functools.reduce(lambda f, w: w(f), reversed(self.mw), fn)
                            try: return h(**m.groupdict(), **{k: v for k, v in body.items() if k in inspect.signature(fn).parameters})
                            except tuple(self.errors) as e: return next(f for c, f in self.errors.items() if isinstance(e, c))(e)
                    return 404
                finally: request.reset(tok)
        app = Router(); api = Router("/api"); timings = {}; store = {}
        @app.use
        def count(f):
            @functools.wraps(f)
            def w(**k): timings[f.__name__] = timings.get(f.__name__, 0) + 1; return f(**k)
            return w
        # %%
        @api.route("/items/<key>", "PUT", "POST")
        def put(key, value, tags=[]): tags.append(key); store[key] = value; return request.get().id, len(tags)
        @api.route("/items/<key>")
        @api.route("/things/<key>")
        def read(key): return store[key]
        @app.error(LookupError)
        def missing(e): return f"missing {e.args[0]}"
        app.mount(api)
        r1 = app("PUT", "/api/items/a", value=[1, 2]); r2 = app("GET", "/api/items/zz"); got = app("GET", "/api/things/a"); rx0 = app.routes[0][0]; outer = request.set("outer")
        """,
        """
        r1, r2, got is store["a"], timings
        app("PUT", "/api/items/b", value=3, extra=1), put.__defaults__[0], put.__kwdefaults__
        app("GET", "/api/items/b"), app("DELETE", "/x"), app("GET", "/api/items/q"), timings
        read.urls, put.urls, app.routes[0][2] is put, api.routes[0] is app.routes[0], rx0.match("/api/items/x")["key"]
        request.get(), request.reset(outer), request.get("none")
        app.route("/late/<n>")(lambda n: int(n) + request.get().id) and app("GET", "/late/5"), len(app.routes), len(api.routes)
        app.mw.append(lambda f: lambda **k: ("wrapped", f(**k))) ;; app("GET", "/api/items/a"), app.mw[0] is count, next(rid)
        """,
        named="outer",
    ),
    "symbolic sums, polynomials and matrices of one's own, cached and compared": session(
        """
        from fractions import Fraction
        from functools import reduce, lru_cache, singledispatchmethod, partial
        import operator, itertools, math, weakref
        class Ring:
            _inst = weakref.WeakValueDictionary()
            def __new__(cls, n):
                if n in cls._inst: return cls._inst[n]
                self = super().__new__(cls); self.n = n; cls._inst[n] = self; self.elems = {}; return self
            def __call__(self, v): v %= self.n; return self.elems.setdefault(v, Elem(self, v))
            def __repr__(self): return f"Z/{self.n}"
            def __contains__(self, e): return isinstance(e, Elem) and e.ring is self
        class Elem:
            __slots__ = ("ring", "v")
            def __init__(self, ring, v): self.ring, self.v = ring, v
            def _op(self, o, f):
                if isinstance(o, int): o = self.ring(o)
                if o.ring is not self.ring: raise TypeError(f"{self.ring} vs {o.ring}")
                return self.ring(f(self.v, o.v))
            for _n in ("add", "sub", "mul"): exec(f"def __{_n}__(self, o): return self._op(o, operator.{_n})\\n__r{_n}__ = __{_n}__")
            del _n
            def __repr__(self): return f"{self.v}"
        class Poly(tuple):
            def __new__(cls, *c):
                while len(c) > 1 and not c[-1]: c = c[:-1]
                return super().__new__(cls, c)
            def __call__(self, x): return reduce(lambda a, c: a * x + c, reversed(self))
            def __mul__(self, o):
                if not isinstance(o, Poly): return Poly(*(c * o for c in self))
                out = [0] * (len(self) + len(o) - 1)
                for (i, a), (j, b) in itertools.product(enumerate(self), enumerate(o)): out[i + j] += a * b
                return Poly(*out)
            def __repr__(self): return " + ".join(f"{c}x^{i}" for i, c in enumerate(self) if c) or "0"
            @singledispatchmethod
            def of(self, x): return self(x)
            @of.register
            def _(self, x: tuple): return Poly(*map(self, x))
            @property
            @lru_cache(maxsize=None)
            def deriv(self): return Poly(*[i * c for i, c in enumerate(self)][1:])
        class Matrix:
            __array_priority__ = 10
            def __init__(self, rows): self.rows = [list(r) for r in rows]; self._det = None
            def __getitem__(self, ij): i, j = ij; return self.rows[i][j] if isinstance(j, int) else [r[j] for r in self.rows[i]]
            def __setitem__(self, ij, v): self.rows[ij[0]][ij[1]] = v; self._det = None
            def __matmul__(self, o): return Matrix([[sum(a * b for a, b in zip(r, c)) for c in zip(*o.rows)] for r in self.rows])
            def __rmatmul__(self, o): return ("r", o)
            def __neg__(self): return Matrix([[-x for x in r] for r in self.rows])
            def __getattr__(self, k):
                if k == "T": return Matrix(zip(*self.rows))
                raise AttributeError(k)
            @property
            def det(self):
                if self._det is None: self._det = sum((-1) ** j * self[0, j] * Matrix([r[:j] + r[j + 1:] for r in self.rows[1:]]).det for j in range(len(self.rows))) if len(self.rows) > 1 else self[0, 0]
                return self._det
        # %%
        Z7, Z5 = Ring(7), Ring(5); three, five = Z7(3), Z7(5); p = Poly(1, 2, 3); dp = p.deriv; M = Matrix([[Fraction(1, 2), 2], [3, 4]]); M.det; row = M.rows[0]; N = M.T; primes = [2]; sieve = iter(lambda: next(n for n in itertools.count(primes[-1] + 1) if all(n % q for q in primes)), None); primes.append(next(sieve))
        horner = partial(Poly.__call__, p); roots = {p: "p", dp: "dp", M: "m", Z7: "z7"}
        """,
        """
        three + five, three * 10 is Z7(2), three - five, Z7(3) is three, Ring(7) is Z7, three in Z7, three in Z5
        three + Z5(1)
        sorted(Z7.elems), len(Ring._inst), Ring._inst[5] is Z5, Elem.__add__.__name__, "_n" in vars(Elem)
        p(2), p * p, p.deriv is dp, Poly.deriv.fget.cache_info().hits, horner(3), roots[Poly(1, 2, 3)], type(p * 2).__name__
        row[0] = Fraction(5) ;; M.det, M[0, 0]
        M[0, 0] = Fraction(5) ;; M.det, (M @ N).rows, N.det, (-M).rows[1]
        roots[M], roots[Z7], 5 @ M, M[0:2, 1], M.nope if hasattr(M, "nope") else "no"
        primes.append(next(sieve)) ;; primes, next(sieve)
        sorted(Ring._inst), Ring(5).elems, Ring(5) is Z5
        """,
    ),
    "a plug-in host with code strings, sandboxes, hot swaps and version tables": session(
        """
        import types, inspect, textwrap, linecache, hashlib, functools, ast, sys, collections
        class Plugin:
            api = 1; loaded = collections.OrderedDict()
            def __init__(self, name, src): self.name, self.src, self.ns, self.history = name, textwrap.dedent(src), {}, []; self.load()
            def load(self):
                code = compile(self.src, f"<plugin {self.name}>", "exec"); self.history.append(hashlib.md5(self.src.encode()).hexdigest()[:6])
                mod = types.ModuleType(f"plugins_{self.name}"); mod.__dict__.update(host=self, api=Plugin.api, export=lambda f: self.ns.__setitem__(f.__name__, f) or f)
                linecache.cache[code.co_filename] = (len(self.src), None, self.src.splitlines(True), code.co_filename)
                exec(code, mod.__dict__); self.mod = mod; Plugin.loaded[self.name] = self
            def swap(self, src): old = self.mod; self.src = textwrap.dedent(src); self.load(); [setattr(self.mod, k, v) for k, v in vars(old).items() if k.startswith("keep_")]
            def __getattr__(self, k):
                try: return self.__dict__["ns"][k]
                except KeyError: raise AttributeError(k) from None
        calls = []
        a = Plugin("a", '''
            keep_state = {"n": 0}
            @export
            def hello(who="x"):
                keep_state["n"] += 1
                return f"hello {who} {api} {keep_state['n']}"
            @export
            class Thing:
                host = host
                def __init__(self): self.v = keep_state
            def hidden(): return hello
        ''')
        b = Plugin("b", '''
            import sys
            deps = [host.loaded["a"]]
            @export
            def chain(): return deps[0].hello("b")
            @export
            def gen():
                while True: yield chain()
        ''')
        # %%
        old_hello = a.hello; th = a.Thing(); a.hello(); g = b.gen; a.swap("export(lambda: 0)\\n@export\\ndef hello(who='y'): return ('v2', who, keep_state['n'])"); Plugin.api = 2; proxy = types.MappingProxyType(a.ns); mods = {p.mod.__name__: p.mod for p in Plugin.loaded.values()}; tree = ast.parse(a.src)
        """,
        """
        a.hello(), old_hello("o"), a.mod.keep_state["n"], th.v is a.mod.keep_state, a.history
        b.chain(), b.chain.__globals__ is b.mod.__dict__, b.mod.deps[0] is a, th.host is a
        old_hello.__globals__ is a.mod.__dict__, old_hello.__globals__["hidden"]() is old_hello, type(th) is a.Thing
        proxy["hello"] is a.hello, sorted(proxy), mods["plugins_b"] is b.mod, "plugins_a" in sys.modules, list(Plugin.loaded)
        a.nothing
        inspect.getsource(a.hello).strip().splitlines()[-1][:20], old_hello.__code__.co_filename, type(th).__module__
        old_hello.__globals__["keep_state"]["n"] = 50 ;; a.hello(), th.v["n"]
        a.swap("export(lambda: api)") ;; a.ns["<lambda>"](), len(a.history), hasattr(a.mod, "keep_state"), proxy["<lambda>"]()
        next(g()), a.__dict__["name"], Plugin.loaded["a"] is a, ast.unparse(tree)[:7]
        """,
    ),
    "bits, codecs, hashes and compression left in the middle": session(
        """
        import hashlib, hmac, zlib, bz2, lzma, gzip, codecs, base64, io, json, secrets, random, struct, collections, binascii, zipfile, tarfile, csv, email.message, urllib.parse, urllib.request, http.cookies, ipaddress, uuid, xml.etree.ElementTree as ET, xml.dom.minidom as md, html, string, select, itertools
        h = hashlib.sha256(b"abc"); h2 = h.copy(); h2.update(b"d"); mac = hmac.new(b"k", b"m", "sha256"); crc = zlib.crc32(b"abc"); comp = zlib.compressobj(9); part = comp.compress(b"hello " * 100); dec = zlib.decompressobj(); bz = bz2.BZ2Compressor(); lz = lzma.LZMACompressor(); enc = codecs.getincrementalencoder("utf-16")(); e1 = enc.encode("a")
        zbuf = io.BytesIO(); zf = zipfile.ZipFile(zbuf, "w"); zf.writestr("a.txt", "A"); gz = gzip.GzipFile(fileobj=(gbuf := io.BytesIO()), mode="wb", mtime=0); gz.write(b"part"); tbuf = io.BytesIO(); tf = tarfile.open(fileobj=tbuf, mode="w"); ti = tarfile.TarInfo("x"); ti.size = 2; tf.addfile(ti, io.BytesIO(b"hi"))
        class Huffman:
            def __init__(self, text):
                self.freq = collections.Counter(text); heap = sorted([n, [c, ""]] for c, n in self.freq.items())
                while len(heap) > 1:
                    lo, hi = heap.pop(0), heap.pop(0)
                    for p in lo[1:]: p[1] = "0" + p[1]
                    for p in hi[1:]: p[1] = "1" + p[1]
                    heap.append([lo[0] + hi[0]] + lo[1:] + hi[1:]); heap.sort()
                self.codes = {c: b for c, b in heap[0][1:]}; self.heap = heap
            def encode(self, s): return int("1" + "".join(map(self.codes.__getitem__, s)), 2)
            def decode(self, n):
                rev, cur = {b: c for c, b in self.codes.items()}, ""
                for bit in bin(n)[3:]:
                    cur += bit
                    if cur in rev: yield rev[cur]; cur = ""
        class Bits:
            def __init__(self, v=0): self.v = v
            def __getitem__(self, i): return self.v >> i & 1
            def __setitem__(self, i, b): self.v = self.v & ~(1 << i) | b << i
            def __index__(self): return self.v
            def __iter__(self): return (i for i in itertools.takewhile(lambda i: self.v >> i, itertools.count()) if self[i])
        class Bloom:
            def __init__(self, n, seeds): self.bits = Bits(); self.n = n; self.hs = [self._mk(s) for s in seeds]
            def _mk(self, s): base = hashlib.md5(s); return lambda x: (c := base.copy(), c.update(x), int.from_bytes(c.digest()[:4], "big") % self.n)[-1]
            def add(self, x): [self.bits.__setitem__(f(x), 1) for f in self.hs]
            def __contains__(self, x): return all(self.bits[f(x)] for f in self.hs)
        hf = Huffman("abracadabra"); code = hf.encode("abra"); bits = Bits(5); bloom = Bloom(64, [b"1", b"2"]); bloom.add(b"x"); gen = random.Random(b"seed"); tok = gen.randbytes(4)
        root = ET.fromstring("<r><a k='1'/><b>t</b></r>"); a = root[0]; tree = ET.ElementTree(root); it = root.iter(); next(it); parents = {c: p for p in root.iter() for c in p}; pull = ET.XMLPullParser(["end"]); pull.feed("<x><y/>"); tb = ET.TreeBuilder(); tb.start("q", {}); dom = md.parseString("<d><e/></d>"); el = dom.documentElement
        msg = email.message.EmailMessage(); msg["To"] = "a@b.c"; msg.set_content("hi"); ck = http.cookies.SimpleCookie("a=1"); mors = ck["a"]; net = ipaddress.ip_network("10.0.0.0/30"); hosts = net.hosts(); next(hosts); url = urllib.parse.urlsplit("http://u:p@h:1/x?q=1"); req = urllib.request.Request("http://x/y", headers={"K": "v"})
        """,
        """
        h.hexdigest()[:8], h2.hexdigest()[:8], h.update(b"z"), h.hexdigest()[:8], mac.hexdigest()[:8]
        zlib.decompress(part + comp.compress(b"more") + comp.flush())[-6:]
        dec.decompress(zlib.compress(b"q")), enc.encode("b"), bz2.decompress(bz.compress(b"1") + bz.flush()), lzma.decompress(lz.compress(b"2") + lz.flush())
        zf.writestr("b.txt", "B"), zf.close(), sorted(zipfile.ZipFile(zbuf).namelist())
        gz.write(b"2"), gz.close(), gzip.decompress(gbuf.getvalue())
        tf.addfile(tarfile.TarInfo("y")), tf.close(), tarfile.open(fileobj=io.BytesIO(tbuf.getvalue())).getnames()
        "".join(hf.decode(code)), hf.codes["a"] is hf.heap[0][1][1] or hf.codes["a"], hf.freq["a"]
        bits[1] = 1 ;; list(bits), hex(bits), b"x" in bloom, b"zzz" in bloom, bloom.hs[0](b"q") < 64
        gen.randbytes(2).hex(), tok.hex(), gen.getrandbits(8)
        a.set("k", "2") ;; ET.tostring(root), parents[a] is root, next(it) is a, tree.getroot() is root, [e.tag for _, e in pull.read_events()], tb.end("q").tag
        el.setAttribute("k", "v") ;; dom.toxml(), el.firstChild.parentNode is el, dom.documentElement is el, el.ownerDocument is dom
        mors["path"] = "/" ;; ck.output(), msg["To"], msg.get_content(), next(hosts), url.port, url.password, req.get_header("K"), req.host
        """,
        named="bloom bz comp dec gz h h2 hosts it lz mac pull tb",
    ),
}
