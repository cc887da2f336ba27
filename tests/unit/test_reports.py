"""Reports show a thread in one page: traceable, readable without scripts, and nothing in it runs or is fetched."""

import re
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest

from graph.state import State, Turn
from nodes.computed_answers import ONLY_VALUES
from stepwell.errors import ThreadError
from stepwell.exports.analysis import analysis_of
from stepwell.exports.pictures import Drawn
from stepwell.exports.report import report
from tests.states import make_cell, make_input, make_state

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "[go](javascript:alert(1))",
    "[go](<data:text/html,<script>alert(1)</script>>)",
    "![p](https://tracker.example/p.png)",
    "![p](//tracker.example/p.png)",
    "<iframe src=https://tracker.example></iframe>",
    "</style></details></section><style>body{display:none}</style>",
    "</pre></main><form action=https://tracker.example><input name=key></form>",
    "{{ 7 * 191 }} {% for x in y %}",
    "&#8238;gnp.exe &#x1b;]8;;https://tracker.example",
    "\u202egnp.exe\u2066 \x1b]8;;https://tracker.example\x07link\x1b]8;;\x07",
    '<a href="#" style="position:fixed;inset:0" id="cell-1" class="number">over all</a>',
    "<meta http-equiv=refresh content='0;url=https://tracker.example'><base href=https://tracker.example/>",
]


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the text that is seen."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._style = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._style = tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self._style = False

    def handle_data(self, data: str) -> None:
        if not self._style:
            self.text += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for one, attributes in self.found if one == tag]


def answered(answer: str, **changes: object) -> State:
    turn = {"number": 1, "question": "How many units?", "answer": answer, "plan": ["Count"]}
    return make_state(**{"answer": answer, "turns": [turn], **changes})


def page_of(state: State, drawn: Drawn | None = None, made: str = "") -> Elements:
    return Elements(report(analysis_of("0f0f0f0f-1111", state), drawn or Drawn({}, {}), made=made))


def test_numbers_lead_to_their_cells_with_the_expression() -> None:
    values = [{"expression": "df['units'].sum()", "text": "1,234"}]
    cells = [make_cell(1, "cell 1 · ok · 0.01 s\nmean 20.5667"), make_cell(2, values=values)]
    page = page_of(answered("In all **1,234** units, 20.57 on average.", cells=cells))
    links = [(one["href"], one["title"]) for one in page.named("a") if one.get("class") == "number"]
    assert links == [("#cell-2", "Cell 2: df['units'].sum()"), ("#cell-1", "Cell 1")]
    assert {one.get("id") for one in page.named("section")} == {"cell-1", "cell-2"}


def test_a_report_names_nobody_by_their_id() -> None:
    cells = [make_cell(number, edited={"by": "ann-17", "original": code}) for number, code in ((1, "1"), (2, ""))]
    text = report(analysis_of("0f0f", answered("Done.", cells=cells)), Drawn({}, {}))
    assert "ann-17" not in text
    assert "edited by the user before it ran" in text
    assert "sent as code, not written by Stepwell" in text


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_that_others_wrote_runs_or_is_fetched(attack: str) -> None:
    cell = make_cell(
        1,
        attack,
        purpose=attack,
        thought=attack,
        code=f"# {attack}",
        files=[{"path": attack, "change": "created", "size": 1}],
        figures=[attack],
        calls=[attack],
        values=[{"expression": attack, "text": attack}],
        outputs=[
            {"kind": "stdout", "text": attack},
            {"kind": "result", "text": attack, "html": f"<table><tr><td onclick=alert(1)>{attack}</table>{attack}"},
            {"kind": "display", "text": attack, "html": attack},
            {"kind": "figure", "text": attack, "path": attack},
            {"kind": "error", "text": attack},
        ],
    )
    one = make_input(path=f"inputs/{attack}", problem=attack)
    turn = {"number": 1, "question": attack, "answer": f"{attack}\n\n{attack}", "plan": [attack]}
    state = make_state(question=attack, answer=attack, turns=[turn], cells=[cell], inputs=[one], concerns=[attack])
    text = report(analysis_of("0f0f", state), Drawn({1: {attack: PNG}}, {attack: PNG}))
    page = Elements(text)
    for tag, attributes in page.found:
        assert tag not in {"script", "iframe", "object", "embed", "form", "input", "base", "svg", "link", "template"}
        assert not [name for name in attributes if name.startswith("on") or name == "style"], (tag, attributes)
        assert (attributes.get("src") or "data:image/png").startswith("data:image/png"), attributes
        assert re.match(r"#|https?:|mailto:|$", attributes.get("href") or ""), attributes
    assert len(page.named("style")) == 1
    assert [one["http-equiv"] for one in page.named("meta") if "http-equiv" in one] == ["Content-Security-Policy"]
    assert [one["id"] for one in page.named("section")] == ["cell-1"]
    assert len([one for one in page.named("a") if one.get("id") == "cell-1"]) == 0
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "1337" not in text  # what looks like a template is none


def test_the_page_forbids_what_it_does_not_have() -> None:
    (policy,) = [one["content"] for one in page_of(answered("Done.")).named("meta") if "http-equiv" in one]
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "script-src" not in policy  # none, by default


def test_figures_are_in_the_page_and_a_lost_one_is_named() -> None:
    outputs = [{"kind": "figure", "text": "", "path": f"figures/{name}.png"} for name in "ab"]
    cells = [make_cell(1, figures=["figures/a.png", "figures/b.png"], outputs=outputs)]
    state = answered("![Sales](figures/a.png) and ![Other](figures/b.png)", cells=cells)
    page = page_of(state, Drawn({1: {"figures/a.png": PNG}}, {"figures/a.png": PNG}))
    assert [(one["alt"], (one["src"] or "")[:22]) for one in page.named("img")] == [
        ("Sales", "data:image/png;base64,"),
        ("figures/a.png", "data:image/png;base64,"),
    ]
    assert "[Other]" in page.text
    assert "figures/b.png is no longer kept." in page.text


def test_the_pictures_of_an_answer_stand_beside_it_once_and_are_there_in_print() -> None:
    paths = [f"figures/{name}.png" for name in ("shown", "drawn", "again", "old", "un")]
    data = {path: PNG + path.encode() for path in paths}
    outputs = [{"kind": "figure", "text": "", "path": path} for path in paths[:3]]
    cells = [make_cell(1, turn=1), make_cell(2, turn=2, figures=paths[:3], outputs=outputs)]
    published = [
        {"name": path, "url": "", "size": 9, "sha256": sha256, "mime": "image/png", "cell": cell}
        for path, sha256, cell in zip(paths, ("a", "b", "b", "d", "e"), (2, 2, 2, 1, 1), strict=True)
    ]
    answer = (
        "![Sales](figures/shown.png), see `figures/drawn.png`; before it was ./figures/old.png, not figures/un.png3."
    )
    turn = {"number": 2, "question": "?", "answer": answer, "plan": []}
    state = make_state(turn=2, answer=answer, turns=[turn], cells=cells, artifacts=published)
    text = report(analysis_of("0f0f", state), Drawn({2: data}, data))
    beside, _, below = text.partition('class="figures"')[2].partition("</article>")[0].partition("</div>")
    assert re.findall(r"<figcaption>([^ ]+)", beside) == ["figures/drawn.png", "figures/old.png"]
    assert re.findall(r"<figcaption>([^ <]+)", below) == paths[:3]
    assert [one.get("loading") for one in Elements(text).named("img")] == [None] * 6
    assert '<a href="data:' not in text  # no browser goes there


def test_the_sign_of_a_number_belongs_to_its_link() -> None:
    values = [{"expression": expression, "text": text} for expression, text in (("low", "-5.25"), ("high", "9.75"))]
    text = report(analysis_of("0f0f", answered("From -5.25 (not 8-9.75).", cells=[make_cell(1, values=values)])),
                  Drawn({}, {}))  # fmt: skip
    assert re.findall(r'class="number"[^>]*>([^<]*)<', text) == ["-5.25", "9.75"]


def test_what_is_not_a_picture_is_not_put_in_as_one() -> None:
    cells = [make_cell(1, figures=["figures/a.png"], outputs=[{"kind": "figure", "text": "", "path": "figures/a.png"}])]
    page = page_of(answered("Done.", cells=cells), Drawn({1: {"figures/a.png": b"<svg onload=alert(1)>"}}, {}))
    assert page.named("img") == []


def test_questions_concerns_plan_and_what_was_left_aside() -> None:
    first = {"number": 1, "question": "First?", "answer": "One.", "plan": ["Look"]}
    second = {"number": 2, "question": "Second?", "answer": "Two.", "plan": ["Look again"]}
    cells = [
        make_cell(1),
        make_cell(2, turn=2),
        make_cell(3, turn=2, status="error", back_to=1),
        make_cell(4, turn=2, status="rejected"),
    ]
    plan = [{"text": "Look again", "done": False}]
    state = make_state(turn=2, turns=[first, second], question="Second?", answer="Two.", cells=cells, plan=plan)
    page = page_of(State(**{**state, "concerns": ["The total is not shown."]}))
    assert [one["href"] for one in page.named("a")] == ["#turn-1", "#turn-2"]
    assert [one.get("class") for one in page.named("section")] == [
        "cell ok",
        "cell ok aside",
        "cell error",
        "cell rejected",
    ]
    assert "The total is not shown." in page.text
    assert "left aside: a later cell goes back before it" in page.text
    assert "from the state after cell 1" in page.text
    assert [one.get("class") for one in page.named("li") if "class" in one] == ["done"]


def test_a_turn_in_the_middle_and_a_thread_without_a_question() -> None:
    page = page_of(make_state(cells=[make_cell(1)]))
    assert "This question has not been answered yet." in page.text
    with pytest.raises(ThreadError, match="nothing to export yet"):
        analysis_of("0f0f", make_state(question="", turn=0))


def test_it_says_when_it_was_made_and_of_what() -> None:
    analysis = analysis_of("0f0f0f0f-1111", answered("Done."), step="3b", updated=datetime(2026, 1, 2, tzinfo=UTC))
    assert (
        "Thread 0f0f0f0f at step 3b · 2026-01-02" in Elements(report(analysis, Drawn({}, {}), made="2026-01-02")).text
    )


@pytest.mark.slow
def test_a_huge_answer_is_shown_as_it_is() -> None:
    page = page_of(answered("# 1\n" * 150_000))
    assert page.text.count("# 1") == 150_000


def test_every_number_of_an_answer_leads_to_a_part_of_the_report() -> None:
    values = [{"expression": "total / 3", "text": "5,176.65"}]
    cells = [make_cell(1, "cell 1 · ok · 0.01 s\n15529.94"), make_cell(2, code=ONLY_VALUES, values=values)]
    turn = Turn(number=1, question="How much?", plan=[], answer="A third of 15,529.94 is 5,176.65.")
    state = make_state(cells=cells, turns=[turn], answer=turn["answer"], question="How much?")
    page = Elements(report(analysis_of("t", state), Drawn({}, {})))
    named = {attributes.get("id") for _, attributes in page.found}
    led = [str(one["href"]) for one in page.named("a") if one.get("class") == "number"]
    assert led == ["#cell-1", "#cell-2"]
    assert {one.removeprefix("#") for one in led} <= named
    assert ONLY_VALUES not in page.text
