"""Runs a program of ours beside the session, and takes what it prints, up to a limit."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import IO, Any

from .kernel_process import PACKAGE, environment

MAX_OUTPUT = 4 << 20
"""Bytes of each stream that are kept."""


def run(base: str, folder: str, arguments: list[str], timeout: float) -> dict[str, Any]:
    """Run a folder's `__main__.py` to its end or to the time limit.

    Args:
        base: The folder of the sandbox's things.
        folder: The program's.
        arguments: Its own.
        timeout: Seconds.
    """
    start = [sys.executable, "-P", "-s", os.path.join(PACKAGE, "kernel", "start.py"), "--program", folder]
    process = subprocess.Popen(
        [*start, *arguments],
        cwd=os.path.join(base, "workspace"),
        env=environment(base),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    kept = [bytearray(), bytearray()]
    readers = [
        threading.Thread(target=_read, args=(stream, into), daemon=True)
        for stream, into in zip((process.stdout, process.stderr), kept, strict=True)
    ]
    for reader in readers:
        reader.start()
    code: int | None = None
    with suppress(subprocess.TimeoutExpired):
        code = process.wait(timeout)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # a child of it may still hold the pipes
    process.wait()
    for reader in readers:
        reader.join(2.0)
    return {"code": code, "stdout": kept[0].decode("utf-8", "replace"), "stderr": kept[1].decode("utf-8", "replace")}


def _read(stream: IO[bytes], into: bytearray) -> None:
    while data := os.read(stream.fileno(), 1 << 16):
        into += data[: MAX_OUTPUT - len(into)]
