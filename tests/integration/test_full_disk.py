"""A disk that is full is one sentence, whatever did not fit, and the thread goes on once there is room."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.test_command import COMMAND

pytestmark = [pytest.mark.xdist_group("command"), pytest.mark.timeout(300)]

SCRIPT = """
mount -t tmpfs -o size="$1"k none "$2" || exit 77
mkdir "$2/home" "$2/work"; cd "$2/work"
printf 'a,b\\n1,2\\n3,4\\n' > t.csv
out="$3"; shift 3
"$@" run 'What is a?' t.csv 2> "$out/errors"; echo "$?" >> "$out/codes"
mount -o remount,size=400m ..
"$@" resume last 2>> "$out/errors"; echo "$?" >> "$out/codes"
"$@" show last --json > "$out/shown" 2> /dev/null
cat "$out/codes" "$out/errors" "$out/shown" >&2
"""


@pytest.mark.parametrize(("kilobytes", "begun"), [(40, False), pytest.param(1_500, True, marks=pytest.mark.slow)])
def test_whatever_does_not_fit_is_one_sentence_and_the_thread_goes_on_once_there_is_room(
    tmp_path: Path, kilobytes: int, begun: bool
) -> None:
    unshare = shutil.which("unshare")
    disk = tmp_path / "disk"
    disk.mkdir()
    environment = {
        "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "STEPWELL_HOME": str(disk / "home"),
        "STEPWELL_ISOLATION": "process",
        "HOME": str(disk / "home"),
        "TMPDIR": str(disk / "work"),
    }
    if unshare is None:
        pytest.skip("there is no program `unshare` to mount a small disk with")
    command = [
        unshare,
        "-rm",
        "sh",
        "-c",
        SCRIPT,
        "sh",
        str(kilobytes),
        str(disk),
        str(tmp_path),
        sys.executable,
        *COMMAND[1:],
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    if done.returncode == 77 or "unshare:" in done.stderr:
        pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()[:200]}")
    ran, resumed, *said = done.stderr.splitlines()
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    assert ran in ("1", "2")
    assert any(line.startswith("error:") and ("full" in line or "No space" in line) for line in said)
    if begun:
        assert (resumed, json.loads(said[-1])["status"]) == ("0", "finished")
    else:
        assert "There are no threads yet" in done.stderr
