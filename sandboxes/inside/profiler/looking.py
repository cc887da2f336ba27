"""Look at one file: tell what it is, then let the part that knows that kind describe it."""

from __future__ import annotations

import importlib
import os
import stat
from collections.abc import Callable

from .delimited import NAMES as DELIMITED
from .delimited import describe_delimited, find_dialect
from .detecting import NAMES, by_magic, mismatch, named_like, suffix_of
from .findings import Findings, Look, UnreadableError, size_text
from .source import Source
from .texts import TextHead, text_head

HEAD = 4096
LARGE = 500_000_000
PROSE = frozenset(
    (".md", ".markdown", ".rst", ".log", ".py", ".r", ".sql", ".js", ".yaml", ".yml", ".toml", ".ini", ".tex")
)  # fmt: skip
"""What is named like this is no table, however regular its lines."""
Describe = Callable[[Look, str], Findings]
PARTS = {
    "xlsx": "spreadsheets", "xls": "spreadsheets", "xlsb": "spreadsheets", "ods": "spreadsheets",
    "parquet": "columnar", "arrow": "columnar", "arrow stream": "columnar",
    "sqlite": "databases", "duckdb": "databases", "zip": "archives", "gzip": "archives", "bz2": "archives",
    "xz": "archives", "zstd": "archives", "a tar archive": "archives", "npy": "arrays", "npz": "arrays",
    "png": "images",
    "jpeg": "images", "gif": "images", "bmp": "images", "webp": "images", "tiff": "images", "pdf": "pdf_files",
    "docx": "office", "pptx": "office", "odt": "office",
}  # fmt: skip
TEXT_PARTS = {
    "html": "html_pages",
    "xml": "xml_files",
    "svg": "xml_files",
    "excel xml": "xml_files",
    "json": "json_files",
    "jsonl": "json_files",
}


def look_at(look: Look) -> Findings:
    """Describe the file at `look.path`.

    Raises:
        UnreadableError: it cannot be read; the message is the problem.
    """
    _check(look)
    with open(look.path, "rb") as stream:  # noqa: PTH123  what is opened here is a stream, not a path's content
        head = stream.read(HEAD)
        stream.seek(max(look.size - 64, 0))
        tail = stream.read(64)
    kind = by_magic(look.path, head, tail)
    if kind:
        return _binary(look, kind)
    source = Source(look.path, look.size)
    text = text_head(source, look)
    if text is None:
        said = named_like(look.path)
        zeros = head.count(0) == len(head)
        seems = "holds nothing but NUL bytes" if zeros else "is binary data of no known format"
        raise UnreadableError(
            f"{f'named {suffix_of(look.path)} but it ' if said else ''}{seems} ({size_text(look.size)})"
        )
    return look_at_text(source, text, look)


def _check(look: Look) -> None:
    try:
        mode = os.stat(look.path).st_mode  # noqa: PTH116
    except FileNotFoundError:
        raise UnreadableError("there is no such file") from None
    except PermissionError:
        raise UnreadableError("may not be read: no permission for its folder") from None
    except (OSError, ValueError) as error:
        raise UnreadableError(f"cannot be reached: {error}") from None
    if stat.S_ISDIR(mode):
        raise UnreadableError("is a folder, not a file")
    if not stat.S_ISREG(mode):
        raise UnreadableError("is not a regular file")
    if not os.access(look.path, os.R_OK):
        raise UnreadableError("may not be read: no permission")
    if look.size == 0:
        raise UnreadableError("is empty (0 bytes)")


def _binary(look: Look, kind: str) -> Findings:
    lie = mismatch(look.path, kind)
    if kind in ("broken zip", "encrypted office", "encrypted parquet", "feather 1", "ole"):
        raise UnreadableError(_unreadable(look, kind))
    if kind == "pickle":
        return Findings(
            kind=f"Python pickle, not opened, {size_text(look.size)}",
            remarks=["loading a pickle runs code that is in it: only for files from a source you trust"],
        )
    size = size_text(look.size)
    if kind not in PARTS:
        found = Findings(kind=f"{NAMES.get(kind, kind)}, not opened, {size}")
        if kind in ("hdf5", "netCDF", "ORC", "R data", "SPSS data", "Avro data", "doc"):
            found.remarks.append("needs a library of its own to be read")
            return found
        raise UnreadableError(f"is {NAMES.get(kind, kind)}, which is not read here" + (f" ({lie})" if lie else ""))
    look.publish(Findings(kind=f"{NAMES.get(kind, kind)}, {size}"))
    found = describe(PARTS[kind], look, kind)
    if lie:
        found.remarks.insert(0, lie)
    return found


def _unreadable(look: Look, kind: str) -> str:
    suffix = suffix_of(look.path)
    said = named_like(look.path)
    if kind == "broken zip":
        seems = said if suffix in (".xlsx", ".xlsm", ".docx", ".pptx", ".ods", ".xlsb") else "a zip archive"
        return f"seems to be {seems} that is truncated or corrupt: its zip directory cannot be read"
    if kind == "feather 1":
        return "is a Feather version 1 file, which current libraries no longer read"
    if kind == "ole":
        return "seems to be an old Office file (OLE), and holds neither a workbook nor a document that is known"
    what = "Parquet file" if kind == "encrypted parquet" else f"Office file{f' (named {suffix})' if suffix else ''}"
    return f"is a password-protected {what}; it must be saved without the password to be read"


def describe(part: str, look: Look, kind: str) -> Findings:
    """Let one of the parts describe the file; what it needs is imported only now."""
    package = __package__ or "stepwell_profiler"
    module = importlib.import_module(f".{part}", package)
    found: Findings = module.describe(look, kind)
    return found


def look_at_text(source: Source, head: TextHead, look: Look) -> Findings:
    """Describe what turned out to be text."""
    start = head.text.lstrip("\ufeff \t\r\n\0")
    suffix = inner_suffix(source)
    packed = f", {source.packing}-compressed" if source.packing else ""
    size = f"{size_text(look.size)}{packed}"
    if not start:
        raise UnreadableError(f"holds nothing but white space ({size_text(look.size)})")
    kind = text_kind(start, suffix)
    lie = "" if source.packing else mismatch(look.path, kind)
    if kind in TEXT_PARTS:
        module = importlib.import_module(f".{TEXT_PARTS[kind]}", __package__)
        found: Findings | None = module.describe_text(source, head, look, kind, lie)
        if found is not None:
            # The part may have found out better what it is.
            if lie and not found.problem:
                found.remarks.insert(0, lie)
            return found
    if suffix not in PROSE and (dialect := find_dialect(head, suffix)) is not None:
        look.publish(Findings(kind=f"delimited text, {size}"))
        table = describe_delimited(source, head, dialect[0], look)
        name = DELIMITED.get(dialect[0].delimiter, "delimited text")
        found = Findings(kind=f"{name}, {table.size}, {size}", tables=[table])
        table.size = ""
        if look.size > LARGE:
            found.remarks.append("large: read it in parts (nrows=, usecols=, chunksize=) or query it with DuckDB")
        if lie := "" if source.packing else mismatch(look.path, "delimited"):
            found.remarks.insert(0, lie)
        return found
    module = importlib.import_module(".documents", __package__)
    plain: Findings = module.describe_plain(source, head, look, suffix)
    if lie := "" if source.packing else mismatch(look.path, "text"):
        plain.remarks.insert(0, lie)
    return plain


def inner_suffix(source: Source) -> str:
    """What the name of the text itself ends with: `.csv` for `a.csv.gz` and for a member `b.csv` of a zip."""
    if source.member:
        return suffix_of(source.member)
    name = source.path
    if suffix_of(name) in (".gz", ".bz2", ".xz", ".zst", ".zip"):
        name = name[: -len(suffix_of(name))]
    return suffix_of(name)


def text_kind(start: str, suffix: str) -> str:
    """Tell HTML, XML and JSON by how a text starts; `text` for all else."""
    low = start[:3000].lower()
    if low.startswith(("<!doctype html", "<html")) or ("<html" in low and low.startswith("<")):
        return "html"
    if low.startswith("<?xml") or (low.startswith("<") and suffix in (".xml", ".svg")):
        if "<svg" in low:
            return "svg"
        return "excel xml" if 'progid="excel.sheet"' in low else "xml"
    if low.startswith("<") and any(f"<{tag}" in low for tag in ("table", "body", "head", "div", "meta", "p>", "tr")):
        return "html"
    if start[0] in "{[" or (suffix in (".json", ".jsonl", ".ndjson", ".geojson") and suffix):
        return "jsonl" if suffix in (".jsonl", ".ndjson") else "json"
    return "text"
