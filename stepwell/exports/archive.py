"""An archive of a thread: its answers, its report, its notebook, its code and its published files."""

import asyncio
import io
import time
import zipfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from graph.settings import Settings
from graph.state import Artifact, State
from nodes.publishing import OURS, as_script, names_by_path, relinked
from storage.artifacts import Artifacts, StorageError, mime_of
from storage.clean_text import clean
from storage.published_files import NoSuchArtifactError, PublishedFile, is_plain, open_published
from storage.safe_names import harmless_name

PACKED = (".zip", ".gz", ".bz2", ".xz", ".zst", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".xlsx", ".docx", ".pptx",
          ".parquet", ".pdf", ".mp4")  # fmt: skip
"""What does not become smaller."""


Opener = Callable[[Artifact], AbstractAsyncContextManager[PublishedFile]]
"""Opens a published file; raises `NoSuchArtifactError` or `StorageError`."""


def published_opener(settings: Settings, thread: str) -> Opener:
    """Opens what a thread has published where these settings, or the run that published it, put it."""
    artifacts = Artifacts.at(settings.artifacts)

    def opener(one: Artifact) -> AbstractAsyncContextManager[PublishedFile]:
        there = artifacts
        if artifacts.in_working_directory:  # which may have been another one then
            folder = f"/{Path(artifacts.folder(thread)).name}/{one['name']}"
            if one["url"].startswith("/") and one["url"].endswith(folder):
                there = Artifacts(one["url"].removesuffix(folder) or "/", in_working_directory=True)
        return open_published(there, thread, one["name"])

    return opener


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """A file for the archive."""

    name: str
    open: Callable[[], AbstractAsyncContextManager[PublishedFile]]


class _Pipe(io.RawIOBase):
    """Holds what is written until it is taken. It cannot seek, so the archive is written as a stream."""

    def __init__(self) -> None:
        self._held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        before = len(self._held)
        self._held += memoryview(data)  # type: ignore[arg-type]  # any buffer
        return len(self._held) - before

    def taken(self) -> bytes:
        """What was written since the last call."""
        held = bytes(self._held)
        self._held.clear()
        return held


async def zip_stream(texts: Mapping[str, str], entries: Sequence[ArchiveEntry]) -> AsyncIterator[bytes]:
    """The pieces of an archive.

    A file that cannot be had is named in `missing.txt`. One that breaks off in the middle ends the archive there, which
    whoever opens it notices.
    """
    pipe = _Pipe()
    missing = []
    archive = zipfile.ZipFile(pipe, "w", allowZip64=True)
    for name, text in texts.items():
        await asyncio.to_thread(archive.writestr, _about(name), text.encode("utf-8", "replace"))
        yield pipe.taken()
    for entry in entries:
        try:
            async with entry.open() as file:
                writer = archive.open(_about(entry.name), "w", force_zip64=True)
                async for piece in file.pieces(0, file.size):
                    await asyncio.to_thread(writer.write, piece)
                    yield pipe.taken()
                writer.close()
        except (NoSuchArtifactError, StorageError):
            if archive.fp is None or getattr(archive, "_writing", False):
                raise
            missing.append(entry.name)
    if missing:
        listed = "These files are no longer there:\n" + "".join(f"{name}\n" for name in missing)
        await asyncio.to_thread(archive.writestr, _about("missing.txt"), listed)
    archive.close()
    yield pipe.taken()


def _about(name: str) -> zipfile.ZipInfo:
    about = zipfile.ZipInfo(name, time.gmtime()[:6])
    about.compress_type = zipfile.ZIP_STORED if name.lower().endswith(PACKED) else zipfile.ZIP_DEFLATED
    about.external_attr = 0o644 << 16
    return about


def archive_stream(state: State, opener: Opener, documents: Mapping[str, str]) -> AsyncIterator[bytes]:
    """The pieces of a thread's archive, made while they are read.

    Args:
        state: What the thread holds.
        opener: Opens its published files.
        documents: Further texts by the names that they would like to have, such as `report.html`.
    """
    plain = [one for one in published(state) if one["name"] != "analysis.py"]
    names = packed_names(one["name"] for one in plain)
    entries = [ArchiveEntry(names[one["name"]], partial(opener, one)) for one in plain]
    taken = {one.name.casefold() for one in entries}
    texts: dict[str, str] = {}
    links = {path: quote(names.get(name, name)) for path, name in names_by_path(published(state)).items()}
    for name, text in {"answers.md": relinked(answers_of(state), links), **documents}.items():
        texts[_free_name(name, taken)] = text
    if state.get("cells") and state.get("question"):
        texts["analysis.py"] = as_script(state)
    return zip_stream(texts, entries)


def _free_name(name: str, taken: set[str]) -> str:
    stem, dot, suffix = name.rpartition(".")
    free = (name, *(f"{stem}-{number}{dot}{suffix}" for number in range(2, len(taken) + 3)))
    found = next(one for one in free if one.casefold() not in taken)
    taken.add(found.casefold())
    return found


def published(state: Mapping[str, Any]) -> list[Artifact]:
    """The published files that a state names, as far as what it says can be used: a client may have edited it."""
    artifacts: Any = state.get("artifacts")
    found: dict[str, Artifact] = {}
    for one in artifacts if isinstance(artifacts, list) else []:
        if not isinstance(one, dict) or not isinstance(name := one.get("name"), str) or not is_plain(name):
            continue
        found[name] = Artifact(
            name=name,
            url=str(one.get("url") or ""),
            size=_number(one.get("size")),
            sha256=str(one.get("sha256") or ""),
            mime=mime_of(name),
            cell=_number(one.get("cell")),
        )
        if isinstance(path := one.get("path"), str) and path:
            found[name]["path"] = path
    return list(found.values())


def answers_of(state: State) -> str:
    """The questions and the answers of a thread, as Markdown."""
    turns = [(turn["question"], turn["answer"]) for turn in state.get("turns") or []]
    if state.get("turn", 0) > len(turns):
        turns.append((state.get("question", ""), state.get("answer", "")))
    return clean("\n".join(f"# {question}\n\n{answer or '(not answered)'}\n" for question, answer in turns))


def packed_names(names: Iterable[str]) -> dict[str, str]:
    """What files are called in an archive, each by its name: a state may name files that were published under any."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(names, key=lambda name: (_packed_name(name) != name, name)):  # who keeps theirs comes first
        packed = _packed_name(name)
        while packed.casefold() in taken:
            packed = f"more/{packed}"
        taken.add(packed.casefold())
        found[name] = packed
    return found


def _packed_name(name: str) -> str:
    return name if OURS.fullmatch(name) else harmless_name(name)


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
