"""What an abstract says to read a file with really works, and gives the table that is in the file."""

import bz2  # noqa: F401  the expressions name it
import csv
import gzip  # noqa: F401
import io
import json  # noqa: F401
import lzma  # noqa: F401
import os
import pathlib
import re
import sqlite3  # noqa: F401
import zipfile  # noqa: F401
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb  # noqa: F401
import openpyxl
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandboxes.inside.profiler.findings import Findings, Inspection, render
from sandboxes.inside.profiler.profiling import profile_file
from sandboxes.inside.profiler.values import classify
from tests import profiled_files as files


def found(path: Path) -> Findings:
    return profile_file(Inspection(os.fspath(path), path.stat().st_size))


def frames(path: Path) -> list[pd.DataFrame]:
    """Evaluate every `read with` of an abstract."""
    abstract = render(os.fspath(path), found(path), 20_000)
    expressions = re.findall(r"(?m)^read with: (.*)$", abstract)
    assert expressions, abstract
    return [eval(expression) for expression in expressions]


def test_a_chinese_file_in_gbk(tmp_path: Path) -> None:
    (frame,) = frames(files.gbk_csv(tmp_path))
    assert list(frame.columns) == ["日期", "城市", "销售额"]
    assert frame["城市"].tolist()[:4] == ["上海", "广州", "深圳", "北京"]
    assert frame["销售额"].sum() == sum(day * 100 for day in range(1, 29))
    assert frame["日期"].iloc[0] == pd.Timestamp(2024, 1, 1)


def test_a_german_file_keeps_codes_and_dates_and_gets_its_numbers(tmp_path: Path) -> None:
    (frame,) = frames(files.german_csv(tmp_path))
    assert frame["Umsatz"].tolist() == [1000.5 + n for n in range(100)]
    assert frame["PLZ"].tolist()[:2] == ["00000", "00001"]
    assert frame["Datum"].iloc[0] == "01.03.2024"
    assert frame["Anzahl"].isna().sum() == 20
    assert frame["Anzahl"].max() == 99
    assert frame["Name"].iloc[3] == "Müller 3"


def test_utf16_with_a_mark(tmp_path: Path) -> None:
    (frame,) = frames(files.utf16_csv(tmp_path))
    assert frame.to_dict("list") == {"name": ["Åsa", "李娜", "Zoë"], "amount": [1, 2, 3]}


def test_quoted_newlines_are_part_of_their_row(tmp_path: Path) -> None:
    path = files.quoted_newlines_csv(tmp_path)
    assert "40 rows (exact)" in found(path).kind
    (frame,) = frames(path)
    assert frame.shape == (40, 3)
    assert frame["note"].iloc[1] == 'line one of 1\nline "two", with a comma'


def test_title_lines_are_skipped(tmp_path: Path) -> None:
    (frame,) = frames(files.titled_csv(tmp_path))
    assert list(frame.columns) == ["day", "shop", "amount"]
    assert frame["amount"].tolist() == [10, 20, 30]


def test_without_a_header_no_row_is_lost(tmp_path: Path) -> None:
    (frame,) = frames(files.headerless_csv(tmp_path))
    assert frame.shape == (50, 3)
    assert frame[0].tolist() == list(range(50))


def test_ragged_rows_lose_nothing(tmp_path: Path) -> None:
    (frame,) = frames(files.ragged_csv(tmp_path))
    assert frame["a"].tolist() == [1, 4, 7, 9]
    assert frame["extra 1"].tolist()[1] == "surplus"


@pytest.mark.slow
def test_an_accent_far_into_the_file_is_seen(tmp_path: Path) -> None:
    (frame,) = frames(files.late_accent_csv(tmp_path))
    assert len(frame) == 50_001
    assert frame["text"].iloc[-1] == "Zoë"


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_compressed_files(tmp_path: Path, suffix: str) -> None:
    (frame,) = frames(files.packed_csv(tmp_path, suffix))
    assert frame["value"].sum() == sum(range(1_000)) * 2


def test_a_compressed_file_that_its_name_does_not_tell(tmp_path: Path) -> None:
    path = tmp_path / "plain.csv"
    path.write_bytes(files.packed_csv(tmp_path, ".gz").read_bytes())
    (frame,) = frames(path)
    assert frame.shape == (1_000, 2)


@pytest.mark.slow
def test_thousands_of_columns(tmp_path: Path) -> None:
    (frame,) = frames(files.wide_csv(tmp_path))
    assert frame.shape == (30, 5_000)


def test_a_member_of_an_archive(tmp_path: Path) -> None:
    (frame,) = frames(files.zip_of_two(tmp_path))
    assert frame["value"].tolist()[-1] == 198


def test_a_workbook_gives_a_frame_for_each_sheet(tmp_path: Path) -> None:
    sales, codes, sums = frames(files.workbook(tmp_path))
    assert list(sales.columns) == ["Day", "Shop", "Amount"]
    assert sales["Amount"].sum() == sum(row * 2.5 for row in range(30))
    assert codes["meaning"].tolist() == ["open", "closed"]
    assert sums.shape == (4, 2)


# pandas 3.1 announces another engine for old workbooks.
@pytest.mark.filterwarnings("ignore:The xlrd engine is deprecated")
def test_an_old_workbook(tmp_path: Path) -> None:
    (frame,) = frames(files.biff2_workbook(tmp_path))
    assert frame.to_dict("list") == {"name": ["one", "two", "three"], "value": [1.5, 2.5, 3.5]}


def test_a_page_that_is_named_like_a_workbook(tmp_path: Path) -> None:
    (frame,) = frames(files.html_workbook(tmp_path))
    assert frame["count"].tolist() == list(range(20))


def test_parquet_and_feather(tmp_path: Path) -> None:
    (frame,) = frames(files.parquet_file(tmp_path))
    assert frame.shape == (20_000, 4)
    (small,) = frames(files.feather_file(tmp_path))
    assert small["id"].tolist() == [1, 2, 3]


def test_json_in_its_shapes(tmp_path: Path) -> None:
    (records,) = frames(files.json_records(tmp_path))
    assert records["address.zip"].tolist()[:2] == ["00", "01"]
    (nested,) = frames(files.nested_json(tmp_path))
    assert nested["id"].tolist() == list(range(12))
    (lines,) = frames(files.json_lines(tmp_path))
    assert lines["ok"].sum() == 25
    (broken,) = frames(files.json_lines(tmp_path, broken=True))
    assert sorted(set(range(50)) - set(broken["id"])) == [7, 30]
    (places,) = frames(files.geojson(tmp_path))
    assert places["properties.name"].tolist()[0] == "p0"


def test_json_lines_keep_codes_that_look_like_numbers(tmp_path: Path) -> None:
    path = tmp_path / "codes.jsonl"
    path.write_text('{"zip": "01234"}\n{"zip": "00001"}\n')
    (frame,) = frames(path)
    assert frame["zip"].tolist() == ["01234", "00001"]


# Python 3.13 and later remark on the connection that the expression leaves to the collector.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_databases(tmp_path: Path) -> None:
    lines, vacant, cheap = frames(files.sqlite_file(tmp_path))
    assert (len(lines), len(vacant)) == (300, 0)
    assert cheap["price"].max() < 10
    (sales,) = frames(files.duckdb_file(tmp_path))
    assert sales["amount"].sum() == sum(range(500)) * 1.5


def test_xml_records(tmp_path: Path) -> None:
    (frame,) = frames(files.xml_file(tmp_path))
    assert frame["price"].tolist() == [n + 0.5 for n in range(15)]


CASES: dict[str, tuple[bytes, dict[str, list[Any]]]] = {
    "trailing delimiter": (b"a,b\n1,2,\n3,4,\n", {"a": [1, 3], "b": [2, 4]}),
    "carriage returns only": (b"a;b\r1;2\r3;4\r", {"a": [1, 3], "b": [2, 4]}),
    "repeated names": (b"a,a,b\n1,2,3\n4,5,6\n", {"a": [1, 4], "a.1": [2, 5], "b": [3, 6]}),
    "years as names": (b"land,2019,2020\nA,1,2\nB,3,4\n", {"land": ["A", "B"], "2019": [1, 3], "2020": [2, 4]}),
    "backslash before quotes": (b'i,t\n1,"a \\"b\\", c"\n2,"d"\n3,"e \\"f\\""\n', {"t": ['a "b", c', "d", 'e "f"']}),
    "single quotes": (b"i,t\n1,'a, b'\n2,'c, d'\n3,'e'\n", {"t": ["a, b", "c, d", "e"]}),
    "a quote that is never closed": (b'i\tt\n1\t"x\n2\ty\n3\tz\n4\t"w\n5\tv\n', {"t": ['"x', "y", "z", '"w', "v"]}),
    "blanks after commas": (b'i, n, s\n1, "A, b", 2.5\n2, "C, d", 3.5\n', {"n": ["A, b", "C, d"], "s": [2.5, 3.5]}),
    "grouped thousands": (b'a,b\n"1,234",x\n"2,345,678",y\n5,z\n', {"a": [1234, 2345678, 5]}),
    "addresses are no numbers": (b"ip;x\n10.0.0.1;1.234,5\n10.0.0.2;2.345,6\n", {"ip": ["10.0.0.1", "10.0.0.2"]}),
    "long digits": (
        b"i,n\n12345678901234567890,1\n12345678901234567891,2\n",
        {"i": [f"1234567890123456789{n}" for n in (0, 1)]},
    ),
    "comment lines above": (b"# by X\n# at Y\nid,v\n1,2\n3,4\n", {"id": [1, 3], "v": [2, 4]}),
    "padded title": (b"Report,,\n,,\nDay,Shop,N\nx,A,1\ny,B,2\nz,C,3\n", {"Day": ["x", "y", "z"], "N": [1, 2, 3]}),
    "blank lines": (b"a,b\n\n1,2\n\n\n3,4\n", {"a": [1, 3], "b": [2, 4]}),
    "a header only": (b"a,b,c\n", {"a": [], "b": [], "c": []}),
    "one column": (b"value\n1\n2\n3\n", {"value": [1, 2, 3]}),
    "control-A": (b"a\x01b\n1\x012\n3\x014\n", {"a": [1, 3], "b": [2, 4]}),
    "shift_jis": ("商品名,価格\nりんご,100\nみかん,80\n".encode("shift_jis"), {"商品名": ["りんご", "みかん"]}),
    "euc-jp": ("商品名,価格\nりんご,100\nみかん,80\n".encode("euc_jp"), {"商品名": ["りんご", "みかん"]}),
    "euc-kr": ("이름;나이\n김철수;30\n이영희;25\n".encode("euc_kr"), {"이름": ["김철수", "이영희"]}),
    "big5": ("日期,城市,銷售額\nx,臺北,12\ny,高雄,14\n".encode("big5"), {"城市": ["臺北", "高雄"]}),
    "cyrillic": ("имя;город\nИван;Москва\nПётр;Тверь\n".encode("cp1251"), {"имя": ["Иван", "Пётр"]}),
    "polish": ("imię;miasto\nŁukasz;Łódź\nGrażyna;Kraków\n".encode("cp1250"), {"miasto": ["Łódź", "Kraków"]}),
    "utf-16 without a mark": ("a,b\n1,ä\n2,ö\n".encode("utf-16-le"), {"b": ["ä", "ö"]}),
    "utf-32": ("a,b\n1,ä\n2,ö\n".encode("utf-32"), {"b": ["ä", "ö"]}),
    "utf-8 with a mark": ("\ufeffa,b\n1,ä\n2,ö\n".encode(), {"a": [1, 2], "b": ["ä", "ö"]}),
    "a few bad bytes": (b"a,b\n" + "ä,1\n".encode() * 50 + b"\xff,2\n", {"b": [1] * 50 + [2]}),
}


@pytest.mark.parametrize("case", CASES)
def test_dialects_and_encodings(tmp_path: Path, case: str) -> None:
    data, expected = CASES[case]
    path = tmp_path / "case.csv"
    path.write_bytes(data)
    (frame,) = frames(path)
    assert {name: frame[name].tolist() for name in expected} == expected


def test_first_rows_that_are_longer_do_not_become_an_index(tmp_path: Path) -> None:
    path = tmp_path / "first.csv"
    path.write_text("a,b,c\n1,2,3,4\n5,6,7\n8,9,10\n")
    (frame,) = frames(path)
    assert frame["a"].tolist() == [1, 5, 8]


LETTERS = st.text(st.sampled_from("abcxyzäöüß é,;|\t\"'\n."), max_size=12)
TEXTS = st.builds(lambda first, rest: f"{first}{rest}z", st.sampled_from("ABCÄÖ"), LETTERS).filter(
    lambda text: classify(text) == "text"
)
DATES = st.integers(0, 20_000).map(lambda days: (date(1970, 1, 1) + timedelta(days=days)).isoformat())
NUMBERS = st.integers(-(10**6), 10**6).map(lambda number: number / 4)
COLUMNS = {"whole": st.integers(-(10**12), 10**12), "part": NUMBERS, "word": TEXTS, "day": DATES}


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[Any]]]:
    kinds = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=5))
    names = ["id", *(f"{kind} {place}" for place, kind in enumerate(kinds))]
    rows = draw(st.lists(st.tuples(*(COLUMNS[kind] for kind in kinds)), min_size=3, max_size=12))
    return names, [[number, *row] for number, row in enumerate(rows, 100)]


@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    table=tables(),
    delimiter=st.sampled_from(",;\t|"),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    end=st.sampled_from(["\n", "\r\n"]),
    comma=st.booleans(),
)
def test_any_table_in_any_dialect_is_read_back(
    tmp_path: Path,
    table: tuple[list[str], list[list[Any]]],
    delimiter: str,
    encoding: str,
    quoting: Any,
    end: str,
    comma: bool,
) -> None:
    names, rows = table
    comma = comma and delimiter == ";" and quoting != csv.QUOTE_NONNUMERIC
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator=end)
    writer.writerow(names)
    for row in rows:
        writer.writerow(
            [f"{cell:.2f}".replace(".", ",") if comma and isinstance(cell, float) else cell for cell in row]
        )
    path = tmp_path / "table.csv"
    pathlib.Path(path).write_bytes(text.getvalue().encode(encoding))
    (frame,) = frames(path)
    assert list(frame.columns) == names
    for place, name in enumerate(names):
        wanted = [row[place] for row in rows]
        got = frame[name].tolist()
        if name.startswith("day"):
            got = [str(value)[:10] for value in got]
        assert got == wanted


def workbook(path: Path, corner: str, far: dict[str, object]) -> Path:
    """Write a table of two columns and three rows at a corner, and single cells elsewhere."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    start = sheet[corner]
    for down, row in enumerate([("id", "n"), (1, 10), (2, 20), (3, 30)]):
        for right, value in enumerate(row):
            start.offset(down, right).value = value
    for cell, value in far.items():
        sheet[cell] = value
    book.save(path)
    return path


@pytest.mark.parametrize(
    ("corner", "far", "engine"),
    [
        ("A1", {"XFD90000": 1}, "openpyxl"),  # calamine would make room for 1.5 billion cells
        ("C5", {"XFD90000": " "}, "openpyxl"),
        ("A1", {"Z5000": " "}, "calamine"),
    ],
)
def test_cells_far_from_a_table_are_not_read_with_it(
    tmp_path: Path, corner: str, far: dict[str, object], engine: str
) -> None:
    path = workbook(tmp_path / "a.xlsx", corner, far)
    abstract = render(os.fspath(path), found(path), 4_000)
    assert f'engine="{engine}"' in abstract  # before it is read: the wrong one ends the process
    assert "3 rows (exact) x 2 columns" in abstract
    assert ("far from the table, and not in it: XFD90000" in abstract) is (1 in far.values())
    (frame,) = frames(path)
    assert frame.to_dict("list") == {"id": [1, 2, 3], "n": [10, 20, 30]}


def test_a_table_far_from_a_title_is_the_table(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", "EZ1", {"A1": "title", **{f"EZ{n}": n for n in range(5, 7_001)}})
    abstract = render(os.fspath(path), found(path), 4_000)
    assert "far from the table" not in abstract


@pytest.mark.parametrize("padding", [1, 512, 1_000_001])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_nul_bytes_at_the_end_are_no_rows(tmp_path: Path, padding: int, encoding: str) -> None:
    path = tmp_path / "a.csv"
    text = "id,n\n" + "".join(f"{n},{n * 2}\n" for n in range(100))
    path.write_bytes(text.encode(encoding) + b"\0" * padding)
    abstract = render(os.fspath(path), found(path), 4_000)
    assert "100 rows (exact)" in abstract
    assert f"{padding:,} NUL bytes at its end are no part of its text" in abstract
    (frame,) = frames(path)
    assert frame["n"].tolist() == [n * 2 for n in range(100)]


def test_a_field_without_an_end_is_no_empty_table(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f'id,n\na,"{"x" * 17_000_000}"\nb,c\n')
    abstract = render(os.fspath(path), found(path), 4_000)
    assert "a field does not end within 16,000,000 characters" in abstract
    assert "the table is empty" not in abstract


def test_the_beginning_of_a_large_table_is_described_before_all_of_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("n,word\n" + "".join(f"{n},{'x' * 1_000}{n % 7}\n" for n in range(9_000)))
    told: list[Findings] = []
    look = Inspection(os.fspath(path), path.stat().st_size, seconds=600.0, publish=told.append)
    whole = profile_file(look)
    early = render("a.csv", told[-1], 4_000)
    assert "read with: pd.read_csv(" in early
    assert "- word: " in early
    assert "(estimated)" in early
    assert "9,000 rows (exact)" in render("a.csv", whole, 4_000)
