"""What a file seems to be, told from its bytes; its name is only compared with that."""

from __future__ import annotations

import zipfile
from pathlib import PurePosixPath

from .encoding import looks_binary

MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"PAR1", "parquet"), (b"PARE", "encrypted parquet"), (b"ARROW1", "arrow"), (b"FEA1", "feather 1"),
    (b"SQLite format 3\0", "sqlite"), (b"\x1f\x8b", "gzip"), (b"BZh", "bz2"), (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"), (b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF87a", "gif"),
    (b"GIF89a", "gif"), (b"II*\0", "tiff"), (b"MM\0*", "tiff"), (b"\x93NUMPY", "npy"), (b"\x89HDF\r\n\x1a\n", "hdf5"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "ole"), (b"\x7fELF", "a Linux program"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"), (b"ID3", "MP3 audio"), (b"OggS", "Ogg audio or video"), (b"fLaC", "FLAC audio"),
    (b"\x1aE\xdf\xa3", "Matroska video"), (b"\0asm", "a WebAssembly program"), (b"CDF\x01", "netCDF"),
    (b"CDF\x02", "netCDF"), (b"GRIB", "GRIB weather data"), (b"OBJ\x01", "Avro data"), (b"Obj\x01", "Avro data"),
    (b"ORC", "ORC"), (b"RDX", "R data"), (b"$FL2", "SPSS data"), (b"$FL3", "SPSS data"),
    (b"\xca\xfe\xba\xbe", "a Java class"),
)  # fmt: skip
BIFF = (
    b"\x09\x00\x04\x00",
    b"\x09\x02\x06\x00",
    b"\x09\x04\x06\x00",
    b"\x09\x08\x08\x00\x00\x05",
    b"\x09\x08\x10\x00\x00\x06",
)
NAMES = {
    "xlsx": "an Excel workbook (xlsx)", "xls": "an old Excel workbook (xls)", "xlsb": "a binary Excel workbook (xlsb)",
    "ods": "an OpenDocument spreadsheet", "docx": "a Word document", "pptx": "a PowerPoint presentation",
    "odt": "an OpenDocument text", "zip": "a zip archive", "gzip": "gzip-compressed", "bz2": "bzip2-compressed",
    "xz": "xz-compressed", "zstd": "Zstandard-compressed", "parquet": "a Parquet file", "arrow": "an Arrow file",
    "sqlite": "an SQLite database", "duckdb": "a DuckDB database", "pdf": "a PDF document", "png": "a PNG image",
    "jpeg": "a JPEG image", "gif": "a GIF image", "tiff": "a TIFF image", "bmp": "a BMP image", "webp": "a WebP image",
    "pickle": "a Python pickle", "npy": "a NumPy array", "npz": "NumPy arrays", "html": "an HTML page",
    "json": "JSON", "jsonl": "JSON Lines", "xml": "XML", "delimited": "delimited text", "text": "plain text",
    "markdown": "Markdown", "hdf5": "an HDF5 file", "encrypted office": "a password-protected Office file",
    "arrow stream": "an Arrow stream", "ole": "an old Office file", "doc": "an old Word document",
    "excel xml": "an Excel 2003 XML workbook", "svg": "an SVG image",
}  # fmt: skip
SUFFIXES = {
    ".xlsx": ("xlsx",), ".xlsm": ("xlsx",), ".xls": ("xls",), ".xlsb": ("xlsb",), ".ods": ("ods",), ".docx": ("docx",),
    ".pptx": ("pptx",), ".csv": ("delimited",), ".tsv": ("delimited",), ".parquet": ("parquet",), ".pq": ("parquet",),
    ".feather": ("arrow",), ".arrow": ("arrow", "arrow stream"), ".json": ("json", "jsonl"),
    ".jsonl": ("jsonl", "json"),
    ".ndjson": ("jsonl", "json"), ".geojson": ("json",), ".sqlite": ("sqlite",), ".sqlite3": ("sqlite",),
    ".db": ("sqlite", "duckdb"), ".duckdb": ("duckdb",), ".pdf": ("pdf",), ".png": ("png",), ".jpg": ("jpeg",),
    ".jpeg": ("jpeg",), ".gif": ("gif",), ".webp": ("webp",), ".html": ("html", "xml"), ".htm": ("html", "xml"),
    ".xml": ("xml", "excel xml", "svg"), ".zip": ("zip", "npz"), ".gz": ("gzip",), ".bz2": ("bz2",), ".xz": ("xz",),
    ".zst": ("zstd",), ".pkl": ("pickle",), ".pickle": ("pickle",), ".npy": ("npy",), ".npz": ("npz",),
}  # fmt: skip


def suffix_of(path: str) -> str:
    """What a name ends with, in lower case, with the dot."""
    return PurePosixPath(path).suffix.lower()


def by_magic(path: str, head: bytes, tail: bytes) -> str:
    """Tell a binary kind from a file's first and last bytes; an empty string when it may be text.

    Returns:
        A key of `NAMES`, or a phrase such as `a RAR archive` for what is known and not opened.
    """
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")):
        return _zip_kind(path)
    for magic, kind in MAGIC:
        # A text may begin with the letters of a magic number; it has no control characters after them.
        if head.startswith(magic) and (not magic.decode("latin-1").isprintable() or looks_binary(head)):
            return _ole_kind(path) if kind == "ole" else kind
    if head.startswith(BIFF):
        return "xls"
    if head[8:12] == b"DUCK":
        return "duckdb"
    if head[:4] == b"RIFF":
        return {b"WEBP": "webp", b"WAVE": "WAV audio", b"AVI ": "AVI video"}.get(head[8:12], "RIFF data")
    if head[4:8] == b"ftyp":
        return "MP4 or HEIC media"
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"%PDF-") or (b"%PDF-" in head[:1024] and looks_binary(head)):
        return "pdf"
    return _weak_magic(path, head, tail)


def _weak_magic(path: str, head: bytes, tail: bytes) -> str:
    if head[:4] == b"\xff\xff\xff\xff" and b"\0" in head[:64]:
        return "arrow stream"
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05") and tail.endswith(b"."):
        return "pickle"
    if suffix_of(path) in (".pkl", ".pickle", ".joblib"):
        return "pickle"
    if head[:2] == b"BM" and b"\0" in head[:32]:
        return "bmp"
    if head[:2] == b"MZ" and b"\0" in head[:64]:
        return "a Windows program"
    if head[257:262] == b"ustar":
        return "a tar archive"
    return ""


def _zip_kind(path: str) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            mime = archive.read("mimetype")[:80].decode("ascii", "replace") if "mimetype" in names else ""
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, ValueError):
        return "broken zip"
    if "opendocument.spreadsheet" in mime:
        return "ods"
    if "opendocument.text" in mime:
        return "odt"
    for name, kind in (
        ("xl/workbook.xml", "xlsx"), ("xl/workbook.bin", "xlsb"), ("word/document.xml", "docx"),
        ("ppt/presentation.xml", "pptx"),
    ):  # fmt: skip
        if name in names:
            return kind
    if "[Content_Types].xml" in names and any(name.startswith("xl/") for name in names):
        return "xlsx"
    return "npz" if names and all(name.endswith(".npy") for name in names) else "zip"


def _ole_kind(path: str) -> str:
    """An OLE file's directory holds the names of its streams in UTF-16; it may stand anywhere in the file."""
    with open(path, "rb") as stream:  # noqa: PTH123  what is opened here is a stream, not a path's content
        data = stream.read(8_000_000)
        stream.seek(0, 2)
        stream.seek(max(stream.tell() - 1_000_000, 0))
        data += stream.read()
    for name, kind in (
        ("EncryptedPackage", "encrypted office"), ("Workbook", "xls"), ("Book", "xls"), ("WordDocument", "doc"),
        ("PowerPoint Document", "an old PowerPoint presentation"), ("__properties_version1.0", "an Outlook message"),
    ):  # fmt: skip
        if name.encode("utf-16-le") + b"\0\0" in data:
            return kind
    return "ole"


def named_like(path: str) -> str:
    """What the name says the file is; empty when it says nothing."""
    kinds = SUFFIXES.get(suffix_of(path))
    return NAMES[kinds[0]] if kinds else ""


def mismatch(path: str, kind: str) -> str:
    """One remark when the name says something else than the content; else an empty string."""
    kinds = SUFFIXES.get(suffix_of(path))
    if kinds is None or kind in kinds:
        return ""
    article = NAMES.get(kind, kind)
    return f"named {suffix_of(path)} but it is {article}"
