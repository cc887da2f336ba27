"""Runs: start a turn, ask on, or resume, and follow what happens as typed events."""

import asyncio
import hashlib
import os
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, StateSnapshot

from graph.checkpoints.damage import disk_problem, reporting_damage
from graph.checkpoints.factory import open_checkpoints
from graph.checkpoints.journal import JournalError
from graph.checkpoints.saver import Saver
from graph.checkpoints.thread_lock import ThreadHeldError, ThreadHold
from graph.context import Context, stored_context
from graph.events import ApprovalAsked, Event, Failed, Finished, Notice, Started, read_event
from graph.functions.registry import HostFunction, functions_by_name
from graph.settings import NO_ISOLATION_WARNING, NotNowError, Prices, Settings, SettingsError, settings_or_default
from graph.state import Cell, Input, State
from graph.wiring import make_blobs, make_models
from models.base import ModelAccessError, ModelError
from models.messages import without_surrogates
from models.selection import PLAYBOOK
from nodes.budget import budget_reached, tokens_spent
from nodes.cell_outputs import printed_text
from nodes.direct_cells import NoCodeError, direct_question, purpose_of
from nodes.inputs import LOCAL_KIND
from nodes.plan import NoQuestionError
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Sandbox, SandboxError, SandboxRefusedError, SandboxUnavailableError
from sandboxes.host.workspace import digest
from sandboxes.network import Network
from sandboxes.opening import ID, Sandboxes
from stepwell.errors import ThreadError
from stepwell.locks import lock_thread
from stepwell.notebooks.model import KEY, ModelsOfRun, import_knobs, notebook_in, stopped_at
from stepwell.notebooks.notebook_file import Notebook
from stepwell.services import Services, open_services
from stepwell.thread_summaries import last_question, summary_of
from storage.artifacts import StorageError
from storage.blobs import BlobError
from storage.inputs import InputError

ACCEPT = "--accept-changed (accept_changed=True)"
NAMED = 5
"""Inputs that are named in one sentence."""


async def restore_inputs(
    thread: str, state: State, sandboxes: Sandboxes, snapshots: SnapshotStore, folder: Path, *, accept_changed: bool
) -> list[str]:
    """Make sure that the inputs of a thread are those that it took in.

    Those of a sandbox elsewhere are left to it: they are brought there when a cell needs them.

    Args:
        thread: Its id.
        state: Names them.
        sandboxes: Opens the thread's sandbox.
        snapshots: The store.
        folder: Where sandboxes of this machine have their folders.
        accept_changed: Whether the thread goes on although some are gone or others.

    Returns:
        What was brought back and what is not as it was, one sentence each.

    Raises:
        ThreadError: one is gone or changed, cannot be brought back, and that was not accepted.
    """
    inputs = state.get("inputs") or []
    if not inputs or state.get("sandbox", {}).get("kind") != LOCAL_KIND:
        return []
    workspace = folder / thread / "workspace"
    wrong = [one for one in inputs if not await asyncio.to_thread(_is_as_taken, workspace, one)]
    if not wrong:
        return []
    try:
        sandbox = await sandboxes.open(LOCAL_KIND, thread)
        back = [one for one in wrong if await _brought_back(sandbox, one, snapshots)]
    except SandboxError as error:
        raise ThreadError(str(error)) from None
    left = [one["path"] for one in wrong if one not in back]
    if left and not accept_changed:
        named = ", ".join(left[:NAMED]) + (f" and {len(left) - NAMED} more" if len(left) > NAMED else "")
        raise ThreadError(
            f"Thread {thread} cannot go on as it was: {named} in {workspace} is gone or was changed from outside. "
            f"Put back what was there, or go on with what is there now: {ACCEPT}."
        )
    told = [f"{one['path']} was gone or changed, and was brought back as it was taken in." for one in back]
    return told + [f"{path} is gone or was changed since it was taken in; this was accepted." for path in left]


def _is_as_taken(workspace: Path, one: Input) -> bool:
    try:
        return digest(workspace, one["path"]) == (one["size"], one["sha256"])
    except (OSError, ValueError):
        return False


async def _brought_back(sandbox: Sandbox, one: Input, snapshots: SnapshotStore) -> bool:
    scratch = await asyncio.to_thread(tempfile.TemporaryDirectory, prefix="stepwell-inputs-")
    try:
        file = Path(scratch.name) / "input"
        try:
            await snapshots.fetch_file(one["sha256"], file)
        except BlobError:
            file = Path(one["source"])
            if not await asyncio.to_thread(_is_same, file, one):
                return False
        try:
            await sandbox.put(file, one["path"])
        except (OSError, ValueError):
            return False
        return True
    finally:
        await asyncio.to_thread(scratch.cleanup)


def _is_same(file: Path, one: Input) -> bool:
    if "://" in one["source"] or not file.is_absolute():
        return False
    try:
        if not file.is_file():  # a pipe would have us wait for somebody to write to it
            return False
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest() == one["sha256"]
    except OSError:
        return False


MAX_SUPERSTEPS = 10_000
CONTEXT_KEY = "stepwell_context"
"""Where a checkpoint's metadata keeps the knobs of the run, so that resuming goes on with the same."""
NOT_BEGUN = ("__start__", "plan")
"""What a thread waits at whose newest question has not been taken up yet."""
STOPS = (
    ModelError,
    SandboxError,
    StorageError,
    JournalError,
    InputError,
    NoQuestionError,
    NoCodeError,
    SettingsError,
    ThreadHeldError,
)
"""What ends a run with one sentence and leaves the thread where it was."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What somebody decided about a plan, a cell, or a call of a host function, that waits for approval."""

    verdict: Literal["approve", "edit", "reject"]
    code: str = ""
    """With `edit`: the code to run instead; of a plan: the steps to follow instead, one a line."""
    remark: str = ""
    """With `reject`: what the model should do instead."""
    call: str = ""
    """To approve a call: the `id` of `ApprovalAsked.call`, so that no other call can be approved by mistake."""
    plan: bool = False
    """The plan is meant, and no cell: where a cell waits, the decision is refused."""


class RunFailedError(Exception):
    """A run stopped on an error; `thread` can be resumed once its cause is fixed."""

    def __init__(self, thread: str, sentence: str) -> None:
        super().__init__(sentence)
        self.thread = thread


class ApprovalNeededError(Exception):
    """A run waits for a decision about a plan, a cell or a call: `await stepwell.resume(thread, decision=…)`."""

    def __init__(self, asked: ApprovalAsked) -> None:
        call = f"The call of {asked.call['function']} in cell" if asked.call is not None else "Cell"
        what = f"{call} {asked.number}" if asked.plan is None else "The plan"
        about = asked.purpose if asked.plan is None else "; ".join(asked.plan)
        super().__init__(f"{what} of thread {asked.thread} waits for approval: {about}")
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
    functions: Sequence[Callable[..., Any] | HostFunction] = ()
    network: Network | None = None
    resumes: bool = False
    follows: bool = False
    """Whether the thread must be there already."""
    accept_changed: bool = False
    """Whether it goes on with inputs that are gone or changed."""
    notebook: Notebook | None = None
    """What is imported, instead of a question for a model."""
    code: str = ""
    """A cell of the user's own, run instead of a question; what was broken off before it is skipped."""
    services: Services | None = None
    """Opened by the caller, with these settings; None: the run opens its own, and closes them."""
    config: RunnableConfig = field(init=False)

    def __post_init__(self) -> None:
        config: RunnableConfig = {"configurable": {"thread_id": self.thread}, "recursion_limit": MAX_SUPERSTEPS}
        object.__setattr__(self, "config", config)

    async def __aiter__(self) -> AsyncIterator[Event]:
        if not ID.fullmatch(self.thread):
            raise ThreadError(f"{self.thread!r} is no thread's id; `stepwell threads` lists them.")
        settings = (await settings_or_default(self.settings)).with_network(self.network)
        ending: Event | None = None
        begun = False
        try:
            async with AsyncExitStack() as stack:
                hold, services = await self._opened(stack, settings)
                saver, sandboxes = services.saver, services.sandboxes
                models = ModelsOfRun(make_models(settings))
                graph = services.graph if self.code else services.graph_with(models)  # a cell asks no model
                if self.resumes:
                    await saver.discard_false_end(self.thread)
                with reporting_damage(self.thread):
                    before = await graph.aget_state(self.config)
                given = await self._given(before)
                knobs = self.context or stored_context(await saver.newest_metadata(self.thread, CONTEXT_KEY))
                models.notebook = await self._imported(before, saver)
                context = import_knobs(knobs) if models.notebook is not None else knobs
                if context.sandbox not in sandboxes.kinds:
                    known = ", ".join(sandboxes.kinds)
                    raise SettingsError(f"There is no sandbox of kind {context.sandbox!r}; there is: {known}.")
                goes_on = given is not before and (self.resumes or self.follows)
                await self._check_before(context, settings, models, sandboxes)
                told = await self._look_at_inputs(before, sandboxes, settings) if goes_on else []
                started, begun = time.monotonic(), True
                model = "" if self.code else context.model.strip() or settings.model.strip() or PLAYBOOK
                question = self.question or (purpose_of(self.code) if self.code else last_question(before.values))
                yield Started(self.thread, question, resumed=self.resumes, model=model)
                if settings.without_isolation and context.sandbox == "local":
                    told.insert(0, NO_ISOLATION_WARNING)
                for sentence in told:
                    yield Notice(sentence, level="warning")
                if given is not before:
                    config: RunnableConfig = {**self.config, "metadata": {CONTEXT_KEY: knobs.model_dump_json()}}
                    events = graph.astream(given, config, context=context, stream_mode="custom", durability="sync")
                    try:
                        async with aclosing(events):  # type: ignore[type-var]  # an async generator, typed as an iterator
                            async for data in hold.guarded(events):
                                yield read_event(data)
                    except STOPS as error:
                        ending = Failed(self.thread, str(error))
                    finally:  # while the thread is still held
                        await saver.holds.leave(self.thread)
                if ending is None:
                    mark, after = await saver.mark(self.thread), await graph.aget_state(self.config)
                    seconds, prices = time.monotonic() - started, settings.price_list
                    ending = ending_of(self.thread, after, seconds, model, prices)
                    await saver.keep_summary(self.thread, mark, summary_of(self.thread, after).as_text())
        except (SettingsError, OSError) as error:  # of the checkpoints or the disk, while the run went on
            said = disk_problem(error) if isinstance(error, OSError) else str(error)
            if not begun or not said:
                raise
            ending = Failed(self.thread, said)
        # Only now: whoever sees the last event may use the thread at once.
        yield ending

    async def _check_before(
        self, context: Context, settings: Settings, models: ModelsOfRun, sandboxes: Sandboxes
    ) -> None:
        """Refuse what could only fail, before a thread begins with it or keeps a question that cannot be taken up.

        Raises:
            SettingsError: the model or the sandbox cannot be had as things are set, or a budget cannot be kept.
            NotNowError: who makes the sandbox cannot be reached.
        """
        if self.resumes:
            return
        try:
            if not self.code:
                await models(context.model)
                budget_reached({}, context, settings.price_list)
            if (service := sandboxes.elsewhere.get(context.sandbox)) is not None:
                await service.check()
                await service.reach()
        except SandboxUnavailableError as error:
            raise NotNowError(str(error)) from None
        except (ModelAccessError, SandboxRefusedError) as error:
            raise SettingsError(str(error)) from None

    async def _opened(self, stack: AsyncExitStack, settings: Settings) -> tuple[ThreadHold, Services]:
        """The thread's lock, held until what the run has opened is closed, and what it works with.

        A database must be open before a lock in it can be taken.
        """
        if self.services is not None:
            hold = await stack.enter_async_context(lock_thread(self.thread, settings))
            if hold.taken_over:  # its session knows nothing of what another one did meanwhile
                await self.services.sandboxes.close(self.thread)
            return hold, self.services
        saver = await stack.enter_async_context(open_checkpoints(settings))
        hold = await stack.enter_async_context(lock_thread(self.thread, settings))
        return hold, await stack.enter_async_context(open_services(settings, self.functions, saver=saver))

    async def _imported(self, before: StateSnapshot, saver: Saver) -> Notebook | None:
        """The notebook whose cells this run goes through; None where a model is asked."""
        if not self.resumes:
            return self.notebook
        messages = before.values.get("messages") or []
        if before.next == ("__start__",):  # what was asked is not in State yet
            kept = await saver.aget_tuple(self.config)
            start = kept.checkpoint["channel_values"].get("__start__") if kept is not None else None
            messages = start.get("messages") or [] if isinstance(start, dict) else []
        return notebook_in(messages)

    async def _look_at_inputs(self, before: StateSnapshot, sandboxes: Sandboxes, settings: Settings) -> list[str]:
        snapshots, folder = SnapshotStore(make_blobs(settings)), settings.home / "threads"
        state = cast("State", before.values)
        return await restore_inputs(
            self.thread, state, sandboxes, snapshots, folder, accept_changed=self.accept_changed
        )

    async def _given(self, before: StateSnapshot) -> Any:
        """What the graph is started with; the snapshot itself when there is nothing to do but to ask again."""
        if (self.resumes or self.follows) and before.created_at is None:
            raise ThreadError(f"There is no thread {self.thread}; `stepwell threads` lists them.")
        if not self.resumes:
            # A turn that stopped before its plan (a wrong URL, a wrong key) may be asked anew, in other words.
            if is_at_question(before) and not (self.code and before.values.get("direct") and not before.interrupts):
                said = f"Thread {self.thread} is still at its last question; go on with:"
                raise ThreadError(f"{said} stepwell resume {self.thread}", f"{said} /resume")
            files = await asyncio.to_thread(lambda: [_absolute(file) for file in self.files])
            if self.code:
                return {"messages": [direct_question(self.code, self.question)], "files": files}
            carried = {KEY: self.notebook} if self.notebook is not None else {}
            return {"messages": [HumanMessage(self.question, additional_kwargs=carried)], "files": files}
        if not before.tasks:
            said = f"Thread {self.thread} is finished; ask"
            raise ThreadError(f"{said} on with: stepwell ask {self.thread} QUESTION", f"{said} another question.")
        if self.decision is not None and not before.interrupts:
            raise ThreadError(
                f"Nothing in thread {self.thread} waits for a decision; go on with: stepwell resume {self.thread}"
            )
        if not before.interrupts:
            return None
        if self.decision is None:
            return before
        return Command(resume=resume_value(self.decision, before.interrupts[0].value, self.thread))


def start(
    question: str,
    *,
    files: Sequence[str | os.PathLike[str]] = (),
    thread: str | None = None,
    context: Context | None = None,
    settings: Settings | None = None,
    functions: Sequence[Callable[..., Any] | HostFunction] = (),
    network: Network | None = None,
    accept_changed: bool = False,
    services: Services | None = None,
) -> Run:
    """A new turn, on a new thread or on `thread`, event by event: `async for event in stepwell.stream(…)`.

    Args:
        question: What the user wants to know.
        files: Local paths, folders, globs, and URLs.
        thread: An existing thread's id; its variables and files are there.
        context: The knobs of this run.
        settings: What the operator configured; None reads the environment.
        functions: What cells can call of this program.
        network: What cells may reach, before what the settings say.
        accept_changed: Whether a thread goes on with inputs that are gone or were changed from outside.
        services: Opened by the caller with these settings, and used by other runs too; None: the run opens its own.

    Raises:
        FunctionError: one of the functions cannot be offered.
        ThreadError: the question is empty.
    """
    question = without_surrogates(question)
    if not question.strip():
        raise ThreadError("The question is empty.")
    given = (files,) if isinstance(files, str | os.PathLike) else files
    return Run(
        thread or str(uuid.uuid4()),
        question,
        tuple(os.fspath(file) for file in given),
        context=context,
        settings=settings,
        functions=tuple(functions_by_name(functions).values()),
        network=network,
        follows=thread is not None,
        accept_changed=accept_changed,
        services=services,
    )


def resume(
    thread: str,
    *,
    decision: Decision | None = None,
    context: Context | None = None,
    settings: Settings | None = None,
    functions: Sequence[Callable[..., Any] | HostFunction] = (),
    network: Network | None = None,
    accept_changed: bool = False,
) -> Run:
    """Go on with a thread that was paused, stopped on an error, was killed, or waits for a decision.

    Raises:
        FunctionError: one of the functions cannot be offered.
    """
    return Run(
        thread,
        decision=decision,
        context=context,
        settings=settings,
        functions=tuple(functions_by_name(functions).values()),
        network=network,
        resumes=True,
        accept_changed=accept_changed,
    )


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


def _absolute(file: str) -> str:
    """A local path as it is from any folder: a thread may be resumed from another one."""
    return file if not file.strip() or "://" in file else os.path.abspath(os.path.expanduser(file))  # noqa: PTH100, PTH111 - following no links


def is_at_question(snapshot: StateSnapshot) -> bool:
    """Whether a thread has begun to answer a question, and has not ended yet."""
    return any(task.name not in NOT_BEGUN or task.result for task in snapshot.tasks)


def resume_value(decision: Decision, asked: dict[str, Any], thread: str) -> dict[str, str]:
    """A decision in the form that the asking node takes.

    Raises:
        ThreadError: it is about something else than what waits.
    """
    call = asked.get("call")
    if "plan" in asked:
        if decision.call:
            raise ThreadError(f"No call of thread {thread} waits for approval, but a plan does.")
        return {"verdict": decision.verdict, "plan": decision.code, "remark": decision.remark}
    if decision.plan:
        what = f"call {call['id']} of {call['function']}" if call else f"cell {asked['number']}"
        raise ThreadError(f"No plan of thread {thread} waits for approval, but {what} does.")
    if call is None:
        if decision.call:
            raise ThreadError(f"No call of thread {thread} waits for approval, but cell {asked['number']} does.")
        return {"verdict": decision.verdict, "code": decision.code, "remark": decision.remark}
    waits = f"What waits in thread {thread} is call {call['id']} of {call['function']}"
    if decision.verdict == "edit":
        raise ThreadError(f"{waits}; a call cannot be edited: approve it, or reject it with a remark.")
    if decision.verdict == "approve" and not decision.call:
        raise ThreadError(f"{waits}, and no cell; look at it, and approve it with: --approve-call {call['id']}")
    if decision.call not in ("", call["id"]):
        raise ThreadError(f"{waits}, and not {decision.call}; look at it before you decide.")
    return {"verdict": decision.verdict, "remark": decision.remark, "call": call["id"]}


def ending_of(
    thread: str, snapshot: StateSnapshot, seconds: float, model: str = "", prices: Prices | None = None
) -> Event:
    """The last event of a run that has left a thread like this."""
    if snapshot.tasks and not snapshot.interrupts:
        return Failed(thread, "The run ended before the turn did.")
    if snapshot.interrupts:
        asked = snapshot.interrupts[0].value
        cells = snapshot.values.get("cells") or []
        last = cells[-1] if cells and cells[-1]["turn"] == snapshot.values.get("turn") else None
        return ApprovalAsked(
            thread,
            number=asked.get("number", len(cells) + 1),
            purpose=asked.get("purpose", ""),
            code=asked.get("code", ""),
            answer=asked.get("answer", ""),
            back_to=asked.get("back_to"),
            functions=list(asked.get("functions") or []),
            plan=asked.get("plan"),
            call=asked.get("call"),
            printed_by=last["number"] if last is not None else 0,
            printed=printed_text(last) if last is not None else "",
        )
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
        model=model,
        cost=prices.cost(spent_in, spent_out) if prices is not None and model not in ("", PLAYBOOK) else None,
        stopped_at=stopped_at(state),
        none_read=bool(state.get("none_read")) and not any(_is_good(cell, state) for cell in state.get("cells") or []),
    )


def _is_good(cell: Cell, state: State) -> bool:
    """Whether a cell of this turn has succeeded: it may have read what the profile did not know."""
    return cell["turn"] == state.get("turn") and cell["status"] == "ok"
