"""What the host asks beside the session: one JSON object on standard input, one on standard output, a line each.

The answer's line begins with a record separator: the service that runs commands mixes what they print.
"""

import json
import os
import platform
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..kernel import frames
from . import blobs, tree
from .attach import SEPARATOR, reach
from .kernel_process import run_program
from .requests import note

START_SECONDS = 20.0
FOLDERS = ("home", "tmp", "cache", "spool", "blobs", "in", "out", "inbox", "programs")


def main(base: str) -> None:
    """Answer one request."""
    request = json.loads(sys.stdin.readline())
    if "from" in request:  # it was too long for a command, and uploaded
        path = os.path.join(base, "in", request["from"])
        with open(path, encoding="utf-8") as reading:
            request = json.load(reading)
        os.unlink(path)
    for name in FOLDERS:
        os.makedirs(os.path.join(base, name), exist_ok=True)
    for name in request.get("garbage", []):
        with suppress(OSError):
            os.unlink(os.path.join(base, "out", os.path.basename(name)))
    answer = COMMANDS[request["do"]](base, request)
    sys.stdout.write("\n" + SEPARATOR + json.dumps(answer) + "\n")


def state(base: str, request: dict[str, Any]) -> dict[str, Any]:
    """What is here: our programs, the note on the last cell, the name of this place. A bridge is there afterwards."""
    tree.prepare(os.path.join(base, "workspace"))
    _have_bridge(base)
    return {
        "python": platform.python_version(),
        "place": _place(base),
        "reached": note(base),
        "programs": os.listdir(os.path.join(base, "programs")),
    }


def end(base: str, request: dict[str, Any]) -> dict[str, Any]:
    """End the session of the asker; empty the workspace, too, if another one is to follow."""
    ours, again, connection = True, bool(request.get("again")), reach(base)
    if connection is not None:
        with connection, suppress(OSError):
            connection.settimeout(10.0)
            connection.sendall(frames.pack({"do": "end", "token": request["token"], "keep": again}))
            unpacker = frames.Unpacker()
            while data := connection.recv(1 << 16):
                for header, _ in unpacker.feed(data):
                    ours = bool(header.get("ours"))
    return {"ours": ours, **(empty_workspace(base) if again else {})}


def supplied(base: str, request: dict[str, Any]) -> dict[str, Any]:
    """The blobs that can be restored from, once those that the store has are out of the spool."""
    blobs.retire(base, request.get("drop", []))
    there = {name for folder in ("blobs", "spool") for name in blobs.names_in(os.path.join(base, folder))}
    return {"names": sorted(there)}


def forget(base: str, request: dict[str, Any]) -> dict[str, Any]:
    """Remove all blobs that were supplied: one of them is damaged."""
    shutil.rmtree(os.path.join(base, "blobs"), ignore_errors=True)
    return {}


def _have_bridge(base: str) -> None:
    """Start the bridge if none runs. Here it is not a child of an interpreter context, which may be ended."""
    connection = reach(base)
    if connection is None:
        start = os.path.join(os.path.dirname(os.path.abspath(__file__)), "start.py")
        with open(os.path.join(base, "bridge.log"), "ab") as log:
            subprocess.Popen(
                [sys.executable, "-P", "-s", start, "serve", base],
                cwd=base,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until = time.monotonic() + START_SECONDS
        while (connection := reach(base)) is None:
            if time.monotonic() > until:
                raise RuntimeError("the bridge does not start; bridge.log may say why")
            time.sleep(0.01)
    connection.close()


def _place(base: str) -> str:
    """The name of this place: another sandbox has another."""
    path = os.path.join(base, "place")
    with suppress(OSError), open(path, encoding="utf-8") as reading:
        return reading.readline().strip()[:32]
    name = secrets.token_hex(8)
    partial = f"{path}.{name}"
    with open(partial, "w", encoding="utf-8") as writing:
        writing.write(f"{name}\n")
    os.replace(partial, path)
    return name


COMMANDS: dict[str, Callable[[str, dict[str, Any]], dict[str, Any]]] = {
    "state": state,
    "place": lambda base, request: place(base, request["source"], request["path"]),
    "list": lambda base, request: listed(base, request["folder"]),
    "stage": lambda base, request: stage(base, request["paths"], request["limit"]),
    "program": lambda base, request: run_program(base, request["folder"], request["arguments"], request["timeout"]),
    "end": end,
    "supplied": supplied,
    "forget": forget,
}
"""By name."""


BLOCK = 1 << 20


def place(base: str, source: str, path: str) -> dict[str, Any]:
    """Move an uploaded file to a path in the workspace, whole or not at all; what lies in `inputs/` is read-only."""
    parts = path.split("/")
    uploaded = os.path.join(base, "in", source)
    try:
        tree.prepare(os.path.join(base, "workspace"))
        with tree.folder(os.path.join(base, "workspace"), parts[:-1], make=True) as folder:
            if tree.is_folder(parts[-1], folder):
                return {"wrong": f"{path!r} is a folder in the workspace"}
            os.chmod(uploaded, 0o444 if parts[0] == "inputs" else 0o644)
            os.replace(uploaded, parts[-1], dst_dir_fd=folder)
    except ValueError as error:
        return {"wrong": str(error)}
    except OSError as error:
        return {"failed": "There is no room left" if error.errno in tree.FULL else f"It cannot be written ({error})"}
    finally:
        with suppress(OSError):
            os.unlink(uploaded)
    return {}


def listed(base: str, folder: str) -> dict[str, Any]:
    """The regular files below a folder of the workspace, with their sizes."""
    return {"files": tree.files(os.path.join(base, "workspace"), [part for part in folder.split("/") if part])}


def stage(base: str, paths: list[str], limit: int) -> dict[str, Any]:
    """Copy a workspace file to where the host fetches it; of several paths the first that names one."""
    root = os.path.join(base, "workspace")
    for path in paths:
        parts = path.split("/")
        if not tree.inside(parts):
            continue
        try:
            with tree.opened(root, parts) as (reading, size):
                if size > limit:
                    return {"large": size, "path": path}
                name = secrets.token_hex(16)
                _copy(reading, os.path.join(base, "out", name), limit)
                return {"name": name, "path": path}
        except _TooLargeError:
            return {"large": -1, "path": path}
        except (FileNotFoundError, ValueError):
            continue
        except OSError as error:
            return {"failed": "There is no room left" if error.errno in tree.FULL else f"It cannot be read ({error})"}
    return {"missing": True}


def empty_workspace(base: str) -> dict[str, Any]:
    """Leave nothing but the inputs."""
    try:
        _remove_contents(os.path.join(base, "workspace"), keep="inputs")
        _remove_contents(os.path.join(base, "tmp"))
        _remove_contents(os.path.join(base, "home"))
        tree.prepare(os.path.join(base, "workspace"))
    except OSError as error:
        return {"failed": f"It cannot be emptied ({error})"}
    return {}


class _TooLargeError(Exception):
    """The file grew beyond the limit."""


def _copy(reading: int, target: str, limit: int) -> None:
    size = 0
    try:
        with open(target, "xb", buffering=0) as writing:
            while block := os.read(reading, BLOCK):
                size += len(block)
                if size > limit:
                    raise _TooLargeError
                writing.write(block)
    except BaseException:
        with suppress(OSError):
            os.unlink(target)
        raise


def _remove_contents(root: str, keep: str = "") -> None:
    for entry in list(os.scandir(root)) if os.path.isdir(root) else []:
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.path)
        elif entry.name != keep:
            _open_up(entry.path)
            shutil.rmtree(entry.path)


def _open_up(folder: str) -> None:
    """Make folders that cells made read-only ours again."""
    os.chmod(folder, 0o700)
    for path, names, _ in os.walk(folder):
        for name in names:
            if not os.path.islink(os.path.join(path, name)):
                os.chmod(os.path.join(path, name), 0o700)
