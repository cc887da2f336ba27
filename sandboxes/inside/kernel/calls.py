"""Host functions that cells call: stubs in `__main__`, and the calls over the connection to the host.

A call blocks the thread that makes it. While a cell runs nothing else reads from the connection, so of
the waiting threads one reads for all, until its own answer arrives.
"""

import builtins
import inspect
import json
import os
import select
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from . import frames, values
from .cells import Interrupts

POLL_SECONDS = 0.05
"""How often a waiting call checks for an interrupt and for the end of its cell."""
MAX_LINES = 6
"""Lines of cells that are named for a call, from the innermost on."""


class HostFunctionError(RuntimeError):
    """A function of the host failed, or could not be called.

    Args:
        message: What went wrong.
        kind: The type of the exception there, by name; empty when it was not called.
    """

    def __init__(self, message: str = "", kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind


# Cells catch it by its name alone, modules of the workspace too, and a snapshot names it.
HostFunctionError.__module__ = "builtins"
builtins.HostFunctionError = HostFunctionError  # type: ignore[attr-defined]


class StubRegistry:
    """The functions that this process knows by name, offered or not."""

    known: dict[str, Any]
    channel: "HostCalls | None" = None


StubRegistry.known = {}


def _make(name: str) -> Any:
    def call(*arguments: Any, **options: Any) -> Any:
        if StubRegistry.channel is None:
            raise HostFunctionError(f"{name} cannot be called here")
        return StubRegistry.channel.call(name, arguments, options)

    return call


CODE = _make("").__code__
"""All stubs have this code."""


def stub(name: str) -> Any:
    """The stub of that name: the same object each time."""
    if name not in StubRegistry.known:
        made = _make(name)
        made.__name__ = made.__qualname__ = name
        made.__module__ = "__main__"
        made.__doc__ = "A function of the host that is not offered now."
        StubRegistry.known[name] = made
    return StubRegistry.known[name]


def is_stub(value: object) -> bool:
    """Whether it is a function of the host."""
    return type(value) is FunctionType and value.__code__ is CODE


def name_of(value: Any) -> str:
    """The name under which a stub calls."""
    name: str = value.__closure__[0].cell_contents
    return name


def reduce_stub(value: Any) -> Any:
    """How a function of the host is pickled, by its name; None when it is none."""
    return (stub, (name_of(value),)) if is_stub(value) else None


def stub_names(namespace: dict[str, Any]) -> list[str]:
    """The functions of the host that a namespace has under their names."""
    return sorted(name for name, value in namespace.items() if is_stub(value) and name_of(value) == name)


def restore_stubs(names: list[str], namespace: dict[str, Any], own: dict[str, Any]) -> None:
    """Restore the stubs of a snapshot. A function that is no longer offered raises an error when it is called."""
    for name in names:
        own[name] = stub(name)
        namespace.setdefault(name, own[name])


class _PendingCall:
    """A call that waits."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.event = threading.Event()
        self.ok = False
        self.body = b""
        self.over = ""
        """Why no answer comes any more."""

    def end(self, over: str = "") -> None:
        self.over = over
        self.event.set()


class HostCalls:
    """The calls of this session.

    Args:
        main: Its `__main__`.
        own: What the kernel put there.
        interrupts: Says when an interrupt has come.
        control: The connection to the host.
        send: Writes a frame to it: what it is, its call, its name, and its body.
        here: Whether this process is the session's and no fork of it.
    """

    def __init__(
        self,
        main: ModuleType,
        own: dict[str, Any],
        interrupts: Interrupts,
        control: Callable[[], int],
        send: Callable[[str, dict[str, Any], bytes], None],
        here: Callable[[], bool],
    ) -> None:
        self._main = main
        self._own = own
        self._interrupts = interrupts
        self._control = control
        self._send = send
        self._here = here
        self._lock = threading.RLock()
        self._offered: dict[str, inspect.Signature] = {}
        self._running = False
        self._reading = False
        self._number = 0
        self._slots: dict[int, _PendingCall] = {}
        self._calling = threading.local()
        self._later: deque[frames.Frame] = deque()
        StubRegistry.channel = self

    def offer(self, body: bytes) -> None:
        """Take in which functions the host offers from now on."""
        self._offered = {}
        for described in json.loads(body):
            name = described["name"]
            signature = values.signature(described)
            self._offered[name] = signature
            made = stub(name)
            made.__doc__ = described["doc"] or None
            made.__signature__ = signature
            made.__annotations__ = {
                parameter.name: parameter.annotation
                for parameter in signature.parameters.values()
                if parameter.annotation is not parameter.empty
            }
            if signature.return_annotation is not signature.empty:
                made.__annotations__["return"] = signature.return_annotation
            self._own[name] = made

    def begin(self) -> None:
        """A cell begins: every function is there under its name, unless the user has taken the name for something."""
        self._running = True
        for name in self._offered:
            self._main.__dict__.setdefault(name, self._own[name])

    def end(self) -> None:
        """End the cell's pending calls, in all threads, and wait until none of them reads the connection."""
        with self._lock:
            self._running = False
            for slot in self._slots.values():
                slot.end("the cell that called it has ended")
            self._slots.clear()
        while self._reading:
            time.sleep(0.001)

    def wait(self, seconds: float | None) -> bool:
        """Whether there is a frame within some time, or the end of the connection; None: however long that takes."""
        return bool(self._later) or self._readable(seconds)

    def receive(self) -> frames.Frame:
        """The next frame; answers that come too late are among them. Only while no cell runs."""
        return self._later.popleft() if self._later else frames.receive(self._control())

    def forget(self) -> None:
        """Discard answers that were sent to the process that this one has replaced."""
        while self._readable(0):
            if not os.read(self._control(), 1 << 20):
                return

    def call(self, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Have the host call a function, and wait for what it gives.

        Raises:
            HostFunctionError: it failed, or could not be called.
            TypeError: the arguments do not fit, or cannot be sent.
            ValueError: they are too large.
        """
        if not self._here():
            raise HostFunctionError(
                f"{name} cannot be called in a forked process: call it in the cell, and pass on what it gives"
            )
        if not self._running:
            raise HostFunctionError(f"{name} cannot be called between cells, nor while cells run again by themselves")
        signature = self._offered.get(name)
        if signature is None:
            raise HostFunctionError(
                f"{name} is not offered in this run. It is a function of the user's program, which has to offer it "
                "again; go on without it, or say that it is missing"
            )
        if getattr(self._calling, "now", False):
            raise HostFunctionError(f"{name} was called while another call of the same thread was on its way")
        try:
            signature.bind(*arguments, **options)
        except TypeError as error:
            raise TypeError(f"{name}() {error}") from None
        body = _packed(name, signature, arguments, options)
        self._calling.now = True
        try:
            slot = self._answered(name, body, _place())
        finally:
            self._calling.now = False
        return _result(name, slot)

    def request(self, name: str, body: bytes) -> tuple[bool, bytes]:
        """Ask the host for something that is no function of the user's program, and wait for the answer.

        Returns:
            Whether it was done, and what the host says.

        Raises:
            HostFunctionError: it cannot be asked for now.
        """
        if not self._here() or not self._running or getattr(self._calling, "now", False):
            raise HostFunctionError("earlier steps can be read in a running cell only, and in none of its forks")
        self._calling.now = True
        try:
            slot = self._answered(name, body)
        finally:
            self._calling.now = False
        if slot.over:
            raise HostFunctionError(f"an earlier step could not be read: {slot.over}")
        return slot.ok, slot.body

    def _answered(self, name: str, body: bytes, place: str = "") -> _PendingCall:
        with self._interrupts.held():
            with self._lock:
                if not self._running:
                    raise HostFunctionError(f"{name} cannot be called while no cell runs")
                self._number += 1
                slot = self._slots[self._number] = _PendingCall(self._number)
            self._send("call", {"call": slot.number, "name": name, "place": place}, body)
            self._wait(slot)
            if not slot.event.is_set():
                self._slots.pop(slot.number, None)
                self._send("uncall", {"call": slot.number}, b"")
        if not slot.event.is_set():
            raise KeyboardInterrupt
        return slot

    def _wait(self, slot: _PendingCall) -> None:
        """Return when the answer is there, or when an interrupt is."""
        while not slot.event.is_set() and not self._interrupted():
            with self._lock:
                leads = not self._reading
                self._reading = True
            if not leads:
                slot.event.wait(POLL_SECONDS)
                continue
            try:
                while not slot.event.is_set() and not self._interrupted():
                    self._read()
            finally:
                self._reading = False

    def _interrupted(self) -> bool:
        return self._interrupts.waiting and threading.current_thread() is threading.main_thread()

    def _readable(self, seconds: float | None) -> bool:
        poll = select.poll()
        poll.register(self._control(), select.POLLIN)
        return bool(poll.poll(None if seconds is None else seconds * 1_000))

    def _read(self) -> None:
        """Take in one frame, if one comes soon."""
        if not self._readable(POLL_SECONDS):
            return
        header, body = frames.receive(self._control())
        if header.get("type") != "answer":
            self._later.append((header, body))
            return
        with self._lock:
            slot = self._slots.pop(header.get("call", 0), None)
        if slot is not None:
            slot.ok, slot.body = bool(header.get("ok")), body
            slot.end()


def _place() -> str:
    """Where in the cells the present call is made, the outermost line first."""
    lines: list[str] = []
    frame: Any = sys._getframe(1)
    while frame is not None and len(lines) < MAX_LINES:
        code = frame.f_code
        if code.co_filename.startswith("<cell "):
            inside = "" if code.co_name == "<module>" else f" in {code.co_name[:40]}"
            lines.append(f"{code.co_filename[1:-1]}, line {frame.f_lineno}{inside}")
        frame = frame.f_back
    return "; ".join(reversed(lines))


def _packed(name: str, signature: inspect.Signature, arguments: tuple[Any, ...], options: dict[str, Any]) -> bytes:
    try:
        body = values.pack({"args": list(arguments), "kwargs": options})
    except values.UnserializableError as error:
        raise TypeError(f"{name}(): {_argument(error.path, signature)} {error.why}".replace("  ", " ")) from None
    if len(body) > frames.MAX_BODY:
        raise ValueError(
            f"{name}(): the arguments have {len(body):,} bytes, and at most {frames.MAX_BODY:,} can be sent in one "
            "call: pass less (fewer rows or columns, a summary), or several parts"
        )
    return body


def _argument(path: list[str | int], signature: inspect.Signature) -> str:
    """What the caller calls the place of a value."""
    if len(path) < 2:
        return ""
    where, which, *rest = path
    if where == "args":
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        named = [parameter.name for parameter in signature.parameters.values() if parameter.kind in kinds]
        which = named[int(which)] if int(which) < len(named) else f"number {int(which) + 1}"
    return f"argument {values.place([which, *rest])}"


def _result(name: str, slot: _PendingCall) -> Any:
    if slot.over:
        raise HostFunctionError(f"{name} was broken off: {slot.over}")
    if not slot.ok:
        said = json.loads(slot.body)
        raise HostFunctionError(f"{name}: {said['message']}", said["kind"])
    try:
        return values.unpack(slot.body)["value"]
    except ImportError as error:
        why = f"{name} gave a table, and reading it needs pyarrow, which is not here ({error})"
        raise HostFunctionError(why) from None
