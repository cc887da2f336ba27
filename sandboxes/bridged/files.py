"""Files and blobs on their way between this machine and a bridged sandbox; memory stays flat, whatever their size."""

import asyncio
import hashlib
import secrets
from collections.abc import Sequence
from pathlib import Path

from sandboxes.base import SandboxUnavailableError, SnapshotMissingError, TakenBlob, workspace_path
from sandboxes.bridged.place import Place
from sandboxes.host.blobs import PARTIAL, checked, too_large
from sandboxes.host.limits import Ending, Limits, in_words
from sandboxes.host.session_pool import Lease
from sandboxes.inside.bridge import tree
from sandboxes.results import FetchedFile, ProgramResult, Status, WorkspaceFile

MORE_SECONDS = 30.0
"""What a command may take beyond the program that it runs."""
LOOK_SECONDS = 0.1
"""How often the size of what is being downloaded is looked at."""
AT_ONCE = 500
"""Files in one request: a service may limit its parts."""


class BridgedFiles:
    """What goes in and out of a sandbox beside its session.

    Args:
        place: Where its things are.
        lease: Keeps it from being put to sleep meanwhile.
    """

    def __init__(self, place: Place, lease: Lease) -> None:
        self._place = place
        self._lease = lease
        self._to_drop: list[str] = []
        """Blobs that the store has and that are in the spool still."""

    def _dropping(self) -> list[str]:
        names, self._to_drop = self._to_drop, []
        return names

    async def run_program(self, program: Path, arguments: Sequence[str], *, timeout: float) -> ProgramResult:
        """Run a program of ours beside the session; see `Sandbox.run_program`.

        Raises:
            SandboxUnavailableError: it cannot be started.
        """
        with self._lease.in_use():
            return await _run_program(self._place, program, arguments, timeout)

    async def put(self, source: Path, path: str) -> None:
        """Copy a host file into the workspace; see `Sandbox.put`. What lies in `inputs/` is read-only.

        Raises:
            FileNotFoundError: there is no such host file.
            SandboxUnavailableError: there is no room for it, or the workspace cannot be written.
            ValueError: the path leaves the workspace.
        """
        with self._lease.in_use():
            await _put(self._place, source, path)

    async def files(self, folder: str) -> list[WorkspaceFile]:
        """The regular files below a folder; `.` stands for the whole workspace.

        Raises:
            ValueError: the folder leaves the workspace.
        """
        with self._lease.in_use():
            return await _files(self._place, folder)

    async def fetch(self, path: str, target: Path, *, max_bytes: int) -> FetchedFile:
        """Copy a workspace file out; see `Sandbox.fetch`.

        Raises:
            FileNotFoundError: there is no regular file at that path.
            ValueError: it is larger than `max_bytes`, or the path leaves the workspace.
        """
        with self._lease.in_use():
            return await _fetch(self._place, path, target, max_bytes)

    async def take_blobs(
        self, names: Sequence[str], folder: Path, *, max_bytes: int | None = None
    ) -> dict[str, TakenBlob]:
        """Copy blobs out of the spool; see `Sandbox.take_blobs`.

        Raises:
            SnapshotMissingError: one is not there.
            SnapshotTooLargeError: they have more than `max_bytes`.
        """
        for name in names:
            if name in self._to_drop:
                raise SnapshotMissingError(f"The sandbox has no blob {name} any more.")
        with self._lease.in_use():
            await _take_blobs(self._place, names, folder, max_bytes)
        return {}  # they were written by the client of the machine

    async def supply_blobs(self, files: Sequence[Path]) -> None:
        """Give the sandbox blobs for a restore.

        Raises:
            SandboxUnavailableError: there is no room for them.
        """
        with self._lease.in_use():
            await _supply_blobs(self._place, files)

    async def supplied_blobs(self) -> frozenset[str]:
        """The blobs that it was given and still has."""
        with self._lease.in_use():
            return await _supplied_blobs(self._place, self._dropping())


async def _put(place: Place, source: Path, path: str) -> None:
    """Copy a host file into the workspace, whole or not at all; see `Sandbox.put`."""
    path = workspace_path(path)
    await asyncio.to_thread(_readable, source)
    base = (await place.ready()).base
    name = secrets.token_hex(16)
    await place.upload({f"{base}/in/{name}": str(source)}, doing="upload a file (is there room for it?)")
    said = await place.command("place", source=name, path=path, twice=False)
    if wrong := said.get("wrong"):
        raise ValueError(str(wrong))
    if failed := said.get("failed"):
        raise SandboxUnavailableError(f"{path} cannot be put into {place.machine.noun}. {failed}.")


def _readable(source: Path) -> None:
    with source.open("rb"):
        return


async def _files(place: Place, folder: str) -> list[WorkspaceFile]:
    """The regular files below a folder."""
    folder = "" if folder in ("", ".") else workspace_path(folder)
    rows = (await place.command("list", folder=folder)).get("files")
    found = []
    for row in rows if isinstance(rows, list) else []:
        match row:
            case [str(path), int(size)] if size >= 0 and tree.inside(path.split("/")):
                found.append(WorkspaceFile(path, size))
    return sorted(found, key=lambda file: file.path)


async def _fetch(place: Place, path: str, target: Path, max_bytes: int) -> FetchedFile:
    """Copy a workspace file out; see `Sandbox.fetch`."""
    exact = [path] if tree.inside(path.split("/")) else []
    said = await place.command("stage", paths=list(dict.fromkeys([*exact, workspace_path(path)])), limit=max_bytes)
    shown = str(said.get("path", path))
    if large := said.get("large"):
        has = f"{large:,} bytes, more than" if isinstance(large, int) and large > 0 else "grown beyond"
        raise ValueError(f"{shown!r} has {has} the {max_bytes:,} bytes that are allowed")
    if failed := said.get("failed"):
        raise SandboxUnavailableError(f"{shown!r} cannot be fetched from {place.machine.noun}. {failed}.")
    name = said.get("name")
    if not isinstance(name, str) or "/" in name:
        raise FileNotFoundError(2, "there is no regular file of that name in the workspace", path)
    base = (await place.ready()).base
    partial = target.with_name(f"{PARTIAL}{secrets.token_hex(8)}")
    staged = f"{base}/out/{name}"
    try:
        found, _ = await _download(place, {staged: partial}, doing="fetch a file", max_bytes=max_bytes)
        place.discard(name)
        if staged not in found:
            raise SandboxUnavailableError(f"{shown!r} cannot be fetched from {place.machine.noun}.")
        return await asyncio.to_thread(_arrived, partial, target, shown, max_bytes)
    except _TooLargeError as error:
        raise ValueError(f"{shown!r} has {error.size:,} bytes, more than the {max_bytes:,} that are allowed") from None
    finally:
        await asyncio.to_thread(partial.unlink, missing_ok=True)


def _arrived(partial: Path, target: Path, path: str, max_bytes: int) -> FetchedFile:
    size = partial.stat().st_size
    if size > max_bytes:
        raise ValueError(f"{path!r} has {size:,} bytes, more than the {max_bytes:,} that are allowed")
    with partial.open("rb") as reading:
        digest = hashlib.file_digest(reading, "sha256").hexdigest()
    partial.replace(target)
    return FetchedFile(path=path, size=size, sha256=digest)


async def _take_blobs(place: Place, names: Sequence[str], folder: Path, max_bytes: int | None = None) -> None:
    """Copy blobs out of the sandbox in one request, each whole or not at all; see `Sandbox.take_blobs`."""
    base, room = (await place.ready()).base, max_bytes
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    for start in range(0, len(names), AT_ONCE):
        some = [checked(name) for name in names[start : start + AT_ONCE]]
        asked: dict[str, Path | None] = {f"{base}/spool/{name}": folder / f"{PARTIAL}{name}" for name in some}
        try:
            found, size = await _download(place, asked, doing="fetch a snapshot", max_bytes=room)
        except _TooLargeError as error:
            raise too_large((max_bytes or 0) - (room or 0) + error.size, max_bytes or 0) from None
        room = room - size if room is not None else None
        for name in some:
            if f"{base}/spool/{name}" not in found:
                raise SnapshotMissingError(f"The sandbox has no blob {name}.")
            await asyncio.to_thread((folder / f"{PARTIAL}{name}").replace, folder / name)


class _TooLargeError(Exception):
    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


async def _download(
    place: Place, asked: dict[str, Path | None], *, doing: str, max_bytes: int | None
) -> tuple[dict[str, bytes | None], int]:
    """Download files, and break off soon after they have grown beyond a size: what a sandbox says of it may be a lie.

    Returns:
        Those that could be had, and how many bytes they have together.
    """
    targets = [target for target in asked.values() if target is not None]
    coming = asyncio.ensure_future(place.download(asked, doing=doing))
    try:
        while True:
            await asyncio.wait((coming,), timeout=LOOK_SECONDS)
            ended = coming.done()
            size = await asyncio.to_thread(_size, targets)
            if max_bytes is not None and size > max_bytes:
                raise _TooLargeError(size)
            if ended:
                return coming.result(), size
    except BaseException:
        coming.cancel()
        await asyncio.wait((coming,))
        await asyncio.to_thread(_remove, targets)
        raise


def _size(files: Sequence[Path]) -> int:
    return sum(file.stat().st_size for file in files if file.exists())


def _remove(files: Sequence[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)


async def _supply_blobs(place: Place, files: Sequence[Path]) -> None:
    """Copy host files to where the sandbox reads its blobs, in one request."""
    base = (await place.ready()).base
    distinct = list({file.name: file for file in files}.values())
    for start in range(0, len(distinct), AT_ONCE):
        some: dict[str, bytes | str] = {
            f"{base}/blobs/{checked(file.name)}": str(file) for file in distinct[start : start + AT_ONCE]
        }
        await place.upload(some, doing="upload a snapshot (is there room for it?)")


async def _supplied_blobs(place: Place, drop: Sequence[str]) -> frozenset[str]:
    """The blobs that it can be restored from."""
    names = (await place.command("supplied", drop=list(drop))).get("names")
    return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()


async def _run_program(place: Place, program: Path, arguments: Sequence[str], timeout: float) -> ProgramResult:
    """Run a program beside the session; see `Sandbox.run_program`."""
    folder = await place.program(program)
    seconds = timeout + MORE_SECONDS
    said = await place.command(
        "program", folder=folder, arguments=list(arguments), timeout=timeout, seconds=seconds, twice=False
    )
    code, complained = said.get("code"), str(said.get("stderr", ""))
    status: Status = "ok" if code == 0 else "timeout" if code is None else "error"
    if code is None:
        complained += f"\nended at its time limit of {timeout:g} s"
    elif isinstance(code, int) and code < 0:
        status = "killed"
        complained += f"\n{in_words(Ending(code), Limits())}"
    return ProgramResult(status=status, stdout=str(said.get("stdout", "")), stderr=complained)


async def empty_workspace(place: Place, token: str) -> None:
    """End the session, and leave nothing in the workspace but the inputs."""
    said = await place.command("end", token=token, again=True)
    if failed := said.get("failed"):
        raise SandboxUnavailableError(f"The workspace in {place.machine.noun} is in the way. {failed}.")


async def end_session(place: Place, token: str) -> bool:
    """End the session; returns whether it was ours, or nobody's."""
    try:
        if not await place.machine.life(start=False):
            return True  # and it is not started for that
        return bool((await place.command("end", token=token)).get("ours", True))
    except SandboxUnavailableError:
        return True  # what cannot be asked is not in use
