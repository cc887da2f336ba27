"""Decides which steps are to be proved, has the session looked at, and compares a session that was restored with it."""

import json
import os
import resource
import select
import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from types import ModuleType
from typing import Any

from ..side_effects import Scan
from ..snapshots.save import EXCLUDED_NAMES
from ..snapshots.session_state.interpreter_state import StartState
from ..standby import threads
from . import differences, frozen_copy
from .deep_walk import attributes, is_users
from .session_prints import SessionPrints

EVERY = 10
"""Steps of nothing but kinds that have been proved, after which one is proved all the same."""
SAMPLED = 20
"""Items of a container whose kinds are looked at."""


class Prover:
    """The proofs of one session.

    Args:
        main: Its `__main__`.
        own: What the kernel put there.
        root: Its workspace.
        start: What there was when it began.
        spool: The folder in which fingerprints are written.
        blobs: The folder in which those of another session lie.
    """

    def __init__(
        self, main: ModuleType, own: dict[str, Any], root: str, start: StartState, spool: str, blobs: str
    ) -> None:
        self._main = main
        self._own = own
        self._spool = spool
        self._blobs = blobs
        self._prints = SessionPrints(main, own, root, start)
        self._proved: set[Any] = set()
        self._waiting: dict[str, set[Any]] = {}
        """Kinds in a step whose proof has begun, by its snapshot."""
        self._since = EVERY
        self._copy = frozen_copy.LookingCopy()

    def begin(self, asked: dict[str, Any], scan: Scan, descriptors: list[int]) -> dict[str, Any]:
        """Have the session looked at, if its step is to be proved.

        Args:
            asked: `snapshot`, `file` (the name of what is written), `always`, `proved` (the snapshot whose proof found
                nothing), `seconds`, `bytes`.
            scan: The files of the workspace when the step was kept.
            descriptors: What a copy must not hold.

        Returns:
            `state`: `copy` (a copy looks), `done` (it has been looked at), `known` (there is no need), or `refused`
            with the reason in `why`.
        """
        self._proved |= self._waiting.pop(asked.get("proved", ""), set())
        self._waiting.clear()
        kinds = self._kinds()
        self._since += 1
        if not asked["always"] and kinds <= self._proved and self._since < EVERY:
            return {"state": "known"}
        size = frozen_copy.resident_bytes()
        if size > asked["bytes"]:
            limit = f"{asked['bytes'] / 1e6:,.0f} MB"
            most = f"{limit} that a session may have to be proved (STEPWELL_PROOF_MB, and a quarter of its limit)"
            return {"state": "refused", "why": f"it has {size / 1e6:,.0f} MB, more than the {most}"}
        path = os.path.join(self._spool, asked["file"])
        if threads() == 1:
            self._copy.end()
            made = self._copy.begin(lambda: self._look(scan), path, asked["seconds"], descriptors)
            state = {"state": "copy"} if made else _refused("no process can be made for it")
        else:
            state = self._look_at_rest(scan, path, asked, descriptors[0])
        if state["state"] != "refused":
            self._since = 0
            self._waiting[asked["snapshot"]] = kinds
        return state

    @property
    def child(self) -> int:
        """The process of the copy that looks; 0: there is none."""
        return self._copy.process

    def copy_ended(self) -> None:
        """See whether the copy has ended, so that a cell that waits for its own processes does not meet it."""
        self._copy.reap()

    def woken(self) -> None:
        """Note that this process goes on in the place of the session: the copy that looks is not its child."""
        self._copy.forget()

    def _look_at_rest(self, scan: Scan, path: str, asked: dict[str, Any], control: int) -> dict[str, Any]:
        """Look at the session itself, which cannot be copied, as long as nobody wants anything of it."""
        import threading

        if threading.active_count() > 1 or len(sys._current_frames()) > 1:
            return _refused("threads of its own go on in it")
        if not asked["always"]:
            return {"state": "known"}
        began = os.times()
        poll = select.poll()  # `select` takes no numbers above 1,023, and a plain child has those of its parent
        poll.register(control, select.POLLIN)

        def is_called() -> None:
            now = os.times()
            if poll.poll(0) or now.user - began.user > asked["seconds"]:
                raise frozen_copy.TooMuchError

        found = frozen_copy.looked_at(lambda: self._prints.take(scan, pause=is_called))
        if "refused" in found:
            return _refused("it cannot be copied, and there was no time to look at it between two cells")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(found, file)
        return {"state": "done"}

    def _look(self, scan: Scan) -> dict[str, Any]:
        found = self._prints.take(scan)
        return {**found, "cpu": _cpu()}

    def _kinds(self) -> set[Any]:
        """The kinds of objects that there are, as far down as can be seen at once."""
        found: set[Any] = set()
        for name, value in list(self._main.__dict__.items()):
            if type(name) is not str or name in EXCLUDED_NAMES or self._own.get(name) is value:
                continue
            found.add(_kind(value))
            found.update(map(_kind, _parts(value)))
        return found

    def compare(self, asked: dict[str, Any], restore: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Restore a snapshot, and compare what came back with the fingerprints of another session.

        Args:
            asked: `file` with these; `known`, names that are known not to come back; `seconds`.
            restore: Restores it.

        Returns:
            What `differences.compare` says; `refused` with the reason where nothing could be compared.
        """
        with suppress(OSError):
            os.nice(19)
        with open(os.path.join(self._blobs, asked["file"]), encoding="utf-8") as file:
            before = json.load(file)
        if "refused" in before:
            return {"refused": before["refused"]}
        restored = restore()
        if restored["problem"]:
            return {"refused": restored["problem"]}
        frozen_copy.hold_time(asked["seconds"])
        now = frozen_copy.looked_at(lambda: self._prints.take(Scan(os.getcwd())))
        frozen_copy.hold_time(0)
        if "refused" in now:
            return {"refused": now["refused"]}
        known = set(asked["known"])
        for part in ("variables", "settings", "files"):
            before[part] = {name: one for name, one in before[part].items() if _shown(name) not in known}
        reasons = {one["name"]: one["reason"] for one in restored["lost"]}
        found = differences.compare(before, now, reasons)
        return {**found, "cpu": before.get("cpu", 0.0) + _cpu()}


def _refused(why: str) -> dict[str, Any]:
    return {"state": "refused", "why": why}


def _shown(name: str) -> str:
    """A file outside of the workspace is known by its path."""
    variable, _, path = name.partition("/")
    return os.path.join(os.environ[variable], path) if variable in ("TMPDIR", "HOME") and path else name


def _kind(value: Any) -> Any:
    kind = type(value)
    return (kind.__module__, kind.__qualname__, id(kind)) if is_users(kind) else kind


def _parts(value: Any) -> list[Any]:
    """Some of what a value holds."""
    kind = type(value)
    if kind in (list, tuple):
        return list(value[:SAMPLED])
    if kind is dict:
        return list(islice(value.values(), SAMPLED))
    if is_users(kind):
        return list(attributes(value, kind).values())[:SAMPLED]
    return []


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
