"""One process of an analysis: what it told until it ended, and the fault that it had."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.faults import CANCEL, ENDPOINT, FILLER, FULL, Fault, fill, strike
from tests.scripted_model import Plain, Request, ScriptedServer

ROOT = Path(__file__).parents[2]
MOST_LEFT = 1 << 20
"""Bytes that a full disk may have room for; mostly far fewer."""
PATIENCE = 240.0
"""Seconds without a line after which a process is taken to hang; the machine may be busy."""


@dataclass
class Life:
    """What one process told."""

    words: Sequence[str]
    events: list[dict[str, Any]] = field(default_factory=list)
    done: str = ""
    """The fault that it had; empty: none."""
    place: str = ""
    """The event after which it came."""
    code: int | None = None
    errors: str = ""
    hung: bool = False
    full: bool = False
    """Whether its disk was full, or became so."""

    @property
    def ended(self) -> dict[str, Any] | None:
        """The end of a finished run."""
        return next((event for event in self.events if event.get("event") == "finished"), None)

    @property
    def thread(self) -> str:
        """The thread's id, if it was told."""
        return next((str(event["thread"]) for event in self.events if event.get("thread")), "")


def unshared() -> list[str]:
    """The words before a command that give it mounts of its own."""
    return ["unshare", "-m" if os.geteuid() == 0 else "-rm"]


def can_mount() -> bool:
    """Whether a small disk can be had here."""
    mounting = [*unshared(), "mount", "-t", "tmpfs", "none", tempfile.gettempdir()]
    try:
        return subprocess.run(mounting, capture_output=True).returncode == 0
    except OSError:
        return False


class Parent:
    """The process that others are forked from; use with `with`.

    Args:
        mounting: Whether it has mounts of its own, so that a folder can be a small disk for the processes.
    """

    def __init__(self, *, mounting: bool = False) -> None:
        self._mounting = mounting

    def __enter__(self) -> "Parent":
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control = ours
        command = [
            *(unshared() if self._mounting else []),
            sys.executable,
            "-m",
            "tests.chaos.process",
            str(theirs.fileno()),
        ]
        self._process = subprocess.Popen(command, cwd=ROOT, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        theirs.close()
        return self

    def __exit__(self, *_: object) -> None:
        self._control.close()
        self._process.wait()

    def mount(self, folder: Path, megabytes: int) -> Path | None:
        """Make a folder a small disk for the processes; gives where it is to be seen from here, None: it is none."""
        try:
            self._control.send(json.dumps({"folder": str(folder), "megabytes": megabytes}).encode())
            answer = self._control.recv(64)
        except OSError:  # it may not have mounts of its own here
            return None
        return Path(f"/proc/{self._process.pid}/root{folder}") if answer == b"0" else None

    async def fork(
        self, request: dict[str, Any]
    ) -> tuple[asyncio.StreamReader, asyncio.StreamReader, asyncio.StreamReader]:
        """Start a process; gives its stdout, its stderr, and lines with its id and its exit code."""
        pipes = [os.pipe() for _ in range(3)]
        data = json.dumps(request).encode()
        await asyncio.to_thread(socket.send_fds, self._control, [data], [end for _, end in pipes])
        for _, end in pipes:
            os.close(end)
        out, errors, status = [await _reader(begin) for begin, _ in pipes]
        return out, errors, status


async def _reader(descriptor: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=1 << 24)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", 0))
    return reader


def environment(home: Path, url: str, walls: str, shift: int, temporary: Path) -> dict[str, str]:
    """What such a process finds."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "STEPWELL_HOME": str(home),
        "STEPWELL_ISOLATION": walls,
        "STEPWELL_ARTIFACTS": str(home / "artifacts"),
        "STEPWELL_MODEL_RETRIES": "1",
        "OPENAI_BASE_URL": url,
        "STEPWELL_MODEL": "scripted",
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SHIFTED_SECONDS": str(shift),
    }


class Endpoint:
    """A model's endpoint that can go away and come back elsewhere."""

    def __init__(self, policy: Callable[[Request], Plain]) -> None:
        self._policy = policy
        self._server: ScriptedServer | None = None

    async def url(self) -> str:
        """Where it is; opened if it is not."""
        if self._server is None:
            self._server = await ScriptedServer(policy=self._policy).__aenter__()
        return self._server.base_url

    async def close(self) -> None:
        """Go away in the middle of whatever it says."""
        server, self._server = self._server, None
        if server is not None:
            await server.__aexit__(None, None, None)


async def go_through(
    parent: Parent,
    words: Sequence[str],
    found: dict[str, str],
    home: Path,
    fault: Fault | None,
    server: Endpoint,
    disk: Path | None = None,
) -> Life:
    """Run one process until it ends, with a fault in it.

    Args:
        parent: Forks it.
        words: Of its command line.
        found: Its environment.
        home: Its folder.
        fault: What happens to it.
        server: The model that it asks.
        disk: The disk that its home is on, as it is to be seen from here.
    """
    life = Life(words, full=disk is not None and (disk / FILLER).exists())
    cancel_after = fault.after if fault is not None and fault.what == CANCEL else 0
    request = {"words": list(words), "environment": found, "folder": str(home), "cancel_after": cancel_after}
    out, errors, status = await parent.fork(request)
    pid = int(await status.readline())
    said = asyncio.create_task(errors.read())
    try:
        while line := await asyncio.wait_for(out.readline(), PATIENCE):
            life.events.append(json.loads(line))
            if fault is not None and len(life.events) == fault.after and life.ended is None:
                life.place = str(life.events[-1].get("event", ""))
                life.done = await _do(fault, pid, server, disk)
                life.full = life.full or life.done == FULL
        life.code = int(await asyncio.wait_for(status.readline(), PATIENCE))
    except TimeoutError:
        life.hung = True
        os.killpg(pid, signal.SIGKILL)
    life.errors = (await said).decode("utf-8", "replace")
    return life


async def _do(fault: Fault, pid: int, server: Endpoint, disk: Path | None) -> str:
    await asyncio.sleep(fault.delay)
    if fault.what == FULL:
        assert disk is not None
        await asyncio.to_thread(fill, disk, int(fault.chosen**4 * MOST_LEFT))
        return FULL
    if fault.what == ENDPOINT:
        await server.close()
        return ENDPOINT
    return CANCEL if fault.what == CANCEL else strike(fault, pid)
