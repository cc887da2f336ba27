"""Every fault of a real endpoint ends in one sentence that says what to do, or is got over."""

import socket

import pytest

from models.base import (
    ModelAccessError,
    ModelError,
    ModelUnavailableError,
    Tokens,
)
from models.completion import ask
from tests.integration.asking_over_http import KEY, TOOLS, chosen, failure, words, write
from tests.scripted_model import (
    Drop,
    Fault,
    Hang,
    Say,
    ScriptedServer,
    bad_key,
    html_page,
    no_quota,
    rate_limited,
    unknown_model,
)


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def streamed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


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
