"""Functions of the user's program that cells can call: which there are in a graph, and how one is called.

They are a dependency of the graph, never in State: a checkpoint knows only what cells called.
"""

import asyncio
import contextvars
import functools
import inspect
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

from graph.functions.registry import FunctionError, HostFunction, functions_by_name
from graph.settings import SettingsError
from models.messages import without_surrogates
from sandboxes.functions import Call, Description, Raised, Returned
from sandboxes.host.reading import read_json, read_tables
from sandboxes.inside.kernel import values


async def arguments_of(function: HostFunction, packed: bytes) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call; tables are of the kind that the function asks for, else of the kind that was sent.

    Tables are read last, once everything else fits.

    Raises:
        ImportError: a table was sent, and nothing here reads one.
        TypeError: they do not fit the function.
        ValueError: they cannot be read, or exceed a limit.
    """
    said = await read_json(values.text_of(packed), max_bytes=len(packed))
    content, parts = values.parts_of(said, packed)
    given = content["values"]
    positional, named = given.get("args"), given.get("kwargs")
    if not isinstance(positional, list) or not isinstance(named, dict) or set(given) != {"args", "kwargs"}:
        raise values.UndecodableError("they are not arguments")
    if function.description is None:
        raise values.UndecodableError("the function is not described")
    signature = function.description.signature()
    signature.bind(*positional, **named)
    if not parts:
        return positional, named
    for (path, kind), at in zip(content["tables"], range(len(parts)), strict=True):
        values.put_in(given, path, _Table(at, kind))
    tables = await read_tables(parts)
    annotations = {parameter.name: kind_of(str(parameter.annotation)) for parameter in signature.parameters.values()}
    by_place = [parameter.name for parameter in signature.parameters.values() if parameter.kind <= 1]

    def load() -> tuple[list[Any], dict[str, Any]]:
        return (
            [
                _loaded(one, annotations[by_place[at]] if at < len(by_place) else "", tables)
                for at, one in enumerate(positional)
            ],
            {name: _loaded(one, annotations.get(name, ""), tables) for name, one in named.items()},
        )

    return await asyncio.to_thread(load)


@dataclass(frozen=True, slots=True)
class _Table:
    at: int
    """Which of the call's tables it is."""
    kind: str


def _loaded(value: Any, kind: str, tables: list[Any]) -> Any:
    if isinstance(value, _Table):
        return as_kind(tables[value.at], kind or value.kind)
    if isinstance(value, dict):
        return {name: _loaded(item, kind, tables) for name, item in value.items()}
    return [_loaded(item, kind, tables) for item in value] if isinstance(value, list) else value


def as_kind(table: Any, kind: str) -> Any:
    """A pyarrow table as a table of pandas or polars; as it is where that is not installed."""
    try:
        if kind == "pandas":
            return table.to_pandas()
        if kind == "polars":
            import polars

            return polars.from_arrow(table)
    except ImportError:
        return table
    return table


def kind_of(annotation: str) -> str:
    """The kind of table that an annotation asks for; empty when it names no table."""
    if "pyarrow" in annotation or "pa.Table" in annotation:
        return "pyarrow"
    if "polars" in annotation or "pl.DataFrame" in annotation:
        return "polars"
    return "pandas" if "pandas" in annotation or "pd.DataFrame" in annotation else ""


class FunctionSource(Protocol):
    """Where further functions come from once they are needed, such as servers."""

    async def open(self) -> Sequence[HostFunction]:
        """Open the source, and return its functions.

        Raises:
            SettingsError: they cannot be had.
        """

    async def close(self) -> None:
        """Close what they hold."""


class HostFunctions:
    """What one graph offers to its cells.

    Args:
        functions: The user's own.
        source: Asked for further ones when a run needs them first.

    Raises:
        FunctionError: one of them cannot be offered.
    """

    def __init__(
        self, functions: Iterable[Callable[..., Any] | HostFunction] = (), *, source: FunctionSource | None = None
    ) -> None:
        self._own = functions_by_name(functions)
        self._all: Mapping[str, HostFunction] = self._own if source is None else {}
        self._source = source
        self._opening = asyncio.Lock()

    async def ready(self) -> "FunctionTable":
        """What is offered; functions of servers are looked up the first time.

        Raises:
            SettingsError: a server cannot be reached, or has a function of a name that is taken.
        """
        async with self._opening:
            if self._source is not None and not self._all:
                further = await self._source.open()
                try:
                    self._all = functions_by_name([*self._own.values(), *further])
                except FunctionError as error:
                    raise SettingsError(str(error)) from error
        return FunctionTable(self._all)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections to servers."""
        if self._source is not None:
            self._all = {}
            await self._source.close()


class FunctionTable:
    """The functions that are offered now, by name."""

    def __init__(self, functions: Mapping[str, HostFunction]) -> None:
        self.functions = functions
        names = "|".join(re.escape(name) for name in functions)
        self._named = re.compile(rf"(?<!\w)(?:{names})(?!\w)") if names else None

    @property
    def descriptions(self) -> list[Description]:
        """All of them, as cells see them."""
        return [function.description for function in self.functions.values() if function.description is not None]

    def named_in(self, code: str) -> list[str]:
        """The functions whose names stand somewhere in a cell, in strings and comments too."""
        return sorted(set(self._named.findall(code))) if self._named is not None else []

    async def arguments(self, call: Call, *, timeout: float) -> dict[str, Any] | Raised:
        """The arguments that a function would get, by the names of its parameters; or why it would not be called.

        Args:
            call: What came out of the sandbox.
            timeout: Seconds that reading them may take.
        """
        function = self.functions[call.name]
        read = await _read(function, call, timeout)
        if isinstance(read, Raised) or function.description is None:
            return read if isinstance(read, Raised) else {}
        positional, named = read
        return dict(function.description.signature().bind(*positional, **named).arguments)

    async def call(self, call: Call, *, timeout: float) -> Returned | Raised:
        """Call one of them. An error of it is data.

        Args:
            call: What came out of the sandbox.
            timeout: Seconds that it may take.
        """
        function = self.functions[call.name]
        read = await _read(function, call, timeout)
        if isinstance(read, Raised):
            return read
        positional, named = read
        limit = asyncio.timeout(timeout)
        try:
            async with limit:
                result = await _run(functools.partial(function.call, *positional, **named))
        except TimeoutError as error:
            if limit.expired():
                return Raised(f"it did not end within {timeout:g} s; what it did is not known", "TimeoutError")
            return Raised(_words(error), "TimeoutError")
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return Raised("it was cancelled on the host", "CancelledError")
        except (Exception, SystemExit) as error:  # the user's function may raise anything
            return Raised(f"{type(error).__name__}: {_words(error)}".rstrip(": "), type(error).__name__)
        try:
            return Returned(await asyncio.to_thread(values.pack, {"value": result}))
        except values.UnserializableError as error:
            return Raised(f"it gave something that cannot be sent: {error}", "TypeError")


NO_FUNCTIONS = HostFunctions()
"""For a graph that offers no functions."""


async def _run(call: Callable[[], Any]) -> Any:
    """Await an asynchronous function; run any other in a daemon thread, which may never end."""
    function = call.func if isinstance(call, functools.partial) else call
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        return await call()
    result = await _in_thread(call)
    return await result if inspect.isawaitable(result) else result


async def _in_thread(call: Callable[[], Any]) -> Any:
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def tell(result: Any, error: BaseException | None) -> None:
        if not ended.done():
            ended.set_result((result, error))

    def work() -> None:
        try:
            outcome: tuple[Any, BaseException | None] = (context.run(call), None)
        except BaseException as error:  # a StopIteration, too, which no future takes
            outcome = (None, error)
        try:
            loop.call_soon_threadsafe(tell, *outcome)
        except RuntimeError:
            return  # the loop has ended, and nobody waits

    threading.Thread(target=work, daemon=True, name="stepwell host function").start()
    result, error = await ended
    if isinstance(error, StopIteration | StopAsyncIteration | asyncio.CancelledError | KeyboardInterrupt):
        raise RuntimeError(f"{type(error).__name__}: {error}".rstrip(": ")) from error
    if error is not None:
        raise error
    return result


async def _read(function: HostFunction, call: Call, timeout: float) -> tuple[list[Any], dict[str, Any]] | Raised:
    """The arguments of a call, or why it is not made."""
    try:
        async with asyncio.timeout(timeout):
            return await arguments_of(function, call.arguments)
    except TimeoutError:
        return Raised(f"its arguments could not be read within {timeout:g} s", "TimeoutError")
    except (TypeError, ValueError, ImportError, RecursionError) as error:
        return Raised(f"the arguments cannot be used: {_words(error)}", type(error).__name__)


def _words(error: BaseException) -> str:
    try:
        return without_surrogates(str(error)[:2_000])
    except Exception:  # the user's __str__ may raise anything
        return type(error).__name__
