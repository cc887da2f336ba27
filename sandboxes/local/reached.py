"""The note on what the last cell reached, as the host reads it: a small file beside the workspace.

Code in the sandbox can write to it; it says something about that sandbox alone. All functions block.
"""

import os
import secrets
import stat
from pathlib import Path

from sandboxes.base import SandboxUnavailableError
from sandboxes.host import replies
from sandboxes.results import Reached

NOTE = "reached"
PLACE = "place"
MAX_NOTE = 16_384
"""Bytes."""


def read(folder: Path) -> Reached:
    """The note in a sandbox's folder; the place gets its name when it is first asked.

    Raises:
        SandboxUnavailableError: the folder cannot be written.
    """
    lines = _lines(folder / NOTE)
    what = replies.reached({"reached": lines[1:]})
    return Reached(sandbox=_place(folder), head=lines[0][:64] if lines else "", what=what)


def _place(folder: Path) -> str:
    if known := _lines(folder / PLACE):
        return known[0][:32]
    name = secrets.token_hex(8)
    partial = folder / f"{PLACE}.{name}"
    try:
        partial.write_text(f"{name}\n", encoding="utf-8")
        partial.replace(folder / PLACE)
    except OSError as error:
        raise SandboxUnavailableError(
            f"The sandbox folder {folder} cannot be written ({error.strerror}). "
            "Free some space there, or choose another place with STEPWELL_HOME."
        ) from error
    return name


def _lines(path: Path) -> list[str]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    with os.fdopen(descriptor, "rb") as reading:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return []
        return reading.read(MAX_NOTE).decode("utf-8", "replace").splitlines()
