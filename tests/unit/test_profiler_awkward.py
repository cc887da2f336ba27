"""Files that are valid and mislead all the same: each is described as what it is, or its profile carries a warning."""

import io
import json
import pathlib
import sqlite3
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest

from sandboxes.inside.profiler.findings import Inspection, UnreadableError, render
from sandboxes.inside.profiler.profiling import profile, profile_file


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def profiled(name: str, content: str | bytes = b"", chars: int = 4_000) -> str:
    """Write a file where there is content for it, and give what the profiler says."""
    path = Path(name)
    if content:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return render(name, profile_file(Inspection(name, path.stat().st_size)), chars)


def read(abstract: str) -> pd.DataFrame:
    """Carry out the first `read with`."""
    line = next(line for line in abstract.splitlines() if line.startswith("read with: "))
    table = eval(line.removeprefix("read with: "), {"pd": pd, "sqlite3": sqlite3, "io": io, "pathlib": pathlib})
    assert isinstance(table, pd.DataFrame)
    return table


def column(abstract: str, name: str) -> str:
    return next(line for line in abstract.splitlines() if line.startswith(f"- {name}:"))


def csv(header: str, *rows: str) -> str:
    return "\n".join([header, *rows, ""])


@pytest.mark.usefixtures("folder")
class TestNumbers:
    """Numbers that are not what they seem."""

    def test_a_semicolon_speaks_for_decimal_commas(self) -> None:
        text = profiled("a.csv", csv("a;b", *(f"{n};{n},{n:03d}" for n in range(101, 140))))
        assert read(text)["b"].max() == pytest.approx(139.139)
        assert "decimal comma" in column(text, "b")

    def test_codes_in_a_workbook_stay_texts_when_they_are_read_as_the_profile_says(self) -> None:
        book = openpyxl.Workbook()
        sheet = book.active
        assert sheet is not None
        rows = [("010", "1E5", 3, "7", "x1"), ("10", "20", 4, "8", "010"), ("020", "30", "5", None, "2")]
        for row in [("code", "product", "pieces", "plain", "mixed"), *rows]:
            sheet.append(row)
        book.save("a.xlsx")
        table = read(profiled("a.xlsx"))
        assert table["code"].tolist() == ["010", "10", "020"]
        assert table["product"].tolist() == ["1E5", "20", "30"]
        assert table["pieces"].tolist() == [3, 4, 5]  # digits alone are numbers
        assert table["mixed"].tolist() == ["x1", "010", "2"]  # pandas leaves it as it is
        assert 'dtype={"code": "str", "product": "str"}' in profiled("a.xlsx")

    def test_a_workbook_of_several_sheets_has_more_room_than_one_table(self) -> None:
        book = openpyxl.Workbook()
        for name in ("one", "two", "three", "four"):
            sheet = book.create_sheet(name)
            for number in range(40):
                sheet.append([f"{column} {number}" if number else f"{name} {column}" for column in "abcdefgh"])
        book.save("a.xlsx")
        Path("a.csv").write_text(
            csv(",".join("abcdefgh"), *(",".join(f"{c} {n}" for c in "abcdefgh") for n in range(40)))
        )
        short, plain = (row["abstract"] for row in profile(["a.xlsx", "a.csv"], 1_000))
        long, same = (row["abstract"] for row in profile(["a.xlsx", "a.csv"], 1_000, most_chars=4_000))
        assert "not shown" in short
        assert len(short) <= 1_000 < len(long) <= 4_000
        assert all(f"- {name} h:" in long for name in ("one", "four"))
        assert same == plain

    def test_thousands_that_a_value_proves_stay_thousands(self) -> None:
        text = profiled("a.csv", csv("a;b", *(f"{n};{n},{n:03d},000" for n in range(101, 140))))
        assert read(text)["b"].max() == 139_139_000

    def test_codes_with_an_e_stay_text(self) -> None:
        text = profiled("a.csv", csv("n,code", "1,1E5", "2,2E10", "3,100", "4,7E3"))
        assert read(text)["code"].tolist() == ["1E5", "2E10", "100", "7E3"]

    def test_measured_exponents_are_numbers(self) -> None:
        text = profiled("a.csv", csv("n,x", "1,1e-05", "2,2e+10", "3,1.5", "4,7"))
        assert read(text)["x"].max() == 2e10

    def test_versions_that_become_one_number(self) -> None:
        text = profiled("a.csv", csv("n,version", "1,1.1", "2,1.10", "3,2.0", "4,1.9"))
        assert '"1.1" and "1.10" become one number' in column(text, "version")

    def test_currencies_are_not_added_up(self) -> None:
        text = profiled("a.csv", csv("n,price", "1,$5.00", "2,€7.50", "3,£9.00", "4,$6.00"))
        assert "mixed currencies: $ (2), € (1), £ (1)" in column(text, "price")
        assert "mean" not in column(text, "price")

    def test_percentages_beside_shares(self) -> None:
        text = profiled("a.csv", csv("n,share", "1,52%", "2,0.54", "3,61%", "4,0.4"))
        assert "2 with % and 2 without" in column(text, "share")
        assert "(mean" not in column(text, "share")

    def test_a_minus_behind_is_a_minus(self) -> None:
        text = profiled("a.csv", csv("n;betrag", "1;2.596,43-", "2;1.000,50", "3;12,00", "4;3.000,00-"))
        assert "-3000 … 1000.5" in column(text, "betrag")
        assert "(negative)" in column(text, "betrag")

    def test_marks_for_missing(self) -> None:
        rows = [f"{n},{20 + n % 9}.5" for n in range(40)]
        text = profiled("a.csv", csv("n,temp", *rows, "40,-999", "41,9999"))
        assert "-999 (1) and 9999 (1) may stand for missing; without them 20.5 … 28.5" in column(text, "temp")

    def test_numbers_that_belong_to_the_range_are_no_marks(self) -> None:
        text = profiled("a.csv", csv("n,x", *(f"{n},{n * 101}" for n in range(-20, 100))))
        assert "stand for missing" not in text

    def test_units(self) -> None:
        text = profiled("a.csv", csv("n,weight", "1,5 kg", "2,500 g", "3,7 kg", "4,2 kg"))
        assert "mixed units: kg (3), g (1)" in column(text, "weight")

    def test_few_whole_numbers_are_counted(self) -> None:
        text = profiled("a.csv", csv("n,stars", *(f"{n},{n % 3 + 1}" for n in range(30))))
        assert "values 1 (10), 2 (10), 3 (10)" in column(text, "stars")

    def test_median_spread_zeros_and_negatives(self) -> None:
        values = [0, 0, -4, 10, 12, 31, 45.5, 7, 8, 9]
        text = profiled("a.csv", csv("n,x", *(f"{n},{value}" for n, value in enumerate(values))))
        expected = pd.Series(values)
        assert f"mean {expected.mean():.4g}, median {expected.median():.4g}, sd {expected.std():.4g}" in text
        assert "2 zero, 1 negative" in column(text, "x")

    def test_example_rows_are_two_and_short(self) -> None:
        text = profiled("a.csv", csv("n,x", *(f"{n},32.18000000000001" for n in range(9))))
        assert text.endswith("first rows:\n0 | 32.18\n1 | 32.18")
        assert "no row repeats another" in text


@pytest.mark.usefixtures("folder")
class TestTimes:
    """Times, durations and offsets."""

    def test_durations_are_ordered_by_length(self) -> None:
        text = profiled("a.csv", csv("n,dur", "1,0:00:30", "2,9:09:30", "3,89:29:30", "4,10:00:00"))
        assert 'duration, "0:00:30" … "89:29:30"' in column(text, "dur")

    def test_two_digit_years_in_the_future(self) -> None:
        text = profiled("a.csv", csv("n,birth", "1,12/31/68", "2,01/15/67", "3,03/20/85"))
        assert "the century is a guess" in column(text, "birth")

    def test_offsets_that_differ(self) -> None:
        text = profiled("a.csv", csv("n,at", "1,2024-03-01T10:00:00+01:00", "2,2024-07-01T10:00:00+02:00"))
        assert "mixed UTC offsets" in column(text, "at")

    def test_forms_with_am_and_pm(self) -> None:
        text = profiled("a.csv", csv("Timestamp,x", "2023/11/05 3:45:12 PM GMT+1,1", "2023/11/06 11:05:00 AM GMT+1,2"))
        assert "date" in column(text, "Timestamp")
        assert "2023-11-05 15:45:12 … 2023-11-06 11:05:00" in column(text, "Timestamp")

    @pytest.mark.parametrize(
        ("header", "first", "step", "said"),
        [
            ("created_at", 1_700_000_000, 86_400, "counted from 1970 in s: 2023-11-14 … 2023-12-13"),
            ("timestamp", 1_700_000_000_000, 86_400_000, "counted from 1970 in ms: 2023-11-14 … 2023-12-13"),
            ("Order date", 45_000, 1, "day numbers of Excel: 2023-03-15 … 2023-04-13"),
        ],
    )
    def test_moments_that_are_written_as_numbers(self, header: str, first: int, step: int, said: str) -> None:
        text = profiled("a.csv", csv(f"n,{header}", *(f"{n},{first + n * step}" for n in range(30))))
        assert said in column(text, header)
        call = column(text, header).rpartition("; ")[2]
        moments = eval(call.replace("…", "values"), {"pd": pd, "values": read(text)[header]})
        assert str(moments.iloc[0].date()) in column(text, header)

    def test_other_large_numbers_are_no_moments(self) -> None:
        text = profiled("a.csv", csv("n,revenue,timeouts", *(f"{n},{1_700_000_000 + n},{n * 9}" for n in range(30))))
        assert "may be" not in text


@pytest.mark.usefixtures("folder")
class TestTables:
    """Rows that are no records, and headers that are no headers."""

    def test_fixed_widths_with_blanks_in_values(self) -> None:
        rows = [f"{name:<14}{age:>4} {city:<12}" for name, age, city in PEOPLE]
        text = profiled("a.txt", csv(f"{'name':<14}{'age':>4} {'city':<12}", *rows))
        table = read(text)
        assert table.columns.tolist() == ["name", "age", "city"]
        assert table["age"].tolist() == [age for _, age, _ in PEOPLE]
        assert table["city"].tolist() == [city for _, _, city in PEOPLE]
        assert "integer, 20 … 69" in column(text, "age")

    def test_names_that_differ_at_their_end(self) -> None:
        question = "How satisfied are you with the overall quality of our service in"
        text = profiled("a.csv", csv(f"{question} 2022,{question} 2023", "1,2", "3,4", "5,5"), chars=900)
        assert f"- {question} 2022:" in text
        assert f"- {question} 2023:" in text

    def test_two_header_rows(self) -> None:
        text = profiled(
            "a.csv", csv("Region,2023,,2024,", "Name,Q1,Q2,Q1,Q2", *(f"R{n},{n},{n}1,{n}2,{n}3" for n in range(1, 9)))
        )
        assert "header is two rows" in text
        table = read(text)
        assert table.shape == (8, 5)
        assert table.columns.tolist()[-1] == "2024 / Q2"

    @pytest.mark.parametrize("blank", ["", ",,"])
    def test_two_tables_in_a_text(self, blank: str) -> None:
        first = [f"p{n},{n},{n * 2}" for n in range(8)]
        second = [f"q{n},{n},x{n}" for n in range(6)]
        text = profiled("a.csv", csv("Product,Units,Sales", *first, blank, "Costs,Amount,Who", *second))
        assert "holds 2 tables, not one" in text

    def test_two_tables_on_a_sheet(self) -> None:
        rows: list[list[object]] = [["Product", "Sales"], *([f"p{n}", n] for n in range(6)), []]
        workbook("a.xlsx", [*rows, ["Cost", "Amount"], *([f"q{n}", n] for n in range(6))])
        assert "holds 2 tables, not one" in profiled("a.xlsx")

    def test_blank_lines_alone_make_no_second_table(self) -> None:
        text = profiled("a.csv", csv("a,b", "x,1", "", "y,2", "", "z,3"))
        assert "not one" not in text

    def test_totals_and_notes(self) -> None:
        rows: list[list[object]] = [["Report"], [], ["Item", "Value", "Part"], *([f"i{n}", n, n] for n in range(20))]
        workbook("a.xlsx", [*rows, ["Total", 190, 190], ["Source: the ministry of numbers"]])
        text = profiled("a.xlsx")
        assert '1 row looks like a total: "Total"' in text
        assert 'like a note: "Source: the ministry of numbers"' in text

    def test_subtotals(self) -> None:
        rows = ["north,1", "north,2", "north total,3", "south,4", "south total,4", "Grand Total,7"]
        assert "3 rows look like totals" in profiled("a.csv", csv("region,value", *rows))

    def test_json_with_a_number_of_too_many_digits_says_how_it_is_read(self) -> None:
        with pytest.raises(UnreadableError, match=r"read it with json\.load\(…, parse_int=str\)"):
            profiled("a.json", '[{"a": ' + "9" * 5_000 + "}]")

    def test_a_header_among_rows_of_json(self) -> None:
        text = profiled("a.json", json.dumps([["name", "age"], ["Ann", 3], ["Bob", 4]]))
        assert "the first row is a header" in text

    def test_spellings_that_differ_in_case_or_blanks(self) -> None:
        cities = ["Berlin", "berlin ", "BERLIN", "Paris", "Rome", "rome"]
        text = profiled("a.csv", csv("n,city,town", *(f"{n},{cities[n % 6]},T{n}" for n in range(30))))
        assert 'differ only in case or blanks: "Berlin", "berlin ", "BERLIN" and 1 more' in column(text, "city")
        assert "differ" not in column(text, "town")

    def test_rows_that_repeat_the_header(self) -> None:
        text = profiled("a.csv", csv("a,b", *(f"x,{n}" for n in range(9)), "a,b", *(f"y,{n}" for n in range(9))))
        assert "1 row repeats the header" in text

    def test_the_word_none_is_a_value(self) -> None:
        rows = [f"{n},{'None' if n % 3 else 'Substantial'}" for n in range(30)]
        assert '"None" is read as missing; keep_default_na=False' in column(
            profiled("a.csv", csv("n,damage", *rows)), "damage"
        )


@pytest.mark.usefixtures("folder")
class TestReadings:
    """Readings that failed."""

    @pytest.mark.parametrize("quote", ['"', ""])
    def test_fields_longer_than_the_limit_of_the_csv_module(self, quote: str) -> None:
        rows = [f"n{n},{quote}{'QUJD' * 50_000}{quote}" for n in range(4)]
        assert read(profiled("a.csv", csv("name,img", *rows))).shape == (4, 2)

    @pytest.mark.parametrize(
        "encoding", ["utf-8", "utf-8-sig", "utf-16", "euc_jp", "shift_jis", "koi8_r", "mac_roman", "cp1252", "gb18030"]
    )
    def test_pages_in_all_encodings(self, encoding: str) -> None:
        words = {"koi8_r": "Город", "mac_roman": "Zoë café", "cp1252": "Zoë café"}.get(
            encoding, "日本語の表です東京都大阪府"
        )
        cells = "".join(f"<tr><td>{words}{n}</td><td>{n}</td></tr>" for n in range(40))
        page = f"<html><body><table><tr><th>{words}</th><th>n</th></tr>{cells}</table></body></html>"
        text = profiled("a.html", page.encode(encoding))
        table = read(text)
        assert table.shape == (40, 2)
        assert table["n"].sum() == 780

    def test_keys_of_a_database(self) -> None:
        with sqlite3.connect("a.sqlite") as connection:
            connection.executescript(
                "create table customers (id integer primary key, name text);"
                "create table orders (id integer primary key, customer integer references customers (id), n integer);"
                "insert into customers values (1, 'a'), (2, 'b'); insert into orders values (1, 1, 3), (2, 1, 4);"
            )
        connection.close()
        text = profiled("a.sqlite")
        assert "primary key id" in text
        assert "customer → customers.id" in text


def workbook(name: str, rows: list[list[Any]]) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in rows:
        sheet.append(row)
    book.save(name)


PEOPLE = [
    ("Anna Smith", 20, "Old Town"),
    ("Bo Li", 69, "New Town"),
    ("Carl von Stein", 33, "Rome"),
    ("Dee", 41, "Oslo"),
    ("Eve Adams", 25, "New York"),
    ("Fay", 30, "San Jose"),
]
