"""Sessions of hard objects that were restored are kept and restored again: nothing more is lost by that."""

import pytest

from tests.contract.conftest import Steps
from tests.contract.hard_objects.sessions import SESSIONS
from tests.contract.test_snapshots_hard_objects import answers, differing, kept, last_words

PARTS = 3
TIMES = 2
SELDOM = (
    "enumerations whose members have attributes",
    "enumerations of all makes",
    "database frames in chunks, upserts and memory-mapped arrays",
    "sequences of duckdb that go round or down, and macros of a connection",
)
"""Sessions that came back once and not twice, and run each time."""


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*list(SESSIONS)[1::PARTS], *SELDOM}))
@pytest.mark.parametrize("steps", ["local"], indirect=True)
async def test_what_was_restored_is_kept_again(steps: Steps, name: str) -> None:
    hard = SESSIONS[name]
    taken = await kept(steps, hard)
    alive = await answers(steps, hard.probes)
    restored = await steps.take_up_at(taken.id)
    named = {one.name for one in restored.lost}
    for _ in range(TIMES):
        await steps.run("pass")
        taken = await steps.keep()
        lost = {one.name for one in (await steps.take_up_at(taken.id)).lost}
        assert lost <= named | {*hard.named}, "more is lost than at first"
    differ = differing(hard, alive, await answers(steps, hard.probes), last_words(named))
    assert {probe for probe in differ if probe not in hard.known} == set()
