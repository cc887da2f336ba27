"""Limits of sandboxes of an ordinary user, for whom there is no control group, as in the containers of deploy/."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import pytest

from sandboxes.inside.zygote import seccomp
from tests.security.test_hostile_code import ORDINARY, ROOT

LEVELS = ("namespaces", "namespaces-noproc", "bwrap", "landlock")
IN_MEMORY = [level for level in LEVELS if level != "landlock"]
"""Levels whose /tmp, HOME and /dev/shm are file systems in memory."""
BECOME = [] if os.geteuid() else [sys.executable, "-m", "tests.security.as_user", str(ORDINARY)]
PROGRAM = """
import asyncio, json, sys
from pathlib import Path
from sandboxes.local import control_groups
from sandboxes.host.limits import MEGABYTE, Limits
from sandboxes.opening import Sandboxes

async def main(level, limits, cells):
    base, told = Path.cwd(), []
    groups = control_groups.available()
    limits = Limits(**{name: value * MEGABYTE for name, value in limits.items()})
    async with Sandboxes(base / "sandboxes", cache=base / "cache", isolation=level, limits=limits) as opened:
        sandbox = await opened.open("local", "limited")
        for number, code in enumerate(cells, 1):
            said = await sandbox.run(code, number=number, timeout=60)
            error = said.error.name if said.error else ""
            left = sum(file.stat().st_blocks * 512 for file in (base / "sandboxes").rglob("*") if file.is_file())
            told.append({"status": said.status, "note": said.note, "printed": said.stdout.text, "error": error,
                         "left": left})
            await asyncio.sleep(0.3)
    print(json.dumps({"groups": groups, "told": told}))

asyncio.run(main(*json.loads(sys.argv[1])))
"""

pytestmark = pytest.mark.skipif(not seccomp.supported(), reason="no filter of system calls for this machine")


@pytest.fixture(scope="module", autouse=True)
def usable() -> None:
    """An ordinary user gets to this Python and this checkout; whether they can use what is in it, the tests show."""
    look = [sys.executable, "-S", "-c", "import os; os.listdir(os.curdir)"]
    if subprocess.run([*BECOME, *look], cwd=ROOT, capture_output=True).returncode:
        pytest.skip(f"an ordinary user gets neither to {sys.executable} nor to {ROOT}")


def as_ordinary_user(level: str, limits: dict[str, int], cells: list[str]) -> dict[str, Any]:
    """Run cells in a sandbox of somebody who is not root, and say what came of each."""
    base = Path(tempfile.mkdtemp(prefix="stepwell-limited-"))
    try:
        (base / "home").mkdir()
        for folder in (base, base / "home"):
            folder.chmod(0o755)
            if BECOME:
                os.chown(folder, ORDINARY, ORDINARY)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(base / "home"),
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        asked = json.dumps([level, limits, [textwrap.dedent(cell) for cell in cells]])
        command = [*BECOME, sys.executable, "-c", PROGRAM, asked]
        done = subprocess.run(command, env=environment, cwd=base, capture_output=True, text=True)
        if "No isolation that will do" in done.stderr:
            pytest.skip(f"{level} does not work here for an ordinary user: {done.stderr.strip().splitlines()[-1]}")
        assert done.returncode == 0, done.stderr[-2_000:]
        said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return said
    finally:
        subprocess.run(["chmod", "-R", "u+rwx", str(base)], capture_output=True)
        shutil.rmtree(base, ignore_errors=True)


FILL = """
    import os, time
    held = 0
    for folder in ("/tmp", os.path.expanduser("~"), "/dev/shm"):
        try:
            with open(folder + "/large", "wb", buffering=0) as file:
                while held < 944 << 20:
                    held += file.write(bytes(1 << 20))
        except OSError:
            pass
    data = bytearray(150_000_000)
    for at in range(0, len(data), 4096): data[at] = 1
    time.sleep(50)
    print((held + len(data)) // 1_000_000)
"""


@pytest.mark.slow
@pytest.mark.parametrize("level", IN_MEMORY)
@pytest.mark.parametrize("tmp", [0, 400], ids=["by default", "with a large /tmp"])
def test_files_in_memory_count_as_memory(level: str, tmp: int) -> None:
    limits = {"memory": 200, **({"tmp": tmp} if tmp else {})}
    said = as_ordinary_user(level, limits, ["x = 1", FILL, "print('on')"])
    assert not said["groups"], "a control group would do it, which is not what is tried here"
    _, filling, after = said["told"]
    assert filling["status"] == "killed", filling
    assert "of memory (" in filling["note"]
    assert "files in /tmp, HOME and /dev/shm), and 200 MB are allowed" in filling["note"]
    assert after["printed"] == "on\n"


@pytest.mark.slow
@pytest.mark.parametrize("level", IN_MEMORY)
def test_files_in_memory_and_data_may_be_as_much_as_is_allowed_together(level: str) -> None:
    code = """
        import mmap, time
        with open("/dev/shm/mapped", "w+b") as file:
            file.truncate(40 << 20)
            shared = mmap.mmap(file.fileno(), 0)
            for at in range(0, len(shared), 4096): shared[at] = 1
        data = bytearray(40_000_000)
        for at in range(0, len(data), 4096): data[at] = 1
        time.sleep(0.5)
        print("fits")
    """
    said = as_ordinary_user(level, {"memory": 200}, ["x = 1", code])
    assert said["told"][1]["printed"] == "fits\n", said["told"][1]


WRITE = """
    import os, time
    try:
        for number in range(400):
            with open(f"outputs/{number}", "wb", buffering=0) as file:
                for _ in range(10): file.write(bytes(1 << 20))
    finally:
        time.sleep(50)
"""
AT_ONCE = """
    import ctypes, os, time
    with open("outputs/large", "wb") as file:
        try: os.posix_fallocate(file.fileno(), 0, 50 << 20)
        except OSError as error: print(error.errno)
        if ctypes.CDLL(None, use_errno=True).fallocate(file.fileno(), 0, ctypes.c_long(0), ctypes.c_long(4 << 30)) == 0:
            print("at once")
"""


@pytest.mark.parametrize("level", LEVELS)
def test_a_workspace_ends_soon_after_its_limit_and_files_can_be_removed_from_it(level: str) -> None:
    remove = "import os\nfor name in os.listdir('outputs'): os.remove('outputs/' + name)\nprint('removed')"
    said = as_ordinary_user(level, {"memory": 600, "workspace": 100}, ["x = 1", AT_ONCE, WRITE, remove, "print('on')"])
    _, at_once, writing, removing, after = said["told"]
    assert (at_once["status"], at_once["printed"]) == ("ok", ""), at_once
    assert writing["status"] == "killed", writing
    assert "100 MB are allowed" in writing["note"]
    assert "remove what is not needed" in writing["note"]
    assert (removing["printed"], after["printed"]) == ("removed\n", "on\n"), removing
    assert writing["left"] < 1 << 30, "it went on for long after the limit"
    assert after["left"] < 105_000_000
