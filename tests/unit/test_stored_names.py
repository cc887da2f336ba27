"""What snapshots of earlier versions call by name when they are loaded is still where it was."""

import importlib
from typing import Any

import pytest

STORED = {
    "arrays": "make_array make_masked make_memmap make_memmap_view make_small make_subclass make_view set_masked "
    "set_objects",
    "attributes": "find_descriptor make_by_base make_plain make_whole set_whole",
    "contexts": "fill_context make_variable set_variable",
    "descriptors": "fill fill_alias make make_alias make_scanner",
    "generators": "fill_manager make_ended make_manager",
    "identities": "renumber",
    "instances": "fill make",
    "namespaces": "fill_module make_function make_module",
    "references": "fill make make_dead make_method",
    "connections": "connect_duckdb make_closed_sqlite make_database make_sqlite open_duckdb set_sqlite",
    "errors": "make_error make_traceback set_error",
    "functions": "make_cached make_cell make_function make_new_type make_partial_method set_cached "
    "set_cell set_function set_partial_method",
    "iterators": "_never make_accumulate make_chain make_cycle make_pairwise",
    "opened": "closed_file open_file",
    "refusing": "get_environment make_match make_memoryview",
    "tables": "make_arrow_backed make_block make_callbacks make_polars_frame make_polars_series make_series_manager "
    "set_arrow_backed set_callbacks set_index_refs",
    "views": "make_view set_weak",
}
"""Read off the reducers of the versions before; a name that was once here stays."""


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in STORED.items() for name in names.split()]
)
def test_a_name_that_snapshots_hold_leads_to_a_function(module: str, name: str) -> None:
    found: Any = getattr(importlib.import_module(f"sandboxes.inside.kernel.snapshots.{module}"), name, None)
    assert callable(found)
