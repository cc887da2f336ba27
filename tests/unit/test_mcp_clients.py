"""Stepwell's entry in the files of clients of the Model Context Protocol: put in, seen first, and taken out again."""

import json
import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from stepwell.errors import UsageError
from stepwell.mcp_server.clients import CLIENTS, client_named, command, install, remove


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", CLIENTS)
def test_an_entry_is_put_in_and_taken_out(name: str) -> None:
    client = client_named(name)
    change = install(client, ["--files", "/data"], {"STEPWELL_HOME": "/kept"})
    change.write()
    text = client.file().read_text()
    read = tomllib.loads(text) if client.form == "toml" else json.loads(text)
    entry = read[client.section]["stepwell"]
    assert [entry["command"], *entry["args"]] == command(["--files", "/data"])
    assert entry["env"] == {"STEPWELL_HOME": "/kept"}
    assert stat.S_IMODE(client.file().stat().st_mode) == 0o600
    again = install(client, ["--files", "/data"], {"STEPWELL_HOME": "/kept"})
    assert again.before == again.after
    remove(client).write()
    assert "stepwell" not in client.file().read_text()
    nothing = remove(client)
    assert nothing.before == nothing.after


def test_what_is_there_stays(home: Path) -> None:
    client = client_named("codex")
    client.file().parent.mkdir()
    before = '# mine\nmodel = "x"  # why\n\n[mcp_servers.other]\ncommand = "o"\n'
    client.file().write_text(before)
    client.file().chmod(0o640)
    install(client, [], {}).write()
    after = client.file().read_text()
    assert after.startswith(before)
    assert stat.S_IMODE(client.file().stat().st_mode) == 0o640
    remove(client).write()
    assert client.file().read_text().strip() == before.strip()
    cursor = client_named("cursor")
    cursor.file().parent.mkdir()
    (home / "real.json").write_text('{"a": 1, "mcpServers": {"other": {"command": "ö"}}}')
    cursor.file().symlink_to(home / "real.json")
    install(cursor, [], {}).write()
    assert cursor.file().is_symlink()
    kept = json.loads((home / "real.json").read_text())
    assert (kept["a"], kept["mcpServers"]["other"]) == (1, {"command": "ö"})


@pytest.mark.parametrize("text", ["{ // a comment\n}", "[1]", '{"mcpServers": []}', "\udcff"])
def test_a_file_that_cannot_be_read_is_left_alone(text: str) -> None:
    client = client_named("cursor")
    client.file().parent.mkdir()
    client.file().write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError):
        install(client, [], {})
    assert client.file().read_bytes() == text.encode("utf-8", "surrogateescape")


def test_a_change_in_between_is_not_overwritten() -> None:
    client = client_named("gemini")
    change = install(client, [], {})
    client.file().parent.mkdir()
    client.file().write_text("{}")
    with pytest.raises(UsageError, match="meanwhile"):
        change.write()
    assert client.file().read_text() == "{}"


def test_an_unknown_client_is_told_the_command() -> None:
    with pytest.raises(UsageError, match=r"claude-code.*-m stepwell mcp"):
        client_named("emacs")


def _command(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    told = {"PATH": os.environ["PATH"], "HOME": str(home), "STEPWELL_HOME": str(home / "kept")}
    return subprocess.run(
        [sys.executable, "-m", "stepwell", "mcp", "install", *words], env=told, capture_output=True, text=True
    )


@pytest.mark.slow
def test_the_command_shows_first_and_asks(home: Path) -> None:
    file = client_named("cursor").file()
    shown = _command(home, "--client", "cursor", "--files", str(home))
    assert shown.returncode == 1
    assert f'+        "{home}"' in shown.stdout
    assert "--yes" in shown.stderr
    assert not file.exists()
    written = _command(home, "--client", "cursor", "--files", str(home), "--yes")
    assert (written.returncode, written.stderr) == (0, "")
    assert json.loads(file.read_text())["mcpServers"]["stepwell"]["env"] == {"STEPWELL_HOME": str(home / "kept")}
    assert "already" in _command(home, "--client", "cursor", "--files", str(home)).stdout
    assert _command(home, "--client", "cursor", "--remove", "--yes").returncode == 0
    assert json.loads(file.read_text()) == {"mcpServers": {}}
    wrong = _command(home, "--client", "cursor", "--files", str(home / "nowhere"))
    assert wrong.returncode == 2
    assert "is no folder" in wrong.stderr
