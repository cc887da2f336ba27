"""Where packages go that cells install, and how this Python and those that it starts find them and the network.

They are in a folder of the workspace, `.packages`, laid out like a user's own site (PEP 370), so they are in the
thread's snapshots and a fork has them, too. This process only adds the folder to its search path, behind the standard
library: nothing in it (`sitecustomize.py`, `.pth` files) runs because a session begins. Pythons that cells start find
`beside/` first, with our `pip` and a `sitecustomize.py` that adds the same folder.
"""

import functools
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Sequence
from types import ModuleType

FOLDER = ".packages"
BESIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "beside")
LOOPBACK = "localhost,127.0.0.1,::1"
INSTALLED = ("site-packages", "dist-packages")


def offer(root: str, *, network: str, proxy: int) -> None:
    """Make the folder known to this process, and to those that it starts by their environment.

    Args:
        root: The workspace.
        network: `none`, `allowlist` or `full`.
        proxy: The port on 127.0.0.1 at which the host's proxy listens; 0: there is none.
    """
    base = os.path.join(root, FOLDER)
    found = sites(base)
    sys.path[_place() : _place()] = found
    sys.meta_path.insert(0, NewFolderFinder(found))
    path = os.environ.get("PATH", os.defpath)
    os.environ.update(
        {
            "PATH": os.pathsep.join([os.path.join(BESIDE, "bin"), path, os.path.join(base, "bin")]),
            "PYTHONPATH": BESIDE,
            "SANDBOX_PACKAGES": base,
            "SANDBOX_PACKAGES_PATH": os.pathsep.join(found),
            "SANDBOX_LOADED": loaded(),
            "SANDBOX_NETWORK": network,
            "SANDBOX_PYTHON": sys.executable,
        }
    )
    if proxy:
        os.environ.update(proxy_environment(proxy))


@functools.cache
def loaded() -> str:
    """The packages that have been imported, with commas.

    The zygote calls this before it forks, because reading all names copies the memory pages that hold them.
    """
    return ",".join(
        sorted(
            name
            for name in sys.modules
            if not name.startswith(("_", "stepwell_")) and "." not in name and name not in sys.stdlib_module_names
        )
    )


def sites(base: str) -> list[str]:
    """The folders below a user's base in which this Python looks for packages, as `sysconfig` has them on Unix."""
    threads = "t" if "t" in getattr(sys, "abiflags", "") else ""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}{threads}"
    libraries = dict.fromkeys(("lib", sys.platlibdir))
    return [os.path.join(base, library, version, "site-packages") for library in libraries]


def proxy_environment(port: int) -> dict[str, str]:
    """The variables by which programs find a proxy on loopback; what else is on loopback they reach themselves."""
    address = f"http://127.0.0.1:{port}"
    names = ("http_proxy", "https_proxy", "all_proxy")
    found = {name: address for lower in names for name in (lower, lower.upper())}
    return {**found, "no_proxy": LOOPBACK, "NO_PROXY": LOOPBACK}


def _place() -> int:
    """Where in the search path: behind the standard library, before what the environment has."""
    for index, entry in enumerate(sys.path):
        if os.path.basename(entry) in INSTALLED:
            return index
    return len(sys.path)


class NewFolderFinder(importlib.abc.MetaPathFinder):
    """Finds no modules. It drops the import system's cached result for folders that did not exist at first.

    Args:
        folders: Those folders.
    """

    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = tuple(folders)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """None, for the next finder."""
        if path is None:
            for folder in self._folders:
                if sys.path_importer_cache.get(folder, self) is None and os.path.isdir(folder):
                    del sys.path_importer_cache[folder]
        return None
