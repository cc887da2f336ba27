"""What `stepwell run` computes before its first request, and `stepwell threads`, beside what they import anyway."""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from rich.console import RenderableType

from bench.aims import Aim, aims_table
from tests.scripted_model import Call, Plain, Request, ScriptedServer

ROUNDS = 5
RUN, THREADS = 1.5, 0.5
"""Seconds of CPU, of the command's own process."""
IMPORTS = "import langgraph.graph, langchain_core.language_models"
NOTES = """\
Seconds of CPU, medians of {rounds} rounds; in brackets with the process beside it that makes the sandbox ready. It
imports pandas and matplotlib meanwhile. Byte code is there: what was run before has written it."""


def spent(process: int) -> float:
    """Seconds of CPU that a process has computed so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def below(process: int) -> list[int]:
    """The processes that a process and its children have started."""
    found: list[int] = []
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            found += [child, *below(child)]
    return found


async def until_request(home: Path) -> tuple[float, float]:
    """CPU of a run when its first request comes: of the command, and with what it has started."""
    found: list[tuple[float, float]] = []
    started: list[int] = []

    def reply(request: Request) -> Plain:
        if not found:
            own = spent(started[0])
            found.append((own, own + sum(map(spent, below(started[0])))))
        return Call("run_python", purpose="Count", code="n = 1", answer="There is {{n}}.")

    (home / "a.csv").write_text("a,b\n1,2\n")
    async with ScriptedServer(policy=reply) as server:
        environment = {
            **os.environ,
            **{"STEPWELL_HOME": str(home / "home"), "STEPWELL_MODEL": "scripted"},
            **{"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "k", "PYTHONDONTWRITEBYTECODE": ""},
        }
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "stepwell", "run", "How many?", str(home / "a.csv")),
            *("--artifacts", str(home / "out")),
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        started.append(process.pid)
        await process.wait()
    return found[0]


async def of_command(home: Path, *words: str) -> float:
    """CPU of a command from its begin to its end."""
    before = os.times()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *words),
        env={**os.environ, "STEPWELL_HOME": str(home / "home"), "PYTHONDONTWRITEBYTECODE": ""},
        stdout=subprocess.DEVNULL,
    )
    await process.wait()
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


async def measure(*, quick: bool) -> AsyncIterator[RenderableType]:
    """Measure, and print what came of it.

    Args:
        quick: One round.
    """
    runs: list[tuple[float, float]] = []
    lists: list[float] = []
    imports: list[float] = []
    rounds = 1 if quick else ROUNDS
    with tempfile.TemporaryDirectory(prefix="stepwell-bench-") as folder:
        home = Path(folder)
        await until_request(home)  # writes byte code
        await of_command(home, "-m", "stepwell", "threads")
        for _ in range(rounds):
            runs.append(await until_request(home))
            lists.append(await of_command(home, "-m", "stepwell", "threads"))
            imports.append(await of_command(home, "-c", IMPORTS))
    own, whole = (statistics.median(one[which] for one in runs) for which in (0, 1))
    listing, bare = statistics.median(lists), statistics.median(imports)
    yield aims_table(
        [
            Aim(
                f"from `stepwell run` to the request at most {RUN:g} s of CPU",
                f"{own:.2f} s ({whole:.2f} s); {own / bare:.1f}x of importing LangGraph alone, {bare:.2f} s",
                own <= RUN,
            ),
            Aim(f"`stepwell threads` at most {THREADS:g} s of CPU", f"{listing:.2f} s", listing <= THREADS),
        ],
        "Start: aims",
    )
    yield NOTES.format(rounds=rounds)
