"""Descriptors: programs of ours use as many as they may, and what sandboxes connect to leaves some for sessions."""

import asyncio
import os
import subprocess
import sys

import pytest

from sandboxes.host.descriptors import Pipe, Share
from sandboxes.network import Network
from tests.integration.test_network_proxy import ALLOWED, NAMES, until
from tests.proxied import SOMEWHERE, origin, proxied

LIMITED = """
import resource, subprocess, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (200, 900))
"""


def in_a_process(code: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", LIMITED + code, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_limit_is_raised_and_what_is_started_gets_the_old_one() -> None:
    said = in_a_process("""
from sandboxes.host import descriptors
descriptors.raise_limit()
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
asking = "import resource, sys; sys.stdin.read(); print(*resource.getrlimit(resource.RLIMIT_NOFILE))"
child = subprocess.Popen([sys.executable, "-c", asking], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
descriptors.as_before(child.pid)
print(child.communicate("")[0])
""")
    assert said.split() == ["900", "900", "200", "900"]


async def test_the_end_of_a_pipe_may_be_read_again() -> None:
    """A call of the event loop's that was on its way when the rest was read reads nothing more."""
    pipe, pieces = Pipe(), list[bytes]()
    pipe.take = pieces.append
    os.write(pipe.theirs, b"last")
    pipe.close_theirs()
    pipe.drain()
    assert pipe.ended.done()
    assert pipe.read() == 0
    assert pieces == [b"last"]
    pipe.close()


@pytest.mark.parametrize("program", ["stepwell", pytest.param("server", marks=pytest.mark.slow)])
def test_the_command_and_the_server_raise_it(program: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    home = str(tmp_path_factory.mktemp("home"))
    code = {
        "stepwell": """
import contextlib, os, sys
os.environ["STEPWELL_HOME"] = sys.argv[1]
sys.argv[1:] = ["--help"]
from stepwell.command import main
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(sys.stderr):
    main()
""",
        "server": """
import asyncio, os, sys
os.environ["STEPWELL_HOME"] = sys.argv[1]
from server.app import app, lifespan
async def begin():
    async with lifespan(app):
        print(end="")
asyncio.run(begin())
""",
    }[program]
    assert in_a_process(code + "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])", home).split()[-1] == "900"


async def test_all_proxies_together_have_so_many_connections_and_take_more_when_some_end() -> None:
    share = Share(lambda: 6)
    async with origin() as server:
        servers = {(SOMEWHERE, 443): server.port}
        async with (
            proxied(ALLOWED, names=NAMES, servers=servers, share=share) as one,
            proxied(ALLOWED, names=NAMES, servers=servers, share=share) as other,
        ):
            opened = [await there.tunnel("example.test:443") for there in (one, other, one)]
            said = await other.say(b"CONNECT example.test:443 HTTP/1.1\r\n\r\n")
            assert b" 503 there are too many connections of all sandboxes together" in said
            opened[0][1].close()
            await until(lambda: bool(other.logged and one.logged))
            assert other.logged[-1].refused.startswith("there are too many connections")
            opened.append(await other.tunnel("example.test:443"))
            for _, writer in opened:
                writer.close()


async def test_who_is_turned_away_holds_nothing_and_asks_for_nothing() -> None:
    share = Share(lambda: 0)
    async with proxied(Network("full"), share=share) as there:
        for _ in range(40):
            assert b" 503 " in await there.say(b"CONNECT example.test:443 HTTP/1.1\r\n\r\n")
        assert there.wire.asked == []


FLOOD = """
import asyncio, os, sys
from sandboxes.local.network.egress import listen_on_loopback
from sandboxes.local.network.proxy import Proxy
from sandboxes.network import Network

async def resolve(host, port): return ["93.184.216.34"]

async def main():
    port = int(sys.argv[1])
    async def dial(address, _): return await asyncio.open_connection("127.0.0.1", port)
    proxies, ports = [], []
    for _ in range(8):
        listening = listen_on_loopback()
        ports.append(str(listening.getsockname()[1]))
        proxies.append(Proxy(Network("full"), lambda done: None, resolve=resolve, dial=dial))
        proxies[-1].serve(listening)
    flooding = await asyncio.create_subprocess_exec(sys.executable, "-c", sys.argv[2], *ports,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    print((await flooding.stdout.readline()).decode().strip())
    held = [os.pipe() for _ in range(20)]
    print("room for sessions")
    flooding.stdin.close()
    await flooding.wait()

asyncio.run(main())
"""
CLIENT = """
import resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (900, 900))
held, said = [], set()
for _ in range(50):
    for port in sys.argv[1:]:
        held.append(socket.create_connection(("127.0.0.1", int(port))))
        held[-1].settimeout(30)
        held[-1].sendall(b"CONNECT example.org:443 HTTP/1.1\\r\\n\\r\\n")
        if len(held) == 1:  # when all are accepted before the first is read, they leave each other no way on
            held[0].recv(1, socket.MSG_PEEK)
for one in held:
    try:
        said.add(one.recv(99).split(b" ")[1].decode())
    except (OSError, IndexError):
        said.add("closed")
print(*sorted(said), flush=True)
sys.stdin.read()
"""


async def test_a_flood_of_all_sandboxes_leaves_descriptors_for_sessions() -> None:
    async with origin() as server:
        command = [sys.executable, "-c", LIMITED + FLOOD, str(server.port), CLIENT]
        running = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        said, complained = await running.communicate()
    assert running.returncode == 0, complained.decode()[-2_000:]
    statuses, room = said.decode().splitlines()
    # 502: all were accepted before one was refused, so that for a moment none was left for a connection outwards.
    assert {"200", "503"} <= set(statuses.split()) <= {"200", "502", "503", "closed"}
    assert room == "room for sessions"
