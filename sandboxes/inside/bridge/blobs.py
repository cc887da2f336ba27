"""The blobs that a sandbox keeps: what its newest stored snapshot needs stays, so that waking it moves no bytes."""

import json
import os
import re
import shutil
from collections.abc import Iterable
from contextlib import suppress

NAME = re.compile(r"[0-9a-f]{64}")
SHARE = 2
"""Blobs stay as long as they are less than this part of what is free."""


def retire(base: str, names: Iterable[str]) -> None:
    """Move blobs that the store has by now out of the spool, into the folder from which snapshots are restored.

    A manifest among them is the newest: what it does not name goes.
    """
    spool, blobs = os.path.join(base, "spool"), os.path.join(base, "blobs")
    os.makedirs(blobs, exist_ok=True)
    newest: set[str] | None = None
    for name in names:
        if not NAME.fullmatch(name):
            continue
        with suppress(OSError):
            named = _named(os.path.join(spool, name))
            os.replace(os.path.join(spool, name), os.path.join(blobs, name))
            if named is not None:
                newest = {name, *named}
    if newest is not None:
        _keep(blobs, newest)


def retire_all(base: str) -> None:
    """What a session left in the spool is useless to another one there, but may save an upload."""
    spool, blobs = os.path.join(base, "spool"), os.path.join(base, "blobs")
    os.makedirs(blobs, exist_ok=True)
    for name in names_in(spool):
        with suppress(OSError):
            os.replace(os.path.join(spool, name), os.path.join(blobs, name))


def names_in(folder: str) -> list[str]:
    """The blobs in a folder."""
    try:
        return sorted(name for name in os.listdir(folder) if NAME.fullmatch(name))
    except OSError:
        return []


def _keep(blobs: str, newest: set[str]) -> None:
    total = 0
    for name in os.listdir(blobs):
        path = os.path.join(blobs, name)
        if name in newest:
            total += os.path.getsize(path)
        else:
            os.unlink(path)
    if total * SHARE > shutil.disk_usage(blobs).free:
        for name in os.listdir(blobs):
            os.unlink(os.path.join(blobs, name))


def _named(path: str) -> set[str] | None:
    """The blobs that a manifest names; None when this is no manifest."""
    with open(path, "rb") as reading:
        if reading.read(1) != b"{" or os.fstat(reading.fileno()).st_size > 64 << 20:
            return None
        reading.seek(0)
        try:
            manifest = json.load(reading)
        except ValueError:
            return None
    names = manifest.get("blobs") if isinstance(manifest, dict) else None
    return {name for name in names if isinstance(name, str)} if isinstance(names, list) else None
