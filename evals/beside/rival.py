"""Has smolagents answer the tasks of a suite, in a process and a folder of its own for each, and scores the answers.

Its code runs on this machine without a sandbox: that is how it is made. A task that has ended is not asked again.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import stepwell
from evals.beside import agent_program
from evals.published_rules import score_by_rule
from evals.results import Result, read_results
from evals.scoring import Part, score_files
from evals.tasks import Task
from models.providers import ENDPOINT, split_name
from models.selection import NO_KEY_NEEDED, PLAYBOOK
from sandboxes.host.scratch import held_folder
from stepwell.errors import UsageError

MAX_STEPS = 20
"""As smolagents has it by default."""
PRESENT = "import smolagents, openai; print(smolagents.__version__)"
MAX_FILE_BYTES = 50_000_000


class BrokenOffError(Exception):
    """A task did not come to its end; the message says why."""


async def version(python: str) -> str:
    """The version of smolagents that a Python has.

    Raises:
        UsageError: it has none, or is no Python.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            python, "-c", PRESENT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
    except OSError as error:
        raise UsageError(f"{python} cannot be run ({error.strerror}); name a Python with --beside-python.") from None
    said, _ = await process.communicate()
    if process.returncode:
        raise UsageError(
            f"{python} has no smolagents; make an environment with smolagents[openai] and the packages that the tasks "
            "need, and name its Python with --beside-python."
        )
    return said.decode().strip()


def endpoint_model(name: str) -> str:
    """The model's name at the OpenAI-compatible endpoint.

    Raises:
        UsageError: it is elsewhere, or is no language model.
    """
    provider, rest = split_name(name)
    if name == PLAYBOOK or provider not in ENDPOINT:
        raise UsageError(
            f"smolagents can be asked beside Stepwell at an OpenAI-compatible endpoint alone, not with {name}; "
            "name a model there with --model."
        )
    return rest


@dataclass(frozen=True, slots=True)
class Rival:
    """smolagents at the endpoint that Stepwell asks."""

    run: str
    """The name of its evaluation."""
    folder: Path
    """Where its results are."""
    python: str
    settings: stepwell.Settings
    context: stepwell.Context
    model: str
    """Its name at the endpoint."""

    async def result_of(self, task: Task) -> Result:
        """Ask it, unless it has answered before, and score what it says."""
        known = (await asyncio.to_thread(read_results, self.folder)).get(task.id)
        if known is not None and known.status != "broken off":
            return known
        began = time.monotonic()
        said: list[dict[str, Any]] = []
        parts: list[Part] = []
        why = ""
        with held_folder("beside") as work:
            try:
                await self._ask(task, work, said)
                delivered = await asyncio.to_thread(_delivered, work / "outputs")
                for turn, expected in zip(said, task.expected, strict=True):
                    if expected is not None:
                        parts += score_by_rule(turn["answer"], expected)
                        parts += score_files(delivered, expected)
            except BrokenOffError as error:
                why = str(error)
        return _result(task, said[-1] if said else {}, parts, time.monotonic() - began, why, self.settings)

    async def _ask(self, task: Task, work: Path, said: list[dict[str, Any]]) -> None:
        names = await asyncio.to_thread(_lay_out, task.files, work)
        asked = {
            "questions": task.questions,
            "files": names,
            "model": self.model,
            "base_url": self.settings.openai_base_url,
            "api_key": self.settings.openai_api_key.get_secret_value() or NO_KEY_NEEDED,
            "timeout": self.settings.model_timeout,
            "max_steps": MAX_STEPS,
            "cell_timeout": int(self.context.cell_timeout),
        }
        process = await asyncio.create_subprocess_exec(
            self.python,
            agent_program.__file__,
            cwd=work,
            env={**os.environ, "MPLBACKEND": "agg", "PYTHONWARNINGS": "ignore"},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(asked).encode() + b"\n")  # and left open: it ends when that is closed
            out, err = await asyncio.gather(_whole(process.stdout), _whole(process.stderr))
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # and what its code has started
            await process.wait()
        _read(out, err, said)
        if len(said) < len(task.questions):
            raise BrokenOffError("It ended without an answer to each question.")


async def _whole(stream: asyncio.StreamReader | None) -> bytes:
    return await stream.read() if stream is not None else b""


def _read(out: bytes, err: bytes, said: list[dict[str, Any]]) -> None:
    for line in out.decode(errors="replace").splitlines():
        try:
            report = json.loads(line)
        except ValueError:
            continue
        if "failed" in report:
            raise BrokenOffError(str(report["failed"]))
        if isinstance(report.get("answer"), str):
            said.append(report)
    if not said and (lines := err.decode(errors="replace").strip().splitlines()):
        raise BrokenOffError(lines[-1][:500])


def _lay_out(files: tuple[str, ...], work: Path) -> list[str]:
    for name in ("inputs", "outputs"):
        (work / name).mkdir()
    return [str(Path(shutil.copy(file, work / "inputs")).relative_to(work)) for file in files]


def _delivered(folder: Path) -> dict[str, bytes]:
    """What it wrote; symbolic links and what is too large are no deliveries."""
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= MAX_FILE_BYTES
    }


def _result(
    task: Task, last: dict[str, Any], parts: list[Part], seconds: float, why: str, settings: stepwell.Settings
) -> Result:
    wrong = next((part for part in parts if not part.right), None)
    tokens_in, tokens_out = int(last.get("input_tokens", 0)), int(last.get("output_tokens", 0))
    prices = settings.price_list
    found = Result(
        task=task.id,
        thread="",
        status="right" if wrong is None else "wrong",
        why="" if wrong is None else f"expected {wrong.expected}, got {wrong.got or 'nothing'}",
        parts=len(parts),
        parts_right=sum(part.right for part in parts),
        input_tokens=tokens_in,
        output_tokens=tokens_out,
        calls=int(last.get("calls", 0)),
        cells=int(last.get("cells", 0)),
        cost=prices.cost(tokens_in, tokens_out) if prices is not None else None,
        seconds=seconds,
    )
    return found.broken_off(why) if why else found


def warn(version: str) -> None:
    """Say what is about to happen."""
    sys.stderr.write(f"smolagents {version} answers too; its code runs on this machine, without a sandbox.\n")
