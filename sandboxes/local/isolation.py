"""The levels at which a local sandbox can be isolated, how one is configured, and what each of them enforces."""

import functools
import importlib.util
import os
import platform
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sandboxes.host.limits import Limits
from sandboxes.inside import PROGRAMS
from sandboxes.inside.zygote import landlock, system
from sandboxes.local import control_groups
from sandboxes.network import NO_NETWORK, Network

KERNEL, ZYGOTE = PROGRAMS / "kernel", PROGRAMS / "zygote"
PRELOADED = ("numpy", "pandas", "matplotlib.pyplot")
READ_ONLY = (str(KERNEL), str(ZYGOTE), str(PROGRAMS / "profiler"))
"""Programs of ours that sandboxes run."""
UNPRIVILEGED = 65_534
"""The user and group id that sandboxes of root have outside."""
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
class IsolationRequest:
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
    copies: int = 0
    """How many frozen copies of earlier steps stay in memory."""
    bare: bool = False
    """Whether a session is wanted at once, and imports what it needs by itself."""


@dataclass(frozen=True, slots=True)
class IsolationConfig:
    """How a local sandbox is isolated: level, interpreter, limits, network."""

    level: Level
    python: str
    cache: str = field(compare=False)
    """Where matplotlib keeps its font list; a zygote reads it once, so zygotes are not told apart by it."""
    limits: Limits
    network: bool = False
    """Whether there is a way to the host's proxy."""
    timezone: str = ""
    copies: int = 0
    """How many frozen copies of earlier steps stay in memory, beside the one that takes over when a cell kills all."""
    bare: bool = False
    """Whether its zygote imports no packages; it then forks at once."""

    @property
    def becomes_another(self) -> bool:
        """Whether sandboxes have another user id outside than this process."""
        needed = (system.CAP_CHOWN, system.CAP_SYS_ADMIN)
        return self.level in PRIVATE_ROOT and system.may_become(UNPRIVILEGED, *needed)

    def config(self) -> dict[str, Any]:
        """What the zygote is told."""
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
            "copies": self.copies,
            "read_only": read_only_folders(),
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
            "preload": [] if wrapped or self.bare else list(PRELOADED),
            "caches": {} if wrapped else {"MPLCONFIGDIR": self.cache},
        }


@functools.cache
def cloudpickle_path() -> str:
    """Where this Python has `cloudpickle.py`, past symbolic links; empty if it has none."""
    spec = importlib.util.find_spec("cloudpickle")
    if spec is None or spec.origin is None:
        return ""
    return str(Path(spec.origin).resolve().with_name("cloudpickle.py"))


def read_only_folders() -> list[str]:
    """What of ours a sandbox sees at its own path; its Python may have no cloudpickle."""
    return [*READ_ONLY, *filter(None, [str(Path(cloudpickle_path()).parent) if cloudpickle_path() else ""])]


def clean_environment(timezone: str) -> dict[str, str]:
    """What every sandbox has in its environment, wherever its folders are."""
    environment = {
        "LANG": "C.UTF-8",
        "PYTHONUTF8": "1",
        # Sets have the order, and hashes the values, that they had before a restore.
        "PYTHONHASHSEED": "0",
        "MPLBACKEND": "agg",
        # A process with one thread can be forked: by the zygote, and to have a standby of a session.
        "OPENBLAS_NUM_THREADS": "1",
        "JE_ARROW_MALLOC_CONF": "background_thread:false",
    }
    return {**environment, "TZ": timezone} if timezone else environment


State = Literal["enforced", "soft", "none"]
"""`enforced`: by the operating system. `soft`: within bounds, afterwards, or with an exception that is named."""
PROPERTIES = (
    "files read", "files written", "metadata", "network", "processes", "signals", "IPC", "system calls",
    "memory", "process count", "disk", "CPU", "clean-up",
)  # fmt: skip
OWN_COUNTS = (5, 14)
"""The Linux from which on processes are counted for each user namespace."""
_MEASURED = (
    "each process by the system; all together are measured every 50 ms in a cell of more than 20 ms, then "
    "every second, and ended when it is too much"
)
_WORKSPACE = (
    "the size of each file by the system, and no room is taken without writing; the workspace is watched every 50 ms "
    "while a cell runs, by what the disk has free, and every second while something goes on"
)
_CPU = "each cell has a time limit, and computing time per process can be limited; the share of the processor is not"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What holds of one property."""

    state: State
    why: str


States = dict[str, Verdict]
"""By property, in their order."""


def states(level: Level, *, abi: int | None = None, root: bool | None = None) -> States:
    """What holds at a level.

    Args:
        level: Which.
        abi: The kernel's Landlock ABI; None: that of this machine.
        root: Whether Stepwell runs as root; None: as it is.
    """
    if level in PRIVATE_ROOT:
        return _ordered(_private_root(level))
    if level == "landlock":
        return _ordered(_landlock(landlock.abi() if abi is None else abi, os.geteuid() == 0 if root is None else root))
    if level == "bwrap":
        return _ordered(_bwrap())
    return _ordered(_seatbelt() if level == "seatbelt" else _process())


def _ordered(states: States) -> States:
    return {name: states[name] for name in PROPERTIES}


def _private_root(level: Level) -> States:
    proc = "" if level == "namespaces" else "; there is no /proc in it"
    named = "; the paths of the folders that it got are in /proc/self/mountinfo" if level == "namespaces" else ""
    return {
        "files read": Verdict("enforced", "a root of its own: the system and Python, its workspace, nothing else"),
        "files written": Verdict(
            "enforced", "its workspace, HOME, /tmp and /dev/shm; inputs and everything else are read-only"
        ),
        "metadata": Verdict("enforced", f"other files do not exist in its root{named}"),
        "network": Verdict("enforced", "a network of its own; the only way out, if any, is Stepwell's proxy"),
        "processes": Verdict("enforced", f"it has process numbers of its own and sees no other processes{proc}"),
        "signals": Verdict("enforced", "none reaches a process outside, nor the one that watches it"),
        "IPC": Verdict(
            "enforced", "shared memory and sockets of its own, and none of the system's queues and semaphores"
        ),
        "system calls": Verdict(
            "enforced",
            "no privileges, no capabilities, and a filter that refuses what it names; so is what the system counts for "
            "a user or the whole machine",
        ),
        "memory": _memory("; files in /tmp, HOME and /dev/shm count"),
        "process count": _counted(),
        "disk": Verdict("soft", f"{_WORKSPACE}; /tmp, HOME and /dev/shm have fixed sizes"),
        "CPU": Verdict("soft", _CPU),
        "clean-up": Verdict("enforced", "when its first process ends, the system ends all others"),
    }


def _counted() -> Verdict:
    version = re.match(r"(\d+)\.(\d+)", platform.release())
    if version is None or (int(version[1]), int(version[2])) < OWN_COUNTS:
        return Verdict("soft", "this kernel counts the processes of all sandboxes together; measured besides")
    return Verdict("enforced", "counted by the system for this sandbox alone")


def _memory(more: str = "") -> Verdict:
    if control_groups.available():
        return Verdict("enforced", f"by a control group of its own, all processes and files in memory together{more}")
    return Verdict("soft", f"{_MEASURED}{more}; no control group can be had here")


def _bwrap() -> States:
    return _private_root("namespaces") | {
        "process count": Verdict("soft", "counted by the system with what else its user runs, and measured"),
        "metadata": Verdict(
            "enforced",
            "other files do not exist in its root, but for devices of bubblewrap's own; the paths of the folders that "
            "it got are in /proc/self/mountinfo",
        ),
    }


def _seatbelt() -> States:
    untested = "; not tested by us"
    nothing = Verdict("none", "there is no limit")
    return {
        "files read": Verdict("soft", f"the system and Python, and its own folder{untested}"),
        "files written": Verdict("soft", f"its own folder, with its inputs in it{untested}"),
        "metadata": Verdict("none", "it sees that other files exist"),
        "network": Verdict("soft", f"refused by its profile{untested}"),
        "processes": Verdict("none", "it sees that other processes exist"),
        "signals": Verdict("soft", f"only to its own processes{untested}"),
        "IPC": Verdict("soft", f"what its profile does not name is refused{untested}"),
        "system calls": Verdict("none", "there is no filter of system calls"),
        "memory": nothing,
        "process count": nothing,
        "disk": nothing,
        "CPU": Verdict("soft", "each cell has a time limit"),
        "clean-up": Verdict("soft", "its group of processes is ended; one that has left the group goes on"),
    }


def _landlock(abi: int, root: bool) -> States:
    truncated = "" if abi >= 3 else "; this kernel lets it empty files that you may write"
    signals = Verdict("enforced", "none reaches a process outside")
    if abi < 6:
        signals = Verdict("none", f"this kernel's Landlock (ABI {abi}) does not guard them: they reach what is yours")
    user = " as root, though without capabilities" if root else " as you"
    return {
        "files read": Verdict("enforced", "the system and Python, and its own folder"),
        "files written": Verdict(
            "soft", f"its own folder and nothing else; inputs lie in it and are not read-only{truncated}"
        ),
        "metadata": Verdict(
            "none",
            f"it runs{user}: it sees that other files exist, changes their modes, times and tags where you can, and "
            "sees the machine's network addresses and connections",
        ),
        "network": Verdict("enforced", "no socket can be made, and Landlock refuses TCP"),
        "processes": Verdict(
            "enforced", "their /proc is closed, and calls that reach into other processes are refused"
        ),
        "signals": signals,
        "IPC": Verdict("enforced", "shared memory, queues, semaphores and sockets of the machine are refused"),
        "system calls": Verdict("enforced", "no new privileges, no capabilities, and the stricter filter"),
        "memory": _memory(),
        "process count": Verdict("soft", "measured every 50 ms while a cell runs, and ended when it is too much"),
        "disk": Verdict("soft", f"{_WORKSPACE}; so are its temporary folders"),
        "CPU": Verdict("soft", _CPU),
        "clean-up": Verdict("soft", "the process that watches it ends all others; nobody does when that one is killed"),
    }


def _process() -> States:
    nothing = Verdict("none", "it can do what you can do")
    unlimited = Verdict("none", "there is no limit")
    states = dict.fromkeys(PROPERTIES, nothing)
    states |= {"memory": unlimited, "process count": unlimited, "disk": unlimited}
    return states | {
        "CPU": Verdict("soft", "each cell has a time limit"),
        "clean-up": Verdict("soft", "its group of processes is ended; one that has left the group goes on"),
    }
