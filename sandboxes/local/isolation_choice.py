"""The level of isolation that a local sandbox gets: the best that works here, found out by trying it.

All functions block.
"""

import contextlib
import json
import os
import secrets
import select
import socket
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from sandboxes.base import NoSuchSandboxError, SandboxError, SandboxUnavailableError
from sandboxes.host.processes import Order
from sandboxes.host.scratch import held_folder
from sandboxes.inside import PROGRAMS
from sandboxes.inside.prober.probes import PROBES
from sandboxes.inside.zygote import seccomp
from sandboxes.inside.zygote.system import MACHINE
from sandboxes.local.isolation import LEVELS, PRIVATE_ROOT, IsolationConfig, IsolationRequest, Level, States, states
from sandboxes.local.wrappers import seatbelt
from sandboxes.local.zygote import ZYGOTES, IsolationUnavailableError, ReadySandbox
from sandboxes.local.zygote_process import StartInZygote

ZYGOTE_LEVELS: tuple[Level, ...] = ("namespaces", "namespaces-noproc", "landlock")
"""Levels whose sandboxes are forked from a zygote."""


def choose(request: IsolationRequest) -> IsolationConfig:
    """The configuration of the best level that works here; blocks.

    Raises:
        NoSuchSandboxError: a level is asked for that there is not.
        SandboxUnavailableError: no level that will do works here, or its interpreter cannot be started.
    """
    levels = _allowed(request)
    why: list[str] = []
    for level in levels:
        config = config_of(request, level)
        if level == "process":
            return config
        try:
            _try(config)
        except IsolationUnavailableError as error:
            why.append(f"{level}: {error}")
            continue
        return config
    raise SandboxUnavailableError(
        f"No isolation that will do works on this machine ({'; '.join(why)}). `stepwell doctor` says more; "
        "STEPWELL_ISOLATION=process runs code without any, as you."
    )


def choose_ahead(request: IsolationRequest) -> None:
    """Begin to choose, and to have a sandbox ready, beside what the caller does meanwhile; does not block.

    Whoever opens the first sandbox then waits for what is left of that; what does not work is for them to be told.
    """

    def work() -> None:
        with contextlib.suppress(SandboxError, OSError):
            choose(request)

    threading.Thread(target=work, name="stepwell-ahead", daemon=True).start()


def _try(config: IsolationConfig) -> None:
    """Have what is needed for that level.

    Raises:
        IsolationUnavailableError: it does not work here.
        SandboxUnavailableError: the interpreter cannot be started.
    """
    if config.level in (*ZYGOTE_LEVELS, "bwrap"):
        check(config)
    if config.level in ZYGOTE_LEVELS:
        ZYGOTES.refill(config)
    elif config.level == "seatbelt" and not seatbelt():
        raise IsolationUnavailableError("there is no sandbox-exec, which macOS has")


def _allowed(request: IsolationRequest) -> list[Level]:
    for name in (request.isolation, request.require):
        if name and name not in get_args(Level):
            raise NoSuchSandboxError(f"There is no isolation level {name!r}. Levels: {', '.join(LEVELS)}.")
    closed = request.network.mode == "none"
    floor = LEVELS.index(request.require) if request.require else len(LEVELS) - 1
    good = [level for level in LEVELS[: floor + 1] if level != "process" or request.isolation == "process"]
    # Elsewhere it is the machine's own, which can be closed to a sandbox but not narrowed, or no proxy leads to it.
    good = [level for level in good if closed or level in (*PRIVATE_ROOT, "process")]
    if not request.isolation:
        return good
    if request.isolation not in good:
        why = f"is weaker than STEPWELL_REQUIRE_ISOLATION={request.require}"
        if not request.require or LEVELS.index(request.isolation) <= floor:
            why = "cannot open the network in part; use --network none, or another level"
        raise SandboxUnavailableError(f"STEPWELL_ISOLATION={request.isolation} {why}.")
    return [level for level in good if level == request.isolation]


def config_of(request: IsolationRequest, level: Level) -> IsolationConfig:
    """The configuration of a level, whether it works here or not."""
    python = str(Path(request.python).absolute()) if os.sep in request.python else request.python or sys.executable
    return IsolationConfig(
        level=level,
        python=_straight(python),
        cache=str(request.cache.absolute() / "matplotlib"),
        limits=request.limits,
        network=request.network.mode != "none",
        timezone=os.environ.get("TZ", ""),
        copies=request.copies,
        bare=request.bare and level in ZYGOTE_LEVELS,
    )


def _straight(python: str) -> str:
    """The same interpreter by a path without `..`: the folders that such a path goes through are not in a sandbox."""
    path = Path(python)
    return str(path.parent.resolve() / path.name) if ".." in path.parts else python


PROBER = PROGRAMS / "prober"
SECONDS = 20.0
"""How long the probes may take; they take some milliseconds."""
NEW_USERS, NEW_MOUNTS = 0x10000000, 0x20000
TRIED: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("unshare", (NEW_USERS,)),
    ("unshare", (NEW_MOUNTS,)),
    ("mount", (0, 0, 0, 0, 0)),
    ("io_uring_setup", (1, 0)),
    ("keyctl", (0, -3, 0)),
    ("bpf", (0, 0, 0)),
    ("userfaultfd", (1,)),
    ("perf_event_open", (0, 0, -1, -1, 0)),
    ("io_setup", (0, 0)),
    ("inotify_init1", (-1,)),
    ("mq_open", (0, 0, 0, 0)),
    ("semget", (0, -1, 0)),
    ("msgget", (-1, 0)),
    ("shmget", (0, 0, 0)),
)
"""Calls that must be refused, with arguments that do no harm where they are not."""
OWN_PROCESSES = 16
"""Numbers up to here may be those of a sandbox's own processes."""
Through = dict[str, list[str]]
"""What got through, by property."""

_TRIED: set[IsolationConfig] = set()
_TRYING = threading.Lock()
"""Held while one is tried: whoever asks meanwhile waits for what comes of it."""


def check(config: IsolationConfig) -> None:
    """Make sure, once for each configuration, that it keeps what its level promises.

    Raises:
        IsolationUnavailableError: a sandbox cannot be started with it, or something gets through that must not.
        SandboxUnavailableError: the interpreter cannot be started.
    """
    with _TRYING:
        if config in _TRIED:
            return
        broken = broken_promises(config.level, probe(config))
        if broken:
            raise IsolationUnavailableError(f"code in it {'; '.join(broken)}")
        _TRIED.add(config)


def broken_promises(level: Level, through: Through) -> list[str]:
    """What got through although the level promises to prevent it."""
    promised: States = states(level)
    return [what for name, things in through.items() if promised[name].state == "enforced" for what in things]


def probe(config: IsolationConfig) -> Through:
    """Start a throw-away sandbox and try things in it.

    Raises:
        IsolationUnavailableError: it cannot be started.
        SandboxUnavailableError: the interpreter cannot be started.
    """
    with held_folder("probe") as folder, _host(folder) as facts:
        own = folder / "sandboxes" / "probe"
        own.mkdir(parents=True)
        ready = StartInZygote(config).begin(Order(folder=own, program=PROBER, arguments=(json.dumps(facts),)))
        try:
            printed = _read(ready.stdout)
            if not printed:
                raise IsolationUnavailableError(_why(ready))
            through: Through = json.loads(printed)
            return through
        finally:
            ZYGOTES.ended(ready)
            ready.close()
            if ready.group is not None:
                ready.group.remove()


@contextlib.contextmanager
def _host(folder: Path) -> Iterator[dict[str, Any]]:
    """Something of each kind that only the isolation keeps code in a sandbox from: anybody else may use it."""
    folder.chmod(0o755)
    file, address, abstract = folder / "file", folder / "socket", f"stepwell-{secrets.token_hex(8)}"
    file.write_text("x")
    file.chmod(0o666)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as named,
        socket.socket(socket.AF_UNIX) as unnamed,
    ):
        named.bind(str(address))
        address.chmod(0o777)
        unnamed.bind(f"\0{abstract}")
        for listening in (named, unnamed):
            listening.listen()
        column = seccomp.COLUMN.get(MACHINE)
        tables = seccomp.REFUSED | seccomp.ABSENT
        numbers = {name: call[column] for name, call in tables.items()} if column is not None else {}
        yield {
            "file": str(file),
            "socket": str(address),
            "abstract": abstract,
            "port": server.getsockname()[1],
            "process": next((process for process in (os.getpid(), os.getppid()) if process > OWN_PROCESSES), 0),
            "calls": [(numbers[name], arguments) for name, arguments in TRIED if numbers.get(name) is not None],
        }


def _read(output: int) -> str:
    """What it prints until it ends."""
    data, until = bytearray(), time.monotonic() + SECONDS
    poll = select.poll()  # `select` takes no numbers above 1,023
    poll.register(output, select.POLLIN)
    while (left := until - time.monotonic()) > 0:
        if poll.poll(1_000 * left):
            block = os.read(output, 65_536)
            if not block:
                break
            data += block
    return data.decode("utf-8", "replace")


def _why(ready: ReadySandbox) -> str:
    """Why it printed nothing."""
    ready.init.settimeout(1.0)
    for _ in range(3):
        with contextlib.suppress(OSError, ValueError):  # a reset comes before the last words of who reset it
            report = json.loads(ready.init.recv(65_536) or b"{}")
            if report.get("event") == "failed":
                return str(report["why"])
    lines = _read(ready.stderr).strip().splitlines()
    return lines[-1][:300] if lines else "a sandbox was started, and it said nothing"


@dataclass(frozen=True, slots=True)
class LevelTried:
    """What trying a level came to."""

    level: Level
    works: bool
    why: str
    """Why it does not; else what was found."""
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Examination:
    """What sandboxes of these settings get."""

    levels: tuple[LevelTried, ...]
    """All of them, best first."""
    level: Level | None
    """The chosen one; None: none that will do works."""
    states: States
    """What holds at the chosen level; empty without one."""
    problem: str = ""
    """Why none was chosen."""


def examine(request: IsolationRequest) -> Examination:
    """Try every level, and return which one is chosen.

    Raises:
        NoSuchSandboxError: a level is asked for that there is not.
        SandboxUnavailableError: the interpreter cannot be started.
    """
    problem = ""
    level: Level | None = None
    try:
        level = choose(request).level
    except SandboxUnavailableError as error:
        problem = str(error)
    tried = tuple(_try_level(request, each, chosen=each == level) for each in LEVELS)
    return Examination(tried, level, states(level) if level else {}, problem)


def _try_level(request: IsolationRequest, level: Level, *, chosen: bool) -> LevelTried:
    if level == "process":
        return LevelTried(level, True, "always there, and no isolation: only when it is asked for", chosen)
    if level == "seatbelt":
        there = bool(seatbelt())
        return LevelTried(level, there, "not tested by us" if there else "only macOS has it", chosen)
    try:
        through = probe(config_of(request, level))
    except (IsolationUnavailableError, SandboxUnavailableError) as error:
        return LevelTried(level, False, str(error), chosen)
    broken = broken_promises(level, through)
    if broken:
        return LevelTried(level, False, f"code in it {'; '.join(broken)}", chosen)
    open_to = [what for things in through.values() for what in things]
    summary = f"of {len(PROBES)} things tried in it, none got through"
    if open_to:
        summary = f"of {len(PROBES)} things tried in it, code {'; '.join(open_to)}, as is said of this level"
    return LevelTried(level, True, summary, chosen)
