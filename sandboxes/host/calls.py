"""The host's side of the calls that a cell makes, for sandboxes of any kind: counts them, makes them, answers.

Whatever comes is from the sandbox: names that are not offered, too many calls and too many bytes are answered with an
error, and a flood ends the session.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from sandboxes.functions import Call, Functions, Raised, Returned, StepSource
from sandboxes.host.limits import MEGABYTE
from sandboxes.host.reading import SMALL, items_in
from sandboxes.inside.kernel import frames, values

MAX_CALLS = 1_000
"""Calls of one cell."""
MAX_AT_ONCE = 8
"""Calls of one cell that are made at a time; others wait."""
MAX_BYTES = 256 * MEGABYTE
"""Bytes of arguments and results of one cell."""
MAX_ITEMS = 5_000_000
"""Values in the arguments of one cell, keys and elements counted."""
FLOOD = 2 * MAX_CALLS
"""Calls, refused ones counted, after which nobody is answered any more."""
SEND_SECONDS = 5.0
"""How long a session has to take the answers that are on their way to it when its cell has ended."""
MAX_PLACE = 400
"""Characters of where a call was made."""
MAX_MESSAGE = 2_000
"""Characters of what is said of a failure."""

Send = Callable[[dict[str, Any], bytes], Awaitable[None]]


class FloodError(Exception):
    """A cell calls so often that it must be a mistake."""


class Calls:
    """The calls of one cell.

    Args:
        functions: What is offered; None: nothing is.
        send: Writes a frame to the sandbox, whole, whatever becomes of the caller.
    """

    def __init__(self, functions: Functions | None, send: Send) -> None:
        self._functions = functions
        self._offered = {function.name for function in functions.descriptions} if functions is not None else set()
        self._send = send
        self._count = 0
        self._bytes = 0
        self._items = 0
        self._at_once = asyncio.Semaphore(MAX_AT_ONCE)
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._answers: set[asyncio.Future[None]] = set()

    def take(self, header: dict[str, Any], body: bytes) -> None:
        """Begin a call.

        Raises:
            FloodError: there were too many.
        """
        number, name = header.get("call"), header.get("name")
        self._count += 1
        self._bytes += len(body)
        if self._count > FLOOD:
            raise FloodError(f"a cell made more than {FLOOD:,} calls")
        if type(number) is not int or number in self._tasks or not isinstance(name, str):
            return
        refused = self._refusal(name)
        place = header.get("place")
        call = Call(name, body, place[:MAX_PLACE] if isinstance(place, str) else "")
        coming = self._answer(number, refused) if refused else self._make(number, call)
        task = self._tasks[number] = asyncio.get_running_loop().create_task(coming)
        task.add_done_callback(lambda _: self._tasks.pop(number, None))

    def _refusal(self, name: str) -> Raised | None:
        if name == frames.STEP_REQUEST:
            if not isinstance(self._functions, StepSource):
                return Raised("earlier steps cannot be read here", "StepError")
        elif name not in self._offered:
            return Raised(f"{name[:100]!r} is not offered")
        if self._count > MAX_CALLS:
            return Raised(f"a cell can make {MAX_CALLS:,} calls, and this one has; pass lists instead of single values")
        return self._too_much()

    def _too_much(self) -> Raised | None:
        if self._bytes > MAX_BYTES:
            return Raised(f"the arguments and results of a cell's calls can have {MAX_BYTES:,} bytes together")
        return None

    async def _too_many(self, call: Call) -> Raised | None:
        """Count what large arguments are made of; those that are no packed values are refused later."""
        if len(call.arguments) > SMALL:
            with suppress(values.UndecodableError):
                count = await asyncio.to_thread(items_in, values.text_of(call.arguments))
                self._items += count  # not in one statement: others count meanwhile
        if self._items > MAX_ITEMS:
            return Raised(f"the arguments of a cell's calls can have {MAX_ITEMS:,} values together; pass tables")
        return None

    def drop(self, number: object) -> None:
        """The cell no longer waits for this call."""
        task = self._tasks.get(number) if isinstance(number, int) else None
        if task is not None:
            task.cancel()

    async def _make(self, number: int, call: Call) -> None:
        async with self._at_once:
            try:
                outcome = await self._outcome(call)
            except Exception as error:  # whatever is wrong there, the cell must not wait for ever
                outcome = Raised("the call could not be made", type(error).__name__)
        if isinstance(outcome, Returned):
            self._bytes += len(outcome.value)
            outcome = self._too_much() or outcome
        await self._answer(number, outcome)

    async def _outcome(self, call: Call) -> Returned | Raised:
        assert self._functions is not None
        if call.name == frames.STEP_REQUEST:
            assert isinstance(self._functions, StepSource)
            return await self._functions.read_step(call.arguments)
        return await self._too_many(call) or await self._functions.call(call)

    async def _answer(self, number: int, outcome: Returned | Raised) -> None:
        if isinstance(outcome, Returned) and len(outcome.value) > frames.MAX_BODY:
            outcome = Raised(
                f"the result has {len(outcome.value):,} bytes, and at most {frames.MAX_BODY:,} can be handed over; "
                "ask for less at a time"
            )
        ok = isinstance(outcome, Returned)
        header = {"type": "answer", "call": number, "ok": ok}
        body = outcome.value if isinstance(outcome, Returned) else _said(outcome)
        answer = asyncio.ensure_future(self._send(header, body))
        self._answers.add(answer)
        answer.add_done_callback(self._answers.discard)
        await asyncio.shield(answer)  # half a frame would be the end of the connection

    async def close(self, *, seconds: float = SEND_SECONDS) -> bool:
        """Cancel what is still being called.

        Args:
            seconds: How long to wait for answers that are on their way.

        Returns:
            Whether the session has taken the answers that were on their way.
        """
        tasks: Sequence[asyncio.Future[None]] = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=SEND_SECONDS)
        if self._answers:
            await asyncio.wait(self._answers, timeout=seconds)
        return not self._answers


def _said(raised: Raised) -> bytes:
    return json.dumps({"message": raised.message[:MAX_MESSAGE], "kind": raised.kind[:100]}).encode()
