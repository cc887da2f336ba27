"""Rewrites a damaged file of checkpoints with what can be read of it; the damaged file is kept beside it.

Growing channels are rebuilt from what was added at each checkpoint. So where something of a checkpoint is lost, none
that came after it can be trusted, and its thread goes back to the newest step before the damage.
"""

import fcntl
import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO

from langgraph.checkpoint.serde.base import SerializerProtocol

from graph.checkpoints.damage import check_checkpoint, check_write, reporting_damage
from graph.checkpoints.sqlite_saver import readable_metadata
from graph.settings import SettingsError

CHECKPOINTS, WRITES = "checkpoints", "writes"
JOURNAL = "stepwell:"
"""How the journal's channels begin."""
OTHERS = ("stepwell_write_runs", "stepwell_owners", "stepwell_labels")
LOGS = ("-wal", "-shm")
"""The files that belong to one database."""
SHARED_FIRST, SHARED_BYTES = 0x4000_0002, 510
"""Where SQLite locks a database that it has open: for as long as it is open, where there is a log."""
PROBED = 200_000
"""Rows at most that are tried one by one, between those that are read from either end of a table."""

Row = tuple[Any, ...]
Key = tuple[str, str, str]
"""Thread, namespace and checkpoint."""


@dataclass
class RepairReport:
    """What was read and what was lost."""

    threads: int = 0
    """Threads that are whole."""
    set_back: dict[str, int] = field(default_factory=dict)
    """Threads that lost something, and how many of their checkpoints are left."""
    kept_copy: Path = Path()
    """The folder with the damaged file."""


def repair_database(file: Path, serde: SerializerProtocol) -> RepairReport:
    """Write the database anew.

    Args:
        file: The database.
        serde: Reads values.

    Raises:
        SettingsError: another process has it open, or it cannot be copied or written; then all is as it was.
    """
    kept = file.with_name(f"{file.stem}-damaged-{datetime.now(UTC):%Y%m%dT%H%M%S}-{token_hex(2)}")
    new = file.with_suffix(".repaired")
    try:
        with _alone(file) as held:
            _copy(file, kept, held)
            _remove(new)
            # Read from a copy of its own: opening a database with a log changes it.
            with _scratch(kept / file.name) as scratch, closing(sqlite3.connect(new)) as target:
                result = _Salvage(scratch, target, serde).run()
            _replace(file, new, kept)
    except (OSError, sqlite3.Error) as error:
        _remove(new)
        shutil.rmtree(kept, ignore_errors=True)  # a whole copy, on a disk that may be full
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"The checkpoints in {file} cannot be repaired ({reason}); nothing was changed.") from None
    result.kept_copy = kept
    return result


@contextmanager
def _alone(file: Path) -> Iterator[BinaryIO]:
    """Keep other processes from opening the database, and see that none has it open: it would write on into nothing."""
    with file.open("r+b") as held:  # what opened it once more would, when closing it, give the lock back
        try:
            fcntl.lockf(held, fcntl.LOCK_EX | fcntl.LOCK_NB, SHARED_BYTES, SHARED_FIRST)
        except BlockingIOError:
            raise SettingsError(f"A server or a command has {file} open; stop it, then repair.") from None
        yield held


def _replace(file: Path, new: Path, kept: Path) -> None:
    try:
        for part in LOGS:  # first: the log of the damaged file would be read into the new one
            Path(f"{file}{part}").unlink(missing_ok=True)
        new.replace(file)
    except OSError as error:
        raise SettingsError(
            f"{new} cannot be moved to {file} ({error.strerror}); move it there, the file as it was is in {kept}."
        ) from None


def _remove(new: Path) -> None:
    new.unlink(missing_ok=True)
    Path(f"{new}-journal").unlink(missing_ok=True)


def _copy(file: Path, folder: Path, opened: BinaryIO) -> None:
    folder.mkdir()
    with (folder / file.name).open("wb") as out:
        shutil.copyfileobj(opened, out)
    for part in LOGS:
        with suppress(FileNotFoundError):
            shutil.copy2(f"{file}{part}", folder)


@contextmanager
def _scratch(file: Path) -> Iterator[sqlite3.Connection]:
    folder = file.parent / "reading"
    try:
        with file.open("rb") as opened:
            _copy(file, folder, opened)
        with closing(sqlite3.connect(folder / file.name)) as source:
            source.text_factory = lambda data: data.decode("utf-8", "replace")
            yield source
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Salvage:
    def __init__(self, source: sqlite3.Connection, target: sqlite3.Connection, serde: SerializerProtocol) -> None:
        self._source, self._target, self._serde = source, target, serde
        self._result = RepairReport()
        self._hurt: dict[str, set[Key]] = defaultdict(set)
        """By thread: the checkpoints that something is lost of."""

    def run(self) -> RepairReport:
        """Read all that can be read, and write what can be trusted."""
        checkpoints = {row[:3]: row for row in self._readable(CHECKPOINTS, 7, self._is_checkpoint)}
        writes: dict[Key, list[Row]] = defaultdict(list)
        for row in self._readable(WRITES, 9, self._is_write):
            writes[row[:3]].append(row)
        self._find_gaps(checkpoints, writes)
        doomed = self._doomed(checkpoints)
        kept = {key: row for key, row in checkpoints.items() if key not in doomed}
        self._write(CHECKPOINTS, kept.values())
        hurt = {key for keys in self._hurt.values() for key in keys}
        # Of a task that lost something nothing may pass for done; what the journal says of its cell stays.
        trusted = (row for key, rows in writes.items() if key in kept for row in rows if key not in hurt or _ours(row))
        self._write(WRITES, trusted)
        for table in OTHERS:
            self._write(table, list(self._rows(table)))
        self._target.commit()
        left: dict[str, int] = defaultdict(int)
        for thread, _, _ in kept:
            left[thread] += 1
        self._result.set_back = {thread: left.get(thread, 0) for thread in sorted(self._hurt)}
        self._result.threads = len(left.keys() - self._hurt.keys())
        return self._result

    def _readable(self, table: str, width: int, check: Any) -> Iterator[Row]:
        for row in self._rows(table):
            try:
                with reporting_damage(str(row[0])):
                    if len(row) != width or not all(isinstance(name, str) for name in row[:3]):
                        raise ValueError(table)
                    check(row)
            except SettingsError:
                self._lose(row)
            else:
                yield row

    def _lose(self, row: Row) -> None:
        thread, namespace, checkpoint = (str(one) for one in row[:3])
        self._hurt[thread].add((thread, namespace, checkpoint))

    def _is_checkpoint(self, row: Row) -> None:
        said = self._serde.loads_typed((row[4], row[5]))
        check_checkpoint(said, readable_metadata(row[6]))
        if said["id"] != row[2]:
            raise ValueError("another checkpoint's")

    def _is_write(self, row: Row) -> None:
        if not isinstance(row[3], str) or not isinstance(row[6], str):
            raise ValueError("no task, or no channel")
        check_write(row[6], self._serde.loads_typed((row[7], row[8])))
        int(row[5])

    def _find_gaps(self, checkpoints: dict[Key, Row], writes: dict[Key, list[Row]]) -> None:
        """Rows that are simply not there: of a task, or all that a checkpoint came of."""
        for key, rows in writes.items():
            places: dict[str, set[int]] = defaultdict(set)
            for row in rows:
                places[row[3]].add(row[5])
            for found in places.values():
                plain = {place for place in found if place >= 0}
                if plain and len(plain) <= max(plain):
                    self._hurt[key[0]].add(key)
        for (thread, namespace, _), row in checkpoints.items():
            before = (thread, namespace, row[3] or "")
            from_loop = readable_metadata(row[6]).get("source") == "loop"
            if row[3] and (before not in checkpoints or (from_loop and not writes.get(before))):
                self._hurt[thread].add(before)

    def _doomed(self, checkpoints: dict[Key, Row]) -> set[Key]:
        """The checkpoints that cannot be read, and all that came after something that is lost."""
        children: dict[Key, list[Key]] = defaultdict(list)
        for key, row in checkpoints.items():
            children[key[0], key[1], row[3] or ""].append(key)
        waiting = [child for hurt in self._hurt.values() for key in hurt for child in children[key]]
        doomed: set[Key] = set()
        while waiting:
            key = waiting.pop()
            if key not in doomed:
                doomed.add(key)
                waiting += children[key]
        return doomed

    def _write(self, table: str, rows: Iterable[Row]) -> None:
        made = None
        with suppress(sqlite3.Error):  # its text is lost, and with it its rows
            made = self._source.execute("select sql from sqlite_master where name = ?", (table,)).fetchone()
        if made is not None:
            self._target.execute(made[0])
        for row in rows:
            marks = ", ".join("?" * len(row))
            with suppress(sqlite3.IntegrityError):  # nothing, where there has to be something
                self._target.execute(f"insert or replace into {table} values ({marks})", row)  # noqa: S608 - ours

    def _rows(self, table: str) -> Iterator[Row]:
        """What can be read of a table, from both ends, and one by one in between."""
        seen: set[int] = set()
        ends: list[int] = []
        for order in ("", " desc"):
            last = None
            try:
                for rowid, *row in self._source.execute(f"select rowid, * from {table} order by rowid{order}"):  # noqa: S608 - ours
                    last = rowid
                    if rowid in seen:
                        return
                    seen.add(rowid)
                    yield tuple(row)
            except sqlite3.Error:  # the rows behind it are read from the other end
                pass
            else:
                return
            if last is not None:
                ends.append(last)
        if len(ends) == len(("first", "last")):
            for rowid in range(ends[0] + 1, min(ends[1], ends[0] + PROBED)):
                with suppress(sqlite3.Error):
                    for row in self._source.execute(f"select * from {table} where rowid = ?", (rowid,)):  # noqa: S608 - ours
                        yield tuple(row)


def _ours(row: Row) -> bool:
    return str(row[6]).startswith(JOURNAL)
