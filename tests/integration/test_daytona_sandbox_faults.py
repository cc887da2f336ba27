"""What goes wrong with Daytona, one fault a test: nothing is lost, nothing runs twice, nothing is left behind."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from graph.context import Context
from graph.events import CellFinished, Finished
from graph.settings import Settings
from sandboxes.base import Sandbox, SandboxLostError, SandboxRefusedError, SandboxUnavailableError
from sandboxes.daytona.options import Account, Options
from sandboxes.network import Network
from sandboxes.opening import Sandboxes
from sandboxes.results import CellResult
from stepwell.runs import start
from tests.analyses import follow, last, only, with_model
from tests.daytona.elsewhere import in_emulator
from tests.daytona.emulator import Emulator
from tests.daytona.faults import (
    BadGateway,
    Closed,
    CutShort,
    Dropped,
    Fault,
    HappensInCell,
    NameTaken,
    OutOfDisk,
    RateLimited,
    SlowStart,
    StartFails,
    Unanswered,
    Unreached,
)
from tests.scripted_model import Call, Plain, Request, Scripted, ScriptedServer

pytestmark = pytest.mark.slow

NAME = "faulty"
ONCE = "open('outputs/count', 'a').write('x')\nprint('begun', flush=True)\nimport time; time.sleep({seconds})\n"
COUNT = "print(open('outputs/count').read())"


@pytest.fixture(scope="module")
def emulated() -> Iterator[Emulator]:
    with Emulator() as emulator:
        yield emulator


@pytest.fixture
def options(emulated: Emulator, request: pytest.FixtureRequest) -> Iterator[Options]:
    account = Account(api_key=emulated.api_key, api_url=emulated.api_url, target="us")
    yield Options(account, prefix=f"test-{abs(hash(request.node.name)) % 10**8}", create_seconds=20)
    emulated.faults.clear()


@asynccontextmanager
async def opened(folder: Path, options: Options) -> AsyncIterator[Sandboxes]:
    async with Sandboxes(folder, daytona=options) as sandboxes:
        try:
            yield sandboxes
        finally:
            for one in await sandboxes.elsewhere["daytona"].listed():
                await sandboxes.elsewhere["daytona"].delete(one.thread)


@pytest.fixture
async def sandboxes(tmp_path: Path, options: Options) -> AsyncIterator[Sandboxes]:
    async with opened(tmp_path / "sandboxes", options) as made:
        yield made


@pytest.fixture
async def sandbox(sandboxes: Sandboxes) -> Sandbox:
    return await sandboxes.open("daytona", NAME)


def ours(emulated: Emulator, options: Options) -> dict[str, str]:
    return {name: state for name, state in emulated.states().items() if name.startswith(options.prefix)}


async def run(sandbox: Sandbox, code: str, number: int = 1, head: str = "") -> CellResult:
    return await sandbox.run(code, number=number, timeout=60, head=head)


async def printed(sandbox: Sandbox, code: str) -> str:
    result = await run(sandbox, code)
    assert result.status == "ok", result
    return result.stdout.text


async def kept(sandbox: Sandbox, folder: Path) -> tuple[str, list[Path]]:
    """Keep a step as the host does: its blobs out of the sandbox, and the sandbox told so."""
    taken = await sandbox.snapshot(limit_bytes=1 << 30)
    await sandbox.take_blobs(taken.new, folder)
    await sandbox.drop_blobs(taken.new)
    return taken.id, [folder / name for name in taken.new]


@pytest.mark.parametrize(
    "fault",
    [
        SlowStart(seconds=1.0),
        RateLimited(on="create", throttler="sandbox-create"),
        RateLimited(on="upload", times=2),
        RateLimited(on="create_context"),
        RateLimited(on="run"),
        BadGateway(on="get"),
        BadGateway(on="upload"),
        BadGateway(on="exec"),
        BadGateway(on="run"),
        BadGateway(on="create_context"),
        Unreached(on="run"),
        Unreached(on="upload"),
        Unanswered(on="create"),
        Unanswered(on="upload"),
        NameTaken(),
        StartFails(),
    ],
    ids=lambda fault: f"{type(fault).__name__} {fault.on}",
)
async def test_what_passes_is_waited_for_and_the_cell_runs_once(
    sandbox: Sandbox, emulated: Emulator, options: Options, fault: Fault
) -> None:
    emulated.faults.add(fault)
    assert await printed(sandbox, ONCE.format(seconds=0)) == "begun\n"
    assert fault.met == (2 if fault.on == "upload" and isinstance(fault, RateLimited) else 1)
    assert await printed(sandbox, COUNT) == "x\n"
    assert len(ours(emulated, options)) == 1


@pytest.mark.parametrize(
    "fault",
    [
        Dropped(after_frames=1),
        Dropped(),
        Closed(code=1001, reason="worker process ended", after_frames=1),
        Closed(code=1008, reason="slow consumer", after_frames=1),
        Closed(code=4008, reason="timeout", after_frames=1),
        HappensInCell(what="workers killed", after_frames=1),
        HappensInCell(what="contexts lost", after_frames=1),
    ],
    ids=lambda fault: f"{type(fault).__name__} {getattr(fault, 'code', '') or getattr(fault, 'what', '')}",
)
async def test_a_connection_that_breaks_off_in_a_cell_costs_nothing(
    sandbox: Sandbox, emulated: Emulator, fault: Fault
) -> None:
    await run(sandbox, "x = 41")
    await asyncio.sleep(3.5)  # until nothing more comes over the connection of that cell
    emulated.faults.add(fault)
    result = await run(sandbox, ONCE.format(seconds=0.6) + "x += 1\nprint('ended')\nx", head="after")
    assert fault.met == 1
    assert (result.status, result.stdout.text, [one.text for one in result.displays]) == (
        "ok",
        "begun\nended\n",
        ["42"],
    )
    assert sandbox.head == "after"
    assert await printed(sandbox, COUNT + "\nprint(x)") == "x\n42\n"


async def test_contexts_that_are_lost_between_two_cells_cost_nothing(
    sandbox: Sandbox, emulated: Emulator, options: Options
) -> None:
    await run(sandbox, "x = 41")
    await emulated.happens(f"{options.prefix}-{NAME}", "contexts lost")
    assert await printed(sandbox, "print(x)") == "41\n"
    await emulated.happens(f"{options.prefix}-{NAME}", "workers killed")
    assert await printed(sandbox, "print(x)") == "41\n"


@pytest.mark.parametrize("what", ["stopped", "archived", "deleted"])
async def test_a_sandbox_that_goes_in_the_middle_of_a_cell_is_lost_and_nothing_runs_twice(
    sandbox: Sandbox, emulated: Emulator, options: Options, tmp_path: Path, what: str
) -> None:
    await run(sandbox, "x = 41\nopen('outputs/count', 'w').close()")
    id, blobs = await kept(sandbox, tmp_path / "blobs")
    fault = HappensInCell(what=what, after_frames=1)  # type: ignore[arg-type]
    emulated.faults.add(fault)
    with pytest.raises(SandboxLostError):
        await run(sandbox, ONCE.format(seconds=5))
    assert (fault.met, sandbox.head) == (1, "")
    there = await sandbox.supplied_blobs()
    assert ({blob.name for blob in blobs} <= there) is (what != "deleted")
    await sandbox.supply_blobs([blob for blob in blobs if blob.name not in there])
    assert (await sandbox.restore(id)).restored == ("x",)
    assert await printed(sandbox, COUNT + "\nprint(x)") == "\n41\n"
    assert list(ours(emulated, options).values()) == ["started"]


@pytest.mark.parametrize("minutes", [20, 60 * 24 * 8, 60 * 24 * 60], ids=["stopped", "archived", "deleted"])
async def test_a_sandbox_that_went_while_it_was_idle_is_told_lost_and_comes_back(
    sandbox: Sandbox, emulated: Emulator, options: Options, tmp_path: Path, minutes: int
) -> None:
    await run(sandbox, "x = 41\nopen('outputs/file', 'w').write('kept')")
    id, blobs = await kept(sandbox, tmp_path / "blobs")
    await asyncio.sleep(0.5)  # until the connection is closed, and nothing is in use
    await emulated.advance(minutes=minutes)
    assert set(ours(emulated, options).values()) <= {"stopped", "archived"}
    with pytest.raises(SandboxLostError):
        await run(sandbox, "print(x)")
    there = await sandbox.supplied_blobs()
    before = emulated.counters.copy()
    await sandbox.supply_blobs([blob for blob in blobs if blob.name not in there])
    spent = emulated.counters - before
    if minutes < 60 * 24 * 30:
        assert spent.uploaded_files == 0  # what the newest snapshot needs stayed in the sandbox
    await sandbox.restore(id)
    assert await printed(sandbox, "print(x, open('outputs/file').read())") == "41 kept\n"


async def test_a_full_disk_is_said_and_leaves_nothing_half(
    sandbox: Sandbox, emulated: Emulator, tmp_path: Path
) -> None:
    source = tmp_path / "data.bin"
    source.write_bytes(b"data" * 100_000)
    await sandbox.files(".")
    emulated.faults.add(OutOfDisk(after_bytes=1_000, times=-1))
    with pytest.raises(SandboxUnavailableError, match="room"):
        await sandbox.put(source, "inputs/data.bin")
    emulated.faults.clear()
    assert await sandbox.files(".") == []
    await sandbox.put(source, "inputs/data.bin")
    assert [file.size for file in await sandbox.files("inputs")] == [400_000]


async def test_a_download_that_is_cut_short_is_fetched_again(
    sandbox: Sandbox, emulated: Emulator, tmp_path: Path
) -> None:
    await run(sandbox, "open('outputs/big', 'wb').write(bytes(500_000))")
    fault = emulated.faults.add(CutShort(after_bytes=100_000))
    assert (await sandbox.fetch("outputs/big", tmp_path / "big", max_bytes=1 << 20)).size == 500_000
    assert fault.met == 1


async def test_a_bad_key_is_one_sentence_and_is_not_tried_again(tmp_path: Path, emulated: Emulator) -> None:
    before = emulated.counters.copy()
    wrong = Options(Account(api_key="wrong", api_url=emulated.api_url, target="us"))
    async with Sandboxes(tmp_path, daytona=wrong) as sandboxes:
        with pytest.raises(SandboxRefusedError, match="DAYTONA_API_KEY") as refused:
            await run(await sandboxes.open("daytona", NAME), "1")
    assert "\n" not in str(refused.value)
    assert sum((emulated.counters - before).requests.values()) == 1


async def test_no_key_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    async with Sandboxes(tmp_path) as sandboxes:
        with pytest.raises(SandboxRefusedError, match="DAYTONA_API_KEY"):
            await sandboxes.open("daytona", NAME)


async def test_the_network_is_as_closed_as_it_is_asked_for_on_every_turn(
    tmp_path: Path, options: Options, emulated: Emulator
) -> None:
    asked: list[tuple[Network, str, dict[str, object]]] = [
        (Network("full"), "", {}),
        (Network(), "", {"networkBlockAll": True}),
        (Network.only("pypi.org", "*.example.org"), "", {"domainAllowList": "pypi.org,*.example.org"}),
        (Network(), "208.80.154.0/24", {"networkAllowList": "208.80.154.0/24"}),
        (Network(), "", {"networkBlockAll": True}),
    ]
    for network, networks, expected in asked:
        now = replace(options, network=network, network_allow_list=networks)
        async with Sandboxes(tmp_path, daytona=now) as sandboxes:
            await (await sandboxes.open("daytona", NAME)).files(".")
            said = emulated.network(f"{options.prefix}-{NAME}")
            rules = {name: value for name, value in said.items() if value}
            assert (expected if rules.get("networkBlockAll") else rules) == expected
            assert bool(rules.get("networkBlockAll")) is bool(expected.get("networkBlockAll"))
    async with opened(tmp_path, options):
        assert len(ours(emulated, options)) == 1


async def test_a_cancelled_creation_leaves_no_orphan(sandbox: Sandbox, emulated: Emulator, options: Options) -> None:
    emulated.faults.add(SlowStart(seconds=0.7))
    task = asyncio.ensure_future(run(sandbox, "1"))
    while not ours(emulated, options):
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ours(emulated, options) == {}


async def test_a_throw_away_sandbox_is_deleted_when_it_is_closed(
    tmp_path: Path, emulated: Emulator, options: Options
) -> None:
    async with Sandboxes(tmp_path, daytona=options, keep=False) as sandboxes:
        assert await printed(await sandboxes.open("daytona", NAME), "print(1)") == "1\n"
        assert len(ours(emulated, options)) == 1
    assert ours(emulated, options) == {}


async def test_two_workers_have_one_sandbox_and_one_at_a_time_is_in_it(
    sandbox: Sandbox, emulated: Emulator, options: Options, tmp_path: Path
) -> None:
    async with Sandboxes(tmp_path / "other", daytona=options) as others:
        other = await others.open("daytona", NAME)
        began = asyncio.Event()
        first = asyncio.ensure_future(
            sandbox.run(
                "x = 1\nprint('on', flush=True)\nimport time; time.sleep(1)\nprint(x)",
                number=1,
                timeout=60,
                on_output=lambda _: began.set(),
            )
        )
        await began.wait()
        # Who comes second waits, and has a session of his own: nothing of the other's is in it.
        assert (await run(other, "print(x)")).status == "error"
        assert (await first).stdout.text == "on\n1\n"
        assert list(ours(emulated, options).values()) == ["started"]
        with pytest.raises(SandboxLostError):
            await sandbox.snapshot(limit_bytes=1 << 20)
        await sandbox.close()
        assert list(ours(emulated, options).values()) == ["started"]  # somebody else is in it


async def test_an_analysis_goes_on_through_all_of_it(settings: Settings, emulated: Emulator) -> None:
    there = in_emulator(settings, emulated)
    codes = [
        "x = [1]",
        "x.append(2)\nopen('outputs/log', 'a').write('2')",
        "x.append(3)\nprint(x, open('outputs/log').read())",
    ]
    cells: list[Scripted] = [Call("run_python", purpose="work", step=1, code=code) for code in codes]
    script = [
        Call("submit_plan", steps=["Work"]),
        *cells,
        Call("submit_answer", answer="It is done.", skipped=[]),
        Call("submit_review", good_enough=True, missing=[]),
    ]
    faults: list[Fault] = [
        emulated.faults.add(RateLimited(on="create", throttler="sandbox-create")),
        emulated.faults.add(HappensInCell(what="stopped", skip=1)),
        emulated.faults.add(BadGateway(on="download", skip=1)),
    ]
    async with ScriptedServer(script) as server:
        run = start("Work", context=Context(sandbox="daytona"), settings=with_model(there, server.base_url))
        events = await follow(run)
    emulated.faults.clear()
    assert last(events, Finished).answer == "It is done."
    assert [one.cell["status"] for one in only(events, CellFinished)] == ["ok"] * 3
    assert "[1, 2, 3] 2" in only(events, CellFinished)[-1].cell["observation"]
    assert [fault.met for fault in faults][:2] == [1, 1]
    states = {name: state for name, state in emulated.states().items() if name.startswith(there.daytona_prefix)}
    assert list(states.values()) == ["stopped"]


async def test_a_sandbox_that_is_deleted_between_two_cells_is_made_anew_and_the_next_cell_runs(
    settings: Settings, emulated: Emulator
) -> None:
    """Without a network no cell can have had an effect elsewhere, so none is left as of unknown outcome."""
    there = in_emulator(settings, emulated)

    def deleted(request: Request) -> Plain:
        (name,) = [name for name in emulated.states() if name.startswith(there.daytona_prefix)]
        asyncio.run(emulated.happens(name, "deleted"))
        return Call("run_python", purpose="go on", step=1, code="x.append(2)\nprint(x, open('outputs/file').read())")

    script: list[Scripted] = [
        Call("submit_plan", steps=["Work"]),
        Call("run_python", purpose="work", step=1, code="x = [1]\nopen('outputs/file', 'w').write('kept')"),
        deleted,
        Call("submit_answer", answer="It is done.", skipped=[]),
        Call("submit_review", good_enough=True, missing=[]),
    ]
    async with ScriptedServer(script) as server:
        run = start("Work", context=Context(sandbox="daytona"), settings=with_model(there, server.base_url))
        events = await follow(run)
    assert last(events, Finished).answer == "It is done."
    assert [one.cell["status"] for one in only(events, CellFinished)] == ["ok", "ok"]
    assert "[1, 2] kept" in only(events, CellFinished)[-1].cell["observation"]
