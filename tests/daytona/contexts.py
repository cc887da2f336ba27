"""Interpreter contexts: one worker process each, cells one after the other, and what happens when a worker dies."""

import asyncio
import contextlib
import json
import shutil
import signal
import subprocess
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.daytona.answers import RefusedError, now
from tests.daytona.processes import descendants, end

PROGRAM = Path(__file__).with_name("worker.py")
LONGEST_LINE = 1 << 20
"""The daemon reads the worker's lines with a buffer of this size. A longer one, and it reads no further."""
MOST_FRAMES = 1024
"""Frames that may wait for a client."""
SLOW_AFTER = 1.0
"""Seconds that a full queue is waited for. The daemon does not wait, but has a thread for each client."""


@dataclass(frozen=True)
class Ending:
    """How a WebSocket is closed."""

    code: int
    reason: str = ""


TIMED_OUT = Ending(4008, "execution timed out")
WORKER_ENDED = Ending(1001, "worker process ended")


@dataclass
class Cell:
    """Code on its way through a context, and the frames for its client."""

    code: str
    envs: Mapping[str, str]
    timeout: float
    """Seconds; 0: none."""
    attached: bool = True
    """Whether somebody still listens. The code runs to its end either way."""
    frames: asyncio.Queue[str | Ending] = field(default_factory=lambda: asyncio.Queue(MOST_FRAMES + 1))
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Future[str] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """`completed`, `interrupted`, or `died`: what the worker made of it."""

    async def offer(self, frame: str) -> None:
        """A frame for the client, if there is one."""
        if not self.attached:
            return
        waited = 0.0
        while self.frames.qsize() >= MOST_FRAMES and self.attached:
            if waited >= SLOW_AFTER:
                while not self.frames.empty():
                    self.frames.get_nowait()
                self.end(Ending(1008, "slow consumer"))
                return
            await asyncio.sleep(0.01)
            waited += 0.01
        if self.attached:
            self.frames.put_nowait(frame)

    def end(self, ending: Ending) -> None:
        """No more frames."""
        if self.attached:
            self.attached = False
            self.frames.put_nowait(ending)
        self.begun.set()

    def settle(self, how: str) -> None:
        """The worker is through with it."""
        if not self.done.done():
            self.done.set_result(how)


class Worker:
    """One worker process, and the cell that it runs."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._cell: Cell | None = None
        self._reading = asyncio.create_task(self._read())
        self._waiting = asyncio.create_task(self._wait())

    @classmethod
    async def start(cls, python: str, program: Path, folder: Path, environment: Mapping[str, str]) -> "Worker":
        """Start one.

        Raises:
            OSError: the folder is not there.
        """
        process = await asyncio.create_subprocess_exec(
            python,
            str(program),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=environment,
            start_new_session=True,
            limit=LONGEST_LINE,
        )
        return cls(process)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it has not been seen to end."""
        return self._process.returncode is None

    def take(self, cell: Cell) -> None:
        """Give it a cell to run."""
        self._cell = cell
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"code": cell.code, "envs": dict(cell.envs)}).encode() + b"\n")
        cell.begun.set()

    def interrupt(self) -> None:
        """Send it SIGINT; nothing else hears of it."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """Send it SIGKILL; what it started lives on."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def close(self, *, family: bool = True) -> None:
        """End it, with all that descends from it, and wait until it is gone."""
        if family and self.alive:
            end(await asyncio.to_thread(descendants, self.pid))
        self.kill()
        await self._waiting
        self._reading.cancel()
        await asyncio.wait([self._reading])

    async def _wait(self) -> None:
        await self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()
        # What it wrote last is still in the pipe; a child of its may hold the other end open, so this is not for ever.
        await asyncio.wait([self._reading], timeout=0.2)
        if self._cell is not None:
            self._cell.settle("died")

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while True:
            try:
                line = await self._process.stdout.readline()
            except ValueError:
                return  # too long: whatever it says from here on, nobody reads
            if not line:
                return
            try:
                frame = json.loads(line)
            except ValueError:
                continue
            if isinstance(frame, dict) and self._cell is not None:
                await self._hear(frame, self._cell)

    async def _hear(self, frame: dict[str, Any], cell: Cell) -> None:
        await cell.offer(json.dumps(frame))
        if frame.get("type") == "control":
            self._cell = None
            cell.settle(str(frame.get("text", "completed")))


class Context:
    """An interpreter context: a dictionary of names in a worker, and a queue of cells."""

    def __init__(self, id: str, folder: Path, start: Callable[[Path], Any], grace: float) -> None:
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

    @property
    def busy(self) -> bool:
        """Whether a cell runs or waits."""
        return bool(self._cells)

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

    async def close(self) -> None:
        """End its worker and all that descends from it, and every cell in the queue."""
        self._closed = True
        if self.worker is not None:
            await self.worker.close()
        waiting = dict(self._cells)
        for task, cell in waiting.items():
            task.cancel()
            cell.end(WORKER_ENDED)
        if waiting:
            await asyncio.wait(waiting)

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
        assert self.worker is not None
        return self.worker


class Contexts:
    """The contexts of one sandbox.

    Args:
        python: The interpreter.
        home: Where cells run unless they say otherwise.
        program: Where the copy of the worker's program lies.
        environment: Says what environment a new process gets.
        grace: Seconds between SIGINT and SIGKILL.
    """

    def __init__(
        self, python: str, home: Path, program: Path, environment: Callable[[], dict[str, str]], grace: float
    ) -> None:
        self._python = python
        self._home = home
        self._program = program
        self._environment = environment
        self._grace = grace
        self._contexts: dict[str, Context] = {}
        self._default: Context | None = None

    @property
    def busy(self) -> bool:
        """Whether a cell runs or waits in one of them."""
        return any(context.busy for context in self._all())

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
        await context.close()

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
