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
}
