"""Runs in a context of the sandbox's service, or as a command: the way from there to the bridge, and nothing else.

Its standard output is the only way out. What the bridge sends is printed as lines of base64 that begin with a
record separator, short enough for services that cut long lines. The bridge is no child of it, so the kernel
outlives it, the connection and whoever is at its other end.

This file is run by its path, so it imports nothing of ours.
"""

import base64
import os
import socket
import sys
import threading

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


def leave_with_input() -> None:
    """End when standard input does: whoever listened has gone, and a command is not told."""
    while os.read(0, 4_096):
        pass
    os._exit(0)


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


if __name__ == "__main__":
    line = sys.stdin.readline()
    threading.Thread(target=leave_with_input, daemon=True).start()
    attach(sys.argv[1], line)
