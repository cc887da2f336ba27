"""Parquet as a stream of Arrow, batch by batch, checked on the way.

A Parquet file says of itself how large it is, and may lie; a batch that grows beyond the memory of this process ends
the process, and nothing else.
"""

import io
import os
import sys
from itertools import zip_longest
from types import ModuleType
from typing import Any, cast

BATCH_ROWS = 65_536
MAX_COLUMNS = 10_000
MAX_METADATA = 1 << 20
"""Bytes that a schema says about itself."""
MAX_NAME = 1_000
"""Characters of the name of a column."""
MAX_OBJECTS = 10_000_000
"""Values that are no plain numbers: each becomes an object of Python's in a table of pandas."""


class UnreadableTableError(Exception):
    """It is not read; the message says why."""


def prepare() -> None:
    """Load all that is needed, while files can be opened; pyarrow does without numpy, which takes longest to load."""
    sys.modules.update(dict.fromkeys(("numpy", "pandas"), cast("ModuleType", None)))
    import pyarrow
    import pyarrow.ipc
    import pyarrow.parquet

    pyarrow.set_cpu_count(1)
    pyarrow.set_io_thread_count(1)
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"a": [1], "b": ["x"]}), file, compression="zstd")
    for batch in pyarrow.parquet.ParquetFile(io.BytesIO(file.getvalue())).iter_batches(use_threads=False):
        batch.validate(full=True)


def write_table(data: memoryview, target: int, *, max_bytes: int, max_cells: int) -> None:
    """Write the table in a Parquet file.

    Raises:
        MemoryError: it needs more memory than there is.
        UnreadableTableError: it is no Parquet, or too large.
    """
    import pyarrow
    import pyarrow.ipc
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(pyarrow.py_buffer(data)))
        schema = file.schema_arrow
        _check(file.metadata, schema, max_cells)
        written, rows, objects = 0, 0, 0
        before: list[Any] = []
        with (
            os.fdopen(os.dup(target), "wb") as raw,
            pyarrow.ipc.new_stream(pyarrow.PythonFile(raw, "w"), schema) as out,
        ):
            for batch in file.iter_batches(batch_size=BATCH_ROWS, use_threads=False):
                batch.validate(full=True)
                written, rows = written + batch.nbytes, rows + batch.num_rows
                objects += sum(map(_objects, _differing(batch.columns, before)))
                before = batch.columns
                if written > max_bytes:
                    raise UnreadableTableError(f"it has more than {max_bytes:,} bytes")
                if rows * max(len(schema), 1) > max_cells:
                    raise UnreadableTableError(f"it has more than {max_cells:,} values")
                if objects > MAX_OBJECTS:
                    raise UnreadableTableError(f"it has more than {MAX_OBJECTS:,} values that are not numbers")
                out.write_batch(batch)
    except MemoryError:
        raise
    except pyarrow.ArrowMemoryError:
        raise MemoryError from None
    except (pyarrow.ArrowException, OSError) as error:
        raise UnreadableTableError(f"it cannot be read: {str(error)[:200]}") from None


def _check(metadata: Any, schema: Any, max_cells: int) -> None:
    if metadata.num_rows * max(metadata.num_columns, 1) > max_cells:
        raise UnreadableTableError(f"it has more than {max_cells:,} values")
    if len(schema) > MAX_COLUMNS:
        raise UnreadableTableError(f"it has more than {MAX_COLUMNS:,} columns")
    metadata = [schema.metadata or {}, *(field.metadata or {} for field in schema)]
    if sum(len(key) + len(value) for one in metadata for key, value in one.items()) > MAX_METADATA:
        raise UnreadableTableError(f"what it says of its columns has more than {MAX_METADATA:,} bytes")
    if max((len(name) for name in schema.names), default=0) > MAX_NAME:  # pandas may read names as literals of Python
        raise UnreadableTableError(f"a name of a column in it has more than {MAX_NAME:,} characters")


def _differing(columns: list[Any], before: list[Any]) -> list[Any]:
    """The columns of a batch but for those with the same dictionary as in the batch before: it becomes objects once."""
    from pyarrow import types

    return [
        column
        for column, last in zip_longest(columns, before)
        if last is None or not types.is_dictionary(column.type) or not column.dictionary.equals(last.dictionary)
    ]


def _objects(array: Any) -> int:
    """How many objects of Python a column becomes at most; what is within lists and dictionaries counts, too.

    Raises:
        UnreadableTableError: it is of a kind that is not known to be harmless.
    """
    from pyarrow import types

    kind = array.type
    storage = getattr(array, "storage", None)  # of a type that stands for another
    if storage is not None:
        return _objects(storage)
    if _is_plain(kind):
        return 0
    if types.is_dictionary(kind):
        return len(array.dictionary) + _objects(array.dictionary)
    if types.is_map(kind):
        return len(array) + sum(len(part) + _objects(part) for part in (array.keys, array.items))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        inner = array.values  # plain numbers within one list become one array of at most eight bytes each
        return len(array) + (len(inner) // 10 if _is_plain(inner.type) else _objects(inner))
    if types.is_struct(kind):
        parts = [array.field(at) for at in range(kind.num_fields)]
        return len(array) * (1 + len(parts)) + sum(map(_objects, parts))
    if types.is_nested(kind) or types.is_run_end_encoded(kind):
        raise UnreadableTableError(f"it has a column of the type {str(kind)[:100]}, which is not read")
    return len(array)


def _is_plain(kind: Any) -> bool:
    from pyarrow import types

    return bool(
        types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_timestamp(kind)
        or types.is_duration(kind)
    )  # fmt: skip
