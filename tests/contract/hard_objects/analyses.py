"""Long sessions as analysts have them: helper modules that are edited, caches, models, errors in between."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "ways to import": session(
        r"""
        import importlib, importlib.util, sys, os, zipfile, types, importlib.abc, runpy, pathlib
        pathlib.Path("plain.py").write_text("COUNT = 0\ndef bump():\n    global COUNT\n    COUNT += 1\n    return COUNT\n")
        spec = importlib.util.spec_from_file_location("renamed", "plain.py"); renamed = importlib.util.module_from_spec(spec); spec.loader.exec_module(renamed); renamed.bump()
        import plain; plain.bump(); plain.bump(); sys.modules["alias_of_plain"] = plain
        with zipfile.ZipFile("lib.zip", "w") as z: z.writestr("zipped.py", "VALUE = [1]\ndef get(): return VALUE\n")
        sys.path.insert(0, "lib.zip"); import zipped; zipped.VALUE.append(2)
        os.makedirs("ns/part"); pathlib.Path("ns/part/mod.py").write_text("x = 1\n"); import ns.part.mod as nsmod; nsmod.x = 7
        pathlib.Path("lazy.py").write_text("def __getattr__(name):\n    return 'made ' + name\n_seen = []\n"); import lazy; lazy._seen.append(1); lazy.fixed = 3
        class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
            def find_spec(self, name, path, target=None): return importlib.util.spec_from_loader(name, self) if name.startswith("magic_") else None
            def create_module(self, spec): return None
            def exec_module(self, module): module.word = module.__name__.removeprefix("magic_")
        finder = Finder(); sys.meta_path.append(finder); import magic_hat
        pathlib.Path("prog.py").write_text("import sys\nresult = {'argv': list(sys.argv)}\n"); ran = runpy.run_path("prog.py")
        pathlib.Path("gone.py").write_text("y = 5\ndef h(): return y\n"); import gone; os.remove("gone.py"); gone.y = 6
        from plain import *
        """,
        r"""
        renamed.bump(), plain.bump(), renamed is plain
        sys.modules["alias_of_plain"] is plain, bump is plain.bump, COUNT
        zipped.get(), zipped.__file__.endswith("lib.zip/zipped.py")
        nsmod.x, sys.modules["ns.part.mod"] is nsmod
        lazy.whatever, lazy._seen, lazy.fixed
        magic_hat.word, finder in sys.meta_path
        __import__("magic_rabbit").word
        ran["result"]
        gone.h(), gone.y
        importlib.reload(plain) is plain, plain.COUNT
        """,
        named="gone py magic_hat renamed spec",
    ),
    "helper modules that are edited on the way": session(
        r"""
        import pathlib, importlib, sys
        sys.dont_write_bytecode = True
        pathlib.Path("clean.py").write_text("STEPS = []\nVERSION = 1\nclass Cleaner:\n    made = 0\n    def __init__(self): Cleaner.made += 1\n    def run(self, x): STEPS.append('v1'); return x\n")
        import clean
        first = clean.Cleaner(); first.run(1); runner = first.run
        # %%
        pathlib.Path("clean.py").write_text("STEPS = globals().get('STEPS', [])\nVERSION = 2\nclass Cleaner:\n    made = 0\n    def __init__(self): Cleaner.made += 1\n    def run(self, x): STEPS.append('v2'); return x * 2\n    def undo(self): return STEPS.pop()\n")
        importlib.reload(clean)
        second = clean.Cleaner(); second.run(2)
        # %%
        from clean import Cleaner as Now
        class Better(Now):
            def run(self, x): return super().run(x) + 1
        third = Better(); out = [c.run(10) for c in (first, second, third)]
        clean.VERSION = 3
        def patched(self, x): clean.STEPS.append("patched"); return -x
        clean.Cleaner.run = patched
        # %%
        sys.modules.pop("clean"); import clean as fresh
        """,
        r"""
        type(first) is type(second), type(second) is clean.Cleaner, isinstance(third, clean.Cleaner)
        out, clean.VERSION, clean.STEPS
        runner(3), first.run(4)
        second.run(5), third.run(5)
        clean.Cleaner.made, type(first).made
        fresh is clean, fresh.VERSION, fresh.Cleaner is Now
        clean.STEPS is fresh.STEPS, len(fresh.STEPS)
        fresh.Cleaner().run(1), fresh.STEPS
        second.undo() ;; len(clean.STEPS)
        """,
    ),
    "a helper package with state": session(
        r"""
        import os, pathlib, sys
        os.makedirs("shop/util")
        pathlib.Path("shop/__init__.py").write_text("from .models import Item, Cart\nfrom . import config\n__all__ = ['Item', 'Cart']\nVERSION = '1'\n")
        pathlib.Path("shop/config.py").write_text("import threading, random, collections, functools\nsettings = {'tax': 0.1}\nlock = threading.RLock()\nrng = random.Random(3)\nhooks = collections.defaultdict(list)\ndef on(name):\n    def deco(f):\n        hooks[name].append(f)\n        return f\n    return deco\n@functools.lru_cache(None)\ndef rate(n): return n * settings['tax']\nclass Flag:\n    def __bool__(self): return settings['tax'] > 0\nON = Flag()\n")
        pathlib.Path("shop/models.py").write_text("import dataclasses, enum, typing\nfrom . import config\nclass Kind(enum.Enum):\n    A = 1\n    B = 2\n@dataclasses.dataclass\nclass Item:\n    name: str\n    price: float = 1.0\n    kind: Kind = Kind.A\n    made: typing.ClassVar[int] = 0\n    def __post_init__(self): Item.made += 1\n    @property\n    def total(self): return self.price * (1 + config.settings['tax'])\nclass Cart(list):\n    instances = []\n    def __init__(self, *a):\n        super().__init__(*a)\n        Cart.instances.append(self)\n    def append(self, item):\n        for h in config.hooks['add']: h(item)\n        super().append(item)\ndefault = Cart()\n_gen = (n for n in range(5))\n")
        import shop, shop.config as cfg
        from shop import Item, Cart
        log = []
        @cfg.on("add")
        def note(item): log.append(item.name)
        cart = Cart(); cart.append(Item("pen")); shop.models.default.append(Item("cap", kind=shop.models.Kind.B)); cfg.rng.random(); cfg.rate(2)
        # %%
        cfg.settings["tax"] = 0.2; Item.label = property(lambda self: self.name.upper()); old_total = Item.total; Item.discount = 0.5
        class Big(Item):
            @property
            def total(self): return super().total * 2
        big = Big("big", 10); cart.append(big)
        # %%
        def wrapped(self): return round(old_total.fget(self), 2)
        Item.total = property(wrapped); shop.extra = {"cart": cart}; shop.models.Kind.A.note = "n"; by_kind = {shop.models.Kind.A: [cart[0]]}
        # %%
        # raises
        cart.append("not an item")
        # %%
        import shop.models as m; from shop.models import Kind; Cart.instances.sort(key=len); m.helper = lambda c: sum(i.total for i in c); cfg.lock.acquire(); cfg.lock.release()
        """,
        r"""
        [i.name for i in cart], log, cart in Cart.instances, Cart.instances[-1] is cart, len(Cart.instances)
        cart[0].total, big.total, cart[0].label, big.discount
        cfg.settings["tax"] = 0 ;; cart[0].total, bool(cfg.ON), shop.config.settings is cfg.settings
        shop.models.default[0].kind is Kind.B, by_kind[Kind.A][0] is cart[0], Kind.A.note
        Item("new").name, Item.made, Big.made
        cart.append(Item("late")) ;; log[-1], len(cart), shop.extra["cart"] is cart
        cfg.rng.random(), cfg.hooks["add"][0] is note, cfg.rate(4)
        m.helper(cart), m is shop.models, m.Item is Item, shop.Item is Item, isinstance(big, shop.models.Item)
        type(cart) is Cart, type(shop.models.default) is Cart, shop.__all__, cfg.lock.acquire(blocking=False)
        """,
        named="_gen",
    ),
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
    "an experiment with settings that change": session(
        r"""
        import numpy as np, pandas as pd, random, copy, json, dataclasses, pathlib, warnings, decimal, os
        @dataclasses.dataclass
        class Config: lr: float = 0.1; layers: list = dataclasses.field(default_factory=lambda: [4, 2]); seed: int = 7
        cfg = Config(); runs = []; pathlib.Path("runs").mkdir()
        # %%
        def seed_all(n): random.seed(n); np.random.seed(n); return np.random.default_rng(n)
        rng = seed_all(cfg.seed)
        # %%
        class Layer:
            def __init__(self, i, o): self.W = rng.normal(size=(i, o)); self.b = np.zeros(o); self.grad = None
            def __call__(self, x): self.x = x; return np.maximum(x @ self.W + self.b, 0)
        class Net:
            def __init__(self, sizes): self.layers = [Layer(a, b) for a, b in zip(sizes, sizes[1:])]; self.params = {f"W{i}": l.W for i, l in enumerate(self.layers)}; self.hooks = []
            def __call__(self, x):
                for l in self.layers: x = l(x); [h(l, x) for h in self.hooks]
                return x
        # %%
        net = Net([3, *cfg.layers]); shapes = []; net.hooks.append(lambda l, x: shapes.append(x.shape)); X = rng.normal(size=(5, 3)); out = net(X)
        # %%
        best = copy.deepcopy(net); opt = {"momentum": {k: np.zeros_like(v) for k, v in net.params.items()}, "step": 0}
        def step():
            opt["step"] += 1
            for k, p in net.params.items(): m = opt["momentum"][k]; m *= 0.9; m += 0.01; p -= cfg.lr * m
            return float(net(X).sum())
        losses = [step() for _ in range(3)]
        # %%
        def save(name): pathlib.Path("runs", name).write_text(json.dumps({"cfg": dataclasses.asdict(cfg), "losses": losses})); runs.append(name)
        save("a.json"); cfg2 = dataclasses.replace(cfg, lr=0.5); cfg2.layers.append(1)
        # %%
        # raises
        cfg.lr = 0.01; save("b.json"); Net([3, 4])(np.zeros((2, 5)))
        # %%
        frozen = net.layers[0].W; frozen.setflags(write=False); view = net.layers[1].W[:, 0]; emb = {tuple(map(float, r.round(1))): i for i, r in enumerate(X)}
        table = pd.DataFrame({"loss": losses}, index=pd.RangeIndex(1, 4, name="step")); best_idx = table.loss.idxmin(); state = rng.bit_generator.state; np.save("runs/w.npy", frozen)
        # %%
        cfg_of = {"now": cfg, "then": cfg2}; grid = [(lr, n) for lr in (1, 2) for n in "ab"]; todo = iter(grid); next(todo); done = {next(todo)}
        """,
        r"""
        net.params["W0"] is net.layers[0].W, frozen is net.layers[0].W, frozen.flags.writeable
        step()
        opt["step"], losses, opt["momentum"]["W1"][0, 0]
        cfg.lr, cfg.layers is cfg2.layers, cfg_of["now"] is cfg, cfg2.layers
        best.params["W0"] is best.layers[0].W, best.layers[0].W is net.layers[0].W, len(best.hooks), best.hooks[0] is net.hooks[0]
        view[0] = 99 ;; net.layers[1].W[0, 0], net.params["W1"][0, 0]
        rng.normal(), random.random(), np.random.rand(), Layer(1, 1).W
        net.layers[0].x is X, out.shape, shapes[:2], len(shapes)
        runs, sorted(os.listdir("runs")), json.loads(pathlib.Path("runs/b.json").read_text())["cfg"]["lr"]
        list(todo), done, table.index.name, best_idx
        rng.bit_generator.state == state, emb[tuple(map(float, X[2].round(1)))]
        """,
    ),
    "an agent that keeps notes in cells": session(
        r"""
        import json, pathlib, re, textwrap, datetime as dt, collections, sys, os, types, functools, inspect
        notes = []; todo = collections.deque(["load", "clean", "model"]); state = types.SimpleNamespace(step=0, last=None, errors=[])
        # %%
        def remember(kind, **data): notes.append({"kind": kind, "at": len(notes), **data}); return notes[-1]
        tools = {}
        def tool(f=None, *, name=None):
            if f is None: return functools.partial(tool, name=name)
            tools[name or f.__name__] = f; f.uses = 0; return f
        # %%
        @tool
        def load(path="in.json"): load.uses += 1; return json.loads(pathlib.Path(path).read_text())
        @tool(name="clean")
        def _clean(rows): _clean.uses += 1; return [r for r in rows if r["ok"]]
        pathlib.Path("in.json").write_text(json.dumps([{"n": n, "ok": n % 2 == 0} for n in range(6)]))
        # %%
        rows = load(); cleaned = tools["clean"](rows); remember("load", n=len(rows), ref=rows)
        # %%
        class Memo(dict):
            def __missing__(self, key): self.misses = getattr(self, "misses", 0) + 1; value = self[key] = key * 2; return value
        memo = Memo(); memo["a"]; memo["b"]; memo["a"]
        # %%
        # raises
        todo.popleft(); state.step += 1; load("nothing.json")
        # %%
        try: load("nothing.json")
        except FileNotFoundError as e: state.errors.append(e); state.last = sys.exc_info()[1]
        # %%
        @tool
        def load(path="in.json", _prev=load): remember("reload"); return _prev(path)
        history = [inspect.signature(f) for f in tools.values()]
        # %%
        plan = {"goal": "report", "steps": [{"do": t, "deps": []} for t in todo]}; plan["steps"][1]["deps"].append(plan["steps"][0]); plan["self"] = plan; current = plan["steps"][0]
        # %%
        import string; tmpl = string.Template("$goal: ${n} rows"); report = pathlib.Path("report.md"); report.write_text(tmpl.substitute(goal=plan["goal"], n=len(cleaned)))
        def finish(*, out=report, sep=os.linesep):
            with out.open("a") as f: print(*(n["kind"] for n in notes), sep=sep, file=f)
            return out.read_text().splitlines()
        # %%
        state.step += 1; state.summary = lambda: (state.step, len(notes), list(todo)); state.__dict__["odd name"] = 1; globals()["made_here"] = "yes"; alias = notes
        """,
        r"""
        load(), notes[-1]["kind"], tools["load"] is load, load.uses, load.__defaults__[1].uses
        rows[0] is cleaned[0], notes[0]["ref"] is rows, alias is notes
        memo["c"], memo.misses, type(memo) is Memo
        state.errors[0] is state.last, type(state.last).__name__, state.last.filename
        state.summary(), vars(state)["odd name"], made_here
        plan["self"] is plan, current is plan["steps"][1]["deps"][0], len(todo)
        current["do"] = "changed" ;; plan["steps"][1]["deps"][0]["do"]
        finish(), finish.__kwdefaults__["out"] is report
        [str(h) for h in history], sorted(tools), tool.__kwdefaults__
        todo.append("x") ;; state.summary()[2], tmpl.substitute(goal=1, n=2)
        remember("late")["at"] ;; len(alias)
        """,
    ),
}
