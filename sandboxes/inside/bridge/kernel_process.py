"""The processes that the bridge starts: a kernel, which it ends with all that the kernel left, and programs of ours."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import IO, Any

from ..kernel import frames
from .supervision import CHUNK, DRAIN, BoundedOutput, FirstBytes, Sampler

OF_THE_SHELL = frozenset({"PWD", "OLDPWD", "SHLVL", "_"})
"""Variables that describe the command that started the bridge."""
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class StreamCapture:
    """One stream of a kernel: all of its head, then samples, and in the end its tail.

    Args:
        pipe: Where it comes from; does not block.
    """

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe
        self.begin()

    def begin(self) -> None:
        """A cell begins."""
        self._kept = BoundedOutput()
        self._sampler = Sampler()
        self._sent = 0
        """Bytes of the head that were taken."""

    def read(self) -> int | None:
        """Read what is there.

        Returns:
            How many bytes that was, 0 as well; None when nobody can write into it any more.
        """
        try:
            data = os.read(self.pipe, CHUNK)
        except BlockingIOError:  # somebody has read it since it was seen
            return 0
        except OSError:
            return None
        if not data:
            return None
        if after := self._kept.add(data):
            self._sampler.add(after)
        return len(data)

    def drain(self) -> None:
        """Read all that was printed until now."""
        taken = 0
        while taken < DRAIN and (size := self.read()):
            taken += size

    def head(self) -> bytes:
        """The part of the head that arrived since it was last taken."""
        head = bytes(self._kept.head[self._sent :])
        self._sent += len(head)
        return head

    def sample(self) -> bytes:
        """The newest of what comes after the head, now and then."""
        return self._sampler.take()

    def rest(self) -> tuple[int, bytes]:
        """How many bytes were left out after the head, and the tail after them."""
        return self._kept.dropped, self._kept.tail


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
        self.stdout, self.stderr = StreamCapture(pipes[0][0]), StreamCapture(pipes[1][0])
        self.unpacker = frames.Unpacker()
        self.greeted = False
        """Whether its hello has come."""
        self.protocol_error = False
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
        """Send as much as possible without blocking.

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
    def unresponsive_seconds(self) -> float:
        """For how many seconds it has read nothing of what it was sent."""
        return time.monotonic() - self._taken_at if self.waiting else 0.0

    def receive(self) -> list[frames.Frame] | None:
        """The frames that it sent; None when its connection is closed or does not carry frames any more.

        Frames that came before something that is no frame are returned; `protocol_error` is set then.
        """
        if self.protocol_error:
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
            self.protocol_error = True
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
        kill_children()
        return self.process.returncode if code is None else code

    def close(self) -> None:
        """End it and close everything."""
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
        # Sets have the order, and hashes the values, that they had before a restore.
        "PYTHONHASHSEED": "0",
        "MPLBACKEND": "agg",
        "MPLCONFIGDIR": os.path.join(base, "cache"),
    }
    path = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", os.defpath)
    here = {name: value for name, value in os.environ.items() if name not in OF_THE_SHELL}
    return {**here, "PATH": path, **own}


PR_SET_CHILD_SUBREAPER = 36
END_SECONDS = 5.0


def become_subreaper() -> None:
    """Become the parent of all orphans among the descendants of this process, where the OS supports it."""
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap(kernel: int) -> None:
    """Wait for children that have ended, except for the kernel, which `KernelProcess` waits for."""
    with suppress(ChildProcessError):
        while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if ended.si_pid == kernel:
                return
            os.waitpid(ended.si_pid, 0)


def kill_children() -> None:
    """Kill all children of this process, and their children, which become its own then."""
    until = time.monotonic() + END_SECONDS
    with suppress(ChildProcessError):
        while time.monotonic() < until:
            for child in _children():
                with suppress(OSError):
                    os.kill(child, signal.SIGKILL)
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            time.sleep(0.002)


def _children() -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        with suppress(OSError, ValueError, IndexError):
            process = int(name)
            with open(f"/proc/{process}/stat", "rb") as reading:
                if int(reading.read().rpartition(b")")[2].split()[1]) == os.getpid():
                    found.append(process)
    return found


def run_program(base: str, folder: str, arguments: list[str], timeout: float) -> dict[str, Any]:
    """Run a folder's `__main__.py` to its end or to the time limit.

    Args:
        base: The folder of the sandbox's things.
        folder: The program's.
        arguments: Its own.
        timeout: Seconds.
    """
    start = [sys.executable, "-P", "-s", os.path.join(PACKAGE, "kernel", "start.py"), "--program", folder]
    process = subprocess.Popen(
        [*start, *arguments],
        cwd=os.path.join(base, "workspace"),
        env=environment(base),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    kept = [FirstBytes(), FirstBytes()]
    readers = [
        threading.Thread(target=_read_program, args=(stream, into), daemon=True)
        for stream, into in zip((process.stdout, process.stderr), kept, strict=True)
    ]
    for reader in readers:
        reader.start()
    code: int | None = None
    with suppress(subprocess.TimeoutExpired):
        code = process.wait(timeout)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # a child of it may still hold the pipes
    process.wait()
    for reader in readers:
        reader.join(2.0)
    return {"code": code, "stdout": kept[0].text(), "stderr": kept[1].text()}


def _read_program(stream: IO[bytes], into: FirstBytes) -> None:
    while data := os.read(stream.fileno(), 1 << 16):
        into.add(data)
