"""The proxy between a sandbox and the network: what real clients get through it, and what it remembers."""

import asyncio
import json
import logging
import os
import resource
import socket
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from sandboxes.inside.kernel.packages import proxy_environment
from sandboxes.local.network.egress import Egress, listen_on_loopback
from sandboxes.local.network.proxy import ProxiedConnection, Proxy, ProxyLimits
from sandboxes.local.network.resolver import Streams
from sandboxes.network import Network
from tests.proxied import SOMEWHERE, Wire, origin, proxied

ALLOWED = Network.only("example.test", "*.example.test:81")
NAMES = {"example.test": [SOMEWHERE], "a.example.test": [SOMEWHERE]}
BY_URLLIB = """
import sys, urllib.request, urllib.error
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
except OSError as error:
    print(error)
"""
BY_REQUESTS = """
import sys, requests
try:
    body = b"x" * 300_000 if sys.argv[2] == "POST" else None
    reply = requests.request(sys.argv[2], sys.argv[1], data=body, timeout=20)
    print(reply.status_code, reply.reason, reply.text)
except requests.RequestException as error:
    print(error)
"""


@pytest.mark.parametrize("client", [BY_URLLIB, BY_REQUESTS], ids=["urllib", "requests"])
async def test_a_client_gets_what_an_allowed_host_has(client: str) -> None:
    async with (
        origin() as server,
        proxied(ALLOWED, names=NAMES, servers={(SOMEWHERE, 80): server.port}) as there,
    ):
        code, printed = await there.run(client, "http://example.test/path?q=1", "GET")
    assert (code, "hello" in printed) == (0, True), printed
    head = server.heads[0].decode()
    assert head.startswith("GET /path?q=1 HTTP/1.1\r\nHost: example.test\r\n")
    assert "proxy" not in head.lower()
    assert head.lower().count("connection:") == 1
    assert [(one.cell, one.host, one.port, one.address, one.refused) for one in there.logged] == [
        (0, "example.test", 80, SOMEWHERE, "")
    ]
    assert there.logged[0].received > 5


async def test_a_body_goes_up_whole() -> None:
    received = bytearray()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        received.extend(await reader.readexactly(300_000))
        writer.write(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    async with server, proxied(ALLOWED, names=NAMES, servers={(SOMEWHERE, 80): port_of(server)}) as there:
        code, printed = await there.run(BY_REQUESTS, "http://example.test/", "POST")
    assert (code, printed.split()[0]) == (0, "201")
    assert received == b"x" * 300_000


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("client", [BY_URLLIB, BY_REQUESTS], ids=["urllib", "requests"])
async def test_a_refused_domain_is_told_to_the_users_code_with_how_to_allow_it(client: str, scheme: str) -> None:
    async with proxied(ALLOWED) as there:
        _, printed = await there.run(client, f"{scheme}://other.test/", "GET")
    assert "403" in printed
    assert "--allow-domain other.test" in printed
    assert there.wire.asked == [], "a name that is not allowed is not even looked up"
    assert all("not among the domains" in one.refused for one in there.logged)


async def test_pips_domains_are_named_to_pip() -> None:
    async with proxied(ALLOWED) as there:
        said = await there.say(b"CONNECT pypi.org:443 HTTP/1.1\r\n\r\n")
    assert b"--allow-domain pypi.org (pip needs pypi.org and files.pythonhosted.org)" in said


async def test_the_other_modes_say_what_they_are() -> None:
    async with proxied(Network()) as there:
        assert b"403 this sandbox has no network" in await there.say(b"CONNECT example.test:443 HTTP/1.1\r\n\r\n")
    async with (
        origin() as server,
        proxied(Network("full"), names=NAMES, servers={(SOMEWHERE, 8080): server.port}) as there,
    ):
        assert b"hello" in await there.say(b"GET http://example.test:8080/ HTTP/1.1\r\n\r\n")
        assert b"hello" in await there.say(f"GET http://{SOMEWHERE}:8080/ HTTP/1.1\r\n\r\n".encode())
        assert b" 403 " in await there.say(b"GET http://127.0.0.1:8080/ HTTP/1.1\r\n\r\n")


async def test_a_tunnel_passes_on_both_ways_and_each_direction_ends_by_itself() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data = await reader.read()  # to the end of the client's direction
        writer.write(data[::-1])
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server, proxied(ALLOWED, names=NAMES, servers={(SOMEWHERE, 443): port_of(server)}) as there:
        there.proxy.begin(3)
        reader, writer = await there.tunnel("example.test:443")
        writer.write(b"abc")
        writer.write_eof()
        assert await asyncio.wait_for(reader.read(), 10) == b"cba"
        assert there.proxy.reached() == ("example.test:443",)
        there.proxy.begin(4)
        assert there.proxy.reached() == ()
        writer.close()
        await until(lambda: bool(there.logged))
    [logged] = there.logged
    assert (logged.cell, logged.sent, logged.received, logged.refused, logged.failed) == (3, 3, 3, "", "")


async def test_a_slow_reader_slows_the_sender_and_memory_stays_flat() -> None:
    size, sent = 64 << 20, 0

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        block = b"x" * (1 << 20)
        for _ in range(size >> 20):
            writer.write(block)
            await writer.drain()
            sent += len(block)
        writer.close()

    server = await asyncio.start_server(pour, "127.0.0.1", 0)
    async with server, proxied(ALLOWED, names=NAMES, servers={(SOMEWHERE, 443): port_of(server)}) as there:
        reader, writer = await there.tunnel("example.test:443")
        await asyncio.sleep(0.5)
        assert sent < size / 2, "it went on although nobody read"
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        got = 0
        while data := await reader.read(1 << 16):
            got += len(data)
        writer.close()
    assert got == size
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16_000, "kB"


async def test_an_idle_connection_is_closed_and_one_that_moves_is_not() -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(6):
            writer.write(b".")
            await asyncio.sleep(0.2)
        await reader.read()
        writer.close()

    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    limits = ProxyLimits(idle_seconds=0.6)
    async with (
        server,
        proxied(ALLOWED, names=NAMES, servers={(SOMEWHERE, 443): port_of(server)}, limits=limits) as there,
    ):
        reader, writer = await there.tunnel("example.test:443")
        assert await asyncio.wait_for(reader.readexactly(6), 10) == b"......"
        with suppress(ConnectionResetError):
            assert await asyncio.wait_for(reader.read(), 10) == b""
        writer.close()
        await until(lambda: bool(there.logged))
    assert there.logged[0].failed == "nothing went over it for too long"


async def test_more_connections_than_allowed_are_refused_and_others_go_on() -> None:
    limits = ProxyLimits(connections=2)
    async with (
        origin() as server,
        proxied(ALLOWED, names=NAMES, servers={(SOMEWHERE, 443): server.port}, limits=limits) as there,
    ):
        open_ones = [await there.tunnel("example.test:443") for _ in range(2)]
        said = await there.say(b"CONNECT example.test:443 HTTP/1.1\r\n\r\n")
        assert b" 503 a sandbox may have 2 connections at a time" in said
        open_ones[0][1].write(b"GET / HTTP/1.1\r\n\r\n")
        assert b"hello" in await asyncio.wait_for(open_ones[0][0].read(), 10)
        for _, writer in open_ones:
            writer.close()
        await until(lambda: len(there.logged) == 3)
        _, writer = await there.tunnel("example.test:443")
        writer.close()


async def test_a_host_that_cannot_be_reached_is_told_in_one_line() -> None:
    names = {"example.test": [SOMEWHERE], "slow.example.test": [SOMEWHERE]}
    async with proxied(Network.only("*.example.test", "example.test"), names=names) as there:
        assert b" 502 nowhere.example.test:80 cannot be reached: " in await there.say(
            b"GET http://nowhere.example.test/ HTTP/1.1\r\n\r\n"
        )
        assert b" 502 example.test:443 cannot be reached: Connection refused" in await there.say(
            b"CONNECT example.test:443 HTTP/1.1\r\n\r\n"
        )
    assert [bool(one.failed) and not one.refused for one in there.logged] == [True, True]


async def test_a_host_that_never_answers_ends_in_time() -> None:
    class Silent(Wire):
        async def dial(self, address: str, port: int) -> Streams:
            await asyncio.sleep(60)
            raise OSError("not reached")

    async with proxied(ALLOWED, wire=Silent(dict(NAMES), {}), limits=ProxyLimits(connect_seconds=0.2)) as there:
        said = await there.say(b"CONNECT example.test:443 HTTP/1.1\r\n\r\n")
    assert b" 504 example.test:443 did not answer in time" in said


async def test_the_second_address_is_tried_when_the_first_does_not_answer() -> None:
    async with (
        origin() as server,
        proxied(
            ALLOWED,
            names={"example.test": ["93.184.216.35", SOMEWHERE]},
            servers={(SOMEWHERE, 80): server.port},
        ) as there,
    ):
        assert b"hello" in await there.say(b"GET http://example.test/ HTTP/1.1\r\n\r\n")
    assert there.wire.dialled == [("93.184.216.35", 80), (SOMEWHERE, 80)]
    assert there.logged[0].address == SOMEWHERE


async def test_interim_replies_are_passed_on_and_hop_headers_are_not() -> None:
    reply = (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 Fine\r\nConnection: keep-alive, X-Own\r\nKeep-Alive: timeout=5\r\n"
        b"X-Own: 1\r\nX-Theirs: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
    )
    async with origin(reply) as server, proxied(ALLOWED, names=NAMES, servers={(SOMEWHERE, 80): server.port}) as there:
        said = await there.say(b"GET http://example.test/ HTTP/1.1\r\nConnection: X-Mine\r\nX-Mine: 1\r\n\r\n")
    assert said == (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 Fine\r\nX-Theirs: 2\r\nConnection: close\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
    )
    assert b"X-Mine" not in server.heads[0]


async def test_closing_ends_open_connections_and_logs_them() -> None:
    async with origin() as server, proxied(ALLOWED, names=NAMES, servers={(SOMEWHERE, 443): server.port}) as there:
        reader, writer = await there.tunnel("example.test:443")
        await there.proxy.close()
        await there.proxy.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", there.port)
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        writer.close()
    assert [one.host for one in there.logged] == ["example.test"]


async def test_the_egress_writes_what_was_connected_to_beside_the_workspace(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "stepwell.network")
    async with origin() as server:
        wire = Wire(dict(NAMES), {(SOMEWHERE, 80): server.port})
        egress = Egress(ALLOWED, tmp_path, resolve=wire.resolve, dial=wire.dial)
        listening = listen_on_loopback()
        port = listening.getsockname()[1]
        egress.open(listening)
        egress.begin(7)
        for target in (b"http://example.test/", b"http://other.test/"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET " + target + b" HTTP/1.1\r\n\r\n")
            await reader.read()
            writer.close()
        assert egress.reached() == ("network example.test:80",)
        await egress.close()
        await egress.close()
    lines = [json.loads(line) for line in (tmp_path / "connections.jsonl").read_text().splitlines()]
    assert [(line["cell"], line["host"], bool(line["refused"])) for line in lines] == [
        (7, "example.test", False),
        (7, "other.test", True),
    ]
    assert set(lines[0]) == set(ProxiedConnection.__dataclass_fields__)
    assert "cell 7: example.test:80 allowed" in caplog.text


async def test_nothing_is_left_open() -> None:
    async with origin() as server, proxied(ALLOWED, names=NAMES, servers={(SOMEWHERE, 80): server.port}) as there:
        await there.say(b"GET http://example.test/ HTTP/1.1\r\n\r\n")
        await until(lambda: bool(there.logged))
        before = len(await asyncio.to_thread(os.listdir, "/proc/self/fd"))
        for _ in range(20):
            await there.say(b"GET http://example.test/ HTTP/1.1\r\n\r\n")
            await there.say(b"GET http://other.test/ HTTP/1.1\r\n\r\n")
        await until(lambda: len(there.logged) == 41)
        await asyncio.sleep(0.1)
        assert len(await asyncio.to_thread(os.listdir, "/proc/self/fd")) <= before + 2


def test_the_environment_names_the_proxy_in_every_way_that_is_about() -> None:
    found = proxy_environment(3128)
    for name in ("http_proxy", "HTTPS_PROXY", "all_proxy"):
        assert found[name] == "http://127.0.0.1:3128"
    assert "127.0.0.1" in found["no_proxy"]


def port_of(server: asyncio.Server) -> int:
    port = server.sockets[0].getsockname()[1]
    assert isinstance(port, int)
    return port


async def until(done: object) -> None:
    assert callable(done)
    async with asyncio.timeout(10):
        while not done():
            await asyncio.sleep(0.01)


INSIDE = """
import array, ctypes, fcntl, os, socket, struct, sys, urllib.request
CLONE_NEWUSER, CLONE_NEWNET, SIOCSIFFLAGS, IFF_UP = 0x10000000, 0x40000000, 0x8914, 1
if ctypes.CDLL(None).unshare(CLONE_NEWUSER | CLONE_NEWNET):
    sys.exit(77)
with socket.socket() as any_socket:
    fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
listening = socket.create_server(("127.0.0.1", 3128))
host = socket.socket(fileno=int(sys.argv[1]))
socket.send_fds(host, [b"x"], [listening.fileno()])
listening.close()
host.recv(1)
print(urllib.request.urlopen("http://example.test/", timeout=20).read().decode())
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[2])), timeout=5)
    print("reached the host's loopback")
except OSError as error:
    print(type(error).__name__)
"""


async def test_a_socket_that_listens_in_another_network_is_served_from_this_one() -> None:
    """How a sandbox with a network of its own, and no way out of it, gets to what is allowed."""
    ours, theirs = socket.socketpair()
    async with origin() as server:
        wire = Wire(dict(NAMES), {(SOMEWHERE, 80): server.port})
        logged: list[ProxiedConnection] = []
        proxy = Proxy(ALLOWED, logged.append, resolve=wire.resolve, dial=wire.dial)
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", INSIDE, str(theirs.fileno()), str(server.port),
            pass_fds=[theirs.fileno()], env=proxy_environment(3128),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        theirs.close()
        _, given, _, _ = await asyncio.to_thread(socket.recv_fds, ours, 1, 1)
        if not given:
            ours.close()
            await child.wait()
            pytest.skip("a network of one's own cannot be had here")
        proxy.serve(socket.socket(fileno=given[0]))
        ours.send(b"x")
        printed, _ = await asyncio.wait_for(child.communicate(), 60)
        await proxy.close()
        ours.close()
    assert printed.decode().splitlines() == ["hello", "ConnectionRefusedError"]
    assert [one.host for one in logged] == ["example.test"]
