"""Numbers of an answer lead to the cell that printed or computed them, and nothing else does."""

from nodes.answer_checks.number_sources import NumberSources
from nodes.computed_answers import ONLY_VALUES
from tests.states import make_cell


def found(answer: str, *cells: object, part: str = "") -> list[tuple[str, int, str]]:
    sources = NumberSources(cells, answer)  # type: ignore[arg-type]
    text = part or answer
    return [(text[one.start : one.end], one.cell, one.expression) for one in sources.find(text)]


def printed(number: int, text: str, **changes: object) -> object:
    return make_cell(number, f"cell {number} · ok · 0.01 s\n{text}", **changes)


def test_a_number_leads_to_the_newest_cell_that_printed_it() -> None:
    cells = printed(1, "total 1234.56"), printed(2, "rows 8812"), printed(3, "total 1234.56")
    assert found("It was 1,234.56 over 8,812 rows.", *cells) == [("1,234.56", 3, ""), ("8,812", 2, "")]


def test_rounded_numbers_and_shares_lead_to_theirs() -> None:
    cell = printed(1, "share 0.2891 mean 153.987")
    assert found("The share is 28.9% and the mean 154.", cell) == [("28.9%", 1, ""), ("154", 1, "")]


def test_what_no_cell_printed_leads_nowhere() -> None:
    failed = printed(1, "4711.5", status="error")
    assert found("There were 4,711.5 of them, or 77,123.", failed) == []


def test_small_numbers_code_and_file_names_are_left_alone() -> None:
    cell = printed(1, "3 1500 2024")
    assert found("The 3 files, `x[1500]` and cell-1500.png.", cell) == []


def test_a_computed_number_leads_to_its_expression_a_small_one_too() -> None:
    values = [
        {"expression": "df.units.sum()", "text": "1,234"},
        {"expression": "len(regions)", "text": "3"},
    ]
    cells = printed(1, "1234"), printed(2, "", values=values)
    answer = "1,234 units in 3 regions."
    assert found(answer, *cells) == [("1,234", 2, "df.units.sum()"), ("3", 2, "len(regions)")]


def test_a_small_number_that_stands_there_for_something_else_too_is_left_alone() -> None:
    cell = printed(1, "", values=[{"expression": "len(regions)", "text": "3"}])
    assert found("3 regions in 3 months.", cell) == []


def test_values_of_an_answer_that_was_refused_are_not_taken() -> None:
    refused = printed(2, "", values=[{"expression": "wrong", "text": "1,234"}])
    taken = printed(3, "", values=[{"expression": "right", "text": "1,235"}, {"expression": "n", "text": "60"}])
    assert found("1,235 of 60 units.", refused, taken) == [("1,235", 3, "right"), ("60", 3, "n")]


def test_parts_of_an_answer_are_found_in_their_place() -> None:
    cells = (printed(1, "4321.5"),)
    answer = "# Result\n\nIt is 4,321.5 (see 2024).\n\n- again 4,321.5"
    assert found(answer, *cells, part="- again 4,321.5") == [("4,321.5", 1, "")]
    text = "First. Then 4,321.5; and 4,321.5. Last."
    sources = NumberSources(cells, text)  # type: ignore[arg-type]
    assert [text[one.start : one.end] for one in sources.find(text)] == ["4,321.5", "4,321.5"]


def test_a_number_leads_to_the_table_behind_it_and_not_to_a_cell_that_shows_nothing_else() -> None:
    values = [{"expression": "total.iloc[0]", "text": "15,529.94"}, {"expression": "share", "text": "45.0%"}]
    cells = printed(1, "Retail 15529.94"), printed(2, "", values=values, code=ONLY_VALUES)
    answer = "Retail has 15,529.94 of it, which is 45.0%."
    assert found(answer, *cells) == [("15,529.94", 1, "total.iloc[0]"), ("45.0%", 2, "share")]


def test_a_year_of_the_question_is_no_result() -> None:
    cells = [printed(1, "2024-08-16 9.5\n2024 1234.5")]
    sources = NumberSources(cells, "In Q3 2024 it was 1,234.5.", "What was it in Q3 2024?")  # type: ignore[arg-type]
    answer = "In Q3 2024 it was 1,234.5."
    assert [answer[one.start : one.end] for one in sources.find(answer)] == ["1,234.5"]
