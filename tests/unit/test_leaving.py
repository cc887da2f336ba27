"""Leaving a command that people talk to: a signal is never lost, whatever the event loop is doing."""

import asyncio
import os
import signal

import pytest

from stepwell.cli.shell import InterruptibleRunner, TerminatedError


async def busy(done: list[str]) -> None:
    """Callbacks all the time, as while output streams in."""
    try:
        while True:
            for _ in range(200):
                asyncio.get_running_loop().call_soon(sum, range(500))
            await asyncio.sleep(0)
    finally:
        done.append("ended")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_what_runs(number: signal.Signals) -> None:
    for delay in (0.0, 0.001, 0.003, 0.01):
        done: list[str] = []

        async def signalled(delay: float = delay, done: list[str] = done) -> None:
            # From a callback: a handler that raised there would be lost.
            asyncio.get_running_loop().call_later(delay, os.kill, os.getpid(), number)
            await busy(done)

        with asyncio.Runner() as runner, (leaving := InterruptibleRunner(runner)).on_signals():
            with pytest.raises(TerminatedError):
                leaving.run(signalled())
            leaving.clean_up(asyncio.sleep(0))
        assert done == ["ended"]


def test_a_signal_between_two_coroutines_leaves_at_once() -> None:
    with asyncio.Runner() as runner, (leaving := InterruptibleRunner(runner)).on_signals():
        leaving.run(asyncio.sleep(0))
        with pytest.raises(TerminatedError):
            os.kill(os.getpid(), signal.SIGTERM)


def test_cleaning_up_is_not_broken_off() -> None:
    done: list[str] = []

    async def clean_up() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0)
        done.append("clean")

    with asyncio.Runner() as runner, (leaving := InterruptibleRunner(runner)).on_signals():
        leaving.clean_up(clean_up())
    assert done == ["clean"]


def test_signals_are_as_they_were_afterwards() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with asyncio.Runner() as runner, InterruptibleRunner(runner).on_signals():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before
