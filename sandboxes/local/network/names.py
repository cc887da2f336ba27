"""Names to addresses, and connections to them: done by the host, for a sandbox that can do neither."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a name, for connections to a port of it. Raises `OSError` when there is none."""
Dial = Callable[[str, int], Awaitable[Streams]]
"""A connection to an address. Raises `OSError` when there is none."""

AT_ONCE = 4
BUFFER = 1 << 16
"""Bytes that are read ahead of a slower reader."""


class SystemNames:
    """Asks the system, in threads of its own: a sandbox that asks for slow names keeps nobody else waiting."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="stepwell-names")

    async def __call__(self, name: str, port: int) -> Sequence[str]:
        """The addresses of a name."""
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(
            self._threads, lambda: socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        )
        return list(dict.fromkeys(str(entry[4][0]) for entry in found))

    def close(self) -> None:
        """Let go of the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)


async def dial(address: str, port: int) -> Streams:
    """Connect to an address, unless it is one of this machine's own.

    A service of this machine may listen on its public address and trust whoever comes from the machine itself.

    Raises:
        OSError: there is no way to it, or it is this machine's.
    """
    if _is_ours(address):
        raise PermissionError("it is an address of this machine")
    return await asyncio.open_connection(address, port, limit=BUFFER)


def _is_ours(address: str) -> bool:
    """Whether this machine has the address: packets to it would come from it. No packet is sent to find out."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.setblocking(False)
        probe.connect((address, 9))
        return str(probe.getsockname()[0]) == address
