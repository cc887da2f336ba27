"""The arguments of a call that came out of a sandbox: read within limits, and tables of the kind that is asked for.

Nothing of them is parsed in the event loop but what is small; see `sandboxes/host/reading.py`.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

from graph.functions.offered import HostFunction
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
        raise values.NotReadError("they are not arguments")
    if function.description is None:
        raise values.NotReadError("the function is not described")
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
    """Which kind of table an annotation asks for; empty when it says nothing of tables."""
    if "pyarrow" in annotation or "pa.Table" in annotation:
        return "pyarrow"
    if "polars" in annotation or "pl.DataFrame" in annotation:
        return "polars"
    return "pandas" if "pandas" in annotation or "pd.DataFrame" in annotation else ""
