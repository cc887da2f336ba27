"""More programs: records with slots, models, own iterators, patches of what everybody uses, frames, documents, tests."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "records of many makes, with slots, weak slots and classes made twice": session(
        """
        import dataclasses as dc, collections, typing, sys, weakref, functools, enum, types
        P = collections.namedtuple("P", "x y", defaults=[0]); P.__doc__ = "a point"; P.x.__doc__ = "the x"
        class P3(P):
            __slots__ = ()
            def __new__(cls, x, y=0, z=0): o = super().__new__(cls, x, y); return o
            @property
            def norm(self): return (self.x ** 2 + self.y ** 2) ** 0.5
        class Open(P): pass
        @dc.dataclass(slots=True, weakref_slot=True)
        class A:
            x: int
            tags: list = dc.field(default_factory=list)
            def who(self): return __class__.__name__
            def base(self): return super().__repr__()[:3]
        @dc.dataclass(slots=True)
        class B(A):
            y: int = 2
            total: int = dc.field(init=False, repr=False, default=0)
            def __post_init__(self): self.total = self.x + self.y
        @functools.total_ordering
        @dc.dataclass(eq=False)
        class Ver:
            parts: tuple
            @classmethod
            def of(cls, s): return cls(tuple(map(int, s.split("."))))
            def __eq__(self, o): return self.parts == o.parts
            def __lt__(self, o): return self.parts < o.parts
        class T(typing.NamedTuple):
            a: int
            b: list = []
            def both(self): return self.a, self.b
        class G(typing.NamedTuple, typing.Generic[(X := typing.TypeVar("X"))]):
            item: X
        class S:
            __slots__ = ("a", "__b", "__dict__")
            def __init__(self): self.a, self.__b, self.c = 1, 2, 3
            def b(self): return self.__b
        class S2(S): __slots__ = ["d"]
        class Str(str): __slots__ = ()
        class Err(Exception):
            __slots__ = ("code",)
            def __init__(self, code): super().__init__(code); self.code = code
        # %%
        p, p3, op = P(1), P3(3, 4), Open(1, 2); op.extra = "e"; a, b = A(1), B(1); ref = weakref.ref(a); v = Ver.of("1.10"); t, g = T(1), G([1]); s, s2 = S(), S2(); s2.d = [1]; st = Str("s"); err = Err(7); fx = P.x; sizes = [sys.getsizeof(o) for o in (p, p3, st)]; vers = sorted([v, Ver.of("1.9")])
        """,
        """
        sizes == [sys.getsizeof(o) for o in (p, p3, st)], hasattr(p, "__dict__"), hasattr(p3, "__dict__"), op.__dict__, hasattr(st, "__dict__")
        p.z = 1 ;; 0
        P.__doc__, P.x.__doc__, fx is P.x, P._field_defaults, p._replace(y=5), P._make([1, 2]), p3.norm, P3(1), P3._fields
        a.q = 1 ;; 0
        ref() is a, a.who(), b.who(), a.base(), b.total, B.__slots__, A.__slots__, dc.replace(b, x=5).total, b
        b.tags.append(1) ;; b, A(3).tags, dc.asdict(b), [f.name for f in dc.fields(B)]
        v > Ver.of("1.9"), vers[0] <= v, v >= v, Ver.__ge__.__name__, v == Ver.of("1.10")
        t.both()[1].append(1) ;; T(2).b, t._asdict(), T.__annotations__, g.item, G[int](3), G.__orig_bases__[0] is typing.NamedTuple
        s.b(), s.c, s.__dict__, s2.b(), s2.d, S._S__b.__get__(s), S.a.__get__(s2), S2.__slots__
        err.code, err.args, str(err), hasattr(err, "__dict__"), type(err).code.__get__(err)
        P3.__match_args__
        exec("match p3:\\n    case P3(x=3, y=yy): got = yy\\nmatch b:\\n    case B(1, y=q): got2 = q") ;; got, got2
        """,
    ),
    "models of pydantic and attrs with validators, private attributes and generics": session(
        """
        from pydantic import BaseModel, Field, field_validator, model_validator, PrivateAttr, computed_field, ConfigDict, RootModel, TypeAdapter, create_model, ValidationError
        from typing import Annotated, Generic, TypeVar, Literal, Union, ClassVar
        import attrs, datetime
        T = TypeVar("T"); seen = []
        class Item(BaseModel):
            model_config = ConfigDict(validate_assignment=True, extra="allow")
            name: str = Field(min_length=2, alias="n", description="the name")
            price: float = 1.0
            tags: list[str] = Field(default_factory=list)
            count: ClassVar[int] = 0
            _cache: dict = PrivateAttr(default_factory=dict)
            @field_validator("price")
            @classmethod
            def positive(cls, v): seen.append(v); assert v >= 0, "neg"; return v
            @computed_field
            @property
            def upper(self) -> str: return self.name.upper()
            def model_post_init(self, ctx): Item.count += 1; self._cache["post"] = True
        class Cat(BaseModel): kind: Literal["cat"] = "cat"; lives: int = 9
        class Dog(BaseModel): kind: Literal["dog"] = "dog"; owner: "Person | None" = None
        class Person(BaseModel): name: str; pets: list[Annotated[Union[Cat, Dog], Field(discriminator="kind")]] = []
        Dog.model_rebuild()
        class Page(BaseModel, Generic[T]): items: list[T]; nxt: "Page[T] | None" = None
        class Tags(RootModel[list[str]]):
            def __iter__(self): return iter(self.root)
        Dyn = create_model("Dyn", a=(int, 3), __base__=Item); ta = TypeAdapter(dict[str, list[int]]); IntPage = Page[int]
        @attrs.define
        class Node:
            val: int = attrs.field(converter=int, on_setattr=[attrs.setters.convert, lambda i, a, v: seen.append(("set", v)) or v])
            kids: list["Node"] = attrs.field(factory=list, repr=False)
            size = attrs.field(init=False)
            @size.default
            def _size(self): return len(self.kids)
            @val.validator
            def _check(self, attribute, value):
                if value < 0: raise ValueError(attribute.name)
        # %%
        it = Item(n="pen", price=2, color="red"); it._cache["k"] = [1]; pe = Person(name="Al", pets=[{"kind": "cat"}, Dog()]); pe.pets[1].owner = pe; pg = IntPage(items=[1], nxt=IntPage(items=[2])); tg = Tags(["a"]); dy = Dyn(n="dy"); nd = Node("3"); nd.kids.append(Node(1)); cp = it.model_copy()
        try: Item(n="x", price=-1)
        except ValidationError as e: err = e
        n0, s0 = Item.count, len(seen)
        """,
        """
        it, it._cache, it.upper, it.model_extra, it.model_fields_set == {"name", "price", "color"}, Item.count == n0, len(seen) == s0
        it.price = -3 ;; 0
        it.price = 5 ;; it.price, seen[-1], cp.price, cp.tags is it.tags, it.model_dump(by_alias=True)
        pe.pets[1].owner is pe, type(pe.pets[0]) is Cat, pe.pets[0].lives, Person.model_validate({"name": "B", "pets": [{"kind": "dog"}]}).pets[0].kind
        Person(name="q", pets=[{"kind": "cow"}])
        IntPage is Page[int], type(pg) is IntPage, pg.nxt.items, pg.model_dump_json(), Page[str](items=["a"]).items, type(pg.nxt) is IntPage
        list(tg), tg.model_dump(), ta.validate_python({"a": ["1"]}), ta.json_schema()["type"], dy.a, dy.positive(4), isinstance(dy, Item)
        err.error_count(), err.errors()[0]["type"], err.title, [e["loc"] for e in err.errors()]
        Item(n="new").name, Item.count - n0, Item.model_fields["name"].description, Item.model_json_schema()["properties"]["n"]["minLength"]
        nd.val = "7" ;; nd, seen[-1], nd.size, nd.kids[0].val, attrs.evolve(nd, val=1).kids is nd.kids
        nd.val = -1; nd.val ;; nd.val
        nd.zz = 1 ;; 0
        """,
    ),
    "iterators of one's own, chained, and code that goes on through them": session(
        """
        import itertools as it, operator, collections
        class Count:
            def __init__(self, n): self.n, self.i = n, 0
            def __iter__(self): return self
            def __next__(self):
                if self.i >= self.n: raise StopIteration
                self.i += 1; return self.i
            def __length_hint__(self): return self.n - self.i
        class Peek:
            def __init__(self, src): self.src = iter(src); self.buf = collections.deque()
            def __iter__(self): return self
            def __next__(self): return self.buf.popleft() if self.buf else next(self.src)
            def peek(self):
                if not self.buf: self.buf.append(next(self.src))
                return self.buf[0]
        class Seq:
            def __getitem__(self, i):
                if i > 4: raise IndexError
                return i * i
            def __len__(self): return 5
        class Lazy:
            def __init__(self, src, *ops): self.src, self.ops = src, ops
            def map(self, f): return Lazy(self.src, *self.ops, (map, f))
            def filter(self, f): return Lazy(self.src, *self.ops, (filter, f))
            def __iter__(self):
                cur = iter(self.src)
                for kind, f in self.ops: cur = kind(f, cur)
                return cur
        calls = []
        def noisy(x): calls.append(x); return x * 10
        # %%
        c = Count(10); z = zip(c, c); next(z); en = enumerate(c, 100); next(en); mp = map(noisy, c); next(mp); ch = it.chain(c, [99]); pk = Peek(c); pk.peek(); sq = iter(Seq()); next(sq); rs = reversed(Seq()); next(rs); lz = Lazy(c).filter(lambda x: x % 2).map(noisy); li = iter(lz)
        t1, t2 = it.tee(Count(5)); next(t1); t3 = it.tee(t1)[0]; win = collections.deque(it.islice(t2, 2), maxlen=2); gb = it.groupby(Count(6), key=lambda x: x // 3); k0, grp = next(gb); acc = it.accumulate(Count(4), operator.mul); next(acc); zs = zip([1, 2], Count(2), strict=True); next(zs); fl = filter(lambda x: calls.append(("f", x)) or x > 2, Count(5)); sent = iter(c.__next__, 9); cyc = it.cycle(Count(2)); next(cyc); st = it.starmap(lambda a, b: a * b, zip(Count(3), Count(3))); next(st); sl = slice(1, None, 2); br = it.zip_longest(Count(1), Count(3)); next(br); rp = it.repeat(c); pairs = it.pairwise(Count(4)); next(pairs); d = {i: i for i in range(5)}; dk = iter(d); next(dk); rev = reversed(d); next(rev); live = [1, 2, 3]; lv = reversed(live); next(lv)
        """,
        """
        next(z), c.i, next(en), next(mp), calls
        pk.peek(), next(pk), next(pk), pk.src is c, c.i
        next(li), c.i, operator.length_hint(c), lz.src is c
        list(ch), c.i, list(sent) if c.i < 9 else "done"
        list(sq), list(rs), [1, 2, 3, 4][sl]
        next(t1), next(t3), next(t2), list(win), list(t1)
        next(grp), k0, [(k, list(g)) for k, g in gb]
        list(acc), next(fl), calls[-3:], list(fl)
        next(zs), list(zs)
        next(cyc), next(cyc), next(cyc), list(st), list(br), next(rp) is c, list(pairs)
        d.pop(4) ;; list(dk)
        live.insert(0, 0) ;; list(lv), len(live)
        """,
    ),
    "what everybody uses, replaced: print, open, import, time, input, display, requests to the network": session(
        """
        import builtins, sys, time, io, os, random, warnings, json, collections, functools, threading, datetime, subprocess, socket, pprint, textwrap, copy, tempfile, pathlib, re, logging, math, string, calendar
        printed, opened, imported, moments = [], [], [], iter(range(1000, 2000))
        _print, _open, _import = builtins.print, builtins.open, builtins.__import__
        def print(*a, **k): printed.append(a); return _print(*a, **k)
        builtins.open = lambda f, *a, **k: (opened.append(str(f)), _open(f, *a, **k))[1]
        def hook(name, *a, **k): imported.append(name) if name.startswith("colors") else None; return _import(name, *a, **k)
        builtins.__import__ = hook
        time.time = lambda: next(moments); time.sleep = lambda s: printed.append(("slept", s)); builtins.input = lambda p="": "typed"
        class Tee(io.TextIOBase):
            def __init__(self, *outs): self.outs = outs; self.n = 0
            def write(self, s): self.n += len(s); [o.write(s) for o in self.outs]; return len(s)
            def flush(self): pass
        side = io.StringIO(); tee = Tee(side)
        subprocess.run = lambda *a, **k: subprocess.CompletedProcess(a, 0, "fake", ""); socket.create_connection = lambda *a, **k: (_ for _ in ()).throw(OSError("no network"))
        real_dumps = json.dumps; json.dumps = functools.partial(real_dumps, sort_keys=True, default=str); copy.deepcopy = lambda x, memo=None: ("shallow", x); pathlib.Path.lines = lambda self: self.read_text().splitlines(); pathlib.Path.__truediv__ = (lambda old: lambda self, o: old(self, str(o)))(pathlib.Path.__truediv__)
        class DT(datetime.datetime):
            @classmethod
            def now(cls, tz=None): return cls(2000, 1, 1)
        datetime.datetime = DT; threading.Thread.run_count = 0; old_start = threading.Thread.start
        def start(self): threading.Thread.run_count += 1; return old_start(self)
        threading.Thread.start = start; warnings.warn = lambda m, *a, **k: printed.append(("warn", str(m))); logging.Logger.trace = lambda self, m: printed.append(("trace", m)); pprint.pformat = lambda o, **k: "PP"; math.tau2 = math.tau * 2; string.vowels = "aeiou"; re.Ünicode = 1; collections.Counter.__repr__ = lambda self: f"C{sum(self.values())}"; calendar.day_name2 = ["x"]; os.getlogin = lambda: "me"; os.path.exists = (lambda real: lambda p: True if p == "/magic" else real(p))(os.path.exists); random.choice = lambda s: s[0]
        list = [3, 1]; id = 5; type_ = builtins.type; sum = lambda x: "shadow"; max = 3
        # %%
        pathlib.Path("t.txt").write_text("a\\nb"); import colorsys; cnt = collections.Counter("aab"); now = datetime.datetime.now(); lg = logging.getLogger("x")
        """,
        """
        print("hello"), printed[-1], printed[0] if printed else None
        open("t.txt").read(), opened[-1], open is builtins.open, io.open is _open
        __import__("colorsys").__name__, imported, builtins.__import__ is hook
        time.time() in (1000, 1001, 1002), time.sleep(5), printed[-1], input("?"), next(moments) < 1010
        tee.write("abc"), side.getvalue(), tee.n, tee.outs[0] is side
        subprocess.run(["x"]).stdout, os.getlogin(), os.path.exists("/magic"), os.path.exists("/nope"), random.choice("abc")
        socket.create_connection(("x", 1))
        json.dumps({"b": 1, "a": {1}}), copy.deepcopy([1]), pathlib.Path("t.txt").lines(), str(pathlib.Path("a") / 5), pprint.pformat(1)
        datetime.datetime.now(), now, isinstance(now, DT), datetime.datetime is DT, repr(cnt), calendar.day_name2, string.vowels, math.tau2 > 12, re.Ünicode
        t = threading.Thread(target=lambda: printed.append("ran")); t.start(); t.join() ;; threading.Thread.run_count, printed[-1]
        warnings.warn("careful"); lg.trace("m") ;; printed[-2:]
        list, id, sum([1]), max, type_(1) is int, builtins.sum([1, 2])
        del list, sum ;; list("ab"), sum([1, 2])
        builtins.open = _open; builtins.__import__ = _import ;; open("t.txt").read(), opened.count("t.txt")
        """,
    ),
    "unit tests, doctests, mocks and a command interpreter run in cells": session(
        """
        import unittest, doctest, cmd, io, code, codeop, contextlib, unittest.mock as um, sys, traceback, pdb, bdb, inspect, types, warnings, trace
        class Stack:
            '''A stack.

            >>> s = Stack(); s.push(1); s.pop()
            1
            '''
            def __init__(self): self.items = []
            def push(self, x): self.items.append(x)
            def pop(self): return self.items.pop()
        class TestStack(unittest.TestCase):
            made = []; fixtures = {"n": 0}
            @classmethod
            def setUpClass(cls): cls.fixtures["n"] += 1
            def setUp(self): self.s = Stack(); TestStack.made.append(self)
            def test_push(self): self.s.push(1); self.assertEqual(self.s.pop(), 1)
            def test_fail(self): self.assertEqual(1, 2, "never")
            @unittest.skip("later")
            def test_skip(self): pass
            @unittest.expectedFailure
            def test_xfail(self): self.fail()
            @um.patch.object(Stack, "pop", return_value="mocked")
            def test_mock(self, pop): self.assertEqual(self.s.pop(), "mocked"); TestStack.last = pop
        suite = unittest.defaultTestLoader.loadTestsFromTestCase(TestStack); res = unittest.TestResult(); suite.run(res)
        tests = [doctest.DocTestParser().get_doctest(Stack.__doc__, {"Stack": Stack}, "Stack", None, 0)]; runner = doctest.DocTestRunner(verbose=False); dr = runner.run(tests[0], out=lambda s: None) if tests else None
        class Shell(cmd.Cmd):
            prompt = "$ "
            def __init__(self): super().__init__(stdout=io.StringIO()); self.vars = {}
            def do_set(self, line): k, v = line.split("="); self.vars[k] = v
            def do_get(self, line): self.stdout.write(self.vars.get(line, "?") + "\\n")
            def default(self, line): self.vars["last"] = line
            def precmd(self, line): return line.strip()
        sh = Shell(); sh.onecmd("set a=1"); sh.onecmd("get a"); sh.cmdqueue.append("set b=2"); con = code.InteractiveInterpreter({"x": [1]}); con.runsource("x.append(2)"); comp = codeop.CommandCompiler(); half = comp("for i in [1]:")
        spec = um.create_autospec(Stack, instance=True); spec.push("a"); api = um.Mock(spec_set=["go"]); api.go.side_effect = iter([1, 2, ValueError("end")]); api.go(); tree = um.MagicMock(); tree.__getitem__.return_value = 5; tree["k"]; tree.a.b().c(x=1); sentinel = um.sentinel.token; seal = um.Mock(); seal.x = 1; um.seal(seal); order = um.Mock(); order.attach_mock(api.go, "first"); mo = um.mock_open(read_data="data")
        """,
        """
        res.testsRun, len(res.failures), len(res.skipped), len(res.expectedFailures), res.failures[0][0] is TestStack.made[0], res.wasSuccessful(), res.skipped[0][1]
        TestStack.fixtures, len(TestStack.made), suite.run(res).testsRun, TestStack.fixtures, len(TestStack.made)
        TestStack.last.call_count, type(TestStack.last).__name__, Stack.pop.__name__
        res.failures[0][1].splitlines()[-1], unittest.defaultTestLoader.getTestCaseNames(TestStack)
        unittest.TextTestRunner(stream=io.StringIO()).run(TestStack("test_push")).wasSuccessful()
        dr.failed, runner.tries, tests[0].examples[0].want, tests[0].globs == {}
        sh.onecmd("get b"); sh.onecmd("zzz") ;; sh.stdout.getvalue(), sh.vars, sh.cmdqueue, sh.prompt
        con.runsource("x.append(3)") ;; con.locals["x"], half, comp("1") is not None
        spec.push.call_args, spec.push("b") is spec.push.return_value, spec.push.call_count
        spec.nope
        api.go(), order.mock_calls, api.go.call_count
        api.go()
        tree["z"], tree.mock_calls[0], tree.a.b.return_value.c.call_args, um.sentinel.token is sentinel, mo().read(), seal.x
        seal.y
        """,
        named="mo",
    ),
    "frames, code that looks at itself, and documents of functions": session(
        """
        import sys, inspect, types, functools, dis, opcode, typing, traceback, weakref, textwrap, ast
        def outer(n):
            '''Doc of outer.'''
            secret = [n]
            def inner(a: int = 1, *, b: "str" = "x") -> list:
                "Doc of inner"
                return secret + [a, b, inspect.currentframe().f_code.co_name]
            return inner
        class Base:
            "Base doc"
            def meth(self): "meth doc"
            def other(self): return __class__
            async def co(self): pass
            def gen(self): yield 1
            prop = property(lambda self: 1, doc="prop doc")
        class Derived(Base):
            def meth(self): return super().meth
            def other(self): return super(Derived, self).other(), __class__
            other.__doc__ = "set later"
        def deco(f):
            @functools.wraps(f)
            def wrapper(*a, **k): wrapper.log.append(a); return f(*a, **k)
            wrapper.log = []; wrapper.__signature__ = inspect.signature(f).replace(return_annotation=int)
            return wrapper
        @deco
        @deco
        def api(x, /, y, *rest, z=3, **kw): "api doc"; return x + y
        def caller(): return sys._getframe(1).f_globals["__name__"], inspect.stack()[0].function
        lam = lambda a, b=(1, 2): a
        # %%
        f = outer(1); sig = inspect.signature(f); full = inspect.getfullargspec(api); src = inspect.getsource(outer); d = Derived(); api(1, 2); params = sig.parameters; members = [n for n, _ in inspect.getmembers(Derived, inspect.isfunction)]; consts = outer.__code__.co_consts; code_inner = next(c for c in consts if isinstance(c, types.CodeType)); remade = types.FunctionType(code_inner, globals(), "remade", (5,), f.__closure__); gl = f.__globals__; empty = inspect.Parameter.empty; bound = d.meth; hints = typing.get_type_hints(f); f.__annotations__["extra"] = f; cvars = inspect.getclosurevars(f); line = outer.__code__.co_firstlineno; co = outer.__code__; methods = {Base.meth: "b", Derived.meth: "d"}
        """,
        """
        f(2), remade(), remade.__closure__[0] is f.__closure__[0], code_inner is f.__code__, outer(3).__code__ is f.__code__
        f.__closure__[0].cell_contents.append(9) ;; f(), remade(), cvars.nonlocals["secret"]
        str(inspect.signature(f)), sig == inspect.signature(f), params["a"].annotation, params["b"].default, inspect.signature(api).return_annotation, str(inspect.signature(api))
        inspect.getsource(outer) == src, src.count("inner"), outer.__code__.co_firstlineno == line, co is outer.__code__, co.co_name
        inspect.getdoc(Derived.meth), inspect.getdoc(Derived), Derived.other.__doc__, Base.prop.__doc__, inspect.getdoc(f), api.__doc__
        [n for n, _ in inspect.getmembers(Derived, inspect.isfunction)] == members, inspect.iscoroutinefunction(d.co), inspect.isgeneratorfunction(d.gen), inspect.getmro(Derived)[1] is Base
        api(1, 2), len(api.log), len(api.__wrapped__.log), inspect.unwrap(api).__name__, api.__wrapped__.__wrapped__(3, 4), full.kwonlyargs
        d.other()[1] is Derived, d.other()[0] is Base, bound() == super(Derived, d).meth, bound.__func__ is Derived.meth, methods[Derived.meth], methods[d.meth.__func__]
        caller(), gl is globals(), empty is inspect._empty, hints["b"], f.__annotations__["extra"] is f
        lam.__defaults__, lam.__code__.co_varnames, dis.code_info(lam).splitlines()[0].split()[-1], lam.__qualname__, inspect.getsource(lam).strip()[:5]
        """,
    ),
    "files of programs: a journal, a config that follows its file, an index, a store of objects": session(
        """
        import os, json, pathlib, shelve, pickle, dbm.dumb, sqlite3, csv, configparser, tomllib, zipfile, gzip, fileinput, linecache, glob, shutil, stat, hashlib, tempfile, logging, logging.handlers, contextlib, io, struct, mmap, weakref, filecmp, time
        class Journal:
            opened = weakref.WeakSet()
            def __init__(self, path): self.path = pathlib.Path(path); self.f = open(path, "a+"); self.n = 0; Journal.opened.add(self)
            def log(self, **kw): self.n += 1; self.f.write(json.dumps(kw) + "\\n"); self.f.flush(); return self
            def __iter__(self): self.f.seek(0); return (json.loads(l) for l in self.f)
            def __len__(self): return self.n
        class Config(dict):
            def __init__(self, path): super().__init__(); self.path = path; self.mtime = None; self.refresh()
            def refresh(self):
                m = os.stat(self.path).st_mtime_ns
                if m != self.mtime: self.clear(); self.update(json.load(open(self.path))); self.mtime = m; self.loads = getattr(self, "loads", 0) + 1
                return self
        class Rec:
            fmt = struct.Struct("<I8s")
            def __init__(self, path): self.f = open(path, "w+b"); self.index = {}
            def put(self, k, v): self.f.seek(0, 2); self.index[k] = self.f.tell(); self.f.write(self.fmt.pack(len(v), v.encode()))
            def get(self, k): self.f.seek(self.index[k]); n, b = self.fmt.unpack(self.f.read(self.fmt.size)); return b[:n].decode()
        class Obj:
            def __init__(self, v): self.v = v
            def __eq__(self, o): return self.v == o.v
        j = Journal("j.log"); j.log(a=1).log(b=[2]); pathlib.Path("c.json").write_text('{"x": 1}'); cfg = Config("c.json"); rec = Rec("r.bin"); rec.put("a", "alpha"); rec.put("b", "beta"); store = shelve.open("shelf", writeback=True); store["o"] = Obj([1]); store["o"].v.append(2); store.sync(); live = store["o"]
        os.makedirs("deep/er"); os.symlink("../c.json", "deep/link"); os.chmod("r.bin", 0o640); pathlib.Path("deep/x.py").write_text("VALUE = 3\\ndef get(): return VALUE"); os.utime("c.json", (1000, 2000)); cfg.refresh(); walker = os.walk("."); top = next(walker); sc = os.scandir("."); names = sorted(e.name for e in sc); gl = glob.iglob("*.json"); p = pathlib.Path("deep"); children = p.iterdir(); st = os.stat("c.json"); cmpd = filecmp.cmp("c.json", "deep/link", shallow=False)
        rot = logging.handlers.RotatingFileHandler("app.log", maxBytes=60, backupCount=2); lg = logging.getLogger("files"); lg.addHandler(rot); lg.propagate = False; [lg.error("line %d of the log" % i) for i in range(6)]; mem = logging.handlers.MemoryHandler(10, target=rot); lg.addHandler(mem); lg.error("buffered"); gz = gzip.open("z.gz", "wt"); gz.write("part one "); gz.close(); os.chdir("deep"); here = pathlib.Path.cwd().name; rel = open("x.py"); first = rel.readline(); fd = rel.fileno() > 2
        """,
        """
        j.log(c=3).n, list(j), len(Journal.opened), j in Journal.opened, j.f.name
        cfg.loads, cfg["x"], os.chdir(".."), cfg.refresh().loads, os.stat("c.json").st_mtime
        pathlib.Path("c.json").write_text('{"x": 2}') ;; cfg.refresh()["x"], cfg.loads
        rec.get("a"), rec.put("c", "gamma"), rec.get("c"), rec.index, oct(os.stat("r.bin").st_mode)[-3:]
        live.v.append(3); store.sync() ;; store["o"].v, store["o"] is live, live == Obj([1, 2, 3]), sorted(store)
        here, rel.readline(), rel.read(), first, rel.closed, os.path.islink("deep/link"), os.readlink("deep/link"), cmpd
        next(walker)[0], top[0], names == sorted(os.listdir(".")) or sorted(set(os.listdir(".")) ^ set(names)), st.st_size
        lg.error("one more line") ;; sorted(glob.glob("app.log*")), rot.stream.name.endswith("app.log"), len(mem.buffer), mem.target is rot
        mem.flush() ;; open("app.log").read().count("buffered"), len(mem.buffer)
        gzip.open("z.gz", "rt").read(), linecache.getline("deep/x.py", 1), next(gl)
        """,
        named="children gl sc walker",
    ),
    "numbers of one's own kind: intervals, vectors, bit sets, money and time with coercion": session(
        """
        import numbers, math, decimal, fractions, functools, operator, datetime as dt, array, random, statistics, collections
        class Vec(tuple):
            __slots__ = ()
            pool = {}
            def __new__(cls, *xs): self = cls.pool.get(xs); return self if self is not None else cls.pool.setdefault(xs, super().__new__(cls, xs))
            def __add__(self, o): return Vec(*map(operator.add, self, o))
            def __mul__(self, k): return Vec(*(x * k for x in self)) if isinstance(k, numbers.Real) else sum(map(operator.mul, self, k))
            __rmul__ = __mul__
            def __abs__(self): return math.hypot(*self)
            def __round__(self, n=0): return Vec(*(round(x, n) for x in self))
            def __getnewargs__(self): return tuple(self)
        @numbers.Real.register
        class Interval:
            made = 0
            __slots__ = ("lo", "hi", "_mid")
            def __init__(self, lo, hi): self.lo, self.hi = lo, hi; Interval.made += 1
            def __add__(self, o): o = o if isinstance(o, Interval) else Interval(o, o); return Interval(self.lo + o.lo, self.hi + o.hi)
            __radd__ = __add__
            def __contains__(self, x): return self.lo <= x <= self.hi
            def __float__(self): return (self.lo + self.hi) / 2
            def __repr__(self): return f"[{self.lo}, {self.hi}]"
            @property
            def mid(self):
                try: return self._mid
                except AttributeError: self._mid = float(self); return self._mid
        class Day(dt.date):
            holidays = {dt.date(2024, 1, 1)}
            def __new__(cls, *a, note=""): self = super().__new__(cls, *a); self.note = note; return self
            def __add__(self, n): d = super().__add__(dt.timedelta(n)); return Day(d.year, d.month, d.day, note=self.note)
            @property
            def free(self): return self in self.holidays or self.weekday() > 4
        class Money(decimal.Decimal):
            rates = {"EUR": decimal.Decimal(1), "USD": decimal.Decimal("1.1")}
            def __new__(cls, v, cur="EUR"): self = super().__new__(cls, v); self.cur = cur; return self
            def to(self, cur): return Money(self / self.rates[self.cur] * self.rates[cur], cur)
        class Bits(int):
            def __new__(cls, *on): return super().__new__(cls, functools.reduce(operator.or_, (1 << i for i in on), 0))
            def __iter__(self): return (i for i in range(self.bit_length()) if self >> i & 1)
            def __or__(self, o): return Bits(*self, *o)
            __hash__ = int.__hash__
        class Tol(float):
            eps = 0.01
            def __eq__(self, o): return abs(float(self) - float(o)) < Tol.eps
            def __hash__(self): return 1
        class TZ(dt.tzinfo):
            def __init__(self, h=2): self.h = h
            def utcoffset(self, d): return dt.timedelta(hours=self.h)
            def dst(self, d): return dt.timedelta(0)
            def tzname(self, d): return f"T{self.h}"
        # %%
        v, w = Vec(3, 4), Vec(1, 1); iv = Interval(1, 2); iv.mid; day = Day(2024, 1, 5, note="fri"); m = Money("10", "USD"); b = Bits(1, 3); t = Tol(1.0); tols = {t: "one"}; tz = TZ(); aware = dt.datetime(2024, 1, 1, tzinfo=tz); td = type("TD", (dt.timedelta,), {"label": "x"})(hours=1); fr = type("Fr", (fractions.Fraction,), {"tag": [1]})(1, 3); keys = {v: "v", iv: "iv", day: "day", m: "m", b: "b", aware: "aw"}; cx = type("Cx", (complex,), {})(1, 2); cx.unit = "j"; by = type("By", (bytes,), {})(b"ab"); by.src = v; ba = type("Ba", (bytearray,), {})(b"xy"); ba.src = by; fs = type("Fs", (frozenset,), {})([v]); fs.why = ba
        """,
        """
        Vec(3, 4) is v, v + w is Vec(4, 5), 2 * v, v * w, abs(v), round(v * 1.5), len(Vec.pool), hasattr(v, "__dict__")
        sum([iv, iv, 1]), 1.5 in iv, iv._mid, iv.mid, Interval.made, isinstance(iv, numbers.Real), float(iv)
        day + 3, (day + 1).free, (day + 1).note, type(day + 1) is Day, day == dt.date(2024, 1, 5), day.free
        Day.holidays.add(dt.date(2024, 1, 5)) ;; day.free, type(day).holidays is Day.holidays
        m.to("EUR"), m.cur, m + 1, Money.rates["USD"], type(m).__name__
        list(b | Bits(0)), b == 10, type(b | b) is Bits, keys[10], hash(b)
        tols[Tol(1.005)], t == 1.001, 1.5 == t, sorted([Tol(2), t])[0] is t
        aware.tzinfo is tz, aware.utcoffset(), aware.tzname(), tz.h, aware.astimezone(dt.timezone.utc).hour
        tz.h = 5 ;; aware.isoformat(), keys.get(aware)
        td.label, td * 2, fr.tag, fr + 1, cx.unit, cx * 2, by.src is v, by + b"c", ba.src is by, fs.why is ba, v in fs
        ba.append(1) ;; fs.why, by == b"ab", keys[v], keys[iv], keys[day], keys[dt.date(2024, 1, 5)]
        """,
    ),
}
