"""A clock that steps, in either direction, changes nothing: the newest step is the one that was made last."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import id as naming
from langgraph.checkpoint.base.id import uuid6

from graph.checkpoints.factory import open_checkpoints
from graph.checkpoints.order import NEWEST_NAMED, advance_ids_past, time_made, time_named
from graph.checkpoints.step_tree import step_tree, step_tree_from_states
from graph.settings import Settings
from tests.integration.test_command import Desk, make_desk
from tests.integration.test_savers import Thread

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("postgres"), pytest.mark.timeout(300)]
YEARS = 5 * 365 * 86_400.0


@contextmanager
def other_process(ahead: float = 0.0) -> Iterator[None]:
    """What a new process knows of the names of checkpoints: nothing; or that of one whose clock is ahead."""
    before = getattr(naming, NEWEST_NAMED)
    setattr(naming, NEWEST_NAMED, None)
    if ahead:
        later = uuid6().time + int(ahead * 1e7)
        setattr(naming, NEWEST_NAMED, later)
    try:
        yield
    finally:
        setattr(naming, NEWEST_NAMED, before)


async def test_a_thread_goes_on_after_the_clock_was_set_back(store: Settings) -> None:
    id = str(uuid.uuid4())
    for text, ahead in (("one", 0.0), ("two", YEARS), ("three", 0.0), ("four", 0.0)):
        with other_process(ahead):
            async with open_checkpoints(store) as saver:
                thread = Thread(saver, id)
                await thread.say(text)
                assert (await thread.texts())[-2] == text
    async with open_checkpoints(store) as saver:
        thread = Thread(saver, id)
        assert await thread.cells() == [1, 2, 3, 4]
        rows = await saver.checkpoint_rows(id)
        assert [row.parent for row in rows] == ["", *(row.id for row in rows[:-1])]
        tree = await step_tree(saver, id)
        assert [step.name for step in tree.steps] == ["1", "2", "3", "4"]
        assert tree.head == tree.named("4")
        now = datetime.now(UTC)
        assert all(step.when and abs(now - step.when) < timedelta(hours=1) for step in tree.steps)
        await saver.aprune([id])
        assert (await thread.texts())[::2] == ["one", "two", "three", "four"]


async def test_the_newest_thread_is_the_one_that_was_begun_last(store: Settings) -> None:
    for name, ahead in (("first", YEARS), ("second", 0.0)):
        with other_process(ahead):
            async with open_checkpoints(store) as saver:
                await Thread(saver, name).say("one")
    async with open_checkpoints(store) as saver:
        assert [head.thread for head in await saver.newest_threads(limit=2)] == ["second", "first"]


async def test_time_travel_after_the_clock_was_set_back_is_the_newest_branch(store: Settings) -> None:
    with other_process(YEARS):
        async with open_checkpoints(store) as saver:
            thread = Thread(saver)
            await thread.say("one")
            there = await thread.graph.aget_state(thread.config())
            await thread.say("two")
    with other_process():
        async with open_checkpoints(store) as saver:
            thread = Thread(saver, thread.id)
            given: Any = {"question": "on the branch"}
            await thread.graph.aupdate_state(there.config, given, as_node="ask")
            assert (await thread.graph.aget_state(thread.config())).values["question"] == "on the branch"


def test_a_tree_is_read_whose_checkpoints_are_out_of_order() -> None:
    """As an earlier version left it: the parents' names are above their children's."""
    cells = [{"number": number, "code": str(number), "status": "ok"} for number in (1, 2, 3)]
    states: list[Any] = [
        ("9", "", {"cells": []}),
        ("8", "9", {"cells": cells[:1]}),
        ("3", "8", {"cells": cells[:2]}),
        ("2", "3", {"cells": cells[:3]}),
    ]
    tree = step_tree_from_states(states)
    assert [step.name for step in tree.steps] == ["1", "2", "3"]


def test_names_go_on_after_the_newest_and_not_after_garbage() -> None:
    with other_process(YEARS):
        future = str(uuid6())
    with other_process():
        advance_ids_past("no name")
        advance_ids_past("ffffffff-ffff-6fff-bfff-ffffffffffff")
        assert str(uuid6()) < future
        advance_ids_past(future)
        assert str(uuid6()) > future
    made = time_named(future)
    assert made is not None
    assert made > datetime.now(UTC) + timedelta(days=1_000)
    assert time_made(future) == made
    assert time_made(future, "2026-01-01T00:00:00+00:00") == datetime(2026, 1, 1, tzinfo=UTC)
    assert time_made("no name") is None


def desk_at(desk: Desk, ahead: float) -> Desk:
    paths = f"{Path(__file__).parents[2]}{os.pathsep}{Path(__file__).parents[1] / 'clocks'}"
    return Desk(desk.folder, desk.home, {"PYTHONPATH": paths, "SHIFTED_SECONDS": str(ahead)})


def test_commands_find_what_they_did_when_the_clock_steps_between_them(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    ahead, now = desk_at(desk, YEARS), desk_at(desk, 0.0)
    first = ahead.events("run", "Which region sells most?", "sales.csv")[-1]
    assert first["event"] == "finished"
    second = now.events("ask", "last", "And which month?")[-1]
    assert second["event"] == "finished"
    assert int(str(second["cells"])) > int(str(first["cells"]))
    steps = now.events("log", "last")
    assert [step["number"] for step in steps] == list(range(1, int(str(second["cells"])) + 1))
    for words in (("show", "last@1"), ("fork", "last@2"), ("diff", "last@1", "last@2"), ("threads",)):
        done = now.command(*words)
        assert done.returncode == 0, done.stderr
