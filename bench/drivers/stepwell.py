"""Stepwell's local sandbox: `python -m bench.drivers.stepwell`.

With `--start unpooled` none is made ready before it is asked for; with `--start cold` the zygote that has the packages
imported is started anew, too. With `--keeps` the step after each cell is kept in a store.
"""

import argparse
import asyncio
import sys
import tempfile
from itertools import count
from pathlib import Path

from bench.drivers.driving import DiedError, Driver, Session, TooSlowError, serve
from nodes.restoring.snapshots import Snapshots
from sandboxes.base import Sandbox
from sandboxes.local import zygote
from sandboxes.opening import Sandboxes
from storage.blobs import Blobs

LIMIT = 1 << 30
A_THREAD = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()"
"""A process with threads is not forked, so after a kill its session comes from the snapshot."""


class StepwellSession(Session):
    """A sandbox; with `keeps` the step after each cell is kept in a store."""

    def __init__(self, sandboxes: Sandboxes, sandbox: Sandbox, snapshots: Snapshots | None) -> None:
        self._sandboxes = sandboxes
        self._sandbox = sandbox
        self._snapshots = snapshots
        self._kept = ""
        self._number = count(1)

    async def run(self, code: str, *, timeout: float = 120.0) -> str:
        number = next(self._number)
        result = await self._sandbox.run(code, number=number, timeout=timeout, head=f"cell {number}")
        if result.status == "timeout":
            raise TooSlowError
        if result.status == "killed":
            raise DiedError
        if result.status != "ok":
            raise RuntimeError(str(result.error or result.note))
        if self._snapshots is not None:
            self._kept = (await self._snapshots.keep(self._sandbox, [], limit_bytes=LIMIT)).snapshot
        return result.stdout.head

    async def revive(self) -> str:
        if self._sandbox.head:
            return "fork"
        if self._snapshots is None or not self._kept:
            raise RuntimeError("it has neither a frozen fork nor a snapshot")
        await self._snapshots.bring_back(self._sandbox, self._kept, damaged=set())
        return "snapshot"

    async def stop(self) -> None:
        await self._sandboxes.remove(self._sandbox.id)


class Stepwell(Driver):
    """Sandboxes.

    Args:
        folder: Where their files are.
        keeps: Whether steps are kept.
        cold: Whether each start begins with the zygote's.
    """

    def __init__(self, folder: Path, *, keeps: bool, cold: bool = False) -> None:
        self._cold = cold
        self._sandboxes = Sandboxes(folder / "threads", max_live=1_000)
        self._snapshots = Snapshots(Blobs.at(str(folder / "store"))) if keeps else None
        self._number = count(1)
        self._isolation = ""

    async def rest(self) -> None:
        await super().rest()
        if self._cold:
            await asyncio.to_thread(zygote.ZYGOTES.close)

    async def start(self) -> Session:
        sandbox = await self._sandboxes.open("local", f"bench-{next(self._number)}")
        self._isolation = sandbox.isolation
        session = StepwellSession(self._sandboxes, sandbox, self._snapshots)
        if self._snapshots is not None:
            await session.run(A_THREAD)
        return session

    async def versions(self) -> str:
        await (await self.start()).stop()
        return f"CPython {sys.version.split()[0]}; {self._isolation}"

    async def close(self) -> None:
        """End all of them."""
        await self._sandboxes.close_all()


async def _main(*, keeps: bool, start: str) -> None:
    if start != "pool":
        zygote.WAITING = 0
    with tempfile.TemporaryDirectory(prefix="stepwell-bench-") as folder:
        driver = Stepwell(Path(folder), keeps=keeps, cold=start == "cold")
        await serve(driver)
        await driver.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--keeps", action="store_true")
    parser.add_argument("--start", choices=("pool", "unpooled", "cold"), default="pool")
    asked = parser.parse_args()
    asyncio.run(_main(keeps=asked.keeps, start=asked.start))
