"""The way out of one session: a proxy on a socket that listens in the sandbox's own network.

Whoever starts a session makes the listening socket there and hands it over, and tells the kernel its port
(`network` and `proxy` of `kernel.session.Session`), so that programs find it; from then on:

```
doorway = Doorway(network, folder)
doorway.open(listening)      # once, when the session starts
doorway.begin(number)        # when a cell begins
doorway.reached()            # what it has connected to, for its result
await doorway.close()        # with the session
```
"""

import socket
from pathlib import Path

from sandboxes.local.network.connection_log import ConnectionLog
from sandboxes.local.network.names import Dial, Resolve, dial
from sandboxes.local.network.proxy import Proxy, ProxyLimits
from sandboxes.network import Network

PORT = 3128
"""Where the proxy listens in a network of the sandbox's own, on 127.0.0.1."""
BACKLOG = 128


class Doorway:
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
        limits: ProxyLimits | None = None,
    ) -> None:
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


def listen_on_loopback() -> socket.socket:
    """A listening socket on this machine's own loopback, for a sandbox that has no network of its own."""
    return socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
