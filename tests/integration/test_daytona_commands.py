"""`stepwell move`, `stepwell sandboxes` and `--sandbox daytona` as people type them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from graph.settings import Settings
from tests.analyses import write_sales
from tests.daytona.elsewhere import in_emulator
from tests.daytona.emulator import Emulator

MAIN = "from stepwell.command import main; main()"


def stepwell(settings: Settings, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    given = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "STEPWELL_HOME": str(settings.home),
        "STEPWELL_ARTIFACTS": settings.artifacts,
        "DAYTONA_API_KEY": settings.daytona_api_key.get_secret_value(),
        "DAYTONA_API_URL": settings.daytona_api_url,
        "DAYTONA_TARGET": settings.daytona_target,
        "STEPWELL_DAYTONA_PREFIX": settings.daytona_prefix,
        **environment,
    }
    command = [sys.executable, "-c", MAIN, *arguments]
    return subprocess.run(command, env=given, capture_output=True, text=True, timeout=150)


@pytest.mark.slow
def test_a_thread_begins_in_daytona_moves_here_and_its_sandbox_is_pruned(tmp_path: Path, settings: Settings) -> None:
    sales = write_sales(tmp_path / "sales.csv")
    with Emulator() as emulator:
        there = in_emulator(settings, emulator)
        done = stepwell(there, "run", "--sandbox", "daytona", "--json", "Which region sold most?", str(sales))
        assert done.returncode == 0, done.stderr
        thread = json.loads(done.stdout.splitlines()[0])["thread"]
        name = f"{there.daytona_prefix}-{thread}"
        assert emulator.states() == {name: "stopped"}
        moved = stepwell(there, "move", "last", "--to", "local")
        assert (moved.returncode, moved.stdout) == (
            0,
            f"thread {thread} goes on in a sandbox of kind local (before: daytona)\n",
        )
        asked = stepwell(there, "ask", "last", "And the least?", "--json")
        assert asked.returncode == 0, asked.stderr
        events = [json.loads(line) for line in asked.stdout.splitlines()]
        assert [event["problems"] for event in events if event["event"] == "rebuilt"] in ([[]], [])
        assert emulator.states() == {name: "stopped"}
        listed = stepwell(there, "sandboxes")
        assert (listed.returncode, listed.stdout) == (0, f"{name}\tstopped\tin use\n")
        other = there.model_copy(update={"home": tmp_path / "another"})
        pruned = stepwell(other, "sandboxes", "--prune", "--json")
        assert json.loads(pruned.stdout)["removed"] is True
        assert emulator.states() == {}


@pytest.mark.slow
def test_what_is_wrong_is_one_sentence(tmp_path: Path, settings: Settings) -> None:
    nobody = settings.model_copy(update={"daytona_api_url": "http://127.0.0.1:9/api"})
    for arguments, said in (
        (("sandboxes",), "DAYTONA_API_KEY"),
        (("run", "--sandbox", "daytona", "Why?"), "DAYTONA_API_KEY"),
        (("run", "--sandbox", "nowhere", "Why?"), "There is no sandbox of kind 'nowhere'"),
    ):
        done = stepwell(nobody, *arguments, DAYTONA_API_KEY="", DAYTONA_TARGET="")
        assert done.returncode in (1, 2)
        errors = [line for line in done.stderr.splitlines() if line.startswith("error:")]
        assert len(errors) == 1
        assert said in errors[0]
        assert "Traceback" not in done.stderr
