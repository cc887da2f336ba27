"""Reads what a kernel says. Nothing in it is trusted: types and sizes are checked, what does not fit is left out."""

import re
from collections.abc import Iterator
from typing import Any, Literal

from sandboxes.base import SandboxLostError, workspace_path
from sandboxes.host.reading import SMALL, UnreadableError, read_json
from sandboxes.rebuilding import BrokenOff, RebuildPlan
from sandboxes.results import (
    CellError,
    ChangedFile,
    Difference,
    Display,
    LookTaken,
    LostVariable,
    NamespaceRow,
    RestoredSession,
    SnapshotTaken,
    TrialRestore,
)

MAX_DISPLAYS = 60
"""Displays of one cell that are listened to; an honest kernel sends fewer."""
MAX_DISPLAY_BYTES = 1_000_000
"""Bytes of one display, and …"""
MAX_BYTES = 12_000_000
"""… of any other answer, that are read, with …"""
MAX_ITEMS = 500_000
"""… so many values in it: small objects take thirty times as much memory as their text."""
MAX_TEXT = 32_000
"""Characters of one text."""
MAX_HTML = 200_000
MAX_ROWS = 200
MAX_FILES = 10_000
MAX_LOST = 10_000
MAX_REACHED = 20
MAX_DIFFERENCES = 50
MAX_NEEDED = 100_000
MAX_VALUES = 500
HASH = re.compile(r"[0-9a-f]{64}")
Kind = Literal["result", "display", "figure"]
Change = Literal["created", "changed", "deleted"]
KINDS: dict[Any, Kind] = {"result": "result", "display": "display", "figure": "figure"}
Look = Literal["copy", "done", "known", "gone"]
LOOKS: dict[Any, Look] = {"copy": "copy", "done": "done", "known": "known", "gone": "gone"}
CHANGES: dict[Any, Change] = {"created": "created", "changed": "changed", "deleted": "deleted"}


async def read(body: bytes) -> dict[str, Any]:
    """The content of an answer; empty when it is not a JSON object.

    One that is larger than any honest one says so in place of all else, whatever it was the answer to.
    """
    try:
        value = await read_json(body, max_bytes=MAX_BYTES, max_items=MAX_ITEMS)
    except UnreadableError as error:
        if len(body) <= SMALL:
            return {}
        why = f"What the session said cannot be used: {error}."
        return {"status": "error", "error": {"name": "SandboxError", "message": why}, "refused": why, "failed": why}
    return value if isinstance(value, dict) else {}


def display(said: dict[str, Any], body: bytes) -> Display | None:
    """A display, if it is one.

    Args:
        said: What the header of its frame says: `kind`, `path`, and in `text` how many bytes of the body are its text.
        body: Its text, and after that its HTML.
    """
    kind, size = KINDS.get(_text(said.get("kind"), 20)), said.get("text")
    if kind is None or type(size) is not int or not 0 <= size <= len(body):
        return None
    html = body[size:].decode("utf-8", "replace")
    shown = Display(
        kind=kind,
        text=body[:size].decode("utf-8", "replace")[:MAX_TEXT],
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


def reached(said: dict[str, Any]) -> tuple[str, ...]:
    """What the cell reached outside of the sandbox."""
    notes = (_text(note, 200) for note in _list(said.get("reached"))[:MAX_REACHED])
    return tuple(note for note in notes if note)


def values(said: dict[str, Any]) -> tuple[str, ...]:
    """The values of the answer that came with the cell."""
    return tuple(_text(value, MAX_TEXT) for value in _list(said.get("values"))[:MAX_VALUES])


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


def snapshot(said: dict[str, Any]) -> SnapshotTaken:
    """The result of taking a snapshot."""
    id = _hash(said.get("id"))
    return SnapshotTaken(
        id=id,
        new=tuple(name for name in map(_hash, _list(said.get("new"))) if name) if id else (),
        bytes=_count(said.get("bytes")),
        seconds=_seconds(said.get("seconds")),
        lost=_lost(said),
        refused="" if id else _text(said.get("refused"), 2_000) or "The sandbox gave no reason.",
    )


def restored(said: dict[str, Any]) -> RestoredSession:
    """What came back."""
    return RestoredSession(
        restored=tuple(_text(name, 100) for name in _list(said.get("restored")) if isinstance(name, str)),
        lost=_lost(said),
        rebuilt=_names(said.get("rebuilt")),
        versions=tuple(_text(line, 200) for line in _list(said.get("versions"))[:200] if isinstance(line, str)),
    )


def rebuild_plan(said: dict[str, Any]) -> RebuildPlan:
    """Which cells lost variables need."""
    own, refused, since = said.get("own"), said.get("refused"), said.get("since")
    return RebuildPlan(
        names=_names(said.get("names")),
        base=_count(said.get("base")),
        cells=_numbers(said.get("cells")),
        before=_numbers(said.get("before")),
        own={_text(name, 1_000): _numbers(cells) for name, cells in own.items()} if isinstance(own, dict) else {},
        refused={_text(name, 1_000): _text(why, 500) for name, why in refused.items()}
        if isinstance(refused, dict)
        else {},
        since={_text(name, 1_000): _count(cell) for name, cell in since.items()} if isinstance(since, dict) else {},
    )


def broken_off(said: dict[str, Any]) -> BrokenOff | None:
    """Why lost variables could not be made again."""
    problem, failed = problems(said)
    reason = _text(said.get("broken_off"), 2_000) or problem or failed
    return BrokenOff(reason.rstrip("."), _count(said.get("cell"))) if reason else None


def problems(said: dict[str, Any]) -> tuple[str, str]:
    """Why a snapshot cannot be restored: what is wrong with its blobs, and what else went wrong."""
    failed = _text(said.get("failed"), 2_000)
    if not failed and not isinstance(said.get("restored"), list):
        failed = "The sandbox did not say what it restored."
    return _text(said.get("problem"), 2_000), failed


def look(said: dict[str, Any]) -> LookTaken:
    """Whether a session is looked at."""
    state = LOOKS.get(_text(said.get("state"), 20))
    if state is None:
        return LookTaken("refused", _text(said.get("why"), 500).rstrip(".") or "the sandbox gave no reason")
    return LookTaken(state)


def files_brought(said: dict[str, Any]) -> RestoredSession | tuple[str, ...]:
    """What there is once a session's files are those of a step; or, first, the blobs that it needs for that.

    Raises:
        SandboxLostError: neither.
    """
    match _text(said.get("state"), 20):
        case "done":
            names = tuple(_text(name, 100) for name in _list(said.get("restored")) if isinstance(name, str))
            return RestoredSession(restored=names, lost=_lost(said))
        case "lacks":
            return tuple(name for name in map(_hash, _list(said.get("names"))[:MAX_NEEDED]) if name)
    raise SandboxLostError("The files of the step could not be brought back.")


def trial(said: dict[str, Any]) -> TrialRestore:
    """What a restore in a fresh session gave."""
    refused = _text(said.get("refused"), 500).rstrip(".")
    if not refused and not isinstance(said.get("differs"), list):
        refused = "The sandbox did not say what it compared"
    rows = (
        Difference(_text(row.get("name"), 200), _text(row.get("how"), 400))
        for row in _dicts(said.get("differs"), MAX_DIFFERENCES)
    )
    return TrialRestore(
        differs=() if refused else tuple(row for row in rows if row.name),
        compared=_count(said.get("compared")),
        skipped=_names(said.get("skipped"))[:MAX_DIFFERENCES],
        cpu=_seconds(said.get("cpu")),
        refused=refused,
    )


def _lost(said: dict[str, Any]) -> tuple[LostVariable, ...]:
    return tuple(
        LostVariable(
            name=_text(row.get("name"), 1_000),
            type=_text(row.get("type"), 200),
            reason=_text(row.get("reason"), 500),
            cell=_count(row.get("cell")),
        )
        for row in _dicts(said.get("lost"), MAX_LOST)
    )


def _names(value: object) -> tuple[str, ...]:
    return tuple(_text(name, 1_000) for name in _list(value)[:MAX_LOST] if isinstance(name, str))


def _numbers(value: object) -> tuple[int, ...]:
    return tuple(_count(number) for number in _list(value)[:MAX_LOST])


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _count(value: object) -> int:
    return value if type(value) is int and value >= 0 else 0


def _seconds(value: object) -> float:
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e9 else 0.0


def _hash(value: object) -> str:
    return value if isinstance(value, str) and HASH.fullmatch(value) else ""
