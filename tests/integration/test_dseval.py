"""`stepwell eval` asks problem sets of DSEval, and compares each session with what reference code leaves."""

import asyncio
import json
import signal
from pathlib import Path

import pytest

from evals.runner import thread_of
from graph.settings import Settings
from stepwell.threads import list_threads, read_thread
from tests.integration.test_evaluating import evaluated, evaluating
from tests.other_process import wait_for_flag
from tests.scripted_model import Call, Plain, Request, ScriptedServer

pytestmark = pytest.mark.slow

FRUIT = '''"""A comment before the first cell."""

# %%
import pandas as pd
least = 2

# %%
"""
question: |
  Zebra: load `inputs/fruit.csv` into `fruit`; how many rows are there?

validator:
  namespace_check:
    fruit:
"""

fruit = pd.read_csv("inputs/fruit.csv")
len(fruit)

# %%
"""
question: |
  Walrus: what is the mean price?
"""

fruit["price"].mean()

# %%
"""
question: |
  Ostrich: write a function `dear(frame, above)` that gives the rows whose price is above a number.

validator:
  template: intact
  table_test:
    function_name: dear
    input_validator: |
      def _validate(frame, above):
        assert "price" in frame
    output_checker:
      ignore_index: true
    test_cases:
    - - "`pd.DataFrame({'price': [1.0, 2.0, 3.0]})`"
      - 1.5
    - |
      ```
      def _generate():
        return pd.DataFrame({"price": np.random.rand(20)}), 0.5
      ```
    - //
"""

def dear(frame, above):
    return frame[frame["price"] > above]

# %%
"""
question: |
  Jackal: add a column `twice`, two times the price, to `fruit`.

validator:
  template: intact
  namespace_check:
    fruit:
"""

fruit["twice"] = fruit["price"] * least
'''
RIGHT = {
    "Zebra": "fruit = pd.read_csv('inputs/fruit.csv')\nfruit.shape[0]",
    "Walrus": "prices = fruit.price\nprices.sum() / len(prices)",
    "Ostrich": "def dear(frame, above):\n    return frame.loc[frame.price.gt(above)].reset_index(drop=True)",
    "Jackal": "fruit['twice'] = fruit.price + fruit.price",
}
DAMAGING = "mean = fruit.price.mean()\nfruit.loc[len(fruit)] = ['plum', 9.0]\nmean"


@pytest.fixture
def fruit(tmp_path: Path) -> Path:
    """A folder with one problem set and its table."""
    folder = tmp_path / "sets"
    (folder / "_inputs").mkdir(parents=True)
    (folder / "_inputs" / "fruit.csv").write_text("kind,price\napple,1.5\npear,2.5\nfig,5\n")
    (folder / "fruit.py").write_text(FRUIT)
    return folder


def writing(cells: dict[str, str]) -> ScriptedServer:
    """A model that answers each question with one cell, by the word at its beginning."""
    ran: set[str] = set()

    def policy(request: Request) -> Plain:
        word = max(cells, key=lambda one: request.text.rfind(f"{one}:"))
        if request.choice == "submit_review":
            return Call("submit_review", good_enough=True, missing=[])
        if word not in ran:
            ran.add(word)
            return Call("run_python", purpose=word, step=1, code=cells[word])
        return Call("submit_answer", answer="Done.", skipped=[])

    return ScriptedServer(policy=policy)


def results(folder: Path, name: str = "fruit-scripted") -> dict[str, dict[str, object]]:
    lines = (folder / "out" / name / "results.jsonl").read_text().splitlines()
    return {one["task"]: one for one in map(json.loads, lines)}


async def test_a_set_is_right_when_each_session_is_as_the_reference_leaves_it(fruit: Path, settings: Settings) -> None:
    async with writing(RIGHT) as server:
        code, out, err = await evaluated(fruit / "fruit.py", settings, server.base_url)
        asked = len(server.requests)
        again = await evaluated(fruit / "fruit.py", settings, server.base_url)
        assert len(server.requests) == asked
    assert code == 0, err
    (only,) = results(fruit).values()
    assert (only["status"], only["parts"], only["parts_right"]) == ("right", 4, 4), only
    assert again[:2] == (0, out)
    detail = await read_thread(thread_of("fruit-scripted", "fruit"), settings)
    assert [turn["question"].partition(":")[0] for turn in detail.state["turns"]][1:] == list(RIGHT)
    assert "least = 2" in detail.state["cells"][0]["code"]


WRONG = [
    {
        "Zebra": ("fruit = pd.read_csv('inputs/fruit.csv')\nfruit.shape[1]", "the value: 2 where 3 is right"),
        "Walrus": (DAMAGING, "fruit was updated"),
        "Ostrich": ("def dear(frame, above):\n    return frame[frame.price > 1.5]", "dear in case 2"),
        "Jackal": ("fruit['twice'] = fruit.price * least\ndel least", "least was deleted"),
    },
    {
        "Zebra": ("fruit = pd.read_csv('inputs/fruit.csv').head(2)\n3", "fruit: another DataFrame"),
        "Walrus": ("print(fruit.price.mean())", "its last cell ends without a value"),
        "Ostrich": ("def dear(frame, above):\n    frame['x'] = 1\n    return frame", "of its inputs in case 1"),
    },
    {
        "Zebra": ("frame = pd.read_csv('inputs/fruit.csv')\nlen(frame)", "there is no variable fruit"),
        "Walrus": ("fruit.price.median() / nothing", "its last cell failed: NameError"),
    },
]


@pytest.mark.parametrize("wrong", WRONG, ids=range(3))
async def test_what_is_wrong_is_said_of_its_problem_alone(
    fruit: Path, settings: Settings, wrong: dict[str, tuple[str, str]]
) -> None:
    cells = {**RIGHT, **{word: cell for word, (cell, _) in wrong.items()}}
    async with writing(cells) as server:
        code, _, err = await evaluated(fruit / "fruit.py", settings, server.base_url, "--format", "dseval-apart")
    assert code == 0, err
    found = dict(zip(RIGHT, results(fruit).values(), strict=True))
    assert {word for word, one in found.items() if one["status"] == "wrong"} == set(wrong), found
    assert {word: said for word, (_, said) in wrong.items() if said not in str(found[word]["why"])} == {}, found
    assert {one["cells"] for one in found.values()} == {2}


async def test_what_was_damaged_stays_so_for_the_problems_after_it(fruit: Path, settings: Settings) -> None:
    async with writing({**RIGHT, "Walrus": DAMAGING}) as server:
        _, out, _ = await evaluated(fruit / "fruit.py", settings, server.base_url)
    (only,) = results(fruit).values()
    assert (only["status"], only["parts"], only["parts_right"]) == ("wrong", 4, 2), only
    assert "values and files: 2 of 4 right" in out


async def test_what_is_not_known_is_named_and_not_guessed(fruit: Path, settings: Settings) -> None:
    (fruit / "pictures.py").write_text(
        FRUIT + '\n# %%\n"""\nquestion: "Badger: draw it."\nvalidator:\n  vis:\n"""\nfruit.plot()\n'
    )
    async with writing({**RIGHT, "Badger": "1 + 1"}) as server:
        code, out, _ = await evaluated(fruit / "pictures.py", settings, server.base_url)
    (only,) = results(fruit, "pictures-scripted").values()
    assert code == 0
    assert (only["status"], only["parts"], only["unchecked"]) == ("right", 4, 1)
    assert only["why"] == "not checked: problem 5: the validator `vis` is not supported"
    assert "values and files: 4 of 4 right; 1 not checked" in out


async def test_reference_code_that_fails_judges_nobody(fruit: Path, settings: Settings) -> None:
    (fruit / "fruit.py").write_text(FRUIT.replace("len(fruit)\n", "len(fig)\n"))
    async with writing(RIGHT) as server:
        code, _, err = await evaluated(fruit / "fruit.py", settings, server.base_url)
    (only,) = results(fruit).values()
    assert (code, only["status"], only["unchecked"]) == (1, "broken off", 4)
    assert "the set's own code fails here: NameError: name 'fig' is not defined" in str(only["why"]), err


async def test_a_killed_set_goes_on_where_it_was(fruit: Path, settings: Settings) -> None:
    slow = (
        "import time, pathlib\npathlib.Path('outputs/flag').touch()\n"
        "time.sleep(0 if pathlib.Path('inputs/go').exists() else 60)\nfruit.price.mean()"
    )
    async with writing({**RIGHT, "Walrus": slow}) as server:
        process = evaluating(fruit / "fruit.py", settings, server.base_url)
        try:
            flag = await wait_for_flag(settings)
        finally:
            process.send_signal(signal.SIGKILL)
            await asyncio.to_thread(process.communicate)
        assert flag.parts[-4] == thread_of("fruit-scripted", "fruit")
        before = [one for one in server.requests if "Walrus:" not in one.text]
        (flag.parents[1] / "inputs" / "go").touch()
        code, _, err = await evaluated(fruit / "fruit.py", settings, server.base_url)
        assert [one for one in server.requests if "Walrus:" not in one.text] == before
    assert code == 0, err
    (only,) = results(fruit).values()
    assert (only["status"], only["parts"]) == ("right", 4), only
    assert [(one.status, one.cells) for one in await list_threads(settings=settings)] == [("finished", 5)]


HOUSES = '''# %%
import numpy as np
import pandas as pd

# %%
"""
question: |
  Heron: fit a linear regression of `price` on `size` and `age` of the training rows; save it in `model`.

validator:
  template: intact
  namespace_check:
    model:
      type_only: true
  model:
    model_name: model
    inputs_name: held_inputs
    labels_name: held_labels
    metric_type: [r2, rmse]
    tolerance: [-0.01, 0.01]

execution:
  forbid_names:
    - held_labels
  max_time: 60
"""

from sklearn.linear_model import LinearRegression

held = pd.read_csv("inputs/houses.csv")
held_inputs, held_labels = held.loc[held["part"] == "test", ["size", "age"]], held.loc[held["part"] == "test", "price"]
train = held[held["part"] == "train"]
model = LinearRegression().fit(train[["size", "age"]], train["price"])
'''
FITTED = """from sklearn.linear_model import LinearRegression
rows = pd.read_csv("inputs/houses.csv").query("part == 'train'")
model = LinearRegression().fit({of}, rows["price"])"""


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        (FITTED.format(of='rows[["size", "age"]]'), "right", ""),
        (FITTED.format(of='rows[["size", "age"]] * 0 + 1'), "wrong", "r2 is"),
        (FITTED.format(of='rows[["size"]]'), "wrong", "model cannot predict"),
        ("model = 3", "wrong", "model"),
    ],
    ids=["fits", "learnt nothing", "other columns", "no model"],
)
async def test_a_model_is_judged_by_rows_that_it_has_not_seen(
    tmp_path: Path, settings: Settings, code: str, status: str, said: str
) -> None:
    folder = tmp_path / "sets"
    (folder / "_inputs" / "houses").mkdir(parents=True)
    rows = [(40 + n * 7 % 90, n * 3 % 50, "test" if n % 4 == 0 else "train") for n in range(80)]
    lines = [f"{size},{age},{3 * size - age + size % 5},{part}" for size, age, part in rows]
    (folder / "_inputs" / "houses" / "houses.csv").write_text("size,age,price,part\n" + "\n".join(lines) + "\n")
    (folder / "houses.py").write_text(HOUSES)
    async with writing({"Heron": code}) as server:
        exit_code, _, err = await evaluated(folder / "houses.py", settings, server.base_url)
    assert exit_code == 0, err
    (only,) = results(folder, "houses-scripted").values()
    assert only["status"] == status, only
    assert said in str(only["why"]), only


@pytest.mark.parametrize(
    ("option", "said"), [(("--without-files",), "reads the files"), (("--beside", "smolagents"), "keeps none")]
)
async def test_what_a_session_cannot_be_compared_with_is_refused(
    fruit: Path, settings: Settings, option: tuple[str, ...], said: str
) -> None:
    async with writing(RIGHT) as server:
        code, _, err = await evaluated(fruit / "fruit.py", settings, server.base_url, *option)
        assert not server.requests
    assert code != 0
    assert said in " ".join(err.split())
