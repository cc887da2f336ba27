"""Starts LangGraph's server with the configuration that the package has, or writes that down for others."""

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from graph.settings import SettingsError, read_settings
from stepwell.cli.exits import FINISHED
from stepwell.errors import UsageError
from storage.missing_packages import install_command

NEEDED = ("langgraph_cli", "langgraph_api", "jwt", "prometheus_client", "opentelemetry.sdk")
OF_A_CHECKOUT = ("env", ".")
"""The setting, and the dependency, that mean the folder of the file."""


def read_config() -> dict[str, Any]:
    """What a LangGraph server is told: the graph, who may use it, the routes; without what only a checkout has."""
    package = Path(__file__).parents[1]
    file = next(
        folder / "langgraph.json" for folder in (package, package.parent) if (folder / "langgraph.json").exists()
    )
    said: dict[str, Any] = json.loads(file.read_text("utf-8"))
    setting, here = OF_A_CHECKOUT
    said.pop(setting, None)
    said["dependencies"] = ["stepwell" if one == here else one for one in said["dependencies"]]
    return said


def write_config(file: Path) -> int:
    """Write it for another server.

    Raises:
        UsageError: there is such a file, or it cannot be written.
    """
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(_as_text())
    except FileExistsError:
        raise UsageError(f"{file} exists; name another file, or remove it.") from None
    except OSError as error:
        raise UsageError(f"{file} cannot be written ({error.strerror}).") from None
    sys.stdout.write(f"{file}\n")
    return FINISHED


def serve(port: int) -> NoReturn:
    """Become the server; it ends as Ctrl-C or whoever started it says.

    Raises:
        SettingsError: the extra is not installed, or a setting cannot be used.
    """
    if not all(_there(name) for name in NEEDED):
        needed = install_command("stepwell[serve]")
        raise SettingsError(f"`stepwell serve` needs packages that are not installed: run {needed}.")
    home = read_settings().home
    folder = home / "server"
    home.mkdir(parents=True, exist_ok=True, mode=0o700)  # which is not for other users
    folder.mkdir(exist_ok=True, mode=0o700)
    file = folder / "langgraph.json"
    file.write_text(_as_text(), "utf-8")
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--config", str(file), "--host", "127.0.0.1"]
    command += ["--port", str(port), "--no-browser", "--no-reload", "--n-jobs-per-worker", "4"]
    os.chdir(folder)
    os.environ.setdefault("LANGGRAPH_CLI_NO_ANALYTICS", "1")
    os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")
    sys.stdout.flush()
    os.execv(sys.executable, command)  # noqa: S606 - without a shell, as it should be


def _as_text() -> str:
    return json.dumps(read_config(), indent=2) + "\n"


def _there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # what it is in
        return False
