"""What can be offered to cells, and what cells see of it."""

import builtins
import inspect
import json
import keyword
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from models.messages import without_surrogates
from sandboxes.functions import Description, Parameter

TAKEN = frozenset({*dir(builtins), "display", "HostFunctionError", "exit", "quit"})
"""Names that mean something in every cell already."""
MAX_OFFERED = 200
MAX_DOC = 4_000
"""Characters of a docstring that a cell can see."""


class FunctionError(ValueError):
    """A function cannot be offered; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class HostFunction:
    """A function that cells can call. A plain function in `functions=[…]` is one with the defaults."""

    call: Callable[..., Any]
    """Synchronous (then it runs in a thread) or asynchronous."""
    name: str = ""
    """Under which cells call it; empty: its own name."""
    repeatable: bool = False
    """Whether calling it once more does no harm: then an interrupted cell simply calls it again."""
    needs_approval: bool = False
    """Whether somebody must approve of each call, with its arguments, even in a run without approval."""
    description: Description | None = None
    """What cells see of it; None: what can be read off the function."""


def functions_by_name(functions: Iterable[Callable[..., Any] | HostFunction]) -> dict[str, HostFunction]:
    """Functions by the names under which cells call them.

    Raises:
        FunctionError: one of them cannot be offered.
    """
    found: dict[str, HostFunction] = {}
    for given in functions:
        function = given if isinstance(given, HostFunction) else HostFunction(given)
        call = function.call
        name = function.name or str(getattr(call, "__name__", "")) or type(call).__name__
        _check(name, call)
        if name in found:
            raise FunctionError(
                f"Two functions are offered as {name!r}; give one of them another: HostFunction(f, name=…)."
            )
        found[name] = HostFunction(
            call,
            name,
            function.repeatable,
            function.needs_approval,
            replace(function.description or describe(name, call), needs_approval=function.needs_approval),
        )
    if len(found) > MAX_OFFERED:
        raise FunctionError(f"{len(found)} functions are offered; at most {MAX_OFFERED} can be.")
    return found


def _check(name: str, call: Any) -> None:
    if not callable(call) or isinstance(call, type):
        raise FunctionError(f"{name!r} is no function; offer functions, methods or callable objects.")
    if name == "<lambda>":
        raise FunctionError("A lambda has no name to call it by; use def, or HostFunction(lambda …, name='…').")
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
        raise FunctionError(f"Cells cannot call a function {name!r}; give it a name: HostFunction(f, name='…').")
    if name in TAKEN:
        raise FunctionError(
            f"{name!r} means something in every cell already; give it another name: HostFunction(f, …)."
        )
    if inspect.isgeneratorfunction(call) or inspect.isasyncgenfunction(call):
        raise FunctionError(f"{name!r} is a generator, which cannot be sent; let it return a list.")


def describe(name: str, call: Callable[..., Any]) -> Description:
    """Describe a function by its signature and docstring.

    Raises:
        FunctionError: it has no signature.
    """
    try:
        signature = inspect.signature(call)
    except (TypeError, ValueError):
        raise FunctionError(f"{name!r} has no signature that can be read; wrap it in a def of its own.") from None
    parameters = tuple(
        Parameter(
            name=one.name,
            kind=one.kind.name,  # type: ignore[arg-type]  # these are its names
            annotation=_text(one.annotation),
            optional=one.default is not one.empty,
            default=_plain(one.default),
        )
        for one in signature.parameters.values()
    )
    doc = inspect.getdoc(call) or ""
    return Description(name, without_surrogates(doc[:MAX_DOC]), parameters, _text(signature.return_annotation))


def _text(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return without_surrogates(text.replace("NoneType", "None")[:200])


def _plain(default: Any) -> Any:
    """A default as JSON; `...` when it is none."""
    try:
        return default if json.loads(json.dumps(default, allow_nan=False)) == default else ...
    except (TypeError, ValueError, RecursionError):
        return ...
