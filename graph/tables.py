"""Tables that came out of a sandbox, as Parquet, read with care: sizes are checked before and while it is read.

A Parquet file says of itself how large it is, and may lie; so it is read piece by piece, and given up when the pieces
grow too large: a file of a few kilobytes does not fill the machine with rows. One piece can still take memory, since a
page may hold up to 2 GB.
"""

from typing import Any

MAX_CELLS = 100_000_000
"""Rows times columns."""
MAX_BYTES = 1 << 30
"""Bytes that a table may have in memory."""
BATCH_ROWS = 4_096


class TableError(ValueError):
    """A table is not taken; the message says why."""


def read_table(data: bytes, *, max_bytes: int = MAX_BYTES) -> Any:
    """A pyarrow table.

    Args:
        data: The Parquet file.
        max_bytes: What the table may have in memory.

    Raises:
        ImportError: pyarrow is not installed.
        TableError: it is no Parquet, or too large.
    """
    import pyarrow
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(data))
        if file.metadata.num_rows * max(file.metadata.num_columns, 1) > MAX_CELLS:
            raise TableError(f"it has more than {MAX_CELLS:,} values")
        batches, size = [], 0
        for batch in file.iter_batches(batch_size=_rows_at_once(file.metadata, max_bytes), use_threads=False):
            size += batch.nbytes
            if size > max_bytes:
                raise TableError(f"it has more than {max_bytes:,} bytes")
            batches.append(batch)
        return pyarrow.Table.from_batches(batches, schema=file.schema_arrow)
    except (pyarrow.ArrowException, OSError) as error:
        raise TableError(f"it cannot be read: {str(error)[:200]}") from None


def _rows_at_once(metadata: Any, max_bytes: int) -> int:
    """As many rows as fit if each held the largest text there can be: one may stand in a file once, and in all rows."""
    groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    columns = [group.column(index) for group in groups for index in range(group.num_columns)]
    largest = max((column.total_uncompressed_size for column in columns), default=1)
    return max(min(max_bytes // max(largest, 1), BATCH_ROWS), 1)


def as_kind(table: Any, kind: str) -> Any:
    """A pyarrow table as a table of pandas or polars; as it is where that is not installed."""
    try:
        if kind == "pandas":
            return table.to_pandas()
        if kind == "polars":
            import polars

            return polars.from_arrow(table)
    except ImportError:
        return table
    return table


def kind_of(annotation: str) -> str:
    """Which kind of table an annotation asks for; empty when it says nothing of tables."""
    if "pyarrow" in annotation or "pa.Table" in annotation:
        return "pyarrow"
    if "polars" in annotation or "pl.DataFrame" in annotation:
        return "polars"
    return "pandas" if "pandas" in annotation or "pd.DataFrame" in annotation else ""
