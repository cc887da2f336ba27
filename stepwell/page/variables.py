"""Variables of a step, part by part: read in a session that is restored for it and kept for a while."""

import asyncio
import secrets
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from sandboxes.base import SandboxError
from sandboxes.host.reading import read_json
from stepwell.errors import ThreadError
from stepwell.restored_step import RestoredStep

MAX_BYTES, MAX_ITEMS = 8 << 20, 100_000
SECONDS = 30.0
KEPT_SECONDS = 120.0
"""How long a session is kept after it was last used."""
MOST = 2
"""Sessions that are kept at a time."""
TAKING = "__import__('importlib').import_module('stepwell_kernel.windows').write({path!r}, {name!r}, {window});"


@dataclass(frozen=True, slots=True)
class VariableWindow:
    """Which part of a variable is wanted."""

    row: int = 0
    column: int = 0
    rows: int = 100
    columns: int = 30


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
    index: tuple[str, ...] = ()
    cells: tuple[tuple[str, ...], ...] = ()

    @property
    def is_table(self) -> bool:
        """Whether it has rows and columns."""
        return bool(self.labels) or self.rows > 0


async def read_window(session: RestoredStep, name: str, window: VariableWindow) -> VariablePage:
    """Read a part of a variable of a session.

    Raises:
        ThreadError: there is no such variable.
        SandboxError: the session cannot tell.
    """
    path, target = f"window-{secrets.token_hex(8)}.json", session.folder / f"{secrets.token_hex(8)}.json"
    numbers = f"{window.row}, {window.column}, {window.rows}, {window.columns}"
    result = await session.run(TAKING.format(path=path, name=name, window=numbers), timeout=SECONDS)
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
    return _read(name, window, said)


def _read(name: str, window: VariableWindow, said: Any) -> VariablePage:
    """What a sandbox said, taken for nothing but text and numbers."""
    told = said if isinstance(said, dict) else {}
    if told.get("kind") == "gone":
        raise ThreadError(f"There is no variable {name} at this step.")
    if told.get("kind") != "table":
        return VariablePage(name, str(told.get("type", "")), text=str(told.get("text", "")))
    return VariablePage(
        name,
        str(told.get("type", "")),
        rows=_number(told.get("rows")),
        columns=_number(told.get("columns")),
        window=window,
        labels=_texts(told.get("labels")),
        index=_texts(told.get("index")),
        cells=tuple(_texts(line) for line in _list(told.get("cells"))),
    )


def _number(said: Any) -> int:
    return max(said, 0) if isinstance(said, int) else 0


def _list(said: Any) -> list[Any]:
    return said if isinstance(said, list) else []


def _texts(said: Any) -> tuple[str, ...]:
    return tuple(str(one) for one in _list(said))


Question: TypeAlias = tuple[str, VariableWindow, "asyncio.Future[VariablePage]"]


class _KeptSession:
    """A session at a step, open in a task of its own until nobody has asked it for a while."""

    def __init__(self, opened: Callable[[], AbstractAsyncContextManager[RestoredStep]]) -> None:
        self._opened = opened
        self._asked: asyncio.Queue[Question] = asyncio.Queue()
        self.task = asyncio.create_task(self._serve())

    async def read(self, name: str, window: VariableWindow) -> VariablePage:
        """See `read_window`."""
        answer: asyncio.Future[VariablePage] = asyncio.get_running_loop().create_future()
        self._asked.put_nowait((name, window, answer))
        either: set[asyncio.Future[Any]] = {answer, self.task}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            return answer.result()
        if not self.task.cancelled() and (error := self.task.exception()) is not None:
            raise error
        raise SandboxError("The session at this step was closed meanwhile; try again.")

    async def _serve(self) -> None:
        async with self._opened() as session:
            while True:
                try:
                    name, window, answer = await asyncio.wait_for(self._asked.get(), KEPT_SECONDS)
                except TimeoutError:
                    return
                try:
                    page = await read_window(session, name, window)
                except (ThreadError, SandboxError) as error:
                    if not answer.done():
                        answer.set_exception(error)
                else:
                    if not answer.done():
                        answer.set_result(page)

    async def close(self) -> None:
        """End it."""
        self.task.cancel()
        await asyncio.wait([self.task])


class VariableReader:
    """Reads variables, and keeps the newest few sessions for the next page of the same table.

    Args:
        opened: Opens a session at a step, named `THREAD@STEP`.
    """

    def __init__(self, opened: Callable[[str], AbstractAsyncContextManager[RestoredStep]]) -> None:
        self._opened = opened
        self._kept: dict[str, _KeptSession] = {}

    async def read(self, step: str, mark: str, name: str, window: VariableWindow) -> VariablePage:
        """Read a part of a variable at a step.

        Args:
            step: `THREAD@STEP`.
            mark: Names what the step holds, so that a step of the same name that holds something else is another.
            name: The variable.
            window: Which part.

        Raises:
            ThreadError: there is no such step or variable.
            SandboxError: the session cannot be had.
        """
        key = f"{step} {mark}"
        session = self._kept.pop(key, None)
        if session is None or session.task.done():
            session = _KeptSession(lambda: self._opened(step))
        self._kept[key] = session
        while len(self._kept) > MOST:
            await self._kept.pop(next(iter(self._kept))).close()
        return await session.read(name, window)

    async def close(self) -> None:
        """End all sessions."""
        while self._kept:
            await self._kept.popitem()[1].close()
