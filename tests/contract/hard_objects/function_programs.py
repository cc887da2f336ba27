"""Programs made of functions: closures, dispatch, memories, iterators half used, context variables, heaps."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "closures that share cells, and functions that know themselves": session(
        """
        def account(start):
            balance, log = start, []
            def deposit(n):
                nonlocal balance; balance += n; log.append(n); return balance
            def undo():
                nonlocal balance
                if log: balance -= log.pop()
                return balance
            def peek(): return balance, tuple(log)
            return deposit, undo, peek
        def pair():
            def even(n): return True if n == 0 else odd(n - 1)
            def odd(n): return False if n == 0 else even(n - 1)
            return even, odd
        def late():
            fns = [lambda: i for i in range(3)]; fixed = [lambda i=i: i for i in range(3)]
            def bump():
                nonlocal seen; seen += 1; return seen
            seen = 10
            def unset():
                def read(): return later
                def write(v): nonlocal later; later = v
                if False: later = 0
                return read, write
            return fns, fixed, bump, unset()
        def chain(*fns):
            def run(x):
                run.count += 1
                for f in fns: x = f(x)
                return x
            run.count = 0; run.fns = fns
            return run
        # %%
        dep, undo, peek = account(10); dep(5); d2, u2, p2 = account(0); even, odd = pair(); fns, fixed, bump, (read, write) = late(); bump()
        pipe = chain(lambda x: x + 1, even, str); pipe(3); cell = dep.__closure__[0]; table = {"d": dep, "u": [undo, peek]}
        def defaults(a, b=[], *, c={"n": 0}): b.append(a); c["n"] += 1; return b, c
        defaults(1); shared = defaults.__defaults__[0]; defaults.kw = defaults.__kwdefaults__["c"]; defaults.me = defaults
        """,
        """
        dep(5), undo(), undo(), undo(), peek()
        table["d"](100) ;; peek(), p2(), table["u"][1] is peek
        cell.cell_contents = 1000 ;; peek(), dep(1), cell is undo.__closure__[0] or cell is undo.__closure__[1]
        even(10), odd(7), even.__closure__[0].cell_contents is odd, odd.__closure__[0].cell_contents is even
        [f() for f in fns], [f() for f in fixed], fns[0].__closure__[0] is fns[2].__closure__[0]
        bump(), bump(), bump.__closure__[0].cell_contents
        read()
        write(5) ;; read(), read.__closure__[0] is write.__closure__[0]
        pipe(1), pipe.count, pipe.fns[1] is even
        defaults(2) ;; shared, defaults.kw, defaults.me is defaults, defaults.__kwdefaults__["c"] is defaults.kw
        shared.clear() ;; defaults(9)
        defaults.__defaults__ = ([7],) ;; defaults(1)[0], shared
        dep.__code__ is d2.__code__, dep.__qualname__, [c for c in dep.__code__.co_freevars]
        fns[0].__closure__[0].cell_contents = 50 ;; [f() for f in fns]
        """,
    ),
    "memories: lru_cache on functions and methods, with counts and what they hold": session(
        """
        from functools import lru_cache, cache, cached_property, partial, wraps
        calls = []
        @cache
        def fib(n): calls.append(n); return n if n < 2 else fib(n - 1) + fib(n - 2)
        @lru_cache(maxsize=3)
        def heavy(a, b=0): calls.append((a, b)); return [a, b]
        @lru_cache(typed=True)
        def typed(x): return (type(x).__name__, object())
        class Solver:
            def __init__(self, k): self.k = k; self.own = lru_cache(None)(self._calc); self.counts = {}
            def _calc(self, n): self.counts[n] = self.counts.get(n, 0) + 1; return [n * self.k]
            @lru_cache(maxsize=None)
            def grid(self, x, y): calls.append("grid"); return 1 if 0 in (x, y) else self.grid(x - 1, y) + self.grid(x, y - 1)
            @staticmethod
            @cache
            def pure(n): return [n]
            @classmethod
            @cache
            def of(cls, k): return cls(k)
            @cached_property
            def table(self): calls.append("table"); return {i: self.k ** i for i in range(4)}
        def make(n):
            @lru_cache(n)
            def inner(x): return [x]
            return inner
        # %%
        fib(12); h1 = heavy(1); heavy(2); heavy(3); heavy(1); heavy(4); t1, t2 = typed(1), typed(1.0); s = Solver(3); s.own(2); s.grid(3, 3); one = s.of(7); pl = Solver.pure(1); tab = s.table
        in1, in2 = make(2), make(2); r1 = in1(5); info = heavy.cache_info(); size = len(calls); grid = s.grid; cached = partial(heavy, 1)
        """,
        """
        fib(12), fib(13), calls[size:], fib.cache_info().currsize
        heavy.cache_info() == info, heavy.cache_info()
        heavy(1) is h1, cached() is h1, heavy.cache_info().hits
        heavy(2); ;; heavy.cache_info(), calls[-1]
        h1.append("x") ;; heavy(1), heavy.cache_parameters(), heavy.__wrapped__.__name__
        typed(1) is t1, typed(1.0) is t2, typed(True) is t1, typed(1.0)[1] is t2[1]
        s.own(2) is s.own(2), s.counts, s.own.__wrapped__.__self__ is s
        n = len(calls) ;; s.grid(3, 3), grid(3, 4), len(calls) - n, Solver.grid.cache_info().currsize
        Solver.of(7) is one, s.of(8) is one, Solver.pure(1) is pl, Solver.of(7).own(1)
        s.k = 5 ;; s.table is tab, tab[2], s.own(2), s.own(3)
        in1(5) is r1, in2(5) is r1, in2(5), in1.cache_info(), in2.cache_info()
        fib.cache_clear() ;; fib(3), fib.cache_info()
        heavy([1])
        """,
    ),
    "dispatch by type, and partial objects of all kinds": session(
        """
        from functools import singledispatch, partial, partialmethod, reduce, wraps, cmp_to_key
        import operator, numbers, collections.abc as cabc
        @singledispatch
        def show(x, *, seen=[]): seen.append(type(x).__name__); return f"?{x!r}"
        @show.register
        def _(x: int, **k): return f"int {x}"
        @show.register(list)
        @show.register(tuple)
        def show_seq(x, **k): return "[" + " ".join(map(show, x)) + "]"
        @show.register(cabc.Mapping)
        def _(x, **k): return "{" + ",".join(f"{a}:{show(b)}" for a, b in x.items()) + "}"
        class Temp(float): pass
        show.register(Temp, lambda x, **k: f"{x}C")
        def add(a, b, *, scale=1): return (a + b) * scale
        add.tag = "adder"
        def trace(fn=None, *, out=[]):
            if fn is None: return partial(trace, out=out)
            @wraps(fn)
            def w(*a): out.append((fn.__name__, a)); return fn(*a)
            w.out = out
            return w
        @trace
        def f(x): return x + 1
        @trace(out=(mine := []))
        def g(x): return f(x) * 2
        # %%
        inc = partial(add, 1); inc10 = partial(inc, scale=10); inc.note = {"made": "cell 2"}; args = [1, 2]; shared = partial(show, args); key = cmp_to_key(lambda a, b: b - a); ks = [key(3), key(1)]
        impl = show.dispatch(dict); seq = show.registry[list]; pick = operator.itemgetter(1, 0); dotted = operator.attrgetter("real", "imag"); m = operator.methodcaller("split", ","); bound = [].append; bound2 = args.append; up = str.upper; cls_m = dict.fromkeys; slot = (5).__add__; wrapped = int.__add__
        """,
        """
        show(3), show([1, (2, {"a": 3})]), show(Temp(20)), show(2.5), show("x")
        show.register(str, lambda x, **k: x.upper()) ;; show("x"), show(["a", 1])
        show.dispatch(dict) is impl, show.registry[tuple] is seq is show_seq, show.dispatch(bool) is show.dispatch(int), show.__wrapped__.__kwdefaults__
        numbers.Number.register(Temp) and show.register(numbers.Number, lambda x, **k: "num") ;; show(1.5), show(Temp(1)), show(2), show(1j)
        inc(2), inc10(2), inc10.func is add, inc10.args, inc.note, inc.func.tag
        inc.note["more"] = 1 ;; inc.note, hasattr(inc10, "note")
        args.append(9) ;; shared(), shared.args[0] is args
        bound2("z") ;; args, bound2.__self__ is args, bound.__self__, bound(1), bound.__self__
        f(1), g(2), f.out, mine, g.out is mine, f.__wrapped__(5), f.out is trace.__kwdefaults__["out"]
        sorted([3, 1, 2], key=key), ks[0] < ks[1], ks[0].obj
        pick("abc"), dotted(3 + 4j), m("a,b"), up("q"), cls_m("ab", 1), slot(6), wrapped(2, 3)
        slot.__self__, bound.__name__, m.__reduce__()[1], repr(pick)
        """,
    ),
    "iterators of itertools, half used and sharing a source": session(
        """
        import itertools as it
        src = iter(range(100)); a, b = it.tee(src); next(a); next(a); next(b)
        cyc = it.cycle("abc"); next(cyc); next(cyc); cnt = it.count(5, 5); next(cnt); rep = it.repeat([0], 3); next(rep)
        isl = it.islice(src, 2, 20, 3); first = next(isl); acc = it.accumulate([1, 2, 3, 4], lambda x, y: x * y, initial=10); next(acc); next(acc)
        groups = it.groupby("aabbbc"); k0, g0 = next(groups); next(g0); pro = it.product([1, 2], "xy"); next(pro); per = it.permutations("abc", 2); next(per); com = it.combinations(range(4), 2); next(com); cwr = it.combinations_with_replacement("ab", 2)
        ch = it.chain([1], iter([2, 3]), "z"); next(ch); cfi = it.chain.from_iterable([[1, 2], [3]]); next(cfi); zl = it.zip_longest([1, 2, 3], "a", fillvalue=0); next(zl); dw = it.dropwhile(lambda x: x < 3, [1, 5, 1]); next(dw); tw = it.takewhile(lambda x: x < 3, [1, 2, 5]); next(tw)
        st = it.starmap(pow, [(2, 3), (3, 2)]); next(st); ff = it.filterfalse(lambda x: x % 2, range(9)); next(ff); cp = it.compress("abcd", [1, 0, 1, 1]); next(cp); pw = it.pairwise([1, 2, 3, 4]); next(pw)
        base = iter([1, 2, 3, 4, 5, 6]); z = zip(base, base); next(z); en = enumerate(["a", "b", "c"], start=7); next(en); mp = map(lambda x, y: (x, y), base, it.count()); rv = reversed([1, 2, 3]); next(rv); fl = filter(None, [0, 1, 2]); next(fl)
        d = {"x": 1, "y": 2, "z": 3}; di = iter(d.items()); next(di); live = [1, 2]; li = iter(live); next(li); feed = [1, 2, 3]; co = iter(feed.pop, 1); next(co); rng = iter(range(0, 10**30, 10**29)); next(rng); by = iter(b"abc"); next(by); st2 = iter("héllo"); next(st2); batch = list(it.islice(iter(lambda: list(it.islice(src, 2)), []), 2))
        """,
        """
        next(a), next(b), next(b), next(a)
        next(src), next(isl), next(src), first, batch
        next(cyc), next(cyc), next(cyc), next(cnt), next(cnt), list(rep)
        list(acc), k0, list(g0), [(k, list(g)) for k, g in groups]
        list(pro), next(per), list(per)[-1], list(com), list(cwr)
        next(ch), list(ch), list(cfi), list(zl), list(dw), list(tw)
        list(st), next(ff), list(ff), list(cp), next(pw), list(pw)
        next(z), next(base), list(mp), list(z), list(base)
        list(en), list(rv), list(fl), list(by), "".join(st2)
        next(di); ;; list(di)
        live.append(3); live.append(4) ;; list(li), live
        list(co), feed, next(rng), sum(1 for _ in rng)
        """,
    ),
    "generators and coroutines left in the middle": session(
        """
        import contextlib
        def reader(lines):
            total = 0
            for l in lines:
                got = yield l, total
                total += got or 1
            return total
        def outer(lines):
            result = yield from reader(lines)
            yield ("done", result)
        def grow():
            have = []
            while True:
                x = yield list(have)
                if x is None: break
                have.append(x)
        @contextlib.contextmanager
        def opened(log):
            log.append("in")
            try: yield log
            finally: log.append("out")
        class Tree:
            def __init__(self, v, *kids): self.v, self.kids = v, kids
            def __iter__(self):
                yield self.v
                for k in self.kids: yield from k
        async def coro(x): return x + 1
        async def agen():
            for i in range(3): yield i
        def drive(c):
            try: c.send(None)
            except StopIteration as e: return e.value
        # %%
        r = reader(["a", "b", "c", "d"]); next(r); r.send(10); o = outer(iter("xyz")); next(o); next(o); g = grow(); next(g); g.send("p"); g.send("q")
        done = reader([]); finished = list(done); fresh = reader(["only"]); log = []; cm = opened(log); entered = cm.__enter__(); tree = Tree(1, Tree(2, Tree(3)), Tree(4)); ti = iter(tree); next(ti); next(ti); ge = (x * y for x in range(3) for y in range(3) if x != y); next(ge); next(ge); pending = coro(4); ag = agen()
        holder = {"gen": r, "other": [o]}; zipped = zip(ge, ti)
        """,
        """
        r.send(5), next(r), r.gi_frame.f_locals["total"]
        next(o), next(o), next(o, "end")
        g.send("r"), g.gi_frame.f_locals["have"]
        list(done), finished, next(done, "empty")
        list(fresh)
        log, entered is log
        cm.__exit__(None, None, None), log
        next(ti), list(ti), list(tree)
        next(ge), list(ge)
        next(zipped, "none")
        holder["gen"] is r, holder["other"][0] is o
        drive(pending), drive(ag.__anext__())
        list(tree), [v for v in grow()], drive(coro(1))
        """,
        named="ag cm fresh g ge holder o pending r ti zipped",
    ),
    "context variables, decimal contexts and error states of numpy": session(
        """
        import contextvars, decimal, numpy as np, threading, warnings
        from decimal import Decimal as D
        user = contextvars.ContextVar("user", default="nobody"); depth = contextvars.ContextVar("depth"); bag = contextvars.ContextVar("bag", default=[])
        tok = user.set("ann"); tok2 = user.set("bo"); bag.get().append(1)
        ctx = contextvars.copy_context(); ctx.run(depth.set, 3); ctx.run(user.set, "inside")
        def who(): return user.get(), depth.get(None)
        snapshot = contextvars.copy_context(); names = {user: "u", depth: "d"}
        decimal.getcontext().prec = 7; decimal.getcontext().rounding = decimal.ROUND_DOWN; mine = decimal.Context(prec=3, traps=[decimal.Inexact]); third = D(1) / D(3); flags = decimal.getcontext().flags[decimal.Inexact]
        old = np.seterr(divide="raise", over="ignore"); hits = []; np.seterrcall(lambda kind, flag: hits.append(kind)); np.seterr(invalid="call"); popts = np.get_printoptions(); np.set_printoptions(precision=2, suppress=True, linewidth=40); np.setbufsize(16384)
        local = threading.local(); local.x = [1]
        class Local(threading.local):
            def __init__(self, n): self.n = n; self.items = []
        lo = Local(5); lo.items.append("a")
        """,
        """
        user.get(), who(), ctx.run(who), ctx[depth], depth in contextvars.copy_context()
        user.reset(tok2) ;; who(), snapshot[user], snapshot.run(who)
        user.reset(tok) ;; who(), ctx[user]
        bag.get().append(2) ;; bag.get(), ctx.run(bag.get) is bag.get()
        ctx.run(user.set, "later") ;; ctx.get(user), ctx.run(who), names[user], len(ctx), sorted(v.name for v in ctx)
        D(2) / D(3), third, flags, decimal.getcontext().rounding, decimal.getcontext().prec
        mine.divide(D(1), D(3))
        mine.flags[decimal.Inexact], mine.prec, decimal.getcontext().flags[decimal.Rounded]
        np.array([1.0]) / 0
        np.array([np.inf]) - np.inf; hits.append("mine") ;; hits, np.geterr()
        str(np.array([1.23456, 1e-9])), np.get_printoptions()["linewidth"], np.getbufsize(), old["divide"]
        local.x.append(2) ;; local.x, lo.n, lo.items, lo.__dict__
        """,
        named="lo local tok tok2",
    ),
    "heaps, bisect, priority queues and a running simulator of events": session(
        """
        import heapq, bisect, itertools, random, collections, queue, sched, operator
        class Event:
            ids = itertools.count()
            __slots__ = ("t", "fn", "id", "dead")
            def __init__(self, t, fn): self.t, self.fn, self.id, self.dead = t, fn, next(Event.ids), False
            def __lt__(self, o): return (self.t, self.id) < (o.t, o.id)
        class Sim:
            def __init__(self, seed): self.now, self.q, self.rng, self.log = 0.0, [], random.Random(seed), []
            def at(self, dt, fn): e = Event(self.now + dt, fn); heapq.heappush(self.q, e); return e
            def run(self, until):
                while self.q and self.q[0].t <= until:
                    e = heapq.heappop(self.q)
                    if e.dead: continue
                    self.now = e.t; e.fn(self)
                self.now = until; return len(self.log)
        def arrive(sim): sim.log.append(("in", round(sim.now, 3))); sim.at(sim.rng.expovariate(1.0), arrive); sim.at(sim.rng.uniform(1, 2), leave)
        def leave(sim): sim.log.append(("out", round(sim.now, 3)))
        # %%
        sim = Sim(42); sim.at(0, arrive); n1 = sim.run(5); cancel = sim.q[-1]; top = sim.q[0]; twin = random.Random(); twin.setstate(sim.rng.getstate())
        keys = [1, 4, 9]; vals = ["a", "b", "c"]; pq = queue.PriorityQueue(); pq.put((2, "two")); pq.put((1, "one")); fifo = queue.Queue(3); fifo.put(sim); lifo = queue.LifoQueue(); lifo.put(1); simple = queue.SimpleQueue(); simple.put("s"); merged = heapq.merge([1, 4], [2, 3]); next(merged)
        random.seed(7); random.random(); state = random.getstate(); gauss = random.gauss(0, 1); bound = sim.rng.random; nums = [5, 1, 3]; heapq.heapify(nums); win = collections.deque([1, 2, 3], maxlen=3); shuffle = random.shuffle; pick = random.choice
        clock = [0]; s = sched.scheduler(lambda: clock[0], lambda d: clock.__setitem__(0, clock[0] + d)); out = []; ev = s.enter(5, 1, out.append, ("five",)); s.enter(2, 1, out.append, ("two",))
        """,
        """
        sim.run(8), sim.log[n1:], sim.now, len(sim.q)
        cancel.dead = True; top.t ;; cancel in sim.q, sim.q[0] is top or top.t <= 8, next(Event.ids)
        twin.random() == random.Random(42).random(), twin.random()
        bound(), bound.__self__ is sim.rng, sim.rng.random()
        random.gauss(0, 1), random.random(), gauss
        random.setstate(state) ;; random.gauss(0, 1) == gauss, pick("abc"), random.sample(range(9), 3)
        bisect.insort(keys, 5) ;; keys, vals[bisect.bisect(keys, 4) - 1]
        pq.get_nowait(), pq.qsize(), pq.maxsize, fifo.get_nowait() is sim, lifo.get(), simple.get(), fifo.maxsize, fifo.unfinished_tasks
        next(merged), list(merged)
        heapq.heappushpop(nums, 2), nums, heapq.nsmallest(2, sim.q)[0].fn in (arrive, leave)
        s.run(), out, clock, s.empty()
        shuffle is random.shuffle, shuffle.__self__ is random._inst, win.append(4), list(win)
        """,
        named="merged simple",
    ),
    "observers, signals and buses with weak and bound handlers": session(
        """
        import weakref, collections
        class Signal:
            def __init__(self, name): self.name, self.slots, self.sent = name, [], 0
            def connect(self, fn, weak=True):
                self.slots.append(weakref.WeakMethod(fn) if hasattr(fn, "__self__") and weak else weakref.ref(fn, self._gone) if weak else (lambda: fn)); return fn
            def _gone(self, ref): self.slots.remove(ref)
            def send(self, *a): self.sent += 1; return [s()(*a) for s in list(self.slots) if s() is not None]
            def __iadd__(self, fn): self.connect(fn, weak=False); return self
        class Model:
            changed = Signal("changed")
            def __init__(self, **kw): self.data = kw; self.watchers = weakref.WeakKeyDictionary(); self.parents = weakref.WeakSet()
            def __setitem__(self, k, v):
                self.data[k] = v; Model.changed.send(self, k)
                for w, keys in self.watchers.items():
                    if k in keys: w.notify(k, v)
        class View:
            def __init__(self, m): self.m = weakref.proxy(m); self.seen = []; m.watchers[self] = {"a"}; Model.changed.connect(self.on)
            def notify(self, k, v): self.seen.append((k, v))
            def on(self, m, k): self.seen.append(k)
        bus = collections.defaultdict(list)
        def on(topic):
            def deco(fn): bus[topic].append(fn); fn.topics = getattr(fn, "topics", ()) + (topic,); return fn
            return deco
        @on("x")
        @on("y")
        def handle(*a, seen=[]): seen.append(a); return len(seen)
        # %%
        m = Model(a=1); v1 = View(m); v2 = View(m); gone = View(m); del gone; Model.changed.connect(handle); m["a"] = 2; ref = weakref.ref(v1); prox = v1.m; m.parents.add(v1); died = []; fin = weakref.finalize(v2, died.append, "v2"); dead = weakref.ref(View(m)); back = weakref.WeakValueDictionary(v=v1)
        def tmp(*a): return "tmp"
        Model.changed.connect(tmp); Model.changed += lambda m, k: k * 2
        """,
        """
        m["a"] = 3 ;; v1.seen, v2.seen, Model.changed.sent, len(m.watchers)
        Model.changed.send(m, "q"), len(Model.changed.slots)
        del tmp ;; len(Model.changed.slots), Model.changed.send(m, "r")
        ref() is v1, prox.data, prox == m, dead(), ref is weakref.ref(v1), weakref.getweakrefcount(v1) > 0
        del v2 ;; len(m.watchers), died, fin.alive, Model.changed.send(m, "s")[-1]
        [f(1) for f in bus["y"]], bus["x"][0] is handle, handle.topics, handle.__kwdefaults__ and len(handle.__kwdefaults__["seen"])
        v1 in m.parents, len(m.parents), back["v"] is v1
        m.watchers[v1].add("b"); m["b"] = 1 ;; v1.seen[-2:]
        prox.data["z"] = 1 ;; m.data, bus["new"], sorted(bus)
        del v1 ;; ref(), len(m.parents), dict(back), [s() is None for s in Model.changed.slots][:2]
        del m ;; prox.data
        """,
    ),
    "fractions, big integers, complex, statistics and number towers": session(
        """
        import fractions, math, statistics, cmath, numbers, decimal, random, sys
        from fractions import Fraction as F
        sys.set_int_max_str_digits(0)
        big = 3 ** 20000; fact = math.factorial(500); small = [True, 1, 1.0, F(1), decimal.Decimal(1), 1 + 0j]; nan = float("nan"); nans = [nan, float("nan")]; zero = -0.0; infs = {math.inf: "i", -math.inf: "-i"}
        class Mod(numbers.Integral if False else object):
            cache = {}
            def __new__(cls, v, p):
                key = (v % p, p)
                if key in cls.cache: return cls.cache[key]
                self = super().__new__(cls); self.v, self.p = key; cls.cache[key] = self
                return self
            def __mul__(self, o): return Mod(self.v * (o.v if isinstance(o, Mod) else o), self.p)
            def __pow__(self, n, m=None): return Mod(pow(self.v, n, self.p), self.p)
            def __getnewargs__(self): return (self.v, self.p)
            __rmul__ = __mul__
        class Dual(F):
            def __new__(cls, a, b=None): self = super().__new__(cls, a, b); self.eps = F(0); return self
        nd = statistics.NormalDist(10, 2); poly = [F(1, 3), F(-2, 7)]; d = Dual(3, 4); d.eps = F(1, 9); m = Mod(5, 7); m2 = m * m; rng = random.Random(5); sysr = random.SystemRandom(); ngen = rng.getrandbits(2000); pi50 = decimal.Context(prec=50).create_decimal("3.14159265358979323846264338327950288419716939937510")
        """,
        """
        len(str(big)), big % 1000007, sys.get_int_max_str_digits(), fact.bit_length()
        [type(x).__name__ for x in small], len(set(small)), small[0] is True
        nan in nans, nans[0] is nan, nans.count(nan), math.copysign(1, zero), infs[float("inf")]
        Mod(5, 7) is m, m * 3 is Mod(1, 7), m2 is Mod(4, 7), sorted(Mod.cache), len(Mod.cache)
        d + 1, type(d + 1).__name__, d.eps, d.numerator, d == F(3, 4), hash(d) == hash(0.75)
        nd.cdf(10), nd.zscore(14), (nd + 3).mean, nd
        sum(poly), poly[0].limit_denominator(2), F(0.1).denominator
        rng.random(), rng.getrandbits(64), rng.choices("abc", k=3), ngen % 97
        pi50, +pi50, pi50 * 2, cmath.phase(-1 + 0j), divmod(-7, 3), (-8) ** (1 / 3)
        sysr.random() < 1, isinstance(sysr, random.Random), math.isqrt(big) ** 2 <= big
        pow(m, 6).v, 3 * m is m * 3, round(F(7, 2)), f"{F(1, 3):.4f}" if sys.version_info >= (3, 12) else 0
        """,
    ),
}
