"""A session of a rival in a process of its own: `python -m bench.rivals.dill_session < job.json`.

A job is `{"do": "live"}`: run cells, keep each, say how long that took and what it stored; or `{"do": "restore"}`:
import packages, restore a step, say how long that took. Both describe the variables and answer probes.
"""

import importlib
import json
import linecache
import os
import resource
import sys
import time
import types
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.rivals import looking


class Session(ABC):
    """A session in `__main__`, as a script has it, whose steps are kept as one file each.

    Args:
        store: The folder for what is kept.
    """

    def __init__(self, store: Path) -> None:
        self.store = store

    @property
    def namespace(self) -> dict[str, Any]:
        """The variables."""
        return sys.modules["__main__"].__dict__

    def run(self, code: str, number: int) -> None:
        """Run a cell."""
        name = f"<cell {number}>"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        exec(compile(code, name, "exec"), self.namespace)

    def keep(self, number: int) -> tuple[float, int, str, float]:
        """Keep the variables after a cell.

        Returns:
            The seconds that took, the bytes that were stored, why nothing was, if so, and the seconds of a processor.
        """
        file, failed = self._file(number), ""
        began, cpu = time.perf_counter(), computed()
        try:
            self.dump(file)
        except BaseException as error:  # whatever pickling runs into
            failed = f"{type(error).__name__}: {error}"[:300]
        seconds, cpu = time.perf_counter() - began, computed() - cpu
        if failed:
            file.unlink(missing_ok=True)
        return seconds, 0 if failed else file.stat().st_size, failed, cpu

    def restore(self, number: int) -> None:
        """Bring back the variables as they were after a cell."""
        self.load(self._file(number))

    @abstractmethod
    def dump(self, file: Path) -> None:
        """Write the variables."""

    @abstractmethod
    def load(self, file: Path) -> None:
        """Read the variables."""

    def _file(self, number: int) -> Path:
        return self.store / f"step-{number}"


def computed() -> float:
    """Seconds of a processor of this process and of its children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + used.ru_utime + used.ru_stime


def serve(make: Callable[[Path], Session]) -> None:
    """Do the job on standard input, and end the process.

    Args:
        make: Makes the session, in a fresh `__main__`, with the folder for what is kept.
    """
    asked: dict[str, Any] = json.load(sys.stdin)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what cells print is of no interest
    sys.modules["__main__"] = types.ModuleType("__main__")
    os.chdir(asked["folder"])
    sys.path.insert(0, asked["folder"])
    answer = (_live if asked["do"] == "live" else _restore)(make, asked)
    json.dump(answer, answers)
    answers.close()
    os._exit(0)  # threads and exit handlers of libraries are not waited for


def _live(make: Callable[[Path], Session], asked: dict[str, Any]) -> dict[str, Any]:
    session = make(Path(asked["store"]))
    said: dict[str, Any] = {"cells": [], "keeps": [], "described": {}}
    for number, code in enumerate(asked["cells"], 1):
        began = time.perf_counter()
        session.run(code, number)
        ran = time.perf_counter() - began
        kept = session.keep(number)
        said["keeps"].append(kept)
        said["cells"].append(ran - kept[0] if asked.get("keeps_in_cell") else ran)
        if number in asked["describe"]:
            said["described"][str(number)] = looking.describe(session.namespace)
    said["answers"] = looking.answer(session.namespace, asked["probes"])
    return said


def _restore(make: Callable[[Path], Session], asked: dict[str, Any]) -> dict[str, Any]:
    for name in asked["modules"]:
        importlib.import_module(name)
    session = make(Path(asked["store"]))
    said: dict[str, Any] = {"failed": "", "described": {}, "answers": []}
    began = time.perf_counter()
    try:
        session.restore(asked["step"])
    except BaseException as error:  # a rival that cannot restore has said so
        said["failed"] = f"{type(error).__name__}: {error}"[:300]
    said["seconds"] = time.perf_counter() - began
    said["ready"] = time.time()
    if not said["failed"]:
        said["described"] = looking.describe(session.namespace)
        said["answers"] = looking.answer(session.namespace, asked["probes"])
    return said
