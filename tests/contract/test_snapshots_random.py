"""Random sessions: whatever a namespace holds and shares, restored it is what the live one is.

`STEPS_SESSIONS=500` makes many more (half as many in Daytona); a session that fails is made as small as it gets.
"""

import asyncio
import os
import tempfile
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as some

from sandboxes.daytona.options import Options
from tests.contract.conftest import Steps, steps_elsewhere, steps_here
from tests.contract.random_sessions import DESCRIBE, START, Round, statements
from tests.daytona.emulator import Emulator

pytestmark = pytest.mark.slow

ASKED = "STEPS_SESSIONS" in os.environ
SESSIONS = int(os.environ.get("STEPS_SESSIONS", "6"))


@dataclass(frozen=True)
class Session:
    """Rounds of changes, each with a snapshot; after some of them it is restored in a new process."""

    rounds: list[Round]

    def __repr__(self) -> str:
        shown = (f"# restored: {one.restored}\n{one.before}\n# to both:\n{one.after}" for one in self.rounds)
        return "\n".join(["Session:", *shown])


rounds = some.builds(
    Round,
    before=some.lists(statements(), min_size=1, max_size=24).map("\n".join),
    after=some.lists(statements(), max_size=12).map("\n".join),
    restored=some.booleans(),
    goes_on=some.booleans(),
)
sessions = some.builds(Session, some.lists(rounds, min_size=1, max_size=6))


Test = Callable[..., None]


def tried(examples: int) -> Callable[[Test], Test]:
    """Have a test try random sessions; the short form tries the same ones each time."""
    how = settings(
        max_examples=examples,
        deadline=None,
        derandomize=not ASKED,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    limit = pytest.mark.timeout(0 if ASKED else 180)
    return lambda test: limit(how(given(session=sessions)(test)))


@tried(SESSIONS)
def test_a_restored_session_is_the_live_one(session: Session, cache: Path) -> None:
    """Both describe themselves in the same words: after the snapshot, and once more after the same changes to both.

    Values, which names are one object, which arrays share memory, and what functions return.
    """
    with tempfile.TemporaryDirectory(prefix="stepwell-random-") as folder:
        asyncio.run(_compare(session, steps_here(Path(folder), cache)))


@tried(max(1, SESSIONS // 2))
def test_so_it_is_in_daytona(session: Session, in_daytona: Options, emulated: Emulator) -> None:
    with tempfile.TemporaryDirectory(prefix="stepwell-random-") as folder:
        asyncio.run(_compare(session, steps_elsewhere(Path(folder), in_daytona, emulated)))


async def _compare(session: Session, begun: AbstractAsyncContextManager[Steps]) -> None:
    async with begun as steps:
        await steps.run(START)
        for number, round in enumerate(session.rounds):
            await steps.run(round.before)
            taken = await steps.keep()
            assert taken.lost == ()
            if not round.restored and number < len(session.rounds) - 1:
                continue  # its blobs are what later snapshots build upon
            live = steps.sandbox
            before = await steps.run(DESCRIBE)
            cell = steps.number
            await steps.run(round.after)
            after = await steps.run(DESCRIBE)
            await steps.take_up_at(taken.id)
            steps.number = cell
            assert await steps.run(DESCRIBE) == before
            await steps.run(round.after)
            assert await steps.run(DESCRIBE) == after
            if round.goes_on:
                await live.close()
            else:
                await steps.sandbox.close()
                steps.sandbox = live
