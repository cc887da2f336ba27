"""Whose a thread is, remembered beyond the thread itself, because files of it may outlive it.

It stands with the checkpoints, so all servers on them agree; a server that keeps checkpoints by itself has a folder.
"""

import asyncio
import hashlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from graph.checkpoints.saver import Saver

ID = re.compile(r"[0-9A-Za-z_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Owners:
    """A hash of its owner's id for each thread that users ever made."""

    saver: Callable[[], Saver | None]
    """The checkpoints, where they are ours."""
    folder: Path
    """Where it is remembered else: a small file for each thread."""

    async def take(self, thread: str, user: str) -> bool:
        """Make a thread the user's, unless it was somebody else's, or nobody's, before.

        Returns:
            Whether it is the user's now.
        """
        if not ID.fullmatch(thread):
            return False
        mark = hashlib.sha256(user.encode("utf-8", "surrogateescape")).hexdigest()
        if (saver := self.saver()) is not None:
            return await saver.claim(thread.lower(), mark)
        return await asyncio.to_thread(self._take, thread.lower(), mark.encode())

    def _take(self, thread: str, mark: bytes) -> bool:
        file = self.folder / thread[:2] / thread
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f"{thread}.{os.getpid()}.{id(mark):x}.partial")
        partial.write_bytes(mark)
        try:
            os.link(partial, file)  # of two at once, one is first, and nobody sees half a file
        except FileExistsError:
            return file.read_bytes() == mark
        finally:
            partial.unlink(missing_ok=True)
        return True
