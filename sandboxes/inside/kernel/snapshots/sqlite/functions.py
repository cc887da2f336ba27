"""What cells have taught sqlite connections: functions, collations and callbacks.

A connection says which functions and collations it has been given, and nothing gives their callables away. So those are
looked for in the code of the cells, where a call names one that can only be this: a function or a class that stands at
the top of a cell and is bound nowhere else, one of a library, or a lambda. Where any call has a name that is not
written there, nobody can say what it gave. Callbacks are told by the garbage collector, to which connections show them.
"""

import ast
import contextlib
import functools
import gc
import itertools
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, ModuleType, WrapperDescriptorType
from typing import Any, NamedTuple

from ..cell_sources import nodes_of
from ..current_session import CurrentSession, is_of_session
from ..objects.classes import is_of_users
from .changes import rows_of
from .internals import is_of_others, without_progress

Call = tuple[str, tuple[Any, ...], dict[str, Any]]
"""A method of a connection, and what it is given."""
FUNCTIONS = {"create_function": "func", "create_aggregate": "aggregate_class", "create_window_function": ""}
"""Methods, and the keyword for what they are given."""
COLLATION = "create_collation"
METHODS = (*FUNCTIONS, COLLATION)
WRITTEN = re.compile(r"create_(?:function|aggregate|window_function|collation)")
DETERMINISTIC = 0x800
"""The flag of such a function in sqlite's list."""
Known = tuple[set[tuple[Any, ...]], set[tuple[Any, ...]]]
"""Functions (names, numbers of arguments, flags) and collations (names)."""
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp,
          ast.GeneratorExp)  # fmt: skip
ANYWHERE = frozenset({"globals", "locals", "vars", "exec", "eval", "compile", "FunctionType", "run_path"})
ATTRIBUTES = frozenset({"__dict__", "FunctionType", "run_path"})
"""What may bind a name, or teach a connection, without that being written: names, and attributes."""
ALL = "*"
"""As a name that an import binds: nobody sees which it is."""
DEFINITIONS = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
CALLED = (FunctionType, BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType, type)


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
        """By the name of a function and the number of its arguments, or of a collation."""
        self.is_told = True
        """Whether all calls say what they name."""
        self.bound: Counter[str] = Counter()
        """How often a name is bound, counted by the cells that ran."""
        self.defined: dict[str, list[str]] = {}
        """The definitions of a name that stand at the top of cells."""

    def add(self, source: str) -> None:
        """Add those in the code of a cell."""
        for node in nodes_of(source):
            self.bound.update(_bound_by(node))
            names = {getattr(node, "id", None), getattr(node, "name", None)}
            self.is_told = self.is_told and not names & ANYWHERE and getattr(node, "attr", None) not in ATTRIBUTES
        for node in nodes_of(source)[:1]:
            for one in getattr(node, "body", ()):
                if isinstance(one, DEFINITIONS):
                    for name in (name for part in (one, *getattr(one, "names", ())) for name in _bound_by(part)):
                        self.defined.setdefault(name, []).append(_lasting(one))
        if WRITTEN.search(source) is not None:
            with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
                self._find(ast.parse(source), frozenset())

    def _find(self, node: ast.AST, own: frozenset[str]) -> None:
        if isinstance(node, SCOPES):
            own = own | {"__class__"} | {name for one in ast.walk(node) for name in _bound_by(one)}
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            self._note(node.func.attr, node, own)
            parts: Iterator[ast.AST] = iter([node.func.value, *node.args, *(one.value for one in node.keywords)])
        else:
            # By another name, or one that is computed, it may be called with anything.
            texts = (getattr(node, "attr", None), getattr(node, "value", None))
            self.is_told = self.is_told and not any(type(one) is str and one in METHODS for one in texts)
            parts = ast.iter_child_nodes(node)
        for one in parts:
            self._find(one, own)

    def _note(self, method: str, call: ast.Call, own: frozenset[str]) -> None:
        given = dict(enumerate(call.args)) | {one.arg: one.value for one in call.keywords}
        called = _literal(given.get(0, given.get("name")))
        if method == COLLATION:
            number, what = None, given.get(1)
        else:
            number, what = _literal(given.get(1, given.get("narg", given.get("n_arg")))), given.get(2)
            what = given.get(FUNCTIONS[method]) if what is None else what
        if type(called) is str and what is not None and (method == COLLATION or type(number) is int):
            written = Written(method, ast.unparse(what), own)
            self.calls.setdefault((called.lower(), number), set()).add(written)
        else:
            self.is_told = False

    def find(self, name: str, count: int | None) -> tuple[str, Any] | None:
        """The method that was called for a name, and what it was given; None: that cannot be told."""
        calls = self.calls.get((name.lower(), count), set())
        if not self.is_told or len({one[:2] for one in calls}) != 1:
            return None
        found = [self._resolve(written) for written in calls]
        return found[0] if all(one is not None for one in found) else None

    def _resolve(self, written: Written) -> tuple[str, Any] | None:
        expression = ast.parse(written.text, mode="eval").body
        space = CurrentSession.main.__dict__
        if isinstance(expression, ast.Lambda):
            arguments = expression.args
            names = {one.id for one in ast.walk(expression) if isinstance(one, ast.Name)}
            names -= {one for node in ast.walk(expression) for one in _bound_by(node)}
            if any(default is not None for default in (*arguments.defaults, *arguments.kw_defaults)):
                return None
            return None if written.own & names else (written.method, eval(written.text, space))
        first, *rest = written.text.split(".")
        if not all(map(str.isidentifier, (first, *rest))) or first in written.own or not self._is_lasting(first):
            return None
        found = space[first] if first in space else vars(sys.modules["builtins"]).get(first)
        for one in rest:
            found = _member(found, one)
        return (written.method, found) if issubclass(type(found), CALLED) else None

    def _is_lasting(self, name: str) -> bool:
        """Whether a name has meant the same since it was bound: once, or by the same definition again."""
        if ALL in self.bound:
            return False
        if name not in CurrentSession.main.__dict__:
            return name not in self.bound
        known = self.defined.get(name, [])
        return len(known) == self.bound[name] and (len(known) == 1 or (len(set(known)) == 1 and known[0] != ""))


def _lasting(node: ast.AST) -> str:
    """A definition as text; empty: run again, it may make something else."""
    if isinstance(node, ast.FunctionDef):
        arguments = node.args
        if node.decorator_list or arguments.defaults or any(arguments.kw_defaults):
            return ""
    elif isinstance(node, ast.ClassDef):
        return ""
    elif any(map(is_of_users, [getattr(node, "module", None), *(one.name for one in getattr(node, "names", ()))][:1])):
        return ""  # its file may have been another
    return ast.dump(node)


def _bound_by(node: ast.AST) -> Iterator[str]:
    """The names that a part of a cell binds."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).partition(".")[0]
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest


def _member(owner: Any, name: str) -> Any:
    """A function of a library's module, or of a class of one; nobody is asked, and anything else is None."""
    if type(owner) is ModuleType:
        return vars(owner).get(name) if not is_of_users(owner.__name__) else None
    if type(owner) is type and not is_of_users(owner.__module__):
        return next((vars(one)[name] for one in owner.__mro__ if name in vars(one)), None)
    return None


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
    """Take what hears statements, and what allows them, from a connection meanwhile.

    All stay where other threads may use it, since one may hold sqlite's lock while it waits for Python's.

    Yields:
        What the methods that set them are given; nothing for those that stay.
    """
    kind, left = sys.modules["sqlite3"].Connection, heard_by(connection)
    found: dict[str, tuple[Any, ...]] = {}
    if not left or is_of_others(connection):
        yield {KEPT: ()} if left else found
        return
    try:
        for method, place in ((TRACE, 0), (AUTHORIZER, -1)):
            getattr(kind, method)(connection, None)
            now = heard_by(connection)
            if len(now) < len(left):
                found[method] = (left[place],)
            left = now
        if not left:
            yield found
        else:
            with without_progress(connection) as number:
                yield {**found, **({PROGRESS: (left[0], number)} if number else {KEPT: ()})}
    finally:
        for method, given in found.items():
            getattr(kind, method)(connection, *given)


KEPT = "callbacks"
"""In the place of a method: some stay."""
TRACE, AUTHORIZER, PROGRESS = "set_trace_callback", "set_authorizer", "set_progress_handler"
CALLBACKS = (TRACE, AUTHORIZER, PROGRESS)
"""What is set when all else is done."""


def may_be_taught_elsewhere(kind: type) -> bool:
    """Whether connections of a class may be taught by others than cells, or in another way than it is written there."""
    own = kind.__mro__[: kind.__mro__.index(sys.modules["sqlite3"].Connection)]
    if any(name in vars(one) for one in own for name in METHODS):
        return True
    modules = [one for one in tuple(sys.modules.values()) if type(one) is ModuleType]
    return any(map(_teaches, [vars(one).get("__file__") for one in modules]))


def _teaches(path: Any) -> bool:
    """Whether a file of the workspace has such a call."""
    if type(path) is not str or not is_of_session(path):
        return False
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return WRITTEN.search(file.read()) is not None
    except OSError:  # what it was is not known any more
        return True


def known_to(connection: Any) -> Known:
    """What a connection has besides sqlite's own. Asked by tables of these names it would need the database's lock."""
    listed = rows_of(connection, "pragma function_list")
    functions = {(as_text(name), count, flags) for name, is_own, _, _, count, flags in listed if not is_own}
    return functions, {(as_text(name),) for _, name in rows_of(connection, "pragma collation_list")}


@functools.cache
def usually_known() -> Known:
    """Likewise, of a connection to which nobody has added anything: what came with extensions."""
    with contextlib.closing(sys.modules["sqlite3"].connect(":memory:")) as connection:
        return known_to(connection)


def as_text(value: Any) -> str:
    """A name, which a connection may give as bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def written_in_cells() -> Additions:
    """What stands in the cells of this session."""
    return CurrentSession.cells.collect(Additions.add, Additions)


def call_again(connection: Any, calls: Iterable[Call]) -> None:
    """Teach a connection what it had been taught."""
    for method, arguments, options in calls:
        getattr(sys.modules["sqlite3"].Connection, method)(connection, *arguments, **options)
