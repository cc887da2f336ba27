"""Interpreter contexts: one worker process each, cells one after the other, and what happens when a worker dies."""

import asyncio
import shutil
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.daytona.answers import RefusedError, now
from tests.daytona.workers import TIMED_OUT, WORKER_ENDED, Cell, Ending, Worker

PROGRAM = Path(__file__).with_name("worker.py")


class Context:
    """An interpreter context: a dictionary of names in a worker, and a queue of cells."""

    def __init__(self, id: str, folder: Path, start: Callable[[Path], Awaitable[Worker]], grace: float) -> None:
        self.id = id
        self.folder = folder
        self.created = now()
        self.worker: Worker | None = None
        self._start = start
        self._grace = grace
        self._turn = asyncio.Lock()
        self._cells: dict[asyncio.Task[None], Cell] = {}
        self._replaced = False
        self._jammed = False
        self._closed = False

    def shown(self) -> dict[str, Any]:
        """What the toolbox says of it."""
        return {
            "id": self.id,
            "cwd": str(self.folder),
            "active": not self._closed,
            "createdAt": self.created,
            "language": "python",
        }

    async def open(self) -> None:
        """Start its worker."""
        self.worker = await self._start(self.folder)

    def submit(self, cell: Cell) -> None:
        """Put a cell in the queue. Whether its client stays or goes, its turn comes."""
        task = asyncio.create_task(self._run(cell))
        self._cells[task] = cell
        task.add_done_callback(lambda ended: self._cells.pop(ended, None))

    async def close(self, *, sessions: bool = True) -> None:
        """End its worker with all that descends from it, and every cell in the queue."""
        self._closed = True
        waiting = dict(self._cells)
        for task, cell in waiting.items():
            task.cancel()
            cell.end(WORKER_ENDED)
        if waiting:
            await asyncio.wait(waiting)
        if self.worker is not None:
            await self.worker.close(sessions=sessions)

    async def _run(self, cell: Cell) -> None:
        async with self._turn:
            ending = await self._turn_of(cell)
        cell.end(ending)

    async def _turn_of(self, cell: Cell) -> Ending:
        limit = cell.timeout or None
        worker = await self._living()
        if self._jammed:
            # What the daemon waits for was said to the worker that died; the new one never gets the code.
            cell.begun.set()
            await asyncio.wait([cell.done], timeout=limit)
            await worker.close(family=False)
            return TIMED_OUT
        worker.take(cell)
        done, _ = await asyncio.wait([cell.done], timeout=limit)
        if not done:
            worker.interrupt()
            done, _ = await asyncio.wait([cell.done], timeout=self._grace)
            if not done or cell.done.result() == "died":
                self._replaced = True
                await worker.close(family=False)
            return TIMED_OUT
        how = cell.done.result()
        if how == "died":
            self._jammed = True
            return WORKER_ENDED
        return TIMED_OUT if how == "interrupted" else Ending(1000)

    async def _living(self) -> Worker:
        if self.worker is None or not self.worker.alive:
            if self.worker is not None and not self._replaced:
                self._jammed = True
            if self.worker is not None:
                await self.worker.close(family=False)
            self._replaced = False
            self.worker = await self._start(self.folder)
        return self.worker


class Contexts:
    """The contexts of one sandbox.

    Args:
        python: The interpreter.
        home: Where cells run unless they say otherwise.
        program: Where the copy of the worker's program lies.
        environment: Says what environment a new process gets.
        grace: Seconds between SIGINT and SIGKILL.
        spare_sessions: Deleting a context spares what has a session of its own.
    """

    def __init__(
        self,
        python: str,
        home: Path,
        program: Path,
        environment: Callable[[], dict[str, str]],
        grace: float,
        spare_sessions: bool,
    ) -> None:
        self._python = python
        self._home = home
        self._program = program
        self._environment = environment
        self._grace = grace
        self._spare_sessions = spare_sessions
        self._contexts: dict[str, Context] = {}
        self._default: Context | None = None

    @property
    def workers(self) -> list[Worker]:
        """The living workers."""
        return [one.worker for one in self._all() if one.worker is not None and one.worker.alive]

    def listed(self) -> list[dict[str, Any]]:
        """All but the default one."""
        return [context.shown() for context in self._contexts.values()]

    async def create(self, folder: str) -> Context:
        """A new context.

        Raises:
            RefusedError: the folder is not there.
        """
        context = self._make(str(uuid.uuid4()), Path(folder) if folder else self._home)
        try:
            await context.open()
        except OSError as error:
            raise RefusedError(400, f"chdir {folder}: {error.strerror or error}") from error
        self._contexts[context.id] = context
        return context

    def get(self, id: str) -> Context | None:
        """The context of that id; the default one when it is empty."""
        if id:
            return self._contexts.get(id)
        if self._default is None:
            self._default = self._make("default", self._home)
        return self._default

    async def delete(self, id: str) -> None:
        """End a context.

        Raises:
            RefusedError: there is none.
        """
        context = self._contexts.pop(id, None)
        if context is None:
            raise RefusedError(404, f"context not found: {id}")
        await context.close(sessions=not self._spare_sessions)

    async def lose(self) -> None:
        """End them all; the default one begins anew at its next cell."""
        contexts = self._all()
        self._contexts.clear()
        self._default = None
        await asyncio.gather(*(context.close() for context in contexts))

    def _all(self) -> list[Context]:
        return [*self._contexts.values(), *([self._default] if self._default else [])]

    def _make(self, id: str, folder: Path) -> Context:
        return Context(id, folder, self._worker, self._grace)

    async def _worker(self, folder: Path) -> Worker:
        if not await asyncio.to_thread(self._program.exists):
            await asyncio.to_thread(shutil.copyfile, PROGRAM, self._program)
        return await Worker.start(self._python, self._program, folder, self._environment())
