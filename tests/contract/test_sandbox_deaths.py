"""Behind Landlock only its own processes end what a sandbox started: whoever of them dies, nothing stays behind."""

import json
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandboxes.host import workspace
from sandboxes.host.processes import Order
from sandboxes.inside.kernel import frames
from sandboxes.inside.zygote import landlock
from sandboxes.local.isolation import IsolationRequest
from sandboxes.local.isolation_choice import choose
from sandboxes.local.zygote import ReadySandbox
from sandboxes.local.zygote_process import StartInZygote

SECONDS = 20.0


class Sandboxed:
    """A kernel that waits for cells, with its frozen copy."""

    def __init__(self, folder: Path, ready: ReadySandbox) -> None:
        self.workspace = folder / "workspace"
        self.ready = ready
        self._unpacker = frames.Unpacker()
        self.runner = self._hello()
        self.init = int(_status(self.runner)["PPid"])
        ready.control.sendall(frames.pack({"type": "hello", "id": ""}))
        self._hello()
        _until(lambda: len(self.processes()) == 2)

    def _hello(self) -> int:
        self.ready.control.settimeout(SECONDS)
        while True:
            for header, body in self._unpacker.feed(self.ready.control.recv(65_536)):
                if header["type"] == "hello":
                    return int(json.loads(body)["pid"])

    def processes(self) -> list[int]:
        """The runner and its copy, as far as they live."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if (entry / "cwd").readlink() == self.workspace:
                    found.append(int(entry.name))
            except OSError:
                continue
        return found


def _status(process: int) -> dict[str, str]:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _until(what: Callable[[], bool]) -> None:
    until = time.monotonic() + SECONDS
    while not what():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.fixture
def sandboxed(tmp_path: Path, cache: Path) -> Iterator[Sandboxed]:
    if not landlock.abi():
        pytest.skip("this kernel has no Landlock")
    config = choose(IsolationRequest("", cache, "landlock"))
    folder = tmp_path / "threads" / "one"
    workspace.make_all(folder, cache)
    made = Sandboxed(folder, StartInZygote(config).begin(Order(folder)))
    yield made
    for process in made.processes():
        os.kill(process, signal.SIGKILL)
    made.ready.close()


def test_the_runner_dies_while_the_host_hears_nothing_any_more(sandboxed: Sandboxed) -> None:
    sandboxed.ready.init.shutdown(socket.SHUT_RD)
    os.kill(sandboxed.runner, signal.SIGKILL)
    _until(lambda: not sandboxed.processes())


def test_the_first_process_is_killed(sandboxed: Sandboxed) -> None:
    os.kill(sandboxed.init, signal.SIGKILL)
    _until(lambda: not sandboxed.processes())


def test_the_host_lets_go_of_everything_at_once(sandboxed: Sandboxed) -> None:
    sandboxed.ready.init.close()
    sandboxed.ready.control.close()
    _until(lambda: not sandboxed.processes())
