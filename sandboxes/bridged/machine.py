"""The machine that a bridged sandbox is on: all that a kind of sandbox has to write."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

End = Literal["keep", "spare", "delete"]
"""What becomes of a machine that is ended. `keep`: something in it is nowhere else. `spare`: the store has all of it,
so it may be deleted when it has not been used for a while. `delete`: at once."""


class Machine(ABC):
    """One machine, found again by a name that a thread gives it. Nothing is asked of it before it is used.

    A machine has a working directory that survives a stop, a POSIX shell, and Python 3.11 or newer as `python3`. It is
    started when it is used and does not run, and made when there is none. Relative paths are below that directory.

    Attributes:
        kind: Which kind of sandbox is on it.
        isolation: What keeps code in it away from this machine, in one sentence.
        noun: What it is called in messages.
        advice: A sentence that says how another Python is chosen for it.
        late_seconds: How long after its time limit the end of a cell may be waited for; then the machine is ended.
        was_stored: Whether the store had all that was in it when this process first used it.
        why_down: Why it did not run when it was asked about last; empty when that is not known.
    """

    kind: str
    isolation: str
    noun: str
    advice: str
    late_seconds: float = 120.0
    was_stored: bool = True
    why_down: str = ""

    @abstractmethod
    async def life(self, *, start: bool) -> int:
        """Say which of its lives it is in.

        In each life processes are new. Lives are counted from 1, by what this process has seen of them.

        Args:
            start: Whether to start or make it when it does not run; without that it is asked whether it still does.

        Returns:
            The number; 0: it does not run, or this process has not used it since it was ended.

        Raises:
            SandboxRefusedError: the operator has to mend something first.
            SandboxUnavailableError: it cannot be started, or asked, now.
        """

    @abstractmethod
    async def execute(self, command: str, *, doing: str, seconds: float, again: bool) -> str:
        """Run a shell command in the working directory; the machine is started for it.

        Args:
            command: What the shell is given; up to 64,000 characters.
            doing: What for, as in "could not …".
            seconds: How long it may take.
            again: Whether it may be run twice, when nobody knows whether it was run.

        Returns:
            What it printed to both streams, whatever its exit code is.

        Raises:
            SandboxRefusedError: the operator has to mend something first.
            SandboxUnavailableError: it was not run, or nobody knows.
        """

    @abstractmethod
    async def upload(self, files: Mapping[str, bytes | str], *, doing: str) -> None:
        """Copy files to the machine, of which folders are made; one that is there is replaced. It may be done twice.

        Args:
            files: By the path there, their content, or as text the path of a file here.
            doing: What for, as in "could not …".

        Raises:
            SandboxRefusedError: the operator has to mend something first.
            SandboxUnavailableError: they are not all there.
        """

    @abstractmethod
    async def download(self, files: Mapping[str, Path | None], *, doing: str) -> dict[str, bytes | None]:
        """Copy files from the machine. A file here grows as it arrives; whoever cancels the task removes it.

        Args:
            files: By the path there, the path here that they go to, or None for their content.
            doing: What for, as in "could not …".

        Returns:
            Those that there are, with their content where no path was given.

        Raises:
            SandboxRefusedError: the operator has to mend something first.
            SandboxUnavailableError: they cannot be had now.
        """

    @abstractmethod
    async def stream(self, program: str, base: str, message: bytes, hear: Callable[[str], None]) -> str:
        """Have `attach` of `sandboxes/inside/bridge/attach.py` run, until it ends or this task is cancelled.

        Args:
            program: The path of that file there.
            base: The folder of the sandbox's things there.
            message: What it hands to the bridge.
            hear: Called with what it prints, in pieces of any size.

        Returns:
            What it complained of; empty when it ended well.

        Raises:
            SandboxUnavailableError: nothing was sent.
            SandboxRefusedError: nothing was sent, and asking again does not help.
            Exception: any other: the stream broke off.
        """

    @abstractmethod
    async def end(self, how: End) -> None:
        """Stop or delete it. Its processes end; one that is not there is no error.

        With `keep` and `spare`, only a machine that this process has used since it was last ended.

        Raises:
            SandboxUnavailableError: it cannot be done now.
        """

    async def hold(self) -> None:  # noqa: B027 - nothing has to be done where nothing is deleted by itself
        """From now on treat `spare` as `keep`: it holds something that exists nowhere else.

        Raises:
            SandboxUnavailableError: it cannot be said now.
        """

    async def settled(self) -> None:  # noqa: B027
        """Wait until everything that was cancelled has been undone."""
