"""Becomes an ordinary user and runs a program; a Python and a checkout that only root can reach are made visible to it.

Run as root: `python as_user.py USER COMMAND…`. What it changes of the file tree is seen by it and its children alone.
"""

import ctypes
import os
import sys
from pathlib import Path

from sandboxes.inside.zygote import private_root, system

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Read the command line and become the program."""
    user, command = int(sys.argv[1]), sys.argv[2:]
    system.unshare(system.NEW_MOUNTS)
    private_root.mount(None, "/", None, private_root.MS_REC | private_root.MS_PRIVATE)
    here = Path.cwd()
    _uncover({Path(os.path.realpath(folder)) for folder in (sys.base_prefix, sys.prefix, ROOT)})
    os.chdir(here)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
    os.execv(command[0], command)


def _uncover(folders: set[Path]) -> None:
    """Have everybody reach folders: a closed one above them is hidden behind an empty one that they are attached in."""
    closed = {folder: above for folder in folders if (above := _closed_above(folder)) is not None}
    trees = {
        folder: private_root.copy_of_tree(str(folder)) for folder in closed if closed.keys().isdisjoint(folder.parents)
    }
    for above in {closed[folder] for folder in trees}:
        private_root.mount("tmpfs", str(above), "tmpfs", 0, "mode=755,size=1m")
    for folder, tree in trees.items():
        folder.mkdir(parents=True)
        private_root.attach(tree, str(folder))
        os.close(tree)


def _closed_above(folder: Path) -> Path | None:
    """The uppermost folder above one that others may not enter."""
    return next((above for above in reversed(folder.parents) if not above.stat().st_mode & 0o001), None)


if __name__ == "__main__":
    main()
