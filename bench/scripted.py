"""A chat model that answers at once from a script: what remains is what Stepwell itself costs."""

import time
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from pydantic import PrivateAttr


class ScriptedChat(BaseChatModel):
    """Runs `cells` one after the other, answers, and finds the answer good; in the event loop, as real clients do."""

    cells: list[str]
    _next: int = PrivateAttr(default=0)
    _prompts: list[int] = PrivateAttr(default_factory=list)
    _asked: float = PrivateAttr(default=0.0)

    @property
    def asked(self) -> float:
        """When it was asked last, by the performance counter."""
        return self._asked

    @property
    def prompt_chars(self) -> list[int]:
        """Characters of the prompt before each cell, in order."""
        return self._prompts

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        """Remember which tool is demanded: it tells what is asked for."""
        return self.bind(demanded=kwargs.get("tool_choice"))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self._asked = time.perf_counter()
        return self._generate(messages, stop, None, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        call: tuple[str, dict[str, Any]]
        if kwargs.get("demanded") == "submit_review":
            call = ("submit_review", {"good_enough": True, "missing": []})
        elif self._next < len(self.cells):
            self._prompts.append(sum(len(one.text) + len(str(getattr(one, "tool_calls", ""))) for one in messages))
            code = self.cells[self._next]
            self._next += 1
            call = ("run_python", {"purpose": f"cell {self._next}", "step": 1, "code": code})
        else:
            call = ("submit_answer", {"answer": "Done.", "skipped": []})
        message = AIMessage("", tool_calls=[{"name": call[0], "args": call[1], "id": f"c{self._next}"}])
        return ChatResult(generations=[ChatGeneration(message=message)])
