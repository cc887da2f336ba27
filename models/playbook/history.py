"""What the playbook reads out of the messages: the inputs, the question, the plan, and what became of its cells."""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, cast, get_args

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from models.quoting import inputs_apart, unquoted

STATUS_LINE = re.compile(r"^cell \d+ · (ok|error|timeout|killed|rejected)\b")
SHORT_LINE = re.compile(r"^\d+ · (ok|error|timeout|killed|rejected) · (.+)$", re.MULTILINE)
PLAN_LINE = re.compile(r"^\s*(\d+)[.)] (.+?)( \(done\))?$", re.MULTILINE)
PURPOSE_LINE = re.compile(r"^\s*#\s*(?:step\s+\d+\s*[:.\-]\s*)?(.+)$")
CODE_BLOCK = re.compile(r"```python\n(.*?)(?:```|\Z)", re.DOTALL)
FINDING = re.compile(r"^- ((?:[A-Z][a-z]+): .+\.)$", re.MULTILINE)
TABLE_LEFT = re.compile(r"^(?:\| )?(?:df: .*\bDataFrame\b|told: list\b)", re.MULTILINE)
"""Rows of the namespace table that an earlier turn's analysis leaves; the first may be too old to be shown."""
SENT_BACK = "Not good enough yet"

USUAL_READERS = {
    "csv": "pd.read_csv({})",
    "tsv": "pd.read_csv({}, sep='\\t')",
    "xlsx": "pd.read_excel({})",
    "xls": "pd.read_excel({})",
    "parquet": "pd.read_parquet({})",
    "jsonl": "pd.read_json({}, lines=True)",
}
"""By the end of a file's name: how to read it when its profile does not say."""

Status = Literal["ok", "error", "timeout", "killed", "rejected", "unknown"]


@dataclass(frozen=True, slots=True)
class Table:
    """A table that can be read with one expression."""

    name: str
    path: str
    expression: str


@dataclass(frozen=True, slots=True)
class Inputs:
    """The user's files, as their abstracts tell of them."""

    tables: tuple[Table, ...] = ()
    others: tuple[str, ...] = ()
    """Workspace paths of readable files that are no tables."""
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ran:
    """A cell of this turn and how it ended."""

    purpose: str
    """Empty when it cannot be told."""
    status: Status
    observation: str = ""


@dataclass(frozen=True, slots=True)
class PlanLine:
    """A step of the plan as the messages show it."""

    number: int
    text: str
    done: bool


@dataclass(frozen=True, slots=True)
class History:
    """All that the messages tell."""

    inputs: Inputs
    question: str
    turn: int
    """Which question of the thread this is, from 1."""
    plan: tuple[PlanLine, ...] = ()
    ran: tuple[Ran, ...] = ()
    sent_back: tuple[str, ...] = ()
    """What reviews of this turn's answers asked for."""
    has_table: bool = False
    """Whether the namespace holds `df`."""
    findings: tuple[str, ...] = field(default=())
    """The findings that this turn's visible observations show, in order, each once."""


def read_history(messages: Sequence[BaseMessage]) -> History:
    """Read the messages of a `plan` or `generate` call."""
    blocks = [inputs_apart(message.text) for message in messages]
    messages = [
        message.model_copy(update={"content": rest}) if files else message
        for message, (files, rest) in zip(messages, blocks, strict=True)
    ]
    openings = [place for place, message in enumerate(messages) if _opens_turn(message)]
    planned = [place for place in openings if "\n\nPlan:\n" in messages[place].text]
    start = (planned or openings or [len(messages)])[-1]
    opening = messages[start].text if start < len(messages) else ""
    question = re.split(r"\n\n(?:Plan:\n|Cells run before|Notes of Stepwell|Variables now:)", opening)[0]
    if "The question now:\n" in question or "The question now:\n" in opening:
        question = opening.rpartition("The question now:\n")[2]
    plan_text = opening.partition("\n\nPlan:\n")[2].partition("\n\n")[0]
    ran = _ran(messages[start:])
    shown = [line for one in ran for line in FINDING.findall(one.observation)]
    system = "\n".join(message.text for message in messages if isinstance(message, SystemMessage))
    everything = "\n".join(message.text for message in messages if not isinstance(message, AIMessage))
    files = next((block for block, _ in blocks if block), "") or (system if "### inputs/" in system else everything)
    inputs = read_inputs(files)
    return History(
        inputs=inputs,
        question=question.strip(),
        turn=max(1, len(openings)),
        plan=tuple(PlanLine(int(n), text.strip(), bool(done)) for n, text, done in PLAN_LINE.findall(plan_text)),
        ran=tuple(ran),
        sent_back=tuple(
            message.text.partition("\n\nVariables now:")[0]
            for message in messages[start + 1 :]
            if message.text.startswith(SENT_BACK)
        ),
        has_table=bool(inputs.tables) and bool(TABLE_LEFT.search(everything)),
        findings=tuple(dict.fromkeys(shown)),
    )


def _opens_turn(message: BaseMessage) -> bool:
    text = message.text
    return isinstance(message, HumanMessage) and not STATUS_LINE.match(text) and not text.startswith(SENT_BACK)


def _ran(messages: Sequence[BaseMessage]) -> list[Ran]:
    """The cells since the question: those told of in one line, then those that are shown."""
    opening = messages[0].text if messages else ""
    told = opening.partition("\n\nCells run before, in short:\n")[2].partition("\n\n")[0]
    ran = [Ran(line, _status(status)) for status, line in SHORT_LINE.findall(unquoted(told))]
    asked: list[tuple[str, str]] = []
    for message in messages[1:]:
        if isinstance(message, AIMessage):
            asked += [
                (str(call["id"]), str(call["args"].get("purpose") or "") or _purpose(str(call["args"].get("code", ""))))
                for call in message.tool_calls
                if call["name"] == "run_python"
            ]
            if not message.tool_calls and (block := CODE_BLOCK.search(message.text)):
                asked.append(("", _purpose(block[1])))
        elif isinstance(message, ToolMessage) or (
            isinstance(message, HumanMessage) and STATUS_LINE.match(message.text)
        ):
            if message.text.startswith(SENT_BACK):
                continue
            wanted = message.tool_call_id if isinstance(message, ToolMessage) else ""
            call = next((one for one in asked if one[0] == wanted), None)
            if call is None:
                continue
            asked.remove(call)
            text = message.text.partition("\n\nVariables now:")[0]
            found = STATUS_LINE.match(text)
            ran.append(Ran(call[1], _status(found[1] if found else "ok"), unquoted(text)))
    return ran


def _status(word: str) -> Status:
    return cast("Status", word) if word in get_args(Status) else "ok"


def _purpose(code: str) -> str:
    first = PURPOSE_LINE.match(code.strip().partition("\n")[0])
    return first[1].strip() if first else ""


def read_inputs(text: str) -> Inputs:
    """Read the abstracts: the tables with their expressions, the other files, and those that cannot be read."""
    tables: list[Table] = []
    others: list[str] = []
    unreadable: list[str] = []
    for part in re.split(r"^### (?=inputs/)", text, flags=re.MULTILINE)[1:]:
        path, _, abstract = part.partition("\n")
        path = path.strip()
        name = path.removeprefix("inputs/")
        own: list[Table] = []
        title = ""
        for line in abstract.splitlines():
            if line.startswith("## "):
                title = line[3:].rpartition(":")[0] or line[3:]
            elif line.startswith("read with:"):
                expression = line.partition(":")[2].strip().strip("`")
                if _is_expression(expression):
                    known = [table.name for table in own]
                    label = f"{name} [{title.strip()}]" if title else name
                    own.append(Table(label if label not in known else f"{label} ({len(own) + 1})", path, expression))
        if own:
            tables += own
        elif re.search(r"^(Cannot be read|problem):", abstract, re.MULTILINE):
            unreadable.append(path)
        elif usual := USUAL_READERS.get(path.rpartition(".")[2].lower()):
            tables.append(Table(name, path, usual.format(repr(path))))
        else:
            others.append(path)
    return Inputs(tuple(tables), tuple(others), tuple(unreadable))


def _is_expression(source: str) -> bool:
    try:
        ast.parse(source, mode="eval")
    except (SyntaxError, ValueError):
        return False
    return True
