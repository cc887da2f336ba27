"""What is told of a reply while it is written, and of requests that are repeated, over real HTTP."""

import pytest

from models.completion import ask
from models.drafts import AskedAgain, Written
from tests.integration.asking_over_http import TOOLS, chosen, code, words, write
from tests.scripted_model import Call, Calls, Drop, Fault, RawCall, Say, Scripted, ScriptedServer, rate_limited

CODE = 'import pandas as pd\ndf = pd.read_csv("été \\"x\\".csv")\nprint(df.shape)\n' + "# 各地区\n" * 30


class Listener:
    """Keeps what is told."""

    def __init__(self) -> None:
        self.written = ""
        self.pieces = 0
        self.again: list[AskedAgain] = []

    def __call__(self, told: Written | AskedAgain) -> None:
        if isinstance(told, Written):
            self.written += told.text
            self.pieces += 1
        else:
            self.again.append(told)


async def test_code_and_prose_are_told_while_they_are_written_and_the_reply_is_the_same() -> None:
    reply = Calls([Call("run_python", code=CODE, purpose="look")], text="First I look.")
    heard = Listener()
    async with ScriptedServer([reply, reply]) as server:
        model = await chosen(server.base_url)
        silent = await ask(model, write, read=code, tools=TOOLS)
        told = await ask(model, write, read=code, tools=TOOLS, tell=heard)
        assert [request.body.get("stream", False) for request in server.requests] == [False, True]
    assert told.value == silent.value == CODE
    assert told.tokens == silent.tokens
    assert heard.written == f"First I look.\n{CODE}"
    assert heard.pieces > 5
    assert heard.again == []


async def test_arguments_that_are_no_json_are_told_as_far_as_they_can_be_read() -> None:
    heard = Listener()
    script: list[Scripted] = [RawCall("run_python", '{"code": "print("a")"}'), Call("run_python", code="print('a')")]
    async with ScriptedServer(script) as server:
        asked = await ask(await chosen(server.base_url), write, read=code, tools=TOOLS, tell=heard)
    assert asked.value == "print('a')"
    assert "print('a')" in heard.written
    assert [(one.request, one.reason) for one in heard.again] == [(2, "its reply could not be used")]


@pytest.mark.parametrize("fault", [rate_limited(), Fault(500, headers={"Retry-After": "0.01"})])
async def test_requests_that_the_client_repeats_by_itself_are_told_with_the_reason(fault: Fault) -> None:
    heard = Listener()
    async with ScriptedServer([fault, fault, Say("42")]) as server:
        asked = await ask(await chosen(server.base_url, retries=3), write, read=words, tell=heard)
    assert asked.value == heard.written == "42"
    assert [(one.request, one.reason) for one in heard.again] == [
        (2, f"HTTP {fault.status}"),
        (3, f"HTTP {fault.status}"),
    ]


async def test_an_endpoint_that_does_not_answer_in_time_is_told() -> None:
    heard = Listener()
    async with ScriptedServer([Drop(), Say("42")]) as server:
        asked = await ask(await chosen(server.base_url, retries=2), write, read=words, tell=heard)
    assert asked.value == "42"
    assert [one.request for one in heard.again] == [2]
    assert "no connection" in heard.again[0].reason


async def test_an_endpoint_that_cannot_stream_is_asked_for_whole_replies_from_then_on() -> None:
    heard = Listener()
    refused = Fault(400, "Streaming is not supported for this model.")
    async with ScriptedServer([refused, Say("42"), Say("43")]) as server:
        model = await chosen(server.base_url)
        assert (await ask(model, write, read=words, tell=heard)).value == "42"
        assert (await ask(model, write, read=words, tell=heard)).value == "43"
        assert [bool(request.body.get("stream")) for request in server.requests] == [True, False, False]
    assert heard.written == ""
