"""Links to published files that work without a key, for a stated time: a browser sends no key for a picture.

A link is signed with HMAC-SHA256 (RFC 2104) over the thread, the file's name and the time until which it works. Whoever
has the link has the file, and nothing else of the thread.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

KEY_BYTES = 32
UNTIL, SIGNATURE = "until", "signature"
"""The parameters of a link's query."""


@dataclass(slots=True)
class LinkSigner:
    """Signs links, and verifies its own."""

    file: Path
    """Where the key is kept when none is given: made there once, so that links outlive a restart."""
    secret: str = field(default="", repr=False)
    """A key that several servers share; empty: the file's."""
    seconds: int = 7 * 86_400
    """How long a link works."""
    _key: bytes = field(default=b"", init=False, repr=False)

    async def query(self, thread: str, name: str) -> str:
        """What is put behind a file's address.

        Raises:
            OSError: the key can neither be read nor made.
        """
        # By whole hours, so that the same file has the same address for a while and a browser may keep it.
        until = (int(time.time()) // 3_600 + 1) * 3_600 + self.seconds
        return urlencode({UNTIL: until, SIGNATURE: await self._sign(thread, name, str(until))})

    async def admits(self, thread: str, name: str, query: Mapping[str, str]) -> bool:
        """Whether a query was signed for this file and has not expired.

        Raises:
            OSError: as `query`.
        """
        until, signature = query.get(UNTIL, ""), query.get(SIGNATURE, "")
        if not (until.isascii() and until.isdigit() and len(until) <= 12) or int(until) < time.time():
            return False
        wanted = await self._sign(thread, name, until)
        return hmac.compare_digest(wanted.encode(), signature.encode("utf-8", "replace"))

    async def _sign(self, thread: str, name: str, until: str) -> str:
        if not self._key:
            self._key = self.secret.encode() or await asyncio.to_thread(_kept_key, self.file)
        text = json.dumps([thread, until, name]).encode()  # of no two files the same
        return base64.urlsafe_b64encode(hmac.digest(self._key, text, hashlib.sha256)).decode().rstrip("=")


def _kept_key(file: Path) -> bytes:
    """The key in a file, which is made if there is none; of two who make it at once, one's is taken by both."""
    for _ in range(2):
        try:
            key = file.read_bytes()
        except FileNotFoundError:
            file.parent.mkdir(parents=True, exist_ok=True)
            aside = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
            with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
                out.write(secrets.token_bytes(KEY_BYTES))
                out.flush()
                os.fsync(out.fileno())
            try:
                file.hardlink_to(aside)  # which fails where there is one by now
            except FileExistsError:
                pass
            finally:
                aside.unlink(missing_ok=True)
            continue
        if len(key) == KEY_BYTES:
            return key
        raise OSError(
            f"{file} does not hold a key of {KEY_BYTES} bytes; remove it, and links made so far stop working."
        )
    raise OSError(f"{file} cannot be made.")
