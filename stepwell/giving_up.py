"""Giving up snapshots by rules: what would go, and writing down that it goes before any blob is removed.

What makes it safe beside running analyses, servers and forks, without holding any thread for long:

1. A thread's lock is held while its rows are written. From then on nothing of the thread is restored from what it gave
   up, and the next run begins with a new session (`ThreadHold.taken_over`), which knows only of blobs that it restores.
2. What is needed is read after the rows, of all threads. A fork is stored before it takes over the rows of its thread:
   either it is seen here, and keeps what it names, or it finds the rows.
3. Blobs are removed after that, and none that somebody has added again since (`Blobs.delete`).

A process that is killed on the way leaves rows without removals, which the next `gc` makes up for.
"""

import asyncio
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from langgraph.checkpoint.serde.types import _DeltaSnapshot

from graph.checkpoints.damage import reporting_damage
from graph.checkpoints.given_up import GivenUp
from graph.checkpoints.saver import Saver
from graph.checkpoints.step_tree import StepTree, step_tree
from graph.checkpoints.thread_lock import ThreadHeldError, hold_thread
from graph.settings import Settings
from nodes.restoration.line import cells_in_effect
from nodes.restoration.manifests import MAX_MANIFEST, NotRestoredError, blobs_of
from stepwell.retention import Candidate, Rules, StoredSnapshots, candidates, chosen, named_by
from storage.amounts import parse_size
from storage.blob_folder import StoredEntry
from storage.blobs import BlobMissingError, Blobs, BlobTooLargeError

AT_ONCE = 8
"""Manifests that are read at the same time."""
LIVE = timedelta(days=1)
"""How long after its newest step a session may still live that holds what no snapshot has. It would begin anew with the
next run, so its thread is left alone until then."""


@dataclass(frozen=True, slots=True)
class RuleEffect:
    """What one rule gives back by itself."""

    rule: str
    steps: int
    """Snapshots that threads do without, each counted once for each thread."""
    bytes: int
    """What nobody needs any more then."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What rules name."""

    given: Mapping[str, Mapping[str, GivenUp]]
    """By thread and snapshot."""
    marks: Mapping[str, str]
    """Where these threads were when that was determined."""
    effects: tuple[RuleEffect, ...] = ()
    young: int = 0
    """Snapshots that rules name and that are younger than the grace period."""
    over_budget: int = 0
    """Bytes by which the store stays above the budget."""
    live: int = 0
    """Threads that were left alone since their sessions may hold what no snapshot has."""


NOTHING = Plan({}, {})


@dataclass(slots=True)
class Survey:
    """What a store holds, and who needs what of it."""

    stored: list[StoredEntry]
    parts: dict[str, set[str]] = field(default_factory=dict)
    """The blobs of each snapshot that is stored and that a thread names."""
    named: dict[str, set[str]] = field(default_factory=dict)
    """What each thread names, and has not given up."""

    @property
    def sizes(self) -> dict[str, int]:
        """What is stored, by name."""
        return {one.name: one.size for one in self.stored if one.name}

    def needed(self, given: Mapping[str, Mapping[str, GivenUp]] | None = None) -> set[str]:
        """The blobs that some thread needs, once threads have given up what is said here."""
        given = given or {}
        names = {name for thread, its in self.named.items() for name in its - given.get(thread, {}).keys()}
        return names.union(*(self.parts[name] for name in names & self.parts.keys()))

    @property
    def by_themselves(self) -> set[str]:
        """What threads name that is no snapshot: files that users brought, or that were published."""
        return set().union(*self.named.values()) & self.sizes.keys() - self.parts.keys()

    def snapshots(self) -> StoredSnapshots:
        """The same for counting."""
        users: dict[str, set[str]] = {name: set() for name in self.parts}
        for thread, names in self.named.items():
            for name in names & self.parts.keys():
                users[name].add(thread)
        return StoredSnapshots(self.sizes, self.parts, users, self.by_themselves)


async def survey(saver: Saver, blobs: Blobs) -> Survey:
    """Look at a store.

    Raises:
        BlobError: it cannot be reached.
    """
    # Listed before the checkpoints are read: what is named later than that was stored later, and is young.
    found = Survey([one async for one in blobs.names()])
    await read_needs(found, saver, blobs)
    return found


async def read_needs(found: Survey, saver: Saver, blobs: Blobs) -> None:
    """Read anew what threads name, and the manifests among it that are not known yet."""
    named = await saver.hashes_by_thread()
    given = await saver.all_given_up()
    found.named = {thread: names - given.get(thread, {}).keys() for thread, names in named.items()}
    everything = set().union(*found.named.values())
    found.parts |= await read_parts(blobs, found.sizes, everything - found.parts.keys())


async def stored_inputs(found: Survey, saver: Saver) -> set[str]:
    """Those of the blobs that are files which users brought."""
    possible, inputs = found.by_themselves, set[str]()
    for thread, names in found.named.items():
        if not names & possible:
            continue
        with reporting_damage(thread):
            values = [row.value for row in await saver.written_rows(thread, values=("inputs",), names=())]
            for row in await saver.checkpoint_rows(thread):
                if row.source in ("update", "fork"):  # a full copy, which nothing wrote
                    values.append((await saver.channel_values(thread, row.id)).get("inputs"))
        for value in values:
            listed = value.value if isinstance(value, _DeltaSnapshot) else value
            inputs |= (
                {one["sha256"] for one in listed or [] if isinstance(one, dict)} if isinstance(listed, list) else set()
            )
    return inputs & possible


async def read_parts(blobs: Blobs, sizes: Mapping[str, int], hashes: Iterable[str]) -> dict[str, set[str]]:
    """The blobs of those of the hashes that are stored snapshots."""
    turn = asyncio.Semaphore(AT_ONCE)

    async def parts(name: str) -> set[str] | None:
        if sizes[name] > MAX_MANIFEST:
            return None
        async with turn:
            try:
                return await asyncio.to_thread(blobs_of, await blobs.read(name, max_bytes=MAX_MANIFEST))
            except (NotRestoredError, BlobMissingError, BlobTooLargeError):
                return None  # no snapshot, or one that cannot be used any more

    there = [name for name in sorted(set(hashes)) if name in sizes]
    read = await asyncio.gather(*(parts(name) for name in there))
    return {name: found for name, found in zip(there, read, strict=True) if found is not None}


async def plan(rules: Rules, saver: Saver, found: Survey, *, grace: float) -> Plan:
    """Determine what the rules name; nothing changes.

    Args:
        rules: The rules.
        saver: The checkpoints.
        found: What there is.
        grace: Seconds; younger snapshots are left alone.
    """
    if not rules:
        return NOTHING
    now = datetime.now(UTC)
    marks: dict[str, str] = {}
    every: list[Candidate] = []
    live = 0
    for thread in sorted(found.named):
        if len(its := found.named[thread] & found.parts.keys()) > 1:
            mark = await saver.mark(thread)
            with reporting_damage(thread):
                tree = await step_tree(saver, thread)
                pending = (await saver.channel_values(thread)).get("pending") or []
            if holds_more_than_snapshots(tree, now):
                live += 1
                continue
            marks[thread] = mark
            every += candidates(thread, tree, its, now, _wanted_back(tree, pending))
    every.sort(key=lambda one: (one.when, one.number))
    return replace(await asyncio.to_thread(_decide, rules, found, every, marks, grace, now), live=live)


def _decide(
    rules: Rules, found: Survey, every: list[Candidate], marks: Mapping[str, str], grace: float, now: datetime
) -> Plan:
    ages = {one.name: one.age for one in found.stored}
    old = [one for one in every if ages[one.snapshot] > grace]
    needed, fresh = found.needed(), found.snapshots()
    total = sum(one.size for one in found.stored if one.age <= grace or one.name in needed)
    effects = []
    for rule in rules.each():
        steps, freed = _apply(rule, old, fresh.copy(), total, now, {})
        effects.append(RuleEffect(rule.text, len(steps), freed))
    given: dict[str, dict[str, GivenUp]] = {}
    for rule in rules.each():
        waiting = [one for one in old if one.snapshot not in given.get(one.thread, {})]
        steps, freed = _apply(rule, waiting, fresh, total, now, given)
        total -= freed
        for one in steps:
            given.setdefault(one.thread, {})[one.snapshot] = GivenUp.now(rule.text)
    named = named_by(rules, now)
    young = sum(named(one) for one in every if ages[one.snapshot] <= grace)
    over = max(0, total - parse_size(rules.budget)) if rules.budget else 0
    return Plan(given, {thread: marks[thread] for thread in given}, tuple(effects), young, over)


def _apply(
    rule: Rules,
    waiting: Sequence[Candidate],
    store: StoredSnapshots,
    total: int,
    now: datetime,
    before: Mapping[str, Iterable[str]],
) -> tuple[list[Candidate], int]:
    """What one rule names, and what that gives back; `store` is left without it."""
    freed = 0
    steps: list[Candidate] = []
    named = named_by(rule, now)
    budget = parse_size(rule.budget) if rule.budget else None

    def wanted(one: Candidate) -> bool:
        return named(one) or (budget is not None and total - freed > budget)

    for one in chosen(waiting, wanted, before):
        steps.append(one)
        freed += store.give_up(one.thread, one.snapshot)
    return steps, freed


def holds_more_than_snapshots(tree: StepTree, now: datetime) -> bool:
    """Whether the session of a thread may still live and hold variables that no snapshot of its step has."""
    head = tree.head
    if head is None or head.when is None or now - head.when > LIVE:
        return False
    cells = cells_in_effect([step.cell for step in tree.line(head) if step.cell is not None])
    return bool(cells) and (not cells[-1].get("snapshot") or bool(cells[-1].get("lost")))


def _wanted_back(tree: StepTree, pending: Iterable[Mapping[str, object]]) -> set[str]:
    """The snapshots of steps that cells go back to which wait to be approved."""
    cells = [step.cell for step in tree.line(tree.head) if step.cell is not None] if tree.head is not None else []
    wanted = set()
    for one in pending:
        back_to = one.get("back_to")
        if isinstance(back_to, int):
            before = cells_in_effect([cell for cell in cells if cell["number"] <= back_to])
            wanted |= {cell.get("snapshot", "") for cell in before[-1:]}
    return wanted


async def write_down(planned: Plan, saver: Saver, settings: Settings) -> tuple[int, int]:
    """Have threads do without what the plan names; those that somebody works on, or that have gone on, keep it.

    Returns:
        How many snapshots were given up, and how many threads were left alone.
    """
    steps = left = 0
    # Under a name of its own, so that live sessions of this process begin anew, too.
    holder = f"gc {uuid.uuid4()}"
    for thread, given in planned.given.items():
        try:
            async with hold_thread(thread, settings, patience=0, holder=holder):
                if await saver.mark(thread) != planned.marks[thread]:
                    left += 1
                    continue
                await saver.give_up(thread, given)
        except ThreadHeldError:
            left += 1
            continue
        steps += len(given)
    return steps, left
