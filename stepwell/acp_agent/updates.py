"""What happens in a run, and what a thread's conversation holds, as updates that editors show."""

import base64
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from acp.helpers import (
    SessionUpdate,
    image_block,
    plan_entry,
    resource_link_block,
    start_tool_call,
    text_block,
    tool_content,
    update_agent_message,
    update_agent_message_text,
    update_agent_thought_text,
    update_plan,
    update_tool_call,
    update_user_message_text,
)
from acp.schema import ToolCallProgress, ToolCallStart
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from graph.events import (
    ApprovalAsked,
    CellFinished,
    CellStarted,
    Event,
    Failed,
    Finished,
    InputTaken,
    Notice,
    Output,
    Planned,
    SentBack,
    SessionRestored,
    SnapshotSaved,
)
from graph.state import Artifact, Cell, PlanStep

SHOWN_SECONDS = 0.3
"""How often what a cell prints is shown anew."""
MOST_SHOWN = 8_000
"""Characters of it, the newest ones."""
AFTER_FIGURES = (SnapshotSaved, CellStarted, CellFinished, ApprovalAsked, Finished, Failed)
"""What comes once the figures of a cell are kept, or never will be; the model may be asked before that."""
Picture = Callable[[Cell, str], Awaitable[tuple[bytes, str]]]
"""A figure of a cell and its MIME type; no bytes when it cannot be had."""


class RunUpdates:
    """The updates of one run, in order.

    Args:
        picture: Reads figures.
    """

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        self._call = ""
        self._code = ""
        self._printed = ""
        self._shown = 0.0
        self._plan: list[PlanStep] = []
        self._drawn: Cell | None = None
        """A cell whose figures are read once they are kept."""

    async def of(self, event: Event) -> AsyncIterator[SessionUpdate]:
        """What an event is shown as."""
        if self._drawn is not None and isinstance(event, AFTER_FIGURES):
            snapshot = event.snapshot if isinstance(event, SnapshotSaved) else ""
            drawn, self._drawn = Cell(**{**self._drawn, "snapshot": snapshot}), None
            yield await self._ended(drawn)
        match event:
            case Planned():
                self._plan = event.steps
                yield plan(event.steps)
            case CellStarted():
                self._call, self._code, self._printed = f"cell-{uuid.uuid4().hex[:12]}", event.code, ""
                yield begun(self._call, event.purpose, event.code)
            case Output():
                self._printed = (self._printed + event.text)[-MOST_SHOWN:]
                if self._call and time.monotonic() - self._shown > SHOWN_SECONDS:
                    self._shown = time.monotonic()
                    shown = [_code(self._code), _text(self._printed)]
                    yield update_tool_call(self._call, content=[tool_content(text_block(one)) for one in shown])
            case CellFinished():
                if not self._call:  # it never ran: somebody rejected it
                    self._call = f"cell-{uuid.uuid4().hex[:12]}"
                    yield begun(self._call, event.cell["purpose"], event.cell["code"])
                if event.cell["figures"]:
                    self._drawn = event.cell
                else:
                    yield await self._ended(event.cell)
                if self._plan:
                    done = event.cell["step"] if event.cell["status"] == "ok" else 0
                    self._plan = [
                        PlanStep(text=step["text"], done=step["done"] or number == done)
                        for number, step in enumerate(self._plan, 1)
                    ]
                    yield plan(self._plan)
            case _:
                for told in said(event):
                    yield told

    async def _ended(self, cell: Cell) -> ToolCallProgress:
        content = [text_block(_code(cell["code"])), text_block(_text(cell["observation"]))]
        blocks = [tool_content(one) for one in content]
        for path in cell["figures"]:
            data, kind = await self._picture(cell, path)
            if data:
                blocks.append(tool_content(image_block(base64.b64encode(data).decode(), kind)))
        raw = {"status": cell["status"], "error": cell["error"], "seconds": cell["seconds"]}
        call, self._call = self._call, ""
        return update_tool_call(
            call, status="completed" if cell["status"] == "ok" else "failed", content=blocks, raw_output=raw
        )


def plan(steps: Sequence[PlanStep]) -> SessionUpdate:
    """The plan: the first step that is not done is being worked on."""
    now = next((number for number, step in enumerate(steps) if not step["done"]), -1)
    return update_plan(
        plan_entry(
            step["text"],
            priority="medium",
            status="completed" if step["done"] else "in_progress" if number == now else "pending",
        )
        for number, step in enumerate(steps)
    )


def begun(call: str, purpose: str, code: str) -> ToolCallStart:
    """A cell that runs, or waits for approval."""
    return start_tool_call(
        call,
        purpose,
        kind="execute",
        status="in_progress",
        content=[tool_content(text_block(_code(code)))],
        raw_input={"code": code},
    )


def said(event: Event) -> Iterator[SessionUpdate]:
    """Events that are sentences."""
    match event:
        case Notice():
            yield update_agent_thought_text(f"{event.text}\n\n")
        case InputTaken():
            about = event.input["problem"] or event.input["abstract"].partition("\n")[0]
            yield update_agent_thought_text(f"{event.input['path']}: {about}\n\n")
        case SentBack():
            yield update_agent_thought_text(f"The answer lacks: {'; '.join(event.missing)}\n\n")
        case SessionRestored():
            lost = f"; not brought back: {', '.join(event.lost)}" if event.lost else ""
            yield update_agent_thought_text(f"The session was brought back{lost}.\n\n")
        case Finished():
            if event.answer:
                yield update_agent_message_text(event.answer)
            if event.concerns:
                yield update_agent_message_text("\n\nNot settled: " + "; ".join(event.concerns))
            for artifact in event.artifacts:
                if link := _link(artifact):
                    yield link
        case Failed():
            yield update_agent_message_text(f"It stopped: {event.error} Say /resume to go on once that is mended.")


def _link(artifact: Artifact) -> SessionUpdate | None:
    """A published file that the editor can open."""
    path = Path(artifact["url"])
    if not path.is_absolute():
        return None
    block = resource_link_block(artifact["name"], path.as_uri(), mime_type=artifact["mime"], size=artifact["size"])
    return update_agent_message(block)


def conversation(messages: Sequence[AnyMessage]) -> Iterator[SessionUpdate]:
    """A thread's conversation so far, as it was shown."""
    answers = {one.tool_call_id: one for one in messages if isinstance(one, ToolMessage)}
    for message in messages:
        if isinstance(message, HumanMessage):
            yield update_user_message_text(message.text)
        elif isinstance(message, AIMessage):
            if message.text:
                yield update_agent_message_text(message.text)
            for call in message.tool_calls:
                yield _past(call["args"], answers.get(call["id"] or ""))


def _past(arguments: dict[str, Any], answer: ToolMessage | None) -> ToolCallStart:
    code, purpose = str(arguments.get("code", "")), str(arguments.get("purpose", ""))
    blocks = [_code(code), *([_text(answer.text)] if answer is not None else [])]
    return start_tool_call(
        f"cell-{uuid.uuid4().hex[:12]}",
        purpose,
        kind="execute",
        status="completed",
        content=[tool_content(text_block(one)) for one in blocks],
        raw_input={"code": code},
    )


def _code(code: str) -> str:
    return _fenced(code, "python")


def _text(text: str) -> str:
    return _fenced(text, "text") if text.strip() else ""


def _fenced(text: str, language: str) -> str:
    """A block of Markdown that nothing in the text can end."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
