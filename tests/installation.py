"""The wheel as people get it: built, and installed into an empty environment of its own."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


class Installation:
    """An environment with the wheel.

    Args:
        folder: Where it is made.
        wheel: What is installed.
        extras: With these extras.
        python: The interpreter, or a version.
        more: Further arguments of `uv pip install`.
        environment: Further arguments of `uv venv`.
        variables: Put over the environment of the installing program.
        made: The folder has a Python already.
    """

    def __init__(
        self,
        folder: Path,
        wheel: Path,
        *,
        extras: Sequence[str] = (),
        python: str = sys.executable,
        more: Sequence[str] = (),
        environment: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
        made: bool = False,
    ) -> None:
        self.folder = folder
        self.home = folder.with_name(f"{folder.name} home")
        """HOME of what runs in it."""
        self.home.mkdir(parents=True)
        settings = {**os.environ, **(variables or {})}
        settings.pop("VIRTUAL_ENV", None)
        if not made:
            _done([_uv(), "venv", "-q", "--python", python, *environment, str(folder)], settings)
        wanted = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
        command = [_uv(), "pip", "install", "-q", "--python", str(self.python), "-c", str(ROOT / "requirements.lock")]
        _done([*command, *more, wanted], settings)

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        """Where the packages are."""
        return next(self.folder.glob("lib/python3*/site-packages"))

    def environment(self, settings: Mapping[str, str] | None = None) -> dict[str, str]:
        """All that a program in it sees of the environment."""
        return {
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.home),
            "STEPWELL_HOME": str(self.home / "stepwell"),
            **(settings or {}),
        }

    def run(
        self, *command: str, cwd: Path, stdin: str = "", settings: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a program of it."""
        program = [str(self.folder / "bin" / command[0]), *command[1:]]
        environment = self.environment(settings)
        return subprocess.run(program, cwd=cwd, env=environment, input=stdin, capture_output=True, text=True)


def build_wheel(folder: Path) -> Path:
    """Build the wheel of this checkout."""
    _done([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], dict(os.environ))
    return next(folder.glob("*.whl"))


def find_python(version: str) -> str:
    """An interpreter of that version; the test is skipped where there is none."""
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    candidates = [sys.executable, *map(str, sorted(versions.glob(f"{version}.*/bin/python{version}")))]
    command = [_uv(), "python", "find", "--no-project", "--no-python-downloads", version]
    candidates.append(subprocess.run(command, capture_output=True, text=True).stdout.strip())
    asked = "import sys; print('%d.%d' % sys.version_info[:2])"
    for candidate in filter(None, candidates):
        done = subprocess.run([candidate, "-c", asked], capture_output=True, text=True)
        if done.stdout.strip() == version:
            return candidate
    pytest.skip(f"no Python {version} here")


def _uv() -> str:
    return shutil.which("uv") or str(ROOT / ".uv" / "bin" / "uv")


def _done(command: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
