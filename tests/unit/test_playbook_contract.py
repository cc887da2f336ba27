"""The playbook against the prompts that the nodes really write, and against the checks of its answer."""

import re
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from langchain_core.messages import HumanMessage, SystemMessage

from graph.context import Context
from graph.state import Cell, CellStatus, FileChange, Input, PlanStep, State, Turn, Variable
from models.playbook.model import Playbook
from models.replies import answer_in, code_in, steps_in
from nodes.answer_checks.answer_numbers import numbers_printed
from nodes.prompts.conversation import namespace_table, write_conversation
from nodes.prompts.instructions import (
    ANSWER_TOOL,
    CELL_TOOL,
    PLAN_BY_LIST,
    PLAN_RULES,
    PLAN_TOOL,
    inputs_text,
    system_prompt,
    with_inputs,
)
from nodes.prompts.observation import shorten
from tests.unit.playbook_host import Analysis, abstract

matplotlib.use("Agg")
EXAMPLE = Path(__file__).parents[2] / "examples" / "birdstrikes.csv"
LIMIT = 4_000


async def plan(state: State, *, tools: bool) -> list[str]:
    system = "\n".join([PLAN_RULES, "" if tools else PLAN_BY_LIST])
    asked = f"{inputs_text(state)}\n\n{namespace_table(state['namespace'])}\n\nThe question now:\n{state['question']}"
    messages = [SystemMessage(system), HumanMessage(asked)]
    if tools:
        reply = await Playbook().bind_tools([PLAN_TOOL]).ainvoke(messages)
        return list(reply.tool_calls[0]["args"]["steps"])
    return steps_in((await Playbook().ainvoke(messages)).text)


async def ask(state: State, *, tools: bool, prompt_chars: int) -> dict[str, Any]:
    """One call of `generate`: the arguments of the tool, or what is read out of the text."""
    messages = [
        SystemMessage(system_prompt(state, Context(), tools=tools)),
        *with_inputs(write_conversation(state, tools=tools, limit=prompt_chars), state),
    ]
    if tools:
        reply = await Playbook().bind_tools([CELL_TOOL, ANSWER_TOOL]).ainvoke(messages)
        return dict(reply.tool_calls[0]["args"])
    text = (await Playbook().ainvoke(messages)).text
    answer = answer_in(text)
    if answer is not None:
        return {"answer": answer, "skipped": []}
    code = code_in(text)
    first = re.match(r"# step (\d+): (.+)", code)
    assert first is not None
    return {"code": code, "step": int(first[1]), "purpose": first[2]}


def run(host: Analysis, state: State, wanted: dict[str, Any]) -> None:
    """Run a cell and remember it, as `execute` does."""
    cells = state["cells"]
    number = len(cells) + 1
    observation = shorten(host.run(number, wanted["code"]), LIMIT)
    status: CellStatus = "ok" if " · ok · " in observation else "error"
    figures = sorted(str(path.relative_to(host.folder)) for path in host.folder.glob(f"figures/cell-{number}-*.png"))
    cells.append(
        Cell(
            number=number, turn=state["turn"], step=wanted["step"], purpose=wanted["purpose"], thought="",
            code=wanted["code"], status=status, observation=observation, error="", seconds=0.1,
            files=[FileChange(path=path, change="created", size=1) for path in figures], figures=figures,
        )
    )  # fmt: skip
    if status == "ok" and wanted["step"]:
        state["plan"][wanted["step"] - 1]["done"] = True
    state["namespace"] = [
        Variable(name=name, kind=type(value).__name__, summary="")
        for name, value in host.namespace.items()
        if not name.startswith("__")
    ]


@pytest.mark.parametrize("tools", [True, False])
@pytest.mark.slow
async def test_it_gets_through_two_turns_of_real_prompts_however_short_they_are(tmp_path: Path, tools: bool) -> None:
    for name in ("inputs", "outputs"):
        (tmp_path / name).mkdir()
    (tmp_path / "inputs" / "birdstrikes.csv").write_bytes(EXAMPLE.read_bytes())
    told = abstract("inputs/birdstrikes.csv", "pd.read_csv('inputs/birdstrikes.csv')")
    host = Analysis(tmp_path, told)
    brought = Input(path="inputs/birdstrikes.csv", source="b", size=1, sha256="", abstract=told, problem="")
    state = State(inputs=[brought], cells=[], turns=[], namespace=[], turn=0, question="")
    counts = []
    for number, question in enumerate(["When do birds strike?", "And how does the Speed IAS in knots differ?"], 1):
        state["turn"], state["question"], state["proposal"] = number, question, ""
        state["plan"] = [PlanStep(text=text, done=False) for text in await plan(state, tools=tools)]
        for _ in range(14):
            wanted = await ask(state, tools=tools, prompt_chars=8_000)
            if "answer" in wanted:
                state["proposal"] = wanted["answer"]
                break
            run(host, state, wanted)
        own = [cell for cell in state["cells"] if cell["turn"] == number]
        assert [cell["observation"] for cell in own if cell["status"] != "ok"] == []
        assert all(step["done"] for step in state["plan"])
        assert numbers_printed(state) == []
        counts.append(len(own))
        said = Turn(number=number, question=question, plan=[], answer=state["proposal"])
        state["turns"] = [*state["turns"], said]
    assert counts == [10, 4]
    assert "'Speed IAS in knots' differs by 'Phase of flight'" in state["turns"][0]["answer"]
    assert "The mean of 'Speed IAS in knots' by" in state["turns"][1]["answer"]
    assert (tmp_path / "outputs" / "follow-up-2.xlsx").stat().st_size > 0
