"""The level of macOS: a child process under a Seatbelt profile.

Written to what Apple documents of the profile language, and not tested by us. It may read the system and its
interpreter, write to its own folder, and reach no network. Frameworks of macOS must not be forked once they are loaded,
so there is no warm parent.
"""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from sandboxes.local.bubblewrap import interpreter_folders
from sandboxes.local.walls import READ_ONLY

SYSTEM = (
    "/usr/lib", "/usr/share", "/usr/bin", "/bin", "/System", "/Library/Fonts", "/Library/Frameworks",
    "/private/var/db/timezone", "/private/etc/localtime", "/private/etc/ssl", "/opt/homebrew", "/usr/local",
)  # fmt: skip
DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")


def seatbelt() -> str:
    """Where `sandbox-exec` is; empty on systems that have none."""
    return (shutil.which("sandbox-exec") or "") if sys.platform == "darwin" else ""


def profile(python: str, *, read: Sequence[str], write: Sequence[str]) -> str:
    """A profile: everything is refused but what is named.

    Args:
        python: The interpreter.
        read: Folders and files that it may read besides the system.
        write: Folders and files that it may write to.
    """
    readable = [*SYSTEM, *interpreter_folders(python), *READ_ONLY, *read, *write]
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


def wrap(python: str, folder: Path, cache: str, *, program: str = "") -> list[str]:
    """The command before that of a session's process."""
    own = [str(folder / name) for name in ("workspace", "spool", "home", "tmp", "reached")]
    read = [str(folder / "blobs"), cache, *([program] if program else [])]
    return [seatbelt(), "-p", profile(python, read=read, write=own)]


def _places(paths: Sequence[str]) -> str:
    return " ".join(f"(subpath {_quoted(path)})" for path in dict.fromkeys(paths))


def _literals(paths: Sequence[str]) -> str:
    return " ".join(f"(literal {_quoted(path)})" for path in paths)


def _quoted(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
