"""Variables that share objects are one unit, and others are not, however many objects they are made of."""

import codecs
import copyreg
import random
import sys
import textwrap
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import pytest

from sandboxes.inside.kernel.own_library import KERNEL
from sandboxes.inside.kernel.snapshots import pickling, reducers, units
from sandboxes.inside.kernel.snapshots.current_session import CurrentSession
from sandboxes.inside.kernel.snapshots.storing.unchanged_objects import UnchangedObjects
from sandboxes.inside.kernel.snapshots.units import Partition

NAMED: list[Any] = ["text", 7, len, dict, random.Random, textwrap.dedent, (1, "two"), range(3), None, True]
"""What a stream holds the same, whoever else has it."""


@pytest.fixture(params=["copied", "asked"])
def groups(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., set[frozenset[str]]]:
    """Which variables are pickled together, whether memos are copied or asked for each object."""
    if request.param == "asked":
        monkeypatch.setattr(units, "ASKED", 0)
        monkeypatch.setattr(pickling, "COPIED", 0)
    CurrentSession.remember_streams()
    monkeypatch.setitem(sys.modules, KERNEL, ModuleType(KERNEL))  # a function by value names what is in it

    def found(**values: Any) -> set[frozenset[str]]:
        reasons: dict[str, str] = {}
        taken = Partition(UnchangedObjects(None)).take(values, reasons)
        assert reasons == {}
        return {frozenset(unit.names) for unit in taken}

    return found


def components(holders: list[set[str]], names: list[str]) -> set[frozenset[str]]:
    """Names, together where a chain of holders leads from one to the other."""
    groups = [{name} for name in names]
    for held in holders:
        touched = [group for group in groups if group & held]
        groups = [group for group in groups if not group & held]
        groups += [set().union(*touched)] if touched else []
    return {frozenset(group) for group in groups}


def function_of_a_cell() -> FunctionType:
    space: dict[str, Any] = {"__name__": "__main__"}
    exec("def made(): return 1", space)
    made = space["made"]
    assert isinstance(made, FunctionType)
    return made


@pytest.mark.parametrize("seed", range(12))
def test_units_are_what_shares_objects(groups: Callable[..., set[frozenset[str]]], seed: int) -> None:
    dice = random.Random(seed)
    names = [f"v{number}" for number in range(dice.randrange(2, 14))]
    shared: list[Any] = [[number] for number in range(4)] + [{}, float("nan"), function_of_a_cell(), {1, 2}]
    shared = dice.sample(shared, dice.randrange(1, len(shared)))
    values: dict[str, Any] = {name: [*dice.sample(NAMED, 4), [name]] for name in names}
    values[names[0]].append([[number] for number in range(dice.choice([0, 500]))])  # which one is the largest varies
    holders = []
    for one in shared:
        held = set(dice.sample(names, dice.randrange(1, min(4, len(names)) + 1)))
        for name in held:
            values[name].append({"held": one} if dice.random() < 0.5 else one)
        holders.append(held)
    assert groups(**values) == components(holders, names)


def test_a_variable_that_another_one_holds_is_one_with_it(groups: Callable[..., set[frozenset[str]]]) -> None:
    made, alone = function_of_a_cell(), [0]
    held, large = {"of": made}, [[number] for number in range(50)]
    values = {"f": made, "held": held, "large": large, "last": large[-1], "alone": alone, "name": textwrap.dedent}
    assert groups(**values, same=[textwrap.dedent]) == {
        frozenset({"f", "held"}), frozenset({"large", "last"}), frozenset({"alone"}), frozenset({"name", "same"}),
    }  # fmt: skip


@pytest.mark.parametrize("largest", ["number", "thing", "other"])
def test_a_number_that_is_an_identity_is_one_with_its_object(
    groups: Callable[..., set[frozenset[str]]], monkeypatch: pytest.MonkeyPatch, largest: str
) -> None:
    monkeypatch.setattr(CurrentSession, "asks_for_identities", True)
    thing: list[Any] = [["held"]]
    values: dict[str, list[Any]] = {"number": [id(thing[0])], "thing": thing, "other": [["alone"]]}
    values[largest].extend([number] for number in range(50))
    alone = frozenset({"other"})
    assert groups(**values) == {frozenset({"number", "thing"}), alone}
    monkeypatch.setattr(CurrentSession, "asks_for_identities", False)
    assert groups(**values) == {frozenset({"number"}), frozenset({"thing"}), alone}


def test_a_class_of_a_library_goes_another_way_once_it_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    CurrentSession.remember_streams()
    kind = codecs.StreamReader
    assert reducers.Reducers().known[kind] is not None
    monkeypatch.delitem(copyreg.dispatch_table, complex)  # as many as before
    monkeypatch.setitem(copyreg.dispatch_table, kind, repr)
    assert reducers.Reducers().known[kind] is None
    monkeypatch.undo()
    assert reducers.Reducers().known[kind] is not None
