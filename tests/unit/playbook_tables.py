"""Tables for the playbook's tests, and what holds for every analysis of one."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.unit.playbook_host import Analysis, abstract, numbers_not_printed

EXAMPLE = Path(__file__).parents[2] / "examples" / "birdstrikes.csv"
CSV = "pd.read_csv('inputs/{0}')"


def put(folder: Path, table: pd.DataFrame, name: str = "table.parquet") -> str:
    """Write a table into the inputs; its abstract."""
    path = folder / "inputs" / name
    if name.endswith(".csv"):
        table.to_csv(path, index=False)
        return abstract(f"inputs/{name}", f"pd.read_csv('inputs/{name}')")
    if name.endswith(".pkl"):
        table.to_pickle(path)
        return abstract(f"inputs/{name}", f"pd.read_pickle('inputs/{name}')")
    table.to_parquet(path)
    return abstract(f"inputs/{name}", f"pd.read_parquet('inputs/{name}')")


def birdstrikes(folder: Path) -> str:
    (folder / "inputs" / "birdstrikes.csv").write_bytes(EXAMPLE.read_bytes())
    return abstract("inputs/birdstrikes.csv", CSV.format("birdstrikes.csv"))


def strikes(folder: Path) -> str:
    """A few of the sample's rows and columns, for what does not depend on them."""
    columns = ["Flight Date", "Phase of flight", "Cost Repair", "Speed IAS in knots"]
    table = pd.read_csv(EXAMPLE, usecols=columns).iloc[::8]
    return put(folder, table, "strikes.csv")


def sound(analysis: Analysis) -> None:
    """What holds for every analysis that the playbook ends."""
    assert "built-in playbook, not a language model" in analysis.answer
    assert "STEPWELL_MODEL" in analysis.answer
    assert len(analysis.cells) <= 14
    assert numbers_not_printed(analysis) == []


def nasty(kind: str) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    n = 200
    x, ab = rng.normal(size=n), rng.choice(["a", "b"], n)
    days = pd.date_range("2020-01-01", periods=n, freq="9D", tz="Asia/Tokyo")
    tables: dict[str, Any] = {
        "no numbers": {"colour": rng.choice(["red", "green"], n), "shape": rng.choice(["round", "square", "flat"], n)},
        "no rows": {"a": pd.Series(dtype=float), "b": pd.Series(dtype=str)},
        "one column": {"value": x},
        "one row": {"a": [1], "b": ["x"], "when": ["2020-01-01"]},
        "all missing": {"a": [None] * n, "b": [float("nan")] * n},
        "thousand columns": {f"x{i}": rng.normal(size=60) for i in range(1000)},
        "chinese": {"城市": ["北京", "上海"] * (n // 2), "销售额": x, "日期": ["2023年5月1日", "2024年1月9日"] * 100},
        "booleans": {"yes": x > 0.5, "maybe": [True, False, None, True] * (n // 4), "x": x},
        "time zones": {"when": days, "x": x},
        "identifier": {"customer_id": range(1000, 1000 + n), "amount": x + 50, "name": [f"n{i}" for i in range(n)]},
        "integers as categories": {"class": rng.integers(1, 4, n), "fare": x, "year": rng.integers(2001, 2012, n)},
        "dollar names": {"$a_{b$": x, "cost $ and $^x$": x**3, "g$": rng.choice(["$x$", "$_{"], n)},
        "infinities": {"x": [float("inf"), -float("inf"), *x[2:]], "g": ab},
        "numbers as text": {"price": [f"$1,{i:03d}.50" for i in range(n - 1)] + ["n/a"], "zip": [f"0{i}" for i in x]},
        "nested": {"tags": [["a", "b"], ["c"]] * (n // 2), "x": x},
        "time spans": {"wait": pd.to_timedelta(rng.integers(1, 900, n), unit="s"), "g": ab},
        "nullable": {
            "n": pd.array([1, None, 3, 4] * (n // 4), dtype="Int64"),
            "b": pd.array([True, None] * (n // 2), dtype="boolean"),
        },
        "categories": {"c": pd.Categorical(ab, ["a", "mid", "b"], ordered=True), "x": x},
        "constant": {"x": [5] * n, "y": [5.0] * n, "g": ["a"] * n},
        "formulas": {"=1+1": rng.choice(["=cmd()", "+1", "@x"], n), "x\x01y": x},
        "mixed types": {"v": [1, "two", 3.0, None, pd.Timestamp("2020-01-01")] * (n // 5), "x": x},
        "mixed offsets": {"when": ["2020-01-01T00:00:00+01:00", "2020-07-01T00:00:00+02:00"] * (n // 2), "x": x},
    }  # fmt: skip
    if kind == "twice the same name":
        table = pd.DataFrame(rng.normal(size=(n, 3)))
        table.columns = ["x", "x", ""]
        return table
    return pd.DataFrame(tables[kind])


KINDS = [
    "no numbers", "no rows", "one column", "one row", "all missing", "thousand columns", "chinese", "booleans",
    "time zones", "identifier", "integers as categories", "dollar names", "infinities", "numbers as text", "nested",
    "time spans", "nullable", "categories", "constant", "formulas", "mixed types", "twice the same name",
]  # fmt: skip
