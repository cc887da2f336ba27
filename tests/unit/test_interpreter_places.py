"""What sandboxes are shown of the Python that they run in."""

import json
import os
import pwd
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from sandboxes.inside.zygote import interpreter

PROGRAM = Path(interpreter.__file__)


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment without packages."""
    venv.create(tmp_path / "environment", symlinks=True, with_pip=False)
    return tmp_path / "environment"


def site_of(environment: Path) -> Path:
    return next(environment.glob("lib/python3*/site-packages"))


def shown_by(environment: Path) -> list[str]:
    command = [str(environment / "bin" / "python"), "-I", str(PROGRAM)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: list[str] = json.loads(done.stdout)
    return found


def stored(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    return folder


def linked(site: Path, store: Path) -> None:
    """Link each file of a store, in folders of its own, as uv does."""
    for file in store.rglob("*"):
        if file.is_file():
            link = site / file.relative_to(store)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(file)


def test_a_package_that_is_linked_from_a_cache_is_shown_and_its_neighbours_are_not(
    environment: Path, tmp_path: Path
) -> None:
    ours = stored(tmp_path / "cache" / "a", "tool/__init__.py", "tool/deep/er.py", "tool-1.dist-info/METADATA")
    stored(tmp_path / "cache" / "b", "other/__init__.py")
    linked(site_of(environment), ours)
    shown = shown_by(environment)
    assert str(ours) in shown
    assert not [path for path in shown if f"{tmp_path}/cache/b".startswith(path)]


def test_packages_that_share_a_folder_are_shown_each(environment: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        files = (f"shared/{name}/__init__.py", f"shared_{name}-1.dist-info/METADATA")
        linked(site_of(environment), stored(tmp_path / name, *files))
    assert {str(tmp_path / "one"), str(tmp_path / "two")} <= set(shown_by(environment))


def test_of_a_folder_that_is_no_package_s_own_only_what_is_linked_is_shown(environment: Path, tmp_path: Path) -> None:
    project = stored(tmp_path / "project", "tool/__init__.py", "single.py", "secret.env", "elsewhere.py")
    site = site_of(environment)
    for name in ("tool", "single.py"):
        (site / name).symlink_to(project / name)
    (site / "renamed.py").symlink_to(project / "elsewhere.py")
    (site / "gone.py").symlink_to(project / "gone.py")
    shown = [path for path in shown_by(environment) if path.startswith(str(project))]
    assert sorted(shown) == sorted(str(project / name) for name in ("tool", "single.py", "elsewhere.py"))


def test_a_cache_behind_a_link_is_shown_where_it_is_asked_for_and_where_it_is(
    environment: Path, tmp_path: Path
) -> None:
    stored(tmp_path / "disk" / "a", "tool/__init__.py", "tool-1.dist-info/METADATA")
    (tmp_path / "cache").symlink_to(tmp_path / "disk")
    site = site_of(environment)
    for name in ("tool/__init__.py", "tool-1.dist-info/METADATA"):
        (site / name).parent.mkdir()
        (site / name).symlink_to(tmp_path / "cache" / "a" / name)
    assert {str(tmp_path / "cache" / "a"), str(tmp_path / "disk" / "a")} <= set(shown_by(environment))


def test_of_an_environment_in_a_project_only_python_s_own_is_shown(environment: Path) -> None:
    stored(environment, "notes.txt", "data/a.csv")
    shown = [path for path in shown_by(environment) if path.startswith(str(environment))]
    assert {os.path.relpath(path, environment).partition("/")[0] for path in shown} <= {
        "bin", "lib", "lib64", "include", "share", "pyvenv.cfg",
    }  # fmt: skip


def test_of_a_python_whose_prefix_is_a_home_only_python_is_shown(tmp_path: Path) -> None:
    home = Path(pwd.getpwuid(os.geteuid()).pw_dir)
    code = f"""
import sys; sys.path.insert(0, {str(PROGRAM.parent)!r})
import interpreter
for folder in ({str(home)!r}, {str(home.parent)!r}, {str(home / ".local")!r}, {str(tmp_path)!r}):
    print(len(interpreter._parts(folder)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["4", "4", "4", "1"]
