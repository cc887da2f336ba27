"""The scripted endpoint keeps its own promises: strict about its script, and spoken like the real API."""

import asyncio
import json
import sys
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.scripted_model import Call, Fault, Hang, Say, Scripted, ScriptedServer


def post(base_url: str, **body: Any) -> str:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **body}
    request = urllib.request.Request(
        f"{base_url}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=10) as reply:
        return str(reply.read().decode())


async def ask_once(script: list[Scripted]) -> None:
    """A conversation that goes wrong for the client; what fails the test comes when the block is left."""
    async with ScriptedServer(script) as server:
        with pytest.raises(urllib.error.HTTPError) as caught:
            await asyncio.to_thread(post, server.base_url)
        caught.value.close()


async def test_a_reply_that_nobody_asked_for_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="1 replies were never asked for"):
        async with ScriptedServer([Say("hello")]):
            pass


async def test_what_is_wrong_with_one_test_of_several_fails_that_one() -> None:
    async with ScriptedServer() as server:
        with pytest.raises(AssertionError, match="1 replies were never asked for"), server.for_one_test():
            server.script.append(Say("hello"))
        with server.for_one_test():
            server.script.append(Say("hello"))
            await asyncio.to_thread(post, server.base_url)
            assert len(server.requests) == 1


async def test_a_request_that_has_no_reply_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="request 1 has no reply: … 'hi'"):
        await ask_once([])


async def test_a_failing_function_fails_the_test() -> None:
    def look(request: Any) -> Say:
        assert request.last == "something else"
        return Say("never")

    with pytest.raises(AssertionError, match="function for request 1 failed"):
        await ask_once([look])


async def test_an_error_of_the_test_itself_is_not_hidden() -> None:
    with pytest.raises(KeyError) as caught:
        async with ScriptedServer([Say("hello")]):
            raise KeyError("mine")
    assert "never asked for" in caught.value.__notes__[0]


async def test_a_reply_may_depend_on_the_request() -> None:
    script: list[Scripted] = [lambda request: Say(f"{request.model} was told {request.last!r}")]
    async with ScriptedServer(script) as server:
        reply = json.loads(await asyncio.to_thread(post, server.base_url))
    assert reply["choices"][0]["message"]["content"] == "m was told 'hi'"
    assert reply["usage"]["total_tokens"] == 120


async def test_a_stream_is_torn_into_pieces_and_ends_with_its_usage() -> None:
    async with ScriptedServer([Call("run_python", code="print('a long enough cell')")]) as server:
        stream = await asyncio.to_thread(post, server.base_url, stream=True, stream_options={"include_usage": True})
    events = [line.removeprefix("data: ") for line in stream.splitlines() if line]
    assert events[-1] == "[DONE]"
    chunks = [json.loads(event) for event in events[:-1]]
    assert chunks[-1] == {**chunks[-1], "choices": [], "usage": chunks[-1]["usage"]}
    calls = [call for chunk in chunks[:-1] for call in chunk["choices"][0]["delta"].get("tool_calls", [])]
    assert len(calls) > 3
    arguments = "".join(call["function"]["arguments"] for call in calls)
    assert json.loads(arguments) == {"code": "print('a long enough cell')"}


async def test_usage_is_streamed_only_when_it_was_asked_for() -> None:
    async with ScriptedServer([Say("hello")]) as server:
        stream = await asyncio.to_thread(post, server.base_url, stream=True)
    assert "usage" not in stream


async def test_faults_carry_their_status_and_headers() -> None:
    async with ScriptedServer([Fault(429, "slow", headers={"Retry-After": "7"})]) as server:
        with pytest.raises(urllib.error.HTTPError) as caught:
            await asyncio.to_thread(post, server.base_url)
        assert caught.value.code == 429
        assert caught.value.headers["Retry-After"] == "7"
        caught.value.close()


async def test_leaving_the_block_ends_a_hanging_reply() -> None:
    async with ScriptedServer([Hang(600)]) as server:
        asking = asyncio.ensure_future(asyncio.to_thread(post, server.base_url))
        while not server.requests:
            await asyncio.sleep(0.01)
    with pytest.raises((OSError, urllib.error.URLError)):
        await asking


async def test_another_process_can_ask() -> None:
    program = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1] + '/chat/completions', b'{}').status)"
    async with ScriptedServer([Say("hello")]) as server:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, server.base_url, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await process.communicate()
    assert out.strip() == b"200"


async def test_other_paths_are_not_part_of_the_script() -> None:
    async with ScriptedServer([]) as server:
        models = await asyncio.to_thread(lambda: urllib.request.urlopen(f"{server.base_url}/models").read())
        with pytest.raises(urllib.error.HTTPError, match="404"):
            await asyncio.to_thread(post, server.base_url + "/wrong")
    assert json.loads(models)["data"][0]["id"] == "scripted"
    assert server.requests == []
