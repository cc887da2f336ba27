"""What a local sandbox is walled in with: interpreter, level, limits, network."""

import os
from dataclasses import dataclass, field
from typing import Any

from sandboxes.host.limits import Limits
from sandboxes.inside import PROGRAMS
from sandboxes.local.isolation import PRIVATE_ROOT, Level

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
