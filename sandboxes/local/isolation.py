"""The levels at which a local sandbox can be kept apart from the machine, best first."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from sandboxes.host.limits import Limits
from sandboxes.network import NO_NETWORK, Network

Level = Literal["namespaces", "namespaces-noproc", "bwrap", "landlock", "seatbelt", "process"]
LEVELS: tuple[Level, ...] = ("namespaces", "namespaces-noproc", "bwrap", "landlock", "seatbelt", "process")
"""Best first. `process` is never chosen by itself."""
PRIVATE_ROOT = frozenset({"namespaces", "namespaces-noproc"})
"""Levels at which we put the root together."""
PRIVATE_PATHS = PRIVATE_ROOT | {"bwrap"}
"""Levels at which paths in the sandbox are its own: `/workspace`."""

IN_WORDS: dict[Level, str] = {
    "namespaces": "its own root, processes, users and network; the system read-only; system calls filtered",
    "namespaces-noproc": "its own root, processes, users and network, without /proc; the system read-only; system "
    "calls filtered",
    "bwrap": "bubblewrap: its own root, processes, users and network; the system read-only; system calls filtered",
    "landlock": "Landlock: it reads the system and its own folder, writes to its own folder, has no network; it can "
    "see that other files exist",
    "seatbelt": "macOS Seatbelt: it writes to its own folder, has no network; not tested by us",
    "process": "none: a child process of this user with a clean environment; it can read, write and reach over the "
    "network whatever you can",
}
"""What keeps code in a sandbox of that level away from the rest of the machine."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the operator asked of local sandboxes."""

    python: str
    """The interpreter; empty: the one that runs this."""
    cache: Path
    """Where libraries keep their caches."""
    isolation: str = ""
    """The level; empty: the best that works here."""
    require: str = ""
    """The weakest level that will do; empty: any but `process`."""
    limits: Limits = field(default_factory=Limits)
    network: Network = NO_NETWORK
    """What cells may reach."""
