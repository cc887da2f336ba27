"""What a run has done so far, for browsers that come at any time; and where a search has found its words."""

from dataclasses import replace
from datetime import UTC, datetime

from graph.events import (
    ApprovalAsked,
    CellFinished,
    CellStarted,
    Finished,
    ModelAnswered,
    ModelAsked,
    Notice,
    Output,
    SentBack,
    SessionRestored,
    SnapshotSaved,
    Started,
)
from graph.settings import Prices
from stepwell.page.progress import OUTPUT_KEPT, Progress
from stepwell.thread_summaries import AROUND, ThreadFilter, ThreadSummary
from tests.states import make_cell

THREAD = "0b8e5a52-7a5e-4c0e-9a43-0c7d3f3c1a11"


def test_it_says_what_happens_now_since_when_and_what_it_took() -> None:
    progress = Progress(prices=Prices((10.0, 100.0)))
    progress.add(Started(THREAD, "Why?", model="m"), when=100.0)
    progress.add(ModelAsked("generate"), when=101.0)
    assert (progress.now, progress.since, progress.began) == ("writing the next cell", 101.0, 100.0)
    progress.add(ModelAnswered("generate", 1_000, 100, 2.0), when=103.0)
    assert (progress.question, progress.model, progress.tokens) == ("Why?", "m", 1_100)
    assert progress.cost == 0.02
    progress.add(CellStarted(1, "Look", "x"), when=104.0)
    assert progress.now == "cell 1 is running"
    asked = ApprovalAsked(THREAD, 2, "Count", "y")
    progress.add(asked)
    assert (progress.now, progress.ending) == ("waiting for a decision", asked)


def test_who_comes_later_is_told_what_has_changed_since() -> None:
    progress = Progress()
    progress.add(Started(THREAD, "Why?"))
    progress.add(CellStarted(1, "Look", "x"))
    progress.add(Output(1, "stdout", "one\n"))
    seen = progress.seen
    assert progress.changed_since(0) == ["cell-1", "now", "output-1"]
    assert progress.changed_since(seen) == []
    progress.add(Output(1, "stdout", "two\n"))
    assert progress.changed_since(seen) == ["output-1"]
    assert progress.running is not None
    assert progress.running.output == "one\ntwo\n"
    before = progress.copied()
    progress.add(CellFinished(make_cell(1)))
    progress.add(SnapshotSaved(1, "abc", 10, 0.1, lost=["lock"]))
    assert progress.cells[0]["snapshot"] == "abc"
    assert progress.changed_since(before.seen) == ["now", "cell-1", "notices"]
    assert before.running is not None
    assert before.cells == []
    progress.add(CellFinished(make_cell(1, purpose="again")))
    assert [cell["purpose"] for cell in progress.cells] == ["again"]


def test_what_a_cell_prints_is_kept_up_to_a_bound() -> None:
    progress = Progress()
    progress.add(CellStarted(1, "Look", "x"))
    for _ in range(30):
        progress.add(Output(1, "stdout", "x" * 999 + "\n"))
    assert progress.running is not None
    assert len(progress.running.output) == OUTPUT_KEPT
    assert progress.running.left_out
    progress.add(Output(7, "stdout", "of another cell"))
    assert "another" not in progress.running.output


def test_receipts_are_told_in_words() -> None:
    progress = Progress()
    progress.add(SessionRestored(2, 1.0, from_cell=3, lost=["lock (cell 2): cannot be pickled"], versions=["pandas 3"]))
    progress.add(SentBack(["Name the month."]))
    progress.add(Notice("The disk is full.", level="warning"))
    progress.add(Finished(THREAD, "42"))
    assert progress.notices == [
        ("info", "The session was restored from the snapshot after cell 3, and 2 cells ran again."),
        ("warning", "Lost: lock (cell 2): cannot be pickled."),
        ("warning", "Other versions than before: pandas 3."),
        ("warning", "Not good enough yet: Name the month."),
        ("warning", "The disk is full."),
    ]


def test_a_search_shows_where_its_words_stand() -> None:
    summary = ThreadSummary(THREAD, "", "finished", 1, 1, datetime.now(UTC))
    text = "a " * 100 + "the North\nsold " + "b " * 100
    found = ThreadFilter("NORTH missing").excerpt(replace(summary, text=text))
    assert "the North sold" in found
    assert found.startswith("…")
    assert found.endswith("…")
    assert len(found) <= 2 * AROUND + 10
    assert ThreadFilter("north").excerpt(replace(summary, text="north")) == "north"
    assert ThreadFilter("south").excerpt(replace(summary, text="north")) == ""
    assert ThreadFilter().excerpt(replace(summary, text="north")) == ""
