"""One writer a thread, in one process and between several; who comes late waits, gives up, or is cancelled."""

import asyncio
import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import StateUpdate

from graph.checkpoints.thread_lock import (
    PROCESS_ID,
    ThreadHeldError,
    ThreadHold,
    any_thread_held,
    forget_lock,
    hold_thread,
)
from graph.locked_graph import LockedGraph
from graph.settings import Settings, SettingsError
from graph.state import State
from graph.wiring import make_sandboxes
from tests.other_process import ROOT

HOLD = """
import asyncio, sys
from graph.settings import Settings
from graph.checkpoints.thread_lock import hold_thread
async def main():
    async with hold_thread("t", Settings(), patience=1.0) as hold:
        print(hold.taken_over, flush=True)
        sys.stdin.readline()
asyncio.run(main())
"""


def another_process(settings: Settings) -> "subprocess.Popen[str]":
    """A process that holds the thread `t` until it is told to end; returns when it does."""
    environment = {"STEPWELL_HOME": str(settings.home), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() in ("True", "False")
    return process


async def test_the_second_gives_up_or_waits_until_the_first_is_done(settings: Settings) -> None:
    async with hold_thread("t", settings, patience=0.1):
        with pytest.raises(ThreadHeldError, match="is being worked on by another process"):
            async with hold_thread("t", settings, patience=0.1):
                raise AssertionError("two at once")
        async with hold_thread("another", settings, patience=0.1):
            waiting = asyncio.create_task(enter(settings))
            await asyncio.sleep(0.2)
            assert not waiting.done()
        assert await asyncio.to_thread(any_thread_held, settings.home)
    assert await waiting
    assert not await asyncio.to_thread(any_thread_held, settings.home)


async def enter(settings: Settings) -> bool:
    async with hold_thread("t", settings, patience=30):
        return True


async def test_who_is_cancelled_while_he_waits_takes_nothing_with_him(settings: Settings) -> None:
    async with hold_thread("t", settings, patience=0.1):
        for pause in (0.0, 0.01, 0.05):
            waiting = asyncio.create_task(enter(settings))
            await asyncio.sleep(pause)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
    assert await enter(settings)


async def test_a_process_knows_whether_another_one_has_held_the_thread_since(settings: Settings) -> None:
    for expected in (False, False):
        async with hold_thread("t", settings, patience=1) as hold:
            assert hold.taken_over is expected
    other = await asyncio.to_thread(another_process, settings)
    with pytest.raises(ThreadHeldError):
        async with hold_thread("t", settings, patience=0.1):
            raise AssertionError("two at once")
    other.kill()  # whoever is killed holds nothing
    await asyncio.to_thread(other.communicate)
    for expected in (True, False):
        async with hold_thread("t", settings, patience=1) as hold:
            assert hold.taken_over is expected
    await asyncio.to_thread(forget_lock, "t", settings.home)
    assert await asyncio.to_thread(lambda: list((settings.home / "locks").iterdir())) == []


async def test_a_folder_that_cannot_be_written_is_one_sentence(settings: Settings) -> None:
    await asyncio.to_thread(settings.home.parent.mkdir, parents=True, exist_ok=True)
    await asyncio.to_thread(settings.home.write_text, "a file")
    with pytest.raises(SettingsError, match="STEPWELL_HOME"):
        async with hold_thread("t", settings, patience=0.1):
            raise AssertionError("it was held")


async def test_a_stream_that_breaks_off_when_the_hold_is_lost_ends_its_source(settings: Settings) -> None:
    ended = asyncio.Event()

    async def source() -> Any:
        try:
            yield 1
            await asyncio.sleep(60)
        finally:
            ended.set()

    lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    guarded = ThreadHold("t", lost=lost).guarded(source())
    assert await anext(guarded) == 1
    lost.set_result(None)
    with pytest.raises(ThreadHeldError, match="was lost; resume the thread"):
        await anext(guarded)
    assert ended.is_set()
    assert [part async for part in ThreadHold("t").guarded(count())] == [0, 1, 2]


async def test_nobody_else_gets_the_thread_while_a_run_that_is_cancelled_twice_still_ends(settings: Settings) -> None:
    begun, cancels, over = asyncio.Event(), 0, False

    async def source() -> Any:
        nonlocal cancels, over
        begun.set()
        until = asyncio.get_running_loop().time() + 60
        while asyncio.get_running_loop().time() < until:
            try:
                await asyncio.sleep(0.05 if cancels else 60)
                break
            except asyncio.CancelledError:
                cancels += 1
        over = True
        yield 1

    async def run() -> None:
        async with hold_thread("t", settings, patience=0) as hold:
            async for _ in hold.guarded(source()):
                pass

    running = asyncio.create_task(run())
    await begun.wait()
    running.cancel()
    while not cancels:
        await asyncio.sleep(0.001)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert over


async def count() -> Any:
    for number in range(3):
        yield number


@pytest.mark.slow
async def test_runs_of_one_thread_go_one_after_the_other_whatever_the_server_enforces(settings: Settings) -> None:
    running, most = 0, 0

    async def work(state: Any) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.05)
        running -= 1
        return {"question": f"{state.get('question', '')}x"}

    builder: StateGraph[Any, Any, Any, Any] = StateGraph(State)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    builder.add_edge("work", END)
    async with make_sandboxes(settings) as sandboxes:
        compiled: Any = builder.compile(checkpointer=InMemorySaver(), name="stepwell")
        graph: Any = LockedGraph.around(compiled, settings, sandboxes)
        config = {"configurable": {"thread_id": "t"}}
        given: dict[str, Any] = {"files": []}
        await asyncio.gather(*(graph.copy().ainvoke(given, config) for _ in range(4)))
        assert (most, (await graph.aget_state(config)).values["question"]) == (1, "xxxx")
        await graph.aupdate_state(config, {"question": "edited"})
        assert (await graph.aget_state(config)).values["question"] == "edited"
        other = await asyncio.to_thread(another_process, settings)
        try:
            with pytest.raises(ThreadHeldError):
                await graph.aupdate_state(config, {"question": "edited again"})
            with pytest.raises(ThreadHeldError):
                await graph.abulk_update_state(config, [[StateUpdate({"question": "edited in bulk"}, "work")]])
        finally:
            other.kill()
            await asyncio.to_thread(other.communicate)


async def opened_by_a_reader(pipe: Path) -> int:
    """Open a pipe for writing, as soon as somebody reads it."""
    while True:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            await asyncio.sleep(0.01)


async def test_who_is_cancelled_between_the_lock_and_its_note_holds_nothing(settings: Settings) -> None:
    note = settings.home / "locks" / "t.holder"
    await asyncio.to_thread(note.parent.mkdir, parents=True)
    await asyncio.to_thread(os.mkfifo, note)  # reading it waits for who writes
    entering = asyncio.create_task(enter(settings))
    while not await asyncio.to_thread(any_thread_held, settings.home):
        await asyncio.sleep(0.01)
    writing = await opened_by_a_reader(note)
    entering.cancel()
    await asyncio.sleep(0.05)
    os.write(writing, PROCESS_ID.encode())
    os.close(writing)
    with pytest.raises(asyncio.CancelledError) as cancelled:
        await entering
    await asyncio.to_thread(note.unlink)
    async with hold_thread("t", settings, patience=5):
        assert cancelled.value  # kept, as whoever looks at a failed run may
