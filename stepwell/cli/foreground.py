"""Goes through a turn in the foreground: shows its events, asks for approvals, pauses on Ctrl-C and SIGTERM."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Protocol

from graph.events import ApprovalAsked, Event, Failed, Finished
from stepwell.cli.exits import FAILED, FINISHED, UNREAD, WAITING, described, print_error, take_back_start
from stepwell.cli.terminal_text import one_line
from stepwell.cli.wording import next_command, waiting_text
from stepwell.runs import Decision, Run

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that pause a run; the exit code is 128 and the signal's number."""

TICK_SECONDS = 0.125

Begin = Callable[[], Awaitable[Run]]


class View(Protocol):
    """Shows a run to somebody."""

    def open(self) -> None:
        """Get ready to show events."""

    def tick(self) -> None:
        """Called a few times a second."""

    def show(self, event: Event) -> None:
        """Show an event."""

    def say(self, text: str) -> None:
        """Show a sentence of the command's own."""

    def close(self) -> None:
        """Leave the terminal as it was; may be called twice."""


class Foreground:
    """Drives the runs of one command, one after another, on one event loop.

    Args:
        ask: Asks somebody to decide on a cell; None when nobody is there. It returns None to leave the cell waiting.
        options: What a command that goes on must be given again.
        resume: What is typed to go on with a thread; empty: the command `stepwell resume`.
        about_files: Whether a question is answered about the files given with it, so that the exit code tells when none
            was readable.
    """

    def __init__(
        self,
        *,
        ask: Callable[[ApprovalAsked], Decision | None] | None = None,
        options: Sequence[str] = (),
        resume: str = "",
        about_files: bool = True,
    ) -> None:
        self.thread = ""
        self._about_files = about_files
        self._ask = ask
        self._options = options
        self._resume = resume
        self._task: asyncio.Task[Event | None] | None = None
        self._stopped_by: signal.Signals | None = None

    def conduct(
        self,
        begin: Begin,
        go_on: Callable[[str, Decision], Begin],
        view: View,
        runner: asyncio.Runner | None = None,
    ) -> int:
        """Go through a run, and through those that follow decisions.

        Args:
            begin: Starts the first run.
            go_on: Makes the function that goes on with a thread after a decision.
            view: Shows the events.
            runner: Has the event loop of earlier runs, which stays open; None: a loop of its own.

        Returns:
            The command's exit code.
        """
        with nullcontext(runner) if runner is not None else asyncio.Runner() as loop:
            while True:
                last = loop.run(self._follow(begin, view))
                if not isinstance(last, ApprovalAsked) or self._ask is None:
                    return self._conclude(last)
                # Between two runs, so that the prompt may block and Ctrl-C reaches it; the loop stays, and with it
                # whatever the runs keep open.
                decision = self._ask(last)
                if decision is None:
                    return self._conclude(last)
                begin = go_on(last.thread, decision)

    async def _follow(self, begin: Begin, view: View) -> Event | None:
        take_back_start()
        view.open()
        try:
            self._task = asyncio.create_task(self._consume(begin, view))
            ticker = asyncio.create_task(_ticking(view))
            with _signals(partial(self._on_signal, view)):
                await asyncio.wait([self._task, ticker], return_when=asyncio.FIRST_COMPLETED)
                if ticker.done():
                    self._task.cancel()
                    await asyncio.wait([self._task])
                    ticker.result()  # raises what drawing raised
                ticker.cancel()
            return self._outcome(self._task)
        finally:
            view.close()

    async def _consume(self, begin: Begin, view: View) -> Event | None:
        last: Event | None = None
        run = await begin()
        self.thread = run.thread
        events = aiter(run)
        try:
            async for event in events:
                last = event
                view.show(event)
        finally:
            # When showing failed (a closed pipe), the run has to end now and not when it is collected.
            close = getattr(events, "aclose", None)
            if close is not None:
                await close()
        return last

    def _outcome(self, task: "asyncio.Task[Event | None]") -> Event | None:
        if task.cancelled():
            return None
        error = task.exception()
        if error is None:
            # A run that came to its end while it was being paused has ended, not paused.
            last = task.result()
            self._stopped_by = self._stopped_by if not isinstance(last, Finished | Failed | ApprovalAsked) else None
            return last
        if self._stopped_by is None or isinstance(error, BrokenPipeError):
            raise error
        print_error(f"while pausing: {described(error)}")
        return None

    def _on_signal(self, view: View, number: signal.Signals) -> None:
        if self._stopped_by is not None:
            view.close()
            sys.stdout.flush()
            os._exit(128 + number)
        self._stopped_by = number
        if self._task is not None:
            self._task.cancel()
        view.say("pausing … (Ctrl-C again quits at once)")

    def _conclude(self, last: Event | None) -> int:
        if isinstance(last, Finished):
            if self._about_files and last.none_read:
                print_error(
                    f"none of the files given with the question could be read; the answer says why (exit code {UNREAD})"
                )
                return UNREAD
            return FAILED if last.stopped_at else FINISHED
        resume = self._resume or next_command("resume", self.thread, self._options)
        if self._stopped_by is not None:
            print_error(f"paused; go on with: {resume}" if self.thread else "stopped before anything was started.")
            return 128 + self._stopped_by
        if isinstance(last, ApprovalAsked):
            print_error(waiting_text(last, self._options, show_code=self._ask is None))
            return WAITING
        error = one_line(last.error) if isinstance(last, Failed) else "the run ended without an answer."
        print_error(f"error: {error}\ngo on with: {resume}")
        return FAILED


async def _ticking(view: View) -> None:
    while True:
        view.tick()
        await asyncio.sleep(TICK_SECONDS)


@contextmanager
def _signals(act: Callable[[signal.Signals], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    # A signal that is ignored stays ignored: nohup, and background jobs of a shell.
    ours = [number for number in STOPPING if signal.getsignal(number) is not signal.SIG_IGN]
    for number in ours:
        loop.add_signal_handler(number, act, number)
    try:
        yield
    finally:
        for number in ours:
            loop.remove_signal_handler(number)
