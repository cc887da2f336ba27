"""Suites in the formats of public benchmarks are read, and scored by the benchmarks' own rules."""

import json
from pathlib import Path

import pytest

from evals.loading import load, recognised
from evals.published_rules import rouge, score_by_rule
from evals.tasks import Expected, Value
from stepwell.errors import UsageError

QUESTION = {
    "id": 3,
    "question": "Mean fare and port?",
    "concepts": ["Summary Statistics"],
    "constraints": "Round to two decimals.",
    "format": "@fare[mean] @port[name]",
    "file_name": "ships.csv",
    "level": "easy",
}
LABEL = {"id": 3, "common_answers": [["fare", "34.65"], ["port", "Hull"]]}
TASK = {
    "id": "sea-1",
    "query": "Which ports?",
    "answer": ["Hull", "Rye"],
    "answer_type": "list_exact",
    "data_sources": ["ships.csv", "logs/*"],
}


def dabench(folder: Path, question: object = QUESTION, label: object = LABEL) -> Path:
    (folder / "x-tables").mkdir()
    (folder / "x-tables" / "ships.csv").write_text("a\n1\n")
    (folder / "x-labels.jsonl").write_text(json.dumps(label) + "\n")
    (folder / "x-questions.jsonl").write_text(json.dumps(question) + "\n")
    return folder / "x-questions.jsonl"


def workload(folder: Path, **changes: object) -> Path:
    (folder / "logs").mkdir()
    for name in ("ships.csv", "logs/may.csv", "logs/june.csv"):
        (folder / name).write_text("a\n1\n")
    (folder / "sea.json").write_text(json.dumps([{**TASK, **changes}]))
    return folder / "sea.json"


def test_dabench_is_recognised_and_read(tmp_path: Path) -> None:
    (task,) = load(dabench(tmp_path), tmp_path)
    assert task.id == "3"
    assert task.files == (str(tmp_path / "x-tables" / "ships.csv"),)
    assert [part in task.questions[0] for part in ("Mean fare", "Round to two", "@fare[mean]")] == [True] * 3
    assert task.expected == (Expected(("34.65", "Hull"), rule="dabench", names=("fare", "port")),)


def test_kramabench_is_recognised_and_read(tmp_path: Path) -> None:
    (task,) = load(workload(tmp_path), tmp_path)
    assert [Path(file).name for file in task.files] == ["ships.csv", "june.csv", "may.csv"]
    assert task.expected == (Expected(("Hull", "Rye"), rule="list_exact"),)
    assert "JSON list" in task.questions[0]


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("@fare[34.65] @port[Hull]", [True, True]),
        ("@fare[1] then @fare[34.650] @port[Hull]", [True, True]),
        ("@fare[34.66] @port[Hull]", [False, True]),
        ("@fare[34.65%] @port[hull]", [False, False]),
        ("@fare[nan]", [False, False]),
        ("@fare[]", [False, False]),
        ("34.65 Hull", [False, False]),
    ],
)
def test_tags_are_scored_one_by_one(answer: str, right: list[bool]) -> None:
    expected = Expected(("34.65", "Hull"), rule="dabench", names=("fare", "port"))
    assert [part.right for part in score_by_rule(answer, expected)] == right


@pytest.mark.parametrize(
    ("kind", "values", "line", "right"),
    [
        ("numeric_exact", (1234.5,), "1,234.5", True),
        ("numeric_exact", (12.5,), "12.5 %", True),
        ("numeric_exact", (12.5,), "12.6", False),
        ("numeric_exact", (10000.4,), "10000", True),
        ("numeric_exact", (100000,), "100001", False),
        ("numeric_exact", (12.5,), "nan", False),
        ("numeric_exact", (0,), "0.1", False),
        ("numeric_approximate", (100,), "101", True),
        ("numeric_approximate", (100,), "101.1", False),
        ("numeric_approximate", ("2.5%",), "0.025", True),
        ("numeric_approximate", (2.5,), "2.5%", False),
        ("string_exact", ("North Sea",), "north sea", True),
        ("string_exact", ("North Sea",), "sea", False),
        ("string_approximate", ("the old port of Hull",), "Old port of Hull", True),
        ("string_approximate", ("the old port of Hull",), "Rye", False),
        ("string_exact", ("2000",), "2000.0", True),
        ("string_exact", ("12 %",), "12", True),
        ("string_exact", ("2000",), "2001", False),
        ("string_exact", ("nan",), "NaN", True),
        ("list_exact", ("Hull", "Rye"), '["rye", "HULL"]', True),
        ("list_exact", ("Hull", "Rye"), "Hull; Rye; Deal", False),
        ("list_exact", ("Hull", "Rye"), "Hull", False),
        ("list_exact", (1, 2.5), "[2.5, 1]", True),
        ("list_exact", (1, 2.5), "[2.51, 1]", False),
        ("list_exact", (), "[]", True),
        ("list_approximate", (100, 200), "[201, 100.5]", True),
        ("list_approximate", (100, 200), "[100, 204]", False),
    ],
)
def test_types_of_kramabench(kind: str, values: tuple[Value, ...], line: str, right: bool) -> None:
    parts = score_by_rule(f"So it is.\n\nANSWER: {line}", Expected(values, rule=kind))
    assert parts
    assert all(part.right for part in parts) is right
    if values:
        assert not all(part.right for part in score_by_rule("So it is.", Expected(values, rule=kind)))


SHAPES: list[tuple[dict[str, object], list[str], tuple[Value, ...]]] = [
    ({"data_sources": "logs/"}, ["june.csv", "may.csv"], ("Hull", "Rye")),
    ({"data_sources": ["logs/*y.csv"]}, ["may.csv"], ("Hull", "Rye")),
    ({"data_sources": ["./"]}, ["june.csv", "may.csv", "sea.json", "ships.csv"], ("Hull", "Rye")),
    ({"answer": '["Hull", 3]'}, ["ships.csv", "june.csv", "may.csv"], ("Hull", 3)),
    ({"answer": 7.95e-13, "answer_type": "numeric_exact"}, ["ships.csv", "june.csv", "may.csv"], (7.95e-13,)),
    (
        {"runtime": 0.1, "subtasks": [{"id": "1", "step": "Load."}], "deepresearch_subset": ["ships.csv"]},
        ["ships.csv", "june.csv", "may.csv"],
        ("Hull", "Rye"),
    ),
]


@pytest.mark.parametrize(("changes", "files", "values"), SHAPES)
def test_tasks_in_the_shapes_of_published_workloads(
    tmp_path: Path, changes: dict[str, object], files: list[str], values: tuple[Value, ...]
) -> None:
    (task,) = load(workload(tmp_path, **changes), tmp_path)
    assert [Path(file).name for file in task.files] == files
    assert task.expected[0] is not None
    assert task.expected[0].values == values


def test_another_accepted_answer_is_as_right() -> None:
    expected = Expected((3,), rule="numeric_exact", accepted=((4,),))
    assert score_by_rule("ANSWER: 4", expected)[0].right
    assert not score_by_rule("ANSWER: 5", expected)[0].right


def test_rouge_counts_words_of_both() -> None:
    assert rouge("a b c", "b c d") == pytest.approx(2 / 3)
    assert (rouge("", ""), rouge("a", "")) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"answer_type": "essay"}, "answer_type 'essay'"),
        ({"answer": "Hull"}, "not of its type"),
        ({"data_sources": ["gone.csv"]}, "gone.csv, which is not in"),
        ({"data_sources": ["../x"]}, "leads out"),
        ({"query": ""}, "needs `query`"),
    ],
)
def test_a_workload_that_cannot_be_used(tmp_path: Path, changes: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        load(workload(tmp_path, **changes), tmp_path)


@pytest.mark.parametrize(
    ("question", "label", "said"),
    [
        ({**QUESTION, "file_name": "gone.csv"}, LABEL, "gone.csv, which is not in"),
        (QUESTION, {**LABEL, "id": 4}, "labels do not have"),
        (QUESTION, {"id": 3, "common_answers": ["fare"]}, "list of .name, value."),
    ],
)
def test_dabench_that_cannot_be_used(tmp_path: Path, question: object, label: object, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        load(dabench(tmp_path, question, label), tmp_path)


def test_other_formats_are_refused_or_plain(tmp_path: Path) -> None:
    (tmp_path / "set.py").write_text("# %%\n")
    with pytest.raises(UsageError, match="problem set of DSEval"):
        load(tmp_path / "set.py", tmp_path)
    with pytest.raises(UsageError, match="--format cannot be 'odd'"):
        load(tmp_path / "set.py", tmp_path, "odd")
    (tmp_path / "own.jsonl").write_text('{"question": "a", "expected": 1}\n')
    assert recognised(tmp_path / "own.jsonl") == "plain"
    (tmp_path / "x-questions.jsonl").write_text(json.dumps(QUESTION))
    with pytest.raises(UsageError, match="labels of"):
        load(tmp_path / "x-questions.jsonl", tmp_path)
