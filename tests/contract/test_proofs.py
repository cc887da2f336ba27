"""A trial restore finds what would not come back, says nothing of what does, and is in nobody's way."""

import asyncio
import os
import textwrap
from pathlib import Path

import pytest

from sandboxes.base import Provable, Sandbox, SandboxError, SandboxUnavailableError
from sandboxes.host.limits import MEGABYTE, Limits
from sandboxes.local import LocalSandbox
from sandboxes.opening import Sandboxes
from sandboxes.results import SnapshotTaken, TrialRestore
from tests.contract.conftest import LEVELS, fine, printed
from tests.contract.planted_differences import PLANTED, Planted
from tests.process_table import descendants, end


async def kept(sandbox: Sandbox, *cells: str) -> SnapshotTaken:
    """The snapshot after some cells."""
    for number, code in enumerate(cells, 1):
        result = await sandbox.run(code, number=number, timeout=60.0, head=f"{number}" * 64)
        fine(result)
    taken = await sandbox.snapshot(limit_bytes=1 << 30)
    assert not taken.refused
    return taken


async def look(sandbox: Sandbox, id: str, *, always: bool = True, proved: str = "", max_bytes: int = 1 << 30) -> str:
    """Have a session looked at."""
    assert isinstance(sandbox, Provable)
    taken = await sandbox.look(id, always=always, proved=proved, seconds=20.0, max_bytes=max_bytes)
    return f"{taken.state} {taken.why}".strip()


async def tried(sandbox: Sandbox, folder: Path, taken: SnapshotTaken) -> TrialRestore:
    """Restore a snapshot on trial, after a look at the session."""
    assert isinstance(sandbox, Provable)
    async with sandbox.trial() as trial:
        spool = folder / sandbox.id / "spool"
        await trial.supply_blobs(await asyncio.to_thread(lambda: list(spool.glob("?" * 64))))
        return await trial.compare(taken.id, known=[one.name for one in taken.lost], seconds=20.0)


async def proved(sandbox: Sandbox, folder: Path, *cells: str) -> TrialRestore:
    taken = await kept(sandbox, *cells)
    assert await look(sandbox, taken.id) in ("copy", "done")
    return await tried(sandbox, folder, taken)


def is_found(planted: Planted, found: TrialRestore) -> bool:
    """Whether a proof names a planted difference."""
    return any(name in one.name for one in found.differs for name in planted.names)


ORDINARY = """
import numpy as np, pandas as pd, pydantic, re
df = pd.DataFrame({"a": [1, 2, 3], "b": ["x", None, "z"]}); same = df
class Model:
    def __init__(self, frame): self.frame, self.rows = frame, [1, 2]
    def scale(self, by): return [row * by for row in self.rows]
model = Model(df); rows = model.rows
grid = np.arange(12.0).reshape(3, 4); view = grid[1:, 2:]
words = {"one": re.compile("1+"), "nan": float("nan")}
class Row(pydantic.BaseModel):
    number: int = 1
    later: list["Row"] = []
    @pydantic.field_validator("number")
    @classmethod
    def positive(cls, number): return abs(number)
row = Row(number=-2); several = pydantic.TypeAdapter(list[Row])
open("outputs/a.csv", "w").write("1,2\\n")
"""


@pytest.mark.parametrize("level", ["namespaces", *(pytest.param(one, marks=pytest.mark.slow) for one in LEVELS[1:])])
async def test_what_comes_back_is_proved(tmp_path: Path, cache: Path, level: str) -> None:
    async with Sandboxes(tmp_path / "s", cache=cache, isolation=level) as opened:
        sandbox = await opened.open("local", "thread")
        await asyncio.to_thread((tmp_path / "given.csv").write_text, "1\n2\n")
        await sandbox.put(tmp_path / "given.csv", "inputs/given.csv")
        found = await proved(sandbox, tmp_path / "s", ORDINARY, "given = open('inputs/given.csv'); given.readline()")
        assert (found.differs, found.refused) == ((), "")
        assert found.compared > 20
        assert found.cpu > 0
        assert not (tmp_path / "s" / "thread" / "proof").exists()
        assert (tmp_path / "s" / "thread" / "workspace" / "inputs" / "given.csv").read_text() == "1\n2\n"


@pytest.mark.parametrize("number", range(0, len(PLANTED), 16))
async def test_a_planted_difference_is_named(sandboxes: Sandboxes, number: int) -> None:
    planted = PLANTED[number]
    sandbox = await sandboxes.open("local", f"quick-{number}")
    assert is_found(planted, await proved(sandbox, folder_of(sandbox), planted.code))


@pytest.mark.slow
async def test_of_all_planted_differences_nine_in_ten_are_named(sandboxes: Sandboxes) -> None:
    missed = []
    for number, planted in enumerate(PLANTED):
        sandbox = await sandboxes.open("local", f"planted-{number}")
        found = await proved(sandbox, folder_of(sandbox), planted.code)
        if not is_found(planted, found):
            missed.append((planted.kind, found))
        await sandboxes.close(sandbox.id)
    assert len(PLANTED) >= 90
    assert len(missed) <= len(PLANTED) // 10, missed


def folder_of(sandbox: Sandbox) -> Path:
    """The folder that holds a local sandbox's."""
    assert isinstance(sandbox, LocalSandbox)
    return sandbox.folder.parent


@pytest.mark.slow
async def test_the_session_goes_on_meanwhile(tmp_path: Path, sandboxes: Sandboxes) -> None:
    sandbox = await sandboxes.open("local", "thread")
    taken = await kept(sandbox, ORDINARY)
    assert await look(sandbox, taken.id) == "copy"
    fine(await sandbox.run("rows.append(3); del df; open('outputs/a.csv', 'w').write('other')", number=2, timeout=60.0))
    assert (await tried(sandbox, tmp_path / "sandboxes", taken)).differs == ()
    assert printed(await sandbox.run("print(rows)", number=3, timeout=60.0)) == "[1, 2, 3]\n"


async def test_looking_changes_nothing_in_the_session(tmp_path: Path, sandboxes: Sandboxes) -> None:
    sandbox = await sandboxes.open("local", "thread")
    code = """
    import random
    random.seed(3)
    calls = []
    class Loud:
        def __eq__(self, other): calls.append("eq"); open("outputs/eq", "w").write("1"); return True
        __hash__ = object.__hash__
        def __repr__(self): calls.append("repr"); return "loud"
        def __len__(self): calls.append("len"); return 3
        def __getattr__(self, name): raise AttributeError(name)
        @property
        def costly(self): calls.append("costly"); return 1
    loud = Loud()
    """
    taken = await kept(sandbox, textwrap.dedent(code), "calls.clear()")
    assert await look(sandbox, taken.id) == "copy"
    assert (await tried(sandbox, tmp_path / "sandboxes", taken)).differs == ()
    asked = "import os; print(calls, os.listdir('outputs'), random.random())"
    assert printed(await sandbox.run(asked, number=3, timeout=60.0)) == "[] [] 0.23796462709189137\n"


async def test_only_new_kinds_are_looked_at_again(tmp_path: Path, sandboxes: Sandboxes) -> None:
    sandbox = await sandboxes.open("local", "thread")
    first = await kept(sandbox, "x = [1]")
    assert await look(sandbox, first.id, always=False) == "copy"
    assert (await tried(sandbox, tmp_path / "sandboxes", first)).differs == ()
    second = await kept(sandbox, "x = [2, 3]")
    assert await look(sandbox, second.id, always=False, proved=first.id) == "known"
    assert await look(sandbox, second.id, always=True) == "copy"
    third = await kept(sandbox, "class New: pass\nx = [New()]")
    assert await look(sandbox, third.id, always=False) == "copy"


async def test_kinds_count_as_proved_only_when_nothing_was_found(sandboxes: Sandboxes) -> None:
    sandbox = await sandboxes.open("local", "thread")
    for number in range(2):
        taken = await kept(sandbox, f"x = {number}")
        assert await look(sandbox, taken.id, always=False) == "copy"


async def test_a_session_at_another_step_is_not_looked_at(sandboxes: Sandboxes) -> None:
    sandbox = await sandboxes.open("local", "thread")
    taken = await kept(sandbox, "x = 1")
    fine(await sandbox.run("x = 2", number=2, timeout=60.0, head="f" * 64))
    assert await look(sandbox, taken.id) == "gone"


async def test_a_session_that_is_too_large_is_said_to_be(sandboxes: Sandboxes) -> None:
    sandbox = await sandboxes.open("local", "thread")
    taken = await kept(sandbox, "x = bytearray(b'1' * 40_000_000)")
    said = await look(sandbox, taken.id, max_bytes=20_000_000)
    assert said.startswith("refused it has ")
    assert "STEPWELL_PROOF_MB" in said


@pytest.mark.slow
async def test_a_look_may_copy_no_more_than_a_part_of_the_memory_limit(tmp_path: Path, cache: Path) -> None:
    limits = Limits(memory=800 * MEGABYTE)
    async with Sandboxes(tmp_path / "s", cache=cache, isolation="namespaces", limits=limits) as opened:
        sandbox = await opened.open("local", "thread")
        taken = await kept(sandbox, "x = bytearray(b'1' * 200_000_000)")
        said = await look(sandbox, taken.id)
    assert "more than the 200 MB" in said
    assert said.endswith("a quarter of its limit)")


async def test_a_look_that_takes_too_long_is_given_up(tmp_path: Path, sandboxes: Sandboxes) -> None:
    sandbox = await sandboxes.open("local", "thread")
    taken = await kept(sandbox, "x = [[one] for one in range(400_000)]")
    assert isinstance(sandbox, Provable)
    await sandbox.look(taken.id, always=True, proved="", seconds=0.05, max_bytes=1 << 30)
    found = await tried(sandbox, tmp_path / "sandboxes", taken)
    assert found.refused == "looking at the session took more time than a proof may take"


async def test_threads_of_the_user_are_no_moment_to_look(sandboxes: Sandboxes) -> None:
    sandbox = await sandboxes.open("local", "thread")
    taken = await kept(
        sandbox, "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()"
    )
    assert await look(sandbox, taken.id) == "refused threads of its own go on in it"


async def test_with_threads_of_libraries_the_session_itself_is_looked_at(tmp_path: Path, sandboxes: Sandboxes) -> None:
    sandbox = await sandboxes.open("local", "thread")
    taken = await kept(sandbox, "import pyarrow\nx = pyarrow.table({'a': [1]}).group_by('a').aggregate([('a', 'sum')])")
    threads = printed(await sandbox.run("import os; print(len(os.listdir('/proc/self/task')))", number=2, timeout=60.0))
    assert int(threads) > 1
    taken = await kept(sandbox, "y = 1")
    assert await look(sandbox, taken.id, always=False) == "known"
    assert await look(sandbox, taken.id) == "done"
    assert (await tried(sandbox, tmp_path / "sandboxes", taken)).differs == ()


async def test_a_trial_takes_no_place_that_somebody_needs(tmp_path: Path, cache: Path) -> None:
    async with Sandboxes(tmp_path / "s", cache=cache, max_live=1) as opened:
        sandbox = await opened.open("local", "thread")
        taken = await kept(sandbox, "x = 1")
        assert await look(sandbox, taken.id) == "copy"
        with pytest.raises(SandboxUnavailableError, match="all places"):
            await tried(sandbox, tmp_path / "s", taken)


async def test_a_trial_gives_its_place_to_who_waits(tmp_path: Path, cache: Path) -> None:
    async with Sandboxes(tmp_path / "s", cache=cache, max_live=2) as opened:
        sandbox, other = await opened.open("local", "thread"), await opened.open("local", "other")
        taken = await kept(sandbox, "x = bytearray(b'1' * 1_000_000)")
        assert await look(sandbox, taken.id) == "copy"
        assert isinstance(sandbox, Provable)
        async with sandbox.trial() as trial:
            spool = tmp_path / "s" / "thread" / "spool"
            await trial.supply_blobs(await asyncio.to_thread(lambda: list(spool.glob("?" * 64))))
            found = await trial.compare(taken.id, known=[], seconds=20.0)
            assert found.differs == ()
            assert printed(await other.run("print(2)", number=1, timeout=60.0)) == "2\n"  # its session had the place


async def test_what_a_killed_process_left_of_a_trial_is_removed(tmp_path: Path, sandboxes: Sandboxes) -> None:
    sandbox = await sandboxes.open("local", "thread")
    left = tmp_path / "sandboxes" / "thread" / "proof" / "workspace" / "outputs"
    await asyncio.to_thread(left.mkdir, parents=True)
    await asyncio.to_thread((left / "old.csv").write_text, "1")
    assert (await proved(sandbox, tmp_path / "sandboxes", "x = 1")).differs == ()
    assert not (tmp_path / "sandboxes" / "thread" / "proof").exists()


SLOW = """
import copyreg, string
def _wait():
    while True: pass
copyreg.pickle(string.Template, lambda one: (_wait, ()))
x = string.Template("x")
"""
"""Whoever loads this never ends."""


@pytest.mark.slow
async def test_a_killed_trial_leaves_nothing(tmp_path: Path, sandboxes: Sandboxes) -> None:
    sandbox = await sandboxes.open("local", "thread")
    taken = await kept(sandbox, SLOW)
    assert await look(sandbox, taken.id) == "copy"
    trying = asyncio.create_task(tried(sandbox, tmp_path / "sandboxes", taken))
    while not (looping := await asyncio.to_thread(looping_processes)):
        await asyncio.sleep(0.01)
    end(looping)
    with pytest.raises(SandboxError):
        await trying
    assert not (tmp_path / "sandboxes" / "thread" / "proof").exists()
    assert printed(await sandbox.run("print(1)", number=2, timeout=60.0)) == "1\n"


async def test_a_cancelled_trial_leaves_nothing(tmp_path: Path, sandboxes: Sandboxes) -> None:
    sandbox = await sandboxes.open("local", "thread")
    taken = await kept(sandbox, SLOW)
    assert await look(sandbox, taken.id) == "copy"
    trying = asyncio.create_task(tried(sandbox, tmp_path / "sandboxes", taken))
    while not await asyncio.to_thread(looping_processes):
        await asyncio.sleep(0.01)
    trying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trying
    assert not (tmp_path / "sandboxes" / "thread" / "proof").exists()


async def test_closing_a_sandbox_ends_its_trial(tmp_path: Path, sandboxes: Sandboxes) -> None:
    sandbox = await sandboxes.open("local", "thread")
    taken = await kept(sandbox, SLOW)
    assert await look(sandbox, taken.id) == "copy"
    trying = asyncio.create_task(tried(sandbox, tmp_path / "sandboxes", taken))
    while not (tmp_path / "sandboxes" / "thread" / "proof" / "reached").exists():
        await asyncio.sleep(0.01)
    await sandbox.close()
    with pytest.raises(SandboxError):
        await trying
    assert not (tmp_path / "sandboxes" / "thread" / "proof").exists()


@pytest.mark.slow
async def test_a_sandbox_is_closed_while_the_files_of_its_trial_are_being_removed(
    tmp_path: Path, sandboxes: Sandboxes
) -> None:
    sandbox = await sandboxes.open("local", "thread")
    await kept(sandbox, "x = 1")
    assert isinstance(sandbox, Provable)
    many = tmp_path / "sandboxes" / "thread" / "proof" / "workspace"

    def fill() -> None:
        for number in range(20_000):
            (many / f"{number}").touch()

    async def tried_and_left() -> None:
        async with sandbox.trial():
            await asyncio.to_thread(fill)

    trying = asyncio.create_task(tried_and_left())
    while not (many / "19999").exists():
        await asyncio.sleep(0.001)
    while (many / "0").exists() and (many / "19999").exists():
        await asyncio.sleep(0.001)
    await asyncio.gather(trying, sandbox.close())
    assert not many.parent.exists()


def looping_processes() -> set[int]:
    """The processes in sandboxes that have used a processor for a while."""
    found = set()
    for pid in descendants(os.getpid()):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            if Path(f"/proc/{pid}/cwd").readlink().name == "workspace" and int(fields[11]) > 100:
                found.add(pid)
        except OSError:
            continue
    return found
