"""What stands half-way or remembers: generators, contexts, exceptions, mocks, caches, weak references."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "exceptions kept and raised again": session(
        """
        import traceback, sys
        class AppError(Exception):
            code = 500
            def __init__(self, msg, *, detail=None): self.detail = detail; super().__init__(msg)
            def __str__(self): return f"[{self.code}] {self.args[0]}"
        class NotFound(AppError, KeyError): code = 404
        class TwoArgs(Exception):
            def __init__(self, a, b): self.a = a; self.b = b
        class Kept(Exception):
            def __init__(self, **kw): super().__init__(); self.kw = kw
        errors = []
        def deep(n):
            local = [n]
            if n == 0: raise NotFound("x", detail={"k": local})
            try: deep(n - 1)
            except NotFound as e:
                e.add_note(f"level {n}")
                if n == 2: raise AppError("outer") from e
                raise
        try: deep(3)
        except AppError as e: top = e
        try:
            try: [][1]
            except IndexError: raise RuntimeError("second") from None
        except RuntimeError as e: sup = e
        eg = ExceptionGroup("g", [ValueError(1), ExceptionGroup("in", [TypeError(2), top])])
        match, rest = eg.split(TypeError); two = TwoArgs(1, [2]); kept = Kept(x=1)
        class MyGroup(ExceptionGroup):
            def __new__(cls, msg, excs, code): self = super().__new__(cls, msg, excs); self.code = code; return self
            def derive(self, excs): return MyGroup(self.message, excs, self.code)
        mg = MyGroup("m", [OSError(2, "no", "f.txt"), KeyError("k")], 7)
        try: open("/nonexistent/q")
        except OSError as e: os_e = e
        try: "é".encode("ascii")
        except UnicodeEncodeError as e: ue = e
        si = StopIteration(5); se = SystemExit(3); imp = ImportError("no", name="n", path="p"); ae = AttributeError("m", name="attr", obj=errors)
        """,
        """
        str(top), top.__cause__.detail, top.__cause__.__notes__, type(top.__cause__) is NotFound, top.__suppress_context__
        [f.name for f in traceback.extract_tb(top.__traceback__)]
        sup.__suppress_context__, type(sup.__context__).__name__, sup.__cause__
        [str(e) for e in eg.exceptions], eg.exceptions[1].exceptions[1] is top, match.exceptions[0].exceptions[0] is eg.exceptions[1].exceptions[0], len(rest.exceptions)
        two.a, two.b, two.args, kept.kw, kept.args
        mg.code, mg.message, type(mg.subgroup(KeyError)).__name__, mg.subgroup(OSError).code
        os_e.errno, os_e.filename, type(os_e).__name__, ue.object, ue.start, ue.encoding
        si.value, se.code, imp.name, imp.path, ae.name, ae.obj is errors
        raise top
        isinstance(top.__cause__, KeyError), top.__cause__.code
        """,
    ),
    "exceptions whose members were changed": session(
        """
        held = [1]
        stop = StopIteration("first"); stop.value = held
        leave = SystemExit(); leave.code = "over"
        missing = ImportError("no", name="n"); missing.msg = f"{missing.msg}: install it"
        try: b"\\xff".decode()
        except UnicodeDecodeError as error: text = error
        text.reason, text.start, text.end = "bad byte", 0, 1
        bare = UnicodeEncodeError("ascii", "\u00e9", 0, 1, "no"); bare.args = ("only one",); bare.note = held
        try: compile("a b", "made", "exec")
        except SyntaxError as error: wrong = error
        wrong.filename, wrong.lineno, wrong.msg = "script.py", 12, "no such thing"; wrong.print_file_and_line = held
        gone = OSError(2, "no", "a.txt"); gone.filename, gone.filename2, gone.strerror = "b.txt", held, "gone"
        full = BlockingIOError(11, "full", 7)
        class Stop(StopIteration):
            value = "of the class"
        own = Stop(held)
        attr = AttributeError("x"); attr.name, attr.obj = "y", held
        unset = NameError("n"); unset.name = "other"
        """,
        """
        stop.value is held, stop.args, leave.code, leave.args
        missing.msg, str(missing), missing.args, missing.name
        text.reason, text.start, text.end, text.object, text.encoding, str(text), text.args[4]
        bare.args, bare.object, bare.reason, bare.note is held, str(bare)
        wrong.filename, wrong.lineno, wrong.msg, str(wrong), wrong.text, wrong.print_file_and_line is held
        gone.filename, gone.filename2 is held, gone.strerror, gone.errno, type(gone), str(gone)
        full.characters_written, full.args, full.filename
        own.value, StopIteration.value.__get__(own) is held, own.args[0] is held
        attr.name, attr.obj is held, attr.args, unset.name, str(unset)
        """,
    ),
    "errors that carry state": session(
        """
        import traceback, sys, contextlib, functools, io, json
        class Base(Exception):
            registry = {}
            def __init_subclass__(cls, code=None): Base.registry[code] = cls; cls.code = code
            def __new__(cls, *a, **k): self = super().__new__(cls, *a); made.append(cls.__name__); return self
        class Http(Base, code=500):
            def __init__(self, status, *, body=None, retry=None): super().__init__(f"HTTP {status}"); self.status, self.body, self.retry = status, body, retry
            def __str__(self): return f"{self.status}: {self.body!r}"
            def __eq__(self, o): return isinstance(o, Http) and self.status == o.status
            __hash__ = Exception.__hash__
        class Missing(Http, LookupError, code=404): pass
        made = []; shared = {"k": [1]}
        def fetch(n):
            try: return shared["nope"] if n else 1 / 0
            except KeyError as e: raise Missing(404, body=shared, retry=fetch) from e
            except ZeroDivisionError: raise Http(500)
        errs = []
        for n in (1, 0):
            try: fetch(n)
            except Http as e: errs.append(e)
        def rec(n): return rec(n - 1) if n else json.loads("{bad")
        try: rec(3)
        except ValueError as e: je = e
        text = "".join(traceback.format_exception(je)); summary = traceback.TracebackException.from_exception(errs[0]); eg = ExceptionGroup("all", [*errs, je]); eg.add_note("noted"); flat = eg.subgroup(lambda e: isinstance(e, Http))
        try:
            try: raise TypeError("inner")
            finally: int("x")
        except ValueError as e: ctx = e
        tb = je.__traceback__; lines = [f.lineno for f in traceback.extract_tb(tb)]; ki = KeyError(("a", 1)); ose = FileNotFoundError(2, "gone", "a.txt", None, "b.txt"); ude = UnicodeDecodeError("utf-8", b"\\xff", 0, 1, "bad"); se = SyntaxError("msg", ("f.py", 3, 4, "x = (")); stopit = StopAsyncIteration(1)
        class Retry(BaseException):
            def __init__(self, n): self.n = n
        rt = Retry(3)
        """,
        """
        str(errs[0]), errs[0].body is shared, errs[0].retry is fetch, errs[0].__cause__.args, errs[1].__context__.args, made
        Base.registry[404] is Missing, errs[0].code, isinstance(errs[0], LookupError), errs[0] == Http(404), made[-1]
        [f.name for f in traceback.extract_tb(je.__traceback__)] == ["<module>", "rec", "rec", "rec", "rec", "loads", "decode", "raw_decode"], [f.lineno for f in traceback.extract_tb(tb)] == lines, tb is je.__traceback__
        "".join(traceback.format_exception(je)) == text
        summary.exc_type is Missing, "KeyError" in "".join(summary.format()), eg.__notes__, flat.exceptions[0] is errs[0], len(flat.exceptions), eg.exceptions[2] is je
        je.doc, je.pos, je.lineno, ctx.__context__.args, ctx.__suppress_context__
        ki.args, str(ki), ose.filename, ose.filename2, ose.errno, ude.object, ude.reason, se.lineno, se.text, stopit.args, rt.n, rt.args
        raise errs[0]
        errs[1].with_traceback(None) is errs[1], errs[1].__traceback__
        """,
    ),
    "contexts and variables": session(
        """
        import contextvars, contextlib
        user = contextvars.ContextVar("user", default="nobody"); depth = contextvars.ContextVar("depth")
        class Scope:
            stack = []
            def __init__(self, name): self.name = name
            def __enter__(self): Scope.stack.append(self.name); return self
            def __exit__(self, *exc): Scope.stack.pop(); return exc[0] is KeyError
        scope = Scope("a"); scope.__enter__()
        es = contextlib.ExitStack(); es.enter_context(Scope("b")); es.callback(lambda: Scope.stack.append("cb"))
        @contextlib.contextmanager
        def tmp(v):
            before = Scope.stack[:]
            yield v
            Scope.stack[:] = before
        cm = tmp(5); deco = contextlib.ContextDecorator
        @tmp(6)
        def decorated(x): Scope.stack.append(x); return list(Scope.stack)
        null = contextlib.nullcontext([1]); sup = contextlib.suppress(ZeroDivisionError); import io; buf = io.StringIO(); red = contextlib.redirect_stdout(buf); cl = contextlib.closing(buf)
        def in_user(name):
            t = user.set(name)
            try: return user.get()
            finally: user.reset(t)
        plain = 5
        """,
        """
        user.get(), user.name
        depth.get()
        in_user("me"), user.get()
        Scope.stack, scope.name
        with Scope("z") as z: raise KeyError ;; Scope.stack, z.name
        decorated("q"), Scope.stack
        with cm as v: Scope.stack.append(v) ;; v, Scope.stack
        with null as n: n.append(2) ;; n
        with sup: 1/0 ;; "fine"
        with red: print("hi") ;; buf.getvalue()
        es.close() ;; Scope.stack
        plain
        """,
    ),
    "weak structures": session(
        """
        import weakref
        class Node:
            def __init__(self, name, parent=None):
                self.name = name; self._parent = weakref.ref(parent) if parent else None; self.kids = []
                if parent: parent.kids.append(self)
            @property
            def parent(self): return self._parent and self._parent()
            def shout(self): return self.name.upper()
        root = Node("root"); a = Node("a", root); b = Node("b", a)
        ws = weakref.WeakSet([a, b]); wk = weakref.WeakKeyDictionary({a: {"n": 1}}); wv = weakref.WeakValueDictionary({"b": b})
        wm = weakref.WeakMethod(a.shout); pr = weakref.proxy(b); events = []
        def gone(ref): events.append("gone")
        cb = weakref.ref(b, gone); r1 = weakref.ref(a); same = weakref.ref(a)
        class Bus:
            def __init__(self): self.subs = weakref.WeakKeyDictionary()
            def on(self, o, m): self.subs.setdefault(o, set()).add(m)
            def emit(self): return sorted(getattr(o, m)() for o, ms in self.subs.items() for m in ms)
        bus = Bus(); bus.on(a, "shout"); bus.on(root, "shout")
        dead = weakref.ref(Node("tmp")); deadm = weakref.WeakMethod(Node("t2").shout)
        class Key(weakref.ref):
            __slots__ = ("tag",)
            def __new__(cls, o, tag): return super().__new__(cls, o)
            def __init__(self, o, tag): super().__init__(o); self.tag = tag
        kr = Key(a, "T")
        """,
        """
        b.parent is a, a.parent is root, root.parent
        a in ws, len(ws), wk[a], wv["b"] is b
        wm()(), wm() == a.shout, pr.name, pr.kids is b.kids
        r1 is same, r1() is a, dead(), deadm()
        bus.emit()
        kr() is a, kr.tag, type(kr).__name__
        a.kids.clear(); del b, pr ;; __import__("gc").collect() and 0, events, len(ws), "b" in wv, cb()
        len(wk), root.kids[0] is a
        """,
    ),
    "observers with weak methods and callbacks": session(
        """
        import weakref, functools, collections, types, gc
        class Signal:
            def __init__(self): self.slots = []; self.dead = 0
            def connect(self, f):
                ref = weakref.WeakMethod(f, self._drop) if isinstance(f, types.MethodType) else weakref.ref(f, self._drop); self.slots.append(ref); return f
            def _drop(self, ref): self.slots.remove(ref); self.dead += 1
            def __call__(self, *a): return [s()(*a) for s in self.slots]
        class Strong:
            def __init__(self): self.refs = {}
            def on(self, o, name): self.refs[weakref.ref(o, self.gone)] = name
            def gone(self, r): lost.append(self.refs.pop(r))
            def fire(self): return sorted(getattr(r(), n)() for r, n in self.refs.items())
        lost = []
        class L:
            def __init__(self, n): self.n = n
            def hear(self, *a): return (self.n, *a)
            def say(self): return self.n
        l1, l2, l3 = L(1), L(2), L(3); st = Strong(); st.on(l1, "say"); st.on(l2, "say"); del_me = L(9); st.on(del_me, "say"); del del_me
        plain = weakref.ref(l3); cbs = []; watched = weakref.ref(l3, cbs.append); same = weakref.ref(l3); wk = weakref.WeakKeyDictionary({l3: {"x": 1}}); wv = weakref.WeakValueDictionary(one=l1, two=l2); wset = weakref.WeakSet([l1, l3]); wm = weakref.WeakMethod(l2.hear); px = weakref.proxy(l1); dead = weakref.ref(L(0)); pdead = None
        class Cache:
            def __init__(self): self.data = weakref.WeakValueDictionary(); self.made = 0
            def get(self, k):
                o = self.data.get(k)
                if o is None: o = self.data[k] = L(k); self.made += 1
                return o
        cache = Cache(); kept = cache.get("k"); cache.get("gone")
        @functools.lru_cache
        def slot(x): return x
        """,
        """
        st.fire(), lost
        plain is same, plain() is l3, watched() is l3, watched is not plain, dead()
        wk[l3], len(wv), wv["two"] is l2, l3 in wset, l2 in wset, wm()(5), px.say(), px.n
        del l3 ;; gc.collect() and 0, cbs == [watched], plain(), len(wk), len(wset)
        del l2 ;; gc.collect() and 0, st.fire(), lost, wm(), dict(wv)
        cache.get("k") is kept, cache.made, cache.get("gone").n, cache.made
        weakref.getweakrefcount(l1) > 0, hash(plain) == hash(plain) if plain() else "gone"
        """,
    ),
    "mocks in use": session(
        """
        from unittest import mock
        import json, os, datetime
        class Api:
            url = "u"
            def get(self, path, *, retries=1): return "real"
            @staticmethod
            def ping(): return "pong"
        m = mock.MagicMock(name="api", spec=Api); m.get.return_value = {"a": 1}; m.get("x"); m.get.side_effect = [1, ValueError("bad"), 3]; m.get("y")
        auto = mock.create_autospec(Api, instance=True); auto.get.return_value = 5; auto.get("p", retries=2)
        calls = []; fake = mock.Mock(side_effect=lambda *a: calls.append(a) or len(calls)); fake(1)
        sealed = mock.Mock(); sealed.a.b = 3; mock.seal(sealed)
        p = mock.patch.object(Api, "get", autospec=True, return_value="patched"); started = p.start()
        pd = mock.patch.dict(os.environ, {"MOCKED": "1"}); pd.start()
        mo = mock.mock_open(read_data="l1\\nl2\\n"); prop = mock.PropertyMock(return_value=8)
        class H: pass
        type(H).__name__; H.val = prop; h = H(); h.val; sent = mock.sentinel.thing; anyv = mock.ANY; mc = mock.call.foo(1).bar(2); mm = mock.MagicMock(); mm.__getitem__.return_value = 4; mm.__len__.return_value = 2; parent = mock.Mock(); parent.attach_mock(fake, "fk"); fake(2); am = mock.AsyncMock(return_value=3); nonc = mock.NonCallableMock(x=1)
        """,
        """
        m.get.call_args_list, m.get.call_count, isinstance(m, Api)
        m.get("z")
        m.get("w"), m.nothing
        auto.get.call_args, auto.get("q"), auto.get(), 1
        fake(3), calls, parent.mock_calls, parent.fk is fake
        sealed.c
        Api().get("x"), started.call_count, Api.get is started
        p.stop() ;; Api().get("x")
        pd.stop() ;; os.environ.get("MOCKED")
        h.val, prop.call_count, sent is mock.sentinel.thing, 5 == anyv, mc == mock.call.foo(1).bar(2), mm["k"], len(mm), bool(mm)
        mo("f").read(), [l for l in mo("f")], nonc.x
        mm.reset_mock(); ;; mm["k"], __import__("asyncio").run(am())
        """,
        named="mo",
    ),
    "generators in progress": session(
        """
        def running_mean():
            total = n = 0; avg = None
            while True:
                x = yield avg
                total += x; n += 1; avg = total / n
        rm = running_mean(); next(rm); rm.send(10)
        def lines():
            try:
                for i in range(5): yield i
            finally: closed.append("lines")
        closed = []; ln = lines(); next(ln)
        wrapped = map(lambda x: x * 2, ln); zipped = zip("abc", [1, 2, 3]); next(zipped); enum = enumerate("xyz", 5); next(enum)
        fl = filter(None, [0, 1, 0, 2]); next(fl); rv = reversed([1, 2, 3]); next(rv); it = iter([1, 2, 3, 4]); pairs = zip(it, it); next(pairs)
        class Count:
            def __init__(self, n): self.n = n
            def __iter__(self): return self
            def __next__(self):
                if self.n <= 0: raise StopIteration
                self.n -= 1; return self.n
        cd = Count(4); next(cd); both = [cd, iter(cd)]
        import itertools as it_
        tee1, tee2 = it_.tee(iter("abcd")); next(tee1); isl = it_.islice(it_.count(10, 5), 1, None, 2); next(isl); gb = it_.groupby("aabbc"); key, grp = next(gb); next(grp); prod = it_.product("ab", [1, 2]); next(prod); perm = it_.permutations([1, 2, 3], 2); next(perm); comb = it_.combinations("abcd", 2); next(comb); pw = it_.pairwise([1, 2, 3]); next(pw); zl = it_.zip_longest([1], [1, 2], fillvalue="-"); next(zl); ch = it_.chain.from_iterable([[1, 2], [3]]); next(ch)
        sent = iter([1, 2, 0, 3].pop, 1); next(sent); by = iter(b"abc"); next(by); st = iter("héé"); next(st); rg = iter(range(0, 10, 3)); next(rg); rr = reversed(range(5)); next(rr); tp = iter((1, 2)); next(tp)
        """,
        """
        rm.send(20)
        next(ln), closed
        next(wrapped)
        list(zipped), next(enum), next(fl), list(rv)
        next(pairs), list(it)
        next(cd), both[1] is cd, both[0].n
        "".join(tee1), "".join(tee2)
        next(isl), next(isl), next(prod), next(perm), next(comb), next(zl), list(ch)
        next(pw)
        list(grp), next(gb)[0]
        next(sent), list(by), list(st), list(rg), list(rr), list(tp)
        """,
        named="ln rm wrapped",
    ),
    "generators of many kinds, some begun": session(
        """
        import itertools, functools, collections, random
        def numbers(n, *, start=0):
            for i in range(start, n): yield i
        fresh = numbers(3, start=1); begun = numbers(5); next(begun); over = numbers(1); list(over)
        squares = (x * k for x in range(4)); k = 2
        def outer():
            scale = 10
            def gen(): yield scale
            return gen
        fg = outer()(); pipeline = map(str, fresh); filt = filter(lambda x: x != k, [1, 2, 3]); acc = itertools.accumulate([1, 2, 3], initial=k); nested = (y for x in [[1], [2, 3]] for y in x)
        class Peek:
            def __init__(self, it): self.it = iter(it); self.buf = []
            def __iter__(self): return self
            def __next__(self): return self.buf.pop() if self.buf else next(self.it)
            def peek(self): self.buf.append(next(self)); return self.buf[-1]
        pk = Peek(range(3)); pk.peek(); pk2 = Peek("ab"); next(pk2); rl = reversed(collections.deque([1, 2, 3])); next(rl); ri = iter(range(10**20, 10**20 + 3)); next(ri); it_set = iter({5}); en = enumerate(pk2, 7); zs = zip(pk, itertools.count()); gb = itertools.groupby([1, 1, 2], key=lambda v: v > 1); cyc = itertools.cycle("ab"); next(cyc); sl = itertools.islice(cyc, 3); class_it = iter([Peek, int]); next(class_it); bat = iter(lambda: random.choice([1]), 0); starm = itertools.starmap(pow, [(2, 3), (3, 2)]); next(starm)
        shared = iter([1, 2, 3, 4]); left, right = map(lambda x: x, shared), zip(shared)
        """,
        """
        list(over)
        list(fresh)
        k = 3 ;; list(squares)
        next(fg)
        pk.peek(), next(pk), next(pk), len(pk.buf)
        next(en), list(pk2)
        list(filt), list(acc)
        next(rl), next(ri), next(it_set)
        [(a, list(b)) for a, b in gb]
        list(sl), next(cyc), next(class_it) is int, next(bat), next(starm)
        next(left), next(right), next(left)
        list(nested)
        next(begun)
        """,
        named="begun fg fresh nested pipeline squares",
    ),
    "context managers and stacks of a tool": session(
        """
        import contextlib, io, sys, os, tempfile, functools, threading
        @contextlib.contextmanager
        def setting(name, value):
            before = CONF.get(name); CONF[name] = value
            try: yield CONF
            finally: CONF[name] = before
        CONF = {"a": 1}; ready = setting("a", 2); other = setting("b", 3)
        @setting("a", 10)
        def work(): return CONF["a"]
        work()
        class Timer(contextlib.ContextDecorator):
            def __init__(self, name): self.name = name; self.entered = 0
            def __enter__(self): self.entered += 1; return self
            def __exit__(self, *e): seen.append((self.name, e[0] and e[0].__name__)); return False
        seen = []; tm = Timer("t")
        @tm
        def job(x): return x / (x - 1)
        job(2)
        class Chain(contextlib.ExitStack):
            def add(self, name): self.callback(order.append, name); return self
        order = []; ch = Chain().add("x").add("y"); ch.push(lambda *e: order.append(e[0]) or True)
        class Tx(contextlib.AbstractContextManager):
            depth = 0
            def __enter__(self): Tx.depth += 1; return self
            def __exit__(self, *a): Tx.depth -= 1
        tx = Tx(); tx.__enter__(); tx.__enter__(); acm = contextlib.asynccontextmanager(lambda: (yield 1)); es = contextlib.ExitStack(); inner = es.enter_context(Timer("in")); moved = es.pop_all(); cl = contextlib.closing(io.StringIO("q")); chdir = contextlib.chdir(".")
        """,
        """
        with ready as c: got = dict(c) ;; got, CONF
        with other: CONF["b"] == 3 ;; CONF
        work(), CONF, work.__wrapped__.__name__
        job(3), tm.entered, seen
        job(1)
        with ch: raise ValueError ;; order
        Tx.depth, tx.__exit__(), Tx.depth
        moved.close() ;; seen[-1], inner.entered
        es.close() ;; len(seen)
        cl.thing.read(), chdir.path
        """,
    ),
    "readers in the middle": session(
        """
        import csv, io, re, struct, json, os, pathlib, shlex, tokenize, configparser, xml.etree.ElementTree as ET, string, textwrap, difflib
        pathlib.Path("t.csv").write_text("a,b\\n1,x\\n2,y\\n3,z\\n"); fh = open("t.csv"); rd = csv.DictReader(fh); first = next(rd)
        mem = io.StringIO("p|q\\n1|2\\n3|4\\n"); rows = csv.reader(mem, delimiter="|"); next(rows)
        out = io.StringIO(); w = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator=";"); w.writerow([1, "a"])
        dw = csv.DictWriter(out, ["k", "v"], extrasaction="ignore"); dw.writeheader()
        found = re.finditer(r"(\\w)(\\d)", "a1 b2 c3"); m1 = next(found); sc = re.compile(r"\\d+|\\w+").scanner("ab 12 cd"); sc.match()
        unpacked = struct.iter_unpack("<h", b"\\1\\0\\2\\0\\3\\0"); next(unpacked)
        dirs = os.scandir("."); lex = shlex.shlex("a 'b c' d", posix=True); lex.get_token()
        toks = tokenize.generate_tokens(io.StringIO("x = 1\\n").readline); next(toks)
        ip = ET.iterparse(io.BytesIO(b"<a><b/><c/></a>")); root = ET.fromstring("<r><x k='1'/><y/></r>"); child = root[0]; walk = root.iter(); next(walk)
        dec = json.JSONDecoder(object_pairs_hook=list); parsed = dec.decode('{"a": 1, "a": 2}'); diff = difflib.unified_diff(["a"], ["b"]); sm = difflib.SequenceMatcher(None, "abcd", "bcde"); sm.ratio()
        cp = configparser.ConfigParser(interpolation=configparser.ExtendedInterpolation()); cp.optionxform = str; cp.read_string("[A]\\nRoot=/x\\nPath=${Root}/y\\n"); sec = cp["A"]
        """,
        """
        next(rd), rd.line_num, rd.fieldnames, fh.closed
        next(rows), rows.line_num, rows.dialect.delimiter
        w.writerow([2, "b"]) ;; out.getvalue()
        dw.writerow({"k": 1, "zz": 2, "v": 3}) ;; out.getvalue()[-12:], dw.writer is w
        m1.groups(), next(found).group()
        sc.match().group()
        list(unpacked)
        lex.get_token(), lex.posix
        child is root[0], [e.tag for e in walk], root.find("x").get("k")
        parsed, dec.decode('{"b": 1}'), round(sm.ratio(), 3), sm.b2j["b"]
        sec["Path"], cp.get("A", "Root"), sec.parser is cp, list(sec)
        cp["A"]["New"] = "${Path}/z" ;; sec["New"]
        """,
        named="diff dirs dw found ip rd rows sc toks unpacked w walk",
    ),
    "results that are cached": session(
        """
        import functools, threading
        calls = []
        @functools.lru_cache(maxsize=3)
        def bounded(x, y=0, *, z=None): calls.append((x, y, z)); return [x, y, z]
        for args, kw in [((1,), {}), ((2, 3), {}), ((1,), {}), ((4,), {"z": 5}), ((1,), {}), ((6,), {"z": 1, "y": 2})]: bounded(*args, **kw)
        one = bounded(1)
        @functools.cache
        def config(name="main"): calls.append(name); return {"name": name}
        conf, named = config(), config(name="x")
        @functools.lru_cache(typed=True)
        def typed(x, **kw): calls.append(type(x).__name__); return object()
        t1, t2, t3 = typed(1), typed(1.0), typed(1, k=True)
        class Repo:
            def __init__(self): self.n = 0; self.get = functools.lru_cache(2)(self._get)
            def _get(self, k): self.n += 1; return {"k": k, "repo": self}
            @functools.cache
            def method(self, a): self.n += 10; return [a]
        repo = Repo(); got = repo.get("a"); m = repo.method(1)
        @functools.cache
        def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
        fib(30); fails = functools.lru_cache(lambda x: 1 / x)
        try: fails(0)
        except ZeroDivisionError: pass
        """,
        """
        bounded.cache_info(), config.cache_info(), typed.cache_info(), fib.cache_info()
        bounded(1) is one, bounded(4, z=5), bounded(6, z=1, y=2), len(calls)
        bounded(2, 3) ;; calls[-1], bounded.cache_info()
        bounded(1), bounded(9), bounded(6, z=1, y=2) ;; calls[-2:], bounded.cache_info().misses
        config() is conf, config(name="x") is named, len(calls)
        typed(1) is t1, typed(1.0) is t2, typed(1, k=True) is t3, typed(2) is t1
        repo.get("a") is got, repo.method(1) is m, repo.n, got["repo"] is repo, repo.get.cache_info()
        fails.cache_info()
        fib(31), fib.cache_info().misses
        """,
    ),
    "results that cannot be kept": session(
        """
        import functools
        @functools.cache
        def begun(n):
            made = iter((lambda: (yield 1))()); next(made); return made
        gen = begun(1); data = [1]; both = {"f": begun, "d": data}
        """,
        """
        data is both["d"], data
        begun.__name__
        """,
        named="begun gen",
    ),
    "async programs between two runs": session(
        """
        import asyncio, contextvars, functools, inspect, collections
        req = contextvars.ContextVar("req", default=None)
        class Bus:
            def __init__(self): self.subs = collections.defaultdict(list); self.q = asyncio.Queue(); self.lock = asyncio.Lock(); self.done = asyncio.Event()
            def on(self, name):
                def deco(f): self.subs[name].append(f); return f
                return deco
            async def emit(self, name, *a): return await asyncio.gather(*(f(*a) for f in self.subs[name]))
        bus = Bus()
        @bus.on("x")
        async def first(v): req.set(v); await asyncio.sleep(0); return req.get()
        @bus.on("x")
        async def second(v): async_log.append(req.get()); return -v
        async_log = []; r1 = asyncio.run(bus.emit("x", 3))
        class Count:
            def __init__(self, n): self.n = n
            def __aiter__(self): return self
            async def __anext__(self):
                if self.n <= 0: raise StopAsyncIteration
                self.n -= 1; return self.n
        cnt = Count(3)
        async def take(n): return [x async for x in cnt][:n]
        def retry(n):
            def deco(f):
                @functools.wraps(f)
                async def run(*a):
                    for i in range(n):
                        try: run.tries += 1; return await f(*a)
                        except ValueError: pass
                    raise RuntimeError("gave up")
                run.tries = 0; return run
            return deco
        @retry(2)
        async def flaky():
            if not fails: return "ok"
            raise fails.pop()
        fails = [ValueError("1")]
        tok = req.set("main"); snap = contextvars.copy_context(); tg = asyncio.TaskGroup; policy = asyncio.get_event_loop_policy(); isco = inspect.iscoroutinefunction(flaky); partial = functools.partial(bus.emit, "x")
        """,
        """
        asyncio.run(bus.emit("x", 4)), async_log, bus.subs["x"][0] is first
        req.get(), snap.run(req.get), snap[req], list(snap)[0].name if len(snap) == 1 else len(snap)
        asyncio.run(take(2)), cnt.n
        asyncio.run(flaky()), flaky.tries, fails
        fails.extend([ValueError(), ValueError()]) ;; asyncio.run(flaky())
        asyncio.run(partial(1)), isco, r1, tg is asyncio.TaskGroup
        bus.q.qsize(), bus.lock.locked(), bus.done.is_set()
        snap.run(lambda: req.set("z")) and req.get()
        """,
        named="policy tok",
    ),
}
