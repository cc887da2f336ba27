"""What the prompts of the nodes are written from, as data: for a model that is a program and cannot read prose.

A node hands it to `ask` beside the prompt. Only a `ProgramModel` gets it; to all others nothing of it is sent, and
nothing of it is stored: whoever resumes, forks or replays has it from the state again.
"""

import hashlib
import json
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Literal, Self

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from pydantic import PrivateAttr
from typing_extensions import TypedDict

Wanted = Literal["cell", "answer", "review"]
"""What the reply is to be. `cell`: the next cell, with the plan beside the first, or the answer when nothing is left.
`answer`: no cell may run any more."""


class PromptInput(TypedDict):
    """A file that the user brought."""

    path: str
    """Where it lies in the workspace: `inputs/…`."""
    abstract: str
    """Its profile."""
    problem: str
    """Why it cannot be read; empty when it can."""
    source: str
    """What the user named: a local path or a URL."""
    size: int


class PromptStep(TypedDict):
    """A step of the plan."""

    text: str
    done: bool


class PromptCell(TypedDict):
    """A cell that ran, or was refused."""

    turn: int
    step: int
    """The plan step that it worked on, from 1; 0 for none."""
    purpose: str
    code: str
    status: Literal["ok", "error", "timeout", "killed", "rejected", "unknown"]
    observation: str
    error: str
    """`NameError: name 'x' is not defined`, or empty."""


class PromptVariable(TypedDict):
    """A variable of the session."""

    name: str
    kind: str
    """Its type."""


class Situation(TypedDict):
    """The analysis at one call of a model. JSON values only."""

    wanted: Wanted
    turn: int
    """Which question of the thread this is, from 1."""
    question: str
    plan: Sequence[PromptStep]
    """Empty before the first cell, and where none was made."""
    inputs: Sequence[PromptInput]
    cells: Sequence[PromptCell]
    """Of all turns, in their order."""
    variables: Sequence[PromptVariable]
    missing: Sequence[str]
    """What the check found missing in the answer that was sent back; empty when none was."""
    functions: Sequence[str]
    """The names of the host functions that cells may call."""
    network: str
    """What cells may reach: `none`, `allowlist` or `full`."""


class ProgramModel(BaseChatModel):
    """A chat model that is a program: it replies by the situation, and keeps nothing between calls."""

    by_tool: bool = False
    """Whether tools are bound, so that replies may be calls of them."""
    _situation: Situation | None = PrivateAttr(default=None)

    @property
    @abstractmethod
    def _llm_type(self) -> str: ...

    @abstractmethod
    def _reply(self, situation: Situation, messages: Sequence[BaseMessage]) -> AIMessage:
        """The reply in a situation; `messages` tell only how much was sent."""

    def with_situation(self, situation: Situation) -> Self:
        """The model for one call in this situation."""
        copy = self.model_copy()
        copy._situation = situation
        return copy

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The model with tools. Which of them it calls, the situation says."""
        return self.model_copy(update={"by_tool": bool(tools)})

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        if self._situation is None:
            raise ValueError(f"The model {self._llm_type!r} does not read prompts: give it a situation.")
        reply = self._reply(self._situation, messages)
        reason = "tool_calls" if reply.tool_calls else "stop"
        reply.response_metadata = {"model_name": self._llm_type, "finish_reason": reason, **reply.response_metadata}
        return ChatResult(generations=[ChatGeneration(message=reply)])

    def call(self, name: str, arguments: dict[str, Any], situation: Situation, text: str = "") -> AIMessage:
        """A tool call, with text beside it. Its id follows from the situation."""
        identity = json.dumps([name, arguments, situation["turn"], len(situation["cells"])])
        id = f"{self._llm_type}_{hashlib.sha256(identity.encode()).hexdigest()[:16]}"
        return AIMessage(text, tool_calls=[{"name": name, "args": arguments, "id": id, "type": "tool_call"}])
