"""Brings the files to a step whose variables are there already, because a frozen copy of it goes on.

What is as it was is known by its times, and not read; of what is not, the host is asked for the contents that are
nowhere here.
"""

import os
import stat
from typing import Any

from ..save import LAST_RESULT, SnapshotWriter
from ..storing import manifest
from ..storing.blobs import Blobs, MissingBlobError
from .file_table import Entry, FileTable, _holds, _key
from .package_trees import UNIT


def restore_files(taking: SnapshotWriter, blobs: Blobs, id: str) -> dict[str, Any]:
    """Make the workspace and the files outside of it as a snapshot has them.

    Args:
        taking: What took that snapshot, or an earlier one.
        blobs: Where contents are.
        id: The snapshot.

    Returns:
        `state`: `done`, with the names of the variables in `restored` and the files that could not be kept in `lost`;
        or `lacks`, with the blobs that are needed first
        in `names` (none: the manifest).

    Raises:
        OSError: a file cannot be written.
    """
    known, files, outside, lost = taking.files_of
    if known != id:
        try:
            content = manifest.unpack(blobs.read(id))
        except MissingBlobError:
            return {"state": "lacks", "names": []}
        files, outside, lost = content["files"], content.get("outside", {}), content["lost"]
        taking.files_of = (id, files, outside, lost)
    tables: list[tuple[FileTable, dict[str, Entry]]] = [(taking.files, files)]
    tables += [(table, outside.get(variable, {})) for variable, table in taking.outside.tables.items()]
    others = [(table, wanted) for table, wanted in tables if not is_so(table, wanted)]
    needed = {name for table, wanted in others for name in contents(table, wanted)}
    lacking = sorted(name for name in needed if not blobs.has(name))
    if lacking:
        return {"state": "lacks", "names": lacking}
    for table, wanted in others:
        table.adopt(wanted)
        table.restore(wanted, blobs)
    for table, wanted in tables:
        table.set_times(wanted)
    return {
        "state": "done",
        "restored": [name for name in taking.variables() if name != LAST_RESULT],
        # A module whose file was changed is in the copy as it was.
        "lost": [one for one in lost if one["type"] == "file" and one["name"] not in files],
    }


def is_so(table: FileTable, wanted: dict[str, Entry]) -> bool:
    """Whether there is exactly what is wanted, as far as times tell."""
    found = set()
    for path, status in table.walk():
        found.add(path)
        entry, full = wanted.get(path), os.path.join(table.root, path)
        if entry is None or not _is_same(table, path, full, status, entry):
            return False
    return found == wanted.keys()


def _is_same(table: FileTable, path: str, full: str, status: os.stat_result, entry: Entry) -> bool:
    if stat.S_ISLNK(status.st_mode):
        return "link" in entry and table.target(entry) == os.readlink(full)
    if stat.S_ISDIR(status.st_mode):
        if UNIT.fullmatch(path):
            return bool(entry.get("tree")) and table.trees.is_so(path, full, entry)
        return bool(entry.get("folder")) and entry["mode"] == stat.S_IMODE(status.st_mode)
    known = table.seen.get(path)
    same = known is not None and known[0] == _key(status) and known[2] == entry.get("chunks")
    return same and stat.S_IMODE(status.st_mode) == entry["mode"]


def contents(table: FileTable, wanted: dict[str, Entry]) -> set[str]:
    """The blobs of files that do not hold what is wanted."""
    needed: set[str] = set()
    for path, entry in wanted.items():
        full = os.path.join(table.root, path)
        if entry.get("tree"):
            if not os.path.isdir(full) or not table.trees.is_so(path, full, entry):
                needed.update(entry["chunks"])
        elif "chunks" in entry and not _holds(full, entry):
            needed.update(entry["chunks"])
    return needed
