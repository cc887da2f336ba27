"""Small programs, each about one thing that came back wrong once."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "identities where others have the name, and functions of others for sqlite": session(
        """
        import sqlite3, json, numpy as np
        class Row:
            id = 5
            def __init__(self, id): self.number = id
        def mark(o): return id(o)
        r = Row(1); marks = {id(r): "r"}; made = mark(r); sqlite3.register_adapter(np.int64, int); sqlite3.register_adapter(dict, json.dumps); sqlite3.register_converter("json", json.loads)
        """,
        """
        marks[id(r)], made == id(r), r.number, Row.id
        sqlite3.connect(":memory:").execute("select ?, ?", (np.int64(4), {"a": 1})).fetchone()
        sqlite3.converters["JSON"] is json.loads
        """,
    ),
    "an abstract class that asks for itself by its name": session(
        """
        import abc, collections.abc as cabc
        class Shape(abc.ABC):
            registry: dict = {}
            def __init_subclass__(cls, /, tag=None, **kw):
                super().__init_subclass__(**kw); cls.tag = tag or cls.__name__.lower(); Shape.registry[cls.tag] = cls
            @classmethod
            def __subclasshook__(cls, C):
                return True if cls is Shape and any("looks" in B.__dict__ for B in C.__mro__) else NotImplemented
        class Square(Shape, tag="sq"):
            def area(self): return 4
        class Outsider: pass
        Shape.register(Outsider)
        """,
        """
        isinstance(Outsider(), Shape)
        Shape.registry["sq"] is Square
        """,
    ),
    "slots of tuples, lists and numbers": session(
        """
        class Pair(tuple):
            __slots__ = ()
            def __new__(cls, a, b): return super().__new__(cls, (a, b))
            left = property(lambda s: s[0])
        pr = Pair(1, 2)
        class P2(tuple):
            __slots__ = ()
            def f(self): return 1
        p2 = P2((1,))
        class L(list): __slots__ = ()
        l = L([1])
        class I(int): __slots__ = ()
        i = I(3)
        class E: __slots__ = ()
        e = E()
        """,
        """
        hasattr(pr, "__dict__")
        hasattr(p2, "__dict__"), Pair.__dictoffset__, P2.__dictoffset__, "__slots__" in vars(P2), "__dict__" in vars(P2)
        hasattr(l, "__dict__"), hasattr(i, "__dict__"), hasattr(e, "__dict__")
        """,
    ),
    "named tuples have no dictionary": session(
        """
        import collections, typing
        P = collections.namedtuple("P", "a b"); p = P(1, 2)
        class Q(P):
            __slots__ = ()
            def f(self): return 1
        q = Q(1, 2)
        class R(typing.NamedTuple):
            a: int = 1
            def g(self): return 2
        r = R()
        class S(R): __slots__ = ()
        s = S()
        """,
        """
        hasattr(p, "__dict__"), hasattr(q, "__dict__"), hasattr(r, "__dict__"), hasattr(s, "__dict__")
        p, q, r, s, q.f(), r.g(), R.__slots__, P.__slots__, "__slots__" in vars(Q)
        """,
    ),
    "methods that libraries hand out as functions": session(
        """
        import random
        shuffle = random.shuffle
        from random import choice, random as rnd
        import numpy as np; rand, nrn = np.random.rand, np.random.randn
        class A:
            def m(self): return 1
        a = A(); am = a.m; ap = [].append; ln = len
        r = range(5); rr = [r, r]; big = 10**30; bigs=[big, big]; fl = 1.5; fls = [fl, fl]; by = bytes(range(50)); bb = [by, by]
        """,
        """
        shuffle is random.shuffle, choice is random.choice, rnd is random.random, rand is np.random.rand, nrn is np.random.randn, am(), am.__self__ is a, ap(1), ln is len
        """,
    ),
    "identities in containers of one's own": session(
        """
        class Ident(dict):
            def __getitem__(self, o): return super().__getitem__(id(o))[1]
            def __setitem__(self, o, v): super().__setitem__(id(o), (o, v))
        class K: pass
        k = K(); ident = Ident(); ident[k] = "one"
        class Ident2:
            def __init__(self): self.d = {}
        i2 = Ident2(); i2.d[id(k)] = k; t = (id(k), 1)
        import collections
        class U(collections.UserDict): pass
        u = U(); u[id(k)] = 1
        class Ls(list): pass
        ls = Ls([id(k)])
        class St(set): pass
        st = St([id(k)])
        class Sl:
            __slots__ = ("a",)
        sl = Sl(); sl.a = id(k)
        dq = collections.deque([id(k)])
        """,
        """
        ident[k]
        id(k) in i2.d, id(k) in u
        ls[0] == id(k), id(k) in st, sl.a == id(k), dq[0] == id(k)
        """,
    ),
    "functions of a module under other names": session(
        """
        import pathlib, sys, os
        sys.path.insert(0, os.getcwd())
        pathlib.Path("core.py").write_text('''
        import functools
        @functools.lru_cache
        def price(x): return [x]
        def plain(x): return x
        def deco(f):
            @functools.wraps(f)
            def w(*a): return f(*a)
            return w
        @deco
        def wrapped(x): return x + 1
        class C:
            def m(self): return 1
        def make():
            def inner(): return 5
            return inner
        ''')
        import core
        core.price2 = core.price.__wrapped__
        core.plain2 = core.plain
        core.w2 = core.wrapped.__wrapped__
        core.m2 = core.C.m
        core.inner2 = core.make()
        core.part = core.functools.partial(core.plain, 1)
        orig = core.wrapped.__wrapped__
        held = [core.price.__wrapped__]
        core.lst = [core.price.__wrapped__]
        """,
        """
        core.price2(1)
        core.plain2(1), core.plain2 is core.plain
        core.w2(1), core.w2 is core.wrapped.__wrapped__
        core.m2(1), core.m2 is core.C.m
        core.inner2()
        core.part()
        orig(1), orig is core.wrapped.__wrapped__, held[0] is core.price.__wrapped__, core.lst[0] is core.price.__wrapped__
        """,
    ),
    "modules that only an object holds": session(
        """
        import types
        class Plugin:
            def __init__(self, name, src):
                self.ns = {}
                mod = types.ModuleType(name); mod.__dict__.update(host=self, export=lambda f: self.ns.__setitem__(f.__name__, f) or f)
                exec(src, mod.__dict__); self.mod = mod
            def __getattr__(self, k):
                try: return self.__dict__["ns"][k]
                except KeyError: raise AttributeError(k) from None
        b = Plugin("b", "n = 0\\n@export\\ndef chain():\\n    global n\\n    n += 1\\n    return n")
        m2 = types.ModuleType("m2"); exec("def f(): return x", m2.__dict__); m2.x = 1
        holder = [m2]; del m2
        """,
        """
        b.chain(), b.chain.__globals__ is b.mod.__dict__, b.mod.n
        holder[0].f.__globals__ is holder[0].__dict__
        """,
    ),
    "the variables of a module as a variable": session(
        """
        import types
        mod = types.ModuleType("mod"); ns = mod.__dict__; exec("def f(): return y", ns); ns["y"] = 1; f = ns["f"]
        mod2 = types.ModuleType("mod2"); ns2 = vars(mod2); ns2["z"] = [1]
        """,
        """
        ns["y"] = 5 ;; mod.f(), f(), mod.y
        ns is mod.__dict__, f.__globals__ is ns, f.__globals__ is mod.__dict__, ns2 is vars(mod2), ns2["z"] is mod2.z
        ns2["q"] = 1 ;; hasattr(mod2, "q")
        """,
    ),
    "views of memory with steps": session(
        """
        f = memoryview(b"abcdef")[::2]; fr = memoryview(b"abcdefgh").cast("H")[::-3]; emp = memoryview(b"")[::2]; em2 = memoryview(bytearray(b"abc"))[1:1:2]; one = memoryview(bytearray(b"abc"))[0:2:2]
        g = memoryview(bytearray(b"abcdef")); h = g[::-1]; w = g[::2]; ro = g.toreadonly()
        import array
        ar = array.array("i", range(6)); av = memoryview(ar); a2 = av[::2]
        """,
        """
        f.strides, f.tolist(), f.contiguous, f.readonly
        fr.strides, fr.tolist(), fr.format, fr.shape, len(emp), len(em2), one.tolist(), emp.readonly
        h.strides, h.tolist(); g.__setitem__(0, 65) ;; h.tolist(), w.tolist(), ro[0], ro.readonly
        av.__setitem__(0, 9) ;; ar[0], a2[0], a2.strides, a2.tolist()
        """,
    ),
    "data of C and parts of it": session(
        """
        import ctypes as ct
        class Big(ct.BigEndianStructure): _fields_ = [("n", ct.c_uint16), ("m", ct.c_uint32 * 2)]
        big = Big(258)
        class Base(ct.Structure): _fields_ = [("a", ct.c_int)]
        class Sub(Base): _fields_ = [("b", Base), ("c", Base * 2)]
        s = Sub(1, Base(2)); inner = s.b; el = s.c[1]; m = ((ct.c_int * 2) * 2)(); row = m[0]; bs = bytearray(16); over = Sub.from_buffer(bs); ob = over.b; ci = (ct.c_int * 3)(1, 2, 3); cm = memoryview(ci); cv = memoryview(s)
        """,
        """
        big.n, bytes(big), Big(1).n, big.m[0]
        s.a, s.b.a, inner.a, isinstance(s, Base)
        inner.a = 9; el.a = 8 ;; s.b.a, s.c[1].a
        row[1] = 5 ;; m[0][1]
        ob.a = 3 ;; over.b.a, bs[4]
        cm.tolist(), cm.format, cm.obj is ci, cv.obj is s, cv.nbytes
        ci.__setitem__(0, 7) ;; cm.tolist()
        """,
    ),
}
