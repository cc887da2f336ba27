"""The real OpenAI client asks a scripted endpoint, in whole and in streamed replies, whatever may happen."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from typing import Any, TypedDict

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.graph import END, START, StateGraph

from models.asking import ask
from models.base import (
    Form,
    ModelAccessError,
    ModelError,
    ModelRefusedError,
    ModelReplyError,
    ModelUnavailableError,
    Reply,
    ReplyProblem,
    Tokens,
)
from models.choosing import make_chooser
from tests.scripted_model import (
    Call,
    Calls,
    Drop,
    Fault,
    Hang,
    Plain,
    RawCall,
    Say,
    Scripted,
    ScriptedServer,
    bad_key,
    html_page,
    no_quota,
    rate_limited,
    stream_options_refused,
    too_long,
    tool_choice_refused,
    tools_refused,
    unknown_model,
)

KEY = "sk-verysecret-0123456789abcdef"


def tool(name: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}
    return {"type": "function", "function": {"name": name, "description": "Runs code.", "parameters": parameters}}


TOOLS = [tool("run_python"), tool("answer")]


def write(form: Form) -> Sequence[BaseMessage]:
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


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def streamed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


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


async def test_words_and_their_tokens_come_back(streamed: bool) -> None:
    async with ScriptedServer([Say("There are 42.", usage=(70, 9))]) as server:
        asked = await ask(await chosen(server.base_url, streamed=streamed), write, read=words)
    assert asked.value == asked.reply.text == "There are 42."
    assert asked.tokens == Tokens(calls=1, input=70, output=9)
    assert asked.form == Form(tools=False)
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
    assert asked.form == Form(tools=True)


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
    assert asked.form == Form(tools=False)
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
    assert asked.form == Form(tools=True, size=0.25)


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
    prompt = sum(len(str(message.content)) for message in write(Form(tools=False)))
    assert asked.tokens == Tokens(calls=1, input=-(-prompt // 4), output=10, estimated=True)


async def test_a_server_that_cannot_report_tokens_in_streams_is_asked_without() -> None:
    async with ScriptedServer([stream_options_refused(), Say("a"), Say("b")]) as server:
        model = await chosen(server.base_url, streamed=True)
        asked = await ask(model, write, read=words)
        await ask(model, write, read=words)
    assert asked.tokens.estimated
    assert ["stream_options" in request.body for request in server.requests] == [True, False, False]


@pytest.mark.parametrize(
    ("fault", "kind", "said"),
    [
        (bad_key(), ModelAccessError, ["does not accept the key", "OPENAI_API_KEY"]),
        (bad_key(KEY), ModelAccessError, ["does not accept the key", "OPENAI_API_KEY"]),
        (Fault(400, "API key not valid. Please pass a valid API key."), ModelAccessError, ["OPENAI_API_KEY"]),
        (Fault(403, "Country not supported"), ModelAccessError, ["does not allow", "STEPWELL_MODEL"]),
        (unknown_model("small-1"), ModelAccessError, ["no model 'small-1'", "STEPWELL_MODEL"]),
        (Fault(404, body='{"detail":"Not Found"}'), ModelAccessError, ["OPENAI_BASE_URL", "/v1"]),
        (html_page(404), ModelAccessError, ["OPENAI_BASE_URL", "/v1"]),
        (html_page(200), ModelAccessError, ["OPENAI_BASE_URL", "/v1"]),
        (Fault(200, body='{"hello": "world"}'), ModelAccessError, ["OPENAI_BASE_URL"]),
        (Fault(400, "'temperature' does not support 0.3"), ModelAccessError, ["temperature", "STEPWELL_MODEL"]),
        (rate_limited(), ModelUnavailableError, ["rate", "wait"]),
        (no_quota(), ModelUnavailableError, ["no credit left"]),
        (Fault(402, "Insufficient Balance"), ModelUnavailableError, ["no credit left"]),
        (Fault(500), ModelUnavailableError, ["HTTP 500", "resume later"]),
        (Fault(529, "Overloaded"), ModelUnavailableError, ["Overloaded", "resume later"]),
    ],
)
async def test_each_fault_is_one_sentence_that_says_what_to_do(
    fault: Fault, kind: type[ModelError], said: list[str], streamed: bool
) -> None:
    error = await failure([fault], streamed=streamed, tools=TOOLS)
    assert type(error) is kind
    for part in said:
        assert part in str(error)
    assert error.tokens == Tokens()
    assert len(str(error)) < 500


async def test_an_error_inside_a_success_is_still_an_error() -> None:
    error = await failure([Fault(200, body='{"error": {"message": "busy", "code": 429}}')], streamed=False)
    assert isinstance(error, ModelUnavailableError)
    assert "busy" in str(error)


@pytest.mark.parametrize(
    ("inner", "kind"),
    [
        ('{"message": "we are overloaded", "type": "server_error"}', ModelUnavailableError),
        ('{"message": "slow down", "code": "rate_limit_exceeded"}', ModelUnavailableError),
        ('{"message": "no such luck"}', ModelError),
    ],
)
async def test_an_error_inside_a_stream_is_still_an_error(inner: str, kind: type[ModelError]) -> None:
    stream = Fault(200, body=f'data: {{"error": {inner}}}\n\n', headers={"Content-Type": "text/event-stream"})
    error = await failure([stream], streamed=True)
    assert type(error) is kind


async def test_a_prompt_that_turns_out_too_long_in_the_stream_is_written_smaller() -> None:
    inner = '{"message": "Your input exceeds the context window of this model.", "code": "context_length_exceeded"}'
    stream = Fault(200, body=f'data: {{"error": {inner}}}\n\n', headers={"Content-Type": "text/event-stream"})
    async with ScriptedServer([stream, Say("42")]) as server:
        asked = await ask(await chosen(server.base_url, streamed=True), write, read=words)
    assert asked.form.size == 0.5


async def test_the_client_waits_and_tries_again_when_it_is_told_to(streamed: bool) -> None:
    async with ScriptedServer([rate_limited(), Fault(503, headers={"Retry-After": "0.01"}), Say("42")]) as server:
        asked = await ask(await chosen(server.base_url, streamed=streamed, retries=2), write, read=words)
    assert asked.value == "42"
    assert asked.tokens.calls == 1


async def test_a_dropped_connection_is_an_unavailable_model(streamed: bool) -> None:
    error = await failure([Drop()], streamed=streamed)
    assert isinstance(error, ModelUnavailableError)
    assert "cannot be reached" in str(error)


async def test_a_reply_that_breaks_off_is_asked_for_once_more(streamed: bool) -> None:
    async with ScriptedServer([Drop(after=3), Say("42")]) as server:
        asked = await ask(await chosen(server.base_url, streamed=streamed), write, read=words)
    assert asked.value == "42"
    assert server.requests[0].messages == server.requests[1].messages


async def test_replies_that_keep_breaking_off_are_an_unavailable_model(streamed: bool) -> None:
    error = await failure([Drop(after=3), Drop(after=2)], streamed=streamed)
    assert isinstance(error, ModelUnavailableError)
    assert "broke off" in str(error)


async def test_a_silent_endpoint_is_given_up(streamed: bool) -> None:
    error = await failure([Hang(20)], streamed=streamed, timeout=0.3)
    assert isinstance(error, ModelUnavailableError)
    assert "in time" in str(error)


async def test_nobody_listening_names_the_address() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    model = await chosen(f"http://user:hunter22@127.0.0.1:{port}/v1")
    with pytest.raises(ModelUnavailableError) as caught:
        await ask(model, write, read=words)
    assert f"http://127.0.0.1:{port}/v1" in str(caught.value)
    assert "connection refused" in str(caught.value)
    assert "OPENAI_BASE_URL" in str(caught.value)
    assert "hunter22" not in str(caught.value)


async def test_an_unknown_host_names_the_address() -> None:
    model = await chosen("http://no-such-host.invalid/v1")
    with pytest.raises(ModelUnavailableError, match=r"no-such-host\.invalid.*OPENAI_BASE_URL"):
        await ask(model, write, read=words)


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
