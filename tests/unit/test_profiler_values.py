"""The parts of the profiler that judge single strings: values, encodings, dialects, columns."""

from collections import Counter

import pytest

from sandboxes.inside.profiler.columns import Conventions, conventions, describe_strings
from sandboxes.inside.profiler.delimited import column_names
from sandboxes.inside.profiler.detection import decodes, detect, looks_binary, marked
from sandboxes.inside.profiler.dialect import Dialect, detect_layout, has_header, sniff
from sandboxes.inside.profiler.findings import clean, literal, number_text
from sandboxes.inside.profiler.values import classify, to_float


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("", "missing"), ("NA", "missing"), (" ", "placeholder"), ("-", "placeholder"), ("n.a.", "placeholder"),
        ("12", "integer"), ("-3", "integer"), ("007", "zeros"), ("12345678901234567890", "long"),
        ("1.5", "number"), ("1e5", "number"), ("inf", "number"), ("1.234", "dot number"), ("0.125", "number"),
        ("1,5", "comma"), ("0,125", "comma"), ("1,234", "ambiguous comma"), ("1,234.5", "grouped"),
        ("1.234,5", "dot grouped"), ("1 234", "spaced"), ("12%", "percent"), ("1,234 €", "money"), ("$5.00", "money"),
        ("(12)", "bracketed"), ("2024-01-31", "date %Y-%m-%d"), ("2024-01-31T10:00:00Z", "date %Y-%m-%dT%H:%M:%S%z"),
        ("31.01.2024", "date %d.%m.%Y"), ("31/01/2024", "date %d/%m/%Y"), ("01/31/2024", "date %m/%d/%Y"),
        ("01/02/2024", "date slash"), ("2024年1月31日", "date %Y年%m月%d日"), ("31 Jan 2024", "date %d %b %Y"),
        ("10:30", "time"), ("2024-01", "month"), ("yes", "truth"), ("hello", "text"), ("10.0.0.1", "text"),
        ("５", "text"),
    ],
)  # fmt: skip
def test_what_a_string_stands_for(value: str, kind: str) -> None:
    assert classify(value) == kind


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,234 €", 1234),
        ("1.234,50", 1234.5),
        ("$1,000.50", 1000.5),
        ("(12)", -12),
        ("12%", 12),
        ("1,5", 1.5),
        ("x", None),
    ],
)
def test_dressed_numbers(text: str, number: float | None) -> None:
    assert to_float(text) == number


def test_a_file_has_one_convention_for_numbers() -> None:
    def style(*columns: list[str]) -> Conventions:
        return conventions(Counter(column) for column in columns)

    assert style(["1,5", "2,25"], ["1", "2"]) == Conventions(",", "")
    assert style(["1.000,5", "2,25"]) == Conventions(",", ".")
    assert style(["1,234", "5"], ["1.5", "2.5"]) == Conventions(".", ",")
    assert style(["1,5", "2,5"], ["1.5", "2.5"]) == Conventions()  # both in one file: neither can be told to a reader
    assert style(["a", "1,5"]) == Conventions()


def test_grouped_look_alikes_are_kept_as_text() -> None:
    column, reading = describe_strings("ip", Counter(["10.0.0.1", "10.0.0.2"]), style=Conventions(",", "."))
    assert column.kind == "category"
    assert reading.as_text


def test_dates_that_could_be_read_either_way() -> None:
    column, _ = describe_strings("day", Counter(["01/02/2024", "03/04/2024"]))
    assert "no value tells whether the day or the month comes first" in column.remarks
    settled, _ = describe_strings("day", Counter(["01/02/2024", "13/04/2024"]))
    assert settled.kind == "date (%d/%m/%Y)"
    impossible, reading = describe_strings("day", Counter(["2024-02-30", "2024-01-01"]))
    assert impossible.remarks == ['not real dates: "2024-02-30"']
    assert not reading.iso_date


TEXTS = {
    "gb18030": "姓名;年龄\n张伟;30\n王芳;25\n李娜;41\n",
    "cp950": "姓名;年齡\n陳大文;30\n林小美;25\n",
    "cp932": "氏名,フリガナ\n山田太郎,ヤマダタロウ\n",
    "euc_jp": "日付,都市,売上\n2024-01-01,東京,12\n2024-01-02,大阪,14\n",
    "cp949": "날짜,도시,매출\n2024-01-01,서울,12\n2024-01-02,부산,14\n",
    "cp1252": "Straße;Größe;Preis\nMüller;1,5;3 €\n",
    "cp1250": "imię;miasto\nŚwięty;Gdańsk\nŁukasz;Łódź\n",
    "cp1251": "имя;город\nИван;Москва\n",
    "koi8_r": "имя;город\nИван;Москва\n",
    "cp1253": "όνομα;πόλη\nΓιώργος;Αθήνα\n",
    "iso2022_jp": "商品名,価格\nりんご,100\n",
    "utf-8": "ÅÄÖ;日本\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_encoding_is_told_from_a_few_lines(name: str) -> None:
    data = TEXTS[name].encode(name)
    assert data.decode(detect(data).name) == TEXTS[name]


def test_a_degree_sign_is_not_korean() -> None:
    assert detect("Temp °C;x\n1;2\n".encode("cp1252")).name == "cp1252"


def test_marks_and_cut_characters() -> None:
    assert marked("a".encode("utf-16")) == "utf-16"
    assert marked("abc\n".encode("utf-16-be")) == "utf-16-be"
    assert marked(b"plain") == ""
    data = "日本語".encode()
    assert decodes(data[:-1], "utf-8")
    assert not decodes(data[:-1], "utf-8", whole=True)
    assert looks_binary(bytes(range(32)) * 4)
    assert not looks_binary(b"a,b\n1,x\x00y\n2,z\n")


def test_a_delimiter_inside_of_quotes_does_not_count() -> None:
    lines = ["a;b\n", '"x,y,z";1\n', '"u,v,w";2\n']
    dialect, score = sniff(lines)
    assert dialect == Dialect(";")
    assert score > 0.5
    assert sniff(["word\n", "another\n"]) == (None, 0.0)


def test_where_a_table_begins() -> None:
    rows = [
        (0, ["Report", "", ""]),
        (1, ["", "", ""]),
        (2, ["day", "shop", "n"]),
        (3, ["x", "A", "1"]),
        (4, ["y", "B", "2"]),
    ]
    layout = detect_layout(rows)
    assert (layout.first_line, layout.has_header, layout.width) == (2, True, 3)


def test_which_row_is_a_header() -> None:
    assert has_header(["id", "n"], [["1", "2"], ["3", "4"]])
    assert not has_header(["1", "2"], [["3", "4"], ["5", "6"]])
    assert has_header(["land", "2019", "2020"], [["A", "1", "2"]])
    assert not has_header(["2024-01-01", "5"], [["2024-01-02", "6"]])
    assert not has_header(["1"], [])


def test_names_are_those_that_pandas_gives() -> None:
    assert column_names(["a", "a", "", "a.1", "a"], 5) == ["a", "a.2", "Unnamed: 2", "a.1", "a.3"]
    assert column_names(None, 2) == [0, 1]


def test_values_are_shown_on_one_line() -> None:
    assert clean("a\nb\tc\x00") == "a⏎b c\N{REPLACEMENT CHARACTER}"
    assert len(clean("x" * 100)) == 40
    assert [eval(literal(text)) for text in ('a"b', "c\\d", "e\nf", "\ud800", "日")] == [
        'a"b',
        "c\\d",
        "e\nf",
        "\ud800",
        "日",
    ]
    assert [number_text(value) for value in (3.0, 0.1, 1234567.891, 10**20)] == ["3", "0.1", "1234567.89", "1e+20"]
