"""Variables of two sessions compared by their fingerprints, which are taken inside the sandboxes."""

import asyncio
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sandboxes.base import Sandbox, SandboxError
from sandboxes.host.reading import read_json
from sandboxes.results import NamespaceRow

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
class Looked:
    """The variables of a session."""

    fingerprints: Mapping[str, Fingerprint]
    rows: Mapping[str, str]
    """What each holds in a few words, by name."""


async def look_at(sandbox: Sandbox, names: Iterable[str] | None, folder: Path) -> Looked:
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
    return Looked(_read(said), in_words(result.namespace))


def in_words(rows: Iterable[NamespaceRow]) -> dict[str, str]:
    """A namespace table by name."""
    return {row.name: f"{row.type} {row.summary}".strip() for row in rows}


def _read(said: object) -> dict[str, Fingerprint]:
    """What a sandbox said, taken for nothing but text."""
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
