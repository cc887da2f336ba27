"""Environments as people have them: in each the wheel's sessions work, as `stepwell doctor` finds out.

What cannot be had here is not tried: conda itself (a folder laid out like one of its environments stands for it), NFS,
WSL 2.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sandboxes.inside.zygote import landlock
from tests.installation import ROOT, Installation, build_wheel, find_python

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
PROGRAM = """
import asyncio, stepwell

CELL = '''
import subprocess, sys
asked = [sys.executable, "-c", "import pandas, sys; print(sys.prefix)"]
print(subprocess.run(asked, capture_output=True, text=True).stdout)
'''

async def main():
    async with stepwell.open_cell_sessions() as sessions:
        ran = await sessions.run(CELL)
        print(ran.cell["status"], ran.cell["observation"])

asyncio.run(main())
"""
AWKWARD = "Zoë's données 数据"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


def prefix_of(python: str) -> Path:
    """Where a Python lies with its library, for one that is not the system's."""
    command = [python, "-c", "import sys; print(sys.base_prefix)"]
    found = Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    if found == Path("/usr"):
        pytest.skip("only the system's Python is here")
    return found


def with_links(folder: Path, wheel: Path) -> Installation:
    return Installation(folder / "environment", wheel, variables={"UV_LINK_MODE": "symlink"})


def with_the_system_s_packages(folder: Path, wheel: Path) -> Installation:
    return Installation(folder / "environment", wheel, environment=["--system-site-packages"])


def in_a_project(folder: Path, wheel: Path) -> Installation:
    return Installation(folder / "project" / ".venv", wheel)


def below_a_home_with_an_awkward_name(folder: Path, wheel: Path) -> Installation:
    return Installation(folder / AWKWARD / ".venv", wheel)


def of_a_python_behind_a_link(folder: Path, wheel: Path) -> Installation:
    """As uv's own Pythons are: the folder named by the environment is a link to that of the version."""
    prefix = prefix_of(find_python("3.12"))
    (folder / "cpython-3.12").symlink_to(prefix)
    return Installation(folder / "environment", wheel, python=str(folder / "cpython-3.12" / "bin" / "python3.12"))


def like_conda_s(folder: Path, wheel: Path) -> Installation:
    """No virtual environment: a folder of its own with Python, its library and its packages, as conda lays it out."""
    prefix = prefix_of(find_python("3.12"))
    here = folder / "miniconda3" / "envs" / "analysis"
    parts = [part for part in ("bin", "lib", "include") if (prefix / part).is_dir()]
    for part in parts:
        shutil.copytree(prefix / part, here / part, symlinks=True, ignore=shutil.ignore_patterns("test", "__pycache__"))
    (here / "conda-meta").mkdir()
    return Installation(here, wheel, made=True, more=["--break-system-packages"])


KINDS: list[Callable[[Path, Path], Installation]] = [
    with_links,
    with_the_system_s_packages,
    in_a_project,
    below_a_home_with_an_awkward_name,
    of_a_python_behind_a_link,
    like_conda_s,
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_session_works_in_an_environment(
    kind: Callable[[Path, Path], Installation], tmp_path: Path, wheel: Path
) -> None:
    installed = kind(tmp_path, wheel)
    assert_session_works(installed)
    if kind is not like_conda_s:  # where it was copied from, its library may have been named by a path of that place
        assert_programs_have_this_python(installed)


@pytest.mark.parametrize("version", ["3.13", "3.14"])
def test_a_session_works_with_python(version: str, tmp_path: Path, wheel: Path) -> None:
    """That of the tests is 3.11 in CI, that behind a link 3.12."""
    installed = Installation(tmp_path / "environment", wheel, python=find_python(version))
    assert_session_works(installed)
    assert_programs_have_this_python(installed)


def assert_session_works(installed: Installation) -> None:
    """Doctor finds nothing wrong."""
    done = installed.run("stepwell", "doctor", "--json", cwd=installed.folder.parent)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert [one["step"] for one in said["session"] if not one["problem"]] == [
        "create", "cell", "scipy", "figure", "snapshot", "stop", "start", "delete",
    ]  # fmt: skip
    assert said["problem"] == ""


def assert_programs_have_this_python(installed: Installation) -> None:
    """A program that a cell starts has the environment's packages."""
    ran = installed.run("python", "-c", PROGRAM, cwd=installed.folder.parent)
    assert ran.stdout.startswith("ok "), ran.stdout + ran.stderr
    assert ran.stdout.rstrip().endswith(str(installed.folder))


WITHOUT_NAMESPACES = "of a container without namespaces"
ROOTS = {
    "of a container without other users": ["unshare", "--user", "--map-root-user"],
    "without what a root can do": ["setpriv", "--bounding-set=-all", "--inh-caps=-all"],
    WITHOUT_NAMESPACES: [sys.executable, "-m", "tests.contained", "default"],
}


@pytest.mark.skipif(os.geteuid() != 0, reason="it is about root")
@pytest.mark.parametrize("root", ROOTS)
def test_a_session_works_for_a_root(root: str, tmp_path: Path) -> None:
    """What keeps it apart is what is left: a filter of system calls and Landlock, or namespaces of its own users."""
    wrap = ROOTS[root]
    if root == WITHOUT_NAMESPACES and landlock.abi() < 1:
        pytest.skip("this kernel has no Landlock, which is all that this root has")
    variables = {**os.environ, "STEPWELL_HOME": str(tmp_path / "home"), "STEPWELL_ISOLATION": ""}
    tried = subprocess.run([*wrap, shutil.which("true") or "true"], cwd=ROOT, capture_output=True, text=True)
    if tried.returncode and root != WITHOUT_NAMESPACES and "not permitted" in tried.stderr:
        pytest.skip(f"{wrap[0]} is not permitted here")
    assert tried.returncode == 0, tried.stderr
    command = [*wrap, sys.executable, "-m", "stepwell", "doctor", "--json"]
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True)
    said = json.loads(done.stdout)
    assert said["level"] is not None, said["problem"]
    assert done.returncode == 0, done.stderr
    assert said["level"] != "process"
    assert not [one["problem"] for one in said["session"] if one["problem"]]
