"""Hooks, signals, streams and settings of the process and of libraries, however they were set."""

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
    "settings of drawing": session(
        r"""
        import matplotlib as mpl, matplotlib.pyplot as plt, seaborn as sns, numpy as np, cycler
        plt.style.use("ggplot"); mpl.rcParams.update({"axes.titlesize": 22, "savefig.dpi": 55}); plt.rc("font", family="serif")
        cmap = mpl.colors.LinearSegmentedColormap.from_list("brand", ["#112233", "#ffeedd"]); mpl.colormaps.register(cmap)
        plt.set_cmap("brand"); plt.close("all")
        plt.style.library["house"] = mpl.RcParams({"lines.linewidth": 9.0}); plt.style.available[:] = sorted(plt.style.library)
        sns.set_palette("husl", 5); sns.set_context("talk", font_scale=0.5)
        mpl.colors.get_named_colors_mapping()["brandblue"] = "#0000aa"
        mpl.units.registry[complex] = mpl.units.ConversionInterface()
        class Half(mpl.scale.ScaleBase):
            name = "half"
        mpl.scale.register_scale(Half)
        from matplotlib.projections import register_projection, PolarAxes
        class Own(PolarAxes): name = "own"
        register_projection(Own)
        plt.ion(); fig, ax = plt.subplots(); line, = ax.plot([1, 2], label="l"); im = ax.imshow(np.eye(2)); plt.sca(ax); plt.figure(7)
        default = mpl.rcParamsDefault["lines.linewidth"]; kept = mpl.rcParams.copy(); locs = ax.xaxis.get_major_locator()
        """,
        r"""
        mpl.rcParams["axes.titlesize"], mpl.rcParams["savefig.dpi"], mpl.rcParams["font.family"], mpl.rcParams["axes.facecolor"]
        mpl.colormaps["brand"](0.0), mpl.rcParams["image.cmap"], plt.get_cmap().name
        plt.style.use("house") ;; mpl.rcParams["lines.linewidth"]
        len(sns.color_palette()), mpl.rcParams["axes.prop_cycle"].by_key()["color"][0]
        mpl.colors.to_hex("brandblue")
        type(mpl.units.registry[complex]).__name__
        "half" in mpl.scale.get_scale_names()
        plt.figure(9).add_subplot(projection="own").name
        plt.isinteractive(), plt.get_fignums(), im.cmap.name
        line in ax.lines, line.axes is ax, fig.axes[0] is ax, ax.xaxis.get_major_locator() is locs
        kept["savefig.dpi"], default
        """,
    ),
    "settings of many libraries": session(
        r"""
        import pandas as pd, numpy as np, polars as pl, pyarrow as pa, scipy.fft, PIL.Image, PIL.ImageFile, lxml.etree as etree, joblib, jinja2, yaml, tiktoken, threadpoolctl
        """.replace(", tiktoken", "")
        + r"""
        pd.options.display.max_colwidth = 11; pd.set_option("display.width", 33); pd.set_option("mode.string_storage", "python"); pd.set_option("future.infer_string", False)
        pa.set_cpu_count(3); pa.set_io_thread_count(5)
        pl.enable_string_cache(); pl.Config.set_float_precision(1); pl.set_random_seed(7)
        PIL.Image.MAX_IMAGE_PIXELS = 1234; PIL.ImageFile.LOAD_TRUNCATED_IMAGES = True
        np.set_printoptions(threshold=3, edgeitems=1, legacy=False); np.seterr(under="warn"); buf = np.setbufsize(16384)
        def opener(fp, filename): raise SyntaxError
        PIL.Image.register_open("MINE", opener, lambda prefix: prefix[:4] == b"MINE"); PIL.Image.register_extension("MINE", ".mine")
        fn = etree.FunctionNamespace("urn:f"); fn["twice"] = lambda ctx, x: x * 2
        yaml.SafeLoader.add_constructor("!sq", lambda l, n: int(l.construct_scalar(n)) ** 2)
        jinja2.defaults.DEFAULT_FILTERS["shout"] = lambda s: s.upper(); env = jinja2.Environment(); env.globals["now"] = "t"; tpl = env.from_string("{{ now }}{{ 'a'|shout }}")
        scipy.fft.set_global_backend("scipy"); mem = joblib.Memory("jl", verbose=0); costly = mem.cache(lambda x: x + 1)
        np.random.seed(1)
        """,
        r"""
        pd.get_option("display.max_colwidth"), pd.options.display.width, pd.Series(["a"]).dtype == object
        pa.cpu_count(), pa.io_thread_count()
        pl.using_string_cache(), pl.Config.state().get("set_float_precision"), str(pl.Series([1.26]))[-5:]
        PIL.Image.MAX_IMAGE_PIXELS, PIL.ImageFile.LOAD_TRUNCATED_IMAGES
        str(np.arange(10)), np.geterr()["under"], np.getbufsize()
        "MINE" in PIL.Image.OPEN, PIL.Image.EXTENSION.get(".mine")
        yaml.safe_load("!sq 5"), tpl.render(), jinja2.Environment().from_string("{{ 'b'|shout }}").render()
        pl.Series([1, 2, 3]).sample(1).to_list() in ([1], [2], [3])
        """,
        named="fn env tpl mem costly",
    ),
    "clients without a net": session(
        r"""
        import socket, urllib.request, http.cookiejar, http.cookies, ssl, requests, http.client, email.message, urllib.parse, httpx, selectors, os
        socket.setdefaulttimeout(4.5)
        jar = http.cookiejar.CookieJar(); opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar)); opener.addheaders = [("User-Agent", "mine/1")]; urllib.request.install_opener(opener)
        jar.set_cookie(http.cookiejar.Cookie(0, "sid", "42", None, False, "x.org", True, False, "/", True, False, None, True, None, None, {}))
        simple = http.cookies.SimpleCookie(); simple["a"] = "1"; simple["a"]["path"] = "/p"
        s = requests.Session(); s.headers["X-Key"] = "k"; s.cookies.set("c", "v", domain="d.org"); s.auth = ("u", "p"); s.hooks["response"].append(lambda r, *a, **k: r)
        class Retry(requests.adapters.HTTPAdapter):
            def __init__(self): self.tries = 0; super().__init__(max_retries=2)
            def send(self, *a, **k): self.tries += 1; raise requests.ConnectionError("no net")
        s.mount("http://", Retry())
        ctx = ssl.create_default_context(); ctx.check_hostname = False; ctx.verify_mode = ssl.CERT_NONE; ctx.set_ciphers("HIGH")
        ssl._create_default_https_context = ssl._create_unverified_context
        http.client.HTTPConnection.debuglevel = 1; http.client._MAXHEADERS = 1000
        req = urllib.request.Request("http://x.org/p", data=b"d", headers={"A": "b"}, method="PUT")
        prepared = requests.Request("GET", "http://x.org", params={"q": "é"}).prepare()
        a, b = socket.socketpair(); sel = selectors.DefaultSelector(); sel.register(a, selectors.EVENT_READ, "tag")
        urllib.parse.uses_netloc.append("s3x")
        client = httpx.Client(headers={"h": "1"})
        """,
        r"""
        socket.getdefaulttimeout(), socket.getaddrinfo.__module__
        urllib.request._opener is opener, opener.addheaders, [c.value for c in jar]
        simple.output(), simple["a"]["path"]
        s.headers["X-Key"], s.cookies.get("c"), s.auth, len(s.hooks["response"])
        s.get("http://nowhere.invalid/")
        s.adapters["http://"].tries
        ctx.check_hostname, ctx.verify_mode
        ssl._create_default_https_context is ssl._create_unverified_context, http.client.HTTPConnection.debuglevel, http.client._MAXHEADERS
        req.get_method(), req.data, req.headers, prepared.url
        sel.get_key(a).data
        client.headers["h"]
        [h for h in opener.handlers if isinstance(h, urllib.request.HTTPCookieProcessor)][0].cookiejar is jar
        """,
        named="ctx a b sel client opener",
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
    "patches of libraries in loops and by hand": session(
        r"""
        import pathlib, pandas as pd, numpy as np, json, datetime as dt, collections, unittest.mock as mock, requests, decimal, statistics, operator, builtins, time, os
        pathlib.Path.ls = lambda self: sorted(p.name for p in self.iterdir())
        for name in ("alpha", "beta"): setattr(pd.DataFrame, "to_" + name, (lambda n: lambda self: (n, self.shape))(name))
        json.JSONEncoder.default = lambda self, o: f"<{type(o).__name__}>"
        @pd.api.extensions.register_series_accessor("mine")
        class Mine:
            def __init__(self, s): self.s = s
            def twice(self): return self.s * 2
        p1 = mock.patch.object(time, "time", return_value=5.0); p1.start(); p2 = mock.patch.dict(os.environ, {"MOCKED": "1"}); p2.start()
        def patch(target, **attrs):
            for k, v in attrs.items(): setattr(target, k, v)
        patch(statistics, mean=lambda xs: "patched", special=3)
        collections.Counter.top = property(lambda self: self.most_common(1)[0][0])
        original = pd.Series.sum
        def loud(self, *a, **k): calls.append(len(self)); return original(self, *a, **k)
        calls = []; pd.Series.sum = loud
        requests.get = lambda url, **k: {"url": url}; decimal.Decimal.__module__
        np.mine = np.arange(3); np.random.mine = "r"; vars(operator)["plus"] = operator.add
        class FakeTime:
            now = dt.datetime(2020, 1, 1)
        dt.frozen = FakeTime; builtins.debug = lambda *a: calls.append(a)
        del statistics.median
        """,
        r"""
        pathlib.Path(".").ls()
        pd.DataFrame({"a": [1]}).to_alpha(), hasattr(pd.DataFrame, "to_beta")
        json.dumps({1: object})
        pd.Series([1]).mine.twice().tolist()
        time.time()
        os.environ.get("MOCKED")
        statistics.mean([1]), getattr(statistics, 'special', None)
        collections.Counter("aab").top
        pd.Series([1, 2]).sum(), calls
        requests.get("u"), np.mine.tolist(), np.random.mine
        getattr(operator, "plus", None)
        dt.frozen is FakeTime, debug(1), calls[-1]
        hasattr(statistics, "median")
        """,
        named="p1 p2",
        known="statistics.mean([1]), getattr(statistics, 'special', None)",
    ),
    "entries of registers and lists of libraries": session(
        r"""
        import codecs, urllib.parse, mimetypes, json, string, matplotlib.pyplot as plt, matplotlib as mpl, jinja2, pandas as pd, sys, html, email.charset, webbrowser, copyreg, sqlite3, yaml, encodings.aliases, http.client, zoneinfo, textwrap, pprint, shutil, tempfile, socket, locale, calendar, operator
        urllib.parse.uses_netloc.append("s3x"); urllib.parse.uses_relative += ["s3y"]
        html.entities.html5["mine;"] = "M" if hasattr(html, "entities") else None
        http.client.responses[299] = "Mine"
        encodings.aliases.aliases["mine"] = "utf_8"
        codecs.register_error("mark", lambda e: ("?!", e.end))
        mimetypes.init(); mimetypes.types_map[".zzz"] = "text/zzz"; mimetypes.suffix_map[".tzz"] = ".tar.zz"
        plt.rcParams["axes.grid"] = True; mpl.rcParamsDefault["lines.linewidth"]; mpl.markers.MarkerStyle.markers["mine"] = "mine"
        shutil.register_archive_format("mine", lambda *a, **k: "made", description="own")
        pd.io.formats.format if False else None; calendar.day_name_backup = list(calendar.day_name)
        class Hex(dict): pass
        def up(s): return s.upper()
        jinja2.filters.FILTERS["up"] = up; jinja2.tests.TESTS["big"] = lambda v: v > 10
        tempfile.template = "mine"; pprint.PrettyPrinter._dispatch[Hex.__repr__] = pprint.PrettyPrinter._pprint_dict
        sys.modules["shadow"] = json; sys.path_importer_cache.clear(); sys.modules.pop("colorsys", None)
        socket.getaddrinfo_real = socket.getaddrinfo; socket.getaddrinfo = lambda *a, **k: [("fake", a[0])]
        string.mine = {"nested": []}; string.mine["nested"].append(1)
        """,
        r"""
        "s3x" in urllib.parse.uses_netloc, "s3y" in urllib.parse.uses_relative, urllib.parse.urljoin("s3x://h/a", "b")
        http.client.responses[299]
        "x".encode("mine")
        "é".encode("ascii", "mark")
        mimetypes.types_map[".zzz"], mimetypes.suffix_map.get(".tzz")
        plt.rcParams["axes.grid"], mpl.markers.MarkerStyle.markers.get("mine")
        shutil.make_archive("q", "mine", ".")
        jinja2.filters.FILTERS["up"] is up, jinja2.Environment().from_string("{{ 'a'|up }}").render()
        tempfile.template, calendar.day_name_backup[0]
        __import__("shadow") is json
        socket.getaddrinfo("h", 1)
        string.mine
        """,
    ),
    "types and functions registered with engines": session(
        r"""
        import pyarrow as pa, pyarrow.compute as pc, polars as pl, pandas as pd, numpy as np, sqlite3, duckdb, json, pickle, copyreg, functools, collections, typing, abc
        class Temp(pa.ExtensionType):
            def __init__(self): super().__init__(pa.float64(), "my.temp")
            def __arrow_ext_serialize__(self): return b""
            @classmethod
            def __arrow_ext_deserialize__(cls, storage, ser): return cls()
        pa.register_extension_type(Temp()); arr = pa.ExtensionArray.from_storage(Temp(), pa.array([1.0, 2.0])); tab = pa.table({"t": arr})
        @pl.api.register_expr_namespace("mine")
        class Mine:
            def __init__(self, e): self._e = e
            def double(self): return self._e * 2
        @pl.api.register_dataframe_namespace("fx")
        class Fx:
            def __init__(self, df): self._df = df
            def n(self): return self._df.height
        pdf = pl.DataFrame({"a": [1, 2]}); ctx = pl.SQLContext(frames={"t": pdf})
        class Point:
            def __init__(self, x): self.x = x
        sqlite3.register_adapter(Point, lambda p: f"P{p.x}"); sqlite3.register_converter("POINT", lambda b: Point(int(b[1:]))); con = sqlite3.connect(":memory:", detect_types=sqlite3.PARSE_DECLTYPES); con.execute("create table p (v POINT)"); con.execute("insert into p values (?)", (Point(4),)); con.commit()
        con.executescript("create table n (a, b as (a * 2)); create trigger t after insert on n begin insert into p values ('P9'); end; create virtual table f using fts5(body); insert into f values ('hello world')")
        mem = sqlite3.connect("file:shared?mode=memory&cache=shared", uri=True); mem.execute("create table s (x)"); mem.execute("insert into s values (1)"); mem.commit(); mem2 = sqlite3.connect("file:shared?mode=memory&cache=shared", uri=True)
        class Shape(abc.ABC):
            @abc.abstractmethod
            def area(self): ...
        @Shape.register
        class Sq:
            def area(self): return 4
        @functools.singledispatch
        def show(x): return "any"
        @show.register
        def _(x: Point): return f"point {x.x}"
        json_default = json.JSONEncoder(default=lambda o: vars(o)); Alias = typing.Annotated[int, "unit"]
        """,
        r"""
        tab.schema.field("t").type, arr.to_pylist(), tab.column("t").type == Temp(), type(tab.schema.field("t").type) is Temp
        pdf.select(pl.col("a").mine.double()).to_series().to_list(), pdf.fx.n()
        ctx.execute("select sum(a) s from t", eager=True).item()
        con.execute("select v from p").fetchone()[0].x
        con.execute("insert into n (a) values (5)") ;; con.execute("select b from n").fetchone(), con.execute("select count(*) from p").fetchone()
        con.execute("select body from f where f match 'world'").fetchall()
        mem2.execute("select * from s").fetchall(), mem2.execute("insert into s values (2)") and mem2.commit(), mem.execute("select count(*) from s").fetchone()
        isinstance(Sq(), Shape), issubclass(Sq, Shape), show(Point(3)), show(1)
        json_default.encode(Point(1)), Alias.__metadata__
        """,
        named="ctx mem mem2",
    ),
    "objects of libraries with attributes of one's own": session(
        r"""
        import pandas as pd, numpy as np, matplotlib.pyplot as plt, requests, logging, collections, argparse, types, sklearn.linear_model as lm, pathlib, datetime as dt, http.cookiejar, string, random, fractions, io, functools, email.message, urllib.request, configparser, json, html.parser, queue, threading, decimal
        df = pd.DataFrame({"a": [1, 2]}); df.attrs["unit"] = "kg"; s = df.a; s.name = "renamed"
        model = lm.LinearRegression(); model.tag = "v1"; model.fit([[1], [2]], [1, 2]); model.predict_old = model.predict; model.predict = lambda X: "patched"
        sess = requests.Session(); sess.mine = {"k": 1}; sess.headers["A"] = "b"; resp = requests.Response(); resp.status_code = 404; resp._content = b'{"x": 1}'; resp.note = "mine"; resp.encoding = "utf-8"
        class Client(requests.Session):
            def __init__(self, base): super().__init__(); self.base, self.calls = base, []
            def send(self, request, **k): self.calls.append(request.url); r = requests.Response(); r.status_code = 200; return r
        cl = Client("http://api"); cl.get("http://api/x")
        class Auth(requests.auth.AuthBase):
            def __init__(self, t): self.t = t
            def __call__(self, r): r.headers["T"] = self.t; return r
        cl.auth = Auth("tok"); nsp = argparse.Namespace(a=1); nsp.b = [2]; parser = argparse.ArgumentParser(); parser.add_argument("--n", type=int, default=3); parser.mine = 5
        class Rng(random.Random):
            def __init__(self, tag): self.tag = tag; super().__init__(7)
        rng = Rng("t"); rng.random()
        class Frac(fractions.Fraction):
            pass
        fr = Frac(1, 3); fr2 = fr
        class Q(queue.Queue):
            def __init__(self, n): super().__init__(n); self.log = []
            def put(self, x, **k): self.log.append(x); super().put(x, **k)
        qq = Q(3); qq.put(1)
        class P(html.parser.HTMLParser):
            def __init__(self): super().__init__(); self.n = 0
            def handle_data(self, d): self.n += len(d)
        hp = P(); hp.feed("<b>abc");
        class D(dt.datetime):
            def __new__(cls, *a, tag=None, **k): self = super().__new__(cls, *a, **k); self.tag = tag; return self
        d = D(2024, 1, 2, tag="x"); fig = plt.figure(); fig.mine = {"ax": fig.add_subplot()}; fig.mine["ax"].tag = "main"
        class L(logging.Logger):
            pass
        lg = L("free"); lg.extra = 1; part = functools.partial(int, base=2); part.note = "binary"; sio = io.StringIO("ab"); sio.tag = "s"; th = types.SimpleNamespace(x=1); msg = email.message.EmailMessage(); msg["To"] = "a@b"; msg.mine = 1
        """,
        r"""
        df.attrs, s.name, df.columns.tolist()
        model.tag, model.predict([[3]]), round(float(model.predict_old([[3]])[0]), 3), model.predict_old.__self__ is model
        sess.mine if hasattr(sess, "mine") else None, sess.headers["A"]
        resp.status_code, resp.json(), getattr(resp, "note", None)
        cl.base, cl.get("http://api/y").status_code, cl.calls, cl.auth.t
        nsp.b, parser.mine, parser.parse_args([]).n
        rng.tag, rng.random(), fr + 1, fr2 is fr, type(fr) is Frac
        qq.log, qq.put(2), qq.log, qq.get(), qq.maxsize
        hp.feed("de"), hp.n, d.tag, d.year, type(d) is D
        fig.mine["ax"] is fig.axes[0], fig.axes[0].tag
        lg.extra, lg.name
        part.note, part("101"), sio.tag, sio.read(), msg.mine, msg["To"]
        """,
        named="lg",
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
