"""Scoring of answers and files, and the interval of the accuracy."""

import pytest

from evals.results import Result, read_results, report, summary, wilson, write_results
from evals.scoring import score_answer, score_files
from evals.tasks import Expected, FileExpected
from stepwell.errors import UsageError


@pytest.mark.parametrize(
    ("answer", "values", "tolerance", "right"),
    [
        ("ANSWER: 42", (42,), None, True),
        ("ANSWER: 42.4", (42,), None, False),
        ("**ANSWER: 1,234.50 %**", (1234.5,), None, True),
        ("- `ANSWER:` $3.14", (3.14159,), 0.01, True),
        ("ANSWER: 3.1", (3.14,), None, False),
        ("ANSWER: 3.144", (3.14,), None, True),
        ("ANSWER: -1.5e3", (-1500,), None, True),
        ("ANSWER: 1\nrather\nANSWER: 2.", (2,), None, True),
        ("It is 42.", (42,), None, False),
        ("ANSWER: about 42", (42,), None, False),
        ("ANSWER: North  east", ("north east",), None, True),
        ("ANSWER: North", ("South",), None, False),
        ("ANSWER: May; 3", ("May", 3), None, True),
        ("ANSWER: 3; May", ("May", 3), None, False),
        ("ANSWER: May", ("May", 3), None, False),
        ("ANSWER: May; 3; 4", ("May", 3), None, False),
        ("ANSWER: not answerable", ("not answerable",), None, True),
        ("ANSWER:", (0,), None, False),
    ],
)
def test_the_answer_line(
    answer: str, values: tuple[str | int | float, ...], tolerance: float | None, right: bool
) -> None:
    assert all(part.right for part in score_answer(answer, Expected(values, tolerance))) is right


@pytest.mark.parametrize(
    ("content", "right"),
    [
        (b"a,b\n1,2\n3,4\n", True),
        (b"b,a\n1,2\n3,4\n", False),
        (b"a,b\n1,2\n", False),
        (b"", False),
        (b"\xff\xfe\x00", False),
        (b"\n", False),
    ],
)
def test_a_table(content: bytes, right: bool) -> None:
    expected = Expected(files=(FileExpected("t.csv", ("a", "b"), 2),))
    assert [part.right for part in score_files({"t.csv": content}, expected)] == [right]
    assert not score_files({}, expected)[0].right


@pytest.mark.parametrize(
    ("content", "right", "got"),
    [
        (b'a,b\nx,1.25\ny,"1,000.5"\n', True, "as expected"),
        (b"a,b\nx,1.25\ny,1000.504\n", True, "as expected"),
        (b"a,b\nx,1.25\ny,1000.56\n", False, "with 1001.81"),
        (b"a,b\nx,1.25\ny,none\n", False, "with 'none' in it, which is no number"),
        (b"a,b\nx,1.25\ny\n", False, "with '' in it, which is no number"),
        (b"a,c\nx,1\n", False, "with no column b"),
        (b"a,b\n", False, "with 0.0"),
    ],
)
def test_the_sum_of_a_column(content: bytes, right: bool, got: str) -> None:
    expected = Expected(files=(FileExpected("t.csv", sums=(("b", 1001.75),)),))
    part = score_files({"t.csv": content}, expected)[0]
    assert (part.right, part.got) == (right, got)


def test_the_interval_is_that_of_wilson() -> None:
    assert wilson(15, 20) == pytest.approx((0.5313, 0.8881), abs=1e-4)
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)


def test_results_are_read_as_they_were_written(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path)) / "run"
    one = Result("a", "t", "wrong", "expected 1, got | <b>", 1, 0, 10, 2, 3, 1, 0.5, 1.25)
    assert read_results(folder) == {}
    write_results(folder, [one, one.broken_off("no key").timed(None)], "run")
    assert read_results(folder)["a"].status == "broken off"
    assert "cost: 1.0000" in summary([one, one])
    assert r"got \| \<b\>" in report([one], "run")
    (folder / "results.jsonl").write_text("{}\n")
    with pytest.raises(UsageError, match="Line 1"):
        read_results(folder)
