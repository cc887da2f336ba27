"""`--sandbox docker`, `stepwell doctor --docker`, `stepwell move` and `stepwell sandboxes` as people type them."""

import json
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from graph.settings import Settings
from tests.analyses import write_sales
from tests.docker.emulator import EmulatedEngine
from tests.prepared_command import PREPARED

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
COMMAND = [sys.executable, "-c", "from stepwell.command import main; main()"]


@pytest.fixture
def engine() -> Iterator[EmulatedEngine]:
    with EmulatedEngine() as emulated:
        yield emulated


def environment(settings: Settings, engine: EmulatedEngine) -> dict[str, str]:
    return {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "STEPWELL_HOME": str(settings.home),
        "STEPWELL_ARTIFACTS": settings.artifacts,
        "STEPWELL_DOCKER_COMMAND": shlex.join(engine.command),
        "STEPWELL_DOCKER_IMAGE": "stepwell-sandbox",
    }


def stepwell(settings: Settings, engine: EmulatedEngine, *words: str) -> subprocess.CompletedProcess[str]:
    return PREPARED.run(words, cwd=Path.cwd(), env=environment(settings, engine), timeout=300)


def test_a_thread_begins_in_a_container_moves_here_and_its_container_goes(
    tmp_path: Path, settings: Settings, engine: EmulatedEngine
) -> None:
    sales = write_sales(tmp_path / "sales.csv")
    done = stepwell(settings, engine, "run", "--sandbox", "docker", "--json", "Which region sold most?", str(sales))
    assert done.returncode == 0, done.stderr
    thread = json.loads(done.stdout.splitlines()[0])["thread"]
    name = f"stepwell-{thread}"
    assert (engine.names, engine.state(name)["ExitCode"]) == ([name], 10)
    asked = stepwell(settings, engine, "ask", "last", "And the least?", "--sandbox", "docker")
    assert asked.returncode == 0, asked.stderr
    moved = stepwell(settings, engine, "move", "last", "--to", "local")
    assert moved.stdout == f"thread {thread} goes on in a sandbox of kind local (before: docker)\n", moved.stderr
    asked = stepwell(settings, engine, "ask", "last", "And now?", "--json")
    assert asked.returncode == 0, asked.stderr
    events = [json.loads(line) for line in asked.stdout.splitlines()]
    assert [event["problems"] for event in events if event["event"] == "rebuilt"] in ([[]], [])
    listed = stepwell(settings, engine, "sandboxes")
    assert (listed.returncode, listed.stdout) == (0, f"{name}\texited\tin use\n"), listed.stderr
    deleted = stepwell(settings, engine, "delete", "last")
    assert deleted.returncode == 0, deleted.stderr
    assert engine.names == []


def test_a_run_whose_process_is_killed_goes_on_in_its_container(
    tmp_path: Path, settings: Settings, engine: EmulatedEngine
) -> None:
    sales = write_sales(tmp_path / "sales.csv")
    words = ["run", "--sandbox", "docker", "--json", "Which region sold most?", str(sales)]
    with subprocess.Popen([*COMMAND, *words], env=environment(settings, engine), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if json.loads(line)["event"] == "cell_finished":
                break
        process.send_signal(signal.SIGKILL)
    name = engine.names[0]
    assert engine.state(name)["Status"] == "running"
    resumed = stepwell(settings, engine, "resume", "last", "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert engine.names == [name]
    assert engine.state(name)["Status"] == "exited"


def test_doctor_tries_the_engine_and_leaves_nothing(settings: Settings, engine: EmulatedEngine) -> None:
    done = stepwell(settings, engine, "doctor", "--docker", "--json")
    assert done.returncode == 0, done.stderr
    tried = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["step"] for one in tried] == ["create", "cell", "snapshot", "stop", "start", "delete"]
    assert all(not one["problem"] for one in tried)
    assert engine.names == []
    engine.fault("down")
    done = stepwell(settings, engine, "doctor", "--docker")
    assert (done.returncode, "its engine cannot be reached" in done.stderr) == (1, True), done
    done = stepwell(settings, engine, "doctor", "--docker", "--daytona")
    assert (done.returncode, "only one of" in done.stderr) == (2, True), done


def test_nothing_begins_while_the_engine_is_down(tmp_path: Path, settings: Settings, engine: EmulatedEngine) -> None:
    engine.fault("down")
    done = stepwell(settings, engine, "run", "--sandbox", "docker", "What?", str(write_sales(tmp_path / "sales.csv")))
    assert (done.returncode, "its engine cannot be reached" in done.stderr) == (1, True), done
    assert "go on with" not in done.stderr
    assert stepwell(settings, engine, "threads").stdout == ""


def test_ctrl_c_pauses_and_stops_the_container(tmp_path: Path, settings: Settings, engine: EmulatedEngine) -> None:
    sales = write_sales(tmp_path / "sales.csv")
    words = ["run", "--sandbox", "docker", "--json", "Which region sold most?", str(sales)]
    with subprocess.Popen([*COMMAND, *words], env=environment(settings, engine), stdout=subprocess.PIPE) as process:
        deadline = time.monotonic() + 200
        while not engine.names and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == 130
    assert [engine.state(name)["Status"] for name in engine.names] in ([], ["exited"], ["created"])
    resumed = stepwell(settings, engine, "resume", "last")
    assert resumed.returncode == 0, resumed.stderr
