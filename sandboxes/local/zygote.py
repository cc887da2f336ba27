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
from sandboxes.host.tasks import beside, later
from sandboxes.local.control_groups import ControlGroup, new_group, own_group, wait_early
from sandboxes.local.isolation import KERNEL, ZYGOTE, Walls, clean_environment

START_SECONDS = 60.0
"""How long a parent may take to import its packages; a cold disk is slow."""
POOL = 1
"""Sandboxes that are kept ready."""
MAX_MESSAGE = 1 << 20
GONE = (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN, errno.EBADF)
"""What is said of a connection whose other end has died."""
SO_PASSRIGHTS = 83
"""Whether descriptors can be handed over by a socket; Linux 6.16 and later."""


class Ready:
    """A sandbox that waits for its order: our ends of its connections.

    Args:
        group: The control group that it enters; entering one takes milliseconds, so it is not done with the order.
    """

    def __init__(self, group: ControlGroup | None = None) -> None:
        self.parent: WarmParent | None = None
        self.group = group
        with contextlib.ExitStack() as undo:
            self.control, control = map(undo.enter_context, socket.socketpair())
            self.init, init = map(undo.enter_context, socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            (self.stdout, output), (self.stderr, errors) = _pipe(undo), _pipe(undo)
            door = [group.take_door()] if group is not None else []
            undo.pop_all()
        self.theirs = [control.detach(), output, errors, init.detach(), *door]
        with contextlib.suppress(OSError):  # closing what a sandbox hands over could take long
            self.control.setsockopt(socket.SOL_SOCKET, SO_PASSRIGHTS, 0)

    def close_theirs(self) -> None:
        """Close the other ends here, once the parent has them."""
        for descriptor in self.theirs:
            os.close(descriptor)
        self.theirs = []

    def close(self) -> None:
        """Let go of it; what was made ready ends."""
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


class WarmParent:
    """A running parent. Closing it ends all its sandboxes.

    Args:
        walls: What it is made for.
        wrap: A command that starts it, to be put before its own.
    """

    def __init__(self, walls: Walls, wrap: Sequence[str] = ()) -> None:
        self._walls = walls
        self._wrap = wrap
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the parent
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.forks = 0
        """How many it has forked."""
        self.sandboxes = 0
        """How many have begun and have not ended."""
        self._pool: deque[Ready] = deque()
        self._forked: set[Ready] = set()
        """Those that have not ended."""
        try:
            self._process = self._start(theirs)
            self._configure()
            self._group = own_group(self._process.pid)
        except BaseException:
            self.close()
            raise

    def _start(self, theirs: socket.socket) -> subprocess.Popen[bytes]:
        command = [*self._wrap, self._walls.python, "-P", "-s", str(KERNEL / "start.py"), "--program", str(ZYGOTE)]
        environment = {"PATH": os.defpath, **clean_environment(self._walls.timezone)}
        try:
            with theirs:
                process = subprocess.Popen(  # noqa: S603 - the operator names the interpreter
                    [*command, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=self._said,
                    stderr=self._said,
                    cwd="/",
                    env=environment,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
            descriptors.as_before(process.pid)
            return process
        except (OSError, ValueError) as error:
            raise SandboxUnavailableError(
                f"The Python interpreter {self._walls.python} cannot be started ({error}). "
                "Set STEPWELL_PYTHON to a Python 3.11 or newer, or unset it."
            ) from error

    def _configure(self) -> None:
        self._socket.settimeout(START_SECONDS)
        try:
            self._socket.send(json.dumps(self._walls.config()).encode())
            answer = self._socket.recv(MAX_MESSAGE)
        except OSError:
            answer = b""
        if not answer and self._wrap:
            raise CannotWallInError(self._last_words())
        if not answer:
            raise SandboxUnavailableError(
                f"A session cannot be started with the Python interpreter {self._walls.python}: {self._last_words()}. "
                "Set STEPWELL_PYTHON to a Python 3.11 or newer, or unset it."
            )
        said = json.loads(answer)
        if said["event"] != "ready":
            raise CannotWallInError(said["why"])

    def _last_words(self) -> str:
        try:
            how = f"it ended with exit code {self._process.wait(timeout=1)}"
        except subprocess.TimeoutExpired:
            how = "it did not answer"
        self._said.seek(0)
        lines = self._said.read().decode("utf-8", "replace").strip().splitlines() or ["it printed nothing"]
        said = lines[-1] if lines[0].startswith("Traceback") else lines[0]
        return f"{how} ({said[:300]})"

    @property
    def alive(self) -> bool:
        """Whether it can fork."""
        return self._process.poll() is None

    def begin(self, order: dict[str, Any]) -> Ready | None:
        """Take a sandbox that waits, and give it its order; None when the parent is gone.

        Raises:
            SandboxUnavailableError: this one cannot be started; others go on.
        """
        ready = None
        try:
            ready = self._pool.popleft() if self._pool else self._spawn(at_once=True)
            self._send({"op": "begin", **order}, [ready.init.fileno()])
        except OSError as error:
            if ready is not None:
                self._let_go(ready)
            if error.errno in GONE or not self.alive:
                return None
            raise SandboxUnavailableError(
                f"A sandbox cannot be started ({error.strerror or error}). Try again, or with fewer at a time "
                "(STEPWELL_MAX_SANDBOXES)."
            ) from error
        ready.parent = self
        self.sandboxes += 1
        return ready

    def refill(self) -> None:
        """Have the next ones ready; what hinders that, `begin` will say."""
        with contextlib.suppress(OSError, SandboxUnavailableError):
            while len(self._pool) < POOL:
                self._pool.append(self._spawn())

    def _spawn(self, *, at_once: bool = False) -> Ready:
        try:
            group = new_group(self._walls.limits.memory_or_half)
        except OSError as error:
            raise SandboxUnavailableError(
                f"No control group can be made for a sandbox ({error.strerror or error}); there may be too many."
            ) from error
        try:
            ready = Ready(group)
        except OSError:
            if group is not None:
                later(group.remove)
            raise
        self._forked.add(ready)
        if at_once and self._group is not None:  # not before its own group is there: making one would wait, too
            beside(partial(wait_early, self._group, self._process.pid))
        try:
            self._send({"op": "spawn"}, ready.theirs)
        except OSError:
            self._let_go(ready)
            raise
        ready.close_theirs()
        self.forks += 1
        return ready

    def _let_go(self, ready: Ready) -> None:
        ready.close()
        self.ended(ready)

    def ended(self, ready: Ready) -> None:
        """One of its sandboxes has ended: its group goes, too."""
        self._forked.discard(ready)
        if ready.group is not None:
            later(ready.group.remove)

    def _send(self, said: dict[str, Any], descriptors: list[int]) -> None:
        attached = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        self._socket.sendmsg([json.dumps(said).encode()], attached)

    def close(self) -> None:
        """End it, and all its sandboxes."""
        while self._pool:
            self._pool.popleft().close()
        self._socket.close()
        process = getattr(self, "_process", None)
        if process is not None:
            process.kill()
            process.wait()
        self._said.close()
        forked, self._forked = list(self._forked), set()
        for ready in forked:
            with contextlib.suppress(OSError):  # it ends with its connection, if not with its parent
                ready.init.shutdown(socket.SHUT_RDWR)
        for ready in forked:
            if ready.group is not None:
                ready.group.remove()


class CannotWallInError(Exception):
    """A parent cannot be had at that level; says why."""


MAX_FORKS = 1_000
"""Sandboxes of one parent; they share the layout of its memory and the seed of its hashes."""
REFILL_SECONDS = 0.05
"""How long after a start the next one is made ready."""


class WarmParents:
    """The parents of this process, by what they are made for.

    Args:
        max_forks: How many sandboxes one parent forks.
    """

    def __init__(self, max_forks: int = MAX_FORKS) -> None:
        self._max_forks = max_forks
        self._parents: dict[Walls, WarmParent] = {}
        self._worn: list[WarmParent] = []
        self._turns: dict[Walls, threading.Lock] = {}
        self._refilling: set[Walls] = set()
        self._turn = threading.Lock()

    def start(self, walls: Walls) -> None:
        """Have a parent at hand.

        Raises:
            CannotWallInError: there cannot be one at that level.
            SandboxUnavailableError: its interpreter cannot be started.
        """
        with self._turn_of(walls):
            self._parent(walls)

    def begin(self, walls: Walls, order: dict[str, Any]) -> Ready:
        """Take a sandbox that is ready, and give it its order.

        Raises:
            CannotWallInError: there cannot be one at that level.
            SandboxUnavailableError: its interpreter cannot be started, or its parent died twice.
        """
        with self._turn_of(walls):
            for _ in range(2):
                parent = self._parent(walls)
                if (ready := parent.begin(order)) is not None:
                    return ready
                self._parents.pop(walls).close()
        raise SandboxUnavailableError("The program that starts sandboxes ended twice in a row; try again.")

    def begin_alone(self, walls: Walls, wrap: Sequence[str], order: dict[str, Any]) -> Ready:
        """Start a sandbox with a parent of its own, which ends with it.

        Args:
            walls: What the parent is made for.
            wrap: The command that walls it in.
            order: The sandbox's.

        Raises:
            CannotWallInError: the command does not do so.
            SandboxUnavailableError: its interpreter cannot be started, or the parent died.
        """
        parent = WarmParent(walls, wrap)
        try:
            ready = parent.begin(order)
            if ready is None:
                raise SandboxUnavailableError("The program that starts a sandbox ended at once; try again.")
        except BaseException:
            parent.close()
            raise
        with self._turn:
            self._worn.append(parent)
        return ready

    def refill_later(self, walls: Walls) -> None:
        """Have the next sandboxes ready, a little later: the one that has just begun has a first cell to run."""
        with self._turn:
            if walls in self._refilling:
                return
            self._refilling.add(walls)
        later(partial(self._refill_later, walls))

    def _refill_later(self, walls: Walls) -> None:
        time.sleep(REFILL_SECONDS)
        with self._turn:
            self._refilling.discard(walls)
        self.refill(walls)

    def refill(self, walls: Walls) -> None:
        """Have the next sandboxes ready."""
        with self._turn_of(walls):
            parent = self._parents.get(walls)
            if parent is not None and parent.forks < self._max_forks:
                parent.refill()

    def ended(self, ready: Ready) -> None:
        """A sandbox has ended; the last one of a worn parent takes the parent with it."""
        with self._turn:
            parent = ready.parent
            if parent is None:
                return
            ready.parent, parent.sandboxes = None, parent.sandboxes - 1
            parent.ended(ready)
            gone = parent in self._worn and not parent.sandboxes
            if gone:
                self._worn.remove(parent)
        if gone:  # whoever tells of the end may be an event loop, and this waits for processes to be gone
            threading.Thread(target=parent.close, name="stepwell-parent").start()

    def _parent(self, walls: Walls) -> WarmParent:
        parent = self._parents.get(walls)
        if parent is not None and not parent.alive:
            self._parents.pop(walls).close()
            parent = None
        if parent is not None and parent.forks >= self._max_forks:
            self._retire(self._parents.pop(walls))
            parent = None
        if parent is None:
            parent = self._parents[walls] = WarmParent(walls)
        return parent

    def _retire(self, parent: WarmParent) -> None:
        """Let a parent go on until its last sandbox has ended."""
        with self._turn:
            busy = bool(parent.sandboxes)
            if busy:
                self._worn.append(parent)
        if not busy:
            parent.close()

    def _turn_of(self, walls: Walls) -> threading.Lock:
        with self._turn:
            return self._turns.setdefault(walls, threading.Lock())

    def close(self) -> None:
        """End all of them, with their sandboxes."""
        with self._turn:
            for parent in [*self._parents.values(), *self._worn]:
                parent.close()
            self._parents.clear()
            self._worn.clear()


PARENTS = WarmParents()
"""Those of this process."""
atexit.register(PARENTS.close)
