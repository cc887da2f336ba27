"""The manifest of a snapshot: canonical JSON that names everything in it. Its hash is the snapshot's name."""

import json
import platform
import sys
from typing import Any

from .blobs import MissingBlobError

FORMAT = 1


def pack(content: dict[str, Any], blobs: set[str]) -> bytes:
    """A manifest as bytes."""
    whole = {
        **content,
        "format": FORMAT,
        "blobs": sorted(blobs),
        "python": platform.python_version(),
        "cache_tag": cache_tag(),
    }
    return json.dumps(whole, sort_keys=True, separators=(",", ":")).encode()


def unpack(data: bytes) -> dict[str, Any]:
    """Read a manifest.

    Raises:
        MissingBlobError: it is not one, or one of a later format.
    """
    try:
        content = json.loads(data)
    except ValueError as error:
        raise MissingBlobError("the blob that should name the snapshot's parts is not a manifest") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise MissingBlobError("the snapshot has a format that this version of Stepwell does not know")
    return content


def cache_tag() -> str:
    """Which code objects this Python can load."""
    return sys.implementation.cache_tag or platform.python_version()
