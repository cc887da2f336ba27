"""Problem sets of DSEval are read, values compared by its rules, and what is not known is named."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evals.dseval.inside.matching import difference, unchanged
from evals.dseval.problem_sets import ASKED
from evals.dseval.validators import UnsupportedError, read_validators
from evals.loading import load, recognised
from stepwell.errors import UsageError

SET = '''# %%
x = 1
# %%
"""
question: Double it.
execution:
  max_time: 2
  forbid_names: [hidden]
"""
x * 2
# %%
y = open("inputs/a.csv").read()
# %%
r"""
question: And the lines?
validator: {template: basic, vis: null}
"""
y.splitlines()
'''


def write(folder: Path, text: str = SET, data: str = "") -> Path:
    (folder / data).mkdir(parents=True, exist_ok=True)
    (folder / data / "a.csv").write_text("1\n")
    (folder / "set.py").write_text(text)
    return folder / "set.py"


@pytest.mark.parametrize("data", ["", "set", "_inputs", "_inputs/set"])
def test_a_set_is_recognised_and_read(tmp_path: Path, data: str) -> None:
    file = write(tmp_path, data=data)
    assert recognised(file) == "dseval"
    (task,) = load(file, tmp_path)
    assert task.questions == (f"Double it.\n\n{ASKED}", f"And the lines?\n\n{ASKED}")
    assert task.files == (str(tmp_path / data / "a.csv"),)
    first, second = task.problems
    assert (first.before, first.reference, first.forbidden) == ("x = 1", "x * 2", ("hidden",))
    assert first.checks == ["and", [["crash", {}], ["namespace_intact", {}], ["result", {}]]]
    assert (second.before.partition("=")[0], second.unsupported) == ("y ", "the validator `vis`")


ADDRESSED = '''\'\'\'
### Description ###
A comment, as some published sets have it.
\'\'\'

# %%
import pandas as pd

# %%

"""
question: |
  Read `inputs/Ships and ports (2).csv` into `ships`.

data:
  Ships and ports (2).csv: https://example.org/ships.csv

validator:
  namespace_check:
    ships:
"""

url = "inputs/" + "Ships and ports (2).csv"
ships = pd.read_csv(url)
'''


def test_a_file_with_an_address_is_needed_and_its_address_is_said(tmp_path: Path) -> None:
    (tmp_path / "set.py").write_text(ADDRESSED)
    with pytest.raises(
        UsageError, match=r"Nothing is downloaded: put it there\. It is at https://example\.org/ships\.csv"
    ):
        load(tmp_path / "set.py", tmp_path)
    (tmp_path / "Ships and ports (2).csv").write_text("a\n1\n")
    (task,) = load(tmp_path / "set.py", tmp_path)
    assert [Path(one).name for one in task.files] == ["Ships and ports (2).csv"]
    assert task.problems[0].before == "import pandas as pd"


def test_problems_apart_begin_with_what_the_reference_made(tmp_path: Path) -> None:
    write(tmp_path)
    tasks = load(tmp_path, tmp_path, "dseval-apart")
    assert [task.id for task in tasks] == ["set-1", "set-2"]
    assert tasks[1].problems[0].before == 'x = 1\n\nx * 2\n\ny = open("inputs/a.csv").read()'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "has no cell with a `question`"),
        ('# %%\n"""\nquestion: [1\n"""\nx = 1\n', "is no YAML"),
        ('# %%\n"""\nquestion: a\nanswer: b\n"""\nx = 1\n', "other fields than"),
        ('# %%\n"""\nquestion: a\n"""\nx = = 1\n', "is no Python"),
        ('# %%\n"""\nquestion: a\n"""\nopen("inputs/b.csv")\n', "Nothing is downloaded"),
        ('# %%\n"""\nquestion: a\n"""\nopen("inputs/b/c.csv")\n', "in folders below inputs/"),
    ],
)
def test_a_set_that_cannot_be_used_gets_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(UsageError, match=said):
        load(file, tmp_path)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"stream": None}, "the validator `stream`"),
        ({"template": "strict"}, "the template 'strict'"),
        ({"result": {"match_partial": True}}, "`result` with match_partial"),
        ({"result": {"atol": "small"}}, "no number"),
        ({"namespace_intact": {"replacement": ["x"]}}, "`namespace_intact` with replacement"),
        ({"or": {"vis": None}}, "the validator `vis`"),
        ({"model": {"model_name": "m", "inputs_name": "a", "labels_name": "b", "metric_type": "auc"}}, "a metric"),
        ({"table_test": {"function_name": "f", "test_cases": []}}, "without a function or cases"),
    ],
)
def test_what_cannot_be_checked_is_named(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        read_validators(given)


def test_a_template_gives_way_to_what_is_said() -> None:
    assert read_validators({"namespace_intact": {"update": ["x"]}, "result": {"atol": "1e-9"}}) == [
        "and",
        [["crash", {}], ["namespace_intact", {"update": ["x"]}], ["result", {"atol": 1e-9}]],
    ]
    assert read_validators({"template": "empty"}) == ["and", []]


FRAME = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
SAME: list[tuple[Any, Any, dict[str, Any]]] = [
    (1, 1.0, {}),
    (0.1 + 0.2, 0.3, {}),
    (np.int64(3), 3, {}),
    (float("nan"), float("nan"), {}),
    (10.0, 9.0, {"metrictol": 0.9}),
    ([1, (2, 3)], (1, [2, 3]), {}),
    ({"a": 1, "b": [2]}, {"b": [2], "a": 1}, {}),
    ({"a": 1}, {"b": 1}, {"ignore_index": True}),
    ([2, "a"], ["a", 2], {"ignore_order": True}),
    (np.array([1.0, np.nan]), np.array([1.0, np.nan]), {}),
    (FRAME, FRAME.copy(), {}),
    (FRAME, FRAME[::-1], {"ignore_order": True}),
    (FRAME, FRAME.set_axis([5, 6]), {"ignore_index": True}),
    (FRAME, FRAME.set_axis(["c", "d"], axis="columns"), {"ignore_names": True}),
    (FRAME, FRAME.astype({"a": float}), {"ignore_dtypes": True}),
    (FRAME["a"], FRAME["a"].rename("c"), {"ignore_names": True}),
    ([3], np.array(3), {"value_only": True}),
    (FRAME["a"], [1, 2], {"value_only": True}),
    (FRAME, FRAME.head(0), {"type_only": True}),
]
OTHER: list[tuple[Any, Any, dict[str, Any]]] = [
    (1, 2, {}),
    (1, True, {}),
    (1, "1", {}),
    (1.0, 1.001, {}),
    (10.0, 8.0, {"metrictol": 0.9}),
    ([1], {1}, {}),
    ([1, 2], [2, 1], {}),
    ({"a": 1}, {"a": 1, "b": 2}, {}),
    (np.array([1, 2]), np.array([[1, 2]]), {}),
    (np.array([1, 2]), [1, 2], {}),
    (np.array([1]), np.array([1.0]), {"strict_type": True}),
    (FRAME, FRAME[::-1], {}),
    (FRAME, FRAME[["a"]], {"ignore_order": True}),
    (FRAME, FRAME.astype({"a": float}), {}),
    (FRAME, FRAME["a"], {}),
    (FRAME["a"], FRAME["a"].rename("c"), {}),
    (FRAME, 1, {"type_only": True}),
]


@pytest.mark.parametrize(("reference", "found", "options"), SAME)
def test_values_that_are_the_same(reference: Any, found: Any, options: dict[str, Any]) -> None:
    assert difference(reference, found, options) == ""


@pytest.mark.parametrize(("reference", "found", "options"), OTHER)
def test_values_that_are_not(reference: Any, found: Any, options: dict[str, Any]) -> None:
    assert difference(reference, found, options)


def test_copies_are_unchanged_and_changes_are_seen(tmp_path: Path) -> None:
    code = (
        "class A:\n    def __init__(self, n):\n        self.n = [n]\ndef f(x=1):\n    return x + 1\na, b = A(1), A(2)\n"
    )
    (tmp_path / "one.py").write_text(code)
    (tmp_path / "other.py").write_text(code.replace("x + 1", "x + 2"))
    one, again, other = (runpy.run_path(str(tmp_path / name)) for name in ("one.py", "one.py", "other.py"))
    assert unchanged(one["f"], again["f"])
    assert not unchanged(one["f"], other["f"])
    assert unchanged(one["a"], one["A"](1))
    assert not unchanged(one["a"], one["b"])
    assert unchanged([FRAME, {"a": 1}], [FRAME.copy(), {"a": 1}])
    assert not unchanged([FRAME], [FRAME.assign(a=0)])
