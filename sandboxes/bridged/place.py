"""The place of a thread on its machine: a folder with its things and our programs, and commands run there."""

import asyncio
import functools
import hashlib
import io
import json
import re
import secrets
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandboxes.base import SandboxRefusedError, SandboxUnavailableError
from sandboxes.bridged.machine import Machine
from sandboxes.host import replies
from sandboxes.inside import PROGRAMS
from sandboxes.inside.bridge.attach import SEPARATOR
from sandboxes.local.isolation import cloudpickle_path

OURS = ("kernel", "bridge", "profiler", "prober")
"""Our programs that every machine has."""
FOLDER = "stepwell"
"""In the machine's working directory."""
MAX_COMMAND = 60_000
"""Characters; what is longer is uploaded."""
COMMAND_SECONDS = 120
MARK = "STEPWELL-END"
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
if "t" in getattr(sys, "abiflags", ""):
    sys.exit("{needs} its python3 is one without the global interpreter lock.")
"""
NEEDS = "Stepwell needs Python 3.11 or newer in the sandbox;"
UNPACK = """B="$PWD/{folder}"; P="$B/programs/{name}"; T="$P.$$"
mkdir -p "$T" && tar -xzf "$B/in/{archive}" -C "$T" || exit 1
rm -f "$B/in/{archive}"
mv -T "$T" "$P" 2>/dev/null || rm -rf "$T"
"""


@dataclass(frozen=True, slots=True)
class ReadyPlace:
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
    """Where a thread's things are on its machine.

    Args:
        machine: The machine.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._state: ReadyPlace | None = None
        self._turn = asyncio.Lock()
        self._others: set[str] = set()
        self._garbage: list[str] = []

    async def ready(self) -> ReadyPlace:
        """The place, with our programs there.

        Raises:
            SandboxUnavailableError: it cannot be had now.
        """
        async with self._turn:
            life = await self.machine.life(start=True)
            if self._state is None or self._state.life != life:
                self._others.clear()
                self._garbage.clear()
                self._state = await self._prepared(life)
            return self._state

    @property
    def _noun(self) -> str:
        return self.machine.noun[:1].upper() + self.machine.noun[1:]

    def forget(self) -> None:
        """Check the machine again before its next use."""
        self._state = None

    async def _prepared(self, life: int) -> ReadyPlace:
        name, archive = await asyncio.to_thread(ours)
        base, reply = await self._begin(name)
        if reply is None:
            packed = f"{name}.{secrets.token_hex(4)}.tar.gz"
            await self.machine.upload({f"{FOLDER}/in/{packed}": archive}, doing="upload the kernel")
            await self.shell(UNPACK.format(folder=FOLDER, name=name, archive=packed), "unpack the kernel")
            base, reply = await self._begin(name)
        if reply is None:
            raise SandboxUnavailableError(
                f"The kernel cannot be put into {self.machine.noun}: it does not arrive there."
            )
        return ReadyPlace(
            life=life,
            base=base,
            program=f"{base}/programs/{name}",
            name=str(reply.get("place", ""))[:32],
        )

    async def _begin(self, name: str) -> tuple[str, dict[str, Any] | None]:
        """Where the place is, and what it says of itself; None when our programs are not there."""
        check = CHECK.format(needs=NEEDS)
        text = BEGIN.format(folder=FOLDER, name=name, mark=MARK, check=check, asked=json.dumps({"do": "state"}))
        printed = await self.shell(text, "look at the sandbox")
        lines = [line[1:] for line in printed.split("\n") if line.startswith(SEPARATOR)]
        base = next((line.removeprefix("BASE ") for line in lines if line.startswith("BASE ")), "")
        line = next((line for line in lines if line.startswith("{")), None)
        reply = await replies.read(line.encode("utf-8", "replace")) if line is not None else None
        if not base.startswith("/"):
            raise SandboxUnavailableError(f"{self._noun} does not run commands ({printed.strip()[:200]}).")
        if reply is None and NEEDS in printed:
            older = next(line for line in printed.splitlines() if NEEDS in line)
            raise SandboxRefusedError(f"{older[older.index(NEEDS) :][:200].strip()} {self.machine.advice}")
        if reply is None and re.search(r"python3: (command )?not found", printed):
            raise SandboxRefusedError(f"There is no python3 in {self.machine.noun}. {self.machine.advice}")
        return base, reply

    async def shell(self, text: str, doing: str, seconds: float = COMMAND_SECONDS, again: bool = True) -> str:
        """Run a shell command, and return what it printed.

        Raises:
            SandboxUnavailableError: it cannot be run now.
        """
        return await self.machine.execute(text, doing=doing, seconds=seconds, again=again)

    async def command(
        self, do: str, *, seconds: float = COMMAND_SECONDS, twice: bool = True, **asked: Any
    ) -> dict[str, Any]:
        """Run a command of `sandboxes/inside/bridge/commands.py`.

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
                if line.startswith(SEPARATOR) and (reply := await replies.read(line[1:].encode("utf-8", "replace"))):
                    return reply
                if line.startswith(SEPARATOR + "{}"):
                    return {}
            if await self.machine.life(start=True) == state.life:
                break  # else it was started meanwhile, and may have nothing of ours
        raise SandboxUnavailableError(f"{self._noun} did not answer ({do}: {printed.strip()[-300:]}).")

    async def _command(self, state: ReadyPlace, text: str) -> str:
        if len(text) > MAX_COMMAND:
            name = secrets.token_hex(16)
            await self.upload({f"{state.base}/in/{name}": text.encode()}, doing="upload a command")
            text = json.dumps({"from": name})
        return f"exec python3 -P -s '{state.program}/bridge/start.py' do '{state.base}' <<'{MARK}'\n{text}\n{MARK}\n"

    async def upload(self, files: Mapping[str, bytes | str], *, doing: str) -> None:
        """Copy files there, if there are any; see `Machine.upload`."""
        if files:
            await self.machine.upload(files, doing=doing)

    async def download(self, files: Mapping[str, Path | None], *, doing: str) -> dict[str, bytes | None]:
        """Copy files from there, if any are asked for; see `Machine.download`."""
        return await self.machine.download(files, doing=doing) if files else {}

    def discard(self, name: str) -> None:
        """Remove a file that was fetched, together with the next command."""
        self._garbage.append(name)

    async def program(self, folder: Path) -> str:
        """Where a program of ours is in the sandbox; it is uploaded if it is not there.

        Raises:
            SandboxUnavailableError: it cannot be uploaded.
        """
        state = await self.ready()
        if folder.parent == PROGRAMS and folder.name in OURS:
            return f"{state.program}/{folder.name}"
        name, archive = await asyncio.to_thread(another, folder)
        if name not in self._others:
            packed = f"{name}.{secrets.token_hex(4)}.tar.gz"
            await self.upload({f"{state.base}/in/{packed}": archive}, doing="upload a program")
            await self.shell(UNPACK.format(folder=FOLDER, name=name, archive=packed), "unpack a program")
            self._others.add(name)
        return f"{state.base}/programs/{name}/{folder.name}"


@functools.cache
def ours() -> tuple[str, bytes]:
    """Our programs and cloudpickle: the name of their folder, and the archive."""
    files = {f"{name}/{path}": data for name in OURS for path, data in _sources(PROGRAMS / name).items()}
    if cloudpickle := cloudpickle_path():
        files["cloudpickle.py"] = Path(cloudpickle).read_bytes()
    return _packed(files)


def another(folder: Path) -> tuple[str, bytes]:
    """A program that is not among ours, under its own name."""
    return _packed({f"{folder.name}/{path}": data for path, data in _sources(folder).items()})


def _sources(folder: Path) -> dict[str, bytes]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def _packed(files: dict[str, bytes]) -> tuple[str, bytes]:
    digest, written = hashlib.sha256(), io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz", compresslevel=6) as archive:
        for path, data in sorted(files.items()):
            digest.update(f"{path}\0{len(data)}\0".encode() + data)
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    return digest.hexdigest()[:32], written.getvalue()
