"""What every test gets: a clean environment, an empty working directory, and no blocking calls in the event loop."""

import gc
import os
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from graph.settings import Settings
from tests import RUN_FOLDER

OURS = ["graph", "nodes", "sandboxes", "storage", "models", "stepwell", "server", "evals"]
KEYS = ("OPENAI_", "ANTHROPIC_", "AWS_", "DAYTONA_", "LANGSMITH_", "LANGCHAIN_")


# How long an example takes to make says how busy the machine is.
hypothesis_settings.register_profile("busy machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("busy machine")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that starts us in the background has it ignored, and every process that we start would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Importing all tests makes objects that stay; looking at them again and again took a third of the collection's time.
gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage again, but not among what was imported."""
    gc.freeze()
    gc.enable()


MOST_WORKERS = 8


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more worker than processors: a test of a sandbox or a server waits for part of its time."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(processors + 1, MOST_WORKERS)


UNTIL = float(os.environ.get("TESTS_UNTIL", "inf"))
"""Seconds since 1970 after which some slow tests are skipped (`may_be_left_out`): all may take longer than CI has."""
TURN = int(os.environ.get("TESTS_TURN", "0"))
"""With which slow tests to begin; with another in each run, others are left out."""


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Put the contract suite behind the other slow tests, some of every file and kind, and begin with another one.

    What is in a group comes before all of these: xdist begins with groups. Files of which `make test` has nothing come
    with the others.
    """
    touched = {item.path for item in items if not item.get_closest_marker("slow")}
    yield  # -m takes items away
    if not TURN:
        return

    def place(item: pytest.Item) -> tuple[bool, int]:
        of_contract = item.path.parent.name == "contract" and item.path in touched
        # Files outside stay whole, for what they make once.
        name = item.nodeid if of_contract else item.path.name
        return of_contract, (zlib.crc32(name.encode()) + (TURN << 4)) % (1 << 32)

    slow = sorted((item for item in items if item.get_closest_marker("slow")), key=place)
    items[:] = [*(item for item in items if not item.get_closest_marker("slow")), *slow]


def may_be_left_out(item: pytest.Item) -> bool:
    """Whether a slow machine may skip a test: no attack, and nothing in a group (servers, databases, browsers)."""
    always = item.get_closest_marker("xdist_group") is not None or item.path.parent.name == "security"
    return item.get_closest_marker("slow") is not None and not always


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a slow test when the run has no time left; `.ci/run` says when that is, and no other command."""
    if time.time() > UNTIL and may_be_left_out(item):
        pytest.skip("the run has no time left")


KEEPER = pytest.StashKey[subprocess.Popen[bytes]]()


def pytest_configure(config: pytest.Config) -> None:
    """Make a folder for temporary files of the run, which a keeper removes when the run ends, also by a kill."""
    if not hasattr(config, "workerinput"):
        folder = tempfile.mkdtemp(prefix="stepwell-tests-")
        Path(folder).chmod(0o1777)  # as the system's: some of what tests start is run by nobody
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())  # pytest's own folders stay for a while
        command = [sys.executable, "-m", "tests.keeper", folder]
        checkout = Path(__file__).parents[1]
        config.stash[KEEPER] = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True, cwd=checkout)
        os.environ[RUN_FOLDER] = os.environ["TMPDIR"] = tempfile.tempdir = folder


def pytest_unconfigure(config: pytest.Config) -> None:
    """Have the keeper clear up, and let what is left in this process be taken down as ever."""
    gc.unfreeze()
    if KEEPER in config.stash:
        config.stash[KEEPER].communicate()


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No key, no setting and no `.env` of this machine reaches a test."""
    for name in list(os.environ):
        if name.startswith(KEYS) or (name.startswith("STEPWELL_") and name != "STEPWELL_SETUP_PYTHON"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("STEPWELL_HOME", str(tmp_path / "stepwell-home"))
    monkeypatch.setenv("LANGGRAPH_STRICT_MSGPACK", "true")
    # What they find comes when it comes; tests of proofs ask for them, and wait.
    monkeypatch.setenv("STEPWELL_PROOF_SHARE", "0")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)


@pytest.fixture(autouse=True)
def no_blocking_calls() -> Iterator[None]:
    """A blocking call of ours in an event loop raises `BlockingError`."""
    with blockbuster_ctx(scanned_modules=OURS) as blockbuster:
        # Reading the source of a frame for a warning or a traceback is the interpreter's, not ours.
        for call in ("os.stat", "io.TextIOWrapper.read", "io.BufferedReader.read"):
            if call in blockbuster.functions:
                blockbuster.functions[call].can_block_in("linecache.py", "updatecache")
        yield


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings of a machine without a model, below the test's folder."""
    return Settings(home=tmp_path / "stepwell-home", artifacts=str(tmp_path / "artifacts"), model_retries=0)
