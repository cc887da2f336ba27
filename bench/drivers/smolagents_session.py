"""smolagents' interpreter of Python, in the host's own process. Run as `python -m bench.drivers.smolagents_session`."""

import asyncio
import importlib.metadata
import os

from smolagents.local_python_executor import ExecutionTimeoutError, LocalPythonExecutor

from bench.drivers.driving import Driver, Session, TooSlowError, serve

LONGEST = 600


class SmolagentsSession(Session):
    """One interpreter; each call is a cell."""

    def __init__(self) -> None:
        self._executor = LocalPythonExecutor(["*"], timeout_seconds=LONGEST)
        self._executor.send_tools({})

    async def run(self, code: str, *, timeout: float = 120.0) -> str:
        self._executor.timeout_seconds = int(timeout)
        try:
            return str(self._executor(code).logs)
        except ExecutionTimeoutError as error:
            raise TooSlowError from error

    async def revive(self) -> str:
        raise RuntimeError("the cell runs in the host's process: that is gone too")

    async def stop(self) -> None:
        return


class Smolagents(Driver):
    """Interpreters."""

    async def start(self) -> Session:
        return SmolagentsSession()

    async def versions(self) -> str:
        return f"smolagents {importlib.metadata.version('smolagents')}"


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    asyncio.run(serve(Smolagents()))
