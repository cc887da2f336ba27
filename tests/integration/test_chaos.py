"""The short form of `make chaos`: analyses that are disturbed at random moments lose nothing and do nothing twice."""

from pathlib import Path

import pytest

from tests.chaos.running import chaos

pytestmark = pytest.mark.slow


@pytest.mark.timeout(1_200)
async def test_disturbed_analyses_end_as_undisturbed_ones_do(tmp_path: Path) -> None:
    report = await chaos(20, seed=20, home=tmp_path / "chaos")
    assert report.problems == []
    assert report.faults.total() >= 20
    assert report.places.total() >= 8  # in the middle of a process
