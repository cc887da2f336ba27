"""The playbook when cells fail, break off, are rejected or run out."""

from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest

from tests.unit.playbook_host import Analysis, abstract
from tests.unit.playbook_tables import CSV, EXAMPLE, nasty, put, sound, strikes

pytestmark = pytest.mark.slow

matplotlib.use("Agg")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("inputs", "outputs"):
        (tmp_path / name).mkdir()
    return tmp_path


async def test_times_of_mixed_offsets_become_utc_at_the_second_try(folder: Path) -> None:
    analysis = Analysis(folder, put(folder, nasty("mixed offsets"), "table.pkl"))
    answer = await analysis.ask("What is in it?")
    sound(analysis)
    assert [cell.status for cell in analysis.cells[:3]] == ["ok", "error", "ok"]
    assert "'when' became dates, 2019-12-31 to 2020-06-30; 0 values could not be read" in answer


def with_bad_dates(folder: Path) -> str:
    table = pd.read_csv(EXAMPLE, keep_default_na=False)
    table.loc[[100, 1500, 3000], "Flight Date"] = ["unknown", "1990-13-45", "??"]
    return put(folder, table, "strikes.csv")


async def test_dates_that_cannot_be_read_are_counted_after_the_strict_try_failed(folder: Path) -> None:
    analysis = Analysis(folder, with_bad_dates(folder))
    answer = await analysis.ask("When do birds strike?")
    sound(analysis)
    assert [cell.status for cell in analysis.cells[:3]] == ["ok", "error", "ok"]
    assert "The last cell failed" in analysis.cells[2].thought
    assert "3 values could not be read and count as missing (such as 'unknown')" in answer
    assert analysis.skipped == []
    assert "'None' in 'Effect Amount of damage' is kept" in answer


@pytest.mark.parametrize(
    ("written", "first", "taken"),
    [
        (["31/12/2020", "01/02/2021", "15/03/2021", "soon"], "2020-12-31", "day"),
        (["12/31/2020", "01/02/2021", "03/15/2021", "soon"], "2020-12-31", "month"),
        (["2021-07-01", "31.12.2021", "2021-08-09", "2021-07-02"], "2021-07-01", "day"),
    ],
)
async def test_the_order_of_day_and_month_is_told_by_the_values(
    folder: Path, written: list[str], first: str, taken: str
) -> None:
    analysis = Analysis(
        folder, put(folder, pd.DataFrame({"day": written[:3] * 30 + written[3:], "x": range(91)}), "t.csv")
    )
    answer = await analysis.ask("?")
    sound(analysis)
    assert f"became dates, {first}" in answer
    assert f"the {taken} is taken to come first" in answer
    assert "as the first value suggests" not in answer  # what the first try assumed


async def test_an_expression_that_fails_is_followed_by_other_ways_to_read(folder: Path) -> None:
    (folder / "inputs" / "gbk.csv").write_bytes("城市;数量\n北京;1\n上海;2\n坏;3;4;5\n广州;6\n".encode("gb18030"))
    analysis = Analysis(folder, abstract("inputs/gbk.csv", CSV.format("gbk.csv")))
    answer = await analysis.ask("What is in it?")
    sound(analysis)
    assert [cell.status for cell in analysis.cells[:2]] == ["error", "ok"]
    assert "gbk.csv has 3 rows and 2 columns" in answer
    assert "read with other settings" in answer


async def test_a_table_that_cannot_be_read_in_any_way_ends_in_an_answer(folder: Path) -> None:
    analysis = Analysis(folder, abstract("inputs/gone.csv", CSV.format("gone.csv")))
    answer = await analysis.ask("What is in it?")
    sound(analysis)
    assert "inputs/gone.csv could not be read as a table" in answer
    assert len(analysis.cells) <= 4


async def test_a_step_that_fails_twice_is_left_out_and_named(folder: Path) -> None:
    def fault(number: int, code: str) -> str:
        return f"cell {number} · error · 0.1 s\nValueError: no" if "kruskal" in code or "far = []" in code else ""

    analysis = Analysis(folder, strikes(folder), fault=fault)
    answer = await analysis.ask("?")
    sound(analysis)
    assert [cell.status for cell in analysis.cells].count("error") == 4
    assert analysis.skipped == ["6: it failed twice"]
    assert "Look for outliers: it failed twice" in answer
    assert "Look for values far from the rest (it failed twice)" in answer
    assert "Rows per year" in answer


async def test_a_column_that_the_error_names_is_left_out(folder: Path) -> None:
    def fault(number: int, code: str) -> str:
        broken = "kruskal" in code and "error_text" not in code
        return f"cell {number} · error · 0.1 s\nTypeError: cannot rank 'Cost Repair'" if broken else ""

    analysis = Analysis(folder, strikes(folder), fault=fault)
    answer = await analysis.ask("?")
    sound(analysis)
    assert "'Cost Repair': a step failed on this" in answer
    assert "'Speed IAS in knots' differs by" in answer
    assert "'Cost Repair' differs by" not in answer


@pytest.mark.parametrize("status", ["timeout", "killed"])
async def test_a_cell_that_breaks_off_is_tried_again_on_a_sample(folder: Path, status: str) -> None:
    broken: list[int] = []

    def fault(number: int, code: str) -> str:
        if "kruskal" in code and not broken:
            broken.append(number)
            return f"cell {number} · {status} · 120.0 s\nIt was ended."
        return ""

    big = pd.DataFrame({"x": np.arange(60_000) % 977, "g": list("abc") * 20_000})
    analysis = Analysis(folder, put(folder, big, "big.csv"), fault=fault)
    answer = await analysis.ask("?")
    sound(analysis)
    assert broken == [6]
    assert "nrows=50000" in analysis.cells[6].code
    assert "only the first 50,000 rows are used" in answer
    assert "big.csv has 50,000 rows" in answer
    assert analysis.skipped == []
    assert sum("kruskal" in cell.code for cell in analysis.cells) == 2


async def test_what_breaks_off_every_time_is_given_up(folder: Path) -> None:
    def fault(number: int, code: str) -> str:
        return f"cell {number} · timeout · 120.0 s" if "read_csv" in code else ""

    analysis = Analysis(folder, strikes(folder), fault=fault)
    answer = await analysis.ask("?")
    sound(analysis)
    assert len(analysis.cells) <= 4
    assert "took too long" in answer
    assert [item.partition(":")[0] for item in analysis.skipped] == list("1234567")


async def test_a_file_that_every_reading_breaks_off_at_does_not_cost_the_others(folder: Path) -> None:
    def fault(number: int, code: str) -> str:
        if "bomb.csv'," not in code and "'inputs/bomb.csv')" not in code:
            return ""
        begun = "Reading inputs/good.csv\nReading inputs/bomb.csv" if "Reading" in code else ""
        return f"cell {number} · killed · 120.0 s\n{begun}"

    (folder / "inputs" / "good.csv").write_text("g,x\n" + "".join(f"{'ab'[n % 2]},{n % 17}\n" for n in range(100)))
    files = ("good.csv", "bomb.csv")
    abstracts = "".join(abstract(f"inputs/{name}", f"pd.read_csv('inputs/{name}')") for name in files)
    analysis = Analysis(folder, abstracts, fault=fault)
    answer = await analysis.ask("?")
    sound(analysis)
    assert [cell.status for cell in analysis.cells[:3]] == ["killed", "killed", "ok"]
    assert "good.csv has 100 rows" in answer
    assert "Reading inputs/bomb.csv took too long or too much memory." in answer


async def test_no_file_is_blamed_where_the_session_breaks_off_after_all_were_read(folder: Path) -> None:
    def fault(number: int, code: str) -> str:
        if number > 2:
            return ""
        said = [line[len("print('") : -len("', flush=True)")] for line in code.splitlines() if "flush=True" in line]
        return "\n".join([f"cell {number} · killed · 120.0 s", *said])

    for name in ("one.csv", "two.csv"):
        (folder / "inputs" / name).write_text("g,x\n" + "".join(f"{'ab'[n % 2]},{n % 17}\n" for n in range(100)))
    abstracts = "".join(abstract(f"inputs/{name}", f"pd.read_csv('inputs/{name}')") for name in ("one.csv", "two.csv"))
    analysis = Analysis(folder, abstracts, fault=fault)
    answer = await analysis.ask("?")
    sound(analysis)
    assert [cell.status for cell in analysis.cells[:3]] == ["killed", "killed", "ok"]
    assert "Reading inputs/two.csv" not in answer


async def test_a_session_that_lost_its_variables_is_loaded_again(folder: Path) -> None:
    analysis = Analysis(folder, strikes(folder))
    lost: list[int] = []

    def fault(number: int, code: str) -> str:
        if number == 5 and not lost:
            lost.append(number)
            analysis.namespace.clear()
        return ""

    analysis.fault = fault
    answer = await analysis.ask("?")
    sound(analysis)
    assert analysis.cells[4].status == "error"
    assert "read_csv" in analysis.cells[5].code
    assert "nrows" not in analysis.cells[5].code
    assert "'Phase of flight' has " in answer  # found out before the variables were lost
    assert analysis.skipped == []


async def test_a_rejected_cell_is_not_proposed_again(folder: Path) -> None:
    def fault(number: int, code: str) -> str:
        return f"cell {number} · rejected · 0.0 s\nNot run: no outliers, please." if "far = []" in code else ""

    analysis = Analysis(folder, strikes(folder), fault=fault)
    await analysis.ask("?")
    sound(analysis)
    assert sum("far = []" in cell.code for cell in analysis.cells) == 1
    assert analysis.skipped == ["6: the cell was rejected"]


@pytest.mark.parametrize("times", [1, 2])
async def test_a_rejected_loading_cell_is_proposed_once_more(folder: Path, times: int) -> None:
    def fault(number: int, code: str) -> str:
        return f"cell {number} · rejected · 0.0 s\nNot run: shorter." if number <= times else ""

    analysis = Analysis(folder, strikes(folder), fault=fault)
    await analysis.ask("?")
    sound(analysis)
    assert (len(analysis.cells) == 2) == (times == 2)
    assert bool(analysis.skipped) == (times == 2)


@pytest.mark.parametrize("tools", [True, False])
async def test_when_the_cells_run_out_it_answers_with_what_was_seen(folder: Path, tools: bool) -> None:
    analysis = Analysis(folder, strikes(folder), max_cells=4, tools=tools)
    answer = await analysis.ask("?")
    sound(analysis)
    assert len(analysis.cells) == 4
    assert "strikes.csv has 412 rows" in answer
    assert "cells of this turn were used up" in answer
    if tools:
        assert [item.partition(":")[0] for item in analysis.skipped] == list("4567")


async def test_observations_cut_short_do_not_break_the_answer(folder: Path) -> None:
    analysis = Analysis(folder, strikes(folder), observation_chars=300)
    await analysis.ask("?")
    sound(analysis)
    assert [cell.status for cell in analysis.cells] == ["ok"] * 10
