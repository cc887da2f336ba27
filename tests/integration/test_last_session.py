"""The session that a killed server used last, brought back by the next one before anybody asks for it."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import SecretStr

import stepwell
from graph.checkpoints.thread_lock import hold_thread
from graph.settings import Settings
from graph.wiring import make_sandboxes
from sandboxes.host.kernel_sandbox import KernelSandbox
from sandboxes.local import LocalSandbox, isolation_choice
from sandboxes.local.isolation_choice import choose
from stepwell.cell_sessions import CellSessions
from stepwell.last_session import (
    FOLDER,
    OF_EDITORS,
    OF_NOTEBOOKS,
    TAG,
    LastSession,
    LastSessionNote,
    SessionAhead,
    begin_early,
    bringing_back,
    take_left_behind,
)
from stepwell.mcp_server.client_sessions import ClientSessions, open_client_sessions
from tests.mcp_client import agent, served, user_of

HASH = "ab" * 32


def cells_of(sessions: ClientSessions) -> CellSessions:
    return sessions._cells


def live(sessions: ClientSessions) -> int:
    return cells_of(sessions).services.sandboxes.counts["active"]


def is_coming(sessions: ClientSessions) -> bool:
    ahead = cells_of(sessions).last.ahead
    return ahead is not None and ahead.thread != ""


def notes(home: Path) -> list[Path]:
    return sorted((home / FOLDER).glob("*.json"))


async def shown(sessions: ClientSessions, code: str) -> str:
    """What a cell of the session `mine` shows."""
    found = await sessions.run(code, session="mine")
    assert found.cell is not None
    assert found.cell["status"] == "ok", found.cell
    return found.cell["observation"]


async def killed(settings: Settings, folder: Path, *sessions: str, code: str = "") -> list[str]:
    """Run a cell in each of these sessions, and kill the server; their threads."""
    threads = []
    async with agent(settings, folder) as user:
        for number, name in enumerate(sessions):
            usual = f"n = {number}; import pandas as pd; open('outputs/n.txt', 'w').write('{number}')"
            threads.append((await user.told("run_code", code=code or usual, session=name))["session"])
        user.kill()
    return threads


@asynccontextmanager
async def next_server(settings: Settings) -> AsyncIterator[ClientSessions]:
    """The next server; what it brings back is there, or has failed."""
    last = await asyncio.to_thread(begin_early, settings, tag=TAG)
    async with bringing_back(last, settings) as ahead, open_client_sessions(settings, ahead=ahead) as sessions:
        if ahead is not None:
            await ahead.settled()
        yield sessions


async def session_of(sessions: ClientSessions, thread: str) -> object:
    sandbox = await cells_of(sessions).services.sandboxes.open("local", thread)
    return cast("KernelSandbox[Any]", sandbox)._session


async def test_it_is_there_before_anybody_asks(settings: Settings, tmp_path: Path) -> None:
    _, thread = await killed(settings, tmp_path, "other", "mine")
    async with next_server(settings) as sessions:
        assert live(sessions) == 1
        ahead = await session_of(sessions, thread)
        assert ahead is not None
        found = await sessions.run("n, open('outputs/n.txt').read(), pd.__name__", session="mine")
        assert found.cell is not None
        assert "(1, '1', 'pandas')" in found.cell["observation"]
        assert found.restored is not None, "whoever asks is told that it was brought back"
        assert (found.restored.from_cell, found.step) == (1, "2")
        assert await session_of(sessions, thread) is ahead, "it was restored once"
        assert live(sessions) == 1
        assert (await sessions.run("n", session="mine")).restored is None
    assert notes(settings.home) == [], "a server that ends in good order leaves nothing behind"


LOADED = "import sys; [one for one in ('numpy', 'pandas', 'matplotlib', 'matplotlib.pyplot') if one in sys.modules]"


@pytest.mark.slow
async def test_what_it_does_not_mention_is_imported_when_it_is_asked_for(settings: Settings, tmp_path: Path) -> None:
    await killed(settings, tmp_path, "mine", code="n = 1")
    async with next_server(settings) as sessions:
        found = await sessions.run(LOADED, session="mine")
        assert found.cell is not None
        assert "['numpy']" in found.cell["observation"]
        assert found.restored is not None
        assert found.restored.versions == [], "what is not imported yet is no other version"
        assert "True" in await shown(sessions, "import matplotlib.pyplot as plt; plt.get_backend() == 'agg'")
        assert "'matplotlib.pyplot']" in await shown(sessions, LOADED)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "then", "value"),
    [
        (
            "import pandas as p, matplotlib as m; p.options.display.width = 7; m.rcParams['figure.dpi'] = 7; p = m = 0",
            "sys.modules['pandas'].get_option('display.width'), sys.modules['matplotlib'].rcParams['figure.dpi']",
            "(7, 7",
        ),
        ("import matplotlib.pyplot", "matplotlib.pyplot.__name__, 'pandas' in sys.modules", "('matplotlib.pyplot', F"),
    ],
)
async def test_what_it_mentions_is_there(code: str, then: str, value: str, settings: Settings, tmp_path: Path) -> None:
    await killed(settings, tmp_path, "mine", code=f"import sys\n{code}")
    async with next_server(settings) as sessions:
        assert value in await shown(sessions, then)


@pytest.mark.slow
async def test_it_alone_is_of_a_zygote_that_imports_nothing(settings: Settings, tmp_path: Path) -> None:
    [thread] = await killed(settings, tmp_path, "mine")
    async with next_server(settings) as sessions:
        sandboxes = cells_of(sessions).services.sandboxes
        for id, bare in ((thread, True), ("another", False)):
            sandbox = cast("LocalSandbox", await sandboxes.open("local", id))
            assert sandbox._config.bare is bare
            assert sandbox._config in isolation_choice._TRIED, "what its level promises was tried"
        await cells_of(sessions).close(thread)
        assert not cast("LocalSandbox", await sandboxes.open("local", thread))._config.bare


def test_its_sandbox_begins_before_langgraph_is_imported() -> None:
    code = (
        "import sys; from stepwell.cli import agent_services; from stepwell.jupyter_kernel import __main__; "
        "print({'langgraph', 'langchain_core', 'mcp', 'acp', 'ipykernel'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_each_kind_of_server_sees_its_own(settings: Settings) -> None:
    async def use(thread: str) -> None:
        async with hold_thread(thread, settings, patience=0):
            pass

    tmp_path = settings.home
    ids = [f"0000000{number}-0000-0000-0000-000000000000" for number in range(3)]
    for id, folder in zip(ids, (FOLDER, OF_EDITORS, OF_NOTEBOOKS), strict=True):
        note = LastSessionNote(tmp_path, folder)
        note.write(id, HASH)
        note.close(leave=True)
    asyncio.run(use(ids[2]))
    assert take_left_behind(tmp_path, OF_NOTEBOOKS, ids[0]) is None
    found = [
        take_left_behind(tmp_path),
        take_left_behind(tmp_path, OF_EDITORS),
        take_left_behind(tmp_path, OF_NOTEBOOKS, ids[2]),
    ]
    assert [one.thread for one in found if one is not None] == ids
    deleted = LastSessionNote(tmp_path, OF_NOTEBOOKS)
    deleted.write(ids[0], HASH)
    deleted.close(leave=True)
    assert take_left_behind(tmp_path, OF_NOTEBOOKS, ids[1]) is None
    assert list((tmp_path / OF_NOTEBOOKS).iterdir()) == [], "nobody could come back to it"


@pytest.mark.slow
async def test_another_session_that_is_asked_for_lets_it_go(settings: Settings, tmp_path: Path) -> None:
    _, thread = await killed(settings, tmp_path, "other", "mine")
    async with open_client_sessions(settings) as sessions:  # it may still be on its way
        found = await sessions.run("n", session="other")
        assert found.cell is not None
        assert "0" in found.cell["observation"]
        assert live(sessions) == 1
        assert await session_of(sessions, thread) is None
        found = await sessions.run("n", session="mine")
        assert found.cell is not None
        assert "1" in found.cell["observation"]


@pytest.mark.slow
async def test_who_waits_for_it_gets_it(settings: Settings, tmp_path: Path) -> None:
    [thread] = await killed(settings, tmp_path, "mine")
    last = await asyncio.to_thread(begin_early, settings, tag=TAG)
    async with bringing_back(last, settings) as ahead:
        assert ahead is not None
        await asyncio.gather(ahead.make_way(thread), ahead.make_way("another"))
        assert ahead.sandboxes.counts["active"] == 1


class SlowToEnd:
    """Sandboxes that have not ended a session until they are told."""

    def __init__(self) -> None:
        self.ending, self.may_end = asyncio.Event(), asyncio.Event()

    async def close(self, thread: str) -> None:
        self.ending.set()
        await self.may_end.wait()


async def test_who_wants_it_while_it_is_let_go_waits_for_its_end(settings: Settings) -> None:
    last, sandboxes = LastSession("00000000-0000-0000-0000-000000000000", HASH, "nobody"), SlowToEnd()
    ahead = SessionAhead(last, settings, cast("Any", sandboxes))
    other = asyncio.create_task(ahead.make_way("another"))
    await sandboxes.ending.wait()
    same = asyncio.create_task(ahead.make_way(last.thread))
    await asyncio.wait([same], timeout=0.01)
    assert not same.done(), "the sandbox is being ended still"
    sandboxes.may_end.set()
    await asyncio.gather(other, same)
    assert ahead.thread == ""


@pytest.mark.slow
async def test_a_new_session_lets_it_go(settings: Settings, tmp_path: Path) -> None:
    await killed(settings, tmp_path, "mine")
    async with next_server(settings) as sessions:
        await sessions.run("m = 1", session="new")
        assert live(sessions) == 1


@pytest.mark.slow
async def test_who_needs_its_place_gets_it(settings: Settings, tmp_path: Path) -> None:
    await killed(settings, tmp_path, "mine")
    async with next_server(settings.model_copy(update={"max_sandboxes": 1})) as sessions:
        assert live(sessions) == 1
        services = cells_of(sessions).services
        other = await services.sandboxes.open("local", "other-thread")
        assert (await other.run("1 + 1", number=1, timeout=60)).status == "ok"
        assert live(sessions) == 1


@pytest.mark.slow
async def test_what_is_asked_of_the_sandbox_without_a_restore_finds_a_new_session(
    settings: Settings, tmp_path: Path
) -> None:
    [thread] = await killed(settings, tmp_path, "mine")
    async with next_server(settings) as sessions:
        sandbox = await cells_of(sessions).services.sandboxes.open("local", thread)
        assert sandbox.head == ""
        assert (await sandbox.run("n", number=1, timeout=60)).status == "error"


@pytest.mark.slow
async def test_a_session_that_ended_while_nobody_used_it_is_restored_again(settings: Settings, tmp_path: Path) -> None:
    [thread] = await killed(settings, tmp_path, "mine")
    async with next_server(settings) as sessions:
        session = cast("Any", await session_of(sessions, thread))
        await session.close()
        found = await sessions.run("n", session="mine")
        assert found.cell is not None
        assert "0" in found.cell["observation"]


async def test_a_session_that_was_ended_is_left_alone(settings: Settings, tmp_path: Path) -> None:
    async with agent(settings, tmp_path) as user:
        await user.told("run_code", code="n = 1", session="s")
        assert len(notes(settings.home)) == 1
        await user.told("end_session", session="s")
        user.kill()
    async with next_server(settings) as sessions:
        assert not is_coming(sessions)


@pytest.mark.slow
@pytest.mark.parametrize("change", ["untagged", "deleted", "used"])
async def test_what_happened_to_the_thread_since_counts(change: str, settings: Settings, tmp_path: Path) -> None:
    [thread] = await killed(settings, tmp_path, "mine")
    holder = settings.home / "locks" / f"{thread}.holder"
    if change == "untagged":
        await stepwell.tag(thread, "agents", remove=True, settings=settings)
    elif change == "deleted":
        await stepwell.delete(thread, settings=settings)
    else:
        holder.write_text("another process, in which the session may be alive")
    async with next_server(settings) as sessions:
        assert live(sessions) == 0
    if change == "used":
        assert holder.read_text().startswith("another process"), "it was not taken over"


async def test_a_session_that_was_asked_a_question_is_the_last_one(settings: Settings) -> None:
    async with open_client_sessions(settings) as sessions:
        await sessions.run("n = 1", session="mine")
        await sessions.ask("What is there?", session="mine")
        asked = await sessions.find("mine")
        for name in ("mine", "new"):
            if name == "new":  # which has nothing to bring back: no cell ran
                await sessions.ask("What is there?", session=name)
            [note] = await asyncio.to_thread(notes, settings.home)
            last = await asyncio.to_thread(LastSession.read, note)
            assert last is not None
            assert last.thread == asked, name


@pytest.mark.slow
async def test_a_server_that_lives_keeps_its_session(settings: Settings, tmp_path: Path) -> None:
    async with agent(settings, tmp_path) as user:
        await user.told("run_code", code="n = 1; gone = (one for one in [1])", session="s")  # no snapshot has it
        async with next_server(settings) as sessions:
            assert not is_coming(sessions)
        assert "[1]" in (await user.told("run_code", code="list(gone)", session="s"))["output"]


@pytest.mark.slow
async def test_a_session_is_brought_back_by_one_server(settings: Settings, tmp_path: Path) -> None:
    await killed(settings, tmp_path, "mine")
    async with next_server(settings) as one, next_server(settings) as other:
        assert (is_coming(one), is_coming(other)) == (True, False)


def test_the_newest_of_the_dead_is_taken_and_none_of_the_living(tmp_path: Path) -> None:
    living, dead = LastSessionNote(tmp_path), LastSessionNote(tmp_path)
    for number, note in enumerate((living, dead)):
        note.write(f"0000000{number}-0000-0000-0000-000000000000", HASH)
    [file] = [one for one in notes(tmp_path) if "00000001-" in one.read_text()]
    assert dead._lock is not None
    dead._lock.release()  # as a killed process does
    (tmp_path / FOLDER / "odd.json").write_text('{"thread": "../../etc", "snapshot": "x", "holder": "y"}')
    assert take_left_behind(tmp_path) is None or file.exists() is False
    assert len(notes(tmp_path)) == 1
    assert take_left_behind(tmp_path) is None
    living.close()
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_editors_and_notebooks_need_no_database_to_see_what_they_left(settings: Settings) -> None:
    there = settings.model_copy(update={"database_url": SecretStr("postgresql://nowhere.invalid/x")})
    for folder, tag, found in ((OF_EDITORS, "", True), (OF_NOTEBOOKS, "", True), (FOLDER, TAG, False)):
        note = LastSessionNote(settings.home, folder)
        note.write("00000000-0000-0000-0000-000000000000", HASH)
        note.close(leave=True)
        assert (begin_early(there, folder, tag=tag) is not None) == found, folder


async def test_what_is_begun_while_a_server_starts_is_what_its_sessions_use(settings: Settings) -> None:
    begun = await asyncio.to_thread(choose, settings.local)
    async with make_sandboxes(settings) as sandboxes:
        sandbox = cast("LocalSandbox", await sandboxes.open("local", "thread"))
        assert sandbox._config == begun


@pytest.mark.slow
async def test_over_http_only_its_user_brings_it_back(settings: Settings, tmp_path: Path) -> None:
    async with served(settings, tmp_path) as server, user_of(server, 0) as user:
        await user.told("run_code", code="n = 1", session="s")
        user.kill()
    [home] = (settings.home / "users").iterdir()
    async with served(settings, tmp_path) as server:
        async with user_of(server, 1) as other:
            await other.told("run_code", code="m = 1", session="s")
        assert len(notes(home)) == 1, "nobody but its user touches it"
        async with user_of(server, 0) as user:
            await user.told("list_sessions")
            assert notes(home) == [], "it was taken"
            assert "1" in (await user.told("run_code", code="n", session="s"))["output"]
