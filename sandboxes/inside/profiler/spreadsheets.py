"""Describe workbooks: each sheet's size, where its table begins, its columns, and formulas that have no value."""

from __future__ import annotations

import datetime as dt
import importlib
import importlib.util
import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest

from .columns import describe_values
from .delimited import column_names, row_blemishes
from .dialect import has_header
from .findings import (
    ABOVE_CHARS,
    CELL_CHARS,
    Findings,
    Inspection,
    Table,
    UnreadableError,
    clean,
    count_text,
    list_text,
    literal,
    size_text,
)
from .values import NUMBERS, classify

CELLS = 300_000
HEAD_ROWS = 60
COLUMNS = 2_000
BOX = 1_000_000
"""Cells of the smallest rectangle around all of a sheet's from which it is asked whether some stand far away."""
SPARSE = 20
"""So many times more cells in that rectangle than are filled mean that some stand far away."""
VAST = 20_000_000
"""Cells of it from which a sheet that is so sparse is not read by an engine that makes room for all of them."""
NOTES = 40
"""So many cells of text in one column are notes, which are shown whole, if one is too long for an example."""
FAR_ROWS, FAR_COLUMNS = 1_000, 100
"""Empty rows or columns between a table and cells that do not belong to it."""


@dataclass
class Sheet:
    """The cells of a sheet: its first rows, and an even sample of all."""

    name: str
    hidden: bool = False
    head: list[list[object]] = field(default_factory=list)
    sample: list[tuple[int, list[object]]] = field(default_factory=list)
    """Rows with their places, from 0; rows without any cell are left out."""
    read: int = 0
    last: int = -1
    """The place of the last row that holds anything."""
    reach: tuple[int, int] = (0, 0)
    """The rows and columns that a reader goes through: up to the last cells, though these hold nothing but blanks."""
    filled: int = 0
    """Cells of the rows that were read that hold anything."""
    finished: bool = False
    stated: int = 0
    """Rows that the file says the sheet has, when not all were read."""
    remarks: list[str] = field(default_factory=list)
    bounded: bool = False
    """Whether a reader has to be told where the table ends."""
    merged: list[str] = field(default_factory=list)
    """Merged ranges, such as `B1:C1`."""
    engine: str = ""
    """The engine that pandas has to be told, where it does not find out itself."""
    _step: int = 1
    _kept_cells: int = 0

    def add(self, row: Sequence[object]) -> None:
        """Take in the next row."""
        values = [_plain(value) for value in row]
        wide = next((place for place in range(len(values), 0, -1) if row[place - 1] not in (None, "")), 0)
        if wide:
            self.reach = (self.read + 1, max(self.reach[1], wide))
        while values and values[-1] is None:
            values.pop()
        self.filled += len(values) - values.count(None)
        if len(self.head) < HEAD_ROWS:
            self.head.append(values)
        if values:
            self.last = self.read
            if self.read % self._step == 0:
                self.sample.append((self.read, values))
                self._kept_cells += len(values)
                if self._kept_cells > CELLS:
                    self.sample = self.sample[::2]
                    self._kept_cells = sum(len(kept) for _, kept in self.sample)
                    self._step *= 2
        self.read += 1

    @property
    def step(self) -> int:
        """Of how many rows one is in the sample."""
        return self._step

    @property
    def even(self) -> bool:
        """Whether the sample is all rows that were read."""
        return self._step == 1


def _plain(value: object) -> object:
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    return value


NUMERIC = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
CHANGED = re.compile(r"[+-]?0[0-9].*|.*[eE].*|[0-9]{16,}")
"""Of texts that read as numbers those that such a number does not give back."""


def sheet_table(sheet: Sheet, path: str) -> Table:
    """Describe a sheet as a table."""
    if sheet.sample:
        _leave_out_far_cells(sheet)
    table = Table(f'sheet "{sheet.name}"{" (hidden)" if sheet.hidden else ""}', remarks=list(sheet.remarks))
    if not sheet.sample:
        table.size = "empty"
        return table
    left = min(next(place for place, value in enumerate(row) if value is not None) for _, row in sheet.sample)
    width = max(len(row) for _, row in sheet.sample) - left
    sheet.bounded = sheet.bounded or (
        sheet.finished and (sheet.reach[0] > sheet.last + 1 or sheet.reach[1] > left + width)
    )
    if notes := _notes(sheet):
        table.size = f"{count_text(len(notes), 'line')} of text"
        table.read_with = _read_excel(sheet, path, 0, left, width, [], [], sheet.last + 1)
        table.column_count, table.text = width, notes
        return table
    start = _start(sheet, left, width)
    header, below = (
        _texts(sheet.head[start], left, width),
        [_texts(row, left, width) for row in sheet.head[start + 1 :]],
    )
    named = has_header(header, [row for row in below if any(row)])
    double = named and _spans(sheet, start) and not any(_typed(cell) for cell in below[0] if cell)
    names = _names(header, below[0] if double else None, left) if named else column_names(None, width)
    first = start + (2 if double else 1 if named else 0)
    body = [(place, row) for place, row in sheet.sample if place >= first]
    total = max((sheet.last if sheet.finished else max(sheet.stated - 1, sheet.last)) - first + 1, 0)
    certainty = "exact" if sheet.finished else "as the file states" if sheet.stated > sheet.read else "or more"
    table.size = f"{count_text(total, 'row')} ({certainty}) x {count_text(width, 'column')}"
    if not sheet.finished or not sheet.even:
        where = "" if sheet.finished else f" of the first {sheet.read:,}"
        table.size += f", statistics from a sample of {len(body):,} rows{where}"
    header_rows = [start, start + 1] if double else [start] if named else []
    texts = [] if double else _kept_as_text(names, body, left)
    table.read_with = _read_excel(sheet, path, start, left, width, header_rows, texts, total)
    if double:
        table.remarks.append("the header is two rows: the names are pairs (a MultiIndex)")
    _above(table, sheet, start, left)
    _describe(table, names, body, left, whole=sheet.finished and sheet.even)
    shown = [row for row in sheet.sample if row[0] >= start]
    if total * width <= NOTES and any(len(str(value)) > CELL_CHARS for _, row in shown for value in row):
        table.remarks.append("long texts are cut here; the sheet is short: print it with .to_csv() for all of it")
    table.column_count = width
    table.rows = [_texts(row, left, width) for row in sheet.head[first:] if row][:5]
    return table


def _notes(sheet: Sheet) -> list[str]:
    """The cells of a sheet that is no table but a few lines of text, one below the other."""
    cells = [value for _, row in sheet.sample for value in row if value is not None]
    if not sheet.finished or not sheet.even or len(cells) > NOTES or len(cells) > len(sheet.sample):
        return []
    texts = [value for value in cells if isinstance(value, str)]
    return texts if len(texts) == len(cells) and max(map(len, texts)) > CELL_CHARS else []


def _leave_out_far_cells(sheet: Sheet) -> None:
    """Take single cells far from the table, such as a forgotten one in XFD1048576, out of a sheet, and say so."""
    rows, columns = sheet.reach
    if rows * columns < max(BOX, SPARSE * max(sheet.filled, 1)):
        return
    sheet.bounded = True
    before, kept = sheet.sample[0][0], []
    for place, row in sheet.sample:
        if place - before > FAR_ROWS * sheet.step:
            break
        kept.append((place, row))
        before = place
    used = sorted({place for _, row in kept for place, value in enumerate(row) if value is not None})
    gap = (one + 1 for one, other in pairwise(used) if other - one > FAR_COLUMNS)
    width = next(gap, used[-1] + 1)
    below = sheet.sample[len(kept) :]
    far = [f"{letters(at)}{place + 1}" for place, row in kept for at in _filled(row) if at >= width]
    far += [f"{letters(at)}{place + 1}" for place, row in below for at in _filled(row)]
    if len(far) > sum(len(_filled(row[:width])) for _, row in kept):
        return  # the table itself is what stands far from the first cell
    sheet.sample = [(place, cut) for place, row in kept if _filled(cut := row[:width])]
    sheet.head = [row[:width] for row in sheet.head]
    if far and sheet.sample:
        sheet.last = sheet.sample[-1][0]
        sheet.remarks.append(f"far from the table, and not in it: {list_text(far, 3)}")


def _filled(row: Sequence[object]) -> list[int]:
    return [place for place, value in enumerate(row) if value is not None]


def _names(header: list[str], second: list[str] | None, left: int) -> list[str | int]:
    """Names as pandas gives them, which counts columns from the sheet's first; two rows of them joined."""
    if second is not None:
        above, joined = "", []
        for top, name in zip(header, second, strict=True):
            above = top or above
            joined.append(f"{above} / {name}" if name else above)
        return list(joined)
    padded = column_names(["x"] * left + header, left + len(header))[left:]
    return [f"Unnamed: {left + place}" if not header[place] else name for place, name in enumerate(padded)]


def _spans(sheet: Sheet, row: int) -> bool:
    """Whether a merged range lies in one row and spans columns, as a heading over several columns does."""
    number = str(row + 1)
    for merged in sheet.merged:
        match = re.fullmatch(r"([A-Z]+)([0-9]+):([A-Z]+)([0-9]+)", merged)
        if match and match[2] == match[4] == number and match[1] != match[3]:
            return True
    return False


def _typed(text: str) -> bool:
    return classify(text) in NUMBERS or classify(text).startswith("date")


def _start(sheet: Sheet, left: int, width: int) -> int:
    """The row that the table begins with: the first that is filled about as well as those below it."""
    filled = [sum(value is not None for value in row[left:]) for row in sheet.head]
    for place, count in enumerate(filled):
        if not count:
            continue
        below = sorted(other for other in filled[place + 1 : place + 40] if other)
        usual = below[len(below) // 2] if below else count
        if count >= 0.6 * usual or (count >= 0.4 * width and count > 2):
            titled = width > 1 and count == 1 and usual > 1
            if not titled:
                return place
    return next((place for place, count in enumerate(filled) if count), 0)


def _texts(row: Sequence[object], left: int, width: int) -> list[str]:
    cells = list(row[left : left + width])
    return [_text(value) for value in [*cells, *[None] * (width - len(cells))]]


def _text(value: object) -> str:
    if isinstance(value, dt.datetime):
        return value.isoformat(" ").removesuffix(" 00:00:00")
    return "" if value is None else str(value)


def _kept_as_text(names: Sequence[str | int], body: list[tuple[int, list[object]]], left: int) -> list[str | int]:
    """Columns whose texts pandas would make numbers, so that they are no longer what they were: `010`, `1E5`."""
    rows = [row[left : left + COLUMNS] for _, row in body]
    found = []
    for name, values in zip(names[:COLUMNS], zip_longest(*rows, fillvalue=None), strict=False):
        texts = [value.strip() for value in values if isinstance(value, str)]
        numbers = all(isinstance(value, int | float | str | None) for value in values)
        if numbers and all(map(NUMERIC.fullmatch, texts)) and any(map(CHANGED.fullmatch, texts)):
            found.append(name)
    return found


def _read_excel(
    sheet: Sheet,
    path: str,
    start: int,
    left: int,
    width: int,
    header: list[int],
    texts: Sequence[str | int],
    total: int,
) -> str:
    arguments = [literal(path), f"sheet_name={literal(sheet.name)}"]
    # Calamine makes room for all cells up to the last one; openpyxl ends with the rows that are asked for.
    vast = sheet.engine == "calamine" and sheet.reach[0] * sheet.reach[1] > max(VAST, SPARSE * sheet.filled)
    if engine := "openpyxl" if vast else sheet.engine:
        arguments.append(f"engine={literal(engine)}")
    if not header:
        arguments.append("header=None")
        if start:
            arguments.append(f"skiprows={start}")
    elif len(header) > 1:
        arguments.append(f"header={header}")
    elif start:
        arguments.append(f"header={start}")
    if left or sheet.bounded:
        arguments.append(f'usecols="{letters(left)}:{letters(left + width - 1)}"')
    if sheet.bounded:
        arguments.append(f"nrows={total}")
    if texts:
        keys = ", ".join(f'{name if isinstance(name, int) else literal(name)}: "str"' for name in texts)
        arguments.append('dtype="str"' if len(texts) > 12 else f"dtype={{{keys}}}")
    return f"pd.read_excel({', '.join(arguments)})"


def letters(place: int) -> str:
    """Name a column as spreadsheets do: `A` for 0, `AA` for 26."""
    name = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        name = chr(65 + rest) + name
    return name


def _above(table: Table, sheet: Sheet, start: int, left: int) -> None:
    words = [_text(value) for row in sheet.head[:start] for value in row[left:] if value is not None]
    if words:
        text = " / ".join(words)
        rest = (
            f" (cut: read the sheet with header=None, nrows={start} for all of it)" if len(text) > ABOVE_CHARS else ""
        )
        table.remarks.append(f"above the table: {clean(text, ABOVE_CHARS)}{rest}")


def _describe(
    table: Table, names: Sequence[str | int], body: list[tuple[int, list[object]]], left: int, *, whole: bool
) -> None:
    rows = [row[left : left + COLUMNS] for _, row in body]
    columns = list(zip_longest(*rows, fillvalue=None)) if rows else []
    for place, name in enumerate(names[:COLUMNS]):
        values = columns[place] if place < len(columns) else (None,) * len(rows)
        table.columns.append(describe_values(str(name), values, whole=whole))
    if not rows:
        table.remarks.append("the table is empty: a header and no rows")
    else:
        places = [place for place, _ in body]
        gaps = [nth for nth in range(1, len(places)) if whole and places[nth] > places[nth - 1] + 1]
        if blank := places[-1] - places[0] + 1 - len(places) if whole else 0:
            said = "1 row is" if blank == 1 else f"{blank:,} rows are"
            table.remarks.append(f"{said} empty, which pandas reads as missing; the figures below leave them out")
        table.remarks += row_blemishes(table.columns, [[_text(value) for value in row] for row in rows], gaps)


BIG_STRINGS = 150_000_000
"""Unpacked bytes of shared strings from which a workbook is not opened: they would all have to be in memory."""
SCANNED = 400_000_000
"""Unpacked bytes of a sheet up to which it is searched for merged cells and formulas without values."""
_MERGED = re.compile(rb'<mergeCell ref="([A-Z0-9:]+)"')
_ROWS = re.compile(rb'<row [^>]*?\br="([0-9]+)"')
SHEETS = 12
"""Sheets beyond these are only named."""
_UNVALUED = re.compile(rb"<f[ >/](?:[^<]*</f>)?[^<]*(?:<v\s*/>|<v></v>)?\s*</c>")


def describe(look: Inspection, kind: str) -> Findings:
    """Describe an Excel workbook or an OpenDocument spreadsheet.

    Raises:
        UnreadableError: it is damaged or protected.
    """
    if kind == "xlsx":
        return _xlsx(look)
    if kind == "xls":
        return _xls(look)
    library, name, engine = {
        "xlsb": ("pyxlsb", "Excel workbook (xlsb)", "pyxlsb"),
        "ods": ("odf", "OpenDocument spreadsheet", "odf"),
    }[kind]
    found = Findings(kind=f"{name}, {size_text(look.size)}")
    try:
        importlib.import_module(library)
        found.tables.append(Table(read_with=f'pd.read_excel({literal(look.path)}, engine="{engine}", sheet_name=None)'))
    except ImportError:
        found.remarks.append(f"pandas needs a library for it that this Python does not have ({library})")
        if kind == "ods":
            found.lines.append(f"sheets: {list_text(_ods_sheets(look.path), 20)}")
    return found


def _ods_sheets(path: str) -> list[str]:
    with zipfile.ZipFile(path) as archive, archive.open("content.xml") as stream:
        text = stream.read(SCANNED).decode("utf-8", "replace")
    return re.findall(r'<table:table [^>]*table:name="([^"]*)"', text)


def _xlsx(look: Inspection) -> Findings:
    found = Findings(kind=f"Excel workbook (xlsx), {size_text(look.size)}")
    with zipfile.ZipFile(look.path) as archive:
        members = {member.filename: member.file_size for member in archive.infolist()}
        if any(member.flag_bits & 1 for member in archive.infolist()):
            raise UnreadableError("is a password-protected workbook")
        names = _sheet_names(archive)
    if members.get("xl/sharedStrings.xml", 0) > BIG_STRINGS:
        found.remarks.append(
            "its texts are too many to be opened here; read single sheets and columns (usecols=, nrows=)"
        )
        found.lines.append(f"sheets: {list_text(names, 20)}")
        return found
    try:
        openpyxl = importlib.import_module("openpyxl")
    except ImportError:
        found.remarks.append("this Python has no library to read it (openpyxl), so only the sheets' names are known")
        found.lines.append(f"sheets: {list_text(names, 20)}")
        return found
    try:
        with open(look.path, "rb") as stream:  # noqa: PTH123  openpyxl looks at names, not at content, when given a path
            book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
            _sheets(look, found, list(_open_sheets(look, book, members)), len(book.sheetnames))
    except UnreadableError:
        raise
    except Exception as error:  # a damaged workbook makes openpyxl raise almost anything
        raise UnreadableError(
            f"seems to be an Excel workbook that is truncated or corrupt: {type(error).__name__}: {clean(error, 120)}"
        ) from error
    if "xl/vbaProject.bin" in members:
        found.remarks.append("holds macros, which are not run")
    return found


def _sheet_names(archive: zipfile.ZipFile) -> list[str]:
    try:
        text = archive.read("xl/workbook.xml")[:1_000_000].decode("utf-8", "replace")
    except (KeyError, zipfile.BadZipFile, zlib.error, OSError, EOFError) as error:
        raise UnreadableError(
            "seems to be an Excel workbook that is corrupt: its list of sheets cannot be read"
        ) from error
    return re.findall(r'<(?:\w+:)?sheet [^>]*?name="([^"]*)"', text)


def _open_sheets(look: Inspection, book: object, members: dict[str, int]) -> Iterator[Sheet]:
    sheets = getattr(book, "worksheets", [])
    for place, sheet in enumerate(sheets[:SHEETS]):
        stated = sheet.max_row
        sheet.reset_dimensions()
        opened = Sheet(sheet.title, hidden=sheet.sheet_state != "visible")
        # openpyxl takes seven times as long for the same cells.
        opened.engine = "calamine" if importlib.util.find_spec("python_calamine") else ""
        # Reading cells is slow: of the time for the file it gets two fifths, each sheet its share of what is left.
        keep = 0.6 + 0.3 * (len(sheets[:SHEETS]) - place - 1) / max(len(sheets[:SHEETS]), 1)
        opened.finished = True
        for row in sheet.iter_rows(values_only=True):
            opened.add(row)
            if opened.read % 256 == 0 and look.over(keep):
                opened.finished = False
                opened.stated = stated or 0
                break
        if not look.over(0.25):
            _scan(look, getattr(sheet, "_worksheet_path", ""), members, opened)
        yield opened


def _scan(look: Inspection, member: str, members: dict[str, int], sheet: Sheet) -> None:
    """Search a sheet's XML for what a reader of values does not see: merged cells, formulas never computed."""
    member = member.lstrip("/")
    if member not in members or members[member] > SCANNED:
        return
    formulas = bare = 0
    with zipfile.ZipFile(look.path) as archive, archive.open(member) as stream:
        rest = b""
        while part := stream.read(1 << 20):
            data = rest + part
            end = max(data.rfind(b"</c>") + 4, data.rfind(b"<mergeCell ")) if len(part) == 1 << 20 else len(data)
            end = len(data) if end < 4 else end
            data, rest = data[:end], data[end:]
            formulas += len(re.findall(rb"<f[ >/]", data))
            bare += len(_UNVALUED.findall(data))
            sheet.merged += [found.decode("ascii", "replace") for found in _MERGED.findall(data)]
            if rows := _ROWS.findall(data):
                sheet.stated = max(sheet.stated, int(rows[-1]))
            if look.over(0.25):
                break
    if bare:
        sheet.remarks.append(f"{bare:,} of {formulas:,} formulas have no stored value, so they read as missing")
    if sheet.merged:
        ranges = f"{count_text(len(sheet.merged), 'merged range')} ({list_text(sheet.merged, 3)})"
        sheet.remarks.append(f"{ranges}: all but the first cell read as missing")


def _sheets(look: Inspection, found: Findings, sheets: list[Sheet], count: int) -> None:
    for sheet in sheets:
        found.tables.append(sheet_table(sheet, look.path))
    found.kind = found.kind.replace(", ", f", {count} sheet{'' if count == 1 else 's'}, ", 1)
    if count > len(sheets):
        found.remarks.append(f"{count - len(sheets)} more sheets were not looked at")
    if all(table.column_count == 0 for table in found.tables):
        found.remarks.append("no sheet holds any cell")


def _xls(look: Inspection) -> Findings:
    found = Findings(kind=f"old Excel workbook (xls), {size_text(look.size)}")
    try:
        xlrd = importlib.import_module("xlrd")
    except ImportError:
        found.remarks.append("this Python has no library to read it (xlrd)")
        return found
    try:
        book = xlrd.open_workbook(look.path, logfile=io.StringIO(), on_demand=True)
        sheets = [_xls_sheet(xlrd, book, place, look) for place in range(min(book.nsheets, SHEETS))]
        with open(look.path, "rb") as stream:  # noqa: PTH123  only its first bytes
            bare = stream.read(2) != b"\xd0\xcf"
        for sheet in sheets:
            sheet.engine = "xlrd" if bare else ""
    except Exception as error:  # xlrd raises many kinds, assertions among them, over damaged files
        if "encrypted" in str(error).lower():
            raise UnreadableError("is a password-protected Excel workbook (xls)") from error
        raise UnreadableError(
            f"seems to be an old Excel workbook (xls) that is truncated or corrupt: {clean(error, 120)}"
        ) from error
    _sheets(look, found, sheets, book.nsheets)
    return found


def _xls_sheet(xlrd: object, book: object, place: int, look: Inspection) -> Sheet:
    sheet = book.sheet_by_index(place)  # type: ignore[attr-defined]
    opened = Sheet(sheet.name, hidden=bool(sheet.visibility))
    for row in range(sheet.nrows):
        values = zip(sheet.row_types(row), sheet.row_values(row), strict=True)
        opened.add([_xls_value(xlrd, book, kind, value) for kind, value in values])
        if row % 256 == 0 and look.over(0.3):
            opened.stated = sheet.nrows
            break
    else:
        opened.finished = True
    return opened


def _xls_value(xlrd: object, book: object, kind: int, value: object) -> object:
    if kind in (0, 5, 6):
        return None
    if kind == 3:
        try:
            return xlrd.xldate.xldate_as_datetime(value, book.datemode)  # type: ignore[attr-defined]
        except (ValueError, OverflowError):
            return value
    return bool(value) if kind == 4 else value
