"""Work that must not be left half done is not, however often its waiter is cancelled."""

import asyncio

import pytest

from sandboxes.host.tasks import uncancellable


@pytest.mark.parametrize("fails", [False, True])
async def test_who_is_cancelled_twice_leaves_when_the_work_is_done(fails: bool) -> None:
    begun, may_end, done = asyncio.Event(), asyncio.Event(), False

    async def work() -> None:
        nonlocal done
        begun.set()
        await may_end.wait()
        done = True
        if fails:
            raise ValueError

    waiting = asyncio.create_task(uncancellable(work()))
    await begun.wait()
    for _ in range(2):
        waiting.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not waiting.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert done


async def test_what_comes_of_it_is_told() -> None:
    async def work(error: Exception | None = None) -> int:
        if error is not None:
            raise error
        return 5

    assert await uncancellable(work()) == 5
    with pytest.raises(ValueError, match="no"):
        await uncancellable(work(ValueError("no")))
