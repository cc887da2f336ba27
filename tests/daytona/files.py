"""The toolbox's endpoints of files. A path is a path of this machine; a relative one begins at the sandbox's home.

Writing outside of the sandbox's own folder is refused as a file system refuses it. There is no translation, so `/tmp`
is not the sandbox's: a driver asks where its work directory is.
"""

import asyncio
import grp
import io
import json
import os
import pwd
import secrets
import shutil
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from aiohttp import web

from tests.daytona.answers import RefusedError
from tests.daytona.faults import CutShort
from tests.daytona.sandbox import SANDBOX, EmulatedSandbox
from tests.daytona.world import WORLD

CHUNK = 1 << 18


async def download(request: web.Request) -> web.StreamResponse:
    """Many files as the parts of one multipart body; what cannot be read is a part called `error`."""
    sandbox, world = request[SANDBOX], request.app[WORLD]
    cut = world.faults.take("transfer", "download", sandbox.id, sandbox.name)
    allowed = min((one.after_bytes for one in cut if isinstance(one, CutShort)), default=None)
    asked = await request.json()
    if not asked.get("paths"):
        raise RefusedError(400, "paths is required", code="INVALID_REQUEST_BODY")
    boundary = secrets.token_hex(30)
    response = web.StreamResponse(headers={"Content-Type": f"multipart/form-data; boundary={boundary}"})
    await response.prepare(request)
    sent = 0
    for path in asked["paths"]:
        opened = await asyncio.to_thread(_open, sandbox, path)
        if isinstance(opened, bytes):
            head = _part(boundary, "error", path, "application/json", len(opened))
            await response.write(head + opened + b"\r\n")
            continue
        file, size = opened
        try:
            await response.write(_part(boundary, "file", path, "application/octet-stream", size))
            left = size
            while left and (chunk := await asyncio.to_thread(file.read, min(left, CHUNK))):
                if allowed is not None and sent + len(chunk) > allowed:
                    await response.write(chunk[: max(0, allowed - sent)])
                    assert request.transport is not None
                    request.transport.abort()
                    return response
                await response.write(chunk)
                left -= len(chunk)
                sent += len(chunk)
            await response.write(b"\r\n")
        finally:
            await asyncio.to_thread(file.close)
        world.counters.downloaded_files += 1
        world.counters.downloaded_bytes += size
    await response.write(f"--{boundary}--\r\n".encode())
    await response.write_eof()
    return response


def _open(sandbox: EmulatedSandbox, path: str) -> tuple[io.BufferedReader, int] | bytes:
    try:
        place = place_of(sandbox, path)
        if place.is_dir():
            raise RefusedError(400, "path must be a file, not a directory", code="INVALID_FILE_PATH")
        file = place.open("rb")
        return file, os.fstat(file.fileno()).st_size
    except (OSError, RefusedError) as error:
        answer = error if isinstance(error, RefusedError) else refusal("open", path, error)
        said = {"statusCode": answer.status, "message": answer.message, "code": answer.code}
        return json.dumps({**said, "source": "DAYTONA_DAEMON"}).encode()


def _part(boundary: str, name: str, path: str, kind: str, size: int) -> bytes:
    plain = path.isascii() and path.isprintable() and not set(path) & set('"\\')
    label = f'filename="{path}"' if plain else f"filename*=UTF-8''{quote(path, safe='')}"
    return (
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; {label}\r\n'
        f"Content-Type: {kind}\r\nContent-Length: {size}\r\n\r\n"
    ).encode()


async def list_files(request: web.Request) -> web.Response:
    """What is in a folder. Newer toolboxes know `depth` and say where an entry is; this one stands for v0.190.0."""

    def look(place: Path) -> list[dict[str, Any]]:
        return [_shown(entry, entry.lstat()) for entry in sorted(place.iterdir())]

    return web.json_response(await _work(request, "open", look))


async def info(request: web.Request) -> web.Response:
    """One file or folder; links are followed."""
    return web.json_response(await _work(request, "stat", lambda place: _shown(place, place.stat())))


async def folder(request: web.Request) -> web.Response:
    """Make a folder and those above it."""
    mode = int(request.query.get("mode") or "755", 8)
    await _work(request, "mkdir", lambda place: place.mkdir(mode, parents=True, exist_ok=True), writing=True)
    return web.Response(status=201)


async def move(request: web.Request) -> web.Response:
    """Rename a file or folder."""
    target = place_of(request[SANDBOX], request.query["destination"], writing=True)
    await _work(request, "rename", lambda place: place.rename(target), writing=True, name="source")
    return web.Response()


async def permissions(request: web.Request) -> web.Response:
    """Change mode, owner and group."""
    asked = request.query

    def change(place: Path) -> None:
        place.stat()
        try:
            if asked.get("mode"):
                place.chmod(int(asked["mode"], 8))
            if asked.get("owner") or asked.get("group"):
                owner = pwd.getpwnam(asked["owner"]).pw_uid if asked.get("owner") else -1
                group = grp.getgrnam(asked["group"]).gr_gid if asked.get("group") else -1
                os.chown(place, owner, group)
        except (ValueError, LookupError) as error:
            raise RefusedError(400, str(error)) from error

    await _work(request, "chmod", change, writing=True)
    return web.Response()


async def delete_file(request: web.Request) -> web.Response:
    """Delete a file, or a folder when asked for it."""
    recursive = request.query.get("recursive", "").lower() == "true"

    def remove(place: Path) -> None:
        if place.is_dir() and not place.is_symlink():
            if not recursive:
                raise RefusedError(400, "cannot delete directory without recursive flag")
            shutil.rmtree(place)
        else:
            place.unlink()

    await _work(request, "remove", remove, writing=True)
    return web.Response(status=204)


async def _work(
    request: web.Request, doing: str, work: Callable[[Path], Any], *, writing: bool = False, name: str = "path"
) -> Any:
    path = request.query.get(name, "")
    if not path and doing != "open":
        raise RefusedError(400, f"{name} is required")
    place = place_of(request[SANDBOX], path, writing=writing)
    try:
        return await asyncio.to_thread(work, place)
    except OSError as error:
        raise refusal(doing, path, error) from error


def place_of(sandbox: EmulatedSandbox, path: str, *, writing: bool = False) -> Path:
    place = sandbox.home / path
    if writing and not (place.parent.resolve() / place.name).is_relative_to(sandbox.root):
        raise RefusedError(403, f"open {path}: permission denied", code="FILE_ACCESS_DENIED")
    return place


def refusal(doing: str, path: str, error: OSError) -> RefusedError:
    """What the toolbox answers when the system said no."""
    message = go_says(doing, path, error)
    if isinstance(error, FileNotFoundError):
        return RefusedError(404, message, code="FILE_NOT_FOUND")
    if isinstance(error, PermissionError):
        return RefusedError(403, message, code="FILE_ACCESS_DENIED")
    return RefusedError(400, message, code="INVALID_FILE_PATH")


def go_says(doing: str, path: str, error: OSError) -> str:
    return f"{doing} {path}: {os.strerror(error.errno or 0).lower()}"


def _shown(place: Path, status: os.stat_result) -> dict[str, Any]:
    changed = datetime.fromtimestamp(status.st_mtime, UTC)
    return {
        "name": place.name,
        "size": status.st_size,
        "isDir": stat.S_ISDIR(status.st_mode),
        "mode": stat.filemode(status.st_mode),
        "permissions": f"{stat.S_IMODE(status.st_mode):04o}",
        "modTime": changed.strftime("%Y-%m-%d %H:%M:%S.%f +0000 UTC"),
        "modifiedAt": changed.isoformat(),
        "owner": _name_of(pwd.getpwuid, status.st_uid),
        "group": _name_of(grp.getgrgid, status.st_gid),
    }


def _name_of(find: Callable[[int], Any], id: int) -> str:
    try:
        return str(find(id)[0])
    except KeyError:
        return str(id)
