"""Anthropic's cache points stand where the prompt stays the same from call to call, and at no other provider's."""

from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from models.completion import ask
from models.messages import with_cache_points

CALL = {"name": "run_python", "args": {"code": "1"}, "id": "a", "type": "tool_call"}
PROMPT = [
    SystemMessage("rules"),
    HumanMessage("question"),
    AIMessage("", tool_calls=[CALL]),
    ToolMessage("one", tool_call_id="a"),
    AIMessage("", tool_calls=[{**CALL, "id": "b"}]),
    ToolMessage("two\n\nVariables now:\n| x", tool_call_id="b"),
]


class Listening(BaseChatModel):
    """Remembers what it is asked."""

    asked: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "listening"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.asked.append(messages)
        return ChatResult(generations=[ChatGeneration(message=AIMessage("fine"))])


class Elsewhere(Listening):
    """Of a provider that wants no points."""

    __module__ = "langchain_mistralai.chat_models"


class Claude(Listening):
    """Of Anthropic's package."""

    __module__ = "langchain_anthropic.chat_models"


def marked(messages: list[BaseMessage]) -> list[int]:
    return [
        place
        for place, message in enumerate(messages)
        if isinstance(message.content, list) and any("cache_control" in part for part in message.content)
    ]


def test_points_stand_after_the_rules_and_before_what_holds_for_one_call() -> None:
    prompt = with_cache_points(PROMPT)
    assert marked(prompt) == [0, 3]
    assert [message.text for message in prompt] == [message.text for message in PROMPT]
    assert prompt[3].content == [{"type": "text", "text": "one", "cache_control": {"type": "ephemeral"}}]
    assert marked(PROMPT) == []
    assert marked(with_cache_points(PROMPT[:2])) == [0]
    assert marked(with_cache_points([SystemMessage(""), HumanMessage("")])) == []
    assert with_cache_points([]) == []


@pytest.mark.parametrize(("kind", "points"), [(Claude, [0, 3]), (Elsewhere, []), (Listening, [])])
async def test_only_anthropic_is_told(kind: type[Listening], points: list[int]) -> None:
    model = kind(asked=[])
    await ask(model, lambda _: PROMPT, read=lambda reply: reply.text)
    assert [marked(messages) for messages in model.asked] == [points]
