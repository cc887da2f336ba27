"""Hostile code, at every level of isolation that this machine offers, as root and as an ordinary user.

Nothing gets through where the level's properties say `enforced`. What gets through at a weaker level is named here,
with the property that it belongs to: `stepwell doctor` has to say the same.
"""

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandboxes.inside.zygote import seccomp
from sandboxes.local.isolation import LEVELS, Level, states
from tests.security.attack import attacks
from tests.security.driver import LATE

ROOT = Path(__file__).resolve().parents[2]
ORDINARY = 54_321
"""The id of a user that nobody has."""
THEMES = sorted({attack.theme for attack in attacks()})
USERS = ("root", "ordinary user")
TRIED: tuple[Level, ...] = ("namespaces", "namespaces-noproc", "bwrap", "landlock")
"""`process` would be tried on the machine that runs the tests."""

LET_THROUGH: dict[Level, dict[str, str]] = {
    "namespaces": {},
    "namespaces-noproc": {},
    "bwrap": {
        "starts more threads than it may": "process count",
        "uses up the file system's room for names": "disk",
    },
    "landlock": {
        "rewrites an input": "files written",
        "adds an input": "files written",
        "removes an input": "files written",
        "puts its own folder in the place of the inputs": "files written",
        "sees whether a file of the host exists": "metadata",
        "changes the mode of a file of the host": "metadata",
        "changes the times of a file of the host": "metadata",
        "tags a file of the host": "metadata",
        "sees the host's network": "metadata",
        "sees connections of the host": "metadata",
        "sees socket files of the host": "metadata",
        "starts more threads than it may": "process count",
    },
}
"""What gets through at a level, and the property that it belongs to."""
LET_THROUGH_FOR_ROOT: dict[Level, dict[str, str]] = {
    "landlock": {"is root to begin with": "metadata", "becomes root": "metadata"},
}
"""The same, where Stepwell itself runs as root."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("hostile"),  # what was tried is remembered in one process
    pytest.mark.skipif(not seccomp.supported(), reason="no filter of system calls for this machine"),
]


class Tried:
    """What the attacks got, by level and user; each pair is tried once, both users at the same time."""

    def __init__(self) -> None:
        self._found: dict[tuple[Level, str], dict[str, Any]] = {}

    def at(self, level: Level, user: str) -> dict[str, list[str]]:
        """What each attack got."""
        if (level, user) not in self._found:
            self._try(level)
        found = self._found[level, user]
        if "unavailable" in found:
            pytest.skip(f"{level} as {user}: {found['unavailable']}")
        return found

    def _try(self, level: Level) -> None:
        with contextlib.ExitStack() as stack:
            running = {user: stack.enter_context(_driver(level, user)) for user in USERS}
            for user, process in running.items():
                if isinstance(process, str):
                    self._found[level, user] = {"unavailable": process}
                    continue
                said, complained = process.communicate()
                assert process.returncode == 0, complained[-3_000:]
                self._found[level, user] = json.loads(said.splitlines()[-1])


@contextlib.contextmanager
def _driver(level: Level, user: str) -> Iterator[subprocess.Popen[str] | str]:
    """The driver of attacks as that user, or why it cannot be run."""
    command, mine = [sys.executable], os.geteuid()
    if (user == "root") != (mine == 0):
        if user == "root":
            yield "the tests do not run as root"
            return
        command = [sys.executable, "-m", "tests.security.as_user", str(ORDINARY), sys.executable]
    base = Path(tempfile.mkdtemp(prefix="stepwell-attacked-"))
    try:
        (base / "home").mkdir()
        for folder in (base, base / "home"):
            folder.chmod(0o755)
            os.chown(folder, *([ORDINARY, ORDINARY] if len(command) > 1 else [mine, os.getegid()]))
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(base / "home"),
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "STEPWELL_TEST_SECRET": f"stepwell-secret-{secrets.token_hex(8)}",
        }
        check = [*command, "-c", "import tests.security.driver, pandas"]
        checked = subprocess.run(check, env=environment, cwd=base, capture_output=True, text=True)
        if checked.returncode:
            yield f"it cannot read this Python or this folder ({checked.stderr.strip().splitlines()[-1]})"
            return
        yield subprocess.Popen(
            ["nice", "-n", "15", *command, "-m", "tests.security.driver", str(base), level],
            env=environment,
            cwd=base,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        subprocess.run(["chmod", "-R", "u+rwx", str(base)], capture_output=True)
        subprocess.run([shutil.which("rm") or "rm", "-rf", str(base)], check=True)


@pytest.fixture(scope="session")
def tried() -> Tried:
    return Tried()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize(
    "level", [pytest.param(level, marks=[pytest.mark.slow] if level != "namespaces" else []) for level in TRIED]
)
def test_hostile_code_gets_only_what_its_level_leaves_open(level: Level, user: str, theme: str, tried: Tried) -> None:
    found = tried.at(level, user)
    let_through = LET_THROUGH[level] | (LET_THROUGH_FOR_ROOT.get(level, {}) if user == "root" else {})
    through = {attack.name: found[attack.name] for attack in attacks() if attack.theme == theme if found[attack.name]}
    unexpected = {name: got for name, got in through.items() if name not in let_through}
    assert not unexpected, json.dumps(unexpected, indent=1)
    tried_out = {attack.name for attack in attacks() if attack.theme == theme}.difference(found[LATE])
    closed = tried_out & set(let_through) - set(through)
    assert not closed, f"{level} lets these through no more; take them out of the table: {closed}"


def test_what_a_sandbox_has_anyway_is_found(tried: Tried) -> None:
    """The driver would see it if something got through."""
    assert tried.at("namespaces", USERS[os.geteuid() != 0])["has what it has anyway"] == ["GOT its own workspace"]


@pytest.mark.parametrize("level", TRIED)
def test_doctor_says_of_each_property_what_hostile_code_finds(level: Level) -> None:
    for root in (True, False):
        said = states(level, abi=7, root=root)
        let_through = LET_THROUGH[level] | (LET_THROUGH_FOR_ROOT.get(level, {}) if root else {})
        assert {name for name, property in let_through.items() if said[property].state == "enforced"} == set()


def test_the_suite_is_not_getting_smaller() -> None:
    assert len(attacks()) >= 300
    assert set(TRIED) <= set(LEVELS)
    for attack in attacks():
        compile(attack.code, attack.name, "exec")
        compile(attack.next, attack.name, "exec")
