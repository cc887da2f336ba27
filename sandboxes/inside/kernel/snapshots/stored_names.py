"""Where what snapshots of earlier versions call by name is now: all files of this folder stood beside each other once.

A module's name that stands here is given to no other module, and what snapshots call keeps its name.
"""

import importlib
from typing import Any

NOW = {
    "arrays": "data.arrays",
    "attributes": "objects.attributes",
    "blobs": "storing.blobs",
    "block_digests": "storing.block_digests",
    "buffers": "storing.buffers",
    "caches": "objects.caches",
    "change_detection": "storing.change_detection",
    "classes": "objects.classes",
    "compressed_files": "files.compressed_files",
    "connections": "sqlite.connections duckdb.restoring",
    "containers": "objects.containers",
    "contexts": "objects.contexts",
    "copied": "storing.copied_buffers",
    "default_duckdb": "duckdb.default_connection",
    "descriptors": "objects.descriptors",
    "drawing": "data.figures",
    "duckdb_catalog": "duckdb.catalog",
    "duckdb_connections": "duckdb.connections",
    "duckdb_databases": "duckdb.databases",
    "duckdb_definitions": "duckdb.definitions",
    "errors": "objects.exceptions",
    "files": "files.file_table",
    "foreign": "objects.ctypes_data",
    "functions": "objects.functions",
    "generated_functions": "objects.generated_functions",
    "generators": "objects.generators",
    "hooks": "session_state.hooks",
    "identities": "objects.id_numbers",
    "identity": "objects.nans_and_sentinels",
    "imported_objects": "library_state.imported_objects",
    "instances": "objects.instances",
    "interpreter_state": "session_state.interpreter_state",
    "iterators": "objects.iterators",
    "layouts": "data.array_layouts",
    "library_calls": "library_state.library_calls",
    "library_functions": "library_state.library_functions",
    "library_patches": "library_state.library_patches",
    "library_registers": "library_state.data_registers",
    "manifest": "storing.manifest",
    "memory": "storing.loaded_memory",
    "module_names": "modules.module_names",
    "module_sources": "modules.module_sources",
    "module_state": "modules.module_state",
    "modules": "modules.imported_modules",
    "namespaces": "modules.namespaces",
    "object_arrays": "data.object_arrays",
    "object_memory": "storing.object_memory",
    "open_numbers": "files.descriptor_numbers",
    "opened": "files.open_files",
    "outside": "files.outside_files",
    "package_trees": "files.package_trees",
    "parts": "data.library_parts",
    "pictures": "data.pictures",
    "process_settings": "session_state.process_settings",
    "references": "objects.weak_references",
    "refusing": "objects.unpicklable",
    "registers": "library_state.registers",
    "returning": "files.files_of_step",
    "service_registers": "library_state.service_registers",
    "set_order": "objects.set_order",
    "shared_memory": "data.shared_memory",
    "sqlite_beside": "sqlite.attached",
    "sqlite_changes": "sqlite.changes",
    "sqlite_content": "sqlite.internals",
    "sqlite_cursors": "sqlite.cursors",
    "sqlite_functions": "sqlite.functions",
    "sqlite_transactions": "sqlite.transactions",
    "tables": "data.tables",
    "unchanged_objects": "storing.unchanged_objects",
    "views": "objects.dict_views",
    "wrapt_proxies": "data.wrapt_proxies",
    "written_pages": "storing.written_pages",
    "xml_trees": "data.xml_trees",
}
"""Modules by what they were called; where one was divided, all that have something of it."""


def find_stored(module: str, name: str) -> Any:
    """What an earlier version had in a module of its; None: there is no such thing."""
    package, _, former = module.rpartition(".")
    for place in NOW.get(former, "").split() if package == __package__ else ():
        found = getattr(importlib.import_module(f".{place}", __package__), name, None)
        if found is not None:
            return found
    return None
