"""One sandbox in Daytona, found again by its name: made, started, stopped and deleted, as the thread needs it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from sandboxes.base import SandboxRefusedError, SandboxUnavailableError
from sandboxes.daytona.client import Clients
from sandboxes.daytona.errors import ConflictError, NotRunningError, asked
from sandboxes.daytona.options import Options

if TYPE_CHECKING:
    from daytona import AsyncSandbox, CreateSandboxFromImageParams, CreateSandboxFromSnapshotParams

T = TypeVar("T")

LABEL = "stepwell"
"""The label that all of ours have; its value is the prefix of their names."""
THREAD_LABEL = "stepwell-thread"
POLL_SECONDS = 0.25
STARTABLE = ("stopped", "archived", "paused")
BAD = ("error", "build_failed")
GONE = ("destroyed", "destroying")
UNDO_SECONDS = 60.0
TRIES = 3


class Machine:
    """The sandbox of one thread; nothing is asked of Daytona before it is used.

    Args:
        clients: Who asks.
        options: How it is made.
        id: The thread's.
        keep: Whether it is to outlive its use; else Daytona deletes it as soon as it stops.
    """

    def __init__(self, clients: Clients, options: Options, id: str, *, keep: bool = True) -> None:
        self._clients = clients
        self._options = options
        self._keep = keep
        self.name = f"{options.prefix}-{id}"
        self.late_seconds = options.late_seconds
        self._id = id
        self._sandbox: AsyncSandbox | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn = asyncio.Lock()
        self._undoing: set[asyncio.Future[None]] = set()
        self.life = 0
        """Counts the lives of it that this process has seen: with each, processes and variables are new."""

    @property
    def known(self) -> bool:
        """Whether this process has used it since it was last stopped."""
        return self._sandbox is not None

    async def ready(self) -> "AsyncSandbox":
        """The sandbox, running: found, started or made.

        Raises:
            SandboxRefusedError: the key is not good.
            SandboxUnavailableError: it cannot be had now.
        """
        async with self._turn:
            if self._loop is not asyncio.get_running_loop():
                self._sandbox, self._loop = None, asyncio.get_running_loop()
            if self._sandbox is None:
                sandbox = await self._have()
                await self._let_reach(sandbox)
                self._sandbox = sandbox
            return self._sandbox

    async def use(self, doing: str, call: Callable[["AsyncSandbox"], Awaitable[T]], *, again: bool = True) -> T:
        """Have the running sandbox do something; one that was stopped meanwhile is started, one that is gone is made.

        Args:
            doing: What, as in "could not …".
            call: Asks it.
            again: Whether that may be asked twice.

        Raises:
            SandboxUnavailableError: it cannot be done now.
        """
        for _ in range(TRIES):
            sandbox = await self.ready()
            try:
                return await asked(doing, lambda on=sandbox: call(on), again=again)  # type: ignore[misc]
            except SandboxUnavailableError as error:
                if await self.runs():
                    raise
                if not again and not isinstance(error, NotRunningError):
                    raise
        raise SandboxUnavailableError(f"Daytona could not {doing}: the sandbox {self.name} does not stay up.")

    async def runs(self) -> bool:
        """Ask whether it runs; one that does not will be started when it is next used.

        Raises:
            SandboxUnavailableError: that cannot be said now.
        """
        sandbox = self._sandbox
        if sandbox is None:
            return False
        try:
            await asked("say how the sandbox is", sandbox.refresh_data, again=True)
        except NotRunningError:
            self._sandbox = None
            return False
        if _state(sandbox) != "started":
            self._sandbox = None
        return self._sandbox is not None

    async def find(self) -> "AsyncSandbox | None":
        """The sandbox of that name in whatever state, if there is one."""
        client = await self._clients.get()
        try:
            return await asked("look for the sandbox", lambda: client.get(self.name), again=True)
        except NotRunningError:
            return None

    async def stop(self) -> None:
        """Stop it: its files stay, its processes end, and it costs no computing. One that is not there is no error."""
        async with self._turn:
            sandbox, self._sandbox = self._sandbox, None
            if sandbox is None or self._loop is not asyncio.get_running_loop():
                return
            await self._settle(sandbox, "stop the sandbox", lambda: sandbox.stop(timeout=60), ("stopped", "archived"))

    async def delete(self) -> None:
        """Delete it, with its files; one that is not there is no error."""
        async with self._turn:
            self._sandbox = None
            sandbox = await self.find()
            if sandbox is not None and _state(sandbox) not in GONE:
                await self._remove(sandbox)

    async def _remove(self, sandbox: "AsyncSandbox") -> None:
        await self._settle(sandbox, "delete the sandbox", lambda: sandbox.delete(timeout=60, wait=True), GONE)

    async def _settle(
        self, sandbox: "AsyncSandbox", doing: str, call: Callable[[], Awaitable[object]], done: tuple[str, ...]
    ) -> None:
        """Bring it to a state, whatever it is on its way to now."""
        until = time.monotonic() + self._options.create_seconds
        while True:
            try:
                await asked(doing, call, again=True)
            except NotRunningError:
                return
            except SandboxUnavailableError:
                if time.monotonic() > until:
                    raise
                try:
                    await asked("say how the sandbox is", sandbox.refresh_data, again=True)
                except NotRunningError:
                    return
                if _state(sandbox) in (*done, *GONE):
                    return
                if _state(sandbox) in BAD:
                    raise
                await asyncio.sleep(POLL_SECONDS)
            else:
                return

    async def _have(self) -> "AsyncSandbox":
        until, failures = time.monotonic() + self._options.create_seconds, 0
        while True:
            sandbox = await self.find()
            state = _state(sandbox) if sandbox is not None else ""
            if sandbox is None:
                try:
                    sandbox = await self._create()
                except ConflictError:  # somebody else was first
                    await asyncio.sleep(POLL_SECONDS)
                    continue
                except SandboxUnavailableError:
                    made, failures = await self.find(), failures + 1
                    if made is None or _state(made) not in BAD or failures > 1:
                        raise
                    continue  # it is deleted, and made once more
                self.life += 1
                return sandbox
            if state == "started":
                self.life += 1
                return sandbox
            if state in BAD:
                await self._remove(sandbox)
            elif state in STARTABLE and await self._started(sandbox):
                self.life += 1
                return sandbox
            if time.monotonic() > until:
                raise SandboxUnavailableError(
                    f"The sandbox {self.name} in Daytona is {state} and does not start; look at it in the dashboard."
                )
            await asyncio.sleep(POLL_SECONDS)

    async def _let_reach(self, sandbox: "AsyncSandbox") -> None:
        """Have its network as it is asked for now: a thread may go on with other rules than it was begun with.

        Raises:
            SandboxRefusedError: Daytona leaves it more open.
        """
        rules: dict[str, Any] = self._options.network_rules()
        if _reachable(sandbox) == rules:  # what is blocked as a whole has no other rules
            return
        change = rules or {"network_block_all": False}
        doing = "change what the sandbox may reach"
        await asked(doing, lambda: sandbox.update_network_settings(**change), again=True)
        if rules and _reachable(sandbox) != rules:
            raise SandboxRefusedError(
                f"Daytona does not keep the network of sandbox {self.name} as closed as STEPWELL_NETWORK asks for; "
                "look at the account's network policy, or open the network with STEPWELL_NETWORK=full."
            )

    async def _started(self, sandbox: "AsyncSandbox") -> bool:
        """Start it; false when it has to be looked at again."""
        seconds = self._options.create_seconds
        try:
            await asked("start the sandbox", lambda: sandbox.start(timeout=seconds), again=True)
        except (ConflictError, NotRunningError):
            return False
        except SandboxUnavailableError:
            found = await self.find()
            if found is None or _state(found) not in ("started", "starting", "restoring"):
                raise
            return False
        return True

    async def _create(self) -> "AsyncSandbox":
        """Make it; when that is cancelled, nothing is left behind.

        Raises:
            ConflictError: there is one of that name.
        """
        client = await self._clients.get()
        parameters = await asyncio.to_thread(self._parameters)
        seconds = self._options.create_seconds
        # A request that broke off may have made it: then the name is taken, and it is found by that.
        creating = asyncio.ensure_future(
            asked("make a sandbox", lambda: client.create(parameters, timeout=seconds), again=True)
        )
        try:
            return await asyncio.shield(creating)
        except asyncio.CancelledError:
            undoing = asyncio.ensure_future(self._undo(creating))
            self._undoing.add(undoing)
            undoing.add_done_callback(self._undoing.discard)
            await asyncio.shield(undoing)
            raise

    async def _undo(self, creating: "asyncio.Future[AsyncSandbox]") -> None:
        """Delete what was being made for somebody who does not want it any more."""
        await asyncio.wait((creating,), timeout=UNDO_SECONDS)
        if not creating.done():
            creating.cancel()
            await asyncio.wait((creating,))
        if not creating.cancelled() and isinstance(creating.exception(), ConflictError):
            return  # it is somebody else's
        sandbox = await self.find()
        if sandbox is not None:
            await self._remove(sandbox)

    async def settled(self) -> None:
        """Wait until nothing is being undone any more."""
        if self._undoing:
            await asyncio.wait(set(self._undoing))

    def _parameters(self) -> "CreateSandboxFromSnapshotParams | CreateSandboxFromImageParams":
        from daytona import CreateSandboxFromImageParams, CreateSandboxFromSnapshotParams, Resources

        options = self._options
        base: dict[str, Any] = {
            "name": self.name,
            "language": "python",
            "labels": {LABEL: options.prefix, THREAD_LABEL: self._id},
            "auto_stop_interval": options.auto_stop,
            "auto_delete_interval": options.auto_delete if self._keep else 0,
            **options.network_rules(),
        }
        if options.auto_archive >= 0:
            base["auto_archive_interval"] = options.auto_archive
        if not options.image:
            return CreateSandboxFromSnapshotParams(snapshot=options.snapshot or None, **base)
        resources = Resources(cpu=options.cpu or None, memory=options.memory or None, disk=options.disk or None)
        return CreateSandboxFromImageParams(image=options.image, resources=resources, **base)


def _reachable(sandbox: "AsyncSandbox") -> dict[str, Any]:
    """The rules of its network, in the form in which they are asked for."""
    found = {
        "network_block_all": sandbox.network_block_all,
        "network_allow_list": sandbox.network_allow_list,
        "domain_allow_list": sandbox.domain_allow_list,
    }
    if sandbox.network_block_all:
        return {"network_block_all": True}
    return {name: value for name, value in found.items() if value}


def _state(sandbox: "AsyncSandbox") -> str:
    """Its state, by Daytona's name for it."""
    state = sandbox.state
    return str(getattr(state, "value", state) or "")
