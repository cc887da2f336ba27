"""Databases of duckdb in memory come back with their tables, one for all the connections that share it."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.conftest import Steps


async def test_the_tables_of_the_module_itself(steps: Steps) -> None:
    await steps.run("""
        import duckdb, pandas as pd
        df = pd.DataFrame({"a": [1, 2]})
        duckdb.sql("create table t as select sum(a)::int as s from df")
        duckdb.sql("create view v as select s + 1 as more from t")
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        duckdb.sql("insert into t values (7)")
        print(duckdb.sql("select * from t order by s").fetchall(), duckdb.query("select * from v").df()["more"].tolist(), duckdb.sql("select count(*) from df").fetchall())
    """)
        == "[(3,), (7,)] [4, 8] [(2,)]\n"
    )
    await steps.take_up()
    assert await steps.run("print(duckdb.sql('select count(*) from t').fetchall())") == "[(2,)]\n"


async def test_connections_that_share_a_database_go_on_sharing_it(steps: Steps) -> None:
    await steps.run("""
        import duckdb
        one, other = duckdb.connect(), duckdb.connect()
        cursor = one.cursor(); held = [cursor.cursor()]
        own = duckdb.default_connection(); own.execute("create table z (a int)")
        named, again = duckdb.connect(":memory:name"), duckdb.connect(":memory:name")
        one.execute("create table t (a int)"); named.execute("create table n (a int)")
    """)
    for _ in range(2):
        await steps.take_up()
    assert (
        await steps.run("""
        one.execute("insert into t values (1)"); held[0].execute("insert into t values (2)"); named.execute("insert into n values (5)")
        duckdb.sql("insert into z values (3)")
        print(cursor.execute("select * from t").fetchall(), other.execute("show tables").fetchall(), own.execute("select * from z").fetchall(), again.execute("select * from n").fetchall())
    """)
        == "[(1,), (2,)] [] [(3,)] [(5,)]\n"
    )


async def test_a_result_that_is_half_read_is_not_taken_away_by_the_snapshot(steps: Steps) -> None:
    await steps.run("""
        import duckdb
        memory, file = duckdb.connect(), duckdb.connect("d.duckdb")
        for connection in (memory, file):
            connection.execute("set enable_progress_bar = false")  # shown after two seconds
            connection.execute("select * from range(5)"); connection.fetchone()
    """)
    await steps.keep()
    assert await steps.run("print(memory.fetchone(), file.fetchall())") == "(1,) [(1,), (2,), (3,), (4,)]\n"


async def test_what_a_connection_cannot_take_along_is_named(steps: Steps) -> None:
    await steps.run("""
        import duckdb
        temporary, closed, macro, fine = (duckdb.connect() for _ in range(4))
        temporary.execute("create temp table q as select 1 as a"); closed.close(); macro.execute("create temp macro inc(x) as x + 1")
        fine.execute("create table t as select 1 as a")
    """)
    receipt = await steps.take_up(lost=("temporary", "closed", "duckdb's inc"))
    reasons = {one.name: one.reason for one in receipt.lost}
    assert "temporary tables" in reasons["temporary"]
    assert "closed" in reasons["closed"]
    assert "temporary macro" in reasons["duckdb's inc"]
    assert await steps.run("print(fine.execute('select * from t').fetchall())") == "[(1,)]\n"


async def test_types_and_names_of_columns(steps: Steps) -> None:
    await steps.run("""
        import duckdb
        con = duckdb.connect()
        con.execute('''create table "my ""table" ("a b" int, "select" text default 'd', ts timestamp, u uuid, m map(int, text), s struct(a int, b date), bl blob, h hugeint, iv interval, tm time, bits bit, l int[][])''')
        con.execute('''insert into "my ""table" values (1, null, '2020-01-01 00:00:00', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', map{1: 'a'}, {'a': 2, 'b': '2020-01-02'}, 'abc'::blob, 170141183460469231731687303715884105727, interval 1 month, '12:00', '101', [[1], null])''')
        con.execute('create unique index i on "my ""table"("a b")')
        look = lambda: (con.execute('select * from "my ""table"').fetchall(), con.execute('describe "my ""table"').fetchall())
        before = look()
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        print(look() == before or (look(), before))
        try: con.execute('insert into "my ""table" ("a b") values (1)')
        except duckdb.ConstraintException: print("unique")
    """)
        == "True\nunique\n"
    )
