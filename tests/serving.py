"""A real `langgraph dev` for tests: started from a copy of the project, and ended with all that it started."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.analyses import write_sales

ROOT = Path(__file__).parents[1]
PACKAGES = ["graph", "nodes", "sandboxes", "storage", "models", "stepwell", "server"]


@dataclass(frozen=True)
class Served:
    """A server that runs."""

    url: str
    home: Path
    project: Path
    log: Path


@contextmanager
def serving(folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[Served]:
    """A server over a copy of the project below a folder, so that it writes nothing into ours."""
    project = folder / "project"
    project.mkdir(parents=True)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, project / package, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("langgraph.json", "pyproject.toml", "README.md", "LICENSE", ".env.example"):
        shutil.copy(ROOT / file, project / file)
    (project / ".env").write_text("")
    write_sales(project / "data" / "sales.csv")
    port = free_port()
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "STEPWELL_HOME": str(folder / "home"),
        "PYTHONPATH": str(project),  # the copy, and not what is installed
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_STRICT_MSGPACK": "true",
        **(settings or {}),
    }
    log = folder / "server.log"
    command = [str(Path(sys.executable).parent / "langgraph"), "dev", "--no-browser", "--no-reload"]
    with log.open("w") as out:
        process = subprocess.Popen(
            [*command, "--port", str(port), "--n-jobs-per-worker", "4"],
            cwd=project, env=environment, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    served = Served(f"http://127.0.0.1:{port}", folder / "home", project, log)
    try:
        until = time.monotonic() + 120
        while not answers(f"{served.url}/ok"):
            assert process.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < until, log.read_text()[-3000:]
            time.sleep(0.3)
        yield served
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


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
