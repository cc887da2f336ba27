"""The drivers of the sandbox benchmark do what they say, those that need nothing but this Python."""

import sys
from collections.abc import AsyncIterator

import pytest

from bench.driven import Driven, Way, ours

pytestmark = pytest.mark.slow


@pytest.fixture(params=["Stepwell", "python -c"])
async def driver(request: pytest.FixtureRequest) -> AsyncIterator[Driven]:
    ways = {way.name: way for way in [*ours(), Way("python -c", "plain", sys.executable)]}
    driven = await Driven.start(ways[request.param])
    yield driven
    await driven.end()
    assert driven.process.returncode == 0


async def test_a_driver_measures(driver: Driven) -> None:
    for what in ("first", "pandas"):
        assert (await driver.ask(what))["seconds"] > 0
    cells = await driver.ask("cells", count=5)
    assert len(cells["seconds"]) == 5
    much = await driver.ask("output", megabytes=20)
    assert much["seconds"] > 0
    assert much["bytes"] < 15_000_000
    assert (await driver.ask("prints", count=1_000, limit=60.0))["seconds"] > 0
    held = await driver.ask("memory", count=1)
    assert 0 < held["unshared"] < held["each"] + 1_000_000
    assert all("failed" not in answer for answers in driver.answers.values() for answer in answers)


async def test_what_fails_is_said_and_the_driver_goes_on(driver: Driven) -> None:
    assert "TypeError" in (await driver.ask("cells", wrong=1))["failed"]
    assert (await driver.ask("first"))["seconds"] > 0


async def test_a_killed_session_is_brought_back_from_its_snapshot() -> None:
    driven = await Driven.start(next(way for way in ours() if way.arguments == ("--keeps",)))
    try:
        back = await driven.ask("recover")
    finally:
        await driven.end()
    assert (back["kept"], back["how"]) == (True, "snapshot")


async def test_a_driver_that_has_ended_or_does_not_answer_costs_only_its_own_numbers() -> None:
    driven = await Driven.start(Way("python -c", "plain", sys.executable))
    assert (await driven.ask("prints", count=10**9, limit=-13.0)) == {"late": True}
    assert (await driven.ask("first")) == {"failed": "its driver has ended"}
    await driven.end()
