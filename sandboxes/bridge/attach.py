"""Runs in an interpreter context of the sandbox's service: the way from its protocol to the bridge, and nothing else.

The context's standard output is the only way out. What the bridge sends is printed as lines of base64 that begin with a
record separator, short enough for services that cut long lines. The bridge is started if there is none; it is not a
child of the context, so the kernel outlives the context, the connection and whoever is at its other end.

This file is run by its path, so it imports nothing of ours.
"""

import base64
import os
import socket
import subprocess
import sys
import time

SEPARATOR = "\x1e"
PIECE = 12_000
"""Bytes of one line before base64."""
START_SECONDS = 20.0


def attach(base: str, program: str, message: str) -> None:
    """Hand a message to the bridge, and print what it sends until it hangs up.

    Args:
        base: The folder of the sandbox's things.
        program: The folder of our programs.
        message: A frame, in base64.
    """
    connection = connect(base, program)
    try:
        connection.sendall(base64.b64decode(message))
        while data := connection.recv(PIECE):
            sys.stdout.write(SEPARATOR + base64.b64encode(data).decode() + "\n")
            sys.stdout.flush()
    finally:
        connection.close()


def connect(base: str, program: str) -> socket.socket:
    """A connection to the bridge, which is started if it does not run."""
    connection = reach(base)
    if connection is not None:
        return connection
    start = os.path.join(program, "bridge", "start.py")
    with open(os.path.join(base, "bridge.log"), "ab") as log:
        subprocess.Popen(
            [sys.executable, "-P", "-s", start, "serve", base],
            cwd=base,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        time.sleep(0.01)
        connection = reach(base)
        if connection is not None:
            return connection
    raise RuntimeError("the bridge does not start")


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
