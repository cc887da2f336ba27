"""Stands for a command that a prepared process forks: `python -I -S forked_command.py SOCKET NOTE WORDS…`.

The command has what this process has: working directory, environment, and standard streams. It gets the signals that
this one gets, is killed soon after this one is killed, and this one ends as it ends, after it. NOTE is a file for its
process id, or empty. Imports little: each command pays for it.
"""

import json
import os
import signal
import socket
import sys
from types import FrameType

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STREAMS = (0, 1, 2)


def main() -> None:
    """Have it forked, and wait for its end."""
    line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    line.connect(sys.argv[1])
    here = os.getcwd()  # noqa: PTH109 - pathlib takes long to import
    order = {"note": sys.argv[2], "words": sys.argv[3:], "cwd": here, "env": dict(os.environ)}
    socket.send_fds(line, [json.dumps(order).encode()], STREAMS)
    line.recv(1)  # it has begun, so that it gets every signal

    def pass_on(number: int, _: FrameType | None) -> None:
        line.send(bytes([number]))

    for number in PASSED_ON:
        signal.signal(number, pass_on)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in STREAMS:  # their other ends see it when the command closes them
        os.dup2(nowhere, stream)
    code = int(line.recv(64))
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main()
