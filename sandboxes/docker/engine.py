"""The engine's command line: runs it, bounds what it says and how long it takes, and makes our errors of its own.

| the engine says | we |
|---|---|
| nothing, since there is no such command, or it may not be run | `SandboxRefusedError` |
| that its socket may not be used | `SandboxRefusedError` |
| that its daemon cannot be reached; nothing for a minute | `SandboxUnavailableError` |
| that there is no such image, or that it cannot make a container in the way that we ask for | `SandboxRefusedError` |
| that there is no container, or none that runs | the machine looks at its state, and starts or makes it |
| everything else | `SandboxUnavailableError`, with what it said |
"""

import asyncio
import json
import math
import os
import re
import signal
import time
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from sandboxes.base import SandboxRefusedError, SandboxUnavailableError
from sandboxes.host import descriptors

T = TypeVar("T")

MAX_PRINTED = 64 << 20
"""Bytes that one command may print."""
MAX_COMPLAINT = 64 << 10
MAX_SAID = 400
PASSED = re.compile(
    r"PATH|HOME|USER|LOGNAME|LANG|LC_\w+|TMPDIR|SSH_AUTH_SOCK|SSL_CERT_\w+|DBUS_SESSION_BUS_ADDRESS|KUBECONFIG"
    r"|(XDG|DOCKER|CONTAINER|CONTAINERS|CONTAINERD|PODMAN|NERDCTL)_\w+|(http|https|no|all)_proxy",
    re.IGNORECASE,
)
"""Variables that the command gets of ours. Not keys: an engine can be told to hand its environment on."""
DENIED = re.compile(r"permission denied.*(sock|daemon)|(sock|daemon).*permission denied", re.IGNORECASE | re.DOTALL)
DOWN = re.compile(
    r"cannot connect to|is the docker daemon running|connection refused|error during connect|unable to connect to"
    r"|connect: no such file|dial (unix|tcp)|connection reset|i/o timeout",
    re.IGNORECASE,
)
NO_IMAGE = re.compile(
    r"no such image|image not known|unable to find image|not found.*image|no such object", re.IGNORECASE
)
NOT_THERE = re.compile(r"no such (container|object)|no container with|does not exist|not found", re.IGNORECASE)
NOT_RUN = re.compile(
    r"is not running|no such container|no container with|running containers|improper state|state improper"
    r"|container is (stopped|paused|restarting)|cannot exec in a stopped",
    re.IGNORECASE,
)
"""What is said of a command that surely was not run in a container."""
TAKEN = re.compile(r"already in use|name.*is in use|already exists", re.IGNORECASE)
PASSING = re.compile(r"no space left|timed? ?out|deadline exceeded|try again|too many|in progress", re.IGNORECASE)
"""What may be otherwise a moment later, of what an engine says when it makes a container."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command of the engine."""

    code: int
    printed: bytes
    complaint: str

    @property
    def said(self) -> str:
        """Its error message, in one line."""
        said = " ".join(self.complaint.split()) or f"exit code {self.code}"
        return re.sub(r"^(docker: |Error: |Error response from daemon: |time=\S+ level=\w+ msg=)+", "", said)[:MAX_SAID]


class ContainerEngine:
    """A container engine.

    Args:
        command: Its command line, as words.
        patience: Seconds that it may take for something that takes none.
    """

    def __init__(self, command: Sequence[str], patience: float) -> None:
        self._command = tuple(command)
        self.patience = patience
        self.name = " ".join(command)
        self._memory: int | None = None
        self.made = False
        """Whether a container was made by this process."""
        self.tidied = -math.inf
        """When those that nobody needs were removed last."""

    async def start(self, arguments: Sequence[str], stdin: int = asyncio.subprocess.PIPE) -> asyncio.subprocess.Process:
        """Start the command, apart from the terminal, so that Ctrl-C is ours.

        Raises:
            SandboxRefusedError: it cannot be started.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                *arguments,
                stdin=stdin,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={name: value for name, value in os.environ.items() if PASSED.fullmatch(name)},
                start_new_session=True,
            )
        except FileNotFoundError:
            raise SandboxRefusedError(
                f"There is no command {self._command[0]!r} here: install Docker, Podman or nerdctl, or name the "
                "engine's command with STEPWELL_DOCKER_COMMAND."
            ) from None
        except OSError as error:
            raise SandboxRefusedError(
                f"{self._command[0]!r} cannot be run ({error.strerror or error}): see STEPWELL_DOCKER_COMMAND."
            ) from error
        descriptors.as_before(process.pid)
        return process

    async def run(
        self, *arguments: str, doing: str, seconds: float | None = None, inside: bool = False
    ) -> CommandResult:
        """Run a command to its end, whatever that is.

        Args:
            arguments: What it is asked.
            doing: What for, as in "could not …".
            seconds: How long it may take; None: as long as something that takes none.
            inside: Whether code in the container may have a hand in what is said: then that is not believed.

        Raises:
            SandboxRefusedError: it cannot be started, or its engine may not be used.
            SandboxUnavailableError: it does not end, or its engine cannot be reached.
        """
        process = await self.start(arguments, asyncio.subprocess.DEVNULL)
        talk = asyncio.gather(bounded(process.stdout, MAX_PRINTED), bounded(process.stderr, MAX_COMPLAINT))
        printed, complaint = await self.waited(process, talk, doing, seconds or self.patience)
        done = CommandResult(process.returncode or 0, printed, complaint.decode("utf-8", "replace"))
        if done.code and not inside:
            self.check_reached(done, doing)
        return done

    async def waited(
        self,
        process: asyncio.subprocess.Process,
        work: Awaitable[T],
        doing: str,
        seconds: float,
        moved: Sequence[int] = (0,),
    ) -> T:
        """Wait for the work with a command and for its end; it is killed when either does not come.

        Args:
            process: The command.
            work: What is done with it.
            doing: What for, as in "could not …".
            seconds: How long it may take without anything having moved.
            moved: How much has, as its only element.

        Raises:
            SandboxUnavailableError: it took too long.
        """
        both = asyncio.ensure_future(_both(work, process))
        try:
            before, last = moved[0], time.monotonic()
            while not both.done():
                await asyncio.wait((both,), timeout=min(seconds, 1.0))
                if (now := moved[0]) != before:
                    before, last = now, time.monotonic()
                if time.monotonic() - last > seconds and not both.done():
                    raise SandboxUnavailableError(
                        f"{self.name} could not {doing}: it does not answer (waited {seconds:g} s)."
                    )
            return both.result()
        finally:
            end(process)
            if not both.done():
                await asyncio.wait((both,), timeout=5.0)
                both.cancel()

    def check_reached(self, done: CommandResult, doing: str) -> None:
        """Check that a command that failed has reached its engine.

        Raises:
            SandboxRefusedError: the engine may not be used.
            SandboxUnavailableError: it cannot be reached.
        """
        if DENIED.search(done.complaint):
            raise SandboxRefusedError(
                f"{self.name} may not be used by this user ({done.said}): let them use the engine's socket, or run the "
                "engine without root."
            )
        if DOWN.search(done.complaint) and not NOT_RUN.search(done.complaint):
            raise SandboxUnavailableError(f"{self.name} could not {doing}: its engine cannot be reached ({done.said}).")

    async def reach(self) -> None:
        """Ask the engine for something that it has at once.

        Raises:
            SandboxRefusedError: it cannot be started, or may not be used.
            SandboxUnavailableError: it cannot be reached.
        """
        await self.run("ps", "--quiet", "--filter", "label=none", doing="make a container")

    def failed(self, done: CommandResult, doing: str, *, making: bool = False) -> Exception:
        """The error that a failed command is.

        Args:
            done: What came of it.
            doing: What for, as in "could not …".
            making: Whether a container was to be made or started: what the engine does not do then, it never will.
        """
        said = f"{self.name} could not {doing}: {done.said.rstrip('.')}."
        return (
            SandboxRefusedError(said)
            if making and not PASSING.search(done.complaint)
            else SandboxUnavailableError(said)
        )

    async def memory(self) -> int:
        """Bytes of memory of the engine's machine; 0: unknown.

        Raises:
            SandboxRefusedError: the engine cannot be used at all.
            SandboxUnavailableError: it cannot be reached.
        """
        if self._memory is None:
            doing = "say what its machine is"
            done = await self.run("info", "--format", "{{json .}}", doing=doing)
            if done.code:
                raise self.failed(done, doing)
            said = _object(done.printed)
            if problems := said.get("ServerErrors"):  # Docker's command ends well although its daemon is not there
                wrong = CommandResult(1, b"", " ".join(map(str, problems)))
                self.check_reached(wrong, doing)
                raise self.failed(wrong, doing)
            host = said.get("host")
            found = said.get("MemTotal") or (host.get("memTotal") if isinstance(host, dict) else 0)
            self._memory = found if isinstance(found, int) else 0
        return self._memory

    async def inspect(self, names: Sequence[str], doing: str) -> list[dict[str, Any]]:
        """What the engine knows of those containers that exist: `Name`, `State`, and `Labels`.

        Raises:
            SandboxRefusedError: the engine cannot be used at all.
            SandboxUnavailableError: it does not say.
        """
        form = '{"Name": {{json .Name}}, "State": {{json .State}}, "Labels": {{json .Config.Labels}}}'
        done = await self.run("container", "inspect", "--format", form, *names, doing=doing)
        if done.code and not NOT_THERE.search(done.complaint):
            raise self.failed(done, doing)
        return [_object(line) for line in done.printed.splitlines() if line.strip().startswith(b"{")]


def end(process: asyncio.subprocess.Process) -> None:
    """End a command at once, if it has not ended."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


async def _both(work: Awaitable[T], process: asyncio.subprocess.Process) -> T:
    came = await work
    await process.wait()
    return came


async def bounded(stream: asyncio.StreamReader | None, most: int) -> bytes:
    """All of a stream; what is beyond the bound is discarded."""
    assert stream is not None
    kept = bytearray()
    while data := await stream.read(1 << 16):
        kept += data[: most - len(kept)]
    return bytes(kept)


def _object(data: bytes) -> dict[str, Any]:
    try:
        said = json.loads(data)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
