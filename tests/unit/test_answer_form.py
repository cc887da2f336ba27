"""The form that a question prescribes is checked; what it merely speaks of is not."""

import pytest

from nodes.answer_checks.answer_form import other_form
from tests.states import make_state

TABLE = "| region | units | revenue |\n|---|---|---|\n| a | 1 | 2 |"


def lacks(question: str, answer: str) -> list[str]:
    return other_form(make_state(question=question, proposal=answer))


PRESCRIBED = [
    ("Mean fare? @mean_fare[mean] where mean is a number.", "It is 3.\n\n@mean_fare[3.10]", "It is 3."),
    ("Give @a[x], @b[y].", "@a[1] @b[2]", "@a[1]"),
    ("Mean fare? @mean_fare[mean].", r"@mean\_fare[3]", "@mean[3]"),
    ("How many? Put the number in <result></result>.", "There are <result>3</result>.", "There are 3."),
    ("How many? Wrap your answer in <n>...</n> tags.", "<n>3</n>", "<n>3"),
    ("How many? Answer as JSON.", '{"n": 3}', "n is 3"),
    ("How many? Answer as JSON.", 'Here:\n```json\n{"n": 3}\n```', "```json\n{n: 3}\n```"),
    ("How many? Answer only with JSON.", '```json\n{"n": 3}\n```', 'It is:\n{"n": 3}'),
    ("Sum up. Reply in valid JSON with the keys `n` and `mean`.", '{"n": 3, "mean": 2}', '{"n": 3, "Mean": 2}'),
    ('Return one JSON object like {"n": 0, "mean": 0.0}.', '{"n": 3, "mean": 2}', '{"n": 3}'),
    ("Report it as a JSON list. Fields: 'id', 'n'.", '[{"id": 1, "n": 2}]', '[{"id": 1}]'),
    ("Sum up. Use the headings `## Result` and `## Method`.", "## Result\n1\n## Method\n2", "## Result\n1\n## How\n2"),
    ('Write sections "Result", "Limits".', "# Result\n1\n\n**Limits**\n2", "Result\n1\n\nLimits\n2"),
    ("How many? End with a line `ANSWER: <n>`.", "Counted.\n\nANSWER: 3", "ANSWER: 3\n\nCounted."),
    ("How many? The last line must be 'Total: N'.", "Total: N", "Total = 3"),
    ("How many? End your answer with one line: `ANSWER: ` and the value alone.", "x\n**ANSWER: 3**", "x\n3"),
    ("How many? Start with the line `Summary:`.", "Summary:\nx", "x\nSummary:"),
    ("Give a table with the columns region, units and revenue.", TABLE, TABLE.replace("units", "n")),
    ("Give me a Markdown table with columns `region`, `units`.", TABLE, "region, units: a 1"),
    ("Return a table: columns Region, Units and Revenue sorted by revenue.", TABLE, TABLE.replace("revenue", "r")),
]
SPOKEN_OF = [
    ("Extract the text within <title>…</title> of each page.", "Three titles."),
    ("What does <b>bold</b> mean in the notes?", "Emphasis."),
    ("Mail the list to me@example.org [soon].", "No."),
    ("Parse the JSON in column payload and count the keys.", "There are 3."),
    ("Write the totals as JSON to outputs/totals.json.", "Written to totals.json."),
    ("Save the result in a JSON file with the keys `a` and `b`.", "Saved."),
    ("The answers are in JSON lines; how many?", "3"),
    ("Which columns are missing?", "None."),
    ("How do the columns price and units relate?", "They do not."),
    ("Which table has the columns id and name?", "`people`."),
    ("How many lines end with 'x'?", "3"),
    ("Count the lines that start with `#`.", "3"),
    ("What is the first line?", "It is `id,name`."),
    ("Delete the section on costs.", "Done."),
    ("Which headings are there?", "Two."),
    ("Is the table in data.csv sorted?", "Yes."),
    ("The keys are 'a' and 'b'. Join on them.", "Joined: 3 rows."),
    ("Plot the end of line 3.", "Done."),
    ("Give the mean and the median.", "1 and 2"),
    ("How many orders per region? Round to two decimals.", "a: 1.00"),
    ("Return the 5 rows with the largest units.", TABLE),
    ("Give a table with the columns region, units and revenue, in euros, sorted by region.", TABLE),
    ("Give a table with the columns region and units, one row for each region.", TABLE),
    ("Zähle die Zeilen und nenne die Summe.", "3 und 4"),
]


@pytest.mark.parametrize(("question", "kept", "broken"), PRESCRIBED)
def test_a_prescribed_form_is_kept(question: str, kept: str, broken: str) -> None:
    assert lacks(question, kept) == []
    assert len(lacks(question, broken)) == 1


@pytest.mark.parametrize(("question", "answer"), SPOKEN_OF)
def test_what_a_question_speaks_of_is_no_prescription(question: str, answer: str) -> None:
    assert lacks(question, answer) == []


@pytest.mark.parametrize("piece", ["`", "@a[", "<a>", "give ", "columns a, ", "JSON ", "line ", '{"a":', "keys `a`, "])
def test_no_question_takes_long(piece: str) -> None:
    question = piece * 20_000
    assert isinstance(lacks(question, piece * 2_000), list)
