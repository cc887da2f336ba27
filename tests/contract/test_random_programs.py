"""A few random programs, restored at random steps and running on, say what they would have said without it.

`python -m tests.random_programs --programs 1000` runs many more.
"""

from pathlib import Path

import pytest

from tests.random_programs.paths import try_path
from tests.random_programs.running import try_session
from tests.random_programs.writing import FEATURES, Session, write_session

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


async def test_restored_programs_run_on_as_they_would_have(cache: Path) -> None:
    report = await try_session("suite", cache, programs=12, restores=2)
    assert [str(one) for one in report.differences] == []
    assert report.answers > 100


async def test_programs_that_go_back_and_on_say_the_same_whatever_the_path(cache: Path) -> None:
    report = await try_path("suite", cache, programs=3, moves=12)
    assert [str(one) for one in report.differences] == []
    assert report.answers > 100


def test_programs_are_the_same_for_the_same_seed_and_have_everything_in_them() -> None:
    first, second = write_session("one", 100, 6), write_session("one", 100, 6)
    assert first.cells == second.cells
    assert {thing.feature.name for thing in first.things} >= {feature.name for feature in FEATURES}
    assert not [line for cell in first.cells for line in cell if "V_" in line or "N1_" in line]


def test_what_was_named_together_before_a_cell_is_linked() -> None:
    session = Session(cells=[["p1a_x = []", "p1b_got = p1a_x", "p1c_y = 1"], ["p1c_y = p1b_got"], ["p1d_z = p1b_got"]])
    assert session.linked({"p1b_"}, 1) == {"p1a_", "p1b_"}
    assert session.linked({"p1b_"}, 2) == {"p1a_", "p1b_", "p1c_"}
    assert session.linked({"p1e_"}, 2) == set()
