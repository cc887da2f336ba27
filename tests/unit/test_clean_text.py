"""Texts that are published hold nothing that a terminal or an editor obeys, and code does what it did."""

import sys
import unicodedata
from typing import Any

import pytest

from graph.state import Artifact
from nodes.publishing import as_document, as_script
from storage.clean_text import ESCAPE, INVISIBLE, SURROGATE, clean, clean_code, clean_prose, shown_code
from tests.states import make_cell, make_state

HOSTILE = "\x1b]52;c;cm0gLXJmIC8=\x07\x1b[31m\u202egpj.exe\u2066\x9b2J\x00\x7f"


def hidden(text: str) -> list[str]:
    return [one for one in text if one not in "\n\t" and unicodedata.category(one) in ("Cc", "Cf", "Zl", "Zp")]


CODE = [
    f"value = '{HOSTILE.replace(chr(0), '')}'",
    f'value = f"{{1}}{HOSTILE.replace(chr(0), "")}"',
    "value = 1  # \x1b[31m access level \u202e nimda",
    "value = r'raw \x1b[31m and \u202e'",
    'value = """two\u2028lines\n\x1b[0m"""',
    "value = 1\x0c\nvalue += 1",
]


@pytest.mark.parametrize("code", CODE)
@pytest.mark.parametrize("status", ["ok", "error", "rejected"])
def test_the_script_shows_all_that_its_code_holds_and_does_the_same(code: str, status: str) -> None:
    state = make_state(
        question=f"What {HOSTILE}?",
        cells=[make_cell(1, code=code, status=status, purpose=f"do {HOSTILE}", error=f"Error: {HOSTILE}")],
    )
    script = as_script(state)
    assert not hidden(script)
    before: dict[str, object] = {}
    after: dict[str, object] = {}
    exec(code, before)
    exec(script, after)
    assert after.get("value") == (before["value"] if status != "rejected" else None)


def test_code_without_anything_hidden_stays_as_it_is() -> None:
    code = "x = '売上 👨\u200d👩\u200d👧'\n\ty = 1 +\n"
    assert clean_code(code) == code


def test_an_answer_is_published_without_escape_sequences_and_with_links_that_lead_to_its_files() -> None:
    answer = (
        f'See [the script](outputs/clean.py), ![it](./my%20plot.app/1.png "t"), [other](other.csv). {HOSTILE}'
        '[spaced]( <outputs/clean.py> "(a title)" )\n\n`outputs/clean.py`'
    )
    published = [
        artifact("script-clean.py", "outputs/clean.py"),
        artifact("my plot_app/1.png", "outputs/my plot.app/1.png"),
        artifact("other.csv", ""),
    ]
    text = as_document(f"What {HOSTILE}", answer, published)
    assert not hidden(text)
    assert "[the script](script-clean.py)" in text
    assert '![it](my%20plot_app/1.png "t")' in text
    assert "[other](other.csv)" in text
    assert '[spaced](script-clean.py "(a title)" )' in text
    assert text.endswith(
        "Published under other names:\n\n- `outputs/clean.py`: `script-clean.py`\n"
        "- `outputs/my plot.app/1.png`: `my plot_app/1.png`\n"
    )
    assert as_document("What?", "Four.", published[2:]) == "# What?\n\nFour.\n"
    doubted = as_document("What?", "Four.", [], ["4 was printed\nby no cell.", "a.csv is empty."])
    assert doubted == "# What?\n\nFour.\n\nNot verified:\n\n- 4 was printed by no cell.\n- a.csv is empty.\n"


def test_links_of_an_answer_lead_to_what_is_published_wherever_the_answer_says_it_lies() -> None:
    answer = "[a](outputs/a.csv), [a](a.csv), [b](outputs/answer.md), ![c](figures/c.png)"
    published = [artifact(name, "") for name in ("a.csv", "answer.md", "outputs/answer.md", "figures/c.png")]
    text = as_document("What?", answer, published)
    assert text == "# What?\n\n[a](a.csv), [a](a.csv), [b](outputs/answer.md), ![c](figures/c.png)\n"


@pytest.mark.parametrize("part", [" ", "<", '"', "](", '](a "', "](a>", "\t\n"])
def test_no_answer_takes_long_to_be_published(part: str) -> None:
    """Each would have taken minutes and more."""
    answer = ("](" + part * 100_000)[:200_000]
    assert as_document("What?", answer, [artifact("b.csv", "outputs/b.csv")])


def artifact(name: str, path: str) -> Artifact:
    found = Artifact(name=name, url="", size=1, sha256="", mime="", cell=1)
    if path:
        found["path"] = path
    return found


def test_marks_that_nobody_sees_are_left_out_and_emoji_and_words_stay_whole() -> None:
    tags = "".join(chr(0xE0000 + ord(one)) for one in "obey")
    marks = "\u061c\u200b\u200e\u200f\u2060\u2064\ufeff\ufff9"
    assert clean_prose(f"a{tags}b{marks}c") == "abc"
    england = "\U0001f3f4" + "".join(chr(0xE0000 + ord(one)) for one in "gbeng") + "\U000e007f"
    whole = f"{england} 👨\u200d👩 می\u200cخواهم ☂\ufe0f e\u0301"
    assert clean_prose(whole) == whole
    assert clean_prose(f"\U0001f3f4{tags * 9}\U000e007f") == "\U0001f3f4"


def test_what_is_printable_needs_no_cleaning() -> None:
    printable = "".join(char for char in map(chr, range(0x110000)) if char.isprintable()) + "\n\t"
    assert not any(pattern.search(printable) for pattern in (ESCAPE, INVISIBLE, SURROGATE))
    assert not set("\r\x85\u2028\u2029") & set(printable)


def searches_of(text: str) -> int:
    """How often a text is gone through, character by character, to be shown."""
    searches: list[str] = []

    def note(_: object, event: str, function: Any) -> None:
        if event == "c_call" and function.__name__ in ("sub", "translate"):
            searches.append(function.__name__)

    sys.setprofile(note)
    try:
        shown_code(clean(text))
    finally:
        sys.setprofile(None)
    return len(searches)


def test_plain_text_is_not_searched_for_what_would_have_to_go() -> None:
    assert searches_of("Größe: 3 …\n\t" * 500) == 0
    assert searches_of("Gr\x1b[1mö\x1b[0mße") > 0
