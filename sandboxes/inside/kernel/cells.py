"""Compile and run a cell in `__main__`: the value of a last expression, top-level `await`, interrupts."""

import __future__

import ast
import builtins
import inspect
import linecache
import signal
import threading
from collections.abc import Callable
from types import CodeType, FrameType, ModuleType
from typing import Any

AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
FUTURES = 0
for _name in __future__.all_feature_names:
    FUTURES |= getattr(__future__, _name).compiler_flag

MAGIC = (
    "\nThis is plain Python, not IPython: lines that begin with % or ! do not work here. "
    "Use subprocess for commands (to install a package: "
    'subprocess.run([sys.executable, "-m", "pip", "install", "NAME"], check=True)); '
    "figures are shown without any magic."
)


class Cells:
    """Runs cells, one after the other, in one module."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self.futures = 0
        """The compiler flags that `from __future__ import …` has set in some cell, and that hold from then on."""
        self._loop: Any = None

    @property
    def descriptors(self) -> set[int]:
        """Those of the event loop that waits for cells."""
        if self._loop is None or self._loop.is_closed():
            return set()
        parts = (getattr(self._loop, name, None) for name in ("_selector", "_ssock", "_csock"))
        return {part.fileno() for part in parts if part is not None}

    def run(self, code: str, number: int) -> Any:
        """Run one cell.

        Returns:
            The value of its last expression; None when there is none or when it ends with a semicolon.
        """
        filename = cell_name(number)
        code = code.replace("\r\n", "\n").replace("\r", "\n")
        linecache.cache[filename] = (len(code), None, code.splitlines(keepends=True), filename)
        namespace = self._module.__dict__
        namespace.pop("__warningregistry__", None)  # a warning is shown again in each cell
        try:
            tree = compile(code, filename, "exec", ast.PyCF_ONLY_AST | AWAIT | self.futures, dont_inherit=True)
        except SyntaxError as error:
            if (error.text or "").lstrip().startswith(("%", "!")):
                error.add_note(MAGIC.strip())
            raise
        last: ast.Expression | None = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            expression = tree.body[-1]
            if not ends_with_semicolon(code, expression):
                last = ast.Expression(expression.value)
                tree.body.pop()
        if tree.body:
            self._run(self._compile(tree, filename, "exec"), namespace)
        return None if last is None else self._run(self._compile(last, filename, "eval"), namespace)

    def evaluate(self, expression: str, number: int, place: int) -> Any:
        """The value of an expression of the answer that came with a cell.

        Args:
            expression: Python.
            number: The cell's number.
            place: Which of the answer's expressions it is, from 1.
        """
        filename = f"<cell {number}, value {place} of the answer>"
        linecache.cache[filename] = (len(expression), None, [f"{expression}\n"], filename)
        tree = compile(expression, filename, "eval", ast.PyCF_ONLY_AST | self.futures, dont_inherit=True)
        return self._run(self._compile(tree, filename, "eval"), self._module.__dict__)

    def _compile(self, tree: ast.Module | ast.Expression, filename: str, mode: str) -> CodeType:
        code: CodeType = compile(tree, filename, mode, AWAIT | self.futures, dont_inherit=True)
        self.futures |= code.co_flags & FUTURES
        return code

    def _run(self, code: CodeType, namespace: dict[str, Any]) -> Any:
        namespace.setdefault("__builtins__", builtins)  # if a cell has deleted it, it would be a copy of the kernel's
        if not code.co_flags & inspect.CO_COROUTINE:
            return eval(code, namespace)
        return self._wait_for(eval(code, namespace))

    def _wait_for(self, coroutine: Any) -> Any:
        import asyncio

        if self._loop is None or self._loop.is_closed():
            self._loop = asyncio.new_event_loop()
        task = self._loop.create_task(coroutine)
        try:
            return self._loop.run_until_complete(task)
        except BaseException:
            if not task.done():  # interrupted while it waited: let it clean up
                task.cancel()
                self._loop.run_until_complete(asyncio.wait([task]))
            raise


def cell_name(number: int) -> str:
    """What a cell is called in tracebacks and warnings."""
    return f"<cell {number}>"


def ends_with_semicolon(code: str, last: ast.Expr) -> bool:
    """Whether nothing but a semicolon (brackets, spaces and comments aside) follows the last expression."""
    lines = code.split("\n")[(last.end_lineno or 1) - 1 :]
    lines[0] = lines[0].encode()[last.end_col_offset or 0 :].decode()
    return any(";" in line.partition("#")[0] for line in lines)


class Interrupts:
    """Says when an interrupt may reach the running code.

    One interrupt disarms: so an exception that is on its way out cannot be overtaken by a second one, and whatever
    the kernel does next is safe from it.
    """

    def __init__(self) -> None:
        self._armed = False
        self._waiting = False

    def install(self) -> None:
        """Make SIGINT ours (again: a cell may have changed it)."""
        signal.signal(signal.SIGINT, self._arrived)

    def _arrived(self, signum: int, frame: FrameType | None) -> None:
        if self._armed:
            self._armed = False
            raise KeyboardInterrupt
        self._waiting = True

    @property
    def waiting(self) -> bool:
        """Whether one has come that is kept waiting."""
        return self._waiting

    def forget(self) -> None:
        """Drop an interrupt that came between cells."""
        self._waiting = False

    def guard(self, call: Callable[[], None]) -> BaseException | None:
        """Call something that may be interrupted.

        Returns:
            What it raised, whatever that is, or None.
        """
        try:
            self._armed = True
            try:
                call()
            finally:
                self._armed = False
        except BaseException as raised:
            self._armed = False
            return raised
        return None

    def held(self) -> "Held":
        """Defer an interrupt until the end of the block, so that no frame is written in part."""
        return Held(self)

    def hold(self) -> bool:
        """Let an interrupt wait from now on; whether one could come."""
        if not self._armed or threading.current_thread() is not threading.main_thread():
            return False
        self._armed = False
        return True

    def release(self) -> None:
        """Let one come again, and the one that has waited."""
        self._armed = True  # first: one that comes between the two would wait for ever
        if self._waiting:
            self._armed = self._waiting = False
            raise KeyboardInterrupt


class Held:
    """A block that no interrupt breaks off. A class, since `contextlib` uses builtins that a cell may have replaced."""

    def __init__(self, interrupts: Interrupts) -> None:
        self._interrupts = interrupts
        self._holds = False

    def __enter__(self) -> None:
        self._holds = self._interrupts.hold()

    def __exit__(self, *error: object) -> None:
        if self._holds:
            self._interrupts.release()
