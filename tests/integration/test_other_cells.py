"""Cells with SQL, a shell, R and JavaScript: frames pass between them, and steps hold for them as for Python."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from graph.context import Context
from graph.events import ApprovalAsked, CellFinished, Finished
from graph.settings import Settings
from graph.state import Cell
from stepwell.forks import fork_thread
from stepwell.replays import ReplayedCell, ReplayEnd, replay
from stepwell.restored_step import at
from stepwell.runs import Decision, resume, start
from tests.analyses import follow, last, only, with_model, write_sales
from tests.scripted_model import Call, Scripted, ScriptedServer

pytestmark = pytest.mark.timeout(200)

LOAD = 'import pandas as pd\nsales = pd.read_csv("inputs/sales.csv")'
TOTALS = "%%sql totals\nselect region, sum(units) as units from sales group by region order by region;"
KEPT = "%%sql\ncreate table kept as select * from totals; select count(*) as n from kept"
FROM_FILE = "%%sql\nselect count(*) as n from 'inputs/sales.csv'"
SHELL = "%%bash\nwc -l < inputs/sales.csv > outputs/lines.txt\ncat outputs/lines.txt"


def cell(code: str) -> Call:
    return Call("run_python", purpose=code.splitlines()[0], code=code)


def answered() -> Call:
    return Call("submit_answer", answer="Done.", skipped=[])


async def cells_of(settings: Settings, tmp_path: Path, *codes: str) -> tuple[str, list[Cell]]:
    """A thread whose cells are these, after LOAD."""
    replies: list[Scripted] = [*map(cell, (LOAD, *codes)), answered()]
    table = write_sales(tmp_path / "sales.csv")
    async with ScriptedServer(replies) as server:
        model = with_model(settings, server.base_url)
        run = start("Sums", files=[table], settings=model, context=Context(review="never"))
        events = await follow(run)
    assert isinstance(events[-1], Finished)
    return run.thread, [event.cell for event in only(events, CellFinished)][1:]


async def test_sql_sees_frames_files_and_what_it_made_before(settings: Settings, tmp_path: Path) -> None:
    thread, (totals, kept, file, used) = await cells_of(
        settings, tmp_path, TOTALS, KEPT, FROM_FILE, "print(type(totals).__name__, list(totals.region))"
    )
    assert [one["status"] for one in (totals, kept, file, used)] == ["ok"] * 4
    assert "north" in totals["observation"]
    assert "3" in kept["observation"].splitlines()[-1]
    assert "60" in file["observation"].splitlines()[-1]
    assert "DataFrame ['east', 'north', 'south']" in used["observation"]
    assert any(one["kind"] == "result" and "<table" in one.get("html", "") for one in totals["outputs"])
    async with at(f"{thread}@4", settings=settings) as session:  # from snapshots, in another process
        again = await session.run("%%sql\nselect sum(units) as n from kept")
        assert again.status == "ok"
        (shown,) = again.displays
        own = await session.run("print(int(sales.units.sum()))")
        assert own.stdout.text.strip() in shown.text
        wrong = await session.run("%%sql\nselect nothing from kept")
        assert wrong.error is not None
        assert "nothing" in wrong.error.message


async def test_a_shell_runs_in_the_same_walls_and_its_files_belong_to_the_step(
    settings: Settings, tmp_path: Path
) -> None:
    thread, (shell, failed, outside) = await cells_of(
        settings, tmp_path, SHELL, "%%bash\nexit 3", "%%bash\ntouch /usr/mine 2>/dev/null || echo refused"
    )
    assert "61" in shell["observation"]
    assert [one["path"] for one in shell["files"]] == ["outputs/lines.txt"]
    assert failed["status"] == "error"
    assert "exit status 3" in failed["error"]
    assert "refused" in outside["observation"]
    replayed = [one async for one in replay(thread, settings)]
    assert [one.differences for one in replayed if isinstance(one, ReplayedCell)] == [()] * 4
    assert isinstance(replayed[-1], ReplayEnd)
    assert replayed[-1].same


async def test_a_database_in_a_file_is_asked_where_it_lies(settings: Settings, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as shop:
        shop.executescript("create table orders (id integer, total real); insert into orders values (1, 2.5), (2, 4)")
    replies: list[Scripted] = [
        cell("%%sql orders --db inputs/shop.db\nselect count(*) as n, sum(total) as total from orders"),
        cell("%%sql --db outputs/own.duckdb\ncreate table t as select 42 as x"),
        cell("%%sql found --db outputs/own.duckdb\nselect x from t"),
        cell("print(orders.total[0], found.x[0], 'database' in globals())"),
        answered(),
    ]
    async with ScriptedServer(replies) as server:
        model = with_model(settings, server.base_url)
        run = start("Sums", files=[tmp_path / "shop.db"], settings=model, context=Context(review="never"))
        cells = [event.cell for event in only(await follow(run), CellFinished)]
    assert [one["status"] for one in cells] == ["ok"] * 4, cells
    assert "6.5 42 False" in cells[3]["observation"]


@pytest.mark.slow
async def test_a_fork_has_the_frames_and_tables_of_its_step(settings: Settings, tmp_path: Path) -> None:
    thread, _ = await cells_of(settings, tmp_path, TOTALS, KEPT)
    async with ScriptedServer([cell("%%sql\nselect count(*) + 100 as n from kept, totals"), answered()]) as server:
        model = with_model(settings, server.base_url)
        forked = await fork_thread(thread, step=3, new_turn=True, settings=settings)
        events = await follow(start("Go on", thread=forked, settings=model, context=Context(review="never")))
    assert "109" in only(events, CellFinished)[-1].cell["observation"]


async def test_an_edit_at_an_approval_may_be_sql_and_what_is_shown_is_what_runs(settings: Settings) -> None:
    async with ScriptedServer([cell("%%sql\nselect 1 as x"), answered()]) as server:
        model = with_model(settings, server.base_url)
        context = Context(approval="cells", review="never")
        asked = last(await follow(start("One", settings=model, context=context)), ApprovalAsked)
        assert asked.code.startswith("import duckdb")
        decision = Decision("edit", code="%%sql answer\nselect 40 + 2 as x")
        events = await follow(resume(asked.thread, decision=decision, settings=model, context=Context(approval="none")))
    done = only(events, CellFinished)[-1].cell
    assert "answer = duckdb.execute" in done["code"]
    assert "42" in done["observation"]


@pytest.mark.skipif(shutil.which("node") is None, reason="cells with JavaScript need node on this machine")
async def test_javascript_takes_and_gives_frames(settings: Settings, tmp_path: Path) -> None:
    script = (
        "%%js -i sales -o totals\nimport { readdirSync } from 'node:fs';\nconsole.log(readdirSync('inputs')[0]);\n"
        "const totals = [{ units: sales.reduce((sum, row) => sum + row.units, 0), name: 'ü' }];"
    )
    _, (ran, used, failed) = await cells_of(
        settings,
        tmp_path,
        script,
        "print(totals.units[0] == sales.units.sum(), totals.name[0])",
        "%%js\nthrow Error('no')",
    )
    assert "sales.csv" in ran["observation"]
    assert "True ü" in used["observation"]
    assert failed["status"] == "error"
    assert "Error: no" in failed["observation"]


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="cells with R need Rscript on this machine")
async def test_r_takes_and_gives_frames(settings: Settings, tmp_path: Path) -> None:
    script = "%%r -i sales -o totals\ntotals <- aggregate(units ~ region, sales, sum)\ncat('rows', nrow(sales), '\\n')"
    _, (ran, used, failed) = await cells_of(
        settings,
        tmp_path,
        script,
        "print(totals.units.sum() == sales.units.sum(), list(totals.region))",
        "%%r\nstop('no')",
    )
    assert "rows 60" in ran["observation"]
    assert "True ['east', 'north', 'south']" in used["observation"]
    assert failed["status"] == "error"
    assert "no" in failed["observation"]
