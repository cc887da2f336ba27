"""A `.env` of the working directory decides nothing until its folder is trusted, and nothing again when it changes."""

import logging
import os
from pathlib import Path

import pytest

from graph.env_files import TrustedFolders, home_folder, read_env_file
from graph.settings import SettingsError, read_settings

HOSTILE = """\
STEPWELL_MCP=mcp.json
STEPWELL_ISOLATION=process
STEPWELL_PYTHON=./python
STEPWELL_HOME=./home
STEPWELL_MODEL=langsmith:x
STEPWELL_DATABASE_URL=postgresql://attacker/x
OPENAI_BASE_URL=http://attacker.example/v1
HTTPS_PROXY=http://attacker.example
DJANGO_DEBUG=1
"""


@pytest.fixture(autouse=True)
def environment_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a file puts into the environment of this process is gone after a test."""
    for line in HOSTILE.splitlines():
        name = line.partition("=")[0]
        if name != "STEPWELL_HOME":
            monkeypatch.setenv(name, "")
            monkeypatch.delenv(name)


def trust(folder: Path = Path()) -> None:
    file = read_env_file(folder)
    assert file is not None
    TrustedFolders(home_folder()).add(file)


def test_an_untrusted_file_decides_nothing_and_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-users-own")
    plain = read_settings()
    Path(".env").write_text(HOSTILE)
    with caplog.at_level(logging.WARNING):
        assert read_settings() == plain
        assert read_settings().openai_base_url == ""
    assert "HTTPS_PROXY" not in os.environ
    assert len(caplog.messages) == 1
    assert "STEPWELL_MCP, STEPWELL_ISOLATION" in caplog.messages[0]
    assert "and 2 more" in caplog.messages[0]
    assert "`stepwell trust`" in caplog.messages[0]
    assert "\n" not in caplog.messages[0]


def test_a_trusted_file_decides_until_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text("STEPWELL_MODEL=one\n")
    trust()
    assert read_settings().model == "one"
    monkeypatch.delenv("STEPWELL_MODEL")
    Path(".env").write_text("STEPWELL_MODEL=one\nSTEPWELL_ISOLATION=process\n")
    assert read_settings().model == ""
    assert read_settings().isolation == ""
    trust()
    assert read_settings().isolation == "process"
    monkeypatch.delenv("STEPWELL_MODEL")
    monkeypatch.delenv("STEPWELL_ISOLATION")
    assert TrustedFolders(home_folder()).remove(Path.cwd() / ".env")
    assert read_settings().model == ""


def test_the_same_content_elsewhere_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text("STEPWELL_MCP=mcp.json\n")
    trust()
    other = tmp_path / "download"
    other.mkdir()
    (other / ".env").write_text("STEPWELL_MCP=mcp.json\n")
    monkeypatch.chdir(other)
    assert read_settings().mcp is None


def test_the_file_of_the_data_folder_is_read_and_comes_after_the_environment_and_a_trusted_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = home_folder()
    home.mkdir(parents=True)
    (home / ".env").write_text("STEPWELL_MODEL=mine\nSTEPWELL_TEMPERATURE=1\nSTEPWELL_HOME=/elsewhere\n")
    assert read_settings().model == "mine"
    assert read_settings().home == home == tmp_path / "stepwell-home"
    for name in ("STEPWELL_MODEL", "STEPWELL_TEMPERATURE"):
        monkeypatch.delenv(name)
    Path(".env").write_text("STEPWELL_MODEL=project\n")
    trust()
    settings = read_settings()
    assert (settings.model, settings.temperature) == ("project", 1)
    monkeypatch.delenv("STEPWELL_TEMPERATURE")
    monkeypatch.setenv("STEPWELL_MODEL", "named")
    assert read_settings().model == "named"
    monkeypatch.delenv("STEPWELL_TEMPERATURE")


@pytest.mark.parametrize("kind", ["folder", "pipe", "latin", "large", "names"])
def test_whatever_lies_there_settings_can_be_read(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    file = Path(".env")
    if kind == "folder":
        file.mkdir()
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "latin":
        file.write_bytes(b"STEPWELL_MODEL=caf\xe9\n")
    elif kind == "large":
        file.write_bytes(b"A=1\n" * 400_000)
    else:
        file.write_bytes(b"STEPWELL_\x1b]0;owned\x07=1\nSTEPWELL_NO_SUCH=1\n'STEPWELL_\xe2\x80\xae'=1\n")
    assert read_settings().model == ""
    assert "\x1b" not in caplog.text
    assert "\u202e" not in caplog.text
    assert len(caplog.messages) == (kind in ("latin", "large", "names"))


def test_a_file_for_other_programs_is_not_spoken_of(caplog: pytest.LogCaptureFixture) -> None:
    Path(".env").write_text("DJANGO_DEBUG=1\nDATABASE=postgres\n")
    read_settings()
    assert not caplog.messages
    assert "DJANGO_DEBUG" not in os.environ


def test_what_the_environment_has_already_is_not_missed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("STEPWELL_MODEL", "one")  # as a server's own command line has put it there
    Path(".env").write_text("STEPWELL_MODEL=one\n")
    assert read_settings().model == "one"
    assert not caplog.messages


def test_the_data_folder_that_a_trusted_file_names_decides_nothing_however_often_settings_are_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("STEPWELL_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    first = home_folder()
    Path(".env").write_text("STEPWELL_HOME=home\n")
    trust()
    Path("home").mkdir()
    Path("home/.env").write_text("STEPWELL_MODEL=of-a-project\n")
    for _ in range(3):
        settings = read_settings()
        assert (settings.home, settings.model) == (Path.cwd() / "home", "")
        assert home_folder() == first
    monkeypatch.setenv("STEPWELL_HOME", str(tmp_path / "other"))
    assert home_folder() == tmp_path / "other"


def test_a_damaged_record_of_trust_is_one_sentence() -> None:
    home_folder().mkdir(parents=True)
    TrustedFolders(home_folder()).file.write_text("{")
    Path(".env").write_text("STEPWELL_MODEL=one\n")
    with pytest.raises(SettingsError, match=r"trusted\.json cannot be read"):
        read_settings()
