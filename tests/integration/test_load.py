"""The load test, in small: all answers are right, nothing is left over, and it would see it if something were."""

from dataclasses import replace
from pathlib import Path

from tests.load import Held, Report, load, more

BEFORE = Held(processes=2, descriptors=9, mounts=70, temporary=0, threads=4, tasks=1, bytes=100_000_000)


async def test_live_and_sleeping_sandboxes_answer_and_leave_nothing(tmp_path: Path) -> None:
    report = await load(tmp_path, live=12, sleeping=40, wakes=16, places=5)
    assert report.problems == []
    assert dict(report.rows)["waking 24 of them, 5 places"]
    assert report.table().row_count == len(report.rows)


def test_each_kind_of_leftover_is_seen() -> None:
    assert more(BEFORE, BEFORE) == []
    for name in ("processes", "descriptors", "mounts", "temporary", "threads", "tasks"):
        found = more(BEFORE, replace(BEFORE, **{name: getattr(BEFORE, name) + 1}))
        assert len(found) == 1
        assert name in found[0]
    assert more(BEFORE, replace(BEFORE, bytes=200_000_000)) == ["100 MB more memory"]
    assert more(BEFORE, replace(BEFORE, processes=1, bytes=1)) == []


def test_a_wrong_answer_is_noted() -> None:
    report = Report()
    report.must(True, "fine")
    report.must(False, "live sandbox 3 answered '5'")
    assert report.problems == ["live sandbox 3 answered '5'"]
