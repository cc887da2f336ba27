"""A thread of the version before, with its snapshots and artifacts, can be read and goes on.

`tests/data/home-d57ddb0.tar.xz` is the data folder of that version: the playbook analysed a table of eight rows, and
the thread was forked after its fourth cell.
"""

import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.prepared_command import PREPARED

HOME = Path(__file__).parents[1] / "data" / "home-d57ddb0.tar.xz"
THREAD, FORK = "aa885acf-c2eb-43fb-891e-7937cc2b3e0f", "c00b2b94-b56e-434d-ac29-c1b8510f8ee8"
CELLS, FORKED_AT = 10, 4

Command = Callable[..., str]

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("command"), pytest.mark.timeout(300)]


@pytest.fixture
def stepwell(tmp_path: Path) -> Command:
    """The command, in that data folder; gives what it prints."""
    home = tmp_path / "home"
    home.mkdir(0o700)
    with tarfile.open(HOME) as archive:
        archive.extractall(home, filter="data")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "STEPWELL_HOME": str(home),
        "STEPWELL_MODEL": "playbook",
    }

    def run(*words: str, may_be: int = 0) -> str:
        done = PREPARED.run(words, cwd=tmp_path, env=environment)
        assert done.returncode in (0, may_be), (words, done.stderr)
        return done.stdout

    return run


def lines(said: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in said.splitlines()]


def test_it_is_shown_with_all_its_steps(stepwell: Command) -> None:
    assert {str(one["thread"]) for one in lines(stepwell("threads", "--json"))} == {THREAD, FORK}
    shown = lines(stepwell("show", THREAD, "--json"))[0]
    assert (shown["status"], shown["cells"]) == ("finished", CELLS)
    assert "playbook" in str(shown["answer"])
    assert len(lines(stepwell("log", THREAD, "--json"))) == CELLS
    step = lines(stepwell("show", f"{THREAD}@{FORKED_AT}", "--json"))[0]
    assert (step["number"], step["head"]) == (FORKED_AT, False)


def test_it_is_replayed_cell_by_cell(stepwell: Command) -> None:
    cells = [one for one in lines(stepwell("replay", THREAD, "--json", may_be=1)) if "number" in one]
    assert [one["number"] for one in cells] == [*range(1, CELLS + 1)]
    # One prints a warning of a library, with the path of that.
    different = [str(one["differences"]) for one in cells if not one["same"]]
    assert all("site-packages" in difference for difference in different)
    assert len(different) <= 1


@pytest.mark.parametrize("thread", [FORK, ""])
def test_a_fork_of_it_goes_on_with_its_variables(stepwell: Command, thread: str) -> None:
    thread = thread or stepwell("fork", f"{THREAD}@{FORKED_AT}").split()[0]
    events = lines(stepwell("resume", thread, "--json"))
    rebuilt = [event for event in events if event["event"] == "rebuilt"]
    assert rebuilt[0]["from_cell"] == FORKED_AT
    assert rebuilt[0]["lost"] == []
    assert events[-1]["event"] == "finished"
    assert events[-1]["cells"] == CELLS


def test_a_further_question_is_answered(stepwell: Command) -> None:
    events = lines(stepwell("ask", THREAD, "And by region?", "--json"))
    assert events[-1]["event"] == "finished"
    assert int(str(events[-1]["cells"])) > CELLS
