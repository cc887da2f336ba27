"""Who may live, who waits, and who is put to sleep for whom."""

import asyncio
import time
from collections.abc import Callable

import pytest

from sandboxes.base import SandboxLostError
from sandboxes.host.session_pool import (
    LEAST_CAPACITY,
    Evictable,
    Lease,
    Owner,
    SessionPool,
    default_capacity,
    on_wait,
    owner,
)


class Guest:
    """A sandbox without a process: it starts, works and sleeps when told."""

    def __init__(self, pool: SessionPool, log: list[str], name: str) -> None:
        self.lease = Lease(pool, self)
        self.evictable: Evictable = "never"
        self.log = log
        self.name = name
        self.alive = False

    async def start(self, evictable: Evictable = "when idle", *, idle: bool = True) -> None:
        async with self.lease:
            await self.lease.acquire()
            if not self.alive:
                self.lease.session_started()
            self.alive = True
            self.log.append(f"+{self.name}")
        self.evictable = evictable
        if idle:
            self.lease.mark_idle()

    def die(self) -> None:
        self.alive = False
        self.evictable = "never"
        self.lease.session_ended()

    async def sleep(self) -> None:
        async with self.lease:
            if self.evictable != "never":
                await asyncio.sleep(0)
                self.log.append(f"-{self.name}")
                self.die()


def guests(pool: SessionPool, names: str) -> tuple[list[str], list[Guest]]:
    log: list[str] = []
    return log, [Guest(pool, log, name) for name in names]


async def until(what: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not what():
            await asyncio.sleep(0.001)


async def never(what: Callable[[], bool]) -> None:
    for _ in range(50):
        await asyncio.sleep(0.001)
        assert not what()


async def test_the_one_that_idles_longest_makes_room() -> None:
    pool = SessionPool(capacity=2)
    log, (a, b, c, d) = guests(pool, "abcd")
    await a.start()
    await b.start()
    await a.start()
    await c.start()
    await d.start()
    assert log == ["+a", "+b", "+a", "-b", "+c", "-a", "+d"]
    assert pool.count == 2
    await pool.close()


async def test_who_comes_first_is_served_first() -> None:
    pool = SessionPool(capacity=1)
    log, (a, *others) = guests(pool, "abcd")
    await a.start("never")
    waiting = []
    for other in others:
        waiting.append(asyncio.ensure_future(other.start()))
        await asyncio.sleep(0)
    assert pool.waiting == 3
    a.die()
    await asyncio.gather(*waiting)
    assert log == ["+a", "+b", "-b", "+c", "-c", "+d"]
    assert (pool.count, pool.waiting) == (1, 0)
    await pool.close()


async def test_a_free_place_is_not_taken_from_those_who_wait() -> None:
    pool = SessionPool(capacity=1)
    log, (a, b, c) = guests(pool, "abc")
    await a.start("never")
    first = asyncio.ensure_future(b.start("never"))
    await asyncio.sleep(0)
    a.die()
    second = asyncio.ensure_future(c.start())
    await first
    await never(second.done)
    b.die()
    await second
    assert log == ["+a", "+b", "+c"]
    await pool.close()


async def test_nobody_is_put_to_sleep_who_would_lose_something_or_is_in_use() -> None:
    pool = SessionPool(capacity=3, sleep_after=0.01, step_gap=0)
    log, (a, b, c, d) = guests(pool, "abcd")
    await a.start("never")
    await b.start()
    await c.start()
    async with b.lease:
        with c.lease.in_use():
            waiting = asyncio.ensure_future(d.start())
            await never(waiting.done)
        await waiting
    assert log == ["+a", "+b", "+c", "-c", "+d"]
    await pool.close()


async def test_what_may_be_in_the_middle_of_a_step_is_left_alone_for_a_while() -> None:
    pool = SessionPool(capacity=1, step_gap=3600)
    log, (a, b) = guests(pool, "ab")
    await a.start(idle=False)
    waiting = asyncio.ensure_future(b.start())
    await never(waiting.done)
    a.lease.mark_idle()
    await waiting
    assert log == ["+a", "-a", "+b"]
    await pool.close()


async def test_who_is_about_to_use_one_keeps_it_awake() -> None:
    pool = SessionPool(capacity=1, step_gap=3600)
    _, (a, b) = guests(pool, "ab")
    await a.start()
    pool.mark_used(a)
    waiting = asyncio.ensure_future(b.start())
    await never(waiting.done)
    waiting.cancel()
    await asyncio.wait((waiting,))
    await pool.close()


async def test_a_loss_is_taken_only_for_others_and_only_after_its_time() -> None:
    pool = SessionPool(capacity=2, sleep_after=0.2)
    log, (a, b, c) = guests(pool, "abc")
    await a.start("under pressure")
    began = time.monotonic()
    await b.start("never")
    await asyncio.sleep(0.3)
    assert log == ["+a", "+b"]
    await c.start()
    assert log == ["+a", "+b", "-a", "+c"]
    assert time.monotonic() - began > 0.2
    await pool.close()


async def test_idle_ones_sleep_after_their_time_each() -> None:
    pool = SessionPool(capacity=9, sleep_after=0.05)
    log, (a, b, c) = guests(pool, "abc")
    await a.start()
    await b.start()
    await c.start("never")
    await until(lambda: pool.count == 1)
    assert log == ["+a", "+b", "+c", "-a", "-b"]
    await a.start()
    await until(lambda: pool.count == 1)
    assert log[-1] == "-a"
    await pool.close()


async def test_use_puts_sleep_off() -> None:
    pool = SessionPool(capacity=9, sleep_after=3600)
    log, (a,) = guests(pool, "a")
    await a.start()
    a.lease.since -= 4000
    await a.start()
    pool.evict_idle()
    await never(lambda: pool.count == 0)
    a.lease.since -= 4000
    pool.evict_idle()
    await until(lambda: pool.count == 0)
    assert log == ["+a", "+a", "-a"]
    await pool.close()


async def test_one_that_dies_by_itself_gives_its_place_back() -> None:
    pool = SessionPool(capacity=1)
    log, (a, b) = guests(pool, "ab")
    await a.start("never")
    waiting = asyncio.ensure_future(b.start())
    await asyncio.sleep(0)
    a.die()
    await waiting
    assert log == ["+a", "+b"]


async def test_a_place_is_kept_over_a_restart_in_one_turn() -> None:
    pool = SessionPool(capacity=1)
    log, (a, b) = guests(pool, "ab")
    await a.start("never")
    waiting = asyncio.ensure_future(b.start())
    await asyncio.sleep(0)
    async with a.lease:
        a.die()
        await a.lease.acquire()
        a.lease.session_started()
        a.alive = True
    await never(waiting.done)
    a.die()
    await waiting
    assert log == ["+a", "+b"]


async def test_a_start_that_fails_gives_the_place_back() -> None:
    pool = SessionPool(capacity=1)
    log, (a, b) = guests(pool, "ab")

    async def fail() -> None:
        async with a.lease:
            await a.lease.acquire()
            raise OSError("no")

    with pytest.raises(OSError, match="no"):
        await fail()
    assert pool.count == 0
    await b.start()
    assert log == ["+b"]
    await pool.close()


async def test_waiting_can_be_cancelled_and_the_next_one_moves_up() -> None:
    pool = SessionPool(capacity=1)
    log, (a, b, c) = guests(pool, "abc")
    await a.start("never")
    first, second = asyncio.ensure_future(b.start()), asyncio.ensure_future(c.start())
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait((first,))
    assert pool.waiting == 1
    a.die()
    await second
    assert log == ["+a", "+c"]
    await pool.close()


async def test_a_place_that_comes_at_the_moment_of_cancelling_is_passed_on() -> None:
    pool = SessionPool(capacity=1)
    log, (a, b, c) = guests(pool, "abc")
    await a.start("never")
    first, second = asyncio.ensure_future(b.start()), asyncio.ensure_future(c.start())
    await asyncio.sleep(0)
    a.die()
    first.cancel()
    await asyncio.wait((first,))
    assert first.cancelled()
    await second
    assert log == ["+a", "+c"]
    assert pool.count == 1
    await pool.close()


async def test_what_is_closed_while_it_waits_says_so() -> None:
    pool = SessionPool(capacity=1)
    _, (a, b) = guests(pool, "ab")
    await a.start("never")
    waiting = asyncio.ensure_future(b.start())
    await asyncio.sleep(0)
    b.lease.stop_waiting()
    with pytest.raises(SandboxLostError, match="closed or reset while it waited"):
        await waiting
    assert (pool.count, pool.waiting) == (1, 0)


async def test_a_long_wait_is_told_and_a_short_one_is_not() -> None:
    pool = SessionPool(capacity=1)
    _, (a, b, c) = guests(pool, "abc")
    told: list[str] = []
    await a.start("never")
    on_wait.set(told.append)
    first = asyncio.ensure_future(b.start("never"))
    second = asyncio.ensure_future(c.start())
    await until(lambda: len(told) == 2)
    assert told == [
        "Waiting for a place: 1 sandbox is in use, and no more may be at a time (STEPWELL_MAX_SANDBOXES).",
        "Waiting for a place, after 1 other: 1 sandbox is in use, and no more may be at a time "
        "(STEPWELL_MAX_SANDBOXES).",
    ]
    a.die()
    await first
    b.die()
    await second
    quick = asyncio.ensure_future(b.start())
    await quick
    assert len(told) == 2
    await pool.close()


async def test_one_that_cannot_be_put_to_sleep_does_not_stop_the_others() -> None:
    pool = SessionPool(capacity=2)
    log, (a, b, c) = guests(pool, "abc")

    class Stubborn(Guest):
        async def sleep(self) -> None:
            async with self.lease:
                self.log.append(f"!{self.name}")
                raise OSError("the folder cannot be removed")

    a = Stubborn(pool, log, "a")
    await a.start()
    await b.start()
    await c.start()
    assert log == ["+a", "+b", "!a", "-b", "+c"]
    await pool.close()


async def test_closing_leaves_no_timer_and_no_task() -> None:
    pool = SessionPool(capacity=9, sleep_after=0.01)
    log, (a, b) = guests(pool, "ab")
    await a.start()
    await b.start()
    await until(lambda: bool(log) and log[-1].startswith("-"))
    await pool.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert pool._timer is None


def test_the_number_follows_the_memory() -> None:
    assert default_capacity() >= LEAST_CAPACITY


def begin(guest: Guest, user: str, *, places: int = 0, evictable: Evictable = "never") -> asyncio.Task[None]:
    """Start it in a task of its own, in the name of a user."""
    owner.set(Owner(user, places))
    return asyncio.ensure_future(guest.start(evictable))


async def test_a_user_cannot_have_all_places() -> None:
    pool = SessionPool(capacity=3)
    log, (a, b, c, alice, second) = guests(pool, "abcds")
    await begin(a, "bob")
    await begin(b, "bob")
    third = begin(c, "bob")
    await never(third.done)
    await begin(alice, "alice")
    assert log == ["+a", "+b", "+d"]
    waiting = begin(second, "alice")
    await never(waiting.done)
    a.die()
    await until(third.done)  # each has one, and his turn was before hers
    assert not waiting.done()
    b.die()
    await until(waiting.done)
    assert log == ["+a", "+b", "+d", "+c", "+s"]


async def test_users_take_turns_however_many_of_one_wait() -> None:
    pool = SessionPool(capacity=2)
    log, (a, b, *rest) = guests(pool, "abcdefghxy")
    await begin(a, "carol")
    await begin(b, "dave")
    bobs = [begin(guest, "bob") for guest in rest[:6]]
    alices = [begin(guest, "alice") for guest in rest[6:]]
    await asyncio.sleep(0)
    assert pool.waiting == 8
    a.die()
    await until(bobs[0].done)
    b.die()
    await until(alices[0].done)
    rest[0].die()
    await until(bobs[1].done)  # alice has one, he has none
    rest[6].die()
    await until(alices[1].done)
    assert log == ["+a", "+b", "+c", "+x", "+d", "+y"]
    for task in [*bobs, *alices]:
        task.cancel()
    await asyncio.gather(*bobs, *alices, return_exceptions=True)


async def test_who_has_all_that_they_may_gets_a_place_of_their_own_that_idles() -> None:
    pool = SessionPool(capacity=4, step_gap=0)
    log, (alice, a, b, c) = guests(pool, "xabc")
    await begin(alice, "alice", evictable="when idle")
    await begin(a, "bob", places=2, evictable="when idle")
    await begin(b, "bob", places=2)
    await begin(c, "bob", places=2)
    assert log == ["+x", "+a", "+b", "-a", "+c"]
    await pool.close()


async def test_without_users_one_may_have_all_places() -> None:
    pool = SessionPool(capacity=2)
    log, (a, b) = guests(pool, "ab")
    await a.start("never")
    await b.start("never")
    assert log == ["+a", "+b"]


async def test_who_gives_way_is_told_when_somebody_waits() -> None:
    pool = SessionPool(capacity=1)
    _, (a, b) = guests(pool, "ab")
    told: list[str] = []
    room = [pool.has_room]
    await a.start("never")
    room.append(pool.has_room)
    with pool.giving_way(lambda: told.append("somebody waits")):
        starting = asyncio.ensure_future(b.start())
        await until(lambda: bool(told))
        a.die()
        await starting
    room.append(pool.has_room)
    assert (room, told) == ([True, False, False], ["somebody waits"])
    await pool.close()
