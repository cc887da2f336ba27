"""Reading a notebook file: any version, any shape, and one clear sentence where it cannot be imported."""

import ast
import html
import json
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from typing_extensions import TypedDict

from graph.context import MOST_CELLS
from models.messages import without_surrogates
from nodes.cell_magics.magics import bound_names, parsed, translate
from stepwell.errors import ThreadError
from storage.clean_text import clean_prose

MAX_FILE = 100_000_000
"""Bytes of a notebook, figures and all."""
MAX_CODE = 4_000_000
"""Characters of all code cells together: they are kept with the thread."""
MAX_MARKDOWN = 2_000
"""Characters of the text above a cell that are kept."""
MAX_PURPOSE = 120
MAX_SECTIONS = 12
MAX_PATHS, MAX_BESIDE = 500, 500
NEWEST = 4
"""The newest format of notebooks, and the only one that is read without an upgrade."""
EXPECTED_TO_FAIL = "raises-exception"
"""The tag of a cell whose error is wanted."""
OTHER_KERNELS = re.compile(
    r"(?:ir|julia|javascript|deno|scala|xcpp|bash|octave|matlab|ruby|go|rust|sas|stata)\b.*", re.I
)
PYTHON = re.compile(r"(?:i?python|sage).*", re.I)
HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.+?)\s*#*\s*$", re.M)


class NotebookError(ThreadError):
    """A notebook cannot be imported; the message says why and what to do."""


class NotebookCell(TypedDict):
    """A code cell of a notebook, as it runs in a thread."""

    code: str
    purpose: str
    markdown: str
    """The text that stands above it."""
    not_run: list[str]
    """What of it is left out, each with the reason."""
    may_fail: bool
    """Whether the notebook expects it to fail."""
    section: int
    """The section that it belongs to, from 1."""


class Notebook(TypedDict):
    """What an import keeps of a notebook. JSON values only."""

    name: str
    folder: str
    """The folder that it lies in."""
    cells: list[NotebookCell]
    sections: list[str]
    """The plan: headings, or one line for all."""
    keep_going: bool
    """Whether a cell that fails does not end the import."""
    paths: list[str]
    """Texts in the code that may name files."""
    beside: list[str]
    """Files that lie beside it, which are not taken in unless they are named."""
    first_move: int
    """The first cell, from 0, that changes the working directory; -1: none does."""


def read_notebook(path: str | os.PathLike[str], *, keep_going: bool = False) -> Notebook:
    """Read a notebook; blocks.

    Args:
        path: The file.
        keep_going: Whether a cell that fails shall not end the import.

    Raises:
        NotebookError: it is missing or no notebook, not one of Python, empty, or too large.
    """
    file = Path(os.path.abspath(os.path.expanduser(os.fspath(path))))  # noqa: PTH100, PTH111 - following no links
    document = _upgraded(_document(file, os.fspath(path)), file.name)
    _refuse_other_languages(document, file.name)
    cells, sections = _code_cells(document, file.name)
    if not cells:
        raise NotebookError(f"{_shown(file.name)} has no code cells, so there is nothing to import.")
    if len(cells) >= MOST_CELLS:  # one more may set things up
        raise NotebookError(
            f"{_shown(file.name)} has {len(cells):,} code cells; {MOST_CELLS - 1:,} fit into a thread, so split it."
        )
    if sum(len(cell["code"]) for cell in cells) > MAX_CODE:
        raise NotebookError(
            f"{_shown(file.name)} has more than {MAX_CODE:,} characters of code; move data out of its cells into files."
        )
    trees = [parsed(cell["code"]) for cell in cells]
    moves = (number for number, tree in enumerate(trees) if tree is not None and _moves(tree))
    return Notebook(
        name=without_surrogates(file.name),
        folder=without_surrogates(str(file.parent)),
        cells=cells,
        sections=sections[:MAX_SECTIONS] or [f"Run the {len(cells)} code cells of {without_surrogates(file.name)}"],
        keep_going=keep_going,
        paths=_paths(tree for tree in trees if tree is not None),
        beside=_beside(file),
        first_move=next(moves, -1),
    )


def _document(file: Path, named: str) -> dict[str, Any]:
    shown = _shown(named)
    if "://" in named:
        raise NotebookError(f"{shown} is a URL; download the notebook and name the file.")
    try:
        if not file.exists():
            raise NotebookError(f"{shown} does not exist; check the path (the working directory is {Path.cwd()}).")
        if not file.is_file():
            raise NotebookError(f"{shown} is no file; name a notebook (.ipynb).")
        if file.stat().st_size > MAX_FILE:
            raise NotebookError(
                f"{shown} has {file.stat().st_size:,} bytes, and {MAX_FILE:,} can be read; "
                "clear its outputs (jupyter nbconvert --clear-output --inplace) and try again."
            )
        raw = file.read_bytes()
    except OSError as error:
        raise NotebookError(f"{shown} cannot be read ({error.strerror or error}).") from None
    except ValueError:
        raise NotebookError(f"{shown} is no name of a file.") from None
    try:
        document = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise NotebookError(f"{shown} is no notebook: it is not UTF-8 text.") from None
    except RecursionError:
        raise NotebookError(f"{shown} is no notebook: its JSON is nested too deep.") from None
    except ValueError as error:
        raise NotebookError(f"{shown} is no notebook: it is not JSON ({_shown(str(error), 100)}).") from None
    if not isinstance(document, dict) or not isinstance(document.get("nbformat"), int):
        raise NotebookError(f"{shown} is no notebook: its JSON has no `nbformat`.")
    return document


def _upgraded(document: dict[str, Any], name: str) -> dict[str, Any]:
    """The notebook in the newest format, without outputs, which are not needed and may be anything."""
    version = document["nbformat"]
    if version > NEWEST or version < 1:
        raise NotebookError(
            f"{_shown(name)} has the format {version}, which is not known; save it as nbformat {NEWEST}."
        )
    metadata = document.get("metadata")
    slim: dict[str, Any] = {
        "nbformat": version,
        "nbformat_minor": 0,
        "metadata": metadata if isinstance(metadata, dict) else {},
    }
    if version == NEWEST:
        return {**slim, "cells": _slim(document.get("cells"), name)}
    if version == 3:
        sheets = document.get("worksheets")
        listed = (
            [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)] if isinstance(sheets, list) else [0]
        )
        slim["worksheets"] = [{"metadata": {}, "cells": _slim(cells, name)} for cells in listed]
    else:
        slim["cells"] = _slim(document.get("cells"), name)
    import nbformat

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            upgraded = nbformat.convert(nbformat.from_dict(slim), NEWEST)
    except Exception as error:  # whatever it finds wrong with a file that is as strange as this one
        raise NotebookError(
            f"{_shown(name)} cannot be read as a notebook of format {version} ({_shown(str(error), 100)}); open it in "
            "Jupyter and save it again."
        ) from None
    return json.loads(json.dumps(upgraded))  # type: ignore[no-any-return]


def _slim(cells: object, name: str) -> list[dict[str, Any]]:
    if not isinstance(cells, list):
        raise NotebookError(f"{_shown(name)} is no notebook: it has no list of cells.")
    found = []
    for number, cell in enumerate(cells, 1):
        kind = cell.get("cell_type") if isinstance(cell, dict) else None
        if not isinstance(kind, str):
            raise NotebookError(f"{_shown(name)} is damaged: cell {number} has no type.")
        text = cell.get("input") if "source" not in cell else cell["source"]
        lines = text if isinstance(text, list) else [text or ""]
        if not all(isinstance(line, str) for line in lines):
            raise NotebookError(f"{_shown(name)} is damaged: cell {number} has no text.")
        metadata = cell.get("metadata")
        tags = metadata.get("tags") if isinstance(metadata, dict) else None
        source = "".join(lines)
        one: dict[str, Any] = {"cell_type": kind, "metadata": {"tags": tags}, "source": source}
        if kind == "code":
            one |= {"input": source, "language": str(cell.get("language", "python")), "outputs": [], "collapsed": False}
        if kind == "heading":
            one["level"] = cell["level"] if isinstance(cell.get("level"), int) else 1
        found.append(one)
    return found


def _refuse_other_languages(document: dict[str, Any], name: str) -> None:
    metadata = document["metadata"]
    parts = [part if isinstance(part := metadata.get(key), dict) else {} for key in ("language_info", "kernelspec")]
    named = [str(parts[0].get("name") or ""), str(parts[1].get("language") or ""), str(metadata.get("language") or "")]
    language = next((one for one in named if one), "")
    if language and not PYTHON.fullmatch(language):
        raise NotebookError(
            f"{_shown(name)} is a notebook of {_shown(language, 40)}; only those of Python can be imported."
        )
    kernel = str(parts[1].get("name") or "")
    if not language and OTHER_KERNELS.fullmatch(kernel):
        raise NotebookError(f"{_shown(name)} runs in the kernel {_shown(kernel, 40)}; only Python's can be imported.")


def _code_cells(document: dict[str, Any], name: str) -> tuple[list[NotebookCell], list[str]]:
    """The cells that have code, and the sections that they are in."""
    cells: list[NotebookCell] = []
    sections: list[str] = []
    heading, above, names = "", "", set[str]()
    used = ""
    for cell in document["cells"]:
        kind, source = cell["cell_type"], without_surrogates(str(cell["source"]))
        if kind in ("markdown", "heading"):
            above = f"{above}\n\n{source}".strip()
            found = [match[2] for match in HEADING.finditer(source[:MAX_FILE]) if len(match[1]) <= 2]
            heading = plain(found[-1]) if found else heading
        if kind != "code" or not source.strip():
            continue
        translated = translate(source, names, jupyter=True)
        names |= _bound(translated.code)
        if heading and heading != used:
            sections.append(heading)
            used = heading
        tags = (cell.get("metadata") or {}).get("tags")
        cells.append(
            NotebookCell(
                code=translated.code.strip("\n"),
                purpose=_purpose(above, source),
                markdown=above[:MAX_MARKDOWN],
                not_run=list(translated.not_run),
                may_fail=isinstance(tags, list) and EXPECTED_TO_FAIL in tags,
                section=min(max(len(sections), 1), MAX_SECTIONS),
            )
        )
        above = ""
    return cells, sections


def plain(markdown: str) -> str:
    """A line of Markdown without its marks."""
    text = re.sub(r"!?\[([^\]\n]{0,300})\]\([^)\n]{0,300}\)", r"\1", markdown)
    text = re.sub(r"<[^>\n]{1,300}>", " ", text)
    text = html.unescape(re.sub(r"^\s*(?:#{1,6}|[-*+>]|\d{1,3}[.)])\s+", "", text))
    return " ".join(re.sub(r"[`*]|(?<!\w)_|_(?!\w)", "", text).split())


def _purpose(above: str, source: str) -> str:
    """What a cell is for: the heading or sentence above it, else its first comment, else its first line."""
    headings = [plain(match[2]) for match in HEADING.finditer(above)]
    prose = [plain(line) for line in HEADING.sub("", above).splitlines()]
    lines = [line.strip() for line in source.splitlines() if line.strip()]
    comments = [line.lstrip("#% ").strip() for line in lines[:1] if line.startswith("#")]
    sentences = [re.split(r"(?<=[.!?:])\s", text)[0].rstrip(":") for text in prose if re.search(r"\w", text)]
    found = next((text for text in [*headings[-1:], *sentences[:1], *comments, *lines[:1]] if text), "a cell")
    return found if len(found) <= MAX_PURPOSE else f"{found[: MAX_PURPOSE - 1].rstrip()}…"


def _bound(code: str) -> set[str]:
    """The names that a cell binds."""
    tree = parsed(code)
    if tree is None:
        return bound_names(code)
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
    return found


def _moves(tree: ast.Module) -> bool:
    """Whether a cell changes the working directory."""
    return any(isinstance(node, ast.Attribute) and node.attr == "chdir" for node in ast.walk(tree))


def _paths(trees: Iterator[ast.Module]) -> list[str]:
    """Texts in the code that may name files: short, of one line, with an ending or a folder."""
    found: dict[str, None] = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(found) < MAX_PATHS:
                text = node.value
                if 0 < len(text) <= 200 and text.isprintable() and re.search(r"[/.]\w", text) and "://" not in text:
                    found[text] = None
    return list(found)


def _beside(file: Path) -> list[str]:
    """Files in the notebook's folder and one folder below, by their names relative to it."""
    found: list[str] = []

    def look(folder: Path, prefix: str) -> Sequence[Path]:
        folders = []
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(".") or len(found) >= MAX_BESIDE:
                    continue
                if entry.is_file() and Path(entry.path) != file:
                    found.append(without_surrogates(str(PurePosixPath(prefix, entry.name))))
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
        return folders

    try:
        for folder in look(file.parent, ""):
            look(folder, folder.name)
    except OSError:
        pass  # then nothing is said of them
    return sorted(found)


def _shown(text: str, limit: int = 200) -> str:
    text = " ".join(clean_prose(text).split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
