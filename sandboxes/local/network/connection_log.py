"""The log of a sandbox's connections: a line of JSON each, in a file beside its workspace."""

import asyncio
import dataclasses
import json
import logging
from pathlib import Path

from sandboxes.local.network.proxy import Connection

LOG = logging.getLogger("stepwell.network")
FILE = "connections.jsonl"
MAX_BYTES = 8_000_000
"""Then the file becomes `connections.jsonl.1`, in the place of an older one."""
MAX_WAITING = 5_000
"""Lines that wait for the disk; what comes beyond that is counted."""


class ConnectionLog:
    """Appends to the file, in a thread, without keeping anybody waiting.

    Args:
        folder: The sandbox's folder.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE
        self._waiting: list[str] = []
        self._left_out = 0
        self._writing: asyncio.Task[None] | None = None

    def add(self, connection: Connection) -> None:
        """Log a connection that has ended; call it in the event loop."""
        if len(self._waiting) >= MAX_WAITING:
            self._left_out += 1
            return
        self._waiting.append(json.dumps(dataclasses.asdict(connection), sort_keys=True))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.ensure_future(self._write())

    async def close(self) -> None:
        """Wait until all of it is in the file."""
        if self._writing is not None:
            await self._writing

    async def _write(self) -> None:
        while self._waiting:
            lines, self._waiting = self._waiting, []
            if self._left_out:
                lines.append(json.dumps({"left_out": self._left_out}))
                self._left_out = 0
            try:
                await asyncio.to_thread(self._append, "".join(f"{line}\n" for line in lines))
            except OSError as error:  # the disk is full: an analysis does not end for that
                LOG.warning("%d connections could not be logged: %s", len(lines), error)

    def _append(self, text: str) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(text)
            size = file.tell()
        if size > MAX_BYTES:
            self._file.replace(self._file.with_name(f"{FILE}.1"))
