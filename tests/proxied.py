"""A proxy for tests: names and addresses are made up, and the connections to them go to servers on loopback."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from sandboxes.host.descriptors import SHARE, Share
from sandboxes.inside.kernel.packages import proxy_environment
from sandboxes.local.network.egress import listen_on_loopback
from sandboxes.local.network.proxy import ProxiedConnection, Proxy, ProxyLimits
from sandboxes.local.network.resolver import Streams
from sandboxes.network import Network

SOMEWHERE = "93.184.216.34"
"""A public address; nothing of a test goes there."""


class Wire:
    """Made-up names and addresses, and what was asked of them."""

    def __init__(self, names: Mapping[str, Sequence[str]], servers: dict[tuple[str, int], int]) -> None:
        self.names = names
        self.servers = servers
        """(address, port) → the port of a server on loopback."""
        self.asked: list[str] = []
        self.dialled: list[tuple[str, int]] = []

    async def resolve(self, name: str, port: int) -> Sequence[str]:
        self.asked.append(name)
        if name not in self.names:
            raise OSError("Name or service not known")
        return self.names[name]

    async def dial(self, address: str, port: int) -> Streams:
        self.dialled.append((address, port))
        if (address, port) not in self.servers:
            raise ConnectionRefusedError(111, "Connection refused")
        return await asyncio.open_connection("127.0.0.1", self.servers[address, port])


@dataclass
class Proxied:
    """A proxy that serves, and what it logged."""

    proxy: Proxy
    port: int
    wire: Wire
    logged: list[ProxiedConnection] = field(default_factory=list)

    async def say(self, data: bytes, *, end: bool = False) -> bytes:
        """Send bytes and read what comes, to the end."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(data)
        if end:
            writer.write_eof()
        try:
            return await asyncio.wait_for(reader.read(), 20)
        finally:
            writer.close()

    async def tunnel(self, target: str) -> Streams:
        """An open tunnel."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        return reader, writer

    async def run(self, code: str, *arguments: str) -> tuple[int, str]:
        """Run Python in a child process that goes through the proxy; its exit code and what it printed."""
        environment = {"PATH": os.environ["PATH"], **proxy_environment(self.port)}
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, *arguments,
            env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        printed, _ = await asyncio.wait_for(child.communicate(), 60)
        return child.returncode or 0, printed.decode()


@asynccontextmanager
async def proxied(
    network: Network,
    *,
    names: Mapping[str, Sequence[str]] | None = None,
    servers: dict[tuple[str, int], int] | None = None,
    wire: Wire | None = None,
    limits: ProxyLimits | None = None,
    share: Share = SHARE,
) -> AsyncIterator[Proxied]:
    """A proxy that serves on loopback."""
    wire = wire or Wire(names or {}, servers or {})
    logged: list[ProxiedConnection] = []
    listening = listen_on_loopback()
    port = listening.getsockname()[1]
    proxy = Proxy(network, logged.append, resolve=wire.resolve, dial=wire.dial, limits=limits, share=share)
    proxy.serve(listening)
    try:
        yield Proxied(proxy, port, wire, logged)
    finally:
        await proxy.close()


class Origin:
    """A server that keeps what was sent to it and gives one reply to each connection."""

    def __init__(self, reply: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello") -> None:
        self.reply = reply
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []
        self.port = 0

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.heads.append(await reader.readuntil(b"\r\n\r\n"))
            await asyncio.sleep(0.05)  # what a smuggled second request would need to get here
            self.bodies.append(await reader.read(1 << 16) if b"Content-Length" in self.heads[-1] else b"")
            writer.write(self.reply)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def origin(reply: bytes | None = None) -> AsyncIterator[Origin]:
    """An `Origin` that serves on loopback."""
    made = Origin() if reply is None else Origin(reply)
    server = await asyncio.start_server(made._serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    async with server:
        yield made
