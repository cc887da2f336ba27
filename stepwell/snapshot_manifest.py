"""What a snapshot's manifest tells without restoring it: files, sizes, versions, which variables are the same."""

import asyncio
import hashlib
import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nodes.restoration.manifests import MAX_MANIFEST, NotRestoredError, blobs_of, manifest_of
from sandboxes.base import Sandbox, SandboxError
from sandboxes.host.reading import read_json
from sandboxes.inside.kernel.snapshots.storing.blobs import MissingBlobError
from sandboxes.inside.kernel.snapshots.storing.manifest import packs_of, runs_of
from sandboxes.results import NamespaceRow
from storage.blobs import BlobError, Blobs

INSTALLED = ".packages/"
"""Where packages lie that cells installed; they are no files of the user's."""
MAX_PACK = 512 << 20
"""Bytes of packs of streams that are read to compare those of one step."""


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """A file of the workspace, as it was after a step."""

    path: str
    size: int
    chunks: tuple[str, ...]
    """Its content: the SHA-256 of each piece."""


@dataclass(frozen=True, slots=True)
class SnapshotManifest:
    """A snapshot as its manifest describes it."""

    names: tuple[str, ...]
    """The variables in it, those that are modules too."""
    files: dict[str, ManifestFile]
    bytes: int
    """What it holds in all, shared with other steps or not."""
    python: str
    packages: dict[str, str]
    missing: int
    """Blobs that it names and the store does not have, where that was looked at."""
    units: tuple[dict[str, Any], ...]
    packs: tuple[str, ...]
    modules: dict[str, str]


async def read_manifest(blobs: Blobs, snapshot: str, *, count_missing: bool = True) -> SnapshotManifest:
    """Read a manifest.

    Args:
        blobs: The store.
        snapshot: The manifest's hash.
        count_missing: Whether to look which of the blobs that it names are there.

    Raises:
        NotRestoredError: it is missing, damaged, or of another version.
    """
    try:
        data = await blobs.read(snapshot, max_bytes=MAX_MANIFEST)
        missing = 0
        if count_missing:
            named = await asyncio.to_thread(blobs_of, data)
            missing = len(named - await blobs.has(named))
    except BlobError as error:
        raise NotRestoredError(str(error)) from error
    said = await manifest_of(data)
    return await asyncio.to_thread(_described, said, missing)


def _described(said: dict[str, Any], missing: int) -> SnapshotManifest:
    try:
        variables = said["variables"]
        units = tuple(variables["units"])
        files = {
            str(path): ManifestFile(str(path), int(entry["size"]), tuple(map(str, entry["chunks"])))
            for path, entry in said["files"].items()
            if "chunks" in entry
        }
        packs = tuple(map(str, said["packs"]))
        if not {*packs, *(chunk for file in files.values() for chunk in file.chunks)} <= set(said["blobs"]):
            # Only what the list of blobs names was handed over by the sandbox that wrote the manifest.
            raise NotRestoredError("The snapshot's manifest names contents that are not its own.")
        in_files = sum(file.size for file in files.values())
        size = sum(int(unit["stream"]["size"]) + sum(int(one["size"]) for one in unit["buffers"]) for unit in units)
        return SnapshotManifest(
            names=tuple(name for name in map(str, variables["order"]) if name != "_" and not name.startswith("__")),
            files={path: file for path, file in files.items() if not path.startswith(INSTALLED)},
            bytes=size + in_files,
            python=str(said["python"]),
            packages={str(name): str(version) for name, version in said["packages"].items()},
            missing=missing,
            units=units,
            packs=packs,
            modules={str(name): str(module) for name, module in said["modules"].items()},
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise NotRestoredError("The snapshot's manifest cannot be read by this version of Stepwell.") from error


async def variable_hashes(blobs: Blobs, step: SnapshotManifest) -> dict[str, str]:
    """By variable, a hash of the bytes that it was stored as; equal bytes are equal values. Nothing is unpickled.

    Raises:
        BlobError: a pack cannot be read.
        NotRestoredError: the manifest does not fit together.
    """
    packs: dict[str, bytes] = {}
    room = MAX_PACK
    for pack in await asyncio.to_thread(_packs_of, step):
        packs[pack] = await blobs.read(pack, max_bytes=room)
        room -= len(packs[pack])
    return await asyncio.to_thread(_hashes, step, packs)


def _packs_of(step: SnapshotManifest) -> list[str]:
    try:
        return sorted({pack for unit in step.units for pack in packs_of(unit["stream"], step.packs)})
    except (AttributeError, KeyError, TypeError, MissingBlobError) as error:
        raise NotRestoredError("The snapshot's manifest cannot be read by this version of Stepwell.") from error


def _hashes(step: SnapshotManifest, packs: dict[str, bytes]) -> dict[str, str]:
    found = {name: f"module {module}" for name, module in step.modules.items()}
    room = MAX_PACK
    try:
        for unit in step.units:
            stream = unit["stream"]
            if "text" in stream:
                text = stream["text"].encode("latin-1")
                if len(text) != stream["size"]:
                    raise ValueError
                place = hashlib.sha256(text).hexdigest()
            elif "blobs" in stream:
                place = ",".join(stream["blobs"])
            else:
                runs = runs_of(stream, step.packs)
                # Some may be named again and again.
                if (room := room - sum(size for _, _, size in runs)) < 0:
                    raise ValueError
                parts = [memoryview(packs[pack])[at : at + size] for pack, at, size in runs]
                if sum(map(len, parts)) != stream["size"]:
                    raise ValueError
                place = _hash_of(parts)
            whole = json.dumps([unit["names"], place, [_content_of(one, step.packs) for one in unit["buffers"]]])
            found |= dict.fromkeys(map(str, unit["names"]), hashlib.sha256(whole.encode()).hexdigest())
    except (AttributeError, KeyError, TypeError, IndexError, ValueError, MissingBlobError) as error:
        raise NotRestoredError("The snapshot's manifest cannot be read by this version of Stepwell.") from error
    return found


def _hash_of(parts: Iterable[memoryview]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _content_of(buffer: dict[str, Any], packs: Sequence[str]) -> list[object]:
    """What two buffers of the same content have in common; patches of the same content may lie in other packs."""
    patches = [[at, size, packs[pack], place] for at, size, pack, place in buffer.get("patches", ())]
    return [*(buffer["base"] if patches else buffer["blobs"]), *patches]


MAX_BYTES, MAX_ITEMS = 64 << 20, 2_000_000
SECONDS = 600.0
COLUMNS_NAMED = 12
TAKING = "__import__('importlib').import_module('stepwell_kernel.fingerprints').write({path!r}, {names!r});"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a variable holds, by hash."""

    digest: str
    """Empty when it cannot be compared."""
    shape: str = ""
    """Of a frame: `60 x 4`."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Of a frame: by label."""


@dataclass(frozen=True, slots=True)
class SessionVariables:
    """The variables of a session."""

    fingerprints: Mapping[str, Fingerprint]
    rows: Mapping[str, str]
    """What each holds in a few words, by name."""


async def read_variables(sandbox: Sandbox, names: Iterable[str] | None, folder: Path) -> SessionVariables:
    """Take fingerprints of a session's variables.

    Args:
        sandbox: The session; it is one to be thrown away.
        names: Which variables; None: all.
        folder: For the file on its way out.

    Raises:
        SandboxError: they could not be taken.
    """
    path, target = f"fingerprints-{secrets.token_hex(8)}.json", folder / "fingerprints.json"
    code = TAKING.format(path=path, names=None if names is None else sorted(names))
    result = await sandbox.run(code, number=0, timeout=SECONDS)
    if result.status != "ok":
        why = result.error.message if result.error is not None else result.note
        raise SandboxError(f"The variables could not be compared: {why}")
    try:
        await sandbox.fetch(path, target, max_bytes=MAX_BYTES)
        said = await read_json(await asyncio.to_thread(target.read_bytes), max_items=MAX_ITEMS)
    except (OSError, ValueError) as error:
        raise SandboxError(f"The variables could not be compared: {error}") from None
    return SessionVariables(_read(said), in_words(result.namespace))


def in_words(rows: Iterable[NamespaceRow]) -> dict[str, str]:
    """A namespace table by name."""
    return {row.name: f"{row.type} {row.summary}".strip() for row in rows}


def _read(said: object) -> dict[str, Fingerprint]:
    """What a sandbox sent, treated as text only."""
    found: dict[str, Fingerprint] = {}
    for name, one in said.items() if isinstance(said, dict) else ():
        if isinstance(one, dict):
            columns = one.get("columns")
            named = columns.items() if isinstance(columns, dict) else ()
            found[str(name)] = Fingerprint(
                digest=str(one.get("digest", "")),
                shape=str(one.get("shape", ""))[:100],
                columns={str(label): str(digest) for label, digest in named},
            )
    return found


def changed(name: str, words: tuple[str, str], one: Fingerprint | None, other: Fingerprint | None) -> str | None:
    """How a variable differs, as `name: before -> after`; None when no difference is found.

    Args:
        name: The variable.
        words: What it holds in a few words, in both.
        one: Its fingerprint in the one; None when it was not looked at because it is the same.
        other: The same in the other.
    """
    before, after = words
    if one is None or other is None or not comparable(one, other):
        return f"{name}: {before} -> {after}" if before != after else None
    if one.digest == other.digest:
        return None
    told = [f"{before} -> {after}" if before != after else f"{before}, other values"]
    told += _columns(one, other)
    return f"{name}: {'; '.join(told)}"


def comparable(one: Fingerprint | None, other: Fingerprint | None) -> bool:
    """Whether two values can be compared by their fingerprints; those that were not looked at need not be."""
    return all(each is None or bool(each.digest) for each in (one, other))


def _columns(one: Fingerprint, other: Fingerprint) -> list[str]:
    if not (one.columns or one.shape) or not (other.columns or other.shape):
        return []
    told = [] if one.shape == other.shape else [f"{one.shape} -> {other.shape}"]
    gone = [label for label in one.columns if label not in other.columns]
    new = [label for label in other.columns if label not in one.columns]
    differ = [label for label in one.columns if other.columns.get(label, one.columns[label]) != one.columns[label]]
    for word, labels in (("columns that differ", differ), ("without column", gone), ("with column", new)):
        if labels:
            more = f" and {len(labels) - COLUMNS_NAMED} more" if len(labels) > COLUMNS_NAMED else ""
            told.append(f"{word}: {', '.join(labels[:COLUMNS_NAMED])}{more}")
    if not (differ or gone or new) and one.shape == other.shape:
        told.append("the columns are the same; their order, the index or attributes differ")
    return told
