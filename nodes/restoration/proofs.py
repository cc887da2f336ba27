"""Proves steps: after a step has been kept, its snapshot is restored beside the session and compared with it.

All of it happens while nobody waits for it: a frozen copy of the session looks at itself, and a fresh session behind
the same walls restores the snapshot and compares. What differs is told to the model, the user and State.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from langgraph.runtime import Runtime

from graph.context import Context
from graph.events import Notice, StepProved, emit
from graph.state import Cell, Proof, ProofDifference
from nodes.restoration.manifests import NotRestoredError
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Provable, Sandbox, SandboxError
from sandboxes.results import LookTaken, TrialRestore

log = logging.getLogger(__name__)

BURST = 0.5
"""Seconds of a processor that proofs may use before their share of the time has come to that."""
LOOK_SECONDS = 5.0
"""Seconds of a processor that looking at a session may take, and as many comparing with it."""
IDLE_SECONDS = 0.02
"""How long a session has been idle when it is looked at: who sends cell after cell does not wait for that."""
SETTLE_SECONDS = 2.0
MAX_THREADS = 64
"""Threads whose proofs are remembered in this process."""
MAX_TOLD = 3
"""Differences that one sentence names."""


@dataclass(slots=True)
class _Thread:
    """The proofs of one thread."""

    under_way: set[asyncio.Task[None]] = field(default_factory=set)
    done: list[Proof] = field(default_factory=list)
    begun: str = ""
    """The newest snapshot whose proof has begun, or that was said not to be proved."""
    insists: str = ""
    """The newest snapshot that is to be proved even if all that is in it has been."""
    proved: str = ""
    """The newest snapshot whose proof found nothing."""
    told: set[tuple[str, str]] = field(default_factory=set)
    """Differences that the model knows of."""


class Proofs:
    """The proofs of this process.

    Args:
        snapshots: Where snapshots are; None: no step is proved.
        share: The part of one processor that proofs may use in the long run; 0: no step is proved.
        max_bytes: Memory that a session may have that is to be proved.
        settle_seconds: How long the end of a turn, and a pause, wait for proofs under way.
    """

    def __init__(
        self,
        snapshots: SnapshotStore | None = None,
        *,
        share: float = 0.0,
        max_bytes: int = 0,
        settle_seconds: float = SETTLE_SECONDS,
    ) -> None:
        self._snapshots = snapshots
        self._share = share
        self._max_bytes = max_bytes
        self._settle_seconds = settle_seconds
        self._threads: OrderedDict[str, _Thread] = OrderedDict()
        self._turn: asyncio.Semaphore | None = None
        self._began = time.monotonic()
        self.cpu = 0.0
        """Seconds of a processor that proofs have used."""
        self._under_way = 0
        """Proofs under way, which are expected to use what the last one did."""
        self._typical = 0.0

    @property
    def used_share(self) -> float:
        """The part of one processor that they have used since this began."""
        return self.cpu / max(time.monotonic() - self._began, 1.0)

    def begin(self, sandbox: Sandbox, cell: Cell, *, always: bool) -> None:
        """Begin to prove the step after a cell, if it is worth it; returns at once.

        Args:
            sandbox: The thread's, at that step.
            cell: The cell, with its snapshot.
            always: Whether also if all kinds of its objects have been proved, as for the last step of a turn. Such
                proofs count, and others wait until the share of all allows them.
        """
        snapshot = cell.get("snapshot", "")
        if self._snapshots is None or not self._share or not snapshot:
            return
        thread = self._thread(sandbox.id)
        if always:
            thread.insists = snapshot
        if thread.begun == snapshot or (thread.under_way and not always):
            return
        if not isinstance(sandbox, Provable):
            if always:
                thread.begun = snapshot
                why = f"a sandbox of kind {sandbox.kind} has no copy of its session to compare with"
                thread.done.append(_not_proved(cell, why))
            return
        expected = self.cpu + self._under_way * self._typical
        if not always and expected > BURST + self._share * (time.monotonic() - self._began):
            return
        thread.begun = snapshot
        task = asyncio.get_running_loop().create_task(self._prove(sandbox, sandbox, thread, cell))
        thread.under_way.add(task)
        task.add_done_callback(thread.under_way.discard)

    async def _prove(self, sandbox: Sandbox, provable: Provable, thread: _Thread, cell: Cell) -> None:
        assert self._snapshots is not None
        snapshot = cell.get("snapshot", "")
        began = time.monotonic()
        self._under_way += 1
        try:
            if thread.insists != snapshot:
                await asyncio.sleep(IDLE_SECONDS)
            look = await self._look(provable, thread, snapshot)
            if look.state == "known" and thread.insists == snapshot:  # the turn has ended meanwhile
                look = await self._look(provable, thread, snapshot)
            if look.state in ("known", "gone"):
                thread.begun = "" if thread.begun == snapshot else thread.begun
                return
            if look.state == "refused":
                thread.done.append(_not_proved(cell, look.why))
                return
            known = [one["name"] for one in cell.get("lost") or []]
            with self._waiting_in_line() as turn:
                async with turn, provable.trial() as trial:
                    await self._snapshots.lend(trial, snapshot)
                    found = await trial.compare(snapshot, known=known, seconds=LOOK_SECONDS)
        except (SandboxError, NotRestoredError, OSError) as error:
            if sandbox.head:  # else it was closed, or is at work on something else
                thread.done.append(_not_proved(cell, str(error).rstrip(".")))
            return
        except Exception:
            log.exception("the proof of a step failed")
            return
        finally:
            self._under_way -= 1
        self.cpu += found.cpu
        self._typical = found.cpu
        proof = _proof(cell, found, time.monotonic() - began)
        if proof["outcome"] == "proved":
            thread.proved = snapshot
        thread.done.append(proof)

    async def _look(self, provable: Provable, thread: _Thread, snapshot: str) -> LookTaken:
        return await provable.look(
            snapshot,
            always=thread.insists == snapshot,
            proved=thread.proved,
            seconds=LOOK_SECONDS,
            max_bytes=self._max_bytes,
        )

    @contextmanager
    def _waiting_in_line(self) -> Iterator[asyncio.Semaphore]:
        """One trial at a time: they are not to be in the way of what people wait for."""
        if self._turn is None:
            self._turn = asyncio.Semaphore(1)
        yield self._turn

    async def settle(self, thread: str) -> None:
        """Wait for the proofs of a thread that are under way, for a while."""
        if (known := self._threads.get(thread)) is not None and known.under_way:
            await asyncio.wait(known.under_way, timeout=self._settle_seconds)

    def take(self, thread: str, runtime: Runtime[Context]) -> tuple[list[Proof], list[str]]:
        """What has been proved since this was asked last; whoever streams the run is told.

        Returns:
            The proofs, and what the model must be told.
        """
        if (known := self._threads.get(thread)) is None:
            return [], []
        proofs, known.done = known.done, []
        notices: list[str] = []
        for proof in proofs:
            emit(
                runtime,
                StepProved(
                    number=proof["cell"],
                    outcome=proof["outcome"],
                    differs=[f"{one['name']} {one['how']}" for one in proof["differs"]],
                    why=proof["why"],
                    compared=proof["compared"],
                    cpu=proof["cpu"],
                    share=round(self.used_share, 4),
                ),
            )
            new = [one for one in proof["differs"] if (one["name"], one["how"]) not in known.told]
            known.told |= {(one["name"], one["how"]) for one in new}
            if new:
                said = in_words(proof["cell"], new)
                notices.append(said)
                emit(runtime, Notice(said, level="warning"))
        return proofs, notices

    def _thread(self, thread: str) -> _Thread:
        known = self._threads.setdefault(thread, _Thread())
        self._threads.move_to_end(thread)
        if len(self._threads) > MAX_THREADS:
            self._threads.popitem(last=False)
        return known


NO_PROOFS = Proofs()


def in_words(cell: int, differs: Sequence[ProofDifference]) -> str:
    """What a proof found, in a sentence or two."""
    named = "; ".join(f"`{one['name']}` {_would(one['how'])}" for one in differs[:MAX_TOLD])
    more = f"; and {len(differs) - MAX_TOLD} more" if len(differs) > MAX_TOLD else ""
    keep = "Keep the cells that make it repeatable" if len(differs) == 1 else "Keep the cells that make them repeatable"
    return f"A trial restore of the step after cell {cell} found a difference: {named}{more}. {keep}."


def _would(how: str) -> str:
    """The same of something that has not happened."""
    for now, then in (("comes back", "would come back"), ("does not come back", "would not come back")):
        if how.startswith(now):
            return then + how[len(now) :]
    return how


def _proof(cell: Cell, found: TrialRestore, seconds: float) -> Proof:
    if found.refused:
        return _not_proved(cell, found.refused)
    return Proof(
        cell=cell["number"],
        snapshot=cell.get("snapshot", ""),
        outcome="differs" if found.differs else "proved",
        differs=[ProofDifference(name=one.name, how=one.how) for one in found.differs],
        compared=found.compared,
        skipped=list(found.skipped),
        why="",
        seconds=round(seconds, 3),
        cpu=round(found.cpu, 3),
    )


def _not_proved(cell: Cell, why: str) -> Proof:
    return Proof(
        cell=cell["number"],
        snapshot=cell.get("snapshot", ""),
        outcome="not proved",
        differs=[],
        compared=0,
        skipped=[],
        why=why[:300],
        seconds=0.0,
        cpu=0.0,
    )
