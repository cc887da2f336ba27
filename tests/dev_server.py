"""A real `langgraph dev` of this project, started from a copy, that a test can kill and start again."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx

from tests.analyses import write_sales

ROOT = Path(__file__).parents[1]
PACKAGES = ["graph", "nodes", "sandboxes", "storage", "models", "stepwell"]
BIN = Path(sys.executable).parent


def free_port() -> int:
    """A port of the loopback that nobody uses now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class DevServer:
    """`langgraph dev`, with everything that it writes below one folder.

    Args:
        folder: Of its own.
        environment: Settings, over the bare minimum.
        more: Put over `langgraph.json`.
    """

    def __init__(self, folder: Path, environment: dict[str, str], more: dict[str, Any] | None = None) -> None:
        self.project = folder / "project"
        self.log = folder / "server.log"
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._environment = {
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "PYTHONPATH": str(self.project),
            "STEPWELL_HOME": str(folder / "home"),
            "LANGGRAPH_CLI_NO_ANALYTICS": "1",
            "LANGGRAPH_STRICT_MSGPACK": "true",
            **environment,
        }
        self.project.mkdir(parents=True)
        for package in PACKAGES:
            shutil.copytree(ROOT / package, self.project / package, ignore=shutil.ignore_patterns("__pycache__"))
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

    def begin(self, jobs: int = 4) -> None:
        """Start it, and wait until it answers."""
        command = [str(BIN / "langgraph"), "dev", "--no-browser", "--no-reload", "--port", str(self._port)]
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(
                [*command, "--n-jobs-per-worker", str(jobs)],
                cwd=self.project, env=self._environment, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        until = time.monotonic() + 120
        while True:
            assert self._process.poll() is None, self.log.read_text()[-3000:]
            assert time.monotonic() < until, self.log.read_text()[-3000:]
            try:
                if httpx.get(f"{self.url}/ok", timeout=2).status_code == 200:
                    return
            except httpx.HTTPError:
                time.sleep(0.2)

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Stop it; what it started ends with it."""
        process, self._process = self._process, None
        if process is None:
            return
        os.killpg(process.pid, how)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
