"""Zygotes: programs that have the analysis packages imported, and fork a sandbox for each session.

One for each Python and kind of isolation, shared by all event loops of this process. All functions block; call them in
a thread.
"""

import array
import atexit
import contextlib
import errno
import json
import os
import socket
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import IO, Any

from sandboxes.base import SandboxUnavailableError
from sandboxes.host import descriptors
from sandboxes.host.tasks import run_later, run_promptly
from sandboxes.inside.bridge.supervision import complaint
from sandboxes.local.control_groups import ControlGroup, new_group, own_group, wait_early
from sandboxes.local.isolation import KERNEL, ZYGOTE, IsolationConfig, clean_environment

START_SECONDS = 60.0
"""How long a zygote may take to import its packages; a cold disk is slow."""
WAITING = 1
"""Sandboxes that a zygote keeps ready."""
MAX_MESSAGE = 1 << 20
GONE = (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN, errno.EBADF)
"""Errors of a connection whose other end has died."""
SO_PASSRIGHTS = 83
"""Whether descriptors can be handed over by a socket; Linux 6.16 and later."""
MAX_FORKS = 1_000
"""Sandboxes of one zygote; they share the layout of its memory and the seed of its hashes."""
REFILL_SECONDS = 0.05
"""How long after a start the next one is made ready."""


class ReadySandbox:
    """A forked sandbox that waits for its spec: our ends of its connections.

    Args:
        group: The control group that it enters; entering one takes milliseconds, so it is not done with the order.
    """

    def __init__(self, group: ControlGroup | None = None) -> None:
        self.zygote: Zygote | None = None
        self.group = group
        with contextlib.ExitStack() as undo:
            self.control, control = map(undo.enter_context, socket.socketpair())
            self.init, init = map(undo.enter_context, socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            (self.stdout, output), (self.stderr, errors) = _pipe(undo), _pipe(undo)
            join = [group.take_join_fd()] if group is not None else []
            undo.pop_all()
        self.theirs = [control.detach(), output, errors, init.detach(), *join]
        with contextlib.suppress(OSError):  # closing what a sandbox hands over could take long
            self.control.setsockopt(socket.SOL_SOCKET, SO_PASSRIGHTS, 0)

    def close_theirs(self) -> None:
        """Close the other ends here, once the zygote has them."""
        for descriptor in self.theirs:
            os.close(descriptor)
        self.theirs = []

    def close(self) -> None:
        """Close our ends, which ends the sandbox."""
        self.close_theirs()
        self.control.close()
        self.init.close()
        for descriptor in (self.stdout, self.stderr):
            os.close(descriptor)


def _pipe(undo: contextlib.ExitStack) -> tuple[int, int]:
    ends = os.pipe()
    for end in ends:
        undo.callback(os.close, end)
    return ends


class Zygote:
    """A running zygote. Closing it ends all its sandboxes.

    Args:
        config: Its configuration.
        wrap: A command that starts it, to be put before its own.
    """

    def __init__(self, config: IsolationConfig, wrap: Sequence[str] = ()) -> None:
        self._config = config
        self._wrap = wrap
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the zygote
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.forks = 0
        """How many it has forked."""
        self.sandboxes = 0
        """How many have begun and have not ended."""
        self._waiting: deque[ReadySandbox] = deque()
        self._forked: set[ReadySandbox] = set()
        """Those that have not ended."""
        try:
            self._process = self._start(theirs)
            self._configure()
            self._group = own_group(self._process.pid)
        except BaseException:
            self.close()
            raise

    def _start(self, theirs: socket.socket) -> subprocess.Popen[bytes]:
        command = [*self._wrap, self._config.python, "-P", "-s", str(KERNEL / "start.py"), "--program", str(ZYGOTE)]
        environment = {"PATH": os.defpath, **clean_environment(self._config.timezone)}
        try:
            with theirs:
                process = subprocess.Popen(  # noqa: S603 - the operator names the interpreter
                    [*command, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=self._output,
                    stderr=self._output,
                    cwd="/",
                    env=environment,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
            descriptors.as_before(process.pid)
            return process
        except (OSError, ValueError) as error:
            raise SandboxUnavailableError(
                f"The Python interpreter {self._config.python} cannot be started ({error}). "
                "Set STEPWELL_PYTHON to a Python 3.11 or newer, or unset it."
            ) from error

    def _configure(self) -> None:
        self._socket.settimeout(START_SECONDS)
        try:
            self._socket.send(json.dumps(self._config.config()).encode())
            answer = self._socket.recv(MAX_MESSAGE)
        except OSError:
            answer = b""
        if not answer and self._wrap:
            raise IsolationUnavailableError(self._complaint())
        if not answer:
            raise SandboxUnavailableError(
                f"A session cannot be started with the Python interpreter {self._config.python}: {self._complaint()}. "
                "Set STEPWELL_PYTHON to a Python 3.11 or newer, or unset it."
            )
        reply = json.loads(answer)
        if reply["event"] != "ready":
            raise IsolationUnavailableError(reply["why"])

    def _complaint(self) -> str:
        try:
            how = f"it ended with exit code {self._process.wait(timeout=1)}"
        except subprocess.TimeoutExpired:
            how = "it did not answer"
        self._output.seek(0)
        return f"{how} ({complaint(self._output.read().decode('utf-8', 'replace'))})"

    @property
    def alive(self) -> bool:
        """Whether it can fork."""
        return self._process.poll() is None

    def begin(self, order: dict[str, Any]) -> ReadySandbox | None:
        """Take a waiting sandbox, and send it its spec; None if the zygote is gone.

        Raises:
            SandboxUnavailableError: this one cannot be started; others go on.
        """
        ready = None
        try:
            ready = self._waiting.popleft() if self._waiting else self._spawn(at_once=True)
            self._send({"op": "begin", **order}, [ready.init.fileno()])
        except OSError as error:
            if ready is not None:
                self._discard(ready)
            if error.errno in GONE or not self.alive:
                return None
            raise SandboxUnavailableError(
                f"A sandbox cannot be started ({error.strerror or error}). Try again, or with fewer at a time "
                "(STEPWELL_MAX_SANDBOXES)."
            ) from error
        ready.zygote = self
        self.sandboxes += 1
        return ready

    def refill(self) -> None:
        """Fork the next ones; if that fails, `begin` raises the error."""
        with contextlib.suppress(OSError, SandboxUnavailableError):
            while len(self._waiting) < WAITING:
                self._waiting.append(self._spawn())

    def _spawn(self, *, at_once: bool = False) -> ReadySandbox:
        try:
            group = new_group(self._config.limits.memory_or_half)
        except OSError as error:
            raise SandboxUnavailableError(
                f"No control group can be made for a sandbox ({error.strerror or error}); there may be too many."
            ) from error
        try:
            ready = ReadySandbox(group)
        except OSError:
            if group is not None:
                run_later(group.remove)
            raise
        self._forked.add(ready)
        if at_once and self._group is not None:  # not before its own group is there: making one would wait, too
            run_promptly(partial(wait_early, self._group, self._process.pid))
        try:
            self._send({"op": "spawn"}, ready.theirs)
        except OSError:
            self._discard(ready)
            raise
        ready.close_theirs()
        self.forks += 1
        return ready

    def _discard(self, ready: ReadySandbox) -> None:
        ready.close()
        self.ended(ready)

    def ended(self, ready: ReadySandbox) -> None:
        """Note that one of its sandboxes has ended, and remove its control group."""
        self._forked.discard(ready)
        if ready.group is not None:
            run_later(ready.group.remove)

    def _send(self, message: dict[str, Any], descriptors: list[int]) -> None:
        attached = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        self._socket.sendmsg([json.dumps(message).encode()], attached)

    def leave(self) -> None:
        """Close this process's end alone, which a forked process has, too."""
        self._socket.close()

    def close(self) -> None:
        """End it, and all its sandboxes."""
        while self._waiting:
            self._waiting.popleft().close()
        self._socket.close()
        process = getattr(self, "_process", None)
        if process is not None:
            process.kill()
            process.wait()
        self._output.close()
        forked, self._forked = list(self._forked), set()
        for ready in forked:
            with contextlib.suppress(OSError):  # it ends with its connection, if not with its zygote
                ready.init.shutdown(socket.SHUT_RDWR)
        for ready in forked:
            if ready.group is not None:
                ready.group.remove()


class IsolationUnavailableError(Exception):
    """A level of isolation does not work here; the message says why."""


class ZygotePool:
    """The zygotes of this process, by their configuration.

    Args:
        max_forks: How many sandboxes one zygote forks.
    """

    def __init__(self, max_forks: int = MAX_FORKS) -> None:
        self._max_forks = max_forks
        self._zygotes: dict[IsolationConfig, Zygote] = {}
        self._retired: list[Zygote] = []
        self._turns: dict[IsolationConfig, threading.Lock] = {}
        self._refilling: set[IsolationConfig] = set()
        self._turn = threading.Lock()

    def start(self, config: IsolationConfig) -> None:
        """Start a zygote, if there is none yet.

        Raises:
            IsolationUnavailableError: there cannot be one at that level.
            SandboxUnavailableError: its interpreter cannot be started.
        """
        with self._turn_of(config):
            self._current(config)

    def begin(self, config: IsolationConfig, order: dict[str, Any]) -> ReadySandbox:
        """Take a waiting sandbox, and send it its spec.

        Raises:
            IsolationUnavailableError: there cannot be one at that level.
            SandboxUnavailableError: its interpreter cannot be started, or its zygote died twice.
        """
        with self._turn_of(config):
            for _ in range(2):
                zygote = self._current(config)
                if (ready := zygote.begin(order)) is not None:
                    return ready
                self._zygotes.pop(config).close()
        raise SandboxUnavailableError("The program that starts sandboxes ended twice in a row; try again.")

    def begin_alone(self, config: IsolationConfig, wrap: Sequence[str], order: dict[str, Any]) -> ReadySandbox:
        """Start a sandbox with a zygote of its own, which ends with it.

        Args:
            config: Its configuration.
            wrap: The command that isolates it.
            order: The sandbox's.

        Raises:
            IsolationUnavailableError: the command does not do so.
            SandboxUnavailableError: its interpreter cannot be started, or the zygote died.
        """
        zygote = Zygote(config, wrap)
        try:
            ready = zygote.begin(order)
            if ready is None:
                raise SandboxUnavailableError("The program that starts a sandbox ended at once; try again.")
        except BaseException:
            zygote.close()
            raise
        with self._turn:
            self._retired.append(zygote)
        return ready

    def refill_later(self, config: IsolationConfig) -> None:
        """Fork the next sandboxes a little later: the one that has just begun has a first cell to run.

        There is no next one where that imports its packages by itself: its zygote ends with it.
        """
        if config.bare:
            run_later(partial(self._retire_current, config))
            return
        with self._turn:
            if config in self._refilling:
                return
            self._refilling.add(config)
        run_later(partial(self._refill_later, config))

    def _refill_later(self, config: IsolationConfig) -> None:
        time.sleep(REFILL_SECONDS)
        with self._turn:
            self._refilling.discard(config)
        self.refill(config)

    def refill(self, config: IsolationConfig) -> None:
        """Fork the next sandboxes."""
        with self._turn_of(config):
            zygote = self._zygotes.get(config)
            if zygote is not None and zygote.forks < self._max_forks:
                zygote.refill()

    def ended(self, ready: ReadySandbox) -> None:
        """Note that a sandbox has ended; a retired zygote is closed with its last sandbox."""
        with self._turn:
            zygote = ready.zygote
            if zygote is None:
                return
            ready.zygote, zygote.sandboxes = None, zygote.sandboxes - 1
            zygote.ended(ready)
            gone = zygote in self._retired and not zygote.sandboxes
            if gone:
                self._retired.remove(zygote)
        if gone:  # whoever tells of the end may be an event loop, and this waits for processes to be gone
            threading.Thread(target=zygote.close, name="stepwell-zygote").start()

    def _current(self, config: IsolationConfig) -> Zygote:
        zygote = self._zygotes.get(config)
        if zygote is not None and not zygote.alive:
            self._zygotes.pop(config).close()
            zygote = None
        if zygote is not None and zygote.forks >= self._max_forks:
            self._retire(self._zygotes.pop(config))
            zygote = None
        if zygote is None:
            zygote = self._zygotes[config] = Zygote(config)
        return zygote

    def _retire_current(self, config: IsolationConfig) -> None:
        with self._turn_of(config):
            zygote = self._zygotes.pop(config, None)
            if zygote is not None:
                self._retire(zygote)

    def _retire(self, zygote: Zygote) -> None:
        """Close a zygote once its last sandbox has ended."""
        with self._turn:
            busy = bool(zygote.sandboxes)
            if busy:
                self._retired.append(zygote)
        if not busy:
            zygote.close()

    def _turn_of(self, config: IsolationConfig) -> threading.Lock:
        with self._turn:
            return self._turns.setdefault(config, threading.Lock())

    def forget(self) -> None:
        """Leave all of them to the process that this one was forked from; they end with it, and not with this one."""
        for zygote in [*self._zygotes.values(), *self._retired]:
            zygote.leave()
        self._zygotes, self._retired, self._turns, self._refilling = {}, [], {}, set()
        self._turn = threading.Lock()

    def close(self) -> None:
        """End all of them, with their sandboxes."""
        with self._turn:
            for zygote in [*self._zygotes.values(), *self._retired]:
                zygote.close()
            self._zygotes.clear()
            self._retired.clear()


ZYGOTES = ZygotePool()
"""Those of this process."""
atexit.register(ZYGOTES.close)
os.register_at_fork(after_in_child=ZYGOTES.forget)
