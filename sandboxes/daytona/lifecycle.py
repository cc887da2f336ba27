"""One sandbox in Daytona, found again by its name: made, started, stopped and deleted, as the thread needs it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from sandboxes.base import SandboxRefusedError, SandboxUnavailableError
from sandboxes.daytona.client import Clients
from sandboxes.daytona.errors import ConflictError, DaytonaQuotaError, KeyRefusedError, NotRunningError, asked
from sandboxes.daytona.freeing import (
    HELD,
    KEEPING_LABEL,
    LABEL,
    THREAD_LABEL,
    UNSTORED,
    free_one,
    state_of,
    stored,
)
from sandboxes.daytona.options import Options

if TYPE_CHECKING:
    from daytona import AsyncSandbox, CreateSandboxFromImageParams, CreateSandboxFromSnapshotParams

T = TypeVar("T")

POLL_SECONDS = 0.25
STARTABLE = ("stopped", "archived", "paused")
BAD = ("error", "build_failed")
GONE = ("destroyed", "destroying")
UNDO_SECONDS = 60.0
TRIES = 3
TIERS = (
    "Accounts of Daytona's tiers 1 and 2 cannot choose what sandboxes reach: go on with the network that the thread "
    "had, delete its sandbox, or raise the tier (https://app.daytona.io/dashboard/limits)."
)
ROOM = "Delete sandboxes, or raise the limit (https://app.daytona.io/dashboard/limits)."


class Lifecycle:
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
        self._id = id
        self._sandbox: AsyncSandbox | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn = asyncio.Lock()
        self._undoing: set[asyncio.Future[None]] = set()
        self._started_last: AsyncSandbox | None = None
        """What runs, or is about to, since it was looked for last."""
        self.made = False
        """Whether this process has made it."""
        self.was_stored = True
        """Whether the store had all that was in it when this process first had to do with it."""
        self.life = 0
        """Counts the lives of it that this process has seen: with each, processes and variables are new."""

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
                try:
                    sandbox = await self._have()
                    await self._let_reach(sandbox)
                    await self._mark_used(sandbox)
                except BaseException:  # nobody gets it, so nobody would stop it
                    await self._give_back()
                    raise
                self._sandbox, self._started_last = sandbox, None
            return self._sandbox

    async def _give_back(self) -> None:
        """Stop what was started for a caller that was cancelled."""
        started, self._started_last = self._started_last, None
        if started is not None:
            await self._undoing_of(self._halt(started))

    async def _halt(self, sandbox: "AsyncSandbox") -> None:
        with suppress(SandboxUnavailableError, SandboxRefusedError):  # then it is stopped for being idle
            await self._settle(sandbox, "stop the sandbox", lambda: sandbox.stop(timeout=60), ("stopped", "archived"))

    async def _undoing_of(self, work: Coroutine[Any, Any, None]) -> None:
        """Undo something, even when whoever waits for that is cancelled."""
        undoing = asyncio.ensure_future(work)
        self._undoing.add(undoing)
        undoing.add_done_callback(self._undoing.discard)
        await asyncio.shield(undoing)

    async def use(self, doing: str, call: Callable[["AsyncSandbox"], Awaitable[T]], *, again: bool = True) -> T:
        """Do something with the running sandbox; one that was stopped is started, one that is gone is made anew.

        Args:
            doing: What, as in "could not …".
            call: Asks it.
            again: Whether that may be asked twice.

        Raises:
            SandboxRefusedError: the key is not good, or that cannot be done at all.
            SandboxUnavailableError: it cannot be done now.
        """
        for _ in range(TRIES):
            sandbox = await self.ready()
            try:
                return await asked(doing, lambda on=sandbox: call(on), again=again)  # type: ignore[misc]
            except KeyRefusedError:
                if await self.runs():
                    raise
                # The key is good, so the toolbox does not know the sandbox any more; nothing was done.
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
        if state_of(sandbox) != "started":
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

    async def release(self) -> None:
        """Stop it, and have it deleted soon: the store has all that is in it."""
        sandbox, minutes = self._sandbox, self._options.stored_minutes
        if sandbox is not None and self._loop is asyncio.get_running_loop() and sandbox.auto_delete_interval != HELD:
            if minutes == 0:
                await self.delete()
                return
            await self._set_kept(sandbox, minutes)
        await self.stop()

    async def hold(self) -> None:
        """Keep it as long as possible: it holds something that exists nowhere else."""
        await self._set_kept(await self.ready(), HELD if self._options.auto_delete >= 0 else -1)

    async def _mark_used(self, sandbox: "AsyncSandbox") -> None:
        """Keep it longer while a thread is in it, whose last step may not be stored."""
        self.was_stored = self.made or stored(sandbox)
        if self._keep and stored(sandbox):
            with suppress(SandboxUnavailableError, SandboxRefusedError):  # it goes earlier, if we die meanwhile
                await self._set_kept(sandbox, UNSTORED)

    async def _set_kept(self, sandbox: "AsyncSandbox", minutes: int) -> None:
        if sandbox.auto_delete_interval != minutes:
            doing = "say how long the sandbox is kept"
            await asked(doing, lambda: sandbox.set_auto_delete_interval(minutes), again=True)

    async def delete(self) -> None:
        """Delete it, with its files; one that is not there is no error."""
        async with self._turn:
            self._sandbox = None
            sandbox = await self.find()
            if sandbox is not None and state_of(sandbox) not in GONE:
                await self._remove(sandbox)

    async def _remove(self, sandbox: "AsyncSandbox") -> None:
        await self._settle(sandbox, "delete the sandbox", lambda: sandbox.delete(timeout=60, wait=True), GONE)

    async def _settle(
        self, sandbox: "AsyncSandbox", doing: str, call: Callable[[], Awaitable[object]], done: tuple[str, ...]
    ) -> None:
        """Bring it to a state, whatever state it is changing to now."""
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
                if state_of(sandbox) in (*done, *GONE):
                    return
                if state_of(sandbox) in BAD:
                    raise
                await asyncio.sleep(POLL_SECONDS)
            else:
                return

    async def _have(self) -> "AsyncSandbox":
        """Make it run; where the account's disk is full, delete others of ours that nobody needs.

        Raises:
            DaytonaQuotaError: there are none.
        """
        while True:
            try:
                return await self._found_or_made()
            except DaytonaQuotaError as error:
                if not error.of_disk:
                    raise DaytonaQuotaError(f"{error} {ROOM}") from error
                if not await free_one(await self._clients.get(), self._options.prefix, sparing=self.name):
                    raise DaytonaQuotaError(f"{error} Nothing of ours there can be spared. {ROOM}") from error

    async def _found_or_made(self) -> "AsyncSandbox":
        until, failures = time.monotonic() + self._options.create_seconds, 0
        while True:
            sandbox = await self.find()
            state = state_of(sandbox) if sandbox is not None else ""
            if sandbox is None:
                try:
                    sandbox = await self._create()
                except (KeyRefusedError, DaytonaQuotaError):
                    raise
                except SandboxRefusedError as error:
                    raise _of_the_network(error) from error
                except ConflictError:  # somebody else was first
                    await asyncio.sleep(POLL_SECONDS)
                    continue
                except SandboxUnavailableError:
                    made, failures = await self.find(), failures + 1
                    if made is None or state_of(made) not in BAD or failures > 1:
                        raise
                    continue  # it is deleted, and made once more
                self._started_last = sandbox
                self.made = self._clients.made = True
                self.life += 1
                return sandbox
            if state in ("starting", "restoring", *STARTABLE):  # in one that runs may be another worker
                self._started_last = sandbox
            if state == "started" or (state in STARTABLE and await self._started(sandbox)):
                self.life += 1
                return sandbox
            if state in BAD:
                await self._remove(sandbox)
            if time.monotonic() > until:
                raise SandboxUnavailableError(
                    f"The sandbox {self.name} in Daytona is {state} and does not start; look at it in the dashboard."
                )
            await asyncio.sleep(POLL_SECONDS)

    async def _let_reach(self, sandbox: "AsyncSandbox") -> None:
        """Set its network to the current rules: a thread may continue with other rules than it began with.

        Raises:
            SandboxRefusedError: Daytona does not do that.
        """
        rules = self._options.network_rules()
        if _reachable(sandbox) == rules:
            return
        # Each of them, since what is not named stays as it is: a list below a block, a block above a list.
        doing = "change what the sandbox may reach"
        nothing: dict[str, Any] = {"network_block_all": False, "network_allow_list": "", "domain_allow_list": ""}
        change = {**nothing, **rules}
        try:
            await asked(doing, lambda: sandbox.update_network_settings(**change), again=True)
        except KeyRefusedError:
            raise
        except SandboxRefusedError as error:
            raise _of_the_network(error) from error
        if _reachable(sandbox) != rules:
            raise SandboxRefusedError(
                f"Daytona does not give sandbox {self.name} the network that STEPWELL_NETWORK asks for. {TIERS}"
            )

    async def _started(self, sandbox: "AsyncSandbox") -> bool:
        """Start it; false when its state has to be read again."""
        seconds = self._options.create_seconds
        try:
            await asked("start the sandbox", lambda: sandbox.start(timeout=seconds), again=True)
        except (ConflictError, NotRunningError):
            return False
        except SandboxUnavailableError:
            found = await self.find()
            if found is None or state_of(found) not in ("started", "starting", "restoring"):
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
            await self._undoing_of(self._undo(creating))
            raise

    async def _undo(self, creating: "asyncio.Future[AsyncSandbox]") -> None:
        """Delete what was being made for a caller that was cancelled."""
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
        """Wait until everything that was cancelled has been undone."""
        if self._undoing:
            await asyncio.wait(set(self._undoing))

    def _parameters(self) -> "CreateSandboxFromSnapshotParams | CreateSandboxFromImageParams":
        from daytona import CreateSandboxFromImageParams, CreateSandboxFromSnapshotParams, Resources

        options = self._options
        base: dict[str, Any] = {
            "name": self.name,
            "language": "python",
            "labels": {LABEL: options.prefix, THREAD_LABEL: self._id, KEEPING_LABEL: "1"},
            "auto_stop_interval": options.auto_stop,
            "auto_delete_interval": (UNSTORED if options.auto_delete >= 0 else -1) if self._keep else 0,
            **options.network_rules(),
        }
        if options.auto_archive >= 0:
            base["auto_archive_interval"] = options.auto_archive
        if not options.image:
            return CreateSandboxFromSnapshotParams(snapshot=options.snapshot or None, **base)
        resources = Resources(cpu=options.cpu or None, memory=options.memory or None, disk=options.disk or None)
        return CreateSandboxFromImageParams(image=options.image, resources=resources, **base)


def _of_the_network(error: SandboxRefusedError) -> SandboxRefusedError:
    """The same refusal; one that is about the network says whose it is."""
    text = str(error).rstrip(".")
    return SandboxRefusedError(f"{text}. {TIERS}" if "network" in text.lower() else f"{text}.")


def _reachable(sandbox: "AsyncSandbox") -> dict[str, object]:
    """The rules of its network, in the form in which they are asked for."""
    found = {
        "network_block_all": bool(sandbox.network_block_all),
        "network_allow_list": ",".join(one.strip() for one in (sandbox.network_allow_list or "").split(",")),
        "domain_allow_list": ",".join(one.strip() for one in (sandbox.domain_allow_list or "").split(",")),
    }
    return {name: value for name, value in found.items() if value}
