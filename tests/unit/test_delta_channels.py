"""Whatever is done to a thread, State's delta channels give what plain reducers give, at every checkpoint."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as some
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from graph.checkpoints.factory import open_checkpoints
from graph.settings import Settings
from graph.state import SNAPSHOT_EVERY, State
from tests.unit.delta_histories import Durability, History, Move, delta_channels, schema_of

pytestmark = pytest.mark.slow

EXAMPLES = int(os.environ.get("DELTA_EXAMPLES", "25"))
DURABILITIES: tuple[Durability, ...] = ("sync", "async", "exit")
FREQUENCIES = (1, 2, 5, SNAPSHOT_EVERY)

moves = some.builds(
    Move,
    kind=some.sampled_from(
        ["ask", "ask", "go_on", "resume", "break", "replay", "replay", "ask_there", "edit", "edit_as", "edit_as"]
    ),
    durability=some.sampled_from(DURABILITIES),
    at=some.integers(0, 30),
    text=some.sampled_from(["a", "bc", "d?", "def"]),
    update=some.integers(0, 8),
    node=some.sampled_from(["__start__", "plan", "generate", "approve", "execute", "upload"]),
)


@asynccontextmanager
async def saver_of(kind: str) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    if kind == "memory":
        yield InMemorySaver()
        return
    folder = await asyncio.to_thread(tempfile.TemporaryDirectory, prefix="stepwell-delta-")
    try:
        kept = await asyncio.to_thread(lambda: Settings(home=Path(folder.name)))
        async with open_checkpoints(kept) as saver:
            yield saver
    finally:
        await asyncio.to_thread(folder.cleanup)


async def follow(kind: str, every: int, made: list[Move]) -> None:
    async with saver_of(kind) as first, saver_of(kind) as second:
        delta, plain = History(first, every), History(second, None)
        for number, move in enumerate(made):
            assert await delta.do(move) == await plain.do(move), (number, move)
            assert await delta.described() == await plain.described(), (number, move)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="DELTA_EXAMPLES" not in os.environ,
    database=None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(every=some.sampled_from(FREQUENCIES), made=some.lists(moves, min_size=1, max_size=9))
@example(  # two branches from one checkpoint, both gone on with, then a question at the point where they part
    every=SNAPSHOT_EVERY,
    made=[
        Move("ask"),
        Move("edit_as", at=3, update=2, node="generate"),
        Move("go_on", durability="exit"),
        Move("edit_as", at=8, update=1, node="execute"),
        Move("go_on", durability="async"),
        Move("ask_there", at=12, text="def"),
        Move("replay", at=4),
    ],
)
def test_delta_channels_are_plain_reducers(kind: str, every: int, made: list[Move]) -> None:
    asyncio.run(follow(kind, every, made))


def test_every_growing_channel_of_state_is_compared() -> None:
    assert delta_channels() == {"messages", "turns", "inputs", "cells", "namespace", "proofs", "ui"}
    assert set(schema_of(None).__annotations__) == set(State.__annotations__)
