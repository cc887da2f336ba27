"""A new `python -c` for every cell: nothing is kept between them. Run as `python -m bench.drivers.plain`."""

import asyncio
import subprocess
import sys

from bench.drivers.driving import DiedError, Driver, Session, serve

KEPT = 65_536


class PlainSession(Session):
    """A program for each cell; the first bytes of what it prints are kept."""

    def __init__(self) -> None:
        self._waiting: subprocess.Popen[bytes] | None = None

    async def run(self, code: str, *, timeout: float = 120.0) -> str:
        # It stays until it is stopped, so that what it holds can be measured.
        await self.stop()
        wrapped = f"{code}\nimport sys\nsys.stdout.write('\\0')\nsys.stdout.flush()\nsys.stdin.readline()"
        self._waiting = process = subprocess.Popen(
            [sys.executable, "-c", wrapped], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        assert process.stdout is not None
        kept = ""
        while block := process.stdout.read(1 << 18):
            kept += block[: KEPT - len(kept)].decode()
            if block.endswith(b"\0"):
                return kept.rstrip("\0")
        raise DiedError

    async def revive(self) -> str:
        return "a new process"

    async def stop(self) -> None:
        if self._waiting is not None:
            self._waiting.kill()
            self._waiting.communicate()
            self._waiting = None


class Plain(Driver):
    """Programs."""

    async def start(self) -> Session:
        return PlainSession()

    async def versions(self) -> str:
        return f"CPython {sys.version.split()[0]}"


if __name__ == "__main__":
    asyncio.run(serve(Plain()))
