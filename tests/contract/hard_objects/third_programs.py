"""Programs with structures of their own: reactive cells, injection, boards, mappers, derivatives, tries, enumerations."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "reactive values, effects and batches": session(
        """
        import contextvars, weakref, functools, collections
        current = contextvars.ContextVar("current", default=None); batch = []; depth = 0
        class Signal:
            __slots__ = ("_v", "subs", "__weakref__", "name")
            def __init__(self, v, name=""): self._v, self.subs, self.name = v, weakref.WeakSet(), name
            def __call__(self):
                if (c := current.get()) is not None: self.subs.add(c); c.deps.add(self)
                return self._v
            def set(self, v):
                if v != self._v: self._v = v; [s.dirty_() for s in sorted(self.subs, key=lambda s: s.id)]
            def __iadd__(self, n): self.set(self._v + n); return self
        class Computed:
            n = 0
            def __init__(self, fn): Computed.n += 1; self.id = Computed.n; self.fn, self.dirty, self.deps, self.subs, self.runs = fn, True, weakref.WeakSet(), weakref.WeakSet(), 0
            def dirty_(self):
                if not self.dirty: self.dirty = True; [s.dirty_() for s in self.subs]
            def __call__(self):
                if (c := current.get()) is not None: self.subs.add(c); c.deps.add(self)
                if self.dirty:
                    tok = current.set(self)
                    try: self.value = self.fn(); self.runs += 1; self.dirty = False
                    finally: current.reset(tok)
                return self.value
        class Effect(Computed):
            def dirty_(self): batch.append(self) if depth else (setattr(self, "dirty", True), self())
        class Batch:
            def __enter__(self): global depth; depth += 1
            def __exit__(self, *e):
                global depth
                depth -= 1
                if not depth:
                    todo, batch[:] = list(dict.fromkeys(batch)), []
                    for b in todo: b.dirty = True; b()
        class Store:
            def __init__(self, **kw): object.__setattr__(self, "_s", {k: Signal(v, k) for k, v in kw.items()})
            def __getattr__(self, k):
                try: return object.__getattribute__(self, "_s")[k]()
                except KeyError: raise AttributeError(k) from None
            def __setattr__(self, k, v): self._s[k].set(v)
            def __dir__(self): return list(self._s)
        # %%
        a, b = Signal(1, "a"), Signal(2, "b"); total = Computed(lambda: a() + b()); double = Computed(lambda: total() * 2); seen = []; eff = Effect(lambda: seen.append(double())); eff(); st = Store(x=1, y=[2]); sx = Computed(lambda: st.x * 10); sx(); a += 5; held = Batch(); held.__enter__(); b.set(50)
        """,
        """
        seen, depth, len(batch), batch[0] is eff
        held.__exit__(None, None, None), seen, depth, batch
        a += 1 ;; seen[-1], total.runs, double.runs, eff in double.subs, len(a.subs)
        st.x = 7 ;; sx(), sx.runs, st.y, dir(st), sorted(s.name for s in sx.deps)
        st.y.append(3) ;; st.y, st.z if hasattr(st, "z") else "none"
        current.get(), total in a.subs, [d.name for d in sorted(total.deps, key=lambda s: s.name)]
        exec("with held: a.set(0); b.set(0)") ;; seen[-1], len(seen), Computed.n
        del double, eff ;; len(total.subs) >= 0, a.set(9), total()
        """,
    ),
    "a container that injects what functions ask for by type": session(
        """
        import inspect, functools, typing, contextlib, dataclasses, abc, types
        from typing import Annotated, Generic, TypeVar, Protocol, get_type_hints, get_origin, get_args
        T = TypeVar("T")
        class Clock(Protocol):
            def now(self) -> int: ...
        class Repo(Generic[T]):
            items: dict
            def __init__(self): self.items = {}
            def __class_getitem__(cls, k): return cls._made.setdefault(k, types.new_class(f"Repo[{k.__name__}]", (cls,), {}, lambda ns: ns.update(of=k))) if isinstance(k, type) else super().__class_getitem__(k)
            _made = {}
        class Container:
            def __init__(self, parent=None): self.makers, self.single, self.parent, self.stack = {}, {}, parent, contextlib.ExitStack()
            def provide(self, kind=None, scope="one"):
                def deco(fn): self.makers[kind or get_type_hints(fn).get("return", fn)] = (fn, scope); return fn
                return deco
            def get(self, kind, *marks):
                key = (kind, marks)
                if key in self.single: return self.single[key]
                if kind not in self.makers: return self.parent.get(kind, *marks) if self.parent else self._fail(kind)
                fn, scope = self.makers[kind]; made = self.call(fn)
                if inspect.isgenerator(made): raise TypeError("no")
                if scope == "one": self.single[key] = made
                return made
            def _fail(self, kind): raise LookupError(getattr(kind, "__name__", kind))
            def call(self, fn, **given):
                hints = get_type_hints(fn.__init__ if isinstance(fn, type) else fn, include_extras=True); hints.pop("return", None)
                for n, h in hints.items():
                    if n not in given: given[n] = self.get(get_args(h)[0], *h.__metadata__) if get_origin(h) is Annotated else self.get(h)
                return fn(**given)
            def inject(self, fn):
                @functools.wraps(fn)
                def w(**k): w.calls += 1; return self.call(fn, **k)
                w.calls = 0; w.container = self
                return w
            def child(self): return Container(self)
        root = Container()
        class Fixed:
            def __init__(self): self.t = 0
            def now(self): self.t += 1; return self.t
        class User: pass
        @root.provide(Clock)
        def clock() -> Clock: return Fixed()
        @root.provide(scope="each")
        class Service:
            def __init__(self, clock: Clock, users: Repo[User]): self.clock, self.users = clock, users
        root.makers[Repo[User]] = (Repo[User], "one")
        @root.provide()
        def config(clock: Clock) -> dict: return {"at": clock.now()}
        # %%
        @root.inject
        def handle(s: Service, cfg: dict, *, extra: Annotated[dict, "x"]) -> str: return f"{s.clock.now()} {cfg} {extra is cfg}"
        first = handle(); kid = root.child(); kid.makers[dict] = (lambda: {"kid": 1}, "one"); kid_cfg = kid.get(dict); svc = kid.get(Service); svc.users.items["a"] = User(); UR = Repo[User]; req = functools.partial(handle, cfg={"given": 1})
        """,
        """
        first, handle(), handle.calls, handle.container is root, handle.__wrapped__.__name__
        root.get(Clock) is svc.clock, root.get(dict) is root.single[dict, ()], kid.get(dict) is kid_cfg, kid.get(Clock) is root.get(Clock)
        Repo[User] is UR, type(svc.users) is UR, UR.of is User, Repo._made, root.get(UR) is svc.users, list(svc.users.items)
        root.get(Service) is svc, kid.get(Service).users is svc.users, isinstance(svc.clock, Fixed)
        req(), handle.calls, req.keywords
        root.get(int)
        kid.call(lambda s: s.clock.now(), s=svc), inspect.signature(handle).return_annotation, get_type_hints(handle)["s"] is Service
        root.provide(int)(lambda: 5) and root.get(int), kid.get(int), sorted(getattr(k, "__name__", "") for k in root.makers)
        """,
    ),
    "a board game with bitboards, a table of positions and moves that can be taken back": session(
        """
        import random, collections, functools, itertools, numpy as np, enum, array
        rng = random.Random(2024); ZOB = [[rng.getrandbits(64) for _ in range(2)] for _ in range(49)]; NPZ = np.array(ZOB, dtype=np.uint64)
        Entry = collections.namedtuple("Entry", "depth score move", defaults=(None,))
        class Side(enum.IntEnum):
            X = 0; O = 1
            @property
            def other(self): return Side(1 - self)
        class Move:
            __slots__ = ("sq", "before")
            made = 0
            def __init__(self, sq, before): self.sq, self.before = sq, before; Move.made += 1
        class Board:
            masks = tuple(functools.reduce(int.__or__, (1 << (r + dr * i) * 7 + c + dc * i for i in range(4))) for r, c, dr, dc in itertools.product(range(7), range(7), (0, 1), (-1, 0, 1)) if (dr, dc) in ((0, 1), (1, 0), (1, 1), (1, -1)) and 0 <= r + 3 * dr < 7 and 0 <= c + 3 * dc < 7)
            tt = {}; history = collections.Counter(); nodes = 0
            def __init__(self): self.bits = [0, 0]; self.side = Side.X; self.key = 0; self.moves = []; self.heights = array.array("B", bytes(7)); self.view = memoryview(self.heights)
            def legal(self): return [c for c in (3, 2, 4, 1, 5, 0, 6) if self.heights[c] < 7]
            def play(self, c):
                sq = self.heights[c] * 7 + c; self.moves.append(Move(sq, self.key)); self.bits[self.side] |= 1 << sq; self.key ^= ZOB[sq][self.side]; self.heights[c] += 1; self.side = self.side.other; Board.history[c] += 1
                return self
            def undo(self):
                m = self.moves.pop(); self.side = self.side.other; self.bits[self.side] &= ~(1 << m.sq); self.key = m.before; self.heights[m.sq % 7] -= 1
                return self
            def won(self): b = self.bits[self.side.other]; return any(b & m == m for m in self.masks)
            def search(self, d, a=-99, b=99):
                Board.nodes += 1
                if self.won(): return -50 - d
                if not d: return 0
                e = Board.tt.get(self.key)
                if e and e.depth >= d: return e.score
                best = None
                for c in self.legal():
                    s = -self.play(c).search(d - 1, -b, -a); self.undo()
                    if s > a: a, best = s, c
                    if a >= b: break
                Board.tt[self.key] = Entry(d, a, best)
                return a
            @classmethod
            def perft(cls, n, board=None): board = board or cls(); return 1 if n == 0 else sum((board.play(c), cls.perft(n - 1, board), board.undo())[1] for c in board.legal())
        # %%
        bd = Board(); [bd.play(c) for c in (3, 3, 2, 2)]; sc = bd.search(4); nodes = Board.nodes; pos = {bd.key: "now"}; entry = Board.tt[bd.key]; last = bd.moves[-1]; gen = iter(bd.legal()); next(gen); snap = (tuple(bd.bits), bytes(bd.heights)); arr = np.array(bd.bits, dtype=np.uint64); picks = rng.choices(range(7), k=3); undo = bd.undo
        """,
        """
        bd.search(4) == sc, Board.nodes - nodes, entry, Board.tt[bd.key] is entry, pos[bd.key]
        bd.play(1).won(), bd.view[1], bd.side, bd.moves[-2] is last, Move.made > 0
        undo().key in pos, (tuple(bd.bits), bytes(bd.heights)) == snap, bd.view.tolist(), bd.view.obj is bd.heights
        bd.play(1).play(0).play(4) and bd.won(), bd.search(3), len(Board.tt) > 10, Board.history.most_common(1)[0][0]
        next(gen), list(gen), rng.getrandbits(8), picks
        Board.perft(3), Side.X.other is Side.O, Side(0) is Side.X, type(bd.side) is Side
        int(NPZ[3, 1]) == ZOB[3][1], arr.tolist() == list(snap[0]), hasattr(entry, "__dict__"), entry._replace(depth=9), Entry(1, 2)
        bd.heights.append(1)
        """,
    ),
    "a mapper with an identity map, lazy relations and a unit of work": session(
        """
        import sqlite3, weakref, datetime, json, functools, collections, enum, decimal
        class Status(enum.Enum): NEW = "n"; PAID = "p"
        sqlite3.register_adapter(dict, json.dumps); sqlite3.register_converter("json", json.loads); sqlite3.register_adapter(Status, lambda s: s.value); sqlite3.register_converter("status", lambda b: Status(b.decode()))
        class Col:
            def __init__(self, kind="text", ref=None): self.kind, self.ref = kind, ref
            def __set_name__(self, o, n): self.name = n; "_cols" in o.__dict__ or setattr(o, "_cols", dict(getattr(o, "_cols", {}))); o._cols[n] = self
            def __get__(self, o, t=None): return self if o is None else o.__dict__.get(self.name)
            def __set__(self, o, v): o.__dict__[self.name] = v; s = o.__dict__.get("_session"); s and s.dirty.setdefault(id(o), o)
            def __eq__(self, v): return Cond(f"{self.name} = ?", [v])
            def __gt__(self, v): return Cond(f"{self.name} > ?", [v])
            __hash__ = object.__hash__
        class Cond:
            def __init__(self, sql, args): self.sql, self.args = sql, args
            def __and__(self, o): return Cond(f"({self.sql} AND {o.sql})", self.args + o.args)
            def __invert__(self): return Cond(f"NOT {self.sql}", self.args)
        class Rel:
            def __init__(self, kind, key): self.kind, self.key = kind, key
            def __set_name__(self, o, n): self.name = n
            def __get__(self, o, t=None):
                if o is None: return self
                return o._session.query(globals()[self.kind]).where(getattr(globals()[self.kind], self.key) == o.id)
        class Model:
            tables = {}
            def __init_subclass__(cls, **k): super().__init_subclass__(**k); Model.tables[cls.__name__] = cls
            def __init__(self, **k): self.__dict__.update(k)
            def __repr__(self): return f"{type(self).__name__}#{self.id}"
        class User(Model): id = Col("integer primary key"); name = Col(); meta = Col("json"); orders = Rel("Order", "user")
        class Order(Model): id = Col("integer primary key"); user = Col("integer", ref=User); status = Col("status"); total = Col("real")
        class Query:
            def __init__(self, s, kind, conds=(), lim=None): self.s, self.kind, self.conds, self.lim = s, kind, conds, lim
            def where(self, c): return Query(self.s, self.kind, (*self.conds, c), self.lim)
            def __getitem__(self, i): return list(self)[i]
            def count(self): return sum(1 for _ in self)
            def __iter__(self):
                sql = f'select * from "{self.kind.__name__}"' + (" where " + " AND ".join(c.sql for c in self.conds) if self.conds else "")
                return (self.s.load(self.kind, r) for r in self.s.db.execute(sql, [a for c in self.conds for a in c.args]).fetchall())
        class Session:
            def __init__(self, path=":memory:"): self.db = sqlite3.connect(path, detect_types=sqlite3.PARSE_DECLTYPES); self.db.row_factory = lambda c, r: dict(zip([d[0] for d in c.description], r)); self.map, self.dirty, self.sql = weakref.WeakValueDictionary(), {}, []
            def create(self): [self.db.execute(f'create table "{n}" ({", ".join(f"{c} {k.kind}" for c, k in t._cols.items())})') for n, t in Model.tables.items()]
            def load(self, kind, row):
                o = self.map.get((kind, row["id"]))
                if o is None: o = kind(**row, _session=self); self.map[kind, row["id"]] = o
                return o
            def add(self, o):
                cols = list(o._cols); cur = self.db.execute(f'insert into "{type(o).__name__}" ({",".join(cols)}) values ({",".join("?" * len(cols))})', [getattr(o, c) for c in cols])
                o.__dict__["id"] = cur.lastrowid; o.__dict__["_session"] = self; self.map[type(o), o.id] = o
                return o
            def flush(self):
                for o in list(self.dirty.values()): self.db.execute(f'update "{type(o).__name__}" set ' + ",".join(f"{c}=?" for c in o._cols) + " where id=?", [*(getattr(o, c) for c in o._cols), o.id])
                n = len(self.dirty); self.dirty.clear(); return n
            def query(self, kind): return Query(self, kind)
        # %%
        se = Session(); se.create(); u = se.add(User(name="Al", meta={"k": [1]})); o1 = se.add(Order(user=u.id, status=Status.NEW, total=5.5)); o2 = se.add(Order(user=u.id, status=Status.PAID, total=9.0)); se.db.commit(); u.name = "Bo"; big = se.query(Order).where(Order.total > 6); cond = (User.name == "Bo") & ~(User.id == 9); dirty = se.dirty; lost = [se.query(User)[0]]; names = [u.orders]
        """,
        """
        se.query(User)[0] is u, u.orders.count(), u.orders[0] is o1, list(big), big[0] is o2, lost[0] is u
        dirty is se.dirty, list(dirty.values()), id(u) in dirty, cond.sql, cond.args
        u.meta = {"z": 2}; len(se.dirty) ;; len(se.dirty), se.flush(), se.dirty, [x.name for x in se.query(User).where(cond)]
        se.db.execute('select name, meta, typeof(meta) t from "User"').fetchone()
        o1.status = Status.PAID ;; se.flush(), [o.status for o in se.query(Order)], se.query(Order)[0].status is Status.PAID
        len(se.map), sorted((k.__name__, i) for k, i in se.map), se.map[User, 1] is u, User._cols["name"] is User.name, sorted(Model.tables)
        del o2 ;; names[0].count(), se.query(Order).count()
        se.add(Order(user=1, status=Status.NEW, total=1)).id, names[0][2].status, Order.user.ref is User
        """,
    ),
    "automatic derivatives and a small network with an optimiser": session(
        """
        import math, random, functools, collections, numpy as np, itertools, weakref, contextlib
        grad_on = True
        @contextlib.contextmanager
        def no_grad():
            global grad_on
            old, grad_on = grad_on, False
            try: yield
            finally: grad_on = old
        class V:
            count = itertools.count()
            def __init__(self, d, prev=(), op=""): self.data, self.grad, self._prev, self.op = float(d), 0.0, tuple(prev) if grad_on else (), op; self._back = lambda: None; self.id = next(V.count); self.hooks = []
            def _bin(self, o, d, f, op):
                out = V(d, (self, o), op)
                def back():
                    a, b = f(out.grad); self.grad += a; o.grad += b; [h(out) for h in out.hooks]
                if grad_on: out._back = back
                return out
            def __add__(self, o): o = o if isinstance(o, V) else V(o); return self._bin(o, self.data + o.data, lambda g: (g, g), "+")
            def __mul__(self, o): o = o if isinstance(o, V) else V(o); return self._bin(o, self.data * o.data, lambda g: (o.data * g, self.data * g), "*")
            __radd__, __rmul__ = __add__, __mul__
            def __neg__(self): return self * -1
            def __sub__(self, o): return self + (-o)
            def tanh(self):
                t = math.tanh(self.data); out = V(t, (self,), "t")
                def back(): self.grad += (1 - t * t) * out.grad
                out._back = back
                return out
            def backward(self):
                topo, seen = [], set()
                def build(v):
                    if v not in seen: seen.add(v); [build(p) for p in v._prev]; topo.append(v)
                build(self); self.grad = 1.0
                for v in reversed(topo): v._back()
        class Module:
            def __init__(self): object.__setattr__(self, "_params", collections.OrderedDict()); object.__setattr__(self, "_mods", collections.OrderedDict())
            def __setattr__(self, k, v):
                (self._params if isinstance(v, V) else self._mods if isinstance(v, Module) else self.__dict__)[k] = v
            def __getattr__(self, k):
                for d in ("_params", "_mods"):
                    if d in self.__dict__ and k in self.__dict__[d]: return self.__dict__[d][k]
                raise AttributeError(k)
            def parameters(self): yield from self._params.values(); yield from itertools.chain.from_iterable(m.parameters() for m in self._mods.values())
            def state_dict(self, pre=""): return {**{pre + k: v.data for k, v in self._params.items()}, **{a: b for k, m in self._mods.items() for a, b in m.state_dict(pre + k + ".").items()}}
            def __call__(self, *a): out = self.forward(*a); [h(self, out) for h in type(self).hooks]; return out
            hooks = []
        class Neuron(Module):
            def __init__(self, n, rng): super().__init__(); [setattr(self, f"w{i}", V(rng.uniform(-1, 1))) for i in range(n)]; self.b = V(0); self.n = n
            def forward(self, xs): return sum((getattr(self, f"w{i}") * x for i, x in enumerate(xs)), self.b).tanh()
        class Net(Module):
            def __init__(self, rng): super().__init__(); self.h1, self.h2, self.out = Neuron(2, rng), Neuron(2, rng), Neuron(2, rng); self.shared = self.h1
            def forward(self, xs): return self.out([self.h1(xs), self.h2(xs)])
        class Adam:
            def __init__(self, ps, lr=0.1): self.ps = list(dict.fromkeys(ps)); self.state = collections.defaultdict(lambda: np.zeros(2)); self.lr, self.t = lr, 0
            def step(self):
                self.t += 1
                for p in self.ps: m = self.state[p]; m[0] = 0.9 * m[0] + 0.1 * p.grad; m[1] = 0.99 * m[1] + 0.01 * p.grad ** 2; p.data -= self.lr * m[0] / (math.sqrt(m[1]) + 1e-8); p.grad = 0.0
        rng = random.Random(3); net = Net(rng); opt = Adam(net.parameters()); data = [((0, 1), 1), ((1, 1), -1)]; losses = []; outs = []; Neuron.hooks = [lambda m, o: outs.append(round(o.data, 3))]
        def train(n):
            for _ in range(n):
                loss = functools.reduce(V.__add__, ((net(x) - V(y)) * (net(x) - V(y)) for x, y in data)); loss.backward(); opt.step(); losses.append(round(loss.data, 6))
            return losses[-1]
        # %%
        l5 = train(5); x = V(2.0); y = (x * x + 3 * x).tanh(); y.hooks.append(lambda o: None); z = x * y; w0 = net.h1.w0; sd = net.state_dict(); n_outs = len(outs); p_state = opt.state[w0]; first = next(net.parameters())
        """,
        """
        z.backward() ;; round(x.grad, 6), z._prev[0] is x, y._prev[0].op, x.id
        train(3), len(losses), losses[-2:], opt.t, len(outs) > n_outs
        net.shared is net.h1, net.h1.w0 is w0, opt.ps[0] is first, w0 in opt.state, opt.state[w0] is p_state, p_state.round(6).tolist()
        sd == net.state_dict(), sorted(sd)[:3], len(opt.ps), len(list(net.parameters()))
        exec("with no_grad(): q = x * 2") ;; q._prev, grad_on, next(V.count) > 10
        net.h1.w0 = V(5) ;; net.h1.w0.data, w0 in net.h1._params.values(), net.shared.w0.data
        net.nope
        opt.state["new"].tolist(), Module.hooks, Neuron.hooks is net.h2.hooks, net.h2.n
        """,
    ),
    "structures of one's own: tries, skip lists, heaps that are changed, persistent maps, ropes": session(
        """
        import random, functools, collections, weakref, itertools, bisect, array, operator
        class Trie(dict):
            END = object()
            def add(self, w, v): n = functools.reduce(lambda n, c: n.setdefault(c, Trie()), w, self); n[Trie.END] = v; return n
            def find(self, pre):
                n = self
                for c in pre: n = n[c]
                return sorted(n.words(pre))
            def words(self, pre=""):
                for c, n in self.items():
                    if c is Trie.END: yield pre, n
                    else: yield from n.words(pre + c)
        class Skip:
            class N: __slots__ = ("k", "nxt")
            def __init__(self, seed): self.rng = random.Random(seed); self.head = Skip.N(); self.head.k = None; self.head.nxt = [None] * 6
            def add(self, k):
                up = []; n = self.head
                for l in reversed(range(6)):
                    while n.nxt[l] is not None and n.nxt[l].k < k: n = n.nxt[l]
                    up.append(n)
                x = Skip.N(); x.k = k; h = 1 + min(5, self.rng.randrange(3)); x.nxt = [None] * h
                for l, p in zip(range(h), reversed(up)): x.nxt[l], p.nxt[l] = p.nxt[l], x
                return x
            def __iter__(self):
                n = self.head.nxt[0]
                while n: yield n.k; n = n.nxt[0]
        class PHeap:
            def __init__(self): self.h, self.pos = [], {}
            def _swap(self, i, j): self.h[i], self.h[j] = self.h[j], self.h[i]; self.pos[self.h[i][1]], self.pos[self.h[j][1]] = i, j
            def push(self, p, x):
                self.h.append([p, x]); i = self.pos[x] = len(self.h) - 1; self._up(i)
            def _up(self, i):
                while i and self.h[i][0] < self.h[(i - 1) // 2][0]: self._swap(i, (i - 1) // 2); i = (i - 1) // 2
            def decrease(self, x, p): i = self.pos[x]; self.h[i][0] = p; self._up(i)
        class PMap:
            __slots__ = ("k", "v", "l", "r", "n", "__weakref__")
            empty = None; live = weakref.WeakSet()
            def __new__(cls, *a):
                if not a and cls.empty is not None: return cls.empty
                o = super().__new__(cls); cls.live.add(o); o.k, o.v, o.l, o.r, o.n = a if a else (None, None, None, None, 0)
                if not a: cls.empty = o
                return o
            def set(self, k, v):
                if not self.n: return PMap(k, v, self, self, 1)
                if k == self.k: return PMap(k, v, self.l, self.r, self.n)
                l, r = (self.l.set(k, v), self.r) if k < self.k else (self.l, self.r.set(k, v))
                return PMap(self.k, self.v, l, r, l.n + r.n + 1)
            def __getitem__(self, k):
                if not self.n: raise KeyError(k)
                return self.v if k == self.k else (self.l if k < self.k else self.r)[k]
            def __iter__(self):
                if self.n: yield from self.l; yield self.k; yield from self.r
            def __len__(self): return self.n
        class Rope:
            def __init__(self, *parts): self.parts = list(parts)
            def __add__(self, o): return Rope(self, o)
            def __str__(self): return "".join(map(str, self.parts))
            @functools.cached_property
            def length(self): return sum(p.length if isinstance(p, Rope) else len(p) for p in self.parts)
        class Fenwick(array.array):
            def __new__(cls, n): self = super().__new__(cls, "q", [0] * (n + 1)); self.n = n; return self
            def add(self, i, d):
                while i <= self.n: self[i] += d; i += i & -i
            def sum(self, i): return 0 if i <= 0 else self[i] + self.sum(i - (i & -i))
        class LList:
            class Node:
                __slots__ = ("v", "nxt", "_prev", "__weakref__")
                prev = property(lambda s: s._prev and s._prev(), lambda s, p: setattr(s, "_prev", p and weakref.ref(p)))
                def __init__(self, v): self.v = v; self.nxt = self._prev = None
            def __init__(self, it=()): self.head = self.tail = None; [self.append(x) for x in it]
            def append(self, v): n = self.Node(v); n.prev = self.tail; (setattr(self.tail, "nxt", n) if self.tail else setattr(self, "head", n)); self.tail = n
            def __reversed__(self):
                n = self.tail
                while n: yield n.v; n = n.prev
        # %%
        tr = Trie(); leaf = tr.add("car", 1); tr.add("cart", [2]); sk = Skip(1); nodes = [sk.add(k) for k in (5, 1, 3)]; ph = PHeap(); [ph.push(p, x) for p, x in ((5, "a"), (3, "b"), (9, "c"))]; m1 = functools.reduce(lambda m, k: m.set(k, k * 2), (4, 2, 6), PMap()); m2 = m1.set(6, "six"); r = Rope("ab", "c"); r2 = r + Rope("d"); r2.length; fw = Fenwick(8); fw.add(3, 5); ll = LList("xyz"); node = ll.head.nxt
        """,
        """
        tr.find("ca"), leaf[Trie.END], tr["c"]["a"]["r"] is leaf, leaf["t"][Trie.END].append(3), tr.find("cart")
        sk.add(2).k, list(sk), nodes[0] is sk.head.nxt[0].nxt[0].nxt[0].nxt[0], sk.rng.random()
        ph.decrease("c", 1) ;; ph.h[0], ph.pos, ph.h[ph.pos["a"]]
        m1[6], m2[6], m1.l is m2.l, PMap() is PMap.empty is m1.l.l, len(PMap.live), list(m2), m1 in PMap.live
        m3 = m2.set(1, 1) ;; len(m3), m3.r is m2.r, len(PMap.live), len(m2)
        str(r2), r2.length, r2.parts[0] is r, "length" in r.__dict__, r.parts.append("zz"), str(r2), r2.length
        fw.add(4, 2) ;; fw.sum(4), fw.n, type(fw).__name__, fw.tolist()
        list(reversed(ll)), node.prev is ll.head, node.nxt.prev is node, ll.append("w"), ll.tail.prev.v, type(node) is LList.Node
        """,
    ),
    "enumerations of all makes": session(
        """
        import enum, dataclasses, functools, types, sys
        from enum import *
        class Auto(Enum):
            @staticmethod
            def _generate_next_value_(name, start, count, last): return f"{name.lower()}-{count}"
            A = auto(); B = auto()
        class P(Flag, boundary=KEEP): R = 1; W = 2; RW = 3
        class Q(IntFlag, boundary=CONFORM): A = 1; B = 4
        @dataclasses.dataclass
        class Body: mass: float; tags: list = dataclasses.field(default_factory=list)
        class Planet(Body, Enum): EARTH = 5.9; MARS = 0.6, ["red"]
        class Tool(Enum):
            _ignore_ = "i"
            for i in range(3): vars()[f"T{i}"] = i
            helper = nonmember([1]); fn = member(functools.partial(int, "7"))
            @enum.property
            def label(self): return f"{self.name}!"
            @classmethod
            def first(cls): return next(iter(cls))
            def __format__(self, s): return f"<{self.name}>"
        class Base(Enum):
            def __init_subclass__(cls, **k): super().__init_subclass__(**k); Base.subs.append(cls.__name__)
            def who(self): return type(self).__name__
        Base.subs = []
        class Child(Base): X = 1; Y = X; Z = object()
        class Meta(EnumMeta):
            calls = 0
            def __call__(cls, *a, **k): Meta.calls += 1; return super().__call__(*a, **k)
            def __contains__(cls, x): return x == "magic" or super().__contains__(x)
        class Odd(Enum, metaclass=Meta): ONE = 1; TWO = 2
        F1 = Enum("F1", {"a": 1, "b": [2]}); F2 = Enum("F2", [("x", "1"), ("y", "2")], type=str); F3 = IntEnum("F3", "m n", start=7, qualname="pkg.F3")
        @unique
        class Verb(StrEnum): GO = auto(); STOP = "halt"
        class Rich(Enum):
            A = (1, "one"); B = (2, "two")
            def __new__(cls, n, text): o = object.__new__(cls); o._value_ = n; o.text = text; return o
            def __lt__(self, o): return self.value < o.value
        class Op(Enum):
            ADD = "+", int.__add__
            MUL = "*", int.__mul__
            def __init__(self, sign, fn): self.sign, self.fn = sign, fn
            def __call__(self, a, b): return self.fn(a, b)
        # %%
        rw = P.RW; odd = P(9); b = Q(7); Planet.EARTH.tags.append("home"); table = {Child.X: 1, Odd.ONE: 2, F1.a: 3, F2.x: 4, Verb.GO: 5, P(3): 6, Q.A | Q.B: 7}; z = Child.Z.value; Tool.T0.note = "n"; Tool.helper.append(2); mem = Odd.__members__; Op.ADD.fn2 = Op.ADD; calls0 = Meta.calls
        """,
        """
        Auto.A.value, Auto("b-1") is Auto.B, list(Auto)
        odd, odd.value, odd & P.R, list(P), rw is P.RW, P.R | P.W is rw, ~P.R, P.R in rw, len(rw)
        b, b.value, Q(7) is b, Q.A | 8, type(Q.A | Q.B).__name__
        Planet.EARTH.tags, Planet.MARS.tags, Planet.MARS.mass, Planet.EARTH.value if not isinstance(Planet.EARTH.value, Body) else "body", isinstance(Planet.EARTH, Body)
        [t.name for t in Tool], Tool.helper, Tool.fn.value(), Tool.T1.label, f"{Tool.T0}", Tool.first().note, Tool(2).name
        Base.subs, Child.Y is Child.X, Child.Z.value is z, Child(z) is Child.Z, Child.X.who(), list(Child.__members__)
        class More(Base): Q = 1 ;; Base.subs, More.Q.who()
        Meta.calls == calls0, Odd(1) is Odd.ONE, Meta.calls - calls0, "magic" in Odd, Odd.TWO in Odd, mem["ONE"] is Odd.ONE
        table[Child.Y], table[Odd(1)], table[F1["a"]], table[F2("1")], table["go"], table[P.RW], table[Q(5)], F3.n.value, F3.__qualname__, F2.x == "1"
        Verb.STOP, Verb("halt") is Verb.STOP, f"{Verb.GO}", Verb.GO.upper(), F1([2]).name, Rich(1).text, sorted([Rich.B, Rich.A])[0] is Rich.A, max(Rich).text
        Op.ADD(2, 3), Op.MUL.sign, Op(("+", int.__add__)) is Op.ADD, Op.ADD.fn2 is Op.ADD
        exec("match Odd.TWO:\\n    case Odd.ONE: w = 1\\n    case Odd.TWO: w = 2") ;; w
        """,
    ),
    "namespaces and the notebook itself as an object": session(
        """
        import sys, types, builtins, runpy, zipfile, importlib, pathlib, os, operator, functools, warnings
        me = sys.modules["__main__"]; space = globals(); name_of = lambda v: next(k for k, x in space.items() if x is v); setattr(me, "by_attr", [1]); space["by_item"] = {"x": by_attr}; exec("by_exec = by_item['x']"); builtins.everywhere = by_exec
        for i in range(3): space[f"var_{i}"] = i * 10
        def make(n): globals()[n] = lambda: (n, var_1); return globals()[n]
        fn = make("dynamic"); annotated: "list[int]" = [1]; __all__ = ["fn"]; __version__ = "1.2"; _private = 5; __dunder = 6
        pathlib.Path("script.py").write_text("import sys\\nvalue = [1, 2]\\ndef get(): return value\\nif __name__ == '__main__': ran = sys.argv[0]\\nclass Thing:\\n    def __repr__(self): return 'Thing'\\nthing = Thing()"); ns = runpy.run_path("script.py", run_name="scripted"); got = ns["get"]; thing = ns["thing"]
        with zipfile.ZipFile("lib.zip", "w") as z: z.writestr("zmod.py", "state = []\\ndef add(x): state.append(x); return state\\nclass Z: n = 0"); z.writestr("zpkg/__init__.py", ""); z.writestr("zpkg/deep.py", "k = 1")
        sys.path.insert(0, "lib.zip"); import zmod; from zpkg import deep; zmod.add(1); zmod.Z.n = 5; deep.k = 2; zi = zmod.Z()
        os.makedirs("nspkg/inner", exist_ok=True); pathlib.Path("nspkg/inner/m.py").write_text("data = {}\\nfrom functools import cache\\n@cache\\ndef slow(x): data[x] = data.get(x, 0) + 1; return [x]"); sys.path.insert(1, os.getcwd()); import nspkg.inner.m as nm; s1 = nm.slow(1); nm.extra = zi; nm.slow.note = "n"; nm.alias = nm.slow
        class Attr(types.ModuleType):
            @property
            def answer(self): return 42 + getattr(self, "_private", 0)
        view = types.MappingProxyType(space); getter = operator.attrgetter("by_attr"); snap = dict(space); keys = space.keys(); del i
        """,
        """
        by_exec is by_attr is everywhere, by_item["x"] is me.by_attr, me is sys.modules["__main__"], space is globals(), name_of(by_item)
        by_attr.append(2) ;; by_exec, everywhere, getter(me), view["by_attr"] is by_attr
        space["var_1"] = 99 ;; fn(), dynamic is fn, var_1, me.var_1, snap["var_1"], "var_2" in keys
        me.__annotations__ if hasattr(me, "__annotations__") else __annotations__, __all__, __version__, _private, __dunder
        got() is ns["value"], got.__globals__ is ns or got.__globals__["value"] is ns["value"], thing, ns["__name__"], type(thing) is ns["Thing"]
        zmod.add(2), zmod.Z.n, zi.n, deep.k, type(zi) is zmod.Z, zmod.__file__.endswith("zmod.py"), nm.extra is zi
        nm.data, nm.slow.note, nm.alias is nm.slow, nm.slow(2), sys.modules["nspkg.inner.m"] is nm, sys.modules["nspkg"].__path__ is not None
        me.__class__ = Attr; ans = me.answer; me.__class__ = types.ModuleType ;; ans
        del everywhere, builtins.everywhere ;; 0
        del builtins.everywhere ;; hasattr(builtins, "everywhere"), dynamic()
        """,
    ),
}
