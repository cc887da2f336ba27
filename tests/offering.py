"""A program that offers functions to its analysis, and can be killed: `python -m tests.offering`.

`send` cannot be repeated and `look` can; each writes a line to a file when it is called. `stall` does not end before
the file `go` is there.
"""

import asyncio
import os
import sys
import time
from pathlib import Path

import stepwell


class Office:
    """What the functions do, seen in files below one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _write(self, name: str, line: str) -> int:
        with (self.folder / name).open("a") as file:
            file.write(f"{line}\n")
        return len(self.lines(name))

    def lines(self, name: str) -> list[str]:
        """The lines of a file."""
        file = self.folder / name
        return file.read_text().split() if file.exists() else []

    def send(self, text: str) -> int:
        """Send a message; gives how many were sent."""
        return self._write("sent", text)

    def look(self, what: str = "all") -> int:
        """Look something up; gives how often that was done."""
        return self._write("looked", what)

    async def stall(self) -> str:
        """Wait until somebody comes."""
        await asyncio.to_thread(self._write, "stalled", "begun")
        while not await asyncio.to_thread((self.folder / "go").exists):
            await asyncio.sleep(0.02)
        return "over"

    def stall_repeatably(self) -> str:
        """The same, but it makes no difference how often."""
        self._write("stalled", "begun")
        while not (self.folder / "go").exists():
            time.sleep(0.02)
        return "over"

    @property
    def functions(self) -> list[stepwell.HostFunction]:
        """What is offered."""
        return [
            stepwell.HostFunction(self.send),
            stepwell.HostFunction(self.look, repeatable=True),
            stepwell.HostFunction(self.stall),
            stepwell.HostFunction(self.stall_repeatably, repeatable=True),
        ]


async def main() -> None:
    """Ask one question, on a thread that the caller knows."""
    run = stepwell.stream("Count", functions=Office(Path(os.environ["OFFICE"])).functions)
    await asyncio.to_thread((Path(os.environ["OFFICE"]) / "thread").write_text, run.thread)
    async for _ in run:
        pass


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
