"""Recognises large groups of small objects that have not changed, so that they are not pickled again.

Pickling 200,000 dicts takes ten times as long as reading the memory that they are in. So of a group that was pickled
twice with the same result a digest of that memory is kept: of all words that say what the objects are and which others
are in them, not of counts of references and what the garbage collector writes. If the variables are bound to the same
objects and all these words are the same, then so is all that was found from the variables: each object is still held by
one that has not changed. Nothing is held by that, and nothing is written.

A group is looked at in this way if it has just the plain types that `object_memory` knows, for whose pickling no code
of anybody runs. Memory that was given back in the meantime cannot be read: that is asked before.
"""

import signal
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ...standby import threads
from ..session_state.hooks import get_handler
from .block_digests import Digest
from .manifest import SMALL, Place
from .object_memory import ObjectMemory, Reader, reader

LARGEST = 64 << 20
"""Bytes of a stream up to which it is done: looking for the memory takes some itself, a few times that."""
BATCH = 64
"""Pages that are read together, few enough to stay in the processor's cache."""
WORTH, MOST_WAITED = 6, 64
"""A group whose memory stayed the same for fewer snapshots was not worth the walk: until the next one it has to stay
the same for twice as many as before, up to so many."""

SIGNALS = tuple(map(int, signal.valid_signals()))
Names = tuple[str, ...]
Identities = tuple[int, ...]


def is_quiet(known: Set[int] = frozenset()) -> bool:
    """Whether no code of anybody can run between two lines of this one: no thread, handler of a signal, or debugger.

    Args:
        known: Threads that change nothing that is looked at.
    """
    if len(sys._current_frames().keys() - known) != 1 or sys.gettrace() is not None or sys.getprofile() is not None:
        return False
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None and any(monitoring.get_tool(number) for number in range(6)):
        return False
    return not any(callable(one) and not _is_ours(one) for one in map(get_handler, SIGNALS))


def _is_ours(handler: Any) -> bool:
    """Whether a handler is Python's own or the kernel's, which change nothing of the user's."""
    if handler in (signal.default_int_handler, signal.SIG_DFL, signal.SIG_IGN):
        return True
    return str(getattr(handler, "__module__", "")).startswith(__name__.partition(".")[0])


class Addresses:
    """Addresses, in order, that can be asked for one.

    Args:
        ordered: An array.
    """

    def __init__(self, ordered: Any) -> None:
        self._ordered = memoryview(ordered)

    def __len__(self) -> int:
        return len(self._ordered)

    def __contains__(self, identity: int) -> bool:
        place = bisect_left(self._ordered, identity)
        return place < len(self._ordered) and bool(self._ordered[place] == identity)


class UnchangedStream:
    """Stands for the stream of a group that is as it was; see `pickling.Stream`.

    Args:
        memory: Where its objects are.
        place: Where the stream is.
        size: Its bytes.
    """

    data = memoryview(b"")
    buffers: tuple[Any, ...] = ()
    nans = None
    has_code = False
    by_value: frozenset[int] = frozenset()

    def __init__(self, memory: ObjectMemory, place: Place, size: int) -> None:
        self._memory = memory
        self.place: Place | None = place
        self.size = size

    def table(self) -> Addresses:
        """The objects that are in it."""
        return Addresses(self._memory.objects)

    def is_own(self, identity: int) -> bool:
        """None of its objects is one that every stream names."""
        return True


@dataclass(slots=True)
class _Group:
    """What is known of a group of variables."""

    identities: Identities
    """Of their values."""
    stream: bytes
    """The digest of its stream."""
    size: int
    wait: int = 1
    """How many snapshots have to find the same stream before the memory is looked for."""
    same: int = 0
    """How many did; once the memory is known: how many found that it is as it was."""
    memory: ObjectMemory | None = None
    digests: tuple[bytes, ...] = ()
    place: Place | None = None
    """Where its stream is; None: no snapshot was written with it since the memory was looked for."""
    used: bool = True

    def forget(self) -> None:
        """Forget the memory, and wait longer if it was not worth it."""
        worth = self.memory is not None and self.same >= WORTH
        self.wait = 1 if worth else min(2 * self.wait, MOST_WAITED)
        self.memory, self.digests, self.place, self.same = None, (), None, 0


class UnchangedObjects:
    """The groups of one session.

    Args:
        digest: The hash function; None: there is none that is fast enough, and all is pickled each time.
        is_quiet: Says whether nobody's code can run just now.
    """

    def __init__(self, digest: Digest | None, is_quiet: Callable[[], bool] = is_quiet) -> None:
        self._digest = digest
        self._is_quiet = is_quiet
        self._groups: dict[Names, _Group] = {}
        self._quiet = False
        """Whether nobody's code could run when a group was last asked for, just before it was pickled."""

    def begin(self) -> None:
        """Begin a snapshot: forget what the last one did not have."""
        self._groups = {names: group for names, group in self._groups.items() if group.used}
        for group in self._groups.values():
            group.used = False

    def find(self, names: Names, values: dict[str, Any], special: Iterable[int]) -> UnchangedStream | None:
        """The stream that a group had, if it still has it; else the group has to be pickled next.

        Args:
            names: The variables, in order.
            values: Their values and those of others.
            special: Identities of what every stream names.
        """
        group = self._groups.get(names)
        if group is None or group.identities != _identities(names, values):
            return None
        self._quiet, reads = self._is_quiet(), reader()
        if group.memory is None or group.place is None or reads is None:
            return None
        if _is_any_of(special, group.memory) or not self._is_same(reads, group.memory, group.digests):
            group.forget()
            return None
        group.same += 1
        group.used = True
        return UnchangedStream(group.memory, group.place, group.size)

    def look(self, names: Names, values: dict[str, Any], stream: Any, special: Iterable[int]) -> None:
        """Look at a group that was pickled just now; if it was the same before, look for its memory, too.

        Args:
            names: The variables, in order.
            values: Their values and those of others.
            stream: Its stream.
            special: Identities of what every stream names.
        """
        size = len(stream.data)
        if self._digest is None or not SMALL < size <= LARGEST or stream.buffers or stream.nans or stream.has_code:
            return
        identities, digest = _identities(names, values), self._digest(stream.data)
        group = self._groups.get(names)
        if group is None or group.identities != identities or group.stream != digest:
            wait = 1 if group is None else group.wait
            self._groups[names] = _Group(identities, digest, size, wait)
            return
        group.used = True
        group.same += 1
        reads = reader()
        if group.same < group.wait or group.memory is not None or reads is None or not self._quiet:
            return
        # Since before it was pickled no code of anybody has run, if there are plain objects only in it. There are, if
        # the walk finds as many as the pickler has met.
        with suppress(Exception):  # too little memory, or what cells have made of NumPy
            memory = reads.find(identities)
            if memory is not None and _is_all_of(stream, names, memory) and not _is_any_of(special, memory):
                group.digests = tuple(self._digests(reads, memory, None))
                group.memory, group.same = memory, 0
                return
        group.forget()

    def settle(self, places: dict[Names, Place]) -> None:
        """The snapshot was written.

        Args:
            places: Where the streams of its groups are.
        """
        for names, group in self._groups.items():
            if group.memory is not None and names in places:
                group.place = places[names]

    def _is_same(self, reads: Reader, memory: ObjectMemory, digests: tuple[bytes, ...]) -> bool:
        try:
            if self._quiet and threads() == 1:
                return self._are(digests, reads, memory, None)
            # Another thread may give memory back while it is read; the system then says so.
            with open("/proc/self/mem", "rb", buffering=0) as file:
                return self._are(digests, reads, memory, file.fileno())
        except Exception:  # memory that is not there, or what cells have made of NumPy
            return False

    def _are(self, digests: tuple[bytes, ...], reads: Reader, memory: ObjectMemory, file: int | None) -> bool:
        return all(now == before for now, before in zip(self._digests(reads, memory, file), digests, strict=True))

    def _digests(self, reads: Reader, memory: ObjectMemory, file: int | None) -> Iterator[bytes]:
        """The digests of what counts in some pages at a time; read from a file, or where they are."""
        digest: Any = self._digest
        for at in range(0, len(memory.pages), BATCH):
            pages = memory.pages[at : at + BATCH]
            content = reads.content_there(pages) if file is None else reads.content_of_file(pages, file)
            yield digest(memoryview(reads.masked(content, memory.mask[at : at + BATCH])))


def _identities(names: Names, values: dict[str, Any]) -> Identities:
    return tuple(id(values[name]) for name in names)


def _is_any_of(identities: Iterable[int], memory: ObjectMemory) -> bool:
    objects = Addresses(memory.objects)
    return any(one in objects for one in identities)


def _is_all_of(stream: Any, names: Names, memory: ObjectMemory) -> bool:
    """Whether a pickler has met no others, but the names, and each with its value."""
    objects = Addresses(memory.objects)
    beside = len(names) + sum(id(name) not in objects for name in names)
    return bool(stream.met == len(objects) + beside)
