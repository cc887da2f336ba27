"""Raw memory, foreign structures, event loops, entities."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
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
        named="anon br it mm mmv priv rel text view",
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
        type(buf).__module__, type(ws).__module__, type(nums).__module__
        buf.value, len(buf), buf.raw[:7], i.value, d.value, ws.value, po.value, copy.x, Ten is (c_int * 10), isinstance((c_int * 10)(), Ten)
        i.value = 70 ;; ip.contents.value, ip[0]
        head.next.contents.v, head.next[0].v
        cb(byref(c_int(3)), byref(c_int(1))), seen
        qsort(nums, len(nums), ct.sizeof(c_int), cb), list(nums), len(seen) > 1
        CMP(compare)(byref(c_int(8)), byref(c_int(1))), CMP is ct.CFUNCTYPE(c_int, POINTER(c_int), POINTER(c_int)), POINTER(Node) is dict(Node._fields_)["next"]
        cast[1]
        """,
        named="cast cb head ip libc po qsort tail",
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
        named="pool wait worker",
        known="""
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
        named="rows",
    ),
    "arrays with units that say how they are copied, values of one thread, rows of records": session(
        """
        import numpy as np, threading, tenacity
        class Quantity(np.ndarray):
            def __new__(cls, values, unit=None): made = np.asarray(values, float).view(cls); made.unit = unit; made.log = []; return made
            def __array_finalize__(self, other): self.unit = getattr(other, "unit", None); self.log = getattr(other, "log", [])
            def __reduce__(self): how, arguments, state = super().__reduce__(); return how, arguments, (state, self.unit)
            def __setstate__(self, state): super().__setstate__(state[0]); self.unit = state[1]
        class Slotted(np.ndarray):
            __slots__ = ("unit", "seen")
            def __array_finalize__(self, other): self.unit = getattr(other, "unit", None)
        class Held(np.ndarray):
            def __reduce__(self): how, arguments, state = super().__reduce__(); return how, arguments, state
        # %%
        v = Quantity([1.0, 2, 3], "m"); w = v[1:]; v.log.append("made"); table = {"tail": w}; plain = np.arange(4.0); seen = plain.view(Quantity); large = Quantity(np.arange(5_000.0), "s"); part = large[::2]
        waits = np.arange(3.0).view(Held); waits.rows = (n for n in range(2)); rest = waits[1:]
        local = threading.local(); local.rows = [1]; rows = local.rows; empty = threading.local(); spaces = {"a": local, "b": empty}
        tries = tenacity.Retrying(stop=tenacity.stop_after_attempt(3), sleep=lambda s: None); calls = []
        def flaky():
            calls.append(1)
            if len(calls) < 3: raise ValueError
            return "ok"
        first = tries(flaky)
        record = np.zeros(3, [("id", "u4"), ("x", "f4")]); one = record[1]
        slotted = np.arange(3.0).view(Slotted); slotted.unit = "s"; slotted.seen = [1]; behind = slotted[1:]
        """,
        """
        w[0] = 50.0 ;; v.tolist(), w.unit, w.log is v.log, table["tail"] is w, np.shares_memory(v, w)
        plain[0] = 9.0; part[1] = -1.0 ;; seen.tolist(), large[:4].tolist(), part.unit, type(part).__name__
        v *= 2 ;; w.tolist(), v.unit, v.log
        rows.append(2) ;; local.rows, vars(empty), spaces["a"] is local, spaces["b"] is empty
        first, tries.statistics["attempt_number"], len(calls)
        record["x"][1] = 4.0 ;; one["x"], one.base is record
        waits.tolist(), rest.tolist()
        behind[0] = 7.0 ;; slotted.tolist(), slotted.unit, behind.unit, slotted.seen, hasattr(behind, "seen")
        """,
    ),
    "bases of views of arrays of other classes, of records and of objects": session(
        """
        import numpy as np
        class Gauge(np.ndarray):
            def __new__(cls, data, unit): o = np.asarray(data, float).view(cls); o.unit = unit; return o
            def __array_finalize__(self, o): self.unit = getattr(o, "unit", None)
        class Strict(np.ndarray):
            def __array_finalize__(self, o): self.n = o.size
        class Sourced(np.ndarray):
            pass
        # %%
        line = np.arange(5.0); strict = line.view(Strict); strict2 = strict[2:4]
        sourced = line.view(Sourced); sourced.rows = (n for n in range(2)); win = sourced[1:3]; hidden = np.arange(5.0).view(Sourced); hidden.rows = (n for n in range(2)); kept = hidden[1:3]; del hidden
        masked = np.ma.array(np.matrix([[1, 2], [3, 4]])); masked2 = np.ma.array(masked, mask=[[0, 1], [0, 0]]); masked3 = masked.view(); data = masked3.data
        g = Gauge([1, 2, 3, 4.0], "bar"); gs = g[1:3]; back = g[::-1]; two = Gauge(np.arange(6.0).reshape(2, 3).T, "x"); row = two[1]; cell = gs[:1]
        rec = np.zeros(3, [("name", "U5"), ("pop", "i4"), ("day", "M8[D]")]); ra = rec.view(np.recarray); col = ra["pop"]; days = rec["day"].view(Gauge)
        mat = np.matrix([[1, 2], [3, 4]]); mrow = mat[0]; tmat = mat.T; frozen = g[:2]; frozen.flags.writeable = False
        late = np.array(["2020-01-01", "2020-01-02"], "M8[D]").view(Gauge); l1 = late[1:]; plain = np.arange(4.0); seen = plain.view(Gauge)
        obj = np.array([[1], [2, 3], None, "x"], object); al = obj[::2]; table = obj.reshape(2, 2); column = table[::-1, 1:]; turned = table.T
        """,
        """
        gs.base is g, back.base is g, row.base is two, cell.base is g, seen.base is plain
        gs[0] = 50 ;; g, back, cell, frozen, gs.unit, type(g.base).__name__
        ra.base is rec, type(ra).__name__, days.base is rec, l1.base is late, l1[0]
        ra.pop[0] = 7 ;; rec["pop"].tolist(), col.tolist()
        mrow.base is mat, tmat.base is mat
        tmat[0, 1] = 9 ;; mat.tolist(), mrow.tolist()
        frozen.flags.writeable, frozen.base is g, g.flags.writeable
        row[0] = -1 ;; two.tolist(), row.strides, two.flags.f_contiguous
        al.base is obj, table.base is obj, turned.base is obj, al[0] is obj[0]
        table[1, 1] = "y"; al[1] = 5 ;; obj.tolist(), column.tolist(), turned.tolist()
        line[2] = 9 ;; strict.tolist(), strict2.tolist(), strict2.n, win.tolist(), kept.tolist(), type(kept).__name__
        masked[0, 0] = 7 ;; masked2, masked3, data, type(masked2.data).__name__
        """,
        named="sourced",
    ),
    "parts of records that hold objects": session(
        """
        import numpy as np, pandas as pd
        df = pd.DataFrame({"sym": ["a", "b", "c", "d"], "px": [1.0, 2, 3, 4], "n": [1, 2, 3, 4]})
        recs = df.to_records(index=False)
        px, sym, some, first = recs.px, recs["sym"], recs[1:3], recs[0]
        back, two, odd, sealed = recs["px"][::-1], recs[["sym", "n"]], recs["n"][1::2], recs["n"][:]
        sealed.flags.writeable = False
        windows = np.lib.stride_tricks.sliding_window_view(recs["px"], 2)
        inner = [("o", "O"), ("v", "f8", (2,))]
        deep = np.zeros((2, 3), dtype=[("a", inner), ("z", "i2"), ("m", "O", (2, 2))])
        v, o, m, z, a, whole = deep["a"]["v"], deep["a"]["o"], deep["m"], deep["z"].T, deep["a"], deep[1]
        column, corner, one, turned = v[:, 1, 0], m[0, :, 1], deep["z"][1, 1:2], np.asfortranarray(deep)["z"]
        cells = np.zeros(2, dtype=[("k", "O"), ("n", "i4")]); shared = ["s"]; cells["k"][0] = shared; cells[1] = (shared, 5)
        keys, row = cells["k"], cells[1]
        """,
        """
        px[0] = 50 ;; recs[0], first.px, back.tolist(), df["px"].tolist(), type(px).__name__, px.base is recs, windows.tolist()
        some["px"][0] = 60; first["n"] = 70 ;; recs.tolist(), two.tolist(), type(some).__name__, odd.tolist(), sealed.tolist()
        sym[3] = "new"; two["n"][2] = -1; odd[0] = 9 ;; recs.tolist(), odd.flags.writeable, sealed.flags.writeable
        v[0, 1] = [5, 6]; o[1, 2] = [1]; m[0, 2] = "x"; z[2, 1] = 9 ;; deep.tolist(), column.tolist(), corner.tolist()
        column[0] = 33; corner[2, 0] = "y"; one[0] = 4 ;; deep["a"]["v"].tolist(), m.tolist(), deep["z"].tolist(), z.base is deep
        whole["z"] = 8 ;; deep["z"].tolist(), a["v"].tolist(), a.base is deep, whole.base is deep, v.strides, column.strides
        turned[0, 0] = 3 ;; turned.tolist(), turned.base["z"].tolist(), turned.strides
        shared.append(1); keys[1] = "new"; row["n"] = 77 ;; cells.tolist(), cells["k"][0] is shared, keys.base is cells, row.base is cells
        """,
    ),
    "records within their own array, of one, of none, and sealed later": session(
        """
        import numpy as np, pandas as pd
        class Agent: pass
        kinds = [("o", "O"), ("n", "f8")]
        tree = np.zeros(3, kinds); tree["o"][1] = tree[0]
        agents = np.zeros(3, [("agent", "O"), ("pos", "f8", (2,))])
        for i in range(3): a = Agent(); agents["agent"][i] = a; a.row, a.pos = agents[i], agents["pos"][i]
        own = np.zeros(3, kinds); own["o"][0] = own["n"][1:]
        plain = np.empty(3, object); plain[0] = [plain[1:]]; plain[1] = np.array(7); plain[2] = [1, 2]
        cube = np.empty((2, 3, 4), object).transpose(1, 0, 2).copy(order="K"); cube[...] = "c"; face = cube[1:, :, 2]
        # %%
        one = pd.DataFrame({"sym": ["a"], "px": [1.0], "n": [1]}).to_records(index=False); pair, px = one[["sym", "n"]], one["px"]
        many = np.zeros(3, [("o", "O"), ("x", "i2"), ("n", "f8")]); some = many[["o", "n"]][:1]; wide = np.broadcast_to(many[["o", "n"]], (2, 3))
        nothing = np.zeros(3, [("m", "O", (0,))]); empty, row = nothing["m"], nothing[1]
        late = np.zeros(3, kinds); n, last = late["n"], late[2]; late.flags.writeable = False
        marked = late["n"].view(np.dtype("f8", metadata={"u": 1}))
        """,
        """
        tree["o"][1]["n"] = 5; tree[0]["n"], type(tree["o"][1]).__name__
        agents[1]["pos"] = 3 ;; agents["agent"][1].pos.tolist(), agents["agent"][1].row["pos"].tolist(), a.row["agent"] is a
        own["n"][1] = 4 ;; own["o"][0].tolist()
        plain[1] = "x" ;; plain[0][0].tolist(), plain.tolist()
        face[0, 0] = "f" ;; [i for i, one_of in np.ndenumerate(cube) if one_of == "f"], cube.strides, face.strides, type(plain[2])
        pair["n"] = 9; px[0] = 2 ;; one.tolist(), pair.tolist(), np.shares_memory(pair, one)
        some["n"] = 8; many["o"][2] = "z" ;; many.tolist(), wide.tolist(), wide.shape
        empty.shape, row.dtype, nothing.dtype
        n[0] = 1; last["o"] = "x" ;; late.tolist(), late.flags.writeable, n.flags.writeable, marked.dtype.metadata["u"], marked.tolist()
        """,
    ),
}
