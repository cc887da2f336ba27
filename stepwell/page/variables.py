"""Variables and tables in files of a step, part by part, as a session that was restored for it tells them."""

import asyncio
import secrets
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sandboxes.base import SandboxError
from sandboxes.host.reading import read_json
from stepwell.errors import ThreadError
from stepwell.restored_step import RestoredStep

MAX_BYTES, MAX_ITEMS = 8 << 20, 100_000
SECONDS = 30.0
TAKING = "__import__('importlib').import_module('stepwell_kernel.windows').write({path!r}, {name!r}, {window});"
"""A window is what `write` takes after the name."""


TABLE_FILES = (".parquet", ".feather", ".csv", ".tsv", ".xlsx", ".xls")
"""Endings of files whose rows are read as those of a variable are."""
TEXT_FILES = (".csv", ".tsv")
NOTHING = frozenset(("", "nan", "NaN", "None", "<NA>", "NaT", "null"))
"""How a missing value reads in a table; of a text file nothing else tells."""


class Missing(str):
    """What a value that stands for none reads as: nan, None, NaT, an empty field of a file."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class VariableWindow:
    """Which part of a variable is wanted."""

    row: int = 0
    column: int = 0
    rows: int = 100
    columns: int = 30
    sort: int = -1
    """The column by which the whole table is sorted; -1: none."""
    descending: bool = False


@dataclass(frozen=True, slots=True)
class VariablePage:
    """A part of a variable: of a table rows and columns, else text."""

    name: str
    type: str
    text: str = ""
    rows: int = 0
    """Of the whole table."""
    columns: int = 0
    window: VariableWindow = VariableWindow()
    labels: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    """Of the columns, where they have any."""
    sorted: bool = False
    index: tuple[str, ...] = ()
    cells: tuple[tuple[str, ...], ...] = ()

    @property
    def is_table(self) -> bool:
        """Whether it has rows and columns."""
        return bool(self.labels) or self.rows > 0


async def read_window(session: RestoredStep, name: str, window: VariableWindow) -> VariablePage:
    """Read a part of a variable of a session, or of a table in one of its files.

    Raises:
        ThreadError: there is neither.
        SandboxError: the session cannot tell.
    """
    path, target = f"window-{secrets.token_hex(8)}.json", session.folder / f"{secrets.token_hex(8)}.json"
    wanted = f"{window.row}, {window.column}, {window.rows}, {window.columns}, {window.sort}, {window.descending}"
    result = await session.run(TAKING.format(path=path, name=name, window=wanted), timeout=SECONDS)
    if result.status != "ok":
        why = result.error.message if result.error is not None else result.note
        raise SandboxError(f"The variable {name} cannot be shown: {why or result.status}")
    try:
        await session.fetch(path, target, max_bytes=MAX_BYTES)
        said = await read_json(await asyncio.to_thread(target.read_bytes), max_items=MAX_ITEMS)
    except (OSError, ValueError) as error:
        raise SandboxError(f"The variable {name} cannot be shown: {error}") from None
    finally:
        with suppress(OSError):
            await asyncio.to_thread(target.unlink, missing_ok=True)
    return shown_variable(name, window, said)


def shown_variable(name: str, window: VariableWindow, said: Any) -> VariablePage:
    """What a sandbox said, taken for nothing but text and numbers."""
    told = said if isinstance(said, dict) else {}
    if told.get("kind") == "gone":
        raise ThreadError(f"There is no variable {name} at this step, and no table in a file of that name.")
    if told.get("kind") != "table":
        return VariablePage(name, str(told.get("type", "")), text=str(told.get("text", "")))
    missing = {tuple(one) for one in _list(told.get("missing")) if isinstance(one, list) and all(map(_is_place, one))}
    unnamed = set(filter(_is_place, _list(told.get("unnamed"))))
    written = name.lower().endswith(TEXT_FILES)
    lines = [_texts(line) for line in _list(told.get("cells"))]
    return VariablePage(
        name,
        str(told.get("type", "")),
        rows=_number(told.get("rows")),
        columns=_number(told.get("columns")),
        window=window,
        labels=_texts(told.get("labels")),
        types=_texts(told.get("types")),
        sorted=told.get("sorted") is True,
        index=tuple(Missing(one) if row in unnamed else one for row, one in enumerate(_texts(told.get("index")))),
        cells=tuple(
            tuple(
                Missing(one) if (row, place) in missing or (written and one.strip() in NOTHING) else one
                for place, one in enumerate(line)
            )
            for row, line in enumerate(lines)
        ),
    )


def _is_place(said: Any) -> bool:
    return isinstance(said, int)


def _number(said: Any) -> int:
    return max(said, 0) if isinstance(said, int) else 0


def _list(said: Any) -> list[Any]:
    return said if isinstance(said, list) else []


def _texts(said: Any) -> tuple[str, ...]:
    return tuple(str(one) for one in _list(said))
