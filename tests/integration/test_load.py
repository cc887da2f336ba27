"""The load test, in small: all answers are right, nothing is left over, and it would see it if something were."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.load import POOLS, Held, Report, beyond_pools, more

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
BEFORE = Held(processes=2, descriptors=9, mounts=70, temporary=0, threads=4, tasks=1, bytes=100_000_000)


def test_live_and_sleeping_sandboxes_answer_and_leave_nothing() -> None:
    """In a process of its own: what it holds is counted, and servers of other tests have threads that come and go."""
    small = ["--live", "12", "--sleeping", "40", "--wakes", "16", "--places", "5"]
    ran = subprocess.run([sys.executable, "-m", "tests.load", *small], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "nothing is left over" in ran.stdout
    assert "waking 24 of them, 5 places" in ran.stdout


def test_each_kind_of_leftover_is_seen() -> None:
    assert more(BEFORE, BEFORE) == []
    for name in ("processes", "descriptors", "mounts", "temporary", "threads", "tasks"):
        found = more(BEFORE, replace(BEFORE, **{name: getattr(BEFORE, name) + 1}))
        assert len(found) == 1
        assert name in found[0]
    assert more(BEFORE, replace(BEFORE, bytes=200_000_000)) == ["100 MB more memory"]
    assert more(BEFORE, replace(BEFORE, processes=1, bytes=1)) == []


def test_threads_of_pools_count_beyond_what_a_pool_may_have() -> None:
    assert beyond_pools(["MainThread", "stepwell-sync_0", "stepwell-sync_13", "stepwell-quick_0"]) == 1
    assert beyond_pools([f"stepwell-sync_{number}" for number in range(POOLS["stepwell-sync"] + 2)]) == 2
    assert beyond_pools(["ThreadPoolExecutor-0_1", "ThreadPoolExecutor-0_2", "stepwell"]) == 3


def test_a_wrong_answer_is_noted() -> None:
    report = Report()
    report.must(True, "fine")
    report.must(False, "live sandbox 3 answered '5'")
    assert report.problems == ["live sandbox 3 answered '5'"]
