"""Notebooks come in as threads: their cells give what Jupyter gives, and what comes back out runs again."""

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import nbformat
import pytest

import stepwell
from graph.context import Context
from graph.events import CellFinished, Finished
from graph.settings import Settings
from stepwell.forks import fork_thread
from stepwell.notebooks.notebook_file import NotebookError
from stepwell.restored_step import at
from stepwell.runs import start
from stepwell.threads import read_thread
from tests.analyses import follow, only, with_model
from tests.integration.test_command import Desk
from tests.notebook_round_trip import in_thread, require_same_outputs
from tests.scripted_model import Call, ScriptedServer

pytestmark = [pytest.mark.timeout(300), pytest.mark.xdist_group("importing")]

NOTEBOOKS = Path(__file__).parents[1] / "data" / "notebooks"
OWN = sorted(str(file.relative_to(NOTEBOOKS)) for file in NOTEBOOKS.rglob("*.ipynb"))


def data_of(folder: Path) -> list[Path]:
    return [folder / "sales.csv", folder / "data"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(NOTEBOOKS, tmp_path / "notebooks"))


def notebook_of(folder: Path, *codes: str, **metadata: Any) -> Path:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in codes], metadata=metadata)
    file = folder / "made.ipynb"
    nbformat.write(book, file)
    return file


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN)
async def test_a_notebook_goes_in_and_comes_out_with_the_same_outputs(
    name: str, folder: Path, settings: Settings, tmp_path: Path
) -> None:
    await require_same_outputs(name, folder, data_of(folder), settings, tmp_path)


async def test_one_asks_on_after_an_import_and_in_its_middle(folder: Path, settings: Settings) -> None:
    file = notebook_of(folder, "a = 20", "b = a + 1", "a = 'gone'")
    done = await stepwell.import_notebook(file, settings=settings)
    assert done.stopped_at == 0
    forked = await fork_thread(done.thread, step=2, new_turn=True, settings=settings)
    replies = [
        Call("run_python", purpose="Add", code="print(a, b)"),
        Call("submit_answer", answer="Done."),
    ]
    async with ScriptedServer([*replies, *replies]) as server:
        model, context = with_model(settings, server.base_url), Context(review="never")
        there = await follow(start("And?", thread=forked, settings=model, context=context))
        end = await follow(start("And?", thread=done.thread, settings=model, context=context))
    assert "20 21" in only(there, CellFinished)[-1].cell["observation"]
    assert "gone 21" in only(end, CellFinished)[-1].cell["observation"]
    assert isinstance(end[-1], Finished)


@pytest.mark.slow
async def test_a_cell_that_fails_ends_an_import_unless_it_goes_on(folder: Path, settings: Settings) -> None:
    file = notebook_of(folder, "x = 1", "1 / 0", "y = 2")
    stopped = await stepwell.import_notebook(file, settings=settings)
    assert stopped.stopped_at == 2
    assert "ZeroDivisionError" in stopped.answer
    assert "1 cell after it was not run" in stopped.answer
    through = await stepwell.import_notebook(file, keep_going=True, settings=settings)
    assert through.stopped_at == 0
    async with at(through.thread, settings=settings) as session:
        assert (await session.run("print(x, y)")).stdout.text == "1 2\n"


HOSTILE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "not JSON"),
    "text": (b"import os\n", "not JSON"),
    "latin-1": ('{"nbformat": 4, "x": "ä"}'.encode("latin-1"), "not UTF-8"),
    "deep": (b"[" * 200_000, "nested too deep|not JSON"),
    "a list": (b"[1]", "no `nbformat`"),
    "newer": (b'{"nbformat": 9, "cells": []}', "format 9"),
    "no cells": (b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}}', "no list of cells"),
    "only prose": (
        b'{"nbformat": 4, "metadata": {}, "cells": [{"cell_type": "markdown", "source": "x"}]}',
        "no code|nothing",
    ),
    "strange cells": (b'{"nbformat": 4, "metadata": {}, "cells": [7]}', "damaged"),
    "strange source": (b'{"nbformat": 4, "metadata": {}, "cells": [{"cell_type": "code", "source": [7]}]}', "damaged"),
    "of R": (
        b'{"nbformat": 4, "metadata":{"language_info": {"name": "R"}},"cells": [{"cell_type": "code", "source": "1"}]}',
        "notebook of R",
    ),
}


@pytest.mark.parametrize("name", list(HOSTILE))
async def test_what_is_no_notebook_is_said_before_anything_begins(
    name: str, tmp_path: Path, settings: Settings
) -> None:
    raw, says = HOSTILE[name]
    file = tmp_path / "strange\x1b[31m.ipynb"
    file.write_bytes(raw)
    with pytest.raises(NotebookError, match=says) as raised:
        await stepwell.import_notebook(file, settings=settings)
    assert "\x1b" not in str(raised.value)
    assert not (settings.home / "threads").exists()


async def test_an_old_notebook_is_read(tmp_path: Path, settings: Settings) -> None:
    old = {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {"name": "old"},
        "worksheets": [{"cells": [{"cell_type": "code", "input": ["x = 6\n", "print(x * 7)"], "language": "python"}]}],
    }
    file = tmp_path / "old.ipynb"
    file.write_text(json.dumps(old))
    done = await stepwell.import_notebook(file, settings=settings)
    cells = (await read_thread(done.thread, settings=settings)).state["cells"]
    assert in_thread(cells[0])["out"] == "42"


# The command


@pytest.fixture
def desk(folder: Path, tmp_path: Path) -> Desk:
    return Desk(folder, tmp_path / "home")


@pytest.mark.slow
def test_the_command_imports_and_says_what_failed(desk: Desk) -> None:
    done = desk.command("import", "sales_with_pandas.ipynb", "sales.csv")
    assert done.returncode == 0, done.stderr
    assert "code cells" in done.stdout
    failing = desk.command("import", "files_read_and_written.ipynb", "sales.csv")
    assert failing.returncode == 1
    assert "data/stations.json" in failing.stdout
    for words in (("nothing.ipynb",), ("sales.csv",), ("data",), ("https://example.org/x.ipynb",)):
        wrong = desk.command("import", *words)
        assert wrong.returncode == 2, wrong.stderr
        assert wrong.stderr.startswith("error: ")
        assert "Traceback" not in wrong.stderr


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_an_import_that_was_stopped_goes_on_where_it_was(number: signal.Signals, desk: Desk) -> None:
    slow = "import pathlib, time\nwith open('outputs/log.txt', 'a') as log: log.write('{0} ')\n"
    codes = [slow.format(one) + ("time.sleep(1.5)" if one == 2 else "") for one in range(5)]
    file = notebook_of(desk.folder, *codes, "print(open('outputs/log.txt').read())")
    with desk.start("import", file.name, "--json") as going:
        assert going.stdout is not None
        thread = str(json.loads(going.stdout.readline())["thread"])
        finished = (line for line in going.stdout if '"cell_finished"' in line)
        next(finished)
        next(finished)
        going.send_signal(number)
        going.communicate()
    assert going.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL)
    done = desk.command("resume", thread, "--json")
    assert done.returncode == 0, done.stderr
    cells = [json.loads(line)["cell"] for line in done.stdout.splitlines() if '"cell_finished"' in line]
    assert cells[-1]["status"] == "ok"
    said_last = cells[-1]["observation"].splitlines()[-1]
    assert said_last.split()[-1] == "4"
    assert sorted(set(said_last.split())) == ["0", "1", "2", "3", "4"]
    assert said_last.split().count("0") == said_last.split().count("1") == 1  # finished cells did not run again
