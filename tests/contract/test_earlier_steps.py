"""A cell reads variables and files of earlier steps, and nothing of its session changes by that."""

import json
import textwrap
from pathlib import Path

import pytest

from graph.state import Cell
from nodes.restoration.earlier_steps import EarlierSteps
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Sandbox
from sandboxes.opening import Sandboxes
from sandboxes.results import CellResult
from storage.blobs import Blobs
from tests.contract.conftest import fine
from tests.states import make_cell

LIMIT = 1 << 30


class Thread:
    """Cells of a thread, each kept as a step."""

    def __init__(self, sandbox: Sandbox, store: Path) -> None:
        self.sandbox = sandbox
        self.blobs = Blobs.at(str(store))
        self.snapshots = SnapshotStore(self.blobs)
        self.cells: list[Cell] = []

    async def run(self, code: str) -> CellResult:
        """Run the next cell and keep it."""
        number = len(self.cells) + 1
        offered = EarlierSteps(None, self.sandbox, self.cells, self.snapshots)
        result = await self.sandbox.run(textwrap.dedent(code), number=number, timeout=100.0, functions=offered)
        kept = await self.snapshots.keep(self.sandbox, self.cells, limit_bytes=LIMIT)
        assert kept.snapshot, kept.why_not
        cell = make_cell(number, snapshot=kept.snapshot, lost=kept.lost_names())
        self.cells = [*self.cells, {**cell, "status": result.status}]
        return result

    async def prints(self, code: str) -> str:
        """What a good cell printed."""
        return fine(await self.run(code)).stdout.text

    async def error(self, code: str) -> str:
        """How a failing cell failed."""
        result = await self.run(code)
        assert result.error is not None, result
        return f"{result.error.name}: {result.error.message}"


@pytest.fixture
def thread(sandbox: Sandbox, tmp_path: Path) -> Thread:
    return Thread(sandbox, tmp_path / "store")


async def test_a_variable_and_a_file_are_read_as_they_were(thread: Thread) -> None:
    await thread.prints("""
        import pandas as pd
        from pathlib import Path
        df = pd.DataFrame({"a": range(5000), "b": 1.5})
        view, rows = df, {"one": [1, 2]}
        Path("outputs/a.csv").write_text("a\\n1\\n")
    """)
    await thread.prints("""
        df["a"] = 0
        del rows
        Path("outputs/a.csv").write_text("changed")
    """)
    result = await thread.run("""
        old = steps[1]["df"]
        print(int(old["a"].sum()), int(df["a"].sum()), old is steps[1]["df"], old is steps[1]["view"], old is df)
        print(steps[1]["rows"], sorted(steps[1]), "rows" in steps[2], steps[1]["pd"] is pd)
        print(steps[1].file("outputs/a.csv").read_text().split(), Path("outputs/a.csv").read_text())
    """)
    assert fine(result).stdout.text == (
        "12497500 0 True True False\n"
        "{'one': [1, 2]} ['Path', 'df', 'pd', 'rows', 'view'] False True\n"
        "['a', '1'] changed\n"
    )
    assert "steps" not in [row.name for row in result.namespace]
    assert result.reached == ()
    assert not result.files


async def test_what_is_done_to_a_copy_changes_neither_the_step_nor_a_later_copy(thread: Thread) -> None:
    await thread.prints("data = [1]\nclass Point:\n    x = 1\npoint = Point()")
    await thread.prints("steps[1]['data'].append(2); old = steps[1]['point']; type(old).x = 5; data.append(3)")
    assert await thread.prints("print(steps[1]['data'], steps[2]['data'], data, Point.x, type(old).x)") == (
        "[1] [1, 3] [1, 3] 1 5\n"
    )


async def test_functions_of_a_step_see_the_variables_of_that_step(thread: Thread) -> None:
    await thread.prints("""
        import math
        rate, unit = 2, "kg"
        def weigh(x):
            return f"{math.floor(convert(x))} {unit} {len('ab')}"
        def convert(x):
            return x * rate
    """)
    await thread.prints("rate, unit = 100, 'g'\ndef convert(x): return -1")
    assert await thread.prints("weigh_then = steps[1]['weigh']; print(weigh_then(3), weigh(3))") == "6 kg 2 -1 g 2\n"


async def test_a_variable_named_steps_wins(thread: Thread) -> None:
    await thread.prints("steps = [7, 8, 9]")
    assert await thread.prints("print(steps[1])\ndel steps\nprint(steps[1]['steps'], steps)") == "8\n[7, 8, 9] steps\n"


async def test_what_cannot_be_read_says_why(thread: Thread) -> None:
    await thread.prints("a = 1; lines = (line for line in 'ab')")
    assert await thread.error("steps[9]") == "StepError: There is no step 9 before this cell; the last one is step 1."
    assert await thread.error("steps[1]['b']") == "StepError: Step 1 has no variable 'b'; it has a."
    kept = await thread.error("steps[1]['lines']")
    assert kept.startswith("StepError: lines of step 1, a generator, was not kept: ")
    assert await thread.error("steps[1].file('x.csv')") == (
        "FileNotFoundError: Step 1 has no file 'x.csv'; it has none."
    )
    assert await thread.error("steps[1].file('../../etc/passwd')") == (
        "FileNotFoundError: Step 1 has no file '../../etc/passwd'; it has none."
    )
    assert "no variables" in await thread.error("steps[0]")
    assert await thread.prints("try:\n    steps[1]['b']\nexcept KeyError as error:\n    print(error)") == (
        "Step 1 has no variable 'b'; it has a.\n"
    )


async def test_what_holds_a_file_has_that_of_the_step(thread: Thread) -> None:
    """Maps, open files and databases lead to copies: what is done to them changes no file of now."""
    await thread.prints("""
        import os, sqlite3
        import numpy as np
        m = np.memmap("m", dtype="i8", mode="w+", shape=(5,)); m[:] = 1
        f = open("f", "w"); f.write("one"); f.flush()
        db = sqlite3.connect("db"); db.execute("pragma journal_mode = wal"); db.execute("create table t (x)")
        home = open(os.path.expanduser("~/h"), "w+"); home.write("h"); home.flush()
    """)
    await thread.prints("""
        m[:] = 2; m.flush(); f.write("two"); f.flush(); db.execute("insert into t values (1)"); db.commit()
        home.write("i"); home.flush()
    """)
    seen = """
        old = steps[1]
        print(old["m"].sum(), old["f"].tell(), old["db"].execute("select * from t").fetchall())
        print(old["home"].seek(0), old["home"].read())
        old["m"][:] = 9
        for change in (lambda: old["f"].write("three"), lambda: old["db"].execute("insert into t values (2)")):
            try:
                change()
            except (OSError, sqlite3.OperationalError) as error:
                print(type(error).__name__)
        print(m.sum(), open("f").read(), db.execute("select * from t").fetchall(), steps[1]["m"] is old["m"])
        print(steps[2]["m"].sum(), steps[2]["db"].execute("select * from t").fetchall(), steps[2]["f"].tell())
    """
    assert await thread.prints(seen) == (
        "5 3 []\n0 h\nUnsupportedOperation\nOperationalError\n10 onetwo [(1,)] True\n10 [(1,)] 6\n"
    )


async def test_a_session_without_steps_says_so(sandbox: Sandbox) -> None:
    result = await sandbox.run("steps[1]", number=1, timeout=60.0)
    assert result.error is not None
    assert result.error.message == "earlier steps cannot be read here"


async def test_reading_changes_no_snapshot_and_what_names_a_step_can_be_kept(thread: Thread) -> None:
    await thread.prints("a = [1, 2]")
    await thread.prints("print(steps[1]['a'])")
    first, second = [json.loads(await thread.blobs.read(cell["snapshot"], max_bytes=LIMIT)) for cell in thread.cells]
    assert first["variables"]["units"][0]["names"] == second["variables"]["units"][0]["names"] == ["a"]
    assert first["variables"]["order"] == second["variables"]["order"] == ["a"]
    assert first["modules"] == second["modules"]
    await thread.prints("old, every = steps[1], steps")
    await thread.snapshots.restore(thread.sandbox, thread.cells[-1]["snapshot"], damaged=set())
    assert await thread.prints("print(old['a'], every is steps, old)") == "[1, 2] True steps[1]\n"


async def test_a_session_that_was_never_kept_reads_a_step(thread: Thread, walled: Sandboxes) -> None:
    await thread.prints("a = [[1], 2]; b = a[0]")
    thread.sandbox = await walled.open(thread.sandbox.kind, "another")
    assert await thread.prints("print(steps[1]['a'], steps[1]['b'] is steps[1]['a'][0])") == "[[1], 2] True\n"
