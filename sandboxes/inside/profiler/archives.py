"""Describe compressed files and archives: what is in them, and the tables among it, without unpacking to disk."""

from __future__ import annotations

import tarfile
import zipfile
import zlib

from .delimited import NAMES as DELIMITED
from .delimited import describe_delimited, find_dialect
from .detection import by_magic, suffix_of
from .findings import Findings, Inspection, UnreadableError, clean, count_text, size_text
from .text_files import Source, text_head

TABLES = 3
"""So many tables in an archive are described; the other members are named."""
NAMED = 40
CHECKED = 200_000_000
TEXTS = (
    ".csv",
    ".tsv",
    ".txt",
    ".tab",
    ".json",
    ".jsonl",
    ".ndjson",
    ".geojson",
    ".md",
    ".html",
    ".xml",
    ".log",
    ".dat",
)


def describe(look: Inspection, kind: str) -> Findings:
    """Describe a zip archive, a tar archive or a compressed file.

    Raises:
        UnreadableError: it is truncated, corrupt or password-protected.
    """
    try:
        if kind == "zip":
            return _zip(look)
        if kind == "a tar archive" or look.path.lower().endswith((".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")):
            return _tar(look)
        return _single(look, kind)
    except UnreadableError:
        raise
    except (
        zipfile.BadZipFile,
        EOFError,
        zlib.error,
        tarfile.TarError,
        OSError,
        NotImplementedError,
        ValueError,
    ) as error:
        raise _broken(kind, error) from error
    except Exception as error:  # lzma, zstandard and pyarrow have exceptions of their own, not imported here
        if type(error).__name__ in ("LZMAError", "ZstdError", "ArrowInvalid"):
            raise _broken(kind, error) from error
        raise


def _broken(kind: str, error: Exception) -> UnreadableError:
    if kind == "gzip" and str(error).startswith("Not a gzipped file"):  # it begins as one
        return UnreadableError(
            "is a complete gzip file with other bytes behind its end, at which Python's gzip stops; its first part, "
            "without them: zlib.decompressobj(31).decompress(Path(PATH).read_bytes())"
        )
    name = kind if kind.startswith("a ") else f"a {kind} file"
    return UnreadableError(f"seems to be {name} that is truncated or corrupt: {clean(error, 120)}")


def _single(look: Inspection, kind: str) -> Findings:
    from .profiling import look_at_text

    source = Source(look.path, None, seekable=False, packing=kind, packed_size=look.size)
    head = source.head(4096)
    if not head:
        raise UnreadableError(f"is a {kind} file that holds nothing")
    if head[257:262] == b"ustar":
        return _tar(look)
    if inner := by_magic("", head, b""):
        return Findings(
            kind=f"{kind}-compressed, {size_text(look.size)}, holding {inner}",
            remarks=["must be decompressed before it can be read"],
        )
    text = text_head(source, look)
    if text is None:
        return Findings(
            kind=f"{kind}-compressed, {size_text(look.size)}, holding binary data of no known format",
            remarks=["must be decompressed before it can be read"],
        )
    return look_at_text(source, text, look)


def _zip(look: Inspection) -> Findings:
    with zipfile.ZipFile(look.path) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
        if not members:
            return Findings(kind=f"zip archive, {size_text(look.size)}", remarks=["it holds no files"])
        if any(member.flag_bits & 1 for member in members):
            names = ", ".join(clean(member.filename) for member in members[:5])
            raise UnreadableError(f"is a password-protected zip archive ({names})")
        if sum(member.file_size for member in members) <= CHECKED and (bad := archive.testzip()):
            raise UnreadableError(f"is a zip archive in which {clean(bad)} is corrupt")
    unpacked = sum(member.file_size for member in members)
    count = count_text(len(members), "file")
    found = Findings(kind=f"zip archive, {count}, {size_text(look.size)} ({size_text(unpacked)} unpacked)")
    readable = [
        member for member in members
        if suffix_of(member.filename) in TEXTS and "__MACOSX" not in member.filename
    ]  # fmt: skip
    for member in readable[:TABLES]:
        if look.over(0.4):
            break
        _member(look, found, member, only=len(members) == 1)
    if len(readable) > TABLES:
        found.remarks.append(f"only the first {TABLES} tables in it were looked at")
    titles = [table.title for table in found.tables]
    others = [one for one in members if not any(f"{title} ".startswith(f"{one.filename} ") for title in titles)]
    if others:
        found.lines = ["holds besides:" if titles else "holds:"]
        found.lines += [f"- {clean(one.filename, 100)} ({size_text(one.file_size)})" for one in others[:NAMED]]
    if len(others) > NAMED:
        found.lines.append(f"… and {len(others) - NAMED:,} more")
    return found


def _member(look: Inspection, found: Findings, member: zipfile.ZipInfo, *, only: bool) -> None:
    from .profiling import look_at_text

    source = Source(
        look.path, member.file_size, seekable=False, packing="zip", member=member.filename, only_member=only
    )
    if not member.file_size:
        return
    head = text_head(source, look)
    if head is None:
        return
    suffix = suffix_of(member.filename)
    dialect = find_dialect(head, suffix) if suffix not in (".json", ".jsonl", ".ndjson", ".geojson") else None
    if dialect is not None:
        table = describe_delimited(source, head, dialect[0], look)
        table.size = f"{DELIMITED.get(dialect[0].delimiter, 'delimited text')}, {table.size}"
        table.title = member.filename
        found.tables.append(table)
        return
    try:
        inner = look_at_text(source, head, look)
    except UnreadableError as error:
        found.remarks.append(f"{clean(member.filename)} {error}")
        return
    for table in inner.tables:
        table.title, table.size = f"{member.filename}{f' {table.title}' if table.title else ''}", inner.kind
        found.tables.append(table)


def _tar(look: Inspection) -> Findings:
    found = Findings(kind=f"tar archive, {size_text(look.size)}")
    names: list[str] = []
    with tarfile.open(look.path, "r|*") as archive:
        for member in archive:
            if member.isfile():
                names.append(f"- {clean(member.name, 100)} ({size_text(member.size)})")
            if len(names) >= NAMED or look.over(0.5):
                names.append("… and perhaps more")
                break
    found.lines = ["holds:", *names]
    found.remarks.append("must be unpacked before its files can be read (tarfile)")
    return found
