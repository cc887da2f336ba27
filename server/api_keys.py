"""API keys: a text file with a hash for each, read again when it changes.

A line is `NAME sha256:HASH`, then perhaps `until=2027-01-31` and `operator`; a name may have several lines, so that a
new key is given out before the old one is taken away. Keys are 256 random bits, so a plain hash tells nothing of them.
"""

import asyncio
import hashlib
import logging
import re
import secrets
import time
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from graph.settings import SettingsError
from server.users import UnknownUserError, User

PREFIX = "sw_"
LINE = re.compile(
    r"(?P<name>[^\s#]{1,200})\s+sha256:(?P<hash>[0-9a-f]{64})"
    r"(?:\s+until=(?P<until>\d{4}-\d{2}-\d{2}))?(?P<operator>\s+operator)?\s*"
)
LOOK_SECONDS = 1.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A line of the file."""

    user: User
    until: date | None
    """The last day on which the key is taken."""


class ApiKeys:
    """The keys in a file.

    Args:
        file: Where they are.
        look_seconds: How often it is looked whether the file has changed.

    Raises:
        SettingsError: the file cannot be read.
    """

    def __init__(self, file: Path, *, look_seconds: float = LOOK_SECONDS) -> None:
        self._look_seconds = look_seconds
        self._file = file
        self._stamp: tuple[int, int, int] | None = None
        self._known: dict[str, KeyRecord] = {}
        self._looked = 0.0
        try:
            self._read()
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(
                f"The API keys in {file} cannot be read ({getattr(error, 'strerror', None) or error}); make the file "
                "with: python -m server.keys add NAME"
            ) from None

    async def authenticate(self, credential: str) -> User | None:
        """Who has this key; None when nobody has.

        Raises:
            UnknownUserError: it was taken until some day, and that is over.
        """
        if time.monotonic() - self._looked > self._look_seconds:
            await asyncio.to_thread(self._read_again)
        known = self._known.get(hash_of(credential))
        if known is None:
            return None
        if known.until is not None and datetime.now(UTC).date() > known.until:
            raise UnknownUserError(f"This key was valid until {known.until}.")
        return known.user

    def _read_again(self) -> None:
        try:
            self._read()
        except (OSError, UnicodeDecodeError) as error:  # keys that may have been revoked open nothing
            self._known, self._stamp = {}, None
            logger.warning("The API keys cannot be read (%s); no key is taken.", error)

    def _read(self) -> None:
        self._looked = time.monotonic()
        state = self._file.stat()
        stamp = (state.st_mtime_ns, state.st_size, state.st_ino)
        if stamp == self._stamp:
            return
        known: dict[str, KeyRecord] = {}
        for number, line in enumerate(self._file.read_text("utf-8").splitlines(), 1):
            entry = line.strip()
            if not entry or entry.startswith("#"):
                continue
            try:
                key, one = _understood(entry)
                known[key] = one
            except ValueError:
                logger.warning("Line %d of the API keys cannot be understood; it lets nobody in.", number)
        self._known, self._stamp = known, stamp


def new_key() -> str:
    """A new random key."""
    return PREFIX + secrets.token_urlsafe(32)


def hash_of(key: str) -> str:
    """The hash of a key, as the file holds it."""
    return hashlib.sha256(key.encode()).hexdigest()


def line_of(name: str, key: str, *, until: date | None = None, operator: bool = False) -> str:
    """The line for a key.

    Raises:
        ValueError: the name has a space or `#` in it, or is empty or too long.
    """
    parts = [name, f"sha256:{hash_of(key)}", f"until={until}" if until else "", "operator" if operator else ""]
    line = " ".join(part for part in parts if part)
    if not LINE.fullmatch(line):
        raise ValueError("A name has 1 to 200 characters, without spaces and `#`.")
    return line


def _understood(line: str) -> tuple[str, KeyRecord]:
    found = LINE.fullmatch(line)
    if found is None:
        raise ValueError(line)
    until = date.fromisoformat(found["until"]) if found["until"] else None
    return found["hash"], KeyRecord(User(f"key:{found['name']}", operator=bool(found["operator"])), until)
