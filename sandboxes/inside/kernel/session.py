"""The serving loop: runs cells from the host one at a time, and reports their results."""

import builtins
import json
import os
import platform
import sys
import threading
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NoReturn

from . import figures, frames, packages, side_effects, summaries
from .answer_values import MAX_ALL_CHARS, value_text
from .calls import HostCalls
from .cells import Cells, Interrupts
from .earlier_steps import EarlierSteps
from .output import Displays, Streams
from .own_library import own_library
from .shared_state import SharedState
from .side_effects import SideEffectMonitor
from .snapshots.session_state.interpreter_state import StartState
from .standby import IDLE_SECONDS, ForkedStandby
from .summaries import clean, cut
from .tracebacks import Tracebacks

MAX_CHANGES = 10_000_000
"""Bytes of JSON for the list of changed files; a longer list is cut."""


class Session:
    """One Python session: a `__main__` of its own, a workspace (the current directory), and the host at the other end.

    Args:
        control: The socket to the host.
        spool: The folder for the blobs of snapshots.
        blobs: The folder with the blobs that the host supplied.
        cloudpickle: The host's copy of `cloudpickle.py`, for a Python that has none.
        reach: The file where it is noted what a cell reaches outside of the sandbox.
        inside: The folder that is the sandbox's own; empty: the workspace.
        sealed: Whether nothing outside can be reached, so that nothing of it needs to be noted.
        notices: A socket to the process that wakes the forked standby; -1: there is no standby.
        copies: How many frozen copies of earlier steps stay besides.
        network: What may be reached: `none`, `allowlist` or `full`.
        proxy: The port of the proxy on 127.0.0.1; 0: there is none.
    """

    def __init__(
        self,
        control: int,
        *,
        spool: str = "",
        blobs: str = "",
        cloudpickle: str = "",
        reach: str = "",
        inside: str = "",
        sealed: bool = False,
        notices: int = -1,
        copies: int = 0,
        network: str = "none",
        proxy: int = 0,
    ) -> None:
        os.set_inheritable(control, False)
        self._control = control
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._root = os.getcwd()
        self._head = ""
        self._run_id = ""
        self._number = 0
        self._changes = 0
        """How often variables were changed by request; the host counts, too, and takes no copy that is behind."""
        self._folders = {"spool": spool, "blobs": blobs, "cloudpickle": cloudpickle}
        self._engine: Any = None
        self._prover: Any = None
        self._main = ModuleType("__main__")
        self._main.__dict__.update(__builtins__=builtins, __doc__=None)
        sys.modules["__main__"] = self._main
        sys.argv = [""]
        sys.path.insert(0, self._root)
        self._streams = Streams()
        self._interrupts = Interrupts()
        self._displays = Displays(self._root, self._send_display)
        self._figures = figures.install(self._root, self._displays, self._is_here)
        self._tracebacks = Tracebacks(self._root)
        self._cells = Cells(self._main)
        self._own = {"display": self._displays.display}
        self._main.__dict__.update(self._own)
        self._calls = HostCalls(
            self._main, self._own, self._interrupts, lambda: self._control, self._send_frame, self._is_here
        )
        self._earlier = EarlierSteps(self._calls, self._snapshots)
        _replace_builtins()
        _fork_by_default()
        own = [inside or self._root, *(os.environ.get(name, "") for name in ("HOME", "TMPDIR", "MPLCONFIGDIR"))]
        self._reach = SideEffectMonitor(reach, own, sealed=sealed)
        self._standby = ForkedStandby(notices, copies)
        self._kept_step = ""
        """The snapshot that this session took last, or came from with nothing lost: its copy has all that it had."""
        self._scan = side_effects.Scan(self._root)
        self._beside = [os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ]
        packages.offer(self._root, network=network, proxy=proxy)
        self._start = StartState(inside)
        self._builtins = own_library().builtins
        self._shared = SharedState([self._root, *self._beside])
        self._standby.shares = self._shares
        os.register_at_fork(before=self._streams.flush, after_in_child=self._forked)

    def serve(self) -> NoReturn:
        """Answer the host until it closes the connection."""
        self._interrupts.install()
        self._hello()
        while True:
            if self._standby.wanted and not self._is_called(IDLE_SECONDS):
                self._freeze()
            try:
                self._is_called(None)
                header, body = self._calls.receive()
            except (EOFError, OSError, frames.ProtocolError):
                os._exit(0)
            kind = header.get("type")
            if kind == "run":
                size = int(header.get("code", len(body)))
                self._run(header, body[:size].decode("utf-8", "replace"), json.loads(body[size:] or b"[]"))
            elif kind == "functions":
                self._calls.offer(body)
            elif kind == "head":
                self._head = str(header.get("head", ""))
            elif kind == "hello":
                self._hello()
            elif kind == "snapshot":
                self._snapshot(header)
            elif kind == "restore":
                self._restore(header)
            elif kind in ("plan_rebuild", "rebuild"):
                self._rebuild(kind, header, json.loads(body))
            elif kind in ("files", "look", "prove"):
                self._serve_step(kind, header, json.loads(body or b"{}"))
            self._standby.wanted = self._standby.wanted or kind != "look"

    def _is_called(self, seconds: float | None) -> bool:
        """Whether the host has something to say, or is gone, within some time; None: however long that takes."""
        self._builtins.put_in()
        called = self._calls.wait(seconds)
        self._builtins.take_out()
        return called

    def _freeze(self) -> bool:
        """Have a copy of this session ready; in the copy, when it is woken, go on in the place of the original.

        Returns:
            Whether this is the copy.
        """
        self._streams.flush()
        folders = [self._root, *self._beside] if self._standby.possible else []
        before = [*map(side_effects.marks, folders)]
        if not self._standby.fork_copy(self._head if self._head == self._kept_step else ""):
            return False
        self._pid = os.getpid()
        if self._prover is not None:
            self._prover.woken()
        self._standby.wanted = True
        self._calls.forget()
        now = side_effects.Scan(self._root)
        changed = (
            not self._scan.complete
            or None in before
            or bool(side_effects.changes(self._scan, now))
            or before != [*map(side_effects.marks, folders)]
        )
        self._send("hello", {}, {"head": self._head, "files_changed": changed, "changes": self._changes})
        return True

    def _shares(self) -> bool:
        """Whether a copy of this session would share what cells may change."""
        descriptors, children = self._standby.own
        looking = self._prover.child if self._prover is not None else 0
        memory = [self._engine.window] if self._engine is not None else []
        return self._shared.is_there(descriptors | self._cells.descriptors, children | {looking}, memory)

    def _run(self, header: dict[str, Any], code: str, wanted: list[list[str]]) -> None:
        """Run a cell, and then the expressions of its answer: each is wanted as Python and its format."""
        if self._standby.due and self._freeze():
            return  # this is the copy, woken long after: the original has run that cell
        self._changes += 1
        self._run_id, self._head = str(header.get("id", "")), ""
        number = self._number = int(header.get("number", 0))
        if self._prover is not None:
            self._prover.copy_ended()
        self._prepare(number)
        self._reach.begin(str(header.get("head", "")), code)
        before = self._scan = side_effects.Scan(self._root)
        self._calls.begin()
        self._earlier.begin()
        values: list[str] = []

        def work() -> None:
            self._run_code(code, number)
            self._evaluate(wanted, number, values)

        error = self._guard_cell(work)
        if os.getpid() != self._pid:  # the cell forked and this is the child, which has nothing to say here
            self._streams.flush()
            os._exit(0 if error is None else 1)
        error = self._interrupts.guard(self._finish_displays) or error
        described: dict[str, str] | None = None
        if error is not None:
            described = self._describe(error)
        error = None  # its frames would keep the cell's variables alive
        self._interrupts.guard(self._streams.flush)
        self._calls.end()
        rows: list[summaries.Row] = []
        self._interrupts.guard(lambda: rows.extend(summaries.rows(self._main.__dict__, self._own)))
        self._head = str(header.get("head", ""))
        self._scan = side_effects.Scan(self._root)
        ended = {
            "status": "ok" if described is None else "error",
            "error": described,
            "namespace": rows,
            "files": _bounded(side_effects.changes(before, self._scan)),
            "head": self._head,
            "reached": self._reach.end(),
            "values": values,
        }
        self._send("done", ended)

    def _snapshot(self, header: dict[str, Any]) -> None:
        self._run_id = str(header.get("id", ""))
        limit, answer = int(header.get("limit_bytes", 0)), dict[str, Any]()
        self._send("begun", {})
        self._interrupts.forget()
        error = self._interrupts.guard(
            lambda: answer.update(self._snapshots().snapshot(limit, self._number, self._cells.futures))
        )
        if os.getpid() != self._pid:
            os._exit(1)
        if error is not None:
            why = "it took too long" if isinstance(error, KeyboardInterrupt) else f"{self._brief(error)}"
            answer = {"id": "", "refused": f"The snapshot could not be taken: {why}."}
        if answer.get("id"):
            self._head = self._kept_step = answer["id"]
        self._send("snapshot", answer)

    def _restore(self, header: dict[str, Any]) -> None:
        self._changes += 1
        self._run_id, self._head = str(header.get("id", "")), ""
        snapshot, answer = str(header.get("snapshot", "")), dict[str, Any]()
        self._interrupts.forget()
        error = self._interrupts.guard(lambda: answer.update(self._snapshots().restore(snapshot)))
        if os.getpid() != self._pid:
            os._exit(1)
        if error is not None:
            why = "it took too long" if isinstance(error, KeyboardInterrupt) else f"{self._brief(error)}"
            answer = {"failed": f"The snapshot could not be restored: {why}."}
        elif not answer["problem"]:
            self._head = snapshot
            self._cells.futures = int(answer["futures"])
            if not (answer["lost"] or answer["versions"]):  # else a copy would lack what the receipt named
                self._kept_step = snapshot
                self._standby.keep_before_cell()
        self._send("restored", answer)

    def _rebuild(self, kind: str, header: dict[str, Any], asked: dict[str, Any]) -> None:
        """Say what has to run for lost variables, or make them again."""
        self._changes += kind == "rebuild"
        self._run_id, answer = str(header.get("id", "")), dict[str, Any]()
        self._interrupts.forget()

        def work() -> None:
            if kind == "plan_rebuild":
                answer.update(self._snapshots().plan_rebuild(asked))
            else:
                self._head = ""
                answer.update(self._snapshots().rebuild(asked, self._cells, self._run_again))
                if not (answer["problem"] or answer["broken_off"]):
                    self._head = asked["snapshot"]
                    self._cells.futures = int(answer["futures"])

        error = self._interrupts.guard(work)
        if os.getpid() != self._pid:
            os._exit(1)
        if error is not None:
            why = "it took too long" if isinstance(error, KeyboardInterrupt) else f"{self._brief(error)}"
            answer = {"failed": f"{why}."}
        self._send(kind, answer)

    def _serve_step(self, kind: str, header: dict[str, Any], asked: dict[str, Any]) -> None:
        """Do what is about steps and changes no variable.

        `files`: make the files as a snapshot has them, of which this session has all variables already. `look`: have
        this session looked at as it was kept. `prove`: restore a snapshot and compare it with a session looked at.
        """
        self._run_id, answer = str(header.get("id", "")), dict[str, Any]()
        self._interrupts.forget()

        def work() -> None:
            if kind == "files":
                answer.update(self._snapshots().restore_files(str(header.get("snapshot", ""))))
                self._scan = side_effects.Scan(self._root)
            elif kind == "prove":
                self._head = ""
                answer.update(self._proofs().compare(asked, lambda: self._snapshots().restore(asked["snapshot"])))
            elif self._head != asked["snapshot"]:
                answer.update(state="gone")
            else:
                answer.update(self._proofs().begin(asked, self._scan, [self._control, self._standby.descriptor]))

        error = self._interrupts.guard(work)
        if os.getpid() != self._pid:
            os._exit(1)
        if error is not None:
            why = "it took too long" if isinstance(error, KeyboardInterrupt) else f"{self._brief(error)}"
            answer = {"state": "refused", "why": why, "refused": why}
        self._send(kind, answer)

    def _run_again(self, code: str, number: int) -> str:
        """Run a cell, show nothing, and say what it raised."""
        self._prepare(number)
        error = self._guard_cell(lambda: self._run_code(code, number))
        if os.getpid() != self._pid:
            self._streams.flush()
            os._exit(0 if error is None else 1)
        error = self._interrupts.guard(self._finish_displays) or error
        self._interrupts.guard(self._streams.flush)
        if isinstance(error, KeyboardInterrupt):
            return "it took too long"
        return "" if error is None else self._brief(error)

    def _snapshots(self) -> Any:
        """What takes and restores snapshots; loaded when it is first asked for."""
        if self._engine is None:
            before = frozenset(sys.modules)
            with own_library().importing():
                from .snapshots.engine import Engine

            self._engine = Engine(
                self._main, self._own, self._root, self._start, **self._folders, connect=self._standby.connect
            )
            self._standby.give = self._engine.give
            self._start.modules |= frozenset(sys.modules) - before
        return self._engine

    def _proofs(self) -> Any:
        """What proves steps; loaded when it is first asked for."""
        if self._prover is None:
            self._snapshots()
            before = frozenset(sys.modules)
            with own_library().importing():
                from .proving.prover import Prover

            folders = (self._folders["spool"], self._folders["blobs"])
            self._prover = Prover(self._main, self._own, self._root, self._start, *folders)
            self._start.modules |= frozenset(sys.modules) - before
        return self._prover

    def _brief(self, error: BaseException) -> str:
        described = self._describe(error)
        return cut(f"{described['name']}: {described['message']}".strip(": ."), 500)

    def _prepare(self, number: int) -> None:
        """Reset what cells can change: streams, the signal handler, counters and the working directory."""
        self._streams.renew()
        self._interrupts.install()
        self._interrupts.forget()
        self._displays.begin(number)
        self._figures.begin()
        try:
            os.chdir(self._root)
        except OSError:
            os.makedirs(self._root, exist_ok=True)
            os.chdir(self._root)

    def _guard_cell(self, work: Callable[[], None]) -> BaseException | None:
        """Do what runs code of a cell, with builtins as cells have made them; what it raised."""
        self._builtins.put_in()
        error = self._interrupts.guard(work)
        self._builtins.take_out()  # here, where no interrupt breaks it off
        return error

    def _run_code(self, code: str, number: int) -> None:
        value = self._cells.run(code, number)
        if value is not None:
            self._main.__dict__["_"] = value
            self._displays.show(value, "result")

    def _evaluate(self, wanted: list[list[str]], number: int, values: list[str]) -> None:
        room = MAX_ALL_CHARS
        for place, (expression, form) in enumerate(wanted, 1):
            try:
                text = value_text(self._cells.evaluate(expression, number, place), form)
                room -= len(text)
                if room < 0:
                    raise ValueError(f"the values of an answer have more than {MAX_ALL_CHARS:,} characters together")
            except Exception as error:
                error.add_note(f"The cell itself ran; this is {{{{{expression}{form and ':'}{form}}}}} of its answer.")
                raise
            values.append(text)

    def _finish_displays(self) -> None:
        self._figures.sweep()
        self._displays.end()

    def _describe(self, error: BaseException) -> dict[str, str]:
        if isinstance(error, SystemExit):
            shown = "" if error.code is None else cut(clean(repr(error.code)), 200)
            message = f"the cell called exit({shown}) and ended there; the session and its variables go on"
            return {"name": "SystemExit", "message": message, "traceback": ""}
        described: list[dict[str, str]] = []
        self._interrupts.guard(lambda: described.append(self._tracebacks.describe(error)))
        return described[0] if described else {"name": type(error).__name__, "message": "", "traceback": ""}

    def _send_display(self, display: dict[str, str]) -> None:
        text = display.get("text", "").encode("utf-8", "backslashreplace")
        html = display.get("html", "").encode("utf-8", "backslashreplace")
        header = {"kind": display["kind"], "path": display.get("path", ""), "text": len(text)}
        self._send_frame("display", header, text + html)

    def _hello(self) -> None:
        self._send("hello", {"python": platform.python_version(), "pid": self._pid, "head": self._head})

    def _is_here(self) -> bool:
        return os.getpid() == self._pid

    def _send(self, kind: str, content: Mapping[str, Any], header: Mapping[str, Any] | None = None) -> None:
        self._send_frame(kind, header or {}, json.dumps(content).encode())

    def _send_frame(self, kind: str, more: Mapping[str, Any], body: bytes) -> None:
        if not self._is_here():
            return
        with self._interrupts.held(), self._lock:
            try:
                frames.send(self._control, {**more, "type": kind, "id": self._run_id}, body)
            except OSError:
                os._exit(1)  # without a host there is nothing left to do

    def _forked(self) -> None:
        """In a forked child: the connection belongs to the parent."""
        if self._standby.forking:
            return
        try:
            os.close(self._control)
        except OSError:
            return


def _bounded(changes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    room = MAX_CHANGES
    for index, change in enumerate(changes):
        room -= 6 * len(change["path"]) + 60
        if room < 0:
            return changes[:index]
    return changes


def _replace_builtins() -> None:
    """Put in the place of what is for people at a keyboard what says how it is here."""
    builtins.input = _no_input
    for name in ("exit", "quit"):
        setattr(builtins, name, _exit)


def _no_input(prompt: object = "", /) -> str:
    """Stand in for `input`: there is nobody to ask."""
    raise EOFError("input() cannot be answered here: nobody is at the keyboard; put the value into the code")


def _exit(code: object = None) -> NoReturn:
    """Stand in for `exit` and `quit`, which would close stdin."""
    raise SystemExit(code)


def _fork_by_default() -> None:
    """Let multiprocessing see functions of cells: only a fork has them, and from Python 3.14 it is not the default."""
    version: tuple[int, ...] = sys.version_info[:2]
    if version < (3, 14) or platform.system() != "Linux":
        return
    import multiprocessing.context

    contexts: Any = multiprocessing.context
    default = contexts._default_context
    default._default_context = contexts._concrete_contexts["fork"]
