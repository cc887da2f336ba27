"""`python -m pip` in a sandbox: the real pip, told to install into the analysis's own folder, or one clear line.

The real one is the environment's, or, as environments of uv have none, the wheel that Python's `ensurepip` brings. It
installs as for a user (PEP 370) whose base is the folder: what the environment has satisfies dependencies, is never
removed, and can be shadowed by another version, unless it is in the session's memory already.
"""

import contextlib
import glob
import importlib.metadata
import importlib.util
import itertools
import os
import re
import runpy
import site
import socket
import sys
import sysconfig
import tempfile
import urllib.parse
import zipfile
from collections.abc import Iterator

HERE = os.path.dirname(os.path.abspath(__file__))
FETCHES = frozenset({"install", "download", "wheel", "index", "search", "lock"})
ELSEWHERE = ("--target", "-t", "--prefix", "--root", "--user", "--python", "--dry-run")
DEFAULT_INDEX = "https://pypi.org/simple"
FILES = ("files.pythonhosted.org", 443)
PYPI = "--network allowlist --allow-domain pypi.org --allow-domain files.pythonhosted.org"
OPTIONS = {
    "PIP_BREAK_SYSTEM_PACKAGES": "1",  # nothing of the system is touched: it is for a user with a base of his own
    "PIP_DEFAULT_TIMEOUT": "30",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_CACHE_DIR": "1",
    "PIP_NO_COLOR": "1",
    "PIP_NO_COMPILE": "1",  # snapshots leave compiled files out
    "PIP_NO_INPUT": "1",
    "PIP_NO_PYTHON_VERSION_WARNING": "1",
    "PIP_NO_WARN_SCRIPT_LOCATION": "1",
    "PIP_PROGRESS_BAR": "off",
    "PIP_RETRIES": "1",
    "PIP_ROOT_USER_ACTION": "ignore",
}


def main(arguments: list[str]) -> int:
    """Do what pip is asked to; returns the exit code."""
    command = next((one for one in arguments if not one.startswith("-")), "")
    named = [one for one in arguments[arguments.index(command) + 1 :] if not one.startswith("-")] if command else []
    if command in FETCHES and os.environ.get("SANDBOX_NETWORK", "none") == "none":
        if "--no-index" not in arguments and not (named and all(os.path.exists(one) for one in named)):
            what = " ".join(named)[:200] or "that"
            return _say(
                f"this sandbox has no network, so {what} cannot be installed: do without it, or tell the user that it "
                f"is needed and can be allowed with {PYPI}"
            )
        os.environ["PIP_NO_INDEX"] = "1"
    base = os.environ.get("SANDBOX_PACKAGES", "")
    folders = [one for one in os.environ.get("SANDBOX_PACKAGES_PATH", "").split(os.pathsep) if one]
    if command == "uninstall" and (foreign := _not_in(folders, named)):
        return _say(f"{foreign} belongs to the environment; only what was installed for this analysis can be removed")
    real = _real_pip()
    if real is None:
        return _say(
            "this Python has neither pip nor ensurepip, so nothing can be installed; on Debian and Ubuntu the package "
            "python3-venv brings them (or set STEPWELL_PYTHON to a Python that has one of them)"
        )
    installs = command == "install" and not any(one.split("=")[0] in ELSEWHERE for one in arguments)
    _for_a_user_at(base, folders)
    for name, value in OPTIONS.items():
        os.environ.setdefault(name, value)
    fixed = _loaded_versions(folders) if command == "install" and "PIP_CONSTRAINT" not in os.environ else []
    if command in FETCHES and (refused := _refused(arguments)):
        return _say(refused)
    at = arguments.index(command) + 1 if command else 0
    sys.argv = ["pip", *arguments[:at], *(["--user"] if installs else []), *arguments[at:]]
    with _constrained(fixed):
        code = _run(real)
    if code and fixed:
        sys.stderr.write(f"Packages that the session has in memory keep their versions: {', '.join(fixed)}.\n")
    if installs and code == 0:
        sys.stdout.write("Packages that were installed are kept with this analysis and in its snapshots.\n")
    return code


def _refused(arguments: list[str]) -> str:
    """Why the host's proxy does not lead to the index; asked before, since pip would try again and again."""
    proxy = urllib.parse.urlsplit(os.environ.get("http_proxy", ""))
    if not proxy.port or "PIP_NO_INDEX" in os.environ or "--no-index" in arguments:
        return ""
    given = [one.partition("=")[2] for one in arguments if one.startswith("--index-url=")]
    pairs = itertools.pairwise(arguments)
    given += [value for name, value in pairs if name in ("-i", "--index-url", "--pypi-url")]
    address = urllib.parse.urlsplit(given[-1] if given else os.environ.get("PIP_INDEX_URL", DEFAULT_INDEX))
    port = address.port or (80 if address.scheme == "http" else 443)
    places = [(address.hostname, port), *([FILES] if address.hostname == "pypi.org" else [])]
    for host, number in places:
        try:
            with socket.create_connection((proxy.hostname, proxy.port), timeout=30) as asking:
                asking.sendall(f"CONNECT {host}:{number} HTTP/1.1\r\n\r\n".encode())
                status = asking.makefile("rb").readline(2_000).decode("ascii", "replace").split(" ", 2)
        except OSError:
            return ""  # pip says it in its own words
        if status[1:2] == ["403"]:
            return status[-1].strip()
    return ""


def _run(real: str) -> int:
    sys.path.insert(0, real)
    try:
        runpy.run_module("pip", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else _say(str(end.code))
    return 0


def _say(sentence: str) -> int:
    sys.stderr.write(f"pip: {sentence}.\n")
    return 1


def _real_pip() -> str | None:
    """Where the real pip can be imported from: a folder, or the wheel that `ensurepip` brings."""
    ours = os.path.dirname(HERE)
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != ours and _open(entry)]
    for name in [name for name in sys.modules if name == "pip" or name.startswith("pip.")]:
        del sys.modules[name]
    importlib.invalidate_caches()
    spec = importlib.util.find_spec("pip")
    if spec is not None and spec.origin is not None and os.path.dirname(spec.origin) != HERE:
        return os.path.dirname(os.path.dirname(spec.origin))
    bundled = importlib.util.find_spec("ensurepip")
    places = [sysconfig.get_config_var("WHEEL_PKG_DIR") or ""]
    if bundled is not None and bundled.origin is not None:
        places.insert(0, os.path.join(os.path.dirname(bundled.origin), "_bundled"))
    wheels = [wheel for place in places if place for wheel in sorted(glob.glob(os.path.join(place, "pip-*.whl")))]
    return _unpacked(wheels[0]) if wheels else None


def _open(entry: str) -> bool:
    """Whether an entry of the search path may be looked at: walls may keep one closed, and pip would fail at it."""
    try:
        os.scandir(entry or os.curdir).close()
    except PermissionError:
        return False
    except OSError:
        return True
    return True


def _unpacked(wheel: str) -> str:
    """A folder with what is in a wheel, made once in a sandbox's life: from a folder pip starts much faster."""
    folder = os.path.join(tempfile.gettempdir(), os.path.basename(wheel).removesuffix(".whl"))
    if os.path.isdir(folder):
        return folder
    try:
        with tempfile.TemporaryDirectory() as partial, zipfile.ZipFile(wheel) as archive:
            archive.extractall(os.path.join(partial, "whole"))
            os.rename(os.path.join(partial, "whole"), folder)
    except OSError:  # no room, or another pip was faster
        return folder if os.path.isdir(folder) else wheel
    return folder


def _for_a_user_at(base: str, folders: list[str]) -> None:
    """Let this process be that of a user who has a site of his own there, also in a virtual environment.

    In one pip refuses to install for a user, since Python would not look there; here it does.
    """
    sys.base_prefix = sys.prefix
    sys.base_exec_prefix = sys.exec_prefix
    os.environ["PYTHONUSERBASE"] = base
    site.ENABLE_USER_SITE = True
    site.USER_BASE = base
    site.USER_SITE = folders[0] if folders else None
    sysconfig.get_config_vars()["userbase"] = base


@contextlib.contextmanager
def _constrained(fixed: list[str]) -> Iterator[None]:
    """Have pip keep these versions."""
    if not fixed:
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "versions-in-memory.txt")
        with open(file, "w", encoding="utf-8") as writing:
            writing.write("\n".join(fixed) + "\n")
        os.environ["PIP_CONSTRAINT"] = file
        yield


def _loaded_versions(folders: list[str]) -> list[str]:
    """The packages that every session has in memory, with their versions: another one would never be imported."""
    loaded = {name for name in os.environ.get("SANDBOX_LOADED", "").split(",") if name}
    if not loaded:
        return []
    path = [entry for entry in sys.path if entry not in folders]
    pins = []
    for found in importlib.metadata.distributions(path=path):
        tops = (found.read_text("top_level.txt") or "").split() or [str(found.metadata["Name"] or "").replace("-", "_")]
        if loaded.intersection(tops) and found.metadata["Name"]:
            pins.append(f"{found.metadata['Name']}=={found.version}")
    return sorted(pins)


def _not_in(folders: list[str], names: list[str]) -> str:
    """The first of some packages that is not in these folders."""
    there = {_plain(str(found.metadata["Name"])) for found in importlib.metadata.distributions(path=folders)}
    return next((name for name in names if _plain(name) not in there), "")


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
