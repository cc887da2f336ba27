"""Becomes an ordinary user and runs a program, with a Python that lies where only root may look made visible to it.

Run as root: `python as_user.py USER COMMAND…`. What it changes of the file tree is seen by it and its children alone.
"""

import ctypes
import os
import sys
from pathlib import Path

from sandboxes.inside.zygote import private_root, system


def main() -> None:
    """Read the command line and become the program."""
    user, command = int(sys.argv[1]), sys.argv[2:]
    system.unshare(system.NEW_MOUNTS)
    private_root.mount(None, "/", None, private_root.MS_REC | private_root.MS_PRIVATE)
    for folder in {os.path.realpath(sys.base_prefix), os.path.realpath(sys.prefix)}:
        _uncover(Path(folder))
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
    os.execv(command[0], command)


def _uncover(folder: Path) -> None:
    """Have everybody reach a folder: the closed one above it is hidden behind an empty one that it is attached in."""
    closed = [above for above in reversed(folder.parents) if not above.stat().st_mode & 0o001]
    if not closed:
        return
    tree = private_root.copy_of_tree(str(folder))
    private_root.mount("tmpfs", str(closed[0]), "tmpfs", 0, "mode=755,size=1m")
    folder.mkdir(parents=True)
    private_root.attach(tree, str(folder))
    os.close(tree)


if __name__ == "__main__":
    main()
