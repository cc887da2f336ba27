"""Runs the needed cells again, each with the files and settings that it found then, and settles at the snapshot."""

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from ..cells import Cells
from ..snapshots import ambient, manifest, packs
from ..snapshots.blobs import Blobs, MissingBlobError
from ..snapshots.pickling import load
from ..snapshots.restoring import Restoring
from ..snapshots.taking import AMBIENT, Taking, type_name
from .settling import Settling, unsettle

EMPTY = {name: {"folder": True, "mode": 0o755} for name in ("outputs", "figures")}

Run = Callable[[str, int], str]
"""Run a cell, given its code and number, and say what it raised; empty when it ended well."""


class Rebuilding:
    """Makes lost variables again.

    Args:
        main: The session's `__main__`, empty.
        own: What the kernel put there.
        taking: What takes the session's snapshots.
        blobs: Where snapshots are.
        cells: Knows which compiler flags earlier cells have set.
        run: Runs a cell.
    """

    def __init__(
        self, main: ModuleType, own: dict[str, Any], taking: Taking, blobs: Blobs, cells: Cells, run: Run
    ) -> None:
        self._main = main
        self._own = own
        self._taking = taking
        self._blobs = blobs
        self._cells = cells
        self._run = run

    def rebuild(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Do it.

        Args:
            asked: `snapshot`, `base` (the snapshot to start from; empty: none), `cells` (`number`, `code`, `before`:
                the snapshot before it when the cell before it does not run), `names` (name → type) and `seconds`.

        Returns:
            The content of the kernel's answer: that of a restore, with `rebuilt`; or `broken_off`, with the `cell`.
        """
        if asked["base"]:
            answer = Restoring(self._main, self._taking, self._blobs).restore(asked["base"])
            if answer["problem"]:
                return _broken_off(0, answer["problem"])
            self._cells.futures = answer["futures"]
        else:
            self._taking.files.restore(EMPTY, self._blobs)
        with _alarm(asked["seconds"]):
            for cell in asked["cells"]:
                try:
                    if cell["before"] and cell["before"] != asked["base"]:
                        self._surroundings(cell["before"])
                except (MissingBlobError, OSError) as error:
                    return _broken_off(cell["number"], f"its files cannot be brought back ({error})")
                if problem := self._run(cell["code"], cell["number"]):
                    return _broken_off(cell["number"], problem)
        made, refused = self._made(asked["names"])
        settling = Settling(self._main, made, self._own)
        self._taking.lost_in.clear()
        unsettle(self._taking.start)
        answer = Restoring(self._main, self._taking, self._blobs, settling).restore(asked["snapshot"])
        refused |= settling.refused
        lost = [
            {**one, "reason": f"{one['reason']}; {refused[one['name']]}"} if one["name"] in refused else one
            for one in answer["lost"]
            if one["name"] not in made
        ]
        return {**answer, "lost": lost, "rebuilt": list(made), "broken_off": "", "cell": 0}

    def _made(self, names: dict[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
        """What is there again, and why the rest is not."""
        made: dict[str, Any] = {}
        refused: dict[str, str] = {}
        for name, before in names.items():
            if name not in self._main.__dict__:
                refused[name] = "running its cells again did not make it"
            elif (now := type_name(type(self._main.__dict__[name]))) != before and before:
                refused[name] = f"running its cells again made a {now}"
            else:
                made[name] = self._main.__dict__[name]
        return made, refused

    def _surroundings(self, id: str) -> None:
        """Bring files and settings to a snapshot, and leave the variables.

        Raises:
            MissingBlobError: a blob is missing or damaged.
            OSError: the workspace cannot be written.
        """
        content = manifest.unpack(self._blobs.read(id))
        self._taking.files.restore(content["files"], self._blobs)
        cache: dict[str, bytes] = {}
        early = packs.read(content["extra"]["early"], content["packs"], self._blobs, cache)
        unsettle(self._taking.start)
        ambient.set_early(json.loads(early))
        settings: dict[str, Any] = {}
        for unit in content["variables"]["units"]:
            if all(name.startswith(AMBIENT) for name in unit["names"]) and not (unit["buffers"] or unit.get("code")):
                stream = packs.read(unit["stream"], content["packs"], self._blobs, cache)
                settings.update(load(stream, [], len(unit["names"])))
        ambient.set_parts({name.removeprefix(AMBIENT): value for name, value in settings.items()})


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Interrupt whatever runs after so long."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _broken_off(cell: int, why: str) -> dict[str, Any]:
    return {"restored": [], "lost": [], "versions": [], "problem": "", "broken_off": why, "cell": cell}
