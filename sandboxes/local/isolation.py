"""The levels at which a local sandbox can be isolated from the machine, and what one of them is configured with."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sandboxes.host.limits import Limits
from sandboxes.inside import PROGRAMS
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


KERNEL, ZYGOTE = PROGRAMS / "kernel", PROGRAMS / "zygote"
PRELOADED = ("numpy", "pandas", "matplotlib.pyplot")
READ_ONLY = (str(KERNEL), str(ZYGOTE), str(PROGRAMS / "profiler"))
"""Programs of ours that sandboxes run."""
UNPRIVILEGED = 65_534
"""The user and group id that sandboxes of root have outside."""


@dataclass(frozen=True, slots=True)
class Walls:
    """What a warm parent is made for."""

    level: Level
    python: str
    cache: str = field(compare=False)
    """Where matplotlib keeps its font list; a parent reads it once, so parents are not told apart by it."""
    limits: Limits
    network: bool = False
    """Whether there is a way to the host's proxy."""
    timezone: str = ""

    @property
    def becomes_another(self) -> bool:
        """Whether sandboxes have another user id outside than this process."""
        return self.level in PRIVATE_ROOT and os.geteuid() == 0

    def config(self) -> dict[str, Any]:
        """What the parent is told."""
        private = self.level in PRIVATE_ROOT
        wrapped = self.level == "bwrap"
        memory = self.limits.memory_or_half
        return {
            "private_root": private,
            "private_paths": private or wrapped,
            "with_proc": self.level != "namespaces-noproc",
            "own_users": private,
            "become": self.becomes_another,
            "user": UNPRIVILEGED if self.becomes_another else 0,
            "group": UNPRIVILEGED if self.becomes_another else 0,
            "landlock": True,
            "seccomp": "normal" if private or wrapped else "strict",
            "network": self.network,
            "read_only": list(READ_ONLY),
            "tmp_bytes": self.limits.tmp_bytes,
            "shared_memory_bytes": self.limits.shared_memory_bytes,
            "limits": {
                "DATA": memory,
                "NPROC": self.limits.processes if private else 0,
                "FSIZE": self.limits.file_bytes,
                "NOFILE": self.limits.open_files,
                "CPU": self.limits.cpu,
            },
            "watched": {
                "memory": memory,
                "processes": self.limits.processes,
                "workspace": self.limits.workspace,
                "tmp": self.limits.tmp_bytes,
            },
            "preload": [] if wrapped else list(PRELOADED),
            "caches": {} if wrapped else {"MPLCONFIGDIR": self.cache},
        }


def clean_environment(timezone: str) -> dict[str, str]:
    """What every sandbox has in its environment, wherever its folders are."""
    environment = {
        "LANG": "C.UTF-8",
        "PYTHONUTF8": "1",
        "MPLBACKEND": "agg",
        # A process with one thread can be forked: by the warm parent, and to have a frozen copy of a session.
        "OPENBLAS_NUM_THREADS": "1",
        "JE_ARROW_MALLOC_CONF": "background_thread:false",
    }
    return {**environment, "TZ": timezone} if timezone else environment
