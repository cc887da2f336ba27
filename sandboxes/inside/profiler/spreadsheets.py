"""Describe workbooks: each sheet's size, where its table begins, its columns, and formulas that have no value."""

from __future__ import annotations

import importlib
import io
import re
import zipfile
import zlib
from collections.abc import Iterator

from .findings import Findings, Look, Table, UnreadableError, clean, count_text, list_text, literal, size_text
from .sheets import Sheet, sheet_table

BIG_STRINGS = 150_000_000
"""Unpacked bytes of shared strings from which a workbook is not opened: they would all have to be in memory."""
SCANNED = 400_000_000
"""Unpacked bytes of a sheet up to which it is searched for merged cells and formulas without values."""
_MERGED = re.compile(rb'<mergeCell ref="([A-Z0-9:]+)"')
_ROWS = re.compile(rb'<row [^>]*?\br="([0-9]+)"')
SHEETS = 12
"""Sheets beyond these are only named."""
_UNVALUED = re.compile(rb"<f[ >/](?:[^<]*</f>)?[^<]*(?:<v\s*/>|<v></v>)?\s*</c>")


def describe(look: Look, kind: str) -> Findings:
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


def _xlsx(look: Look) -> Findings:
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


def _open_sheets(look: Look, book: object, members: dict[str, int]) -> Iterator[Sheet]:
    sheets = getattr(book, "worksheets", [])
    for place, sheet in enumerate(sheets[:SHEETS]):
        stated = sheet.max_row
        sheet.reset_dimensions()
        opened = Sheet(sheet.title, hidden=sheet.sheet_state != "visible")
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


def _scan(look: Look, member: str, members: dict[str, int], sheet: Sheet) -> None:
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


def _sheets(look: Look, found: Findings, sheets: list[Sheet], count: int) -> None:
    for sheet in sheets:
        found.tables.append(sheet_table(sheet, look.path))
    found.kind = found.kind.replace(", ", f", {count} sheet{'' if count == 1 else 's'}, ", 1)
    if count > len(sheets):
        found.remarks.append(f"{count - len(sheets)} more sheets were not looked at")
    if all(table.column_count == 0 for table in found.tables):
        found.remarks.append("no sheet holds any cell")


def _xls(look: Look) -> Findings:
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


def _xls_sheet(xlrd: object, book: object, place: int, look: Look) -> Sheet:
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
