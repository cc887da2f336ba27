"""The way out of one session: a proxy on a socket that listens in the sandbox's own network.

Whoever starts a session makes the listening socket there and hands it over, and tells the kernel its port
(`network` and `proxy` of `kernel.session.Session`), so that programs find it; from then on:

```
egress = Egress(network, folder)
egress.open(listening)      # once, when the session starts
egress.begin(number)        # when a cell begins
egress.reached()            # what it has connected to, for its result
await egress.close()        # with the session
```

The log of the connections is a file beside the workspace, with a line of JSON for each.
"""

import asyncio
import dataclasses
import json
import logging
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from sandboxes.local.network.resolver import Dial, Resolve, dial
from sandboxes.network import Network

if TYPE_CHECKING:
    from sandboxes.local.network.proxy import ProxiedConnection, ProxyLimits

LOG = logging.getLogger("stepwell.network")
PORT = 3128
"""Where the proxy listens in a network of the sandbox's own, on 127.0.0.1."""
BACKLOG = 128
FILE = "connections.jsonl"
MAX_BYTES = 8_000_000
"""Then the file becomes `connections.jsonl.1`, replacing an older one."""
MAX_WAITING = 5_000
"""Lines that wait for the disk; what comes beyond that is counted."""


class Egress:
    """The way out of one session.

    Args:
        network: What may be reached.
        folder: The sandbox's folder, for the log of its connections.
        resolve: Names to addresses; None: by the system.
        dial: Connects to addresses that were found to be public.
        limits: What the proxy may be asked for.
    """

    def __init__(
        self,
        network: Network,
        folder: Path,
        *,
        resolve: Resolve | None = None,
        dial: Dial = dial,
        limits: "ProxyLimits | None" = None,
    ) -> None:
        from sandboxes.local.network.proxy import Proxy  # most sandboxes have no network, and need no h11

        self._log = ConnectionLog(folder)
        self._proxy = Proxy(network, self._log.add, resolve=resolve, dial=dial, limits=limits)

    def open(self, listening: socket.socket) -> None:
        """Serve a listening socket, which is ours from now on; needs a running event loop."""
        self._proxy.serve(listening)

    def begin(self, cell: int) -> None:
        """A cell begins: connections that begin from now on are logged with its number."""
        self._proxy.begin(cell)

    def reached(self) -> tuple[str, ...]:
        """What was connected to since the cell began, as `CellResult.reached` has it: `network pypi.org:443`."""
        return tuple(f"network {host}" for host in self._proxy.reached())

    async def close(self) -> None:
        """End all connections; what was logged is on disk then. Closing twice is allowed."""
        await self._proxy.close()
        await self._log.close()


class ConnectionLog:
    """Appends to the file, in a thread, without keeping anybody waiting.

    Args:
        folder: The sandbox's folder.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE
        self._waiting: list[str] = []
        self._left_out = 0
        self._writing: asyncio.Task[None] | None = None

    def add(self, connection: "ProxiedConnection") -> None:
        """Log a connection that has ended; call it in the event loop."""
        if len(self._waiting) >= MAX_WAITING:
            self._left_out += 1
            return
        self._waiting.append(json.dumps(dataclasses.asdict(connection), sort_keys=True))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.ensure_future(self._write())

    async def close(self) -> None:
        """Wait until all of it is in the file."""
        if self._writing is not None:
            await self._writing

    async def _write(self) -> None:
        while self._waiting:
            lines, self._waiting = self._waiting, []
            if self._left_out:
                lines.append(json.dumps({"left_out": self._left_out}))
                self._left_out = 0
            try:
                await asyncio.to_thread(self._append, "".join(f"{line}\n" for line in lines))
            except OSError as error:  # the disk is full: an analysis does not end for that
                LOG.warning("%d connections could not be logged: %s", len(lines), error)

    def _append(self, text: str) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(text)
            size = file.tell()
        if size > MAX_BYTES:
            self._file.replace(self._file.with_name(f"{FILE}.1"))


def listen_on_loopback() -> socket.socket:
    """A listening socket on this machine's own loopback, for a sandbox that has no network of its own."""
    return socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
