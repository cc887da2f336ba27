"""A sandbox that a zygote forked, as its session sees it."""

import asyncio
import contextlib
import json
import os
import signal
import socket
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sandboxes.base import SandboxUnavailableError
from sandboxes.host import blobs, workspace
from sandboxes.host.descriptors import Pipe
from sandboxes.host.limits import Ending
from sandboxes.host.processes import Order, StartedProcess
from sandboxes.host.tasks import Threads, run_quickly
from sandboxes.inside.zygote.private_root import OWN, PLACES, WRITTEN
from sandboxes.local.control_groups import ControlGroup
from sandboxes.local.isolation import (
    PRIVATE_PATHS,
    PRIVATE_ROOT,
    UNPRIVILEGED,
    IsolationConfig,
    clean_environment,
    cloudpickle_path,
    read_only_folders,
)
from sandboxes.local.network.egress import PORT
from sandboxes.local.wrappers import bubblewrap, wrapped
from sandboxes.local.zygote import ZYGOTES, IsolationUnavailableError, ReadySandbox

AFTER_SECONDS = 0.02
"""How long a cell has run when its limits begin to be watched; what is measured changes more slowly."""
SETTLE_SECONDS = 0.2
"""How long after short cells it is checked whether they left processes running."""
NOTICES = 4
"""The descriptor by which the kernel reaches init."""
MAX_EVENT = 65_536
STARTING = Threads(8, "stepwell-start")
"""Not the threads of an event loop: what they started has to be ended even if the loop is closed meanwhile."""
OVERRUN_SECONDS = 0.25
"""How often it is checked whether the system ended a process because the sandbox used too much memory."""
END_SECONDS = 5.0
"""How long a sandbox's first process may take to end everything when it is told to."""
LIMITED = ("memory", "processes", "workspace", "names", "tmp")


class LimitWatch:
    """Tells the first process of a sandbox when to watch its limits: while a cell runs that takes longer.

    Args:
        tell: Tells the first process whether a cell runs. After its end, it looks for what goes on.
    """

    def __init__(self, tell: Callable[[bool], None]) -> None:
        self._tell = tell
        self._beginning: asyncio.TimerHandle | None = None
        self._settling: asyncio.TimerHandle | None = None
        self._told = False
        """Whether it watches a cell now."""

    def cell(self, runs: bool) -> None:
        """Note that a cell begins, or has ended."""
        loop = asyncio.get_running_loop()
        if runs:
            self._beginning = loop.call_later(AFTER_SECONDS, self._begin)
            return
        if self._beginning is not None:
            self._beginning.cancel()
            self._beginning = None
        if self._told:
            self._told = False
            self._tell(False)
        elif self._settling is None:
            self._settling = loop.call_later(SETTLE_SECONDS, self._settle)

    def _begin(self) -> None:
        if self._beginning is not None:
            self._beginning.cancel()
            self._beginning = None
        self._told = True
        self._tell(True)

    def _settle(self) -> None:
        self._settling = None
        if self._beginning is not None:
            self._begin()
        elif not self._told:
            self._tell(False)


class ZygoteProcess:
    """A sandbox's processes; what is known of them comes from its init."""

    def __init__(self, ready: ReadySandbox) -> None:
        self._ready = ready
        self._init = ready.init
        self._init.setblocking(False)
        self.why = ""
        """Why it could not be started."""
        self.exited: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.door: asyncio.Future[socket.socket] = asyncio.get_running_loop().create_future()
        """The listening socket in the sandbox's network, where there is to be one."""
        self._returning: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._first = -1
        """A hold on the first process, where the system has such."""
        self._monitor = LimitWatch(self._set_watching)
        self._polling: asyncio.TimerHandle | None = None
        asyncio.get_running_loop().add_reader(self._init, self._hear)

    @property
    def alive(self) -> bool:
        """Whether it has not been seen to end."""
        return not self.exited.done()

    def busy(self, runs: bool) -> None:
        """Monitor the limits while a cell runs."""
        self._monitor.cell(runs)

    def _set_watching(self, runs: bool) -> None:
        self._tell({"op": "cell", "runs": runs})
        group = self._ready.group
        if group is None:
            return
        if self._polling is not None:
            self._polling.cancel()
            self._polling = None
        if runs:
            self._poll_overrun(group)
        else:
            run_quickly(group.note)

    def _poll_overrun(self, group: ControlGroup) -> None:
        """Check now and then whether the system has ended one process of many; nothing else reports that."""
        loop = asyncio.get_running_loop()
        self._polling = loop.call_later(OVERRUN_SECONDS, self._poll_overrun, group)
        run_quickly(partial(self._stop_if_overrun, loop, group))

    def _stop_if_overrun(self, loop: asyncio.AbstractEventLoop, group: ControlGroup) -> None:
        if group.overrun():
            with contextlib.suppress(RuntimeError):  # the loop was closed
                loop.call_soon_threadsafe(self._stop_overrun)

    def _stop_overrun(self) -> None:
        if self._polling is not None:  # the cell goes on
            self._polling.cancel()
            self._polling = None
            self.stop()

    def interrupt(self) -> None:
        """Send SIGINT to the runner and its children."""
        self._tell({"op": "interrupt"})

    def stop(self) -> bool:
        """End the runner with what it started; its standby stays."""
        self._tell({"op": "kill"})
        return True

    async def return_to(self, step: str) -> bool:
        """End the runner with what it started, but for the frozen copy of a step; false when there is none."""
        self._returning = asyncio.get_running_loop().create_future()
        self._tell({"op": "return", "step": step})
        await asyncio.wait((self._returning, self.gone), timeout=END_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        return self._returning.done() and self._returning.result()

    def wake(self) -> None:
        """Let the standby take over."""
        self.exited = asyncio.get_running_loop().create_future()
        self._tell({"op": "wake"})

    def kill(self) -> None:
        """End everything at once."""
        if self._init.fileno() < 0:
            return
        self._tell({"op": "end"})
        with contextlib.suppress(OSError):
            self._init.shutdown(socket.SHUT_WR)
        asyncio.get_running_loop().call_later(END_SECONDS, self._force)

    def _force(self) -> None:
        """End the first process, if it has not ended everything by now."""
        if self._first >= 0:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(self._first, signal.SIGKILL)

    def _tell(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self._init.send(json.dumps(message).encode())

    def _hear(self) -> None:
        given: list[int] = []
        try:
            message, given, _, _ = socket.recv_fds(self._init, MAX_EVENT, 1)
        except (BlockingIOError, ConnectionResetError):
            return  # a reset comes before the last words of who reset it
        except OSError:
            message = b""
        if not message:
            self._gone()
            return
        report = json.loads(message)
        if report["event"] == "failed":
            self.why = str(report["why"])
        elif report["event"] == "forked" and given:
            self._first = given[0]
        elif report["event"] == "returning":
            if not self._returning.done():
                self._returning.set_result(bool(report["there"]))
        elif report["event"] == "door" and given:
            self.door.set_result(socket.socket(fileno=given[0]))
        elif not self.exited.done():
            limit = report.get("limit", "")
            ending = Ending(
                code=int(report["code"]),
                limit=limit if limit in LIMITED else "",
                value=int(report.get("value", 0)),
                files=int(report.get("files", 0)),
                copy=bool(report["copy"]),
            )
            group = self._ready.group
            if ending.code == -signal.SIGKILL and not ending.limit and group is not None:
                run_quickly(partial(self._check_overrun, asyncio.get_running_loop(), ending, group))
            else:
                self._ended(ending)

    def _check_overrun(self, loop: asyncio.AbstractEventLoop, ending: Ending, group: ControlGroup) -> None:
        """Find out whether a process was killed because of its memory; blocks."""
        if group.overrun():
            ending = replace(ending, limit="memory")
        with contextlib.suppress(RuntimeError):  # the loop was closed, and nobody waits any more
            loop.call_soon_threadsafe(self._ended, ending)

    def _ended(self, ending: Ending) -> None:
        if not self.exited.done():
            self.exited.set_result(ending)

    def _gone(self) -> None:
        """Init has ended, and with it everything."""
        asyncio.get_running_loop().remove_reader(self._init)
        self._init.close()
        if self._polling is not None:
            self._polling.cancel()
            self._polling = None
        if self._first >= 0:
            os.close(self._first)
            self._first = -1
        ZYGOTES.ended(self._ready)
        self._ended(Ending(1 if self.why else -signal.SIGKILL))
        self.gone.set_result(None)


class StartInZygote:
    """Starts sandboxes that a zygote forks.

    Args:
        config: The configuration of the zygote.
    """

    def __init__(self, config: IsolationConfig) -> None:
        self._config = config

    async def __call__(self, order: Order) -> StartedProcess:
        """Start the kernel, or a program, in a sandbox's folder; see `Start`.

        Raises:
            SandboxUnavailableError: it cannot be started.
        """
        try:
            beginning = STARTING.submit(self.begin, order)
            try:
                ready = await asyncio.wrap_future(beginning)
            except asyncio.CancelledError:
                beginning.add_done_callback(_let_go)
                raise
        except IsolationUnavailableError as error:
            raise SandboxUnavailableError(
                f"A sandbox of level {self._config.level} cannot be started with {self._config.python} ({error}). "
                "Set STEPWELL_PYTHON to a Python 3.11 or newer, or unset it; `stepwell doctor` says what works here."
            ) from error
        ready.control.setblocking(False)
        process = ZygoteProcess(ready)
        ZYGOTES.refill_later(self._config)
        stdout, stderr = Pipe.at(ready.stdout), Pipe.at(ready.stderr)
        if not self._config.network:
            return StartedProcess(process, ready.control, stdout, stderr)
        try:
            await asyncio.wait((process.door, process.gone), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            process.kill()
            stdout.close()
            stderr.close()
            ready.control.close()
            raise
        listener = process.door.result() if process.door.done() else None
        return StartedProcess(process, ready.control, stdout, stderr, listener)

    def begin(self, order: Order) -> ReadySandbox:
        """Start it; blocks.

        Raises:
            IsolationUnavailableError: not at that level.
            SandboxUnavailableError: the interpreter cannot be started.
        """
        payload = self._order(order)
        if self._config.level != "bwrap":
            return ZYGOTES.begin(self._config, payload)
        given = self._folders(order).items()
        folders = {_place(name): folder for name, folder in given if Path(folder[0]).exists()}
        return ZYGOTES.begin_alone(self._config, in_bubblewrap(self._config, folders), payload)

    def _order(self, order: Order) -> dict[str, Any]:
        """The order as init and runner need it."""
        prepare(order.folder, self._config)
        if order.program is not None:
            order = replace(order, program=order.program.absolute())
        private = self._config.level in PRIVATE_PATHS
        folder = Path(OWN) if private else order.folder
        note = folder / workspace.NOTE
        environment = self._environment(order.folder)
        payload: dict[str, Any] = {
            "workspace": "/workspace" if private else str(order.folder / "workspace"),
            "environment": environment,
        }
        if order.program is None:
            payload["kernel"] = {
                "spool": str(folder / "spool"),
                "blobs": str(folder / "blobs"),
                "cloudpickle": cloudpickle_path(),
                "reach": str(note),
                "inside": "/" if private else str(order.folder),
                "sealed": not self._config.network,
                "network": order.network,
                "proxy": PORT if self._config.network else 0,
                "notices": NOTICES,
                "copies": self._config.copies if order.inputs is None else 0,
            }
        else:
            program = f"{OWN}/program/{order.program.name}" if private else str(order.program)
            payload["program"] = [program, *order.arguments]
        if self._config.level in PRIVATE_ROOT:
            payload["folders"] = self._folders(order)
            payload["hidden"] = [str(above) for above in _above(order)]
        elif not private:
            own = [str(order.folder / name) for name in ("workspace", "spool", "home", "tmp")]
            read = [str(order.folder / "blobs"), environment["MPLCONFIGDIR"], str(order.program or "")]
            payload["landlock"] = {"read": [path for path in read if path], "write": own, "write_files": [str(note)]}
        return payload

    def _folders(self, order: Order) -> dict[str, tuple[str, bool]]:
        """The host's folders that a private root gets, and whether they are read-only there."""
        own = order.folder
        folders = {
            "workspace": (str(own / "workspace"), False),
            "inputs": (str(order.inputs or own / "workspace" / "inputs"), True),
            "spool": (str(own / "spool"), False),
            "blobs": (str(own / "blobs"), True),
            "note": (str(own / workspace.NOTE), False),
        }
        if order.program is not None:
            folders[f"program/{order.program.name}"] = (str(order.program), True)
        return folders

    def _environment(self, folder: Path) -> dict[str, str]:
        interpreter = str(Path(self._config.python).parent) if os.sep in self._config.python else ""
        path = f"{interpreter}:" if interpreter else ""
        environment = {"PATH": f"{path}/usr/local/bin:/usr/bin:/bin", **clean_environment(self._config.timezone)}
        if self._config.level in PRIVATE_PATHS:
            return {**environment, "HOME": "/home/user", "TMPDIR": "/tmp", "MPLCONFIGDIR": "/tmp/matplotlib"}  # noqa: S108
        own = {"HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp")}
        return {**environment, **own, "MPLCONFIGDIR": self._config.cache}


def _above(order: Order) -> list[Path]:
    """The folders of the host that hold what is others', the outermost first."""
    count = 2 if order.inputs is None else 3
    return list(order.folder.parents[:count])[::-1]


def _let_go(beginning: "Future[ReadySandbox]") -> None:
    """End a sandbox that was started for a cancelled task."""
    if beginning.cancelled() or beginning.exception() is not None:
        return
    ready = beginning.result()
    ready.close()
    ZYGOTES.ended(ready)


def _place(name: str) -> str:
    """Where one of the host's folders is in the sandbox."""
    return f"{OWN}/{workspace.NOTE}" if name == "note" else PLACES.get(name, f"{OWN}/{name}")


def in_bubblewrap(config: IsolationConfig, folders: dict[str, tuple[str, bool]]) -> list[str]:
    """The command that puts a zygote into a bubblewrap with these folders.

    Raises:
        IsolationUnavailableError: there is none.
        SandboxUnavailableError: the interpreter cannot be started.
    """
    bwrap = bubblewrap()
    if not bwrap:
        raise IsolationUnavailableError("bubblewrap is not installed")
    written = Path(config.cache).parent / "etc"
    for path, text in WRITTEN.items():
        file = written / Path(path).name
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            written.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        folders = {path: (str(file), True), **folders}
    return wrapped(
        bwrap,
        config.python,
        read_only=read_only_folders(),
        folders=folders,
        tmp_bytes=config.limits.tmp_bytes,
        shared_memory_bytes=config.limits.shared_memory_bytes,
    )


def prepare(folder: Path, config: IsolationConfig) -> None:
    """Prepare a sandbox's folder, and hand it to the user that the sandbox runs as outside.

    Raises:
        SandboxUnavailableError: it cannot be made.
    """
    workspace.prepare(folder / "workspace")
    note = folder / workspace.NOTE
    try:
        for name in ("spool", "blobs", "home", "tmp"):
            (folder / name).mkdir(exist_ok=True)
        if config.level not in PRIVATE_ROOT:
            blobs.drop_links(folder / "blobs")
        if note.is_symlink():
            note.unlink()
        note.touch()
        if os.geteuid() == 0:
            # Another level may have given them to somebody else: without capabilities not even root can write there.
            user = UNPRIVILEGED if config.becomes_another else 0
            for name in ("workspace", "spool", "blobs"):
                workspace.hand_over(folder / name, user)
            os.chown(note, user, user, follow_symlinks=False)
    except OSError as error:
        raise SandboxUnavailableError(
            f"The sandbox folder {folder} cannot be made ready ({error.strerror or error}). "
            "Choose another place with STEPWELL_HOME."
        ) from error
