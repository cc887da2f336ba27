"""Analyses in the emulated Daytona, and those that move there and back in the middle."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import stepwell
from graph.context import Context
from graph.events import CellFinished, Event, Finished, SessionRestored
from graph.settings import Settings
from stepwell.cli.placement import listed
from stepwell.errors import ThreadError
from stepwell.moves import move
from stepwell.runs import resume, start
from tests.analyses import follow, last, only, with_model, write_sales
from tests.daytona.elsewhere import in_emulator
from tests.daytona.emulator import Emulator
from tests.scripted_model import Call, Scripted, ScriptedServer

pytestmark = pytest.mark.slow

PLAN = Call("submit_plan", steps=["Work"])
REVIEW = Call("submit_review", good_enough=True, missing=[])
CELLS = [
    "import pandas as pd\ndf = pd.read_csv('inputs/sales.csv')\nsame = df\nprint(df.shape)",
    "import random, numpy as np\nrandom.seed(7)\nrates = np.arange(12.0)\nview = rates[3:6]\nprint(random.random())",
    "def scale(values):\n    return values * factor\nfactor = 3\nclass Total:\n"
    "    def __init__(self, of): self.of = of\n"
    "total = Total(df)\nprint(scale(2))",
    "same['twice'] = same['units'] * 2\nview[:] = -1\nfactor = 5\nprint(df['twice'].sum(), rates.sum(), scale(2))",
    "numbers = (n * n for n in range(100))\nprint(next(numbers), next(numbers), next(numbers), random.random())",
    "open('outputs/log.txt', 'w').write('five\\n')\nimport decimal\n"
    "with decimal.localcontext() as exact: exact.prec = 50\nthird = exact.divide(1, 3)\nprint(total.of is df)",
    "print(next(numbers), random.random(), third)",
    "open('outputs/log.txt', 'a').write('eight\\n')\nby_region = df.groupby('region')['twice'].sum()\nprint(by_region)",
    "by_region.to_csv('outputs/regions.csv')\ntotal.best = by_region.idxmax()\n"
    "print(total.best, isinstance(total, Total))",
    "import matplotlib.pyplot as plt\nby_region.plot.bar()\n"
    "plt.savefig('outputs/bar.png')\nplt.close()\nprint(same is df)",
    "open('outputs/log.txt', 'a').write('eleven\\n')\nprint(next(numbers), view.base is rates, rates[:5])",
    "print(open('outputs/log.txt').read(), scale(factor), random.random(), len(df), sorted(globals())[:0])",
]
VALUES = (
    "print(df.to_json(), same is df, rates.tolist(), view.tolist(), view.base is rates, factor, scale(2), total.best,\n"
    "      total.of is df, by_region.to_json(), random.random(), third, exact)"
)


@pytest.fixture(scope="module")
def emulated() -> Iterator[Emulator]:
    with Emulator() as emulator:
        yield emulator


@pytest.fixture
def settings(settings: Settings, emulated: Emulator) -> Settings:
    return in_emulator(settings, emulated)


def turn(codes: list[str]) -> list[Scripted]:
    cells: list[Scripted] = [Call("run_python", purpose="work", step=1, code=code) for code in codes]
    return [PLAN, *cells, Call("submit_answer", answer="It is done.", skipped=[]), REVIEW]


async def analysed(settings: Settings, kinds: list[str]) -> tuple[str, list[Finished], list[list[Event]]]:
    """The twelve cells, three in a turn, each turn in a sandbox of its kind."""
    sales = write_sales(settings.home.parent / "sales.csv")
    thread, ends, told = None, [], []
    for number, kind in enumerate(kinds):
        async with ScriptedServer(turn(CELLS[3 * number : 3 * number + 3])) as server:
            run = start(
                "Work" if thread is None else "Go on",
                files=[str(sales)] if thread is None else [],
                thread=thread,
                context=Context(sandbox=kind),
                settings=with_model(settings, server.base_url),
            )
            events = await follow(run)
            told.append(list(events))
            ends.append(last(events, Finished))
            thread = run.thread
    assert thread is not None
    return thread, ends, told


def contents(finished: Finished) -> dict[str, str]:
    """What was published, by content; the script names nothing that differs between the two."""
    return {one["name"]: one["sha256"] for one in finished.artifacts}


async def test_an_analysis_that_moves_after_every_third_step_gives_the_same_as_one_that_stays(
    settings: Settings, emulated: Emulator
) -> None:
    stays, stayed, _ = await analysed(settings, ["local"] * 4)
    moves, moved, told = await analysed(settings, ["local", "daytona", "local", "daytona"])
    assert contents(moved[-1]) == contents(stayed[-1])
    assert [end.answer for end in moved] == [end.answer for end in stayed]
    printed = []
    for thread in (stays, moves):
        async with stepwell.at(thread, settings=settings) as session:
            assert session.receipt.problems == []
            assert [one.name for one in session.receipt.lost] == ["numbers"], session.receipt
            result = await session.run(VALUES)
            assert result.status == "ok", result.error
            printed.append(result.stdout.text)
        shown = await stepwell.show(f"{thread}@12", settings=settings)
        printed.append(str(shown.files) + str([row["name"] for row in shown.namespace]))
    assert printed[:2] == printed[2:]
    for events in told[1:]:
        receipts = only(events, SessionRestored)
        assert [(one.problems, one.lost) for one in receipts] == [([], [])]
    assert [cell.cell["status"] for events in told for cell in only(events, CellFinished)] == ["ok"] * 12
    assert {state for name, state in emulated.states().items() if name.endswith(moves)} == {"stopped"}


async def test_the_same_analysis_publishes_the_same_bytes_in_daytona(settings: Settings, emulated: Emulator) -> None:
    sales = write_sales(settings.home.parent / "sales.csv")
    codes = [
        "import pandas as pd\ndf = pd.read_csv('inputs/sales.csv')\nprint(df['unitz'].sum())",
        "totals = df.groupby('region')['units'].sum()\nprint(totals)\ntotals.to_csv('outputs/totals.csv')\ndf.head(3)",
        "import matplotlib.pyplot as plt\ntotals.plot.bar(title='Units by region')",
        "open('outputs/regions.json', 'w').write(totals.to_json())\nprint(totals.idxmax())",
    ]
    ends, cells = [], []
    before = emulated.counters.copy()
    for kind in ("local", "daytona"):
        async with ScriptedServer(turn(codes)) as server:
            there = with_model(settings, server.base_url)
            events = await follow(start("Which?", files=[str(sales)], context=Context(sandbox=kind), settings=there))
        ends.append(last(events, Finished))
        cells.append([one.cell for one in only(events, CellFinished)])
    assert contents(ends[0]) == contents(ends[1])
    assert {"totals.csv", "regions.json", "figures/cell-003-1.png"} <= contents(ends[0]).keys()
    assert ends[0].answer == ends[1].answer
    told = [
        [
            (one["status"], one["error"], one["observation"].split("\n")[1:], one["figures"], one["files"])
            for one in line
        ]
        for line in cells
    ]
    assert told[0] == told[1]
    spent = (emulated.counters - before).requests
    assert spent["run"] == len(codes)  # one round trip a cell, its snapshot included
    others = 4  # the programs, the input, and what is put where
    assert spent["upload"] <= len(codes) + others


async def test_a_fork_of_an_early_step_runs_on_the_other_side(settings: Settings) -> None:
    thread, _, _ = await analysed(settings, ["local", "local"])
    fork = await stepwell.fork(f"{thread}@2", new_turn=True, settings=settings)
    async with ScriptedServer(turn(["print(rates.sum(), 'factor' in globals(), same is df, len(df))"])) as server:
        run = start(
            "Otherwise", thread=fork, context=Context(sandbox="daytona"), settings=with_model(settings, server.base_url)
        )
        events = await follow(run)
    assert last(events, Finished).answer == "It is done."
    assert "66.0 False True 60" in only(events, CellFinished)[-1].cell["observation"]
    again = await stepwell.fork(f"{fork}@3", new_turn=True, settings=settings)
    async with ScriptedServer(turn(["print(open('inputs/sales.csv').readline(), same is df)"])) as server:
        run = start(
            "And back", thread=again, context=Context(sandbox="local"), settings=with_model(settings, server.base_url)
        )
        events = await follow(run)
    assert "month,region,units,price\n True" in only(events, CellFinished)[-1].cell["observation"]


async def test_a_moved_thread_finds_its_inputs_even_when_the_sandbox_that_it_was_in_is_gone(
    settings: Settings, emulated: Emulator, tmp_path: Path
) -> None:
    sales = write_sales(tmp_path / "sales.csv")
    async with ScriptedServer(turn(["x = len(open('inputs/sales.csv').read())\nprint(x)"])) as server:
        there = with_model(settings, server.base_url)
        run = start("Work", files=[str(sales)], context=Context(sandbox="daytona"), settings=there)
        assert last(await follow(run), Finished).answer
    sales.unlink()
    await emulated.happens(f"{settings.daytona_prefix}-{run.thread}", "deleted")
    moved = await move(run.thread, "local", settings=settings)
    assert (moved.source, moved.target, moved.problems) == ("daytona", "local", ())
    async with ScriptedServer(turn(["print(x == len(open('inputs/sales.csv').read()))"])) as server:
        events = await follow(start("Go on", thread=run.thread, settings=with_model(settings, server.base_url)))
    assert "True" in only(events, CellFinished)[0].cell["observation"]
    assert last(events, Finished).answer
    assert emulated.states().get(f"{settings.daytona_prefix}-{run.thread}") is None


async def test_a_pause_for_approval_costs_nothing_and_resuming_starts_the_sandbox_again(
    settings: Settings, emulated: Emulator
) -> None:
    script = turn(["x = 41\nprint(x)", "print(x + 1)"])
    async with ScriptedServer(script) as server:
        there = with_model(settings, server.base_url)
        run = start("Work", context=Context(sandbox="daytona", approval="cells"), settings=there)
        name = f"{settings.daytona_prefix}-{run.thread}"
        await follow(run)
        assert emulated.states()[name] == "stopped"
        await follow(resume(run.thread, decision=stepwell.Decision("approve"), settings=there))
        assert emulated.states()[name] == "stopped"
        assert emulated.processes(name) == set()
        events = await follow(resume(run.thread, decision=stepwell.Decision("approve"), settings=there))
    assert last(events, Finished).answer
    assert "42" in only(events, CellFinished)[0].cell["observation"]
    assert [one.problems for one in only(events, SessionRestored)] == [[]]
    assert [(one.name, known, removed) for one, known, removed in await listed(settings, "daytona")] == [
        (name, True, False)
    ]
    await stepwell.delete(run.thread, settings=settings)
    assert name not in emulated.states()


async def test_pruning_removes_what_no_thread_names_and_nothing_else(settings: Settings, emulated: Emulator) -> None:
    async with ScriptedServer(turn(["print(1)"])) as server:
        there = with_model(settings, server.base_url)
        run = start("Work", context=Context(sandbox="daytona"), settings=there)
        await follow(run)
    elsewhere = settings.model_copy(update={"home": settings.home.parent / "another"})
    assert [removed for _, _, removed in await listed(settings, "daytona", prune=True)] == [False]
    assert [removed for _, _, removed in await listed(elsewhere, "daytona", prune=True)] == [True]
    assert f"{settings.daytona_prefix}-{run.thread}" not in emulated.states()


ELSEWHERE = """
import os

def load(rows):
    if not os.environ.get('DAYTONA_SANDBOX_ID'):
        return Frame(rows)
    raise RecursionError('maximum recursion depth exceeded')

class Frame:
    def __init__(self, rows):
        self.rows = rows

    def __reduce__(self):
        return load, (self.rows,)
"""


async def test_what_cannot_be_loaded_there_is_said_before_a_thread_moves(
    settings: Settings, emulated: Emulator, tmp_path: Path
) -> None:
    here = settings.model_copy(update={"isolation": "process"})
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "frames.py").write_text(ELSEWHERE)
    made = f"import sys; sys.path.insert(0, {str(packages)!r})\nimport frames\ndf = frames.Frame([1])"
    thread, lossy = [], "g = globals()['df']\ndel g\nprint(len(df.rows))"
    for codes in ([made, "n = 6"], [made, lossy]):
        async with ScriptedServer(turn(codes)) as server:
            run = start("Work", settings=with_model(here, server.base_url))
            assert last(await follow(run), Finished).answer
            thread.append(run.thread)
    moved = await move(thread[0], "daytona", settings=here)
    assert moved.differs == ("Made again with the next cell: df (from cell 1).",)
    with pytest.raises(ThreadError, match=r"was not moved: .* df \(made in cell 1.*: RecursionError.* --lossy"):
        await move(thread[1], "daytona", settings=here)
    assert (await move(thread[1], "daytona", settings=here, lossy=True)).differs[0].startswith("Lost: df (")
    async with ScriptedServer(turn(["print(df.rows, n)"])) as server:
        events = await follow(start("Go on", thread=thread[0], settings=with_model(here, server.base_url)))
    assert "[1] 6" in only(events, CellFinished)[0].cell["observation"]
    assert only(events, SessionRestored)[0].rebuilt == ["df (from cell 1)"]
