"""Python sessions at steps, restored when somebody looks there and kept for a while: for tables, and for a prompt."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any, TypeVar, cast

from graph.state import Cell
from nodes.cell_outputs import outputs_of
from sandboxes.base import SandboxError
from sandboxes.results import CellResult
from stepwell.errors import ThreadError
from stepwell.exports.report import ShownCell, data_address, shown_cell
from stepwell.restored_step import RestoredStep

T = TypeVar("T")
Work = Callable[[RestoredStep], Awaitable[T]]

KEPT_SECONDS = 600.0
"""How long a session is kept after it was last used."""
MOST = 3
"""Sessions that are kept at a time."""
PICTURE_BYTES = 10 << 20


class _KeptSession:
    """A session in a task of its own, open until nobody has used it for a while."""

    def __init__(self, opened: Callable[[], AbstractAsyncContextManager[RestoredStep]]) -> None:
        self._opened = opened
        self._asked: asyncio.Queue[tuple[Work[Any], asyncio.Future[Any]]] = asyncio.Queue()
        self.task = asyncio.create_task(self._serve())

    async def use(self, work: Work[T]) -> T:
        """Do something in it, after what was asked for before."""
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._asked.put_nowait((work, answer))
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
                    work, answer = await asyncio.wait_for(self._asked.get(), KEPT_SECONDS)
                except TimeoutError:
                    return
                try:
                    found = await work(session)
                except (ThreadError, SandboxError) as error:
                    if not answer.done():
                        answer.set_exception(error)
                else:
                    if not answer.done():
                        answer.set_result(found)

    async def close(self) -> None:
        """End it."""
        self.task.cancel()
        await asyncio.wait([self.task])


class StepSessions:
    """Opens sessions at steps, and keeps the newest few.

    Args:
        opened: Opens a session at a step, named `THREAD@STEP`.
        most: Sessions that are kept at a time.
    """

    def __init__(self, opened: Callable[[str], AbstractAsyncContextManager[RestoredStep]], *, most: int = MOST) -> None:
        self._opened = opened
        self._most = most
        self._kept: dict[str, _KeptSession] = {}

    async def use(self, step: str, purpose: str, work: Work[T]) -> T:
        """Do something in a session at a step.

        Args:
            step: `THREAD@STEP`.
            purpose: Sessions are shared for the same purpose alone: what is typed at a prompt changes no table.
            work: What to do.

        Raises:
            ThreadError: there is no such step.
            SandboxError: the session cannot be had.
        """
        key = f"{step} {purpose}"
        session = self._kept.pop(key, None)
        if session is None or session.task.done():
            session = _KeptSession(lambda: self._opened(step))
        self._kept[key] = session
        while len(self._kept) > self._most:
            await self._kept.pop(next(iter(self._kept))).close()
        return await session.use(work)

    async def close(self) -> None:
        """End all sessions."""
        while self._kept:
            await self._kept.popitem()[1].close()


async def fetch_there(session: RestoredStep, path: str) -> Path:
    """Copy a file out of a session at a step, to a place of its own.

    Raises:
        ThreadError: it is not there any more.
    """
    target: Path = session.folder / secrets.token_hex(8)
    try:
        return await session.fetch(path, target)
    except (OSError, ValueError):
        raise ThreadError(f"{path} is not there any more.") from None


async def run_there(session: RestoredStep, code: str) -> ShownCell:
    """Run code in a session at a step, and show what it did.

    Raises:
        SandboxError: the sandbox failed, not the code.
    """
    result = await session.run(code)
    pictures = {one.path: await _picture(session, one.path) for one in result.displays if one.path}
    cell = _cell(code, result)
    return await asyncio.to_thread(shown_cell, cell, lambda number, path: pictures.get(path, ""))


def _cell(code: str, result: CellResult) -> Cell:
    """The cell as State would keep it."""
    kept = {
        "number": 0,
        "turn": 0,
        "step": 0,
        "purpose": "At the prompt",
        "thought": "",
        "code": code,
        "status": result.status,
        "observation": "",
        "error": "",
        "seconds": result.seconds,
        "files": [{"path": one.path, "change": one.change, "size": one.size} for one in result.files],
        "figures": [one.path for one in result.displays if one.path],
        "outputs": outputs_of(result),
    }
    return cast("Cell", kept)


async def _picture(session: RestoredStep, path: str) -> str:
    target: Path = session.folder / secrets.token_hex(8)
    try:
        await session.fetch(path, target, max_bytes=PICTURE_BYTES)
        return data_address(await asyncio.to_thread(target.read_bytes))
    except (OSError, ValueError):
        return ""
    finally:
        with suppress(OSError):
            await asyncio.to_thread(target.unlink, missing_ok=True)
