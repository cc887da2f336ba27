"""What can be said of an uploaded file at once, by its name, its size and a few of its bytes; nothing is parsed."""

import asyncio
from pathlib import Path

LOOKED_AT = 4_096
"""Bytes of the beginning and of the end that are looked at."""
ZIP, OLE = b"PK", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
ZIPPED = ("xlsx", "xlsm", "docx", "pptx", "ods", "zip")
BEGINNINGS = {
    **dict.fromkeys(ZIPPED, ZIP),
    "xls": OLE,
    "parquet": b"PAR1",
    "pdf": b"%PDF",
    "png": b"\x89PNG",
    "jpg": b"\xff\xd8",
    "jpeg": b"\xff\xd8",
    "gif": b"GIF8",
    "gz": b"\x1f\x8b",
    "bz2": b"BZh",
    "xz": b"\xfd7zXZ",
    "zst": b"\x28\xb5\x2f\xfd",
    "sqlite": b"SQLite format 3",
    "sqlite3": b"SQLite format 3",
}
"""How files begin whose names end so."""
WHOLE_ZIP, WHOLE_PARQUET = b"PK\x05\x06", b"PAR1"
"""What stands in the last bytes of one that is whole, and what the last ones are."""
TEXTS = ("csv", "tsv", "tab", "txt", "md", "json", "jsonl", "ndjson", "geojson", "xml", "html", "htm", "yaml", "yml")
ENCODED = (b"\xff\xfe", b"\xfe\xff")
"""How text begins whose encoding has zero bytes in it."""


async def remark_on(content: Path, name: str) -> str:
    """What is wrong with a file as far as it shows, in a sentence; empty when nothing does."""
    return await asyncio.to_thread(_remark, content, name)


def _remark(content: Path, name: str) -> str:
    kind = name.rpartition(".")[2].lower() if "." in name else ""
    with content.open("rb") as file:
        begins = file.read(LOOKED_AT)
        file.seek(max(content.stat().st_size - LOOKED_AT, 0))
        ends = file.read(LOOKED_AT)
    if not begins:
        return "It is empty (0 bytes); choose another one, or leave it out."
    if kind in ZIPPED and begins.startswith(OLE):
        return "It is protected by a password, or of an older format; save it without a password, as .xlsx or .csv."
    if kind == "xls" and begins.startswith(ZIP):
        return ""  # a newer one by an older name, which can be read
    if not begins.startswith(BEGINNINGS.get(kind, b"")):
        return f"It does not look like a .{kind} file inside and may not be readable; save it again as what it is."
    broken_off = (kind in ZIPPED[:-1] and WHOLE_ZIP not in ends) or (
        kind == "parquet" and not ends.endswith(WHOLE_PARQUET)
    )
    if broken_off:
        return "Its end is missing, as when a download breaks off; get it again."
    if kind in TEXTS and not begins.startswith(ENCODED):
        if not begins.strip(b" \t\r\n\0"):
            return "It begins with nothing but blanks; see whether it is the right one."
        if b"\0" in begins:
            return f"It has bytes that no text has, and may not be a .{kind} file; save it again as what it is."
    return ""
