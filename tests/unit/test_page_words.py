"""What the page makes of texts on their way to a template: search results, remarks, links."""

import re
from datetime import UTC, datetime

import pytest

from graph.events import ApprovalAsked
from graph.state import State, Turn, Variable
from nodes.computed_answers import ONLY_VALUES
from stepwell.comparison import variable_changes
from stepwell.exports.markdown import prose
from stepwell.exports.report import ShownCell, shown_cell, variables_in
from stepwell.page.backend import ThreadView
from stepwell.page.file_routes import decoded, table_rows
from stepwell.page.rendering import environment, part
from stepwell.page.shown_thread import Addresses, shown_proposal, shown_thread
from stepwell.page.variables import Missing, VariableWindow, shown_variable
from tests.states import make_cell, make_file, make_input, make_state


@pytest.mark.parametrize(
    ("excerpt", "shown"),
    [
        (
            "…t | |---|---|---| | Retail | 15529.94 | ## By region See `a.png`…",
            "…t Retail 15529.94 By region See a.png…",
        ),
        ("**Wholesale** is C# and 3 * 4", "Wholesale is C# and 3 * 4"),
    ],
)
def test_a_search_result_is_read_without_the_signs_of_markdown(excerpt: str, shown: str) -> None:
    assert "".join(text for text, _ in environment().filters["marked"](excerpt, "")) == shown


def test_the_words_searched_for_are_marked_whatever_signs_they_have() -> None:
    parts = environment().filters["marked"]("Is Wholesale (all) more than retail?", "wholesale (ALL)")
    assert [text for text, hit in parts if hit] == ["Wholesale", "(all)"]
    assert "".join(text for text, _ in parts) == "Is Wholesale (all) more than retail?"


def test_a_file_that_an_answer_names_as_code_is_a_link_where_it_can_be_had() -> None:
    addresses = {"outputs/a.csv": "/threads/t/files/a.csv"}
    made = prose("See `outputs/a.csv` and `x = 1`.", link=lambda path: addresses.get(path, ""))
    assert '<a href="/threads/t/files/a.csv" rel="noopener noreferrer"><code>outputs/a.csv</code></a>' in made
    assert "and <code>x = 1</code>" in made


def test_a_cell_links_the_files_that_it_wrote() -> None:
    cell = make_cell(1, files=[{"path": "outputs/a.csv", "change": "created"}])
    shown = shown_cell(cell, lambda number, path: "", lambda path: f"/files/{path}")
    assert shown.files == (("outputs/a.csv (created)", "/files/outputs/a.csv"),)
    gone = make_cell(1, files=[make_file("a.csv", "deleted")])
    assert shown_cell(gone, lambda number, path: "", lambda path: "/files").files == (("a.csv (deleted)", ""),)


def test_two_sides_stand_beside_each_other_and_what_one_lacks_is_said() -> None:
    before, after = (
        [Variable(name=name, kind="int", summary=text) for name, text in rows]
        for rows in ([("n", "1"), ("old", "2 -> 3"), ("same", "4")], [("n", "1 <b>"), ("new", "5"), ("same", "4")])
    )
    changes = variable_changes(before, after)
    assert (changes.removed, changes.added, changes.changed) == (("old",), ("new",), ("n: int 1 -> int 1 <b>",))
    sides = [{"variable": lambda name, of=of: f"/{of}/{name}"} for of in "ab"]
    made = part("page.html.jinja", "both", {}, "Variables", changes, sides, "variable")
    rows = re.findall(r'<tr><th scope="row">(\w+)</th><td>(.*?)</td><td>(.*?)</td></tr>', made)
    assert rows == [
        ("n", '<a href="/a/n">int 1</a>', '<a href="/b/n">int 1 &lt;b&gt;</a>'),
        ("old", '<a href="/a/old">int 2 -&gt; 3</a>', '<span class="about">only in A</span>'),
        ("new", '<span class="about">only in B</span>', '<a href="/b/new">int 5</a>'),
    ]


@pytest.mark.parametrize(("name", "said"), [("chart.HTML", True), ("notes.txt", False)])
def test_a_page_that_is_shown_as_its_source_says_why(name: str, said: bool) -> None:
    made = environment().get_template("file.html.jinja").render(
        name=name, kind="text", text="<script>1</script>", raw="/raw", size=1, rows_at="", input=None, cut=False,
        thread="t", base="", path="", asset="", user="",
    )  # fmt: skip
    assert ("none of them is run here" in made) is said
    assert "&lt;script&gt;1" in made
    assert 'href="/raw?download=1"' in made


def test_a_file_is_that_of_the_cell_which_wrote_it() -> None:
    files = [make_file("outputs/a.csv"), make_file("a.csv"), make_file("b <i>.csv", "changed")]
    cells = [make_cell(number, files=files, snapshot=f"{number}" * 64) for number in (1, 2)]
    cells.append(make_cell(3, files=files))
    published = [{"name": "a.csv", "mime": "text/csv", "cell": 2, "size": 1, "sha256": "0" * 64, "url": ""}]
    state = make_state(cells=cells, artifacts=published, turns=[])
    steps = {1: "1", 2: "2b", 3: "3"}

    def links(step: str = "") -> list[list[str]]:
        view = ThreadView("t", state, "finished", "", datetime.now(UTC), "", steps=steps, step=step)
        return [[address for _, address in cell.files] for cell in shown_thread(view, "/ui").turns[0].cells]

    at = "/ui/threads/t/steps"
    first = [f"{at}/1/files/{path}" for path in ("outputs/a.csv", "a.csv", "b%20%3Ci%3E.csv")]
    second = [f"{at}/2b/files/{path}" for path in ("a.csv", "b%20%3Ci%3E.csv")]
    assert links() == [first, ["/ui/threads/t/files/a.csv", *second], ["", "", ""]]
    assert links("3")[1][0] == f"{at}/2b/files/outputs/a.csv"
    for last, file in ((2, f"{at}/2b/files/a.csv"), (3, "")):
        there = State(**{**state, "cells": cells[:last], "inputs": [make_input()]})
        names = {number: steps[number] for number in range(1, last + 1)}
        view = ThreadView("t", there, "finished", "", datetime.now(UTC), "", steps=names, step=steps[last])
        side = Addresses("/ui", view)
        assert (side.file("a.csv"), side.variable("n")) == (file, f"{at}/{steps[last]}/variables/n")
        assert side.file("inputs/sales.csv") == "/ui/threads/t/inputs/inputs/sales.csv"


def test_a_rejected_cell_has_the_remark_of_its_user() -> None:
    said = "cell 2 · rejected · not run\nThe user rejected this cell: Nothing is to be deleted."
    assert (
        shown_cell(make_cell(2, said, status="rejected"), lambda number, path: "").remark == "Nothing is to be deleted."
    )
    assert shown_cell(make_cell(2, said), lambda number, path: "").remark == ""


def test_columns_of_numbers_are_told_from_others_whatever_is_missing() -> None:
    numeric = environment().filters["numeric"]
    rows = [["C01", "1,234.50", "nan", "12 %", "2024-08-16"], ["C02", "", "-3.5e+04", "7%"]]
    assert numeric(rows, 6) == [False, True, True, True, False, False]
    assert numeric([], 2) == [False, False]


def test_a_table_of_an_answer_is_shown_as_a_table_among_its_values() -> None:
    values = [{"expression": "n", "text": "5 <b>"}, {"expression": "t:table", "text": "| a |\n|---|\n| 1 |"}]
    shown = shown_cell(make_cell(1, values=values), lambda number, path: "")
    plain, table = [str(value) for _, value in shown.values]
    assert plain == "5 <b>", "the template makes it harmless"
    assert "<td>1</td>" in table
    assert not hasattr(shown.values[0][1], "__html__")


def test_a_cell_says_whose_code_it_is_and_what_an_edit_changed() -> None:
    def shown(**edited: str) -> ShownCell:
        cell = make_cell(1, code="-- all of it\nselect 2", edited=edited) if edited else make_cell(1)
        return shown_cell(cell, lambda number, path: "")

    edited = shown(by="ann", original="-- a part\nselect 2")
    assert edited.edited == "edited by ann before it ran"
    assert edited.difference == (
        ("place", "@@ -1,2 +1,2 @@"),
        ("removed", "--- a part"),
        ("added", "+-- all of it"),
        ("same", " select 2"),
    )
    made = environment().from_string(
        '{% import "thread.html.jinja" as parts %}{{ parts.cell(one) }}'
    ).render(one=edited)  # fmt: skip
    assert "<strong>edited by ann before it ran</strong>" in made
    assert '<span class="removed">--- a part' in made
    sent = shown(by="ann", original="")
    assert (sent.edited, sent.difference) == ("sent as code, not written by Stepwell's model", ())
    assert shown().edited == ""


def test_a_title_that_is_cut_has_the_whole_on_hover() -> None:
    long = "How did strikes by birds change from year to year? " * 3
    assert part("page.html.jinja", "short", {}, long, 60).startswith(f'<span title="{long}">How did strikes')
    assert part("page.html.jinja", "short", {}, "Short <b>", 60) == "Short &lt;b&gt;"


def test_a_preview_reads_texts_in_the_usual_encodings_and_separators() -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "cp1252"):
        assert decoded("Süd;1,5\n".encode(encoding)) == "Süd;1,5\n", encoding
    assert decoded("Süd €".encode()[:-1]) == "Süd ", "a character that was cut in two"


def test_numbers_of_many_digits_are_shortened_and_days_have_no_time() -> None:
    shorter, days = environment().filters["shorter"], environment().filters["days"]
    assert str(shorter("15529.940000000001")) == '<span title="15529.940000000001">15529.94</span>'
    assert str(shorter("0.3333333333333333")) == '<span title="0.3333333333333333">0.333333</span>'
    assert str(shorter("1234567.891234")) == '<span title="1234567.891234">1234567.89</span>'
    for whole in ("12.5", "20250101", "1,234.50", "nan", "12 %", "-3.5e+04"):
        assert shorter(whole) == whole
    assert str(environment().from_string("{{ one|shorter }}").render(one="<i>1.123456</i>")).startswith("&lt;i")
    rows = [["2024-05-01 00:00:00", "2024-05-01 00:00:00", ""], ["", "2024-05-01 08:00:00", ""]]
    assert days(rows, 4) == [True, False, False, False]


def test_missing_values_read_the_same_in_variables_and_files_and_texts_stay_texts() -> None:
    told = {"kind": "table", "rows": 2, "columns": 2, "labels": ["a", "b"], "index": ["nan", "None"],
            "cells": [["1.5", "None"], ["nan", "None"]], "missing": [[1, 0], [1, 1], "?", [None, 1], [[], 0]],
            "unnamed": [0, None, []]}  # fmt: skip
    variable = shown_variable("v", VariableWindow(), told)
    rows, _ = table_rows("a,b\nnan,\nNorth,NaT\n", ",", whole=True)
    missing = environment().filters["missing"]
    shown = [[bool(missing(cell)) for cell in row] for row in (variable.index, *variable.cells, *rows)]
    assert shown == [[True, False], [False, False], [True, True], [False, False], [True, True], [False, True]]
    assert missing(variable.cells[1][0]) == (
        '<span class="missing" role="img" aria-label="missing" title="missing: nan">—</span>'
    )
    made = environment().get_template("variable.html.jinja").render(
        one=variable, thread="t", step="1", base="", path="", asset="", user=""
    )  # fmt: skip
    assert made.count('aria-label="missing"') == 3
    assert ">None</td>" in made
    assert "&lt;i" in missing(Missing("<i>"))
    in_a_file = shown_variable("outputs/A.csv", VariableWindow(), {**told, "cells": [["x", ""]], "missing": []})
    assert [bool(missing(cell)) for cell in in_a_file.cells[0]] == [False, True]


def test_an_answer_that_waits_shows_values_and_their_expressions_apart() -> None:
    rows = [Variable(name="n", kind="int", summary="15529"), Variable(name="t", kind="DataFrame", summary="2 rows")]
    answer = "It is {{n:,}}, **{{t['a'].mean():.2f}}** on average."
    for code, first, known in ((ONLY_VALUES, "15,529", False), ("n = n + 1", "⟨value 1⟩", False)):
        shown = shown_proposal(ApprovalAsked(thread="t", number=2, purpose="", code=code, answer=answer), rows)
        assert f"It is {first}, <strong>⟨value 2⟩</strong> on average." in shown.text
        assert shown.expressions == ((first, "n:,"), ("⟨value 2⟩", "t['a'].mean():.2f"))
        assert shown.known is known
    whole = shown_proposal(
        ApprovalAsked(thread="t", number=2, purpose="", code=ONLY_VALUES, answer="It is {{n}}."), rows
    )
    assert whole.known
    assert "It is 15529." in whole.text
    large = [Variable(name="n", kind="int", summary="1" * 20)]
    waits = ApprovalAsked(thread="t", number=2, purpose="", code=ONLY_VALUES, answer="It is {{n:c}}.")
    assert not shown_proposal(waits, large).known, "it is no character's number"


def test_inputs_are_linked_once_they_are_the_threads() -> None:
    macro = '{% import "page.html.jinja" as page %}{{ page.inputs(files, here) }}'
    for here, linked in (("", False), ("/threads/t", True)):
        shown = environment().from_string(macro).render(files=[make_input()], here=here)
        assert "<code>inputs/sales.csv</code>" in shown
        assert ("<a " in shown) is linked


def test_pictures_that_a_turn_delivered_stand_beside_its_answer_once() -> None:
    cells = [make_cell(1, figures=["figures/f.png"]), make_cell(2), make_cell(3, status="error"), make_cell(4, turn=2)]

    def picture(name: str, cell: int, sha256: str = "") -> dict[str, object]:
        return {"name": name, "url": "", "size": 1, "sha256": sha256 or name, "mime": "image/png", "cell": cell}

    artifacts = [picture("a.png", 1), picture("b.png", 2), picture("copy.png", 2, "b.png"), picture("c.png", 3),
                 picture("d.png", 4), picture("figures/f.png", 1),
                 {**picture("e.csv", 2), "mime": "text/csv"}]  # fmt: skip
    turns = [
        Turn(number=1, question="?", plan=[], answer="See ![it](a.png) and ![f](figures/f.png)."),
        Turn(number=2, question="?", plan=[], answer="So."),
    ]
    state = make_state(cells=cells, turns=turns, turn=2, artifacts=artifacts)
    view = ThreadView("t", state, "finished", "", datetime(2025, 1, 1, tzinfo=UTC), "mark")
    figures = shown_thread(view, "/ui").figures
    assert [(one.address, one.cell) for one in figures[1]] == [("/ui/threads/t/artifacts/b.png", 2)]
    assert [one.name for one in figures[2]] == ["d.png"]


def test_the_variables_behind_a_value_are_those_that_its_expression_reads() -> None:
    assert variables_in("round(by_region['units'].iloc[0] / total, digits)") == ["by_region", "total", "digits"]
    assert variables_in("sum(one * rate for one in prices if (big := one))") == ["rate", "prices"]
    assert variables_in("(lambda one: one + n)(1)") == ["n"]
    assert variables_in("no ) Python") == variables_in("(" * 1_000) == []
