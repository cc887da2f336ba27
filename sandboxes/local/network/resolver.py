"""Resolves names, says which addresses are public, and connects to them: for a sandbox that can do none of it.

Everything that is not public (this machine, its network, a cloud's metadata) is never reached. What is public is said
by the IANA registries of special-purpose addresses (RFC 6890 and its updates). Addresses that carry another within them
(IPv4-mapped, NAT64, 6to4, Teredo) are refused whole: what is behind them depends on the machine.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a name, for connections to a port of it. Raises `OSError` when there is none."""
Dial = Callable[[str, int], Awaitable[Streams]]
"""A connection to an address. Raises `OSError` when there is none."""

AT_ONCE = 4
BUFFER = 1 << 16
"""Bytes that are read ahead of a slower reader."""
REFUSED = tuple(
    ipaddress.ip_network(network)
    for network in (
        "0.0.0.0/8",  # this network; 0.0.0.0 reaches this machine
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT, and metadata of some clouds
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's host
        "169.254.0.0/16",  # link-local: metadata of most clouds
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",  # multicast, reserved, broadcast
        "2001::/23",  # Teredo and other protocols' own
        "2001:db8::/32",
        "2002::/16",  # 6to4
        "3fff::/20",
    )
)
GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
"""All of IPv6 that is given to anybody; outside of it are loopback, mapped IPv4, NAT64, private and link-local."""


def is_public(address: str) -> bool:
    """Whether an address is one of the open network.

    Raises:
        ValueError: it is not an address.
    """
    found: Address = ipaddress.ip_address(address)
    if found.version == 6 and (found not in GLOBAL_UNICAST or "%" in address):
        return False
    return found.is_global and not any(found in network for network in REFUSED if network.version == found.version)


def written_address(text: str) -> str:
    """An address instead of a name: `192.0.2.7`, `[2001:db8::7]`.

    Returns:
        It in its usual form; empty when it is not one in full (four decimal numbers, or IPv6 in brackets).
    """
    try:
        if text.startswith("[") and text.endswith("]"):
            return str(ipaddress.IPv6Address(text[1:-1]))
        return str(ipaddress.IPv4Address(text))
    except ValueError:
        return ""


class SystemResolver:
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
