"""The command that installs what is missing is one for the environment that the program runs in."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from storage.missing_packages import install_command


def environment(folder: Path, *programs: str) -> Path:
    """Make a folder with programs in it that can be started; give the path of its Python."""
    folder.mkdir()
    for name in ("python", *programs):
        (folder / name).touch(mode=0o755)
    return folder / "python"


def test_pip_of_the_same_environment_is_named_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(environment(tmp_path / "bin", "pip")))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert install_command("stepwell[s3]") == "`pip install 'stepwell[s3]'`"


def test_pip_of_another_environment_is_not_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment(tmp_path / "system", "pip")
    python = environment(tmp_path / "own environment")
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setenv("PATH", str(tmp_path / "system"))
    command = install_command("langchain-anthropic")
    assert command != "`pip install langchain-anthropic`"
    assert f"'{python}'" in command
    assert install_command("langchain-anthropic", served=True) == "`pip install langchain-anthropic`"
    assert command.startswith("`uv pip install") is (find_spec("pip") is None)
