"""Code, answers, JSON and steps come out of whatever shape a model wraps them in."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.replies import answer_in, code_in, json_in, prose_around, steps_in, without_thought

CODE = (
    st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1)
    .filter(str.strip)
    .filter(lambda code: not any(mark in code.lower() for mark in ("```", "~~~", "<", ">")))
)
"""Any text that has no wrapper's marks in it."""

PROSE = st.sampled_from(
    ["", "I load it.\n", "First:\n\n1. look\n2. `count` it\n\n", "数据如下。\n", "a < b, <b>bold</b>\n"]
)


@given(code=CODE, fence=st.sampled_from(["```", "````", "~~~", "~~~~~"]), before=PROSE, after=PROSE, data=st.data())
def test_code_in_a_fence_comes_back_exactly(code: str, fence: str, before: str, after: str, data: Any) -> None:
    tag = data.draw(
        st.sampled_from(["", "python", "py", "Python", "python title=x.py", " python", "{.python}", "tool_code"])
    )
    assert code_in(f"{before}{fence}{tag}\n{code}\n{fence}\n{after}") == code


@given(
    code=CODE, tag=st.sampled_from(["execute", "code", "EXECUTE", "execute lang='python'"]), before=PROSE, after=PROSE
)
def test_code_in_tags_comes_back_exactly(code: str, tag: str, before: str, after: str) -> None:
    assert code_in(f"{before}<{tag}>\n{code}\n</{tag.split()[0]}>\n{after}") == code


@given(code=CODE, before=PROSE)
def test_a_block_that_is_not_closed_runs_to_the_end(code: str, before: str) -> None:
    for opening in ("```python\n", "~~~\n", "<execute>\n", "<code>\n"):
        assert code_in(before + opening + code) in (code, code.removesuffix("\n"))


@given(blocks=st.lists(CODE, min_size=1, max_size=4))
def test_several_blocks_are_joined_in_order(blocks: list[str]) -> None:
    wrappers = ["```python\n{}\n```", "<execute>\n{}\n</execute>", "~~~py\n{}\n~~~", "<code>\n{}\n</code>"]
    text = "\nthen\n".join(wrapper.format(block) for wrapper, block in zip(wrappers, blocks, strict=False))
    assert code_in(text) == "\n\n".join(blocks)


@given(st.text())
def test_no_text_is_too_strange_to_be_read(text: str) -> None:
    code_in(text)
    answer_in(text)
    prose_around(text)
    json_in(text)
    steps_in(text)
    without_thought(text)


@given(st.text(alphabet="`~<>/codexuanswr \n[]{}\"',:1.-*", max_size=80))
def test_no_heap_of_marks_is_too_strange_to_be_read(text: str) -> None:
    code_in(text)
    answer_in(text)
    json_in(text)
    steps_in(text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("There is nothing to run.", ""),
        ("Use `df.head()` and <code>df</code> there.", ""),
        ("```python\n\n```", ""),
        ('```json\n{"a": 1}\n```', ""),
        ("```bash\npip install x\n```\n```python\nx\n```\n```output\n3\n```", "x"),
        ("```python\nx\n```\nprints\n```\n3\n```", "x"),
        ("```\nx = 1\n```", "x = 1"),
        ("```\nx = 1\n```\n```\ny = 2\n```", "x = 1\n\ny = 2"),
        ("<execute> print(1) </execute>", "print(1)"),
        ("Now I run it: <execute>\nprint(1)\n</execute>", "print(1)"),
        ("Now I run it: <execute> print(1)</execute> and see.", "print(1)"),
        ("Put your code into <execute> tags.", ""),
        ("<execute>\n```python\nx = 1\n```\n</execute>", "x = 1"),
        ("```python\nhtml = '<code>x</code><answer>no</answer>'\n```", "html = '<code>x</code><answer>no</answer>'"),
        ("1. Load:\n   ```python\n   if x:\n       y\n   ```\n2. Done", "if x:\n    y"),
        ("````python\ns = '''\n```\ninner\n```\n'''\n````", "s = '''\n```\ninner\n```\n'''"),
        ("````markdown\nSee:\n```python\nx\n```\n````", "x"),
        ("```markdown\nSee:\n```python\nx\n```\n", "x"),
        ("<answer>Run\n```python\nx\n```\nyourself</answer>", ""),
        ("```python\r\nx = 1\r\ny\r\n```", "x = 1\ny"),
        ("```python\nx = 1\n```   \nthen", "x = 1"),
        ("```python\nx\x0c\u2028y\n```", "x\x0c\u2028y"),
    ],
)
def test_code_is_found_where_it_is_and_nowhere_else(text: str, code: str) -> None:
    assert code_in(text) == code


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("no answer yet", None),
        ("<answer>42</answer>", "42"),
        ("Done.\n<answer>\nIt is **42**.\n\n| a |\n</answer>\nbye", "It is **42**.\n\n| a |"),
        ("<ANSWER>42", "42"),
        ("I will put it into <answer> tags later", None),
        ("```python\nprint('<answer>1</answer>')\n```", None),
        ("<answer>Run `x`:\n```python\nx\n```\n</answer>", "Run `x`:\n```python\nx\n```"),
        ("```markdown\n<answer>42</answer>\n```", "42"),
        ("<answer></answer>", ""),
    ],
)
def test_an_answer_is_what_stands_in_its_tags(text: str, answer: str | None) -> None:
    assert answer_in(text) == answer


def test_the_prose_is_what_is_left_without_code_and_answer() -> None:
    text = "I load it.\n\n\n```python\nx\n```\nThen I look.\n<answer>42</answer>\nBye."
    assert prose_around(text) == "I load it.\nThen I look.\nBye."
    assert prose_around("a" * 5_000, limit=100) == "a" * 99 + "…"
    assert prose_around("```python\nx\n```") == ""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"ok": true}', {"ok": True}),
        ('Sure [1]:\n```json\n{"ok": [1, 2]}\n```', {"ok": [1, 2]}),
        ('Sure [1]: {"ok": null} and {"no": 1}', {"ok": None}),
        ('[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}]),
        ("['a', 'b']", ["a", "b"]),
        ("{'ok': True, 'why': None, 'text': \"it's\"}", {"ok": True, "why": None, "text": "it's"}),
        ('{"a": [1, 2,], // two\n "b": "http://x, }",}', {"a": [1, 2], "b": "http://x, }"}),
        ('{"a": "line\nbreak"}', {"a": "line\nbreak"}),
        ('{"a": NaN}', {"a": None}),
        ('f(x) = {x} and {"a": {"b": "}"}}', {"a": {"b": "}"}}),
        ("[1, 2]", [1, 2]),
        ('<answer>{"a": 1}</answer>', {"a": 1}),
        ('```\n["a"]\n```', ["a"]),
        ('{"a": 1', None),
        ("nothing", None),
        ("[" * 3_000, None),
        ("[" * 300 + "]" * 300, None),
        ("{1, 2}", None),
        ("{__import__('os'): 1}", None),
    ],
)
def test_json_is_found_with_the_slips_that_models_make(text: str, found: Any) -> None:
    assert json_in(text) == found


@pytest.mark.parametrize(
    "piece", ["{", "[]", "/* ", '\\"', "{'", '{"a":', ", // ", '"\\'], ids=["braces", "lists", "comments", "escapes",
    "apostrophes", "colons", "commas", "quotes"],
)  # fmt: skip
@pytest.mark.parametrize("around", ["{{{}}}", "{{{{[{}", "{{'{}'}}"], ids=["object", "open", "string"])
def test_no_reply_takes_longer_than_its_length_accounts_for(piece: str, around: str) -> None:
    def spent(size: int) -> float:
        text = around.format(piece * (size // len(piece)))
        began = time.process_time()
        json_in(text)
        return time.process_time() - began

    assert spent(98_000) < 10 * max(spent(24_500), 0.05)


def test_a_comment_that_does_not_end_is_none() -> None:
    assert json_in('{"a": 1 /* one */, "b": 2 /* }') is None
    assert json_in('{"a": "/*"}') == {"a": "/*"}
    assert json_in("{'a': '\"', 'b': [1,],}") == {"a": '"', "b": [1]}


@pytest.mark.parametrize(
    "text",
    [
        '{"good_enough": true or false}',
        '{"good_enough": not true}',
        "{'good_enough': f(1)}",
        '{"good_enough": yes}',
        '{"good_enough": true',
        '{"good_enough": true "missing": 1}',
        '{"missing": ["one" two]}',
        "{'a': {1}}",
        "{(1, 2): 3}",
        "[a, b]",
    ],
)
def test_what_a_model_may_have_meant_is_not_guessed(text: str) -> None:
    assert json_in(text) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(value=st.dictionaries(st.text(), JSON, min_size=1), indent=st.sampled_from([None, 2]), before=PROSE)
def test_any_object_comes_back_from_a_fence_and_from_prose(value: Any, indent: int | None, before: str) -> None:
    written = json.dumps(value, indent=indent)
    assert json_in(f"{before}{written}\n") == value


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("Just do it.", []),
        ("1. Load the data\n2. Count **rows**\n", ["Load the data", "Count rows"]),
        ("Plan:\n\n1) `load`\n2) see [docs](http://x)\n\nThat is all.", ["load", "see docs"]),
        ("- [ ] Load\n- [x] Count", ["Load", "Count"]),
        ("* *Load*\n* a * b", ["Load", "a * b"]),
        ("### 1. Load\nread the file\n### 2. Count\n", ["Load", "Count"]),
        ("**1. Load**\n**2. Count**", ["Load", "Count"]),
        (
            "1. Load\n   - with dates\n   - and names\n2. Count\n   the rows",
            ["Load with dates and names", "Count the rows"],
        ),
        ("- I think\n\n1. Load\n2. Count", ["Load", "Count"]),
        ("Step 1: Load\nStep 2: Count", ["Load", "Count"]),
        ("1、读取数据\n2、统计", ["读取数据", "统计"]),
        ("（1）读取数据\n（2）统计", ["读取数据", "统计"]),
        ("第一步：读取数据\n第二步：统计", ["读取数据", "统计"]),
        ("ステップ1：読み込む\nステップ2：数える", ["読み込む", "数える"]),
        ("```text\n1. Load\n2. Count\n```", ["Load", "Count"]),
        ("```python\nx = [\n- 1,\n- 2]\n```", []),
        ("It grew by 1.5 percent\n- 3.5 is the mean", ["3.5 is the mean"]),
        ("1.5 percent of it\n2.5 of that", []),
        ("1. sort by `order_id` and __init__", ["sort by order_id and __init__"]),
    ],
)
def test_steps_are_the_items_of_a_list(text: str, steps: list[str]) -> None:
    assert steps_in(text) == steps


def test_a_step_is_cut() -> None:
    assert steps_in("1. " + "a" * 600) == ["a" * 499 + "…"]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("42", "42"),
        ("<think>hm</think>\n42", "42"),
        ("\n<think>a</think> <thinking>b</thinking>42", "42"),
        ("the template opened it</think>\n\n42", "42"),
        ("<think>never ends", ""),
        ("use the <think> tag to think", "use the <think> tag to think"),
        ("<b>42</b>", "<b>42</b>"),
    ],
)
def test_reasoning_before_a_reply_is_dropped(text: str, left: str) -> None:
    assert without_thought(text) == left
