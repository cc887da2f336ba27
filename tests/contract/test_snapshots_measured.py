"""What the snapshot benchmark's sessions found."""

from tests.contract.conftest import Steps


async def test_a_file_opened_by_a_relative_name_comes_back_when_the_cell_left_its_folder(steps: Steps) -> None:
    await steps.run(
        """
        import os
        os.mkdir("notes")
        for folder in (".", "notes"):
            with open(os.path.join(folder, "lines.txt"), "w") as out:
                out.writelines(f"{folder} {i}\\n" for i in range(9))
        lines = open("lines.txt")
        lines.readline()
        os.chdir("notes")
        """
    )
    await steps.take_up()
    assert await steps.run("print(lines.readline())") == ". 1\n\n"


async def test_a_file_that_was_replaced_after_it_was_opened_is_lost_and_not_mistaken(steps: Steps) -> None:
    await steps.run(
        """
        import os
        with open("a.txt", "w") as out:
            out.write("old")
        held = open("a.txt")
        with open("b.txt", "w") as out:
            out.write("new")
        os.replace("b.txt", "a.txt")
        """
    )
    await steps.take_up(lost=("held",))


async def test_a_module_of_the_workspace_comes_back_however_its_path_is_written(steps: Steps) -> None:
    await steps.run(
        """
        import os, sys
        os.mkdir("code")
        with open("code/counting.py", "w") as out:
            out.write("count = 0")
        sys.path.insert(0, "./code/../code")
        import counting
        counting.count = 5
        """
    )
    await steps.take_up()
    assert await steps.run("print(counting.count)") == "5\n"


async def test_a_duckdb_connection_with_an_open_transaction_is_lost_and_named(steps: Steps) -> None:
    """Its rows are not visible to anybody else yet: without a word they would be missing."""
    await steps.run(
        """
        import duckdb
        con = duckdb.connect()
        con.execute("create table t (a integer)")
        con.execute("begin")
        con.execute("insert into t values (1)")
        """
    )
    await steps.keep()
    await steps.take_up(lost=("con",))
    assert "transaction" in steps.taken.lost[0].reason


async def test_a_snapshot_leaves_a_duckdb_result_that_is_still_being_fetched(steps: Steps) -> None:
    await steps.run(
        """
        import duckdb
        con = duckdb.connect()
        con.execute("select range from range(100000)")
        print(con.fetchone())
        """
    )
    await steps.keep()
    assert await steps.run("print(con.fetchone())") == "(1,)\n"
    await steps.run("con.fetchall(); con.execute('create table t as select 7 as a')")
    await steps.take_up()
    assert await steps.run("print(con.execute('select a from t').fetchall())") == "[(7,)]\n"
