"""What an abstract tells of each kind of file, and which files are a problem."""

import io
import json
import os
import pickle
import sqlite3
import zipfile
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import openpyxl
import pandas
import pyarrow.parquet
import pypdf
import pytest

from sandboxes.inside.profiler.findings import Findings, Inspection, UnreadableError, render
from sandboxes.inside.profiler.profiling import profile_file
from tests import profiled_files as files


def found(path: Path) -> Findings:
    return profile_file(Inspection(os.fspath(path), path.stat().st_size))


def abstract(path: Path, chars: int = 2_000) -> str:
    return render(path.name, found(path), chars)


def problem(path: Path) -> str:
    with pytest.raises(UnreadableError) as raised:
        found(path)
    return str(raised.value)


def test_a_csv_tells_how_it_is_written_and_what_is_in_each_column(tmp_path: Path) -> None:
    text = abstract(files.german_csv(tmp_path))
    lines = text.splitlines()
    assert lines[0] == "### german.csv"
    assert lines[1].startswith(
        'CSV, 5 columns, 100 rows (exact), delimiter ";", encoding cp1252 (guessed), decimal comma'
    )
    assert lines[2].startswith("read with: pd.read_csv(")
    assert "- Umsatz: number, 1000.5 … 1099.5 (mean 1050, median 1050, sd 29.01), 100 distinct" in lines
    assert "- Datum: date (%d.%m.%Y), 2024-03-01 … 2024-03-28, 28 distinct" in lines
    assert (
        '- Anzahl: integer, 20 missing (20%), 1 … 99 (mean 50, median 50, sd 29.04), 80 distinct; "-" for missing (20)'
        in lines
    )
    assert "Müller 0 | 01.03.2024 | 1.000,5 | 00000 | -" in lines


@pytest.mark.slow
def test_thousands_of_columns_become_one_line_and_the_rest_is_counted(tmp_path: Path) -> None:
    text = abstract(files.wide_csv(tmp_path))
    assert "5,000 columns" in text
    assert "- gene_1 … gene_4999: 4,999 columns, number, 0 … 96" in text
    odd = tmp_path / "odd.csv"
    names = [f"{place}_name_{chr(97 + place % 26)}" for place in range(1_000)]
    odd.write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    assert "more columns not shown" in abstract(odd)


def test_blemishes_are_named(tmp_path: Path) -> None:
    path = tmp_path / "blemished.csv"
    rows = [
        '1,x,2024-01-01,"1,234 €", a,5',
        "2,x,02.01.2024,20 €,b,5",
        "2,x,02.01.2024,20 €,b,5",
        "three,x,2024-01-03,n/a,c ,5",
    ]
    path.write_text("\n".join(["n,kind,day,price,word,word", *rows, *rows[:1] * 4, ""]), encoding="utf-8")
    text = abstract(path)
    assert "duplicate column names: word" in text
    assert "repeat another row" in text
    assert "constant: kind, word.1" in text
    assert 'mostly numbers, but also "three" (1)' in text
    assert "mixed date formats %Y-%m-%d (6), %d.%m.%Y (2)" in text
    assert 'numbers stored as text such as "1,234 €"' in text
    assert "leading or trailing blanks" in text


def test_country_codes_that_pandas_takes_for_missing(tmp_path: Path) -> None:
    path = tmp_path / "countries.csv"
    path.write_text("country,v\nNA,1\nDE,2\nFR,3\nNA,4\nDE,5\n")
    assert '"NA" is read as missing; keep_default_na=False keeps it' in abstract(path)


def test_a_table_without_rows_is_no_problem_but_said(tmp_path: Path) -> None:
    path = tmp_path / "bare.csv"
    path.write_text("a,b,c\n")
    assert "the table is empty: a header and no rows" in abstract(path)


def test_a_cell_cannot_forge_lines_or_hide_characters(tmp_path: Path) -> None:
    path = tmp_path / "forged.csv"
    path.write_text('name,x\n"a\n### other.csv\nproblem: none",1\n"\x1b[31m\u202egnp",2\n', encoding="utf-8")
    text = abstract(path)
    assert [line for line in text.splitlines() if line.startswith("###")] == ["### forged.csv"]
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_zip_bomb_is_read_within_bounds(tmp_path: Path) -> None:
    text = abstract(files.zip_bomb(tmp_path))
    assert "480.0 MB unpacked" in text
    assert "rows (estimated)" in text


def test_members_of_an_archive_are_named(tmp_path: Path) -> None:
    text = abstract(files.zip_of_two(tmp_path))
    assert "## sales.csv: CSV, 2 columns, 100 rows (exact)" in text
    assert "- notes.txt (45 bytes)" in text


def test_sheets_tell_where_their_tables_begin(tmp_path: Path) -> None:
    text = abstract(files.workbook(tmp_path))
    assert '## sheet "Q1": 30 rows (exact) x 3 columns' in text
    assert 'header=3, usecols="B:D"' in text
    assert "above the table: Sales of the first quarter" in text
    assert "1 merged range (B2:D2)" in text
    assert '## sheet "codes" (hidden): 2 rows' in text
    assert "4 of 4 formulas have no stored value, so they read as missing" in text


def test_a_header_of_two_rows(tmp_path: Path) -> None:
    path = tmp_path / "two.xlsx"
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for row in (["Region", "2023", None], [None, "A", "B"], ["N", 1, 2], ["S", 3, 4]):
        sheet.append(row)
    sheet.merge_cells("B1:C1")
    book.save(path)
    text = abstract(path)
    assert "header=[0, 1]" in text
    assert "- 2023 / B: integer, 2 … 4" in text


def test_the_content_decides_and_a_lying_name_is_said_first(tmp_path: Path) -> None:
    page = found(files.html_workbook(tmp_path))
    assert page.problem == ""
    assert page.remarks[0] == "named .xls but it is an HTML page"
    assert page.kind.startswith("HTML page, 1 table")
    lying = tmp_path / "lying.csv"
    lying.write_bytes(files.workbook(tmp_path).read_bytes())
    assert found(lying).remarks[0] == "named .csv but it is an Excel workbook (xlsx)"
    plain = tmp_path / "plain.csv.gz"
    plain.write_text("a,b\n1,2\n")
    assert found(plain).remarks[0] == "named .gz but it is delimited text"


def test_a_text_that_begins_like_a_binary_format(tmp_path: Path) -> None:
    path = tmp_path / "letters.csv"
    path.write_text("ID3,ORC\n1,2\n3,4\n")
    assert found(path).kind.startswith("CSV, 2 columns, 2 rows (exact)")


PROBLEMS: dict[Callable[[Path], Path], str] = {
    files.empty_file: "is empty (0 bytes)",
    files.login_workbook: "is named .xlsx but is an HTML page (title 'Sign in') without a table",
    files.truncated_workbook: "an Excel workbook (xlsx) that is truncated or corrupt: its zip directory cannot be read",
    files.protected_workbook: "is a password-protected Office file (named .xlsx)",
    files.binary_file: "is binary data of no known format (5.0 KB)",
}


@pytest.mark.parametrize("make", PROBLEMS, ids=lambda make: make.__name__)
def test_what_cannot_be_read_is_one_clear_sentence(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    said = problem(make(tmp_path))
    assert PROBLEMS[make] in said
    assert "\n" not in said


def test_paths_that_are_no_readable_file(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="there is no such file"):
        profile_file(Inspection(str(tmp_path / "missing.csv"), 0))
    with pytest.raises(UnreadableError, match="is a folder, not a file"):
        profile_file(Inspection(str(tmp_path), 0))


def cut(path: Path, share: float) -> Path:
    shorter = path.with_name("cut_" + path.name)
    data = path.read_bytes()
    shorter.write_bytes(data[: int(len(data) * share)])
    return shorter


def test_truncated_files_say_what_they_seem_to_be(tmp_path: Path) -> None:
    for path, kind in (
        (files.parquet_file(tmp_path, rows=500), "a Parquet file"),
        (files.feather_file(tmp_path), "an Arrow file"),
        (files.sqlite_file(tmp_path), "an SQLite database"),
        (files.packed_csv(tmp_path, ".gz"), "a gzip file"),
        (files.packed_csv(tmp_path, ".xz"), "a xz file"),
        (files.zip_of_two(tmp_path), "a zip archive"),
        (files.png_file(tmp_path), "a PNG image"),
        (files.json_records(tmp_path), "JSON that"),
        (files.xml_file(tmp_path), "XML that"),
    ):
        assert f"seems to be {kind}" in problem(cut(path, 0.6))


def test_what_is_named_and_begins_as_a_parquet_file_is_one_however_much_of_it_is_text(tmp_path: Path) -> None:
    path = tmp_path / "sales.parquet"
    path.write_bytes(b"PAR1 and nothing but letters\n")
    assert "seems to be a Parquet file that is truncated or corrupt" in problem(path)
    said = tmp_path / "story.txt"
    said.write_bytes(path.read_bytes())
    assert found(said).kind.startswith("text, 1 line")


def test_a_gzip_file_with_bytes_behind_its_end_is_complete(tmp_path: Path) -> None:
    path = files.packed_csv(tmp_path, ".gz")
    text = zlib.decompressobj(31).decompress(path.read_bytes())
    path.write_bytes(path.read_bytes() + b"and more")
    said = problem(path)
    assert "is a complete gzip file with other bytes behind its end" in said
    assert "truncated" not in said
    assert eval(said.partition("without them: ")[2], {"zlib": zlib, "Path": Path, "PATH": path}) == text


def test_a_corrupt_member_is_a_problem_of_a_document(tmp_path: Path) -> None:
    path = tmp_path / "letter.docx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", "<w:body><w:p><w:t>Dear reader</w:t></w:p></w:body>")
    assert "Dear reader" in abstract(path)
    path.write_bytes(path.read_bytes().replace(b"Dear reader", b"Dear eraser"))
    assert problem(path) == "is a Word document in which word/document.xml is corrupt"


def test_parquet_ranges_come_from_all_rows(tmp_path: Path) -> None:
    text = abstract(files.parquet_file(tmp_path))
    assert "Parquet, 4 columns, 20,000 rows (exact), 4 row groups" in text
    assert "- id: integer (int64), 0 … 19999" in text
    assert "- score: number (double), 2,000 missing (10%), 0.5 … 9999.5" in text


def test_databases_list_their_tables(tmp_path: Path) -> None:
    text = abstract(files.sqlite_file(tmp_path))
    assert "SQLite database, 3 tables" in text
    assert "## table order lines: 300 rows (exact) x 3 columns" in text
    assert "## table vacant: 0 rows (exact) x 2 columns" in text
    assert "## view cheap" in text
    assert "## table sales: 500 rows (exact) x 2 columns" in abstract(files.duckdb_file(tmp_path))


def test_looking_at_a_database_changes_nothing_beside_it(tmp_path: Path) -> None:
    path = files.sqlite_file(tmp_path)
    before = sorted(entry.name for entry in tmp_path.iterdir()), path.read_bytes()
    abstract(path)
    assert (sorted(entry.name for entry in tmp_path.iterdir()), path.read_bytes()) == before


def test_json_lines_with_broken_lines_name_them(tmp_path: Path) -> None:
    text = abstract(files.json_lines(tmp_path, broken=True))
    assert "JSON Lines, 48 records (exact)" in text
    assert "2 lines are not valid JSON: line 8, 31" in text


def test_nested_json_shows_its_paths(tmp_path: Path) -> None:
    text = abstract(files.nested_json(tmp_path))
    assert "## data.orders: 12 records (exact)" in text
    assert "- data.orders[].items[].price: number 1.5" in text
    assert "GeoJSON, 5 features (Point)" in abstract(files.geojson(tmp_path))


def test_a_large_json_array_is_counted_without_being_loaded(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    record = json.dumps({"id": 1, "text": "x" * 200})
    path.write_text("[" + ",\n".join([record] * 70_000) + "]")
    assert "JSON array, 70,000 records (exact)" in found(path).kind


class Bang:
    """Its pickle leaves a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return (open, (str(self.path), "w"))


def test_a_pickle_is_never_loaded(tmp_path: Path) -> None:
    assert "Python pickle, not opened" in abstract(files.pickle_file(tmp_path))
    path = tmp_path / "trap.pkl"
    path.write_bytes(pickle.dumps(Bang(tmp_path / "sprung")))
    assert "not opened" in abstract(path)
    assert not (tmp_path / "sprung").exists()


def test_pdf_title_text_and_the_lack_of_it(tmp_path: Path) -> None:
    text = abstract(files.pdf_file(tmp_path))
    assert "PDF, 1 page" in text
    assert "title: The report" in text
    assert "Annual report of the little shop" in text
    assert "no text to be taken out" in abstract(files.pdf_file(tmp_path, text=""))


def test_a_pdf_with_a_password(tmp_path: Path) -> None:
    writer = pypdf.PdfWriter()
    writer.add_blank_page(100, 100)
    writer.encrypt("secret", algorithm="RC4-128")
    data = io.BytesIO()
    writer.write(data)
    path = tmp_path / "locked.pdf"
    path.write_bytes(data.getvalue())
    assert "is a password-protected PDF" in problem(path)


def test_images_by_their_headers(tmp_path: Path) -> None:
    assert found(files.png_file(tmp_path)).kind == "PNG image, 4 x 3 pixels, 75 bytes"
    assert "its data breaks off" in problem(files.png_file(tmp_path, truncated=True))


def test_xml_entities_are_not_expanded(tmp_path: Path) -> None:
    text = abstract(files.entity_bomb(tmp_path))
    assert "declares entities, which were not expanded" in text
    assert "haha" not in text
    assert "## element catalog/items/item: 15 records" in abstract(files.xml_file(tmp_path))


def test_records_of_every_kind_of_file_are_said_to_repeat_or_not(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"id": [1, 2, 2], "name": ["a", "b", "b"]})
    for part, said in ((frame, "1 of the 3 {0}s looked at repeat another {0}"), (frame[:2], "no {0} repeats another")):
        part.to_parquet(parquet := tmp_path / f"{len(part)}.parquet")
        part.to_json(lines := tmp_path / f"{len(part)}.jsonl", orient="records", lines=True)
        part.to_json(array := tmp_path / f"{len(part)}.json", orient="records")
        with closing(sqlite3.connect(database := tmp_path / f"{len(part)}.db")) as connection:
            part.to_sql("t", connection, index=False)
        for path, noun in ((parquet, "row"), (lines, "record"), (array, "record"), (database, "row")):
            assert f"! {said.format(noun)}\n" in abstract(path), path.name
    (tmp_path / "order.jsonl").write_text('{"a": 1, "b": {"c": 2}}\n{"b": {"c": 2}, "a": 1}\n{"a": 3}\n')
    assert "! 1 of the 3 records looked at repeat another record\n" in abstract(tmp_path / "order.jsonl")
    numbers = pyarrow.table({"x": pyarrow.array([float("nan"), float("nan"), 1.0])})
    pyarrow.parquet.write_table(numbers, tmp_path / "nan.parquet")
    assert "! 1 of the 3 rows looked at repeat another row\n" in abstract(tmp_path / "nan.parquet")
    lists = tmp_path / "lists.parquet"
    pandas.DataFrame({"tags": [["a"], ["a"], ["b"]]}).to_parquet(lists)
    assert "! 1 of the 3 rows looked at repeat another row\n" in abstract(lists)
    assert "! none of the 5,000 rows looked at repeats another\n" in abstract(files.parquet_file(tmp_path))


def test_what_is_cut_says_how_all_of_it_is_read(tmp_path: Path) -> None:
    note = "Figures before 2019 are estimates and were revised twice. " * 4
    table = tmp_path / "above.csv"
    table.write_text(f'"{note}"\n\nyear,amount\n' + "".join(f"{2000 + n},{n}\n" for n in range(20)))
    assert "(cut: read the first 2 lines of the file for all of it)" in abstract(table)
    workbook = openpyxl.Workbook()
    for row in (("Source", note), ("Unit", "EUR"), ("Contact", "Ann")):
        workbook.active.append(row)
    data = workbook.create_sheet("Data")
    for line in ((note,), (), ("year", "amount"), *((2000 + n, n) for n in range(20))):
        data.append(line)
    workbook.save(book := tmp_path / "book.xlsx")
    text = abstract(book)
    assert "long texts are cut here; the sheet is short: print it with .to_csv() for all of it" in text
    assert "(cut: read the sheet with header=None, nrows=2 for all of it)" in text


def test_lines_are_those_that_a_line_feed_ends(tmp_path: Path) -> None:
    path = tmp_path / "pages.txt"
    path.write_text("Chapter one\nIt was a long day.\n\fChapter two\fand three.\n")
    assert found(path).kind.startswith("text, 3 lines")
    text = abstract(path)
    assert "form feeds or such within lines, where splitlines() splits, too; open() does not" in text
    assert "␌Chapter two␌and three." in text


def test_prose_stays_prose(tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear all,\nthis is a letter, with commas, and more.\nBest, me\n")
    assert found(letter).kind.startswith("text, 3 lines")
    notes = tmp_path / "notes.md"
    notes.write_text("# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n## Part\n```\n# no heading\n```\n")
    text = abstract(notes)
    assert "Markdown, 10 lines" in text
    assert "headings: # Title / ## Part\n" in text


def test_of_an_archive_only_what_is_not_described_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "logs.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "n,m\n" + "1,2\n" * 20)
    assert "a.csv" in (text := abstract(path))
    assert "holds" not in text
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("picture.bin", b"\0\1\2" * 50)
    text = abstract(path)
    assert "holds besides:\n- picture.bin (150 bytes)" in text
    assert "- a.csv" not in text


def test_a_mark_for_missing_among_texts_is_said_to_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("who,n\n" + "".join(f"{'-' if n % 10 == 0 else f'C{n:03}'},{n}\n" for n in range(100)))
    assert '"-" for missing (10) besides, which pandas reads as text' in abstract(path)


def test_empty_rows_of_a_sheet_are_counted(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    rows = [
        ["name", "n"],
        *([f"p{n}", n] for n in range(10)),
        [],
        *([f"q{n}", n] for n in range(10)),
        [],
        ["Total", 90],
    ]
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    text = abstract(tmp_path / "a.xlsx")
    assert "23 rows (exact)" in text
    assert "2 rows are empty, which pandas reads as missing; the figures below leave them out" in text


def test_a_sheet_of_notes_is_shown_whole(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    notes = ["Staff", "read with: nothing", "Codes of departments are texts: 010 and 10 are two departments."]
    for note in notes:
        book.active.append([None, note])
    comments = book.create_sheet("Comments")
    for number in range(50):
        comments.append([f"comment {number} on what the customer said about it"])
    book.save(tmp_path / "a.xlsx")
    text = abstract(tmp_path / "a.xlsx")
    assert '## sheet "Sheet": 3 lines of text' in text
    assert "".join(f"\n  {note}" for note in notes) in text  # indented: no line of the profile's own
    read = text.split("read with: ")[1].split("\n")[0].replace("pd.", "pandas.")
    assert eval(read, {"pandas": pandas}).iloc[:, 0].tolist() == notes
    table = text.split('## sheet "Comments"')[1]
    assert "lines of text" not in table
    assert "first rows:" in table


def test_of_a_column_with_two_types_all_values_of_the_second_are_told_of(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for number in range(40):
        pay = f"{number},500" if number > 29 else number * 1_000
        day = f"{number - 20} January 2022" if number > 29 else files.START
        book.active.append([f"p{number}", pay, day, pay if number < 39 else "none yet"])
    book.active.insert_rows(1)
    for place, name in enumerate(("name", "pay", "day", "bonus"), 1):
        book.active.cell(1, place, name)
    book.save(tmp_path / "a.xlsx")
    text = abstract(tmp_path / "a.xlsx")
    assert 'but also "30,500" (1), "31,500" (1), "32,500" (1) and 7 more, all of them numbers written as text' in text
    assert 'but also "10 January 2022" (1), "11 January 2022" (1), "12 January 2022" (1) and 7 more' in text
    assert '"32,500" (1) and 7 more\n' in text
