"""Where a message ends: what h11 repairs or lets pass, and the proxy must not hand on to who reads it otherwise."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import h11
import pytest

from sandboxes.local.network.http_head import BadRequestError, read_request
from sandboxes.network import Network
from tests.proxied import SOMEWHERE, Proxied, origin, proxied

START = b"POST http://good.test/ HTTP/1.1\r\n"
CHUNKED = START + b"Transfer-Encoding: chunked\r\n\r\n"


@asynccontextmanager
async def to_good(port: int) -> AsyncIterator[Proxied]:
    """A proxy that may reach good.test, which is a server on loopback."""
    async with proxied(
        Network.only("good.test"), names={"good.test": [SOMEWHERE]}, servers={(SOMEWHERE, 80): port}
    ) as there:
        yield there


async def reply_of(reply: bytes, request: bytes = b"GET http://good.test/ HTTP/1.1\r\n\r\n") -> tuple[bytes, Proxied]:
    """What a client gets when a host sends `reply`, and the proxy."""
    async with origin(reply) as server, to_good(server.port) as there:
        return await there.say(request), there


def sent(request: bytes) -> bytes:
    """The head that goes to the host."""
    message = read_request(request).message
    assert message is not None
    return h11.Connection(h11.CLIENT).send(message)


AMBIGUOUS = {
    "one length twice": START + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\n",
    "one length twice, in other cases": START + b"Content-Length: 5\r\ncontent-length: 5\r\n\r\n",
    "list of one length": START + b"Content-Length: 5,5\r\n\r\n",
    "empty length": START + b"Content-Length:\r\n\r\n",
    "length of twenty digits": START + b"Content-Length: 18446744073709551617\r\n\r\n",
    "hexadecimal length": START + b"Content-Length: 0x5\r\n\r\n",
    "length with an underscore": START + b"Content-Length: 1_0\r\n\r\n",
    "length before the coding": START + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
    "length behind the coding": START + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
    "length of nothing beside the coding": START + b"Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n",
    "coding in two headers": START + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
    "coding that is not the last": START + b"Transfer-Encoding: chunked, identity\r\n\r\n",
    "coding after a control character": START + b"Transfer-Encoding: \x0bchunked\r\n\r\n",
    "coding behind a bare lf": START + b"X: 1\nTransfer-Encoding: chunked\r\n\r\n",
    "end by bare lf": START + b"Content-Length: 5\r\n\nGET /\r\n\r\n",
    "line that ends with two cr": START + b"Content-Length: 5\r\r\n\r\n",
    "length in a folded line": START + b"X: 1\r\n\tContent-Length: 5\r\n\r\n",
    "first header is folded": START + b" X: 1\r\n\r\n",
    "empty line first": b"\r\n\r\n",
    "control character in a value": START + b"X: a\x01b\r\n\r\n",
    "delete in a value": START + b"X: a\x7fb\r\n\r\n",
    "version with two digits": b"GET http://good.test/ HTTP/1.10\r\n\r\n",
    "version 1.2": b"GET http://good.test/ HTTP/1.2\r\n\r\n",
    "version 0.9": b"GET http://good.test/ HTTP/0.9\r\n\r\n",
    "version in lower case": b"GET http://good.test/ http/1.1\r\n\r\n",
    "name with a bracket": START + b"X(Y: 1\r\n\r\n",
    "name with a letter outside ascii": START + b"H\xf6st: evil.test\r\n\r\n",
    "header without a colon": START + b"Host\r\n\r\n",
    "empty host header": START + b"Host:\r\n\r\n",
    "host header with two names": START + b"Host: good.test, evil.test\r\n\r\n",
    "tunnel with two lengths": b"CONNECT good.test:443 HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("head", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_a_head_that_could_be_read_in_two_ways_is_refused(head: bytes) -> None:
    with pytest.raises(BadRequestError):
        read_request(head)


def test_the_reason_is_one_printable_line_without_what_was_sent() -> None:
    with pytest.raises(BadRequestError) as caught:
        read_request(START + b"X(Y: a secret\r\n\r\n")
    assert str(caught.value) == "illegal header line"


def test_a_head_is_written_anew_with_one_host_and_one_length() -> None:
    assert sent(
        b"POST http://GOOD.test:80/a?b#c HTTP/1.0\r\nAccept: 1\r\nCONTENT-length:  007\t\r\nhost: good.test.\r\n"
        b"Connection: close, host, Content-Length, X-Own\r\nX-Own: 1\r\nUpgrade: websocket\r\nTE: trailers\r\n\r\n"
    ) == (
        b"POST /a?b HTTP/1.1\r\nHost: good.test\r\nAccept: 1\r\nContent-Length: 7\r\nConnection: close\r\n\r\n"
    )  # fmt: skip
    assert sent(b"GET http://[2001:DB8::7]:8080 HTTP/1.1\r\n\r\n").startswith(
        b"GET / HTTP/1.1\r\nHost: [2001:db8::7]:8080\r\n"
    )
    assert b"\r\nTransfer-Encoding: chunked\r\n" in sent(START + b"transfer-encoding: Chunked\r\n\r\n")


BROKEN_CHUNKS = {
    "no size": b"\r\nhello\r\n0\r\n\r\n",
    "space before the size": b" 5\r\nhello\r\n0\r\n\r\n",
    "negative size": b"-5\r\nhello\r\n0\r\n\r\n",
    "signed size": b"+5\r\nhello\r\n0\r\n\r\n",
    "size with 0x": b"0x5\r\nhello\r\n0\r\n\r\n",
    "size with an underscore": b"0_5\r\nhello\r\n0\r\n\r\n",
    "size of 21 digits": b"0" * 20 + b"5\r\nhello\r\n0\r\n\r\n",
    "bare lf behind the size": b"5\nhello\r\n0\r\n\r\n",
    "lf in the extension": b"5;a\nb\r\nhello\r\n0\r\n\r\n",
    "no end of a chunk": b"5\r\nhello0\r\n\r\n",
    "lf as the end of a chunk": b"5\r\nhello\n0\r\n\r\n",
    "endless line": b"5;" + b"x" * 200_000,
    "endless trailer": b"0\r\nX: " + b"x" * 200_000,
    "trailer that is none": b"0\r\nX Y: 1\r\n\r\n",
    "breaks off in a chunk": b"5\r\nhel",
    "breaks off before the end": b"5\r\nhello\r\n",
}


@pytest.mark.parametrize("body", BROKEN_CHUNKS.values(), ids=BROKEN_CHUNKS)
async def test_chunks_that_could_be_read_in_two_ways_never_end_the_request(body: bytes) -> None:
    received: list[bytes] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            received.append(await reader.read())
        except ConnectionError:
            received.append(b"")
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    async with server, to_good(server.sockets[0].getsockname()[1]) as there:
        answered = await there.say(CHUNKED + body, end=True)
        async with asyncio.timeout(20):
            while not received:
                await asyncio.sleep(0.01)
    assert b" 400 " in answered
    assert not received[0].endswith(b"\r\n0\r\n\r\n")


@pytest.mark.parametrize(
    "body",
    [
        b"5;a=b\r\nhello\r\n0\r\n\r\n",
        b"5;a\rb\r\nhello\r\n0\r\n\r\n",
        b"5;a\x00b\r\nhello\r\n0\r\n\r\n",
        b"5 \t\r\nhello\r\n0\r\n\r\n",
        b"00000000000000000005\r\nhello\r\n000\r\n\r\n",
        b"5\r\nhello\r\n0\r\nContent-Length: 9\r\nHost: evil.test\r\n\r\n",
        b"5\r\nhello\r\n0\r\n\r\nGET /secret HTTP/1.1\r\nHost: evil.test\r\n\r\n",
        b"5\r\nhello\r\n0\r\nX: 1\n\nGET /secret HTTP/1.1\r\nHost: evil.test\r\n\r\n",
    ],
    ids=["extension", "cr in one", "nul in one", "spaces", "zeros", "trailers", "next request", "trailers end by lf"],
)
async def test_the_host_gets_chunks_of_the_proxys_own(body: bytes) -> None:
    """h11 takes sizes and extensions in more spellings than the standard has; none of them goes on."""
    received: list[bytes] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        received.append(await reader.readuntil(b"0\r\n\r\n"))
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        received.append(await reader.read())
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    async with server, to_good(server.sockets[0].getsockname()[1]) as there:
        assert b" 204 " in await there.say(CHUNKED + body)
        async with asyncio.timeout(20):
            while len(received) < 2:
                await asyncio.sleep(0.01)
    assert received == [b"5\r\nhello\r\n0\r\n\r\n", b""]


BROKEN_HEADS = {
    "lines that end with lf": b"HTTP/1.1 200 OK\nX: 1\n\n\r\n\r\n",
    "bare lf in a header": b"HTTP/1.1 200 OK\r\nX: 1\nSet-Cookie: a=b\r\n\r\n",
    "bare cr in a header": b"HTTP/1.1 200 OK\r\nX: 1\rSet-Cookie: a=b\r\n\r\n",
    "folded header": b"HTTP/1.1 200 OK\r\nX: 1\r\n 2\r\n\r\n",
    "control character": b"HTTP/1.1 200 OK\r\nX: \x01\r\n\r\n",
    "many headers": b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 300 + b"\r\n",
    "version 2": b"HTTP/2.0 200 OK\r\n\r\n",
    "version 0.9": b"HTTP/0.9 200 OK\r\n\r\n",
    "status 099": b"HTTP/1.1 099 Low\r\n\r\n",
    "status 600": b"HTTP/1.1 600 High\r\n\r\n",
    "status of four digits": b"HTTP/1.1 2000 OK\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "signed length": b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
    "unknown coding": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\nhello",
    "switching in spite of all": b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n",
    "interim replies and no other": b"HTTP/1.1 103 Early Hints\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("reply", BROKEN_HEADS.values(), ids=BROKEN_HEADS)
async def test_a_reply_that_could_be_read_in_two_ways_is_not_passed_on(reply: bytes) -> None:
    request = b"GET http://good.test/ HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    answered, there = await reply_of(reply, request)
    assert b" 502 it sent no reply that could be read" in answered
    assert there.logged[0].failed == "it sent no reply that could be read"


@pytest.mark.parametrize(
    ("reply", "passed_on"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\n\r\nevil", b"\r\n\r\nhi"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\nhi\r\n0\r\nX: 1\r\n\r\nevil",
            b"\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\nevil",
            b"\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        ),
        (b"HTTP/1.1 204 No Content\r\n\r\nevil", b"\r\n\r\n"),
        (b"HTTP/1.1 200\r\n\r\nhi", b"\r\n\r\n2\r\nhi\r\n0\r\n\r\n"),
    ],
    ids=["length", "chunks", "both", "no body", "to the end"],
)
async def test_a_client_gets_a_reply_to_its_end_and_nothing_behind_it(reply: bytes, passed_on: bytes) -> None:
    answered, there = await reply_of(reply)
    assert answered.endswith(passed_on)
    assert not (b"Content-Length" in answered and b"chunked" in answered)
    assert there.logged[0].failed == ""


async def test_a_head_alone_is_asked_for_and_got() -> None:
    answered, _ = await reply_of(
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"HEAD http://good.test/ HTTP/1.1\r\n\r\n"
    )
    assert b"\r\nContent-Length: 5\r\n" in answered
    assert answered.endswith(b"\r\n\r\n")


async def test_a_client_of_http_1_0_gets_no_chunks_and_no_interim_reply() -> None:
    """The proxy speaks HTTP/1.1 to the host, as it must; so the host may use all of it."""
    answered, _ = await reply_of(
        b"HTTP/1.1 100 Continue\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n5\r\nthere\r\n0\r\n\r\n",
        b"GET http://good.test/ HTTP/1.0\r\n\r\n",
    )
    head, body = answered.split(b"\r\n\r\n", 1)
    assert head == b"HTTP/1.1 200 OK\r\nConnection: close"
    assert body == b"hithere"


@pytest.mark.parametrize(
    ("reply", "passed_on"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", b"\r\n\r\nhi"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n", b"\r\n\r\n2\r\nhi\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\nzz\r\n", b"\r\n\r\n2\r\nhi\r\n"),
    ],
    ids=["length", "chunks", "broken chunk"],
)
async def test_of_a_reply_that_breaks_off_the_client_gets_what_came_and_no_end(reply: bytes, passed_on: bytes) -> None:
    answered, there = await reply_of(reply)
    assert answered.endswith(passed_on)
    assert there.logged[0].failed == "its reply breaks off"


async def test_many_small_chunks_are_as_good_as_few_large_ones() -> None:
    answered, _ = await reply_of(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 50_000 + b"0\r\n\r\n",
        b"GET http://good.test/ HTTP/1.0\r\n\r\n",
    )
    assert answered.split(b"\r\n\r\n", 1)[1] == b"x" * 50_000
