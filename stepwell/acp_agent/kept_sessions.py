"""What is kept of an editor's sessions besides their threads: their folder, and how cells are agreed to."""

import asyncio
import json
import os
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from sandboxes.opening import ID

Mode = Literal["auto", "ask", "plan"]
MODES: dict[str, tuple[str, str]] = {
    "auto": ("Run cells", "Cells run as they are written."),
    "ask": ("Ask before each cell", "Each cell waits until you have agreed to it."),
    "plan": ("Agree on the plan", "The plan waits until you have agreed to it; cells then run."),
}
"""By their ids: names and descriptions."""


@dataclass(frozen=True, slots=True)
class KeptSession:
    """A session of an editor."""

    thread: str
    cwd: str
    mode: str = "auto"


class KeptSessions:
    """The sessions of a data folder, one small file each.

    Args:
        folder: Where the files are.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def keep(self, session: KeptSession) -> None:
        """Keep a session, in the place of what was kept of it."""
        await asyncio.to_thread(self._write, session)

    def _write(self, session: KeptSession) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=self._folder, delete=False) as file:
            json.dump(asdict(session), file)
        os.replace(file.name, self._folder / f"{session.thread}.json")  # noqa: PTH105

    async def of(self, thread: str) -> KeptSession | None:
        """What is kept of a session; None where nothing is."""
        return await asyncio.to_thread(self._read, thread)

    def _read(self, thread: str) -> KeptSession | None:
        if not ID.fullmatch(thread):
            return None
        try:
            said = json.loads((self._folder / f"{thread}.json").read_text("utf-8"))
            return KeptSession(thread, str(said["cwd"]), said["mode"] if said["mode"] in MODES else "auto")
        except (OSError, ValueError, KeyError, TypeError):
            return None

    async def all(self, threads: set[str]) -> list[KeptSession]:
        """Those of these threads; what is kept of others, which were deleted, goes."""

        def read() -> list[KeptSession]:
            found = []
            for file in sorted(self._folder.glob("*.json")) if self._folder.is_dir() else []:
                session = self._read(file.stem)
                if session is not None and session.thread in threads:
                    found.append(session)
            return found

        return await asyncio.to_thread(read)

    async def drop(self, thread: str) -> None:
        """Keep nothing of a session."""

        def remove() -> None:
            with suppress(OSError):
                (self._folder / f"{thread}.json").unlink()

        await asyncio.to_thread(remove)
