"""Describe Parquet and Arrow files, and NumPy arrays, from their metadata and a few rows."""

from __future__ import annotations

import ast
import importlib
import zipfile
import zlib
from typing import Any, BinaryIO, cast

from .columns import describe_values
from .doubts import repetition
from .findings import Findings, Inspection, Table, UnreadableError, clean, count_text, literal, number_text, size_text


def describe_numpy(look: Inspection, kind: str) -> Findings:
    """Describe a `.npy` file or the arrays in a `.npz` file.

    Raises:
        UnreadableError: a header is damaged.
    """
    path = literal(look.path)
    try:
        if kind == "npy":
            with open(look.path, "rb") as stream:  # noqa: PTH123  only the header is read
                found = Findings(kind=f"NumPy array, {_header(stream)}, {size_text(look.size)}")
            found.read_with = f"np.load({path})"
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
    found.read_with = f"np.load({path})[{literal(entry)}]"
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


SAMPLE_ROWS = 5_000
CELLS = 200_000
COLUMNS = 300
"""Values are read of so many columns; of the others the type is told."""


def describe_columnar(look: Inspection, kind: str) -> Findings:
    """Describe a Parquet file, an Arrow (Feather) file or an Arrow stream.

    Raises:
        UnreadableError: it is truncated or corrupt.
    """
    name = {"parquet": "Parquet", "arrow": "Arrow (Feather)", "arrow stream": "Arrow stream"}[kind]
    found = Findings(kind=f"{name}, {size_text(look.size)}")
    try:
        pyarrow = importlib.import_module("pyarrow")
    except ImportError:
        return _without_pyarrow(look, kind, found)
    try:
        table = _parquet(look) if kind == "parquet" else _arrow(look, kind, pyarrow)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise UnreadableError(
            f"seems to be {'a Parquet' if kind == 'parquet' else 'an Arrow'} file that is truncated or corrupt:"
            f" {clean(error, 120)}"
        ) from error
    found.kind = f"{name}, {table.size}, {size_text(look.size)}"
    table.size = ""
    found.tables.append(table)
    return found


def _without_pyarrow(look: Inspection, kind: str, found: Findings) -> Findings:
    found.remarks.append("this Python has no library to read it (pyarrow)")
    if kind != "parquet":
        return found
    try:
        duckdb = importlib.import_module("duckdb")
    except ImportError:
        return found
    path = look.path.replace("'", "''")
    relation = duckdb.sql(f"select * from read_parquet('{path}')")
    rows = relation.limit(SAMPLE_ROWS).fetchall()
    count = duckdb.sql(f"select count(*) from read_parquet('{path}')").fetchone()[0]
    found.remarks = ["this Python has no pyarrow, so it is read with DuckDB"]
    query = f"select * from read_parquet('{path}')"
    table = Table(read_with=f"duckdb.sql({literal(query)}).df()", column_count=len(relation.columns))
    for place, name in enumerate(relation.columns[:COLUMNS]):
        table.columns.append(describe_values(name, [row[place] for row in rows], whole=len(rows) == count))
    table.rows = [[_cell(value) for value in row] for row in rows[:5]]
    table.remarks += repetition(rows, whole=len(rows) == count)
    found.kind = f"Parquet, {len(relation.columns):,} columns, {count:,} rows (exact), {size_text(look.size)}"
    found.tables.append(table)
    return found


def _parquet(look: Inspection) -> Table:
    parquet = importlib.import_module("pyarrow.parquet")
    with parquet.ParquetFile(look.path) as file:
        schema, meta = file.schema_arrow, file.metadata
        names = list(schema.names)[:COLUMNS]
        wanted = max(min(SAMPLE_ROWS, CELLS // max(len(names), 1)), 20)
        batches = file.iter_batches(batch_size=wanted, columns=names, use_threads=False)
        batch = next(batches, None) if names else None
        table = _table(schema, names, batch, meta.num_rows)
        if batch is None or batch.num_rows < meta.num_rows:
            _from_statistics(table, meta)
    groups = count_text(meta.num_row_groups, "row group")
    table.size = (
        f"{count_text(len(schema.names), 'column')}, {count_text(meta.num_rows, 'row')} (exact), {groups}{table.size}"
    )
    table.read_with = f"pd.read_parquet({literal(look.path)})"
    return table


def _from_statistics(table: Table, meta: Any) -> None:
    """Put exact ranges and counts of missing values, which the file's metadata holds, over those of a sample."""
    groups = range(min(meta.num_row_groups, 2_000))
    places = {meta.schema.column(place).path: place for place in range(meta.num_columns)}
    for column in table.columns:
        place = places.get(column.name)
        if place is None or len(groups) < meta.num_row_groups:
            continue
        found = [meta.row_group(group).column(place).statistics for group in groups]
        if not found or any(one is None for one in found):
            continue
        if all(one.has_null_count for one in found):
            column.missing, column.total = sum(one.null_count for one in found), meta.num_rows
        if all(one.has_min_max for one in found) and column.low is not None:
            try:
                column.low = float(min(one.min for one in found))
                column.high = float(max(one.max for one in found))
            except (TypeError, ValueError):
                continue
            column.brief = f"{number_text(column.low)} … {number_text(column.high)}"
            mean = column.spread.partition(" (mean ")[2].rstrip(")")
            column.spread = column.brief + (f" (mean of the sample {mean})" if mean else "")


def _arrow(look: Inspection, kind: str, pyarrow: Any) -> Table:
    ipc = importlib.import_module("pyarrow.ipc")
    with pyarrow.memory_map(look.path) as stream:
        if kind == "arrow":
            reader = ipc.open_file(stream)
            count = sum(reader.get_batch(place).num_rows for place in range(reader.num_record_batches))
            batch = reader.get_batch(0) if reader.num_record_batches else None
        else:
            reader = ipc.open_stream(stream)
            batch, count = None, 0
            for one in reader:
                batch = one if batch is None else batch
                count += one.num_rows
        names = list(reader.schema.names)[:COLUMNS]
        wanted = max(min(SAMPLE_ROWS, CELLS // max(len(names), 1)), 20)
        table = _table(reader.schema, names, batch.slice(0, wanted) if batch is not None else None, count)
    table.size = f"{count_text(len(reader.schema.names), 'column')}, {count_text(count, 'row')} (exact){table.size}"
    path = literal(look.path)
    table.read_with = (
        f"pd.read_feather({path})" if kind == "arrow" else f'pyarrow.ipc.open_stream(open({path}, "rb")).read_pandas()'
    )
    return table


def _table(schema: Any, names: list[str], batch: Any, count: int) -> Table:
    table = Table(column_count=len(schema.names))
    rows = batch.num_rows if batch is not None else 0
    if rows < count:
        table.size = f", statistics from a sample of the first {rows:,} rows"
    shown, read = [], []
    for place, name in enumerate(names):
        values = _values(batch.column(place)) if batch is not None else []
        column = describe_values(name, values, whole=rows == count)
        stated = clean(schema.field(place).type, 40)
        if column.kind not in ("category",) or not stated.startswith(("string", "large_string")):
            column.kind = f"{column.kind} ({stated})" if column.kind != stated else stated
        table.columns.append(column)
        shown.append([_cell(value) for value in values[:5]])
        read.append(values)
    table.rows = [list(row) for row in zip(*shown, strict=True)] if shown else []
    if len(names) == table.column_count:
        table.remarks += repetition(list(zip(*read, strict=True)), whole=rows == count)
    if not count:
        table.remarks.append("the table is empty: columns and no rows")
    return table


def _values(array: Any) -> list[object]:
    """Python values; those that Python cannot hold (nanoseconds, years beyond 9999) as text."""
    try:
        found: list[object] = array.to_pylist()
    except (ValueError, OverflowError, ImportError, NotImplementedError):
        found = [_scalar(value) for value in array]
    return [value.isoformat(" ") if type(value).__name__ == "Timestamp" else value for value in found]  # type: ignore[attr-defined]


def _scalar(value: object) -> object:
    try:
        return str(value)
    except (ValueError, OverflowError, NotImplementedError):
        return "(beyond what Python can hold)"


def _cell(value: object) -> str:
    return "" if value is None else clean(value)
