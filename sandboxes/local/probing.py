"""Tries walls out in a throw-away sandbox, and what code inside can do in spite of them. All functions block."""

import contextlib
import json
import os
import secrets
import select
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sandboxes.host.processes import Order
from sandboxes.host.scratch import held_folder
from sandboxes.inside import PROGRAMS
from sandboxes.inside.zygote import seccomp
from sandboxes.inside.zygote.system import MACHINE
from sandboxes.local.isolation import Level
from sandboxes.local.properties import States, states
from sandboxes.local.walls import Walls
from sandboxes.local.warm import PARENTS
from sandboxes.local.warm_parent import CannotWallInError, Ready
from sandboxes.local.warm_process import StartWarm

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

_TRIED: set[Walls] = set()


def check(walls: Walls) -> None:
    """Make sure, once for each kind of walls, that they hold what their level promises.

    Raises:
        CannotWallInError: a sandbox cannot be started behind them, or something gets through that must not.
        SandboxUnavailableError: the interpreter cannot be started.
    """
    if walls in _TRIED:
        return
    broken = broken_promises(walls.level, probe(walls))
    if broken:
        raise CannotWallInError(f"code in it {'; '.join(broken)}")
    _TRIED.add(walls)


def broken_promises(level: Level, through: Through) -> list[str]:
    """What got through although the level is said to prevent it."""
    said: States = states(level)
    return [what for name, things in through.items() if said[name].state == "enforced" for what in things]


def probe(walls: Walls) -> Through:
    """Start a throw-away sandbox and try things in it.

    Raises:
        CannotWallInError: it cannot be started.
        SandboxUnavailableError: the interpreter cannot be started.
    """
    with held_folder("probe") as folder, _host(folder) as facts:
        own = folder / "sandboxes" / "probe"
        own.mkdir(parents=True)
        ready = StartWarm(walls).begin(Order(folder=own, program=PROBER, arguments=(json.dumps(facts),)))
        try:
            said = _read(ready.stdout)
            if not said:
                raise CannotWallInError(_why(ready))
            found: Through = json.loads(said)
            return found
        finally:
            PARENTS.ended(ready)
            ready.close()
            if ready.group is not None:
                ready.group.remove()


@contextlib.contextmanager
def _host(folder: Path) -> Iterator[dict[str, Any]]:
    """Something of each kind that code in a sandbox must not reach; anybody else may, so that walls alone are tried."""
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
            "process": next((one for one in (os.getpid(), os.getppid()) if one > OWN_PROCESSES), 0),
            "calls": [(numbers[name], arguments) for name, arguments in TRIED if numbers.get(name) is not None],
        }


def _read(output: int) -> str:
    """What it prints until it ends."""
    data, until = bytearray(), time.monotonic() + SECONDS
    while (left := until - time.monotonic()) > 0:
        if select.select([output], [], [], left)[0]:
            block = os.read(output, 65_536)
            if not block:
                break
            data += block
    return data.decode("utf-8", "replace")


def _why(ready: Ready) -> str:
    """Why it printed nothing."""
    ready.init.settimeout(1.0)
    for _ in range(3):
        with contextlib.suppress(OSError, ValueError):  # a reset comes before the last words of who reset it
            said = json.loads(ready.init.recv(65_536) or b"{}")
            if said.get("event") == "failed":
                return str(said["why"])
    lines = _read(ready.stderr).strip().splitlines()
    return lines[-1][:300] if lines else "a sandbox was started, and it said nothing"
