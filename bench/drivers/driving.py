"""Drives one way to run cells: jobs come in as lines of JSON, and answers go out the same way.

Only the standard library is used here, since rivals are driven by a Python of their own.
"""

import asyncio
import json
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any

from bench.drivers import memory

FIRST = "print(1)"
PANDAS = """\
import numpy as np
import pandas as pd
import matplotlib.pyplot as plt
df = pd.DataFrame({"a": np.arange(1000) % 7, "b": np.arange(1000.0)})
print(int(df.groupby("a")["b"].sum().sum()))
"""
CELL = "x = 1\nprint(x)"
LINE = 10_000_000
REST_SECONDS = 0.3
"""For what goes on beside a start, such as making the next one ready."""


class DiedError(Exception):
    """The process in which cells run is gone."""


class TooSlowError(Exception):
    """A cell did not end within its time limit."""


class Session(ABC):
    """A place where cells run one after the other."""

    @abstractmethod
    async def run(self, code: str, *, timeout: float = 120.0) -> str:
        """Run a cell; at least the first 1,000 characters that it printed.

        Raises:
            DiedError: its process ended.
            TooSlowError: it took too long.
        """

    @abstractmethod
    async def revive(self) -> str:
        """Have it run cells again after its process has died; says by what means."""

    @abstractmethod
    async def stop(self) -> None:
        """End it, and remove what it left."""


class Driver(ABC):
    """One way to run cells."""

    @abstractmethod
    async def start(self) -> Session:
        """A new session."""

    async def rest(self) -> None:
        """Called before a start that is timed."""
        await asyncio.sleep(REST_SECONDS)

    async def versions(self) -> str:
        """What it is, in a few words."""
        return ""


Job = Callable[..., Awaitable[dict[str, Any]]]


class Jobs:
    """What is measured, the same for every way."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def versions(self) -> dict[str, Any]:
        """What is driven."""
        return {"versions": await self._driver.versions()}

    async def first(self) -> dict[str, Any]:
        """From no session to the first result."""
        return await self._started(FIRST, "1")

    async def pandas(self) -> dict[str, Any]:
        """From no session to the first result of pandas."""
        return await self._started(PANDAS, "499500")

    async def _started(self, code: str, answer: str) -> dict[str, Any]:
        await self._driver.rest()
        began = time.perf_counter()
        session = await self._driver.start()
        said = await session.run(code)
        seconds = time.perf_counter() - began
        await session.stop()
        _must(said.strip() == answer, said)
        return {"seconds": seconds}

    async def cells(self, count: int) -> dict[str, Any]:
        """Round trips of a small cell."""
        session = await self._driver.start()
        for _ in range(min(count, 20)):
            await session.run(CELL)
        spent = []
        for _ in range(count):
            began = time.perf_counter()
            said = await session.run(CELL)
            spent.append(time.perf_counter() - began)
            _must(said.strip() == "1", said)
        await session.stop()
        return {"seconds": spent}

    async def output(self, megabytes: int) -> dict[str, Any]:
        """Much output in large pieces, and what it costs the host's memory."""
        session = await self._driver.start()
        await session.run(CELL)
        code = f"for _ in range({megabytes * 1_000_000 // LINE}):\n    print('x' * {LINE - 1})"
        peak = memory.HostPeak()
        began = time.perf_counter()
        said = await session.run(code)
        seconds = time.perf_counter() - began
        growth = peak.bytes
        await session.stop()
        _must(said.startswith("x" * 1_000), said[:100])
        return {"seconds": seconds, "bytes": growth}

    async def prints(self, count: int, limit: float) -> dict[str, Any]:
        """Many short lines."""
        session = await self._driver.start()
        await session.run(CELL)
        began = time.perf_counter()
        try:
            said = await session.run(f"for i in range({count}):\n    print(i)", timeout=limit)
        except TooSlowError:
            return {"late": True}
        finally:
            seconds = time.perf_counter() - began
            await session.stop()
        _must(said.startswith("0\n1\n2\n"), said[:100])
        return {"seconds": seconds}

    async def memory(self, count: int) -> dict[str, Any]:
        """What each of several sessions with pandas adds to the memory of this process and all below it."""
        session = await self._driver.start()
        await session.run(PANDAS)
        await session.stop()
        await asyncio.sleep(3 * REST_SECONDS)
        before = memory.descendants(os.getpid())
        alone = memory.proportional(before | {os.getpid()})
        sessions = []
        for _ in range(count):
            sessions.append(await self._driver.start())
            await sessions[-1].run(PANDAS)
        await asyncio.sleep(3 * REST_SECONDS)
        now = memory.descendants(os.getpid())
        together = memory.proportional(now | {os.getpid()})
        private = memory.unshared(now - before)
        for session in sessions:
            await session.stop()
        return {"each": (together - alone) / count, "unshared": private / count, "before": alone}

    async def recover(self) -> dict[str, Any]:
        """From a cell that kills its process to the answer of the next one."""
        session = await self._driver.start()
        await session.run("x = 41")
        await asyncio.sleep(REST_SECONDS)  # as a model does that thinks
        began = time.perf_counter()
        how = ""
        try:
            await session.run("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
        except DiedError:
            how = await session.revive()
        said = await session.run("print(x + 1 if 'x' in globals() else 'lost')")
        seconds = time.perf_counter() - began
        await session.stop()
        return {"seconds": seconds, "kept": said.strip() == "42", "how": how}


def _must(right: bool, said: str) -> None:
    if not right:
        raise RuntimeError(f"It printed something else: {said[:300]!r}")


async def serve(driver: Driver) -> None:
    """Do jobs until there are no more."""
    jobs = Jobs(driver)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed here is not an answer
    while line := await asyncio.to_thread(sys.stdin.readline):
        job = json.loads(line)
        work: Job = getattr(jobs, job.pop("do"))
        try:
            answer = await work(**job)
        except Exception as error:  # it is said, and the other ways are measured all the same
            answer = {"failed": f"{type(error).__name__}: {error}"[:500]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
