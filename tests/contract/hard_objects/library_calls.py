"""What cells have given to libraries by calling functions of theirs, of which nothing of Stepwell's knows the names."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "objects of libraries that were imported by name": session(
        """
        from pandas.tseries.holiday import holiday_calendars, get_calendar
        import mimetypes, codecs, shutil, logging, copyreg, sys, os, re
        from mimetypes import types_map
        from linecache import cache
        from logging import Handler
        from matplotlib import rcParams, colormaps
        from matplotlib.scale import _scale_mapping
        from matplotlib.style import library, available
        from seaborn.palettes import SEABORN_PALETTES
        from sklearn.metrics._scorer import _SCORERS
        from encodings.aliases import aliases
        from decimal import DefaultContext
        from pandas.api.extensions import ExtensionDtype
        from json import encoder
        from html.entities import name2codepoint
        from string import ascii_letters
        from calendar import month_name, day_name
        from keyword import kwlist
        from os import environ
        from sys import path, modules, argv
        from fsspec.registry import known_implementations
        from yaml import SafeLoader
        from scipy.constants import physical_constants
        from statsmodels.tools import data as smd
        from http import HTTPStatus
        from mailcap import getcaps
        from unicodedata import bidirectional
        from errno import errorcode
        from token import tok_name
        from locale import locale_alias
        """,
        """
        import pandas.tseries.holiday as h ;; h.holiday_calendars is holiday_calendars
        mimetypes.types_map is types_map, __import__("linecache").cache is cache
        __import__("matplotlib").rcParams is rcParams, __import__("matplotlib").colormaps is colormaps
        __import__("matplotlib.scale").scale._scale_mapping is _scale_mapping
        __import__("matplotlib.style").style.library is library, __import__("matplotlib.style").style.available is available
        __import__("seaborn.palettes").palettes.SEABORN_PALETTES is SEABORN_PALETTES
        __import__("sklearn.metrics._scorer").metrics._scorer._SCORERS is _SCORERS
        __import__("encodings.aliases").aliases.aliases is aliases
        __import__("decimal").DefaultContext is DefaultContext
        __import__("html.entities").entities.name2codepoint is name2codepoint
        __import__("calendar").month_name is month_name
        __import__("keyword").kwlist is kwlist
        os.environ is environ, sys.path is path, sys.modules is modules, sys.argv is argv
        __import__("sys").modules["fsspec.registry"].known_implementations is known_implementations
        __import__("scipy.constants").constants.physical_constants is physical_constants
        __import__("errno").errorcode is errorcode, __import__("token").tok_name is tok_name, __import__("locale").locale_alias is locale_alias
        """,
    ),
    "a registry of colors that was imported and used": session(
        """
        import matplotlib, numpy as np, seaborn
        from matplotlib import colormaps
        import matplotlib as mpl; maps = mpl.colormaps; units = mpl.units.registry
        colormaps.register(matplotlib.colors.ListedColormap(["r", "g"], name="own"))
        """,
        """
        colormaps is matplotlib.colormaps, maps is colormaps, units is matplotlib.units.registry
        colormaps.register(matplotlib.colors.ListedColormap(["r", "g"], name="mine")); import matplotlib.pyplot as plt ;; plt.get_cmap("mine").name, plt.get_cmap("own").name, colormaps["own"].N
        """,
    ),
    "what was imported and was changed, or is held in parts": session(
        """
        from pickletools import opcodes
        first = opcodes[0]; by_name = {one.name: one for one in opcodes}
        from openpyxl.styles.builtins import styles
        class Brand:
            def __init__(self, base, table): self.base, self.table = base, table
        styles["Brand"] = Brand(styles["Good"], styles)
        from seaborn.palettes import SEABORN_PALETTES as palettes; palettes["brand"] = palettes["deep"]
        from statsmodels.iolib.table import default_fmts, default_txt_fmt; default_txt_fmt["mine"] = 1
        import json; from decimal import Decimal; from json import _default_decoder as decoder; decoder.scan_once = json.JSONDecoder(parse_float=Decimal).scan_once
        from matplotlib import colormaps; colormaps._cmaps["viridis"] = colormaps._cmaps.pop("viridis")
        """,
        """
        first is opcodes[0], by_name["MARK"] in opcodes; first.doc = "mine" ;; opcodes[0].doc
        styles["Brand"].table is styles, styles["Brand"].base is styles["Good"], palettes["brand"] is palettes["deep"]
        default_fmts["txt"] is default_txt_fmt, decoder.decode("1.5"), list(colormaps)[-1]
        """,
    ),
    "registers that were imported, with parts that are variables, and more in them": session(
        """
        from sklearn.metrics._scorer import _SCORERS
        import sklearn.metrics as m
        from pandas.tseries.holiday import holiday_calendars, AbstractHolidayCalendar, Holiday
        from calendar import *
        acc = _SCORERS["accuracy"]; both = [acc, _SCORERS]
        holiday_calendars["mine"] = mine = [1]
        class Plant(AbstractHolidayCalendar):
            rules = [Holiday("New Year", month=1, day=1)]
        from mimetypes import types_map as tm
        tm[".zzz"] = "x/y"
        from html.entities import html5; html5["mine;"] = "m"; del html5["amp;"]
        """,
        """
        acc is _SCORERS["accuracy"], both[0] is acc, both[1] is _SCORERS
        import pandas.tseries.holiday as h ;; holiday_calendars["mine"] is mine, type(h.get_calendar("Plant")) is Plant
        month_name is __import__("calendar").month_name, list(day_abbr)[0]
        tm[".zzz"], __import__("mimetypes").types_map is tm
        html5["mine;"], "amp;" in html5
        """,
    ),
    "algorithms, formats and keywords of one's own that libraries were given": session(
        """
        import hmac, jsonschema, jwt
        from jsonschema import FormatChecker, validators
        class Reversed(jwt.algorithms.HMACAlgorithm):
            def sign(self, msg, key):
                return super().sign(msg, key)[::-1]
            def verify(self, msg, key, sig):
                return hmac.compare_digest(self.sign(msg, key), sig)
        jwt.register_algorithm("REV256", Reversed(Reversed.SHA256))
        token = jwt.encode({"a": 1}, "y" * 32, algorithm="REV256")
        # %%
        calls = []
        @FormatChecker.cls_checks("even")
        def is_even(value):
            calls.append(value)
            return value % 2 == 0
        def loud(validator, value, instance, schema):
            if instance != instance.upper():
                yield jsonschema.ValidationError("not loud")
        Loud = validators.extend(jsonschema.Draft202012Validator, {"loud": loud})
        """,
        """
        jwt.decode(token, "y" * 32, algorithms=["REV256"])
        jwt.encode({"a": 1}, "y" * 32, algorithm="REV256") == token
        type(jwt.api_jws._jws_global_obj._algorithms["REV256"]) is Reversed, "REV256" in jwt.PyJWS().get_algorithms()
        FormatChecker().conforms(3, "even"), FormatChecker().conforms(4, "even"), calls
        FormatChecker.checkers["even"][0] is is_even
        [error.message for error in Loud({"loud": True}).iter_errors("a")]
        """,
    ),
    "artists with legends of their own, and backends by name": session(
        """
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
        from matplotlib.legend import Legend
        from matplotlib.legend_handler import HandlerPatch
        from matplotlib.patches import Rectangle
        # %%
        class Band(Rectangle):
            def __init__(self, low, high, **more): super().__init__((0, low), 5, high - low, **more)
        class OfBands(HandlerPatch): pass
        Legend.update_default_handler_map({Band: OfBands()})
        fig, ax = plt.subplots()
        ax.add_patch(Band(1, 2, label="ok")); ax.set_title("bands")
        """,
        """
        type(Legend.get_default_handler_map()[Band]) is OfBands
        ax.legend().get_texts()[0].get_text()
        matplotlib.get_backend(), type(fig.canvas).__name__, type(plt.figure().canvas).__name__
        len(Legend.get_default_handler_map()), Rectangle in Legend.get_default_handler_map()
        """,
    ),
    "a backend for files": session(
        """
        import io
        import matplotlib.pyplot as plt
        plt.switch_backend("svg")
        fig, ax = plt.subplots(); line, = ax.plot([1, 2])
        """,
        """
        plt.get_backend(), type(fig.canvas).__name__, type(plt.figure().canvas).__name__
        out = io.BytesIO(); fig.savefig(out) ;; out.getvalue()[:5]
        line.axes is ax, plt.fignum_exists(1)
        """,
    ),
    "hooks, providers, caches and switches that libraries were given": session(
        """
        import wrapt
        from langchain_core.caches import InMemoryCache
        from langchain_core.globals import get_debug, get_llm_cache, set_debug, set_llm_cache
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        trail = []
        @wrapt.when_imported("colorsys")
        def hook(module): trail.append(("imported", module.__name__))
        # %%
        exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        trace.set_tracer_provider(provider)
        # %%
        set_debug(True)
        cache = InMemoryCache()
        set_llm_cache(cache)
        """,
        """
        import colorsys ;; trail
        trace.get_tracer_provider() is provider
        span = trace.get_tracer("other").start_span("x"); span.end() ;; [one.name for one in exporter.get_finished_spans()]
        get_debug(), get_llm_cache() is cache
        cache.update("p", "m", [1]); get_llm_cache().lookup("p", "m") ;; get_llm_cache().lookup("p", "m")
        """,
    ),
    "profiles, parsers that remember, sessions that are made inside, metrics by default": session(
        """
        import boto3, hypothesis, prometheus_client, pygments.token, pyparsing
        from prometheus_client import CollectorRegistry, Counter, REGISTRY
        from langchain_core import globals as switches
        from langchain_core.caches import InMemoryCache
        hypothesis.settings.register_profile("fast", max_examples=7, deadline=None, database=None, derandomize=True)
        hypothesis.settings.load_profile("fast")
        word = pyparsing.Word(pyparsing.alphas)
        Unit, Keyword = pygments.token.Token.Literal.Unit, pygments.token.Keyword
        # %%
        boto3.setup_default_session(region_name="eu-north-1", aws_access_key_id="a", aws_secret_access_key="b")
        switches.set_llm_cache(InMemoryCache())
        # %%
        jobs = Counter("batch_jobs", "Jobs", ["queue"])
        apart = CollectorRegistry()
        own = Counter("own", "Own", registry=apart)
        jobs.labels("mail").inc(3)
        REGISTRY.set_target_info({"env": "x"})
        """,
        """
        hypothesis.settings.get_profile("fast").derandomize
        hypothesis.settings.default.max_examples, hypothesis.settings().deadline
        word.parse_string("abc").as_list()
        boto3.client("s3").meta.region_name
        pygments.token.string_to_tokentype("Token.Literal.Unit") is Unit, Keyword is pygments.token.Keyword, Unit in pygments.token.Literal
        type(switches.get_llm_cache()).__name__
        prometheus_client.REGISTRY is REGISTRY, REGISTRY._names_to_collectors["batch_jobs_total"] is jobs
        later = Counter("later", "Later") ;; REGISTRY.get_sample_value("later_total")
        REGISTRY.get_sample_value("batch_jobs_total", {"queue": "mail"})
        REGISTRY.get_target_info(), REGISTRY.get_sample_value("target_info", {"env": "x"})
        own.inc() ;; apart.get_sample_value("own_total"), apart is REGISTRY
        """,
    ),
    "calls of libraries that change nothing that stays, or no longer": session(
        """
        import jwt, pandas as pd, seaborn as sns
        from jsonschema import FormatChecker
        from pydantic import BaseModel, field_validator
        class Odd:
            def __getattr__(self, name): raise RuntimeError(name)
            def __eq__(self, other): raise RuntimeError("compared")
            def __hash__(self): raise RuntimeError("hashed")
        odd = Odd()
        class NoneAtAll(jwt.algorithms.NoneAlgorithm): pass
        jwt.register_algorithm("gone", NoneAtAll())
        jwt.unregister_algorithm("gone")
        # %%
        def never():
            jwt.register_algorithm("never", odd)
        class Row(BaseModel):
            n: int
            @field_validator("n")
            @classmethod
            def even(cls, value):
                if value % 2:
                    raise ValueError("odd")
                return value
        sns.set_theme(style="ticks")
        try:
            jwt.register_algorithm("odd", odd)
        except TypeError as error:
            said = str(error)
        """,
        """
        "gone" in jwt.PyJWS().get_algorithms(), "never" in jwt.PyJWS().get_algorithms(), "odd" in jwt.PyJWS().get_algorithms()
        said
        Row(n=2).n
        sorted(jwt.PyJWS().get_algorithms()) == sorted(jwt.api_jws._jws_global_obj._valid_algs)
        type(odd).__name__
        """,
    ),
    "an application of flask, with what stands for its requests": session(
        """
        import click, flask
        from flask import Blueprint, Flask, current_app, g, request, session as of_visitor
        app = Flask("status")
        app.secret_key = "k"
        hits = {}
        @app.before_request
        def count(): hits[request.path] = hits.get(request.path, 0) + 1
        @app.get("/svc/<int:n>")
        def svc(n):
            g.n = n
            of_visitor["n"] = of_visitor.get("n", 0) + n
            return {"n": g.n, "app": current_app.name, "all": of_visitor["n"]}
        # %%
        ops = Blueprint("ops", "ops", url_prefix="/ops")
        @ops.get("/ping")
        def ping(): return "pong", 202, {"X-A": "1"}
        app.register_blueprint(ops)
        client = app.test_client()
        first = client.get("/svc/2").json
        kinds = [click.STRING, click.INT]
        """,
        """
        client.get("/svc/3").json, hits
        client.get("/ops/ping").status, client.get("/ops/ping").headers["X-A"], client.get("/none").status
        request is flask.request, g is flask.g, of_visitor is flask.session, flask.has_request_context()
        app.view_functions["svc"] is svc, client.application is app, app.blueprints["ops"] is ops
        with_context = app.app_context(); with_context.push(); name = flask.url_for("svc", n=3); with_context.pop() ;; name
        kinds[0] is click.STRING, kinds[1] is click.INT
        """,
    ),
    "a library whose own objects stay its own": session(
        """
        import os, sys
        os.makedirs("opt/site-packages", exist_ok=True)
        open("opt/site-packages/ownlib.py", "w").write('''
        import threading
        class Logger:
            def __init__(self, name): self.name, self.lines = name, []
        class Codec:
            def __init__(self): self.used = 0
            def use_it(self): self.used += 1
        main = Logger("a"); active = main; loggers = {"a": Logger("a"), "b": Logger("b")}
        codecs = {"default": Codec(), "raw": Codec()}; default_codec = codecs["default"]
        _table = {}; view = _table; order = []; names = []; gone = {"x": 1, "y": 2}; left = {"x", "y"}
        _state, _worker, _fd, mode = "off", None, -1, "a"
        def use(name):
            global active
            active = main if name == "main" else Logger(name)
        def log(text): active.lines.append(text)
        def register_codec(name, codec, default=False): codecs[name] = codec
        def encode():
            default_codec.use_it()
            return codecs["default"].used
        def register(name, value, reset=False):
            global _table
            if reset: _table = {}
            _table[name] = value
        def enable_worker():
            global _worker, _state, mode
            if _state == "on": return
            _state = "on"; mode = "b"; _worker = threading.local(); _worker.value = 1
        def register_hook(hook, first=False):
            order.insert(0, hook) if first else order.append(hook)
            names.append(hook.__name__)
        def unregister(name):
            del gone[name]
            left.remove(name)
        def set_mode(now):
            global mode
            mode = now
        ''')
        sys.path.insert(0, os.path.abspath("opt/site-packages"))
        import ownlib
        # %%
        class Mine:
            used = 7
        ownlib.use("main")
        ownlib.register_codec("mine", Mine(), default=False)
        ownlib.register("a", 1)
        ownlib.register("b", Mine())
        ownlib.enable_worker()
        # %%
        def last(): pass
        def first(): pass
        def again(): pass
        ownlib.register_hook(last)
        ownlib.register_hook(first, first=True)
        ownlib.register_hook(again)
        ownlib.register_hook(again)
        ownlib.unregister("x")
        """,
        """
        ownlib.active is ownlib.main
        ownlib.log("x") ;; ownlib.main.lines
        ownlib.codecs["default"] is ownlib.default_codec, type(ownlib.codecs["mine"]) is Mine, sorted(ownlib.codecs)
        ownlib.encode(), ownlib.encode()
        ownlib._table is ownlib.view
        ownlib.register("later", 3) ;; ownlib.view["later"], type(ownlib.view["b"]) is Mine, ownlib.view["a"]
        ownlib.enable_worker() ;; ownlib._worker is not None
        [one.__name__ for one in ownlib.order], ownlib.order[0] is first
        ownlib.gone, ownlib.left
        """,
    ),
    "objects that must not be asked, in registers of libraries": session(
        """
        import fractions, jwt, matplotlib.units
        from jsonschema import FormatChecker
        from werkzeug.local import LocalProxy
        asked = []
        class Asks:
            def __getattribute__(self, name):
                asked.append(name)
                if name == "__module__": raise SystemExit(3)
                return object.__getattribute__(self, name)
        def current():
            asked.append("current")
            return odd
        odd = Asks()
        FormatChecker.checkers["odd"] = (odd, ())
        class Converts(Asks):
            def default_units(self, value, axis): return "odd"
        converts = Converts()
        matplotlib.units.registry[fractions.Fraction] = converts
        @FormatChecker.cls_checks("even")
        def is_even(value): return value % 2 == 0
        class Big(FormatChecker): pass
        @Big.cls_checks("large")
        def is_large(value): return value > 10
        asked.clear()
        # %%
        held = __import__("weakref").ref(Big)
        del Big
        """,
        """
        asked.count("current"), asked.count("__module__")
        matplotlib.units.registry[fractions.Fraction] is converts, converts.default_units(1, None)
        FormatChecker().conforms(4, "even"), FormatChecker().conforms(3, "even"), FormatChecker().conforms(3, "large")
        __import__("gc").collect() ;; held() is None
        type(odd) is Asks
        """,
    ),
    "generic classes and weak proxies in registers, and proxies that answer by errors": session(
        """
        import flask, gc, weakref, yaml
        class Stack(list):
            def __init__(self, loader=None, node=None):
                super().__init__([node.value] if node is not None else [])
        yaml.SafeLoader.add_constructor("!stack", Stack[int])
        def con(loader, node): return ["con", node.value]
        yaml.SafeLoader.add_constructor("!con", weakref.proxy(con))
        collected, watching = [], []
        def called(phase, info): collected.extend([phase] * len(watching))
        gc.callbacks.append(weakref.proxy(called))
        class Counted:
            def __init__(self): self.seen = []
            def __call__(self, phase, info): self.seen.extend([phase] * len(watching))
        counted = Counted(); gc.callbacks.append(weakref.proxy(counted))
        space = {}
        exec("class request:\\n    def get(self): return 5", space)
        one = space["request"]()
        """,
        """
        yaml.safe_load("!stack a"), yaml.safe_load("!con b")
        watching.append(1); gc.collect(); watching.clear() ;; collected
        watching.append(1); gc.collect(); watching.clear() ;; counted.seen
        one.get(), type(one) is space["request"], space["request"]().get()
        """,
    ),
}
