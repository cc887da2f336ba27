"""What is the same object as before: NaN, sentinels, aliases, views."""

from tests.contract.hard_objects import session

SESSIONS = {
    "nan as a key": session(
        """
        import numpy as np, math
        from collections import Counter
        d = {np.nan: "missing", "a": 1}
        lst = [1.0, np.nan, math.nan]
        seen = {np.nan, 2.0}
        counted = Counter([np.nan, np.nan, 1])
        both = {math.nan: "math", np.nan: "numpy"}
        nested = {"x": {np.nan: [np.nan]}}
        """,
        """
        d[np.nan]
        np.nan in lst
        math.nan in lst
        np.nan in seen
        counted[np.nan]
        both[math.nan], both[np.nan]
        nested["x"][np.nan][0] is np.nan
        lst[1] is np.nan, lst[2] is math.nan
        """,
    ),
    "what every process has once": session(
        """
        import builtins, os, random, sys
        space, variables, loaded, names = globals(), os.environ, sys.modules, vars(builtins)
        held = [space, {"path": sys.path, "argv": sys.argv}]
        """,
        """
        space is globals(), held[0] is space
        variables is os.environ
        loaded is sys.modules
        names is vars(builtins)
        held[1]["path"] is sys.path, held[1]["argv"] is sys.argv
        """,
    ),
    "a nan of one's own": session(
        """
        missing = float("nan")
        other = float("nan")
        table = {missing: 1, other: 2}
        row = [missing, 5]
        def is_missing(x): return x is missing
        class Holder:
            empty = missing
        h = Holder()
        """,
        """
        table[missing]
        table[other]
        missing in row
        is_missing(row[0])
        is_missing(other)
        h.empty is missing
        Holder.empty is missing
        missing != missing
        """,
    ),
    "nan out of pandas": session(
        """
        import pandas as pd, numpy as np
        s = pd.Series(["a", np.nan, "b", np.nan], dtype=object)
        counts = s.value_counts(dropna=False).to_dict()
        mapping = {k: i for i, k in enumerate(s.unique())}
        df = pd.DataFrame({"k": pd.Series([np.nan, "x"], dtype=object), "v": [1, 2]})
        groups = {k: len(v) for k, v in df.groupby("k", dropna=False)}
        times = {pd.NaT: 1, pd.NA: 2}
        """,
        """
        counts.get(np.nan)
        mapping[s.iloc[1]]
        [x is np.nan for x in s]
        s.map(mapping).tolist()
        times[pd.NaT], times[pd.NA]
        s.iloc[1] in list(counts)
        df["k"].map({np.nan: "none", "x": "ex"}).tolist()
        len(groups)
        """,
    ),
    "sentinels": session(
        """
        import dataclasses, inspect, enum, numpy as np
        MISSING = object()
        defaults = {"a": MISSING, "b": dataclasses.MISSING, "c": inspect.Parameter.empty, "d": ..., "e": NotImplemented}
        def get(key, default=MISSING): return "none" if default is MISSING else default
        class Unset(enum.Enum):
            token = 0
        state = {"x": Unset.token}
        masked = np.ma.masked
        nomask = np.ma.nomask
        arr = np.ma.array([1, 2, 3])
        field = dataclasses.field(default=3)
        """,
        """
        defaults["a"] is MISSING
        defaults["b"] is dataclasses.MISSING
        defaults["c"] is inspect.Parameter.empty
        defaults["d"] is ..., defaults["e"] is NotImplemented
        get("q")
        state["x"] is Unset.token
        masked is np.ma.masked
        nomask is np.ma.nomask
        arr.mask is np.ma.nomask
        field.default_factory is dataclasses.MISSING
        """,
    ),
    "aliases and views": session(
        """
        import numpy as np, pandas as pd
        a = np.arange(20.0); v = a[5:10]; r = a.reshape(4, 5).T
        frames = {"one": pd.DataFrame({"x": [1, 2, 3]})}
        one = frames["one"]
        shared = []; left = {"s": shared}; right = {"s": shared}
        m = memoryview(bytearray(b"hello")); b = m.obj
        """,
        """
        a[5] = 99 ;; v[0], r[0, 1]
        v[1] = -1 ;; a[6]
        one.loc[0, "x"] = 42 ;; frames["one"].loc[0, "x"]
        left["s"].append(1) ;; right["s"], shared
        b[0] = 74 ;; bytes(m)
        one is frames["one"]
        r.base is a or r.base.base is a or np.shares_memory(r, a)
        """,
    ),
    "sets and their order": session(
        """
        words = set("the quick brown fox jumps over the lazy dog".split())
        frozen = frozenset(words | {"extra"})
        by_set = {w: i for i, w in enumerate(words)}
        joined = " ".join(words)
        h = hash("x"); hb = hash(b"bytes"); ht = hash(("a", 1, True))
        import datetime
        hd = hash(datetime.date(2024, 1, 1))
        """,
        """
        " ".join(words) == joined
        hash("x") == h
        hash(b"bytes") == hb
        hash(("a", 1, True)) == ht
        hash(datetime.date(2024, 1, 1)) == hd
        list(by_set)[0] == next(iter(words))
        set(joined.split()) == words
        list({"n", "m", "o"})
        """,
    ),
    "a set that shrank": session(
        """
        big = set(range(0, 4000, 7));
        for i in list(big)[3:]: big.discard(i)
        order = list(big)
        text = {str(i) for i in range(300)}
        for i in range(280): text.discard(str(i))
        text_order = list(text)
        """,
        """
        list(big) == order
        list(text) == text_order
        len(big), len(text)
        sorted(text) == sorted(text_order)
        """,
        known="list(text) == text_order",
    ),
    "one object in many places": session(
        """
        class Node:
            def __init__(self, name): self.name, self.next, self.others = name, None, []
        a, b, c = Node("a"), Node("b"), Node("c")
        a.next, b.next, c.next = b, c, a
        for n in (a, b, c): n.others.extend([a, b, c])
        index = {id_: n for id_, n in zip("abc", (a, b, c))}
        loop = []; loop.append(loop)
        t = ([],); t[0].append(t)
        """,
        """
        a.next.next.next is a
        index["b"] is b and b.others[1] is b
        loop[0] is loop
        t[0][0] is t
        index["a"].name = "changed" ;; c.next.name
        type(a) is Node and isinstance(index["c"], Node)
        [n.name for n in c.others]
        """,
    ),
    "stateless objects that a cell put in the place of others": session(
        """
        import json
        open("backends.py", "w").write(
            "class Slow:\\n    def go(self): return 'slow'\\n"
            "class Fast:\\n    def go(self): return 'fast'\\ncurrent = Slow()\\nusual = current\\n"
        )
        import backends
        backends.current = backends.Fast()
        backends.more = backends.Slow()
        held = [backends.current, backends.more, backends.usual]
        json.standing = json.JSONDecodeError("a", "b", 0)
        """,
        """
        backends.current.go(), backends.more.go(), backends.usual.go()
        held[0] is backends.current, held[1] is backends.more, held[2] is backends.usual
        json.standing.msg
        """,
    ),
    "a time zone of a cell that two lists share": session(
        """
        import datetime
        class Zone(datetime.tzinfo):
            hours = 1
            def utcoffset(self, when): return datetime.timedelta(hours=self.hours)
            def dst(self, when): return None
        zone = Zone()
        a, b = [zone], {"zone": zone, "when": datetime.datetime(2024, 1, 1, tzinfo=zone)}
        del zone
        """,
        """
        a[0] is b["zone"], b["when"].tzinfo is a[0]
        a[0].hours = 5 ;; b["when"].isoformat()
        """,
    ),
    "types of which NumPy has one each": session(
        """
        import numpy as np, pandas as pd
        limits, whole = np.finfo("f4"), np.iinfo("i2")
        double, of_array, thing, flag = np.dtype("f8"), np.zeros(2).dtype, np.dtype(object), np.dtype(bool)
        others = [*map(np.dtype, (">i4", "S3", "M8[ns]", "U")), np.dtypes.StringDType(), np.longlong().dtype]
        record, marked = np.dtype([("a", "f8"), ("b", "i4")]), np.dtype("f8", metadata={"unit": "m"})
        part, held = pd.IndexSlice, {double: "floats", thing: "objects"}
        """,
        """
        np.finfo("f4") is limits, limits.max, whole.max, np.iinfo("i2").min
        np.dtype("f8") is double is of_array is np.zeros(1).dtype, np.dtype(object) is thing, np.dtype(bool) is flag
        others, record, record["a"] is double, dict(marked.metadata), others[-1] is np.dtype("q"), others[-1].char
        part is pd.IndexSlice, held[np.dtype("f8")], held[np.zeros(1, object).dtype]
        """,
    ),
}
