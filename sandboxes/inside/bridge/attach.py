"""Runs in an interpreter context of the sandbox's service: the way from its protocol to the bridge, and nothing else.

The context's standard output is the only way out. What the bridge sends is printed as lines of base64 that begin with a
record separator, short enough for services that cut long lines. The bridge is no child of the context, so the kernel
outlives the context, the connection and whoever is at its other end.

This file is run by its path, so it imports nothing of ours.
"""

import base64
import os
import socket
import sys

SEPARATOR = "\x1e"
PIECE = 12_000
"""Bytes of one line before base64."""
NO_BRIDGE = "there is no bridge"


def attach(base: str, message: str) -> None:
    """Hand a message to the bridge, and print what it sends until it hangs up.

    Args:
        base: The folder of the sandbox's things.
        message: A frame, in base64.
    """
    connection = reach(base)
    if connection is None:
        raise RuntimeError(NO_BRIDGE)
    try:
        connection.sendall(base64.b64decode(message))
        while data := connection.recv(PIECE):
            sys.stdout.write(SEPARATOR + base64.b64encode(data).decode() + "\n")
            sys.stdout.flush()
    finally:
        connection.close()


def reach(base: str) -> "socket.socket | None":
    """A connection to the bridge that runs; None when none does."""
    folder = os.open(base, os.O_RDONLY | os.O_DIRECTORY)
    connection = socket.socket(socket.AF_UNIX)
    try:
        # By the descriptor: the path of a socket may have 107 bytes, and folders can be deeper.
        connection.connect(f"/proc/self/fd/{folder}/bridge.sock")
    except OSError:
        connection.close()
        return None
    finally:
        os.close(folder)
    return connection
