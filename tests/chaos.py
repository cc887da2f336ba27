"""Kills real `stepwell run` processes at random moments and resumes them: `python -m tests.chaos --kills 200`.

Each analysis is killed with SIGKILL again and again until it gets to its end. Then its answer, its files and its log
must be those of an undisturbed run, and no cell may have run again whose end was seen. Some analyses reach outside of
their sandbox instead: there, no cell may have called twice.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.scripted_model import Call, Plain, Request, ScriptedServer
from tests.steady_model import steady

ROOT = Path(__file__).parents[1]
CELLS = 6
MAX_LIVES = 60
"""Processes for one analysis."""
PLACES = {
    "started": "before the plan",
    "input": "in the plan",
    "plan": "after the plan",
    "model_asked": "in a model call",
    "model_answered": "after a model call",
    "cell_started": "in a cell",
    "output": "in a cell",
    "displayed": "in a cell",
    "cell_finished": "in the snapshot",
    "kept": "between snapshot and checkpoint",
    "rebuilt": "after a restore",
    "notice": "after a notice",
    "proposed": "in the checks",
    "published": "in the upload",
    "finished": "after the last checkpoint",
}
"""By the last event that was seen: where a process was killed."""


@dataclass
class Report:
    """What came of it."""

    kills: Counter[str] = field(default_factory=Counter)
    """By place."""
    analyses: int = 0
    lives: int = 0
    unknown: int = 0
    """Cells whose outcome was said to be unknown."""
    problems: list[str] = field(default_factory=list)


@dataclass
class Life:
    """One process: what it told until it ended."""

    events: list[dict[str, Any]]
    killed: bool
    code: int
    errors: str

    @property
    def ended(self) -> dict[str, Any] | None:
        """The end of a finished run; or the thread, as shown."""
        return next((event for event in self.events if event.get("event", "finished") == "finished"), None)

    @property
    def came_too_late(self) -> bool:
        """Whether there was nothing to resume: the process before was killed after its last checkpoint."""
        return self.code == 2 and "is finished" in self.errors


class Outside:
    """Somebody outside of all sandboxes, who counts the calls of each cell."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self._server: asyncio.Server | None = None

    async def open(self) -> int:
        """Begin to listen; returns the port."""
        self._server = await asyncio.start_server(self._called, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def _called(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.calls[(await reader.readline()).decode().strip()] += 1
        writer.close()

    async def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()


def cells_inside() -> list[Call]:
    """Cells that change variables in place, write files and draw; each leaves a line in the log.

    Without walls each counts in the cache folder, too, which sandboxes share and no step brings back.
    """
    made = []
    for number in range(1, CELLS + 1):
        lines = [
            "import os, time",
            "if os.path.isdir(os.environ['MPLCONFIGDIR']):",
            f"    open(os.environ['MPLCONFIGDIR'] + '/counter', 'a').write('{number}\\n')",
            f"open('outputs/log.txt', 'a').write('{number}\\n')",
        ]
        if number == 1:
            lines += ["import numpy as np", "values = np.zeros(50_000)", "view = values[10:20]", "seen = []"]
        lines += [
            "time.sleep(0.03)",
            f"view += {number}",
            f"seen.append({number})",
            f"assert seen == list(range(1, {number + 1})), seen",
            f"assert values.sum() == 10 * {sum(range(1, number + 1))}, values.sum()",
        ]
        if number == 3:
            lines += ["import matplotlib.pyplot as plt", "plt.plot(view)", "plt.title('values')"]
        if number == 4:
            lines += ["open('outputs/log.txt', 'r+').seek(0)", "open('outputs/table.csv', 'w').write('a,b\\n1,2\\n')"]
        lines += [f"print('cell', {number}, values.sum())"]
        made.append(Call("run_python", purpose=f"count {number}", step=1, code="\n".join(lines)))
    return made


def cells_outside(port: int, name: str) -> list[Call]:
    """Cells that call somebody, each by itself."""
    made = []
    for number in range(1, CELLS + 1):
        code = (
            f"import socket, time\nwith socket.create_connection(('127.0.0.1', {port})) as s:\n"
            f"    s.sendall(b'{name}/{number}\\n')\n    time.sleep(0.05)\nprint({number})"
        )
        made.append(Call("run_python", purpose=f"call {number}", step=1, code=code))
    return made


class Chaos:
    """Analyses that are killed, until enough have been.

    Args:
        home: A folder for all of them.
        kills: How many processes are to be killed.
        chance: Decides when.
    """

    def __init__(self, home: Path, kills: int, chance: random.Random) -> None:
        self.report = Report()
        self._home = home
        self._wanted = kills
        self._begun = 0
        self._chance = chance
        self._outside = Outside()
        self._reference: dict[str, str] = {}

    async def run(self, parallel: int) -> Report:
        """Kill until it is enough; returns what came of it."""
        port = await self._outside.open()
        try:
            self._reference = await self._analysis("reference", port, outside=False, deadly=False)
            await asyncio.gather(*(self._worker(number, port) for number in range(parallel)))
        finally:
            await self._outside.close()
        for cell, calls in self._outside.calls.items():
            if calls > 1:
                self.report.problems.append(f"cell {cell} called {calls} times")
        return self.report

    async def _worker(self, number: int, port: int) -> None:
        turn = 0
        while self.report.kills.total() < self._wanted and not self.report.problems:
            turn += 1
            outside = turn % 4 == 0
            name = f"{number}-{turn}"
            came = await self._analysis(name, port, outside=outside, deadly=True)
            if not outside and came != self._reference:
                different = sorted(
                    key for key in came.keys() | self._reference.keys() if came.get(key) != self._reference.get(key)
                )
                self.report.problems.append(f"analysis {name} differs in {', '.join(different)}")

    async def _analysis(self, name: str, port: int, *, outside: bool, deadly: bool) -> dict[str, str]:
        """One analysis to its end; returns its answer and its files' hashes by name."""
        home = self._home / name
        cache = home / "cache" / "matplotlib"
        await asyncio.to_thread(cache.mkdir, parents=True)
        counter = cache / "counter"
        cells = cells_outside(port, name) if outside else cells_inside()
        policy, chance = steady(cells), self._chance
        self._begun += 1
        walls = "process" if outside or self._begun % 2 else ""  # only without walls can effects be counted

        def slow(request: Request) -> Plain:
            time.sleep(chance.uniform(0.01, 0.08))
            return policy(request)

        over: Counter[str] = Counter()
        async with ScriptedServer(policy=slow) as server:
            command, begun = ["run", "Count", "--json"], False
            for _ in range(MAX_LIVES):
                life = await self._live(home, server.base_url, command, deadly=deadly, walls=walls)
                self.report.lives += 1
                if life.code == 2 and "No thread" in life.errors and not begun:
                    command = ["run", "Count", "--json"]  # killed before its first checkpoint: nothing had begun
                    continue
                begun = begun or any(event["event"] != "started" for event in life.events)
                if life.came_too_late:
                    shown = ["show", command[1], "--json"]
                    life = await self._live(home, server.base_url, shown, deadly=False, walls=walls)
                problem = self._broken_rule(life, counter, over)
                if problem:
                    self.report.problems.append(f"analysis {name}: {problem}")
                    return {}
                thread = next((str(event["thread"]) for event in life.events if event.get("thread")), "")
                if thread:
                    command = ["resume", thread, "--json"]
                if life.ended is not None and not life.killed:
                    self.report.analyses += 1
                    files = {str(one["name"]): str(one["sha256"]) for one in life.ended["artifacts"]}
                    return {"answer": str(life.ended["answer"]), **files}
        self.report.problems.append(f"analysis {name} did not end in {MAX_LIVES} lives")
        return {}

    def _broken_rule(self, life: Life, counter: Path, over: Counter[str]) -> str:
        """What must not be: an error, or a cell that ran again after something later had been seen."""
        if not life.killed and life.ended is None:
            return f"exit {life.code}: {life.errors.strip()[-500:]} (last event: {life.events[-1:]})"
        ran = Counter(counter.read_text().split()) if counter.exists() else Counter[str]()
        for number, times in over.items():
            if ran[number] > times:
                return f"cell {number} ran again after its end was known"
        kept = ""
        for event in (event for event in life.events if "event" in event):
            if event["event"] == "cell_finished":
                self.report.unknown += event["cell"]["status"] == "unknown"
                if event["cell"]["status"] not in ("ok", "unknown"):
                    return f"cell {event['cell']['number']} ended with {event['cell']['error']}"
            if event["event"] == "kept":
                kept = str(event["number"])
            elif kept:  # the next node began, so the cell's end is on disk
                over[kept] = ran[kept]
        return ""

    async def _live(self, home: Path, url: str, command: list[str], *, deadly: bool, walls: str) -> Life:
        """Run one process until it ends, or until its moment comes."""
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "STEPWELL_HOME": str(home),
            "STEPWELL_ISOLATION": walls,
            "STEPWELL_ARTIFACTS": str(home / "artifacts"),
            "OPENAI_BASE_URL": url,
            "STEPWELL_MODEL": "scripted",
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            "from stepwell.command import main; main()",
            *command,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
            cwd=home,
            limit=1 << 24,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        errors = asyncio.create_task(process.stderr.read())
        after = self._chance.randrange(0, 40) if deadly else -1
        events: list[dict[str, Any]] = []
        killed = False
        while line := await process.stdout.readline():
            events.append(json.loads(line))
            if len(events) > after >= 0 and not killed:
                await asyncio.sleep(self._chance.choice((0.0, 0.002, 0.01, 0.05)) * self._chance.random())
                if process.returncode is None and events[-1]["event"] != "finished":
                    process.kill()
                    killed = True
        code = await process.wait()
        if killed and code == -9:
            self.report.kills[PLACES.get(events[-1]["event"], events[-1]["event"])] += 1
        return Life(events, killed and code == -9, code, (await errors).decode("utf-8", "replace"))


async def chaos(kills: int, *, parallel: int = 2, seed: int = 0, home: Path | None = None) -> Report:
    """Kill so many processes.

    Args:
        kills: How many, at least.
        parallel: Analyses at a time.
        seed: Of the random moments.
        home: A folder for their data; default: a temporary one, removed when nothing went wrong.
    """
    folder = home or Path(tempfile.mkdtemp(prefix="stepwell-chaos-"))
    report = await Chaos(folder, kills, random.Random(seed)).run(parallel)
    if home is None and not report.problems:
        await asyncio.to_thread(shutil.rmtree, folder)
    elif report.problems:
        report.problems.append(f"the data is in {folder}")
    return report


def main() -> int:
    """Print a report; 1 when something was not as it must be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--parallel", type=int, default=2)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    options = parser.parse_args()
    tell = sys.stdout.write
    tell(f"seed {options.seed}\n")
    began = time.monotonic()
    report = asyncio.run(chaos(options.kills, parallel=options.parallel, seed=options.seed))
    tell(f"{report.kills.total()} kills, {report.analyses} analyses, {time.monotonic() - began:.0f} s\n")
    for place, count in report.kills.most_common():
        tell(f"  {count:4} {place}\n")
    tell(f"{report.unknown} cells that had reached outside were said to be of unknown outcome\n")
    for problem in report.problems:
        tell(f"PROBLEM {problem}\n")
    return 1 if report.problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
