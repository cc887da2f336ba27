"""Which steps lose their snapshots to make room: rules, and the order in which steps go.

Each rule is a limit, and a step goes as soon as one of them names it. Steps go from the oldest on; never the one that a
branch or the thread itself stands on, and never the end of a turn before the steps in the middle of it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType

from graph.checkpoints.step_tree import Step, StepTree
from nodes.restoration.line import cells_in_effect
from storage.amounts import parse_age, parse_size


@dataclass(frozen=True, slots=True)
class Rules:
    """What may be kept; without any rule no step loses its snapshot.

    Raises:
        ValueError: one of them is not what it should be; the message says what is right.
    """

    keep_last: int = 0
    """Steps at the end of each branch that keep their snapshots; 0: no such rule."""
    older_than: str = ""
    """`30d`: older steps lose theirs; empty: no such rule."""
    budget: str = ""
    """`20GB`: what the store may hold in all; empty: no such rule."""

    def __post_init__(self) -> None:
        if self.keep_last < 0:
            raise ValueError(f"{self.keep_last} steps cannot be kept: at least 1 is, the newest of each branch")
        for text, parse in ((self.older_than, parse_age), (self.budget, parse_size)):
            if text:
                parse(text)

    def __bool__(self) -> bool:
        """Whether there is any rule."""
        return bool(self.keep_last or self.older_than or self.budget)

    def each(self) -> Iterator["Rules"]:
        """The rules one by one."""
        if self.keep_last:
            yield Rules(keep_last=self.keep_last)
        if self.older_than:
            yield Rules(older_than=self.older_than)
        if self.budget:
            yield Rules(budget=self.budget)

    @property
    def text(self) -> str:
        """The rule in words, where it is one."""
        if self.keep_last:
            return f"keep last {self.keep_last}"
        return f"older than {self.older_than}" if self.older_than else f"budget {self.budget}"


@dataclass(slots=True)
class Candidate:
    """A snapshot that a thread could do without."""

    thread: str
    snapshot: str
    when: datetime
    """When a step of it was kept last."""
    number: int
    """Of that step."""
    from_end: int
    """How many steps with snapshots come after it on the branch that needs it most; 0: it is the newest there."""
    first: frozenset[str] = frozenset()
    """Snapshots that must have gone before: those in the middle of the turn that it ends."""


def candidates(
    thread: str, tree: StepTree, stored: Iterable[str], now: datetime, needed: Iterable[str] = ()
) -> list[Candidate]:
    """The snapshots that a thread could do without, the oldest first.

    Args:
        thread: Its id.
        tree: Its steps.
        stored: The snapshots that can be had at all.
        now: What a step counts for that nobody knows the time of.
        needed: Snapshots that the thread needs for another reason.
    """
    there = set(stored) - tree.given_up.keys()
    parents = {step.parent for step in tree.steps}
    ends = [step for step in tree.all() if step.head or step.name not in parents]
    lines = [[step for step in tree.line(end) if _snapshot(step) in there] for end in ends]
    protected = {*needed, *(snapshot for end in ends if (snapshot := _stands_on(tree.line(end), there)))}
    whens = _times(tree, now)
    found: dict[str, Candidate] = {}
    for line in lines:
        for place, step in enumerate(line):
            snapshot, after = _snapshot(step), len(line) - 1 - place
            when = whens[step.name]
            known = found.get(snapshot)
            if known is None:
                found[snapshot] = Candidate(thread, snapshot, when, step.number, after)
                continue
            known.from_end = min(known.from_end, after)
            known.when, known.number = max((known.when, known.number), (when, step.number))
    for end, middle in _turns(tree):
        if (known := found.get(_snapshot(end))) is not None:
            known.first |= {snapshot for step in middle if (snapshot := _snapshot(step)) in there} - {known.snapshot}
    free = [one for one in found.values() if one.snapshot not in protected]
    return sorted(free, key=lambda one: (one.when, one.number))


def chosen(
    all_candidates: Sequence[Candidate],
    wanted: Callable[[Candidate], bool],
    before: Mapping[str, Iterable[str]] = MappingProxyType({}),
) -> Iterator[Candidate]:
    """The candidates that a rule names, in the order in which they go.

    Args:
        all_candidates: Of all threads, the oldest first.
        wanted: Whether one is to go; asked right before it would.
        before: What went before, by thread.
    """
    gone = {(thread, snapshot) for thread, snapshots in before.items() for snapshot in snapshots}
    waiting = list(all_candidates)
    while True:
        left: list[Candidate] = []
        for one in waiting:
            if all((one.thread, snapshot) in gone for snapshot in one.first):
                if wanted(one):
                    gone.add((one.thread, one.snapshot))
                    yield one
            else:
                left.append(one)
        if len(left) == len(waiting):
            return
        waiting = left


def named_by(rules: Rules, now: datetime) -> Callable[[Candidate], bool]:
    """Whether the rules for steps name a candidate; the budget is a matter of the store."""
    age = parse_age(rules.older_than) if rules.older_than else None

    def named(one: Candidate) -> bool:
        if rules.keep_last and one.from_end >= rules.keep_last:
            return True
        return age is not None and (now - one.when).total_seconds() > age

    return named


@dataclass(slots=True)
class StoredSnapshots:
    """What the snapshots in a store hold, and how many bytes go when threads do without some of them.

    Args:
        sizes: What lies in the store, by name.
        parts: The blobs of each snapshot.
        users: The threads that need it.
        others: Blobs that are needed by themselves, such as inputs.
    """

    sizes: Mapping[str, int]
    parts: Mapping[str, set[str]]
    users: dict[str, set[str]]
    others: set[str]
    uses: dict[str, int] = field(default_factory=dict)
    """How many needed snapshots hold a blob; counted when it is made."""

    def __post_init__(self) -> None:
        if self.uses:
            return
        self.uses = dict.fromkeys(self.others, 1)
        for snapshot, needed in self.users.items():
            if needed:
                for name in self._of(snapshot):
                    self.uses[name] = self.uses.get(name, 0) + 1

    def copy(self) -> "StoredSnapshots":
        """The same, to try something out."""
        users = {snapshot: set(needed) for snapshot, needed in self.users.items()}
        return replace(self, users=users, uses=dict(self.uses))

    def _of(self, snapshot: str) -> Iterator[str]:
        yield snapshot
        yield from self.parts[snapshot] - {snapshot}

    def give_up(self, thread: str, snapshot: str) -> int:
        """Have a thread do without a snapshot.

        Returns:
            The bytes that nobody needs any more.
        """
        needed = self.users.get(snapshot, set())
        if thread not in needed:
            return 0
        needed.remove(thread)
        if needed:
            return 0
        freed = 0
        for name in self._of(snapshot):
            self.uses[name] -= 1
            freed += 0 if self.uses[name] else self.sizes.get(name, 0)
        return freed


def _snapshot(step: Step) -> str:
    return step.cell.get("snapshot", "") if step.cell is not None else ""


def _stands_on(line: Sequence[Step], there: set[str]) -> str:
    """The snapshot that the end of a line comes back from."""
    cells = cells_in_effect([step.cell for step in line if step.cell is not None])
    return next((one for cell in reversed(cells) if (one := cell.get("snapshot", "")) in there), "")


def _times(tree: StepTree, now: datetime) -> dict[str, datetime]:
    """When each step was kept, never after those that follow it; what another thread kept is as old as what follows."""
    whens: dict[str, datetime] = {}
    for step in reversed(list(tree.all())):
        known = min([one for one in (step.when, whens.get(step.name)) if one is not None], default=now)
        whens[step.name] = known
        if step.parent:
            whens[step.parent] = min(known, whens.get(step.parent, known))
    return whens


def _turns(tree: StepTree) -> Iterator[tuple[Step, list[Step]]]:
    """The ends of turns, each with the steps of the turn that came before it on its line."""
    below: dict[str, list[Step]] = {}
    for step in tree.steps:
        below.setdefault(step.parent, []).append(step)
    for step in tree.steps:
        cell = step.cell
        if cell is None:
            continue
        following = [one.cell for one in below.get(step.name, []) if one.cell is not None]
        if step.answered or not following or any(one["turn"] != cell["turn"] for one in following):
            line = tree.line(step)[:-1]
            yield step, [one for one in line if one.cell is not None and one.cell["turn"] == cell["turn"]]
