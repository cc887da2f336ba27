"""The place of a thread in its Daytona sandbox: a folder with its things and our programs, and commands run there."""

import asyncio
import json
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sandboxes.base import SandboxRefusedError, SandboxUnavailableError
from sandboxes.daytona import programs
from sandboxes.daytona.machine import Machine
from sandboxes.host import replies
from sandboxes.inside import PROGRAMS
from sandboxes.inside.bridge.attach import SEPARATOR

if TYPE_CHECKING:
    from daytona import AsyncSandbox

FOLDER = "stepwell"
"""In the sandbox's working directory."""
MAX_COMMAND = 60_000
"""Characters; what is longer is uploaded."""
COMMAND_SECONDS = 120
MARK = "STEPWELL-END"
CHOOSE = "Choose another snapshot or image with STEPWELL_DAYTONA_SNAPSHOT or STEPWELL_DAYTONA_IMAGE."
TRIES = 2
BEGIN = """B="$PWD/{folder}"; P="$B/programs/{name}"
echo; printf '\\036BASE %s\\n' "$B"
python3 -c '{check}' </dev/null || exit 1
test -d "$P" && exec python3 -P -s "$P/bridge/start.py" do "$B" <<'{mark}'
{asked}
{mark}
"""
CHECK = """import sys
if sys.version_info < (3, 11):
    sys.exit("{needs} its python3 is %s." % sys.version.split()[0])
"""
NEEDS = "Stepwell needs Python 3.11 or newer in the sandbox;"
UNPACK = """B="$PWD/{folder}"; P="$B/programs/{name}"; T="$P.$$"
mkdir -p "$T" && tar -xzf "$B/in/{archive}" -C "$T" || exit 1
rm -f "$B/in/{archive}"
mv -T "$T" "$P" 2>/dev/null || rm -rf "$T"
"""


@dataclass(frozen=True, slots=True)
class State:
    """What is known of a place that is ready."""

    life: int
    """Of its machine."""
    base: str
    """The folder of its things, absolute."""
    program: str
    """The folder of our programs, absolute."""
    name: str
    """Tells it from other places."""


class Place:
    """Where a thread's things are in its sandbox.

    Args:
        machine: The sandbox.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._state: State | None = None
        self._turn = asyncio.Lock()
        self._others: set[str] = set()
        self._garbage: list[str] = []

    async def ready(self) -> State:
        """The place, with our programs there.

        Raises:
            SandboxUnavailableError: it cannot be had now.
        """
        async with self._turn:
            await self.machine.ready()
            if self._state is None or self._state.life != self.machine.life:
                self._others.clear()
                self._garbage.clear()
                self._state = await self._prepared()
            return self._state

    def forget(self) -> None:
        """Look at it again before it is used."""
        self._state = None

    async def _prepared(self) -> State:
        name, archive = await asyncio.to_thread(programs.ours)
        base, said = await self._begin(name)
        if said is None:
            packed = f"{name}.{secrets.token_hex(4)}.tar.gz"
            await self.upload({f"{FOLDER}/in/{packed}": archive}, doing="upload the kernel")
            await self.shell(UNPACK.format(folder=FOLDER, name=name, archive=packed), "unpack the kernel")
            base, said = await self._begin(name)
        if said is None:
            raise SandboxUnavailableError(
                "The kernel cannot be put into the Daytona sandbox: it does not arrive there."
            )
        return State(
            life=self.machine.life,
            base=base,
            program=f"{base}/programs/{name}",
            name=str(said.get("place", ""))[:32],
        )

    async def _begin(self, name: str) -> tuple[str, dict[str, Any] | None]:
        """Where the place is, and what it says of itself; None when our programs are not there."""
        check = CHECK.format(needs=NEEDS)
        text = BEGIN.format(folder=FOLDER, name=name, mark=MARK, check=check, asked=json.dumps({"do": "state"}))
        printed = await self.shell(text, "look at the sandbox")
        lines = [line[1:] for line in printed.split("\n") if line.startswith(SEPARATOR)]
        base = next((line.removeprefix("BASE ") for line in lines if line.startswith("BASE ")), "")
        line = next((line for line in lines if line.startswith("{")), None)
        said = await replies.read(line.encode("utf-8", "replace")) if line is not None else None
        if not base.startswith("/"):
            raise SandboxUnavailableError(f"The Daytona sandbox does not run commands ({printed.strip()[:200]}).")
        if said is None and NEEDS in printed:
            older = next(line for line in printed.splitlines() if NEEDS in line)
            raise SandboxRefusedError(f"{older[older.index(NEEDS) :][:200].strip()} {CHOOSE}")
        if said is None and re.search(r"python3: (command )?not found", printed):
            raise SandboxRefusedError(f"There is no python3 in the Daytona sandbox. {CHOOSE}")
        return base, said

    async def shell(self, text: str, doing: str, seconds: float = COMMAND_SECONDS, again: bool = True) -> str:
        """Run a shell command, and return what it printed.

        Raises:
            SandboxUnavailableError: it cannot be run now.
        """

        async def call(sandbox: "AsyncSandbox") -> str:
            return (await sandbox.process.exec(text, timeout=int(seconds))).result

        return await self.machine.use(doing, call, again=again)

    async def command(
        self, do: str, *, seconds: float = COMMAND_SECONDS, twice: bool = True, **asked: Any
    ) -> dict[str, Any]:
        """Have `sandboxes/inside/bridge/commands.py` do something.

        Args:
            do: What.
            seconds: How long it may take.
            twice: Whether it may be done twice, when nobody knows whether it was done.
            asked: What for.

        Raises:
            SandboxUnavailableError: it cannot be done now.
        """
        garbage, self._garbage = self._garbage, []
        text, printed = json.dumps({"do": do, "garbage": garbage, **asked}), ""
        for _ in range(TRIES):
            state = await self.ready()
            printed = await self.shell(await self._command(state, text), "run a command in the sandbox", seconds, twice)
            for line in printed.split("\n"):  # not splitlines(): the separator is an end of line for it
                if line.startswith(SEPARATOR) and (said := await replies.read(line[1:].encode("utf-8", "replace"))):
                    return said
                if line.startswith(SEPARATOR + "{}"):
                    return {}
            if self.machine.life == state.life:
                break  # else it was started meanwhile, and may have nothing of ours
        raise SandboxUnavailableError(f"The Daytona sandbox did not answer ({do}: {printed.strip()[-300:]}).")

    async def _command(self, state: State, text: str) -> str:
        if len(text) > MAX_COMMAND:
            name = secrets.token_hex(16)
            await self.upload({f"{state.base}/in/{name}": text.encode()}, doing="upload a command")
            text = json.dumps({"from": name})
        return f"exec python3 -P -s '{state.program}/bridge/start.py' do '{state.base}' <<'{MARK}'\n{text}\n{MARK}\n"

    async def upload(self, files: dict[str, bytes | str], *, doing: str) -> None:
        """Upload files in one request.

        Args:
            files: By the path there, their content, or as text the path of a host file.
            doing: What for.
        """

        async def call(sandbox: "AsyncSandbox") -> None:
            from daytona import FileUpload

            await sandbox.fs.upload_files([FileUpload(source, path) for path, source in files.items()])

        if files:
            await self.machine.use(doing, call)

    async def download(self, files: dict[str, Path | None], *, doing: str) -> dict[str, bytes | None]:
        """Download files in one request.

        Args:
            files: By the path there, the host path that they go to, or None for their content.
            doing: What for.

        Returns:
            Those that could be had, with their content where no host path was given.
        """

        async def call(sandbox: "AsyncSandbox") -> dict[str, bytes | None]:
            from daytona import FileDownloadRequest

            asked = [FileDownloadRequest(path, str(target) if target else None) for path, target in files.items()]
            found: dict[str, bytes | None] = {}
            for response in await sandbox.fs.download_files(asked):
                if response.error is None and response.result is not None:
                    found[response.source] = response.result if isinstance(response.result, bytes) else None
            return found

        return await self.machine.use(doing, call) if files else {}

    def discard(self, name: str) -> None:
        """Have a file that was fetched removed with the next command."""
        self._garbage.append(name)

    async def program(self, folder: Path) -> str:
        """Where a program of ours is in the sandbox; it is uploaded if it is not there.

        Raises:
            SandboxUnavailableError: it cannot be uploaded.
        """
        state = await self.ready()
        if folder.parent == PROGRAMS and folder.name in programs.OURS:
            return f"{state.program}/{folder.name}"
        name, archive = await asyncio.to_thread(programs.another, folder)
        if name not in self._others:
            packed = f"{name}.{secrets.token_hex(4)}.tar.gz"
            await self.upload({f"{state.base}/in/{packed}": archive}, doing="upload a program")
            await self.shell(UNPACK.format(folder=FOLDER, name=name, archive=packed), "unpack a program")
            self._others.add(name)
        return f"{state.base}/programs/{name}/{folder.name}"
