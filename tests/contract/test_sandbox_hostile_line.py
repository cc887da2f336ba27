"""Whatever processes of a sandbox write to its connection, and however they fill it, the host goes on in time."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from sandboxes.base import Sandbox, SandboxLostError
from sandboxes.daytona.options import Options
from sandboxes.local import kernel_connection
from sandboxes.network import Network
from sandboxes.results import CellResult
from tests.contract.conftest import DAYTONA, fine, opening
from tests.unit.test_manifests import cost_of_parsing, longest_gap

pytestmark = pytest.mark.slow

SESSION = """
import gc, json, os, signal, socket, struct, threading, time
session = next(one for one in gc.get_objects() if type(one).__name__ == "Session")
line, notices = session._control, session._standby._notices  # of no kind of sandbox but local ones
def frame(kind, body=b"", **more):
    header = json.dumps({"type": kind, "id": session._run_id, **more}).encode()
    return struct.pack("!II", len(header), len(body)) + header + body
def write(data):
    data = memoryview(data)
    while data: data = data[os.write(line, data):]
def done(*_):
    write(frame("done", b'{"status": "ok"}'))
"""
SURVIVES = """
if not os.fork():
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    if notices: notices.send(b"frozen")
    many = frame("other") * 4_000
    time.sleep(0.3)
    for _ in range(3): threading.Thread(target=lambda: [write(many) for _ in iter(int, 1)]).start()
    while True: write(many)
time.sleep(0.6)
os.kill(os.getpid(), 9)
"""
FILLS = """
signal.signal(signal.SIGINT, done)
for number in range(%d):
    write(frame("call", call=number + 1, name="nobody"))
    if number %% 50 == 0: time.sleep(0.01)
time.sleep(0.3)
"""
FILLED = """
import fcntl, termios
signal.signal(signal.SIGINT, done)
for number in range(1_000): write(frame("call", call=number + 1, name="nobody" * 20))
def unread(): return struct.unpack("i", fcntl.ioctl(line, termios.FIONREAD, bytes(4)))[0]
before = -1
while not unread() > before:
    before = unread()
    time.sleep(0.5)
while unread() > before:
    before = unread()
    time.sleep(0.5)
"""
"""Goes on until no more answers fit into the connection, however they are put together."""
SHOWS = 'while True: write(frame("display", b\'{"a": [\' + b"{}," * 11_000_000 + b"0]}"))'
PASSES = """
listening = socket.create_server(("127.0.0.1", 0))
full = socket.create_connection(listening.getsockname())
kept = listening.accept()
full.setblocking(False)
try:
    while True: full.send(bytes(65_536))
except BlockingIOError: pass
full.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 60))
for to in (socket.socket(fileno=os.dup(line.fileno() if hasattr(line, "fileno") else line)), notices):
    try: socket.send_fds(to, [frame("other")], [full.fileno()])
    except (OSError, AttributeError) as error: print(type(error).__name__)
full.close()
time.sleep(60)
"""
BRIDGE = {
    "is killed": """
bridge = os.getppid()
if not os.fork():
    os.setsid()
    os.kill(bridge, 9)
    while True:
        with open("outputs/kept", "a") as beat: beat.write("x")
        time.sleep(0.01)
time.sleep(60)
""",
    "stands still": "os.kill(os.getppid(), signal.SIGSTOP)\ntime.sleep(60)",
    "is replaced": """
bridge = os.getppid()
if not os.fork():
    os.setsid()
    os.kill(bridge, 9)
    os.chdir("..")
    os.unlink("bridge.sock")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind("bridge.sock")
    listening.listen()
    heard = []
    while True:
        listening.settimeout(0.2)
        try: heard.append(listening.accept()[0])
        except TimeoutError: pass
        for one in heard: one.send(frame("tick"))
time.sleep(60)
""",
}
"""What code can do to the process in Daytona that holds its session: it is the same user's."""


@pytest.fixture
def in_daytona(in_daytona: Options) -> Options:
    return replace(in_daytona, late_seconds=5.0)


@pytest.fixture(params=["local", DAYTONA])
async def sandbox(request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    async with opening(request.param, request, network=Network("full")) as opened:
        yield await opened.open(request.param, "hostile")


async def run(sandbox: Sandbox, code: str, number: int, *, timeout: float = 5.0) -> CellResult:
    async with asyncio.timeout(timeout + 30):
        return await sandbox.run(code, number=number, timeout=timeout, head=f"cell {number}")


async def test_a_false_copy_that_goes_on_writing_is_cut_off(sandbox: Sandbox) -> None:
    fine(await run(sandbox, SESSION, 1))
    assert (await run(sandbox, SURVIVES, 2)).status == "killed"
    with contextlib.suppress(SandboxLostError):
        await run(sandbox, "1", 3)
    fine(await run(sandbox, "1", 4))


async def test_a_cell_that_ends_without_reading_its_answers_ends_its_session(sandbox: Sandbox) -> None:
    fine(await run(sandbox, SESSION, 1))
    ended = await run(sandbox, FILLS % 1_000 + "done()\ntime.sleep(1_000)", 2)
    if sandbox.kind == DAYTONA:  # where answers are not sent to a cell that has ended: the next cell tells
        ended = await run(sandbox, "1", 3)
        assert "did not react to the interrupt and was ended" in ended.note
    else:
        assert "does not take the answers to its calls" in ended.note
    assert (ended.status, ended.variables_kept) == ("killed", False)
    fine(await run(sandbox, "1", 4))


async def test_a_session_that_reads_no_orders_is_given_up(sandbox: Sandbox) -> None:
    fine(await run(sandbox, SESSION, 1))
    await run(sandbox, (FILLS % 278 if sandbox.kind != DAYTONA else FILLED) + "done()\ntime.sleep(1_000)", 2)
    async with asyncio.timeout(kernel_connection.SEND_SECONDS + 150):
        with pytest.raises(SandboxLostError):
            await sandbox.snapshot(limit_bytes=1 << 30)
    with pytest.raises(SandboxLostError, match="between two cells"):
        await run(sandbox, "1", 3)
    fine(await run(sandbox, "1", 4))


async def test_cancelling_ends_although_nobody_reads(sandbox: Sandbox) -> None:
    fine(await run(sandbox, SESSION, 1))
    running = asyncio.ensure_future(run(sandbox, FILLS % 278 + "while True: time.sleep(1)", 2, timeout=60.0))
    await asyncio.sleep(1.5)
    running.cancel()
    done, _ = await asyncio.wait((running,), timeout=kernel_connection.SEND_SECONDS + 30)
    assert done


async def test_things_shown_without_end_neither_stop_nor_swell_the_host(sandbox: Sandbox) -> None:
    fine(await run(sandbox, SESSION, 1))
    before = resident()
    shown = await run(sandbox, SHOWS, 2)
    assert shown.status in ("timeout", "killed")
    assert shown.displays == ()
    assert resident() - before < 300 << 20


async def test_a_socket_that_lingers_is_not_the_host_s_to_close(sandbox: Sandbox) -> None:
    fine(await run(sandbox, SESSION, 1))
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.05)
            beats += 1

    beating = asyncio.ensure_future(beat())
    began = time.monotonic()
    with contextlib.suppress(SandboxLostError):
        assert (await run(sandbox, PASSES, 2, timeout=2.0)).status in ("timeout", "killed")
    beating.cancel()
    assert beats > 0.25 * (time.monotonic() - began) / 0.05, "the event loop stood still"
    fine(await run(sandbox, "1", 3))


@pytest.mark.parametrize("how", BRIDGE)
async def test_a_bridge_that_code_takes_away_costs_the_session_and_nothing_else(
    how: str, request: pytest.FixtureRequest
) -> None:
    async with opening(DAYTONA, request) as opened:
        sandbox = await opened.open(DAYTONA, "hostile")
        fine(await run(sandbox, SESSION + "open('outputs/kept', 'w').close()", 1))
        with pytest.raises(SandboxLostError):
            await run(sandbox, BRIDGE[how], 2, timeout=1.0)
        assert sandbox.head == ""
        fine(await run(sandbox, "1", 3))
        left = await sandbox.files(".")
        assert [file.path for file in left] == ["outputs/kept"]
        fine(await run(sandbox, "import time; time.sleep(0.3)", 4))
        assert await sandbox.files(".") == left, "something of the session goes on"


FLOODS = {
    "of nobody": 'many = frame("other", id="nobody") * 1_000',
    "of the cell": 'many = frame("uncall", call=1) * 1_000',
    "with large headers": 'many = frame("other", more="x" * 5_000) * 100',
}


@pytest.mark.parametrize("what", FLOODS)
async def test_a_flood_of_messages_ends_the_session_and_says_so(what: str, request: pytest.FixtureRequest) -> None:
    async with opening("local", request) as opened:
        sandbox = await opened.open("local", "floods")
        fine(await run(sandbox, SESSION, 1))
        ended = await run(sandbox, FLOODS[what] + "\nwhile True: write(many)", 2, timeout=100.0)
        assert (ended.status, ended.variables_kept) == ("killed", False)
        assert "it sent more than the 10,000 messages" in ended.note
        fine(await run(sandbox, "1", 3))


async def test_a_last_word_that_is_dear_to_parse_stops_nobody(request: pytest.FixtureRequest) -> None:
    body = b'{"status": "ok", "a": [' + b"[]," * 3_900_000 + b"0]}"
    parsing = cost_of_parsing(body)
    lies = """write(frame("done", b'{"status": "ok", "a": [' + b"[]," * 3_900_000 + b"0]}"))"""
    async with opening("local", request) as opened:
        sandbox = await opened.open("local", "floods")
        fine(await run(sandbox, SESSION, 1))
        async with longest_gap() as gaps:
            said = await run(sandbox, lies, 2, timeout=60.0)
        assert said.status == "error"
        assert said.error is not None
        assert "more than the 500,000 values" in said.error.message
        assert gaps[0] < parsing / 3


async def test_a_cell_that_says_itself_that_it_has_ended_does_not_compute_on(request: pytest.FixtureRequest) -> None:
    computes = "until = time.time() + 90\nwhile time.time() < until: pass\nopen('outputs/computed', 'w').close()"
    async with opening("local", request) as opened:
        sandbox = await opened.open("local", "floods")
        fine(await run(sandbox, SESSION, 1))
        assert (await run(sandbox, "done()\n" + computes, 2)).status == "ok"
        with contextlib.suppress(SandboxLostError):
            await sandbox.snapshot(limit_bytes=1 << 30)
        assert await sandbox.files("outputs") == []


def resident() -> int:
    """Bytes of memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4_096
