"""A few random programs, restored at random steps and running on, say what they would have said without it.

`python -m tests.random_programs --programs 1000` runs many more.
"""

from pathlib import Path

import pytest

from tests.random_programs.running import try_session
from tests.random_programs.writing import FEATURES, write_session

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


async def test_restored_programs_run_on_as_they_would_have(cache: Path) -> None:
    report = await try_session("suite", cache, programs=12, restores=2)
    assert [str(one) for one in report.differences] == []
    assert report.answers > 100


def test_programs_are_the_same_for_the_same_seed_and_have_everything_in_them() -> None:
    first, second = write_session("one", 100, 6), write_session("one", 100, 6)
    assert first.cells == second.cells
    assert {thing.feature.name for thing in first.things} >= {feature.name for feature in FEATURES}
    assert not [line for cell in first.cells for line in cell if "V_" in line or "N1_" in line]
