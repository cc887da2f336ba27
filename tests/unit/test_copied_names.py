"""Where files that cells made are copied to, whatever the sandbox says that they are called."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, cast

import pytest

from sandboxes.results import CellResult, ChangedFile, Display
from stepwell.cli.shell import InterruptibleRunner, Shell
from stepwell.exports.archive import packed_names
from stepwell.restored_step import RestoredStep


class Session:
    """One in which each cell makes a figure and files under the names that its code has, one in each line."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def run(self, code: str, **_: object) -> CellResult:
        figure, *files = code.splitlines()
        changed = (ChangedFile(path, "created", 1) for path in (figure, *files))
        return CellResult("ok", displays=(Display("figure", path=figure),), files=tuple(changed))

    async def fetch(self, path: str, target: Path) -> None:
        await asyncio.to_thread(target.write_text, path)


class Waits:
    """Runs what is to be awaited."""

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run(work)


def copied(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kept", [True, False])
def test_a_figure_gets_no_name_that_programs_look_for(kept: bool, tmp_path: Path) -> None:
    session = cast("RestoredStep", Session(tmp_path))
    shell = Shell(cast("InterruptibleRunner", Waits()), session, tmp_path if kept else None)
    for figure in (".git/config", ".env", "figures/cell-1-1.png"):
        assert shell.run(figure)
    assert copied(tmp_path) == {
        "_git/file-config.txt": ".git/config", "_env.txt": ".env", "figures/cell-1-1.png": "figures/cell-1-1.png"
    }  # fmt: skip


def test_no_file_that_is_kept_takes_the_place_of_another(tmp_path: Path) -> None:
    session = cast("RestoredStep", Session(tmp_path / "session"))
    shell = Shell(cast("InterruptibleRunner", Waits()), session, tmp_path)
    paths = ["a.png", "script-a.py", "b.csv"], [".env", "a.py", "B.csv", "_env.txt"], ["A.png", "b.csv"]
    for cell in paths:
        assert shell.run("\n".join(cell))
    found = copied(tmp_path)
    assert sorted(found.values()) == sorted({path for cell in paths for path in cell})
    assert len({name.casefold() for name in found}) == len(found)
    assert found["b.csv"] == "b.csv"


def test_no_file_of_an_archive_takes_the_place_of_another() -> None:
    names = ["a.py", "script-a.py", ".env", "_env.txt", "B.csv", "b.csv", "analysis.py", "data/50%41.csv"]
    packed = packed_names(names)
    assert sorted(packed) == sorted(names)
    assert len({name.casefold() for name in packed.values()}) == len(names)
    assert {name: packed[name] for name in ("script-a.py", "_env.txt", "data/50%41.csv")} == {
        name: name for name in ("script-a.py", "_env.txt", "data/50%41.csv")
    }
