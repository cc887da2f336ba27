"""Which modules were imported, so that they are there again before what needs them."""

import importlib
import os
import sys
from types import ModuleType
from typing import Any

from .namespaces import is_made
from .singletons import is_of_session
from .units import reason_of


def aliases(values: dict[str, Any]) -> dict[str, str]:
    """The variables that are modules which can be imported by name: variable → module."""
    found: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, ModuleType):
            module = getattr(value, "__name__", None)
            if not isinstance(module, str) or module == "__main__" or is_made(value):
                continue
            if sys.modules.get(module) is value:
                found[name] = module
    return found


def imported(before: frozenset[str]) -> list[str]:
    """The names of the modules that were imported in the session, in the order of their imports.

    Args:
        before: Those that were there when it began.
    """
    found = []
    for name, module in list(sys.modules.items()):
        spec: Any = getattr(module, "__spec__", None)
        ours = name in before or name.startswith("stepwell_") or name == "__mp_main__"
        if not ours and spec is not None and getattr(spec, "name", None) == name:
            found.append(name)
    return found


def versions(names: list[str]) -> dict[str, str]:
    """The versions of the packages among modules, as far as they say."""
    found: dict[str, str] = {}
    for name in names:
        if "." not in name and name not in sys.stdlib_module_names:
            version = getattr(sys.modules.get(name), "__version__", None)
            if isinstance(version, str):
                found[name] = version[:100]
    return found


def import_again(names: list[str]) -> dict[str, str]:
    """Import modules.

    Returns:
        Those that cannot be imported, and why.
    """
    failed: dict[str, str] = {}
    for name in names:
        if name in sys.modules:
            continue
        parent = name.rpartition(".")[0]
        if parent in failed:
            failed[name] = failed[parent]
            continue
        try:
            importlib.import_module(name)
        except Exception as error:  # a module may do anything when it is imported
            failed[name] = reason_of(error)
    return failed


def workspace_modules(root: str, names: list[str]) -> dict[str, ModuleType]:
    """The modules among them that were imported from files of the session; what was installed is not the user's."""
    found: dict[str, ModuleType] = {}
    for name in names:
        module = sys.modules.get(name)
        path = getattr(module, "__file__", None)
        if isinstance(module, ModuleType) and isinstance(path, str) and is_of_session(_plain(path), root):
            found[name] = module
    return found


def _plain(path: str) -> str:
    """A path without detours; a plain one is only looked at, since thousands are asked for at each snapshot."""
    plain = os.path.isabs(path) and ".." not in path and "//" not in path and "/./" not in path
    return path if plain else os.path.abspath(path)
