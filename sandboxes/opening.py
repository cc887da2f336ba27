"""Opens sandboxes by kind and name, each once, and closes them all in the end."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from sandboxes.base import NoSuchSandboxError, Sandbox, SandboxUnavailableError
from sandboxes.bridged.service import Service
from sandboxes.daytona.options import Options
from sandboxes.daytona.service import Daytona
from sandboxes.docker.options import DockerOptions
from sandboxes.docker.service import Docker
from sandboxes.host.limits import Limits
from sandboxes.host.session_pool import SessionPool
from sandboxes.local.isolation import IsolationRequest
from sandboxes.network import NO_NETWORK, Network

if TYPE_CHECKING:
    from sandboxes.local import LocalSandbox

NO_OTHER_LIMITS = Limits()
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Sandboxes:
    """The open sandboxes of one process; an async context manager. `open` is an `OpenSandbox`.

    Args:
        root: The folder for what sandboxes keep on this machine.
        python: The interpreter of local sandboxes; empty: the one that runs this.
        cache: Where libraries in local sandboxes keep their caches; default: beside `root`.
        isolation: The level of local sandboxes; empty: the best that works here.
        require: The weakest level that will do; empty: any but `process`.
        limits: What a local sandbox may use.
        sleep_after: Seconds without use until a session whose state is stored is put to sleep; 0: only for others that
            wait.
        max_live: Local sessions at a time, further ones wait; 0: as many as the memory holds.
        network: What cells in local sandboxes may reach.
        daytona: How sandboxes in Daytona are made; None: as they are by default, with no key.
        docker: How containers are made; None: as they are by default.
        keep: Whether sandboxes outlive this; else what is left of them elsewhere is deleted when they are closed.
        pool: The live local sessions of several `Sandboxes`, closed by who made it; None: one of their own.
        copies: How many frozen copies of earlier steps a local session keeps in memory.
    """

    def __init__(
        self,
        root: Path,
        *,
        python: str = "",
        cache: Path | None = None,
        isolation: str = "",
        require: str = "",
        limits: Limits = NO_OTHER_LIMITS,
        network: Network = NO_NETWORK,
        sleep_after: float = 0.0,
        max_live: int = 0,
        daytona: Options | None = None,
        docker: DockerOptions | None = None,
        keep: bool = True,
        pool: SessionPool | None = None,
        copies: int = 0,
    ) -> None:
        self._root = root
        self._asked = IsolationRequest(
            python, cache or root.parent / "cache", isolation, require, limits, network, copies
        )
        self._sleep_after = sleep_after
        self._max_live = max_live
        self._pool = pool
        self._pool_is_shared = pool is not None
        self._open: dict[tuple[str, str], Sandbox] = {}
        self._turn = asyncio.Lock()
        self._elsewhere: dict[str, Service] = {
            "daytona": Daytona(root, daytona or Options(), sleep_after=sleep_after, keep=keep),
            "docker": Docker(root, docker or DockerOptions(), sleep_after=sleep_after, keep=keep),
        }
        self._kinds: dict[str, Callable[[str], Awaitable[Sandbox]]] = {
            "local": self._local,
            **{kind: service.open for kind, service in self._elsewhere.items()},
        }

    @property
    def elsewhere(self) -> Mapping[str, Service]:
        """The services of bridged sandboxes, by kind."""
        return self._elsewhere

    @property
    def kinds(self) -> list[str]:
        """The kinds that can be opened."""
        return sorted(self._kinds)

    @property
    def counts(self) -> dict[str, int]:
        """Open sandboxes of this process that are `active`, that are `sleeping`, and how many are `waiting`."""
        opened = len(self._open)
        if self._pool is None:
            return {"active": opened, "sleeping": 0, "waiting": 0}
        local = sum(kind == "local" for kind, _ in list(self._open))
        active = min(self._pool.count, local)
        return {"active": opened - local + active, "sleeping": local - active, "waiting": self._pool.waiting}

    async def open(self, kind: str, id: str, *, bare: bool = False) -> Sandbox:
        """Attach to the sandbox of that name, or create it.

        Args:
            kind: Its kind.
            id: Its name.
            bare: Whether sessions of a local one that is created import what they need by themselves.

        Raises:
            SandboxUnavailableError: it cannot be made or reached now.
            NoSuchSandboxError: there is no such kind, or the name is not one.
        """
        make = self._kinds.get(kind)
        if make is None:
            raise NoSuchSandboxError(f"There is no sandbox of kind {kind!r}. Kinds: {', '.join(self.kinds)}.")
        if not ID.fullmatch(id):
            raise NoSuchSandboxError(f"{id!r} does not name a sandbox: up to 64 letters, digits, - and _ do.")
        async with self._turn:
            sandbox = self._open.get((kind, id))
            if sandbox is None:
                sandbox = self._open[kind, id] = await (self._local(id, bare=bare) if kind == "local" else make(id))
            elif self._pool is not None:
                self._pool.mark_used(sandbox)
            return sandbox

    async def close(self, id: str) -> None:
        """Close the sandboxes of that name; one that is not open is no error."""
        await self._close([key for key in self._open if key[1] == id])

    async def remove(self, id: str) -> None:
        """Close the sandboxes of that name and remove them for good, with what they keep on this machine.

        Raises:
            SandboxUnavailableError: it cannot be removed.
            ValueError: the name is not one.
        """
        if not ID.fullmatch(id):
            raise ValueError(f"{id!r} does not name a sandbox: up to 64 letters, digits, - and _ do.")
        await self.close(id)
        for service in self._elsewhere.values():
            await service.remove(id)
        try:
            await asyncio.to_thread(_remove_folder, self._root / id)
        except OSError as error:
            raise SandboxUnavailableError(
                f"The sandbox folder {self._root / id} cannot be removed ({error.strerror or error})."
            ) from error

    async def close_all(self) -> None:
        """Close all that are open."""
        try:
            await self._close(list(self._open))
        finally:
            if self._pool is not None and not self._pool_is_shared:
                await self._pool.close()
            await asyncio.gather(*(service.close() for service in self._elsewhere.values()))

    async def _close(self, keys: list[tuple[str, str]]) -> None:
        sandboxes = [self._open.pop(key) for key in keys if key in self._open]
        failures = await asyncio.gather(*(sandbox.close() for sandbox in sandboxes), return_exceptions=True)
        for failure in failures:
            if isinstance(failure, BaseException):
                raise failure

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close_all()

    async def _local(self, id: str, *, bare: bool = False) -> Sandbox:
        def make() -> "LocalSandbox":
            from sandboxes.local import LocalSandbox
            from sandboxes.local.isolation_choice import choose

            if self._pool is None:
                self._pool = SessionPool(capacity=self._max_live, sleep_after=self._sleep_after)
            config = choose(replace(self._asked, bare=bare))
            sandbox = LocalSandbox(self._root, id, config, network=self._asked.network, pool=self._pool)
            sandbox.make_folders()
            return sandbox

        # Imports, absolute paths and the size of the memory ask the disk, so they are not for the event loop.
        return await asyncio.to_thread(make)


def _remove_folder(folder: Path) -> None:
    from sandboxes.host.workspace import remove

    remove(folder)
