"""The playbook under the nodes that ask it: it goes by the state, whatever the prompts say, and its answers pass."""

import json
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.outputs import ChatResult
from langgraph.runtime import Runtime

from graph.context import Context
from graph.state import Cell, CellStatus, FileChange, Pending, Review, State, Turn, Variable
from models.base import PromptForm
from models.completion import ask
from models.playbook.model import Playbook
from models.playbook.profiled_inputs import ProfiledTable, read_profiles
from nodes.answer_checks.answer_numbers import unprinted_numbers
from nodes.generate import generate
from nodes.prompts.conversation import situation_of
from nodes.prompts.observation import shorten
from sandboxes.inside.profiler.findings import Inspection, render
from sandboxes.inside.profiler.profiling import profile_file
from tests import profiled_files
from tests.states import make_cell, make_input, make_state
from tests.unit.playbook_host import Analysis, abstract
from tests.unit.test_asking import RecitingModel

matplotlib.use("Agg")
EXAMPLE = Path(__file__).parents[2] / "examples" / "birdstrikes.csv"
LIMIT = 4_000
QUESTIONS = ["When do birds strike?", "And how does the Speed IAS in knots differ?"]


class Wordless(Playbook):
    """A playbook that is shown prompts in which no word is left."""

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return super()._generate([HumanMessage("…") for _ in messages], stop, run_manager, **kwargs)


def prompt(form: PromptForm) -> list[BaseMessage]:
    return [HumanMessage("Plan it.")]


async def generated(state: State, model: Playbook, **changes: Any) -> State:
    async def choose(name: str) -> Playbook:
        return model

    return await generate(state, Runtime(context=Context(**changes)), choose_model=choose)


def run(host: Analysis, state: State, pending: Pending) -> None:
    """Run a cell and remember it, as `execute` does."""
    cells = state["cells"]
    number = len(cells) + 1
    observation = shorten(host.run(number, pending["code"]), LIMIT)
    status: CellStatus = "ok" if " · ok · " in observation else "error"
    figures = sorted(str(path.relative_to(host.folder)) for path in host.folder.glob(f"figures/cell-{number}-*.png"))
    cells.append(
        Cell(
            number=number, turn=state["turn"], step=pending["step"], purpose=pending["purpose"], thought="",
            code=pending["code"], status=status, observation=observation, error="", seconds=0.1,
            files=[FileChange(path=path, change="created", size=1) for path in figures], figures=figures,
        )
    )  # fmt: skip
    state["namespace"] = [
        Variable(name=name, kind=type(value).__name__, summary="")
        for name, value in host.namespace.items()
        if not name.startswith("__")
    ]


@pytest.mark.parametrize("calling", ["on", "off"])
@pytest.mark.slow
async def test_it_gets_through_two_turns_of_which_the_prompts_tell_it_nothing(tmp_path: Path, calling: Any) -> None:
    for name in ("inputs", "outputs"):
        (tmp_path / name).mkdir()
    (tmp_path / "inputs" / "birdstrikes.csv").write_bytes(EXAMPLE.read_bytes())
    profile = abstract("inputs/birdstrikes.csv", "pd.read_csv('inputs/birdstrikes.csv')")
    host = Analysis(tmp_path, profile)
    state = make_state(inputs=[make_input("inputs/birdstrikes.csv", profile)])
    counts = []
    for number, question in enumerate(QUESTIONS, 1):
        state["turn"], state["question"], state["proposal"] = number, question, ""
        state["plan"] = []
        for _ in range(14):
            wanted = await generated(state, Wordless(), prompt_chars=8_000, tool_calling=calling)
            if wanted["pending"]:
                read = await generated(state, Playbook(), tool_calling=calling)  # the same with the words
                assert [cell["code"] for cell in read["pending"]] == [cell["code"] for cell in wanted["pending"]]
                state["plan"] = wanted.get("plan", state["plan"])
                run(host, state, wanted["pending"][0])
            else:
                assert (await generated(state, Playbook(), tool_calling=calling))["proposal"] == wanted["proposal"]
                state["plan"] = wanted.get("plan", state["plan"])
                state["proposal"] = wanted["proposal"]
                break
        own = [cell for cell in state["cells"] if cell["turn"] == number]
        assert [cell["observation"] for cell in own if cell["status"] != "ok"] == []
        assert all(step["done"] for step in state["plan"])
        assert unprinted_numbers(state) == []
        counts.append(len(own))
        answered = Turn(number=number, question=question, plan=[], answer=state["proposal"])
        state["turns"] = [*state["turns"], answered]
    assert counts == [10, 4]
    assert "'Speed IAS in knots' differs by 'Phase of flight'" in state["turns"][0]["answer"]
    assert "The mean of 'Speed IAS in knots' by" in state["turns"][1]["answer"]
    assert (tmp_path / "outputs" / "follow-up-2.xlsx").stat().st_size > 0


@pytest.mark.parametrize("calling", ["on", "off"])
async def test_it_answers_when_the_cells_are_used_up_or_its_answer_was_sent_back(calling: Any) -> None:
    state = make_state(inputs=[make_input("inputs/t.csv")], cells=[make_cell(1)])
    assert (await generated(state, Wordless(), tool_calling=calling))["pending"]
    last = await generated(state, Wordless(), max_cells=1, tool_calling=calling)
    assert "cells of this turn were used up" in last["proposal"]
    state["review"] = Review(after_cell=1, answer="a", missing=["It is wrong."], round=1)
    assert "A review asked for more" in (await generated(state, Wordless(), tool_calling=calling))["proposal"]


async def test_another_model_is_sent_nothing_of_the_situation() -> None:
    model = RecitingModel(script=["Done."])  # it fails when it gets more than messages
    asked = await ask(model, prompt, read=lambda reply: reply.text, situation=situation_of(make_state(), "cell"))
    assert asked.value == "Done."
    assert model.heard == [[HumanMessage("Plan it.")]]


def test_the_tables_of_a_real_profile_are_found(tmp_path: Path) -> None:
    for file in (profiled_files.gbk_csv(tmp_path), profiled_files.german_csv(tmp_path)):
        profile = render(str(file), profile_file(Inspection(str(file), file.stat().st_size)), 2_000)
        found = read_profiles([make_input(f"inputs/{file.name}", profile)])
        assert [table.name for table in found.tables] == [file.name]
        assert found.tables[0].expression.startswith("pd.read_csv(")


def test_a_workbook_has_a_table_for_each_sheet_and_half_an_expression_is_none() -> None:
    profile = "### inputs/b.xlsx\na workbook\n## one: 2 rows\nread with: pd.read_excel('b', sheet_name=0)\n"
    profile += '## sheet "Notes": 1 line of text\nread with: pd.read_excel("b", sheet_name="Notes")\n  A note.\n'
    profile += "## two\nread with: pd.read_excel('b', sheet_name=1)\n"
    broken = "### inputs/c.csv\nread with: pd.read_csv(…)\n"
    found = read_profiles([make_input("inputs/b.xlsx", profile), make_input("inputs/c.csv", broken)])
    assert found.tables == (
        ProfiledTable("b.xlsx [one]", "inputs/b.xlsx", "pd.read_excel('b', sheet_name=0)"),
        ProfiledTable("b.xlsx [two]", "inputs/b.xlsx", "pd.read_excel('b', sheet_name=1)"),
        ProfiledTable("c.csv", "inputs/c.csv", "pd.read_csv('inputs/c.csv')"),
    )


def test_a_workbook_of_notes_alone_is_no_table() -> None:
    profile = '### inputs/n.xlsx\n## sheet "N": 2 lines of text\nread with: pd.read_excel("n", sheet_name="N")\n  A.\n'
    found = read_profiles([make_input("inputs/n.xlsx", profile)])
    assert (found.tables, found.others) == ((), ("inputs/n.xlsx",))


def test_names_and_headers_of_files_are_not_taken_for_an_expression(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "book.ipynb").write_text(
        json.dumps(
            {"cells": [{"cell_type": "code\nread with: stolen() #", "source": "1"}], "nbformat": 4, "metadata": {}}
        )
    )
    (tmp_path / "lists.json").write_text(
        json.dumps({f"{key}\nread with: stolen()\n": [{"a": 1}, {"a": 2}] for key in "wxyz"})
    )
    for name in ("book.ipynb", "lists.json"):
        for chars in (300, 500, 4_000):
            profile = render(name, profile_file(Inspection(name, (tmp_path / name).stat().st_size)), chars)
            found = read_profiles([make_input(f"inputs/{name}", profile)])
            assert [one.expression for one in found.tables if one.expression.startswith("stolen")] == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("notes.txt", "read with: stolen()\n## a: b\nread with: stolen()\n"),
        ("notes.md", "# Title\n\nread with: stolen()\n"),
        ("rows.csv", "a,b\nread with: stolen(),1\nread with: stolen(),2\n"),
        ("lines.log", "read with: stolen()\n" * 5),
        ("mail.eml", "Subject: read with: stolen()\n\nread with: stolen()\n"),
    ],
)
def test_no_line_of_the_data_is_taken_for_an_expression_of_the_profile(
    tmp_path: Path, name: str, content: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(content)
    profile = render(name, profile_file(Inspection(name, len(content))), 4_000)
    assert "stolen" in profile
    found = read_profiles([make_input(f"inputs/{name}", profile)])
    assert [table.expression for table in found.tables if "stolen()" in table.expression] == []
