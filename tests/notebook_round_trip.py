"""A notebook goes in as a thread, back to its middle, and out again: what Jupyter says of it each time."""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbclient
import nbformat

import stepwell
from graph.settings import Settings
from graph.state import Cell
from nodes.cell_outputs import outputs_shown
from stepwell.forks import fork_thread
from stepwell.restored_step import at
from stepwell.threads import read_thread

MEASURED = re.compile(r"(?m)^(?:env: |CPU times|Wall time|/\S+$|\s*\d.*(?:per loop|loops? each)).*\n?")
"""What IPython's magics say of where they are and how long something took: an import runs it, and says nothing."""
ADDRESS = re.compile(r"(?: object)? at 0x[0-9a-f]+")
"""IPython leaves `object` out where a class has no `repr` of its own."""


def said(text: str) -> str:
    return " ".join(ADDRESS.sub(" at 0x…", MEASURED.sub("", text)).split())  # IPython lays long lists out over lines


def in_jupyter(cell: Any) -> dict[str, str]:
    """What a cell of an executed notebook shows: its printed text, its results' text, its error."""
    printed = "".join(one.text for one in cell.outputs if one.output_type == "stream" and one.name == "stdout")
    shown = [one.data.get("text/plain", "") for one in cell.outputs if "data" in one and "image/png" not in one.data]
    failed = [f"{one.ename}: {one.evalue}" for one in cell.outputs if one.output_type == "error"]
    figures = sum("image/png" in one.data for one in cell.outputs if "data" in one)
    return {"out": said(printed), "shown": said("\n".join(shown)), "error": "".join(failed), "figures": str(figures)}


def in_thread(cell: Cell) -> dict[str, str]:
    """The same of a cell of a thread."""
    outputs = outputs_shown(cell)
    printed = "".join(one["text"] for one in outputs if one["kind"] == "stdout")
    figures = sum(bool(one.get("path")) for one in outputs)
    shown = [one["text"] for one in outputs if one["kind"] in ("result", "display") and not one.get("path")]
    return {"out": said(printed), "shown": said("\n".join(shown)), "error": cell["error"], "figures": str(figures)}


async def executed(file: Path) -> Any:
    book = nbformat.read(file, as_version=4)
    resources = {"metadata": {"path": str(file.parent)}}
    client = nbclient.NotebookClient(book, timeout=120, kernel_name="python3", resources=resources, allow_errors=True)
    # Where this variable is, kernels leave what programs print to the terminal of the tests.
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    await client.async_execute(env=environment)
    return book


async def require_same_outputs(
    name: str, folder: Path, files: Sequence[Path], settings: Settings, tmp_path: Path
) -> None:
    """Import a notebook, go back to its middle, export it, and have Jupyter run both.

    Args:
        name: The notebook's path in its folder.
        folder: With it and what it reads.
        files: Its inputs.
        settings: Where the thread is kept.
        tmp_path: For what is made.
    """
    jupyters = Path(shutil.copytree(folder, tmp_path / "jupyter"))
    wanted = [cell for cell in (await executed(jupyters / name)).cells if cell.cell_type == "code" and cell.source]
    done = await stepwell.import_notebook(folder / name, files=files, keep_going=True, settings=settings)
    assert (done.input_tokens, done.output_tokens) == (0, 0)
    state = (await read_thread(done.thread, settings=settings)).state
    cells = state["cells"]
    own = cells[len(cells) - len(wanted) :]
    assert len(cells) - len(wanted) in (0, 1)  # one lays the files out
    differing = {
        cell["number"]: (in_thread(cell), in_jupyter(theirs))
        for cell, theirs in zip(own, wanted, strict=True)
        if in_thread(cell) != in_jupyter(theirs) and "%%html" not in theirs.source and not theirs.source.endswith("?")
    }
    assert differing == {}, differing
    middle = len(cells) // 2
    forked = await fork_thread(done.thread, step=middle, new_turn=True, settings=settings)
    async with at(f"{done.thread}@{middle}", settings=settings) as there, at(forked, settings=settings) as here:
        names = "print(sorted(name for name in globals() if not name.startswith('_')))"
        assert (await there.run(names)).stdout.text == (await here.run(names)).stdout.text != "[]\n"
    out = tmp_path / "out"
    out.mkdir()
    await stepwell.export(done.thread, out / "back.ipynb", settings=settings)
    for file in files:
        (shutil.copytree if file.is_dir() else shutil.copy)(file, out / file.name)
    before = [cell for cell in nbformat.read(out / "back.ipynb", as_version=4).cells if cell.cell_type == "code"]
    after = [cell for cell in (await executed(out / "back.ipynb")).cells if cell.cell_type == "code"]
    again = {
        number: (in_jupyter(theirs), in_jupyter(ours))
        for number, (theirs, ours) in enumerate(zip(after, before, strict=True))
        if in_jupyter(theirs) != in_jupyter(ours)
    }
    assert again == {}, again
