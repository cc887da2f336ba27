"""The containers of this installation: opens those of threads, lists ours, deletes them."""

from pathlib import Path

from typing_extensions import override

from sandboxes.base import SandboxRefusedError
from sandboxes.bridged.service import Listed, Service
from sandboxes.docker.engine import ContainerEngine
from sandboxes.docker.machine import THREAD_LABEL, DockerMachine, ours, tidy
from sandboxes.docker.options import DockerOptions


class Docker(Service):
    """Opens sandboxes in containers.

    Args:
        root: The folder for what sandboxes keep on this machine.
        options: How they are made.
        sleep_after: Seconds without use until one whose state is stored is stopped; 0: only by itself.
        keep: Whether closing one only stops it.
    """

    def __init__(self, root: Path, options: DockerOptions, *, sleep_after: float = 0.0, keep: bool = True) -> None:
        super().__init__(root, "docker", options.network.mode, sleep_after=sleep_after, keep=keep)
        self._options = options
        self._engine = ContainerEngine(options.command, options.patience)

    async def check(self) -> None:
        """Check that a container can give what is asked for.

        Raises:
            SandboxRefusedError: it cannot.
        """
        if self._options.problem:
            raise SandboxRefusedError(self._options.problem)

    @override
    async def reach(self) -> None:
        await self._engine.reach()

    def machine(self, id: str) -> DockerMachine:
        """The container of a thread."""
        return DockerMachine(self._engine, self._options, id, keep=self._keep)

    async def listed(self) -> list[Listed]:
        """All containers that Stepwell made, in any state, sorted by name.

        Raises:
            SandboxRefusedError: the engine cannot be used at all.
            SandboxUnavailableError: they cannot be listed now.
        """
        found = [
            Listed(one["Name"], str(one["Labels"].get(THREAD_LABEL, "")), str(one["State"].get("Status", "")))
            for one in await ours(self._engine, self._options.prefix)
        ]
        return sorted(found, key=lambda listed: listed.name)

    async def close(self) -> None:
        """Close. A process that made a container also removes those that stopped long ago and that nobody needs."""
        await super().close()
        if self._engine.made:
            await tidy(self._engine, self._options)
