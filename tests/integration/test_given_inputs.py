"""What somebody deletes or changes from outside is brought back, or stops the thread before a cell runs."""

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from graph.events import CellStarted, Failed, Finished, Notice
from graph.settings import Settings
from stepwell.errors import ThreadError
from stepwell.forks import fork_thread
from stepwell.runs import resume, start
from tests.analyses import follow, last, only, with_model
from tests.integration.test_resume import ending, published
from tests.scripted_model import Call, Scripted, ScriptedServer, bad_key

READ = Call(
    "run_python",
    purpose="add",
    step=1,
    code="total = sum(map(int, open('inputs/numbers.txt')))\nopen('outputs/log.txt', 'w').write(str(total))",
)
AGAIN = Call(
    "run_python",
    purpose="add again",
    step=1,
    code="more = open('outputs/log.txt').read()\n"
    "total += sum(map(int, open('inputs/numbers.txt')))\nopen('outputs/sum.txt', 'w').write(f'{more} {total}')",
)


async def stopped_after_a_cell(settings: Settings, url: str, file: Path) -> str:
    """A thread whose first cell has read its input, and whose model then refused."""
    await asyncio.to_thread(file.write_text, "1\n2\n")
    events = await follow(start("Add", files=[str(file)], settings=with_model(settings, url)))
    return last(events, Failed).thread


def script(*more: Scripted) -> list[Scripted]:
    return [Call("submit_plan", steps=["Add"]), READ, bad_key(), *more]


def workspace(settings: Settings, thread: str) -> Path:
    return settings.home / "threads" / thread / "workspace"


def delete_input(settings: Settings, thread: str) -> None:
    (workspace(settings, thread) / "inputs" / "numbers.txt").unlink()


def delete_workspace(settings: Settings, thread: str) -> None:
    shutil.rmtree(workspace(settings, thread))


def delete_thread_folder(settings: Settings, thread: str) -> None:
    shutil.rmtree(settings.home / "threads" / thread)


def delete_threads(settings: Settings, thread: str) -> None:
    assert thread
    shutil.rmtree(settings.home / "threads")


def change_input(settings: Settings, thread: str) -> None:
    file = workspace(settings, thread) / "inputs" / "numbers.txt"
    file.chmod(0o644)
    file.write_text("5\n6\n")  # as long as before


DONE = [
    delete_thread_folder,
    change_input,
    *(pytest.param(harm, marks=pytest.mark.slow) for harm in (delete_input, delete_workspace, delete_threads)),
]


@pytest.mark.parametrize("harm", DONE)
async def test_what_was_deleted_from_outside_is_brought_back(
    tmp_path: Path, settings: Settings, harm: Callable[[Settings, str], None]
) -> None:
    file = tmp_path / "numbers.txt"
    async with ScriptedServer(script(AGAIN, *ending())) as server:
        thread = await stopped_after_a_cell(settings, server.base_url, file)
        await asyncio.to_thread(harm, settings, thread)
        events = await follow(resume(thread, settings=with_model(settings, server.base_url)))
    assert published(last(events, Finished), "sum.txt") == "3 6"
    assert any("inputs/numbers.txt" in notice.text and "brought back" in notice.text for notice in only(events, Notice))


@pytest.mark.slow
@pytest.mark.parametrize("harm", DONE)
async def test_an_input_that_cannot_be_brought_back_stops_the_thread_unless_that_is_accepted(
    tmp_path: Path, settings: Settings, harm: Callable[[Settings, str], None]
) -> None:
    file = tmp_path / "numbers.txt"
    accepted: list[Scripted] = [Call("run_python", purpose="go on", step=1, code="print(total)"), *ending()]
    async with ScriptedServer(script(*accepted)) as server:
        model = with_model(settings, server.base_url)
        thread = await stopped_after_a_cell(settings, server.base_url, file)
        await asyncio.to_thread(harm, settings, thread)
        await asyncio.to_thread(file.write_text, "7\n8\n")
        asked = len(server.requests)
        with pytest.raises(ThreadError, match="accept-changed") as stopped:
            await follow(resume(thread, settings=model))
        assert "inputs/numbers.txt" in str(stopped.value)
        assert "\n" not in str(stopped.value)
        assert len(server.requests) == asked
        events = await follow(resume(thread, settings=model, accept_changed=True))
    assert [event.number for event in only(events, CellStarted)] == [2]
    assert isinstance(events[-1], Finished)
    assert any("accepted" in notice.text for notice in only(events, Notice))


async def test_a_pipe_in_the_place_of_an_input_is_not_waited_for(tmp_path: Path, settings: Settings) -> None:
    file = tmp_path / "numbers.txt"
    async with ScriptedServer(script()) as server:
        thread = await stopped_after_a_cell(settings, server.base_url, file)
        await asyncio.to_thread(delete_input, settings, thread)
        await asyncio.to_thread(file.unlink)
        await asyncio.to_thread(os.mkfifo, file)
        resuming = asyncio.create_task(follow(resume(thread, settings=with_model(settings, server.base_url))))
        done, _ = await asyncio.wait((resuming,), timeout=60)
        if not done:  # let go of the thread that waits
            os.close(os.open(file, os.O_WRONLY | os.O_NONBLOCK))
        with pytest.raises(ThreadError, match="accept-changed"):
            await resuming
        assert done


async def test_a_fork_of_a_thread_whose_input_is_gone_says_so_before_a_cell_runs(
    tmp_path: Path, settings: Settings
) -> None:
    file = tmp_path / "numbers.txt"
    async with ScriptedServer(script(AGAIN, *ending())) as server:
        model = with_model(settings, server.base_url)
        thread = await stopped_after_a_cell(settings, server.base_url, file)
        content = await asyncio.to_thread(file.read_text)
        await asyncio.to_thread(file.unlink)
        await asyncio.to_thread(delete_input, settings, thread)
        new = await fork_thread(thread, settings=settings)
        with pytest.raises(ThreadError, match=r"numbers\.txt"):
            await follow(resume(new, settings=model))
        await asyncio.to_thread(file.write_text, content)
        events = await follow(resume(new, settings=model))
    assert published(last(events, Finished), "sum.txt") == "3 6"
