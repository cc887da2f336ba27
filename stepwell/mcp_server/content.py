"""What came of a cell, of a question or of a look, as content that clients of the protocol show to models."""

import base64
import json
from typing import Any
from urllib.parse import quote

from mcp_types import (
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
)

from graph.events import ApprovalAsked, Event, Failed, Finished, SessionRestored
from stepwell.amounts import count_text
from stepwell.cell_sessions import CellRun
from stepwell.exports.pictures import picture_type
from stepwell.page.backend import NothingFoundError
from stepwell.page.local import LocalBackend
from stepwell.page.variables import VariablePage

MOST_PICTURES = 4
"""Figures of one cell that are sent; of further ones the path is named."""
PICTURE_BYTES = 2 << 20
TEXT_BYTES = 200_000
BLOB_BYTES = 8 << 20


def text_result(text: str, structured: dict[str, Any] | None = None, *, is_error: bool = False) -> CallToolResult:
    """A result as text, and as data for programs."""
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=structured, is_error=is_error
    )


def listed(value: Any) -> CallToolResult:
    """JSON shapes, as text for models and as they are for programs."""
    return text_result(json.dumps(value, ensure_ascii=False, indent=1, default=str), value)


async def ran(found: CellRun, backend: LocalBackend) -> CallToolResult:
    """The result of a cell: what it printed, its figures, and where the session is."""
    if found.cell is None:
        return _waits(found)
    cell = found.cell
    notes = [*([restored_text(found.restored)] if found.restored is not None else []), *found.notices]
    lost = [f"{one['name']} ({one['type']}: {one['reason']})" for one in cell.get("lost") or []]
    lines = [cell["observation"]]
    lines += [f"Note: {note}" for note in notes]
    lines += [f"Not in the snapshot, so gone when the session is brought back: {', '.join(lost)}"] if lost else []
    lines.append(f"session {found.session}, step {found.step}")
    content: list[ContentBlock] = [TextContent(type="text", text="\n\n".join(lines))]
    content += [await _picture(found, path, backend) for path in cell["figures"][:MOST_PICTURES]]
    structured = {
        "session": found.session,
        "step": found.step,
        "status": cell["status"],
        "error": cell["error"],
        "output": cell["observation"],
        "seconds": cell["seconds"],
        "variables": list(found.variables),
        "files": list(cell["files"]),
        "figures": list(cell["figures"]),
        "not_kept": list(cell.get("lost") or []),
        "notices": notes,
    }
    return CallToolResult(content=content, structured_content=structured, is_error=cell["status"] != "ok")


def _waits(found: CellRun) -> CallToolResult:
    assert found.asked is not None, "a cell has run or waits"
    text = (
        f"The cell was not run: it waits for the user's approval (session {found.session}). They decide with "
        f"`stepwell resume {found.session} --approve-cell`, `--reject REMARK`, or on the page (`stepwell open`)."
    )
    structured = {"session": found.session, "step": found.step, "status": "waiting", "code": found.asked.code}
    return text_result(text, structured, is_error=True)


def restored_text(event: SessionRestored) -> str:
    """How variables and files came back before a cell."""
    again = f"by running {count_text(event.cells, 'cell')}"
    how = f"from the snapshot after step {event.from_cell}" if event.from_cell else again
    lost = f"; not brought back: {', '.join(event.lost)}" if event.lost else ""
    problems = f"; {'; '.join(event.problems)}" if event.problems else ""
    return f"The session was brought back {how}{lost}{problems}."


async def _picture(found: CellRun, path: str, backend: LocalBackend) -> ContentBlock:
    assert found.cell is not None, "only cells that ran have figures"
    try:
        data = await backend.figure(found.session, found.cell["number"], path, step=found.step)
    except NothingFoundError as error:
        return TextContent(type="text", text=f"{path}: {error}")
    if len(data) > PICTURE_BYTES or not (kind := picture_type(data)):
        return TextContent(type="text", text=f"The figure {path} has {len(data)} bytes; fetch_file gives it.")
    return ImageContent(type="image", data=base64.b64encode(data).decode(), mime_type=kind)


def answered(event: Event) -> CallToolResult:
    """How a question ended."""
    match event:
        case Finished():
            files = [f"- {one['name']} ({one['size']} bytes)" for one in event.artifacts]
            lines = [event.answer]
            lines += ["Files (fetch_file gives them):\n" + "\n".join(files)] if files else []
            lines += ["Not settled: " + "; ".join(event.concerns)] if event.concerns else []
            lines.append(f"session {event.thread}, {event.cells} steps")
            structured = {
                "session": event.thread,
                "answer": event.answer,
                "files": [{"path": one.get("path") or one["name"], "size": one["size"]} for one in event.artifacts],
                "concerns": event.concerns,
                "steps": event.cells,
                "tokens": {"in": event.input_tokens, "out": event.output_tokens},
            }
            return text_result("\n\n".join(lines), structured)
        case ApprovalAsked():
            text = (
                f"It waits for the user's approval (session {event.thread}); they decide with "
                f"`stepwell resume {event.thread}` or on the page (`stepwell open`)."
            )
            return text_result(text, {"session": event.thread, "status": "waiting"}, is_error=True)
        case Failed():
            text = f"It stopped: {event.error} (session {event.thread}; `stepwell resume` goes on)"
            return text_result(text, {"session": event.thread, "status": "failed"}, is_error=True)
    raise AssertionError(event)


def table(page: VariablePage) -> CallToolResult:
    """A part of a variable."""
    if not page.is_table:
        return text_result(
            f"{page.name}: {page.type}\n{page.text}", {"name": page.name, "type": page.type, "text": page.text}
        )
    lines = ["\t".join(["", *page.labels])]
    lines += ["\t".join([label, *cells]) for label, cells in zip(page.index, page.cells, strict=False)]
    size = f"{count_text(page.rows, 'row')}, {count_text(page.columns, 'column')}"
    head = f"{page.name}: {page.type}, {size}; from row {page.window.row}"
    structured = {
        "name": page.name,
        "type": page.type,
        "rows": page.rows,
        "columns": page.columns,
        "first_row": page.window.row,
        "first_column": page.window.column,
        "labels": list(page.labels),
        "index": list(page.index),
        "cells": [list(line) for line in page.cells],
    }
    return text_result("\n".join([head, *lines]), structured)


def address(session: str, step: str, path: str) -> str:
    """The resource URI of a file of a step."""
    return f"stepwell://{session}/{step}/{quote(path)}"


def file_content(session: str, step: str, path: str, data: bytes | None, size: int) -> CallToolResult:
    """A file: text, a picture, or bytes; of one that is too large, where it is.

    Args:
        session: The thread.
        step: The step.
        path: The workspace path.
        data: Its content; None where it is too large to be sent.
        size: Bytes.
    """
    uri = address(session, step, path)
    content: ContentBlock
    if data is None:
        content = ResourceLink(type="resource_link", name=path, uri=uri, size=size)
    elif kind := picture_type(data):
        content = ImageContent(type="image", data=base64.b64encode(data).decode(), mime_type=kind)
    elif len(data) <= TEXT_BYTES and b"\0" not in data and (text := _text(data)) is not None:
        content = TextContent(type="text", text=text)
    else:
        blob = BlobResourceContents(uri=uri, mime_type="application/octet-stream", blob=base64.b64encode(data).decode())
        content = EmbeddedResource(type="resource", resource=blob)
    return CallToolResult(
        content=[content], structured_content={"path": path, "size": size, "uri": uri, "whole": data is not None}
    )


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
