"""Frames, arrays and what cells define come back with another pandas and another Python, in both directions."""

# ruff: noqa: E501 (the lines of cells)

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from graph.state import Cell, SandboxRef
from nodes.restoration.line import BEGINNING, next_state_id
from nodes.restoration.restore import restore_session
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Sandbox
from sandboxes.opening import Sandboxes
from storage.blobs import Blobs
from tests.aegra import found_python
from tests.contract.conftest import printed
from tests.installation import find_python
from tests.states import make_cell, make_state

pytestmark = pytest.mark.slow

OTHER = ("pandas==2.3.3", "numpy>=2.2.6,<2.4", "pyarrow")
KINDS = """
import numpy as np, pandas as pd
frame, when = pd.DataFrame, pd.to_datetime(["2024-01-01", "2024-06-01"])
kinds = {
    "integers": frame({"a": [1, 2]}), "floats": frame({"a": [1.5, np.nan]}), "small": frame({"f": np.array([1, 2], "f4")}),
    "booleans": frame({"b": [True, False]}), "complex": frame({"c": [1 + 2j]}), "strings": frame({"s": ["x", None]}),
    "names": frame([[1, 2]], columns=["one", "two"]), "labels": frame({"a": [1, 2]}, index=["r", "s"]),
    "dates": frame({"d": pd.to_datetime(["2024-01-01", None])}), "zones": frame({"d": when.tz_localize("Europe/Berlin")}),
    "utc": frame({"d": when.tz_localize("UTC")}), "durations": frame({"d": pd.to_timedelta([1, 2], unit="h")}),
    "periods": frame({"p": pd.period_range("2024Q1", periods=2, freq="Q")}), "category": frame({"c": pd.Categorical(["x", None])}),
    "ordered": frame({"c": pd.Categorical([1, 2], categories=[2, 1], ordered=True)}),
    "Int64": frame({"i": pd.array([1, None], dtype="Int64")}), "boolean": frame({"i": pd.array([True, None], dtype="boolean")}),
    "string": frame({"s": pd.array(["a", None], dtype="string")}), "python": frame({"s": pd.array(["a", None], dtype="string[python]")}),
    "arrow": frame({"a": pd.array([1, None], dtype="int64[pyarrow]")}), "objects": frame({"o": pd.Series([1, "a", None], dtype=object)}),
    "sparse": frame({"s": pd.arrays.SparseArray([0, 0, 1])}), "intervals": frame({"i": pd.interval_range(0, 2)}),
    "levels": frame({"a": [1, 2]}, index=pd.MultiIndex.from_tuples([("x", 1), ("y", 2)], names=["k", "n"])),
    "pairs": frame([[1, 2]], columns=pd.MultiIndex.from_product([["a"], ["x", "y"]])), "nothing": frame(),
    "columns": frame(columns=["a", "b"]), "mixed": frame({"i": [1, 2], "s": ["a", "b"], "d": when}),
    "days": frame({"v": [1, 2]}, index=pd.date_range("2024-01-01", periods=2, freq="D", name="day")),
    "named": frame({"v": [1]}).rename_axis("i").rename_axis("c", axis=1), "series": pd.Series(["a"], name="n"),
    "index": pd.Index(["a", "b"], name="q"), "range": pd.RangeIndex(3), "months": pd.date_range("2024", periods=3, freq="MS"),
    "classes": pd.CategoricalIndex(["a", "b"]), "array": np.arange(5), "texts": np.array(["a", None], dtype=object),
    "moments": np.array(["2024-01-01"], "M8[D]"), "masked": np.ma.array([1, 2], mask=[0, 1]), "moment": pd.Timestamp("2024", tz="UTC"),
    "period": pd.Period("2024Q1"), "offset": pd.offsets.MonthEnd(2), "dict": {"f": frame({"s": ["a"]}), "n": 5},
}
for name, value in kinds.items():
    globals()[f"a_{name}"] = value
del kinds, value, name
class Holder:
    def __init__(self, frame): self.frame = frame
held = Holder(frame({"s": ["a", "b"]}))
"""
SHOW = """
def _shown(value):
    if isinstance(value, dict):
        return [_shown(item) for item in value.values()]
    if isinstance(value, pd.DataFrame):
        return [value.to_csv(), [str(kind).replace("object", "str") for kind in value.dtypes]]
    if isinstance(value, pd.Series | pd.Index):
        return [str(value.tolist()), str(value.name), str(getattr(value, "freq", None))]
    return repr(value)
import json, pandas as pd
names = sorted(name for name in globals() if name.startswith("a_"))
print(json.dumps({"held": _shown(held.frame), **{name: _shown(globals()[name]) for name in names}}))
"""


@pytest.fixture(scope="module", params=["any", "newest"])
def other(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python with another pandas; where there is one, another Python as well, and from the newest to the oldest."""
    if request.param == "any":
        interpreter = found_python() or sys.executable
    else:
        interpreter = find_python("3.14" if sys.version_info < (3, 14) else "3.11")
    folder = tmp_path_factory.mktemp("other") / "environment"
    beside = Path(__file__).parents[2] / ".uv/bin/uv"
    uv = shutil.which("uv") or str(beside)
    settings = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    subprocess.run([uv, "venv", "-q", "--python", interpreter, str(folder)], check=True, env=settings)
    python = str(folder / "bin" / "python")
    subprocess.run([uv, "pip", "install", "-q", "--python", python, *OTHER], check=True, env=settings)
    return python


async def _shown(sandbox: Sandbox) -> dict[str, object]:
    shown: dict[str, object] = json.loads(printed(await sandbox.run(SHOW, number=2, timeout=100.0)))
    return shown


@pytest.mark.parametrize("forth", [True, False])
async def test_frames_with_another_pandas(tmp_path: Path, other: str, forth: bool) -> None:
    first, second = (sys.executable, other) if forth else (other, sys.executable)
    async with (
        Sandboxes(tmp_path / "first", cache=tmp_path / "cache", python=first) as here,
        Sandboxes(tmp_path / "second", cache=tmp_path / "cache", python=second) as there,
    ):
        sandbox = await here.open("local", "one")
        printed(await sandbox.run(KINDS, number=1, timeout=100.0))
        taken = await sandbox.snapshot(limit_bytes=1 << 30)
        assert taken.lost == ()
        alive = await _shown(sandbox)
        blobs = await asyncio.to_thread(lambda: list((tmp_path / "first" / sandbox.id / "spool").iterdir()))
        sandbox = await there.open("local", "two")
        await sandbox.supply_blobs(blobs)
        restored = await sandbox.restore(taken.id)
        assert restored.lost == ()
        assert any(version.startswith("pandas ") for version in restored.versions)
        assert await _shown(sandbox) == alive


CODE = """
import functools, itertools
class Point:
    side = 2
    def __init__(self, x: int) -> None: self.x = x
    def times(self, by: int) -> int: return self.x * by
    double = functools.partialmethod(times, 2)
def area(point: Point) -> int: return point.x * Point.side
"""
VALUES = """
point, count, number = Point(3), itertools.count(7), 5
seen = [area(point), next(count)]
"""


@pytest.mark.parametrize("forth", [True, False])
async def test_functions_and_classes_with_another_python(tmp_path: Path, other: str, forth: bool) -> None:
    """Their code is of one Python; what is made of them is made again by the cells that have them."""
    first, second = (sys.executable, other) if forth else (other, sys.executable)
    store, cells = SnapshotStore(Blobs.at(str(tmp_path / "store"))), list[Cell]()
    async with (
        Sandboxes(tmp_path / "first", cache=tmp_path / "cache", python=first) as here,
        Sandboxes(tmp_path / "second", cache=tmp_path / "cache", python=second) as there,
    ):
        sandbox = await here.open("local", "one")
        for number, code in enumerate((CODE, VALUES), 1):
            head = next_state_id(BEGINNING, number, code)
            printed(await sandbox.run(code, number=number, timeout=100.0, head=head))
            kept = await store.keep(sandbox, cells, limit_bytes=1 << 30)
            cells.append(make_cell(number, code=code, snapshot=kept.snapshot))
        sandbox = await there.open("local", "two")
        state = make_state(cells=cells, sandbox=SandboxRef(kind="local", id=sandbox.id, snapshot=cells[-1]["snapshot"]))
        receipt = await restore_session(sandbox, state, store, rebuild_seconds=60.0)
        assert receipt is not None
        assert receipt.lost == []
        shown = "print(point.double(), point.times(4), area(point), Point(1).x, seen, next(count), number)"
        assert printed(await sandbox.run(shown, number=3, timeout=100.0)) == "6 12 6 1 [6, 7] 8 5\n"
