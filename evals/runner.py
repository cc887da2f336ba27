"""Runs each task as a thread with an id that stays the same, so that a broken-off evaluation goes on where it was."""

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

import fsspec

import stepwell
from evals.dseval.scoring import score_problems
from evals.published_rules import score_by_rule
from evals.results import Result
from evals.scoring import Part, score_files
from evals.tasks import Expected, Task
from graph.state import State
from nodes.direct_cells import DIRECT_QUESTION, goes_on_directly
from sandboxes.base import SandboxError
from stepwell.errors import UsageError
from stepwell.runs import finish
from stepwell.threads import ThreadDetail, read_thread

THREADS = uuid.UUID("6f2d1c7e-2f0b-5d0e-9a3c-7b1f6f0d4e11")
"""The names of the threads of evaluations are hashed below it."""
MAX_FILE_BYTES = 50_000_000
"""Of a delivered file, so much is read."""


class DeliveryError(Exception):
    """A file that was delivered is too large to be scored."""


class SetCodeError(Exception):
    """What a suite runs before a question fails."""


def thread_of(run: str, task: str) -> str:
    """The id of the thread that a task of a run is."""
    return str(uuid.uuid5(THREADS, f"{run}\n{task}"))


@dataclass(frozen=True, slots=True)
class Runner:
    """Brings tasks to their ends and scores them."""

    run: str
    """The name of the evaluation; the threads' ids come from it."""
    settings: stepwell.Settings
    context: stepwell.Context

    async def result_of(self, task: Task) -> Result:
        """Run what is still to run of a task, and score it.

        Raises:
            UsageError: its thread asked something else.
        """
        thread = thread_of(self.run, task.id)
        seconds = 0.0
        try:
            while (asked := await self._next(thread, task)) is not None:
                seconds += (await finish(asked)).seconds
        except (stepwell.RunFailedError, stepwell.ThreadError) as error:
            return await self._broken_off(task, thread, str(error))
        except stepwell.ApprovalNeededError as error:
            return await self._broken_off(task, thread, f"{error} Run evaluations without approval.")
        except SetCodeError as error:
            return await self._broken_off(task, thread, str(error))
        detail = await read_thread(thread, self.settings)
        if task.problems:
            return await self._checked(task, thread, detail, seconds or None)
        try:
            parts = await self._parts(task, detail)
        except (OSError, DeliveryError) as error:
            return await self._broken_off(task, thread, f"A delivered file cannot be scored: {error}")
        return self._measured(task, thread, detail, parts, seconds or None)

    async def _checked(self, task: Task, thread: str, detail: ThreadDetail, seconds: float | None) -> Result:
        """The result of a task whose session is compared with that of reference code."""
        try:
            found = await score_problems(thread, task.problems, self.settings, timeout=float(self.context.cell_timeout))
        except SandboxError as error:
            return await self._broken_off(task, thread, f"The session cannot be checked: {error}")
        measured = self._measured(task, thread, detail, found.parts, seconds)
        return measured.without(found.unchecked)

    async def _next(self, thread: str, task: Task) -> stepwell.Run | None:
        """What the thread does next; None when all its questions are answered."""
        try:
            detail = await read_thread(thread, self.settings)
        except stepwell.ThreadError:
            code = _wanted(task)[0].code
            asked = "" if code else task.questions[0]
            return stepwell.Run(thread, asked, task.files, context=self.context, settings=self.settings, code=code)
        if detail.status != "finished":
            return stepwell.Run(thread, context=self.context, settings=self.settings, resumes=True)
        wanted, turns = _wanted(task), _asked(detail.state)
        if turns != [one.question for one in wanted[: len(turns)]]:
            raise UsageError(
                f"Thread {thread} of task {task.id} was asked something else than the suite says now; give this "
                f"evaluation another --name."
            )
        if turns[-1:] == [DIRECT_QUESTION] and (failed := detail.state["cells"][-1])["status"] != "ok":
            raise SetCodeError(f"The set's own code fails here: {failed['error'] or failed['status']}")
        if len(turns) == len(wanted):
            return None
        question, code = wanted[len(turns)].question, wanted[len(turns)].code
        return stepwell.Run(
            thread,
            "" if code else question,
            context=self.context,
            settings=self.settings,
            follows=True,
            code=code,
        )

    async def _parts(self, task: Task, detail: ThreadDetail) -> list[Part]:
        turns = detail.state.get("turns") or []
        parts: list[Part] = []
        for turn, expected in zip(turns, task.expected, strict=True):
            if expected is not None:
                parts += score_by_rule(turn["answer"], expected)
                parts += score_files(await self._delivered(detail, expected), expected)
        return parts

    async def _delivered(self, detail: ThreadDetail, expected: Expected) -> dict[str, bytes]:
        wanted = {file.name for file in expected.files}
        found = [one for one in detail.state.get("artifacts") or [] if one["name"] in wanted]
        return {one["name"]: await asyncio.to_thread(_read, one["url"]) for one in found}

    def _measured(
        self, task: Task, thread: str, detail: ThreadDetail | None, parts: Sequence[Part], seconds: float | None
    ) -> Result:
        state = detail.state if detail is not None else {}
        usage = list((state.get("usage") or {}).values())
        tokens_in, tokens_out = sum(row["input_tokens"] for row in usage), sum(row["output_tokens"] for row in usage)
        prices = self.settings.price_list
        wrong = next((part for part in parts if not part.right), None)
        return Result(
            task=task.id,
            thread=thread,
            status="right" if wrong is None else "wrong",
            why="" if wrong is None else f"expected {wrong.expected}, got {wrong.got or 'nothing'}",
            parts=len(parts),
            parts_right=sum(part.right for part in parts),
            input_tokens=tokens_in,
            output_tokens=tokens_out,
            calls=sum(row["calls"] for row in usage),
            cells=len(state.get("cells") or []),
            cost=prices.cost(tokens_in, tokens_out) if prices is not None else None,
            seconds=seconds,
            estimated=any(row["estimated"] for row in usage),
            cached_tokens=sum(row.get("cached_tokens", 0) for row in usage),
        )

    async def _broken_off(self, task: Task, thread: str, why: str) -> Result:
        try:
            detail = await read_thread(thread, self.settings)
        except stepwell.ThreadError:
            detail = None
        measured = self._measured(task, thread, detail, [], None)
        return measured.broken_off(why)


@dataclass(frozen=True, slots=True)
class _Turn:
    """One turn of a task."""

    question: str
    """As the thread has it."""
    code: str = ""
    """The cell that is run instead of asking."""


def _wanted(task: Task) -> list[_Turn]:
    """The turns that a task's thread is to have."""
    found: list[_Turn] = []
    for place, question in enumerate(task.questions):
        if task.problems and (code := task.problems[place].before):
            found.append(_Turn(DIRECT_QUESTION, code))
        found.append(_Turn(question))
    return found


def _asked(state: State) -> list[str]:
    """The questions of the turns that are over; cells of the suite's own are one that goes on."""
    turns = [turn["question"] for turn in state.get("turns") or []]
    return [*turns, DIRECT_QUESTION] if goes_on_directly(state) else turns


def _read(url: str) -> bytes:
    with fsspec.open(url, "rb") as stream:
        content = stream.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise DeliveryError(f"{url} is larger than {MAX_FILE_BYTES // 1_000_000} MB.")
    return bytes(content)
