"""A thread's steps as a tree, read from the rows of its checkpoints: no state is rebuilt for it.

A step is a cell in its line. Forks in place, LangGraph's time travel and `update_state` make further lines within one
thread. Cells are read where LangGraph keeps what a node wrote, each once; a full copy of them, which a branch begins
with, is compared with the line it left.
"""

import heapq
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, cast

from langgraph.checkpoint.base import writes_sort_key
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from graph.checkpoints.given_up import GivenUp
from graph.checkpoints.order import time_made
from graph.checkpoints.saver import Saver
from graph.state import Cell, State

FIRST_BRANCH = "a"


@dataclass(frozen=True, slots=True)
class Step:
    """A cell in its line, and the place in the thread right after it."""

    name: str
    """What people type: `3`, or `4b` on a branch; it never changes. `0` is the beginning."""
    number: int
    """The cells up to here."""
    branch: str
    """`a` is the first line; later branches are lettered in the order in which they began."""
    parent: str
    """The name of the step before; empty for the beginning."""
    cell: Cell | None
    """None at the beginning."""
    question: str
    """What the turn was asked."""
    when: datetime | None
    """When it was kept; None when that happened in another thread."""
    head: bool
    """Whether the thread is here now."""
    checkpoint: str
    """The checkpoint right after the cell; empty when the thread has none of its own there."""
    answered: str
    """The newest checkpoint at which a turn was answered here, or else ended; empty when none did."""
    given_up: GivenUp | None = None
    """Set when its snapshot was given up to make room."""


@dataclass(slots=True)
class StepTree:
    """All steps of a thread, in the order in which they came to be; the beginning is not among them."""

    steps: list[Step] = field(default_factory=list)
    beginning: Step | None = None

    @property
    def head(self) -> Step | None:
        """Where the thread is now."""
        return next((step for step in self.all() if step.head), None)

    @property
    def given_up(self) -> dict[str, GivenUp]:
        """What the thread gave up of these steps, by snapshot."""
        gone = ((step.cell, step.given_up) for step in self.steps)
        return {cell.get("snapshot", ""): given for cell, given in gone if cell is not None and given is not None}

    def all(self) -> Iterator[Step]:
        """The beginning and the steps."""
        if self.beginning is not None:
            yield self.beginning
        yield from self.steps

    def named(self, name: str) -> Step | None:
        """The step of that name; `3a` is another way to say `3`, and `turn2` is the last step of the second turn."""
        if name[:4].lower() == "turn" and name[4:].isdecimal():
            return self._end_of_turn(int(name[4:]))
        wanted = name.lower().removesuffix(FIRST_BRANCH) if name[:-1].isdigit() else name.lower()
        return next((step for step in self.all() if step.name == wanted), None)

    def _end_of_turn(self, turn: int) -> Step | None:
        """Where a turn ended: on the line that the thread is on, or else on the newest that has the turn."""
        here = self.line(self.head) if self.head is not None else []
        steps = (*reversed(here), *reversed(self.steps))
        return next((step for step in steps if step.cell is not None and step.cell["turn"] == turn), None)

    def line(self, step: Step) -> list[Step]:
        """The steps from the first one to this."""
        known = {one.name: one for one in self.steps}
        found: list[Step] = []
        at: Step | None = step
        while at is not None and at.cell is not None:
            found.append(at)
            at = known.get(at.parent)
        return found[::-1]


class _Node:
    __slots__ = ("answered", "cell", "checkpoint", "children", "depth", "first", "name", "noted", "parent", "question")

    def __init__(self, parent: "_Node | None", cell: Cell | None, first: str) -> None:
        self.parent = parent
        self.cell = cell
        self.first = first
        self.depth: int = parent.depth + 1 if parent is not None else 0
        self.children: list[_Node] = []
        self.checkpoint = self.answered = self.question = self.name = self.noted = ""
        if parent is not None:
            parent.children.append(self)

    def cells(self) -> list[Cell]:
        found: list[Cell] = []
        node: _Node | None = self
        while node is not None and node.cell is not None:
            found.append(node.cell)
            node = node.parent
        return found[::-1]

    def back_to(self, depth: int) -> "_Node":
        node = self
        while node.depth > depth and node.parent is not None:
            node = node.parent
        return node


@dataclass(slots=True)
class _Written:
    """What was written at one checkpoint, for its children."""

    cells: list[Cell] = field(default_factory=list)
    question: str = ""
    ended: bool = False
    answered: bool = False
    """Whether an answer was published, and the turn not only left."""


async def step_tree(saver: Saver, thread: str) -> StepTree:
    """Read the tree of a thread; without steps and beginning when there is no such thread."""
    rows = await saver.checkpoint_rows(thread)
    written = await _read_writes(saver, thread)
    whole = {
        row.id: await saver.channel_values(thread, row.id)
        for row in rows
        if "cells" not in row.counted or row.source in ("update", "fork")
    }
    times = {row.id: row.made for row in rows if row.made}
    tree = _grown([(row.id, row.parent) for row in rows], written, whole, times)
    if given := await saver.given_up(thread):
        tree.steps = [
            replace(step, given_up=given.get(step.cell.get("snapshot", "") if step.cell is not None else ""))
            for step in tree.steps
        ]
    return tree


def step_tree_from_states(states: Iterable[tuple[str, str, State]]) -> StepTree:
    """The same tree from the states of all checkpoints, as a server hands them out.

    Args:
        states: For each checkpoint its id, its parent's, and its state, oldest first.
    """
    rows: list[tuple[str, str]] = []
    whole: dict[str, dict[str, Any]] = {}
    written: dict[str, _Written] = {}
    turns: dict[str, int] = {}
    for id, before, state in states:
        rows.append((id, before))
        whole[id] = {"cells": state.get("cells") or [], "question": state.get("question") or ""}
        turns[id] = len(state.get("turns") or [])
        if before in turns and turns[id] > turns[before]:
            written[before] = _Written(ended=True, answered=bool(state.get("answer")))
    return _grown(rows, written, whole, {})


async def _read_writes(saver: Saver, thread: str) -> dict[str, _Written]:
    found: dict[str, list[tuple[Any, str, Any]]] = {}
    for row in await saver.written_rows(thread, values=("cells", "question"), names=("turns", "artifacts")):
        key = writes_sort_key(row.path, row.task, row.place)
        found.setdefault(row.checkpoint, []).append((key, row.channel, row.value))
    written: dict[str, _Written] = {}
    for id, writes in found.items():
        one = written[id] = _Written()
        for _, channel, content in sorted(writes, key=lambda write: write[0]):
            if channel == "turns":
                one.ended = True
            elif channel == "artifacts":
                one.answered = True
            elif channel == "question":
                one.question = str(content or "")
            elif isinstance(content, list):  # an Overwrite is no list, and comes with a full copy
                one.cells += cast("list[Cell]", [cell for cell in content if isinstance(cell, dict)])
    return written


def _grown(
    rows: list[tuple[str, str]],
    written: dict[str, _Written],
    whole: dict[str, dict[str, Any]],
    times: Mapping[str, str],
) -> StepTree:
    root = _Node(None, None, "")
    nodes: dict[str, _Node] = {}
    questions: dict[str, str] = {}
    made: dict[tuple[str, int], _Node] = {}
    for id, before in _parents_first(rows):
        came = written.get(before, _Written()) if before else _Written()
        values = whole.get(id, {})
        at = nodes.get(before, root)
        if "cells" in values:
            at = _matched(at, came.cells, values["cells"], (before, id), made)
        else:
            at = _extended(at, came.cells, before, id, made)
        if values.get("question"):
            questions[id] = values["question"]
        else:
            questions[id] = came.question or questions.get(before, "")
        nodes[id] = at
        if not at.checkpoint:
            at.checkpoint, at.noted = id, times.get(id, "")
        if not at.question and at is not root:
            at.question = questions[id]
        if came.ended and (came.answered or not at.answered):
            at.answered = id
    return _named(root, nodes, rows)


def _extended(at: _Node, cells: list[Cell], key: str, checkpoint: str, made: dict[tuple[str, int], _Node]) -> _Node:
    """The node after these cells, which were written at one checkpoint: the same one for all children of that."""
    for place, cell in enumerate(cells):
        if (key, place) not in made:
            made[key, place] = _Node(at, cell, checkpoint)
        at = made[key, place]
    return at


def _matched(at: _Node, came: list[Cell], copy: Any, ids: tuple[str, str], made: dict[tuple[str, int], _Node]) -> _Node:
    """The node that a full copy of the cells stands for; those that are nowhere yet are made.

    The copy of a branch leaves out what was written before it for another branch (`came`), all of it or a part.
    """
    given = copy.value if isinstance(copy, _DeltaSnapshot) else copy
    given = cast("list[Cell]", [cell for cell in given or [] if isinstance(cell, dict)])
    here = [*at.cells(), *came]
    common = next((n for n, (x, y) in enumerate(zip(here, given, strict=False)) if x != y), min(len(here), len(given)))
    node = at.back_to(common)
    node = _extended(node, came[: max(common - at.depth, 0)], ids[0], ids[1], made)
    return _extended(node, given[common:], ids[1] + " copy", ids[1], made)


def _parents_first(rows: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """In databases of earlier versions a parent's id may be above its child's: the clock had been set back."""
    waiting = list(rows)
    ids, done = {id for id, _ in waiting}, set[str]()
    while waiting:
        left: list[tuple[str, str]] = []
        for id, before in waiting:
            if before in ids and before not in done and before != id:
                left.append((id, before))
            else:
                done.add(id)
                yield id, before
        if len(left) == len(waiting):  # a loop: take them as they come
            yield from left
            return
        waiting = left


def _named(root: _Node, nodes: dict[str, _Node], rows: list[tuple[str, str]]) -> StepTree:
    if not rows:
        return StepTree()
    head = nodes[max(id for id, _ in rows)]
    reached = {id(node) for node in nodes.values()}
    order = list(_by_age(root))
    # What was written and taken by no checkpoint in the end has no place in the tree.
    kept: set[int] = set()
    for node in sorted(order, key=lambda one: -one.depth):
        if id(node) in reached or any(id(child) in kept for child in node.children):
            kept.add(id(node))
    order = [node for node in order if id(node) in kept]
    branches: dict[int, str] = {id(root): FIRST_BRANCH}
    continued: set[int] = set()
    letters = 0
    tree = StepTree(beginning=_step(root, "0", FIRST_BRANCH, "", head is root))
    root.name = "0"
    for node in order:
        parent = node.parent or root
        if id(parent) in continued:
            letters += 1
            branch = _letters(letters)
        else:
            continued.add(id(parent))
            branch = branches[id(parent)]
        branches[id(node)] = branch
        node.name = f"{node.depth}{'' if branch == FIRST_BRANCH else branch}"
        tree.steps.append(_step(node, node.name, branch, parent.name, node is head))
    return tree


def _by_age(root: _Node) -> Iterator[_Node]:
    """All nodes below, in the order in which they came to be, each after the one that it follows."""
    waiting = [(node.first, node.depth, place, node) for place, node in enumerate(root.children)]
    heapq.heapify(waiting)
    places = itertools.count(len(waiting))
    while waiting:
        node = heapq.heappop(waiting)[-1]
        yield node
        for child in node.children:
            heapq.heappush(waiting, (child.first, child.depth, next(places), child))


def _step(node: _Node, name: str, branch: str, parent: str, head: bool) -> Step:
    return Step(
        name=name,
        number=node.depth,
        branch=branch,
        parent=parent,
        cell=node.cell,
        question=node.question,
        when=time_made(node.checkpoint, node.noted),
        head=head,
        checkpoint=node.checkpoint if node.cell is not None else "",
        answered=node.answered,
    )


def _letters(number: int) -> str:
    """`b` for 1, … `z` for 25, `aa` for 26."""
    text = ""
    number += 1
    while number:
        number, place = divmod(number - 1, 26)
        text = chr(ord("a") + place) + text
    return text
