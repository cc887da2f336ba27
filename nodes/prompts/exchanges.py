"""The messages by which a prompt shows a cell: each prompt of a thread shows again what the last one did.

They are remembered, since a model waits for its prompt. Each prompt has its own copies, since whoever sends one may
change them; the copies for the next prompt are made while a cell runs.
"""

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from models.quotation import SHORT, quoted
from nodes.computed_answers import ONLY_VALUES
from nodes.prompts.observation import shorten

REMEMBERED = 500
"""Cells of which it is remembered how they are shown."""
SHORT_CODE, SHORT_OBSERVATION = 700, 500


class ShownCell(NamedTuple):
    """All that the messages of a cell are made from."""

    number: int
    status: str
    step: int
    back_to: int | None
    purpose: str
    thought: str
    code: str
    answer: str
    observation: str
    plan: tuple[str, ...]
    """The plan that came with the cell."""
    full: bool
    most: int
    """Characters of its code or observation, shown in full."""
    tools: bool

    @property
    def short(self) -> bool:
        """Whether it is worth remembering."""
        return len(self.code) + len(self.observation) + len(self.thought) + len(self.answer) <= SHORT

    def written(self) -> list[BaseMessage]:
        """The cell as the model gave it, and what it gave."""
        code = shorten(self.code, self.most if self.full else min(SHORT_CODE, self.most))
        answer = shorten(self.answer, self.most if self.full else min(SHORT_CODE, self.most))
        observation = self._observed(self.most if self.full else min(SHORT_OBSERVATION, self.most))
        thought = shorten(self.thought, 1_000 if self.full else 200)
        if self.code == ONLY_VALUES and answer:
            return answered(answer, observation, f"cell_{self.number}", tools=self.tools)
        if self.tools:
            named: dict[str, Any] = {"plan": plan_steps(self.plan)} if self.plan else {}
            if self.step:
                named["step"] = self.step
            if self.back_to is not None:
                named["back_to"] = self.back_to
            said = {"answer": answer} if answer else {}
            arguments = {"purpose": self.purpose, **named, "code": code, **said}
            call = {"name": "run_python", "args": arguments, "id": f"cell_{self.number}", "type": "tool_call"}
            return [AIMessage(thought, tool_calls=[call]), ToolMessage(observation, tool_call_id=call["id"])]
        given = f"\n<answer>\n{answer}\n</answer>" if answer else ""
        before = "\n".join(part for part in (thought, listed(self.plan)) if part)
        return [AIMessage(f"{before}\n```python\n{code}\n```{given}".strip()), HumanMessage(observation)]

    def _observed(self, limit: int) -> str:
        """Our line on how it ended, then what it printed, quoted. That of a refused one is the user's."""
        text = shorten(self.observation, limit)
        head, _, body = text.partition("\n")
        return text if self.status == "rejected" or not body else f"{head}\n{quoted(body)}"


class Exchange:
    """The messages of a cell. Each prompt has its own, since whoever sends one may change them."""

    def __init__(self, shown: ShownCell) -> None:
        self._written = shown.written()
        self._ready: list[list[BaseMessage]] = []
        self.length = sum(map(length_of, self._written))

    def copies(self) -> list[BaseMessage]:
        """Messages for one prompt, which nobody else has."""
        _taken.append(self)
        try:
            return self._ready.pop()
        except IndexError:
            return list(map(_copied, self._written))

    def prepare(self) -> None:
        """Make the copies for the next prompt."""
        if not self._ready:
            self._ready.append(list(map(_copied, self._written)))


_taken: deque[Exchange] = deque(maxlen=REMEMBERED)
"""Those that a prompt has taken copies of, and the next one probably will."""


def copy_ahead() -> None:
    """Copy what the next prompt of each thread will show, while nobody waits for it."""
    with suppress(IndexError):  # event loops of other threads take from it, too
        while True:
            _taken.popleft().prepare()


def _copied(message: BaseMessage) -> BaseMessage:
    own: dict[str, Any] = {"additional_kwargs": {}, "response_metadata": {}}
    if isinstance(message, AIMessage):
        own["tool_calls"] = [{**call, "args": _own(call["args"])} for call in message.tool_calls]
        own["invalid_tool_calls"] = []
    return message.model_copy(update=own)


def _own(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: [*value] if isinstance(value, list) else value for name, value in arguments.items()}


@lru_cache(maxsize=REMEMBERED)
def exchange_of(shown: ShownCell) -> Exchange:
    """The messages of a cell."""
    return Exchange(shown)


def answered(answer: str, verdict: str, call_id: str, *, tools: bool) -> list[BaseMessage]:
    """An answer that the model gave, and what came of it."""
    if tools:
        call = {"name": "submit_answer", "args": {"answer": answer, "skipped": []}, "id": call_id, "type": "tool_call"}
        return [AIMessage("", tool_calls=[call]), ToolMessage(verdict, tool_call_id=call_id)]
    return [AIMessage(f"<answer>\n{answer}\n</answer>"), HumanMessage(verdict)]


def plan_steps(plan: Sequence[str]) -> list[str]:
    """The steps of a plan as they are shown."""
    return [shorten(step, 400) for step in plan]


def listed(plan: Sequence[str]) -> str:
    """A plan as text."""
    return "\n".join(f"{number}. {step}" for number, step in enumerate(plan_steps(plan), 1))


def length_of(message: BaseMessage) -> int:
    """The characters of a message, its calls included."""
    called = str(message.tool_calls) if isinstance(message, AIMessage) and message.tool_calls else ""
    return len(message.text) + len(called)
