"""What the operator says of sandboxes in containers: which engine and image, what they may use, what they reach."""

from dataclasses import dataclass, field

from sandboxes.host.limits import MOST_TMP, SHARE, Limits
from sandboxes.network import NO_NETWORK, Network

IMAGE = "stepwell-sandbox"
"""What `deploy/sandbox.Dockerfile` is built as."""


@dataclass(frozen=True, slots=True)
class DockerOptions:
    """How containers are made and kept."""

    command: tuple[str, ...] = ("docker",)
    """The engine's command line, as words."""
    image: str = IMAGE
    """What they are made from: it needs `sh`, Python 3.11 or newer as `python3`, and pandas."""
    prefix: str = "stepwell"
    """How their names begin, and the value of their label `stepwell`."""
    limits: Limits = field(default_factory=Limits)
    """Memory (0: half of the engine's), processes, one file, `/tmp`, open files, computing of a process; the workspace
    is not limited, since engines have no limit for it."""
    cpus: float = 0.0
    """Cores; 0: all."""
    network: Network = NO_NETWORK
    """What cells may reach."""
    engine_network: str = ""
    """The network of the engine that containers are connected to where cells may reach everything."""
    auto_stop: int = 15
    """Minutes without use until a container stops by itself; 0: never."""
    auto_delete: int = 15
    """Minutes that one is stopped until it is deleted, once the store has all that is in it; 0: at once; -1: never."""
    late_seconds: float = 120.0
    """How long after its time limit the end of a cell may be waited for; then the container is stopped."""
    patience: float = 60.0
    """Seconds that the command may take for something that takes none."""

    @property
    def problem(self) -> str:
        """What cannot be had, in a sentence that says what to change; empty: nothing."""
        if not self.command:
            return "STEPWELL_DOCKER_COMMAND is empty: name the command of a container engine, such as docker or podman."
        if self.network.mode == "allowlist":
            return (
                "Containers cannot be held to an allow list of domains: use --network none, or a local sandbox or one "
                "in Daytona."
            )
        if self.network.mode == "full" and not self.engine_network:
            return (
                "A container with a network would reach this machine's private networks, too: name a network of the "
                "engine that you have closed to them with STEPWELL_DOCKER_NETWORK, or use --network none."
            )
        return ""

    @property
    def joins(self) -> str:
        """The engine's network that containers are made in."""
        return "none" if self.network.mode == "none" else self.engine_network

    def shared_bytes(self, memory: int) -> int:
        """The size of `/dev/shm`, of so much memory."""
        return min(self.limits.shared_memory, memory // SHARE) if memory else self.limits.shared_memory

    def tmp_bytes(self, memory: int) -> int:
        """The size of `/tmp`, of so much memory; it counts as memory."""
        return self.limits.tmp or (min(MOST_TMP, memory // SHARE) if memory else MOST_TMP)
