"""`stepwell trust`: what a folder's `.env` would decide, and whether it may."""

import os
import re
from pathlib import Path

from graph.env_files import EnvFile, EnvFileError, TrustedFolders, home_folder, read_env_file
from graph.settings import SettingsError
from stepwell.cli.exits import FAILED, FINISHED, complain
from stepwell.cli.rendering import line_out
from stepwell.cli.terminal_text import is_conversation, one_line
from stepwell.errors import UsageError

SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|DATABASE_URL", re.IGNORECASE)


def trust(folder: Path, *, yes: bool) -> int:
    """Show what the folder's `.env` decides, and trust it as it is now."""
    try:
        file = read_env_file(folder)
        if file is None:
            raise UsageError(f"{one_line(str(folder))} holds no file .env; there is nothing to trust.")
        _show(file)
        if not yes and is_conversation() and input("Trust it? [y/N] ").strip().lower() not in ("y", "yes"):
            complain("Not trusted; nothing of it is applied.")
            return FAILED
        TrustedFolders(home_folder()).add(file)
    except (EnvFileError, OSError) as error:
        raise SettingsError(str(error)) from None
    complain(f"{one_line(str(file.path))} is trusted until it changes; stepwell trust --remove takes that back.")
    return FINISHED


def distrust(folder: Path) -> int:
    """Trust the folder's `.env` no more, whether it is still there or not."""
    path = Path(os.path.realpath(folder)) / ".env"
    try:
        there = TrustedFolders(home_folder()).remove(path)
    except (EnvFileError, OSError) as error:
        raise SettingsError(str(error)) from None
    complain(f"{one_line(str(path))} {'is trusted no more' if there else 'was not trusted'}.")
    return FINISHED


def list_trusted() -> int:
    """A line for each file: its path, and whether it is as it was when it was trusted."""
    try:
        listed = TrustedFolders(home_folder()).listed()
    except EnvFileError as error:
        raise SettingsError(str(error)) from None
    for path, sha256 in sorted(listed.items()):
        line_out(one_line(path), _state(Path(path), sha256))
    return FINISHED


def _state(path: Path, sha256: str) -> str:
    try:
        file = read_env_file(path.parent)
    except EnvFileError:
        return "changed"
    if file is None:
        return "gone"
    return "trusted" if file.sha256 == sha256 else "changed"


def _show(file: EnvFile) -> None:
    line_out(f"{one_line(str(file.path))} {'decides:' if file.values else 'decides nothing.'}")
    for name, value in file.values.items():
        line_out(f"  {name}={'(not shown)' if value and SECRET.search(name) else one_line(value, 300)}")
