"""Routes of a thread's published files: the list, each file, and all of it as one archive."""

import asyncio
import io
import time
import zipfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from graph.app import artifacts, links
from graph.state import Artifact, State
from nodes.publishing import OURS, as_script
from server.file_response import FILE, SAFE, RangeFileResponse, disposition
from server.platform import Platform
from server.routing import LINKED, THREAD, RefusedError, external_path, path_parameter, response_schema, route, sender
from server.step_routes import newest_values
from storage.artifacts import StorageError, mime_of
from storage.clean_text import clean
from storage.published_files import NoSuchArtifactError, PublishedFile, is_plain, open_published
from storage.safe_names import harmless_name

PACKED = (".zip", ".gz", ".bz2", ".xz", ".zst", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".xlsx", ".docx", ".pptx",
          ".parquet", ".pdf", ".mp4")  # fmt: skip
"""What does not become smaller."""


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """A file for the archive."""

    name: str
    open: Callable[[], AbstractAsyncContextManager[PublishedFile]]


class _Pipe(io.RawIOBase):
    """Takes what is written and gives it back once; it cannot go back, so the archive is written in one go."""

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


LISTED = {
    "type": "object",
    "required": ["artifacts"],
    "properties": {
        "artifacts": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "size", "sha256", "mime", "cell", "figure", "href", "link"],
                "properties": {
                    "name": {"type": "string"},
                    "size": {"type": "integer"},
                    "sha256": {"type": "string"},
                    "mime": {"type": "string"},
                    "cell": {"type": "integer", "description": "The cell that last wrote it; 0: Stepwell itself."},
                    "figure": {"type": "boolean"},
                    "href": {"type": "string", "description": "Where it is, below this server's address."},
                    "link": {
                        "type": "string",
                        "description": "The same with a signature: for some days a browser opens it without a key.",
                    },
                },
            },
        }
    },
}
DOWNLOAD = {
    "name": "download",
    "in": "query",
    "required": False,
    "schema": {"type": "boolean"},
    "description": "Have it saved and not shown.",
}


@route(
    "/stepwell/threads/{thread_id}/artifacts",
    "GET",
    summary="List a thread's published files",
    parameters=[THREAD],
    responses={200: response_schema(schema=LISTED)},
    refusals=[404, 503],
    tag="Stepwell: files",
)
async def list_artifacts(request: Request) -> Response:
    """The files of the thread's newest state."""
    sender(request)
    thread = request.path_params["thread_id"]
    values = await newest_values(request, thread)
    return JSONResponse({"artifacts": [await _shown(request, thread, one) for one in published(values)]})


@route(
    "/stepwell/threads/{thread_id}/artifacts/{name:path}",
    "GET",
    summary="Download a published file",
    parameters=[THREAD, path_parameter("name", "The file's name, as listed; `/` between its parts."), DOWNLOAD],
    responses=FILE,
    refusals=[404, 416, 503],
    tag="Stepwell: files",
)
async def get_artifact(request: Request) -> Response:
    """One file, or a part of it. Only what the thread has published is found, by its exact name.

    Whoever has a signed link to it needs no key: the name was published when it was signed.
    """
    thread, name = request.path_params["thread_id"], request.path_params["name"]
    if request.scope.get(LINKED):
        return RangeFileResponse(request, name, partial(open_published, artifacts, thread, name))
    sender(request)
    values = await newest_values(request, thread)
    if all(one["name"] != name for one in published(values)):
        raise RefusedError(404, "This thread has published no file of that name.")
    return RangeFileResponse(request, name, partial(open_published, artifacts, thread, name))


@route(
    "/stepwell/threads/{thread_id}/export",
    "GET",
    summary="Download a thread as a ZIP archive",
    parameters=[THREAD],
    responses={200: response_schema("application/zip", {"type": "string", "format": "binary"}, "The archive.")},
    refusals=[404, 503],
    tag="Stepwell: files",
)
async def export(request: Request) -> Response:
    """Its answers, its code and its published files, made while it is sent."""
    sender(request)
    thread = request.path_params["thread_id"]
    state = await Platform(request).state(thread)
    plain = [one["name"] for one in published(state) if one["name"] != "analysis.py"]
    names = packed_names(plain)
    entries = [ArchiveEntry(names[name], partial(open_published, artifacts, thread, name)) for name in plain]
    taken = {one.name for one in entries}
    free = ("answers.md", *(f"answers-{number}.md" for number in range(2, len(taken) + 3)))
    texts = {next(name for name in free if name not in taken): answers_of(state)}
    if state.get("cells") and state.get("question"):
        texts["analysis.py"] = as_script(state)
    headers = {**SAFE, "Content-Disposition": disposition(f"stepwell-{thread[:8]}.zip", inline=False)}
    return StreamingResponse(zip_stream(texts, entries), 200, headers, "application/zip")


def published(state: Mapping[str, Any]) -> list[Artifact]:
    """The published files that a state names, as far as what it says can be used: a client may have edited it."""
    said: Any = state.get("artifacts")
    found: dict[str, Artifact] = {}
    for one in said if isinstance(said, list) else []:
        if not isinstance(one, dict) or not isinstance(name := one.get("name"), str) or not is_plain(name):
            continue
        found[name] = Artifact(
            name=name,
            url="",
            size=_number(one.get("size")),
            sha256=str(one.get("sha256") or ""),
            mime=mime_of(name),
            cell=_number(one.get("cell")),
        )
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


async def _shown(request: Request, thread: str, one: Artifact) -> dict[str, Any]:
    href = external_path(request, f"/stepwell/threads/{thread}/artifacts/{quote(one['name'])}")
    return {
        "name": one["name"],
        "size": one["size"],
        "sha256": one["sha256"],
        "mime": one["mime"],
        "cell": one["cell"],
        "figure": one["name"].startswith("figures/"),
        "href": href,
        "link": f"{href}?{await links.query(thread, one['name'])}",
    }


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
