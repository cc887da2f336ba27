"""Whole programs alive in a notebook: games, interpreters, solvers, banks, caches, machines, graphs, raw memory."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "an interpreter of a small language, with environments and closures of its own": session(
        """
        import operator, re, sys
        class Sym(str):
            table = {}
            def __new__(cls, s): return cls.table.setdefault(s, super().__new__(cls, s))
            def __repr__(self): return f"'{str(self)}"
        class Env(dict):
            def __init__(self, names=(), vals=(), outer=None): super().__init__(zip(names, vals)); self.outer = outer
            def find(self, k):
                e = self
                while e is not None and k not in e: e = e.outer
                if e is None: raise NameError(k)
                return e
        class Lambda:
            def __init__(self, params, body, env): self.params, self.body, self.env = params, body, env; self.calls = 0
            def __call__(self, *a): self.calls += 1; return ev(self.body, Env(self.params, a, self.env))
        QUOTE, IF, DEF, LAM, SET = map(Sym, "quote if define lambda set!".split())
        def read(toks):
            t = toks.pop(0)
            if t == "(":
                out = []
                while toks[0] != ")": out.append(read(toks))
                toks.pop(0); return out
            try: return int(t)
            except ValueError: return Sym(t)
        def parse(s): return read(re.findall(r"[()]|[^()\\s]+", s))
        def ev(x, env):
            if isinstance(x, Sym): return env.find(x)[x]
            if not isinstance(x, list): return x
            head = x[0]
            if head is QUOTE: return x[1]
            if head is IF: return ev(x[2] if ev(x[1], env) else x[3], env)
            if head is DEF: env[x[1]] = ev(x[2], env); return x[1]
            if head is SET: env.find(x[1])[x[1]] = ev(x[2], env); return None
            if head is LAM: return Lambda(x[1], x[2], env)
            f, *args = [ev(a, env) for a in x]
            return f(*args)
        G = Env(); G.update({Sym(k): v for k, v in {"+": operator.add, "-": operator.sub, "*": operator.mul, "<": operator.lt, "list": lambda *a: list(a)}.items()}); G[Sym("globals")] = G
        run = lambda s: ev(parse(s), G)
        # %%
        run("(define fact (lambda (n) (if (< n 2) 1 (* n (fact (- n 1))))))"); run("(define make (lambda (n) (lambda (d) (list (set! n (+ n d)) n))))"); run("(define acc (make 10))"); run("(acc 5)"); acc = G[Sym("acc")]; fact = G["fact"]; quoted = run("(quote (a b (c 1)))"); run("(fact 5)"); env = acc.env; program = parse("(define y (quote a))")
        """,
        """
        run("(acc 1)"), acc.env, acc.calls, env is acc.env, env.outer is G
        run("(fact 20)"), fact.calls, G["fact"] is fact, fact.env is G, fact.body[0] is IF
        run("(define fact2 fact)"), G["fact2"] is fact, Sym("fact2") in G
        quoted, quoted[0] is Sym("a"), quoted[2][0] is Sym.table["c"], len(Sym.table)
        ev(program, G), G["y"] is Sym("a"), program[0] is DEF
        env["n"] = 1000 ;; run("(acc 1)")
        run("(undefined 1)")
        G["globals"] is G, run("globals") is G, run.__globals__["G"] is G, [type(k).__name__ for k in list(G)[:2]]
        G[Sym("+")] = lambda a, b: f"{a}+{b}" ;; run("(acc 7)"), run("(+ 1 2)")
        """,
    ),
    "games: life, cards, a board with undo and search, and a maze with a random source": session(
        """
        import random, copy, itertools, enum, numpy as np
        from dataclasses import dataclass, field
        class Suit(enum.IntEnum): CLUBS = 0; HEARTS = 1
        @dataclass(frozen=True, order=True)
        class Card:
            rank: int; suit: Suit
            def __post_init__(self): assert self.rank > 0
        class Deck:
            def __init__(self, rng): self.cards = [Card(r, s) for r in range(1, 8) for s in Suit]; self.rng = rng; rng.shuffle(self.cards); self.deals = iter(self.cards)
            def deal(self, n): return list(itertools.islice(self.deals, n))
        class Board:
            wins = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]; table = {}
            def __init__(self): self.c = [None] * 9; self.undo = []; self.turn = itertools.cycle("XO"); self.now = next(self.turn)
            def play(self, i):
                who = self.now; self.c[i] = who; self.now = next(self.turn)
                self.undo.append(lambda: (self.c.__setitem__(i, None), setattr(self, "now", who), next(self.turn)))
                return self
            def back(self): self.undo.pop()(); return self
            def best(self, who="X"):
                key = ("".join(x or "." for x in self.c), who)
                if key not in Board.table:
                    w = next((self.c[a] for a, b, c in self.wins if self.c[a] and self.c[a] == self.c[b] == self.c[c]), None)
                    if w or None not in self.c: Board.table[key] = ({"X": 1, "O": -1}.get(w, 0), None)
                    else:
                        pick = (max if who == "X" else min); res = []
                        for i, x in enumerate(self.c):
                            if x is None: self.c[i] = who; res.append((self.best("O" if who == "X" else "X")[0], i)); self.c[i] = None
                        Board.table[key] = pick(res, key=lambda t: t[0])
                return Board.table[key]
        class Life:
            def __init__(self, cells): self.alive = frozenset(cells); self.seen = {self.alive: 0}; self.gen = 0
            def __iter__(self): return self
            def __next__(self):
                count = {}
                for x, y in self.alive:
                    for dx, dy in itertools.product((-1, 0, 1), repeat=2):
                        if dx or dy: count[x + dx, y + dy] = count.get((x + dx, y + dy), 0) + 1
                self.alive = frozenset(c for c, n in count.items() if n == 3 or n == 2 and c in self.alive); self.gen += 1
                if self.alive in self.seen: raise StopIteration
                self.seen[self.alive] = self.gen; return sorted(self.alive)
        # %%
        rng = random.Random(11); deck = Deck(rng); hand = deck.deal(3); score = {c: c.rank * 10 for c in hand}; b = Board(); b.play(0).play(4).play(8); value = b.best("O"); saved = copy.deepcopy(b.c); size = len(Board.table)
        life = Life([(1, 0), (2, 1), (0, 2), (1, 2), (2, 2)]); g1 = next(life); blink = Life([(0, 0), (1, 0), (2, 0)]); next(blink); gen = np.random.default_rng(3); gen.random(); grid = gen.integers(0, 2, (4, 4)); walker = np.random.RandomState(5); step = walker.randn; child = gen.spawn(1)[0]; bits = gen.bit_generator; np.random.seed(9); np.random.rand()
        """,
        """
        deck.deal(2), len(list(deck.deals)), rng.random()
        score[hand[0]], score[Card(hand[1].rank, hand[1].suit)], hand[0].suit in (Suit.CLUBS, Suit.HEARTS), sorted(hand)[0] in hand
        b.now, b.play(1).c, b.now, b.back().c == saved, b.now, len(b.undo)
        b.best("O") == value, len(Board.table) == size, b.back().c, b.best("X"), len(Board.table) > size
        next(life), life.gen, len(life.seen), g1
        next(blink, "cycle"), blink.gen, blink.seen[blink.alive]
        gen.random(), bits.random_raw(), gen.bit_generator is bits, child.random(), gen.spawn(1)[0].random()
        step(2).tolist(), step.__self__ is walker, np.random.rand(), np.random.default_rng(3).random()
        grid.tolist(), gen.permutation(5).tolist(), bits.seed_seq.n_children_spawned
        Card(0, Suit.CLUBS)
        list(itertools.islice(life, 3))[-1], life.gen
        """,
    ),
    "bank accounts with a ledger, events, locks and rules as objects": session(
        """
        import threading, decimal, datetime, uuid, contextlib, collections, abc, functools, operator
        from decimal import Decimal as D
        class InsufficientFunds(Exception):
            def __init__(self, acct, need): super().__init__(acct.id, need); self.acct = acct
        class Ledger:
            def __init__(self): self.rows, self.subs, self.lock, self.ids = [], [], threading.RLock(), iter(range(1, 10**9))
            def post(self, acct, amt, kind):
                with self.lock:
                    row = (next(self.ids), acct.id, amt, kind); self.rows.append(row)
                    for s in self.subs: s(row)
                    return row
            @contextlib.contextmanager
            def transaction(self):
                mark = len(self.rows); before = {a: a.balance for a in Account.by_id.values()}
                try: yield self
                except InsufficientFunds:
                    del self.rows[mark:]
                    for a, b in before.items(): a._bal = b
                    raise
        class Account:
            by_id = {}; limits = collections.ChainMap({}, {"overdraft": D(0), "daily": D(500)})
            def __init__(self, id, ledger, bal="0"): self.id, self.ledger, self._bal = id, ledger, D(bal); Account.by_id[id] = self; self.limits = type(self).limits.new_child()
            balance = property(operator.attrgetter("_bal"))
            def __iadd__(self, amt): self._bal += D(amt); self.ledger.post(self, D(amt), "in"); return self
            def __isub__(self, amt):
                if self._bal - D(amt) < -self.limits["overdraft"]: raise InsufficientFunds(self, D(amt))
                self._bal -= D(amt); self.ledger.post(self, -D(amt), "out"); return self
            def __repr__(self): return f"<{type(self).__name__} {self.id} {self._bal}>"
        class Savings(Account):
            rate = D("0.03")
            def accrue(self): self += (self._bal * self.rate).quantize(D("0.01")); return self._bal
        def transfer(a, b, amt):
            with a.ledger.transaction(): b += amt; a -= amt
        class Watch:
            def __init__(self, pred): self.pred, self.hits = pred, []
            def __call__(self, row): self.pred(row) and self.hits.append(row)
        # %%
        led = Ledger(); a, s = Account("a", led, "100.10"), Savings("s", led, "50"); big = Watch(lambda r: abs(r[2]) > 20); led.subs += [big, (totals := collections.Counter()).update and (lambda r: totals.update({r[1]: r[2]}))]; transfer(a, s, "30"); s.accrue(); a.limits["overdraft"] = D(20)
        try: transfer(a, s, "500")
        except InsufficientFunds as e: err = e
        Account.limits["daily"] = D(50); hist = led.rows; uid = uuid.uuid5(uuid.NAMESPACE_DNS, "bank"); day = datetime.datetime(2024, 3, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=2), "X")); tx = led.transaction(); tx.__enter__()
        """,
        """
        a, s, len(hist), hist is led.rows, totals["s"], big.hits
        transfer(s, a, "25") ;; a.balance, s.balance, big.hits[-1], big.hits[-1] is led.rows[-2] or big.hits[-1] is led.rows[-1], totals
        err.acct is a, err.args, Account.by_id["s"] is s, err.__traceback__ is not None
        a -= "150" ;; a
        a -= "1000" ;; 0
        a.limits["overdraft"], s.limits["daily"], a.limits.parents.maps[0] is Account.limits.maps[0], len(a.limits.maps)
        Account.limits["overdraft"] = D(5) ;; s.limits["overdraft"], a.limits["overdraft"], Account.limits.maps[1]["overdraft"]
        next(led.ids), s.accrue(), led.rows[-1]
        tx.__exit__(None, None, None), led.lock.acquire(blocking=False), led.lock.release()
        uid, day.isoformat(), day.tzinfo.tzname(day), uuid.uuid5(uuid.NAMESPACE_DNS, "bank") == uid
        Savings.rate = D("0.1") ;; s.accrue(), s.rate, [type(x).__name__ for x in Account.by_id.values()]
        """,
    ),
    "caches with eviction, by age, by use and by weight": session(
        """
        import collections, heapq, weakref, time, functools, itertools
        class Node:
            __slots__ = ("k", "v", "prev", "next", "__weakref__")
            def __init__(self, k=None, v=None): self.k, self.v, self.prev, self.next = k, v, self, self
        class LRU(collections.abc.MutableMapping):
            def __init__(self, cap, on_evict=None):
                self.cap, self.map, self.root, self.on_evict, self.stats = cap, {}, Node(), on_evict, {"hit": 0, "miss": 0}
            def _link(self, n): n.prev, n.next = self.root.prev, self.root; n.prev.next = n.next.prev = n
            def _cut(self, n): n.prev.next, n.next.prev = n.next, n.prev
            def __getitem__(self, k):
                try: n = self.map[k]
                except KeyError: self.stats["miss"] += 1; raise
                self.stats["hit"] += 1; self._cut(n); self._link(n); return n.v
            def __setitem__(self, k, v):
                if k in self.map: self._cut(self.map.pop(k))
                self.map[k] = n = Node(k, v); self._link(n)
                if len(self.map) > self.cap: old = self.root.next; self._cut(old); del self.map[old.k]; self.on_evict and self.on_evict(old.k, old.v)
            def __delitem__(self, k): self._cut(self.map.pop(k))
            def __contains__(self, k): return k in self.map
            def __iter__(self):
                n = self.root.next
                while n is not self.root: yield n.k; n = n.next
            def __len__(self): return len(self.map)
        class LFU:
            def __init__(self, cap): self.cap, self.vals, self.freq, self.buckets, self.min = cap, {}, {}, collections.defaultdict(collections.OrderedDict), 0
            def get(self, k):
                if k not in self.vals: return None
                f = self.freq[k]; del self.buckets[f][k]
                if not self.buckets[f] and f == self.min: self.min += 1
                self.freq[k] = f + 1; self.buckets[f + 1][k] = None; return self.vals[k]
            def put(self, k, v):
                if len(self.vals) >= self.cap: old, _ = self.buckets[self.min].popitem(last=False); del self.vals[old], self.freq[old]
                self.vals[k], self.freq[k], self.min = v, 1, 1; self.buckets[1][k] = None
        class TTL(dict):
            def __init__(self, ttl, clock): super().__init__(); self.ttl, self.clock, self.heap = ttl, clock, []
            def __setitem__(self, k, v): super().__setitem__(k, (self.clock() + self.ttl, v)); heapq.heappush(self.heap, (self.clock() + self.ttl, k))
            def __getitem__(self, k):
                exp, v = super().__getitem__(k)
                if exp < self.clock(): del self[k]; raise KeyError(k)
                return v
        def memo(store):
            def deco(fn):
                @functools.wraps(fn)
                def w(*a):
                    if a in store: return store[a]
                    store[a] = r = fn(*a); return r
                w.store = store; w.fn = fn
                return w
            return deco
        evicted = []; lru = LRU(3, lambda k, v: evicted.append(k)); tick = itertools.count(); clock = lambda: next(tick)
        @memo(LRU(2))
        def sq(n): evicted.append(f"calc{n}"); return [n * n]
        # %%
        for k in "abc": lru[k] = k.upper()
        lru["a"]; lru["d"] = [1]; lfu = LFU(2); lfu.put("x", 1); lfu.put("y", 2); lfu.get("x"); ttl = TTL(6, clock); ttl["k"] = "v"; s2 = sq(2); sq(3); node = lru.map["a"]; it = iter(lru); keys = lru.keys(); items = lru.items(); noderef = weakref.ref(node); vals = lru["d"]; size_of = sum(1 for _ in lru)
        """,
        """
        list(lru), lru["c"], list(lru), evicted, lru.stats
        node.next is lru.root or node.next.k, node is lru.map["a"], lru.root.prev.k, noderef() is node, node.next.prev is node
        lru["e"] = 1 ;; list(lru), evicted, "a" in keys, len(items), list(keys) == list(lru)
        vals.append(2) ;; lru.get("d", "gone"), vals
        lfu.put("z", 3) ;; lfu.get("y"), lfu.get("x"), lfu.freq, lfu.min, dict(lfu.buckets[3])
        ttl["k"], ttl["k"]
        [ttl.get("k") is None, next(tick)], ttl["k"]
        ttl["k"]
        sq(2) is s2, sq.store.stats, sq(4), sq(3), evicted, len(sq.store), sq.__wrapped__ is sq.fn
        lru.on_evict = None; lru.update(p=1, q=2, r=3) ;; list(lru), lru.pop("p"), list(lru), len(lru)
        del lru["q"] ;; list(lru), lru == {"r": 3}
        """,
    ),
    "state machines by decorators, tables and generators": session(
        """
        import collections, enum, functools, re
        class Transition:
            def __init__(self, src, dst, guard=None): self.src, self.dst, self.guard, self.fn = src, dst, guard, None
            def __call__(self, fn): self.fn = fn; return self
            def __set_name__(self, o, n): self.name = n; o.transitions = {**getattr(o, "transitions", {}), n: self}
            def __get__(self, m, o=None):
                if m is None: return self
                @functools.wraps(self.fn)
                def fire(*a):
                    if m.state is not self.src: raise RuntimeError(f"{self.name} from {m.state.name}")
                    if self.guard and not self.guard(m): return False
                    out = self.fn(m, *a); m.state = self.dst; m.trace.append((self.name, m.state)); [h(m) for h in m.hooks[self.dst]]
                    return out if out is not None else True
                return fire
        class S(enum.Enum): IDLE = enum.auto(); RUN = enum.auto(); DONE = enum.auto()
        class Machine:
            hooks = collections.defaultdict(list)
            def __init__(self, fuel): self.state, self.trace, self.fuel = S.IDLE, [], fuel
            @Transition(S.IDLE, S.RUN, guard=lambda m: m.fuel > 0)
            def start(self): self.fuel -= 1
            @Transition(S.RUN, S.DONE)
            def stop(self, why): return why
            @Transition(S.DONE, S.IDLE)
            def reset(self): pass
        class Turbo(Machine):
            @Transition(S.DONE, S.RUN)
            def again(self): self.fuel += 10
        entered = collections.Counter(); Machine.hooks[S.RUN].append(lambda m: entered.update([type(m).__name__]))
        class Lexer:
            table = [("num", r"\\d+"), ("op", r"[-+*/()]"), ("ws", r"\\s+")]; rx = re.compile("|".join(f"(?P<{n}>{p})" for n, p in table))
            def __init__(self, s): self.it = self.rx.finditer(s); self.buf = collections.deque()
            def __iter__(self): return self
            def __next__(self):
                if self.buf: return self.buf.popleft()
                m = next(self.it)
                return (m.lastgroup, m.group()) if m.lastgroup != "ws" else next(self)
            def push(self, t): self.buf.appendleft(t)
        DELTA = {("locked", "coin"): ("open", lambda c: c.__setitem__("coins", c["coins"] + 1)), ("open", "push"): ("locked", lambda c: None)}
        class Turnstile:
            def __init__(self): self.s, self.ctx = "locked", {"coins": 0}
            def send(self, e): self.s, f = DELTA[self.s, e]; f(self.ctx); return self.s
            def __getattr__(self, e):
                if e.startswith("__") or not any(k[1] == e for k in DELTA): raise AttributeError(e)
                return functools.partial(self.send, e)
        # %%
        m, t = Machine(1), Turbo(0); m.start(); fire = m.stop; states = {S.RUN: [m], S.IDLE: [t]}; lx = Lexer("12 + (3*4)"); next(lx); tok = next(lx); lx.push(tok); ts = Turnstile(); ts.send("coin"); push = ts.push; start = Machine.start
        """,
        """
        fire("bored"), m.state is S.DONE, m.trace, fire.__wrapped__ is Machine.stop.fn
        m.start()
        m.reset(), m.start(), m.fuel, m.state
        t.start(), t.state, entered, sorted(Turbo.transitions), sorted(Machine.transitions)
        t.state = S.DONE; t.again() ;; t.fuel, t.trace, entered
        Machine.hooks is Turbo.hooks, len(Machine.hooks[S.RUN]), start is Machine.transitions["start"] is Machine.__dict__["start"], states[S.RUN][0] is m
        next(lx) is tok, list(lx), lx.rx is Lexer.rx
        push(), ts.s, ts.ctx, ts.coin(), ts.ctx, hasattr(ts, "nope")
        push.func.__self__ is ts, ts.send("coin")
        DELTA["open", "kick"] = ("broken", lambda c: c.update(broken=True)); ts.s = "open" ;; ts.kick(), ts.ctx
        start.guard = lambda m: False; m.state = S.IDLE ;; m.start(), m.state is S.IDLE
        """,
    ),
    "solvers: constraints, dancing links, union-find, unification, sat": session(
        """
        import itertools, functools, collections, operator
        class Var:
            n = itertools.count()
            def __init__(self): self.id = next(Var.n)
            def __repr__(self): return f"_{self.id}"
        def walk(t, s):
            while isinstance(t, Var) and t in s: t = s[t]
            return t
        def unify(a, b, s):
            a, b = walk(a, s), walk(b, s)
            if a is b or a == b: return s
            if isinstance(a, Var): return {**s, a: b}
            if isinstance(b, Var): return {**s, b: a}
            if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
                for x, y in zip(a, b):
                    s = unify(x, y, s)
                    if s is None: return None
                return s
        class Cell:
            __slots__ = ("L", "R", "U", "D", "C", "row", "size", "name")
            def __init__(self, name=None): self.L = self.R = self.U = self.D = self.C = self; self.row = None; self.size = 0; self.name = name
        class DLX:
            def __init__(self, n, rows):
                self.h = Cell("h"); self.cols = []; self.out = []; self.steps = 0
                for i in range(n): c = Cell(i); c.L, c.R = self.h.L, self.h; self.h.L.R = c; self.h.L = c; self.cols.append(c)
                for r, row in enumerate(rows):
                    first = None
                    for j in row:
                        c = self.cols[j]; x = Cell(); x.row, x.C = r, c; x.U, x.D = c.U, c; c.U.D = x; c.U = x; c.size += 1
                        if first is None: first = x
                        else: x.L, x.R = first.L, first; first.L.R = x; first.L = x
            def cover(self, c):
                c.R.L, c.L.R = c.L, c.R; i = c.D
                while i is not c:
                    j = i.R
                    while j is not i: j.D.U, j.U.D = j.U, j.D; j.C.size -= 1; j = j.R
                    i = i.D
            def uncover(self, c):
                i = c.U
                while i is not c:
                    j = i.L
                    while j is not i: j.C.size += 1; j.D.U = j.U.D = j; j = j.L
                    i = i.U
                c.R.L = c.L.R = c
            def solve(self, part=()):
                self.steps += 1
                if self.h.R is self.h: self.out.append(sorted(part)); return
                c = min(iter_cols(self.h), key=lambda c: (c.size, c.name)); self.cover(c); r = c.D
                while r is not c:
                    j = r.R
                    while j is not r: self.cover(j.C); j = j.R
                    self.solve(part + (r.row,)); j = r.L
                    while j is not r: self.uncover(j.C); j = j.L
                    r = r.D
                self.uncover(c)
        def iter_cols(h):
            c = h.R
            while c is not h: yield c; c = c.R
        class UF(dict):
            def __missing__(self, k): self[k] = k; return k
            def find(self, k):
                while self[k] != k: self[k] = self[self[k]]; k = self[k]
                return k
            def union(self, a, b): self[self.find(a)] = self.find(b)
        class CSP:
            def __init__(self, doms): self.doms, self.cons, self.trail = doms, [], []
            def add(self, *vs): return lambda f: self.cons.append((vs, f)) or f
            def search(self, a={}):
                if len(a) == len(self.doms): yield dict(a); return
                v = next(k for k in self.doms if k not in a)
                for x in self.doms[v]:
                    b = {**a, v: x}; self.trail.append((v, x))
                    if all(f(*map(b.get, vs)) for vs, f in self.cons if all(w in b for w in vs)): yield from self.search(b)
        # %%
        X, Y = Var(), Var(); s = unify(("f", X, ("g", Y)), ("f", 1, ("g", X)), {}); dlx = DLX(4, [[0, 1], [2, 3], [0, 2], [1, 3], [3]]); dlx.solve(); dlx.cover(dlx.cols[0]); uf = UF(); uf.union("a", "b"); uf.union("c", "d"); csp = CSP({k: range(1, 4) for k in "xyz"})
        @csp.add("x", "y")
        def less(x, y): return x < y
        csp.add("y", "z")(operator.ne); sols = list(csp.search()); tried = len(csp.trail); clauses = [frozenset({1, -2}), frozenset({2, 3})]; watch = collections.defaultdict(list); [watch[l].append(c) for c in clauses for l in sorted(c)]
        """,
        """
        s[X], walk(Y, s), unify(X, 2, s), unify(Var(), Y, s) is not s, next(Var.n)
        list(s)[0] is X, {repr(k): v for k, v in s.items() if not isinstance(v, Var)}, Y in s
        [c.name for c in iter_cols(dlx.h)], dlx.out, dlx.steps
        dlx.uncover(dlx.cols[0]); dlx.solve() ;; dlx.out, dlx.steps, [c.size for c in dlx.cols], dlx.cols[1].L is dlx.cols[0]
        dlx.cols[0].D.R.C is dlx.cols[1], dlx.cols[0].D.R.L is dlx.cols[0].D, dlx.cols[3].U.row
        uf.find("a") == uf.find("b"), uf.find("z"), "z" in uf, uf.union("a", "d"), uf.find("c") == uf.find("b"), len(uf)
        sols, len(csp.trail) == tried, next(csp.search()), len(csp.trail) - tried
        csp.cons[0][1] is less, csp.cons[1][1] is operator.ne, csp.doms["x"]
        csp.cons.pop() ;; len(list(csp.search()))
        watch[1][0] is clauses[0], watch[3][0] is clauses[1], sorted(watch), watch[99]
        """,
    ),
    "graphs with views, orders, paths half walked, and sorted containers": session(
        """
        import collections, heapq, itertools, functools, graphlib, weakref, attrs, sortedcontainers as sc, scipy.sparse as sp, scipy.sparse.csgraph as cg, numpy as np, wrapt
        class City:
            def __init__(self, n): self.n = n; self.visits = 0
            def __repr__(self): return self.n
            def __lt__(self, o): return self.n < o.n
        class Edges(collections.abc.Set):
            def __init__(self, g): self.g = g
            def __iter__(self): return ((u, v) for u, nb in self.g.adj.items() for v in nb)
            def __len__(self): return sum(map(len, self.g.adj.values()))
            def __contains__(self, e): return e[1] in self.g.adj.get(e[0], ())
        class Graph:
            def __init__(self): self.adj = collections.defaultdict(dict); self.edges = Edges(self); self.version = 0; self._subs = weakref.WeakSet()
            def __setitem__(self, uv, w): u, v = uv; self.adj[u][v] = w; self.adj[v]; self.version += 1; self.__dict__.pop("order", None)
            def sub(self, keep): s = View(self, keep); self._subs.add(s); return s
            def dijkstra(self, s):
                dist, q, n = {s: 0}, [(0, 0, s)], itertools.count(1)
                while q:
                    dd, _, u = heapq.heappop(q); yield u, dd
                    for v, w in self.adj[u].items():
                        if dd + w < dist.get(v, 1e9): dist[v] = dd + w; heapq.heappush(q, (dd + w, next(n), v))
            @functools.cached_property
            def order(self): return list(graphlib.TopologicalSorter({u: set(nb) for u, nb in self.adj.items()}).static_order())
        class View(Graph):
            def __init__(self, g, keep): self.g, self.keep = g, keep; self.edges = Edges(self)
            @property
            def adj(self): return {u: {v: w for v, w in nb.items() if self.keep(v)} for u, nb in self.g.adj.items() if self.keep(u)}
        @attrs.define
        class Road:
            a: City; b: City; km: int = attrs.field(default=1, validator=attrs.validators.gt(0)); notes: list = attrs.Factory(list)
        @attrs.frozen
        class Leg: road: Road; n: int = attrs.field(converter=int, default="3")
        @wrapt.decorator
        def traced(fn, inst, a, k): trace.append((fn.__name__, type(inst).__name__)); return fn(*a, **k)
        trace = []
        class Planner:
            @traced
            def plan(self, g, a): return sorted((d, c.n) for c, d in g.dijkstra(a))
        @traced
        def free(x): return x * 2
        # %%
        a, b, c, d = cities = [City(x) for x in "abcd"]; G = Graph(); G[a, b] = 1; G[b, c] = 2; G[a, c] = 5; G[c, d] = 1; walk = G.dijkstra(a); first = next(walk); no_c = G.sub(lambda v: v is not c); G.order; edges = G.edges; nb = G.adj[a]; ts = graphlib.TopologicalSorter({"x": {"y"}, "y": {"z"}, "w": {"z"}}); ts.prepare(); ready = ts.get_ready(); ts.done(*ready)
        sl = sc.SortedList([3, 1, 2]); sd = sc.SortedDict(lambda x: -x, {1: "a", 5: "b"}); ss = sc.SortedSet(cities, key=lambda x: x.n); irange = sl.irange(2); keys = sd.keys(); byk = sc.SortedKeyList(cities, key=lambda x: -ord(x.n)); r = Road(a, b); leg = Leg(r); roads = {leg.n: leg}; ev = attrs.evolve(r, km=5); pl = Planner(); plan = pl.plan; px = wrapt.ObjectProxy(r); M = sp.csr_matrix(([1.0, 2.0], ([0, 1], [1, 2])), (3, 3)); dat, ind = M.data, M.indices; dist, pred = cg.shortest_path(M, return_predecessors=True); lil = M.tolil(); coo = M.tocoo()
        """,
        """
        next(walk), first, list(walk)
        G[a, d] = 2 ;; len(edges), (a, d) in edges, nb[d], G.version, "order" in G.__dict__, G.order
        list(no_c.edges), len(G._subs), no_c in G._subs, no_c.g is G, set(edges) - set(no_c.edges) == {(b, c), (a, c), (c, d)}
        a.visits += 1 ;; next(iter(G.adj)).visits, ss[0].visits, byk[-1] is a, r.a.visits, leg.road is r, cities[0] is r.a
        ts.is_active(), sorted(ts.get_ready()), ready
        sl.add(0); sd[9] = "z" ;; list(sl), list(sd), list(keys), sd.peekitem(0), sl.bisect(2), ss.index(c), sd.key(4)
        ss.add(City("bb")); byk.add(City("e")) ;; [x.n for x in ss], [x.n for x in byk], ss.key(a)
        r.notes.append(1) ;; ev.notes is r.notes, ev.notes, px.notes, px.__wrapped__ is r, isinstance(px, Road), attrs.asdict(leg)["n"]
        r.km = -1 ;; 0
        r.zzz = 1 ;; 0
        leg.n = 4 ;; 0
        plan(G, a), trace, free(4), trace[-1], plan.__self__ is pl, free.__wrapped__(1)
        dat[0] = 9.0 ;; M[0, 1], M.data is dat, lil[0, 1], coo.data[0], dist.tolist()[0], pred.tolist()[0]
        """,
    ),
    "struct, array, memoryview and buffers that share": session(
        """
        import struct, array, mmap, io, os, sys, collections, tempfile
        buf = bytearray(b"\\x01\\x00\\x02\\x00" * 4); mv = memoryview(buf); words = mv.cast("H"); tail = mv[8:]; ro = mv.toreadonly(); grid = mv.cast("B", (4, 4)); st = struct.Struct("<IHH"); it = struct.iter_unpack("<HH", buf); next(it); frozen = memoryview(b"abcdef")[::2]; rel = memoryview(bytearray(3)); rel.release()
        arr = array.array("d", [1.0, 2.0, 3.0]); am = memoryview(arr); ai = iter(arr); next(ai); chars = array.array("u", "héllo"); sub = type("Arr", (array.array,), {"total": lambda self: sum(self)})("i", [1, 2]); sub.unit = "m"
        class Packet:
            fmt = struct.Struct(">BHL"); names = collections.namedtuple("P", "kind size crc")
            def __init__(self, store, off=0): self.mv = memoryview(store)[off:off + self.fmt.size]
            def __getattr__(self, k):
                if k in Packet.names._fields: return getattr(Packet.names._make(self.fmt.unpack(self.mv)), k)
                raise AttributeError(k)
            def set(self, **kw): self.fmt.pack_into(self.mv, 0, *Packet.names._make(self.fmt.unpack(self.mv))._replace(**kw))
        store = bytearray(16); p, q = Packet(store), Packet(store, 8); p.set(kind=1, size=2); q.set(crc=99)
        bio = io.BytesIO(b"line1\\nline2\\nline3"); bio.readline(); view = bio.getbuffer(); text = io.TextIOWrapper(io.BytesIO("ä\\nö\\nü".encode()), "utf-8"); text.readline(); sio = io.StringIO("a\\nb\\nc"); next(sio); br = io.BufferedReader(io.BytesIO(bytes(range(20)))); br.read(3); br.peek()
        with open("data.bin", "wb") as f: f.write(b"0123456789" * 500)
        fh = open("data.bin", "r+b"); mm = mmap.mmap(fh.fileno(), 0); mm[0:2] = b"AB"; mm.seek(5); anon = mmap.mmap(-1, 64); anon.write(b"hello"); mmv = memoryview(mm)[0:4]; priv = mmap.mmap(fh.fileno(), 0, access=mmap.ACCESS_COPY); priv[0:1] = b"Z"
        log = open("log.txt", "w+"); log.write("one\\ntwo\\n"); rd = open("log.txt"); tf = tempfile.SpooledTemporaryFile(max_size=100); tf.write(b"spool"); ring = collections.deque(bytearray(b"xyz"), maxlen=3)
        """,
        """
        words[1] = 500 ;; list(buf[:4]), grid[0, 2], mv[2], ro[3], st.unpack_from(buf), next(it)
        tail[0] = 77 ;; buf[8], words[4], grid.tolist()[2], tail.obj is buf
        ro[0] = 1 ;; 0
        buf.append(1)
        frozen.tolist(), frozen.strides, frozen.readonly, frozen.contiguous, words.format, grid.shape, words.itemsize
        rel.tolist()
        am[0] = 9.5 ;; arr, list(ai), arr.itemsize, am.obj is arr
        arr.append(1.0)
        chars.tounicode(), sub.total(), sub.unit, sub.typecode, type(sub).__name__
        p.kind, p.size, q.crc, p.set(crc=7), store[3:7].hex(), q.mv.obj is store, p.mv.obj is store
        view[6:11] = b"LINE2" ;; bio.readline(), bio.tell(), len(view)
        text.readline(), text.read(), next(sio), sio.tell(), list(sio), br.read(3), br.tell()
        mm[:4], mm.read(3), mm.tell(), anon[:5], anon.tell(), priv[:2], mm.size(), bytes(mmv)
        mm[2:4] = b"CD"; mm.flush() ;; open("data.bin", "rb").read(5), bytes(mmv), fh.tell(), priv[:4]
        log.write("three\\n"), log.flush(), rd.read(), log.tell(), tf.tell(), tf.seek(0), tf.read(), list(ring)
        """,
    ),
    "ctypes: structures, unions, arrays, pointers and callbacks": session(
        """
        import ctypes as ct, ctypes.util
        from ctypes import c_int, c_double, c_char, c_uint8, POINTER, byref
        class Vec(ct.Structure):
            _fields_ = [("x", c_double), ("y", c_double)]
            def norm2(self): return self.x ** 2 + self.y ** 2
        class Body(ct.Structure):
            _pack_ = 1; _fields_ = [("kind", c_uint8), ("pos", Vec), ("tag", c_char * 4), ("flags", c_int, 3), ("mode", c_int, 5)]
        class Num(ct.Union): _fields_ = [("i", ct.c_uint32), ("b", c_uint8 * 4)]
        class Big(ct.BigEndianStructure): _fields_ = [("n", ct.c_uint16)]
        class Node(ct.Structure): pass
        Node._fields_ = [("v", c_int), ("next", POINTER(Node))]
        CMP = ct.CFUNCTYPE(c_int, POINTER(c_int), POINTER(c_int)); seen = []
        def compare(a, b): seen.append((a[0], b[0])); return a[0] - b[0]
        # %%
        b = Body(kind=3, tag=b"abcd", flags=2, mode=9); b.pos.x = 3.0; pos = b.pos; nums = (c_int * 5)(5, 3, 1, 4, 2); n = Num(0x01020304); big = Big(258); arr = (Vec * 2)(Vec(1, 2), Vec(3, 4)); first = arr[0]; i = c_int(7); buf = ct.create_string_buffer(b"hello", 10); raw = bytearray(8); over = ct.c_uint64.from_buffer(raw); copy = Vec.from_buffer_copy(bytes(b.pos)); mv = memoryview(nums).cast("B").cast("i"); Ten = c_int * 10; d = c_double(2.5); ws = ct.create_unicode_buffer("wide"); po = ct.py_object([1, 2]); b.note = ["py"]
        # %%
        tail = Node(2, None); head = Node(1, ct.pointer(tail)); ip = ct.pointer(i); cb = CMP(compare); libc = ct.CDLL(None); qsort = libc.qsort; qsort.restype = None; cast = ct.cast(nums, POINTER(c_int))
        """,
        """
        b.kind, b.tag, b.flags, b.mode, b.pos.x, pos.norm2(), b.note, ct.sizeof(Body)
        pos.y = 4.0 ;; b.pos.y, bytes(b)[1:9] == bytes(c_double(3.0)), pos._b_base_ is b
        list(nums), mv[1], mv.format, len(mv)
        nums[1] = 33 ;; mv[1], list(nums)
        n.b[0] = 255 ;; n.i, list(n.b), big.n, bytes(big)
        first.x = 9 ;; arr[0].x, arr[0].norm2(), [v.y for v in arr]
        over.value = 513 ;; list(raw), over.value
        raw[2] = 1 ;; over.value
        raw.append(1)
        buf.value, len(buf), buf.raw[:7], i.value, d.value, ws.value, po.value, copy.x, Ten is (c_int * 10), isinstance((c_int * 10)(), Ten)
        i.value = 70 ;; ip.contents.value, ip[0]
        head.next.contents.v, head.next[0].v
        cb(byref(c_int(3)), byref(c_int(1))), seen
        qsort(nums, len(nums), ct.sizeof(c_int), cb), list(nums), len(seen) > 1
        CMP(compare)(byref(c_int(8)), byref(c_int(1))), CMP is ct.CFUNCTYPE(c_int, POINTER(c_int), POINTER(c_int)), POINTER(Node) is dict(Node._fields_)["next"]
        cast[1]
        """,
    ),
    "event loops, tasks, queues and futures that wait": session(
        """
        import asyncio, concurrent.futures as cf, contextvars, collections, threading
        class Bus:
            def __init__(self): self.subs = collections.defaultdict(list); self.log = []
            def on(self, t): return lambda f: self.subs[t].append(f) or f
            async def emit(self, t, x):
                for f in self.subs[t]: self.log.append(await f(x) if asyncio.iscoroutinefunction(f) else f(x))
        bus = Bus()
        @bus.on("a")
        async def slow(x): await asyncio.sleep(0); return x * 2
        @bus.on("a")
        def fast(x): return x + 1
        class Limiter:
            def __init__(self, n): self.sem = asyncio.Semaphore(n); self.used = 0
            async def __aenter__(self): await self.sem.acquire(); self.used += 1; return self
            async def __aexit__(self, *e): self.sem.release()
        class Agen:
            def __init__(self, n): self.n = n
            def __aiter__(self): return self
            async def __anext__(self):
                if not self.n: raise StopAsyncIteration
                self.n -= 1; return self.n
        lim = Limiter(2); ag = Agen(3); q = asyncio.Queue(5); q.put_nowait(1); q.put_nowait([2]); pq = asyncio.PriorityQueue(); pq.put_nowait((2, "b")); pq.put_nowait((1, "a")); ev = asyncio.Event(); ev.set(); lock = asyncio.Lock(); fut = cf.Future(); fut.set_result([1]); bad = cf.Future(); bad.set_exception(KeyError("k")); wait = cf.Future(); cbs = []; wait.add_done_callback(lambda f: cbs.append(f.result()))
        def run(c):
            loop = asyncio.new_event_loop()
            try: return loop.run_until_complete(c)
            finally: loop.close()
        worker = threading.Thread(target=run, args=(bus.emit("a", 5),)); worker.start(); worker.join()
        async def use():
            async with lim as l: return l.used, [x async for x in ag]
        def in_thread(make):
            out = []; t = threading.Thread(target=lambda: out.append(run(make()))); t.start(); t.join(); return out[0]
        got = in_thread(use); pool = cf.ThreadPoolExecutor(2); res = pool.submit(sum, [1, 2]); res.result()
        """,
        """
        bus.log, in_thread(lambda: bus.emit("a", 10)), bus.log, bus.subs["a"][0] is slow
        got, in_thread(use), ag.n, lim.used, lim.sem.locked()
        q.qsize(), q.get_nowait(), q.get_nowait(), q.maxsize, pq.get_nowait(), pq.qsize()
        q.get_nowait()
        ev.is_set(), lock.locked(), fut.result(), fut.done(), type(bad.exception()).__name__, wait.done()
        bad.result()
        wait.set_result(5) ;; cbs, wait.result()
        worker.is_alive(), res.result(), res.done()
        pool.submit(len, "abc").result(), list(pool.map(abs, [-1, 2]))
        fut.result().append(2) ;; fut.result(), fut.add_done_callback(lambda f: cbs.append("late")), cbs
        """,
    ),
    "an event-driven entity system with a plug-in registry and undo and redo": session(
        """
        import collections, copy, functools, inspect, itertools, operator, types
        class Component:
            registry = {}
            def __init_subclass__(cls, *, order=0, **k): super().__init_subclass__(**k); cls.order = order; Component.registry[cls.__name__] = cls; cls.store = {}
            def __init__(self, **k): self.__dict__.update(k)
            def __repr__(self): return f"{type(self).__name__}{vars(self)}"
        class Pos(Component, order=1): pass
        class Vel(Component, order=2): pass
        class World:
            def __init__(self): self.ids = itertools.count(1); self.systems = []; self.queue = collections.deque(); self.undo, self.redo = [], []
            def spawn(self, *cs):
                e = next(self.ids)
                for c in cs: type(c).store[e] = c
                return e
            def system(self, *types, prio=0):
                def deco(f): self.systems.append((prio, len(self.systems), types, f)); self.systems.sort(key=operator.itemgetter(0, 1)); return f
                return deco
            def each(self, *ts): return ((e, *(t.store[e] for t in ts)) for e in sorted(functools.reduce(operator.and_, (t.store.keys() for t in ts))))
            def tick(self):
                for _, _, ts, f in self.systems:
                    for row in self.each(*ts): f(self, *row)
                while self.queue: self.queue.popleft()()
            def do(self, cmd): cmd.apply(); self.undo.append(cmd); self.redo.clear()
            def back(self): c = self.undo.pop(); c.revert(); self.redo.append(c)
            def forth(self): c = self.redo.pop(); c.apply(); self.undo.append(c)
        class Set:
            def __init__(self, obj, **k): self.obj, self.new, self.old = obj, k, {x: getattr(obj, x, None) for x in k}
            def apply(self): self.obj.__dict__.update(self.new)
            def revert(self): self.obj.__dict__.update(self.old)
        class Macro(list):
            def apply(self): [c.apply() for c in self]
            def revert(self): [c.revert() for c in reversed(self)]
        w = World(); trail = []
        @w.system(Pos, Vel, prio=1)
        def move(world, e, p, v): p.x += v.dx; world.queue.append(lambda: trail.append((e, p.x)))
        @w.system(Pos)
        def wrap(world, e, p): p.x %= 10
        # %%
        e1 = w.spawn(p1 := Pos(x=8), v1 := Vel(dx=3)); e2 = w.spawn(Pos(x=1)); w.tick(); w.do(Macro([Set(p1, x=0, y=5), Set(v1, dx=1)])); w.do(Set(p1, x=7)); w.back(); rows = w.each(Pos, Vel); stores = {k: c.store for k, c in Component.registry.items()}; keys = Pos.store.keys() & Vel.store.keys(); snap = copy.deepcopy(p1); w.queue.append(functools.partial(trail.append, "queued")); handle = w.system(Vel, prio=-1)
        """,
        """
        w.tick() ;; trail, p1, snap, w.queue
        w.forth() ;; p1, len(w.undo), w.undo[-1].obj is p1
        w.back(); w.back() ;; p1, v1, len(w.redo), w.redo[0].obj is p1, w.redo[1][1].obj is v1, type(w.redo[1]).__name__
        handle(lambda world, e, v: setattr(v, "dx", v.dx * 2)) and w.tick() ;; v1, p1, [s[0] for s in w.systems], trail[-1]
        stores["Pos"] is Pos.store, stores["Pos"][e1] is p1, sorted(Component.registry), Pos.order, Vel.store[1] is v1
        class Tag(Component, order=9): pass ;; sorted(Component.registry), w.spawn(Tag(n=1), Pos(x=3)), len(Pos.store), Tag.store
        w.systems[-1][3] is move, w.systems[1][3] is wrap, w.systems[-1][2][0] is Pos, keys
        Pos.store is Vel.store, Component.registry["Vel"] is type(v1), [c.__name__ for c in Component.__subclasses__()]
        """,
    ),
}
