"""What the file system of the data folder has to be able to do, tried there; and of which kind it is.

Threads need locks of files, SQLite's log beside its file, and files that are replaced in one step. Some network file
systems and mounts of another system's disk have not all of that.
"""

import errno
import fcntl
import os
import re
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

ELSEWHERE = re.compile(
    r"nfs\d?|cifs|smb\d?|smbfs|9p|drvfs|virtiofs|afs|ceph|lustre|gpfs|beegfs|glusterfs"
    r"|fuse\.(?:sshfs|s3fs|glusterfs|rclone|ceph|gcsfuse|goofys)"
)
"""File systems whose disk is another machine's, or another system's."""
MOUNTS = Path("/proc/self/mountinfo")
NO_LOCKS = frozenset({errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL})
LOCAL = "set STEPWELL_HOME to a folder of a local disk"


def file_system(folder: Path, mounts: Path = MOUNTS) -> str:
    """The kind of file system that a folder lies on, as the system calls it; empty where that is not known."""
    kind, longest = "", ""
    try:
        lines = mounts.read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    real = os.path.realpath(folder)
    for line in lines:
        before, _, after = line.partition(" - ")
        at = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), before.split()[4])
        if len(at) >= len(longest) and f"{real}/".startswith(f"{at.rstrip('/')}/"):
            kind, longest = after.split()[0], at  # of two at one place the later one is seen
    return kind


def caution(folder: Path, mounts: Path = MOUNTS) -> str:
    """What whoever keeps the data folder there should know, in a sentence; empty where there is nothing."""
    kind = file_system(folder, mounts)
    if not ELSEWHERE.fullmatch(kind):
        return ""
    return (
        f"The data folder {folder} lies on {kind}: use it from one machine at a time, or keep threads in PostgreSQL "
        f"(STEPWELL_DATABASE_URL); {LOCAL} for speed."
    )


def refuses_locks(folder: Path) -> bool:
    """Whether files in it cannot be locked at all. Blocks."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            for lock in (fcntl.flock, fcntl.lockf):
                lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in NO_LOCKS
    return False


def trouble(folder: Path) -> str:
    """Why a folder that exists cannot be the data folder, in a sentence; empty when it can. Blocks."""
    if refuses_locks(folder):
        return f"{_on(folder)} does not lock files; {LOCAL}."
    try:
        with tempfile.TemporaryDirectory(prefix=".stepwell-tried-", dir=folder) as tried:
            with closing(sqlite3.connect(Path(tried, "tried.sqlite"))) as database:
                database.execute("pragma journal_mode=wal")
                database.execute("create table tried (one)")
                database.commit()
            old, new = Path(tried, "old"), Path(tried, "new")
            old.write_bytes(b"old")
            new.write_bytes(b"new")
            new.replace(old)
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        return f"{_on(folder)} cannot keep threads ({reason}); {LOCAL} that you can write to."
    return ""


def _on(folder: Path) -> str:
    kind = file_system(folder)
    return f"The file system{f' ({kind})' if kind else ''} of the data folder {folder}"
