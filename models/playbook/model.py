"""The built-in playbook: answers where no language model is configured, with a fixed but real exploration of the data.

It is a chat model to the rest of Stepwell: it sees the messages and the tools that a hosted model would see, and
replies with the next cell or the answer. It keeps nothing between calls: the same messages give the same reply.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from models.playbook.answer import write_answer
from models.playbook.cells import STAGES
from models.playbook.given import given
from models.playbook.history import History, read_history
from models.playbook.route import Route, Todo, plan_for, step_of, walk

CELLS_USED = "cells of this turn are used"
"""In the last message when only the answer is wanted and no tools say so."""


class Playbook(BaseChatModel):
    """A chat model without a language model."""

    tool_names: tuple[str, ...] = ()
    """The tools that are bound; they tell what is asked for."""

    @property
    def _llm_type(self) -> str:
        return "playbook"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """A playbook that replies with calls of these tools. `tool_choice` changes nothing: it always calls one."""
        names = tuple(str(convert_to_openai_tool(tool)["function"]["name"]) for tool in tools)
        return self.model_copy(update={"tool_names": names})

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        reply = self._reply(messages)
        read = sum(_size(message) for message in messages) // 4
        written = _size(reply) // 4
        reply.usage_metadata = UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)
        reply.response_metadata = {
            "model_name": "playbook",
            "finish_reason": "tool_calls" if reply.tool_calls else "stop",
        }
        return ChatResult(generations=[ChatGeneration(message=reply)])

    def _reply(self, messages: list[BaseMessage]) -> AIMessage:
        system = "\n".join(message.text for message in messages if isinstance(message, SystemMessage))
        by_tool = bool(self.tool_names)
        if "submit_review" in self.tool_names or (not by_tool and '"good_enough"' in system):
            verdict = {"good_enough": True, "missing": []}
            return _call("submit_review", verdict, messages) if by_tool else AIMessage(json.dumps(verdict))
        history = read_history(messages)
        if "submit_plan" in self.tool_names or (not by_tool and "numbered list" in system.lower()):
            steps = [text for text, _ in plan_for(history.inputs, has_table=history.has_table)]
            if by_tool:
                return _call("submit_plan", {"steps": steps}, messages)
            return AIMessage("\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1)))
        if by_tool and not {"run_python", "submit_answer"} & set(self.tool_names):
            return AIMessage("The playbook knows none of these tools.")
        may_run = "run_python" in self.tool_names if by_tool else not _cells_used(messages)
        return self._next(history, messages, may_run=may_run)

    def _next(self, history: History, messages: list[BaseMessage], *, may_run: bool) -> AIMessage:
        """The next cell of the analysis, or the answer."""
        by_tool = bool(self.tool_names)
        route = walk(history)
        if history.sent_back or not route.todo or not may_run:
            answer, skipped = write_answer(history, route, out_of_cells=not may_run and bool(route.todo))
            if by_tool:
                return _call("submit_answer", {"answer": answer, "skipped": skipped}, messages)
            return AIMessage(f"<answer>\n{answer}\n</answer>")
        todo = route.todo[0]
        stage = STAGES[todo.stage]
        error = _error(route) if todo.mended and route.last and route.last.status == "error" else ""
        code = stage.code(_lead(todo, history, route), mended=todo.mended, error=error)
        purpose = stage.purpose_of(mended=todo.mended)
        thought = _thought(todo, route, error)
        step = step_of(todo.stage, history)
        if by_tool:
            return _call("run_python", {"purpose": purpose, "code": code, "step": step}, messages, thought)
        if step:
            code = code.replace(f"# {purpose}", f"# step {step}: {purpose}", 1)
        return AIMessage(f"{thought}\n\n```python\n{code}```")


def _lead(todo: Todo, history: History, route: Route) -> str:
    """What stands before a stage's body: what was given up is noted, and missing roles of columns are made up for."""
    lines = [given(todo, history, route)]
    if todo.stage not in ("load", "restart", "read"):
        for stage in sorted(route.left_out):
            if stage not in route.worked and route.failures[stage]:
                lines.append(f"note('Skipped', {STAGES[stage].purpose + ' (' + route.left_out[stage] + ').'!r})")
    unsorted = "quality" in route.left_out and todo.stage not in ("load", "restart", "clean", "quality")
    if unsorted:
        lines.append("if 'numbers' not in globals():")
        lines.append("    numbers = [c for c in df.columns if pd.api.types.is_numeric_dtype(df[c])]")
        lines.append("    groups, dates = [], []")
        lines.insert(0, "import pandas as pd")
    return "\n".join(line for line in lines if line)


def _thought(todo: Todo, route: Route, error: str) -> str:
    """A sentence to itself beside the cell."""
    if route.last is None or route.last.status == "ok":
        return ""
    if todo.stage == "restart":
        return f"The last cell ended as {route.last.status}; the data are loaded again before going on."
    if todo.mended and error:
        return f"The last cell failed ({error[:200]}); this one takes care of that."
    return f"The last cell ended as {route.last.status}; it is left out."


def _error(route: Route) -> str:
    """The line of the last observation that names the exception."""
    lines = route.last.observation.splitlines() if route.last else []
    named = [line.strip() for line in lines if line.strip() and "Error" in line.split(":")[0]]
    return named[-1] if named else "an error"


def _cells_used(messages: Sequence[BaseMessage]) -> bool:
    return any(CELLS_USED in message.text for message in messages[-2:] if isinstance(message, HumanMessage))


def _call(name: str, arguments: dict[str, Any], messages: Sequence[BaseMessage], thought: str = "") -> AIMessage:
    """A tool call; its id follows from the messages, so that the same messages give the same reply."""
    seen = "\0".join(f"{message.type}:{message.text}:{getattr(message, 'tool_calls', '')}" for message in messages)
    identity = hashlib.sha256(f"{name}\0{seen}".encode()).hexdigest()[:16]
    return AIMessage(
        thought, tool_calls=[{"name": name, "args": arguments, "id": f"playbook_{identity}", "type": "tool_call"}]
    )


def _size(message: BaseMessage) -> int:
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return len(message.text) + sum(len(json.dumps(call["args"], ensure_ascii=False)) for call in calls)
