"""Describe NumPy arrays on file by their headers; arrays of objects, which are pickles, are not opened."""

from __future__ import annotations

import ast
import zipfile
import zlib
from typing import BinaryIO, cast

from .findings import Findings, Look, UnreadableError, clean, literal, size_text


def describe(look: Look, kind: str) -> Findings:
    """Describe a `.npy` file or the arrays in a `.npz` file.

    Raises:
        UnreadableError: a header is damaged.
    """
    path = literal(look.path)
    try:
        if kind == "npy":
            with open(look.path, "rb") as stream:  # noqa: PTH123  only the header is read
                found = Findings(kind=f"NumPy array, {_header(stream)}, {size_text(look.size)}")
            found.lines.append(f"read with: np.load({path})")
            return found
        found = Findings(kind=f"NumPy arrays, {size_text(look.size)}")
        with zipfile.ZipFile(look.path) as archive:
            names = archive.namelist()
            for name in names[:40]:
                with archive.open(name) as member:
                    entry = name.removesuffix(".npy")
                    found.lines.append(f"- {clean(entry)}: {_header(cast(BinaryIO, member))}")
    except (ValueError, SyntaxError, KeyError, EOFError, IndexError, zlib.error, zipfile.BadZipFile) as error:
        raise UnreadableError(f"seems to be a NumPy file that is truncated or corrupt: {clean(error, 100)}") from error
    entry = names[0].removesuffix(".npy")
    found.lines.append(f"read with: np.load({path})[{literal(entry)}]")
    return found


def _header(stream: BinaryIO) -> str:
    start = stream.read(8)
    if start[:6] != b"\x93NUMPY":
        raise ValueError("its header is missing")
    length = int.from_bytes(stream.read(2 if start[6] == 1 else 4), "little")
    header = ast.literal_eval(stream.read(min(length, 100_000)).decode("latin-1"))
    if "O" in str(header["descr"]):
        return f"shape {header['shape']}, Python objects (a pickle, not opened)"
    return f"shape {header['shape']}, type {header['descr']}"
