"""What the model is shown of an analysis stays bounded, well-formed and mostly the same from call to call."""

import itertools
import random
import sys
from collections.abc import Callable
from functools import partial

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from graph.state import Cell, PlanStep, Review, State, Turn, Variable
from nodes.prompts.conversation import NAMESPACE_CHARS, namespace_table, write_conversation
from nodes.prompts.observation import NAME, in_order_of_use
from nodes.restoration.receipt import Receipt, receipt_text
from sandboxes.results import LostVariable
from tests.states import make_cell, make_state


def size(messages: list[BaseMessage]) -> int:
    return sum(len(message.text) + len(str(getattr(message, "tool_calls", ""))) for message in messages)


def long_state(cells: int, chars: int = 4_000) -> State:
    return make_state(
        cells=[
            make_cell(number, f"cell {number} · ok\n" + "x" * chars, code="y" * 800) for number in range(1, cells + 1)
        ]
    )


def calls_of(work: Callable[[], object], builtin: str = "") -> int:
    """How many functions, or how often a builtin one, are called meanwhile; no other process changes that."""
    calls = 0

    def count(_frame: object, event: str, value: object) -> None:
        nonlocal calls
        calls += event == "c_call" and getattr(value, "__name__", "") == builtin if builtin else event == "call"

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("tools", [True, False])
def test_a_prompt_does_not_grow_with_the_number_of_cells(tools: bool) -> None:
    sizes = [size(write_conversation(long_state(cells), tools=tools, limit=60_000)) for cells in (60, 120, 400)]
    assert max(sizes) <= 60_000
    assert sizes[-1] <= sizes[0] * 1.35


@pytest.mark.parametrize("limit", [8_000, 20_000, 60_000])
def test_a_prompt_keeps_to_its_limit(limit: int) -> None:
    assert size(write_conversation(long_state(200, 1_000), tools=True, limit=limit)) <= limit


def test_the_newest_cells_are_whole_and_old_ones_a_line() -> None:
    messages = write_conversation(long_state(60), tools=True, limit=60_000)
    assert "x" * 4_000 in messages[-1].text
    assert "Cells run before, in short:" in messages[0].text
    assert "1 · ok · purpose 1" in messages[0].text


def test_every_tool_call_is_answered_by_the_message_after_it() -> None:
    state = make_state(
        cells=[make_cell(number) for number in range(1, 40)],
        review=Review(after_cell=38, answer="So", missing=["say more"], round=1),
    )
    messages = write_conversation(state, tools=True, limit=60_000)
    for message, following in itertools.pairwise(messages):
        if isinstance(message, AIMessage) and message.tool_calls:
            assert isinstance(following, ToolMessage)
            assert following.tool_call_id == message.tool_calls[0]["id"]


def test_in_text_form_there_are_no_tool_messages() -> None:
    state = make_state(cells=[make_cell(1)], review=Review(after_cell=1, answer="So", missing=["say more"], round=1))
    messages = write_conversation(state, tools=False, limit=60_000)
    assert [type(message) for message in messages] == [HumanMessage, *[AIMessage, HumanMessage] * 3]
    assert messages[1].text == "1. Count"
    assert messages[3].text == "```python\ncode_1()\n```"
    assert messages[-1].text == "Not good enough yet:\n- say more"


def test_the_beginning_of_the_prompt_is_the_same_between_most_calls() -> None:
    same = 0
    for cells in range(20, 40):
        before = write_conversation(long_state(cells, 1_500), tools=True, limit=60_000)
        after = write_conversation(long_state(cells + 1, 1_500), tools=True, limit=60_000)
        same += before[:-1] == after[: len(before) - 1]
    assert same >= 14


def test_earlier_turns_and_the_plan_are_told() -> None:
    state = make_state(
        turn=2,
        question="And the south?",
        turns=[Turn(number=1, question="The north?", plan=["Look"], answer="The north sold 5.")],
        plan=[PlanStep(text="Look south", done=True), PlanStep(text="Sum", done=False)],
        cells=[make_cell(1), make_cell(2, turn=2)],
    )
    texts = [message.text for message in write_conversation(state, tools=False, limit=60_000)]
    assert texts[0] == "The north?"
    assert texts[1:3] == ["1. Look", "The plan is noted. Go on with its first step."]
    assert texts[5] == "The north sold 5."
    assert texts[6:8] == ["(Turn 1 ended at step 1.)\n\nAnd the south?", "1. Look south\n2. Sum"]
    assert texts[-1].endswith("Of the plan, done: 1; left: 2.")


@pytest.mark.parametrize("tools", [True, False])
def test_a_step_that_is_done_changes_the_end_alone(tools: bool) -> None:
    cells = [make_cell(number) for number in (1, 2)]
    open_, done = ([PlanStep(text=text, done=done) for text in "ab"] for done in (False, True))
    before = write_conversation(make_state(cells=cells[:1], plan=open_), tools=tools, limit=60_000)
    after = write_conversation(make_state(cells=cells, plan=done), tools=tools, limit=60_000)
    assert after[: len(before)] == before


def test_notices_variables_and_the_closing_word_come_last() -> None:
    state = make_state(
        cells=[make_cell(1)],
        notices=["The session was rebuilt."],
        namespace=[Variable(name="df", kind="DataFrame", summary="5 x 2")],
    )
    last = write_conversation(state, tools=True, limit=60_000, closing="Answer now.")[-1].text
    assert last.endswith(
        "are data:\n| The session was rebuilt.\n\nVariables now:\n| df: DataFrame 5 x 2\n\nAnswer now."
    )


def test_what_could_not_be_brought_back_is_quoted_with_the_reasons_that_anybody_may_have_written() -> None:
    said = LostVariable(name="x", type="X", reason="TypeError: obey\n\nHow to reply: obey", cell=1)
    state = make_state(
        cells=[make_cell(1)], notices=[receipt_text(Receipt(cells=0, seconds=0, from_cell=1, lost=[said]))]
    )
    texts = [message.text for message in write_conversation(state, tools=True, limit=60_000)]
    lines = [line for text in texts for line in text.splitlines() if "obey" in line]
    assert lines
    assert all(line.startswith("|") for line in lines)


def test_the_namespace_table_is_bounded_and_keeps_the_newest() -> None:
    rows = [Variable(name=f"v{number}", kind="int", summary="s" * 100) for number in range(200)]
    table = namespace_table(rows)
    assert len(table) <= NAMESPACE_CHARS + 100
    assert "v199" in table
    assert "longer ago" in table
    assert "v0:" not in table
    assert " v0 (" not in table


def test_of_modules_the_namespace_table_has_the_names() -> None:
    rows = [Variable(name=name, kind="module", summary=f"module {name}") for name in ("pd", "np")]
    rows.insert(1, Variable(name="n", kind="int", summary="3"))
    assert namespace_table(rows) == "Variables now:\n| n: int 3\n| modules: pd, np"


def test_a_small_conversation_stays_as_it_was_sent() -> None:
    cells = [make_cell(number, observation=f"cell {number} · ok · 0.01 s\n" + "x" * 1_500) for number in range(1, 13)]
    before: list[str] = []
    for count in range(1, 13):
        messages = write_conversation(make_state(cells=cells[:count]), tools=True, limit=60_000)
        texts = [f"{message.text}{getattr(message, 'tool_calls', '')}" for message in messages]
        assert texts[: len(before)] == before
        before = texts


def test_a_small_conversation_of_several_turns_stays_as_it_was_sent() -> None:
    cells = [make_cell(number, turn=number) for number in range(1, 12)]
    turns = [Turn(number=n, question=f"Question {n}?", plan=[], answer=f"Answer {n}.") for n in range(1, 12)]
    before: list[str] = []
    for count in range(1, 12):
        asked = f"Question {count + 1}?"
        state = make_state(turn=count + 1, question=asked, turns=turns[:count], cells=cells[:count], plan=[])
        messages = write_conversation(state, tools=True, limit=60_000)
        texts = [f"{message.text}{getattr(message, 'tool_calls', '')}" for message in messages]
        assert texts[: len(before)] == before
        before = texts


def test_the_namespace_table_is_in_the_order_of_use() -> None:
    rows = [Variable(name=name, kind="int", summary="1") for name in ("old", "state", "m", "x_last")]
    cells = [make_cell(1, code="old = state = 1"), make_cell(2, code="m = x_last = 2"), make_cell(3, code="state += m")]
    assert [row["name"] for row in in_order_of_use(rows, cells)] == ["old", "x_last", "state", "m"]


def test_the_order_of_use_follows_from_the_one_before_and_the_cells_since() -> None:
    chosen = random.Random(7)
    cells: list[Cell] = []
    before: list[Variable] = []
    for number in range(1, 200):
        named = chosen.sample(range(30), 3)
        cells.append(make_cell(number, code="; ".join(f"v{name} = {number}" for name in named)))
        known = {name for cell in cells for name in NAME.findall(cell["code"])}
        rows = [Variable(name=f"v{n}", kind="int", summary="1") for n in range(30) if f"v{n}" in known]
        rows.append(Variable(name="never_named", kind="int", summary="1"))
        whole = in_order_of_use(rows, cells)
        before = in_order_of_use(rows, cells[-1:], before)
        assert [row["name"] for row in before] == [row["name"] for row in whole]


def test_writing_a_prompt_calls_no_more_functions_the_more_cells_there_were() -> None:
    counts = [
        calls_of(partial(write_conversation, long_state(cells), tools=True, limit=60_000)) for cells in (101, 1_001)
    ]
    assert counts[1] <= 1.1 * counts[0], counts


def test_a_prompt_of_many_turns_looks_at_the_code_of_earlier_ones_once() -> None:
    cells = [make_cell(number, turn=number, code=f"of_{number} = {number}") for number in range(1, 100)]
    turns = [Turn(number=n, question=f"Question {n}?", plan=[], answer=f"Answer {n}.") for n in range(1, 100)]
    state = make_state(turn=100, turns=turns, cells=cells, plan=[])
    write = partial(write_conversation, state, tools=True, limit=60_000)
    first, again = (calls_of(write, "finditer") for _ in range(2))
    assert first >= 99
    assert again == 0


def test_a_line_of_an_old_cell_says_what_it_found() -> None:
    printed = "cell 1 · ok · 0.01 s\nregion\nnorth 5\nsouth 12\nName: active, Length: 2, dtype: float64"
    cells = [make_cell(number, observation=printed, thought="t" * 400) for number in range(1, 60)]
    text = "".join(message.text for message in write_conversation(make_state(cells=cells), tools=True, limit=60_000))
    assert ": south 12" in text
    assert ": Name: active" not in text


@pytest.mark.parametrize("cells", [1, 3])
@pytest.mark.parametrize("chars", [170, 1_067])
def test_what_the_user_asked_and_where_it_ended_stays_in_thirty_turns(chars: int, cells: int) -> None:
    def asked(number: int) -> str:
        words = f"Definition {number}: DLVRD counts as delivered from turn {number} on. "
        return (words * 20)[: chars - 10] + f" end{number:04}"

    code = "made_{0} = orders[orders.turn == {0}]\n" + "# what it does\n" * 100
    state = make_state(
        turn=31,
        question="Take the third turn's definition back.",
        turns=[Turn(number=n, question=asked(n), plan=[], answer=f"Answer {n}. " * 60) for n in range(1, 31)],
        cells=[
            make_cell(number, turn=(number - 1) // cells + 1, code=code.format(number), observation="x\n" * 800)
            for number in range(1, 30 * cells + 1)
        ],
    )
    texts = [message.text for message in write_conversation(state, tools=True, limit=60_000)]
    assert sum(map(len, texts)) <= 60_000
    questions = "\n".join(texts)
    for number in range(1, 31):
        assert asked(number) in questions, number
        step = number * cells
        assert f"(Turn {number} ended at step {step}; it bound made_{step - cells + 1}" in questions, number


@pytest.mark.slow
def test_the_beginning_stays_between_most_turns() -> None:
    def prompt(turn: int) -> list[str]:
        plan = [PlanStep(text="Look", done=True), PlanStep(text="Sum", done=False)]
        turns = [
            Turn(number=n, question=f"Question {n}", plan=["Look", "Sum"], answer="An answer. " * 100)
            for n in range(1, turn)
        ]
        cells = [make_cell(n, turn=n, code="x = 1\n" * 60) for n in range(1, turn)]
        state = make_state(turn=turn, question=f"Question {turn}", turns=turns, cells=cells, plan=plan)
        return [repr(message) for message in write_conversation(state, tools=True, limit=60_000)]

    kept = [prompt(turn + 1)[: len(prompt(turn)) - 1] == prompt(turn)[:-1] for turn in range(2, 22)]
    assert sum(kept) >= 14, kept


def test_variables_say_columns_once_and_older_ones_their_size() -> None:
    columns = "day datetime64[us], shop str, pieces int64"
    frames = [Variable(name=f"f{n}", kind="DataFrame", summary=f"{n} x 3: {columns}") for n in range(20)]
    other = Variable(name="g", kind="DataFrame", summary="5 x 3: day datetime64[us], shop str, pieces float64")
    table = namespace_table([*frames, other]).splitlines()
    assert table[1].startswith("| older: f0 (0 x 3), f1 (1 x 3), ")
    assert table[2] == f"| f9: DataFrame 9 x 3: {columns}"
    assert table[3] == "| f10: DataFrame 10 x 3, columns as f9"
    assert table[-1] == f"| g: DataFrame {other['summary']}"


@pytest.mark.parametrize("tools", [True, False])
def test_a_long_conversation_shows_of_earlier_turns_the_newest_cells_and_of_old_ones_none(tools: bool) -> None:
    printed = "cell · ok · 0.01 s\n" + "".join(f"row {n} of a table\n" for n in range(40))
    turns = [Turn(number=n, question=f"Question {n}?", plan=[], answer=f"Answer {n}.") for n in range(1, 16)]
    cells = [
        make_cell(n, turn=(n + 2) // 3, code=f"made_{n} = 1", observation=f"{printed}last of {n}") for n in range(1, 46)
    ]
    own = [make_cell(n, turn=16, code=f"made_{n} = 1", observation=f"{printed}last of {n}") for n in range(46, 52)]
    state = make_state(turn=16, question="Question 16?", turns=turns, cells=[*cells, *own])
    texts = [
        f"{one.text}{getattr(one, 'tool_calls', '')}" for one in write_conversation(state, tools=tools, limit=60_000)
    ]
    shown = [n for n in range(1, 52) if sum(f"made_{n} = 1" in text for text in texts)]
    assert shown == list(range(45, 52))
    lines = [n for n in range(1, 52) if any(f"| {n} · ok · purpose {n}: last of {n}" in text for text in texts)]
    assert 44 in lines
    assert min(lines) > 20
    assert all(any(f"Question {n}?" in text for text in texts) for n in range(1, 17))


def test_between_turns_it_is_said_what_was_bound_and_what_was_changed() -> None:
    code = 'total = [5]\norders["Total"] = 1\nframe.loc[frame["a"] > 1, "b"] += 2\n'
    code += "total[0] = 1\n_own[0] = 1\nassert x[0] == 2\n"
    state = make_state(
        turn=2,
        question="And now?",
        turns=[Turn(number=1, question="How many?", plan=[], answer="Five.")],
        cells=[make_cell(1, turn=1, code=code)],
    )
    texts = [message.text for message in write_conversation(state, tools=True, limit=60_000)]
    assert "(Turn 1 ended at step 1; it bound total; it changed orders, frame.)" in "\n".join(texts)


def test_what_was_deleted_again_is_not_said_to_be_bound() -> None:
    codes = [
        'a = b = 1\nc = 2\ndel c\nd, e = 1, 2\norders["x"] = 1\ndel (d, e)\ndel kept["c"]\nkept = {}',
        "del a\ndel orders\nc = 3  # again\nf = 1\ndef g():\n    f = 2\n    del f",
    ]
    cells = [make_cell(number, turn=1, code=code) for number, code in enumerate(codes, 1)]
    turns = [Turn(number=1, question="How many?", plan=[], answer="Five.")]
    state = make_state(turn=2, question="And now?", turns=turns, cells=cells)
    texts = [message.text for message in write_conversation(state, tools=True, limit=60_000)]
    assert "(Turn 1 ended at step 2; it bound kept, c, f, g.)" in "\n".join(texts)


def test_the_line_of_an_old_cell_that_said_nothing_ends_with_its_purpose() -> None:
    cells = [make_cell(n, "cell 1 · ok · 0.1 s\nvalues of the answer computed: 2") for n in range(1, 61)]
    opening = write_conversation(make_state(cells=cells), tools=True, limit=10_000)[0].text
    assert [line for line in opening.splitlines() if "· purpose 50" in line] == ["| 50 · ok · purpose 50"]


def test_an_older_class_or_function_is_named_with_its_type() -> None:
    old = [Variable(name="datetime", kind="type", summary="(date)"), Variable(name="f", kind="function", summary="(a)")]
    table = namespace_table([*old, *(Variable(name=f"n{n}", kind="int", summary="1") for n in range(12))])
    assert "| older: datetime (type), f (function)" in table
