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

SLEEP_SECONDS = 600.0
SETTLE_SECONDS = 10.0
"""How long a session that may be in the middle of a step is left alone in any case: as between being brought to a
snapshot and the cell that it was brought there for."""
SAY_SECONDS = 1.0
"""How long one waits before being told so."""
BYTES_EACH = 256 << 20
"""Memory for each session, where it is not said how many there may be."""
FEWEST = 4
MEMORY_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")

Rest = Literal["never", "in need", "well"]
"""Whether a session may be put to sleep. `in need`: its snapshot lacks a variable, which a wake has to make again or
to report lost; so that is done only for others who wait."""

on_wait: ContextVar[Callable[[str], None] | None] = ContextVar("on_wait", default=None)
"""Called in the event loop, with a sentence for the user, when something waits for a place. It is a context variable
because any method of a sandbox may have to start a session."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose sessions start: a user of a server."""

    name: str = ""
    """Empty where there are no users: then whoever comes first is served first, and may have all places."""
    places: int = 0
    """How many they may have; 0: all but one."""


owner: ContextVar[Owner] = ContextVar("owner", default=Owner())  # noqa: B039 - it is frozen
"""In whose name the run works that starts sessions now."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a session stands: at which snapshot, and whether it could be brought back from there."""

    head: str = ""
    stored: bool = False
    """Whether the store has that snapshot."""
    whole: bool = True
    """Whether the snapshot has all variables."""

    @property
    def rest(self) -> Rest:
        """What it would mean to put it to sleep."""
        if not (self.head and self.stored):
            return "never"
        return "well" if self.whole else "in need"


class Sleeper(Protocol):
    """A sandbox whose session can be put to sleep."""

    @property
    def rest(self) -> Rest:
        """Whether it may be put to sleep as it is now."""

    async def sleep(self) -> None:
        """End its session, unless it may not be put to sleep any more."""


class Living:
    """The live sessions of one process.

    Args:
        most: How many there may be at a time; 0: as many as `fitting` says.
        sleep_after: Seconds without use until a session is put to sleep; 0: only when others wait.
        settle: Seconds that a session is left alone which may be in the middle of a step.
    """

    def __init__(self, *, most: int = 0, sleep_after: float = 0.0, settle: float = SETTLE_SECONDS) -> None:
        self._most = most or fitting()
        self._sleep_after = sleep_after or math.inf
        self._settle = settle
        self._placed: dict[object, Stay] = {}
        self._waiting: list[Stay] = []
        self._served: dict[str, int] = {}
        """For each owner that waits or has places, at which turn one of theirs was served last."""
        self._turn = 0
        self._sleeping: dict[Stay, asyncio.Task[None]] = {}
        self._timer: asyncio.TimerHandle | None = None

    @property
    def count(self) -> int:
        """How many sessions there are, or are about to be."""
        return len(self._placed)

    @property
    def waiting(self) -> int:
        """How many wait for a place."""
        return len(self._waiting)

    def touch(self, sandbox: object) -> None:
        """Say that somebody is about to use a sandbox."""
        if (stay := self._placed.get(sandbox)) is not None:
            stay.unsettle()

    async def enter(self, stay: "Stay") -> None:
        """Take a place for a session; wait until there is one, in turn with other owners.

        Raises:
            SandboxLostError: the sandbox was closed or reset meanwhile.
        """
        if stay.sandbox in self._placed:
            return
        stay.owner = owner.get()
        if len(self._placed) < self._most and self._may_have_more(stay.owner):
            self._serve(stay)  # whoever waits now may have no more
            return
        stay.place = asyncio.get_running_loop().create_future()
        self._waiting.append(stay)
        saying = self._say_soon(stay)
        self.look()
        try:
            await stay.place
        except BaseException:
            if stay in self._waiting:
                self._waiting.remove(stay)
            self.leave(stay)  # a place may have come at the very moment
            raise
        finally:
            stay.place = None
            if saying is not None:
                saying.cancel()

    def _say_soon(self, stay: "Stay") -> asyncio.TimerHandle | None:
        tell = on_wait.get()
        if tell is None:
            return None

        def say() -> None:
            if not self._may_have_more(stay.owner):
                held = self._held(stay.owner)
                tell(f"Waiting for a place: {held} of your sandboxes {'is' if held == 1 else 'are'} in use, "
                     "and you may have no more at a time.")  # fmt: skip
                return
            ahead = self._waiting.index(stay) if stay in self._waiting and not stay.owner.name else 0
            others = f", after {ahead} other{'s' if ahead > 1 else ''}" if ahead else ""
            used = "1 sandbox is" if self._most == 1 else f"{self._most} sandboxes are"
            tell(f"Waiting for a place{others}: {used} in use, and no more may be at a time (STEPWELL_MAX_SANDBOXES).")

        return asyncio.get_running_loop().call_later(SAY_SECONDS, say)

    def leave(self, stay: "Stay") -> None:
        """Give back the place of a session that has ended; it may have none."""
        if self._placed.pop(stay.sandbox, None) is None:
            return
        while len(self._placed) < self._most and (first := self._next()) is not None:
            self._waiting.remove(first)
            if first.place is not None and not first.place.done():
                self._serve(first)
                first.place.set_result(None)
        self.look()

    def _next(self) -> "Stay | None":
        """Who gets a place that is free: of the owners with the fewest, the one whose last turn is longest ago."""
        able = [stay for stay in self._waiting if self._may_have_more(stay.owner)]
        # The first of equals is the one that has waited longest.
        return min(able, key=lambda one: (self._held(one.owner), self._served.get(one.owner.name, 0)), default=None)

    def _serve(self, stay: "Stay") -> None:
        self._placed[stay.sandbox] = stay
        self._turn += 1
        around = {one.owner.name for one in (*self._placed.values(), *self._waiting)}
        self._served = {name: turn for name, turn in self._served.items() if name in around}
        self._served[stay.owner.name] = self._turn

    def _held(self, whose: Owner) -> int:
        # Without users, turns are by order alone.
        return sum(one.owner.name == whose.name for one in self._placed.values()) if whose.name else 0

    def _may_have_more(self, whose: Owner) -> bool:
        if not whose.name:
            return True
        share = max(self._most - 1, 1)
        return self._held(whose) < (min(whose.places, share) if whose.places else share)

    def look(self) -> None:
        """Put to sleep those for whom it is time, and look again when it is time for the next."""
        now, soonest = time.monotonic(), math.inf
        # Who may have no more can only get a place that they have themselves.
        full = Counter(one.owner.name for one in self._waiting if not self._may_have_more(one.owner))
        full.subtract(one.owner.name for one in self._sleeping)
        needed = sum(self._may_have_more(one.owner) for one in self._waiting) - len(self._sleeping)
        for stay in sorted(self._placed.values(), key=lambda one: one.since):
            if stay.used or stay in self._sleeping:
                continue
            its = stay.owner.name
            due = stay.since + self._patience(stay, needed=needed > 0 or full[its] > 0)
            if due <= now:
                self._sleeping[stay] = asyncio.get_running_loop().create_task(self._put_to_sleep(stay))
                needed -= 1
                full[its] -= 1
            else:
                soonest = min(soonest, due)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if soonest < math.inf:
            self._timer = asyncio.get_running_loop().call_later(soonest - now, self.look)

    def rested(self) -> None:
        """Say that one has just come to rest; that is dear to look at after each cell only when somebody waits."""
        if self._waiting or (self._timer is None and self._sleep_after < math.inf):
            self.look()

    def _patience(self, stay: "Stay", *, needed: bool) -> float:
        """Seconds without use after which a session is put to sleep."""
        match stay.sandbox.rest:
            case "well":
                return max(0.0 if needed else self._sleep_after, 0.0 if stay.settled else self._settle)
            case "in need":
                return min(self._sleep_after, SLEEP_SECONDS) if needed else math.inf
            case "never":
                return math.inf

    async def _put_to_sleep(self, stay: "Stay") -> None:
        try:
            if not stay.used:
                await stay.sandbox.sleep()
        except (SandboxError, OSError):
            pass  # of a folder that cannot be removed now; whoever uses the sandbox next is told what is wrong
        finally:
            del self._sleeping[stay]
            self.look()

    async def close(self) -> None:
        """Look no further, and wait for those that are being put to sleep."""
        await asyncio.gather(*self._sleeping.values(), return_exceptions=True)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Stay:
    """One sandbox among the living: whether it has a session, and whether that is in use.

    As an async context manager it is the sandbox's turn: one at a time, and none is put to sleep meanwhile.

    Args:
        living: Where it is to have its place.
        sandbox: Itself.
    """

    def __init__(self, living: Living, sandbox: Sleeper) -> None:
        self._living = living
        self.sandbox = sandbox
        self.owner = Owner()
        """Whose it is, as far as is known since it took its place."""
        self.since = time.monotonic()
        """When it was used last."""
        self.settled = False
        """Whether its last use ended a step: it is not in the middle of one."""
        self.place: asyncio.Future[None] | None = None
        """What it waits for."""
        self._turn = asyncio.Lock()
        self._turns = 0
        """Those that have the turn or wait for it."""
        self._beside = 0
        self._sessions = 0

    @property
    def used(self) -> bool:
        """Whether it is in use now."""
        return self._turns + self._beside > 0

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
        self.unsettle()
        self._leave_if_empty()
        self._living.rested()

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Use it beside what its session does."""
        self._beside += 1
        try:
            yield
        finally:
            self._beside -= 1
            self.unsettle()
            self._living.rested()

    def unsettle(self) -> None:
        """Say that it is being used."""
        self.since, self.settled = time.monotonic(), False

    def settle(self) -> None:
        """Say that a step has ended in it."""
        self.since, self.settled = time.monotonic(), True
        self._living.rested()

    async def enter(self) -> None:
        """Take a place, before a session starts; see `Living.enter`. It is kept at least until the turn is over."""
        await self._living.enter(self)

    def began(self) -> None:
        """Count a session that has started."""
        self._sessions += 1

    def ended(self) -> None:
        """Count a session whose process is gone, whoever ended it."""
        self._sessions -= 1
        self._leave_if_empty()

    def _leave_if_empty(self) -> None:
        if not self._sessions and not self._turns:
            self._living.leave(self)

    def give_up(self) -> None:
        """Wait no longer for a place: whoever waits is told that the sandbox is gone."""
        if self.place is not None and not self.place.done():
            self.place.set_exception(SandboxLostError("The sandbox was closed or reset while it waited for a place."))


def fitting() -> int:
    """How many sessions the memory holds that this process may use. Reads small files: call it in a thread."""
    sizes = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in MEMORY_LIMITS:
        try:
            sizes.append(int(Path(path).read_text("ascii")))
        except (OSError, ValueError):
            continue  # not limited there
    return max(FEWEST, min(sizes) // BYTES_EACH)
