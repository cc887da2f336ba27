"""Two evaluations are compared question by question, and a run keeps what it had."""

from pathlib import Path
from typing import Literal

import pytest

from evals.comparison import comparison, mcnemar, print_comparison
from evals.results import Result, keep_model, read_results, summary, write_results
from stepwell.errors import UsageError


def result(task: str, status: Literal["right", "wrong"], tokens: int, *, estimated: bool = False) -> Result:
    return Result(task, "t", status, "", 1, 1, tokens, 2, 3, 1, None, 1.5, estimated)


def test_the_exact_test() -> None:
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(5, 5) == 1.0
    assert mcnemar(6, 0) == pytest.approx(2 / 64)
    assert mcnemar(1, 9) == pytest.approx(22 / 1024)


def test_what_became_right_or_wrong_is_named() -> None:
    one = [result("a", "right", 10), result("b", "wrong", 20), result("c", "wrong", 30)]
    two = [result("a", "wrong", 1), result("b", "right", 2), result("c", "right", 3)]
    lines = comparison(list(zip(one, two, strict=True)), alone=1)
    assert lines[:4] == [
        "questions: 3 in both, 1 in one only, which are left out",
        "right: 1 and 2; difference +33.3% (McNemar's exact test: p = 1.000)",
        "right in the second only: b, c",
        "right in the first only: a",
    ]
    assert "input tokens: 60 and 6" in lines
    assert lines[-1].startswith("seconds: 4.5 and 4.5")


def test_a_page_is_written_and_folders_are_checked(tmp_path: Path) -> None:
    write_results(tmp_path / "one", [result("a_<b>", "right", 1)], "one")
    write_results(tmp_path / "two", [result("a_<b>", "wrong", 1)], "two")
    write_results(tmp_path / "other", [result("x", "wrong", 1)], "other")
    assert print_comparison(tmp_path / "one", tmp_path / "two", tmp_path / "page.md") == 0
    assert r"right in the first only: a\_\<b\>" in (tmp_path / "page.md").read_text()
    with pytest.raises(UsageError, match="holds no results"):
        print_comparison(tmp_path / "one", tmp_path / "gone", None)
    with pytest.raises(UsageError, match="no question in common"):
        print_comparison(tmp_path / "one", tmp_path / "other", None)
    with pytest.raises(UsageError, match="cannot be written"):
        print_comparison(tmp_path / "one", tmp_path / "two", tmp_path / "none" / "page.md")


def test_a_name_belongs_to_one_model(tmp_path: Path) -> None:
    keep_model(tmp_path / "run", "big")
    keep_model(tmp_path / "run", "big")
    with pytest.raises(UsageError, match="begun with the model big"):
        keep_model(tmp_path / "run", "small")


def test_estimated_tokens_are_marked_and_older_results_are_read(tmp_path: Path) -> None:
    assert "tokens: 5 in, 2 out; estimated in 1 tasks" in summary([result("a", "right", 5, estimated=True)])
    write_results(tmp_path, [result("a", "right", 5)], "run")
    file = tmp_path / "results.jsonl"
    file.write_text(file.read_text().replace(', "estimated": false', ""))
    assert read_results(tmp_path)["a"].estimated is False
