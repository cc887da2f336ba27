"""Scores the problems of a thread: runs the reference code in a sandbox of its own and compares the two sessions."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evals.scoring import Part
from evals.tasks import Problem
from graph.settings import Settings
from graph.state import Cell, State
from graph.wiring import make_blobs
from nodes.direct_cells import DIRECT_QUESTION
from nodes.restoration.earlier_steps import EarlierSteps
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Sandbox
from sandboxes.results import CellResult
from stepwell.ephemeral import ephemeral_sandbox
from stepwell.steps import StepState, state_at_step
from stepwell.threads import open_graph

INSIDE = Path(__file__).with_name("inside")
MODULES = ("matching", "checking")
PACKAGE = "stepwell_checks"
SAYS = "stepwell-verdict: "
INSTALL = """
def _install(sources):
    import sys, types
    package = sys.modules[{package!r}] = types.ModuleType({package!r})
    package.__path__ = []
    for name, source in sources.items():
        module = sys.modules[f"{package}.{{name}}"] = types.ModuleType(f"{package}.{{name}}")
        module.__package__ = {package!r}
        exec(compile(source, f"{{name}}.py", "exec"), vars(module))
_install({sources!r})
del _install
"""
CHECKING = f'__import__("sys").modules["{PACKAGE}.checking"]'
BEGIN = f"{CHECKING}.begin()"
JUDGE = f"print({SAYS!r} + {CHECKING}.judge({{spec!r}}, {{given!r}}))"


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What came of the problems of a thread."""

    parts: tuple[Part, ...]
    """Those that could be checked."""
    unchecked: tuple[str, ...]
    """Why the others could not be, one text each."""


async def score_problems(thread: str, problems: Sequence[Problem], settings: Settings, *, timeout: float) -> Verdicts:
    """Check the session after each question of a thread.

    Args:
        thread: It has answered them all.
        problems: One for each question.
        settings: Where it is kept.
        timeout: Seconds that reference code and a check may take.

    Raises:
        SandboxError: there is no sandbox for that.
    """
    parts: list[Part] = []
    unchecked: list[str] = []
    async with open_graph(settings) as (graph, sandboxes):
        place = await state_at_step(graph, thread, None)
        async with ephemeral_sandbox(settings, sandboxes, place.state) as there:
            session = _Reference(there.sandbox, place, SnapshotStore(make_blobs(settings)), timeout)
            await session.install()
            for number, (turn, problem) in enumerate(zip(_turns(place.state), problems, strict=True), 1):
                wrong, why = await session.judge(problem, turn)
                if why:
                    unchecked.append(f"problem {number}: {why}")
                else:
                    parts.append(Part(f"problem {number} as its reference code", wrong, right=not wrong))
    return Verdicts(tuple(parts), tuple(unchecked))


def _turns(state: State) -> list[int]:
    """The numbers of the turns that a question of the suite began."""
    return [turn["number"] for turn in state.get("turns") or [] if turn["question"] != DIRECT_QUESTION]


class _Reference:
    """The session in which the reference code runs.

    Args:
        sandbox: A new one, with the inputs.
        place: The answering thread, at its end.
        snapshots: Where its steps are.
        timeout: Seconds that a cell may take.
    """

    def __init__(self, sandbox: Sandbox, place: StepState, snapshots: SnapshotStore, timeout: float) -> None:
        self._sandbox = sandbox
        self._cells: list[Cell] = place.state.get("cells") or []
        self._steps = EarlierSteps(None, sandbox, self._cells, snapshots, place.given_up)
        self._timeout = timeout
        self._number = 0
        self._broken = ""

    async def install(self) -> None:
        """Have the session know what compares."""
        sources = {name: await asyncio.to_thread((INSIDE / f"{name}.py").read_text, "utf-8") for name in MODULES}
        done = await self._run(INSTALL.format(package=PACKAGE, sources=sources))
        if done.status != "ok":
            self._broken = f"what compares cannot be run in the sandbox: {_error_of(done)}"

    async def judge(self, problem: Problem, turn: int) -> tuple[str, str]:
        """Run a problem's code and compare.

        Returns:
            What is wrong with the answer, and why it cannot be told; both empty where it is right.
        """
        for code in (problem.before, BEGIN, problem.reference):
            if code and not self._broken:
                done = await self._run(code)
                if done.status != "ok":
                    self._broken = f"the set's own code fails here: {_error_of(done)}"
        if self._broken or problem.unsupported:
            return "", self._broken or f"{problem.unsupported} is not supported"
        given = json.dumps({**self._answered(turn), "forbidden": problem.forbidden})
        done = await self._run(JUDGE.format(spec=json.dumps(problem.checks), given=given))
        said = done.stdout.text.rpartition(SAYS)[2]
        try:
            verdict = json.loads(said) if done.status == "ok" else {}
            return str(verdict["wrong"]), str(verdict["unchecked"])
        except (ValueError, KeyError, TypeError):
            # The check ran code of the answer's, which may end the session or print what it likes.
            if not done.variables_kept:
                self._broken = "a check before it ended the session"
            return "", f"the check did not end: {_error_of(done)}"

    def _answered(self, turn: int) -> dict[str, object]:
        before = [cell for cell in self._cells if cell["turn"] < turn]
        own = [cell for cell in self._cells if cell["turn"] == turn]
        written = [cell for cell in own if cell["code"].strip() and cell["status"] != "rejected"]
        last = written[-1] if written else None
        return {
            "before": before[-1]["number"] if before else 0,
            "after": [*before, *own][-1]["number"] if before or own else 0,
            "failed": last["error"] or last["status"] if last is not None and last["status"] != "ok" else "",
            "valued": last is not None and any(one["kind"] == "result" for one in last.get("outputs") or []),
            "code": [cell["code"] for cell in written],
        }

    async def _run(self, code: str) -> CellResult:
        self._number += 1
        return await self._sandbox.run(code, number=self._number, timeout=self._timeout, functions=self._steps)


def _error_of(done: CellResult) -> str:
    return f"{done.error.name}: {done.error.message}" if done.error is not None else done.note or done.status
