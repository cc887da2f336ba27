"""Functions and classes from the source of their cells, where their code is that of another Python."""

import ast
from collections.abc import Iterable, Mapping
from typing import Any

from ..rebuilding.names import AWAIT, binds_of

Definition = tuple[str, ast.stmt]
"""The cell that it is in, and the statement."""


def definitions(sources: Mapping[str, str], names: Iterable[str]) -> dict[str, Definition]:
    """Where names were bound last, if that was by `def` or `class` at the top level of a cell.

    Args:
        sources: Cells by their names, in the order in which they ran.
        names: What is looked for.
    """
    wanted = frozenset(names)
    found: dict[str, Definition] = {}
    for cell, text in sources.items():
        try:
            tree = compile(text, cell, "exec", ast.PyCF_ONLY_AST | AWAIT, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError):
            continue  # it did nothing
        for statement in tree.body:
            for name in binds_of(statement) & wanted:
                found.pop(name, None)
                if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    found[name] = (cell, statement)
    return found


def define(definition: Definition, namespace: dict[str, Any], futures: int) -> None:
    """Run one definition, with its decorators and defaults.

    Raises:
        Exception: whatever these raise.
    """
    cell, statement = definition
    code = compile(ast.Module([statement], []), cell, "exec", AWAIT | futures, dont_inherit=True)
    exec(code, namespace)
