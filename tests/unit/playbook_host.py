"""Plays the host for the playbook: runs its cells in one namespace and feeds it the observations."""

import contextlib
import io
import re
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from matplotlib import pyplot

from models.playbook.model import Playbook

SUBMIT_PLAN: dict[str, Any] = {"name": "submit_plan", "description": "p", "parameters": {"type": "object"}}
RUN_PYTHON: dict[str, Any] = {"name": "run_python", "description": "r", "parameters": {"type": "object"}}
SUBMIT_ANSWER: dict[str, Any] = {"name": "submit_answer", "description": "a", "parameters": {"type": "object"}}
SUBMIT_REVIEW: dict[str, Any] = {"name": "submit_review", "description": "v", "parameters": {"type": "object"}}

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

    @property
    def status(self) -> str:
        return self.observation.split(" · ")[1].strip()


@dataclass
class Analysis:
    """One thread: its messages, its namespace, its cells."""

    folder: Path
    abstracts: str
    tools: bool = True
    observation_chars: int = 4_000
    max_cells: int = 14
    fault: Fault = field(default=lambda number, code: "")
    namespace: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    earlier: list[BaseMessage] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    plan: list[str] = field(default_factory=list)
    answer: str = ""
    skipped: list[str] = field(default_factory=list)
    tokens: int = 0

    async def ask(self, question: str) -> str:
        """Play one turn to its answer."""
        self.plan = await self._plan(question)
        plan = "\n".join(f"{number}. {step}" for number, step in enumerate(self.plan, 1))
        opening = HumanMessage(f"{question}\n\nPlan:\n{plan}")
        said: list[BaseMessage] = []
        for count in range(self.max_cells + 1):
            may_run = count < self.max_cells
            messages = [SystemMessage(self._system()), *self.earlier, opening, *said]
            reply = await self._reply(self._ending(messages, may_run=may_run), [RUN_PYTHON] * may_run + [SUBMIT_ANSWER])
            cell = self._cell(reply)
            if cell is None:
                break
            assert may_run, "the playbook goes on although all cells are used"
            self.cells.append(cell)
            said += self.shown(reply, cell)
        self.earlier += [HumanMessage(question), AIMessage(self.answer)]
        return self.answer

    def shown(self, reply: AIMessage, cell: Cell) -> list[BaseMessage]:
        if self.tools:
            return [reply, ToolMessage(cell.observation, tool_call_id=str(reply.tool_calls[0]["id"]))]
        return [reply, HumanMessage(cell.observation)]

    async def _plan(self, question: str) -> list[str]:
        asked = [SystemMessage(self._system()), HumanMessage(f"{self._variables()}\n\nThe question now:\n{question}")]
        if self.tools:
            reply = await self._reply(asked, [SUBMIT_PLAN])
            return list(reply.tool_calls[0]["args"]["steps"])
        asked[0] = SystemMessage(f"A numbered list of the steps, nothing else.\n{self.abstracts}")
        reply = await self._reply(asked, [])
        return re.findall(r"^\d+\. (.+)$", reply.text, re.MULTILINE)

    async def _reply(self, messages: Sequence[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        model = Playbook()
        reply = await (model.bind_tools(tools) if self.tools else model).ainvoke(list(messages))
        assert reply.usage_metadata is not None
        self.tokens += reply.usage_metadata["total_tokens"]
        return reply

    def _system(self) -> str:
        how = "Call run_python." if self.tools else "A ```python block, or the answer in <answer>…</answer>."
        return f"You are a data analyst. {how}\n{self.abstracts}"

    def _variables(self) -> str:
        rows = [f"{name}: {type(value).__name__}" for name, value in self.namespace.items() if name[:1] != "_"]
        return "Variables now:\n" + "\n".join(rows) if rows else ""

    def _ending(self, messages: list[BaseMessage], *, may_run: bool) -> list[BaseMessage]:
        closing = "" if may_run else f"All {self.max_cells} cells of this turn are used. Write the <answer> now."
        text = "\n\n".join(part for part in (messages[-1].text, self._variables(), closing) if part)
        return [*messages[:-1], messages[-1].model_copy(update={"content": text})]

    def _cell(self, reply: AIMessage) -> Cell | None:
        number = len(self.cells) + 1
        if self.tools:
            call = reply.tool_calls[0]
            if call["name"] == "submit_answer":
                self.answer, self.skipped = call["args"]["answer"], call["args"]["skipped"]
                return None
            purpose, code, step = call["args"]["purpose"], call["args"]["code"], call["args"]["step"]
        else:
            block = re.search(r"```python\n(.*?)```", reply.text, re.DOTALL)
            if block is None:
                found = re.search(r"<answer>\n(.*)\n</answer>", reply.text, re.DOTALL)
                assert found is not None, reply.text
                self.answer = found[1]
                return None
            code = block[1]
            first = re.match(r"# (?:step (\d+): )?(.+)", code)
            assert first is not None
            purpose, step = first[2], int(first[1] or 0)
        return Cell(number, purpose, code, step, self.run(number, code), reply.text)

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
    printed += "\n".join(message.text for message in analysis.earlier if isinstance(message, HumanMessage))
    known = {number.rstrip(",") for number in NUMBER.findall(printed)}
    return [number for number in NUMBER.findall(analysis.answer) if number.rstrip(",") not in known]
