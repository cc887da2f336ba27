"""A Jupyter notebook of an analysis: it runs from top to bottom beside the input files and gives the same outputs."""

import base64
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote, unquote

from graph.state import Cell, CellOutput
from nodes.cell_outputs import outputs_shown
from nodes.computed_answers import ONLY_VALUES
from nodes.publishing import as_code
from stepwell.exports.analysis import AnalysedTurn, Analysis
from stepwell.exports.pictures import Drawn, picture_type
from stepwell.exports.report import STATUS_WORDS
from storage.clean_text import clean, clean_code, clean_prose, shown_code

NOT_RUN = ("rejected", "killed", "unknown")
"""Cells whose code is shown and does not run again."""
SETUP_TAG, FAILS_TAG = "stepwell-setup", "raises-exception"
"""The second is Jupyter's own: going through the notebook does not stop there."""
PICTURE_LINK = re.compile(r"!\[([^\[\]]{0,500})\]\(([^()\s\"]{1,1000})(?:\s[^()]{0,500})?\)")
STEPS = re.compile(r"\bsteps\[")
SETUP = """# Input files are looked for in inputs/ and, by their names, beside this notebook and one folder below.
import os, pathlib, shutil
for folder in ("inputs", "outputs", "figures"):
    pathlib.Path(folder).mkdir(exist_ok=True)
for path in {paths}:
    target, name = pathlib.Path(path), os.path.basename(path)
    beside = next((one for one in (pathlib.Path(name), *pathlib.Path().glob("*/" + name)) if one.exists()), None)
    if not target.exists() and beside:
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if beside.is_dir() else shutil.copyfile)(beside, target)
    if not target.exists():
        print("missing:", path)
"""
SAME_FOLDER = """
# Each cell begins in this folder, whatever the one before it has made of that.
stepwell_folder = os.getcwd()
get_ipython().events.register("pre_run_cell", lambda _: os.chdir(stepwell_folder))
"""


def notebook(analysis: Analysis, drawn: Drawn) -> str:
    """The notebook as JSON of the format 4.5, checked by nbformat.

    Cells that were never run, or whose process was ended, and those that a later one went back over are raw cells: they
    are read and do not run. Cells that failed are marked as such, and the notebook goes on after them.
    """
    import nbformat

    cells = [_markdown(_opening(analysis)), _code(_setup(analysis), tags=[SETUP_TAG])]
    for turn in analysis.turns:
        cells += _turn(analysis, turn, drawn)
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    environment = analysis.state.get("environment")
    python = environment["python"] if environment else "3"
    book = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
            "language_info": {"name": "python", "version": python},
            "stepwell": {"thread": analysis.thread, "step": analysis.step},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    nbformat.validate(book)
    return json.dumps(book, ensure_ascii=False, indent=1) + "\n"


def _opening(analysis: Analysis) -> str:
    lines = [f"# {clean_prose(analysis.title)}", ""]
    if analysis.inputs:
        lines += ["Input files, to be put beside this notebook or into `inputs/`:", ""]
        lines += [f"- {as_code(clean(one['path']))} ({one['size']:,} bytes)" for one in analysis.inputs]
    if functions := analysis.functions():
        lines += [
            "",
            f"Its cells call functions of the program that ran it; define them first: {', '.join(functions)}.",
        ]
    if any(STEPS.search(cell["code"]) for cell in analysis.cells):
        lines += ["", "Cells that read `steps[…]` need Stepwell: they read variables of an earlier step."]
    return "\n".join(lines)


def _setup(analysis: Analysis) -> str:
    paths = json.dumps([clean(one["path"]) for one in analysis.inputs], ensure_ascii=False, indent=4)
    moves = any("chdir" in cell["code"] for cell in analysis.cells)
    return SETUP.format(paths=paths) + (SAME_FOLDER if moves else "")


def _turn(analysis: Analysis, turn: AnalysedTurn, drawn: Drawn) -> Iterator[dict[str, Any]]:
    asked = "\n".join(f"> {line}" for line in clean_prose(turn.question).strip().splitlines())
    plan = "".join(f"\n{number}. {clean_prose(step['text'])}" for number, step in enumerate(turn.plan, 1))
    yield _markdown(f"## Question {turn.number}\n\n{asked}" + (f"\n\nPlan:\n{plan}" if plan else ""))
    for cell in turn.cells:
        if cell["code"] == ONLY_VALUES:
            continue
        yield _markdown(_heading(cell, aside=cell["number"] in analysis.aside))
        if cell["status"] in NOT_RUN or cell["number"] in analysis.aside:
            yield _raw(shown_code(cell["code"]))
        else:
            yield _ran(cell, drawn)
    if turn.answer:
        yield _answer(turn, drawn)
    if turn.concerns:
        yield _markdown("Not settled:\n\n" + "\n".join(f"- {clean_prose(line)}" for line in turn.concerns))


def _heading(cell: Cell, *, aside: bool) -> str:
    purpose = clean_prose(" ".join(cell["purpose"].split())) or "untitled"
    notes = [] if cell["status"] == "ok" else [STATUS_WORDS.get(cell["status"], cell["status"])]
    notes += ["left aside: a later cell goes back before it"] if aside else []
    if (back := cell.get("back_to")) is not None:
        notes.append(f"from the state after cell {back}" if back else "from the beginning")
    heading = f"**{cell['number']} · {purpose}**" + (f" ({'; '.join(notes)})" if notes else "")
    thought = clean_prose(cell["thought"]).strip()
    return f"{heading}\n\n{thought}" if thought else heading


def _ran(cell: Cell, drawn: Drawn) -> dict[str, Any]:
    failed = cell["status"] != "ok"
    code = clean_code(cell["code"])
    outputs = [made for one in outputs_shown(cell) for made in _output(one, cell, drawn)]
    return _code(code, outputs, number=cell["number"], tags=[FAILS_TAG] if failed else [])


def _output(output: CellOutput, cell: Cell, drawn: Drawn) -> Iterator[dict[str, Any]]:
    text = clean(output["text"])
    kind = output["kind"]
    if kind in ("stdout", "stderr"):
        yield {"output_type": "stream", "name": kind, "text": text}
        return
    if kind == "error":
        name, _, message = cell["error"].partition(": ")
        yield {"output_type": "error", "ename": name, "evalue": clean(message), "traceback": text.split("\n")}
        return
    data: dict[str, Any] = {}
    if path := output.get("path", ""):
        if picture := drawn.of_cell(cell["number"], path):
            data[picture_type(picture)] = base64.b64encode(picture).decode()
        text = text or f"<{clean(path)}>"
    if html := output.get("html", ""):
        data["text/html"] = html  # Jupyter shows HTML of a notebook only once somebody trusts it, or has run it
    data["text/plain"] = text
    if kind == "result":
        yield {"output_type": "execute_result", "execution_count": cell["number"], "data": data, "metadata": {}}
    else:
        yield {"output_type": "display_data", "data": data, "metadata": {}}


def _answer(turn: AnalysedTurn, drawn: Drawn) -> dict[str, Any]:
    attached: dict[str, dict[str, str]] = {}

    def attach(match: re.Match[str]) -> str:
        path = unquote(match[2]).removeprefix("./")
        picture = drawn.of_answer(path)
        if not picture:
            return match[0]
        name = f"{len(attached) + 1}-{PurePosixPath(path).name}"
        attached[name] = {picture_type(picture): base64.b64encode(picture).decode()}
        return f"![{match[1]}](attachment:{quote(name)})"

    text = PICTURE_LINK.sub(attach, clean_prose(turn.answer))
    return _markdown(f"### Answer\n\n{text}", attached)


def _markdown(text: str, attached: dict[str, dict[str, str]] | None = None) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": "markdown", "metadata": {}, "source": text}
    if attached:
        cell["attachments"] = attached
    return cell


def _raw(text: str) -> dict[str, Any]:
    return {"cell_type": "raw", "metadata": {}, "source": text}


def _code(
    source: str, outputs: Sequence[dict[str, Any]] = (), *, number: int | None = None, tags: Sequence[str] = ()
) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "metadata": {"tags": list(tags)} if tags else {},
        "source": source,
        "outputs": list(outputs),
        "execution_count": number,
    }
