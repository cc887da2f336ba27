"""Files that are empty, broken off or not what their names say are remarked on as soon as they have arrived."""

import gzip
import io
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from stepwell.page.upload_remarks import OLE, remark_on


def packed() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", "a" * 9_000)
    return file.getvalue()


def parquet() -> bytes:
    return bytes(pd.DataFrame({"a": [1]}).to_parquet())


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b" \r\n\n", "nothing but blanks"),
        ("a.csv", b"\x00\x01PK\x00", "bytes that no text has"),
        ("a.xlsx", b"a;b\n1;2\n", "does not look like a .xlsx"),
        ("a.XLSX", OLE + b"x" * 99, "protected by a password"),
        ("a.xlsx", packed()[:-60], "end is missing"),
        ("a.parquet", parquet()[:-9], "end is missing"),
        ("a.gz", b"plain", "does not look like a .gz"),
        ("a.csv", b"a;b\n1,5;2\n", ""),
        ("a.csv", "a,b\n1,2\n".encode("utf-16"), ""),
        ("a.xlsx", packed(), ""),
        ("a.xls", packed(), ""),
        ("a.xls", OLE + b"x" * 99, ""),
        ("a.parquet", parquet(), ""),
        ("a.csv.gz", gzip.compress(b"a"), ""),
        ("a.unknown", b"\x00\x01", ""),
        ("noname", b"x", ""),
    ],
    ids=lambda one: one if isinstance(one, str) else "…",
)
async def test_a_file_is_remarked_on_where_it_shows_that_it_cannot_be_read(
    name: str, content: bytes, words: str, tmp_path: Path
) -> None:
    file = tmp_path / "content"
    file.write_bytes(content)
    said = await remark_on(file, name)
    assert (words in said) if words else said == "", said
