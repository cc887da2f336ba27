"""What snapshots of earlier versions call by name when they are loaded is still where it was."""

import io

import pytest

from sandboxes.inside.kernel.snapshots.partial_loading import BrokenPlaceholder, _PartialUnpickler
from sandboxes.inside.kernel.snapshots.pickling import _Unpickler

STORED = {
    "arrays": "make_archive make_array make_export make_flat make_generator make_masked make_memmap "
    "make_memmap_part make_memmap_view make_part make_record make_scalar make_small make_subclass "
    "make_ufunc make_view set_attributes set_masked set_mode set_objects set_private set_with_slots",
    "attributes": "find_descriptor make_by_base make_plain make_whole set_unasked set_whole set_with_constants",
    "caches": "Results",
    "classes": "add_members add_methods find_member",
    "compressed_files": "make_closed make_layered open_compressed",
    "connections": "connect_duckdb make_closed_sqlite make_database make_row make_sqlite open_duckdb set_sqlite",
    "containers": "fill make set_factory",
    "contexts": "fill_context find_variable make_local make_variable set_retrying set_values set_variable "
    "variable_of_decimal",
    "descriptors": "fill fill_alias make make_alias make_scanner",
    "drawing": "find_grouper make_callbacks make_region set_callbacks",
    "duckdb_connections": "make_type",
    "errors": "make_error make_traceback set_error",
    "foreign": "make_array_type make_c_data make_function_type make_part",
    "functions": "make_cached make_cell make_function make_key make_new_type make_parameters make_partial_method "
    "set_cached set_cell set_function set_partial set_partial_method",
    "generated_functions": "fill",
    "generators": "fill_manager make_ended make_ended_coroutine make_manager",
    "identities": "renumber",
    "identity": "find_sentinel",
    "imported_objects": "note",
    "instances": "fill make set_attributes",
    "iterators": "_never make_accumulate make_chain make_cycle make_pairwise",
    "library_patches": "Gone fill_patch make_patch",
    "library_registers": "make_pool",
    "module_names": "find",
    "namespaces": "fill_module make_function make_module variables_of",
    "object_arrays": "fill_objects make_field make_objects",
    "opened": "closed_file open_file set_position",
    "parts": "child_of fill_rule find_codec find_inverse make_lexer make_rule make_token part_of",
    "pictures": "fill make_bits make_drawing make_font make_mapped make_pixels open_picture",
    "references": "Called connect fill fill_proxy make make_dead make_method make_proxy make_signal",
    "refusing": "Matches fill_future fill_queue fill_scanner find_match get_environment make_csv_reader "
    "make_csv_writer make_future make_iso make_match make_memoryview make_pattern make_scanner",
    "set_order": "arrange",
    "shared_memory": "make_buffer make_slice",
    "singletons": "special",
    "sqlite_cursors": "make_cursor set_cursor",
    "tables": "find_zone flags_of make_arrow_backed make_arrow_dtype make_backed make_block make_callbacks "
    "make_interval_index make_polars_context make_polars_frame make_polars_series "
    "make_series_manager make_string_dtype make_time_index set_arrow_backed set_backed set_callbacks "
    "set_index_refs",
    "views": "make_finalizer make_iterator make_view set_finalizer set_weak",
    "wrapt_proxies": "fill_proxy make_proxy",
    "xml_trees": "find_node find_text find_texts find_tree make_alone read_nodes",
}
"""What was asked for when hard sessions were restored by the version before; what was once here stays."""


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in STORED.items() for name in names.split()]
)
def test_a_name_that_snapshots_hold_leads_to_a_function(module: str, name: str) -> None:
    stream = f"csandboxes.inside.kernel.snapshots.{module}\n{name}\n.".encode()
    unpicklers = (_Unpickler(io.BytesIO(stream), buffers=[]), _PartialUnpickler(io.BytesIO(stream), []))
    first, second = (unpickler.load() for unpickler in unpicklers)
    assert first is second
    assert callable(first)
    assert not isinstance(first, BrokenPlaceholder)
