"""The emulated engine's command line, which hands its words and its streams to the engine and ends as that says.

It is a process of its own, as Docker's is, and a test starts more than twenty of them: so it imports next to nothing.
"""

import _socket
import os
import sys


def main() -> None:
    """Read the command line `--host FOLDER COMMAND …`."""
    _, folder, *words = sys.argv[1:]
    engine = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    os.chdir(folder)  # the name of a socket may not be long
    engine.connect("socket")
    streams = b"".join(stream.to_bytes(4, sys.byteorder) for stream in range(3))
    said = "\0".join(words).encode("utf-8", "surrogateescape")
    engine.sendmsg([len(said).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
    engine.sendall(said)
    code = engine.recv(1)
    os._exit(code[0] if code else 125)
