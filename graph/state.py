"""What a checkpoint holds of an analysis: TypedDicts of JSON-shaped values, and nothing else.

A class in a checkpoint ties old data to today's module names, so what lives for one call only is a frozen
dataclass elsewhere (`sandboxes.base`, `graph.events`), and a node turns the second into the first.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired

from langchain_core.messages import AnyMessage
from langgraph.channels import DeltaChannel
from langgraph.graph.message import _messages_delta_reducer
from langgraph.graph.ui import UIMessage
from pydantic import Field
from typing_extensions import (
    TypedDict,
)

SNAPSHOT_EVERY = 250
"""Writes between full copies of a growing channel: a 200-cell analysis stays at a few MB of checkpoints."""

CellStatus = Literal["ok", "error", "timeout", "killed", "rejected", "unknown"]
"""How a cell ended. `rejected`: refused by the user, never ran. `unknown`: it was started, and nobody saw it end."""


class Usage(TypedDict):
    """Model calls and tokens of one node."""

    calls: int
    input_tokens: int
    output_tokens: int
    estimated: bool
    """True when the endpoint reported nothing and some tokens were counted as characters / 4."""
    cached_tokens: NotRequired[int]
    """Of the input tokens, those that the endpoint had in its cache; not there where it had none, or says nothing."""


class SandboxRef(TypedDict):
    """Which sandbox holds this analysis, and in which state it must be before the next cell."""

    kind: str
    id: str
    snapshot: str
    """Names the state after the last cell: its snapshot's id, or a hash over the cells when it has none."""


class Environment(TypedDict):
    """What the sandbox's Python has to offer, as told to the model."""

    python: str
    packages: dict[str, str]
    fonts: list[str]
    """Font families with Chinese, Japanese or Korean glyphs."""


class Input(TypedDict):
    """A file that the user brought."""

    path: str
    """Where it lies in the workspace: `inputs/…`."""
    source: str
    """What the user named: a local path or a URL."""
    size: int
    sha256: str
    abstract: str
    """What the profile says of it, bounded."""
    problem: str
    """Why it cannot be read, in one sentence; empty when it can."""


class PlanStep(TypedDict):
    """One thing to do."""

    text: str
    done: bool
    """True once a cell that works on it ended well."""


class AskedCall(TypedDict):
    """A call of a host function that waits for somebody's decision."""

    id: str
    """Names it in the decision: this call is approved, and no other."""
    function: str
    digest: str
    """Of the function's name and of the arguments, byte by byte."""
    nth: int
    """Which of the cell's calls with this digest it is, from 1."""
    arguments: list[str]
    """As people read them, one line each; of what is long the beginning, the size and the hash."""
    place: str
    """Where in the code it was called, as the sandbox says."""


class DecidedCall(TypedDict):
    """What somebody decided about a call."""

    function: str
    digest: str
    nth: int
    verdict: Literal["approve", "reject"]
    remark: str


class CallRecord(TypedDict):
    """Where the journal has the calls that a held cell has made."""

    checkpoint: str
    """The one that the cell started from."""
    cell: str
    calls: int
    """How many there are."""


class HeldCell(TypedDict):
    """What is known of a cell that was ended at a call that needs approval."""

    code: str
    """The SHA-256 of its code; of other code nothing here is true."""
    asked: AskedCall | None
    """The call that waits; None once it is decided."""
    decided: list[DecidedCall]
    records: list[CallRecord]
    made: list[str]
    """The calls that it has made, a line each."""


class HumanCode(TypedDict):
    """Who wrote the code of a cell, or changed it before it ran, where that was not the model."""

    by: str
    """The id of a user; empty where nobody is told from others."""
    original: str
    """The code before they changed it; empty where all of it is theirs."""


class Pending(TypedDict):
    """A cell that is written and has not run yet."""

    purpose: str
    code: str
    step: int
    """The plan step that it works on, from 1; 0 when it names none."""
    thought: str
    """What the model said beside the code."""
    call_id: str
    """The tool call that a tool message must answer; empty when the conversation shows none, as for the cell that only
    computes the values of an answer."""
    answer: NotRequired[str]
    """The answer that it gives when it ends well, with placeholders that are evaluated after it."""
    skipped: NotRequired[list[str]]
    """Plan steps that this answer says it left out."""
    planned: NotRequired[bool]
    """True where the plan of the turn came with it."""
    back_to: NotRequired[int]
    """The earlier cell that it starts after, and not after the last one; 0: the beginning."""
    edited: NotRequired[HumanCode]
    held: NotRequired[HeldCell]
    """Set once it was ended at a call that needs approval; it runs again from before it."""


class Variable(TypedDict):
    """One row of the namespace table."""

    name: str
    kind: str
    """Its type. Not called `type`: LangGraph takes a dict with that key in a delta channel for a message."""
    summary: str


class FileChange(TypedDict):
    """A workspace file that a cell made, changed or removed."""

    path: str
    change: Literal["created", "changed", "deleted"]
    size: int


class LostName(TypedDict):
    """A variable that a snapshot could not keep."""

    name: str
    type: str
    reason: str


class ProofDifference(TypedDict):
    """Something that a trial restore of a step did not bring back as it was."""

    name: str
    """The variable, the setting, or the path of the file."""
    how: str
    """In words, to be read after the name: `comes back detached from f`."""


class Proof(TypedDict):
    """What came of restoring a step on trial."""

    cell: int
    snapshot: str
    outcome: Literal["proved", "differs", "not proved"]
    differs: list[ProofDifference]
    compared: int
    """Variables, settings and files that were compared."""
    skipped: list[str]
    """Variables that cannot be compared."""
    why: str
    """Why it is not proved."""
    seconds: float
    cpu: float
    """Seconds of a processor."""


class AnswerValue(TypedDict):
    """A value of an answer that was computed, not typed."""

    expression: str
    format: str
    text: str
    """What stands in the answer."""


class CellOutput(TypedDict):
    """One output of a cell, cut to what a page or a notebook shows of it."""

    kind: Literal["stdout", "stderr", "result", "display", "figure", "error"]
    """`result`: the value of its last expression. Called `kind`: see `Variable`."""
    text: str
    """As it was printed; of an error the traceback."""
    html: NotRequired[str]
    """As the object itself wrote it: whoever shows it must make it harmless first."""
    path: NotRequired[str]
    """The workspace path of its picture."""


class Cell(TypedDict):
    """One piece of code run once, and its result, cut to the size of an observation."""

    number: int
    """From 1, within the thread."""
    turn: int
    step: int
    purpose: str
    thought: str
    code: str
    status: CellStatus
    observation: str
    """What the model is shown of the result."""
    error: str
    """`NameError: name 'x' is not defined`, or empty."""
    seconds: float
    files: list[FileChange]
    figures: list[str]
    """Workspace paths of the figures that it drew."""
    outputs: NotRequired[list[CellOutput]]
    """What it printed and showed, apart and in order, for people; missing when that is nothing, and in threads of older
    versions, whose `observation` has it in one text."""
    snapshot: NotRequired[str]
    """The snapshot of variables and files after it; empty or missing when there is none: then the step is rebuilt by
    running cells again."""
    snapshot_bytes: NotRequired[int]
    """What the snapshot added to the store."""
    lost: NotRequired[list[LostName]]
    """Variables that exist after the cell and are not in the snapshot."""
    reached: NotRequired[list[str]]
    """What it reached outside of the sandbox, as far as that was seen; missing when that is nothing."""
    calls: NotRequired[list[str]]
    """The host functions that it called, a line each; missing when there are none."""
    planned: NotRequired[bool]
    """True where the plan of the turn came with it."""
    back_to: NotRequired[int]
    """The cell that it started after, where that is not the one before it: what lies between is left aside."""
    edited: NotRequired[HumanCode]
    """Set where its code is not the model's own."""
    answer: NotRequired[str]
    """The answer that came with it, with its placeholders."""
    values: NotRequired[list[AnswerValue]]
    """What they became, in their order; missing when one failed."""


class Review(TypedDict):
    """An answer that was not good enough, and what it lacks."""

    after_cell: int
    answer: str
    missing: list[str]
    round: int


class Turn(TypedDict):
    """One user message, and its answer once there is one."""

    number: int
    question: str
    plan: list[str]
    answer: str


class Artifact(TypedDict):
    """A published file."""

    name: str
    """Path within the artifacts' folder, `/` between parts."""
    url: str
    size: int
    sha256: str
    mime: str
    cell: int
    """The cell that last wrote it; 0 for what Stepwell wrote itself."""
    path: NotRequired[str]
    """Its workspace path, where it could not be published under its own name."""


class Forked(TypedDict):
    """Where a thread began that is a fork of another one."""

    thread: str
    step: str
    turns: int
    """The questions that had been asked by then."""


def append(items: list[Any] | None, batches: Sequence[list[Any]]) -> list[Any]:
    """Reduce a growing channel: every batch is added at the end."""
    return [*(items or []), *(item for batch in batches for item in batch)]


def newest(before: list[Any] | None, given: Sequence[list[Any]]) -> list[Any]:
    """Reduce a large value that is replaced as a whole. As a delta it is written once a change, not at every step."""
    return given[-1] if given else before or []


def newest_of_each(before: list[Any] | None, batches: Sequence[list[Any]]) -> list[Any]:
    """Reduce messages for components: one takes the place of an earlier one with its id.

    LangGraph's own reducer raises an error about one that is to be removed and is not there: in a channel that is read
    by reducing what was written, the thread could not be read any more.
    """
    kept = {one["id"]: one for one in before or []}
    for one in (one for batch in batches for one in batch):
        if one["type"] == "remove-ui":
            kept.pop(one["id"], None)
        else:
            kept[one["id"]] = one
    return list(kept.values())


class State(TypedDict, total=False):
    """The durable state of one thread. A node returns the keys that it changes."""

    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer, snapshot_frequency=SNAPSHOT_EVERY)]
    """The conversation as people and chat interfaces see it; prompts are built from `cells` and `turns`."""
    ui: Annotated[list[UIMessage], DeltaChannel(newest_of_each, snapshot_frequency=SNAPSHOT_EVERY)]
    """Figures and tables of answers for the components of pages that have them: links, never contents."""
    files: list[str]
    """Paths and URLs of new inputs; emptied when `plan` has taken them in."""
    turn: int
    question: str
    turns: Annotated[list[Turn], DeltaChannel(append, snapshot_frequency=SNAPSHOT_EVERY)]
    """The turns that are over."""
    inputs: Annotated[list[Input], DeltaChannel(newest, snapshot_frequency=SNAPSHOT_EVERY)]
    unread: list[str]
    """Files that the user named for this turn and that cannot be had or read, one sentence each."""
    none_read: bool
    """True in a turn that brought files of which none can be read."""
    environment: Environment
    plan: list[PlanStep]
    plan_waits: bool
    """True from the beginning of a turn whose plan somebody wants to see until they have accepted it."""
    direct: bool
    """True in a turn whose cells are the user's own: no model is asked, and the turn has no answer."""
    pending: list[Pending]
    approval: Literal["none", "cells"]
    """Whether the pending cells wait to be approved: the knob of the run that wrote them."""
    cells: Annotated[list[Cell], DeltaChannel(append, snapshot_frequency=SNAPSHOT_EVERY)]
    proofs: Annotated[list[Proof], DeltaChannel(append, snapshot_frequency=SNAPSHOT_EVERY)]
    """What trial restores of steps found, in the order in which they ended; not every step is tried."""
    namespace: Annotated[list[Variable], DeltaChannel(newest, snapshot_frequency=SNAPSHOT_EVERY)]
    sandbox: SandboxRef
    notices: list[str]
    """What the model must be told once, e.g. that the session was rebuilt."""
    proposal: str
    """The answer that is being checked."""
    skipped: list[str]
    """Plan steps that the proposal says it left out, each with its reason."""
    review: Review | None
    concerns: list[str]
    """What check_final still holds against the answer that it let pass."""
    stopped: str
    """Why the turn ended before its answer, e.g. a budget; empty in the usual case."""
    answer: str
    artifacts: list[Artifact]
    usage: dict[str, Usage]
    """By node."""
    forked: Forked
    """Missing in a thread that is no fork."""


class StartInput(TypedDict, total=False):
    """What starts a turn: the small form that Studio shows."""

    messages: Annotated[
        list[AnyMessage],
        Field(title="Messages", description="The question, as the last message."),
        DeltaChannel(_messages_delta_reducer, snapshot_frequency=SNAPSHOT_EVERY),
    ]
    files: Annotated[
        list[str],
        Field(title="Files", description="Paths, URLs, and uploads (`upload:…`) of tables, documents and databases."),
    ]


class FinalOutput(TypedDict, total=False):
    """What a caller of the graph gets back, and what chat front ends show while it works."""

    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer, snapshot_frequency=SNAPSHOT_EVERY)]
    ui: Annotated[list[UIMessage], DeltaChannel(newest_of_each, snapshot_frequency=SNAPSHOT_EVERY)]
    answer: str
    artifacts: list[Artifact]
    concerns: list[str]
