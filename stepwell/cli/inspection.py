"""The commands that only read: one thread, its steps, a file of it to hand on."""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from graph.checkpoints.step_tree import Step
from graph.settings import read_settings
from graph.state import Cell
from models.selection import PLAYBOOK
from stepwell.cli.exits import FINISHED, print_error
from stepwell.cli.live_view import MARK_STYLES, Terminal, highlighted
from stepwell.cli.terminal_text import ago_text, clean, duration_text, one_line, reveal, size_text
from stepwell.cli.thread_lines import AskedModel, detail_json, detail_text, print_detail
from stepwell.cli.thread_list import is_running, json_out, line_out
from stepwell.cli.wording import MARKS, ending, made, purpose_text, removed
from stepwell.errors import FileThereError
from stepwell.step_detail import StepDetail, show_step
from stepwell.steps import read_log
from stepwell.stored_context import stored_model
from stepwell.threads import ThreadDetail, find_thread, read_thread

HERE = "← here"
MOST_LISTED = 100
"""Variables and files of a step that are listed; the rest is counted."""


def step_json(thread: str, step: Step) -> dict[str, Any]:
    """A step of the log as JSON shapes."""
    return {
        "thread": thread,
        "id": step.name,
        "branch": step.branch,
        "parent": step.parent,
        "head": step.head,
        "when": step.when.isoformat() if step.when else None,
        "question": step.question,
        "checkpoint": step.checkpoint,
        "given_up": step.given_up.as_json() if step.given_up is not None else None,
        **(step.cell or {}),
    }


def step_line(step: Step) -> tuple[str, ...]:
    """A step for a pipe.

    Name, status, seconds, purpose, files, the step before, bytes added, time, whether here, whether it was given up.
    """
    cell = step.cell
    if cell is None:
        return ()
    when = step.when.isoformat(timespec="seconds") if step.when else ""
    return (
        step.name,
        one_line(ending(cell), 200),
        f"{cell['seconds']:.1f}",
        purpose_text(cell, 300),
        made(cell, most=1_000),
        step.parent,
        str(cell.get("snapshot_bytes", 0)),
        when,
        "here" if step.head else "",
        step.given_up.text if step.given_up is not None else "",
    )


def drawn(steps: Sequence[Step]) -> Iterator[tuple[str, str, Step]]:
    """The steps in the order of a drawing: the lines before each, and the line to continue below it.

    A branch stands right below the step that it leaves, moved in; the older line goes on below it.
    """
    shown = {step.name: step for step in steps}
    after: dict[str, list[Step]] = {}
    for step in steps:
        after.setdefault(step.parent, []).append(step)
    roots = [step for step in steps if step.parent not in shown]
    waiting = [(step, "", "") for step in reversed(roots)]
    while waiting:
        step, first, rest = waiting.pop()
        yield first, rest, step
        below = after.get(step.name, [])
        waiting += [(older, rest, rest) for older in below[:1]]
        waiting += [(branch, f"{rest}├─ ", f"{rest}│  ") for branch in reversed(below[1:])]


def print_tree(console: Console, steps: Sequence[Step], now: datetime, *, code: bool) -> None:
    """The tree of steps for a terminal, with the question above the steps that work on it."""
    known = {step.name: step for step in steps}
    for first, rest, step in drawn(steps):
        before = known.get(step.parent)
        if before is None or before.question != step.question:
            console.print(Text.assemble((rest, "dim"), (one_line(step.question, 500), "bold")))
        console.print(Text.assemble((first, "dim"), *_on_terminal(step, before is not None, now)))
        if code and step.cell is not None:
            for line in _code(step.cell):
                console.print(Text.assemble((rest, "dim"), line))


def _on_terminal(step: Step, drawn_below: bool, now: datetime) -> Iterator[tuple[str, str]]:
    cell = step.cell
    if cell is None:
        return
    status = cell["status"]
    yield f"{MARKS[status]} ", MARK_STYLES.get(status, "red")
    yield f"{step.name}  ", "cyan"
    yield purpose_text(cell, 300), ""
    facts = [duration_text(cell["seconds"])]
    kept = cell.get("snapshot") and step.given_up is None
    facts += [f"+{size_text(cell.get('snapshot_bytes', 0))}"] if kept else []
    facts += [ago_text((now - step.when).total_seconds())] if step.when else []
    facts += [f"snapshot {step.given_up.text}"] if step.given_up is not None else []
    yield f"  {' · '.join(facts)}", "dim"
    if status != "ok":
        yield f"  {ending(cell)}", "red" if status != "rejected" else "yellow"
    if made(cell):
        yield f"  → {made(cell)}", "magenta"
    if removed(cell):
        yield f"  removed {removed(cell)}", "dim"
    if not drawn_below and step.number > 1:
        yield f"  (after {step.parent})", "dim"
    if step.head:
        yield f"  {HERE}", "bold green"


def _code(cell: Cell) -> Iterator[Text]:
    yield Text()
    yield from (Text.assemble("    ", line) for line in highlighted(cell["code"]))
    yield Text()
    for text in clean(cell["observation"]).rstrip().split("\n"):
        yield Text.assemble(("  │ ", "dim"), text.expandtabs(4))
    yield Text()


def code_lines(cell: Cell) -> Iterator[str]:
    """A step's code and what came of it, for a pipe."""
    yield from (f"    {line}" for line in reveal(cell["code"]).split("\n"))
    yield from (f"  | {line}" for line in clean(cell["observation"]).rstrip().split("\n"))


def detail_parts(detail: StepDetail) -> Iterator[tuple[str, str]]:
    """One step, part by part: what it is called, and its text."""
    step, cell = detail.step, detail.step.cell
    when = f", {step.when.astimezone().strftime('%Y-%m-%d %H:%M')}" if step.when else ""
    here = ", where the thread is now" if step.head else ""
    yield "head", f"thread {detail.thread} at step {step.name}{when}{here}"
    if step.question:
        yield "question", clean(step.question).strip()
    if cell is not None:
        yield "cell", f"{purpose_text(cell, 500)}\n{one_line(ending(cell))}, {duration_text(cell['seconds'])}"
        yield "code", "\n".join(f"    {line}" for line in reveal(cell["code"]).split("\n"))
        yield "output", "\n".join(f"  | {line}" for line in clean(cell["observation"]).rstrip().split("\n"))
        if calls := cell.get("calls"):
            yield "calls", "Called:\n" + _bounded([f"- {one_line(line, 300)}" for line in calls])
    rows = [
        f"- {one_line(row['name'])}: {one_line(row['kind'] + ' ' + row['summary'], 300)}" for row in detail.namespace
    ]
    if rows := rows or [f"- {one_line(name)}" for name in detail.names]:
        yield "variables", "Variables:\n" + _bounded(rows)
    if detail.lost:
        lost = [
            f"- {one_line(one['name'])} ({one_line(one['type'])}: {one_line(one['reason'])})" for one in detail.lost
        ]
        yield "lost", "Not kept:\n" + _bounded(lost)
    files = [f"- {one_line(path)} ({size_text(size)})" for path, size in detail.files.items()]
    files += [f"- {one_line(taken['path'])} ({size_text(taken['size'])})" for taken in detail.inputs]
    if files:
        yield "files", "Files:\n" + _bounded(files)
    yield "snapshot", _snapshot(detail)
    if detail.snapshot:
        yield ("proof" if detail.proof is None or not detail.proof["differs"] else "lost"), _proof(detail)
    if detail.answer:
        yield "answer", f"Answered after it:\n\n{clean(detail.answer).strip()}"


def _bounded(lines: list[str]) -> str:
    more = [f"- and {len(lines) - MOST_LISTED} more"] if len(lines) > MOST_LISTED else []
    return "\n".join(lines[:MOST_LISTED] + more)


def _snapshot(detail: StepDetail) -> str:
    if not detail.snapshot:
        return one_line(detail.comes_back)
    sizes = f"{size_text(detail.snapshot_bytes)} in all, {size_text(detail.added_bytes)} of them new with this step"
    packages = [f"{name} {version}" for name, version in detail.packages.items()][:20]
    versions = one_line(", ".join([f"Python {detail.python}", *packages]))
    return f"{one_line(detail.comes_back)} {sizes}; taken with {versions}."


def _proof(detail: StepDetail) -> str:
    """What a trial restore of the step found."""
    proof = detail.proof
    if proof is None:
        return "It was not restored on trial: steps like it were, or nothing may be (STEPWELL_PROOF_SHARE)."
    if proof["outcome"] == "not proved":
        return one_line(f"It is not proved that it comes back as it was: {proof['why']}.", 500)
    compared = f"{proof['compared']:,} variables, settings and files compared"
    took = f"in {duration_text(proof['cpu'])} of CPU time"
    if not proof["differs"]:
        skipped = f"; not compared: {', '.join(proof['skipped'])}" if proof["skipped"] else ""
        return one_line(f"A trial restore brought everything back as it was: {compared} {took}{skipped}.", 1_000)
    rows = [f"- {one_line(one['name'])} {one_line(one['how'], 300)}" for one in proof["differs"]]
    return f"Restored on trial, {compared} {took}; what differs:\n{_bounded(rows)}"


def step_detail(detail: StepDetail) -> str:
    """One step for a pipe."""
    return "\n\n".join(text for _, text in detail_parts(detail))


def print_step(console: Console, detail: StepDetail) -> None:
    """One step for a terminal."""
    styles = {"head": "cyan", "question": "bold", "lost": "yellow", "snapshot": "dim", "proof": "dim"}
    for kind, text in detail_parts(detail):
        if kind == "code" and detail.step.cell is not None:
            for line in highlighted(detail.step.cell["code"]):
                console.print(Text.assemble("    ", line))
        else:
            console.print(Text(text, styles.get(kind, "")))
        console.print()


def print_thread(name: str, *, as_json: bool) -> int:
    """`stepwell show`: a thread, or one step of it."""
    if "@" in name:
        return _show_step(name, as_json=as_json)
    detail, model = asyncio.run(_detail(name))
    if as_json:
        json_out(detail_json(detail, model))
    elif sys.stdout.isatty():
        print_detail(Terminal(), detail, model)
    else:
        line_out(detail_text(detail, model))
    return FINISHED


def _show_step(name: str, *, as_json: bool) -> int:
    detail = asyncio.run(show_step(name))
    if as_json:
        json_out(detail.as_json())
    elif sys.stdout.isatty():
        print_step(Terminal(), detail)
    else:
        line_out(step_detail(detail))
    return FINISHED


def show_log(name: str, limit: int, *, code: bool, as_json: bool) -> int:
    """`stepwell log`."""
    thread, tree = asyncio.run(read_log(name))
    steps = tree.steps[-limit:]
    left_out = len(tree.steps) - len(steps)
    if not steps:
        print_error(f"Thread {thread} has no steps yet.")
    elif as_json:
        for step in steps:
            json_out(step_json(thread, step))
    elif sys.stdout.isatty():
        print_tree(Terminal(), steps, datetime.now(UTC), code=code)
    else:
        for step in steps:
            line_out(*step_line(step))
            for line in code_lines(step.cell) if code and step.cell is not None else ():
                line_out(line)
    if tree.head is not None and tree.head not in steps:
        print_error(f"The thread is at step {tree.head.name}.")
    if left_out:
        earlier = "1 earlier step is" if left_out == 1 else f"{left_out:,} earlier steps are"
        print_error(f"{earlier} left out; --limit {len(tree.steps)} shows all.")
    return FINISHED


def export_thread(name: str, to: Path, *, overwrite: bool) -> int:
    """`stepwell export`."""
    from stepwell.exports.export import export

    try:
        written = asyncio.run(export(name, to, overwrite=overwrite))
    except FileThereError as error:
        raise FileThereError(error.file, "--overwrite") from None
    line_out(f"{written.path} ({size_text(written.bytes)})" if sys.stdout.isatty() else str(written.path))
    return FINISHED


async def _detail(name: str) -> tuple[ThreadDetail, AskedModel]:
    settings = read_settings()
    thread = await find_thread(name, settings)
    named = (await stored_model(thread, settings)).strip() or settings.model.strip() or PLAYBOOK
    model = AskedModel(named, settings.price_list if named != PLAYBOOK else None)
    detail = await read_thread(thread, settings)
    return replace(detail, running=await asyncio.to_thread(is_running, thread, settings)), model
