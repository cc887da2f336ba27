"""What the model is shown of a cell's result, and what is remembered of it."""

import re
from collections.abc import Sequence

from graph.state import Cell, FileChange, Pending, Variable
from sandboxes.results import CellResult, NamespaceRow

TRACEBACK_CHARS = 1_500
HEADER = re.compile(r"\Acell \d+ · [^\n]*")
"""The first line of an observation is Stepwell's own: the cell's number and its seconds are no results."""
REJECTED = "The user rejected this cell: "
"""What stands before a user's remark in the observation of a cell that did not run."""
GLYPH = re.compile(r"[^\n]*Warning: Glyph (\d{1,7}) [^\n]*missing from[^\n]*\n?(?:  [^\n]*\n?)?")
GLYPHS_SHOWN = 40
FILES_SHOWN = 20
NAME = re.compile(r"[^\W\d]\w*")
NAMESPACE_KEPT = 8_000
"""Characters; twice what a prompt shows."""


def observe(result: CellResult, *, number: int, limit: int, back_to: int | None = None) -> str:
    """The observation of one result: at most `limit` characters, the beginning and the end of long output kept."""
    parts = [f"cell {number} · {result.status} · {result.seconds:.2f} s"]
    if back_to is not None:
        start = f"after cell {back_to}" if back_to else "at the beginning"
        parts.append(f"It started with variables and files as they were {start}.")
    if result.note:
        parts.append(result.note)
    tail: list[str] = []
    if result.error is not None:
        tail.append(
            shorten(result.error.traceback.strip() or f"{result.error.name}: {result.error.message}", TRACEBACK_CHARS)
        )
    figures = [display.path for display in result.displays if display.path]
    if figures:
        tail.append(f"figures saved: {', '.join(figures[:FILES_SHOWN])}" + _more(len(figures)))
    files = [file for file in result.files if file.path not in figures]
    if files:
        listed = ", ".join(
            f"{file.path} ({file.change}{f', {file.size:,} bytes' if file.change != 'deleted' else ''})"
            for file in files[:FILES_SHOWN]
        )
        tail.append(f"files: {listed}" + _more(len(files)))
    if result.values:
        tail.append(f"values of the answer computed: {len(result.values)}")
    output: list[str] = []
    if stdout := result.stdout.text.strip("\n"):
        output.append(stdout)
    output.extend(display.text for display in result.displays if display.text and display.kind != "figure")
    stderr, boxes = _without_glyph_warnings(result.stderr.text)
    if stderr := stderr.strip("\n"):
        output.append(f"stderr:\n{shorten(stderr, limit // 4)}")
    if boxes:
        tail.append(
            f"No font has these characters; the reader sees boxes: {boxes}. "
            "Draw the figure again with other characters, e.g. Latin labels."
        )
    if not output and result.status == "ok" and not tail:
        output.append("(nothing was printed)")
    room = max(limit - sum(len(part) + 1 for part in parts + tail), limit // 4)
    parts.append(shorten("\n".join(output), room))
    return shorten("\n".join(part for part in parts + tail if part), limit)


def cell_record(pending: Pending, result: CellResult, *, number: int, turn: int, limit: int) -> Cell:
    """The cell as State keeps it; nothing in it is larger than `limit` characters but the code itself."""
    cell = Cell(
        number=number,
        turn=turn,
        step=pending["step"],
        purpose=pending["purpose"],
        thought=pending["thought"],
        code=pending["code"],
        status=result.status,
        observation=observe(result, number=number, limit=limit, back_to=pending.get("back_to")),
        error=shorten(f"{result.error.name}: {result.error.message}", 300) if result.error else "",
        seconds=round(result.seconds, 3),
        files=[FileChange(path=file.path, change=file.change, size=file.size) for file in result.files[:200]],
        figures=[display.path for display in result.displays if display.path],
    )
    if "planned" in pending:
        cell["planned"] = pending["planned"]
    if "back_to" in pending:
        cell["back_to"] = pending["back_to"]
    if "edited" in pending:
        cell["edited"] = pending["edited"]
    if result.reached:
        cell["reached"] = list(result.reached)
    return cell


def in_order_of_use(rows: Sequence[Variable], cells: Sequence[Cell], before: Sequence[Variable] = ()) -> list[Variable]:
    """The variables in the order in which cells last named them.

    Args:
        rows: The variables.
        cells: Those that ran since `before`, or all.
        before: The variables before these cells, in that order.
    """
    places = {row["name"]: place for place, row in enumerate(before, 1)}
    for place, cell in enumerate(cells, len(before) + 1):
        places.update(dict.fromkeys(NAME.findall(cell["code"]), place))
    return sorted(rows, key=lambda row: places.get(row["name"], 0))


def namespace_rows(
    rows: tuple[NamespaceRow, ...], cells: Sequence[Cell] = (), before: Sequence[Variable] = ()
) -> list[Variable]:
    """The namespace table as State keeps it: it is written after every cell, so those that were last used must do.

    Args:
        rows: What the session says of its variables.
        cells: Those that ran since `before`, or all.
        before: The table before these cells.
    """
    variables = [Variable(name=row.name[:100], kind=row.type[:100], summary=row.summary[:200]) for row in rows]
    kept: list[Variable] = []
    room = NAMESPACE_KEPT
    for variable in reversed(in_order_of_use(variables, cells, before)):
        room -= sum(map(len, (variable["name"], variable["kind"], variable["summary"]))) + 20
        if room < 0:
            break
        kept.append(variable)
    return kept[::-1]


def shorten(text: str, limit: int) -> str:
    """Cut the middle out of a text that is longer than `limit` characters, and say how much is gone."""
    if len(text) <= limit:
        return text
    room = max(limit - len(_mark(len(text))), 2)
    head = room * 2 // 3
    return text[:head] + _mark(len(text) - room) + text[len(text) - (room - head) :]


def _mark(count: int) -> str:
    return f"\n… {count:,} characters left out …\n"


def _without_glyph_warnings(stderr: str) -> tuple[str, str]:
    """Matplotlib warns once for each character that no font has, by its code: tell which they are instead."""
    missing = {int(code) for code in GLYPH.findall(stderr)}
    boxes = "".join(chr(code) for code in sorted(missing) if code < 0x110000 and chr(code).isprintable())
    return (GLYPH.sub("", stderr), boxes[:GLYPHS_SHOWN] + ("…" if len(boxes) > GLYPHS_SHOWN else ""))


def _more(count: int) -> str:
    return f" and {count - FILES_SHOWN} more" if count > FILES_SHOWN else ""
