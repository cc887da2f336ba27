"""What went over the wire: requests by kind, and bytes both ways."""

import copy
from collections import Counter
from dataclasses import dataclass, field, fields
from typing import Any, Self


@dataclass
class Counters:
    """Counts since the emulator started; only its own thread writes them.

    The difference of two copies is what happened in between: `emulator.counters - before`.
    """

    requests: Counter[str] = field(default_factory=Counter)
    """By kind: the names in `tests.daytona.faults`. `run` is one WebSocket, `upload` one bulk upload."""
    uploaded_files: int = 0
    uploaded_bytes: int = 0
    """Bytes of files; what a multipart body has around them is only in `bytes_up`."""
    downloaded_files: int = 0
    downloaded_bytes: int = 0
    frames: int = 0
    """WebSocket frames sent to clients."""
    frame_bytes_up: int = 0
    frame_bytes_down: int = 0
    bytes_up: int = 0
    """All bodies of requests, and all WebSocket frames of clients."""
    bytes_down: int = 0
    """All bodies of answers, and all WebSocket frames to clients."""

    def copy(self) -> Self:
        """The counts as they are now."""
        return copy.deepcopy(self)

    def as_json(self) -> dict[str, Any]:
        """The counts as a JSON object."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def __sub__(self, earlier: "Counters") -> "Counters":
        made = Counters()
        for one in fields(self):
            mine, theirs = getattr(self, one.name), getattr(earlier, one.name)
            setattr(made, one.name, mine - theirs)
        return made
