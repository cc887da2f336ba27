"""The journal: a finished cell never runs twice, and what a broken-off one reached outside is not passed over."""

import asyncio
import shutil
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.runnables import RunnableConfig

from graph.events import CellFinished, CellStarted, Finished, Notice, SessionRestored
from graph.settings import Settings
from stepwell.runs import resume
from stepwell.threads import read_thread
from tests.analyses import follow, last, only, with_model
from tests.crashing import THREAD
from tests.integration.test_resume import ending, published
from tests.integration.test_steps import PLAN, Effects, opened
from tests.other_process import ROOT, environment, wait_for_flag
from tests.prepared_command import ForkedProcess
from tests.scripted_model import Call, Request, Scripted, ScriptedServer
from tests.steady_model import steady

WAIT = "import time, pathlib\npathlib.Path('outputs/flag').touch()\n"
WAIT += "time.sleep(0 if pathlib.Path('inputs/go').exists() else 60)"


class Listener:
    """Somebody outside, who counts who calls."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.calls = 0
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while True:
            try:
                called, _ = self._socket.accept()
            except OSError:
                return
            self.calls += 1
            called.close()

    @property
    def code(self) -> str:
        """A cell that calls."""
        return f"import socket\nsocket.create_connection(('127.0.0.1', {self.port})).close()\n"

    def close(self) -> None:
        """Stop listening."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


@pytest.fixture
def listener() -> Iterator[Listener]:
    listener = Listener()
    yield listener
    listener.close()


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Without walls: a cell has to leave a trace that no step brings back, to be counted."""
    return settings.model_copy(update={"isolation": "process"})


@pytest.fixture
def effects(settings: Settings) -> Effects:
    return Effects(settings.home)


async def crash(settings: Settings, url: str, point: str, durability: str = "sync", *, flag: bool = False) -> int:
    """Run the thread in a process of its own until it dies, or, with `flag`, until the cell says so.

    Returns:
        How it ended; negative: by which signal.
    """
    command = ("-m", "tests.crashing", point, durability)
    process = await asyncio.to_thread(ForkedProcess, *command, env=environment(settings, url), cwd=ROOT)
    try:
        if flag:
            await wait_for_flag(settings)
            process.send_signal(signal.SIGKILL)
        return await asyncio.to_thread(process.wait, 90)
    finally:
        process.kill()
        await asyncio.to_thread(process.wait)


def let_it_end(settings: Settings) -> None:
    """From now on the waiting cell does not wait."""
    (settings.home / "threads" / THREAD / "workspace" / "inputs" / "go").touch()


@pytest.mark.parametrize(
    ("durability", "point"),
    [
        ("async", "kept"),
        *(
            pytest.param(durability, point, marks=pytest.mark.slow)
            for durability in ("sync", "async")
            for point in ("started", "kept", "finished", "returned")
            if (durability, point) != ("async", "kept")
        ),
    ],
)
async def test_a_cell_takes_effect_once_wherever_the_process_dies(
    settings: Settings, effects: Effects, point: str, durability: str
) -> None:
    check = "assert x1 + x2 == 3 and open('outputs/log.txt').read() == '1\\n2\\n3\\n'"
    cells = [effects.cell(1), effects.cell(2), effects.cell(3, check)]
    async with ScriptedServer(policy=steady(cells)) as server:
        assert await crash(settings, server.base_url, point, durability) == -signal.SIGKILL
        assert effects.seen == ([1] if point == "started" else [1, 2])
        before = list(effects.seen)
        events = await follow(resume(THREAD, settings=with_model(settings, server.base_url)))
    assert published(last(events, Finished), "log.txt") == "1\n2\n3\n"
    again = [2] if point == "kept" else []  # it was rolled back and has run again
    assert effects.seen == sorted([*before, *again, *(number for number in (2, 3) if number not in before)])
    finished = [event.cell["number"] for event in only(events, CellFinished)]
    assert finished == ([3] if point == "returned" else [2, 3])
    said = [event.text for event in only(events, Notice)]
    assert any("not run again" in text for text in said) == (point == "finished")


@pytest.mark.slow
async def test_a_cell_does_not_start_before_its_checkpoint_is_stored(settings: Settings, effects: Effects) -> None:
    """With checkpoints that come late, the model is not asked again for the cell that was running."""
    script = [PLAN, effects.cell(1), effects.cell(2, WAIT), effects.cell(3), *ending()]
    async with ScriptedServer(script) as server:
        assert await crash(settings, server.base_url, "never", "async", flag=True) == -signal.SIGKILL
        let_it_end(settings)
        events = await follow(resume(THREAD, settings=with_model(settings, server.base_url)))
    assert [event.number for event in only(events, CellStarted)] == [2, 3]
    assert effects.seen == [1, 2, 3]


@pytest.mark.slow
async def test_the_outcome_of_a_broken_off_cell_that_reached_outside_is_unknown(
    settings: Settings, effects: Effects, listener: Listener
) -> None:
    told: list[str] = []

    def then(request: Request) -> Call:
        told.append(request.last)
        return effects.cell(3, "assert x1 == 1 and 'x2' not in globals()")

    script: list[Scripted] = [PLAN, effects.cell(1), effects.cell(2, listener.code + WAIT), then, *ending()]
    async with ScriptedServer(script) as server:
        await crash(settings, server.base_url, "never", flag=True)
        let_it_end(settings)
        events = await follow(resume(THREAD, settings=with_model(settings, server.base_url)))
    assert listener.calls == 1
    assert effects.seen == [1, 3]
    assert published(last(events, Finished), "log.txt") == "1\n3\n"
    unknown = only(events, CellFinished)[0].cell
    assert (unknown["number"], unknown["status"]) == (2, "unknown")
    assert unknown.get("reached") == ["network 127.0.0.1"]
    assert "may have had effects outside" in told[0]
    assert "network 127.0.0.1" in told[0]
    assert any("network 127.0.0.1" in event.text for event in only(events, Notice) if event.level == "warning")


@pytest.mark.slow
async def test_without_the_sandbox_it_ran_in_nobody_knows_what_a_cell_reached(
    settings: Settings, effects: Effects
) -> None:
    script = [PLAN, effects.cell(1), effects.cell(2, WAIT), effects.cell(3, "assert x1 == 1"), *ending()]
    async with ScriptedServer(script) as server:
        await crash(settings, server.base_url, "never", flag=True)
        await asyncio.to_thread(shutil.rmtree, settings.home / "threads" / THREAD)
        events = await follow(resume(THREAD, settings=with_model(settings, server.base_url)))
    assert effects.seen == [1, 3]
    assert only(events, CellFinished)[0].cell["status"] == "unknown"
    assert only(events, SessionRestored)[0].from_cell == 1


@pytest.mark.slow
async def test_a_question_after_a_crash_hears_of_what_the_broken_off_cell_reached(
    settings: Settings, effects: Effects, listener: Listener
) -> None:
    told: list[str] = []

    def then(request: Request) -> Call:
        told.append(request.last)
        return effects.cell(3, "assert x1 == 1 and 'x2' not in globals()")

    script: list[Scripted] = [PLAN, effects.cell(1), effects.cell(2, listener.code + WAIT), PLAN, then, *ending()]
    async with ScriptedServer(script) as server:
        await crash(settings, server.base_url, "never", flag=True)
        config: RunnableConfig = {"configurable": {"thread_id": THREAD}}
        async with opened(with_model(settings, server.base_url)) as graph:
            given = {"messages": [("user", "Something else")], "files": []}
            state = await graph.ainvoke(given, config, durability="sync")
    assert state["answer"] == "Done."
    assert (listener.calls, effects.seen) == (1, [1, 3])
    assert "was started before this question and broken off" in told[0]
    assert "network 127.0.0.1" in told[0]


@pytest.mark.slow
async def test_other_code_at_the_same_place_is_another_cell(settings: Settings, effects: Effects) -> None:
    """A cell that was changed after the crash is run: the journal speaks of the code that it knows."""
    cells = [effects.cell(1), effects.cell(2), effects.cell(3)]
    async with ScriptedServer(policy=steady(cells)) as server:  # it may have been asked for the third already
        await crash(settings, server.base_url, "finished")
    async with ScriptedServer([effects.cell(3, "assert x2 == 20"), *ending()]) as server:
        model = with_model(settings, server.base_url)
        config: RunnableConfig = {"configurable": {"thread_id": THREAD}}
        async with opened(model) as graph:
            pending = (await graph.aget_state(config)).values["pending"]
            await graph.aupdate_state(config, {"pending": [{**pending[0], "code": "x2 = 20"}]}, as_node="generate")
            state = await graph.ainvoke(None, config, durability="sync")
    assert state["answer"] == "Done."
    assert effects.seen == [1, 2, 3]


@pytest.mark.slow
async def test_going_back_runs_the_cell_again(settings: Settings, effects: Effects) -> None:
    """Time travel is a new branch: what the journal knows of the old one does not hold there."""
    script = [PLAN, effects.cell(1), effects.cell(2), *ending(), *ending()]
    async with ScriptedServer(script) as server:
        assert await crash(settings, server.base_url, "never") == 0
        config: RunnableConfig = {"configurable": {"thread_id": THREAD}}
        async with opened(with_model(settings, server.base_url)) as graph:
            async for before in graph.aget_state_history(config):
                if before.next == ("execute",):
                    break
            await graph.ainvoke(None, before.config, durability="sync")
    assert effects.seen == [1, 2, 2]


@pytest.mark.slow
async def test_a_cell_that_reached_outside_is_not_run_again_to_rebuild(
    settings: Settings, effects: Effects, listener: Listener
) -> None:
    script = [PLAN, effects.cell(1, listener.code), effects.cell(2), *ending(), PLAN]
    script += [effects.cell(3, "assert x2 == 2 and 'x1' not in globals()"), *ending()]
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url)
        assert await crash(settings, server.base_url, "never") == 0
        await asyncio.to_thread(shutil.rmtree, settings.home / "blobs")
        config: RunnableConfig = {"configurable": {"thread_id": THREAD}}
        told: list[object] = []
        async with opened(model) as graph:
            given = {"messages": [("user", "Go on")], "files": []}
            async for event in graph.astream(given, config, stream_mode="custom", durability="sync"):
                told.append(event)
    assert (listener.calls, effects.seen) == (1, [1, 2, 2, 3])
    assert "cell 1 had reached outside of the sandbox (network 127.0.0.1) and was not run again" in str(told)
    assert (await read_thread(THREAD, settings)).status == "finished"


def test_the_note_is_small_and_its_place_is_named_once(tmp_path: Path) -> None:
    from sandboxes.host import workspace

    assert workspace.read_note(tmp_path).what == ()
    name = workspace.read_note(tmp_path).sandbox
    (tmp_path / workspace.NOTE).write_text("abc\nnetwork x\n" + "y" * 100_000 + "\n")
    note = workspace.read_note(tmp_path)
    assert (note.sandbox, note.head, note.what[0]) == (name, "abc", "network x")
    assert len(note.what[1]) == 200
    (tmp_path / workspace.NOTE).unlink()
    (tmp_path / workspace.NOTE).symlink_to("/etc/passwd")
    assert workspace.read_note(tmp_path).what == ()
