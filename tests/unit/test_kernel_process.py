"""The bridge's end of a kernel's connection: what the kernel said counts, whatever else is written to its socket."""

import os
import time
from pathlib import Path

from sandboxes.inside.bridge.kernel_process import KernelProcess, StreamCapture
from sandboxes.inside.kernel import frames

JUNK = """
import os, socket, stat
for descriptor in range(3, 4096):
    try:
        if stat.S_ISSOCK(os.fstat(descriptor).st_mode): os.write(descriptor, b"\\xff" * 100)
    except OSError: pass
open("written", "w").close()
import time
time.sleep(600)
"""


def test_a_hello_counts_that_is_read_together_with_junk(tmp_path: Path) -> None:
    """As where the bridge is kept from reading until a first cell has written to the connection."""
    for name in ("workspace", "home", "tmp", "cache", "spool", "blobs"):
        (tmp_path / name).mkdir()
    kernel = KernelProcess(str(tmp_path), "none")
    try:
        kernel.send(frames.pack({"type": "run", "id": "one", "number": 1}, JUNK.encode()))
        deadline = time.monotonic() + 60
        while not (tmp_path / "workspace" / "written").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        said = kernel.receive()
        assert said is not None
        assert said[0][0]["type"] == "hello"
        assert kernel.protocol_error
        assert kernel.receive() is None
    finally:
        kernel.close()


def test_a_pipe_with_nothing_in_it_is_not_one_that_nobody_can_write_into() -> None:
    """Else the bridge would read no more of it, and a cell that prints much would wait for ever."""
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    try:
        output = StreamCapture(ours)
        assert output.read() == 0
        os.write(theirs, b"abc")
        assert (output.read(), output.read()) == (3, 0)
        os.close(theirs)
        assert output.read() is None
    finally:
        os.close(ours)
