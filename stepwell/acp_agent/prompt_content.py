"""What a user typed, dropped and pasted in an editor, as a question with files."""

import asyncio
import base64
import binascii
import mimetypes
import shutil
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from acp.schema import (
    AudioContentBlock,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
)

from stepwell.errors import UsageError
from storage.safe_names import harmless_name, safe_name

Block = TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, its files, and what was sent of files that have no path here."""

    text: str
    files: tuple[str, ...] = ()
    """Local paths and URLs."""
    sent: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)
    """Names and contents."""


def asked_in(blocks: Sequence[Block]) -> Asked:
    """What a prompt asks.

    Files that are named stand in the question by their names, as the user saw them.

    Raises:
        UsageError: it holds what cannot be taken in, or nothing.
    """
    texts: list[str] = []
    files: list[str] = []
    sent: list[tuple[str, bytes]] = []
    for number, block in enumerate(blocks):
        match block:
            case TextContentBlock():
                texts.append(block.text)
            case ResourceContentBlock():
                files.append(_place(block.uri))
                texts.append(block.name or _name(block.uri))
            case EmbeddedResourceContentBlock():
                name = _name(block.resource.uri) or f"sent-{number}"
                sent.append((name, _content(block, name)))
                texts.append(name)
            case ImageContentBlock():
                ending = mimetypes.guess_extension(block.mime_type) or ".png"
                sent.append((f"picture-{number}{ending}", _decoded(block.data, "picture")))
            case _:
                raise UsageError("Sound cannot be taken in; give text, pictures and files.")
    text = "".join(texts).strip()
    if not text:
        raise UsageError("There is no question.")
    return Asked(text, tuple(dict.fromkeys(files)), tuple(sent))


def _place(uri: str) -> str:
    """The local path of a `file:` URI; any other URI as it is."""
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return uri
    if parts.netloc not in ("", "localhost"):
        raise UsageError(f"{uri} is a file of another machine.")
    return unquote(parts.path)


def _name(uri: str) -> str:
    return unquote(urlsplit(uri).path).rstrip("/").rpartition("/")[2]


def _content(block: EmbeddedResourceContentBlock, name: str) -> bytes:
    resource = block.resource
    return _decoded(resource.blob, name) if isinstance(resource, BlobResourceContents) else resource.text.encode()


def _decoded(data: str, name: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise UsageError(f"What was sent of {name} is not base64.") from None


@asynccontextmanager
async def placed(asked: Asked, folder: Path) -> AsyncIterator[list[str]]:
    """All files of a question as paths and URLs, for the time of the block.

    Args:
        asked: The question.
        folder: Where what was sent lies until it is taken in.
    """
    own = folder / str(uuid.uuid4())

    def place() -> list[str]:
        paths = []
        for number, (name, data) in enumerate(asked.sent):
            path = own / str(number) / safe_name(harmless_name(name))
            path.parent.mkdir(parents=True, mode=0o700)
            path.write_bytes(data)
            paths.append(str(path))
        return paths

    try:
        yield [*asked.files, *(await asyncio.to_thread(place) if asked.sent else [])]
    finally:
        await asyncio.to_thread(shutil.rmtree, own, ignore_errors=True)
