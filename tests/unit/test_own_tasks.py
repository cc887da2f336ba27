"""The own suite: always the same, readable, and right by solutions that see nothing but the files."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evals.evaluation import Choices, evaluate
from evals.own.forms import UNANSWERABLE, Turn, best, exact, half_a_unit, play
from evals.own.making import world
from evals.own.packed import FILES
from evals.own.suite import lines, write_suite
from evals.own.views import back, change, keep, less, now, start
from evals.scoring import score_answer, score_files
from evals.tasks import Expected, Task, load_plain
from stepwell.errors import UsageError
from tests.unit.own_solutions import Files, conversations, deliveries, singles
from tests.unit.own_talks import Flow, Sales, answers


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_suite(tmp_path_factory.mktemp("suite")).parent


@pytest.fixture(scope="module")
def tasks(folder: Path) -> dict[str, Task]:
    return {task.id: task for task in load_plain(folder / "own.jsonl", folder)}


def line(value: Any) -> str:
    """The answer that an analyst ends with, numbers rounded to two decimals."""
    values = value if isinstance(value, tuple) else (value,)
    return "ANSWER: " + "; ".join(f"{one:.2f}" if isinstance(one, float) else str(one) for one in values)


def wrong(task: Task, said: list[str]) -> list[str]:
    """What is not right, turn by turn."""
    checked = zip(task.expected, said, strict=True)
    parts = [part for expected, answer in checked if expected for part in score_answer(answer, expected)]
    assert parts
    return [f"{task.id}: expected {part.expected}, got {part.got}" for part in parts if not part.right]


def test_there_are_tasks_of_every_kind(tasks: dict[str, Task]) -> None:
    kinds = {kind: [one for one in tasks if one.startswith(kind)] for kind in ("deliver-", "never-", "turns-", "long-")}
    assert len(tasks) == len(lines()) >= 60
    assert {kind: len(ids) for kind, ids in kinds.items()} == {"deliver-": 10, "never-": 9, "turns-": 16, "long-": 2}
    assert all(len(tasks[one].questions) == 30 for one in kinds["long-"])
    assert all(3 <= len(tasks[one].questions) <= 8 for one in kinds["turns-"])
    assert all(tasks[one].questions[0].count(UNANSWERABLE) == 1 for one in kinds["never-"])


def test_each_question_is_a_whole_sentence(tasks: dict[str, Task]) -> None:
    for task in tasks.values():
        for question in task.questions:
            asked = question.split("\n\nEnd your answer")[0]
            assert asked.rstrip()[-1] in ".?!`", asked
            assert "  " not in asked, asked


def test_each_question_is_asked_once_and_each_file_is_used(tasks: dict[str, Task]) -> None:
    assert len({task.questions for task in tasks.values()}) == len(tasks)
    assert {Path(file).name for task in tasks.values() for file in task.files} == set(FILES)


def test_another_process_writes_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "evals.own", str(tmp_path / "again")]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.stdout.strip() == str(tmp_path / "again" / "own.jsonl"), done.stderr
    assert {one.name: one.read_bytes() for one in folder.iterdir()} == {
        one.name: one.read_bytes() for one in (tmp_path / "again").iterdir()
    }


@pytest.mark.parametrize(("solve", "least"), [(singles, 30), (conversations, 5)])
def test_solutions_from_the_files_are_right(
    solve: Callable[[Files], dict[str, Any]], least: int, folder: Path, tasks: dict[str, Task]
) -> None:
    solved = solve(Files(folder))
    found = []
    for name, answer in solved.items():
        found += wrong(tasks[name], [line(one) for one in (answer if isinstance(answer, list) else [answer])])
    assert not found
    assert len(solved) >= least


@pytest.mark.parametrize(("name", "kind"), [("long-sales", Sales), ("long-flow", Flow)])
def test_the_words_of_the_long_tasks_lead_to_their_answers(
    name: str, kind: type[Sales] | type[Flow], folder: Path, tasks: dict[str, Task]
) -> None:
    given = answers(tasks[name].questions, kind(Files(folder)))
    assert wrong(tasks[name], [line(one) for one in given]) == []


def test_delivered_files_are_right_and_without_a_row_they_are_not(folder: Path, tasks: dict[str, Task]) -> None:
    for name, (files, answer) in deliveries(Files(folder)).items():
        expected = tasks[name].expected[0]
        assert expected is not None
        assert [part for part in score_files(files, expected) if not part.right] == []
        shorter = {file: content.rstrip().rpartition(b"\n")[0] for file, content in files.items()}
        assert not score_files(shorter, expected)[0].right
        if answer is not None:
            assert wrong(tasks[name], [line(answer)]) == []


def test_naive_reading_of_codes_and_missing_values_is_wrong(folder: Path, tasks: dict[str, Task]) -> None:
    """The traps are there: shops merged without zeros, repeated lines counted, 999 taken for a pulse."""
    files = Files(folder)
    orders, visits = files.orders(), files.visits()
    merged = orders[orders["shop"].str.lstrip("0") == "120"]["total"].sum()
    repeated = len((folder / "orders.csv").read_bytes().splitlines()) - 7
    for name, answer in {
        "shops-zeros": merged,
        "orders-count": repeated,
        "visits-pulse": visits["pulse"].mean(),
    }.items():
        assert wrong(tasks[name], [line(answer)])


def test_states_of_turns_are_those_that_earlier_ones_lead_to() -> None:
    from evals.own.views import Money

    def first(state: Money) -> int:
        return state.months[0]

    turns = [
        Turn("a", start(Money()), now(first)),
        Turn("b", change(months=(3, 6)), now(first)),
        Turn("c", change(months=(5, 6), at_least=7), now(first)),
        Turn("d", back(2, at_least=9), lambda states: [first(states[-1]), states[-1].at_least]),
        Turn("e", keep(), less(first, 1)),
    ]
    assert play("t", "bank.sqlite", turns)["expected"] == [[1], [3], [5], [3, 9], [2]]


def test_the_records_hold_together() -> None:
    made = world()
    assert len({one.number for one in made.orders}) == len(made.orders)
    by_id = {one.id: one for one in made.postings}
    back_again = [one for one in made.postings if one.reverses is not None]
    assert back_again
    assert all(by_id[one.reverses].cents == -one.cents for one in back_again if one.reverses is not None)
    assert len({one.reverses for one in back_again}) == len(back_again)


def test_ties_are_refused_and_rounding_to_either_side_is_right() -> None:
    with pytest.raises(ValueError, match="tied"):
        best({"a": 1, "b": 1})
    assert exact(0.1 + 0.2) == 0.3
    task = Expected((4969.665,), half_a_unit(2))
    rights = [[part.right for part in score_answer(f"ANSWER: {one}", task)] for one in (4969.66, 4969.67, 4969.68)]
    assert rights == [[True], [True], [False]]


def test_the_own_suite_takes_no_folder_of_data(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="leave --data out"):
        evaluate(Path("own"), Choices(), data=tmp_path, out=tmp_path, knobs={})
