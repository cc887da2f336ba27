"""The short form of `make chaos`: processes that are killed at random moments lose nothing and do nothing twice."""

from pathlib import Path

from tests.chaos import chaos


async def test_killed_analyses_end_as_undisturbed_ones_do(tmp_path: Path) -> None:
    report = await chaos(8, seed=20, home=tmp_path / "chaos")
    assert report.problems == []
    assert report.kills.total() >= 8
