"""Objects of libraries that cells import: what else refers to them, and who looks on while they are compared."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import HardSession, session

SESSIONS: dict[str, HardSession] = {
    "a profiler that uses a variable": session(
        """
        import sys; seen = []
        def profiler(frame, event, arg):
            if len(seen) < 5: seen.append(event)
        # %%
        sys.setprofile(profiler)
        """,
        """
        len(seen) > 0, sys.getprofile() is profiler
        """,
    ),
    "a tracer, and objects of libraries that are compared": session(
        """
        import sys
        from html.entities import name2codepoint
        seen = []
        def tracer(frame, event, arg):
            if frame.f_code.co_name == "take_own" and len(seen) < 5: seen.append("take_own")
        # %%
        sys.settrace(tracer)
        """,
        """
        seen, sys.gettrace() is tracer
        sys.settrace(None) ;; name2codepoint["amp"]
        """,
    ),
    "objects of libraries in modules of the workspace and in settings": session(
        """
        open("store.py", "w").write("import weakref\\nTABLE = NORMAL = None\\nINFO = weakref.WeakKeyDictionary()\\nclass Model: pass\\n"); import store
        import sys, json, logging, functools
        from html.entities import html5, name2codepoint
        from mimetypes import types_map
        from scipy.stats import norm, expon
        from matplotlib.cm import magma
        from calendar import c as cal
        # %%
        store.TABLE = html5; store.Model.dist = norm; store.NORMAL = expon; sys.table = types_map; store.INFO[cal] = "seen"
        json.JSONEncoder.table = name2codepoint; logging.getLogger("of").colors = magma
        """,
        """
        store.TABLE is html5, sys.table is types_map, store.Model.dist is norm, store.NORMAL is expon
        store.INFO.get(cal), len(store.INFO)
        json.JSONEncoder.table is name2codepoint, logging.getLogger("of").colors is magma
        html5.update(zzz="1") ;; store.TABLE.get("zzz")
        """,
    ),
    "objects of libraries that are as they were but for a flag, an order, or an object of the session": session(
        """
        from numpy.polynomial.chebyshev import chebdomain; chebdomain.flags.writeable = False
        from tarfile import PAX_NAME_FIELDS as names
        for i in range(100): names.add(f"n{i}")
        for i in range(100): names.discard(f"n{i}")
        open("money.py", "w").write("class Money:\\n    saves = 0\\n    def __init__(self, sign): self.sign = sign\\n    def __call__(self, value): return self.sign + str(value)\\n    def __getstate__(self):\\n        self.saves += 1; return dict(self.__dict__)\\n")
        import money
        from jinja2.filters import FILTERS
        FILTERS["money"] = money.Money("$")
        """,
        """
        chebdomain.flags.writeable, list(names)
        FILTERS["money"](3), FILTERS["money"].saves
        """,
    ),
    "a deep structure in an object of a library": session(
        """
        import sys
        from html.entities import html5
        sys.setrecursionlimit(1_000_000)
        # %%
        def put():
            inner = {}
            for _ in range(5000): inner = {"next": inner}
            html5["deep"] = inner
        put()
        """,
        """
        len(html5["deep"]), sys.getrecursionlimit()
        """,
    ),
    "hashed objects of attrs in cycles, in sets that are older": session(
        """
        from attrs import frozen, define, field
        early, index = set(), {}
        # %%
        @frozen
        class K:
            a: int
            @property
            def twice(self): return self.a * 2
        early.add(K(1)); index[K(2)] = K(3)
        @define(unsafe_hash=True)
        class Node:
            name: str
            links: set = field(factory=set, hash=False, eq=False)
        n = Node("n"); n.links.add(n); index[n] = n; early.add(n)
        """,
        """
        sorted(one.a for one in early if isinstance(one, K)), K(1) in early, n in early, index[K(2)], n in n.links
        n.links is index[n].links, K(4).twice
        """,
        named="early index n",
    ),
    "a future, and its condition in a variable": session(
        """
        from concurrent.futures import Future
        future = Future(); condition = future._condition; got = []; future.add_done_callback(lambda one: got.append(one.result()))
        """,
        """
        future._condition is condition
        future.set_result(4) ;; got, future.done()
        """,
    ),
}
