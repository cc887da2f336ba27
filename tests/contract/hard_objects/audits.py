"""Sessions of auditors: order and identity between many kinds of objects, and what only calls of libraries change."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "views of mappings of any kind": session(
        """
        import types, collections
        cfg = collections.ChainMap({}, {"a": 1}); frozen = types.MappingProxyType(cfg)
        class M(dict): pass
        m = M(x=1); pm = types.MappingProxyType(m)
        class Map(collections.abc.Mapping):
            def __init__(self): self.d = {"k": 1}
            def __getitem__(self, k): return self.d[k]
            def __iter__(self): return iter(self.d)
            def __len__(self): return len(self.d)
        mp = Map(); pp = types.MappingProxyType(mp); hid = types.MappingProxyType(Map())
        od = types.MappingProxyType(o := collections.OrderedDict(a=1))
        """,
        """
        cfg["a"] = 5 ;; frozen["a"], type(frozen)
        m["x"] = 3 ;; pm["x"]
        mp.d["k"] = 9 ;; pp["k"], hid["k"]
        o["a"] = 7 ;; od["a"]
        """,
    ),
    "the opener of addresses": session(
        """
        import urllib.request
        op = urllib.request.build_opener(); op.addheaders = [("User-agent", "house")]; urllib.request.install_opener(op)
        """,
        """
        urllib.request._opener is op, urllib.request._opener.addheaders
        op.addheaders.append(1) ;; urllib.request._opener.addheaders
        """,
    ),
    "subclasses in their order": session(
        """
        import abc, gc
        class Base:
            registry = {}
            def __init_subclass__(cls, **k): Base.registry[cls.__name__] = cls
        class Zed(Base): pass
        class Rule(Base):
            v = 1
        r1 = Rule(); OldRule = Rule
        class Alpha(Base): __slots__ = ("a",)
        class Tmp(Base): pass
        del Base.registry["Tmp"], Tmp; gc.collect()
        # %%
        class Rule(Base):
            v = 2
        class Mid(Alpha, Zed): pass
        class Zz(Zed): pass
        class A(Zed): pass
        class Shape(abc.ABC): pass
        class Sq(Shape): pass
        class Ci(Shape): pass
        """,
        """
        [c.__name__ for c in Base.__subclasses__()], [c is Rule for c in Base.__subclasses__()], [c is OldRule for c in Base.__subclasses__()]
        [c.__name__ for c in Zed.__subclasses__()], [c.__name__ for c in Shape.__subclasses__()], [c.__name__ for c in Alpha.__subclasses__()]
        class New(Base): pass ;; [c.__name__ for c in Base.__subclasses__()], Mid.__mro__, isinstance(Sq(), Shape), r1.v, Rule.v
        """,
    ),
    "parts of indexes that are held": session(
        """
        import pandas as pd
        iv = pd.interval_range(0, 3, closed="left", name="bin"); arr = iv.array; left = iv.left
        cut = pd.cut([0.5, 1.5, 2.5], iv); lev = cut.categories
        s = pd.Series(iv); sa = s.array; sl = sa.left
        ix2 = pd.IntervalIndex.from_breaks([1, 2, 3])
        ar2 = ix2.array
        # %%
        import pandas as pd
        mi = pd.MultiIndex.from_product([["u", "v"], [1, 2]], names=["k", "n"]); lvl = mi.levels[0]; levs = mi.levels
        mf = pd.Series(range(4), index=mi); df = mf.to_frame("x"); other = pd.MultiIndex.from_tuples([(1, 2)]); other.levels
        d = pd.date_range("2024", periods=3); da = d.array; o = pd.Index(["a", "b"]); oa = o.array
        """,
        """
        iv.left is left
        arr is iv.array, arr.left is left, arr._left is left, type(arr._left), iv._data is arr, iv._data._left is left
        sa is s.array, sa.left is sl
        ar2 is ix2.array, ix2.left is ar2.left
        cut.categories is lev, lev is iv, lev.array is arr
        mi.levels is levs, mi.levels[0] is lvl, mf.index is mi, df.index is mi, df.index.levels[1] is levs[1]
        d.array is da, o.array is oa, da[0], oa.tolist()
        lvl.name, df.rename_axis(index={"k": "z"}).index.levels[0].name, mi.levels[0].name, mi.set_levels(["a", "b"], level=0).levels[0].tolist(), other.levels[0].tolist()
        mi.names = ["q", "n"] ;; mi.levels[0].name, lvl.name, mi.levels[0] is lvl, df.xs("u").x.tolist()
        d.freq, d.array.freq, (d + pd.Timedelta("1D")).array[0]
        """,
    ),
    "signals of blinker between objects": session(
        """
        import blinker
        got = []
        class Meter: pass
        a, b = Meter(), Meter()
        ns = blinker.Namespace(); done = ns.signal("done"); anon = blinker.Signal("doc of it"); log = blinker.signal("loaded")
        @anon.connect
        def heard(sender, **kw): got.append(kw); return 1
        def told(sender, receiver, weak, **kw): got.append(receiver.__name__)
        class Bound:
            def hear(self, sender, **kw): return "bound"
        box = Bound(); kept = []
        def other(sender, **kw): return "other"
        done.connect(heard, sender=a, weak=False); done.connect(box.hear, sender=b); done.connect(other, sender="text"); log.connect(heard); anon.receiver_connected.connect(told, weak=False)
        done.connect((lambda s, **kw: "gone"), sender=a)
        """,
        """
        [one for _, one in done.send(a, z=1)], [one for _, one in done.send(b)], [one for _, one in done.send("text")], got
        done.has_receivers_for(a), done.has_receivers_for(3), ns["done"] is done, done.name, anon.__doc__, blinker.signal("loaded") is log
        anon.disconnect(heard) ;; anon.send(1), log.send(1) != []
        anon.connect(other) ;; got[-1], anon.send(2)[0][1]
        done.is_muted, anon.receivers != {}, len(done.receivers)
        import gc; del box; gc.collect() ;; done.send(b), len(done.receivers)
        import gc; del a; gc.collect() ;; sorted(map(type, done._weak_senders.values()), key=str)
        """,
    ),
    "generic classes that remember": session(
        """
        from typing import Generic, TypeVar
        T = TypeVar("T")
        class User: pass
        class Repo(Generic[T]):
            items = {}
            def __class_getitem__(cls, t): cls.items.setdefault(t.__name__, []); return super().__class_getitem__(t)
        of_user = Repo[User]
        class Pair(Generic[T]):
            asked = []
            def __class_getitem__(cls, t): cls.asked.append(t); alias = super().__class_getitem__(t); alias.note = len(cls.asked); return alias
        Pair.own = Pair[int]
        """,
        """
        of_user is Repo[User], of_user.__args__[0] is User, Repo.items, of_user().__class__ is Repo
        Pair.asked, Pair.own.__args__, Pair.own.note, Pair[int] is Pair.own, Pair.asked
        """,
    ),
    "settings that only calls change": session(
        """
        import numpy as np, numpy.ma as ma, scipy.fft, sqlite3
        from PIL import Image
        ma.masked_print_option.set_display("n/a"); m = ma.masked_array([1.0, 2.0], mask=[0, 1])
        class Counting:
            __ua_domain__ = "numpy.scipy.fft"; calls = []
            @staticmethod
            def __ua_function__(method, args, named): Counting.calls.append(method.__name__); return NotImplemented
        scipy.fft.set_global_backend(Counting); scipy.fft.register_backend("scipy")
        con = sqlite3.connect(":memory:"); con.execute("create table t (a)"); con.executemany("insert into t values (?)", [(i,) for i in range(5)]); con.commit(); con.execute("update t set a = a + 1 where a > 2"); con.commit()
        disk = sqlite3.connect("d.db", isolation_level=None); disk.execute("create table t (a)"); disk.execute("insert into t values (1)"); disk.execute("pragma query_only = 1")
        fresh = sqlite3.connect(":memory:")
        sealed = Image.frombuffer("L", (2, 2), b"\\x01\\x02\\x03\\x04", "raw", "L", 0, 1)
        """,
        """
        str(m), ma.masked_print_option.display()
        scipy.fft.fft(np.ones(4)).real.tolist(), Counting.calls
        con.total_changes, con.in_transaction, con.execute("select count(*), max(a) from t").fetchone(), con.execute("select name from temp.sqlite_master").fetchall()
        disk.total_changes, disk.in_transaction, disk.execute("pragma query_only").fetchone(), disk.execute("select * from t").fetchall(), fresh.total_changes
        con.execute("select last_insert_rowid(), changes()").fetchone(), fresh.execute("select last_insert_rowid(), changes()").fetchone()
        con.execute("insert into t values (9)"); con.commit() ;; con.total_changes
        sealed.readonly, sealed.getpixel((1, 1)), sealed.putpixel((0, 0), 9), sealed.readonly, sealed.getpixel((0, 0))
        """,
    ),
    "modules that are taken out, or replaced for a test": session(
        """
        import sys, types, pathlib, unittest.mock as um
        pathlib.Path("pkg").mkdir(); pathlib.Path("pkg/__init__.py").write_text("from . import conf\\n"); pathlib.Path("pkg/conf.py").write_text("MODE = 'dev'\\n")
        import pkg; from pkg import conf as cfg; cfg.MODE = "patched"
        hidden = sys.modules.pop("pkg.conf")
        paid = um.patch.dict(sys.modules, {"paid_sdk": types.SimpleNamespace(Client=um.Mock(name="Client"))}); paid.start()
        import paid_sdk
        client = paid_sdk.Client("key"); client.charge.return_value = 7; client.charge(amount=5)
        sys.modules["plain"] = types.SimpleNamespace(x=1)
        """,
        """
        hidden is cfg, hidden.MODE, "pkg.conf" in sys.modules, pkg.conf is cfg
        __import__("importlib").import_module("pkg.conf") is cfg, pkg.conf.MODE, cfg.MODE
        client is paid_sdk.Client.return_value, client.charge(amount=6), client.charge.call_args_list, sys.modules["paid_sdk"] is paid_sdk
        __import__("plain").x
        um.patch.stopall() ;; "paid_sdk" in sys.modules, "types" in sys.modules, sys.modules["unittest.mock"] is um
        """,
    ),
    "what libraries keep in context variables": session(
        """
        from contextvars import ContextVar
        from opentelemetry import trace, context, baggage
        span = trace.NonRecordingSpan(trace.SpanContext(7, 9, False)); token = context.attach(trace.set_span_in_context(span)); carried = baggage.set_baggage("team", "data"); mine = ContextVar("mine"); mine.set([1])
        """,
        """
        trace.get_current_span() is span, baggage.get_baggage("team", carried), mine.get()
        trace.get_current_span().get_span_context().span_id, trace.get_current_span(carried) is trace.INVALID_SPAN
        """,
        named="token",
    ),
    "results whose arguments cells hash, large ones, and those of methods of all kinds": session(
        '''
        open("hashed.py","w").write("""
        import functools
        class Point:
            def __init__(self, x): self.x = x
            def __hash__(self): return hash(round(self.x, PLACES))
            def __eq__(self, o): return round(self.x, PLACES) == round(o.x, PLACES)
        @functools.lru_cache
        def cost(p): return [p.x]
        @functools.lru_cache
        def data(n): return b"x" * n
        class St:
            @staticmethod
            @functools.cache
            def f(a): return [a]
            @classmethod
            @functools.cache
            def g(cls, a): return [a]
        up = functools.lru_cache(str.upper)
        def configure(n):
            global PLACES
            PLACES = n
        """)
        import hashed; hashed.configure(2); a = hashed.cost(hashed.Point(1.234)); hashed.data(10_000_000); hashed.data(3); f1 = hashed.St.f(1); g1 = hashed.St.g(2); hashed.up("x")
        ''',
        """
        hashed.PLACES, hashed.cost(hashed.Point(1.2341)) == a
        hashed.St.f(1) is f1, hashed.St.g(2) is g1, hashed.St.f.cache_info(), hashed.St.g.cache_info()
        len(hashed.data(3)), hashed.up("x")
        """,
        named="cost data",
    ),
    "classes without a module that are registered": session(
        """
        from collections.abc import Sequence
        class V: pass
        class W: pass
        W.__module__ = None
        Sequence.register(V); Sequence.register(W)
        """,
        """
        isinstance(V(), Sequence)
        """,
    ),
    "a metaclass that orders bases once only": session(
        """
        first = None; closed = False; log = []
        class A: pass
        class Zed(A): pass
        class Abe(A): pass
        class Meta(type):
            def mro(cls):
                log.append(1)
                if closed: raise RuntimeError("closed")
                return super().mro()
        class D(Zed, metaclass=Meta): pass
        first = Abe; closed = True
        """,
        """
        log, D.__mro__
        """,
    ),
    "helper modules with names like those of the kernel": session(
        """
        open("stepwell_helpers.py","w").write("class A: pass\\n")
        open("uses.py","w").write("import stepwell_helpers as h\\n")
        import stepwell_helpers, uses
        a = stepwell_helpers.A()
        """,
        """
        isinstance(a, __import__("stepwell_helpers").A)
        """,
    ),
    "objects instead of modules, one of which cannot be kept": session(
        """
        import sys
        class Fake:
            def __getattr__(self, n):
                if n.startswith("__"): raise AttributeError(n)
                return n
        sys.modules["lazy"] = Fake()
        from unittest import mock
        sys.modules["gpu"] = mock.MagicMock(); sys.modules["gpu"].stream = (i for i in range(3))
        """,
        """
        import lazy ;; lazy.abc
        import gpu ;; gpu.x is not None
        """,
        named="modules gpu",
    ),
    "signals with senders that have no weak references": session(
        """
        import blinker
        class Sl: __slots__ = ()
        s = Sl(); got = []
        sig = blinker.Signal(); sig2 = blinker.Signal()
        def hear(x): got.append(1); return 5
        sig.connect(hear, sender=s); hold = [object()]; sig2.connect(hear, sender=hold[0])
        """,
        """
        sig.send(s)[0][1]
        sig2.send(hold[0])[0][1]
        """,
        named="sig2",
    ),
}
