"""The host's side of a worker: the process, the lines it writes, and the cell whose frames they are."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.process_table import descendants, end

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


@dataclass(frozen=True)
class _Pipes:
    reading: asyncio.ReadTransport
    writing: asyncio.WriteTransport

    def close(self) -> None:
        self.reading.close()
        if not self.writing.is_closing():
            self.writing.abort()  # without what waits in it


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return None


class Worker:
    """One worker process, and the cell that it runs."""

    def __init__(self, process: asyncio.subprocess.Process, said: asyncio.StreamReader, pipes: "_Pipes") -> None:
        self._process = process
        self._said = said
        self._pipes = pipes
        self._cell: Cell | None = None
        self._reading = asyncio.create_task(self._read())
        self._waiting = asyncio.create_task(self._wait())

    @classmethod
    async def start(cls, python: str, program: Path, folder: Path, environment: Mapping[str, str]) -> "Worker":
        """Start one.

        Raises:
            OSError: the folder is not there.
        """
        # Pipes of our own: with asyncio's, the end of a process is not seen while a child of it holds one of them.
        told, telling = os.pipe()
        hearing, saying = os.pipe()
        loop = asyncio.get_running_loop()
        said = asyncio.StreamReader(LONGEST_LINE)
        reading, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(said), os.fdopen(hearing, "rb", 0)
        )
        writing, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(telling, "wb", 0))
        pipes = _Pipes(reading, writing)
        try:
            process = await asyncio.create_subprocess_exec(
                python,
                str(program),
                stdin=told,
                stdout=saying,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env=environment,
                start_new_session=True,
            )
        except BaseException:
            pipes.close()
            raise
        finally:
            os.close(told)
            os.close(saying)
        return cls(process, said, pipes)

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
        self._pipes.writing.write(json.dumps({"code": cell.code, "envs": dict(cell.envs)}).encode() + b"\n")
        cell.begun.set()

    def interrupt(self) -> None:
        """Send it SIGINT; nothing else hears of it."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """Send it SIGKILL; what it started lives on."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def close(self, *, family: bool = True, sessions: bool = True) -> None:
        """End it, and wait until it is gone.

        Args:
            family: What descends from it ends too,
            sessions: even if it has a session of its own.
        """
        if family and self.alive:
            found = await asyncio.to_thread(descendants, self.pid)
            end(found if sessions else {pid for pid in found if _session(pid) in (None, self.pid)})
        self.kill()
        await self._waiting
        self._reading.cancel()
        await asyncio.wait([self._reading])
        self._pipes.close()

    async def _wait(self) -> None:
        await self._process.wait()
        # What it wrote last is still in the pipe; a child of its may hold the other end open, so this is not for ever.
        await asyncio.wait([self._reading], timeout=0.2)
        if self._cell is not None:
            self._cell.settle("died")

    async def _read(self) -> None:
        while True:
            try:
                line = await self._said.readline()
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
