"""`stepwell config` as a real process: what is set in one folder holds in others, and keys stay unseen."""

import subprocess
from pathlib import Path

import pytest

from tests.integration.test_command import COMMAND, make_desk

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("command")]


def test_settings_are_set_shown_and_removed(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    (file,) = desk.command("config", "path").stdout.splitlines()
    assert Path(file) == desk.home / ".env"
    assert "Nothing is set" not in desk.command("config").stderr  # STEPWELL_HOME is
    assert desk.command("config", "set", "prices", "2.5,10").returncode == 0
    asked = subprocess.run(
        [*COMMAND, "config", "set", "OPENAI_API_KEY", "-"],
        cwd=desk.folder, env=desk.environment, input="sk-unseen\n",
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert asked.returncode == 0, asked.stderr
    rows = {line.split("\t")[0]: line.split("\t")[1:] for line in desk.command("config").stdout.splitlines()}
    assert rows["STEPWELL_PRICES"] == ["2.5,10", file]
    assert rows["OPENAI_API_KEY"] == ["(set, not shown)", file]
    assert rows["STEPWELL_HOME"][1] == "environment"
    wrong = desk.command("config", "set", "modle", "x")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "did you mean STEPWELL_MODEL?" in wrong.stderr
    Path(file).write_text("STEPWELL_PRICES='dear'\n")
    broken = desk.command("threads")
    assert (broken.returncode, broken.stderr.count("\n")) == (2, 1)
    assert desk.command("config", "unset", "prices").returncode == 0
    assert desk.command("threads").returncode == 0
    assert desk.command("config", "unset", "prices").returncode == 1
