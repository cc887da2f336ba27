"""Disk in Daytona: what the store has is not kept there for long, and goes first when the account is full."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from graph.context import Context
from graph.events import CellFinished, Finished
from graph.settings import Settings
from nodes.inputs import keep_input
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Sandbox, SandboxRefusedError
from sandboxes.daytona.freeing import LABEL, THREAD_LABEL
from sandboxes.daytona.options import Account, Options
from sandboxes.daytona.service import TIDY_SECONDS
from sandboxes.opening import Sandboxes
from stepwell.runs import start
from storage.blobs import BlobError, Blobs
from tests.analyses import follow, last, only, with_model, write_sales
from tests.daytona.clients import client_of, until
from tests.daytona.elsewhere import in_emulator
from tests.daytona.emulator import Emulator
from tests.daytona.faults import Answered, Slow
from tests.scripted_model import Call, Scripted, ScriptedServer

pytestmark = pytest.mark.slow

DAY = 24 * 60


@pytest.fixture
async def emulated() -> AsyncIterator[Emulator]:
    async with Emulator(disk=9) as emulator:  # three sandboxes
        yield emulator


@pytest.fixture
def options(emulated: Emulator) -> Options:
    account = Account(api_key=emulated.api_key, api_url=emulated.api_url, target="us")
    return Options(account, prefix=f"test-{secrets.token_hex(4)}", create_seconds=20)


@asynccontextmanager
async def opened(folder: Path, options: Options, name: str) -> AsyncIterator[Sandbox]:
    async with Sandboxes(folder / "sandboxes", daytona=options) as sandboxes:
        yield await sandboxes.open("daytona", name)


async def used(folder: Path, options: Options, name: str, *, stored: bool = True) -> None:
    """A thread that comes to its end; its step is stored, or not."""
    async with opened(folder, options, name) as sandbox:
        assert (await sandbox.run("x = 41", number=1, timeout=60)).status == "ok"
        taken = await sandbox.snapshot(limit_bytes=1 << 30)
        if stored:
            await sandbox.take_blobs(taken.new, folder / name)
            await sandbox.drop_blobs(taken.new)


def states(emulated: Emulator) -> dict[str, str]:
    return {name.split("-", 2)[2]: state for name, state in emulated.states().items()}


def turn(code: str) -> list[Scripted]:
    return [
        Call("submit_plan", steps=["Work"]),
        Call("run_python", purpose="work", step=1, code=code),
        Call("submit_answer", answer="It is done.", skipped=[]),
        Call("submit_review", good_enough=True, missing=[]),
    ]


async def test_a_finished_thread_gives_its_disk_back_and_goes_on_in_a_new_sandbox(
    settings: Settings, emulated: Emulator, tmp_path: Path
) -> None:
    sales = write_sales(tmp_path / "sales.csv")
    there = in_emulator(settings, emulated)
    async with ScriptedServer(turn("x = len(open('inputs/sales.csv').read())\nprint(x)")) as server:
        model = with_model(there, server.base_url)
        run = start("Work", files=[str(sales)], context=Context(sandbox="daytona"), settings=model)
        assert last(await follow(run), Finished).answer
    assert list(emulated.states().values()) == ["stopped"]
    await emulated.advance(minutes=20)
    assert emulated.states() == {}
    sales.unlink()
    async with ScriptedServer(turn("print(x == len(open('inputs/sales.csv').read()))")) as server:
        events = await follow(start("Go on", thread=run.thread, settings=with_model(there, server.base_url)))
    assert "True" in only(events, CellFinished)[0].cell["observation"]
    assert last(events, Finished).answer


async def test_how_long_is_a_setting(emulated: Emulator, options: Options, tmp_path: Path) -> None:
    await used(tmp_path, replace(options, auto_delete=0), "at-once")
    assert states(emulated) == {}
    await used(tmp_path, replace(options, auto_delete=-1), "never")
    await emulated.advance(minutes=60 * DAY)
    assert states(emulated) == {"never": "archived"}
    await used(tmp_path, options, "new")
    assert states(emulated) == {"never": "archived", "new": "stopped"}


async def test_what_is_not_stored_is_kept_and_again_once_it_was(
    emulated: Emulator, options: Options, tmp_path: Path
) -> None:
    await used(tmp_path, options, "thread", stored=False)
    await emulated.advance(minutes=60)
    assert states(emulated) == {"thread": "stopped"}
    await used(tmp_path, options, "thread", stored=True)
    await used(tmp_path, options, "thread", stored=False)
    await emulated.advance(minutes=60)
    assert states(emulated) == {"thread": "stopped"}
    await used(tmp_path, options, "thread", stored=True)
    async with opened(tmp_path, options, "thread") as sandbox:
        await sandbox.files(".")  # looked at, and nothing was done
    await emulated.advance(minutes=60)
    assert states(emulated) == {}


async def test_a_sandbox_with_the_only_copy_of_an_input_is_kept(
    emulated: Emulator, options: Options, tmp_path: Path
) -> None:
    class Full(Blobs):
        """A store in which no file can be put."""

        async def add_file(self, *_: object, **__: object) -> None:
            raise BlobError("There is no room.")

    source = write_sales(tmp_path / "sales.csv")
    snapshots = SnapshotStore(Full.at(str(tmp_path / "blobs"), owner=tmp_path / "owner"))
    async with opened(tmp_path, options, "thread") as sandbox:
        await sandbox.put(source, "inputs/sales.csv")
        await keep_input(sandbox, source, "0" * 64, snapshots)
    await used(tmp_path, options, "thread")
    await emulated.advance(minutes=60)
    assert states(emulated) == {"thread": "stopped"}


async def test_a_full_account_frees_what_nobody_needs_the_oldest_first(
    emulated: Emulator, options: Options, tmp_path: Path
) -> None:
    await used(tmp_path, options, "unstored", stored=False)
    await used(tmp_path, options, "older")
    stranger = replace(options, prefix="test-stranger")
    await used(tmp_path, stranger, "theirs")
    await used(tmp_path, options, "newer")
    assert states(emulated) == {"unstored": "stopped", "theirs": "stopped", "newer": "stopped"}
    await used(tmp_path, options, "newest", stored=False)
    assert states(emulated) == {"unstored": "stopped", "theirs": "stopped", "newest": "stopped"}
    with pytest.raises(SandboxRefusedError, match=r"disk limit exceeded.*Nothing of ours there can be spared") as full:
        await used(tmp_path, options, "one-more")
    assert "\n" not in str(full.value)
    assert "DAYTONA_API_KEY" not in str(full.value)
    assert states(emulated) == {"unstored": "stopped", "theirs": "stopped", "newest": "stopped"}


async def test_what_an_older_version_kept_is_not_taken_for_stored(
    emulated: Emulator, options: Options, tmp_path: Path
) -> None:
    for name in ("old", "older"):
        await used(tmp_path, options, name, stored=False)
        async with client_of(emulated) as client:
            sandbox = await client.get(f"{options.prefix}-{name}")
            await sandbox.set_labels({LABEL: options.prefix, THREAD_LABEL: name})
            await sandbox.set_auto_delete_interval(7 * DAY)
    await emulated.happens(f"{options.prefix}-older", "archived")
    async with opened(tmp_path, options, "old") as sandbox_again:
        await sandbox_again.files(".")  # looked at, and nothing was done
    await emulated.advance(minutes=60)
    await used(tmp_path, options, "unstored", stored=False)
    await used(tmp_path, options, "another", stored=False)
    with pytest.raises(SandboxRefusedError, match="disk limit exceeded"):
        await used(tmp_path, options, "one-more")
    assert states(emulated) == {
        "old": "stopped", "older": "archived", "unstored": "stopped", "another": "stopped"
    }  # fmt: skip


@pytest.mark.parametrize(("limit", "spared"), [("disk", True), ("CPU", False)])
async def test_only_a_full_disk_says_that_nothing_can_be_spared(
    limit: str, spared: bool, emulated: Emulator, options: Options, tmp_path: Path
) -> None:
    emulated.faults.add(Answered(on="create", status=403, message=f"Total {limit} limit exceeded"))
    with pytest.raises(SandboxRefusedError, match="limit exceeded") as refused:
        await used(tmp_path, options, "thread")
    assert ("can be spared" in str(refused.value)) == spared


async def test_the_archive_holds_up_no_end(emulated: Emulator, options: Options, tmp_path: Path) -> None:
    for name in ("one", "two"):
        await used(tmp_path, options, name)
    for name in ("one", "two"):
        await emulated.happens(f"{options.prefix}-{name}", "archived")
    slow = emulated.faults.add(Slow(on="list", seconds=TIDY_SECONDS + 10))
    await used(tmp_path, options, "new")
    assert slow.met == 1
    assert states(emulated) == {"one": "archived", "two": "archived", "new": "stopped"}


async def test_what_lies_in_the_archive_for_nothing_is_deleted(
    emulated: Emulator, options: Options, tmp_path: Path
) -> None:
    await used(tmp_path, options, "stored")
    await used(tmp_path, options, "unstored", stored=False)
    for name in ("stored", "unstored"):
        await emulated.happens(f"{options.prefix}-{name}", "archived")
    await used(tmp_path, options, "new")
    await until(lambda: states(emulated) == {"unstored": "archived", "new": "stopped"})
