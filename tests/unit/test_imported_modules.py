"""The modules of a session are looked through again when there are others, and only then."""

import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from sandboxes.inside.kernel.snapshots.modules.imported_modules import ImportedModules

NAME = "stepwells_own_test"


def module(file: str = "", version: str = "") -> ModuleType:
    made = ModuleType(NAME)
    if file:
        made.__spec__, made.__file__ = ModuleSpec(NAME, None), file
    if version:
        made.__dict__["__version__"] = version
    return made


def test_what_comes_goes_and_is_replaced_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, table = frozenset(sys.modules), ImportedModules(str(tmp_path))
    table.look(["first"], before)
    assert (table.imported, table.made, table.of_workspace) == (["first"], {}, {})
    monkeypatch.setitem(sys.modules, NAME, module(str(tmp_path / "mine.py"), "1.5"))
    table.look(["first"], before)
    assert table.imported == ["first", NAME]
    assert table.of_workspace == {NAME: sys.modules[NAME]}
    assert table.versions == {NAME: "1.5"}
    assert table.written == b'["first", "stepwells_own_test"]'
    monkeypatch.setitem(sys.modules, NAME, module())  # in its place
    table.look(["first"], before)
    assert (table.imported, table.versions, table.of_workspace) == (["first"], {}, {})
    assert table.made == {NAME: sys.modules[NAME]}
    monkeypatch.delitem(sys.modules, NAME)
    table.look(["first"], before)
    assert table.made == {}


def test_what_was_there_at_the_beginning_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, table = frozenset(sys.modules), ImportedModules(str(tmp_path))
    monkeypatch.setitem(sys.modules, NAME, module("/elsewhere/mine.py"))
    table.look([], before | {NAME})
    assert table.imported == []
    table.look([], before)
    assert table.imported == [NAME]
    assert table.of_workspace == {}


LAZY = """
import importlib.util, sys
from sandboxes.inside.kernel.snapshots.modules import imported_modules
from sandboxes.inside.kernel.snapshots.modules.imported_modules import may_be_others, not_loaded
def lazy(name):
    spec = importlib.util.find_spec(name)
    spec.loader = importlib.util.LazyLoader(spec.loader)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made
print(may_be_others(0))
named = sys.modules["colorsys"] = lazy("colorsys")
print(may_be_others(0), may_be_others(1))
held = [lazy("wave")]
with not_loaded([named]): print(type(held[0]) is imported_modules.LAZY)
print(type(held[0]) is imported_modules.LAZY, type(named) is imported_modules.LAZY)
"""


def test_lazy_modules_are_looked_for_everywhere_only_if_there_are_more_of_them() -> None:
    done = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "False", "False", "True", "True"]
