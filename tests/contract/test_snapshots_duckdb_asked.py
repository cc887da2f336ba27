"""Snapshots ask connections of duckdb one statement as long as nothing ran, and else all that may have changed."""

# ruff: noqa: E501 (the lines of cells)

import itertools

import pytest

from tests.contract.conftest import Steps

pytestmark = pytest.mark.parametrize("steps", ["local"], indirect=True)
"""What the kernel asks is the same everywhere."""

WAYS = {
    # name: what is done to `c`, what is looked at afterwards, what comes of it
    "set": ("c.execute(\"set default_order = 'DESC'\")", "setting(c, 'default_order')", "DESC"),
    "set global": ("c.execute(\"set global default_null_order = 'NULLS FIRST'\")", "setting(c, 'default_null_order')", "NULLS_FIRST"),
    "pragma": ("c.execute('pragma disable_progress_bar'); c.execute(\"pragma default_order = 'DESC'\")", "setting(c, 'default_order')", "DESC"),
    "reset": ("c.execute('reset errors_as_json')", "setting(c, 'errors_as_json')", "False"),
    "relation": ("c.sql(\"set default_order = 'DESC'\")", "setting(c, 'default_order')", "DESC"),
    "cursor": ("c.cursor().execute('set global threads = 1')", "setting(c, 'threads')", "1"),
    "kept cursor": ("k.execute(\"set session default_null_order = 'NULLS FIRST'\")", "setting(k, 'default_null_order') + setting(c, 'default_null_order')", "NULLS_FIRSTNULLS_LAST"),
    "thread": ("t = threading.Thread(target=lambda: c.execute(\"set default_order = 'DESC'\")); t.start(); t.join(); del t", "setting(c, 'default_order')", "DESC"),
    "transaction": ("c.begin(); c.execute(\"set default_order = 'DESC'\"); c.execute('insert into t values (2)'); c.commit()", "setting(c, 'default_order'), rows(c)", "DESC [1, 2]"),
    "rollback": ("c.begin(); c.execute('insert into t values (2)'); c.rollback()", "rows(c)", "[1]"),
    "error after": ("try_(lambda: c.execute(\"set default_order = 'DESC'; select * from nothing\"))", "setting(c, 'default_order')", "DESC"),
    "insert": ("c.execute('insert into t values (2)')", "rows(c)", "[1, 2]"),
    "many": ("c.executemany('insert into t values (?)', [[2], [3]])", "rows(c)", "[1, 2, 3]"),
    "append": ("c.append('t', pd.DataFrame({'a': [2]}))", "rows(c)", "[1, 2]"),
    "appender": ("a.flush(); del a", "rows(c)", "[1, 2]"),
    "returning": ("c.execute('insert into t values (2) returning a').fetchall()", "rows(c)", "[1, 2]"),
    "prepared": ("c.execute('prepare q as insert into t values (2)'); c.execute('execute q'); c.execute('deallocate q')", "rows(c)", "[1, 2]"),
    "insert into": ("c.table('t').insert([2])", "rows(c)", "[1, 2]"),
    "create": ("c.sql('select 2 as a').create('more')", "c.execute('select a from more').fetchall()", "[(2,)]"),
    "view": ("c.sql('select 3 as a').create_view('seen')", "c.execute('select a from seen').fetchall()", "[(3,)]"),
    "alter": ("c.execute('alter table t add column b integer default 5')", "c.execute('select b from t').fetchall()", "[(5,)]"),
    "drop": ("c.execute('drop table t')", "c.execute('show tables').fetchall()", "[]"),
    "schema": ("c.execute('create schema s')", "c.execute(\"select count(*) from duckdb_schemas() where schema_name = 's'\").fetchall()", "[(1,)]"),
    "copy": ("open('rows.csv', 'w').write('a\\n2\\n'); c.execute(\"copy t from 'rows.csv'\")", "rows(c)", "[1, 2]"),
    "commit of a table": ("c.commit()", "c.execute('from u').fetchall()", "[(2,)]"),
    "commit of a drop": ("c.commit()", "c.execute('show tables').fetchall()", "[]"),
    "detach": ("c.execute('detach o')", "rows(c)", "[1]"),
}  # fmt: skip
BEFORE = {
    "reset": "c.execute('set errors_as_json = true')",
    "kept cursor": "k = c.cursor()",
    "appender": "a = c.appender('t'); a.append_row(2)",
    "commit of a table": "c.begin(); c.execute('create table u as select 2 as a')",
    "commit of a drop": "c.begin(); c.execute('drop table t')",
    "detach": "c.execute(\"attach ':memory:' as o\")",
}

HELPERS = """
import duckdb, threading, pandas as pd
def setting(c, name): return str(c.execute(f"select current_setting('{name}')").fetchall()[0][0])
def rows(c): return [a for (a,) in c.execute("select a from t order by a asc").fetchall()]
def try_(act):
    try: act()
    except duckdb.Error: pass
"""


def _each(cells: dict[str, str]) -> str:
    """One cell for all ways, in which each has its own connection."""
    names = list(WAYS)
    lines = [line for way, cell in cells.items() for line in (f"c = c{names.index(way)}", cell)]
    return "\n".join([*lines, "del c"])


@pytest.mark.slow
async def test_whatever_changes_a_database_or_a_connection_is_in_the_next_snapshot(steps: Steps) -> None:
    made = [
        f"c{number} = duckdb.connect(); c{number}.execute('create table t as select 1 as a')"
        for number in range(len(WAYS))
    ]
    await steps.run(HELPERS)
    await steps.run("\n".join(made))
    await steps.run(_each(BEFORE))
    await steps.keep()
    await steps.run("one = 1")
    await steps.keep()
    await steps.run(_each({way: act for way, (act, _, _) in WAYS.items()}))
    await steps.take_up()
    printed = await steps.run(_each({way: f"print({way!r}, {look})" for way, (_, look, _) in WAYS.items()}))
    assert printed.splitlines() == [f"{way} {found}" for way, (_, _, found) in WAYS.items()]


@pytest.mark.parametrize(
    ("made", "used", "asked"),
    [
        ("con = duckdb.connect(); con.execute('create table t as select 1 as a')", "con", 1),
        ("con = duckdb.connect('d.duckdb'); con.execute('create table t as select 1 as a')", "con", 1),
        ("con = duckdb.connect(); con.execute('create table t as select 1 as a'); cur = con.cursor()", "con", 2),
        pytest.param(
            "con = duckdb.connect('d.duckdb'); again = duckdb.connect('d.duckdb')", "con", 2, marks=pytest.mark.slow
        ),
        pytest.param("con, other = duckdb.connect(), duckdb.connect()", "con", 1, marks=pytest.mark.slow),
        ("duckdb.execute('select 1').fetchall()", "duckdb", 1),
        ("duckdb.execute('create table t as select 1 as a')", "duckdb", 2),
        ("duckdb.execute('create table t as select 1 as a'); rel = duckdb.sql('from t')", "duckdb", 2),
    ],
)
async def test_a_snapshot_runs_a_statement_or_two_where_nobody_has_run_one(
    steps: Steps, made: str, used: str, asked: int
) -> None:
    """Duckdb numbers statements: two snapshots more are so many more, each with its own for who meets a connection."""
    await steps.run(f"import duckdb; {made}")
    numbers = []
    for snapshots in (3, 3, 3, 1, 3):
        numbers.append(int(await steps.run(f"print({used}.execute('select current_query_id()').fetchall()[0][0])")))
        for _ in range(snapshots):
            await steps.keep()
            await steps.run("pass")
    numbers.append(int(await steps.run(f"print({used}.execute('select current_query_id()').fetchall()[0][0])")))
    _, _, three, one, more = (now - before for before, now in itertools.pairwise(numbers))
    assert (three, more) == (one + 2 * asked, one + 2 * asked)


async def test_a_connection_in_the_middle_of_a_result_is_asked_once_in_a_snapshot_whoever_holds_it(
    steps: Steps,
) -> None:
    await steps.run(
        "import duckdb; con = duckdb.connect(); cur = con.cursor(); con.execute('create table t as select 1 as a')"
    )
    await steps.run("rels = [con.sql('from t') for _ in range(2)]; of, by = {'con': con}, con.sql('from t')")
    await steps.run("res = con.execute('select * from range(100000)'); head = res.fetchone()")
    numbers = []
    for _ in range(4):
        numbers.append(int(await steps.run("print(cur.execute('select current_query_id()').fetchall()[0][0])")))
        await steps.keep()
    assert {"con", "of", "res"} <= {one.name for one in steps.taken.lost}
    # Most are asked of the cursor, of which a statement was run; each of the others would need seven.
    assert max(now - before for before, now in itertools.pairwise(numbers)) < 25


@pytest.mark.slow
async def test_what_does_not_come_back_of_a_connection_is_named_as_long_as_it_is_there(steps: Steps) -> None:
    await steps.run(
        "import duckdb, pandas as pd; frame = pd.DataFrame({'a': [1]}); con = duckdb.connect(); con.execute('create table t (a integer)')"
    )
    for act, lost in (
        ("con.execute('insert into t values (1)')", ()),
        ("con.execute('insert into t values (2)')", ()),
        ("con.create_function('plus', lambda a: a + 1, ['BIGINT'], 'BIGINT')", ("duckdb's plus",)),
        ("pass", ("duckdb's plus",)),
        ("con.remove_function('plus')", ()),
        ("con.register('seen', frame)", ("duckdb's seen",)),
        ("con.unregister('seen')", ()),
        ("con.execute('prepare q as select 1')", ("duckdb's q",)),
        ("con.execute('deallocate q')", ()),
        ("con.execute('create temp table own as select 1 as a')", ("con",)),
        ("pass", ("con",)),
        ("con.execute('drop table own')", ()),
        ("con.execute(\"attach ':memory:' as other\")", ("con",)),
        ("con.execute('detach other')", ()),
        ("con.execute('create macro more(x) as x + 1')", ()),
        ("con.execute('create temp macro own(x) as x + 1')", ("duckdb's own",)),
        ("con.execute('drop macro own; drop macro more')", ()),
        ("con.execute('create sequence s maxvalue 3 cycle')", ()),
        ("con.execute(\"select nextval('s')\").fetchall()", ("con",)),
        ("con.execute('drop sequence s')", ()),
        ("con.execute('create view of_frame as select * from frame')", ("duckdb's of_frame",)),
        ("con.execute('drop view of_frame')", ()),
        ("con.begin(); con.execute('insert into t values (3)')", ("con",)),
        ("con.execute('select * from range(100000)'); con.fetchone()", ("con",)),
        ("con.fetchall(); pass", ("con",)),
        ("con.rollback()", ()),
        ("cur = con.cursor(); cur.begin(); cur.create_function('plus', lambda a: a + 1, ['BIGINT'], 'BIGINT')", ("cur",)),
        ("con.execute('insert into t values (4)')", ("cur",)),
        ("cur.commit()", ("duckdb's plus",)),
        ("cur.remove_function('plus'); cur.close(); del cur", ()),
        ("con.close()", ("con",)),
    ):  # fmt: skip
        await steps.run(act)
        taken = await steps.keep()
        assert (act, tuple(one.name for one in taken.lost)) == (act, lost)


@pytest.mark.slow
async def test_a_profile_that_is_switched_on_without_a_statement_is_seen(steps: Steps) -> None:
    await steps.run("import duckdb; con = duckdb.connect()")
    await steps.keep()
    await steps.run("con.enable_profiling()")
    await steps.take_up()
    assert "disabled" not in await steps.run("print(con.get_profiling_information())")
    await steps.keep()
    await steps.run("con.disable_profiling()")
    await steps.take_up()
    assert "disabled" in await steps.run("print(con.get_profiling_information())")


@pytest.mark.slow
async def test_the_default_connection_is_kept_once_a_cell_has_used_it_and_not_made_by_a_snapshot(steps: Steps) -> None:
    threads = "import os; print(len(os.listdir('/proc/self/task')))"
    assert await steps.run(f"import duckdb; {threads}") == "1\n"
    await steps.keep()
    assert await steps.run(threads) == "1\n"
    await steps.run("con = duckdb.connect()")
    await steps.keep()
    before = await steps.run(threads)
    await steps.keep()
    assert await steps.run(threads) == before
    for act, look, found in (
        (
            "duckdb.sql(\"set TimeZone = 'Asia/Tokyo'\")",
            "duckdb.sql(\"select current_setting('TimeZone')\").fetchall()",
            "[('Asia/Tokyo',)]",
        ),
        ("duckdb.execute('create table t as select 1 as a')", "duckdb.sql('from t').fetchall()", "[(1,)]"),
        (
            "duckdb.set_default_connection(con); con.execute('create table u as select 2 as a')",
            "duckdb.sql('from u').fetchall()",
            "[(2,)]",
        ),
    ):
        await steps.run(act)
        await steps.take_up()
        assert await steps.run(f"print({look})") == found + "\n"


async def test_what_is_only_in_the_default_connection_is_named(steps: Steps) -> None:
    await steps.run("import duckdb; duckdb.create_function('plus', lambda a: a + 1, ['BIGINT'], 'BIGINT')")
    assert [one.name for one in (await steps.keep()).lost] == ["duckdb's plus"]
    await steps.run("duckdb.remove_function('plus'); duckdb.execute('create temp table own as select 1 as a')")
    assert [one.name for one in (await steps.keep()).lost] == ["duckdb's default connection"]


async def test_a_default_connection_that_cannot_be_asked_is_named(steps: Steps) -> None:
    await steps.run("""
        import duckdb
        duckdb.execute("create table t as select range as a, repeat('x', 50) as b from range(200000)")
        duckdb.execute("set memory_limit = '300kB'")
    """)
    assert [one.name for one in (await steps.keep()).lost] == ["duckdb's default connection"]


@pytest.mark.slow
async def test_beside_a_thread_that_may_run_anything_all_is_asked_each_time(steps: Steps) -> None:
    await steps.run("""
        import duckdb, threading
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        con, other = duckdb.connect(), duckdb.connect()
        con.execute("create table t as select 1 as a"); cur = con.cursor()
        number = lambda: con.execute("select current_query_id()").fetchall()[0][0]
        first = number()
    """)
    await steps.keep()
    await steps.run("second = number()")
    await steps.keep()
    assert await steps.run("print(number() - second > 5)") == "True\n"
    await steps.run("cur.execute('insert into t values (2)')")
    await steps.take_up()
    await steps.run("con.execute('insert into t values (3)')")
    assert (
        await steps.run("print(cur.execute('from t').fetchall(), other.execute('show tables').fetchall())")
        == "[(1,), (2,), (3,)] []\n"
    )


async def test_the_tables_of_a_large_database_are_not_kept_twice_in_memory(steps: Steps) -> None:
    await steps.run(
        "import duckdb; con = duckdb.connect(); con.execute('create table t as select range as a from range(4000000)')"
    )
    await steps.keep()
    await steps.run("one = 1")
    await steps.take_up()
    assert (
        await steps.run("print(con.execute('select count(*), sum(a) from t').fetchall())")
        == "[(4000000, 7999998000000)]\n"
    )
