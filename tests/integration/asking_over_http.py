"""What the tests that ask over HTTP share: a prompt, two readers, a client, and a script that ends in an error."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from models.base import (
    ModelError,
    PromptForm,
    Reply,
    ReplyProblem,
)
from models.completion import ask
from models.selection import make_chooser
from tests.scripted_model import (
    Scripted,
    ScriptedServer,
)

KEY = "sk-verysecret-0123456789abcdef"


def tool(name: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}
    return {"type": "function", "function": {"name": name, "description": "Runs code.", "parameters": parameters}}


TOOLS = [tool("run_python"), tool("answer")]


def write(form: PromptForm) -> Sequence[BaseMessage]:
    how = "by tool call" if form.tools else "as text"
    return [SystemMessage(f"Reply {how}."), HumanMessage(f"How many rows? ({form.size:g})")]


def words(reply: Reply) -> str:
    return reply.text


def code(reply: Reply) -> str:
    if not reply.calls:
        raise ReplyProblem("Call a tool.")
    return str(reply.calls[0].arguments["code"])


async def chosen(base_url: str, *, streamed: bool = False, retries: int = 0, timeout: float = 10.0) -> BaseChatModel:
    choose = make_chooser(model="small-1", api_key=KEY, base_url=base_url, timeout=timeout, max_retries=retries)
    model = await choose("")
    return model.model_copy(update={"streaming": True}) if streamed else model


async def failure(
    script: Sequence[Scripted], *, streamed: bool, read: Callable[[Reply], str] = words, **options: Any
) -> ModelError:
    """The error that a script ends in."""
    client = {name: options.pop(name) for name in ("retries", "timeout") if name in options}
    async with ScriptedServer(script) as server:
        model = await chosen(server.base_url, streamed=streamed, **client)
        with pytest.raises(ModelError) as caught:
            await ask(model, write, read=read, **options)
        assert KEY not in str(caught.value)
        assert "\n" not in str(caught.value)
        return caught.value
