"""Python sessions at steps, restored when somebody looks there and kept for a while: for tables, and for a prompt."""

import asyncio
import secrets
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from graph.settings import SettingsError
from graph.state import Cell
from nodes.cell_outputs import outputs_of
from sandboxes.base import SandboxError
from sandboxes.results import CapturedText, CellResult, Streamed
from stepwell.errors import ThreadError
from stepwell.exports.report import ShownCell, data_address, shown_cell
from stepwell.restored_step import MAX_FETCHED, RestoredStep
from storage.artifacts import StorageError
from storage.blobs import BlobError

T = TypeVar("T")
Work = Callable[[RestoredStep], Awaitable[T]]

KEPT_SECONDS = 600.0
"""How long a session is kept after it was last used."""
MOST = 3
"""Sessions that are kept at a time."""
PICTURE_BYTES, PICTURES = 10 << 20, 30 << 20
"""Of one picture, and of all that are remembered at a prompt."""
PROMPT = "prompt"
"""The purpose of a session in which people run code."""
TRIED, PRINTED = 20, 20_000
"""How much code is remembered with what it did, and characters of what runs."""
PATIENCE = 2.0
"""Seconds that are waited for code to end before the page shows that it runs."""

NOT_HAD = (ThreadError, SandboxError, SettingsError, StorageError, BlobError)
"""Why code could not be run, in a sentence for who typed it."""


@dataclass(slots=True)
class TriedCode:
    """Code that was run at a step's prompt."""

    code: str
    cell: ShownCell | None = None
    """What it did; None while it runs."""
    printed: str = ""
    """The end of what it has printed so far."""
    problem: str = ""
    """Why it could not be run."""
    stopped: bool = False
    began: float = field(default_factory=time.monotonic)
    running: "asyncio.Future[CellResult] | None" = None
    task: "asyncio.Task[None] | None" = None
    """Ends when it is over."""

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.cell is not None or bool(self.problem)

    @property
    def picture_bytes(self) -> int:
        """What its pictures take."""
        return sum(len(one.picture) for one in self.cell.outputs) if self.cell is not None else 0

    def hear(self, said: Streamed) -> None:
        """Take in what it prints."""
        self.printed = (self.printed + said.text)[-PRINTED:]

    def stop(self) -> None:
        """Interrupt it."""
        self.stopped = True
        if self.running is not None:
            self.running.cancel()


class _KeptSession:
    """A session in a task of its own, open until nobody has used it for a while."""

    def __init__(self, opened: Callable[[], AbstractAsyncContextManager[RestoredStep]]) -> None:
        self._opened = opened
        self._asked: asyncio.Queue[tuple[Work[Any], asyncio.Future[Any]]] = asyncio.Queue()
        self.task = asyncio.create_task(self._serve())
        self.tried: deque[TriedCode] = deque(maxlen=TRIED)

    @property
    def busy(self) -> bool:
        """Whether code that was run at its prompt is not over."""
        return bool(self.tried) and not self.tried[-1].over

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
        patience: Seconds that are waited for code to end before the page shows that it runs.
    """

    def __init__(
        self,
        opened: Callable[[str], AbstractAsyncContextManager[RestoredStep]],
        *,
        most: int = MOST,
        patience: float = PATIENCE,
    ) -> None:
        self._opened = opened
        self._most = most
        self._patience = patience
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
        return await (await self._session(step, purpose)).use(work)

    async def _session(self, step: str, purpose: str) -> _KeptSession:
        key = f"{step} {purpose}"
        session = self._kept.pop(key, None)
        if session is None or session.task.done():
            session = _KeptSession(lambda: self._opened(step))
        self._kept[key] = session
        while len(self._kept) > self._most:
            others = [name for name in self._kept if name != key]
            idle = (name for name in others if not self._kept[name].busy)
            await self._kept.pop(next(idle, others[0])).close()
        return session

    async def try_out(self, step: str, code: str) -> None:
        """Run code at a step's prompt; returns when it is over, or still runs after a moment.

        Args:
            step: `THREAD@STEP`.
            code: What to run.

        Raises:
            ThreadError: what was run before is not over yet, or the session cannot be had.
        """
        session = await self._session(step, PROMPT)
        if session.busy:
            raise ThreadError("What you ran before is not over yet; wait for its end, or stop it.")
        one = TriedCode(code)
        session.tried.append(one)
        one.task = asyncio.create_task(_try(session, one))
        done, _ = await asyncio.wait([one.task], timeout=self._patience)
        if done:
            one.task.result()
        if one.problem and session.task.done():
            session.tried.remove(one)  # it is said here
            raise ThreadError(one.problem)

    def tried(self, step: str) -> tuple[TriedCode, ...]:
        """What was run at a step's prompt while its session is kept, or why it cannot be had; newest last."""
        session = self._kept.get(f"{step} {PROMPT}")
        if session is None or not session.tried or (session.task.done() and not session.tried[-1].problem):
            return ()
        return tuple(session.tried)

    async def stop(self, step: str) -> None:
        """Interrupt what runs at a step's prompt, and wait a moment for its end; variables are as far as it came."""
        for one in self.tried(step):
            if not one.over and one.task is not None:
                one.stop()
                await asyncio.wait([one.task], timeout=self._patience)

    async def close(self) -> None:
        """End all sessions."""
        while self._kept:
            await self._kept.popitem()[1].close()


async def _try(session: _KeptSession, one: TriedCode) -> None:
    """Run code and remember what came of it, for as long as there is room for its pictures."""
    try:
        one.cell = await session.use(partial(_run_there, one=one))
    except NOT_HAD as error:
        one.problem = str(error)
    while len(session.tried) > 1 and sum(before.picture_bytes for before in session.tried) > PICTURES:
        session.tried.popleft()


async def fetch_there(session: RestoredStep, path: str, *, max_bytes: int = MAX_FETCHED) -> Path:
    """Copy a file out of a session at a step, to a place of its own.

    Args:
        session: The session.
        path: The file.
        max_bytes: The most that it may have.

    Raises:
        ThreadError: it is not there any more.
    """
    target: Path = session.folder / secrets.token_hex(8)
    try:
        return await session.fetch(path, target)
    except (OSError, ValueError):
        raise ThreadError(f"{path} is not there any more.") from None


async def _run_there(session: RestoredStep, one: TriedCode) -> ShownCell:
    """Run code in a session at a step, and show what it did; when it is stopped, what it had printed.

    Raises:
        SandboxError: the sandbox failed, not the code.
    """
    running = one.running = asyncio.ensure_future(session.run(one.code, on_output=one.hear))
    if one.stopped:  # before it could begin
        running.cancel()
    try:
        result = await running
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if not one.stopped or (task is not None and task.cancelling()):  # the session ends, too
            raise
        printed = CapturedText(one.printed)
        result = CellResult(status="killed", seconds=time.monotonic() - one.began, stdout=printed)
    if result.status == "killed" and not await session.survived():
        await session.restore()
    pictures: dict[str, str] = {}
    for path in dict.fromkeys(shown.path for shown in result.displays if shown.path):
        if sum(map(len, pictures.values())) > PICTURES:
            break
        pictures[path] = await _picture(session, path)
    cell = _cell(one.code, result)
    shown = await asyncio.to_thread(shown_cell, cell, lambda number, path: pictures.get(path, ""))
    return replace(shown, words="stopped") if one.stopped else shown


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
