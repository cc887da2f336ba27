"""Registers and switches of libraries for data and figures: only what is not as the library has it is kept.

Each is read as None as long as nobody has changed it.
"""

import functools
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from typing import Any

from ..current_session import is_of_session, path_here, portable_path
from ..objects.classes import is_users


class Unkept:
    """Stands among the settings for parts of libraries that do not come back, and has the receipt name them.

    Args:
        parts: The name of each, what it is, and why.
    """

    def __init__(self, parts: list[tuple[str, str, str]]) -> None:
        self.parts = parts


def reduce_unkept(pickler: Any, unkept: Unkept) -> Any:
    """Name the parts."""
    for name, kind, reason in unkept.parts:
        pickler.reducers.name(name, kind, reason)
    return tuple, ()


def _leave(_before: Any) -> None:
    """Nothing can be put back."""


def _styles() -> Any:
    library: Any = sys.modules["matplotlib.style"]
    return {name: dict(library.library[name]) for name in library.library.keys() - library._base_library.keys()} or None


def _set_styles(before: Any) -> None:
    library: Any = sys.modules["matplotlib.style"]
    parameters = sys.modules["matplotlib"].RcParams
    library.library.update({name: parameters(one) for name, one in before.items()})
    library.available[:] = _named(library)


def _available() -> Any:
    """The names of styles that matplotlib says there are, if a cell has put others beside them."""
    library: Any = sys.modules["matplotlib.style"]
    return None if library.available == _named(library) else list(library.available)


def _named(library: Any) -> list[str]:
    return sorted(name for name in library.library if not name.startswith("_"))


def _set_available(before: Any) -> None:
    sys.modules["matplotlib.style"].available[:] = before


def _sequences() -> Any:
    known = sys.modules["matplotlib"].color_sequences
    found = {name: known[name] for name in known if name not in known._BUILTIN_COLOR_SEQUENCES}
    return found or None


def _set_sequences(before: Any) -> None:
    for name, colors in before.items():
        sys.modules["matplotlib"].color_sequences.register(name, colors)


def _arrow() -> Any:
    arrow = sys.modules["pyarrow"]
    threads = arrow.cpu_count(), arrow.io_thread_count()
    pool = arrow.default_memory_pool().backend_name
    told = os.environ.get("OMP_NUM_THREADS", "")
    usual = int(told) if told.isdecimal() else len(os.sched_getaffinity(0))
    changed = threads != (usual, OF_INPUT) or pool != _usual_pool()
    return (threads, pool) if changed else None


@functools.cache
def _usual_pool() -> str:
    return str(sys.modules["pyarrow"].supported_memory_backends()[0])


OF_INPUT = 8
"""Threads that arrow reads with."""


def _set_arrow(before: Any) -> None:
    arrow: Any = sys.modules["pyarrow"]
    (threads, of_input), pool = before
    arrow.set_cpu_count(threads)
    arrow.set_io_thread_count(of_input)
    arrow.set_memory_pool(make_pool(pool))


def reduce_pool(pickler: Any, pool: Any) -> Any:
    """A pool of arrow's memory, of which there is one of each kind."""
    same = type(make_pool(pool.backend_name)) is type(pool) or type(pool).__name__ == "MemoryPool"
    return (make_pool, (pool.backend_name,)) if same else NotImplemented


def make_pool(name: str) -> Any:
    """The pool of that kind."""
    return getattr(importlib.import_module("pyarrow"), f"{name}_memory_pool")()


def functions_of_arrow() -> dict[str, Any]:
    """What names the functions that were registered with pyarrow; they take too long to count to do it every time."""
    library: Any = sys.modules.get("pyarrow.compute")
    if library is None:
        return {}
    names = [name for name in library.list_functions() if not hasattr(library, name)]
    mine = [name for name in names if not name.startswith("hash_") and name not in OF_ARROW]
    why = "pyarrow does not give away the function that was registered; register it again"
    return {FUNCTIONS: Unkept([(f"pyarrow's {name}", "function", why) for name in mine])} if mine else {}


FUNCTIONS = "functions of pyarrow"


def types_of_arrow() -> dict[str, Any]:
    """What names the extension types that were registered with pyarrow, which are of classes of cells."""
    library: Any = sys.modules.get("pyarrow")
    if library is None:
        return {}
    kinds, mine = [library.ExtensionType], []
    while kinds:
        kinds += (found := kinds.pop().__subclasses__())
        mine += [one.__name__ for one in found if is_users(one)]
    why = "pyarrow does not tell which types were registered; register it again, before it is read from a file"
    return {TYPES: Unkept([(f"pyarrow's {name}", "registered type", why) for name in mine])} if mine else {}


TYPES = "types of pyarrow"


def seed_of_polars() -> dict[str, Any]:
    """What names the random numbers of polars, which somebody has seeded."""
    why = "polars does not tell how far its random numbers are; call set_random_seed again"
    return {SEED: Unkept([("polars' set_random_seed", "random numbers", why)])} if "polars" in sys.modules else {}


SEED = "random numbers of polars"


def functions_of_lxml() -> dict[str, Any]:
    """What names the functions that XPath was taught."""
    why = "lxml does not tell which functions its namespaces have; put them there again"
    return {SPACES: Unkept([("lxml's FunctionNamespace", "functions", why)])} if "lxml.etree" in sys.modules else {}


SPACES = "functions of lxml"


EARS = "callbacks of sqlite"
"""In snapshots of earlier versions."""
NAMED_BY_CODE: dict[str, Callable[[], dict[str, Any]]] = {
    "_function(": functions_of_arrow,
    "register_extension_type(": types_of_arrow,
    "set_random_seed(": seed_of_polars,
    "FunctionNamespace(": functions_of_lxml,
}
"""What stands in a cell that does what a library does not tell, and what names it: `register_scalar_function(`, …"""
OF_ARROW = frozenset({"count_all"})
"""Functions of pyarrow that have no name in Python."""


def _pools() -> Any:
    library: Any = sys.modules["joblib.parallel"]
    config, usual = getattr(library._backend, "config", {}), library.default_parallel_config
    return {name: value for name, value in config.items() if value is not usual.get(name)} or None


def _set_pools(before: Any) -> None:
    library: Any = sys.modules["joblib.parallel"]
    library._backend.config = {**library.default_parallel_config, **before}


def _fonts() -> Any:
    return list(_own_fonts(len(sys.modules["matplotlib.font_manager"].fontManager.ttflist))) or None


@functools.lru_cache(maxsize=1)
def _own_fonts(count: int) -> tuple[str, ...]:
    """Files of the session among so many fonts, to which others are only added."""
    known = sys.modules["matplotlib.font_manager"].fontManager.ttflist[:count]
    paths = dict.fromkeys(one.fname for one in known if is_of_session(os.path.abspath(one.fname)))
    return tuple(portable_path(path) if os.path.isabs(path) else path for path in paths)


def _set_fonts(before: Any) -> None:
    manager: Any = sys.modules["matplotlib.font_manager"].fontManager
    for path in map(path_here, before):
        if not any(one.fname == path for one in manager.ttflist):
            manager.addfont(path)


def _interactive() -> Any:
    return sys.modules["matplotlib"].is_interactive() or None


def _set_interactive(before: bool) -> None:
    sys.modules["matplotlib"].interactive(before)


def _special() -> Any:
    found = sys.modules["scipy.special"].geterr()
    return {name: how for name, how in found.items() if how != ("raise" if name == "memory" else "ignore")} or None


def _set_special(before: Any) -> None:
    sys.modules["scipy.special"].seterr(**before)


def _workers() -> Any:
    return vars(_home("scipy.fft", "set_workers")._config).get("default_workers", 1) - 1 or None


def _set_workers(before: Any) -> None:
    _home("scipy.fft", "set_workers")._config.default_workers = before + 1


def _home(module: str, function: str) -> Any:
    """The module in which a library has a function and what that sets: another one in each version."""
    return sys.modules[getattr(sys.modules[module], function).__module__]


def _transforms() -> Any:
    """The backends that all transforms of SciPy were given."""
    own = sys.modules["scipy.fft._backend"]._ScipyBackend
    known = sys.modules["scipy._lib._uarray"].get_state()._pickle()[0]
    return None if known == {own.__ua_domain__: ((own, False, False), [], True)} else known


def _set_transforms(before: Any) -> None:
    library: Any = importlib.import_module("scipy._lib._uarray")
    for domain, ((backend, coerce, only), registered, last) in before.items():
        library.clear_backends(domain, registered=True, globals=True)
        library.set_global_backend(backend, coerce=coerce, only=only, try_last=last)
        for one in registered:
            library.register_backend(one)


def _masked() -> Any:
    """What is printed for a masked value."""
    option = sys.modules["numpy.ma.core"].masked_print_option
    found = option.display(), option.enabled()
    return None if found == ("--", True) else found


def _set_masked(before: Any) -> None:
    option = sys.modules["numpy.ma.core"].masked_print_option
    option.set_display(before[0])
    option.enable(before[1])


def _links() -> Any:
    now = list(_home("scipy.cluster.hierarchy", "set_link_color_palette")._link_line_colors)
    return None if now == OF_LINKS else now


OF_LINKS = [f"C{number}" for number in range(1, 10)]
"""The colors of dendrograms."""


def _set_links(before: Any) -> None:
    sys.modules["scipy.cluster.hierarchy"].set_link_color_palette(before)


def _plots() -> Any:
    """How plots of `seaborn.objects` look and are shown."""
    config = sys.modules["seaborn._core.plot"].Plot.config
    theme, display = _usual_plots()
    changed = {name: one for name, one in dict.items(config.theme) if theme.get(name, _plots) != one}
    return (changed, dict(config.display)) if changed or config.display != display else None


@functools.cache
def _usual_plots() -> tuple[dict[str, Any], dict[str, Any]]:
    usual = type(sys.modules["seaborn._core.plot"].Plot.config)()
    return dict(dict.items(usual.theme)), dict(usual.display)


def _set_plots(before: Any) -> None:
    config = sys.modules["seaborn._core.plot"].Plot.config
    dict.update(config.theme, before[0])
    config.display.update(before[1])


def _plotting() -> Any:
    found = dict(sys.modules["pandas.plotting._misc"].plot_params)
    return None if found == {"xaxis.compat": False} else found


def _set_plotting(before: Any) -> None:
    sys.modules["pandas.plotting._misc"].plot_params.update(before)


def namespaces_of_options() -> list[str]:
    """What the names of those options begin with that cells have registered with pandas: no name of a library."""
    known = sys.modules["pandas._config.config"]._global_config
    return [name for name in known if name not in OF_PANDAS and name not in sys.modules]


OF_PANDAS = frozenset({"display", "compute", "mode", "io", "plotting", "styler", "future"})


def _options() -> Any:
    config = sys.modules["pandas._config.config"]
    if not (own := namespaces_of_options()):
        return None
    mine = [option for key, option in config._registered_options.items() if key.partition(".")[0] in own]
    old = [tuple(one) for key, one in config._deprecated_options.items() if key.partition(".")[0] in own]
    values = [place[name] for place, name in (_place(config, one.key) for one in mine)]
    return [(tuple(one), value) for one, value in zip(mine, values, strict=True)], old


def _place(config: Any, key: str) -> tuple[dict[str, Any], str]:
    """Where the value of an option is; asking pandas for it may warn."""
    place: tuple[dict[str, Any], str] = config._get_root(key)
    return place


def _set_options(before: Any) -> None:
    config: Any = importlib.import_module("pandas._config.config")
    options, old = before
    for option, value in options:  # without asking what checks it, or telling who listens
        key, default, doc, *_ = option
        if key not in config._registered_options:
            config.register_option(key, default, doc)
        config._registered_options[key] = config.RegisteredOption(*option)
        root, name = _place(config, key)
        root[name] = value
    config._deprecated_options.update({one[0]: config.DeprecatedOption(*one) for one in old})


def _polynomials() -> Any:
    kind = sys.modules["numpy.polynomial._polybase"].ABCPolyBase
    return None if kind._use_unicode else "ascii"


def _set_polynomials(before: Any) -> None:
    importlib.import_module("numpy.polynomial").set_default_printstyle(before)


def _spaces() -> Any:
    known: str = sys.modules["pyparsing.core"].ParserElement.DEFAULT_WHITE_CHARS
    return None if known == " \n\t\r" else known


def _set_spaces(before: Any) -> None:
    importlib.import_module("pyparsing").ParserElement.set_default_whitespace_chars(before)


OF_LIBRARIES: dict[str, tuple[str, Callable[[], Any], Callable[[Any], Any]]] = {
    "styles of matplotlib": ("matplotlib.style", _styles, _set_styles),
    "available styles of matplotlib": ("matplotlib.style", _available, _set_available),
    "sequences of colors of matplotlib": ("matplotlib.colors", _sequences, _set_sequences),
    "threads and memory of pyarrow": ("pyarrow", _arrow, _set_arrow),
    FUNCTIONS: ("pyarrow.compute", lambda: None, _leave),
    TYPES: ("pyarrow", lambda: None, _leave),
    SEED: ("polars", lambda: None, _leave),
    SPACES: ("lxml.etree", lambda: None, _leave),
    EARS: ("sqlite3", lambda: None, _leave),
    "pools of joblib": ("joblib.parallel", _pools, _set_pools),
    "fonts of matplotlib": ("matplotlib.font_manager", _fonts, _set_fonts),
    "interactive figures": ("matplotlib", _interactive, _set_interactive),
    "errors of special functions": ("scipy.special", _special, _set_special),
    "workers of transforms": ("scipy.fft", _workers, _set_workers),
    "backends of transforms": ("scipy.fft._backend", _transforms, _set_transforms),
    "masked values": ("numpy.ma.core", _masked, _set_masked),
    "colors of dendrograms": ("scipy.cluster.hierarchy", _links, _set_links),
    "plots of seaborn": ("seaborn._core.plot", _plots, _set_plots),
    "options registered with pandas": ("pandas._config.config", _options, _set_options),
    "plots of pandas": ("pandas.plotting._misc", _plotting, _set_plotting),
    "polynomials of NumPy": ("numpy.polynomial._polybase", _polynomials, _set_polynomials),
    "spaces of pyparsing": ("pyparsing.core", _spaces, _set_spaces),
}
"""Name → the module that must be loaded for it, how it is read, and how it is put back."""
REGISTERS = (
    ("matplotlib.projections", "projection_registry._all_projection_types"),
    ("matplotlib.animation", "writers._registered"),
    ("pandas.io.excel._util", "_writers"),
    ("pandas.plotting._core", "_backends"),
    ("pandas.tseries.holiday", "holiday_calendars"),
    ("fsspec.registry", "_registry"),
    ("joblib.parallel", "BACKENDS"),
    ("joblib.memory", "_STORE_BACKENDS"),
    ("formulaic.transforms", "TRANSFORMS"),
)
"""Dictionaries into which programs put functions and classes of their own: module and place."""
