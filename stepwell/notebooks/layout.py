"""Where a notebook's files lie in the workspace, so that its own paths lead to them; and the folder that it works in.

Inputs lie in `inputs/`, read-only. A notebook names them by its own paths, and may write over them. So the first cell
of an import copies each to where the notebook looks for it: to the paths that its code names, and to the place beside
the notebook that it has on the user's disk. A notebook that looks above its own folder gets a folder to work in.
"""

import ast
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from models.situation import PromptInput
from nodes.cell_magics.magics import inserted, parsed
from stepwell.notebooks.notebook_file import Notebook

MAX_UP = 3
"""How far above its own folder a notebook may look for files."""
LARGE = 256 << 20
"""Bytes from which on a file is linked and not copied: a notebook can read it there, and not write over it."""
PURPOSE = "Put the input files where the notebook looks for them"


@dataclass(frozen=True, slots=True)
class NotebookLayout:
    """Where things lie in the workspace."""

    folder: str
    """The folder that the notebook works in; empty: the workspace itself."""
    files: tuple[tuple[str, str], ...]
    """Each input, and a path that it has to have."""

    @property
    def needed(self) -> bool:
        """Whether a cell has to set the workspace up."""
        return bool(self.folder or self.files)


def lay_out(notebook: Notebook, inputs: Sequence[PromptInput]) -> NotebookLayout:
    """Where the inputs of an import have to lie."""
    wanted = [(one["path"], target) for one in inputs for target in _targets(notebook, one, inputs)]
    levels = [_levels(target) for _, target in wanted if _levels(target) <= MAX_UP]
    parts = [part for part in PurePosixPath(notebook["folder"]).parts if part != "/"]
    up = max(levels, default=0)
    folder = "/".join(([f"folder-{number}" for number in range(1, up + 1)] + parts)[-up:]) if up else ""
    files: dict[str, str] = {}
    for source, target in wanted:
        place = posixpath.normpath(posixpath.join(folder, target))
        if not place.startswith("..") and place != source:
            files.setdefault(place, source)
    return NotebookLayout(folder, tuple((source, target) for target, source in files.items()))


def _targets(notebook: Notebook, one: PromptInput, inputs: Sequence[PromptInput]) -> list[str]:
    """The paths by which a notebook may look for an input."""
    source = PurePosixPath(_path_of(one))
    name = source.name
    named = [path for path in notebook["paths"] if path[0] not in "/~" and PurePosixPath(path).name == name]
    if sum(PurePosixPath(_path_of(other)).name == name for other in inputs) > 1:
        own = [path for path in named if _is_end(_below(path), source)]
        named = [path for path in own if len(_below(path)) > 1] or own
    targets = dict.fromkeys(posixpath.normpath(path) for path in named)
    if source.is_absolute() and source.is_relative_to(notebook["folder"]):
        targets[str(source.relative_to(notebook["folder"]))] = None
    return list(targets) or [name]


def _path_of(one: PromptInput) -> str:
    """What the user named: a path, or the path of a URL."""
    source = one["source"]
    return unquote(urlsplit(source).path) if "://" in source else source


def _below(path: str) -> tuple[str, ...]:
    return tuple(part for part in PurePosixPath(posixpath.normpath(path)).parts if part != "..")


def _is_end(parts: tuple[str, ...], source: PurePosixPath) -> bool:
    return source.parts[-len(parts) :] == parts


def _levels(path: str) -> int:
    return posixpath.normpath(path).split("/").count("..")


def set_up(layout: NotebookLayout, sizes: dict[str, int]) -> str:
    """The code of the cell that sets the workspace up.

    Args:
        layout: What is wanted.
        sizes: Bytes of the inputs, by their paths.
    """
    lines = [f"# {PURPOSE}: copies, which it may change.", "import os", "import shutil", ""]
    folders = {posixpath.dirname(target) for _, target in layout.files} | {layout.folder}
    lines += [f"os.makedirs({folder!r}, exist_ok=True)" for folder in sorted(folders - {""})]
    for source, target in layout.files:
        if sizes.get(source, 0) > LARGE:
            link = posixpath.relpath(source, posixpath.dirname(target) or ".")
            lines.append(f"os.symlink({link!r}, {target!r})  # large: a link to what can only be read")
        else:
            lines.append(f"shutil.copyfile({source!r}, {target!r});")
    return "\n".join(lines)


def in_folder(code: str, number: int, first_move: int, folder: str) -> str:
    """A cell's code, run in the folder the notebook has moved to: each cell of a thread begins in the workspace itself.

    Args:
        code: The cell's.
        number: Its place in the notebook, from 0.
        first_move: The first cell that changes the working directory; -1: none does.
        folder: Where the notebook begins.
    """
    tree = parsed(code)
    moved = 0 <= first_move <= number
    if tree is None or not (moved or folder):
        return code
    if not moved:
        return inserted(code, f"import os\nos.chdir({folder!r})\n")
    if any(isinstance(node, ast.Attribute) and node.attr == "chdir" for node in ast.walk(tree)):
        code = _noting_folder(code, tree)
    start = f"globals().get('notebook_folder', {folder or '.'!r})"
    return inserted(code, f"import os\nnotebook_root = os.getcwd()\nos.chdir({start})\n")


def _noting_folder(code: str, tree: ast.Module) -> str:
    """The code with a line that notes where it has got to; in front of a last expression, whose value is shown."""
    note = "notebook_folder = os.path.relpath(os.getcwd(), notebook_root)"
    lines, last = code.split("\n"), tree.body[-1]
    shown = isinstance(last, ast.Expr) and not any(
        isinstance(node, ast.Attribute) and node.attr == "chdir" for node in ast.walk(last)
    )
    alone = len(tree.body) < 2 or (tree.body[-2].end_lineno or 0) < last.lineno
    if shown and alone:
        return "\n".join([*lines[: last.lineno - 1], note, *lines[last.lineno - 1 :]])
    return f"{code}\n{note}"
