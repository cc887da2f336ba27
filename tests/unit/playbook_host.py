"""Plays the host for the playbook: runs its cells in one namespace and tells it of the situation."""

import contextlib
import io
import re
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from matplotlib import pyplot

from models.base import Tokens
from models.messages import tokens_of
from models.playbook.model import Playbook
from models.situation import PromptCell, PromptInput, PromptStep, PromptVariable, Situation, Wanted

TOOL: dict[str, Any] = {"name": "run_python", "description": "r", "parameters": {"type": "object"}}
"""Which ones are bound does not matter."""

Fault = Callable[[int, str], str]
"""Given a cell's number and code: the observation of a cell that broke off, or empty to run it."""


@dataclass
class Cell:
    number: int
    purpose: str
    code: str
    step: int
    observation: str
    thought: str

    turn: int

    @property
    def status(self) -> str:
        return self.observation.split(" · ")[1].strip()

    @property
    def error(self) -> str:
        """The line that names the exception."""
        return self.observation.strip().splitlines()[-1] if self.status == "error" else ""


def inputs_of(abstracts: str) -> list[PromptInput]:
    """The files that a row of abstracts tells of."""
    files = []
    for part in re.split(r"^(?=### inputs/)", abstracts, flags=re.MULTILINE)[1:]:
        path, _, rest = part.removeprefix("### ").partition("\n")
        problem = rest.removeprefix("Cannot be read:").strip() if rest.startswith("Cannot be read:") else ""
        files.append(PromptInput(path=path, abstract=part, problem=problem, source=path, size=0))
    return files


def make_situation(**changes: Any) -> Situation:
    """The first question of a thread, without files."""
    situation = Situation(
        wanted="cell", turn=1, question="Why?", plan=[], inputs=[], cells=[], variables=[], missing=[], functions=[],
        network="none",
    )  # fmt: skip
    return Situation(**{**situation, **changes})  # type: ignore[typeddict-item]


def ran(purpose: str, observation: str = "cell 1 · ok · 0.1 s", **changes: Any) -> PromptCell:
    """A cell of the first turn that ended well."""
    cell = PromptCell(turn=1, step=1, purpose=purpose, code="", status="ok", observation=observation, error="")
    return PromptCell(**{**cell, **changes})  # type: ignore[typeddict-item]


async def replied(situation: Situation, *, tools: bool = True) -> AIMessage:
    """What the playbook says to it."""
    model = Playbook().with_situation(situation)
    return await (model.bind_tools([TOOL]) if tools else model).ainvoke([HumanMessage("A prompt.")])


@dataclass
class Analysis:
    """One thread: its namespace, its cells, its questions."""

    folder: Path
    abstracts: str
    tools: bool = True
    observation_chars: int = 4_000
    max_cells: int = 14
    fault: Fault = field(default=lambda number, code: "")
    namespace: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    questions: list[str] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    plan: list[str] = field(default_factory=list)
    answer: str = ""
    skipped: list[str] = field(default_factory=list)

    async def ask(self, question: str) -> str:
        """Play one turn to its answer."""
        self.questions.append(question)
        self.plan = []
        for count in range(self.max_cells + 1):
            may_run = count < self.max_cells
            cell = self._cell(await self._reply("cell" if may_run else "answer"))
            if cell is None:
                break
            assert may_run, "the playbook goes on although all cells are used"
            self.cells.append(cell)
        return self.answer

    async def _reply(self, wanted: Wanted) -> AIMessage:
        reply = await replied(
            make_situation(
                wanted=wanted,
                turn=len(self.questions),
                question=self.questions[-1],
                plan=[PromptStep(text=text, done=False) for text in self.plan],
                inputs=inputs_of(self.abstracts),
                cells=[
                    ran(cell.purpose, cell.observation, turn=cell.turn, status=cell.status, error=cell.error)
                    for cell in self.cells
                ],
                variables=[
                    PromptVariable(name=name, kind=type(value).__name__)
                    for name, value in self.namespace.items()
                    if name[:1] != "_"
                ],
            ),
            tools=self.tools,
        )
        assert tokens_of(reply, [], []) == Tokens(), "no language model reads or writes anything"
        return reply

    def _cell(self, reply: AIMessage) -> Cell | None:
        number = len(self.cells) + 1
        if self.tools:
            call = reply.tool_calls[0]
            if call["name"] == "submit_answer":
                self.answer, self.skipped = call["args"]["answer"], call["args"]["skipped"]
                return None
            self.plan = call["args"].get("plan") or self.plan
            purpose, code, step = call["args"]["purpose"], call["args"]["code"], call["args"]["step"]
        else:
            block = re.search(r"```python\n(.*?)```", reply.text, re.DOTALL)
            if block is None:
                found = re.search(r"<answer>\n(.*)\n</answer>", reply.text, re.DOTALL)
                assert found is not None, reply.text
                self.answer = found[1]
                return None
            code = block[1]
            self.plan = re.findall(r"^\d+\. (.+)$", reply.text[: block.start()], re.MULTILINE) or self.plan
            first = re.match(r"# (?:step (\d+): )?(.+)", code)
            assert first is not None
            purpose, step = first[2], int(first[1] or 0)
        return Cell(number, purpose, code, step, self.run(number, code), reply.text, len(self.questions))

    def run(self, number: int, code: str) -> str:
        if broken := self.fault(number, code):
            if " · killed" in broken:
                self.namespace.clear()
            return broken
        printed, status, tail = io.StringIO(), "ok", ""
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                exec(compile(code, f"cell-{number}", "exec"), self.namespace)
            except Exception as error:  # what a cell raises is its result
                status = "error"
                tail = "".join(traceback.format_exception_only(error)).strip()
            figures = []
            for place, figure in enumerate(pyplot.get_fignums(), 1):
                figures.append(f"figures/cell-{number}-{place}.png")
                Path("figures").mkdir(exist_ok=True)
                pyplot.figure(figure).savefig(figures[-1], dpi=30)
            pyplot.close("all")
        if figures:
            tail += f"\nfigures saved: {', '.join(figures)}"
        text = f"cell {number} · {status} · 0.10 s\n{printed.getvalue()}\n{tail}".strip()
        if len(text) > self.observation_chars:
            head = self.observation_chars * 2 // 3
            text = f"{text[:head]}\n… left out …\n{text[head - self.observation_chars :]}"
        return text


def abstract(path: str, expression: str = "") -> str:
    """What a profile says, as far as the playbook needs it."""
    return f"### {path}\nsome file\n" + (f"read with: {expression}\n" if expression else "text of some words\n")


NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")


def numbers_not_printed(analysis: Analysis) -> list[str]:
    """Numbers of the answer that no observation, abstract or question holds."""
    printed = "\n".join(cell.observation for cell in analysis.cells) + analysis.abstracts
    printed += "\n".join(analysis.questions)
    known = {number.rstrip(",") for number in NUMBER.findall(printed)}
    return [number for number in NUMBER.findall(analysis.answer) if number.rstrip(",") not in known]
