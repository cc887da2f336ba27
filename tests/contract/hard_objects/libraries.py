"""What cells set in libraries, put into them and register with them, in whatever way."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
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
        named="fn env tpl mem costly FunctionNamespace set_random_seed",
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
        named="ctx mem mem2 Temp",
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
    "models of pydantic that wait for what they name": session(
        """
        from pydantic import BaseModel, ValidationError
        Late = type("Late", (BaseModel,), {"__annotations__": {"z": "Unknown"}, "__module__": __name__})
        class Early(BaseModel):
            z: "Unknown2"
            n: int = 1
        class Ready(BaseModel):
            n: int = 1
        class Base:
            __note__ = None
        class Derived(Base):
            __note__ = None
        """,
        """
        Late.__pydantic_complete__, Early.__pydantic_complete__, Ready.__pydantic_complete__, "__signature__" in vars(Early)
        Early(z=1)
        Late.model_rebuild(_types_namespace={"Unknown": int}), Late(z="4").z, Late.__pydantic_complete__
        Unknown2 = int ;; Early(z="4").z, Early.model_json_schema()["required"], Early(z=1).n
        Ready(n="3").n, Ready.model_rebuild()
        Base.__note__ = 1 ;; Derived.__note__
        """,
    ),
}
