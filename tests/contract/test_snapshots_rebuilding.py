"""What a snapshot cannot save is made again by running only the cells that it needs, or reported lost with the reason.

Everything is brought back in a new process.
"""

import textwrap
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from graph.state import Cell, SandboxRef
from nodes.restoration.line import BEGINNING, next_state_id
from nodes.restoration.receipt import Receipt, receipt_text
from nodes.restoration.restore import restore_session
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Sandbox
from sandboxes.opening import Sandboxes
from storage.blobs import Blobs
from tests.contract.conftest import DAYTONA, opening, printed
from tests.states import make_cell, make_state


class Thread:
    """Cells, each with its snapshot, and a store."""

    def __init__(self, sandboxes: Sandboxes, kind: str, folder: Path) -> None:
        self._sandboxes = sandboxes
        self._kind = kind
        self._snapshots = SnapshotStore(Blobs.at(str(folder / "store")))
        self._opened = 0
        self.folder = folder
        self.cells: list[Cell] = []
        self.sandbox: Sandbox

    async def open(self) -> None:
        self._opened += 1
        self.sandbox = await self._sandboxes.open(self._kind, f"process-{self._opened}")

    async def cell(self, code: str, **changes: Any) -> str:
        """Run a cell and keep the step; what it printed."""
        number, code = len(self.cells) + 1, textwrap.dedent(code)
        head = next_state_id(BEGINNING, number, code)
        result = await self.sandbox.run(code, number=number, timeout=60.0, head=head)
        kept = await self._snapshots.keep(self.sandbox, self.cells, limit_bytes=1 << 30)
        assert kept.snapshot, kept.why_not
        cell = make_cell(number, code=code, status=result.status, seconds=result.seconds, snapshot=kept.snapshot)
        cell["lost"] = kept.lost_names()
        self.cells.append(Cell(**{**cell, **changes}))  # type: ignore[typeddict-item]
        return printed(result) if result.status == "ok" else ""

    async def come_back(self, limit: float = 60.0) -> Receipt:
        """Go on in a new process, which has the store and nothing else."""
        await self.open()
        sandbox = SandboxRef(kind=self._kind, id=self.sandbox.id, snapshot=self.cells[-1]["snapshot"])
        state = make_state(cells=self.cells, sandbox=sandbox)
        receipt = await restore_session(self.sandbox, state, self._snapshots, rebuild_seconds=limit)
        assert receipt is not None
        assert self.sandbox.head == self.cells[-1]["snapshot"]
        assert receipt.cells == 0
        assert receipt.problems == []
        return receipt

    def counting(self, name: str) -> str:
        """Code that notes outside the workspace, where nothing is rolled back, that it ran."""
        return f"open({str(self.folder / 'ran')!r}, 'a').write({name + ' '!r})\n"

    @property
    def ran(self) -> str:
        file = self.folder / "ran"
        return file.read_text().strip() if file.exists() else ""


@pytest.fixture(params=["local", DAYTONA])
async def thread(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Thread]:
    """Without walls, and the emulator has none: which cells ran is written down outside."""
    async with opening(request.param, request, isolation="process") as opened:
        made = Thread(opened, request.param, tmp_path)
        await made.open()
        yield made


def reason(receipt: Receipt, name: str) -> str:
    """Why a variable is lost."""
    return next(one.reason for one in receipt.lost if one.name == name)


async def test_a_generator_goes_on_where_it_was_after_several_cells(thread: Thread) -> None:
    await thread.cell("""
        def squares(n):
            for i in range(n):
                yield i * i
    """)
    await thread.cell("gen = squares(10)")
    assert await thread.cell("print(next(gen), next(gen))") == "0 1\n"
    await thread.cell("other = 5")
    assert await thread.cell("print(next(gen))") == "4\n"
    receipt = await thread.come_back()
    assert receipt.lost == []
    assert receipt.rebuilt == {"gen": (2, 3, 5)}
    assert "Made again by running only the cells that they need: gen (from cells 2, 3 and 5)." in receipt_text(receipt)
    assert await thread.cell("print(next(gen), other)") == "9 5\n"


async def test_it_iterates_over_the_very_list_of_the_session(thread: Thread) -> None:
    await thread.cell("data = [1, 2, 3]")
    await thread.cell("again = data\ngen = (item * 10 for item in data)\nfirst = next(gen)")
    await thread.cell("data.append(4)")
    await thread.cell("again.append(5)")  # through another name
    receipt = await thread.come_back()
    assert receipt.rebuilt == {"gen": (2, 3, 4)}
    assert (
        await thread.cell("data.append(6); print(again is data, first, list(gen))") == "True 10 [20, 30, 40, 50, 60]\n"
    )


async def test_names_for_one_lost_object_stay_names_for_one(thread: Thread) -> None:
    await thread.cell("held = {'g': (i for i in range(9))}")
    await thread.cell("alias = held['g']; both = [alias, held]")
    await thread.cell("next(alias)")
    receipt = await thread.come_back()
    assert set(receipt.rebuilt) == {"held", "alias", "both"}
    assert await thread.cell("print(held['g'] is alias, both[0] is alias, both[1] is held, next(both[0]))") == (
        "True True True 1\n"
    )


async def test_an_unrelated_cell_is_not_run(thread: Thread) -> None:
    await thread.cell("import time\ndata = list(range(5))")
    await thread.cell("made = (i for i in data)")
    await thread.cell(thread.counting("reads") + "total = sum(data)")
    await thread.cell(thread.counting("other") + "frame = {'a': [total] * 3}")
    await thread.cell(thread.counting("touches") + "next(made)")
    assert thread.ran == "reads other touches"
    receipt = await thread.come_back()
    assert receipt.rebuilt == {"made": (2, 5)}
    assert thread.ran == "reads other touches touches"
    assert await thread.cell("print(next(made), total, frame)") == "1 10 {'a': [10, 10, 10]}\n"


async def test_a_file_that_its_cells_wrote_is_as_the_snapshot_has_it(thread: Thread) -> None:
    await thread.cell("open('outputs/log.txt', 'w').write('1')")
    await thread.cell("open('outputs/log.txt', 'a').write('2'); gen = (i for i in range(5))")
    await thread.cell("open('outputs/log.txt', 'a').write('3'); seed = 1")
    await thread.cell("lines = open('outputs/log.txt').read(); next(gen); open('outputs/log.txt', 'a').write('4')")
    receipt = await thread.come_back()
    assert receipt.rebuilt == {"gen": (2, 4)}
    assert await thread.cell("print(open('outputs/log.txt').read(), lines, next(gen))") == "1234 123 1\n"


async def test_a_cell_finds_the_settings_that_it_had(thread: Thread) -> None:
    await thread.cell("import random, os\nrandom.seed(5)")
    await thread.cell("gen = (random.random() for _ in range(9)); os.environ['MODE'] = 'a'")
    await thread.cell("unrelated = [random.random() for _ in range(7)]; os.environ['MODE'] = 'b'")
    await thread.cell("seen = [next(gen), os.environ['MODE']]")
    expected = await thread.cell("print(seen)")
    await thread.cell("os.environ['MODE'] = 'c'; state = str(random.getstate())")
    receipt = await thread.come_back()
    assert receipt.rebuilt == {"gen": (2, 4)}
    again = "print(seen)"
    assert await thread.cell(again) == expected
    assert await thread.cell("print(os.environ['MODE'], str(random.getstate()) == state)") == "c True\n"


async def test_a_cell_that_reached_outside_is_not_run_again(thread: Thread) -> None:
    await thread.cell(thread.counting("asks") + "gen = (i for i in range(5))", reached=["network"])
    await thread.cell("fine = (i for i in range(5)); next(fine)")
    receipt = await thread.come_back()
    assert thread.ran == "asks"
    assert receipt.rebuilt == {"fine": (2,)}
    assert "cell 1 reached outside the sandbox (network)" in reason(receipt, "gen")
    assert "gen (generator, made in cell 1: " in receipt_text(receipt)
    assert await thread.cell("print(next(fine), 'gen' in globals())") == "1 False\n"


async def test_cells_that_took_too_long_are_not_run_again(thread: Thread) -> None:
    await thread.cell("gen = (i for i in range(5))", seconds=50.0)
    await thread.cell("next(gen)", seconds=30.0)
    receipt = await thread.come_back(limit=60.0)
    assert receipt.rebuilt == {}
    assert "took 80 s, more than 60 s are allowed" in reason(receipt, "gen")


async def test_a_failing_rebuild_leaves_the_snapshot(thread: Thread) -> None:
    once = str(thread.folder / "once")
    await thread.cell("keep = [1]")
    await thread.cell(f"keep.append(2); open({once!r}, 'x'); gen = (i for i in range(5))")
    await thread.cell("fine = (i for i in range(5))")
    await thread.cell("open('outputs/a', 'w').write('a'); keep.append(3)")
    receipt = await thread.come_back()
    assert receipt.rebuilt == {"fine": (3,)}
    assert "cell 2 failed when it ran again: FileExistsError" in reason(receipt, "gen")
    assert await thread.cell("print(keep, open('outputs/a').read(), next(fine), 'gen' in globals())") == (
        "[1, 2, 3] a 0 False\n"
    )


async def test_a_rebuild_that_kills_its_process_leaves_the_snapshot(thread: Thread) -> None:
    once = str(thread.folder / "once")
    await thread.cell(
        f"import os\nif os.path.exists({once!r}): os._exit(3)\nopen({once!r}, 'x')\ngen = (i for i in 'a')"
    )
    await thread.cell("keep = [3]")
    receipt = await thread.come_back()
    assert receipt.rebuilt == {}
    assert "running its cells again failed" in reason(receipt, "gen")
    assert await thread.cell("print(keep, 'gen' in globals())") == "[3] False\n"


async def test_what_shares_something_that_comes_out_otherwise_is_lost(thread: Thread) -> None:
    await thread.cell(
        "import uuid\nshared = [uuid.uuid4().hex]\nnoise = (i for i in shared); other = (i for i in 'ab')"
    )
    await thread.cell("known = shared[0]; next(other)")
    receipt = await thread.come_back()
    assert receipt.rebuilt == {"other": (1, 2)}
    assert "running its cells again gave another shared" in reason(receipt, "noise")
    assert await thread.cell("print(shared == [known], 'noise' in globals(), next(other))") == "True False b\n"


async def test_what_holds_only_a_method_of_a_file_shares_the_file(thread: Thread) -> None:
    await thread.cell("f = open('a.txt', 'w'); w = map(f.write, (one for one in 'abc')); next(w); f.flush()")
    receipt = await thread.come_back()
    assert receipt.rebuilt == {"w": (1,)}, receipt
    assert await thread.cell("next(w); f.flush(); print(open('a.txt').read())") == "ab\n"


async def test_what_is_of_another_type_or_not_there_is_lost(thread: Thread) -> None:
    once = str(thread.folder / "once")
    await thread.cell(f"import os\nkind = 3 if os.path.exists({once!r}) else (i for i in 'a')")
    await thread.cell(f"if not os.path.exists({once!r}): bound = (i for i in 'a')")
    await thread.cell(f"open({once!r}, 'x'); keep = [1]")
    receipt = await thread.come_back()
    assert receipt.rebuilt == {}
    assert "running its cells again made a int" in reason(receipt, "kind")
    assert "running its cells again did not make it" in reason(receipt, "bound")
    assert await thread.cell("print(keep, 'kind' in globals(), 'bound' in globals())") == "[1] False False\n"


@pytest.mark.slow
async def test_a_rebuild_that_hangs_is_broken_off(thread: Thread) -> None:
    once = str(thread.folder / "once")
    await thread.cell(f"import os, time\nif os.path.exists({once!r}): time.sleep(60)\ngen = (i for i in 'a')")
    await thread.cell(f"open({once!r}, 'x'); keep = [1]")
    receipt = await thread.come_back(limit=10.0)  # on a busy machine the cell itself takes seconds
    assert receipt.rebuilt == {}
    assert "cell 1 failed when it ran again: it took too long" in reason(receipt, "gen")
    assert await thread.cell("print(keep)") == "[1]\n"


async def test_what_was_deleted_or_bound_anew_is_not_made_again(thread: Thread) -> None:
    await thread.cell(thread.counting("made") + "gone = (i for i in range(3)); other = (i for i in range(3))")
    await thread.cell("del gone; other = 7")
    receipt = await thread.come_back()
    assert (receipt.rebuilt, receipt.lost, thread.ran) == ({}, [], "made")


async def test_functions_that_touch_it_by_its_name_count(thread: Thread) -> None:
    await thread.cell("""
        def step():
            return advance()
        def advance():
            global count
            count += 1
            return next(gen)
        class Walker:
            def walk(self):
                return step()
        walker = Walker()
    """)
    await thread.cell("gen = (i for i in range(9)); count = 0")
    await thread.cell("a = step()")
    await thread.cell("b = [f() for f in [step]]")
    await thread.cell("c = walker.walk()")
    await thread.cell("d = a + 1")
    receipt = await thread.come_back()
    assert receipt.rebuilt == {"gen": (2, 3, 4, 5)}
    assert await thread.cell("print(step(), count, a, b, c, d)") == "3 4 0 [1] 2 1\n"


async def test_where_code_reaches_variables_without_naming_them_nothing_is_guessed(thread: Thread) -> None:
    await thread.cell("gen = (i for i in range(9))")
    await thread.cell("next(globals()['g' + 'en'])")
    receipt = await thread.come_back()
    assert receipt.rebuilt == {}
    assert "cell 2 uses `globals`" in reason(receipt, "gen")


async def test_a_second_coming_back_makes_it_again_too(thread: Thread) -> None:
    await thread.cell("data = [1, 2, 3]; gen = (i for i in data)")
    await thread.cell("next(gen)")
    await thread.come_back()
    await thread.cell("next(gen)")
    receipt = await thread.come_back()
    assert receipt.rebuilt == {"gen": (1, 2, 3)}
    assert await thread.cell("data.append(4); print(list(gen))") == "[3, 4]\n"


@pytest.mark.slow
async def test_frames_are_shared_and_not_copied(thread: Thread) -> None:
    await thread.cell(
        "import numpy as np, pandas as pd\ndf = pd.DataFrame({'a': np.arange(100_000.0)}); arr = df['a'].values"
    )
    await thread.cell("view = np.zeros(50_000); rows = (view[i] for i in range(5))")
    await thread.cell("tuples = df.itertuples(); next(tuples); next(rows)")
    await thread.cell("mean = df['a'].mean()")
    receipt = await thread.come_back()
    assert set(receipt.rebuilt) == {"rows", "tuples"}
    assert await thread.cell("view[1] = 9; print(next(rows), next(tuples).a, mean)") == "9.0 1.0 49999.5\n"


async def test_instances_in_it_are_of_the_class_of_the_session(thread: Thread) -> None:
    await thread.cell("class Thing:\n    made = []\n    def __init__(self, n): self.n = n; Thing.made.append(self)")
    await thread.cell("things = [Thing(1), Thing(2)]; gen = (t for t in things)")
    await thread.come_back()
    assert await thread.cell("t = next(gen); print(type(t) is Thing, t is things[0], t is Thing.made[0])") == (
        "True True True\n"
    )


async def test_a_class_and_a_function_that_are_defined_again_are_the_same(thread: Thread) -> None:
    await thread.cell("""
        import functools
        class Thing:
            '''A thing.'''
            made = []
            def __init__(self, n: int = 1) -> None:
                self.n = n
                Thing.made.append(self)
            @property
            def twice(self): return 2 * self.n
        def outer(k):
            total = 0
            def inner(x):
                nonlocal total
                total += k * x
                return total
            return inner
        add = outer(2)
        names = {"a", "b", "c", "d", "e"}
        things = [Thing(1), Thing(2)]
        gen = ((t, add(t.twice), names) for t in things)
    """)
    await thread.cell("seen = next(gen)")
    receipt = await thread.come_back()
    assert receipt.rebuilt == {"gen": (1, 2)}
    assert (
        await thread.cell(
            "t, total, n = next(gen); print(t is things[1], t is Thing.made[1], type(t) is Thing, total, n is names)"
            "\nprint(seen[0] is things[0], add(1), isinstance(seen[0], Thing), len(Thing.made))"
        )
        == "True True True 12 True\nTrue 14 True 2\n"
    )


ELSEWHERE = """
import os

def load(rows):
    if os.path.exists(__file__ + '.other-version'):
        raise RecursionError('maximum recursion depth exceeded')
    return Frame(rows)

class Frame:
    def __init__(self, rows):
        self.rows = rows

    def __reduce__(self):
        return load, (self.rows,)
"""


@pytest.fixture
def other_version(thread: Thread) -> Callable[[], None]:
    """A package `frames` for cells; from the call on it is another version, which cannot load what the first saved."""
    package = thread.folder / "packages" / "frames.py"
    package.parent.mkdir()
    package.write_text(ELSEWHERE)
    return package.with_name("frames.py.other-version").touch


async def test_what_another_version_cannot_load_is_made_again(
    thread: Thread, other_version: Callable[[], None]
) -> None:
    folder = str(thread.folder / "packages")
    await thread.cell(f"import sys; sys.path.insert(0, {folder!r})\nimport frames")
    await thread.cell(thread.counting("two") + "df = frames.Frame([1])")
    await thread.cell(thread.counting("three") + "n = 6\nprint(n)")
    await thread.cell(thread.counting("four") + "df.rows.append(2)\nsame = df")
    await thread.cell(thread.counting("five") + "print(n)")
    other_version()
    receipt = await thread.come_back()
    assert [(one.name, one.reason) for one in receipt.lost] == []
    assert receipt.rebuilt == {"df": (2, 4), "same": (2, 4)}
    assert thread.ran.split()[4:] == ["two", "four"]
    assert await thread.cell("print(df.rows, same is df, n)") == "[1, 2] True 6\n"


async def test_what_another_version_cannot_load_is_lost_with_its_reason_when_its_cell_may_not_run_again(
    thread: Thread, other_version: Callable[[], None]
) -> None:
    folder = str(thread.folder / "packages")
    await thread.cell(f"import sys; sys.path.insert(0, {folder!r})\nimport frames\nkept = [1]")
    await thread.cell("df = frames.Frame([1])", reached=["network example.org"])
    other_version()
    receipt = await thread.come_back()
    (lost,) = receipt.lost
    assert (lost.name, lost.cell) == ("df", 2)
    assert "RecursionError" in lost.reason
    assert "cell 2 reached outside the sandbox" in lost.reason
    assert await thread.cell("print(kept, 'df' in globals())") == "[1] False\n"


@pytest.mark.slow
@pytest.mark.parametrize("thread", ["local"], indirect=True)
async def test_a_patch_that_only_lies_elsewhere_is_no_change(thread: Thread) -> None:
    """What is small is written anew once it lies in many blobs; no cell has done anything then."""
    await thread.cell("import numpy as np\nbig = np.zeros(1 << 18)")
    await thread.cell("big[5] = 1.0")
    await thread.cell("gen = (number for number in big)\nfirst = next(gen)")
    for number in range(40):
        await thread.cell(f"v{number} = list(range({number}, 20_000))")
    receipt = await thread.come_back()
    assert receipt.lost == []
    assert receipt.rebuilt == {"gen": (3,)}
    await thread.cell("big[2] = 7.0")
    assert await thread.cell("print(next(gen), next(gen))") == "0.0 7.0\n"


@pytest.mark.parametrize("thread", ["local"], indirect=True)
async def test_only_files_of_cells_that_run_again_are_brought(thread: Thread) -> None:
    """Each step of a long thread may have others, which nobody needs to find out what has to run."""
    write = "import os; open('data.bin', 'wb').write(os.urandom(1_000_000))"
    for _ in range(6):
        await thread.cell(write)
    await thread.cell("size = os.path.getsize('data.bin'); gen = (size + n for n in range(9))")
    await thread.cell(write)
    receipt = await thread.come_back()
    assert (receipt.lost, receipt.rebuilt) == ([], {"gen": (7,)})
    assert await thread.cell("print(next(gen))") == "1000000\n"
    brought = thread.folder / "sandboxes" / thread.sandbox.id / "blobs"
    assert sum(file.stat().st_size for file in brought.iterdir()) < 3_500_000


async def test_what_cells_that_run_again_make_of_builtins_does_not_stay(thread: Thread) -> None:
    await thread.cell("import builtins; own = max; builtins.max = builtins.more = min; lost = (n for n in [1, 2])")
    await thread.cell("builtins.max = own; del builtins.more; kept = 1")
    receipt = await thread.come_back()
    assert list(receipt.rebuilt) == ["lost"]
    assert await thread.cell("print(list(lost), max(1, 2), hasattr(builtins, 'more'))") == "[1, 2] 2 False\n"
