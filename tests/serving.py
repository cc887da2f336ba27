"""A real `langgraph dev` of this project: started from a copy, and ended, killed or begun again as a test needs it."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.analyses import write_sales

ROOT = Path(__file__).parents[1]
PACKAGES = ["graph", "nodes", "sandboxes", "storage", "models", "stepwell", "server", "evals"]
BIN = Path(sys.executable).parent
START_SECONDS = 120.0
END_SECONDS = 30.0


class DevServer:
    """`langgraph dev` over a copy of the project, with everything that it writes below one folder.

    Args:
        folder: Of its own.
        settings: Variables of its environment, over the bare minimum.
        more: Put over `langgraph.json`.
        started_by: Words before those of its command.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
        started_by: Sequence[str] = (),
    ) -> None:
        self._started_by = started_by
        self.home = folder / "home"
        self.project = folder / "project"
        self.log = folder / "server.log"
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._environment = {
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "TMPDIR": tempfile.gettempdir(),  # by which the keeper of the run finds it
            "PYTHONPATH": str(self.project),  # the copy, and not what is installed
            "STEPWELL_HOME": str(self.home),
            "LANGGRAPH_CLI_NO_ANALYTICS": "1",
            "LANGGRAPH_STRICT_MSGPACK": "true",
            **(settings or {}),
        }
        self.project.mkdir(parents=True)
        for package in PACKAGES:
            # With its bytecode, which is a second of compiling; a file of that which is being written has such a name.
            shutil.copytree(ROOT / package, self.project / package, ignore=shutil.ignore_patterns("*.pyc.*"))
        for file in ("pyproject.toml", "README.md", "LICENSE", ".env.example"):
            shutil.copy(ROOT / file, self.project / file)
        said = json.loads((ROOT / "langgraph.json").read_text())
        (self.project / "langgraph.json").write_text(json.dumps({**said, **(more or {})}))
        (self.project / ".env").write_text("")
        write_sales(self.project / "data" / "sales.csv")

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        """Of the process that was started; what serves may be below it."""
        assert self._process is not None
        return self._process.pid

    def begin(self, jobs: int = 4, **settings: str) -> None:
        """Start it, and wait until it answers.

        Args:
            jobs: Runs that it works on at the same time.
            settings: Further variables of its environment, from now on.
        """
        self._environment |= settings
        command = [str(BIN / "langgraph"), "dev", "--no-browser", "--no-reload", "--port", str(self._port)]
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(
                [*self._started_by, *command, "--n-jobs-per-worker", str(jobs)],
                cwd=self.project, env=self._environment, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        until = time.monotonic() + START_SECONDS
        while not answers(f"{self.url}/ok"):
            assert self._process.poll() is None, self.log.read_text()[-3000:]
            assert time.monotonic() < until, self.log.read_text()[-3000:]
            time.sleep(0.2)

    def ends_when_asked(self, seconds: float) -> bool:
        """Ask it to end as an orchestrator does, which signals the first process alone.

        Args:
            seconds: How long it may take.

        Returns:
            Whether it ended by itself.
        """
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        self._process = None
        return True

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Stop it; what it started ends with it."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        try:
            process.wait(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def serving(
    folder: Path, settings: Mapping[str, str] | None = None, more: Mapping[str, Any] | None = None, *, jobs: int = 4
) -> Iterator[DevServer]:
    """A server for the time of the block; see `DevServer`."""
    server = DevServer(folder, settings, more)
    try:
        server.begin(jobs)
        yield server
    finally:
        server.end()


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def answers(url: str) -> bool:
    """Whether a URL is answered with 200."""
    try:
        return httpx.get(url, timeout=2).status_code == 200
    except httpx.HTTPError:
        return False


def with_keys(folder: Path, *names: str) -> tuple[dict[str, str], dict[str, str]]:
    """A file of API keys: the settings that name it, and the key of each user; `operator` is one."""
    from server.api_keys import line_of, new_key

    keys = {name: new_key() for name in names}
    folder.mkdir(parents=True, exist_ok=True)
    lines = [line_of(name, key, operator=name == "operator") for name, key in keys.items()]
    (folder / "keys").write_text("# test\n" + "\n".join(lines) + "\n")
    return {"STEPWELL_API_KEYS": str(folder / "keys")}, keys


def json_lines(text: str) -> list[dict[str, object]]:
    """The lines of a text that are JSON objects."""
    found = []
    for line in text.splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict):
            found.append(said)
    return found
