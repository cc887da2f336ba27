"""Whatever was done to a thread: rolling back, copying and pruning lose nothing that is still there to be read."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from graph.checkpoints.factory import open_checkpoints
from graph.checkpoints.saver import Saver
from graph.settings import Settings
from graph.state import SNAPSHOT_EVERY
from tests.unit.delta_histories import History, Move
from tests.unit.test_delta_channels import EXAMPLES, moves

slowly = settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


@asynccontextmanager
async def opened() -> AsyncIterator[Saver]:
    folder = await asyncio.to_thread(tempfile.TemporaryDirectory, prefix="stepwell-forgetting-")
    try:
        kept = await asyncio.to_thread(lambda: Settings(home=Path(folder.name)))
        async with open_checkpoints(kept) as saver:
            yield saver
    finally:
        await asyncio.to_thread(folder.cleanup)


async def head_of(history: History) -> object:
    state = await history.graph.aget_state(history.config)
    return {**state.values, "messages": [message.content for message in state.values.get("messages") or []]}, state.next


frequencies = some.sampled_from((1, 2, 5, SNAPSHOT_EVERY))
histories = some.lists(moves, min_size=1, max_size=6)


@pytest.mark.slow
@slowly
@given(every=frequencies, made=histories, last=moves)
async def test_a_run_that_is_rolled_back_has_never_been(every: int, made: list[Move], last: Move) -> None:
    async with opened() as saver:
        history = History(saver, every)
        for move in made:
            await history.do(move)
        before = await history.described()
        history.config = {**history.config, "metadata": {"run_id": "the last"}}
        if last.kind in ("ask", "break", "go_on", "resume"):
            await history.do(last)
        await saver.adelete_for_runs(["the last"])
        history.config = {"configurable": {"thread_id": "t"}}
        assert await history.described() == before


@slowly
@given(every=frequencies, made=histories, more=some.lists(moves, min_size=1, max_size=2))
async def test_a_thread_goes_on_after_pruning_as_it_would_have_without(
    every: int, made: list[Move], more: list[Move]
) -> None:
    async with opened() as saver:
        pruned, whole = History(saver, every), History(saver, every)
        whole.config = {"configurable": {"thread_id": "copy"}}
        for move in made:
            await pruned.do(move)
        await saver.acopy_thread("t", "copy")
        before = await head_of(pruned)
        await saver.aprune(["t"], strategy="keep_latest")
        assert await head_of(pruned) == before == await head_of(whole)
        assert len(await saver.checkpoint_rows("t")) <= len(await saver.checkpoint_rows("copy"))
        for move in more:
            if move.kind in ("ask", "break", "go_on", "resume"):
                assert await pruned.do(move) == await whole.do(move)
                assert await head_of(pruned) == await head_of(whole)
