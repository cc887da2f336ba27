"""Sessions of data engineers: configuration, registries, retries, batches, queues, threads, loops and processes."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "dataclasses with factories, slots, post-init and inheritance": session(
        """
        import dataclasses, typing, functools, datetime as dt, collections, weakref
        @dataclasses.dataclass(order=True)
        class Job:
            sort: int = dataclasses.field(init=False, repr=False)
            name: str = "x"; tags: list = dataclasses.field(default_factory=list, metadata={"env": "TAGS"}); parent: "Job | None" = dataclasses.field(default=None, compare=False); made: typing.ClassVar[list] = []; seed: dataclasses.InitVar[int] = 1
            def __post_init__(self, seed): self.sort = len(self.name) * seed; Job.made.append(self)
            @functools.cached_property
            def slow(self): Job.computed += 1; return self.name * 2
        Job.computed = 0; root = Job("root"); kid = Job("k", ["t"], root, seed=9); kid.parent.child = kid; kid.slow
        @dataclasses.dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True)
        class Key:
            bucket: str; path: tuple = (); opts: dict = dataclasses.field(default_factory=dict, hash=False, compare=False)
        k = Key(bucket="b", path=("a", 1)); cache = {k: "hit"}; wr = weakref.ref(k); rep = dataclasses.replace(k, bucket="c"); k.opts["lazy"] = True
        Made = dataclasses.make_dataclass("Made", [("a", int), ("b", list, dataclasses.field(default_factory=list))], namespace={"total": lambda self: self.a + len(self.b)}); made = Made(1); fields = dataclasses.fields(Job); tag_field = fields[2]; asd = dataclasses.asdict(Job("solo"))
        class Cfg(typing.NamedTuple):
            host: str = "h"; port: int = 1
            def url(self): return f"{self.host}:{self.port}{suffix}"
        suffix = "/db"; cfg = Cfg(port=5); Old = Job
        """,
        """
        len(Job.made), Job.made[0] is root, root.child is kid, kid.parent is root, kid.sort
        kid.slow, Job.computed, root.slow, Job.computed
        Job("new") ;; len(Job.made), len(Old.made), sorted(Job.made[:2])[0].name
        cache[Key(bucket="b", path=("a", 1))], wr() is k, rep.opts is k.opts, hash(k) == hash(Key(bucket="b", path=("a", 1))), k in cache
        k.bucket = "z" ;; None
        tag_field is dataclasses.fields(Job)[2], tag_field.metadata["env"], tag_field.default is dataclasses.MISSING, dataclasses.fields(Job)[1].default
        made.b.append(1) ;; made.total(), made, Made(2), Made.__module__, type(made) is Made
        suffix = "!" ;; cfg.url(), cfg._replace(host="z"), Cfg._field_defaults, isinstance(cfg, tuple)
        asd["name"], dataclasses.is_dataclass(Key), Key.__slots__, k.__dataclass_params__.frozen
        Job.computed = 10; kid.tags.append("u") ;; Job.made[1].tags, Job().computed, Job.__match_args__
        """,
    ),
    "pydantic models, validators over globals, unions and settings": session(
        """
        import pydantic, typing, os, decimal, enum, datetime as dt
        from pydantic import BaseModel, Field, field_validator, model_validator, TypeAdapter, PrivateAttr, ConfigDict, computed_field
        from pydantic_settings import BaseSettings, SettingsConfigDict
        limits = {"rows": 100}; audit = []
        class Source(BaseModel):
            model_config = ConfigDict(validate_assignment=True, extra="allow"); kind: typing.Literal["csv"] = "csv"; rows: int = 1; _opened: int = PrivateAttr(default=0)
            @field_validator("rows")
            @classmethod
            def check(cls, v):
                audit.append(v)
                if v > limits["rows"]: raise ValueError(f"over {limits['rows']}")
                return v
            def open(self): self._opened += 1; return self
            @computed_field
            @property
            def twice(self) -> int: return self.rows * 2
        class Table(BaseModel): kind: typing.Literal["db"]; dsn: pydantic.SecretStr; parent: "Pipe | None" = None
        class Pipe(BaseModel): name: str; src: typing.Union[Source, Table] = Field(discriminator="kind"); seen: set[int] = set(); price: decimal.Decimal = decimal.Decimal("1.10")
        Table.model_rebuild(); src = Source(rows=5, note="free").open(); pipe = Pipe.model_construct(name="p", src=src); full = Pipe.model_validate({"name": "q", "src": {"kind": "db", "dsn": "pw", "parent": {"name": "in", "src": {"kind": "csv"}}}})
        ta = TypeAdapter(list[Source]); T = typing.TypeVar("T")
        class Page(BaseModel, typing.Generic[T]): items: list[T]; n: int = 0
        IntPage = Page[int]; ip = IntPage(items=[1, "2"]); Dyn = pydantic.create_model("Dyn", a=(int, 3), __base__=Source); dyn = Dyn(rows=2); os.environ["ETL_HOST"] = "db9"
        class Settings(BaseSettings): model_config = SettingsConfigDict(env_prefix="ETL_"); host: str = "none"; port: int = 1
        st = Settings(); src.rows = 6; copied = src.model_copy(); partial = Source.model_fields["rows"]
        @pydantic.validate_call
        def load(n: int, mode: typing.Annotated[str, Field(pattern="^r")] = "r") -> str: return f"{n}{mode}{limits['rows']}"
        """,
        """
        src.rows, src.note, src._opened, src.twice, src.model_fields_set == {"rows", "note"}, audit
        limits["rows"] = 3; src.rows = 50 ;; src.rows
        limits["rows"] = 1000; src.rows = 500 ;; src.rows, audit[-1], copied.rows, copied._opened
        pipe.src is src, full.src.dsn, full.src.dsn.get_secret_value(), type(full.src.parent.src) is Source
        full.model_dump_json(), Pipe.model_validate_json(full.model_dump_json()).name
        [s.rows for s in ta.validate_python([{"rows": "7"}])], ta.json_schema()["type"]
        Page[int] is IntPage, type(ip) is Page[int], ip.items, ip.model_copy(update={"n": 4}).n, isinstance(ip, Page)
        dyn.a, Dyn.__mro__[1] is Source, Dyn(rows=1, a="9").a, partial is Source.model_fields["rows"]
        os.environ["ETL_HOST"] = "db10" ;; st.host, Settings().host, Settings(port="8").port
        load("5"), load(1, "read"), load.__name__
        Source(rows="many")
        src.model_extra, src == copied, src.model_copy(deep=True) == src, Source.model_json_schema()["properties"]["rows"]
        """,
    ),
    "attrs classes with validators, converters, slots and hooks": session(
        """
        import attr, attrs, functools, typing, copy
        changes = []; units = {"kb": 1024}
        def note(inst, a, v): changes.append((a.name, v)); return v
        @attrs.define
        class Size:
            n: int = attrs.field(converter=int, validator=attrs.validators.ge(0), on_setattr=[attrs.setters.convert, note]); unit: str = attrs.field(default="kb", validator=lambda i, a, v: units[v]); owner: typing.Any = attrs.field(default=None, eq=False, repr=False); hist: list = attrs.Factory(lambda self: [self.n], takes_self=True)
            @functools.cached_property
            def bytes(self): return self.n * units[self.unit]
        s = Size("5"); s.owner = s; s.n = "7"; s.bytes
        @attrs.frozen(cache_hash=True)
        class Key: a: int; b: tuple = ()
        k = Key(1, (2,)); d = {k: s}; hash(k); ev = attrs.evolve(k, a=2)
        @attr.s(auto_attribs=True, auto_exc=True)
        class LoadError(Exception): path: str; code: int = 3
        err = LoadError("x.csv"); made = attrs.make_class("Made", {"x": attrs.field(default=1)}, bases=(Size,)); m = made(2); flds = attrs.fields(Size)
        def strip_private(cls, fields): return [f.evolve(metadata={"seen": True}) for f in fields]
        @attrs.define(field_transformer=strip_private)
        class Cfg: path: str = "p"
        old = attrs.validators.get_disabled(); cfgs = [Cfg(), Cfg("z")]; refs = {id_: c for id_, c in enumerate(cfgs)}
        """,
        """
        Size.bytes.__get__(s), hasattr(type(m), "bytes")
        s.n, s.hist, s.owner is s, changes, s.bytes
        s.n = "9" ;; s.n, changes[-1], s.bytes
        units["mb"] = 2 ** 20; s.unit = "mb" ;; s.unit, Size(1, "mb").bytes
        Size(-1)
        Size(1, "zz")
        d[Key(1, (2,))] is s, hash(k) == hash(Key(1, (2,))), ev, k == Key(1, (2,))
        err.path, err.args, str(err), isinstance(err, Exception), type(err) is LoadError
        made.__mro__[1] is Size, m.x, flds.n is attrs.fields(Size).n, attrs.fields(Cfg).path.metadata["seen"], refs[0] is cfgs[0]
        copy.copy(s).hist is s.hist, attrs.asdict(k), attrs.has(Cfg), Size.__slots__[:2]
        """,
    ),
    "registries by subclass hooks, entry points and singledispatch": session(
        """
        import abc, functools, collections, typing, weakref, types, enum
        class Plugin:
            registry = {}; order = []
            def __init_subclass__(cls, /, key=None, **kw):
                super().__init_subclass__(**kw); Plugin.order.append(cls.__name__)
                if key: Plugin.registry[key] = cls
        class Csv(Plugin, key="csv"):
            ext = "csv"
            def read(self): return f"{self.ext}{version}"
        class Tsv(Csv, key="tsv"): ext = "tsv"
        version = 1; dyn = type("Dyn", (Csv,), {"ext": "dyn"}, key="dyn"); inst = {k: c() for k, c in Plugin.registry.items()}
        class Meta(type):
            classes = []
            def __new__(m, n, b, ns, **k): c = super().__new__(m, n, b, ns); m.classes.append(n); return c
            def __call__(cls, *a): cls.made = getattr(cls, "made", 0) + 1; return super().__call__(*a)
            def __contains__(cls, x): return x in cls.allowed
        class Stage(metaclass=Meta): allowed = {"a"}
        class Sub(Stage): allowed = {"b"}
        stages = [Stage(), Sub(), Sub()]
        @functools.singledispatch
        def to_row(x): return ("other", x)
        @to_row.register
        def _(x: list): return ("list", len(x) + version)
        to_row.register(Csv, lambda x: ("csv", x.ext)); before = to_row([1])
        class Reader(abc.ABC):
            @abc.abstractmethod
            def go(self): ...
        Reader.register(Csv)
        class Field:
            names = {}
            def __set_name__(self, owner, name): self.name = name; Field.names.setdefault(owner.__name__, []).append(name)
            def __get__(self, o, t=None): return self if o is None else o.__dict__.get(self.name, f"unset{version}")
            def __set__(self, o, v): Field.count = getattr(Field, "count", 0) + 1; o.__dict__[self.name] = v
        class Row: a = Field(); b = Field()
        row = Row(); row.a = 5; Csv.read_old = Csv.read; Csv.read = lambda self: "patched " + self.read_old(); plug_ns = types.SimpleNamespace(csv=Csv, handlers=collections.ChainMap({"x": 1}, Plugin.registry)); local_cls = (lambda: type("Local", (), {"v": version}))()
        class Mode(enum.Flag): R = 1; W = 2; RW = 3
        """,
        """
        sorted(Plugin.registry), Plugin.order, Plugin.registry["dyn"] is dyn, type(inst["tsv"]) is Tsv
        class Late(Plugin, key="late"): pass ;; Plugin.order, Plugin.registry["late"] is Late
        exec('class More(Csv, key="more"): pass') ;; Plugin.order[-1], Plugin.registry["more"]().read()
        version = 2 ;; inst["csv"].read(), inst["dyn"].read(), to_row([1]), before, row.b
        Meta.classes, Stage.made, Sub.made, "a" in Stage, "b" in Stage, type(stages[1]) is Sub
        Sub() ;; Sub.made, Stage.made, Meta.classes
        to_row(inst["tsv"]), to_row(1.5), to_row.dispatch(dict) is to_row.dispatch(object), Csv in to_row.registry
        isinstance(inst["tsv"], Reader), issubclass(Csv, Reader), Reader()
        row.a = 6 ;; row.__dict__, Field.names, Field.count, Row.a.name, type(Row.a) is Field
        plug_ns.csv is Csv, plug_ns.handlers["csv"] is Csv, plug_ns.handlers.maps[1] is Plugin.registry, local_cls().v, Mode.RW & Mode.W
        """,
    ),
    "retries, decorators with state, caches and partials": session(
        """
        import tenacity, functools, time, collections, inspect, random, contextlib, operator
        attempts = collections.Counter(); log = []
        @tenacity.retry(stop=tenacity.stop_after_attempt(3), wait=tenacity.wait_none(), retry=tenacity.retry_if_exception_type(ValueError), before_sleep=lambda rs: log.append(rs.attempt_number), reraise=True)
        def flaky(n):
            attempts["flaky"] += 1
            if attempts["flaky"] % n: raise ValueError("again")
            return attempts["flaky"]
        got = flaky(2); custom = flaky.retry_with(stop=tenacity.stop_after_attempt(1))
        def retry(times=3, on=(Exception,)):
            def deco(f):
                state = {"calls": 0, "errors": []}
                @functools.wraps(f)
                def wrapper(*a, **k):
                    for i in range(times):
                        state["calls"] += 1
                        try: return f(*a, **k)
                        except on as e: state["errors"].append(str(e)); wrapper.last = e
                    raise wrapper.last
                wrapper.state = state; wrapper.last = None
                return wrapper
            return deco
        @retry(times=2, on=(KeyError,))
        def fetch(k: str, *, table: dict = {"a": 1}) -> int:
            "Fetches."
            return table[k]
        fetch("a")
        with contextlib.suppress(KeyError): fetch("zz")
        @functools.lru_cache(maxsize=2)
        def parse(s): attempts["parse"] += 1; return s.split(",")
        parse("a,b"); parse("c"); parse("a,b"); keep = parse("a,b")
        class Timed:
            def __init__(self, f): functools.update_wrapper(self, f); self.f = f; self.n = 0
            def __call__(self, *a): self.n += 1; return self.f(*a)
            def __get__(self, o, t): return functools.partial(self, o) if o is not None else self
        class Svc:
            base = 10
            @Timed
            def add(self, x): return self.base + x
            @functools.cached_property
            def conn(self): attempts["conn"] += 1; return {"open": True}
            @functools.partialmethod
            def nothing(self): ...
            plus5 = functools.partialmethod(lambda self, n, x: self.base + n + x, 5)
            @functools.lru_cache
            def cached(self, x): attempts["cached"] += 1; return x + self.base
        svc = Svc(); svc.add(1); svc.conn; svc.cached(1); bound = svc.add; part = functools.partial(fetch, table={"b": 2}); comp = functools.reduce(lambda f, g: lambda x: g(f(x)), [str.strip, str.upper, operator.methodcaller("replace", "A", "Z")]); cnt = 0
        def counter():
            n = 0
            def inc():
                nonlocal n; n += 1; return n
            def get(): return n
            return inc, get
        inc, get = counter(); inc()
        """,
        """
        got, attempts["flaky"], log, flaky.statistics["attempt_number"]
        flaky(2), log, attempts["flaky"]
        custom(7)
        fetch.state, type(fetch.last).__name__, fetch.__doc__, str(inspect.signature(fetch)), fetch.__wrapped__.__kwdefaults__
        fetch.__wrapped__.__kwdefaults__["table"]["zz"] = 9 ;; fetch("zz"), fetch.state["calls"]
        parse.cache_info(), parse("a,b") is keep, attempts["parse"]
        parse("x") ;; parse.cache_info().misses, keep.append("q"), parse("a,b")
        svc.add(5), Svc.add.n, bound(7), Svc.add.n, svc.plus5(1), Svc.add.__name__
        svc.conn, attempts["conn"], "conn" in svc.__dict__, svc.cached(1), attempts["cached"], Svc.cached.cache_info().hits
        part("b"), part.func is fetch, comp(" ab "), part.keywords
        inc(), get(), inc.__closure__[0] is get.__closure__[0]
        """,
    ),
    "context managers, stacks and generators that are entered": session(
        """
        import contextlib, contextvars, io, sys, tempfile, os, warnings
        events = []
        @contextlib.contextmanager
        def stage(name):
            events.append(f"+{name}")
            try: yield name.upper()
            except ValueError as e: events.append(f"!{e}");
            finally: events.append(f"-{name}")
        cm = stage("load"); val = cm.__enter__(); stack = contextlib.ExitStack(); a = stack.enter_context(stage("a")); b = stack.enter_context(stage("b")); stack.callback(events.append, "cb"); rest = stack.pop_all(); rest.push(lambda *exc: bool(exc[0]))
        class Tx:
            depth = 0
            def __enter__(self): Tx.depth += 1; return self
            def __exit__(self, t, v, tb): Tx.depth -= 1; self.err = t; return t is KeyError
        tx = Tx(); outer = tx.__enter__(); reent = contextlib.nullcontext(tx); out = io.StringIO(); red = contextlib.redirect_stdout(out); sup = contextlib.suppress(ZeroDivisionError); clos = contextlib.closing(io.StringIO("z")); fh = clos.__enter__()
        var = contextvars.ContextVar("tenant", default="none"); tok = var.set("t1"); ctx = contextvars.copy_context(); var.set("t2"); inner = contextvars.ContextVar("inner"); ctx.run(inner.set, 5)
        @contextlib.contextmanager
        def config(**kw):
            old = dict(settings); settings.update(kw)
            try: yield settings
            finally: settings.clear(); settings.update(old)
        settings = {"lang": "en"}; active = config(lang="de", debug=1); s = active.__enter__(); deco = config(lang="fr")
        @config(lang="it")
        def speak(): return settings["lang"]
        def once():
            with stage("gen") as g:
                while True:
                    got = yield g
                    events.append(got)
        g = once(); g0 = next(g); g.send("hello")
        """,
        """
        events, val, a, b, Tx.depth
        g.send("again"), events[-1], g.gi_frame.f_locals["g"]
        rest.close() ;; events[-4:], stack._exit_callbacks
        cm.__exit__(ValueError, ValueError("boom"), None) ;; events[-2:]
        settings, s is settings, speak(), settings["lang"]
        active.__exit__(None, None, None) ;; settings, s
        var.get(), ctx[var], ctx.run(var.get), inner.get("unset"), ctx[inner], list(ctx) != []
        var.reset(tok) ;; var.get()
        tx.__exit__(KeyError, KeyError(1), None), Tx.depth, tx.err is KeyError, outer is tx, reent.enter_result is tx
        red.__enter__(); print("caught"); red.__exit__(None, None, None) ;; out.getvalue(), clos.thing is fh, fh.read()
        g.close() ;; events[-1], g.gi_frame is None
        """,
        named="active cm g rest tok",
    ),
    "generators of batches, pipelines of iterators and tees": session(
        """
        import itertools, collections, operator, heapq
        read = []
        def source(n):
            for i in range(n): read.append(i); yield {"id": i, "v": i * i}
        def batched(it, n):
            it = iter(it)
            while chunk := list(itertools.islice(it, n)): yield chunk
        def enrich(rows, table):
            try:
                for r in rows: yield {**r, "t": table.get(r["id"], scale)}
            finally: read.append("closed")
        table = {1: "one"}; scale = 7; pipe = batched(enrich(source(20), table), 3); b0 = next(pipe); left, right = itertools.tee(source(5)); l0 = next(left), next(left); cyc = itertools.cycle("abc"); next(cyc); cnt = itertools.count(10, 5); next(cnt); acc = itertools.accumulate([1, 2, 3, 4], operator.mul); next(acc); ch = itertools.chain.from_iterable([[1, 2], [3]]); next(ch); zl = itertools.zip_longest([1, 2, 3], "a", fillvalue=scale); next(zl)
        merged = heapq.merge([1, 4, 7], [2, 5], key=lambda x: x); next(merged); gb = itertools.groupby([1, 1, 2, 2, 3]); k0, g0 = next(gb); win = collections.deque(maxlen=3); win.extend(range(5)); it_list = [1, 2, 3]; li = iter(it_list); next(li); di = {"a": 1, "b": 2, "c": 3}; dit = iter(di.items()); next(dit); rev = reversed(it_list); sl = itertools.islice(li, 0, None, 1); mp = map(lambda x, y: x * y * scale, itertools.count(1), [1, 2, 3]); next(mp); fl = filter(None, [0, 1, 2, 0, 3]); next(fl); en = enumerate("xyz", 5); next(en); comb = itertools.combinations("abcd", 2); next(comb); perm = itertools.permutations([1, 2, 3]); next(perm); prod = itertools.product("ab", [1, 2]); next(prod); pw = itertools.pairwise("abcd"); next(pw); tw = itertools.takewhile(lambda x: x < scale, iter([1, 5, 9])); next(tw); sm = itertools.starmap(pow, [(2, 3), (3, 2)]); next(sm); sentinel = iter(lambda: win.popleft() if win else None, None)
        def averager():
            total = n = 0; avg = None
            while True:
                x = yield avg
                total += x; n += 1; avg = total / n
        av = averager(); next(av); av.send(10)
        def outer():
            r = yield from inner(); yield ("got", r)
        def inner():
            x = yield 1; y = yield x; return y
        dele = outer(); next(dele); dele.send("X"); genexp = (x * scale for x in source(3) if x["id"])
        """,
        """
        table[3] = "three"; scale = 8 ;; [r["t"] for r in next(pipe)], len(b0), read[:6]
        list(left), next(right), l0[0] is not None, l0[1]["id"]
        next(cyc), next(cnt), next(acc), next(ch), next(zl), next(merged)
        list(g0), next(gb)[0], k0
        it_list.append(99) ;; next(li), next(sl), list(rev), next(dit)
        di["d"] = 4 ;; next(dit)
        next(mp), next(fl), next(en), next(comb), next(perm), next(prod), next(pw), next(sm)
        list(tw), next(sentinel), list(win)
        av.send(20), av.gi_frame.f_locals["n"], dele.send("Y"), dele.gi_yieldfrom
        pipe.close() ;; read.count("closed"), list(pipe)
        scale = "z" ;; list(zl), list(map(type, [cyc, cnt]))
        """,
        named="av dele genexp left merged pipe right",
    ),
    "queues, locks, events, pools and futures": session(
        """
        import queue, threading, concurrent.futures as cf, multiprocessing.dummy as mpd, collections, time, heapq
        q = queue.Queue(maxsize=3); q.put("a"); q.put("b"); pq = queue.PriorityQueue(); [pq.put((p, n)) for p, n in ((3, "c"), (1, "a"))]; lq = queue.LifoQueue(); lq.put(1); lq.put(2); sq = queue.SimpleQueue(); sq.put("s")
        lock = threading.Lock(); lock.acquire(); rl = threading.RLock(); rl.acquire(); rl.acquire(); ev = threading.Event(); ev.set(); sem = threading.BoundedSemaphore(3); sem.acquire(); cond = threading.Condition(lock); bar = threading.Barrier(2); loc = threading.local(); loc.conn = "main"; done = []
        class Counter:
            def __init__(self): self.lock = threading.Lock(); self.n = 0
            def add(self, k=1):
                with self.lock: self.n += k; return self.n
        c = Counter(); pool = cf.ThreadPoolExecutor(max_workers=2, thread_name_prefix="etl", initializer=done.append, initargs=("init",)); futs = [pool.submit(c.add, i) for i in (1, 2, 3)]; res = cf.wait(futs); bad = pool.submit(lambda: 1 / 0); cf.wait([bad]); order = {f: i for i, f in enumerate(futs)}; pend = cf.Future(); pend.add_done_callback(lambda f: done.append(("cb", f.result()))); canc = cf.Future(); canc.cancel()
        t = threading.Thread(target=c.add, args=(10,), name="worker"); t.start(); t.join(); t2 = threading.Thread(target=c.add, args=(100,), daemon=True); timer = threading.Timer(60, done.append, ("late",)); shut = cf.ThreadPoolExecutor(1); shut.shutdown(); items = collections.deque([1, 2], maxlen=4); lock2 = c.lock
        """,
        """
        q.qsize(), q.maxsize, q.unfinished_tasks, q.get_nowait(), q.task_done()
        q.put_nowait(1); q.put_nowait(2) ;; q.qsize(), q.put_nowait(3)
        pq.get()[1], lq.get(), sq.get_nowait(), sq.empty()
        lock.locked(), lock.acquire(blocking=False), cond._lock is lock, rl._is_owned(), ev.is_set()
        rl.release(); rl.release() ;; rl._is_owned(), sem._value, sem.release(), sem._value
        c.add() , c.lock is lock2, lock2.locked()
        [f.result() for f in futs] != [], futs[0] in res.done, order[futs[1]], type(bad.exception()).__name__, canc.cancelled()
        pend.set_result(5) ;; done[-1], pend.done(), pend.result()
        pool.submit(c.add, 1).result(timeout=10) == c.n, pool._max_workers, pool._thread_name_prefix, list(pool.map(str, [1, 2]))
        t.is_alive(), t.name, t.daemon, t2.is_alive(), t2.daemon, timer.interval, timer.is_alive()
        t2.start(); t2.join(timeout=10) ;; c.n > 100, t2.is_alive()
        loc.conn, vars(loc), bar.parties, bar.broken, threading.main_thread() is threading.current_thread()
        lock.release() ;; cond.acquire(blocking=False), lock.locked(), shut.submit(len, "a")
        """,
        named="bad canc cond futs loc lock order pend pool res rl shut sq t t2 timer",
    ),
    "asyncio objects between runs": session(
        """
        import asyncio, contextlib, collections
        loop = asyncio.new_event_loop(); seen = []
        async def fetch(n): await asyncio.sleep(0); seen.append(n); return n * factor
        factor = 2; q = asyncio.Queue(maxsize=5); lock = asyncio.Lock(); sem = asyncio.Semaphore(2); ev = asyncio.Event(); runner = asyncio.Runner()
        async def fill():
            for i in range(3): await q.put(i)
            await lock.acquire(); await sem.acquire(); ev.set(); return await fetch(9)
        first = loop.run_until_complete(fill()); task = loop.create_task(fetch(5)); fut = loop.create_future(); fut.add_done_callback(lambda f: seen.append(("done", f.result()))); coro = fetch(7); results = runner.run(fetch(1))
        async def stream(n):
            try:
                for i in range(n): yield i * factor
            finally: seen.append("closed")
        ag = stream(5); a0 = loop.run_until_complete(ag.__anext__()); handle = loop.call_later(1000, seen.append, "later")
        @contextlib.asynccontextmanager
        async def session(name):
            seen.append("open " + name)
            try: yield name
            finally: seen.append("close " + name)
        cm = session("s"); ent = loop.run_until_complete(cm.__aenter__()); fin = loop.create_task(fetch(8)); loop.run_until_complete(fin); pq = asyncio.PriorityQueue(); pq.put_nowait((2, "b")); pq.put_nowait((1, "a"))
        class Client:
            def __init__(self): self.lock = asyncio.Lock(); self.calls = 0
            async def get(self, x):
                async with self.lock: self.calls += 1; return await fetch(x)
        cl = Client(); r = asyncio.run(cl.get(3))
        """,
        """
        first, results, r, seen
        factor = 3 ;; loop.run_until_complete(task), loop.run_until_complete(coro)
        loop.run_until_complete(ag.__anext__()), a0
        q.qsize(), q.get_nowait(), q.maxsize, lock.locked(), sem._value, ev.is_set()
        fut.set_result(4) ;; loop.run_until_complete(fut), loop.run_until_complete(asyncio.sleep(0)), seen[-1]
        fin.done(), fin.result(), loop.is_closed(), loop.is_running(), handle.cancelled()
        loop.run_until_complete(cm.__aexit__(None, None, None)) ;; seen[-1], ent
        pq.get_nowait(), runner.run(fetch(6)), asyncio.run(cl.get(4)), cl.calls
        lock.release() ;; lock.locked(), task.get_coro().__name__
        loop.run_until_complete(ag.aclose()) ;; seen[-1]
        loop.close() ;; loop.is_closed(), loop.run_until_complete(asyncio.sleep(0))
        """,
        named="ag cm coro fin fut handle loop runner task",
    ),
    "subprocesses, pipes, results and signals": session(
        """
        import subprocess, shlex, os, sys, signal, tempfile
        done = subprocess.run(["sh", "-c", "echo out; echo err >&2; exit 3"], capture_output=True, text=True); p = subprocess.Popen(["sh", "-c", "echo one; echo two"], stdout=subprocess.PIPE, text=True); line = p.stdout.readline(); p.wait()
        try: subprocess.run(["false"], check=True)
        except subprocess.CalledProcessError as e: failed = e
        try: subprocess.run(["sleep", "5"], timeout=0.05)
        except subprocess.TimeoutExpired as e: late = e
        cmd = shlex.split("python -c 'print(1)' --flag"); lex = shlex.shlex("a 'b c' d", posix=True); lex.whitespace_split = True; t0 = next(lex); r, w = os.pipe(); os.write(w, b"buffered"); env = {**os.environ, "MODE": "x"}; finished = subprocess.Popen(["true"]); finished.communicate(); fin_rc = finished.returncode; out = open("log.txt", "w+"); subprocess.run(["echo", "to file"], stdout=out); results = {"a": done}; alive = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        """,
        """
        done.returncode, done.stdout, done.stderr, done.args[0], results["a"] is done
        done.check_returncode()
        failed.returncode, failed.cmd, str(failed), isinstance(failed, subprocess.CalledProcessError), late.cmd, type(late).__name__
        line, p.returncode, p.poll(), p.stdout.readline()
        finished.returncode, finished.poll(), finished.args, fin_rc
        list(lex), t0, cmd
        out.seek(0) ;; out.read(), out.name
        os.read(r, 4), os.write(w, b"!"), os.read(r, 5)
        alive.communicate(b"ping", timeout=5)[0], alive.returncode
        subprocess.run(["sh", "-c", "echo $MODE"], env=env, capture_output=True).stdout
        """,
        named="alive finished p r w",
    ),
}
