"""The command `stepwell` in processes that have imported it already: one process imports, each command is its fork.

A command imports for a second before it does anything, and tests start hundreds. Those that run cells have a zygote of
that process, too: one of their own would import for another second. What starts, signals and terminals are about starts
the real command.
"""

import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from graph.settings import Settings
from sandboxes.local.isolation_choice import ZYGOTE_LEVELS, config_of
from sandboxes.local.zygote import ZYGOTES, IsolationUnavailableError, Zygote

ROOT = Path(__file__).parents[1]
FORKED = Path(__file__).with_name("forked_command.py")
LONGEST = 1 << 17
"""Bytes of an order."""
BACKLOG = 64
IMPORTED = (
    "graph.wiring",
    "graph.build",
    *(f"nodes.{name}" for name in ("check_final", "execute", "generate", "upload")),
    "stepwell.command",
    *(f"stepwell.cli.{name}" for name in ("run", "inspection", "thread_lines", "plain_view", "chat")),
    "stepwell.mcp_server.server",
    "stepwell.acp_agent.agent",
)
STARTS_PYTHON = ("PATH", "HOME", "LANG", "TMPDIR")
"""What the process that imports has of the environment; a command has its own."""
RUN_CELLS = ("run", "resume", "chat", "mcp", "acp", "ui", "shell", "-m", "-c")
"""Commands for which there is a zygote, with the settings that one has without any."""


class PreparedCommand:
    """Commands that have imported what they need; the process that imports is started with the first."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lifeline: socket.socket | None = None
        self._socket = ""

    def command(self, *words: str, note: Path | None = None) -> list[str]:
        """The command with these words, to be started as any other; `-m MODULE …` and `-c CODE …` are Python's.

        Args:
            words: Its arguments.
            note: A file for the process id of what is forked: who kills that has it dead when the command has ended.
        """
        if self._process is None:
            self._start()
        return [sys.executable, "-I", "-S", str(FORKED), self._socket, str(note or ""), *words]

    def run(
        self, words: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run one to its end, as `subprocess.run` does, with nothing to read.

        Raises:
            TimeoutExpired: it took longer; it is killed.
        """
        return subprocess.run(
            self.command(*words),
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    @property
    def pid(self) -> int:
        """Of the process that imports; there is one once a command was asked for."""
        assert self._process is not None
        return self._process.pid

    def _start(self) -> None:
        self._socket = f"{tempfile.mkdtemp(prefix='prepared-')}/socket"
        self._lifeline, theirs = socket.socketpair()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, listener:
            listener.bind(self._socket)
            listener.listen(BACKLOG)  # who connects waits until all is imported
            given = (listener.fileno(), theirs.fileno())
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, *map(str, given)],
                env={name: os.environ[name] for name in STARTS_PYTHON if name in os.environ},
                cwd=ROOT,
                pass_fds=given,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # the help has boxes if the output is a terminal when it is imported
            )

    def close(self) -> None:
        """End the process that imports."""
        if self._lifeline is not None and self._process is not None:
            self._lifeline.close()
            self._process.wait()
        self._process = self._lifeline = None


PREPARED = PreparedCommand()
"""Of this process; the tests' last fixture ends it."""


def started_anew(*words: str, note: Path) -> list[str]:
    """The command as people start it, which notes its process id as a forked one does."""
    return ["/bin/sh", "-c", 'echo $$ > "$0"; exec "$@"', str(note), sys.executable, "-m", "stepwell", *words]


class ForkedProcess(subprocess.Popen[str]):
    """A prepared command that runs; signals are for what was forked, so that it is dead when this has ended.

    Args:
        words: Its arguments.
        how: As of any process.
    """

    def __init__(self, *words: str, **how: Any) -> None:
        self._note = Path(tempfile.mkdtemp(prefix="forked-"), "pid")
        super().__init__(PREPARED.command(*words, note=self._note), text=True, **how)

    @property
    def forked(self) -> int:
        """What was forked."""
        return int(self._note.read_text())

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it has begun and has not ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.forked if self._note.exists() else self.pid, number)


class LentZygote(Zygote):
    """A zygote for the processes that are forked from this one, with which it ends: no other process can kill it.

    Each message to it stands alone, and it answers none: whoever has the connection may use it.
    """

    @property
    def alive(self) -> bool:
        """Only a parent is told of an end. Who writes to one that has ended is told, too, and starts another."""
        return True


def lent_zygote() -> LentZygote | None:
    """One at the first level at which there can be one."""
    for level in ZYGOTE_LEVELS:
        with suppress(IsolationUnavailableError):
            return LentZygote(config_of(Settings().local, level))
    return None


def serve(listener: socket.socket, lifeline: socket.socket) -> None:
    """Import, then fork a command for each connection until the lifeline is closed."""
    os.environ.pop("LANGGRAPH_STRICT_MSGPACK", None)  # of tests alone; LangGraph reads it when it is imported
    for module in IMPORTED:
        importlib.import_module(module)
    gc.freeze()  # what is imported is not looked at, nor copied, when a command ends

    lent: LentZygote | None = None
    interrupts = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the command; how it ended is told
    while lifeline not in select.select([listener, lifeline], [], [])[0]:
        line, _ = listener.accept()
        with line:
            sent, streams, _, _ = socket.recv_fds(line, LONGEST, 3)
            if not sent:  # who connected was killed meanwhile
                continue
            order = json.loads(sent)
            if lent is None and order["words"] and order["words"][0] in RUN_CELLS:
                lent = lent_zygote()
            if not os.fork():
                listener.close()
                lifeline.close()
                signal.signal(signal.SIGINT, interrupts)
                if not _begun(line, streams):
                    _become(order, streams)
                    if lent is not None:
                        ZYGOTES._zygotes[lent._config] = lent
                    _run(order["words"])
                    return
        for stream in streams:
            os.close(stream)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _begun(line: socket.socket, streams: Sequence[int]) -> int:
    """Fork the command: 0 there. Here, see to it until it has ended; this process ends with it."""
    ended, ending = socket.socketpair()
    ending.setblocking(False)
    signal.set_wakeup_fd(ending.fileno())
    handled = signal.signal(signal.SIGCHLD, lambda *_: None)
    pid = os.fork()
    if not pid:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, handled)
        for end in (line, ended, ending):
            end.close()
        return 0
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for stream in streams:
        os.close(stream)
    ended.setblocking(False)
    with suppress(OSError):  # who stands for it was killed: that is seen next
        line.send(b".")
    code = None
    while code is None:
        if line in select.select([line, ended], [], [])[0]:
            os.kill(pid, (line.recv(1) or bytes([signal.SIGKILL]))[0])
        done, status = os.waitpid(pid, os.WNOHANG)
        code = os.waitstatus_to_exitcode(status) if done else None
        with suppress(BlockingIOError):
            ended.recv(64)
    with suppress(OSError):
        line.send(str(code).encode())
    os._exit(0)


def _become(order: Any, streams: Sequence[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # Those of the process that imported know of its own whether they can seek.
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - they stay open
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    if order["note"]:
        partial = Path(f"{order['note']}.partial")
        partial.write_text(str(os.getpid()))
        partial.rename(order["note"])


def _run(words: list[str]) -> None:
    from stepwell.command import main

    match words:
        case ["-m", module, *arguments]:
            sys.argv = [module, *arguments]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case ["-c", code, *arguments]:
            sys.argv = ["-c", *arguments]
            exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
        case _:
            sys.argv[1:] = words
            main()


if __name__ == "__main__":
    serve(*(socket.socket(fileno=int(number)) for number in sys.argv[1:]))
