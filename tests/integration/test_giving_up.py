"""Steps give up their snapshots by rules: the tree says so, what is kept stays whole, and what can be had again is."""

import os
import time
import uuid

import pytest

import stepwell
from graph.checkpoints.factory import open_checkpoints
from graph.checkpoints.given_up import GivenUp
from graph.checkpoints.thread_lock import hold_thread
from graph.events import CellFinished, Event, SessionRestored
from graph.settings import Settings, SettingsError
from graph.wiring import make_blobs
from nodes.restoration.manifests import blobs_of
from stepwell.cleanup import SWEEP, Swept, gc
from stepwell.errors import ThreadError
from stepwell.forks import fork_here, fork_thread
from stepwell.replays import ReplayEnd, replay
from stepwell.retention import Rules
from stepwell.runs import Run
from stepwell.services import open_services
from stepwell.step_detail import show_step
from stepwell.steps import read_log
from stepwell.thread_sizes import thread_sizes
from tests.analyses import follow, only

LAST = Rules(keep_last=1)
BIG = "import numpy as np\nbig = np.random.default_rng({}).random(50_000)"


def make_old(settings: Settings, seconds: float = 7_200.0) -> None:
    """Age all blobs beyond the grace period."""
    then = time.time() - seconds
    for file in (settings.home / "blobs").glob("??/*"):
        os.utime(file, (then, then))


async def run_cells(settings: Settings, *cells: str, thread: str = "", **more: object) -> str:
    """Run cells of the user's own, one turn each, each with a session of its own."""
    thread = thread or str(uuid.uuid4())
    for code in cells:
        events = await follow(Run(thread, code=code, settings=settings, **more))  # type: ignore[arg-type]
        assert [event.cell["status"] for event in only(events, CellFinished)] == ["ok"], events
    return thread


async def next_cell(settings: Settings, thread: str, code: str) -> list[Event]:
    """Run a cell that must end well."""
    events = await follow(Run(thread, code=code, settings=settings))
    assert [event.cell["status"] for event in only(events, CellFinished)] == ["ok"], events
    return events


async def swept_last(settings: Settings, rules: Rules = LAST) -> Swept:
    """All but the last step of each branch give up their snapshots."""
    make_old(settings)
    return await gc(rules=rules, settings=settings)


async def gone_steps(settings: Settings, thread: str) -> list[str]:
    _, tree = await read_log(thread, settings)
    return [step.name for step in tree.steps if step.given_up is not None]


async def check_whole(settings: Settings) -> None:
    """Every stored snapshot that a thread needs has all its blobs, and every other that a thread names was given up."""
    folder = settings.home / "blobs"
    blobs = make_blobs(settings)
    async with open_checkpoints(settings) as saver:
        for head in await saver.newest_threads(limit=100):
            given = await saver.given_up(head.thread)
            _, tree = await read_log(head.thread, settings)
            for step in tree.steps:
                snapshot = step.cell.get("snapshot", "") if step.cell is not None else ""
                if not snapshot or snapshot in given:
                    continue
                names = blobs_of(await blobs.read(snapshot, max_bytes=1 << 26))
                assert all((folder / name[:2] / name).exists() for name in names), (step.name, head.thread)


async def test_old_steps_go_are_said_and_come_back_by_running_cells(settings: Settings) -> None:
    thread = await run_cells(settings, "x = [1]\n" + BIG.format(1), "x.append(2)\n" + BIG.format(2), "x.append(3)")
    counted = await gc(rules=LAST, dry_run=True, settings=settings)
    assert (counted.given_up, counted.young, counted.removed) == (0, 2, 0)  # within the grace period
    make_old(settings)
    counted = await gc(rules=LAST, dry_run=True, settings=settings)
    assert await gone_steps(settings, thread) == []
    swept = await gc(rules=LAST, settings=settings)
    assert swept == counted
    assert (swept.given_up, swept.rules[0].steps, swept.rules[0].rule) == (2, 2, "keep last 1")
    assert 300_000 < swept.rules[0].bytes <= swept.removed_bytes
    assert await gone_steps(settings, thread) == ["1", "2"]
    await check_whole(settings)
    shown = await show_step(f"{thread}@2", settings)
    assert shown.comes_back.startswith("The snapshot of step 2 was given up on 20")
    assert shown.comes_back.endswith("to make room (keep last 1); cells 1 and 2 run again from the beginning.")
    assert shown.as_json()["given_up"]["rule"] == "keep last 1"
    async with stepwell.at(f"{thread}@2", settings=settings) as session:
        assert (await session.run("print(x, big.sum() > 0)")).stdout.head == "[1, 2] True\n"
        assert session.receipt.given_up.startswith("The snapshot of step 2 was given up on")
        assert session.receipt.cells == 2
        assert session.receipt.problems == []
    events = await next_cell(settings, thread, "assert x == [1, 2, 3]")
    assert only(events, SessionRestored)[0].cells == 0


@pytest.mark.slow
async def test_a_step_that_cannot_be_had_as_it_was_is_refused_in_one_sentence(settings: Settings) -> None:
    settings = settings.model_copy(update={"isolation": "process"})  # a cell can reach outside
    reaches = "import subprocess\nsubprocess.run(['true'])\nx = 2"
    thread = await run_cells(settings, "x = 1", reaches, "x = 3", "x = 4")
    await swept_last(settings)
    sentence = (
        r"Step 3 of thread \S+: The snapshot of step 3 was given up on \S+ to make room \(keep last 1\), and it cannot "
        r"be had as it was, since cell 2 had reached outside of the sandbox \(.+\) and is not run again; the nearest "
        r"earlier step that can be had is 1\."
    )
    with pytest.raises(ThreadError, match=sentence):
        async with stepwell.at(f"{thread}@3", settings=settings):
            raise AssertionError("not reached")
    for fork in (fork_thread, fork_here):
        with pytest.raises(ThreadError, match=sentence):
            await fork(thread, step=3, settings=settings)
    new = await fork_thread(thread, step=1, new_turn=True, settings=settings)
    await next_cell(settings, new, "assert x == 1")


@pytest.mark.slow
async def test_a_cell_that_reads_a_step_which_is_gone_is_told_which_can_be_read(settings: Settings) -> None:
    thread = await run_cells(settings, "x = 1", "x = 2", "x = 3", "x = 4", "x = 5")
    await swept_last(settings, Rules(keep_last=2))
    code = "try:\n    steps[2]['x']\nexcept KeyError as error:\n    print(error)\nprint(steps[5]['x'])"
    cell = only(await next_cell(settings, thread, code), CellFinished)[0].cell
    assert "The snapshot of step 2 was given up on" in cell["observation"]
    assert "to make room (keep last 2); the nearest that can be read is 4." in cell["observation"]
    assert cell["observation"].rstrip().endswith("5")


@pytest.mark.slow
async def test_a_fork_keeps_what_it_stands_on(settings: Settings) -> None:
    thread = await run_cells(settings, BIG.format(1), BIG.format(2), BIG.format(3))
    fork = await fork_thread(thread, step=2, new_turn=True, settings=settings)
    swept = await swept_last(settings)
    assert swept.given_up == 3  # steps 1 and 2 of the thread, step 1 of the fork
    assert await gone_steps(settings, thread) == ["1", "2"]
    assert await gone_steps(settings, fork) == ["1"]
    await check_whole(settings)
    events = await next_cell(settings, fork, "assert (big == np.random.default_rng(2).random(50_000)).all()")
    assert only(events, SessionRestored)[0].cells == 0
    later = await fork_thread(thread, step=3, new_turn=True, settings=settings)
    assert await gone_steps(settings, later) == ["1", "2"]
    await next_cell(settings, later, "assert (big == np.random.default_rng(3).random(50_000)).all()")


async def test_a_fork_shares_what_it_has_not_changed(settings: Settings) -> None:
    thread = await run_cells(settings, BIG.format(1))
    only_one = (await thread_sizes([thread], settings))[thread]
    assert only_one.alone > 300_000
    assert only_one.shared == 0
    fork = await fork_thread(thread, new_turn=True, settings=settings)
    await next_cell(settings, fork, BIG.format(2))
    sizes = await thread_sizes([thread, fork], settings)
    assert sizes[thread].alone == 0
    assert sizes[thread].shared == sizes[fork].shared == only_one.alone
    assert sizes[fork].alone > 300_000
    swept = await gc(settings=settings, dry_run=True)
    assert swept.kept_bytes == sizes[fork].alone + sizes[fork].shared


@pytest.mark.slow
async def test_a_step_that_is_made_once_more_is_kept_again(settings: Settings) -> None:
    thread = await run_cells(settings, "x = 1", "x = 2", "x = 3")
    await swept_last(settings)
    await fork_here(thread, step=1, new_turn=True, settings=settings)
    await next_cell(settings, thread, "x = 2")
    _, tree = await read_log(thread, settings)
    assert tree.head is not None
    assert tree.head.given_up is None
    events = await next_cell(settings, thread, "assert x == 2")
    assert only(events, SessionRestored)[0].cells == 0
    await check_whole(settings)


async def test_what_a_live_session_wrote_before_is_written_again(settings: Settings) -> None:
    """The session had the first array stored; it is gone from the store when a later cell makes it again."""
    async with open_services(settings) as services:
        thread = await run_cells(settings, BIG.format(1), BIG.format(2), services=services)
        await swept_last(settings)
        await run_cells(settings, BIG.format(1), thread=thread, services=services)
        await check_whole(settings)
    events = await next_cell(settings, thread, "assert (big == np.random.default_rng(1).random(50_000)).all()")
    assert only(events, SessionRestored)[0].cells == 0


@pytest.mark.slow
async def test_a_thread_that_somebody_works_on_keeps_its_snapshots(settings: Settings) -> None:
    busy, idle = [await run_cells(settings, f"x = {n}", "y = 1", "z = 1") for n in (1, 2)]
    make_old(settings)
    async with hold_thread(busy, settings, patience=0):
        swept = await gc(rules=LAST, settings=settings)
    assert (swept.given_up, swept.busy) == (2, 1)
    assert [await gone_steps(settings, one) for one in (busy, idle)] == [[], ["1", "2"]]
    await check_whole(settings)


@pytest.mark.slow
async def test_what_a_generator_needs_is_run_again(settings: Settings) -> None:
    thread = await run_cells(settings, "data = [1, 2, 3]", "it = (one for one in data)", "first = next(it)", "x = 1")
    swept = await swept_last(settings)
    assert (swept.given_up, swept.busy) == (0, 1)  # its session may still live
    _, tree = await read_log(thread, settings)
    gone = [step.cell.get("snapshot", "") for step in tree.steps[:3] if step.cell is not None]
    async with open_checkpoints(settings) as saver:
        await saver.give_up(thread, dict.fromkeys(gone, GivenUp.now("keep last 1")))
    assert (await gc(settings=settings)).removed >= 3
    events = await next_cell(settings, thread, "assert (first, next(it)) == (1, 2)")
    assert only(events, SessionRestored)[0].rebuilt == ["it (from cells 1, 2 and 3)"]


async def test_a_replay_says_which_files_it_has_nothing_to_compare_with(settings: Settings) -> None:
    write = "open('outputs/a.txt', 'w').write('1')"
    thread = await run_cells(settings, write, "x = 1")
    await swept_last(settings)
    parts = [part async for part in replay(thread, settings, variables=True)]
    assert isinstance(end := parts[-1], ReplayEnd)
    assert end.same
    assert len(end.notes) == 1
    assert end.notes[0].startswith("Files of these cells were not compared, since their snapshots were given up on")


@pytest.mark.slow
async def test_a_budget_takes_the_oldest_of_all_threads_and_says_what_it_cannot(settings: Settings) -> None:
    first = await run_cells(settings, BIG.format(1), BIG.format(2), "x = 1")
    second = await run_cells(settings, BIG.format(3), BIG.format(4), "x = 1")
    make_old(settings)
    total = (await gc(dry_run=True, settings=settings)).kept_bytes
    swept = await gc(rules=Rules(budget=f"{total - 100_000}B"), settings=settings)
    assert (swept.given_up, swept.over_budget) == (1, 0)
    assert swept.kept_bytes <= total - 100_000
    assert [await gone_steps(settings, one) for one in (first, second)] == [["1"], []]
    swept = await gc(rules=Rules(budget="1B"), settings=settings)
    assert swept.over_budget == swept.kept_bytes - 1
    assert [await gone_steps(settings, one) for one in (first, second)] == [["1", "2"], ["1", "2"]]
    await check_whole(settings)


async def test_only_one_makes_room_at_a_time(settings: Settings) -> None:
    await run_cells(settings, "x = 1")
    async with hold_thread(SWEEP, settings, patience=0):
        with pytest.raises(SettingsError, match="makes room right now"):
            await gc(settings=settings)
        await gc(dry_run=True, settings=settings)


async def test_deleting_a_thread_takes_what_it_gave_up_along(settings: Settings) -> None:
    thread = await run_cells(settings, "x = 1")
    async with open_checkpoints(settings) as saver:
        await saver.give_up(thread, {"0" * 64: GivenUp.now("keep last 1")})
        assert list(await saver.all_given_up()) == [thread]
    await stepwell.delete(thread, settings=settings)
    async with open_checkpoints(settings) as saver:
        assert await saver.all_given_up() == {}
