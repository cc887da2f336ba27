"""The command `stepwell` in processes that have imported it already: one process imports, each command is its fork.

A command imports for a second before it does anything, and tests start hundreds. What starts, signals and terminals are
about starts the real command.
"""

import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LONGEST = 1 << 17
"""Bytes of an order."""
IMPORTED = ("graph.wiring", *(f"stepwell.cli.{name}" for name in ("run", "inspection", "thread_lines", "plain_view")))
STARTS_PYTHON = ("PATH", "HOME", "LANG", "TMPDIR")
"""What the process that imports has of the environment; a command has its own."""


class PreparedCommand:
    """Starts commands that have imported what they need; the process that imports is started with the first."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None
        self._turn = threading.Lock()

    def run(
        self, words: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run one to its end, as `subprocess.run` does, with nothing to read; one after the other.

        Raises:
            TimeoutExpired: it took longer; it is killed.
        """
        order = json.dumps({"words": words, "cwd": str(cwd), "env": dict(env)}).encode()
        with self._turn, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            line = self._line or self._start()
            socket.send_fds(line, [order], [out.fileno(), err.fileno()])
            pid = int(line.recv(64))
            try:
                if not select.select([line], [], [], timeout)[0]:
                    raise subprocess.TimeoutExpired([*words], timeout or 0.0)
            except BaseException:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                raise
            finally:
                code = int(line.recv(64))
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess([*words], code, out.read().decode(), err.read().decode())

    @property
    def pid(self) -> int:
        """Of the process that imports; there is one once a command has run."""
        assert self._process is not None
        return self._process.pid

    def _start(self) -> socket.socket:
        self._line, line = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", __name__, str(line.fileno())]
        with line:
            environment = {name: os.environ[name] for name in STARTS_PYTHON if name in os.environ}
            self._process = subprocess.Popen(
                command,
                env=environment,
                cwd=ROOT,
                pass_fds=[line.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # the help has boxes if the output is a terminal when it is imported
            )
        return self._line

    def close(self) -> None:
        """End the process that imports."""
        if self._line is not None and self._process is not None:
            self._line.close()
            self._process.wait()
        self._line = None


PREPARED = PreparedCommand()
"""Of this process; the tests' last fixture ends it."""


def serve(line: socket.socket) -> None:
    """Import, then fork a command for each order until the other end closes."""
    os.environ.pop("LANGGRAPH_STRICT_MSGPACK", None)  # of tests alone; LangGraph reads it when it is imported
    for module in IMPORTED:
        importlib.import_module(module)
    gc.freeze()  # what is imported is not looked at, nor copied, when a command ends
    import stepwell.command

    interrupts = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the command; how it ended is told
    while True:
        order, descriptors, _, _ = socket.recv_fds(line, LONGEST, 2)
        if not order:
            return
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGINT, interrupts)
            line.close()
            _become(json.loads(order), *descriptors)
            stepwell.command.main()
            return
        for descriptor in descriptors:
            os.close(descriptor)
        line.send(str(pid).encode())
        line.send(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())


def _become(order: Any, out: int, err: int) -> None:
    os.dup2(out, 1)
    os.dup2(err, 2)
    for descriptor in (out, err):
        os.close(descriptor)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    sys.argv[1:] = order["words"]


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
