"""Describe HTML pages and XML: their tables as pandas reads them, their elements, and how the text begins."""

from __future__ import annotations

import importlib.util
from collections import Counter
from html.parser import HTMLParser
from xml.parsers import expat

from .columns import conventions, describe_strings
from .delimited import column_names, row_blemishes
from .detection import suffix_of
from .dialect import has_header
from .findings import Findings, Inspection, Table, UnreadableError, clean, count_text, literal, size_text
from .text_files import WHOLE, Source, TextHead, text_of

PARSED = 30_000_000
TABLES = 8
TEXT = 3_000
VOID = frozenset(("script", "style", "template", "noscript", "head"))
SHEETS = frozenset((".xlsx", ".xls", ".xlsm", ".csv", ".tsv", ".ods", ".xlsb", ".parquet"))


class Page(HTMLParser):
    """Gathers the title, the outermost tables' rows, and the text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.tables: list[list[list[str]]] = []
        self.heads: list[bool] = []
        """For each table, whether its first row is of `th` cells."""
        self.text: list[str] = []
        self.chars = 0
        self.spans = False
        self._open: list[list[list[str]]] = []
        self._cell: list[str] | None = None
        self._skip = self._in_title = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open a table, row or cell."""
        if tag == "title":
            self._in_title += 1
        elif tag in VOID:
            self._skip += tag != "head"
        elif tag == "table":
            rows: list[list[str]] = []
            self._open.append(rows)
            self.tables.append(rows)
            self.heads.append(False)
        elif tag == "tr" and self._open:
            self._open[-1].append([])
        elif tag in ("td", "th") and self._open:
            self._start_cell(tag, attrs)
        elif tag in ("br", "p", "div", "li") and self._cell is None:
            self.text.append(" ")

    def _start_cell(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        rows = self._open[-1]
        if not rows:
            rows.append([])
        if tag == "th" and len(rows) == 1:
            self.heads[self.tables.index(rows)] = True
        self.spans = self.spans or any(name in ("colspan", "rowspan") and value != "1" for name, value in attrs)
        rows[-1].append("")
        self._cell = []

    def handle_endtag(self, tag: str) -> None:
        """Close what `handle_starttag` opened."""
        if tag == "title":
            self._in_title = 0
        elif tag in VOID:
            self._skip = max(self._skip - (tag != "head"), 0)
        elif tag in ("td", "th", "tr"):
            self._cell = None
        elif tag == "table" and self._open:
            self._open.pop()
            self._cell = None

    def handle_data(self, data: str) -> None:
        """Put text where it belongs."""
        if self._in_title:
            self.title += data
        elif self._skip:
            return
        elif self._open and self._cell is not None and self._open[-1] and self._open[-1][-1]:
            self._cell.append(data)
            self._open[-1][-1][-1] = " ".join("".join(self._cell).split())
        elif not self._open and self.chars < TEXT:
            self.text.append(data)
            self.chars += len(data)


def describe_html(source: Source, head: TextHead, look: Inspection, kind: str, lie: str) -> Findings:
    """Describe a page.

    Raises:
        UnreadableError: its name promises a table and it has none, as a page that says that one must sign in.
    """
    page = Page()
    with source.opened() as (stream, _):
        text = text_of(stream, head.encoding.name)
        left = PARSED
        while left > 0 and not look.over(0.4) and (part := text.read(1 << 18)):
            page.feed(part)
            left -= len(part)
    title = " ".join(page.title.split())
    # pandas leaves out tables that hold no text at all.
    filled = [(rows, top) for rows, top in zip(page.tables, page.heads, strict=True) if any(map(any, rows))]
    suffix = suffix_of(source.path)
    if suffix in SHEETS and not filled and lie:
        named = f"(title {clean(title, 60)!r}) " if title else ""
        raise UnreadableError(f"is named {suffix} but is an HTML page {named}without a table")
    found = Findings(kind=f"HTML page, {count_text(len(filled), 'table')}, {size_text(look.size)}")
    if title:
        found.lines.append(f"title: {clean(title, 160)}")
    for place, (rows, top) in enumerate(filled[:TABLES]):
        found.tables.append(_table(place, rows, source, head, headed=top, alone=len(filled) == 1))
    if filled and importlib.util.find_spec("lxml") is None and importlib.util.find_spec("html5lib") is None:
        found.remarks.append("pandas needs lxml to read the tables, and this Python does not have it")
    if page.spans and filled:
        found.remarks.append("some cells span several rows or columns; their value is repeated")
    if words := " ".join("".join(page.text).split()):
        found.lines.append(f"text: {clean(words, TEXT)}")
    return found


def _table(place: int, rows: list[list[str]], source: Source, head: TextHead, *, headed: bool, alone: bool) -> Table:
    rows = [row for row in rows if row]
    width = max(map(len, rows))
    full = [row + [""] * (width - len(row)) for row in rows]
    named = headed or has_header(full[0], full[1:200])
    names = column_names(full[0] if named else None, width)
    body = full[1:] if named else full
    counters = [Counter(column) for column in zip(*body[:5_000], strict=True)] if body else [Counter() for _ in names]
    style = conventions(counters)
    size = f"{count_text(len(body), 'row')} x {count_text(width, 'column')}"
    table = Table(f"table {place}" if not alone else "table", size, column_count=width)
    arguments = [literal(source.path)]
    if named and not headed:
        arguments.append("header=0")
    if style.decimal == ",":
        # pandas drops commas from numbers in HTML unless told otherwise.
        arguments += ['decimal=","', 'thousands="."']
    if not head.encoding.clean or head.encoding.name not in ("ascii", "utf-8"):
        # libxml2 does not know all of Python's names of encodings, so that Python has to decode the page.
        errors = "" if head.encoding.clean else ', errors="replace"'
        text = f"pathlib.Path({arguments[0]}).read_text(encoding={literal(head.encoding.name)}{errors})"
        arguments[0] = f"io.StringIO({text})"
    if not source.packing:
        table.read_with = f"pd.read_html({', '.join(arguments)})[{place}]"
    for name, counter in zip(names, counters, strict=True):
        column, reading = describe_strings(str(name), counter, style=style, whole=len(body) <= 5_000)
        if reading.as_text:
            column.remarks.append(f"keep as text: converters={{{str(name)!r}: str}}")
        table.columns.append(column)
    table.remarks += row_blemishes(table.columns, body[:5_000])
    table.rows = body[:4]
    return table


RECORDS = 2_000


class Outline:
    """What a pass over a document gathers."""

    def __init__(self) -> None:
        self.paths: Counter[str] = Counter()
        self.root = ""
        self.attributes: dict[str, str] = {}
        self.entities = False
        self.spaces = False
        self.texts: dict[str, str] = {}
        self.records: dict[str, list[dict[str, str]]] = {}
        self._stack: list[str] = []
        self._data: list[str] = []
        self._fields: list[dict[str, str]] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element opens."""
        if not self._stack:
            self.root, self.attributes = name, attributes
        self.spaces = self.spaces or ":" in name or "xmlns" in attributes
        self._stack.append(name)
        path = "/".join(self._stack[-6:])
        if len(self.paths) < 2_000 or path in self.paths:
            self.paths[path] += 1
        self._fields.append(dict(list(attributes.items())[:50]))
        self._data = []

    def end(self, name: str) -> None:
        """An element closes: it is a field of the one around it, and perhaps a record."""
        path = "/".join(self._stack[-6:])
        fields, text = self._fields.pop(), "".join(self._data).strip()
        self._stack.pop()
        self._data = []
        if self._fields and text and not fields:
            self._fields[-1].setdefault(name, text[:200])
        kept = self.records.setdefault(path, []) if len(self.records) < 200 else None
        if kept is not None and fields and len(kept) < RECORDS:
            kept.append(fields)

    def data(self, data: str) -> None:
        """Text inside of an element."""
        if len(self._data) < 100:
            self._data.append(data[:1_000])

    def declared(self, *_: object) -> None:
        """An entity is declared; it is left as it is."""
        self.entities = True


def describe_xml(source: Source, head: TextHead, look: Inspection, kind: str, lie: str) -> Findings:
    """Describe an XML document.

    Raises:
        UnreadableError: it is not well formed from its first element on.
    """
    outline = Outline()
    parser = expat.ParserCreate()
    parser.StartElementHandler = outline.start
    parser.EndElementHandler = outline.end
    parser.CharacterDataHandler = outline.data
    parser.EntityDeclHandler = outline.declared
    # With a default handler set, internal entities are handed over unexpanded.
    parser.DefaultHandler = lambda _: None
    problem, whole = "", True
    try:
        with source.opened() as (stream, _):
            used = 0
            while part := stream.read(1 << 18):
                parser.Parse(part, False)
                used += len(part)
                if used > WHOLE or look.over(0.4):
                    whole = False
                    break
            else:
                parser.Parse(b"", True)
    except (expat.ExpatError, ValueError) as error:
        problem = f"breaks off or is not well formed: {clean(error, 100)}"
        if not outline.root or kind != "svg":
            raise UnreadableError(f"seems to be XML that {problem}") from error
    name = {"svg": "SVG image", "excel xml": "Excel 2003 XML workbook"}.get(kind, "XML")
    found = Findings(kind=f"{name}, root <{clean(outline.root)}>, {size_text(look.size)}")
    found.problem = f"it {problem}" if problem else ""
    if outline.entities:
        found.remarks.append("declares entities, which were not expanded")
    if kind == "svg":
        attributes = {key: value for key, value in outline.attributes.items() if key in ("width", "height", "viewBox")}
        found.lines.append(", ".join(f"{key} {clean(value)}" for key, value in attributes.items()))
        return found
    if table := _record(outline, source, whole=whole):
        found.tables.append(table)
    found.lines.append("elements:" if whole else "elements (of its beginning):")
    found.lines += [f"- {clean(path, 120)}: {count:,}" for path, count in outline.paths.most_common(40)]
    return found


def _record(outline: Outline, source: Source, *, whole: bool) -> Table | None:
    """The repeated element with the most values, as a table."""
    found = {path: records for path, records in outline.records.items() if len(records) >= 2}
    if not found:
        return None
    path = max(found, key=lambda one: sum(map(len, found[one])))
    records = found[path]
    names = list(dict.fromkeys(name for record in records for name in record))
    count = outline.paths[path]
    table = Table(f"element {clean(path, 80)}", f"{count_text(count, 'record')}{'' if whole else ' or more'}")
    table.column_count = len(names)
    for name in names[:300]:
        counter = Counter(record.get(name, "") for record in records)
        column, _ = describe_strings(name, counter, style=conventions([counter]), whole=count <= RECORDS)
        table.columns.append(column)
    table.rows = [[record.get(name, "") for name in names] for record in records[:3]]
    leaf = path.rsplit("/", 1)[-1]
    if not outline.spaces and not outline.entities and not source.packing:
        parser = "" if importlib.util.find_spec("lxml") else ', parser="etree"'
        table.read_with = f"pd.read_xml({literal(source.path)}, xpath={literal(f'.//{leaf}')}{parser})"
    return table
