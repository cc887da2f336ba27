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
        named="tx",
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
        named="it",
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
        named="lx",
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
        named="Planner free pl plan px traced walk",
    ),
}
