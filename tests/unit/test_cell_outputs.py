"""Outputs of cells as pages show them: all of them, within bounds, and those of older threads."""

import pytest

from nodes.cell_outputs import HTML_KEPT, MOST_OUTPUTS, TEXT_KEPT, outputs_of, outputs_shown
from sandboxes.results import CapturedText, CellError, CellResult, Display
from tests.states import make_cell


def result(
    *, stdout: str = "", stderr: str = "", displays: tuple[Display, ...] = (), error: CellError | None = None
) -> CellResult:
    return CellResult(
        status="ok" if error is None else "error",
        stdout=CapturedText(stdout),
        stderr=CapturedText(stderr),
        displays=displays,
        error=error,
    )


def test_what_was_printed_and_shown_is_kept_in_its_kind() -> None:
    shown = (
        Display(kind="result", text="   a\n0  1", html="<table></table>"),
        Display(kind="figure", text="figure: Sales", path="figures/cell-001-1.png"),
        Display(kind="display", text=""),
    )
    error = CellError(name="KeyError", message="'x'", traceback="Traceback\nKeyError: 'x'\n")
    assert outputs_of(result(stdout="hello\n", stderr="careful\n", displays=shown, error=error)) == [
        {"kind": "stdout", "text": "hello\n"},
        {"kind": "result", "text": "   a\n0  1", "html": "<table></table>"},
        {"kind": "figure", "text": "figure: Sales", "path": "figures/cell-001-1.png"},
        {"kind": "stderr", "text": "careful\n"},
        {"kind": "error", "text": "Traceback\nKeyError: 'x'"},
    ]


def test_a_long_text_keeps_both_ends_and_a_long_table_its_text() -> None:
    shown = (Display(kind="result", text="frame", html="<table>" + "x" * HTML_KEPT),)
    printed, table = outputs_of(result(stdout="begin" + "x" * 100_000 + "end", displays=shown))
    assert printed["text"].startswith("begin")
    assert printed["text"].endswith("end")
    assert len(printed["text"]) <= TEXT_KEPT + 100
    assert table == {"kind": "result", "text": "frame"}


def test_long_texts_share_what_short_ones_leave() -> None:
    shown = tuple(Display(kind="display", text="x" * length) for length in (9_000, 90, 9_000))
    assert [len(one["text"]) for one in outputs_of(result(displays=shown))] == [
        pytest.approx((TEXT_KEPT - 90) // 2, abs=60),
        90,
        pytest.approx((TEXT_KEPT - 90) // 2, abs=60),
    ]


@pytest.mark.parametrize("left_out", [1, 3])
def test_what_is_left_out_is_counted(left_out: int) -> None:
    shown = (Display(kind="display", text="x" * 900),) * (MOST_OUTPUTS + left_out)
    kept = outputs_of(result(displays=shown))
    assert len(kept) == MOST_OUTPUTS + 1
    assert sum(len(one["text"]) for one in kept) <= TEXT_KEPT + 60 * MOST_OUTPUTS
    words = "1 more output" if left_out == 1 else f"{left_out} more outputs"
    assert kept[-1] == {"kind": "stderr", "text": f"… {words} left out …\n"}


def test_an_older_cell_shows_what_its_model_read() -> None:
    cell = make_cell(2, "cell 2 · ok · 0.01 s\n42", figures=["figures/cell-002-1.png"])
    assert outputs_shown(cell) == [
        {"kind": "stdout", "text": "42\n"},
        {"kind": "figure", "text": "", "path": "figures/cell-002-1.png"},
    ]
    assert outputs_shown(make_cell(3, "cell 3 · ok · 0.01 s\n(nothing was printed)")) == []
    assert outputs_shown(make_cell(4, "This cell was rejected: no.", status="rejected")) == []
    assert outputs_shown(make_cell(5, "cell 5 · ok · 0.01 s\n42", outputs=[])) == []
