"""Random sessions: whatever a namespace holds and shares, restored it is what the live one is."""

import os
import random

import pytest

from tests.contract.conftest import Steps
from tests.contract.random_sessions import DESCRIBE, START, cell

SESSIONS = int(os.environ.get("STEPS_SESSIONS", "4"))
ROUNDS = 8
LINES = 16


@pytest.mark.parametrize("seed", range(SESSIONS))
async def test_a_restored_session_is_the_live_one(steps: Steps, seed: int) -> None:
    """Both describe themselves in the same words: after the snapshot, and once more after the same changes to both.

    Values, which names are one object, which arrays share memory, and what functions return.
    """
    rng = random.Random(seed)
    await steps.run(START)
    for round in range(ROUNDS):
        await steps.run(cell(rng, LINES))
        taken = await steps.keep()
        assert taken.lost == ()
        if round % 2 and round != ROUNDS - 1:
            continue  # its blobs are what later snapshots build upon
        live, more = steps.sandbox, cell(rng, LINES)
        before = await steps.run(DESCRIBE)
        number = steps.number
        await steps.run(more)
        after = await steps.run(DESCRIBE)
        await steps.take_up_at(taken.id)
        steps.number = number
        assert await steps.run(DESCRIBE) == before
        await steps.run(more)
        assert await steps.run(DESCRIBE) == after, more
        if rng.random() < 0.5:
            await live.close()  # go on with the restored one
        else:
            await steps.sandbox.close()
            steps.sandbox = live
