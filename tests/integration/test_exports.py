"""A thread leaves as a report, as a notebook that runs and gives the same outputs, and as an archive."""

import base64
import json
import os
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

import stepwell
from graph.context import Context
from graph.settings import Settings
from stepwell.errors import ThreadError, UsageError
from stepwell.runs import start
from tests.analyses import follow, with_model, write_sales
from tests.integration.test_command import Desk, make_desk
from tests.scripted_model import Call, Scripted, ScriptedServer

pytestmark = [pytest.mark.timeout(300), pytest.mark.xdist_group("exports")]

LOAD = """
import pandas as pd
sales = pd.read_csv("inputs/sales.csv")
print(len(sales), "rows")
sales.head(3)
"""
DRAW = """
import matplotlib.pyplot as plt, sys
sales.groupby("region")["units"].sum().plot.bar(title="Units by region")
print("careful", file=sys.stderr)
"""
FAIL = "print(1 + 1)\nsales['nothing']"
AWAIT = """
import asyncio
await asyncio.sleep(0)
for piece in "a\\n\\n", "  b":
    print(piece, end="")
(int(sales.units.sum()), "ü")
"""
WRITE = "from pathlib import Path\nPath('outputs/a.csv').write_text('x,y\\n1,2\\n')"


def cell(code: str, **fields: object) -> Call:
    return Call("run_python", purpose=code.strip().splitlines()[0][:40], code=code, **fields)


def answered(text: str) -> Call:
    return Call("submit_answer", answer=text, skipped=[])


@pytest.fixture
async def thread(settings: Settings, tmp_path: Path) -> str:
    """Two questions, a figure, a failed cell, and one that goes back over another."""
    replies: list[Scripted] = [
        *map(cell, (LOAD, DRAW, FAIL, AWAIT, WRITE)),
        answered(
            "There are **{{sales.units.sum()}}** units in {{len(sales)}} rows.\n\n![Units](figures/cell-002-1.png)"
        ),
        cell("sales = sales.iloc[:0]"),
        cell("print(sales.shape)", back_to=5),
        answered("The table has {{len(sales)}} rows."),
    ]
    table = write_sales(tmp_path / "sales.csv")
    async with ScriptedServer(replies) as server:
        model = with_model(settings, server.base_url)
        context = Context(review="never")
        run = start("How many units?", files=[table], settings=model, context=context)
        await follow(run)
        await follow(start("And rows?", thread=run.thread, settings=model, context=context))
    return run.thread


def outputs(book: Any) -> list[list[dict[str, Any]]]:
    """The outputs of the code cells, but for the bytes of pictures and the lines of tracebacks."""
    found = []
    for one in book.cells:
        if one.cell_type == "code" and "stepwell-setup" not in one.metadata.get("tags", []):
            found.append([said for output in one.outputs if (said := _plain(output)) is not None])
    return found


def _plain(output: Any) -> dict[str, Any] | None:
    if output.output_type == "stream":
        return {"stream": output.name, "text": output.text}
    if output.output_type == "error":
        return {"error": output.ename, "value": output.evalue}
    if "image/png" in output.data:
        return {"picture": True}
    return dict(output.data)


def by_kind(said: list[list[dict[str, Any]]]) -> list[list[dict[str, Any]]]:
    """In one order: kernels send streams and displays as they come, and State keeps them by kind."""
    return [sorted(of_cell, key=sorted) for of_cell in said]


@pytest.mark.slow
async def test_the_notebook_runs_beside_its_inputs_and_gives_the_same_outputs(
    thread: str, settings: Settings, tmp_path: Path
) -> None:
    file = tmp_path / "notebook.ipynb"
    written = await stepwell.export(thread, file, settings=settings)
    assert (written.path, written.format, written.bytes) == (file, "ipynb", file.stat().st_size)
    book = nbformat.read(file, as_version=4)
    nbformat.validate(book)
    before = outputs(book)
    raw = [one.source for one in book.cells if one.cell_type == "raw"]
    assert raw == ["sales = sales.iloc[:0]"]
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    shutil.copy(tmp_path / "sales.csv", folder)
    resources = {"metadata": {"path": str(folder)}}
    await nbclient.NotebookClient(book, timeout=120, kernel_name="python3", resources=resources).async_execute()
    assert by_kind(outputs(book)) == by_kind(before)
    assert len(before) == 6
    assert before[0][0] == {"stream": "stdout", "text": "60 rows\n"}
    assert {"text/html", "text/plain"} == set(before[0][1])
    assert {"picture": True} in before[1]
    assert before[2][1]["error"] == "KeyError"
    assert (folder / "outputs" / "a.csv").read_text() == "x,y\n1,2\n"


async def test_the_answer_of_the_notebook_holds_its_picture(thread: str, settings: Settings, tmp_path: Path) -> None:
    await stepwell.export(thread, tmp_path / "n.ipynb", settings=settings)
    book = json.loads((tmp_path / "n.ipynb").read_text())
    answers = [one for one in book["cells"] if "".join(one["source"]).startswith("### Answer")]
    (picture,) = answers[0]["attachments"].values()
    assert base64.b64decode(picture["image/png"]).startswith(b"\x89PNG")
    assert "![Units](attachment:1-cell-002-1.png)" in "".join(answers[0]["source"])
    assert "in 60 rows" in "".join(answers[0]["source"])


@pytest.mark.slow
async def test_an_input_that_is_missing_beside_the_notebook_is_named(
    thread: str, settings: Settings, tmp_path: Path
) -> None:
    await stepwell.export(thread, tmp_path / "n.ipynb", settings=settings)
    book = nbformat.read(tmp_path / "n.ipynb", as_version=4)
    (tmp_path / "empty").mkdir()
    resources = {"metadata": {"path": str(tmp_path / "empty")}}
    client = nbclient.NotebookClient(book, timeout=120, kernel_name="python3", resources=resources, allow_errors=True)
    await client.async_execute()
    setup = next(one for one in book.cells if "stepwell-setup" in one.metadata.get("tags", []))
    assert setup.outputs[0].text == "missing: inputs/sales.csv\n"


@pytest.mark.slow
async def test_the_report_of_a_step_knows_nothing_of_what_came_later(
    thread: str, settings: Settings, tmp_path: Path
) -> None:
    await stepwell.export(thread, tmp_path / "now.html", settings=settings)
    await stepwell.export(f"{thread}@2", tmp_path / "then.htm", settings=settings)
    now, then = ((tmp_path / name).read_text() for name in ("now.html", "then.htm"))
    assert now.count("data:image/png;base64,") == 2  # with the cell, and in the answer
    assert 'href="#cell-' in now
    assert "KeyError" in now
    assert "And rows?" in now
    assert then.count("data:image/png;base64,") == 1
    assert "KeyError" not in then
    assert "This question has not been answered yet." in then


@pytest.mark.slow
async def test_the_archive_holds_all_of_it(thread: str, settings: Settings, tmp_path: Path) -> None:
    await stepwell.export(thread, tmp_path / "all.zip", settings=settings)
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert {"answers.md", "report.html", "notebook.ipynb", "analysis.py", "a.csv"} <= set(names)
        for name in re.findall(r"\]\(([^)]+)\)", archive.read("answers.md").decode()):
            assert name in names, "its links lead to files of the archive"
        nbformat.validate(nbformat.reads(archive.read("notebook.ipynb").decode(), as_version=4))
        await stepwell.export(thread, tmp_path / "r.html", settings=settings)
        assert archive.read("report.html") == (tmp_path / "r.html").read_bytes()


@pytest.mark.slow
async def test_figures_come_from_snapshots_when_published_files_are_gone(
    thread: str, settings: Settings, tmp_path: Path
) -> None:
    shutil.rmtree(settings.home / "artifacts", ignore_errors=True)
    for folder in settings.home.parent.rglob("cell-002-1.png"):
        folder.unlink()
    await stepwell.export(thread, tmp_path / "r.html", settings=settings)
    assert (tmp_path / "r.html").read_text().count("data:image/png;base64,") == 2


@pytest.mark.slow
async def test_other_endings_are_refused(thread: str, settings: Settings, tmp_path: Path) -> None:
    for name in ("report.pdf", "report", ".html", "report.HTML.txt"):
        with pytest.raises(UsageError, match="end it as report"):
            await stepwell.export(thread, tmp_path / name, settings=settings)


@pytest.mark.slow
async def test_nothing_is_lost_where_it_cannot_be_written(thread: str, settings: Settings, tmp_path: Path) -> None:
    kept = tmp_path / "kept.html"
    kept.write_text("mine")
    with pytest.raises(UsageError, match=r"is there already; .* overwrite=True\."):
        await stepwell.export(thread, kept, settings=settings)
    assert kept.read_text() == "mine"
    with pytest.raises(UsageError, match="There is no folder"):
        await stepwell.export(thread, tmp_path / "no" / "r.html", settings=settings)
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(UsageError):
        await stepwell.export(thread, tmp_path / "folder.html", overwrite=True, settings=settings)
    for name in ("nobody", f"{thread}@99"):
        with pytest.raises(ThreadError):
            await stepwell.export(name, kept, overwrite=True, settings=settings)
    assert kept.read_text() == "mine"
    aside = tmp_path / "aside.html"
    aside.write_text("theirs")
    (tmp_path / "link.html").symlink_to(aside)
    await stepwell.export(thread, kept, overwrite=True, settings=settings)
    assert kept.read_text().startswith("<!doctype html>")
    assert sorted(one.name for one in tmp_path.glob("*kept*")) == ["kept.html"]  # nothing half-written beside it


# The command


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    desk = make_desk(tmp_path_factory.mktemp("exported"))
    assert desk.command("run", "What does this table hold?", "sales.csv").returncode == 0
    return desk


@pytest.mark.slow
def test_the_command_writes_from_any_folder(desk: Desk, tmp_path: Path) -> None:
    elsewhere = Desk(tmp_path, desk.home)
    for name in ("report.html", "notebook.ipynb", "archive.zip"):
        done = elsewhere.command("export", "last", "--to", name)
        assert (done.returncode, done.stdout) == (0, f"{name}\n"), done.stderr
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o666 & ~_umask()
    again = elsewhere.command("export", "last", "-o", "report.html")
    assert again.returncode == 2
    assert again.stderr == "error: report.html is there already; give another name, or --overwrite.\n"
    assert elsewhere.command("export", "last", "-o", "report.html", "--overwrite").returncode == 0
    assert "Traceback" not in again.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("last", "--to", "x.pdf"), 2, "archive.zip"),
        (("last@99", "--to", "x.html"), 2, "99"),
        (("nobody", "--to", "x.html"), 2, "stepwell threads"),
        (("last",), 2, "--to"),
    ],
)
def test_wrong_use_is_one_sentence(words: tuple[str, ...], code: int, says: str, desk: Desk) -> None:
    done = desk.command("export", *words)
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_exporting_while_the_thread_goes_on(desk: Desk) -> None:
    with desk.start("run", "What does this table hold?", "sales.csv", "--json") as going:
        assert going.stdout is not None
        thread = str(json.loads(going.stdout.readline())["thread"])
        assert any("cell_finished" in line for line in going.stdout)
        done = desk.command("export", thread, "--to", "halfway.zip")
        assert done.returncode == 0, done.stderr
        going.communicate()
    assert going.returncode == 0
    with zipfile.ZipFile(desk.folder / "halfway.zip") as archive:
        assert b"has not been answered yet" in archive.read("report.html")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
