"""The benchmark of a server measures what it says, and sees an analysis that is lost or mixed up with another."""

import asyncio
import os
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import pytest

from bench.analysing import CELLS, Seen, counted
from bench.server import COLD, WARM, Loaded, load
from bench.server_log import spent
from bench.server_results import judge, table
from tests.serving import ROOT

pytestmark = pytest.mark.slow

PARENTS = """
import asyncio, os
from pathlib import Path
from bench.drivers.memory import PROC, descendants
import {module}
from graph.app import sandboxes

async def main():
    for name in ("one", "other"):
        sandbox = await sandboxes.open("local", name)
        assert (await sandbox.run("import pandas", number=1, timeout=60)).status == "ok"
    below = [pid for pid in descendants(os.getpid())
             if f"PPid:\\t{{os.getpid()}}\\n" in (PROC / str(pid) / "status").read_text()]
    print("parents:", sum(b"zygote" in (PROC / str(pid) / "cmdline").read_bytes() for pid in below))
    await sandboxes.close_all()

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    return asyncio.run(load(WARM, tmp_path_factory.mktemp("bench"), 4, 2))


@pytest.mark.slow
@pytest.mark.xdist_group("bench server")
def test_analyses_at_once_through_a_server_are_all_there_and_each_its_own(loaded: Loaded) -> None:
    assert [seen.verdict for seen in loaded.analyses] == [""] * 4
    assert loaded.wrong == {"lost": 0, "mixed up": 0, "failed": 0}
    assert {seen.user for seen in loaded.analyses} == {"alice", "bob"}
    assert len(loaded.spent.starts) == len(loaded.spent.ends) == 4
    assert len(loaded.spent.cells) == 4 * (CELLS - 1)
    assert loaded.watched.peak.live >= 2
    assert loaded.watched.peak.all > loaded.watched.first.server > 0
    assert len(loaded.alone.cells) == 5 * (CELLS - 1)
    assert loaded.computed > 0
    assert [aim.met for aim in judge([loaded])] == [True, True]
    assert loaded.emptied is not None
    assert (loaded.emptied.live, loaded.left) == (0, 0)
    assert table([loaded], "").row_count > 10


@pytest.mark.slow
@pytest.mark.xdist_group("bench server")
def test_what_is_lost_mixed_up_or_broken_off_is_seen(loaded: Loaded) -> None:
    one, other = loaded.analyses[:2]

    def changed(**values: object) -> Seen:
        seen = deepcopy(one)
        for name, value in values.items():
            setattr(seen, name, value)
        return seen

    cases = {
        "failed: gone": changed(failed="gone"),
        "mixed up: it has": changed(state=other.state),
        "mixed up: it has ": changed(told=[*one.told, other.told[-1], *other.told]),
        "mixed up: it has  ": changed(files=other.files),
        "lost: the answer": changed(state={**one.state, "answer": ""}),
        "lost: the stream": changed(told=one.told[:3]),
        "lost: the state": changed(state={**one.state, "cells": one.state["cells"][:-1]}),
        "lost: the steps": changed(steps=one.steps[1:]),
        "lost: answer.md": changed(files={**one.files, "answer.md": b""}),
        "mixed up: answer.md": changed(files={**one.files, "answer.md": b"Something else."}),
    }
    for verdict, seen in cases.items():
        assert seen.verdict.startswith(verdict.strip()), (verdict, seen.verdict)
    assert counted(list(cases.values()), len(cases) + 2) == {"lost": 7, "mixed up": 4, "failed": 1}
    assert counted([one, other], 2) == {"lost": 0, "mixed up": 0, "failed": 0}


def test_the_time_of_a_cell_itself_is_not_the_servers() -> None:
    def line(second: int, node: str, **said: float) -> dict[str, object]:
        time = f"2026-01-01T00:00:{second:02}.000000Z"
        return {"logger": "stepwell", "outcome": "ended", "run_id": "r", "timestamp": time, "node": node, **said}

    found = spent(
        [
            line(2, "plan", seconds=2.0),
            line(3, "generate", seconds=0.5),
            line(10, "execute", seconds=6.0, cell_seconds=5.0),
            line(16, "execute", seconds=5.5, cell_seconds=4.0),
            line(20, "run", seconds=20.0),
            {"event": "something else"},
        ]
    )
    assert (found.starts, found.cells, found.ends) == ([4.0], [2.0], [4.0])


@pytest.mark.parametrize(("module", "parents"), [("graph.app", 1), ("bench.drivers.cold_graph", 2)])
def test_a_sandbox_that_starts_cold_has_a_parent_of_its_own(tmp_path: Path, module: str, parents: int) -> None:
    assert COLD != WARM
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "STEPWELL_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", PARENTS.format(module=module)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=150,
    )  # fmt: skip
    assert f"parents: {parents}" in done.stdout, done.stderr
