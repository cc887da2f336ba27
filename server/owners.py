"""Whose a thread's files on this machine are, remembered beyond the thread itself."""

import asyncio
import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

ID = re.compile(r"[0-9A-Za-z_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Owners:
    """A small file for each thread that was ever made here, with a hash of its owner's id."""

    folder: Path

    async def take(self, thread: str, user: str) -> bool:
        """Make a thread the user's, unless it was somebody else's before.

        Returns:
            Whether it is the user's now.
        """
        return bool(ID.fullmatch(thread)) and await asyncio.to_thread(self._take, thread, user)

    def _take(self, thread: str, user: str) -> bool:
        mark = hashlib.sha256(user.encode("utf-8", "surrogateescape")).hexdigest().encode()
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
