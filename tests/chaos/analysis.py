"""One analysis: its processes one after another, with what happens in and between them, to its end."""

import asyncio
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.chaos import cells
from tests.chaos.cells import Kind
from tests.chaos.faults import CLOCKS, DELETIONS, DISK_MEGABYTES, bring_back, delete, make_room, next_fault
from tests.chaos.history import CHANGED, DOUBTS, NOT_BEGUN, SAID, SCRIPT, TOO_LATE, History
from tests.chaos.life import Endpoint, Life, Parent, environment, go_through
from tests.scripted_replies import Plain, Request

MAX_LIVES = 40
FAULTY_LIVES = 14
"""After so many processes an analysis is left in peace, so that it ends."""


class Outside:
    """Somebody outside of all sandboxes, who counts the calls of each cell."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    async def __aenter__(self) -> "Outside":
        self._server = await asyncio.start_server(self._called, "127.0.0.1", 0)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _called(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.calls[(await reader.readline()).decode().strip()] += 1
        writer.close()


class Analysis:
    """An analysis that is disturbed.

    Args:
        parent: Forks its processes.
        home: A folder of its own.
        kind: What its cells do.
        counted: Whether the cells of kind `inside` run without walls, so that their runs can be counted.
        disk: Whether it has a small disk of its own, which fills; the parent has mounts of its own then.
        chance: Decides what happens when; None: nothing happens.
        kills: Whether nothing but kills happens.
    """

    def __init__(
        self,
        parent: Parent,
        home: Path,
        kind: Kind,
        chance: random.Random | None,
        *,
        counted: bool,
        disk: bool = False,
        kills: bool = False,
    ) -> None:
        self.history = History(kind, counted)
        self.faults: Counter[str] = Counter()
        self.places: Counter[str] = Counter()
        self.lives = 0
        self.files: dict[str, str] = {}
        self._parent, self._home, self._kind, self._chance = parent, home, kind, chance
        self._counted = counted
        self._kills = kills
        self._accept = False
        self._on_a_disk, self._disk = disk, home
        """Where its home is to be seen from here."""

    async def run(self, files: dict[str, str]) -> None:
        """Go through it to its end, and compare what it came to with an undisturbed run's files."""
        await asyncio.to_thread(self._home.mkdir, parents=True)
        if self._on_a_disk:
            disk = await asyncio.to_thread(self._parent.mount, self._home, DISK_MEGABYTES)
            if disk is None:
                self.history.problems.append("there is no small disk for it")
                return
            self._disk = disk
        await asyncio.to_thread(bring_back, self._disk)
        async with Outside() as outside:
            endpoint = Endpoint(self._model(outside.port))
            try:
                thread = await self._live_on(endpoint, outside)
                if thread:
                    await asyncio.to_thread(make_room, self._disk)
                    life = await self._life(["show", thread, "--json"], endpoint, quiet=True)
                    shown: dict[str, Any] = life.events[0] if life.events else {}
                    await asyncio.to_thread(self._forget_circumstances, shown, thread)
                    self.files = {str(one["name"]): str(one["sha256"]) for one in shown.get("artifacts", ())}
                    self.history.compare(shown, self._effects(outside), files or self.files)
            finally:
                await endpoint.close()

    def _model(self, port: int) -> Callable[[Request], Plain]:
        counter = str(self._home / "counter") if self._counted else ""
        made: Callable[[int], str] = cells.functions
        if self._kind == "inside":
            made = partial(cells.inside, counter=counter)
        elif self._kind == "outside":
            made = partial(cells.outside, port=port)
        policy = cells.policy(made, again=self._kind == "inside")
        chance = random.Random(0)  # not the one that decides on faults, whose choices can be repeated

        def slow(request: Request) -> Plain:
            time.sleep(chance.uniform(0.005, 0.05))
            return policy(request)

        return slow

    async def _live_on(self, endpoint: Endpoint, outside: Outside) -> str:
        """Process after process; the thread once it has ended, or nothing when something was wrong."""
        thread = ""
        for _ in range(MAX_LIVES):
            await self._between(bool(thread))
            life = await self._life(self._words(thread), endpoint)
            self.history.add(life, self._effects(outside))
            await asyncio.to_thread(self._write_down, life)
            if self.history.problems:
                return ""
            if any(words in life.errors for words in NOT_BEGUN) and life.code == 2:
                thread = ""  # ended before its first checkpoint: nothing had begun
            elif life.code == 2 and CHANGED in life.errors:
                await self._find_input()
            elif life.code == 0 or (life.code == 2 and TOO_LATE in life.errors):
                return thread or life.thread
            else:
                thread = thread or life.thread
        self.history.problems.append(f"it did not end in {MAX_LIVES} processes")
        return ""

    def _write_down(self, life: Life) -> None:
        """Leave a record for whoever looks for the cause of a problem."""
        with (self._home / "lives.jsonl").open("a") as file:
            file.write(json.dumps({**asdict(life), "faults so far": self.faults}) + "\n")

    def _words(self, thread: str) -> list[str]:
        if self._kind == "functions":
            return ["program", thread]
        if thread:
            return ["resume", thread, "--json", *(["--accept-changed"] if self._accept else [])]
        return ["run", "Count", "--json", *(["numbers.txt"] if self._kind == "inside" else [])]

    async def _life(self, words: list[str], endpoint: Endpoint, *, quiet: bool = False) -> Life:
        chance = self._chance if self.lives < FAULTY_LIVES and not quiet else None
        shift = 0 if chance is None or self._kills else chance.choice((0, 0, *CLOCKS))
        self.faults["clock set forward" if shift > 0 else "clock set back"] += shift != 0
        walls = "process" if self._counted or self._kind == "outside" else ""
        temporary = self._home if self._on_a_disk else Path(tempfile.gettempdir())
        found = environment(self._home, await endpoint.url(), walls, shift, temporary)
        ended, disk = len(self.history.statuses), self._disk if self._on_a_disk else None
        fault = None
        if chance is not None:
            fault = next_fault(self._kind, ended, chance, disk=self._on_a_disk, kills=self._kills)
        life = await go_through(self._parent, words, found, self._home, fault, endpoint, disk)
        if not quiet:
            self.lives += 1
        if life.done:
            self.faults[life.done] += 1
            self.places[life.place] += 1
        return life

    async def _between(self, begun: bool) -> None:
        """Perhaps something is deleted; cells that reach outside have their note on it there, and keep it.

        A disk that is full mostly gets room again.
        """
        chance = self._chance
        if self._on_a_disk and (chance is None or self.lives > FAULTY_LIVES or chance.random() < 0.7):
            await asyncio.to_thread(make_room, self._disk)
        if chance is None or self._kills or not begun or self._kind != "inside":
            return
        if chance.random() > 0.4 or self.lives > FAULTY_LIVES:
            return
        what = chance.choice(DELETIONS)
        if what == "input and its source" and (self._accept or "1" not in self.history.over):
            return  # the first cell reads it
        if await asyncio.to_thread(delete, what, self._disk):
            self.faults[f"deleted: {what}"] += 1
            self.history.input_gone = self.history.input_gone or what == "input and its source"

    async def _find_input(self) -> None:
        """The thread stopped because its input is gone: it comes back, or the user goes on without it."""
        assert self._chance is not None
        if self._chance.random() < 0.5 and "1" in self.history.over:
            self._accept = True
            self.faults["accepted what had changed"] += 1
        else:
            await asyncio.to_thread(bring_back, self._disk)

    def _forget_circumstances(self, shown: dict[str, Any], thread: str) -> None:
        """Take digests without what no undisturbed run has: our own folder, and what is said of a cell that is lost.

        The script names the folder as that of its input. Of a lost cell, whose work was done again, files are missed
        that had its number; the document with the answer says so at its end.
        """
        for one in shown.get("artifacts", ()):
            file = self._disk / "artifacts" / thread / one["name"]
            if one["name"] not in (SCRIPT, SAID) or not file.exists():
                continue
            content = file.read_bytes()
            if sha256(content).hexdigest() != one["sha256"]:
                continue
            if one["name"] == SCRIPT:
                content = content.replace(str(self._home).encode(), b"HOME")
            elif self.history.loss_told and shown.get("concerns"):
                content = content.partition(DOUBTS)[0]
            one["sha256"] = sha256(content).hexdigest()

    def _effects(self, outside: Outside) -> Counter[str]:
        if self._kind == "outside":
            return Counter(outside.calls)
        file = self._disk / ("sent" if self._kind == "functions" else "counter")
        return Counter(file.read_text().split()) if file.exists() else Counter()
