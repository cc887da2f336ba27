"""A window of a variable: part of a table as text, whatever kind of table it is, and whatever its values do."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sandboxes.inside.kernel.windows import TEXT, WHOLE, window, write

ROWS = {"a": list(range(10)), "b": [f"<{n}>" for n in range(10)], "c": [None] * 10}


@pytest.mark.parametrize("table", [pd.DataFrame(ROWS, dtype=object), pl.DataFrame(ROWS), pa.table(ROWS)])
def test_a_frame_of_any_library_shows_the_same_part(table: Any) -> None:
    shown = window(table, 4, 0, 3, 2)
    assert (shown["rows"], shown["columns"]) == (10, 3)
    assert shown["labels"] == ["a", "b"]
    assert shown["index"] == ["4", "5", "6"]
    assert shown["cells"] == [["4", "<4>"], ["5", "<5>"], ["6", "<6>"]]
    assert window(table, 8, 1, 5, 5)["cells"][-1] == ["<9>", "None"]
    assert window(table, 100, 0, 5, 5)["cells"] == []


def test_columns_of_the_same_name_and_a_named_index_are_kept() -> None:
    frame = pd.DataFrame([[1, 2], [3, 4]], columns=["x", "x"], index=["p", "q"])
    shown = window(frame, 0, 0, 9, 9)
    assert shown["labels"] == ["x", "x"]
    assert shown["index"] == ["p", "q"]
    assert shown["cells"] == [["1", "2"], ["3", "4"]]


@pytest.mark.parametrize(
    ("value", "cells"),
    [
        (pd.Series([5, 6, 7], name="s"), [["6"]]),
        (np.array([5, 6, 7]), [["6"]]),
        (np.array([[5, 0], [6, 1]]), [["6", "1"]]),
        ([5, 6, 7], [["6"]]),
        ((5, 6), [["6"]]),
        ({"k": 5, "l": 6}, [["6"]]),
    ],
)
def test_what_has_rows_is_shown_as_a_table(value: Any, cells: list[list[str]]) -> None:
    assert window(value, 1, 0, 1, 9)["cells"] == cells


class Wild:
    def __str__(self) -> str:
        raise RuntimeError("no")


class WildFrame(pd.DataFrame):
    @property
    def iloc(self) -> Any:
        raise RuntimeError("no")

    def __str__(self) -> str:
        return "wild"


FRAME = {"n": [2, None, 10, 1], "s": ["b", "a", None, "c"]}


@pytest.mark.parametrize(
    "table", [pd.DataFrame(FRAME, dtype=object), pd.DataFrame(FRAME), pl.DataFrame(FRAME), pa.table(FRAME)]
)
def test_a_whole_table_is_sorted_by_a_column_and_what_is_missing_comes_last(table: Any) -> None:
    assert window(table, 0, 1, 9, 1, sort=0)["index"] == ["3", "0", "2", "1"]
    down = window(table, 1, 1, 2, 1, sort=0, descending=True)
    assert (down["index"], down["cells"]) == (["0", "3"], [["b"], ["c"]])
    assert window(table, 0, 1, 9, 1, sort=1)["index"] == ["1", "0", "3", "2"]
    assert window(table, 0, 0, 1, 1, sort=0)["sorted"] is True
    assert window(table, 0, 0, 1, 1, sort=7) == window(table, 0, 0, 1, 1)


@pytest.mark.parametrize("value", [[3, "x", 1, None], (3, "x", 1, None), np.array([3, "x", 1, None], dtype=object)])
def test_what_cannot_be_compared_is_sorted_by_its_text(value: Any) -> None:
    assert window(value, 0, 0, 9, 1, sort=0)["cells"] == [["1"], ["3"], ["x"], ["None"]]
    assert window(value, 0, 0, 2, 1, sort=0, descending=True)["index"] == ["1", "0"]
    assert window({"k": 5, "l": 1}, 0, 0, 1, 1, sort=0)["index"] == ["l"]
    assert window(pd.Series([3, "x", 1]), 0, 0, 9, 1, sort=0)["index"] == ["2", "0", "1"]


@pytest.mark.parametrize(
    ("value", "missing"),
    [
        (pd.DataFrame({"n": [1.0, None], "s": ["None", None], "d": [pd.Timestamp("2024-05-01"), pd.NaT]}),
         [[1, 0], [1, 1], [1, 2]]),
        (pd.DataFrame({"n": pd.array([1, None], dtype="Int64"), "s": ["nan", pd.NaT]}), [[1, 0], [1, 1]]),
        (pl.DataFrame({"n": [1.0, None], "s": ["None", None]}), [[1, 0], [1, 1]]),
        (pa.table({"n": [1.0, None], "s": ["nan", None]}), [[1, 0], [1, 1]]),
        (np.array([1, np.nan], dtype="float32"), [[1, 0]]),
        (np.array(["2024-05-01", "NaT"], dtype="datetime64[s]"), [[1, 0]]),
        (["None", None, float("nan"), Wild(), ...], [[1, 0], [2, 0]]),
    ],
)  # fmt: skip
def test_what_is_missing_is_told_from_texts_that_read_the_same(value: Any, missing: list[list[int]]) -> None:
    assert sorted(window(value, 0, 0, 9, 9)["missing"]) == missing


def test_a_row_whose_label_is_missing_says_so() -> None:
    frame = pd.DataFrame({"n": [1, 2, 3]}, index=pd.Index(["None", None, "x"]))
    assert window(frame, 0, 0, 9, 9)["unnamed"] == [1]
    assert window(frame, 1, 0, 9, 9)["unnamed"] == [0]
    assert window({None: 1, "nan": 2}, 0, 0, 9, 9)["unnamed"] == [0]


def test_types_are_told_and_days_are_shown_without_their_midnight() -> None:
    days = pd.to_datetime(["2024-05-01", None, "2024-05-03"])  # type: ignore[arg-type]
    frame = pd.DataFrame({"day": days, "at": days + pd.Timedelta("1s"), "f": [0.1, 1, 2]}, index=days)
    shown = window(frame, 0, 0, 1, 9)
    assert [one.partition("[")[0] for one in shown["types"]] == ["datetime64", "datetime64", "float64"]
    assert shown["cells"] == [["2024-05-01", "2024-05-01 00:00:01", "0.1"]]
    assert shown["index"] == ["2024-05-01"]
    assert window(frame, 1, 0, 1, 1)["cells"] == [["NaT"]]
    late = window(pd.DataFrame({"day": [*days, pd.Timestamp("2024-05-04 08:00")]}), 0, 0, 1, 1)
    assert late["cells"] == [["2024-05-01 00:00:00"]], "the whole column counts, not the rows that are shown"
    assert window(pd.DataFrame({"day": days.tz_localize("UTC")}), 0, 0, 1, 1)["cells"] == [
        ["2024-05-01 00:00:00+00:00"]
    ]
    assert window(pl.DataFrame({"day": list(days[[0, 2]])}), 0, 0, 1, 1)["cells"] == [["2024-05-01"]]


def test_values_that_raise_are_shown_all_the_same() -> None:
    assert window([Wild()], 0, 0, 9, 9)["cells"] == [["(RuntimeError while it was shown)"]]
    assert window(Wild(), 0, 0, 9, 9) == {"text": "(RuntimeError while it was shown)"}
    assert window(WildFrame({"a": [1]}), 0, 0, 9, 9) == {"text": "wild"}


def test_texts_are_cut() -> None:
    assert len(window(["x" * 9_999], 0, 0, 1, 1)["cells"][0][0]) == TEXT
    assert len(window("x" * 99_999, 0, 0, 1, 1)["text"]) == WHOLE


@pytest.mark.parametrize("ending", ["parquet", "csv", "xlsx"])
def test_a_table_in_a_file_is_shown_like_a_variable(ending: str, tmp_path: Path) -> None:
    file, said = tmp_path / f"Sales.{ending}", tmp_path / "said.json"
    frame = pd.DataFrame({"region": ["north", "south"], "units": [7, 9]})
    if ending == "xlsx":
        with pd.ExcelWriter(file) as book:
            frame.to_excel(book, sheet_name="first", index=False)
            frame.to_excel(book, sheet_name="second", index=False)
    else:
        getattr(frame, f"to_{ending}")(file, index=False)
    write(str(said), str(file), 0, 0, 5, 5, 1, descending=True)
    shown = json.loads(said.read_text())
    assert shown["cells"] == [["south", "9"], ["north", "7"]]
    assert shown["type"] == ("sheet first; its other sheets are not shown: second" if ending == "xlsx" else "table")
    file.write_bytes(b"\xff no table")
    write(str(said), str(file), 0, 0, 5, 5)
    assert ending == "csv" or "It cannot be read as a table" in json.loads(said.read_text())["text"]
    write(str(said), str(tmp_path), 0, 0, 5, 5)
    assert json.loads(said.read_text()) == {"kind": "gone"}


def test_a_delimited_text_is_shown_as_it_is_written(tmp_path: Path) -> None:
    file, said = tmp_path / "out.csv", tmp_path / "said.json"
    file.write_bytes("Straße;umsatz;plz;n\nNord;1,5;01067;10\nNA;2,5;None;9\n".encode("cp1252"))
    write(str(said), str(file), 0, 0, 5, 5, 3)
    shown = json.loads(said.read_text())
    assert shown["labels"] == ["Straße", "umsatz", "plz", "n"]
    assert shown["cells"] == [["NA", "2,5", "None", "9"], ["Nord", "1,5", "01067", "10"]]
