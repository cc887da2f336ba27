"""Ctrl-C on `stepwell run --sandbox daytona`, at every stage: it pauses, and leaves nothing running that costs."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from graph.settings import Settings
from tests.analyses import write_sales
from tests.daytona.elsewhere import in_emulator
from tests.daytona.emulator import Emulator
from tests.daytona.faults import Fault, Slow, SlowAnswer, SlowStart
from tests.scripted_model import Call, Plain, Request, ScriptedServer

COMMAND = [sys.executable, "-c", "from stepwell.command import main; main()"]
HELD = 4.0
"""Seconds that a request is held in which the signal comes."""

pytestmark = pytest.mark.timeout(300)


def answers(code: str) -> Callable[[Request], Plain]:
    """A model that runs one cell."""

    def reply(request: Request) -> Plain:
        if request.choice == "submit_review":
            return Call("submit_review", good_enough=True, missing=[])
        if any(message.get("role") == "tool" for message in request.messages):
            return Call("submit_answer", answer="It is done.", skipped=[])
        return Call("run_python", purpose="work", step=1, code=code)

    return reply


class Interrupted:
    """A command that gets a signal once something has happened in the emulator."""

    def __init__(self, settings: Settings, emulator: Emulator, model: str, folder: Path) -> None:
        self.settings, self.emulator, self.folder = settings, emulator, folder
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "TMPDIR")}
        self.environment = {
            **kept,
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "STEPWELL_HOME": str(settings.home),
            "STEPWELL_MODEL": "scripted",
            "OPENAI_BASE_URL": model,
            "OPENAI_API_KEY": "any",
            "DAYTONA_API_KEY": emulator.api_key,
            "DAYTONA_API_URL": emulator.api_url,
            "DAYTONA_TARGET": "us",
            "STEPWELL_DAYTONA_PREFIX": settings.daytona_prefix,
        }

    def start(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*COMMAND, *words],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run_until(self, happened: Callable[[], bool], *words: str) -> tuple[int, str]:
        """Run a command, interrupt it when something has happened; its exit code and what it said."""
        process = self.start(*words)
        until = time.monotonic() + 120
        while not happened():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < until
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        printed, complained = process.communicate(timeout=150)
        return process.returncode, printed + complained

    @property
    def states(self) -> list[str]:
        ours = self.settings.daytona_prefix
        return [state for name, state in self.emulator.states().items() if name.startswith(ours)]


@pytest.fixture
async def emulated() -> AsyncIterator[Emulator]:
    async with Emulator() as emulator:
        yield emulator


STAGES: dict[str, tuple[Fault, str]] = {
    "connecting": (Slow(on="get", seconds=HELD), "get"),
    "asking for a sandbox": (Slow(on="create", seconds=HELD), "create"),
    "a sandbox is made and nobody was told": (SlowAnswer(on="create", seconds=HELD), "create"),
    "creating": (SlowStart(seconds=HELD), "create"),
    "uploading": (Slow(on="upload", seconds=HELD), "upload"),
    "looking at it": (Slow(on="exec", seconds=HELD), "exec"),
    "in a cell": (Slow(on="activity"), "run"),
    "fetching a snapshot": (Slow(on="download", seconds=HELD), "download"),
    "stopping": (Slow(on="stop", seconds=HELD), "stop"),
}


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
async def test_ctrl_c_pauses(stage: str, emulated: Emulator, settings: Settings, tmp_path: Path) -> None:
    fault, kind = STAGES[stage]
    emulated.faults.add(fault)
    sales = write_sales(tmp_path / "sales.csv")
    code = "import time\nprint('on', flush=True)\ntime.sleep(60)" if stage == "in a cell" else "x = 41\nprint(x)"
    async with ScriptedServer(policy=answers(code)) as model:
        there = Interrupted(in_emulator(settings, emulated), emulated, model.base_url, tmp_path)
        exit_code, said = await asyncio.to_thread(
            there.run_until,
            lambda: emulated.counters.requests[kind] > 0 and (kind != "run" or emulated.counters.frames > 1),
            *("run", "--sandbox", "daytona", "Work", str(sales)),
        )
        assert "Traceback" not in said, said
        if stage == "stopping":
            assert exit_code in (0, 130), said  # the answer was there already
            assert set(there.states) <= {"stopped"}
            return
        assert exit_code == 130, said
        assert "paused; go on with: stepwell resume" in said
        assert set(there.states) <= {"stopped"}
        if stage == "in a cell":
            return
        done = there.start("resume", "last")
        printed, complained = await asyncio.to_thread(done.communicate, timeout=150)
    assert (done.returncode, "It is done." in printed) == (0, True), printed + complained
    assert len(there.states) <= 1
