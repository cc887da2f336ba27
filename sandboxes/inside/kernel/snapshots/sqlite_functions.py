"""What cells have taught sqlite connections: functions, collations and callbacks.

A connection says which functions and collations it has been given, and nothing gives their callables away. So those are
looked for in the code of the cells, where a call names one that can only be this: a variable that no other cell has
bound, or a lambda. Callbacks are told by the garbage collector, to which a connection shows them.
"""

import ast
import contextlib
import gc
import itertools
import re
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from .cell_sources import nodes_of
from .singletons import CurrentSession

Call = tuple[str, tuple[Any, ...], dict[str, Any]]
"""A method of a connection, and what it is given."""
FUNCTIONS = {"create_function": "func", "create_aggregate": "aggregate_class", "create_window_function": ""}
"""Methods, and the keyword for what they are given."""
COLLATION, PROGRESS = "create_collation", "set_progress_handler"
WRITTEN = re.compile(r"\b(?:create_(?:function|aggregate|window_function|collation)|set_progress_handler)\b")
DETERMINISTIC = 0x800
"""The flag of such a function in sqlite's list."""
ADDED = "select name, narg, flags from pragma_function_list where builtin = 0"


class Written(NamedTuple):
    """What a call gives."""

    method: str
    text: str
    """The expression, as Python writes it."""
    own: frozenset[str]
    """Names that are not variables of cells there."""


class Additions:
    """What stands in cells of what connections are taught."""

    def __init__(self) -> None:
        self.calls: dict[tuple[str, int | None], set[Written]] = {}
        """By the name of a function and the number of its arguments, or of a collation; of a handler by neither."""
        self.numbers: set[int | None] = set()
        """After how many instructions handlers of progress are called; None: that is not written."""
        self.bound: dict[str, set[tuple[str, int, int]]] = {}
        """Where a name is bound, or an attribute after a dot: the code of the cell, and the place in it."""

    def add(self, source: str) -> None:
        """Add those in the code of a cell."""
        for node in nodes_of(source):
            for name in _bound_by(node):
                self.bound.setdefault(name, set()).add((source, node.lineno, node.col_offset))  # type: ignore[attr-defined]
        if WRITTEN.search(source) is not None:
            with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
                self._find(ast.parse(source), frozenset())

    def _find(self, node: ast.AST, own: frozenset[str]) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            own = own | {name for one in ast.walk(node) for name in _bound_by(one)}
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            self._note(node.func.attr, node, own)
        for one in ast.iter_child_nodes(node):
            self._find(one, own)

    def _note(self, method: str, call: ast.Call, own: frozenset[str]) -> None:
        given = dict(enumerate(call.args)) | {one.arg: one.value for one in call.keywords}
        if method in FUNCTIONS:
            name, what = given.get(0), given.get(2, given.get(FUNCTIONS[method]))
            number = _literal(given.get(1, given.get("narg", given.get("n_arg"))))
            if type(number) is not int:
                return
        elif method == COLLATION:
            name, number, what = given.get(0), None, given.get(1)
        elif method == PROGRESS:
            number = _literal(given.get(1, given.get("n")))
            self.numbers.add(number if type(number) is int else None)
            return
        else:
            return
        called = _literal(name if name is not None else given.get("name"))
        if type(called) is str and what is not None:
            written = Written(method, ast.unparse(what), own)
            self.calls.setdefault((called.lower(), number), set()).add(written)

    @property
    def number(self) -> int | None:
        """After how many instructions each handler of progress is called, if that can be told."""
        return next(iter(self.numbers)) if len(self.numbers) == 1 else None

    def find(self, name: str, count: int | None) -> tuple[str, Any] | None:
        """The method that was called for a name, and what it was given; None: that cannot be told."""
        calls = self.calls.get((name.lower(), count), set())
        found = [self._resolve(written) for written in calls] if len({one[:2] for one in calls}) == 1 else [None]
        return found[0] if None not in found else None

    def _resolve(self, written: Written) -> tuple[str, Any] | None:
        expression = ast.parse(written.text, mode="eval").body
        names = {one.id for one in ast.walk(expression) if isinstance(one, ast.Name)}
        space = CurrentSession.main.__dict__
        if isinstance(expression, ast.Lambda):
            arguments = expression.args
            if any(default is not None for default in (*arguments.defaults, *arguments.kw_defaults)):
                return None
            if written.own & (names - {one for node in ast.walk(expression) for one in _bound_by(node)}):
                return None
            return written.method, eval(written.text, space)
        path = written.text.split(".")
        if not all(map(str.isidentifier, path)) or path[0] in written.own or len(self.bound.get(path[0], ())) > 1:
            return None
        if any(f".{one}" in self.bound for one in path[1:]):
            return None
        found = space.get(path[0], vars(sys.modules["builtins"]).get(path[0]))
        for one in path[1:]:
            found = _attribute(found, one)
        return (written.method, found) if callable(found) else None


def _bound_by(node: ast.AST) -> Iterator[str]:
    """The names that a part of a cell binds."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        yield f".{node.attr}"
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).partition(".")[0]
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest


def _attribute(owner: Any, name: str) -> Any:
    """An attribute of a module or a class, of which nobody has to be asked; else None."""
    kinds = owner.__mro__ if type(owner) is type else (owner,) if isinstance(owner, type(sys)) else ()
    found = next((vars(one)[name] for one in kinds if name in vars(one)), None)
    return getattr(owner, name) if found is not None else None


def _literal(node: ast.expr | None) -> Any:
    try:
        return ast.literal_eval(node) if node is not None else None
    except (ValueError, TypeError):
        return None


def heard_by(connection: Any) -> list[Any]:
    """The callbacks of a connection: for what runs, for progress, and for what is allowed, as far as there are such."""
    shown = gc.get_referents(connection)
    return [one for one, after in itertools.pairwise(shown) if after is sys.modules["_sqlite3"]]


@contextlib.contextmanager
def silenced(connection: Any) -> Iterator[dict[str, tuple[Any, ...]]]:
    """Take the callbacks from a connection meanwhile: they are to hear, and to allow, nothing that is asked of it.

    Yields:
        What the methods that set them are given; nothing for a handler of progress of which it cannot be told after how
        many instructions it is called, which stays.
    """
    kind, left = sys.modules["sqlite3"].Connection, heard_by(connection)
    found: dict[str, tuple[Any, ...]] = {}
    try:
        for method, place in ((TRACE, 0), (AUTHORIZER, -1)) if left else ():
            getattr(kind, method)(connection, None)
            now = heard_by(connection)
            if len(now) < len(left):
                found[method] = (left[place],)
            left = now
        if left and (number := written_in_cells().number) is not None:
            kind.set_progress_handler(connection, None, number)
            found[PROGRESS] = left[0], number
        yield found if PROGRESS in found or not left else {**found, PROGRESS: ()}
    finally:
        for method, given in found.items():
            getattr(kind, method)(connection, *given)


TRACE, AUTHORIZER = "set_trace_callback", "set_authorizer"


def written_in_cells() -> Additions:
    """What stands in the cells of this session."""
    return CurrentSession.cells.collect(Additions.add, Additions)


def call_again(connection: Any, calls: tuple[Call, ...]) -> None:
    """Teach a connection what it had been taught."""
    for method, arguments, options in calls:
        getattr(sys.modules["sqlite3"].Connection, method)(connection, *arguments, **options)
