"""The process of a kernel, started and ended by the bridge."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress

from ..kernel import frames
from . import orphans
from .output import Output

OF_THE_SHELL = frozenset({"PWD", "OLDPWD", "SHLVL", "_"})
"""What says something about the command that started the bridge."""
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class KernelProcess:
    """A kernel with all that it starts: a process group of its own, which dies with the bridge, and what left it.

    Args:
        base: The folder of the sandbox's things.
        network: What the kernel is told that it may reach: `none`, `allowlist` or `full`.
    """

    def __init__(self, base: str, network: str) -> None:
        self.control, theirs = socket.socketpair()
        lifeline, held = socket.socketpair()
        pipes = [os.pipe(), os.pipe()]
        self._lifeline = lifeline
        try:
            self.process = subprocess.Popen(
                self._command(base, network, theirs.fileno(), held.fileno()),
                cwd=os.path.join(base, "workspace"),
                env=environment(base),
                stdin=subprocess.DEVNULL,
                stdout=pipes[0][1],
                stderr=pipes[1][1],
                pass_fds=[theirs.fileno(), held.fileno()],
                start_new_session=True,
            )
        finally:
            for end in (theirs, held):
                end.close()
            for _, end_of_theirs in pipes:
                os.close(end_of_theirs)
        self.control.setblocking(False)
        for ours, _ in pipes:
            os.set_blocking(ours, False)
        self.stdout, self.stderr = Output(pipes[0][0]), Output(pipes[1][0])
        self.unpacker = frames.Unpacker()
        self.greeted = False
        """Whether it has said hello: it has begun."""
        self.garbled = False
        """Whether something other than it wrote to its connection."""
        self.waiting = bytearray()
        """What is on its way to it."""
        self._taken_at = 0.0

    def _command(self, base: str, network: str, control: int, lifeline: int) -> list[str]:
        folders = ["--spool", os.path.join(base, "spool"), "--blobs", os.path.join(base, "blobs")]
        own = ["--reach", os.path.join(base, "reached"), "--inside", base, "--network", network]
        start = [sys.executable, "-P", "-s", os.path.join(PACKAGE, "kernel", "start.py")]
        connected = ["--control", str(control), "--lifeline", str(lifeline)]
        return [*start, *connected, *folders, *own, "--cloudpickle", os.path.join(PACKAGE, "cloudpickle.py")]

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self.process.poll() is not None

    def send(self, data: bytes = b"") -> bool:
        """Send as much as goes without waiting.

        Returns:
            Whether there is more to send.
        """
        if not self.waiting:
            self._taken_at = time.monotonic()
        self.waiting += data
        with suppress(OSError):
            while self.waiting:
                sent = self.control.send(memoryview(self.waiting)[: 1 << 18])
                del self.waiting[:sent]
                self._taken_at = time.monotonic()
        return bool(self.waiting)

    @property
    def deaf_for(self) -> float:
        """For how many seconds it has taken nothing of what it is told."""
        return time.monotonic() - self._taken_at if self.waiting else 0.0

    def receive(self) -> list[frames.Frame] | None:
        """What it has said; None when its connection is closed or does not carry frames any more.

        What it said itself counts although something that is no frame came with it, when it is `garbled`.
        """
        if self.garbled:
            return None
        try:
            data = self.control.recv(1 << 18)
        except (BlockingIOError, InterruptedError):
            return []
        except OSError:
            return None
        try:
            return self.unpacker.feed(data) if data else None
        except frames.ProtocolError as error:
            self.garbled = True
            return error.before

    def interrupt(self) -> None:
        """Send SIGINT to its group, as a terminal does on Ctrl-C."""
        self._signal(signal.SIGINT)

    def kill(self) -> int:
        """End it at once with everything that it started.

        Returns:
            Its exit code; negative: the signal that ended it.
        """
        code = self.process.poll()
        self._signal(signal.SIGKILL)
        self.process.wait()
        orphans.end()
        return self.process.returncode if code is None else code

    def close(self) -> None:
        """End it and let go of everything."""
        self.kill()
        self.control.close()
        self._lifeline.close()
        for stream in (self.stdout, self.stderr):
            os.close(stream.pipe)

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)


def environment(base: str) -> dict[str, str]:
    """What code sees of the environment: that of the sandbox, with folders of its own."""
    own = {
        "HOME": os.path.join(base, "home"),
        "TMPDIR": os.path.join(base, "tmp"),
        "LANG": "C.UTF-8",
        "PYTHONUTF8": "1",
        "MPLBACKEND": "agg",
        "MPLCONFIGDIR": os.path.join(base, "cache"),
    }
    path = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", os.defpath)
    here = {name: value for name, value in os.environ.items() if name not in OF_THE_SHELL}
    return {**here, "PATH": path, **own}
