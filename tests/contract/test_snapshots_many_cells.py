"""A session with many cells or modules: their code is kept, and a step costs what it did at the beginning."""

import pytest

from sandboxes.inside.kernel.snapshots.cell_sources import GROUP
from tests.contract.conftest import Steps

LOCAL = pytest.mark.parametrize("steps", ["local"], indirect=True)
"""Nothing of this is of one kind of sandbox, and elsewhere so many cells take long."""
COUNTED = """
calls = 0
def count(frame, event, value):
    global calls
    calls += event == "call"
import sys
sys.setprofile(count)
"""


async def _run_up_to(steps: Steps, number: int) -> None:
    while steps.number < number:
        await steps.run(f"""
            def divide{steps.number + 1}(a):
                return a / 0  # of cell {steps.number + 1}
        """)


async def _run_small_ones_up_to(steps: Steps, number: int) -> None:
    while steps.number < number:
        await steps.run(f"row = [{steps.number}] * 10; row[0] += 1")


@LOCAL
async def test_the_code_of_many_cells_is_kept(steps: Steps) -> None:
    for count in (GROUP - 1, GROUP, 2 * GROUP + 3):
        await _run_up_to(steps, count)
        await steps.take_up()
    for number in (1, GROUP, GROUP + 1, 2 * GROUP + 3):
        result = await steps.sandbox.run(f"divide{number}(1)", number=steps.number + 1, timeout=60)
        assert result.error is not None
        assert f"return a / 0  # of cell {number}\n" in result.error.traceback


@LOCAL
async def test_code_is_kept_where_cells_have_forgotten_that_of_others(steps: Steps) -> None:
    await _run_up_to(steps, GROUP + 1)
    await steps.keep()
    await steps.run("import linecache; linecache.cache.pop('<cell 2>'); linecache.cache.pop('<cell 51>')")
    await steps.take_up()
    known = "[name in linecache.cache for name in ('<cell 1>', '<cell 2>', '<cell 50>', '<cell 51>', '<cell 52>')]"
    assert await steps.run(f"print({known})") == "[True, False, True, False, True]\n"


@LOCAL
async def test_a_step_of_a_session_with_many_cells_calls_no_more_than_an_early_one(steps: Steps) -> None:
    """Counted in calls of functions, which no other process changes."""
    counts = []
    for cells in (30, 330):
        await _run_small_ones_up_to(steps, cells)
        for _ in range(3):
            await steps.keep()
        await steps.run(COUNTED)
        await steps.keep()
        counts.append(int(await steps.run("import sys; sys.setprofile(None); print(calls)")))
    assert counts[1] <= 1.1 * counts[0], counts


@LOCAL
async def test_a_step_asks_nothing_of_modules_that_were_there(steps: Steps) -> None:
    """Asking each writes to the page that it is on, which a frozen copy then has for itself."""
    counts = []
    await steps.run("import encodings, pkgutil, sys; exec('def mine(): return 1', space := {})")
    await steps.run("names = [f'encodings.{one.name}' for one in pkgutil.iter_modules(encodings.__path__)]")
    for code in ("new = 0", "new = len([__import__(name) for name in names if '.cp' in name or '.iso' in name])"):
        await steps.run(code)
        for _ in range(3):
            await steps.keep()
        await steps.run(COUNTED)
        await steps.keep()
        counts.append(int(await steps.run("sys.setprofile(None); print(calls)")))
    await steps.run("assert new > 50")
    assert counts[1] <= counts[0] + 50, counts


@LOCAL
async def test_what_a_step_of_a_session_with_many_cells_writes_is_small(steps: Steps) -> None:
    sizes = []
    for cells in (30, 330):
        await _run_small_ones_up_to(steps, cells)
        await steps.keep()
        await steps.run("row[1] += 1")
        sizes.append((await steps.keep()).bytes)
    assert sizes[1] <= 2 * sizes[0], sizes
