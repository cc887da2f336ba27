"""What is to be installed, and by which command, where something needs a package that is not there."""

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from shlex import quote

EXTRAS = {"s3fs": "stepwell[s3]"}
"""Packages that are installed by an extra of ours."""
PACKAGES = {
    "s3": "s3fs", "s3a": "s3fs",
    "gs": "gcsfs", "gcs": "gcsfs",
    "az": "adlfs", "abfs": "adlfs", "abfss": "adlfs",
}  # fmt: skip
"""The packages that fsspec needs for the kinds of address that people have for storage."""


def check_package(address: str) -> None:
    """Check that the package for an address is installed; a folder needs none.

    Raises:
        ImportError: it is not; its words can follow the address.
    """
    scheme, separator, _ = address.partition("://")
    package = PACKAGES.get(scheme.lower(), "") if separator else ""
    if package and find_spec(package) is None:
        raise ImportError(_needs(package))


def missing(error: ImportError, *, served: bool = False) -> str:
    """What fsspec says of a missing package, as words that follow the address: `needs …: run …`.

    Args:
        error: What fsspec raised.
        served: Whether users of a server read it: where its Python lies is not for them.
    """
    for package in dict.fromkeys(PACKAGES.values()):
        if package in str(error):
            return _needs(package, served=served)
    reason = " ".join(str(error).split())[:200].rstrip(".")
    return f"needs a package that is not installed: {reason}"


def _needs(package: str, *, served: bool = False) -> str:
    command = install_command(EXTRAS.get(package, package), served=served)
    return f"needs a package that is not installed: run {command}"


def install_command(package: str, *, served: bool = False) -> str:
    """The command that installs a package into the environment of this program, in backquotes.

    The `pip` that a shell finds often belongs to another Python, and environments made by uv have none.

    Args:
        package: Its name, with extras where they are wanted: `stepwell[s3]`.
        served: Whether users of a server read it: then it says no path of the server's.
    """
    if served or ((found := shutil.which("pip")) is not None and Path(found).parent == Path(sys.executable).parent):
        return f"`pip install {quote(package)}`"
    if find_spec("pip") is not None:
        return f"`{quote(sys.executable)} -m pip install {quote(package)}`"
    return f"`uv pip install {quote(package)} --python {quote(sys.executable)}`"
