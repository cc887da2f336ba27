"""Which modules were imported, so that they are there again before what needs them."""

import contextlib
import gc
import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Collection, Iterator
from types import ModuleType
from typing import Any

from ...dict_contents import KnownEntries
from ..current_session import is_of_session
from ..objects.classes import is_users
from ..units import reason_of
from .namespaces import is_made, is_made_by_cell


def aliases(values: dict[str, Any]) -> dict[str, str]:
    """The variables that are modules which can be imported by name: variable → module."""
    found: dict[str, str] = {}
    for name, value in values.items():
        if issubclass(type(value), ModuleType):  # `isinstance` asks a proxy for its class
            module = getattr(value, "__name__", None)
            if not isinstance(module, str) or module == "__main__" or is_made(value):
                continue
            if sys.modules.get(module) is value:
                found[name] = module
    return found


class ImportedModules:
    """The modules of a session, looked through again only once others are there than before.

    There are thousands of them, and a snapshot that asked each what it is would do little else. What is known of a
    module is what it was when it was first seen: where it came from does not change.

    Args:
        root: The workspace.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._before: frozenset[str] = frozenset()
        self._known = KnownEntries()
        self.imported: list[str] = []
        """Those that were imported in the session, in the order of their imports."""
        self.other_names: dict[str, str | None] = {}
        """Names under which `import` finds a module that has another one; None: where it is to find nothing."""
        self.made: dict[str, ModuleType] = {}
        """Those that cells or libraries have made without a file."""
        self.replaced: dict[str, Any] = {}
        """Objects of cells, or of modules of the workspace, where `import` looks for modules."""
        self.of_workspace: dict[str, ModuleType] = {}
        """Those that were imported from files of the workspace; what was installed is not the user's."""
        self._lazy: frozenset[int] = frozenset()
        self.versions: dict[str, str] = {}
        """The versions of their packages, as far as they say."""
        self.written = b"[]"
        """Their names as a snapshot has them."""

    def look(self, preloaded: list[str], before: frozenset[str]) -> None:
        """Bring it up to date.

        Args:
            preloaded: Names of modules that count as imported by the session, and come first.
            before: Those that were there when it began.
        """
        same = self._known.are_same(sys.modules) and before is self._before and Lazy.now == self._lazy
        self._before, self._lazy = before, Lazy.now
        if same:
            return
        self.imported = [*preloaded, *imported(before)]
        new = [(name, one) for name, one in list(sys.modules.items()) if name not in before]
        self.made = {name: one for name, one in new if is_made_by_cell(one)}
        self.replaced = {name: one for name, one in new if _stands_for_module(one)}
        self.other_names = {name: other for name, one in new if (other := _other_name(name, one)) != name}
        self.of_workspace = workspace_modules(self._root, self.imported)
        self.versions = versions(self.imported)
        self.written = json.dumps(self.imported).encode()


LAZY: Any = importlib.util._LazyModule  # type: ignore[attr-defined]
REFERENCES = sys.getrefcount(LAZY)
"""To the class of lazy modules while there is none."""


def may_be_others(known: int) -> bool:
    """Whether there are more lazy modules than so many: each refers to its class. Looking takes milliseconds."""
    return sys.getrefcount(LAZY) - known > REFERENCES


class Lazy:
    """The modules that `importlib.util.LazyLoader` has made and nobody has used yet."""

    now: frozenset[int] = frozenset()
    """Their identities."""


@contextlib.contextmanager
def not_loaded(values: Collection[Any]) -> Iterator[None]:
    """Let modules that are loaded when something of them is asked for be asked without that.

    Args:
        values: Those of variables, which need not be found by `import`.
    """
    found = list({id(one): one for one in (*sys.modules.values(), *values) if type(one) is LAZY}.values())
    if may_be_others(len(found)):
        found = [one for one in gc.get_referrers(LAZY) if type(one) is LAZY]
    Lazy.now = frozenset(map(id, found))
    for module in found:
        object.__setattr__(module, "__class__", ModuleType)
    try:
        yield
    finally:
        for module in found:
            object.__setattr__(module, "__class__", LAZY)


OF_TESTS = ("types", "unittest.mock")
"""Whose objects stand for modules in tests: namespaces and mocks."""


def _stands_for_module(value: Any) -> bool:
    kind = type(value)
    if value is None or isinstance(value, ModuleType):
        return False
    return sys.modules.get(kind.__module__) is value or kind.__module__ in OF_TESTS or is_users(kind)


def _other_name(name: str, module: Any) -> str | None:
    """The name of the module that is found under a name; its own where it is not found under that."""
    own = getattr(module, "__name__", None) if isinstance(module, ModuleType) else name
    return None if module is None else own if isinstance(own, str) and sys.modules.get(own) is module else name


def imported(before: frozenset[str]) -> list[str]:
    """The modules that were imported since, in the order of their imports."""
    found = []
    for name, module in list(sys.modules.items()):
        spec: Any = getattr(module, "__spec__", None)
        ours = name in before or name.startswith("stepwell_") or name == "__mp_main__" or id(module) in Lazy.now
        if not ours and spec is not None and getattr(spec, "name", None) == name and not is_made_by_cell(module):
            found.append(name)
    return found


def versions(names: list[str]) -> dict[str, str]:
    """The versions of the packages among modules, as far as they say."""
    found: dict[str, str] = {}
    for name in names:
        if "." not in name and name not in sys.stdlib_module_names:
            try:
                version = getattr(sys.modules.get(name), "__version__", None)
            except Exception:  # modules may make it when it is asked for, and warn that this will end
                continue
            if isinstance(version, str):
                found[name] = version[:100]
    return found


PRELOADED = ("pandas", "matplotlib", "matplotlib.pyplot")
"""What a session has of its zygote whether it uses it or not, and takes as long to import as all else; not numpy, whose
random state each session has."""


def root(name: str) -> str:
    """The package of a module."""
    return name.partition(".")[0]


def unused(imported: list[str], aliases: Collection[str], streams: list[bytes]) -> set[str]:
    """Modules that a session had and nothing of it mentions: whoever asks for one later imports it then.

    Args:
        imported: The modules that there were.
        aliases: Those that are variables.
        streams: All that is to be loaded.
    """
    used = {root(name) for name in imported if name not in PRELOADED} | {root(name) for name in aliases}
    free = {name for name in set(map(root, PRELOADED)) - used if name not in sys.modules}
    free -= {name for name in free if any(name.encode() in stream for stream in streams)}
    return {name for name in imported if root(name) in free}


def name_again(names: dict[str, str | None]) -> None:
    """Let `import` find modules under other names than their own, or nothing."""
    for name, own in names.items():
        if own is None or own in sys.modules:
            sys.modules[name] = None if own is None else sys.modules[own]  # type: ignore[assignment]


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


SPACE: Any = vars(ModuleType)["__dict__"]


def taken_out(values: Collection[Any]) -> list[str]:
    """The names of variables' modules of the workspace that `import` does not find: a cell has taken them out."""
    known = [SPACE.__get__(one) for one in values if issubclass(type(one), ModuleType)]
    mine = [space for space in known if space.get("__spec__") is not None and is_of_session(space.get("__file__"))]
    return sorted({name for space in mine if (name := str(space.get("__name__"))) not in sys.modules})


def take_out(names: Collection[str]) -> None:
    """Let `import` not find modules, of which others may have imported some."""
    for name in names:
        sys.modules.pop(name, None)


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
