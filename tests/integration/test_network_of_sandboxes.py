"""What cells reach at each level of isolation: what is allowed, by the proxy, and nothing else where walls stand."""

import asyncio
import json
import socket
from functools import partial
from pathlib import Path

import pytest

from graph.functions.host_functions import HostFunctions
from graph.functions.registry import HostFunction
from graph.state import Pending
from nodes.calls.held_cells import ApprovalRequest
from nodes.calls.recorded_calls import CellCalls
from nodes.restoration.unknown_outcome import unknown_outcome
from sandboxes.base import SandboxUnavailableError
from sandboxes.host.limits import Limits
from sandboxes.local.isolation import IsolationRequest
from sandboxes.local.isolation_choice import choose
from sandboxes.local.network.egress import Egress
from sandboxes.local.sandbox import LocalSandbox
from sandboxes.network import NO_NETWORK, Network
from tests.proxied import SOMEWHERE, Origin, Wire, origin

ALLOWED = Network.only("example.test")
GET = """
import urllib.request
def get(address):
    try:
        return urllib.request.urlopen(address, timeout=20).read().decode()
    except OSError as error:
        return str(error)
print(get("http://example.test/"))
print(get("https://other.test/"))
"""
DIRECT = """
import socket
for address in {addresses!r}:
    try:
        socket.create_connection(address, timeout=3).close()
        print("reached", address)
    except OSError as error:
        print("not reached")
"""


UNSEEN = """
import ctypes, os, struct
from urllib.parse import urlsplit
libc = ctypes.CDLL(None)
there = libc.socket(2, 1, 0)
port = urlsplit(os.environ["http_proxy"]).port
assert libc.connect(there, struct.pack("=H", 2) + struct.pack("!H4s8x", port, bytes([127, 0, 0, 1])), 16) == 0
said = b"GET http:" + b"//example.test/ HTTP/1.1\\r\\nHost: example.test\\r\\nConnection: close\\r\\n\\r\\n"
libc.send(there, said, len(said), 0)
assert libc.recv(there, ctypes.create_string_buffer(100), 100, 0) > 0
"""
"""Reaches the network as compiled libraries do: Python hears nothing of it."""


async def sandbox_at(level: str, folder: Path, network: Network, server: Origin | None = None) -> LocalSandbox:
    try:
        config = await asyncio.to_thread(choose, IsolationRequest("", folder / "cache", level, "", Limits(), network))
    except SandboxUnavailableError as error:
        pytest.skip(str(error))
    wire = Wire(
        {"example.test": [SOMEWHERE], "inner.test": ["10.0.0.1"]}, {(SOMEWHERE, 80): server.port if server else 0}
    )
    make_egress = partial(Egress, resolve=wire.resolve, dial=wire.dial)
    sandbox = LocalSandbox(folder / "threads", "a", config, network=network, make_egress=make_egress)
    await sandbox.open()
    return sandbox


@pytest.mark.parametrize("level", ["bwrap", "landlock"])
async def test_a_level_that_cannot_open_it_in_part_refuses_to(level: str, tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailableError, match="cannot open the network in part"):
        await asyncio.to_thread(choose, IsolationRequest("", tmp_path / "cache", level, "", Limits(), ALLOWED))


@pytest.mark.parametrize("level", ["namespaces", pytest.param("namespaces-noproc", marks=pytest.mark.slow), "process"])
async def test_a_cell_reaches_what_is_allowed_and_is_told_what_is_not(level: str, tmp_path: Path) -> None:
    async with origin() as server:
        sandbox = await sandbox_at(level, tmp_path, ALLOWED, server)
        try:
            result = await sandbox.run(GET, number=5, timeout=60)
            again = await sandbox.run("print(get('http://example.test/'))", number=6, timeout=60)
            nothing = await sandbox.run("print(1)", number=7, timeout=60)
        finally:
            await sandbox.close()
    assert result.status == "ok", result.error
    first, second = result.stdout.text.splitlines()
    assert first == "hello"
    assert "403 other.test:443 is not among the domains that this sandbox may reach" in second
    assert "--allow-domain other.test" in second
    assert again.stdout.text == "hello\n"
    assert "network example.test:80" in result.reached
    assert not any("other.test" in one for one in result.reached)
    assert not any("example.test" in one for one in nothing.reached)
    lines = [json.loads(line) for line in (tmp_path / "threads/a/connections.jsonl").read_text().splitlines()]
    assert [(line["cell"], line["host"]) for line in lines] == [
        (5, "example.test"),
        (5, "other.test"),
        (6, "example.test"),
    ]


@pytest.mark.parametrize("network", [NO_NETWORK, ALLOWED, Network("full")], ids=["none", "allowlist", "full"])
async def test_nothing_is_reached_around_the_proxy(network: Network, tmp_path: Path) -> None:
    with socket.create_server(("0.0.0.0", 0)) as listening:
        port = listening.getsockname()[1]
        sandbox = await sandbox_at("namespaces", tmp_path, network)
        addresses = [
            ("127.0.0.1", port),
            ("10.0.0.1", 80),
            ("169.254.169.254", 80),
            ("1.1.1.1", 53),
            (own_address(), port),
        ]
        try:
            result = await sandbox.run(DIRECT.format(addresses=addresses), number=1, timeout=60)
            by_proxy = await sandbox.run(
                "import urllib.request\n"
                f"for address in ('127.0.0.1:{port}', '169.254.169.254', 'inner.test', '[::1]:{port}'):\n"
                "    try:\n        print(urllib.request.urlopen(f'http://{address}/', timeout=20).read())\n"
                "    except OSError as error:\n        print('no')\n",
                number=2,
                timeout=60,
            )
        finally:
            await sandbox.close()
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):
            listening.accept()
    assert result.stdout.text.splitlines() == ["not reached"] * len(addresses)
    assert by_proxy.stdout.text.splitlines() == ["no"] * 4


async def test_a_cell_that_only_the_proxy_saw_reach_out_is_not_ended_to_ask_about_a_call(tmp_path: Path) -> None:
    called: list[int] = []
    offer = await HostFunctions([HostFunction(called.append, name="note", needs_approval=True)]).ready()
    pending: Pending = {"purpose": "", "code": "", "step": 0, "thought": "", "call_id": ""}
    async with origin() as server:
        sandbox = await sandbox_at("namespaces", tmp_path, ALLOWED, server)
        calls = CellCalls(offer, pending, timeout=60, asking=ApprovalRequest(sandbox, pending, 1))
        try:
            result = await sandbox.run(UNSEEN + "note(1)", number=1, timeout=60, functions=calls)
            killed = await sandbox.run(UNSEEN + "os.kill(os.getpid(), 9)", number=2, timeout=60)
        finally:
            await sandbox.close()
    assert await calls.wait_until_held() is None
    assert result.error is not None
    assert "has reached outside of the sandbox (network example.test:80)" in result.error.message
    assert called == []
    assert (killed.status, killed.reached) == ("killed", ("network example.test:80",))
    unknown = await unknown_outcome(sandbox, None, seen=killed.reached)
    assert unknown is not None
    assert (unknown.status, unknown.reached) == ("unknown", killed.reached)


async def test_a_new_session_has_a_new_way_out(tmp_path: Path) -> None:
    async with origin() as server:
        sandbox = await sandbox_at("namespaces", tmp_path, ALLOWED, server)
        try:
            for number in range(1, 4):
                result = await sandbox.run(GET, number=number, timeout=60)
                assert result.stdout.text.startswith("hello"), result
                await sandbox.reset()
        finally:
            await sandbox.close()


def own_address() -> str:
    """This machine's address on the network that it is in, if it is in one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.2"
        return str(probe.getsockname()[0])
