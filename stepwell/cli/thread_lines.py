"""Threads and their steps for reading: tables and text on a terminal, tab-separated lines in a pipe, JSON."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rich.console import Console, RenderableType
from rich.markdown import Markdown
from rich.text import Text

from graph.settings import Prices
from graph.state import State
from nodes.budget import tokens_spent
from nodes.calls.held_cells import shown_call
from stepwell.cli.colours import CODE_THEME
from stepwell.cli.live_view import files_shown
from stepwell.cli.terminal_text import clean, count_text, duration_text, one_line, reveal, size_text
from stepwell.cli.wording import artifact_line, call_lines, cost_text, how_to_decide, next_command, plan_text
from stepwell.threads import ThreadDetail

SHOWN_KEYS = (
    "question", "turn", "turns", "inputs", "plan", "pending", "namespace", "answer", "concerns", "artifacts", "usage",
    "sandbox",
)  # fmt: skip
"""What `show --json` gives of a state; `log --json` gives the cells."""


@dataclass(frozen=True, slots=True)
class AskedModel:
    """The model that a thread's last run asked."""

    name: str = ""
    prices: Prices | None = None
    """What its tokens cost; None where there are no prices, or nobody is paid."""


NOT_KNOWN = AskedModel()


def detail_json(detail: ThreadDetail, model: AskedModel = NOT_KNOWN) -> dict[str, Any]:
    """A thread as JSON shapes, without its messages and cells."""
    state: dict[str, Any] = dict(detail.state)
    cost = model.prices.cost(*tokens_spent(detail.state)) if model.prices is not None else None
    return {
        "thread": detail.id,
        "name": detail.labels.name,
        "tags": list(detail.labels.tags),
        "status": detail.status,
        **({"running": True} if detail.running else {}),
        "updated": detail.updated.isoformat(),
        "next": list(detail.next),
        "cells": len(detail.state.get("cells") or []),
        "model": model.name,
        "cost": cost,
        **{key: state[key] for key in SHOWN_KEYS if key in state},
        "values": computed_values(detail.state),
    }


def computed_values(state: State) -> list[dict[str, Any]]:
    """Where the computed numbers of the answer come from: cell, expression, format and text of each, in their order."""
    answer = state.get("answer") or state.get("proposal") or ""
    for cell in reversed(state.get("cells") or []):
        values = cell.get("values") or []
        if values and cell["turn"] == state.get("turn") and all(value["text"] in answer for value in values):
            return [{"cell": cell["number"], **value} for value in values]
    return []


def detail_text(detail: ThreadDetail, model: AskedModel = NOT_KNOWN) -> str:
    """A thread for a pipe, as Markdown."""
    return "\n\n".join(part for _, part in _detail_parts(detail, model) if part)


def print_detail(console: Console, detail: ThreadDetail, model: AskedModel = NOT_KNOWN) -> None:
    """A thread for a terminal."""
    for kind, part in _detail_parts(detail, model):
        for shown in _on_terminal(kind, part, detail.state, console.width):
            console.print(shown, crop=False)
        console.print()


def _on_terminal(kind: str, part: str, state: State, width: int) -> Iterator[RenderableType]:
    if kind == "answer":
        yield Markdown(part, code_theme=CODE_THEME)
    elif kind == "files":
        yield from files_shown(state.get("artifacts") or [], width)
    else:
        yield Text(part, {"question": "bold", "concerns": "yellow", "head": "cyan", "usage": "dim"}.get(kind, ""))


def _detail_parts(detail: ThreadDetail, model: AskedModel) -> Iterator[tuple[str, str]]:
    state = detail.state
    cells = state.get("cells") or []
    when = detail.updated.astimezone().strftime("%Y-%m-%d %H:%M")
    forked = state.get("forked")
    fork = f", a fork of {forked['thread']}@{forked['step']}" if forked else ""
    status = "running" if detail.running else detail.status
    yield "head", f"thread {detail.id}{fork}\n{status}, {count_text(len(cells), 'cell')}, last changed {when}"
    if detail.labels:
        named = [f"name: {one_line(detail.labels.name)}"] if detail.labels.name else []
        named += [f"tags: {', '.join(map(one_line, detail.labels.tags))}"] if detail.labels.tags else []
        yield "labels", "\n".join(named)
    earlier = [turn["question"] for turn in state.get("turns") or []]
    question = state.get("question") or (earlier[-1] if earlier else "")
    before = earlier[:-1] if earlier and earlier[-1] == question else earlier
    if before:
        yield "earlier", "Earlier questions:\n" + "\n".join(f"- {one_line(text, 300)}" for text in before)
    yield "question", clean(question).strip()
    if inputs := state.get("inputs"):
        yield "inputs", "Inputs:\n" + "\n".join(input_line(taken["path"], taken) for taken in inputs)
    if plan := state.get("plan"):
        marks = (f"{'✓' if step['done'] else '○'} {n}. {one_line(step['text'], 500)}" for n, step in enumerate(plan, 1))
        yield "plan", "\n".join(marks)
    if detail.status == "finished" and state.get("answer"):
        yield "answer", clean(state["answer"]).strip()
        if concerns := state.get("concerns"):
            yield "concerns", "\n".join(f"Not verified: {one_line(concern)}" for concern in concerns)
    if artifacts := state.get("artifacts"):
        yield "files", "Files:\n" + "\n".join(f"- {artifact_line(artifact)}" for artifact in artifacts)
    yield "usage", usage_line(state, model)
    yield "next", _next(detail)


def input_line(path: str, taken: Any) -> str:
    """An input with its size, or why it cannot be read."""
    state = f"cannot be read: {one_line(taken['problem'])}" if taken["problem"] else size_text(taken["size"])
    return f"- {one_line(path)} ({state})"


def usage_line(state: State, model: AskedModel = NOT_KNOWN) -> str:
    """What a thread used: the model, its calls, tokens, what these cost, time of its cells."""
    usage = (state.get("usage") or {}).values()
    calls = sum(node["calls"] for node in usage)
    taken, given = sum(node["input_tokens"] for node in usage), sum(node["output_tokens"] for node in usage)
    about = "about " if any(node["estimated"] for node in usage) else ""
    cached = sum(node.get("cached_tokens", 0) for node in usage)
    kept = f" ({cached:,} of them cached)" if cached else ""
    seconds = sum(cell["seconds"] for cell in state.get("cells") or [])
    cost = f", {cost_text(model.prices.cost(taken, given))}" if model.prices is not None else ""
    name = f"model {one_line(model.name, 200)}; " if model.name else ""
    tokens = f"{calls} model calls, {about}{taken:,} tokens in{kept} and {given:,} out{cost}"
    if not calls:
        tokens = "no language model was asked"
    return f"{name}{tokens}; cells ran for {duration_text(seconds)}"


def _next(detail: ThreadDetail) -> str:
    if detail.running:
        return f"Another program works on it now; look again with: {next_command('show', detail.id)}"
    if detail.status == "waiting":
        if detail.state.get("plan_waits"):
            plan = plan_text([step["text"] for step in detail.state.get("plan") or []])
            return f"A plan waits for approval:\n\n{plan}\n\n{how_to_decide(detail.id, plan=True)}"
        pending = detail.state.get("pending") or []
        code = "\n".join(f"    {line}" for line in reveal(pending[0]["code"]).split("\n")) if pending else ""
        if (call := shown_call(detail.state)) is not None:
            title, *lines = call_lines(len(detail.state.get("cells") or []) + 1, call)
            said = "\n".join((f"{title[0].upper()}{title[1:]}:", *lines))
            return f"{said}\n\n{code}\n\n{how_to_decide(detail.id, call=call['id'])}"
        return f"A cell waits for approval:\n\n{code}\n\n{how_to_decide(detail.id)}"
    if detail.status == "finished":
        return f"Ask on with: {next_command('ask', detail.id, question='…')}"
    return f"Go on with: {next_command('resume', detail.id)}"
