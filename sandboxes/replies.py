"""Reads what a kernel says. Nothing in it is trusted: types and sizes are checked, what does not fit is left out."""

import json
from collections.abc import Iterator
from typing import Any, Literal

from sandboxes.base import CellError, ChangedFile, Display, NamespaceRow, workspace_path

MAX_DISPLAYS = 60
"""Displays of one cell that are listened to; an honest kernel sends fewer."""
MAX_TEXT = 32_000
"""Characters of one text."""
MAX_HTML = 200_000
MAX_ROWS = 200
MAX_FILES = 10_000
Kind = Literal["result", "display", "figure"]
Change = Literal["created", "changed", "deleted"]
KINDS: dict[Any, Kind] = {"result": "result", "display": "display", "figure": "figure"}
CHANGES: dict[Any, Change] = {"created": "created", "changed": "changed", "deleted": "deleted"}


def content(body: bytes) -> dict[str, Any]:
    """The content of a frame; empty when it is not a JSON object."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def display(said: dict[str, Any]) -> Display | None:
    """A display, if it is one."""
    kind = KINDS.get(_text(said.get("kind"), 20))
    if kind is None:
        return None
    html = _text(said.get("html"), MAX_HTML + 1)
    shown = Display(
        kind=kind,
        text=_text(said.get("text"), MAX_TEXT),
        html=html if len(html) <= MAX_HTML else "",
        path=_path(said.get("path")),
    )
    return shown if shown.text or shown.html or shown.path else None


def error(said: dict[str, Any]) -> CellError | None:
    """The exception that ended the cell, if the kernel names one."""
    found = said.get("error")
    if not isinstance(found, dict):
        return None
    name, message = _text(found.get("name"), 200), _text(found.get("message"), MAX_TEXT)
    return CellError(name=name, message=message, traceback=_text(found.get("traceback"), MAX_TEXT))


def namespace(said: dict[str, Any]) -> tuple[NamespaceRow, ...]:
    """The table of variables."""
    rows = (
        NamespaceRow(
            name=_text(row.get("name"), 100), type=_text(row.get("type"), 100), summary=_text(row.get("summary"), 200)
        )
        for row in _dicts(said.get("namespace"), MAX_ROWS)
    )
    return tuple(row for row in rows if row.name)


def files(said: dict[str, Any]) -> tuple[ChangedFile, ...]:
    """The changed files; paths that leave the workspace are left out."""
    found: list[ChangedFile] = []
    for row in _dicts(said.get("files"), MAX_FILES):
        path, change, size = _path(row.get("path")), CHANGES.get(_text(row.get("change"), 20)), row.get("size")
        if path and change is not None and type(size) is int and size >= 0:
            found.append(ChangedFile(path=path, change=change, size=size))
    return tuple(found)


def _dicts(value: object, limit: int) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        yield from (row for row in value[:limit] if isinstance(row, dict))


def _text(value: object, limit: int) -> str:
    if not isinstance(value, str):
        return ""
    return value[:limit].encode("utf-8", "backslashreplace").decode("utf-8")


def _path(value: object) -> str:
    if not isinstance(value, str) or not value or len(value) > 1_000:
        return ""
    try:
        return workspace_path(_text(value, 1_000))
    except ValueError:
        return ""
