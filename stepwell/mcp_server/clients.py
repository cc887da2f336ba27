"""The configuration files of programs that are clients of the Model Context Protocol, and Stepwell's entry in them."""

import json
import os
import sys
import tempfile
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepwell.errors import UsageError

NAME = "stepwell"


@dataclass(frozen=True, slots=True)
class Client:
    """A program, and where it looks for servers."""

    title: str
    linux: str
    """The file, below the home folder."""
    mac: str = ""
    """The same on macOS, where it is another one."""
    section: str = "mcpServers"
    form: str = "json"
    extra: Mapping[str, str] | None = None
    """What its entries have besides."""

    def file(self) -> Path:
        """Its file for this user."""
        return Path.home() / (self.mac if self.mac and sys.platform == "darwin" else self.linux)


CODE = "Library/Application Support/Code/User/mcp.json"
CLAUDE = "Library/Application Support/Claude/claude_desktop_config.json"
CLIENTS: Mapping[str, Client] = {
    "claude": Client("Claude Desktop", ".config/Claude/claude_desktop_config.json", CLAUDE),
    "claude-code": Client("Claude Code", ".claude.json", extra={"type": "stdio"}),
    "cursor": Client("Cursor", ".cursor/mcp.json"),
    "vscode": Client("VS Code", ".config/Code/User/mcp.json", CODE, section="servers", extra={"type": "stdio"}),
    "codex": Client("Codex", ".codex/config.toml", section="mcp_servers", form="toml"),
    "gemini": Client("Gemini CLI", ".gemini/settings.json"),
    "windsurf": Client("Windsurf", ".codeium/windsurf/mcp_config.json"),
}


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be written into a client's file."""

    client: Client
    file: Path
    before: str
    after: str
    """The same text when nothing is to be done."""

    def write(self) -> None:
        """Write it whole or not at all, with the file's permissions.

        Raises:
            UsageError: it cannot be written, or was changed meanwhile.
        """
        target = self.file.resolve()  # a link to a file of the user's settings stays one
        try:
            if _text(target) != self.before:
                raise UsageError(f"{self.file} was changed meanwhile; try again.")
            target.parent.mkdir(parents=True, exist_ok=True)
            mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
            with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=target.parent, delete=False) as file:
                file.write(self.after)
            os.chmod(file.name, mode)  # noqa: PTH101
            os.replace(file.name, target)  # noqa: PTH105
        except OSError as error:
            raise UsageError(f"{self.file} cannot be written ({error.strerror or error}).") from None


def client_named(name: str) -> Client:
    """The client of that name.

    Raises:
        UsageError: it is not known here.
    """
    if name not in CLIENTS:
        raise UsageError(
            f"{name!r} is no client that is known here; there is: {', '.join(CLIENTS)}. Others take this command: "
            f"{' '.join(command())}"
        )
    return CLIENTS[name]


def command(options: Sequence[str] = ()) -> list[str]:
    """The command that starts the server from any environment: the interpreter by its full path."""
    return [sys.executable, "-m", "stepwell", "mcp", *options]


def install(client: Client, options: Sequence[str], environment: Mapping[str, str]) -> Change:
    """How Stepwell's entry is put into a client's file, replacing an earlier one.

    Args:
        client: The client.
        options: Of `stepwell mcp`.
        environment: What the server is given: clients do not hand on that of a shell.

    Raises:
        UsageError: the file cannot be read as what it should be.
    """
    program, *arguments = command(options)
    entry: dict[str, Any] = {**(client.extra or {}), "command": program, "args": arguments}
    if environment:
        entry["env"] = dict(environment)
    return _change(client, entry)


def remove(client: Client) -> Change:
    """How Stepwell's entry is taken out of a client's file.

    Raises:
        UsageError: the file cannot be read as what it should be.
    """
    return _change(client, None)


def _change(client: Client, entry: Mapping[str, Any] | None) -> Change:
    file = client.file()
    before = _text(file)
    document = _read(client, file, before)
    section = document.get(client.section)
    if section is not None and not isinstance(section, MutableMapping):
        raise UsageError(f"{client.section!r} in {file} is no table of servers; put it right first.")
    if entry is None:
        if section is None or NAME not in section:
            return Change(client, file, before, before)
        del section[NAME]
    else:
        if section is None:
            section = document[client.section] = {}
            section = document[client.section]
        if section.get(NAME) == entry:
            return Change(client, file, before, before)
        section[NAME] = dict(entry)
    return Change(client, file, before, _written(client, document))


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read ({getattr(error, 'strerror', None) or error}).") from None


def _read(client: Client, file: Path, text: str) -> MutableMapping[str, Any]:
    try:
        if client.form == "toml":
            import tomlkit

            return tomlkit.parse(text)
        found = json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise UsageError(
            f"{file} cannot be read ({error}), so nothing was changed. Put this into {client.section!r} by hand: "
            f"{json.dumps({NAME: {'command': command()[0], 'args': command()[1:]}})}"
        ) from None
    if not isinstance(found, dict):
        raise UsageError(f"{file} holds no table of settings; put it right first.")
    return found


def _written(client: Client, document: MutableMapping[str, Any]) -> str:
    if client.form == "toml":
        import tomlkit

        return tomlkit.dumps(document)
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
