"""What a snapshot's manifest tells without restoring it: files, sizes, versions, which variables are the same."""

import asyncio
import hashlib
import json
from dataclasses import dataclass
from typing import Any

from nodes.restoring.manifests import MAX_MANIFEST, NotRestoredError, blobs_of, manifest_of
from storage.blobs import BlobError, Blobs

INSTALLED = ".packages/"
"""Where packages lie that cells installed; they are no files of the user's."""
MAX_PACK = 512 << 20
"""Bytes of packs of streams that are read to compare those of one step."""


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file of the workspace, as it was after a step."""

    path: str
    size: int
    chunks: tuple[str, ...]
    """Its content: the SHA-256 of each piece."""


@dataclass(frozen=True, slots=True)
class KeptStep:
    """A snapshot as its manifest describes it."""

    names: tuple[str, ...]
    """The variables in it, those that are modules too."""
    files: dict[str, KeptFile]
    bytes: int
    """What it holds in all, shared with other steps or not."""
    python: str
    packages: dict[str, str]
    missing: int
    """Blobs that it names and the store does not have, where that was looked at."""
    units: tuple[dict[str, Any], ...]
    packs: tuple[str, ...]
    modules: dict[str, str]


async def kept_step(blobs: Blobs, snapshot: str, *, count_missing: bool = True) -> KeptStep:
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


def _described(said: dict[str, Any], missing: int) -> KeptStep:
    try:
        variables = said["variables"]
        units = tuple(variables["units"])
        files = {
            str(path): KeptFile(str(path), int(entry["size"]), tuple(map(str, entry["chunks"])))
            for path, entry in said["files"].items()
            if "chunks" in entry
        }
        packs = tuple(map(str, said["packs"]))
        if not {*packs, *(chunk for file in files.values() for chunk in file.chunks)} <= set(said["blobs"]):
            # Only what the list of blobs names was handed over by the sandbox that wrote the manifest.
            raise NotRestoredError("The snapshot's manifest names contents that are not its own.")
        in_files = sum(file.size for file in files.values())
        size = sum(int(unit["stream"]["size"]) + sum(int(one["size"]) for one in unit["buffers"]) for unit in units)
        return KeptStep(
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


async def contents(blobs: Blobs, step: KeptStep) -> dict[str, str]:
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


def _packs_of(step: KeptStep) -> list[str]:
    try:
        used = {unit["stream"]["pack"] for unit in step.units if "pack" in unit["stream"]}
        return [step.packs[number] for number in sorted(used)]
    except (KeyError, TypeError, IndexError) as error:
        raise NotRestoredError("The snapshot's manifest cannot be read by this version of Stepwell.") from error


def _hashes(step: KeptStep, packs: dict[str, bytes]) -> dict[str, str]:
    found = {name: f"module {module}" for name, module in step.modules.items()}
    try:
        for unit in step.units:
            stream = unit["stream"]
            if "pack" in stream:
                data = packs[step.packs[stream["pack"]]][stream["at"] : stream["at"] + stream["size"]]
                place = hashlib.sha256(data).hexdigest()
            else:
                place = ",".join(stream["blobs"])
            whole = json.dumps([unit["names"], place, [one["blobs"] for one in unit["buffers"]]])
            found |= dict.fromkeys(map(str, unit["names"]), hashlib.sha256(whole.encode()).hexdigest())
    except (KeyError, TypeError, IndexError) as error:
        raise NotRestoredError("The snapshot's manifest cannot be read by this version of Stepwell.") from error
    return found
