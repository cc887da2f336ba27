"""The one network interface of a sandbox that may reach something: loopback, where the way to the proxy begins."""

import fcntl
import socket
import struct

PORT = 3128
BACKLOG = 128
SIOCSIFFLAGS, IFF_UP, IFF_RUNNING = 0x8914, 1, 64


def listen() -> socket.socket:
    """Bring loopback up in this network namespace, and listen there; the host accepts what connects.

    Raises:
        OSError: it is refused.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP | IFF_RUNNING))
    return socket.create_server(("127.0.0.1", PORT), backlog=BACKLOG)
