"""Sessions of analysts: frames of objects, views and copies, closures, contexts left open, errors kept, signals."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "notebook: frames that hold what is not a number": session(
        """
        import pandas as pd, numpy as np, re, datetime as dt, decimal, pathlib, uuid
        from sklearn.linear_model import LinearRegression
        def gen(n):
            for i in range(n): yield i
        groups = pd.DataFrame({"k": ["a", "b"], "lo": [0, 5]}); tags = ["x"]; rec = {"tags": tags}; rec["self"] = rec
        frame = pd.DataFrame({"name": ["a", "b"], "model": [LinearRegression().fit([[0], [1]], [0, 1]), None], "sub": [groups, groups.copy()], "f": [lambda x: x + shift, len], "it": [gen(3), gen(5)], "rec": [rec, tags], "when": [dt.date(2024, 1, 1), dt.date(2024, 2, 1)], "amount": [decimal.Decimal("1.10"), decimal.Decimal("2.20")], "path": [pathlib.Path("a/b"), pathlib.PurePosixPath("c")]}, index=[uuid.UUID(int=1), uuid.UUID(int=2)]); shift = 1
        """
        + "# %%\n"
        + """
        model = frame.loc[uuid.UUID(int=1), "model"]; next(frame["it"].iloc[0]); by_name = frame.set_index("name"); it = by_name.loc["b", "it"]; subs = by_name["sub"]; copy = frame.copy(); deep = pd.DataFrame({"a": [[1, 2], [3]]}); long = deep.explode("a"); cells = deep["a"]; frame.attrs["model"] = model; frame.attrs["me"] = tags; stacked = by_name[["amount", "when"]].stack(); obj = np.array([tags, rec, None], dtype=object); nested = pd.Series({"outer": pd.Series({"inner": groups})}); frame_self = pd.DataFrame({"x": [None]}); frame_self.at[0, "x"] = frame_self
        """,
        """
        by_name.loc["a", "model"] is model, copy["model"].iloc[0] is model, frame.attrs["model"] is model, model.predict([[2]]).round(6).tolist()
        next(it), next(frame["it"].iloc[1]), next(by_name.loc["a", "it"]), next(copy["it"].iloc[0])
        shift = 10 ;; [f(5) for f in [frame["f"].iloc[0], by_name.loc["a", "f"]]], frame["f"].iloc[1]("abc")
        groups.loc[0, "lo"] = 99 ;; subs["a"]["lo"].tolist(), subs["b"]["lo"].tolist(), subs["a"] is groups, nested["outer"]["inner"] is groups
        tags.append("y") ;; frame["rec"].iloc[1], rec["self"] is rec, frame["rec"].iloc[0] is rec, obj[0] is tags, frame.attrs["me"] is tags, sorted(copy.attrs), copy["rec"].iloc[1] is tags
        cells[0].append(7) ;; deep["a"].tolist(), long["a"].tolist()
        model.coef_[:] = 5 ;; copy["model"].iloc[0].predict([[1]]).round(4).tolist(), frame["amount"].sum(), frame["path"].iloc[0] / "z"
        frame_self.at[0, "x"] is frame_self, frame["when"].max(), stacked.index.names, frame.index[0] == uuid.UUID(int=1)
        frame["amount"].iloc[0].is_signed(), sorted(type(v).__name__ for v in frame.iloc[0]), frame.loc[uuid.UUID(int=2), "name"]
        """,
        named="frame by_name it subs copy",
    ),
    "notebook: who shares memory after all the slicing": session(
        """
        import pandas as pd, numpy as np, pyarrow as pa
        base = np.arange(12.0).reshape(6, 2); df = pd.DataFrame(base, columns=["a", "b"], copy=False); raw = df.to_numpy(); half = df.iloc[:3]; col = df["a"]; renamed = df.rename(columns={"a": "z"}); reset = df.reset_index(drop=True); assigned = df.assign(c=1); view = col[:3]; head = df.head(2)
        words = pd.Series(["x", "yy", "x"]); wa = words.array; tail = words.iloc[1:]; nullable = pd.Series([1, None, 3], dtype="Int64"); nview = nullable.iloc[:2]; arrow = pd.Series([1, 2], dtype="int64[pyarrow]"); dates = pd.Series(pd.date_range("2024", periods=3)); dvals = dates.array._ndarray
        """
        + "# %%\n"
        + """
        def edit(frame): frame.loc[0, "a"] = -1.0; return frame
        edited = edit(half.copy(deep=False)); it = df.itertuples(); loc = half.loc; d = {"df": df, "col": col, "nest": {"half": half}}; cats = pd.Series(["p", "q", "p"], dtype="category"); cat2 = cats.iloc[:2]; same = cats.cat.categories; multi = {k: v for k, v in df.items()}; wide = pd.concat([df, renamed], axis=1); raw_writable = np.array(df["b"]); sl = base[::2]; tmp = df.T; mask = df["a"] > 4; sel = df[mask]; sel.loc[sel.index[0], "a"] = 1000.0; sw = df.swapaxes if hasattr(df, "swapaxes") else None
        """,
        """
        base[0, 0] = 500.0 ;; df.loc[0, "a"], half.loc[0, "a"], col[0], renamed.loc[0, "z"], view[0], edited.loc[0, "a"], raw[0, 0], sl[0, 0], wide.iloc[0, 0]
        raw.flags.writeable, half.to_numpy().flags.writeable, np.shares_memory(raw, base), np.shares_memory(half["b"].to_numpy(), df["b"].to_numpy()), np.shares_memory(multi["a"].to_numpy(), base)
        df.loc[1, "a"] = 7.0 ;; base[1, 0], half.loc[1, "a"], col[1], multi["a"][1], raw[1, 0], d["df"] is df, d["nest"]["half"].loc[1, "a"]
        base[2, 1] = -9.0 ;; df.loc[2, "b"], half.loc[2, "b"], assigned.loc[2, "b"], reset.loc[2, "b"], head.shape, tmp.iloc[1, 2]
        col.iloc[2] = 33.0 ;; base[2, 0], view[2], df.loc[2, "a"], np.shares_memory(col.to_numpy(), base)
        wa[0] = "changed" ;; words[0], tail.tolist(), words.array is wa
        nview.iloc[0] = 50; nullable.iloc[2] = 60 ;; nullable.tolist(), nview.tolist(), np.shares_memory(nview.array._data, nullable.array._data)
        dvals[0] = np.datetime64("2030-01-01") ;; dates[0].year, dates.array._ndarray is dvals
        cats.iloc[0] = "q" ;; cat2.tolist(), cats.cat.categories is same, np.shares_memory(cat2.cat.codes.to_numpy(), cats.cat.codes.to_numpy())
        next(it).a, sel["a"].tolist(), df["a"].tolist(), raw_writable.flags.writeable, edited.equals(half), arrow.array._pa_array.num_chunks
        """,
        named="it",
    ),
    "notebook: functions made of functions": session(
        """
        import functools, operator, itertools, pandas as pd, numpy as np, types, inspect
        def counter(start=0):
            n = start
            def up(by=1):
                nonlocal n
                n += by
                return n
            def get(): return n
            return up, get
        up, get = counter(5); table = pd.DataFrame({"x": [1, 2, 3]})
        def plan(df=table, *, fs=[], **kw): fs.append(len(df)); return df["x"].sum() + len(fs)
        fns = [lambda x, i=i: x * i for i in range(3)]; late = [lambda: i for i in range(3)]
        def pipeline(*fs): return functools.reduce(lambda f, g: lambda x: g(f(x)), fs)
        flow = pipeline(lambda d: d.assign(y=d["x"] * 2), operator.methodcaller("query", "y > 2"), operator.itemgetter("y"), np.sum)
        class Memo:
            def __init__(self, f): self.f = f; self.seen = {}; functools.update_wrapper(self, f)
            def __call__(self, *a):
                if a not in self.seen: self.seen[a] = self.f(*a)
                return self.seen[a]
            def __get__(self, obj, t=None): return self if obj is None else functools.partial(self, obj)
        @Memo
        def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
        """
        + "# %%\n"
        + """
        fib(20); part = functools.partial(plan, table, tag="t"); part2 = functools.partial(part, extra=1); bound = table["x"].add; cmp = sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a)); rec = types.FunctionType(fib.f.__code__, {"fib": lambda n: 100}, "rec"); odd = lambda n: n != 0 and even(n - 1); even = lambda n: n == 0 or odd(n - 1)
        def make(k):
            class Scaled:
                factor = k
                def go(self, x): return x * self.factor * len(__class__.__name__) + up(0)
                def __init_subclass__(cls): made.append(cls.__name__)
            return Scaled
        made = []; A, B = make(2), make(3); a = A(); pick = functools.singledispatch(lambda x: "any"); pick.register(int, lambda x: f"int{get()}"); pick.register(pd.DataFrame)(lambda d: d.shape); A.Sub = type("Sub", (A,), {}); total = functools.partialmethod(plan, fs=[1]); cell = up.__closure__[0]; gets = {"up": up, "get": get}; lz = map(up, itertools.repeat(10)); next(lz); filt = filter(lambda v: v % 2, itertools.accumulate(itertools.count(1))); next(filt); acc = itertools.accumulate([1, 2, 3, 4], lambda a, b: a * b * get()); next(acc)
        """,
        """
        up(2), get(), gets["get"](), up.__closure__[0] is cell, get.__closure__[0] is cell, next(lz), get()
        plan(), plan.__kwdefaults__["fs"], part(), part2.keywords, part2.func is plan
        table.loc[0, "x"] = 100 ;; plan(), flow(table), bound(1).tolist(), plan.__defaults__[0] is table
        [f(5) for f in fns], [f() for f in late], cmp
        cell.cell_contents = 1000 ;; get(), up(), a.go(1), pick(3)
        fib(25), len(fib.seen), fib.__wrapped__ is fib.f, fib.__name__, rec(7)
        even(10), odd(7), inspect.signature(plan), rec.__globals__["fib"](1)
        B().go(2), A is B, A.__name__ == B.__name__, made, isinstance(A.Sub(), A), type("Late", (B,), {}).__mro__[1] is B, made
        pick(table), pick.dispatch(bool) is pick.dispatch(int), sorted(t.__name__ for t in pick.registry)
        next(filt), next(filt), list(acc), A.go.__code__ is B.go.__code__, A.go.__closure__[0].cell_contents is A
        """,
    ),
    "notebook: contexts that were never left": session(
        """
        import contextlib, warnings, numpy as np, pandas as pd, io, sys, decimal, os, tempfile, unittest.mock as mock, matplotlib.pyplot as plt, threadpoolctl, joblib, locale, random
        log = []
        @contextlib.contextmanager
        def timed(name):
            log.append(("in", name)); setting = {"n": name}
            try:
                yield setting
            finally:
                log.append(("out", setting["n"]))
        t = timed("load"); setting = t.__enter__(); err = np.errstate(all="ignore", divide="raise"); err.__enter__(); warn = warnings.catch_warnings(record=True); caught = warn.__enter__(); warnings.simplefilter("always"); pd_ctx = pd.option_context("display.width", 33); pd_ctx.__enter__()
        """
        + "# %%\n"
        + """
        rate = 1.0
        def price(x): return x * rate
        class Api:
            base = "live"
            def get(self, k): return f"{self.base}/{k}"
        api = Api(); patch = mock.patch.object(Api, "get", return_value="fake"); fake = patch.start(); api.get("a"); envp = mock.patch.dict(os.environ, {"MODE": "dry"}); envp.start(); stack = contextlib.ExitStack(); inner = stack.enter_context(timed("inner")); stack.callback(log.append, "cb"); keep = stack.enter_context(open("open.txt", "w+")); keep.write("draft"); style = plt.style.context({"lines.linewidth": 9}); style.__enter__(); dec = decimal.localcontext(prec=3); dec.__enter__(); jb = joblib.parallel_config(n_jobs=2); jb.__enter__(); buf = io.StringIO(); redir = contextlib.redirect_stdout(buf); m = mock.MagicMock(side_effect=lambda x: price(x)); m(3); m.child.deep(1, k=2); spy = mock.Mock(wraps=api); sp = mock.create_autospec(price); supp = contextlib.suppress(KeyError); cl = contextlib.closing(io.StringIO("z")); nul = contextlib.nullcontext(log)
        """,
        """
        log, setting["n"], plt.rcParams["lines.linewidth"], decimal.Decimal(1) / 3, pd.get_option("display.width"), os.environ.get("MODE")
        np.geterr()["divide"], np.geterr()["over"], err.__exit__(None, None, None), np.geterr()["divide"]
        warnings.warn("careful") ;; [str(w.message) for w in caught], warn.__exit__(None, None, None), len(caught)
        api.get("x"), fake.call_count, fake.call_args, Api.get is fake
        patch.stop() ;; api.get("x"), envp.stop(), os.environ.get("MODE"), spy.get("q"), spy.mock_calls
        rate = 7.0 ;; m(2), m.call_args_list, m.child.deep.call_args.kwargs, m.mock_calls[1], m.child is m.child
        setting["n"] = "renamed"; t.__exit__(None, None, None) ;; log[-1], inner
        inner["n"] = "deep"; keep.write("!"); stack.close() ;; log[-2:], keep.closed, open("open.txt").read()
        pd_ctx.__exit__(None, None, None), style.__exit__(None, None, None), dec.__exit__(None, None, None) ;; pd.get_option("display.width"), plt.rcParams["lines.linewidth"], decimal.getcontext().prec
        jb.__exit__(None, None, None), joblib.parallel.get_active_backend()[1], redir.__enter__() is buf, print("caught"), redir.__exit__(None, None, None), buf.getvalue()
        sp(1, 2)
        """.replace(
            "sp(1, 2)", "sp(4) is sp.return_value, sp.call_args, nul.__enter__() is log, cl.__enter__().read()"
        ),
        named="t err pd_ctx stack style dec jb",
    ),
    "notebook: errors that are kept and looked at": session(
        """
        import pandas as pd, numpy as np, traceback, sys, warnings, collections
        class Bad(ValueError):
            seen = []
            def __init__(self, row, why): super().__init__(f"row {row}: {why}"); self.row = row; Bad.seen.append(row)
            def __reduce__(self): return (Bad, (self.row, "again"))
        frame = pd.DataFrame({"v": ["1", "x", "3"]}); errors = {}; ok = []
        def parse(i, v):
            secret = {"v": v}
            try: return int(v)
            except ValueError as e: raise Bad(i, "not a number") from e
        for i, v in frame["v"].items():
            try: ok.append(parse(i, v))
            except Bad as e: e.add_note("see the manual"); e.frame = frame; errors[i] = e
        first = errors[1]; tb = first.__traceback__; cause = first.__cause__
        """
        + "# %%\n        # raises\n"
        + """
        total = sum(ok); bad_rows = list(errors); half = iter(ok); next(half)
        raise Bad(99, "half way")
        """
        + "# %%\n"
        + """
        group = ExceptionGroup("all", [first, KeyError("k"), ExceptionGroup("in", [TypeError("t")])]); lines = traceback.format_exception(first); te = traceback.TracebackException.from_exception(first, capture_locals=True); stack = traceback.extract_tb(tb); deepest = tb.tb_next.tb_frame; gen = (parse(i, v) for i, v in enumerate(["7", "8", "q"])); next(gen); results = collections.OrderedDict((k, repr(e)) for k, e in errors.items()); excs = [Bad, KeyError]; pe = None
        try: pd.to_datetime("32/13/2024", format="%d/%m/%Y")
        except ValueError as e: pe = e
        """,
        """
        first.row, str(first), first.__notes__, first.frame is frame, errors[1] is first, Bad.seen
        first.__cause__ is cause, type(cause).__name__, str(cause), first.__suppress_context__, first.args
        total, bad_rows, next(half), sorted(results.items())
        tb is not None and first.__traceback__ is tb, [f.name for f in stack], len(lines)
        "".join(lines).count("Bad"), te.exc_type is Bad if hasattr(te, "exc_type") else None, [s.name for s in te.stack]
        deepest.f_locals["secret"], deepest.f_code is parse.__code__, deepest.f_code.co_name
        m, r = group.split(Bad) ;; m.exceptions[0] is first, len(r.exceptions), group.subgroup(TypeError).exceptions[0].message, str(group)
        next(gen), len(Bad.seen)
        next(gen)
        gen is pe, len(Bad.seen), type(pe).__name__, "32/13" in str(pe), [issubclass(e, ValueError) for e in excs]
        Bad.__str__ = lambda self: "hidden" ;; str(first), traceback.format_exception_only(first), repr(first)
        """,
        named="deepest gen",
    ),
    "notebook: signals, clusters and images": session(
        """
        import numpy as np, pandas as pd
        from scipy import signal, ndimage, cluster, fft, interpolate; from scipy.cluster import hierarchy
        rng = np.random.default_rng(6); x = np.sin(np.arange(64) / 4) + rng.normal(0, 0.1, 64); b, a = signal.butter(2, 0.2); zi = signal.lfilter_zi(b, a) * x[0]; y, zi = signal.lfilter(b, a, x[:32], zi=zi); sys_ = signal.lti([1], [1, 1]); dsys = signal.dlti([0.5], [1, -0.5]); sft = signal.ShortTimeFFT(signal.windows.hann(16), hop=8, fs=1.0, scale_to="magnitude"); wins = {}
        class Stream:
            def __init__(self, sos): self.sos = sos; self.zi = signal.sosfilt_zi(sos) * 0; self.n = 0; self.taps = []
            def __call__(self, block):
                out, self.zi = signal.sosfilt(self.sos, block, zi=self.zi); self.n += len(block)
                for t in self.taps: t(self, out)
                return out
            def __or__(self, other): return lambda block: other(self(block))
        low = Stream(signal.butter(2, 0.3, output="sos")); high = Stream(signal.butter(2, 0.05, "high", output="sos")); both = low | high; energy = []
        low.taps.append(lambda s, o: energy.append(round(float((o**2).sum()) * gain, 5))); gain = 1.0; both(x[:16])
        """
        + "# %%\n"
        + """
        Z = hierarchy.linkage(x[:10].reshape(-1, 1), "ward"); root, nodes = hierarchy.to_tree(Z, rd=True); left = root.get_left(); order = []; dn = hierarchy.dendrogram(Z, no_plot=True, link_color_func=lambda k: colors[k % 2]); colors = "rb"
        """.replace('; colors = "rb"', "").replace("Z = hier", 'colors = "rb"; Z = hier')
        + """
        img = np.zeros((6, 6)); img[1:3, 1:3] = 1; img[4, 4] = 2; lab, n = ndimage.label(img); sl = ndimage.find_objects(lab); patch = img[sl[0]]; foot = ndimage.generate_binary_structure(2, 1); calls = []
        def local(w): calls.append(len(w)); return w.max() - w.min() * k
        k = 1.0; edge = ndimage.generic_filter(img, local, footprint=foot); step = sys_.step(N=5); peaks, props = signal.find_peaks(x, prominence=0.5); book, dist = cluster.vq.kmeans(x[:, None], x[[0, 10], None]); pp = interpolate.PPoly(np.array([[1.0, 2.0], [0.0, 1.0]]), [0, 1, 2]); pchip = interpolate.PchipInterpolator([0, 1, 2], [0, 1, 4]); rbf = interpolate.RBFInterpolator(np.arange(5.0)[:, None], np.arange(5.0)); spl = interpolate.make_interp_spline([0, 1, 2, 3], [0, 1, 4, 9]); bary = interpolate.BarycentricInterpolator([0, 1, 2]); bary.set_yi([0, 1, 4])
        """,
        """
        out, zi2 = signal.lfilter(b, a, x[32:], zi=zi) ;; out[:3].round(6).tolist(), zi2.round(6).tolist()
        both(x[16:32])[:3].round(6).tolist(), low.n, high.n, energy
        gain = 100.0; _y = low(x[32:48]) ;; energy[-1], low.zi.round(6).tolist()[0]
        root.get_count(), left is root.left, root.left.dist.round(4), root.pre_order()[:4], nodes[-1] is root, left.pre_order(order.append) is not None
        dn["leaves"], dn["color_list"][:2], hierarchy.fcluster(Z, 3, "maxclust").tolist()
        img[1, 1] = 9 ;; patch.tolist(), ndimage.generic_filter(img, local, footprint=foot)[1, 2], len(calls)
        k = 0.0 ;; ndimage.generic_filter(img, local, footprint=foot)[0, 1], edge[0, 1], sl[1]
        sys_.poles.tolist(), step[1].round(4).tolist(), dsys.output(np.ones(3), [0, 1, 2])[1].round(4).ravel().tolist(), type(sys_).__name__
        sft.stft(x).shape, abs(sft.stft(x)[3, 2]).round(5), sft.scaling, sft.T
        pp.c[0, 0] = 50.0; spl.c[0] = 1.0 ;; pp(0.5).item(), spl(0.0).item(), pchip(0.5).item(), rbf([[1.5]]).round(4).tolist(), bary(1.5).item()
        bary.add_xi([3], [9]) ;; bary(2.5).item(), pp.antiderivative()(1.0).round(4).item(), pchip.derivative()(1.0).item(), peaks.tolist(), props["prominences"].round(3).tolist()[:1]
        """,
    ),
    "notebook: things sorted, packed and counted": session(
        """
        import array, struct, bisect, heapq, collections, sortedcontainers, itertools, numpy as np, pandas as pd, ctypes, mmap, zlib, hashlib, hmac, bz2, lzma, secrets, statistics
        from sortedcontainers import SortedDict, SortedList, SortedKeyList, SortedSet
        rank = {"hi": 0, "lo": 1}; prio = SortedKeyList(["lo", "hi", "lo"], key=lambda v: rank[v]); book = SortedDict(lambda k: -k, {1: "a", 3: "c"}); keys = book.keys(); irange = book.irange(); next(irange); ss = SortedSet([3, 1, 2], key=lambda v: v % sign if sign > 1 else v * sign); sign = 1
        """.replace("; sign = 1\n", "\n").replace("rank = {", "sign = 1; rank = {")
        + "# %%\n"
        + """
        nums = array.array("d", [1, 2, 3]); mv = memoryview(nums); half = mv[1:]; arr = np.frombuffer(nums); pack = struct.Struct("<if"); raw = bytearray(pack.pack(7, 1.5)); unp = pack.iter_unpack(bytes(raw) * 2); next(unp); cnt = collections.Counter("abca"); el = cnt.elements(); next(el); od = collections.OrderedDict(a=1, b=2); rit = reversed(od); next(rit); dq = collections.deque(range(5), maxlen=5); dit = iter(dq); next(dit); comp = zlib.compressobj(); part = comp.compress(b"abc" * 100); h = hashlib.sha1(b"x"); h2 = h.copy(); mac = hmac.new(b"k", b"m", "sha256"); z = bz2.BZ2Compressor(); z.compress(b"data"); lz = lzma.LZMADecompressor(); packed = lzma.compress(b"hello" * 50); got = lz.decompress(packed[:70], 10)
        class Rec(ctypes.Structure): _fields_ = [("n", ctypes.c_int), ("v", ctypes.c_double * 2)]
        r = Rec(3, (1.0, 2.0)); vs = r.v; over = Rec.from_buffer(bytearray(24)); carr = (ctypes.c_int * 4)(*range(4)); npc = np.ctypeslib.as_array(carr); cb = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda v: v * sign + 1); open("m.bin", "wb").write(bytes(range(16))); fm = open("m.bin", "r+b"); mm = mmap.mmap(fm.fileno(), 0); mm.seek(4); npm = np.frombuffer(mm, "u1"); default = collections.defaultdict(lambda: collections.defaultdict(list)); default["a"]["b"].append(1); merge = heapq.merge([1, 4], [2, 3], key=lambda v: v * sign); next(merge); ud = collections.UserDict(a=1); view = od.items(); grp = itertools.groupby("aabbc"); gk, gi = next(grp); pw = itertools.pairwise([1, 2, 3]); next(pw); zl = itertools.zip_longest([1, 2], [3], fillvalue=rank); next(zl)
        """,
        """
        book[9] = "z" ;; list(keys), book.peekitem(0), list(book.keys()), book.bisect(2)
        prio.add("hi"), list(prio), prio.key("lo"), rank.update(mid=0.5), prio.add("mid"), list(prio)
        ss.add(0), list(ss), ss.key(5)
        half[0] = 50.0 ;; nums.tolist(), arr.tolist(), mv.nbytes, half.obj is nums
        next(unp), pack.size, list(unp), pack.unpack_from(raw)
        "".join(el), next(rit), list(dit), dq.maxlen, next(merge), list(merge), next(zl)[1] is rank
        zlib.decompress(part + comp.flush())[:6], h.hexdigest() == h2.hexdigest(), h2.update(b"y"), h.hexdigest()[:6], h2.hexdigest()[:6], mac.hexdigest()[:6]
        bz2.decompress(z.compress(b"more") + z.flush()), got, lz.eof, lz.decompress(packed[70:])[:5]
        vs[1] = 9.0; carr[0] = 42 ;; r.v[1], npc[0], ctypes.sizeof(over), cb(4), over.n
        sign = -1 ;; cb(4), mm.read(2), npm[0], mm.tell(), mm.size(), fm.tell()
        default["x"]["y"].append(2) ;; default["a"]["b"], default["x"]["y"], default.default_factory()["q"], ud | {"b": 2}, list(view), next(grp)[0], list(gi), list(pw)
        """,
        named="mv half unp comp h h2 mac z lz Rec r over cb mm merge",
    ),
    "notebook: splitters, weights and ensembles of one's own": session(
        """
        import numpy as np, pandas as pd
        from sklearn.model_selection import BaseCrossValidator, cross_val_score, GroupKFold, TimeSeriesSplit, learning_curve; from sklearn.base import BaseEstimator, RegressorMixin, MetaEstimatorMixin, clone, ClassifierMixin; from sklearn.utils.metaestimators import available_if; from sklearn.linear_model import LinearRegression, Ridge; from sklearn.tree import DecisionTreeRegressor; from sklearn.utils.validation import check_is_fitted
        rng = np.random.RandomState(4); X = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc")); y = pd.Series(X["a"] * 2 + rng.normal(0, 0.1, 40)); days = pd.Series(pd.date_range("2024", periods=40)); splits = []
        class Walk(BaseCrossValidator):
            def __init__(self, n=3, gap=1): self.n = n; self.gap = gap
            def get_n_splits(self, X=None, y=None, groups=None): return self.n
            def split(self, X, y=None, groups=None):
                for i in range(self.n):
                    end = 10 * (i + 1); splits.append(end); yield np.arange(end - self.gap), np.arange(end, min(end + 10, len(X)))
        def can(est): return hasattr(est.models[0], "coef_") or not strict
        strict = True
        class Blend(MetaEstimatorMixin, RegressorMixin, BaseEstimator):
            def __init__(self, models=None, weight=None): self.models = models; self.weight = weight
            def fit(self, X, y): self.fitted_ = [clone(m).fit(X, y) for m in self.models]; self.memory_ = [y.mean()]; return self
            def predict(self, X): w = (self.weight or (lambda i: 1.0)); ws = np.array([w(i) for i in range(len(self.fitted_))]); return sum(k * m.predict(X) for k, m in zip(ws, self.fitted_)) / ws.sum()
            @available_if(can)
            def explain(self, X): return self.fitted_[0].coef_.round(4).tolist()
            def __sklearn_tags__(self): tags = super().__sklearn_tags__(); tags.non_deterministic = flag; return tags
            def __getstate__(self): s = dict(super().__getstate__()); s.pop("memory_", None); saved.append(1); return s
        flag = False; saved = []
        """
        + "# %%\n"
        + """
        favour = [1.0, 0.0]; models = [Ridge(0.1), DecisionTreeRegressor(max_depth=2, random_state=rng)]; models[0].coef_ = None; blend = Blend(models, weight=lambda i: favour[i]).fit(X, y); cv = Walk(gap=2); folds = cv.split(X); tr, te = next(folds); scores = cross_val_score(LinearRegression(), X, y, cv=cv); explain = blend.explain; ts = TimeSeriesSplit(3).split(X); next(ts); table = {name: clone(blend).set_params(weight=None).fit(X.iloc[i:], y.iloc[i:]) for name, i in [("all", 0), ("half", 20)]}; coefs = blend.fitted_[0].coef_; tree = blend.fitted_[1].tree_; saved_before = len(saved)
        """,
        """
        blend.predict(X.iloc[:2]).round(4).tolist(), explain(X), blend.memory_ == [y.mean()], len(saved) == saved_before
        favour[:] = [0.0, 1.0] ;; blend.predict(X.iloc[:2]).round(4).tolist(), blend.weight(1)
        next(folds)[0].size, splits[-1], [len(b) for _, b in folds], len(splits)
        next(ts)[1].tolist()[:2], scores.round(4).tolist(), cv.get_n_splits()
        strict = True; del models[0].coef_ ;; hasattr(blend, "explain"), blend.models is models
        strict = False ;; blend.explain(X), table["all"].explain(X), table["half"].models[0] is models[0]
        coefs[:] = 0; favour[:] = [1.0, 0.0] ;; blend.predict(X.iloc[:2]).round(4).tolist(), blend.fitted_[0].coef_ is coefs, blend.fitted_[1].tree_ is tree
        flag = True ;; blend.__sklearn_tags__().non_deterministic, table["all"].__sklearn_tags__().non_deterministic, hasattr(table["half"], "memory_")
        models[1].random_state is rng, rng.randint(10**6), blend.fitted_[1].random_state is rng
        y.iloc[0] = 1e6; cv.gap = 9 ;; cross_val_score(LinearRegression(), X, y, cv=cv).round(2).tolist()[1:], splits[-3:]
        """,
        named="folds ts",
    ),
}
