"""What cells hang into the interpreter and set of the process: hooks, timers, limits, tracing, finders of modules."""

import functools
import gc
import resource
import signal
import sys
import threading
import weakref
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from ..current_session import CurrentSession
from ..library_state.registers import is_of_cell, without_those_of_cells
from ..objects import weak_references
from ..objects.classes import is_one_of, is_users
from ..objects.dict_views import set_finalizer

LIMITS = ("RLIMIT_NOFILE", "RLIMIT_CORE", "RLIMIT_STACK")
"""Limits of the process that cells may set; others are the sandbox's."""
CLOCKS = {signal.ITIMER_REAL: signal.SIGALRM, signal.ITIMER_VIRTUAL: signal.SIGVTALRM}
"""Timers, and the signal that each sends."""
TIMERS = "timers"
get_handler: Callable[[int], Any] = sys.modules["_signal"].getsignal
"""The handler of a signal. `signal.getsignal` looks some up in an enumeration, which takes ten times as long."""
OF_URLLIB = frozenset(
    {"ProxyHandler", "UnknownHandler", "HTTPHandler", "HTTPDefaultErrorHandler", "HTTPRedirectHandler", "FTPHandler",
     "FileHandler", "HTTPErrorProcessor", "DataHandler", "HTTPSHandler"}
)  # fmt: skip
"""The handlers that `urllib.request` opens addresses with when it is told nothing."""


def timers() -> dict[int, tuple[float, float]]:
    """Timers that run: seconds that are left, and from one time to the next."""
    found = {clock: signal.getitimer(clock) for clock in CLOCKS}
    return {clock: left for clock, left in found.items() if left[0]}


def set_timers(before: dict[int, tuple[float, float]]) -> None:
    """Let them go on, unless nothing would take their signal: that ends a process."""
    for clock, left in before.items():
        if signal.getsignal(CLOCKS[clock]) is not signal.SIG_DFL:
            signal.setitimer(clock, *left)


def _limit(name: str) -> int:
    return resource.getrlimit(getattr(resource, name))[0]


def _set_limit(name: str, soft: int) -> None:
    number = getattr(resource, name)
    hard = resource.getrlimit(number)[1]
    within = soft if hard == resource.RLIM_INFINITY or 0 <= soft <= hard else hard
    resource.setrlimit(number, (within, hard))


def _thread_name() -> str:
    return threading.main_thread().name


def _set_thread_name(before: str) -> None:
    threading.main_thread().name = before


def _stack_size() -> int:
    size = threading.stack_size()  # which sets it to the usual one
    threading.stack_size(size)
    return size


def _tracing() -> Any:
    library: Any = sys.modules["tracemalloc"]
    return library.get_traceback_limit() if library.is_tracing() else None


def _set_tracing(before: int) -> None:
    sys.modules["tracemalloc"].start(before)


def _faults() -> Any:
    return sys.modules["faulthandler"].is_enabled() or None


def _set_faults(_before: bool) -> None:
    """What file it writes to it does not tell: it is the error stream of the process."""
    sys.modules["faulthandler"].enable(2)


def _is_hook(value: Any) -> bool:
    """Whether something that is called is a cell's."""
    kind = type(value)
    if is_one_of(kind, (MethodType, FunctionType, *weak_references.PROXIES)):
        return is_of_cell(value)
    return is_users(kind)


def _callbacks() -> Any:
    return [one for one in gc.callbacks if _is_hook(one)] or None


def _set_callbacks(before: Any) -> None:
    gc.callbacks.extend(before)


def _hooks_of_threads() -> Any:
    hooks = threading.getprofile(), threading.gettrace()
    return hooks if any(hook is not None and _is_hook(hook) for hook in hooks) else None


def _set_hooks_of_threads(before: Any) -> None:
    threading.setprofile(before[0])
    threading.settrace(before[1])


def _tracers() -> Any:
    found = sys.gettrace(), sys.getprofile()
    return found if any(one is not None and _is_hook(one) for one in found) else None


def _set_tracers(before: Any) -> None:
    sys.settrace(before[0])
    sys.setprofile(before[1])


def _finders() -> Any:
    """Finders of modules that are cells': list, place in it, finder."""
    lists: dict[str, list[Any]] = {"meta_path": sys.meta_path, "path_hooks": sys.path_hooks}
    if without_those_of_cells("finders", [one for known in lists.values() for one in known], _is_finder_of_cell):
        return None
    return [
        (name, place, one)
        for name, known in lists.items()
        for place, one in enumerate(known)
        if _is_finder_of_cell(one)
    ]


def _is_finder_of_cell(one: Any) -> bool:
    return is_of_cell(one if isinstance(one, type | FunctionType) else type(one))


def _set_finders(before: Any) -> None:
    for name, place, one in before:
        known = getattr(sys, name)
        if not any(each is one for each in known):
            known.insert(place, one)
    sys.path_importer_cache.clear()


def _start_method() -> Any:
    return sys.modules["multiprocessing"].get_start_method(allow_none=True)


def _set_start_method(before: str) -> None:
    sys.modules["multiprocessing"].set_start_method(before, force=True)


def _opener() -> Any:
    """What `urllib.request.urlopen` was told to use; what it makes for itself it makes again."""
    one: Any = sys.modules["urllib.request"]._opener
    if one is None:
        return None
    names = {type(handler).__name__ for handler in one.handlers}
    usual = [("User-agent", f"Python-urllib/{getattr(sys.modules['urllib.request'], '__version__', '')}")]
    held = any(value is one for value in CurrentSession.main.__dict__.values())
    return one if held or names - OF_URLLIB or one.addheaders != usual or is_users(type(one)) else None


def _set_opener(before: Any) -> None:
    sys.modules["urllib.request"].install_opener(before)


def _hooks_of_generators() -> Any:
    hooks = tuple(sys.get_asyncgen_hooks())
    return hooks if any(hook is not None and _is_hook(hook) for hook in hooks) else None


def _set_hooks_of_generators(before: Any) -> None:
    sys.set_asyncgen_hooks(*before)


def _input() -> Any:
    return None if sys.stdin is sys.__stdin__ else sys.stdin


def _set_input(before: Any) -> None:
    sys.stdin = before


def _finalizers() -> Any:
    """Finalizers of objects of cells' classes, or that call something of a cell, in their order."""
    registry: Any = weakref.finalize._registry  # type: ignore[attr-defined]
    found = []
    for one, info in sorted(registry.items(), key=lambda pair: pair[1].index):
        value = info.weakref()
        if value is not None and (is_users(type(value)) or _is_hook(info.func)):
            found.append(one)
    return found or None


def _set_finalizers(before: Any) -> None:
    """Register them once more in their order: they were made as variables came that have them."""
    for one in before:
        at_exit, known = one.atexit, one.detach()
        if known is not None:
            set_finalizer(one, (*known, at_exit))


def running() -> list[tuple[str, str, str]]:
    """Threads and processes of cells that go on beside them: name, type, reason."""
    found = [
        (f"thread {one.name}", "thread", GOES_ON)
        for one in threading.enumerate()
        if one is not threading.main_thread() and _is_thread_of_cell(one)
    ]
    processes = sys.modules.get("subprocess")
    left = [_command(one.args) for one in getattr(processes, "_active", None) or ()]
    children = [one.name for one in getattr(sys.modules.get("multiprocessing.process"), "_children", ())]
    return found + [(f"process {name}"[:100], "process", GOES_ON) for name in left + children]


def _command(arguments: Any) -> str:
    return " ".join(map(str, arguments)) if isinstance(arguments, list | tuple) else str(arguments)


GOES_ON = "it goes on in this process only; start it again"


def _is_thread_of_cell(thread: Any) -> bool:
    target = getattr(thread, "_target", None) or getattr(thread, "function", None)
    if target is None:
        return is_users(type(thread))
    return isinstance(thread, threading.Timer) or _is_hook(getattr(target, "func", target))


SIMPLE: dict[str, tuple[str, Callable[[], Any], Callable[[Any], Any]]] = {
    **{f"limit {name}": ("resource", functools.partial(_limit, name), functools.partial(_set_limit, name))
       for name in LIMITS},
    "name of the main thread": ("threading", _thread_name, _set_thread_name),
    "stack size of threads": ("threading", _stack_size, threading.stack_size),
    "depth of origins of coroutines": (
        "sys", sys.get_coroutine_origin_tracking_depth, sys.set_coroutine_origin_tracking_depth,
    ),
}  # fmt: skip
"""What is compared with the start of the session: name → module, how it is read, and how it is put back."""
TRACERS = "hooks of threads", "trace functions"
"""What sees calls from the moment at which it is put back."""
KEPT: dict[str, tuple[str, Callable[[], Any], Callable[[Any], Any]]] = {
    "finalizers": ("weakref", _finalizers, _set_finalizers),
    "callbacks of garbage collection": ("gc", _callbacks, _set_callbacks),
    "hooks of threads": ("threading", _hooks_of_threads, _set_hooks_of_threads),
    "trace functions": ("sys", _tracers, _set_tracers),
    "hooks of asynchronous generators": ("sys", _hooks_of_generators, _set_hooks_of_generators),
    "finders of modules": ("sys", _finders, _set_finders),
    "faulthandler": ("faulthandler", _faults, _set_faults),
    "tracemalloc": ("tracemalloc", _tracing, _set_tracing),
    "start method of processes": ("multiprocessing.context", _start_method, _set_start_method),
    "opener of addresses": ("urllib.request", _opener, _set_opener),
    "standard input": ("sys", _input, _set_input),
}
"""What is read as None as long as nothing of a cell is in it."""
