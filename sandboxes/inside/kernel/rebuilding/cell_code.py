"""What a cell reads and binds, by its bytecode, and the source of functions that cells defined."""

import ast
import dis
import inspect
from collections.abc import Iterable, Mapping
from types import CodeType
from typing import Any

AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
OPAQUE = frozenset({"globals", "locals", "vars", "exec", "eval"})
"""Names through which code gets at variables that it does not name."""
OPAQUE_ATTRIBUTES = frozenset({"__main__", "__globals__", "f_globals", "_getframe", "currentframe", "get_objects"})
"""Attributes and modules of that kind."""

Uses = tuple[frozenset[str], frozenset[str]]
"""Names that are read, and names that are bound or deleted."""


class NameUse:
    """What one cell does with variables.

    Args:
        code: The cell. One that cannot be compiled did nothing.
    """

    def __init__(self, code: str) -> None:
        self.reads: set[str] = set()
        self.binds: set[str] = set()
        self.carries: dict[str, set[Uses]] = {}
        """Name → what is read and bound when the functions behind it are called."""
        self.flows: list[frozenset[str]] = []
        """Names that stand in one statement: what one of them carries the others may carry from then on."""
        self.last: frozenset[str] = frozenset()
        """What the last expression reads, whose value is `_` from then on."""
        self.compiles = True
        try:
            tree = compile(code, "<cell>", "exec", ast.PyCF_ONLY_AST | AWAIT, dont_inherit=True)
            for statement in tree.body:
                self._read(statement)
        except (SyntaxError, ValueError, RecursionError):
            self.compiles = False

    def _read(self, statement: ast.stmt) -> None:
        module = ast.Module([statement], [])
        scopes = _Scopes(compile(module, "<cell>", "exec", AWAIT, dont_inherit=True))
        if getattr(statement, "decorator_list", None):  # what decorates a function may call it
            scopes.reads |= scopes.later[0]
            scopes.binds |= scopes.later[1]
        self.reads |= scopes.reads
        self.binds |= scopes.binds
        named = frozenset(scopes.reads | scopes.binds)
        self.flows.append(named)
        if scopes.later[0] or scopes.later[1]:
            uses = frozenset(scopes.later[0]), frozenset(scopes.later[1])
            for name in named:
                self.carries.setdefault(name, set()).add(uses)
        self.last = frozenset(scopes.reads) if isinstance(statement, ast.Expr) else frozenset()


def binds_of(statement: ast.stmt) -> set[str]:
    """The variables that a statement at the top level binds or deletes."""
    return _Scopes(compile(ast.Module([statement], []), "<cell>", "exec", AWAIT, dont_inherit=True)).binds


class _Scopes:
    """The names of a statement: what it reads and binds when it runs, and what functions defined in it do later."""

    def __init__(self, code: CodeType) -> None:
        self.reads: set[str] = set()
        self.binds: set[str] = set()
        self.later: tuple[set[str], set[str]] = (set(), set())
        self._look(code, now=True, later=False)

    def _look(self, code: CodeType, *, now: bool, later: bool) -> None:
        for instruction in dis.get_instructions(code):
            operation, name = instruction.opname, instruction.argval
            if not isinstance(name, str):
                continue
            # In the body of a class names are its own, and globals when it has none of that name.
            own = operation.endswith("_NAME") and operation.startswith(("STORE", "DELETE")) and not _is_module(code)
            if name in OPAQUE_ATTRIBUTES and (operation.startswith(("LOAD", "IMPORT"))) and operation != "LOAD_CONST":
                self._note(f"`{name}`", 0, now=now, later=later)
            elif operation in LOADS:
                self._note(f"`{name}`" if name in OPAQUE else name, 0, now=now, later=later)
            elif operation in CHANGES and not own:
                self._note(name, 1, now=now, later=later)
        if "modules" in code.co_names and "__main__" in code.co_consts:
            self._note("`sys.modules`", 0, now=now, later=later)
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                named = inner.co_name.startswith("<")  # comprehensions, and lambdas, which are mostly called at once
                is_class = not inner.co_flags & inspect.CO_OPTIMIZED
                self._look(inner, now=now and (named or is_class), later=later or not is_class)

    def _note(self, name: str, place: int, *, now: bool, later: bool) -> None:
        if now:
            (self.reads, self.binds)[place].add(name)
        if later:
            self.later[place].add(name)


LOADS = frozenset({"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"})
CHANGES = frozenset({"STORE_NAME", "DELETE_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"})


def _is_module(code: CodeType) -> bool:
    return code.co_name == "<module>"


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
