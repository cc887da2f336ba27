"""Describe XML: its root, how often which element occurs, and the repeated record; entities are never expanded."""

from __future__ import annotations

import importlib.util
from collections import Counter
from xml.parsers import expat

from .columns import conventions, describe_strings
from .findings import Findings, Look, Table, UnreadableError, clean, count_text, literal, size_text
from .rows import WHOLE
from .source import Source
from .texts import TextHead

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


def describe_text(source: Source, head: TextHead, look: Look, kind: str, lie: str) -> Findings:
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
    found = Findings(kind=f"{name}, root <{clean(outline.root)}>, {size_text(look.size)}", problem=problem)
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
