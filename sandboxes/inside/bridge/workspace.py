"""The workspace of a sandbox as the host sees it, from inside: files go in, come out and are listed.

Names are JSON strings with surrogates for bytes that are no text.
"""

import os
import secrets
import shutil
from contextlib import suppress
from typing import Any

from . import tree

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


def empty(base: str) -> dict[str, Any]:
    """Leave nothing but the inputs."""
    try:
        _empty(os.path.join(base, "workspace"), keep="inputs")
        _empty(os.path.join(base, "tmp"))
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


def _empty(root: str, keep: str = "") -> None:
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
