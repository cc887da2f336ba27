"""The plain child process: not a security boundary, for those who ask for it by name."""

import asyncio
import os
import signal
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from sandboxes.base import SandboxUnavailableError
from sandboxes.host import descriptors, workspace
from sandboxes.host.descriptors import Pipe
from sandboxes.host.limits import Ending
from sandboxes.host.processes import Order, StartedProcess
from sandboxes.inside import PROGRAMS
from sandboxes.local import wrappers
from sandboxes.local.isolation import IsolationConfig, cloudpickle_path
from sandboxes.local.network.egress import listen_on_loopback

KERNEL = PROGRAMS / "kernel"


class ChildProcess:
    """A process with a group of its own, which dies with this one.

    It holds the other end of the lifeline; when our end closes, for whatever reason, the group is killed.
    """

    def __init__(self, process: asyncio.subprocess.Process, lifeline: socket.socket) -> None:
        self._process = process
        self._lifeline = lifeline
        self.why = ""
        self.exited: asyncio.Future[Ending] = asyncio.ensure_future(self._ended())
        """Done when it has ended."""
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """The same."""

    async def _ended(self) -> Ending:
        code = await self._process.wait()
        self.gone.set_result(None)
        return Ending(code)

    @property
    def alive(self) -> bool:
        """Whether it has not been seen to end."""
        return self._process.returncode is None

    def busy(self, runs: bool) -> None:
        """Nothing is watched."""

    def stop(self) -> bool:
        """There is never a standby."""
        return False

    def wake(self) -> None:
        """There is never a standby."""

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


class StartChild:
    """Starts child processes of this user, with a clean environment.

    Args:
        config: The interpreter, and the level: `process` or `seatbelt`; everything else in it is not kept.
    """

    def __init__(self, config: IsolationConfig) -> None:
        self._python = config.python
        self._level = config.level
        self._cache = config.cache

    async def __call__(self, order: Order) -> StartedProcess:
        """Start the kernel, or a program, in a sandbox's folder; see `Start`.

        Raises:
            SandboxUnavailableError: the interpreter cannot be started.
        """
        control, theirs = socket.socketpair()
        control.setblocking(False)
        stdout, stderr = Pipe(), Pipe()
        listener = listen_on_loopback() if order.network != "none" and order.program is None else None
        try:
            command = await asyncio.to_thread(self._command, order, listener.getsockname()[1] if listener else 0)
            wrapper = await asyncio.to_thread(self._wrapper, order)
            process = await _start(
                command,
                wrapper=wrapper,
                folder=order.folder / "workspace",
                environment=self._environment(order.folder),
                output=(stdout.theirs, stderr.theirs),
                control=theirs if order.program is None else None,
            )
        except BaseException:
            control.close()
            stdout.close()
            stderr.close()
            if listener is not None:
                listener.close()
            raise
        finally:
            theirs.close()
        stdout.close_theirs()
        stderr.close_theirs()
        return StartedProcess(process, control, stdout, stderr, listener)

    def _command(self, order: Order, proxy: int) -> list[str]:
        start = [self._python, "-P", "-s", str(KERNEL / "start.py")]
        if order.program is not None:
            return [*start, "--program", str(order.program.absolute()), *order.arguments]
        folders = ["--spool", str(order.folder / "spool"), "--blobs", str(order.folder / "blobs")]
        own = ["--reach", str(order.folder / workspace.NOTE), "--inside", str(order.folder)]
        way = ["--network", order.network, "--proxy", str(proxy)]
        return [*start, *folders, *own, *way, "--cloudpickle", cloudpickle_path()]

    def _wrapper(self, order: Order) -> list[str]:
        if self._level != "seatbelt":
            return []
        program = str(order.program.absolute()) if order.program is not None else ""
        return wrappers.in_seatbelt(self._python, order.folder, self._cache, program=program)

    def _environment(self, folder: Path) -> dict[str, str]:
        """All that code in the sandbox sees of the environment."""
        interpreter = str(Path(self._python).parent) if os.sep in self._python else ""
        path = os.environ.get("PATH", os.defpath)
        environment = {
            "PATH": f"{interpreter}{os.pathsep}{path}" if interpreter else path,
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
            "LANG": "C.UTF-8",
            "PYTHONUTF8": "1",
            # Sets have the order, and hashes the values, that they had before a restore.
            "PYTHONHASHSEED": "0",
            "MPLBACKEND": "agg",
            "MPLCONFIGDIR": self._cache,
        }
        if "TZ" in os.environ:
            environment["TZ"] = os.environ["TZ"]
        return environment


async def _start(
    command: Sequence[str],
    *,
    wrapper: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    output: tuple[int, int],
    control: socket.socket | None = None,
) -> ChildProcess:
    """Start the kernel, or a program, by the arguments of `kernel/start.py`.

    Args:
        command: The interpreter and its arguments up to `start.py`; the descriptors are added here.
        wrapper: A command that starts it, to be put before its own.
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
            *wrapper,
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
    descriptors.as_before(process.pid)
    return ChildProcess(process, ours)
