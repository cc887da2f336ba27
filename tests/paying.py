"""A program whose analysis pays, with approval, and that can be killed: `python -m tests.paying [THREAD ID]`.

With a thread and a call's id it approves that call. It says what came of its run in a file, and then waits.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path

import stepwell
from graph.events import Event
from stepwell.runs import Decision, resume, start


class Till:
    """What was paid, seen in files below one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def transfer(self, to: str, amount: int) -> int:
        """Send money; it does not end while there is a file `stall`."""
        self._write("paid", f"{to}:{amount}")
        while (self.folder / "stall").exists():
            time.sleep(0.02)
        return len(self.lines("paid"))

    def send(self, text: str) -> int:
        """Send a message."""
        self._write("sent", text)
        return len(self.lines("sent"))

    def _write(self, name: str, line: str) -> None:
        with (self.folder / name).open("a") as file:
            file.write(f"{line}\n")

    def lines(self, name: str) -> list[str]:
        """The lines of a file."""
        file = self.folder / name
        return file.read_text().split() if file.exists() else []

    @property
    def functions(self) -> list[stepwell.HostFunction]:
        """What is offered."""
        return [stepwell.HostFunction(self.transfer, needs_approval=True), stepwell.HostFunction(self.send)]


async def main(*given: str) -> None:
    """Ask one question, or approve a call of it."""
    till = Till(Path(os.environ["TILL"]))
    if given:
        run = resume(given[0], decision=Decision("approve", call=given[1]), functions=till.functions)
    else:
        run = start("Pay", functions=till.functions)
    last: Event | None = None
    async for event in run:
        last = event
    assert last is not None
    partial = till.folder / "partial"
    await asyncio.to_thread(partial.write_text, json.dumps(last.as_json()))
    await asyncio.to_thread(partial.replace, till.folder / "ended")
    await asyncio.Event().wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
