"""Sessions with what Python remembers: results, patterns, registered classes, attributes of namespaces."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "namespaces whose attributes are held, patterns that are compiled again, classes of libraries that are registered": session(
        """
        from types import SimpleNamespace
        import re, numbers, decimal, fractions
        from collections.abc import Sequence, Mapping
        import collections.abc
        import numpy as np, io, os
        cfg = SimpleNamespace(a=1, inner=SimpleNamespace(b=2))
        opts = vars(cfg)
        deep = cfg.inner.__dict__
        loop = SimpleNamespace(); loop.me = loop; own = vars(loop)
        first = {"d": vars(SimpleNamespace(z=1))}
        LINE = re.compile(r"(\\d+)-(\\w+)")
        WORD = re.compile("word", re.I)
        INLINE = re.compile("(?i)inline")
        BYTES = re.compile(rb"\\x00+")
        # %%
        Sequence.register(np.ndarray)
        numbers.Real.register(decimal.Decimal)
        class Rows: pass
        collections.abc.Mapping.register(Rows)
        os.PathLike.register(fractions.Fraction)
        """,
        """
        opts.update(a=5, q=7) ;; cfg.a, cfg.q, vars(cfg) is opts
        deep["b"] = 9 ;; cfg.inner, cfg.inner.__dict__ is deep
        own["more"] = 1 ;; loop.more, loop.me is loop, own["me"] is loop
        first["d"]["z"]
        re.compile(r"(\\d+)-(\\w+)") is LINE, re.compile("word", re.I) is WORD, re.compile("(?i)inline") is INLINE, re.compile(rb"\\x00+") is BYTES
        isinstance(np.zeros(3), Sequence), isinstance(decimal.Decimal(1), numbers.Real), isinstance(Rows(), Mapping), issubclass(fractions.Fraction, os.PathLike)
        cfg.inner.new = 4 ;; deep, opts["inner"].new
        import gc; del opts, deep; gc.collect(); cfg.x = 1 ;; cfg
        """,
    ),
    "results that functions of a helper module have cached": session(
        '''
        from pathlib import Path
        Path("rates.py").write_text("""
        import functools
        CALLS = []
        def outer():
            base = 3
            @functools.cache
            def inner(x, *, k=2):
                CALLS.append(x)
                return [x * base * k]
            return inner
        tripled = outer()
        @functools.lru_cache(maxsize=3)
        def rate(code, day=1):
            CALLS.append(code)
            return {"code": code, "day": day}
        @functools.lru_cache
        def never(x): return x
        class Book:
            def __init__(self, n): self.n = n
            @functools.lru_cache(maxsize=None)
            def total(self, k):
                CALLS.append((self.n, k))
                return self.n * k
            @staticmethod
            @functools.cache
            def key(a): return (a,)
        @functools.cache
        def bad(x): return (i for i in range(x))
        rate("pre")
        """)
        import rates
        from rates import rate, Book
        held = rate("EUR"); rate("USD", day=2); rate("EUR"); rate("GBP"); rate("CHF")
        b = Book(4); b.total(5); b.total(5); b.total(k=6)
        rates.tripled(2); rates.tripled(2, k=5)
        ''',
        """
        rates.rate is rate, rate.cache_info(), rates.CALLS
        rate("CHF") is rate("CHF"), rates.CALLS[-1], rate.cache_info()
        rate("USD", day=2), rates.CALLS[-1], rate.cache_info()
        rate("EUR") is held, rate("EUR") == held, rates.CALLS[-1]
        b.total(5), b.total(k=6), Book.total.cache_info(), rates.CALLS
        rates.tripled(2), rates.tripled(2, k=5), rates.tripled(7), rates.CALLS
        rates.never(3), rates.never.cache_info(), rates.Book.key(2), rates.Book.key.cache_info()
        rate.__wrapped__("x"), rate.__wrapped__.__code__.co_name
        rate.cache_clear(); rate("y") ;; rates.CALLS, rate.cache_info()
        """,
    ),
    "results of helper modules of which one cannot be kept": session(
        '''
        from pathlib import Path
        Path("streams.py").write_text("""
        import functools
        @functools.cache
        def bad(x): return (i for i in range(x))
        @functools.cache
        def good(x): return x + 1
        """)
        import streams
        streams.bad(3); streams.good(1)
        ''',
        """
        streams.good.cache_info(), streams.good(1)
        list(streams.bad(4))
        """,
        named="results",
    ),
    "a grammar with something optional, another one in a class, and reducers that cells register for Python's own values": session(
        """
        import copyreg, pickle
        import pyparsing as pp
        name = pp.Word(pp.alphas)("name")
        call = pp.Group(name + pp.Suppress("(") + pp.Optional(pp.DelimitedList(name))("args") + pp.Suppress(")"))
        before = call.parse_string("f()").as_list()
        copyreg.pickle(complex, lambda c: (complex, (c.imag, c.real)))
        copyreg.pickle(range, lambda r: (range, (1,)))
        copyreg.pickle(slice, lambda s: (slice, (1,)))
        z = 1 + 2j; many = [3j, z, complex("nan+1j")]; rows = range(3, 9, 2); part = slice(2, 5); table = {z: rows}
        """,
        """
        call.parse_string("h()").dump(), call.parse_string("h(a, b)").as_list(), before
        z, many, rows, part, table[1 + 2j], "abcdefgh"[part]
        pickle.loads(pickle.dumps(1 + 2j)), pickle.loads(pickle.dumps(rows)), pickle.loads(pickle.dumps(part))
        """,
    ),
    "pictures in black and white, one that was read, memory that is exported, views of bytes, flags of frames": session(
        """
        from PIL import Image, ImageDraw
        import numpy as np, pandas as pd, array
        mask = Image.new("1", (16, 12)); pen = ImageDraw.Draw(mask); pen.ellipse([4, 2, 12, 10], fill=1)
        ones = Image.new("1", (5, 5), 1); both = Image.new("1", (4, 4), 255); ImageDraw.Draw(both).point((1, 2), 1); usual = ones.convert("L").convert("1"); masks = [mask, ones]
        Image.new("RGB", (4, 4), "red").save("a.png"); opened = Image.open("a.png"); opened.load()
        bits = bytearray(32); view = np.frombuffer(bits, "u1"); part = np.frombuffer(bits, "<u2", 4, 2); numbers = array.array("d", [1, 2, 3]); seen = np.frombuffer(numbers); free = np.ndarray((4,), "u1", bytearray(4)); none = np.frombuffer(b"x" * 8, "u1", 0) if False else np.frombuffer(bytearray(8), "u1", 8, 0)[:0]
        text = "banana$"; tails = [memoryview(text.encode())[i:] for i in range(7)]; whole = memoryview(b"hello")
        frame = pd.DataFrame({"a": [1, 2]}, index=["x", "y"]); frame.flags.allows_duplicate_labels = False; flags = frame.flags; column = frame["a"]; of_column = column.flags
        """,
        """
        mask.getpixel((8, 5)), mask.histogram()[1], mask.histogram()[255], ones.getpixel((0, 0)), both.getpixel((1, 2)), both.getpixel((0, 0)), usual.getpixel((0, 0)), masks[0] is mask
        pen.line([0, 0, 15, 11], fill=1) ;; mask.histogram()[1], mask.getpixel((15, 11)), mask.getbbox(), mask.tobytes().hex()[:20]
        opened.fp is None, opened.getpixel((0, 0)), opened.format, opened.filename
        bits.extend(b"x")
        view[0] = 7; part[0] = 258 ;; bits[:4], view[:4].tolist(), part.tolist()
        numbers.append(4.0)
        seen[1] = 9 ;; numbers.tolist(), type(view.base).__name__, type(seen.base).__name__, none.size, free.tolist()
        [bytes(one.obj) for one in tails], [bytes(one) for one in tails], [one.readonly for one in tails], whole.obj, len(whole)
        frame.flags is flags, column.flags is of_column
        flags.allows_duplicate_labels = True ;; frame.flags.allows_duplicate_labels, frame.rename(index={"x": "y"}).index.tolist()
        """,
    ),
    "a module that nothing holds any more, classes that a reload made anew, placeholders that are named tuples, flags in a frame": session(
        """
        import gc, importlib, importlib.util, pathlib, weakref
        import bidict, pandas as pd
        from PIL import Image
        _ = pathlib.Path("upper.py").write_text("calls = []\\ndef run(text):\\n    calls.append(text)\\n    return text.upper()\\n")
        _ = pathlib.Path("base.py").write_text("class Base: pass\\n"); _ = pathlib.Path("plug.py").write_text("from base import Base\\nclass K(Base): pass\\n")
        _ = pathlib.Path("geo.py").write_text("from typing import NamedTuple\\nclass Point(NamedTuple):\\n    x: int\\n    y: int\\nORIGIN = Point(0, 0)\\n")
        other = importlib.util.spec_from_file_location("other", "upper.py"); twin = importlib.util.module_from_spec(other); other.loader.exec_module(twin)
        run = twin.run; by_name = weakref.WeakValueDictionary({"twin": twin})
        import base, plug, geo, upper
        k = plug.K(); spec = upper.__spec__; about = {"spec": spec, "n": 5}
        pathlib.Path("gone.py").write_text("def run(t): return t.upper()\\n"); import gone; pathlib.Path("gone.py").unlink()
        geo.ORIGIN = origin = geo.Point(5, 5)
        bidict.BidictBase.on_dup = bidict.OnDup(bidict.RAISE, bidict.RAISE); both = bidict.bidict({1: 2})
        df = pd.DataFrame({"a": [1, 2]}); df.attrs["flags"] = df.flags; df.flags.tag = 3; flags = df.flags
        plain = Image.new("RGB", (2, 2)); bits = Image.new("1", (3, 3)); bits.putpixel((1, 1), 1); info = bits.info
        # %%
        importlib.reload(plug); k = plug.K()
        """,
        """
        run("a"), twin.calls, list(by_name), by_name["twin"] is twin, other.name
        del twin; _ = gc.collect() ;; len(by_name), run("b")
        _ = gc.collect() ;; len(base.Base.__subclasses__()), type(k) is plug.K
        about["n"], about["spec"].origin.endswith("upper.py"), gone.__spec__.origin.endswith("gone.py"), gone.__loader__ is not None, gone.run("x")
        origin, geo.ORIGIN is origin, both.on_dup
        both[1] = 7
        flags.tag, flags is df.attrs["flags"], df.attrs["flags"].allows_duplicate_labels, df.a.tolist()
        hasattr(plain, "fp"), bits.info is info, bits.getpixel((1, 1))
        """,
    ),
    "what is given when it is asked for again: codecs, axes that are shared, lexers, charsets, ends of names": session(
        """
        import codecs, weakref, enum, os
        from email import charset
        import matplotlib.pyplot as plt
        from PIL import Image
        from pygments import highlight, lexers, formatters
        import numpy.polynomial as npp
        def turned(text, errors="strict"):
            return text[::-1].encode(), len(text)
        codecs.register(lambda name: codecs.CodecInfo(turned, None, name="turned") if name == "turned" else None)
        info, utf8 = codecs.lookup("turned"), codecs.lookup("utf-8")
        charset.add_charset("koi8-r", charset.SHORTEST, charset.QP, "utf-8")
        charset.add_alias("kyrillisch", "koi8-r")
        fig, (ax, other) = plt.subplots(1, 2, sharex=True)
        shared, twin = ax.get_shared_x_axes(), ax.twinx()
        lexer = lexers.get_lexer_by_name("python", stripall=True)
        html = formatters.HtmlFormatter(nowrap=True)
        Image.register_extension("PNG", ".scan")
        npp.set_default_printstyle("ascii")
        class Node: pass
        node, gone = Node(), []
        def dead(ref): gone.append(ref is watched)
        watched = weakref.ref(node, dead)
        proxy = weakref.proxy(node, gone.append)
        class Own(weakref.ref): pass
        own = Own(node, gone.append)
        class Color(enum.Enum):
            RED = "r"
            GREEN = "g"
        Color._value2member_map_["rot"] = Color.RED
        class Flags(enum.Flag):
            A = 1
            B = 2
        both = Flags.A | Flags.B
        memory = bytearray(range(16))
        picture = Image.frombuffer("L", (4, 4), memory, "raw", "L", 0, 1)
        picture.readonly = 0
        """,
        """
        codecs.lookup("utf-8") is utf8, "abc".encode("turned"), info.name
        charset.Charset("kyrillisch").body_encoding == charset.QP, charset.Charset("koi8-r").output_charset
        shared.joined(ax, other), twin in ax._twinned_axes.get_siblings(ax), shared.joined(ax, twin)
        other.set_xlim(2, 5) ;; tuple(map(float, ax.get_xlim()))
        highlight("if x: pass", lexer, html), lexer.stripall
        Image.registered_extensions().get(".scan"), Image.registered_extensions().get(".jpg")
        str(npp.Polynomial([1, 2, 3]))
        watched.__callback__ is dead, own.__callback__ == gone.append, watched() is node
        Color("rot") is Color.RED, Color("g"), list(Color), both, Flags(3) is both
        memory[0] = 77 ;; picture.getpixel((0, 0)), picture.readonly
        picture.putpixel((1, 0), 9) ;; memory[1]
        del node ;; len(gone), gone.count(True), own in gone
        """,
    ),
    "objects for whose classes cells have registered with copyreg what is kept of them": session(
        """
        import copyreg, decimal, enum, pickle
        from collections import OrderedDict
        import numpy as np
        class Edge:
            def __init__(self, u): self.u, self.hits = u, [0]
        class Rows(dict): pass
        class Twice(list):
            def append(self, one): list.append(self, one * 2)
        class Ordered(OrderedDict): pass
        class Slotted:
            __slots__ = ("a", "b")
        class Number(int): pass
        class Asked:
            def __init__(self): self.left_out, self.n = (one for one in "ab"), 1
        class Sealed:
            def __init__(self, x): object.__setattr__(self, "x", x)
            def __setattr__(self, *_): raise TypeError("sealed")
        class Matrix(np.ndarray): pass
        class Wrong(Exception):
            def __init__(self, a, b): super().__init__(a); self.b = b
        class Amount(decimal.Decimal): pass
        copyreg.pickle(Edge, lambda one: (Edge, (one.u[::-1],)))
        for kind in (Rows, Twice, Ordered, Slotted, Number, Asked, Amount):
            copyreg.pickle(kind, lambda one: (type(one), ()))
        copyreg.pickle(Sealed, lambda one: (Sealed, (0,)))
        copyreg.pickle(Matrix, lambda one: (np.zeros, (1,)))
        copyreg.pickle(Wrong, lambda one: (Wrong, ("no", 0)))
        # %%
        edge, rows, twice, ordered = Edge("AB"), Rows(a=1), Twice([1]), Ordered(z=1, a=2)
        edge.hits.append(3); rows.edge = edge; twice.append(4)
        slotted, number, asked, sealed = Slotted(), Number(5), Asked(), Sealed([1])
        slotted.a, number.y = [edge], 2
        matrix, wrong, amount = np.arange(3).view(Matrix), Wrong("yes", [1]), Amount("3.1")
        amount.unit = "EUR"
        """,
        """
        edge.u, edge.hits, slotted.a[0] is edge, rows.edge is edge, rows
        twice, ordered, number, number.y, sealed.x, asked.n
        twice.append(2) ;; twice
        matrix, type(matrix).__name__, wrong.args, wrong.b, amount, amount.unit
        pickle.loads(pickle.dumps(edge)).u, pickle.loads(pickle.dumps(rows)), copyreg.dispatch_table[Edge](edge)[1]
        """,
    ),
    "consoles of rich, loggers of structlog, values of threads, simple queues, where an iterator over items is": session(
        """
        import io, threading, queue, logging, logging.handlers
        import numpy as np, structlog
        from rich.console import Console
        from rich.progress import Progress, TextColumn
        from rich.table import Table
        from rich.theme import Theme
        sink = io.StringIO()
        console = Console(file=sink, width=30, record=True, color_system=None, theme=Theme({"odd": "bold red"}))
        console.print("first")
        progress = Progress(TextColumn("{task.completed}"), console=console, auto_refresh=False); task = progress.add_task("t", total=3)
        table = Table("a", "b"); table.add_row("1", "2")
        lines = io.StringIO()
        structlog.configure(processors=[structlog.processors.KeyValueRenderer()], logger_factory=structlog.PrintLoggerFactory(file=lines), cache_logger_on_first_use=True)
        log = structlog.get_logger(app="x"); log.info("one"); bound = log.bind(k=1)
        class Local(threading.local):
            def __init__(self, n=0, *, kind="a"): self.n, self.kind = n, kind
        local = Local(3, kind="b"); local.more = [local.n]
        plain = Local()
        q = queue.SimpleQueue(); q.put([1]); q.put("b"); same = q
        handler = logging.handlers.QueueHandler(queue.SimpleQueue()); logging.getLogger("odd").addHandler(handler); logging.getLogger("odd").error("e %s", 1)
        grid = np.arange(6).reshape(2, 3); flat = grid.flat; head = [next(flat), next(flat)]; done = grid.flat; rest = list(done)
        """,
        """
        console.print("second") ;; sink.getvalue(), console.export_text(clear=False), console.width, console.get_style("odd").bold
        progress.update(task, advance=2) ;; progress.tasks[0].completed, progress.console is console
        console.print(table) ;; len(sink.getvalue().splitlines())
        log.info("two"); bound.info("three") ;; lines.getvalue()
        local.n, local.kind, local.more, type(plain).__name__, plain.n, vars(plain)
        __import__("concurrent.futures").futures.ThreadPoolExecutor(1).submit(lambda: (local.n, local.kind, hasattr(local, "more"))).result()
        same is q, q.get_nowait(), q.get_nowait(), q.empty()
        handler.queue.get_nowait().getMessage(), logging.getLogger("odd").handlers[0] is handler
        next(flat), flat.index, flat.coords, list(done), done.index
        flat.base is grid, list(flat)
        flat[0] = 9 ;; grid[0, 0]
        """,
    ),
    "patches of functions of C, a dictionary that numbers what is new, styles that were not announced": session(
        """
        import unittest.mock as mock, math, os, json, time, statistics
        patcher = mock.patch("math.floor", side_effect=lambda v: ("fake", v)); patcher.start()
        other = mock.patch("json.dumps"); fake = other.start()
        auto = mock.patch("math.ceil", autospec=True); auto.start()
        pd_ = mock.patch.dict(os.environ, {"LAB": "1"}); pd_.start()
        import matplotlib.pyplot as plt
        plt.style.library["mine"] = {"axes.grid": True}
        import pyparsing as pp
        pp.ParserElement.set_default_whitespace_chars(" \\t"); words_only = pp.OneOrMore(pp.Word(pp.alphas))
        from collections import defaultdict
        ids = defaultdict(); ids.default_factory = ids.__len__
        for w in ['dock', 'gate', 'dock', 'yard']: ids[w]
        tree = lambda: defaultdict(tree)
        plan = tree(); plan['mon']['am'] = 3
        usual = defaultdict(list, a=[1]); words = {"ids": ids}
        floor = math.floor
        """,
        """
        math.floor(2.5), math.ceil(2.5).__class__.__name__, json.dumps is fake, floor is math.floor
        patcher.stop() ;; math.floor(2.5)
        auto.stop(); other.stop() ;; math.ceil(2.5), json.dumps([1])
        pd_.stop() ;; os.environ.get("LAB")
        "mine" in plt.style.available, plt.style.library["mine"]
        ids['new'], ids, words['ids'] is ids, ids.default_factory == ids.__len__
        sorted(pp.Word("a").whiteChars), pp.OneOrMore(pp.Word(pp.alphas)).parse_string("a b\\nc").as_list(), words_only.parse_string("a b\\nc").as_list()
        plan['tue']['x'], plan['mon'], usual['b'], usual
        """,
    ),
    "codecs in objects, lexers of cells, values of members that compare in their own way, locals with slots, enumerated queues": session(
        """
        import codecs, copyreg, enum, queue, threading
        from dataclasses import dataclass
        from typing import NamedTuple
        from pygments.lexer import RegexLexer
        from pygments.token import Text
        class Config:
            def __init__(self): self.codec, self.name = codecs.lookup("utf8"), "x"
        config = Config(); codec_of = {"latin": codecs.lookup("latin1")}; given = codecs.lookup("latin-1")
        asked = []
        def search(name): asked.append(name)
        codecs.register(search)
        plain = codecs.lookup("utf-8"); other = codecs.CodecInfo(plain.encode, plain.decode, name="other")
        class Lines(RegexLexer):
            name = "lines"; tokens = {"root": [(r".+", Text)]}
            def __new__(cls, language, **options): return super().__new__(cls)
            def __init__(self, language, **options): self.language = language; super().__init__(**options)
        lines = Lines("de"); used = Lines("en"); _ = list(used.get_tokens("a"))
        class Condition:
            def __init__(self, *_): pass
            def __bool__(self): raise TypeError("no truth")
        class Field:
            def __init__(self, name): self.name = name
            def __eq__(self, other): return Condition(self, other)
            __hash__ = object.__hash__
        class Columns(enum.Enum): A = Field("a")
        by = {"by": Columns.A, "n": 3}
        def query(): return Columns.A.value.name
        class Base(threading.local): __slots__ = ("shared",)
        class Slotted(Base): pass
        slotted = Slotted(); slotted.shared = (7, 8)
        class Later(threading.local):
            def __init__(self, n): self.n = n
        box = []; one = threading.Thread(target=lambda: box.append(Later(4))); one.start(); one.join(); del one
        q = queue.SimpleQueue(); [q.put(n) for n in range(9)]; first = q.get()
        @dataclass(slots=True, frozen=True)
        class Point:
            x: int
            tags: list
        class Pair(NamedTuple):
            a: int
            b: int = 0
        for kind in (Point, Pair): copyreg.pickle(kind, lambda one: (type(one), (0, 0)))
        point, pair = Point(1, [2]), Pair(1, 2)
        """,
        """
        config.codec.name, config.name, config.codec is codecs.lookup("utf8"), codec_of["latin"] is codecs.lookup("latin1"), given is codecs.lookup("latin-1")
        other.name, other.encode("a"), plain is codecs.lookup("utf-8"), asked
        lines.language, list(lines.get_tokens("b")), used.language, list(used.get_tokens("c"))
        by["by"] is Columns.A, query(), [one.name for one in Columns]
        "slotted", slotted.shared
        "box", box[0].n
        first, q.qsize(), [q.get() for _ in range(8)]
        point, pair, type(pair).__name__, point.tags
        """,
        named="slotted box",
    ),
}
