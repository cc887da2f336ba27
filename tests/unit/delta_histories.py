"""A small graph over State, once with its delta channels and once with plain reducers, and what can happen to both."""

import operator
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_type_hints

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import EmptyInputError, InvalidUpdateError
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.graph.ui import ui_message_reducer
from langgraph.types import Command, Overwrite, interrupt
from typing_extensions import TypedDict

from graph.state import State, append, newest, newest_of_each

Durability = Literal["sync", "async", "exit"]
Graph = CompiledStateGraph[Any, Any, Any, Any]
MAX_CELLS = 3


def second(before: Any, given: Any) -> Any:
    """The plain reducer of a value that is replaced as a whole."""
    return given


def add(before: list[Any], given: list[Any]) -> Any:
    """LangGraph's plain reducer; the delta one takes no offence at the removal of a message that is not there."""
    there = {message.id for message in before}
    return add_messages(before, [one for one in given if not isinstance(one, RemoveMessage) or one.id in there])


PLAIN = {append: operator.add, newest: second, newest_of_each: ui_message_reducer}


def schema_of(every: int | None) -> type:
    """State with full copies of its growing channels after so many writes; None: with plain reducers."""
    hints: dict[str, Any] = {}
    for name, hint in get_type_hints(State, include_extras=True).items():
        channel = next((one for one in getattr(hint, "__metadata__", ()) if isinstance(one, DeltaChannel)), None)
        if channel is None:
            hints[name] = hint
        elif every is None:
            hints[name] = Annotated[hint.__origin__, PLAIN.get(channel.reducer, add)]
        else:
            hints[name] = Annotated[hint.__origin__, DeltaChannel(channel.reducer, snapshot_frequency=every)]
    return TypedDict("Schema", hints, total=False)  # type: ignore[operator,no-any-return]  # a schema made at run time


def delta_channels() -> set[str]:
    """The names of State's delta channels."""
    hints = get_type_hints(State, include_extras=True)
    return {
        name
        for name, hint in hints.items()
        if any(isinstance(one, DeltaChannel) for one in getattr(hint, "__metadata__", ()))
    }


class BrokenOffError(Exception):
    """What a node of the small graph raises to end a run in its middle."""


def build(schema: type, saver: BaseCheckpointSaver[Any], failing: set[int]) -> Graph:
    """The graph: what each node returns follows from State alone, so both variants do the same."""

    async def plan(state: Any) -> Any:
        question = str(state["messages"][-1].content) if state.get("messages") else ""
        number = len(state.get("turns") or []) + 1
        inputs = [*(state.get("inputs") or []), {"path": f"inputs/{question}"}]
        changes: dict[str, Any] = {"turn": number, "question": question, "messages": [AIMessage(f"plan {question}")]}
        return {**changes, "inputs": inputs} if len(question) % 2 else changes

    async def generate(state: Any) -> Any:
        count = len(state.get("cells") or [])
        if (count + len(state.get("question", ""))) % (MAX_CELLS + 1) == MAX_CELLS:
            return {"pending": [], "proposal": f"answer after {count}"}
        return {
            "pending": [{"code": f"cell {count}"}],
            "approval": "cells" if "?" in state.get("question", "") else "none",
            "messages": [AIMessage(f"next {count}", id=f"next-{count}")],
        }

    async def approve(state: Any) -> Any:
        said = interrupt({"cell": len(state.get("cells") or [])})
        return {"messages": [HumanMessage(f"said {said}")]}

    async def execute(state: Any) -> Any:
        number = len(state.get("cells") or []) + 1
        if number in failing or not state.get("pending"):  # an edit may lead here with nothing to do
            raise BrokenOffError
        rows = [{"name": f"v{one}", "summary": f"{number}"} for one in range(number)]
        return {
            "cells": [{"number": number, "code": state["pending"][0]["code"]}],
            "pending": [],
            "namespace": rows if number % 3 else state.get("namespace", []),
            "messages": [ToolMessage(f"did {number}", tool_call_id=f"{number}")],
            "proofs": [{"cell": one} for one in range(number % 3)],
            "sandbox": {"snapshot": f"after {number}"},
        }

    async def upload(state: Any) -> Any:
        turn = {"number": state.get("turn", 0), "answer": state.get("proposal", "")}
        return {
            "turns": [turn],
            "proofs": [{"turn": turn["number"]}],
            "messages": [AIMessage(turn["answer"])],
            "ui": [{"type": "ui", "id": f"{len(state.get('question', ''))}/figure", "name": "figure", "props": turn}],
            "answer": turn["answer"],
        }

    def after_generate(state: Any) -> str:
        if not state.get("pending"):
            return "upload"
        return "approve" if state.get("approval") == "cells" else "execute"

    builder: StateGraph[Any, Any, Any, Any] = StateGraph(schema)
    for node in (plan, generate, approve, execute, upload):
        builder.add_node(node.__name__, node)
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "generate")
    builder.add_conditional_edges("generate", after_generate, ["approve", "execute", "upload"])
    builder.add_edge("approve", "execute")
    builder.add_edge("execute", "generate")
    builder.add_edge("upload", END)
    return builder.compile(checkpointer=saver)


@dataclass(frozen=True)
class Move:
    """One thing that somebody does to a thread."""

    kind: Literal["ask", "go_on", "resume", "break", "replay", "ask_there", "edit", "edit_as"]
    durability: Durability = "sync"
    at: int = 0
    """Which of the checkpoints so far, counted from the newest, modulo their number."""
    text: str = "a"
    update: int = 0
    """Which change an edit makes."""
    node: str = "generate"


def changes_of(move: Move) -> dict[str, Any]:
    """What an edit of a checkpoint writes."""
    text = move.text
    choices: list[dict[str, Any]] = [
        {"messages": [HumanMessage(f"edited {text}")]},
        {"cells": [{"number": 99, "code": text}], "namespace": [{"name": text}]},
        {"messages": [AIMessage(f"again {text}", id="next-0")], "pending": [{"code": text}]},
        {"question": text, "turns": [{"number": 9, "answer": text}]},
        {"cells": Overwrite([{"number": 1, "code": f"over {text}"}])},
        {"inputs": [], "messages": [RemoveMessage(id="next-1")]},
        {"pending": [], "proposal": text},
        {"namespace": [{"name": "x"}], "inputs": [{"path": text}], "messages": []},
        {"messages": Overwrite([HumanMessage(f"over {text}")]), "turns": []},
    ]
    return choices[move.update % len(choices)]


def said(message: AnyMessage) -> tuple[str, str, str]:
    """A message without the id that LangGraph made up for it."""
    id = message.id or ""
    return message.type, str(message.content), id if id.startswith("next-") else ""


@dataclass
class History:
    """One thread in one of the two variants."""

    saver: BaseCheckpointSaver[Any]
    every: int | None
    failing: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.graph = build(schema_of(self.every), self.saver, self.failing)
        self.config: RunnableConfig = {"configurable": {"thread_id": "t"}}

    async def checkpoints(self) -> AsyncIterator[Any]:
        """All of them, newest first, without the stubs that hold writes alone."""
        async for one in self.graph.aget_state_history(self.config):
            if one.metadata and "source" in one.metadata:
                yield one

    async def do(self, move: Move) -> str:
        """Make a move; what came of it in a word."""
        there = [one async for one in self.checkpoints()]
        old = there[move.at % len(there)].config if there else self.config
        asked = {"messages": [HumanMessage(move.text)]}
        self.failing.clear()
        try:
            match move.kind:
                case "ask":
                    await self.graph.ainvoke(asked, self.config, durability=move.durability)
                case "break":
                    self.failing.update(range(move.update, 100))
                    await self.graph.ainvoke(asked, self.config, durability=move.durability)
                case "go_on":
                    await self.graph.ainvoke(None, self.config, durability=move.durability)
                case "resume":
                    await self.graph.ainvoke(Command(resume=move.text), self.config, durability=move.durability)
                case "replay":
                    await self.graph.ainvoke(None, old, durability=move.durability)
                case "ask_there":
                    await self.graph.ainvoke(asked, old, durability=move.durability)
                case "edit":
                    await self.graph.aupdate_state(old, changes_of(move))
                case "edit_as":
                    await self.graph.aupdate_state(old, changes_of(move), as_node=move.node)
        except (BrokenOffError, EmptyInputError, InvalidUpdateError) as error:
            return type(error).__name__
        return "done"

    async def described(self) -> list[dict[str, Any]]:
        """Every checkpoint: what State was, what came next, and after which checkpoint."""
        there = [one async for one in self.checkpoints()]
        numbers = {one.config["configurable"]["checkpoint_id"]: len(there) - at for at, one in enumerate(there)}
        found = []
        for one in there:
            alone = await self.graph.aget_state(one.config)
            values = {**one.values, "messages": [said(message) for message in one.values.get("messages") or []]}
            other = {**alone.values, "messages": [said(message) for message in alone.values.get("messages") or []]}
            parent = (one.parent_config or {}).get("configurable", {}).get("checkpoint_id")
            found.append(
                {
                    "number": numbers[one.config["configurable"]["checkpoint_id"]],
                    "after": numbers.get(parent, 0),
                    "values": values,
                    "read alone": other == values or other,
                    "next": one.next,
                    "source": one.metadata["source"],
                    "asks": [asks.value for asks in one.interrupts],
                }
            )
        return found
