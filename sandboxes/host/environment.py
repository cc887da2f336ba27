"""Asks a sandbox what its Python has to offer: version, analysis packages, fonts."""

from typing import TypedDict

from sandboxes.base import Sandbox, SandboxUnavailableError
from sandboxes.host.reading import read_json
from sandboxes.inside import PROGRAMS

DESCRIBE_ENVIRONMENT = PROGRAMS / "kernel"
"""The program, for `Sandbox.run_program`."""
MAX_ENTRIES = 50


class EnvironmentDescription(TypedDict):
    """What the sandbox's Python has to offer."""

    python: str
    packages: dict[str, str]
    """The analysis packages that are installed, with their versions."""
    fonts: list[str]
    """Font families with Chinese, Japanese or Korean glyphs."""


async def describe_environment(sandbox: Sandbox, *, timeout: float = 60.0) -> EnvironmentDescription:
    """Run the program and check what it says.

    Raises:
        SandboxUnavailableError: it gives no description.
    """
    result = await sandbox.run_program(DESCRIBE_ENVIRONMENT, [], timeout=timeout)
    try:
        said = await read_json(result.stdout.encode())
    except ValueError:
        said = None
    if result.status != "ok" or not isinstance(said, dict):
        last = (result.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise SandboxUnavailableError(f"The sandbox's Python cannot be described ({result.status}: {last[:300]}).")
    packages, fonts = said.get("packages"), said.get("fonts")
    return {
        "python": str(said.get("python", ""))[:40],
        "packages": {str(name)[:60]: str(version)[:40] for name, version in list(packages.items())[:MAX_ENTRIES]}
        if isinstance(packages, dict)
        else {},
        "fonts": [str(name)[:100] for name in fonts[:MAX_ENTRIES]] if isinstance(fonts, list) else [],
    }
