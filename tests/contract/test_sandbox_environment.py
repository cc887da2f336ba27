"""A virtual environment that was made in a project's folder does not show the project."""

import asyncio
import venv
from pathlib import Path

import pytest

from sandboxes.opening import Sandboxes
from tests.contract.conftest import fine

LOOK = """
import os
seen = []
for name in ('.env', 'secret.csv', '.git/config', 'src/private.py'):
    try:
        seen.append(open(os.path.join({project!r}, name)).read())
    except OSError:
        pass
import sys, json, venv, colorsys
print(seen, sys.version_info >= (3, 11))
"""


@pytest.mark.parametrize("level", ["namespaces", "bwrap", "landlock"])
async def test_an_environment_made_in_a_project_shows_only_what_belongs_to_it(tmp_path: Path, level: str) -> None:
    project = tmp_path / "project"
    for name in (".env", "secret.csv", ".git/config", "src/private.py"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(f"CANARY {name}")
    await asyncio.to_thread(venv.create, project, symlinks=True, with_pip=False)
    python = str(project / "bin" / "python")
    async with Sandboxes(tmp_path / "sandboxes", python=python, isolation=level) as opened:
        sandbox = await opened.open("local", "venv")
        result = fine(await sandbox.run(LOOK.format(project=str(project)), number=1, timeout=60))
    assert result.stdout.text == "[] True\n"
