"""An emulator of Daytona that the real SDK speaks to, in a thread of its own.

```python
with Emulator() as emulator:  # or `async with`; one serves many tests
    async with client_of(emulator) as daytona:  # tests/daytona/clients.py: the SDK with its `api_url` and `api_key`
        sandbox = await daytona.create(CreateSandboxFromSnapshotParams(name="one"))

        fault = emulator.faults.add(RateLimited(on="upload", retry_after=1))  # all faults: tests/daytona/faults.py
        ...
        assert fault.met == 1

        before = emulator.counters.copy()
        ...
        spent = emulator.counters - before  # tests/daytona/counters.py
        assert spent.requests["run"] == 1 and spent.requests["upload"] <= 1

        await emulator.advance(minutes=20)  # the clock goes forward: idle sandboxes stop, stopped ones are archived, …
        await emulator.happens("one", "deleted")  # also stopped, archived, failed, contexts lost, workers killed
        assert emulator.states() == {}
```

`emulator.home("one")` is a sandbox's home and work directory, a folder of this machine; `emulator.processes("one")`
are its living processes. Each sandbox has `HOME` and `TMPDIR` of its own, and nothing of this process's environment.
It is no isolation. Uploads to `/tmp` and other places outside of a sandbox's folder are refused.

Follows what is known of the toolbox v0.190.0 and the SDK 0.226.1. Where a choice had to be made it is the less
convenient one: a request in the middle of a change of state is a 409 (a deletion too), starting a started sandbox is a
400, a sandbox in a state of error can only be deleted, a context whose worker died never runs anything again, the
default one included. At a time limit only the worker is signalled; deleting a context ends all that descends from its
worker, but not what has detached itself: that goes when the sandbox stops.
"""

import asyncio
import sys
import tempfile
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from aiohttp import web

from sandboxes.host.workspace import remove
from tests.daytona.counters import Counters
from tests.daytona.faults import Faults
from tests.daytona.processes import members
from tests.daytona.service import application
from tests.daytona.world import World

T = TypeVar("T")


class Emulator:
    """An emulated Daytona; a context manager, async or not.

    Args:
        api_key: The one key that it takes.
        python: The interpreter in all sandboxes.
        environment: What the image sets in every process.
        start_seconds: From creating or starting to started.
        stop_seconds: From stopping to stopped; the same for archiving and deleting.
        poll_seconds: The toolbox notices the end of a cell at a multiple of this after its start.
        grace_seconds: From SIGINT at a time limit to SIGKILL.
        spare_sessions: Deleting a context ends only its worker's process group. Which of the two the real service does
            is not known: a driver should pass with both.
        disk: GiB that the account may have in sandboxes that are not archived; None: without limit.
        port: Where it listens on 127.0.0.1; 0: somewhere.
    """

    def __init__(
        self,
        *,
        api_key: str = "emulated-key",
        python: str = sys.executable,
        environment: dict[str, str] | None = None,
        start_seconds: float = 0.0,
        stop_seconds: float = 0.0,
        poll_seconds: float = 0.05,
        grace_seconds: float = 2.0,
        spare_sessions: bool = False,
        disk: int | None = None,
        port: int = 0,
    ) -> None:
        self._world = World(
            root=Path(),
            python=python,
            api_key=api_key,
            environment=dict(environment or {}),
            start_seconds=start_seconds,
            stop_seconds=stop_seconds,
            poll_seconds=poll_seconds,
            grace_seconds=grace_seconds,
            spare_sessions=spare_sessions,
            disk=disk,
        )
        self._port = port
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="daytona", daemon=True)
        self._ready: Future[asyncio.AbstractEventLoop] = Future()
        self._closing: asyncio.Event

    @property
    def api_key(self) -> str:
        """The key that it takes."""
        return self._world.api_key

    @property
    def api_url(self) -> str:
        """The address for the SDK's `api_url`."""
        return f"{self._world.url}/api"

    @property
    def faults(self) -> Faults:
        """What shall go wrong."""
        return self._world.faults

    @property
    def fixed_network(self) -> bool:
        """Whether the tier of the account fixes what sandboxes reach: then changes are refused."""
        return self._world.fixed_network

    @fixed_network.setter
    def fixed_network(self, fixed: bool) -> None:
        self._world.fixed_network = fixed

    @property
    def counters(self) -> Counters:
        """What went over the wire since it started."""
        return self._world.counters

    @property
    def snapshots(self) -> set[str]:
        """The names of snapshots that sandboxes can be created from; more can be added."""
        return self._world.snapshots

    def states(self) -> dict[str, str]:
        """The state of every sandbox, by name."""
        return {one.name: one.state for one in list(self._world.sandboxes.values())}

    def home(self, name: str) -> Path:
        """The home and work directory of a sandbox."""
        return self._world.find(name).home

    def network(self, name: str) -> dict[str, Any]:
        """What a sandbox may reach, by the names of the API."""
        shown = self._world.find(name).shown()
        return {rule: shown.get(rule) for rule in ("networkBlockAll", "networkAllowList", "domainAllowList")}

    def processes(self, name: str) -> set[int]:
        """The living processes of a sandbox."""
        sandbox = self._world.find(name)
        return members(sandbox.id, sandbox.root)

    async def advance(self, *, minutes: float) -> None:
        """Set the clock forward; returns when all that was due has happened."""
        await self._in_thread(self._world.advance(minutes))

    async def happens(self, name: str, what: str) -> None:
        """Let something happen to a sandbox: what `Happens` in tests/daytona/faults.py names."""
        await self._in_thread(self._world.find(name).happens(what))

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()
        self._ready.result(timeout=30)

    def close(self) -> None:
        """Delete every sandbox and stop serving. Nothing is left of it, neither processes nor files."""
        loop = self._ready.result()
        if self._thread.is_alive():
            loop.call_soon_threadsafe(self._closing.set)
            self._thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    async def _in_thread(self, work: Coroutine[Any, Any, T]) -> T:
        loop = self._ready.result()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))

    async def _serve(self) -> None:
        self._closing = asyncio.Event()
        # Short: sockets of the AF_UNIX family in a work directory have to fit into 107 bytes.
        self._world.root = Path(tempfile.mkdtemp(prefix="dt-")).resolve()
        runner = web.AppRunner(application(self._world), access_log=None, shutdown_timeout=0.5)
        try:
            try:
                await runner.setup()
                await web.TCPSite(runner, "127.0.0.1", self._port).start()
            except OSError as error:
                self._ready.set_exception(error)
                return
            self._world.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            self._ready.set_result(asyncio.get_running_loop())
            await self._closing.wait()
            await self._world.end()
        finally:
            await runner.cleanup()
            await asyncio.to_thread(remove, self._world.root)
