"""What is to be installed for an address, such as `s3://…`, that needs more than the core has."""

from importlib.util import find_spec

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


def missing(error: ImportError) -> str:
    """What fsspec says of a missing package, as words that follow the address: `needs …: run …`."""
    for package in dict.fromkeys(PACKAGES.values()):
        if package in str(error):
            return _needs(package)
    reason = " ".join(str(error).split())[:200].rstrip(".")
    return f"needs a package that is not installed: {reason}"


def _needs(package: str) -> str:
    return f"needs a package that is not installed: run `pip install '{EXTRAS.get(package, package)}'`"
