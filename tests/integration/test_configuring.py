"""`stepwell config` and `stepwell models` as real processes: what is set in one folder holds in others."""

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


def test_models_are_listed_with_what_they_lack_and_the_default_with_its_reason(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)

    def listed() -> tuple[dict[str, list[str]], str]:
        done = desk.command("models")
        assert done.returncode == 0, done.stderr
        return {line.split("\t")[0]: line.split("\t")[1:] for line in done.stdout.splitlines()}, done.stderr

    rows, said = listed()
    assert rows["playbook"][0] == "ready"
    assert rows["playbook"][2] == "default"
    assert rows["openai:NAME"][0] == rows["anthropic:NAME"][0] == "missing"
    assert "ANTHROPIC_API_KEY" in rows["anthropic:NAME"][1]
    assert "STEPWELL_MODEL is not set" in said
    desk.command("config", "set", "model", "own-model")
    desk.command("config", "set", "openai_base_url", "http://127.0.0.1:9/v1")
    rows, said = listed()
    assert rows["openai:NAME"][::2] == ["ready", "default"]
    assert rows["playbook"][2] == ""
    assert f"The default is own-model, since STEPWELL_MODEL says so in {desk.home / '.env'}" in said
    desk.variables["STEPWELL_MODEL"] = "anthropic:x"
    desk.variables["ANTHROPIC_API_KEY"] = "sk-unseen"
    rows, said = listed()
    assert "ANTHROPIC_API_KEY" not in rows["anthropic:NAME"][1]
    assert "in the environment" in said
