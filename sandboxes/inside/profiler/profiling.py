"""Profile files: tell what each one is, let the module for that kind describe it, and print the findings."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import select
import signal
import stat
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from .delimited import NAMES as DELIMITED
from .delimited import describe_delimited, find_dialect
from .detection import NAMES, by_magic, kind_of_name, mismatch, suffix_of
from .dialect import Dialect
from .findings import Column, Findings, Inspection, Table, UnreadableError, clean, render, size_text
from .text_files import Source, TextHead, find_padding, text_head

HEAD = 4096
LARGE = 500_000_000
SAMPLED_FIRST = 8_000_000
"""Bytes of a table from which its beginning is described before all of it is read."""
PROSE = frozenset(
    (".md", ".markdown", ".rst", ".log", ".py", ".r", ".sql", ".js", ".yaml", ".yml", ".toml", ".ini", ".tex")
)  # fmt: skip
"""What is named like this is no table, however regular its lines."""
Describe = Callable[[Inspection, str], Findings]
PARTS = {
    "spreadsheets.describe": ("xlsx", "xls", "xlsb", "ods"),
    "columnar.describe_columnar": ("parquet", "arrow", "arrow stream"),
    "columnar.describe_numpy": ("npy", "npz"),
    "databases.describe": ("sqlite", "duckdb"),
    "archives.describe": ("zip", "gzip", "bz2", "xz", "zstd", "a tar archive"),
    "images.describe": ("png", "jpeg", "gif", "bmp", "webp", "tiff"),
    "documents.describe_pdf": ("pdf",),
    "documents.describe_office": ("docx", "pptx", "odt"),
}
"""What describes which kinds of files, as `module.function`: its module is imported only when it is needed."""
DESCRIBERS = {kind: part for part, kinds in PARTS.items() for kind in kinds}
TEXT_DESCRIBERS = {
    "html": "markup.describe_html",
    "xml": "markup.describe_xml",
    "svg": "markup.describe_xml",
    "excel xml": "markup.describe_xml",
    "json": "json_files.describe_json",
    "jsonl": "json_files.describe_json",
}
"""The same for kinds of text."""


def profile_file(look: Inspection) -> Findings:
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
    source = find_padding(look.path, look.size)
    text = text_head(source, look)
    if text is None:
        said = kind_of_name(look.path)
        zeros = head.count(0) == len(head)
        seems = "holds nothing but NUL bytes" if zeros else "is binary data of no known format"
        raise UnreadableError(
            f"{f'is named {suffix_of(look.path)} but ' if said else ''}{seems} ({size_text(look.size)})"
        )
    found = look_at_text(source, text, look)
    if source.padding:
        where = source.without_padding
        found.remarks.insert(0, f"{source.padding:,} NUL bytes at its end are no part of its text: {where}")
    return found


def _check(look: Inspection) -> None:
    try:
        mode = os.stat(look.path).st_mode  # noqa: PTH116
    except FileNotFoundError:
        raise UnreadableError("there is no such file") from None
    except PermissionError:
        raise UnreadableError("there is no permission to open its folder") from None
    except (OSError, ValueError) as error:
        raise UnreadableError(f"cannot be reached: {error}") from None
    if stat.S_ISDIR(mode):
        raise UnreadableError("is a folder, not a file")
    if not stat.S_ISREG(mode):
        raise UnreadableError("is not a regular file")
    if not os.access(look.path, os.R_OK):
        raise UnreadableError("there is no permission to read it")
    if look.size == 0:
        raise UnreadableError("is empty (0 bytes)")


def _binary(look: Inspection, kind: str) -> Findings:
    lie = mismatch(look.path, kind)
    if kind in ("broken zip", "encrypted office", "encrypted parquet", "feather 1", "ole"):
        raise UnreadableError(_unreadable(look, kind))
    if kind == "pickle":
        return Findings(
            kind=f"Python pickle, not opened, {size_text(look.size)}",
            remarks=["loading a pickle runs code that is in it: only for files from a source you trust"],
        )
    size = size_text(look.size)
    if kind not in DESCRIBERS:
        unopened = Findings(kind=f"{NAMES.get(kind, kind)}, not opened, {size}")
        if kind in ("hdf5", "netCDF", "ORC", "R data", "SPSS data", "Avro data", "doc"):
            unopened.remarks.append("needs a library of its own to be read")
            return unopened
        raise UnreadableError(f"is {NAMES.get(kind, kind)}, which is not read here" + (f" ({lie})" if lie else ""))
    look.publish(Findings(kind=f"{NAMES.get(kind, kind)}, {size}"))
    found: Findings = _load(DESCRIBERS[kind])(look, kind)
    if lie:
        found.remarks.insert(0, lie)
    return found


def _unreadable(look: Inspection, kind: str) -> str:
    suffix = suffix_of(look.path)
    said = kind_of_name(look.path)
    if kind == "broken zip":
        seems = said if suffix in (".xlsx", ".xlsm", ".docx", ".pptx", ".ods", ".xlsb") else "a zip archive"
        return f"seems to be {seems} that is truncated or corrupt: its zip directory cannot be read"
    if kind == "feather 1":
        return "is a Feather version 1 file, which current libraries no longer read"
    if kind == "ole":
        return "seems to be an old Office file (OLE), and holds neither a workbook nor a document that is known"
    what = "Parquet file" if kind == "encrypted parquet" else f"Office file{f' (named {suffix})' if suffix else ''}"
    return f"is a password-protected {what}; it must be saved without the password to be read"


def _load(part: str) -> Callable[..., Any]:
    """The function that a table above names."""
    module, _, function = part.partition(".")
    loaded: Callable[..., Any] = getattr(
        importlib.import_module(f".{module}", __package__ or "stepwell_profiler"), function
    )
    return loaded


def look_at_text(source: Source, head: TextHead, look: Inspection) -> Findings:
    """Describe what turned out to be text."""
    start = head.text.lstrip("\ufeff \t\r\n\0")
    suffix = inner_suffix(source)
    packed = f", {source.packing}-compressed" if source.packing else ""
    size = f"{size_text(look.size)}{packed}"
    if not start:
        raise UnreadableError(f"holds nothing but white space ({size_text(look.size)})")
    kind = text_kind(start, suffix)
    lie = "" if source.packing else mismatch(look.path, kind)
    if kind in TEXT_DESCRIBERS:
        found: Findings | None = _load(TEXT_DESCRIBERS[kind])(source, head, look, kind, lie)
        if found is not None:
            # The part may have found out better what it is.
            if lie and not found.problem:
                found.remarks.insert(0, lie)
            return found
    if suffix not in PROSE and (dialect := find_dialect(head, suffix)) is not None:
        look.publish(Findings(kind=f"delimited text, {size}"))
        if look.size > SAMPLED_FIRST:  # so that something is known of it where the time runs out
            look.publish(_delimited(source, head, dialect[0], look, size, sampled=True))
        found = _delimited(source, head, dialect[0], look, size)
        if look.size > LARGE:
            found.remarks.append("large: read it in parts (nrows=, usecols=, chunksize=) or query it with DuckDB")
        if lie := "" if source.packing else mismatch(look.path, "delimited"):
            found.remarks.insert(0, lie)
        return found
    plain: Findings = _load("documents.describe_plain")(source, head, look, suffix)
    if lie := "" if source.packing else mismatch(look.path, "text"):
        plain.remarks.insert(0, lie)
    return plain


def _delimited(
    source: Source, head: TextHead, dialect: Dialect, look: Inspection, size: str, *, sampled: bool = False
) -> Findings:
    table = describe_delimited(source, head, dialect, look, sampled=sampled)
    name = "columns of fixed width" if dialect.cuts else DELIMITED.get(dialect.delimiter, "delimited text")
    found = Findings(kind=f"{name}, {table.size}, {size}", tables=[table])
    table.size = ""
    return found


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


SECONDS = 20.0
TOTAL_SECONDS = 120.0
GRACE = 2.0
"""Seconds beyond its budget after which a look is ended from outside."""


def main(arguments: Sequence[str]) -> int:
    """Print one JSON list with an object for each path: `path`, `abstract`, `problem`."""
    parser = argparse.ArgumentParser(prog="profiler", description="Describe files for a language model.")
    parser.add_argument("--chars", type=int, default=2000, help="most characters of one abstract")
    parser.add_argument("--most-chars", type=int, default=0, help="of a file with several tables; 0: the same")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="most seconds for one file")
    parser.add_argument("--total-seconds", type=float, default=TOTAL_SECONDS, help="most seconds for all files")
    parser.add_argument("paths", nargs="*")
    options = parser.parse_args(arguments)
    print(json.dumps(profile(options.paths, options.chars, options.seconds, options.total_seconds, options.most_chars)))
    return 0


def profile(
    paths: Sequence[str],
    chars: int,
    seconds: float = SECONDS,
    total_seconds: float = TOTAL_SECONDS,
    most_chars: int = 0,
) -> list[dict[str, str]]:
    """Describe files, in the order given.

    Args:
        paths: Paths, relative to the working directory.
        chars: Most characters of one abstract.
        seconds: Most seconds for one file.
        total_seconds: Most seconds for all; the files after that are only named.
        most_chars: Most characters of the abstract of a file with several tables: as many times `chars` as it has
            tables, up to this.
    """
    end = time.monotonic() + total_seconds
    entries = []
    for path in paths:
        left = end - time.monotonic()
        if left < min(1.0, total_seconds / 2):
            found = Findings(kind="not looked at: the time for all files was used up")
        else:
            found = _apart(path, min(seconds, left))
        room = max(chars, min(chars * len(found.tables), most_chars))
        entries.append({"path": path, "abstract": render(path, found, room), "problem": found.problem})
    return entries


def _apart(path: str, seconds: float) -> Findings:
    """Look at a file in a child process: a crash, a hang or a lack of memory in a parser stays there."""
    if not hasattr(os, "fork"):
        return _guarded(path, seconds, lambda _: None)
    reader, writer = os.pipe()
    sys.stdout.flush()
    try:
        child = os.fork()
    except OSError:
        os.close(reader)
        os.close(writer)
        with contextlib.redirect_stdout(sys.stderr):
            return _guarded(path, seconds, lambda _: None)
    if child == 0:
        _child(path, seconds, reader, writer)
    os.close(writer)
    data, ended = _receive(reader, time.monotonic() + seconds + min(GRACE, seconds))
    os.close(reader)
    if not ended:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return _result(data, status, timed_out=not ended, seconds=seconds)


def _child(path: str, seconds: float, reader: int, writer: int) -> None:
    """Never returns; what libraries print goes nowhere, so that the parent prints nothing but its list."""
    code = 1
    try:
        os.close(reader)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (1, 2):
            os.dup2(nowhere, descriptor)

        def send(found: Findings) -> None:
            data = json.dumps(asdict(found)).encode() + b"\n"
            while data:
                data = data[os.write(writer, data) :]

        send(_guarded(path, seconds, send))
        code = 0
    finally:
        os._exit(code)


def _guarded(path: str, seconds: float, publish: Callable[[Findings], None]) -> Findings:
    warnings.simplefilter("ignore")
    try:
        size = os.path.getsize(path) if os.path.exists(path) else 0  # noqa: PTH110, PTH202
        return profile_file(Inspection(path, size, seconds, publish))
    except UnreadableError as error:
        return Findings(problem=_clause(str(error)))
    except MemoryError:
        return Findings(problem="it needs more memory to be opened than there is")
    except RecursionError:
        return Findings(problem="it is nested too deeply to be read")
    except Exception as error:  # whatever a parser raises over a file is said, and costs no other file
        traceback.print_exc()  # goes nowhere in a child; shown when this is run by hand in one process
        return Findings(problem=f"its reader failed with {type(error).__name__}: {clean(error, 160)}")


def _clause(said: str) -> str:
    """What is said of a file, so that it can stand alone and after "cannot be read:"."""
    return said if said.startswith("there is") else f"it {said}"


def _receive(reader: int, deadline: float) -> tuple[bytes, bool]:
    """Read until the child closes its end or the time is over."""
    parts: list[bytes] = []
    while True:
        ready, _, _ = select.select([reader], [], [], max(deadline - time.monotonic(), 0))
        if not ready:
            return b"".join(parts), False
        part = os.read(reader, 1 << 16)
        if not part:
            return b"".join(parts), True
        parts.append(part)


def _result(data: bytes, status: int, *, timed_out: bool, seconds: float) -> Findings:
    """The last complete message of the child, with a remark when it did not come to its end."""
    complete = data.rsplit(b"\n", 1)[0].rsplit(b"\n", 1)[-1] if b"\n" in data else b""
    found = revive(json.loads(complete)) if complete else Findings()
    if timed_out:
        found.remarks.insert(0, f"the time of {seconds:.0f} s ran out, so this is only what was found until then")
    elif status:
        signalled = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit code {os.WEXITSTATUS(status)}"
        found.problem = found.problem or f"the program that reads it broke down ({signalled})"
    return found


def revive(data: dict[str, object]) -> Findings:
    """Make findings of what `asdict` made of them."""
    found = Findings(**data)  # type: ignore[arg-type]
    tables: list[Table] = []
    for entry in data["tables"]:  # type: ignore[attr-defined]
        table = Table(**entry)
        table.columns = [Column(**column) for column in entry["columns"]]
        tables.append(table)
    found.tables = tables
    return found
