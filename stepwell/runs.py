"""Runs: start a turn, ask on, or resume, and follow what happens as typed events."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, StateSnapshot

from graph.checkpoints import open_checkpoints
from graph.context import Context
from graph.events import ApprovalAsked, Event, Failed, Finished, Started, read_event
from graph.settings import Settings, SettingsError, given_or_read
from graph.wiring import make_blobs, make_sandboxes, wire
from models.base import ModelError
from nodes.plan import NoQuestionError
from nodes.spending import tokens_spent
from sandboxes.base import SandboxError
from stepwell.thread_error import ThreadError
from stepwell.thread_lock import alone_on
from storage.artifacts import Artifacts, StorageError
from storage.inputs import InputError

MAX_SUPERSTEPS = 10_000
CONTEXT_KEY = "stepwell_context"
"""Where a checkpoint's metadata keeps the knobs of the run, so that resuming goes on with the same."""
STOPS = (ModelError, SandboxError, StorageError, InputError, NoQuestionError, SettingsError)
"""What ends a run with one sentence and leaves the thread where it was."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What somebody decided about a cell that waits for approval."""

    verdict: Literal["approve", "edit", "reject"]
    code: str = ""
    """With `edit`: the code to run instead."""
    remark: str = ""
    """With `reject`: what the model should do instead."""


class RunFailedError(Exception):
    """A run stopped on an error; `thread` can be resumed once its cause is mended."""

    def __init__(self, thread: str, sentence: str) -> None:
        super().__init__(sentence)
        self.thread = thread


class ApprovalNeededError(Exception):
    """A run waits for a decision about a cell: `await stepwell.resume(thread, decision=…)`."""

    def __init__(self, asked: ApprovalAsked) -> None:
        super().__init__(f"Cell {asked.number} of thread {asked.thread} waits for approval: {asked.purpose}")
        self.asked = asked


@dataclass(frozen=True)
class Run:
    """One turn, or the rest of one: iterate it for its events; cancel the iterating task to pause it.

    It ends with `Finished`, `ApprovalAsked` or `Failed`. Before anything has started it raises `ThreadError` or
    `SettingsError` instead.
    """

    thread: str
    question: str = ""
    files: Sequence[str] = ()
    decision: Decision | None = None
    context: Context | None = None
    settings: Settings | None = None
    resumes: bool = False
    config: RunnableConfig = field(init=False)

    def __post_init__(self) -> None:
        config: RunnableConfig = {"configurable": {"thread_id": self.thread}, "recursion_limit": MAX_SUPERSTEPS}
        object.__setattr__(self, "config", config)

    async def __aiter__(self) -> AsyncIterator[Event]:
        settings = await given_or_read(self.settings)
        sandboxes = make_sandboxes(settings)
        ending: Event | None = None
        async with alone_on(self.thread, settings.home), open_checkpoints(settings.home) as saver, sandboxes:
            artifacts = await asyncio.to_thread(Artifacts.at, settings.artifacts)
            builder = wire(settings, sandboxes, artifacts=artifacts, blobs=make_blobs(settings), input_roots=None)
            graph = builder.compile(checkpointer=saver, name="stepwell")
            before = await graph.aget_state(self.config)
            given = self._given(before)
            context = self.context or _context_of(before)
            if context.sandbox not in sandboxes.kinds:
                known = ", ".join(sandboxes.kinds)
                raise SettingsError(f"There is no sandbox of kind {context.sandbox!r}; there is: {known}.")
            started = time.monotonic()
            question = self.question or str(before.values.get("question") or "")
            yield Started(self.thread, question, resumed=self.resumes)
            if given is not before:
                config: RunnableConfig = {**self.config, "metadata": {CONTEXT_KEY: context.model_dump_json()}}
                events = graph.astream(given, config, context=context, stream_mode="custom", durability="sync")
                try:
                    async with aclosing(events):  # type: ignore[type-var]  # an async generator, typed as an iterator
                        async for data in events:
                            yield read_event(data)
                except STOPS as error:
                    ending = Failed(self.thread, str(error))
            if ending is None:
                ending = _ending(self.thread, await graph.aget_state(self.config), time.monotonic() - started)
        # Only now: whoever sees the last event may use the thread at once.
        yield ending

    def _given(self, before: StateSnapshot) -> Any:
        """What the graph is started with; the snapshot itself when there is nothing to do but to ask again."""
        if not self.resumes:
            if before.tasks:
                raise ThreadError(
                    f"Thread {self.thread} is still at its last question; go on with: stepwell resume {self.thread}"
                )
            return {"messages": [HumanMessage(self.question)], "files": list(self.files)}
        if before.created_at is None:
            raise ThreadError(f"There is no thread {self.thread}; `stepwell threads` lists them.")
        if not before.tasks:
            raise ThreadError(f"Thread {self.thread} is finished; ask on with: stepwell ask {self.thread} QUESTION")
        if not before.interrupts:
            return None
        if self.decision is None:
            return before
        return Command(
            resume={"verdict": self.decision.verdict, "code": self.decision.code, "remark": self.decision.remark}
        )


def start(
    question: str,
    *,
    files: Sequence[str] = (),
    thread: str | None = None,
    context: Context | None = None,
    settings: Settings | None = None,
) -> Run:
    """A new turn: on a new thread, or a further question on `thread`.

    Args:
        question: What the user wants to know.
        files: Local paths, folders, globs, and URLs.
        thread: An existing thread's id; its variables and files are there.
        context: The knobs of this run.
        settings: What the operator configured; None reads the environment.

    Raises:
        ThreadError: the question is empty.
    """
    if not question.strip():
        raise ThreadError("The question is empty.")
    return Run(thread or str(uuid.uuid4()), question, tuple(files), context=context, settings=settings)


def resume(
    thread: str,
    *,
    decision: Decision | None = None,
    context: Context | None = None,
    settings: Settings | None = None,
) -> Run:
    """Go on with a thread that was paused, stopped on an error, was killed, or waits for a decision."""
    return Run(thread, decision=decision, context=context, settings=settings, resumes=True)


async def finish(run: Run) -> Finished:
    """Follow a run to its end.

    Raises:
        RunFailedError: it stopped on an error.
        ApprovalNeededError: a cell waits for a decision.
    """
    async with aclosing(run.__aiter__()) as events:  # type: ignore[type-var]  # an async generator, typed as an iterator
        async for event in events:
            match event:
                case Finished():
                    return event
                case ApprovalAsked():
                    raise ApprovalNeededError(event)
                case Failed():
                    raise RunFailedError(event.thread, event.error)
    raise RunFailedError(run.thread, "The run ended without an answer.")


def _context_of(snapshot: StateSnapshot) -> Context:
    """The knobs that the thread's last run had."""
    kept = (snapshot.metadata or {}).get(CONTEXT_KEY)
    return Context.model_validate_json(kept) if isinstance(kept, str) else Context()


def _ending(thread: str, snapshot: StateSnapshot, seconds: float) -> Event:
    if snapshot.interrupts:
        asked = snapshot.interrupts[0].value
        return ApprovalAsked(thread, number=asked["number"], purpose=asked["purpose"], code=asked["code"])
    state: Any = snapshot.values
    spent_in, spent_out = tokens_spent(state)
    return Finished(
        thread,
        answer=state.get("answer") or "",
        artifacts=list(state.get("artifacts") or []),
        concerns=list(state.get("concerns") or []),
        cells=len(state.get("cells") or []),
        input_tokens=spent_in,
        output_tokens=spent_out,
        seconds=round(seconds, 3),
    )
