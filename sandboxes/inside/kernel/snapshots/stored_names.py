"""Where what snapshots of earlier versions call by name is now: all files of this folder stood beside each other once.

A module's name that stands here is given to no other module, and what snapshots call keeps its name.
"""

import importlib
from typing import Any

NOW = {
    "arrays": "data.arrays",
    "attributes": "objects.attributes",
    "caches": "objects.caches",
    "classes": "objects.classes",
    "compressed_files": "files.compressed_files",
    "connections": "sqlite.connections duckdb.restoring",
    "containers": "objects.containers",
    "contexts": "objects.contexts",
    "descriptors": "objects.descriptors",
    "drawing": "data.figures",
    "duckdb_connections": "duckdb.connections",
    "errors": "objects.exceptions",
    "foreign": "objects.ctypes_data",
    "functions": "objects.functions",
    "generated_functions": "objects.generated_functions",
    "generators": "objects.generators",
    "identities": "objects.id_numbers",
    "identity": "objects.nans_and_sentinels",
    "imported_objects": "library_state.imported_objects",
    "instances": "objects.instances",
    "iterators": "objects.iterators",
    "library_patches": "library_state.library_patches",
    "library_registers": "library_state.data_registers",
    "module_names": "modules.module_names",
    "namespaces": "modules.namespaces",
    "object_arrays": "data.object_arrays",
    "opened": "files.open_files",
    "parts": "data.library_parts",
    "pictures": "data.pictures",
    "references": "objects.weak_references",
    "refusing": "objects.unpicklable",
    "set_order": "objects.set_order",
    "shared_memory": "data.shared_memory",
    "sqlite_cursors": "sqlite.cursors",
    "tables": "data.tables",
    "views": "objects.dict_views",
    "wrapt_proxies": "data.wrapt_proxies",
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
