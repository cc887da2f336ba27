"""The way to the bridge: a request goes in with a stream, and what comes of it is what the stream prints.

A stream takes one request; so what is said to a request under way is uploaded as a file, and a request that follows at
once goes the same way and answers over the connection that is still open. A connection that breaks off costs nothing:
the bridge keeps what it said, and another stream hears the rest of it.
"""

import asyncio
import itertools
import os
import secrets
import socket
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from sandboxes.base import SandboxLostError, SandboxRefusedError, SandboxUnavailableError
from sandboxes.bridged.connection import Connection, Exchange, SandboxBusyError
from sandboxes.bridged.place import Place
from sandboxes.host.scratch import scratch_folder
from sandboxes.inside.bridge.attach import NO_BRIDGE
from sandboxes.inside.kernel import frames

LINGER_SECONDS = 3.0
"""How long a connection stays open for the request that follows: the snapshot after a cell."""
CLOSING_SECONDS = 1.0
"""How long we wait for a connection to close over which nothing more comes."""
ENDING_SECONDS = 2.0
"""How long a sandbox may take to end of which the bridge has gone already."""
LOOK_AGAIN_SECONDS = 0.25
BEGUN_SECONDS = 4.0
"""How soon the bridge says that it has begun what was asked over an open connection."""
FIRST_SECONDS = 15.0
"""How soon it says anything over a new one; a stream that leads nowhere never does."""
LOOK_SECONDS = 1.0
SILENT_SECONDS = 45.0
"""A bridge says something every ten seconds; a connection that is silent for so long is dead."""
BEAT_SECONDS = 6.0
"""How often the bridge hears of us while a request is under way."""
LOCK_SECONDS = 60.0
"""How long we wait for another worker."""
MAX_BREAKS = 5
"""Connections of one request that may break off without anything new having come."""
USEFUL_SECONDS = 20.0
"""A connection that held for so long was worth it, whatever came."""
TOGETHER = 1 << 20
"""Bytes of answers that go together."""


class Channel:
    """What one session of the host's has to do with the bridge of a sandbox.

    Args:
        place: Where the bridge is.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self.noun = place.machine.noun
        self.token = secrets.token_hex(16)
        self.when_gone: Callable[[], None] = _nobody_to_tell
        """Called when the kernel ended by itself and we happen to hear of it."""
        self._who = f"process {os.getpid()} on {socket.gethostname()}"
        self._numbers = itertools.count(1)
        self._names = itertools.count(1)
        self._now: Exchange | None = None
        self._talk: asyncio.Task[None] | None = None
        self._waiting: deque[bytes] = deque()
        self._sending = asyncio.Lock()

    def exchange(self, header: dict[str, Any], body: bytes, take: Callable[[dict[str, Any], bytes], None]) -> Exchange:
        """A request, to be begun; it is over when its `over` is done."""
        return Exchange(next(self._numbers), header, body, take)

    async def begin(self, exchange: Exchange) -> None:
        """Begin a request. What comes of it may be there before this returns.

        Raises:
            SandboxLostError: it began, and nobody knows how it went on.
            SandboxUnavailableError: the sandbox cannot be reached; the request was not begun.
        """
        await self._place.ready()
        before = self._now
        last = before is not None and before.over.done() and not before.header.get("linger")
        if last and self._talk is not None:
            await asyncio.wait((self._talk,), timeout=CLOSING_SECONDS)
        self._now = exchange
        if self._talk is not None and not self._talk.done():
            if before is not None and before.over.done():
                # Over the connection that is open. If it closes at this very moment the request goes the usual way, and
                # should it arrive twice, the bridge does it once.
                exchange.sent = True
                with suppress(SandboxUnavailableError):
                    await self._upload({"do": "ask", **exchange.header, "n": exchange.n}, exchange.body)
                exchange.asked_at = time.monotonic()
            else:
                await self._hang_up()
        if self._talk is None or self._talk.done():
            self._talk = asyncio.get_running_loop().create_task(self._follow())

    async def outcome(self, exchange: Exchange, within: float) -> None:
        """Wait until a request is over.

        Args:
            exchange: The request.
            within: Seconds in which the bridge ends it, once it has begun; code can keep the bridge from that.

        Raises:
            SandboxLostError: it began, and nobody knows how it went on; when it is overdue, the sandbox is stopped.
            SandboxUnavailableError: it was not begun.
        """
        await asyncio.wait((exchange.begun, exchange.over), return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait((exchange.over,), timeout=within + self._place.machine.late_seconds)
        if not exchange.over.done():
            await self._hang_up()
            await self._end_all()
            self._fail(exchange, self._lost(exchange, "it did not end in time"))
        exchange.over.result()

    async def _end_all(self) -> None:
        """Stop the sandbox, whose bridge is gone or kept from its work; its files stay."""
        with suppress(SandboxUnavailableError):  # then it is stopped for being idle
            await self._place.machine.end("keep")

    async def say(self, exchange: Exchange, do: str, **more: Any) -> None:
        """Say something to a request that is under way; when it cannot be said, its end will tell."""
        if not exchange.over.done():
            with suppress(SandboxUnavailableError):
                await self._upload({"do": do, "n": exchange.n, **more}, b"")

    async def pass_on(self, exchange: Exchange, data: bytes) -> None:
        """Pass frames on to the kernel; what is to be passed on while others are on their way goes with the next."""
        self._waiting.append(data)
        async with self._sending:
            gathered: list[bytes] = []
            while self._waiting and (not gathered or sum(map(len, gathered)) + len(self._waiting[0]) < TOGETHER):
                gathered.append(self._waiting.popleft())
            if gathered and not exchange.over.done():
                with suppress(SandboxUnavailableError):
                    await self._upload({"do": "say", "n": exchange.n, "answers": len(gathered)}, b"".join(gathered))

    async def _upload(self, header: dict[str, Any], body: bytes) -> None:
        base = (await self._place.ready()).base
        name = f"{next(self._names):09d}-{secrets.token_hex(4)}"
        message = frames.pack({**header, "token": self.token}, body)
        await self._place.upload({f"{base}/inbox/{name}": message}, doing="say something to the sandbox")

    async def _follow(self) -> None:
        """Follow all current requests, over as many connections as that takes; one that cannot be followed fails."""
        breaks, until = 0, time.monotonic() + LOCK_SECONDS
        while (exchange := self._now) is not None and not exchange.over.done():
            seen, began = exchange.seen, time.monotonic()
            why: BaseException | str = "the connection broke off"
            try:
                await self._connect(exchange)
            except SandboxBusyError as error:
                if time.monotonic() > until:
                    taken = f"The sandbox is in use by another worker ({error.who}); wait for it, or stop it first."
                    self._fail(exchange, SandboxUnavailableError(taken))
                    return
                exchange.sent = False
                await asyncio.sleep(min(max(error.seconds, 0.2), 1.0))
                continue
            except (SandboxLostError, SandboxRefusedError) as error:
                self._fail(exchange, error)
                return
            except Exception as error:  # of a client; whatever it is, the bridge knows how it goes on
                why = error
            if exchange.over.done():
                continue  # and what follows it is heard, if there is something
            useful = exchange.seen > seen or time.monotonic() - began > USEFUL_SECONDS
            breaks = 1 if useful else breaks + 1
            if breaks > MAX_BREAKS or (exchange.sent and not await self._still_there()):
                if exchange.sent:
                    await self._end_all()
                self._fail(exchange, self._lost(exchange, self._place.machine.why_down or why))
                return
            await asyncio.sleep(min(0.1 * 2**breaks, 3.0))

    def _fail(self, exchange: Exchange, error: Exception) -> None:
        if not exchange.over.done():
            exchange.over.set_exception(error)
            exchange.over.exception()  # whoever waits is told; nobody may wait any more

    def _lost(self, exchange: Exchange, why: object) -> Exception:
        cause = " ".join(str(why).split())[:300].rstrip(".") or type(why).__name__
        if not exchange.sent:
            return SandboxUnavailableError(f"The session in {self.noun} cannot be reached ({cause}).")
        return SandboxLostError(f"The session in {self.noun} is lost ({cause}).")

    async def _still_there(self) -> bool:
        """Whether the life of the sandbox in which the request began goes on."""
        try:
            return await self._place.machine.life(start=False) > 0
        except SandboxUnavailableError:
            return True  # that could not be said; trying will show

    async def _stays(self) -> bool:
        """Whether the sandbox goes on without its bridge: one that is being ended says why when that is done."""
        until = time.monotonic() + ENDING_SECONDS
        while await self._still_there():
            if time.monotonic() > until:
                return True
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
        return False

    async def _connect(self, exchange: Exchange) -> None:
        """Hear what is said, until the bridge hangs up or the connection breaks off.

        Raises:
            SandboxLostError: the life of the sandbox in which the request began is over.
            SandboxUnavailableError: it cannot be reached.
            SandboxBusyError: another worker holds the sandbox.
        """
        state = await self._place.ready()
        again = exchange.sent
        header = {"do": "attach", "token": self.token, "who": self._who, "seen": exchange.seen, "again": again}
        message = frames.pack({**exchange.header, **header, "n": exchange.n}, exchange.body)
        connection = Connection(self.deliver, self.fetch, self._gone, self.noun)
        exchange.sent = True
        attach = f"{state.program}/bridge/attach.py"
        running = asyncio.ensure_future(self._place.machine.stream(attach, state.base, message, connection.hear))
        done = asyncio.Event()
        beating = asyncio.ensure_future(self._beat(done))
        try:
            await self._listen(exchange, connection, running)
        finally:
            done.set()
            if not running.done():
                running.cancel()
            await asyncio.wait((running, beating), timeout=CLOSING_SECONDS)
            await connection.close()
        if connection.refused.done():
            raise connection.refused.result()
        if running.cancelled():
            return
        if (error := running.exception()) is not None:
            if isinstance(error, (SandboxUnavailableError, SandboxRefusedError)):
                exchange.sent = again
            raise error
        if complaint := running.result():
            if NO_BRIDGE in complaint:
                self._place.forget()  # looking at it again starts one
                if (again or not exchange.header.get("fresh")) and await self._stays():
                    await self._end_all()  # what its session had started may go on without it
            raise ConnectionError(complaint)

    async def _listen(self, exchange: Exchange, connection: Connection, running: asyncio.Future[str]) -> None:
        """Wait until the connection has ended, or is found to be dead."""
        heard, last = -1, 0.0
        ends = (running, connection.refused)
        while not any(end.done() for end in ends):
            now = self._now
            if connection.heard != heard:
                heard, last = connection.heard, time.monotonic()
            unheard = now is not None and now is not exchange and not now.seen and not now.over.done()
            unresponsive = unheard and now is not None and time.monotonic() - now.asked_at > BEGUN_SECONDS
            patience = SILENT_SECONDS if heard else FIRST_SECONDS
            if unresponsive or time.monotonic() - last > patience:
                return
            await asyncio.wait(ends, timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)

    async def _beat(self, done: asyncio.Event) -> None:
        """Let the bridge know that somebody waits for what is under way."""
        while not done.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(done.wait(), BEAT_SECONDS)
            if self._now is not None and not done.is_set():
                await self.say(self._now, "beat")

    def deliver(self, header: dict[str, Any], body: bytes) -> None:
        """Pass a frame on to the request that it is about."""
        if self._now is not None:
            self._now.take(header, body)

    def _gone(self) -> None:
        self.when_gone()  # of the current session, whichever it was when the connection was made

    async def fetch(self, name: str) -> bytes:
        """The body of a frame that went by a file.

        Raises:
            SandboxUnavailableError: it cannot be had.
        """
        base = (await self._place.ready()).base
        path = f"{base}/out/{Path(name).name}"
        async with scratch_folder("said") as folder:
            file = folder / "body"
            found = await self._place.download({path: file}, doing="fetch what a cell said")
            body = await asyncio.to_thread(_read, file) if path in found else None
        self._place.discard(Path(name).name)
        if body is None:
            raise SandboxUnavailableError(f"What a cell said cannot be had from {self.noun}.")
        return body

    async def _hang_up(self) -> None:
        talk, self._talk = self._talk, None
        if talk is not None:
            talk.cancel()
            await asyncio.wait((talk,))

    async def close(self) -> None:
        """Let go of the connection; the bridge is not asked."""
        if self._now is not None and not self._now.over.done():
            self._fail(self._now, SandboxLostError("The sandbox was closed."))
        await self._hang_up()


def _read(file: Path) -> bytes | None:
    """The body of a frame; None when it is larger than one can be."""
    return file.read_bytes() if file.stat().st_size <= frames.MAX_BODY else None


def _nobody_to_tell() -> None:
    return
