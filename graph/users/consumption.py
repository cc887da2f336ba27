"""What each user of a server has used up: tokens of the day, and bytes that their threads keep.

It is counted where it is spent, in the nodes, and not read from State, which its owner may edit. It stands in small
files, one for each user, in a folder that several servers may share; a server that is killed loses the count of the
last second.
"""

import asyncio
import hashlib
import json
import logging
import os
import time
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from filelock import FileLock

from graph.settings import Prices, Settings
from graph.users.policy import Quotas
from sandboxes.host.limits import MEGABYTE

FLUSH_SECONDS = 1.0

logger = logging.getLogger(__name__)


class QuotaError(ValueError):
    """A user has used up what they may; the message is one sentence."""


@dataclass(slots=True)
class UserConsumption:
    """What a user's file says."""

    day: str = ""
    input: int = 0
    output: int = 0
    threads: dict[str, dict[str, int]] = field(default_factory=dict)
    """For each thread the bytes of its snapshots (`snapshots`) and of its published files (`published`)."""

    @property
    def bytes(self) -> int:
        """What all threads keep."""
        return sum(sum(one.values()) for one in self.threads.values())


class Meter:
    """Counts what one run uses up.

    Args:
        consumption: Of all users.
        user: Whose run it is.
        thread: On which thread.
        quotas: What they may use.
    """

    def __init__(self, consumption: "Consumption", user: str, thread: str, quotas: Quotas) -> None:
        self._consumption = consumption
        self._user = user
        self._thread = thread
        self._quotas = quotas
        self._known = UserConsumption()
        self._input = self._output = self._snapshots = 0
        self._published: int | None = None
        self._flushed = time.monotonic()

    async def begin(self) -> None:
        """Read what the user has used up before.

        Raises:
            QuotaError: their threads keep all that they may.
        """
        self._known = await self._consumption.look(self._user)
        if self.room <= 0:
            raise QuotaError(
                f"Your threads keep {self._known.bytes / MEGABYTE:,.0f} MB of snapshots and files, and "
                f"{self._quotas.disk_mb:,} MB is all that you may keep here: delete threads that you need no more."
            )

    @property
    def room(self) -> int:
        """Bytes that the user may still keep."""
        return self._quotas.disk_mb * MEGABYTE - self._known.bytes - self._snapshots

    def spend(self, input_tokens: int, output_tokens: int) -> None:
        """Count a call of a model."""
        self._input += input_tokens
        self._output += output_tokens

    def keep(self, bytes: int) -> None:
        """Count what a snapshot has added to the store."""
        self._snapshots += bytes

    def publish(self, bytes: int) -> None:
        """Count the thread's published files, all together."""
        self._published = bytes

    def used_up(self) -> str:
        """Which quota of the day is used up, as a sentence; empty when there is some left."""
        today = self._known.day == _today()
        input = self._input + (self._known.input if today else 0)
        output = self._output + (self._known.output if today else 0)
        most, dearest, prices = self._quotas.tokens_a_day, self._quotas.cost_a_day, self._consumption.prices
        if most and input + output >= most:
            return (
                f"Your {most:,} tokens of today are used up ({input + output:,} spent); they are counted by UTC days."
            )
        if dearest and prices is not None and (cost := prices.cost(input, output)) >= dearest:
            return f"Your money of today, {dearest:g}, is used up ({cost:.4f} spent); it is counted by UTC days."
        return ""

    async def flush(self, *, now: bool = False) -> None:
        """Write what was counted since the last time, at most once a second unless `now`."""
        dirty = self._input or self._output or self._snapshots or self._published is not None
        if not dirty or not (now or time.monotonic() - self._flushed >= FLUSH_SECONDS):
            return
        counted = self._take()
        try:
            self._known = await self._consumption.add(self._user, self._thread, *counted)
        except OSError as error:  # it costs no run, and is counted once it can be
            logger.warning("What a user has used up cannot be written down (%s).", error)
            self._input += counted[0]
            self._output += counted[1]
            self._snapshots += counted[2]
            self._published = counted[3] if self._published is None else self._published

    def _take(self) -> tuple[int, int, int, int | None]:
        counted = (self._input, self._output, self._snapshots, self._published)
        self._input = self._output = self._snapshots = 0
        self._published, self._flushed = None, time.monotonic()
        return counted


@dataclass(frozen=True, slots=True)
class Consumption:
    """What all users have used up."""

    folder: Path
    prices: Prices | None = None

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """That of a server's users."""
        return cls(settings.home / "quotas", settings.price_list)

    async def look(self, user: str) -> UserConsumption:
        """What a user has used up; nothing where that cannot be read, which costs no run."""
        try:
            return await asyncio.to_thread(lambda: _read(self._file(user)))
        except OSError as error:
            logger.warning("What a user has used up cannot be read (%s).", error)
            return UserConsumption()

    async def add(
        self, user: str, thread: str, input: int, output: int, snapshots: int, published: int | None
    ) -> UserConsumption:
        """Add to what a user has used up. What a run without a thread keeps belongs to none, and is not counted.

        Returns:
            All of it.

        Raises:
            OSError: it cannot be read or written.
        """

        def change(used: UserConsumption) -> None:
            if used.day != _today():
                used.day, used.input, used.output = _today(), 0, 0
            used.input += input
            used.output += output
            if thread and (snapshots or published is not None):
                kept = used.threads.setdefault(thread, {})
                kept["snapshots"] = kept.get("snapshots", 0) + snapshots
                if published is not None:
                    kept["published"] = published

        return await asyncio.to_thread(self._change, user, change)

    async def forget(self, user: str, thread: str) -> None:
        """Stop counting a thread that is deleted."""

        def change(used: UserConsumption) -> None:
            used.threads.pop(thread, None)

        if thread in (await self.look(user)).threads:
            await asyncio.to_thread(self._change, user, change)

    def _change(self, user: str, change: Any) -> UserConsumption:
        file = self._file(user)
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(f"{file}.lock"):
            used = _read(file)
            change(used)
            partial = file.with_name(f"{file.name}.{os.getpid()}.partial")
            said = {"day": used.day, "input": used.input, "output": used.output, "threads": used.threads}
            partial.write_text(json.dumps(said), "utf-8")
            partial.replace(file)
        return used

    def _file(self, user: str) -> Path:
        # A hash, because a user's id may be no name of a file.
        return self.folder / f"{hashlib.sha256(user.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}.json"


current_meter: ContextVar[Meter | None] = ContextVar("metered", default=None)
"""The meter of the current run; None where nothing is counted."""


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _read(file: Path) -> UserConsumption:
    try:
        said = json.loads(file.read_text("utf-8"))
        return UserConsumption(str(said["day"]), int(said["input"]), int(said["output"]), dict(said["threads"]))
    except FileNotFoundError:
        return UserConsumption()
    except (ValueError, KeyError, TypeError):  # it may cost the count and must not cost the runs
        logger.warning("What a user has used up is counted anew, since %s is damaged.", file)
        return UserConsumption()
