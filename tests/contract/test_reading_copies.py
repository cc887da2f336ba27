"""`steps[3]["df"]` reads large arrays of one of the last steps from its frozen copy: the same as from the store."""

from pathlib import Path

import pytest

from nodes.restoration.earlier_steps import EarlierSteps
from sandboxes.opening import Sandboxes
from tests.contract.conftest import fine, printed
from tests.contract.test_returning import LEVELS, Thread, thread
from tests.states import make_cell

FILL = """
import numpy as np, pandas as pd
x = np.arange(1 << 20, dtype="f8"); alias = x
df = pd.DataFrame({"n": np.arange(1 << 20) % 7, "text": [str(n % 99) for n in range(1 << 20)]})
both = {"x": x, "rows": [1, float("nan")]}
small = np.arange(3)
"""
CHANGE = "x += 1; df['n'] = 0; df.loc[5, 'text'] = 'another'; small[:] = 9; both['rows'].append(2)"
DESCRIBE = """
import hashlib, pickle
old = steps[1]
same = old["alias"] is old["x"] is old["both"]["x"]
found = [hashlib.sha256(pickle.dumps(old[name])).hexdigest()[:12] for name in ("x", "df", "small")]
print(found, same, old["both"]["rows"], int(old["df"].n.sum()), old["x"].flags.writeable)
"""
KILLING = """
import os, threading
def kill():
    while not done:
        for one in os.listdir("/proc"):
            if one.isdigit() and int(one) not in (1, os.getpid()):
                try: os.kill(int(one), 9)
                except OSError: pass
done = []
killer = threading.Thread(target=kill); killer.start()
try: found = [float(steps[1]["x"].sum()), len(steps[1]["df"])]
finally: done.append(1); killer.join()
print(found)
"""


async def read(life: Thread, code: str) -> str:
    cells = [make_cell(number, snapshot=step) for number, step in enumerate(life.steps, 1)]
    offered = EarlierSteps(None, life.sandbox, cells, life.store)
    number = len(cells) + 1
    return printed(await life.sandbox.run(code, number=number, timeout=60.0, head=f"{number:064d}", functions=offered))


async def laid_out(life: Thread) -> int:
    """How many blobs of the store the session was given."""
    return len(await life.sandbox.supplied_blobs())


@pytest.mark.parametrize("level", LEVELS)
async def test_what_is_read_from_a_copy_is_what_the_store_has(tmp_path: Path, cache: Path, level: str) -> None:
    async with thread(tmp_path, cache, level=level) as life:
        await life.step(FILL)
        await life.step(CHANGE)
        copied = await read(life, DESCRIBE)
        few = await laid_out(life)
        # What a cell does to what it has read shows nowhere.
        written = "read = old['x']; read[:] = 7; old['df']['n'] = 1; print(x[0], small[0], df.n.sum())"
        assert await read(life, written) == "1.0 9 0\n"
        assert await read(life, DESCRIBE) == copied
        assert await read(life, "print(x[0], read[0])") == "1.0 7.0\n"
        assert await laid_out(life) == few
        async with Sandboxes(tmp_path / "others", cache=cache, isolation=level) as others:
            other = Thread(await others.open("local", "other"), life.store)
            other.steps = life.steps
            await other.back(life.steps[-1])
            before = await laid_out(other)
            assert await read(other, DESCRIBE) == copied
            assert await laid_out(other) - before > few


async def test_memory_that_is_written_for_all_copies_is_read_from_the_store(tmp_path: Path, cache: Path) -> None:
    """A copy sees what is written into shared memory later: its digests say so."""
    async with thread(tmp_path, cache) as life:
        await life.step("import mmap, numpy as np; x = np.frombuffer(mmap.mmap(-1, 8 << 20), 'u1'); x[:] = 1")
        await life.step("x[5_000_000:] = 2")
        assert await read(life, "print(int(steps[1]['x'].sum()), int(x[-1]))") == f"{8 << 20} 2\n"


@pytest.mark.slow
async def test_a_copy_that_is_killed_while_it_is_read_is_no_loss(tmp_path: Path, cache: Path) -> None:
    async with thread(tmp_path, cache) as life:
        await life.step(FILL)
        await life.step(CHANGE)
        assert await read(life, KILLING) == f"[{float(sum(range(1 << 20)))}, {1 << 20}]\n"
        assert await read(life, "print(x[0], float(steps[1]['x'][-1]))") == "1.0 1048575.0\n"


async def test_a_session_that_went_back_reads_the_copies_before_it(tmp_path: Path, cache: Path) -> None:
    async with thread(tmp_path, cache) as life:
        await life.step(FILL)
        second = await life.step(
            "handled = []; import signal; signal.signal(signal.SIGCHLD, lambda *_: handled.append(1))"
        )
        await life.step("x += 1")
        assert (await life.back(second)).lost == ()
        life.steps.pop()
        assert await read(life, "print(float(steps[1]['x'][-1]), float(steps[2]['x'][-1]))") == "1048575.0 1048575.0\n"
        assert await laid_out(life) < 10
        # What a copy does with signals to answer is over when it has taken over.
        fine(await life.run("import subprocess; subprocess.run([':'], shell=True)"))
        assert printed(await life.run("print(handled != [], signal.pthread_sigmask(signal.SIG_BLOCK, []))")) == (
            "True set()\n"
        )
