"""An observation tells what matters within its limit."""

import re

import pytest

from nodes.prompts.observation import cell_record, namespace_rows, observe, shorten
from sandboxes.results import CapturedText, CellError, CellResult, ChangedFile, Display, NamespaceRow
from tests.states import make_cell


def test_a_short_result_is_shown_whole() -> None:
    result = CellResult(
        status="ok",
        stdout=CapturedText("hello\n"),
        displays=(Display("result", text="42"), Display("figure", text="figure", path="figures/cell-001-1.png")),
        files=(ChangedFile("outputs/a.csv", "created", 1_234), ChangedFile("figures/cell-001-1.png", "created", 9)),
        seconds=0.5,
    )
    assert observe(result, number=1, limit=4_000) == (
        "cell 1 · ok · 0.50 s\nhello\n42\nfigures saved: figures/cell-001-1.png\n"
        "files: outputs/a.csv (created, 1,234 bytes)"
    )


def test_silence_is_said() -> None:
    assert observe(CellResult(status="ok"), number=3, limit=4_000).endswith("(nothing was printed)")


def test_a_traceback_survives_a_flood_of_output() -> None:
    error = CellError("ValueError", "bad", "Traceback\n  df.x\nValueError: bad")
    result = CellResult(status="error", stdout=CapturedText("x" * 60_000, "y" * 60_000, 10**9), error=error)
    observation = observe(result, number=2, limit=2_000)
    assert len(observation) <= 2_000
    assert observation.endswith("ValueError: bad")
    assert "characters left out" in observation


@pytest.mark.parametrize("limit", [200, 1_000, 4_000])
def test_an_observation_keeps_to_its_limit(limit: int) -> None:
    result = CellResult(
        status="error",
        note="n" * 300,
        stdout=CapturedText("o" * 5_000),
        stderr=CapturedText("e" * 5_000),
        displays=tuple(Display("display", text="d" * 500) for _ in range(50)),
        error=CellError("E", "m", "t" * 9_000),
        files=tuple(ChangedFile(f"outputs/{number}.csv", "created", 1) for number in range(500)),
    )
    assert len(observe(result, number=1, limit=limit)) <= limit


def test_dropped_output_is_counted() -> None:
    assert CapturedText("a", "b", 1_000).text == "a\n… 1,000 bytes left out …\nb"


def test_what_is_remembered_is_cut() -> None:
    pending = {"purpose": "p", "code": "c", "step": 2, "thought": "t", "call_id": "x"}
    result = CellResult(
        status="error", error=CellError("E", "m" * 9_000, "t"), namespace=(NamespaceRow("v", "int", "s" * 999),)
    )
    cell = cell_record(pending, result, number=1, turn=1, limit=500)  # type: ignore[arg-type]
    assert set(cell) == set(make_cell(1))
    assert len(cell["error"]) <= 300
    assert len(namespace_rows(result.namespace)[0]["summary"]) == 200


def test_shorten_keeps_both_ends() -> None:
    text = shorten("a" * 500 + "b" * 500, 100)
    assert 90 <= len(text) <= 100
    kept = len(text) - len(re.findall(r"\n….*?…\n", text)[0])
    assert f"… {1_000 - kept} characters left out …" in text
    assert text.startswith("aaa")
    assert text.endswith("bbb")
    assert shorten("short", 100) == "short"


def test_characters_that_no_font_has_are_named_once() -> None:
    warning = (
        "/x/figures.py:113: UserWarning: Glyph {code} (\\N{{CJK UNIFIED IDEOGRAPH-{code:X}}}) missing from font(s) A.\n"
        "  result = print_figure(self, filename, *args, **options)\n"
    )
    stderr = "before\n" + "".join(warning.format(code=ord(character)) for character in "销额对") + "after\n"
    result = CellResult(
        status="ok",
        stderr=CapturedText(stderr),
        displays=(Display("figure", path="figures/cell-001-1.png"),),
    )
    observation = observe(result, number=1, limit=4_000)
    assert "stderr:\nbefore\nafter\nfigures saved" in observation
    assert "Glyph" not in observation
    assert all(character in observation.splitlines()[-1] for character in "销额对")


def test_glyph_warnings_alone_leave_no_stderr() -> None:
    stderr = "<cell 1>:3: UserWarning: Glyph 38144 (\\N{CJK UNIFIED IDEOGRAPH-9500}) missing from font(s) DejaVu Sans."
    observation = observe(CellResult(status="ok", stderr=CapturedText(stderr)), number=1, limit=4_000)
    assert "stderr" not in observation
    assert "boxes: 销." in observation
