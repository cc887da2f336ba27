"""How a process of the local sandbox is started, interrupted and ended: the one place where isolation goes.

Today it is a plain child process: not a security boundary.
"""

import asyncio
import os
import signal
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from sandboxes.base import SandboxUnavailableError

ISOLATION = (
    "none: a child process of this user with a clean environment; it can read, write and reach over the network "
    "whatever you can"
)


class ChildProcess:
    """A process with a group of its own, which dies with this one.

    It holds the other end of the lifeline; when our end closes, for whatever reason, the group is killed.
    """

    def __init__(self, process: asyncio.subprocess.Process, lifeline: socket.socket) -> None:
        self._process = process
        self._lifeline = lifeline
        self.exited: asyncio.Task[int] = asyncio.ensure_future(process.wait())
        """Its exit code; negative: the signal that ended it."""

    @property
    def alive(self) -> bool:
        """Whether it has not been seen to end."""
        return self._process.returncode is None

    def interrupt(self) -> None:
        """Send SIGINT to the group, as a terminal does on Ctrl-C."""
        self._signal(signal.SIGINT)

    def kill(self) -> None:
        """End the group at once. Children that outlived the process are ended too."""
        self._signal(signal.SIGKILL)
        self._lifeline.close()

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):
            return


async def start_process(
    command: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    output: tuple[int, int],
    control: socket.socket | None = None,
) -> ChildProcess:
    """Start the kernel, or a program, by the arguments of `kernel/start.py`.

    Args:
        command: The interpreter and its arguments up to `start.py`; the descriptors are added here.
        folder: The working directory.
        environment: All of its environment.
        output: Descriptors that become its stdout and stderr.
        control: The kernel's end of its connection.

    Raises:
        SandboxUnavailableError: the interpreter cannot be started.
    """
    ours, theirs = socket.socketpair()
    # Arguments after `--program FOLDER` are the program's own, so ours stand before them.
    start, rest = list(command[:4]), list(command[4:])
    passed = [theirs.fileno()] + ([control.fileno()] if control is not None else [])
    start += ["--lifeline", str(theirs.fileno())]
    if control is not None:
        start += ["--control", str(control.fileno())]
    try:
        process = await asyncio.create_subprocess_exec(
            *start,
            *rest,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output[0],
            stderr=output[1],
            cwd=folder,
            env=dict(environment),
            pass_fds=passed,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        ours.close()
        raise SandboxUnavailableError(
            f"The Python interpreter {command[0]} cannot be started ({error}). "
            "Set STEPWELL_PYTHON to a Python 3.11 or newer, or unset it."
        ) from error
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return ChildProcess(process, ours)


def ending(code: int) -> str:
    """In words, how a process ended that was not asked to."""
    if code >= 0:
        return f"the code ended the Python process with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown"
    why: dict[int, str] = {
        signal.SIGSEGV: "crashed: segmentation fault",
        signal.SIGBUS: "crashed: bus error",
        signal.SIGABRT: "crashed: aborted by a library",
        signal.SIGFPE: "crashed: arithmetic error in a library",
        signal.SIGILL: "crashed: illegal instruction",
        signal.SIGKILL: "was killed from outside, as happens when memory runs out",
    }
    return f"the Python process {why.get(-code, 'was ended')} (signal {-code}, {name})"
