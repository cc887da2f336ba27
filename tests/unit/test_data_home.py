"""The data folder is its user's alone, whatever the umask is and whoever made it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from graph.env_files import make_home
from storage.blob_folder import FolderBackend

OPENING = """
import asyncio, os
os.umask(0o022)
from graph.checkpoints.factory import open_checkpoints
from graph.settings import read_settings
async def main():
    async with open_checkpoints(read_settings()):
        pass
asyncio.run(main())
"""


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def opened(home: Path) -> str:
    """What it says to open the checkpoints of a data folder."""
    environment = {**os.environ, "STEPWELL_HOME": str(home)}
    done = subprocess.run([sys.executable, "-c", OPENING], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.slow
def test_a_new_data_folder_is_private_and_nothing_is_said_of_it(tmp_path: Path) -> None:
    assert opened(tmp_path / "above" / "home") == ""
    assert mode(tmp_path / "above" / "home") == 0o700
    assert (tmp_path / "above" / "home" / "threads.sqlite").exists()


@pytest.mark.slow
def test_one_that_others_could_look_into_is_closed_and_that_is_said_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o755)
    assert f"Other users of this machine could look into the data folder {home}; now they cannot." in opened(home)
    assert mode(home) == 0o700
    assert opened(home) == ""


def test_a_folder_that_is_not_for_stepwell_alone_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    make_home(tmp_path)
    common = tmp_path / "common"
    common.mkdir()
    common.chmod(0o1777)
    make_home(common)
    assert (mode(tmp_path), common.stat().st_mode & 0o1777) == (0o755, 0o1777)


def test_a_file_in_its_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "home").touch(mode=0o644)
    with pytest.raises(FileExistsError):
        make_home(tmp_path / "home")
    assert mode(tmp_path / "home") == 0o644


def test_a_new_folder_of_blobs_elsewhere_is_private_and_one_that_is_there_stays(tmp_path: Path) -> None:
    FolderBackend(tmp_path / "above" / "new").staging()
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o750)
    FolderBackend(tmp_path / "shared").staging()
    assert (mode(tmp_path / "above" / "new"), mode(tmp_path / "shared")) == (0o700, 0o750)
