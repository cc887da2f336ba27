"""Files that come inside a message, as chat interfaces and other agents send them: they become inputs like others."""

import asyncio
import base64
import binascii
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage

from sandboxes.host.scratch import scratch_folder
from storage.inputs import FetchedInput, InputError
from storage.safe_names import safe_input_name

SUFFIXES = {
    "text/csv": ".csv", "text/plain": ".txt", "application/json": ".json", "application/pdf": ".pdf",
    "image/png": ".png", "image/jpeg": ".jpg", "text/html": ".html",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
}  # fmt: skip
"""For files without a name."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file inside a message."""

    name: str
    data: str
    """Base64."""


def attachments(message: BaseMessage) -> list[Attachment]:
    """The files in a message, in LangChain's form, its older one, and OpenAI's. Links to files are not followed."""
    if isinstance(message.content, str):
        return []
    found = []
    for number, block in enumerate(message.content, 1):
        if isinstance(block, dict) and (data := _data(block)):
            found.append(Attachment(_name(block, data, number), data.rpartition(",")[2]))
    return found


def without_attachments(message: BaseMessage, names: list[str]) -> HumanMessage:
    """The message with words in place of its files, so that no later step carries them along."""
    named = f"\n\n(Attached: {', '.join(names)})" if names else ""
    return HumanMessage(f"{message.text}{named}", id=message.id)


@asynccontextmanager
async def attachment_file(attachment: Attachment, *, max_bytes: int) -> AsyncIterator[FetchedInput]:
    """Have an attachment in a file, for the time of the block.

    Raises:
        InputError: it is too large, or no base64.
    """
    if len(attachment.data) * 3 // 4 > max_bytes:
        raise InputError(f"{attachment.name} is larger than {max_bytes:,} bytes (STEPWELL_MAX_INPUT_BYTES).")
    async with scratch_folder("attached") as folder:
        yield await asyncio.to_thread(_write, attachment, folder / "file")


def _write(attachment: Attachment, file: Path) -> FetchedInput:
    try:
        content = base64.b64decode(attachment.data, validate=True)
    except (binascii.Error, ValueError):
        raise InputError(f"The file {attachment.name} in the message cannot be read: it is not base64.") from None
    file.write_bytes(content)
    source = f"(in the message) {attachment.name}"
    return FetchedInput(file, attachment.name, source, len(content), hashlib.sha256(content).hexdigest())


def _data(block: dict[str, Any]) -> str:
    if block.get("type") == "text":
        return ""
    inner, picture = block.get("file"), block.get("image_url")
    candidates = [block.get("base64"), block.get("data")]
    if isinstance(inner, dict):
        candidates.append(inner.get("file_data"))
    url = picture.get("url") if isinstance(picture, dict) else picture
    if isinstance(url, str) and url.startswith("data:"):
        candidates.append(url)
    return next((one for one in candidates if isinstance(one, str) and one), "")


def _name(block: dict[str, Any], data: str, number: int) -> str:
    places = [block, *(block[key] for key in ("extras", "metadata", "file") if isinstance(block.get(key), dict))]
    for place in places:
        for key in ("filename", "name", "title"):
            if isinstance(place.get(key), str) and place[key].strip():
                return safe_input_name(place[key])
    mime = str(block.get("mime_type") or data.partition(";")[0].removeprefix("data:"))
    return f"attachment-{number}{SUFFIXES.get(mime, '')}"
