"""Descriptors that cells have only the numbers of (`os.open`, `mkstemp`): opened again under the same numbers.

Another file would have such a number after a restore, and `os.write` would write into that. Which numbers they are is
read from the source of the cells: any small number is that of some descriptor.
"""

import ast
import contextlib
import fcntl
import os
import stat
from collections.abc import Iterator
from typing import Any

from ..cell_sources import CellSources, nodes_of
from ..current_session import path_here, portable_path

OF_OS = tuple(f"os.{name}" for name in ("open", "pipe", "pipe2", "dup", "memfd_create", "openpty"))
METHODS = ("mkstemp", "fileno")
"""What gives such numbers, the latter under any name before it; frames have a `pipe`, too."""
FILLING = ("append", "add", "insert", "setdefault")
"""Methods that put something into a container."""
OF_STREAMS = 2
"""The last number that every process has."""
WITHIN = (tuple, list, set, frozenset)
WHY_NOT = "the number of a descriptor of what has no path of its own, such as a pipe; open it again"
TAKEN = "the number of a descriptor, which something else has now; open it again"

Number = tuple[int, list[str], str, int, int, bool]
"""The number, the variables that have it, and the file: path, flags, position, whether child processes get it."""


def _given(source: str) -> frozenset[str]:
    """The variables to which a cell gives such numbers, or into which it puts them."""
    if not any(name in source for name in (*OF_OS, *METHODS)):
        return frozenset()
    places = [place for node in nodes_of(source) for place in _places(node)]
    return frozenset(one.id for place in places for one in ast.walk(place) if isinstance(one, ast.Name))


def _places(node: ast.AST) -> list[ast.expr]:
    """Where an expression or a statement puts numbers of descriptors."""
    if isinstance(node, ast.Assign):
        return node.targets if _gives(node.value) else []
    if isinstance(node, ast.AnnAssign | ast.NamedExpr):
        return [node.target] if node.value is not None and _gives(node.value) else []
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in FILLING):
        return []
    return [node.func.value] if any(map(_gives, node.args)) else []


def _gives(value: ast.expr) -> bool:
    """Whether an expression is such a number, or holds some."""
    if isinstance(value, ast.Call):
        path = ast.unparse(value.func)
        return path in OF_OS or path.rpartition(".")[2] in METHODS
    if isinstance(value, ast.Tuple | ast.List | ast.Set):
        return any(map(_gives, value.elts))
    if isinstance(value, ast.Dict):
        return any(map(_gives, value.values))
    if isinstance(value, ast.ListComp | ast.SetComp):
        return _gives(value.elt)
    return _gives(value.value) if isinstance(value, ast.DictComp | ast.Subscript) else False


def look(values: dict[str, Any], cells: CellSources) -> tuple[list[Number], dict[str, str]]:
    """Find the numbers of open files, and those of what cannot be opened again.

    Args:
        values: The user's variables.
        cells: Their code.

    Returns:
        The numbers, and why variables cannot be kept.
    """
    given = cells.union(_given) & values.keys()
    if not given:
        return [], {}
    holders: dict[int, list[str]] = {}
    for name in sorted(given):
        for number in _numbers(values[name]):
            holders.setdefault(number, []).append(name)
    kept: list[Number] = []
    refused: dict[str, str] = {}
    for number, names in holders.items():
        with contextlib.suppress(OSError):  # it is no descriptor
            status = os.fstat(number)
            one = _described(number, names, status)
            if one is not None:
                kept.append(one)
            elif not stat.S_ISCHR(status.st_mode):
                refused |= dict.fromkeys(names, WHY_NOT)
    return kept, refused


def _numbers(value: Any) -> Iterator[int]:
    inner = value if type(value) in WITHIN else value.values() if type(value) is dict else (value,)
    return (one for one in inner if type(one) is int and one > OF_STREAMS)


def _described(number: int, names: list[str], status: os.stat_result) -> Number | None:
    """How a file can be opened again; None: not at all."""
    path = os.readlink(f"/proc/self/fd/{number}")
    is_file = stat.S_ISREG(status.st_mode)
    if not (is_file or stat.S_ISDIR(status.st_mode)) or not _is_at(path, status):
        return None
    place = os.lseek(number, 0, os.SEEK_CUR) if is_file else 0
    flags = fcntl.fcntl(number, fcntl.F_GETFL)
    return number, names, portable_path(path), flags, place, os.get_inheritable(number)


def _is_at(path: str, status: os.stat_result) -> bool:
    with contextlib.suppress(OSError):
        return os.path.samestat(os.stat(path), status)
    return False


def restore(before: list[Any]) -> dict[str, str]:
    """Open them again, before anything else takes their numbers.

    Returns:
        The variables whose numbers are taken or whose files are not there, and why.
    """
    failed: dict[str, str] = {}
    for number, names, path, flags, place, is_inherited in before:
        try:
            is_there = _opened(number, path_here(path), flags)
            if is_there and place:
                os.lseek(number, place, os.SEEK_SET)
            if is_there:
                os.set_inheritable(number, is_inherited)
        except OSError:
            is_there = False
        if not is_there:
            failed |= dict.fromkeys(names, TAKEN)
    return failed


def _opened(number: int, path: str, flags: int) -> bool:
    """Have a file open under a number, unless that is of another one."""
    with contextlib.suppress(OSError):
        return os.path.samestat(os.fstat(number), os.stat(path))
    opened = os.open(path, flags & ~(os.O_CREAT | os.O_EXCL | os.O_TRUNC))
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
    return True
