"""Requests that try to get past the proxy: none reaches a host that is not allowed, or a private address."""

import asyncio
import socket
from collections.abc import Sequence

import pytest

from sandboxes.local.network.egress import listen_on_loopback
from sandboxes.local.network.proxy import ProxiedConnection, Proxy, ProxyLimits
from sandboxes.local.network.resolver import dial
from sandboxes.network import Network
from tests.proxied import SOMEWHERE, Proxied, Wire, origin, proxied

ALLOWED = Network.only("good.test", "*.good.test")
NAMES: dict[str, Sequence[str]] = {"good.test": [SOMEWHERE], "evil.test": [SOMEWHERE], "a.good.test": [SOMEWHERE]}

NOT_PASSED_ON = {
    "host header of another": b"GET http://good.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n",
    "host header of another port": b"GET http://good.test/ HTTP/1.1\r\nHost: good.test:22\r\n\r\n",
    "two host headers": b"GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\nHost: evil.test\r\n\r\n",
    "two host headers in other cases": b"GET http://good.test/ HTTP/1.1\r\nhost: good.test\r\nHOST: good.test\r\n\r\n",
    "a tunnel with the host header of another": b"CONNECT good.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n",
    "user before the host": b"GET http://good.test@evil.test/ HTTP/1.1\r\n\r\n",
    "user and password": b"GET http://good.test:80@evil.test/ HTTP/1.1\r\n\r\n",
    "user in a tunnel": b"CONNECT good.test:443@evil.test:443 HTTP/1.1\r\n\r\n",
    "backslash": b"GET http://evil.test\\@good.test/ HTTP/1.1\r\n\r\n",
    "backslash as slash": b"GET http:\\\\evil.test/ HTTP/1.1\r\n\r\n",
    "percent in the host": b"GET http://evil.test%2f.good.test/ HTTP/1.1\r\n\r\n",
    "percent nul": b"GET http://evil.test%00.good.test/ HTTP/1.1\r\n\r\n",
    "nul in the host": b"GET http://evil.test\x00.good.test/ HTTP/1.1\r\n\r\n",
    "space in the target": b"GET http://evil.test/ .good.test/ HTTP/1.1\r\n\r\n",
    "tab in the target": b"GET http://evil.test\t.good.test/ HTTP/1.1\r\n\r\n",
    "bare lf": b"GET http://good.test/ HTTP/1.1\nHost: evil.test\r\n\r\n",
    "bare cr": b"GET http://good.test/ HTTP/1.1\r\nX: 1\rHost: evil.test\r\n\r\n",
    "lf in a header": b"GET http://good.test/ HTTP/1.1\r\nX: 1\nHost: evil.test\r\n\r\n",
    "folded header": b"GET http://good.test/ HTTP/1.1\r\nX: 1\r\n Host: evil.test\r\n\r\n",
    "space before the colon": b"GET http://good.test/ HTTP/1.1\r\nHost : evil.test\r\n\r\n",
    "header without a name": b"GET http://good.test/ HTTP/1.1\r\n: evil.test\r\n\r\n",
    "nul in a header": b"GET http://good.test/ HTTP/1.1\r\nX: a\x00b\r\n\r\n",
    "method with a line in it": b"GET\x0b http://good.test/ HTTP/1.1\r\n\r\n",
    "path alone": b"GET / HTTP/1.1\r\nHost: good.test\r\n\r\n",
    "https in full": b"GET https://good.test/ HTTP/1.1\r\n\r\n",
    "ftp": b"GET ftp://good.test/ HTTP/1.1\r\n\r\n",
    "file": b"GET file:///etc/passwd HTTP/1.1\r\n\r\n",
    "no host": b"GET http:///etc/passwd HTTP/1.1\r\n\r\n",
    "http 2": b"PRI * HTTP/2.0\r\n\r\n",
    "http 0.9": b"GET http://good.test/\r\n\r\n",
    "tunnel without a port": b"CONNECT good.test HTTP/1.1\r\n\r\n",
    "tunnel to port 0": b"CONNECT good.test:0 HTTP/1.1\r\n\r\n",
    "tunnel to a large port": b"CONNECT good.test:65979 HTTP/1.1\r\n\r\n",
    "tunnel to a signed port": b"CONNECT good.test:+443 HTTP/1.1\r\n\r\n",
    "tunnel to digits of another script": "CONNECT good.test:４４３ HTTP/1.1\r\n\r\n".encode(),
    "tunnel to an address in full": b"CONNECT http://good.test:443/ HTTP/1.1\r\n\r\n",
    "both lengths": b"POST http://good.test/ HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
    "two lengths": b"POST http://good.test/ HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "length list": b"POST http://good.test/ HTTP/1.1\r\nContent-Length: 5, 5\r\n\r\nhello",
    "signed length": b"POST http://good.test/ HTTP/1.1\r\nContent-Length: +5\r\n\r\nhello",
    "coding twice": b"POST http://good.test/ HTTP/1.1\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "unknown coding": b"POST http://good.test/ HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunks in http 1.0": b"POST http://good.test/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "many headers": b"GET http://good.test/ HTTP/1.1\r\n" + b"X: 1\r\n" * 300 + b"\r\n",
    "large head": b"GET http://good.test/ HTTP/1.1\r\nX: " + b"x" * 1_000_000 + b"\r\n\r\n",
    "name that is too long": b"CONNECT " + b"a" * 60_000 + b".good.test:443 HTTP/1.1\r\n\r\n",
    "tls at once": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 600 + b"\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("request_", NOT_PASSED_ON.values(), ids=NOT_PASSED_ON)
async def test_a_request_that_could_be_read_in_two_ways_is_not_passed_on(request_: bytes) -> None:
    async with (
        origin() as server,
        proxied(ALLOWED, names=NAMES, servers={(SOMEWHERE, port): server.port for port in (80, 443)}) as there,
    ):
        said = await there.say(request_)
        assert said.split(b" ")[1] in (b"400", b"403", b"431"), said
        assert b"\r\n\r\nStepwell: " in said
        assert server.heads == []
        assert there.wire.dialled == []
    assert len(there.logged) == 1
    assert there.logged[0].refused


REFUSED_HOSTS = [
    "127.0.0.1", "127.1", "0x7f.0.0.1", "0177.0.0.1", "2130706433", "0x7f000001", "017700000001", "[::1]", "[::]",
    "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[fe80::1]", "[fd00:ec2::254]", "169.254.169.254", "0.0.0.0", "0",
    "10.0.0.1", "100.100.100.200", "192.168.0.1", "224.0.0.1", "255.255.255.255", "1.1.1.1", "[2606:4700::1111]",
    "localhost", "evil.test", "evilgood.test", "good.test.evil.test", "good.test.", "GOOD.test..",
    "xn--good-0ra.test", "good.tes", "metadata.google.internal",
]  # fmt: skip


@pytest.mark.parametrize("host", [host for host in REFUSED_HOSTS if host != "good.test."])
@pytest.mark.parametrize("form", ["CONNECT {0}:443 HTTP/1.1\r\n\r\n", "GET http://{0}/ HTTP/1.1\r\nHost: {0}\r\n\r\n"])
async def test_a_host_that_is_not_on_the_list_is_refused_in_every_spelling(form: str, host: str) -> None:
    async with proxied(ALLOWED, names=NAMES) as there:
        said = await there.say(form.format(host).encode())
    assert said.split(b" ")[1] in (b"400", b"403"), said
    assert there.wire.asked == []
    assert there.wire.dialled == []


async def test_a_dot_at_the_end_and_capitals_change_nothing() -> None:
    async with origin() as server, proxied(ALLOWED, names=NAMES, servers={(SOMEWHERE, 80): server.port}) as there:
        assert b"hello" in await there.say(b"GET http://GOOD.Test./x HTTP/1.1\r\nHost: good.test\r\n\r\n")
    assert server.heads[0].startswith(b"GET /x HTTP/1.1\r\nHost: good.test\r\n")


PRIVATE = [
    "127.0.0.1", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "10.0.0.1", "172.16.9.9", "192.168.1.1", "100.64.0.1",
    "169.254.169.254", "168.63.129.16", "0.0.0.0", "224.0.0.1", "64:ff9b::a00:1", "64:ff9b::808:808", "fe80::1",
    "fc00::1", "2002:7f00:1::", "2001:0:4136:e378::", "::", "ff02::1",
]  # fmt: skip


@pytest.mark.parametrize("mode", ["allowlist", "full"])
@pytest.mark.parametrize("address", PRIVATE)
async def test_an_allowed_name_with_a_private_address_is_refused(address: str, mode: str) -> None:
    network = ALLOWED if mode == "allowlist" else Network("full")
    async with proxied(network, names={"good.test": [address]}) as there:
        said = await there.say(b"CONNECT good.test:443 HTTP/1.1\r\n\r\n")
    assert b" 403 good.test is not reached from a sandbox: its address is not a public one" in said
    assert there.wire.dialled == []
    assert there.logged[0].refused


async def test_of_several_addresses_only_public_ones_are_tried() -> None:
    async with (
        origin() as server,
        proxied(
            ALLOWED,
            names={"good.test": ["127.0.0.1", "::1", SOMEWHERE, "10.0.0.1"]},
            servers={(SOMEWHERE, 80): server.port},
        ) as there,
    ):
        assert b"hello" in await there.say(b"GET http://good.test/ HTTP/1.1\r\n\r\n")
    assert there.wire.dialled == [(SOMEWHERE, 80)]


async def test_a_name_that_changes_its_address_is_looked_up_once_and_the_checked_one_is_dialled() -> None:
    class Rebinding(Wire):
        async def resolve(self, name: str, port: int) -> Sequence[str]:
            self.asked.append(name)
            return [SOMEWHERE] if len(self.asked) % 2 else ["127.0.0.1"]

    async with origin() as server:
        wire = Rebinding({}, {(SOMEWHERE, 80): server.port})
        async with proxied(ALLOWED, wire=wire) as there:
            assert b"hello" in await there.say(b"GET http://good.test/ HTTP/1.1\r\n\r\n")
            assert b" 403 " in await there.say(b"GET http://good.test/ HTTP/1.1\r\n\r\n")
    assert wire.asked == ["good.test"] * 2
    assert wire.dialled == [(SOMEWHERE, 80)]


async def test_a_resolver_that_answers_with_something_else_reaches_nothing() -> None:
    async with proxied(ALLOWED, names={"good.test": []}) as there:
        assert b" 502 " in await there.say(b"CONNECT good.test:443 HTTP/1.1\r\n\r\n")
    assert there.wire.dialled == []


async def test_a_service_of_this_machine_is_not_reached_by_its_public_address() -> None:
    """Any address of the machine will do to show it; a public one may not be there."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        pytest.raises(PermissionError, match="an address of this machine"),
    ):
        await dial("127.0.0.1", listening.getsockname()[1])


async def test_what_comes_after_a_request_does_not_reach_the_host() -> None:
    second = b"GET http://evil.test/secret HTTP/1.1\r\nHost: evil.test\r\n\r\n"
    bodies = {
        b"GET http://good.test/ HTTP/1.1\r\n\r\n": b"",
        b"POST http://good.test/ HTTP/1.1\r\nContent-Length: 5\r\n\r\n12345": b"12345",
        b"POST http://good.test/ HTTP/1.1\r\nConnection: Content-Length\r\nContent-Length: 5\r\n\r\n12345": b"12345",
    }
    for first, body in bodies.items():
        async with origin() as server, proxied(ALLOWED, names=NAMES, servers={(SOMEWHERE, 80): server.port}) as there:
            said = await there.say(first + second)
        assert said.endswith(b"hello")
        assert (server.heads[0].count(b"HTTP/1.1"), server.bodies) == (1, [body])


async def test_chunks_are_passed_on_one_by_one_and_only_as_they_should_be() -> None:
    start = b"POST http://good.test/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    received: list[bytes] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        try:
            received.append(await asyncio.wait_for(reader.readuntil(b"0\r\n\r\n"), 2))
            writer.write(b"HTTP/1.1 200 OK\r\n\r\nhello")
        except (asyncio.IncompleteReadError, ConnectionError):
            received.append(b"")
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    servers = {(SOMEWHERE, 80): server.sockets[0].getsockname()[1]}
    async with server, proxied(ALLOWED, names=NAMES, servers=servers) as there:
        assert b"hello" in await there.say(start + b"5;x=y\r\nhello\r\n0\r\nTrailer: 1\r\n\r\nGET http://evil.test/")
        assert received == [b"5\r\nhello\r\n0\r\n\r\n"]
        for wrong in (
            b"5\r\nhelloX\r\n0\r\n\r\n",
            b"-5\r\n",
            b"0x5\r\nhello\r\n",
            b"5\nhello\n0\n\n",
            b"ffffffffffffffffff\r\n",
        ):
            assert b" 400 " in await there.say(start + wrong, end=True), wrong


async def test_somebody_who_sends_slowly_is_answered_and_forgotten_and_keeps_nobody_waiting() -> None:
    limits = ProxyLimits(head_seconds=0.5, connections=4)
    async with (
        origin() as server,
        proxied(ALLOWED, names=NAMES, servers={(SOMEWHERE, 80): server.port}, limits=limits) as there,
    ):

        async def slowly() -> bytes:
            reader, writer = await asyncio.open_connection("127.0.0.1", there.port)
            try:
                for letter in b"GET http://good.test/ HTTP/1.1\r\nX":
                    writer.write(bytes([letter]))
                    await asyncio.sleep(0.1)
                return await reader.read()
            except ConnectionError:
                return b""
            finally:
                writer.close()

        slow = [asyncio.ensure_future(slowly()) for _ in range(8)]
        await asyncio.gather(*slow)
        assert b"hello" in await there.say(b"GET http://good.test/ HTTP/1.1\r\n\r\n")
    assert sum("no request came within 0.5 s" in one.refused for one in there.logged) == 8


async def test_a_flood_of_connections_leaves_nothing_behind() -> None:
    async with proxied(ALLOWED, names=NAMES, limits=ProxyLimits(connections=8, head_seconds=1.0)) as there:

        async def knock() -> None:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", there.port)
                writer.close()
            except ConnectionError:
                return

        await asyncio.gather(*(knock() for _ in range(300)))
        said = await there.say(b"CONNECT evil.test:443 HTTP/1.1\r\n\r\n")
        assert b" 403 " in said or b" 503 " in said
        async with asyncio.timeout(20):
            while there.proxy._open:
                await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000,
        b"HTTP/1.1 101 Switching\r\n\r\n",
        b"\x00" * 99,
    ],
    ids=["nothing", "nonsense", "endless head", "switching", "zeros"],
)
async def test_a_host_that_sends_no_reply_is_told_as_that(reply: bytes) -> None:
    async with origin(reply) as server, proxied(ALLOWED, names=NAMES, servers={(SOMEWHERE, 80): server.port}) as there:
        said = await there.say(b"GET http://good.test/ HTTP/1.1\r\n\r\n")
    assert b" 502 it sent no reply that could be read" in said


async def test_by_the_systems_own_resolver_and_dialler_this_machine_is_not_reached() -> None:
    logged: list[ProxiedConnection] = []
    with socket.create_server(("127.0.0.1", 0)) as target:
        port = target.getsockname()[1]
        proxy = Proxy(Network.only(f"localhost:{port}"), logged.append)
        listening = listen_on_loopback()
        there = Proxied(proxy, listening.getsockname()[1], Wire({}, {}), logged)
        proxy.serve(listening)
        said = await there.say(f"CONNECT localhost:{port} HTTP/1.1\r\n\r\n".encode())
        await proxy.close()
        target.setblocking(False)
        with pytest.raises(BlockingIOError):
            target.accept()
    assert b" 403 localhost is not reached from a sandbox: its address is not a public one" in said
