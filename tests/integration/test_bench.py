"""The snapshot benchmark measures what it says: its sessions run, and a wrong restore is seen as wrong."""

import asyncio
import functools
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import ours, rival
from bench.aims import OURS, judge
from bench.measured import Described, Measured
from bench.restoring import Idle, Large
from bench.rivals import looking
from bench.snapshots import WORKLOADS, right, table, whole
from bench.workloads import Workload
from sandboxes.opening import Sandboxes

COUNTER = """
def m():
    n = 0
    def u():
        nonlocal n
        n += 1
    def g(): return n
    return u, g
"""


def workload(name: str) -> Workload:
    return next(one for one in WORKLOADS if one.name == name)


@pytest.mark.parametrize("name", ["pyobj", pytest.param("objects", marks=pytest.mark.slow)])
async def test_stepwell_restores_right_and_nothing_is_refused(tmp_path: Path, name: str) -> None:
    measured = await ours.measure(workload(name), 200, tmp_path)
    assert measured.refused == ()
    assert measured.last.right
    assert measured.middle.right
    assert measured.last.lost == ()
    assert sum(measured.sizes) > 0
    assert all(seconds > 0 for seconds in measured.keeps)
    assert all(0 < inside < both for inside, both in zip(measured.cpu_inside, measured.cpu, strict=True))
    assert len(measured.waits) == len(measured.keeps)


async def test_what_cloudpickle_gets_wrong_is_seen(tmp_path: Path) -> None:
    """It copies what functions read of the session, so that they do not see what it becomes."""
    plain = rival.Rival("cloudpickle", "cloudpickle_session", sys.executable)
    many = await plain.measure(workload("pyobj"), 200, tmp_path / "pyobj", middle=False)
    assert many.last.differing == ('best()["id"]',)
    assert right(many) == f"{many.probes - 1}/{many.probes}"


@pytest.mark.slow
async def test_a_variable_that_is_lost_is_not_counted_as_right(tmp_path: Path) -> None:
    measured = await ours.measure(workload("unpick"), 50, tmp_path)
    assert "numbers" in measured.last.lost
    assert "next(numbers), next(numbers)" in measured.last.missed
    assert measured.last.right
    assert f"/{measured.probes}, " in right(measured)
    assert not right(measured).startswith(f"{measured.probes}/")


async def test_a_session_that_is_changed_after_its_restore_is_seen_as_wrong(tmp_path: Path) -> None:
    code = "a = [1]\nb = a\ndef f(): return a[0]"
    probes = ["b is a", "a.append(2)", "b", "f()"]
    async with Sandboxes(tmp_path) as sandboxes:
        one, other = await sandboxes.open("local", "one"), await sandboxes.open("local", "other")
        await ours.run_cell(one, code, 1)
        await ours.run_cell(other, code + "\nb = list(a)", 1)
        live, restored = await asyncio.gather(ours.look(one, probes, 2), ours.look(other, probes, 2))
    seen = live.compare(restored, probes, seconds=0.0, cold=0.0)
    assert seen.wrong == ("b",)
    assert seen.differing == ("b is a", "b")
    assert not seen.right
    assert live.compare(live, probes, seconds=0.0, cold=0.0).right


def session(code: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(textwrap.dedent(code), namespace)
    return namespace


@pytest.mark.parametrize(
    ("kept", "came_back", "wrong"),
    [
        ("a = [1]; b = [a]", "a = [1]; b = [[1]]", {"b"}),
        ("a = {'x': 1}", "a = {'x': 1.0}", {"a"}),
        (
            "import numpy as np; a = np.arange(9); b = a[2:4]",
            "import numpy as np; a = np.arange(9); b = a[2:4].copy()",
            {"b"},
        ),
        (
            "import pandas as pd; a = pd.DataFrame({'x': [1, 2]})",
            "import pandas as pd; a = pd.DataFrame({'x': [1, 3]})",
            {"a"},
        ),
        (
            "x = 1\ndef f(): return x",
            "x = 1\ndef f(): return x\nf = type(f)(f.__code__, {'__name__': '__main__'})",
            {"f"},
        ),
        ("class A: pass\na = A()", "class A: pass\na = A()\nclass A: pass", {"a"}),
        (f"{COUNTER}u, g = m()", f"{COUNTER}u, g = m()[0], m()[1]", {"u"}),
        ("import random; r = random.Random(1)", "import random; r = random.Random(1); r.random()", {"r"}),
        ("import io; f = io.BytesIO(b'abc'); f.read(1)", "import io; f = io.BytesIO(b'abc')", {"f"}),
        ("a = 1; b = 2", "a = 1", {"b"}),
    ],
)
def test_each_kind_of_difference_is_seen(kept: str, came_back: str, wrong: set[str]) -> None:
    live, restored = looking.describe(session(kept)), looking.describe(session(came_back))
    seen = Described(live, []).compare(Described(restored, []), [], seconds=0.0, cold=0.0)
    assert set(seen.wrong) == wrong
    assert looking.describe(session(kept)) == live


def test_a_probe_that_raises_has_an_answer() -> None:
    assert looking.answer({}, ["1 / 0", "a = 2", "a"]) == ["ZeroDivisionError: division by zero", "", "2"]


def test_a_missing_variable_is_excused_only_when_it_was_named() -> None:
    live = Described({"a": "1"}, ["5"])
    gone = Described({}, ["NameError: name 'a' is not defined"])
    assert live.compare(gone, ["a"], seconds=0.0, cold=0.0, lost=("a",)).right
    assert not live.compare(gone, ["a"], seconds=0.0, cold=0.0).right


def test_aims_are_judged_by_the_sums_over_all_workloads() -> None:
    run = functools.partial(Measured, probes=1)
    mine = run(
        keeps=(1.0, 1.0), inside=(0.5, 0.5), sizes=(10, 0), cpu=(1.0, 1.0), cpu_inside=(0.5, 0.5), waits=(0.001, 0.003)
    )
    theirs = run(keeps=(10.0, 22.0), inside=(10.0, 22.0), sizes=(60, 10), cpu=(10.0, 8.0), cpu_inside=(10.0, 8.0))
    results = {"a": {OURS: [mine], "kishu": [theirs]}}
    aims = judge(results, Idle(10, 0.004, 0.002), Large(10, 1.0, 0.5, 4.0, 1.0))
    assert [aim.met for aim in aims] == [False, True, False, False, True, True, False]
    assert aims[0].reached == "9.0x, host and kernel; 18.0x the kernel alone; elapsed until stored 16.0x"
    assert aims[1].reached == "a 9x"
    assert "7.0x" in aims[2].reached
    assert aims[3].reached == "a 3.0 ms"
    assert len(judge({"a": {OURS: [mine]}}, Idle(10, 0.004, 0.002), Large(10, 1.0, 0.5, 4.0, 1.0))) == 4
    assert table(workload("pyobj"), 5, results["a"]).row_count == 3
    assert whole(results).row_count == 2


def test_a_workload_begins_with_its_size_and_ends_with_probes() -> None:
    for one in WORKLOADS:
        cells = one.cells(7)
        assert cells[0] == "rows = 7"
        assert len(cells) > 14
        assert len(one.probes) > 3
        for number, cell in enumerate(cells):
            compile(cell, f"<cell {number}>", "exec")


def test_the_lock_of_the_rivals_names_no_address() -> None:
    assert "://" not in rival.LOCK.read_text()
    assert "kishu==" in rival.LOCK.read_text()


def test_arrays_that_do_not_overlap_share_nothing() -> None:
    a = np.arange(10)
    assert looking.describe({"a": a[:5], "b": a[5:]}) == looking.describe({"a": a[:5].copy(), "b": a[5:].copy()})
