"""Levels of isolation: each is tried and tested here, one that lacks a wall is refused, and none promises too much."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandboxes.inside.zygote import seccomp, system
from sandboxes.local import isolation_choice
from sandboxes.local.isolation import LEVELS, PROPERTIES, IsolationRequest, Level, states
from sandboxes.local.zygote import IsolationUnavailableError
from tests.unit.walled import ROOT, walled

pytestmark = pytest.mark.skipif(not seccomp.supported(), reason="no filter of system calls for this machine")
WITHOUT = """
import ctypes, struct
from pathlib import Path
from sandboxes.base import SandboxUnavailableError
lines = [(0x20, 0, 0, 0)]
for number in {numbers}:
    lines += [(0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | {error})]
lines.append((0x06, 0, 0, 0x7FFF0000))
program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in lines))
header = struct.pack("@HP", len(lines), ctypes.addressof(program))
assert ctypes.CDLL(None).prctl(22, 2, header, 0, 0) == 0
from sandboxes.local import isolation_choice
from sandboxes.local.isolation import IsolationRequest
def level(name=""):
    try:
        return isolation_choice.choose(IsolationRequest("", Path(sys.argv[1]), name)).level
    except SandboxUnavailableError as error:
        return str(error)
"""
LANDLOCK, UNSHARE = (444,), (seccomp.REFUSED["unshare"][seccomp.COLUMN.get(system.MACHINE, 0)],)


def without(numbers: tuple[int | None, ...], error: int, code: str, cache: Path) -> list[str]:
    """What the code prints on a kernel that answers these calls with an error."""
    return walled(WITHOUT.format(numbers=numbers, error=error) + code, str(cache)).splitlines()


@pytest.mark.parametrize("level", [*isolation_choice.ZYGOTE_LEVELS, "bwrap"])
def test_a_level_that_works_here_keeps_what_it_promises(level: Level, tmp_path: Path) -> None:
    config = isolation_choice.config_of(IsolationRequest("", tmp_path / "cache"), level)
    try:
        through = isolation_choice.probe(config)
    except IsolationUnavailableError as error:
        pytest.skip(f"{level}: {error}")
    assert isolation_choice.broken_promises(level, through) == []


def test_a_promise_that_is_broken_is_named() -> None:
    through = {"files read": ["reads a file of the machine"], "metadata": ["sees that a file of the machine exists"]}
    assert isolation_choice.broken_promises("landlock", through) == ["reads a file of the machine"]
    assert len(isolation_choice.broken_promises("namespaces", through)) == 2
    assert isolation_choice.broken_promises("process", through) == []


def test_the_probes_find_what_walls_would_stop(tmp_path: Path) -> None:
    """Run without isolation, every probe that needs no luck gets through: they can fail."""
    code = f"""
import json, subprocess
from pathlib import Path
from sandboxes.local import isolation_choice
with isolation_choice._host(Path(sys.argv[1])) as facts:
    facts["calls"] = []
    start = [sys.executable, "{ROOT}/sandboxes/inside/kernel/start.py", "--program", "{ROOT}/sandboxes/inside/prober"]
    print(subprocess.run([*start, json.dumps(facts)], capture_output=True, text=True, cwd=sys.argv[1]).stdout)
"""
    (tmp_path / "inputs").mkdir()
    through = eval(walled(code, str(tmp_path)))
    assert set(through) >= {"files read", "files written", "metadata", "network", "processes", "signals", "IPC"}


def test_a_kernel_without_landlock_does_not_get_that_level(tmp_path: Path) -> None:
    (said,) = without(LANDLOCK, 38, "print(level('landlock'))", tmp_path)
    assert said.startswith("No isolation that will do works on this machine (landlock: this kernel has no Landlock")


@pytest.mark.slow
def test_where_namespaces_are_refused_landlock_is_next(tmp_path: Path) -> None:
    named, best = without(UNSHARE, 1, "print(level('namespaces'))\nprint(level())", tmp_path)
    assert "(namespaces: " in named
    assert "Operation not permitted" in named
    assert best == "landlock"


def test_where_nothing_works_nothing_starts(tmp_path: Path) -> None:
    (said,) = without((*UNSHARE, *LANDLOCK), 1, "print(level())", tmp_path)
    assert said.startswith("No isolation that will do works on this machine")
    assert "STEPWELL_ISOLATION=process" in said


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can close /proc to an ordinary user")
def test_where_proc_cannot_be_mounted_the_level_without_it_is_next() -> None:
    code = """
import os, sys
from sandboxes.inside.zygote import private_root, system
system.unshare(system.NEW_MOUNTS)
private_root.mount(None, "/", None, private_root.MS_REC | private_root.MS_PRIVATE)
private_root.mount("tmpfs", "/proc/sys", "tmpfs", 0, "")
choose = '''
import tempfile
from pathlib import Path
from sandboxes.local import isolation_choice
from sandboxes.local.isolation import IsolationRequest
with tempfile.TemporaryDirectory() as folder:
    print(isolation_choice.choose(IsolationRequest("", Path(folder) / "cache")).level)
'''
command = [sys.executable, "-m", "tests.security.as_user", "54321", sys.executable, "-c", choose]
os.execv(sys.executable, command)
"""
    tree = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=_environment())
    if "cannot" in tree.stderr or "Permission" in tree.stderr:
        pytest.skip(f"this folder is closed to ordinary users: {tree.stderr.strip().splitlines()[-1]}")
    assert tree.stdout.strip() == "namespaces-noproc", tree.stderr


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_says_something_of_every_property(level: Level) -> None:
    said = states(level, abi=7, root=False)
    assert tuple(said) == PROPERTIES
    assert all(verdict.why for verdict in said.values())


def test_what_an_older_landlock_lacks_is_not_promised() -> None:
    assert states("landlock", abi=6, root=False)["signals"].state == "enforced"
    assert states("landlock", abi=5, root=False)["signals"].state == "none"
    assert "empty files" in states("landlock", abi=2, root=False)["files written"].why


def test_nothing_is_promised_without_walls() -> None:
    assert "enforced" not in {verdict.state for verdict in states("process").values()}
