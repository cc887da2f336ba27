"""Where this Python and its packages lie, for sandboxes to be shown these places and nothing beside them.

Run as a program it prints them as JSON, for a level whose root another command puts together.
"""

import json
import os
import pwd
import sys
import sysconfig
from collections.abc import Iterator

OF_AN_ENVIRONMENT = ("bin", "lib", "lib64", "include", "share", "pyvenv.cfg")
OF_A_PREFIX = ("bin", "lib", "lib64", "include")
SITES = ("site-packages", "dist-packages")


def places() -> list[str]:
    """Folders and files that a program of this Python needs, each at the path by which it is asked for."""
    folders = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
    folders += [os.path.realpath(folder) for folder in folders]
    paths = [path for folder in dict.fromkeys(folders) for path in _parts(folder)]
    paths += [path for name, path in sysconfig.get_paths().items() if "lib" in name]
    for site in dict.fromkeys(path for path in sys.path if os.path.basename(path) in SITES):
        paths += _linked(site)
    return [path for path in dict.fromkeys(paths) if os.path.exists(path) and path != "/"]


def _parts(folder: str) -> list[str]:
    """Of a folder that has other files, too, only what belongs to Python.

    `python -m venv .` makes an environment of a project's folder, and `--prefix` may name somebody's home.
    """
    if os.path.exists(f"{folder}/pyvenv.cfg"):
        return [f"{folder}/{name}" for name in OF_AN_ENVIRONMENT]
    if _is_a_home(folder):
        return [f"{folder}/{name}" for name in OF_A_PREFIX]
    return [folder]


def _is_a_home(folder: str) -> bool:
    try:
        home = os.path.realpath(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:  # a user of a container that has no name
        return False
    folder = os.path.realpath(folder)
    return home == folder or home.startswith(f"{folder.rstrip('/')}/") or folder == f"{home}/.local"


def _linked(site: str) -> list[str]:
    """What the links among packages lead to, such as the cache of `UV_LINK_MODE=symlink`.

    That is a folder with all of a package (`STORE/pandas/io/sql.py` for `pandas/io/sql.py`, and its `.dist-info`); of a
    folder that has only the same names the part for that package, of anything else the target alone.
    """
    if not any(_links(site, depth=2)):
        return []
    whole: dict[str, None] = {}
    parts: dict[tuple[str, str], None] = {}
    for link in _links(site):
        target = os.path.normpath(os.path.join(os.path.dirname(link), os.readlink(link)))
        inner = link[len(site) + 1 :]
        if not target.endswith(f"/{inner}"):
            parts[target, ""] = None
            continue
        store, first = target.removesuffix(f"/{inner}"), inner.partition("/")[0]
        if first.endswith(".dist-info"):
            whole[store] = None
        else:
            parts[store, first] = None
    found = [*whole, *(f"{store}/{first}" if first else store for store, first in parts if store not in whole)]
    return [*found, *(real for path in found if (real := os.path.realpath(path)) != path)]


def _links(folder: str, depth: int = 64) -> Iterator[str]:
    """The links in a folder, and in those in it."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_symlink():
                    yield entry.path
                elif depth > 1 and entry.name != "__pycache__" and entry.is_dir():
                    yield from _links(entry.path, depth - 1)
    except OSError:
        return  # nobody can import what cannot be read


if __name__ == "__main__":
    sys.stdout.write(json.dumps(places()))
