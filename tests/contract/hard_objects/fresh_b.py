"""Long sessions as analysts have them: helper modules, caches, models, figures, errors in between."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "cleaning a table over an afternoon": session(
        r"""
        import pandas as pd, numpy as np, pathlib
        pathlib.Path("orders.csv").write_text("id,when,amount,city\n" + "\n".join(f"{n},2024-0{n % 6 + 1}-1{n % 9},{n * 1.5},{'Köln' if n % 3 else ' bonn '}" for n in range(40)) + "\n40,bad,,\n")
        # %%
        raw = pd.read_csv("orders.csv"); df = raw.copy(); history = []
        def log_step(name, before, after): history.append((name, len(before), len(after), id(before) == id(after)))
        # %%
        pathlib.Path("cleaning.py").write_text("import pandas as pd\nRULES = {}\ndef rule(f):\n    RULES[f.__name__] = f\n    return f\n@rule\ndef trim(s):\n    return s.str.strip().str.title()\n_calls = {'n': 0}\ndef apply(df, col, name):\n    _calls['n'] += 1\n    df[col] = RULES[name](df[col])\n    return df\n")
        import cleaning
        # %%
        df["when"] = pd.to_datetime(df["when"], errors="coerce"); bad = df[df.when.isna()]; df = df.dropna(subset=["when"]).copy()
        log_step("dates", raw, df)
        # %%
        df = cleaning.apply(df, "city", "trim"); df["city"] = df.city.astype("category")
        # %%
        @cleaning.rule
        def cents(s): return (s * 100).astype("Int64")
        cleaning.apply(df, "amount", "cents"); total = df.amount.sum()
        # %%
        # raises
        df["ratio"] = df.amount / total; step = "half"; df["broken"] = df["no such column"]; step = "never"
        # %%
        by_city = df.groupby("city", observed=True); sums = by_city.amount.sum(); cache = {"sums": sums, "groups": dict(list(by_city))}
        # %%
        def summary(frame=df, scale=[1]): scale.append(len(frame)); return frame.amount.max(), list(scale)
        summary()
        # %%
        df.loc[df.index[0], "amount"] = 999_999; df.attrs["source"] = "orders.csv"; df.flags.allows_duplicate_labels = False; df.flags.allows_duplicate_labels = True
        monthly = df.set_index("when").resample("MS").amount.sum(); roll = df.amount.rolling(3, min_periods=1); ewm = df.amount.astype(float).ewm(span=3)
        # %%
        def log_step(name, before, after): history.append(name.upper())
        log_step("last", None, None); steps_done = len(history)
        """.replace("# %% \n        # raises", "# %%\n        # raises"),
        r"""
        step, "broken" in df, "ratio" in df
        summary(), summary.__defaults__[0] is df
        history, steps_done
        sorted(cleaning.RULES), cleaning.RULES["cents"] is cents, cleaning._calls
        cache["sums"] is sums, cache["groups"]["Bonn"].shape, by_city.obj is df, by_city.ngroups
        df.attrs, df.flags.allows_duplicate_labels, df.city.cat.categories.tolist(), df.amount.dtype
        monthly.index.freqstr, monthly.iloc[0]
        roll.sum().iloc[2], roll.obj is df.amount, ewm.mean().round(2).iloc[2]
        bad.index.tolist(), raw.dtypes.astype(str).tolist()
        log_step("x", 1, 2) ;; history[-1]
        cleaning.apply(df, "ratio", "cents") is df, cleaning._calls["n"], df.ratio.dtype
        df.loc[df.index[1], "amount"] = 0 ;; cache["groups"]["Köln"].amount.iloc[0], summary()[0]
        """,
        named="by_city",
    ),
    "models that are compared": session(
        r"""
        import numpy as np, pandas as pd, sklearn, warnings
        from sklearn.pipeline import Pipeline, make_pipeline; from sklearn.preprocessing import StandardScaler, FunctionTransformer; from sklearn.linear_model import LogisticRegression, SGDClassifier; from sklearn.ensemble import RandomForestClassifier; from sklearn.base import BaseEstimator, TransformerMixin, clone
        rng = np.random.default_rng(0); X = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc")); y = (X.a + X.b > 0).astype(int)
        # %%
        class Clip(BaseEstimator, TransformerMixin):
            seen = []
            def __init__(self, at=1.0): self.at = at
            def fit(self, X, y=None): self.n_ = len(X); Clip.seen.append(self.at); return self
            def transform(self, X): return np.clip(X, -self.at, self.at)
        # %%
        offset = 0.0
        def shift(X): return X + offset
        pipe = Pipeline([("clip", Clip(2.0)), ("shift", FunctionTransformer(shift)), ("scale", StandardScaler()), ("lr", LogisticRegression())]).fit(X, y)
        # %%
        scores = {}; models = {"pipe": pipe}
        def evaluate(name): scores[name] = round(float(models[name].score(X, y)), 4); return scores[name]
        evaluate("pipe")
        # %%
        sgd = SGDClassifier(random_state=np.random.RandomState(4)); sgd.partial_fit(X, y, classes=[0, 1]); models["sgd"] = sgd; evaluate("sgd")
        # %%
        forest = RandomForestClassifier(5, random_state=1, warm_start=True).fit(X, y); models["rf"] = forest
        # %%
        best = max(scores, key=scores.get); winner = models[best]; coef = pipe.named_steps["lr"].coef_; coef[0, 0] = 5.0
        # %%
        # raises
        for name in ["rf", "sgd", "missing", "pipe"]: last = name; evaluate(name)
        # %%
        try: models["bad"].fit(X)
        except KeyError as e: problem = e
        sklearn.set_config(transform_output="pandas", display="text")
        unfitted = clone(pipe); unfitted.set_params(clip__at=0.5); importances = pd.Series(forest.feature_importances_, X.columns)
        # %%
        history = pd.DataFrame([{"model": n, "score": s} for n, s in scores.items()]); top = history.nlargest(1, "score")
        """,
        r"""
        last, sorted(scores), problem.args
        pipe.predict(X)[:10].tolist(), pipe.named_steps["lr"].coef_ is coef
        offset = 3.0 ;; pipe.predict(X)[:10].tolist(), pipe.named_steps["shift"].func is shift
        Clip.seen, type(pipe[0]) is Clip, pipe[0].n_
        models["sgd"] is sgd, sgd.partial_fit(X, y).coef_.round(4).tolist(), sgd.random_state.get_state()[2]
        forest.set_params(n_estimators=7).fit(X, y) ;; len(forest.estimators_), forest.predict(X)[:5].tolist()
        winner is models[best], best
        unfitted.get_params()["clip__at"], unfitted.fit(X, y).score(X, y) > 0, Clip.seen
        type(pipe[:-1].transform(X)).__name__, repr(sklearn.get_config()["transform_output"])
        evaluate("rf") == scores["rf"], history.model.tolist()
        rng.normal(), importances.index.tolist(), top.model.tolist()
        """,
    ),
    "a figure that grows": session(
        r"""
        import matplotlib.pyplot as plt, numpy as np, pandas as pd, matplotlib as mpl
        plt.rcParams["figure.dpi"] = 50; fig, axes = plt.subplots(2, 2, figsize=(4, 4), sharex="col"); ax = axes[0, 0]
        # %%
        xs = np.linspace(0, 1, 5); (line,) = ax.plot(xs, xs ** 2, label="sq", marker="o"); ax.set_title("Fläche"); ax.axhline(0.5, ls="--")
        # %%
        data = pd.DataFrame({"k": list("abc"), "v": [3, 1, 2]}); bars = axes[0, 1].bar(data.k, data.v); twin = ax.twinx(); twin.plot(xs, -xs, "r")
        # %%
        artists = {"line": line, "bars": bars, "note": ax.annotate("here", (0.5, 0.25))}
        def restyle(color="k"):
            for p in bars.patches: p.set_facecolor(color)
            return [p.get_facecolor() for p in bars.patches][0]
        # %%
        im = axes[1, 0].imshow(np.arange(6).reshape(2, 3), cmap="magma"); cb = fig.colorbar(im, ax=axes[1, 0]); leg = ax.legend(loc="upper left")
        # %%
        # raises
        axes[1, 1].plot([1, 2], [1, 2, 3])
        # %%
        axes[1, 1].set_yscale("log"); hist = axes[1, 1].hist([1, 2, 2, 3], bins=3); fmt = mpl.ticker.FuncFormatter(lambda v, p: f"{v:.1f}{unit}"); unit = "€"; axes[1, 1].xaxis.set_major_formatter(fmt)
        # %%
        clicks = []; cid = fig.canvas.mpl_connect("button_press_event", lambda e: clicks.append(e)); fig.suptitle("all"); plt.figure("second"); plt.plot([1, 2]); second = plt.gcf()
        # %%
        def save(name): fig.savefig(name); return __import__("os").path.getsize(name) > 500
        save("one.png"); plt.figure(fig.number); current = plt.gca()
        """,
        r"""
        plt.gcf() is fig, plt.get_fignums(), plt.gca() is current
        line.set_ydata(xs) ;; ax.lines[0].get_ydata().tolist(), artists["line"] is line, line.axes is ax
        axes[0, 0] is ax, fig.axes[0] is ax, len(fig.axes), twin.get_shared_x_axes().joined(twin, ax)
        restyle("g"), artists["bars"] is bars, bars.patches[0] in axes[0, 1].patches
        im.set_clim(0, 3) ;; cb.vmax, cb.mappable is im, cb.ax in fig.axes
        axes[1, 0].set_xlim(0, 1) ;; axes[0, 0].get_xlim()
        unit = "$" ;; fmt(1, 0), axes[1, 1].xaxis.get_major_formatter() is fmt, axes[1, 1].get_yscale()
        [t.get_text() for t in leg.get_texts()], ax.get_title(), artists["note"].xy, ax.get_legend() is leg
        fig.canvas.callbacks.process("button_press_event", 5) ;; clicks
        save("two.png"), save("one.png")
        plt.figure("second") is second, second.axes[0].lines[0].get_ydata().tolist()
        ax.plot(xs, xs)[0].get_color(), [h.tolist() for h in hist[:2]]
        """,
    ),
    "functions redefined over and over": session(
        r"""
        def price(x): return x
        registry = {"v1": price}; versions = [price]; calls = []
        # %%
        import functools
        def logged(f):
            @functools.wraps(f)
            def inner(*a, **k): calls.append(f.__name__); return f(*a, **k)
            return inner
        @logged
        def price(x, rate=2): return x * rate
        versions.append(price)
        # %%
        _old = price
        def price(x): return _old(x) + 1
        versions.append(price)
        # %%
        RATE = 10
        def price(x): return helper(x) * RATE
        def helper(x): return x + 1
        versions.append(price)
        # %%
        def helper(x): return x + 100
        class Shop:
            fee = RATE
            def total(self, xs): return sum(map(price, xs)) + self.fee
        shop = Shop(); before = shop.total([1])
        # %%
        class Shop(Shop):
            def total(self, xs): return -super().total(xs)
        shop2 = Shop(); kinds = [type(shop), type(shop2)]
        # %%
        # raises
        def price(x): return "tmp"
        price = logged(price); versions.append(price); raise RuntimeError("half way")
        # %%
        RATE = 3; lam = [lambda x, n=n: price(x) + str(n) for n in range(2)]; rebind = versions[2]
        def outer():
            state = {"n": 0}
            def step():
                nonlocal state
                state = {"n": state["n"] + 1}; return state["n"], RATE
            return step
        step = outer(); step(); step2 = step
        # %%
        def outer(): return None
        del helper
        def recursive(n): return 1 if n < 2 else n * recursive(n - 1)
        fact = recursive
        def recursive(n): return "replaced"
        """,
        r"""
        [f.__name__ for f in versions], len(versions)
        versions[0](5), registry["v1"] is versions[0]
        versions[1](5), calls
        versions[2](5), _old is versions[1], rebind is versions[2]
        versions[3](1)
        helper = lambda x: x ;; versions[3](1)
        price(1), versions[4] is price, price.__wrapped__(1)
        [f("q") if False else f(1) for f in lam]
        step(), step2 is step, step2()
        type(shop) is kinds[0], type(shop2) is Shop, kinds[0] is Shop, issubclass(kinds[1], kinds[0]), before
        fact(3), fact is recursive
        shop2.fee, kinds[0].fee, shop.total.__func__ is kinds[0].total
        versions[1].__defaults__ if hasattr(versions[1], "__defaults__") else None, versions[1].__wrapped__.__defaults__
        """,
    ),
    "a small application in cells": session(
        r"""
        import dataclasses, collections, typing, weakref, itertools, json, datetime as dt, uuid, enum
        class Status(enum.Enum): NEW = 1; PAID = 2; SENT = 3
        # %%
        @dataclasses.dataclass
        class Item: sku: str; qty: int = 1; tags: set = dataclasses.field(default_factory=set)
        @dataclasses.dataclass(order=True)
        class Order: number: int; items: list = dataclasses.field(default_factory=list, compare=False); status: Status = dataclasses.field(default=Status.NEW, compare=False); owner: "Customer" = dataclasses.field(default=None, repr=False, compare=False)
        # %%
        class Customer:
            all = weakref.WeakValueDictionary(); _ids = itertools.count(1)
            def __init__(self, name): self.name, self.id, self.orders = name, next(Customer._ids), []; Customer.all[self.id] = self
            def order(self, *items): o = Order(len(ledger) + 1, list(items), owner=self); self.orders.append(o); ledger[o.number] = o; bus.emit("order", o); return o
        # %%
        class Bus:
            def __init__(self): self.handlers = collections.defaultdict(list)
            def on(self, name):
                def register(f): self.handlers[name].append(f); return f
                return register
            def emit(self, name, *a): [h(*a) for h in self.handlers[name]]
        bus, ledger, totals = Bus(), {}, collections.Counter()
        # %%
        @bus.on("order")
        def count(o): totals[o.owner.name] += sum(i.qty for i in o.items)
        class Audit:
            def __init__(self): self.lines = []; bus.handlers["order"].append(self.note)
            def note(self, o): self.lines.append((o.number, o.status.name))
        audit = Audit()
        # %%
        ann, bob = Customer("Ann"), Customer("Bob"); screw = Item("screw", 5); o1 = ann.order(screw, Item("nut")); o2 = bob.order(screw)
        # %%
        undo = []
        def pay(o): old = o.status; o.status = Status.PAID; undo.append(lambda: setattr(o, "status", old)); return o
        pay(o1)
        # %%
        # raises
        pay(o2); o2.items[5]
        # %%
        latest = max(ledger.values()); index = collections.defaultdict(list)
        for o in ledger.values():
            for i in o.items: index[i.sku].append(o)
        view = ledger.values(); by_status = {s: [o for o in view if o.status is s] for s in Status}
        # %%
        @bus.on("order")
        def count(o): totals["second"] += 1
        ann.order(Item("bolt", 2, {"new"})); snapshot = json.dumps([dataclasses.asdict(i) for i in o1.items], default=sorted)
        """,
        r"""
        totals, audit.lines
        o1.items[0] is o2.items[0], o1.items[0] is screw, index["screw"][1] is o2
        undo.pop()() ;; o2.status, o1.status
        bob.order(Item("x", 7)).number, totals["Bob"], totals["second"], audit.lines[-1]
        Customer("Cy").id, sorted(Customer.all.keys()), Customer.all[1] is ann
        latest is o2, o1.owner is ann, ann.orders[0] is o1, len(view)
        by_status[Status.PAID][0] is o1, o1.status is Status.PAID
        [h.__name__ for h in bus.handlers["order"]], bus.handlers["order"][2] is count, bus.handlers["order"][1].__self__ is audit
        bus.handlers["none"] ;; sorted(bus.handlers)
        o1 < o2, repr(o2), json.loads(snapshot)[0]["qty"]
        screw.qty = 100 ;; o2.items[0].qty
        """,
    ),
    "running totals over files that arrive": session(
        r"""
        import os, json, csv, glob, hashlib, pathlib, collections
        os.makedirs("in"); os.makedirs("out")
        for d in range(3):
            with open(f"in/day{d}.csv", "w", newline="") as f: csv.writer(f).writerows([["k", "v"], ["a", d], ["b", d * 2]])
        # %%
        seen, totals, errors = {}, collections.defaultdict(float), []
        def digest(p): return hashlib.md5(pathlib.Path(p).read_bytes()).hexdigest()
        # %%
        journal = open("out/journal.log", "a+");
        def take(p):
            h = digest(p)
            if h in seen.values(): return 0
            seen[p] = h; n = 0
            for row in csv.DictReader(open(p)): totals[row["k"]] += float(row["v"]); n += 1
            journal.write(f"{p}:{n}\n"); return n
        # %%
        counts = [take(p) for p in sorted(glob.glob("in/*.csv"))]
        # %%
        running = hashlib.sha256(); [running.update(h.encode()) for h in seen.values()]; so_far = running.hexdigest()[:8]
        # %%
        pathlib.Path("in/bad.csv").write_text("k,v\na,x\n")
        # %%
        # raises
        take("in/bad.csv")
        # %%
        errors.append("in/bad.csv"); os.rename("in/bad.csv", "out/bad.csv"); seen.pop("in/bad.csv"); os.symlink("../in/day0.csv", "out/latest")
        # %%
        with open("out/state.json", "w") as f: json.dump({"totals": totals, "seen": seen}, f, indent=1)
        os.chmod("out/state.json", 0o444); os.remove("in/day1.csv"); walker = os.walk("."); top = next(walker); left = iter(sorted(glob.glob("in/*"))); next(left)
        # %%
        class Watcher:
            def __init__(self, folder): self.folder, self.known = folder, set(os.listdir(folder))
            def new(self): now = set(os.listdir(self.folder)); fresh = now - self.known; self.known = now; return sorted(fresh)
        w = Watcher("in"); pathlib.Path("in/day9.csv").write_text("k,v\na,100\n")
        """,
        r"""
        w.new(), w.new()
        take("in/day9.csv"), dict(totals)
        take("in/day0.csv"), counts
        journal.flush() ;; open("out/journal.log").read()
        json.load(open("out/state.json"))["totals"], oct(os.stat("out/state.json").st_mode)
        open("out/latest").read(), os.readlink("out/latest")
        sorted(os.listdir("in")), sorted(os.listdir("out")), next(left)
        totals["new"] ;; sorted(totals), errors
        running.hexdigest()[:8] == so_far
        journal.seek(0) ;; journal.readline(), journal.mode
        """,
        named="running walker",
    ),
    "errors that are kept": session(
        r"""
        import traceback, sys, contextlib, logging, io
        def inner(d, key): local = {"deep": key}; return d[key]
        def outer(d): return inner(d, "x")
        # %%
        try: outer({})
        except KeyError as e: kept = e; text = traceback.format_exc(); summary = traceback.TracebackException.from_exception(e); frames = traceback.extract_tb(e.__traceback__)
        # %%
        class AppError(Exception):
            def __init__(self, code, *, hint=None): super().__init__(f"E{code}"); self.code, self.hint = code, hint
        try:
            try: outer({})
            except KeyError as e: raise AppError(7, hint=["h"]) from e
        except AppError as e: chained = e; e.add_note("look here"); e.seen_by = {"me"}
        # %%
        group = ExceptionGroup("many", [ValueError("a"), ExceptionGroup("in", [AppError(1), TypeError("t")])]); match, rest = group.split(AppError)
        # %%
        # raises
        unfinished = [1]; unfinished.append(2); raise chained
        # %%
        failures = []
        for i in range(3):
            try: 1 / (i - 1)
            except ZeroDivisionError as e: failures.append((i, e, sys.exc_info()[0]))
        # %%
        @contextlib.contextmanager
        def guard(name):
            try: yield name
            except ValueError as e: failures.append((name, e));
        with guard("g") as got: int("x")
        once = guard("again")
        # %%
        # raises
        def lazy(): yield 1; raise AppError(9)
        gen = lazy(); next(gen); next(gen)
        # %%
        import warnings; caught = []
        def retry(f, n, wait=[]):
            for k in range(n):
                try: return f(k)
                except Exception as e: last = e; wait.append(k)
            raise last
        result = retry(lambda k: 10 / k, 3)
        unicode_error = None
        try: b"\xff".decode()
        except UnicodeDecodeError as e: unicode_error = e
        try: open("nope/x")
        except OSError as e: os_error = e
        try: exec("a b")
        except SyntaxError as e: syntax = e
        """,
        r"""
        repr(kept), text.splitlines()[-1], str(summary).strip()
        chained.code, chained.hint, chained.__cause__, chained.__notes__, chained.seen_by, str(chained)
        isinstance(chained, AppError), type(chained.__cause__).__name__, chained.__suppress_context__
        match.exceptions[0].exceptions[0].code, [type(e).__name__ for e in rest.exceptions], group.exceptions[1].exceptions[0] is match.exceptions[0].exceptions[0]
        unfinished, got, failures[0][0], failures[0][2] is ZeroDivisionError, len(failures)
        failures[-1][1].args, type(failures[-1][1])
        retry.__defaults__, result
        unicode_error.object, unicode_error.start, unicode_error.reason
        os_error.errno, os_error.filename, type(os_error).__name__
        syntax.lineno, syntax.text, syntax.msg
        with guard("q"): raise ValueError("z") ;; failures[-1]
        [f.name for f in frames], frames[-1].line
        sys.last_value is chained if hasattr(sys, "last_value") else None
        """,
        named="once gen frames summary",
    ),
    "caches and memory between cells": session(
        r"""
        import functools, collections, weakref, time, os, pathlib, pickle, threading
        cache = {}; hits = collections.Counter()
        def memo(f):
            @functools.wraps(f)
            def inner(*a):
                if a in cache: hits[f.__name__] += 1; return cache[a]
                cache[a] = f(*a); return cache[a]
            inner.cache = cache; return inner
        # %%
        @memo
        def slow(a, b): return [a, b]
        first = slow(1, 2); again = slow(1, 2)
        # %%
        class LRU(collections.OrderedDict):
            def __init__(self, size, *a): self.size = size; super().__init__(*a)
            def __getitem__(self, k): self.move_to_end(k); return super().__getitem__(k)
            def __setitem__(self, k, v): super().__setitem__(k, v); len(self) > self.size and self.popitem(last=False)
        lru = LRU(2); lru["a"] = first; lru["b"] = 2; lru["a"]; lru["c"] = 3
        # %%
        class Missing(dict):
            def __missing__(self, k): self[k] = made = f"made {k} {len(self)}"; return made
        auto = Missing(); auto["x"]; auto["y"]
        # %%
        class Disk:
            def __init__(self, folder): self.folder = pathlib.Path(folder); self.folder.mkdir(exist_ok=True); self.reads = 0
            def get(self, k, make):
                p = self.folder / f"{k}.pkl"
                if p.exists(): self.reads += 1; return pickle.loads(p.read_bytes())
                p.write_bytes(pickle.dumps(make())); return self.get(k, make)
        disk = Disk(".cache"); frame = disk.get("k", lambda: {"n": 1})
        # %%
        class Model:
            def __init__(self, n): self.n = n
            @functools.cached_property
            def heavy(self): hits["heavy"] += 1; return [self.n]
            @functools.cache
            def power(self, k): hits["power"] += 1; return self.n ** k
        m = Model(3); m.heavy.append("x"); m.power(2)
        # %%
        weak = weakref.WeakKeyDictionary(); weak[m] = "meta"; pool = weakref.WeakValueDictionary(m=m); ref = weakref.ref(m, lambda r: hits.update(["dead"])); bound = weakref.WeakMethod(m.power) if False else None
        # %%
        # raises
        slow(3, 4); slow([], 1)
        # %%
        maxed = collections.deque(maxlen=3); maxed.extend(range(5)); chain = collections.ChainMap({"a": 1}, cache); nested = collections.defaultdict(lambda: collections.defaultdict(int)); nested["x"]["y"] += 1
        default = functools.partial(nested.__getitem__, "x"); bump = hits.update
        """,
        r"""
        first is again, slow(1, 2) is first, lru["a"] is first, hits["slow"]
        slow.cache is cache, sorted(cache), slow(5, 6), len(chain.maps[1])
        list(lru), lru.size
        lru["z"] = 1 ;; list(lru)
        auto["z"], auto["x"], len(auto)
        disk.get("k", None), disk.reads, frame
        m.heavy, hits["heavy"]
        weak[m], pool["m"] is m, ref() is m
        nested["new"]["y"] ;; sorted(nested), nested["x"]["y"]
        default()["y"], bump(["q"]), hits["q"], default() is nested["x"]
        maxed.append(9) ;; list(maxed), maxed.maxlen
        del cache[(1, 2)] ;; slow(1, 2) is first, slow(1, 2)
        """,
    ),
    "time series and their plots": session(
        r"""
        import pandas as pd, numpy as np, matplotlib.pyplot as plt, seaborn as sns, scipy.optimize as so, scipy.interpolate as si, statsmodels.api as sm, datetime as dt, zoneinfo
        idx = pd.date_range("2024-03-30", periods=72, freq="h", tz="Europe/Berlin"); ts = pd.Series(np.sin(np.arange(72) / 5), idx, name="load")
        # %%
        daily = ts.resample("D").agg(["mean", "max"]); wide = ts.to_frame().assign(hour=idx.hour, day=idx.day_name().astype("category")); piv = wide.pivot_table(index="hour", columns="day", values="load", observed=True)
        # %%
        spline = si.CubicSpline(np.arange(72), ts.values); f1 = si.interp1d(np.arange(72), ts.values)
        # %%
        def model(x, a, b): return a * np.sin(x / b)
        popt, pcov = so.curve_fit(model, np.arange(72), ts.values, p0=[1, 5]); fitted = lambda x: model(x, *popt)
        # %%
        ols = sm.OLS(ts.values, sm.add_constant(np.arange(72.0))).fit(); params = ols.params
        # %%
        g = sns.FacetGrid(wide, col="day"); g.map(plt.hist, "load"); grid_axes = g.axes
        # %%
        fig, ax = plt.subplots(); ts.plot(ax=ax); ax.axvspan(idx[10], idx[20], alpha=0.3); fmt = ax.xaxis.get_major_formatter()
        # %%
        # raises
        ts.tz_localize("UTC"); never = 1
        # %%
        utc = ts.tz_convert("UTC"); period = ts.tz_localize(None).to_period("h"); holidays = pd.tseries.offsets.CustomBusinessDay(holidays=["2024-04-01"]); zone = zoneinfo.ZoneInfo("Europe/Berlin"); moment = dt.datetime(2024, 3, 31, 3, tzinfo=zone); fold = dt.datetime(2024, 10, 27, 2, 30, tzinfo=zone, fold=1)
        # %%
        shifted = {k: ts.shift(k) for k in (1, 24)}; shifted[0] = ts; win = ts.rolling("6h"); expanding = ts.expanding(); iv = pd.cut(ts, 3); codes, uniques = pd.factorize(wide.day)
        """,
        r"""
        ts.index.freqstr, ts.index.tz, ts.index is idx, wide.index is idx
        daily.round(3).values.tolist()[:1], piv.shape, piv.columns.tolist()
        round(float(spline(3.5)), 6), round(float(f1(3.5)), 6)
        popt[0] = 2 ;; round(float(fitted(3)), 5), fitted.__globals__ is globals()
        ols.params is params, round(ols.rsquared, 6), ols.predict([[1, 5]]).round(4).tolist()
        len(g.axes.flat), grid_axes is g.axes, g.data is wide
        ax.lines[0].get_ydata()[:2].round(3).tolist(), ax.get_xlim()[0] > 0, ax.xaxis.get_major_formatter() is fmt, plt.gcf() is fig
        utc.index[0], period.index.freqstr, (pd.Timestamp("2024-03-29") + holidays).day, moment.utcoffset(), fold.utcoffset(), moment.tzinfo is zone
        shifted[0] is ts, shifted[24].isna().sum(), win.mean().round(3).iloc[8], expanding.max().round(3).iloc[4]
        iv.cat.categories[0].closed, codes[:3].tolist(), uniques.tolist()
        ts.iloc[0] = 50 ;; shifted[0].iloc[0], wide.load.iloc[0], win.max().iloc[1]
        """,
        named="win expanding",
    ),
    "text, reports and workbooks": session(
        r"""
        import jinja2, openpyxl, io, re, string, json, pathlib, xml.etree.ElementTree as ET, lxml.etree as LX, PIL.Image, PIL.ImageDraw, collections, textwrap, html
        corpus = ["The cat sat.", "The dog ran!", "A cat ran"]; tokens = [re.findall(r"\w+", t.lower()) for t in corpus]; vocab = {w: i for i, w in enumerate(dict.fromkeys(w for t in tokens for w in t))}
        # %%
        tf = [collections.Counter(t) for t in tokens]; df = collections.Counter(w for t in tf for w in t); inverse = {i: w for w, i in vocab.items()}
        # %%
        loader = jinja2.DictLoader({"base": "<{% block b %}{% endblock %}>", "page": "{% extends 'base' %}{% block b %}{{ rows|total }} {{ title }}{% endblock %}"}); env = jinja2.Environment(loader=loader, autoescape=True); scale = 1
        def total(rows): return sum(rows) * scale
        env.filters["total"] = total; page = env.get_template("page"); html_text = page.render(rows=[1, 2], title="<t>")
        # %%
        wb = openpyxl.Workbook(); ws = wb.active; [ws.append([w, n]) for w, n in df.items()]; ws.column_dimensions["A"].width = 33; ws.freeze_panes = "A2"; ws.conditional_formatting; style = openpyxl.styles.NamedStyle("mine"); wb.add_named_style(style); ws["A1"].style = "mine"; chart = openpyxl.chart.BarChart(); chart.add_data(openpyxl.chart.Reference(ws, min_col=2, min_row=1, max_row=4)); ws.add_chart(chart, "D1")
        # %%
        root = LX.fromstring("<doc xmlns:m='urn:m'><m:p a='1'>x</m:p>t</doc>"); p = root[0]; p.text = "changed"; tree = root.getroottree()
        # %%
        img = PIL.Image.new("RGB", (8, 8), "red"); draw = PIL.ImageDraw.Draw(img); draw.rectangle((0, 0, 3, 3), fill="blue"); img.info["author"] = "me"; img.save("i.png"); lazy = PIL.Image.open("i.png"); palette = img.convert("P"); thumb = img.resize((2, 2))
        # %%
        # raises
        page.render(title="t", rows=None)
        # %%
        buf = io.StringIO(); out = pathlib.Path("report.md"); emit = lambda *a: print(*a, file=buf); emit("# Report", len(vocab))
        tmpl = string.Template("$a and ${b}"); pat = re.compile(r"(?P<w>c\w+)", re.I); spans = [m.span() for m in pat.finditer(corpus[0])]; trans = str.maketrans("aeiou", "AEIOU"); wrapper = textwrap.TextWrapper(width=10, max_lines=2)
        # %%
        class Section(list):
            def __init__(self, title, *a): self.title = title; super().__init__(*a)
            def __str__(self): return f"## {self.title}\n" + "\n".join(map(str, self))
        doc = Section("top", ["intro"]); sub = Section("sub"); doc.append(sub); sub.append("line"); doc.back = doc
        """,
        r"""
        html_text, page.render(rows=[5], title="x")
        scale = 10 ;; page.render(rows=[5], title="x"), env.filters["total"] is total
        vocab["cat"], inverse[vocab["ran"]], df.most_common(2), tf[0]["cat"]
        ws["A1"].style, ws.column_dimensions["A"].width, ws.freeze_panes, len(ws._charts), wb.active is ws, wb.named_styles
        wb.save("o.xlsx") ;; openpyxl.load_workbook("o.xlsx").active.max_row
        p.getparent() is root, LX.tostring(root), tree.getroot() is root, p.attrib["a"], root.nsmap
        img.getpixel((0, 0)), img.info, draw.rectangle((4, 4, 7, 7), fill="green"), img.getpixel((5, 5)), palette.mode, thumb.size
        lazy.size, lazy.getpixel((0, 0)), lazy.format, lazy.filename.endswith("i.png")
        emit("more") ;; buf.getvalue()
        tmpl.substitute(a=1, b=2), pat.sub(lambda m: m["w"].upper(), corpus[0]), spans, "banana".translate(trans), wrapper.fill("one two three four")
        sub.append("second") ;; str(doc), doc.back is doc, doc.title, type(doc[1]) is Section
        """,
        named="draw wb ws lazy root p tree style chart",
    ),
    "a simulation with objects everywhere": session(
        r"""
        import random, heapq, itertools, math, collections, copy, statistics, array, operator, functools, types
        rng = random.Random(12); clock = [0.0]; queue = []; seq = itertools.count()
        # %%
        class Agent:
            registry = []; __slots__ = ("name", "peers", "wealth", "__dict__", "__weakref__")
            def __init__(self, name): self.name, self.peers, self.wealth = name, [], 10; Agent.registry.append(self)
            def act(self): other = rng.choice(self.peers); other.wealth += 1; self.wealth -= 1; return other.name
            def __repr__(self): return f"<{self.name} {self.wealth}>"
        # %%
        agents = [Agent(c) for c in "abcd"]
        for a in agents: a.peers = [o for o in agents if o is not a]; a.mood = {"of": a}
        # %%
        def schedule(delay, fn, *args): heapq.heappush(queue, (clock[0] + delay, next(seq), fn, args))
        def run(until):
            n = 0
            while queue and queue[0][0] <= until: clock[0], _, fn, args = heapq.heappop(queue); fn(*args); n += 1
            return n
        # %%
        trace = collections.deque(maxlen=5)
        def tick(a): trace.append(a.act()); schedule(rng.expovariate(1), tick, a)
        for a in agents: schedule(0.1, tick, a)
        ran = run(5)
        # %%
        checkpoint = copy.deepcopy((agents, rng.getstate())); wealth = array.array("l", [a.wealth for a in agents]); series = [wealth]
        # %%
        class Rich(Agent):
            __slots__ = ()
            def act(self): self.wealth += 5; return super().act()
        king = Rich("k"); king.peers = agents; agents[0].__class__ = Rich
        # %%
        # raises
        schedule(0.0, operator.truediv, 1, 0); run(6)
        # %%
        schedule(0.2, king.act); schedule(0.3, functools.partial(setattr, king, "crowned", True)); by = operator.attrgetter("wealth"); ranking = sorted(agents, key=by); poorest = min(agents, key=by)
        agents[1].act = types.MethodType(lambda self: trace.append("patched") or "p", agents[1]); Agent.gift = lambda self, n: setattr(self, "wealth", self.wealth + n)
        # %%
        stats = {"mean": statistics.fmean(wealth), "by": {a: i for i, a in enumerate(agents)}}; frozen = types.MappingProxyType(stats)
        """,
        r"""
        ran, clock, list(trace), len(queue)
        run(clock[0] + 2), list(trace), agents
        rng.random(), next(seq)
        agents[0].mood["of"] is agents[0], agents[0].peers[0] is agents[1], Agent.registry[0] is agents[0], len(Agent.registry)
        type(agents[0]) is Rich, isinstance(king, Agent), agents[0].act() in "bcd"
        agents[1].act(), trace[-1]
        king.gift(7) ;; king.wealth, getattr(king, "crowned", None)
        checkpoint[0][0] is agents[0], checkpoint[0][0].peers[0] is checkpoint[0][1], checkpoint[0]
        frozen["by"][agents[2]], [a.name for a in ranking], poorest in agents, series[0] is wealth
        wealth.append(3) ;; len(series[0]), frozen["mean"]
        [f[2].__name__ if hasattr(f[2], "__name__") else "partial" for f in sorted(queue, key=lambda e: e[:2])]
        queue[0] <= queue[-1], all(e[3] == () or e[3][0] in Agent.registry or True for e in queue)
        """,
    ),
    "databases beside frames": session(
        r"""
        import sqlite3, duckdb, pandas as pd, polars as pl, pyarrow as pa, numpy as np
        con = duckdb.connect(); lite = sqlite3.connect("app.db"); df = pd.DataFrame({"id": [1, 2, 3], "v": [1.5, None, 3.0], "t": pd.to_datetime(["2024-01-01", None, "2024-03-01"])})
        # %%
        df.to_sql("raw", lite, index=False); con.execute("create table t as select * from df"); con.execute("create table log (n integer, made_at timestamp default current_timestamp)")
        # %%
        def q(sql, *args): queries.append(sql); return con.execute(sql, args).df()
        queries = []; one = q("select count(*) n from t")
        # %%
        con.execute("insert into log (n) values (1)"); con.execute("alter table t add column w integer default 5"); con.execute("update t set w = id * 10 where id > 1")
        # %%
        # raises
        con.execute("begin"); con.execute("insert into log (n) values (2)"); con.execute("select * from nowhere")
        # %%
        con.execute("rollback"); lite.create_aggregate("spread", 1, type("Spread", (), {"__init__": lambda s: setattr(s, "xs", []), "step": lambda s, v: s.xs.append(v), "finalize": lambda s: max(s.xs) - min(s.xs)}))
        # %%
        lf = pl.from_pandas(df).lazy().with_columns(pl.col("v").fill_null(0).alias("z")); plan = lf.filter(pl.col("id") > 1); eager = plan.collect()
        tab = pa.Table.from_pandas(df); ds = con.sql("select id, v from t where w > 5"); batches = tab.to_batches()
        # %%
        lite.row_factory = sqlite3.Row; lite.execute("create temp table scratch (x)") if False else None; lite.commit(); rows = lite.execute("select * from raw").fetchall(); keys = rows[0].keys()
        # %%
        con.execute("create or replace macro dbl(x) as x * 2") if False else con.execute("create sequence s start 100") if False else None; con.execute("create view v as select id, w from t"); files = con.execute("copy t to 't.parquet' (format parquet)") and None
        con.execute("set threads to 1"); con.execute("set preserve_insertion_order = false")
        """,
        r"""
        q("select * from v order by id").w.tolist(), len(queries)
        con.execute("select n from log").fetchall()
        con.execute("insert into log (n) values (7)") ;; con.execute("select count(*), count(made_at) from log").fetchone()
        con.execute("select * from t order by id").fetchall()
        lite.execute("select id from raw").fetchone()["id"], keys, rows[0]["v"]
        lite.execute("select spread(id) from raw").fetchone()[0]
        plan.collect().equals(eager), eager.z.to_list(), lf.collect_schema().names()
        tab.schema.metadata is not None, tab.column("id").to_pylist(), batches[0].num_rows
        ds.fetchall()
        con.execute("select current_setting('threads'), current_setting('preserve_insertion_order')").fetchone()
        pd.read_sql("select v from raw", lite).v.tolist(), pd.read_parquet("t.parquet").shape
        one.n[0], queries[0]
        """,
        named="ds spread rows",
    ),
}
