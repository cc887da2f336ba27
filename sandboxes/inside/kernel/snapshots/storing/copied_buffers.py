"""Large buffers of an earlier step from its frozen copy in memory, instead of from the store.

A child of the copy pickles the unit again, to find its buffers, and hands them over in memory that all copies share,
piece by piece. It compares every block with the digest that was taken when the step was kept, so what comes is what the
snapshot has; streams and small buffers are read from the store as before, and so is all that a copy cannot give.
"""

import gc
import json
import mmap
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any

from ...proving.frozen_copy import hold_memory
from ..save import SnapshotWriter, quiet
from ..units import stream_of
from .blobs import CHUNK
from .buffers import cut_buffer
from .change_detection import LARGE
from .loaded_memory import Mapped, address

LEAST = 4 << 20
"""Bytes of buffers from which on a copy is asked: making a child of it takes as long as reading that."""
SHARE = 32
"""How many times as long as its stream the buffers of a unit have to be: pickling takes far longer than reading."""
SLOTS = 4
SPARE_BYTES = 64 << 20
"""Memory that the copy's child may take: pickling makes copies of arrays that do not lie in one piece."""
ANSWER_SECONDS = 10.0
"""How long the copy may take for its next piece, pickling before the first one included."""
PIECE = struct.Struct("II")
"""What is told of a piece: the number of its buffer, and its size."""
END = PIECE.pack(0xFFFFFFFF, 0)

Connect = Callable[[str, bytes], "socket.socket | None"]
"""Asks the copy of a snapshot something; the connection on which it answers, or None where there is no copy."""


class CopiedBuffers:
    """What passes buffers from the copies of one session to it; made before the first copy, which shares its memory.

    Args:
        taking: What took the snapshots.
        connect: The way to the copies.
    """

    def __init__(self, taking: SnapshotWriter, connect: Connect) -> None:
        self._taking = taking
        self._connect = connect
        self._window = Mapped(-1, SLOTS * CHUNK, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
        start = address(self._window)
        self.window = start, start + SLOTS * CHUNK
        """Where the memory begins and ends that passes buffers."""
        self._reading = threading.Lock()
        """Held by the only one who reads; others have the store."""
        self._broken = False
        """Whether somebody may still write into the window for a reader that has left."""

    def read(self, id: str, names: Sequence[str], targets: dict[int, memoryview]) -> set[int]:
        """Fill memory with buffers of a unit from the copy of a snapshot.

        Args:
            id: The snapshot.
            names: The variables of the unit.
            targets: Where buffers are to be, by their numbers in the unit.

        Returns:
            The buffers that are there now; the others have to come from the store.
        """
        if not self._reading.acquire(blocking=False):
            return set()
        try:
            return set() if self._broken else self._read(id, names, targets)
        finally:
            self._reading.release()

    def _read(self, id: str, names: Sequence[str], targets: dict[int, memoryview]) -> set[int]:
        large = {number: target for number, target in targets.items() if len(target) >= LARGE}
        asked = {"names": list(names), "sizes": {str(number): len(target) for number, target in large.items()}}
        connection = self._connect(id, json.dumps(asked).encode())
        if connection is None:
            return set()
        filled = dict.fromkeys(large, 0)
        self._broken = True
        with connection:
            connection.settimeout(ANSWER_SECONDS)
            with suppress(TimeoutError):
                with suppress(ConnectionError):  # it was killed
                    self._take(connection, large, filled)
                self._broken = False
        return {number for number, size in filled.items() if size == len(large[number])}

    def _take(self, connection: socket.socket, targets: dict[int, memoryview], filled: dict[int, int]) -> None:
        """Copy what comes, until the copy's child says that this is all, or is gone."""
        slot = 0
        while (said := connection.recv(PIECE.size)) and said != END:
            number, size = PIECE.unpack(said)
            at, start = filled[number], slot * CHUNK
            targets[number][at : at + size] = memoryview(self._window)[start : start + size]
            filled[number] += size
            slot = (slot + 1) % SLOTS
            connection.send(b".")

    def give(self, request: bytes, connection: socket.socket) -> None:
        """In a child of a copy: hand over the buffers of a unit that are as they were kept."""
        asked = json.loads(request)
        hold_memory(SPARE_BYTES)
        _end_after(ANSWER_SECONDS)
        values = self._taking.variables()
        if not values.keys() >= set(asked["names"]):
            return  # settings are captured anew each time
        gc.disable()
        main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
        try:  # as when a snapshot is taken
            with quiet():
                stream = stream_of({name: values[name] for name in asked["names"]}, self._taking.with_nans)
        finally:
            sys.modules["__main__"] = main
        left, slot = SLOTS, 0
        for number, size in asked["sizes"].items():
            pieces = cut_buffer(stream.buffers[int(number)])
            digests = self._taking.buffers.kept_digests((asked["names"][0], int(number), size))
            if len(digests) != len(pieces):
                return
            for piece, kept in zip(pieces, digests, strict=True):
                if not left:
                    if not connection.recv(1):
                        return
                    left += 1
                start = slot * CHUNK
                copied = memoryview(self._window)[start : start + len(piece)]
                copied[:] = piece
                if self._taking.buffers.look(copied) != kept:
                    return
                connection.send(PIECE.pack(int(number), len(piece)))
                signal.setitimer(signal.ITIMER_REAL, ANSWER_SECONDS)
                left, slot = left - 1, (slot + 1) % SLOTS
        connection.send(END)
        while connection.recv(1):  # what is left unread would take back what was sent last
            continue


def _end_after(seconds: float) -> None:
    """End this process after some time, whatever it does then: pickling runs code of cells, which may never end."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    signal.setitimer(signal.ITIMER_REAL, seconds)


def worth_asking(unit: dict[str, Any]) -> bool:
    """Whether a unit of a manifest is had sooner from a copy than from the store."""
    stream = unit["stream"]
    written = len(stream["blobs"]) * CHUNK if "blobs" in stream else stream["size"]
    total = sum(buffer["size"] for buffer in unit["buffers"] if buffer["size"] >= LARGE)
    return bool(total >= max(LEAST, SHARE * written))


def no_copies(id: str, request: bytes) -> "socket.socket | None":
    """A way to copies where there are none."""
    return None


def nothing_copied(names: Sequence[str], targets: dict[int, Any]) -> set[int]:
    """What a copy gives where there is none."""
    return set()
