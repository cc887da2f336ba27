"""The proxy through which a sandbox reaches the network: tunnels (`CONNECT`) and plain `http://` requests.

It runs in the host and accepts on a socket that listens inside the sandbox's own network, so the sandbox needs no way
out of it. Names are resolved here, once, and the connection goes to the address that was checked: what a name stands
for a moment later (DNS rebinding) does not matter. Requests are read strictly; each connection takes one plain request
or one tunnel.
"""

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial

from sandboxes.host.descriptors import SHARE, Share
from sandboxes.local.network.http_head import BadRequestError, BrokenReplyError, RequestHead, read_request
from sandboxes.local.network.relay import Idle, Tally, end_of, exchange, tunnel
from sandboxes.local.network.resolver import Dial, Resolve, Streams, SystemResolver, dial, is_public, written_address
from sandboxes.network import Network

LOG = logging.getLogger("stepwell.network")
FOR_PIP = frozenset({"pypi.org", "files.pythonhosted.org"})
MAX_ADDRESSES = 4
"""Addresses of a name that are tried."""
MAX_REACHED = 20
"""Hosts of one cell that are named."""
REFUSED = 8
"""Connections of one sandbox at a time that are refused because it has too many; further ones wait."""
FULL = "there are too many connections of all sandboxes together; try again later"
BRIEF = 1.0
"""Seconds to take a client's words in before a connection with an unread rest is closed: else it never sees ours."""


@dataclass(frozen=True, slots=True)
class ProxyLimits:
    """What one sandbox may ask of the proxy."""

    connections: int = 64
    """At a time; what comes beyond that is refused."""
    head_bytes: int = 65_536
    head_seconds: float = 10.0
    connect_seconds: float = 15.0
    """For the name and all its addresses together."""
    idle_seconds: float = 300.0
    """A connection over which nothing goes either way for so long is closed."""


@dataclass(frozen=True, slots=True)
class ProxiedConnection:
    """What became of one connection that code in the sandbox made."""

    cell: int
    """The number of the cell during which it was made; 0: before the first."""
    host: str
    """As it was asked for; empty when that could not be read."""
    port: int
    address: str = ""
    """Where it went; empty when it was not allowed or could not be reached."""
    refused: str = ""
    """Why it was not allowed, in a sentence; empty when it was."""
    failed: str = ""
    """Why it could not be made, or broke."""
    sent: int = 0
    """Bytes to the host."""
    received: int = 0
    """Bytes from it."""
    seconds: float = 0.0


class _Stop(Exception):  # noqa: N818 - not an error of ours: how a connection ends before it is made
    """The client gets an answer from the proxy itself."""

    def __init__(self, status: int, sentence: str, *, refused: bool = False) -> None:
        super().__init__(sentence)
        self.status = status
        self.refused = refused


class Proxy:
    """The proxy of one sandbox.

    Args:
        network: What is allowed.
        on_connection: Called in the event loop when a connection has ended, refused ones too; must not block.
        resolve: Names to addresses; None: by the system.
        dial: Connects to addresses that were found to be public.
        limits: What it may be asked for.
        share: The descriptors that it takes together with all others.
    """

    def __init__(
        self,
        network: Network,
        on_connection: Callable[[ProxiedConnection], None],
        *,
        resolve: Resolve | None = None,
        dial: Dial = dial,
        limits: ProxyLimits | None = None,
        share: Share = SHARE,
    ) -> None:
        self._share = share
        self._cell = 0
        self._reached: dict[str, None] = {}
        self._network = network
        self._on_connection = on_connection
        self._system = SystemResolver()
        self._resolve: Resolve = resolve or self._system
        self._dial = dial
        self._limits = limits or ProxyLimits()
        self._open: set[asyncio.Task[None]] = set()
        self._room = asyncio.Semaphore(self._limits.connections + REFUSED)
        self._accepting: asyncio.Task[None] | None = None
        self._closed = False

    def begin(self, cell: int) -> None:
        """A cell begins: connections that begin from now on are its."""
        self._cell = cell
        self._reached.clear()

    def reached(self) -> tuple[str, ...]:
        """The hosts to which connections were made since the cell began: `pypi.org:443`, the first few of them."""
        return tuple(self._reached)

    def serve(self, listening: socket.socket) -> None:
        """Begin to accept on a listening socket, which is the proxy's from now on; needs a running event loop.

        Raises:
            RuntimeError: it serves already, or is closed.
        """
        if self._closed or self._accepting is not None:
            raise RuntimeError("a proxy serves one socket, once")
        listening.setblocking(False)
        self._accepting = asyncio.ensure_future(self._accept(listening))

    async def close(self) -> None:
        """End every connection and the listening socket. Closing twice is allowed."""
        self._closed = True
        tasks = [*self._open, *([self._accepting] if self._accepting is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._system.close()

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with listening:
            while True:
                await self._room.acquire()
                try:
                    client, _ = await loop.sock_accept(listening)
                except OSError:  # out of descriptors, or the client is gone again
                    self._room.release()
                    await asyncio.sleep(0.05)
                    continue
                except asyncio.CancelledError:
                    self._room.release()
                    raise
                taken = self._share.take()
                task = asyncio.ensure_future(self._take(client) if taken else self._turn_away(client))
                self._open.add(task)
                task.add_done_callback(partial(self._over, taken))

    def _over(self, taken: bool, task: asyncio.Task[None]) -> None:
        self._open.discard(task)
        self._room.release()
        if taken:
            self._share.give_back()
        if not task.cancelled() and (error := task.exception()) is not None:
            LOG.error("the proxy failed: %r", error)

    async def _opened(self, client: socket.socket) -> Streams | None:
        """A client's connection as streams; None when it is gone again."""
        client.setblocking(False)
        try:
            return await asyncio.open_connection(sock=client, limit=self._limits.head_bytes)
        except OSError:
            client.close()
            return None

    async def _turn_away(self, client: socket.socket) -> None:
        """Say that there is no room, without waiting for what is asked."""
        with self._share.turning_away() as may:
            if not may:
                client.close()
                return
            if (opened := await self._opened(client)) is None:
                return
            reader, writer = opened
            try:
                await self._answer(reader, writer, _Stop(503, FULL, refused=True))
            finally:
                writer.transport.abort()
        self._tell(ProxiedConnection(self._cell, "", 0, refused=FULL))

    async def _take(self, client: socket.socket) -> None:
        cell, began, tally = self._cell, time.monotonic(), Tally()
        if (opened := await self._opened(client)) is None:
            return
        reader, writer = opened
        known = ProxiedConnection(cell, "", 0)
        try:
            try:
                request = await self._request(reader)
                known = replace(known, host=request.host, port=request.port)
                with self._one_more():
                    address, streams = await self._reach(request)
                    known = replace(known, address=address)
                    if len(self._reached) < MAX_REACHED:
                        self._reached[f"{request.host}:{request.port}"] = None
                    await self._relay(request, (reader, writer), streams, tally)
            except _Stop as stop:
                told = {"refused": str(stop)} if stop.refused else {"failed": str(stop)}
                known = replace(known, **told)  # type: ignore[arg-type]  # two names of text fields
                await self._answer(reader, writer, stop)
            except (OSError, TimeoutError) as error:
                known = replace(known, failed=_reason(error))
            except (BadRequestError, BrokenReplyError) as error:
                known = replace(known, failed=str(error))
        except asyncio.CancelledError:
            known = replace(known, failed=known.failed or "it was open until the session ended")
            raise
        finally:
            writer.transport.abort()
            seconds = time.monotonic() - began
            self._tell(replace(known, sent=tally.sent, received=tally.received, seconds=round(seconds, 3)))

    @contextmanager
    def _one_more(self) -> Iterator[None]:
        """Have a descriptor for the way on.

        Raises:
            _Stop: there is none.
        """
        if not self._share.take():
            raise _Stop(503, FULL, refused=True)
        try:
            yield
        finally:
            self._share.give_back()

    def _tell(self, done: ProxiedConnection) -> None:
        LOG.info(
            "cell %d: %s:%d %s (%d bytes sent, %d received)",
            done.cell, done.host, done.port, done.refused or done.failed or "allowed", done.sent, done.received,
        )  # fmt: skip
        self._on_connection(done)

    async def _request(self, reader: asyncio.StreamReader) -> RequestHead:
        """The request of a client, as far as it is in order.

        Raises:
            _Stop: it is not, or there are too many.
        """
        try:
            async with asyncio.timeout(self._limits.head_seconds):
                head = await reader.readuntil(b"\r\n\r\n")
            request = read_request(head)
        except TimeoutError:
            seconds = f"{self._limits.head_seconds:g} s"
            raise _Stop(408, f"no request came within {seconds}", refused=True) from None
        except asyncio.LimitOverrunError:
            size = f"{self._limits.head_bytes:,} bytes"
            raise _Stop(431, f"the head of a request may have {size}", refused=True) from None
        except asyncio.IncompleteReadError:
            raise _Stop(400, "no whole request came") from None
        except BadRequestError as error:
            raise _Stop(400, f"the request cannot be passed on: {error}", refused=True) from None
        if len(self._open) > self._limits.connections:
            count = self._limits.connections
            sentence = f"a sandbox may have {count} connections at a time; close some first"
            raise _Stop(503, sentence, refused=True)
        return request

    async def _reach(self, request: RequestHead) -> tuple[str, Streams]:
        """A connection to where a request goes, if that is allowed.

        Raises:
            _Stop: it is not, or cannot be reached.
        """
        host, port = request.host, request.port
        if not self._network.allows(host, port):
            raise _Stop(403, not_allowed(self._network, host, port), refused=True)
        try:
            async with asyncio.timeout(self._limits.connect_seconds):
                addresses = await self._addresses(host, port)
                return await self._connect(addresses, port)
        except TimeoutError:
            raise _Stop(504, f"{host}:{port} did not answer in time") from None
        except PermissionError as error:
            raise _Stop(403, f"{host} is not reached from a sandbox: {_reason(error)}", refused=True) from None
        except (OSError, UnicodeError) as error:
            raise _Stop(502, f"{host}:{port} cannot be reached: {_reason(error)}") from None

    async def _addresses(self, host: str, port: int) -> list[str]:
        """The public addresses of a host.

        Raises:
            PermissionError: it has others only.
            OSError: it has none.
        """
        found: Sequence[str] = [host] if written_address(f"[{host}]" if ":" in host else host) else ()
        if not found:
            found = await self._resolve(host, port)
        public = [address for address in found if is_public(address)]
        if found and not public:
            raise PermissionError("its address is not a public one")
        if not found:
            raise OSError("its name is not known")
        return public[:MAX_ADDRESSES]

    async def _connect(self, addresses: list[str], port: int) -> tuple[str, Streams]:
        """The first address that answers; each has its share of the time."""
        share = self._limits.connect_seconds / len(addresses)
        why: OSError = OSError("it has no address")
        for address in addresses:
            try:
                return address, await asyncio.wait_for(self._dial(address, port), share)
            except OSError as error:  # TimeoutError is one
                why = error
        raise why

    async def _relay(self, request: RequestHead, client: Streams, server: Streams, tally: Tally) -> None:
        """Pass on what goes over a connection, until it ends.

        Raises:
            _Stop, BadRequestError, BrokenReplyError: one side does not keep to HTTP; the first while the client has
                got nothing yet.
        """
        idle = Idle(self._limits.idle_seconds)
        try:
            async with idle.watched():
                try:
                    if request.message is None:
                        await tunnel(client, server, tally, idle)
                    else:
                        await exchange(request, client, server, tally, idle)
                except BrokenReplyError:
                    if tally.received:
                        await _flushed(client[1])
                    raise
                await _flushed(client[1])
                await _flushed(server[1])
        except (BadRequestError, BrokenReplyError) as error:
            if not tally.received:
                raise _Stop(400 if isinstance(error, BadRequestError) else 502, str(error)) from None
            raise
        finally:
            server[1].transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, stop: _Stop) -> None:
        """Say in the status line, which is what most programs show of it, and in the body, why there is nothing."""
        sentence = str(stop).encode("ascii", "replace").decode()
        body = f"Stepwell: {sentence}\n"
        headers = f"Content-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(BRIEF):
                writer.write(f"HTTP/1.1 {stop.status} {sentence}\r\n{headers}\r\n{body}".encode())
                await writer.drain()
                end_of(writer)
                while await reader.read(self._limits.head_bytes):
                    continue


def not_allowed(network: Network, host: str, port: int) -> str:
    """Why a host is not reached and how to allow it, in a sentence of ASCII."""
    if network.mode == "none":
        return "this sandbox has no network; its user may allow domains with --network allowlist --allow-domain NAME"
    if written_address(f"[{host}]" if ":" in host else host):
        return f"{host} is an address; only names of domains that the user has allowed are reached from here"
    entry = host if port in (80, 443) else f"{host}:{port}"
    also = " (pip needs pypi.org and files.pythonhosted.org)" if host in FOR_PIP else ""
    return f"{host}:{port} is not among the domains that this sandbox may reach; its user may allow it with " + (
        f"--allow-domain {entry}{also}"
    )


async def _flushed(writer: asyncio.StreamWriter) -> None:
    """Wait until everything that was written is on its way."""
    writer.close()
    await writer.wait_closed()


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "nothing went over it for too long"
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())[:200]
