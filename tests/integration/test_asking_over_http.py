"""The real OpenAI client asks a scripted endpoint, in whole and in streamed replies, whatever may happen."""

import asyncio
from typing import Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph

from models.base import (
    ModelAccessError,
    ModelRefusedError,
    ModelReplyError,
    PromptForm,
    Tokens,
)
from models.completion import ask
from tests.integration.asking_over_http import KEY, TOOLS, chosen, code, failure, words, write
from tests.scripted_model import (
    Call,
    Calls,
    Fault,
    Hang,
    Plain,
    RawCall,
    Say,
    Scripted,
    ScriptedServer,
    stream_options_refused,
    too_long,
    tool_choice_refused,
    tools_refused,
)


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def streamed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


async def test_words_and_their_tokens_come_back(streamed: bool) -> None:
    async with ScriptedServer([Say("There are 42.", usage=(70, 9))]) as server:
        asked = await ask(await chosen(server.base_url, streamed=streamed), write, read=words)
    assert asked.value == asked.reply.text == "There are 42."
    assert asked.tokens == Tokens(calls=1, input=70, output=9)
    assert asked.form == PromptForm(tools=False)
    assert asked.seconds > 0
    assert [message["role"] for message in server.requests[0].messages] == ["system", "user"]
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert server.requests[0].streamed is streamed


async def test_a_tool_call_comes_back_with_its_arguments(streamed: bool) -> None:
    written = 'print("größe", {"a": 1})\nx = "\\n"'
    async with ScriptedServer([Call("run_python", code=written, purpose="look")]) as server:
        asked = await ask(await chosen(server.base_url, streamed=streamed), write, read=code, tools=TOOLS)
    assert asked.value == written
    assert asked.reply.calls[0].name == "run_python"
    assert asked.reply.calls[0].arguments == {"code": written, "purpose": "look"}
    assert asked.reply.calls[0].id.startswith("call_")
    assert server.requests[0].tools == ["run_python", "answer"]
    assert server.requests[0].choice == ""
    assert asked.form == PromptForm(tools=True)


async def test_several_calls_and_words_in_one_reply(streamed: bool) -> None:
    reply = Calls([Call("run_python", code="a"), Call("answer", code="b")], text="First I look.")
    async with ScriptedServer([reply]) as server:
        asked = await ask(await chosen(server.base_url, streamed=streamed), write, read=words, tools=TOOLS)
    assert asked.value == "First I look."
    assert [call.arguments["code"] for call in asked.reply.calls] == ["a", "b"]


async def test_a_demanded_tool_is_demanded(streamed: bool) -> None:
    async with ScriptedServer([Call("answer", code="x")]) as server:
        await ask(await chosen(server.base_url, streamed=streamed), write, read=code, tools=TOOLS, choose="answer")
    assert server.requests[0].choice == "answer"


async def test_an_endpoint_that_cannot_demand_a_tool_is_asked_without(streamed: bool) -> None:
    script: list[Scripted] = [tool_choice_refused(), Call("answer", code="x"), Call("answer", code="y")]
    async with ScriptedServer(script) as server:
        model = await chosen(server.base_url, streamed=streamed)
        await ask(model, write, read=code, tools=TOOLS, choose="answer")
        asked = await ask(model, write, read=code, tools=TOOLS, choose="answer")
    assert [request.choice for request in server.requests] == ["answer", "", ""]
    assert asked.form.tools


@pytest.mark.parametrize(
    "refusal",
    [
        tools_refused(),
        Fault(404, "No endpoints found that support tool use."),
        Fault(422, "tools: Extra inputs are not permitted"),
        Fault(500, "tools param requires --jinja flag"),
        Fault(501, "function calling is not implemented"),
        Fault(400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    ],
    ids=lambda refusal: str(refusal.status),
)
async def test_an_endpoint_without_tools_is_asked_in_text_from_then_on(refusal: Fault, streamed: bool) -> None:
    async with ScriptedServer([refusal, Say("```python\nx\n```"), Say("again")]) as server:
        model = await chosen(server.base_url, streamed=streamed)
        asked = await ask(model, write, read=words, tools=TOOLS)
        await ask(model, write, read=words, tools=TOOLS)
    assert asked.form == PromptForm(tools=False)
    assert asked.tokens.calls == 1
    assert [request.tools for request in server.requests] == [["run_python", "answer"], [], []]
    assert "Reply as text." in server.requests[1].text


async def test_tool_calling_off_offers_no_tools(streamed: bool) -> None:
    async with ScriptedServer([Say("x")]) as server:
        model = await chosen(server.base_url, streamed=streamed)
        asked = await ask(model, write, read=words, tools=TOOLS, tool_calling="off", choose="answer")
    assert server.requests[0].tools == []
    assert not asked.form.tools


async def test_tool_calling_on_insists(streamed: bool) -> None:
    error = await failure([tools_refused()], streamed=streamed, tools=TOOLS, tool_calling="on")
    assert isinstance(error, ModelAccessError)
    assert "tool calling" in str(error)


async def test_a_prompt_that_is_too_long_is_written_smaller_twice(streamed: bool) -> None:
    script: list[Scripted] = [too_long(), Fault(400, "the request exceeds the available context size"), Say("short")]
    async with ScriptedServer(script) as server:
        asked = await ask(await chosen(server.base_url, streamed=streamed), write, read=words, tools=TOOLS)
    assert [request.last for request in server.requests] == [
        "How many rows? (1)",
        "How many rows? (0.5)",
        "How many rows? (0.25)",
    ]
    assert asked.form == PromptForm(tools=True, size=0.25)


async def test_a_context_that_is_too_small_for_a_quarter_is_the_operators_matter(streamed: bool) -> None:
    error = await failure([too_long()] * 3, streamed=streamed, tools=TOOLS)
    assert isinstance(error, ModelAccessError)
    assert "larger context" in str(error)


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (Say(""), "empty"),
        (Say(" \n"), "empty"),
        (Say("<think>Let me see. The code is x = 1"), "empty"),
        (Say("", reasoning="I think that 42"), "empty"),
        (Say("import pandas as", finish="length"), "cut off"),
        (Calls([RawCall("run_python", '{"code": "print(')], finish="length"), "cut off"),
        (RawCall("run_python", '{"code": "print("hi")"}'), "not valid JSON"),
        (RawCall("run_python", '{"code": "print(1)'), "not valid JSON"),
        (RawCall("run_python", '["print(1)"]'), "one JSON object"),
        (RawCall("run_python", '"print(1)"'), "one JSON object"),
        (Call("run_bash", code="ls"), "The tools are: run_python, answer."),
        (Say("no call"), "Call a tool."),
    ],
)
async def test_a_bad_reply_is_fed_back_and_mended(bad: Plain, told: str, streamed: bool) -> None:
    async with ScriptedServer([bad, Call("run_python", code="print(1)")]) as server:
        asked = await ask(await chosen(server.base_url, streamed=streamed), write, read=code, tools=TOOLS)
    assert asked.value == "print(1)"
    assert asked.tokens.calls == 2
    assert asked.tokens.input >= 100
    roles = [message["role"] for message in server.requests[1].messages]
    assert roles == ["system", "user", "assistant", "user"]
    assert told in server.requests[1].last
    shown = server.requests[1].messages[2]
    assert shown["content"]
    assert "tool_calls" not in shown
    assert "Let me see" not in shown["content"]


async def test_empty_arguments_are_an_empty_object(streamed: bool) -> None:
    async with ScriptedServer([RawCall("answer", "")]) as server:
        asked = await ask(
            await chosen(server.base_url, streamed=streamed), write, read=lambda r: r.calls[0].arguments, tools=TOOLS
        )
    assert asked.value == {}


async def test_what_was_wrong_is_remembered_over_all_attempts(streamed: bool) -> None:
    error = await failure([Say("one"), Say("two"), Say("three")], streamed=streamed, read=code, tools=TOOLS)
    assert isinstance(error, ModelReplyError)
    assert "3 attempts" in str(error)
    assert "Call a tool." in str(error)
    assert error.tokens == Tokens(calls=3, input=300, output=60)


async def test_a_slip_in_a_tools_name_is_forgiven(streamed: bool) -> None:
    async with ScriptedServer([Call("functions.run_python", code="x")]) as server:
        asked = await ask(await chosen(server.base_url, streamed=streamed), write, read=code, tools=TOOLS)
    assert asked.reply.calls[0].name == "run_python"


async def test_a_call_that_the_server_left_in_the_text_is_read(streamed: bool) -> None:
    said = 'I look.\n<tool_call>\n{"name": "run_python", "arguments": {"code": "x = {\\"a\\": {}}"}}\n</tool_call>'
    async with ScriptedServer([Say(said)]) as server:
        asked = await ask(await chosen(server.base_url, streamed=streamed), write, read=code, tools=TOOLS)
    assert asked.value == 'x = {"a": {}}'
    assert asked.reply.text == "I look."
    assert asked.reply.calls[0].id == ""


async def test_reasoning_is_not_taken_for_the_answer(streamed: bool) -> None:
    async with ScriptedServer([Say("<think>maybe 41?</think>\n\n42", reasoning="or 43?")]) as server:
        asked = await ask(await chosen(server.base_url, streamed=streamed), write, read=words)
    assert asked.value == "42"


@pytest.mark.parametrize("refusal", [Say("", refusal="I cannot help with that."), Say("", finish="content_filter")])
async def test_a_refusal_is_asked_once_more(refusal: Say, streamed: bool) -> None:
    async with ScriptedServer([refusal, Say("42")]) as server:
        asked = await ask(await chosen(server.base_url, streamed=streamed), write, read=words)
    assert asked.value == "42"
    assert "declined" in server.requests[1].last


async def test_a_second_refusal_ends_it_in_the_models_words(streamed: bool) -> None:
    error = await failure([Say("", refusal="I cannot help with that.")] * 2, streamed=streamed)
    assert isinstance(error, ModelRefusedError)
    assert "I cannot help with that." in str(error)
    assert error.tokens.calls == 2


async def test_a_server_that_reports_no_tokens_has_them_estimated(streamed: bool) -> None:
    async with ScriptedServer([Say("x" * 40, usage=None)]) as server:
        asked = await ask(await chosen(server.base_url, streamed=streamed), write, read=words)
    prompt = sum(len(str(message.content)) for message in write(PromptForm(tools=False)))
    assert asked.tokens == Tokens(calls=1, input=-(-prompt // 4), output=10, estimated=True)


async def test_a_server_that_cannot_report_tokens_in_streams_is_asked_without() -> None:
    async with ScriptedServer([stream_options_refused(), Say("a"), Say("b")]) as server:
        model = await chosen(server.base_url, streamed=True)
        asked = await ask(model, write, read=words)
        await ask(model, write, read=words)
    assert asked.tokens.estimated
    assert ["stream_options" in request.body for request in server.requests] == [True, False, False]


async def test_cancelling_is_not_swallowed(streamed: bool) -> None:
    async with ScriptedServer([Hang(20)]) as server:
        asking = asyncio.ensure_future(ask(await chosen(server.base_url, streamed=streamed), write, read=words))
        while not server.requests:
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking


async def test_in_a_graph_that_streams_messages_nothing_is_lost() -> None:
    class Heard(TypedDict, total=False):
        code: str
        tokens: list[int]

    async with ScriptedServer(
        [RawCall("run_python", '{"code": "print("a")"}'), Call("run_python", code="b")]
    ) as server:
        model = await chosen(server.base_url)

        async def generate(state: Heard) -> Heard:
            asked = await ask(model, write, read=code, tools=TOOLS)
            return {"code": asked.value, "tokens": [asked.tokens.calls, asked.tokens.input, asked.tokens.output]}

        builder = StateGraph(Heard)
        builder.add_node("generate", generate)
        builder.add_edge(START, "generate")
        builder.add_edge("generate", END)
        last: Any = None
        async for mode, event in builder.compile().astream({}, stream_mode=["messages", "values"]):
            last = event if mode == "values" else last
    assert all(request.streamed for request in server.requests)
    assert last == {"code": "b", "tokens": [2, 200, 40]}
