"""Hooks, signals, streams, threads and generators of random numbers of the process."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "signals, timers and limits": session(
        r"""
        import signal, resource, os, time, faulthandler, sys, threading
        hits = []
        def on_alarm(number, frame): hits.append(number)
        signal.signal(signal.SIGALRM, on_alarm); signal.signal(signal.SIGHUP, lambda n, f: hits.append("hup"))
        class Stopper:
            stop = False
            def __call__(self, *a): self.stop = True
        stopper = Stopper(); signal.signal(signal.SIGTERM, stopper); signal.signal(signal.SIGUSR2, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 5000, 3)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE); resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard)); resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.umask(0o027); sys.setrecursionlimit(2500); threading.stack_size(1 << 20)
        trace = open("fault.log", "w"); faulthandler.enable(trace)
        def deep(n): return n if n == 0 else deep(n - 1)
        """,
        r"""
        signal.raise_signal(signal.SIGALRM) ;; hits
        signal.raise_signal(signal.SIGHUP) ;; hits
        signal.getsignal(signal.SIGTERM) is stopper, stopper.stop
        signal.raise_signal(signal.SIGTERM) ;; stopper.stop
        signal.getitimer(signal.ITIMER_REAL)[0] > 1000, signal.getitimer(signal.ITIMER_REAL)[1]
        resource.getrlimit(resource.RLIMIT_NOFILE)[0], resource.getrlimit(resource.RLIMIT_CORE)
        open("m", "w").close() ;; oct(os.stat("m").st_mode)
        sys.getrecursionlimit(), deep(2000), threading.stack_size()
        faulthandler.is_enabled()
        """,
    ),
    "hooks of the interpreter": session(
        r"""
        import sys, gc, warnings, threading, atexit, tracemalloc, builtins, reprlib, asyncio
        caught, shown, raised, calls, collected = [], [], [], [], []
        sys.excepthook = lambda t, v, tb: caught.append(str(v)); sys.unraisablehook = lambda u: raised.append(str(u.exc_value))
        old_display = sys.displayhook
        def display(v): shown.append(v)
        threading.excepthook = lambda args: caught.append(args.exc_type.__name__)
        sys.breakpointhook = lambda *a, **k: "no debugger"
        def on_gc(phase, info): collected.append(phase)
        gc.callbacks.append(on_gc); gc.set_debug(gc.DEBUG_UNCOLLECTABLE); gc.freeze(); gc.disable()
        def on_exit(): pass
        atexit.register(on_exit)
        def profile(frame, event, arg): calls.append(event)
        threading.setprofile(profile); threading.settrace(profile)
        tracemalloc.start(3)
        reprlib.aRepr.maxstring = 12; reprlib.aRepr.maxlist = 2
        sys.pycache_prefix = "pyc"; sys.tracebacklimit = 2; sys.set_coroutine_origin_tracking_depth(4)
        sys.modules["virtual"] = type(sys)("virtual"); sys.modules["virtual"].answer = 42
        sys.mine = {"a": 1}; builtins.shout = lambda s: s.upper() + "!"
        """,
        r"""
        sys.excepthook(ValueError, ValueError("v"), None) ;; caught
        sys.breakpointhook(), sys.unraisablehook.__name__, threading.excepthook.__name__
        gc.collect() ;; collected[-2:], gc.get_debug(), gc.isenabled()
        threading.getprofile() is profile, threading.gettrace() is profile
        tracemalloc.is_tracing(), tracemalloc.get_traceback_limit()
        reprlib.repr("a" * 50), reprlib.repr([1, 2, 3])
        sys.pycache_prefix, sys.tracebacklimit, sys.get_coroutine_origin_tracking_depth()
        __import__("virtual").answer, sys.mine, shout("a")
        atexit.unregister(on_exit) ;; gc.get_freeze_count() > 0
        """,
    ),
    "tracing, profiling and timing of code": session(
        r"""
        import sys, cProfile, pstats, timeit, time, trace, tracemalloc, linecache, inspect, dis, io, threading
        counts = {}
        def tracer(frame, event, arg):
            if frame.f_code.co_name == "traced": counts[event] = counts.get(event, 0) + 1
            return tracer
        def traced(x): y = x + 1; return y
        prof = cProfile.Profile(); prof.enable(); traced(1); prof.disable(); stats = pstats.Stats(prof, stream=io.StringIO())
        class Timer:
            def __init__(self): self.laps = []
            def __enter__(self): self.t = time.perf_counter(); return self
            def __exit__(self, *a): self.laps.append(time.perf_counter() - self.t)
        timer = Timer()
        with timer: traced(2)
        src = inspect.getsource(traced); sig = inspect.signature(traced); code = traced.__code__; frame_names = [f.function for f in inspect.stack()][:1]
        bound = sig.bind(5); tmr = timeit.Timer("traced(1)", globals=globals())
        old = sys.getswitchinterval(); sys.setswitchinterval(0.02)
        # %%
        sys.settrace(tracer)
        # %%
        traced(5); seen = dict(counts)
        """,
        r"""
        seen
        traced(7) ;; counts.get("call", 0) > seen.get("call", 0)
        sys.gettrace() is tracer
        sys.settrace(None) ;; traced(1), sys.gettrace()
        len(timer.laps), sorted(k[2] for k in stats.stats if k[2] == "traced")
        inspect.getsource(traced) == src, str(sig), bound.arguments, code is traced.__code__
        tmr.timeit(3) > 0, round(sys.getswitchinterval(), 3)
        with timer: pass ;; len(timer.laps)
        """,
        named="prof stats",
    ),
    "standard streams that were replaced": session(
        r"""
        import sys, io, contextlib, builtins
        class Tee:
            def __init__(self, inner): self.inner, self.kept = inner, []
            def write(self, text): self.kept.append(text); return self.inner.write(text)
            def flush(self): self.inner.flush()
        tee = Tee(sys.stdout)
        errs = io.StringIO(); stack = contextlib.ExitStack(); stack.enter_context(contextlib.redirect_stderr(errs))
        print("to the err", file=sys.stderr)
        real_input = builtins.input; builtins.input = lambda prompt="": "typed"
        sys.stdin = io.StringIO("line one\nline two\n"); sys.stdin.readline()
        log = open("print.log", "w"); say = lambda *a: print(*a, file=log)
        say("first")
        # %%
        sys.stdout = tee; print("shown")
        """,
        r"""
        tee.kept[0], tee.inner is sys.stdout, type(tee).__name__
        print("err again", file=sys.stderr) ;; errs.getvalue()
        sys.stderr is errs
        input("?")
        sys.stdin.readline()
        say("second"); log.flush() ;; open("print.log").read()
        real_input.__name__
        """,
        named="stack",
    ),
    "logging set up as programs do": session(
        r"""
        import logging, logging.config, logging.handlers, sys, time, io, warnings
        logging.config.dictConfig({"version": 1, "disable_existing_loggers": False,
            "formatters": {"short": {"format": "%(levelname).1s|%(name)s|%(message)s"}},
            "handlers": {"file": {"class": "logging.handlers.RotatingFileHandler", "filename": "app.log", "maxBytes": 500, "backupCount": 2, "formatter": "short"},
                         "err": {"class": "logging.FileHandler", "filename": "err.log", "level": "ERROR", "delay": True, "formatter": "short"}},
            "loggers": {"etl": {"level": "DEBUG", "handlers": ["file", "err"], "propagate": False}}})
        log = logging.getLogger("etl"); sub = logging.getLogger("etl.load"); log.debug("begun")
        class Counting(logging.Handler):
            def __init__(self): super().__init__(); self.counts = {}
            def emit(self, r): self.counts[r.levelname] = self.counts.get(r.levelname, 0) + 1
        counting = Counting(); logging.getLogger().addHandler(counting); logging.getLogger().setLevel("INFO")
        class MyLogger(logging.Logger):
            def shout(self, m): self.error(m.upper())
        logging.setLoggerClass(MyLogger); mine = logging.getLogger("mine");
        logging.Formatter.converter = time.gmtime; logging.raiseExceptions = False
        def timed(fn):
            def inner(*a):
                log.info("call %s", fn.__name__); return fn(*a)
            return inner
        @timed
        def load(n): return n * 2
        logging.getLogger("quiet").disabled = True; logging.disable(logging.DEBUG)
        """,
        r"""
        load(2) ;; open("app.log").read()
        sub.error("bad") ;; open("err.log").read()
        logging.getLogger("other").warning("w") ;; counting.counts
        mine.shout("now") ;; counting.counts, type(mine) is MyLogger
        type(logging.getLogger("new one")) is MyLogger, logging.getLoggerClass() is MyLogger
        logging.Formatter.converter is time.gmtime, logging.raiseExceptions
        log.handlers[0].maxBytes, log.handlers[0].backupCount, [h.get_name() for h in log.handlers]
        logging.getHandlerByName("file") is log.handlers[0] if hasattr(logging, "getHandlerByName") else logging._handlers["file"] is log.handlers[0]
        logging.root.manager.disable, logging.getLogger("quiet").disabled
        log.handlers[0].stream.name.endswith("app.log"), sub.parent is log
        """,
    ),
    "generators of random numbers": session(
        r"""
        import random, numpy as np, scipy.stats as st, sklearn.utils, secrets
        ss = np.random.SeedSequence(42); kids = ss.spawn(3); streams = [np.random.default_rng(s) for s in kids]; streams[1].normal(size=3)
        mt = np.random.Generator(np.random.MT19937(5)); mt.integers(10); philox = np.random.Generator(np.random.Philox(key=9)); philox.random()
        legacy = np.random.RandomState(3); legacy.randn(3); np.random.seed(11); np.random.randn()
        glob = np.random.mtrand._rand; check = sklearn.utils.check_random_state(None)
        random.seed("text"); random.gauss(0, 1); state = random.getstate(); random.random()
        class Dice(random.Random):
            def __init__(self, s): super().__init__(s); self.rolls = 0
            def roll(self): self.rolls += 1; return self.randint(1, 6)
        dice = Dice(8); dice.roll()
        class Sampler:
            def __init__(self, rng): self.rng = rng
        one, two = Sampler(streams[0]), Sampler(streams[0]); one.rng.random()
        dist = st.norm(2, 3); dist.random_state = np.random.default_rng(1); dist.rvs()
        st.gamma.random_state = 77; st.gamma.rvs(2)
        draw = random.random; choose = mt.choice; shuffled = list(range(10)); random.shuffle(shuffled)
        jumped = np.random.PCG64(1).jumped(2); bg = np.random.Generator(jumped)
        """,
        r"""
        ss.spawn(1)[0].spawn_key, ss.n_children_spawned
        [round(s.random(), 6) for s in streams]
        mt.integers(1000), philox.random(), choose([1, 2, 3, 4, 5])
        legacy.randn(), np.random.randn(), legacy.get_state()[3]
        glob is np.random.mtrand._rand, check is glob, check.randint(10**6)
        random.gauss(0, 1), random.random(), draw()
        random.setstate(state) ;; random.random()
        dice.roll(), dice.rolls, isinstance(dice, Dice)
        one.rng is two.rng, one.rng is streams[0], one.rng.random(), two.rng.random()
        dist.rvs(), st.gamma.rvs(2)
        bg.random(), bg.bit_generator is jumped, shuffled
        """,
    ),
    "contexts that are still open": session(
        r"""
        import contextlib, decimal, warnings, numpy as np, pandas as pd, matplotlib as mpl, matplotlib.pyplot as plt, sklearn, polars as pl, os, locale, seaborn as sns
        dc = decimal.localcontext(); ctx = dc.__enter__(); ctx.prec = 5
        wc = warnings.catch_warnings(record=True); heard = wc.__enter__(); warnings.simplefilter("always"); warnings.warn("first")
        oc = pd.option_context("display.precision", 2, "display.max_rows", 4); oc.__enter__()
        es = np.errstate(divide="raise"); es.__enter__(); po = np.printoptions(precision=1); po.__enter__()
        rc = mpl.rc_context({"font.size": 21}); rc.__enter__()
        sc = sklearn.config_context(assume_finite=True); sc.__enter__()
        pc = pl.Config(tbl_rows=2); pc.__enter__()
        st = sns.axes_style("dark"); st.__enter__()
        stack = contextlib.ExitStack(); f = stack.enter_context(open("in.txt", "w+")); stack.callback(os.environ.pop, "TEMP_KEY", None); os.environ["TEMP_KEY"] = "1"
        supp = contextlib.suppress(KeyError); null = contextlib.nullcontext(5)
        """,
        r"""
        decimal.Decimal(1) / 3, decimal.getcontext() is ctx, decimal.getcontext().prec
        warnings.warn("second") ;; [str(h.message) for h in heard]
        pd.get_option("display.precision"), repr(pd.Series([1.23456])).split()[1]
        np.geterr()["divide"], str(np.array([1.26]))
        mpl.rcParams["font.size"], mpl.rcParams["axes.facecolor"]
        sklearn.get_config()["assume_finite"], pl.Config.state()["POLARS_FMT_MAX_ROWS"]
        rc.__exit__(None, None, None) ;; mpl.rcParams["font.size"]
        oc.__exit__(None, None, None) ;; pd.get_option("display.precision")
        es.__exit__(None, None, None) ;; np.geterr()["divide"]
        dc.__exit__(None, None, None) ;; decimal.getcontext().prec
        wc.__exit__(None, None, None) ;; warnings.showwarning.__module__
        stack.close() ;; f.closed, os.environ.get("TEMP_KEY")
        null.enter_result
        """,
        named="dc wc oc es po rc sc pc st stack supp f",
    ),
    "threads, queues and locks": session(
        r"""
        import threading, queue, time, concurrent.futures, collections
        local = threading.local(); local.name = "main"; local.stack = [1]
        q = queue.PriorityQueue(); q.put((2, "b")); q.put((1, "a")); q.get(); lifo = queue.LifoQueue(2); lifo.put("x"); simple = queue.SimpleQueue(); simple.put(5)
        done = threading.Event(); done.set(); gate = threading.Event(); held = threading.Lock(); held.acquire(); free = threading.Lock(); re = threading.RLock(); sem = threading.BoundedSemaphore(3); sem.acquire()
        cond = threading.Condition(free); bar = threading.Barrier(2)
        results = {}
        def worker(n): results[n] = n * n
        ts = [threading.Thread(target=worker, args=(n,), name=f"w{n}") for n in range(3)]; [t.start() for t in ts]; [t.join() for t in ts]
        with concurrent.futures.ThreadPoolExecutor(2) as pool: futs = [pool.submit(pow, 2, n) for n in range(3)]; got = [f.result() for f in futs]
        class Safe:
            def __init__(self): self._lock = threading.RLock(); self.items = collections.deque(maxlen=3)
            def add(self, x):
                with self._lock: self.items.append(x); return len(self.items)
        safe = Safe(); safe.add(1)
        counter = {"n": 0, "lock": threading.Lock()}
        names = threading.current_thread().name; threading.current_thread().name = "Analyst"
        """,
        r"""
        local.name, local.stack
        q.get(), q.unfinished_tasks, q.qsize()
        lifo.get(), lifo.maxsize, simple.get()
        done.is_set(), gate.is_set(), held.locked(), free.locked()
        sem._value, sem.release(), sem._value
        cond._lock is free, bar.parties
        results, got
        safe.add(2), list(safe.items)
        counter["lock"].acquire(blocking=False)
        [t.name for t in ts], [f.done() for f in futs]
        names, threading.current_thread().name
        """,
        named="local held ts pool futs simple q lifo cond",
    ),
    "child processes, pipes and shared memory": session(
        r"""
        import subprocess, os, multiprocessing as mp, multiprocessing.shared_memory as shm, sys
        done = subprocess.run([sys.executable, "-c", "print('out'); raise SystemExit(3)"], capture_output=True, text=True)
        live = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True); live.stdin.write("hi\n"); live.stdin.flush()
        r, w = os.pipe(); os.write(w, b"piped"); reader = os.fdopen(r, "rb")
        try: subprocess.run(["false"], check=True)
        except subprocess.CalledProcessError as error: failed = error
        ended = subprocess.Popen(["true"]); code = ended.wait()
        mp_ctx = mp.get_context("spawn"); mp.set_start_method("spawn", force=True)
        env = {**os.environ, "X": "1"}; cmd = ["echo", "é"]
        pipeline = lambda text: subprocess.run(["tr", "a-z", "A-Z"], input=text, capture_output=True, text=True).stdout
        os.mkfifo("pipe")
        """,
        r"""
        done.returncode, done.stdout, done.args[1:]
        live.poll()
        reader.read(5)
        failed.returncode, failed.cmd
        ended.returncode, code
        mp.get_start_method(), mp_ctx.get_start_method()
        pipeline("shout"), cmd
        os.path.exists("pipe")
        """,
        named="live reader ended pipe w r mp_ctx",
    ),
    "threads and processes that nobody holds": session(
        r"""
        import threading, time, subprocess, queue
        ticks, stop, jobs, done = [], threading.Event(), queue.Queue(), []
        def loop():
            while not stop.wait(0.02): ticks.append(len(ticks))
        threading.Thread(target=loop, daemon=True, name="ticker").start()
        def worker():
            while True:
                job = jobs.get()
                if job is None: return
                done.append(job * 2); jobs.task_done()
        threading.Thread(target=worker, daemon=True, name="worker").start()
        jobs.put(1); jobs.join()
        def begin(): subprocess.Popen(["sleep", "600"])
        begin(); later = threading.Timer(3600, done.append, ["late"]); later.name = "later"; later.start(); del later
        """,
        r"""
        [t.name for t in threading.enumerate() if t.name in ("ticker", "worker")]
        jobs.put(5); time.sleep(0.3) ;; done
        stop.set() ;; stop.is_set()
        n = len(ticks); time.sleep(0.1) ;; len(ticks) >= n
        """,
        named="ticker worker later 600 jobs stop",
    ),
    "finalizers, deleters and weak things without a name": session(
        r"""
        import weakref, gc, os, pathlib
        log = []
        class Resource:
            live = weakref.WeakSet()
            def __init__(self, name): self.name = name; Resource.live.add(self); pathlib.Path(name).touch(); weakref.finalize(self, self._clean, name)
            @staticmethod
            def _clean(name): log.append(f"clean {name}"); os.path.exists(name) and os.remove(name)
        class Loud:
            def __init__(self, n): self.n = n
            def __del__(self): log.append(f"del {self.n}")
        a, b = Resource("a.lock"), Resource("b.lock"); loud, tmp = Loud(1), Loud(2); del tmp
        class Node:
            def __init__(self, v, parent=None): self.v, self.kids = v, []; self.parent = weakref.ref(parent) if parent else None; parent and parent.kids.append(self)
        root = Node("r"); kid = Node("k", root); proxy = weakref.proxy(root); cache = weakref.WeakValueDictionary(); cache["a"] = a
        by = weakref.WeakKeyDictionary({root: ["meta"]})
        class Slotted:
            __slots__ = ("x", "__weakref__")
        s = Slotted(); s.x = 1; ws = weakref.ref(s)
        weakref.finalize(b, log.append, "b went")
        """,
        r"""
        log, sorted(os.listdir("."))[:2]
        kid.parent() is root, proxy.v, by[root], ws() is s, cache["a"] is a
        sorted(r.name for r in Resource.live)
        del b; gc.collect() ;; log
        os.path.exists("b.lock"), os.path.exists("a.lock"), len(Resource.live)
        del loud ;; log[-1]
        cache.pop("a", None); del a; gc.collect() ;; log[-1]
        """,
    ),
}
