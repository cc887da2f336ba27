"""`stepwell doctor`: what it says of this machine is what sandboxes get."""

import json
import sys
import venv
from pathlib import Path

import pytest

from graph.settings import Settings, read_settings
from graph.wiring import make_sandboxes
from sandboxes.base import SandboxUnavailableError
from sandboxes.local.isolation import IN_WORDS, LEVELS, PROPERTIES
from sandboxes.local.isolation_choice import examine
from sandboxes.opening import Sandboxes
from stepwell.cli.doctor import as_data
from tests.integration.test_command import Desk, make_desk

pytestmark = [pytest.mark.xdist_group("command"), pytest.mark.timeout(300)]

PATIENCE = 240.0
"""Seconds: it tries every level, and a session besides."""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path)


@pytest.mark.slow
async def test_a_sandbox_gets_the_level_that_doctor_names_and_a_session_works(desk: Desk, settings: Settings) -> None:
    said = json.loads(desk.command("doctor", "--json", patience=PATIENCE).stdout)
    if said["level"] is None:
        pytest.skip(said["problem"])
    assert [one["level"] for one in said["levels"]] == list(LEVELS)
    assert [one["level"] for one in said["levels"] if one["chosen"]] == [said["level"]]
    assert all(one["works"] for one in said["levels"] if one["chosen"])
    assert list(said["properties"]) == list(PROPERTIES)
    assert {one["state"] for one in said["properties"].values()} <= {"enforced", "soft", "none"}
    assert all(one["why"] for one in (*said["levels"], *said["properties"].values()))
    tried = [one["step"] for one in said["session"]]
    assert tried == ["create", "cell", "scipy", "figure", "snapshot", "stop", "start", "delete"]
    assert not [one for one in said["session"] if one["problem"]]
    assert not list((desk.home / "threads").iterdir()), "nothing of the session is left"
    async with make_sandboxes(settings) as sandboxes:
        assert (await sandboxes.open("local", "a")).isolation == IN_WORDS[said["level"]]


@pytest.mark.slow
def test_without_isolation_nothing_is_said_to_be_enforced(desk: Desk) -> None:
    desk.variables["STEPWELL_ISOLATION"] = "process"
    done = desk.command("doctor", "--json", patience=PATIENCE)
    said = json.loads(done.stdout)
    assert (done.returncode, said["level"]) == (0, "process")
    assert "enforced" not in {one["state"] for one in said["properties"].values()}


@pytest.mark.slow
def test_a_floor_that_cannot_be_kept_ends_with_1_and_one_sentence(desk: Desk) -> None:
    desk.variables |= {"STEPWELL_ISOLATION": "landlock", "STEPWELL_REQUIRE_ISOLATION": "namespaces"}
    done = desk.command("doctor", patience=PATIENCE)
    assert done.returncode == 1
    assert done.stderr == "STEPWELL_ISOLATION=landlock is weaker than STEPWELL_REQUIRE_ISOLATION=namespaces.\n"
    assert not [line for line in done.stdout.splitlines() if line.startswith("property\t")]


def test_a_level_that_there_is_not_is_the_user_s_mistake(desk: Desk) -> None:
    desk.variables["STEPWELL_ISOLATION"] = "strong"
    done = desk.command("doctor", patience=PATIENCE)
    assert done.returncode == 2
    assert "There is no isolation level 'strong'. Levels: namespaces," in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_in_a_pipe_the_fields_are_separated_by_tabs(desk: Desk) -> None:
    lines = [line.split("\t") for line in desk.command("doctor", patience=PATIENCE).stdout.splitlines()]
    assert [line[1] for line in lines if line[0] == "level"] == list(LEVELS)
    assert {line[0] for line in lines} <= {"level", "property", "limit", "network", "session", "caution"}
    assert {len(line) for line in lines if line[0] in ("level", "property")} == {4}


def test_an_interpreter_that_does_not_start_is_said_for_each_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPWELL_PYTHON", "/bin/false")
    settings = read_settings()
    said = as_data(examine(settings.local), settings)
    assert said["level"] is None
    assert "/bin/false" in said["problem"]
    assert "STEPWELL_PYTHON" in said["problem"]
    assert not any(one["works"] for one in said["levels"] if one["level"] in ("namespaces", "landlock", "bwrap"))


@pytest.mark.slow
def test_a_python_without_packages_is_one_sentence(desk: Desk, tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", symlinks=True, with_pip=False)
    desk.variables["STEPWELL_PYTHON"] = str(tmp_path / "bare" / "bin" / "python")
    done = desk.command("doctor", patience=PATIENCE)
    assert done.returncode == 1
    assert done.stderr == (
        "The packages that analyses use cannot be imported (error: ModuleNotFoundError: No module named 'pandas').\n"
    )
    tried = [line.split("\t")[1:3] for line in done.stdout.splitlines() if line.startswith("session\t")]
    assert tried == [["create", "works"], ["cell", "works"], ["scipy", "failed"], ["delete", "works"]]


FREE_THREADED = """#!/bin/sh
while case "$1" in -*) ;; *) false ;; esac; do shift; done
exec {real} -P -s -c "import runpy, sys
sys.abiflags, sys.argv = 't', sys.argv[1:]
runpy.run_path(sys.argv[0], run_name='__main__')" "$@"
"""
"""An interpreter that says that it is built without the lock."""


@pytest.mark.parametrize("level", ["process", "landlock", ""])
async def test_a_python_without_the_global_interpreter_lock_is_refused(tmp_path: Path, level: str) -> None:
    program = tmp_path / "python3.14t"
    program.write_text(FREE_THREADED.replace("{real}", sys.executable))
    program.chmod(0o755)
    async with Sandboxes(tmp_path / "home", cache=tmp_path / "cache", python=str(program), isolation=level) as opened:
        with pytest.raises(SandboxUnavailableError, match="built without the global interpreter lock") as refused:
            await (await opened.open("local", "one")).run("1", number=1, timeout=60.0)
        assert "\n" not in str(refused.value)
