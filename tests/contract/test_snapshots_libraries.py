"""What analyses hold in variables comes back equal in a new process: frames, arrays, models, figures, connections."""

# ruff: noqa: E501 (the lines of cells)

import pytest

from tests.contract.conftest import Steps

FRAMES = """
import datetime, decimal
import numpy as np, pandas as pd
def frames():
    n = 3_000
    wide = pd.DataFrame({
        "int": np.arange(n), "float": np.linspace(0, 1, n), "bool": np.arange(n) % 2 == 0, "i1": np.arange(n).astype("i1"),
        "text": [f"t{i % 7}" for i in range(n)], "objects": [{"a": i} if i % 2 else None for i in range(n)],
        "category": pd.Categorical([["x", "y", None][i % 3] for i in range(n)], categories=["y", "x", "z"], ordered=True),
        "date": pd.date_range("2020-01-01", periods=n, freq="h"), "tz": pd.date_range("2020", periods=n, tz="Asia/Tokyo"),
        "delta": pd.to_timedelta(np.arange(n), unit="s"), "period": pd.period_range("1900-01", periods=n, freq="M"),
        "Int64": pd.array([None, *range(n - 1)], dtype="Int64"), "boolean": pd.array([None, *[True] * (n - 1)], dtype="boolean"),
        "Float32": pd.array([1.5, *[None] * (n - 1)], dtype="Float32"), "string": pd.array(["a", None] * (n // 2), dtype="string"),
        "interval": pd.interval_range(0, n), "sparse": pd.arrays.SparseArray([0] * (n - 1) + [1]),
        "arrow": pd.array([None, *range(n - 1)], dtype="int64[pyarrow]"),
        "arrow_text": pd.array(["é", None, "zz"] * (n // 3), dtype="string[pyarrow]"),
        "decimal": pd.array([decimal.Decimal("1.5")] * n, dtype=pd.ArrowDtype(__import__("pyarrow").decimal128(5, 2))),
        "complex": np.full(n, 1 + 2j), "days": [datetime.date(2020, 1, 1)] * n,
    })
    wide.attrs["source"] = {"file": "a.csv"}
    index = pd.MultiIndex.from_product([["a", "b"], pd.date_range("2020", periods=2)], names=["k", None])
    many = pd.DataFrame(np.arange(16.0).reshape(4, 4), index=index, columns=pd.MultiIndex.from_tuples([(1, "x"), (1, "y"), (2, "x"), (2, "y")]))
    doubled = pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"], index=pd.Index(["r", "r"], name="i"))
    return {
        "wide": wide, "filtered": wide[wide["int"] % 3 == 0], "many": many, "doubled": doubled,
        "empty": pd.DataFrame({"a": pd.Series([], dtype="M8[s]")}), "grouped": wide.groupby("text", observed=True)["float"].agg(["mean", "sum"]),
        "pivot": wide.pivot_table(index="category", columns="bool", values="int", observed=False),
        "cut": wide[["int"]].assign(bin=pd.cut(wide["int"], 5)), "resampled": wide.set_index("date")[["float"]].resample("D").mean(),
    }
def differences(kept):
    found = []
    for name, frame in frames().items():
        try: pd.testing.assert_frame_equal(kept[name], frame, check_freq=True, check_flags=True)
        except AssertionError as error: found.append((name, str(error)))
        if kept[name].attrs != frame.attrs: found.append((name, "attrs"))
        if [str(a) for a in kept[name].dtypes] != [str(a) for a in frame.dtypes]: found.append((name, "dtypes"))
    return found
"""


async def test_frames_of_all_dtypes(steps: Steps) -> None:
    await steps.run(
        FRAMES + "kept = frames()\ngroups = kept['wide'].groupby('text')\nrolled = kept['wide']['float'].rolling(3)"
    )
    for _ in range(2):
        await steps.take_up()
    assert await steps.run("print(differences(kept), groups.ngroups, rolled.mean().iloc[2] > 0)") == "[] 7 True\n"


@pytest.mark.parametrize("steps", ["local"], indirect=True)
async def test_classes_of_modules_that_nobody_has_imported_yet_go_by_their_names(steps: Steps) -> None:
    await steps.run("""
        import numpy as np
        structured = np.zeros(3, dtype=[("a", "i4"), ("b", "f8")]); records = structured.view(np.recarray)
    """)
    await steps.take_up()
    told = await steps.run("""
        records.a[1] = 5
        print(type(records) is np.recarray, type(records[1]) is np.record, structured["a"].tolist())
    """)
    assert told == "True True [0, 5, 0]\n"


@pytest.mark.parametrize("steps", ["local"], indirect=True)
@pytest.mark.parametrize("module", ["lib.calendar", "calendar"])
async def test_a_class_of_a_library_that_went_by_its_name_and_was_replaced_since(steps: Steps, module: str) -> None:
    await steps.run("import calendar; old = calendar.Calendar; one = old(2)")
    await steps.keep()
    await steps.run("""
        class Calendar(calendar.Calendar): extra = 5
        calendar.Calendar = Calendar; two = calendar.Calendar(3)
    """)
    if module != "calendar":  # and says that it is of a module that there is not
        await steps.run(f"old.__module__ = {module!r}")
    told = """
        print(type(one) is old, type(two) is calendar.Calendar, two.extra, old is calendar.Calendar,
              issubclass(type(two), old), one.firstweekday, two.firstweekday, old.__module__)
    """
    before = await steps.run(told)
    await steps.take_up()
    assert await steps.run(told) == before


@pytest.mark.parametrize("steps", ["local"], indirect=True)
async def test_structured_arrays_keep_what_lies_between_their_fields(steps: Steps) -> None:
    """Byte for byte: views of the memory see it, and it is none of what the process had there before."""
    await steps.run("""
        import hashlib, numpy as np
        gaps = np.dtype([("a", "u1"), ("b", "f8"), ("c", [("x", "i2"), ("y", "S3")])], align=True)
        def filled(count): return np.arange(count * gaps.itemsize).astype("u1").view(gaps)
        small, large = filled(50), filled(5_000)
        turned = filled(24).reshape(4, 6).T; apart = filled(24)[::3].view(np.recarray); zero = filled(1).reshape(()).copy()
        bytes_of = lambda one: hashlib.sha256(np.ascontiguousarray(one.view(np.ndarray).view(f"V{gaps.itemsize}")).tobytes()).hexdigest()
        def told(): return [bytes_of(one) for one in (small, large, turned, apart)], small.flags.owndata, zero.flags.owndata
    """)
    before = await steps.run("print(told())")
    for _ in range(2):
        await steps.take_up()
        assert await steps.run("print(told())") == before


async def test_memory_maps_are_the_file_again(steps: Steps) -> None:
    await steps.run("""
        import numpy as np
        mapped = np.memmap("m.bin", "f8", "w+", shape=(100, 10)); mapped[:] = 1
        part = mapped[5]
        fixed = np.memmap("m.bin", "f8", "r", shape=(1000,))
        private = np.memmap("m.bin", "f8", "c", shape=(1000,)); private[0] = 5
        total = mapped + 1
        mapped[0, 0] = 3
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        part[0] = 8; mapped[9, 9] = 9; mapped.flush()
        again = np.fromfile("m.bin")
        print(again[50], again[99], again[0], fixed[50], private[0], private[50], float(total.sum()), type(mapped).__name__, fixed.flags.writeable)
    """)
        == "8.0 9.0 3.0 8.0 5.0 1.0 2000.0 memmap False\n"
    )


@pytest.mark.slow
async def test_fitted_models_predict_the_same(steps: Steps) -> None:
    await steps.run("""
        import numpy as np, pandas as pd
        import statsmodels.api as sm, statsmodels.formula.api as smf
        from sklearn.compose import ColumnTransformer
        from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
        rng = np.random.default_rng(0)
        x = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200), "c": rng.choice(list("xyz"), 200)})
        y = 2 * x["a"] - x["b"] + rng.normal(size=200)
        scale = 2
        def scaled(values): return values * scale
        columns = ColumnTransformer([("n", make_pipeline(StandardScaler(), FunctionTransformer(scaled)), ["a", "b"]), ("c", OneHotEncoder(), ["c"])])
        models = [make_pipeline(columns, model).fit(x, y) for model in (RandomForestRegressor(5, random_state=0), HistGradientBoostingRegressor())]
        ols = smf.ols("y ~ a + b + C(c)", data=x.assign(y=y)).fit()
        logit = sm.GLM(y > 0, sm.add_constant(x[["a", "b"]]), family=sm.families.Binomial()).fit()
        def results():
            return [model.predict(x).tolist() for model in models], ols.params.tolist(), ols.predict(x).tolist(), str(logit.params.tolist())
        kept = results()
    """)
    await steps.take_up()
    assert (
        await steps.run("print(results() == kept, ols.rsquared > 0.5, len(str(ols.summary())) > 500)")
        == "True True True\n"
    )


async def test_figures_in_variables_can_be_drawn_on(steps: Steps) -> None:
    await steps.run("""
        import io, matplotlib.pyplot as plt, numpy as np
        fig, axes = plt.subplots(2, 2, sharex=True)
        line, = axes[0, 0].plot([1, 2, 3], [4, 5, 6], label="a")
        axes[1, 1].imshow(np.arange(12).reshape(3, 4)); axes[0, 1].set_title("t"); axes[1, 0].hist([1, 2, 2])
        def picture():
            out = io.BytesIO(); fig.savefig(out, format="png", metadata={"Software": None}); return out.getvalue()
        before = picture()
    """)
    first = await steps.keep()
    second = await steps.keep()
    assert first.id == second.id, "a figure that was not touched is stored again"
    await steps.take_up()
    assert (
        await steps.run("""
        print(picture() == before, line.axes is axes[0, 0], fig.axes[0] is axes[0, 0], axes[0, 0].get_lines()[0] is line)
        line.set_ydata([9, 9, 9]); print(picture() != before)
    """)
        == "True True True True\nTrue\n"
    )


async def test_polars_and_pyarrow(steps: Steps) -> None:
    await steps.run("""
        import datetime
        import polars as pl, pyarrow as pa
        n = 5_000
        frame = pl.DataFrame({
            "i": range(n), "f": [i / 3 for i in range(n)], "s": [f"text {i}" for i in range(n)], "n": [None, *range(n - 1)],
            "d": [datetime.date(2020, 1, 1)] * n, "t": [datetime.datetime(2020, 1, 1)] * n, "l": [[1, 2]] * n, "st": [{"a": 1, "b": "x"}] * n,
        }).with_columns(c=pl.col("s").cast(pl.Categorical), e=pl.lit("x").cast(pl.Enum(["x", "y"])), dec=pl.lit("1.10").str.to_decimal(scale=2))
        same = frame
        series, empty, lazy = frame["s"], frame.clear(), frame.lazy().filter(pl.col("i") > 4_990)
        table = pa.table({"a": list(range(n)), "b": pa.array(["x", None] * (n // 2)).dictionary_encode()})
        part, column = table.slice(10, 5), table["a"]
        kept = frame.schema, frame.to_dicts()
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        print(frame.schema == kept[0], frame.to_dicts() == kept[1], same is frame, series.equals(frame["s"]), series.name, empty.schema == kept[0])
        print(lazy.collect().height, table.num_rows, part["a"].to_pylist(), column[7], table["b"].type)
    """)
        == "True True True True s True\n9 5000 [10, 11, 12, 13, 14] 7 dictionary<values=string, indices=int32, ordered=0>\n"
    )


@pytest.mark.parametrize("steps", ["local"], indirect=True)
async def test_a_snapshot_leaves_open_transactions_alone(steps: Steps) -> None:
    await steps.run("""
        import sqlite3
        plain, busy, filed = sqlite3.connect(":memory:"), sqlite3.connect(":memory:"), sqlite3.connect("f.db")
        for one in (plain, busy, filed): one.execute("create table t (a)"); one.commit()
        for one in (busy, filed): one.execute("insert into t values (1)")
        spilled = sqlite3.connect("s.db"); spilled.execute("pragma cache_size = 10"); spilled.execute("create table t (a)")
        rows = spilled.executemany("insert into t values (?)", [("x" * 500,)] * 1000).rowcount
    """)
    taken = await steps.keep()
    assert {one.name for one in taken.lost} == {"spilled"}
    printed = await steps.run(
        "print([(c.in_transaction, c.execute('select count(*) from t').fetchall()) for c in (busy, filed, spilled)])"
    )
    assert printed == "[(True, [(1,)]), (True, [(1,)]), (True, [(1000,)])]\n"


async def test_sqlite_in_memory_and_by_path(steps: Steps) -> None:
    await steps.run("""
        import sqlite3
        memory = sqlite3.connect(":memory:"); memory.row_factory = sqlite3.Row
        memory.execute("create table t (a integer, b text)"); memory.execute("create index i on t (a)"); memory.execute("insert into t values (1, 'x')"); memory.commit()
        file = sqlite3.connect("data.db"); file.execute("create table u (a)"); file.execute("insert into u values (5)"); file.commit()
        blank = sqlite3.connect(":memory:")
        closed = sqlite3.connect(":memory:"); closed.close()
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        memory.execute("insert into t values (2, 'y')"); blank.execute("create table v (a)")
        print([dict(row) for row in memory.execute("select * from t")], file.execute("select a from u").fetchall())
        file.execute("insert into u values (6)"); file.commit()
        print(sqlite3.connect("data.db").execute("select a from u").fetchall())
        try: closed.execute("select 1")
        except sqlite3.ProgrammingError as error: print(error)
    """)
        == "[{'a': 1, 'b': 'x'}, {'a': 2, 'b': 'y'}] [(5,)]\n[(5,), (6,)]\nCannot operate on a closed database.\n"
    )


async def test_a_database_in_memory_stays_one_however_often_it_comes_back(steps: Steps) -> None:
    await steps.run("""
        import os, sqlite3
        memory = sqlite3.connect(":memory:"); memory.execute("create table t (a)"); memory.commit()
        mine = sqlite3.connect(":memory:"); mine.deserialize(memory.serialize())
    """)
    for value in range(3):
        await steps.run(f"for one in (memory, mine): one.execute('insert into t values ({value})'); one.commit()")
        await steps.take_up()
    rows = "print([[row for row, in one.execute('select a from t')] for one in (memory, mine)], os.listdir('.'))"
    assert (await steps.run(rows)).startswith("[[0, 1, 2], [0, 1, 2]]")


async def test_a_sqlite_database_that_another_was_loaded_into(steps: Steps) -> None:
    """It counts its transactions anew, and here has had as many as before."""
    await steps.run("""
        import sqlite3
        con, other = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
        con.execute("create table t (a)"); other.execute("create table u (a)"); data = other.serialize()
    """)
    await steps.keep()
    await steps.run("con.deserialize(data); con.execute('insert into u values (1)'); con.commit()")
    await steps.take_up()
    assert await steps.run("print(con.execute('select a from u').fetchall())") == "[(1,)]\n"


async def test_duckdb_in_memory_and_by_path(steps: Steps) -> None:
    await steps.run("""
        import duckdb
        memory = duckdb.connect()
        memory.execute("create schema s"); memory.execute("create table s.t (a integer primary key, b decimal(5, 2) not null, c varchar[])")
        memory.execute("insert into s.t values (1, 2.5, ['x'])"); memory.execute("create table empty (d date default current_date)")
        memory.execute("create view v as select a + 1 as a1 from s.t")
        file = duckdb.connect("data.duckdb"); file.execute("create table u as select 5 as a")
    """)
    await steps.take_up()
    assert (
        await steps.run("""
        print(memory.execute("select * from s.t").fetchall(), memory.execute("select * from v").fetchall(), memory.execute("select count(*) from empty").fetchone())
        try: memory.execute("insert into s.t values (1, 1, [])")
        except duckdb.ConstraintException: print("the key holds")
        print(file.execute("select * from u").fetchall())
    """)
        == "[(1, Decimal('2.50'), ['x'])] [(2,)] (0,)\nthe key holds\n[(5,)]\n"
    )


async def test_open_files_go_on_where_they_were_and_are_never_emptied(steps: Steps) -> None:
    await steps.run(r"""
        text = "".join(f"zeile ä {i}\n" for i in range(2_000))
        open("r.txt", "w").write(text)
        reading = open("r.txt"); reading.readline()
        looping = open("r.txt")
        for number, line in enumerate(looping):
            if number == 4: break
        raw = open("r.txt", "rb"); raw.seek(10)
        writing = open("w.txt", "w"); writing.write("one\n")
        adding = open("a.txt", "a"); adding.write("one\n")
        both = open("b.txt", "w+"); both.write("abcdef"); both.seek(2)
        with open("r.txt", encoding="latin-1") as closed: pass
    """)
    await steps.take_up()
    assert await steps.run(r"""
        print(repr(reading.readline()), repr(next(looping)), raw.tell(), both.read(), closed.closed, closed.name, closed.encoding, closed.mode)
        writing.write("two\n"); writing.flush(); adding.write("two\n"); adding.flush()
        print(repr(open("w.txt").read()), repr(open("a.txt").read()), len(open("r.txt").read()) == len(text))
        print(reading.mode, raw.mode, writing.mode, writing.readable(), adding.mode, both.mode)
    """) == (
        r"'zeile ä 1\n' 'zeile ä 5\n' 10 cdef True r.txt latin-1 r" + "\n" + r"'one\ntwo\n' 'one\ntwo\n' True" + "\n"
        "r rb w False a w+\n"
    )


async def test_generators_of_numbers_go_on_where_they_were(steps: Steps) -> None:
    await steps.run("""
        import random, numpy as np
        random.seed(1); np.random.seed(2)
        own, rng, old = random.Random(3), np.random.default_rng(4), np.random.RandomState(5)
        shared = {"rng": rng}
        drawing = random.random
        draw = lambda: [random.random(), drawing(), float(np.random.rand()), own.random(), float(rng.random()), float(old.rand()), float(shared["rng"].random())]
        draw()
    """)
    taken = await steps.keep()
    expected = await steps.run("print(draw())")
    await steps.take_up_at(taken.id)
    assert await steps.run("print(draw())") == expected


@pytest.mark.parametrize("steps", ["local"], indirect=True)
async def test_a_snapshot_reads_nothing_of_an_answer(steps: Steps) -> None:
    await steps.run("""
        import io, requests
        answer = requests.Response(); answer.raw = io.BytesIO(b"one two"); print(answer.raw.read(3))
    """)
    taken = await steps.keep()
    assert [lost.name for lost in taken.lost] == ["answer"]
    assert await steps.run("print(answer.raw.read(4))") == "b' two'\n"


@pytest.mark.slow
@pytest.mark.parametrize("steps", ["local"], indirect=True)
async def test_what_is_written_into_a_tree_is_kept_and_reaches_it_again(steps: Steps) -> None:
    await steps.run("""
        import numpy as np
        from sklearn.tree import DecisionTreeRegressor
        X = np.random.default_rng(0).random((3000, 2)); model = DecisionTreeRegressor(random_state=0).fit(X, X[:, 0])
        values = model.tree_.value
    """)
    await steps.keep()
    for number in (7.0, 3.0):
        await steps.run(f"values[:] = {number}")
        await steps.take_up()
        assert await steps.run("print(model.predict(X[:1]), values[0, 0])") == f"[{number:.0f}.] [{number:.0f}.]\n"
