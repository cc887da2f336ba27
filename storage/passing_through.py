"""Where the blobs of a distant store lie on this machine while they come and go; nothing stays there.

They hold the user's data, so the folder is this user's alone, and each process has its own in it. What a killed process
left is removed by the next one that needs the place.
"""

import contextlib
import functools
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "stepwell-blobs-"


@functools.cache
def passing_through() -> Path:
    """This process's folder."""
    common = Path(tempfile.gettempdir()) / f"{PREFIX}{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        common.mkdir(mode=0o700)
    found = common.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o077 or not common.is_dir() or common.is_symlink():
        return Path(tempfile.mkdtemp(prefix=PREFIX))  # somebody else's: keep away from it
    for other in common.iterdir():
        if not _alive(other.name):
            shutil.rmtree(other, ignore_errors=True)
    own = common / str(os.getpid())
    own.mkdir(exist_ok=True)
    return own


def _alive(name: str) -> bool:
    if not name.isdecimal():
        return True
    try:
        os.kill(int(name), 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return int(name) != os.getpid()  # ours would be a dead process's with the same number
