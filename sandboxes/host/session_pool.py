"""Which sandboxes of this process have a live session: at most so many at a time, and none that idles for long.

A session may be put to sleep when all that is in it is in a snapshot that the store has: its process ends, the sandbox
stays, and whoever brings it to its snapshot again wakes it. Who needs a place while all are taken waits; for them the
session that has been idle longest is put to sleep. Users of a server take turns, so that one who waits with many
sessions delays another by one place, and no user has all places: one is always left for the others.
"""

import asyncio
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Protocol

from sandboxes.base import SandboxError, SandboxLostError
from sandboxes.host.limits import MEGABYTE

SLEEP_SECONDS = 600.0
STEP_GAP_SECONDS = 10.0
"""How long a session that may be in the middle of a step is never evicted: as between a restore and the cell that it
was restored for."""
NOTICE_SECONDS = 1.0
"""How long one waits before being told so."""
SESSION_BYTES = 256 * MEGABYTE
"""Memory for each session, where no capacity is given."""
LEAST_CAPACITY = 4
MEMORY_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")

Evictable = Literal["never", "under pressure", "when idle"]
"""When a session may be put to sleep. `under pressure`: its snapshot lacks a variable, which a wake has to make again
or to report lost; so it sleeps only for others who wait."""

on_wait: ContextVar[Callable[[str], None] | None] = ContextVar("on_wait", default=None)
"""Called in the event loop, with a sentence for the user, when something waits for a place. It is a context variable
because any method of a sandbox may have to start a session."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A user of a server, as the owner of sessions."""

    name: str = ""
    """Empty where there are no users: then whoever comes first is served first, and may have all places."""
    places: int = 0
    """How many they may have; 0: all but each."""


owner: ContextVar[Owner] = ContextVar("owner", default=Owner())  # noqa: B039 - it is frozen
"""In whose name the run works that starts sessions now."""


@dataclass(frozen=True, slots=True)
class SessionSnapshot:
    """The snapshot that a session is at, and whether the session could be brought back from it."""

    id: str = ""
    stored: bool = False
    """Whether the store has it."""
    complete: bool = True
    """Whether it has all variables."""

    @property
    def evictable(self) -> Evictable:
        """When a session at this snapshot may be put to sleep."""
        if not (self.id and self.stored):
            return "never"
        return "when idle" if self.complete else "under pressure"


class Evictee(Protocol):
    """A sandbox whose session can be put to sleep."""

    @property
    def evictable(self) -> Evictable:
        """When it may be put to sleep, as it is now."""

    async def sleep(self) -> None:
        """End its session, unless it may not be put to sleep any more."""


class SessionPool:
    """The live sessions of one process.

    Args:
        capacity: How many there may be at a time; 0: as many as `default_capacity` says.
        sleep_after: Seconds without use until a session is put to sleep; 0: only when others wait.
        step_gap: Seconds for which a session is not evicted that may be in the middle of a step.
    """

    def __init__(self, *, capacity: int = 0, sleep_after: float = 0.0, step_gap: float = STEP_GAP_SECONDS) -> None:
        self._capacity = capacity or default_capacity()
        self._sleep_after = sleep_after or math.inf
        self._step_gap = step_gap
        self._leases: dict[object, Lease] = {}
        self._waiting: list[Lease] = []
        self._served_at: dict[str, int] = {}
        """For each owner that waits or has places, the turn at which they were served last."""
        self._turn = 0
        self._sleeping: dict[Lease, asyncio.Task[None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._giving_way: list[Callable[[], None]] = []

    @property
    def count(self) -> int:
        """How many sessions there are, or are about to be."""
        return len(self._leases)

    @property
    def waiting(self) -> int:
        """How many wait for a place."""
        return len(self._waiting)

    @property
    def has_room(self) -> bool:
        """Whether there is a place that nobody waits for, and that who works now may have."""
        return len(self._leases) < self._capacity and not self._waiting and self._may_have_more(owner.get())

    @contextmanager
    def giving_way(self, call: Callable[[], None]) -> Iterator[None]:
        """Have `call` called within the block when somebody waits for a place."""
        self._giving_way.append(call)
        try:
            yield
        finally:
            self._giving_way.remove(call)

    def mark_used(self, sandbox: object) -> None:
        """Note that somebody is about to use a sandbox."""
        if (lease := self._leases.get(sandbox)) is not None:
            lease.mark_used()

    async def acquire(self, lease: "Lease") -> None:
        """Take a place for a session; wait until there is one, in turn with other owners.

        Raises:
            SandboxLostError: the sandbox was closed or reset meanwhile.
        """
        if lease.sandbox in self._leases:
            return
        lease.owner = owner.get()
        if len(self._leases) < self._capacity and self._may_have_more(lease.owner):
            self._grant(lease)  # whoever waits now may have no more
            return
        lease.place = asyncio.get_running_loop().create_future()
        self._waiting.append(lease)
        notice = self._notice_later(lease)
        for call in list(self._giving_way):
            call()
        self.evict_idle()
        try:
            await lease.place
        except BaseException:
            if lease in self._waiting:
                self._waiting.remove(lease)
            self.release(lease)  # a place may have come at the very moment
            raise
        finally:
            lease.place = None
            if notice is not None:
                notice.cancel()

    def _notice_later(self, lease: "Lease") -> asyncio.TimerHandle | None:
        on_notice = on_wait.get()
        if on_notice is None:
            return None

        def notify() -> None:
            if not self._may_have_more(lease.owner):
                held = self._held(lease.owner)
                on_notice(f"Waiting for a place: {held} of your sandboxes {'is' if held == 1 else 'are'} in use, "
                     "and you may have no more at a time.")  # fmt: skip
                return
            ahead = self._waiting.index(lease) if lease in self._waiting and not lease.owner.name else 0
            others = f", after {ahead} other{'s' if ahead > 1 else ''}" if ahead else ""
            used = "1 sandbox is" if self._capacity == 1 else f"{self._capacity} sandboxes are"
            on_notice(
                f"Waiting for a place{others}: {used} in use, and no more may be at a time (STEPWELL_MAX_SANDBOXES)."
            )

        return asyncio.get_running_loop().call_later(NOTICE_SECONDS, notify)

    def release(self, lease: "Lease") -> None:
        """Give back the place of a session that has ended; it may have none."""
        if self._leases.pop(lease.sandbox, None) is None:
            return
        while len(self._leases) < self._capacity and (first := self._next()) is not None:
            self._waiting.remove(first)
            if first.place is not None and not first.place.done():
                self._grant(first)
                first.place.set_result(None)
        self.evict_idle()

    def _next(self) -> "Lease | None":
        """The next to get a free place: of the owners with the fewest, the one whose last turn is longest ago."""
        eligible = [lease for lease in self._waiting if self._may_have_more(lease.owner)]
        # The first of equals is the one that has waited longest.
        return min(
            eligible, key=lambda each: (self._held(each.owner), self._served_at.get(each.owner.name, 0)), default=None
        )

    def _grant(self, lease: "Lease") -> None:
        self._leases[lease.sandbox] = lease
        self._turn += 1
        present = {each.owner.name for each in (*self._leases.values(), *self._waiting)}
        self._served_at = {name: turn for name, turn in self._served_at.items() if name in present}
        self._served_at[lease.owner.name] = self._turn

    def _held(self, user: Owner) -> int:
        # Without users, turns are by order alone.
        return sum(each.owner.name == user.name for each in self._leases.values()) if user.name else 0

    def _may_have_more(self, user: Owner) -> bool:
        if not user.name:
            return True
        share = max(self._capacity - 1, 1)
        return self._held(user) < (min(user.places, share) if user.places else share)

    def evict_idle(self) -> None:
        """Put to sleep the sessions that are due, and set the timer for the next ones."""
        now, soonest = time.monotonic(), math.inf
        # Who may have no more can only get a place that they have themselves.
        full = Counter(each.owner.name for each in self._waiting if not self._may_have_more(each.owner))
        full.subtract(each.owner.name for each in self._sleeping)
        needed = sum(self._may_have_more(each.owner) for each in self._waiting) - len(self._sleeping)
        for lease in sorted(self._leases.values(), key=lambda each: each.since):
            if lease.used or lease in self._sleeping:
                continue
            name = lease.owner.name
            due = lease.since + self._idle_limit(lease, needed=needed > 0 or full[name] > 0)
            if due <= now:
                self._sleeping[lease] = asyncio.get_running_loop().create_task(self._evict(lease))
                needed -= 1
                full[name] -= 1
            else:
                soonest = min(soonest, due)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if soonest < math.inf:
            self._timer = asyncio.get_running_loop().call_later(soonest - now, self.evict_idle)

    def note_idle(self) -> None:
        """Evict idle sessions, now that one more is idle."""
        # Scanning after each cell is expensive: it is done only if somebody waits, or no scan is due.
        if self._waiting or (self._timer is None and self._sleep_after < math.inf):
            self.evict_idle()

    def _idle_limit(self, lease: "Lease", *, needed: bool) -> float:
        """Seconds without use after which a session is put to sleep."""
        match lease.sandbox.evictable:
            case "when idle":
                return max(0.0 if needed else self._sleep_after, 0.0 if lease.between_steps else self._step_gap)
            case "under pressure":
                return min(self._sleep_after, SLEEP_SECONDS) if needed else math.inf
            case "never":
                return math.inf

    async def _evict(self, lease: "Lease") -> None:
        try:
            if not lease.used:
                await lease.sandbox.sleep()
        except (SandboxError, OSError):
            pass  # of a folder that cannot be removed now; whoever uses the sandbox next is told what is wrong
        finally:
            del self._sleeping[lease]
            self.evict_idle()

    async def close(self) -> None:
        """Stop evicting, and wait for sessions that are being put to sleep."""
        await asyncio.gather(*self._sleeping.values(), return_exceptions=True)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Lease:
    """A sandbox's place in the pool: whether it has a session, and whether that is in use.

    As an async context manager it is the sandbox's turn: one at a time, and none is put to sleep meanwhile.

    Args:
        pool: The pool.
        sandbox: The sandbox.
    """

    def __init__(self, pool: SessionPool, sandbox: Evictee) -> None:
        self._pool = pool
        self.sandbox = sandbox
        self.owner = Owner()
        """Whose it is; known once it has taken its place."""
        self.since = time.monotonic()
        """When it was used last."""
        self.between_steps = False
        """Whether its last use ended a step: it is not in the middle of one."""
        self.place: asyncio.Future[None] | None = None
        """Done when it gets the place that it waits for."""
        self._turn = asyncio.Lock()
        self._turns = 0
        """How many have the turn or wait for it."""
        self._uses = 0
        self._sessions = 0

    @property
    def used(self) -> bool:
        """Whether it is in use now."""
        return self._turns + self._uses > 0

    @property
    def turn_taken(self) -> bool:
        """Whether somebody has the turn, or waits for it."""
        return self._turns > 0

    async def __aenter__(self) -> None:
        self._turns += 1
        try:
            await self._turn.acquire()
        except BaseException:
            self._turn_over()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._turn.release()
        self._turn_over()

    def _turn_over(self) -> None:
        self._turns -= 1
        self.mark_used()
        self._release_if_empty()
        self._pool.note_idle()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep it awake while it is used apart from its session."""
        self._uses += 1
        try:
            yield
        finally:
            self._uses -= 1
            self.mark_used()
            self._pool.note_idle()

    def mark_used(self) -> None:
        """Note that it is being used, maybe in the middle of a step."""
        self.since, self.between_steps = time.monotonic(), False

    def mark_idle(self) -> None:
        """Note that a step has ended in it."""
        self.since, self.between_steps = time.monotonic(), True
        self._pool.note_idle()

    async def acquire(self) -> None:
        """Take a place before a session starts; see `SessionPool.acquire`. It is kept until the turn is over."""
        await self._pool.acquire(self)

    def session_started(self) -> None:
        """Count a session that has started."""
        self._sessions += 1

    def session_ended(self) -> None:
        """Count a session whose process is gone, whoever ended it."""
        self._sessions -= 1
        self._release_if_empty()

    def _release_if_empty(self) -> None:
        if not self._sessions and not self._turns:
            self._pool.release(self)

    def stop_waiting(self) -> None:
        """Tell whoever waits for a place that the sandbox is gone."""
        if self.place is not None and not self.place.done():
            self.place.set_exception(SandboxLostError("The sandbox was closed or reset while it waited for a place."))


def default_capacity() -> int:
    """How many sessions the memory holds that this process may use. Reads small files: call it in a thread."""
    sizes = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in MEMORY_LIMITS:
        try:
            sizes.append(int(Path(path).read_text("ascii")))
        except (OSError, ValueError):
            continue  # not limited there
    return max(LEAST_CAPACITY, min(sizes) // SESSION_BYTES)
