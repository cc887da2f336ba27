"""`stepwell shell`: Python at a step, at a prompt or from a pipe, in a session that is thrown away."""

import ast
import asyncio
import codeop
import signal
import sys
import warnings
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from graph.settings import read_settings
from sandboxes.results import CellResult, Streamed
from stepwell.cli.command_options import NetworkChoice
from stepwell.cli.exits import FAILED, FINISHED, print_error, warn_without_isolation
from stepwell.cli.line_editing import remembering
from stepwell.cli.terminal_text import clean, one_line
from stepwell.cli.wording import restore_problems, restored_text
from stepwell.errors import UsageError
from stepwell.restored_step import RestoredStep, at
from storage.safe_names import harmless_name, safe_names

T = TypeVar("T")


class TerminatedError(Exception):
    """The terminal went away, or somebody ended the command."""


class InterruptibleRunner:
    """One event loop, and whether it is to be left."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self._runner = runner
        self._left = False
        self._running = False
        self._task: asyncio.Task[Any] | None = None

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end.

        Raises:
            KeyboardInterrupt: Ctrl-C; it was cancelled.
            TerminatedError: the command is to be left; it was cancelled.
        """
        self._running = True
        try:
            result = self._runner.run(self._watched(coroutine))
        except asyncio.CancelledError:
            if not self._left:
                raise
            raise TerminatedError from None
        finally:
            self._running, self._task = False, None
        if self._left:
            raise TerminatedError
        return result

    def clean_up(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run what has to be done in any case; signals that come meanwhile do not end it."""
        self._left = True
        self._runner.run(coroutine)

    async def _watched(self, coroutine: Coroutine[Any, Any, T]) -> T:
        self._task = asyncio.current_task()
        if self._left:
            coroutine.close()
            raise asyncio.CancelledError
        return await coroutine

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Leave on SIGTERM and SIGHUP."""
        before = {number: signal.signal(number, self._leave) for number in (signal.SIGTERM, signal.SIGHUP)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _leave(self, number: int, frame: FrameType | None) -> None:
        if self._left:
            return
        self._left = True
        if not self._running:
            raise TerminatedError
        if self._task is not None:
            self._task.get_loop().call_soon_threadsafe(self._task.cancel)


PROMPT, MORE = ">>> ", "... "
NO_LIMIT = 10_000_000.0
"""Seconds: somebody sits there and can press Ctrl-C."""


def open_shell(name: str, keep: Path | None, network: NetworkChoice) -> int:
    """Run what is typed, or what comes from a pipe.

    Args:
        name: The step.
        keep: The folder for files that cells make, if any.
        network: What the session may reach.

    Returns:
        The exit code: 1 when a cell from a pipe failed.
    """
    if keep is not None and keep.exists() and not keep.is_dir():
        raise UsageError(f"{keep} is not a folder; give --keep a folder for the files that cells make.")
    settings = read_settings(**network.settings())
    warn_without_isolation(settings)
    talks = sys.stdin.isatty()
    code = "" if talks else sys.stdin.read()
    with asyncio.Runner() as runner, (leaving := InterruptibleRunner(runner)).on_signals():
        stack = AsyncExitStack()
        try:
            session = leaving.run(stack.enter_async_context(at(name, settings=settings)))
            shell = Shell(leaving, session, keep)
            shell.tell_receipt(always=talks)
            if not talks:
                return FINISHED if shell.run(code) else FAILED
            return shell.converse(settings.home / "shell_history")
        except TerminatedError:
            return FAILED
        finally:
            leaving.clean_up(stack.aclose())


class Shell:
    """Runs cells in a restored session and shows what they do.

    Args:
        leaving: Runs what has to be awaited.
        session: The session.
        keep: Where files that cells make are copied to; None: nowhere.
    """

    def __init__(self, leaving: InterruptibleRunner, session: RestoredStep, keep: Path | None) -> None:
        self._leaving = leaving
        self._session = session
        self._keep = keep
        self._paths: list[str] = []
        """Of files that were copied, in the order in which they came."""
        self._ends_line = True
        self._left = False

    def tell_receipt(self, *, always: bool) -> None:
        """Say how the session came back, if there is something to say."""
        told = self._session.receipt.event()
        lost = restore_problems(told)
        if always:
            print_error(
                f"step {self._session.step} of thread {self._session.thread}; nothing of it changes. Ctrl-D leaves."
            )
        if lost or told.cells or (always and told.from_cell):
            print_error(restored_text(told))
        for line in lost:
            print_error(line)

    def converse(self, history: Path) -> int:
        """Read and run until Ctrl-D or `exit()`."""
        with remembering(history):
            while not self._left:
                try:
                    code = self._typed()
                except EOFError:
                    sys.stdout.write("\n")
                    break
                except KeyboardInterrupt:
                    sys.stdout.write("\n")
                    continue
                if code.strip():
                    self.run(code)
        return FINISHED

    def _typed(self) -> str:
        """One cell, of one line or of several."""
        lines = [input(PROMPT)]
        while _goes_on("\n".join(lines)):
            lines.append(input(MORE))
        return "\n".join(lines)

    def run(self, code: str) -> bool:
        """Run a cell; returns whether it ended well. Ctrl-C interrupts it."""
        self._ends_line = True
        try:
            result = self._leaving.run(self._session.run(code, timeout=NO_LIMIT, on_output=self._show))
        except KeyboardInterrupt:
            self._end_line()
            print_error("interrupted")
            self._bring_back_if_gone()
            return False
        self._end_line()
        figures = [display.path for display in result.displays if display.path]
        names = self._names(figures)
        for path in figures:
            self._tell_figure(path, names[path])
        return self._ended(result)

    def _ended(self, result: CellResult) -> bool:
        self._keep_files(result)
        if result.error is not None and result.error.name == "SystemExit":
            self._left = True
            return not result.error.message
        if result.error is not None:
            print_error(result.error.traceback.rstrip() or f"{result.error.name}: {result.error.message}")
        elif result.note:
            print_error(result.note)
        if not result.variables_kept:
            self._bring_back()
        return result.status == "ok"

    def _bring_back_if_gone(self) -> None:
        if not self._leaving.run(self._session.survived()):
            self._bring_back()

    def _bring_back(self) -> None:
        self._leaving.run(self._session.restore())
        print_error(f"the session is at step {self._session.step} again; what was done here since is gone")

    def _show(self, streamed: Streamed) -> None:
        if streamed.stream == "stderr":
            sys.stderr.write(clean(streamed.text))
            sys.stderr.flush()
            return
        text = streamed.text
        if streamed.stream == "display":
            display = streamed.display
            if display is None or display.kind == "figure" or not display.text:
                return
            text = f"{display.text}\n" if self._ends_line else f"\n{display.text}\n"
        text = clean(text)
        sys.stdout.write(text)
        sys.stdout.flush()
        if text:
            self._ends_line = text.endswith("\n")

    def _end_line(self) -> None:
        if not self._ends_line:
            sys.stdout.write("\n")
        self._ends_line = True
        sys.stdout.flush()

    def _names(self, paths: list[str]) -> dict[str, str]:
        """What files are called where they are copied to: nobody's own name, and each another one."""
        self._paths = list(dict.fromkeys([*self._paths, *paths]))
        keys = {path: f"{number:09}" for number, path in enumerate(self._paths)}  # a later one changes no name
        names = safe_names((key, harmless_name(path)) for path, key in keys.items())
        return {path: names[keys[path]] for path in paths}

    def _tell_figure(self, path: str, name: str) -> None:
        target = (self._keep or self._session.folder) / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            self._leaving.run(self._session.fetch(path, target))
        except (OSError, ValueError) as error:
            print_error(f"the figure {one_line(path)} cannot be had: {error}")
            return
        gone = "" if self._keep is not None else " (until you leave; --keep DIR keeps it)"
        print_error(f"figure saved: {target}{gone}")

    def _keep_files(self, result: CellResult) -> None:
        if self._keep is None:
            return
        shown = {display.path for display in result.displays}
        paths = [file.path for file in result.files if file.change != "deleted" and file.path not in shown]
        for path, name in self._names(paths).items():
            target = self._keep / name
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                self._leaving.run(self._session.fetch(path, target))
                print_error(f"kept: {target}")
            except (OSError, ValueError) as error:
                print_error(f"{one_line(path)} cannot be kept: {error}")


def _goes_on(code: str) -> bool:
    """Whether more lines belong to it: as at Python's own prompt, a block ends with an empty line."""
    if code.startswith("%%"):
        return not code.endswith("\n")
    compiler = codeop.Compile()
    compiler.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return codeop._maybe_compile(compiler, code, "<input>", "single") is None  # type: ignore[attr-defined]  # what codeop's own classes call
        except (SyntaxError, ValueError, OverflowError):
            return False  # the session says what is wrong with it
