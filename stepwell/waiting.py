"""The Python API without `await`: in scripts, at a prompt, in functions of a notebook, in threads of web programs.

All that is waited for runs in one event loop, in a thread of its own, so that what one call has opened can be used by
the next, from any thread. The thread starts with the first call; what still runs when the interpreter ends is
cancelled, and waited for.
"""

import asyncio
import concurrent.futures.thread  # which prepares for the interpreter's end, and has to do so before this module
import contextvars
import inspect
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Generator, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import Any, TypeVar, overload

T = TypeVar("T")

AT_EXIT = 30.0
"""Seconds that what is cancelled at the interpreter's end may take; sandboxes are ended then in any case."""
ENDING = "stepwell.wait cannot be used any more: the interpreter is ending."
FORKED = "stepwell.wait cannot go on in a forked process with what its parent has opened; open it anew."


@overload
def wait(asked: Awaitable[T]) -> T: ...
@overload
def wait(asked: AsyncIterable[T]) -> Generator[T, None, None]: ...
@overload
def wait(asked: AbstractAsyncContextManager[T, Any]) -> AbstractContextManager[T]: ...
def wait(asked: Any) -> Any:
    """Use the asynchronous API where `await` cannot be used.

    ```python
    finished = stepwell.wait(stepwell.run("Which month sold most?", files=["sales.csv"]))

    for event in stepwell.wait(stepwell.stream("And by year?", thread=finished.thread)):
        print(event)

    with stepwell.wait(stepwell.at("last@2")) as session:
        print(stepwell.wait(session.run("df.shape")).displays)
    ```

    Ctrl-C cancels what is waited for, waits until that has paused, and then raises `KeyboardInterrupt`; a second Ctrl-C
    does not wait. What is waited for sees the caller's context variables; what it sets stays there.

    Args:
        asked: What `await`, `async for` or `async with` take.

    Returns:
        The result; for `async for`, a generator that works only while the next item is waited for; for `async with`,
        what `with` takes.

    Raises:
        RuntimeError: this is called in something that is waited for already, or the interpreter is ending.
        TypeError: this is nothing that can be waited for.
        BaseException: whatever is raised by what is waited for.
    """
    if not (inspect.isawaitable(asked) or isinstance(asked, AsyncIterable | AbstractAsyncContextManager)):
        raise TypeError(
            "stepwell.wait takes what `await`, `async for` or `async with` take, such as stepwell.run(…), and nothing "
            f"of type {type(asked).__name__}."
        )
    work = _Work()
    if inspect.isawaitable(asked):
        return _result(work, asked)
    return _items(work, asked) if isinstance(asked, AsyncIterable) else _entered(work, asked)


def _result(work: "_Work", asked: Awaitable[T]) -> T:
    try:
        return work.do(asked)
    finally:
        work.end()


def _items(work: "_Work", asked: AsyncIterable[T]) -> Generator[T, None, None]:
    items = aiter(asked)
    if isinstance(items, AsyncGenerator):
        work.at_end = items.aclose
    try:
        with suppress(StopAsyncIteration):
            while True:
                yield work.do(anext(items))
    finally:
        if work.at_end is not None and work.possible():
            work.do(work.at_end())
        work.end()


@contextmanager
def _entered(work: "_Work", asked: AbstractAsyncContextManager[T, Any]) -> Iterator[T]:
    try:
        entered = work.do(asked.__aenter__())
        work.at_end = partial(asked.__aexit__, None, None, None)
        try:
            yield entered
        except BaseException as error:
            if not (work.possible() and work.do(asked.__aexit__(type(error), error, error.__traceback__))):
                raise
        else:
            work.do(asked.__aexit__(None, None, None))
    finally:
        work.end()


class _Background:
    """The event loop and its thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, daemon=True, name="stepwell")
        self.answers: dict[Future[Any], threading.Thread] = {}
        """What is waited for, and by which thread."""
        self.over, self.ending = False, ENDING
        """Whether nothing more can be done here, and what is said then."""
        self._end = asyncio.Event()
        self.thread.start()

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
                runner.run(self._until_end())
        finally:
            self.over = True
            for answer in tuple(self.answers):
                if not answer.done():
                    answer.set_exception(RuntimeError(ENDING))

    async def _until_end(self) -> None:
        await self._end.wait()

    def close(self) -> None:
        """Let threads finish that the interpreter waits for, then cancel the rest, and wait until that has ended."""
        try:
            while waited := [one for one, by in tuple(self.answers.items()) if not (by.daemon or one.done())]:
                concurrent.futures.wait(waited)
        finally:
            self.loop.call_soon_threadsafe(self._end.set)
            self.thread.join(AT_EXIT)


class _Process:
    """The event loop of this process, begun when it is first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._background: _Background | None = None
        self._ending = False
        self._of_parents: list[_Background] = []

    def background(self) -> _Background:
        """The one event loop.

        Raises:
            RuntimeError: the interpreter is ending.
        """
        with self._lock:
            if self._ending:
                raise RuntimeError(ENDING)
            if self._background is None:
                self._background = _Background()
            return self._background

    def end(self) -> None:
        """End it for good."""
        with self._lock:
            self._ending, background = True, self._background
        if background is not None:
            background.close()

    def forked(self) -> None:
        """Leave the parent's event loop alone: its thread is not here, and what it listens with belongs to both."""
        self._lock = threading.Lock()
        if self._background is not None:
            self._of_parents.append(self._background)  # closing it here would stop the parent's
            self._background.over, self._background.ending = True, FORKED
            self._background = None


_PROCESS = _Process()
os.register_at_fork(after_in_child=_PROCESS.forked)
# Tidying up needs threads, which are refused by the time that functions of `atexit` are called.
threading._register_atexit(_PROCESS.end)  # type: ignore[attr-defined]


class _Work:
    """What one call has done: one thing after another in one task, since who enters something has to leave it."""

    def __init__(self) -> None:
        self._background = _PROCESS.background()
        self._context = contextvars.copy_context()
        self._asked: asyncio.Queue[tuple[Awaitable[Any], Future[Any]] | None] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self._answer: Future[Any] | None = None
        """To what is being done."""
        self._cancelled = False
        """Whether that was cancelled by who waits for it."""
        self.at_end: Callable[[], Awaitable[Any]] | None = None
        """What remains to be done if the event loop ends before."""

    def possible(self) -> bool:
        """Whether something can be done from this thread."""
        return not self._background.over and threading.current_thread() is not self._background.thread

    def do(self, asked: Awaitable[T]) -> T:
        """Have something done, and wait for it; what interrupts the waiting cancels it first.

        Raises:
            RuntimeError: it cannot be waited for here.
        """
        answer: Future[T] = Future()
        try:
            self._check(asked)
        except RuntimeError:
            if inspect.iscoroutine(asked):
                asked.close()  # else Python says that it was never awaited
            raise
        try:
            self._background.answers[answer] = threading.current_thread()
            self._call(self._begin, asked, answer)
            error = answer.exception()
        except BaseException as stopped:  # Ctrl-C, or what another handler of a signal raised
            self._call(self._cancel, answer)
            left = answer.exception()
            if isinstance(left, Exception):
                raise stopped from left
            raise
        finally:
            self._background.answers.pop(answer, None)
        if error is None:
            return answer.result()
        try:
            raise error
        finally:
            del answer, error  # they would hold this frame, which holds them

    def end(self) -> None:
        """End the task; nothing remains to be done."""
        self.at_end = None
        if not self._background.over:
            with suppress(RuntimeError):  # the event loop has ended, and its tasks with it
                self._call(self._asked.put_nowait, None)

    def _check(self, asked: object) -> None:
        if self._background.over:
            raise RuntimeError(self._background.ending)
        if not self.possible():
            raise RuntimeError("stepwell.wait cannot be called in what it waits for already; use `await` there.")
        if asyncio.isfuture(asked) and asked.get_loop() is not self._background.loop:
            raise RuntimeError(
                "stepwell.wait cannot wait for a task or a future of another event loop; use `await` there, or hand "
                "over the coroutine."
            )

    def _call(self, act: Callable[..., object], *values: Any) -> None:
        self._background.loop.call_soon_threadsafe(act, *values)

    def _begin(self, asked: Awaitable[Any], answer: Future[Any]) -> None:
        self._asked.put_nowait((asked, answer))
        if self._task is None:
            self._task = self._background.loop.create_task(self._run(), context=self._context)

    def _cancel(self, answer: Future[Any]) -> None:
        if self._answer is answer and self._task is not None:
            self._cancelled = True
            self._task.cancel()
        elif not answer.done():  # it has not begun, and will not
            answer.set_exception(asyncio.CancelledError())

    async def _run(self) -> None:
        try:
            while (one := await self._asked.get()) is not None:
                await self._answered(*one)
                del one
        except asyncio.CancelledError:  # the event loop ends
            if self.at_end is not None:
                await self.at_end()
            raise

    async def _answered(self, asked: Awaitable[Any], answer: Future[Any]) -> None:
        """Do something, and give the answer.

        Raises:
            CancelledError: the event loop ends.
        """
        if answer.done():
            if inspect.iscoroutine(asked):
                asked.close()
            return
        self._answer = answer
        try:
            answer.set_result(await asked)
        except GeneratorExit:  # the interpreter has not waited
            raise
        except BaseException as error:  # also SystemExit, which would end the event loop
            answer.set_exception(error)
        self._answer = None
        assert self._task is not None
        if self._cancelled:
            self._cancelled = False
            self._task.uncancel()
        if self._task.cancelling():
            raise asyncio.CancelledError
